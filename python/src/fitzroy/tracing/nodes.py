"""What a trace records: expressions, and the columns of numbers that they read."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

__all__ = ["RESERVED", "Deferred", "NoAttribute", "Node", "Recorded", "Tape", "Untraceable", "formula"]

#: Words of the formula language that no parameter can be called.
RESERVED = frozenset("and or not in data dim let predict target pi inf chain draw sample e".split())
#: Operations up to which a function is traced, which takes half a second. One with more is a product
#: of large matrices, which NumPy computes sooner than a formula of all its terms is made.
MOST_OPERATIONS = 20_000
#: Nested operations up to which an expression is written in one piece.
DEEPEST = 40


class Untraceable(TypeError):
    """What a function does that has no counterpart in a formula."""


class NoAttribute(Untraceable, AttributeError):
    """An attribute that a value at every point does not have."""


class Node:
    """An operation, as a form with places for its arguments."""

    __slots__ = ("args", "depth", "form", "text", "uses")

    def __init__(self, form: str, args: tuple[Node, ...] = ()) -> None:
        self.form = form
        self.args = args
        self.uses = 0
        self.depth = 0
        self.text = form

    def same(self, other: Node) -> bool:
        """Whether both are one expression."""
        return self is other or (
            self.form == other.form
            and len(self.args) == len(other.args)
            and all(a.same(b) for a, b in zip(self.args, other.args))
        )


class Recorded:
    """Anything that stands for a node."""

    __slots__ = ("node",)
    node: Node


class Deferred:
    """Anything that in arithmetic and in functions of NumPy is a value of its own, which it puts in
    its place: values that record leave that to it."""

    __slots__ = ()


class Tape:
    """The points of a trace, and what is read of them besides x."""

    def __init__(self, shape: tuple[int, ...], taken: set[str]) -> None:
        self.shape = shape
        self.n = math.prod(shape)
        self.taken = taken
        #: False once the trace is over; a value that the function kept then means nothing.
        self.open = True
        #: Operations, each after its arguments.
        self.operations: list[Node] = []
        self.columns: dict[str, np.ndarray[Any, Any]] = {}
        self._known: dict[int, str] = {}
        #: The arrays of `_known`, whose ids stay theirs.
        self._kept: list[object] = []

    def free_name(self, stem: str) -> str:
        """A name that nothing else has."""
        k = 1
        while f"{stem}{k}" in self.taken:
            k += 1
        self.taken.add(f"{stem}{k}")
        return f"{stem}{k}"

    def apply(self, form: str, args: tuple[Node, ...]) -> Node:
        """A new operation."""
        if len(self.operations) >= MOST_OPERATIONS:
            raise Untraceable(f"the function takes more than {MOST_OPERATIONS:,} operations")
        node = Node(form, args)
        self.operations.append(node)
        return node

    def column(self, values: np.ndarray[Any, Any]) -> Node:
        """An array with one element for each point."""
        name = self._known.get(id(values))
        # The function may have changed it in the meantime.
        if name is None or not np.array_equal(self.columns[name], values, equal_nan=True):
            name = self._known[id(values)] = self.free_name("column")
            self.columns[name] = np.array(values)
            self._kept.append(values)
        return Node(name)

    def node(self, value: object) -> Node:
        """Anything that a function may combine with traced values."""
        kind = type(value)
        if kind is float or kind is int:
            return Node(number(float(value)))  # type: ignore[arg-type]
        if isinstance(value, Recorded):
            return value.node
        if isinstance(value, (bool, np.bool_)):
            return Node("1" if value else "0")
        if isinstance(value, numbers.Real):
            return Node(number(float(value)))
        if isinstance(value, Node):
            return value
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise Untraceable(f"the function computes with values of type {array.dtype}")
        if array.size == 1 and array.ndim <= 1:
            return Node(number(float(array.reshape(()))))
        if array.shape in (self.shape, (self.n,)):
            first = array.reshape(-1)[0] if array.size else np.nan
            if np.all(array == first):
                return Node(number(float(first)))
            if not np.all(np.isfinite(array)):
                raise Untraceable("the function computes with a column that is not finite")
            return self.column(value if isinstance(value, np.ndarray) else array)
        raise Untraceable(
            f"the function meets an array of shape {array.shape}; a formula knows numbers and "
            f"arrays with one element for each of the {self.n} points"
        )


def number(x: float) -> str:
    """A number as it stands in a formula."""
    if np.isnan(x):
        raise Untraceable("the function computes with NaN")
    if np.isinf(x):
        return "inf" if x > 0 else "(-inf)"
    return repr(x) if x >= 0 and not (x == 0 and np.signbit(x)) else f"({x!r})"


def formula(root: Node, tape: Tape) -> str:
    """The expression of `root`, with a `let` for what is used more than once or nested deeply."""
    root.uses = 1
    used = []
    for node in reversed(tape.operations):
        if node.uses:
            used.append(node)
            for a in node.args:
                a.uses += 1
    lets = []
    for node in reversed(used):
        args = node.args
        node.text = node.form.format(*[a.text for a in args])
        node.depth = 1 + max([a.depth for a in args])
        if node is not root and (node.uses > 1 or node.depth > DEEPEST):
            name = tape.free_name("t")
            lets.append(f"let {name} = {node.text}; ")
            node.text, node.depth = name, 0
    return "".join(lets) + root.text
