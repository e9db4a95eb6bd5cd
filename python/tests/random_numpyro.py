"""Random NumPyro models: `random_model(seed)` is a small hierarchy of random priors, expressions in JAX
and data, and its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.distributions import transforms
from numpyro.infer.reparam import LocScaleReparam

__all__ = ["random_model"]

Rng = np.random.Generator
N, G, K = 12, 3, 4

#: Priors of any number, given a location and a scale.
REAL = [
    lambda m, s: dist.Normal(m, s),
    lambda m, s: dist.StudentT(4.0, m, s),
    lambda m, s: dist.Laplace(m, s),
    lambda m, s: dist.Logistic(m, s),
    lambda m, s: dist.Gumbel(m, s),
    lambda m, s: dist.SoftLaplace(m, s),
    lambda m, s: dist.TruncatedNormal(m, s, low=-4.0, high=5.0),
    lambda m, s: dist.TransformedDistribution(
        dist.Normal(0.0, 1.0), transforms.AffineTransform(m, s)
    ),
]
#: Priors of positive numbers, given a scale.
POSITIVE = [
    lambda s: dist.HalfNormal(s),
    lambda s: dist.LogNormal(0.0, s),
    lambda s: dist.Gamma(2.0, 1 / s),
    lambda s: dist.Exponential(1 / s),
    lambda s: dist.InverseGamma(3.0, s),
    lambda s: dist.Weibull(1.5, s),
    lambda s: dist.Uniform(0.1, 0.2 + s),
]
#: Functions of arrays that keep their shape.
SMOOTH = [
    jnp.tanh,
    jax.nn.sigmoid,
    jax.nn.softplus,
    lambda v: jnp.where(v > 0, v, 0.3 * v),
    lambda v: jnp.exp(-0.5 * v**2),
    lambda v: jnp.cumsum(v, axis=-1) / v.shape[-1],
    lambda v: v - v.mean(-1, keepdims=True),
    lambda v: jax.nn.softmax(v, axis=-1) * 2,
    lambda v: v - jax.scipy.special.logsumexp(v, axis=-1, keepdims=True),
    lambda v: jnp.flip(v, -1) * 0.5,
    lambda v: jnp.roll(v, 1, axis=-1),
    lambda v: jnp.clip(v, -1.0, 1.0),
    lambda v: jax.vmap(lambda e: jnp.sin(e) + 0.1 * e)(v),
    lambda v: jnp.asarray(v).at[..., 0].set(0.5),
]
#: Likelihoods of N observations, given any number for each, and a scale.
SEEN = [
    (lambda f, s: dist.Normal(f, s), "real"),
    (lambda f, s: dist.StudentT(3.0, f, s), "real"),
    (lambda f, s: dist.Bernoulli(logits=f), "binary"),
    (lambda f, s: dist.Binomial(5, logits=f), "count"),
    (lambda f, s: dist.Poisson(jnp.exp(jnp.clip(f, -3.0, 3.0))), "count"),
    (lambda f, s: dist.NegativeBinomial2(jnp.exp(jnp.clip(f, -3.0, 3.0)), s + 0.5), "count"),
    (lambda f, s: dist.ZeroInflatedPoisson(0.3, jax.nn.softplus(f) + 0.1), "count"),
    (
        lambda f, s: dist.MixtureSameFamily(
            dist.Categorical(jnp.array([0.3, 0.7])),
            dist.Normal(jnp.stack([f, -f], -1), s[..., None] if jnp.ndim(s) else s),
        ),
        "real",
    ),
]


def random_model(seed: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """One model, of which everything follows from the seed."""
    rng = np.random.default_rng([20261128, seed])
    x, index = rng.normal(size=(N, K)), rng.integers(G, size=N)
    pick = lambda of: of[rng.integers(len(of))]
    top, scale, each = pick(REAL), pick(POSITIVE), pick(REAL)
    functions = [pick(SMOOTH) for _ in range(3)]
    make, kind = pick(SEEN)
    y = {
        "real": rng.normal(size=N),
        "binary": rng.integers(2, size=N),
        "count": rng.integers(4, size=N),
    }[kind]
    noncentred, way, weights = rng.random() < 0.3, rng.integers(4), rng.random() < 0.3
    mask = rng.random(N) < 0.7 if rng.random() < 0.3 else np.ones(N, dtype=bool)
    config = {"theta": LocScaleReparam(0)} if noncentred and each is REAL[0] else {}

    def model(x: Any, index: Any, y: Any) -> None:
        mu = numpyro.sample("mu", top(0.3, 1.2))
        tau = numpyro.sample("tau", scale(0.8))
        with numpyro.plate("group", G), handlers.reparam(config=config):
            theta = numpyro.sample("theta", each(mu, tau))
        beta = numpyro.sample("beta", dist.Normal(0, 1).expand([K]).to_event(1))
        f = theta[index] + functions[0](x) @ functions[1](beta)
        if way == 1:
            table = functions[2](theta[:, None] * beta)
            f = f + table[index, 1] - table.sum(0)[2]
        elif way == 2:
            f = f + jax.ops.segment_sum(functions[2](f), index, num_segments=G)[index] / N
        elif way == 3:
            _, h = jax.lax.scan(lambda c, e: (0.5 * c + e,) * 2, mu, functions[2](f))
            numpyro.deterministic("h", h)
            f = f + 0.2 * h
        if weights:
            numpyro.factor("more", -0.1 * jnp.sum(beta**2))
        with numpyro.plate("n", N), handlers.mask(mask=mask):
            numpyro.sample("y", make(f, tau), obs=y)

    return model, (x, index, y)
