"""From steps of JAX to variables of PyTensor, by a table of primitives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt

from ..conversion import Unconvertible
from .graph import Ref, Step, graph_of, is_key, needed, value_of

__all__ = ["PRIMITIVES", "Tensors", "Unready", "primitive"]

#: What a primitive is: of the walk, the step, and the variables of its inputs.
Convert = Callable[..., Any]
PRIMITIVES: dict[str, Convert] = {}


class Unready(Unconvertible):
    """A value depends on a site that is not there yet."""


def primitive(*names: str) -> Callable[[Convert], Convert]:
    """Registers what primitives are."""

    def register(convert: Convert) -> Convert:
        PRIMITIVES.update(dict.fromkeys(names, convert))
        return convert

    return register


class Tensors:
    """Variables for values.

    JAX repeats arrays along axes before they meet; here an axis along which a variable is repeated has
    length 1, as long as nothing needs the whole array.
    """

    def __init__(self, unrolled: bool = False, names: dict[Any, str] | None = None) -> None:
        self.unrolled = unrolled
        #: Names of data by their shape and bytes.
        self.names = names if names is not None else {}
        self.known: dict[Ref, Any] = {}
        #: What is known of variables: sums of exponentials on their way to a logarithm, whole numbers
        #: that are not negative.
        self.tags: dict[Any, Any] = {}
        self.not_negative: set[Any] = set()

    def inside(self) -> Tensors:
        """The same for a graph within this one."""
        out = Tensors(self.unrolled, self.names)
        out.not_negative = self.not_negative
        return out

    def know(self, ref: Ref, v: Any) -> None:
        self.known[ref] = v

    def __call__(self, ref: Ref) -> Any:
        """The variable of a value.

        Raises Unready where it depends on a site to come.
        """
        if ref not in self.known:
            for step in needed([ref], self.known):
                self._take(step)
            if ref not in self.known:
                self.known[ref] = self._source(ref)
        return self.known[ref]

    def _source(self, ref: Ref) -> Any:
        if ref.is_constant:
            return self.constant(value_of(ref))
        raise Unready("a value", "that depends on itself")

    def _take(self, step: Step) -> None:
        convert = PRIMITIVES.get(step.name)
        if convert is None:
            raise Unconvertible(step.name, "the language has no such operation of JAX")
        ins = []
        for ref in step.inputs:
            if ref not in self.known:
                self.known[ref] = self._source(ref)
            ins.append(self.known[ref])
        outs = convert(self, step, *ins)
        outs = outs if isinstance(outs, list) else [outs]
        for ref, v in zip(step.outs, outs):
            self.known[ref] = v

    def constant(self, value: Any) -> Any:
        if is_key(value):
            # Sites have values, so that nothing is drawn with it.
            return None
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(float)
        elif array.dtype.kind in "iu":
            array = array.astype("int64")
        elif array.dtype.kind != "b":
            raise Unconvertible("a constant", f"of type {array.dtype}")
        name = self.names.get((array.shape, array.astype(float).tobytes())) if array.ndim else None
        return pt.constant(array, name=name)

    def fixed(self, ref: Ref, what: str) -> Any:
        """The value of an input that has to be constant."""
        if not ref.is_constant:
            raise Unconvertible(what, "at places that are not constant")
        return value_of(ref)

    def whole(self, v: Any, shape: Sequence[int]) -> Any:
        """A variable with all elements of `shape`."""
        if v.type.shape == tuple(shape):
            return v
        return pt.broadcast_to(v, tuple(int(n) for n in shape))

    def run(self, closed: Any, ins: Sequence[Any]) -> list[Any]:
        """The outputs of a jaxpr for variables."""
        inner = self.inside()
        refs, outs = graph_of(closed)
        for ref, v in zip(refs, ins):
            inner.know(ref, v)
        out = [inner(ref) for ref in outs]
        self.tags.update(inner.tags)
        return out
