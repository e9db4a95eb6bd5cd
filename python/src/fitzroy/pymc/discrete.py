"""Discrete free variables, which Fitzroy sums out."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from .axes import Unconvertible
from .distributions import kind_of, params_of
from .walk import Walk

__all__ = ["FINITE", "combinations", "is_discrete"]

Array = np.ndarray[Any, Any]

#: Kinds with finitely many values. A Truncated one needs a greatest value, of which the text will
#: tell.
FINITE = frozenset("Bernoulli Binomial BetaBinomial Categorical DiscreteUniform Truncated".split())
#: Combinations of values that densities of PyMC are added over, at most.
MOST = 256


def is_discrete(v: Any) -> bool:
    """Whether the values of a variable are whole numbers."""
    return bool(v.type.dtype.startswith(("int", "uint", "bool")))


def combinations(model: Any) -> list[tuple[Array, ...]]:
    """Every combination of values of the discrete free variables, in their order.

    Raises Unconvertible where they are too many to add PyMC's densities of.
    """
    constants = Walk(model).constants
    spaces: list[list[Array]] = []
    n = 1
    for v in filter(is_discrete, model.free_RVs):
        values = _values(constants, v)
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
