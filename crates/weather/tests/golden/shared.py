"""Random fields, and what is expected of the archives that hold them."""

import json
import warnings

import numpy as np
import pandas as pd
import xarray as xr

warnings.filterwarnings("ignore")
G = 9.80665


def grid(rng, south=40.0, west=0.0, step=0.5, lats=None, lons=None):
    n_lat, n_lon = lats or int(rng.integers(3, 6)), lons or int(rng.integers(4, 7))
    return south + step * np.arange(n_lat), west + step * np.arange(n_lon)


def field(rng, shape, mean, sd):
    return (mean + sd * rng.standard_normal(shape)).astype("f4")


def hours(rng, start, n, step=6):
    return pd.date_range(start, periods=n, freq=f"{step}h")


def expect(folder, files, data, channels, lat, lon, times, variables=()):
    """`channels`: (label, (time, lat, lon) array of f8), whatever the file's order."""
    values = np.stack([np.asarray(c[1], "f8") for c in channels], axis=1)
    flat = [None if np.isnan(x) else float(f"{x:.9g}") for x in values.ravel()]
    out = {
        "files": [str(f) for f in files],
        "variables": list(variables),
        "times": [int(t) for t in times],
        "lat": np.asarray(lat, "f8").ravel().tolist(),
        "lon": np.asarray(lon, "f8").ravel().tolist(),
        "shape": list(values.shape),
        "channels": [c[0] for c in channels],
        "values": flat,
    }
    (folder / "expected.json").write_text(json.dumps(out, separators=(",", ":")))


def seconds(times):
    return np.asarray(pd.DatetimeIndex(np.asarray(times)).round("s").astype("datetime64[s]").astype("i8"))


def usual(folder, files, name_of, convert=None, level=None, sort_lon=None, variables=(), opened=None):
    """What xarray reads from files that are one series of regular grids, brought to our order.

    `name_of`: the names here of the file's, in the order of channels."""
    convert = convert or {}
    if opened is None:
        sets = [xr.open_zarr(folder / f) if ".zarr" in f else xr.open_dataset(folder / f) for f in files]
        opened = xr.merge(sets, compat="no_conflicts", join="outer") if len(sets) > 1 else sets[0]
    data = opened
    rename = {}
    for known, ours in [
        (("valid_time", "Time"), "time"),
        (("latitude",), "lat"),
        (("longitude",), "lon"),
        (("pressure_level", "plev", "isobaricInhPa"), "level"),
    ]:
        for name in known:
            if name in data.dims and ours not in data.dims:
                if ours in data.coords:
                    data = data.drop_vars(ours)
                rename[name] = ours
    data = data.rename(rename).squeeze([d for d in data.dims if d in ("number", "surface", "height")])
    data = data.sortby("lat").sortby("time")
    if sort_lon is not None:
        data = data.assign_coords(lon=(data.lon - sort_lon) % 360 + sort_lon).sortby("lon")
    channels = []
    for theirs, ours in name_of.items():
        scale, offset = convert.get(theirs, (1.0, 0.0))
        array = data[theirs].astype("f8") * scale + offset
        if "level" in array.dims:
            given = opened[level or next(n for n in ("pressure_level", "plev", "isobaricInhPa", "level") if n in opened)]
            pascal = given.attrs.get("units") == "Pa"
            for k, p in enumerate(np.atleast_1d(given.values)):
                p = float(p) * (0.01 if pascal else 1.0)
                one = array.isel(level=k).transpose("time", "lat", "lon")
                channels.append((f"{ours} {p:g} hPa", one.values))
        else:
            channels.append((ours, array.transpose("time", "lat", "lon").values))
    expect(folder, files, data, channels, data.lat, data.lon, seconds(data.time), variables)


def packed(low, high, name="i2"):
    scale = (high - low) / 60000.0
    return {"dtype": name, "scale_factor": scale, "add_offset": (low + high) / 2, "_FillValue": -32767}


def small(rng, n_times=9):
    lat, lon = grid(rng, lats=4, lons=6)
    times = hours(rng, "2018-01-01", n_times)
    shape = (n_times, len(lat), len(lon))
    return xr.Dataset(
        {
            "t2m": (("time", "lat", "lon"), field(rng, shape, 280, 9), {"units": "K"}),
            "tcwv": (("time", "lat", "lon"), np.abs(field(rng, shape, 20, 9)), {"units": "kg m**-2"}),
        },
        {"time": times, "lat": lat, "lon": lon},
    )


SMALL = {"t2m": "t2m", "tcwv": "tcwv"}


def projected(rng):
    n_y, n_x = 5, 6
    y, x = np.meshgrid(np.arange(n_y), np.arange(n_x), indexing="ij")
    lat = 50 + 0.4 * y + 0.05 * x - 0.002 * x**2
    lon = 5 + 0.6 * x - 0.07 * y
    return lat, lon


def more(folder, **facts):
    """Further facts about an archive: how it is to be read."""
    expected = json.loads((folder / "expected.json").read_text())
    (folder / "expected.json").write_text(json.dumps(expected | facts, separators=(",", ":")))


def refuse(folder, files, words):
    """The archive cannot be read, and the message holds these words."""
    (folder / "expected.json").write_text(json.dumps({"files": files, "refused": words}))
