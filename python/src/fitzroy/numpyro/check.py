"""Are density and gradient of a text those of the NumPyro model? Compared at draws, far from the mode
as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from numpyro.distributions.distribution import validation_enabled
from numpyro.infer.util import log_density

from ..conversion import Unconvertible
from ..pymc.check import Check, drawn_as_written, log_turn, of_text
from ..pymc.discrete import combinations, is_discrete, moving
from ..pymc.layout import as_model
from .graph import double
from .text import Text
from .trace import support_of

__all__ = ["check"]

Array = np.ndarray[Any, Any]
#: Compiled faster than the check itself takes.
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def check(text: Text, n: int = 64, random_seed: int = 1) -> Check:
    """Compares density and gradient of a text with NumPyro's at `n` points.

    Raises Unconvertible for what cannot be compared.
    """
    conversion = text.conversion
    raw = drawn_as_written(conversion, text.arrays, n, random_seed)
    shown = {name: t for t, name in conversion.called.items()}
    free = {}
    for rv in moving(text.built.model):
        values = raw["groups"]["posterior"][shown[rv.name]][1]
        free[rv.name] = as_model(conversion, rv.name, values.reshape(-1, *values.shape[2:])[:n])
    theirs, slopes = _of_model(text, free)

    ours = of_text(conversion, text.arrays, free, slopes)
    return Check(ours["lp"], theirs, ours["slope"], ours["other"], "NumPyro")


def _of_model(text: Text, free: dict[str, Array]) -> tuple[Array, dict[str, Array]]:
    """NumPyro's log density at values of the variables, in the coordinates of the text and summed
    over the discrete sites, and its slopes by these values."""
    t, factors = text.traced, text.built.factors
    every = _every(text)

    def at(values: dict[str, Any]) -> Any:
        params = {}
        for site in t.latent:
            if site.name in factors:
                params[site.name] = jnp.linalg.cholesky(values[factors[site.name]])
            elif not site.is_discrete:
                params[site.name] = values[site.name].reshape(site.shape)

        def given(z: Any) -> Any:
            lp, trace = log_density(t.model, t.args, t.kwargs, {**params, **z})
            return lp + sum(_stretch(trace[k]["fn"], x) for k, x in params.items())

        return logsumexp(jax.vmap(given)(every)) if every else given({})

    with double(t.is_double), validation_enabled(False):
        run = jax.jit(jax.vmap(jax.value_and_grad(at))).lower(free)
        lp, slopes = run.compile(compiler_options=QUICK)(free)
    return np.asarray(lp), {k: np.asarray(v) for k, v in slopes.items()}


def _every(text: Text) -> dict[str, Array]:
    """Every combination of values of the discrete sites, along a first axis."""
    model = text.built.model
    shapes = {s.name: s.shape for s in text.traced.latent}
    names = [rv.name for rv in model.free_RVs if is_discrete(rv)]
    together = zip(*combinations(model)) if names else []
    return {k: np.array(z).reshape(-1, *shapes[k]) for k, z in zip(names, together)}


def _stretch(fn: Any, x: Any) -> Any:
    """ln |dx/du| of the text's coordinates u of a site, up to a constant."""
    kind, low, high = support_of(fn)
    stretch = STRETCHES.get(kind)
    if stretch is None:
        raise Unconvertible("the check", f"of values in {kind}")
    return jnp.sum(stretch(x, low, high))


def _of_factor(x: Any, low: Any, high: Any) -> Any:
    """Of the factor of a correlation matrix, by ln((1 + r)/(1 - r)) of each correlation."""
    n = x.shape[-1]
    rows, columns = np.tril_indices(n, -1)
    r = (x @ jnp.swapaxes(x, -1, -2))[..., rows, columns]
    steps = np.arange(n - 1, -1, -1) * jnp.log(jnp.diagonal(x))
    return jnp.log1p(-(r**2)).sum() - steps.sum()


#: By supports: of values, the lower and the upper end.
STRETCHES: dict[str, Callable[..., Any]] = {
    "real": lambda x, low, high: jnp.zeros(()),
    "real_vector": lambda x, low, high: jnp.zeros(()),
    "positive": lambda x, low, high: jnp.log(x),
    "nonnegative": lambda x, low, high: jnp.log(x),
    "softplus_positive": lambda x, low, high: jnp.log(x),
    "unit": lambda x, low, high: jnp.log(x) + jnp.log1p(-x),
    "interval": lambda x, low, high: jnp.log((x - low) * (high - x) / (high - low)),
    "circular": lambda x, low, high: log_turn(x, jnp),
    "above": lambda x, low, high: jnp.log(x - low),
    "below": lambda x, low, high: jnp.log(high - x),
    "simplex": lambda x, low, high: jnp.log(x),
    "ordered": lambda x, low, high: jnp.log(jnp.diff(x, axis=-1)),
    "CorrCholesky": _of_factor,
}
