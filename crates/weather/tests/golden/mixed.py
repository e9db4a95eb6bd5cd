"""Archives that mix what the other kinds have one at a time: storage, order of dims and axes, names,
units, packing, calendars, longitudes over Greenwich or the date line, files by variable or time, at random.
"""

import numpy as np
import pandas as pd
import xarray as xr

from shared import G, expect, field, seconds

#: Name here, names in files, units with what brings them to ours, mean and deviation in our units.
UPPER = [
    ("TEM", ["t", "ta", "air", "temperature"], [("K", 1, 0), ("degC", 1, 273.15)], 260, 9),
    ("U", ["u", "ua", "uwnd", "UGRD"], [("m s**-1", 1, 0), ("km/h", 1 / 3.6, 0)], 3, 6),
    ("GPH", ["z", "geopotential"], [("m**2 s**-2", 1 / G, 0)], 5000, 90),
    ("q", ["q", "hus", "shum"], [("kg kg**-1", 1, 0), ("g/kg", 1e-3, 0)], 0.008, 0.002),
]
SURFACE = [
    ("t2m", ["t2m", "2t", "tas"], [("K", 1, 0), ("Celsius", 1, 273.15)], 280, 9),
    ("msl", ["msl", "psl", "prmsl"], [("Pa", 1, 0), ("hPa", 100, 0)], 101300, 500),
    ("u10", ["u10", "uas"], [("m/s", 1, 0)], 2, 5),
    ("precipitation", ["tp", "total_precipitation"], [("m", 1000, 0), ("mm", 1, 0)], 4, 3),
    ("chlorine", ["chlorine"], [("furlong", 1, 0)], 1, 0.3),
]


def pick(rng, options):
    return options[int(rng.integers(len(options)))]


def axes(rng):
    """Times as they are and as the file has them, latitudes and longitudes likewise."""
    n, step = int(rng.integers(5, 10)), pick(rng, [1, 3, 6, 24])
    start = pick(rng, ["1999-12-30T18", "2024-02-27T12", "2010-06-01", "1979-01-01"])
    kept = pd.date_range(start, periods=n, freq=f"{step}h")
    calendar = pick(rng, ["standard", "proleptic_gregorian", "noleap"])
    if calendar == "noleap":
        # There is no 29th of February, and the dates of the others are kept.
        times = xr.date_range(start, periods=n, freq=f"{step}h", calendar="noleap", use_cftime=True)
        kept = pd.DatetimeIndex([t.isoformat() for t in times])
    else:
        times = kept
    lat = pick(rng, [-60.0, -1.0, 40.0]) + 0.5 * np.arange(int(rng.integers(3, 7)))
    west = pick(rng, [-1.5, 0.0, 100.0, 178.5])
    lon = west + 0.5 * np.arange(int(rng.integers(4, 8)))
    return calendar, times, kept, lat, lon


def turned(rng, lon):
    """Longitudes in 0 to 360 or in -180 to 180, as the region lies or sorted: (values, order)."""
    base = pick(rng, [0.0, -180.0])
    theirs = (lon - base) % 360 + base
    order = np.argsort(theirs) if rng.integers(2) else np.arange(len(lon))
    return theirs[order], order


def variables(rng, shape, levels):
    """(our name, their name, units, scale, offset, values in our units)."""
    out = []
    kinds = [(v, True) for v in UPPER] * bool(levels) + [(v, False) for v in SURFACE]
    for k in rng.permutation(len(kinds))[: int(rng.integers(1, 5))]:
        (ours, names, units, mean, sd), upper = kinds[k]
        own = (shape[0], len(levels), *shape[1:]) if upper else shape
        values = mean + sd * rng.standard_normal(own)
        if ours in ("precipitation", "q"):
            values = np.abs(values)
        unit, scale, offset = pick(rng, units)
        out.append((ours, pick(rng, names), unit, scale, offset, values, upper))
    return out


def encoding(rng, values, kind, shape):
    """How a variable is stored: as reals, or packed."""
    own = {"dtype": pick(rng, ["f4", "f8"])}
    if rng.integers(2):
        low, high = float(values.min()), float(values.max())
        own = {"dtype": "i2", "scale_factor": (high - low) / 60000, "add_offset": (low + high) / 2, "_FillValue": -32767}
    chunks = tuple(int(rng.integers(1, n + 1)) for n in shape)
    if kind == "nc4":
        own |= {"chunksizes": chunks, "zlib": bool(rng.integers(2)), "shuffle": bool(rng.integers(2))}
        own |= {"fletcher32": bool(rng.integers(2))}
    if kind in ("zarr2", "zarr3"):
        own["chunks"] = chunks
    if kind == "sharded":
        own |= {"chunks": chunks, "shards": tuple(c * int(rng.integers(1, 3)) for c in chunks)}
    return own


def save(rng, folder, name, data, kind, calendar, stored):
    """Writes a part; its name."""
    unit = pick(rng, ["seconds", "minutes", "hours", "days"])
    reference = pick(rng, ["1970-01-01", "1900-01-01 00:00:00", "1850-1-1 00:00:0.0"])
    whole = unit == "seconds" or unit == "minutes" or (unit == "hours")
    kinds = ["f8", "i4"] if whole and unit != "seconds" else ["f8"]
    every = {key: value for key, value in stored.items() if key in data}
    every["time"] = {"units": f"{unit} since {reference}", "calendar": calendar, "dtype": pick(rng, kinds)}
    data = data.rename(time="valid_time") if rng.integers(3) == 0 else data
    if "valid_time" in data:
        every["valid_time"] = every.pop("time")
    file = name + {"nc3": ".nc", "nc4": ".nc"}.get(kind, ".zarr")
    if kind == "nc3":
        data.to_netcdf(folder / file, engine="scipy", format="NETCDF3_64BIT", encoding=every)
    elif kind == "nc4":
        data.to_netcdf(folder / file, encoding=every)
    else:
        data.to_zarr(folder / file, zarr_format=2 if kind == "zarr2" else 3, encoding=every)
    return file


def read_back(folder, file, ours, theirs, scale, offset):
    """The numbers that xarray reads, in our units."""
    opened = xr.open_zarr(folder / file) if file.endswith(".zarr") else xr.open_dataset(folder / file)
    with opened as data:
        data = data.rename(valid_time="time") if "valid_time" in data else data
        return data[theirs].load().astype("f8") * scale + offset


def mixed(folder, rng):
    kind = pick(rng, ["nc3", "nc4", "nc4", "zarr2", "zarr3", "sharded"])
    calendar, times, kept, lat, lon = axes(rng)
    levels = sorted(rng.choice([1000.0, 850.0, 500.0, 250.0], int(rng.integers(0, 4)), replace=False))
    level_order = list(levels) if rng.integers(2) else list(levels)[::-1]
    level_name, level_units = pick(rng, [("level", "millibars"), ("pressure_level", "hPa"), ("plev", "Pa")])
    lons, order = turned(rng, lon)
    lats = lat[:: pick(rng, [1, -1])].astype(pick(rng, ["f4", "f8"]))
    y, x = pick(rng, [("lat", "lon"), ("latitude", "longitude")])
    extra = [name for name in ("number", "surface", "height") if rng.integers(3) == 0]
    made = variables(rng, (len(kept), len(lat), len(lon)), levels)
    fields, stored = {}, {}
    coordinates = {"time": times, y: (y, lats, {"units": "degrees_north"}), x: (x, lons, {"units": "degrees_east"})}
    if any(one[-1] for one in made):
        given = np.array(level_order) * (100 if level_units == "Pa" else 1)
        coordinates[level_name] = (level_name, given, {"units": level_units})
    coordinates |= {name: (name, [0.0]) for name in extra}
    for _, theirs, unit, scale, offset, values, upper in made:
        dims = ["time", *([level_name] if upper else []), y, x]
        values = values[..., order]
        values = values[..., :: 1 if lats[0] < lats[-1] else -1, :]
        if upper:
            values = values[:, :: 1 if level_order == levels else -1]
        own = [name for name in extra if rng.integers(2)]
        values = values.reshape(values.shape + (1,) * len(own))
        turn = rng.permutation(values.ndim)
        values = ((values - offset) / scale).transpose(turn)
        dims = [(dims + own)[k] for k in turn]
        fields[theirs] = (dims, values, {"units": unit})
        stored[theirs] = encoding(rng, values, kind, values.shape)
    data = xr.Dataset(fields, {k: v for k, v in coordinates.items() if k in {d for f in fields.values() for d in f[0]}})
    how = pick(rng, ["one", "variables", "times"])
    parts = {"one": [data], "variables": [data[[name]] for name in fields], "times": []}[how]
    if how == "times":
        cut = int(rng.integers(1, len(kept)))
        for key in ("chunks", "shards", "chunksizes"):
            [own.pop(key, None) for own in stored.values()]
        parts = [data.isel(time=slice(cut, None)), data.isel(time=slice(0, cut))]
    files = [save(rng, folder, f"part{k}", part, kind, calendar, stored) for k, part in enumerate(parts)]
    channels = []
    for ours, theirs, _, scale, offset, _, upper in made:
        having = [f for f, part in zip(files, parts) if theirs in part]
        read = [read_back(folder, file, ours, theirs, scale, offset) for file in having]
        whole = xr.concat(read, "time").sortby("time") if len(read) > 1 else read[0]
        whole = whole.squeeze([name for name in extra if name in whole.dims])
        whole = whole.sortby(y).isel({x: np.argsort(order)})
        for k, level in enumerate(level_order if upper else []):
            one = whole.isel({level_name: k}).transpose("time", y, x)
            channels.append((f"{ours} {level:g} hPa", one.values))
        if not upper:
            channels.append((ours, whole.transpose("time", y, x).values))
    expect(folder, files, data, channels, np.sort(lats), lon, seconds(kept))
