"""Peaks on a background with models of lmfit: one import differs.

    python examples/lmfit_peaks.py

`from fitzroy.lmfit... import ...` stands for `from lmfit... import ...`; lmfit is not needed.
"""

from __future__ import annotations

import numpy as np

from fitzroy.lmfit import Minimizer, Parameters, ci_report, conf_interval
from fitzroy.lmfit.models import ExponentialModel, GaussianModel

#: What the data are made with.
TRUTH = dict(
    g1_amplitude=3880, g1_center=107, g1_sigma=18.4, g2_amplitude=2500, g2_center=153, g2_sigma=13.8
)
TRUTH.update(bkg_amplitude=99, bkg_decay=90.9)


def peaks():
    """Two Gaussians on an exponential."""
    background = ExponentialModel(prefix="bkg_")
    return GaussianModel(prefix="g1_") + GaussianModel(prefix="g2_") + background


def simulate(seed=1):
    x = np.linspace(0, 250, 250)
    rng = np.random.default_rng(seed)
    return x, peaks().eval(x=x, **TRUTH) + 2.5 * rng.normal(size=x.size)


def main():
    x, y = simulate()
    model = peaks()
    params = model.make_params(
        bkg_amplitude=100,
        bkg_decay=80,
        g1_amplitude={"value": 4000, "min": 0},
        g1_center={"value": 105, "min": 75, "max": 125},
        g1_sigma={"value": 15, "min": 0},
        g2_amplitude={"value": 2000, "min": 0},
        g2_center={"value": 155, "min": 125, "max": 175},
        g2_sigma={"value": 15, "min": 0},
    )
    result = model.fit(y, params, x=x)
    print(result.fit_report(min_correl=0.5))
    band = result.eval_uncertainty(sigma=3)

    # One parameter tied to another.
    params["g2_sigma"].expr = "0.75 * g1_sigma"
    tied = model.fit(y, params, x=x)

    # A function that gives residuals, and intervals by profiles.
    decay = Parameters()
    decay.add("a", value=2, min=0)
    decay.add("rate", value=1)
    t = np.linspace(0, 5, 60)
    z = 3 * np.exp(-0.8 * t) + 0.05 * np.random.default_rng(2).normal(size=t.size)
    mini = Minimizer(lambda p: p["a"] * np.exp(-p["rate"] * t) - z, decay)
    found = mini.minimize()
    intervals = conf_interval(mini, found, sigmas=[1, 2])
    print(ci_report(intervals))
    return dict(result=result, band=band, tied=tied, found=found, intervals=intervals)


if __name__ == "__main__":
    main()
