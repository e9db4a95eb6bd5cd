"""Draws as NumPyro has them: values of its sites, and their groups for ArviZ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from numpyro import handlers

from ..results import tree
from .graph import double

__all__ = ["Draws", "at_sites"]

Array = np.ndarray[Any, Any]
#: Dims of chains and draws.
BOTH = ("chain", "draw")


@dataclass
class Draws:
    """What a run left: values of sites by their names, a first axis of chains and one of draws."""

    raw: dict[str, Any]
    posterior: dict[str, Array]
    #: The same of the warm-up, if it was kept.
    warmup: dict[str, Array] = field(default_factory=dict)
    #: Names of the axes of sites.
    dims: dict[str, list[str | None]] = field(default_factory=dict)
    observed: dict[str, Array] = field(default_factory=dict)
    #: Sites that are functions of others.
    deterministic: frozenset[str] = frozenset()
    #: Discrete sites, which NumPyro sums out and does not draw.
    discrete: frozenset[str] = frozenset()

    @property
    def stats(self) -> dict[str, Array]:
        """What the sampler says of each draw, by ArviZ's names."""
        return {k: v for k, (_, v) in self.raw["groups"].get("sample_stats", {}).items()}

    def tree(self, var_names: Sequence[str] | None = None) -> Any:
        """The groups for ArviZ."""
        if var_names is not None:
            unknown = set(var_names) - set(self.posterior)
            if unknown:
                raise ValueError(f"var_names: the model has no {', '.join(sorted(unknown))}")
        groups: dict[str, Any] = {}
        for name, drawn in (("posterior", self.posterior), ("warmup_posterior", self.warmup)):
            chosen = {k: v for k, v in drawn.items() if var_names is None or k in var_names}
            if chosen:
                groups[name] = {
                    k: ((*BOTH, *self.named(k, v.ndim - 2)), v) for k, v in chosen.items()
                }
        for name in ("sample_stats", "warmup_sample_stats"):
            if name in self.raw["groups"]:
                groups[name] = dict(self.raw["groups"][name])
        if self.observed:
            groups["observed_data"] = {
                k: (self.named(k, v.ndim), v) for k, v in self.observed.items()
            }
        kept = {k: v for k, v in self.raw["coords"].items() if k in BOTH}
        return tree({**self.raw, "coords": kept}, groups, {})

    def named(self, name: str, ndim: int) -> tuple[str, ...]:
        """Names of all axes of a site; ArviZ's where it has none, or one twice."""
        given = [*self.dims.get(name, []), *[None] * ndim][:ndim]
        return tuple(
            dim if dim is not None and given.count(dim) == 1 else f"{name}_dim_{k}"
            for k, dim in enumerate(given)
        )


def at_sites(
    model: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    wanted: Sequence[str],
    drawn: dict[str, Array],
    is_double: bool,
) -> dict[str, Array]:
    """Values of other sites at draws of the latent ones, as NumPyro computes them."""

    def one(values: dict[str, Any]) -> dict[str, Any]:
        seeded = handlers.substitute(handlers.seed(model, 0), data=values)
        trace = handlers.trace(seeded).get_trace(*args, **kwargs)
        return {name: trace[name]["value"] for name in wanted}

    shape = next(iter(drawn.values())).shape[:2]
    flat = {k: v.reshape(-1, *v.shape[2:]) for k, v in drawn.items()}
    with double(is_double):
        found = jax.jit(jax.vmap(one))(flat)
    return {k: np.asarray(v).reshape(*shape, *v.shape[1:]) for k, v in found.items()}
