//! Values of the parameters of one term that a search tries: places along predictors, and widths, rates
//! and the like in their ranges.

use super::rows::Rows;
use crate::fit::ranges::spread;
use crate::formula::{Place, Term};
use crate::method::starts::{Design, points};

/// Values along a parameter that is no place: of one, and of two.
const LEVELS: [usize; 2] = [12, 6];
/// Points of more of them.
const POINTS: usize = 48;
/// Places along a predictor: at least, at most, and within the width of a column.
const PLACES: (usize, usize) = (48, 400);
const WITHIN_WIDTH: f64 = 4.0;
/// Two places along each predictor, and points of more.
const PAIRS: usize = 28;
const MANY: usize = 1024;
/// Places of two that are decided together.
const COUPLES: usize = 30;
/// Distances to expect between places of a term, in spans of the predictor.
const DISTANCES: (f64, f64) = (0.01, 1.0);

/// A parameter that says where on a predictor something is.
pub(super) struct Anchor {
    /// The parameter.
    pub(super) parameter: usize,
    place: Place,
    coefficient: f64,
}

/// How the parameters of a term are tried.
pub(super) struct Trials {
    pub(super) anchors: Vec<Anchor>,
    /// Two places that two parameters decide together, in place of anchors.
    pair: Option<[Place; 2]>,
    /// The others, with their ranges.
    others: Vec<(usize, (f64, f64))>,
}

/// Values for some parameters.
pub(super) type Values = Vec<(usize, f64)>;

impl Trials {
    /// How the parameters of `term` are tried that are `open`, in `ranges`.
    pub(super) fn new(
        term: &Term,
        rows: &Rows,
        ranges: &[(f64, f64)],
        open: impl Fn(usize) -> bool,
    ) -> Trials {
        let mut anchors: Vec<Anchor> = Vec::new();
        let is_anchor = |anchors: &[Anchor], k: usize| anchors.iter().any(|a| a.parameter == k);
        for place in &term.places {
            let own: Vec<&(usize, f64)> = place
                .coefficients
                .iter()
                .filter(|(k, _)| open(*k))
                .collect();
            if own.iter().any(|(k, _)| is_anchor(&anchors, *k)) {
                continue;
            }
            // Of `x0 - d/2` and `x0 + d/2` the place is what both have in the same way.
            let alike = |one: &(usize, f64)| {
                term.places
                    .iter()
                    .filter(|p| p.coefficients.contains(one))
                    .count()
            };
            let best = own.iter().max_by(|a, b| {
                let weights = (alike(a), a.1.abs());
                let others = (alike(b), b.1.abs());
                weights
                    .partial_cmp(&others)
                    .unwrap_or(std::cmp::Ordering::Equal)
            });
            if let Some(&&(parameter, coefficient)) = best {
                anchors.push(Anchor {
                    parameter,
                    place: place.clone(),
                    coefficient,
                });
            }
        }
        let rest = term
            .nonlinear
            .iter()
            .filter(|&&k| open(k) && !is_anchor(&anchors, k));
        let others = rest.map(|&k| {
            let distance = term.places.iter().find_map(|place| {
                let own = place.coefficients.iter().find(|(p, _)| *p == k)?;
                Some(span(rows.x(place.predictor)) / own.1.abs())
            });
            let range = match distance {
                Some(all) => (DISTANCES.0 * all, DISTANCES.1 * all),
                None => ranges[k],
            };
            (k, range)
        });
        let mut trials = Trials {
            others: others.collect(),
            pair: None,
            anchors,
        };
        // Several anchors are tried apart.
        if trials.anchors.len() != 1 {
            return trials;
        }
        trials.pair = pair(&term.places, &open);
        if let Some([one, other]) = &trials.pair {
            let both = || one.coefficients.iter().chain(&other.coefficients);
            trials.others.retain(|(k, _)| both().all(|c| c.0 != *k));
        }
        trials
    }

    /// Values of all of them; `width` says which part of the rows a column covers at some values.
    pub(super) fn all(&self, rows: &Rows, width: &mut dyn FnMut(&Values) -> f64) -> Vec<Values> {
        let beside = self.beside();
        if let (Some([one, other]), Some(anchor)) = (&self.pair, self.anchors.first()) {
            let middles = anchor.middles(rows, COUPLES);
            let least = beside.len().div_ceil(6);
            let mut out = Vec::new();
            for others in beside.iter().step_by(least) {
                for (i, a) in middles.iter().enumerate() {
                    let both = middles[i + 1..]
                        .iter()
                        .filter_map(|b| between(one, other, *a, *b));
                    out.extend(both.map(|own| others.iter().copied().chain(own).collect()));
                }
            }
            return out;
        }
        match &self.anchors[..] {
            [] => beside,
            [one] => {
                let mut out = Vec::new();
                for others in beside {
                    let middle = one.at(&one.middles(rows, 3)[..1], &others);
                    let part = width(&middle[0]);
                    let wanted = (WITHIN_WIDTH / part).clamp(PLACES.0 as f64, PLACES.1 as f64);
                    let all = match one.place.jumps {
                        true => one.middles(rows, usize::MAX),
                        false => one.middles(rows, wanted as usize),
                    };
                    out.extend(one.at(&all, &others));
                }
                out
            }
            [first, second] => {
                let (a, b) = (first.middles(rows, PAIRS), second.middles(rows, PAIRS));
                let least = beside.len().div_ceil(6);
                let mut out = Vec::new();
                for others in beside.iter().step_by(least) {
                    for values in first.at(&a, others) {
                        out.extend(second.at(&b, &values));
                    }
                }
                out
            }
            many => {
                let all: Vec<Vec<f64>> = many.iter().map(|a| a.middles(rows, 256)).collect();
                let cube = points(Design::Sobol, MANY, many.len(), 1);
                let one = |(i, point): (usize, &Vec<f64>)| {
                    let mut values = beside[i % beside.len()].clone();
                    for ((anchor, middles), u) in many.iter().zip(&all).zip(point) {
                        let at = (u * middles.len() as f64) as usize;
                        let at = middles[at.min(middles.len() - 1)];
                        values = anchor.at(&[at], &values).swap_remove(0);
                    }
                    values
                };
                cube.iter().enumerate().map(one).collect()
            }
        }
    }

    /// A few values, for what is fitted anew at each.
    pub(super) fn few(&self, rows: &Rows) -> Vec<Values> {
        let mut out = self.beside();
        for anchor in &self.anchors {
            let middles = anchor.middles(rows, 16);
            out = out
                .iter()
                .flat_map(|values| anchor.at(&middles, values))
                .collect();
        }
        let step = out.len().div_ceil(128).max(1);
        out.into_iter().step_by(step).collect()
    }

    /// Values of those that are no places.
    fn beside(&self) -> Vec<Values> {
        let level = |i: usize, n: usize| (i as f64 + 0.5) / n as f64;
        let cube: Vec<Vec<f64>> = match self.others.len() {
            0 => vec![Vec::new()],
            1 => (0..LEVELS[0]).map(|i| vec![level(i, LEVELS[0])]).collect(),
            2 => {
                let n = LEVELS[1];
                (0..n * n)
                    .map(|i| vec![level(i / n, n), level(i % n, n)])
                    .collect()
            }
            more => points(Design::Sobol, POINTS, more, 1),
        };
        let values = |point: &Vec<f64>| {
            let own = self.others.iter().zip(point);
            own.map(|(&(k, range), u)| (k, spread(range, *u))).collect()
        };
        cube.iter().map(values).collect()
    }
}

impl Anchor {
    /// True where no slope tells where the place is.
    pub(super) fn jumps(&self) -> bool {
        self.place.jumps
    }

    /// Where the place is at `theta`.
    pub(super) fn position(&self, theta: &[f64]) -> f64 {
        let terms = self.place.coefficients.iter().map(|(k, c)| c * theta[*k]);
        self.place.constant + terms.sum::<f64>()
    }

    /// Up to `most` middles between neighbours along the predictor, evenly by rank.
    pub(super) fn middles(&self, rows: &Rows, most: usize) -> Vec<f64> {
        let mut x = rows.x(self.place.predictor).to_vec();
        x.sort_by(f64::total_cmp);
        x.dedup();
        let all: Vec<f64> = x.windows(2).map(|w| w[0] + 0.5 * (w[1] - w[0])).collect();
        if all.is_empty() {
            return x;
        }
        let n = most.min(all.len());
        (0..n)
            .map(|i| all[(2 * i + 1) * all.len() / (2 * n)])
            .collect()
    }

    /// `values` and this parameter, so that the place is at each of `middles`.
    pub(super) fn at(&self, middles: &[f64], values: &Values) -> Vec<Values> {
        let others = self
            .place
            .coefficients
            .iter()
            .filter(|(k, _)| *k != self.parameter);
        let known = others.map(|(k, c)| c * values.iter().find(|v| v.0 == *k).map_or(0.0, |v| v.1));
        let offset = self.place.constant + known.sum::<f64>();
        let one = |middle: &f64| {
            let mut own = values.clone();
            own.retain(|v| v.0 != self.parameter);
            own.push((self.parameter, (middle - offset) / self.coefficient));
            own
        };
        middles.iter().map(one).collect()
    }
}

/// The first two places that two parameters decide, as x0 ± d/2 or m and m + d.
fn pair(places: &[Place], open: &impl Fn(usize) -> bool) -> Option<[Place; 2]> {
    let all = places.iter().enumerate();
    let mut both = all.flat_map(|(i, one)| places[i + 1..].iter().map(move |other| [one, other]));
    let found = both.find(|[one, other]| {
        let known = parameters(one, other).iter().all(|&k| open(k));
        one.predictor == other.predictor && known && between(one, other, 0.0, 0.0).is_some()
    });
    found.map(|both| both.map(Clone::clone))
}

fn parameters(one: &Place, other: &Place) -> Vec<usize> {
    let both = one.coefficients.iter().chain(&other.coefficients);
    let mut all: Vec<usize> = both.map(|c| c.0).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The two parameters that put `one` at `x` and `other` at `y`; none where there are others, or it cannot
/// be.
fn between(one: &Place, other: &Place, x: f64, y: f64) -> Option<[(usize, f64); 2]> {
    let [j, k] = parameters(one, other)[..] else {
        return None;
    };
    let of = |place: &Place, p: usize| {
        let own = place.coefficients.iter().find(|c| c.0 == p);
        own.map_or(0.0, |c| c.1)
    };
    let [a, b, c, d] = [of(one, j), of(one, k), of(other, j), of(other, k)];
    let determinant = a * d - b * c;
    let (x, y) = (x - one.constant, y - other.constant);
    let solved = [
        (j, (x * d - b * y) / determinant),
        (k, (a * y - c * x) / determinant),
    ];
    (determinant.abs() > 1e-9).then_some(solved)
}

fn span(x: &[f64]) -> f64 {
    let low = x.iter().copied().fold(f64::INFINITY, f64::min);
    let high = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if high > low { high - low } else { 1.0 }
}
