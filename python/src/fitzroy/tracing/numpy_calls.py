"""Arguments of a function that record what NumPy would compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .nodes import NoAttribute, Node, Recorded, Tape, Untraceable

__all__ = ["Rows", "Traced"]

#: Universal functions of NumPy and scipy.special, as forms of a formula.
UFUNCS: dict[str, str] = {
    **{
        name: name + "({0})"
        for name in (
            "exp log log1p expm1 log2 log10 sqrt square sin cos tan sinh cosh tanh erf erfc erfcx "
            "erfinv logit log_ndtr ndtr floor ceil sign cbrt i0 i0e"
        ).split()
    },
    "absolute": "abs({0})",
    "fabs": "abs({0})",
    "arcsin": "asin({0})",
    "arccos": "acos({0})",
    "arctan": "atan({0})",
    "arcsinh": "asinh({0})",
    "arccosh": "acosh({0})",
    "arctanh": "atanh({0})",
    "arctan2": "atan2({0}, {1})",
    "rint": "round({0})",
    "trunc": "where({0} < 0, ceil({0}), floor({0}))",
    "ndtri": "probit({0})",
    "remainder": "mod({0}, {1})",
    "floor_divide": "floor({0} / {1})",
    "expit": "inv_logit({0})",
    "gammaln": "lgamma({0})",
    "psi": "digamma({0})",
    "digamma": "digamma({0})",
    "negative": "(-{0})",
    "positive": "({0})",
    "reciprocal": "(1 / {0})",
    "exp2": "(2 ^ {0})",
    "degrees": "({0} * 180 / pi)",
    "rad2deg": "({0} * 180 / pi)",
    "radians": "({0} * pi / 180)",
    "deg2rad": "({0} * pi / 180)",
    "logical_not": "(not {0})",
    "log_expit": "(-softplus(-{0}))",
    "add": "({0} + {1})",
    "subtract": "({0} - {1})",
    "multiply": "({0} * {1})",
    "divide": "({0} / {1})",
    "true_divide": "({0} / {1})",
    "power": "({0} ^ {1})",
    "float_power": "({0} ^ {1})",
    "less": "({0} < {1})",
    "less_equal": "({0} <= {1})",
    "greater": "({0} > {1})",
    "greater_equal": "({0} >= {1})",
    "equal": "({0} == {1})",
    "not_equal": "({0} != {1})",
    "logical_and": "({0} and {1})",
    "logical_or": "({0} or {1})",
    "bitwise_and": "({0} and {1})",
    "bitwise_or": "({0} or {1})",
    "maximum": "max({0}, {1})",
    "minimum": "min({0}, {1})",
    "hypot": "sqrt({0} ^ 2 + {1} ^ 2)",
    "logaddexp": "log_sum_exp({0}, {1})",
    "heaviside": "where({0} > 0, 1, where({0} == 0, {1}, 0))",
    "xlogy": "where({0} == 0, 0, {0} * log(where({0} == 0, 1, {1})))",
}
#: Arguments of a universal function that change nothing here.
HARMLESS = {"dtype", "casting", "order", "subok"}
SINC = "where({0} == 0, 1, sin(pi * {0}) / (pi * where({0} == 0, 1, {0})))"


def _operator(form: str, swapped: bool = False) -> Any:
    """An operator as a method, which spares the way through NumPy."""

    def call(self: Traced, other: Any) -> Any:
        tape = self.tape
        node = tape.node(other)
        args = (node, self.node) if swapped else (self.node, node)
        return Traced(tape, tape.apply(form, args))

    return call


class Traced(Recorded, NDArrayOperatorsMixin):
    """A value at every point, as a node."""

    __slots__ = ("tape",)
    __array_priority__ = 1e6

    def __init__(self, tape: Tape, node: Node) -> None:
        self.tape = tape
        self.node = node

    def form(self, form: str, *args: object) -> Traced:
        """A new value from a form."""
        node = self.tape.node
        return Traced(self.tape, self.tape.apply(form, tuple([node(a) for a in args])))

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object
    ) -> Traced:
        name = ufunc.__name__
        if method != "__call__":
            raise Untraceable(f"np.{name}.{method} goes over the points")
        if kwargs and not all(
            k in HARMLESS or (k == "where" and v is True) for k, v in kwargs.items()
        ):
            raise Untraceable(f"np.{name} with {', '.join(kwargs)}")
        form = UFUNCS.get(name)
        if form is None:
            raise Untraceable(f"`{name}` has no counterpart in a formula")
        return self.form(form, *inputs)

    def __array_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        call = FUNCTIONS.get(func.__name__)
        if call is None:
            raise Untraceable(f"np.{func.__name__} has no counterpart in a formula")
        return call(self, *args, **kwargs)

    __add__ = _operator(UFUNCS["add"])
    __radd__ = _operator(UFUNCS["add"], swapped=True)
    __sub__ = _operator(UFUNCS["subtract"])
    __rsub__ = _operator(UFUNCS["subtract"], swapped=True)
    __mul__ = _operator(UFUNCS["multiply"])
    __rmul__ = _operator(UFUNCS["multiply"], swapped=True)
    __truediv__ = _operator(UFUNCS["divide"])
    __rtruediv__ = _operator(UFUNCS["divide"], swapped=True)
    __pow__ = _operator(UFUNCS["power"])
    __rpow__ = _operator(UFUNCS["power"], swapped=True)

    def __neg__(self) -> Traced:
        return Traced(self.tape, self.tape.apply(UFUNCS["negative"], (self.node,)))

    # What arrays have, and a value at every point has, too.

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tape.shape

    @property
    def ndim(self) -> int:
        return len(self.tape.shape)

    @property
    def size(self) -> int:
        return self.tape.n

    @property
    def dtype(self) -> np.dtype[np.float64]:
        return np.dtype(float)

    @property
    def real(self) -> Traced:
        return self

    def astype(self, *_: object, **__: object) -> Traced:
        return self

    def copy(self, *_: object) -> Traced:
        return self

    def ravel(self, *_: object) -> Traced:
        return self

    flatten = ravel

    def squeeze(self, *_: object) -> Traced:
        return self

    def reshape(self, *shape: Any) -> Traced:
        if shape in ((-1,), ((-1,),), (self.tape.n,), ((self.tape.n,),), (self.tape.shape,)):
            return self
        raise Untraceable("the function changes the shape of its values")

    def clip(self, min: object = None, max: object = None) -> Traced:
        return _clip(self, self, min, max)

    def __getitem__(self, key: object) -> Traced:
        keys = key if isinstance(key, tuple) else (key,)
        if all(k is Ellipsis or (isinstance(k, slice) and k == slice(None)) for k in keys):
            return self
        raise Untraceable("the function picks single points")

    # What needs numbers that are not there.

    def __bool__(self) -> bool:
        if not self.tape.open:
            return False
        raise Untraceable(
            "the function branches (`if`, `while`, `and`, `max()`) on a value that depends on x or "
            "a parameter; write np.where(condition, a, b)"
        )

    def _number(self, *_: object) -> NoReturn:
        raise Untraceable(
            "the function makes a plain number of a value (math.exp, float(), int()); use NumPy's "
            "function of that name"
        )

    __float__ = __int__ = __complex__ = __index__ = _number

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise Untraceable(
            "the function hands a value to code that needs an array (np.array, np.asarray, "
            "compiled code)"
        )

    def __len__(self) -> NoReturn:
        raise Untraceable("the function asks for the number of points")

    def __iter__(self) -> NoReturn:
        raise Untraceable("the function loops over the points; write it for arrays")

    def __getattr__(self, name: str) -> NoReturn:
        raise NoAttribute(f"the function uses `.{name}` of a value")


class Rows:
    """x with further axes before that of the points: x[0], or a, b = x."""

    __slots__ = ("_parts",)

    def __init__(self, parts: np.ndarray[Any, Any]) -> None:
        self._parts = parts

    @staticmethod
    def _of(parts: Any) -> Any:
        return Rows(parts) if isinstance(parts, np.ndarray) and parts.ndim else _item(parts)

    def __getitem__(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        axes = self._parts.ndim + 1
        if Ellipsis in [k for k in keys if k is Ellipsis]:
            at = next(i for i, k in enumerate(keys) if k is Ellipsis)
            missing = axes - (len(keys) - 1)
            keys = (*keys[:at], *[slice(None)] * missing, *keys[at + 1 :])
        keys = (*keys, *[slice(None)] * (axes - len(keys)))
        last = keys[self._parts.ndim :]
        if last != (slice(None),):
            raise Untraceable("the function picks single points")
        return Rows._of(self._parts[keys[: self._parts.ndim]])

    def squeeze(self, *_: object) -> Any:
        return Rows._of(self._parts.squeeze())

    def __iter__(self) -> Iterator[Any]:
        return (Rows._of(part) for part in self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise Untraceable("the function computes with all columns of x at once")

    def __getattr__(self, name: str) -> NoReturn:
        raise NoAttribute(f"the function uses `.{name}` of all columns of x at once")


def _item(part: Any) -> Any:
    return part.item() if isinstance(part, np.ndarray) else part


def _where(self: Traced, condition: object, *values: object) -> Traced:
    if len(values) != 2:
        raise Untraceable("np.where without two values")
    return self.form("where({0}, {1}, {2})", condition, *values)


def _clip(self: Traced, a: object, low: object = None, high: object = None, **more: Any) -> Traced:
    low = more.pop("a_min", more.pop("min", low))
    high = more.pop("a_max", more.pop("max", high))
    if more:
        raise Untraceable(f"np.clip with {', '.join(more)}")
    out = a
    if low is not None:
        out = self.form("max({0}, {1})", out, low)
    if high is not None:
        out = self.form("min({0}, {1})", out, high)
    return self.form("({0})", out)


def _piecewise(
    self: Traced, x: object, conditions: Any, functions: Any, *args: Any, **kwargs: Any
) -> Traced:
    conditions = conditions if isinstance(conditions, (list, tuple)) else [conditions]

    def value(f: Any) -> Any:
        return f(x, *args, **kwargs) if callable(f) else f

    out: Any = value(functions[-1]) if len(functions) == len(conditions) + 1 else 0.0
    # The last condition that holds decides.
    for condition, f in zip(conditions, functions):
        out = self.form("where({0}, {1}, {2})", condition, value(f), out)
    return self.form("({0})", out)


def _select(self: Traced, conditions: Any, choices: Any, default: object = 0) -> Traced:
    out = default
    # The first condition that holds decides.
    for condition, choice in reversed(list(zip(conditions, choices))):
        out = self.form("where({0}, {1}, {2})", condition, choice, out)
    return self.form("({0})", out)


def _polyval(self: Traced, p: Any, x: object) -> Any:
    out: Any = 0.0
    for c in p:
        out = out * x + c
    return out


def _same(self: Traced, a: Any, *_: object, **__: object) -> Any:
    return a


def _filled(value: float) -> Callable[..., float]:
    return lambda self, *_, **__: value


def _full_like(self: Traced, a: object, fill_value: Any, **_: object) -> Any:
    return fill_value


#: Functions of NumPy that are no universal functions.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": _where,
    "clip": _clip,
    "piecewise": _piecewise,
    "select": _select,
    "polyval": _polyval,
    "sinc": lambda self, x: self.form(SINC, x),
    "ravel": _same,
    "squeeze": _same,
    "copy": _same,
    "real": _same,
    "zeros_like": _filled(0.0),
    "ones_like": _filled(1.0),
    "full_like": _full_like,
    "shape": lambda self, a: self.shape,
    "ndim": lambda self, a: self.ndim,
    "size": lambda self, a: self.size,
}
