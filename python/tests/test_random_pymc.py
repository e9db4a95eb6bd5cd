"""Random PyMC models: density and slopes of the text against PyMC's, and no model that is refused."""

from __future__ import annotations

import logging
import os
import warnings

import numpy as np
import pytest

pytest.importorskip("pymc")

from random_pymc import random_model  # noqa: E402

import fitzroy as fz  # noqa: E402

logging.getLogger("pymc").setLevel(logging.ERROR)
#: How many are tried, from which seed on; more by hand.
N = int(os.environ.get("FITZROY_RANDOM_MODELS", "24"))
FIRST = int(os.environ.get("FITZROY_FIRST_SEED", "0"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + N))
def test_a_random_model_has_the_density_and_the_slopes_of_pymc(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fz.from_pymc(random_model(seed)).check(n=16)
    assert np.all(np.isfinite(found.model))
    assert found.spread < 1e-9 * max(1.0, found.range), found
    assert found.slope_error < 1e-7, found
