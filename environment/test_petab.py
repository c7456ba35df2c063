"""Opens problems with PEtab's own library. petablint must not complain, and the
log-likelihood that the library computes from the values that probode simulates must be
that of probode.

    environment/lab setup-test
    environment/lab run python environment/test_petab.py [SUITE]

With SUITE, a copy of PEtab's test suite, every problem in it that uses SBML must have the
log-likelihood and the simulated values that the suite states.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np
import pandas as pd
import petab.v1
import petab.v1.calculate
import petab.v2
import petab.v2.calculate
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "pkg" / "probode" / "model" / "testdata"
SUITE = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None


def simulations(measurements, conditions):
    """Returns the table of simulations: the values of a condition are sorted by time."""
    table = measurements.rename(columns={"measurement": "simulation"}).astype({"simulation": float, "time": float})
    for c in conditions:
        if "experimentId" in table:
            rows = table.experimentId.fillna("") == c["condition"]
        else:
            rows = table.simulationConditionId == c["condition"]
            if c["preequilibration"]:
                rows &= table.preequilibrationConditionId == c["preequilibration"]
        table.loc[table[rows].sort_values("time", kind="stable").index, "simulation"] = c["simulated"]
    return table


class PEtab(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        warnings.simplefilter("ignore", DeprecationWarning)  # warnings of the library
        warnings.simplefilter("ignore", FutureWarning)
        work = tempfile.TemporaryDirectory(prefix="probode-")
        cls.addClassCleanup(work.cleanup)
        cls.probode = pathlib.Path(work.name) / "probode"
        subprocess.run(["go", "build", "-o", cls.probode, "./pkg/probode/cmd/probode"], cwd=ROOT, check=True)

    def likelihood(self, problem):
        ran = subprocess.run([self.probode, "likelihood", problem, "-json", "-"], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(ran.stdout)

    def test_models(self):
        for model in ("petab-lynx", "petab-influenza", "petab-pk", "petab-cascade", "petab2-conversion"):
            with self.subTest(model):
                folder = MODELS / model
                found = self.likelihood(folder)
                lint = subprocess.run([pathlib.Path(sys.executable).with_name("petablint"), folder / "problem.yaml"],
                                      capture_output=True, text=True)
                self.assertEqual(lint.returncode, 0, lint.stdout + lint.stderr)
                library = petab.v2 if model.startswith("petab2") else petab.v1
                problem = library.Problem.from_yaml(str(folder / "problem.yaml"))
                simulated = simulations(problem.measurement_df, found["conditions"])
                got = library.calculate.calculate_llh(problem.measurement_df, simulated, problem.observable_df, problem.parameter_df)
                want = found["log_likelihood"]
                # Both are sums of the same terms in double precision.
                self.assertAlmostEqual(got, want, delta=1e-11 * max(1, abs(want)) * len(simulated))

    @unittest.skipUnless(SUITE, "want the folder of PEtab's test suite")
    def test_suite(self):
        cases = [c.parent for v in ("v1.0.0", "v2.0.0") for c in sorted((SUITE / "petabtests/cases" / v / "sbml").glob("*/_*_solution.yaml"))]
        self.assertGreater(len(cases), 50)
        for case in cases:
            with self.subTest(str(case.relative_to(SUITE))):
                want = yaml.safe_load((case / f"_{case.name}_solution.yaml").read_text())
                found = self.likelihood(case / f"_{case.name}.yaml")
                # The suite has its numbers from closed forms and from other solvers, and
                # allows 1e-3.
                self.assertAlmostEqual(found["log_likelihood"], want["llh"], delta=1e-7 * max(1, abs(want["llh"])))
                measurements = pd.read_csv(case / "_measurements.tsv", sep="\t", dtype={"experimentId": str})
                simulated = pd.read_csv(case / "_simulations.tsv", sep="\t").simulation
                np.testing.assert_allclose(simulations(measurements, found["conditions"]).simulation, simulated, rtol=1e-6, atol=1e-8)


if __name__ == "__main__":
    unittest.main()
