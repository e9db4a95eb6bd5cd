"""The program of the same wheel, and what it says of the machine."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

import fitzroy as fz

pytestmark = pytest.mark.once


def program(*args, **more):
    command = [sys.executable, "-m", "fitzroy", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)


def test_the_package_runs_the_program(tmp_path):
    version = program("--version")
    assert version.returncode == 0 and version.stdout.strip() == f"fitzroy {fz.__version__}"
    wrong = program("sample", tmp_path / "nowhere.fz")
    assert wrong.returncode == 2 and "there is no such file" in wrong.stderr
    model, data = tmp_path / "m.fz", tmp_path / "d.json"
    model.write_text("data y\nmu ~ Normal(0, 1)\ny ~ Normal(mu, 1)\n")
    data.write_text('{"y": 1.0}')
    made = program("sample", model, "--data", data, "--out", "run", "--json", cwd=tmp_path)
    assert made.returncode == 0 and json.loads(made.stdout)["verdict"] == "converged"
    # Reports say how the run was called.
    assert "fitzroy sample" in (tmp_path / "run" / "report.html").read_text()


def test_neither_the_program_nor_the_package_imports_what_it_does_not_need():
    code = "import sys, fitzroy.__main__; print('numpy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_ctrl_c_saves_the_draws_so_far(tmp_path):
    model = tmp_path / "m.fz"
    model.write_text("dim k = 400\nmu[k] ~ Normal(0, 1)\n")
    command = [sys.executable, "-m", "fitzroy", "sample", str(model), "--draws", "300000"]
    run = subprocess.Popen(
        [*command, "--out", "run", "--no-progress"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    progress = tmp_path / "run" / "progress.json"
    for _ in range(600):
        time.sleep(0.05)
        if progress.exists() and '"sampling"' in progress.read_text():
            break
    time.sleep(0.5)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=120)
    assert run.returncode == 130, said
    assert "the draws so far will be saved" in said


def test_devices_and_verification_are_what_the_program_says():
    found = fz.devices()
    assert found.names[0] == "cpu" and len(found) == 1 + len(found.gpus)
    assert found.cpu["threads"] >= 1 and found.cpu["model"] in repr(found)
    assert "<table>" in found._repr_html_()
    if not found.gpus:
        assert found.trouble
    ours = fz.verify()
    theirs = json.loads(program("verify", "--json").stdout)
    assert ours.passed is bool(ours) is theirs["passed"]
    assert [c["name"] for c in ours.checks] == [c["name"] for c in theirs["checks"]]
    assert ours.settings == theirs["settings"] | {
        "memory_budget_bytes": ours.settings["memory_budget_bytes"]
    }
    assert ours.rates["memory_gb_per_s"] > 0
    assert "result: PASS" in repr(ours) and "PASS" in ours._repr_html_()
