"""Distributions of vectors, matrices and series, and of categories."""

from __future__ import annotations

from typing import Any

from pytensor.tensor.elemwise import DimShuffle

from .axes import Axis, Expr, Unconvertible, number, unite
from .distributions import Args, Family, Text, call, family, kind_of, params_of, written
from .folding import is_random
from .matrices import square
from .walk import core_name, look_through, scalar_name, strip

__all__ = ["start"]


def vector(f: Family, v: Any, needs_axis: bool = False) -> Text:
    """A parameter whose last axis is that of the variable's vectors."""
    e = f.walk.expr(v)
    last = f.axes[-1]
    if e.axes and e.axes[-1] is not None and last is not None:
        if e.number is None or needs_axis:
            unite(last, e.axes[-1], f.kind)
    for k in range(2, len(e.axes) + 1):
        a, there = e.axes[-k], f.axes[-k] if k <= len(f.axes) else None
        if a is not None and there is not None and (e.number is None or needs_axis):
            unite(there, a, f.kind)
    if e.number is not None and not needs_axis:
        shown = number(e.number)
        return lambda: shown
    return f.beside(e)


@family("Dirichlet")
def dirichlet(f: Family) -> Text:
    return call("Dirichlet", vector(f, f.params[0], needs_axis=True))


@family("Multinomial")
def multinomial(f: Family) -> Text:
    n = f.param(f.params[0], f.axes[:-1])
    return call("Multinomial", n, vector(f, f.params[1], needs_axis=True))


@family("DirichletMultinomial")
def dirichlet_multinomial(f: Family) -> Text:
    n = f.param(f.params[0], f.axes[:-1])
    return call("DirichletMultinomial", n, vector(f, f.params[1], needs_axis=True))


@family("StickBreakingWeights")
def stick_breaking_weights(f: Family) -> Text:
    return call("StickBreakingWeights", f.param(f.params[0], f.axes[:-1]))


@family("MvNormal")
def mv_normal(f: Family) -> Text:
    mu, cov = f.params[:2]
    args, named = _moments(f, mu, cov, "cov")
    return call("MvNormal", *args, **named)


@family("MvStudentT")
def mv_student(f: Family) -> Text:
    nu, mu, scale = f.params[:3]
    args, named = _moments(f, mu, scale, "scale")
    return call("MvStudentT", f.param(nu, f.axes[:-1]), *args, **named)


def _moments(f: Family, mu: Any, cov: Any, name: str) -> Args:
    """Location, and the matrix by itself or by its factor."""
    cov = strip(cov)
    while scalar_name(mu) == "Second":
        mu = strip(mu).owner.inputs[1]
    location = vector(f, mu)
    inverse = _inverse(f, cov)
    if inverse is not None:
        return [location], {name: inverse}
    factor = _factor(cov)
    e = f.walk.expr(cov if factor is None else factor)
    axis = f.axes[-1]
    if len(e.axes) != 2 or axis is None:
        raise Unconvertible(f.kind, "with a covariance for each row")
    if factor is None:
        return [location], {name: _square(f, cov, e, axis)}
    for a in e.axes:
        if a is not None:
            unite(axis, a, f.kind)
    return [location], {"chol": lambda: e.text()}


def _factor(v: Any) -> Any:
    """L of L·Lᵀ."""
    node = v.owner
    if node is None or core_name(node.op) not in ("Dot", "MatMul", "Matmul"):
        return None
    a, b = node.inputs[:2]
    turned = b.owner is not None and isinstance(b.owner.op, DimShuffle) and b.owner.inputs[0] is a
    return a if turned else None


def _square(f: Family, v: Any, e: Expr, axis: Axis) -> Text:
    """A covariance over one dim twice."""
    walk = f.walk
    if not walk.constants.holds(v):
        for a in e.axes:
            if a is None:
                raise Unconvertible(f.kind, "a covariance that is repeated")
            unite(axis, a, f.kind)
        return lambda: e.text()
    name = walk.writer.datum(walk.constants.value(v), [axis, axis], "cov")
    return lambda: name


def _inverse(f: Family, v: Any) -> Text | None:
    """P⁻¹ of a precision matrix P, which is positive definite where the density is a number."""
    if v.owner is None or core_name(v.owner.op) != "MatrixInverse" or f.walk.constants.holds(v):
        return None
    precision, axis = square(f.walk, v.owner.inputs[0], "MatrixInverse"), f.axes[-1]
    if axis is None:
        return None
    unite(axis, precision.real[0], f.kind)
    return lambda: (
        f"cho_solve(cholesky({precision.text()}), identity({f.walk.writer.dim(axis)}))"
    )


@family("ZeroSumNormal")
def zero_sum_normal(f: Family) -> Text:
    if f.op.ndim_supp != 1:
        raise Unconvertible("ZeroSumNormal", "over several axes")
    return call("ZeroSumNormal", f.param(f.params[0], [*f.axes[:-1], None]))


@family("RandomWalk")
def random_walk(f: Family) -> Text:
    init, innovation = f.params[:2]
    if kind_of(innovation) != "Normal":
        raise Unconvertible("RandomWalk", "of innovations that are not normal")
    mu, sigma = params_of(innovation)
    batch = [*f.axes[:-1], None]
    args = [f.param(mu, batch), f.param(sigma, batch)]
    return call("GaussianRandomWalk", *args, init_dist=start(f, init))


def start(f: Family, init: Any) -> Text:
    """The distribution of the first element of a series."""
    while init.owner is not None and not is_random(init.owner.op):
        init = init.owner.inputs[0]
    return written(f.of(init, [*f.axes[:-1], None]))


@family("AutoRegressive")
def autoregressive(f: Family) -> Text:
    rho, sigma, init = f.params[:3]
    if f.op.constant_term:
        raise Unconvertible("AR", "with a constant")
    e = f.walk.expr(rho)
    shown: Text = lambda: e.text()
    if not e.axes or e.axes[-1] is None:
        one = f.text(e)
        shown = lambda: f"[{one()}]"
    return call("AR", shown, f.param(sigma, [*f.axes[:-1], None]), init_dist=start(f, init))


@family("Categorical")
def categorical(f: Family) -> Text:
    p = f.params[0]
    bare = look_through(strip(p))
    ordered = _ordered_logistic(f, look_through(p)) or _ordered_probit(f, bare)
    if ordered is not None:
        return ordered
    bare = look_through(p)
    if bare.owner is not None and core_name(bare.owner.op) == "Softmax":
        return call("Categorical", logit_p=_by_row(f, bare.owner.inputs[0]))
    return call("Categorical", _by_row(f, p))


def _by_row(f: Family, v: Any) -> Text:
    """Probabilities: the axes before the last are the variable's."""
    e = f.walk.expr(v)
    batch = e.axes[:-1]
    for k in range(1, len(batch) + 1):
        a, there = batch[-k], f.axes[-k] if k <= len(f.axes) else None
        if a is not None and there is not None:
            unite(there, a, f.kind)
    if not e.real:
        raise Unconvertible("Categorical", "of one category")
    return lambda: e.text()


def _ordered_logistic(f: Family, p: Any) -> Text | None:
    """eta and cutpoints of differences of sigmoid(cutpoints − eta)."""
    if scalar_name(p) != "Sub":
        return None
    a, b = strip(p).owner.inputs
    if a.owner is None or b.owner is None or a.owner.inputs[0] is not b.owner.inputs[0]:
        return None
    joined = a.owner.inputs[0].owner
    if joined is None or core_name(joined.op) != "Join":
        return None
    for part in joined.inputs:
        if scalar_name(part) != "Sigmoid":
            continue
        inner = strip(part).owner.inputs[0]
        if scalar_name(inner) != "Sub":
            return None
        cut, eta = strip(inner).owner.inputs
        cutpoints = f.walk.expr(strip(cut))
        if len(cutpoints.axes) != 1:
            return None
        return call("OrderedLogistic", f.param(_without_last(eta)), lambda: cutpoints.text())
    return None


def _ordered_probit(f: Family, p: Any) -> Text | None:
    """eta, cutpoints and sigma of shares exp(join(ln Φ((eta − cutpoint[0]) / sigma), ...))."""
    if scalar_name(p) != "Exp":
        return None
    joined = strip(p).owner.inputs[0].owner
    if joined is None or core_name(joined.op) != "Join":
        return None
    above = next((part for part in joined.inputs if scalar_name(part) == "Switch"), None)
    condition = strip(above).owner.inputs[0] if above is not None else None
    z = strip(condition).owner.inputs[0] if scalar_name(condition) == "GT" else None
    if z is None or scalar_name(z) != "TrueDiv":
        return None
    off, sigma = strip(z).owner.inputs
    if scalar_name(off) != "Sub":
        return None
    first, mean = strip(off).owner.inputs
    picked = strip(first).owner
    if f.walk.constants.uniform(mean) != 0 or picked is None or core_name(picked.op) != "Subtensor":
        return None
    if scalar_name(picked.inputs[0]) != "Sub":
        return None
    eta, cut = strip(picked.inputs[0]).owner.inputs
    cutpoints = f.walk.expr(strip(cut))
    if len(cutpoints.axes) != 1:
        return None
    args = [f.param(_without_last(eta)), lambda: cutpoints.text()]
    if f.walk.constants.uniform(sigma) == 1:
        return call("OrderedProbit", *args)
    return call("OrderedProbit", *args, f.param(sigma))


def _without_last(v: Any) -> Any:
    """`v` without the axis of length 1 that was put behind it."""
    node = v.owner
    if node is not None and isinstance(node.op, DimShuffle):
        order = node.op.new_order
        inner = node.inputs[0]
        if order[-1] == "x" and list(order[:-1]) == list(range(inner.type.ndim)):
            return inner
        if all(o == "x" for o in order):
            return inner if inner.type.ndim == 0 else v
    return v
