"""Unconstrained values of a model's sites, as NumPyro takes them for starts, on their natural scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.infer.util import constrain_fn

from .arguments import in_double
from .graph import double

__all__ = ["constrained"]


def constrained(
    model: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    params: dict[str, Any],
    chains: int,
) -> list[dict[str, Any]]:
    """One set of values for each chain; `params` have a first axis of chains where there are several.

    Raises ValueError where that axis has another length.
    """
    with double():
        args, kwargs, params = in_double((tuple(args), dict(kwargs), params))
        sets = [params]
        if chains > 1:
            lengths = {np.shape(v)[0] if np.ndim(v) else 0 for v in params.values()}
            if lengths != {chains}:
                raise ValueError(f"init_params: needs a first axis of {chains} chains")
            sets = [jax.tree.map(lambda x, c=c: jnp.asarray(x)[c], params) for c in range(chains)]
        seeded = handlers.seed(model, 0)
        found = [constrain_fn(seeded, args, kwargs, one) for one in sets]
    return [{k: np.asarray(v) for k, v in one.items()} for one in found]
