"""Curves by the names, the arguments and the defaults that lmfit's users know.

Each is a formula of a built-in curve of Fitzroy where there is one, with the amplitude that is an
area turned into a height.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .special import NEEDED, Formula, log_abs_gamma

__all__ = ["functions", "not_zero", "rectangle", "step", "thermal_distribution", "tiny"]

#: Below this a width is no divisor.
tiny = 1.0e-15
log2 = np.log(2)
s2pi = np.sqrt(2 * np.pi)
s2 = np.sqrt(2.0)

PEAK = "amplitude=1, center=0, sigma=1"
#: A width, or the least one where it is none.
SIGMA, EXPON = "max(1e-15, sigma)", "max(1e-15, expon)"
KT = "where(abs(kt) < 1e-15, 1e-15, kt)"
AREA = "amplitude/max(1e-15, sqrt(2*pi)*sigma)"
#: Arguments after x, the formula, and what it is.
TABLE: dict[str, tuple[str, str, str]] = {
    "gaussian": (PEAK, f"gaussian(x, {AREA}, center, {SIGMA})", "A Gaussian of area `amplitude`."),
    "gaussian2d": (
        "y=0, amplitude=1, centerx=0, centery=0, sigmax=1, sigmay=1",
        "amplitude*gaussian(x, 1/max(1e-15, sqrt(2*pi)*sigmax), centerx, max(1e-15, sigmax))"
        "*gaussian(y, 1/max(1e-15, sqrt(2*pi)*sigmay), centery, max(1e-15, sigmay))",
        "A Gaussian spot of volume `amplitude`.",
    ),
    "lorentzian": (
        PEAK,
        f"lorentzian(x, amplitude/max(1e-15, pi*sigma), center, {SIGMA})",
        "A Lorentzian of area `amplitude`, `sigma` its half width.",
    ),
    "split_lorentzian": (
        f"{PEAK}, sigma_r=1",
        f"split_lorentzian(x, 2*amplitude/(pi*({SIGMA} + max(1e-15, sigma_r))), center, {SIGMA}, "
        "max(1e-15, sigma_r))",
        "A Lorentzian of area `amplitude` with another width on the right.",
    ),
    "voigt": (
        f"{PEAK}, gamma=None",
        f"voigt(x, amplitude, center, {SIGMA}, gamma)",
        "A Voigt profile of area `amplitude`; `gamma` is `sigma` where it is not given.",
    ),
    "pvoigt": (
        f"{PEAK}, fraction=0.5",
        "gaussian(x, (1 - fraction)*amplitude/max(1e-15, sqrt(pi/log(2))*sigma), center, "
        f"{SIGMA}/sqrt(2*log(2))) "
        f"+ lorentzian(x, fraction*amplitude/max(1e-15, pi*sigma), center, {SIGMA})",
        "A Gaussian and a Lorentzian of the same width, of area `amplitude`.",
    ),
    "moffat": (
        f"{PEAK}, beta=1",
        f"moffat(x, amplitude, center, {SIGMA}, beta)",
        "A line of height `amplitude` with tails of power 2 beta.",
    ),
    "pearson4": (
        f"{PEAK}, expon=1, skew=0",
        f"pearson4(x, amplitude/{SIGMA}*exp(2*({log_abs_gamma.at(EXPON, '(skew/2)')} "
        f"- lgamma({EXPON})) - log_beta({EXPON} - 0.5, 0.5)), center, {SIGMA}, {EXPON}, skew)",
        "Pearson's fourth curve of area `amplitude`.",
    ),
    "pearson7": (
        f"{PEAK}, expon=1",
        f"moffat(x, amplitude*gamma({EXPON})/(gamma(0.5)*gamma({EXPON} - 0.5)*{SIGMA}), center, "
        f"{SIGMA}, {EXPON})",
        "Pearson's seventh curve of area `amplitude`.",
    ),
    "breit_wigner": (
        f"{PEAK}, q=1",
        "fano(x, amplitude, center, where(abs(sigma) < 1e-15, 1e-15, sigma), q, 0)",
        "A resonance of width `sigma` that interferes with a continuum.",
    ),
    "damped_oscillator": (
        "amplitude=1, center=1, sigma=0.1",
        "damped_oscillator(x, amplitude, max(1e-15, abs(center)), sigma)",
        "The amplitude of a driven oscillator.",
    ),
    "dho": (
        "amplitude=1, center=1, sigma=1, gamma=1",
        "where(abs(x) <= 1e-8, amplitude*sigma/pi*4*gamma*center/(center^2 + sigma^2)^2, "
        "damped_harmonic(where(abs(x) <= 1e-8, 1, x), amplitude/pi, center, sigma, "
        "max(1e-15, gamma)))",
        "The spectrum of a damped harmonic oscillator.",
    ),
    "logistic": (PEAK, f"sigmoid(x, amplitude, center, 1/{SIGMA}, 0)", "A sigmoidal step."),
    "lognormal": (
        PEAK,
        f"lognormal(max(1e-15, x), amplitude, center, {SIGMA})",
        "The log-normal density times `amplitude`.",
    ),
    "students_t": (
        PEAK,
        f"students_t(x, amplitude*gamma(({SIGMA} + 1)/2)/(sqrt({SIGMA}*pi)*gamma({SIGMA}/2)), "
        f"center, 1, {SIGMA})",
        "Student's density with `sigma` degrees of freedom, times `amplitude`.",
    ),
    "expgaussian": (
        f"{PEAK}, gamma=1",
        f"exgaussian(x, amplitude, center, {SIGMA}, 1/max(1e-15, gamma))",
        "A Gaussian with an exponential tail of rate `gamma`, of area `amplitude`.",
    ),
    "doniach": (
        f"{PEAK}, gamma=0",
        f"doniach(x, amplitude/max(1e-15, {SIGMA}^(1 - gamma)), center, {SIGMA}, gamma)",
        "The photoelectron line of Doniach and Sunjic.",
    ),
    "skewed_gaussian": (
        f"{PEAK}, gamma=0",
        f"skewed_gaussian(x, {AREA}, center, {SIGMA}, gamma)",
        "A Gaussian skewed by `gamma`, of area `amplitude`.",
    ),
    "skewed_voigt": (
        f"{PEAK}, gamma=None, skew=0",
        f"skewed_voigt(x, amplitude, center, {SIGMA}, gamma, skew)",
        "A Voigt profile skewed by `skew`.",
    ),
    "bose": (
        "amplitude=1, center=0, kt=1",
        f"bose_einstein(x, amplitude, center, {KT})",
        "The distribution of Bose and Einstein.",
    ),
    "fermi": (
        "amplitude=1, center=0, kt=1",
        f"fermi_dirac(x, amplitude, center, {KT})",
        "The distribution of Fermi and Dirac.",
    ),
    "sine": (
        "amplitude=1, frequency=1, shift=0",
        "sine(x, amplitude, frequency, shift, 0)",
        "A sine of angular `frequency`.",
    ),
    "expsine": (
        "amplitude=1, frequency=1, shift=0, decay=0",
        "damped_sine(x, amplitude, decay, frequency, shift, 0)",
        "A sine that decays.",
    ),
    "exponential": (
        "amplitude=1, decay=1",
        "exponential_decay(x, amplitude, 1/where(abs(decay) < 1e-15, 1e-15, decay), 0)",
        "A decay in a time `decay`.",
    ),
    "powerlaw": (
        "amplitude=1, exponent=1",
        "power_law(x, amplitude, exponent)",
        "A power of x.",
    ),
    "linear": ("slope=1, intercept=0", "linear(x, slope, intercept)", "A straight line."),
    "parabolic": ("a=0, b=0, c=0", "a*x^2 + b*x + c", "A parabola."),
}
#: Steps, from which rectangles are made, by their `form`.
STEPS = {
    "linear": "linear_step(x, amplitude, center, {w}, 0)",
    "atan": "atan_step(x, amplitude, center, {w}, 0)",
    "arctan": "atan_step(x, amplitude, center, {w}, 0)",
    "erf": "erf_step(x, amplitude, center, {w}, 0)",
    "logistic": "sigmoid(x, amplitude, center, 1/{w}, 0)",
}
#: What is added to the exponential in the denominator of a thermal distribution.
THERMAL = {"bose": -1, "maxwell": 0, "fermi": 1}


def _formula(name: str, arguments: str, text: str, doc: str) -> Formula:
    named: dict[str, float | None] = {"x": NEEDED}
    for word in arguments.split(", "):
        argument, default = word.split("=")
        named[argument] = None if default == "None" else float(default)
    instead = {argument: "sigma" for argument, default in named.items() if default is None}
    return Formula(name, __name__, named, text, doc, instead)


_CURVES = {name: _formula(name, *row) for name, row in TABLE.items()}
_STEPS = {
    form: _formula(
        f"step_{form}", PEAK, text.format(w="where(abs(sigma) < 1e-15, 1e-15, sigma)"), ""
    )
    for form, text in STEPS.items()
}
_THERMAL = {
    form: _formula(
        f"thermal_{form}",
        "amplitude=1, center=0, kt=1",
        f"1/(amplitude*exp((x - center)/{KT}) + ({offset}))",
        "",
    )
    for form, offset in THERMAL.items()
}
#: Names of the curves.
functions = (*_CURVES, "step", "rectangle", "thermal_distribution")


def __getattr__(name: str) -> Callable[..., Any]:
    try:
        return _CURVES[name]
    except KeyError:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'") from None


def not_zero(value: float) -> float:
    """The value, or `tiny` with its sign where it is less."""
    return float(np.copysign(max(tiny, abs(value)), value))


def step(
    x: Any, amplitude: Any = 1.0, center: Any = 0.0, sigma: Any = 1.0, form: str = "linear"
) -> Any:
    """A step of height `amplitude` at `center`, of one of four shapes: `form` is 'linear', 'atan',
    'erf' or 'logistic'. A width `sigma` below 0 makes it fall."""
    return _of_form(_STEPS, form)(x, amplitude, center, sigma)


def rectangle(
    x: Any,
    amplitude: Any = 1.0,
    center1: Any = 0.0,
    sigma1: Any = 1.0,
    center2: Any = 1.0,
    sigma2: Any = 1.0,
    form: str = "linear",
) -> Any:
    """A step up at `center1` and down at `center2`, of one of the shapes of `step`."""
    curve = _of_form(_STEPS, form)
    wide = 2.0 if form == "linear" else 1.0
    return curve(x, amplitude, center1, wide * sigma1) - curve(x, amplitude, center2, wide * sigma2)


def thermal_distribution(
    x: Any, amplitude: Any = 1.0, center: Any = 0.0, kt: Any = 1.0, form: str = "bose"
) -> Any:
    """1/(amplitude exp((x − center)/kt) + s), with s −1, 0 or 1 for a `form` 'bose', 'maxwell' or
    'fermi'."""
    form = form.lower()
    found = next((known for known in THERMAL if form.startswith(known)), form)
    return _of_form(_THERMAL, found)(x, amplitude, center, kt)


def _of_form(curves: dict[str, Formula], form: str) -> Formula:
    if form not in curves:
        known = ", ".join(f"'{name}'" for name in curves)
        raise ValueError(f"Invalid value ('{form}') for argument 'form'; should be one of {known}.")
    return curves[form]
