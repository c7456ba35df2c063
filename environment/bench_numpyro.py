"""Compares probode sample with numpyro's NUTS on diffrax: effective draws per second of CPU.

    make bench-peers PEERS=numpyro ARGS="-draws 1000 -runs 3 lynx-hare"

The models are fitzhugh-nagumo and lynx-hare, which come with probode, and population, which
is notebooks/data/population.yaml. Both programs make four chains on one core. Everything is
counted: the start of the program, compilation, preparation, burn-in and draws. probode
chooses the sampler and the solver itself. numpyro has its defaults, as many iterations of
burn-in as draws, and starts at the nominal parameters. diffrax gets the largest tolerance,
among powers of √10, for which its log densities at 20 of probode's draws are at least as
accurate as those of probode; diffrax with a tolerance of 1e-12 is the reference. One
function computes the effective draws of both programs, and their means and standard
deviations are compared.
"""

import argparse
import glob
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import diffrax
import jax
import jax.numpy as jnp
import numpy
import numpyro
import numpyro.distributions as dist
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from numpyro.infer import MCMC, NUTS, init_to_value
from numpyro.infer.util import log_density

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "pkg/probode/bayes/cases/data"


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("-draws", type=int, default=1000, help="draws per chain")
    ask.add_argument("-runs", type=int, default=3, help="runs of each program")
    ask.add_argument("model", nargs="*", default=list(MODELS))
    asked = ask.parse_args()
    with tempfile.TemporaryDirectory(prefix="probode-") as name:
        work = pathlib.Path(name)
        run("go", "build", "-o", work / "probode", "./pkg/probode/cmd/probode")
        for model in asked.model:
            compare(model, asked, work)


def compare(model, asked, work):
    """Prints the lines of a model."""
    tolerance, here = None, [sys.executable, pathlib.Path(__file__).resolve()]
    for seed in range(1, asked.runs + 1):
        draws = work / f"{model}-{seed}"
        ours = run(work / "probode", "sample", *MODELS[model][0], "-chains", 4, "-draws", asked.draws, "-seed", seed, "-quiet", "-dir", draws)
        if tolerance is None:
            print(f"{model}: {ours[0].splitlines()[0]}", flush=True)
            found = json.loads(run(*here, "error", model, draws)[0])
            tolerance = found["tolerance"]
            print(f"  relative errors of the log density: probode {found['probode']:.1g}, diffrax {found['diffrax']:.1g} with the tolerance {tolerance:g}")
        theirs = run(*here, "sample", model, tolerance, seed, asked.draws, f"{draws}.npz")
        times = json.loads(theirs[0])
        for row in json.loads(run(*here, "judge", model, draws, f"{draws}.npz")[0]):
            cpu = ours[1] if row["program"] == "probode" else theirs[1]
            line = f"  run {seed}, {row['program']}: {row['ess']:.0f} effective draws, R̂ {row['rhat']:.3f}, {cpu:.1f} s of CPU, {row['ess'] / cpu:.3g} per second"
            if row["program"] == "numpyro":
                line += f"; without the {times['compile']:.1f} s of compilation {row['ess'] / (cpu - times['compile']):.3g}; {times['divergent']} divergent; means and sds differ by at most {row['apart']:.1f} standard errors"
            print(line, flush=True)


def run(*args):
    """Runs a command on one core, and returns its output and its CPU seconds."""
    env = dict(os.environ, GOMAXPROCS="1", JAX_PLATFORMS="cpu", JAX_ENABLE_X64="1",
               XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    pin = lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    spent = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    before = spent()
    done = subprocess.run([str(a) for a in args], cwd=ROOT, text=True, capture_output=True, env=env, preexec_fn=pin)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, args))} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout, spent() - before


most = 4096  # steps of a solution


def solve(field, t0, t1, y0, ts, args, tolerance):
    # diffrax reports a failed solve by infinite states, which NUTS counts as a divergent path.
    return diffrax.diffeqsolve(
        diffrax.ODETerm(field), diffrax.Tsit5(), t0, t1, dt0=None, y0=y0, args=args, saveat=diffrax.SaveAt(ts=ts),
        stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance), max_steps=most, throw=False).ys


def fitzhugh_nagumo():
    data = numpy.genfromtxt(DATA / "fitzhugh_nagumo.csv", delimiter=",", skip_header=1)

    def field(_, y, th):
        v, r = y
        return jnp.stack([th[2] * (v - v**3 / 3 + r), -(v - th[0] + th[1] * r) / th[2]])

    def model(tolerance):
        th = [numpyro.sample(f"theta{k}", dist.Uniform(0, 10)) for k in (1, 2, 3)]
        ys = solve(field, 0.0, 20.0, jnp.array([-1.0, 1.0]), data[:, 0], th, tolerance)
        numpyro.sample("y", dist.Normal(ys, 0.1), obs=data[:, 1:])

    return model, {"theta1": 0.2, "theta2": 0.2, "theta3": 3.0}, []


def lynx_hare():
    data = numpy.genfromtxt(DATA / "lynx_hare.csv", delimiter=",", skip_header=1)

    def field(_, y, th):
        hare, lynx = y
        return jnp.stack([(th[0] - th[1] * lynx) * hare, (-th[2] + th[3] * hare) * lynx])

    def model(tolerance):
        th = [numpyro.sample(f"theta{k + 1}", dist.TruncatedNormal(m, s, low=0)) for k, (m, s) in enumerate([(1, 0.5), (0.05, 0.05)] * 2)]
        start = [numpyro.sample(name, dist.LogNormal(jnp.log(10.0), 1)) for name in ("hare0", "lynx0")]
        sigma = [numpyro.sample(name, dist.LogNormal(-1, 1)) for name in ("sigma_hare", "sigma_lynx")]
        ys = solve(field, 1900.0, 1920.0, jnp.stack(start), data[:, 0], th, tolerance)
        numpyro.sample("y", dist.LogNormal(jnp.log(ys), jnp.stack(sigma)), obs=data[:, 1:])

    positive = ["theta1", "theta2", "theta3", "theta4", "hare0", "lynx0", "sigma_hare", "sigma_lynx"]
    return model, dict(zip(positive, [0.55, 0.028, 0.8, 0.024, 33.0, 6.0, 0.25, 0.25])), positive


def population():
    n = 20
    y = numpy.genfromtxt(ROOT / "notebooks/data/population.csv", delimiter=",", skip_header=1, usecols=2).reshape(n, 10)
    weight = numpy.array([66, 86, 61, 74, 68, 79, 88, 73, 92, 64, 77, 81, 64, 70, 92, 66, 53, 70, 85, 71])
    # From each dose to the next: the end and four times, of which those in seen are measured.
    ends = numpy.array([12.0, 24, 36, 48, 60, 84])
    times = numpy.array([[0.5, 1.5, 4, 9], [24] * 4, [24.5, 28, 36, 36], [48] * 4, [60] * 4, [61, 66, 72, 84]], float)
    seen = [0, 1, 2, 3, 8, 9, 20, 21, 22, 23]

    def field(_, y, rates):
        cl, v, ka = rates
        return jnp.stack([-ka * y[0], ka * y[0] - cl / v * y[1]])

    def patient(cl, v, ka, tolerance):
        def interval(carry, at):
            t, state = carry
            end, ts = at
            ys = solve(field, t, end, state.at[0].add(100.0), jnp.append(ts, end), (cl, v, ka), tolerance)
            return (end, ys[-1]), ys[:-1, 1]

        _, blood = jax.lax.scan(interval, (0.0, jnp.zeros(2)), (ends, times))
        return blood.reshape(-1)[jnp.array(seen)] / v

    def model(tolerance):
        typical = [numpyro.sample(f"log_{k}", dist.Normal(m, 1)) for k, m in (("CL", 1), ("V", 3.5), ("ka", 0))]
        sd = [numpyro.sample(f"sd_{k}", dist.HalfNormal(0.5)) for k in ("CL", "V", "ka")]
        error = numpyro.sample("error", dist.HalfNormal(0.5))
        score = [numpyro.sample(f"{k}_score", dist.Normal(0, 1).expand([n]).to_event(1)) for k in ("CL", "V", "ka")]
        w = jnp.log(weight / 70)
        rates = [jnp.exp(m + c * w + s * z) for m, c, s, z in zip(typical, (0.75, 1, 0), sd, score)]
        level = jax.vmap(lambda cl, v, ka: patient(cl, v, ka, tolerance))(*rates)
        quantified = dist.LogNormal(jnp.log(level), error).log_prob(y)
        below = jax.scipy.stats.norm.logcdf(jnp.log(0.25), jnp.log(level), error)
        numpyro.factor("y", jnp.where(y > 0.25, quantified, below).sum())

    start = {"log_CL": 1.4, "log_V": 3.6, "log_ka": 0.0, "sd_CL": 0.3, "sd_V": 0.3, "sd_ka": 0.3, "error": 0.15}
    start |= {f"{k}_score": numpy.zeros(n) for k in ("CL", "V", "ka")}
    return model, start, ["sd_CL", "sd_V", "sd_ka", "error"]


# The arguments of probode sample, and the model of numpyro.
MODELS = {
    "fitzhugh-nagumo": (["-case", "fitzhugh-nagumo"], fitzhugh_nagumo),
    "lynx-hare": (["-case", "lynx-hare"], lynx_hare),
    "population": (["-model", "notebooks/data/population.yaml"], population),
}


def sample(model, tolerance, seed, draws, path):
    """Samples with the defaults of numpyro, from the nominal parameters."""
    spent = [0.0]
    jax.monitoring.register_event_duration_secs_listener(lambda event, seconds, **_: spent.append(seconds) if event.endswith("compile_duration") else None)
    wall, cpu = time.monotonic(), time.process_time()
    of, start, _ = MODELS[model][1]()
    mcmc = MCMC(NUTS(of, init_strategy=init_to_value(values=start)), num_warmup=int(draws), num_samples=int(draws), num_chains=4, chain_method="sequential", progress_bar=False)
    mcmc.run(jax.random.PRNGKey(int(seed)), float(tolerance), extra_fields=("diverging",))
    numpy.savez(path, **mcmc.get_samples(group_by_chain=True))
    # jax reports compilation in seconds of the clock.
    share = (time.process_time() - cpu) / (time.monotonic() - wall)
    print(json.dumps({"compile": sum(spent) * share, "divergent": int(mcmc.get_extra_fields()["diverging"].sum())}))


def read(folder):
    """Returns the draws of probode by name, with an axis for the chains."""
    out = []
    for path in sorted(glob.glob(f"{folder}/chain-*.csv")):
        lines = [line for line in open(path) if line[0] != "#"]
        out.append(numpy.loadtxt(lines[1:], delimiter=","))
    return dict(zip(lines[0].strip().split(","), numpy.moveaxis(numpy.array(out), 2, 0)))


def values(columns, start):
    """Returns the parameters of numpyro's model in the draws of probode."""
    scores = lambda k: [columns[f"{k}_s{i:02d}"] for i in range(1, 21)]
    return {k: columns[k] if k in columns else numpy.stack(scores(k), -1) for k in start}


def error(model, folder):
    """Compares log densities with those of probode, and chooses the tolerance of diffrax."""
    global most
    most = 100000  # for the reference
    of, start, positive = MODELS[model][1]()
    columns = read(folder)
    draws = {k: v.reshape(-1, *v.shape[2:]) for k, v in values(columns, start).items()}
    ours = columns["lp__"].reshape(-1) - sum(numpy.log(draws[k]) for k in positive)  # lp__ has the Jacobian
    at = numpy.linspace(0, len(ours) - 1, 20).astype(int)
    log = jax.jit(lambda theta, tolerance: log_density(of, (tolerance,), {}, theta)[0])
    every = lambda tolerance: numpy.array([log({k: v[i] for k, v in draws.items()}, tolerance) for i in at])
    exact = every(1e-12)
    differ = lambda v: float(numpy.max(numpy.abs(v - exact) / numpy.abs(exact)))
    wanted = differ(ours[at])
    for tolerance in [10 ** (-k / 2) for k in range(4, 21)]:
        theirs = differ(every(tolerance))
        if theirs <= max(wanted, 1e-9):
            break
    print(json.dumps({"probode": wanted, "diffrax": theirs, "tolerance": tolerance}))


def judge(model, folder, path):
    """Prints the smallest number of effective draws and the largest R̂ of both programs, and
    the largest difference between means or sds in standard errors."""
    start = MODELS[model][1]()[1]
    both = [values(read(folder), start), dict(numpy.load(path))]
    rows, moments = [], []
    for name, draws in zip(("probode", "numpyro"), both):
        x = numpy.concatenate([draws[k].reshape(*draws[k].shape[:2], -1) for k in start], -1)
        ess = effective_sample_size(x)
        mean, square = x.mean((0, 1)), (x - x.mean((0, 1))) ** 2
        sd = numpy.sqrt(square.mean((0, 1)))
        spread = square.std((0, 1)) / (2 * sd) / numpy.sqrt(effective_sample_size(square))
        rows.append({"program": name, "ess": float(ess.min()), "rhat": float(split_gelman_rubin(x).max())})
        moments.append((mean, sd / numpy.sqrt(ess), sd, spread))
    (m, em, s, es), (m2, em2, s2, es2) = moments
    apart = numpy.concatenate([(m - m2) / numpy.hypot(em, em2), (s - s2) / numpy.hypot(es, es2)])
    rows[1]["apart"] = float(numpy.abs(apart).max())
    print(json.dumps(rows))


if __name__ == "__main__":
    worker = {"sample": sample, "error": error, "judge": judge}.get(sys.argv[1] if len(sys.argv) > 1 else "")
    worker(*sys.argv[2:]) if worker else main()
