"""Writes shapes.json: data of built-in curves with known truth, and SciPy's least squares from that truth.

Run: python3 crates/curve-fit/tests/golden/shapes.py    (needs SciPy)
Each curve is written here anew, with NumPy and SciPy's own functions. Noise has a hundredth of the range of the curve.
"""

import json
from pathlib import Path

import numpy as np
from scipy.integrate import quad
from scipy.optimize import least_squares
from scipy.special import erf, expit, voigt_profile
from scipy.stats import exponnorm, gumbel_r, lognorm, maxwell, t as students_t, weibull_min

R = 8.314462618
N = 90


def moffat(x, a, x0, w, beta):
    return a * (((x - x0) / w) ** 2 + 1) ** -beta


def split(shape):
    return lambda x, a, x0, w1, w2: a * shape(np.where(x < x0, (x - x0) / w1, (x - x0) / w2))


def doniach(x, a, x0, w, alpha):
    u = (x - x0) / w
    return a * np.cos(np.pi * alpha / 2 + (1 - alpha) * np.arctan(u)) / (1 + u * u) ** ((1 - alpha) / 2)


def debye_heat(x, a, theta):
    part = lambda u: quad(lambda z: z**4 / (4 * np.sinh(z / 2) ** 2), 1e-300, u, epsabs=0, epsrel=1e-13)[0] * 3 / u**3  # noqa: E731
    return a * np.array([part(theta / t) for t in np.atleast_1d(x)])


def cole_cole(x, e_inf, e_s, tau, alpha):
    return (e_inf + (e_s - e_inf) / (1 + (1j * x * tau) ** (1 - alpha))).real


def dho(x, a, x0, g, kt):
    return a * g * (1 / ((x - x0) ** 2 + g * g) - 1 / ((x + x0) ** 2 + g * g)) / -np.expm1(-x / kt)


def morrison(x, v0, e, k):
    # The enzyme that is free, as the root of its own equation.
    bound = ((e + x + k) - np.sqrt((e + x + k) ** 2 - 4 * e * x)) / 2
    return v0 * (1 - bound / e)


SHAPES = {
    "stretched_exponential": (lambda x, a, tau, beta, c: a * np.exp(-((x / tau) ** beta)) + c, (3, 4, 0.6, 1), (0.05, 30)),
    "power_law_offset": (lambda x, a, b, c: a * x**b + c, (2, 1.4, -3), (0.1, 12)),
    "logarithm": (lambda x, a, b: a * np.log(x) + b, (1.5, -2), (0.2, 30)),
    "gompertz": (lambda x, a, x0, k: a * np.exp(-np.exp(-k * (x - x0))), (12, 7, 0.5), (0, 25)),
    "richards": (lambda x, a, x0, k, nu: a / (1 + nu * np.exp(-k * (x - x0))) ** (1 / nu), (8, 30, 0.25, 2.2), (0, 60)),
    "weibull_growth": (lambda x, a, tau, k, c: a * -np.expm1(-((x / tau) ** k)) + c, (5, 9, 2.4, 0.7), (0.2, 25)),
    "haldane": (lambda x, v, km, ki: v / (1 + km / x + x / ki), (6, 2, 11), (0.1, 50)),
    "langmuir": (lambda x, q, k: q / (1 + 1 / (k * x)), (3.2, 0.4), (0.05, 20)),
    "freundlich": (lambda x, k, n: k * x ** (1 / n), (1.7, 2.6), (0.05, 20)),
    "sips": (lambda x, q, k, n: q / (1 + (k * x) ** -n), (3.2, 0.3, 1.6), (0.05, 30)),
    "bet": (lambda x, vm, c: vm * c * x / (1 - x) / (1 - x + c * x), (4, 60), (0.02, 0.45)),
    "logistic5": (lambda x, a, d, c, b, g: d + (a - d) / (1 + (x / c) ** b) ** g, (0.2, 5, 12, 1.9, 0.5), (0.3, 200)),
    "dose_response": (lambda x, lo, hi, m, h: lo + (hi - lo) * expit(np.log(10) * h * (x - m)), (1, 9, -6.2, 1.3), (-9, -3)),
    "sine": (lambda x, a, w, p, c: a * np.sin(w * x + p) + c, (2, 3.1, 0.8, 5), (0, 12)),
    "damped_oscillator": (lambda x, a, x0, s: a / np.hypot(1 - (x / x0) ** 2, 2 * s * x / x0), (0.5, 6, 0.06), (1, 12)),
    "voigt": (lambda x, a, x0, s, g: a * voigt_profile(x - x0, s, g), (30, 12, 0.8, 0.6), (2, 22)),
    "moffat": (moffat, (7, 3, 0.9, 1.7), (-4, 10)),
    "pearson7": (lambda x, a, x0, w, m: moffat(x, a, x0, w / np.sqrt(2 ** (1 / m) - 1), m), (7, 3, 0.9, 1.6), (-4, 10)),
    "pearson4": (lambda x, a, x0, w, m, v: moffat(x, a, x0, w, m) * np.exp(-v * np.arctan((x - x0) / w)), (5, 3, 1.1, 1.8, -1.2), (-4, 12)),
    "students_t": (lambda x, a, x0, s, nu: a * students_t.pdf((x - x0) / s, nu) / students_t.pdf(0, nu), (4, 50, 3, 2.5), (20, 80)),
    "sech2": (lambda x, a, x0, w: a * (1 - np.tanh((x - x0) / w) ** 2), (4, 50, 3), (30, 70)),
    "split_gaussian": (split(lambda u: np.exp(-u * u / 2)), (6, 20, 2, 5), (5, 45)),
    "split_lorentzian": (split(lambda u: 1 / (1 + u * u)), (6, 20, 2, 5), (0, 50)),
    "exgaussian": (lambda x, area, mu, s, tau: area * exponnorm.pdf(x, tau / s, mu, s), (100, 3, 0.4, 1.2), (0, 14)),
    "skewed_gaussian": (lambda x, a, x0, s, al: a * np.exp(-(((x - x0) / s) ** 2) / 2) * (1 + erf(al * (x - x0) / s / np.sqrt(2))), (3, 10, 4, -3), (-8, 20)),
    "skewed_voigt": (lambda x, a, x0, s, g, k: a * voigt_profile(x - x0, s, g) * (1 + erf(k * (x - x0) / s / np.sqrt(2))), (20, 10, 2.5, 0.7, 1.8), (0, 25)),
    "fano": (lambda x, a, x0, w, q, c: a * (q * w / 2 + x - x0) ** 2 / ((w / 2) ** 2 + (x - x0) ** 2) + c, (2, 7, 1.2, -1.7, 0.5), (0, 14)),
    "breit_wigner": (lambda x, a, m, g: a / (((x * x - m * m) / (m * g)) ** 2 + 1), (40, 91.2, 2.5), (80, 102)),
    "doniach": (doniach, (5, 84, 0.5, 0.18), (76, 90)),
    "lognormal": (lambda x, area, mu, s: area * lognorm.pdf(x, s, scale=np.exp(mu)), (8, 1.2, 0.5), (0.1, 12)),
    "weibull": (lambda x, area, scale, k: area * weibull_min.pdf(x, k, scale=scale), (8, 5, 2.4), (0.1, 12)),
    "double_sigmoid": (lambda x, a, x0, w1, w2, w3: a * expit((x - x0 + w1 / 2) / w2) * expit(-(x - x0 - w1 / 2) / w3), (6, 30, 14, 1.2, 2.5), (5, 60)),
    "bateman": (lambda x, a, ka, ke: a / (1 - ke / ka) * (np.exp(-ke * x) - np.exp(-ka * x)), (12, 1.1, 0.15), (0, 24)),
    "linear_step": (lambda x, a, x0, w, c: np.interp(x, [x0 - w / 2, x0 + w / 2], [c, a + c]), (-4, 11, 5.3, 6), (0, 25)),
    "atan_step": (lambda x, a, x0, w, c: a * (0.5 + np.arctan2(x - x0, w) / np.pi) + c, (3, 40, 1.5, 1), (20, 60)),
    "rectangle": (lambda x, a, x1, w1, x2, w2, c: a / 2 * (erf((x - x1) / w1) - erf((x - x2) / w2)) + c, (4, 12, 2, 31, 3.5, 0.8), (0, 45)),
    "arrhenius": (lambda x, a, ea: a / np.exp(ea / R / x), (2e4, 24000), (280, 420)),
    "vogel_fulcher": (lambda x, a, b, t0: a / np.exp(-b / (x - t0)), (0.3, 900, 190), (300, 480)),
    "debye_relaxation": (lambda x, lo, hi, tau: (hi + lo * (x * tau) ** 2) / (1 + (x * tau) ** 2), (4.5, 78, 0.7), (0.05, 12)),
    "debye_loss": (lambda x, d, tau: d / (x * tau + 1 / (x * tau)), (70, 0.7), (0.05, 12)),
    "fermi_dirac": (lambda x, a, mu, kt: a * expit(-(x - mu) / kt), (2, 1.2, 0.09), (0, 2.5)),
    "bose_einstein": (lambda x, a, mu, kt: a / np.expm1((x - mu) / kt), (2, -0.3, 0.6), (0.05, 4)),
    "maxwell": (lambda x, area, s: area * maxwell.pdf(x, scale=s), (900, 310), (10, 1600)),
    "planck": (lambda x, a, t: a * x**3 / np.expm1(x / t), (0.02, 4.5), (0.5, 60)),
    "shockley": (lambda x, i0, vt: i0 * np.expm1(x / vt), (1e-3, 0.06), (0, 0.5)),
    "lennard_jones": (lambda x, e, s: 4 * e * ((s / x) ** 12 - (s / x) ** 6), (1.7, 3.4), (3.3, 9)),
    "morse": (lambda x, d, a, r0, c: d * np.expm1(-a * (x - r0)) ** 2 + c, (4.7, 1.9, 0.74, -4.7), (0.35, 4)),
    "debye_heat": (debye_heat, (24.9, 340.0), (25, 400)),
    "einstein_heat": (lambda x, a, t: a * (t / x) ** 2 * np.exp(t / x) / np.expm1(t / x) ** 2, (24.9, 300.0), (30, 500)),
    "antoine": (lambda x, a, b, c: 10 ** (a - b / (c + x)), (7.1, 1250, 230), (20, 110)),
    "langevin": (lambda x, m, h: m * (1 / np.tanh(x / h) - h / x), (5.0, 0.7), (-6.05, 6)),
    "cauchy_dispersion": (lambda x, a, b, c: a + b / x**2 + c / x**4, (1.45, 0.004, 2e-4), (0.35, 1.1)),
    "cole_cole": (cole_cole, (4.5, 78, 0.7, 0.2), (0.02, 25)),
    "damped_harmonic": (dho, (9, 4, 0.6, 2.2), (0.1, 10)),
    "gumbel": (lambda x, a, x0, w: a * np.e * w * gumbel_r.pdf(x, x0, w), (6, 12, 2), (4, 32)),
    "exponential_rise": (lambda x, a, b, c: -a * np.expm1(-b * x) + c, (4, 0.5, 1.5), (0, 12)),
    "boltzmann": (lambda x, a1, a2, x0, dx: (a1 - a2) / (1 + np.exp((x - x0) / dx)) + a2, (1, 9, -40, 6), (-90, 20)),
    "two_sites": (lambda x, b1, k1, b2, k2: b1 / (1 + k1 / x) + b2 / (1 + k2 / x), (4, 0.3, 6, 20), (0.02, 80)),
    "morrison": (morrison, (8, 2, 0.15), (0.0, 7)),
}

out = {}
for number, (name, (f, truth, (low, high))) in enumerate(SHAPES.items()):
    rng = np.random.default_rng(100 + number)
    x = np.linspace(low, high, N)
    clean = f(x, *truth)
    noise = 0.01 * np.ptp(clean)
    y = np.array([float(f"{v:.7g}") for v in clean + noise * rng.standard_normal(N)])
    scale = np.abs(np.array(truth, float))
    found = least_squares(lambda p: (f(x, *p) - y) / noise, truth, x_scale=scale, method="lm" if name != "linear_step" else "trf",
                          xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=4000)
    errors = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)) * 2 * found.cost / (N - len(truth)))
    out[name] = {
        "truth": list(truth), "range": [low, high], "y": y.tolist(), "popt": found.x.tolist(), "errors": errors.tolist(),
        "chi2": 2 * found.cost * noise**2, "noise": noise, "at_truth": f(x[[7, 40, 71]], *truth).tolist(),
    }
    print(f"{name:24} {found.status} {2 * found.cost / (N - len(truth)):.3f}", np.round((found.x - truth) / errors, 1))
Path(__file__).with_name("shapes.json").write_text(json.dumps(out, indent=0).replace(",\n", ", ").replace("[\n", "[").replace("\n]", "]") + "\n")
