"""Transforms of variables: those of a distribution's own support, and those that restrict it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.transforms import _default_transform
from pytensor.graph.basic import Constant

__all__ = ["ends_of", "is_own"]

INTERVALS = ("Interval", "IntervalTransform")
#: Transforms to the same support, of which the language makes one by itself.
ALIKE = {"LogExpM1": "LogTransform"}


def is_own(v: Any, transform: Any) -> bool:
    """Whether a transform goes to the support of the variable's distribution, and not to a part of
    the line that a user wants."""
    own = _default_transform(v.owner.op, v)
    name, own_name = type(transform).__name__, type(own).__name__
    if name in INTERVALS and own_name in INTERVALS:
        # Intervals of the distribution are all made by one function.
        made, given = (getattr(t.args_fn, "__code__", t) for t in (own, transform))
        return made is given
    return own is not None and ALIKE.get(name, name) == ALIKE.get(own_name, own_name)


def ends_of(v: Any, transform: Any) -> tuple[Any, Any] | None:
    """Lower and upper end of where a transform leads, none for an end that is infinite."""
    name = type(transform).__name__
    if ALIKE.get(name, name) == "LogTransform":
        return pt.as_tensor(0.0), None
    if name == "LogOddsTransform":
        return pt.as_tensor(0.0), pt.as_tensor(1.0)
    if name not in INTERVALS:
        return None
    low, high = transform.args_fn(*v.owner.inputs)
    return _finite(low), _finite(high)


def _finite(end: Any) -> Any:
    if end is None:
        return None
    end = pt.as_tensor(end)
    infinite = isinstance(end, Constant) and np.all(np.isinf(end.data))
    return None if infinite else end
