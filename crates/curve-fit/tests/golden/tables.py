"""Parquet and NetCDF files by pyarrow and netCDF4; writes tables/ beside this file.

Run with pyarrow and netCDF4: python tables.py
"""

import datetime
import decimal
import json
import pathlib

import netCDF4
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).resolve().parent / "tables"
HERE.mkdir(exist_ok=True)
rng = np.random.default_rng(3)
n = 1000
x = np.round(rng.uniform(0, 5, n), 6)
y = np.round(2 * np.exp(-0.8 * x) + 0.3 + 0.05 * rng.standard_normal(n), 6)
nullable = [None if i % 7 == 0 else float(v) for i, v in enumerate(x)]
whole = [None if i % 5 == 0 else i - 3 for i in range(n)]
days = [datetime.date(1970, 1, 1) + datetime.timedelta(days=i) for i in range(n)]
table = pa.table({
    "x": pa.array(x),
    "y": pa.array(y),
    "single": pa.array(x.astype(np.float32)),
    "nullable": pa.array(nullable, pa.float64()),
    "whole": pa.array(whole, pa.int32()),
    "unsigned": pa.array((np.arange(n, dtype=np.uint64) + 2**63).tolist(), pa.uint64()),
    "flag": pa.array([i % 3 == 0 for i in range(n)]),
    "price": pa.array([decimal.Decimal(i) / 100 for i in range(n)], pa.decimal128(8, 2)),
    "day": pa.array(days, pa.date32()),
    "site": pa.array([None if i % 11 == 0 else f"site {i % 4}" for i in range(n)]),
    "empty": pa.array([None] * n, pa.float64()),
    "list": pa.array([[1.0, 2.0]] * n),
})
for name, kw in {
    "snappy": dict(compression="snappy", row_group_size=300),
    "gzip": dict(compression="gzip", use_dictionary=False, data_page_version="2.0"),
    "plain": dict(compression="none", data_page_size=1000, store_decimal_as_integer=True),
    "delta": dict(compression="snappy", use_dictionary=False,
                  column_encoding={"whole": "DELTA_BINARY_PACKED", "x": "BYTE_STREAM_SPLIT"}),
}.items():
    columns = table if name != "delta" else table.select(["x", "y", "whole"])
    pq.write_table(columns, HERE / f"{name}.parquet", **kw)
pq.write_table(table.select(["x"]).slice(0, 50), HERE / "zstd.parquet", compression="zstd")
(HERE / "cut.parquet").write_bytes((HERE / "plain.parquet").read_bytes()[:5000])

with netCDF4.Dataset(HERE / "plain.nc", "w") as f:
    f.createDimension("row", n)
    f.createDimension("two", 2)
    f.createVariable("x", "f8", ("row",), zlib=True, chunksizes=(300,))[:] = x
    f.createVariable("y", "f8", ("row",))[:] = y
    packed = f.createVariable("packed", "i2", ("row",), fill_value=-1)
    packed.scale_factor, packed.add_offset = 0.01, 5.0
    packed[:] = np.ma.masked_array(np.arange(n) * 0.01 + 5.0, mask=np.arange(n) % 10 == 0)
    f.createVariable("count", "i4", ("row",))[:] = np.arange(n)
    f.createVariable("matrix", "f4", ("row", "two"))[:] = np.stack([x, y], axis=1)
(HERE / "cut.nc").write_bytes((HERE / "plain.nc").read_bytes()[:3000])
expected = {"x": x.tolist(), "y": y.tolist(), "nullable": nullable, "whole": whole}
(HERE / "expected.json").write_text(json.dumps(expected) + "\n")
