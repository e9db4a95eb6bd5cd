"""What users write, read by mypy alone."""

from typing import assert_type

import numpy as np

import fitzroy as fz
from fitzroy import nlsq


def line(x: "np.ndarray[tuple[int], np.dtype[np.float64]]", a: float, b: float) -> object:
    return a * x + b


x = np.linspace(0, 1, 5)
estimate = fz.CurveFit(line).fit(x, x)
assert_type(estimate, fz.Estimate)
assert_type(estimate.names, list[str])
assert_type(estimate.params, dict[str, float])
assert_type(fz.CurveFit("a*x").fit_many(x, [x]), fz.ManyEstimates)
popt, pcov = fz.curve_fit(line, x, x)
assert_type(fz.Model("mu ~ Normal(0, 1)").text, str)
assert_type(fz.from_pymc(None).text, str)
assert_type(nlsq.estimate_memory_requirements(10, 2), nlsq.MemoryRequirements)
assert_type(nlsq.HybridStreamingConfig(chunk_size=50_000).chunk_size, int)
