"""NumPyro on 100 groups of 10 observations, on the GPU that JAX finds; prints JSON objects,
of which the last one counts.

    python benches/peers/gpu_numpyro.py DATA.csv [--chains 4] [--tune 500] [--draws 500]
        [--seconds N] [--cpu]

First the trap: from jaxlib 0.10.2 on, adding into an array at repeated places in f32 could become a
loop of compare-and-swap on NVIDIA GPUs (openxla/xla #46225, jax #38806, numpyro #2225), which makes
a gradient of this model hundreds of times slower than it need be. So `x.at[i].add(v)` is timed
against a sum over sorted segments. Where it is more than ten times slower, `affected` says so. The
model is then timed in two forms, looking groups up by index (whose gradient is such an addition) and
by a product with the matrix of membership (whose gradient is none), and the faster one counts.
Without a GPU it ends with 3, unless --cpu is given.
"""

import argparse
import csv
import json
import sys
import time


def timed(function, *arguments):
    """Seconds of the fastest of five calls, the first (which compiles) apart."""
    function(*arguments).block_until_ready()
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        function(*arguments).block_until_ready()
        best = min(best, time.perf_counter() - start)
    return best


def trap():
    import jax
    import jax.numpy as jnp

    n, groups = 1_000_000, 100
    index = jnp.arange(n) * groups // n  # sorted
    values = jnp.sin(jnp.arange(n, dtype=jnp.float32))
    add = jax.jit(lambda v: jnp.zeros(groups, jnp.float32).at[index].add(v))
    segments = jax.jit(lambda v: jnp.sum(v.reshape(groups, n // groups), axis=1))
    worst = float(jnp.max(jnp.abs(add(values) - segments(values))))
    assert worst < 1.0, f"the two sums differ by {worst}"
    add_s, segments_s = timed(add, values), timed(segments, values)
    return {"add_s": add_s, "segments_s": segments_s, "affected": add_s > 10 * segments_s + 1e-4}


def model_of(data, by_product):
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    group, y = jnp.array(data["group"]), jnp.array(data["y"])
    n_groups = int(group.max()) + 1
    member = (group[:, None] == jnp.arange(n_groups)[None, :]).astype(y.dtype)

    def model():
        mu_pop = numpyro.sample("mu_pop", dist.Normal(50.0, 20.0))
        sigma_pop = numpyro.sample("sigma_pop", dist.HalfNormal(15.0))
        z = numpyro.sample("z", dist.Normal(0.0, 1.0).expand([n_groups]).to_event(1))
        mu_group = mu_pop + sigma_pop * z
        sigma_obs = numpyro.sample("sigma_obs", dist.HalfNormal(5.0))
        mean = member @ mu_group if by_product else mu_group[group]
        numpyro.sample("y", dist.Normal(mean, sigma_obs), obs=y)

    return model


def run(data, by_product, options):
    import jax
    import numpy
    from numpyro.diagnostics import summary
    from numpyro.infer import MCMC, NUTS

    mcmc = MCMC(NUTS(model_of(data, by_product), target_accept_prob=0.95), num_warmup=options.tune,
                num_samples=options.draws, num_chains=options.chains, chain_method="vectorized",
                progress_bar=False)
    key = jax.random.PRNGKey(1)
    start = time.perf_counter()
    mcmc.warmup(key, extra_fields=("num_steps",), collect_warmup=False)
    warm = time.perf_counter()
    mcmc.run(mcmc.post_warmup_state.rng_key, extra_fields=("num_steps",))
    jax.block_until_ready(mcmc.get_samples())
    first = time.perf_counter()
    # The second run of the same length compiles nothing.
    mcmc.run(jax.random.PRNGKey(2), extra_fields=("num_steps",))
    jax.block_until_ready(mcmc.get_samples())
    end = time.perf_counter()
    leapfrogs = int(numpy.asarray(mcmc.get_extra_fields()["num_steps"]).sum())
    draws = mcmc.get_samples(group_by_chain=True)
    found = summary({k: numpy.asarray(draws[k]) for k in ("mu_pop", "sigma_pop", "sigma_obs")})
    means = {k: float(v["mean"]) for k, v in found.items()}
    seconds = end - first
    return {
        "form": "product" if by_product else "index",
        "warmup_and_compile_s": warm - start, "first_s": first - warm, "sampling_s": seconds,
        "leapfrogs": leapfrogs, "leapfrogs_per_s": leapfrogs / seconds,
        "leapfrogs_per_s_per_chain": leapfrogs / seconds / options.chains,
        "max_rhat": max(float(v["r_hat"]) for v in found.values()),
        "min_ess": min(float(v["n_eff"]) for v in found.values()), "means": means,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--tune", type=int, default=500)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=1e9,
                        help="begin no second form once the first has taken half of them")
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    import jax

    if options.cpu:
        jax.config.update("jax_platforms", "cpu")
    import jaxlib
    import numpyro

    device = jax.devices()[0]
    if device.platform == "cpu" and not options.cpu:
        print(json.dumps({"skipped": "JAX finds no GPU: install jax[cuda12]"}))
        sys.exit(3)
    with open(options.data, newline="") as file:
        rows = list(csv.DictReader(file))
    data = {"group": [int(float(r["group"])) for r in rows], "y": [float(r["y"]) for r in rows]}
    out = {"jax": jax.__version__, "jaxlib": jaxlib.__version__, "numpyro": numpyro.__version__,
           "device": device.device_kind, "chains": options.chains, "tune": options.tune,
           "draws": options.draws, "trap": trap()}
    runs = []
    begun = time.perf_counter()
    for by_product in (False, True):
        if time.perf_counter() - begun > options.seconds / 2:
            break
        runs.append(run(data, by_product, options))
        best = max(runs, key=lambda r: r["leapfrogs_per_s"])
        # The last line counts; who is stopped has said what it knows.
        print(json.dumps(out | {"runs": runs, "best": best}), flush=True)


if __name__ == "__main__":
    main()
