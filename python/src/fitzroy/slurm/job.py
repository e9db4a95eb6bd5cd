"""A run on the cluster: how it stands, and what it found."""

from __future__ import annotations

import json
import os
import time
from html import escape
from pathlib import Path
from typing import Any

from .. import _fitzroy
from ..results import groups_of, only, tree, warn_of
from ..traces import diagnose
from ..weather import Training
from .program import called, told

__all__ = ["CALL", "Failed", "Job", "Status"]

#: The file with what a result needs besides the draws.
CALL = "call.json"
#: Seconds between two looks at the queue, at most.
SELDOM_S = 15.0
#: Looks after which a task that is neither at work nor in the queue is believed to have failed: the
#: queue does not always answer.
LOOKS = 3


class Failed(RuntimeError):
    """Tasks of a job ended without a result."""


class Status:
    """What the tasks of a job are doing."""

    def __init__(self, document: dict[str, Any], submitted: bool = False) -> None:
        self._submitted = submitted
        #: As `fitzroy slurm status --json` prints it.
        self.document = document
        #: For each task its number, its `state`, the `reason` for which it waits, and its
        #: `progress`, none before it began.
        self.tasks: list[dict[str, Any]] = document["tasks"]
        #: Whether the job that puts results together is in the queue.
        self.collecting = bool(document["collecting"])

    @property
    def state(self) -> str:
        """'not started', 'waiting', 'running', 'collecting', 'finished' or 'failed'."""
        states = {task["state"] for task in self.tasks}
        for one in ("running", "waiting"):
            if one in states:
                return one
        if states <= {"finished"}:
            return "collecting" if self.collecting else "finished"
        # What was submitted and is not in the queue was cancelled before it began.
        return "failed" if self._submitted or states != {"not started"} else "not started"

    @property
    def part(self) -> float:
        """How much is done, from 0 to 1."""
        return sum(map(_part, self.tasks)) / max(len(self.tasks), 1)

    def _cells(self) -> list[tuple[str, str, str, str]]:
        rows = [("task", "state", "done", "")]
        for task in self.tasks:
            done = f"{100 * _part(task):.0f} %"
            rows.append((str(task["task"]), task["state"], done, task["reason"]))
        return rows

    def __repr__(self) -> str:
        lines = [f"{a:>4}  {b:<11}  {c:>5}  {d}".rstrip() for a, b, c, d in self._cells()]
        return "\n".join([self.state, *lines])

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._cells()
        )
        return f"<p><b>{self.state}</b></p><table>{rows}</table>"


class Job:
    """A run on the cluster, known by its folder: `Job('run')` finds it again in another session."""

    def __init__(self, folder: str | os.PathLike[str], model: Any = None) -> None:
        """The run in `folder`, which `submit` returned. With the PyMC `model` that was submitted,
        the result has the form that `pm.sample` returns; without, that of the converted text.

        Raises ValueError where no run is.
        """
        #: Everything of the run.
        self.folder = Path(folder).absolute()
        self.model = model
        self._plan()

    def _plan(self) -> dict[str, Any]:
        path = self.folder / "slurm" / "plan.json"
        try:
            plan: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(f"{self.folder} is not the folder of a job: {error}") from None
        return plan

    @property
    def files(self) -> dict[str, str]:
        """The job files by name: 'job.sbatch' runs the tasks, 'collect.sbatch' puts together what
        they made, 'plan.json' says what was planned."""
        names = ("job.sbatch", "collect.sbatch", "plan.json")
        return {name: (self.folder / "slurm" / name).read_text("utf-8") for name in names}

    @property
    def jobs(self) -> list[int]:
        """The numbers by which Slurm knows the tasks, the newest last; none before submission."""
        try:
            text = (self.folder / "slurm" / "submitted.json").read_text("utf-8")
        except FileNotFoundError:
            return []
        return [int(number) for number in json.loads(text)["jobs"]]

    def status(self) -> Status:
        """What the tasks are doing, by their own files and by the queue."""
        _, said, _ = called(["slurm", "status", str(self.folder), "--json"])
        return Status(json.loads(said), bool(self.jobs))

    def log(self, task: int = 0) -> str:
        """Everything that a task said in its last run; '' where it never began."""
        logs = self.folder.glob(f"logs/*_[0-9]*_{task}.log")
        newest = max(logs, key=lambda path: path.stat().st_mtime, default=None)
        return "" if newest is None else newest.read_text("utf-8", errors="replace")

    def wait(self, timeout: float | None = None) -> Status:
        """Waits until the job has ended, well or not, and says how.

        Raises TimeoutError after `timeout` seconds, ValueError for a job that was not submitted.
        """
        end = None if timeout is None else time.monotonic() + timeout
        pause, failed = 0.5, 0
        while True:
            status = self.status()
            failed = failed + 1 if status.state == "failed" else 0
            if status.state == "finished" or failed >= LOOKS:
                return status
            if status.state == "not started":
                raise ValueError(f"{self.folder} was not submitted")
            if end is not None and time.monotonic() + pause > end:
                raise TimeoutError(f"the job has not ended after {timeout} seconds: {status!r}")
            time.sleep(pause)
            pause = min(pause * 1.5, SELDOM_S)

    def result(self, timeout: float | None = None) -> Any:
        """What the call returns, when the job has ended; waits for that as `wait` does.

        Draws that should not be relied on give a ConvergenceWarning, as they do in the call.

        Raises Failed, with what their logs end with, where tasks have no result.
        """
        if self.wait(timeout).state == "failed":
            self._raise()
        words = self._plan()["command"]
        if words[:2] == ["weather", "train"]:
            return self._training()
        if not self._collected():
            complete, _, said = called(["slurm", "collect", str(self.folder)])
            if not complete:
                raise Failed(told(said.strip()))
        return self._draws()

    def _collected(self) -> Path | None:
        """Where the draws of all chains are, if they are put together."""
        whole, only_task = self.folder / "trace.nc", self.folder / "task-0"
        if whole.exists():
            return whole
        return only_task if self._plan()["share"] == "whole" and only_task.exists() else None

    def _raise(self) -> None:
        lines = []
        for task in self.status().tasks:
            if task["state"] != "finished":
                said = [line for line in self.log(task["task"]).splitlines() if line.strip()]
                last = f"; its log ends with: {said[-1].strip()}" if said else ""
                lines.append(f"task {task['task']} ended without a result{last}")
        raise Failed("\n".join([*lines, "rerun() goes on with what is missing"]))

    def _training(self) -> Training:
        path = self.folder / "task-0" / "run.json"
        return Training({**json.loads(path.read_text("utf-8")), "out": str(path.parent)})

    def _draws(self) -> Any:
        path = self._collected()
        assert path is not None, "it was collected before"
        raw, found = _fitzroy.read(str(path)), diagnose(path)
        notes: dict[str, Any] = json.loads(self._input(CALL) or "{}")
        weight = "remark" if found.converged else "grave"
        raw.update(verdict=found.verdict, findings=[(weight, f) for f in found.findings])
        warn_of({**raw, "interrupted": False}, stacklevel=3)
        if self.model is not None:
            return self._of_pymc(raw, notes)
        coords = dict(notes.get("coords", {}))
        return tree(raw, only(groups_of(raw), notes.get("var_names"), "model"), coords)

    def _of_pymc(self, raw: dict[str, Any], notes: dict[str, Any]) -> Any:
        from ..pymc.convert import convert
        from ..pymc.result import tree_of

        conversion = convert(self.model)
        text = self._input("model.fz")
        if conversion.text != text:
            raise ValueError("the model is another than the one that was submitted")
        return tree_of(self.model, conversion, raw, notes.get("var_names"))

    def _input(self, name: str) -> str:
        """What the call laid in the folder."""
        for word in self._plan()["command"]:
            path = Path(word.rpartition("=")[2])
            if path.parent.parent == self.folder / "slurm" and (path.parent / name).exists():
                return (path.parent / name).read_text("utf-8")
        return ""

    def rerun(self) -> Job:
        """Submits again the tasks that ended without a result; they go on where they stopped."""
        called(["slurm", "rerun", str(self.folder)])
        return self

    def cancel(self) -> None:
        """Cancels the job. What its tasks saved is kept, and `rerun` goes on."""
        called(["slurm", "cancel", str(self.folder)])

    def __repr__(self) -> str:
        jobs = ", ".join(map(str, self.jobs))
        return f"<fitzroy.slurm.Job in {self.folder}, {f'job {jobs}' if jobs else 'not submitted'}>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self)[1:-1])}</p>{self.status()._repr_html_()}"


def _part(task: dict[str, Any]) -> float:
    if task["state"] == "finished":
        return 1.0
    progress = task["progress"] or {}
    total = progress.get("total") or 0
    return float(progress.get("done") or 0) / total if total else 0.0
