"""The code of the README and of the pages for users of Python runs."""

from __future__ import annotations

import importlib.util
import re
import sys
import warnings
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent
NAMES = ["python.md"]
NAMES += [f"coming-from-{name}.md" for name in ("pymc", "scipy", "numpyro", "lmfit")]
PAGES = [HERE / "README.md", *(HERE.parent / "docs" / name for name in NAMES)]
BLOCK = re.compile(r"(<!-- needs: (\w+) -->\n)?```python\n(.*?)```", re.DOTALL)


@pytest.fixture(autouse=True)
def jax_as_it_was():
    """JAX with the precision that it had: a page may ask for another."""
    jax = sys.modules.get("jax")
    before = jax.config.jax_enable_x64 if jax else False
    yield
    jax = sys.modules.get("jax")
    if jax:
        jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_blocks_run_one_after_the_other(page):
    pytest.importorskip("xarray")
    names: dict[str, object] = {}
    n = skipped = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, needs, code in BLOCK.findall(page.read_text(encoding="utf-8")):
            needs = needs or ("pymc" if "import pymc" in code else "")
            if needs and importlib.util.find_spec(needs) is None:
                skipped += 1
                continue
            exec(compile(code, str(page), "exec"), names)
            n += 1
    assert n + skipped >= 1
    if n == 0:
        pytest.skip("all blocks need packages that are not here")
