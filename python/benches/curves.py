"""Curves: `fitzroy.curve_fit` and `fit_many` against SciPy and NLSQ, and the time of an import.

    python benches/curves.py

Calls take turns in one process; times are medians. Prints a line for each case.
NLSQ is compared where it is installed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
import warnings

import numpy as np

import fitzroy as fz

try:
    from scipy.optimize import curve_fit as of_scipy
except ModuleNotFoundError:
    of_scipy = None
try:
    import nlsq as of_nlsq
except ModuleNotFoundError:
    of_nlsq = None


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def peaks(x, a, m, s, b, n, t):
    return a * np.exp(-(((x - m) / s) ** 2)) + b * np.exp(-(((x - n) / t) ** 2))


def wave(x, a, b, c, d, e):
    return a * np.exp(-b * x) * np.sin(c * x + d) + e


#: Function, truth, start.
CURVES = {
    "decay": (decay, [2.5, 1.3, 0.5], [2.0, 1.0, 0.0]),
    "peaks": (peaks, [2.0, 1.0, 0.4, 1.0, 3.0, 0.5], [1.5, 0.9, 0.5, 1.2, 3.1, 0.4]),
    "wave": (wave, [2.0, 0.1, 1.5, 0.3, 0.5], [1.8, 0.12, 1.5, 0.2, 0.4]),
}


def medians(calls, seconds=2.0):
    """The median time of each call, in turns."""
    times = [[] for _ in calls]
    for call in calls:
        call()
    end = time.perf_counter() + seconds * len(calls)
    while time.perf_counter() < end or len(times[0]) < 5:
        for call, own in zip(calls, times):
            began = time.perf_counter()
            call()
            own.append(time.perf_counter() - began)
    return [statistics.median(own) for own in times]


def curves():
    for name, (f, truth, start) in CURVES.items():
        for n in (1_000, 100_000, 1_000_000):
            x = np.linspace(0, 4, n)
            y = f(x, *truth) + 0.1 * np.random.default_rng(1).normal(size=n)
            calls = [lambda: fz.curve_fit(f, x, y, p0=start)]
            if of_scipy is not None:
                calls.append(lambda: of_scipy(f, x, y, p0=start))
            ours, *theirs = medians(calls)
            beside = f"SciPy {1e3 * theirs[0]:9.3f} ms, {theirs[0] / ours:5.1f}x" if theirs else ""
            print(f"curve_fit  {name:6} {n:9,} points  {1e3 * ours:8.3f} ms  {beside}", flush=True)


def many():
    x = np.linspace(0, 4, 20)
    for n_fits in (1_000, 100_000):
        r = np.random.default_rng(2)
        y = decay(x, 2.5, 1.3, 0.5) + 0.05 * r.normal(size=(n_fits, 20))
        fitter = fz.CurveFit(decay)
        (took,) = medians([lambda: fitter.fit_many(x, y, p0=[2, 1, 0])])
        print(f"fit_many   {n_fits:,} fits of 20 points  {n_fits / took:,.0f} fits a second")


def nlsq():
    if of_nlsq is None:
        print("nlsq       not installed")
        return
    import jax.numpy as jnp

    def f(x, a, b, c, d, e):
        return a * jnp.exp(-b * x) * jnp.sin(c * x + d) + e

    _, truth, start = CURVES["wave"]
    for n in (1_000, 100_000, 500_000):
        x = np.linspace(0, 20, n)
        y = wave(x, *truth) + 0.1 * np.random.default_rng(1).normal(size=n)
        theirs, ours = of_nlsq.CurveFit(), fz.nlsq.CurveFit()
        a, b = medians(
            [lambda: ours.curve_fit(f, x, y, p0=start), lambda: theirs.curve_fit(f, x, y, p0=start)]
        )
        print(
            f"nlsq       wave {n:9,} points  {1e3 * a:8.3f} ms  NLSQ {1e3 * b:.3f} ms, {b / a:.0f}x"
        )


def imports():
    code = (
        "import numpy, time; s = time.perf_counter(); import fitzroy; "
        "a = time.perf_counter() - s; fitzroy.curve_fit; print(a, time.perf_counter() - s)"
    )
    runs = [subprocess.check_output([sys.executable, "-c", code], text=True) for _ in range(9)]
    alone, used = (statistics.median(float(r.split()[k]) for r in runs) for k in range(2))
    print(f"import     {1e3 * alone:.1f} ms after NumPy, {1e3 * used:.1f} ms with curve_fit")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(f"{fz.__version__}, {len(os.sched_getaffinity(0))} processors")
    imports()
    curves()
    many()
    nlsq()
