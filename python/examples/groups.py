"""A hierarchical model of groups in PyMC: sampled, checked, compared and saved.

    python examples/groups.py

What differs from a program for PyMC's own sampler: `fz.sample(...)` stands for
`pm.sampling_jax.sample_numpyro_nuts(...)`, and `progressbar` for its `progress_bar`. With ArviZ 1
results are trees, and `hdi_prob` is `prob`: by position both take it.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import arviz as az
import numpy as np
import pymc as pm

import fitzroy as fz

N_GROUPS, N_PER_GROUP = 100, 10
TRUTH = {"μ_pop": 50.0, "σ_pop": 10.0, "σ_obs": 2.0}
SETTINGS = dict(
    draws=2000,
    tune=1000,
    chains=4,
    target_accept=0.95,
    random_seed=42,
    progressbar=False,
)


def simulate(seed=42):
    """Ten observations of each of a hundred groups."""
    rng = np.random.default_rng(seed)
    means = rng.normal(TRUTH["μ_pop"], TRUTH["σ_pop"], N_GROUPS)
    group = np.repeat(np.arange(N_GROUPS), N_PER_GROUP)
    return group, rng.normal(means[group], TRUTH["σ_obs"]), means


def build(group, y):
    """Groups around a population, non-centred."""
    with pm.Model() as model:
        μ_pop = pm.Normal("μ_pop", 50, 20)
        σ_pop = pm.HalfNormal("σ_pop", 15)
        z = pm.Normal("μ_group_z", 0, 1, shape=N_GROUPS)
        μ_group = pm.Deterministic("μ_group", μ_pop + σ_pop * z)
        σ_obs = pm.HalfNormal("σ_obs", 5)
        pm.Normal("y", μ_group[group], σ_obs, observed=y)
    return model


def check(trace, truth):
    """Largest R-hat, smallest effective sample size, and which truths the intervals hold."""
    rhat = max(float(v.max()) for v in az.rhat(trace).data_vars.values())
    ess = min(float(v.min()) for v in az.ess(trace).data_vars.values())
    print(f"largest R-hat {rhat:.4f}, smallest effective sample size {ess:.0f}")
    held = {}
    for name, value in truth.items():
        low, high = az.hdi(trace.posterior[name].values.ravel(), 0.89)
        held[name] = bool(low <= value <= high)
        mean = float(trace.posterior[name].mean())
        print(f"  {name}: {mean:.2f}, 89 % in {low:.2f} to {high:.2f}, truth {value:.2f}")
    return rhat, ess, held


def main(folder=None):
    group, y, means = simulate()
    model = build(group, y)

    start = time.perf_counter()
    trace = fz.sample(model, **SETTINGS)
    first = time.perf_counter() - start

    # The same through PyMC's own function.
    fz.register()
    start = time.perf_counter()
    with model:
        other = pm.sample(nuts_sampler="fitzroy", **{**SETTINGS, "random_seed": 43})
    second = time.perf_counter() - start
    print(f"fz.sample {first:.2f} s, pm.sample {second:.2f} s")

    # What the hundred groups that were drawn have in common, which is all that data can tell.
    truth = {**TRUTH, "μ_pop": means.mean(), "σ_pop": means.std()}
    rhat, ess, held = check(trace, truth)
    apart = {
        name: abs(float(trace.posterior[name].mean() / other.posterior[name].mean()) - 1)
        for name in TRUTH
    }
    recovered = np.asarray(trace.posterior["μ_group"].mean(("chain", "draw")))
    print(f"means of groups right to {np.abs(recovered - means).max():.2f}")

    predicted = pm.sample_posterior_predictive(
        trace.isel(draw=slice(0, 100)), model=model, progressbar=False, random_seed=42
    )
    spread = float(predicted.posterior_predictive["y"].std() / y.std())

    path = Path(folder or tempfile.mkdtemp()) / "trace.nc"
    trace.to_netcdf(path)
    print(f"draws saved in {path}")
    return dict(
        rhat=rhat, ess=ess, held=held, apart=apart, spread=spread, path=path, recovered=recovered
    )


if __name__ == "__main__":
    main()
