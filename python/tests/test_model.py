"""Models as text: data of any kind in, ArviZ's groups out; interrupts, progress, errors."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import fitzroy as fz

TEXT = """data y[schools], sigma[schools]
mu             ~ Normal(0, 5)
tau            ~ HalfCauchy(5)
theta[schools] ~ Normal(mu, tau)
y[schools]     ~ Normal(theta, sigma)
"""
DATA = {
    "y": [28.0, 8, -3, 7, -1, 1, 18, 12],
    "sigma": [15.0, 10, 16, 11, 9, 11, 10, 18],
}
LABELS = list("ABCDEFGH")


def mu(draws):
    return draws.posterior["mu"].values


@pytest.fixture(scope="module")
def plain():
    pytest.importorskip("xarray")
    return fz.Model(TEXT).sample(DATA, random_seed=1, progressbar=False)


def test_groups_dims_and_attributes_are_arvizs(plain):
    assert plain.posterior["theta"].dims == ("chain", "draw", "schools")
    assert plain.posterior["theta"].shape == (4, 1000, 8)
    assert {"lp", "diverging", "tree_depth", "energy"} <= set(plain.sample_stats.data_vars)
    assert plain.posterior.attrs["inference_library"] == "fitzroy"
    assert plain.posterior.attrs["verdict"] == "converged"
    assert set(plain.observed_data.data_vars) == {"y"}
    assert set(plain.constant_data.data_vars) == {"sigma"}


def test_chains_start_at_the_values_of_parameters():
    """Two equal modes, 40 standard deviations apart: chains stay in the one that they start in."""
    pytest.importorskip("xarray")
    model = fz.Model("x ~ Normal(0, 100)\ntarget += log_sum_exp([-50*(x - 2)^2, -50*(x + 2)^2])")
    given = {"draws": 50, "tune": 50, "random_seed": 1, "progressbar": False}
    for value in (2.0, -2.0):
        draws = model.sample(initvals={"x": value}, **given)
        assert np.abs(draws.posterior["x"].values - value).max() < 1
    draws = model.sample(initvals=[{"x": v} for v in (2, -2, 2, -2)], **given)
    assert np.sign(draws.posterior["x"].values[:, -1]).tolist() == [1, -1, 1, -1]


@pytest.mark.parametrize(
    ("initvals", "error", "words"),
    [
        ({"tau": -1}, ValueError, "initvals: `tau` is -1, which is not between 0 and inf"),
        ({"thta": 1}, ValueError, "did you mean `theta`"),
        ({"theta": [1.0, 2.0]}, ValueError, r"shape \[2\], the parameter \[8\]"),
        ({"mu": "high"}, TypeError, r"initvals\['mu'\] needs numbers"),
        ([{}, {}], ValueError, "2 sets of values for 4 chains"),
        (7, TypeError, "one such dict per chain"),
    ],
)
def test_starts_that_are_none_are_refused(initvals, error, words):
    with pytest.raises(error, match=words):
        fz.Model(TEXT).sample(DATA, initvals=initvals, progressbar=False)


def test_data_of_any_kind_give_the_same_draws(plain):
    pd, pl, xr = (pytest.importorskip(n) for n in ("pandas", "polars", "xarray"))
    model = fz.Model(TEXT)
    dataset = xr.Dataset({k: ("schools", v) for k, v in DATA.items()}, coords={"schools": LABELS})
    kinds = [
        pd.DataFrame(DATA),
        pl.DataFrame(DATA),
        dataset,
        {k: np.float32(v) for k, v in DATA.items()},
    ]
    kinds.append({k: np.array(v)[::1].astype(">f8") for k, v in DATA.items()})
    for data in kinds:
        draws = model.sample(data, random_seed=1, progressbar=False)
        np.testing.assert_array_equal(mu(draws), mu(plain))
    assert list(model.sample(dataset, draws=5, tune=5).posterior["schools"].values) == LABELS
    labelled = model.sample(DATA, coords={"schools": LABELS}, draws=5, tune=5)
    assert list(labelled.posterior["schools"].values) == LABELS


GROUPS = "data y[obs], g[obs] in gs\na[gs] ~ Normal(0, 1)\ny ~ Normal(a[g], 1)"
SHORT = {"draws": 20, "tune": 50, "random_seed": 1, "progressbar": False}


def test_labels_are_those_of_the_data():
    pd, pl, _ = (pytest.importorskip(n) for n in ("pandas", "polars", "xarray"))
    model = fz.Model(GROUPS)
    levels = ["lo", "mid", "hi"]
    names = ["lo", "hi", "lo", "hi"]
    y = [1.0, 2.0, 3.0, 4.0]
    frames = [
        pd.DataFrame({"y": y, "g": pd.Categorical(names, categories=levels)}),
        pl.DataFrame({"y": y, "g": pl.Series(names, dtype=pl.Enum(levels))}),
    ]
    for frame in frames:
        assert model.sample(frame, **SHORT).posterior["gs"].values.tolist() == levels
    frame = frames[0]
    prior = model.prior({"y": y, "g": names}, draws=20, coords={"gs": levels})
    assert prior.prior["gs"].values.tolist() == levels
    # What the model does not declare may be anything.
    more = frame.assign(when=pd.date_range("2020", periods=4), note=["a", None, "b", "c"])
    assert model.sample(more, **SHORT).posterior["gs"].values.tolist() == levels
    days = frame.assign(g=pd.date_range("2020", periods=4))
    assert model.sample(days, **SHORT).posterior["gs"].values[0] == "2020-01-01"
    rows = frame.set_index(pd.Index(list("wxyz"), name="obs"))
    assert model.sample(rows, **SHORT).observed_data["obs"].values.tolist() == list("wxyz")


@pytest.mark.parametrize(
    ("coords", "words"),
    [
        ({"obs": ["a", "b"]}, r"coords\['obs'\] has 2 labels; data\['g'\] has 4 along this dim"),
        ({"gss": ["lo", "hi"]}, "the model has no dim of this name; it has 'obs', 'gs'"),
    ],
)
def test_labels_that_fit_nothing_are_refused(coords, words):
    data = {"y": [1.0, 2.0, 3.0, 4.0], "g": ["lo", "hi", "lo", "hi"]}
    with pytest.raises(ValueError, match=words):
        fz.Model(GROUPS).sample(data, coords=coords, **SHORT)


def test_a_row_without_a_label_is_named():
    data = {"y": [1.0, 2.0, 3.0, 4.0], "g": np.array(["lo", None, "lo", "hi"], dtype=object)}
    with pytest.raises(TypeError, match=r"data\['g'\] has no label in row 1"):
        fz.Model(GROUPS).sample(data, **SHORT)


def test_draws_do_not_depend_on_cores(plain):
    draws = fz.Model(TEXT).sample(DATA, random_seed=1, cores=1, progressbar=False)
    np.testing.assert_array_equal(mu(draws), mu(plain))


def test_what_is_asked_for_is_there():
    pytest.importorskip("xarray")
    draws = fz.Model(TEXT).sample(
        DATA,
        draws=50,
        tune=100,
        predictive=True,
        log_likelihood=True,
        keep_warmup=True,
        var_names=["mu"],
        progressbar=False,
        random_seed=1,
    )
    assert list(draws.posterior.data_vars) == ["mu"]
    assert draws.posterior_predictive["y"].shape == (4, 50, 8)
    assert draws.log_likelihood["y"].shape == (4, 50, 8)
    assert draws.warmup_posterior["mu"].shape == (4, 100)
    prior = fz.Model(TEXT).prior(DATA, draws=30, random_seed=2)
    assert prior.prior["mu"].shape == (1, 30) and prior.prior_predictive["y"].shape == (1, 30, 8)


def test_draws_are_pickled_and_written(plain, tmp_path):
    assert pickle.loads(pickle.dumps(fz.Model(TEXT))) == fz.Model(TEXT)
    np.testing.assert_array_equal(mu(pickle.loads(pickle.dumps(plain))), mu(plain))
    pytest.importorskip("h5netcdf")
    pytest.importorskip("h5py")
    plain.to_netcdf(tmp_path / "draws.nc", engine="h5netcdf")


@pytest.mark.parametrize(
    ("data", "settings", "error", "words"),
    [
        ({"y": DATA["y"]}, {}, ValueError, "`sigma` is missing"),
        ({**DATA, "sigma": [1.0, 2.0]}, {}, ValueError, "schools"),
        ({**DATA, "sigma": np.ones((8, 2))}, {}, ValueError, "axes|axis|dim"),
        ({**DATA, "sigma": [*DATA["sigma"][:7], np.nan]}, {}, ValueError, "row 8"),
        ({**DATA, "y": [object()] * 8}, {}, TypeError, "numbers or text"),
        ([1, 2], {}, TypeError, "data is a list"),
        (DATA, {"draws": 0}, ValueError, "draws=0"),
        (DATA, {"chains": 0}, ValueError, "chains=0"),
        (DATA, {"tune": -1}, ValueError, "tune=-1"),
        (DATA, {"random_seed": -1}, ValueError, "random_seed"),
        (DATA, {"sampler": "gibbs"}, ValueError, "sampler='gibbs' is not known"),
        (DATA, {"target_accept": 2.0}, ValueError, "target"),
        (DATA, {"var_names": ["nu"]}, ValueError, "no nu"),
    ],
)
def test_what_is_wrong_is_named(data, settings, error, words):
    with pytest.raises(error, match=words):
        fz.Model(TEXT).sample(data, progressbar=False, **{"draws": 5, "tune": 5, **settings})


def test_masked_elements_are_missing():
    masked = np.ma.array(DATA["y"], mask=np.arange(8) == 2)
    with_nan = np.where(np.arange(8) == 2, np.nan, DATA["y"])
    for y in (masked, with_nan):
        draws = fz.Model(TEXT).sample(
            {**DATA, "y": y}, draws=200, tune=200, random_seed=1, progressbar=False
        )
        missing = draws.posterior["y_missing"]
        assert missing.dims == ("chain", "draw", "y_missing_at")
        assert list(missing.coords["y_missing_at"].values) == [2]
    # Nothing says what a standard error would be.
    gone = np.ma.array(DATA["sigma"], mask=np.arange(8) == 2)
    with pytest.raises(ValueError, match="row 3.*give `sigma` a distribution"):
        fz.Model(TEXT).sample({**DATA, "sigma": gone}, progressbar=False)


def test_errors_in_the_text_have_their_place():
    with pytest.raises(ValueError, match="line 1, column 6.*did you mean `Normal`"):
        fz.Model("mu ~ Norml(0, 1)")


LONG = dict(draws=30_000_000, tune=200, chains=2, random_seed=1)


def test_an_interrupt_returns_what_there_is():
    pytest.importorskip("xarray")
    # A process started in the background ignores the signal, and its children with it.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    before = signal.getsignal(signal.SIGINT)
    try:
        threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.warns(fz.ConvergenceWarning, match="was stopped"):
            draws = fz.Model("mu ~ Normal(0, 1)").sample(progressbar=False, **LONG)
        assert 0 < mu(draws).shape[1] < LONG["draws"]
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, inherited)


def test_progress_is_told_and_may_stop_the_run():
    seen = []

    def told(done, divergences, total):
        seen.append((done, total))
        if len(seen) > 3:
            raise RuntimeError("enough")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fz.Model("mu ~ Normal(0, 1)").sample(progressbar=told, **LONG)
    assert seen[-1][1] == LONG["draws"] + LONG["tune"] and len(seen[-1][0]) == 2


def test_other_threads_go_on():
    ticks = []
    running = threading.Event()
    running.set()

    def tick():
        while running.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.002)

    thread = threading.Thread(target=tick)
    thread.start()
    began = time.monotonic()
    fz.Model("mu ~ Normal(0, 1)").sample(draws=400_000, random_seed=1, progressbar=False)
    ended = time.monotonic()
    running.clear()
    thread.join()
    during = [t for t in ticks if began < t < ended]
    # With the lock held there would be none but at the ends.
    assert len(during) > 5


def test_draws_that_should_not_be_relied_on_are_warned_of():
    with pytest.warns(fz.ConvergenceWarning, match="not converged"):
        fz.Model(TEXT).sample(DATA, draws=10, tune=10, random_seed=1, progressbar=False)


def test_without_pymc_it_says_what_is_missing():
    code = (
        "import sys; sys.modules['pytensor'] = None; sys.modules['pymc'] = None; import fitzroy\n"
        "try:\n    fitzroy.sample\nexcept ImportError as e:\n    print(e)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "fitzroy.sample needs PyMC" in run.stdout


def test_without_xarray_draws_are_arrays_by_name():
    code = (
        "import sys; sys.modules['xarray'] = None; import fitzroy; "
        "d = fitzroy.Model('mu ~ Normal(0, 1)').sample(draws=10, tune=20, progressbar=False); "
        "print(d['posterior']['mu'].shape)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "(4, 10)"


def test_import_is_quick_and_takes_numpy_alone():
    code = (
        "import numpy, sys, time; before = set(sys.modules); s = time.process_time(); "
        "import fitzroy; "
        "d = time.process_time() - s; print(d); "
        "print(sorted({m.split('.')[0] for m in set(sys.modules) - before} "
        "& {'scipy', 'xarray', 'pandas', 'pymc', 'pytensor', 'arviz', 'jax', 'IPython'}))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(5)
    ]
    lines = [run.stdout.split("\n") for run in runs]
    assert all(line[1] == "[]" for line in lines)
    assert min(float(line[0]) for line in lines) < 0.05


def test_a_folder_has_what_the_program_leaves_and_changes_no_draw(tmp_path):
    model, out = fz.Model(TEXT), tmp_path / "run"
    plain = model.sample(DATA, draws=200, random_seed=3, progressbar=False)
    kept = model.sample(DATA, draws=200, random_seed=3, progressbar=False, out=out)
    assert np.array_equal(plain["posterior"]["mu"].values, kept["posterior"]["mu"].values)
    left = {path.name for path in out.iterdir()}
    assert {"trace.nc", "summary.csv", "run.json", "report.html"} <= left
    with pytest.raises(OSError, match="overwrite"):
        model.sample(DATA, draws=200, progressbar=False, out=out)
    more = model.sample(DATA, draws=500, random_seed=3, progressbar=False, out=out, resume=True)
    whole = model.sample(DATA, draws=500, random_seed=3, progressbar=False)
    assert np.array_equal(more["posterior"]["tau"].values, whole["posterior"]["tau"].values)
    # It has all its draws: they are read again.
    again = model.sample(DATA, draws=500, random_seed=3, progressbar=False, out=out, resume=True)
    assert np.array_equal(again["posterior"]["tau"].values, whole["posterior"]["tau"].values)
    with pytest.raises(ValueError, match="resume"):
        other = {**DATA, "y": [0.0] * 8}
        model.sample(other, draws=900, progressbar=False, out=out, resume=True)
    model.sample(DATA, draws=100, progressbar=False, out=out, overwrite=True, report=False)
    assert not (out / "report.html").exists()


def test_words_of_python_in_errors():
    model = fz.Model(TEXT)
    cases = [
        (dict(device="tpu"), ValueError, "device='tpu'"),
        (dict(device_memory="much"), ValueError, "device_memory: `much`"),
        (dict(precision="f16"), ValueError, "precision='f16'"),
        (dict(sampler="hmc"), ValueError, "sampler='hmc' is not known; it is one of 'nuts'"),
        (dict(metric="full"), ValueError, "metric='full' is not known; it is one of 'auto'"),
        (dict(resume=True), ValueError, "out="),
        (dict(precision="f32", device="cpu"), RuntimeError, "precision='f32'.*device='cuda'"),
        (dict(target_accept=1.5), ValueError, "target_accept|target acceptance"),
    ]
    for settings, kind, words in cases:
        with pytest.raises(kind, match=words) as caught:
            model.sample(DATA, draws=10, progressbar=False, **settings)
        assert "--" not in str(caught.value) and "⟨" not in str(caught.value)


def test_advice_is_given_in_arguments_of_python():
    funnel = "dim k = 9\nv ~ Normal(0, 3)\nx[k] ~ Normal(0, exp(v / 2)) @ centred"
    with pytest.warns(fz.ConvergenceWarning):
        draws = fz.Model(funnel).sample(draws=50, tune=50, random_seed=1, progressbar=False)
    assert "--" not in draws.posterior.attrs["findings"]


def test_axes_of_a_dataset_are_told_by_their_names():
    xr = pytest.importorskip("xarray")
    model = fz.Model("data Z[a, b]\nr[a] ~ Normal(0, 100)\nZ ~ Normal(r, 1)")
    given = {"draws": 50, "tune": 50, "random_seed": 1, "progressbar": False}
    for shape in ((3, 3), (3, 2)):
        values = 10.0 * np.arange(np.prod(shape)).reshape(shape)
        coords = {"a": list("xyz"), "b": list(range(shape[1]))}
        data = xr.Dataset({"Z": (("a", "b"), values)}, coords=coords)
        first, turned = (model.sample(d, **given) for d in (data, data.transpose("b", "a")))
        np.testing.assert_array_equal(first.posterior["r"], turned.posterior["r"])
        assert list(turned.posterior.coords["a"].values) == list("xyz")
        of_array = model.sample({"Z": data["Z"].T}, coords={"a": list("xyz")}, **given)
        np.testing.assert_array_equal(first.posterior["r"], of_array.posterior["r"])
    with pytest.raises(ValueError, match=r"dims \(b, c\); the model has \(a, b\)"):
        model.sample({"Z": data["Z"].rename(a="c").transpose("b", "c")}, **given)
