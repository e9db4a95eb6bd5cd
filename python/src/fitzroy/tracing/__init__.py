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
from .jax_calls import in_float64, trace_jax, trace_jax_at
from .memory import identity
from .nodes import Node, Tape, Untraceable, formula
from .numpy_calls import ONE, Traced
from .plain import recording
from .rows import Rows

__all__ = [
    "Trace",
    "Untraceable",
    "identity",
    "in_float64",
    "needed_names",
    "parameter_names",
    "point_axes",
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
    #: Whether it holds at this x alone: it has numbers made of x, or columns that are not of x.
    of_this_x: bool


def point_axes(x: Any, n: int) -> range:
    """The axes of x that run over the n points: the last ones, or one that has their number."""
    shape = np.shape(x)
    for axes in range(1, len(shape) + 1):
        if math.prod(shape[-axes:]) == n:
            return range(-axes, 0)
    for axis, size in enumerate(shape):
        if size == n:
            return range(axis, axis + 1)
    return range(-1, 0)


def trace(f: Callable[..., Any], x: Any, n: int, names: Sequence[str]) -> Trace:
    """The formula of f(x, *names) at the `n` points of x.

    Where x is only read by NumPy's counterparts, the formula is one for any x. Else the function
    gets x itself, and what it computes of it alone becomes numbers and columns.

    Raises Untraceable, with the reason, for a function that has none.
    """
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "fiub":
        raise Untraceable("x is not an array of numbers")
    f, safe = recording(f), safe_names(names)
    if math.prod(x.shape[axis] for axis in point_axes(x, n)) != n:
        raise Untraceable(f"x of shape {x.shape} has no axes that run over the {n} points of y")
    if point_axes(x, n)[0] >= 0:
        try:
            return _for_this_x(f, x, n, safe)
        except Exception as error:
            raise _reason(error) from error
    try:
        return _for_any_x(f, x, n, safe)
    except Untraceable as reason:
        try:
            return _for_this_x(f, x, n, safe)
        except Exception:
            raise reason from None


def _for_any_x(f: Callable[..., Any], x: np.ndarray[Any, Any], n: int, safe: list[str]) -> Trace:
    shape = tuple(x.shape[axis] for axis in point_axes(x, n))
    lead = x.shape[: x.ndim - len(shape)]
    own = _column_names(lead, set(safe))
    tape = Tape(shape, {*safe, *own})
    try:
        root = tape.node(f(_leaves(tape, lead, own), *_parameters(tape, safe)))
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


def _for_this_x(f: Callable[..., Any], x: np.ndarray[Any, Any], n: int, safe: list[str]) -> Trace:
    shape = tuple(x.shape[axis] for axis in point_axes(x, n))
    tape = Tape(shape, set(safe))
    try:
        root = tape.node(f(x.copy(), *_parameters(tape, safe)))
    except Exception as error:
        tape.open = False
        if not _of_jax(error):
            raise
        tape = Tape(tape.shape, set(safe))
        root = trace_jax_at(f, x, tape, safe)
    tape.open = False
    text = formula(root, tape)
    columns = {name: _column(values) for name, values in tape.columns.items()}
    if not columns:
        columns = {tape.free_name("column"): np.zeros(n)}  # of which the points are counted
    return Trace(text, columns, safe, True)


def _parameters(tape: Tape, names: list[str]) -> list[Traced]:
    return [Traced(tape, Node(name), ONE) for name in names]


def _leaves(tape: Tape, lead: tuple[int, ...], names: list[str]) -> Any:
    """x as the function sees it."""
    if not lead:
        return Traced(tape, Node(names[0]), given=True)
    leaves = np.empty(lead, dtype=object)
    for place, name in zip(np.ndindex(lead), names):
        leaves[place] = Traced(tape, Node(name), given=True)
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
