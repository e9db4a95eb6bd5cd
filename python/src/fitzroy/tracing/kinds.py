"""What NumPy makes of truth values and integers: the form and the kind of an operation's result.

Sums of truth values are truth values, powers of integers may not exist, and a function of truth
values has three digits. A formula knows real numbers, so what differs is written out or refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .nodes import Untraceable

__all__ = ["kind_beside", "kind_of", "rank", "typed"]

#: Operations whose result is true or false.
COMPARISONS = frozenset(
    "less less_equal greater greater_equal equal not_equal isfinite isnan isinf signbit".split()
)
#: Operations on truth: any number other than 0 is true.
LOGICAL = frozenset("logical_and logical_or logical_xor logical_not".split())
#: Operations on bits, which are those on truth where all are true or false.
BITWISE = {
    "bitwise_and": "({0} and {1})",
    "bitwise_or": "({0} or {1})",
    "bitwise_xor": "({0} != {1})",
    "invert": "(not {0})",
}
#: What NumPy makes of two truth values.
OF_TRUTH = {
    "add": "({0} or {1})",
    "multiply": "({0} and {1})",
    "maximum": "({0} or {1})",
    "minimum": "({0} and {1})",
}
#: Operations that keep integers integers.
OF_INTEGERS = frozenset(
    "add subtract multiply maximum minimum remainder floor_divide negative positive absolute sign "
    "square floor ceil trunc rint".split()
)
#: Operations on integers or truth values whose result is a float64.
TO_FLOAT = frozenset("divide true_divide".split())


def rank(kind: str) -> int:
    """How much a kind holds: truth values least, float64 most."""
    return "bif".index(kind)


def kind_of(dtype: Any) -> str:
    """The kind of what an array is turned to: truth values `b`, integers `i`, float64 `f`; another
    one is refused."""
    found = np.dtype(dtype)
    if found == np.float64 or found.kind == "b":
        return str(found.kind)
    if found in (np.int64, np.int32):
        return "i"
    raise Untraceable(f"the function computes with values of type {found}")


def kind_beside(dtype: np.dtype[Any]) -> str:
    """The kind of an array that an operation has beside a traced value."""
    if dtype.kind not in "fiub":
        raise Untraceable(f"the function computes with values of type {dtype}")
    return "i" if dtype.kind == "u" else dtype.kind


def typed(name: str, form: str | None, kinds: list[str]) -> tuple[str | None, str]:
    """The form of an operation on values of these kinds, and the kind of its result."""
    if name in COMPARISONS or name in LOGICAL:
        return form, "b"
    if name in BITWISE:
        if set(kinds) != {"b"}:
            raise Untraceable(f"np.{name} works on bits of integers")
        return BITWISE[name], "b"
    if "f" in kinds or name in TO_FLOAT:
        return form, "f"
    if "i" not in kinds:
        if name in OF_TRUTH:
            return OF_TRUTH[name], "b"
        raise Untraceable(f"np.{name} of truth values has another type")
    if name in OF_INTEGERS:
        return form, "i"
    if name == "power":
        raise Untraceable("the function raises integers to powers")
    return form, "f"
