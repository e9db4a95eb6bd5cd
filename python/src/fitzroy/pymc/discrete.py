"""Discrete free variables: Fitzroy sums them out, or draws them after all others."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from pytensor.graph.traversal import ancestors

from .axes import Unconvertible
from .distributions import kind_of, params_of
from .walk import Walk

__all__ = ["combinations", "drawn_afterwards", "is_discrete", "moving"]

Array = np.ndarray[Any, Any]

#: Kinds with finitely many values. A Truncated one needs a greatest value, of which the text will
#: tell.
FINITE = frozenset("Bernoulli Binomial BetaBinomial Categorical DiscreteUniform Truncated".split())
#: Combinations of values that densities of PyMC are added over, at most.
MOST = 256


def is_discrete(v: Any) -> bool:
    """Whether the values of a variable are whole numbers."""
    return bool(v.type.dtype.startswith(("int", "uint", "bool")))


def moving(model: Any) -> list[Any]:
    """The free variables that are no whole numbers."""
    return [rv for rv in model.free_RVs if not is_discrete(rv)]


def drawn_afterwards(model: Any) -> list[Any]:
    """Free variables with infinitely many values that no density but their own depends on, as missing
    counts: the sum over them is 1, so that they need not be summed.

    Raises Unconvertible for others with infinitely many values.
    """
    endless = [v for v in model.free_RVs if is_discrete(v) and kind_of(v) not in FINITE]
    counted = [*model.basic_RVs, *model.potentials]
    needed = [v for v in endless if any(w is not v and v in ancestors([w]) for w in counted)]
    if needed:
        names = ", ".join(v.name for v in needed)
        raise Unconvertible("a discrete parameter with infinitely many values", names)
    return endless


def combinations(model: Any) -> list[tuple[Array, ...]]:
    """Every combination of values of the discrete free variables, in their order; of those that are
    drawn afterwards one value.

    Raises Unconvertible where they are too many to add PyMC's densities of.
    """
    constants, later = Walk(model).constants, drawn_afterwards(model)
    spaces: list[list[Array]] = []
    n = 1
    for v in filter(is_discrete, model.free_RVs):
        values = range(1) if v in later else _values(constants, v)
        shape = tuple(int(s) for s in constants.value(v.shape))
        elements = int(np.prod(shape))
        n *= len(values) ** elements
        if n > MOST:
            raise Unconvertible("the sum of PyMC's densities", f"over {n} combinations of {v.name}")
        whole = product(values, repeat=elements)
        spaces.append([np.array(z, dtype=v.type.dtype).reshape(shape) for z in whole])
    return list(product(*spaces))


def _values(constants: Any, v: Any) -> range:
    """The values that an element of a variable may have."""
    kind, params = kind_of(v), params_of(v)
    if kind == "Bernoulli":
        return range(2)
    if kind == "Categorical":
        return range(int(constants.value(params[0].shape)[-1]))
    if kind in ("Binomial", "BetaBinomial"):
        return range(int(np.max(constants.value(params[0]))) + 1)
    low, high = (constants.value(p) for p in params[-2:])
    least = int(np.min(low)) if np.isfinite(np.min(low)) else 0
    return range(least, int(np.max(high)) + 1)
