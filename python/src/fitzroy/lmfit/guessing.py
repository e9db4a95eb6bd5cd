"""Starting values of built-in models, by their data."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["peak", "peak2d", "step", "thermal", "wave"]

Array = np.ndarray[Any, Any]
Values = dict[str, float]


def peak(y: Any, x: Any, negative: bool, area: float = 1.0, narrow: float = 1.0) -> Values:
    """Centre and half width by the points above half the height, and the area by both.

    `area` and `narrow` are factors of a shape.
    """
    order = np.argsort(np.asarray(x))
    x, y = np.asarray(x)[order], np.asarray(y)[order]
    top, bottom = float(np.max(y)), float(np.min(y))
    inside = x[y < (top + bottom) / 2] if negative else x[y > (top + bottom) / 2]
    center, sigma = float(x[np.argmax(y)]), float(x[-1] - x[0]) / 6
    if len(inside) > 2:
        sigma, center = float(inside[-1] - inside[0]) / 2, float(inside.mean())
    height = 3 * (top - bottom) * (-1 if negative else 1)
    return {"amplitude": height * sigma * area, "center": center, "sigma": sigma * narrow}


def peak2d(z: Any, x: Any, y: Any, negative: bool) -> Values:
    """The place of the highest or the lowest point, and widths of a sixth of the ranges."""
    x, y, z = np.asarray(x), np.asarray(y), np.asarray(z)
    at = np.unravel_index((np.argmin if negative else np.argmax)(z), z.shape)
    sx, sy = float(np.ptp(x)) / 6, float(np.ptp(y)) / 6
    height = float(np.ptp(z)) * (-1 if negative else 1)
    return {
        "amplitude": height * sx * sy,
        "centerx": float(x[at]),
        "centery": float(y[at]),
        "sigmax": sx,
        "sigmay": sy,
    }


def thermal(y: Any, x: Any) -> Values:
    """The middle, and a tenth of the range."""
    x, y = np.asarray(x), np.asarray(y)
    center, kt = float(x.mean()), float(np.ptp(x)) / 10
    amplitude = float(y.max() * np.exp((x.min() - center) / max(1e-15, kt)))
    return {"amplitude": amplitude, "center": center, "kt": kt}


def step(y: Any, x: Any) -> Values:
    """The middle, and a tenth of the range, below 0 where the data fall."""
    x, y = np.asarray(x), np.asarray(y)
    fifth = len(y) // 5
    falls = fifth > 0 and y[:fifth].mean() > y[-fifth:].mean()
    sigma = 0.1 * float(np.ptp(x)) * (-1 if falls else 1)
    center = float(x.min() + x.max()) / 2
    return {"amplitude": float(np.ptp(y)), "center": center, "sigma": sigma}


def wave(y: Any, x: Any) -> Values:
    """The frequency with the most power, and the best of some phases."""
    x, y = np.asarray(x), np.asarray(y) - np.mean(y)
    spacing = abs(float(x[-1] - x[0])) / (len(x) - 1)
    power = np.abs(np.fft.fft(y))
    most = int(power.argmax())
    amplitude = 2.0 * float(power[most]) / len(y)
    frequency = 2 * np.pi * abs(float(np.fft.fftfreq(len(x), spacing)[most]))
    phases = np.linspace(0, 2 * np.pi, 11, endpoint=False)
    left = [np.linalg.norm(amplitude * np.sin(x * frequency + p) - y) for p in phases]
    shift = float(phases[int(np.argmin(left))])
    return {"amplitude": amplitude, "frequency": frequency, "shift": shift}
