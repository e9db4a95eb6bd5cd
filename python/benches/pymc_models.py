"""From a PyMC model to draws: `fitzroy.sample` against `pm.sample`, model by model.

    python benches/pymc_models.py [--first N] [--json FILE] [NAME ...]

`pm.sample` takes nutpie where a model allows it. Prints a line for each model: seconds from the call to
the result, of Fitzroy's first and second call, the smallest bulk ESS of each, and how far the means are
apart. What has been compiled is not carried over from an earlier process.
"""

from __future__ import annotations

import argparse
import json
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
import nutpie  # noqa: E402
import pymc as pm  # noqa: E402
from pymc_models import MODELS, NOT_YET  # noqa: E402

import fitzroy as fz  # noqa: E402

warnings.simplefilter("ignore")
logging.getLogger("pymc").setLevel(logging.ERROR)


def timed(call):
    began = time.perf_counter()
    draws = call()
    return time.perf_counter() - began, draws


def dataset(draws, model):
    posterior = draws["posterior"]
    posterior = posterior.to_dataset() if hasattr(posterior, "to_dataset") else posterior
    return posterior[[v.name for v in model.free_RVs]]


def quality(draws, model):
    """The smallest bulk ESS, and the means of all free variables with their sds and standard errors."""
    found = dataset(draws, model)
    ess = az.ess(found)
    ess = ess.to_dataset() if hasattr(ess, "to_dataset") else ess
    least = min(float(np.nanmin(ess[name].values)) for name in ess.data_vars)
    both = ("chain", "draw")
    sd = found.std(both)
    return least, found.mean(both), sd, sd / np.sqrt(ess)


def furthest(ours, theirs):
    """How far means are apart, in combined standard errors; a hundredth of an sd is left out."""
    most = 0.0
    for name in ours[1].data_vars:
        apart = np.abs(ours[1][name].values - theirs[1][name].values)
        apart = apart - 0.01 * theirs[2][name].values
        error = np.hypot(ours[3][name].values, theirs[3][name].values)
        with np.errstate(all="ignore"):
            far = np.where(apart > 0, apart / error, 0.0)
        most = max(most, float(np.nanmax(far, initial=0.0)))
    return most


def compared(name):
    """One model: seconds, smallest bulk ESS, and how far the means are apart."""
    model = MODELS[name]()
    theirs_s, theirs = timed(lambda: pm.sample(chains=4, model=model, random_seed=1, progressbar=False))
    first_s, _ = timed(lambda: fz.sample(model, random_seed=1, progressbar=False))
    again_s, ours = timed(lambda: fz.sample(model, random_seed=2, progressbar=False))
    of_theirs, of_ours = quality(theirs, model), quality(ours, model)
    return {
        "model": name,
        "pymc_s": theirs_s,
        "fitzroy_first_s": first_s,
        "fitzroy_s": again_s,
        "pymc_ess": of_theirs[0],
        "fitzroy_ess": of_ours[0],
        "times_as_fast": theirs_s / again_s,
        "furthest_mean_in_standard_errors": furthest(of_ours, of_theirs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="models; all that convert if none is named")
    parser.add_argument("--first", type=int, help="of all models the first so many")
    parser.add_argument("--json", type=Path, help="where the numbers are written")
    asked = parser.parse_args()
    names = asked.names or [name for name in MODELS if name not in NOT_YET][: asked.first]
    rows = []
    print(f"{'model':40s} {'pm.sample, s':>12s} {'fitzroy, s':>16s}  ratio   least ESS    apart")
    for name in names:
        try:
            row = compared(name)
        except Exception as error:  # a model on which one of the two fails is told, not hidden
            print(f"{name:40s} {type(error).__name__}: {str(error)[:90]}", flush=True)
            rows.append({"model": name, "failed": f"{type(error).__name__}: {error}"[:300]})
            continue
        rows.append(row)
        print(
            f"{name:40s} {row['pymc_s']:12.2f} {row['fitzroy_first_s']:8.3f} {row['fitzroy_s']:7.3f}"
            f" {row['times_as_fast']:6.0f}  {row['pymc_ess']:5.0f} {row['fitzroy_ess']:5.0f}"
            f"  {row['furthest_mean_in_standard_errors']:6.1f}",
            flush=True,
        )
    ratios = [row["times_as_fast"] for row in rows if "failed" not in row]
    mean = np.exp(np.mean(np.log(ratios)))
    print(f"least {min(ratios):.0f}, median {np.median(ratios):.0f}, geometric mean {mean:.0f}")
    if asked.json:
        versions = {"pymc": pm.__version__, "nutpie": nutpie.__version__, "fitzroy": fz.__version__}
        machine = {"processors": os.cpu_count(), "load": os.getloadavg()[0]}
        found = {"versions": versions, "machine": machine, "rows": rows}
        asked.json.write_text(json.dumps(found, indent=1) + "\n")


main()
