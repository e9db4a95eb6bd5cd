"""Constants of a model: whatever has no random variable above it is computed once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pymc.distributions.distribution import SymbolicRandomVariable
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace
from pytensor.graph.rewriting.basic import node_rewriter, out2in
from pytensor.raise_op import CheckAndRaise
from pytensor.tensor.random.op import RandomVariable

__all__ = ["CANONICAL", "Constants", "is_random"]

#: Values are computed as they stand, without compiling anything.
AS_IT_STANDS = Mode(linker="py", optimizer=None)
#: For what does not run without canonical forms: numbers that are added along an axis.
CANONICAL = Mode(linker="py", optimizer="fast_compile")


@node_rewriter([CheckAndRaise])  # type: ignore[untyped-decorator]
def _without_check(fgraph: Any, node: Any) -> list[Any]:
    """What is checked, which zeros in place of variables need not fulfil."""
    return [node.inputs[0]]


WITHOUT_CHECKS = out2in(_without_check)


def is_random(op: Any) -> bool:
    """Whether an op draws random numbers."""
    return isinstance(op, (RandomVariable, SymbolicRandomVariable))


class Constants:
    """Which variables of a graph are constant, and their values."""

    def __init__(self) -> None:
        #: Variables that are not constant whatever stands above them.
        self.free: set[Any] = set()
        #: Shapes of variables, whose types may not know the lengths of dims.
        self.sizes: dict[Any, tuple[int, ...]] = {}
        self._is: dict[Any, bool] = {}
        self._values: dict[Any, np.ndarray[Any, Any]] = {}

    def holds(self, v: Any) -> bool:
        """Whether `v` is constant."""
        known = self._is.get(v)
        if known is not None:
            return known and v not in self.free
        for one in self._above(v):
            self._is[one] = self._one(one)
        return self._is[v]

    def _one(self, v: Any) -> bool:
        if v in self.free:
            return False
        if v.owner is None:
            return isinstance(v, (Constant, SharedVariable))
        if type(v.owner.op).__name__ in ("Shape", "Shape_i"):
            return True
        if is_random(v.owner.op):
            return False
        return all(self._is[i] for i in v.owner.inputs)

    def _above(self, v: Any) -> list[Any]:
        """`v` and what stands above it and is not known yet, inputs first."""
        order: list[Any] = []
        stack = [(v, False)]
        seen = set()
        while stack:
            one, done = stack.pop()
            if done:
                order.append(one)
                continue
            if one in seen or one in self._is:
                continue
            seen.add(one)
            stack.append((one, True))
            if one.owner is not None:
                stack.extend((i, False) for i in one.owner.inputs)
        return order

    def value(self, v: Any) -> np.ndarray[Any, Any]:
        """The value of a constant."""
        if v not in self._values:
            if isinstance(v, Constant):
                out = v.data
            elif isinstance(v, SharedVariable):
                out = v.get_value()
            elif (shape := _static_shape(v)) is not None:
                out = shape
            else:
                out = _computed(self._without_variables(v))
            self._values[v] = np.asarray(out)
        return self._values[v]

    def _without_variables(self, v: Any) -> Any:
        """`v` with zeros for variables, of which a constant uses the shapes alone."""
        zeros, stack, seen = {}, [v], set()
        while stack:
            one = stack.pop()
            if one in seen:
                continue
            seen.add(one)
            sizes = self.sizes.get(one, one.type.shape) if one in self.free else (None,)
            if None not in sizes:
                zeros[one] = pt.zeros(sizes, dtype=one.type.dtype)
            elif one.owner is not None:
                stack.extend(one.owner.inputs)
        if not zeros:
            return v
        graph = FunctionGraph(outputs=[clone_replace(v, zeros, rebuild_strict=False)], clone=False)
        WITHOUT_CHECKS.rewrite(graph)
        return graph.outputs[0]

    def whole(self, v: Any) -> int:
        """A constant whole number."""
        return int(self.value(v).reshape(()))

    def uniform(self, v: Any) -> float | None:
        """The one number of a constant, if all its elements are equal."""
        if not self.holds(v):
            return None
        value = self.value(v)
        if value.dtype.kind not in "fiub" or not value.size:
            return None
        first = value.flat[0]
        return float(first) if np.all(value == first) else None


def _computed(v: Any) -> Any:
    try:
        return pytensor.function([], v, mode=AS_IT_STANDS, on_unused_input="ignore")()
    except np.exceptions.AxisError:
        return pytensor.function([], v, mode=CANONICAL, on_unused_input="ignore")()


def _static_shape(v: Any) -> Any:
    """A shape that is known without computing anything."""
    op, shape = v.owner.op, v.owner.inputs[0].type.shape if v.owner.inputs else (None,)
    if type(op).__name__ == "Shape" and None not in shape:
        return np.array(shape)
    if type(op).__name__ == "Shape_i" and shape[op.i] is not None:
        return np.array(shape[op.i])
    return None
