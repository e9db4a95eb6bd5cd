"""Progress of a run: a line in a terminal, a bar in a notebook."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

__all__ = ["Progress", "progress", "tell"]

#: Called with transitions and divergences of each chain, and the transitions of a chain in all.
Progress = Callable[[list[int], list[int], int], None]

#: Seconds between two updates.
OFTEN = 0.2


def progress(asked: bool | Progress) -> tuple[Progress | None, Callable[[], None]]:
    """What to call while a run goes on, and what to call when it has ended."""
    if callable(asked):
        return asked, lambda: None
    if not asked:
        return None, lambda: None
    shown = _marimo() or _notebook() or _terminal()
    return (shown, shown.end) if shown is not None else (None, lambda: None)


def tell(notes: list[tuple[str, str]], stacklevel: int) -> None:
    """What a session told: warnings of what could not be done, lines of what all should know."""
    for kind, note in notes:
        if kind == "failure":
            warnings.warn(note, RuntimeWarning, stacklevel=stacklevel + 1)
        elif kind == "notice":
            print(note, file=sys.stderr)


def _notebook() -> _Shown | None:
    """A bar in Jupyter; none elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import HTML, display

    handle = display(HTML(""), display_id=True)
    if handle is None:
        return None
    return _Shown(
        lambda text, part: handle.update(HTML(_bar(text, part))), lambda: handle.update(HTML(""))
    )


def _marimo() -> _Shown | None:
    """A bar in marimo, in the place of what the cell shows; none elsewhere."""
    marimo = sys.modules.get("marimo")
    if marimo is None or not marimo.running_in_notebook():
        return None

    def show(text: str, part: float) -> None:
        marimo.output.replace(marimo.Html(_bar(text, part)))

    return _Shown(show, marimo.output.clear)


def _bar(text: str, part: float) -> str:
    return f"<progress value={part:.3f}></progress> {text}"


def _terminal() -> _Shown | None:
    if not sys.stderr.isatty():
        return None

    def show(text: str, part: float) -> None:
        sys.stderr.write(f"\r\x1b[K[{('#' * int(20 * part)).ljust(20)}] {text}")
        sys.stderr.flush()

    def end() -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

    return _Shown(show, end)


class _Shown:
    def __init__(self, show: Callable[[str, float], Any], end: Callable[[], Any]) -> None:
        """Shows a text and a part with `show`, and takes that away with `end`."""
        self._show, self._end = show, end
        self._began = time.monotonic()
        self._shown_at = 0.0
        self._used = False

    def __call__(self, done: list[int], divergences: list[int], total: int) -> None:
        now = time.monotonic()
        if now - self._shown_at < OFTEN or not total:
            return
        self._shown_at, self._used = now, True
        part = sum(done) / (total * max(len(done), 1))
        spent = now - self._began
        left = f", {spent * (1 - part) / part:.0f} s left" if part > 0.02 else ""
        diverged = f", {sum(divergences)} divergences" if sum(divergences) else ""
        slowest = min(done, default=0)
        if slowest >= total:
            self._show("the draws are collected", 1.0)
            return
        self._show(f"{100 * part:.0f} %, slowest chain {slowest}/{total}{diverged}{left}", part)

    def end(self) -> None:
        if self._used:
            self._end()
