"""Regional weather: a graph network trained on gridded records, scored, and asked for forecasts."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Union

from . import _fitzroy
from .progress import progress, tell
from .words import words

__all__ = [
    "Files",
    "Scores",
    "Training",
    "Trials",
    "evaluate",
    "export",
    "predict",
    "train",
    "tune",
]

#: A checkpoint: a file, a folder or a training.
Checkpoint = Union["Training", str, "os.PathLike[str]"]
#: Called with what happens in a training ('step', 'validation', 'saved', 'note') and its numbers.
Told = Callable[[str, dict[str, Any]], None]


class Training:
    """A training that has ended."""

    def __init__(self, document: dict[str, Any]) -> None:
        #: Losses, steps, times and how it ended, as `fitzroy weather train --json` prints them.
        self.document = document
        #: Checkpoints, metrics and a page; none of a dry run.
        self.folder: Path | None = Path(document["out"]) if document.get("out") else None

    @property
    def ended(self) -> str | None:
        """'finished', 'early', 'interrupted', 'diverged' or 'degenerate'; none of a dry run."""
        return self.document.get("ended")

    @property
    def checkpoint(self) -> Path:
        """The best one; of an ensemble the folder of its members."""
        if self.folder is None:
            raise ValueError("a dry run leaves no checkpoint")
        if "members" in self.document:
            return self.folder
        return self.folder / "best.safetensors"

    def history(self) -> list[dict[str, Any]]:
        """What was logged, a dict for each line of `metrics.jsonl`."""
        if self.folder is None:
            return []
        lines = (self.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def __repr__(self) -> str:
        shown = ("ended", "steps", "best_validation_loss", "total_s", "parameters", "out")
        told = [f"{name} {self.document[name]}" for name in shown if name in self.document]
        return ", ".join(told) + "".join(f"\n{a}" for a in self.document.get("advice", []))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


class Scores:
    """A checkpoint scored beside its rivals."""

    def __init__(self, document: dict[str, Any], folder: Path, passed: bool) -> None:
        #: As `scores.json` has them.
        self.document = document
        #: `scores.json`, `scores.csv` and `report.html`.
        self.folder = folder
        #: Whether the model is ahead of its rivals at every lead to 48 hours, by more than chance.
        self.passed = passed

    def to_dataframe(self) -> Any:
        """The scores by method, variable and lead as a pandas DataFrame."""
        import pandas as pd

        return pd.read_csv(self.folder / "scores.csv")

    def __repr__(self) -> str:
        return f"<fitzroy scores in {self.folder}, {'ahead' if self.passed else 'not ahead'}>"


class Trials:
    """Trainings with every combination of some settings."""

    def __init__(self, document: dict[str, Any]) -> None:
        #: The trials that have ended, the best first: their settings, folder and losses.
        self.trials: list[dict[str, Any]] = document["trials"]
        #: `tune.csv`, `tune.json`, and a folder for each trial.
        self.folder = Path(document["out"])

    @property
    def best(self) -> Training:
        """The training whose validation losses fell furthest below those at its start."""
        if not self.trials:
            raise ValueError("no trial has ended")
        folder = Path(self.trials[0]["folder"])
        return Training(json.loads((folder / "run.json").read_text(encoding="utf-8")))

    def to_dataframe(self) -> Any:
        """The trials as a pandas DataFrame, the best first."""
        import pandas as pd

        return pd.read_csv(self.folder / "tune.csv")

    def __repr__(self) -> str:
        lines = [f"{len(self.trials)} trials in {self.folder}, the best first:"]
        for row in self.trials:
            settings = ", ".join(f"{k.replace('-', '_')} {v}" for k, v in row["settings"].items())
            ratio = row["beside_start"]
            shown = "–" if ratio is None else f"{ratio:.4f}"
            lines.append(f"  {shown} x the start's validation losses: {settings}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def train(
    data: Any,
    output_dir: str | os.PathLike[str] | None = None,
    *,
    progressbar: bool | Told = True,
    **settings: Any,
) -> Training:
    """Trains a graph network on `data`: files or Zarr stores of one region, or an xarray Dataset.

    Results go to `output_dir`, by default a fresh `weather-1`, ... Settings are those of `fitzroy
    weather train`, by the same names: `num_epochs=100`, `batch_size=4`, `learning_rate=1e-4`,
    `latent_size=256`, `num_gnn_layers=12`, `use_prefetch=True`, `resume_from=...`, `device='cuda'`,
    ...; `fitzroy weather train --help` lists them. Ctrl-C writes a checkpoint and ends the
    training, which `resume_from` goes on with.

    `members=4` trains an ensemble, `init_from=...` starts from the weights of another training, and
    `find_lr=True` only looks for a learning rate: `.document["suggested_learning_rate"]`.

    `progressbar` may be a function of what happens ('step', 'validation', 'saved', 'note') and a
    dict of its numbers; what it raises ends the training.

    Raises ValueError for what is wrong with data or settings.
    """
    told, end = _shown(progressbar)
    with Files(data) as files:
        asked = words({"data": files, "out": output_dir, **settings})
        try:
            document, notes = _fitzroy.weather_train(asked, told)
        finally:
            end()
    tell(notes, stacklevel=2)
    out = Training(json.loads(document))
    if out.ended in ("diverged", "degenerate"):
        message = f"the training {out.ended}: " + " ".join(out.document.get("advice", []))
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    return out


def tune(
    data: Any,
    sweep: Mapping[str, Sequence[Any]],
    out: str | os.PathLike[str] = "tune",
    *,
    progressbar: bool = True,
    **settings: Any,
) -> Trials:
    """Trains with every combination of the values in `sweep`, and says which does best.

    `sweep` has the values that are tried by settings of `train`, as `{"latent_size": [32, 64],
    "batch_size": [2, 4]}`; `settings` are shared by all trials. Each lies in a folder of its own in
    `out`. After Ctrl-C the same call goes on with what is not done.

        found = weather.tune("regional.nc", {"latent_size": [32, 64]}, max_steps=500)
        forecast = weather.predict("regional.nc", found.best, initial_time="2020-06-01")

    Raises ValueError for what is wrong with data or settings.
    """
    sweeps = []
    for name, values in sweep.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise TypeError(f"sweep[{name!r}] is {values!r}; give a list of the values to try")
        texts = [word.partition("=")[2] for word in words({name: [*values]})]
        sweeps.append(f"{name}={','.join(texts)}")
    if not sweeps:
        raise ValueError("sweep is empty; give settings and their values, {'latent_size': [32, 64]}")
    shown, end = progress(progressbar)
    count = (lambda made, of: shown([made], [0], of)) if shown is not None else None
    with Files(data) as files:
        asked = words({"data": files, **settings})
        try:
            document, notes = _fitzroy.weather_tune(sweeps, os.fspath(out), asked, count)
        finally:
            end()
    tell(notes, stacklevel=2)
    return Trials(json.loads(document))


def evaluate(
    data: Any,
    checkpoint: Checkpoint | Sequence[Checkpoint],
    *,
    progressbar: bool = True,
    **settings: Any,
) -> Scores:
    """Scores a checkpoint (a file, a folder or a training), or several as an ensemble, on the test
    records of `data`, beside persistence, climatology and linear models. Settings are those of
    `fitzroy weather evaluate`: `leads=8`, `max_starts=100`, `channels=[...]`, `out=...`, `device='cuda'`, ..."""
    shown, end = progress(progressbar)
    count = (lambda made, of: shown([made], [0], of)) if shown is not None else None
    with Files(data) as files:
        asked = words({"data": files, "checkpoint": _place(checkpoint), **settings})
        try:
            document, folder, passed, notes = _fitzroy.weather_score(asked, count)
        finally:
            end()
    tell(notes, stacklevel=2)
    return Scores(json.loads(document), Path(folder), passed)


def predict(
    data: Any,
    checkpoint: Checkpoint | Sequence[Checkpoint],
    *,
    initial_time: Any = None,
    num_steps: int = 1,
    target_time: Any = None,
    output: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> Any:
    """A forecast of `num_steps` from `initial_time`, or of `target_time`, as an xarray Dataset.

    Of several checkpoints, or a folder of members, it is their mean, with `NAME_spread` beside each
    variable. The boundary of the region is forced with later records of `data`, or of files in
    `boundary`. `device='cuda'` forecasts on a GPU, in f32 unless `precision` says otherwise; the
    attribute `device` says what was used. With `output`, `visualizations=True` draws maps beside the file. `output` names a NetCDF file to keep it in, whose path is returned where xarray, or
    netCDF4 and h5netcdf, are missing.
    """
    with tempfile.TemporaryDirectory(prefix="fitzroy-") as folder, Files(data) as files:
        place = os.fspath(output) if output is not None else os.path.join(folder, "forecast.nc")
        asked: dict[str, Any] = {"data": files, "checkpoint": _place(checkpoint), "output": place}
        asked["initial_time"] = None if initial_time is None else _time(initial_time)
        asked["target_time"] = None if target_time is None else _time(target_time)
        if target_time is None or num_steps != 1:
            asked["num_steps"] = num_steps
        file, _, notes = _fitzroy.weather_forecast(words({**asked, **settings}))
        tell(notes, stacklevel=2)
        try:
            import xarray as xr

            with xr.open_dataset(file) as found:
                return found.load()
        except (ImportError, ValueError) as error:  # no xarray, or nothing that reads the file for it
            if output is not None:
                return Path(file)
            message = "a forecast in memory needs xarray, and netCDF4 or h5netcdf"
            raise ImportError(f"{message}; name a file with output='...' ({error})") from None


def export(
    data: Any,
    checkpoint: Checkpoint,
    output: str | os.PathLike[str],
    **settings: Any,
) -> Path:
    """Writes one step of a trained forecast as a model of ONNX, and gives its file.

    The model takes two states, the state at the boundary and the forcings, in the units of the
    channels, and gives the next state. Any file of the archive will do for `data`. `settings` are
    those of `fitzroy weather export`.
    """
    with Files(data) as files:
        asked = {"data": files, "checkpoint": _place(checkpoint), "output": os.fspath(output)}
        document, notes = _fitzroy.weather_export(words({**asked, **settings}))
    tell(notes, stacklevel=2)
    return Path(json.loads(document)["file"])


class Files:
    """Data as paths; a Dataset as a file that goes when it is no longer needed."""

    def __init__(self, data: Any) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if isinstance(data, (str, os.PathLike)):
            data = [data]
        if hasattr(data, "to_netcdf"):
            self._folder = tempfile.TemporaryDirectory(prefix="fitzroy-")
            path = os.path.join(self._folder.name, "data.nc")
            data.to_netcdf(path)
            data = [path]
        if not isinstance(data, (list, tuple)):
            raise TypeError(
                f"data is a {type(data).__name__}; it may be a path, a list of paths or an xarray "
                "Dataset"
            )
        self.paths = [os.fspath(path) for path in data]

    def __enter__(self) -> list[str]:
        return self.paths

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()


def _place(checkpoint: Any) -> Any:
    if isinstance(checkpoint, (list, tuple)):
        return [_place(member) for member in checkpoint]
    return os.fspath(checkpoint.checkpoint if isinstance(checkpoint, Training) else checkpoint)


def _time(time: Any) -> str:
    """A time as ISO 8601, without a zone and without parts of seconds."""
    if hasattr(time, "astype"):
        time = time.astype("datetime64[s]")
    return str(time.isoformat()) if hasattr(time, "isoformat") else str(time)


def _shown(asked: bool | Told) -> tuple[Told | None, Callable[[], None]]:
    if callable(asked):
        return asked, lambda: None
    shown, end = progress(asked)
    if shown is None:
        return None, end

    def told(kind: str, what: dict[str, Any]) -> None:
        if kind == "step":
            shown([int(what["step"])], [0], int(what["planned"]))

    return told, end
