//! StopSignal: what happens on each trial of a stop-signal task; WaldRace: who wins a race.
//!
//! Trials fall into six outcomes, each with its own formula. Those without a response time are the
//! same for all trials of a subject with the same delay, and are computed once for all of them.

mod trials;

use super::super::build::Build;
use super::super::observed::Observed;
use super::site::{Site, lit};
use crate::Result;
use crate::dist::{
    Race, Racer, Real, StopTime, StopWindow, Structured, gauss_legendre, rate_after,
};
use fitzroy_graph::Expr as Value;
use trials::{Done, Group, Parts, Trials};

/// An observed task.
pub(super) fn observed(
    b: &mut Build<'_, '_>,
    site: &Site<'_>,
    observed: Observed<'_>,
    form: Structured,
) -> Result<()> {
    let n_given = match form {
        Structured::WaldRace => 1,
        _ => 2,
    };
    let trials = Trials::new(b, site, observed, n_given)?;
    let mut done = Done::default();
    let of = |outcome: f64, stop: bool| -> Vec<usize> {
        let fits = |&i: &usize| observed.values[i] == outcome && trials.ssd[i].is_finite() == stop;
        (0..observed.values.len()).filter(fits).collect()
    };
    match form {
        Structured::WaldRace => {
            for (outcome, sides) in [(1.0, [2, 3]), (2.0, [3, 2])] {
                let group = trials.rows(b, &of(outcome, false), &format!("won by {outcome}"));
                done.add(b, group, |b, g| {
                    race(b, &trials, g, [0, 1, sides[0], sides[1]])
                });
            }
        }
        _ => {
            let task = Task::new(b, site, &trials)?;
            trials.check_deadline(b, observed, task.deadline)?;
            for (outcome, sides) in [(1.0, [2, 3]), (2.0, [3, 2])] {
                let group = trials.rows(b, &of(outcome, false), &format!("go {outcome}"));
                done.add(b, group, |b, g| task.go_response(b, g, sides));
                let group = trials.rows(b, &of(outcome, true), &format!("stop {outcome}"));
                done.add(b, group, |b, g| task.stop_response(b, g, sides));
            }
            let group = trials.cells(b, &of(0.0, false), "go none");
            done.add(b, group, |b, g| task.go_none(b, g));
            let group = trials.cells(b, &of(0.0, true), "stop none");
            done.add(b, group, |b, g| task.stop_none(b, g));
        }
    }
    let rows = done.rows(b, site, observed.dims[0]);
    b.vector_term(observed, observed.dims, rows, Some(done.sum));
    Ok(())
}

/// ln f(winner) + ln S(loser) of the racers at places \[t0, B, winner, loser\] of the parameters.
fn race<'g>(b: &Build<'_, 'g>, trials: &Trials<'g>, g: &Group, at: [usize; 4]) -> Parts<'g> {
    let [t0, threshold, winner, loser] = at.map(|k| trials.arg(b, g, k));
    let rt = trials.data(b, g, "rt", |i| trials.rt[i]);
    vec![raced(rt, t0, threshold, winner, loser)]
}

fn raced<'g>(
    rt: Value<'g>,
    t0: Value<'g>,
    threshold: Value<'g>,
    winner: Value<'g>,
    loser: Value<'g>,
) -> Value<'g> {
    let race = Race::at(rt - t0, winner, loser, threshold);
    race.log_density.with_slopes(&[
        (t0, -race.by_time),
        (threshold, race.by_threshold),
        (winner, race.by_winner),
        (loser, race.by_loser),
    ])
}

// Places of the parameters.
const T0: usize = 0;
const B: usize = 1;
const V0: usize = 4;
const G: usize = 5;
const STOP: [usize; 3] = [6, 7, 8];
const PGF: usize = 9;
const PTF: usize = 10;

/// The stop-signal model of some trials.
struct Task<'t, 'g> {
    trials: &'t Trials<'g>,
    lower: f64,
    deadline: f64,
    rule: Vec<(f64, f64)>,
}

impl<'t, 'g> Task<'t, 'g> {
    fn new(b: &mut Build<'_, 'g>, site: &Site<'_>, trials: &'t Trials<'g>) -> Result<Self> {
        let mut number = |k: usize| match site.given(k) {
            Some(e) => b.number(e),
            None => Ok(site.resolved.form.args()[k].default.unwrap_or(f64::NAN)),
        };
        let (lower, deadline, nodes) = (number(13)?, number(14)?, number(15)?);
        let fault = if !(lower < f64::INFINITY) {
            Some((
                13,
                format!("`stop_lb` is {lower}; give seconds, or -inf for none"),
            ))
        } else if !(deadline > 0.0) {
            Some((
                14,
                format!("`deadline` is {deadline}; give seconds, or inf for none"),
            ))
        } else if !(4.0..=64.0).contains(&nodes) || nodes.fract() != 0.0 {
            Some((
                15,
                format!("`nodes` is {nodes}; use 4 to 64 for each half, usually 24"),
            ))
        } else {
            None
        };
        if let Some((k, message)) = fault {
            let span = site.given(k).map_or(site.s.distribution.span, |e| e.span);
            return Err(b.model.error(span, message));
        }
        Ok(Task {
            trials,
            lower,
            deadline,
            rule: gauss_legendre(nodes as usize),
        })
    }

    fn arg(&self, b: &Build<'_, 'g>, g: &Group, k: usize) -> Value<'g> {
        self.trials.arg(b, g, k)
    }

    fn ssd(&self, b: &Build<'_, 'g>, g: &Group) -> Value<'g> {
        self.trials.data(b, g, "ssd", |i| self.trials.ssd[i])
    }

    /// ln(1 − pgf) + ln f + ln S
    fn go_response(&self, b: &Build<'_, 'g>, g: &Group, [w, l]: [usize; 2]) -> Parts<'g> {
        let mut parts = race(b, self.trials, g, [T0, B, w, l]);
        parts.push((-self.arg(b, g, PGF)).ln_1p());
        parts
    }

    /// As on go trials, with the rates at this delay, and the stop process late or never started.
    fn stop_response(&self, b: &Build<'_, 'g>, g: &Group, [w, l]: [usize; 2]) -> Parts<'g> {
        let [winner, loser] = self.rates(b, g, [w, l]);
        let rt = self.trials.data(b, g, "rt", |i| self.trials.rt[i]);
        let raced = raced(rt, self.arg(b, g, T0), self.arg(b, g, B), winner, loser);
        let ptf = self.arg(b, g, PTF);
        let x = self
            .trials
            .data(b, g, "x", |i| self.trials.rt[i] - self.trials.ssd[i]);
        let late = ptf + (lit(1.0) - ptf) * self.stop_later(b, g, x);
        vec![raced, late.ln(), (-self.arg(b, g, PGF)).ln_1p()]
    }

    fn rates(&self, b: &Build<'_, 'g>, g: &Group, sides: [usize; 2]) -> [Value<'g>; 2] {
        let (ssd, v0, speed) = (self.ssd(b, g), self.arg(b, g, V0), self.arg(b, g, G));
        sides.map(|k| rate_after(ssd, self.arg(b, g, k), v0, speed))
    }

    fn stop(&self, b: &Build<'_, 'g>, g: &Group) -> [Value<'g>; 3] {
        STOP.map(|k| self.arg(b, g, k))
    }

    /// The stop process' survivor at x > `lower`, not yet divided by that at `lower`.
    fn survivor(x: Value<'g>, stop: [Value<'g>; 3]) -> Value<'g> {
        let at = StopTime::at(x, stop);
        let slopes: Vec<_> = stop.into_iter().zip(at.survivor_by).collect();
        at.survivor().with_slopes(&slopes)
    }

    /// S(L), or 1 without a lower bound.
    fn kept(&self, b: &Build<'_, 'g>, g: &Group) -> Value<'g> {
        match self.lower.is_finite() {
            true => Self::survivor(
                lit(self.lower).broadcast(b.scope, &[g.dim]),
                self.stop(b, g),
            ),
            false => lit(1.0),
        }
    }

    /// P(X > x) of the truncated stop time, x being data.
    fn stop_later(&self, b: &Build<'_, 'g>, g: &Group, x: Value<'g>) -> Value<'g> {
        let inside = lit(self.lower).lt(x);
        let safe = match self.lower.is_finite() {
            true => inside.select(x, lit(self.lower)),
            false => x,
        };
        let share = Self::survivor(safe, self.stop(b, g)) / self.kept(b, g);
        inside.select(share, lit(1.0))
    }

    /// S₊S₋ at the deadline.
    fn both_late(&self, b: &Build<'_, 'g>, g: &Group, rates: [Value<'g>; 2]) -> Value<'g> {
        let (t0, threshold) = (self.arg(b, g, T0), self.arg(b, g, B));
        let left = lit(self.deadline) - t0;
        let open = lit(0.0).lt(left);
        let t = open.select(left, lit(1.0));
        let [x, y] = rates.map(|v| Racer::at(t, v, threshold));
        let product = x.survivor * y.survivor;
        let slopes = [
            (t0, x.density * y.survivor + x.survivor * y.density),
            (
                threshold,
                x.by_threshold * y.survivor + x.survivor * y.by_threshold,
            ),
            (rates[0], x.by_drift * y.survivor),
            (rates[1], x.survivor * y.by_drift),
        ];
        open.select(product.with_slopes(&slopes), lit(1.0))
    }

    /// ln pgf, or with a deadline ln(pgf + (1 − pgf)·S₊S₋)
    fn go_none(&self, b: &Build<'_, 'g>, g: &Group) -> Parts<'g> {
        let pgf = self.arg(b, g, PGF);
        if self.deadline.is_infinite() {
            return vec![pgf.ln()];
        }
        let late = self.both_late(b, g, [2, 3].map(|k| self.arg(b, g, k)));
        vec![(pgf + (lit(1.0) - pgf) * late).ln()]
    }

    /// ln(pgf + (1 − pgf)(1 − ptf)·P), P that the stop process is first; with a deadline also
    /// where everybody is late.
    fn stop_none(&self, b: &Build<'_, 'g>, g: &Group) -> Parts<'g> {
        let (pgf, ptf) = (self.arg(b, g, PGF), self.arg(b, g, PTF));
        let rates = self.rates(b, g, [2, 3]);
        let stopped = (lit(1.0) - ptf) * self.stop_first(b, g, rates);
        let none = match self.deadline.is_infinite() {
            true => stopped,
            false => {
                let rest = |i: usize| self.deadline - self.trials.ssd[i];
                let x = self.trials.data(b, g, "rest", rest);
                let never = ptf + (lit(1.0) - ptf) * self.stop_later(b, g, x);
                stopped + self.both_late(b, g, rates) * never
            }
        };
        vec![(pgf + (lit(1.0) - pgf) * none).ln()]
    }

    /// P = \[Z − S(start) + ∫ f(x)·S₊S₋(x + SSD − t0) dx\]/Z from start = max(L, t0 − SSD).
    ///
    /// Slopes pass no end of the integral: at t0 − SSD what enters it has left the part before.
    fn stop_first(&self, b: &Build<'_, 'g>, g: &Group, rates: [Value<'g>; 2]) -> Value<'g> {
        let (t0, ssd, stop) = (self.arg(b, g, T0), self.ssd(b, g), self.stop(b, g));
        let end = self.deadline.is_finite().then(|| {
            self.trials
                .data(b, g, "rest", |i| self.deadline - self.trials.ssd[i])
        });
        let mut start = t0 - ssd;
        if let Some(end) = end {
            start = start.min(end);
        }
        let early = lit(self.lower).lt(start);
        let start = early.select(start, lit(self.lower));
        let window = StopWindow::new(start, end, stop);
        let integral = self.integral(b, g, rates, &window);
        let kept = self.kept(b, g);
        // The start is a number here, not a function of t0.
        let at = StopTime::at(start, stop);
        let slopes: Vec<_> = stop.into_iter().zip(at.survivor_by).collect();
        let started = at.survivor().with_slopes(&slopes);
        (early.select(kept - started, lit(0.0)) + integral) / kept
    }

    fn integral(
        &self,
        b: &Build<'_, 'g>,
        g: &Group,
        rates: [Value<'g>; 2],
        window: &StopWindow<Value<'g>>,
    ) -> Value<'g> {
        let n = self.rule.len();
        let node = b.scope.dim(&format!("{}: node", g.tag), n);
        // Node by node: what is looked up for the cells and summed over the nodes then runs over
        // neighbouring numbers.
        let dims = [node, g.dim];
        let over = |x: Value<'g>| x.broadcast(b.scope, &dims);
        // In full: a product with what repeats along cells would become a contraction.
        let table = |what: &str, f: fn(&(f64, f64)) -> f64| {
            let each = |p| std::iter::repeat_n(f(p), g.first.len());
            let all: Vec<f64> = self.rule.iter().flat_map(each).collect();
            b.scope
                .bound_data(&format!("{}: {what}", g.tag), &dims, &all)
        };
        let (c, w) = (table("node", |p| p.0), table("weight", |p| p.1));
        let (t0, threshold) = (self.arg(b, g, T0), self.arg(b, g, B));
        let stop = self.stop(b, g);
        let window = StopWindow {
            start: over(window.start),
            width: over(window.width),
        };
        let [_, sigma, tau] = stop.map(over);
        let (z, dx) = window.node(c, [sigma, tau]);
        let shift = over(stop[0] + self.ssd(b, g) - t0);
        let t = (shift + sigma * z).max(lit(1e-9));
        let at = StopTime::standardised(z, [sigma, tau]);
        let [x, y] = rates.map(|v| Racer::at(t, over(v), over(threshold)));
        let both = x.survivor * y.survivor;
        let weight = w * dx;
        let (of_f, of_x) = (weight * both, weight * at.density);
        let (x_only, y_only) = (of_x * y.survivor, of_x * x.survivor);
        let sum = |v: Value<'g>| v.sum_over(&[node]);
        let mut slopes: Vec<_> = stop
            .into_iter()
            .zip(at.density_by)
            .map(|(p, by)| (p, sum(of_f * by)))
            .collect();
        slopes.push((t0, sum(x_only * x.density + y_only * y.density)));
        slopes.push((
            threshold,
            sum(x_only * x.by_threshold + y_only * y.by_threshold),
        ));
        slopes.push((rates[0], sum(x_only * x.by_drift)));
        slopes.push((rates[1], sum(y_only * y.by_drift)));
        sum(of_f * at.density).with_slopes(&slopes)
    }
}
