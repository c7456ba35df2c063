"""Judges draws that other programs made: emcee with SciPy's solvers and with Euler's method.

    environment/lab setup-test
    environment/lab run python environment/test_from.py

The model is x' = -k x with data that depend on log k, log x(0). Its solution is known, so
emcee can draw from the accurate posterior, too: what assess says of the draws with Euler's
method must be what the two sets of draws show.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import emcee
import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODEL = """
parameters:
  - {parameterId: k, objectivePriorType: logNormal, objectivePriorParameters: 0;1}
  - {parameterId: x0, objectivePriorType: logNormal, objectivePriorParameters: 0;1}
odes:
  - {stateId: x, rightHandSide: -k * x, initialValue: x0}
observables:
  - {observableId: y, observableFormula: x, noiseFormula: 0.05}
data: data.csv
"""
STEP = 0.25
TIMES = STEP * np.array([1, 3, 5, 7, 11])  # odd numbers of steps: Euler's method has no second mode at k > 4
DATA = np.array([0.81, 0.44, 0.32, 0.16, 0.06])


def exact(k, x0):
    return x0 * np.exp(-k * TIMES)


def euler(k, x0):
    return x0 * (1 - k * STEP) ** np.round(TIMES / STEP)


def scipy(k, x0):
    return solve_ivp(lambda t, x: -k * x, (0, 3), [x0], t_eval=TIMES).y[0]  # rtol 1e-3, atol 1e-6


def log_density(u, solve):
    """The log posterior of (k, x0) at (log k, log x0), with the factor that emcee needs there:
    the Jacobian k x0, as Stan's lp__."""
    r = (DATA - solve(*np.exp(u))) / 0.05
    return -(u @ u) / 2 - (r @ r) / 2  # the factor cancels 1/(k x0) of the priors


def draw(solve, steps, path, jacobian=True):
    rng = np.random.default_rng(1)
    sampler = emcee.EnsembleSampler(16, 2, log_density, args=[solve])
    sampler._random.seed(1)
    sampler.run_mcmc(np.array([0, 0]) + 0.1 * rng.standard_normal((16, 2)), steps)
    burnt = steps // 5
    u, lp = sampler.get_chain(discard=burnt), sampler.get_log_prob(discard=burnt)
    table = pd.DataFrame({"k": np.exp(u[..., 0]).ravel("F"), "x0": np.exp(u[..., 1]).ravel("F"),
                          "lp__": (lp - (0 if jacobian else u.sum(axis=-1))).ravel("F"),
                          "chain": np.repeat(np.arange(16), len(u))})
    table.to_csv(path, index=False)
    return table


def main():
    with tempfile.TemporaryDirectory(prefix="probode-") as name:
        work = pathlib.Path(name)
        subprocess.run(["go", "build", "-o", work / "probode", "./pkg/probode/cmd/probode"], cwd=ROOT, check=True)
        (work / "m.yaml").write_text(MODEL)
        pd.DataFrame({"time": TIMES, "y": DATA}).to_csv(work / "data.csv", index=False)

        def assess(table, *args):
            done = subprocess.run([work / "probode", "assess", work / "m.yaml", "-from", work / table, *args, "-quiet", "-seed", "1",
                                   "-json", work / "out.json"], text=True, capture_output=True)
            if done.returncode:
                sys.exit(f"assess {table} ended with {done.returncode}: {done.stdout}{done.stderr}")
            return done.stdout, json.loads((work / "out.json").read_text())

        draw(scipy, 1500, work / "scipy.csv")
        said, _ = assess("scipy.csv", "-made-by", "dp5,1e-3,1e-6")
        check("lp__: the models agree" in said and "the solver's error does not matter" in said, said)

        crude = draw(euler, 4000, work / "euler.csv", jacobian=False)
        said, out = assess("euler.csv", "-made-by", f"ab1,step={STEP}")
        check("Jacobian" in said and "the solver's error matters" in said, said)
        accurate = draw(exact, 4000, work / "exact.csv")
        for said in out["candidates"][0]["parameters"]:
            x, y = crude[said["name"]], accurate[said["name"]]
            low, median, high = np.quantile(y, [0.1587, 0.5, 0.8413])
            shift = (x.median() - median) / ((high - low) / 2)
            ratio = (x.quantile(0.8413) - x.quantile(0.1587)) / (high - low)
            # 51,200 draws of emcee with an autocorrelation time of 30 to 40: their medians have
            # errors of sqrt(pi/2 * 40/51200) = .035 half-widths, intervals of 1.5 * .028. Five
            # standard errors: four false alarms in a million.
            check(abs(shift - said["median_bias"]) < 5 * np.hypot(0.035, said["median_bias_se"]), f"{said}: a shift of {shift}")
            check(abs(ratio - said["interval_ratio"]) < 5 * np.hypot(0.042, said["interval_ratio_se"]), f"{said}: a ratio of {ratio}")
    print("test_from: the draws of emcee are judged right")


def check(holds, said):
    if not holds:
        sys.exit(f"test_from: unexpected answer:\n{said}")


if __name__ == "__main__":
    main()
