"""Arguments of a model and axes of its sites: types, and names for people."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["dims_of", "in_double", "named_data"]


def in_double(tree: Any) -> Any:
    """Arguments with their floating-point numbers in float64."""

    def one(x: Any) -> Any:
        kind = getattr(getattr(x, "dtype", None), "kind", None)
        if isinstance(x, np.ndarray) and kind == "f":
            return x.astype(float)
        if isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jnp.floating):
            return jnp.asarray(np.asarray(x), dtype=jnp.float64)
        return x

    return jax.tree.map(one, tree)


def named_data(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[Any, str]:
    """Names of the arguments that are arrays, by shape and bytes."""
    while isinstance(model, functools.partial):
        model, args, kwargs = model.func, (*model.args, *args), {**model.keywords, **kwargs}
    try:
        given = dict(inspect.signature(model).bind(*args, **kwargs).arguments)
    except (TypeError, ValueError):
        given = dict(kwargs)
    out: dict[Any, str] = {}
    for name, value in given.items():
        parts = value.items() if isinstance(value, dict) else [(name, value)]
        for key, part in parts:
            if isinstance(part, (np.ndarray, jax.Array)) and np.asarray(part).dtype.kind in "fiub":
                array = np.asarray(part)
                out.setdefault((array.shape, array.astype(float).tobytes()), str(key))
    return out


def dims_of(site: Any, ndim: int, event_dim: int | None) -> list[str | None]:
    """Names of the axes: plates, and what `infer={"event_dims": ...}` says."""
    out: list[str | None] = [None] * ndim
    events = list((site.get("infer") or {}).get("event_dims") or [])
    n_events = len(events) if event_dim is None else event_dim
    for frame in site.get("cond_indep_stack") or []:
        k = ndim - n_events + frame.dim
        if 0 <= k < ndim and event_dim is not None:
            out[k] = frame.name
    for k, name in enumerate(events):
        if 0 <= ndim - len(events) + k < ndim:
            out[ndim - len(events) + k] = str(name)
    return out
