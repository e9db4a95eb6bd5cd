//! The models, with their densities given every parameter.

use super::*;

/// Random data.
pub(super) struct Trial {
    pub(super) y: Vec<f64>,
    pub(super) count: Vec<i64>,
    pub(super) group: Vec<usize>,
    pub(super) n_groups: usize,
    /// Two columns of whole numbers, with gaps.
    pub(super) gaps: [Vec<Option<i64>>; 2],
    pub(super) data: Dataset,
}

impl Trial {
    pub(super) fn new(rng: &mut Rng) -> Trial {
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
    pub(super) fn filled(&self, z: &[i64]) -> [Vec<i64>; 2] {
        let mut z = z.iter().copied();
        let mut value = |known: &Option<i64>| known.unwrap_or_else(|| z.next().unwrap_or(0));
        let mut column = |k: usize| self.gaps[k].iter().map(&mut value).collect();
        [column(0), column(1)]
    }

    /// The gaps of column `k`, each with the values from 0 on.
    pub(super) fn gaps_of(&self, k: usize) -> Vec<(i64, usize)> {
        let gaps = self.gaps[k].iter().filter(|x| x.is_none());
        gaps.map(|_| (0, k + 2)).collect()
    }

    /// Of numbers by row those whose row is known in column `k`, or those whose row is not.
    pub(super) fn rows_of<'a>(
        &'a self,
        k: usize,
        known: bool,
        by_row: &'a [f64],
    ) -> impl Iterator<Item = f64> + 'a {
        let rows = self.gaps[k].iter().zip(by_row);
        rows.filter(move |(x, _)| x.is_some() == known)
            .map(|(_, &x)| x)
    }

    pub(super) fn n(&self) -> usize {
        self.y.len()
    }
}

/// A model, and the same by hand. The parameters θ are a, b, c and the three of m, all standard normal.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) model: &'static str,
    /// Least value and number of values of each element of each discrete parameter in turn.
    pub(super) values: fn(&Trial) -> Vec<(i64, usize)>,
    /// ln p of all that is no datum, at θ and at values of the elements.
    pub(super) prior: fn(&Trial, &[f64], &[i64]) -> f64,
    /// ln p of each datum.
    pub(super) rows: fn(&Trial, &[f64], &[i64]) -> Vec<f64>,
}

pub(super) fn of_rows(count: usize) -> impl Fn(&Trial) -> Vec<(i64, usize)> {
    move |t| vec![(0, count); t.n()]
}

pub(super) const CASES: &[Case] = &[
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
        name: "elements that some rows have no part of",
        model: "z[obs] ~ Bernoulli(inv_logit(a))
                let t[obs] = where(count > 1, z, at)
                y ~ Normal(b * t + c, 0.5)",
        values: |t| of_rows(2)(t),
        prior: |_, p, z| z.iter().map(|&z| bernoulli(z == 1, inv_logit(p[0]))).sum(),
        rows: |t, p, z| {
            let own = |i: usize| {
                if t.count[i] > 1 {
                    z[i] as f64
                } else {
                    i as f64
                }
            };
            (0..t.n())
                .map(|i| normal(t.y[i], p[1] * own(i) + p[2], 0.5))
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
pub(super) fn firsts(t: &Trial, p: &[f64], z: &[i64]) -> Vec<f64> {
    let [first, _] = t.filled(z);
    let row = |&x: &i64| bernoulli(x == 1, inv_logit(p[0]));
    first.iter().map(row).collect()
}

/// ln p of every row of the second given the first.
pub(super) fn seconds(t: &Trial, p: &[f64], z: &[i64]) -> Vec<f64> {
    let [first, second] = t.filled(z);
    let both = first.iter().zip(&second);
    both.map(|(&f, &s)| binomial(s, 2, inv_logit(p[1] + p[2] * f as f64)))
        .collect()
}

pub(super) fn model_of(case: &Case) -> String {
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
