"""A traced NumPyro model as a PyMC model, which the converter of PyMC models turns to text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions import transforms
from pytensor.graph.basic import Constant

from ..conversion import Unconvertible
from . import elementwise, indexing, loops, shapes  # noqa: F401  they fill the table
from .families import CORE, EVENT, Described, Slot
from .graph import value_of
from .tensors import Tensors, Unready
from .trace import Masked, Site, Traced

__all__ = ["Built", "built"]

Array = np.ndarray[Any, Any]


@dataclass
class Built:
    """The model, and how its variables are the sites of the other one."""

    model: Any
    tensors: Tensors
    #: Shapes of the variables that carry sites.
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    #: Correlation matrices of which sites are the factors.
    factors: dict[str, str] = field(default_factory=dict)
    #: Deterministic sites that NumPyro computes from the draws.
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def built(traced: Traced, unrolled: bool = False) -> Built:
    """The PyMC model of a trace.

    Raises Unconvertible for what has no counterpart.
    """
    builder = _Builder(traced, unrolled)
    with builder.out.model:
        for site in traced.sites:
            builder.site(site)
    return builder.out


class _Builder:
    def __init__(self, traced: Traced, unrolled: bool) -> None:
        self.traced = traced
        self.t = Tensors(unrolled, traced.names)
        self.out = Built(pm.Model(), self.t)
        self.taken = {s.name for s in traced.sites}

    # Sites

    def site(self, site: Site) -> None:
        if not site.is_random:
            self.deterministic(site)
        elif site.is_observed:
            self.observed(site)
        else:
            self.latent(site)

    def deterministic(self, site: Site) -> None:
        try:
            value = self.t.whole(self.slot(site.value), site.shape)
        except Unconvertible as why:
            self.out.notes.append(f"{site.name} is computed by NumPyro afterwards: {why}")
            self.out.missing.append(site.name)
            return
        ref = self.traced.outs[site.value]
        if ref.is_constant or site.name in self.out.model.named_vars:
            self.out.missing.append(site.name)
            return
        pm.Deterministic(site.name, value)
        self.dims(site.name, site, list(range(len(site.shape))))

    def latent(self, site: Site) -> None:
        shape, kept = self.squeezed(site)
        self.out.shapes[site.name] = shape
        plain = not site.masks and site.scale is None
        drawn = None
        if plain and site.described is not None:
            try:
                drawn = self.drawn(site.described, site, shape, None, None)
            except Unready:
                self.note(site, "it depends on itself in a loop")
        if drawn is None:
            drawn = self.carrier(site, shape)
            self.know(site, drawn, shape, kept)
            if site.logp is not None and not self.is_masked(site):
                self.potential(site)
        else:
            self.know(site, drawn, shape, kept)

    def is_masked(self, site: Site) -> bool:
        """Whether no element of a site counts."""
        refs = [self.traced.outs[masked.mask] for masked in site.masks]
        return any(ref.is_constant and not np.any(value_of(ref)) for ref in refs)

    def know(self, site: Site, drawn: Any, shape: Sequence[int], kept: Sequence[int]) -> None:
        """From here on the site is this variable, with its axes of length 1."""
        order: list[Any] = ["x"] * len(site.shape)
        for j, k in enumerate(kept):
            order[k] = j
        placed = drawn if len(kept) == len(site.shape) else drawn.dimshuffle(*order)
        self.t.know(self.traced.inputs[site.name], placed)
        if site.is_discrete and site.kind not in ("DiscreteUniform",):
            self.t.not_negative.add(placed)
        self.dims(site.name, site, kept)

    def observed(self, site: Site) -> None:
        ref = self.traced.outs[site.value]
        value = self.slot(site.value) if site.described is not None and site.scale is None else None
        if isinstance(value, Constant) and site.described is not None:
            # Data may have come through a loop.
            seen = np.broadcast_to(value.data, site.shape)
            try:
                self.seen(site, site.described, value_of(ref) if ref.is_constant else seen)
                return
            except (_NoForm, Unready):
                pass
        self.potential(site)

    def seen(self, site: Site, described: Described, value: Array) -> None:
        shape, kept = self.squeezed(site)
        rows = self.rows(site, described)
        if rows is None:
            self.drawn(described, site, shape, value.reshape(shape), None)
            self.dims(site.name, site, kept)
            return
        if rows.all():
            self.drawn(described, site, shape, value.reshape(shape), None)
        elif rows.any():
            self.drawn(
                described, site, shape, value.reshape(shape), np.nonzero(rows.reshape(shape))
            )

    def rows(self, site: Site, described: Described) -> Array | None:
        """Which elements of an observed site count, if its masks are constant."""
        if not site.masks:
            return None
        if described.kind in EVENT:
            raise _NoForm(site.name, "a masked vector")
        out = np.ones(site.shape, dtype=bool)
        for masked in site.masks:
            out &= self.mask(masked, site.shape)
        return out

    def mask(self, masked: Masked, shape: Sequence[int]) -> Array:
        ref = self.traced.outs[masked.mask]
        if not ref.is_constant:
            raise _NoForm("a mask", "that is not constant")
        found = np.asarray(value_of(ref)).astype(bool)
        return np.broadcast_to(found.reshape(found.shape + (1,) * masked.event_dim), shape)

    def potential(self, site: Site) -> None:
        if site.logp is None:
            raise Unconvertible(site.name, f"{site.kind} has no log density")
        logp = self.slot(site.logp)
        shape = self.traced.outs[site.logp].shape
        if site.scale is not None:
            logp = logp * self.slot(site.scale)
            shape = np.broadcast_shapes(shape, self.traced.outs[site.scale].shape)
        total = self.t.whole(logp, shape)
        name = site.name if site.is_observed else f"{site.name}_log_density"
        while name in self.out.model.named_vars:
            name = f"{name}_"
        pm.Potential(name, total.sum())
        if site.kind != "Unit":
            self.note(site, f"{site.kind} in this form")

    def note(self, site: Site, why: str) -> None:
        self.out.notes.append(f"{site.name} counts by its log density: {why}")

    # Arrays

    def slot(self, slot: Slot) -> Any:
        return self.t(self.traced.outs[slot])

    def squeezed(self, site: Site) -> tuple[tuple[int, ...], list[int]]:
        """The site's shape without axes of length 1 of its batch, and the axes that stay."""
        kind = site.described.kind if site.described else ""
        n_event = EVENT.get(kind, 0) or (1 if site.support.kind in VECTORS else 0)
        n_batch = len(site.shape) - n_event
        kept = [k for k, n in enumerate(site.shape) if n != 1 or k >= n_batch]
        return tuple(site.shape[k] for k in kept), kept

    def dims(self, name: str, site: Site, kept: Sequence[int]) -> None:
        """The model's dims of a variable, which are the plates of its site."""
        model = self.out.model
        if name not in model.named_vars:
            return
        dims: list[str | None] = []
        for k in kept:
            dim, size = site.dims[k] if k < len(site.dims) else None, site.shape[k]
            if dim is not None and (size == 1 or dim in model.named_vars):
                dim = None
            if dim is not None and dim not in model.coords:
                model.add_coord(dim, np.arange(size))
            if dim is not None and len(model.coords[dim]) != size:
                dim = None
            dims.append(dim)
        if any(dims):
            model.named_vars_to_dims[name] = tuple(dims)

    # Distributions

    def drawn(
        self, d: Described, site: Site, shape: Sequence[int], value: Array | None, rows: Any
    ) -> Any:
        """The random variable of a site, observed where there is a `value`; of some rows."""
        if d.kind in MATRICES:
            if value is not None:
                raise _NoForm(site.name, "an observed matrix")
            return self.matrix(d, site)
        given = self.given(d, site, len(site.shape), rows)
        more: dict[str, Any] = {"shape": tuple(shape)}
        if value is not None:
            if rows is not None:
                value = value[rows]
                more["shape"] = value.shape
            more["observed"] = value.astype(float) if value.dtype.kind == "f" else value.astype(int)
        if d.kind == "GaussianRandomWalk":
            return self.walk(site, given, more)
        name = site.name
        if name in self.out.model.named_vars:
            raise _NoForm(name, "a name that is there already")
        return getattr(pm, d.kind)(name, **given, **CHOICES.get(d.kind, {}), **more)

    def given(self, d: Described, site: Site, ndim: int, rows: Any) -> dict[str, Any]:
        out = {}
        for name, param in d.params.items():
            core = CORE.get((d.kind, name), 0)
            if isinstance(param, Slot):
                out[name] = self.param(param, d.kind, core, site, rows)
            elif isinstance(param, Described):
                inner = self.inner(param, site, rows, d.params.get("n"))
                out[name] = inner
            elif isinstance(param, list):
                out[name] = [self.inner(one, site, rows, None) for one in param]
        if d.kind in ("Binomial", "BetaBinomial", "Multinomial", "DirichletMultinomial"):
            ref = self.traced.outs[d.params["n"]]
            out["n"] = pt.cast(out["n"], "int64") if ref.is_constant else out["n"]
        return out

    def inner(self, d: Described, site: Site, rows: Any, n: int | None) -> Any:
        """A distribution within another; `n` of them along a last axis."""
        made = {}
        for name, param in d.params.items():
            core = CORE.get((d.kind, name), 0)
            if not isinstance(param, Slot) or core:
                raise _NoForm(site.name, f"{d.kind} within another distribution")
            made[name] = self.param(param, d.kind, 1 if n else 0, site, rows, along=n)
        return getattr(pm, d.kind).dist(**made)

    def param(
        self, slot: Slot, kind: str, core: int, site: Site, rows: Any, along: int | None = None
    ) -> Any:
        """A parameter, whose axes before the last `core` ones are the last of the site's batch."""
        ref, v = self.traced.outs[slot], self.slot(slot)
        if along is not None and (not ref.shape or ref.shape[-1] == 1 != along):
            # One number for all components.
            v = v.dimshuffle(*range(v.type.ndim), "x") if not ref.shape else v
        core = min(core, v.type.ndim)
        if core:
            want = list(v.type.shape)
            want[v.type.ndim - core :] = ref.shape[len(ref.shape) - core :] if ref.shape else [1]
            v = self.t.whole(v, want) if None not in want else v
        n_event = EVENT.get(kind, 0)
        batch = list(site.shape[: len(site.shape) - n_event])
        n_own = v.type.ndim - core
        kept: list[int] = []
        for j in range(n_own):
            k = len(batch) - n_own + j
            if k >= 0 and batch[k] != 1:
                kept.append(j)
            elif v.type.shape[j] != 1:
                raise _NoForm(site.name, "a parameter with more axes than the site")
        while kept and v.type.shape[kept[0]] == 1:
            # Repeated along the first axes.
            kept.pop(0)
        if len(kept) < n_own:
            v = v.dimshuffle(*kept, *range(n_own, v.type.ndim))
        if rows is None:
            return v
        n_own = v.type.ndim - core
        real = [j for j in range(n_own) if v.type.shape[j] != 1]
        if not real:
            return v.dimshuffle(*range(n_own, v.type.ndim)) if n_own else v
        v = v.dimshuffle(*real, *range(n_own, v.type.ndim))
        n_rows = len(rows)
        return v[tuple(rows[n_rows - n_own + j] for j in real)]

    def matrix(self, d: Described, site: Site) -> Any:
        """A correlation matrix, or its factor."""
        if len(site.shape) != 2:
            raise Unconvertible(site.name, f"{d.kind} in a plate")
        n, eta = site.shape[0], self.slot(d.params["eta"])
        if d.kind == "LKJ":
            return pm.LKJCorr(site.name, n=n, eta=eta)
        name = f"{site.name}_correlations"
        while name in self.taken:
            name = f"{name}_"
        self.out.factors[site.name] = name
        factor = pt.linalg.cholesky(pm.LKJCorr(name, n=n, eta=eta))
        return pm.Deterministic(site.name, pt.specify_shape(factor, (n, n)))

    def walk(self, site: Site, given: dict[str, Any], more: dict[str, Any]) -> Any:
        sigma = given["sigma"]
        start = pm.Normal.dist(0.0, sigma)
        return pm.GaussianRandomWalk(site.name, mu=0.0, sigma=sigma, init_dist=start, **more)

    def carrier(self, site: Site, shape: Sequence[int]) -> Any:
        """A variable with the support of a site, and no density but a constant."""
        if site.is_discrete:
            return self.discrete_carrier(site, shape)
        make = CARRIERS.get(site.support.kind)
        if make is None:
            raise Unconvertible(site.name, f"values in {site.support.kind}")
        ends = [
            None if end is None else self.end(site, end)
            for end in (site.support.low, site.support.high)
        ]
        return make(site.name, tuple(shape), *ends)

    def discrete_carrier(self, site: Site, shape: Sequence[int]) -> Any:
        """A variable whose values are all as likely."""
        d = site.described
        if d is not None and d.kind == "Bernoulli":
            return pm.Bernoulli(site.name, 0.5, shape=shape)
        if d is not None and d.kind == "Categorical":
            n = self.traced.outs[next(iter(d.params.values()))].shape[-1]
            return pm.Categorical(site.name, np.full(n, 1 / n), shape=shape)
        raise Unconvertible(site.name, f"a discrete site with {site.kind} in this form")

    def end(self, site: Site, slot: Slot) -> float:
        ref = self.traced.outs[slot]
        found = np.unique(np.asarray(value_of(ref))) if ref.is_constant else np.zeros(0)
        if len(found) != 1:
            raise Unconvertible(site.name, f"{site.kind} between ends that are no constant number")
        return float(found[0])


class _NoForm(Unconvertible):
    """A distribution that counts by its log density."""


def _flat(name: str, shape: Any, low: Any, high: Any) -> Any:
    return pm.Flat(name, shape=shape)


def _between(name: str, shape: Any, low: Any, high: Any) -> Any:
    return pm.Uniform(name, low, high, shape=shape)


def _beyond(name: str, shape: Any, low: Any, high: Any) -> Any:
    if low == 0 and high is None:
        return pm.HalfFlat(name, shape=shape)
    return pm.Flat(name, shape=shape, transform=transforms.Interval(low, high))


#: Supports whose values are vectors.
VECTORS = ("simplex", "ordered")
#: Variables by their support.
CARRIERS: dict[str, Callable[..., Any]] = {
    "real": _flat,
    "real_vector": _flat,
    "positive": lambda name, shape, low, high: pm.HalfFlat(name, shape=shape),
    "nonnegative": lambda name, shape, low, high: pm.HalfFlat(name, shape=shape),
    "softplus_positive": lambda name, shape, low, high: pm.HalfFlat(name, shape=shape),
    "unit": lambda name, shape, low, high: pm.Uniform(name, 0, 1, shape=shape),
    "interval": _between,
    "above": _beyond,
    "below": _beyond,
    "simplex": lambda name, shape, low, high: pm.Dirichlet(name, np.ones(shape[-1]), shape=shape),
    "ordered": lambda name, shape, low, high: pm.Flat(
        name, shape=shape, transform=transforms.ordered
    ),
}
#: Kinds whose values are matrices.
MATRICES = ("LKJCholesky", "LKJ")
#: Arguments that are always the same.
CHOICES: dict[str, dict[str, Any]] = {"OrderedLogistic": {"compute_p": False}}
