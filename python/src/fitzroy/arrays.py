"""Arrays of other libraries (JAX, PyTorch, CuPy) as NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["host"]

#: Memory that a processor reads, by DLPack's numbers: its own, and pinned for CUDA or ROCm.
READABLE = (1, 3, 11)


def host(value: Any) -> Any:
    """An array of another library as one of NumPy, on this side of the bus; all else as it is.

    What lies in the memory of the processor is shared and not copied; what lies on a GPU is copied
    once. The result is not to be written to. What is masked becomes NaN.
    """
    if type(value) is np.ndarray:
        return value
    if isinstance(value, np.ma.MaskedArray):
        return np.ma.filled(value.astype(float), np.nan)
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        return value
    if hasattr(value, "detach"):  # PyTorch, whose tensors may be part of a graph of derivatives
        value = value.detach()
    kind, _ = value.__dlpack_device__()
    if kind in READABLE:
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError):  # a type that only its library knows
            return np.asarray(value)
    for name in ("cpu", "get"):  # PyTorch's name for the copy, and CuPy's
        copy = getattr(value, name, None)
        if callable(copy):
            return host(copy())
    try:
        return np.asarray(value)  # JAX copies by itself
    except Exception as error:
        kinds = f"{type(value).__module__}.{type(value).__name__}"
        raise TypeError(f"a {kinds} on a device cannot be copied to this side: {error}") from error
