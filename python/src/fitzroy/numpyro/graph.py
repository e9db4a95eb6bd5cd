"""A program of JAX as a graph of steps: calls within calls are taken apart, and what is constant is
known."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.experimental
import numpy as np

from .constants import computed

__all__ = ["Ref", "Step", "double", "graph_of", "is_key", "needed", "origin", "value_of"]

#: Primitives that call a function.
CALLS = frozenset(
    "jit pjit closed_call core_call remat remat2 checkpoint custom_jvp_call custom_vjp_call "
    "custom_vjp_call_jaxpr".split()
)
#: Where they have it.
INNER = ("jaxpr", "call_jaxpr", "fun_jaxpr")
#: Functions of JAX that stay whole: taken apart they would be long, or pivot.
WHOLE = frozenset("logaddexp cholesky inv solve slogdet det".split())


def double(on: bool = True) -> AbstractContextManager[Any]:
    """JAX in float64 for a while, or as it is."""
    if not on:
        return nullcontext()
    enable: Any = getattr(jax, "enable_x64", None)
    if enable is None:
        enable = jax.experimental.enable_x64
    out: AbstractContextManager[Any] = enable(True)
    return out


class Ref:
    """A value: an input, a constant, or what a step gives."""

    def __init__(self, aval: Any, step: Step | None = None, value: Any = None) -> None:
        self.shape = tuple(int(n) for n in getattr(aval, "shape", np.shape(value)))
        self.dtype = getattr(aval, "dtype", None)
        self.step = step
        #: The value of a constant, once it is known.
        self.value = value
        self.is_constant: bool = value is not None or (step is not None and step.is_constant)


class Step:
    """One operation."""

    def __init__(self, order: int, name: str, eqn: Any, inputs: Sequence[Ref]) -> None:
        self.order, self.name, self.eqn = order, name, eqn
        self.params: dict[str, Any] = eqn.params
        self.inputs = list(inputs)
        self.is_constant = all(ref.is_constant for ref in inputs)
        self.outs = [Ref(v.aval, self) for v in eqn.outvars]


class _Graph:
    def __init__(self) -> None:
        self.n_steps = 0

    def run(self, jaxpr: Any, constants: Sequence[Ref], inputs: Sequence[Ref]) -> list[Ref]:
        known: dict[Any, Ref] = dict(zip(jaxpr.constvars, constants))
        known.update(zip(jaxpr.invars, inputs))

        def read(v: Any) -> Ref:
            if hasattr(v, "val"):
                return Ref(v.aval, value=np.asarray(v.val))
            return known[v]

        for eqn in jaxpr.eqns:
            ins = [read(v) for v in eqn.invars]
            for v, ref in zip(eqn.outvars, self.step(eqn, ins)):
                known[v] = ref
        return [read(v) for v in jaxpr.outvars]

    def step(self, eqn: Any, ins: list[Ref]) -> list[Ref]:
        name = eqn.primitive.name
        if name == "platform_index":
            # The branch for any processor is the last.
            return [Ref(eqn.outvars[0].aval, value=np.int32(len(eqn.params["platforms"]) - 1))]
        if name == "cond" and ins[0].is_constant:
            branches = eqn.params["branches"]
            chosen = branches[int(np.clip(value_of(ins[0]), 0, len(branches) - 1))]
            return self.closed(chosen, ins[1:])
        if name in CALLS:
            whole = str(eqn.params.get("name"))
            inner = next(eqn.params[k] for k in INNER if k in eqn.params)
            if whole not in WHOLE or not origin(inner) or not _is_plain(ins):
                return self.closed(inner, ins)
            name = whole
        self.n_steps += 1
        return Step(self.n_steps, name, eqn, ins).outs

    def closed(self, inner: Any, ins: Sequence[Ref]) -> list[Ref]:
        if not hasattr(inner, "jaxpr"):
            return self.run(inner, [], ins)
        return self.run(inner.jaxpr, [Ref(None, value=_array(c)) for c in inner.consts], ins)


def _is_plain(ins: Sequence[Ref]) -> bool:
    """Whether no input is a batch of matrices."""
    return all(len(ref.shape) <= 2 for ref in ins) or not ins


def origin(jaxpr: Any) -> bool:
    """Whether a function is JAX's own."""
    info = getattr(getattr(jaxpr, "jaxpr", jaxpr), "debug_info", None)
    return f"{os.sep}jax{os.sep}_src{os.sep}" in str(getattr(info, "func_src_info", ""))


def is_key(x: Any) -> bool:
    """Whether a value is a key for random numbers, or a value of that type."""
    dtype = getattr(x, "dtype", None)
    return dtype is not None and bool(jax.dtypes.issubdtype(dtype, jax.dtypes.extended))


def _array(c: Any) -> Any:
    return c if is_key(c) else np.asarray(c)


def graph_of(closed: Any, inputs: Sequence[Ref] | None = None) -> tuple[list[Ref], list[Ref]]:
    """Inputs and outputs of a closed jaxpr as a graph."""
    if inputs is None:
        inputs = [Ref(v.aval) for v in closed.jaxpr.invars]
    return list(inputs), _Graph().closed(closed, inputs)


def needed(refs: Sequence[Ref], known: Any, constant: bool = False) -> list[Step]:
    """The steps that lead to values from what is `known`, first things first."""
    found: dict[int, Step] = {}
    stack = list(refs)
    while stack:
        one = stack.pop()
        if one.step is None or one in known or id(one.step) in found:
            continue
        if one.is_constant is not constant:
            continue
        found[id(one.step)] = one.step
        stack.extend(one.step.inputs)
    return sorted(found.values(), key=lambda step: step.order)


class _Known:
    """Constants whose value is there."""

    def __contains__(self, ref: Ref) -> bool:
        return ref.value is not None


KNOWN = _Known()


def value_of(ref: Ref) -> Any:
    """The value of a constant."""
    if ref.value is None:
        for step in needed([ref], KNOWN, constant=True):
            with double():
                outs = computed(step.name, step.eqn, [i.value for i in step.inputs])
            for out, value in zip(step.outs, outs):
                out.value = value
    return ref.value
