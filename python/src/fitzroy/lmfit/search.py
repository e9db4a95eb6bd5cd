"""The lowest of several minima."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..curves.solve import Found
from .methods import INSIDE
from .objective import TOO_MANY, AbortFitException

if TYPE_CHECKING:
    from .fit import Fit

__all__ = ["hops_of", "searched", "seed_of", "start_away"]

Array = np.ndarray[Any, Any]

#: Starts away from the best minimum: of a function that is traced, and of one that is called.
HOPS, HOPS_OF_CALLED = 100, 30
#: A step away from the best minimum, relative to each value.
STEP = 0.5
SEED = 42


def searched(fit: Fit, kind: str, kws: dict[str, Any]) -> Found | None:
    """The lowest minimum that is found from the start, from steps away from it, and inside bounds
    by differential evolution.

    Raises ValueError for a method that needs bounds where some parameters have none.
    """
    bounded = bool(np.all(np.isfinite(fit.lower) & np.isfinite(fit.upper)))
    if kind in INSIDE and not bounded:
        raise ValueError(f"{kind} requires finite bounds for all varying parameters")
    best = fit.local(fit.start)
    if best is None:
        return None
    traced = best.made is not None and fit.problem.by_formula
    _go_on(fit)
    if kind in INSIDE and traced and "loss" not in fit.options:
        found = fit.local(fit.start, **{"global": True, "seed": seed_of(kws)})
        return _lower(fit, best, found)
    rng = np.random.default_rng(seed_of(kws))
    for _ in range(hops_of(kws, HOPS if traced else HOPS_OF_CALLED)):
        _go_on(fit)
        away = start_away(fit.lower, fit.upper, best.popt, rng, bounded)
        best = _lower(fit, best, fit.local(away))
    return best


def _go_on(fit: Fit) -> None:
    """Raises AbortFitException where there were as many evaluations as were allowed."""
    if fit.spent:
        fit.objective.calls = fit.evaluations
        raise AbortFitException(TOO_MANY.format(fit.max_nfev))


def hops_of(kws: dict[str, Any], default: int) -> int:
    """How many further starts there are."""
    return int(kws.get("niter", kws.get("totaliter", default)))


def seed_of(kws: dict[str, Any]) -> int:
    """The seed of a search, the same where none is given."""
    seed = kws.get("seed", kws.get("rng"))
    return int(seed) if isinstance(seed, (int, np.integer)) else SEED


def start_away(
    lower: Array, upper: Array, best: Array, rng: np.random.Generator, bounded: bool
) -> Array:
    """A point anywhere inside bounds, or a step away from the best one."""
    if bounded and rng.random() < 0.5:
        return np.asarray(rng.uniform(lower, upper))
    size = np.where(best == 0, 1.0, np.abs(best))
    moved = best + STEP * size * rng.standard_normal(best.size)
    return np.asarray(np.clip(moved, lower, upper))


def _lower(fit: Fit, best: Found, other: Found | None) -> Found:
    """The better one of two ends; a minimum before what is none."""
    if other is None or not np.isfinite(fit.cost(other)):
        return best
    if other.facts["converged"] != best.facts["converged"]:
        return other if other.facts["converged"] else best
    return other if fit.cost(other) < fit.cost(best) else best
