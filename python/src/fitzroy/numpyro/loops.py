"""`scan`: a loop of PyTensor, or its steps one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt

from ..conversion import Unconvertible
from .graph import Ref, Step, graph_of, is_key, value_of
from .tensors import Tensors, primitive

__all__: list[str] = []

Array = np.ndarray[Any, Any]
#: Steps that are written out one by one, at most.
MOST_WRITTEN_OUT = 64


@primitive("while")
def endless(t: Tensors, step: Step, *ins: Any) -> Any:
    raise Unconvertible("while_loop", "a loop whose steps are not counted")


@primitive("scan")
def scan(t: Tensors, step: Step, *ins: Any) -> Any:
    loop = _Loop(t, step, list(ins))
    if loop.length == 1 or t.unrolled:
        return loop.written_out()
    return loop.converted()


class _Loop:
    """One `scan`, what of it is constant, and the rest."""

    def __init__(self, t: Tensors, step: Step, ins: list[Any]) -> None:
        self.t, p = t, step.params
        self.closed, self.length, self.reverse = p["jaxpr"], int(p["length"]), bool(p["reverse"])
        n_fixed, n_carry = _lengths(p)
        self.n_carry = n_carry
        self.fixed, self.start = ins[:n_fixed], ins[n_fixed : n_fixed + n_carry]
        self.over = ins[n_fixed + n_carry :]
        refs = step.inputs
        self.fixed_refs, self.start_refs = refs[:n_fixed], refs[n_fixed : n_fixed + n_carry]
        self.over_refs = refs[n_fixed + n_carry :]
        self.out_refs = step.outs
        #: For constant carries their values before each step, and at last; for constant outputs of
        #: steps their values.
        self.series: dict[int, Array] = {}
        self.constant: dict[int, Array] = {}
        self._find_constants()

    def _find_constants(self) -> None:
        """Carries that no variable enters, as counters are, and what steps give of them."""
        is_fixed = [r.is_constant for r in (*self.fixed_refs, *self.start_refs, *self.over_refs)]
        n, known = len(self.fixed_refs), set(range(self.n_carry))
        known = {k for k in known if is_fixed[n + k] and not is_key(self.start_refs[k])}
        avals = [v.aval for v in self.closed.jaxpr.invars]
        while True:
            inputs = []
            for j, aval in enumerate(avals):
                k = j - n
                fixed = is_fixed[j] and (not 0 <= k < self.n_carry or k in known)
                inputs.append(
                    Ref(
                        aval,
                        value=np.zeros(aval.shape, aval.dtype)
                        if fixed and not is_key(aval)
                        else None,
                    )
                )
            _, outs = graph_of(self.closed, inputs)
            still = {k for k in known if outs[k].is_constant}
            if still == known:
                break
            known = still
        given = outs[self.n_carry :]
        kept = [j for j, out in enumerate(given) if out.is_constant and not is_key(out)]
        if known or kept:
            self._count(sorted(known), kept, avals)

    def _count(self, known: list[int], kept: list[int], avals: Sequence[Any]) -> None:
        """Computes them step by step."""
        n = len(self.fixed_refs)
        given: dict[int, list[Any]] = {j: [] for j in kept}
        now = {k: value_of(self.start_refs[k]) for k in known}
        series: dict[int, list[Any]] = {k: [now[k]] for k in known}
        for i in range(self.length):
            inputs = []
            for j, aval in enumerate(avals):
                if j < n:
                    ref = self.fixed_refs[j]
                    value = value_of(ref) if ref.is_constant else None
                elif j < n + self.n_carry:
                    value = now.get(j - n)
                else:
                    ref = self.over_refs[j - n - self.n_carry]
                    value = value_of(ref)[self._at(i)] if ref.is_constant else None
                inputs.append(
                    Ref(aval, value=None if value is None or is_key(aval) else np.asarray(value))
                )
            _, outs = graph_of(self.closed, inputs)
            now = {k: value_of(outs[k]) for k in known}
            for k in known:
                series[k].append(now[k])
            for j in kept:
                given[j].append(value_of(outs[self.n_carry + j]))
        self.series = {k: np.array(values) for k, values in series.items()}
        turn = slice(None, None, -1 if self.reverse else 1)
        self.constant = {j: np.array(values)[turn] for j, values in given.items()}

    def _at(self, i: int) -> int:
        return self.length - 1 - i if self.reverse else i

    def _body(self, inputs: Sequence[Ref], variables: Sequence[Any]) -> list[Any]:
        inner = self.t.inside()
        _, outs = graph_of(self.closed, inputs)
        for ref, v in zip(inputs, variables):
            if v is not None:
                inner.know(ref, v)
        return [None if is_key(ref) else inner(ref) for ref in outs]

    def written_out(self) -> list[Any]:
        if self.length > MOST_WRITTEN_OUT:
            raise Unconvertible("scan", f"{self.length} steps, which are too many to write out")
        t, avals = self.t, [v.aval for v in self.closed.jaxpr.invars]
        n = len(self.fixed_refs)
        now: list[Any] = list(self.start)
        kept: list[list[Any]] = []
        whole = [t.whole(v, r.shape) for v, r in zip(self.over, self.over_refs)]
        for i in range(self.length):
            inputs, variables = [], []
            for j, aval in enumerate(avals):
                value, v = None, None
                if j < n:
                    ref, v = self.fixed_refs[j], self.fixed[j]
                    value = value_of(ref) if ref.is_constant else None
                elif j < n + self.n_carry:
                    k = j - n
                    v = now[k]
                    value = self.series[k][i] if k in self.series else None
                else:
                    k = j - n - self.n_carry
                    ref, v = self.over_refs[k], whole[k][self._at(i)]
                    value = value_of(ref)[self._at(i)] if ref.is_constant else None
                inputs.append(
                    Ref(aval, value=None if value is None or is_key(aval) else np.asarray(value))
                )
                variables.append(None if value is not None else v)
            outs = self._body(inputs, variables)
            now = outs[: self.n_carry]
            kept.append(outs[self.n_carry :])
        if self.reverse:
            kept.reverse()
        refs = self.out_refs[self.n_carry :]
        series = [
            pt.stack([t.whole(one[k], ref.shape[1:]) for one in kept]) for k, ref in enumerate(refs)
        ]
        return [*now, *series]

    def converted(self) -> list[Any]:
        """A loop of PyTensor, whose steps have the constant carries as sequences."""
        t, turn = self.t, slice(None, None, -1 if self.reverse else 1)
        keys = {k for k in range(self.n_carry) if is_key(self.start_refs[k])}
        moving = [k for k in range(self.n_carry) if k not in self.series and k not in keys]
        series = {j: v for j, v in enumerate(self._without_loop()) if v is not None}
        kept = [j for j in range(len(self.out_refs) - self.n_carry) if j not in series]
        given = [t.whole(v, r.shape)[turn] for v, r in zip(self.over, self.over_refs)]
        counted = [t.constant(values[:-1]) for values in self.series.values()]
        start = [t.whole(self.start[k], self.start_refs[k].shape) for k in moving]

        def body(*args: Any) -> list[Any]:
            over, rest = args[: len(given)], args[len(given) :]
            carried = dict(zip([*self.series, *moving], rest))
            outs = self._step(over, carried, list(rest[len(carried) :]))
            return [*[outs[k] for k in moving], *[outs[self.n_carry + j] for j in kept]]

        found: Any = []
        if moving or kept:
            found = pytensor.scan(
                body,
                sequences=[*given, *counted],
                outputs_info=[*start, *[None] * len(kept)],
                non_sequences=[v for v in self.fixed if v is not None],
                n_steps=self.length,
            )
        if isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict):
            found = found[0]
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        last = dict(zip(moving, (v[-1] for v in found)))
        last.update({k: t.constant(values[-1]) for k, values in self.series.items()})
        for j, v in zip(kept, found[len(moving) :]):
            shape = self.out_refs[self.n_carry + j].shape
            series[j] = pt.specify_shape(v[turn] if self.reverse else v, shape)
        return [*[last.get(k) for k in range(self.n_carry)], *[series[j] for j in sorted(series)]]

    def _step(self, over: Any, carried: dict[int, Any], fixed: list[Any]) -> list[Any]:
        """The outputs of one step."""
        inputs, variables = [], []
        for j, v in enumerate(self.closed.jaxpr.invars):
            value, variable = None, None
            k = j - len(self.fixed_refs)
            if k < 0:
                ref = self.fixed_refs[j]
                variable = None if self.fixed[j] is None else fixed.pop(0)
                value = value_of(ref) if ref.is_constant and not is_key(v.aval) else None
            elif k < self.n_carry:
                variable = carried.get(k)
            else:
                variable = over[k - self.n_carry]
            inputs.append(Ref(v.aval, value=value))
            variables.append(None if value is not None else variable)
        outs = self._body(inputs, variables)
        shapes = [v.aval.shape for v in self.closed.jaxpr.outvars]
        return [None if v is None else self.t.whole(v, s) for v, s in zip(outs, shapes)]

    def _without_loop(self) -> list[Any]:
        """What each series of outputs is, where it is the same in every step, or an input's; none
        where it is not."""
        n, inputs = len(self.fixed_refs), []
        for j, v in enumerate(self.closed.jaxpr.invars):
            known = j < n and self.fixed_refs[j].is_constant and not is_key(v.aval)
            inputs.append(Ref(v.aval, value=value_of(self.fixed_refs[j]) if known else None))
        _, outs = graph_of(self.closed, inputs)
        place = {ref: j for j, ref in enumerate(inputs)}
        found: list[Any] = []
        for number, ref in enumerate(outs[self.n_carry :]):
            if number in self.constant:
                found.append(self.t.constant(self.constant[number]))
                continue
            while ref.step is not None and ref.step.name == "convert_element_type":
                if not _is_same_kind(ref, ref.step.inputs[0]):
                    break
                ref = ref.step.inputs[0]
            behind = {place[i] for i in _sources(ref) if i in place}
            first = place.get(ref, -1)
            if first >= n + self.n_carry:
                found.append(self.over[first - n - self.n_carry])
            elif all(j < n for j in behind):
                inner = self.t.inside()
                for j in behind:
                    inner.know(inputs[j], self.fixed[j])
                v = inner(ref)
                found.append(v.dimshuffle("x", *range(v.type.ndim)))
            else:
                found.append(None)
        return found


def _is_same_kind(a: Ref, b: Ref) -> bool:
    return np.dtype(a.dtype).kind == np.dtype(b.dtype).kind


def _sources(ref: Ref) -> set[Ref]:
    """The inputs of a graph that a value depends on."""
    found, stack, seen = set(), [ref], set()
    while stack:
        one = stack.pop()
        if one in seen:
            continue
        seen.add(one)
        if one.step is None:
            found.add(one)
        else:
            stack.extend(one.step.inputs)
    return found


def _lengths(p: dict[str, Any]) -> tuple[int, int]:
    """How many inputs are the same in every step, and how many are carried."""
    if "num_consts" in p:
        return int(p["num_consts"]), int(p["num_carry"])
    fixed, carried, _ = p["ft_in"].unpack()
    return len(list(fixed.vals)), len(list(carried.vals))
