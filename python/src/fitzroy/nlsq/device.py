"""The device that is asked for, by argument or by NLSQ's and JAX's variables."""

from __future__ import annotations

import os
import warnings

__all__ = ["require"]

#: Variables that ask for a device, the first that is set counts.
FORCE_CPU, PLATFORM = "NLSQ_FORCE_CPU", "JAX_PLATFORM_NAME"


def require(device: str | None, stacklevel: int) -> None:
    """Accepts the processor, on which curves are fitted.

    A device that an argument asks for and that there is not is a ValueError; one that a variable
    asks for is a warning, since the fit is the same.
    """
    if device is not None:
        if device not in ("auto", "cpu"):
            raise ValueError(
                f"device='{device}': curves of Python are fitted on the processor; "
                "use 'cpu' or 'auto'"
            )
        return
    if os.environ.get(FORCE_CPU, "0") not in ("", "0"):
        return
    platform = os.environ.get(PLATFORM, "")
    if platform not in ("", "cpu"):
        warnings.warn(
            f"{PLATFORM}={platform}: curves of Python are fitted on the processor",
            RuntimeWarning,
            stacklevel=stacklevel + 1,
        )
