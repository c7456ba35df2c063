"""Opens models that probode writes as PEtab with PEtab's own library. petablint must not
complain, and the log-likelihood that the library computes from the simulations must be
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
                    folder, numbers = work / model, work / f"{model}.json"
                    subprocess.run([probode, "likelihood", "-model", MODELS / f"{model}.yaml", "-petab", folder, "-json", numbers],
                                   check=True, stdout=subprocess.DEVNULL)
                    lint = subprocess.run([pathlib.Path(sys.executable).with_name("petablint"), folder / "problem.yaml"],
                                          capture_output=True, text=True)
                    self.assertEqual(lint.returncode, 0, lint.stdout + lint.stderr)
                    problem = petab.Problem.from_yaml(str(folder / "problem.yaml"))
                    simulated = petab.get_simulation_df(str(folder / "simulations.tsv"))
                    got = calculate_llh(problem.measurement_df, simulated, problem.observable_df, problem.parameter_df)
                    want = json.loads(numbers.read_text())["log_likelihood"]
                    # Both are sums of the same terms in double precision.
                    self.assertAlmostEqual(got, want, delta=1e-11 * max(1, abs(want)) * len(simulated))


if __name__ == "__main__":
    unittest.main()
