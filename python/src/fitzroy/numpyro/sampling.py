"""NumPyro models, sampled by Fitzroy: as text, or by the gradient that JAX compiles."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

from ..conversion import ConversionWarning, Unconvertible
from ..model import settings_of
from ..progress import Progress
from ..results import warn_of
from .draws import Draws

__all__ = ["Converted", "drawn", "from_numpyro"]

#: How a model may be sampled.
BACKENDS = ("auto", "fitzroy", "compiled")


class Converted:
    """A NumPyro model and its arguments as a model of Fitzroy's language."""

    def __init__(self, text: Any) -> None:
        self._text = text

    @property
    def text(self) -> str:
        """What is sampled."""
        return str(self._text.conversion.text)

    @property
    def data(self) -> dict[str, Any]:
        """Its data: constants of the model and what is observed."""
        return dict(self._text.conversion.data)

    @property
    def notes(self) -> list[str]:
        """What was done how."""
        return list(self._text.notes)

    @property
    def missing(self) -> list[str]:
        """Deterministic sites that NumPyro computes from the draws."""
        return list(self._text.missing)

    def check(self, n: int = 64, random_seed: int = 1) -> Any:
        """Compares the density and its gradient with NumPyro's at `n` points, in float64."""
        from .check import check

        return check(self._text, n, random_seed)

    def sample(
        self,
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
        keep_warmup: bool = False,
    ) -> Any:
        """Draws from the posterior: an xarray DataTree (InferenceData with ArviZ before 1).

        Its groups are posterior, sample_stats and observed_data; the dims of sites are their
        plates. Discrete sites, which NumPyro sums out, are drawn, too. `initvals` are values of
        sites at which chains start, a dict for all chains or one for each. All other settings are
        those of `Model.sample`.

        Raises ValueError for settings out of range and for a model without a finite density.
        """
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
            keep_warmup=keep_warmup,
        )
        if initvals:
            settings["initvals"] = _starts(self._text, initvals)
        try:
            found = self._text.sample(settings, progressbar)
        except Unconvertible as why:
            raise ValueError(f"the model cannot be sampled as text: {why}") from why
        warn_of(found.raw, stacklevel=2)
        return found.tree(None if var_names is None else list(var_names))

    def __repr__(self) -> str:
        return self.text + "".join(f"# {note}\n" for note in self.notes)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def from_numpyro(model: Callable[..., Any], *args: Any, **kwargs: Any) -> Converted:
    """A NumPyro model, called with these arguments, as text.

    >>> converted = from_numpyro(model, x, y=y)  # doctest: +SKIP
    >>> print(converted)  # the text, and notes  # doctest: +SKIP
    >>> converted.check()  # against NumPyro's density  # doctest: +SKIP
    >>> draws = converted.sample(random_seed=1)  # doctest: +SKIP

    The text is in float64, whatever JAX computes in. Raises `Unconvertible`, with the reason, for a
    model that has no counterpart: `fitzroy.numpyro.MCMC` samples it by its compiled gradient. Raises
    ImportError without PyMC, whose converter is used.
    """
    return Converted(_text_of(model, args, kwargs))


def _text_of(model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The model as text; imported late, since PyMC takes a second."""
    try:
        import pymc  # noqa: F401
    except ImportError as error:
        message = "NumPyro models become text by way of PyMC: pip install 'fitzroy[numpyro]'"
        raise ImportError(message) from error
    from .text import text_of

    return text_of(model, args, kwargs)


def _starts(text: Any, values: Any) -> list[Any]:
    sets = [values] if isinstance(values, dict) else list(values)
    return [text.starts(one) for one in sets]


def _of_model(text: Any, values: Any) -> Any:
    """Starting values of sites that the model has; NumPyro overlooks others, too."""
    sites = {s.name for s in text.traced.sites if not s.is_observed}
    sets = [values] if isinstance(values, dict) else list(values)
    unknown = sorted({name for one in sets for name in one} - sites)
    if unknown:
        message = f"init values: the model has no latent site {', '.join(unknown)}"
        warnings.warn(message, ConversionWarning, stacklevel=5)
    # Deterministic sites that are no transformed ones follow from the others.
    own = {s.name for s in text.traced.latent} | {n.removesuffix("_base") for n in text.traced.own}
    return [{k: v for k, v in one.items() if k in own} for one in sets]


def drawn(
    model: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    settings: dict[str, Any],
    *,
    progressbar: bool | Progress,
    backend: str = "auto",
    starts: Any = None,
    init_strategy: Any = None,
    forward: bool = False,
) -> Draws:
    """Draws of a model as text, or by its compiled gradient, with a warning that says why."""
    if backend not in BACKENDS:
        known = "', '".join(BACKENDS)
        raise ValueError(f"backend='{backend}' is not known; it is one of '{known}'")
    cannot = ""
    if backend != "compiled":
        try:
            text = _text_of(model, args, kwargs)
            given = settings
            if starts:
                given = {**settings, "initvals": _starts(text, _of_model(text, starts))}
            found: Draws = text.sample(given, progressbar)
            return found
        except (Unconvertible, ImportError) as why:
            if backend == "fitzroy":
                raise ValueError(f"the model cannot be converted: {why}") from why
            cannot = str(why)
    if str(settings.get("device", "auto")).startswith("cuda"):
        message = "device: a compiled gradient runs on this processor; use 'auto' or 'cpu'"
        raise ValueError(f"{message} ({cannot})" if cannot else message)
    from .compiled import compile_model

    try:
        compiled = compile_model(model, args, kwargs, init_strategy, forward)
    except (Unconvertible, RuntimeError, ValueError) as why:
        if not cannot and not isinstance(why, Unconvertible):
            raise
        also = f"; it cannot be converted, either: {cannot}" if cannot else ""
        raise ValueError(f"the model has no compiled gradient: {why}{also}") from why
    if cannot:
        message = (
            f"the model cannot be converted ({cannot}), and is sampled by its compiled gradient"
        )
        warnings.warn(message, ConversionWarning, stacklevel=4)
    given = {k: v for k, v in settings.items() if k not in ("device", "precision", "device_memory")}
    return compiled.sample(given, starts, progressbar)
