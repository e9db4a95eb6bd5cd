"""What built-in models have in common: a curve, hints, parameters that follow, a guess."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import guessing, lineshapes
from .lineshapes import tiny
from .model import Model
from .parameter import Parameters

__all__ = ["MIN0", "BuiltInModel", "PeakModel", "height", "update_param_vals"]

Array = np.ndarray[Any, Any]
Hints = dict[str, dict[str, Any]]

#: A width.
MIN0: dict[str, Any] = {"min": 0}


class BuiltInModel(Model):
    """A model with a curve, hints and a guess of its own.

    `independent_vars`, `prefix` and `nan_policy` are those of `Model`; further keywords, too.
    """

    #: The name of its curve, what is hinted, and parameters that follow, with {p} for the prefix.
    curve: str = ""
    hints: Hints = {}
    derived: dict[str, str] = {}
    variables: tuple[str, ...] = ("x",)

    def __init__(
        self,
        independent_vars: Sequence[str] | None = None,
        prefix: str = "",
        nan_policy: str = "raise",
        **kwargs: Any,
    ) -> None:
        names = self.variables if independent_vars is None else independent_vars
        func = self._function(kwargs)
        super().__init__(func, names, prefix=prefix, nan_policy=nan_policy, **kwargs)
        self._set_paramhints_prefix()

    def _function(self, kwargs: dict[str, Any]) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(lineshapes, self.curve)
        return found

    def _set_paramhints_prefix(self) -> None:
        for name, hint in self.hints.items():
            self.set_param_hint(name, **hint)
        for name, text in self.derived.items():
            self.param_hints.setdefault(name, {})["expr"] = text.replace("{p}", self.prefix)

    def guess(self, data: Any, x: Any = None, negative: bool = False, **kws: Any) -> Parameters:
        """Starting values by data at x; keywords are values that are known. `negative` says of a
        line that it points down."""
        if x is None and "x" in self.variables:
            raise TypeError("guess() missing 1 required positional argument: 'x'")
        found = self._guessed(np.asarray(data), None if x is None else np.asarray(x), negative, kws)
        pars = self.make_params(**found)
        return update_param_vals(pars, self.prefix, **kws)

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError(f"guess() not implemented for {type(self).__name__}")


def update_param_vals(pars: Parameters, prefix: str, **kwargs: Any) -> Parameters:
    """Gives parameters, whose names have a prefix, the values of keywords."""
    for name, value in kwargs.items():
        if f"{prefix}{name}" in pars:
            pars[f"{prefix}{name}"].value = value
    pars.update_constraints()
    return pars


class PeakModel(BuiltInModel):
    """A line at a centre."""

    #: Factors of the area and of the width.
    scales = (1.0, 1.0)
    #: What a guess says besides.
    fixed: dict[str, Any] = {}
    hints = {"sigma": MIN0}

    def _guessed(self, y: Array, x: Any, negative: bool, kws: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = dict(guessing.peak(y, x, negative, *self.scales))
        found["sigma"] = {"value": found["sigma"], "min": 0.0}
        return {**found, **self.fixed}


def height(factor: float) -> str:
    return f"{factor:.7f}*{{p}}amplitude/max({tiny}, {{p}}sigma)"
