"""The device that is asked for, by argument or by NLSQ's and JAX's variables."""

from __future__ import annotations

import os
import warnings

__all__ = ["asked"]

#: Variables that ask for a device, the first that is set counts.
FORCE_CPU, PLATFORM = "NLSQ_FORCE_CPU", "JAX_PLATFORM_NAME"
#: JAX's words for GPUs of NVIDIA.
GPUS = ("gpu", "cuda")


def asked(device: str | None, stacklevel: int) -> str | None:
    """What `fitzroy.curve_fit` is to be asked for; none for its default, the processor.

    An argument is obeyed or an error. A variable that asks for a GPU lets the fit go to one where it
    is expected to be faster; for another platform it is a warning, since the fit is the same.
    """
    if device is not None:
        return "cuda" if device == "gpu" else device
    if os.environ.get(FORCE_CPU, "0") not in ("", "0"):
        return None
    platform = os.environ.get(PLATFORM, "")
    if platform in GPUS:
        return "auto"
    if platform not in ("", "cpu"):
        warnings.warn(
            f"{PLATFORM}={platform}: curves are fitted on the processor or on a GPU of NVIDIA",
            RuntimeWarning,
            stacklevel=stacklevel + 1,
        )
    return None
