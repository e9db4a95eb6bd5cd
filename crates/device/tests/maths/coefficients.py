"""Writes src/maths/coefficients.rs: minimax polynomials of the vector maths.

Run `python coefficients.py` in this folder (needs mpmath, takes some minutes). Each constant is
written with the error that was reached, before the rounding of the coefficients to f64.
"""

import os
import sys
from mpmath import mp, mpf, exp, expm1, log, log1p, atanh, atan, asin, sin, cos, sqrt, pi, erf, erfc
from mpmath import nstr, taylor, psi, loggamma, besseli

from remez import polynomial, rational, horner

CONSTANTS = []


def add(name, what, coefficients, bound):
    CONSTANTS.append((name, what, [float(c) for c in coefficients], bound))
    print(f"{name}: {len(coefficients)} coefficients, error {nstr(bound, 3)}", file=sys.stderr)


def series_or(f, small, series):
    """f away from 0, its Taylor sum near it."""
    return lambda x: horner(series, x) if abs(x) < small else f(x)


def exponential():
    half = log(2) / 2 * mpf("1.0001")
    series = [1 / mp.factorial(k + 2) for k in range(30)]
    q = lambda r: horner(series, r)
    p, e = polynomial(q, -half, half, 9, lambda r: r)
    add("EXP", "(eʳ − 1 − r)/r² on |r| ≤ ln 2/2; the error is relative to eʳ − 1", p, e)


def logarithm():
    series = [mpf(2) / (2 * k + 3) for k in range(60)]
    tail = lambda z: horner(series, z)
    p, e = polynomial(tail, 0, mpf(1) / 25, 6, lambda z: z / 2)
    add("LOG", "(2 atanh(s) − 2s)/s³ in s² ≤ 1/25; the error is relative to 2 atanh(s)", p, e)
    series = [mpf(2) / (2 * k + 3) for k in range(80)]
    tail = lambda z: horner(series, z)
    p, e = polynomial(tail, 0, mpf(1) / 9, 9, lambda z: z / 2)
    add("LOG_WIDE", "the same in s² ≤ 1/9", p, e)


PARTS = [exponential, logarithm]

HEADER = """//! Minimax coefficients, constant term first, with the error each reached.
//!
//! Written by `tests/maths/coefficients.py`; do not edit.
"""


def number(x):
    text = repr(x)
    if "e" in text:
        mantissa, exponent = text.split("e")
        if "." not in mantissa:
            mantissa += ".0"
        return f"{mantissa}e{int(exponent)}"
    return text


def write(path):
    lines = [HEADER]
    for name, what, values, bound in CONSTANTS:
        lines.append(f"/// {what}. Error {nstr(bound, 2)}.")
        lines.append(f"pub(crate) const {name}: [f64; {len(values)}] = [")
        lines += [f"    {number(v)}," for v in values]
        lines.append("];\n")
    with open(path, "w") as out:
        out.write("\n".join(lines).rstrip("\n") + "\n")


if __name__ == "__main__":
    for part in PARTS:
        part()
    here = os.path.dirname(os.path.abspath(__file__))
    write(os.path.join(here, "..", "..", "src", "maths", "coefficients.rs"))
