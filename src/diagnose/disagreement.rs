//! Why R-hat is high: which chain stayed where, who drifted, who is narrower than the rest.

use super::chains::{Chains, mean, sd};
use super::findings::{FindingKind, say};
use super::ranks::quantile;

/// Distance between two groups of chains, in standard deviations within a chain, from which they
/// count as apart. Chains that overlap by half are at about 1.35.
const APART: f64 = 1.5;
/// Ratio of standard deviations from which chains differ in spread.
const SPREAD: f64 = 2.0;
/// Distance between the means of a chain's halves, in its standard deviations, from which it
/// drifts. A straight line is at 1.73, one step half-way at 2.
const DRIFT: f64 = 1.4;

/// What a look at the chains says about a high R-hat: the kind and half a sentence.
///
/// `names` are the chains' numbers as people know them.
pub(crate) fn explain(x: Chains, names: &[String]) -> (FindingKind, String) {
    let chains: Vec<Moments> = x.rows().into_iter().map(Moments::of).collect();
    if let Some(text) = stuck_elsewhere(&chains, names) {
        return (FindingKind::ChainsApart, text);
    }
    if let Some(text) = different_spread(&chains, names) {
        return (FindingKind::ChainsDifferInSpread, text);
    }
    if let Some(text) = drifting(&chains, names) {
        return (FindingKind::ChainsDrift, text);
    }
    let text = "the chains visit the same place, but slowly".into();
    (FindingKind::ChainsMixSlowly, text)
}

/// What one chain looks like.
struct Moments {
    median: f64,
    sd: f64,
    first_half: f64,
    last_half: f64,
}

impl Moments {
    fn of(row: &[f64]) -> Self {
        let half = row.len() / 2;
        Moments {
            median: quantile(row, 0.5),
            sd: sd(row),
            first_half: mean(&row[..half]),
            last_half: mean(&row[row.len() - half..]),
        }
    }
}

/// Splits the chains at the widest gap between their medians, if it is wide.
fn stuck_elsewhere(chains: &[Moments], names: &[String]) -> Option<String> {
    let mut order: Vec<usize> = (0..chains.len()).collect();
    order.sort_by(|&a, &b| chains[a].median.total_cmp(&chains[b].median));
    let gap = |i: usize| chains[order[i]].median - chains[order[i - 1]].median;
    let split = (1..order.len()).max_by(|&a, &b| gap(a).total_cmp(&gap(b)))?;
    let (low, high) = order.split_at(split);
    let (few, many) = if low.len() <= high.len() {
        (low, high)
    } else {
        (high, low)
    };
    let spreads: Vec<f64> = many.iter().map(|&c| chains[c].sd).collect();
    if gap(split) <= APART * mean(&spreads) {
        return None;
    }
    let centre = |group: &[usize]| {
        let medians: Vec<f64> = group.iter().map(|&c| chains[c].median).collect();
        say(mean(&medians))
    };
    let (here, there) = (list(few, names), list(many, names));
    // Of two equal groups neither is the odd one.
    Some(if few.len() == many.len() {
        format!(
            "{here} stayed near {} and {there} near {}",
            centre(few),
            centre(many)
        )
    } else {
        format!(
            "{here} stayed near {} while the others lie near {}",
            centre(few),
            centre(many)
        )
    })
}

fn different_spread(chains: &[Moments], names: &[String]) -> Option<String> {
    let spreads: Vec<f64> = chains.iter().map(|c| c.sd).collect();
    let usual = quantile(&spreads, 0.5);
    let oddness = |c: usize| (spreads[c].max(1e-300) / usual.max(1e-300)).ln().abs();
    let odd = (0..chains.len()).max_by(|&a, &b| oddness(a).total_cmp(&oddness(b)))?;
    (oddness(odd) > SPREAD.ln()).then(|| {
        let name = list(&[odd], names);
        let (own, others) = (say(spreads[odd]), say(usual));
        format!("{name} has standard deviation {own} where {others} is usual")
    })
}

fn drifting(chains: &[Moments], names: &[String]) -> Option<String> {
    let shift = |c: &Moments| (c.last_half - c.first_half).abs() / c.sd;
    let moved: Vec<usize> = (0..chains.len())
        .filter(|&c| shift(&chains[c]) > DRIFT)
        .collect();
    let by_shift = |a: &&usize, b: &&usize| shift(&chains[**a]).total_cmp(&shift(&chains[**b]));
    let worst = *moved.iter().max_by(by_shift)?;
    let (from, to) = (say(chains[worst].first_half), say(chains[worst].last_half));
    let name = list(&[worst], names);
    let others = match moved.len() - 1 {
        0 => String::new(),
        n => format!(", and {n} more move as much"),
    };
    Some(format!(
        "{name} moved from {from} in its first half to {to} in its last{others}"
    ))
}

/// "chain 2", "chains 0 and 3", "chains 0, 1, 2 and 9 more".
pub(crate) fn list(chains: &[usize], names: &[String]) -> String {
    let mut sorted = chains.to_vec();
    sorted.sort_unstable();
    let shown: Vec<&str> = sorted.iter().take(4).map(|&c| names[c].as_str()).collect();
    match (shown.as_slice(), sorted.len() - shown.len()) {
        ([only], 0) => format!("chain {only}"),
        ([first @ .., last], 0) => format!("chains {} and {last}", first.join(", ")),
        (_, more) => format!("chains {} and {more} more", shown.join(", ")),
    }
}
