"""The examples run, and find what their data were made with."""

from __future__ import annotations

import runpy
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

import fitzroy as fz

pytestmark = pytest.mark.once

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name, *args, **settings):
    """The result of an example's `main`; draws that should not be relied on are an error."""
    main = runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", module="fitzroy")
        warnings.filterwarnings("error", message=".*(converged|converted|traced).*")
        return main(*args, **settings)


@pytest.fixture
def pymc():
    return pytest.importorskip("pymc", reason="the example is a PyMC model")


def test_groups(pymc, tmp_path):
    found = run("groups", tmp_path)
    assert found["rhat"] < 1.01 and found["ess"] > 400
    assert all(found["held"].values())
    # Two runs with different seeds; their Monte Carlo errors are below 0.2 %.
    assert max(found["apart"].values()) < 0.01
    assert abs(found["spread"] - 1) < 0.05
    assert found["path"].stat().st_size > 1_000_000


def test_effective_draws(pymc):
    found = run("effective_draws", "standard")
    assert found["min_ess_bulk"] > 400 and found["divergences"] == 0
    # Ten standardised errors: one above 4.5 has a probability of 7e-5.
    assert np.abs(found["z"]).max() < 4.5


def test_lmfit_peaks():
    found = run("lmfit_peaks")
    result, tied = found["result"], found["tied"]
    truth = dict(g1_center=107, g1_sigma=18.4, g2_center=153, g2_sigma=13.8, bkg_decay=90.9)
    for name, value in truth.items():
        par = result.params[name]
        assert abs(par.value - value) < 4 * par.stderr
    assert np.all(found["band"] > 0) and result.untraced == ""
    assert tied.params["g2_sigma"].value == 0.75 * tied.params["g1_sigma"].value
    assert tied.nvarys == 7 and tied.params["g2_sigma"].stderr > 0
    limits = dict((round(p, 4), v) for p, v in found["intervals"]["rate"][:2])
    assert limits[0.9545] < limits[0.6827] < found["found"].params["rate"].value


def test_curves():
    found = run("curves", 50_000)
    popt, error = found["popt"], np.sqrt(np.diag(found["pcov"]))
    assert np.all(np.abs(popt - [2.0, 0.5, 0.3]) < 4.5 * error)
    for other in (found["large"], found["streamed"]):
        np.testing.assert_allclose(other, popt, rtol=1e-6)
    # The mean of 20 fits of 1,000 points; 50 times fewer points have errors √50 times larger.
    off = found["each"].mean(0) - [2.0, 0.5, 0.3]
    assert found["each"].shape == (20, 3) and np.all(np.abs(off) < 4.5 * error * np.sqrt(50 / 20))
    wave = found["wave"]
    assert np.all(np.abs(wave.popt - [2.0, 0.1, 1.5, 0.3, 0.5]) < 4.5 * wave.se)


def test_stop_signal(pymc):
    pytest.importorskip("pandas")
    found = run("stop_signal")
    assert found["rhat"] < 1.02
    # 16 standardised errors of a posterior that is nearly normal: one above 4.5 has 1e-4.
    assert len(found["scores"]) == 16 and max(map(abs, found["scores"].values())) < 4.5
    # The density that was sampled is PyMC's.
    check = fz.from_pymc(found["model"]).check(8)
    assert check.spread < 1e-9 and check.range > 1


def test_stop_signal_study(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    try:
        # Six subjects are enough to see that everything runs; draws are few, and say so.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            main = runpy.run_path(str(EXAMPLES / "stop_signal_study.py"))["main"]
            found = main(tmp_path, n_subjects=6, draws=300, tune=500)
    finally:
        tempfile.tempdir = None
    assert found["rhat"] < 1.05
    # Four standardised errors, of which the scatter of six subjects is a part: 4.5.
    assert max(map(abs, found["scores"].values())) < 4.5
    assert found["again"].posterior["mu_B"].shape == (4, 300)
    assert (tmp_path / "fit" / "report.html").exists() and (tmp_path / "trace.nc").exists()
    assert "mu_v_true" in found["baseline"].posterior


def test_weather(tmp_path):
    pytest.importorskip("xarray")
    main = runpy.run_path(str(EXAMPLES / "weather.py"))["main"]
    found = main(tmp_path, max_steps=40)
    assert found["trained"].ended == "finished" and found["trained"].document["steps"] == 40
    assert found["plan"]["fits"] and found["forecast"].sizes["time"] == 8
    # The network is ahead of the linear model that it corrects, on validation records.
    beside = found["trained"].document["beside_start"]
    assert beside and all(b["rmse_ratio"] < 1.05 for b in beside)
    assert (tmp_path / "scores" / "report.html").exists()
