"""The result of the fit of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from .._fitzroy import t_quantile
from .confidence import conf_interval
from .minimizer import Minimizer
from .minimizerresult import MinimizerResult
from .parameter import Parameters
from .plotting import Plots
from .printfuncs import ci_report, fit_report, fitreport_html_table
from .saving import result_dumps, result_loads

if TYPE_CHECKING:
    from .model import Model

__all__ = ["ModelResult"]

Array = np.ndarray[Any, Any]

#: What `summary` tells of a fit.
SUMMARY = (
    "ndata nvarys nfree chisqr redchi aic bic rsquared nfev max_nfev aborted errorbars success "
    "message lmdif_message ier nan_policy scale_covar calc_covar ci_out col_deriv flatchain call_kws "
    "var_names user_options kws init_values best_values"
).split()


class ModelResult(Minimizer, Plots):
    """The fit of a model: `params`, `best_fit`, `best_values`, `init_fit`, `residual`, statistics.

    It has all that a `MinimizerResult` has, `rsquared` besides, and reports, intervals, bands,
    figures and the model's values as methods.
    """

    #: What a `MinimizerResult` has.
    covar: Any
    residual: Any
    var_names: list[str]
    nvarys: int
    ndata: int
    nfree: int
    redchi: float
    chisqr: float
    success: bool
    errorbars: bool
    components: list[Any]
    init_vals: list[float]
    params: Parameters

    def __init__(
        self,
        model: Model,
        params: Parameters,
        data: Any = None,
        weights: Any = None,
        method: str = "leastsq",
        fcn_args: Any = None,
        fcn_kws: Mapping[str, Any] | None = None,
        iter_cb: Callable[..., Any] | None = None,
        scale_covar: bool = True,
        nan_policy: str = "raise",
        calc_covar: bool = True,
        max_nfev: int | None = None,
        **fit_kws: Any,
    ) -> None:
        self.model = model
        self.data = data
        self.weights = weights
        self.method = method
        self.ci_out: Any = None
        self.user_options: Any = None
        self.init_params = deepcopy(params)
        super().__init__(
            model._residual,
            params,
            fcn_args=fcn_args,
            fcn_kws=fcn_kws,
            iter_cb=iter_cb,
            nan_policy=nan_policy,
            scale_covar=scale_covar,
            calc_covar=calc_covar,
            max_nfev=max_nfev,
            **fit_kws,
        )

    def fit(
        self,
        data: Any = None,
        params: Parameters | None = None,
        weights: Any = None,
        method: str | None = None,
        nan_policy: str | None = None,
        **kwargs: Any,
    ) -> None:
        """Fits again, with other data, parameters, weights or a method; the result is this."""
        self.data = self.data if data is None else data
        self.weights = self.weights if weights is None else weights
        self.method = self.method if method is None else method
        self.nan_policy = self.nan_policy if nan_policy is None else nan_policy
        self.init_params = deepcopy(self.params if params is None else params)
        self.ci_out = None
        self.__dict__.pop("_uvars", None)
        self.userargs = (self.data, self.weights)
        self.userkws.update(kwargs)
        self.init_fit = self.model.eval(params=self.init_params, **self.userkws)
        found = self.minimize(method=self.method, params=self.init_params)
        self.model.post_fit(found)
        self.__dict__.update(found.__dict__)
        self.init_values = self.model._make_all_args(self.init_params)
        self.best_values = self.model._make_all_args(self.params)
        self.best_fit = self.model.eval(params=self.params, **self.userkws)
        self._judge()

    def _judge(self) -> None:
        best = np.asarray(self.best_fit)
        if self.data is not None and np.size(self.data) > 1 and best.size > 1:
            data = np.asarray(self.data)
            left = (np.abs(data - best) ** 2).sum()
            spread = (np.abs(data - data.mean()) ** 2).sum()
            self.rsquared = float(1.0 - left / max(1e-15, spread))

    #: As a `MinimizerResult` has them.
    uvars = MinimizerResult.uvars
    flatchain = MinimizerResult.flatchain
    show_candidates = MinimizerResult.show_candidates

    def eval(self, params: Any = None, **kwargs: Any) -> Any:
        """The model at the best values, or others, and at other independent variables."""
        params = self.params if params is None else params
        return self.model.eval(params=params, **{**self.userkws, **kwargs})

    def eval_components(self, params: Any = None, **kwargs: Any) -> dict[str, Any]:
        """The values of each model that it is made of."""
        params = self.params if params is None else params
        return self.model.eval_components(params=params, **{**self.userkws, **kwargs})

    def eval_uncertainty(
        self, params: Any = None, sigma: float = 1, dscale: float = 0.01, **kwargs: Any
    ) -> Array:
        """Half the width of the confidence band of the curve, at `sigma` standard deviations or,
        below 1, that probability.

        `dely_predicted` then has that of a new observation, and `dely_comps` those of the
        components. `dscale` is the step of the derivatives, in standard errors.
        """
        params = self.params if params is None else params
        best = np.atleast_1d(self.eval(params, **kwargs))
        if self.covar is None or any(par.stderr is None for par in params.values()):
            return np.zeros(best.view(float).size)
        slopes: dict[str, list[Array]] = {}
        moved = params.copy()
        for name in self.var_names:
            value, step = params[name].value, params[name].stderr * dscale
            ends = []
            for side in (step, -step):
                moved[name]._val = value + side
                ends.append(self._curves(moved, kwargs))
            moved[name]._val = value
            for key, high in ends[0].items():
                slopes.setdefault(key, []).append((high - ends[1][key]) / (2 * step))
        probability = sigma if sigma < 1 else math.erf(sigma / math.sqrt(2))
        scale = t_quantile((probability + 1) / 2, float(self.ndata - self.nvarys))
        squares = {}
        for key, rows in slopes.items():
            jacobian = np.array(rows)
            total = np.einsum("in,ij,jn->n", jacobian, self.covar, jacobian)
            squares[key] = total.view(best.dtype).reshape(best.shape)
        whole = squares.pop("")
        self.dely = scale * np.sqrt(whole)
        self.dely_predicted = scale * np.sqrt(whole + self.redchi)
        self.dely_comps = {key: scale * np.sqrt(one) for key, one in squares.items()}
        out: Array = self.dely
        return out

    def _curves(self, params: Any, kwargs: dict[str, Any]) -> dict[str, Array]:
        """The model, without a name, and its components, both parts of complex numbers in a row."""
        found = {"": self.eval(params, **kwargs), **self.eval_components(params, **kwargs)}
        return {name: np.atleast_1d(one).view(float).ravel() for name, one in found.items()}

    def conf_interval(self, **kwargs: Any) -> Any:
        """Intervals by profiles: see `fitzroy.lmfit.conf_interval`. They stay in `ci_out`."""
        self.ci_out = conf_interval(self, self, **kwargs)
        return self.ci_out

    def ci_report(self, with_offset: bool = True, ndigits: int = 5, **kwargs: Any) -> str:
        """Those intervals as a table."""
        return ci_report(self.conf_interval(**kwargs), with_offset=with_offset, ndigits=ndigits)

    def fit_report(
        self,
        modelpars: Mapping[str, Any] | None = None,
        show_correl: bool = True,
        min_correl: float = 0.1,
        sort_pars: Any = False,
        correl_mode: str = "list",
    ) -> str:
        """The report of the fit as text."""
        report = fit_report(self, modelpars, show_correl, min_correl, sort_pars, correl_mode)
        return f"[[Model]]\n    {self.model.name}\n{report}"

    def _repr_html_(self, show_correl: bool = True, min_correl: float = 0.1) -> str:
        report = fitreport_html_table(self, show_correl, min_correl)
        return f"<h2>Fit Result</h2> <p>Model: {self.model.name}</p> {report}"

    def summary(self) -> dict[str, Any]:
        """What is known of the fit, as a dict of plain values."""
        out: dict[str, Any] = {"model": self.model.name, "method": self.method}
        for name in SUMMARY:
            value = getattr(self, name, None)
            out[name] = value.item() if isinstance(value, np.generic) else value
        out["params"] = [par.__getstate__() for par in self.params.values()]
        return out

    def dumps(self, **kws: Any) -> str:
        """The fit as JSON, with its data."""
        return result_dumps(self, **kws)

    def dump(self, fp: TextIO, **kws: Any) -> int:
        """Writes the JSON into a file."""
        return fp.write(self.dumps(**kws))

    def loads(self, s: str, funcdefs: Mapping[str, Any] | None = None, **kws: Any) -> ModelResult:
        """The fit of JSON, with functions by name in `funcdefs`, in the place of this."""
        return result_loads(self, s, funcdefs, **kws)

    def load(
        self, fp: TextIO, funcdefs: Mapping[str, Any] | None = None, **kws: Any
    ) -> ModelResult:
        """The fit of a file."""
        return self.loads(fp.read(), funcdefs=funcdefs, **kws)
