"""Calls that may run as jobs: what the program is asked for, and the files that it reads."""

from __future__ import annotations

import inspect
import io
import json
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import stop_signal, weather
from ..data import Bound, bound
from ..model import Model, check_numbers, settings_of
from ..words import words

__all__ = ["Call", "call"]

#: What the job decides, or what only a waiting caller has.
OF_THE_CALLER = ("blocking", "progressbar", "overwrite", "resume", "out", "name")
#: Settings whose flags are called otherwise, or which the program takes as its default.
AS_DEFAULT = {"device": "auto", "precision": "auto"}


@dataclass
class Call:
    """A call for the program."""

    #: The command, and its flags; files are named as in `files`, behind `@`.
    words: list[str]
    #: Contents of the files that it reads.
    files: dict[str, bytes]
    #: Chains that tasks may share out; none for what one task does.
    chains: int | None
    #: What the result needs besides the draws.
    notes: dict[str, Any] = field(default_factory=dict)
    #: The PyMC model whose draws are wanted.
    model: Any = None


def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
    """The call `function(*args, **kwargs)` for the program.

    Raises TypeError for a function that does not run as a job, ValueError for arguments that a job
    cannot have.
    """
    owner, made = getattr(function, "__self__", None), getattr(function, "__func__", function)
    given: tuple[Any, ...] = args if owner is None else (owner, *args)
    for known, of in _known():
        if made is known:
            try:
                arguments = inspect.signature(known).bind(*given, **kwargs)
            except TypeError as error:
                raise TypeError(f"{made.__name__}: {error}") from None
            arguments.apply_defaults()
            return of(dict(arguments.arguments))
    raise TypeError(
        f"{getattr(function, '__qualname__', function)!s} does not run as a job; these do: "
        "fitzroy.sample, the sample of a fitzroy.Model, the fit of a model of fitzroy.stop_signal, "
        "fitzroy.weather.train"
    )


def _known() -> list[tuple[Any, Callable[[dict[str, Any]], Call]]]:
    out: list[tuple[Any, Callable[[dict[str, Any]], Call]]] = [
        (Model.sample, _of_model),
        (stop_signal.RDEXABCDModel.fit, _of_trials),
        (weather.train, _of_training),
    ]
    # PyMC takes a second to import, and who has one of its models has imported it.
    if "pymc" in sys.modules:
        from .. import pymc

        out.append((pymc.sample, _of_pymc))
    return out


def _of_model(given: dict[str, Any]) -> Call:
    model: Model = given.pop("self")
    data = bound(given.pop("data"), given.pop("coords"), model.text)
    var_names = given.pop("var_names")
    flags = _flags(given)
    files, named = _files(model.text, data.arrays)
    notes = {
        "var_names": None if var_names is None else list(var_names),
        "coords": {name: values.tolist() for name, values in data.coords.items()},
    }
    return Call(["sample", *named, *flags], files, given["chains"], notes)


def _of_pymc(given: dict[str, Any]) -> Call:
    import pymc as pm

    from ..conversion import Unconvertible
    from ..pymc.convert import convert

    model = pm.modelcontext(given.pop("model"))
    conversion, var_names = given.pop("conversion"), given.pop("var_names")
    if given.pop("idata_kwargs"):
        raise ValueError(
            "idata_kwargs: a job makes draws; compute what else you need of its result"
        )
    if given.pop("backend") == "compiled":
        raise ValueError("backend='compiled': a job samples a model as text")
    try:
        found = conversion or convert(model)
    except Unconvertible as why:
        raise ValueError(f"the model cannot be converted, so no job can sample it: {why}") from why
    arrays: Bound = dict(found.data)
    for name, labels in found.labels.items():
        arrays.setdefault(name, ([len(labels)], labels))
    given["keep_warmup"] = not given.pop("discard_tuned_samples")
    flags = _flags(given)
    files, named = _files(found.text, arrays)
    notes = {"var_names": None if var_names is None else list(var_names)}
    return Call(["sample", *named, *flags], files, given["chains"], notes, model)


def _of_trials(given: dict[str, Any]) -> Call:
    model = given.pop("self")
    further = given.pop("settings")
    of_run = {name: further.pop(name) for name in stop_signal.OF_RUN & set(further)}
    study, _ = stop_signal.csv_of(given.pop("data_df"))
    if not model.use_gpu:
        of_run.setdefault("device", "cpu")
    if given.pop("use_float32"):
        of_run.setdefault("precision", "mixed")
    flags = _flags({"report": True, **given, **of_run})
    pooling = "partial" if model.use_hierarchical else "none"
    asked = _as_flags(words({"model": model.KIND, "pooling": pooling, **further}))
    files = {"trials.csv": study}
    return Call(["stop-signal", "fit", "@trials.csv", *asked, *flags], files, given["chains"])


def _of_training(given: dict[str, Any]) -> Call:
    further = given.pop("settings")
    if given["output_dir"] is not None:
        raise ValueError("output_dir: the job's is out='...'")
    data = given["data"]
    files: dict[str, bytes] = {}
    with weather.Files(data) as paths:
        if hasattr(data, "to_netcdf"):
            files["data.nc"], paths = Path(paths[0]).read_bytes(), ["@data.nc"]
    asked = _as_flags(words({"data": paths, **further}))
    return Call(["weather", "train", *asked], files, None)


def _flags(given: dict[str, Any]) -> list[str]:
    """Settings of a run as flags of the program."""
    for name in ("overwrite", "resume"):
        if given.get(name):
            raise ValueError(f"{name}=True: a job replaces what never began, and goes on by itself")
    if given.get("initvals") is not None:
        raise ValueError("initvals: chains of a job find their own starts")
    of_run = {k: v for k, v in given.items() if k not in (*OF_THE_CALLER, "initvals", "data_df")}
    cores = of_run.pop("cores")
    settings = settings_of(cores=cores, out=None, overwrite=False, resume=False, **of_run)
    check_numbers(settings)
    settings.pop("threads")
    if not settings.pop("report", True):
        settings["no_report"] = True
    if settings.pop("as_written", False):
        settings.update(centring="as-written", rewrites="off")
    for name, value in AS_DEFAULT.items():
        if settings.get(name) == value:
            del settings[name]
    if cores is not None:
        settings["cores"] = cores
    return _as_flags(words(settings))


def _as_flags(settings: list[str]) -> list[str]:
    """`name=value` as the program takes it."""
    pairs = (word.partition("=") for word in settings)
    return [f"--{name.replace('_', '-')}{sign}{value}" for name, sign, value in pairs]


def _files(text: str, arrays: Mapping[str, Any]) -> tuple[dict[str, bytes], list[str]]:
    """A model and its data as files, and how they are named to the program."""
    files = {"model.fz": text.encode()}
    numbers = {k: v for k, v in arrays.items() if isinstance(v, np.ndarray)}
    # Only JSON knows values that are missing.
    whole = {k: v for k, v in numbers.items() if not np.isnan(v).any()}
    others = {k: _nested(*v) for k, v in arrays.items() if k not in numbers}
    others.update({k: _with_gaps(v) for k, v in numbers.items() if k not in whole})
    named = ["@model.fz"]
    if whole:
        files["data.npz"] = _npz(whole)
        named += ["--data", "@data.npz"]
    if others:
        files["data.json"] = json.dumps(others, ensure_ascii=False).encode()
        named += ["--data", "@data.json"]
    return files, named


def _npz(arrays: Mapping[str, np.ndarray[Any, Any]]) -> bytes:
    """As `numpy.savez`, whose own arguments are names that no array may have."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for name, values in arrays.items():
            with packed.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(values), allow_pickle=False)
    return out.getvalue()


def _nested(shape: list[int], labels: list[str]) -> Any:
    return np.array(labels, dtype=object).reshape(shape).tolist()


def _with_gaps(values: np.ndarray[Any, Any]) -> Any:
    out = values.astype(object)
    out[np.isnan(values)] = None
    return out.tolist()
