"""What models are given, as what they compute with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..tracing.nodes import Recorded
from .parameter import Parameter

__all__ = ["aligned", "coerce_arraylike", "not_missing", "values_of"]


def coerce_arraylike(x: Any) -> Any:
    """Lists, series and arrays of other libraries as arrays of float64 or complex128."""
    if isinstance(x, Recorded):
        return x
    if isinstance(x, (list, tuple)) or hasattr(x, "__array__"):
        return np.asarray(x, dtype=complex if np.iscomplexobj(x) else float)
    return x


def values_of(params: Any, kwargs: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Values of parameters, with others for those that are keywords, also in expressions."""
    given = [name for name in kwargs if name in params]
    before = {name: (params[name]._val, params[name]._expr) for name in given}
    for name in given:
        params[name]._val, params[name]._expr = kwargs[name], None
    try:
        rows = ((name, params[name]) for name in names)
        return {name: par.value if isinstance(par, Parameter) else par for name, par in rows}
    finally:
        for name, (value, expr) in before.items():
            params[name]._val, params[name]._expr = value, expr


def not_missing(data: Any) -> Any:
    """Which data are there."""
    return data.notnull() if hasattr(data, "notnull") else ~np.isnan(np.asarray(data))


def aligned(values: Any, mask: Any, data: Any) -> Any:
    """The values where data are there; series by their index."""
    if values is None or np.ndim(values) == 0:
        return values
    if hasattr(values, "reindex_like") and hasattr(data, "reindex_like"):
        return values.reindex_like(data).dropna()
    return values if mask is None else np.asarray(values)[..., np.asarray(mask)]
