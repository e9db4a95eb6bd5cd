"""Primitives that work element by element, and the logarithms of sums that JAX writes with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Constant

from ..conversion import Unconvertible
from .graph import Step
from .tensors import Tensors, primitive

__all__ = ["Columns", "Shifted", "SumOfExp", "bare"]


@dataclass(frozen=True)
class Shifted:
    """x − s, or its exponential."""

    x: Any
    s: Any
    is_exp: bool = False


@dataclass(frozen=True)
class SumOfExp:
    """The sum of exp(x − s) over axes that s lacks, or its logarithm.

    `total` is log Σ exp(x), with the axes of the sum.
    """

    total: Any
    x: Any
    s: Any
    is_log: bool = False

    def moved(self, move: Callable[[Any], Any]) -> SumOfExp:
        """The same after the axes were moved."""
        return replace(self, total=move(self.total), s=move(self.s))


@dataclass(frozen=True)
class Columns:
    """The columns of an array that was joined of them, as positions along several axes are."""

    parts: list[Any]


#: Functions of PyTensor that do the same.
SAME: dict[str, Callable[..., Any]] = {
    "mul": pt.mul,
    "neg": pt.neg,
    "exp2": pt.exp2,
    "log1p": pt.log1p,
    "expm1": pt.expm1,
    "sqrt": pt.sqrt,
    "square": pt.square,
    "tanh": pt.tanh,
    "logistic": pt.sigmoid,
    "sin": pt.sin,
    "cos": pt.cos,
    "tan": pt.tan,
    "asin": pt.arcsin,
    "acos": pt.arccos,
    "atan": pt.arctan,
    "atan2": pt.arctan2,
    "sinh": pt.sinh,
    "cosh": pt.cosh,
    "asinh": pt.arcsinh,
    "acosh": pt.arccosh,
    "atanh": pt.arctanh,
    "erf": pt.erf,
    "erfc": pt.erfc,
    "erf_inv": pt.erfinv,
    "lgamma": pt.gammaln,
    "digamma": pt.psi,
    "bessel_i0e": lambda x: pt.ive(0, x),
    "bessel_i1e": lambda x: pt.ive(1, x),
    "igamma": pt.gammainc,
    "igammac": pt.gammaincc,
    "regularized_incomplete_beta": pt.betainc,
    "sign": pt.sign,
    "floor": pt.floor,
    "ceil": pt.ceil,
    "is_finite": lambda x: pt.and_(pt.lt(pt.abs(x), np.inf), pt.eq(x, x)),
    "max": pt.maximum,
    "min": pt.minimum,
    "pow": pt.pow,
    "atan_2": pt.arctan2,
    "le": pt.le,
    "gt": pt.gt,
    "eq": pt.eq,
    "or": pt.or_,
    "and": pt.and_,
    "not": pt.invert,
    "logaddexp": pt.logaddexp,
    "clamp": lambda low, x, high: pt.clip(x, low, high),
}
for _name, _function in SAME.items():
    primitive(_name)(lambda t, step, *ins, _do=_function: _do(*ins))


@primitive("copy", "copy_p", "stop_gradient", "reduce_precision", "optimization_barrier")
def same(t: Tensors, step: Step, *ins: Any) -> Any:
    return list(ins)


@primitive("rsqrt")
def rsqrt(t: Tensors, step: Step, x: Any) -> Any:
    return 1.0 / pt.sqrt(x)


@primitive("cbrt")
def cbrt(t: Tensors, step: Step, x: Any) -> Any:
    return pt.sign(x) * pt.abs(x) ** (1.0 / 3.0)


@primitive("round")
def rounded(t: Tensors, step: Step, x: Any) -> Any:
    return pt.round(x, mode="half_to_even")


@primitive("integer_pow")
def power(t: Tensors, step: Step, x: Any) -> Any:
    y = step.params["y"]
    return pt.square(x) if y == 2 else pt.pow(x, y)


@primitive("rem")
def remainder(t: Tensors, step: Step, a: Any, b: Any) -> Any:
    """With the sign of the first, where `mod` has that of the second."""
    return pt.sign(a) * pt.mod(pt.abs(a), pt.abs(b))


@primitive("ne")
def unequal(t: Tensors, step: Step, a: Any, b: Any) -> Any:
    if step.inputs[0] is step.inputs[1]:
        # Where a value is not a number, the density is none either way.
        return pt.constant(np.zeros((1,) * a.type.ndim, dtype=bool))
    return pt.neq(a, b)


@primitive("lt")
def less(t: Tensors, step: Step, a: Any, b: Any) -> Any:
    if a in t.not_negative and isinstance(b, Constant) and np.all(b.data == 0):
        return pt.constant(np.zeros((1,) * a.type.ndim, dtype=bool))
    return pt.lt(a, b)


@primitive("ge")
def at_least(t: Tensors, step: Step, a: Any, b: Any) -> Any:
    if a in t.not_negative and isinstance(b, Constant) and np.all(b.data == 0):
        return pt.constant(np.ones((1,) * a.type.ndim, dtype=bool))
    return pt.ge(a, b)


@primitive("convert_element_type")
def cast(t: Tensors, step: Step, x: Any) -> Any:
    kind, have = np.dtype(step.params["new_dtype"]).kind, np.dtype(x.type.dtype).kind
    if kind == have or (kind in "iu" and have in "iu"):
        return x
    if kind == "f":
        return pt.cast(x, "float64")
    if kind == "b":
        return pt.neq(x, 0)
    if have == "f":
        x = pt.sign(x) * pt.floor(pt.abs(x))
    return pt.cast(x, "int64")


@primitive("select_n")
def chosen(t: Tensors, step: Step, which: Any, *cases: Any) -> Any:
    if isinstance(which, Constant) and which.data.size and np.all(which.data == which.data.flat[0]):
        return cases[int(which.data.flat[0])]
    if len(cases) == 2:
        return pt.where(
            pt.neq(which, 0) if which.type.dtype != "bool" else which, cases[1], cases[0]
        )
    out = cases[-1]
    for k in range(len(cases) - 2, -1, -1):
        out = pt.where(pt.eq(which, k), cases[k], out)
    return out


@primitive("cond")
def branches(t: Tensors, step: Step, which: Any, *ins: Any) -> Any:
    """Both sides, of which one is taken element by element."""
    every = [t.run(branch, ins) for branch in step.params["branches"]]
    out = every[-1]
    for k in range(len(every) - 2, -1, -1):
        out = [pt.where(pt.eq(pt.cast(which, "int64"), k), a, b) for a, b in zip(every[k], out)]
    return out


@primitive("add", "add_any")
def add(t: Tensors, step: Step, a: Any, b: Any) -> Any:
    for one, other in ((a, b), (b, a)):
        tag = t.tags.get(one)
        if isinstance(tag, SumOfExp) and tag.is_log and bare(tag.s) is bare(other):
            if tag.s.type.ndim == other.type.ndim:
                return tag.total
    return pt.add(a, b)


@primitive("sub")
def subtract(t: Tensors, step: Step, a: Any, b: Any) -> Any:
    tag, other = t.tags.get(a), t.tags.get(b)
    if (
        isinstance(tag, Shifted)
        and isinstance(other, SumOfExp)
        and other.x is tag.x
        and other.is_log
    ):
        return tag.x - other.total
    out = pt.sub(a, b)
    t.tags[out] = Shifted(a, b)
    return out


@primitive("exp")
def exponential(t: Tensors, step: Step, x: Any) -> Any:
    out, tag = pt.exp(x), t.tags.get(x)
    if isinstance(tag, Shifted):
        t.tags[out] = Shifted(tag.x, tag.s, True)
    return out


@primitive("abs")
def absolute(t: Tensors, step: Step, x: Any) -> Any:
    # JAX takes the size of a sum of exponentials, whose sign it returns beside it.
    return x if isinstance(t.tags.get(x), SumOfExp) else pt.abs(x)


@primitive("log")
def logarithm(t: Tensors, step: Step, x: Any) -> Any:
    tag = t.tags.get(x)
    if not isinstance(tag, SumOfExp) or tag.is_log:
        return pt.log(x)
    out = tag.total - tag.s
    t.tags[out] = replace(tag, is_log=True)
    return out


@primitive("div")
def divide(t: Tensors, step: Step, a: Any, b: Any) -> Any:
    tag, other = t.tags.get(a), t.tags.get(b)
    if isinstance(tag, Shifted) and isinstance(other, SumOfExp) and other.x is tag.x:
        if tag.is_exp and not other.is_log:
            return pt.exp(tag.x - other.total)
    if not np.dtype(step.outs[0].dtype).kind == "f":
        raise Unconvertible("div", "of whole numbers")
    return pt.true_div(a, b)


def bare(v: Any) -> Any:
    """A variable without axes of length 1 that were put into it or taken from it."""
    while v.owner is not None and type(v.owner.op).__name__ == "DimShuffle":
        kept = [o for o in v.owner.op.new_order if o != "x"]
        if kept != sorted(kept):
            break
        v = v.owner.inputs[0]
    return v
