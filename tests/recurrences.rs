//! Models whose definitions depend on their own step before, against loops written by hand, over
//! random lengths, lanes and points; and what is said of those that cannot be.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::data::Dataset;

use fitzroy::model::joint::Coordinates;
use fitzroy::rng::{Purpose, Rng};
use std::f64::consts::PI;
use support::{Density, everywhere, joint};

fn normal(x: f64, m: f64, s: f64) -> f64 {
    -0.5 * ((x - m) / s).powi(2) - s.ln() - 0.5 * (2.0 * PI).ln()
}

/// Numbers of one trial: its length, its lanes, its data.
struct Trial {
    steps: usize,
    lanes: usize,
    /// By lane, then by step.
    y: Vec<Vec<f64>>,
    data: Dataset,
}

impl Trial {
    fn new(rng: &mut Rng) -> Trial {
        let steps = 1 + (rng.uniform() * 30.0) as usize;
        let lanes = 1 + (rng.uniform() * 11.0) as usize;
        let mut row = || (0..steps).map(|_| rng.normal()).collect::<Vec<f64>>();
        let y: Vec<Vec<f64>> = (0..lanes).map(|_| row()).collect();
        let mut data = Dataset::new();
        data.insert_real("y", &[steps], y[0].clone());
        data.insert_real("w", &[lanes, steps], y.concat());
        let by_step = |t: usize| y.iter().map(move |lane| lane[t]);
        let turned = (0..steps).flat_map(by_step).collect();
        data.insert_real("v", &[steps, lanes], turned);
        Trial {
            steps,
            lanes,
            y,
            data,
        }
    }
}

/// Its text after the data, and ln p by hand at the parameters a, b, c (all ~ Normal(0, 1)) and
/// whatever follows, with the prior of these three left out.
type Case = (&'static str, &'static str, fn(&Trial, &[f64]) -> f64);

const CASES: [Case; 10] = [
    (
        "autoregression of two steps, of data",
        "m[time] = a + b * lag(y, a) + c * lag(lag(y, a), a)
         y ~ Normal(m, 1)",
        |trial, p| {
            let [a, b, c] = [p[0], p[1], p[2]];
            let y = &trial.y[0];
            let before = |t: usize, k: usize| if t < k { a } else { y[t - k] };
            let term = |t: usize| normal(y[t], a + b * before(t, 1) + c * before(t, 2), 1.0);
            (0..trial.steps).map(term).sum()
        },
    ),
    (
        "ARMA(1, 1), by target",
        "error[time] = y - (a + b * lag(y, a) + c * lag(error, 0))
         target += -error^2 / 2",
        |trial, p| {
            let (mut y, mut error, mut total) = (p[0], 0.0, 0.0);
            for &now in &trial.y[0] {
                error = now - (p[0] + p[1] * y + p[2] * error);
                y = now;
                total -= error * error / 2.0;
            }
            total
        },
    ),
    (
        "GARCH(1, 1)",
        "variance[time] = exp(a) + inv_logit(b) * lag((y - c)^2, 0.7) + 0.4 * lag(variance, 0.7)
         y ~ Normal(c, sqrt(variance))",
        |trial, p| {
            let (mut square, mut variance, mut total) = (0.7, 0.7, 0.0);
            for &y in &trial.y[0] {
                variance = p[0].exp() + square / (1.0 + (-p[1]).exp()) + 0.4 * variance;
                square = (y - p[2]).powi(2);
                total += normal(y, p[2], variance.sqrt());
            }
            total
        },
    ),
    (
        "two compartments",
        "let flow[time] = inv_logit(a) * lag(s, 10) * lag(i, 1) / 11
         let s[time] = lag(s, 10) - flow
         i[time] = lag(i, 1) + flow - 0.1 * lag(i, 1) + 0 * b
         y ~ Normal(i, exp(c))",
        |trial, p| {
            let (mut s, mut i, mut total) = (10.0, 1.0, 0.0);
            for &y in &trial.y[0] {
                let flow = s * i / 11.0 / (1.0 + (-p[0]).exp());
                (s, i) = (s - flow, i + flow - 0.1 * i);
                total += normal(y, i, p[2].exp());
            }
            total
        },
    ),
    (
        "a level of each lane",
        "level[who, time] = b * lag(level, a, axis=time) + inv_logit(c) * w
         w ~ Normal(lag(level, 0, axis=time), 1)",
        |trial, p| {
            let mut total = 0.0;
            for lane in &trial.y {
                let (mut level, mut before) = (p[0], 0.0);
                for &w in lane {
                    total += normal(w, before, 1.0);
                    level = p[1] * level + w / (1.0 + (-p[2]).exp());
                    before = level;
                }
            }
            total
        },
    ),
    (
        "steps first, and each lane with its own start",
        "start[who] ~ Normal(0, 1)
         level[time, who] = tanh(b * lag(level, start, axis=time) + a) + c * v
         v ~ Normal(level, 1)",
        |trial, p| {
            let mut total = 0.0;
            for (lane, start) in trial.y.iter().zip(&p[3..]) {
                let mut level = *start;
                total += normal(*start, 0.0, 1.0);
                for &v in lane {
                    level = (p[1] * level + p[0]).tanh() + p[2] * v;
                    total += normal(v, level, 1.0);
                }
            }
            total
        },
    ),
    (
        "a hidden path, by what is new in each step",
        "z[time] ~ Normal(0, 1)
         x[time] = tanh(b) * lag(x, a) + exp(c) * z
         y ~ Normal(x, 1)",
        |trial, p| {
            let (mut x, mut total) = (p[0], 0.0);
            for (&y, &z) in trial.y[0].iter().zip(&p[3..]) {
                x = p[1].tanh() * x + p[2].exp() * z;
                total += normal(z, 0.0, 1.0) + normal(y, x, 1.0);
            }
            total
        },
    ),
    (
        "a hidden path, given the step before",
        "x[time] ~ Normal(tanh(b) * lag(x, a), exp(c))
         y ~ Normal(x, 1)",
        |trial, p| {
            let (mut before, mut total) = (p[0], 0.0);
            for (&y, &x) in trial.y[0].iter().zip(&p[3..]) {
                total += normal(x, p[1].tanh() * before, p[2].exp()) + normal(y, x, 1.0);
                before = x;
            }
            total
        },
    ),
    (
        "hidden paths, by their means, which have steps of their own",
        "x[who, time] ~ LogNormal(mean + lag(lag(mean, b, axis=time), 0, axis=time), exp(c))
         let mean[who, time] = 0.3 * lag(mean, b, axis=time) + a * log(lag(x, 1.5, axis=time))
         w ~ Normal(x, 1)",
        |trial, p| {
            let mut total = 0.0;
            for (lane, u) in trial.y.iter().zip(p[3..].chunks(trial.steps)) {
                let (mut x, mut means) = (1.5f64, [0.0, p[1]]);
                for (t, (&w, &u)) in lane.iter().zip(u).enumerate() {
                    let mean = 0.3 * means[1] + p[0] * x.ln();
                    let earlier = if t == 0 { 0.0 } else { means[0] };
                    x = u.exp();
                    total += normal(u, mean + earlier, p[2].exp()) + normal(w, x, 1.0);
                    means = [means[1], mean];
                }
            }
            total
        },
    ),
    (
        "a hidden Markov chain of three states",
        "dim state = 3
         let centre[state, time] = [a, b, c]
         to[state, state] ~ Normal(0, 1)
         let move = softmax(to, axis=state)
         let now[state, time] = (move @ lag(p, [0.2, 0.3, 0.5], axis=time)) * exp(-(centre - y)^2 / 2)
         let all[time] = sum(now, axis=state)
         p[state, time] = now / all
         target += log(all)",
        |trial, p| {
            let to = &p[3..12];
            let mut total: f64 = to.iter().map(|x| normal(*x, 0.0, 1.0)).sum();
            let mass = |from: usize| (0..3).map(|k| to[3 * k + from].exp()).sum::<f64>();
            let ln_move = |k: usize, from: usize| to[3 * k + from] - mass(from).ln();
            // In logarithms, without dividing by the sum of each step.
            let mut ln_p = [0.2f64.ln(), 0.3f64.ln(), 0.5f64.ln()];
            for &y in &trial.y[0] {
                let before = ln_p;
                for k in 0..3 {
                    let paths = (0..3).map(|from| before[from] + ln_move(k, from));
                    let paths: Vec<f64> = paths.collect();
                    let most = paths.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
                    let sum: f64 = paths.iter().map(|x| (x - most).exp()).sum();
                    ln_p[k] = most + sum.ln() - (y - p[k]).powi(2) / 2.0;
                }
            }
            total += ln_p.iter().map(|x| x.exp()).sum::<f64>().ln();
            total
        },
    ),
];

fn model_of(case: &Case) -> String {
    let data = "data y[time], w[who, time], v[time, who]";
    let priors = "a ~ Normal(0, 1)\nb ~ Normal(0, 1)\nc ~ Normal(0, 1)";
    let unused = "let unused = 0 * (sum(y) + sum(w) + sum(v) + a + b + c)";
    format!("{data}\n{priors}\n{unused}\n{}\n", case.1)
}

#[test]
fn recurrences_have_the_density_of_a_loop_by_hand() {
    let mut rng = Rng::new(28, 0, 0, 1, Purpose::Test);
    for case in &CASES {
        for _ in 0..12 {
            let trial = Trial::new(&mut rng);
            let joint = joint(&model_of(case), &trial.data);
            let mut density = Density::new(&joint, &everywhere(&joint, &Coordinates::Centred));
            let point: Vec<f64> = (0..density.dim).map(|_| 0.6 * rng.normal()).collect();
            let by_hand = |u: &[f64]| {
                let priors: f64 = u[..3].iter().map(|x| normal(*x, 0.0, 1.0)).sum();
                priors + case.2(&trial, u)
            };
            let what = format!("{}, {} x {}", case.0, trial.lanes, trial.steps);
            let (value, gradient) = density.run(&point);
            let want = by_hand(&point);
            assert!(
                (value - want).abs() < 1e-9 * (1.0 + want.abs()),
                "{what}: {value} {want}"
            );
            let reference = density.reference(&point);
            assert!(
                (value - reference.0).abs() < 1e-10 * (1.0 + want.abs()),
                "{what}"
            );
            for (k, slope) in gradient.iter().enumerate() {
                let h = 1e-5;
                let [low, high] = [-h, h].map(|h| {
                    let mut moved = point.clone();
                    moved[k] += h;
                    by_hand(&moved)
                });
                let numeric = (high - low) / (2.0 * h);
                let near = (slope - numeric).abs() < 1e-6 * (1.0 + numeric.abs() + want.abs());
                assert!(
                    near,
                    "{what}: slope {k} is {slope}, by differences {numeric}"
                );
                let same = (slope - reference.1[k]).abs() < 1e-9 * (1.0 + slope.abs());
                assert!(same, "{what}: slope {k} {slope} {}", reference.1[k]);
            }
        }
    }
}
