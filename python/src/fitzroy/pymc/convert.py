"""A PyMC model as text and data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors
from pytensor.scalar.basic import autocast_float_as

# The tables of ops and distributions fill when their modules are read.
from . import (  # noqa: F401
    convolution,
    elementwise,
    indexing,
    interpolation,
    joining,
    matrices,
    ode,
    packed,
    products,
    reductions,
    scan,
    shapes,
)
from .axes import Axis, Expr, Unconvertible, number, unite
from .densities import density
from .discrete import drawn_afterwards, is_discrete
from .distributions import Family, Text, call, kind_of, params_of, written
from .given import Given, given, shared_values
from .layout import sums_to_zero
from .limits import ends_of, is_own
from .lowering import lowered
from .minibatches import of_all_rows
from .steps import check_steps
from .vectors import start
from .walk import Walk, strip
from .writer import bare

__all__ = ["Conversion", "convert"]

Array = np.ndarray[Any, Any]


@dataclass
class Conversion:
    """What a model was converted to."""

    text: str
    #: Declared data by the names of the text.
    data: dict[str, Array]
    #: Labels of dims by the names of the text.
    labels: dict[str, list[str]]
    #: How things were done, for people.
    notes: list[str]
    #: Names of the model by those of the text.
    called: dict[str, str]
    #: Covariance factors, whose draws PyMC keeps as packed triangles.
    packed: set[str] = field(default_factory=set)
    #: Tables whose rows and columns sum to 0, which the text has by one row and one column less.
    centred: set[str] = field(default_factory=set)
    #: Variables whose axes the text has in the order in which they are drawn, with the order of the
    #: model.
    turned: dict[str, tuple[int, ...]] = field(default_factory=dict)
    #: Axes that the text does not have, of deterministics: place and length, along which they are
    #: all the same.
    repeated: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    #: The model in plain arrays.
    model: Any = None
    #: Deterministics that PyMC has to compute from the draws.
    missing: list[str] = field(default_factory=list)
    #: The data and labels of the model when it was converted.
    given: Given | None = None
    #: The values that its shared variables had.
    shared: list[tuple[Any, Array]] = field(default_factory=list)
    #: Variables whose density is there, and which cannot be drawn from.
    by_density: list[str] = field(default_factory=list)


    @property
    def is_stale(self) -> bool:
        """Whether the model has other data now."""
        return any(not np.array_equal(v.get_value(borrow=True), x) for v, x in self.shared)


def convert(model: Any) -> Conversion:
    """Converts a model.

    Raises Unconvertible, with the reason.
    """
    check_steps(model)
    try:
        plain = lowered(of_all_rows(model))
        out = _Converter(plain).run()
        out.model, out.given, out.shared = plain, given(plain), shared_values(model)
        return out
    except Unconvertible:
        raise
    except Exception as error:
        # Models of other people hold graphs that nobody here has seen.
        said = str(error).strip().partition("\n")[0]
        raise Unconvertible("the model", f"{type(error).__name__}: {said}") from error


class _Converter:
    def __init__(self, model: Any) -> None:
        self.model = model
        self.walk = Walk(model)
        self.out = Conversion("", {}, {}, self.walk.notes, {})
        #: Deterministics that a distribution brings along.
        self.own: set[str] = set()
        #: Variables that are drawn after all others.
        self.later: list[Any] = []
        #: Where the densities of variables are taken that count by these.
        self.placed: dict[Any, Any] = {}

    def run(self) -> Conversion:
        model = self.model
        if not model.free_RVs:
            raise Unconvertible("the model", "it has no free variables")
        if all(is_discrete(v) for v in model.free_RVs):
            raise Unconvertible("a model of discrete variables alone", "there is no slope to follow")
        self.later = drawn_afterwards(model)
        items = [*model.basic_RVs, *model.deterministics, *model.potentials]
        self.walk.count(items)
        self.walk.constants.free.update(model.basic_RVs)
        place = {name: k for k, name in enumerate(model.named_vars)}
        for v in sorted(items, key=lambda v: place.get(v.name, len(place))):
            if v in model.potentials:
                self.potential(v)
            elif v in model.deterministics:
                self.deterministic(v)
            else:
                self.random(v)
        out, writer = self.out, self.walk.writer
        out.text = writer.text()
        out.notes = list(dict.fromkeys(out.notes))
        out.data = writer.data
        self.label()
        return out

    def label(self) -> None:
        """Labels of the model's coords, for messages."""
        for shown, axis in self.walk.writer.shown_dims().items():
            values = self.model.coords.get(axis.name) if axis.name else None
            if values is None or len(values) != axis.size or shown in self.out.data:
                continue
            texts = [str(v) for v in values]
            if len(set(texts)) == len(texts):
                self.out.labels[shown] = texts

    def name(self, v: Any) -> str:
        shown = self.walk.writer.variable(v.name)
        self.out.called[bare(shown)] = v.name
        return shown

    def potential(self, v: Any) -> None:
        self.add(self.walk.expr(v))

    def deterministic(self, v: Any) -> None:
        walk = self.walk
        if v.name in self.own:
            return
        if walk.constants.holds(v) or set(self.later) & set(ancestors([v])):
            self.out.missing.append(v.name)
            return
        mark = walk.writer.mark()
        try:
            e = walk.known(v) or walk.apply(v)
        except Unconvertible as why:
            if walk.is_used(v):
                raise
            walk.writer.back(mark)
            walk.notes.append(f"{v.name} is computed by PyMC afterwards: {why}")
            self.out.missing.append(v.name)
            return
        dims = self.model.named_vars_to_dims.get(v.name) or ()
        for a, dim in zip(e.axes, dims):
            if a is not None and dim and a.root.name is None:
                walk.named_axis(dim, a.root.size).join(a)
        lacking = [k for k, a in enumerate(e.axes) if a is None]
        if lacking:
            self.out.repeated[v.name] = [(k, self.length(v, k)) for k in lacking]
        shown = self.name(v)
        walk.writer.say(lambda: f"{shown}{walk.writer.dims(e.axes, twice=True)} = {e.text()}")
        walk.know(v, Expr(e.axes, shown, named=True))

    def random(self, v: Any) -> None:
        model, walk = self.model, self.walk
        kind = kind_of(v)
        if kind == "LKJCholeskyCov":
            self.covariance_factor(v)
            return
        if kind == "LKJCorr" and v.type.ndim == 2:
            self.correlations(v)
            return
        if kind == "PartialObserved":
            self.part(v)
            return
        observed = v in model.observed_RVs
        bare = strip(v) is v and not observed
        if kind == "ZeroSumNormal" and bare and v.owner.op.ndim_supp == 2:
            self.centred_table(v)
            return
        value = walk.constants.value(model.rvs_to_values[v]) if observed else None
        sizes = self.shape(v) if value is None else value.shape
        walk.constants.sizes[v] = tuple(int(s) for s in sizes)
        axes = walk.axes_of(v.name, sizes)
        drawn = strip(v)
        if drawn is not v:
            order = tuple(int(k) for k in v.owner.op.new_order)
            axes = [axes[order.index(k)] for k in range(len(order))]
            value = None if value is None else value.transpose(np.argsort(order))
            self.out.turned[v.name], drawn.name = order, v.name
            walk.constants.sizes[drawn] = tuple(a.size for a in axes)
        mark = (walk.writer.mark(), dict(self.out.called))
        shown = self.name(v)
        transform = model.rvs_to_transforms.get(v)
        tail = self.tail(drawn, transform, axes)
        try:
            if tail is None:
                raise Unconvertible(kind, f"the transform {type(transform).__name__}")
            text = written(Family(walk, drawn, axes))
        except Unconvertible as why:
            walk.writer.back(mark[0])
            self.out.called = mark[1]
            if v in self.later:
                raise
            self.by_density(drawn, axes, value, transform, why)
            self.turn(v)
            return
        if value is not None:
            walk.writer.observed(shown, value, axes)
        verb = "predict " if v in self.later else ""
        walk.writer.say(
            lambda: f"{verb}{shown}{walk.writer.dims(axes, twice=True)} ~ {text()}{tail()}"
        )
        walk.know(drawn, Expr(list(axes), shown, named=True))
        self.turn(v)

    def part(self, v: Any) -> None:
        """Values of a distribution that does not give numbers one by one, of which some are missing.

        These are parameters, and both parts together have one density.
        """
        walk, model = self.walk, self.model
        whole, missing = v.owner.inputs
        places = walk.constants.value(missing)
        seen = v in model.observed_RVs
        walk.constants.sizes[v] = (int(np.sum(~places if seen else places)),)
        if seen:
            value = pt.as_tensor(walk.constants.value(model.rvs_to_values[v]))
            walk.know(v, walk.constant(value.astype(v.type.dtype), v.name))
        elif is_discrete(v) or model.rvs_to_transforms.get(v) is not None:
            raise Unconvertible(v.name.rsplit("_", 1)[0], "missing values that are bounded or whole")
        else:
            axes = walk.axes_of(v.name, walk.constants.sizes[v])
            shown = self.name(v)
            walk.writer.say(lambda: f"{shown}{walk.writer.dims(axes)} ~ Flat()")
            walk.know(v, Expr(list(axes), shown, named=True))
        parts = v.owner.outputs
        if any(walk.known(part) is None for part in parts):
            return
        placed = pt.zeros(walk.constants.value(whole.shape), dtype=whole.type.dtype)
        for there, part in zip((~places, places), parts):
            named = pt.tensor(dtype=part.type.dtype, shape=(int(there.sum()),))
            walk.know(named, walk.expr(part))
            placed = pt.set_subtensor(placed[there], named)
        self.target({whole: placed})

    def turn(self, v: Any) -> None:
        """The variable with its axes in the order of the model."""
        if self.walk.known(v) is None:
            self.walk.know(v, self.walk.apply(v))

    def shape(self, v: Any) -> tuple[int, ...]:
        known = list(v.type.shape)
        for k, dim in enumerate(self.model.named_vars_to_dims.get(v.name) or ()):
            if known[k] is None and dim is not None:
                known[k] = self.walk.constants.whole(self.model.dim_lengths[dim])
        if None not in known:
            return tuple(int(s) for s in known)
        return tuple(int(s) for s in self.walk.constants.value(v.shape))

    def length(self, v: Any, k: int) -> int:
        """The length of an axis that an expression does not have."""
        dims = self.model.named_vars_to_dims.get(v.name) or ()
        known = v.type.shape[k]
        if known is None and k < len(dims) and dims[k] is not None:
            known = self.walk.constants.whole(self.model.dim_lengths[dims[k]])
        return self.walk.constants.whole(v.shape[k]) if known is None else int(known)

    def tail(self, v: Any, transform: Any, axes: list[Axis]) -> Text | None:
        """What follows a distribution; none for a transform without a counterpart."""
        name = type(transform).__name__
        if transform is None or is_own(v, transform):
            return lambda: ""
        if name == "Ordered":
            return lambda: " ordered"
        ends = ends_of(v, transform)
        if ends is None or v.owner.op.ndim_supp:
            return None
        family = Family(self.walk, v, axes)
        named = {k: family.param(x) for k, x in zip(("lower", "upper"), ends) if x is not None}
        limits = call("bounded", **named)
        return lambda: f" {limits()}"

    def by_density(
        self, v: Any, axes: list[Axis], value: Array | None, transform: Any, why: Unconvertible
    ) -> None:
        """A variable without a counterpart: its log density, as PyMC writes it, in the target."""
        walk = self.walk
        if value is not None:
            placed = pt.as_tensor(value).astype(v.type.dtype)
        else:
            shown = self.name(v)
            prior = self.carrier(v, transform, axes, why)
            walk.writer.say(lambda: f"{shown}{walk.writer.dims(axes, twice=True)} ~ {prior}")
            sizes = tuple(a.root.size for a in axes)
            placed = pt.tensor(v.name, dtype=v.type.dtype, shape=sizes)
            e = Expr(list(axes), shown, named=True)
            walk.know(placed, e)
            walk.know(v, e)
        self.placed[v] = placed
        together = [strip(rv) for rv in self.model.basic_RVs if strip(rv).owner is v.owner]
        if all(rv in self.placed for rv in together):
            self.target({rv: self.placed[rv] for rv in together})
        if value is not None:
            walk.know(v, walk.constant(placed, v.name))
        walk.notes.append(f"{v.name} counts by its log density: {why}")
        self.out.by_density.append(v.name)

    def target(self, placed: dict[Any, Any]) -> None:
        """The log density of variables that one op makes, at places, as PyMC writes it."""
        from pymc.logprob.basic import conditional_logp, logp

        rvs = self.given_values(list(placed))
        at = dict(zip(rvs, placed.values()))
        # Without this PyMC computes √2 and the like in float32.
        with autocast_float_as("float64"):
            first = rvs[0]
            own = density(self.walk.constants, kind_of(first), at[first], params_of(first))
            if own is not None:
                terms = [own]
            elif len(rvs) == 1 and len(first.owner.outputs) <= 2:
                terms = [logp(first, at[first], warn_rvs=False)]
            else:
                terms = list(conditional_logp(at, warn_rvs=False).values())
        for term in terms:
            self.add(self.walk.expr(term))

    def add(self, e: Expr) -> None:
        self.walk.writer.say(lambda: f"target += {e.text()}")

    def given_values(self, rvs: list[Any]) -> list[Any]:
        """Variables with names in place of the random ones that they depend on.

        PyMC may write a density with variables of its own that are made of them.
        """
        values = {}
        for rv in self.model.basic_RVs:
            known = self.walk.known(rv)
            if rv not in rvs and known is not None:
                sizes = self.walk.constants.sizes.get(rv, rv.type.shape)
                values[rv] = pt.tensor(rv.name, dtype=rv.type.dtype, shape=sizes)
                self.walk.know(values[rv], known)
        return list(clone_replace(rvs, values, rebuild_strict=False))

    def carrier(self, v: Any, transform: Any, axes: list[Axis], why: Unconvertible) -> str:
        """A prior that adds nothing but the transform of a variable."""
        kind = type(transform).__name__
        if transform is None:
            return "Flat()"
        if kind == "LogTransform":
            return "HalfFlat()"
        if kind == "LogOddsTransform":
            return "Uniform(0, 1)"
        ends = ends_of(v, transform)
        if ends is not None:
            low, high = (None if x is None else self.walk.constants.uniform(x) for x in ends)
            if low is not None and high is not None and np.isfinite(high - low):
                n = int(np.prod([a.size for a in axes]))
                self.walk.writer.say(lambda: f"target += {number(n * np.log(high - low))}")
                return f"Uniform({number(low)}, {number(high)})"
            if low == 0 and ends[1] is None:
                return "HalfFlat()"
        raise why

    def correlations(self, v: Any) -> None:
        n, eta = params_of(v)
        walk, axis = self.walk, Axis(self.walk.constants.whole(n))
        shown = self.name(v)
        text = call("LKJCorr", Family(walk, v, []).param(eta))
        walk.writer.say(
            lambda: f"{shown}[{walk.writer.dim(axis)}, {walk.writer.dim(axis)}] ~ {text()}"
        )
        walk.know(v, Expr([axis, axis], shown, named=True))

    def centred_table(self, v: Any) -> None:
        """Normal numbers whose rows and columns sum to 0: A u Bᵀ of independent ones u."""
        walk, sizes = self.walk, self.shape(v)
        walk.constants.sizes[v] = sizes
        if len(sizes) != 2 or min(sizes) < 3:
            raise Unconvertible("ZeroSumNormal", "over two axes of fewer than 3, or beside others")
        axes = walk.axes_of(v.name, sizes)
        inner = [Axis(n - 1) for n in sizes]
        shown = self.name(v)
        sigma = Family(walk, v, list(inner)).param(params_of(v)[0])
        walk.writer.say(lambda: f"{shown}{walk.writer.dims(inner)} ~ Normal(0, {sigma()})")
        self.out.centred.add(v.name)
        free = pt.tensor(v.name, dtype=v.type.dtype, shape=tuple(n - 1 for n in sizes))
        walk.know(free, Expr(list(inner), shown, named=True))
        rows, columns = (pt.constant(sums_to_zero(n)) for n in sizes)
        whole = walk.writer.let(walk.expr(rows @ free @ columns.T))
        for a, there in zip(whole.axes, axes):
            assert a is not None, "of 3 and more"
            unite(there, a, "ZeroSumNormal")
        walk.know(v, whole)

    def covariance_factor(self, v: Any) -> None:
        n, eta, sd = params_of(v)
        walk, axis = self.walk, Axis(self.walk.constants.whole(n))
        shown = self.name(v)
        spread = start(Family(walk, v, [axis]), sd)
        text = call("LKJCholeskyCov", Family(walk, v, []).param(eta), spread)
        walk.writer.say(
            lambda: f"{shown}[{walk.writer.dim(axis)}, {walk.writer.dim(axis)}] ~ {text()}"
        )
        walk.know(v, Expr([axis, axis], shown, named=True))
        self.out.packed.add(v.name)
        # The language records both beside the factor.
        for suffix in ("corr", "stds"):
            own = f"{v.name}_{suffix}"
            if own in self.model.named_vars:
                self.own.add(own)
            beside = f"{bare(shown)}_{suffix}"
            walk.writer.names[beside] = own
            self.out.called[beside] = own
