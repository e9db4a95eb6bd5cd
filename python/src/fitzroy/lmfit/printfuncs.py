"""Reports of fits as text, and as tables for notebooks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import numpy as np

__all__ = [
    "alphanumeric_sort",
    "ci_report",
    "correl_table",
    "fit_report",
    "fitreport_html_table",
    "gformat",
    "params_html_table",
    "report_ci",
    "report_fit",
]

#: Lines of the statistics: what they say, and the attribute that has it.
STATISTICS = {
    "# fitting method": "method",
    "# function evals": "nfev",
    "# data points": "ndata",
    "# variables": "nvarys",
    "chi-square": "chisqr",
    "reduced chi-square": "redchi",
    "Akaike info crit": "aic",
    "Bayesian info crit": "bic",
    "R-squared": "rsquared",
}


def alphanumeric_sort(name: str) -> list[Any]:
    """A key by which `p2` comes before `p10`."""
    return [int(part) if part.isdigit() else part.lower() for part in re.split("([0-9]+)", name)]


def gformat(value: Any, length: int = 11) -> str:
    """A number in exactly `length` characters, at least 7, with as many digits as have room."""
    if value is None or isinstance(value, bool):
        return f"{value!r:>{length}s}"
    try:
        exponent = int(math.log10(abs(value)))
    except (OverflowError, ValueError):
        exponent = 0
    except TypeError:
        return f"{value!r:>{length}s}"
    length = max(length, 7)
    digits, form = length - 7, "e"
    if abs(exponent) > 99:
        digits -= 1
    elif 0 < exponent < digits + 4 or (exponent <= 0 and -exponent < digits - 1):
        form = "f"
        digits += 4 - max(exponent, 0)
    return f"{value:{length}.{digits}{form}}"


def getfloat_attr(obj: Any, attr: str, length: int = 11) -> str:
    """An attribute as text: a number, or `unknown` where there is none."""
    value = getattr(obj, attr, None)
    if value is None:
        return "unknown"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return gformat(value, length).strip()
    return repr(value)


def fit_report(
    inpars: Any,
    modelpars: Mapping[str, Any] | None = None,
    show_correl: bool = True,
    min_correl: float = 0.1,
    sort_pars: Any = False,
    correl_mode: str = "list",
) -> str:
    """The report of a result, or of parameters: statistics, values with their errors, correlations.

    `modelpars` are values that are known, `sort_pars` is True or a key, and `correl_mode` 'list' or
    'table'; correlations below `min_correl` are left out of the list.
    """
    result = inpars if hasattr(inpars, "params") else None
    params = inpars if result is None else result.params
    names = list(params)
    if sort_pars:
        names.sort(key=sort_pars if callable(sort_pars) else alphanumeric_sort)
    width = max(map(len, names), default=0)
    lines: list[str] = []
    if result is not None:
        lines += _statistics(result, width)
    lines.append("[[Variables]]")
    lines += [_variable(params[name], name, width, modelpars) for name in names]
    if show_correl:
        lines += _correlations(params, names, min_correl, correl_mode)
    return "\n".join(lines)


def _statistics(result: Any, width: int) -> list[str]:
    out = ["[[Fit Statistics]]"]
    for label, attr in STATISTICS.items():
        if attr != "rsquared" or hasattr(result, attr):
            said = result.method if attr == "method" else getfloat_attr(result, attr)
            out.append(f"    {label:<18} = {said}")
    if result.errorbars:
        return out
    out.append("##  Warning: uncertainties could not be estimated:")
    for name, par in result.params.items():
        if not par.vary:
            continue
        space = " " * (width - len(name))
        if par.init_value and np.allclose(par.value, par.init_value):
            out.append(f"    {name}:{space}  at initial value")
        if np.allclose(par.value, par.min) or np.allclose(par.value, par.max):
            out.append(f"    {name}:{space}  at boundary")
    return out


def _variable(par: Any, name: str, width: int, known: Mapping[str, Any] | None) -> str:
    first = "(init = ?)" if par.init_value is None else f"(init = {par.init_value:.7g})"
    if known is not None and name in known:
        first += f", model_value = {known[name].value:.7g}"
    try:
        value = gformat(par.value)
    except (TypeError, ValueError):
        value = " Non Numeric Value?"
    if par.stderr is not None:
        percent = f"({abs(par.stderr / par.value):.2%})" if par.value else ""
        value = f"{value} +/-{gformat(par.stderr)} {percent}"
    head = f"    {name}:{' ' * (width - len(name))}"
    if par.vary:
        return f"{head} {value} {first}"
    if par.expr is not None:
        return f"{head} {value} == '{par.expr}'"
    return f"{head} {par.value: .7g} (fixed)"


def _pairs(params: Any, names: Iterable[str], least: float) -> list[tuple[str, str, float]]:
    """Pairs of parameters that are correlated by more, the most first."""
    names = list(names)
    out = []
    for k, name in enumerate(names):
        par = params[name]
        if par.vary and par.correl:
            for other in names[k + 1 :]:
                if other in par.correl and abs(par.correl[other]) > least:
                    out.append((name, other, par.correl[other]))
    return sorted(out, key=lambda pair: -abs(pair[2]))


def _correlations(params: Any, names: list[str], least: float, mode: str) -> list[str]:
    if mode.startswith("tab"):
        return ["[[Correlations]] ", *(f"  {row}" for row in correl_table(params).split("\n"))]
    pairs = _pairs(params, names, least)
    if not pairs:
        return []
    width = max(len(a) + len(b) + 3 for a, b, _ in pairs)
    heads = [f"{a}, {b})".ljust(width) for a, b, _ in pairs]
    rows = [f"    C({head} = {pair[2]:+.4f}" for head, pair in zip(heads, pairs)]
    return [f"[[Correlations]] (unreported correlations are < {least:.3f})", *rows]


def correl_table(params: Any) -> str:
    """The correlations of the parameters that vary, as a table."""
    names = [name for name in params if params[name].vary]
    width = max([8, *map(len, names)]) + 1
    bar = "+" + "+".join(["-" * (width + 1)] * (len(names) + 1)) + "+"

    def row(cells: list[str]) -> str:
        return "|" + "|".join(f" {cell:{width}s}" for cell in cells) + "|"

    out = [bar, row(["Variable", *names]), bar]
    for name in names:
        known = {name: 1.0, **(params[name].correl or {})}
        out.append(row([name, *(f"{known[n]:+.4f}" if n in known else "unknown" for n in names)]))
    return "\n".join([*out, bar])


def report_fit(params: Any, **kws: Any) -> None:
    """Prints `fit_report`."""
    print(fit_report(params, **kws))


def ci_report(
    ci: Mapping[str, list[tuple[float, float]]], with_offset: bool = True, ndigits: int = 5
) -> str:
    """The intervals of `conf_interval` as a table, as offsets from the best values or not."""
    width = max(map(len, ci), default=0)
    lines: list[str] = []
    for name, row in ci.items():
        if not lines:
            heads = ["_BEST_" if abs(p) < 0.01 else f"{100 * p:.2f}%" for p, _ in row]
            lines.append(" " * (width + 1) + "".join(head.rjust(ndigits + 5) for head in heads))
        best = next((value for p, value in row if abs(p) < 0.01), 0.0) if with_offset else 0.0
        sign = "+" if with_offset else ""
        cells = [
            f"{value:.{ndigits}f}" if p < 0.01 else f"{value - best:{sign}.{ndigits}f}"
            for p, value in row
        ]
        lines.append(f" {name.ljust(width)}:" + "".join(c.rjust(ndigits + 5) for c in cells))
    return "\n".join(lines)


def report_ci(ci: Mapping[str, list[tuple[float, float]]]) -> None:
    """Prints `ci_report`."""
    print(ci_report(ci))


#: The class keeps tables out of a notebook's table of contents.
TABLE = '<table class="jp-toc-ignore">'


def _row(cells: list[Any], kind: str = "td") -> str:
    inside = "".join(f"<{kind}>{escape(str(cell))}</{kind}>" for cell in cells)
    return f"<tr>{inside}</tr>"


def params_html_table(params: Any) -> str:
    """Parameters as a table of HTML."""
    errors = any(par.stderr is not None for par in params.values())
    tied = any(par.expr is not None for par in params.values())
    stepped = any(par.brute_step is not None for par in params.values())
    heads = ["name", "value", *(["standard error", "relative error"] if errors else [])]
    heads += ["initial value", "min", "max", "vary"]
    heads += [*(["expression"] if tied else []), *(["brute step"] if stepped else [])]
    rows = [_row(heads, "th")]
    for par in params.values():
        cells = [par.name, gformat(par.value)]
        if errors:
            known = par.stderr is not None
            cells.append(gformat(par.stderr) if known else "")
            cells.append(f"({abs(par.stderr / par.value):.2%})" if known and par.value else "")
        cells += [par.init_value, gformat(par.min), gformat(par.max), par.vary]
        cells += [par.expr or ""] if tied else []
        step = par.brute_step
        cells += ["None" if step is None else gformat(step)] if stepped else []
        rows.append(_row(cells))
    return f"{TABLE}<caption>Parameters</caption>{''.join(rows)}</table>"


def fitreport_html_table(result: Any, show_correl: bool = True, min_correl: float = 0.1) -> str:
    """The report of a fit as tables of HTML."""
    rows = []
    for label, attr in STATISTICS.items():
        if hasattr(result, attr):
            value = getattr(result, attr)
            rows.append(_row([label, gformat(value) if isinstance(value, float) else value]))
    out = [f"{TABLE}<caption>Fit Statistics</caption>{''.join(rows)}</table>"]
    out.append(params_html_table(result.params))
    pairs = _pairs(result.params, result.params, min_correl) if show_correl else []
    if pairs:
        title = f"Correlations (unreported values are &lt; {min_correl:.3f})"
        rows = [_row(["Parameter1", "Parameter 2", "Correlation"], "th")]
        rows += [_row([a, b, f"{value:+.4f}"]) for a, b, value in pairs]
        out.append(f"{TABLE}<caption>{title}</caption>{''.join(rows)}</table>")
    return "".join(out)
