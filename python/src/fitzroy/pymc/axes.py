"""Axes and expressions: PyTensor aligns axes by position, the language of models by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..conversion import Unconvertible

__all__ = ["ADD", "AND", "ATOM", "COMPARE", "MULTIPLY", "NEGATE", "OR", "POWER"]
__all__ += ["Axis", "Expr", "Unconvertible", "counted", "number", "unite"]

#: How tightly operators bind, loose to tight.
OR, AND, COMPARE, ADD, MULTIPLY, NEGATE, POWER, ATOM = 30, 40, 50, 60, 70, 80, 90, 100


class Axis:
    """An axis of some array. Axes that meet element by element are one; `root` is the one."""

    def __init__(self, size: int, name: str | None = None) -> None:
        self.size = int(size)
        self.name = name
        #: The dim's name in the text, once it has one.
        self.shown: str | None = None
        self._up: Axis | None = None

    @property
    def root(self) -> Axis:
        axis = self
        while axis._up is not None:
            axis = axis._up
        return axis

    def join(self, other: Axis) -> None:
        """Makes the root of `other` a part of this one's."""
        other.root._up = self.root


def unite(a: Axis, b: Axis, where: str) -> Axis:
    """Makes one axis of two that meet in `where`; a named one gives the name."""
    a, b = a.root, b.root
    if a is b:
        return a
    if a.size != b.size:
        raise Unconvertible("axes", f"lengths {a.size} and {b.size} meet in {where}")
    if b.name and not a.name:
        a, b = b, a
    a.join(b)
    return a


def counted(axes: Sequence[Axis | None]) -> list[tuple[Axis, int]]:
    """The axes that an array has, each with how many before it are the same: the second axis of a
    square matrix is the twin of the first, and has a prime in the text."""
    out: list[tuple[Axis, int]] = []
    for a in axes:
        if a is not None:
            out.append((a.root, sum(a.root is b for b, _ in out)))
    return out


class Expr:
    """An expression. Its text is made late, when all axes have names."""

    def __init__(
        self,
        axes: Sequence[Axis | None],
        text: str | Callable[[], str],
        binds: int = ATOM,
        number: float | None = None,
        named: bool = False,
    ) -> None:
        #: Axes by position; none where it is repeated or has length 1 for good.
        self.axes = list(axes)
        self._text = text
        self.binds = binds
        #: The value of all its elements, if that is a constant.
        self.number = number
        #: True for a name whose dims stand in the order of the axes.
        self.named = named

    def text(self, least: int = 0) -> str:
        """The text, in brackets where it binds less than `least`."""
        text = self._text if isinstance(self._text, str) else self._text()
        return f"({text})" if self.binds < least else text

    @property
    def real(self) -> list[Axis]:
        """The axes that the array has."""
        return [a for a in self.axes if a is not None]

    def moved(self, axes: Sequence[Axis | None]) -> Expr:
        """The same text with its axes elsewhere."""
        kept = [a for a in axes if a is not None] == self.real
        return Expr(axes, self._text, self.binds, self.number, self.named and kept)


def number(x: Any) -> str:
    """A number as it stands in a model."""
    value = float(x)
    if np.isnan(value):
        return "(inf - inf)"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(value)
