"""Posteriors of the example models from NumPyro, a sampler that shares no code with Fitzroy.

    python tests/golden/posteriors/sampled.py [NAME ...]

Four chains of 2,000 warm-up and 20,000 kept draws in double precision, dense metric, target
acceptance 0.95 (0.99 where 0.95 leaves divergences). A model is refused unless every quantity has R-hat < 1.003, bulk and tail ESS above
10,000 (4,000 for a mere comparison), and at most 0.1 % of the transitions diverge. Writes NAME.json
with Monte Carlo standard errors after ArviZ. For the models that exact.py solved, it compares with that
answer instead, refuses a z-score above 4.5, and records the largest as `sampled_check`.
"""

import json
import platform
import sys

import arviz as az
import jax
import numpy as np
import numpyro
from numpyro.infer import MCMC, NUTS

import numpyro_models
from exact import HERE, LEVELS, write

numpyro.enable_x64()
CHAINS, WARMUP, DRAWS, SEED = 4, 2000, 20_000, 20_250_101
TARGET_ACCEPT = {"random-walk": 0.99}
MIN_ESS, MIN_ESS_COMPARED = 10_000.0, 4_000.0


def run(model, target_accept):
    """Draws by name, each (chain, draw, ...), and the number of divergent transitions."""
    kernel = NUTS(model, target_accept_prob=target_accept, dense_mass=True)
    mcmc = MCMC(kernel, num_warmup=WARMUP, num_samples=DRAWS, num_chains=CHAINS,
                chain_method="vectorized", progress_bar=False)
    mcmc.run(jax.random.PRNGKey(SEED))
    draws = {k: np.asarray(v) for k, v in mcmc.get_samples(group_by_chain=True).items()}
    return {k: v for k, v in draws.items() if not k.startswith("_")}, int(
        np.asarray(mcmc.get_extra_fields()["diverging"]).sum())


def mcse(x, key):
    """Monte Carlo standard error; ArviZ 0.23's own one of the sd fails under NumPy 2.4."""
    if key in LEVELS:
        return float(az.mcse(x, method="quantile", prob=LEVELS[key]))
    if key == "mean":
        return float(x.std(ddof=1) / np.sqrt(az.ess(x, method="mean")))
    u = (x - x.mean()) ** 2
    return float(np.sqrt(u.var() / az.ess(u, method="mean") / u.mean()) / 2.0)


def quantities(draws, min_ess):
    """Summaries of every element; refuses what has not converged."""
    out, worst = [], {"r_hat": 0.0, "ess_bulk": np.inf, "ess_tail": np.inf}
    for name, value in draws.items():
        for index in np.ndindex(value.shape[2:]):
            x = value[(slice(None), slice(None), *index)]
            entry = {"name": name, "index": list(index), "mean": float(x.mean()), "sd": float(x.std(ddof=1))}
            entry |= {k: float(np.quantile(x, p)) for k, p in LEVELS.items()}
            entry |= {f"mcse_{k}": mcse(x, k) for k in ("mean", "sd", *LEVELS)}
            out.append(entry)
            worst["r_hat"] = max(worst["r_hat"], float(az.rhat(x)))
            worst["ess_bulk"] = min(worst["ess_bulk"], float(az.ess(x, method="bulk")))
            worst["ess_tail"] = min(worst["ess_tail"], float(az.ess(x, method="tail")))
    if worst["r_hat"] > 1.003 or min(worst["ess_bulk"], worst["ess_tail"]) < min_ess:
        sys.exit(f"not converged: {worst}")
    return out, {k: round(v, 5) for k, v in worst.items()}


def compare(name, found):
    """Largest z-score of the sampled summaries against the exact ones in NAME.json."""
    exact = {(q["name"], *q["index"]): q for q in json.loads((HERE / f"{name}.json").read_text())["quantities"]}
    scores = [abs(q[k] - exact[key][k]) / q[f"mcse_{k}"] for q in found
              if (key := (q["name"], *q["index"])) in exact for k in ("mean", "sd", *LEVELS)]
    return max(scores), len(scores)


def main(names):
    for name in names or [*numpyro_models.EXACT, *numpyro_models.SAMPLED]:
        exact = name in numpyro_models.EXACT
        model, data = (numpyro_models.EXACT if exact else numpyro_models.SAMPLED)[name]
        target_accept = TARGET_ACCEPT.get(name, 0.95)
        draws, divergences = run(model, target_accept)
        found, worst = quantities(draws, MIN_ESS_COMPARED if exact else MIN_ESS)
        print(f"{name}: {worst}, {divergences} divergences", flush=True)
        if divergences > CHAINS * DRAWS // 1000:
            sys.exit(f"{name}: {divergences} divergences")
        versions = {"python": platform.python_version(), "numpyro": numpyro.__version__,
                    "jax": jax.__version__, "arviz": az.__version__}
        settings = {"chains": CHAINS, "warmup": WARMUP, "draws": DRAWS, "seed": SEED,
                    "target_accept": target_accept, "divergences": divergences} | worst
        if exact:
            z, count = compare(name, found)
            print(f"{name}: largest z {z:.2f} of {count}", flush=True)
            if z > 4.5:
                sys.exit(f"{name}: differs from the exact answer")
            document = json.loads((HERE / f"{name}.json").read_text())
            document["sampled_check"] = {"versions": versions, "settings": settings,
                                         "max_abs_z": round(z, 2), "comparisons": count}
        else:
            document = {"model": name, "data": data, "method": "sampled", "script": "sampled.py",
                        "versions": versions, "settings": settings, "quantities": found}
        write(name, document)


if __name__ == "__main__":
    main(sys.argv[1:])
