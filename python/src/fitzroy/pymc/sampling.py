"""PyMC models, sampled by Fitzroy."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable
from html import escape
from typing import Any

import pymc as pm

from ..conversion import ConversionWarning, Slopeless, Unconvertible
from ..model import in_background, settings_of
from ..progress import Progress
from ..results import warn_of
from ..traces import diagnose
from .arguments import with_arguments_of_pymc
from .check import Check, check
from .convert import Conversion, convert
from .discrete import is_discrete
from .minibatches import ALL_ROWS, of_all_rows
from .result import tree_of
from .starts import started, starts, without_starts
from .steps import own_step

__all__ = ["Converted", "ConversionWarning", "from_pymc", "sample"]

#: How a model may be sampled.
BACKENDS = ("auto", "fitzroy", "compiled")
#: Groups of a result that PyMC computes if `idata_kwargs` ask for them.
ADDED = ("log_likelihood", "log_prior")
#: What else `idata_kwargs` may have, and why it is not made; nothing to say of what is there anyway.
PASSED = {
    "coords": "the result has those of the model",
    "dims": "the result has those of the model",
    "include_transformed": "coordinates of the sampler are no variables of the model",
    "save_warmup": "discard_tuned_samples=False keeps the warm-up",
    "model": "",
    "sample_dims": "",
    "prior": "",
    "posterior_predictive": "",
}


class Converted:
    """A PyMC model as a model of Fitzroy's language."""

    def __init__(self, model: Any, conversion: Conversion) -> None:
        self.model = model
        self._conversion = conversion

    @property
    def text(self) -> str:
        """What is sampled."""
        return self._conversion.text

    @property
    def data(self) -> dict[str, Any]:
        """Its data: constants of the model and what is observed."""
        return self._conversion.data

    @property
    def notes(self) -> list[str]:
        """What was done how."""
        return self._conversion.notes

    @property
    def missing(self) -> list[str]:
        """Deterministics that PyMC computes from the draws."""
        return self._conversion.missing

    def check(self, n: int = 64, random_seed: int = 1) -> Check:
        """Compares the density and its gradient with those of PyMC at `n` points."""
        return check(self._conversion, self.model, n, random_seed)

    def __repr__(self) -> str:
        return self.text + "".join(f"# {note}\n" for note in self.notes)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    def _current(self) -> Conversion:
        """The conversion, made anew if the model has other data since."""
        if self._conversion.is_stale:
            self._conversion = convert(self.model)
        return self._conversion

    def sample(self, **settings: Any) -> Any:
        """As `fitzroy.sample` of the model, with the data that it has now."""
        return sample(self.model, conversion=self, **settings)


def from_pymc(model: Any = None) -> Converted:
    """The model's text, data and notes; `model` may be left out inside `with pm.Model():`.

    Raises Unconvertible, with the reason, for a model that has no counterpart.
    """
    given = model_of(model)
    whole = of_all_rows(given)
    found = convert(whole)
    if whole is not given:
        found.notes.insert(0, ALL_ROWS)
    return Converted(whole, found)


def model_of(model: Any) -> Any:
    """The model, or the one whose context this is."""
    if isinstance(model, int):
        raise TypeError(f"the first argument is the model; the number of draws is draws={model}")
    if model is not None and not isinstance(model, pm.Model):
        raise TypeError(
            f"a PyMC model is needed, and this is of type {type(model).__name__}; fitzroy.Model "
            "samples texts, fitzroy.numpyro functions of NumPyro"
        )
    return pm.modelcontext(model)


@with_arguments_of_pymc
def sample(
    model: Any = None,
    *,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    cores: int | None = None,
    target_accept: float = 0.8,
    random_seed: Any = None,
    initvals: Any = None,
    var_names: Iterable[str] | None = None,
    max_treedepth: int = 10,
    sampler: str = "nuts",
    metric: str = "auto",
    device: str = "auto",
    precision: str = "auto",
    device_memory: str | float | None = None,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    resume: bool = False,
    report: bool = True,
    progressbar: bool | Progress = True,
    discard_tuned_samples: bool = True,
    idata_kwargs: dict[str, Any] | None = None,
    backend: str = "auto",
    conversion: Converted | None = None,
    blocking: bool = True,
) -> Any:
    """Samples an unchanged PyMC model, and returns what `pm.sample` returns.

    The model is converted to Fitzroy's language. One that cannot be is sampled by its gradient as
    numba compiles it, under the same sampler, with a ConversionWarning that gives the reason; one
    with discrete variables, or with variables that a package draws by a step method of its own, by
    PyMC itself. `backend="fitzroy"` makes an error of that,
    `backend="compiled"` takes the compiled gradient in any case. `initvals` are values of free
    variables at which chains start, exactly: a dict for all chains or one for each; variables
    without any start as without them. `out`, `overwrite`, `resume`, `report`,
    `device`, `precision` and `device_memory` are those of `Model.sample`; `conversion` is one that
    `from_pymc` made before. With `blocking=False` the run goes on in the background, and a
    `fitzroy.Run` is returned; that needs a model that can be converted. A `pm.Minibatch` stands for
    all of its rows. Further arguments of `pm.sample` are taken: `nuts`, `quiet`,
    `compute_convergence_checks`; `init` and others without effect; `step`, `trace`, `callback` and
    `return_inferencedata=False` are errors.

    Raises ValueError for settings out of range and for a model without a finite density.
    """
    model = of_all_rows(model_of(model))
    _check_groups(idata_kwargs)
    if backend not in BACKENDS:
        known = "', '".join(BACKENDS)
        raise ValueError(f"backend='{backend}' is not known; it is one of '{known}'")
    if backend == "compiled" and not blocking:
        raise ValueError("blocking=False needs a model as text, and not backend='compiled'")
    settings = settings_of(
        draws=draws,
        tune=tune,
        chains=chains,
        cores=cores,
        target_accept=target_accept,
        random_seed=random_seed,
        max_treedepth=max_treedepth,
        sampler=sampler,
        metric=metric,
        device=device,
        precision=precision,
        device_memory=device_memory,
        out=out,
        overwrite=overwrite,
        resume=resume,
        report=report,
        keep_warmup=not discard_tuned_samples,
    )
    drawn, cannot = None, ""
    try:
        if backend == "compiled":
            compiled = _compiled(model, settings)
            drawn = compiled.sample(settings, initvals, var_names, progressbar)
        else:
            found = conversion._current() if conversion else convert(model)
            if initvals:
                settings["initvals"] = starts(found.model, found, initvals)
            drawn = _sampled(found, settings, var_names, progressbar, blocking)
            if not blocking:
                return drawn
    except Unconvertible as why:
        if backend != "auto" or not blocking:
            raise ValueError(f"the model cannot be converted: {why}") from why
        settings.pop("initvals", None)
        cannot = str(why)
    if drawn is None:
        try:
            compiled = _compiled(model, settings)
        except Unconvertible as why:
            # Both ways may fail for one reason.
            also = "" if str(why) == cannot else f": {why}"
            message = f"the model cannot be converted ({cannot}), and is sampled by PyMC{also}"
            warnings.warn(message, ConversionWarning, stacklevel=3)
            # PyMC refuses settings of NUTS for a model that has nothing for it.
            slopes = any(not is_discrete(v) and not own_step(v) for v in model.free_RVs)
            slopes = slopes and not isinstance(why, Slopeless)
            of_nuts = {"target_accept": target_accept} if slopes else {}
            # Not the one that `register` may have put in its place.
            of_pymc = getattr(pm.sample, "of_pymc", pm.sample)
            drawn = of_pymc(
                draws,
                tune=tune,
                chains=chains,
                cores=cores,
                random_seed=random_seed,
                initvals=initvals,
                var_names=var_names,
                progressbar=bool(progressbar),
                discard_tuned_samples=discard_tuned_samples,
                idata_kwargs=idata_kwargs,
                model=model,
                **of_nuts,
            )
            return _judged(drawn)
        reason = f"the model cannot be converted ({cannot})"
        message = f"{reason}, and is sampled by its compiled gradient"
        warnings.warn(message, ConversionWarning, stacklevel=3)
        drawn = compiled.sample(settings, initvals, var_names, progressbar)
    for group in ADDED:
        if (idata_kwargs or {}).get(group):
            _add(group, model, drawn)
    return drawn


def _check_groups(idata_kwargs: dict[str, Any] | None) -> None:
    """Says which of PyMC's additions to a result are not made."""
    for name, value in (idata_kwargs or {}).items():
        if name not in PASSED and name not in ADDED:
            known = "', '".join([*ADDED, *PASSED])
            raise TypeError(f"idata_kwargs: '{name}' is not known; it has '{known}'")
        if name not in ADDED and value and PASSED[name]:
            message = f"idata_kwargs: {name} has no effect: {PASSED[name]}"
            warnings.warn(message, ConversionWarning, stacklevel=4)


def _judged(drawn: Any) -> Any:
    """Draws of PyMC's own samplers with the verdict that ours have."""
    try:
        found = diagnose(drawn)
    except ValueError:
        # As of no draws.
        return drawn
    drawn.posterior.attrs.update(verdict=found.verdict, findings="; ".join(found.findings))
    return drawn


def _add(group: str, model: Any, drawn: Any) -> None:
    """A group that PyMC computes from draws; where it cannot, they are there without it."""
    try:
        with model, without_starts(model):
            getattr(pm.stats, f"compute_{group}")(drawn, progressbar=False)
    except Exception as why:
        what = group.replace("_", " ")
        message = f"the draws have no {what}: PyMC gives none ({why})"
        warnings.warn(message, ConversionWarning, stacklevel=4)


def _compiled(model: Any, settings: dict[str, Any]) -> Any:
    """The model's gradient; imported late, since it brings numba."""
    from .compiled import compile_model

    if settings.get("device", "auto").startswith("cuda"):
        raise ValueError("device: a compiled gradient runs on this processor; use 'auto' or 'cpu'")
    return compile_model(model)


def _sampled(
    conversion: Conversion,
    settings: dict[str, Any],
    var_names: Iterable[str] | None,
    progressbar: bool | Progress,
    blocking: bool,
) -> Any:
    arrays: dict[str, Any] = dict(conversion.data)
    for name, labels in conversion.labels.items():
        arrays.setdefault(name, ([len(labels)], labels))

    def made(raw: dict[str, Any]) -> Any:
        return tree_of(conversion.model, conversion, raw, var_names)

    if not blocking:
        return in_background(conversion.text, arrays, settings, progressbar, made)
    try:
        raw = started(conversion, arrays, settings, progressbar)
    except ValueError as error:
        # A place in the text is one that the conversion wrote, and no user.
        if re.match(r"line \d+, column", str(error)):
            raise Unconvertible("its text", str(error)) from error
        missing = re.match(r"`([^`]+)` \(data\), (.*?): the value is missing", str(error))
        if missing and missing[1] not in conversion.called:
            raise Unconvertible("a constant of the model", f"is NaN in {missing[2]}") from error
        raise
    warn_of(raw, stacklevel=4)
    return made(raw)
