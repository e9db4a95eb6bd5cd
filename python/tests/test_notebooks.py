"""The notebooks run from the first cell to the last, and show what they end with."""

from __future__ import annotations

import ast
import importlib.util
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name):
    """Names that the cells define, and what each cell shows, as a notebook would ask for it."""
    page = json.loads((EXAMPLES / f"{name}.ipynb").read_text(encoding="utf-8"))
    names, shown = {"__name__": "__main__"}, []
    for k, cell in enumerate(page["cells"]):
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [] and cell["execution_count"] is None, "outputs are not kept"
        tree = ast.parse("".join(cell["source"]), f"{name}.ipynb, cell {k}")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"{name}.ipynb, cell {k}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"{name}.ipynb", "eval"), names)
            if type(value).__module__.startswith("fitzroy"):
                page_of = value._repr_html_()
                assert page_of.startswith("<") and str(value)
            shown.append(value)
    return names, shown


@pytest.fixture(autouse=True)
def strict():
    pytest.importorskip("xarray")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", module="fitzroy")
        warnings.filterwarnings("error", message=".*(converged|converted|traced).*")
        yield


def test_curves():
    names, shown = run("curves")
    assert np.all(np.abs(names["popt"] - [2.5, 1.3, 0.5]) < 4.5 * np.sqrt(np.diag(names["pcov"])))
    assert names["held"].fixed == {"c": 0.5} and names["many"].converged.all()
    # The standard deviation of 1,000 numbers is known to 2.2 %.
    np.testing.assert_allclose(shown[-1], 1, atol=4.5 * 0.0224)


def test_models():
    names, shown = run("models")
    assert shown[1] is True, "both ways give one model"
    assert names["run"].done and abs(shown[-1]) < 0.5


def test_pymc_models():
    if importlib.util.find_spec("pymc") is None:
        pytest.skip("the notebook is of PyMC models")
    names, shown = run("pymc_models")
    assert shown[1].spread < 1e-9 and abs(shown[-1] - 0.7) < 4.5 * 0.04
    assert np.isfinite(shown[-2].elpd)
