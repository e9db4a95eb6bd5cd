"""Stop-signal tasks by the names that their users know."""

from __future__ import annotations

import json
import os
import tempfile
import warnings

import numpy as np
import pytest

import fitzroy as fz
from fitzroy import stop_signal
from fitzroy.stop_signal import (
    ExGaussianModel,
    RDEXABCDModel,
    WaldStopSignalModel,
    simulate_from_config,
)

pytest.importorskip("xarray")

pytestmark = pytest.mark.once
QUIET = {"progressbar": False, "random_seed": 42}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def study():
    return simulate_from_config(n_subjects=3, seed=1)


def columns(data):
    names = ("subject", "stimulus", "response", "rt", "ssd")
    return {name: np.asarray(data[name]) for name in names}


def test_a_simulation_depends_on_its_seed_alone(study):
    data, truth = study
    assert len(data["rt"]) == 3 * 360
    assert len(truth["v_plus"]) == 3 and set(truth) >= {"B", "t0", "g", "pgf", "ssrt"}
    again, same = simulate_from_config(n_subjects=3, seed=1)
    np.testing.assert_array_equal(columns(again)["rt"], columns(data)["rt"])
    fewer, of_fewer = simulate_from_config(n_subjects=2, seed=1)
    np.testing.assert_array_equal(columns(fewer)["rt"], columns(data)["rt"][: 2 * 360])
    assert of_fewer["B"].tolist() == truth["B"][:2].tolist()
    other, _ = simulate_from_config(n_subjects=3, seed=2)
    assert not np.array_equal(columns(other)["rt"], columns(data)["rt"], equal_nan=True)


def test_a_population_of_ones_own(tmp_path):
    population = {
        "B": 1.2, "t0": 0.15, "v_plus": 3, "v_minus": 0.5, "v0": 2.5, "g": 2.8,
        "stop_mu": 0.24, "stop_sigma": 0.045, "stop_tau": 0.025, "pgf": 0.03, "ptf": 0.06,
    }  # fmt: skip
    config = {"population": population, "spread": dict.fromkeys(population, 0.0)}
    _, truth = simulate_from_config(config, n_subjects=2)
    assert truth["B"].tolist() == [1.2, 1.2]
    lines = []
    for part, one in config.items():
        lines += [f"[{part}]", *(f"{k} = {v}" for k, v in one.items())]
    path = tmp_path / "p.toml"
    path.write_text("\n".join(lines))
    _, of_file = simulate_from_config(path, n_subjects=2)
    assert of_file["ssrt"].tolist() == truth["ssrt"].tolist()
    with pytest.raises(ValueError, match=r"population.B is -1"):
        simulate_from_config({**config, "population": {**population, "B": -1}})
    with pytest.raises(ValueError, match="n_subjects=0"):
        simulate_from_config(n_subjects=0)
    with pytest.raises(FileNotFoundError):
        simulate_from_config(tmp_path / "none.toml")


@pytest.mark.parametrize("single", [False, True])
def test_the_ex_gaussian_race_is_simulated_and_fitted(single):
    name = "ex-gaussian-single" if single else "ex-gaussian"
    data, truth = simulate_from_config(n_subjects=2, seed=1, model=name)
    assert ("error_mu" in truth) is not single
    model = ExGaussianModel(use_gpu=False, single=single)
    found = model.fit(data, draws=20, tune=30, chains=2, correlated=True, **QUIET)
    posterior = found["posterior"]
    assert posterior["corr_go_mu_go_tau"].shape == (2, 20)
    assert {"mu_ssrt", "mu_go_mean", "go_tau"} <= set(posterior.data_vars)
    assert ("error_mu" in posterior.data_vars) is not single
    assert "StopSignalExGaussian" in model.model.text
    with pytest.raises(ValueError, match=r"model='wald': cannot be simulated"):
        simulate_from_config(model="wald")


def test_yaml_is_read_where_it_can_be(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text("population: {B: 1}\n")
    try:
        import yaml  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="PyYAML"):
            simulate_from_config(path)
    else:
        with pytest.raises(ValueError, match="population|spread"):
            simulate_from_config(path)


def test_the_hierarchical_model_finds_what_the_data_were_made_with(study, tmp_path):
    """True values of three subjects within 4.5 posterior standard deviations: 33 of them, one of
    which is farther off with a probability of 2e-4 where posteriors are normal."""
    data, truth = study
    model = RDEXABCDModel(use_hierarchical=True, use_gpu=False)
    out = tmp_path / "fit"
    draws = model.fit(data, draws=500, tune=700, chains=4, cores=2, out=out, **QUIET)
    assert model.trace is draws
    assert draws.posterior["B"].dims == ("chain", "draw", "subject")
    assert {"mu_B", "sigma_B", "mu_pgf_probit", "ssrt"} <= set(draws.posterior.data_vars)
    for name, true in truth.items():
        values = draws.posterior[name]
        mean, sd = values.mean(("chain", "draw")), values.std(("chain", "draw"))
        assert np.all(np.abs(mean - true) < 4.5 * sd), name
    # What `fitzroy stop-signal fit` leaves.
    names = {"subjects.csv", "data_report.json", "model.fz", "report.html", "trace.nc", "run.json"}
    assert names <= set(os.listdir(out))
    assert "StopSignal" in model.model.text


def test_a_summary_is_printed_and_returned(study, capsys):
    model = WaldStopSignalModel(use_gpu=False)
    with pytest.raises(ValueError, match="call fit first"):
        model.summary()
    model.fit(study[0], draws=200, tune=300, chains=2, **QUIET)
    found = model.summary()
    assert "mu_v_true" in capsys.readouterr().out and "mu_v_true" in repr(found)
    assert {"mu_B", "mu_t0", "mu_v_true", "mu_v_false"} <= {r["name"] for r in found.rows}
    # The same baseline by the program's own density of go responses: correct ones are faster.
    posterior = model.trace.posterior
    assert float(posterior["mu_v_true"].mean()) > float(posterior["mu_v_false"].mean())


def test_the_same_seed_gives_the_same_draws_from_any_kind_of_data(study, tmp_path):
    data = study[0]
    fit = {"draws": 20, "tune": 30, "chains": 1, **QUIET}
    apart = RDEXABCDModel(use_hierarchical=False, use_gpu=False)
    one = apart.fit(data, **fit).posterior
    assert "mu_B" not in one and one["B"].shape == (1, 20, 3)
    kinds = [columns(data)]
    if hasattr(data, "to_csv"):
        path = tmp_path / "study.csv"
        data.to_csv(path, index=False)
        kinds.append(path)
    for kind in kinds:
        np.testing.assert_array_equal(apart.fit(kind, **fit).posterior["B"], one["B"])
    milliseconds = columns(data)
    milliseconds["rt"], milliseconds["ssd"] = milliseconds["rt"] * 1000, milliseconds["ssd"] * 1000
    with pytest.raises(ValueError, match="unit='ms'"):
        apart.fit(milliseconds, **fit)
    again = apart.fit(milliseconds, unit="ms", **fit).posterior
    assert again["B"].shape == one["B"].shape


def test_what_cannot_be_fitted_is_refused_by_the_names_of_arguments(study):
    model, data = RDEXABCDModel(use_gpu=False), columns(study[0])
    for settings, words in [
        ({"stop_lb": "high"}, "stop_lb is `high`"),
        ({"nothing": 1}, "unexpected argument 'nothing'"),
        ({"draws": 0}, "draws=0"),
        ({"rt_range": "2:1"}, "rt_range is `2:1`"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.fit(data, **{**QUIET, **settings})
    less = {k: v for k, v in data.items() if k != "ssd"}
    with pytest.raises(ValueError, match="column ssd is missing"):
        model.fit(less, **QUIET)
    with pytest.raises(ValueError, match="different lengths"):
        model.fit({**data, "rt": data["rt"][:-1]}, **QUIET)
    with pytest.raises(TypeError, match="data_df is a int"):
        model.fit(3, **QUIET)


def test_single_precision_is_asked_of_a_gpu_alone(study):
    model = RDEXABCDModel()
    if model.gpu_config["device"] == "cuda":
        pytest.skip("there is a GPU")
    with pytest.warns(UserWarning, match="use_float32=True has no effect"):
        model.fit(study[0], draws=5, tune=5, chains=1, use_float32=True, **QUIET)


def test_the_environment_is_found_and_set_up(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TMPDIR", os.environ.get("TMPDIR", "/tmp"))
    name, memory = stop_signal.detect_gpu_environment()
    assert (name == "CPU") == (memory is None) == (not fz.devices().gpus)
    config = stop_signal.get_optimal_chain_config(4)
    assert config["chains"] == 4 and 1 <= config["cores"] <= 4 and config["recommendation"]
    try:
        found = stop_signal.setup_hpc_environment(tmp_path / "tmp")
        assert found["temp_dir"] == str(tmp_path / "tmp") == tempfile.gettempdir()
        assert found["gpu_config"]["device"] in ("cpu", "cuda")
        assert "temporary files" in capsys.readouterr().out
        alone = stop_signal.setup_hpc_environment(use_gpu=False, temp_dir=tmp_path)
        assert alone["gpu_config"] is None
    finally:
        tempfile.tempdir = None
    with pytest.raises(ValueError, match="device='tpu'"):
        stop_signal.configure_pytensor_gpu("tpu")
    if memory is None:
        with pytest.raises(ValueError, match="CUDA"):
            stop_signal.configure_pytensor_gpu("cuda")


FEW = {"draws": 50, "tune": 50, "chains": 2, "cores": 2, "random_seed": 1, "progressbar": False}


@pytest.mark.filterwarnings("ignore")
def test_settings_of_a_run_are_not_taken_in_silence():
    trials, _ = simulate_from_config(n_subjects=4, seed=3)
    one = RDEXABCDModel().fit(trials, block="2/4", **FEW)
    assert list(one.posterior.coords["subject"].values) == ["s002"]
    for given in ({"block": "nonsense"}, {"seed": 3}, {"dry_run": True}, {"past_turn": "off"}):
        [name] = given
        with pytest.raises(ValueError, match=name):
            RDEXABCDModel().fit(trials, **given, **FEW)


@pytest.mark.filterwarnings("ignore")
def test_tables_and_dicts_stand_for_the_files_of_the_program(tmp_path):
    pd = pytest.importorskip("pandas")
    trials, _ = simulate_from_config(n_subjects=4, seed=3)
    children = pd.DataFrame({"subject": [f"s00{k}" for k in range(1, 5)], "age": [9.0, 10, 11, 12]})
    children.to_csv(tmp_path / "children.csv", index=False)
    priors = {"stop_mu": {"m": 0.2, "s": 0.2}}
    (tmp_path / "priors.json").write_text(json.dumps(priors))
    as_files = {
        "subjects": tmp_path / "children.csv", "slope": "stop_mu=age",
        "priors": tmp_path / "priors.json", "rt_range": "0.15:2.0", "columns": "rt=time",
    }
    as_values = {
        "subjects": children, "slope": {"stop_mu": "age"}, "priors": priors,
        "rt_range": (0.15, 2.0), "columns": {"rt": "time"},
    }
    named = trials.rename(columns={"rt": "time"})
    named["stimulus"] = named["stimulus"] == 1
    first, again = (RDEXABCDModel().fit(named, **given, **FEW) for given in (as_files, as_values))
    slopes = [name for name in first.posterior if "age" in name]
    assert slopes, list(first.posterior)
    for name in ["stop_mu", *slopes]:
        if name in first.posterior:
            np.testing.assert_array_equal(first.posterior[name], again.posterior[name])
