"""Starts of a function that is called, if nobody gave any.

A formula says what its parameters are; of a function that is called only its values are known.
Starts are drawn at random in the size of the data. Parameters that the function is linear in are
solved for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .called import UNFINISHED

__all__ = ["Search", "lowest"]

Array = np.ndarray[Any, Any]

#: Calls of the function to look for starts.
CALLS = 600
#: Starts from which a fit descends, at most.
STARTS = 8
#: Points from which residuals say well enough whether a fit is wrong.
FEWEST_SURE = 100
#: Evaluations of a descent that shows where a start leads.
A_FEW = 500
#: A cost is the same up to this, relative.
SAME = 1e-6
#: Differences of a linear function are equal up to this, relative to the larger.
STRAIGHT = 1e-8
#: What may become of a scale of the data: a factor of e to this many standard deviations.
WIDTH = 0.8
#: How often parameters are tried below 0, unless they are places.
NEGATIVE = 0.15


@dataclass
class Search:
    """A function of θ, its data, and within which bounds a start is looked for."""

    #: One value for each point, or one for all.
    values: Callable[[Array], Array]
    #: Makes errors independent, with standard deviation 1.
    whiten: Callable[[Array], Array]
    y: Array
    #: Predictors that are numbers.
    columns: list[Array]
    lower: Array
    upper: Array
    #: Calls of the function so far.
    calls: int = 0

    def starts(self) -> list[Array]:
        """The starts of the lowest sums of squares, the lowest first."""
        chance = np.random.default_rng(self.lower.size)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            straight = self._linear(chance)
            tries = CALLS // (len(straight) + 1)
            found = [self._solved(self._drawn(chance), straight) for _ in range(tries)]
        costs = np.array([cost for cost, _ in found])
        order = np.argsort(costs, kind="stable")
        return [found[k][1] for k in order[:STARTS] if np.isfinite(costs[k])]

    def _at(self, theta: Array) -> Array | None:
        """The values at θ; none where the function has none."""
        self.calls += 1
        try:
            found = np.broadcast_to(self.values(theta), self.y.shape)
        except Exception:  # What a function raises far from its minimum says nothing of the fit.
            return None
        return found if np.all(np.isfinite(found)) else None

    def _drawn(self, chance: np.random.Generator) -> Array:
        """Parameters of the size of something in the data, within bounds."""
        theta = np.array([self._one(chance) for _ in range(self.lower.size)])
        for k in range(theta.size):
            low, high = self.lower[k], self.upper[k]
            if np.isfinite(low) and np.isfinite(high):
                inside = low <= theta[k] <= high
                if not inside or chance.uniform() < 0.5:
                    theta[k] = _between(chance, low, high)
            elif theta[k] < low:
                theta[k] = low + abs(theta[k])
            elif theta[k] > high:
                theta[k] = high - abs(theta[k])
        return theta

    def _one(self, chance: np.random.Generator) -> float:
        kind = chance.integers(6) if self.columns else chance.integers(2)
        sign = -1.0 if chance.uniform() < NEGATIVE else 1.0
        factor = sign * np.exp(WIDTH * chance.standard_normal())
        size = np.array([np.max(np.abs(self.y)), np.ptp(self.y), abs(np.median(self.y))])
        if kind == 0:
            return float(factor)
        if kind == 1:
            return float(factor * chance.choice(size))
        x = self.columns[chance.integers(len(self.columns))]
        if kind == 2:
            return float(chance.uniform(np.min(x), np.max(x)))
        length = chance.choice([np.ptp(x), 0.1 * np.ptp(x), np.max(np.abs(x)), abs(np.median(x))])
        if kind == 3 or length == 0:
            return float(factor * length)
        return float(factor / length if kind == 4 else factor * size[1] / length)

    def _linear(self, chance: np.random.Generator) -> list[int]:
        """Parameters that the function is linear in, all together."""
        for _ in range(20):
            theta = self._drawn(chance)
            here = self._at(theta)
            if here is not None:
                break
        else:
            return []
        found: list[int] = []
        moved: dict[int, Array] = {}
        for k in range(theta.size):
            by = [self._moved(theta, {k: step}) for step in (0.5, 1.0)]
            if by[0] is None or by[1] is None:
                continue
            once, twice = by[0] - here, by[1] - here
            if not np.any(once) or not _alike(2 * once, twice, here):
                continue
            both = [self._moved(theta, {j: 0.5, k: 0.5}) for j in found]
            apart = all(
                b is not None and _alike(b - here, moved[j] + once, here)
                for j, b in zip(found, both, strict=True)
            )
            if apart:
                found.append(k)
                moved[k] = once
        return found

    def _moved(self, theta: Array, by: dict[int, float]) -> Array | None:
        there = theta.copy()
        for k, part in by.items():
            there[k] += part * (theta[k] or 1.0)
        return self._at(there)

    def _solved(self, theta: Array, straight: list[int]) -> tuple[float, Array]:
        """The sum of squares with the best values of the linear parameters, and these."""
        theta = theta.copy()
        theta[straight] = 0.0
        base = self._at(theta)
        if base is None:
            return float("inf"), theta
        columns = []
        for k in straight:
            unit = theta.copy()
            unit[k] = 1.0
            one = self._at(unit)
            if one is None:
                return float("inf"), theta
            columns.append(one - base)
        left = np.ravel(self.whiten(self.y - base))
        if columns:
            slopes = self.whiten(np.stack(columns, axis=1))
            scale = np.sqrt(np.sum(slopes**2, axis=0))
            if not np.all((scale > 0) & np.isfinite(scale)):
                return float("inf"), theta
            best = np.linalg.lstsq(slopes / scale, left, rcond=1e-10)[0] / scale
            best = np.clip(best, self.lower[straight], self.upper[straight])
            theta[straight] = best
            left = left - slopes @ best
        return float(left @ left), theta


def _between(chance: np.random.Generator, low: float, high: float) -> float:
    if low > 0 and high > 100 * low:
        return float(np.exp(chance.uniform(np.log(low), np.log(high))))
    return float(chance.uniform(low, high))


def _alike(one: Array, other: Array, here: Array) -> bool:
    size = STRAIGHT * np.max(np.abs(one)) + 1e-13 * np.max(np.abs(here))
    return bool(np.max(np.abs(one - other)) <= size)


def lowest(
    descended: Callable[..., dict[str, Any]], start: Array, search: Search, limited: bool
) -> dict[str, Any]:
    """The lowest of the minima that `start` and others lead to: others are tried unless the first is
    one that nothing speaks against, of points enough to speak.

    `limited` says that somebody limited the evaluations, which no search goes beyond.
    """
    best: dict[str, Any] | None = None
    refused: ValueError | None = None
    try:
        best = descended(start)
    except ValueError as error:
        # There may be no value at ones, and be one elsewhere.
        refused = error
    if best is not None:
        sure = _is_good(best) and best["residuals"].size >= FEWEST_SURE
        if sure or limited and best["status"] in UNFINISHED:
            return best
    calls, again = (0, 0) if best is None else (best["evaluations"], 0)
    for other in search.starts():
        try:
            facts = descended(other, A_FEW)
        except ValueError:
            continue
        calls += facts["evaluations"]
        lower = best is None or facts["cost"] < best["cost"] * (1 - SAME)
        same = best is not None and not lower and facts["cost"] <= best["cost"] * (1 + SAME)
        again = 0 if lower else again + same
        if lower or best is not None and same and facts["converged"] > best["converged"]:
            best = facts
        if again and best is not None and _is_good(best):
            break
    if best is None:
        assert refused is not None, "a fit has ended, or was refused"
        raise refused
    if best["status"] == "evaluation_limit":
        best = descended(best["popt"])
        calls += best["evaluations"]
    best["evaluations"] = calls + search.calls
    return best


def _is_good(facts: dict[str, Any]) -> bool:
    """Whether a fit found a minimum that nothing speaks against."""
    return bool(facts["converged"] and facts["covariance"] is not None and not facts["flags"])
