//! StopSignal and StopSignalExGaussian: what happens on each trial of a stop-signal task; WaldRace:
//! who wins a race.
//!
//! Trials fall into six outcomes, each with its own formula. Those without a response time are the
//! same for all trials of a subject with the same delay, and are computed once for all of them.

mod go;
mod trials;

use super::super::build::Build;
use super::super::observed::Observed;
use super::site::{Site, lit};
use crate::Result;
use crate::dist::{Real, StopTime, StopWindow, Structured, gauss_legendre};
use fitzroy_graph::{DimId, Expr as Value};
use go::{Accumulators, ExGaussians, GoProcess, raced, survivor};
use trials::{Done, Group, Parts, Trials};

/// An observed task.
pub(super) fn observed(
    b: &mut Build<'_, '_>,
    site: &Site<'_>,
    observed: Observed<'_>,
    form: Structured,
) -> Result<()> {
    let arguments = match form {
        Structured::WaldRace => 1..5,
        Structured::StopSignalExGaussian if !has_error(b, site)? => 2..10,
        _ => 2..13,
    };
    let trials = Trials::new(b, site, observed, arguments)?;
    let mut done = Done::default();
    let of = |outcome: f64, stop: bool| -> Vec<usize> {
        let fits = |&i: &usize| observed.values[i] == outcome && trials.ssd[i].is_finite() == stop;
        (0..observed.values.len()).filter(fits).collect()
    };
    if form == Structured::WaldRace {
        for (outcome, sides) in [(1.0, [2, 3]), (2.0, [3, 2])] {
            let group = trials.rows(b, &of(outcome, false), &format!("won by {outcome}"));
            done.add(b, group, |b, g| {
                race(b, &trials, g, [0, 1, sides[0], sides[1]])
            });
        }
    } else {
        let go = go_process(b, site, observed, form, &trials)?;
        let task = Task::new(b, site, &trials, go.as_ref(), form)?;
        trials.check_deadline(b, observed, task.deadline)?;
        for (outcome, by) in [(1.0, 0), (2.0, 1)] {
            let group = trials.rows(b, &of(outcome, false), &format!("go {outcome}"));
            done.add(b, group, |b, g| task.go_response(b, g, by));
            let group = trials.rows(b, &of(outcome, true), &format!("stop {outcome}"));
            done.add(b, group, |b, g| task.stop_response(b, g, by));
        }
        let group = trials.cells(b, &of(0.0, false), "go none");
        done.add(b, group, |b, g| task.go_none(b, g));
        let group = trials.cells(b, &of(0.0, true), "stop none");
        done.add(b, group, |b, g| task.stop_none(b, g));
    }
    let rows = done.rows(b, site, observed.dims[0]);
    b.vector_term(observed, observed.dims, rows, Some(done.sum));
    Ok(())
}

/// ln f(winner) + ln S(loser) of the racers at places \[t0, B, winner, loser\] of the parameters.
fn race<'g>(b: &Build<'_, 'g>, trials: &Trials<'g>, g: &Group, at: [usize; 4]) -> Parts<'g> {
    let [t0, threshold, winner, loser] = at.map(|k| trials.arg(b, g, k));
    vec![raced(trials.time(b, g), t0, threshold, winner, loser)]
}

/// Places of `error_mu`, `error_sigma` and `error_tau` among the arguments.
const ERROR: std::ops::Range<usize> = 10..13;
/// The place of `go_lb`.
const GO_LB: usize = 16;

/// Whether there is a runner for the wrong response.
fn has_error(b: &Build<'_, '_>, site: &Site<'_>) -> Result<bool> {
    match ERROR.filter(|&k| site.given(k).is_some()).count() {
        0 => Ok(false),
        3 => Ok(true),
        _ => {
            let message = "give `error_mu`, `error_sigma` and `error_tau`, or none of them";
            Err(b.model.error(site.s.distribution.span, message))
        }
    }
}

fn go_process<'t, 'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    observed: Observed<'_>,
    form: Structured,
    trials: &'t Trials<'g>,
) -> Result<Box<dyn GoProcess<'g> + 't>> {
    if form == Structured::StopSignal {
        return Ok(Box::new(Accumulators { trials }));
    }
    let lower = number(b, site, GO_LB)?;
    if !(0.0..f64::INFINITY).contains(&lower) {
        let span = site
            .given(GO_LB)
            .map_or(site.s.distribution.span, |e| e.span);
        let message = format!("`go_lb` is {lower}; give seconds, 0 or more");
        return Err(b.model.error(span, message));
    }
    let mut runners = vec![[0, 1, 2]];
    match has_error(b, site)? {
        // Behind go_mu, go_sigma, go_tau, the stop process, pgf and ptf.
        true => runners.push([8, 9, 10]),
        false => trials.check_single(b, observed)?,
    }
    Ok(Box::new(ExGaussians {
        trials,
        lower,
        runners,
    }))
}

/// An argument that is one number, or its default.
fn number(b: &mut Build<'_, '_>, site: &Site<'_>, k: usize) -> Result<f64> {
    match site.given(k) {
        Some(e) => b.number(e),
        None => Ok(site.resolved.form.args()[k].default.unwrap_or(f64::NAN)),
    }
}

/// The stop-signal model of some trials.
struct Task<'t, 'g> {
    trials: &'t Trials<'g>,
    go: &'t (dyn GoProcess<'g> + 't),
    /// Places of the parameters of the stop process, of pgf and of ptf.
    places: [usize; 5],
    lower: f64,
    deadline: f64,
    nodes: usize,
}

impl<'t, 'g> Task<'t, 'g> {
    fn new(
        b: &mut Build<'_, 'g>,
        site: &Site<'_>,
        trials: &'t Trials<'g>,
        go: &'t (dyn GoProcess<'g> + 't),
        form: Structured,
    ) -> Result<Self> {
        let mut number = |k: usize| number(b, site, k);
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
        let first = if form == Structured::StopSignal { 6 } else { 3 };
        Ok(Task {
            trials,
            go,
            places: std::array::from_fn(|k| first + k),
            lower,
            deadline,
            nodes: nodes as usize,
        })
    }

    fn stop(&self, b: &Build<'_, 'g>, g: &Group) -> [Value<'g>; 3] {
        let [mu, sigma, tau, ..] = self.places;
        [mu, sigma, tau].map(|k| self.trials.arg(b, g, k))
    }

    /// pgf and ptf.
    fn failures(&self, b: &Build<'_, 'g>, g: &Group) -> [Value<'g>; 2] {
        let [.., pgf, ptf] = self.places;
        [pgf, ptf].map(|k| self.trials.arg(b, g, k))
    }

    /// ln(1 − pgf) + ln f + ln S
    fn go_response(&self, b: &Build<'_, 'g>, g: &Group, by: usize) -> Parts<'g> {
        let [pgf, _] = self.failures(b, g);
        vec![self.go.won(b, g, false, by), (-pgf).ln_1p()]
    }

    /// As on go trials, with the rates at this delay, and the stop process late or never started.
    fn stop_response(&self, b: &Build<'_, 'g>, g: &Group, by: usize) -> Parts<'g> {
        let [pgf, ptf] = self.failures(b, g);
        let x = self
            .trials
            .data(b, g, "x", |i| self.trials.rt[i] - self.trials.ssd[i]);
        let late = ptf + (lit(1.0) - ptf) * self.stop_later(b, g, x);
        vec![self.go.won(b, g, true, by), late.ln(), (-pgf).ln_1p()]
    }

    /// S(L), or 1 without a lower bound.
    fn kept(&self, b: &Build<'_, 'g>, g: &Group) -> Value<'g> {
        match self.lower.is_finite() {
            true => survivor(
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
        let share = survivor(safe, self.stop(b, g)) / self.kept(b, g);
        inside.select(share, lit(1.0))
    }

    /// S₊S₋ at the deadline.
    fn both_late(&self, b: &Build<'_, 'g>, g: &Group, stop: bool) -> Value<'g> {
        let left = lit(self.deadline) - self.go.earliest(b, g);
        let open = lit(0.0).lt(left);
        let since = open.select(left, lit(1.0));
        let late = self.go.running(b, g, stop, since, &|x| x);
        let share = late.value.with_slopes(&late.slopes) / self.go.kept(b, g);
        open.select(share, lit(1.0))
    }

    /// ln pgf, or with a deadline ln(pgf + (1 − pgf)·S₊S₋)
    fn go_none(&self, b: &Build<'_, 'g>, g: &Group) -> Parts<'g> {
        let [pgf, _] = self.failures(b, g);
        if self.deadline.is_infinite() {
            return vec![pgf.ln()];
        }
        let late = self.both_late(b, g, false);
        vec![(pgf + (lit(1.0) - pgf) * late).ln()]
    }

    /// ln(pgf + (1 − pgf)(1 − ptf)·P), P that the stop process is first; with a deadline also
    /// where everybody is late.
    fn stop_none(&self, b: &Build<'_, 'g>, g: &Group) -> Parts<'g> {
        let [pgf, ptf] = self.failures(b, g);
        let stopped = (lit(1.0) - ptf) * self.stop_first(b, g);
        let none = match self.deadline.is_infinite() {
            true => stopped,
            false => {
                let rest = |i: usize| self.deadline - self.trials.ssd[i];
                let x = self.trials.data(b, g, "rest", rest);
                let never = ptf + (lit(1.0) - ptf) * self.stop_later(b, g, x);
                stopped + self.both_late(b, g, true) * never
            }
        };
        vec![(pgf + (lit(1.0) - pgf) * none).ln()]
    }

    /// P = \[Z − S(start) + ∫ f(x)·S₊S₋ dx\]/Z from start = max(L, earliest − SSD), where the first
    /// go runner may finish.
    ///
    /// Slopes pass no end of the integral: at the start what enters it has left the part before.
    fn stop_first(&self, b: &Build<'_, 'g>, g: &Group) -> Value<'g> {
        let (ssd, stop) = (self.trials.delay(b, g), self.stop(b, g));
        let end = self.deadline.is_finite().then(|| {
            self.trials
                .data(b, g, "rest", |i| self.deadline - self.trials.ssd[i])
        });
        let mut start = self.go.earliest(b, g) - ssd;
        if let Some(end) = end {
            start = start.min(end);
        }
        let early = lit(self.lower).lt(start);
        let start = early.select(start, lit(self.lower));
        let window = StopWindow::new(start, end, stop);
        let integral = self.integral(b, g, &window) / self.go.kept(b, g);
        let kept = self.kept(b, g);
        // The start is a number here, not a function of t0.
        let started = survivor(start, stop);
        (early.select(kept - started, lit(0.0)) + integral) / kept
    }

    fn integral(&self, b: &Build<'_, 'g>, g: &Group, window: &StopWindow<Value<'g>>) -> Value<'g> {
        let stop = self.stop(b, g);
        let ssd = self.trials.delay(b, g);
        let Nodes { dims, z, weight } = self.nodes(b, g, window);
        let over = |x: Value<'g>| x.broadcast(b.scope, &dims);
        let [_, sigma, tau] = stop.map(over);
        let shift = over(stop[0] + ssd - self.go.earliest(b, g));
        let since = (shift + sigma * z).max(lit(1e-9));
        let at = StopTime::standardised(z, [sigma, tau]);
        let both = self.go.running(b, g, true, since, &over);
        let (of_f, of_x) = (weight * both.value, weight * at.density);
        let sum = |v: Value<'g>| v.sum_over(&dims[..dims.len() - 1]);
        let of_stop = stop.into_iter().zip(at.density_by);
        let mut slopes: Vec<_> = of_stop.map(|(p, by)| (p, sum(of_f * by))).collect();
        let of_go = both.slopes.into_iter();
        slopes.extend(of_go.map(|(p, by)| (p, sum(of_x * by))));
        sum(of_f * at.density).with_slopes(&slopes)
    }

    /// Gauss–Legendre nodes: on two halves, or between the marks of the go process.
    fn nodes(&self, b: &Build<'_, 'g>, g: &Group, window: &StopWindow<Value<'g>>) -> Nodes<'g> {
        let [_, sigma, tau] = self.stop(b, g);
        let marks = self.go.marks(b, g);
        let rule = gauss_legendre(self.nodes);
        // Node by node: what is looked up for the cells and summed over the nodes then runs over
        // neighbouring numbers.
        let node = |n: usize| b.scope.dim(&format!("{}: node", g.tag), n);
        // In full: a product with what repeats along cells would become a contraction.
        let table = |what: &str, dims: &[_], each: &[f64]| {
            let all = each
                .iter()
                .flat_map(|x| std::iter::repeat_n(*x, g.first.len()));
            let all: Vec<f64> = all.collect();
            b.scope
                .bound_data(&format!("{}: {what}", g.tag), dims, &all)
        };
        let (places, weights): (Vec<f64>, Vec<f64>) = rule.into_iter().unzip();
        if marks.is_empty() {
            let dims = vec![node(places.len()), g.dim];
            let over = |x: Value<'g>| x.broadcast(b.scope, &dims);
            let [c, w] = [("node", &places), ("weight", &weights)].map(|(n, x)| table(n, &dims, x));
            let window = StopWindow {
                start: over(window.start),
                width: over(window.width),
            };
            let (z, dx) = window.node(c, [over(sigma), over(tau)]);
            return Nodes {
                dims,
                z,
                weight: w * dx,
            };
        }
        let ssd = self.trials.delay(b, g);
        let marks: Vec<_> = marks.into_iter().map(|m| m - ssd).collect();
        let edges = window.edges(&marks, self.stop(b, g));
        let panel = b.scope.dim(&format!("{}: panel", g.tag), edges.len() - 1);
        // Edge by edge, put where its panel is.
        let at = |of: &dyn Fn(usize) -> Value<'g>| {
            let one = |k: usize| {
                let here: Vec<f64> = (1..edges.len())
                    .map(|j| f64::from(u8::from(j == k + 1)))
                    .collect();
                table(&format!("panel {k}"), &[panel, g.dim], &here) * of(k)
            };
            (0..edges.len() - 1)
                .map(one)
                .reduce(|x, y| x + y)
                .expect("there are panels")
        };
        let (low, width) = (at(&|k| edges[k]), at(&|k| edges[k + 1] - edges[k]));
        let dims = vec![panel, node(self.nodes), g.dim];
        let over = |x: Value<'g>| x.broadcast(b.scope, &dims);
        // The first half of two is the rule on (0, ½).
        let repeated = |x: &[f64]| {
            x[..self.nodes]
                .iter()
                .map(|x| 2.0 * x)
                .collect::<Vec<_>>()
                .repeat(edges.len() - 1)
        };
        let [c, w] =
            [("node", &places), ("weight", &weights)].map(|(n, x)| table(n, &dims, &repeated(x)));
        let width = over(width);
        let (z, dx) = StopWindow::map(over(low) + width * c, [over(sigma), over(tau)]);
        Nodes {
            dims,
            z,
            weight: w * width * dx,
        }
    }
}

/// Places of an integral over the stop time: z = (x − μ)/σ, and what each adds; cells come last.
struct Nodes<'g> {
    dims: Vec<DimId>,
    z: Value<'g>,
    weight: Value<'g>,
}
