"""Python functions of (x, *parameters) as formulas.

The function is called once with values that record what is done to them. What comes out is a
formula in the language of curves, of which Fitzroy makes exact derivatives and machine code.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arguments import needed_names, parameter_names, safe_names
from .jax_calls import in_float64, trace_jax
from .memory import identity
from .nodes import Node, Tape, Untraceable, formula
from .numpy_calls import Rows, Traced

__all__ = [
    "Trace",
    "Untraceable",
    "identity",
    "in_float64",
    "needed_names",
    "parameter_names",
    "points_shape",
    "trace",
]


@dataclass(frozen=True)
class Trace:
    """A function as a formula."""

    #: The formula, with `let` for what is used more than once.
    text: str
    #: The columns that it reads, float64 and contiguous, by name.
    columns: dict[str, np.ndarray[Any, Any]]
    #: What the parameters are called in it, in their order.
    parameters: list[str]
    #: Whether columns are read that do not come from x.
    closes_over_columns: bool


def points_shape(x: np.ndarray[Any, Any], n: int) -> tuple[int, ...]:
    """The trailing axes of x that run over the n points."""
    for axes in range(1, x.ndim + 1):
        shape: tuple[int, ...] = x.shape[x.ndim - axes :]
        if math.prod(shape) == n:
            return shape
    raise Untraceable(f"x of shape {x.shape} has no axes that run over the {n} points of y")


def trace(f: Callable[..., Any], x: Any, n: int, names: Sequence[str]) -> Trace:
    """The formula of f(x, *names) at the `n` points of x.

    Raises Untraceable, with the reason, for a function that has none.
    """
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "fiub":
        raise Untraceable("x is not an array of numbers")
    shape = points_shape(x, n)
    safe = safe_names(names)
    lead = x.shape[: x.ndim - len(shape)]
    own = _column_names(lead, set(safe))
    tape = Tape(shape, {*safe, *own})
    try:
        root = tape.node(f(_leaves(tape, lead, own), *[Traced(tape, Node(p)) for p in safe]))
    except Exception as error:
        tape.open = False
        if not _of_jax(error):
            raise _reason(error) from error
        tape = Tape(shape, {*safe, *own})
        rows = np.empty(lead, dtype=object)
        for place, name in zip(np.ndindex(lead), own):
            rows[place] = Node(name)
        try:
            root = trace_jax(f, x, rows, tape, safe)
        except Untraceable:
            raise
        except Exception:
            raise _reason(error) from error
    tape.open = False
    text = formula(root, tape)
    columns = {name: _column(part) for name, part in zip(own, x.reshape(-1, n))}
    for name, values in tape.columns.items():
        columns[name] = _column(values)
    return Trace(text, columns, safe, bool(tape.columns))


def _leaves(tape: Tape, lead: tuple[int, ...], names: list[str]) -> Any:
    """x as the function sees it."""
    if not lead:
        return Traced(tape, Node(names[0]))
    leaves = np.empty(lead, dtype=object)
    for place, name in zip(np.ndindex(lead), names):
        leaves[place] = Traced(tape, Node(name))
    return Rows(leaves)


def _column(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(values, dtype=float).reshape(-1)


def _of_jax(error: Exception) -> bool:
    """Whether code of JAX met a value that it does not know."""
    if "jax" not in sys.modules:
        return False
    frame = error.__traceback__
    while frame is not None:
        if str(frame.tb_frame.f_globals.get("__name__", "")).partition(".")[0] == "jax":
            return True
        frame = frame.tb_next
    return "jax" in str(error).lower() or "abstract array" in str(error)


def _reason(error: Exception) -> Untraceable:
    if isinstance(error, Untraceable):
        return error
    return Untraceable(f"{type(error).__name__}: {error}")


def _column_names(lead: tuple[int, ...], taken: set[str]) -> list[str]:
    """Names for the columns of x."""
    n = math.prod(lead)
    stem = "x"
    while True:
        names = [stem] if not lead else [f"{stem}{k}" for k in range(n)]
        if not taken.intersection(names):
            return names
        stem += "_"
