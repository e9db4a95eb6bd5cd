"""Models that are made of two others."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

from ..tracing.nodes import Recorded
from ..tracing.plain import recording
from .model import Model

__all__ = ["CompositeModel"]


class CompositeModel(Model):
    """Two models whose values an operator combines, `op(left, right)`.

    `left + right`, `-`, `*` and `/` make one, too. Parameters have different names, by prefixes.
    """

    SIGNS = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/"}

    def __init__(self, left: Any, right: Any, op: Callable[..., Any], **kws: Any) -> None:
        for side in (left, right):
            if not isinstance(side, Model):
                raise ValueError(f"CompositeModel: argument {side} is not a Model")
        if not callable(op):
            raise ValueError(f"CompositeModel: operator {op} is not callable")
        self.left: Model = left
        self.right: Model = right
        self.op = op
        twice = [name for name in left.param_names if name in right.param_names]
        if twice:
            lines = [
                f"\nTwo models have parameters named '{n}'; use distinct names." for n in twice
            ]
            raise NameError("".join(lines))
        if kws.pop("prefix", None) is not None:
            warnings.warn("CompositeModel ignores `prefix` argument", stacklevel=2)
        kws.setdefault("nan_policy", left.nan_policy)
        names = sorted({*left.independent_vars, *right.independent_vars})
        kws.setdefault("independent_vars", names)
        super().__init__(_composed, **kws)
        for side in (left, right):
            for base, hint in side.param_hints.items():
                self.param_hints[f"{side.prefix}{base}"] = hint

    def _parse_params(self) -> None:
        left, right = self.left, self.right
        self._func_haskeywords = left._func_haskeywords or right._func_haskeywords
        self._func_allargs = left._func_allargs + right._func_allargs
        self.def_vals = {**right.def_vals, **left.def_vals}
        self.opts = {**right.opts, **left.opts}
        defaults = {**right.independent_vars_defvals, **left.independent_vars_defvals}
        self.independent_vars_defvals = defaults

    def _reprstring(self, long: bool = True) -> str:
        sign = self.SIGNS.get(self.op, getattr(self.op, "__name__", str(self.op)))
        return f"({self.left._reprstring(long)} {sign} {self.right._reprstring(long)})"

    def eval(self, params: Any = None, **kwargs: Any) -> Any:
        """The values, with parameters by `params` and keywords."""
        sides = [side.eval(params=params, **kwargs) for side in (self.left, self.right)]
        op = self.op
        if any(isinstance(value, Recorded) for value in sides):
            op = recording(op)
        return op(*sides)

    def eval_components(self, params: Any = None, **kwargs: Any) -> dict[str, Any]:
        """The values of each model that it is made of."""
        out: dict[str, Any] = self.left.eval_components(params=params, **kwargs)
        out.update(self.right.eval_components(params=params, **kwargs))
        return out

    def post_fit(self, fitresult: Any) -> None:
        """Called with the result of each fit."""
        self.left.post_fit(fitresult)
        self.right.post_fit(fitresult)

    @property
    def param_names(self) -> list[str]:
        """Names of the parameters of both."""
        return self.left.param_names + self.right.param_names

    @property
    def components(self) -> list[Model]:
        """The models that it is made of."""
        return self.left.components + self.right.components

    def _make_all_args(self, params: Any = None, **kwargs: Any) -> dict[str, Any]:
        out: dict[str, Any] = self.right._make_all_args(params=params, **kwargs)
        out.update(self.left._make_all_args(params=params, **kwargs))
        return out


def _composed(*args: Any, **kwargs: Any) -> None:
    """Stands for the function of a composite, which has none of its own."""
