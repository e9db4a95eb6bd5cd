"""Models by their compiled gradient: Fitzroy's sampler against nutpie's, both by numba.

    python benches/compiled_gradient.py [NAME ...]

Each model is compiled and sampled by both, 4 chains of 1000 + 1000. A line has the seconds of numba's
compilation (with an empty cache) and of sampling, the smallest bulk ESS, and the ratios of effective
draws a second, of the whole call and of sampling. Means must agree within five standard errors, plus
a hundredth of an sd; else the script fails.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

os.environ["PYTENSOR_FLAGS"] = f"base_compiledir={tempfile.mkdtemp()}"
os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp()
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import arviz as az  # noqa: E402
import numpy as np  # noqa: E402
import nutpie  # noqa: E402
from pymc_models import MODELS  # noqa: E402

from fitzroy.pymc.compiled import compile_model  # noqa: E402

warnings.simplefilter("ignore")
logging.getLogger("pymc").setLevel(logging.ERROR)

NAMES = [
    "garch",
    "amplitudes",
    "marginal_gaussian_process",
    "latent_gaussian_process",
    "eight_schools",
    "skewed_errors",
]


def timed(call):
    began = time.perf_counter()
    out = call()
    return time.perf_counter() - began, out


def dataset(draws, names):
    posterior = draws["posterior"] if hasattr(draws, "children") else draws.posterior
    posterior = posterior.to_dataset() if hasattr(posterior, "to_dataset") else posterior
    return posterior[names]


def least(of):
    return min(float(np.nanmin(of[name].values)) for name in of.data_vars)


def quality(draws, names):
    """The smallest bulk ESS, means, sds and standard errors of means."""
    found = dataset(draws, names)
    ess = az.ess(found)
    ess = ess.to_dataset() if hasattr(ess, "to_dataset") else ess
    both = ("chain", "draw")
    sd = found.std(both)
    return least(ess), found.mean(both), sd, sd / np.sqrt(ess)


def settings_of(seed):
    return {"draws": 1000, "tune": 1000, "chains": 4, "threads": 2, "seed": seed}


def main() -> None:
    print(f"{'model':30s} {'nutpie: compile, sample, ESS':>32s} {'fitzroy':>32s}  call  sampling")
    calls, alone = [], []
    for name in sys.argv[1:] or NAMES:
        model = MODELS[name]()
        names = [rv.name for rv in model.free_RVs]
        a_s, a = timed(lambda: nutpie.compile_pymc_model(model))
        first = lambda: nutpie.sample(a, chains=4, cores=2, seed=1, progress_bar=False)
        a_run, a_draws = timed(first)
        b_s, b = timed(lambda: compile_model(model))
        b_run, b_draws = timed(lambda: b.sample(settings_of(1), None, None, False))
        (a_ess, mean, sd, error), (b_ess, other, _, another) = (
            quality(draws, names) for draws in (a_draws, b_draws)
        )
        bound = 5 * np.hypot(error, another) + 0.01 * sd
        far = [k for k in names if not bool((abs(mean[k] - other[k]) < bound[k]).all())]
        # Where either did not mix, errors of means are not what they say.
        assert not far or min(a_ess, b_ess) < 100, f"{name}: means of {far} differ"
        calls.append(b_ess / (b_s + b_run) / (a_ess / (a_s + a_run)))
        alone.append(b_ess / b_run / (a_ess / a_run))
        print(
            f"{name:30s} {a_s:12.1f} {a_run:10.2f} {a_ess:8.0f} {b_s:12.1f} {b_run:10.2f} "
            f"{b_ess:8.0f}  {calls[-1]:5.2f} {alone[-1]:7.2f}",
            flush=True,
        )
    mean = lambda ratios: float(np.exp(np.mean(np.log(ratios))))
    print(f"geometric means {mean(calls):.2f} {mean(alone):.2f}")
    print(f"least           {min(calls):.2f} {min(alone):.2f}")


if __name__ == "__main__":
    main()
