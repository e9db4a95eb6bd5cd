"""Elementwise operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .axes import (
    ADD,
    AND,
    ATOM,
    COMPARE,
    MULTIPLY,
    NEGATE,
    OR,
    POWER,
    Axis,
    Expr,
    Unconvertible,
    counted,
    number,
    unite,
)
from .walk import Walk, core_name, op, scalar_name, strip

__all__: list[str] = []

#: Scalar ops of one argument that are functions of the language.
FUNCTIONS = {
    "Exp": "exp",
    "Log": "log",
    "Log1p": "log1p",
    "Expm1": "expm1",
    "Log2": "log2",
    "Log10": "log10",
    "Sqrt": "sqrt",
    "Sqr": "square",
    "Abs": "abs",
    "Sin": "sin",
    "Cos": "cos",
    "Tan": "tan",
    "ArcSin": "asin",
    "ArcCos": "acos",
    "ArcTan": "atan",
    "Sinh": "sinh",
    "Cosh": "cosh",
    "Tanh": "tanh",
    "ArcSinh": "asinh",
    "ArcCosh": "acosh",
    "ArcTanh": "atanh",
    "Sign": "sign",
    "Floor": "floor",
    "Ceil": "ceil",
    "Trunc": "trunc",
    "RoundHalfToEven": "round",
    "Erf": "erf",
    "Erfc": "erfc",
    "Erfcx": "erfcx",
    "Erfinv": "erfinv",
    "I0": "i0",
    "I0e": "i0e",
    "I1": "i1",
    "Log1mexp": "log1m_exp",
    "GammaLn": "lgamma",
    "Psi": "digamma",
    "Sigmoid": "inv_logit",
    "Softplus": "softplus",
}
#: Those that are short expressions of a name.
FORMS = {
    "Exp2": "2^{0}",
    "Deg2Rad": "{0} * pi / 180",
    "Rad2Deg": "{0} * 180 / pi",
    "IsNan": "{0} != {0}",
    "IsInf": "abs({0}) == inf",
    "Invert": "not {0}",
    "Erfcinv": "-probit(0.5 * {0}) / sqrt(2)",
    # By reflection where the argument is negative.
    "Gamma": "where({0} > 0, exp(lgamma({0})), pi / (sin(pi * {0}) * exp(lgamma(1 - {0}))))",
}
#: Sign and binding of ops between two or more.
CHAINS = {"Add": ("+", ADD), "Mul": ("*", MULTIPLY), "AND": ("and", AND), "OR": ("or", OR)}
PAIRS = {
    "Sub": ("-", ADD),
    "TrueDiv": ("/", MULTIPLY),
    "LT": ("<", COMPARE),
    "LE": ("<=", COMPARE),
    "GT": (">", COMPARE),
    "GE": (">=", COMPARE),
    "EQ": ("==", COMPARE),
    "NEQ": ("!=", COMPARE),
}
#: Functions of several arguments.
CALLS = {
    "Maximum": "max",
    "ScalarMaximum": "max",
    "Minimum": "min",
    "ScalarMinimum": "min",
    "Switch": "where",
    "Clip": "clip",
    "LogAddExp": "log_sum_exp",
    "ArcTan2": "atan2",
    "Mod": "mod",
    "GammaInc": "gamma_inc",
    "GammaIncC": "gamma_incc",
    "BetaInc": "beta_inc",
    "Iv": "iv",
    "Ive": "ive",
    "Hyp2F1": "hyp2f1",
}


def _is_order(walk: Walk, order: Any, x: Any) -> bool:
    """Whether orders are constant, and whole or not negative."""
    if not walk.constants.holds(order):
        return False
    value = walk.constants.value(order)
    return bool(np.all((value >= 0) | (np.mod(value, 1) == 0)))


def _is_above(walk: Walk, a: Any, b: Any, c: Any, z: Any) -> bool:
    """Whether the third argument is one of the first two and something positive besides."""
    if scalar_name(c) != "Add":
        return False
    terms = [strip(t) for t in strip(c).owner.inputs]
    for one in (strip(a), strip(b)):
        if one not in terms:
            continue
        rest = [walk.constants.uniform(t) for t in terms if t is not one]
        if None not in rest and sum(x for x in rest if x is not None) > 0:
            return True
    return False


#: Whether functions are asked for where the language has them.
DOMAINS: dict[str, Callable[..., bool]] = {
    "Iv": _is_order,
    "Ive": _is_order,
    "Hyp2F1": _is_above,
}
#: Ops that change nothing but the type.
SAME = ("Cast", "Identity", "DeepCopyOp")


@op("Elemwise")
def elementwise(walk: Walk, v: Any) -> Expr:
    name = type(v.owner.op.scalar_op).__name__
    if name == "Add" and v.type.dtype == "bool":
        # Truths added are their `or`, as in NumPy.
        name = "OR"
    if name == "Log":
        found = log_of_sum(walk, v.owner.inputs[0]) or log_of_size(walk, v.owner.inputs[0])
        if found is not None:
            return found
    if name in DOMAINS and not DOMAINS[name](walk, *v.owner.inputs):
        raise Unconvertible(name, "of arguments that may lie where the language has it not")
    ins = [walk.expr(i) for i in v.owner.inputs]
    axes = met(ins, name)
    if name in SAME:
        return ins[0]
    if name == "Second":
        return walk.repeat(ins[1], axes)
    ins = settled(walk, ins, axes)
    return Expr(axes, *_written(walk, name, ins))


def met(ins: Sequence[Expr], where: str) -> list[Axis | None]:
    """The axes of arrays that meet element by element."""
    out: list[Axis | None] = []
    for i in range(len(ins[0].axes)):
        here = [e.axes[i] for e in ins if e.axes[i] is not None]
        axes = [a for a in here if a is not None]
        # An axis of length 1 is repeated along the others.
        long = [a for a in axes if a.root.size != 1] or axes
        found = long[0] if long else None
        for a in long[1:]:
            found = unite(long[0], a, where)
        out.append(found)
    return out


def settled(walk: Walk, ins: Sequence[Expr], axes: Sequence[Axis | None]) -> list[Expr]:
    """Arrays ready to combine: no axis of length 1 beside a longer one, numbers for uniform
    constants, and one array with all axes."""
    out = []
    for e in ins:
        for i, a in enumerate(e.axes):
            there = axes[i]
            if a is not None and a.root.size == 1 and there is not None and there.root.size != 1:
                e = walk.first(e, i)
        out.append(e)
    full = [a.root for a in axes if a is not None]
    for k, e in enumerate(out):
        if e.number is None or not e.real:
            continue
        others = {a.root for j, x in enumerate(out) if j != k for a in x.real}
        if all(a.root in others for a in e.real):
            out[k] = constant(e.number, len(e.axes))
    if len(full) > 1 and not any(len(e.real) == len(full) for e in out):
        # Each element of one with each of another, which names of axes say.
        return [_with_axes(walk, e, axes) if e.real else e for e in out]
    return [walk.writer.placed(e, axes) if e.real else e for e in out]


def _with_axes(walk: Walk, e: Expr, axes: Sequence[Axis | None]) -> Expr:
    """`e` by a name, with its axes called as in an array over `axes`."""
    e = walk.writer.named(e)

    def text() -> str:
        there = iter(counted(axes))
        names = [None if a is None else walk.writer.label(next(there)) for a in axes]
        shown = [str(n) for n, a in zip(names, e.axes) if a is not None]
        return f"{e.text()}[{', '.join(shown)}]"

    return Expr(e.axes, text, number=e.number)


def constant(x: float, n_axes: int) -> Expr:
    """A number where an array may stand."""
    return Expr([None] * n_axes, number(x), ATOM if x >= 0 else NEGATE, number=x)


def _written(walk: Walk, name: str, ins: list[Expr]) -> Any:
    """Text and binding of an op."""
    if name in FUNCTIONS:
        return lambda: f"{FUNCTIONS[name]}({ins[0].text()})", ATOM
    if name == "Neg":
        return lambda: f"-{ins[0].text(NEGATE)}", NEGATE
    if name == "Reciprocal":
        return lambda: f"1 / {ins[0].text(MULTIPLY + 1)}", MULTIPLY
    if name == "Pow":
        return lambda: f"{ins[0].text(POWER + 1)}^{ins[1].text(POWER)}", POWER
    if name in FORMS:
        e = ins[0] if ins[0].binds >= ATOM else walk.writer.let(ins[0])
        return lambda: FORMS[name].format(e.text(ATOM)), OR
    if name in CHAINS:
        sign, binds = CHAINS[name]
        return lambda: f" {sign} ".join(
            e.text(binds + (1 if k else 0)) for k, e in enumerate(ins)
        ), binds
    if name in PAIRS:
        sign, binds = PAIRS[name]
        return lambda: f"{ins[0].text(binds + 1)} {sign} {ins[1].text(binds + 1)}", binds
    if name in CALLS:
        return lambda: f"{CALLS[name]}({', '.join(e.text() for e in ins)})", ATOM
    raise Unconvertible(name, "the language has no such function")


def log_of_sum(walk: Walk, v: Any) -> Expr | None:
    """log(sum(exp(x))), which overflows as it stands."""
    if v.owner is None or core_name(v.owner.op) != "Sum":
        return None
    inner = v.owner.inputs[0].owner
    if inner is None or type(getattr(inner.op, "scalar_op", None)).__name__ != "Exp":
        return None
    from .reductions import log_sum_exp

    return log_sum_exp(walk, walk.expr(inner.inputs[0]), v.owner.op.axis)


def log_of_size(walk: Walk, v: Any) -> Expr | None:
    """log(abs(det(A))), which is what PyTensor 2 makes of `slogdet`."""
    if scalar_name(v) != "Abs":
        return None
    inner = v.owner.inputs[0]
    if inner.owner is None or core_name(inner.owner.op) != "Det":
        return None
    from .matrices import log_determinant_of

    return log_determinant_of(walk, inner.owner.inputs[0])
