"""Convolutions along one axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import Axis, Expr, Unconvertible
from .batches import contracted
from .walk import Walk, op

__all__: list[str] = []


@op("Convolve1d")
def convolution(walk: Walk, v: Any) -> Expr:
    """out[i] = Σⱼ signal[i − j] · weights[j], beyond whose ends the signal is 0; without these where
    the mode is 'valid'."""
    full = bool(walk.constants.value(v.owner.inputs[2]))
    a, b = (walk.expr(i) for i in v.owner.inputs[:2])
    signal, weights = sorted((a, b), key=lambda e: -1 if e.axes[-1] is None else -_size(e))
    along, taps = signal.axes[-1], weights.axes[-1]
    if along is None or taps is None:
        raise Unconvertible("Convolve1d", "with an array of length 1")
    n, k = along.root.size, taps.root.size
    rows = Axis(n + k - 1 if full else n - k + 1)
    places = np.arange(rows.size)[:, None] - np.arange(k) + (0 if full else k - 1)
    inside = (places >= 0) & (places < n)
    signal = walk.writer.named(signal)
    shown = [":" for a in signal.axes[:-1] if a is not None]

    def text() -> str:
        at = walk.writer.index(np.clip(places, 0, n - 1), [rows, taps], along, "at")
        picked = walk.writer.picked(signal, [*shown, at], [*signal.axes[:-1], rows, taps])
        if inside.all():
            return picked
        part = walk.writer.datum(inside, [rows, taps], "inside")
        return f"where({part}, {picked}, 0)"

    left = Expr([*signal.axes[:-1], rows, taps], text)
    right = weights.moved([*weights.axes[:-1], None, taps])
    return contracted(walk, left, right, -1)


def _size(e: Expr) -> int:
    last = e.axes[-1]
    return 1 if last is None else last.root.size
