"""Writes zarr.zip: the trace of arviz1.nc.gz as Zarr v3 stores of xarray, with zstd and gzip.

    python zarr.py

Made with Python 3.12.1, arviz 1.3.0, xarray 2026.9.0, zarr 3.4.2.
"""

import gzip
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path = [p for p in sys.path if Path(p or ".").resolve() != HERE]  # This file is called zarr.

import xarray as xr  # noqa: E402
from zarr.codecs import GzipCodec  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    (folder / "a.nc").write_bytes(gzip.decompress((HERE / "arviz1.nc.gz").read_bytes()))
    tree = xr.open_datatree(folder / "a.nc", engine="h5netcdf").load()
    tree.to_zarr(folder / "zstd.zarr", zarr_format=3)
    encoding = {
        node.path: {name: {"compressors": [GzipCodec()]} for name in node.data_vars}
        for node in tree.subtree
        if node.data_vars
    }
    tree.to_zarr(folder / "gzip.zarr", zarr_format=3, encoding=encoding, consolidated=False)
    with zipfile.ZipFile(HERE / "zarr.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ["zstd.zarr", "gzip.zarr"]:
            for path in sorted((folder / name).rglob("*")):
                if path.is_file():
                    info = zipfile.ZipInfo(str(path.relative_to(folder)))
                    archive.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)
