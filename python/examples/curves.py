"""Curves written with jax.numpy for NLSQ: one import differs.

    python examples/curves.py [number of points]
    NLSQ_FORCE_CPU=1 python examples/curves.py

`from fitzroy.nlsq import ...` stands for `from nlsq import ...`. JAX is not needed, except for
functions written with it. Fits are made on the processor; a JAX_PLATFORM_NAME that asks for a GPU
gives a warning.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from fitzroy.nlsq import (
    AdaptiveHybridStreamingOptimizer,
    CurveFit,
    HybridStreamingConfig,
    curve_fit,
    curve_fit_large,
)

try:
    import jax.numpy as jnp
except ModuleNotFoundError:
    jnp = np


def model(x, a, b, c):
    return a * jnp.exp(-b * x) + c


def wave(x, a, b, c, d, e):
    """A damped wave, five parameters."""
    return a * jnp.exp(-b * x) * jnp.sin(c * x + d) + e


def simulate(n, seed=42):
    """Points of an exponential decay with noise of 0.1."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 10, n)
    return x, 2.0 * np.exp(-0.5 * x) + 0.3 + 0.1 * rng.normal(size=n)


def benchmark(sizes, n_runs=3):
    """Seconds of a fit for each number of points, the first call apart."""
    x, y = simulate(1000)
    curve_fit(model, x, y, p0=[2.0, 0.5, 0.3])
    took = {}
    for n in sizes:
        x, y = simulate(n)
        times = []
        for _ in range(n_runs):
            start = time.perf_counter()
            curve_fit(model, x, y, p0=[2.0, 0.5, 0.3])
            times.append(time.perf_counter() - start)
        took[n] = min(times)
        print(f"{n:>10,} points: {1000 * took[n]:.2f} ms ({n / took[n] / 1e6:.0f}M points/s)")
    return took


def main(n=100_000):
    x, y = simulate(n)
    # Without a start, as in SciPy.
    popt, pcov = curve_fit(model, x, y)
    print("a, b, c =", popt, "±", np.sqrt(np.diag(pcov)))

    benchmark([n // 10, n])

    # At most this much memory beyond x and y; data in pieces give the same fit.
    large, _ = curve_fit_large(model, x, y, p0=[2.0, 0.5, 0.3], memory_limit_gb=2.0)
    optimizer = AdaptiveHybridStreamingOptimizer(HybridStreamingConfig(chunk_size=50_000))
    streamed = optimizer.fit((x, y), model, p0=np.array([2.0, 0.5, 0.3]), verbose=0)

    # Many data sets with one fitter.
    fitter = CurveFit()
    each = [fitter.curve_fit(model, *simulate(1000, seed), p0=[2, 0.5, 0.3]) for seed in range(20)]

    rng = np.random.default_rng(42)
    t = np.linspace(0, 20, n)
    z = 2.0 * np.exp(-0.1 * t) * np.sin(1.5 * t + 0.3) + 0.5 + 0.1 * rng.normal(size=n)
    result = curve_fit(wave, t, z, p0=[2, 0.1, 1.5, 0.3, 0.5])
    perr = np.sqrt(np.diag(result.pcov))
    for name, p, e in zip(result.names, result.popt, perr):
        print(f"  {name} = {p:.4f} ± {e:.4f}")
    return dict(
        popt=popt,
        pcov=pcov,
        large=large,
        streamed=streamed["x"],
        each=np.array([popt for popt, _ in each]),
        wave=result,
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
