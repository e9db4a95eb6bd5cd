"""Fits of curves, and scores of the forecasts of a network, on the processor and on a GPU.

    python benches/gpu.py DATA.nc [--points 4000000] [--fits 100000] [--json FILE]

DATA.nc is of `fitzroy weather synth --grid 64 --days 60 --spinup 20 --resolution 1.0 --out DATA.nc`. Fits must have
the same bits on both devices, and scores of a network trained for 60 steps must agree within 1e-6 in f32 and 1 % in
tf32 and bf16; else the script fails. Seconds of several calls in a row are told: the first of a device opens the GPU
and compiles. It needs NumPy alone.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np

import fitzroy as fz
from fitzroy import weather


def timed(call, times):
    seconds, out = [], None
    for _ in range(times):
        began = time.perf_counter()
        out = call()
        seconds.append(time.perf_counter() - began)
    return seconds, out


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def wave(x, a, b, w, p, c, m, s, h):
    return a * np.exp(-b * x) * np.sin(w * x + p) + c + h * np.exp(-0.5 * ((x - m) / s) ** 2)


def same(one, other, names):
    for name in names:
        a, b = getattr(one, name), getattr(other, name)
        assert a.tobytes() == b.tobytes(), f"{name} differs"


def one_fit(f, truth, n):
    """A fit of n points, on all threads, on one, and on the GPU."""
    rng = np.random.default_rng(1)
    x = np.linspace(0, 4, n)
    y = f(x, *truth) + 0.1 * rng.normal(size=n)
    fitter, start = fz.CurveFit(f), [1.05 * t for t in truth]
    found, last = {}, {}
    for name, more in (("cpu", {}), ("one_thread", {"threads": 1}), ("gpu", {"device": "cuda"})):
        found[f"{name}_s"], last[name] = timed(lambda more=more: fitter.fit(x, y, p0=start, **more), 4)
    same(last["cpu"], last["gpu"], ("popt", "pcov", "se"))
    assert last["gpu"].device.startswith("cuda:")
    return {"points": n, "parameters": len(truth), **found}


def many_fits(n):
    """Fits of 16 points each."""
    rng = np.random.default_rng(2)
    x = np.linspace(0, 4, 16)
    y = decay(x, 2.5, 1.3, 0.5) + 0.05 * rng.normal(size=(n, 16))
    fitter = fz.CurveFit(decay)
    cpu, one = timed(lambda: fitter.fit_many(x, y, p0=[2, 1, 0.3]), 3)
    gpu, other = timed(lambda: fitter.fit_many(x, y, p0=[2, 1, 0.3], device="cuda"), 3)
    same(one, other, ("popt", "se", "chi2"))
    return {"fits": n, "points": 16, "cpu_s": cpu, "gpu_s": gpu}


def forecasts(data, folder):
    """Scores of 24 forecasts of 8 steps by a network of 6 layers of 128."""
    run = weather.train(
        data,
        folder / "run",
        device="cuda",
        max_steps=60,
        latent_size=128,
        num_gnn_layers=6,
        learning_rate=1e-3,
        validation_frequency=60,
        progressbar=False,
    ).folder
    found, first = {}, None
    for device, precision in (("cpu", "f32"), ("cuda", "f32"), ("cuda", "tf32"), ("cuda", "bf16")):
        asked = {"device": device, "precision": precision, "progressbar": False}
        if device == "cpu":
            asked.pop("precision")

        def scored(asked=asked):
            out = tempfile.mkdtemp(dir=folder)
            more = {"leads": 8, "max_starts": 24, "no_baselines": True, "out": Path(out) / "scores"}
            return weather.evaluate(data, run, **more, **asked)

        seconds, said = timed(scored, 2)
        rmse = np.array([s["rmse"] for s in said.document["scores"]])
        first = rmse if first is None else first
        off = float(np.max(np.abs(rmse / first - 1)))
        assert off < (1e-6 if precision == "f32" else 1e-2), f"{device} {precision}: {off}"
        found[f"{device} {precision}"] = {"s": seconds, "off": off, "device": said.document["device"]}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--points", type=int, default=4_000_000)
    parser.add_argument("--fits", type=int, default=100_000)
    parser.add_argument("--json")
    asked = parser.parse_args()
    threads = len(os.sched_getaffinity(0))
    found = {"gpus": [g["name"] for g in fz.devices().gpus], "threads": threads}
    found["decay"] = one_fit(decay, [2.5, 1.3, 0.5], asked.points)
    found["wave"] = one_fit(wave, [2.0, 0.4, 5.0, 0.3, 0.5, 2.0, 0.3, 1.0], asked.points)
    found["many"] = many_fits(asked.fits)
    with tempfile.TemporaryDirectory() as folder:
        found["scores"] = forecasts(asked.data, Path(folder))
    text = json.dumps(found, indent=1)
    print(text)
    if asked.json:
        Path(asked.json).write_text(text + "\n")


if __name__ == "__main__":
    main()
