"""How many effective draws a second: a regression with an effect for each artist.

    python examples/effective_draws.py [quick | standard | publication]

Writes the figures as JSON. A program for NumPyro has its model as a function there; in PyMC the
same model is what stands in `build`.
"""

from __future__ import annotations

import json
import sys
import time

import arviz as az
import numpy as np
import pymc as pm

import fitzroy as fz

SETTINGS = {
    "quick": dict(tune=200, draws=200, chains=2),
    "standard": dict(tune=500, draws=500, chains=4),
    "publication": dict(tune=1000, draws=1000, chains=4),
}


def simulate(n_obs=1000, n_artists=100, n_features=10, seed=0):
    """Observations, and the coefficients that they were made with."""
    rng = np.random.default_rng(seed)
    artist = rng.integers(0, n_artists, n_obs)
    features = rng.normal(size=(n_obs, n_features))
    beta = rng.normal(0, 0.7, n_features)
    effect = rng.normal(10.0, 1.5, n_artists)
    y = rng.normal(effect[artist] + features @ beta, 1.0)
    return dict(artist=artist, features=features, y=y, n_artists=n_artists), beta


def build(data):
    """A regression on features with an intercept for each artist."""
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 20)
        sigma_artist = pm.HalfNormal("sigma_artist", 5)
        effect = pm.Normal("effect", mu, sigma_artist, shape=data["n_artists"])
        beta = pm.Normal("beta", 0, 2, shape=data["features"].shape[1])
        sigma = pm.HalfNormal("sigma", 5)
        mean = effect[data["artist"]] + pm.math.dot(data["features"], beta)
        pm.Normal("y", mean, sigma, observed=data["y"])
    return model


def smallest(trace, method):
    """The smallest effective sample size of all parameters."""
    return min(float(v.min()) for v in az.ess(trace, method=method).data_vars.values())


def main(config="standard"):
    data, beta = simulate()
    model = build(data)
    start = time.perf_counter()
    trace = fz.sample(
        model, **SETTINGS[config], target_accept=0.8, random_seed=42, progressbar=False
    )
    runtime = time.perf_counter() - start
    bulk = smallest(trace, "bulk")
    figures = {
        "config": config,
        **SETTINGS[config],
        "runtime_s": runtime,
        "min_ess_bulk": bulk,
        "min_ess_tail": smallest(trace, "tail"),
        "ess_per_s": bulk / runtime,
        "divergences": int(trace.sample_stats["diverging"].sum()),
    }
    print(json.dumps(figures, indent=2))
    error = np.asarray(trace.posterior["beta"].mean(("chain", "draw"))) - beta
    sd = np.asarray(trace.posterior["beta"].std(("chain", "draw")))
    return {**figures, "z": error / sd}


if __name__ == "__main__":
    main(*sys.argv[1:2])
