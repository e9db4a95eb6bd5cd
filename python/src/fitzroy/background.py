"""Runs that go on while Python does something else."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .progress import Progress

__all__ = ["Chains", "Run", "Stopped"]

#: Seconds between publications of the draws of a run that may be inspected.
OFTEN_S = 1.0


class Stopped(Exception):
    """A run was stopped before its first draw."""


@dataclass(frozen=True)
class Chains:
    """How the chains of a run stand."""

    #: Transitions of each chain, those of the warm-up among them.
    done: list[int]
    #: Divergences of each chain.
    divergences: list[int]
    #: Transitions of a chain in all; 0 before the chains have begun.
    total: int

    @property
    def part(self) -> float:
        """How much is done, from 0 to 1."""
        return sum(self.done) / (self.total * len(self.done)) if self.total else 0.0


class Run:
    """A run in the background, which `sample(..., blocking=False)` returns.

    Leaving a `with` block, or the end of the program, waits for nothing: stop it with `abort`.
    """

    def __init__(
        self,
        work: Callable[[str, Progress], Any],
        look: Callable[[str], Any],
        folder: str | None,
        shown: Progress | None = None,
    ) -> None:
        """Starts `work`, which publishes its draws in a folder, by default one that goes with the
        run, and calls a function of (done, divergences, total), which may raise to stop it. `look`
        reads what is in the folder."""
        self._own = tempfile.mkdtemp(prefix="fitzroy-") if folder is None else None
        self._folder = folder if folder is not None else f"{self._own}/run"
        self._look, self._shown = look, shown
        self._chains = Chains([], [], 0)
        self._stop = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[str, Progress], Any]) -> None:
        try:
            self._result = work(self._folder, self._tick)
        except BaseException as error:  # noqa: BLE001 - raised by `wait`
            self._error = error
        finally:
            if self._own is not None:
                shutil.rmtree(self._own, ignore_errors=True)

    def _tick(self, done: list[int], divergences: list[int], total: int) -> None:
        self._chains = Chains(list(done), list(divergences), total)
        if self._stop.is_set():
            raise Stopped("the run was stopped before its first draw")
        if self._shown is not None:
            self._shown(done, divergences, total)

    @property
    def progress(self) -> Chains:
        """How the chains stand."""
        return self._chains

    @property
    def done(self) -> bool:
        """Whether the run has ended, well or not."""
        return not self._thread.is_alive()

    def wait(self, timeout: float | None = None) -> Any:
        """The result, when there is one.

        Raises TimeoutError after `timeout` seconds without it, and what the run raised.
        """
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise TimeoutError(f"the run has not ended after {timeout} seconds: {self!r}")
        if self._error is not None:
            raise self._error
        return self._result

    def inspect(self) -> Any:
        """The draws that have been published so far, in the form of the result; they are published
        every second or so, and none are before the first draw, when this is None."""
        if self.done:
            return self.wait()
        try:
            return self._look(self._folder)
        except (OSError, ValueError):
            # Nothing is there yet, or the run has ended meanwhile and took its folder along.
            return self.wait() if self.done else None

    def abort(self) -> Any:
        """Stops the run; the draws that there are.

        Raises Stopped where there are none.
        """
        self._stop.set()
        return self.wait()

    def __repr__(self) -> str:
        chains = self._chains
        state = "ended" if self.done else "running"
        return f"<fitzroy.Run {state}, {100 * chains.part:.0f} % of {len(chains.done)} chains>"

    def _repr_html_(self) -> str:
        return f"<progress value={self._chains.part:.3f}></progress> {repr(self)[1:-1]}"
