"""Standard errors and correlations of parameters, of those too that are tied to others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .parameter import Parameters

__all__ = ["create_uvars", "set_errors"]

Array = np.ndarray[Any, Any]
#: The step of a derivative, relative to the value or in standard errors, whichever is the less.
STEP = np.finfo(float).eps ** (1 / 3)


def set_errors(params: Parameters, names: list[str], covar: Array) -> bool:
    """Gives parameters their standard errors and correlations, by the covariance of those named.

    Whether all of them have an error above 0.
    """
    for par in params.values():
        par.stderr, par.correl = 0.0, None
    errors = np.sqrt(np.diag(covar))
    for k, name in enumerate(names):
        params[name].stderr = float(errors[k])
        params[name].correl = {
            other: float(covar[k, j] / (errors[k] * errors[j])) if errors[k] * errors[j] else 0.0
            for j, other in enumerate(names)
            if j != k
        }
    for name, slopes in _slopes(params, names, errors).items():
        params[name].stderr = math.sqrt(max(float(slopes @ covar @ slopes), 0.0))
    return bool(np.all(errors > 0))


def _slopes(params: Parameters, names: list[str], errors: Array) -> dict[str, Array]:
    """Derivatives of the parameters that are tied, by those named."""
    tied = [name for name, par in params.items() if par.expr is not None]
    out = {name: np.zeros(len(names)) for name in tied}
    if not tied:
        return out
    reads = {name: _reads(params, name) for name in tied}
    for k, name in enumerate(names):
        moved = [t for t in tied if name in reads[t]]
        if not moved:
            continue
        par = params[name]
        best, ends = par._val, []
        step = STEP * max(abs(best), 1e-3 * errors[k], 1e-300)
        for side in (-step, step):
            par._val = best + side
            with np.errstate(all="ignore"):
                ends.append([float(params[t].value) for t in moved])
        par._val = best
        for t, low, high in zip(moved, *ends):
            slope = (high - low) / ((best + step) - (best - step))
            out[t][k] = slope if math.isfinite(slope) else 0.0
    params.update_constraints()
    return out


def _reads(params: Parameters, name: str) -> set[str]:
    """The parameters that the expression of one reads, and those that theirs read."""
    expression = params[name].expression
    out: set[str] = set()
    for read in expression.names if expression is not None else ():
        if read in params:
            out |= {read, *_reads(params, read)}
    return out


def create_uvars(params: Parameters, covar: Any = None) -> dict[str, Any]:
    """The parameters as numbers of the package `uncertainties`, correlated by `covar`; those that
    are tied depend on the others as their expressions say.

    Raises ImportError without that package.
    """
    try:
        from uncertainties import correlated_values, ufloat
        from uncertainties.core import AffineScalarFunc, LinearCombination
    except ImportError as error:
        raise ImportError(
            "uvars need the package uncertainties: pip install uncertainties"
        ) from error
    names = [name for name, par in params.items() if par.vary]
    out = {
        name: ufloat(float(par.value), par.stderr or 0.0)
        if par.stderr
        else AffineScalarFunc(float(par.value), LinearCombination({}))
        for name, par in params.items()
    }
    if covar is None:
        return out
    covar = np.asarray(covar, dtype=float)
    for k, name in enumerate(names):
        if params[name].stderr is None:
            params[name].stderr = math.sqrt(covar[k, k])
    try:
        best = [float(params[name].value) for name in names]
        correlated = correlated_values(best, covar)
    except (np.linalg.LinAlgError, ValueError):
        return out
    out.update(zip(names, correlated))
    for name, slopes in _slopes(params, names, np.sqrt(np.diag(covar))).items():
        value = float(params[name].value)
        moved = sum((s * (u - u.nominal_value) for s, u in zip(slopes, correlated)), start=0.0)
        out[name] = value + moved
        params[name].stderr = float(getattr(out[name], "std_dev", 0.0))
    return {name: out[name] for name in params}
