"""Writes ex_gaussian.csv: log likelihoods of single trials of the ex-Gaussian race, and their slopes.

Run: python3 tests/golden/stop-signal/ex_gaussian.py     (needs mpmath; some minutes)

Textbook formulas at 40 digits, the integral over the stop time by mpmath's quadrature on pieces,
slopes as central differences with a step of 1e-12. Rows with a name try one thing each; those called
`random` have parameters of a seeded generator. Columns: what is tried, outcome (0 none, 1 right, 2
wrong), rt, ssd (inf on go trials), lower end of the stop time, of go times, deadline, the parameters
(error_mu is inf where there is one go runner), log likelihood, its slope in each parameter.
"""

import random
from math import exp as e
from math import log as ln
from pathlib import Path

from generate import stop_density as density
from generate import stop_survivor as survivor
from mpmath import inf, log, mp, mpf, quad

mp.dps = 40
NAMES = ["go_mu", "go_sigma", "go_tau", "stop_mu", "stop_sigma", "stop_tau", "pgf", "ptf",
         "error_mu", "error_sigma", "error_tau"]
TYPICAL = dict(go_mu=.42, go_sigma=.07, go_tau=.12, stop_mu=.22, stop_sigma=.04, stop_tau=.03, pgf=.03,
               ptf=.06, error_mu=.6, error_sigma=.15, error_tau=.25)
SINGLE = dict(error_mu=inf, error_sigma=1, error_tau=1)


def runners(p):
    all = [[p[f"{who}_{what}"] for what in ("mu", "sigma", "tau")] for who in ("go", "error")]
    return all if p["error_mu"] < inf else all[:1]


def running(p, go_lb):
    """P(no go runner has finished at t), as a function of t."""
    all = [(runner, survivor(go_lb, *runner)) for runner in runners(p)]

    def at(t):
        total = mpf(1)
        for runner, kept in all:
            total *= survivor(t, *runner) / kept if t > go_lb else 1
        return total

    return at


def stops(p, ssd, lower, go_lb, end):
    """P(the stop process is first, before `end` after it started)."""
    m, s, tau = p["stop_mu"], p["stop_sigma"], p["stop_tau"]
    kept = survivor(lower, m, s, tau) if lower > -inf else mpf(1)
    begin = lower if lower > -inf else m - 14 * s
    far = min(m + 14 * s + 90 * tau, end)
    marks = [m + k * s for k in (-6, -3, 0, 3, 6)] + [m + k * tau for k in (3, 10, 30)]
    marks += [go_lb - ssd]
    for mu, sigma, mean in runners(p):
        marks += [mu - ssd + k * sigma for k in (-6, -3, 0, 3, 6)]
    points = [begin] + sorted(x for x in marks if begin < x < far) + [far]
    go = running(p, go_lb)
    whole = quad(lambda x: density(x, m, s, tau) * go(x + ssd), points, method="gauss-legendre", maxdegree=6)
    return whole / kept


def later(p, x, lower):
    """P(the stop process takes longer than x)."""
    stop = [p[f"stop_{what}"] for what in ("mu", "sigma", "tau")]
    kept = survivor(lower, *stop) if lower > -inf else mpf(1)
    return survivor(x, *stop) / kept if x > lower else mpf(1)


def log_likelihood(p, outcome, rt, ssd, lower, go_lb, deadline):
    pgf, ptf = p["pgf"], p["ptf"]
    if outcome:
        total = log(1 - pgf)
        for k, runner in enumerate(runners(p), 1):
            part = density if k == outcome else survivor
            total += log(part(rt, *runner) / survivor(go_lb, *runner))
        return total + (log(ptf + (1 - ptf) * later(p, rt - ssd, lower)) if ssd < inf else 0)
    late = running(p, go_lb)(deadline) if deadline < inf else mpf(0)
    if ssd == inf:
        return log(pgf + (1 - pgf) * late)
    none = (1 - ptf) * stops(p, ssd, lower, go_lb, deadline - ssd)
    if deadline < inf:
        none += late * (ptf + (1 - ptf) * later(p, deadline - ssd, lower))
    return log(pgf + (1 - pgf) * none)


# What is tried, outcome, rt, ssd, changed parameters, stop_lb, go_lb, deadline.
ROWS = [("go, right", 1, .5, inf, {}, .05, .05, inf), ("go, wrong", 2, .55, inf, {}, .05, .05, inf),
        ("go, none", 0, 0, inf, {}, .05, .05, inf), ("go, early", 1, .16, inf, {}, .05, .05, inf),
        ("go, late", 1, 1.9, inf, {}, .05, .05, inf), ("go, long after a narrow runner", 1, 1.9, inf,
         dict(go_sigma=.02, go_tau=.01), .05, .05, inf),
        ("go, long before", 2, .1, inf, dict(error_sigma=.02), .05, .05, inf),
        ("go, wide beside its tail", 1, .5, inf, dict(go_sigma=.2, go_tau=.002), .05, .05, inf),
        ("go, cut off", 1, .3, inf, dict(go_mu=.2, go_sigma=.15), .05, .1, inf),
        ("one runner", 1, .5, inf, SINGLE, .05, .05, inf), ("responded", 1, .45, .2, {}, .05, .05, inf),
        ("responded, wrong", 2, .5, .3, {}, .05, .05, inf), ("responded, before the signal", 1, .3, .35, {}, .05, .05, inf),
        ("responded, one runner", 1, .45, .2, SINGLE, .05, .05, inf), ("stopped", 0, 0, .2, {}, .05, .05, inf),
        ("stopped, at once", 0, 0, 0, {}, .05, .05, inf), ("stopped, late", 0, 0, .6, {}, .05, .05, inf),
        ("stopped, one runner", 0, 0, .25, SINGLE, .05, .05, inf),
        ("stopped, no lower bound", 0, 0, .15, {}, -inf, 0, inf),
        ("stopped, go times begin late", 0, 0, .05, {}, .05, .3, inf),
        ("stopped, narrow runners", 0, 0, .2, dict(go_sigma=.02, error_sigma=.03, stop_tau=.1), .05, .05, inf),
        ("stopped, narrow", 0, 0, .25, dict(stop_sigma=.005, stop_tau=.002), .05, .05, inf),
        ("stopped, errors first", 0, 0, .2, dict(error_mu=.3, error_sigma=.03, error_tau=.1), .05, .05, inf),
        ("deadline, go none", 0, 0, inf, {}, .05, .05, .9), ("deadline, stopped", 0, 0, .3, {}, .05, .05, .9),
        ("deadline, one runner", 0, 0, .3, SINGLE, .05, .05, 1.1),
        ("deadline within the stop time", 0, 0, .65, {}, .05, .05, .85)]


def some(n):
    source = random.Random(20)
    between = lambda a, b: e(source.uniform(ln(a), ln(b)))
    for k in range(n):
        p = {}
        for who, a, b in (("go", .3, .6), ("error", .3, .9), ("stop", .15, .3)):
            p[f"{who}_mu"] = between(a, b)
            p[f"{who}_sigma"] = between(.02, .12)
            p[f"{who}_tau"] = between(.02 if who == "stop" else .05, .1 if who == "stop" else .3)
        p["pgf"], p["ptf"] = source.uniform(.01, .2), source.uniform(.01, .3)
        if k % 4 == 3:
            p.update(SINGLE)
        deadline = source.uniform(1, 1.5) if k % 3 == 2 else inf
        outcome = 0 if k % 2 else 1
        rt = source.uniform(.2, .95) if outcome else 0
        yield "random", outcome, rt, source.uniform(0, .5), p, .05, .05, deadline


def main():
    lines = ["what,outcome,rt,ssd,stop_lb,go_lb,deadline," + ",".join(NAMES) + ",log_lik,"
             + ",".join("d_" + n for n in NAMES)]
    text = lambda x: repr(float(x))
    for what, outcome, rt, ssd, changes, *ends in ROWS + list(some(16)):
        # The numbers are those of f64, so that both sides start from the same.
        p = {k: mpf({**TYPICAL, **changes}[k]) for k in NAMES}
        rest = (outcome, mpf(rt), mpf(ssd), *map(mpf, ends))
        value = log_likelihood(p, *rest)
        h = mpf(10) ** -12
        slopes = []
        for k in NAMES:
            if p["error_mu"] == inf and k.startswith("error"):
                slopes.append(0)
                continue
            up, down = ({**p, k: p[k] + s * h} for s in (1, -1))
            slopes.append((log_likelihood(up, *rest) - log_likelihood(down, *rest)) / (2 * h))
        fields = [text(x) for x in (rt, ssd, *ends, *p.values(), value, *slopes)]
        lines.append(",".join([what.replace(",", ";"), str(outcome), *fields]))
        print(what, flush=True)
    Path(__file__).with_name("ex_gaussian.csv").write_text("\n".join(lines) + "\n")


main()
