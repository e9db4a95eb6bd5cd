"""Handing a call over to the cluster."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .calls import Call, call
from .job import CALL, Job
from .program import called, told

__all__ = ["submit"]


def submit(
    function: Callable[..., Any],
    /,
    *args: Any,
    out: str | os.PathLike[str],
    profile: str = "cpu",
    tasks: int = 1,
    time: Any = None,
    mem: str | None = None,
    cpus: int | None = None,
    gpus: str | int | None = None,
    partition: str | None = None,
    account: str | None = None,
    program: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    slurm_config: str | os.PathLike[str] | None = None,
    concurrent: int | None = None,
    partial: bool = False,
    dry_run: bool = False,
    **kwargs: Any,
) -> Job:
    """Runs `function(*args, **kwargs)` as a job of a Slurm cluster.

    `function` is `fitzroy.sample` for a PyMC model, the `sample` of a `fitzroy.Model`, the `fit` of
    a model of `fitzroy.stop_signal`, or `fitzroy.weather.train`; its arguments are its own, but for
    those of a caller who waits (`progressbar`, `blocking`).

    `out` is the folder of the run, on a disk that all nodes see: model and data are written there,
    the job, its logs and its results. `tasks` share out the chains: each is a job of its own, and
    the draws are the same for any number above one. `profile` says what to ask for ('cpu', 'h100',
    'a100', 'v100', or one of your own in `~/.config/fitzroy/slurm.toml`); `time` ('04:00:00', or a
    timedelta), `mem`, `cpus`, `gpus` ('a100:1'), `partition`, `account`, `program` and others in
    `settings` (`{'qos': 'long', 'modules': ['cuda/12.4']}`) change single keys of it. What is not
    said comes from an estimate of the run. `concurrent` is how many tasks may run at once;
    `partial` collects what there is though tasks failed.

    Everything is checked with the cluster before it is submitted. `dry_run` writes the files, which
    needs no cluster, and submits nothing: `job.files` shows them.

    Raises TypeError for a function that does not run as a job, ValueError for what is wrong with
    the call, for what the cluster refuses, and where there is none.
    """
    if tasks < 1:
        raise ValueError(f"tasks={tasks}: needs a whole number of at least 1")
    asked = call(function, args, kwargs)
    if asked.chains is None and tasks > 1:
        raise ValueError(f"tasks={tasks}: a training is done by one task")
    if asked.chains is not None and tasks > asked.chains:
        raise ValueError(f"tasks={tasks}: the run has {asked.chains} chains; take at most as many")
    keys: dict[str, Any] = {
        "time": time,
        "mem": mem,
        "cpus": cpus,
        "gpus": gpus,
        "partition": partition,
        "account": account,
        "program": program,
        **(settings or {}),
    }
    folder = Path(out).absolute()
    inputs = _laid(folder, asked)
    line = ["slurm", "render" if dry_run else "submit", "--out", str(folder), "--profile", profile]
    for key, value in keys.items():
        if value is not None:
            line += ["--set", f"{key}={_written(value)}"]
    if tasks > 1:
        line += ["--split", f"chains:{tasks}"]
    if slurm_config is not None:
        line += ["--slurm-config", os.fspath(slurm_config)]
    if concurrent is not None:
        line += ["--concurrent", str(concurrent)]
    if partial:
        line.append("--partial")
    try:
        _, _, said = called([*line, "--", *_placed(asked, inputs)])
    except (ValueError, RuntimeError) as error:
        _remove(inputs)
        # The caller knows arrays, and nothing of the files in which they lie.
        raise type(error)(str(error).replace(f"{inputs}{os.sep}", "")) from None
    for note in said.splitlines():
        if note.startswith("warning: "):
            warnings.warn(told(note.removeprefix("warning: ")), UserWarning, stacklevel=2)
    return Job(folder, asked.model)


def _laid(folder: Path, asked: Call) -> Path:
    """Writes model and data, in a folder of the run that is called by what they are."""
    files = {**asked.files, CALL: json.dumps(asked.notes, default=str).encode()}
    sum_of = hashlib.sha256()
    for name, content in files.items():
        sum_of.update(f"{name} {len(content)}\n".encode() + content)
    inputs = folder / "slurm" / f"inputs-{sum_of.hexdigest()[:12]}"
    inputs.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (inputs / name).write_bytes(content)
    return inputs


def _placed(asked: Call, inputs: Path) -> list[str]:
    """The words of the call, with its files where they lie."""
    out = []
    for word in asked.words:
        before, sign, name = word.rpartition("@")
        is_file = bool(sign) and name in asked.files and (not before or before.endswith("="))
        out.append(f"{before}{inputs / name}" if is_file else word)
    return out


def _remove(inputs: Path) -> None:
    """What was laid for a run that was refused, unless it has a plan."""
    if (inputs.parent / "plan.json").exists():
        return
    shutil.rmtree(inputs)
    for folder in (inputs.parent, inputs.parent.parent):
        if any(folder.iterdir()):
            return
        folder.rmdir()


def _written(value: Any) -> str:
    """A value of a profile as the program takes it."""
    if hasattr(value, "total_seconds"):
        seconds = int(value.total_seconds())
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if isinstance(value, (list, tuple)):
        return json.dumps([str(one) for one in value])
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k} = {json.dumps(str(v))}" for k, v in value.items()) + "}"
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)
