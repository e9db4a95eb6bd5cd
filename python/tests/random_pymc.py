"""Random PyMC models: `random_model(seed)` is a small hierarchy of random priors, expressions and data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.scalar.basic import autocast_float_as

__all__ = ["random_model"]

Rng = np.random.Generator
Dims = tuple[str, ...]


@dataclass(frozen=True)
class Node:
    """A tensor, and the dims that its axes lie on."""

    value: Any
    dims: Dims


@dataclass
class Draft:
    """A model on its way."""

    rng: Rng
    sizes: dict[str, int]
    #: What stands so far: any real number, or positive ones.
    real: list[Node] = field(default_factory=list)
    positive: list[Node] = field(default_factory=list)
    count: int = 0

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def pick(self, of: list[Any]) -> Any:
        return of[self.rng.integers(len(of))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def shape(self, dims: Dims) -> tuple[int, ...]:
        return tuple(self.sizes[d] for d in dims)

    def constant(self, dims: Dims) -> Any:
        return np.round(self.rng.normal(size=self.shape(dims)), 2)

    def dims(self) -> Dims:
        """None, one or two of the dims of parameters."""
        n = self.pick([0, 0, 1, 1, 1, 2])
        return tuple(self.rng.permutation(["g", "h", "k"])[:n])


def _number(d: Draft, low: float, high: float) -> float:
    return float(np.round(d.rng.uniform(low, high), 2))


def _location(d: Draft, dims: Dims) -> Any:
    if d.real and d.chance(0.6):
        return real(d, dims, 2)
    return _number(d, -2, 2)


def _scale(d: Draft, dims: Dims) -> Any:
    if d.positive and d.chance(0.6):
        return positive(d, dims)
    return _number(d, 0.4, 2)


#: Priors of any real number, and of positive ones, by their arguments for dims.
REAL: dict[str, Callable[[Draft, Dims], dict[str, Any]]] = {
    "Normal": lambda d, dims: {"mu": _location(d, dims), "sigma": _scale(d, dims)},
    "StudentT": lambda d, dims: {
        "nu": _number(d, 3, 9),
        "mu": _location(d, dims),
        "sigma": _scale(d, dims),
    },
    "Laplace": lambda d, dims: {"mu": _location(d, dims), "b": _scale(d, dims)},
    "Logistic": lambda d, dims: {"mu": _location(d, dims), "s": _scale(d, dims)},
    "Gumbel": lambda d, dims: {"mu": _location(d, dims), "beta": _scale(d, dims)},
    "Cauchy": lambda d, dims: {"alpha": _number(d, -1, 1), "beta": _number(d, 0.3, 1)},
    "ExGaussian": lambda d, dims: {"mu": _location(d, dims), "sigma": _number(d, 0.5, 1), "nu": 1.0},
    "AsymmetricLaplace": lambda d, dims: {
        "mu": _location(d, dims),
        "b": _number(d, 0.5, 2),
        "kappa": _number(d, 0.5, 2),
    },
    "Uniform": lambda d, dims: {"lower": _number(d, -4, -2), "upper": _number(d, 2, 4)},
    "Triangular": lambda d, dims: {"lower": -3, "c": _number(d, -1, 1), "upper": 4},
    "TruncatedNormal": lambda d, dims: {
        "mu": _location(d, dims),
        "sigma": _number(d, 0.5, 2),
        "lower": -3,
        "upper": _number(d, 2, 4),
    },
}
POSITIVE: dict[str, Callable[[Draft, Dims], dict[str, Any]]] = {
    "HalfNormal": lambda d, dims: {"sigma": _scale(d, dims)},
    "HalfCauchy": lambda d, dims: {"beta": _number(d, 0.3, 1)},
    "HalfStudentT": lambda d, dims: {"nu": _number(d, 3, 8), "sigma": _scale(d, dims)},
    "Exponential": lambda d, dims: {"scale": _scale(d, dims)},
    "Gamma": lambda d, dims: {"alpha": _number(d, 1.5, 4), "beta": _scale(d, dims)},
    "InverseGamma": lambda d, dims: {"alpha": _number(d, 2, 5), "beta": _scale(d, dims)},
    "LogNormal": lambda d, dims: {"mu": _number(d, -1, 1), "sigma": _number(d, 0.3, 0.8)},
    "Weibull": lambda d, dims: {"alpha": _number(d, 1.2, 3), "beta": _scale(d, dims)},
    "ChiSquared": lambda d, dims: {"nu": _number(d, 2, 6)},
    "Wald": lambda d, dims: {"mu": _scale(d, dims), "lam": _number(d, 1, 4)},
    "Pareto": lambda d, dims: {"alpha": _number(d, 2, 5), "m": _number(d, 0.4, 1)},
    "Beta": lambda d, dims: {"alpha": _number(d, 1.5, 4), "beta": _scale(d, dims)},
    "Kumaraswamy": lambda d, dims: {"a": _number(d, 1.2, 3), "b": _number(d, 1.2, 3)},
}


def _variable(d: Draft, positive_one: bool, dims: Dims) -> Node:
    table = POSITIVE if positive_one else REAL
    kind = d.pick(list(table))
    arguments = table[kind](d, dims)
    name = d.name("s" if positive_one else "b")
    where: dict[str, Any] = {"dims": dims} if d.chance(0.6) else {"shape": d.shape(dims)}
    if not dims and d.chance(0.5):
        where = {}
    return Node(getattr(pm, kind)(name, **arguments, **where), dims)


def _whole(d: Draft) -> tuple[Node, bool]:
    """A variable whose elements belong together, and whether they are positive."""
    kind = d.pick(["Dirichlet", "ZeroSumNormal", "GaussianRandomWalk", "AR", "MvNormal", "LKJ", "Ordered"])
    dim = d.pick(["g", "h"])
    n, name = d.sizes[dim], d.name("w")
    if kind == "Dirichlet":
        return Node(pm.Dirichlet(name, np.round(d.rng.uniform(1, 4, n), 2), dims=dim), (dim,)), True
    if kind == "ZeroSumNormal":
        return Node(pm.ZeroSumNormal(name, _number(d, 0.5, 2), dims=("k", dim)), ("k", dim)), False
    if kind == "GaussianRandomWalk":
        start = pm.Normal.dist(0.0, 1.0)
        walk = pm.GaussianRandomWalk(
            name, _number(d, -1, 1), _scale(d, ()), init_dist=start, dims=dim
        )
        return Node(walk, (dim,)), False
    if kind == "AR":
        start = pm.Normal.dist(0.0, 1.0)
        return Node(pm.AR(name, 0.6, 0.8, init_dist=start, dims=dim), (dim,)), False
    if kind == "MvNormal":
        factor = np.tril(np.round(d.rng.normal(size=(n, n)) * 0.3, 2)) + np.eye(n)
        mean = pt.broadcast_to(real(d, (dim,), 1), (n,))
        return Node(pm.MvNormal(name, mean, chol=factor, dims=dim), (dim,)), False
    if kind == "LKJ":
        sds = pm.HalfNormal.dist(1.0, shape=n)
        factor, _, sigma = pm.LKJCholeskyCov(name, n=n, eta=2.0, sd_dist=sds)
        return (Node(sigma, (dim,)), True) if d.chance(0.5) else (Node(factor, (dim, dim + "2")), False)
    return (
        Node(
            pm.Normal(
                name,
                0.0,
                2.0,
                transform=pm.distributions.transforms.ordered,
                initval=np.arange(float(n)),
                dims=dim,
            ),
            (dim,),
        ),
        False,
    )


# Expressions.


def placed(d: Draft, node: Node, dims: Dims) -> Any:
    """The node on `dims`: by look-up, by sums over dims that are not there, by broadcasting."""
    value, own = node.value, list(node.dims)
    if "obs" in dims and "obs" not in own and own and d.chance(0.7):
        # Rows look up the elements of one axis.
        axis = int(d.rng.integers(len(own)))
        size = d.sizes[own[axis]]
        rows = d.rng.integers(0, size, d.sizes["obs"])
        value = value[rows] if axis == 0 else value[:, rows]
        own[axis] = "obs"
    for axis in reversed(range(len(own))):
        if own[axis] in dims:
            continue
        size = d.sizes[own[axis]]
        how = d.pick(["sum", "mean", "first", "last", "max", "logsumexp"])
        if how == "first":
            value = value[0] if axis == 0 else value[:, 0]
        elif how == "last":
            value = value[-1] if axis == 0 else value[:, -1]
        elif how == "logsumexp":
            value = pt.logsumexp(value, axis=axis)
        elif how == "max":
            value = pt.moveaxis(value, axis, -1)
            value = pt.max(value + _ramp(size), axis=-1)
        else:
            value = getattr(pt, how)(value, axis=axis)
        del own[axis]
    if len(own) == 2 and dims.index(own[0]) > dims.index(own[1]):
        value, own = value.T, own[::-1]
    if not own:
        return value
    # What is missing in front broadcasts by itself; behind, an axis of one is needed.
    for k in range(dims.index(own[0]), len(dims)):
        if dims[k] not in own:
            value = pt.expand_dims(value, k - dims.index(own[0]))
    return value


UNARY: list[Callable[[Any], Any]] = [
    pt.tanh,
    pt.sigmoid,
    pt.sin,
    pt.arctan,
    pt.erf,
    pt.abs,
    pt.softplus,
    lambda x: -x,
    lambda x: 1 - x,
    lambda x: x**2 / (1 + x**2),
    lambda x: pt.log1p(x**2),
    lambda x: pt.sqrt(1 + x * x),
    lambda x: 1 / (1 + pt.exp(-x)),
    lambda x: pt.clip(x, -1.5, 1.5),
    lambda x: pt.switch(x > 0, x, 0.1 * x),
    lambda x: pt.where(pt.lt(x, 0.3), x + 1, 2 - x),
    lambda x: 3 * pt.exp(-0.5 * x**2),
    lambda x: x / 2.5 + 0.5,
    lambda x: pt.arcsinh(x),
    lambda x: pt.cos(x) ** 2,
    lambda x: pt.log(pt.exp(x) + 1.5),
    lambda x: pt.maximum(x, -x / 3),
]
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x / (1 + y**2),
    lambda x, y: pt.maximum(x, 0.9 * y),
    lambda x, y: pt.minimum(x + 0.1, y),
    lambda x, y: pt.switch(x > y, x, y / 2 + 1),
    lambda x, y: x + 0.5 * y + 1,
    lambda x, y: pt.logaddexp(x, y),
    lambda x, y: pt.sqrt(x**2 + y**2 + 0.1),
    lambda x, y: (x + y) * pt.sigmoid(x),
]


def _ramp(n: int) -> Any:
    """Different numbers along an axis: where elements are equal, PyTensor's slope of their maximum
    counts each of them."""
    return 0.1 * np.arange(n)


#: Along the last axis.
ALONG: list[Callable[[Any, int], Any]] = [
    lambda x, n: pt.cumsum(x, axis=-1),
    lambda x, n: x[..., ::-1],
    lambda x, n: x - pt.mean(x, axis=-1, keepdims=True),
    lambda x, n: pt.special.softmax(x, axis=-1),
    lambda x, n: pt.concatenate([x[..., :1], x[..., 1:] - x[..., :-1]], axis=-1),
    lambda x, n: pt.roll(x, 1, axis=-1),
    lambda x, n: x / pt.sqrt(1 + pt.sum(x**2, axis=-1, keepdims=True)),
    lambda x, n: pt.set_subtensor(x[..., 0], 0.5),
    lambda x, n: pt.inc_subtensor(x[..., -1], 1.0),
    lambda x, n: pt.concatenate([pt.zeros_like(x[..., :1]), x[..., :-1]], axis=-1),
    lambda x, n: x - pt.max(x + _ramp(n), axis=-1, keepdims=True),
]


def _leaf(d: Draft, dims: Dims) -> Any:
    if d.real and d.chance(0.75):
        return placed(d, d.pick(d.real), dims)
    if d.positive and d.chance(0.5):
        return pt.log(placed(d, d.pick(d.positive), dims))
    return d.constant(dims)


def _product(d: Draft, dims: Dims) -> Any:
    """A matrix of data times a vector of parameters."""
    inner = d.pick(["g", "h", "k"])
    vector = real(d, (inner,), 0)
    vector = pt.broadcast_to(vector, d.shape((inner,)))
    matrix = np.round(d.rng.normal(size=(d.sizes[dims[-1]], d.sizes[inner])), 2)
    return pt.dot(matrix, vector) if d.chance(0.5) else (matrix * vector).sum(axis=-1)


def real(d: Draft, dims: Dims, depth: int) -> Any:
    """A random expression that broadcasts against `dims`."""
    if depth == 0:
        return _leaf(d, dims)
    kind = d.rng.random()
    if kind < 0.3:
        return d.pick(UNARY)(real(d, dims, depth - 1))
    if kind < 0.7:
        return d.pick(BINARY)(real(d, dims, depth - 1), real(d, dims, depth - 1))
    if kind < 0.85 and dims:
        whole = pt.broadcast_to(real(d, dims, depth - 1), d.shape(dims))
        return d.pick(ALONG)(whole, d.sizes[dims[-1]])
    if kind < 0.95 and len(dims) == 1:
        return _product(d, dims)
    return _leaf(d, dims)


def positive(d: Draft, dims: Dims) -> Any:
    """A random positive expression that broadcasts against `dims`."""
    if d.positive and d.chance(0.6):
        return placed_positive(d, dims)
    inner = real(d, dims, 1)
    return d.pick(
        [
            lambda x: pt.exp(pt.clip(x, -2, 2)),
            lambda x: pt.softplus(x) + 0.1,
            lambda x: 0.3 + pt.abs(x),
            lambda x: pt.sqrt(0.5 + x**2),
        ]
    )(inner)


def placed_positive(d: Draft, dims: Dims) -> Any:
    value = placed(d, d.pick(d.positive), dims)
    # The log-sum-exp of positive numbers is positive, too.
    return value + _number(d, 0.1, 0.5)


# Data.


def _counts(d: Draft, dims: Dims) -> Any:
    return d.rng.poisson(3, d.shape(dims))


def _truths(d: Draft, dims: Dims) -> Any:
    return d.rng.integers(0, 2, d.shape(dims))


def _shares(d: Draft, dims: Dims) -> Any:
    return np.round(d.rng.uniform(0.05, 0.95, d.shape(dims)), 3)


def _sizes(d: Draft, dims: Dims) -> Any:
    return np.round(d.rng.gamma(2, 1, d.shape(dims)) + 0.1, 3)


def _probability(d: Draft, dims: Dims) -> Any:
    return 0.02 + 0.96 * pt.sigmoid(real(d, dims, 2))


def _rate(d: Draft, dims: Dims) -> Any:
    return pt.exp(pt.clip(real(d, dims, 2), -3, 3))


def _mixture(d: Draft, name: str, on: Dims, **where: Any) -> Any:
    one, two = real(d, on, 1), real(d, on, 1)
    share = _probability(d, ())
    parts = [
        pm.Normal.dist(pt.broadcast_to(one, d.shape(on)), positive(d, ())),
        pm.StudentT.dist(nu=4.0, mu=pt.broadcast_to(two, d.shape(on)), sigma=1),
    ]
    return pm.Mixture(name, w=pt.stack([share, 1 - share]), comp_dists=parts, **where)


def _categories(d: Draft, name: str, on: Dims, **where: Any) -> Any:
    logits = [pt.broadcast_to(real(d, on, 1), d.shape(on)) for _ in range(3)]
    p = pt.special.softmax(pt.stack(logits, axis=-1), axis=-1)
    return pm.Categorical(name, p=p, **where)


def _censored(d: Draft, name: str, on: Dims, **where: Any) -> Any:
    of = pm.Normal.dist(pt.broadcast_to(real(d, on, 2), d.shape(on)), positive(d, on))
    return pm.Censored(name, of, lower=-1.0, upper=1.5, **where)


def _truncated(d: Draft, name: str, on: Dims, **where: Any) -> Any:
    of = pm.Gamma.dist(_number(d, 1.5, 3), pt.broadcast_to(positive(d, on), d.shape(on)))
    return pm.Truncated(name, of, lower=0.05, upper=20.0, **where)


def _vectors(d: Draft, name: str, on: Dims, **where: Any) -> Any:
    n = d.sizes[on[-1]]
    factor = np.tril(np.round(d.rng.normal(size=(n, n)) * 0.3, 2)) + np.eye(n)
    return pm.MvNormal(name, pt.broadcast_to(real(d, on, 1), d.shape(on)), chol=factor, **where)


#: Likelihoods: what makes the variable, and its data.
LIKELIHOODS: list[tuple[Callable[..., Any], Callable[[Draft, Dims], Any]]] = [
    (lambda d, n, x, **w: pm.Normal(n, real(d, x, 3), positive(d, x), **w), Draft.constant),
    (lambda d, n, x, **w: pm.Normal(n, real(d, x, 3), tau=positive(d, x), **w), Draft.constant),
    (lambda d, n, x, **w: pm.StudentT(n, 4.0, mu=real(d, x, 3), sigma=positive(d, x), **w), Draft.constant),
    (lambda d, n, x, **w: pm.Laplace(n, real(d, x, 3), positive(d, x), **w), Draft.constant),
    (lambda d, n, x, **w: pm.Poisson(n, _rate(d, x), **w), _counts),
    (lambda d, n, x, **w: pm.NegativeBinomial(n, _rate(d, x), positive(d, x), **w), _counts),
    (lambda d, n, x, **w: pm.ZeroInflatedPoisson(n, _probability(d, ()), _rate(d, x), **w), _counts),
    (lambda d, n, x, **w: pm.Bernoulli(n, logit_p=real(d, x, 3), **w), _truths),
    (lambda d, n, x, **w: pm.Bernoulli(n, p=_probability(d, x), **w), _truths),
    (lambda d, n, x, **w: pm.Binomial(n, 12, _probability(d, x), **w), _counts),
    (lambda d, n, x, **w: pm.BetaBinomial(n, positive(d, x), positive(d, x), 20, **w), _counts),
    (lambda d, n, x, **w: pm.Gamma(n, mu=positive(d, x), sigma=positive(d, x), **w), _sizes),
    (lambda d, n, x, **w: pm.LogNormal(n, real(d, x, 2), positive(d, x), **w), _sizes),
    (lambda d, n, x, **w: pm.Exponential(n, positive(d, x), **w), _sizes),
    (lambda d, n, x, **w: pm.Weibull(n, _number(d, 1, 2), positive(d, x), **w), _sizes),
    (lambda d, n, x, **w: pm.Beta(n, mu=_probability(d, x), nu=5 + positive(d, x), **w), _shares),
    (_mixture, Draft.constant),
    (_categories, lambda d, x: d.rng.integers(0, 3, d.shape(x))),
    (_censored, lambda d, x: np.clip(d.constant(x), -1, 1.5)),
    (_truncated, _sizes),
    (_vectors, Draft.constant),
]


def random_model(seed: int) -> Any:
    """A model of one to three levels, of one or two likelihoods, with potentials and deterministics."""
    rng = np.random.default_rng(seed)
    sizes = {"g": 3, "h": 4, "k": 2, "obs": 7, "g2": 3, "h2": 4}
    d = Draft(rng, sizes)
    # Without this PyTensor keeps constants in float32, and PyMC computes with their rounded functions.
    with (
        autocast_float_as("float64"),
        pm.Model(coords={name: range(n) for name, n in sizes.items()}) as model,
    ):
        for _ in range(rng.integers(2, 6)):
            if d.chance(0.2):
                node, which = _whole(d)
            else:
                which = d.chance(0.4)
                node = _variable(d, which, d.dims())
            (d.positive if which else d.real).append(node)
            if d.chance(0.3):
                dims = d.dims()
                value = pt.broadcast_to(real(d, dims, 2), d.shape(dims))
                d.real.append(Node(pm.Deterministic(d.name("t"), value, dims=dims), dims))
        if not d.real:
            d.real.append(_variable(d, False, ()))
        for _ in range(rng.integers(1, 3)):
            make, data = d.pick(LIKELIHOODS)
            dims = d.pick([("obs",), ("obs",), ("g",), ("g", "obs"), ("obs", "h")])
            where = {"observed": data(d, dims), "dims": dims}
            make(d, d.name("y"), dims, **where)
        if d.chance(0.2):
            pm.Potential(d.name("p"), -0.1 * pt.sum(real(d, ("g",), 2) ** 2))
    return model
