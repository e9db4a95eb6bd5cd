"""From a PyMC model to draws: `fitzroy.sample` against `pm.sample`, model by model.

    python benches/pymc_models.py [NAME ...]

Prints a line for each: seconds of both, first and second call in this process, and the smallest
bulk ESS. What has been compiled is not carried over from an earlier process.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

# An empty cache for each run.
os.environ["PYTENSOR_FLAGS"] = f"base_compiledir={tempfile.mkdtemp()}"
os.environ["NUMBA_CACHE_DIR"] = tempfile.mkdtemp()
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import arviz as az  # noqa: E402
import numpy as np  # noqa: E402
import pymc as pm  # noqa: E402
from pymc_models import MODELS, NOT_YET  # noqa: E402

import fitzroy as fz  # noqa: E402

warnings.simplefilter("ignore")
logging.getLogger("pymc").setLevel(logging.ERROR)


def timed(call):
    began = time.perf_counter()
    draws = call()
    return time.perf_counter() - began, draws


def least_ess(draws, model):
    names = [v.name for v in model.free_RVs]
    ess = az.ess(draws, var_names=names)
    ess = ess.to_dataset() if hasattr(ess, "to_dataset") else ess
    return min(float(np.nanmin(ess[name].values)) for name in names)


def main() -> None:
    names = sys.argv[1:] or [name for name in MODELS if name not in NOT_YET]
    ratios = []
    print(f"{'model':34s} {'pm.sample, s':>15s} {'fitzroy, s':>15s}  ratio    least ESS")
    for name in names:
        theirs, ours = [], []
        model = MODELS[name]()
        for seed in (1, 2):
            s, t = timed(
                lambda: pm.sample(chains=4, model=model, random_seed=seed, progressbar=False)
            )
            theirs.append(s)
            s, f = timed(lambda: fz.sample(model, random_seed=seed, progressbar=False))
            ours.append(s)
        ratio = theirs[1] / ours[1]
        ratios.append(ratio)
        print(
            f"{name:34s} {theirs[0]:7.2f} {theirs[1]:7.2f} {ours[0]:7.3f} {ours[1]:7.3f}"
            f" {ratio:6.0f}"
            f"  {least_ess(t, model):6.0f} {least_ess(f, model):6.0f}",
            flush=True,
        )
    mean = np.exp(np.mean(np.log(ratios)))
    print(f"second calls: least {min(ratios):.0f}, geometric mean {mean:.0f}")


main()
