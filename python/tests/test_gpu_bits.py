"""Kernels of random PyMC models: what NVIDIA's compiler makes of them, executed here, has the CPU's bits.

`FITZROY_NVRTC` names the compiler. On a machine with a GPU `FITZROY_GPU=1` takes that one.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

pytest.importorskip("pymc")

from executed import executed  # noqa: E402
from random_pymc import random_model  # noqa: E402

import fitzroy as fz  # noqa: E402

pytestmark = pytest.mark.once

logging.getLogger("pymc").setLevel(logging.ERROR)
HERE = Path(__file__).parent
#: How many are tried, from which seed on; more by hand.
N = int(os.environ.get("FITZROY_RANDOM_MODELS", "12"))
FIRST = int(os.environ.get("FITZROY_FIRST_SEED", "0"))


def test_kernels_of_random_models_make_the_draws_of_the_processor(tmp_path):
    own = {} if os.environ.get("FITZROY_GPU") else executed(tmp_path)
    models = {}
    for seed in range(FIRST, FIRST + N):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = fz.from_pymc(random_model(seed))
        models[f"random {seed}\n{made.text}"] = (made.text, dict(made.data))
    path = tmp_path / "models.pkl"
    path.write_bytes(pickle.dumps(models))
    words = [sys.executable, str(HERE / "gpu_bits.py"), str(path)]
    said = subprocess.run(words, env={**os.environ, **own}, capture_output=True, text=True, timeout=900)
    assert said.returncode == 0, said.stderr
    differ = json.loads(said.stdout.splitlines()[-1])
    assert not differ, "\n\n".join(f"{name}\n{what}" for name, what in differ.items())
