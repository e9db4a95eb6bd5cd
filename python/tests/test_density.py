"""Log densities that Python, an address or a library computes."""

from __future__ import annotations

import ctypes
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fitzroy as fz

SEED = 20261125
C_FILES = Path(__file__).parents[2] / "crates" / "cli" / "tests" / "density"


def gamma(x):
    """A gamma number of shape 3 by its logarithm, and a normal number about it."""
    g = math.exp(x[0])
    z = x[1] - g
    return 3 * x[0] - g - 0.5 * z * z, np.array([3 - g + z * g, -z])


def known(**more):
    return fz.Density(
        gamma,
        dim=2,
        variables={"g": (), "both": (2,)},
        expand=lambda x: np.array([math.exp(x[0]), math.exp(x[0]), x[1]]),
        dims={"both": ["which"]},
        coords={"which": ["g", "x"]},
        **more,
    )


def quiet(density, **more):
    return density.sample(progressbar=False, random_seed=SEED, **more)


def test_a_python_function_is_sampled_with_names_dims_and_coords():
    # g has mean and variance 3, x variance 4: five standard errors at an ESS of 1000.
    drawn = quiet(known(), draws=1500)
    posterior = drawn["posterior"]
    assert posterior["both"].dims == ("chain", "draw", "which")
    assert list(posterior["which"].values) == ["g", "x"]
    assert posterior["g"].shape == (4, 1500)
    assert abs(float(posterior["g"].mean()) - 3) < 5 * math.sqrt(3 / 1000)
    assert abs(float(posterior["both"].sel(which="x").mean()) - 3) < 5 * math.sqrt(4 / 1000)
    lp = drawn["sample_stats"]["lp"].values.ravel()
    x = np.stack([np.log(posterior["g"].values.ravel()), posterior["both"].values[..., 1].ravel()])
    assert np.allclose(lp, [gamma(one)[0] for one in x.T], rtol=1e-9, atol=1e-9)


def test_what_a_function_raises_comes_through():
    def breaks(x):
        if abs(x[0]) > 1.5:
            raise ZeroDivisionError("no more")
        return -0.5 * x @ x, -x

    with pytest.raises(ZeroDivisionError, match="no more"):
        quiet(fz.Density(breaks, dim=2), draws=20_000)
    with pytest.raises(ValueError, match="3 slopes, and 2 were expected"):
        quiet(fz.Density(lambda x: (0.0, np.zeros(3)), dim=2))
    with pytest.raises(ValueError, match="2 numbers to record, and 3 were expected"):
        quiet(fz.Density(gamma, dim=2, variables={"a": (3,)}, expand=lambda x: x))
    with pytest.raises(RuntimeError, match="log density"):
        quiet(fz.Density(lambda x: (float("nan"), x), dim=2))


def test_a_run_in_a_folder_goes_on_and_another_density_does_not(tmp_path):
    whole = quiet(known(), draws=400)
    quiet(known(), draws=150, out=tmp_path / "run", report=False)
    more = quiet(known(), draws=400, out=tmp_path / "run", resume=True)
    assert (tmp_path / "run" / "report.html").exists()
    np.testing.assert_array_equal(more["posterior"]["both"], whole["posterior"]["both"])
    with pytest.raises(ValueError, match="made with another density"):
        quiet(known(identity="other"), draws=500, out=tmp_path / "run", resume=True)


def test_chains_start_where_they_are_told():
    starts = np.array([[0.1, 2.0], [0.2, 3.0]])
    drawn = quiet(known(), chains=2, tune=0, draws=1, initvals=starts)
    assert drawn["posterior"]["g"].shape == (2, 1)
    with pytest.raises(ValueError, match=r"initvals has shape \(3,\)"):
        quiet(known(), initvals=[1.0, 2.0, 3.0])


def test_what_does_not_fit_is_said_before_anything_runs():
    with pytest.raises(ValueError, match="dim=None"):
        fz.Density(gamma)
    with pytest.raises(ValueError, match="variables have 3 elements for 2 coordinates"):
        fz.Density(gamma, dim=2, variables={"a": (3,)})
    with pytest.raises(ValueError, match="expand needs variables"):
        fz.Density(gamma, dim=2, expand=gamma)
    with pytest.raises(TypeError, match="not a float"):
        fz.Density(1.5, dim=2)
    with pytest.raises(TypeError, match="an array of its slopes; it gave one float"):
        fz.Density(lambda x: 1.0, dim=2).sample(progressbar=False)
    with pytest.raises(TypeError, match="give both alike"):
        fz.Density(123456, dim=2, variables={"a": (2,)}, expand=gamma)
    with pytest.raises(ValueError, match="dim: a library says that itself"):
        fz.Density("model.so", dim=2)
    with pytest.raises(ValueError, match="only a library takes a file of data"):
        fz.Density(gamma, dim=2, data="data.json")
    with pytest.raises(ValueError, match=r"dims\['a'\] has 2 names for 1 axes"):
        fz.Density(gamma, dim=2, variables={"a": (2,)}, dims={"a": ["k", "l"]})
    with pytest.raises(ValueError, match="address of the log density is 0"):
        quiet(fz.Density(0, dim=2))
    with pytest.raises(ValueError, match="var_names: the density has no h"):
        quiet(known(), draws=10, tune=10, var_names=["h"])
    with pytest.raises(OSError, match="none.so"):
        quiet(fz.Density("none.so"))


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    if sys.platform != "linux" or shutil.which("cc") is None or not C_FILES.exists():
        assert not os.environ.get("FITZROY_REQUIRE_GXX"), "there is no cc"
        pytest.skip("there is no C compiler, or the sources are not here")
    folder = tmp_path_factory.mktemp("libraries")
    for name in ("program", "functions"):
        made = ["cc", "-O1", "-fPIC", "-shared", "-o", folder / f"{name}.so", C_FILES / f"{name}.c"]
        subprocess.run([*made, "-lm"], check=True)
    (folder / "data.json").write_text('{"y": [1.5, -0.5, 2.0, 3.5, 1.0]}')
    return folder


def test_a_stan_library_and_an_address_are_sampled(libraries):
    drawn = quiet(fz.Density(libraries / "program.so", data=libraries / "data.json"))["posterior"]
    assert set(drawn) == {"mu", "sigma", "at", "u"}
    assert drawn["at"].dims == ("chain", "draw", "at_dim_0", "at_dim_1")
    assert np.allclose(drawn["at"][..., 1, 2], drawn["mu"] + 23)
    with pytest.raises(ValueError, match="variable name=y"):
        quiet(fz.Density(libraries / "program.so"))
    # The same functions, named by their library and by their addresses: the same draws.
    library = ctypes.CDLL(str(libraries / "functions.so"))
    address = lambda f: ctypes.cast(f, ctypes.c_void_p).value
    by_address = fz.Density(
        address(library.log_density),
        dim=2,
        variables={"x": (), "g": ()},
        expand=address(library.log_density_expand),
    )
    one = quiet(fz.Density(str(libraries / "functions.so")))["posterior"]
    two = quiet(by_address)["posterior"]
    for name in ("x", "g"):
        np.testing.assert_array_equal(one[name], two[name])
