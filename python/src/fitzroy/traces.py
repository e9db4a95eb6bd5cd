"""Draws that are read, examined, compared and shown: ours, or ArviZ's."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from . import _fitzroy
from .results import groups_of, tree

__all__ = [
    "Comparison",
    "Diagnosis",
    "Loo",
    "Report",
    "compare",
    "diagnose",
    "loo",
    "read",
    "report",
]

Array = np.ndarray[Any, Any]
#: JSON's words for numbers that are not finite.
WORDS = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}


class Diagnosis:
    """What draws are worth: verdict, findings and a table of every element."""

    def __init__(self, document: str, text: str) -> None:
        #: As `fitzroy diagnose --json` prints it.
        self.document: dict[str, Any] = json.loads(document)
        self._text = text

    @property
    def verdict(self) -> str:
        """'converged', 'in question' or 'not converged'."""
        return str(self.document["verdict"])

    @property
    def converged(self) -> bool:
        return bool(self.document["converged"])

    @property
    def findings(self) -> list[str]:
        """What is wrong, with advice."""
        return list(self.document["findings"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Mean, sd, intervals, effective draws and R-hat of every element."""
        return [{k: _number(v) for k, v in row.items()} for row in self.document["summary"]]

    def to_dataframe(self) -> Any:
        """The rows as a pandas DataFrame, by elements."""
        import pandas as pd

        rows = self.rows
        names = [_element(row) for row in rows]
        for row in rows:
            for key in ("name", "index", "labels"):
                row.pop(key, None)
        return pd.DataFrame(rows, index=names)

    def __repr__(self) -> str:
        return self._text.rstrip()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


class Loo:
    """Leave-one-out cross-validation of one model."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        #: Expected log predictive density of new data like these, in nats; its standard error.
        self.elpd, self.se = _number(document["elpd"]), _number(document["se"])
        #: Effective number of parameters.
        self.p = _number(document["p"])
        #: The same for every observation, and the shape of the tail of its weights.
        self.elpd_i, self.pareto_k = _array(document["elpd_i"]), _array(document["pareto_k"])
        #: k above which an observation's cannot be trusted, and how many are.
        self.k_limit: float = document["k_limit"]
        self.n_unreliable: int = document["n_unreliable"]

    def __repr__(self) -> str:
        bad = ""
        if self.n_unreliable:
            names = self.document.get("names") or []
            order = np.argsort(-np.nan_to_num(self.pareto_k, nan=np.inf))[: self.n_unreliable][:5]
            shown = ", ".join(names[i] for i in order) if names else ""
            bad = f"; Pareto k above {self.k_limit:.2f} at {self.n_unreliable}: {shown}"
        return (
            f"elpd {self.elpd:.2f} ± {self.se:.2f}, p {self.p:.2f}, "
            f"{len(self.elpd_i)} observations{bad}"
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


class Comparison:
    """Models ranked by cross-validation, best first."""

    COLUMNS = ("elpd", "se", "p", "elpd_diff", "dse", "p_worse", "weight")

    def __init__(self, document: dict[str, Any]) -> None:
        #: As `fitzroy compare --json` prints it.
        self.document = document
        self.caution: str | None = document["caution"]

    @property
    def names(self) -> list[str]:
        """The models, best first."""
        return [m["name"] for m in self.document["models"]]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The numbers of each model."""
        return [{c: _number(m[c]) for c in self.COLUMNS} for m in self.document["models"]]

    def to_dataframe(self) -> Any:
        """The rows as a pandas DataFrame, by models."""
        import pandas as pd

        return pd.DataFrame(self.rows, index=self.names)

    def _cells(self) -> list[list[str]]:
        rows = [["model", *self.COLUMNS]]
        for name, row in zip(self.names, self.rows):
            rows.append([name, *(f"{row[c]:.3f}" for c in self.COLUMNS)])
        return rows

    def _notes(self) -> list[str]:
        own = [f"{m['name']}: {m['caution']}" for m in self.document["models"] if m["caution"]]
        return own + ([self.caution] if self.caution else [])

    def __repr__(self) -> str:
        cells = self._cells()
        width = max(len(row[0]) for row in cells)
        lines = [row[0].ljust(width) + "".join(c.rjust(12) for c in row[1:]) for row in cells]
        return "\n".join([*lines, *self._notes()])

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>"
            for row in self._cells()
        )
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._notes())
        return f"<table>{rows}</table>{notes}"


class Report:
    """A page of HTML that needs no network."""

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page."""
        Path(path).write_text(self.html, encoding="utf-8")

    def __repr__(self) -> str:
        return f"<fitzroy report of {len(self.html)} characters; .save(path) writes it>"

    def _repr_html_(self) -> str:
        page = escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="700" frameborder="0"></iframe>'


def read(path: str | os.PathLike[str]) -> Any:
    """The draws at `path` as a run returns them: the folder of a run, finished or not, or a file of
    Fitzroy, ArviZ (NetCDF, Zarr) or CmdStan (CSV). Of very large ones some of their draws."""
    raw = _fitzroy.read(os.fspath(path))
    return tree(raw, groups_of(raw), {})


def diagnose(
    draws: Any, *, var_names: Iterable[str] | None = None, ci_prob: float = 0.89
) -> Diagnosis:
    """Whether draws can be trusted, and what they say: means, intervals, effective draws, R-hat.

    `draws` are what `sample` returns, what ArviZ keeps, or a path, see `read`.
    """
    return Diagnosis(*_fitzroy.diagnosed(draws_of(draws), list(var_names or []), ci_prob))


def loo(draws: Any, var_name: str | None = None) -> Loo:
    """Cross-validation from the group `log_likelihood`, which `log_likelihood=True` keeps."""
    return Loo(json.loads(_fitzroy.loo(draws_of(draws), var_name)))


def compare(models: Mapping[str, Any], var_name: str | None = None) -> Comparison:
    """Ranks models, given as draws by name, by how well they predict."""
    if not isinstance(models, Mapping):
        raise TypeError("compare needs a dict of draws by the names of the models")
    given = [(str(name), draws_of(draws)) for name, draws in models.items()]
    return Comparison(json.loads(_fitzroy.compared(given, var_name)))


def report(draws: Any, name: str = "draws") -> Report:
    """The report of a run, or of draws, as one page."""
    return Report(_fitzroy.report(draws_of(draws), name))


def draws_of(draws: Any) -> Any:
    """A path, or the groups of a DataTree, an InferenceData or a dict as the library takes them."""
    if isinstance(draws, (str, os.PathLike)):
        return os.fspath(draws)
    datasets = _datasets(draws)
    groups: dict[str, Any] = {}
    coords: dict[str, Any] = {}
    for name, one in datasets.items():
        variables = {}
        for key, variable in one.items():
            found = _variable(variable)
            if found is not None:
                variables[str(key)] = found
        groups[name] = variables
        for dim, labels in getattr(one, "coords", {}).items():
            values = np.asarray(labels)
            if values.ndim == 1 and dim in getattr(one, "sizes", {}):
                whole = values.dtype.kind in "iu"
                coords[str(dim)] = [int(v) if whole else str(v) for v in values.tolist()]
    return {"groups": groups, "coords": coords, "attributes": {}}


def _datasets(draws: Any) -> dict[str, Any]:
    if hasattr(draws, "children") and hasattr(draws, "to_dataset"):
        return {name: child.to_dataset() for name, child in draws.children.items()}
    if callable(getattr(draws, "groups", None)):
        return {name: draws[name] for name in draws.groups()}
    if hasattr(draws, "data_vars"):
        return {"posterior": draws}
    if isinstance(draws, Mapping) and all(isinstance(one, Mapping) for one in draws.values()):
        return dict(draws)
    raise TypeError(
        f"draws are a {type(draws).__name__}; they may be what sample returns, an xarray DataTree "
        "or Dataset, ArviZ's InferenceData, or the path of a trace or of a run's folder"
    )


def _variable(variable: Any) -> tuple[list[str], Array] | None:
    """Dims and array of a variable of numbers, chains and draws first; none of others."""
    dims = [str(d) for d in getattr(variable, "dims", ())]
    if {"chain", "draw"} <= set(dims):
        variable = variable.transpose("chain", "draw", ...)
        dims = [str(d) for d in variable.dims]
    array = np.asarray(variable)
    if not dims:
        dims = ["chain", "draw", *(f"dim_{k}" for k in range(array.ndim - 2))][: array.ndim]
    if array.dtype.kind == "b":
        return dims, np.ascontiguousarray(array)
    if array.dtype.kind in "iu":
        return dims, np.ascontiguousarray(array, dtype=np.int64)
    if array.dtype.kind == "f":
        return dims, np.ascontiguousarray(array, dtype=float)
    return None


def _number(value: Any) -> Any:
    return WORDS.get(value, value) if isinstance(value, str) else value


def _array(values: list[Any]) -> Array:
    return np.array([_number(v) for v in values], dtype=float)


def _element(row: dict[str, Any]) -> str:
    inside = row.get("labels") or row["index"]
    return f"{row['name']}[{', '.join(map(str, inside))}]" if inside else str(row["name"])
