"""Built-in models: curves with hints, starting values by data, and what follows from parameters."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import guessing, lineshapes
from .builtin import MIN0, Array, BuiltInModel, update_param_vals
from .expressions import Scope, parsed
from .lineshapes import tiny
from .model import Model
from .parameter import Parameters
from .peaks import (
    BreitWignerModel,
    DampedHarmonicOscillatorModel,
    DampedOscillatorModel,
    DoniachModel,
    ExponentialGaussianModel,
    Gaussian2dModel,
    GaussianModel,
    LorentzianModel,
    MoffatModel,
    Pearson4Model,
    Pearson7Model,
    PseudoVoigtModel,
    SkewedGaussianModel,
    SkewedVoigtModel,
    SplitLorentzianModel,
    StudentsTModel,
    VoigtModel,
)
from .polynomials import constant, constant_complex, polynomial, spline_basis, spline_of

__all__ = [
    "COMMON_GUESS_DOC",
    "COMMON_INIT_DOC",
    "BoseModel",
    "BreitWignerModel",
    "ComplexConstantModel",
    "ConstantModel",
    "DampedHarmonicOscillatorModel",
    "DampedOscillatorModel",
    "DoniachModel",
    "ExponentialGaussianModel",
    "ExponentialModel",
    "ExpressionModel",
    "FermiModel",
    "Gaussian2dModel",
    "GaussianModel",
    "LinearModel",
    "LognormalModel",
    "LorentzianModel",
    "MoffatModel",
    "ParabolicModel",
    "Pearson4Model",
    "Pearson7Model",
    "PolynomialModel",
    "PowerLawModel",
    "PseudoVoigtModel",
    "QuadraticModel",
    "RectangleModel",
    "SineModel",
    "SkewedGaussianModel",
    "SkewedVoigtModel",
    "SplineModel",
    "SplitLorentzianModel",
    "StepModel",
    "StudentsTModel",
    "ThermalDistributionModel",
    "VoigtModel",
    "lmfit_models",
    "update_param_vals",
]

TAU = 2 * np.pi
#: What constructors and guesses take, for docstrings of models of one's own.
COMMON_INIT_DOC = """
    Parameters
    ----------
    independent_vars : list of str, optional
        Names of the independent variables.
    prefix : str, optional
        What stands before the names of the parameters.
    nan_policy : {'raise', 'propagate', 'omit'}, optional
        What becomes of missing values.
    **kwargs : optional
        Keywords of `Model`.
"""
COMMON_GUESS_DOC = """Starting values by data.

    Parameters
    ----------
    data : array_like
        What was observed.
    x : array_like
        The independent variable.
    **kws : optional
        Values that are known.
"""


class ConstantModel(BuiltInModel):
    """A constant `c`."""

    def _function(self, kwargs: dict[str, Any]) -> Callable[..., Any]:
        return constant

    def guess(self, data: Any, x: Any = None, negative: bool = False, **kws: Any) -> Parameters:
        """The mean of the data."""
        return super().guess(data, np.zeros(1) if x is None else x, negative, **kws)

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        return {"c": float(y.mean())}


class ComplexConstantModel(ConstantModel):
    """A complex constant `re` + i `im`."""

    def _function(self, kwargs: dict[str, Any]) -> Callable[..., Any]:
        kwargs.pop("name", None)
        return constant_complex

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        return {"re": float(y.real.mean()), "im": float(y.imag.mean())}


class LinearModel(BuiltInModel):
    """A straight line, `slope` and `intercept`."""

    curve = "linear"

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        slope, intercept = np.polyfit(x, y, 1)
        return {"slope": slope, "intercept": intercept}


class QuadraticModel(BuiltInModel):
    """A parabola, a x² + b x + c."""

    curve = "parabolic"

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        return dict(zip("abc", np.polyfit(x, y, 2)))


ParabolicModel = QuadraticModel


class PolynomialModel(BuiltInModel):
    """A polynomial of a `degree` up to 7, with `c0`, `c1`, ..."""

    MAX_DEGREE = 7
    valid_forms = tuple(range(8))

    def __init__(
        self,
        degree: int = 7,
        independent_vars: Sequence[str] | None = None,
        prefix: str = "",
        nan_policy: str = "raise",
        **kwargs: Any,
    ) -> None:
        degree = int(kwargs.pop("form", degree)) if "form" in kwargs else degree
        if not isinstance(degree, int) or not 0 <= degree <= self.MAX_DEGREE:
            raise TypeError(
                f"degree must be an integer equal to or smaller than {self.MAX_DEGREE}."
            )
        self.poly_degree = degree
        kwargs["param_names"] = [f"c{k}" for k in range(degree + 1)]
        super().__init__(independent_vars, prefix, nan_policy, **kwargs)

    def _function(self, kwargs: dict[str, Any]) -> Callable[..., Any]:
        return polynomial

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        found = np.polyfit(x, y, self.poly_degree)[::-1]
        return {f"c{k}": value for k, value in enumerate(found)}


class SplineModel(BuiltInModel):
    """A cubic spline with knots at `xknots`, whose coefficients are `s0`, `s1`, ..."""

    MAX_KNOTS = 300

    def __init__(
        self,
        xknots: Any,
        independent_vars: Sequence[str] | None = None,
        prefix: str = "",
        nan_policy: str = "raise",
        **kwargs: Any,
    ) -> None:
        knots = np.asarray(xknots, dtype=float).ravel()
        if not 4 <= len(knots) <= self.MAX_KNOTS:
            raise TypeError(
                f"SplineModel supports 4 to {self.MAX_KNOTS} knots; xknots has {len(knots)}"
            )
        if independent_vars is not None and len(independent_vars) > 1:
            raise TypeError("SplineModel supports only 1-d spline interpolation")
        self.xknots, self.nknots, self.order = knots, len(knots), 3
        self.knots = spline_basis(knots)
        super().__init__(independent_vars, prefix, nan_policy, **kwargs)

    def _function(self, kwargs: dict[str, Any]) -> Callable[..., Any]:
        return spline_of(self.nknots, self.knots)

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        out = {}
        for k, knot in enumerate(self.xknots):
            at = int(np.abs(x - knot).argmin())
            after = y[at + 1] if at < len(x) - 2 else y[at]
            before = y[at - 1] if at > 0 else y[at]
            out[f"s{k}"] = (4.0 * y[at] + after + before) / 6.0
        return out


class SineModel(BuiltInModel):
    """A sine, `amplitude`, angular `frequency` and `shift`."""

    curve = "sine"
    hints = {
        "amplitude": MIN0,
        "frequency": MIN0,
        "shift": {"min": -TAU - 1e-5, "max": TAU + 1e-5},
    }

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        return dict(guessing.wave(y, x))


class LognormalModel(BuiltInModel):
    """The log-normal density times `amplitude`."""

    curve = "lognormal"
    hints = {"sigma": MIN0}
    derived = {
        "height": f"{{p}}amplitude/max({tiny}, ({{p}}sigma*sqrt(2*pi)))"
        "*exp({p}sigma**2/2-{p}center)",
        "fwhm": "exp({p}center-{p}sigma**2+{p}sigma*sqrt(2*log(2)))"
        "-exp({p}center-{p}sigma**2-{p}sigma*sqrt(2*log(2)))",
    }

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        return {"amplitude": 1.0, "center": 0.0, "sigma": {"value": 0.25, "min": 0.0}}


class ThermalDistributionModel(BuiltInModel):
    """A thermal distribution: `form` is 'bose', 'maxwell' or 'fermi'."""

    curve = "thermal_distribution"
    variables = ("x", "form")
    valid_forms = tuple(lineshapes.THERMAL)

    def __init__(
        self,
        independent_vars: Sequence[str] | None = None,
        prefix: str = "",
        nan_policy: str = "raise",
        form: str = "bose",
        **kwargs: Any,
    ) -> None:
        super().__init__(independent_vars, prefix, nan_policy, form=form, **kwargs)

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        return dict(guessing.thermal(y, x))


class BoseModel(BuiltInModel):
    """The distribution of Bose and Einstein."""

    curve = "bose"
    _guessed = ThermalDistributionModel._guessed


class FermiModel(BoseModel):
    """The distribution of Fermi and Dirac."""

    curve = "fermi"


class PowerLawModel(BuiltInModel):
    """A power of x, `amplitude` and `exponent`."""

    curve = "powerlaw"

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        with np.errstate(invalid="ignore"):
            exponent, amplitude = np.polyfit(np.log(x + 1e-14), np.log(y + 1e-14), 1)
        return {"amplitude": np.exp(amplitude), "exponent": exponent}


class ExponentialModel(BuiltInModel):
    """A decay in a time `decay`."""

    curve = "exponential"

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        rate, amplitude = np.polyfit(x, np.log(np.abs(y) + 1e-15), 1)
        return {"amplitude": np.exp(amplitude), "decay": -1.0 / rate}


class StepModel(ThermalDistributionModel):
    """A step: `form` is 'linear', 'atan', 'erf' or 'logistic'."""

    curve = "step"
    valid_forms = tuple(lineshapes.STEPS)

    def __init__(
        self,
        independent_vars: Sequence[str] | None = None,
        prefix: str = "",
        nan_policy: str = "raise",
        form: str = "linear",
        **kwargs: Any,
    ) -> None:
        super().__init__(independent_vars, prefix, nan_policy, form=form, **kwargs)

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        return dict(guessing.step(y, x))


class RectangleModel(StepModel):
    """A step up at `center1` and down at `center2`; `midpoint` is between."""

    curve = "rectangle"
    derived = {"midpoint": "({p}center1+{p}center2)/2.0"}

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        low, high = float(x.min()), float(x.max())
        sigma = {"value": (high - low) / 10, "min": 0}
        return {
            "amplitude": float(np.ptp(y)),
            "center1": (low + high) / 4,
            "center2": 3 * (low + high) / 4,
            "sigma1": sigma,
            "sigma2": dict(sigma),
        }


class ExpressionModel(Model):
    """A model of an expression, `ExpressionModel("off + amp * exp(-x/x0)")`.

    Names that are neither independent variables nor functions are its parameters. `init_script` is
    Python that is run once, with NumPy's functions, and defines what the expression reads.
    """

    def __init__(
        self,
        expr: str,
        independent_vars: Sequence[str] | None = None,
        init_script: str | None = None,
        nan_policy: str = "raise",
        **kws: Any,
    ) -> None:
        if "prefix" in kws:
            raise Warning("ExpressionModel does not support `prefix` argument")
        self.symbols = Scope({name: getattr(lineshapes, name) for name in lineshapes.functions})
        if init_script is not None:
            self.symbols.update(_defined_by(init_script, self.symbols))
        self.expr = expr.strip()
        self.expression = parsed(self.expr)
        names = self.expression.names
        if independent_vars is None and "x" not in names:
            raise ValueError(f"No independent variable found in\n {self.expr}")
        variables = ["x"] if independent_vars is None else list(independent_vars)
        lost = [name for name in variables if name not in names]
        if lost:
            raise ValueError(f"Cannot find independent variables '{', '.join(lost)}' in\n {expr}")
        self._own = [n for n in names if n not in variables and not self.symbols.knows(n)]
        kws.pop("param_names", None)
        super().__init__(self._evaluate, independent_vars=variables, nan_policy=nan_policy, **kws)
        self._func_allargs = variables + self._own
        self._func_haskeywords = True
        self._param_names = list(self._own)

    def _evaluate(self, **values: Any) -> Any:
        return self.expression(Scope({**self.symbols, **values}))

    def _parse_params(self) -> None:
        """The expression says it all."""

    def _reprstring(self, long: bool = False) -> str:
        return f"<lmfit.ExpressionModel('{self.expr}')>"


def _defined_by(script: str, known: Scope) -> dict[str, Any]:
    """What a script of Python defines."""
    scope: dict[str, Any] = {"__builtins__": builtins, **_known_names(known)}
    before = set(scope)
    exec(compile(script, "<init_script>", "exec"), scope)
    return {name: value for name, value in scope.items() if name not in before}


def _known_names(known: Scope) -> dict[str, Any]:
    from .expressions import KNOWN

    return {**KNOWN, **known}


#: Models by their titles.
lmfit_models: dict[str, type[Model]] = {
    "Constant": ConstantModel,
    "Complex Constant": ComplexConstantModel,
    "Linear": LinearModel,
    "Quadratic": QuadraticModel,
    "Polynomial": PolynomialModel,
    "Spline": SplineModel,
    "Sine": SineModel,
    "Gaussian": GaussianModel,
    "Gaussian-2D": Gaussian2dModel,
    "Lorentzian": LorentzianModel,
    "Split-Lorentzian": SplitLorentzianModel,
    "Voigt": VoigtModel,
    "PseudoVoigt": PseudoVoigtModel,
    "Moffat": MoffatModel,
    "Pearson4": Pearson4Model,
    "Pearson7": Pearson7Model,
    "StudentsT": StudentsTModel,
    "Breit-Wigner": BreitWignerModel,
    "Log-Normal": LognormalModel,
    "Damped Oscillator": DampedOscillatorModel,
    "Damped Harmonic Oscillator": DampedHarmonicOscillatorModel,
    "Exponential Gaussian": ExponentialGaussianModel,
    "Skewed Gaussian": SkewedGaussianModel,
    "Skewed Voigt": SkewedVoigtModel,
    "Thermal Distribution": ThermalDistributionModel,
    "Bose-Einstein Distribution": BoseModel,
    "Fermi-Dirac Distribution": FermiModel,
    "Doniach": DoniachModel,
    "Power Law": PowerLawModel,
    "Exponential": ExponentialModel,
    "Step": StepModel,
    "Rectangle": RectangleModel,
    "Expression": ExpressionModel,
}
