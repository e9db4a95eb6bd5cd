//! What draws of subjects weigh under another population.

use super::{Block, Blocks, Level, Proposal};
use fitzroy::diagnose::tail_shape;
use fitzroy::report::csv_field;

/// Populations of a block that are mixed.
const MIXED: usize = 256;

/// A population: mean and spread by level, and its slopes in the order of the levels'.
#[derive(Clone, Debug, PartialEq)]
pub struct Population {
    /// Mean and spread.
    pub levels: Vec<[f64; 2]>,
    /// Slopes of every level.
    pub slopes: Vec<Vec<f64>>,
}

impl Population {
    /// By name.
    pub fn new(levels: &[Level], value: impl Fn(&str) -> Option<f64>) -> Option<Self> {
        let pair = |l: &Level| Some([value(&l.centre)?, value(&l.spread)?]);
        let slopes = |l: &Level| l.slopes.iter().map(|(s, _)| value(s)).collect();
        Some(Population {
            levels: levels.iter().map(pair).collect::<Option<_>>()?,
            slopes: levels.iter().map(slopes).collect::<Option<_>>()?,
        })
    }
}

/// A subject in its block.
#[derive(Clone, Copy, Debug)]
struct Child<'a> {
    block: &'a Block,
    at: usize,
}

/// Draws of all subjects, and the density that each was drawn with.
#[derive(Clone, Debug)]
pub struct Children<'a> {
    blocks: &'a Blocks,
    children: Vec<Child<'a>>,
    /// −ln of the density that draws have but for the subject's trials, without constants, such that
    /// weights at the centre sum to 1.
    offsets: Vec<Vec<f64>>,
}

/// `work` of 0, 1, .. `n` − 1, in this order, on `threads` threads.
fn on_threads<T: Send>(n: usize, threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let share = n.div_ceil(threads.max(1)).max(1);
    let work = &work;
    std::thread::scope(|scope| {
        let parts = (0..n).step_by(share).map(|first| {
            let part = first..(first + share).min(n);
            scope.spawn(move || part.map(work).collect::<Vec<T>>())
        });
        let parts: Vec<_> = parts.collect();
        let done = parts
            .into_iter()
            .flat_map(|p| p.join().expect("a panic is a fault of ours"));
        done.collect()
    })
}

fn log_sum(terms: &[f64]) -> f64 {
    let most = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + libm::log(terms.iter().map(|t| libm::exp(t - most)).sum())
}

impl<'a> Children<'a> {
    /// Of all blocks.
    ///
    /// None where a block does not record its population.
    pub fn new(blocks: &'a Blocks, threads: usize) -> Option<Self> {
        let centre = Population::new(&blocks.levels, |name| blocks.centre(name))?;
        let each = blocks.blocks.iter();
        let children =
            each.flat_map(|block| (0..block.subjects.len()).map(move |at| Child { block, at }));
        let mut all = Children {
            blocks,
            children: children.collect(),
            offsets: Vec::new(),
        };
        let n = all.children.len();
        all.offsets = on_threads(n, threads, |i| all.offset(i));
        for i in 0..n {
            let total = log_sum(&all.log_weights(i, &centre));
            all.offsets[i].iter_mut().for_each(|o| *o -= total);
        }
        Some(all)
    }

    fn shift(&self, child: Child<'_>, level: &Level, slopes: impl Fn(usize, &str) -> f64) -> f64 {
        let all = level.slopes.iter().enumerate();
        all.map(|(k, (slope, covariate))| {
            slopes(k, slope) * child.block.covariate(covariate)[child.at]
        })
        .sum()
    }

    /// −ln of the density that a subject's draws would have without its trials: the interim one, or that
    /// given the other subjects of its block.
    fn offset(&self, i: usize) -> Vec<f64> {
        match &self.children[i].block.proposal {
            Proposal::Interim(levels) => self.offset_of_interim(i, levels),
            Proposal::Population(pairs) => self.offset_of_others(i, pairs),
        }
    }

    fn offset_of_interim(&self, i: usize, levels: &[[f64; 2]]) -> Vec<f64> {
        let child = self.children[i];
        let n = self.blocks.n_points;
        let mut out = vec![0.0; n];
        for ([mean, spread], values) in levels.iter().zip(&child.block.values) {
            let log = libm::log(*spread);
            for (w, x) in out.iter_mut().zip(&values[child.at * n..][..n]) {
                let z = (x - mean) / spread;
                *w += 0.5 * z * z + log;
            }
        }
        out
    }

    /// Given the other subjects of the block the density is ∫ p(θ | φ) p(φ | others) dφ, and p(φ | others) is
    /// p(φ | block) / Lᵢ(φ). It is a mixture over the block's populations: first with equal shares, which gives Lᵢ of each, then with shares
    /// of 1/Lᵢ. More rounds run away, as populations that few draws know get more and more.
    ///
    /// To divide by p(θˢ | φˢ) alone would be right in the mean, too, with a fraction of the effective
    /// draws: in a block of 50 simulated subjects 28 of 2,000, where this leaves 650, at the means of
    /// three such blocks.
    fn offset_of_others(&self, i: usize, population: &[[Vec<f64>; 2]]) -> Vec<f64> {
        let n = self.blocks.n_points;
        let (densities, most) = self.densities(i, population);
        let mix = |shares: &[f64]| {
            let mut mixed = vec![0.0; n];
            for (row, share) in densities.chunks_exact(n).zip(shares) {
                mixed.iter_mut().zip(row).for_each(|(q, a)| *q += share * a);
            }
            mixed
        };
        let mixed = mix(&vec![1.0; densities.len() / n]);
        let share = |row: &[f64]| 1.0 / row.iter().zip(&mixed).map(|(a, q)| a / q).sum::<f64>();
        let shares: Vec<f64> = densities.chunks_exact(n).map(share).collect();
        let mixed = mix(&shares);
        most.iter()
            .zip(&mixed)
            .map(|(m, q)| -m - libm::log(*q))
            .collect()
    }

    /// Densities of the draws of subject `i` (columns) under some populations of its block (rows), as
    /// shares of the largest, whose logarithm is given.
    fn densities(&self, i: usize, population: &[[Vec<f64>; 2]]) -> (Vec<f64>, Vec<f64>) {
        let child = self.children[i];
        let n = self.blocks.n_points;
        let chosen: Vec<usize> = super::block::points(n, MIXED);
        let mut all = vec![0.0; n * chosen.len()];
        for (k, level) in self.blocks.levels.iter().enumerate() {
            let [means, spreads] = &population[k];
            let values = &child.block.values[k][child.at * n..][..n];
            for (row, &j) in all.chunks_exact_mut(n).zip(&chosen) {
                let shift = self.shift(child, level, |_, slope| child.block.slopes[slope][j]);
                let (mean, scale, log) =
                    (means[j] + shift, 1.0 / spreads[j], libm::log(spreads[j]));
                for (out, x) in row.iter_mut().zip(values) {
                    let z = (x - mean) * scale;
                    *out -= 0.5 * z * z + log;
                }
            }
        }
        let mut most = vec![f64::NEG_INFINITY; n];
        for row in all.chunks_exact(n) {
            most.iter_mut().zip(row).for_each(|(m, x)| *m = m.max(*x));
        }
        for row in all.chunks_exact_mut(n) {
            row.iter_mut()
                .zip(&most)
                .for_each(|(x, m)| *x = libm::exp(*x - m));
        }
        (all, most)
    }

    /// Offsets of all subjects, one after the other.
    pub fn offsets(&self) -> Vec<f64> {
        self.offsets.concat()
    }

    /// ln of what the draws of subject `i` weigh in `population`.
    pub fn log_weights(&self, i: usize, population: &Population) -> Vec<f64> {
        let child = self.children[i];
        let n = self.blocks.n_points;
        let mut out = self.offsets[i].clone();
        for (k, level) in self.blocks.levels.iter().enumerate() {
            let [mean, spread] = population.levels[k];
            let shift = self.shift(child, level, |j, _| population.slopes[k][j]);
            let (mean, scale, log) = (mean + shift, 1.0 / spread, libm::log(spread));
            let values = &child.block.values[k][child.at * n..][..n];
            for (w, x) in out.iter_mut().zip(values) {
                let z = (x - mean) * scale;
                *w -= 0.5 * z * z + log;
            }
        }
        out
    }

    /// Subjects.
    pub fn len(&self) -> usize {
        self.children.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// The name of subject `i`.
    pub fn name(&self, i: usize) -> &str {
        &self.children[i].block.subjects[self.children[i].at]
    }

    /// Effective sample size of the draws of subject `i` in `population`, and the shape k of the
    /// tail of their weights.
    pub fn quality(&self, i: usize, population: &Population) -> (f64, f64) {
        let weights = self.log_weights(i, population);
        let total = log_sum(&weights);
        let squares: Vec<f64> = weights.iter().map(|w| 2.0 * (w - total)).collect();
        (libm::exp(-log_sum(&squares)), tail_shape(&weights))
    }

    /// ln of the estimated likelihood of a population, from the first half of every subject's draws
    /// less that from the second.
    pub fn halves_differ(&self, population: &Population) -> f64 {
        let half = self.blocks.n_points / 2;
        let one = |i: usize| {
            let weights = self.log_weights(i, population);
            log_sum(&weights[..half]) - log_sum(&weights[weights.len() - half..])
        };
        (0..self.len()).map(one).sum()
    }

    /// What each draw of subject `i` weighs on average over `populations`; they sum to 1.
    fn mean_weights(&self, i: usize, populations: &[Population]) -> Vec<f64> {
        let mut out = vec![0.0; self.blocks.n_points];
        for population in populations {
            let weights = self.log_weights(i, population);
            let total = log_sum(&weights);
            for (sum, w) in out.iter_mut().zip(&weights) {
                *sum += libm::exp(w - total);
            }
        }
        let n = populations.len() as f64;
        out.iter_mut().for_each(|w| *w /= n);
        out
    }

    /// Draws of a parameter of subject `i`, as users know it.
    fn parameter(&self, i: usize, level: usize) -> Vec<f64> {
        let Child { block, at } = self.children[i];
        let n = self.blocks.n_points;
        let probit = self.blocks.levels[level].probability;
        let own = |x: &f64| match probit {
            true => 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2),
            false => libm::exp(*x),
        };
        block.values[level][at * n..][..n].iter().map(own).collect()
    }
}

/// Mean, sd, 5 and 95 % quantiles of weighed draws.
fn weighed(values: &[f64], weights: &[f64]) -> [f64; 4] {
    let sum = |f: &dyn Fn(f64) -> f64| -> f64 {
        values.iter().zip(weights).map(|(x, w)| f(*x) * w).sum()
    };
    let mean = sum(&|x| x);
    let variance = sum(&|x| (x - mean) * (x - mean));
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let quantile = |p: f64| {
        let mut below = 0.0;
        for &k in &order {
            below += weights[k];
            if below >= p {
                return values[k];
            }
        }
        order.last().map_or(f64::NAN, |&k| values[k])
    };
    [mean, variance.sqrt(), quantile(0.05), quantile(0.95)]
}

/// `subject,parameter,mean,sd,q05,q95`: every subject given the population of all blocks, over
/// draws of it.
pub fn children_csv(children: &Children<'_>, populations: &[Population]) -> String {
    let mut out = String::from("subject,parameter,mean,sd,q05,q95\n");
    let levels = &children.blocks.levels;
    let at = |name: &str| levels.iter().position(|l| l.name == name);
    for i in 0..children.len() {
        let weights = children.mean_weights(i, populations);
        let all: Vec<Vec<f64>> = (0..levels.len())
            .map(|k| children.parameter(i, k))
            .collect();
        let subject = csv_field(children.name(i));
        let mut row = |name: &str, values: &[f64]| {
            let [mean, sd, low, high] = weighed(values, &weights);
            out += &format!("{subject},{name},{mean},{sd},{low},{high}\n");
        };
        for (level, values) in levels.iter().zip(&all) {
            row(level.name, values);
        }
        for d in children.blocks.blocks[0].kind.derived() {
            if let (Some(a), Some(b)) = (at(d.left), at(d.right)) {
                let values = all[a].iter().zip(&all[b]).map(|(x, y)| x + d.sign * y);
                row(d.name, &values.collect::<Vec<_>>());
            }
        }
    }
    out
}
