"""Progress in a terminal, in Jupyter and in marimo, whose places are taken by others here."""

from __future__ import annotations

import io
import sys
import types

import pytest

from fitzroy import progress


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(progress, "OFTEN", 0.0)
    monkeypatch.delitem(sys.modules, "marimo", raising=False)
    monkeypatch.delitem(sys.modules, "IPython", raising=False)


def shown():
    """Shows half of a run of two chains, then its end."""
    tick, end = progress.progress(True)
    if tick is None:
        return False
    tick([600, 400], [1, 0], 1000)
    tick([1000, 1000], [1, 0], 1000)
    end()
    return True


def test_a_terminal_has_a_line_which_goes(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    assert shown()
    text = sys.stderr.getvalue()
    assert "[##########          ] 50 %, slowest chain 400/1000, 1 divergences" in text
    assert "the draws are collected" in text and text.endswith("\r\x1b[K")


def test_a_file_has_nothing(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not shown()
    assert progress.progress(False)[0] is None


def test_jupyter_has_a_bar_which_goes(monkeypatch):
    pages = []
    handle = types.SimpleNamespace(update=pages.append)
    shell = types.SimpleNamespace(kernel=1)
    ipython = types.SimpleNamespace(get_ipython=lambda: shell)
    display = types.SimpleNamespace(HTML=str, display=lambda page, display_id: handle)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    assert shown()
    assert pages[0].startswith("<progress value=0.500></progress> 50 %")
    assert len(pages) == 3 and pages[-1] == ""


def test_marimo_has_a_bar_which_goes(monkeypatch):
    pages = []
    output = types.SimpleNamespace(replace=pages.append, clear=lambda: pages.append("gone"))
    marimo = types.SimpleNamespace(running_in_notebook=lambda: True, output=output, Html=str)
    monkeypatch.setitem(sys.modules, "marimo", marimo)
    assert shown()
    assert pages[0].startswith("<progress value=0.500></progress> 50 %") and pages[-1] == "gone"
    # A script that imports it is no notebook.
    marimo.running_in_notebook = lambda: False
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not shown()
