"""A study of stop-signal tasks: simulated, fitted, checked against what it was made with.

    python examples/stop_signal_study.py

A program written for the RDEX-ABCD model in PyMC runs with another import: `from
fitzroy.stop_signal import RDEXABCDModel, simulate_from_config, setup_hpc_environment`.
`stop_signal.py` has the same task as a model of one's own in PyMC.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import fitzroy as fz
from fitzroy.stop_signal import (
    RDEXABCDModel,
    WaldStopSignalModel,
    detect_gpu_environment,
    get_optimal_chain_config,
    setup_hpc_environment,
    simulate_from_config,
)

#: Population medians whose recovery is looked at.
NAMES = ("mu_v_plus", "mu_v_minus", "mu_B", "mu_t0")


def main(folder=None, n_subjects=10, draws=500, tune=700):
    folder = Path(folder or tempfile.mkdtemp(prefix="fitzroy-study-"))
    # Temporary files may have to lie where the cluster lets one write.
    setup_hpc_environment(folder / "tmp", use_gpu=True)
    print("GPU:", detect_gpu_environment())
    chains = get_optimal_chain_config(4)
    print(chains["recommendation"])

    data, true_params = simulate_from_config(n_subjects=n_subjects, seed=42)
    print(f"{len(data)} trials of {data['subject'].nunique()} subjects")

    model = RDEXABCDModel(use_hierarchical=True, use_gpu=True)
    start = time.perf_counter()
    trace = model.fit(
        data,
        draws=draws,
        tune=tune,
        chains=chains["chains"],
        cores=chains["cores"],
        target_accept=0.9,
        random_seed=42,
        progressbar=False,
        out=folder / "fit",
    )
    seconds = time.perf_counter() - start
    print(f"fitted in {seconds:.1f} s")
    found = model.summary()

    # The median of the population against that of its subjects, in posterior standard deviations.
    # Few subjects say little of a median that varies much: no error in per cent is asked for.
    scores = {}
    for name in NAMES:
        values = trace.posterior[name]
        true = float(true_params[name.removeprefix("mu_")].mean())
        mean, sd = float(values.mean()), float(values.std())
        scores[name] = (mean - true) / sd
        print(f"{name}: true {true:.3f}, estimated {mean:.3f} ± {sd:.3f}")

    baseline = WaldStopSignalModel(use_hierarchical=True)
    baseline.fit(data, draws=200, tune=300, random_seed=1, progressbar=False)
    trace.to_netcdf(folder / "trace.nc")
    return {
        "verdict": found.verdict,
        "rhat": max(row["r_hat"] for row in found.rows),
        "scores": scores,
        "folder": folder,
        "baseline": baseline.trace,
        "again": fz.read(folder / "fit"),
        "seconds": seconds,
    }


if __name__ == "__main__":
    main()
