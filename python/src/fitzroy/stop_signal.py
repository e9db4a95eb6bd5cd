"""Stop-signal tasks: RDEX-ABCD, the ex-Gaussian race and the Wald baseline, simulated and fitted."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import _fitzroy
from .curves.solve import processors
from .machine import devices
from .model import Model, draw, settings_of
from .progress import Progress
from .results import groups_of, tree, warn_of
from .traces import Diagnosis
from .words import words

__all__ = [
    "ExGaussianModel",
    "RDEXABCDModel",
    "WaldStopSignalModel",
    "configure_pytensor_gpu",
    "csv_of",
    "detect_gpu_environment",
    "get_optimal_chain_config",
    "setup_hpc_environment",
    "simulate_from_config",
]

Array = np.ndarray[Any, Any]
#: Settings of a run; all others are those of the model and of how trials are read.
OF_RUN = frozenset(
    "max_treedepth sampler metric device precision out overwrite resume report log_likelihood "
    "keep_warmup as_written".split()
)


class _StopSignalModel:
    """A model of stop-signal tasks, and its last fit."""

    KIND = ""

    def __init__(self, use_hierarchical: bool = True, use_gpu: bool = True) -> None:
        """Subjects come from one population if `use_hierarchical`, and are fitted apart if not. A
        GPU is used where there is one and it is expected to be faster, if `use_gpu`."""
        self.use_hierarchical = use_hierarchical
        self.use_gpu = use_gpu
        self.gpu_config = configure_pytensor_gpu("auto" if use_gpu else "cpu", verbose=False)
        #: The model that was fitted last, its trials and its draws.
        self.model: Model | None = None
        self.data: Any = None
        self.trace: Any = None
        self._diagnosis: Diagnosis | None = None

    def fit(
        self,
        data_df: Any,
        draws: int = 1000,
        tune: int = 1000,
        chains: int = 4,
        cores: int | None = None,
        use_float32: bool | None = None,
        *,
        target_accept: float = 0.8,
        random_seed: Any = None,
        progressbar: bool | Progress = True,
        **settings: Any,
    ) -> Any:
        """Draws from the posterior of the model given trials, as `Model.sample` returns them.

        `data_df` is a data frame with the columns subject, stimulus, response, rt and ssd (seconds;
        ssd is missing on go trials), a dict of them, or the path of a CSV file. `use_float32` asks
        a GPU for mixed precision, which is compared with float64 and given up where that is not
        good enough; a processor computes in float64.

        Further settings are those of `fitzroy stop-signal fit`, by the same names: `unit='ms'`,
        `rt_range=(0.15, 2.0)`, `priors` and `columns` as a file or a dict, `subjects` as a file or
        a data frame with `slope='stop_mu=age'`, `stop_lb`, `deadline`, `centred`, ..., and those of
        a run: `out`, `resume`, `metric`, ...

        Raises ValueError for what is wrong with trials or settings, with its place.
        """
        of_run = {name: settings.pop(name) for name in OF_RUN & set(settings)}
        of_run.setdefault("device", "auto" if self.use_gpu else "cpu")
        precision = self._precision(use_float32)
        if precision is not None:
            of_run.setdefault("precision", precision)
        given = settings_of(
            draws=draws,
            tune=tune,
            chains=chains,
            cores=cores,
            target_accept=target_accept,
            random_seed=random_seed,
            out=of_run.pop("out", None),
            overwrite=of_run.pop("overwrite", False),
            resume=of_run.pop("resume", False),
            report=of_run.pop("report", True),
            **of_run,
        )
        asked = {"model": self.KIND, "pooling": "partial" if self.use_hierarchical else "none"}
        asked.update(settings)
        study, source = csv_of(data_df)
        with tempfile.TemporaryDirectory() as folder:
            named = words({k: _in_words(k, v, folder) for k, v in asked.items()})
            raw = draw(
                lambda tick: _fitzroy.stop_signal_fit(study, source, named, given, tick),
                given,
                progressbar,
            )
        for warning in raw["warnings"]:
            warnings.warn(warning, UserWarning, stacklevel=2)
        warn_of(raw, stacklevel=2)
        self.data, self.model = data_df, Model(raw["text"])
        self._diagnosis = Diagnosis(*raw["diagnosis"])
        self.trace = tree(raw, groups_of(raw), {})
        return self.trace

    def summary(self) -> Diagnosis:
        """The table of the last fit, which is printed, and whether it can be trusted."""
        if self._diagnosis is None:
            raise ValueError("there is no fit to summarise: call fit first")
        print(self._diagnosis)
        return self._diagnosis

    def _precision(self, use_float32: bool | None) -> str | None:
        if use_float32 is None:
            return None
        if not use_float32:
            return "f64" if self.gpu_config["device"] == "cuda" else None
        if self.gpu_config["device"] == "cuda":
            return "mixed"
        why = "there is no GPU, and a processor computes in float64"
        warnings.warn(f"use_float32=True has no effect: {why}", UserWarning, stacklevel=3)
        return None

    def __repr__(self) -> str:
        how = f"use_hierarchical={self.use_hierarchical}, use_gpu={self.use_gpu}"
        return f"{type(self).__name__}({how})"


class RDEXABCDModel(_StopSignalModel):
    """Two racing accumulators against a stop process, with rates that depend on the delay."""

    KIND = "rdex-abcd"


class ExGaussianModel(_StopSignalModel):
    """A race of ex-Gaussian times: of the right and the wrong response, and of stopping. Of any
    response, whichever it is, with `single`, as in BEESTS."""

    KIND = "ex-gaussian"

    def __init__(
        self, use_hierarchical: bool = True, use_gpu: bool = True, *, single: bool = False
    ) -> None:
        """As the other models; with `single` right and wrong responses are one."""
        super().__init__(use_hierarchical, use_gpu)
        if single:
            self.KIND = "ex-gaussian-single"


class WaldStopSignalModel(_StopSignalModel):
    """The baseline: go responses alone, as a race of Wald times."""

    KIND = "wald"


def simulate_from_config(
    config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
    n_subjects: int = 10,
    seed: int = 42,
    *,
    model: str = "rdex-abcd",
) -> tuple[Any, dict[str, Array]]:
    """Trials of simulated subjects, and their true parameters, one element for each subject.

    `config` is a file in TOML, JSON or YAML with the population and the task, or a dict of the
    same; by default the population that comes along for `model` ('rdex-abcd', 'ex-gaussian' or
    'ex-gaussian-single'). A subject does not depend on how many there
    are. The trials are a pandas DataFrame, or a dict of arrays where pandas is not installed.
    """
    if n_subjects < 1:
        raise ValueError(f"n_subjects={n_subjects}: needs a whole number of at least 1")
    table, truth = _fitzroy.simulated(_config(config), model, n_subjects, seed)
    params = json.loads(truth)["params"]
    return _frame(table), {name: np.array(values) for name, values in params.items()}


def detect_gpu_environment() -> tuple[str, int | None]:
    """The name of the first GPU ('H100', 'A100', 'V100', ...) and its memory in GB; 'CPU' and None
    without one."""
    gpus = devices().gpus
    if not gpus:
        return "CPU", None
    return str(gpus[0]["short_name"]), round(gpus[0]["memory"]["total_bytes"] / 2**30)


def configure_pytensor_gpu(
    device: str = "auto", floatX: str = "float64", verbose: bool = True
) -> dict[str, Any]:
    """What fits run on, in the words of older programs. Nothing has to be configured: `device` is
    an argument of every fit.

    Raises ValueError where `device='cuda'` and there is no GPU.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise ValueError(f"device='{device}' is not known; it is one of 'auto', 'cpu', 'cuda'")
    found, memory = ("CPU", None) if device == "cpu" else detect_gpu_environment()
    if device == "cuda" and memory is None:
        raise ValueError(f"device='cuda': {devices().trouble}")
    config = {
        "device": "cpu" if memory is None else "cuda",
        "floatX": floatX if memory is not None else "float64",
        "gpu_type": found,
        "gpu_memory": memory,
    }
    if verbose:
        print(", ".join(f"{name} {value}" for name, value in config.items() if value is not None))
    return config


def get_optimal_chain_config(n_chains: int = 4) -> dict[str, Any]:
    """Chains and cores that suit this machine, and why."""
    found, memory = detect_gpu_environment()
    if memory is not None:
        why = f"{found}: all chains run on the GPU at the same time"
        return {"chains": n_chains, "cores": 1, "recommendation": why}
    cores = min(n_chains, processors())
    why = f"CPU: {cores} of {n_chains} chains run at the same time, one on each core"
    return {"chains": n_chains, "cores": cores, "recommendation": why}


def setup_hpc_environment(
    temp_dir: str | os.PathLike[str] | None = None, use_gpu: bool = True, verbose: bool = True
) -> dict[str, Any]:
    """Makes a folder for temporary files, by default `tmp` at home, and has this process use it;
    says what fits run on."""
    folder = Path(temp_dir) if temp_dir is not None else Path.home() / "tmp"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None  # It is looked up again.
    config = configure_pytensor_gpu("auto", verbose=verbose) if use_gpu else None
    if verbose:
        print(f"temporary files: {folder}")
    return {"temp_dir": str(folder), "gpu_config": config}


def _in_words(name: str, value: Any, folder: str) -> Any:
    """A setting as the program takes it: a table, or what a file would say, as a file in `folder`."""
    if name == "rt_range" and isinstance(value, (list, tuple)) and len(value) == 2:
        return f"{value[0]}:{value[1]}"
    if name == "columns" and isinstance(value, Mapping):
        return ",".join(f"{field}={column}" for field, column in value.items())
    if name == "slope" and isinstance(value, Mapping):
        return [f"{parameter}={column}" for parameter, column in value.items()]
    if name == "priors" and isinstance(value, Mapping):
        path = Path(folder) / "priors.json"
        path.write_text(json.dumps(value), encoding="utf-8")
        return path
    if name == "subjects" and not isinstance(value, (str, os.PathLike)):
        path = Path(folder) / "subjects.csv"
        path.write_bytes(csv_of(value, "subjects")[0])
        return path
    return value


def _config(config: Any) -> str | None:
    if config is None:
        return None
    if isinstance(config, Mapping):
        return json.dumps(config)
    path = Path(config)
    text = path.read_text(encoding="utf-8")
    if path.suffix not in (".yaml", ".yml"):
        return text
    try:
        import yaml
    except ImportError as error:
        message = f"{path}: YAML needs PyYAML (pip install pyyaml); TOML and JSON need nothing"
        raise ImportError(message) from error
    return json.dumps(yaml.safe_load(text))


def _frame(table: str) -> Any:
    import csv
    import io

    try:
        import pandas as pd
    except ImportError:
        rows = list(csv.DictReader(io.StringIO(table)))
        numbers = ("stimulus", "response", "rt", "ssd")
        out: dict[str, Array] = {"subject": np.array([row["subject"] for row in rows])}
        out.update({k: np.array([float(row[k] or "nan") for row in rows]) for k in numbers})
        return out
    return pd.read_csv(io.StringIO(table))


def csv_of(data: Any, name: str = "data_df") -> tuple[bytes, str]:
    """A table as CSV, and what messages call it."""
    if isinstance(data, (str, os.PathLike)):
        return Path(data).read_bytes(), os.fspath(data)
    if hasattr(data, "write_csv"):
        return data.write_csv().encode(), name
    if isinstance(data, Mapping):
        columns = {str(k): np.asarray(values) for k, values in data.items()}
        columns = {k: v.astype(int) if v.dtype == bool else v for k, v in columns.items()}
        lengths = {k: len(values) for k, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"{name}: columns have different lengths: {lengths}")
        lines = [",".join(columns)]
        lines += [",".join(map(_cell, row)) for row in zip(*columns.values())]
        return "\n".join(lines).encode(), name
    if hasattr(data, "to_csv"):
        flags = [c for c in data.columns if data[c].dtype == bool]
        data = data.assign(**{c: data[c].astype(int) for c in flags}) if flags else data
        return str(data.to_csv(index=False)).encode(), name
    raise TypeError(
        f"{name} is a {type(data).__name__}; it may be a data frame, a dict of columns or the path "
        "of a CSV file"
    )


def _cell(value: Any) -> str:
    text = str(value)
    if text in ("nan", "None"):
        return ""
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n') else text
