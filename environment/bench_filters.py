"""Compares Gaussian filters with probdiffeq and rodeo: the same numbers, and the speed.

    make bench-peers PEERS=filters ARGS="-rounds 30"

All programs solve the FitzHugh–Nagumo equations with the same prior, order, step and
diffusion, in double precision on one core, from an exact Taylor series. The table has the
largest difference of the means and standard deviations over all grid points and components,
relative to the largest mean and the largest standard deviation, and for likelihoods the
relative difference. The programs take turns, for the given number of rounds. A time is that
of the fastest repetition. jax compiles before, and the time for that has its own column.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ.update(GOMAXPROCS="1", JAX_PLATFORMS="cpu", JAX_ENABLE_X64="1",
                  XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax
import jax.numpy as jnp
import numpy
import rodeo
from probdiffeq import ivpsolve, probdiffeq

ROOT = pathlib.Path(__file__).resolve().parent.parent
START = jnp.array([-1.0, 1.0])
THETA = jnp.array([0.2, 0.2, 3.0])
JACOBIANS = ["full", "diagonal", "none"]


def field(x, theta):
    v, r = x
    return jnp.stack([theta[2] * (v - v**3 / 3 + r), -(v - theta[0] + theta[1] * r) / theta[2]])


def taylor(q, theta):
    """Returns the derivatives of the solution at the start, up to the order q."""
    vector_field = probdiffeq.ode(lambda x, /, *, t: field(x, theta))
    return probdiffeq.jetexpand_ode_padded_scan(num=q)(vector_field, (START,), t=0.0)[0]


def by_probdiffeq(what, q, jacobian, step, end, data):
    """Returns the fastest of its forms of the filter. It has no likelihood of data that are
    further apart than the steps."""
    if what not in ("filter", "smooth"):
        return None
    model = [probdiffeq.state_space_model_dense, probdiffeq.state_space_model_blockdiag, probdiffeq.state_space_model_isotropic][jacobian]()
    strategy = probdiffeq.strategy_filter() if what == "filter" else probdiffeq.strategy_smoother_fixedinterval()
    grid = jnp.linspace(0.0, end, round(end / step) + 1)

    def solve(theta):
        vector_field = probdiffeq.ode(lambda x, /, *, t: field(x, theta), jacobian=probdiffeq.jacobian_materialize())
        constraint = (model.constraint_ode_ts0 if jacobian == 2 else model.constraint_ode_ts1)(vector_field)
        solver = ivpsolve.solve_fixed_grid(solver=probdiffeq.solver(strategy=strategy, constraint=constraint))
        u = solver(model.prior_wiener_integrated(taylor(q, theta)), grid=grid).u
        sd = u.std[0]
        return u.mean[0], jnp.stack([sd, sd], -1) if sd.ndim == 1 else sd

    return jax.jit(solve)


def by_rodeo(what, q, jacobian, step, end, data):
    """Returns its filter with covariance matrices, which is the default. It always smooths,
    and its form of EK1 uses the diagonal of the Jacobian."""
    if what == "filter" or jacobian == 0:
        return None
    steps = round(end / step)
    prior = rodeo.prior.ibm_init(dt=end / steps, n_deriv=q + 1, sigma=jnp.ones(2))
    weight = jnp.zeros((2, 1, q + 1)).at[:, :, 1].set(1.0)
    equation = lambda x, t, theta: field(x[:, 0], theta)[:, None]
    how = dict(ode_fun=equation, ode_weight=weight, t_min=0.0, t_max=end, n_steps=steps, prior_pars=prior,
               interrogate=rodeo.interrogate.interrogate_schober if jacobian == 2 else rodeo.interrogate.interrogate_kramer)
    start = lambda theta: jnp.stack(taylor(q, theta), -1)
    if what == "smooth":
        def solve(theta):
            mean, cov = rodeo.solve_mv(key=None, ode_init=start(theta), theta=theta, **how)
            return mean[:, :, 0], jnp.sqrt(jnp.maximum(cov[:, :, 0, 0], 0))

        return jax.jit(solve)
    n = len(data)
    seen = jnp.zeros((n, 2, 1, q + 1)).at[..., 0].set(1.0)
    variance = jnp.full((n, 2, 1, 1), 0.01)
    key = jax.random.PRNGKey(0)  # not used
    return jax.jit(lambda theta: getattr(rodeo.inference, what)(
        key=key, ode_init=start(theta), theta=theta, obs_data=jnp.asarray(data)[..., None],
        obs_times=jnp.arange(1.0, n + 1), obs_weight=seen, obs_var=variance, **how))


def fastest(of, repeat):
    best = float("inf")
    for _ in range(repeat):
        begin = time.perf_counter()
        jax.block_until_ready(of(THETA))
        best = min(best, time.perf_counter() - begin)
    return best


def apart(ours, theirs):
    """Returns the difference of means, of sds, or of log likelihoods."""
    if not isinstance(theirs, tuple):
        return f"{abs(float(theirs) - ours['Value']) / abs(ours['Value']):.0e}"
    of = lambda mine, other: float(numpy.max(numpy.abs(numpy.array(mine).T - other)) / numpy.max(numpy.abs(mine)))
    return f"{of(ours['Mean'], theirs[0]):.0e}, {of(ours['SD'], theirs[1]):.0e}"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("-rounds", type=int, default=20, help="turns of each program")
    ask.add_argument("-repeat", type=int, default=10, help="repetitions in a turn")
    ask.add_argument("-step", type=float, default=0.05)
    ask.add_argument("-order", type=int, default=3)
    asked = ask.parse_args()
    with tempfile.TemporaryDirectory(prefix="probode-") as name:
        program = pathlib.Path(name) / "filterbench"
        subprocess.run(["go", "build", "-o", program, "./pkg/probode/internal/filterbench"], cwd=ROOT, check=True)
        with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as go:
            compare(asked, go)


def compare(asked, go):
    def probode(**request):
        go.stdin.write(json.dumps(request) + "\n")
        go.stdin.flush()
        return json.loads(go.stdout.readline())

    exact = numpy.array(probode(What="smooth", Q=5, Step=1 / 512, End=10.0, Repeat=1)["Mean"]).T[512::512]
    i = numpy.arange(1, 11)
    data = exact + 0.1 * numpy.stack([numpy.sin(7 * i), numpy.cos(5 * i)], -1)
    print(f"order {asked.order}, step {asked.step:g}, κ² = 1, t = 0 to 20 (likelihoods: to 10), {asked.rounds} rounds of {asked.repeat}")
    print(f"{'':8} {'Jacobian':9} {'probode, ms':>11}   {'':10} {'ms':>8} {'ratio':>6} {'compiled in, s':>14}  difference")
    for what in ("filter", "smooth", "fenrir", "dalton"):
        for jacobian, name in enumerate(JACOBIANS):
            end = 20.0 if what in ("filter", "smooth") else 10.0
            request = dict(What=what, Q=asked.order, Jacobian=int(name == "none"), Width=int(name == "diagonal"), Step=asked.step, End=end, Repeat=asked.repeat, Y=data.tolist())
            others = {"probdiffeq": by_probdiffeq, "rodeo": by_rodeo}
            others = {k: f(what, asked.order, jacobian, asked.step, end, data) for k, f in others.items()}
            results, compiled = {}, {}
            for k, f in others.items():
                if f is not None:
                    begin = time.perf_counter()
                    results[k] = jax.block_until_ready(f(THETA))
                    compiled[k] = time.perf_counter() - begin
            best = dict.fromkeys(["probode", *results], float("inf"))
            for _ in range(asked.rounds):
                ours = probode(**request)
                best["probode"] = min(best["probode"], ours["Seconds"])
                for k in results:
                    best[k] = min(best[k], fastest(others[k], asked.repeat))
            for k, got in results.items():
                print(f"{what:8} {name:9} {1e3 * best['probode']:11.3f}   {k:10} {1e3 * best[k]:8.3f} {best[k] / best['probode']:6.1f} {compiled[k]:14.1f}  {apart(ours, got)}", flush=True)


if __name__ == "__main__":
    main()
