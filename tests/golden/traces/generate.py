"""Writes small traces of other samplers as ArviZ saves them, and what is in them.

Run once with each line of ArviZ:  python generate.py
ArviZ 0.23 (with pymc 5.28, nutpie 0.16, numpyro 0.22): pymc.nc, nutpie.nc, numpyro.nc, cmdstan.nc.
ArviZ 1.3: arviz1.nc, transposed.nc. Each file has its description beside it as NAME.json, and is
stored compressed, as NAME.nc.gz.
"""

import gzip
import json
import tempfile
from pathlib import Path

import arviz as az
import numpy as np

HERE = Path(__file__).parent
Y = np.array([28.0, 8.0, -3.0])
SIGMA = np.array([15.0, 10.0, 16.0])
SCHOOLS = ["Köln", "Bonn", "Ulm"]
CHAINS, DRAWS = 2, 6


def describe(name, engine="h5netcdf"):
    """Writes NAME.json: dims, sizes and exact values of every numeric variable, as xarray reads them."""
    data = az.from_netcdf(HERE / f"{name}.nc", engine=engine)
    data.load()
    groups = data.groups() if callable(data.groups) else data.groups
    if not callable(data.groups) and hasattr(data, "children"):
        groups = list(data.children)
    out = {"coords": {}, "groups": {}}
    for group in (g.strip("/") for g in groups):
        dataset = getattr(data[group], "dataset", data[group])
        out["groups"][group] = variables = {}
        for variable, array in dataset.data_vars.items():
            if array.dtype.kind not in "iufb":
                continue
            variables[variable] = {
                "dims": list(array.dims),
                "shape": list(array.shape),
                "kind": array.dtype.kind,
                "values": [repr(float(x)) for x in array.values.ravel().tolist()],
            }
        for dim in dataset.dims:
            if dim in dataset.coords:
                labels = [str(x) for x in dataset.coords[dim].values.tolist()]
                out["coords"].setdefault(dim, labels)
    (HERE / f"{name}.json").write_text(json.dumps(out, indent=None, ensure_ascii=False) + "\n")
    with open(HERE / f"{name}.nc.gz", "wb") as file:
        with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as compressed:
            compressed.write((HERE / f"{name}.nc").read_bytes())
    (HERE / f"{name}.nc").unlink()


def pymc_and_nutpie():
    import nutpie
    import pymc as pm

    with pm.Model(coords={"school": SCHOOLS}) as model:
        mu = pm.Normal("mu", 0, 5)
        theta = pm.Normal("theta", mu, 3, dims="school")
        pm.Normal("y", theta, SIGMA, observed=Y, dims="school")
        pm.Bernoulli("flag", 0.5)
    options = dict(chains=CHAINS, draws=DRAWS, tune=20, random_seed=1, progressbar=False)
    data = pm.sample(model=model, compute_convergence_checks=False, **options, cores=1)
    data.to_netcdf(HERE / "pymc.nc")
    with pm.Model(coords={"school": SCHOOLS}) as model:
        mu = pm.Normal("mu", 0, 5)
        theta = pm.Normal("theta", mu, 3, dims="school")
        pm.Normal("y", theta, SIGMA, observed=Y, dims="school")
    compiled = nutpie.compile_pymc_model(model)
    data = nutpie.sample(compiled, chains=CHAINS, draws=DRAWS, tune=20, seed=1, progress_bar=False, save_warmup=False)
    data.to_netcdf(HERE / "nutpie.nc", engine="netcdf4")


def numpyro():
    import jax
    import numpyro as npr
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    def model(y=None):
        mu = npr.sample("mu", dist.Normal(0, 5))
        with npr.plate("school", 3):
            theta = npr.sample("theta", dist.Normal(mu, 3))
            npr.sample("y", dist.Normal(theta, SIGMA), obs=y)

    mcmc = MCMC(NUTS(model), num_warmup=20, num_samples=DRAWS, num_chains=CHAINS, chain_method="sequential", progress_bar=False)
    mcmc.run(jax.random.PRNGKey(1), y=Y, extra_fields=("diverging", "energy", "num_steps", "accept_prob"))
    az.from_numpyro(mcmc, coords={"school": SCHOOLS}, dims={"theta": ["school"]}).to_netcdf(HERE / "numpyro.nc")


def cmdstan():
    """CmdStan's own output text, read by ArviZ."""
    rng = np.random.default_rng(1)
    head = "lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,mu,theta.1,theta.2,theta.3"
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for chain in range(CHAINS):
            lines = ["# num_samples = 6", "# num_warmup = 10", "# save_warmup = 0", "# thin = 1", head]
            for i in range(DRAWS):
                stats = [-rng.random(), rng.random(), 0.5, 3, 7, int(i == 2), rng.random()]
                lines.append(",".join(str(x) for x in stats + list(rng.normal(size=4))))
            path = Path(folder) / f"out-{chain + 1}.csv"
            path.write_text("\n".join(lines) + "\n")
            paths.append(str(path))
        data = az.from_cmdstan(paths, coords={"school": SCHOOLS}, dims={"theta": ["school"]})
        data.to_netcdf(HERE / "cmdstan.nc", engine="netcdf4")


def arviz1():
    import xarray as xr

    rng = np.random.default_rng(2)
    data = az.from_dict(
        {
            "posterior": {"mu": rng.normal(size=(CHAINS, DRAWS)), "theta": rng.normal(size=(CHAINS, DRAWS, 3)).astype("f4")},
            "sample_stats": {"diverging": rng.random((CHAINS, DRAWS)) < 0.3, "depth": rng.integers(0, 9, (CHAINS, DRAWS)).astype("u1")},
            "observed_data": {"y": Y},
        },
        coords={"school": SCHOOLS, "time": [0.5, 1.0, 2.0]},
        dims={"theta": ["school"], "y": ["time"]},
    )
    data.to_netcdf(HERE / "arviz1.nc", engine="h5netcdf")
    describe("arviz1")
    data["posterior"] = xr.DataTree(data["posterior"].to_dataset().transpose("school", "draw", "chain"))
    data.to_netcdf(HERE / "transposed.nc", engine="netcdf4")
    describe("transposed", "netcdf4")


def main():
    if az.__version__.startswith("0."):
        pymc_and_nutpie()
        numpyro()
        cmdstan()
        for name in ("pymc", "nutpie", "numpyro", "cmdstan"):
            describe(name)
    else:
        arviz1()


if __name__ == "__main__":
    main()
