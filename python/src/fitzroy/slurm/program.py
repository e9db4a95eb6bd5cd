"""The program `fitzroy` of this package, which plans, submits and collects."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from .. import _fitzroy

__all__ = ["called", "place", "told"]

#: Exit codes of the program for input that is wrong, and for work that is not complete.
WRONG, INCOMPLETE = 2, 1
#: What the program says, and the same in Python.
IN_PYTHON = (
    (re.compile(r"--set '?([a-z_]+)="), r"\1="),
    (re.compile(r"--split (?:chains|parts):(\d+)"), r"tasks=\1"),
    (re.compile(r"`?fitzroy slurm render\b[^`\n]*`?"), "dry_run=True"),
    (re.compile(r"`?fitzroy slurm (rerun|cancel|collect|submit)\b[^`\n]*`?"), r"\1()"),
    (re.compile(r" with --out\b"), " with out="),
)


def place() -> str:
    """The file of the program.

    Raises FileNotFoundError where this package was installed without it.
    """
    beside = Path(__file__).parents[2]
    folders = [
        sysconfig.get_path("scripts"),
        os.path.dirname(sys.executable),
        # Where `pip install --target` puts it.
        str(beside / "bin"),
    ]
    for folder in folders:
        found = shutil.which("fitzroy", path=folder)
        if found:
            return found
    found = shutil.which("fitzroy")
    if found:
        return found
    raise FileNotFoundError(
        "there is no program `fitzroy` beside this Python, which jobs call; install the package by "
        "pip, or name the program with program='...'"
    )


def called(words: Sequence[str]) -> tuple[bool, str, str]:
    """Calls the program: whether its work is complete, what it printed, and what else it said.

    Raises ValueError for what is wrong with the input, RuntimeError for what else it refuses.
    """
    ran = subprocess.run([place(), *words], capture_output=True, text=True)
    if ran.returncode in (0, INCOMPLETE):
        return ran.returncode == 0, ran.stdout, ran.stderr
    # Warnings may stand above the error.
    _, _, error = f"\n{ran.stderr}".partition("\nerror: ")
    said = told((error or ran.stderr).strip())
    if ran.returncode == WRONG:
        raise ValueError(said)
    raise RuntimeError(said or f"the program ended with code {ran.returncode}")


def told(text: str) -> str:
    """What the program says, in Python's words."""
    for pattern, instead in IN_PYTHON:
        text = pattern.sub(instead, text)
    return _fitzroy.in_arguments(text)
