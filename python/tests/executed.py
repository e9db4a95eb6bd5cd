"""The environment in which `device="cuda"` finds GPUs that execute their kernels on the processor."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

#: One GPU, as the driver describes it.
ONE = "capability=9.0,multiprocessors=12"


def executed(folder: Path, gpus: str = ONE) -> dict[str, str]:
    """That environment, with what is kept in `folder`; skips the test where a part is missing."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[2] / "target"))
    driver = target / "release" / "deps" / "libfitzroy_ptx.so"
    compiler = os.environ.get("FITZROY_NVRTC")
    if not compiler or not driver.exists():
        pytest.skip("no FITZROY_NVRTC, or `cargo test` has not made the driver that executes PTX")
    file = Path(compiler)
    for library in ("libcuda.so.1", "libnvrtc.so.12"):
        (folder / library).symlink_to(driver)
    return {
        "LD_LIBRARY_PATH": str(folder),
        "FITZROY_NVRTC": str(folder),
        "FITZROY_CACHE_DIR": str(folder / "cache"),
        "FITZROY_PTX_NVRTC": str(file / "libnvrtc.so.12" if file.is_dir() else file),
        "FITZROY_PTX_LOG": str(folder / "log"),
        "FITZROY_PTX_GPUS": gpus,
    }
