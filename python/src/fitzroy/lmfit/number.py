"""Arithmetic of what has a value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tracing.nodes import Deferred, Recorded

__all__ = ["Number", "plain"]


def plain(value: Any, exact: bool = True) -> Any:
    """A value as a float, unless it records a trace; with `exact=False` an array or a complex
    number stays what it is."""
    if isinstance(value, Recorded):
        return value
    if exact:
        return float(value)
    if isinstance(value, (complex, np.complexfloating)) or np.ndim(value):
        return value
    try:
        return float(value)
    except (TypeError, ValueError):
        return value


def _binary(function: Callable[[Any, Any], Any], swapped: bool = False) -> Any:
    def call(self: Number, other: Any) -> Any:
        other = other._getval() if isinstance(other, Number) else other
        value = self._getval()
        return function(other, value) if swapped else function(value, other)

    return call


class Number(Deferred):
    """Anything with a value, which it is in arithmetic and in functions of NumPy."""

    def _getval(self) -> Any:
        raise NotImplementedError

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray[Any, Any]:
        return np.array(float(self))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        values = [v._getval() if isinstance(v, Number) else v for v in inputs]
        return getattr(ufunc, method)(*values, **kwargs)

    __add__, __radd__ = _binary(operator.add), _binary(operator.add, True)
    __sub__, __rsub__ = _binary(operator.sub), _binary(operator.sub, True)
    __mul__, __rmul__ = _binary(operator.mul), _binary(operator.mul, True)
    __truediv__, __rtruediv__ = _binary(operator.truediv), _binary(operator.truediv, True)
    __floordiv__, __rfloordiv__ = _binary(operator.floordiv), _binary(operator.floordiv, True)
    __mod__, __rmod__ = _binary(operator.mod), _binary(operator.mod, True)
    __divmod__, __rdivmod__ = _binary(divmod), _binary(divmod, True)
    __pow__, __rpow__ = _binary(operator.pow), _binary(operator.pow, True)
    __lt__, __le__ = _binary(operator.lt), _binary(operator.le)
    __gt__, __ge__ = _binary(operator.gt), _binary(operator.ge)
    __eq__, __ne__ = _binary(operator.eq), _binary(operator.ne)

    def __abs__(self) -> Any:
        return abs(self._getval())

    def __neg__(self) -> Any:
        return -self._getval()

    def __pos__(self) -> Any:
        return +self._getval()

    def __bool__(self) -> bool:
        return bool(self._getval() != 0)

    def __int__(self) -> int:
        return int(self._getval())

    def __float__(self) -> float:
        return float(self._getval())

    def __trunc__(self) -> int:
        return int(self._getval())

    def __str__(self) -> str:
        return repr(self)
