"""Opens problems with PEtab's own library. petablint must not complain, and the
log-likelihood that the library computes from the values that probode simulates must be
that of probode.

    environment/lab setup-test
    environment/lab run python environment/test_petab.py
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import petab.v1 as petab
from petab.v1.calculate import calculate_llh

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "pkg" / "probode" / "model" / "testdata"


def simulations(measurements, conditions):
    """Returns the table of simulations: the values of a condition are sorted by time."""
    table = measurements.rename(columns={"measurement": "simulation"}).astype({"simulation": float})
    for c in conditions:
        rows = table.simulationConditionId == c["condition"]
        if c["preequilibration"]:
            rows &= table.preequilibrationConditionId == c["preequilibration"]
        table.loc[table[rows].sort_values("time", kind="stable").index, "simulation"] = c["simulated"]
    return table


class PEtab(unittest.TestCase):
    def test_models(self):
        warnings.simplefilter("ignore", DeprecationWarning)  # warnings of the library
        warnings.simplefilter("ignore", FutureWarning)
        with tempfile.TemporaryDirectory(prefix="probode-") as name:
            work = pathlib.Path(name)
            probode = work / "probode"
            subprocess.run(["go", "build", "-o", probode, "./pkg/probode/cmd/probode"], cwd=ROOT, check=True)
            for model in ("lynx", "influenza", "pk", "cascade"):
                with self.subTest(model):
                    folder = MODELS / f"petab-{model}"
                    found = json.loads(subprocess.run([probode, "likelihood", folder, "-json", "-"], check=True, capture_output=True).stdout)
                    lint = subprocess.run([pathlib.Path(sys.executable).with_name("petablint"), folder / "problem.yaml"],
                                          capture_output=True, text=True)
                    self.assertEqual(lint.returncode, 0, lint.stdout + lint.stderr)
                    problem = petab.Problem.from_yaml(str(folder / "problem.yaml"))
                    simulated = simulations(problem.measurement_df, found["conditions"])
                    got = calculate_llh(problem.measurement_df, simulated, problem.observable_df, problem.parameter_df)
                    want = found["log_likelihood"]
                    # Both are sums of the same terms in double precision.
                    self.assertAlmostEqual(got, want, delta=1e-11 * max(1, abs(want)) * len(simulated))


if __name__ == "__main__":
    unittest.main()
