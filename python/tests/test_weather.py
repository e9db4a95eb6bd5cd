"""Regional weather from Python: trained, scored and forecast, as the program does it."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from executed import executed

import fitzroy as fz
from fitzroy import weather

pytestmark = pytest.mark.once

EXAMPLES = Path(__file__).parent.parent / "examples"
#: A small region, and a network that is trained in a moment.
REGION = "--grid 16 --days 12 --spinup 4 --lat-min 35 --lat-max 55 --lon-min -10 --lon-max 10"
NETWORK = {
    "latent_size": 16,
    "num_gnn_layers": 1,
    "mlp_num_hidden_layers": 1,
    "boundary_width": 1,
    "learning_rate": 1e-3,
    "validation_frequency": 4,
    "decay_steps": 30,
    "max_steps": 6,
    "progressbar": False,
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("weather") / "a.nc"
    command = [sys.executable, "-m", "fitzroy", "weather", "synth", "--out", str(path)]
    subprocess.run([*command, *REGION.split()], check=True, capture_output=True)
    return path


@pytest.fixture(scope="module")
def trained(data):
    return weather.train(data, data.parent / "run", **NETWORK)


def test_a_training_is_that_of_the_program(data, trained, tmp_path):
    assert trained.ended == "finished" and trained.document["steps"] == 6
    assert trained.checkpoint.exists() and trained.folder == data.parent / "run"
    assert any("validation/loss" in line for line in trained.history())
    flags = [f"--{k.replace('_', '-')}={v}" for k, v in NETWORK.items() if k != "progressbar"]
    command = [sys.executable, "-m", "fitzroy", "weather", "train", "--data", str(data), "--json"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "run"), *flags], check=True, capture_output=True
    )
    theirs = json.loads(done.stdout)
    assert theirs["last_loss"] == trained.document["last_loss"]
    assert "steps 6" in repr(trained)


def test_a_training_goes_on_and_tells_what_happens(data, tmp_path):
    happened = []

    def note(kind, what):
        happened.append((kind, what))

    first = weather.train(
        data,
        tmp_path / "run",
        use_prefetch=False,
        **{**NETWORK, "log_every": 1, "progressbar": note},
    )
    steps = [what["step"] for kind, what in happened if kind == "step"]
    assert steps and steps[-1] <= 6 and {"step", "saved"} <= {kind for kind, _ in happened}
    more = weather.train(data, resume_from=first.folder, **{**NETWORK, "max_steps": 8})
    assert more.document["steps"] == 8 and more.folder.resolve() == first.folder.resolve()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nothing = weather.train(data, resume_from=first.folder, **{**NETWORK, "max_steps": 8})
    assert nothing.document["nothing_to_do"]
    plan = weather.train(data, dry_run=True, **NETWORK)
    assert plan.document["fits"] and plan.folder is None and plan.history() == []


def test_what_a_callback_raises_ends_a_training(data, tmp_path):
    def enough(kind, what):
        raise KeyboardInterrupt

    settings = {**NETWORK, "max_steps": 100_000, "log_every": 1, "progressbar": enough}
    found = weather.train(data, tmp_path / "run", **settings)
    assert found.ended == "interrupted" and found.document["steps"] < 100_000


def test_a_checkpoint_is_scored(data, trained, tmp_path):
    scores = weather.evaluate(data, trained, leads=2, out=tmp_path / "scores", progressbar=False)
    assert scores.passed is False and (scores.folder / "report.html").exists()
    # Five methods, two leads, five variables on two levels and rain.
    assert len(scores.document["scores"]) == 5 * 2 * 11
    pytest.importorskip("pandas")
    assert len(scores.to_dataframe()) > 0


def test_a_forecast_is_a_dataset(data, trained, tmp_path):
    xr = pytest.importorskip("xarray")
    records = xr.open_dataset(data)
    start = records["time"].values[-5]
    made = weather.predict(data, trained, initial_time=start, num_steps=2)
    assert made.sizes["time"] == 2 and made["time"].values[0] == records["time"].values[-4]
    file = tmp_path / "f.nc"
    again = weather.predict(records, trained, initial_time=str(start)[:19], output=file)
    assert file.exists()
    forecast = [name for name in made.data_vars if "time" in made[name].dims]
    assert forecast
    for name in forecast:
        np.testing.assert_array_equal(again[name].isel(time=0), made[name].isel(time=0))
    target = weather.predict(data, trained, target_time=records["time"].values[-4])
    np.testing.assert_array_equal(target[name].isel(time=0), made[name].isel(time=0))


def test_a_dataset_with_land_and_gaps_is_trained_scored_and_forecast(data, tmp_path):
    xr = pytest.importorskip("xarray")
    records = xr.open_dataset(data)[["U", "V"]].load()
    rng = np.random.default_rng(1)
    land = xr.zeros_like(records["U"].isel(time=0, level=0), dtype=bool)
    land[2:5, 3:6] = True
    gaps = xr.zeros_like(records["U"], dtype=bool)
    gaps.values[:] = rng.random(gaps.shape) < 0.1
    holes = records.assign(U=records["U"].where(~land).where(~gaps))
    settings = {**NETWORK, "max_steps": 3}
    with pytest.raises(ValueError, match="missing='mask'"):
        weather.train(holes, tmp_path / "no", **settings)
    found = weather.train(holes, tmp_path / "run", missing="mask", **settings)
    scores = weather.evaluate(holes, found, leads=2, out=tmp_path / "scores", progressbar=False)
    (note,) = scores.document["notes"]
    assert "U 850 hPa" in note and "V 850 hPa" not in note
    start, file = records["time"].values[-4], tmp_path / "f.nc"
    made = weather.predict(holes, found, initial_time=start, output=file, visualizations=True)
    assert (np.isnan(made["U"].isel(time=0)) == land).all() and np.isfinite(made["V"]).all()
    assert (tmp_path / "f-maps.png").exists() and (tmp_path / "f-maps.svg").exists()


def test_what_cannot_be_trained_is_refused_by_the_names_of_arguments(data, tmp_path):
    with pytest.raises(ValueError, match="unexpected argument 'nothing'"):
        weather.train(data, nothing=1)
    with pytest.raises(ValueError, match="batch_size"):
        weather.train(data, batch_size="many", **NETWORK)
    with pytest.raises((ValueError, OSError), match="nowhere"):
        weather.train(tmp_path / "nowhere.nc", **NETWORK)
    with pytest.raises(TypeError, match="data is a int"):
        weather.train(3)
    with pytest.raises(ValueError, match="no record of 1900"):
        weather.predict(data, data.parent / "run", initial_time="1900-01-01")
    with pytest.raises(ValueError, match="dry run"):
        weather.evaluate(data, weather.Training({}))
    assert fz.weather is weather


def test_weights_forecast_the_same_in_numpy(data, tmp_path):
    xr = pytest.importorskip("xarray")
    example = runpy.run_path(str(EXAMPLES / "weather_numpy.py"))
    records = xr.open_dataset(data)
    start = records["time"].values[-5]
    for baseline, average in (("linear", 0.9), ("momentum", None)):
        settings = {**NETWORK, "graph": "flat", "num_gnn_layers": 2, "baseline": baseline}
        folder = tmp_path / baseline
        trained = weather.train(data, folder, **settings, ema=average)
        made = weather.predict(data, trained, initial_time=start)
        own = example["step"](records, trained.checkpoint, start)
        _, state = example["load"](trained.checkpoint)
        changes = []
        for k, channel in enumerate(state["identity"]["channels"]):
            field = made[channel["variable"]].isel(time=0)
            if channel["level"] is not None:
                field = field.sel(level=channel["level"])
            theirs, sd = field.values, state["normaliser"]["sd"][k]
            rain = channel["variable"] == "precipitation"
            ours = np.maximum(own[..., k], 0) if rain else own[..., k]
            # Forecasts are computed in f32.
            np.testing.assert_allclose(ours, theirs, atol=2e-5 * sd, rtol=2e-6)
            now = records[channel["variable"]].sel(time=start)
            if channel["level"] is not None:
                now = now.sel(level=channel["level"])
            changes.append(np.abs(theirs - now.values).max() / sd)
        # What is compared is changes that are hundreds of times as large.
        assert np.median(changes) > 0.01


def test_the_best_of_several_trainings_is_the_one_whose_losses_fell_furthest(data, tmp_path):
    pytest.importorskip("pandas")
    settings = {k: v for k, v in NETWORK.items() if k not in ("learning_rate", "progressbar")}
    sweep = {"learning_rate": [1e-2, 1e-6], "latent_size": (8, 12)}
    settings.pop("latent_size", None)
    found = weather.tune(data, sweep, tmp_path / "all", progressbar=False, **settings)
    assert len(found.trials) == 4 and "learning_rate 0.01" in repr(found)
    frame = found.to_dataframe()
    assert frame["beside_start"].is_monotonic_increasing and set(frame["latent-size"]) == {8, 12}
    # A trial by itself is the same training.
    row = found.trials[0]
    own = {name.replace("-", "_"): value for name, value in row["settings"].items()}
    alone = weather.train(data, tmp_path / "alone", progressbar=False, **settings, **own)
    best = found.best
    assert best.document["best_validation_loss"] == alone.document["best_validation_loss"]
    assert best.checkpoint.is_file() and Path(row["folder"]) == best.folder
    runs = [json.loads((Path(r["folder"]) / "run.json").read_text()) for r in found.trials]
    ratios = [run["best_beside_start"] for run in runs]
    assert ratios == sorted(ratios) == [r["beside_start"] for r in found.trials]
    # What has ended is not made again.
    begun = best.checkpoint.stat().st_mtime_ns
    again = weather.tune(data, sweep, tmp_path / "all", progressbar=False, **settings)
    assert again.trials == found.trials and best.checkpoint.stat().st_mtime_ns == begun
    cases = (({}, ValueError), ({"batch_size": 3}, TypeError), ({"out": ["a"]}, ValueError))
    for wrong, error in cases:
        with pytest.raises(error, match="sweep"):
            weather.tune(data, wrong, tmp_path / "no", **settings)


def test_an_exported_step_is_the_file_that_the_program_writes(data, trained, tmp_path):
    file = weather.export(data, trained, tmp_path / "step.onnx")
    assert file == tmp_path / "step.onnx"
    command = [sys.executable, "-m", "fitzroy", "weather", "export", "--data", str(data)]
    command += ["--checkpoint", str(trained.checkpoint), "--output", str(tmp_path / "same.onnx")]
    subprocess.run(command, check=True, capture_output=True)
    assert file.read_bytes() == (tmp_path / "same.onnx").read_bytes()
    with pytest.raises(ValueError, match="latent_size"):
        weather.export(data, trained, tmp_path / "no.onnx", latent_size=3)


def test_an_ensemble_is_scored_as_numpy_does(data, tmp_path):
    xr = pytest.importorskip("xarray")
    trained = weather.train(data, tmp_path / "all", members=3, **{**NETWORK, "learning_rate": 1e-2})
    assert len(trained.document["members"]) == 3 and trained.checkpoint == tmp_path / "all"
    records = xr.open_dataset(data)
    times = records["time"].values
    starts = times[-6:-3]
    dates = {"test_start_time": str(starts[0])[:19], "test_end_time": str(starts[-1])[:19]}
    scores = weather.evaluate(
        data, trained, leads=2, out=tmp_path / "scores", progressbar=False, **dates
    )
    assert scores.document["members"] == 3 and scores.document["forecasts"] == len(starts)
    members = [tmp_path / "all" / f"member-0{k}" / "best.safetensors" for k in (1, 2, 3)]
    made = [
        [weather.predict(data, m, initial_time=t, num_steps=2) for t in starts] for m in members
    ]
    weights = np.cos(np.radians(records["lat"].values[1:-1]))[:, None] * np.ones(
        records.sizes["lon"] - 2
    )
    weights /= weights.sum()
    # Files hold f32, which is too coarse for small errors of temperatures.
    for name, level in (("V", 850), ("U", 250), ("precipitation", None)):

        def pick(fields, time):
            field = fields[name].sel(time=time)
            field = field if level is None else field.sel(level=level)
            return field.values[..., 1:-1, 1:-1].astype("f8")

        for lead in (1, 2):
            valid = starts + lead * (times[1] - times[0])
            x = np.array([[pick(d, t) for d, t in zip(m, valid)] for m in made])
            o = np.array([pick(records, t) for t in valid])
            mean = x.mean(0)
            rmse = np.sqrt(((mean - o) ** 2 * weights).sum((1, 2)).mean())
            apart = np.abs(x[:, None] - x[None]).mean((0, 1))
            crps = ((np.abs(x - o).mean(0) - 0.5 * apart) * weights).sum((1, 2)).mean()
            spread = np.sqrt((x.var(0, ddof=1) * weights).sum((1, 2)).mean() * 4 / 3)
            own = next(
                s
                for s in scores.document["scores"]
                if s["method"] == "model"
                and s["variable"] == name
                and s["level_hpa"] == level
                and s["lead_hours"] == 6 * lead
            )
            for key, plain in (("rmse", rmse), ("crps", crps), ("spread", spread)):
                assert own[key] == pytest.approx(plain, rel=1e-4), (name, lead, key)
    both = weather.predict(data, members[:2], initial_time=starts[0])
    pair = np.array([m[0]["U"].isel(time=0).values for m in made[:2]])
    np.testing.assert_allclose(both["U"].isel(time=0), pair.mean(0), rtol=1e-5, atol=1e-5)
    inside = np.isfinite(pair[0])
    spread = both["U_spread"].isel(time=0).values
    np.testing.assert_allclose(spread[inside], pair.std(0, ddof=1)[inside], rtol=1e-3, atol=1e-5)


def test_scores_and_forecasts_come_from_the_gpu_that_is_asked_for(data, trained, tmp_path):
    text = f"""
import json
from fitzroy import weather
found = {{}}
for device in ("cpu", "cuda"):
    scores = weather.evaluate(
        {str(data)!r}, {str(trained.folder)!r}, leads=2, max_starts=3, device=device,
        out={str(tmp_path)!r} + "/" + device, progressbar=False,
    )
    file = {str(tmp_path)!r} + "/" + device + ".nc"
    made = weather.predict(
        {str(data)!r}, {str(trained.folder)!r}, initial_time="2000-01-10", num_steps=2,
        output=file, device=device,
    )
    where = made.attrs["device"] if hasattr(made, "attrs") else None
    rmse = [s["rmse"] for s in scores.document["scores"]]
    values = float(abs(made["TEM"]).sum()) if where else None
    found[device] = scores.document["device"], where, rmse, values
print(json.dumps(found))
"""
    env = {**os.environ, **executed(tmp_path, "capability=9.0,name=NVIDIA Test")}
    done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    (here, where, cpu, one), (there, elsewhere, gpu, other) = found["cpu"], found["cuda"]
    assert here == "cpu" and there == "cuda:0 (NVIDIA Test), f32"
    assert where in ("cpu", None) and elsewhere in (there, None)
    np.testing.assert_allclose(cpu, gpu, rtol=1e-4)
    if one is not None:
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_a_gpu_that_is_not_there_is_said(data, trained, tmp_path):
    if fz.devices().gpus:
        pytest.skip("there is a GPU")
    for call in (
        lambda: weather.evaluate(data, trained, device="cuda", progressbar=False),
        lambda: weather.predict(data, trained, initial_time="2000-01-10", device="cuda"),
    ):
        with pytest.raises(RuntimeError, match="device='cuda': "):
            call()


def test_a_forecast_that_xarray_cannot_read_is_a_file(data, trained, tmp_path, monkeypatch):
    xr = pytest.importorskip("xarray")

    def nothing_reads(*_):
        raise ValueError("did not find a match in any of xarray's currently installed IO backends")

    monkeypatch.setattr(xr, "open_dataset", nothing_reads)
    file = tmp_path / "f.nc"
    made = weather.predict(data, trained, initial_time="2000-01-10", output=file)
    assert made == file and file.exists()
    with pytest.raises(ImportError, match="needs xarray, and netCDF4 or h5netcdf; name a file"):
        weather.predict(data, trained, initial_time="2000-01-10")
