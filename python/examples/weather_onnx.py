"""A forecast by a model that `fitzroy weather export` wrote, run by onnxruntime.

    fitzroy weather export --data data.nc --checkpoint run --output step.onnx
    python examples/weather_onnx.py step.onnx data.nc 2000-01-10 4

The model knows scales, linear model, network, grid and static fields; it is given two states in the
units of its channels, the state at the forced boundary, and sun and calendar.
"""

from __future__ import annotations

import json
import sys

import numpy as np


def forcings(time, lat, lon):
    """(row, column, 5): sine and cosine of the time of day and of the year, and the sun's height."""
    hour = (time - time.astype("datetime64[D]")) / np.timedelta64(1, "h")
    of_year = (time - time.astype("datetime64[Y]")) / np.timedelta64(1, "D")
    turn, year = 2 * np.pi * hour / 24, 2 * np.pi * of_year / 365.25
    tilt = np.radians(-23.44) * np.cos(2 * np.pi * (of_year + 10) / 365.25)
    angle = turn + np.radians(lon) - np.pi
    sun = np.sin(np.radians(lat)) * np.sin(tilt)
    sun = sun + np.cos(np.radians(lat)) * np.cos(tilt) * np.cos(angle)
    same = [np.full(lat.shape, f(x)) for x in (turn, year) for f in (np.sin, np.cos)]
    return np.stack([*same, np.maximum(sun, 0)], -1)


def places(notes):
    """Latitudes and longitudes of all points."""
    lat, lon = (np.array(json.loads(notes[name])) for name in ("latitude", "longitude"))
    return np.meshgrid(lat, lon, indexing="ij")


def states(data, labels):
    """(time, row, column, channel), with the times, of a data set with the names of the model."""
    columns = []
    for label in labels:
        name, _, level = label.removesuffix(" hPa").partition(" ")
        field = data[name].sel(level=float(level)) if level else data[name]
        columns.append(field.transpose("time", "lat", "lon").values)
    return data["time"].values, np.stack(columns, -1).astype("f4")


def inputs(states, notes, now, names):
    """What the model is given to make the step after `now`."""
    times, values = states
    step = np.timedelta64(int(notes["step_seconds"]), "s")
    around = [now.astype("datetime64[s]") + k * step for k in (-1, 0, 1)]
    place = {time.astype("datetime64[s]"): k for k, time in enumerate(times)}
    given = dict(zip(("before", "now"), (values[place[time]] for time in around[:2])))
    if "boundary" in names:
        given["boundary"] = values[place[around[2]]]
    if "forcings" in names:
        sky = np.stack([forcings(time, *places(notes)) for time in around])
        given["forcings"] = sky.astype("f4")
    return given


def forecast(model, data, initial_time, steps):
    """(step, row, column, channel) of a forecast of some steps, the boundary taken from `data`."""
    import onnxruntime

    session = onnxruntime.InferenceSession(model)
    notes = session.get_modelmeta().custom_metadata_map
    names = {part.name for part in session.get_inputs()}
    records = states(data, json.loads(notes["channels"]))
    step = np.timedelta64(int(notes["step_seconds"]), "s")
    now = np.datetime64(initial_time, "s")
    own, made = {}, []
    for _ in range(steps):
        # From the second step on the states are the model's own.
        given = {**inputs(records, notes, now, names), **own}
        if "forcings" not in names:
            (rain,) = session.run(["forecast"], given)
            return rain[None, ..., None]
        shown, following = session.run(["forecast", "next"], given)
        made.append(shown)
        own = {"before": given["now"], "now": following}
        now = now + step
    return np.stack(made)


def main(model, data, initial_time, steps="1"):
    import xarray as xr

    with xr.open_dataset(data) as records:
        made = forecast(model, records, initial_time, int(steps))
    print(f"{made.shape[0]} steps of {made.shape[1:]}: mean {np.nanmean(made):.6g}")
    return made


if __name__ == "__main__":
    main(*sys.argv[1:])
