"""What this machine is, whether its arithmetic is right, and how fast it is."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from . import _fitzroy

__all__ = ["Devices", "Verification", "devices", "release_devices", "verify"]


class Devices:
    """The processor and the GPUs."""

    def __init__(self, document: dict[str, Any]) -> None:
        #: Everything that was found.
        self.document = document
        #: Model, threads, vector instructions and memory.
        self.cpu: dict[str, Any] = document["cpu"]
        #: What the driver says of every GPU.
        self.gpus: list[dict[str, Any]] = document["gpus"]
        #: Why a GPU, or any, cannot be used.
        self.trouble: str | None = document["trouble"]

    @property
    def names(self) -> list[str]:
        """What `device=` may be: 'cpu', 'cuda:0', ..."""
        return ["cpu", *(f"cuda:{gpu['index']}" for gpu in self.gpus)]

    def __len__(self) -> int:
        return len(self.names)

    def _rows(self) -> list[tuple[str, str, str]]:
        cpu = self.cpu
        rows = [("cpu", cpu["model"], f"{cpu['threads']} threads, {cpu['simd']}{_size(cpu)}")]
        for gpu in self.gpus:
            of = f"compute capability {gpu['capability']}{_size(gpu)}"
            rows.append((f"cuda:{gpu['index']}", gpu["name"], of))
        return rows

    def __repr__(self) -> str:
        lines = ["  ".join(row) for row in self._rows()]
        return "\n".join(lines + ([self.trouble] if self.trouble else []))

    def _repr_html_(self) -> str:
        trouble = f"<p>{escape(self.trouble)}</p>" if self.trouble else ""
        return _table(("device", "name", ""), self._rows()) + trouble


class Verification:
    """What `fitzroy verify` finds."""

    def __init__(self, document: dict[str, Any]) -> None:
        #: Everything that was found, as `fitzroy verify --json` prints it.
        self.document = document
        #: Whether no check failed. What is not there does not fail.
        self.passed: bool = document["passed"]
        #: Name, verdict and detail of each check.
        self.checks: list[dict[str, str]] = document["checks"]
        #: Settings that suit this machine.
        self.settings: dict[str, Any] = document["settings"]
        #: Speeds of memory and arithmetic of the processor.
        self.rates: dict[str, float] = document["rates"]

    def _rows(self) -> list[tuple[str, str, str]]:
        return [(c["verdict"], c["name"], c["detail"]) for c in self.checks]

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        lines = ["  ".join(row) for row in self._rows()]
        return "\n".join([*lines, f"result: {self._word()}"])

    def _repr_html_(self) -> str:
        rows = _table(("", "check", "found"), self._rows())
        return f"<p><b>{self._word()}</b></p>{rows}"

    def _word(self) -> str:
        return "PASS" if self.passed else "FAIL"


def devices() -> Devices:
    """Lists the processor and the GPUs, without a check."""
    return Devices(json.loads(_fitzroy.devices()))


def release_devices() -> None:
    """Gives back the GPUs that fits of curves keep in use from the first fit on until the process ends.

    A GPU in use takes some hundred megabytes of its memory, and a GPU in exclusive mode is closed to
    other processes meanwhile. The next fit on a GPU opens it again.
    """
    _fitzroy.release_devices()


def verify(conformance: bool = False) -> Verification:
    """Checks the arithmetic of this machine and measures it: a third of a second, and a few seconds
    for every GPU. `conformance` runs the whole suite of operations on every GPU."""
    return Verification(json.loads(_fitzroy.verify(conformance)))


def _size(of: dict[str, Any]) -> str:
    memory = of.get("memory")
    return f", {memory['total_bytes'] / 2**30:.1f} GiB" if memory else ""


def _table(head: tuple[str, ...], rows: list[tuple[str, str, str]]) -> str:
    def line(cells: tuple[str, ...], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(c)}</{tag}>" for c in cells) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table>{line(head, 'th')}{body}</table>"
