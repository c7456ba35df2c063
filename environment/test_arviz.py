"""A study that probode sample has drawn, opened with ArviZ and pandas as a user would.

    environment/lab run python environment/test_arviz.py
"""

import csv
import pathlib
import subprocess
import tempfile
import unittest
import warnings

warnings.filterwarnings("ignore", category=FutureWarning)  # ArviZ announces its next version

import arviz
import numpy
import pandas

ROOT = pathlib.Path(__file__).resolve().parent.parent

PARAMETERS = ["theta1", "theta2", "theta3", "theta4", "hare0", "lynx0", "sigma_hare", "sigma_lynx"]


class Exported(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="probode-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.probode = pathlib.Path(cls.folder.name) / "probode"
        cls.study = pathlib.Path(cls.folder.name) / "lynx"
        subprocess.run(["go", "build", "-o", cls.probode, "./pkg/probode/cmd/probode"], cwd=ROOT, check=True)
        cls.run_probode("sample", "-case", "lynx-hare", "-method", "am1", "-step", "0.25", "-alpha", "0.05",
                        "-draws", "500", "-thin", "20", "-seed", "3", "-dir", cls.study, "-quiet")
        # As probode sample -help has it.
        cls.data = arviz.from_cmdstan(posterior=f"{cls.study}/chain-*.csv", log_likelihood="log_lik")

    @classmethod
    def run_probode(cls, *args):
        return subprocess.run([cls.probode, *args], cwd=ROOT, check=True, text=True, capture_output=True).stdout

    def test_draws(self):
        posterior = self.data.posterior
        self.assertEqual(list(posterior.data_vars), [*PARAMETERS, "y_hat"])
        for name in PARAMETERS:
            self.assertEqual(posterior[name].shape, (4, 500))
        # 21 years of two species, by row and column.
        self.assertEqual(self.data.log_likelihood["log_lik"].shape, (4, 500, 42))
        self.assertEqual(posterior["y_hat"].shape, (4, 500, 42))
        # What is expected of the data has no error of observation: it is no group
        # from which plot_ppc would draw bands for them.
        self.assertEqual(sorted(self.data.groups()), ["log_likelihood", "posterior", "sample_stats"])
        self.assertEqual(list(self.data.sample_stats.data_vars), ["lp"])

    def test_summary(self):
        """Both compute in double precision from numbers that are exact in the files,
        and sum some thousand terms in different orders. But R̂ ranks the distances from
        the median too, and of the two draws next to it rounding says which is nearer.
        Their normal scores differ by 0.3, which moves the mean of a half chain of 250
        draws by 1e-3, and R̂ by less than 1e-4."""
        rows = list(csv.DictReader(self.run_probode("summary", "-csv", self.study).splitlines()))
        self.assertEqual([r["parameter"] for r in rows], PARAMETERS)
        theirs = arviz.summary(self.data, var_names=["~y_hat"], round_to="none")
        self.assertEqual(list(theirs.index), PARAMETERS)
        for r in rows:
            for ours, name in [("mean", "mean"), ("sd", "sd"), ("mcse_mean", "mcse_mean"),
                               ("ess_bulk", "ess_bulk"), ("ess_tail", "ess_tail"), ("r_hat", "r_hat")]:
                numpy.testing.assert_allclose(float(r[ours]), theirs.loc[r["parameter"], name], rtol=1e-4 if name == "r_hat" else 1e-9,
                                              err_msg=f"{name} of {r['parameter']}")

    def test_loo(self):
        """Every one of the 42 values has a log density, and the estimates are usable."""
        loo = arviz.loo(self.data, pointwise=True)
        self.assertEqual(loo.n_data_points, 42)
        self.assertTrue(numpy.isfinite(loo.elpd_loo))
        self.assertLess(numpy.max(loo.pareto_k), 1)

    def test_missing(self):
        """A value that is missing has an expectation and no log density, which loo
        would otherwise make nan of."""
        lines = (ROOT / "notebooks" / "data" / "lynx_hare.csv").read_text().splitlines()
        year = next(k for k, line in enumerate(lines) if line.startswith("1907,"))
        lines[year] = "1907,NA," + lines[year].split(",")[2]
        data, study = pathlib.Path(self.folder.name) / "gap.csv", pathlib.Path(self.folder.name) / "gap"
        data.write_text("\n".join(lines) + "\n")
        self.run_probode("sample", "-case", "lynx-hare", "-data", data, "-method", "am1", "-step", "0.5", "-scheme", "deterministic",
                         "-draws", "200", "-thin", "5", "-dir", study, "-quiet")
        gap = arviz.from_cmdstan(posterior=f"{study}/chain-*.csv", log_likelihood="log_lik")
        self.assertEqual(gap.posterior["y_hat"].shape, (4, 200, 42))
        loo = arviz.loo(gap)
        self.assertEqual(loo.n_data_points, 41)
        self.assertTrue(numpy.isfinite(loo.elpd_loo))

    def test_metadata(self):
        """What the draws were made with, as attributes and as comments."""
        attributes = self.data.posterior.attrs
        self.assertIn("probode", attributes)
        for key, value in {"scheme": "pcn,PCNWithinGibbs", "method": "AM1", "step": "0.25", "alpha": "0.05", "model": "lynx_and_hare",
                           "prior_1": "theta1~Truncated", "data": "21_rows_of_2", "seed": "3", "thin": "20", "go": "go1.",
                           "proposed": "10000", "failed": "0"}.items():
            with self.subTest(key=key):
                self.assertEqual(len(attributes[key]), 4)  # one for each chain
                self.assertTrue(attributes[key][0].startswith(value), attributes[key][0])
        for line in ["# note = chains start around the mode", "# note = step"]:
            self.assertIn("\n" + line, attributes["comments"][0])

    def test_pandas(self):
        for k in range(4):
            table = pandas.read_csv(self.study / f"chain-{k + 1}.csv", comment="#", float_precision="round_trip")
            self.assertEqual(len(table), 500)
            for name in PARAMETERS:
                numpy.testing.assert_array_equal(table[name], self.data.posterior[name][k])

    def test_saved(self):
        path = pathlib.Path(self.folder.name) / "lynx.nc"
        self.data.to_netcdf(path)
        again = arviz.from_netcdf(path)
        numpy.testing.assert_array_equal(again.posterior["theta1"], self.data.posterior["theta1"])
        self.assertEqual(again.posterior.attrs["method"], self.data.posterior.attrs["method"])


if __name__ == "__main__":
    # float_precision, which pandas needs before version 3 and not later; Pareto
    # shapes of single years above 0.7.
    unittest.main(warnings="ignore")
