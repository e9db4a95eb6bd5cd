"""Curves fitted on the processor and on a GPU, whose results must have the same bits.

`python gpu_fits.py FIRST N DEVICE` fits N random functions from a seed on, one by one and in batches, and prints a
JSON object of what differs, by seed.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np
from random_functions import Drawn, random_function

import fitzroy as fz

#: What is compared of a fit, and of many.
ONE = ("popt", "pcov", "se", "ci", "chi2", "status", "evaluations", "findings")
MANY = ("popt", "se", "chi2", "converged", "status")
#: Fits of a batch.
BATCH = 40


def problem(d: Drawn, rng: np.random.Generator) -> tuple[Any, np.ndarray[Any, Any], dict[str, Any]]:
    """x, y and what is asked of the fit."""
    x = np.array(d.x)
    y = np.asarray(d.f(x.copy(), *d.truth), dtype=float).reshape(-1)
    n = x.shape[0] if d.x is not None and x.ndim == 2 and x.shape[1] == 2 else x.shape[-1]
    y = np.broadcast_to(y, (n,))
    noise = 0.05 * (np.std(y) + 0.1)
    more: dict[str, Any] = {"p0": (d.truth * rng.uniform(0.95, 1.05, d.truth.size)).tolist()}
    if rng.random() < 0.4:
        more["sigma"] = noise * rng.uniform(0.5, 1.5, n)
    if rng.random() < 0.3:
        wide = np.abs(d.truth) * 0.5 + 0.3
        more["bounds"] = (d.truth - wide, d.truth + wide)
    if rng.random() < 0.2:
        more["loss"] = str(rng.choice(["soft_l1", "huber", "cauchy"]))
    return x, y + noise * rng.normal(size=n), more


def different(one: Any, other: Any, names: tuple[str, ...]) -> list[str]:
    """What differs of two results, to the last bit."""
    found = []
    for name in names:
        a, b = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        same = a.shape == b.shape and (
            a.tobytes() == b.tobytes() if a.dtype.kind == "f" else bool(np.all(a == b))
        )
        if not same:
            found.append(f"{name}: {a.tolist()} and {b.tolist()}"[:400])
    return found


def refused(fit: Any, device: str) -> list[str]:
    """What is wrong with the refusal of a function that has no formula."""
    try:
        fit(device=device)
    except ValueError as error:
        told = str(error)
        named = f"device='{device}'" in told and "cannot: " in told
        return [] if named else [f"refused with {told}"]
    return ["a function without a formula went to the GPU"]


def one_function(seed: int, device: str) -> list[str]:
    """What differs of the fits of one function."""
    d = random_function(seed)
    rng = np.random.default_rng(seed)
    x, y, more = problem(d, rng)
    fitter = fz.CurveFit(d.f)

    def fit(**where: Any) -> fz.Estimate:
        return fitter.fit(x.copy(), y, **more, **where)

    try:
        cpu = fit()
    except ValueError:  # a robust loss needs a formula
        more.pop("loss")
        cpu = fit()
    if cpu.untraced:
        return refused(fit, device)
    gpu = fit(device=device)
    wrong = different(cpu, gpu, ONE)
    if not gpu.device.startswith("cuda:"):
        wrong.append(f"the fit was made on {gpu.device}")
    rows = y + 0.02 * (np.std(y) + 0.1) * rng.normal(size=(BATCH, y.size))
    try:
        many = [fitter.fit_many(x.copy(), rows, p0=more["p0"], device=k) for k in ("cpu", device)]
    except fz.Untraceable:
        return wrong
    if not many[1].device.startswith("cuda:"):
        wrong.append(f"the batch was made on {many[1].device}")
    return wrong + [f"many: {w}" for w in different(many[0], many[1], MANY)]


def main(first: int, n: int, device: str) -> None:
    found = {}
    for seed in range(first, first + n):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                wrong = one_function(seed, device)
            except Exception as error:
                wrong = [f"{type(error).__name__}: {error}"]
        if wrong:
            found[f"random {seed}\n{random_function(seed).text}"] = wrong
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
