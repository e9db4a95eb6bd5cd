"""Distributions of numbers: from PyMC's classes to those of the language, by a table."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .axes import MULTIPLY, Axis, Expr, Unconvertible, number, unite
from .walk import Walk, scalar_name, strip

__all__ = ["FAMILIES", "Family", "Text", "call", "family", "kind_of", "params_of", "written"]

Text = Callable[[], str]


class Family:
    """A random variable whose distribution is written down."""

    def __init__(self, walk: Walk, rv: Any, axes: Sequence[Axis | None]) -> None:
        self.walk = walk
        self.rv = rv
        self.op = rv.owner.op
        self.kind = kind_of(rv)
        #: The axes of the variable.
        self.axes = list(axes)
        self.params = params_of(rv)
        #: Which component of a mixture this is, for parameters with an axis of components.
        self.component: int | None = None

    def of(self, rv: Any, axes: Sequence[Axis | None] | None = None) -> Family:
        """The same for another random variable, a part of this one."""
        out = Family(self.walk, rv, self.axes if axes is None else axes)
        out.component = self.component
        return out

    def part(self, kind: str, params: list[Any]) -> Family:
        """A distribution of the same variable by its kind and parameters."""
        out = copy.copy(self)
        out.kind, out.params = kind, params
        return out

    def param(self, v: Any, axes: Sequence[Axis | None] | None = None) -> Text:
        """A parameter, whose axes are the last of the variable's."""
        e = self.expr(v, axes)
        return self.text(e) if e.number is not None or axes is not None else self.beside(e)

    def beside(self, e: Expr) -> Text:
        """The text of a parameter whose axes are the last of the variable's: along the columns of a
        square matrix, too."""
        before = len(self.axes) - len(e.axes)
        if before < 0:
            return lambda: e.text()
        padded = e.moved([*[None] * before, *e.axes])
        return lambda: self.walk.writer.placed(padded, self.axes).text()

    def expr(self, v: Any, axes: Sequence[Axis | None] | None = None) -> Expr:
        """The expression of a parameter, its axes united with the variable's."""
        walk, own = self.walk, self.axes if axes is None else list(axes)
        e = walk.expr(v)
        if self.component is not None and e.axes:
            last = len(e.axes) - 1
            real = e.axes[last] is not None
            e = walk.at(e, {last: self.component}) if real else e.moved(e.axes[:last])
        for k in range(1, len(e.axes) + 1):
            a = e.axes[-k]
            there = own[-k] if k <= len(own) else None
            if a is None:
                continue
            if there is None:
                if a.root.size != 1:
                    raise Unconvertible(self.kind, "a parameter with more axes than the variable")
                e = walk.first(e, len(e.axes) - k)
            elif a.root.size == 1 and there.root.size != 1:
                e = walk.first(e, len(e.axes) - k)
            elif e.number is None:
                unite(there, a, self.kind)
        return e

    @staticmethod
    def text(e: Expr) -> Text:
        if e.number is not None:
            shown = number(e.number)
            return lambda: shown
        return lambda: e.text()

    def is_whole(self, v: Any) -> bool:
        """Whether a parameter has whole numbers alone."""
        constants = self.walk.constants
        if v.type.dtype.startswith(("int", "uint", "bool")):
            return True
        return constants.holds(v) and bool(np.all(np.mod(constants.value(v), 1) == 0))

    def inverse(self, v: Any) -> Text:
        """1/v: a rate of a scale."""
        uniform = self.walk.constants.uniform(v)
        if uniform is not None:
            return lambda: number(1 / uniform)
        bare = strip(v)
        if scalar_name(v) == "Reciprocal":
            return self.param(bare.owner.inputs[0])
        if scalar_name(v) == "TrueDiv" and self.walk.constants.uniform(bare.owner.inputs[0]) == 1:
            return self.param(bare.owner.inputs[1])
        e = self.expr(v)
        return lambda: f"1 / {e.text(MULTIPLY + 1)}"

    def precision(self, v: Any) -> Any:
        """x of sign(x)·|x|^−½, which PyMC makes of a precision x."""
        if scalar_name(v) != "Mul":
            return None
        for part in strip(v).owner.inputs:
            if scalar_name(part) != "Pow":
                continue
            base, power = strip(part).owner.inputs
            if self.walk.constants.uniform(power) == -0.5 and scalar_name(base) == "Abs":
                return strip(base).owner.inputs[0]
        return None


def params_of(rv: Any) -> list[Any]:
    """The parameters of a random variable, without generators and sizes."""
    node = strip(rv).owner
    try:
        return list(node.op.dist_params(node))
    except (AttributeError, ValueError):
        # Symbolic variables that do not say which of their inputs are which.
        rest = [i for i in node.inputs if "Random" not in type(i.type).__name__]
        first = rest[0].type
        return rest[1:] if first.ndim == 1 and first.dtype.startswith("int") else rest


#: How a distribution is written, by its kind.
Write = Callable[[Family], Text]
FAMILIES: dict[str, Write] = {}
#: PyMC's kinds that are those of the language, with the same arguments in the same order.
SAME = {
    **{
        name: name
        for name in (
            "Normal HalfNormal StudentT HalfStudentT LogNormal Cauchy Laplace Logistic Gumbel "
            "Pareto Beta Kumaraswamy Uniform VonMises SkewNormal ExGaussian Wald Flat HalfFlat "
            "TruncatedNormal Poisson Geometric HalfCauchy DiscreteUniform Bernoulli Binomial "
            "Moyal LogitNormal SkewStudentT DiscreteWeibull"
        ).split()
    },
    "InvGamma": "InverseGamma",
    "WeibullBeta": "Weibull",
}
#: Names of the arguments before the scale, for kinds that may be given a precision.
WITH_PRECISION = {
    "Normal": (["mu"], "tau"),
    "HalfNormal": ([], "tau"),
    "LogNormal": (["mu"], "tau"),
    "StudentT": (["nu", "mu"], "lam"),
    "HalfStudentT": (["nu"], "lam"),
    "LogitNormal": (["mu"], "tau"),
    "SkewStudentT": (["a", "b", "mu"], "lam"),
}
#: Places of arguments that are whole numbers here, and gamma functions of any number in PyMC.
WHOLE = {
    "Binomial": (0,),
    "BetaBinomial": (0,),
    "HyperGeometric": (0, 1, 2),
    "DiscreteUniform": (0, 1),
    "Multinomial": (0,),
    "DirichletMultinomial": (0,),
}
#: Kinds whose first argument, a location that is 0, the language does not have.
CENTRED = {"HalfNormal": 1, "HalfCauchy": 1}


def family(*kinds: str) -> Callable[[Write], Write]:
    """Registers how distributions of these kinds are written."""

    def register(write: Write) -> Write:
        FAMILIES.update(dict.fromkeys(kinds, write))
        return write

    return register


def kind_of(rv: Any) -> str:
    """The kind of a random variable: the class of its op without `RV`."""
    return kind_of_op(strip(rv).owner.op)


def kind_of_op(op: Any) -> str:
    """The kind of what an op draws from."""
    return type(op).__name__.removesuffix("RV").lstrip("_")


def call(name: str, *args: Text | str, **named: Text | str) -> Text:
    """Name and arguments, as text once it is asked for."""

    def shown(a: Text | str) -> str:
        return a if isinstance(a, str) else a()

    def text() -> str:
        parts = [shown(a) for a in args] + [f"{k}={shown(a)}" for k, a in named.items()]
        return f"{name}({', '.join(parts)})"

    return text


def written(f: Family) -> Text:
    """The distribution of a random variable."""
    if any(not f.is_whole(f.params[k]) for k in WHOLE.get(f.kind, ())):
        raise Unconvertible(f.kind, "of a number that is not whole")
    special = FAMILIES.get(f.kind)
    if special is not None:
        return special(f)
    name = SAME.get(f.kind)
    if name is None:
        raise Unconvertible(f.kind, "the language has no such distribution")
    params = f.params
    if f.kind in CENTRED and len(params) > CENTRED[f.kind]:
        if f.walk.constants.uniform(params[0]) != 0:
            raise Unconvertible(f.kind, "with a location")
        params = params[1:]
    if f.kind in WITH_PRECISION:
        precise = f.precision(params[-1])
        if precise is not None:
            before, argument = WITH_PRECISION[f.kind]
            named = {n: f.param(p) for n, p in zip(before, params)}
            return call(name, **named, **{argument: f.param(precise)})
    return call(name, *[f.param(p) for p in params])


@family("Exponential")
def exponential(f: Family) -> Text:
    return call("Exponential", f.inverse(f.params[0]))


@family("Gamma")
def gamma(f: Family) -> Text:
    alpha, scale = f.params
    halved = scalar_name(alpha) == "TrueDiv" and f.walk.constants.uniform(scale) == 2
    if halved and f.walk.constants.uniform(strip(alpha).owner.inputs[1]) == 2:
        return call("ChiSquared", f.param(strip(alpha).owner.inputs[0]))
    # PyMC rounds 1/10 of a whole 10 to float32, and its inverse in the density to 10 again.
    given = scalar_name(scale) == "Reciprocal"
    return call("Gamma", f.param(alpha), f.param(_below(scale)) if given else f.inverse(scale))


@family("Rice")
def rice(f: Family) -> Text:
    """b = nu / sigma, as PyMC writes it, is given by nu."""
    b, sigma = f.params
    if scalar_name(b) == "TrueDiv":
        nu, by = strip(b).owner.inputs
        if _equal(f.walk.constants, by, sigma):
            return call("Rice", f.param(nu), f.param(sigma))
    return call("Rice", b=f.param(b), sigma=f.param(sigma))


@family("HyperGeometric")
def hyper_geometric(f: Family) -> Text:
    """From those that count and the others to those that count among all."""
    good, bad, n = f.params
    every = good + bad
    if scalar_name(bad) == "Sub" and _equal(f.walk.constants, strip(bad).owner.inputs[1], good):
        every = strip(bad).owner.inputs[0]
    return call("HyperGeometric", f.param(every), f.param(good), f.param(n))


@family("AsymmetricLaplace")
def asymmetric_laplace(f: Family) -> Text:
    b, kappa, mu = (f.param(p) for p in f.params)
    return call("AsymmetricLaplace", kappa, mu, b)


@family("Triangular")
def triangular(f: Family) -> Text:
    lower, c, upper = (f.param(p) for p in f.params)
    return call("Triangular", lower=lower, c=c, upper=upper)


#: Arguments of a distribution, by position and by name.
Args = tuple[list[Text], dict[str, Text]]


@family("Bernoulli", "Binomial")
def binomial(f: Family) -> Text:
    args, named = _of_trials(f)
    return call(f.kind, *args, **named)


def _of_trials(f: Family) -> Args:
    *n, p = f.params
    if scalar_name(p) == "Sigmoid":
        named = {"n": f.param(n[0])} if n else {}
        return [], {**named, "logit_p": f.param(_below(p))}
    return [f.param(v) for v in [*n, p]], {}


def _below(p: Any) -> Any:
    """The argument of an elementwise function, with the axes of its value."""
    bare = strip(p)
    inner = bare.owner.inputs[0]
    if bare is p:
        return inner
    # The same changes of axes as of the value.
    return p.owner.op(_below(p.owner.inputs[0]))


@family("BetaBinomial")
def beta_binomial(f: Family) -> Text:
    n, alpha, beta = (f.param(p) for p in f.params)
    return call("BetaBinomial", alpha, beta, n)


@family("NegBinomial")
def negative_binomial(f: Family) -> Text:
    args, named = _of_failures(f)
    return call("NegativeBinomial", *args, **named)


def _of_failures(f: Family) -> Args:
    """n = alpha and p = alpha / (mu + alpha), as PyMC writes it, is given by mu and alpha."""
    alpha, p = f.params
    fixed = f.walk.constants
    if scalar_name(p) == "TrueDiv":
        top, bottom = strip(p).owner.inputs
        if scalar_name(bottom) == "Add" and len(strip(bottom).owner.inputs) == 2:
            terms = strip(bottom).owner.inputs
            others = [t for t in terms if not _equal(fixed, t, top)]
            if len(others) == 1:
                return [f.param(others[0]), f.param(alpha)], {}
    mu = _mean_by_odds(fixed, alpha, p)
    if mu is not None:
        return [f.param(mu), f.param(alpha)], {}
    return [], {"n": f.param(alpha), "p": f.param(p)}


def _mean_by_odds(fixed: Any, alpha: Any, p: Any) -> Any:
    """mu of p = sigmoid(ln alpha − ln mu)."""
    odds = strip(p).owner.inputs[0] if scalar_name(p) == "Sigmoid" else None
    if odds is None or scalar_name(odds) != "Sub":
        return None
    first, second = strip(odds).owner.inputs
    if scalar_name(second) != "Log":
        return None
    if scalar_name(first) == "Log":
        same = _equal(fixed, strip(first).owner.inputs[0], alpha)
    else:
        known = [fixed.uniform(first), fixed.uniform(alpha)]
        same = None not in known and bool(np.isclose(known[0], np.log(known[1]), rtol=1e-15))
    return strip(second).owner.inputs[0] if same else None


def _equal(constants: Any, a: Any, b: Any) -> bool:
    a, b = strip(a), strip(b)
    if a is b:
        return True
    both = constants.holds(a) and constants.holds(b)
    return both and np.array_equal(constants.value(a), constants.value(b))


@family("Censored")
def censored(f: Family) -> Text:
    inner, lower, upper = f.params
    return call("Censored", written(f.of(inner)), **_limits(f, lower, upper))


@family("Truncated")
def truncated(f: Family) -> Text:
    base = f.op.base_rv_op
    *params, lower, upper = f.params
    if hasattr(base, "inner_outputs"):
        raise Unconvertible("Truncated", "of a distribution made of others")
    first = written(f.part(kind_of_op(base), params))
    last = call("truncated", **_limits(f, lower, upper))
    return lambda: f"{first()} {last()}"


def _limits(f: Family, lower: Any, upper: Any) -> dict[str, Text]:
    """Limits that are not infinite."""
    out = {}
    for name, v in (("lower", lower), ("upper", upper)):
        uniform = f.walk.constants.uniform(v)
        if uniform is None or np.isfinite(uniform):
            out[name] = f.param(v)
    return out


def chance(f: Family, w: Any) -> Text:
    """psi of the weights [1 − psi, psi]."""
    bare = strip(w)
    constants = f.walk.constants
    if constants.holds(w):
        value = constants.value(w)
        if value.ndim != 1:
            raise Unconvertible("weights", "that differ by row")
        return lambda: number(value[-1])
    if bare.owner is not None and type(bare.owner.op).__name__ in ("MakeVector", "Join"):
        last = bare.owner.inputs[-1]
        e = f.walk.expr(last)
        if e.axes and e.axes[-1] is None:
            e = e.moved(e.axes[:-1])
        for k in range(1, len(e.axes) + 1):
            a, there = e.axes[-k], f.axes[-k] if k <= len(f.axes) else None
            if a is not None and there is not None and e.number is None:
                unite(there, a, "weights")
        return f.text(e)
    raise Unconvertible("weights", "of two components in this form")


@family("Mixture")
def mixture(f: Family) -> Text:
    w, *components = f.params
    if kind_of(components[0]) == "DiracDelta":
        return _zero_inflated(f, w, components)
    weights = f.walk.expr(w)
    batch = weights.axes[:-1]
    # A row of vectors has one set of weights.
    rows = f.axes[: len(f.axes) - components[0].owner.op.ndim_supp]
    for k in range(1, len(batch) + 1):
        a, there = batch[-k], rows[-k] if k <= len(rows) else None
        if a is not None and there is not None:
            unite(there, a, "weights")
    if len(components) == 1:
        if len(rows) < len(f.axes):
            raise Unconvertible("Mixture", "of vectors that are one distribution with an axis")
        return _of_components(f, weights, components[0], w)
    return call("Mixture", lambda: weights.text(), *[written(f.of(c)) for c in components])


def _of_components(f: Family, weights: Expr, component: Any, w: Any) -> Text:
    """One distribution with an axis of components: written once for each."""
    axis = weights.axes[-1] if weights.axes else None
    n = component.type.shape[-1] or (axis.root.size if axis else 1)
    parts = []
    for k in range(n):
        inner = f.of(component)
        inner.component = k
        parts.append(written(inner))
    if weights.number is not None:
        listed = ", ".join([number(weights.number)] * n)
        return call("Mixture", f"[{listed}]", *parts)
    return call("Mixture", lambda: weights.text(), *parts)


#: The arguments of what is counted where a count is not 0 anyhow.
COUNTED: dict[str, tuple[str, Callable[[Family], Args]]] = {
    "Poisson": ("Poisson", lambda f: ([f.param(f.params[0])], {})),
    "Binomial": ("Binomial", _of_trials),
    "NegBinomial": ("NegativeBinomial", _of_failures),
}


def _with_chance(f: Family, name: str, w: Any, args: Args) -> Text:
    """A distribution with the weight of what is not 0 as its first argument."""
    by_place, named = args
    if named:
        return call(name, psi=chance(f, w), **named)
    return call(name, chance(f, w), *by_place)


def _zero_inflated(f: Family, w: Any, components: Sequence[Any]) -> Text:
    kind = kind_of(components[1])
    if kind not in COUNTED or len(components) != 2:
        raise Unconvertible(f"zero-inflated {kind}", "the language has no such distribution")
    name, args = COUNTED[kind]
    return _with_chance(f, f"ZeroInflated{name}", w, args(f.of(components[1])))


@family("Hurdle")
def hurdle(f: Family) -> Text:
    w, _, component = f.params
    inner = f.of(component)
    base = getattr(inner.op, "base_rv_op", None)
    if inner.kind in ("Gamma", "LogNormal"):
        # PyMC's Gamma has a scale in place of a rate.
        args = inner.params
        shown = [inner.param(args[0]), inner.param(args[1])]
        if inner.kind == "Gamma":
            shown[1] = inner.inverse(args[1])
        return _with_chance(f, f"Hurdle{inner.kind}", w, (shown, {}))
    kind = kind_of_op(base)
    if kind not in ("Poisson", "NegBinomial"):
        raise Unconvertible("Hurdle", f"of {kind if base is not None else inner.kind}")
    name, args_of = COUNTED[kind]
    *params, _, _ = inner.params
    return _with_chance(f, f"Hurdle{name}", w, args_of(inner.part(kind, params)))
