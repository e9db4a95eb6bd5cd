"""What `least_squares` refuses, in SciPy's words."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import host

__all__ = ["check", "check_jacobian", "check_scale", "check_tolerances", "start_of"]

Array = np.ndarray[Any, Any]


def start_of(x0: Any) -> Array:
    """Parameters at the start. Raises ValueError for what are none."""
    if np.iscomplexobj(x0):
        raise ValueError("`x0` must be real.")
    start: Array = np.atleast_1d(np.array(host(x0), dtype=float))
    if start.ndim > 1:
        raise ValueError("`x0` must have at most 1 dimension.")
    if start.size == 0:
        raise ValueError("`x0` is empty; it needs a start for each parameter.")
    return start


def check(jac: Any, method: str, loss: Any, tr_solver: Any, max_nfev: Any, verbose: int) -> None:
    """Refuses words that SciPy does not know."""
    if method not in ("trf", "dogbox", "lm"):
        raise ValueError("`method` must be 'trf', 'dogbox' or 'lm'.")
    if jac not in ("2-point", "3-point", "cs") if isinstance(jac, str) else not callable(jac):
        raise ValueError("`jac` must be '2-point', '3-point', 'cs' or callable.")
    if tr_solver not in (None, "exact", "lsmr"):
        raise ValueError("`tr_solver` must be None, 'exact' or 'lsmr'.")
    if method == "lm" and loss != "linear":
        raise ValueError("method='lm' supports only 'linear' loss function.")
    if verbose not in (0, 1, 2):
        raise ValueError("`verbose` must be in [0, 1, 2].")
    if max_nfev is not None and max_nfev <= 0:
        raise ValueError("`max_nfev` must be None or positive integer.")


def check_tolerances(method: str, *tolerances: float | None) -> None:
    """Refuses to go on for ever, as SciPy does; tolerances have no other effect."""
    epsilon = np.finfo(float).eps
    below = [tolerance is None or tolerance < epsilon for tolerance in tolerances]
    if method == "lm" and any(below):
        raise ValueError(
            f"All tolerances must be higher than machine epsilon ({epsilon:.2e}) for method 'lm'."
        )
    if all(below):
        raise ValueError(
            f"At least one of the tolerances must be higher than machine epsilon ({epsilon:.2e})."
        )


def check_scale(x_scale: Any, x0: Array) -> None:
    """Refuses scales that are none; they have no other effect."""
    if x_scale is None or (isinstance(x_scale, str) and x_scale == "jac"):
        return
    try:
        scale = np.asarray(host(x_scale), dtype=float)
    except (ValueError, TypeError):
        scale = np.array(np.nan)
    if not (np.all(np.isfinite(scale)) and np.all(scale > 0)):
        raise ValueError("`x_scale` must be 'jac' or array_like with positive numbers.")
    if scale.ndim and scale.shape != x0.shape:
        raise ValueError("Inconsistent shapes between `x_scale` and `x0`.")


def check_jacobian(first: Any, method: str, tr_solver: Any, x_scale: Any) -> None:
    """Refuses what SciPy does of a Jacobian that is no array."""
    operator = hasattr(first, "matmat") and not hasattr(first, "toarray")
    if not operator and not hasattr(first, "toarray"):
        return
    if method == "lm":
        raise ValueError("method='lm' works only with dense Jacobian matrices.")
    if tr_solver == "exact":
        raise ValueError("tr_solver='exact' works only with dense Jacobian matrices.")
    if operator and isinstance(x_scale, str):
        raise ValueError("x_scale='jac' can't be used when `jac` returns LinearOperator.")
