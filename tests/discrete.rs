//! Models with discrete parameters against sums over every combination of their values, written as
//! loops by hand, over random sizes, data and points: the density, its slopes, the log likelihoods of
//! rows, and draws of the discrete parameters.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::data::Dataset;
use fitzroy::diagnose::{Finding, FindingKind, SummaryOptions};
use fitzroy::draws::{Column, Trace};
use fitzroy::model::Model;
use fitzroy::model::joint::{Coordinates, Graphs, TermKind};
use fitzroy::rng::{Purpose, Rng};
use fitzroy::run::{Caller, Outcome, Settings, bind, run};
use std::f64::consts::PI;
use support::kernels::{Case as Kernel, assert_same_bits};
use support::{Density, everywhere, joint};

fn normal(x: f64, m: f64, s: f64) -> f64 {
    -0.5 * ((x - m) / s).powi(2) - s.ln() - 0.5 * (2.0 * PI).ln()
}

fn inv_logit(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// ln of p where `yes`, else of 1 − p.
fn bernoulli(yes: bool, p: f64) -> f64 {
    if yes { p.ln() } else { (1.0 - p).ln() }
}

fn ln_factorial(n: i64) -> f64 {
    (1..=n).map(|i| (i as f64).ln()).sum()
}

fn poisson(k: i64, rate: f64) -> f64 {
    k as f64 * rate.ln() - rate - ln_factorial(k)
}

fn binomial(k: i64, n: i64, p: f64) -> f64 {
    if k > n {
        return f64::NEG_INFINITY;
    }
    ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)
        + k as f64 * p.ln()
        + (n - k) as f64 * (1.0 - p).ln()
}

/// ln of the share of one of some weights that are given as logarithms.
fn ln_share(logits: &[f64], k: usize) -> f64 {
    logits[k] - logits.iter().map(|x| x.exp()).sum::<f64>().ln()
}

fn feature(i: usize, k: usize) -> f64 {
    ((i + 1) * (k + 2) % 5) as f64 - 2.0
}

/// Random data.
struct Trial {
    y: Vec<f64>,
    count: Vec<i64>,
    group: Vec<usize>,
    n_groups: usize,
    /// Two columns of whole numbers, with gaps.
    gaps: [Vec<Option<i64>>; 2],
    data: Dataset,
}

impl Trial {
    fn new(rng: &mut Rng) -> Trial {
        let n = 2 + (rng.uniform() * 4.0) as usize;
        let n_groups = 1 + (rng.uniform() * 3.0) as usize;
        let y: Vec<f64> = (0..n).map(|_| 1.5 * rng.normal()).collect();
        let count: Vec<i64> = (0..n).map(|_| (rng.uniform() * 4.0) as i64).collect();
        let pick = |rng: &mut Rng| (rng.uniform() * n_groups as f64) as usize;
        let group: Vec<usize> = (0..n).map(|_| pick(rng)).collect();
        let mut data = Dataset::new();
        let mut add = |name: &str, shape: &[usize], values: &mut dyn Iterator<Item = usize>| {
            data.insert_real(name, shape, values.map(|x| x as f64).collect());
        };
        add("count", &[n], &mut count.iter().map(|&c| c as usize));
        add("seen", &[n], &mut count.iter().map(|&c| usize::from(c > 1)));
        add("group", &[n], &mut group.iter().copied());
        add("at", &[n], &mut (0..n));
        add("steps", &[10], &mut (0..10));
        add("n_groups", &[], &mut std::iter::once(n_groups));
        let features = (0..n).flat_map(|i| (0..3).map(move |k| feature(i, k)));
        data.insert_real("features", &[n, 3], features.collect());
        data.insert_real("slope", &[2, 3], vec![0.0, 1.0, 0.0, 0.0, 2.0, -1.0]);
        data.insert_real("level", &[2, 3], vec![0.0, 0.0, 0.3, 0.0, 0.0, 0.3]);
        let w = y.iter().copied().chain(y.iter().map(|y| 2.0 * y));
        data.insert_real("w", &[2, n], w.collect());
        data.insert_real("y", &[n], y.clone());
        let known = |i: usize, share: f64, rng: &mut Rng| i == 0 || rng.uniform() > share;
        let column = |most: i64, rng: &mut Rng| -> Vec<Option<i64>> {
            let value = |rng: &mut Rng| (rng.uniform() * (most + 1) as f64) as i64;
            (0..n)
                .map(|i| Some(value(rng)).filter(|_| known(i, 0.4, rng)))
                .collect()
        };
        let gaps = [column(1, rng), column(2, rng)];
        for (name, column) in ["first", "second"].iter().zip(&gaps) {
            let numbers = column.iter().map(|x| x.map_or(f64::NAN, |x| x as f64));
            data.insert_real(name, &[n], numbers.collect());
        }
        Trial {
            y,
            count,
            group,
            n_groups,
            gaps,
            data,
        }
    }

    /// Columns with `z` in their gaps.
    fn filled(&self, z: &[i64]) -> [Vec<i64>; 2] {
        let mut z = z.iter().copied();
        let mut value = |known: &Option<i64>| known.unwrap_or_else(|| z.next().unwrap_or(0));
        let mut column = |k: usize| self.gaps[k].iter().map(&mut value).collect();
        [column(0), column(1)]
    }

    /// The gaps of column `k`, each with the values from 0 on.
    fn gaps_of(&self, k: usize) -> Vec<(i64, usize)> {
        let gaps = self.gaps[k].iter().filter(|x| x.is_none());
        gaps.map(|_| (0, k + 2)).collect()
    }

    /// Of numbers by row those whose row is known in column `k`, or those whose row is not.
    fn rows_of<'a>(
        &'a self,
        k: usize,
        known: bool,
        by_row: &'a [f64],
    ) -> impl Iterator<Item = f64> + 'a {
        let rows = self.gaps[k].iter().zip(by_row);
        rows.filter(move |(x, _)| x.is_some() == known)
            .map(|(_, &x)| x)
    }

    fn n(&self) -> usize {
        self.y.len()
    }
}

/// A model, and the same by hand. The parameters θ are a, b, c and the three of m, all standard normal.
struct Case {
    name: &'static str,
    model: &'static str,
    /// Least value and number of values of each element of each discrete parameter in turn.
    values: fn(&Trial) -> Vec<(i64, usize)>,
    /// ln p of all that is no datum, at θ and at values of the elements.
    prior: fn(&Trial, &[f64], &[i64]) -> f64,
    /// ln p of each datum.
    rows: fn(&Trial, &[f64], &[i64]) -> Vec<f64>,
}

fn of_rows(count: usize) -> impl Fn(&Trial) -> Vec<(i64, usize)> {
    move |t| vec![(0, count); t.n()]
}

const CASES: &[Case] = &[
    Case {
        name: "mixture by label",
        model: "z[obs] ~ Categorical(softmax(m))
                y ~ Normal(m[z], exp(a))",
        values: |t| of_rows(3)(t),
        prior: |_, p, z| z.iter().map(|&z| ln_share(&p[3..6], z as usize)).sum(),
        rows: |t, p, z| {
            let row = |i: usize| normal(t.y[i], p[3 + z[i] as usize], p[0].exp());
            (0..t.n()).map(row).collect()
        },
    },
    Case {
        name: "mixture of nine",
        model: "z[obs] ~ Binomial(8, inv_logit(a))
                y ~ Normal(b + c * z, exp(m[0]))",
        values: |t| of_rows(9)(t),
        prior: |_, p, z| z.iter().map(|&z| binomial(z, 8, inv_logit(p[0]))).sum(),
        rows: |t, p, z| {
            let row = |i: usize| normal(t.y[i], p[1] + p[2] * z[i] as f64, p[3].exp());
            (0..t.n()).map(row).collect()
        },
    },
    Case {
        name: "zero inflation",
        model: "z[obs] ~ Bernoulli(inv_logit(a))
                count ~ Poisson(where(z == 1, exp(b), 1e-3))",
        values: |t| of_rows(2)(t),
        prior: |_, p, z| z.iter().map(|&z| bernoulli(z == 1, inv_logit(p[0]))).sum(),
        rows: |t, p, z| {
            let rate = |z: i64| if z == 1 { p[1].exp() } else { 1e-3 };
            (0..t.n())
                .map(|i| poisson(t.count[i], rate(z[i])))
                .collect()
        },
    },
    Case {
        name: "class of each group",
        model: "z[groups] ~ Bernoulli(inv_logit(a))
                y ~ Normal(b + c * z[group], 1)",
        values: |t| vec![(0, 2); t.n_groups],
        prior: |_, p, z| z.iter().map(|&z| bernoulli(z == 1, inv_logit(p[0]))).sum(),
        rows: |t, p, z| {
            let mean = |i: usize| p[1] + p[2] * z[t.group[i]] as f64;
            (0..t.n()).map(|i| normal(t.y[i], mean(i), 1.0)).collect()
        },
    },
    Case {
        name: "ten classes of groups, by table",
        model: "z[groups] ~ DiscreteUniform(0, 9)
                let table[ten] = a * sin(steps * b)
                y ~ Normal(table[z[group]], 1)",
        values: |t| vec![(0, 10); t.n_groups],
        prior: |_, _, z| -(z.len() as f64) * 10f64.ln(),
        rows: |t, p, z| {
            let mean = |i: usize| p[0] * (z[t.group[i]] as f64 * p[1]).sin();
            (0..t.n()).map(|i| normal(t.y[i], mean(i), 1.0)).collect()
        },
    },
    Case {
        name: "occupancy",
        model: "z[groups] ~ Bernoulli(inv_logit(a))
                seen ~ Bernoulli(z[group] * inv_logit(b))",
        values: |t| vec![(0, 2); t.n_groups],
        prior: |_, p, z| z.iter().map(|&z| bernoulli(z == 1, inv_logit(p[0]))).sum(),
        rows: |t, p, z| {
            let p_of = |i: usize| z[t.group[i]] as f64 * inv_logit(p[1]);
            (0..t.n())
                .map(|i| bernoulli(t.count[i] > 1, p_of(i)))
                .collect()
        },
    },
    Case {
        name: "abundance",
        model: "z[groups] ~ Poisson(exp(a)) truncated(upper=9)
                count ~ Binomial(z[group], inv_logit(b))",
        values: |t| vec![(0, 10); t.n_groups],
        prior: |_, p, z| {
            let rate = p[0].exp();
            let mass: f64 = (0..10).map(|k| poisson(k, rate).exp()).sum();
            z.iter().map(|&z| poisson(z, rate) - mass.ln()).sum()
        },
        rows: |t, p, z| {
            let row = |i: usize| binomial(t.count[i], z[t.group[i]], inv_logit(p[1]));
            (0..t.n()).map(row).collect()
        },
    },
    Case {
        name: "change point",
        model: "z ~ DiscreteUniform(0, obs - 1)
                y ~ Normal(where(at < z, a, b), exp(c))",
        values: |t| vec![(0, t.n())],
        prior: |t, _, _| -(t.n() as f64).ln(),
        rows: |t, p, z| {
            let mean = |i: usize| if (i as i64) < z[0] { p[0] } else { p[1] };
            (0..t.n())
                .map(|i| normal(t.y[i], mean(i), p[2].exp()))
                .collect()
        },
    },
    Case {
        name: "change point of many values",
        model: "z ~ DiscreteUniform(-3, 9)
                y ~ Normal(where(at < z, a, b), exp(c))",
        values: |_| vec![(-3, 13)],
        prior: |_, _, _| -(13f64).ln(),
        rows: |t, p, z| {
            let mean = |i: usize| if (i as i64) < z[0] { p[0] } else { p[1] };
            (0..t.n())
                .map(|i| normal(t.y[i], mean(i), p[2].exp()))
                .collect()
        },
    },
    Case {
        name: "two that meet everywhere",
        model: "u ~ Binomial(3, inv_logit(a))
                v ~ DiscreteUniform(-1, 2)
                y ~ Normal(b * u + c * v, 1)",
        values: |_| vec![(0, 4), (-1, 4)],
        prior: |_, p, z| binomial(z[0], 3, inv_logit(p[0])) - 4f64.ln(),
        rows: |t, p, z| {
            let mean = p[1] * z[0] as f64 + p[2] * z[1] as f64;
            t.y.iter().map(|&y| normal(y, mean, 1.0)).collect()
        },
    },
    Case {
        name: "one given the other, by row",
        model: "let table[two, kinds] = softmax(b * slope + level, axis=kinds)
                u[obs] ~ Bernoulli(inv_logit(a))
                v[obs] ~ Categorical(table[u])
                y ~ Normal(m[v] + c * u, 1)",
        values: |t| {
            vec![(0, 2); t.n()]
                .into_iter()
                .chain(vec![(0, 3); t.n()])
                .collect()
        },
        prior: |t, p, z| {
            let n = t.n();
            let one = |i: usize| {
                let u = z[i] as usize;
                let logits = [0.0, p[1] * (1 + u) as f64, 0.3 - p[1] * u as f64];
                bernoulli(u == 1, inv_logit(p[0])) + ln_share(&logits, z[n + i] as usize)
            };
            (0..n).map(one).sum()
        },
        rows: |t, p, z| {
            let n = t.n();
            let mean = |i: usize| p[3 + z[n + i] as usize] + p[2] * z[i] as f64;
            (0..n).map(|i| normal(t.y[i], mean(i), 1.0)).collect()
        },
    },
    Case {
        name: "kinds of rows within classes of groups",
        model: "let lean[two] = [a, b]
                class[groups] ~ Bernoulli(0.4)
                kind[obs] ~ Bernoulli(inv_logit(lean[class[group]]))
                y ~ Normal(c * kind, 1)",
        values: |t| vec![(0, 2); t.n_groups + t.n()],
        prior: |t, p, z| {
            let (class, kind) = z.split_at(t.n_groups);
            let of_groups = class.iter().map(|&z| bernoulli(z == 1, 0.4));
            let of_rows = (0..t.n()).map(|i| {
                let share = inv_logit(p[class[t.group[i]] as usize]);
                bernoulli(kind[i] == 1, share)
            });
            of_groups.sum::<f64>() + of_rows.sum::<f64>()
        },
        rows: |t, p, z| {
            let kind = &z[t.n_groups..];
            (0..t.n())
                .map(|i| normal(t.y[i], p[2] * kind[i] as f64, 1.0))
                .collect()
        },
    },
    Case {
        name: "combinations of few elements",
        model: "z[groups] ~ Bernoulli(inv_logit(a))
                y ~ Normal(b + c * sum(z), 1)",
        values: |t| vec![(0, 2); t.n_groups],
        prior: |_, p, z| z.iter().map(|&z| bernoulli(z == 1, inv_logit(p[0]))).sum(),
        rows: |t, p, z| {
            let mean = p[1] + p[2] * z.iter().sum::<i64>() as f64;
            t.y.iter().map(|&y| normal(y, mean, 1.0)).collect()
        },
    },
    Case {
        name: "kinds that some of the columns go into",
        model: "z[kinds] ~ Binomial(2, inv_logit(c))
                y ~ Normal(a * at + features @ (b * z), 1)",
        values: |_| vec![(0, 3); 3],
        prior: |_, p, z| z.iter().map(|&z| binomial(z, 2, inv_logit(p[2]))).sum(),
        rows: |t, p, z| {
            let sum = |i: usize| {
                (0..3)
                    .map(|k| feature(i, k) * p[1] * z[k] as f64)
                    .sum::<f64>()
            };
            let row = |i: usize| normal(t.y[i], p[0] * i as f64 + sum(i), 1.0);
            (0..t.n()).map(row).collect()
        },
    },
    Case {
        name: "sums in the target",
        model: "z[groups] ~ Bernoulli(inv_logit(a))
                target += sum(b * z[group] * at) - 0.5 * sum(where(z == 1, c, 0)^2) - (2 + a^2)
                y ~ Normal(0, 1)",
        values: |t| vec![(0, 2); t.n_groups],
        prior: |t, p, z| {
            let own = z
                .iter()
                .map(|&z| bernoulli(z == 1, inv_logit(p[0])) - 0.5 * (z as f64 * p[2]).powi(2));
            let rows = (0..t.n()).map(|i| p[1] * z[t.group[i]] as f64 * i as f64);
            own.sum::<f64>() + rows.sum::<f64>() - 2.0 - p[0] * p[0]
        },
        rows: |t, _, _| t.y.iter().map(|&y| normal(y, 0.0, 1.0)).collect(),
    },
    Case {
        name: "slices, and continuous parameters given discrete ones",
        model: "z[obs] ~ Categorical(softmax(m))
                x[obs] ~ Normal(m[z], 1)
                y[0] ~ Normal(a, 1)
                y[1:] ~ Normal(x[1:] + b * z[1:], 1)",
        values: |t| of_rows(3)(t),
        prior: |t, p, z| {
            let one = |i: usize| {
                let k = z[i] as usize;
                ln_share(&p[3..6], k) + normal(p[6 + i], p[3 + k], 1.0)
            };
            (0..t.n()).map(one).sum()
        },
        rows: |t, p, z| {
            let mean = |i: usize| {
                if i == 0 {
                    p[0]
                } else {
                    p[6 + i] + p[1] * z[i] as f64
                }
            };
            (0..t.n()).map(|i| normal(t.y[i], mean(i), 1.0)).collect()
        },
    },
    Case {
        name: "hidden Markov chain",
        model: "logits[kinds, kinds] ~ Normal(0, 1)
                let move = softmax(logits, axis=kinds')
                z[obs] ~ Categorical(move[lag(z, 1)])
                y ~ Normal(m[z], 1)",
        values: |t| of_rows(3)(t),
        prior: |_, p, z| {
            let (mut before, mut total) = (1, 0.0);
            for &z in z {
                total += ln_share(&p[6 + 3 * before..9 + 3 * before], z as usize);
                before = z as usize;
            }
            total + p[6..15].iter().map(|x| normal(*x, 0.0, 1.0)).sum::<f64>()
        },
        rows: |t, p, z| {
            let row = |i: usize| normal(t.y[i], p[3 + z[i] as usize], 1.0);
            (0..t.n()).map(row).collect()
        },
    },
    Case {
        name: "chain whose moves are seen, beside a number that all depends on",
        model: "v ~ Binomial(2, 0.3)
                z[obs] ~ Binomial(2, inv_logit(a + b * lag(z, 0) + v))
                y ~ Normal(c * z + a * lag(z, 0), 1)",
        values: |t| [vec![(0, 3)], vec![(0, 3); t.n()]].concat(),
        prior: |_, p, z| {
            let (mut before, mut total) = (0, binomial(z[0], 2, 0.3));
            for &now in &z[1..] {
                let logit = p[0] + p[1] * before as f64 + z[0] as f64;
                total += binomial(now, 2, inv_logit(logit));
                before = now;
            }
            total
        },
        rows: |t, p, z| {
            let before = |i: usize| if i == 0 { 0 } else { z[i] };
            let mean = |i: usize| p[2] * z[i + 1] as f64 + p[0] * before(i) as f64;
            (0..t.n()).map(|i| normal(t.y[i], mean(i), 1.0)).collect()
        },
    },
    Case {
        name: "chains in lanes",
        model: "z[two, obs] ~ Bernoulli(inv_logit(a + b * lag(z, 0, axis=obs)))
                w ~ Normal(c * z, 1)",
        values: |t| vec![(0, 2); 2 * t.n()],
        prior: |t, p, z| {
            let lane = |z: &[i64]| {
                let before = [&[0], z].concat();
                let step =
                    |(b, z): (&i64, &i64)| bernoulli(*z == 1, inv_logit(p[0] + p[1] * *b as f64));
                before.iter().zip(z).map(step).sum::<f64>()
            };
            z.chunks(t.n()).map(lane).sum()
        },
        rows: |t, p, z| {
            let row = |i: usize| {
                normal(
                    t.y[i % t.n()] * (1 + i / t.n()) as f64,
                    p[2] * z[i] as f64,
                    1.0,
                )
            };
            (0..2 * t.n()).map(row).collect()
        },
    },
    Case {
        name: "a covariate with gaps",
        model: "data first[obs]: int
                first ~ Bernoulli(inv_logit(a))
                y ~ Normal(b + c * first, 1)",
        values: |t| t.gaps_of(0),
        prior: |t, p, z| t.rows_of(0, false, &firsts(t, p, z)).sum(),
        rows: |t, p, z| {
            let [first, _] = t.filled(z);
            let row = |i: usize| normal(t.y[i], p[1] + p[2] * first[i] as f64, 1.0);
            let known = firsts(t, p, z);
            let known = t.rows_of(0, true, &known);
            known.chain((0..t.n()).map(row)).collect()
        },
    },
    Case {
        name: "two columns with gaps, one given the other",
        model: "data first[obs]: int, second[obs]
                first ~ Bernoulli(inv_logit(a))
                second ~ Binomial(2, inv_logit(b + c * first))
                y ~ Normal(a * first + b * second, 1)",
        values: |t| [t.gaps_of(0), t.gaps_of(1)].concat(),
        prior: |t, p, z| {
            let of_first = t.rows_of(0, false, &firsts(t, p, z)).sum::<f64>();
            of_first + t.rows_of(1, false, &seconds(t, p, z)).sum::<f64>()
        },
        rows: |t, p, z| {
            let [first, second] = t.filled(z);
            let mean = |i: usize| p[0] * first[i] as f64 + p[1] * second[i] as f64;
            let (firsts, seconds) = (firsts(t, p, z), seconds(t, p, z));
            let known = t.rows_of(0, true, &firsts);
            let known = known.chain(t.rows_of(1, true, &seconds));
            known
                .chain((0..t.n()).map(|i| normal(t.y[i], mean(i), 1.0)))
                .collect()
        },
    },
    Case {
        name: "gaps that nothing depends on, and what they are drawn by",
        model: "data second[obs]
                z ~ Bernoulli(inv_logit(a))
                x ~ Binomial(2, inv_logit(b + z))
                second ~ Binomial(2, inv_logit(c))",
        values: |t| [vec![(0, 2), (0, 3)], t.gaps_of(1)].concat(),
        prior: |t, p, z| {
            let one = |x: &i64| binomial(*x, 2, inv_logit(p[2]));
            let (own, gaps) = z.split_at(2);
            assert_eq!(gaps.len(), t.gaps_of(1).len());
            bernoulli(own[0] == 1, inv_logit(p[0]))
                + binomial(own[1], 2, inv_logit(p[1] + own[0] as f64))
                + gaps.iter().map(one).sum::<f64>()
        },
        rows: |t, p, _| {
            let known = t.gaps[1].iter().flatten();
            known.map(|&x| binomial(x, 2, inv_logit(p[2]))).collect()
        },
    },
    Case {
        name: "vectors of data given one value",
        model: "z ~ DiscreteUniform(0, 11)
                y ~ MvNormal(a * sin(z * (1 + at)), chol=diag(2 - 0.1 * at))",
        values: |_| vec![(0, 12)],
        prior: |_, _, _| -(12f64).ln(),
        rows: |t, p, z| {
            let mean = |i: usize| p[0] * (z[0] as f64 * (1 + i) as f64).sin();
            let row = |i: usize| normal(t.y[i], mean(i), 2.0 - 0.1 * i as f64);
            vec![(0..t.n()).map(row).sum()]
        },
    },
];

/// ln p of every row of the first column with `z` in its gaps.
fn firsts(t: &Trial, p: &[f64], z: &[i64]) -> Vec<f64> {
    let [first, _] = t.filled(z);
    let row = |&x: &i64| bernoulli(x == 1, inv_logit(p[0]));
    first.iter().map(row).collect()
}

/// ln p of every row of the second given the first.
fn seconds(t: &Trial, p: &[f64], z: &[i64]) -> Vec<f64> {
    let [first, second] = t.filled(z);
    let both = first.iter().zip(&second);
    both.map(|(&f, &s)| binomial(s, 2, inv_logit(p[1] + p[2] * f as f64)))
        .collect()
}

fn model_of(case: &Case) -> String {
    format!(
        "data y[obs], count[obs]: int, group[obs] in groups, seen[obs]: int, at[obs], n_groups
         data features[obs, kinds], steps[ten], slope[two, kinds], level[two, kinds], w[two, obs]
         dim groups = n_groups
         a ~ Normal(0, 1)
         b ~ Normal(0, 1)
         c ~ Normal(0, 1)
         m[kinds] ~ Normal(0, 1)
         {}\n",
        case.model
    )
}

/// Every combination of values of the elements.
fn combinations(values: &[(i64, usize)]) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for &(low, count) in values {
        let longer = |z: &Vec<i64>| {
            let z = z.clone();
            (0..count as i64).map(move |v| [&z[..], &[low + v]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

fn log_sum_exp(x: impl Iterator<Item = f64> + Clone) -> f64 {
    let peak = x.clone().fold(f64::NEG_INFINITY, f64::max);
    if peak == f64::NEG_INFINITY {
        return peak;
    }
    peak + x.map(|x| (x - peak).exp()).sum::<f64>().ln()
}

/// Draws with which frequencies are compared.
const DRAWS: usize = 4000;
/// Standard errors that a frequency may be away: of some 4,000 comparisons chance alone fails one seed in
/// about 300.
const FAR: f64 = 5.0;

/// What the test knows of one case at one point: all by hand.
struct ByHand<'a> {
    case: &'a Case,
    trial: &'a Trial,
    all: Vec<Vec<i64>>,
}

impl ByHand<'_> {
    fn priors(&self, p: &[f64]) -> f64 {
        p[..6].iter().map(|x| normal(*x, 0.0, 1.0)).sum()
    }

    /// ln p of everything at every combination; without row `left_out`, if any.
    fn joint(&self, p: &[f64], left_out: Option<usize>) -> Vec<f64> {
        let one = |z: &Vec<i64>| {
            let rows = (self.case.rows)(self.trial, p, z);
            let kept = rows
                .iter()
                .enumerate()
                .filter(|(i, _)| Some(*i) != left_out);
            (self.case.prior)(self.trial, p, z) + kept.map(|(_, x)| x).sum::<f64>()
        };
        self.all.iter().map(one).collect()
    }

    fn density(&self, p: &[f64]) -> f64 {
        self.priors(p) + log_sum_exp(self.joint(p, None).iter().copied())
    }
}

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a - b).abs() < tolerance * (1.0 + a.abs().min(b.abs()))
}

fn check_slopes(what: &str, point: &[f64], gradient: &[f64], by_hand: &dyn Fn(&[f64]) -> f64) {
    for (k, slope) in gradient.iter().enumerate() {
        let h = 1e-5;
        let [low, high] = [-h, h].map(|h| {
            let mut moved = point.to_vec();
            moved[k] += h;
            by_hand(&moved)
        });
        let numeric = (high - low) / (2.0 * h);
        assert!(
            near(*slope, numeric, 1e-6),
            "{what}: slope {k} is {slope}, by differences {numeric}"
        );
    }
}

/// Catches: a prior left out or counted twice, a row with another's element, values from another
/// least one, an order of elements, a branch that is impossible and leaves NaN in a slope.
#[test]
fn densities_are_those_of_sums_over_all_combinations() {
    let mut rng = Rng::new(31, 0, 0, 1, Purpose::Test);
    for case in CASES {
        for _ in 0..8 {
            let trial = Trial::new(&mut rng);
            let joint = joint(&model_of(case), &trial.data);
            let mut density = Density::new(&joint, &everywhere(&joint, &Coordinates::Centred));
            let by_hand = ByHand {
                all: combinations(&(case.values)(&trial)),
                case,
                trial: &trial,
            };
            let point: Vec<f64> = (0..density.dim).map(|_| 0.7 * rng.normal()).collect();
            let what = format!(
                "{}, {} rows in {} groups",
                case.name,
                trial.n(),
                trial.n_groups
            );
            let (value, gradient) = density.run(&point);
            let want = by_hand.density(&point);
            assert!(near(value, want, 1e-10), "{what}: {value} {want}");
            if !want.is_finite() {
                continue;
            }
            let mut position = point.clone();
            position.resize(density.graphs.n_extended, 0.0);
            let reference = density.reference(&position);
            assert!(near(value, reference.0, 1e-12), "{what}");
            for (k, slope) in gradient.iter().enumerate() {
                assert!(near(*slope, reference.1[k], 1e-9), "{what}: slope {k}");
            }
            check_slopes(&what, &point, &gradient, &|u| by_hand.density(u));
        }
    }
}

#[test]
fn kernels_of_models_with_discrete_parameters_have_the_bits_of_the_cpu() {
    let mut rng = Rng::new(31, 0, 0, 2, Purpose::Test);
    let kernel = |case: &Case| {
        let joint = joint(&model_of(case), &Trial::new(&mut rng).data);
        Kernel::centred(case.name.into(), &joint)
    };
    assert_same_bits(&CASES.iter().map(kernel).collect::<Vec<_>>(), false);
}

/// Draws of all discrete parameters at `position`, in the order of the model's statements.
fn drawn(graphs: &Graphs, density: &Density, rng: &mut Rng, position: &mut [f64]) -> Vec<i64> {
    for drawn in &graphs.discrete {
        let arguments = density.by_reference(position, &drawn.arguments);
        let arguments: Vec<&[f64]> = arguments.iter().map(Vec::as_slice).collect();
        let mut out = vec![0.0; drawn.shape.iter().product()];
        drawn.draw(rng, &arguments, &mut out);
        let at = drawn.feeds.unwrap();
        position[at..at + out.len()].copy_from_slice(&out);
    }
    let mut out = Vec::new();
    for record in &graphs.recorded {
        if graphs.discrete.iter().any(|d| d.name == record.name) {
            let values = density.by_reference(position, &[record.node]);
            out.extend(values[0].iter().map(|&x| x as i64));
        }
    }
    out
}

/// Catches: weights of another element or value, a variable drawn before one that it depends on,
/// combinations told apart wrongly, records of other than the drawn values.
#[test]
fn discrete_parameters_are_drawn_from_their_conditional_distribution() {
    let mut rng = Rng::new(32, 0, 0, 1, Purpose::Test);
    for case in CASES {
        let trial = Trial::new(&mut rng);
        let joint = joint(&model_of(case), &trial.data);
        let density = Density::new(&joint, &everywhere(&joint, &Coordinates::Centred));
        let graphs = &density.graphs;
        let by_hand = ByHand {
            all: combinations(&(case.values)(&trial)),
            case,
            trial: &trial,
        };
        let mut position = vec![0.0; graphs.n_extended];
        position[..density.dim]
            .iter_mut()
            .for_each(|x| *x = 0.7 * rng.normal());
        let weights = by_hand.joint(&position, None);
        let total = log_sum_exp(weights.iter().copied());
        if !total.is_finite() {
            continue;
        }
        let draws: Vec<Vec<i64>> = (0..DRAWS)
            .map(|_| drawn(graphs, &density, &mut rng, &mut position))
            .collect();
        let n = by_hand.all[0].len();
        let share = |f: &dyn Fn(&[i64]) -> f64| {
            let all = by_hand.all.iter().zip(&weights);
            let want = all
                .clone()
                .map(|(z, w)| f(z) * (w - total).exp())
                .sum::<f64>();
            let square = all
                .map(|(z, w)| f(z).powi(2) * (w - total).exp())
                .sum::<f64>();
            let got = draws.iter().map(|z| f(z)).sum::<f64>() / DRAWS as f64;
            let error = ((square - want * want).max(0.0) / DRAWS as f64).sqrt();
            assert!(
                (got - want).abs() <= FAR * error + 5.0 / DRAWS as f64,
                "{}: {got} for {want} (± {error})",
                case.name
            );
        };
        for (i, &(low, count)) in (case.values)(&trial).iter().enumerate() {
            (low..low + count as i64).for_each(|v| share(&|z| f64::from(z[i] == v)));
            (0..i).for_each(|j| share(&|z| (z[i] * z[j]) as f64));
        }
        assert_eq!(draws[0].len(), n, "{}", case.name);
    }
}

/// Catches: rows that are those of another element, the prior left in, sums with −∞ taken apart.
#[test]
fn log_likelihoods_are_those_of_rows_given_all_others() {
    let mut rng = Rng::new(33, 0, 0, 1, Purpose::Test);
    for case in CASES {
        for _ in 0..4 {
            let trial = Trial::new(&mut rng);
            let joint = joint(&model_of(case), &trial.data);
            let density = Density::new(&joint, &everywhere(&joint, &Coordinates::Centred));
            let graphs = &density.graphs;
            let by_hand = ByHand {
                all: combinations(&(case.values)(&trial)),
                case,
                trial: &trial,
            };
            let mut position = vec![0.0; graphs.n_extended];
            position[..density.dim]
                .iter_mut()
                .for_each(|x| *x = 0.7 * rng.normal());
            let all = log_sum_exp(by_hand.joint(&position, None).into_iter());
            let terms = graphs
                .terms
                .iter()
                .filter(|t| t.kind == TermKind::Likelihood);
            let nodes: Vec<_> = terms.map(|t| t.node).collect();
            if !all.is_finite() || graphs.reads_drawn(&nodes) {
                continue;
            }
            let rows = density.by_reference(&position, &nodes).concat();
            for (i, row) in rows.iter().enumerate() {
                let others = log_sum_exp(by_hand.joint(&position, Some(i)).into_iter());
                let want = all - others;
                assert!(
                    near(*row, want, 1e-9),
                    "{}: row {i}: {row} {want}",
                    case.name
                );
            }
        }
    }
}

/// A variable of a group of the trace, as numbers.
fn column(trace: &Trace, group: &str, name: &str) -> Vec<f64> {
    let variable = trace.group(group).and_then(|g| g.variable(name));
    match &variable
        .unwrap_or_else(|| panic!("{group} has {name}"))
        .values
    {
        Column::Real(x) => x.clone(),
        Column::Integer(x) => x.iter().map(|&x| x as f64).collect(),
        Column::Flag(_) => panic!("{name} holds numbers"),
    }
}

fn sampled(text: &str, settings: &Settings) -> Outcome {
    let mut data = Dataset::new();
    data.insert_real("y", &[6], vec![-1.8, 0.1, 0.3, 2.2, 1.9, -0.2]);
    let joint = bind(&Model::parse(text).unwrap(), &data, settings).unwrap();
    run(&joint, settings, &Caller::silent()).unwrap()
}

const LABELLED: &str = "data y[obs]
    dim kinds = 3
    m[kinds] ~ Normal(0, 2) ordered
    z[obs] ~ Categorical([0.2, 0.3, 0.5])
    mean[obs] = m[z]
    y ~ Normal(mean, 1)
    predict kind ~ Categorical([0.2, 0.3, 0.5])
    predict centre = m[kind]";

/// Catches: records and replicates of other values than those drawn, draws that depend on threads,
/// an alarm about numbers that are rare.
#[test]
fn traces_hold_the_drawn_values_and_what_follows_from_them() {
    let mut settings = Settings::default();
    settings.sampler.draws = 400;
    settings.sampler.tune = 300;
    settings.predictive = true;
    settings.log_likelihood = true;
    let outcome = sampled(LABELLED, &settings);
    let trace = &outcome.trace;
    let m = column(trace, "posterior", "m");
    let at = |draw: usize, z: f64| m[3 * draw + z as usize];
    let (z, mean) = (
        column(trace, "posterior", "z"),
        column(trace, "posterior", "mean"),
    );
    for (i, (z, mean)) in z.iter().zip(&mean).enumerate() {
        assert_eq!(at(i / 6, *z), *mean);
    }
    let kind = column(trace, "predictions", "kind");
    for (i, (kind, centre)) in kind
        .iter()
        .zip(column(trace, "predictions", "centre"))
        .enumerate()
    {
        assert_eq!(at(i, *kind), centre);
    }
    // Replicates are normal around the drawn means: 9,600 of them, five standard errors.
    let replicates = column(trace, "posterior_predictive", "y");
    let square = replicates.iter().zip(&mean).map(|(y, m)| (y - m).powi(2));
    let n = mean.len() as f64;
    assert!((square.sum::<f64>() / n - 1.0).abs() < 5.0 * (2.0 / n).sqrt());
    assert_eq!(column(trace, "log_likelihood", "y").len(), mean.len());
    let found = outcome.diagnose(&SummaryOptions::default()).unwrap();
    let heavy = |f: &&Finding| f.kind == FindingKind::HeavyTail;
    assert_eq!(found.findings.iter().find(heavy).map(|f| &f.fact), None);
    settings.sampler.threads = 3;
    let again = sampled(LABELLED, &settings);
    assert_eq!(column(&again.trace, "posterior", "z"), z);
}

/// Catches: priors that know of the data, by either way of drawing them.
#[test]
fn draws_of_the_prior_know_nothing_of_the_data() {
    let mut settings = Settings::default();
    settings.sampler.draws = 1000;
    settings.prior_only = true;
    for text in [LABELLED.to_string(), LABELLED.replace(" ordered", "")] {
        let trace = sampled(&text, &settings).trace;
        let (z, m) = (column(&trace, "prior", "z"), column(&trace, "prior", "m"));
        for (i, mean) in column(&trace, "prior", "mean").into_iter().enumerate() {
            assert_eq!(m[3 * (i / 6) + z[i] as usize], mean);
        }
        for (k, share) in [0.2, 0.3, 0.5].into_iter().enumerate() {
            let n = z.len() as f64;
            let got = z.iter().filter(|&&z| z == k as f64).count() as f64 / n;
            let error = (share * (1.0 - share) / n).sqrt();
            assert!((got - share).abs() < 5.0 * error, "{k}: {got}");
        }
        assert_eq!(column(&trace, "prior_predictive", "y").len(), z.len());
    }
}
