"""When the trace of a function is that of an earlier call.

A trace depends on the code of a function and on what it reads besides its arguments. Where all of
that is known to be the same, it need not be made again; where anything else is read, it is.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from .numpy_calls import FUNCTIONS, UFUNCS

__all__ = ["identity"]

#: Packages whose functions do the same at every call.
TRUSTED = frozenset(("numpy", "math", "jax", "scipy"))
#: What is read of these packages, or of an array: functions that a trace knows, and constants.
ATTRIBUTES = (
    frozenset(UFUNCS)
    | frozenset(FUNCTIONS)
    | frozenset(
        "abs acos asin atan acosh asinh atanh atan2 pow pi e inf newaxis T shape size".split()
    )
    | frozenset("nn special numpy math sigmoid softplus relu ndim float64 float32 asarray".split())
)
#: Python's own functions that look at nothing but their arguments.
BUILTINS = frozenset("abs float int len max min pow range round sum tuple zip enumerate".split())
#: Steps of a function that change or bring in something.
CHANGES = (
    "STORE_GLOBAL",
    "DELETE_GLOBAL",
    "IMPORT_NAME",
    "STORE_DEREF",
    "STORE_ATTR",
    "YIELD_VALUE",
)
#: Functions that call functions, at most.
DEEPEST = 4
#: Codes that are remembered.
REMEMBERED = 1024

#: Names of globals that a code reads; none for one that reads or changes more.
_reads: dict[CodeType, tuple[str, ...] | None] = {}


def identity(f: Callable[..., Any], depth: int = 0) -> tuple[Any, ...] | None:
    """What a trace of `f` depends on, to be compared; none if that cannot be told."""
    inner = getattr(f, "__wrapped__", None)
    if inner is not None and type(f).__module__.partition(".")[0] in ("jaxlib", "jax"):
        f = inner  # of `jax.jit`
    if type(f) is not FunctionType or depth > DEEPEST:
        return None
    code = f.__code__
    try:
        names = _reads[code]
    except KeyError:
        if len(_reads) >= REMEMBERED:
            _reads.clear()
        names = _reads[code] = _globals_of(code)
    if names is None or f.__kwdefaults__:
        return None
    out: list[Any] = [code]
    scope = f.__globals__
    for name in names:
        value = scope[name] if name in scope else getattr(builtins, name, None)
        if not _add(out, value, depth):
            return None
    for cell in f.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:
            return None
        if not _add(out, value, depth):
            return None
    for value in f.__defaults__ or ():
        if not _add(out, value, depth):
            return None
    return tuple(out)


def _add(out: list[Any], value: Any, depth: int) -> bool:
    """Adds what a value is; false for one that may change, or that nobody knows."""
    kind = type(value)
    if kind is ModuleType:
        if value.__name__.partition(".")[0] not in TRUSTED:
            return False
        out.append(value)
    elif kind in (int, float, bool, str) or value is None:
        out.append((kind, repr(value)))
    elif kind is FunctionType and _package(value) not in TRUSTED:
        inner = identity(value, depth + 1)
        if inner is None:
            return False
        out.append(inner)
    elif kind is np.ufunc or (kind is BuiltinFunctionType and value.__name__ in BUILTINS):
        out.append(value)
    elif getattr(value, "__name__", None) in ATTRIBUTES and _package(value) in TRUSTED:
        out.append(value)
    elif kind is type and value.__name__ in BUILTINS and value.__module__ == "builtins":
        out.append(value)
    else:
        return False
    return True


def _package(value: Any) -> str:
    return str(getattr(value, "__module__", None)).partition(".")[0]


def _globals_of(code: CodeType) -> tuple[str, ...] | None:
    found: dict[str, None] = {}
    for step in dis.get_instructions(code):
        if step.opname in CHANGES:
            return None
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            found[step.argval] = None
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and step.argval not in ATTRIBUTES:
            return None
        elif isinstance(step.argval, CodeType):
            inner = _globals_of(step.argval)
            if inner is None:
                return None
            found.update(dict.fromkeys(inner))
    return tuple(found)
