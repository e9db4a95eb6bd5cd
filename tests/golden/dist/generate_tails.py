"""Writes tails.csv: logarithms of the shares below and above a number, and their slopes, of the
distributions whose distribution function is an incomplete gamma or beta function.

Run: python3 tests/golden/dist/generate_tails.py     (needs mpmath, numpy and scipy)

Values and slopes (central differences at 75 digits) are mpmath's; values are compared here with
SciPy where its own are finite. Columns: form, arguments separated by spaces, y, ln P(Y <= y),
ln P(Y > y), then the slopes of each to y and to every argument, separated by spaces. The slope to
a whole number is written as 0.
"""

from pathlib import Path

import numpy as np
from mpmath import betainc, exp, floor, gammainc, inf, log, mp, mpf
from scipy import stats

mp.dps = 75
STEP = mpf(10) ** -12
HALF = mpf(1) / 2


def gamma_shares(a, x):
    return gammainc(a, 0, x, regularized=True), gammainc(a, x, inf, regularized=True)


def beta_shares(a, b, x):
    return betainc(a, b, 0, x, regularized=True), betainc(b, a, 0, 1 - x, regularized=True)


def student(y, nu, mu, sigma):
    z = (y - mu) / sigma
    outer, inner = beta_shares(nu / 2, HALF, nu / (nu + z * z))
    tail, rest = outer / 2, HALF + inner / 2
    return (tail, rest) if z < 0 else (rest, tail)


def half_student(y, nu, sigma):
    return beta_shares(HALF, nu / 2, y * y / (nu * sigma**2 + y * y))


def inverse_gamma(y, a, b):
    above, below = gamma_shares(a, b / y)
    return below, above


def poisson(y, mu):
    above, below = gamma_shares(floor(y) + 1, mu)
    return below, above


def zero_inflated(y, psi, mu):
    below, above = poisson(y, mu)
    return 1 - psi + psi * below, psi * above


def negative_binomial(y, mu, alpha):
    return beta_shares(alpha, floor(y) + 1, alpha / (mu + alpha))


def binomial(y, n, p):
    return beta_shares(n - floor(y), floor(y) + 1, 1 - p)


def binomial_logit(y, n, x):
    return binomial(y, n, 1 / (1 + exp(-x)))


# form: (both shares, arguments, y, which of (y, arguments) have slopes, SciPy's distribution)
FORMS = {
    "Gamma": (lambda y, a, b: gamma_shares(a, b * y), [(1, 1), (0.05, 2), (0.7, 1), (5, 0.5), (200, 10), (1500, 2)],
              lambda a, b: [f * a / b for f in (1e-6, 0.02, 0.5, 0.9, 1, 1.1, 2)] + [(a + k * a**0.5) / b for k in (2, 5, 12)] + [40 / b],
              "yab", lambda a, b: stats.gamma(a, 0, 1 / b)),
    "InverseGamma": (inverse_gamma, [(3, 1), (0.4, 2), (20, 30)], lambda a, b: [0.01, 0.2, 1, 1.5, 8, 300], "yab",
                     lambda a, b: stats.invgamma(a, 0, b)),
    "Beta": (lambda y, a, b: beta_shares(a, b, y), [(1, 1), (0.5, 0.5), (2, 5), (80, 3), (0.03, 2), (600, 200)],
             lambda a, b: [1e-9, 0.01, 0.2, 0.5, 0.7, 0.76, 0.97, 1 - 2**-20], "yab", lambda a, b: stats.beta(a, b)),
    "StudentT": (student, [(1, 0, 1), (4, 1, 2), (0.4, -3, 0.1), (30, 0, 5), (1e5, 0, 1)],
                 lambda nu, mu, s: [mu + k * s for k in (-1e6, -30, -4, -0.6, 1e-4, 0.3, 2, 9, 1e3)], "ynms",
                 lambda nu, mu, s: stats.t(nu, mu, s)),
    "HalfStudentT": (half_student, [(3, 1), (1, 10), (50, 0.2), (0.5, 1)], lambda nu, s: [k * s for k in (1e-8, 0.02, 0.7, 3, 20, 1e3)],
                     "yns", None),
    "Poisson": (poisson, [(0.01,), (1,), (14.5,), (300,), (2e3,)], lambda mu: [0, 1, 3.5, 12, 40, 290, 330, 2200], "-m",
                lambda mu: stats.poisson(mu)),
    "ZeroInflatedPoisson": (zero_inflated, [(0.7, 3), (0.01, 20)], lambda psi, mu: [0, 2, 8, 25, 60], "-pm", None),
    "NegativeBinomial": (negative_binomial, [(3, 1), (0.1, 0.5), (40, 12), (20, 500)], lambda mu, a: [0, 1, 4, 20, 60, 150], "-ma",
                         lambda mu, a: stats.nbinom(a, a / (a + mu))),
    "Binomial": (binomial, [(10, 0.3), (60, 1e-9), (60, 0.75), (800, 0.4)], lambda n, p: [k for k in (0, 1, 4, 9, 45, 59, 310, 380) if k < n],
                 "--p", lambda n, p: stats.binom(n, p)),
    "BinomialLogit": (binomial_logit, [(10, -1), (60, 2.5)], lambda n, x: [0, 3, 9], "--x", None),
}


def slope(shares, side, point, i):
    h = STEP * max(abs(point[i]), STEP)
    up, down = [log(shares(*(x + s * h if k == i else x for k, x in enumerate(point)))[side]) for s in (1, -1)]
    return (up - down) / (2 * h)


rows = ["form,arguments,y,log_cdf,log_ccdf,cdf_slopes,ccdf_slopes"]
for form, (shares, all_args, ys, sloped, frozen) in FORMS.items():
    for args in all_args:
        for y in ys(*args):
            point = [mpf(float(x)) for x in (y, *args)]
            values = [float(log(share)) for share in shares(*point)]
            if frozen is not None:
                other = frozen(*args)
                for got, want in zip((other.logcdf(float(y)), other.logsf(float(y))), values):
                    assert not np.isfinite(got) or abs(got - want) <= 1e-6 * max(1, abs(want)), (form, args, y, got, want)
            slopes = [[slope(shares, side, point, i) if mark != "-" else 0 for i, mark in enumerate(sloped)] for side in (0, 1)]
            texts = [" ".join(repr(float(s)) for s in side) for side in slopes]
            cells = " ".join(repr(float(a)) for a in args)
            rows.append(f"{form},{cells},{float(y)!r},{values[0]!r},{values[1]!r},{texts[0]},{texts[1]}")
Path(__file__).with_name("tails.csv").write_text("\n".join(rows) + "\n")
