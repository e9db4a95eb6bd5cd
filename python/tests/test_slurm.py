"""Calls as jobs of a cluster: what is written and refused, and that jobs draw what calls do."""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest

import fitzroy as fz
from fitzroy import slurm, stop_signal

pytest.importorskip("xarray")

pytestmark = pytest.mark.once

TEXT = """data y[schools], sigma[schools]
mu             ~ Normal(0, 5)
tau            ~ HalfCauchy(5)
theta[schools] ~ Normal(mu, tau)
y[schools]     ~ Normal(theta, sigma)
"""
DATA = {
    "y": np.array([28, 8, -3, 7, -1, 1, 18, 12]) + 0.1,
    "sigma": [15, 10, 16, 11, 9, 11, 10, 18],
}
COORDS = {"schools": list("ABCDEFGH")}
QUICK = {"draws": 200, "tune": 300, "random_seed": 3}


@pytest.fixture(autouse=True)
def nobody(tmp_path, monkeypatch):
    """No profiles of one's own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        # Folders of tests are not on a disk that nodes see.
        warnings.filterwarnings("ignore", message=".*which the nodes may not see")
        # 200 draws are few.
        warnings.simplefilter("ignore", fz.ConvergenceWarning)
        yield


def run(job):
    """Runs every task and collects, as Slurm would."""
    tasks = sum(1 for _ in job.status().tasks)
    for task in range(tasks):
        numbers = {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": str(task)}
        env = {**os.environ, **numbers, "SLURM_CPUS_PER_TASK": "1"}
        script = job.folder / "slurm" / "job.sbatch"
        done = subprocess.run(["bash", script], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def same(one, two):
    """Every draw, bit for bit."""
    for name in ("posterior", "sample_stats"):
        assert set(one[name].data_vars) == set(two[name].data_vars)
        for key in one[name].data_vars:
            np.testing.assert_array_equal(one[name][key].values, two[name][key].values)


def test_a_job_draws_what_the_call_draws(tmp_path):
    model = fz.Model(TEXT)
    given = {**QUICK, "coords": COORDS, "log_likelihood": True, "var_names": ["mu", "theta"]}
    job = slurm.submit(model.sample, DATA, **given, out=tmp_path / "run", dry_run=True)
    assert job.jobs == [] and job.status().state == "not started"
    script = job.files["job.sbatch"]
    assert "--chains=4" in script and "#SBATCH --array=0-0" in script
    assert "not submitted" in repr(job) and "<table>" in job._repr_html_()
    with pytest.raises(ValueError, match="was not submitted"):
        job.wait()
    run(job)
    assert job.status().state == "finished" and job.status().part == 1.0
    found, want = job.result(), model.sample(DATA, **given, progressbar=False)
    same(found, want)
    assert list(found.posterior["theta"].coords["schools"].values) == COORDS["schools"]
    assert "y" in found["log_likelihood"].data_vars
    # In another session.
    same(slurm.Job(tmp_path / "run").result(), want)
    assert "task 0 of 1" in job.log() or job.log() == ""


def test_tasks_share_out_the_chains_and_values_may_be_missing(tmp_path):
    model = fz.Model(TEXT)
    y = np.ma.array(DATA["y"], mask=np.arange(8) == 2)
    job = slurm.submit(
        model.sample,
        {**DATA, "y": y},
        **QUICK,
        out=tmp_path / "run",
        tasks=2,
        time="00:20:00",
        mem="3G",
        cpus=2,
        settings={"qos": "long", "env": {"A": "b c"}},
        concurrent=1,
        dry_run=True,
    )
    for line in ("--array=0-1%1", "--time=00:20:00", "--mem=3G", "--qos=long", "export A='b c'"):
        assert line in job.files["job.sbatch"], line
    run(job)
    found = job.result()
    assert found.posterior.sizes["chain"] == 4 and "y_missing" in found.posterior
    # The same call may be made again; another one does not take its folder.
    again = slurm.submit(
        model.sample, {**DATA, "y": y}, **QUICK, out=tmp_path / "run", tasks=2, dry_run=True
    )
    same(again.result(), found)
    with pytest.raises(ValueError, match="another run; name another folder with out="):
        slurm.submit(model.sample, DATA, **QUICK, out=tmp_path / "run", tasks=2, dry_run=True)


def test_a_pymc_model_is_converted_and_comes_back_as_its_own(tmp_path):
    pm = pytest.importorskip("pymc")
    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, dims="school")
        pm.Deterministic("twice", 2 * theta, dims="school")
        pm.Normal("y", theta, DATA["sigma"], observed=DATA["y"], dims="school")
    job = slurm.submit(fz.sample, model, **QUICK, out=tmp_path / "run", dry_run=True)
    run(job)
    want = fz.sample(model, **QUICK, progressbar=False)
    same(job.result(), want)
    same(slurm.Job(tmp_path / "run", model).result(), want)
    with model:
        pm.sample_posterior_predictive(job.result(), progressbar=False)
        pm.Normal("new", 0, 1)
    with pytest.raises(ValueError, match="another than the one that was submitted"):
        slurm.Job(tmp_path / "run", model).result()
    with pm.Model() as endless:
        pm.Normal("x", pm.Poisson("n", 3), 1)
    with pytest.raises(ValueError, match="no job can sample it.*infinitely many"):
        slurm.submit(fz.sample, endless, out=tmp_path / "other", dry_run=True)
    assert not (tmp_path / "other").exists()


def test_studies_and_trainings_are_jobs(tmp_path):
    trials, _ = stop_signal.simulate_from_config(n_subjects=2, seed=1)
    model = stop_signal.WaldStopSignalModel(use_gpu=False)
    given = {"draws": 50, "tune": 100, "chains": 2, "random_seed": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        job = slurm.submit(model.fit, trials, **given, out=tmp_path / "fit", dry_run=True)
        run(job)
        same(job.result(), model.fit(trials, **given, progressbar=False))
    synth = "weather synth --grid 16 --days 12 --spinup 4 --lat-min 35 --lat-max 55 --lon-min -10"
    command = [slurm.job.called.__globals__["place"](), *synth.split(), "--lon-max", "10"]
    subprocess.run([*command, "--out", str(tmp_path / "a.nc")], check=True, capture_output=True)
    network = {
        "latent_size": 8,
        "num_gnn_layers": 1,
        "mlp_num_hidden_layers": 1,
        "boundary_width": 1,
        "validation_frequency": 4,
        "decay_steps": 30,
        "max_steps": 4,
    }
    job = slurm.submit(
        fz.weather.train, tmp_path / "a.nc", **network, out=tmp_path / "net", dry_run=True
    )
    run(job)
    trained = job.result()
    assert trained.ended == "finished" and trained.checkpoint.exists()
    with pytest.raises(ValueError, match="tasks=2: a training"):
        slurm.submit(fz.weather.train, "a.nc", out=tmp_path / "n", tasks=2, dry_run=True)


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        (dict(profile="h200"), ValueError, "no profile `h200`"),
        (dict(time="soon"), ValueError, "^time=.*HH:MM:SS|HH:MM:SS"),
        (dict(tasks=9), ValueError, "tasks=9: the run has 4 chains"),
        (dict(tasks=0), ValueError, "tasks=0"),
        (dict(concurrent=0), ValueError, "concurrent is 0"),
        (dict(settings={"colour": 1}), ValueError, "no key `colour`"),
        (dict(draws=0), ValueError, "draws=0"),
        (dict(initvals={"mu": 1}), ValueError, "initvals"),
        (dict(resume=True), ValueError, "resume=True"),
        (dict(strength=1), TypeError, "sample: got an unexpected keyword argument 'strength'"),
        (dict(metric="full"), ValueError, "metric"),
    ],
)
def test_what_is_wrong_is_said_in_words_of_python(tmp_path, settings, kind, words):
    with pytest.raises(kind, match=words) as caught:
        slurm.submit(fz.Model(TEXT).sample, DATA, out=tmp_path / "run", dry_run=True, **settings)
    assert "--" not in str(caught.value) and "⟨" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_what_cannot_run_is_refused(tmp_path, monkeypatch):
    model = fz.Model(TEXT)
    with pytest.raises(TypeError, match="print does not run as a job; these do: fitzroy.sample"):
        slurm.submit(print, 1, out=tmp_path / "run")
    with pytest.raises(ValueError, match="sigma") as caught:
        slurm.submit(model.sample, {"y": DATA["y"]}, out=tmp_path / "run", dry_run=True)
    assert str(tmp_path) not in str(caught.value)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(ValueError, match="something else; name another folder with out="):
        slurm.submit(model.sample, DATA, out=tmp_path / "mine", dry_run=True)
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]
    with pytest.raises(ValueError, match="not the folder of a job"):
        slurm.Job(tmp_path / "mine")
    monkeypatch.setenv("PATH", "/nowhere")
    job = slurm.submit(model.sample, DATA, out=tmp_path / "run", dry_run=True)
    with pytest.raises(ValueError, match="there is no `sbatch` on this machine.*dry_run=True"):
        slurm.submit(model.sample, DATA, out=tmp_path / "other", partition="")
    with pytest.raises(ValueError, match="nothing was submitted"):
        job.cancel()


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A Slurm of one node."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    there = all(shutil.which(program, path=path) for program in ("slurmd", "munged"))
    if not there or os.getuid() != 0:
        assert os.environ.get("FITZROY_REQUIRE_SLURM") != "1", "there is no Slurm, or not root"
        pytest.skip("no Slurm can be started here")
    script = Path(__file__).parents[2] / "tests" / "slurm" / "one-node.sh"
    subprocess.run([script, "start", tmp_path / "slurm"], check=True)
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm" / "slurm.conf"))
    yield
    subprocess.run([script, "stop", tmp_path / "slurm"], check=True)


def test_a_cluster_runs_it_and_says_how_it_stands(cluster, tmp_path):
    model, small = fz.Model(TEXT), {"partition": "cpu", "mem": "500M", "cpus": 1}
    slow = {"draws": 400_000, "target_accept": 0.999, "as_written": True, "random_seed": 1}
    long = slurm.submit(model.sample, DATA, **slow, out=tmp_path / "long", **small)
    assert len(long.jobs) == 1 and long.status().state in ("waiting", "running")
    job = slurm.submit(model.sample, DATA, **QUICK, out=tmp_path / "run", tasks=2, **small)
    with pytest.raises(ValueError, match="still in the queue.*cancel\\(\\)"):
        slurm.submit(model.sample, DATA, **slow, out=tmp_path / "long", **small)
    with pytest.raises(TimeoutError, match="not ended after 0.1 seconds"):
        long.wait(timeout=0.1)
    long.cancel()
    assert long.wait(timeout=60).state == "failed"
    with pytest.raises(ValueError, match="no partition `fast`"):
        slurm.submit(model.sample, DATA, out=tmp_path / "o", **{**small, "partition": "fast"})
    # A program that does not start on the node.
    gone = tmp_path / "program"
    gone.write_text("#!/bin/sh\nexit 3\n")
    gone.chmod(0o755)
    bad = slurm.submit(
        model.sample,
        DATA,
        **QUICK,
        out=tmp_path / "bad",
        **small,
        settings={"container": str(gone)},
    )
    with pytest.raises(slurm.Failed, match="task 0 ended without a result.*\n.*rerun"):
        bad.result(timeout=60)
    found = job.result(timeout=60)
    assert (tmp_path / "run" / "report.html").exists() and found.posterior.sizes["chain"] == 4
    assert "task 1 of 2" in job.log(1)
