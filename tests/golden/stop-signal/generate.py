"""Writes trials.csv: log likelihoods of single stop-signal trials and their slopes.

Run: python3 tests/golden/stop-signal/generate.py     (needs mpmath; about two minutes)

Textbook formulas at 40 digits: Wald distribution function with e^(2Bv), ex-Gaussian distribution
function as a difference, the integral over the stop time by mpmath's quadrature on pieces. Slopes
are central differences with a step of 1e-12, good to 20 digits. Columns: what is tried, outcome (0
none, 1 right, 2 wrong), rt, ssd (inf on go trials), lower end of the stop time, deadline, the
eleven parameters, log likelihood, its slope in each parameter.
"""

from pathlib import Path

from mpmath import erfc, exp, inf, log, mp, mpf, pi, quad, sqrt

mp.dps = 40
NAMES = ["t0", "B", "v_plus", "v_minus", "v0", "g", "stop_mu", "stop_sigma", "stop_tau", "pgf", "ptf"]
TYPICAL = dict(t0=.15, B=1.25, v_plus=3.2, v_minus=.6, v0=2.6, g=2.8, stop_mu=.24,
               stop_sigma=.045, stop_tau=.025, pgf=.03, ptf=.06)


def Phi(x):
    return erfc(-x / sqrt(2)) / 2


def density(t, v, B):
    return B / sqrt(2 * pi * t**3) * exp(-(B - v * t) ** 2 / (2 * t)) if t > 0 else mpf(0)


def survivor(t, v, B):
    if t <= 0:
        return mpf(1)
    return Phi((B - v * t) / sqrt(t)) - exp(2 * B * v) * Phi(-(B + v * t) / sqrt(t))


def stop_density(x, m, s, tau):
    return exp((m - x) / tau + s * s / (2 * tau * tau)) * Phi((x - m) / s - s / tau) / tau


def stop_survivor(x, m, s, tau):
    return 1 - Phi((x - m) / s) + exp((m - x) / tau + s * s / (2 * tau * tau)) * Phi((x - m) / s - s / tau)


def rate(v, v0, g, ssd):
    reach = g * ssd
    return v0 + max(-reach, min(reach, v - v0))


def stops(p, ssd, lower, end):
    """P(the stop process is first, before `end` after it started)."""
    m, s, tau = p["stop_mu"], p["stop_sigma"], p["stop_tau"]
    rates = [rate(p[k], p["v0"], p["g"], ssd) for k in ("v_plus", "v_minus")]
    kept = stop_survivor(lower, m, s, tau) if lower > -inf else mpf(1)

    def both(x):
        t = x + ssd - p["t0"]
        return survivor(t, rates[0], p["B"]) * survivor(t, rates[1], p["B"])

    low = lower if lower > -inf else m - 14 * s
    far = m + 14 * s + 90 * tau
    far = min(far, end)
    begin = min(max(low, p["t0"] - ssd), far)
    before = kept - stop_survivor(begin, m, s, tau) if begin > lower else mpf(0)
    # A racer's survivor changes within milliseconds of its start.
    marks = [begin + d for d in (.01, .03, .08, .2, .4)] + [m + k * s for k in (-6, -3, -1, 0, 1, 3, 6)]
    marks += [m + k * tau for k in (1, 3, 10, 30)]
    points = [begin] + sorted(x for x in marks if begin < x < far) + [far]
    total = quad(lambda x: stop_density(x, m, s, tau) * both(x), points, maxdegree=7)
    return (before + total) / kept, rates


def log_likelihood(p, outcome, rt, ssd, lower, deadline):
    m, s, tau = p["stop_mu"], p["stop_sigma"], p["stop_tau"]
    go = ssd == inf
    rates = [p["v_plus"], p["v_minus"]] if go else [rate(p[k], p["v0"], p["g"], ssd) for k in ("v_plus", "v_minus")]

    def later(x):
        if x <= lower:
            return mpf(1)
        kept = stop_survivor(lower, m, s, tau) if lower > -inf else mpf(1)
        return stop_survivor(x, m, s, tau) / kept

    if outcome:
        w, l = rates if outcome == 1 else rates[::-1]
        t = rt - p["t0"]
        out = log(1 - p["pgf"]) + log(density(t, w, p["B"])) + log(survivor(t, l, p["B"]))
        return out if go else out + log(p["ptf"] + (1 - p["ptf"]) * later(rt - ssd))
    late = mpf(0)
    if deadline < inf:
        late = survivor(deadline - p["t0"], rates[0], p["B"]) * survivor(deadline - p["t0"], rates[1], p["B"])
    if go:
        return log(p["pgf"] + (1 - p["pgf"]) * late)
    first, _ = stops(p, ssd, lower, deadline - ssd)
    rest = (1 - p["ptf"]) * first
    if deadline < inf:
        rest += late * (p["ptf"] + (1 - p["ptf"]) * later(deadline - ssd))
    return log(p["pgf"] + (1 - p["pgf"]) * rest)


ROWS = [("typical go, right", 1, .52, inf, {}), ("typical go, wrong", 2, .47, inf, {}),
        ("go, none", 0, 0, inf, {}), ("go just above t0", 1, .17, inf, {}),
        ("go, slow", 1, 1.9, inf, {}), ("go, slow and a fast loser", 2, 1.6, inf, {}),
        ("go, weak drifts", 1, .8, inf, dict(v_plus=.3, v_minus=.01)),
        ("go, strong drifts", 2, .3, inf, dict(v_plus=7.5, v_minus=4.5, B=2)),
        ("go, small threshold", 1, .4, inf, dict(B=.25)),
        ("signal-respond, right", 1, .42, .2, {}), ("signal-respond, wrong", 2, .4, .2, {}),
        ("signal-respond before the signal", 1, .35, .5, {}),
        ("signal-respond below the bound", 1, .38, .35, {}),
        ("signal-respond far in the tail", 2, 1.2, .05, {}),
        ("signal-respond, wide stop time", 1, .5, .1, dict(stop_sigma=.15, stop_tau=.15)),
        ("signal-respond, narrow stop time", 1, .5, .3, dict(stop_sigma=.005, stop_tau=.002)),
        ("signal-respond, v_plus below v0", 1, .5, .3, dict(v_plus=2.1)),
        ("signal-respond, slow turn", 2, .5, .3, dict(g=.4))]
ROWS += [(f"stopped at {d}", 0, 0, d, {}) for d in (0, .05, .1, .15, .2, .3, .45, .9)]
ROWS += [("stopped, small sigma", 0, 0, .2, dict(stop_sigma=.006, stop_tau=.03)),
         ("stopped, small tau", 0, 0, .2, dict(stop_sigma=.05, stop_tau=.002)),
         ("stopped, wide", 0, 0, .25, dict(stop_sigma=.12, stop_tau=.12)),
         ("stopped, long tail", 0, 0, .1, dict(stop_sigma=.02, stop_tau=.15)),
         ("stopped, late start", 0, 0, .02, dict(t0=.3, stop_mu=.2)),
         ("stopped, strong drifts", 0, 0, .2, dict(v_plus=6, v_minus=3, v0=4, g=6)),
         ("stopped, never fails", 0, 0, .2, dict(pgf=.001, ptf=.001))]
BOUNDS = [("no lower bound", 0, 0, .1, {}, -inf, inf), ("no lower bound, responded", 1, .42, .2, {}, -inf, inf),
          ("deadline, go none", 0, 0, inf, {}, .05, 1.0), ("deadline, stopped", 0, 0, .25, {}, .05, 1.0),
          ("deadline within the stop time", 0, 0, .65, {}, .05, .9),
          ("deadline, long tail", 0, 0, .3, dict(stop_tau=.15), -inf, 1.2)]


def main():
    rows = [(*r, .05, inf) for r in ROWS] + BOUNDS
    lines = ["what,outcome,rt,ssd,stop_lb,deadline," + ",".join(NAMES) + ",log_lik,"
             + ",".join("d_" + n for n in NAMES)]
    text = lambda x: repr(float(x))
    for what, outcome, rt, ssd, changes, lower, deadline in rows:
        # The numbers are those of f64, so that both sides start from the same.
        p = {k: mpf({**TYPICAL, **changes}[k]) for k in NAMES}
        rest = (outcome, mpf(rt), mpf(ssd), mpf(lower), mpf(deadline))
        value = log_likelihood(p, *rest)
        h = mpf(10) ** -12
        slopes = []
        for k in NAMES:
            up, down = ({**p, k: p[k] + s * h} for s in (1, -1))
            slopes.append((log_likelihood(up, *rest) - log_likelihood(down, *rest)) / (2 * h))
        fields = [text(x) for x in (rt, ssd, lower, deadline, *p.values(), value, *slopes)]
        lines.append(",".join([what.replace(",", ";"), str(outcome), *fields]))
        print(what, flush=True)
    Path(__file__).with_name("trials.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
