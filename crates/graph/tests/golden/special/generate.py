"""Writes special.csv: 50-digit reference values of the scalar special functions.

Run: python3 crates/graph/tests/golden/special/generate.py    (needs mpmath)
Columns: function, arguments separated by spaces, value.
"""

from pathlib import Path

from mpmath import mp, mpf, erfc, exp, log, sqrt, pi, psi, besseli, gammainc, betainc, quad, erfinv

mp.dps = 250  # ln Φ(30) = −5e-198


def ndtr(x):
    return erfc(-x / sqrt(2)) / 2


def log_ndtr(x):
    return log(ndtr(x))


def slope(x):
    return exp(-x * x / 2) / sqrt(2 * pi) / ndtr(x)


def ndtri(p):
    mp.dps = 400
    value = sqrt(2) * erfinv(2 * p - 1) if p > mpf(10) ** -60 else mp.findroot(
        lambda x: log(ndtr(x)) - log(p), -sqrt(-2 * log(p)))
    mp.dps = 250
    return +value


def owens_t(h, a):
    return quad(lambda x: exp(-h * h * (1 + x * x) / 2) / (1 + x * x), [0, a / 4, a / 2, a]) / (2 * pi)


def betai(a, b, x):
    return betainc(a, b, 0, x, regularized=True)


LINE = [-40, -38.4, -30, -25.1, -10, -6, -3.3, -1.5, -1.0000001, -1, -0.9999, -0.5, -1e-8, 0,
        1e-8, 0.3, 1, 2.5, 5, 8, 12, 30]
POSITIVE = [1e-8, 1e-3, 0.1, 0.5, 1, 1.5, 2, 3.7, 9.99, 10.5, 20, 29.9, 30.1, 100, 1e4, 1e8]
CASES = [
    ("erfcx", lambda x: exp(x * x) * erfc(x), [(x,) for x in (-26, -5, -1, -1e-9, 0, 1e-9, 0.3, 1, 3, 10, 24.9, 25.1, 100, 1e6)]),
    ("log_ndtr", log_ndtr, [(x,) for x in LINE + [-1e3, -1e6]]),
    ("log_ndtr_slope", slope, [(x,) for x in LINE + [-1e3]]),
    ("ndtr", ndtr, [(x,) for x in LINE if x > -38]),
    ("ndtri", ndtri, [(p,) for p in (1e-300, 1e-100, 1e-20, 1e-5, 0.02, 0.2, 0.2501, 0.4, 0.4999999, 0.5, 0.6, 0.75, 0.9, 0.999, 1 - 2.0 ** -40)]),
    ("owens_t", owens_t, [(h, a) for h in (0, 0.1, 1, 3, 6) for a in (-3, 0.01, 0.5, 1, 2, 50)]),
    ("digamma", lambda x: psi(0, x), [(x,) for x in POSITIVE + [-0.5, -3.3]]),
    ("trigamma", lambda x: psi(1, x), [(x,) for x in POSITIVE + [-0.5, -3.3]]),
    ("log_i0", lambda x: log(besseli(0, x)), [(x,) for x in POSITIVE if x < 1e5]),
    ("i1_over_i0", lambda x: besseli(1, x) / besseli(0, x), [(x,) for x in POSITIVE if x < 1e5]),
    ("gamma_p", lambda a, x: gammainc(a, 0, x, regularized=True),
     [(a, a * f) for a in (1e-3, 0.3, 1, 2.5, 14, 40, 300, 3000) for f in (0.01, 0.5, 0.99, 1.02, 2)]),
    ("gamma_q", lambda a, x: gammainc(a, x, mp.inf, regularized=True),
     [(a, a * f) for a in (0.3, 1, 2.5, 14, 40, 300, 3000) for f in (0.5, 0.99, 1.02, 1.5, 10)]),
    ("beta_inc", betai,
     [(a, b, x) for a in (0.1, 0.5, 1, 3, 30, 400) for b in (0.2, 1, 7.5, 200) for x in (1e-6, 0.01, 0.25, 0.5, 0.75)]),
]

rows = ["function,arguments,value"]
for name, function, points in CASES:
    mp.dps = 250 if "ndtr" in name else 50
    for point in points:
        value = function(*[mpf(v) for v in point])
        if abs(value) < mpf(10) ** -290 and value != 0:
            continue
        rows.append(f"{name},{' '.join(repr(float(v)) for v in point)},{float(value)!r}")
Path(__file__).with_name("special.csv").write_text("\n".join(rows) + "\n")
