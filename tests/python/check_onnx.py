"""Compares forecasts with those of an exported model that onnxruntime runs, from numbers at random.

    python check_onnx.py make FOLDER                # a.nc: waves and noise; rough.nc: noise alone
    python check_onnx.py check FOLDER NAME STEPS    # NAME.onnx on rough.nc against NAME.nc

Exit codes: 0 all is well, 1 it is not, 3 a package is missing.
"""

import json
import runpy
import sys
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime
    import xarray
except ImportError as error:
    print(f"missing: {error}")
    sys.exit(3)

folder = Path(sys.argv[2])
EXAMPLE = Path(__file__).parents[2] / "python" / "examples" / "weather_onnx.py"
N, ROWS, COLUMNS = 60, 9, 11


def make():
    rng = np.random.default_rng(11)
    time = np.datetime64("2001-06-01T00", "ns") + np.arange(N) * np.timedelta64(6, "h")
    t, p, y, x = np.meshgrid(np.arange(N), [0, 1], np.arange(ROWS), np.arange(COLUMNS), indexing="ij")
    wave = np.sin(0.6 * x - 0.3 * t + 0.2 * y + p)

    def archive(noise, size):
        tem = 260 + 20 * p + 5 * size * wave + noise * rng.normal(size=t.shape)
        sst = (285 + 3 * size * wave + noise * rng.normal(size=t.shape))[:, 0]
        sst[:, :4, 7:] = np.nan
        rain = np.maximum(2 * size * wave + noise * rng.normal(size=t.shape), 0)[:, 0]
        oro = 300 * np.hypot(y, x)[0, 0]
        units = {"units": "K"}
        flat = ("time", "lat", "lon")
        return xarray.Dataset(
            {
                "TEM": (("time", "level", "lat", "lon"), tem, units),
                "sst": (flat, sst, units),
                "precipitation": (flat, rain, {"units": "mm"}),
                "topography": (("lat", "lon"), oro, {"units": "m"}),
            },
            {
                "time": time,
                "level": ("level", [850.0, 500.0], {"units": "hPa"}),
                "lat": ("lat", 40.0 + np.arange(ROWS), {"units": "degrees_north"}),
                "lon": ("lon", np.arange(float(COLUMNS)), {"units": "degrees_east"}),
            },
        )

    archive(0.3, 1).to_netcdf(folder / "a.nc")
    archive(4.0, 0).to_netcdf(folder / "rough.nc")


def check(name, steps):
    example = runpy.run_path(str(EXAMPLE))
    made = xarray.open_dataset(folder / f"{name}.nc")
    records = xarray.open_dataset(folder / "rough.nc")
    file = folder / f"{name}.onnx"
    model = onnx.load(file)
    onnx.checker.check_model(model, full_check=True)
    notes = {note.key: note.value for note in model.metadata_props}
    assert notes["checkpoint_step"] == "8" and json.loads(notes["units"])[0], notes
    # What the network adds is no small thing here: else its weights were not tried.
    model.graph.output.append(onnx.helper.make_tensor_value_info("added", 1, None))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    start = made.attrs["initial_time"]
    inputs = {part.name for part in session.get_inputs()}
    states = example["states"](records, json.loads(notes["channels"]))
    first = example["inputs"](states, notes, np.datetime64(start), inputs)
    added = session.run(["added"], first)[0]
    assert added.std() > 0.2, added.std()
    ours = example["forecast"](str(file), records, start, steps)
    labels = json.loads(notes["forecast_channels"])
    every = json.loads(notes["channels"])
    for label in labels:
        # A model of rain alone gives rain alone.
        k = every.index(label) if ours.shape[-1] > 1 else 0
        variable, _, level = label.removesuffix(" hPa").partition(" ")
        field = made[variable]
        if level:
            field = field.sel(level=float(level))
        theirs = field.values
        assert theirs.shape[0] == steps
        assert (np.isnan(theirs) == np.isnan(ours[..., k])).all(), label
        sd = 5.0
        worst = np.nanmax(np.abs(ours[..., k] - theirs)) / sd
        print(label, worst)
        # Sums of f32 in another order, over as many steps.
        assert worst < 2e-5 * 3 ** (steps - 1), (label, worst)


if sys.argv[1] == "make":
    make()
else:
    check(sys.argv[3], int(sys.argv[4]))
