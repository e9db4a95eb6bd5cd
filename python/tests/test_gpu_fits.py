"""Fits of Python's curves on GPUs that execute their kernels here: the processor's bits, and what is refused.

`FITZROY_NVRTC` names the compiler. On a machine with a GPU `FITZROY_GPU=1` takes that one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from executed import executed

import fitzroy as fz
from fitzroy import nlsq

pytestmark = pytest.mark.once

HERE = Path(__file__).parent
#: How many functions are tried, from which seed on; more by hand.
N = int(os.environ.get("FITZROY_RANDOM_FUNCTIONS", "16"))
FIRST = int(os.environ.get("FITZROY_FIRST_SEED", "0"))
X = np.linspace(0, 4, 300)
Y = 2.5 * np.exp(-1.3 * X) + 0.5 + 0.1 * np.random.default_rng(1).normal(size=300)


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def by_loop(x, a, b, c):
    return np.array([decay(t, a, b, c) for t in x])


def quietly(fit):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit()


def run(words, own) -> str:
    said = subprocess.run(words, env={**os.environ, **own}, capture_output=True, text=True, timeout=900)
    assert said.returncode == 0, said.stderr
    return said.stdout + said.stderr


def in_process(text: str, tmp_path: Path, gpus: str) -> str:
    """What a script says that finds these GPUs."""
    head = f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
    head += "import numpy as np, fitzroy as fz\nfrom fitzroy import nlsq\n"
    head += "from test_gpu_fits import X, Y, decay, by_loop\n"
    return run([sys.executable, "-c", head + text], executed(tmp_path, gpus))


def test_random_functions_are_fitted_to_the_bits_of_the_processor(tmp_path):
    pytest.importorskip("scipy")
    own = {} if os.environ.get("FITZROY_GPU") else executed(tmp_path)
    words = [sys.executable, str(HERE / "gpu_fits.py"), str(FIRST), str(N), "cuda"]
    differ = json.loads(run(words, own).splitlines()[0])
    assert not differ, "\n\n".join(f"{name}\n" + "\n".join(w) for name, w in differ.items())


def test_every_face_goes_to_the_gpu_that_is_asked_for_and_says_so(tmp_path):
    text = """
rows = np.stack([Y, Y + 0.01, 1.1 * Y])
for device, kind in [("cuda", "cuda:1"), ("cuda:0", "cuda:0"), ("cuda:all", "cuda:0,1"), ("cpu", "cpu")]:
    estimate = fz.CurveFit(decay).fit(X, Y, device=device, device_memory="100MB", precision="f64")
    many = fz.CurveFit("a*exp(-b*x)+c").fit_many(X, rows, device=device)
    result = nlsq.curve_fit(decay, X, Y, p0=[2, 1, 0.3], device=device)
    popt, pcov, info, *_ = fz.curve_fit(decay, X, Y, [2, 1, 0.3], device=device, full_output=True)
    found = [estimate.device, many.device, result.device, info["device"]]
    assert found == [kind] * 4, (device, found)
    plain = fz.CurveFit(decay).fit(X, Y)
    assert np.array_equal(estimate.popt, plain.popt) and np.array_equal(estimate.pcov, plain.pcov)
    assert plain.device == "cpu" and plain.device_reason == ""
    assert device not in estimate.device_reason and "asked for" in estimate.device_reason
    assert (f", on {kind}" in repr(estimate)) == (f", on {kind}" in repr(many)) == (kind != "cpu")
assert nlsq.curve_fit(decay, X, Y, p0=[2, 1, 0.3], device="gpu").device == "cuda:1"
fz.release_devices()
fz.release_devices()
assert fz.CurveFit(decay).fit(X, Y, device="cuda:0").device == "cuda:0"
"""
    in_process(text, tmp_path, "multiprocessors=4;multiprocessors=8")
    log = (tmp_path / "log").read_text()
    assert "launch gpu=0" in log and "launch gpu=1" in log


def test_auto_says_why_it_stays_on_the_processor(tmp_path):
    text = """
x = np.linspace(0, 4, 120_000)
y = decay(x, 2.5, 1.3, 0.5)
reasons = [
    fz.CurveFit(decay).fit(X, Y, device="auto"),
    fz.CurveFit(decay).fit(x, y, p0=[2, 1, 0.3], device="auto"),
    fz.CurveFit(decay).fit_many(X, np.stack([Y, Y]), bounds=(-9, 9), device="auto"),
]
for found in reasons:
    print(found.device, found.device_reason)
"""
    few, long, bounds = in_process(text, tmp_path, "multiprocessors=4").splitlines()[:3]
    assert few.startswith("cpu auto: fewer than 100000 points")
    assert long.startswith("cpu auto: ") and "cuda:0 would need" in long and "device='cuda'" in long
    assert bounds.startswith("cpu auto: many fits with bounds")


def test_columns_beyond_a_cap_are_sent_in_pieces_and_a_gpu_that_fails_is_told(tmp_path):
    text = """
x = np.linspace(0, 4, 30_000)
y = decay(x, 2.5, 1.3, 0.5) + 0.1 * np.random.default_rng(1).normal(size=x.size)
plain = fz.CurveFit(decay).fit(x, y, p0=[2, 1, 0.3])
pieces = fz.CurveFit(decay).fit(x, y, p0=[2, 1, 0.3], device="cuda:0", device_memory="0.1MB")
assert np.array_equal(plain.popt, pieces.popt) and np.array_equal(plain.pcov, pieces.pcov)
shared = fz.CurveFit(decay).fit(x, y, p0=[2, 1, 0.3], device="cuda:0,1")
assert np.array_equal(plain.popt, shared.popt) and shared.device == "cuda:0,1"
"""
    said = in_process(text, tmp_path, "multiprocessors=4;multiprocessors=4,fails_at=2")
    assert "warning: cuda:1 has failed, and other GPUs did its work" in said
    assert (tmp_path / "log").read_text().count("launch gpu=0") > 20


def test_what_a_gpu_cannot_do_is_refused_in_words_of_python():
    fitter = fz.CurveFit(decay)
    for fit in (
        lambda **k: fitter.fit(X, Y, **k),
        lambda **k: fitter.fit_many(X, [Y, Y], **k),
        lambda **k: fz.curve_fit(decay, X, Y, **k),
        lambda **k: nlsq.curve_fit(decay, X, Y, **k),
        lambda **k: quietly(lambda: fz.curve_fit(by_loop, X, Y, **k)),
    ):
        with pytest.raises(ValueError, match=r"device='tpu': there is no device `tpu`; use auto, cpu"):
            fit(device="tpu")
        with pytest.raises(RuntimeError, match=r"precision='mixed': curves are fitted in f64"):
            fit(precision="mixed")
        with pytest.raises(ValueError, match=r"device_memory: `2` is no share"):
            fit(device="cpu", device_memory=2)
        fit(device="cpu", precision="f64", device_memory=0.5)
    with pytest.raises(ValueError, match=r"device='cuda': .*cannot: .*Leave `device` out"):
        fz.curve_fit(by_loop, X, Y, device="cuda")
    with pytest.raises(ValueError, match=r"device='cuda:0': .*errors are correlated"):
        fz.curve_fit(decay, X, Y, sigma=0.01 * np.eye(300), device="cuda:0")
    found = quietly(lambda: fz.CurveFit(by_loop).fit(X, Y, device="auto"))
    assert found.device == "cpu" and found.device_reason.startswith("auto: ")


def test_a_gpu_that_is_not_there_is_said_and_never_becomes_the_processor():
    if fz.devices().gpus:
        pytest.skip("there is a GPU")
    for device in ("cuda", "cuda:1", "cuda:all"):
        words = rf"device='{device}': .*(driver|GPU)"
        with pytest.raises(RuntimeError, match=words):
            fz.CurveFit(decay).fit(X, Y, device=device)
        with pytest.raises(RuntimeError, match=words):
            fz.curve_fit(decay, X, Y, device=device)
    assert fz.CurveFit(decay).fit(X, Y, device="auto").device == "cpu"
