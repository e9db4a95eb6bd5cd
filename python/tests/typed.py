"""What users write, read by mypy alone."""

from typing import Any, assert_type

import numpy as np

import fitzroy as fz
from fitzroy import lmfit, nlsq, slurm, stop_signal, weather


def line(x: "np.ndarray[tuple[int], np.dtype[np.float64]]", a: float, b: float) -> object:
    return a * x + b


x = np.linspace(0, 1, 5)
estimate = fz.CurveFit(line).fit(x, x)
assert_type(estimate, fz.Estimate)
assert_type(estimate.names, list[str])
assert_type(estimate.device, str)
assert_type(estimate.params, dict[str, float])
assert_type(fz.CurveFit("a*x").fit_many(x, [x]), fz.ManyEstimates)
popt, pcov = fz.curve_fit(line, x, x)
assert_type(fz.Model("mu ~ Normal(0, 1)").text, str)
assert_type(fz.from_pymc(None).text, str)
m = fz.Builder()
mu = m.Normal("mu", 0, 10)
assert_type(m.text, str)
assert_type(m.model, fz.Model)
assert_type(m.let("twice", np.exp(2 * mu["groups"]) + 1, dims=["groups"]).text, str)
job = fz.slurm.submit(fz.sample, None, draws=10, out="run", tasks=2)
assert_type(job, slurm.Job)
assert_type(job.status().state, str)
assert_type(job.wait(1.5), slurm.Status)
assert_type(job.files, dict[str, str])
assert_type(fz.CurveFit("a*x").fit(x, x, p0={"a": {"value": 1}}).fixed, dict[str, float])
assert_type(fz.devices().names, list[str])
assert_type(fz.verify().passed, bool)
assert_type(fz.diagnose("run").verdict, str)
assert_type(fz.compare({}).names, list[str])
assert_type(fz.report("run").html, str)
assert_type(stop_signal.RDEXABCDModel().gpu_config, dict[str, Any])
assert_type(weather.train("data.nc").history(), list[dict[str, Any]])
assert_type(nlsq.estimate_memory_requirements(10, 2), nlsq.MemoryRequirements)
assert_type(nlsq.HybridStreamingConfig(chunk_size=50_000).chunk_size, int)
peak = lmfit.models.GaussianModel(prefix="g_") + lmfit.models.LinearModel(prefix="l_")
assert_type(peak, lmfit.CompositeModel)
fit = peak.fit(x, peak.make_params(g_sigma={"value": 1, "min": 0}), x=x)
assert_type(fit, lmfit.ModelResult)
assert_type(fit.fit_report(), str)
assert_type(lmfit.minimize(lambda p: p["a"] * x, lmfit.create_params(a=1)).params, lmfit.Parameters)
