"""Golden values of the diagnostics, from ArviZ.

    python generate.py             writes diagnostics.json (needs arviz 1.x)
    python generate.py --compare   prints the largest differences from diagnostics.json of the ArviZ
                                   that is installed (0.2x or 1.x)

Made with Python 3.12.1, arviz 1.3.0, arviz-stats 1.3.3, numpy 2.5.5, scipy 1.18.1.

The draws are not stored. Every case is a recipe in arithmetic that IEEE 754 rounds alike
everywhere (a linear congruential generator, then + - * / only), so that the test makes the same
bits; the bits of their sum and last value are stored to prove it.
"""

import json
import math
import struct
import sys
import warnings
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")
GOLDEN = Path(__file__).with_name("diagnostics.json")

try:
    from arviz_stats.base import array_stats

    LINE = 1
except ImportError:
    import arviz

    LINE = 0


class Lcg:
    """Knuth's 64-bit linear congruential generator; its upper 53 bits make a number in [0, 1)."""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 11) / 2.0**53


def noise(lcg, kind):
    """One independent number: bell (the sum of 12 uniforms less 6), heavy, integer, uniform."""
    if kind == "bell":
        total = -6.0
        for _ in range(12):
            total += lcg.uniform()
        return total
    u = lcg.uniform()
    if kind == "heavy":
        return (u - 0.5) / (u * (1.0 - u) + 1e-9)
    if kind == "integer":
        return float(math.floor(u * 5.0))
    if kind == "uniform":
        return u
    if kind == "zero":
        return 0.0
    raise ValueError(kind)


def draws(case):
    """Chain c, draw i: offset + scale * (chain_scale**c * y + c * chain_shift + i * drift), with
    y the autoregression y = rho * y + noise."""
    lcg = Lcg(case["seed"])
    rows = []
    spread = 1.0
    for c in range(case["chains"]):
        y = 0.0
        row = []
        for i in range(case["draws"]):
            y = case["rho"] * y + noise(lcg, case["noise"])
            value = spread * y + c * case["chain_shift"] + i * case["drift"]
            row.append(case["offset"] + case["scale"] * value)
        spread *= case["chain_scale"]
        rows.append(row)
    for c, i, value in case["patches"]:
        rows[c][i] = float(value)
    return np.array(rows, dtype=float)


DEFAULT = {
    "noise": "bell",
    "chains": 4,
    "draws": 200,
    "rho": 0.0,
    "chain_shift": 0.0,
    "chain_scale": 1.0,
    "drift": 0.0,
    "offset": 0.0,
    "scale": 1.0,
    "patches": [],
    "superchain": [0, 0, 1, 1],
}

CASES = {
    "independent": {},
    "independent 1000": {"draws": 1000},
    "uniform": {"noise": "uniform", "draws": 333},
    "slow": {"rho": 0.9, "draws": 500},
    "very slow": {"rho": 0.99, "draws": 1000},
    "extremely slow": {"rho": 0.9995, "draws": 3000},
    "alternating": {"rho": -0.5, "draws": 400},
    "strongly alternating": {"rho": -0.95, "draws": 400},
    "odd length": {"draws": 251, "rho": 0.4},
    "one chain": {"chains": 1},
    "one slow chain": {"chains": 1, "draws": 777, "rho": 0.8},
    "two chains": {"chains": 2, "superchain": [0, 1]},
    "three chains": {"chains": 3, "draws": 101, "superchain": [0, 1, 2]},
    "sixteen chains": {"chains": 16, "draws": 50, "superchain": [0, 1, 2, 3] * 4},
    "sixty-four chains": {"chains": 64, "draws": 20, "superchain": [i // 8 for i in range(64)]},
    "heavy tails": {"noise": "heavy", "draws": 500},
    "heavy and slow": {"noise": "heavy", "draws": 500, "rho": 0.7},
    "integers": {"noise": "integer", "draws": 300},
    "slow integers": {"noise": "integer", "draws": 300, "rho": 1.0},
    "shifted chains": {"chain_shift": 0.3, "draws": 300},
    "far chains": {"chain_shift": 20.0, "draws": 300},
    "scaled chains": {"chain_scale": 2.0, "draws": 300},
    "drift": {"drift": 0.01, "draws": 300},
    "opposite drift": {"drift": -0.05, "draws": 300, "rho": 0.5},
    "random walk": {"rho": 1.0, "draws": 400},
    "long random walk": {"rho": 1.0, "draws": 2000},
    "tiny": {"scale": 1e-18},
    "small": {"scale": 1e-8},
    "huge": {"scale": 1e100},
    "large offset": {"offset": 1e6},
    "very large offset": {"offset": 1e8, "draws": 300},
    "negative": {"offset": -50.0, "scale": -3.0, "rho": 0.3},
    "constant": {"noise": "zero", "offset": 2.5, "draws": 50},
    "constant zero": {"noise": "zero", "draws": 50},
    "constant tenth": {"noise": "zero", "offset": 0.1, "draws": 50},
    "chains constant and different": {"noise": "zero", "chain_shift": 1.1, "draws": 50},
    "one stuck chain": {"draws": 100, "patches": [[2, i, 0.7] for i in range(100)]},
    "one draw differs": {"noise": "zero", "offset": 1.0, "draws": 60, "patches": [[1, 30, 2.0]]},
    "a NaN": {"patches": [[1, 7, "nan"]]},
    "all NaN": {"draws": 10, "patches": [[c, i, "nan"] for c in range(4) for i in range(10)]},
    "an infinity": {"patches": [[1, 7, "inf"]]},
    "a negative infinity": {"patches": [[0, 0, "-inf"]]},
    "both infinities": {"patches": [[0, 3, "-inf"], [3, 9, "inf"]]},
    "negative zeros": {"noise": "integer", "draws": 40, "scale": -1.0},
    "infinity, one chain": {"chains": 1, "patches": [[0, 0, "inf"]]},
}
for n in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]:
    CASES[f"{n} draws"] = {"draws": n}
    CASES[f"{n} slow draws"] = {"draws": n, "rho": 0.95}
CASES["4 draws of one chain"] = {"draws": 4, "chains": 1}
CASES["8 draws of one chain"] = {"draws": 8, "chains": 1}

LEVELS = [0.05, 0.1, 0.25, 0.5, 0.9, 0.95]


def attempt(function):
    """The value, or NaN where ArviZ refuses."""
    try:
        return function()
    except (ValueError, IndexError, TypeError):
        return math.nan


def measure(x, case):
    """Every number of one case, by name."""
    out = {}

    def ess(method, prob=None):
        if LINE == 1:
            return array_stats.ess(x, chain_axis=0, draw_axis=1, method=method, prob=prob)
        return arviz.ess(x, method=method, prob=prob)

    def mcse(method, prob=None):
        if LINE == 1:
            return array_stats.mcse(x, chain_axis=0, draw_axis=1, method=method, prob=prob)
        return arviz.mcse(x, method=method, prob=prob)

    def rhat():
        if LINE == 1:
            return array_stats.rhat(x, chain_axis=0, draw_axis=1, method="rank")
        return arviz.rhat(x, method="rank")

    # 1 - 0.89 is subtracted in floating point, as arviz-stats does from its interval probability.
    tails = {"classic": (0.05, 0.95), "arviz1": (1 - 0.89, 0.89)}
    out["rhat"] = attempt(rhat)
    if LINE == 1 and len(case["superchain"]) == case["chains"]:
        ids = case["superchain"]
        out["rhat_nested"] = attempt(
            lambda: array_stats.rhat_nested(x, ids, method="rank", chain_axis=0, draw_axis=1)
        )
    for method in ["bulk", "mean", "sd", "median", "mad"]:
        out[f"ess_{method}"] = attempt(lambda m=method: ess(m))
    for name, prob in tails.items():
        out[f"ess_tail_{name}"] = attempt(lambda p=prob: ess("tail", p))
    for p in LEVELS:
        out[f"ess_quantile_{p}"] = attempt(lambda p=p: ess("quantile", p))
        out[f"mcse_quantile_{p}"] = attempt(lambda p=p: mcse("quantile", p))
        out[f"quantile_{p}"] = float(np.quantile(x, p))
    out["ess_local_0.1_0.3"] = attempt(lambda: ess("local", (0.1, 0.3)))
    for method in ["mean", "sd", "median"]:
        out[f"mcse_{method}"] = attempt(lambda m=method: mcse(m))
    nan = bool(np.isnan(x).any())  # ArviZ sorts NaN to the end; here the interval is NaN as well
    for prob in [0.5, 0.89, 0.94]:
        if LINE == 1:
            low, high = array_stats.hdi(x.ravel(), prob, axis=0)
            elow, ehigh = array_stats.eti(x.ravel(), prob, axis=0)
        else:
            low, high = arviz.hdi(x.ravel(), prob)
            low, high = (low, high) if np.ndim(low) == 0 else (math.nan, math.nan)
            elow, ehigh = np.quantile(x, [(1 - prob) / 2, 1 - (1 - prob) / 2])
        out[f"hdi_low_{prob}"] = math.nan if nan else low
        out[f"hdi_high_{prob}"] = math.nan if nan else high
        out[f"eti_low_{prob}"] = elow
        out[f"eti_high_{prob}"] = ehigh
    if x.shape[1] > 1:
        # A constant has no variance. ArviZ may find one of rounding errors; here it is exactly 0.
        still = [bool(np.ptp(row) == 0) for row in x]
        bfmi = array_stats.bfmi(x, chain_axis=0, draw_axis=1) if LINE == 1 else arviz.bfmi(x)
        for c, value in enumerate(np.atleast_1d(bfmi)[:4]):
            out[f"bfmi_{c}"] = math.nan if still[c] else value
        autocorr = array_stats.autocorr(x[0], axis=-1) if LINE == 1 else arviz.autocorr(x[0])
        for lag in [1, 2, 7]:
            if lag < x.shape[1]:
                out[f"autocorr_{lag}"] = math.nan if still[0] else autocorr[lag]
    return {key: float(np.asarray(value).item()) for key, value in out.items()}


def encode(value):
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def bits(value):
    """The 64 bits of a number, since not every JSON reader rounds decimals exactly."""
    return "NaN" if math.isnan(value) else struct.pack(">d", value).hex()


def main():
    compare = "--compare" in sys.argv
    stored = json.loads(GOLDEN.read_text()) if compare else {}
    cases, worst = [], []
    for number, (name, changes) in enumerate(CASES.items()):
        case = {**DEFAULT, "seed": number + 1, **changes}
        x = draws(case)
        values = {key: encode(value) for key, value in measure(x, case).items()}
        total = 0.0
        for value in x.ravel():
            total += value
        check = [bits(total), bits(x[-1, -1])]
        changes = {"seed": number + 1, **changes}
        cases.append({"name": name, "recipe": changes, "check": check, "values": values})
        if compare:
            golden = stored["cases"][number]["values"]
            for key, value in values.items():
                if key == "mcse_sd" and LINE == 0:
                    continue  # ArviZ 0.23 fails on it under NumPy 2.4
                a, b = float(value), float(golden[key])
                same = a == b or (math.isnan(a) and math.isnan(b))
                gap = 0.0 if same else abs(a - b) / max(abs(a), abs(b), 5e-324)
                worst.append((math.inf if math.isnan(gap) else gap, name, key, a, b))
    if compare:
        for row in sorted(worst, reverse=True)[:40]:
            print(*row)
    else:
        lines = ",\n".join(json.dumps(case) for case in cases)
        defaults = json.dumps(DEFAULT)
        GOLDEN.write_text(f'{{"default": {defaults},\n"cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
