"""Writes composed.csv: 50-digit values and slopes of functions that are put together from operations.

Run: python3 crates/graph/tests/golden/composed/generate.py    (needs mpmath)
Columns: function, arguments separated by spaces, value, slopes by each argument separated by spaces.
"""

from pathlib import Path

from mpmath import (
    acosh, asinh, atan2, atanh, besseli, besselj, besselk, bessely, cbrt, ceil, diff, digamma, erf, erfc, erfinv,
    exp, expm1, floor, gamma, log, mp, mpc, mpf, nint, sign, sqrt,
)

mp.dps = 60


def ndtr(x):
    return erfc(-x / sqrt(2)) / 2


def probit(p):
    """By the complement where that is small."""
    if p < mpf(1) / 4:
        guess = -sqrt(-2 * log(p)) if p < mpf("1e-5") else sqrt(2) * erfinv(2 * p - 1)
        return mp.findroot(lambda x: log(ndtr(x)) - log(p), guess)
    return sqrt(2) * erfinv(2 * p - 1)


def real_cbrt(x):
    return sign(x) * cbrt(abs(x))


def density(x):
    return exp(-x * x / 2) / sqrt(2 * mp.pi)


def log1m_exp(x):
    return log(-expm1(x))


def faddeeva(z):
    """w(z) and its derivative."""
    w = exp(-z * z) * erfc(mpc(0, -1) * z)
    return w, 2 * mpc(0, 1) / sqrt(mp.pi) - 2 * z * w


def voigt(x, sigma, gamma):
    """The profile and its slopes."""
    scale = sigma * sqrt(2)
    z = mpc(x, gamma) / scale
    w, slope = faddeeva(z)
    front = 1 / (scale * sqrt(mp.pi))
    by_sigma = front * (-w - z * slope).real / sigma
    return front * w.real, (front * slope.real / scale, by_sigma, -front * slope.imag / scale)


# In every region of the method, beside its nodes (distance 0.5117, from 0 and from half of it) and on its borders.
PLANE = [(x, y) for x in (-30.0, -7.1, 0.0, 1e-5, 0.3, 0.5116633539732443, 0.7674950309598664, 1.3, 2.5, 4.09, 5.9, 6.2, 12.0, 21.0, 1e4, 1e11)
         for y in (0.0, 1e-12, 1e-3, 0.4, 1.29, 3.0, 6.13, 6.15, 8.0, 40.0, 1e6, 1e10)] + [
    (x, y) for x in (-3.0, 0.4, 2.0) for y in (-0.2, -1.5, -4.0)]
PROFILE = [(x, s, g) for x in (0.0, -0.37, 2.0, 11.0, 150.0) for s, g in ((1.0, 1.0), (0.2, 0.7), (3.0, 0.05), (0.9, 1e-9), (0.01, 2.0), (2.0, 1e-4))]
POSITIVE = [1e-8, 0.01, 0.7, 1.99, 2.01, 3.3, 7.99, 8.01, 21.7, 90.0]
WIDE = [-1e100, -1e9, -12.5, -1.0, -0.3, -1e-9, 0.0, 1e-9, 0.2, 0.7, 1.0, 3.5, 40.0, 1e9, 1e100]
STEPS = [-3.7, -2.5, -2.0, -1.5, -0.5, -0.2, 0.0, 0.3, 0.5, 1.5, 2.5, 3.5, 7.0, 1e15]
SHARES = [1e-300, 1e-40, 1e-11, 1e-5, 0.02, 0.075, 0.076, 0.3, 0.4999999, 0.5, 0.6, 0.9, 0.925, 0.999,
          1 - 2.0**-40]
# Slopes are given where mpmath's differences would cost digits.
CASES = [
    ("asinh", asinh, lambda x: 1 / sqrt(1 + x * x), [(x,) for x in WIDE]),
    ("acosh", acosh, lambda x: 1 / sqrt(x * x - 1), [(x,) for x in (1 + 2.0**-50, 1.001, 1.5, 10.0, 1e8, 1e9, 1e100)]),
    ("atanh", atanh, lambda x: 1 / (1 - x * x), [(x,) for x in (-0.999999, -0.5, -1e-9, 0.0, 1e-9, 0.3, 0.9999999)]),
    ("cbrt", real_cbrt, lambda x: cbrt(abs(x)) / (3 * abs(x)), [(x,) for x in WIDE if x != 0]),
    ("sign", sign, lambda x: 0, [(x,) for x in WIDE]),
    ("floor", floor, lambda x: 0, [(x,) for x in STEPS]),
    ("ceil", ceil, lambda x: 0, [(x,) for x in STEPS]),
    ("round", nint, lambda x: 0, [(x,) for x in STEPS]),
    ("erfcx", lambda x: exp(x * x) * erfc(x), lambda x: 2 * x * exp(x * x) * erfc(x) - 2 / sqrt(mp.pi),
     [(x,) for x in (-5.0, -1.0, 0.0, 0.3, 1.0, 3.0)]),
    ("erfinv", erfinv, lambda y: sqrt(mp.pi) / 2 * exp(erfinv(y) ** 2),
     [(y,) for y in (-0.9999999, -0.86, -0.5, -1e-12, 0.0, 1e-12, 0.3, 0.849, 0.851, 0.999)]),
    ("ndtr", ndtr, density, [(x,) for x in (-37.0, -20.0, -5.0, -1.0, 0.0, 0.4, 3.0, 8.0)]),
    ("probit", probit, lambda p: 1 / density(probit(p)), [(p,) for p in SHARES]),
    ("i0", lambda x: besseli(0, x), lambda x: besseli(1, x), [(x,) for x in (-3.0, 0.0, 1e-3, 0.5, 3.7, 30.0, 600.0)]),
    ("i0e", lambda x: besseli(0, x) * exp(-abs(x)),
     lambda x: (besseli(1, x) - sign(x) * besseli(0, x)) * exp(-abs(x)),
     [(x,) for x in (-3.0, 1e-3, 0.5, 3.7, 30.0)]),
    ("i1", lambda x: besseli(1, x), lambda x: (besseli(0, x) + besseli(2, x)) / 2,
     [(x,) for x in (-3.0, 0.0, 1e-3, 0.5, 3.7, 30.0, 600.0)]),
    ("i1e", lambda x: besseli(1, x) * exp(-abs(x)),
     lambda x: ((besseli(0, x) + besseli(2, x)) / 2 - sign(x) * besseli(1, x)) * exp(-abs(x)),
     [(x,) for x in (-3.0, 1e-3, 0.5, 3.7, 30.0)]),
    ("trunc", lambda x: sign(x) * floor(abs(x)), lambda x: 0, [(x,) for x in STEPS]),
    ("hypot", lambda x, y: sqrt(x * x + y * y), lambda x, y: (x / sqrt(x * x + y * y), y / sqrt(x * x + y * y)),
     [(x, y) for x in (-3.0, 0.0, 0.5, 1e200) for y in (-4.0, 1e-200, 0.3, 7e199)]),
    ("gamma", gamma, lambda x: gamma(x) * digamma(x), [(x,) for x in (-7.3, -1.5, -0.001, 1e-9, 0.3, 0.5, 1.0, 1.7, 4.0, 11.5, 100.25, 171.5)]),
    ("j0", lambda x: besselj(0, x), lambda x: -besselj(1, x), [(x,) for x in [-9.0, -2.0, 0.0, *POSITIVE]]),
    ("j1", lambda x: besselj(1, x), lambda x: (besselj(0, x) - besselj(2, x)) / 2, [(x,) for x in [-9.0, -2.0, 0.0, *POSITIVE]]),
    ("y0", lambda x: bessely(0, x), lambda x: -bessely(1, x), [(x,) for x in POSITIVE]),
    ("y1", lambda x: bessely(1, x), lambda x: (bessely(0, x) - bessely(2, x)) / 2, [(x,) for x in POSITIVE]),
    ("k0", lambda x: besselk(0, x), lambda x: -besselk(1, x), [(x,) for x in POSITIVE]),
    ("k1", lambda x: besselk(1, x), lambda x: -(besselk(0, x) + besselk(2, x)) / 2, [(x,) for x in POSITIVE]),
    ("wofz_real", lambda x, y: faddeeva(mpc(x, y))[0].real,
     lambda x, y: (faddeeva(mpc(x, y))[1].real, -faddeeva(mpc(x, y))[1].imag), PLANE),
    ("wofz_imag", lambda x, y: faddeeva(mpc(x, y))[0].imag,
     lambda x, y: (faddeeva(mpc(x, y))[1].imag, faddeeva(mpc(x, y))[1].real), PLANE),
    ("voigt_profile", lambda x, s, g: voigt(x, s, g)[0], lambda x, s, g: voigt(x, s, g)[1], PROFILE),
    ("log1m_exp", log1m_exp, lambda x: -1 / expm1(-x), [(x,) for x in (-1e-300, -1e-9, -0.3, -0.7, -1.0, -30.0, -700.0)]),
    ("atan2", atan2, lambda y, x: (x / (x * x + y * y), -y / (x * x + y * y)), [(y, x) for y in (-2.0, -0.5, 0.0, 0.5, 2.0, 1e-200) for x in (-1.0, 0.0, 0.7, 3.0)
                            if (y, x) != (0.0, 0.0) and not (y == 0.0 and x < 0)]),
    ("log_diff_exp", lambda a, b: log(exp(a) - exp(b)), None,
     [(a, b) for a, b in ((1.0, 0.0), (0.0, -1e-6), (-30.0, -31.0), (700.0, 3.0), (5.0, 4.999))]),
    ("mod", lambda x, y: x - y * floor(x / y), lambda x, y: (1, -floor(x / y)),
     [(x, y) for x in (-7.3, -1.0, 0.4, 9.2) for y in (-2.5, 0.7, 3.0)]),
]

mp.dps = 80
lines = ["function,arguments,value,slopes"]
for name, f, slope, cases in CASES:
    for x in cases:
        args = [mpf(v) for v in x]
        value = f(*args)
        if slope is None:
            n = len(args)
            slopes = [diff(f, tuple(args), tuple(int(i == k) for i in range(n))) for k in range(n)]
        else:
            slopes = slope(*args)
            slopes = slopes if isinstance(slopes, tuple) else (slopes,)
        numbers = " ".join(mp.nstr(mpf(s), 20) for s in slopes)
        lines.append(f"{name},{' '.join(repr(v) for v in x)},{mp.nstr(mpf(value), 20)},{numbers}")
Path(__file__).with_name("composed.csv").write_text("\n".join(lines) + "\n")
