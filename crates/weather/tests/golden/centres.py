"""Archives laid out as weather centres and models lay them out, and what xarray reads or which cure a refusal names.

Made by `archives.py`, which has the helpers. A kind that cannot be read calls `refuse` with words that the
message must hold.
"""

import gzip
import json
import shutil
import zipfile

import netCDF4
import numpy as np
import pandas as pd
import xarray as xr

from shared import G, SMALL, expect, field, grid, hours, more, packed, projected, refuse, seconds, small, usual

XYT = ("time", "lat", "lon")


def rain(rng, shape, top=5.0):
    return np.abs(field(rng, shape, 0, top))


def holes(rng, values, places=2, share=0.0):
    """Some places without any value, and a share of others missing now and then."""
    out = values.copy()
    for k in range(places):
        out[..., k // out.shape[-1], k % out.shape[-1]] = np.nan
    out[rng.random(out.shape) < share] = np.nan
    return out


def cds_pair(folder, rng, read=True):
    """What a download of states and accumulations unpacks to."""
    lat, lon = grid(rng)
    times = hours(rng, "2025-02-01", 6, 1)
    shape = (6, len(lat), len(lon))
    for kind, name, values, units in [
        ("instant", "t2m", field(rng, shape, 280, 9), "K"),
        ("accum", "tp", rain(rng, shape, 1e-3), "m"),
    ]:
        xr.Dataset(
            {name: (("valid_time", "latitude", "longitude"), values, {"units": units, "GRIB_stepType": kind, "coordinates": "number valid_time latitude longitude expver"})},
            {
                "valid_time": times,
                "latitude": ("latitude", lat[::-1], {"units": "degrees_north"}),
                "longitude": ("longitude", lon, {"units": "degrees_east"}),
                "number": ((), np.int64(0), {"units": "1", "standard_name": "realization"}),
                "expver": ("valid_time", np.array(["0001"] * 6)),
            },
        ).drop_attrs(deep=False).to_netcdf(
            folder / f"data_stream-oper_stepType-{kind}.nc",
            encoding={"valid_time": {"units": "seconds since 1970-01-01", "dtype": "i8"}, name: {"zlib": True}},
        )
    files = ["data_stream-oper_stepType-instant.nc", "data_stream-oper_stepType-accum.nc"]
    if read:
        usual(folder, files, {"t2m": "t2m", "tp": "precipitation"}, {"tp": (1000, 0)})


def cds_zip(folder, rng):
    """The same, not unpacked."""
    cds_pair(folder, rng, False)
    with zipfile.ZipFile(folder / "download.zip", "w", zipfile.ZIP_DEFLATED) as out:
        for file in sorted(folder.glob("*.nc")):
            out.write(file, file.name)
    refuse(folder, ["download.zip"], ["data_stream-oper_stepType-accum.nc", "unpack it"])


def wrf_raw(folder, rng):
    """wrfout: times as characters alone, staggered grids, terrain for each time."""
    lat, lon = projected(rng)
    n, (ny, nx) = 5, lat.shape
    times = hours(rng, "2020-01-30", n)
    with netCDF4.Dataset(folder / "wrfout_d01", "w") as out:
        for name, size in [("Time", None), ("DateStrLen", 19), ("south_north", ny), ("west_east", nx), ("west_east_stag", nx + 1), ("south_north_stag", ny + 1), ("bottom_top", 3)]:
            out.createDimension(name, size)
        out.createVariable("Times", "S1", ("Time", "DateStrLen"))[:] = netCDF4.stringtochar(np.array([f"{t:%Y-%m-%d_%H:%M:%S}" for t in times], "S19"))

        def put(name, dims, values, units, where="XLONG XLAT XTIME"):
            one = out.createVariable(name, "f4", ("Time", *dims))
            one.units, one.coordinates, one.FieldType, one.MemoryOrder, one.stagger = units, where, np.int32(104), "XY ", ""
            one[:] = values

        xy = ("south_north", "west_east")
        wide = np.pad(lat, ((0, 0), (0, 1)), mode="edge"), np.pad(lon, ((0, 0), (0, 1)), mode="edge") + 0.3
        for name, dims, values, units in [
            ("XLAT_U", ("south_north", "west_east_stag"), wide[0], "degree_north"),
            ("XLONG_U", ("south_north", "west_east_stag"), wide[1], "degree_east"),
            ("XLAT", xy, lat, "degree_north"),
            ("XLONG", xy, lon, "degree_east"),
        ]:
            one = out.createVariable(name, "f4", ("Time", *dims))
            one.units = units
            one[:] = np.repeat(values[None], n, 0)
        put("T2", xy, field(rng, (n, ny, nx), 280, 9), "K")
        put("PSFC", xy, field(rng, (n, ny, nx), 95000, 900), "Pa")
        put("HGT", xy, np.repeat(field(rng, (1, ny, nx), 300, 90), n, 0), "m")
        put("U", ("bottom_top", "south_north", "west_east_stag"), field(rng, (n, 3, ny, nx + 1), 3, 5), "m s-1", "XLONG_U XLAT_U XTIME")
    read = xr.open_dataset(folder / "wrfout_d01")
    when = pd.to_datetime([t.decode().replace("_", "T") for t in read.Times.values])
    channels = [("t2m", read.T2.values), ("sp", read.PSFC.values)]
    expect(folder, ["wrfout_d01"], read, channels, read.XLAT[0], read.XLONG[0], seconds(when), ["T2", "PSFC"])


def lambert(folder, rng):
    """A projected grid of a national service: metres, their mapping, latitudes and longitudes of each point."""
    lat, lon = projected(rng)
    times = hours(rng, "2023-01-01", 6, 1)
    shape = (6, 1, *lat.shape)
    mapping = {"grid_mapping_name": "lambert_conformal_conic", "standard_parallel": [63.3, 63.3], "longitude_of_central_meridian": 15.0, "earth_radius": 6371000.0}
    xr.Dataset(
        {
            "air_temperature_2m": (("time", "height1", "y", "x"), field(rng, shape, 280, 9), {"units": "K", "grid_mapping": "projection_lambert"}),
            "projection_lambert": ((), np.int32(0), mapping),
        },
        {
            "time": times,
            "forecast_reference_time": ((), np.datetime64("2023-01-01", "ns"), {"standard_name": "forecast_reference_time"}),
            "height1": ("height1", [2.0], {"units": "m", "standard_name": "height"}),
            "x": ("x", np.arange(6) * 2500.0, {"units": "m", "standard_name": "projection_x_coordinate"}),
            "y": ("y", np.arange(5) * 2500.0, {"units": "m", "standard_name": "projection_y_coordinate"}),
            "latitude": (("y", "x"), lat, {"units": "degree_north", "standard_name": "latitude"}),
            "longitude": (("y", "x"), lon, {"units": "degree_east", "standard_name": "longitude"}),
        },
    ).to_netcdf(folder / "a.nc", engine="netcdf4", encoding={"time": {"units": "seconds since 1970-01-01 00:00:00 +00:00", "dtype": "f8"}})
    read = xr.open_dataset(folder / "a.nc")
    channels = [("t2m", read.air_temperature_2m.values[:, 0])]
    expect(folder, ["a.nc"], read, channels, read.latitude, read.longitude, seconds(read.time))


def lambert_bare(folder, rng):
    """Metres and their mapping alone, as in HRRR's Zarr store."""
    shape = (6, 5, 6)
    xr.Dataset(
        {"TMP": (("time", "projection_y_coordinate", "projection_x_coordinate"), field(rng, shape, 280, 9), {"units": "K"})},
        {
            "time": hours(rng, "2023-01-01", 6, 1),
            "projection_x_coordinate": ("projection_x_coordinate", np.arange(6) * 3000.0, {"units": "m", "standard_name": "projection_x_coordinate"}),
            "projection_y_coordinate": ("projection_y_coordinate", np.arange(5) * 3000.0, {"units": "m", "standard_name": "projection_y_coordinate"}),
        },
    ).to_zarr(folder / "a.zarr", zarr_format=2)
    refuse(folder, ["a.zarr"], ["latitude", "projected", "pyproj"])


def cmip6(folder, rng):
    """Bounds of all axes, a scalar height, air below the ground missing, days of a year of 365."""
    lat, lon = np.array([-1.25, 0.0, 1.25, 2.5]), np.arange(5) * 1.875
    n = 12
    times = xr.date_range("2015-02-25 12:00", periods=n, freq="D", calendar="noleap", use_cftime=True)
    edges = lambda x: np.stack([x - 0.5, x + 0.5], -1)
    kept = {"_FillValue": np.float32(1e20), "missing_value": np.float32(1e20)}
    for name, values, dims, units in [
        ("tas", field(rng, (n, 4, 5), 280, 9), XYT, "K"),
        ("ta", holes(rng, field(rng, (n, 2, 4, 5), 260, 9), 3, 0.1), ("time", "plev", "lat", "lon"), "K"),
    ]:
        data = xr.Dataset(
            {
                name: (dims, values, {"units": units, "cell_methods": "area: time: mean", "standard_name": "air_temperature"}),
                "time_bnds": (("time", "bnds"), np.stack([np.arange(n) * 1.0, np.arange(n) + 1.0], -1)),
                "lat_bnds": (("lat", "bnds"), edges(lat)),
                "lon_bnds": (("lon", "bnds"), edges(lon)),
            },
            {
                "time": ("time", times, {"bounds": "time_bnds", "axis": "T", "standard_name": "time"}),
                "lat": ("lat", lat, {"bounds": "lat_bnds", "units": "degrees_north", "axis": "Y", "standard_name": "latitude"}),
                "lon": ("lon", lon, {"bounds": "lon_bnds", "units": "degrees_east", "axis": "X", "standard_name": "longitude"}),
            },
        )
        if name == "tas":
            data = data.assign_coords(height=((), 2.0, {"units": "m", "axis": "Z", "positive": "up", "standard_name": "height"}))
        else:
            data = data.assign_coords(plev=("plev", [85000.0, 50000.0], {"units": "Pa", "axis": "Z", "positive": "down", "standard_name": "air_pressure"}))
        data.to_netcdf(folder / f"{name}_day.nc", encoding={name: kept, "time": {"units": "days since 2015-01-01", "dtype": "f8"}}, unlimited_dims=["time"])
    coder = xr.coders.CFDatetimeCoder(use_cftime=True)
    read = [xr.open_dataset(folder / f"{k}_day.nc", decode_times=coder) for k in ("tas", "ta")]
    read = xr.merge([d[[k]] for d, k in zip(read, ("tas", "ta"))], compat="override").convert_calendar("standard", use_cftime=False)
    usual(folder, ["tas_day.nc", "ta_day.nc"], {"ta": "TEM", "tas": "t2m"}, opened=read, level="plev", variables=["TEM", "t2m"])
    more(folder, missing="fill")


def cmip6_ocean(folder, rng):
    """A curvilinear ocean grid with corners of cells, land missing at all times."""
    lat, lon = projected(rng)
    shape = (6, *lat.shape)
    corners = lambda x: np.stack([x - 0.1, x + 0.1, x + 0.1, x - 0.1], -1)
    xr.Dataset(
        {
            "tos": (("time", "j", "i"), holes(rng, field(rng, shape, 15, 4), 4), {"units": "degC", "standard_name": "sea_surface_temperature", "coordinates": "latitude longitude"}),
            "vertices_latitude": (("j", "i", "vertices"), corners(lat)),
            "vertices_longitude": (("j", "i", "vertices"), corners(lon)),
        },
        {
            "time": hours(rng, "2015-01-01T12", 6, 24),
            "j": ("j", np.arange(5), {"units": "1", "long_name": "cell index along second dimension"}),
            "i": ("i", np.arange(6), {"units": "1"}),
            "latitude": (("j", "i"), lat, {"units": "degrees_north", "bounds": "vertices_latitude"}),
            "longitude": (("j", "i"), lon, {"units": "degrees_east", "bounds": "vertices_longitude"}),
        },
    ).to_netcdf(folder / "a.nc", encoding={"tos": {"_FillValue": np.float32(1e20)}, "time": {"units": "days since 1850-01-01"}})
    read = xr.open_dataset(folder / "a.nc")
    expect(folder, ["a.nc"], read, [("sst", read.tos.values + 273.15)], read.latitude, read.longitude, seconds(read.time))
    more(folder, missing="fill")


def merra2(folder, rng):
    """Pressure levels of MERRA-2: minutes, 1e15 for what lies below the ground, names in capitals."""
    lat, lon = grid(rng, south=30.0, west=-100.0, step=0.5)
    shape = (8, 3, len(lat), len(lon))
    dims = ("time", "lev", "lat", "lon")
    kept = {"_FillValue": np.float32(1e15), "missing_value": np.float32(1e15)}
    levels = {
        "T": (holes(rng, field(rng, shape, 260, 9), 3), "K", "air_temperature"),
        "H": (holes(rng, field(rng, shape, 3000, 90), 3), "m", "edge_heights"),
        "U": (holes(rng, field(rng, shape, 3, 9), 3), "m s-1", "eastward_wind"),
        "QV": (holes(rng, rain(rng, shape, 0.01), 3), "kg kg-1", "specific_humidity"),
        "OMEGA": (holes(rng, field(rng, shape, 0, 0.1), 3), "Pa s-1", "vertical_pressure_velocity"),
    }
    flat = {"SLP": (field(rng, (8, *shape[2:]), 101000, 900), "Pa", "sea_level_pressure"), "PS": (field(rng, (8, *shape[2:]), 99000, 900), "Pa", "surface_pressure")}
    xr.Dataset(
        {n: (dims, v, {"units": u, "long_name": l, "standard_name": l, "vmax": np.float32(1e15)}) for n, (v, u, l) in levels.items()}
        | {n: (XYT, v, {"units": u, "long_name": l, "standard_name": l}) for n, (v, u, l) in flat.items()},
        {
            "time": ("time", hours(rng, "2018-07-01T00:00", 8, 3)),
            "lev": ("lev", [850.0, 700.0, 500.0], {"units": "hPa", "positive": "down", "long_name": "vertical level", "coordinate": "PLE"}),
            "lat": ("lat", lat, {"units": "degrees_north"}),
            "lon": ("lon", lon, {"units": "degrees_east"}),
        },
    ).to_netcdf(folder / "a.nc4", encoding={n: kept for n in [*levels, *flat]} | {"time": {"units": "minutes since 2018-07-01 00:00:00", "dtype": "i4"}})
    names = {"T": "TEM", "H": "GPH", "U": "U", "QV": "q", "OMEGA": "w", "SLP": "msl", "PS": "sp"}
    read = xr.open_dataset(folder / "a.nc4").rename(lev="level")
    usual(folder, ["a.nc4"], names, opened=read, level="level", variables=list(names.values()))
    more(folder, missing="fill")


def model_levels(folder, rng):
    """Levels that are counted, sigma, or metres of depth: no pressures."""
    lat, lon = grid(rng)
    attributes, places, words = [
        ({"units": "layer", "positive": "down", "standard_name": "model_layers"}, [70.0, 71.0, 72.0], "layer"),
        ({"units": "1", "standard_name": "atmosphere_hybrid_sigma_pressure_coordinate", "formula": "p = a*p0 + b*ps"}, [0.99, 0.95, 0.9], "atmosphere_hybrid_sigma_pressure_coordinate"),
        ({"units": "m", "standard_name": "depth", "positive": "down"}, [5.0, 15.0, 25.0], "m"),
        ({"long_name": "hybrid level at layer midpoints"}, [135.0, 136.0, 137.0], "hybrid"),
    ][rng.integers(4)]
    xr.Dataset(
        {"T": (("time", "lev", "lat", "lon"), field(rng, (6, 3, len(lat), len(lon)), 260, 9), {"units": "K"})},
        {"time": hours(rng, "2018-07-01", 6), "lev": ("lev", places, attributes), "lat": lat, "lon": lon},
    ).to_netcdf(folder / "a.nc4")
    refuse(folder, ["a.nc4"], [words, "no pressure", "isel"])


def cams_forecast(folder, rng):
    """A day of forecasts, or one step of each day: times of two dims."""
    lat, lon = grid(rng)
    n_starts, n_steps = [(1, 6), (6, 1), (3, 4)][rng.integers(3)]
    starts = hours(rng, "2024-05-01", n_starts, 24)
    steps = pd.to_timedelta(3 * np.arange(n_steps), unit="h")
    shape = (n_steps, n_starts, len(lat), len(lon))
    data = xr.Dataset(
        {"pm2p5": (("forecast_period", "forecast_reference_time", "latitude", "longitude"), rain(rng, shape, 1e-8), {"units": "kg m**-3"})},
        {
            "forecast_period": ("forecast_period", steps, {"standard_name": "forecast_period"}),
            "forecast_reference_time": ("forecast_reference_time", starts, {"standard_name": "forecast_reference_time"}),
            "latitude": ("latitude", lat[::-1], {"units": "degrees_north"}),
            "longitude": ("longitude", lon, {"units": "degrees_east"}),
            "valid_time": (("forecast_reference_time", "forecast_period"), starts.values[:, None] + steps.values[None], {"standard_name": "time"}),
        },
    )
    data.to_netcdf(
        folder / "a.nc",
        encoding={"forecast_period": {"units": "hours", "dtype": "i8"}, "forecast_reference_time": {"units": "seconds since 1970-01-01"}, "valid_time": {"units": "seconds since 1970-01-01"}},
    )
    if n_starts > 1 and n_steps > 1:
        return refuse(folder, ["a.nc"], ["forecast_period", "isel"])
    read = xr.open_dataset(folder / "a.nc", decode_timedelta=True)
    when = read.valid_time.values.ravel()
    values = read.pm2p5.transpose("forecast_reference_time", "forecast_period", "latitude", "longitude").values
    values = values.reshape(len(when), *values.shape[2:])[:, ::-1]
    expect(folder, ["a.nc"], read, [("pm2p5", values)], read.latitude[::-1], read.longitude, seconds(when))


def hours_alone(folder, rng):
    """CAMS over Europe: hours, and the date in a sentence."""
    lat, lon = grid(rng)
    data = small(rng, 6).assign_coords(time=("time", np.arange(6.0), {"units": "hours", "long_name": "FORECAST time from 20200101"}))
    data.to_netcdf(folder / "a.nc")
    refuse(folder, ["a.nc"], ["hours", "since", "time"])


def absolute_times(folder, rng):
    """Dates as numbers, months, or other texts than dates."""
    data = small(rng, 6)
    kind = rng.integers(4)
    days = np.array([20200101.0 + k for k in range(6)])
    if kind == 0:
        data = data.assign_coords(time=("time", days, {"units": "day as %Y%m%d.%f"}))
        words = ["%Y%m%d", "cdo -r"]
    elif kind == 1:
        data = data.assign_coords(time=("time", np.arange(6), {"units": "months since 2000-01-01"}))
        words = ["months", "days"]
    elif kind == 2:
        data = data.assign_coords(time=("time", days.astype("i4")))
        words = ["20200101", "since"]
    else:
        data = data.assign_coords(time=("time", [f"day {k}" for k in range(6)]))
        words = ["text", "since"]
    data.to_netcdf(folder / "a.nc")
    refuse(folder, ["a.nc"], words)


def eobs(folder, rng):
    """Days of station data on a grid: packed, sea missing."""
    lat, lon = grid(rng, south=25.05, west=-40.45, step=0.1)
    shape = (9, len(lat), len(lon))
    xr.Dataset(
        {"tg": (("time", "latitude", "longitude"), holes(rng, field(rng, shape, 10, 5), 3, 0.02), {"units": "Celsius", "standard_name": "air_temperature", "long_name": "mean temperature"})},
        {"time": hours(rng, "1999-12-28", 9, 24), "latitude": ("latitude", lat, {"units": "degrees_north", "axis": "Y"}), "longitude": ("longitude", lon, {"units": "degrees_east", "axis": "X"})},
    ).to_netcdf(
        folder / "tg.nc",
        encoding={"tg": {"dtype": "i2", "scale_factor": np.float32(0.01), "add_offset": np.float32(0.0), "_FillValue": np.int16(-9999), "missing_value": np.int16(-9999)}, "time": {"units": "days since 1950-01-01 00:00"}},
    )
    read = xr.open_dataset(folder / "tg.nc")
    usual(folder, ["tg.nc"], {"tg": "tg"}, opened=read)
    more(folder, missing="fill")


def cordex(folder, rng):
    """A rotated pole: rlat, rlon, latitudes and longitudes of each point, bounds, a mapping of characters."""
    lat, lon = projected(rng)
    data = xr.Dataset(
        {
            "tas": (("time", "rlat", "rlon"), field(rng, (6, *lat.shape), 280, 9), {"units": "K", "standard_name": "air_temperature", "grid_mapping": "rotated_pole", "coordinates": "height lat lon"}),
            "time_bnds": (("time", "bnds"), np.stack([np.arange(6.0), np.arange(6.0) + 1], -1)),
            "rotated_pole": ((), np.array(b"", "S1"), {"grid_mapping_name": "rotated_latitude_longitude", "grid_north_pole_latitude": 39.25, "grid_north_pole_longitude": -162.0}),
        },
        {
            "time": ("time", hours(rng, "2006-01-01T12", 6, 24), {"bounds": "time_bnds", "axis": "T"}),
            "rlat": ("rlat", np.arange(5) * 0.44, {"units": "degrees", "standard_name": "grid_latitude", "axis": "Y"}),
            "rlon": ("rlon", np.arange(6) * 0.44, {"units": "degrees", "standard_name": "grid_longitude", "axis": "X"}),
            "lat": (("rlat", "rlon"), lat, {"units": "degrees_north", "standard_name": "latitude"}),
            "lon": (("rlat", "rlon"), lon, {"units": "degrees_east", "standard_name": "longitude"}),
            "height": ((), 2.0, {"units": "m", "standard_name": "height"}),
        },
    )
    data["tas"].attrs.pop("coordinates")
    data.to_netcdf(folder / "a.nc", format="NETCDF4_CLASSIC", unlimited_dims=["time"], encoding={"time": {"units": "days since 1949-12-01T00:00:00Z", "dtype": "f8"}})
    read = xr.open_dataset(folder / "a.nc")
    expect(folder, ["a.nc"], read, [("t2m", read.tas.values)], read.lat, read.lon, seconds(read.time))


def oisst(folder, rng):
    """Sea surface temperature: depth of one place, packed, land missing, ice missing where there is none."""
    lat, lon = grid(rng, south=-10.125, west=200.125, step=0.25)
    shape = (8, 1, len(lat), len(lon))
    dims = ("time", "zlev", "lat", "lon")
    xr.Dataset(
        {"sst": (dims, holes(rng, field(rng, shape, 20, 3), 3), {"units": "Celsius", "long_name": "Daily sea surface temperature"}), "anom": (dims, holes(rng, field(rng, shape, 0, 1), 3), {"units": "Celsius"})},
        {"time": hours(rng, "1981-09-01T12", 8, 24), "zlev": ("zlev", [0.0], {"units": "meters", "positive": "down"}), "lat": ("lat", lat.astype("f4"), {"units": "degrees_north"}), "lon": ("lon", lon.astype("f4"), {"units": "degrees_east"})},
    ).to_netcdf(
        folder / "a.nc",
        encoding={n: {"dtype": "i2", "scale_factor": np.float32(0.01), "add_offset": np.float32(0), "_FillValue": np.int16(-999)} for n in ("sst", "anom")} | {"time": {"units": "days since 1978-01-01 12:00:00", "dtype": "f4"}},
    )
    read = xr.open_dataset(folder / "a.nc").squeeze("zlev")
    usual(folder, ["a.nc"], {"sst": "sst", "anom": "anom"}, {"sst": (1, 273.15)}, opened=read)
    more(folder, missing="fill")


def imerg(folder, rng):
    """Rain from satellites: HDF5 with all in a group, longitudes before latitudes, dims named by an attribute."""
    import h5py

    lat, lon = grid(rng, south=10.05, west=60.05, step=0.1)
    step = int(rng.integers(1, 4))
    times = hours(rng, "2021-06-01", 6, step)
    values = rain(rng, (6, len(lon), len(lat)))
    with h5py.File(folder / "a.HDF5", "w") as out:
        group = out.create_group("Grid")
        for name, data, units in [("time", seconds(times).astype("i4"), "seconds since 1970-01-01 00:00:00 UTC"), ("lon", lon.astype("f4"), "degrees_east"), ("lat", lat.astype("f4"), "degrees_north")]:
            group[name] = data
            group[name].attrs["units"] = np.bytes_(units)
            group[name].make_scale(name)
        one = group.create_dataset("precipitation", data=values, chunks=(1, len(lon), len(lat)), compression="gzip", fillvalue=-9999.9)
        for k, name in enumerate(("time", "lon", "lat")):
            one.dims[k].attach_scale(group[name])
        one.attrs["units"], one.attrs["_FillValue"] = np.bytes_("mm/hr"), np.float32(-9999.9)
        group.create_group("Intermediate")["irKalmanFilterWeight"] = np.zeros((6, len(lon), len(lat)), "i2")
    read = xr.open_dataset(folder / "a.HDF5", group="Grid", engine="h5netcdf")
    usual(folder, ["a.HDF5"], {"precipitation": "precipitation"}, {"precipitation": (step, 0)}, opened=read)


def iris(folder, rng):
    """The Unified Model by iris: STASH names, three kinds of time, winds on points of their own."""
    lat, lon = grid(rng)
    n = 6
    times = hours(rng, "2012-01-01", n)
    wide = (n, 2, len(lat), len(lon))
    dims = ("time", "pressure", "latitude", "longitude")
    xr.Dataset(
        {
            "air_temperature": (dims, field(rng, wide, 260, 9), {"units": "K", "standard_name": "air_temperature", "um_stash_source": "m01s16i203", "grid_mapping": "latitude_longitude"}),
            "x_wind": (("time", "pressure", "latitude_0", "longitude"), field(rng, (n, 2, len(lat) + 1, len(lon)), 3, 5), {"units": "m s-1", "standard_name": "x_wind"}),
            "latitude_longitude": ((), np.int32(0), {"grid_mapping_name": "latitude_longitude", "earth_radius": 6371229.0}),
            "latitude_bnds": (("latitude", "bnds"), np.stack([lat - 0.25, lat + 0.25], -1)),
        },
        {
            "time": ("time", times, {"standard_name": "time", "axis": "T"}),
            "forecast_period": ("time", 6.0 * np.arange(n), {"units": "hours", "standard_name": "forecast_period"}),
            "forecast_reference_time": ((), times[0].to_datetime64(), {"standard_name": "forecast_reference_time"}),
            "pressure": ("pressure", [850.0, 500.0], {"units": "hPa", "long_name": "pressure"}),
            "latitude": ("latitude", lat, {"units": "degrees_north", "standard_name": "latitude", "bounds": "latitude_bnds"}),
            "latitude_0": ("latitude_0", np.append(lat, lat[-1] + 0.5) - 0.25, {"units": "degrees_north", "standard_name": "latitude"}),
            "longitude": ("longitude", lon, {"units": "degrees_east", "standard_name": "longitude"}),
            "realization": ((), np.int32(0), {"units": "1", "standard_name": "realization"}),
        },
    ).to_netcdf(folder / "a.nc", encoding={"time": {"units": "hours since 1970-01-01 00:00:00", "calendar": "gregorian"}, "forecast_reference_time": {"units": "hours since 1970-01-01 00:00:00"}})
    read = xr.open_dataset(folder / "a.nc")
    usual(folder, ["a.nc"], {"air_temperature": "TEM"}, opened=read.rename(pressure="level"), level="level")


def unsigned(folder, rng):
    """Bytes and shorts that an attribute says have no sign; packed places."""
    data = small(rng, 6)
    with netCDF4.Dataset(folder / "a.nc", "w", format=["NETCDF3_CLASSIC", "NETCDF4"][rng.integers(2)]) as out:
        for name, size in data.sizes.items():
            out.createDimension(name, size)
        time = out.createVariable("time", "i4", ("time",))
        time.units = "hours since 2000-01-01"
        time[:] = (seconds(data.time) - 946684800) // 3600
        for name in ("lat", "lon"):
            one = out.createVariable(name, "i2", (name,))
            one.set_auto_maskandscale(False)
            one.scale_factor, one.add_offset = 0.01, 3.0
            one[:] = np.round((data[name].values - 3.0) / 0.01).astype("i2")
        for name, code, scale, offset in [("t2m", "i2", 0.002, 220.0), ("tcwv", "i1", 0.25, 0.0)]:
            one = out.createVariable(name, code, XYT)
            one.set_auto_maskandscale(False)
            one.setncattr("_Unsigned", "true")
            one.scale_factor, one.add_offset, one.units = scale, offset, {"t2m": "K", "tcwv": "kg m-2"}[name]
            wide = {"i2": "u2", "i1": "u1"}[code]
            one[:] = np.clip(np.round((data[name].values - offset) / scale), 0, np.iinfo(wide).max).astype(wide).view(code)
    usual(folder, ["a.nc"], SMALL)


def big_endian(folder, rng):
    data = small(rng, 6)
    data.to_netcdf(folder / "a.nc", encoding={"t2m": {"dtype": ">f4", "endian": "big"}, "tcwv": {"dtype": ">i2", "scale_factor": 0.01, "_FillValue": -1}, "lat": {"dtype": ">f8"}, "time": {"dtype": ">i4"}}, engine="h5netcdf")
    usual(folder, ["a.nc"], SMALL)


def big_endian_zarr(folder, rng):
    """Big-endian and half-width numbers, texts, truths and dates beside them."""
    data = small(rng, 9)
    data["expver"] = ("time", np.array(["0001"] * 9, dtype=object))
    data["good"] = ("time", np.ones(9, bool))
    data["when"] = ("time", data.time.values.astype("M8[ns]"))
    version = 2 + int(rng.integers(2))
    encoding = {"t2m": {"dtype": ">f4", "chunks": (4, 3, 2)}, "tcwv": {"dtype": "f2", "chunks": (9, 4, 6)}}
    data.to_zarr(folder / "a.zarr", zarr_format=version, encoding=encoding, consolidated=bool(rng.integers(2)))
    usual(folder, ["a.zarr"], SMALL)


def sparse_zarr(folder, rng):
    """Chunks that were never written are fill values; metadata are in one file alone."""
    data = small(rng, 8)
    data["t2m"][:4] = np.nan
    data.to_zarr(folder / "a.zarr", zarr_format=2, consolidated=True, encoding={n: {"chunks": (4, 4, 6)} for n in ("t2m", "tcwv")}, write_empty_chunks=False)
    for file in (folder / "a.zarr").rglob(".z*"):
        if file.name in (".zarray", ".zattrs"):
            file.unlink()
    usual(folder, ["a.zarr"], SMALL)
    more(folder, missing="fill")


def zarr_groups(folder, rng):
    """All in a group of the store."""
    small(rng, 8).to_zarr(folder / "a.zarr", group="surface", zarr_format=2 + int(rng.integers(2)))
    usual(folder, ["a.zarr"], SMALL, opened=xr.open_zarr(folder / "a.zarr", group="surface"))


def codecs_v3(folder, rng):
    import zarr

    try:
        from zarr.codecs import numcodecs as n3
    except ImportError:
        import numcodecs.zarr3 as n3

    kind = rng.integers(3)
    packer = [zarr.codecs.GzipCodec(level=3), zarr.codecs.ZstdCodec(checksum=True), zarr.codecs.BloscCodec(cname="lz4hc", shuffle="bitshuffle")][kind]
    encoding = {"t2m": {"compressors": [packer, zarr.codecs.Crc32cCodec()]}, "tcwv": {"compressors": [n3.Shuffle(elementsize=4), n3.Zlib(level=3)]}}
    if kind == 0:
        encoding["tcwv"] = {"compressors": [packer]}
    small(rng, 9).to_zarr(folder / "a.zarr", zarr_format=3, encoding=encoding)
    usual(folder, ["a.zarr"], SMALL)


def compressed_hdf5(folder, rng):
    """Filters of netCDF-C and h5py beyond zlib, those that the libraries here can write."""
    kinds = ["zstd", "bzip2", "blosc_lz4", "blosc_zstd", "blosc_lz", "lzf", "fletcher32", "szip"]
    kind = kinds[rng.integers(len(kinds))]
    data = small(rng, 9)
    try:
        if kind == "lzf":
            data.to_netcdf(folder / "a.nc", engine="h5netcdf", encoding={"t2m": {"compression": "lzf", "shuffle": True}})
        elif kind == "fletcher32":
            data.to_netcdf(folder / "a.nc", encoding={"t2m": {"fletcher32": True, "zlib": True, "shuffle": True}})
        else:
            data.to_netcdf(folder / "a.nc", encoding={"t2m": {"compression": kind}})
    except RuntimeError:
        data.to_netcdf(folder / "a.nc", encoding={"t2m": {"zlib": True, "complevel": 9}})
    usual(folder, ["a.nc"], SMALL, opened=data)


def latest_hdf5(folder, rng):
    """The newest format of HDF5: other indices of chunks, attributes of one-element lists, a dim without places."""
    import h5py

    data = small(rng, 40)
    with h5py.File(folder / "a.h5", "w", libver="latest") as out:
        for name in ("lat", "lon"):
            out[name] = data[name].values
            out[name].make_scale(name)
            out[name].attrs["units"] = np.array(["degrees_north" if name == "lat" else "degrees_east"], dtype=object)
        out.create_dataset("time", data=seconds(data.time), maxshape=(None,), chunks=(8,))
        out["time"].make_scale("time")
        out["time"].attrs["units"] = "seconds since 1970-01-01"
        for name, most in [("t2m", (None, 4, 6)), ("tcwv", (40, 4, 6))]:
            one = out.create_dataset(name, data=data[name].values, maxshape=most, chunks=(7, 4, 6), compression="gzip", shuffle=True)
            one.attrs["units"] = np.array([data[name].attrs["units"]], dtype="S9")
            one.attrs["scale_factor"] = np.array([0.5])
            for k, dim in enumerate(XYT):
                one.dims[k].attach_scale(out[dim])
    usual(folder, ["a.h5"], SMALL, opened=xr.open_dataset(folder / "a.h5", engine="h5netcdf"))


def unsorted(folder, rng):
    """Times in no order, or twice."""
    data = small(rng, 9)
    if rng.integers(2):
        order = rng.permutation(9)
        order = order if (order != np.arange(9)).any() else order[::-1]
        data.isel(time=order).to_netcdf(folder / "a.nc")
        return refuse(folder, ["a.nc"], ["goes back", "sortby"])
    data.isel(time=[0, 1, 2, 2, 3, 4, 5]).to_netcdf(folder / "a.nc")
    refuse(folder, ["a.nc"], ["repeats", "drop_duplicates"])


def members(folder, rng):
    """An ensemble of several members."""
    data = small(rng, 6).expand_dims(**{["number", "realization", "member"][rng.integers(3)]: [0, 1, 2]})
    data.to_netcdf(folder / "a.nc")
    refuse(folder, ["a.nc"], ["isel", data["t2m"].dims[0]])


def cells(folder, rng):
    """Points without rows and columns: ICON, reduced Gaussian grids, stations."""
    n = 30
    xr.Dataset(
        {"t_2m": (("time", "ncells"), field(rng, (6, n), 280, 9), {"units": "K", "coordinates": "clat clon"})},
        {
            "time": hours(rng, "2020-01-01", 6),
            "clat": ("ncells", np.linspace(-0.3, 1.2, n), {"units": "radian", "standard_name": "latitude"}),
            "clon": ("ncells", np.linspace(-3, 3, n), {"units": "radian", "standard_name": "longitude"}),
        },
    ).to_netcdf(folder / "a.nc")
    refuse(folder, ["a.nc"], ["ncells", "remap"])


def other_files(folder, rng):
    """What is no archive, and how it becomes one."""
    data = small(rng, 6)
    kind = rng.integers(5)
    if kind == 0:
        data.to_netcdf(folder / "a.nc", format="NETCDF3_CLASSIC")
        with open(folder / "a.nc", "rb") as src, gzip.open(folder / "a.nc.gz", "wb") as out:
            shutil.copyfileobj(src, out)
        return refuse(folder, ["a.nc.gz"], ["gunzip"])
    if kind == 1:
        (folder / "a.json").write_text(json.dumps({"version": 1, "refs": {".zgroup": '{"zarr_format":2}'}}))
        return refuse(folder, ["a.json"], ["kerchunk", "to_zarr"])
    if kind == 2:
        (folder / "a.csv").write_text("time,lat,lon,t2m\n2020-01-01,1,2,280\n")
        return refuse(folder, ["a.csv"], ["text", "to_xarray"])
    if kind == 3:
        (folder / "a.tif").write_bytes(b"II*\0" + bytes(64))
        return refuse(folder, ["a.tif"], ["TIFF", "to_netcdf"])
    data.to_dataframe().to_pickle(folder / "a.parquet")
    (folder / "a.parquet").write_bytes(b"PAR1" + bytes(32) + b"PAR1")
    refuse(folder, ["a.parquet"], ["Parquet", "to_xarray"])


def gaps(folder, rng):
    """Rows that fail, irregular steps, bounds of times, and means of days that end at midnight."""
    times = pd.DatetimeIndex(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-05T12", "2020-01-06T12", "2020-01-10", "2020-01-11"])
    data = small(rng, 7).assign_coords(time=("time", times, {"bounds": "time_bounds"}))
    data["time_bounds"] = (("time", "nv"), np.stack([times.values - np.timedelta64(24, "h"), times.values], -1))
    data.to_netcdf(folder / "a.nc", encoding={"time": {"units": "hours since 1900-01-01", "dtype": "f8"}, "time_bounds": {"units": "hours since 1900-01-01", "dtype": "f8"}})
    usual(folder, ["a.nc"], SMALL)


def one_member_many_names(folder, rng):
    """Dims of one place of any name; terrain for each time."""
    data = small(rng, 6)
    data["z"] = (("time", "lat", "lon"), np.repeat(field(rng, (1, 4, 6), 300, 90), 6, 0), {"units": "m", "long_name": "orography"})
    data = data.expand_dims(realization=[3], band=[1], depth=[0.5])
    data.to_netcdf(folder / "a.nc")
    usual(folder, ["a.nc"], SMALL | {"z": "z"}, opened=xr.open_dataset(folder / "a.nc").squeeze(["realization", "band", "depth"]))


CENTRES = [
    cds_pair, cds_zip, wrf_raw, lambert, lambert_bare, cmip6, cmip6_ocean, merra2, model_levels, cams_forecast,
    hours_alone, absolute_times, eobs, cordex, oisst, imerg, iris, unsigned, big_endian, big_endian_zarr,
    sparse_zarr, zarr_groups, codecs_v3, compressed_hdf5, latest_hdf5, unsorted, members, cells, other_files,
    gaps, one_member_many_names,
]
