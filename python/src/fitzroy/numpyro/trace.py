"""A NumPyro model's sites, and how their parameters follow from one another, as NumPyro's handlers and
JAX tell it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.distributions import constraints
from numpyro.distributions.distribution import validation_enabled
from numpyro.infer.initialization import init_to_sample
from numpyro.infer.reparam import TransformReparam

from ..conversion import Unconvertible
from .arguments import dims_of, in_double, named_data
from .families import FAMILIES, Described, Slot
from .graph import Ref, double, graph_of, needed

__all__ = ["Masked", "Site", "Support", "Traced", "peeled", "support_of", "traced"]


@dataclass
class Support:
    """Where a site's values lie."""

    kind: str
    low: Slot | None = None
    high: Slot | None = None


@dataclass
class Masked:
    """Which elements of a site count; `event_dim` axes of the value follow those of the mask."""

    mask: Slot
    event_dim: int


@dataclass
class Site:
    """One site of a trace. Arrays are outputs of the traced program."""

    name: str
    shape: tuple[int, ...]
    value: Slot
    #: False for a deterministic site.
    is_random: bool = False
    is_observed: bool = False
    is_discrete: bool = False
    #: The distribution by its counterpart, if it has one.
    described: Described | None = None
    masks: list[Masked] = field(default_factory=list)
    scale: Slot | None = None
    #: Its log density, element by element.
    logp: Slot | None = None
    support: Support = field(default_factory=lambda: Support("real"))
    #: Names of the dims of its axes.
    dims: list[str | None] = field(default_factory=list)
    kind: str = ""


@dataclass
class Traced:
    """A model with its arguments, and what was found of it."""

    #: The model that was traced, in which the bases of transformed distributions are sites.
    model: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    sites: list[Site]
    #: Values of latent sites in the graph, and the arrays of all sites.
    inputs: dict[str, Ref]
    outs: list[Ref]
    #: Names of data by their shape and bytes.
    names: dict[Any, str]
    #: Sites that are not the user's.
    own: set[str]

    #: Whether it loops.
    has_loops: bool = False
    #: Whether it ran in float64.
    is_double: bool = True

    @property
    def latent(self) -> list[Site]:
        return [s for s in self.sites if s.is_random and not s.is_observed]


def peeled(fn: Any) -> Any:
    """A distribution without what only arranges its axes, or masks elements."""
    wrappers = (dist.Independent, dist.ExpandedDistribution, dist.MaskedDistribution)
    while isinstance(fn, wrappers):
        fn = fn.base_dist
    return fn


class _Bases:
    """A model with the base of each transformed distribution as the site, and what was the site as a
    function of it."""

    def __init__(self, model: Callable[..., Any]) -> None:
        self.model: Callable[..., Any] = handlers.reparam(model, config=self.config)
        #: Names of these sites, which are not the user's.
        self.own: set[str] = set()

    def config(self, msg: Any) -> Any:
        fn = msg["fn"]
        while isinstance(fn, (dist.Independent, dist.ExpandedDistribution)):
            fn = fn.base_dist
        transformed = isinstance(fn, dist.TransformedDistribution) and type(fn) not in FAMILIES
        if not transformed or msg["is_observed"]:
            return None
        self.own.add(f"{msg['name']}_base")
        return TransformReparam()


class _Recorder:
    """Makes the program whose outputs are the arrays of all sites."""

    def __init__(self, model: Any, args: Any, kwargs: Any) -> None:
        self.model, self.args, self.kwargs = model, args, kwargs
        self.sites: list[Site] = []
        self.arrays: list[Any] = []

    def put(self, x: Any) -> Slot:
        self.arrays.append(jnp.asarray(x))
        return Slot(len(self.arrays) - 1)

    def latent(self) -> dict[str, Any]:
        """Shapes and types of the latent sites."""

        def program() -> dict[str, Any]:
            model = handlers.substitute(handlers.seed(self.model, 0), substitute_fn=init_to_sample)
            trace = handlers.trace(model).get_trace(*self.args, **self.kwargs)
            return {name: site["value"] for name, site in trace.items() if self.is_latent(site)}

        return dict(jax.eval_shape(program))

    @staticmethod
    def is_latent(site: Any) -> bool:
        if site["type"] == "param":
            raise Unconvertible(site["name"], "a param without a prior")
        if site["type"] == "plate":
            size, taken = site["args"][:2]
            if taken is not None and taken < size:
                raise Unconvertible(site["name"], "a plate of which a random part is taken")
        return bool(site["type"] == "sample" and not site["is_observed"])

    def program(self, values: dict[str, Any]) -> list[Any]:
        self.sites, self.arrays = [], []
        model = handlers.substitute(handlers.seed(self.model, 0), data=values)
        trace = handlers.trace(model).get_trace(*self.args, **self.kwargs)
        for name, site in trace.items():
            if site["type"] == "deterministic":
                value = jnp.asarray(site["value"])
                made = Site(
                    name, value.shape, self.put(value), dims=dims_of(site, value.ndim, None)
                )
                self.sites.append(made)
            elif site["type"] == "sample":
                self.sites.append(self.random(name, site))
        return self.arrays

    def random(self, name: str, site: Any) -> Site:
        fn, value = site["fn"], jnp.asarray(site["value"])
        bare = peeled(fn)
        out = Site(name, value.shape, self.put(value), is_random=True, kind=type(bare).__name__)
        out.is_observed = bool(site["is_observed"])
        out.is_discrete = not jnp.issubdtype(value.dtype, jnp.floating)
        out.dims = dims_of(site, value.ndim, fn.event_dim)
        scale = site.get("scale")
        if scale is not None and not (np.ndim(scale) == 0 and not _is_traced(scale) and scale == 1):
            out.scale = self.put(scale)
        out.masks = self.masks(fn)
        describe = FAMILIES.get(type(bare))
        out.described = None if describe is None else describe(bare, self.put)
        if not isinstance(bare, dist.ImproperUniform):
            out.logp = self.put(fn.log_prob(value))
        if not out.is_observed and not out.is_discrete:
            kind, *ends = support_of(fn)
            out.support = Support(kind, *[None if x is None else self.put(x) for x in ends])
        return out

    def masks(self, fn: Any) -> list[Masked]:
        out = []
        while fn is not peeled(fn):
            if isinstance(fn, dist.MaskedDistribution) and fn._mask is not True:
                out.append(Masked(self.put(fn._mask), fn.event_dim))
            fn = fn.base_dist
        return out


def support_of(fn: Any) -> tuple[str, Any, Any]:
    """The kind of a distribution's support, and its ends."""
    found = fn.support
    while hasattr(found, "base_constraint"):
        found = found.base_constraint
    for kind, constraint in SUPPORTS.items():
        if type(found) is type(constraint):
            return kind, None, None
    kind = type(found).__name__.lstrip("_")
    if kind in ("Interval", "OpenInterval"):
        return "interval", found.lower_bound, found.upper_bound
    if kind.startswith("GreaterThan"):
        return "above", found.lower_bound, None
    if kind.startswith("LessThan"):
        return "below", None, found.upper_bound
    return kind, None, None


#: Constraints without parameters.
SUPPORTS = {
    "real": constraints.real,
    "real_vector": constraints.real_vector,
    "positive": constraints.positive,
    "nonnegative": constraints.nonnegative,
    "softplus_positive": constraints.softplus_positive,
    "unit": constraints.unit_interval,
    "simplex": constraints.simplex,
    "ordered": constraints.ordered_vector,
    "circular": constraints.circular,
}


def _is_traced(x: Any) -> bool:
    return isinstance(x, jax.core.Tracer)


def traced(model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    """Traces a model, in float64 if it runs in that.

    Raises Unconvertible for what has no counterpart; what the model itself raises comes through.
    """
    try:
        return _traced(model, args, kwargs, True)
    except TypeError as first:
        # A loop whose whole numbers have 32 bits by its start and 64 by its steps, for one.
        try:
            return _traced(model, args, kwargs, False)
        except TypeError:
            raise first from None


def _traced(
    model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], is_double: bool
) -> Traced:
    with double(is_double):
        args, kwargs = in_double((tuple(args), dict(kwargs))) if is_double else (args, kwargs)
        names = named_data(model, args, kwargs)
        bases = _Bases(model)
        recorder = _Recorder(bases.model, args, kwargs)
        latent = recorder.latent()
        try:
            # What NumPyro has to say of constants has been said.
            with validation_enabled(False):
                closed = jax.make_jaxpr(recorder.program)(latent)
            refs, outs = graph_of(closed)
        except Unconvertible:
            raise
        except Exception as error:
            said = str(error).strip().partition("\n")[0]
            raise Unconvertible("the model", f"{type(error).__name__}: {said}") from error
    inputs = dict(zip(sorted(latent), refs))
    loops = any(step.name == "scan" for step in needed(outs, ()))
    return Traced(
        bases.model,
        args,
        kwargs,
        recorder.sites,
        inputs,
        outs,
        names,
        bases.own,
        loops,
        is_double,
    )
