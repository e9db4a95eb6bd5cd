"""Writes scalar.csv: reference log densities and distribution functions of every scalar form.

Run: python3 tests/golden/dist/generate.py     (needs mpmath, numpy and scipy)

The values are computed with mpmath at 60 digits from the textbook formulas, and compared here
with SciPy, whose own error decides that looser bound (SCIPY_BOUND), so that a slip in a
parameterisation would have to be made twice. Columns: form, arguments separated by spaces, y,
log density, distribution function (empty where there is none).
"""

from pathlib import Path

import numpy as np
from mpmath import (mp, mpf, acot, atan, besseli, beta, betainc, binomial, cos, erf, erfc, exp,
                    expm1, gamma, gammainc, inf, log, log1p, nan, pi, quad, sqrt, floor, loggamma)
from scipy import stats

mp.dps = 60
SCIPY_BOUND = 2e-9


def phi(z):
    return exp(-z * z / 2) / sqrt(2 * pi)


def Phi(z):
    return erfc(-z / sqrt(2)) / 2


def lower_gamma(a, x):
    return gammainc(a, 0, x, regularized=True) if x < a + 30 else 1 - gammainc(a, x, inf, regularized=True)


def upper_gamma(a, x):
    return gammainc(a, x, inf, regularized=True)


def betai(a, b, x):
    return betainc(a, b, 0, x, regularized=True)


def student(y, nu, mu, sigma):
    z = (y - mu) / sigma
    return exp(loggamma((nu + 1) / 2) - loggamma(nu / 2)) / sqrt(nu * pi) / sigma * (1 + z * z / nu) ** (-(nu + 1) / 2)


def student_cdf(y, nu, mu, sigma):
    z = (y - mu) / sigma
    tail = betai(nu / 2, mpf(1) / 2, nu / (nu + z * z)) / 2
    return tail if z < 0 else 1 - tail


def cauchy_cdf(z):
    return acot(-z) / pi if z < 0 else atan(z) / pi + mpf(1) / 2


def above(lower, f):
    """A density that vanishes below `lower`."""
    return lambda y, *a: f(y, *a) if y >= lower else mpf(0)


def inside(f, lower=0):
    """A function that vanishes at and below `lower`."""
    return lambda y, *a: f(y, *a) if y > lower else mpf(0)


def share(f):
    return lambda y, *a: f(y, *a) if 0 < y < 1 else mpf(0)  # the ends count as outside


def share_cdf(f):
    return lambda y, *a: mpf(0) if y <= 0 else mpf(1) if y >= 1 else f(y, *a)


def count(f, lowest=0):
    """A mass on whole numbers from `lowest`."""
    return lambda y, *a: f(y, *a) if y == floor(y) and y >= lowest else mpf(0)


def count_cdf(mass, lowest=0):
    return lambda y, *a: mpf(0) if y < lowest else sum(mass(mpf(k), *a) for k in range(lowest, int(floor(y)) + 1))


def power(x, p):
    """x^p with 0^0 = 1."""
    return mpf(1) if x == 0 and p == 0 else x**p


def gamma_pdf(y, a, b):
    return b**a / gamma(a) * y ** (a - 1) * exp(-b * y)


def inverse_gamma_pdf(y, a, b):
    return b**a / gamma(a) * y ** (-a - 1) * exp(-b / y) if y > 0 else mpf(0)


def beta_pdf(y, a, b):
    return y ** (a - 1) * (1 - y) ** (b - 1) / beta(a, b)


def kumaraswamy_pdf(y, a, b):
    return a * b * y ** (a - 1) * (1 - y**a) ** (b - 1)


def triangular_pdf(y, lower, upper, c):
    if not lower <= y <= upper:
        return mpf(0)
    if y == c:
        return 2 / (upper - lower)
    rise = (y - lower) / (c - lower) if y < c else (upper - y) / (upper - c)
    return 2 * rise / (upper - lower)


def triangular_cdf(y, lower, upper, c):
    if y <= lower or y >= upper:
        return mpf(y >= upper)
    if y <= c:
        return (y - lower) ** 2 / ((upper - lower) * (c - lower))
    return 1 - (upper - y) ** 2 / ((upper - lower) * (upper - c))


def von_mises_pdf(y, mu, kappa):
    return exp(kappa * cos(y - mu)) / (2 * pi * besseli(0, kappa)) if abs(y) <= pi else mpf(0)


def von_mises_cdf(y, mu, kappa):
    if y <= -pi:
        return mpf(0)
    if y >= pi:
        return mpf(1)
    width = 1 / sqrt(kappa + 1)
    knots = sorted({-pi, y} | {mu + k * width + turn for k in (-8, -3, 0, 3, 8) for turn in (-2 * pi, 0, 2 * pi)})
    mp.dps = 25
    value = quad(lambda x: von_mises_pdf(x, mu, kappa), [k for k in knots if -pi <= k <= y])
    mp.dps = 60
    return value


def skew_pdf(y, mu, sigma, alpha):
    z = (y - mu) / sigma
    return 2 / sigma * phi(z) * Phi(alpha * z)


def skew_cdf(y, mu, sigma, alpha):
    z = (y - mu) / sigma
    mp.dps = 30
    owen = quad(lambda x: exp(-z * z * (1 + x * x) / 2) / (1 + x * x), [0, alpha / 4, alpha]) / (2 * pi)
    mp.dps = 60
    return Phi(z) - 2 * owen


def ex_gaussian_pdf(y, mu, sigma, nu):
    r, z = sigma / nu, (y - mu) / sigma
    return exp(r * r / 2 - (y - mu) / nu) * Phi(z - r) / nu


def ex_gaussian_cdf(y, mu, sigma, nu):
    return Phi((y - mu) / sigma) - nu * ex_gaussian_pdf(y, mu, sigma, nu)


def wald_pdf(y, mu, lam, alpha):
    x = y - alpha
    return sqrt(lam / (2 * pi * x**3)) * exp(-lam * (x - mu) ** 2 / (2 * mu**2 * x)) if x > 0 else mpf(0)


def wald_cdf(y, mu, lam, alpha):
    x = y - alpha
    if x <= 0:
        return mpf(0)
    r = sqrt(lam / x)
    return Phi(r * (x / mu - 1)) + exp(2 * lam / mu) * Phi(-r * (x / mu + 1))


def truncated_pdf(y, mu, sigma, lower, upper):
    share = Phi((upper - mu) / sigma) - Phi((lower - mu) / sigma)
    return phi((y - mu) / sigma) / sigma / share if lower <= y <= upper else mpf(0)


def truncated_cdf(y, mu, sigma, lower, upper):
    if y <= lower or y >= upper:
        return mpf(y >= upper)
    start = Phi((lower - mu) / sigma)
    return (Phi((y - mu) / sigma) - start) / (Phi((upper - mu) / sigma) - start)


def bernoulli(y, p):
    return p if y == 1 else 1 - p if y == 0 else mpf(0)


def binomial_mass(y, n, p):
    return binomial(n, y) * power(p, y) * power(1 - p, n - y) if y <= n else mpf(0)


def beta_binomial(y, a, b, n):
    return binomial(n, y) * beta(y + a, n - y + b) / beta(a, b) if y <= n else mpf(0)


def poisson(y, mu):
    return power(mu, y) * exp(-mu) / gamma(y + 1)


def negative_binomial(y, mu, a):
    return exp(loggamma(y + a) - loggamma(a) - loggamma(y + 1)) * (a / (mu + a)) ** a * power(mu / (mu + a), y)


def geometric(y, p):
    return p * power(1 - p, y - 1)


def hurdle(y, psi, mu):
    return 1 - psi if y == 0 else psi * poisson(y, mu) / (1 - exp(-mu))


def zero_inflated(y, psi, mu):
    return psi * poisson(y, mu) + (1 - psi if y == 0 else 0)


def discrete_uniform(y, lower, upper):
    return 1 / (upper - lower + 1) if lower <= y <= upper and y == floor(y) else mpf(0)


def inv_logit(x):
    return 1 / (1 + exp(-x))


REAL = [-1e4, -30, -5, -1, -1e-3, 0, 0.7, 2.5, 9, 40, 1e3]
POSITIVE = [-1, 0, 1e-12, 0.01, 0.5, 1, 3.7, 20, 150]
UNIT = [-0.1, 0, 1e-10, 0.03, 0.5, 0.875, 1 - 2**-30, 1, 1.2]
COUNTS = [-1, 0, 0.5, 1, 2, 5, 10, 17, 60]

# form: (density, distribution function, arguments, y, invalid arguments, SciPy's frozen distribution)
FORMS = {
    "Normal": (lambda y, m, s: phi((y - m) / s) / s, lambda y, m, s: Phi((y - m) / s),
               [(0, 1), (-2, 0.3), (50, 20), (0, 1e-5)], REAL, [(0, 0), (0, -1)],
               lambda m, s: stats.norm(m, s)),
    "HalfNormal": (above(0, lambda y, s: 2 * phi(y / s) / s), inside(lambda y, s: erf(y / s / sqrt(2))),
                   [(1,), (0.1,), (15,)], POSITIVE, [(0,), (-1,)], lambda s: stats.halfnorm(0, s)),
    "StudentT": (student, student_cdf, [(1, 0, 1), (4, 1, 2), (0.5, -3, 0.1), (30, 0, 5), (1e5, 0, 1)], REAL,
                 [(0, 0, 1), (-1, 0, 1), (3, 0, 0), (3, 0, -1)], lambda nu, m, s: stats.t(nu, m, s)),
    "HalfStudentT": (above(0, lambda y, nu, s: 2 * student(y, nu, mpf(0), s)),
                     inside(lambda y, nu, s: 1 - betai(nu / 2, mpf(1) / 2, nu / (nu + (y / s)**2))),
                     [(3, 1), (1, 10), (50, 0.2)], POSITIVE, [(0, 1), (3, 0), (3, -2)], None),
    "Cauchy": (lambda y, a, b: 1 / (pi * b * (1 + ((y - a) / b) ** 2)), lambda y, a, b: cauchy_cdf((y - a) / b),
               [(0, 1), (3, 0.2), (-1, 50)], REAL, [(0, 0), (0, -1)], lambda a, b: stats.cauchy(a, b)),
    "HalfCauchy": (above(0, lambda y, b: 2 / (pi * b * (1 + (y / b) ** 2))), inside(lambda y, b: 2 * atan(y / b) / pi),
                   [(1,), (25,), (0.01,)], POSITIVE, [(0,), (-1,)], lambda b: stats.halfcauchy(0, b)),
    "Laplace": (lambda y, m, b: exp(-abs(y - m) / b) / (2 * b),
                lambda y, m, b: exp((y - m) / b) / 2 if y < m else 1 - exp((m - y) / b) / 2,
                [(0, 1), (2, 0.1), (-1, 30)], REAL, [(0, 0), (0, -1)], lambda m, b: stats.laplace(m, b)),
    "Logistic": (lambda y, m, s: exp(-abs(y - m) / s) / s / (1 + exp(-abs(y - m) / s)) ** 2, lambda y, m, s: inv_logit((y - m) / s),
                 [(0, 1), (2, 0.1), (-1, 30)], REAL, [(0, 0), (0, -1)], lambda m, s: stats.logistic(m, s)),
    "LogNormal": (inside(lambda y, m, s: phi((log(y) - m) / s) / (s * y)), inside(lambda y, m, s: Phi((log(y) - m) / s)),
                  [(0, 1), (2, 0.3), (-3, 5)], POSITIVE, [(0, 0), (0, -1)], lambda m, s: stats.lognorm(s, 0, np.exp(m))),
    "Exponential": (above(0, lambda y, lam: lam * exp(-lam * y)), inside(lambda y, lam: -expm1(-lam * y)),
                    [(1,), (0.05,), (30,)], POSITIVE, [(0,), (-1,)], lambda lam: stats.expon(0, 1 / lam)),
    "ExponentialScale": (above(0, lambda y, s: exp(-y / s) / s), inside(lambda y, s: -expm1(-y / s)),
                         [(1,), (20,)], POSITIVE, [(-1,)], lambda s: stats.expon(0, s)),
    "Gamma": (inside(gamma_pdf), inside(lambda y, a, b: lower_gamma(a, b * y)),
              [(1, 1), (0.3, 2), (5, 0.5), (200, 10)], POSITIVE, [(0, 1), (1, 0), (-1.5, 1), (1, -1)],
              lambda a, b: stats.gamma(a, 0, 1 / b)),
    "GammaMoments": (inside(lambda y, m, s: gamma_pdf(y, m * m / s / s, m / s / s)),
                     inside(lambda y, m, s: lower_gamma(m * m / s / s, y * m / s / s)),
                     [(2, 1), (5, 10)], POSITIVE, [(-2, 1), (2, -1), (2, 0)], lambda m, s: stats.gamma(m * m / s / s, 0, s * s / m)),
    "InverseGamma": (inverse_gamma_pdf, inside(lambda y, a, b: upper_gamma(a, b / y)),
                     [(3, 1), (0.4, 2), (20, 30)], POSITIVE, [(0, 1), (-1.5, 1), (1, 0), (1, -1)], lambda a, b: stats.invgamma(a, 0, b)),
    "InverseGammaMoments": (lambda y, m, s: inverse_gamma_pdf(y, m * m / s / s + 2, m * (m * m / s / s + 1)),
                            inside(lambda y, m, s: upper_gamma(m * m / s / s + 2, m * (m * m / s / s + 1) / y)),
                            [(2, 1)], POSITIVE, [(2, -1), (-1, 1)], None),
    "Weibull": (inside(lambda y, a, b: a / b * (y / b) ** (a - 1) * exp(-((y / b) ** a))),
                inside(lambda y, a, b: -expm1(-((y / b) ** a))),
                [(1, 1), (0.5, 2), (3, 10)], POSITIVE, [(0, 1), (1, 0), (-1, 1), (1, -1)], lambda a, b: stats.weibull_min(a, 0, b)),
    "Gumbel": (lambda y, m, b: exp(-(y - m) / b - exp(-(y - m) / b)) / b, lambda y, m, b: exp(-exp(-(y - m) / b)),
               [(0, 1), (5, 3)], [-5, -1, 0, 0.5, 3, 20, 200], [(0, 0), (0, -1)], lambda m, b: stats.gumbel_r(m, b)),
    "Pareto": (lambda y, a, m: a * m**a / y ** (a + 1) if y >= m else mpf(0), lambda y, a, m: 1 - (m / y) ** a if y >= m else mpf(0),
               [(1, 1), (3, 0.5), (0.2, 3)], POSITIVE, [(0, 1), (1, 0), (-1, 1), (1, -1)], lambda a, m: stats.pareto(a, 0, m)),
    "Beta": (share(beta_pdf), share_cdf(lambda y, a, b: betai(a, b, y)), [(1, 1), (0.5, 0.5), (2, 5), (80, 3), (1, 3)], UNIT,
             [(0, 1), (1, 0), (-1.5, 1), (1, -1.5)], lambda a, b: stats.beta(a, b)),
    "BetaMean": (share(lambda y, m, k: beta_pdf(y, m * k, (1 - m) * k)), share_cdf(lambda y, m, k: betai(m * k, (1 - m) * k, y)),
                 [(0.3, 10), (0.9, 0.5)], UNIT, [(1.5, 2), (0.5, -1), (0, 3)], lambda m, k: stats.beta(m * k, (1 - m) * k)),
    "BetaMoments": (share(lambda y, m, s: beta_pdf(y, m * (m * (1 - m) / s / s - 1), (1 - m) * (m * (1 - m) / s / s - 1))),
                    share_cdf(lambda y, m, s: betai(m * (m * (1 - m) / s / s - 1), (1 - m) * (m * (1 - m) / s / s - 1), y)),
                    [(0.3, 0.1)], UNIT, [(0.5, 0.6), (0.5, -0.1)], None),
    "Kumaraswamy": (share(kumaraswamy_pdf), share_cdf(lambda y, a, b: 1 - (1 - y**a) ** b),
                    [(1, 1), (0.5, 0.5), (2, 5), (8, 3)], UNIT, [(0, 1), (1, 0), (-1, 1), (1, -1)], None),
    "Uniform": (lambda y, a, b: 1 / (b - a) if a <= y <= b else mpf(0), lambda y, a, b: (min(max(y, a), b) - a) / (b - a),
                [(0, 1), (-5, 3), (0.5, 100)], REAL, [(1, 1), (2, 1)], lambda a, b: stats.uniform(a, b - a)),
    "Triangular": (triangular_pdf, triangular_cdf, [(0, 1, 0.5), (-5, 3, 0.7), (0, 1, 0), (-1, 2.5, 2.5)], REAL + [0.25],
                   [(1, 1, 1), (0, 1, 2), (0, 1, -1)], lambda a, b, c: stats.triang((c - a) / (b - a), a, b - a)),
    "VonMises": (von_mises_pdf, von_mises_cdf, [(0, 1), (2, 0), (-3, 5), (1, 200), (0.5, 0.01)],
                 [-4, -3, -1, 0, 0.7, 1, 2.5, 3.1, 4], [(0, -1)], None),
    "SkewNormal": (skew_pdf, skew_cdf, [(0, 1, 1), (2, 3, -4), (0, 0.5, 0.1)], [-30, -5, -1, 0, 0.7, 2.5, 9, 30],
                   [(0, 0, 1), (0, -1, 1)], lambda m, s, a: stats.skewnorm(a, m, s)),
    "ExGaussian": (ex_gaussian_pdf, ex_gaussian_cdf, [(0, 1, 1), (0.4, 0.05, 0.2), (300, 50, 100), (0, 1, 0.1)],
                   [-5, -1, 0, 0.5, 0.7, 2.5, 20, 150, 400, 1000], [(0, 0, 1), (0, 1, 0), (0, -1, 1), (0, 1, -1)],
                   lambda m, s, nu: stats.exponnorm(nu / s, m, s)),
    "Wald": (wald_pdf, wald_cdf, [(1, 1, 0), (3, 0.5, 0), (0.5, 20, -0.2), (2, 3, 0.1)], POSITIVE,
             [(0, 1, 0), (1, 0, 0), (-1, 1, 0), (1, -1, 0)], lambda m, lam, a: stats.invgauss(m / lam, a, lam)),
    "Flat": (lambda y: mpf(1), None, [()], REAL, [], None),
    "HalfFlat": (lambda y: mpf(y >= 0), None, [()], REAL, [], None),
    "TruncatedNormal": (truncated_pdf, truncated_cdf,
                        [(0, 1, -inf, inf), (0, 1, -1, 2), (1, 2, 0, inf), (0, 1, 10, inf), (0, 1, -inf, -12), (5, 0.5, -1, 1)],
                        [-40, -13, -1, -0.5, 0, 0.7, 1, 2.5, 10, 12, 40], [(0, 0, 0, 1), (0, -1, 0, 1), (0, 1, 1, 1), (0, 1, 2, 1)],
                        lambda m, s, a, b: stats.truncnorm((a - m) / s, (b - m) / s, m, s)),
    "Bernoulli": (bernoulli, count_cdf(bernoulli), [(0.3,), (1e-12,), (0,), (1,)], [-1, 0, 0.5, 1, 2], [(-0.1,), (1.1,)],
                  lambda p: stats.bernoulli(p)),
    "BernoulliLogit": (lambda y, x: bernoulli(y, inv_logit(x)), count_cdf(lambda y, x: bernoulli(y, inv_logit(x))),
                       [(0,), (3.5,), (-40,), (100,)], [-1, 0, 0.5, 1, 2], [], None),
    "Binomial": (count(binomial_mass), count_cdf(binomial_mass), [(10, 0.3), (60, 1e-9), (60, 0.75), (0, 0.5), (10, 0), (10, 1)], COUNTS,
                 [(10, -0.1), (10, 1.1), (-1, 0.5), (2.5, 0.5)], lambda n, p: stats.binom(n, p)),
    "BinomialLogit": (count(lambda y, n, x: binomial_mass(y, n, inv_logit(x))), count_cdf(lambda y, n, x: binomial_mass(y, n, inv_logit(x))),
                      [(10, -1), (60, 2.5), (17, 0), (10, -30)], COUNTS, [(-1, 0), (2.5, 0)], None),
    "BetaBinomial": (count(beta_binomial), count_cdf(beta_binomial), [(1, 1, 10), (0.3, 4, 60), (20, 30, 17)], COUNTS,
                     [(0, 1, 10), (1, 0, 10), (-1.5, 1, 10), (1, 1, -1), (1, 1, 1.5)], lambda a, b, n: stats.betabinom(n, a, b)),
    "Poisson": (count(poisson), count_cdf(poisson), [(1,), (0.01,), (14.5,), (300,), (0,)], COUNTS + [300], [(-1,)],
                lambda m: stats.poisson(m)),
    "NegativeBinomial": (count(negative_binomial), count_cdf(negative_binomial), [(3, 1), (0.1, 0.5), (40, 12), (20, 500), (0, 2)], COUNTS,
                         [(-1, 1), (1, 0), (1, -1.5)], lambda m, a: stats.nbinom(a, a / (a + m))),
    "NegativeBinomialTrials": (count(lambda y, n, p: negative_binomial(y, n * (1 - p) / p, n)),
                               count_cdf(lambda y, n, p: negative_binomial(y, n * (1 - p) / p, n)),
                               [(3, 0.4), (0.7, 0.9)], COUNTS, [(-1, 0.5), (3, 1.5)], lambda n, p: stats.nbinom(n, p)),
    "Geometric": (count(geometric, 1), count_cdf(geometric, 1), [(0.3,), (1e-9,), (1,), (0.99,)], COUNTS, [(0,), (-0.1,), (1.1,)],
                  lambda p: stats.geom(p)),
    "ZeroInflatedPoisson": (count(zero_inflated), count_cdf(zero_inflated), [(0.7, 3), (0, 3), (1, 3), (0.01, 20)], COUNTS,
                            [(-0.1, 3), (1.1, 3), (0.5, -1)], None),
    "HurdlePoisson": (count(hurdle), count_cdf(hurdle), [(0.7, 3), (0, 3), (1, 3), (0.01, 20), (0.4, 0.001)], COUNTS,
                      [(-0.1, 3), (1.1, 3), (0.5, -1), (0.5, 0)], None),
    "DiscreteUniform": (discrete_uniform, lambda y, a, b: min(max(floor(y) - a + 1, 0), b - a + 1) / (b - a + 1),
                        [(0, 10), (-3, 3), (5, 5)], [-4, -3, 0, 0.5, 2, 5, 10, 11], [(2, 1), (0.5, 3)], lambda a, b: stats.randint(a, b + 1)),
}
FORMS.update({
    "LogitNormal": (share(lambda y, m, s: phi((log(y / (1 - y)) - m) / s) / s / y / (1 - y)),
                    share_cdf(lambda y, m, s: Phi((log(y / (1 - y)) - m) / s)), [(0, 1), (0.5, 0.3), (-3, 5)], UNIT, [(0, 0), (0, -1)], None),
    "Moyal": (lambda y, m, s: exp(-((y - m) / s + exp(-(y - m) / s)) / 2) / sqrt(2 * pi) / s,
              lambda y, m, s: erfc(exp(-(y - m) / s / 2) / sqrt(mpf(2))),
              [(0, 1), (5, 3)], [-5, -1, 0, 0.5, 3, 20, 200], [(0, 0), (0, -1)], lambda m, s: stats.moyal(m, s)),
    "AsymmetricLaplace": (lambda y, k, m, b: b / (k + 1 / k) * exp(-(y - m) * b * k if y >= m else (y - m) * b / k),
                          lambda y, k, m, b: 1 - exp(-(y - m) * b * k) / (1 + k * k) if y >= m else k * k / (1 + k * k) * exp((y - m) * b / k),
                          [(1, 0, 1), (0.3, 2, 0.1), (4, -1, 30)], [-30, -5, -1, -1e-3, 0, 0.7, 2.5, 9, 40],
                          [(0, 0, 1), (-1, 0, 1), (1, 0, 0), (1, 0, -1)], lambda k, m, b: stats.laplace_asymmetric(k, m, 1 / b)),
    "ChiSquared": (inside(lambda y, nu: gamma_pdf(y, nu / 2, mpf(1) / 2)), inside(lambda y, nu: lower_gamma(nu / 2, y / 2)),
                   [(1,), (4,), (37.5,)], POSITIVE, [(0,), (-1.5,)], lambda nu: stats.chi2(nu)),
    "ZeroInflatedBinomial": (count(lambda y, w, n, p: w * binomial_mass(y, n, p) + (1 - w) * (y == 0)),
                             count_cdf(lambda y, w, n, p: w * binomial_mass(y, n, p) + (1 - w) * (y == 0)),
                             [(0.7, 10, 0.3), (0, 10, 0.3), (1, 10, 0.3), (0.01, 60, 0.75)], COUNTS,
                             [(-0.1, 10, 0.3), (1.1, 10, 0.3), (0.5, -1, 0.3), (0.5, 10, 1.1)], None),
    "ZeroInflatedBinomialLogit": (count(lambda y, w, n, x: w * binomial_mass(y, n, inv_logit(x)) + (1 - w) * (y == 0)),
                                  count_cdf(lambda y, w, n, x: w * binomial_mass(y, n, inv_logit(x)) + (1 - w) * (y == 0)),
                                  [(0.7, 10, -1), (0.2, 60, 2.5)], COUNTS, [(-0.1, 10, 0.3), (1.1, 10, 0.3), (0.5, -1, 0.3)], None),
    "ZeroInflatedNegativeBinomial": (count(lambda y, w, m, a: w * negative_binomial(y, m, a) + (1 - w) * (y == 0)),
                                     count_cdf(lambda y, w, m, a: w * negative_binomial(y, m, a) + (1 - w) * (y == 0)),
                                     [(0.7, 3, 1), (0, 3, 1), (1, 3, 1), (0.01, 40, 12)], COUNTS,
                                     [(-0.1, 3, 1), (1.1, 3, 1), (0.5, -1, 1), (0.5, 3, 0)], None),
    "ZeroInflatedNegativeBinomialTrials": (
        count(lambda y, w, n, p: w * negative_binomial(y, n * (1 - p) / p, n) + (1 - w) * (y == 0)),
        count_cdf(lambda y, w, n, p: w * negative_binomial(y, n * (1 - p) / p, n) + (1 - w) * (y == 0)),
        [(0.7, 3, 0.4), (0.2, 0.7, 0.9)], COUNTS, [(-0.1, 3, 0.4), (0.5, -1, 0.4), (0.5, 3, 1.5)], None),
    "DiscreteWeibull": (count(lambda y, q, b: q ** (y**b) - q ** ((y + 1) ** b)),
                        lambda y, q, b: 1 - q ** ((floor(y) + 1) ** b) if y >= 0 else mpf(0),
                        [(0.5, 1), (0.9, 0.4), (0.97, 1.8)], COUNTS, [(0, 1), (1, 1), (-0.5, 1), (0.5, 0), (0.5, -1)], None),
})


def skew_student(y, a, b, mu, sigma):
    z = (y - mu) / sigma
    r = z / sqrt(a + b + z * z)
    return (1 + r) ** (a + mpf(1) / 2) * (1 - r) ** (b + mpf(1) / 2) / (2 ** (a + b - 1) * beta(a, b) * sqrt(a + b)) / sigma


def skew_student_cdf(y, a, b, mu, sigma):
    z = (y - mu) / sigma
    return betai(a, b, (1 + z / sqrt(a + b + z * z)) / 2)


def rice(y, nu, sigma):
    return y / sigma**2 * exp(-(y * y + nu * nu) / (2 * sigma**2)) * besseli(0, y * nu / sigma**2)


def rice_cdf(y, nu, sigma):
    if y <= 0:
        return mpf(0)
    mp.dps = 25
    knots = sorted({mpf(0), y} | {nu + k * sigma for k in (-20, -8, -3, 0, 3, 8, 20) if 0 < nu + k * sigma < y})
    value = quad(lambda x: rice(x, nu, sigma), knots)
    mp.dps = 60
    return value


def hyper_geometric(y, N, k, n):
    return binomial(k, y) * binomial(N - k, n - y) / binomial(N, n) if max(0, n + k - N) <= y <= min(k, n) else mpf(0)


def hurdle_counts(y, psi, mu, a):
    return 1 - psi if y == 0 else psi * negative_binomial(y, mu, a) / (1 - negative_binomial(mpf(0), mu, a))


def hurdle_positive(density):
    return lambda y, psi, *a: 1 - psi if y == 0 else psi * density(y, *a) if y > 0 else mpf(0)


def hurdle_positive_cdf(cdf):
    return lambda y, psi, *a: 1 - psi + psi * cdf(y, *a) if y >= 0 else mpf(0)


def failures(psi, n, p):
    return psi, n * (1 - p) / p, n


FORMS.update({
    "SkewStudentT": (skew_student, skew_student_cdf, [(1, 1, 0, 1), (0.6, 3, 1, 2), (4, 1.5, -3, 0.5), (30, 25, 0, 5)],
                     [-300, -30, -5, -1, -1e-3, 0, 0.7, 2.5, 9, 40, 200],
                     [(0, 1, 0, 1), (1, 0, 0, 1), (-1, 3, 0, 1), (1, 1, 0, 0), (1, 1, 0, -1)], lambda a, b, m, s: stats.jf_skew_t(a, b, m, s)),
    "Rice": (inside(rice), rice_cdf, [(0, 1), (1.3, 0.7), (4, 2), (3, 0.2)], [-1, 0, 1e-12, 0.01, 0.5, 1, 3.7, 8], [(-1, 1), (1, 0), (1, -1)],
             lambda nu, s: stats.rice(nu / s, 0, s)),
    "RiceRatio": (inside(lambda y, b, s: rice(y, b * s, s)), lambda y, b, s: rice_cdf(y, b * s, s), [(1.3, 0.7), (4, 0.5)],
                  [-1, 0, 0.01, 1, 3.7, 8], [(-1, 1), (1, 0), (1, -1)], lambda b, s: stats.rice(b, 0, s)),
    "HyperGeometric": (count(hyper_geometric), count_cdf(hyper_geometric), [(50, 10, 5), (20, 15, 12), (60, 60, 17), (10, 0, 10)], [-1, 0, 1, 2, 5, 10, 17, 60],
                       [(-1, 0, 0), (10, 11, 3), (10, 3, 11), (10.5, 3, 3), (10, 2.5, 3), (10, 3, -1)], lambda N, k, n: stats.hypergeom(N, k, n)),
    "HurdleNegativeBinomial": (count(hurdle_counts), count_cdf(hurdle_counts), [(0.7, 3, 1), (0, 3, 2), (1, 0.5, 30), (0.01, 20, 0.3), (0.4, 0.001, 2)],
                               COUNTS, [(-0.1, 3, 1), (1.1, 3, 1), (0.5, 0, 1), (0.5, 3, 0), (0.5, -1, 1)], None),
    "HurdleNegativeBinomialTrials": (count(lambda y, *a: hurdle_counts(y, *failures(*a))), count_cdf(lambda y, *a: hurdle_counts(y, *failures(*a))),
                                     [(0.7, 3, 0.4), (0.2, 0.7, 0.9)], COUNTS, [(-0.1, 3, 0.4), (0.5, -1, 0.4), (0.5, 3, 1.5)], None),
    "HurdleGamma": (hurdle_positive(gamma_pdf), hurdle_positive_cdf(inside(lambda y, a, b: lower_gamma(a, b * y))),
                    [(0.7, 1, 1), (0.2, 0.3, 2), (1, 5, 0.5), (0, 2, 1)], POSITIVE,
                    [(-0.1, 1, 1), (1.1, 1, 1), (0.5, 0, 1), (0.5, 1, 0), (0.5, -1.5, 1)], None),
    "HurdleGammaMoments": (hurdle_positive(lambda y, m, s: gamma_pdf(y, m * m / s / s, m / s / s)),
                           hurdle_positive_cdf(inside(lambda y, m, s: lower_gamma(m * m / s / s, y * m / s / s))),
                           [(0.7, 2, 1), (0.3, 5, 10)], POSITIVE, [(1.1, 2, 1), (0.5, -2, 1), (0.5, 2, 0)], None),
    "HurdleLogNormal": (hurdle_positive(lambda y, m, s: phi((log(y) - m) / s) / (s * y)),
                        hurdle_positive_cdf(inside(lambda y, m, s: Phi((log(y) - m) / s))),
                        [(0.7, 0, 1), (0.2, 2, 0.3), (1, -3, 5)], POSITIVE, [(-0.1, 0, 1), (1.1, 0, 1), (0.5, 0, 0), (0.5, 0, -1)], None),
})
PRECISION = {"SkewStudentTPrecision": "SkewStudentT", "HurdleLogNormalPrecision": "HurdleLogNormal",
             "LogitNormalPrecision": "LogitNormal", "NormalPrecision": "Normal", "HalfNormalPrecision": "HalfNormal", "LogNormalPrecision": "LogNormal",
             "StudentTPrecision": "StudentT", "HalfStudentTPrecision": "HalfStudentT"}
for name, base in PRECISION.items():
    density, cdf, args, ys, _, _ = FORMS[base]
    turn = lambda a: (*a[:-1], 1 / sqrt(a[-1]))
    FORMS[name] = (lambda y, *a, f=density: f(y, *turn(a)), lambda y, *a, f=cdf: f(y, *turn(a)),
                   [(*a[:-1], 0.3) for a in args[:2]], ys, [(*args[0][:-1], 0), (*args[0][:-1], -1)], None)
density, cdf, args, ys, bad, _ = FORMS["BetaMean"]
FORMS["BetaMeanNu"] = (density, cdf, args, ys, bad, None)


def to_float(x):
    return float("-inf") if x == -inf else float(x)


def check_against_scipy(form, args, y, log_density, cdf, frozen):
    with np.errstate(all="ignore"):
        other = frozen.logpmf(y) if hasattr(frozen, "logpmf") else frozen.logpdf(y)
        other_cdf = frozen.cdf(y)
    # At the ends SciPy takes other conventions for a density of measure zero.
    if np.isfinite(log_density) and np.isfinite(other):
        assert abs(other - log_density) <= SCIPY_BOUND * max(1, abs(log_density)), (form, args, y, other, log_density)
    assert abs(other_cdf - cdf) <= SCIPY_BOUND, (form, args, y, other_cdf, cdf)


rows = ["form,arguments,y,log_density,cdf"]
for form, (density, cdf, all_args, ys, bad_args, scipy_form) in FORMS.items():
    for args in all_args:
        exact = [mpf(a) for a in args]
        for y in ys:
            p = density(mpf(y), *exact)
            log_density = to_float(log(p) if p > 0 else -inf)
            f = None if cdf is None else float(cdf(mpf(y), *exact))
            if scipy_form is not None:
                check_against_scipy(form, args, y, log_density, f, scipy_form(*[float(a) for a in args]))
            cells = " ".join(repr(float(a)) for a in args)
            rows.append(f"{form},{cells},{float(y)!r},{log_density!r},{'' if f is None else repr(f)}")
    for args in bad_args:
        cells = " ".join(repr(float(a)) for a in args)
        for y in (ys[0], 0, 1, ys[-1]):
            rows.append(f"{form},{cells},{float(y)!r},nan,nan")
Path(__file__).with_name("scalar.csv").write_text("\n".join(rows) + "\n")
