"""Opens a store that Fitzroy wrote and compares it with the NetCDF file of the same trace.

    python check_zarr.py STORE FILE

Exit codes: 0 all is well, 1 it is not, 3 a package is missing.
"""

import sys

try:
    import arviz as az
    import numpy as np
    import xarray as xr
    import zarr
except ImportError as error:
    print(f"missing: {error}")
    sys.exit(3)


def main(store, file):
    if zarr.__version__.startswith("2."):
        print("skipped: zarr 3, which needs Python 3.11, reads version 3 of the format")
        return
    tree = xr.open_datatree(store, engine="zarr")
    want = xr.open_datatree(file, engine="h5netcdf")
    for name, group in want.children.items():
        if name.startswith("warmup_"):
            assert name not in tree.children, name
            continue
        ours = tree[name].to_dataset()
        theirs = group.to_dataset()
        assert set(ours.data_vars) == set(theirs.data_vars), (name, ours, theirs)
        for variable in theirs.data_vars:
            a, b = ours[variable], theirs[variable]
            assert a.dims == b.dims and a.dtype == b.dtype, (name, variable, a.dtype, b.dtype)
            np.testing.assert_array_equal(a.values, b.values)
        for coordinate in theirs.coords:
            a, b = ours.coords[coordinate].values, theirs.coords[coordinate].values
            assert [str(x) for x in a] == [str(x) for x in b], (name, coordinate, a, b)
    assert tree.attrs["fitzroy_settings"] == want.attrs["fitzroy_settings"]
    if hasattr(az, "from_zarr") and az.__version__.startswith("1."):
        data = az.from_zarr(store)
    else:
        data = az.InferenceData.from_datatree(tree)
    summary = az.summary(data, var_names=["mu"])
    assert len(summary) == 1
    plain = zarr.open_group(store, mode="r")
    assert plain["posterior/theta"].shape == want["posterior/theta"].shape
    print(f"{store}: xarray {xr.__version__}, zarr {zarr.__version__}, arviz {az.__version__}")


if __name__ == "__main__":
    main(*sys.argv[1:])
