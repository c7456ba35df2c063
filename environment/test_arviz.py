"""Opens studies of probode sample with ArviZ and pandas, as a user would.

    python environment/test_arviz.py FOLDER

environment/test_draws.py makes FOLDER, and runs this with ArviZ 0.2x and 1.x. Both open
the Zarr store; the older one opens the files of the study as well.
"""

import csv
import pathlib
import sys
import unittest
import warnings

warnings.filterwarnings("ignore", category=FutureWarning)  # ArviZ announces its next version

import arviz
import numpy
import pandas
import xarray

FOLDER = pathlib.Path(sys.argv.pop(1))
OLD = arviz.__version__.startswith("0.")

PARAMETERS = ["theta1", "theta2", "theta3", "theta4", "hare0", "lynx0", "sigma_hare", "sigma_lynx"]


def from_zarr(name):
    """Opens a store as docs/from-r-or-python.md says. With the newer Zarr the older ArviZ needs xarray."""
    if OLD:
        return arviz.InferenceData.from_datatree(xarray.open_datatree(FOLDER / name, engine="zarr").load())
    return arviz.from_zarr(str(FOLDER / name))


def groups(data):
    return sorted(g.strip("/") for g in (data.groups() if OLD else data.groups) if g != "/")


class Opened:
    """Properties that hold however the study was opened."""

    def test_draws(self):
        posterior = self.data.posterior
        self.assertEqual(sorted(posterior.data_vars), sorted([*PARAMETERS, "y_hat"]))
        for name in PARAMETERS:
            self.assertEqual(posterior[name].dims, ("chain", "draw"))
            self.assertEqual(posterior[name].shape, (4, 500))
        # 21 years of two species, by row and column.
        self.assertEqual(self.data.log_likelihood["log_lik"].shape, (4, 500, 42))
        self.assertEqual(posterior["y_hat"].shape, (4, 500, 42))
        # The expected data have no error of observation, so they must not be in the group
        # from which plot_ppc would draw predictive bands.
        self.assertEqual(groups(self.data), ["log_likelihood", "posterior", "sample_stats"])
        self.assertEqual(list(self.data.sample_stats.data_vars), ["lp"])

    def test_numbers(self):
        """The draws of every group are those of the files."""
        for k in range(4):
            table = pandas.read_csv(FOLDER / "lynx" / f"chain-{k + 1}.csv", comment="#", float_precision="round_trip")
            self.assertEqual(len(table), 500)
            for name in PARAMETERS:
                numpy.testing.assert_array_equal(table[name], self.data.posterior[name][k])
            numpy.testing.assert_array_equal(table["lp__"], self.data.sample_stats["lp"][k])
            for group, name in (("posterior", "y_hat"), ("log_likelihood", "log_lik")):
                numpy.testing.assert_array_equal(table[[f"{name}.{i + 1}" for i in range(42)]], self.data[group][name][k])

    def test_summary(self):
        """Both compute in double precision from numbers that are exact in the files,
        and sum some thousand terms in different orders. But R̂ ranks the distances from
        the median too, and of the two draws next to it rounding says which is nearer.
        Their normal scores differ by 0.3, which moves the mean of a half chain of 250
        draws by 1e-3, and R̂ by less than 1e-4."""
        with open(FOLDER / "summary.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([r["parameter"] for r in rows], PARAMETERS)
        theirs = arviz.summary(self.data, var_names=["~y_hat"], round_to="none")
        self.assertEqual(sorted(theirs.index), sorted(PARAMETERS))
        if not OLD:  # its summary uses the central 89 %, ours and the older one use 90 %
            tails = arviz.ess(self.data, method="tail", prob=(0.05, 0.95))
            tails = tails.posterior if hasattr(tails, "posterior") else tails
            theirs["ess_tail"] = [float(tails[name]) for name in theirs.index]
        for r in rows:
            for name in ("mean", "sd", "mcse_mean", "ess_bulk", "ess_tail", "r_hat"):
                numpy.testing.assert_allclose(float(r[name]), float(theirs.loc[r["parameter"], name]), rtol=1e-4 if name == "r_hat" else 1e-9,
                                              err_msg=f"{name} of {r['parameter']}")

    def test_loo(self):
        """Each of the 42 values has a log density, and loo can use them."""
        loo = arviz.loo(self.data, pointwise=True)
        self.assertEqual(loo.n_data_points, 42)
        self.assertTrue(numpy.isfinite(loo.elpd_loo if OLD else loo.elpd))
        self.assertLess(numpy.max(loo.pareto_k), 1)

    def test_missing(self):
        """A missing value has an expectation and no log density; a log density of NaN would
        make the result of loo NaN."""
        self.assertEqual(self.gap.posterior["y_hat"].shape, (4, 200, 42))
        loo = arviz.loo(self.gap)
        self.assertEqual(loo.n_data_points, 41)
        self.assertTrue(numpy.isfinite(loo.elpd_loo if OLD else loo.elpd))


class FromZarr(Opened, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data, cls.gap = from_zarr("lynx.zarr"), from_zarr("gap.zarr")

    def test_metadata(self):
        for group in groups(self.data):
            attributes = self.data[group].attrs
            self.assertEqual(attributes["inference_library"], "probode")
            self.assertTrue(attributes["method"].startswith("AM1"))
            self.assertIn("chains start around the mode", attributes["notes"])


class FromFiles(Opened, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # As probode sample -help shows.
        cls.data, cls.gap = (arviz.from_cmdstan(posterior=f"{FOLDER}/{study}/chain-*.csv", log_likelihood="log_lik") for study in ("lynx", "gap"))

    def test_metadata(self):
        """The settings of the run are stored as attributes and as comments."""
        attributes = self.data.posterior.attrs
        self.assertIn("probode", attributes)
        for key, value in {"scheme": "hamiltonian,Hamiltonian", "method": "AM1", "step": "0.25", "alpha": "0.05", "model": "lynx_and_hare",
                           "prior_1": "theta1~Truncated", "data": "21_rows_of_2", "seed": "3", "thin": "1", "go": "go1.",
                           "proposed": "500", "failed": "0"}.items():
            with self.subTest(key=key):
                self.assertEqual(len(attributes[key]), 4)  # one for each chain
                self.assertTrue(attributes[key][0].startswith(value), attributes[key][0])
        for line in ["# note = chains start around the mode", "# note = step"]:
            self.assertIn("\n" + line, attributes["comments"][0])

    def test_saved(self):
        path = FOLDER / "lynx.nc"
        self.data.to_netcdf(path)
        again = arviz.from_netcdf(path)
        numpy.testing.assert_array_equal(again.posterior["theta1"], self.data.posterior["theta1"])
        self.assertEqual(again.posterior.attrs["method"], self.data.posterior.attrs["method"])


class Diagnostics(unittest.TestCase):
    def test_two_values(self):
        """For draws that are 0 or 1 the tail ESS is the number that TestTailESSOfTwoValues of
        package diag expects for the same draws."""
        x = numpy.array([[float((i * i + 3 * c * i + c) % 7 < 3) for i in range(40)] for c in range(4)])
        got = arviz.ess(x, method="tail", prob=(0.05, 0.95))
        numpy.testing.assert_allclose(float(got), 26.348821075615007, rtol=1e-9)


if __name__ == "__main__":
    if not OLD:
        del FromFiles  # since 1.0 there is no from_cmdstan
    # float_precision is needed by pandas before version 3 only; some years have Pareto
    # shapes above 0.7.
    unittest.main(warnings="ignore")
