"""Functions written with jax.numpy: JAX's own trace, read as a formula."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .nodes import Node, Tape, Untraceable

__all__ = ["in_float64", "trace_jax"]

#: Primitives of JAX as forms.
PRIMITIVES: dict[str, str] = {
    **{
        name: name + "({0})"
        for name in (
            "exp log log1p expm1 sqrt square abs sin cos tan asin acos atan sinh cosh tanh asinh "
            "acosh atanh erf erfc lgamma digamma sign cbrt floor ceil"
        ).split()
    },
    "logistic": "inv_logit({0})",
    "neg": "(-{0})",
    "rsqrt": "(1 / sqrt({0}))",
    "exp2": "(2 ^ {0})",
    "erf_inv": "erfinv({0})",
    "bessel_i0e": "i0e({0})",
    "is_finite": "({0} - {0} == 0)",
    "not": "(not {0})",
    "add": "({0} + {1})",
    "add_any": "({0} + {1})",
    "sub": "({0} - {1})",
    "mul": "({0} * {1})",
    "div": "({0} / {1})",
    "pow": "({0} ^ {1})",
    "atan2": "atan2({0}, {1})",
    "max": "max({0}, {1})",
    "min": "min({0}, {1})",
    "lt": "({0} < {1})",
    "le": "({0} <= {1})",
    "gt": "({0} > {1})",
    "ge": "({0} >= {1})",
    "eq": "({0} == {1})",
    "ne": "({0} != {1})",
    "and": "({0} and {1})",
    "or": "({0} or {1})",
    "select_n": "where({0}, {2}, {1})",
    "clamp": "min(max({1}, {0}), {2})",
}
#: Primitives that change nothing of a value at a point.
SAME = frozenset(
    "convert_element_type broadcast_in_dim squeeze reshape copy copy_p stop_gradient expand_dims "
    "reduce_precision device_put".split()
)
#: Primitives that hold a program of their own.
NESTED = frozenset(
    "pjit jit closed_call core_call custom_jvp_call custom_vjp_call remat checkpoint".split()
)


def in_float64() -> Any:
    """A context in which JAX computes in float64, if it is there."""
    jax = sys.modules.get("jax")
    if jax is None:
        return contextlib.nullcontext()
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    from jax.experimental import enable_x64  # where it was before JAX 0.8

    return enable_x64()


def trace_jax(
    f: Callable[..., Any], x: Any, rows: np.ndarray[Any, Any], tape: Tape, names: Sequence[str]
) -> Node:
    """The node of f(x, *names); `rows` are nodes of x by its leading axes."""
    import jax

    with in_float64():
        closed = jax.make_jaxpr(f)(x, *[1.0] * len(names))
    first: Any = rows if rows.ndim else rows.item()
    found = _run(closed.jaxpr, closed.consts, [first, *[Node(n) for n in names]], tape)
    if len(found) != 1 or not isinstance(found[0], Node):
        raise Untraceable("the function returns something else than one value at each point")
    return found[0]


def _run(jaxpr: Any, consts: Any, args: Sequence[Any], tape: Tape) -> list[Any]:
    known: dict[Any, Any] = {}

    def read(v: Any) -> Any:
        return tape.node(np.asarray(v.val)) if hasattr(v, "val") else known[v]

    for v, c in zip(jaxpr.constvars, consts):
        known[v] = tape.node(np.asarray(c))
    known.update(zip(jaxpr.invars, args))
    for equation in jaxpr.eqns:
        values = _apply(equation, [read(v) for v in equation.invars], tape)
        known.update(zip(equation.outvars, values))
    return [read(v) for v in jaxpr.outvars]


def _apply(equation: Any, args: list[Any], tape: Tape) -> list[Any]:
    name, given = equation.primitive.name, equation.params
    if name in NESTED:
        inner = given.get("jaxpr") or given.get("call_jaxpr") or given.get("fun_jaxpr")
        return _run(getattr(inner, "jaxpr", inner), getattr(inner, "consts", []), args, tape)
    rows = args[0] if args else None
    if isinstance(rows, np.ndarray):
        return [_rows(name, given, rows, args)]
    if any(isinstance(a, np.ndarray) for a in args):
        raise Untraceable("the function computes with all columns of x at once")
    if name in SAME:
        return [args[0]]
    if name == "integer_pow":
        return [tape.apply(f"({{0}} ^ ({given['y']}))", (args[0],))]
    form = PRIMITIVES.get(name)
    if form is None:
        raise Untraceable(f"JAX's `{name}` has no counterpart in a formula")
    return [tape.apply(form, tuple(args))]


def _rows(name: str, given: Any, rows: np.ndarray[Any, Any], args: list[Any]) -> Any:
    """One column, or some, of an x with several."""
    out: Any
    if name == "slice":
        starts, limits = given["start_indices"], given["limit_indices"]
        out = rows[tuple(slice(a, b) for a, b in zip(starts, limits))[: rows.ndim]]
    elif name in ("squeeze", "reshape"):
        out = rows.squeeze()
    elif name == "convert_element_type":
        return rows
    else:
        raise Untraceable(f"JAX's `{name}` of all columns of x at once")
    return out.item() if out.size == 1 and name != "slice" else out
