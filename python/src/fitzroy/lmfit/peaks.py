"""Built-in models of lines and other shapes with a place."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import guessing
from .builtin import MIN0, Array, BuiltInModel, PeakModel, height
from .lineshapes import tiny
from .parameter import Parameters

__all__ = [
    "BreitWignerModel",
    "DampedHarmonicOscillatorModel",
    "DampedOscillatorModel",
    "DoniachModel",
    "ExponentialGaussianModel",
    "Gaussian2dModel",
    "GaussianModel",
    "LorentzianModel",
    "MoffatModel",
    "Pearson4Model",
    "Pearson7Model",
    "PseudoVoigtModel",
    "SkewedGaussianModel",
    "SkewedVoigtModel",
    "SplitLorentzianModel",
    "StudentsTModel",
    "VoigtModel",
]


class GaussianModel(PeakModel):
    """A Gaussian, `amplitude` its area."""

    curve = "gaussian"
    fwhm_factor = 2 * np.sqrt(2 * np.log(2))
    height_factor = 1 / np.sqrt(2 * np.pi)
    derived = {"fwhm": f"{fwhm_factor:.7f}*{{p}}sigma", "height": height(height_factor)}


class Gaussian2dModel(BuiltInModel):
    """A Gaussian spot, `amplitude` its volume."""

    curve = "gaussian2d"
    variables = ("x", "y")
    fwhm_factor = 2 * np.sqrt(2 * np.log(2))
    height_factor = 1 / (2 * np.pi)
    hints = {"sigmax": MIN0, "sigmay": MIN0}
    derived = {
        "fwhmx": f"{fwhm_factor:.7f}*{{p}}sigmax",
        "fwhmy": f"{fwhm_factor:.7f}*{{p}}sigmay",
        "height": f"{height_factor:.7f}*{{p}}amplitude/(max({tiny}, {{p}}sigmax)"
        f"*max({tiny}, {{p}}sigmay))",
    }

    def guess(  # type: ignore[override]
        self, data: Any, x: Any, y: Any, negative: bool = False, **kws: Any
    ) -> Parameters:
        """Starting values by data at x and y."""
        return super().guess(data, x, negative, y=y, **kws)

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = dict(guessing.peak2d(y, x, kws.pop("y"), negative))
        for name in ("sigmax", "sigmay"):
            found[name] = {"value": found[name], "min": 0.0}
        return found


class LorentzianModel(PeakModel):
    """A Lorentzian, `amplitude` its area and `sigma` its half width."""

    curve = "lorentzian"
    scales = (1.25, 1.0)
    fwhm_factor = 2.0
    height_factor = 1 / np.pi
    derived = {"fwhm": f"{fwhm_factor:.7f}*{{p}}sigma", "height": height(height_factor)}


class SplitLorentzianModel(PeakModel):
    """A Lorentzian with the half widths `sigma` on the left and `sigma_r` on the right."""

    curve = "split_lorentzian"
    scales = (1.25, 1.0)
    hints = {"sigma": MIN0, "sigma_r": MIN0}
    derived = {
        "fwhm": "{p}sigma+{p}sigma_r",
        "height": f"2*{{p}}amplitude/{np.pi:.7f}/max({tiny:.7f}, ({{p}}sigma+{{p}}sigma_r))",
    }

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        found = super()._guessed(y, x, negative, kws)
        return {**found, "sigma_r": found["sigma"]}


class VoigtModel(PeakModel):
    """A Voigt profile; `gamma` is tied to `sigma` unless that is changed."""

    curve = "voigt"
    scales = (1.5, 0.65)
    derived = {
        "gamma": "{p}sigma",
        "fwhm": "1.0692*{p}gamma+sqrt(0.8664*{p}gamma**2+5.545083*{p}sigma**2)",
        "height": f"({{p}}amplitude/(max({tiny}, {{p}}sigma*sqrt(2*pi))))"
        f"*erfcx({{p}}gamma/max({tiny}, {{p}}sigma*sqrt(2)))",
    }


class PseudoVoigtModel(PeakModel):
    """A Gaussian and, by `fraction`, a Lorentzian of the same width."""

    curve = "pvoigt"
    scales = (1.25, 1.0)
    fixed = {"fraction": {"value": 0.5, "min": 0.0, "max": 1.0}}
    fwhm_factor = 2.0
    hints = {"sigma": MIN0, **fixed}
    derived = {
        "fwhm": f"{fwhm_factor:.7f}*{{p}}sigma",
        "height": f"(((1-{{p}}fraction)*{{p}}amplitude)/max({tiny}, ({{p}}sigma*sqrt(pi/log(2))))"
        f"+({{p}}fraction*{{p}}amplitude)/max({tiny}, (pi*{{p}}sigma)))",
    }


class MoffatModel(PeakModel):
    """A line with tails of power 2 `beta`; `amplitude` is its height."""

    curve = "moffat"
    scales = (0.5, 1.0)
    hints = {"sigma": MIN0, "beta": {}}
    derived = {
        "fwhm": "2*{p}sigma*sqrt(2**(1.0/max(1e-3, {p}beta))-1)",
        "height": "{p}amplitude",
    }


class Pearson4Model(PeakModel):
    """Pearson's fourth curve."""

    curve = "pearson4"
    fixed = {"expon": 1.5, "skew": 0.0}
    hints = {
        "expon": {"value": 1.5, "min": 0.5 + tiny, "max": 1000},
        "skew": {"value": 0.0, "min": -1000, "max": 1000},
    }
    derived = {
        "fwhm": "{p}sigma*sqrt(2**(1/{p}expon)-1)*pi/arctan2(exp(1)*{p}expon, {p}skew)",
        "height": "({p}amplitude/{p}sigma)*exp(2*(log_abs_gamma({p}expon, {p}skew/2)"
        "-loggammafcn({p}expon))-betalnfnc({p}expon-0.5, 0.5)"
        "-{p}expon*log1p(square({p}skew/(2*{p}expon)))-{p}skew*arctan(-{p}skew/(2*{p}expon)))",
        "position": "{p}center-{p}sigma*{p}skew/(2*{p}expon)",
    }


class Pearson7Model(PeakModel):
    """Pearson's seventh curve."""

    curve = "pearson7"
    fixed = {"expon": 1.5}
    hints = {"expon": {"value": 1.5, "max": 100}}
    derived = {
        "fwhm": "sqrt(2**(1/{p}expon)-1)*2*{p}sigma",
        "height": "{p}amplitude * gamfcn({p}expon)/"
        f"max({tiny}, (gamfcn(0.5)*gamfcn({{p}}expon-0.5)*{{p}}sigma))",
    }


class StudentsTModel(PeakModel):
    """Student's density with `sigma` degrees of freedom."""

    curve = "students_t"
    hints = {"sigma": {"min": 0.0, "max": 100}}
    derived = {
        "height": "{p}amplitude*gamfcn(({p}sigma+1)/2)/(sqrt({p}sigma*pi)*gamfcn({p}sigma/2))",
        "fwhm": "2*sqrt(2**(2/({p}sigma+1))*{p}sigma-{p}sigma)",
    }


class BreitWignerModel(PeakModel):
    """A resonance of width `sigma` that interferes with a continuum by `q`."""

    curve = "breit_wigner"
    fixed = {"q": 1.0}
    hints = {"sigma": {"min": 0.0}}


class DampedOscillatorModel(PeakModel):
    """The amplitude of a driven oscillator."""

    curve = "damped_oscillator"
    scales = (0.1, 0.1)
    height_factor = 0.5
    derived = {"height": height(height_factor)}


class DampedHarmonicOscillatorModel(PeakModel):
    """The spectrum of a damped harmonic oscillator."""

    curve = "dho"
    scales = (0.1, 0.1)
    fixed = {"gamma": {"value": 1.0, "min": 0.0}}
    fwhm_factor = 2.0
    hints = {"center": MIN0, "sigma": MIN0, "gamma": {"min": 1e-19}}
    derived = {
        "height": f"({{p}}amplitude*{{p}}sigma)/max({tiny}, (pi*(1-exp(-{{p}}center/"
        f"max({tiny}, {{p}}gamma)))))*(1/max({tiny}, {{p}}sigma**2)"
        f"-1/max({tiny}, (4*{{p}}center**2+{{p}}sigma**2)))",
        "fwhm": f"{fwhm_factor:.7f}*{{p}}sigma",
    }


class ExponentialGaussianModel(PeakModel):
    """A Gaussian with an exponential tail of rate `gamma`."""

    curve = "expgaussian"
    hints = {"sigma": MIN0, "gamma": {"min": 0, "max": 20}}


class SkewedGaussianModel(PeakModel):
    """A Gaussian skewed by `gamma`."""

    curve = "skewed_gaussian"


class SkewedVoigtModel(PeakModel):
    """A Voigt profile skewed by `skew`."""

    curve = "skewed_voigt"
    derived = {"gamma": "{p}sigma"}


class DoniachModel(PeakModel):
    """The photoelectron line of Doniach and Sunjic."""

    curve = "doniach"
    scales = (0.5, 1.0)
    hints = {}
    derived = {
        "height": f"{{p}}amplitude/max({tiny}, ({{p}}sigma**(1-{{p}}gamma)))*cos(pi*{{p}}gamma/2)"
    }
