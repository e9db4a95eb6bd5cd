"""From a NumPyro model to draws: `fitzroy.numpyro.MCMC` against NumPyro's own, model by model.

    python benches/numpyro_models.py [--json FILE] [NAME ...]

Both run 4 chains of 1000 + 1000, NumPyro's in parallel on as many devices of the processor. Prints a line
for each model: seconds from the call to the result, of the first and of a second call with other data
of the same shape, the smallest bulk ESS of each, and how far the means are apart. What JAX has compiled
is not carried over from an earlier process.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path

CHAINS = 4
# Before JAX is imported.
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={CHAINS}"
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import arviz as az  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import numpyro  # noqa: E402
import numpyro.distributions as dist  # noqa: E402
from numpyro_models import MODELS as SMALL  # noqa: E402

import fitzroy.numpyro  # noqa: E402

warnings.simplefilter("ignore")


def schools(rng):
    model, args, kwargs = SMALL["eight_schools"]()
    return model, (args[0],), {"y": kwargs["y"] + rng.normal(size=8)}


def logistic(rng):
    X = rng.normal(size=(1000, 10))
    return SMALL["logistic_regression"]()[0], (X, rng.binomial(1, 1 / (1 + np.exp(-X[:, 0])))), {}


def varying_slopes(rng):
    def model(x, group, y):
        sd = numpyro.sample("sd", dist.HalfNormal(1).expand([2]).to_event(1))
        m = numpyro.sample("m", dist.Normal(0, 2).expand([2]).to_event(1))
        noise = numpyro.sample("noise", dist.HalfNormal(1))
        with numpyro.plate("group", 50):
            b = numpyro.sample("b", dist.Normal(m, sd).to_event(1))
        with numpyro.plate("n", len(y)):
            mean = b[group, 0] + b[group, 1] * x
            numpyro.sample("y", dist.Normal(mean, noise), obs=y)

    x, group = rng.normal(size=500), np.arange(500) % 50
    b = rng.normal(size=(50, 2))
    return model, (x, group, b[group, 0] + b[group, 1] * x + 0.5 * rng.normal(size=500)), {}


def mixture(rng):
    def model(y):
        w = numpyro.sample("w", dist.Dirichlet(jnp.ones(2)))
        low = numpyro.sample("low", dist.Normal(-2, 1))
        gap = numpyro.sample("gap", dist.HalfNormal(3))
        s = numpyro.sample("s", dist.HalfNormal(1).expand([2]))
        parts = dist.Normal(jnp.stack([low, low + gap]), s)
        with numpyro.plate("n", len(y)):
            numpyro.sample("y", dist.MixtureSameFamily(dist.Categorical(w), parts), obs=y)

    return model, (np.where(rng.random(1000) < 0.4, -2, 1) + 0.7 * rng.normal(size=1000),), {}


def volatility(rng):
    def model(y):
        step = numpyro.sample("step", dist.Exponential(20.0))
        h = numpyro.sample("h", dist.GaussianRandomWalk(step, len(y)))
        nu = numpyro.sample("nu", dist.Exponential(0.1))
        with numpyro.plate("n", len(y)):
            numpyro.sample("y", dist.StudentT(nu, 0.0, jnp.exp(h)), obs=y)

    h = np.cumsum(0.1 * rng.normal(size=200))
    return model, (np.exp(h) * rng.standard_t(8, size=200),), {}


def counts(rng):
    def model(group, y):
        mu = numpyro.sample("mu", dist.Normal(1, 1))
        tau = numpyro.sample("tau", dist.HalfNormal(1))
        k = numpyro.sample("k", dist.Gamma(2.0, 0.5))
        with numpyro.plate("group", 40):
            a = numpyro.sample("a", dist.Normal(mu, tau))
        with numpyro.plate("n", len(y)):
            numpyro.sample("y", dist.NegativeBinomial2(jnp.exp(a[group]), k), obs=y)

    group = np.arange(2000) % 40
    return model, (group, rng.negative_binomial(3, 3 / (3 + np.exp(1 + 0.5 * rng.normal(size=40))))[group]), {}


MODELS = {
    "eight schools": schools,
    "logistic 1000 x 10": logistic,
    "varying slopes 50 x 10": varying_slopes,
    "mixture of 1000": mixture,
    "stochastic volatility 200": volatility,
    "counts of 40 groups, 2000 rows": counts,
}


def run(kind, problem, seed):
    """Seconds of one call, and what it drew."""
    model, args, kwargs = problem
    began = time.perf_counter()
    mcmc = kind(
        numpyro.infer.NUTS(model),
        num_warmup=1000,
        num_samples=1000,
        num_chains=CHAINS,
        progress_bar=False,
    )
    mcmc.run(jax.random.PRNGKey(seed), *args, **kwargs)
    drawn = {k: np.asarray(v, dtype=float) for k, v in mcmc.get_samples(group_by_chain=True).items()}
    return time.perf_counter() - began, drawn


def least_ess(drawn):
    """The smallest bulk ESS of all elements."""
    return min(
        float(az.ess(one.reshape(CHAINS, -1)))
        for values in drawn.values()
        for one in np.moveaxis(values.reshape(*values.shape[:2], -1), -1, 0)
    )


def furthest(ours, theirs, ess):
    """The largest difference of means, in standard errors at the smaller ESS."""
    return max(
        float(np.max(np.abs(a.mean((0, 1)) - theirs[k].mean((0, 1))) / (a.std((0, 1)) * (2 / ess) ** 0.5)))
        for k, a in ours.items()
    )


def compared(name):
    make = MODELS[name]
    first, again = (make(np.random.default_rng(seed)) for seed in (1, 2))
    out = {}
    for who, kind in (("fitzroy", fitzroy.numpyro.MCMC), ("numpyro", numpyro.infer.MCMC)):
        first_s, drawn = run(kind, first, 1)
        again_s, _ = run(kind, again, 2)
        out[who] = (first_s, again_s, least_ess(drawn), drawn)
    apart = furthest(out["fitzroy"][3], out["numpyro"][3], min(out[w][2] for w in out))
    return {
        "model": name,
        **{f"{w}_{k}": round(v, 3) for w, r in out.items() for k, v in zip(("s", "again_s", "ess"), r)},
        "means_apart": round(apart, 2),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="models, by default all")
    parser.add_argument("--json", type=Path, help="where to put the numbers")
    given = parser.parse_args()
    # PyMC, by which models are converted, is imported once, and JAX wakes up.
    run(fitzroy.numpyro.MCMC, SMALL["conditioned"](), 0)
    print(f"{'':32} {'Fitzroy':>24} {'NumPyro':>28}")
    print(f"{'':32} {'s':>7} {'again':>7} {'ESS':>8} {'s':>11} {'again':>7} {'ESS':>8}  apart")
    rows = []
    for name in given.names or MODELS:
        row = compared(name)
        rows.append(row)
        ours, theirs = (
            [row[f"{w}_{k}"] for k in ("s", "again_s", "ess")] for w in ("fitzroy", "numpyro")
        )
        print(
            f"{name:32} {ours[0]:7.2f} {ours[1]:7.2f} {ours[2]:8.0f}"
            f" {theirs[0]:11.2f} {theirs[1]:7.2f} {theirs[2]:8.0f}  {row['means_apart']:.1f}",
            flush=True,
        )
        assert row["means_apart"] < 6, "the answers differ"
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
