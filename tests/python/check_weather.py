"""Opens synthetic weather with xarray, checks what it must be, and saves it as Zarr stores.

    python check_weather.py synthetic.nc FOLDER

Exit codes: 0 all is well, 1 it is not, 3 a package is missing.
"""

import sys
from pathlib import Path

try:
    import numpy as np
    import xarray
    import zarr
    from numcodecs import LZ4, Blosc, GZip, Zlib, Zstd
except ImportError as error:
    print(f"missing: {error}")
    sys.exit(3)

data = xarray.open_dataset(sys.argv[1])
assert data.TEM.dims == ("time", "level", "lat", "lon"), data.TEM.dims
assert data.precipitation.dims == ("time", "lat", "lon"), data.precipitation.dims
assert data.topography.dims == ("lat", "lon") and data.land_mask.dims == ("lat", "lon")
assert data.TEM.units == "K" and data.U.units in ("m s-1", "m/s") and data.precipitation.units == "mm"
hours = np.diff(data.time.values) / np.timedelta64(1, "h")
assert np.issubdtype(data.time.dtype, np.datetime64) and (hours == 6).all(), hours
for name, low, high in [("TEM", 180, 320), ("DPT", 150, 310), ("GPH", -1000, 17000), ("precipitation", 0, 500)]:
    values = data[name].values
    assert np.isfinite(values).all() and values.min() >= low and values.max() <= high, name
assert (data.lat.values[1:] > data.lat.values[:-1]).all() and data.lat.units == "degrees_north"
assert (data.DPT <= data.TEM + 1e-3).all()

# What xarray calls the codec of version 2 changed with version 3 of Zarr for Python.
KEY = "compressor" if zarr.__version__.startswith("2.") else "compressors"
folder = Path(sys.argv[2])
clean = data.copy()
for variable in clean.variables.values():
    variable.encoding = {}
names = [name for name in clean.data_vars]


def save(name, version, **encoding):
    # A folder of chunks that do not divide the axes.
    chunks = {"time": 17, "level": 1, "lat": 5, "lon": 4}
    if version == 2:
        encoding = {KEY: encoding["compressor"]}
    each = {n: {"chunks": tuple(chunks[d] for d in clean[n].dims), **encoding} for n in names}
    clean.to_zarr(folder / name, zarr_format=version, encoding=each, consolidated=name != "plain.zarr")



save("plain.zarr", 2, compressor=None)
save("blosc.zarr", 2, compressor=Blosc(cname="lz4", shuffle=Blosc.SHUFFLE))
save("blosc-zstd.zarr", 2, compressor=Blosc(cname="zstd", shuffle=Blosc.NOSHUFFLE))
save("blosc-zlib.zarr", 2, compressor=Blosc(cname="zlib", shuffle=Blosc.SHUFFLE))
save("zlib.zarr", 2, compressor=Zlib(4))
save("lz4.zarr", 2, compressor=LZ4())
save("gzip.zarr", 2, compressor=GZip(4))
save("zstd.zarr", 2, compressor=Zstd(3))
if KEY == "compressors":
    save("three.zarr", 3)
# Packed, from north to south, missing values marked; once with a hole.
packed = clean.isel(lat=slice(None, None, -1))
whole = {"dtype": "int32", "scale_factor": 1e-5, "add_offset": 3.0, "_FillValue": -(2**31)}
packed.to_zarr(folder / "packed.zarr", zarr_format=2, encoding={n: whole for n in names})
holes = clean.copy(deep=True)
holes.TEM[3, 1, 2, 2] = np.nan
holes.to_zarr(folder / "holes.zarr", zarr_format=2, encoding={n: whole for n in names})
print("xarray", xarray.__version__, "zarr", zarr.__version__)
