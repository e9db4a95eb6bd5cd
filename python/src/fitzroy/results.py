"""Draws as ArviZ keeps them: a DataTree with ArviZ 1, InferenceData with 0.2x."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

__all__ = ["ConvergenceWarning", "Groups", "groups_of", "only", "tree", "warn_of"]

#: For each group the dims and the array of each variable.
Groups = dict[str, dict[str, tuple[tuple[str, ...], np.ndarray[Any, Any]]]]


class ConvergenceWarning(UserWarning):
    """Draws that should not be relied on, with the reasons."""


def groups_of(raw: dict[str, Any]) -> Groups:
    """The groups of a run, in writing order."""
    return {name: dict(variables) for name, variables in raw["groups"].items()}


#: Groups of which a caller may want some variables alone.
OF_DRAWS = ("posterior", "warmup_posterior", "prior")


def only(
    groups: Groups,
    var_names: Iterable[str] | None,
    what: str,
    among: Iterable[str] = OF_DRAWS,
) -> Groups:
    """Groups of draws with these variables alone, of the model or whatever it is."""
    if var_names is None:
        return groups
    wanted = set(var_names)
    for name in among:
        if name in groups:
            missing = wanted - set(groups[name])
            if missing:
                raise ValueError(f"var_names: the {what} has no {', '.join(sorted(missing))}")
            groups[name] = {k: v for k, v in groups[name].items() if k in wanted}
    return groups


def tree(raw: dict[str, Any], groups: Groups, coords: Mapping[str, Any]) -> Any:
    """The draws as an xarray DataTree, or as InferenceData where ArviZ is older than 1.

    Without xarray a dict of groups, each a dict of arrays.
    """
    try:
        import xarray as xr
    except ImportError:
        return {name: {k: v[1] for k, v in one.items()} for name, one in groups.items()}
    attributes = dict(raw["attributes"])
    known = {**raw["coords"], **coords}
    datasets = {}
    for name, variables in groups.items():
        dims = {d for shape, _ in variables.values() for d in shape}
        sizes = {d: a.shape[i] for s, a in variables.values() for i, d in enumerate(s)}
        own = {d: known[d] for d in dims if d in known and len(known[d]) == sizes[d]}
        own.update({d: np.arange(sizes[d]) for d in dims if d not in own})
        one = dict(raw["group_attributes"].get(name, {}))
        if name == "posterior":
            one.update(_told(raw))
        datasets[name] = xr.Dataset(variables, coords=own, attrs=one)
    if _arviz_before_1():
        import arviz as az

        return az.InferenceData(attrs=attributes, **datasets)
    out = xr.DataTree.from_dict({f"/{name}": one for name, one in datasets.items()})
    out.attrs.update(attributes)
    return out


def _told(raw: dict[str, Any]) -> dict[str, Any]:
    """What a run says of itself, as attributes."""
    out: dict[str, Any] = {}
    if "timing" in raw:
        out["sampling_time"] = raw["timing"]["warmup"] + raw["timing"]["sampling"]
    if "verdict" in raw:
        out["verdict"] = raw["verdict"]
        out["findings"] = "; ".join(fact for _, fact in raw["findings"])
    return out


def _arviz_before_1() -> bool:
    # Slow to import, and not needed before there are draws.
    import importlib.metadata

    try:
        return int(importlib.metadata.version("arviz").split(".")[0]) < 1
    except importlib.metadata.PackageNotFoundError:
        return False


def warn_of(raw: dict[str, Any], stacklevel: int) -> None:
    """Warns of draws that should not be relied on, and of a run that was stopped."""
    if raw["interrupted"]:
        message = f"sampling was stopped; each chain has {raw['n_draws']} draws"
        warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)
    grave = [fact for weight, fact in raw.get("findings", []) if weight != "remark"]
    if grave:
        message = f"{raw['verdict']}: " + "; ".join(grave)
        warnings.warn(message, ConvergenceWarning, stacklevel=stacklevel + 1)
