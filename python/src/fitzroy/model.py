"""Models as text, sampled."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from html import escape
from numbers import Integral
from typing import Any

from . import _fitzroy
from .background import OFTEN_S, Run
from .curves.solve import processors
from .data import bound, seed_of, starts_of
from .progress import Progress, progress, tell
from .results import groups_of, only, tree, warn_of
from .traces import draws_of

__all__ = ["Model", "draw", "in_background", "run", "settings_of"]


class Model:
    """A model in Fitzroy's language.

    >>> model = Model("data y[obs]; mu ~ Normal(0, 10); y ~ Normal(mu, 1)".replace("; ", "\\n"))
    >>> draws = model.sample({"y": [1.2, 0.7]}, random_seed=1)  # doctest: +SKIP
    """

    def __init__(self, text: str) -> None:
        """Reads the text; raises ValueError for what is wrong, with its place."""
        self.text = text
        self._canonical = _fitzroy.canonical(text)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text)}</pre>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self._canonical == other._canonical

    def __hash__(self) -> int:
        return hash(self._canonical)

    def __reduce__(self) -> tuple[type[Model], tuple[str]]:
        return (Model, (self.text,))

    def sample(
        self,
        data: Any = None,
        *,
        draws: int = 1000,
        tune: int = 1000,
        chains: int = 4,
        cores: int | None = None,
        target_accept: float = 0.8,
        random_seed: Any = None,
        initvals: Any = None,
        coords: Mapping[str, Any] | None = None,
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
        predictive: bool = False,
        log_likelihood: bool = False,
        keep_warmup: bool = False,
        prior_only: bool = False,
        as_written: bool = False,
        progressbar: bool | Progress = True,
        blocking: bool = True,
    ) -> Any:
        """Draws from the posterior given `data`: a dict, a data frame or an xarray Dataset.

        Returns an xarray DataTree (InferenceData with ArviZ before 1) with the groups that ArviZ
        knows. `coords` label dims. `progressbar` may be a function of (done, divergences, total),
        which raises to stop. Ctrl-C returns the draws that there are. Draws that should not be
        relied on give a ConvergenceWarning.

        `initvals` are values of parameters at which chains start, exactly, on their natural scale:
        a dict for all chains, or a list of one for each. A number stands for all elements of an
        array; parameters without a value start at random places.

        `out` names a folder in which the draws are published while they are made, and which is left
        with tables and a report (`report.html`): what `fitzroy sample --out` leaves. An earlier run
        there is replaced with `overwrite`, and goes on with `resume`. `device` is 'auto', 'cpu',
        'cuda', 'cuda:N', or for chains on several GPUs 'cuda:0,1' or 'cuda:all'; `precision` that of
        a GPU; `device_memory` the most of its memory to plan with: a share, 0.75, or a size, '40GB'.

        With `blocking=False` the run goes on in the background, and a `fitzroy.Run` is returned.

        Raises ValueError for what is wrong with data or settings, with its place.
        """
        given = bound(data, coords, self.text)
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
            predictive=predictive,
            log_likelihood=log_likelihood,
            keep_warmup=keep_warmup,
            prior_only=prior_only,
            as_written=as_written,
            initvals=starts_of(initvals),
        )

        def made(raw: dict[str, Any]) -> Any:
            return tree(raw, only(groups_of(raw), var_names, "model"), given.coords)

        if not blocking:
            return in_background(self.text, given.arrays, settings, progressbar, made)
        raw = run(self.text, given.arrays, settings, progressbar)
        if not prior_only:
            warn_of(raw, stacklevel=2)
        return made(raw)

    def prior(
        self,
        data: Any = None,
        *,
        draws: int = 1000,
        random_seed: Any = None,
        coords: Mapping[str, Any] | None = None,
    ) -> Any:
        """Independent draws from the prior, and of the observed data under it."""
        return self.sample(
            data,
            coords=coords,
            draws=draws,
            tune=0,
            chains=1,
            random_seed=random_seed,
            prior_only=True,
            progressbar=False,
        )

    def predict(
        self,
        draws: Any,
        data: Any = None,
        *,
        coords: Mapping[str, Any] | None = None,
        redraw: str | Iterable[str] = (),
        var_names: Iterable[str] | None = None,
        random_seed: Any = None,
        log_likelihood: bool = False,
        cores: int | None = None,
    ) -> Any:
        """What the model predicts for `data` that it was not fitted to, once for each of `draws`.

        `draws` are what `sample` returned, what ArviZ keeps, or a path, see `read`. Observed
        variables that `data` do not hold are predicted. Dims of parameters keep their labels, so that
        `data` may hold some groups of those that were fitted, in any order; constants that have no
        other dims need not be given again. Parameters in `redraw` are not taken from the draws but
        drawn from their priors given all they depend on: for groups that were not seen. Of draws of
        more than 512 MB in a file some are taken.

        Returns an xarray DataTree (InferenceData with ArviZ before 1) with the group `predictions`:
        observed variables, `predict` lines, redrawn parameters and deterministics. Observed
        variables that `data` do hold are predicted beside them, and with `log_likelihood=True` the
        group `log_likelihood` says how likely they were: held-out data are scored so.

        Raises ValueError for labels that were not fitted, and for what is wrong with data or draws.
        """
        given = bound(data, coords, self.text)
        settings = {
            "seed": seed_of(random_seed),
            "threads": cores or processors(),
            "log_likelihood": log_likelihood,
        }
        names = [redraw] if isinstance(redraw, str) else [str(name) for name in redraw]
        raw = _fitzroy.predicted(self.text, draws_of(draws), given.arrays, names, settings)
        groups = only(groups_of(raw), var_names, "model", ["predictions"])
        return tree(raw, groups, given.coords)


def settings_of(
    *,
    chains: int,
    cores: int | None,
    random_seed: Any,
    out: str | os.PathLike[str] | None,
    overwrite: bool,
    resume: bool,
    report: bool,
    **others: Any,
) -> dict[str, Any]:
    """The library's settings of a run, from the arguments of a call."""
    _check_whole("chains", chains, 1)
    if cores is not None:
        _check_whole("cores", cores, 0)
    settings = dict(
        others,
        chains=chains,
        threads=min(cores or processors(), chains),
        seed=seed_of(random_seed),
    )
    if out is not None:
        if overwrite and resume:
            raise ValueError("overwrite=True and resume=True do not go together")
        settings.update(out=os.fspath(out), overwrite=overwrite, resume=resume, report=report)
    elif overwrite or resume:
        name = "overwrite" if overwrite else "resume"
        raise ValueError(f"{name}=True needs a folder: give out='...'")
    return settings


def in_background(
    text: str,
    arrays: dict[str, Any],
    settings: dict[str, Any],
    progressbar: bool | Progress,
    made: Callable[[dict[str, Any]], Any],
) -> Run:
    """A run that goes on while Python does something else; `made` makes the result."""
    check_numbers(settings)
    shown, end = progress(progressbar)
    kept = settings.get("out")

    def work(folder: str, tick: Progress) -> Any:
        given = {"report": False, **settings, "out": folder, "publish_every": OFTEN_S}
        raw = draw(lambda tick: _fitzroy.sample(text, arrays, given, tick), given, tick)
        end()
        warn_of(raw, stacklevel=2)
        return made(raw)

    def look(folder: str) -> Any:
        raw = _fitzroy.read(folder)
        drawn = groups_of(raw).get("posterior", {})
        # Before the first draw its variables are there, and empty.
        return made(raw) if any(values.size for _, values in drawn.values()) else None

    return Run(work, look, kept, shown)


def run(
    text: str, arrays: dict[str, Any], settings: dict[str, Any], progressbar: bool | Progress
) -> dict[str, Any]:
    """One run; `settings` by the library's names."""
    return draw(
        lambda tick: _fitzroy.sample(text, arrays, settings, tick), settings, progressbar
    )


def check_numbers(settings: dict[str, Any]) -> None:
    """Refuses numbers that the library has no type for."""
    for name, least in {"draws": 1, "chains": 1, "tune": 0, "threads": 0, "max_treedepth": 0}.items():
        _check_whole(name, settings.get(name, 1), least)


def _check_whole(name: str, value: Any, least: int) -> None:
    """Refuses what is no whole number of at least `least`."""
    if not isinstance(value, Integral):
        raise TypeError(f"{name}={value!r}: needs a whole number")
    if value < least:
        needs = "of at least 1" if least else "that is not negative"
        raise ValueError(f"{name}={value}: needs a whole number {needs}")


def draw(
    work: Callable[[Progress | None], dict[str, Any]],
    settings: dict[str, Any],
    progressbar: bool | Progress,
) -> dict[str, Any]:
    """Has `work` draw, shows its progress and tells its notes."""
    check_numbers(settings)
    tick, end = progress(progressbar)
    try:
        raw = work(tick)
    finally:
        end()
    tell(raw["notes"], stacklevel=3)
    return raw
