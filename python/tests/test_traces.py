"""Draws read, examined and compared, in memory and from folders; runs in the background."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import fitzroy as fz

pytest.importorskip("xarray")

TEXT = "data y[n]\nmu ~ Normal(0, 5)\nsigma ~ HalfNormal(2)\ny ~ Normal(mu, sigma)"
OTHER = TEXT.replace("Normal(mu, sigma)", "StudentT(4, mu, sigma)")
DATA = {"y": np.random.default_rng(1).normal(1, 1, size=120)}
GIVEN = {"random_seed": 1, "progressbar": False}


@pytest.fixture(scope="module")
def draws(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "normal"
    made = fz.Model(TEXT).sample(DATA, log_likelihood=True, out=folder, **GIVEN)
    return made, folder


def test_a_folder_is_read_as_the_run_returned_it(draws):
    made, folder = draws
    read = fz.read(folder)
    for group in ("posterior", "sample_stats", "log_likelihood", "observed_data"):
        for name in made[group].data_vars:
            assert read[group][name].dims == made[group][name].dims
            np.testing.assert_array_equal(read[group][name], made[group][name])
    assert read.posterior.attrs["inference_library"] == "fitzroy"
    with pytest.raises(OSError, match="nowhere"):
        fz.read(folder / "nowhere")


def test_a_diagnosis_is_the_same_of_draws_folders_and_arviz(draws):
    az = pytest.importorskip("arviz")
    made, folder = draws
    one, two = fz.diagnose(made), fz.diagnose(folder)
    assert one.document == two.document
    assert one.converged and one.verdict == "converged" and one.findings == []
    mu = one.rows[0]
    values = made.posterior["mu"].values
    assert mu["name"] == "mu" and abs(mu["mean"] - values.mean()) < 1e-12
    assert abs(mu["ess_bulk"] / float(az.ess(made.posterior, method="bulk")["mu"]) - 1) < 0.01
    assert abs(mu["r_hat"] - float(az.rhat(made.posterior)["mu"])) < 1e-4
    assert "mu" in repr(one) and "<pre>" in one._repr_html_()
    assert len(fz.diagnose(made, var_names=["mu"]).rows) == 1
    wide, narrow = (fz.diagnose(made, ci_prob=p).rows[0]["hdi_lower"] for p in (0.99, 0.5))
    assert wide < narrow
    # Those of PyMC's users lie in other orders, and have groups of their own.
    swapped = {"posterior": {"mu": made.posterior["mu"].transpose("draw", "chain")}}
    assert fz.diagnose(swapped).rows[0]["mean"] == mu["mean"]
    assert fz.diagnose({"posterior": {"mu": values}}).rows[0]["mean"] == mu["mean"]


def test_rows_become_a_data_frame(draws):
    pd = pytest.importorskip("pandas")
    table = fz.diagnose(draws[0]).to_dataframe()
    assert isinstance(table, pd.DataFrame) and list(table.index) == ["mu", "sigma"]
    assert table.loc["mu", "r_hat"] < 1.01


def test_cross_validation_is_arvizs(draws):
    az = pytest.importorskip("arviz")
    made, folder = draws
    ours = fz.loo(made)
    theirs = az.loo(made, pointwise=True)
    # ArviZ smooths tails in another way in the last digits.
    elpd = theirs.elpd if hasattr(theirs, "elpd") else theirs.elpd_loo
    assert abs(ours.elpd - float(elpd)) < 0.05
    assert len(ours.elpd_i) == 120 and ours.n_unreliable == 0
    np.testing.assert_allclose(ours.elpd_i.sum(), ours.elpd, rtol=1e-12)
    assert fz.loo(folder).elpd == ours.elpd
    assert "120 observations" in repr(ours)
    with pytest.raises(ValueError, match="log likelihood|log_likelihood"):
        fz.loo({"posterior": {"mu": made.posterior["mu"].values}})


def test_models_are_ranked_as_the_program_ranks_them(draws, tmp_path):
    made, folder = draws
    other = tmp_path / "student"
    fz.Model(OTHER).sample(DATA, log_likelihood=True, out=other, **GIVEN)
    ours = fz.compare({"normal": made, "student": other})
    command = [sys.executable, "-m", "fitzroy", "compare", "--json", str(folder), str(other)]
    theirs = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert ours.names == [m["name"] for m in theirs["models"]]
    assert [r["elpd"] for r in ours.rows] == [m["elpd"] for m in theirs["models"]]
    assert ours.rows[0]["elpd_diff"] == 0 and "weight" in repr(ours)
    assert "<table>" in ours._repr_html_()
    with pytest.raises(ValueError, match="two"):
        fz.compare({"normal": made})
    with pytest.raises(TypeError, match="dict of draws"):
        fz.compare([made, made])


def test_a_report_is_one_page(draws, tmp_path):
    made, folder = draws
    page = fz.report(made, name="normal data")
    assert "normal data" in page.html and "<html" in page.html
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page.html
    assert "<iframe" in page._repr_html_()
    assert "normal" in fz.report(folder).html


@pytest.mark.parametrize("wrong", [3, ["a"], {"posterior": 1}])
def test_what_are_no_draws_are_refused(wrong):
    with pytest.raises(TypeError, match="draws are a"):
        fz.diagnose(wrong)


def test_a_run_in_the_background_gives_the_draws_of_one_that_is_waited_for(draws):
    run = fz.Model(TEXT).sample(DATA, log_likelihood=True, blocking=False, **GIVEN)
    assert isinstance(run, fz.Run)
    made = run.wait(60)
    assert run.done and run.progress.part == 1
    np.testing.assert_array_equal(made.posterior["mu"], draws[0].posterior["mu"])
    np.testing.assert_array_equal(run.inspect().posterior["mu"], made.posterior["mu"])
    assert "ended" in repr(run)


def test_a_run_in_the_background_can_be_looked_at_and_stopped(tmp_path):
    # A draw takes a millisecond or so.
    data = {"y": np.random.default_rng(2).normal(size=20_000)}
    out = tmp_path / "run"
    run = fz.Model(OTHER).sample(data, draws=400_000, blocking=False, out=out, **GIVEN)
    with pytest.raises(TimeoutError, match="not ended after 0.05 seconds"):
        run.wait(0.05)
    seen = None
    for _ in range(600):
        time.sleep(0.05)
        seen = run.inspect()
        if seen is not None:
            break
    assert seen is not None and not run.done
    assert 0 < run.progress.part < 1 and "running" in repr(run)
    n_seen = seen.posterior.sizes["draw"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = run.abort()
    assert n_seen <= made.posterior.sizes["draw"] < 400_000
    first = slice(0, n_seen)
    np.testing.assert_array_equal(seen.posterior["mu"], made.posterior["mu"].isel(draw=first))
    # What was kept goes on.
    assert (out / "trace.nc").exists()


def test_what_is_wrong_is_raised_where_it_is_waited_for():
    model = fz.Model(TEXT)
    with pytest.raises(ValueError, match="draws=0"):
        model.sample(DATA, draws=0, blocking=False)
    run = model.sample({"y": ["a"]}, blocking=False, progressbar=False)
    with pytest.raises(ValueError, match="`y`"):
        run.wait(60)
    with pytest.raises(ValueError, match="`y`"):
        run.inspect()


def test_a_run_that_is_stopped_before_its_first_draw_has_none():
    model = fz.Model("dim k = 2000\nx[k] ~ Normal(0, 1)")
    run = model.sample(draws=10, tune=200_000, blocking=False, progressbar=False)
    with pytest.raises(Exception, match="before (its|the) first draw"):
        run.abort()
