"""Figures of draws are those of the program."""

import re
import subprocess
import sys

import numpy as np
import pytest

import fitzroy as fz

pytestmark = pytest.mark.once

TEXT = "data y[obs]\nmu ~ Normal(0, 10)\nsigma ~ HalfNormal(5)\ny ~ Normal(mu, sigma)"
DATA = {"y": [1.2, 0.3, -0.4, 2.0, 1.1, 0.9, 1.6]}
KINDS = (
    "trace rank posterior forest pair energy autocorr ess ppc prior-predictive loo-pit khat parallel"
).split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("figures") / "run"
    settings = dict(draws=1000, tune=500, chains=4, random_seed=4, progressbar=False)
    model = fz.Model(TEXT)
    model.sample(DATA, out=out, report=False, predictive=True, log_likelihood=True, **settings)
    return out


@pytest.fixture(scope="module")
def draws(folder):
    return fz.read(folder)


def _of_program(traces, kind, tmp_path, *flags):
    out = tmp_path / "figure.svg"
    command = [sys.executable, "-m", "fitzroy", "plot", *map(str, traces), "--kind", kind]
    made = [*command, "--out", str(out), "--overwrite", *flags]
    subprocess.run(made, check=True, capture_output=True)
    return out.read_text()


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "prior-predictive"])
def test_figures_are_those_of_the_program(folder, draws, kind, tmp_path):
    theirs = _of_program([folder], kind, tmp_path)
    assert fz.plot(draws, kind).svg == fz.plot(folder, kind).svg
    if kind != "forest":
        assert fz.plot(folder, kind).svg == theirs
    assert "<svg" in theirs and theirs.count("<path") > 3


def test_what_is_asked_for_is_what_the_program_draws(folder, draws, tmp_path):
    flags = ["--var", "mu", "--reference", "mu=0.5", "--rope", "-1,1", "--dark", "--width", "700"]
    ours = fz.plot(
        draws, "posterior", var_names="mu", reference={"mu": 0.5}, rope=(-1, 1), dark=True, width=700,
        ci_prob=0.5,
    )
    assert ours.svg == _of_program([folder], "posterior", tmp_path, *flags, "--ci-prob", "0.5")
    for_all = fz.plot(draws, "posterior", var_names=["mu"], reference=np.float32(0.5))
    assert for_all.svg == fz.plot(draws, "posterior", var_names=["mu"], reference={"mu": 0.5}).svg


def test_a_forest_takes_several(folder, draws):
    both = fz.plot({"first": draws, "again": folder}, "forest").svg
    assert "first" in both and "again" in both
    groups = {"posterior": {"mu": np.zeros((2, 50)) + np.arange(50)}}
    assert "mu" in fz.plot(groups, "forest").svg
    with pytest.raises(ValueError, match="dict of 2 sets"):
        fz.plot({"first": draws, "again": folder}, "trace")


def test_the_prior_has_a_figure_of_its_own():
    prior = fz.Model(TEXT).prior(DATA, draws=100, random_seed=1)
    assert "<svg" in fz.plot(prior, "prior-predictive")._repr_svg_()


def test_endings_choose_the_format(draws, tmp_path):
    figure = fz.plot(draws)
    assert "trace" in repr(figure)
    for ending, start in {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}.items():
        path = tmp_path / f"figure.{ending}"
        for _ in range(2):
            figure.save(path)
        assert path.read_bytes().startswith(start)
    assert (tmp_path / "figure.svg").read_text() == figure.svg
    with pytest.raises(ValueError, match=r"figure\.jpg: figures are written as \.png"):
        figure.save(tmp_path / "figure.jpg")
    with pytest.raises(FileNotFoundError):
        figure.save(tmp_path / "nowhere" / "figure.png")


def test_kinds_are_listed_where_they_are_described(draws):
    with pytest.raises(ValueError, match="kind='histogram'") as told:
        fz.plot(draws, "histogram")
    for kind in KINDS:
        assert kind in str(told.value) and f"'{kind}'" in re.sub(r"\s+", " ", fz.plot.__doc__)


@pytest.mark.parametrize(
    ("wrong", "kind", "words"),
    [
        ({"var_names": "nu"}, ValueError, "nu"),
        ({"width": 20}, ValueError, "width is 20; it must lie between 300 and 4000"),
        ({"ci_prob": 1.0}, ValueError, "ci_prob is 1; it must lie between 0 and 1"),
        ({"rope": (2, 1)}, ValueError, "rope goes from 2 to 1"),
        ({"rope": (float("nan"), 1)}, ValueError, "rope goes from NaN to 1"),
        ({"rope": 1}, TypeError, "rope=1: needs two numbers"),
        ({"reference": "zero"}, TypeError, "reference='zero': needs a number"),
        ({"reference": {"mu": None}}, TypeError, r"reference\['mu'\]=None: needs a number"),
    ],
)
def test_what_is_wrong_is_named(draws, wrong, kind, words):
    with pytest.raises(kind, match=words):
        fz.plot(draws, "posterior", **wrong)


def test_what_draws_lack_is_said():
    bare = {"posterior": {"mu": np.random.default_rng(1).normal(size=(2, 100))}}
    for kind in ["energy", "ppc", "loo-pit"]:
        with pytest.raises(ValueError) as told:
            fz.plot(bare, kind)
        assert "--" not in str(told.value)
    with pytest.raises(TypeError, match="draws are a"):
        fz.plot(3)
