"""Step methods that other packages bring to PyMC for variables of their own."""

from __future__ import annotations

from typing import Any

import pymc as pm
from pymc import step_methods
from pymc.step_methods.compound import Competence

from .axes import Unconvertible

__all__ = ["check_steps", "own_step"]


def own_step(v: Any) -> Any:
    """The step method of another package for this variable, as the sums of trees of PyMC-BART have
    one; None for most."""
    # Packages put theirs into either list; PyMC 6.4 warns of who asks for the first.
    known = [*vars(pm).get("STEP_METHODS", ()), *step_methods.STEP_METHODS]
    others = [m for m in known if not m.__module__.startswith("pymc.")]
    own = [m for m in others if Competence.IDEAL in m._competence(v, True)]
    return own[0] if own else None


def check_steps(model: Any) -> None:
    """That no free variable has a step method of its own.

    A density that PyMC would give for such a variable says nothing of how it is drawn.

    Raises Unconvertible with the first of them.
    """
    for v in model.free_RVs:
        step = own_step(v)
        if step is not None:
            package = step.__module__.partition(".")[0]
            raise Unconvertible(v.name, f"{package} draws it by {step.__name__}")
