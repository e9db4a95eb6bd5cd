"""Models on the processor and on a GPU, whose draws must have the same bits.

`python gpu_bits.py MODELS` reads a pickled dict of name -> (text, data), samples each on both, and prints a
JSON object of what differs, by name. It needs NumPy alone, so that models which were made elsewhere can be
taken to any machine with a GPU.
"""

from __future__ import annotations

import json
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

Draws = dict[str, np.ndarray[Any, Any]]


def draws_of(text: str, data: dict[str, Any], device: str) -> Draws:
    """All arrays of a short run, as `group/name`."""
    import fitzroy as fz

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        groups = fz.Model(text).sample(
            data,
            draws=3,
            tune=5,
            chains=2,
            random_seed=7,
            predictive=True,
            log_likelihood=True,
            keep_warmup=True,
            progressbar=False,
            device=device,
        )
    arrays = {g: v for g, v in groups.items() if isinstance(v, dict)}
    return {f"{g}/{name}": np.asarray(a) for g, v in arrays.items() for name, a in v.items()}


def difference(cpu: Draws, gpu: Draws) -> str:
    """The first array that differs, and where; empty where none does."""
    if cpu.keys() != gpu.keys():
        return f"names: {sorted(cpu.keys() ^ gpu.keys())}"
    for name, a in cpu.items():
        b = gpu[name]
        if a.shape != b.shape:
            return f"{name}: shapes {a.shape} and {b.shape}"
        same = (a == b) | ((a != a) & (b != b))
        if not np.all(same):
            return f"{name}: {np.sum(~same)} of {a.size}, the first at {np.argwhere(~same)[0].tolist()}"
    return ""


def main(path: str) -> None:
    sys.modules["xarray"] = None  # type: ignore[assignment]  # groups as plain dicts
    models = pickle.loads(Path(path).read_bytes())
    found = {}
    for name, (text, data) in models.items():
        try:
            found[name] = difference(draws_of(text, data, "cpu"), draws_of(text, data, "cuda"))
        except RuntimeError as error:
            found[name] = str(error)
    print(json.dumps({name: said for name, said in found.items() if said}))


if __name__ == "__main__":
    main(sys.argv[1])
