"""Jacobians by differences of a function that is called, with steps that suit it.

Steps follow the rule of the library's own differences: central ones, from a part of 6e-6 of a
parameter on, shorter where slopes on both sides differ, longer where values are rounded. Here
columns that no row has two of are made by the same calls (Curtis, Powell and Reid 1974).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .sparsity import Sparse

__all__ = ["Layout", "Steps", "differences", "groups_of", "sizes"]

Array = np.ndarray[Any, Any]

#: Steps relative to a parameter, the first one first: best for smooth functions of exact values.
#: Shorter ones are for narrow functions, longer ones for noisy ones.
STEPS = (6e-6, 3e-7, 1.5e-8, 1e-9, 5e-11, 2e-4, 5e-3)
#: The most that slopes on both sides may differ, of their size; the mean is then exact to a part of
#: its square.
DIFFERENT = 3e-4
#: Slopes that differ by less than this of what they did at another step are those of rounded
#: numbers.
ROUNDED = 1e-3
#: Slopes that differ by more are not those of a step that suits the function.
POOR = 0.01
#: How many times as different slopes become before steps are looked for again.
AGAIN = 10.0
#: Slopes that differ by more of their mean at every step are those of a jump, or of a corner.
APART = 1.0
#: Behind a jump a second step adds less than this part of what the first one does.
JUMPED = 0.1


def sizes(theta: Array) -> Array:
    """What steps are relative to: the size of a parameter, 1 for one that is 0."""
    return np.where(theta == 0, 1.0, np.abs(theta))


@dataclass
class Group:
    """Columns of a Jacobian that no row has two of."""

    columns: list[int]
    #: Rows in which they are other than 0, and for each the place of its column among `columns`.
    #: One column alone may have all of them, and needs no places.
    rows: Array | slice
    owner: Array
    #: Where its slopes stand: among the entries of the Jacobian, or a row of its transpose.
    entries: Any

    def part(self, chosen: list[bool]) -> Group:
        """Some of the columns."""
        if all(chosen):
            return self
        own, place = np.array(chosen)[self.owner], np.cumsum(chosen) - 1
        assert not isinstance(self.rows, slice), "a column that has all rows is alone"
        columns = [k for k, keep in zip(self.columns, chosen) if keep]
        return Group(columns, self.rows[own], place[self.owner[own]], self.entries[own])

    def each(self, values: list[float]) -> Any:
        """For each row, what its column has; for one column, that alone."""
        return values[0] if len(self.columns) == 1 else np.array(values)[self.owner]

    def total(self, values: Array) -> list[float]:
        """Sums of squares over the rows of each column."""
        if len(self.columns) == 1:
            return [float(values @ values)]
        sums: list[float] = np.bincount(self.owner, values**2, len(self.columns)).tolist()
        return sums


class Layout:
    """The groups of all columns, and the form of the Jacobian that they are put together to."""

    def __init__(self, pattern: Sequence[Array] | None, p: int, sparse: bool = False) -> None:
        """`pattern` has, for each column, the rows in which it may be other than 0; every column is
        a group without. `sparse` asks for entries alone."""
        self.groups = groups_of(pattern, p)
        self.p, self._sparse = p, sparse
        self._places: tuple[Array, Array] | None = None
        if pattern is not None:
            rows = np.concatenate([np.asarray(group.rows) for group in self.groups])
            owners = [np.array(group.columns)[group.owner] for group in self.groups]
            self._places = rows.astype(int), np.concatenate(owners)

    def empty(self, n: int) -> Array:
        """Room for slopes of n rows."""
        return np.zeros((self.p, n) if self._places is None else self._places[0].size)

    def matrix(self, slopes: Array, n: int) -> Any:
        """The Jacobian of n rows."""
        if self._places is None:
            return np.ascontiguousarray(slopes.T)
        rows, columns = self._places
        if self._sparse:
            return Sparse(rows, columns, slopes, (n, self.p))
        out = np.zeros((n, self.p))
        out[rows, columns] = slopes
        return out


def groups_of(pattern: Sequence[Array] | None, p: int) -> list[Group]:
    """Columns by groups, as in `Layout`. The longest columns are placed first."""
    if pattern is None:
        none = np.zeros(0, dtype=int)
        return [Group([k], slice(None), none, k) for k in range(p)]
    n = 1 + max((int(rows.max()) for rows in pattern if rows.size), default=-1)
    taken: list[Array] = []
    groups: list[list[int]] = []
    for k in sorted(range(p), key=lambda k: -pattern[k].size):
        rows = pattern[k]
        place = next((g for g, used in enumerate(taken) if not used[rows].any()), len(groups))
        if place == len(groups):
            taken.append(np.zeros(n, dtype=bool))
            groups.append([])
        taken[place][rows] = True
        groups[place].append(k)
    out, first = [], 0
    for group in groups:
        lengths = [pattern[k].size for k in group]
        rows = np.concatenate([pattern[k] for k in group])
        entries = np.arange(first, first + rows.size)
        out.append(Group(group, rows, np.repeat(np.arange(len(group)), lengths), entries))
        first += rows.size
    return out


class Steps:
    """The steps of each parameter, which are looked for where slopes say that they do not suit."""

    def __init__(
        self, values: Callable[[Array], Array], lower: Array, upper: Array, layout: Layout
    ) -> None:
        self._values, self._layout = values, layout
        self._bounds = list(zip(lower.tolist(), upper.tolist()))
        #: Relative to the sizes of parameters.
        self.relative = [STEPS[0]] * lower.size
        #: How much slopes on both sides differ at these steps.
        self.different = [DIFFERENT / AGAIN] * lower.size

    def jacobian(self, theta: Array, here: Array) -> Any:
        """The Jacobian at `theta`, where `here` are the values."""
        out = self._layout.empty(here.size)
        with np.errstate(all="ignore"):
            for group in self._layout.groups:
                self._group(theta, here, group, out)
        return self._layout.matrix(out, here.size)

    def reach(self, theta: Array) -> Array:
        """How far from `theta` slopes by these steps are those at `theta`, for each parameter; 0 if
        no step suits the function."""
        suits = np.array(self.different) <= DIFFERENT
        return np.where(suits, np.array(self.relative) * sizes(theta), 0.0)

    def _group(self, theta: Array, here: Array, group: Group, out: Array) -> None:
        """Columns of one group into `out`."""
        columns = group.columns
        first = [self.relative[k] for k in columns]
        slopes, least = self._slopes(theta, here, group, first)
        out[group.entries] = slopes
        searched = [not found <= AGAIN * self.different[k] for k, found in zip(columns, least)]
        if not any(searched):
            return
        best = first.copy()
        for relative in STEPS:
            tried = [
                poor and found > DIFFERENT and own != relative
                for poor, found, own in zip(searched, least, first)
            ]
            if not any(tried):
                continue
            part = group.part(tried)
            slopes, found = self._slopes(theta, here, part, [relative] * len(part.columns))
            places = [at for at, chosen in enumerate(tried) if chosen]
            # Differences of a few bits can be as good as equal, and are worth nothing.
            better = [ROUNDED * least[at] < new < least[at] for at, new in zip(places, found)]
            if not any(better):
                continue
            for at, new, chosen in zip(places, found, better):
                if chosen:
                    least[at], best[at] = new, relative
            own_rows = slice(None) if all(better) else np.array(better)[part.owner]
            out[part.part(better).entries] = slopes[own_rows]
        for k, relative, different, chosen in zip(columns, best, least, searched):
            if chosen:
                self.relative[k] = relative
                # Where no step is good, the best of them says nothing about the next place.
                self.different[k] = min(max(different, DIFFERENT / AGAIN), POOR)
        apart = [not found <= APART for found in least]
        if any(apart):
            self._beside_jumps(theta, here, group.part(apart), out)

    def _beside_jumps(self, theta: Array, here: Array, group: Group, out: Array) -> None:
        """Slopes of rows that jump on one side of `theta`, as an angle does at its cut, into `out`:
        those of the parabola through two steps to the other side."""
        here = here[group.rows]
        rises, slopes = [], []
        for side in (-1.0, 1.0):
            first, second = theta.copy(), theta.copy()
            weights: list[list[float]] = [[], []]
            for k in group.columns:
                at = float(theta[k])
                low, high = self._bounds[k]
                step = side * STEPS[0] * (abs(at) if at != 0 else 1.0)
                if not low <= at + 2 * step <= high:
                    return
                first[k], second[k] = at + step, at + 2 * step
                of_both = _weights(float(first[k]) - at, float(second[k]) - at)
                for to, weight in zip(weights, of_both):
                    to.append(weight)
            one, two = (self._values(place)[group.rows] - here for place in (first, second))
            rises.append(np.abs(two - one) < JUMPED * np.abs(one))
            slopes.append(group.each(weights[0]) * one + group.each(weights[1]) * two)
        current = out[group.entries]
        for jumps, other, beyond in ((0, 1, slopes[1]), (1, 0, slopes[0])):
            current = np.where(rises[jumps] & ~rises[other], beyond, current)
        out[group.entries] = current

    def _slopes(
        self, theta: Array, here: Array, group: Group, relative: list[float]
    ) -> tuple[Array, list[float]]:
        """Slopes by central differences, or one-sided ones of the same order beside a bound: those
        of the parabola through three points. And how much its slopes at the ends differ from that,
        of its size, for each column."""
        one, other = theta.copy(), theta.copy()
        weights: list[list[float]] = [[], [], [], []]
        for k, part in zip(group.columns, relative):
            at = float(theta[k])
            offsets = _offsets(at, part, self._bounds[k])
            one[k], other[k] = at + offsets[0], at + offsets[1]
            # What was added, after rounding.
            a, b = float(one[k]) - at, float(other[k]) - at
            for to, weight in zip(weights, _weights(a, b)):
                to.append(weight)
        here = here[group.rows]
        left, right = self._values(one)[group.rows] - here, self._values(other)[group.rows] - here
        of_left, of_right, per_left, per_right = map(group.each, weights)
        slopes = of_left * left + of_right * right
        bends = group.total(per_right * right - per_left * left)
        return slopes, [_ratio(bend, size) for bend, size in zip(bends, group.total(slopes))]


def _offsets(at: float, relative: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """Two places beside a parameter, within its bounds: on both sides of it, or both on the side
    that has room."""
    low, high = bounds
    size = abs(at) if at != 0 else 1.0
    step = min(relative * size, 0.5 * max(at - low, high - at))
    if at - step < low:
        return step, 2 * step
    return (-step, step) if at + step <= high else (-step, -2 * step)


def _weights(a: float, b: float) -> tuple[float, ...]:
    """What rises at `a` and at `b` weigh in the slope at 0 of the parabola through both, and what
    slopes to either are a rise by; NaN where a parameter is too small for steps."""
    try:
        return b / a / (b - a), -a / b / (b - a), 1 / a, 1 / b
    except ZeroDivisionError:
        return (float("nan"),) * 4


def _ratio(bend: float, size: float) -> float:
    """The root of a ratio of squares; infinite without a slope, or where there is no value."""
    if bend == 0.0:
        return 0.0
    return (bend / size) ** 0.5 if size > 0 and bend < np.inf else float("inf")


def differences(
    values: Callable[[Array], Array],
    theta: Array,
    here: Array,
    steps: Array,
    lower: Array,
    upper: Array,
    layout: Layout,
) -> Any:
    """The Jacobian at `theta`, where `here` are the values, by central differences of these steps,
    or by one-sided ones beside a bound."""
    out = layout.empty(here.size)
    low, high = np.clip(theta - steps, lower, upper), np.clip(theta + steps, lower, upper)
    for group in layout.groups:
        ends = []
        for end in (low, high):
            moved = theta.copy()
            moved[group.columns] = end[group.columns]
            stays = np.array_equal(moved, theta)
            ends.append((here if stays else values(moved))[group.rows])
        width = (high - low)[group.columns].tolist()
        out[group.entries] = (ends[1] - ends[0]) / group.each(width)
    return layout.matrix(out, here.size)
