"""Writes src/maths/coefficients.rs: minimax polynomials of the vector maths.

Run `python coefficients.py` in this folder (needs mpmath, takes some minutes). Each constant is
written with the error that was reached, before the rounding of the coefficients to f64.
"""

import os
import sys
from mpmath import besseli, erfc, exp, log, loggamma, mp, mpf, nstr, pi, psi, sqrt

from remez import polynomial, rational, horner

CONSTANTS = []


def add(name, what, coefficients, bound):
    CONSTANTS.append((name, what, [float(c) for c in coefficients], bound))
    print(f"{name}: {len(coefficients)} coefficients, error {nstr(bound, 3)}", file=sys.stderr)


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
    add("LOG_WIDE", "The same in s² ≤ 1/9", p, e)
    series = [mpf(2) / (2 * k + 5) for k in range(60)]
    tail = lambda z: horner(series, z)
    p, e = polynomial(tail, 0, mpf(1) / 25, 6, lambda z: z**2 / 2)
    add("LOG_POW", "(2 atanh(s) − 2s − ⅔s³)/s⁵ in s² ≤ 1/25; relative to 2 atanh(s)", p, e)


def scaled_erfc(x):
    """erfcx: e^(x²) erfc(x)."""
    if x < 60:
        return exp(x * x) * erfc(x)
    total = term = mpf(1)
    for k in range(1, 60):
        term *= -(2 * k - 1) / (2 * x * x)
        total += term
        if abs(term) < mpf(10) ** -45:
            break
    return total / (x * sqrt(pi))


def well_rounded(num, den, xs):
    """Scales both by the factor in [1, 2) for which rounding the coefficients to f64 hurts least.

    Returns them and the largest relative change of num/den on xs.
    """
    shares = []
    for x in xs:
        n, d = horner(num, x), horner(den, x)
        shares.append([float(c * x**j / n) for j, c in enumerate(num)])
        shares[-1] += [-float(c * x**j / d) for j, c in enumerate(den)]
    best = None
    for i in range(4096):
        scale = 1 + mpf(i) / 4096
        losses = [float(float(c * scale) / (c * scale) - 1) for c in num + den]
        worst = max(abs(sum(s * e for s, e in zip(share, losses))) for share in shares)
        if best is None or worst < best[0]:
            best = (worst, scale)
    worst, scale = best
    print(f"  rounding the coefficients changes the quotient by {worst:.2g}", file=sys.stderr)
    return [c * scale for c in num], [c * scale for c in den]


def rescaled(coefficients):
    """Of a polynomial in x, those in t = x√2, over a common power of 2."""
    return [v * mpf(2) ** (5 - mpf(j) / 2) for j, v in enumerate(coefficients)]


def normal():
    to_x = lambda t: 2 * t / (1 - t)
    high = 1 - mpf(10) ** -5
    num, den, e = rational(scaled_erfc, 0, high, 10, 11, lambda x: 1 / scaled_erfc(x), to_x)
    xs = [mpf(k) / 8 for k in range(33)] + [mpf(2) ** (mpf(k) / 2) for k in range(4, 24)]
    mills_num, mills_den = (rescaled(num), rescaled(den))
    num, den = well_rounded(num, den, xs)
    add("ERFCX_NUM", "erfcx(x) for x ≥ 0, numerator; the error is relative", num, e)
    add("ERFCX_DEN", "Its denominator", den, e)
    num, den = well_rounded(mills_num, mills_den, xs)
    add("MILLS_NUM", "erfcx(t/√2) for t ≥ 0, numerator; relative", num, e)
    add("MILLS_DEN", "Its denominator", den, e)
    series = [(-1) ** k * 2 / (sqrt(pi) * mp.factorial(k) * (2 * k + 1)) for k in range(60)]
    series[0] -= 1
    g = lambda z: horner(series, z)
    p, e = polynomial(g, 0, 1, 11, lambda z: 1 / (1 + g(z)))
    add("ERF", "erf(x)/x − 1 in x² ≤ 1; the error is that of erf, relative", p, e)


def trigonometric():
    top = (pi / 4) ** 2 * mpf("1.001")
    s = [(-1) ** (k + 1) / mp.factorial(2 * k + 3) for k in range(25)]
    p, e = polynomial(lambda z: horner(s, z), 0, top, 5, lambda z: z)
    add("SIN", "(sin r − r)/r³ in r² ≤ (π/4)²; the error is relative to r", p, e)
    c = [(-1) ** k / mp.factorial(2 * k + 4) for k in range(25)]
    p, e = polynomial(lambda z: horner(c, z), 0, top, 5, lambda z: z * z)
    add("COS", "(cos r − 1 + r²/2)/r⁴ in r² ≤ (π/4)²; absolute", p, e)
    top = mpf("0.25")
    s = [(-1) ** (k + 1) * pi ** (2 * k + 2) / mp.factorial(2 * k + 3) for k in range(40)]
    p, e = polynomial(lambda z: horner(s, z), 0, top, 7, lambda z: z)
    add("SIN_PI", "(sin(πr)/(πr) − 1)/r² in r² ≤ ¼; the error is that of sin(πr)/(πr)", p, e)
    c = [(-1) ** k * pi ** (2 * k) / mp.factorial(2 * k) for k in range(40)]
    p, e = polynomial(lambda z: horner(c, z), 0, top, 8, lambda z: mpf(1))
    add("COS_PI", "cos(πr) in r² ≤ ¼; absolute", p, e)
    a = [(-1) ** (k + 1) / mpf(2 * k + 3) for k in range(90)]
    top = (sqrt(2) - 1) ** 2 * mpf("1.001")
    p, e = polynomial(lambda z: horner(a, z), 0, top, 10, lambda z: z)
    add("ATAN", "(atan t − t)/t³ in t² ≤ tan²(π/8); the error is relative to t", p, e)
    b = [mp.factorial(2 * k) / (4**k * mp.factorial(k) ** 2 * (2 * k + 1)) for k in range(1, 120)]
    p, e = polynomial(lambda z: horner(b, z), 0, mpf("0.25"), 11, lambda z: z)
    add("ASIN", "(asin s − s)/s³ in s² ≤ ¼; the error is relative to s", p, e)


def away_from(points, f, step=mpf(10) ** -20):
    """f with removable singularities stepped over."""

    def g(x):
        for p in points:
            if abs(x - p) < step / 10:
                x = p + step
        return f(x)

    return g


def gamma():
    g = away_from([mpf(0), mpf(1)], lambda v: loggamma(1 + v) / (v * (v - 1)))
    h = lambda v: g(v) - mpf("0.5")
    num, den, e = rational(h, 0, 2, 7, 7, lambda v: 1 / g(v), lambda t: t)
    add("LGAMMA_NUM", "lgamma(1 + v)/(v (v − 1)) − ½ for 0 ≤ v ≤ 2, numerator; relative", num, e)
    add("LGAMMA_DEN", "Its denominator", den, e)
    root = mp.findroot(lambda x: psi(0, x), mpf("1.4616321449683623")) - 1
    high = mpf(float(root))
    add("DIGAMMA_ROOT", "The zero of ψ(1 + v), in two parts", [high, root - high], mpf(0))
    g = away_from([root], lambda v: psi(0, 1 + v) / (v - root))
    num, den, e = rational(g, 0, 2, 6, 6, lambda v: 1 / g(v), lambda t: t)
    add("DIGAMMA_NUM", "ψ(1 + v)/(v − root) for 0 ≤ v ≤ 2, numerator; relative", num, e)
    add("DIGAMMA_DEN", "Its denominator", den, e)
    tails = [
        ("LGAMMA_TAIL", "(lgamma(x) − (x − ½) ln x + x − ½ ln 2π)·x in 1/x² ≤ 1/64", 4,
         lambda x: (loggamma(x) - (x - 0.5) * log(x) + x - log(2 * pi) / 2) * x),
        ("DIGAMMA_TAIL", "(ln x − 1/(2x) − ψ(x))·x² in 1/x² ≤ 1/64", 5,
         lambda x: (log(x) - 1 / (2 * x) - psi(0, x)) * x * x),
        ("TRIGAMMA_TAIL", "(ψ′(x) − 1/x − 1/(2x²))·x³ in 1/x² ≤ 1/64", 5,
         lambda x: (psi(1, x) - 1 / x - 1 / (2 * x * x)) * x**3),
    ]
    for name, what, degree, f in tails:
        p, e = polynomial(lambda w: f(1 / sqrt(w)), mpf(10) ** -10, mpf(1) / 64, degree, lambda w: w)
        add(name, what + "; the error is that of the tail divided by x²", p, e)


def bessel():
    s = [1 / (mpf(4) ** (k + 1) * mp.factorial(k + 1) ** 2) for k in range(80)]
    g = lambda z: horner(s, z)
    p, e = polynomial(g, 0, 64, 14, lambda z: 1 / g(z))
    add("I0_SMALL", "(I₀(x) − 1)/x² in x² ≤ 64; relative", p, e)
    s1 = [1 / (2 * mpf(4) ** k * mp.factorial(k) * mp.factorial(k + 1)) for k in range(80)]
    h = lambda z: horner(s1, z)
    p, e = polynomial(h, 0, 64, 14, lambda z: 1 / h(z))
    add("I1_SMALL", "I₁(x)/x in x² ≤ 64; relative", p, e)

    def scaled(order):
        def f(v):
            if v > mpf(1) / 400:
                return besseli(order, 1 / v) * exp(-1 / v) / sqrt(v)
            total = term = mpf(1)
            for k in range(1, 200):
                term *= -(4 * order * order - (2 * k - 1) ** 2) * v / (8 * k)
                total += term
                if abs(term) < mpf(10) ** -45:
                    break
            return total / sqrt(2 * pi)

        return f

    for order in (0, 1):
        f = scaled(order)
        g = lambda u: f((u + 1) / 16)
        p, e = polynomial(g, mpf(10) ** -8 - 1, 1, 23, lambda u: 1 / g(u))
        add(f"I{order}_LARGE", f"I{'₀₁'[order]}(x) e⁻ˣ √x in |16/x − 1| ≤ 1; relative", p, e)


PARTS = [exponential, logarithm, normal, trigonometric, gamma, bessel]

HEADER = """//! Minimax coefficients, constant term first, with the error each reached.
//!
//! Written by `tests/maths/coefficients.py`; do not edit.

// A coefficient may lie near a famous number without being it.
#![allow(clippy::approx_constant)]
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
        if len(values) == 2:
            pair = f"[{number(values[0])}, {number(values[1])}]"
            lines.append(f"pub(crate) const {name}: [f64; 2] = {pair};\n")
            continue
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
