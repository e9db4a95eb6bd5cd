"""`least_squares` and `leastsq` with the signatures and the results of SciPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..arrays import host
from ..tracing import in_float64
from ..tracing.nodes import Recorded
from ..tracing.plain import recording
from . import large
from .checks import check, check_jacobian, check_scale, check_tolerances, start_of
from .large import MANY
from .losses import Loss, loss_of
from .result import OptimizeResult, optimize_result
from .scipy_form import EVERYWHERE, bounds_of
from .solve import Found, Problem, solve
from .sparsity import Sparse, pattern_of
from .watching import watcher

__all__ = ["least_squares", "leastsq"]

Array = np.ndarray[Any, Any]

#: SciPy's numbers for how a minimum was found.
ENDED = {
    "stopped": -2,
    "evaluation_limit": 0,
    "small_gradient": 1,
    "exact_fit": 1,
    "small_reduction": 2,
    "rounding": 2,
    "small_step": 3,
    "kink": 3,
}
#: Its sentences for them, and ours for what has none there.
SAID = {
    -2: "`callback` stopped the fit: it raised StopIteration.",
    -1: "No step of any length reduced the cost, and no minimum was recognised.",
    0: "The maximum number of function evaluations is exceeded.",
    1: "`gtol` termination condition is satisfied.",
    2: "`ftol` termination condition is satisfied.",
    3: "`xtol` termination condition is satisfied.",
}
#: The numbers of `leastsq` for the same.
OF_LEASTSQ = {-1: 6, 0: 5, 1: 4, 2: 1, 3: 2}
OF_LEASTSQ_SAID = {
    1: "The expected reduction of the sum of squares is below the tolerance.",
    2: "The relative change of the parameters is below the tolerance.",
    4: "The gradient is below the tolerance.",
    5: "Number of calls to function has reached maxfev = {}.",
    6: "No step of any length reduced the sum of squares, and no minimum was recognised.",
}


def least_squares(
    fun: Callable[..., Any],
    x0: Any,
    jac: Any = "2-point",
    bounds: Any = EVERYWHERE,
    method: str = "trf",
    ftol: float | None = 1e-8,
    xtol: float | None = 1e-8,
    gtol: float | None = 1e-8,
    x_scale: Any = None,
    loss: Any = "linear",
    f_scale: float = 1.0,
    diff_step: Any = None,
    tr_solver: str | None = None,
    tr_options: Any = None,
    jac_sparsity: Any = None,
    max_nfev: int | None = None,
    verbose: int = 0,
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    callback: Any = None,
    workers: Any = None,
) -> OptimizeResult:
    """Minimises ½ Σ ρ(fun(x)²) within bounds, as `scipy.optimize.least_squares` does.

    Arguments, errors and the result are SciPy's: `x`, `cost`, `fun`, `jac`, `grad`, `optimality`,
    `active_mask`, `nfev`, `njev`, `status`, `message`, `success`. A `fun` of NumPy's functions that
    gives a residual at every point is traced, its derivatives are exact, and `jac` is then not
    called. Another is called; its Jacobian is `jac`, or central differences, with the relative step
    `diff_step`; with `jac_sparsity`, columns that no residual has two of are made by the same
    calls, and with many parameters steps are solved for by entries alone; the result's `jac` is
    then sparse. `nfev` counts neither those for differences nor those by which `fun` is traced.

    `callback` is told of every place with a lower cost than those before, and of the last one; it
    stops the fit by StopIteration. A `fun` that is traced is then computed pass by pass.

    Differences: tolerances have no effect but that of None, since fits end as near to the minimum
    as rounding allows; neither have `x_scale`, `tr_solver`, `tr_options` and `workers`. A status of
    -1, without `success`, is an end at which nothing tells that it is a minimum.

    Raises ValueError when SciPy does.
    """
    x0 = start_of(x0)
    check(jac, method, loss, tr_solver, max_nfev, verbose)
    check_tolerances(method, ftol, xtol, gtol)
    check_scale(x_scale, x0)
    penalty = loss_of(loss, f_scale)
    lower, upper = bounds_of(bounds, x0.size)
    bounded = bool((lower > -np.inf).any() or (upper < np.inf).any())
    if method == "lm" and bounded:
        raise ValueError("Method 'lm' doesn't support bounds.")
    if np.any(x0 < lower) or np.any(x0 > upper):
        raise ValueError("Initial guess is outside of provided bounds")
    more = dict(kwargs or {})
    args = args if isinstance(args, tuple) else (args,)
    given = np.array(host(fun(x0.copy(), *args, **more)))
    first = residuals_of(given)
    if method == "lm" and first.size < x0.size:
        raise ValueError(
            "Method 'lm' doesn't work when the number of residuals is less than the number of "
            "variables."
        )
    pattern = None
    if jac_sparsity is not None:
        pattern = pattern_of(jac_sparsity, method, tr_solver, (first.size, x0.size))
    slopes = None
    if callable(jac):
        slope = jac(x0.copy(), *args, **more)
        check_jacobian(slope, method, tr_solver, x_scale)
        form = Sparse.of if hasattr(slope, "tocsr") and x0.size > MANY else dense
        slope = form(slope)
        if slope.shape != (first.size, x0.size):
            raise ValueError(
                f"The return value of `jac` has wrong shape: expected {(first.size, x0.size)}, "
                f"actual {slope.shape}."
            )
        slopes = known_at(x0, slope, lambda x: form(jac(x, *args, **more)))
    own = recording(fun)
    called = lambda x: (own if x.dtype == object else fun)(x, *args, **more)
    problem = problem_of(known_at(x0, given, called), x0, first.size, slopes)
    problem.lower, problem.upper, problem.bounded = lower, upper, bounded
    # A loss of the user's has no formula, and a curve has a point for each parameter.
    problem.as_called = callable(loss) or first.size < x0.size
    problem.pattern = pattern
    if callback is not None and method == "lm":
        warnings.warn(
            "Callback function specified, but not supported with `lm` method.", stacklevel=2
        )
    elif callback is not None:
        problem.as_called = True
        problem.watch = watcher(callback, lambda residuals: 0.5 * _total(residuals, penalty))
    problem.method = "auto" if method == "lm" or not bounded else "trf"
    if penalty is not None:
        problem.options.update(loss=loss, f_scale=penalty.scale, covariance="classic")
    if max_nfev is not None:
        problem.options["max_evaluations"] = int(max_nfev)
    if diff_step is not None:
        problem.diff_step = np.broadcast_to(np.abs(host(diff_step)), x0.shape)
    sparse = pattern is not None if slopes is None else isinstance(slope, Sparse)
    if sparse and x0.size > MANY:
        found = large.solve(problem, called_at(known_at(x0, given, called)), slopes)
    else:
        found = solve(problem)
    out = result_of(problem, found, penalty, method)
    if verbose:
        start = 0.5 * _total(first, penalty)
        print(
            f"{out.message}\nFunction evaluations {out.nfev}, initial cost {start:.4e}, final cost "
            f"{out.cost:.4e}, first-order optimality {out.optimality:.2e}."
        )
    return out


def leastsq(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    Dfun: Any = None,
    full_output: bool = False,
    col_deriv: bool = False,
    ftol: float = 1.49012e-8,
    xtol: float = 1.49012e-8,
    gtol: float = 0.0,
    maxfev: int = 0,
    epsfcn: float | None = None,
    factor: float = 100,
    diag: Any = None,
) -> Any:
    """Minimises Σ func(x)², as `scipy.optimize.leastsq` does.

    Gives `(x, ier)`, with `full_output` `(x, cov_x, infodict, mesg, ier)`. `func` is traced where it
    can be, as in `least_squares`. Tolerances, `factor` and `diag` have no effect; `epsfcn` is the
    square of the relative step of differences for a `func` that is called.

    Raises TypeError and ValueError when SciPy does.
    """
    x0 = start_of(np.ravel(host(x0)))
    args = args if isinstance(args, tuple) else (args,)
    given = np.array(host(func(x0.copy(), *args)))
    first = residuals_of(given)
    if x0.size > first.size:
        raise TypeError(
            f"Improper input: func input vector length N={x0.size} must not exceed func output "
            f"vector length M={first.size}"
        )
    slopes = None
    if Dfun is not None:
        slopes = lambda x: dense(Dfun(x, *args)).T if col_deriv else dense(Dfun(x, *args))
    own = recording(func)
    called = lambda x: (own if x.dtype == object else func)(x, *args)
    problem = problem_of(known_at(x0, given, called), x0, first.size, slopes)
    if maxfev:
        problem.options["max_evaluations"] = int(maxfev)
    if epsfcn is not None:
        problem.diff_step = np.full(x0.shape, np.sqrt(epsfcn))
    found = solve(problem)
    out = result_of(problem, found, None, "lm")
    ier = OF_LEASTSQ[out.status]
    message = OF_LEASTSQ_SAID[ier].format(out.nfev)
    if not full_output:
        if ier > 4:
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        return out.x, ier
    q, r = np.linalg.qr(out.jac)
    cov_x = None
    if np.linalg.matrix_rank(out.jac) == x0.size:
        inverse = np.linalg.inv(r)
        cov_x = inverse @ inverse.T
    factors = np.zeros((x0.size, first.size))
    factors[:, : len(r)] = r.T
    info = {
        "fvec": out.fun,
        # MINPACK's number has the calls for differences.
        "nfev": int(found.facts["evaluations"]),
        "fjac": factors,
        "ipvt": np.arange(1, x0.size + 1, dtype=np.int32),
        "qtf": q.T @ out.fun,
    }
    return out.x, cov_x, info, message, ier


def known_at(x0: Array, value: Any, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function whose value at `x0` is known, so that it is not called for that again."""
    key = x0.tobytes()
    return lambda x: value if x.dtype != object and x.tobytes() == key else function(x)


def called_at(function: Callable[[Any], Any]) -> Callable[[Array], Array]:
    """Residuals as an array of float64, by JAX, too."""

    def residuals(x: Array) -> Array:
        with in_float64():
            return np.ravel(np.asarray(host(function(x)), dtype=float))

    return residuals


def residuals_of(values: Any) -> Array:
    """Residuals at the start. Raises ValueError for what are none."""
    found = np.atleast_1d(np.asarray(host(values)))
    if found.dtype.kind == "c":
        raise ValueError(
            "`fun` must return real residuals, and they are complex; return "
            "np.concatenate([r.real, r.imag])"
        )
    if found.ndim > 1:
        raise ValueError(f"`fun` must return at most 1-d array_like. f0.shape: {found.shape}")
    found = found.astype(float)
    if not np.all(np.isfinite(found)):
        raise ValueError("Residuals are not finite in the initial point.")
    return found


def dense(jacobian: Any) -> Array:
    """A Jacobian as an array, whatever form it has."""
    if hasattr(jacobian, "toarray"):
        jacobian = jacobian.toarray()
    elif hasattr(jacobian, "matmat"):
        jacobian = jacobian.matmat(np.eye(jacobian.shape[1]))
    return np.atleast_2d(np.asarray(host(jacobian), dtype=float))


def problem_of(fun: Callable[[Any], Any], x0: Array, n: int, jac: Any) -> Problem:
    """Residuals as a curve over n points whose data are zeros."""
    points = np.zeros(n)
    names = [f"p{k}" for k in range(x0.size)]
    return Problem(
        lambda _, *theta: fun(vector(theta)),
        points,
        points,
        names,
        p0=x0,
        lower=np.full(x0.size, -np.inf),
        upper=np.full(x0.size, np.inf),
        jac=None if jac is None else lambda _, *theta: jac(vector(theta)),
        options={"covariance": "boundless"},
        brief=True,
    )


def vector(theta: tuple[Any, ...]) -> Array:
    """Parameters as the array that `fun` expects: of numbers, or of values that record a trace."""
    if not isinstance(theta[0], Recorded):
        return np.array(theta, dtype=float)
    out = np.empty(len(theta), dtype=object)
    for k, p in enumerate(theta):
        out[k] = p
    return out


def result_of(problem: Problem, found: Found, loss: Loss | None, method: str) -> OptimizeResult:
    """SciPy's result of a fit."""
    residuals, jacobian = found.residuals, found.jacobian
    if residuals is None or jacobian is None:
        assert found.made is not None, "a fit without residuals is one of a formula"
        residuals, jacobian = found.made.pointwise(found.popt.tolist())
    cost = 0.5 * _total(residuals, loss)
    sparse = isinstance(jacobian, Sparse)
    transposed = jacobian.transposed if sparse else jacobian.T.__matmul__
    gradient = transposed(residuals)
    if loss is not None:
        # SciPy's Jacobian is one whose square is the Hessian of the cost, but for curvature.
        _, first, second = loss.at(residuals)
        gradient = transposed(first * residuals)
        curved = first + 2 * second * (residuals / loss.scale) ** 2
        roots = np.sqrt(np.maximum(curved, np.finfo(float).eps))
        jacobian = jacobian.of_rows(roots) if sparse else roots[:, None] * jacobian
    status = status_of(found)
    mask = _active(problem, found.popt)
    # A pass through a formula gives residuals and slopes.
    made = int(found.facts.get("slopes", found.facts["evaluations"]))
    return optimize_result()(  # type: ignore[no-any-return]
        x=found.popt,
        cost=cost,
        fun=residuals,
        jac=jacobian.as_scipys() if sparse else jacobian,
        grad=gradient,
        optimality=_optimality(problem, found.popt, gradient, mask),
        active_mask=mask,
        nfev=int(found.facts.get("places", found.facts["evaluations"])),
        njev=None if method == "lm" and problem.jac is None else made,
        status=status,
        message=SAID[status],
        success=status > 0,
    )


def status_of(found: Found) -> int:
    """SciPy's number for how a fit ended: above 0 at a minimum."""
    return ENDED.get(found.facts["status"], -1)


def _total(residuals: Array, loss: Loss | None) -> float:
    """2F."""
    return float(residuals @ residuals if loss is None else loss.weighed(residuals)[0].sum())


def _active(problem: Problem, x: Array) -> Array:
    """-1 at a lower bound, 1 at an upper one, 0 elsewhere."""
    out = np.zeros(x.size, dtype=int)
    for side, ends in ((1, problem.upper), (-1, problem.lower)):
        near = np.abs(x - ends) <= 1e-8 * np.maximum(1, np.abs(ends))
        out[near & np.isfinite(ends)] = side
    return out


def _optimality(problem: Problem, x: Array, gradient: Array, mask: Array) -> float:
    """The largest component of the gradient that a step within bounds can follow, times the
    distance to the bound that it leads to."""
    room = np.ones_like(x)
    down = (gradient > 0) & np.isfinite(problem.lower)
    up = (gradient < 0) & np.isfinite(problem.upper)
    room[down] = (x - problem.lower)[down]
    room[up] = (problem.upper - x)[up]
    return float(np.max(np.abs(gradient * room), initial=0.0))
