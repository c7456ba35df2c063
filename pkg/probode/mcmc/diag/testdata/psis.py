"""Reference values for psis_test.go, computed with ArviZ.

Run with ArviZ 0.23.4 (pip install arviz==0.23.4):

    python psis.py > psis.json

The log weights come from a linear congruential generator and elementary formulas,
which psis_test.go repeats. Of the smoothed log weights the sums of x, x² and
exp(2x) are kept, and the largest.
"""

import json
import math

import arviz
import numpy as np

CASES = [
    # name, number, seed
    ("pareto 0.3", 1000, 1),
    ("pareto 0.7", 4000, 2),
    ("pareto 1.2", 2000, 3),
    ("normal", 1000, 4),
    ("normal", 117, 5),
    ("uniform", 500, 6),
    ("wide", 400, 7),
    ("ties", 1000, 8),
    ("small", 25, 9),
    ("near", 1000, 10),
]


class Uniform:
    def __init__(self, seed):
        self.state = seed

    def __call__(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return ((self.state >> 11) + 0.5) / 2**53


def draw(name, n, seed):
    u = Uniform(seed)

    def normal():
        r = math.sqrt(-2 * math.log(u()))
        return r * math.cos(2 * math.pi * u())

    x = np.empty(n)
    for i in range(n):
        if name.startswith("pareto"):
            x[i] = 100 - float(name.split()[1]) * math.log(u())
        elif name == "normal":
            x[i] = normal() - 1000
        elif name == "uniform":
            x[i] = math.log(u())
        elif name == "wide":
            x[i] = 300 * normal()
        elif name == "ties":
            x[i] = math.floor(4 * normal() + 0.5) / 4
        elif name == "small":
            x[i] = normal()
        elif name == "near":
            x[i] = 1e-9 * normal()
    return x


def main():
    assert arviz.__version__ == "0.23.4", arviz.__version__
    out = []
    for name, n, seed in CASES:
        x = draw(name, n, seed)
        smooth, k = arviz.psislw(x)
        smooth = np.asarray(smooth)
        out.append(
            {
                "name": name,
                "n": n,
                "seed": seed,
                "khat": float(k) if math.isfinite(k) else 1e300,
                "sum": math.fsum(smooth),
                "squares": math.fsum(smooth**2),
                "concentration": math.fsum(np.exp(2 * smooth)),
                "largest": float(smooth.max()),
            }
        )
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
