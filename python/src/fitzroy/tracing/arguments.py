"""Names of the parameters of a function, and names that a formula can use for them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from .nodes import RESERVED

__all__ = ["needed_names", "parameter_names", "safe_names"]

UNKNOWN = "Unable to determine number of fit parameters."
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def parameter_names(f: Callable[..., Any], n_p0: int | None) -> list[str]:
    """Names of what `f` takes after x; `p0`, `p1`, ... where they have none.

    `n_p0` is the length of p0, which decides for functions that take any number of parameters, and
    for those whose last ones have defaults.
    """
    if isinstance(f, FunctionType) and not hasattr(f, "__wrapped__"):
        code = f.__code__
        if not code.co_flags & inspect.CO_VARARGS:
            return _as_many(list(code.co_varnames[1 : code.co_argcount]), n_p0)
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError) as error:
        if n_p0 is None:
            raise ValueError(UNKNOWN) from error
        return [f"p{k}" for k in range(n_p0)]
    parameters = list(signature.parameters.values())
    return _as_many([p.name for p in parameters if p.kind in POSITIONAL][1:], n_p0)


def _as_many(names: list[str], n_p0: int | None) -> list[str]:
    if n_p0 is None:
        if not names:
            raise ValueError(UNKNOWN)
        return names
    names += [f"p{k}" for k in range(len(names), n_p0)]
    return names[:n_p0]


def needed_names(f: Callable[..., Any]) -> list[str]:
    """Names of what `f` takes after x and has no default for."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return []
    given = [p for p in parameters if p.kind in POSITIONAL][1:]
    return [p.name for p in given if p.default is inspect.Parameter.empty]


def safe_names(names: Sequence[str]) -> list[str]:
    """The names, changed where the language of formulas has another use for them."""
    taken: set[str] = set(names)
    if len(taken) == len(names) and not any(n in RESERVED or n[0] == "_" for n in names):
        return list(names)
    taken = set()
    out = []
    for name in names:
        safe = name.strip("_") if name.startswith("_") else name
        if (
            not safe
            or safe in RESERVED
            or safe.startswith("_")
            or safe[0].isdigit()
            or safe in taken
        ):
            safe = f"p_{safe}"
        while safe in taken or (safe != name and safe in names):
            safe += "_"
        taken.add(safe)
        out.append(safe)
    return out
