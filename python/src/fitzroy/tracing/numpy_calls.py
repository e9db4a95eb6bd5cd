"""Arguments of a function that record what NumPy would compute."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .kinds import kind_beside, kind_of, rank, typed
from .nodes import Deferred, NoAttribute, Node, Recorded, Tape, Untraceable

__all__ = ["ONE", "Traced"]

#: Universal functions of NumPy and scipy.special, as forms of a formula.
UFUNCS: dict[str, str] = {
    **{
        name: name + "({0})"
        for name in (
            "exp log log1p expm1 log2 log10 sqrt square sin cos tan sinh cosh tanh erf erfc erfcx "
            "erfinv logit log_ndtr ndtr floor ceil sign cbrt i0 i0e i1 j0 j1 gamma"
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
    "voigt_profile": "voigt_profile({0}, {1}, {2})",
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
HARMLESS = {"casting", "order", "subok"}
#: Where a value is: a number is nowhere, an array at all points.
ONE, ALL = "one", "all"
SINC = "where({0} == 0, 1, sin(pi * {0}) / (pi * where({0} == 0, 1, {0})))"


def _operator(name: str, swapped: bool = False) -> Any:
    """An operator as a method, which spares the way through NumPy."""
    form = UFUNCS[name]

    def call(self: Traced, other: Any) -> Any:
        kind = type(other)
        if isinstance(other, Deferred):
            return NotImplemented
        if self.kind != "f" or not (kind is float or (kind is Traced and other.kind == "f")):
            return self.apply(name, (other, self) if swapped else (self, other))
        tape = self.tape
        node = tape.node(other)
        args = (node, self.node) if swapped else (self.node, node)
        at = self.at if kind is float else _common(self.at, other.at)
        return Traced(tape, tape.apply(form, args), at)

    return call


def _in_place(name: str) -> Any:
    """An operator that changes an array, and gives a number a new value."""

    def call(self: Traced, other: Any) -> Any:
        other = operator.add(0.0, other) if isinstance(other, Deferred) else other
        return self.put(self.apply(name, (self, other)))

    return call


def _common(a: object, b: object) -> Any:
    """Where the result of an operation on values at `a` and at `b` is."""
    if a is ONE:
        return b
    if b is ONE or a is b:
        return a
    if isinstance(a, Node) and isinstance(b, Node) and a.same(b):
        return a
    raise Untraceable("the function combines values at some points with those at others")


class Traced(Recorded, NDArrayOperatorsMixin):
    """A number, or a value at every point or at some, as a node."""

    __slots__ = ("at", "given", "kind", "tape")
    __array_priority__ = 1e6

    def __init__(
        self, tape: Tape, node: Node, at: Any = ALL, kind: str = "f", given: bool = False
    ) -> None:
        self.tape = tape
        self.node = node
        #: ONE for a number, ALL for an array over all points, a condition for one over some.
        self.at = at
        #: As NumPy's: `f` for float64, `i` for an integer, `b` for a truth value.
        self.kind = kind
        #: Whether this is x itself, which is not to be changed.
        self.given = given

    def form(self, form: str, *args: object, kind: str = "f") -> Traced:
        """A new value from a form."""
        node = self.tape.node
        at: Any = ONE
        for a in args:
            at = _common(at, self.place(a))
        return Traced(self.tape, self.tape.apply(form, tuple([node(a) for a in args])), at, kind)

    def place(self, value: object) -> Any:
        """Where a value is."""
        if isinstance(value, Traced):
            return value.at
        return ONE if np.ndim(value) == 0 or np.size(value) == 1 else ALL  # type: ignore[arg-type]

    def apply(self, name: str, args: tuple[object, ...]) -> Traced:
        """The result of one of NumPy's universal functions."""
        known = UFUNCS.get(name)
        form, kind = typed(name, known, [_kind(a) for a in args])
        if form is None:
            raise Untraceable(f"`{name}` has no counterpart in a formula")
        return self.form(form, *args, kind=kind)

    def put(self, value: Any) -> Traced:
        """What a change in place makes of this."""
        if self.at is ONE:
            return value  # type: ignore[no-any-return]
        value = self.fresh(value)
        if self.given:
            raise Untraceable("the function changes its x in place")
        if value.at is not ONE:
            _common(self.at, value.at)
        if (
            value.at is ALL
            and self.at is not ALL
            or rank(value.kind) > rank(self.kind)
        ):
            raise Untraceable("the function changes an array to values that it cannot hold")
        self.node = value.node
        return self

    def fresh(self, value: Any = None, kind: str | None = None) -> Traced:
        """A copy, or another value as one of these."""
        value = self if value is None else value
        if isinstance(value, Traced):
            return Traced(self.tape, value.node, value.at, kind or value.kind)
        return Traced(self.tape, self.tape.node(value), self.place(value), kind or _kind(value))

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object
    ) -> Any:
        if any(isinstance(value, Deferred) for value in inputs):
            return NotImplemented
        name = ufunc.__name__
        if method != "__call__":
            raise Untraceable(f"np.{name}.{method} goes over the points")
        out = kwargs.pop("out", None)
        if kwargs and not all(
            k in HARMLESS or (k == "where" and v is True) or (k == "dtype" and v in (None, float))
            for k, v in kwargs.items()
        ):
            raise Untraceable(f"np.{name} with {', '.join(kwargs)}")
        found = self.apply(name, inputs)
        if out is None:
            return found
        if len(out) != 1 or not isinstance(out[0], Traced) or out[0].at is ONE:  # type: ignore[arg-type, index]
            raise Untraceable(f"np.{name} with out")
        return out[0].put(found)  # type: ignore[index]

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

    __add__ = _operator("add")
    __radd__ = _operator("add", swapped=True)
    __sub__ = _operator("subtract")
    __rsub__ = _operator("subtract", swapped=True)
    __mul__ = _operator("multiply")
    __rmul__ = _operator("multiply", swapped=True)
    __truediv__ = _operator("divide")
    __rtruediv__ = _operator("divide", swapped=True)
    __pow__ = _operator("power")
    __rpow__ = _operator("power", swapped=True)
    __iadd__ = _in_place("add")
    __isub__ = _in_place("subtract")
    __imul__ = _in_place("multiply")
    __itruediv__ = _in_place("divide")
    __ipow__ = _in_place("power")

    def __neg__(self) -> Traced:
        return self.apply("negative", (self,))

    # What arrays have, and a value at every point has, too.

    @property
    def shape(self) -> tuple[int, ...]:
        if self.at is ONE:
            return ()
        if self.at is ALL:
            return self.tape.shape
        raise Untraceable("the function asks how many points fulfil a condition")

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype({"f": float, "i": int, "b": bool}[self.kind])

    @property
    def real(self) -> Traced:
        return self

    def astype(self, dtype: Any, *_: object, **__: object) -> Traced:
        kind = kind_of(dtype)
        if rank(kind) >= rank(self.kind):
            return self.fresh(kind=kind)
        if kind == "b":
            return self.apply("not_equal", (self, 0))
        return self.form(UFUNCS["trunc"], self, kind="i")

    def copy(self, *_: object) -> Traced:
        return self.fresh()

    flatten = copy

    def ravel(self, *_: object) -> Traced:
        return self

    def squeeze(self, *_: object) -> Traced:
        return self

    def reshape(self, *shape: Any, **_: object) -> Traced:
        if self.at is ALL:
            n, whole = self.tape.n, self.tape.shape
            if shape in ((-1,), ((-1,),), (n,), ((n,),), (whole,), whole):
                return self
        raise Untraceable("the function changes the shape of its values")

    def clip(self, min: object = None, max: object = None) -> Traced:
        return _clip(self, self, min, max)

    def __getitem__(self, key: object) -> Traced:
        keys = key if isinstance(key, tuple) else (key,)
        if all(k is Ellipsis or (isinstance(k, slice) and k == slice(None)) for k in keys):
            return self
        return self.form(
            "({0})", Traced(self.tape, self.node, self._condition(key)), kind=self.kind
        )

    def __setitem__(self, key: object, value: object) -> None:
        if self.at is ONE:
            raise TypeError("'float' object does not support item assignment")
        if isinstance(key, slice) and key == slice(None) or key is Ellipsis:
            new = self.fresh(value)
        else:
            at, new = self._condition(key), self.fresh(value)
            if new.at is not ONE:
                _common(at, new.at)
            node = self.tape.apply("where({0}, {1}, {2})", (at, new.node, self.node))
            new = Traced(self.tape, node, self.at, new.kind)
        if self.kind == "i" and new.kind == "f" or self.kind == "b" and new.kind != "b":
            raise Untraceable("the function puts numbers into an array that cannot hold them")
        self.put(Traced(self.tape, new.node, new.at, self.kind))

    def _condition(self, key: object) -> Node:
        """The condition by which some points are picked."""
        if isinstance(key, Traced):
            if key.kind == "b" and key.at is ALL and self.at is ALL:
                return key.node
        elif isinstance(key, np.ndarray) and key.dtype == bool and key.shape == self.tape.shape:
            if self.at is ALL and key.size > 1:
                return self.tape.column(key)
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

    @property
    def __array__(self) -> Callable[..., NoReturn]:
        if self.at is ONE:
            raise AttributeError("a number is an element of arrays of objects")
        return self._array

    def _array(self, *_: object, **__: object) -> NoReturn:
        raise Untraceable(
            "the function hands a value to code that needs an array (np.array, np.asarray, "
            "compiled code)"
        )

    def __len__(self) -> int:
        if self.at is ONE:
            raise TypeError("object of type 'float' has no len()")
        raise Untraceable("the function asks for the number of points")

    def __iter__(self) -> NoReturn:
        raise Untraceable("the function loops over the points; write it for arrays")

    def __getattr__(self, name: str) -> Any:
        if self.at is ONE and name in UFUNCS:
            # By which NumPy computes with an array of objects.
            return lambda: self.apply(name, (self,))
        raise NoAttribute(f"the function uses `.{name}` of a value")


def _kind(value: object) -> str:
    """The kind of a value that an operation has as an argument."""
    if isinstance(value, Traced):
        return value.kind
    kind = type(value)
    if kind is float:
        return "f"
    if kind is int:
        return "i"
    return kind_beside(np.asarray(value).dtype)


def _wider(*values: object) -> str:
    """The kind that holds all of these."""
    return max((_kind(v) for v in values), key=rank)


def _where(self: Traced, condition: object, *values: object) -> Traced:
    if len(values) != 2:
        raise Untraceable("np.where without two values")
    return self.form("where({0}, {1}, {2})", condition, *values, kind=_wider(*values))


def _clip(self: Traced, a: object, low: object = None, high: object = None, **more: Any) -> Traced:
    low = more.pop("a_min", more.pop("min", low))
    high = more.pop("a_max", more.pop("max", high))
    if more:
        raise Untraceable(f"np.clip with {', '.join(more)}")
    out = a
    if low is not None:
        out = self.apply("maximum", (out, low))
    if high is not None:
        out = self.apply("minimum", (out, high))
    return self.fresh(out)


def _piecewise(
    self: Traced, x: object, conditions: Any, functions: Any, *args: Any, **kwargs: Any
) -> Traced:
    conditions = conditions if isinstance(conditions, (list, tuple)) else [conditions]

    def value(f: Any) -> Any:
        return f(x, *args, **kwargs) if callable(f) else f

    if _kind(x) != "f":
        raise Untraceable("np.piecewise of integers")
    out: Any = value(functions[-1]) if len(functions) == len(conditions) + 1 else 0.0
    # The last condition that holds decides.
    for condition, f in zip(conditions, functions):
        out = self.form("where({0}, {1}, {2})", condition, value(f), out)
    return self.fresh(out)


def _select(self: Traced, conditions: Any, choices: Any, default: object = 0) -> Traced:
    out, kind = default, _wider(default, *choices)
    # The first condition that holds decides.
    for condition, choice in reversed(list(zip(conditions, choices))):
        out = self.form("where({0}, {1}, {2})", condition, choice, out, kind=kind)
    return self.fresh(out)


def _polyval(self: Traced, p: Any, x: object) -> Any:
    out: Any = 0.0
    for c in p:
        out = out * x + c
    return out


def _same(self: Traced, a: Any, *_: object, **__: object) -> Any:
    return a


def _copy(self: Traced, a: Any, *_: object, **__: object) -> Any:
    return self.fresh(a)


def _filled(value: float) -> Callable[..., Traced]:
    return lambda self, a, **more: _full_like(self, a, value, **more)


def _full_like(
    self: Traced, a: Any, fill_value: Any, dtype: Any = None, shape: Any = None, **_: object
) -> Traced:
    if not isinstance(a, Traced) or shape is not None:
        raise Untraceable("an array of another shape than that of the points")
    kind = a.kind if dtype is None else kind_of(dtype)
    if rank(_kind(fill_value)) > rank(kind) and not isinstance(fill_value, float):
        raise Untraceable("the function puts numbers into an array that cannot hold them")
    if kind != "f":
        fill_value = int(fill_value) if kind == "i" else bool(fill_value)
    found = self.fresh(fill_value)
    return Traced(self.tape, found.node, a.at, kind)


#: Functions of NumPy that are no universal functions.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": _where,
    "clip": _clip,
    "piecewise": _piecewise,
    "select": _select,
    "polyval": _polyval,
    "sinc": lambda self, x: self.form(SINC, x),
    "empty_like": _filled(0.0),
    "atleast_1d": _same,
    "ravel": _same,
    "squeeze": _same,
    "copy": _copy,
    "real": _same,
    "zeros_like": _filled(0.0),
    "ones_like": _filled(1.0),
    "full_like": _full_like,
    "shape": lambda self, a: a.shape,
    "ndim": lambda self, a: a.ndim,
    "size": lambda self, a: a.size,
}
