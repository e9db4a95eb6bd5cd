"""From a variable of PyTensor's graph to an expression, by a table of ops."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pytensor.compile.builders import OpFromGraph
from pytensor.graph.replace import graph_replace
from pytensor.tensor.elemwise import DimShuffle, Elemwise

from .axes import ATOM, Axis, Expr, Unconvertible, counted, number
from .folding import Constants, is_random
from .writer import Writer

__all__ = ["OPS", "Walk", "core_name", "core_of", "look_through", "op", "scalar_name", "strip"]

#: How an op is converted, by the name of its class.
Convert = Callable[["Walk", Any], Expr]
OPS: dict[str, Convert] = {}


def op(*names: str) -> Callable[[Convert], Convert]:
    """Registers the conversion of the ops whose classes have these names."""

    def register(convert: Convert) -> Convert:
        OPS.update(dict.fromkeys(names, convert))
        return convert

    return register


def core_of(op: Any) -> Any:
    """An op, or what it does to each element of a batch."""
    return getattr(op, "core_op", op)


def core_name(op: Any) -> str:
    """The class of an op, or of what it does to each element of a batch."""
    return type(core_of(op)).__name__


def strip(v: Any) -> Any:
    """`v` without changes of its axes."""
    while v.owner is not None and isinstance(v.owner.op, DimShuffle):
        v = v.owner.inputs[0]
    return v


def look_through(v: Any) -> Any:
    """What a variable that only names another is."""
    while v.owner is not None and type(v.owner.op).__name__ == "ViewOp":
        v = v.owner.inputs[0]
    return v


def scalar_name(v: Any) -> str | None:
    """The elementwise op that makes `v`, changes of axes apart."""
    v = strip(v)
    if v.owner is None or not isinstance(v.owner.op, Elemwise):
        return None
    return type(v.owner.op.scalar_op).__name__


class Walk:
    """A walk through the graph of a model."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.writer = Writer()
        self.constants = Constants()
        #: What was said of the conversion, for people.
        self.notes: list[str] = []
        #: What loops give, by their outputs.
        self.loops: dict[Any, Any] = {}
        self._exprs: dict[Any, Expr] = {}
        self._uses: dict[Any, int] = {}
        self._inner: dict[Any, list[Any]] = {}
        self._dims: dict[str, Axis] = {}

    def count(self, roots: Iterable[Any]) -> None:
        """Counts how often each variable is used."""
        seen, stack = set(), list(roots)
        while stack:
            v = stack.pop()
            if v in seen or v.owner is None:
                continue
            seen.add(v)
            for i in v.owner.inputs:
                self._uses[i] = self._uses.get(i, 0) + 1
                stack.append(i)

    def is_used(self, v: Any) -> bool:
        return self._uses.get(v, 0) > 0

    def know(self, v: Any, e: Expr) -> Expr:
        """From here on `v` is `e`."""
        self.constants.free.add(v)
        self._exprs[v] = e
        return e

    def known(self, v: Any) -> Expr | None:
        return self._exprs.get(v)

    def named_axis(self, name: str, size: int) -> Axis:
        """The axis of a dim of the model."""
        axis = self._dims.get(name)
        if axis is None or axis.size != size:
            axis = self._dims[name] = Axis(size, name)
        return axis

    def axes_of(self, name: str | None, shape: Iterable[int]) -> list[Axis]:
        """Axes for a variable of the model, by its dims where it has some."""
        dims = list(self.model.named_vars_to_dims.get(name or "", ()) or ())
        out = []
        for k, size in enumerate(shape):
            dim = dims[k] if k < len(dims) else None
            out.append(self.named_axis(dim, size) if dim else Axis(size))
        return out

    def expr(self, v: Any) -> Expr:
        """The expression of a variable."""
        found = self._exprs.get(v)
        if found is not None:
            return found
        if self.constants.holds(v):
            out = self.constant(v)
        else:
            out = self.apply(v)
            shared = self._uses.get(v, 0) > 1 and not isinstance(v.owner.op, DimShuffle)
            if shared and not out.named and out.number is None:
                out = self.writer.let(out)
        self._exprs[v] = out
        return out

    def apply(self, v: Any) -> Expr:
        """The expression of what an op gives."""
        if v.owner is None:
            raise Unconvertible(str(v), "an input that is no variable of the model")
        name = core_name(v.owner.op)
        if isinstance(v.owner.op, Elemwise):
            name = "Elemwise"
        convert = OPS.get(name)
        if convert is None:
            if is_random(v.owner.op):
                raise Unconvertible(name, "a random variable that is not of the model")
            if isinstance(v.owner.op, OpFromGraph):
                return self.expr(self._inside(v))
            raise Unconvertible(name, "the language has no such operation")
        return convert(self, v)

    def _inside(self, v: Any) -> Any:
        """`v`, which an op with a graph of its own gives, by that graph."""
        node = v.owner
        found = self._inner.get(node)
        if found is None:
            graph = node.op.fgraph
            # As of PyTensor 3 it cannot be changed, but copied to one that can.
            graph = graph.unfreeze() if hasattr(graph, "unfreeze") else graph
            given = dict(zip(graph.inputs, node.inputs))
            found = graph_replace(graph.outputs, given, strict=False)
            self._inner[node] = found
            self.count(found)
        return found[node.outputs.index(v)]

    def constant(self, v: Any, name: str | None = None) -> Expr:
        """A number, or declared data."""
        value = self.constants.value(v)
        if value.dtype.kind not in "fiub":
            raise Unconvertible("constant", f"of type {value.dtype}")
        if value.size == 1:
            x = float(value.reshape(()))
            return Expr([None] * value.ndim, number(x), ATOM if x >= 0 else 80, number=x)
        own = self.axes_of(v.name, value.shape)
        axes = [None if size == 1 else axis for size, axis in zip(value.shape, own)]
        squeezed = value.reshape([s for s in value.shape if s != 1]).astype(float)
        shown: list[str] = []

        def text() -> str:
            if not shown:
                real = [a for a in axes if a is not None]
                shown.append(self.writer.datum(squeezed, real, name or v.name or "c"))
            return shown[0]

        return Expr(axes, text, number=self.constants.uniform(v), named=True)

    def at(self, e: Expr, positions: dict[int, int]) -> Expr:
        """Elements of an expression at positions of some axes, which then are no more."""
        e = self.writer.named(e)
        subscripts, axes = [], []
        for i, a in enumerate(e.axes):
            if a is not None:
                subscripts.append(str(positions[i]) if i in positions else ":")
            if i not in positions:
                axes.append(a)
        if all(s == ":" for s in subscripts):
            return e.moved(axes)
        return Expr(axes, lambda: f"{e.text(ATOM)}[{', '.join(subscripts)}]")

    def axis_name(self, e: Expr, i: int) -> str:
        """What axis `i` of an expression is called in its text."""
        before = sum(a is not None for a in e.axes[:i])
        return self.writer.label(counted(e.axes)[before])

    def first(self, e: Expr, i: int) -> Expr:
        """`e` at the only position of an axis of length 1, which then is repeated."""
        picked = self.at(e, {i: 0})
        return picked.moved([*picked.axes[:i], None, *picked.axes[i:]])

    def repeat(self, e: Expr, axes: list[Axis | None]) -> Expr:
        """`e`, repeated along the axes that it lacks."""
        have = {a.root for a in e.real}
        real = [a for a in axes if a is not None]
        if len(real) == len(e.real) and all(a.root in have for a in real):
            return e.moved(axes) if len(e.axes) != len(axes) else e
        return self.writer.let(e, axes=axes)
