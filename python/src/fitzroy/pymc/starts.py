"""Values at which chains start, as PyMC's users give them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.initial_point import make_initial_point_fn

from .. import _fitzroy
from ..data import numbers_of
from ..model import run
from ..progress import Progress
from .discrete import moving
from .layout import as_text

__all__ = ["started", "starts", "without_starts"]

Array = np.ndarray[Any, Any]
#: Places that are tried for each chain, around the middle of each prior and drawn from the priors.
TRIALS = 10
DRAWN = 50


@contextmanager
def without_starts(model: Any) -> Iterator[None]:
    """The model has no starts of its own for a while: PyMC leaves them out of copies, or refuses to copy."""
    own = dict(model.rvs_to_initial_values)
    try:
        model.rvs_to_initial_values.update(dict.fromkeys(own))
        yield
    finally:
        model.rvs_to_initial_values.update(own)


def started(
    conversion: Any, arrays: dict[str, Any], settings: dict[str, Any], progressbar: bool | Progress
) -> dict[str, Any]:
    """One run. Chains start where PyMC starts them if Fitzroy finds no place of a density: a prior
    may lie far from 0 and 1."""
    try:
        return run(conversion.text, arrays, settings, progressbar)
    except RuntimeError as error:
        if not str(error).startswith("no starting point") or settings.get("initvals"):
            raise
        found = _of_pymc(conversion, arrays, settings)
        if not found:
            raise
    return run(conversion.text, arrays, {**settings, "initvals": found}, progressbar)


def _of_pymc(
    conversion: Any, arrays: dict[str, Any], settings: dict[str, Any]
) -> list[dict[str, Array]]:
    """Places around the middle of each prior, or drawn from the priors, at which the density and its
    slope are finite, one for each chain; none where there are none."""
    model, chains = conversion.model, settings["chains"]
    shown = {name: text for text, name in conversion.called.items()}
    for places in (_of_middles, _of_priors):
        at = {
            shown[name]: as_text(conversion, name, np.asarray(x, dtype=float))
            for name, x in places(model, settings).items()
        }
        if not at:
            continue
        found = _fitzroy.log_density(conversion.text, arrays, at)
        good = np.isfinite(found["lp"]) & np.isfinite(found["slope"]).all(axis=1)
        if good.any():
            chosen = np.resize(np.flatnonzero(good), chains)
            return [{name: np.array(x[k]) for name, x in at.items()} for k in chosen]
    return []


def _of_middles(model: Any, settings: dict[str, Any]) -> dict[str, Array]:
    """Values of each variable where PyMC starts, moved a little and not."""
    free, places = moving(model), []
    for jittered in (free, ()):
        make = make_initial_point_fn(
            model=model, jitter_rvs=set(jittered), return_transformed=False
        )
        seeds = range(TRIALS * settings["chains"] if jittered else 1)
        places += [make((settings["seed"] + seed) % 2**32) for seed in seeds]
    return {rv.name: np.array([place[rv.name] for place in places]) for rv in free}


def _of_priors(model: Any, settings: dict[str, Any]) -> dict[str, Array]:
    """Draws of the variables together; none where a prior has no draws."""
    free, n = moving(model), DRAWN * settings["chains"]
    try:
        drawn = pm.draw(free, draws=n, random_seed=settings["seed"] % 2**32)
    except (NotImplementedError, ValueError):
        return {}
    return {rv.name: x for rv, x in zip(free, drawn)}


def starts(model: Any, conversion: Any, initvals: Any) -> list[dict[str, Array]]:
    """One set of values for all chains, or one for each, by the names and shapes of the text.

    A key is a free variable or its name, or that of its value variable (`sigma_log__`), whose
    values are on the transformed scale. A value is a number or an array; 'support_point', 'prior'
    and symbolic expressions are what PyMC makes of them.
    """
    sets = [initvals] if isinstance(initvals, Mapping) else initvals
    if not isinstance(sets, Sequence) or not all(isinstance(one or {}, Mapping) for one in sets):
        raise TypeError("initvals needs a dict of values by variable, or one such dict per chain")
    return [_of_chain(model, conversion, one or {}) for one in sets]


def _of_chain(model: Any, conversion: Any, given: Mapping[Any, Any]) -> dict[str, Array]:
    natural: dict[str, Any] = {}
    symbolic: dict[Any, Any] = {}
    for key, value in given.items():
        rv, transformed = _variable(model, key)
        if transformed:
            transform = model.rvs_to_transforms[rv]
            placed = pt.as_tensor(np.asarray(value, dtype=float))
            symbolic[rv] = transform.backward(placed, *rv.owner.inputs)
        elif isinstance(value, str) or hasattr(value, "owner"):
            symbolic[rv] = value
        else:
            natural[rv.name] = value
    if symbolic:
        known = {model[name]: np.asarray(value, dtype=float) for name, value in natural.items()}
        point = make_initial_point_fn(
            model=model, overrides={**known, **symbolic}, return_transformed=False
        )(0)
        natural.update({rv.name: point[rv.name] for rv in symbolic})
    shown = {name: text for text, name in conversion.called.items()}
    out = {}
    for name, value in natural.items():
        array = numbers_of(name, value)
        out[shown[name]] = as_text(conversion, name, array)
    return out


def _variable(model: Any, key: Any) -> tuple[Any, bool]:
    """The free variable that a key names, and whether it names its transformed value."""
    name = key if isinstance(key, str) else getattr(key, "name", None)
    for rv in model.free_RVs:
        if rv.name == name:
            return rv, False
        if model.rvs_to_values[rv].name == name:
            return rv, model.rvs_to_transforms[rv] is not None
    names = ", ".join(rv.name for rv in model.free_RVs)
    raise ValueError(f"initvals: the model has no free variable {name!r}; it has {names}")
