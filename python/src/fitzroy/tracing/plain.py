"""Python's own functions of numbers, which a trace has values for that record: `float(a)`, `max(a, b)`,
`math.exp(a)`."""

from __future__ import annotations

import builtins
import dis
import math
from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from .numpy_calls import ONE, Traced

__all__ = ["counterpart", "recording"]

#: NumPy's functions for those of `math`.
OF_MATH = {
    **{
        name: name
        for name in (
            "exp log log1p expm1 log2 log10 sqrt sin cos tan sinh cosh tanh floor ceil degrees "
            "radians hypot fabs cbrt exp2"
        ).split()
    },
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "pow": "power",
}
#: Functions that call functions, at most.
DEEPEST = 4
#: What writes into a function's globals, of which a copy would not keep it.
WRITES = ("STORE_GLOBAL", "DELETE_GLOBAL")

_writes: dict[CodeType, bool] = {}


def recording(f: Callable[..., Any], depth: int = 0) -> Callable[..., Any]:
    """The function, with others in the place of Python's own functions of numbers; in functions of
    its module that it calls, too."""
    if type(f) is MethodType:
        return MethodType(recording(f.__func__, depth), f.__self__)
    if type(f) is partial:
        return partial(recording(f.func, depth), *f.args, **f.keywords)
    if type(f) is not FunctionType or depth > DEEPEST or _changes_globals(f.__code__):
        return f
    scope = f.__globals__
    found = {}
    for name in _names(f.__code__):
        value = scope.get(name, getattr(builtins, name, None))
        put = _OWN.get(id(value))
        if put is not None and put[0] is value:
            found[name] = put[1]
        elif type(value) is FunctionType and value.__globals__ is scope and value is not f:
            own = recording(value, depth + 1)
            if own is not value:
                found[name] = own
    if not found:
        return f
    out = FunctionType(f.__code__, {**scope, **found}, f.__name__, f.__defaults__, f.__closure__)
    out.__kwdefaults__ = f.__kwdefaults__
    return out


def _names(code: CodeType) -> set[str]:
    """Names that the code, or one within it, may look up."""
    out = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            out |= _names(constant)
    return out


def _changes_globals(code: CodeType) -> bool:
    known = _writes.get(code)
    if known is None:
        if len(_writes) > 1024:
            _writes.clear()
        within = [c for c in code.co_consts if isinstance(c, CodeType)]
        known = any(step.opname in WRITES for step in dis.get_instructions(code))
        known = _writes[code] = known or any(map(_changes_globals, within))
    return known


def _one(value: object) -> bool:
    """Whether a value is a number that records."""
    return isinstance(value, Traced) and value.at is ONE


def _float(value: Any = 0.0) -> Any:
    return value.astype(float) if _one(value) else float(value)


def _extreme(own: Callable[..., Any], name: str) -> Callable[..., Any]:
    def call(*args: Any, **more: Any) -> Any:
        if more or len(args) < 2 or not any(map(_one, args)):
            return own(*args, **more)
        out = args[0]
        for other in args[1:]:
            made = out if isinstance(out, Traced) else other
            out = made.apply(name, (out, other)) if isinstance(made, Traced) else own(out, other)
        return out

    return call


def _of_math(name: str) -> Callable[..., Any]:
    own, there = getattr(math, name), getattr(np, OF_MATH[name])

    def call(*args: Any) -> Any:
        return there(*args) if any(map(_one, args)) and len(args) == there.nin else own(*args)

    return call


class _Math(ModuleType):
    """The module `math`, of numbers that record."""

    def __getattr__(self, name: str) -> Any:
        return _FUNCTIONS.get(name) or getattr(math, name)


_FUNCTIONS = {name: _of_math(name) for name in OF_MATH if hasattr(math, name)}
_PAIRS: list[tuple[Any, Any]] = [
    (float, _float),
    (max, _extreme(max, "maximum")),
    (min, _extreme(min, "minimum")),
    (math, _Math("math")),
    *[(getattr(math, name), call) for name, call in _FUNCTIONS.items()],
]
#: What stands for what, by its id.
_OWN = {id(own): (own, put) for own, put in _PAIRS}


def counterpart(f: Callable[..., Any]) -> Callable[..., Any]:
    """What does the same of numbers as a function of Python's own, and of values that record, too;
    the function itself where there is none."""
    known = _OWN.get(id(f))
    return known[1] if known is not None and known[0] is f else f
