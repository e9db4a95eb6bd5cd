"""The function that is minimised, of the parameters that vary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import host
from ..tracing import Untraceable
from ..tracing.nodes import Recorded
from ..tracing.plain import recording
from .minimizerresult import MinimizerResult
from .parameter import Parameters

__all__ = ["AbortFitException", "MinimizerException", "Objective", "aborted", "coerce_float64"]

Array = np.ndarray[Any, Any]

NAN_SEEN = (
    "NaN values detected in your input data or the output of your objective/model function - "
    "fitting algorithms cannot handle this! Say nan_policy='omit' where they stand in the data, and "
    "bound parameters for which the function has no value."
)
TOO_MANY = "Fit aborted: number of function evaluations > {}"
ABORTED = "Fit aborted by user callback. Could not estimate error-bars."
#: Calls that compare a trace with its function, at most.
CHECKS = 4
POLICIES = ("propagate", "omit", "raise")


class MinimizerException(Exception):
    """What is wrong with a fit or an interval."""

    def __init__(self, msg: str) -> None:
        super().__init__(msg)
        self.msg = msg


class AbortFitException(MinimizerException):
    """A fit that its user stopped."""


def coerce_float64(
    arr: Any,
    nan_policy: str = "raise",
    handle_inf: bool = True,
    ravel: bool = True,
    ravel_order: Any = "C",
) -> Array:
    """Residuals as an array of float64: of a complex number both parts.

    `nan_policy` is 'raise', 'omit' or 'propagate'.
    """
    if hasattr(arr, "toarray"):
        arr = arr.toarray()
    elif hasattr(arr, "matmat"):
        arr = arr.matmat(np.eye(arr.shape[1]))
    found = np.asarray(host(arr))
    if found.dtype.kind == "c":
        found = np.ascontiguousarray(found, dtype=complex).view(float)
    else:
        found = np.asarray(found, dtype=float)
    if ravel:
        found = found.ravel(order=ravel_order)
    if nan_policy not in POLICIES:
        raise ValueError("nan_policy must be 'propagate', 'omit', or 'raise'.")
    if nan_policy == "propagate":
        return found
    good = np.isfinite(found) if handle_inf else ~np.isnan(found)
    if good.all():
        return found
    if nan_policy == "raise":
        raise ValueError(NAN_SEEN)
    return np.asarray(found[good])


def aborted(
    result: MinimizerResult, objective: Objective, message: str = ABORTED
) -> MinimizerResult:
    """The result of a fit that came to an end before a minimum."""
    result.aborted, result.success, result.message = True, False, message
    result.residual, result.nfev = objective.last, objective.calls
    result.ier, result.lmdif_message = -1, "Fit aborted."
    result._calculate_statistics()
    return result


class Objective:
    """A function of parameters that gives residuals, called with the values of those that vary."""

    def __init__(
        self,
        function: Callable[..., Any],
        params: Parameters,
        names: Sequence[str],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        nan_policy: str,
        watch: Callable[..., Any] | None,
    ) -> None:
        self.function = function
        self.params = params
        self.names = list(names)
        self.args = tuple(args)
        self.kwargs = dict(kwargs)
        self.nan_policy = nan_policy
        self.watch = watch
        #: Number of calls with numbers, and what the last gave.
        self.calls = 0
        #: The most of them, and how many are no part of the fit: they check a trace.
        self.most: float = float("inf")
        self.checks = 0
        self.last: Array | None = None
        #: The form in which the function gives its residuals.
        self.shape: tuple[int, ...] = ()

    def put(self, values: Sequence[Any], params: Parameters | None = None) -> Parameters:
        """Gives values to the parameters that vary."""
        params = self.params if params is None else params
        for name, value in zip(self.names, values):
            params[name]._val = value if isinstance(value, Recorded) else float(value)
        return params

    def residuals(self, values: Sequence[Any]) -> Array:
        """The residuals. Raises ValueError for NaN, and AbortFitException where it is said."""
        params = self.put(values)
        if self.checks > 0:
            self.checks -= 1
        else:
            self.calls += 1
        out = self.function(params, *self.args, **self.kwargs)
        self.shape = np.shape(out)
        if self.watch is not None and self.watch(
            params, self.calls, out, *self.args, **self.kwargs
        ):
            self.last = coerce_float64(out, "propagate")
            raise AbortFitException(ABORTED)
        if self.calls > self.most:
            self.last = coerce_float64(out, "propagate")
            raise AbortFitException(TOO_MANY.format(self.most))
        self.last = coerce_float64(out, self.nan_policy)
        return self.last

    def recorded(self, values: Sequence[Any]) -> Any:
        """What records how residuals come from these values."""
        if self.watch is not None:
            raise Untraceable("a function watches each step")
        function = recording(self.function)
        out = function(self.put(values, self.params.copy()), *self.args, **self.kwargs)
        self.checks = CHECKS
        return out

    def slopes(self, jacobian: Callable[..., Any], columns: bool) -> Callable[[Any], Array]:
        """The Jacobian that a user's function gives, a row for each residual."""

        def of(values: Any) -> Array:
            found = jacobian(self.put(values), *self.args, **self.kwargs)
            array = coerce_float64(found, self.nan_policy, ravel=False)
            return np.ascontiguousarray(array.T if columns else array)

        return of
