"""Arguments of `pm.sample` that Fitzroy's `sample` has no own of, and what becomes of each."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ..results import ConvergenceWarning

__all__ = ["OF_PYMC", "with_arguments_of_pymc"]

#: What tells PyMC's sampler how to start, or how to run in processes: none of it is needed here.
WITHOUT_EFFECT = frozenset(
    "init n_init jitter_max_retries mp_ctx blas_cores keep_warning_stat progressbar_theme "
    "compile_kwargs".split()
)
#: Dicts of a sampler's options: PyMC 6 calls them `nuts`.
OPTIONS = ("nuts_sampler_kwargs", "nuts", "nuts_kwargs")
#: What only PyMC's sampler can do, and what is to be done instead.
REFUSED = {
    "step": "step methods are PyMC's: call pm.sample(step=...)",
    "trace": "draws are returned; `out` keeps them in a folder while they are made",
    "callback": "progressbar may be a function, which is called while the chains run",
}
#: All that is taken or refused here.
OF_PYMC = WITHOUT_EFFECT.union(
    OPTIONS,
    REFUSED,
    ("nuts_sampler", "start", "quiet", "return_inferencedata", "compute_convergence_checks"),
)


def with_arguments_of_pymc(sample: Callable[..., Any]) -> Callable[..., Any]:
    """`sample` that takes the arguments of `pm.sample`, too.

    Raises ValueError for those that ask for PyMC's own sampler.
    """

    @functools.wraps(sample)
    def taken(model: Any = None, **given: Any) -> Any:
        others = {name: given.pop(name) for name in OF_PYMC & set(given)}
        if not others:
            return sample(model, **given)
        _refuse(others)
        for name in OPTIONS:
            given.update(others.get(name) or {})
        if others.get("quiet"):
            given["progressbar"] = False
        if others.get("start") is not None:
            given.setdefault("initvals", others["start"])
        with warnings.catch_warnings():
            if not others.get("compute_convergence_checks", True):
                warnings.simplefilter("ignore", ConvergenceWarning)
            return sample(model, **given)

    return taken


def _refuse(others: dict[str, Any]) -> None:
    for name, instead in REFUSED.items():
        if others.get(name) is not None:
            raise ValueError(f"{name}: {instead}")
    if others.get("return_inferencedata") is False:
        raise ValueError(
            "return_inferencedata=False: draws come with names and dims; take single ones as "
            "draws.posterior['mu'].values"
        )
    if others.get("nuts_sampler") not in (None, "fitzroy"):
        raise ValueError(
            f"nuts_sampler='{others['nuts_sampler']}': this samples by Fitzroy; call pm.sample for "
            "others"
        )
