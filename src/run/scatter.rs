//! Where chains start: around 0, or around the mode of a prior that lies far from it.
//!
//! Coordinates within 1 of 0 suit priors and data of ordinary scales. A prior may have no mass
//! there, such as that of a Julian date, Normal(2455000, 0.5). A chain that started there might
//! never find the data. So the prior of each coordinate, given the coordinates before it, is
//! compared with the interval [−1, 1]: if an end of the interval is more than [`LOW`] nats below the
//! mode, or more than [`FAR`] standard deviations from it, the start is drawn within one of them
//! (and within 1) of the mode.
//!
//! The mode and the standard deviation are those of the parabola through three values of the log
//! density, no more than [`NEAR`] nats apart.

use super::compiled::Compiled;
use crate::fit::sample::Scatter;
use crate::model::joint::{Joint, Parameter, TermKind};
use crate::rng::{Purpose, Rng};
use fitzroy_device::cpu::{Function, Workspace};

/// Nats below the mode that are low: a normal prior's ten standard deviations from it.
const LOW: f64 = 50.0;
/// Standard deviations from the mode that are far, for priors of heavy tails.
const FAR: f64 = 1000.0;
/// Standard deviations from the mode, by a parabola, that make a search worth while.
const WORTH: f64 = 5.0;
/// Nats below the mode that are near.
const NEAR: f64 = 0.1;
/// Steps of a search, at most.
const STEPS: usize = 250;
/// Larger coordinates are not looked at.
const LARGEST: f64 = 1e18;

/// The interval that each sampled coordinate starts in.
pub(super) fn scatter(joint: &Joint, compiled: &Compiled) -> Vec<Scatter> {
    let mut intervals = vec![Scatter::default(); compiled.full];
    let mut point = vec![0.0; compiled.full];
    for parameter in joint.parameters() {
        let Some(mut prior) = Prior::of(parameter, compiled, &point) else {
            continue;
        };
        let range = parameter.offset..parameter.offset + parameter.len;
        for (k, found) in range.zip(prior.intervals()) {
            intervals[k] = found;
            point[k] = found.centre;
        }
    }
    intervals.truncate(compiled.dim);
    intervals
}

/// The log prior density of each coordinate of one parameter, all others held.
struct Prior {
    function: Function,
    workspace: Workspace,
    point: Vec<f64>,
    offset: usize,
    len: usize,
}

impl Prior {
    /// None if the prior has not one term for each coordinate.
    fn of(parameter: &Parameter, compiled: &Compiled, point: &[f64]) -> Option<Prior> {
        let graphs = &compiled.graphs;
        let is_its = |kind, name: &str| kind == TermKind::Prior && name == parameter.name;
        let mut terms = graphs.terms.iter().filter(|t| is_its(t.kind, &t.name));
        let term = terms.next().filter(|t| !graphs.reads_drawn(&[t.node]))?;
        let function = compiled.function(&[term.node]).ok()?;
        let mut workspace = function.workspace();
        function.run(&mut workspace, point);
        let is_by_coordinate = function.output(&workspace, 0).len() == parameter.len;
        is_by_coordinate.then(|| Prior {
            workspace,
            function,
            point: point.to_vec(),
            offset: parameter.offset,
            len: parameter.len,
        })
    }

    /// The log density of each coordinate if they are `at`; −∞ for what is not a number.
    fn at(&mut self, at: &[f64]) -> Vec<f64> {
        self.point[self.offset..][..self.len].copy_from_slice(at);
        self.function.run(&mut self.workspace, &self.point);
        let values = self.function.output(&self.workspace, 0).iter();
        let usable = |l: &f64| if l.is_nan() { f64::NEG_INFINITY } else { *l };
        values.map(usable).collect()
    }

    /// The interval that each coordinate starts in.
    fn intervals(&mut self) -> Vec<Scatter> {
        let ends = [-1.0, 0.0, 1.0];
        let values = ends.map(|x| self.at(&vec![x; self.len]));
        let triple = |k: usize| [0, 1, 2].map(|i| (ends[i], values[i][k]));
        let mut searches: Vec<Search> = (0..self.len).map(|k| Search::new(triple(k))).collect();
        let all_near = searches.iter().all(|s| s.ended);
        if all_near || !self.are_independent(&values) {
            return vec![Scatter::default(); self.len];
        }
        for _ in 0..STEPS {
            let asked: Vec<f64> = searches.iter().map(Search::ask).collect();
            let told = self.at(&asked);
            let pairs = asked.into_iter().zip(told);
            searches.iter_mut().zip(pairs).for_each(|(s, p)| s.tell(p));
            if searches.iter().all(|s| s.ended) {
                break;
            }
        }
        searches.iter().map(Search::interval).collect()
    }

    /// Whether the density of each coordinate is free of the others, by its values if all are −1
    /// and if all are 1.
    fn are_independent(&mut self, values: &[Vec<f64>; 3]) -> bool {
        let mut rng = Rng::new(0, 0, 0, 0, Purpose::Init);
        let up: Vec<bool> = (0..self.len).map(|_| rng.uniform() < 0.5).collect();
        let signs: Vec<f64> = up.iter().map(|up| if *up { 1.0 } else { -1.0 }).collect();
        let mixed = self.at(&signs);
        let expected = |k: usize| values[if up[k] { 2 } else { 0 }][k];
        let same = |(k, l): (usize, &f64)| {
            let other = expected(k);
            *l == other || (l - other).abs() <= 1e-9 * (1.0 + l.abs())
        };
        mixed.iter().enumerate().all(same)
    }
}

/// A search for the highest of a log density of one coordinate: three places with their values.
struct Search {
    places: [(f64, f64); 3],
    /// The value at the lower end of [−1, 1].
    at_start: f64,
    ended: bool,
}

impl Search {
    /// Ended if the mode of the parabola through the three is not far, or there is nothing to go by.
    fn new(places: [(f64, f64); 3]) -> Search {
        let near = parabola(&places).is_some_and(|(m, sd)| m.abs() + 1.0 <= WORTH * sd);
        let known = places.iter().any(|(_, l)| l.is_finite());
        Search {
            ended: near || !known,
            at_start: places[0].1.min(places[2].1),
            places,
        }
    }

    /// Whether the highest is the middle one.
    fn is_bracket(&self) -> bool {
        let [low, mid, high] = self.places.map(|(_, l)| l);
        mid >= low && mid >= high
    }

    /// The next place: beyond the higher end, or within the wider side.
    fn ask(&self) -> f64 {
        let [(low, at_low), (mid, _), (high, at_high)] = self.places;
        match self.is_bracket() {
            true if high - mid > mid - low => mid + 0.382 * (high - mid),
            true => mid - 0.382 * (mid - low),
            false if at_high >= at_low => high + 2.0 * (high - mid),
            false => low - 2.0 * (mid - low),
        }
    }

    /// The value of the log density at the place that was asked for.
    fn tell(&mut self, (x, l): (f64, f64)) {
        if self.ended {
            return;
        }
        let [low, mid, high] = self.places;
        self.places = match self.is_bracket() {
            true if x > mid.0 && l > mid.1 => [mid, (x, l), high],
            true if x > mid.0 => [low, mid, (x, l)],
            true if l > mid.1 => [low, (x, l), mid],
            true => [(x, l), mid, high],
            false if x > mid.0 => [mid, high, (x, l)],
            false => [(x, l), low, mid],
        };
        let [low, mid, high] = self.places.map(|(_, l)| l);
        let level = self.is_bracket() && mid - low.min(high) <= NEAR;
        self.ended = level || x.abs() > LARGEST;
    }

    fn interval(&self) -> Scatter {
        let low = self.at_start < self.places[1].1 - LOW;
        match parabola(&self.places).filter(|_| self.is_bracket()) {
            Some((mode, sd)) if low || mode.abs() + 1.0 > FAR * sd => Scatter {
                centre: mode,
                half_width: sd.min(1.0),
            },
            _ => Scatter::default(),
        }
    }
}

/// Where the parabola through three points is highest, and the standard deviation of the normal
/// density it is the logarithm of. None if it has no highest point.
fn parabola([(a, at_a), (b, at_b), (c, at_c)]: &[(f64, f64); 3]) -> Option<(f64, f64)> {
    let (left, right) = ((at_b - at_a) / (b - a), (at_c - at_b) / (c - b));
    let bend = 2.0 * (right - left) / (c - a);
    let slope = left + 0.5 * bend * (b - a);
    let mode = b - slope / bend;
    (bend < 0.0 && mode.is_finite()).then(|| (mode, (-bend).recip().sqrt()))
}

#[cfg(test)]
mod tests;
