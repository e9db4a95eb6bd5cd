"""What a model has beside its variables: data and labels, which may be changed at any time."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from pymc.backends.arviz import find_constants, find_observations
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.type import RandomType

__all__ = ["Given", "dims_of", "given", "shared_values"]

Array = np.ndarray[Any, Any]


class Given(NamedTuple):
    """Data with their dims, and labels by dim, as a result has them."""

    observed: dict[str, Any]
    constant: dict[str, Any]
    coords: dict[str, Array]


def given(model: Any) -> Given:
    """What the model has now."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        observed = _with_dims(model, find_observations(model))
        constant = _with_dims(model, find_constants(model))
    coords = {k: np.asarray(v) for k, v in model.coords.items() if v is not None}
    return Given(observed, constant, coords)


def shared_values(model: Any) -> list[tuple[Any, Array]]:
    """The values that the model's shared variables have now."""
    own = [*model.basic_RVs, *model.deterministics, *model.potentials]
    out = {}
    for v in ancestors([*own, *model.rvs_to_values.values()]):
        if isinstance(v, SharedVariable) and not isinstance(v.type, RandomType):
            out[v] = np.array(v.get_value(borrow=True))
    return list(out.items())


def dims_of(model: Any, name: str, ndim: int) -> list[str]:
    """Dims of a variable: the model's, or ArviZ's for those without."""
    given = list(model.named_vars_to_dims.get(name) or ())
    given += [None] * (ndim - len(given))
    return [d or f"{name}_dim_{k}" for k, d in enumerate(given[:ndim])]


def _with_dims(model: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Observed or constant data with their dims."""
    out = {}
    for name, values in found.items():
        array = np.asarray(values)
        if array.dtype.kind == "O":
            continue
        out[name] = (tuple(dims_of(model, name, array.ndim)), array)
    return out
