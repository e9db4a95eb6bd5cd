"""Writes incomplete.csv: 50-digit values and slopes of the incomplete gamma and beta functions, of
logarithms of B and of binomial coefficients, of Gauss's hypergeometric function and of Bessel's I of any order.

Run: python3 tests/golden/functions/generate.py    (needs mpmath)
Columns: function, arguments separated by spaces, value, slopes by each argument separated by spaces.
"""

from pathlib import Path

from mpmath import beta, betainc, besseli, binomial, exp, gammainc, hyp2f1, inf, log, mp, mpf

mp.dps = 50
STEP = mpf(10) ** -15


def gamma_inc(a, x):
    return gammainc(a, 0, x, regularized=True)


def gamma_incc(a, x):
    return gammainc(a, x, inf, regularized=True)


def beta_inc(a, b, x):
    return betainc(a, b, 0, x, regularized=True)


def ive(v, x):
    return exp(-x) * besseli(v, x)


GAUSS = [(0.3, 0.7, 1.3), (2.2, 1.4, 3.2), (0.06, 0.9, 1.9), (14.5, 1.6, 15.5), (3.0, 8.0, 9.0), (120.4, 0.8, 121.4), (250.0, 130.5, 400.0), (2.0, 2.0, 2.3), (0.7, 9.5, 2.2), (6.0, 30.0, 7.5)]
ORDERS = [(v, x) for v in (0.0, 0.4, 1.0, 7.0, 60.0, 400.0) for x in (1e-3, 0.8, 6.0, 90.0, 700.0)]
PAIRS = [(a, x) for a in (0.3, 1.0, 2.5, 40.0, 300.0) for x in (1e-6, 0.2, 1.0, 3.7, 41.0, 310.0)]
CASES = [
    ("gamma_inc", gamma_inc, PAIRS),
    ("gamma_incc", gamma_incc, PAIRS),
    ("beta_inc", beta_inc, [(a, b, x) for a in (0.3, 1.0, 20.0) for b in (0.5, 3.0, 50.0) for x in (1e-5, 0.2, 0.5, 0.9)]),
    ("hyp2f1", hyp2f1, [(a, b, c, z) for a, b, c in GAUSS for z in (-4.0, -0.3, 0.0, 0.4, 0.93, 0.998) if abs(a * z) < 200 or c > a + b - 20]),
    ("iv", besseli, [(v, x) for v, x in ORDERS if v > 0 and x < 400]),
    ("ive", ive, [(v, x) for v, x in ORDERS if v > 0]),
    ("log_beta", lambda a, b: log(beta(a, b)), [(0.3, 2.0), (1.0, 1.0), (40.0, 3.5), (150.0, 220.0)]),
    ("log_choose", lambda n, k: log(binomial(n, k)), [(5.0, 2.0), (10.0, 0.0), (60.0, 60.0), (7.5, 2.25), (300.0, 120.0)]),
]


def slope(f, x, k):
    """A central difference, whose error is the square of the step."""
    moved = [[v + way * STEP * (i == k) for i, v in enumerate(x)] for way in (1, -1)]
    return (f(*moved[0]) - f(*moved[1])) / (2 * STEP)


rows = ["function,arguments,value,slopes"]
for name, f, all_args in CASES:
    for args in all_args:
        exact = [mpf(v) for v in args]
        value = f(*exact)
        if value < mpf("1e-280"):
            continue
        slopes = " ".join(mp.nstr(slope(f, exact, k), 20) for k in range(len(exact)))
        rows.append(f"{name},{' '.join(repr(v) for v in args)},{mp.nstr(value, 20)},{slopes}")
Path(__file__).with_name("incomplete.csv").write_text("\n".join(rows) + "\n")
