"""Writes ../../../src/composed/coefficients.rs: Chebyshev coefficients of Bessel functions of orders 0 and 1.

Run: python3 crates/graph/tests/golden/composed/coefficients.py    (needs mpmath)
Each series is interpolated at 60 points with 50 digits and cut where what follows is below 1e-17 of the greatest.
"""

from pathlib import Path

from mpmath import besseli, besselj, besselk, bessely, cos, euler, log, mp, mpf, pi, sin, sqrt

mp.dps = 50
POINTS = 60


def series(f, least=mpf("1e-17")):
    """Coefficients of f over −1..1, the first halved."""
    at = [cos(pi * (k + mpf(1) / 2) / POINTS) for k in range(POINTS)]
    values = [f(t) for t in at]
    out = []
    for j in range(POINTS):
        total = sum(v * cos(pi * j * (k + mpf(1) / 2) / POINTS) for k, v in enumerate(values))
        out.append(2 * total / POINTS)
    out[0] /= 2
    size = max(abs(c) for c in out)
    last = max(j for j, c in enumerate(out) if abs(c) > least * size)
    return out[: last + 1]


def inner(t):
    """x in 0..8 where t = 2 (x/8)² − 1, or 2·(x/2)² − 1 for x in 0..2."""
    return sqrt((t + 1) / 2)


def phase(order, which):
    """P or Q of the asymptotic form, of t = 2 (8/x)² − 1: sqrt(2/(πx)) (P cos χ − Q sin χ) is J, χ = x − (order/2 + ¼)π."""

    def value(t):
        x = 8 / inner(t)
        chi = x - (mpf(order) / 2 + mpf(1) / 4) * pi
        scale = sqrt(pi * x / 2)
        j, y = besselj(order, x) * scale, bessely(order, x) * scale
        return j * cos(chi) + y * sin(chi) if which == "P" else (y * cos(chi) - j * sin(chi)) * x / 8

    return value


def small(order, scale):
    """x from t; functions over x^order, whose rest is even."""
    return lambda t: scale * inner(t)


def rest_y0(t):
    x = 8 * inner(t)
    return bessely(0, x) - 2 / pi * log(x) * besselj(0, x)


def rest_y1(t):
    x = 8 * inner(t)
    return (bessely(1, x) - 2 / pi * (log(x) * besselj(1, x) - 1 / x)) / x


def rest_k0(t):
    x = 2 * inner(t)
    return besselk(0, x) + log(x / 2) * besseli(0, x)


def rest_k1(t):
    x = 2 * inner(t)
    return (besselk(1, x) - log(x / 2) * besseli(1, x) - 1 / x) / x


def tail_k(order):
    """e^x √x K(x) for x ≥ 2, of t = 4/x − 1."""

    def value(t):
        x = 4 / (t + 1)
        return mp.exp(x) * sqrt(x) * besselk(order, x)

    return value


TABLES = [
    ("J0_NEAR", "J₀(x) for x ≤ 8, of 2(x/8)² − 1", series(lambda t: besselj(0, 8 * inner(t)))),
    ("J1_NEAR", "J₁(x)/x for x ≤ 8", series(lambda t: besselj(1, 8 * inner(t)) / (8 * inner(t)))),
    ("Y0_NEAR", "Y₀(x) − (2/π) ln(x) J₀(x) for x ≤ 8", series(rest_y0)),
    ("Y1_NEAR", "(Y₁(x) − (2/π)(ln(x) J₁(x) − 1/x))/x for x ≤ 8", series(rest_y1)),
    ("P0", "P of order 0 for x ≥ 8, of 2(8/x)² − 1", series(phase(0, "P"))),
    ("Q0", "Q·x/8 of order 0 for x ≥ 8", series(phase(0, "Q"))),
    ("P1", "P of order 1 for x ≥ 8", series(phase(1, "P"))),
    ("Q1", "Q·x/8 of order 1 for x ≥ 8", series(phase(1, "Q"))),
    ("K0_NEAR", "K₀(x) + ln(x/2) I₀(x) for x ≤ 2, of 2(x/2)² − 1", series(rest_k0)),
    ("K1_NEAR", "(K₁(x) − ln(x/2) I₁(x) − 1/x)/x for x ≤ 2", series(rest_k1)),
    ("K0_FAR", "eˣ √x K₀(x) for x ≥ 2, of 4/x − 1", series(tail_k(0))),
    ("K1_FAR", "eˣ √x K₁(x) for x ≥ 2", series(tail_k(1))),
]

lines = [
    "//! Chebyshev coefficients of Bessel functions, written by `tests/golden/composed/coefficients.py`.",
    "",
]
for name, about, values in TABLES:
    lines.append(f"/// {about}.")
    lines.append(f"pub(super) const {name}: [f64; {len(values)}] = [")
    lines += [f"    {float(v)!r}," for v in values]
    lines += ["];", ""]
    print(name, len(values), float(max(abs(v) for v in values)))
out = Path(__file__).parents[3] / "src" / "composed" / "coefficients.rs"
out.write_text("\n".join(lines[:-1]) + "\n")
