"""Functions written with jax.numpy: JAX's own trace, read as a formula."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .nodes import Node, Tape, Untraceable

__all__ = ["in_float64", "trace_jax", "trace_jax_at"]

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
    "broadcast_in_dim squeeze reshape copy copy_p stop_gradient expand_dims device_put".split()
)
#: Primitives that work on the bits of integers.
BITWISE = frozenset("and or not".split())
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
        return _root(closed, [first, *[Node(n) for n in names]], tape)


def trace_jax_at(f: Callable[..., Any], x: Any, tape: Tape, names: Sequence[str]) -> Node:
    """The node of f(x, *names) at this x, of which JAX computes what depends on it alone."""
    import jax

    with in_float64():
        at = jax.numpy.asarray(x)
        closed = jax.make_jaxpr(lambda *theta: f(at, *theta))(*[1.0] * len(names))
        return _root(closed, [Node(n) for n in names], tape)


def _root(closed: Any, args: Sequence[Any], tape: Tape) -> Node:
    """The one value of a program of JAX."""
    found = _run(closed.jaxpr, closed.consts, args, tape)
    if len(found) != 1 or _has_rows(found[0]):
        raise Untraceable("the function returns something else than one value at each point")
    return tape.node(found[0] if isinstance(found[0], Node) else np.asarray(found[0]))


def _run(jaxpr: Any, consts: Any, args: Sequence[Any], tape: Tape) -> list[Any]:
    """The values of a program: nodes, rows of nodes, and arrays of what depends on neither."""
    known: dict[Any, Any] = {}

    def read(v: Any) -> Any:
        return v.val if hasattr(v, "val") else known[v]

    known.update(zip(jaxpr.constvars, consts))
    known.update(zip(jaxpr.invars, args))
    for equation in jaxpr.eqns:
        values = [read(v) for v in equation.invars]
        known.update(zip(equation.outvars, _apply(equation, values, tape)))
    return [read(v) for v in jaxpr.outvars]


def _has_rows(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == object


def _apply(equation: Any, args: list[Any], tape: Tape) -> list[Any]:
    name, given = equation.primitive.name, equation.params
    if name in NESTED:
        inner = given.get("jaxpr") or given.get("call_jaxpr") or given.get("fun_jaxpr")
        return _run(getattr(inner, "jaxpr", inner), getattr(inner, "consts", []), args, tape)
    if not any(isinstance(a, Node) or _has_rows(a) for a in args):
        found = equation.primitive.bind(*args, **given)
        return list(found) if equation.primitive.multiple_results else [found]
    rows = args[0]
    if _has_rows(rows):
        if name == "unstack" and given.get("axis", 0) == 0:
            return list(rows)
        return [_rows(name, given, rows, equation.invars[0].aval.shape)]
    if any(_has_rows(a) for a in args):
        raise Untraceable("the function computes with all columns of x at once")
    args = [a if isinstance(a, Node) else tape.node(np.asarray(a)) for a in args]
    if name in SAME:
        return [args[0]]
    kinds = [str(v.aval.dtype) for v in equation.invars]
    if name == "convert_element_type":
        return [_converted(args[0], kinds[0], str(given["new_dtype"]), tape)]
    if any(kind not in ("float64", "bool") for kind in kinds):
        _check_kinds(name, kinds)
    if name in BITWISE and set(kinds) != {"bool"}:
        raise Untraceable(f"JAX's `{name}` works on bits of integers")
    if name == "select_n" and (len(args) != 3 or kinds[0] != "bool"):
        raise Untraceable("JAX's `select_n` has more than two cases")
    if name == "integer_pow":
        return [tape.apply(f"({{0}} ^ ({given['y']}))", (args[0],))]
    form = PRIMITIVES.get(name)
    if form is None:
        raise Untraceable(f"JAX's `{name}` has no counterpart in a formula")
    return [tape.apply(form, tuple(args))]


def _check_kinds(name: str, kinds: list[str]) -> None:
    """Refuses arguments that are not all float64, where a form means something else for them."""
    strange = [kind for kind in kinds if not kind.startswith(("float64", "int", "uint", "bool"))]
    if strange:
        raise Untraceable(f"the function computes with values of type {strange[0]}")
    if name in ("div", "integer_pow", "pow"):
        raise Untraceable(f"JAX's `{name}` of integers is rounded")


def _converted(node: Node, before: str, after: str, tape: Tape) -> Node:
    """A value as one of another type."""
    if after == before or before == "bool" or after == "float64":
        if after in ("float64", "bool") or after.startswith(("int", "uint")):
            return node
    elif after == "bool":
        return tape.apply("({0} != 0)", (node,))
    elif after.startswith("int") and before.startswith("int"):
        return node
    elif after in ("int32", "int64"):
        return tape.apply("where({0} < 0, ceil({0}), floor({0}))", (node,))
    raise Untraceable(f"the function computes with values of type {after}")


def _rows(name: str, given: Any, rows: np.ndarray[Any, Any], shape: tuple[int, ...]) -> Any:
    """One column, or some, of an x with several."""
    out: Any
    if name == "slice":
        starts, limits = given["start_indices"], given["limit_indices"]
        steps = given["strides"] or (1,) * len(starts)
        picked = tuple(slice(*ends) for ends in zip(starts, limits, steps))
        points = list(zip(starts, limits, steps, shape))[rows.ndim :]
        if any((start, limit, step) != (0, n, 1) for start, limit, step, n in points):
            raise Untraceable("the function picks single points")
        out = rows[picked[: rows.ndim]]
    elif name in ("squeeze", "reshape"):
        out = rows.squeeze()
    elif name == "convert_element_type":
        return rows
    else:
        raise Untraceable(f"JAX's `{name}` of all columns of x at once")
    return out.item() if out.size == 1 and name != "slice" else out
