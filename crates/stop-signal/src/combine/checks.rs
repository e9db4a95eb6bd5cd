//! Whether a combination of blocks can be trusted.

use super::weights::{Children, Population};
use super::{Block, Blocks, Level, Proposal};
use crate::check::{Check, State, scalar};
use crate::simulate::ndtri;
use fitzroy::diagnose::{mean, sd};
use fitzroy::draws::Trace;

/// Populations at which the halves of every subject's draws are compared.
const COMPARED: usize = 200;
/// Weights whose tail is heavier have no dependable mean.
const HEAVY: f64 = 0.7;
/// A false alarm among all comparisons of blocks.
const FALSE_ALARM: f64 = 0.001;

/// About `n` populations of a trace, evenly spread.
pub fn populations(levels: &[Level], trace: &Trace, n: usize) -> Vec<Population> {
    let Some(all) = scalar(trace, &levels[0].centre, 0) else {
        return Vec::new();
    };
    let step = (all.len() / n).max(1);
    let of = |name: &str| scalar(trace, name, 0);
    let columns: Vec<(String, Vec<f64>)> = levels
        .iter()
        .flat_map(|l| {
            [&l.centre, &l.spread]
                .into_iter()
                .chain(l.slopes.iter().map(|s| &s.0))
        })
        .filter_map(|name| Some((name.clone(), of(name)?)))
        .collect();
    let at = |draw: usize| {
        Population::new(levels, |name| {
            let found = columns.iter().find(|(n, _)| n == name);
            found.map(|(_, values)| values[draw])
        })
    };
    (0..all.len()).step_by(step).filter_map(at).collect()
}

/// The blocks, the weights of their draws, and how much of the result is chance.
pub fn checks(blocks: &Blocks, children: &Children<'_>, trace: &Trace) -> Vec<Check> {
    let mut out = vec![converged(blocks)];
    out.extend(agree(blocks, trace));
    let some = populations(&blocks.levels, trace, COMPARED);
    let centre = Population::new(&blocks.levels, |name| Some(mean(&scalar(trace, name, 0)?)));
    if let Some(centre) = centre {
        out.extend(uneven(children, &centre));
    }
    out.extend(noise(blocks, children, &some));
    out
}

fn graded(name: &str, value: f64, limits: [f64; 2], found: String, needed: &str) -> Check {
    let state = match value {
        x if x < limits[0] => State::Pass,
        x if x < limits[1] => State::Finding,
        _ => State::Fail,
    };
    Check::new(name, state, found, needed)
}

fn converged(blocks: &Blocks) -> Check {
    let worst = blocks
        .blocks
        .iter()
        .max_by(|a, b| a.worst_r_hat.total_cmp(&b.worst_r_hat));
    let worst = worst.expect("there are blocks");
    graded(
        "R-hat in a block, largest",
        worst.worst_r_hat,
        [1.01, 1.05],
        format!("{:.4} in {}", worst.worst_r_hat, worst.name),
        "< 1.01",
    )
}

/// Every number of the population in every block against the combination, and all blocks at once.
///
/// The prior draws blocks together a little, so that chance is overstated. Blocks whose subjects are apart
/// say nothing of a population.
fn agree(blocks: &Blocks, trace: &Trace) -> Vec<Check> {
    let names = blocks.levels.iter().flat_map(|l| [&l.centre, &l.spread]);
    let (mut worst, mut n) = ((0.0, String::new(), ""), 0);
    let (mut spread, mut n_spread) = ((f64::NEG_INFINITY, String::new()), 0);
    let joined = |b: &&Block| matches!(b.proposal, Proposal::Population(_));
    let joined: Vec<&Block> = blocks.blocks.iter().filter(joined).collect();
    let k = joined.len();
    if k < 2 {
        return Vec::new();
    }
    for name in names {
        let Some(draws) = scalar(trace, name, 0) else {
            continue;
        };
        let (together, width) = (mean(&draws), sd(&draws));
        let mut q = 0.0;
        for block in &joined {
            let Some((m, s)) = block.moments(name) else {
                continue;
            };
            // The block is part of what it is compared with.
            let variance = (s * s - width * width).max(0.5 * s * s);
            let z = (m - together) / variance.sqrt();
            q += (m - together) * (m - together) / (s * s);
            n += 1;
            if z.abs() > worst.0 {
                worst = (z.abs(), name.clone(), block.name.as_str());
            }
        }
        let z = wilson_hilferty(q, k as f64 - 1.0);
        n_spread += 1;
        if z > spread.0 {
            spread = (z, name.clone());
        }
    }
    let limit = -ndtri(0.5 * FALSE_ALARM / f64::from(n.max(1)));
    let limit_spread = -ndtri(FALSE_ALARM / f64::from(n_spread.max(1)));
    let (z, name, block) = worst;
    let alone = Check::of(
        "a block against the combination, farthest",
        z < limit,
        format!("{name} of {block}, {z:.1} standard errors"),
        &format!("< {limit:.1}"),
    );
    let (z, name) = spread;
    let together = Check::of(
        "spread of the blocks beyond chance, largest",
        z < limit_spread,
        format!("{name}, {z:.1} standard errors"),
        &format!("< {limit_spread:.1}"),
    );
    vec![alone, together]
}

/// A χ² with `d` degrees of freedom as a standard normal number (Wilson and Hilferty 1931).
fn wilson_hilferty(q: f64, d: f64) -> f64 {
    let v = 2.0 / (9.0 * d);
    (libm::cbrt(q / d) - (1.0 - v)) / v.sqrt()
}

fn uneven(children: &Children<'_>, centre: &Population) -> Vec<Check> {
    let n = children.len();
    let all: Vec<(f64, f64)> = (0..n).map(|i| children.quality(i, centre)).collect();
    let least = (0..n)
        .min_by(|a, b| all[*a].0.total_cmp(&all[*b].0))
        .unwrap_or(0);
    let median = fitzroy::diagnose::quantile(&all.iter().map(|q| q.0).collect::<Vec<_>>(), 0.5);
    let heavy = all.iter().filter(|q| q.1.is_nan() || q.1 > HEAVY).count();
    let share = heavy as f64 / n as f64;
    vec![
        graded(
            "subjects whose weights have a heavy tail (k > 0.7)",
            share,
            [0.01, 0.05],
            format!("{heavy} of {n}"),
            "< 1 %",
        ),
        graded(
            "effective draws of a subject, smallest",
            -all[least].0,
            [-20.0, -5.0],
            format!(
                "{:.0} of {}, median {median:.0}",
                all[least].0,
                children.name(least)
            ),
            "> 20",
        ),
    ]
}

/// By how much the combination would differ with other draws of the subjects, from the difference
/// between their halves: a change δ of the log density moves the mean of a parameter by its
/// covariance with δ, and half of the difference of two halves is as large as the error of the whole.
fn noise(blocks: &Blocks, children: &Children<'_>, some: &[Population]) -> Option<Check> {
    let differ: Vec<f64> = some
        .iter()
        .map(|p| 0.5 * children.halves_differ(p))
        .collect();
    let centre = mean(&differ);
    let mut worst = (0.0, String::new());
    let mut squares = 0.0;
    let mut count = 0.0;
    for (k, level) in blocks.levels.iter().enumerate() {
        for (which, name) in [&level.centre, &level.spread].into_iter().enumerate() {
            let values: Vec<f64> = some.iter().map(|p| p.levels[k][which]).collect();
            let (m, s) = (mean(&values), sd(&values));
            let product = values
                .iter()
                .zip(&differ)
                .map(|(x, d)| (x - m) * (d - centre));
            let moved = product.sum::<f64>() / values.len() as f64 / s;
            squares += moved * moved;
            count += 1.0;
            if moved.abs() > worst.0 {
                worst = (moved.abs(), name.clone());
            }
        }
    }
    let typical = (squares / count).sqrt();
    (some.len() > 1).then(|| {
        graded(
            "means moved by the choice of draws, in posterior sds",
            typical,
            [0.1, 0.25],
            format!(
                "{typical:.2} typically, {:.2} at most ({})",
                worst.0, worst.1
            ),
            "< 0.1",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 95 % points of χ² from tables.
    #[test]
    fn sums_of_squares_become_normal_numbers() {
        for (q, d) in [(9.488, 4.0), (30.14, 19.0), (101.88, 80.0)] {
            let z = wilson_hilferty(q, d);
            assert!((z - 1.645).abs() < 0.02, "{d}: {z}");
        }
    }
}
