"""What is said of parameters one by one: values, bounds, whether they are held. As in lmfit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["Held", "Hint", "hints_of", "of_params"]

#: What is said of a parameter.
Hint = dict[str, Any]
#: The words that lmfit has for it.
WORDS = ("value", "min", "max", "vary")


class Held:
    """A function of (x, *parameters) with some parameters held at numbers."""

    def __init__(
        self, f: Callable[..., Any], names: Sequence[str], fixed: Mapping[str, float]
    ) -> None:
        self.f = f
        self.names = list(names)
        self.fixed = dict(fixed)

    def __call__(self, x: Any, *free: Any) -> Any:
        left = iter(free)
        return self.f(x, *[self.fixed[n] if n in self.fixed else next(left) for n in self.names])


def of_params(p0: Mapping[str, Any]) -> dict[str, Hint] | None:
    """The hints in a dict of numbers, of dicts (`{'value': 1, 'min': 0}`), or of parameters of
    lmfit; none where all are numbers.

    Raises ValueError for words that are not known, and for ties (`expr`).
    """
    if not any(isinstance(v, Mapping) or hasattr(v, "vary") for v in p0.values()):
        return None
    out = {}
    for name, given in p0.items():
        if hasattr(given, "vary"):
            given = {word: getattr(given, word) for word in (*WORDS, "expr")}
        elif not isinstance(given, Mapping):
            given = {"value": given}
        hint = dict(given)
        if hint.pop("expr", None):
            raise ValueError(f"p0['{name}'] is tied by an expression; write it into the curve")
        strange = [word for word in hint if word not in WORDS]
        if strange:
            known = ", ".join(WORDS)
            raise ValueError(f"p0['{name}'] has {', '.join(strange)}; what it may have is {known}")
        out[name] = hint
    return out


def hints_of(
    hints: Mapping[str, Hint], names: Sequence[str]
) -> tuple[dict[str, float] | None, dict[str, tuple[Any, Any]], dict[str, float]]:
    """Starts, bounds and values that are held. Starts are none where no value is given; where some
    are, the others start inside their bounds.

    Raises ValueError for names that the curve does not have, and for a held one without a value.
    """
    strange = [name for name in hints if name not in names]
    if strange:
        raise ValueError(f"p0 names {', '.join(strange)}; the parameters are {', '.join(names)}")
    fixed: dict[str, float] = {}
    bounds: dict[str, tuple[Any, Any]] = {}
    start: dict[str, float] = {}
    for name in names:
        hint = hints.get(name, {})
        value = hint.get("value")
        if value is not None and not np.isfinite(value):
            value = None  # lmfit's word for a value that nobody gave
        if hint.get("vary") is False:
            if value is None:
                raise ValueError(f"p0['{name}'] is held and has no value")
            fixed[name] = float(value)
            continue
        low, high = (hint.get(end) for end in ("min", "max"))
        low = -np.inf if low is None else float(low)
        high = np.inf if high is None else float(high)
        bounds[name] = (low, high)
        if value is not None:
            start[name] = float(np.clip(value, low, high))
    if not start:
        return None, bounds, fixed
    for name, (low, high) in bounds.items():
        start.setdefault(name, _inside(low, high))
    return start, bounds, fixed


def _inside(low: float, high: float) -> float:
    """A point between bounds, as SciPy takes one: 1, the middle, or 1 away from a bound."""
    if np.isfinite(low) and np.isfinite(high):
        return 0.5 * (low + high)
    if np.isfinite(low):
        return low + 1
    return high - 1 if np.isfinite(high) else 1.0
