"""A curve as its user wrote it, and the formula that Fitzroy makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _fitzroy
from ..tracing import Trace, Untraceable, identity, trace

__all__ = ["Compiled", "Table", "compiled", "of_formula", "of_function", "traced_before"]

#: Compiled formulas and checks that are remembered.
REMEMBERED = 256
#: Points at which a trace is compared with the function.
CHECKED = 32

Columns = list[tuple[str, np.ndarray[Any, Any]]]

_curves: dict[Any, _fitzroy.Curve] = {}
_checked: dict[tuple[object, str], None] = {}
#: Functions that were traced and read nothing that may change: their formulas, and the names in
#: them of the parts of x.
_traced: dict[Any, tuple[Compiled, list[str]]] = {}


class Table(dict[str, "np.ndarray[Any, Any]"]):
    """Columns by name; those of labels are places among these."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.labels: dict[str, list[str]] = {}

    def of(self, columns: Mapping[str, np.ndarray[Any, Any]]) -> Table:
        """Others of the same names."""
        out = Table(columns)
        out.labels = self.labels
        return out


def compiled(text: str, labels: Mapping[str, list[str]] | None = None) -> _fitzroy.Curve:
    """The curve of a formula with these columns of labels; the last ones are remembered."""
    labels = labels or {}
    key = (text, *((name, *all_) for name, all_ in labels.items())) if labels else text
    curve = _curves.get(key)
    if curve is None:
        curve = _fitzroy.Curve(text, list(labels.items()))
        _remember(_curves, key, curve)
    return curve


def _remember(known: dict[Any, Any], key: Any, value: Any) -> None:
    if len(known) >= REMEMBERED:
        known.pop(next(iter(known)), None)
    known[key] = value


class Compiled:
    """A formula over columns: what a fit needs."""

    __slots__ = ("columns", "curve", "held", "of_this_x", "parameters", "text", "unused")

    def __init__(
        self, text: str, columns: Mapping[str, np.ndarray[Any, Any]], parameters: Sequence[str]
    ) -> None:
        self.text = text
        self.columns: Columns = list(columns.items())
        #: Names of the parameters in the formula, in the order of the function.
        self.parameters = list(parameters)
        #: Parameters that are not fitted, and their values.
        self.held: dict[str, float] = {}
        #: Whether the formula holds at its columns alone, and at no other points.
        self.of_this_x = False
        self.curve = compiled(text, columns.labels if isinstance(columns, Table) else {})
        known = set(self.curve.parameters(list(columns)))
        #: Places of parameters that the formula does not read.
        self.unused = [k for k, name in enumerate(self.parameters) if name not in known]

    def over(self, names: Sequence[str], parts: Iterable[np.ndarray[Any, Any]]) -> Compiled:
        """The same formula over other columns."""
        out = Compiled.__new__(Compiled)
        out.text, out.curve, out.held, out.of_this_x = self.text, self.curve, {}, False
        out.parameters, out.unused = self.parameters, self.unused
        out.columns = [
            (name, np.ascontiguousarray(part, dtype=float)) for name, part in zip(names, parts)
        ]
        return out

    def pointwise(self, theta: Sequence[float]) -> tuple[Any, Any]:
        """Values and partial derivatives at every point."""
        used = self.curve.parameters([name for name, _ in self.columns])
        place = {name: k for k, name in enumerate(self.parameters)}
        at = [self.held[p] if p in self.held else theta[place[p]] for p in used]
        values, partials = self.curve.pointwise(self.columns, at)
        n = len(self.columns[0][1])
        if len(values) != n:
            # A formula that reads no column has one value for all points.
            values, partials = np.repeat(values, n), np.repeat(partials, n, axis=0)
        out = np.zeros((n, len(self.parameters)))
        free = [k for k, p in enumerate(used) if p not in self.held]
        out[:, [place[used[k]] for k in free]] = partials[:, free]
        return values, out


def traced_before(f: Callable[..., Any], x: Any, n: int, names: Sequence[str]) -> Compiled | None:
    """The formula that the function had in an earlier call, over this x; else none."""
    key = _key(f, x, n, names)
    before = _traced.get(key) if key is not None else None
    if before is None or not (isinstance(x, np.ndarray) and x.dtype.kind in "fiub"):
        return None
    out, own = before
    return out.over(own, (x,) if x.shape == (n,) else x.reshape(-1, n))


def _key(f: Callable[..., Any], x: Any, n: int, names: Sequence[str]) -> Any:
    """What a trace depends on; none if that cannot be told."""
    known = identity(f)
    return None if known is None else (known, tuple(names), getattr(x, "shape", None), n)


def of_function(
    f: Callable[..., Any], x: Any, n: int, names: Sequence[str], theta: Sequence[float]
) -> Compiled:
    """The function as a formula, compared with the function once, at `theta`.

    Raises Untraceable where it has none.
    """
    before = traced_before(f, x, n, names)
    if before is not None:
        return before
    key = _key(f, x, n, names)
    found = trace(f, x, n, names)
    try:
        out = Compiled(found.text, found.columns, found.parameters)
    except ValueError as error:
        raise Untraceable(str(error)) from error
    out.of_this_x = found.of_this_x
    checked = (getattr(f, "__code__", None) or type(f), found.text)
    if found.of_this_x or checked not in _checked:
        _check(f, x, out, found, theta)
        _remember(_checked, checked, None)
    if key is not None and not found.of_this_x:
        _remember(_traced, key, (out, list(found.columns)))
    return out


def of_formula(text: str, columns: Mapping[str, np.ndarray[Any, Any]]) -> Compiled:
    """A formula of the language of curves."""
    out = Compiled(text, columns, [])
    out.parameters = out.curve.parameters(list(columns))
    return out


def _check(
    f: Callable[..., Any], x: np.ndarray[Any, Any], made: Compiled, found: Trace, theta: Any
) -> None:
    """Compares a trace with its function, at some points and, if they disagree, at all; for two
    values of each parameter, since one of them may be a 0 or a 1 that hides what it stands for.
    If they disagree at `theta`, two others count: at parameters that are equal, terms of a function
    may cancel, and what is left of them is rounding.

    A function that looks at the kind, the number or the order of its points may do other things
    with arrays than with the values that record a trace.
    """
    n = len(made.columns[0][1])
    other = [1.0625 * p + 0.03125 * (1 + k / 7) for k, p in enumerate(theta)]
    third = [1.125 * p + 0.0625 * (1 + k / 5) for k, p in enumerate(theta)]

    def alike(x: Any, made: Compiled) -> bool:
        def at(place: Any) -> bool:
            return _agree(f, x, made, place, place is theta)

        return at(other) and (at(theta) or at(third))

    if n > CHECKED and not found.of_this_x and x.shape[-1] == n:
        some = np.linspace(0, n - 1, CHECKED).astype(int)
        part = Compiled(made.text, {k: v[some] for k, v in made.columns}, made.parameters)
        if alike(x[..., some], part):
            return
    if not alike(x, made):
        raise Untraceable(
            "the function gives other values for arrays than its trace does: it looks at the kind, "
            "the number or the order of the points"
        )


def _agree(f: Callable[..., Any], x: Any, made: Compiled, theta: Any, allowed: bool) -> bool:
    """Whether both have the same values; true where the function has none at parameters of which
    nobody said that they are allowed."""
    with np.errstate(all="ignore"):
        try:
            raw = np.asarray(f(x.copy(), *np.array(theta, dtype=float)))
            want = raw.astype(float).reshape(-1)
        except Exception:
            return not allowed
        got = made.pointwise(theta)[0]
        if want.size == 1:
            want = np.broadcast_to(want, got.shape)
        if want.shape != got.shape:
            return False
        # float32 and less come from functions that compute in it.
        close = 1e-9 if raw.dtype.kind != "f" or raw.dtype.itemsize >= 8 else 1e-3
        scale = np.max(np.abs(want), where=np.isfinite(want), initial=0.0)
        near = np.isclose(got, want, rtol=close, atol=close * scale, equal_nan=True)
        # Overflow may come sooner or later.
        return bool(np.all(near | ~np.isfinite(want)))
