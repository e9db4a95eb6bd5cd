"""Opens a trace written by tests/arviz.rs as ArviZ users would, and checks all of it.

Usage: python check_trace.py TRACE.nc
Works with ArviZ 0.x (InferenceData) and 1.x (DataTree); exits 3 when ArviZ or an engine is missing.
"""

import sys
import warnings

try:
    import arviz as az
    import h5netcdf  # noqa: F401
    import h5py  # noqa: F401
    import netCDF4  # noqa: F401
    import numpy as np
except ImportError as missing:
    print(f"missing: {missing}")
    sys.exit(3)

CHAINS, DRAWS = 4, 200


def number(i):
    """The rule by which the Rust side fills real variables: exact in binary."""
    return ((np.asarray(i) * 7919) % 4001 - 2000) / 64


def dataset(data, group):
    """The xarray Dataset of a group."""
    node = data[group]
    return getattr(node, "dataset", node)


def check_variable(data, group, name, dims, expected):
    variable = dataset(data, group)[name]
    assert variable.dims == dims, (name, variable.dims)
    assert variable.dtype == expected.dtype, (name, variable.dtype, expected.dtype)
    np.testing.assert_array_equal(variable.values, expected, err_msg=name)


def check(path, engine):
    data = az.from_netcdf(path, engine=engine)
    cd = ("chain", "draw")
    shape = (CHAINS, DRAWS)
    n = CHAINS * DRAWS
    reals = lambda *tail: number(np.arange(n * int(np.prod(tail)))).reshape(shape + tail)
    check_variable(data, "posterior", "mu", cd, reals())
    check_variable(data, "posterior", "theta", cd + ("school",), reals(3))
    check_variable(data, "posterior", "big", cd + ("year", "big_dim_1"), reals(2, 50))
    holes = reals()
    holes[0, 3], holes[0, 4] = np.nan, np.inf
    check_variable(data, "posterior", "holes", cd, holes)
    i = np.arange(n).reshape(shape)
    check_variable(data, "sample_stats", "diverging", cd, i % 97 == 0)
    check_variable(data, "sample_stats", "tree_depth", cd, i % 5)
    check_variable(data, "sample_stats", "energy", cd, reals())
    check_variable(data, "log_likelihood", "y", cd + ("school",), reals(3))
    check_variable(data, "warmup_posterior", "mu", cd, number(np.arange(CHAINS * 50)).reshape(CHAINS, 50))
    check_variable(data, "observed_data", "y", ("school",), number(np.arange(3)))
    check_variable(data, "constant_data", "total", (), np.float64(12.5) * np.ones(()))

    posterior = dataset(data, "posterior")
    assert posterior.sizes == {"chain": 4, "draw": 200, "school": 3, "year": 2, "big_dim_1": 50}
    assert posterior["chain"].values.tolist() == [8, 9, 10, 11]
    assert posterior["draw"].values.tolist() == list(range(DRAWS))
    assert posterior["school"].values.tolist() == ["Köln", "St. Paul's", "C"]
    assert posterior["year"].values.tolist() == [-5, 2020]
    assert float(posterior["theta"].sel(chain=9, draw=1, school="C")) == number((1 * DRAWS + 1) * 3 + 2)
    assert dataset(data, "warmup_posterior")["draw"].values.tolist() == list(range(50))
    assert posterior.attrs["created_at"] == "2026-01-02T03:04:05+00:00"
    assert posterior.attrs["sampling_time"] == 0.25
    assert posterior.attrs["tuning_steps"] == 1000
    assert data.attrs["fitzroy_settings"] == '{"draws": 200, "unit": "µ"}'
    groups = [g.strip("/") for g in (data.groups() if callable(data.groups) else data.groups)]
    order = [g for g in groups if g in ("posterior", "sample_stats", "warmup_posterior", "observed_data")]
    assert order[:2] == ["posterior", "sample_stats"], groups

    summary = az.summary(data, var_names=["mu", "theta"])
    assert list(summary.index) == ["mu", "theta[Köln]", "theta[St. Paul's]", "theta[C]"], summary.index
    assert az.loo(data) is not None
    return data


def main():
    path = sys.argv[1]
    for engine in ("h5netcdf", "netcdf4"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", category=FutureWarning)
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            warnings.filterwarnings("ignore", message=".*[Pp]areto.*")
            data = check(path, engine)
        # What was read can be saved and opened again.
        again = f"{path}.{engine}.nc"
        data.to_netcdf(again, engine=engine)
        check(again, engine)
        print(f"ArviZ {az.__version__} with {engine}: ok")


if __name__ == "__main__":
    main()
