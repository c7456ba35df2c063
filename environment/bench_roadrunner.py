"""Compares the time of a log-likelihood with that of a simulation by libRoadRunner.

    make bench-peers PEERS=roadrunner
    make bench-peers PEERS=roadrunner ARGS="folder/problem.yaml …"

A simulation solves all experiments of a PEtab problem at the nominal parameters, up to the
times of the data. libRoadRunner uses CVODE with a relative tolerance of 1e-8 and an
absolute one of 1e-16, and a simulation includes a reset and the setting of the parameters
from Python. The table compares with its time

  default   a log-likelihood with the default settings, whose error is at most 1e-7;
  BDF       one by BDF with the same absolute tolerance, and with a relative one at which
            its error is as large as that of the simulation. An error is the root mean
            square over nine tolerances within a factor of four, because the error at a
            single tolerance may be small by chance.

The last column is the time of a solution and its gradient by Radau5 on fixed steps, chosen
for a tolerance of 1e-6, as a multiple of the time of the solution. The programs take turns
on one core. Times are CPU times, and ratios are medians over the turns. Problems with
preequilibration or with measurements of a steady state are refused.
"""

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time
import warnings

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["GOMAXPROCS"] = "1"

import libsbml
import numpy
import petab.v1 as petab
import roadrunner
import yaml
from petab.v1.calculate import calculate_llh

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHIPPED = [ROOT / "pkg/probode/model/testdata" / f"petab-{name}/problem.yaml" for name in ("lynx", "influenza", "cascade")]
RTOL, ATOL = 1e-8, 1e-16
FORMULAS = {name: getattr(math, name) for name in ("exp", "sqrt", "log10", "sin", "cos", "tan")} | {"ln": math.log, "log": math.log, "abs": abs}


class Simulator:
    """The experiments of a PEtab problem in libRoadRunner."""

    def __init__(self, file):
        listed = yaml.safe_load(file.read_text())
        parts = {key: [str(file.parent / name) for name in listed["problems"][0][f"{key}_files"]]
                 for key in ("sbml", "measurement", "condition", "observable")}
        self.problem = p = petab.Problem.from_files(
            sbml_file=parts["sbml"][0], measurement_file=parts["measurement"], condition_file=parts["condition"],
            observable_files=parts["observable"], parameter_file=str(file.parent / listed["parameter_file"]))
        if "preequilibrationConditionId" in p.measurement_df and p.measurement_df.preequilibrationConditionId.notna().any():
            raise SystemExit(f"{file}: the problem has preequilibration: want one without")
        if not numpy.isfinite(p.measurement_df.time).all():
            raise SystemExit(f"{file}: a measurement has an infinite time: want finite times")
        self.r = r = roadrunner.RoadRunner(libsbml.writeSBMLToString(p.sbml_document))
        r.integrator = "cvode"
        r.integrator.stiff = True
        r.integrator.maximum_num_steps = 10**6
        self.tolerate(RTOL)
        species = r.model.getFloatingSpeciesIds()
        used = set(re.findall(r"\w+", " ".join(map(str, p.observable_df.observableFormula))))
        self.states = [*species, *sorted(used.intersection([*r.getRateRuleIds(), *r.getAssignmentRuleIds()]) - set(species))]
        r.timeCourseSelections = ["time", *(f"[{s}]" if s in species else s for s in self.states)]
        self.nominal = dict(p.parameter_df.nominalValue)
        free = set(r.model.getGlobalParameterIds()) - set(r.getAssignmentRuleIds()) - set(r.getRateRuleIds())
        self.experiments = []
        for condition, rows in p.measurement_df.groupby("simulationConditionId", sort=False):
            values = dict(self.nominal)
            for name, v in p.condition_df.drop(columns="conditionName", errors="ignore").loc[condition].items():
                values[name] = self.number(v)
            index = [i for i, name in enumerate(r.model.getGlobalParameterIds()) if name in values and name in free]
            times = sorted({0.0, *rows.time})
            self.experiments.append((values, index, [values[r.model.getGlobalParameterIds()[i]] for i in index], times, rows))

    def number(self, v):
        try:
            return float(v)
        except ValueError:
            return self.nominal[v]

    def tolerate(self, rtol):
        self.r.integrator.relative_tolerance, self.r.integrator.absolute_tolerance = rtol, ATOL

    def simulate(self, experiment):
        _, index, values, times, _ = experiment
        self.r.reset()
        self.r.model.setGlobalParameterValues(index, values)
        self.r.reset()
        return self.r.simulate(times=times)

    def seconds(self, repeat):
        begin = time.process_time()
        for _ in range(repeat):
            for e in self.experiments:
                self.simulate(e)
        return (time.process_time() - begin) / repeat

    def likelihood(self, rtol):
        p = self.problem
        self.tolerate(rtol)
        simulated = p.measurement_df.rename(columns={"measurement": "simulation"}).astype({"simulation": float})
        for e in self.experiments:
            values, _, _, times, rows = e
            states = numpy.array(self.simulate(e))
            model = dict(zip(self.r.model.getGlobalParameterIds(), self.r.model.getGlobalParameterValues())) | values
            for at, row in rows.iterrows():
                names = FORMULAS | model | dict(zip(self.states, states[times.index(row.time), 1:]))
                for n, v in enumerate(str(row.get("observableParameters", "")).split(";")):
                    if v not in ("", "nan"):
                        names[f"observableParameter{n + 1}_{row.observableId}"] = self.number(v)
                formula = str(p.observable_df.observableFormula[row.observableId])
                simulated.loc[at, "simulation"] = eval(formula.replace("^", "**"), {"__builtins__": {}}, names)
        self.tolerate(RTOL)
        return calculate_llh(p.measurement_df, simulated, p.observable_df, p.parameter_df)


class Probode:
    """The program likelihoodbench."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.clock = (~self.process.pid << 3) | 2  # the CPU time of a process on Linux

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def seconds(self, Repeat, **request):
        begin = time.clock_gettime(self.clock)
        self.ask(Repeat=Repeat, **request)
        return (time.clock_gettime(self.clock) - begin) / Repeat


def rms(errors):
    return math.sqrt(sum(e * e for e in errors) / len(errors))


def equal(ours, theirs):
    """Returns the largest tolerance from which on the errors are at most those of the
    simulation, or None. The arguments are the errors as functions of a tolerance."""
    limit = rms([theirs(RTOL * 2 ** (k / 4)) for k in range(-4, 5)])
    tolerances = [1e-5 * 2 ** (-k / 4) for k in range(72)]
    errors = [ours(t) for t in tolerances]
    best = None
    for i in range(len(errors) - 5, 3, -1):
        if rms(errors[i - 4 : i + 5]) > limit:
            break
        best = tolerances[i]
    return best


def main():
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("-turns", type=int, default=15, help="turns of each program")
    ask.add_argument("problem", nargs="*", default=SHIPPED, help="YAML files of PEtab problems; default: those of the tests")
    asked = ask.parse_args()
    warnings.simplefilter("ignore", DeprecationWarning)  # warnings of the library
    warnings.simplefilter("ignore", FutureWarning)
    with tempfile.TemporaryDirectory(prefix="probode-") as name:
        program = pathlib.Path(name) / "likelihoodbench"
        subprocess.run(["go", "build", "-o", program, "./pkg/probode/internal/likelihoodbench"], cwd=ROOT, check=True)
        go = Probode(program)
        print(f"{'problem':30} {'simulation, ms':>14} {'default':>8} {'BDF':>6} {'rtol':>8} {'gradient':>9}")
        for file in asked.problem:
            compare(pathlib.Path(file).resolve(), go, asked.turns)
        go.process.stdin.close()
        go.process.wait()


def compare(file, go, turns):
    simulator = Simulator(file)
    default = dict(What="likelihood", Model=str(file), Method="auto")
    bdf = default | dict(Method="bdf", Absolute=ATOL)
    exact = go.ask(Repeat=1, **default | dict(Relative=1e-12))
    if abs(simulator.likelihood(1e-12) - exact) > 1e-6:
        raise SystemExit(f"{file}: the two programs solve different problems, because this script reads only simple ones")
    tolerance = equal(lambda t: go.ask(Repeat=1, **bdf | dict(Relative=t)) - exact, lambda t: simulator.likelihood(t) - exact)
    if tolerance is None:
        raise SystemExit(f"{file}: BDF does not become as accurate as the simulation")
    bdf["Relative"] = tolerance
    grid = default | dict(Method="radau5", Relative=1e-6)
    ratios = []
    repeat = max(5, round(0.02 / simulator.seconds(5)))
    for turn in range(turns + 1):
        begin = simulator.seconds(repeat)
        solve = go.seconds(Repeat=5, **grid | dict(What="solve"))
        ratios.append([begin, go.seconds(Repeat=max(2, repeat // 4), **default) / begin, go.seconds(Repeat=repeat, **bdf) / begin,
                       1 + go.seconds(Repeat=5, **grid | dict(What="gradient")) / solve])
    simulation, first, second, gradient = (statistics.median(c) for c in zip(*ratios[1:]))  # the first turn compiles
    name = file.parent.name if file.stem == "problem" else file.stem
    print(f"{name:30} {1e3 * simulation:14.3f} {first:8.2f} {second:6.2f} {tolerance:8.1e} {gradient:9.2f}", flush=True)


if __name__ == "__main__":
    main()
