"""Makes an archive with land and gaps, and compares scores of it with means of xarray that skip what is missing.

    python check_missing.py make FOLDER     # sst.nc, and garbage.nc with 1e30 in the place of NaN
    python check_missing.py check FOLDER    # scores/scores.json against xarray

Exit codes: 0 all is well, 1 it is not, 3 a package is missing.
"""

import json
import sys
from pathlib import Path

try:
    import netCDF4  # noqa: F401
    import numpy as np
    import xarray
except ImportError as error:
    print(f"missing: {error}")
    sys.exit(3)

folder = Path(sys.argv[2])
N, BOUNDARY, LEADS = 80, 1, 3


def make():
    rng = np.random.default_rng(5)
    time = np.datetime64("2001-06-01T00", "ns") + np.arange(N) * np.timedelta64(6, "h")
    lat, lon = 40.0 + np.arange(9), np.arange(10.0)
    t, y, x = np.meshgrid(np.arange(N), np.arange(9), np.arange(10), indexing="ij")
    wave = np.sin(0.6 * x - 0.3 * t + 0.2 * y)
    sst = 285 + 3 * wave + 0.4 * np.cos(np.pi * t / 2) + 0.2 * rng.normal(size=wave.shape)
    land = (lon > 6.5)[None, :] & (lat < 45)[:, None]
    sst[:, land] = np.nan
    sst[rng.random(sst.shape) < 0.15] = np.nan
    # No satellite passes over at two times that are scored.
    sst[[71, 75]] = np.nan
    t2m = 280 + 8 * np.cos(0.5 * x - 0.25 * t) + rng.normal(size=wave.shape)
    dims = ("time", "lat", "lon")
    data = xarray.Dataset(
        {"sst": (dims, sst, {"units": "K"}), "t2m": (dims, t2m, {"units": "K"})},
        {"time": time, "lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"})},
    )
    kept = {"dtype": "f4"}
    data.to_netcdf(folder / "sst.nc", encoding={"sst": kept, "t2m": kept})
    bare = {"dtype": "f4", "_FillValue": None}
    data.fillna(1e30).to_netcdf(folder / "garbage.nc", encoding={"sst": bare, "t2m": bare})


def carried(field):
    """The last known value before at each place, or the first."""
    values = field.values.copy()
    for place in np.ndindex(values.shape[1:]):
        known = np.flatnonzero(np.isfinite(values[(slice(None), *place)]))
        for k in range(N if known.size else 0):
            before = known[known <= k]
            values[(k, *place)] = values[(before[-1] if before.size else known[0], *place)]
    return field.copy(data=values)


def check():
    scores = json.loads((folder / "scores" / "scores.json").read_text())
    data = xarray.open_dataset(folder / "sst.nc").astype("f8")
    train, first = slice(0, round(0.7 * N)), round(0.85 * N)
    starts = np.arange(first + 1, N - LEADS)
    assert scores["forecasts"] == starts.size, scores["forecasts"]
    inside = dict(lat=slice(BOUNDARY, -BOUNDARY), lon=slice(BOUNDARY, -BOUNDARY))
    compared = 0
    for name in ("sst", "t2m"):
        field = data[name]
        usual = field.isel(time=train).groupby("time.hour").mean()
        assert usual.notnull().sum() == field.notnull().any("time").sum() * 4
        for lead in range(1, LEADS + 1):
            truth = field.isel(time=starts + lead)
            hours = truth.time.dt.hour
            climatology = usual.sel(hour=hours).drop_vars("hour")
            now = carried(field).isel(time=starts).assign_coords(time=truth.time)
            for method, forecast in (("persistence", now), ("climatology", climatology)):
                error = (forecast - truth).isel(**inside)
                weights = np.cos(np.deg2rad(error.lat))
                mean = lambda x: x.weighted(weights).mean(("lat", "lon"))
                known = error.notnull()
                a, b = ((v - climatology).isel(**inside).where(known) for v in (forecast, truth))
                total = lambda v: v.weighted(weights).sum(("lat", "lon"))
                expected = {
                    "rmse": float(np.sqrt(mean(error**2).mean("time"))),
                    "mae": float(mean(abs(error)).mean("time")),
                    "bias": float(mean(error).mean("time")),
                }
                if method == "persistence":
                    times = known.any(("lat", "lon"))
                    acc = (total(a * b) / np.sqrt(total(a * a) * total(b * b))).where(times)
                    expected["acc"] = float(acc.mean("time"))
                (own,) = (
                    s
                    for s in scores["scores"]
                    if (s["method"], s["variable"], s["lead_hours"]) == (method, name, 6 * lead)
                )
                for score, value in expected.items():
                    assert abs(own[score] - value) < 2e-5, (name, lead, method, score, own[score], value)
                    compared += 1
    assert compared == 2 * LEADS * 7, compared
    forecast = xarray.open_dataset(folder / "forecast.nc")
    land = data.sst.isnull().all("time").values
    assert land.any() and (forecast.sst.isnull().values == land).all() and forecast.t2m.notnull().all()


{"make": make, "check": check}[sys.argv[1]]()
