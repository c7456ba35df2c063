"""Reference values for diagnostics_test.go, computed with ArviZ.

Run with ArviZ 0.23.4, NumPy 2.4.6, SciPy 1.17.1 (pip install arviz==0.23.4):

    python diagnostics.py > diagnostics.json

The draws are not stored. They come from a linear congruential generator and
elementary formulas, which diagnostics_test.go repeats; the sum of the draws is
stored to show that both sides speak of the same numbers.
"""

import json
import math

import arviz
import numpy as np
from arviz.stats import diagnostics

CASES = [
    # name, chains, draws, seed
    ("normal", 4, 500, 1),
    ("normal", 4, 501, 2),
    ("normal", 1, 1000, 3),
    ("normal", 2, 11, 4),
    ("normal", 3, 5, 5),
    ("ar", 4, 500, 6),
    ("ar", 1, 333, 7),
    ("antithetic", 4, 250, 8),
    ("cauchy", 4, 500, 9),
    ("cauchy", 1, 401, 10),
    ("shifted", 4, 300, 11),
    ("scaled", 4, 301, 12),
    ("trend", 2, 400, 13),
    ("ties", 4, 250, 14),
    ("offset", 4, 300, 15),
    ("binary", 4, 300, 16),
    ("binary", 1, 101, 17),
]


class Uniform:
    def __init__(self, seed):
        self.state = seed

    def __call__(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return ((self.state >> 11) + 0.5) / 2**53


def draw(name, chains, draws, seed):
    u = Uniform(seed)

    def normal():
        r = math.sqrt(-2 * math.log(u()))
        return r * math.cos(2 * math.pi * u())

    def ar(phi, before):
        return phi * before + math.sqrt(1 - phi * phi) * normal()

    x = np.empty((chains, draws))
    for c in range(chains):
        v = 0.0
        for k in range(draws):
            if name == "normal":
                v = normal()
            elif name == "ar":
                v = ar(0.9, v)
            elif name == "antithetic":
                v = ar(-0.6, v)
            elif name == "cauchy":
                v = math.tan(math.pi * (u() - 0.5))
            elif name == "shifted":
                v = normal() + 0.3 * c
            elif name == "scaled":
                v = normal() * (1 + c)
            elif name == "trend":
                v = normal() + 2 * k / draws
            elif name == "ties":
                v = math.floor(4 * normal() + 0.5) / 4
            elif name == "binary":
                v = float(u() < 0.3)
            elif name == "offset":
                v = ar(0.5, v)
            x[c, k] = 1000 + 1e-3 * v if name == "offset" else v
    return x


def split_rhat(x):
    """Split-R̂ from the parts of arviz.rhat, with two differences.

    arviz.rhat wants two chains, though split-R̂ is defined for one. And it ranks
    distances from the median as rounding leaves them: the two middle draws, which
    are equally far from the median, may get one rank or two. For three chains of
    five draws that is worth 3 %. Here they are always equal.
    """
    halves = diagnostics._split_chains(x)
    middle = np.sort(halves.ravel())[halves.size // 2 - 1 :][:2]
    folded = abs((halves - middle[0]) + (halves - middle[1]))
    r = max(diagnostics._rhat(diagnostics._z_scale(h)) for h in (halves, folded))
    if len(x) > 1 and halves.size > 500:
        assert abs(r - arviz.rhat(x)) < 1e-4
    return r


def main():
    assert arviz.__version__ == "0.23.4", arviz.__version__
    out = []
    for name, chains, draws, seed in CASES:
        x = draw(name, chains, draws, seed)
        out.append(
            {
                "name": name,
                "chains": chains,
                "draws": draws,
                "seed": seed,
                "sum": math.fsum(x.ravel()),
                "rhat": float(split_rhat(x)),
                "bulk": float(arviz.ess(x, method="bulk")),
                "tail": float(arviz.ess(x, method="tail")),
                "mcse_mean": float(arviz.mcse(x, method="mean")),
                "mcse_sd": float(arviz.mcse(x, method="sd")),
                "mcse_q05": float(arviz.mcse(x, method="quantile", prob=0.05)),
                "mcse_q50": float(arviz.mcse(x, method="quantile", prob=0.5)),
                "mcse_q90": float(arviz.mcse(x, method="quantile", prob=0.9)),
            }
        )
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
