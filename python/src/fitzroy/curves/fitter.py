"""Curves that are fitted more than once: `CurveFit`, one data set or many."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import host
from ..data import is_text
from ..progress import tell
from ..tracing import Untraceable, needed_names, parameter_names, point_axes
from .estimate import Estimate
from .function import Compiled, Table, of_formula, of_function
from .gaps import check_policy, gaps_of_many, without_gaps
from .hints import Held, Hint, hints_of, of_params
from .many import ManyEstimates
from .scipy_form import bounds_of, curve_fit, untraced
from .solve import DEVICE, Problem, feasible, fit_formula, processors, solve
from .values import real
from .words import DoubtWarning, UntracedWarning

__all__ = ["Again", "CurveFit", "ManyEstimates"]

Array = np.ndarray[Any, Any]
#: What nobody said anything of.
NO_BOUNDS = (-np.inf, np.inf)


@dataclass(frozen=True)
class _Asked:
    """The curve, and what is asked of the parameters that are fitted."""

    curve: Callable[..., Any] | str
    names: list[str]
    start: Array | None
    lower: Array
    upper: Array
    held: dict[str, float]

    @property
    def bounded(self) -> bool:
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())


class CurveFit:
    """A curve, to be fitted any number of times.

    It is a function f(x, *parameters), or a formula of the language of curves such as
    `"a*exp(-b*x)+c"`.
    """

    def __init__(self, curve: Callable[..., Any] | str) -> None:
        if not callable(curve) and not isinstance(curve, str):
            raise TypeError(f"a curve is a function or a formula, not {type(curve).__name__}")
        self.curve = curve
        self._hints: dict[str, Hint] = {}

    def set_param_hint(
        self,
        name: str,
        value: float | None = None,
        vary: bool | None = None,
        min: float | None = None,  # noqa: A002 - lmfit's words
        max: float | None = None,  # noqa: A002
    ) -> None:
        """What fits take for a parameter of which they are told nothing else: its start, whether it
        varies, and its bounds. What was said before stays where nothing is given."""
        hint = self._hints.setdefault(name, {})
        given = {"value": value, "vary": vary, "min": min, "max": max}
        hint.update({word: said for word, said in given.items() if said is not None})

    def __repr__(self) -> str:
        name = self.curve if isinstance(self.curve, str) else getattr(self.curve, "__name__", "?")
        return f"CurveFit({name})"

    def curve_fit(
        self, f: Callable[..., Any], xdata: Any, ydata: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """As `fitzroy.curve_fit`, for code that was written for other libraries' `CurveFit`."""
        return curve_fit(f, xdata, ydata, *args, **kwargs)

    def fit(
        self,
        x: Any,
        y: Any,
        sigma: Any = None,
        *,
        p0: Any = None,
        bounds: Any = NO_BOUNDS,
        fixed: Mapping[str, float] | None = None,
        absolute_sigma: bool = False,
        method: str = "auto",
        loss: str = "linear",
        f_scale: float | str = 1.0,
        confidence: float = 0.95,
        multistart: int = 1,
        global_search: bool = False,
        restart: bool = False,
        max_evaluations: int | None = None,
        seed: int = 42,
        threads: int | None = None,
        nan_policy: str = "raise",
        device: str | None = None,
        device_memory: str | float | None = None,
        precision: str | None = None,
    ) -> Estimate:
        """Fits y at x.

        x is an array of n points, an array of rows of n points each, or a dict of columns for a
        formula. p0 is a list, or a dict by name; without it starting values are found. In the place
        of a number a dict may say more, `{'value': 1, 'min': 0, 'max': 2, 'vary': False}`, and so
        may lmfit's `Parameters`. bounds are a pair of arrays, SciPy's `Bounds`, or a dict of pairs
        by name. `fixed` holds parameters at a number. sigma are standard deviations of y. Points
        with NaN are an error, and are left out with `nan_policy='omit'`. `multistart` is a number
        of starts inside the bounds, and `global_search` searches them, or ranges that follow from
        the data, by differential evolution. `restart` looks for a lower minimum where the one that
        p0 leads to does not describe the data; without p0 that is done anyway.

        `device` says where it is computed: 'cpu', the default; 'cuda', 'cuda:1'; several GPUs as
        'cuda:0,1' or 'cuda:all'; 'auto', a GPU where it is expected to be faster. A GPU needs a
        curve that can be traced, and gives the bits of the processor. `device_memory` limits what
        is taken of a GPU, as 0.75 or '40GB'. `precision` is 'f64'.

        Raises ValueError for what is wrong with the data; a fit that does not converge is a result.
        """
        y = np.ascontiguousarray(real(host(y), "ydata"), dtype=float)
        shape, y = y.shape, y.reshape(-1)
        options: dict[str, Any] = {
            "loss": loss,
            "f_scale": f_scale,
            "confidence": confidence,
            "multistart": multistart,
            "global": global_search,
            "restart": restart,
            "seed": seed,
            "exact": True,
        }
        if max_evaluations is not None:
            options["max_evaluations"] = max_evaluations
        if threads is not None:
            options["threads"] = threads
        options.update(_device(device, device_memory, precision))
        if sigma is not None:
            sigma = np.asarray(host(sigma), dtype=float)
            if sigma.ndim > y.ndim:
                raise ValueError(
                    "sigma: give one number, or one for each point; fz.curve_fit takes a covariance "
                    "matrix of y"
                )
            sigma = np.ascontiguousarray(
                np.broadcast_to(sigma, y.shape)
            )
        asked = self._asked(x, p0, bounds, fixed)
        if check_policy(nan_policy):
            x = _columns(x, self.curve) if isinstance(self.curve, str) else _array(x)
            x, y, sigma = without_gaps(x, y, sigma)
        if asked.held and isinstance(self.curve, str):
            options["fixed"] = list(asked.held.items())
        problem = Problem(
            asked.curve if callable(asked.curve) else _no_function,
            x,
            y,
            asked.names,
            sigma,
            None,
            asked.start,
            asked.lower,
            asked.upper,
            asked.bounded,
            absolute_sigma,
            method,
            options=options,
            held=asked.held,
            shape=shape,
        )
        return self._fitted(problem, asked)

    def _fitted(self, problem: Problem, asked: _Asked) -> Estimate:
        if isinstance(asked.curve, str):
            text = asked.curve
            made = of_formula(text, _columns(problem.x, text))
            made.parameters = list(problem.names)
            found = fit_formula(problem, made)
            return Estimate(found, problem, Again(text, None, problem))
        if not isinstance(problem.x, (list, tuple, np.ndarray)):
            problem.given = problem.x
        problem.x = _array(problem.x)
        found = solve(problem)
        if found.reason:
            warnings.warn(untraced(found.reason), UntracedWarning, stacklevel=3)
        again = Again(None, asked.curve, problem) if found.made else None
        return Estimate(found, problem, again)

    def _asked(self, x: Any, p0: Any, bounds: Any, fixed: Mapping[str, float] | None) -> _Asked:
        """What is asked of the parameters, by this call and by hints."""
        names, held = self.names(x, p0), dict(fixed or {})
        hints = of_params(p0) if isinstance(p0, Mapping) else None
        if hints is not None or (p0 is None and self._hints):
            said = {
                name: {**self._hints.get(name, {}), **(hints or {}).get(name, {})}
                for name in {**self._hints, **(hints or {})}
            }
            p0, limits, more = hints_of(said, names)
            held = {**more, **held}
            if isinstance(bounds, Mapping):
                bounds = {**limits, **bounds}
            elif bounds is NO_BOUNDS:
                bounds = limits
        _known(held, names, "fixed")
        free = [name for name in names if name not in held]
        curve = self.curve
        if held and not isinstance(curve, str):
            curve = Held(curve, names, {name: float(value) for name, value in held.items()})
        if isinstance(p0, Mapping):
            p0 = {name: value for name, value in p0.items() if name not in held}
        if isinstance(bounds, Mapping):
            bounds = {name: pair for name, pair in bounds.items() if name not in held}
        lower, upper = _named_bounds(bounds, free)
        return _Asked(
            curve,
            free,
            _named_values(p0, free),
            lower,
            upper,
            {name: float(value) for name, value in held.items()},
        )

    def names(self, x: Any, p0: Any = None) -> list[str]:
        """Names of the parameters, for an x of this form."""
        if isinstance(self.curve, str):
            return of_formula(self.curve, _columns(x, self.curve)).parameters
        if p0 is None or isinstance(p0, Mapping):
            return parameter_names(self.curve, None)
        needed = needed_names(self.curve)
        return parameter_names(self.curve, max(np.size(p0), len(needed)))

    def formula(self, x: Any, p0: Any = None) -> str:
        """The formula that is fitted, for an x of this form. Raises Untraceable."""
        if isinstance(self.curve, str):
            return of_formula(self.curve, _columns(x, self.curve)).curve.formula
        x = _array(x)
        names = self.names(x, p0)
        theta = feasible(*_named_bounds((-np.inf, np.inf), names)) if p0 is None else p0
        shape = np.shape(x)
        try:
            return of_function(self.curve, x, shape[-1], names, list(theta)).text
        except Untraceable:
            if len(shape) < 2:
                raise
        # Points may be the rows of a table.
        return of_function(self.curve, x, shape[0], names, list(theta)).text

    def fit_many(
        self,
        x: Any,
        y: Any,
        sigma: Any = None,
        *,
        p0: Any = None,
        bounds: Any = NO_BOUNDS,
        fixed: Mapping[str, float] | None = None,
        absolute_sigma: bool = False,
        threads: int | None = None,
        nan_policy: str | None = None,
        device: str | None = None,
        device_memory: str | float | None = None,
        precision: str | None = None,
        **options: Any,
    ) -> ManyEstimates:
        """Fits each row of y, an array (n_fits, n), at x, an array of n points or one of y's shape.

        What is wrong with one fit is its status, and its row of `popt` is NaN. What speaks against one
        that converged stands in `doubts`; a `DoubtWarning` says so where more fits are in doubt than
        chance has of a right curve. Points with NaN are left out with `nan_policy='omit'`, and are an
        error with `'raise'`; without either, a fit that has one is not made, and a warning says how
        many these are. The function must be one that can be traced. `device`, `device_memory` and
        `precision` are as in `fit`; a GPU makes fits without bounds, with linear loss.
        """
        y = np.asarray(real(host(y), "ydata"), dtype=float)
        if y.ndim != 2:
            raise ValueError(f"y needs two axes, fits and points; it has {y.ndim}")
        n_fits, n = y.shape
        asked = self._asked(x, p0, bounds, fixed)
        names = asked.names
        options.update(absolute_sigma=absolute_sigma, threads=threads or processors())
        options.update(_device(device, device_memory, precision))
        made = _of_many(asked, x, n_fits, n)
        if asked.held and isinstance(asked.curve, str):
            options["fixed"] = list(asked.held.items())
        if asked.start is not None:
            options["p0"] = list(zip(made.parameters, asked.start.tolist()))
        if asked.bounded:
            ends = zip(made.parameters, asked.lower.tolist(), asked.upper.tolist())
            options["bounds"] = list(ends)
        if sigma is not None:
            sigma = np.broadcast_to(np.asarray(host(sigma), dtype=float), y.shape)
            sigma = np.ascontiguousarray(sigma).reshape(-1)
        y = np.ascontiguousarray(y).reshape(-1)
        omits = nan_policy is not None and check_policy(nan_policy)
        columns, sizes = dict(made.columns), np.full(n_fits, n, dtype=np.uintp)
        if (gaps := gaps_of_many(columns, y, sigma)) is not None:
            of_each = gaps.reshape(n_fits, n)
            if omits:
                left = ~gaps
                columns = {name: column[left] for name, column in columns.items()}
                y, sigma = y[left], None if sigma is None else sigma[left]
                sizes -= of_each.sum(axis=1, dtype=np.uintp)
            else:
                concerned = np.flatnonzero(of_each.any(axis=1))
                message = (
                    f"{concerned.size} of {n_fits} fits have points with NaN, the first is fit "
                    f"{concerned[0]}; nan_policy='omit' leaves such points out"
                )
                if nan_policy is not None:
                    raise ValueError(message)
                warnings.warn(message, stacklevel=2)
        facts = made.curve.fit_many(list(columns.items()), y, sigma, sizes, options)
        order = [facts["names"].index(name) for name in made.parameters]
        popt, se = facts["popt"], facts["se"]
        if order != list(range(len(order))):
            popt, se = popt[:, order], se[:, order]
        if "notes" in facts:
            tell(facts["notes"], stacklevel=2)
        if facts["beyond_chance"]:
            message = f"{facts['doubted']}; see `doubts`, and look at some beside the data"
            warnings.warn(message, category=DoubtWarning, stacklevel=2)
        return ManyEstimates(
            names,
            popt,
            se,
            facts["chi2"],
            facts["converged"],
            facts["status"],
            facts.get("device", "cpu"),
            facts.get("device_reason", ""),
            facts["doubts"],
            facts["doubted"] or "",
        )


class Again:
    """The same curve at other points; survives pickling with the function that it is of."""

    def __init__(self, text: str | None, f: Callable[..., Any] | None, problem: Problem) -> None:
        self.text = text
        own = Table() if text is None else _columns(problem.x, text)
        self.columns, self.labels = list(own), own.labels
        self.f = f
        self.names = list(problem.names)
        self.held = dict(problem.options.get("fixed", []))
        self.bounds = (problem.lower, problem.upper)
        self.axes = point_axes(problem.x, problem.y.size) if text is None else range(0)

    def __call__(self, x: Any) -> Compiled:
        if self.text is not None:
            columns = _columns(x, self.text, self.labels)
            if not isinstance(x, Mapping) and not hasattr(x, "columns") and len(self.columns) == 1:
                # One array of points, of a curve of one predictor, whatever that is called.
                columns = columns.of(dict(zip(self.columns, columns.values())))
            made = of_formula(self.text, columns)
            made.parameters = list(self.names)
            made.held = self.held
            return made
        assert self.f is not None, "there is a text or a function"
        x = _array(x)
        if isinstance(x, (int, float)) or getattr(x, "shape", None) == ():
            x = np.array([x], dtype=float)
        theta = feasible(*self.bounds).tolist()
        n = math.prod(x.shape[axis] for axis in self.axes)
        return of_function(self.f, x, n, self.names, theta)


def _of_many(asked: _Asked, x: Any, n_fits: int, n: int) -> Compiled:
    """The curve over the points of all fits, one fit after the other."""
    names = asked.names
    if isinstance(asked.curve, str):
        own = _columns(x, asked.curve)
        columns: Mapping[str, Array] = own.of({k: _tiled(v, n_fits, n) for k, v in own.items()})
        made = of_formula(asked.curve, columns)
        made.parameters = list(names)
    else:
        x = _array(x)
        each = x.shape == (n_fits, n) and n_fits > 1
        one = x[0] if each else x
        theta = feasible(asked.lower, asked.upper) if asked.start is None else asked.start
        traced = of_function(asked.curve, one, n, names, theta.tolist())
        if each:
            if len(traced.columns) != 1 or traced.of_this_x:
                raise Untraceable("x with a row for each fit, and a function of other arrays")
            columns = {traced.columns[0][0]: np.ascontiguousarray(x).reshape(-1)}
        else:
            columns = {k: _tiled(v, n_fits, n) for k, v in traced.columns}
        made = Compiled(traced.text, columns, traced.parameters)
    if made.unused:
        unused = ", ".join(names[k] for k in made.unused)
        raise ValueError(f"the curve does not depend on {unused}")
    return made


def _device(*asked: Any) -> dict[str, Any]:
    """What is asked of the device, as options."""
    return {name: value for name, value in zip(DEVICE, asked) if value is not None}


def _no_function(*_: object) -> Any:
    raise TypeError("the curve is a formula")


def _array(x: Any) -> Any:
    x = x.to_numpy() if hasattr(x, "to_numpy") else host(x)
    is_array = isinstance(x, (list, tuple, np.ndarray))
    return np.asarray(real(x, "xdata"), dtype=float) if is_array else x


def _columns(x: Any, text: str, labels: Mapping[str, list[str]] | None = None) -> Table:
    """Columns by name, for the formula `text`: those of a dict or a data frame, else one called x.

    Columns of text, and those that `c[name]` names, are labels: `labels` are those of an earlier fit.
    """
    if isinstance(x, Table):
        return x
    if isinstance(x, Mapping):
        items = list(x.items())
    elif hasattr(x, "columns"):
        items = [(name, x[name]) for name in x.columns]
    else:
        array = np.asarray(host(x), dtype=float)
        items = [("x", array)] if array.ndim < 2 else [(f"x{k}", c) for k, c in enumerate(array)]
    out, of_sets = Table(), re.findall(r"\[\s*(\w+)\s*\]", text)
    for name, value in items:
        column = np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else host(value))
        if is_text(column) or name in of_sets:
            column = _places(str(name), column, (labels or {}).get(str(name)), out)
        out[str(name)] = np.ascontiguousarray(column, dtype=float).reshape(-1)
    return out


def _places(name: str, column: Array, known: list[str] | None, out: Table) -> Array:
    """Labels as places among those that are `known`, or among their own."""
    texts = [f"{v:g}" if isinstance(v, float) else str(v) for v in column.ravel().tolist()]
    all_ = list(dict.fromkeys(texts)) if known is None else known
    place = {label: k for k, label in enumerate(all_)}
    others = [label for label in texts if label not in place]
    if others:
        raise ValueError(f"x['{name}']: '{others[0]}' was not fitted; there are {', '.join(all_)}")
    out.labels[name] = all_
    return np.array([place[label] for label in texts], dtype=float)


def _tiled(column: Array, n_fits: int, n: int) -> Array:
    if column.size == n_fits * n and n_fits > 1:
        return column
    if column.size != n:
        raise ValueError(f"x has {column.size} points, each row of y has {n}")
    return np.tile(column, n_fits)


def _named_values(p0: Any, names: Sequence[str]) -> Array | None:
    if p0 is None:
        return None
    if isinstance(p0, Mapping):
        _known(p0, names, "p0")
        if set(p0) != set(names):
            missing = ", ".join(n for n in names if n not in p0)
            raise ValueError(f"p0 has no value for {missing}; give all of them, or none")
        return np.array([float(p0[name]) for name in names])
    out = np.atleast_1d(np.asarray(host(p0), dtype=float))
    if out.shape != (len(names),):
        raise ValueError(f"p0 needs {len(names)} values, for {', '.join(names)}; it has {out.size}")
    return out


def _named_bounds(bounds: Any, names: Sequence[str]) -> tuple[Array, Array]:
    if not isinstance(bounds, Mapping):
        return bounds_of(bounds, len(names))
    _known(bounds, names, "bounds")
    pairs = [bounds.get(name, (-np.inf, np.inf)) for name in names]
    pairs = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in pairs]
    return bounds_of((np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])), len(names))


def _known(given: Mapping[str, Any], names: Sequence[str], argument: str) -> None:
    strange = [k for k in given if k not in names]
    if strange:
        raise ValueError(
            f"{argument} names {', '.join(strange)}; the parameters are {', '.join(names)}"
        )
