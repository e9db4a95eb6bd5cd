"""The program `fitzroy`: `python -m fitzroy` is the same."""

from __future__ import annotations

import os
import shutil
import signal
import sys

from . import _fitzroy

__all__ = ["main"]


def main() -> int:
    """Runs the program with the arguments of this process, which should end with the exit code."""
    # Python would note the signal and wait for this call to end; the program has its own handler.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Jobs of a cluster call the program by its file.
    name = sys.argv[0]
    found = name if os.path.basename(name) == "fitzroy" else shutil.which("fitzroy")
    return _fitzroy.main([os.path.abspath(found or name), *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
