"""Differential equations: `pm.ode.DifferentialEquation` as a system of the language."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt

from .axes import Expr, Unconvertible, number
from .walk import Walk, op

__all__: list[str] = []

#: How exact PyMC's solutions are.
TOLERANCE = "rtol=1e-8, atol=1e-8"


@op("DifferentialEquation")
def differential_equation(walk: Walk, v: Any) -> Expr:
    """The states at the times: each is a definition whose rate uses the others."""
    node, of = v.owner, v.owner.op
    if v is not node.outputs[0]:
        raise Unconvertible("DifferentialEquation", "whose sensitivities are used")
    if of.n_times < 2:
        raise Unconvertible("DifferentialEquation", "that is solved at one time")
    start, theta = node.inputs
    times = walk.constant(pt.constant(np.asarray(of.times, dtype=float)), "times")
    time = times.axes[0]
    assert time is not None, "there are several times"

    def over_time(e: Expr) -> Any:
        """A variable for what has a value at each time."""
        known = pt.vector(shape=(of.n_times,))
        walk.know(known, e)
        return known

    shown = [walk.writer.fresh("state") for _ in range(of.n_states)]
    states = [over_time(Expr([time], name, named=True)) for name in shown]
    try:
        rates = list(of.func(states, over_time(times), theta))
    except (TypeError, AttributeError) as e:
        why = f"whose function does not take its states one by one ({e})"
        raise Unconvertible("DifferentialEquation", why) from e
    if len(rates) != of.n_states:
        raise Unconvertible("DifferentialEquation", "whose rates are not as many as its states")
    rates = [pt.as_tensor_variable(rate) for rate in rates]
    walk.count(rates)
    for k, name in enumerate(shown):
        rate, first = walk.expr(rates[k]), walk.expr(start[k])
        if rate.real and [a.root for a in rate.real] != [time.root]:
            raise Unconvertible("DifferentialEquation", "whose rates are no numbers")

        def text(name: str = name, rate: Expr = rate, first: Expr = first) -> str:
            dims = walk.writer.dims([time])
            given = f"{times.text()}, from={number(of.t0)}, {TOLERANCE}"
            return f"let {name}{dims} = solve({rate.text()}, {first.text()}, {given})"

        walk.writer.say(text)
    return walk.expr(pt.stack(states, axis=1))
