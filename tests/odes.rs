//! Models with differential equations, against small steps by hand, over random sizes and points; and
//! what is said of those that cannot be solved.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::data::Dataset;
use fitzroy::diagnose::FindingKind;
use fitzroy::model::Model;
use fitzroy::model::joint::Coordinates;
use fitzroy::rng::{Purpose, Rng};
use fitzroy::run::{Caller, Settings, bind, run};
use std::f64::consts::PI;
use support::{Density, everywhere, joint};

fn normal(x: f64, m: f64, s: f64) -> f64 {
    -0.5 * ((x - m) / s).powi(2) - s.ln() - 0.5 * (2.0 * PI).ln()
}

/// Numbers of one trial.
struct Trial {
    /// The times asked for, their measurements, and times of each lane.
    t: Vec<f64>,
    y: Vec<f64>,
    lanes: usize,
    /// By lane, then by time.
    own: Vec<Vec<f64>>,
    w: Vec<Vec<f64>>,
    doses: Vec<f64>,
    dose_times: Vec<f64>,
    data: Dataset,
}

impl Trial {
    fn new(rng: &mut Rng) -> Trial {
        let n = 1 + (rng.uniform() * 12.0) as usize;
        let lanes = 1 + (rng.uniform() * 4.0) as usize;
        let times = |rng: &mut Rng, n: usize| {
            // Some times stand twice, and some at the start.
            let mut all: Vec<f64> = (0..n)
                .map(|_| (rng.uniform() * 8.0).floor() / 2.0)
                .collect();
            all.iter_mut()
                .for_each(|t| *t += if *t > 1.0 { 0.3 } else { 0.0 });
            all.sort_by(f64::total_cmp);
            all
        };
        let t = times(rng, n);
        let y: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let own: Vec<Vec<f64>> = (0..lanes).map(|_| times(rng, n)).collect();
        let w: Vec<Vec<f64>> = (0..lanes)
            .map(|_| (0..n).map(|_| rng.normal()).collect())
            .collect();
        let n_doses = 1 + (rng.uniform() * 3.0) as usize;
        let dose_times = times(rng, n_doses);
        let doses: Vec<f64> = (0..n_doses).map(|_| rng.uniform()).collect();
        let mut data = Dataset::new();
        data.insert_real("t", &[n], t.clone());
        data.insert_real("y", &[n], y.clone());
        data.insert_real("own", &[lanes, n], own.concat());
        data.insert_real("w", &[lanes, n], w.concat());
        data.insert_real("dose", &[n_doses], doses.clone());
        data.insert_real("when_dosed", &[n_doses], dose_times.clone());
        Trial {
            t,
            y,
            lanes,
            own,
            w,
            doses,
            dose_times,
            data,
        }
    }
}

/// The solution at `times`, from 0 or `from` on, by many steps of the classical method of Runge and
/// Kutta; `kicks` are times and what they add, which has happened at its very time.
fn by_hand(
    rate: &dyn Fn(f64, &[f64]) -> Vec<f64>,
    start: &[f64],
    from: f64,
    times: &[f64],
    kicks: &[(f64, Vec<f64>)],
) -> Vec<Vec<f64>> {
    let (mut y, mut t, mut kicked) = (start.to_vec(), from, 0);
    let mut out = Vec::new();
    let go = |y: &mut Vec<f64>, t: &mut f64, to: f64| {
        let steps = ((to - *t) * 400.0).ceil().max(0.0) as usize;
        let h = (to - *t) / steps.max(1) as f64;
        let plus = |y: &[f64], k: &[f64], h: f64| -> Vec<f64> {
            y.iter().zip(k).map(|(y, k)| y + h * k).collect()
        };
        for _ in 0..steps {
            let a = rate(*t, y);
            let b = rate(*t + h / 2.0, &plus(y, &a, h / 2.0));
            let c = rate(*t + h / 2.0, &plus(y, &b, h / 2.0));
            let d = rate(*t + h, &plus(y, &c, h));
            for (i, y) in y.iter_mut().enumerate() {
                *y += h / 6.0 * (a[i] + 2.0 * b[i] + 2.0 * c[i] + d[i]);
            }
            *t += h;
        }
        *t = to;
    };
    for &asked in times {
        while kicked < kicks.len() && kicks[kicked].0 <= asked {
            go(&mut y, &mut t, kicks[kicked].0);
            y.iter_mut()
                .zip(&kicks[kicked].1)
                .for_each(|(y, by)| *y += by);
            kicked += 1;
        }
        go(&mut y, &mut t, asked);
        out.push(y.clone());
    }
    out
}

/// What it is, its text after the data, and ln p by hand at the parameters a, b, c and whatever
/// follows, all ~ Normal(0, 1), with the priors of the first three left out.
type Case = (&'static str, &'static str, fn(&Trial, &[f64]) -> f64);

const CASES: [Case; 9] = [
    (
        "hunters and hunted",
        "let hunted[time] = solve((0.9 + 0.2 * a - 0.5 * hunters) * hunted, exp(0.3 * b), t, OPTIONS)
         hunters[time] = solve(hunters * (0.4 * hunted - 0.6), exp(0.2 * c), t, OPTIONS)
         y ~ Normal(hunters - hunted, 1)",
        |trial, p| {
            let rate = |_: f64, y: &[f64]| {
                vec![
                    (0.9 + 0.2 * p[0] - 0.5 * y[1]) * y[0],
                    y[1] * (0.4 * y[0] - 0.6),
                ]
            };
            let start = [(0.3 * p[1]).exp(), (0.2 * p[2]).exp()];
            let found = by_hand(&rate, &start, 0.0, &trial.t, &[]);
            let terms = found.iter().zip(&trial.y);
            terms.map(|(x, y)| normal(*y, x[1] - x[0], 1.0)).sum()
        },
    ),
    (
        "a vector, by a matrix of parameters",
        "dim part = 3
         A[part, part] ~ Normal(0, 1)
         x[time, part] = solve(A @ x - x^3 / 3, [a, b, c], t, OPTIONS)
         y ~ Normal(x[:, 0] + x[:, 2], 1)",
        |trial, p| {
            let rate = |_: f64, y: &[f64]| {
                let row = |i: usize| (0..3).map(|j| p[3 + 3 * i + j] * y[j]).sum::<f64>();
                (0..3).map(|i| row(i) - y[i].powi(3) / 3.0).collect()
            };
            let found = by_hand(&rate, &p[..3], 0.0, &trial.t, &[]);
            let priors: f64 = p[3..].iter().map(|x| normal(*x, 0.0, 1.0)).sum();
            let terms = found.iter().zip(&trial.y);
            priors + terms.map(|(x, y)| normal(*y, x[0] + x[2], 1.0)).sum::<f64>()
        },
    ),
    (
        "lanes with starts and speeds of their own",
        "start[who] ~ Normal(0, 1)
         x[who, time] = solve(-exp(0.3 * start) * x + sin(a * t + b), start + c, t, OPTIONS)
         w ~ Normal(x, 1)",
        |trial, p| {
            let lane = |lane: usize| {
                let start = p[3 + lane];
                let rate = |t: f64, y: &[f64]| {
                    vec![-(0.3 * start).exp() * y[0] + (p[0] * t + p[1]).sin()]
                };
                let found = by_hand(&rate, &[start + p[2]], 0.0, &trial.t, &[]);
                let terms = found.iter().zip(&trial.w[lane]);
                normal(start, 0.0, 1.0) + terms.map(|(x, w)| normal(*w, x[0], 1.0)).sum::<f64>()
            };
            (0..trial.lanes).map(lane).sum()
        },
    ),
    (
        "lanes with times of their own, and a vector in each",
        "dim part = 2
         let push[part] = [b, c]
         x[part, who, time] = solve(push * cos(own) - x * sum(x, axis=part)^2, a, own, OPTIONS)
         w ~ Normal(sum(x, axis=part), 1)",
        |trial, p| {
            let lane = |lane: usize| {
                let rate = |t: f64, y: &[f64]| {
                    let by = (y[0] + y[1]).powi(2);
                    vec![p[1] * t.cos() - y[0] * by, p[2] * t.cos() - y[1] * by]
                };
                let start = [p[0].abs(), p[0].abs()];
                let found = by_hand(&rate, &start, 0.0, &trial.own[lane], &[]);
                let terms = found.iter().zip(&trial.w[lane]);
                terms.map(|(x, w)| normal(*w, x[0] + x[1], 1.0)).sum::<f64>()
            };
            (0..trial.lanes).map(lane).sum()
        },
    ),
    (
        "doses into a gut, blood, and what blood saw so far",
        "let flow[time] = exp(0.3 * a) * gut
         let gut[time] = solve(-flow, 0.5, t, add=exp(c) * dose, when=when_dosed, OPTIONS)
         blood[time] = solve(flow - blood * exp(b) / (1 + blood), 0, t, OPTIONS)
         seen[time] = solve(blood, 0, t, OPTIONS)
         y ~ Normal(blood + seen - flow, 1)",
        |trial, p| {
            let flow = |y: &[f64]| (0.3 * p[0]).exp() * y[0];
            let rate = |_: f64, y: &[f64]| {
                vec![
                    -flow(y),
                    flow(y) - y[1] * p[1].exp() / (1.0 + y[1]),
                    y[1],
                ]
            };
            let kicks: Vec<(f64, Vec<f64>)> = (trial.dose_times.iter().zip(&trial.doses))
                .map(|(&t, dose)| (t, vec![p[2].exp() * dose, 0.0, 0.0]))
                .collect();
            let found = by_hand(&rate, &[0.5, 0.0, 0.0], 0.0, &trial.t, &kicks);
            let terms = found.iter().zip(&trial.y);
            terms.map(|(x, y)| normal(*y, x[1] + x[2] - flow(x), 1.0)).sum()
        },
    ),
    (
        "doses to each lane",
        "x[who, time] = solve(-exp(0.2 * b) * x, a, t, add=c * dose, when=when_dosed, OPTIONS)
         w ~ Normal(x, 1)",
        |trial, p| {
            let rate = |_: f64, y: &[f64]| vec![-(0.2 * p[1]).exp() * y[0]];
            let kicks: Vec<(f64, Vec<f64>)> = (trial.dose_times.iter().zip(&trial.doses))
                .map(|(&t, dose)| (t, vec![p[2] * dose]))
                .collect();
            let found = by_hand(&rate, &[p[0]], 0.0, &trial.t, &kicks);
            let lane = |w: &Vec<f64>| {
                let terms = found.iter().zip(w);
                terms.map(|(x, w)| normal(*w, x[0], 1.0)).sum::<f64>()
            };
            trial.w.iter().map(lane).sum()
        },
    ),
    (
        "a start before the first time, and a rate of the time alone",
        "x[time] = solve(cos(b * t) * c, a, t, from=-1.5, OPTIONS)
         y ~ Normal(x, 1)",
        |trial, p| {
            let rate = |t: f64, _: &[f64]| vec![(p[1] * t).cos() * p[2]];
            let found = by_hand(&rate, &[p[0]], -1.5, &trial.t, &[]);
            let terms = found.iter().zip(&trial.y);
            terms.map(|(x, y)| normal(*y, x[0], 1.0)).sum()
        },
    ),
    (
        "a chemistry of very different speeds",
        "let fast[time] = solve_stiff(-80 * fast + 60 * exp(0.2 * a) * slow, 1, t, OPTIONS)
         slow[time] = solve_stiff(fast - slow * exp(0.2 * b) + sin(c * t), 0.5, t, OPTIONS)
         y ~ Normal(slow + fast, 1)",
        |trial, p| {
            let rate = |t: f64, y: &[f64]| {
                vec![
                    -80.0 * y[0] + 60.0 * (0.2 * p[0]).exp() * y[1],
                    y[0] - y[1] * (0.2 * p[1]).exp() + (p[2] * t).sin(),
                ]
            };
            let found = by_hand(&rate, &[1.0, 0.5], 0.0, &trial.t, &[]);
            let terms = found.iter().zip(&trial.y);
            terms.map(|(x, y)| normal(*y, x[0] + x[1], 1.0)).sum()
        },
    ),
    (
        "an oscillator whose speed jumps, stiffly, and by a look-up",
        "data kind[part] in kinds
         dim part = 2
         push[kinds] ~ Normal(0, 1)
         x[part, time] = solve_stiff(push[kind] - x^3 + [a, b] * sum(x, axis=part), c, t, OPTIONS)
         y ~ Normal(sum(x, axis=part), 1)",
        |trial, p| {
            let push = &p[3..5];
            let rate = |_: f64, y: &[f64]| {
                let sum = y[0] + y[1];
                vec![
                    push[1] - y[0].powi(3) + p[0] * sum,
                    push[0] - y[1].powi(3) + p[1] * sum,
                ]
            };
            let found = by_hand(&rate, &[p[2], p[2]], 0.0, &trial.t, &[]);
            let priors: f64 = push.iter().map(|x| normal(*x, 0.0, 1.0)).sum();
            let terms = found.iter().zip(&trial.y);
            priors + terms.map(|(x, y)| normal(*y, x[0] + x[1], 1.0)).sum::<f64>()
        },
    ),
];

fn model_of(case: &Case, options: &str) -> String {
    let data =
        "data t[time], y[time], own[who, time], w[who, time], dose[doses], when_dosed[doses]";
    let priors = "a ~ Normal(0, 1)\nb ~ Normal(0, 1)\nc ~ Normal(0, 1)";
    let unused = "let unused = 0 * (sum(t) + sum(y) + sum(own) + sum(w) + sum(dose) \
                  + sum(when_dosed) + a + b + c)";
    let text = case.1.replace("OPTIONS", options);
    format!("{data}\n{priors}\n{unused}\n{text}\n")
}

#[test]
fn solutions_have_the_density_of_small_steps_by_hand() {
    let mut rng = Rng::new(29, 0, 0, 1, Purpose::Test);
    for case in &CASES {
        for _ in 0..10 {
            let mut trial = Trial::new(&mut rng);
            trial.data.insert_real("kind", &[2], vec![1.0, 0.0]);
            let joint = joint(&model_of(case, "rtol=1e-10, atol=1e-11"), &trial.data);
            let mut density = Density::new(&joint, &everywhere(&joint, &Coordinates::Centred));
            let point: Vec<f64> = (0..density.dim).map(|_| 0.6 * rng.normal()).collect();
            let point: Vec<f64> = point.iter().map(|x| x.abs()).collect();
            let by_hand = |u: &[f64]| {
                let priors: f64 = u[..3].iter().map(|x| normal(*x, 0.0, 1.0)).sum();
                priors + case.2(&trial, u)
            };
            let what = format!("{}, {} lanes, {:?}", case.0, trial.lanes, trial.t);
            let (value, gradient) = density.run(&point);
            let want = by_hand(&point);
            assert!(
                (value - want).abs() < 1e-7 * (1.0 + want.abs()),
                "{what}: {value} {want}"
            );
            let reference = density.reference(&point);
            assert!(
                (value - reference.0).abs() < 1e-9 * (1.0 + want.abs()),
                "{what}"
            );
            for (k, slope) in gradient.iter().enumerate() {
                let h = 1e-4;
                let [low, high] = [-h, h].map(|h| {
                    let mut moved = point.clone();
                    moved[k] += h;
                    by_hand(&moved)
                });
                let numeric = (high - low) / (2.0 * h);
                let near = (slope - numeric).abs() < 1e-5 * (1.0 + numeric.abs() + want.abs());
                assert!(
                    near,
                    "{what}: slope {k} is {slope}, by differences {numeric}"
                );
                let same = (slope - reference.1[k]).abs() < 1e-8 * (1.0 + slope.abs());
                assert!(same, "{what}: slope {k} {slope} {}", reference.1[k]);
            }
        }
    }
}

/// A solution that needs more steps than are allowed, or that runs away, has no density; before and
/// after that point it has.
#[test]
fn what_cannot_be_solved_has_no_density() {
    let mut data = Dataset::new();
    data.insert_real("t", &[2], vec![0.5, 2.0]);
    let text = "data t[time]\na ~ Normal(0, 1)\nx[time] = solve(x^2, exp(a), t)\ntarget += -x";
    let joint = joint(text, &data);
    let mut density = Density::new(&joint, &everywhere(&joint, &Coordinates::Centred));
    // x = 1/(1/x₀ − t), which has no value at 2 if x₀ ≥ ½.
    let (value, slope) = density.run(&[-1.0]);
    assert!(value.is_finite() && slope[0].is_finite());
    for a in [-0.6, 0.0, 1.0, 700.0] {
        let (value, _) = density.run(&[a]);
        assert!(!(value > f64::NEG_INFINITY), "{a}: {value}");
    }
    let (value, _) = density.run(&[-1.0]);
    assert!(
        value.is_finite(),
        "the failure before leaves nothing behind"
    );
}

/// Catches: a posterior that ends where solutions need more steps than are allowed, and nobody says so.
#[test]
fn solutions_that_come_close_to_the_limit_of_steps_are_told() {
    let mut data = Dataset::new();
    data.insert_real("t", &[3], vec![1.0, 2.0, 3.0]);
    for (steps, is_told) in [(25, true), (10_000, false)] {
        let text = format!(
            "data t[time]\nk ~ LogNormal(1, 1)\nx[time] = solve(-k * (x - sin(t)), 1, t, steps={steps})\n\
             target += 0 * x"
        );
        let mut settings = Settings::default();
        settings.sampler.chains = 2;
        settings.sampler.tune = 300;
        settings.sampler.draws = 600;
        let model = Model::parse(&text).unwrap();
        let joint = bind(&model, &data, &settings).unwrap();
        let outcome = run(&joint, &settings, &Caller::silent()).unwrap();
        let told = outcome.findings.iter();
        let told: Vec<String> = told
            .filter(|f| f.kind == FindingKind::SolutionsCut)
            .map(|f| f.fact.clone())
            .collect();
        assert_eq!(!told.is_empty(), is_told, "{steps}: {told:?}");
    }
}
