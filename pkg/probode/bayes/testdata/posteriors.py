"""Posteriors of two data sets, found without this module.

Writes lynx_hare.json and influenza.json beside this file: for each parameter
mean, sd, their Monte Carlo standard errors, and the 5, 50 and 95 % quantiles.

Solver: classical Runge-Kutta with a fixed step, for all chains at once; its
error is measured against scipy's DOP853 and must be below 1e-8. Sampler:
independent chains of random-walk Metropolis on the logarithms of the
parameters, with the covariance of the pooled chains, fixed after burn-in.

    python posteriors.py [lynx_hare] [influenza]

Made with Python 3.11.7, numpy 2.4.6 and scipy 1.17.1; about ten minutes on
one core.
"""

import json
import pathlib
import sys

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import gammaln

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parents[3] / "notebooks" / "data"
UNIT_STEPS = 100  # Runge-Kutta steps in a unit of time
CHAINS, BURN_IN, DRAWS = 100, 2000, 10000


def table(name):
    """The columns of a data file."""
    lines = [l for l in open(DATA / name) if not l.startswith("#")]
    return np.loadtxt(lines[1:], delimiter=",").T


def rk4(model, x):
    """The states at 0, 1, …, model.times, each of shape (states, chains)."""
    field, z, step = model.field(x), model.start(x), 1 / UNIT_STEPS
    out = [z]
    for _ in range(model.times):
        for _ in range(UNIT_STEPS):
            k1 = field(z)
            k2 = field(z + step / 2 * k1)
            k3 = field(z + step / 2 * k2)
            k4 = field(z + step * k3)
            z = z + step / 6 * (k1 + 2 * (k2 + k3) + k4)
        out.append(z)
    return np.array(out)


class LynxHare:
    """Lotka-Volterra with log-normal errors: Carpenter's case study for Stan."""

    names = ["theta1", "theta2", "theta3", "theta4", "hare0", "lynx0", "sigma_hare", "sigma_lynx"]
    guess = [0.55, 0.028, 0.8, 0.024, 34.0, 5.9, 0.25, 0.25]

    def __init__(self):
        self.y = np.log(table("lynx_hare.csv")[1:])  # (species, years), the start included
        self.times = self.y.shape[1] - 1

    def field(self, x):
        rate = np.array([x[0], -x[2]])
        contact = np.array([-x[1], x[3]])
        return lambda z: z * (rate + contact * z[::-1])

    def start(self, x):
        return x[4:6]

    def log_prob(self, x):
        z = rk4(self, x)
        lp = -0.5 * ((x[0] - 1) / 0.5) ** 2 - 0.5 * ((x[2] - 1) / 0.5) ** 2
        lp = lp - 0.5 * ((x[1] - 0.05) / 0.05) ** 2 - 0.5 * ((x[3] - 0.05) / 0.05) ** 2
        logs = np.log(x)
        lp = lp + np.sum(-0.5 * (logs[4:6] - np.log(10)) ** 2 - logs[4:6], axis=0)
        lp = lp + np.sum(-0.5 * (logs[6:8] + 1) ** 2 - logs[6:8], axis=0)
        r = (self.y.T[:, :, None] - np.log(z)) / x[6:8]
        return lp + np.sum(-0.5 * r**2 - logs[6:8], axis=(0, 1))


class Influenza:
    """SIR with negative binomial counts: Grinsztajn et al. (2021)."""

    names = ["beta", "gamma", "phi_inv"]
    guess = [1.7, 0.5, 0.15]

    def __init__(self):
        self.y = table("influenza.csv")[1]
        self.times = len(self.y)

    def field(self, x):
        def f(z):
            infect, remove = x[0] / 763 * z[0] * z[1], x[1] * z[1]
            return np.array([-infect, infect - remove])

        return f

    def start(self, x):
        return np.array([np.full(x.shape[1], 762.0), np.ones(x.shape[1])])

    def log_prob(self, x):
        z = rk4(self, x)
        m, y, phi = z[1:, 1], self.y[:, None], 1 / x[2]
        lp = -0.5 * (x[0] - 2) ** 2 - 0.5 * ((x[1] - 0.4) / 0.5) ** 2 - 5 * x[2]
        count = gammaln(y + phi) - gammaln(phi) - gammaln(y + 1)
        return lp + np.sum(count + y * np.log(m / (m + phi)) + phi * np.log(phi / (m + phi)), axis=0)


def solver_error(model, x):
    """The largest relative error of rk4 over the chains' parameters x."""
    z = rk4(model, x)
    worst = 0.0
    for c in range(x.shape[1]):
        xc = x[:, c : c + 1]
        f = model.field(xc)
        s = solve_ivp(lambda t, u: f(u[:, None])[:, 0], (0, model.times), model.start(xc)[:, 0],
                      "DOP853", np.arange(model.times + 1), rtol=1e-13, atol=1e-13)
        worst = max(worst, np.max(np.abs(s.y.T / z[:, :, c] - 1)))
    return worst


def sample(model, seed):
    """Draws of shape (DRAWS, parameters, CHAINS)."""
    rng = np.random.default_rng(seed)
    d = len(model.names)
    target = lambda q: model.log_prob(np.exp(q)) + q.sum(axis=0)
    q = np.log(model.guess)[:, None] + 0.05 * rng.standard_normal((d, CHAINS))
    lp = target(q)
    factor = 0.02 * np.eye(d)
    draws = np.empty((DRAWS, d, CHAINS))
    recent, accepted = [], 0
    for n in range(-BURN_IN, DRAWS):
        new = q + factor @ rng.standard_normal((d, CHAINS))
        lp_new = target(new)
        accept = np.log(rng.random(CHAINS)) < lp_new - lp
        q, lp = np.where(accept, new, q), np.where(accept, lp_new, lp)
        if n < 0:
            recent.append(q)
            if len(recent) == 200:
                cov = np.cov(np.concatenate(recent, axis=1))
                factor = 2.38 / np.sqrt(d) * np.linalg.cholesky(cov)
                recent = []
        else:
            draws[n] = q
            accepted += accept.mean() / DRAWS
    print(f"acceptance {accepted:.2f}")
    return np.exp(draws)


def summary(model, draws):
    """Chains are independent: errors are those of the means of the chains."""
    out = {}
    for k, name in enumerate(model.names):
        x = draws[:, k]
        mean, sd = x.mean(), x.std()
        error = lambda v: v.mean(axis=0).std(ddof=1) / np.sqrt(CHAINS)
        halves = np.concatenate(np.split(x, 2), axis=1)
        within = halves.var(axis=0, ddof=1).mean()
        rhat = np.sqrt(1 + halves.mean(axis=0).var(ddof=1) / within - 1 / len(halves))
        mcse = error(x)
        out[name] = {
            "mean": mean, "sd": sd,
            "mcse_mean": mcse, "mcse_sd": error((x - mean) ** 2) / (2 * sd),
            **{f"q{p:02d}": np.quantile(x, p / 100) for p in (5, 50, 95)},
        }
        print(f"{name:11s} mean {mean:9.5f} ± {mcse:.1e}  sd {sd:.5f}  ESS {(sd / mcse) ** 2:7.0f}  split R-hat {rhat:.4f}")
    return out


for name, model in [("lynx_hare", LynxHare()), ("influenza", Influenza())]:
    if sys.argv[1:] and name not in sys.argv[1:]:
        continue
    print(name)
    draws = sample(model, seed=1)
    error = solver_error(model, draws[-1])
    print(f"largest relative error of the solver {error:.1e}")
    assert error < 1e-8
    text = json.dumps({k: {s: float(f"{v:.6g}") for s, v in row.items()} for k, row in summary(model, draws).items()}, indent=1)
    (HERE / f"{name}.json").write_text(text + "\n")
