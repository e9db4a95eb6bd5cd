"""Writes tails.csv: logarithms of the shares below and above a number, and their slopes, of the
distributions whose distribution function is an incomplete gamma or beta function, or an integral.

Run: python3 tests/golden/dist/generate_tails.py     (needs mpmath, numpy and scipy)

Values and slopes (central differences at 75 digits, or derivatives of the integral at 30) are
mpmath's; values are compared here with SciPy where its own are finite. Columns: form, arguments separated by spaces, y, ln P(Y <= y),
ln P(Y > y), then the slopes of each to y and to every argument, separated by spaces. The slope to
a whole number is written as 0.
"""

from pathlib import Path

import numpy as np
from mpmath import besseli, betainc, cos, erfc, exp, floor, gammainc, inf, log, log1p, mp, mpf, pi, quad, sqrt
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


def hurdle(y, psi, mu):
    below, above = poisson(y, mu)
    none, some = exp(-mu), psi / (1 - exp(-mu))
    return 1 - psi + some * (below - none), some * above


def pieces(f, ends):
    """The integral of f over the pieces between the ends, to 15 digits at the least."""
    scale = max(abs(f(end)) for end in ends[1:-1] or ends)  # The rule stops at an absolute error.
    parts = [quad(lambda t: f(t) / scale, list(piece), error=True) for piece in zip(ends, ends[1:]) if piece[0] < piece[1]]
    total, error = sum(part for part, _ in parts), sum(error for _, error in parts)
    assert error <= mpf(10) ** -15 * max(abs(part) for part, _ in parts), (ends, total, error)
    return scale * total


def skew_normal(y, mu, sigma, alpha):
    """Both shares, and the slopes of the lower one to y, mu, sigma and alpha."""
    z = (y - mu) / sigma
    density = lambda t: exp(-t * t / 2) * erfc(-alpha * t / sqrt(mpf(2))) / sqrt(2 * pi)
    # The way out on either side, in pieces about as long as the density takes to fall.
    out = 1 / (1 + abs(z))
    out = {-1: out, 1: out, (-1 if alpha > 0 else 1): 1 / (1 + abs(z) + abs(alpha) * (1 + abs(alpha * z)))}
    ways = {side: [z + side * k * out[side] for k in (0, 1, 2, 4, 8, 16, 32, 64, 128, 256)] for side in (-1, 1)}
    middle = [t for t in (mpf(0), 3 / (1 + abs(alpha)), -3 / (1 + abs(alpha)))]
    low = sorted([*ways[-1], *(t for t in middle if t < z)])
    high = sorted([*ways[1], *(t for t in middle if t > z)])
    f = density(z)
    to_alpha = -exp(-z * z * (1 + alpha**2) / 2) / (1 + alpha**2) / pi
    slopes = [f / sigma, -f / sigma, -f * z / sigma, to_alpha]
    return [pieces(density, [-inf, *low]), pieces(density, [*high, inf])], [slopes, [-x for x in slopes]]


def von_mises(y, mu, kappa):
    """Both shares, and the slopes of each to y, mu and kappa."""
    norm = 2 * pi * besseli(0, kappa)
    mean = besseli(1, kappa) / besseli(0, kappa)
    density = lambda t: exp(kappa * cos(t - mu)) / norm
    tilted = lambda t: density(t) * (cos(t - mu) - mean)
    marks = sorted(mu + 2 * pi * turn + k / (1 + sqrt(kappa)) for turn in (-1, 0, 1) for k in (-4, 0, 4))
    low = [-pi, *(t for t in marks if -pi < t < y), y]
    high = [y, *(t for t in marks if y < t < pi), pi]
    f, end = density(y), density(pi)
    shares = [pieces(density, low), pieces(density, high)]
    return shares, [[f, end - f, pieces(tilted, low)], [-f, f - end, pieces(tilted, high)]]


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
    "HurdlePoisson": (hurdle, [(0.7, 3), (0.01, 20), (0.4, 0.001)], lambda psi, mu: [1, 2, 8, 25, 60], "-pm", None),
    "NegativeBinomial": (negative_binomial, [(3, 1), (0.1, 0.5), (40, 12), (20, 500)], lambda mu, a: [0, 1, 4, 20, 60, 150], "-ma",
                         lambda mu, a: stats.nbinom(a, a / (a + mu))),
    "Binomial": (binomial, [(10, 0.3), (60, 1e-9), (60, 0.75), (800, 0.4)], lambda n, p: [k for k in (0, 1, 4, 9, 45, 59, 310, 380) if k < n],
                 "--p", lambda n, p: stats.binom(n, p)),
    "BinomialLogit": (binomial_logit, [(10, -1), (60, 2.5)], lambda n, x: [0, 3, 9], "--x", None),
}

# form: (both shares and their slopes, arguments, y, SciPy's distribution)
INTEGRALS = {
    "SkewNormal": (skew_normal, [(0, 1, 0), (1, 2, 3), (0, 1, -0.7), (-2, 0.5, 40)],
                   lambda mu, s, a: [mu + k * s for k in (-9, -2, -0.3, -0.01, 0.02, 0.8, 4, 20)], lambda mu, s, a: stats.skewnorm(a, mu, s)),
    "VonMises": (von_mises, [(0, 0.5), (1, 4), (-2.5, 60), (0.25, 0.001), (0.5, 2000)],
                 lambda mu, k: [-3, -1.9, -0.4, 0.2, 1.3, 2.9], None),
}


def slope(shares, side, point, i):
    h = STEP * max(abs(point[i]), STEP)
    up, down = [log(shares(*(x + s * h if k == i else x for k, x in enumerate(point)))[side]) for s in (1, -1)]
    return (up - down) / (2 * h)


def row(form, args, y, values, slopes, frozen):
    # Next to 1 the logarithm is as small as the other share.
    values = [float(log(share) if 2 * share < 1 else log1p(-other)) for share, other in zip(values, reversed(values))]
    if frozen is not None:
        other = frozen(*args)
        for got, want in zip((other.logcdf(float(y)), other.logsf(float(y))), values):
            near = not np.isfinite(got) or abs(got - want) <= 1e-6 * max(1, abs(want))
            # SciPy's own distribution function of the skew normal keeps 1e-11 absolutely.
            assert near or (form == "SkewNormal" and abs(np.exp(got) - np.exp(want)) < 1e-10), (form, args, y, got, want)
    texts = [" ".join(repr(float(s)) for s in side) for side in slopes]
    cells = " ".join(repr(float(a)) for a in args)
    return f"{form},{cells},{float(y)!r},{values[0]!r},{values[1]!r},{texts[0]},{texts[1]}"


rows = ["form,arguments,y,log_cdf,log_ccdf,cdf_slopes,ccdf_slopes"]
for form, (shares, all_args, ys, sloped, frozen) in FORMS.items():
    for args in all_args:
        for y in ys(*args):
            point = [mpf(float(x)) for x in (y, *args)]
            slopes = [[slope(shares, side, point, i) if mark != "-" else 0 for i, mark in enumerate(sloped)] for side in (0, 1)]
            rows.append(row(form, args, y, shares(*point), slopes, frozen))
mp.dps = 30
for form, (shares, all_args, ys, frozen) in INTEGRALS.items():
    for args in all_args:
        for y in ys(*args):
            masses, slopes = shares(*(mpf(float(x)) for x in (y, *args)))
            rows.append(row(form, args, y, masses, [[s / mass for s in side] for mass, side in zip(masses, slopes)], frozen))
Path(__file__).with_name("tails.csv").write_text("\n".join(rows) + "\n")
