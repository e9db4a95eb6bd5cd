"""Loops: the steps of a `Scan` as definitions that depend on their own step before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.replace import vectorize_graph

from .axes import Axis, Expr, Unconvertible, unite
from .walk import Walk, core_name, op

__all__ = ["part_of_loop"]

#: Ops that say something of a type and change nothing.
OF_TYPES = ("Unbroadcast", "SpecifyShape", "Cast")


@dataclass
class _Output:
    """What a loop gives: its values after each step, and those before the first."""

    steps: Expr
    start: Any = None
    n_start: int = 0


@dataclass
class _State:
    """A state while its loop is converted."""

    shown: str
    axes: list[Axis | None]
    #: Its values before the first step, the oldest first.
    start: Any
    n_start: int


class _Loop:
    """A `Scan` with its graph over all steps at once.

    The steps of the inner graph become a first axis of every variable, along which what a step
    reads of its past is `lag` of a definition.
    """

    def __init__(self, walk: Walk, node: Any) -> None:
        self.walk, self.node, self.op = walk, node, node.op
        info = self.op.info
        # Later versions call them otherwise.
        drawn = "n_untraced_sit_sot" if hasattr(info, "n_untraced_sit_sot") else "n_shared_outs"
        for there, what in (
            (info.as_while, "that stops by a condition"),
            (info.mit_mot_out_slices, "of a gradient"),
            (getattr(info, drawn), "that draws or updates in its steps"),
        ):
            if there:
                raise Unconvertible("Scan", what)
        self.n_steps = walk.constants.whole(node.inputs[0])
        if self.n_steps < 2:
            raise Unconvertible("Scan", "of a single step")
        self.time = Axis(self.n_steps)
        self.states: list[_State] = []

    def outputs(self) -> list[_Output]:
        """The outputs, in the order of the node's."""
        op, walk, outer = self.op, self.walk, self.node.inputs
        # Later versions keep the graph of a step so that it cannot be changed.
        step = op.fgraph.unfreeze() if hasattr(op.fgraph, "unfreeze") else op.fgraph
        inner, results = step.inputs, list(step.outputs)
        behind: dict[Any, Any] = {}
        for here, there in zip(op.inner_seqs(inner), op.outer_seqs(outer)):
            behind[here] = self.positions(there)
            if behind[here] is None:
                behind[here] = self.known(here, self.sequence(there))
        taps = [*op.info.mit_sot_in_slices, *op.info.sit_sot_in_slices]
        whole = [*op.outer_mitsot(outer), *op.outer_sitsot(outer)]
        before = [*op.inner_mitsot(inner), *op.inner_sitsot(inner)]
        for lags, buffer in zip(taps, whole):
            state = self.state(buffer, -min(lags))
            self.states.append(state)
            for lag in lags:
                here = before.pop(0)
                behind[here] = self.known(here, self.past(state, -lag))
        behind.update(zip(op.inner_non_seqs(inner), op.outer_non_seqs(outer)))
        steps = vectorize_graph(results, behind)
        walk.count(steps)
        return [self.output(k, r, s) for k, (r, s) in enumerate(zip(results, steps))]

    def known(self, inner: Any, e: Expr) -> Any:
        """A variable for `inner` over all steps, which is `e`."""
        over = pt.tensor(dtype=inner.type.dtype, shape=(self.n_steps, *inner.type.shape))
        self.walk.know(over, e)
        return over

    def positions(self, v: Any) -> Any:
        """Whole numbers that are constant, at which steps look something up."""
        if not v.type.dtype.startswith(("int", "uint")) or not self.walk.constants.holds(v):
            return None
        return pt.constant(self.walk.constants.value(v)[: self.n_steps])

    def sequence(self, v: Any) -> Expr:
        e = self.walk.expr(v)
        if e.axes[0] is None:
            raise Unconvertible("Scan", "over a sequence that is repeated")
        unite(self.time, e.axes[0], "Scan")
        return e

    def state(self, buffer: Any, n_start: int) -> _State:
        start = _start(buffer)
        first = self.walk.expr(start[0])
        sizes = start.type.shape[1:]
        axes = [
            a if a is not None or size == 1 else Axis(self.walk.constants.whole(start.shape[k + 1]))
            for k, (a, size) in enumerate(zip(first.axes, sizes))
        ]
        return _State(self.walk.writer.fresh("state"), [self.time, *axes], start, n_start)

    def past(self, state: _State, lag: int) -> Expr:
        """A state some steps before."""
        starts = [self.walk.expr(state.start[state.n_start - k]) for k in range(1, lag + 1)]
        for start in starts:
            for a, there in zip(start.axes, state.axes[1:]):
                if a is not None and there is not None:
                    unite(there, a, "Scan")

        def text() -> str:
            out = state.shown
            for start in starts:
                out = f"lag({out}, {start.text()}, axis={self.walk.writer.dim(self.time)})"
            return out

        return Expr(state.axes, text)

    def output(self, k: int, inner: Any, over: Any) -> _Output:
        walk = self.walk
        e = walk.expr(over)
        if over.type.ndim == inner.type.ndim:
            # The same in every step.
            e = e.moved([None, *e.axes])
        if k >= len(self.states):
            return _Output(walk.writer.let(e, axes=[e.axes[0] or self.time, *e.axes[1:]]))
        state = self.states[k]
        for there, a in zip(state.axes, e.axes):
            if there is not None and a is not None:
                unite(there, a, "Scan")
        walk.writer.say(
            lambda: f"let {state.shown}{walk.writer.dims(state.axes, twice=True)} = {e.text()}"
        )
        return _Output(Expr(state.axes, state.shown, named=True), state.start, state.n_start)


def _start(buffer: Any) -> Any:
    """The values before the first step, from the buffer that holds them and room for the rest."""
    while buffer.owner is not None and core_name(buffer.owner.op) in OF_TYPES:
        buffer = buffer.owner.inputs[0]
    op = buffer.owner and buffer.owner.op
    if core_name(op) == "IncSubtensor" and op.set_instead_of_inc:
        room, start = buffer.owner.inputs[:2]
        if room.owner is not None and core_name(room.owner.op) == "AllocEmpty":
            return start
    raise Unconvertible("Scan", "with a start in this form")


def _output(walk: Walk, v: Any) -> _Output:
    """Output `v` of a loop, which is converted once."""
    if v not in walk.loops:
        node = v.owner
        walk.loops.update(zip(node.outputs, _Loop(walk, node).outputs()))
    found: _Output = walk.loops[v]
    return found


@op("Scan")
def scan(walk: Walk, v: Any) -> Expr:
    out = _output(walk, v)
    if not out.n_start:
        return out.steps
    steps = v.type.clone(shape=(None, *v.type.shape[1:]))()
    walk.know(steps, out.steps)
    return walk.expr(pt.join(0, out.start[: out.n_start], steps))


def part_of_loop(walk: Walk, v: Any, keys: Sequence[Any]) -> Expr | None:
    """What a subscript takes of a state's values, if those before the first step are not part of
    it."""
    source = v.owner.inputs[0]
    if source.owner is None or core_name(source.owner.op) != "Scan" or not keys:
        return None
    out, first = _output(walk, source), keys[0]
    if any(k != slice(None) for k in keys[1:] if isinstance(k, slice)) or not out.n_start:
        return None
    if any(not isinstance(k, slice) for k in keys[1:]):
        return None
    axis = out.steps.axes[0]
    assert axis is not None, "the steps"
    size = axis.root.size + out.n_start
    if isinstance(first, slice) and first.indices(size) == (out.n_start, size, 1):
        return out.steps
    if isinstance(first, int) and first % size >= out.n_start:
        return walk.at(out.steps, {0: first % size - out.n_start})
    return None
