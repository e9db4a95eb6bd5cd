//! Where divergent transitions lie among all draws.
//!
//! Where trajectories diverge, draws are missing. Two tests for each recorded number, both from
//! ranks, so that neither depends on its scale: whether divergent draws lean to one side, and
//! whether they gather at the edge of what was visited, on either side.

use super::findings::say;
use super::order::ascending;
use super::ranks::quantile;

/// Numbers looked through at most.
const SEARCHED: usize = 2000;
/// Fewer divergent draws do not lean.
const FEWEST_LEANING: usize = 5;
/// The chance of what was seen at an edge, times the numbers looked through, at most.
const EDGE_CHANCE: f64 = 1e-3;

/// The divergent transitions of a run, and where they were found to gather so far.
pub(super) struct Divergent<'a> {
    /// Whether each transition diverged, chain after chain.
    flags: &'a [f64],
    /// How many did.
    count: usize,
    /// The first of each row of divergent transitions of a chain: those that follow say the same.
    first: Vec<usize>,
    searched: usize,
    /// Whether it is a scalar, how far it leans, and in words.
    leaning: Option<(bool, f64, String)>,
    /// The chance of so many so far out, and in words.
    edge: Option<(f64, String)>,
}

impl<'a> Divergent<'a> {
    pub(super) fn new(flags: &'a [f64], n_draws: usize) -> Self {
        let diverged = |i: usize| flags[i] != 0.0;
        let begins = |i: &usize| diverged(*i) && (i.is_multiple_of(n_draws) || !diverged(*i - 1));
        Divergent {
            flags,
            count: flags.iter().filter(|&&f| f != 0.0).count(),
            first: (0..flags.len()).filter(begins).collect(),
            searched: 0,
            leaning: None,
            edge: None,
        }
    }

    /// Whether another number is worth a look.
    pub(super) fn searching(&self) -> bool {
        self.searched < SEARCHED && self.count > 0 && self.count < self.flags.len()
    }

    /// Looks at the draws of one number.
    pub(super) fn look(&mut self, label: &dyn Fn() -> String, scalar: bool, draws: &[f64]) {
        if !self.searching() || draws.iter().any(|v| v.is_nan()) {
            return;
        }
        self.searched += 1;
        let ranks = Ranks::new(draws);
        if let Some(lean) = self.lean(&ranks) {
            let key = (scalar, lean.abs());
            if self.leaning.as_ref().is_none_or(|b| key > (b.0, b.1)) {
                let size = if lean < 0.0 { "small" } else { "large" };
                let words = self.describe(&format!("{size} {}", label()), draws);
                self.leaning = Some((key.0, key.1, words));
            }
        }
        let chance = self.at_edge(&ranks);
        if self.edge.as_ref().is_none_or(|b| chance < b.0) {
            let words = self.describe(&format!("the edge of {}", label()), draws);
            self.edge = Some((chance, words));
        }
    }

    /// Where they gather, in words, if beyond chance.
    pub(super) fn gathering(&self) -> Option<&str> {
        let edge = self.edge.as_ref();
        let edge = edge.filter(|e| e.0 * (self.searched as f64) < EDGE_CHANCE);
        let leaning = self.leaning.as_ref().map(|l| l.2.as_str());
        leaning.or(edge.map(|e| e.1.as_str()))
    }

    /// How far the chance that a divergent draw exceeds another one is from ½ (Mann and Whitney),
    /// if it is below .3 or above .7 and 4.5 standard errors from ½, which chance alone does to one
    /// number in 150,000.
    fn lean(&self, ranks: &Ranks) -> Option<f64> {
        if self.count < FEWEST_LEANING {
            return None;
        }
        let flags = self.flags.iter().enumerate().filter(|(_, f)| **f != 0.0);
        let sum: f64 = flags.map(|(i, _)| ranks.of[i]).sum();
        let (k, size) = (self.count as f64, self.flags.len() as f64);
        let lean = (sum - k * (k + 1.0) / 2.0) / (k * (size - k)) - 0.5;
        let error = ((size + 1.0) / (12.0 * k * (size - k))).sqrt();
        (lean.abs() > 0.2 && lean.abs() > 4.5 * error).then_some(lean)
    }

    /// The chance that as many draws from anywhere lie as far out: with u the share of draws that
    /// lie at least as far out on either side, −Σ ln u of n draws has a gamma distribution (Fisher).
    fn at_edge(&self, ranks: &Ranks) -> f64 {
        let size = self.flags.len() as f64;
        let out = |&i: &usize| {
            let below = ranks.of[i] - 0.5;
            -libm::log(2.0 * below.min(size - below) / size)
        };
        upper_gamma(self.first.len(), self.first.iter().map(out).sum())
    }

    /// "small sigma (median 0.12 there, 1.9 over all draws)".
    fn describe(&self, place: &str, draws: &[f64]) -> String {
        let pairs = draws.iter().zip(self.flags);
        let there: Vec<f64> = pairs.filter(|(_, f)| **f != 0.0).map(|(&v, _)| v).collect();
        let (here, all) = (quantile(&there, 0.5), quantile(draws, 0.5));
        format!(
            "{place} (median {} there, {} over all draws)",
            say(here),
            say(all)
        )
    }
}

/// The rank of every draw, from 1, equal draws sharing the mean of theirs.
struct Ranks {
    of: Vec<f64>,
}

impl Ranks {
    fn new(draws: &[f64]) -> Self {
        let order = ascending(draws);
        let mut of = vec![0.0; draws.len()];
        let mut rank = 0;
        for equal in order.chunk_by(|a, b| a.0 == b.0) {
            let average = rank as f64 + (equal.len() as f64 + 1.0) / 2.0;
            equal.iter().for_each(|p| of[p.1 as usize] = average);
            rank += equal.len();
        }
        Ranks { of }
    }
}

/// P(X > x) of a gamma distribution of whole shape n and rate 1: e⁻ˣ Σ_{j < n} xʲ/j!.
fn upper_gamma(n: usize, x: f64) -> f64 {
    let (mut term, mut sum) = (libm::exp(-x), 0.0);
    for j in 0..n {
        sum += term;
        term *= x / (j + 1) as f64;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    fn normals(seed: u64, n: usize) -> Vec<f64> {
        let mut rng = Rng::new(seed, 0, 0, 0, Purpose::Test);
        (0..n).map(|_| rng.normal()).collect()
    }

    fn gathering(draws: &[f64], diverges: impl Fn(usize, f64) -> bool) -> Option<String> {
        let flags = draws.iter().enumerate();
        let flags: Vec<f64> = flags
            .map(|(i, &x)| f64::from(u8::from(diverges(i, x))))
            .collect();
        let mut found = Divergent::new(&flags, 1000);
        found.look(&|| "x".into(), true, draws);
        found.gathering().map(String::from)
    }

    /// Catches: a test of one side only, draws at the edge taken for draws of the middle.
    #[test]
    fn few_divergences_at_an_edge_are_seen_and_scattered_ones_are_not() {
        let x = normals(1, 4000);
        let place = gathering(&x, |_, x| x.abs() > 3.0).expect("at the edge");
        assert!(place.starts_with("the edge of x (median "), "{place}");
        let place = gathering(&x, |_, x| x > 2.2).expect("on one side");
        assert!(place.starts_with("large x (median 2."), "{place}");
        assert_eq!(gathering(&x, |_, _| false), None);
        assert_eq!(gathering(&x, |_, _| true), None);
        assert_eq!(gathering(&x, |i, _| i % 100 == 7), None);
    }

    /// Bound: chance gathers at an edge in one of 1,000 sets; of 2,000 at most 10, which four times
    /// as often would exceed. Catches: a chance that is not uniform.
    #[test]
    fn chance_is_seldom_taken_for_an_edge() {
        let seen = |seed: u64| {
            let x = normals(seed, 1000);
            gathering(&x, |i, _| i % 250 == 3).is_some()
        };
        let n = (0..2000).filter(|&seed| seen(seed)).count();
        assert!(n <= 10, "{n}");
    }

    #[test]
    fn the_gamma_tail_is_that_of_sums_of_exponentials() {
        assert!((upper_gamma(1, 2.0) - libm::exp(-2.0)).abs() < 1e-15);
        // SciPy: gammaincc(4, 10).
        assert!((upper_gamma(4, 10.0) - 0.010_336_050_675_925_726).abs() < 1e-15);
        assert_eq!(upper_gamma(0, 0.0), 0.0);
        assert_eq!(upper_gamma(3, 0.0), 1.0);
    }
}
