"""`pm.sample(nuts_sampler="fitzroy")`, and Fitzroy in the place of PyMC's own sampler."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from inspect import signature
from typing import Any

__all__ = ["register"]

#: Arguments of `pm.sample` of which only PyMC's own sampler knows something.
OWN = ("step", "trace", "callback")
#: Packages that name PyMC's sampler if their users name none.
NAMING = frozenset(["bambi"])


class _Choice:
    """Which calls of `pm.sample` are Fitzroy's."""

    #: Those that name no sampler.
    default = False


def register(*, default: bool = False) -> None:
    """Makes `pm.sample(nuts_sampler="fitzroy")` work, from here on in this process.

    With `default=True` every call of `pm.sample` that names no sampler is Fitzroy's, also those
    that packages built on PyMC make (Bambi, PyMC-Marketing, CausalPy); `register()` ends that.
    `nuts_sampler="pymc"` is PyMC's own. Calls with a `step`, a `trace`, a `callback` or
    `return_inferencedata=False` stay PyMC's.
    Options go into `nuts={...}` (`nuts_sampler_kwargs` before PyMC 6): `target_accept`,
    `max_treedepth`, `sampler`.
    """
    import pymc as pm
    import pymc.sampling
    import pymc.sampling.mcmc as mcmc

    _Choice.default = default
    if hasattr(pm.sample, "of_pymc"):
        return
    # PyMC's list of samplers is closed, so that the function that picks one is replaced by one
    # that knows Fitzroy, too.
    others = mcmc._sample_external_nuts

    def pick(sampler: str, draws: int, **given: Any) -> Any:
        if sampler != "fitzroy":
            return others(sampler, draws, **given)
        return _sample(draws, given)

    mcmc._sample_external_nuts = pick
    chosen = _choosing(pm.sample)
    for module in (pm, pymc.sampling, mcmc):
        setattr(module, "sample", chosen)  # noqa: B010


def _choosing(of_pymc: Callable[..., Any]) -> Callable[..., Any]:
    """`pm.sample` that hands to Fitzroy what is Fitzroy's."""

    @functools.wraps(of_pymc)
    def sample(*args: Any, **given: Any) -> Any:
        name = given.get("nuts_sampler")
        own = any(given.get(k) is not None for k in OWN)
        own = own or given.get("return_inferencedata") is False
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if name == "pymc" and caller.partition(".")[0] in NAMING:
            name = None
        if name != "fitzroy" and (own or not _Choice.default or name is not None):
            return of_pymc(*args, **given)
        if own:
            return of_pymc(*args, **{**given, "nuts_sampler": "fitzroy"})
        # PyMC would first take the model's gradient, and refuse a model without one by it: with
        # discrete variables, which Fitzroy sums out, or with an op that has none in PyTensor.
        draws = args[0] if args else given.get("draws", 1000)
        _refuse_unknown(of_pymc, given)
        return _sample(draws, given)

    sample.of_pymc = of_pymc  # type: ignore[attr-defined]
    return sample


def _sample(draws: int, given: dict[str, Any]) -> Any:
    from .arguments import OPTIONS
    from .sampling import sample

    # A call that did not pass through PyMC has the options as its user wrote them.
    options: dict[str, Any] = {}
    for name in OPTIONS:
        options.update(given.get(name) or {})
    for name in ("target_accept", "max_treedepth"):
        if given.get(name) is not None:
            options.setdefault(name, given[name])
    tune, chains = given.get("tune"), given.get("chains")
    if chains is None:
        # As many as PyMC runs.
        chains = max(2, given.get("cores") or min(4, os.cpu_count() or 1))
    return sample(
        given.get("model"),
        draws=draws,
        tune=1000 if tune is None else tune,
        chains=chains,
        cores=given.get("cores"),
        random_seed=given.get("random_seed"),
        initvals=given.get("initvals") or given.get("start"),
        var_names=given.get("var_names"),
        progressbar=bool(given.get("progressbar", True)) and not given.get("quiet", False),
        discard_tuned_samples=given.get("discard_tuned_samples", True),
        idata_kwargs=given.get("idata_kwargs"),
        compute_convergence_checks=given.get("compute_convergence_checks", True),
        **options,
    )


def _refuse_unknown(of_pymc: Callable[..., Any], given: dict[str, Any]) -> None:
    """A name that nobody knows is a slip, and its value would be passed over."""
    from .arguments import OF_PYMC
    from .sampling import sample

    known = {*signature(of_pymc).parameters, *signature(sample).parameters, *OF_PYMC}
    for name in given:
        if name not in known:
            raise TypeError(f"sample() got an unexpected keyword argument '{name}'")
