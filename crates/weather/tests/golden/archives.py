"""Archives of weather as people have them, of random sizes and contents, and what xarray reads.

    python archives.py FOLDER SEED [KIND ...]

makes FOLDER/KIND/..., and FOLDER/KIND/expected.json: the files in the order in which they are given,
times in seconds since 1970, latitudes from south to north, longitudes from west to east, channels, and
values (time, channel, row, column), null where they are missing. Needs xarray, netCDF4, scipy, zarr.
The folder `archives` beside this file holds some of them, made by

    python archives.py archives 1 cds_new cds_old ncep noleap cdf5 zip_v2 zip_v3 curvilinear
"""

import pathlib
import shutil
import sys

import numpy as np
import pandas as pd
import xarray as xr

from centres import CENTRES
from mixed import mixed
from shared import G, SMALL, expect, field, grid, hours, more, packed, projected, seconds, small, usual


def cds_new(folder, rng):
    lat, lon = grid(rng)
    times = hours(rng, "2024-03-30", int(rng.integers(4, 7)))
    levels = [500.0, 850.0]
    shape = (len(times), 2, len(lat), len(lon))
    dims = ("valid_time", "pressure_level", "latitude", "longitude")
    data = xr.Dataset(
        {
            "t": (dims, field(rng, shape, 260, 9), {"units": "K", "standard_name": "air_temperature"}),
            "z": (dims, field(rng, shape, 30000, 500), {"units": "m**2 s**-2", "standard_name": "geopotential"}),
        },
        {
            "valid_time": times,
            "pressure_level": ("pressure_level", levels[::-1], {"units": "hPa"}),
            "latitude": ("latitude", lat[::-1], {"units": "degrees_north"}),
            "longitude": ("longitude", lon, {"units": "degrees_east"}),
            "number": ((), np.int64(0)),
            "expver": ("valid_time", np.array(["0001"] * (len(times) - 1) + ["0005"])),
        },
    )
    data.to_netcdf(
        folder / "a.nc",
        encoding={
            "valid_time": {"units": "seconds since 1970-01-01", "dtype": "i8"},
            "t": {"zlib": True, "shuffle": True, "_FillValue": np.float32(np.nan)},
        },
        unlimited_dims=["valid_time"] if rng.integers(2) else [],
    )
    usual(folder, ["a.nc"], {"t": "TEM", "z": "GPH"}, {"z": (1 / G, 0)})


def cds_old(folder, rng):
    lat, lon = grid(rng, south=-10)
    times = hours(rng, "1999-12-31", int(rng.integers(5, 9)), 3)
    shape = (len(times), len(lat), len(lon))
    dims = ("time", "latitude", "longitude")
    data = xr.Dataset(
        {
            "t2m": (dims, field(rng, shape, 280, 9), {"units": "K"}),
            "tp": (dims, np.abs(field(rng, shape, 0.0, 0.004)), {"units": "m"}),
        },
        {"time": times, "latitude": lat[::-1].astype("f4"), "longitude": lon.astype("f4")},
    )
    data.to_netcdf(
        folder / "a.nc",
        engine="scipy" if rng.integers(2) else "netcdf4",
        format=["NETCDF3_64BIT", "NETCDF3_CLASSIC"][rng.integers(2)],
        encoding={
            "time": {"units": "hours since 1900-01-01 00:00:00.0", "dtype": "i4"},
            "t2m": packed(200, 330),
            "tp": packed(0, 0.1),
        },
        unlimited_dims=["time"] if rng.integers(2) else [],
    )
    usual(folder, ["a.nc"], {"tp": "precipitation", "t2m": "t2m"}, {"tp": (1000, 0)})


def expver(folder, rng):
    lat, lon = grid(rng)
    times = hours(rng, "2021-05-01", 6)
    shape = (len(times), 2, len(lat), len(lon))
    values = field(rng, shape, 280, 9)
    values[:4, 1] = np.nan
    values[4:, 0] = np.nan
    data = xr.Dataset(
        {"t2m": (("time", "expver", "latitude", "longitude"), values, {"units": "K"})},
        {"time": times, "expver": [1, 5], "latitude": lat[::-1], "longitude": lon},
    )
    data.to_netcdf(folder / "a.nc", format="NETCDF3_64BIT", encoding={"t2m": packed(200, 330)})
    read = xr.open_dataset(folder / "a.nc")
    joined = read.sel(expver=1).combine_first(read.sel(expver=5)).drop_vars("expver", errors="ignore")
    usual(folder, ["a.nc"], {"t2m": "t2m"}, opened=joined)


def per_variable(folder, rng):
    lat, lon = grid(rng)
    times = hours(rng, "2010-01-01", 8)
    shape = (len(times), 2, len(lat), len(lon))
    dims = ["time", "level", "latitude", "longitude"]
    order = list(rng.permutation(4))
    for name, mean, sd, units in [("u", 3, 6, "m s**-1"), ("v", 0, 6, "m s**-1"), ("t", 260, 9, "K")]:
        values = field(rng, shape, mean, sd)
        own = order if name != "t" else [0, 1, 2, 3]
        xr.Dataset(
            {name: ([dims[k] for k in own], values.transpose(own), {"units": units})},
            {"time": times, "level": ("level", [500, 850], {"units": "millibars"}), "latitude": lat, "longitude": lon},
        ).to_netcdf(folder / f"{name}.nc")
    rain = np.abs(field(rng, (len(times), 1, len(lat), len(lon)), 0, 3))
    xr.Dataset(
        {"tp": (("time", "number", "latitude", "longitude"), rain, {"units": "mm"})},
        {"time": times, "number": [0], "latitude": lat, "longitude": lon},
    ).to_netcdf(folder / "tp.nc")
    usual(
        folder,
        ["tp.nc", "u.nc", "t.nc", "v.nc"],
        {"t": "TEM", "u": "U", "v": "V", "tp": "precipitation"},
        level="level",
    )


def per_month(folder, rng):
    lat, lon = grid(rng, south=-33, west=115)
    files = []
    for month in (1, 2, 3):
        times = pd.date_range(f"2011-0{month}-01", periods=5, freq="12h")
        shape = (len(times), len(lat), len(lon))
        name = f"era5-2011-0{month}.nc"
        files.append(name)
        xr.Dataset(
            {
                "t2m": (("time", "lat", "lon"), field(rng, shape, 290, 5), {"units": "K"}),
                "msl": (("time", "lat", "lon"), field(rng, shape, 1010, 5), {"units": "hPa"}),
            },
            {"time": times, "lat": lat, "lon": lon},
        ).to_netcdf(
            folder / name,
            encoding={"time": {"units": f"{['minutes', 'hours', 'days'][month - 1]} since 2011-0{month}-01"}},
        )
    rng.shuffle(files)
    usual(folder, files, {"msl": "msl", "t2m": "t2m"}, {"msl": (100, 0)})


def per_level(folder, rng):
    lat, lon = grid(rng)
    times = hours(rng, "2015-06-01", 5)
    files, channels = [], []
    for k, level in enumerate((300, 500, 850)):
        shape = (len(times), len(lat), len(lon))
        values = field(rng, shape, 250, 9)
        one = xr.Dataset(
            {"t": (("time", "lat", "lon"), values, {"units": "K"})},
            {"time": times, "lat": lat, "lon": lon, "level": ((), float(level), {"units": "hPa"})},
        )
        if k == 1:
            one = one.expand_dims("level", 1)
        one.to_netcdf(folder / f"t-{level}.nc")
        files.append(f"t-{level}.nc")
        read = xr.open_dataset(folder / files[-1])["t"]
        read = read.squeeze("level") if "level" in read.dims else read
        channels.append((f"TEM {level} hPa", read.values))
    expect(folder, files, None, channels, lat, lon, seconds(times))


def per_time(folder, rng):
    lat, lon = grid(rng)
    times = hours(rng, "2015-06-01", 5)
    files = []
    for time in times:
        one = xr.Dataset(
            {"t2m": (("lat", "lon"), field(rng, (len(lat), len(lon)), 280, 9), {"units": "degC"})},
            {"time": time, "lat": lat, "lon": lon},
        )
        name = f"{time:%Y%m%dT%H}.nc"
        one.to_netcdf(folder / name, encoding={"time": {"units": "hours since 2000-01-01"}})
        files.append(name)
    read = xr.concat([xr.open_dataset(folder / f) for f in files], "time")
    usual(folder, files, {"t2m": "t2m"}, {"t2m": (1, 273.15)}, opened=read)


def partial(folder, rng):
    """Variables of different spans and steps: the times they share."""
    lat, lon = grid(rng)
    names = [("t2m", "2010-01-01", 20, 6), ("sp", "2010-01-02", 30, 3)]
    for name, start, n, step in names:
        times = hours(rng, start, n, step)
        xr.Dataset(
            {name: (("time", "lat", "lon"), field(rng, (n, len(lat), len(lon)), 280, 9))},
            {"time": times, "lat": lat, "lon": lon},
        ).to_netcdf(folder / f"{name}.nc")
    read = xr.merge([xr.open_dataset(folder / f"{n[0]}.nc") for n in names], join="inner")
    usual(folder, ["t2m.nc", "sp.nc"], {"sp": "sp", "t2m": "t2m"}, opened=read)


def weatherbench(folder, rng):
    lat, lon = grid(rng, lats=4, lons=6)
    times = hours(rng, "2018-01-01", 9)
    levels = [500, 700, 850]
    shape = (len(times), 3, len(lon), len(lat))
    dims = ("time", "level", "longitude", "latitude")
    data = xr.Dataset(
        {
            "temperature": (dims, field(rng, shape, 260, 9), {"units": "K"}),
            "geopotential": (dims, field(rng, shape, 30000, 500), {"units": "m**2 s**-2"}),
            "u_component_of_wind": (dims, field(rng, shape, 3, 7), {"units": "m s**-1"}),
            "2m_temperature": (("time", "longitude", "latitude"), field(rng, (9, 6, 4), 280, 9), {"units": "K"}),
        },
        {"time": times, "level": levels, "longitude": lon, "latitude": lat},
    )
    chunks = {n: {"chunks": tuple({"time": 4, "longitude": 4}.get(d, data.sizes[d]) for d in data[n].dims)} for n in data}
    data.to_zarr(folder / "a.zarr", zarr_format=2, consolidated=bool(rng.integers(2)), encoding=chunks)
    picked = [[500, 700, 850], [850], [700, 850]][rng.integers(3)]
    usual(
        folder,
        ["a.zarr"],
        {"temperature": "TEM", "geopotential": "GPH", "u_component_of_wind": "U", "2m_temperature": "t2m"},
        {"geopotential": (1 / G, 0)},
        opened=xr.open_zarr(folder / "a.zarr").sel(level=picked),
    )
    more(folder, levels=picked)


def zarr_v3(folder, rng):
    small(rng).to_zarr(
        folder / "a.zarr",
        zarr_format=3,
        encoding={"t2m": packed(200, 330) | {"chunks": (4, 4, 3)}, "tcwv": {"_FillValue": -9999.0}},
    )
    usual(folder, ["a.zarr"], SMALL)


def sharded(folder, rng):
    small(rng, 17).to_zarr(
        folder / "a.zarr",
        zarr_format=3,
        encoding={"t2m": {"chunks": (2, 2, 3), "shards": (8, 4, 6)}, "tcwv": {"chunks": (3, 4, 2), "shards": (6, 4, 6)}},
    )
    usual(folder, ["a.zarr"], SMALL)


def transposed_v3(folder, rng):
    import zarr

    data = small(rng)
    data.to_zarr(
        folder / "a.zarr",
        zarr_format=3,
        encoding={"t2m": {"filters": [zarr.codecs.TransposeCodec(order=(2, 0, 1))], "chunks": (4, 4, 3)}},
    )
    usual(folder, ["a.zarr"], SMALL)


def filters_v2(folder, rng):
    import numcodecs

    small(rng).to_zarr(
        folder / "a.zarr",
        zarr_format=2,
        encoding={
            "t2m": {"filters": [numcodecs.Shuffle(4)], "compressors": numcodecs.Zlib(5), "chunks": (4, 4, 3)},
            "tcwv": {
                "filters": [numcodecs.FixedScaleOffset(offset=0, scale=100, dtype="f4", astype="i4"), numcodecs.Delta("i4")],
                "compressors": numcodecs.GZip(5),
            },
        },
    )
    usual(folder, ["a.zarr"], SMALL)


def blosc_v2(folder, rng):
    import numcodecs

    small(rng, 40).to_zarr(
        folder / "a.zarr",
        zarr_format=2,
        encoding={
            "t2m": {"compressors": numcodecs.Blosc("lz4", 5, numcodecs.Blosc.BITSHUFFLE), "chunks": (16, 4, 6)},
            "tcwv": {"compressors": numcodecs.Blosc("zstd", 5, numcodecs.Blosc.SHUFFLE), "dtype": "f2"},
        },
    )
    usual(folder, ["a.zarr"], SMALL)


def zip_store(folder, rng, version):
    import zarr

    name = f"v{version}.zarr.zip"
    store = zarr.storage.ZipStore(folder / name, mode="w")
    chunks = {"chunks": (5, 4, 6)} if version == 2 else {"chunks": (3, 2, 3), "shards": (6, 4, 6)}
    small(rng).to_zarr(store, zarr_format=version, encoding={"t2m": chunks, "tcwv": {"chunks": (9, 4, 6)}})
    store.close()
    store = zarr.storage.ZipStore(folder / name, mode="r")
    usual(folder, [name], SMALL, opened=xr.open_zarr(store).load())


def zip_v2(folder, rng):
    zip_store(folder, rng, 2)


def zip_v3(folder, rng):
    zip_store(folder, rng, 3)


def greenwich(folder, rng):
    lat, lon = grid(rng, west=-1.0)
    data = small(rng, 6).isel(lat=slice(0, 3))
    data = data.assign_coords(lon=-1.5 + 0.5 * np.arange(6)) if rng.integers(2) else data.assign_coords(lon=-1 + 0.5 * np.arange(6))
    data = data.assign_coords(lon=data.lon % 360)
    if rng.integers(2):
        data = data.sortby("lon")
    data.to_netcdf(folder / "a.nc")
    usual(folder, ["a.nc"], SMALL, sort_lon=-180)


def date_line(folder, rng):
    data = small(rng, 6).assign_coords(lon=178.5 + 0.5 * np.arange(6))
    data = data.assign_coords(lon=(data.lon + 180) % 360 - 180)
    if rng.integers(2):
        data = data.sortby("lon")
    data.to_netcdf(folder / "a.nc")
    usual(folder, ["a.nc"], SMALL, sort_lon=0)


def region(folder, rng):
    """A part of a global store, over Greenwich."""
    lat, lon = np.linspace(-90, 90, 13), np.arange(0, 360, 15.0)
    shape = (5, len(lon), len(lat))
    xr.Dataset(
        {"2m_temperature": (("time", "longitude", "latitude"), field(rng, shape, 280, 9), {"units": "K"})},
        {"time": hours(rng, "2018-01-01", 5), "longitude": lon, "latitude": lat[:: [1, -1][rng.integers(2)]]},
    ).to_zarr(folder / "a.zarr", zarr_format=3, encoding={"2m_temperature": {"chunks": (2, 7, 5)}})
    box = [15.0, 75.0, -45.0, 30.0 + 15 * int(rng.integers(3))]
    read = xr.open_zarr(folder / "a.zarr")
    read = read.assign_coords(longitude=(read.longitude + 180) % 360 - 180).sortby("longitude").sortby("latitude")
    read = read.sel(latitude=slice(box[0], box[1]), longitude=slice(box[2], box[3]))
    usual(folder, ["a.zarr"], {"2m_temperature": "t2m"}, opened=read)
    more(folder, region=box)


def own_names(folder, rng):
    """Variables and axes that only a table of the user's knows."""
    lat, lon = grid(rng)
    times = hours(rng, "2020-01-01", 5)
    shape = (5, len(lat), 2, len(lon))
    xr.Dataset(
        {"Temperature_isobaric": (("time", "row", "pl", "column"), field(rng, shape, 10, 9), {"units": "Celsius"})}
        | {"go3": (("time", "row", "pl", "column"), field(rng, shape, 5, 1), {"units": "g/kg"})},
        {"time": times, "row": lat[::-1], "pl": [850.0, 500.0], "column": lon},
    ).to_netcdf(folder / "a.nc")
    (folder / "names.toml").write_text(
        '[TEM]\nnames = ["Temperature_isobaric"]\n[ozone]\nnames = ["o3", "go3"]\nunits = "kg kg-1"\nlevels = true\n'
        '[axes]\nlevel = ["pl"]\nlat = ["row"]\nlon = ["column"]\n'
    )
    read = xr.open_dataset(folder / "a.nc").rename(row="lat", column="lon", pl="level")
    convert = {"Temperature_isobaric": (1, 273.15), "go3": (1e-3, 0)}
    usual(folder, ["a.nc"], {"Temperature_isobaric": "TEM", "go3": "ozone"}, convert, opened=read)
    more(folder, names="names.toml")


def calendar(folder, rng, name, start, n, freq):
    lat, lon = grid(rng)
    times = xr.date_range(start, periods=n, freq=freq, calendar=name, use_cftime=True)
    shape = (n, 2, len(lat), len(lon))
    dims = ("time", "plev", "lat", "lon")
    xr.Dataset(
        {
            "ta": (dims, field(rng, shape, 260, 9), {"units": "K", "standard_name": "air_temperature"}),
            "ua": (dims, field(rng, shape, 3, 9), {"units": "m s-1", "standard_name": "eastward_wind"}),
            "pr": (("time", "lat", "lon"), np.abs(field(rng, (n, len(lat), len(lon)), 0, 1e-4)), {"units": "kg m-2 s-1"}),
        },
        {
            "time": times,
            "plev": ("plev", [85000.0, 50000.0], {"units": "Pa", "standard_name": "air_pressure"}),
            "lat": lat,
            "lon": lon,
        },
    ).to_netcdf(folder / "a.nc", encoding={"time": {"units": "days since 1850-01-01", "dtype": "f8"}})
    read = xr.open_dataset(folder / "a.nc", decode_times=xr.coders.CFDatetimeCoder(use_cftime=True))
    # Days of 360 fall on the days of the year that are nearest.
    align = {"align_on": "year"} if name == "360_day" else {}
    read = read.convert_calendar("standard", use_cftime=False, **align)
    rain = {"pr": (3600.0 * int(freq[:-1]), 0)}
    usual(folder, ["a.nc"], {"ta": "TEM", "ua": "U", "pr": "precipitation"}, rain, opened=read, level="plev")


def noleap(folder, rng):
    calendar(folder, rng, "noleap", "2024-02-27", 12, "6h")


def days_360(folder, rng):
    # Two days of the source may not fall on one: daily steps over a year.
    start = f"20{int(rng.integers(10, 30))}-{int(rng.integers(1, 13)):02}-25"
    calendar(folder, rng, "360_day", start, int(rng.integers(90, 380)), "24h")


def old_reference(folder, rng):
    """NCEP's older files count from the year 1 in the mixed calendar."""
    data = small(rng, 6)
    data.to_netcdf(folder / "a.nc", encoding={"time": {"units": "hours since 1-1-1 00:00:0.0", "calendar": "standard", "dtype": "f8"}})
    usual(folder, ["a.nc"], SMALL)


def fine_times(folder, rng):
    data = small(rng, 6)
    unit, n = [("nanoseconds", 10**9), ("microseconds", 10**6), ("milliseconds", 1000)][rng.integers(3)]
    times = ("time", seconds(data.time) * n, {"units": f"{unit} since 1970-01-01"})
    data.assign_coords(time=times).to_netcdf(folder / "a.nc")
    usual(folder, ["a.nc"], SMALL)


def ncep(folder, rng):
    lat, lon = grid(rng, step=2.5)
    times = hours(rng, "1979-01-01", 6)
    shape = (len(times), 3, len(lat), len(lon))
    xr.Dataset(
        {"air": (("time", "level", "lat", "lon"), field(rng, shape, 260, 9), {"units": "degK", "valid_range": np.float32([100, 400])})},
        {
            "time": times,
            "level": ("level", np.float32([1000, 850, 500]), {"units": "millibar", "positive": "down"}),
            "lat": ("lat", lat[::-1].astype("f4"), {"units": "degrees_north"}),
            "lon": ("lon", lon.astype("f4"), {"units": "degrees_east"}),
        },
    ).to_netcdf(
        folder / "a.nc",
        format="NETCDF4_CLASSIC",
        encoding={"time": {"units": "hours since 1800-01-01 00:00:0.0"}, "air": {"missing_value": np.float32(-9.96921e36), "_FillValue": None}},
    )
    usual(folder, ["a.nc"], {"air": "TEM"})


def cdf5(folder, rng):
    data = small(rng, 6)
    data["t2m"] = data["t2m"].astype("f8")
    import netCDF4

    with netCDF4.Dataset(folder / "a.nc", "w", format="NETCDF3_64BIT_DATA") as out:
        out.createDimension("time", None)
        out.createDimension("lat", data.sizes["lat"])
        out.createDimension("lon", data.sizes["lon"])
        time = out.createVariable("time", "i8", ("time",))
        time.units = "seconds since 1970-01-01"
        out.createVariable("lat", "f8", ("lat",))[:] = data.lat.values
        out.createVariable("lon", "f4", ("lon",))[:] = data.lon.values
        t2m = out.createVariable("t2m", "f8", ("time", "lat", "lon"))
        t2m.units = "K"
        tcwv = out.createVariable("tcwv", "u2", ("time", "lon", "lat"), fill_value=65535)
        tcwv.scale_factor = 0.01
        tcwv.set_auto_maskandscale(False)
        t2m[:] = data.t2m.values
        time[:] = seconds(data.time)
        tcwv[:] = np.round(data.tcwv.values.transpose(0, 2, 1) * 100).astype("u2")
    usual(folder, ["a.nc"], SMALL)


def cfgrib(folder, rng):
    lat, lon = grid(rng)
    times = hours(rng, "2020-01-01", 6)
    shape = (len(times), 2, len(lat), len(lon))
    dims = ("time", "isobaricInhPa", "latitude", "longitude")
    xr.Dataset(
        {
            "t": (dims, field(rng, shape, 260, 9), {"units": "K", "standard_name": "air_temperature"}),
            "u": (dims, field(rng, shape, 3, 9), {"units": "m s**-1", "standard_name": "eastward_wind"}),
        },
        {
            "time": ("time", times, {"standard_name": "time"}),
            "valid_time": ("time", times, {"standard_name": "time"}),
            "step": ((), np.timedelta64(0, "ns")),
            "number": ((), 0),
            "isobaricInhPa": ("isobaricInhPa", [850.0, 500.0], {"units": "hPa", "positive": "down"}),
            "latitude": ("latitude", lat[::-1], {"units": "degrees_north"}),
            "longitude": ("longitude", lon, {"units": "degrees_east"}),
        },
    ).to_netcdf(folder / "a.nc")
    usual(folder, ["a.nc"], {"t": "TEM", "u": "U"})


def curvilinear(folder, rng):
    lat, lon = projected(rng)
    times = hours(rng, "2020-01-01", 6)
    shape = (6, *lat.shape)
    xr.Dataset(
        {
            "t2m": (("time", "y", "x"), field(rng, shape, 280, 9), {"units": "K"}),
            "tcwv": (("time", "y", "x"), np.abs(field(rng, shape, 20, 9)), {"units": "kg m-2"}),
        },
        {
            "time": times,
            "latitude": (("y", "x"), lat, {"units": "degrees_north"}),
            "longitude": (("y", "x"), lon, {"units": "degrees_east"}),
        },
    ).to_netcdf(folder / "a.nc")
    read = xr.open_dataset(folder / "a.nc")
    channels = [(n, read[n].values) for n in ("t2m", "tcwv")]
    expect(folder, ["a.nc"], read, channels, read.latitude, read.longitude, seconds(times))


def wrf(folder, rng):
    """Places for each time, and times as their own dim without a coordinate of the name."""
    lat, lon = projected(rng)
    lon = (lon + 174 + 180) % 360 - 180
    times = hours(rng, "2020-01-01", 5)
    dims = ("Time", "south_north", "west_east")
    xr.Dataset(
        {
            "T2": (dims, field(rng, (5, *lat.shape), 280, 9), {"units": "K", "coordinates": "XLONG XLAT XTIME"}),
            "XLAT": (dims, np.repeat(lat[None], 5, 0).astype("f4"), {"units": "degree_north"}),
            "XLONG": (dims, np.repeat(lon[None], 5, 0).astype("f4"), {"units": "degree_east"}),
            "XTIME": ("Time", np.arange(5) * 360.0, {"units": "minutes since 2020-01-01 00:00:00"}),
        }
    ).to_netcdf(folder / "a.nc")
    read = xr.open_dataset(folder / "a.nc")
    places = read.XLAT[0], read.XLONG[0]
    expect(folder, ["a.nc"], read, [("t2m", read.T2.values)], *places, seconds(times), ["T2"])


KINDS = [
    cds_new, cds_old, expver, per_variable, per_month, per_level, per_time, partial, weatherbench, zarr_v3,
    sharded, transposed_v3, filters_v2, blosc_v2, zip_v2, zip_v3, greenwich, date_line, region, own_names, noleap, days_360, old_reference,
    fine_times, ncep, cdf5, cfgrib, curvilinear, wrf,
]


#: Archives of a seed that mix what the kinds have.
N_MIXED = 8


def main():
    root, seed, names = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    for number, kind in enumerate(KINDS + CENTRES):
        if names and kind.__name__ not in names:
            continue
        folder = root / kind.__name__
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        kind(folder, np.random.default_rng([seed, number]))
    for number in range(0 if names else N_MIXED):
        folder = root / f"mixed_{number}"
        folder.mkdir(parents=True)
        mixed(folder, np.random.default_rng([seed, 1000, number]))


main()
