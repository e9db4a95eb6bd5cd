"""Packed triangles: PyMC unpacks a Cholesky factor by setting elements of zeros."""

from __future__ import annotations

from typing import Any

from .axes import Expr, Unconvertible
from .walk import Walk, core_name, op, strip

__all__: list[str] = []


@op("AdvancedIncSubtensor", "AdvancedIncSubtensor1", "IncSubtensor")
def unpacked(walk: Walk, v: Any) -> Expr:
    into, values = v.owner.inputs[:2]
    source = strip(values)
    random = source.owner is not None and type(source.owner.op).__name__ == "_LKJCholeskyCovRV"
    if random and walk.constants.holds(into):
        found = walk.known(source)
        if found is not None:
            return found
    raise Unconvertible(core_name(v.owner.op), "elements of an array that are set")
