//! The ex-Gaussian race of a stop-signal task against a table made with mpmath, differences, and
//! itself: outcomes that sum to 1, at random parameters.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::data::Dataset;
use fitzroy::model::Model;
use fitzroy::model::joint::Joint;
use fitzroy::rng::{Purpose, Rng};
use support::trials::{Trial, data};
use support::{Density, joint, text};

const NAMES: [&str; 11] = [
    "go_mu",
    "go_sigma",
    "go_tau",
    "stop_mu",
    "stop_sigma",
    "stop_tau",
    "pgf",
    "ptf",
    "error_mu",
    "error_sigma",
    "error_tau",
];
const TYPICAL: [f64; 11] = [
    0.42, 0.07, 0.12, 0.22, 0.04, 0.03, 0.03, 0.06, 0.6, 0.15, 0.25,
];

/// A model of `runners` go runners whose parameters are free for every trial, or common to all.
fn model(runners: usize, dims: &str, more: &str) -> String {
    let names = &NAMES[..5 + 3 * runners];
    let declared = names.iter().map(|n| format!("{n}{dims} ~ Flat()\n"));
    let declared: String = declared.collect();
    let given: Vec<String> = names.iter().map(|n| format!("{n}={n}")).collect();
    format!(
        "data y[trials], rt[trials], ssd[trials]\n{declared}\
         y[trials] ~ StopSignalExGaussian(rt, ssd, {}{more})\n",
        given.join(", ")
    )
}

struct Row {
    what: String,
    trial: Trial,
    /// Lower ends of stop and go times, deadline.
    ends: [f64; 3],
    at: Vec<f64>,
    value: f64,
    slopes: Vec<f64>,
}

impl Row {
    fn runners(&self) -> usize {
        (self.at.len() - 5) / 3
    }

    fn joint(&self) -> Joint {
        let [stop_lb, go_lb, deadline] = self.ends;
        let more = format!(", stop_lb={stop_lb}, go_lb={go_lb}, deadline={deadline}");
        joint(
            &model(self.runners(), "[trials]", &more),
            &data(&[self.trial]),
        )
    }

    fn has_integral(&self) -> bool {
        self.trial.0 == 0.0 && self.trial.2.is_finite()
    }
}

fn rows() -> Vec<Row> {
    let table = text("tests/golden/stop-signal/ex_gaussian.csv");
    let row = |line: &str| {
        let (what, rest) = line.split_once(',').unwrap();
        let x: Vec<f64> = rest.split(',').map(|f| f.parse().unwrap()).collect();
        let n = if x[14].is_finite() { 11 } else { 8 };
        Row {
            what: what.into(),
            trial: (x[0], x[1], x[2]),
            ends: [x[3], x[4], x[5]],
            at: x[6..6 + n].to_vec(),
            value: x[17],
            slopes: x[18..18 + n].to_vec(),
        }
    };
    table.lines().skip(1).map(row).collect()
}

fn close(got: f64, wanted: f64, bound: f64, scale: f64) -> bool {
    (got - wanted).abs() <= bound * (scale + wanted.abs())
}

/// Value and slopes of single trials. Bounds: 1e-8 relative in the value and 1e-6 in the slopes, per
/// unit of the logarithm of a parameter, of the rule; 1e-12 and 1e-10 where no integral is needed.
///
/// Catches: a loser's survivor left out, go times not normalised above their lower end, a runner that
/// the integral leaves out, go failure left out of an outcome, a slope in the wrong place.
#[test]
fn trials_and_their_slopes_agree_with_high_precision() {
    for row in rows() {
        let (value, slopes) = Density::new(&row.joint(), &[]).run(&row.at);
        let (bound, slope_bound) = if row.has_integral() {
            (1e-8, 1e-6)
        } else {
            (1e-12, 1e-10)
        };
        let what = &row.what;
        assert!(
            close(value, row.value, bound, 0.0),
            "{what}: {value} {}",
            row.value
        );
        for (k, x) in row.at.iter().enumerate() {
            let (got, wanted) = (slopes[k] * x, row.slopes[k] * x);
            assert!(
                close(got, wanted, slope_bound, 1.0),
                "{what}, {}: {got} {wanted}",
                NAMES[k]
            );
        }
    }
}

/// The formula in plain numbers, which knows nothing of graphs and their slopes.
#[test]
fn the_formula_in_plain_numbers_says_the_same() {
    let mut compared = 0;
    for row in rows().iter().filter(|r| r.ends[2].is_infinite()) {
        let x = &row.at;
        let of = |k: usize| [x[k], x[k + 1], x[k + 2]];
        let mut go = vec![of(0)];
        go.extend((row.runners() == 2).then(|| of(8)));
        let (outcome, rt, ssd) = row.trial;
        let rest = [x[3], x[4], x[5], x[6], x[7]];
        let ends = [row.ends[0], row.ends[1]];
        let found = fitzroy::dist::stop_signal_ex_gaussian(outcome as u8, rt, ssd, &go, rest, ends);
        let bound = if outcome == 0.0 { 1e-8 } else { 1e-12 };
        assert!(
            close(found, row.value, bound, 0.0),
            "{}: {found} {}",
            row.what,
            row.value
        );
        compared += 1;
    }
    assert!(compared > 25);
}

/// Parameters of children as they may be.
fn random(rng: &mut Rng, runners: usize) -> Vec<f64> {
    let mut between = |a: f64, b: f64| (a.ln() + (b / a).ln() * rng.uniform()).exp();
    let mut at = vec![
        between(0.3, 0.6),
        between(0.03, 0.12),
        between(0.05, 0.3),
        between(0.15, 0.3),
        between(0.02, 0.1),
        between(0.01, 0.08),
        between(0.005, 0.2),
        between(0.01, 0.4),
    ];
    if runners == 2 {
        at.extend([between(0.3, 0.9), between(0.03, 0.2), between(0.05, 0.4)]);
    }
    at
}

/// The log likelihood of every trial, in the order of the data.
fn pointwise(joint: &Joint, at: &[f64]) -> Vec<f64> {
    Density::new(joint, &[]).likelihood(at).remove(0)
}

/// ∫ p(response at rt) d rt + p(none) = 1 by Simpson's rule on 6,000 times, on both sides of the
/// corner where the stop process begins. Bound: 1e-8.
#[test]
fn probabilities_of_all_outcomes_sum_to_one() {
    let mut rng = Rng::new(11, 0, 0, 0, Purpose::Test);
    for case in 0..40 {
        let runners = 1 + case % 2;
        let at = random(&mut rng, runners);
        let ssd = match case % 5 {
            0 => f64::INFINITY,
            _ => 0.6 * rng.uniform(),
        };
        let deadline = match case % 3 {
            0 => 0.7 + rng.uniform(),
            _ => f64::INFINITY,
        };
        let end = if deadline.is_finite() { deadline } else { 14.0 };
        let corner = (ssd + 0.05).min(0.5 * (0.05 + end));
        let pieces = [
            (0.05, corner),
            (corner, 1.0f64.clamp(corner, end)),
            (1.0f64.clamp(corner, end), end),
        ];
        let n = 2000;
        let (mut trials, mut weights) = (vec![(0.0, 0.0, ssd)], vec![1.0]);
        for (low, high) in pieces {
            let step = (high - low) / f64::from(n);
            for k in 0..=n {
                let simpson = match k {
                    0 => 1.0,
                    k if k == n => 1.0,
                    k if k % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                // The density of the first moment is that just after it.
                let rt = (low + step * f64::from(k)).max(0.05 + 1e-12);
                for outcome in 1..=runners {
                    trials.push((outcome as f64, rt.min(end), ssd));
                    weights.push(simpson * step / 3.0);
                }
            }
        }
        let more = format!(", deadline={deadline}");
        let rows = pointwise(&joint(&model(runners, "", &more), &data(&trials)), &at);
        let total: f64 = rows.iter().zip(&weights).map(|(l, w)| w * l.exp()).sum();
        assert!(
            (total - 1.0).abs() < 1e-8,
            "ssd {ssd}, deadline {deadline}, {at:?}: {total}"
        );
    }
}

/// Slopes of the sum over trials of all kinds against central differences. Bound: 1e-6 relative, of
/// the differences.
#[test]
fn slopes_are_those_of_differences() {
    let mut rng = Rng::new(12, 0, 0, 0, Purpose::Test);
    for case in 0..30 {
        let runners = 1 + case % 2;
        let at = random(&mut rng, runners);
        let trials: Vec<Trial> = (0..60)
            .map(|k| {
                let outcome = (k % (runners + 2)) % (runners + 1);
                let ssd = match k % 3 {
                    0 => f64::INFINITY,
                    _ => 0.05 * f64::from(k as u32 % 11),
                };
                (outcome as f64, 0.2 + 0.65 * rng.uniform(), ssd)
            })
            .collect();
        let more = if case % 3 == 0 { ", deadline=0.9" } else { "" };
        let density = Density::new(&joint(&model(runners, "", more), &data(&trials)), &[]);
        let mut density = density;
        let slopes = density.run(&at).1;
        for k in 0..at.len() {
            let h = 1e-5 * at[k];
            let mut value = |by: f64| {
                let mut moved = at.clone();
                moved[k] += by;
                density.run(&moved).0
            };
            // To the fourth order.
            let (near, far) = (value(h) - value(-h), value(2.0 * h) - value(-2.0 * h));
            let wanted = (8.0 * near - far) / (12.0 * h);
            assert!(
                close(slopes[k] * at[k], wanted * at[k], 1e-6, 1.0),
                "{}: {} {wanted}",
                NAMES[k],
                slopes[k]
            );
        }
    }
}

/// Far from all data values and slopes stay finite, so that a chain finds its way back.
#[test]
fn trials_far_from_the_runners_have_finite_slopes() {
    let trials = [(1.0, 1.9, f64::INFINITY), (2.0, 0.16, 0.1), (0.0, 0.0, 0.3)];
    let mut density = Density::new(&joint(&model(2, "", ""), &data(&trials)), &[]);
    for (mu, sigma, tau) in [(0.3, 0.005, 0.004), (1.5, 0.01, 0.01), (0.1, 0.9, 0.0005)] {
        let mut at = TYPICAL;
        (at[0], at[1], at[2]) = (mu, sigma, tau);
        (at[8], at[9], at[10]) = (mu, sigma, tau);
        let (value, slopes) = density.run(&at);
        assert!(value.is_finite(), "{mu} {sigma} {tau}: {value}");
        assert!(slopes.iter().all(|s| s.is_finite()), "{slopes:?}");
    }
}

fn refused(text: &str, data: &Dataset) -> String {
    let model = Model::parse(text).unwrap();
    match model.bind(data).and_then(|b| Joint::new(&model, b)) {
        Err(e) => e.to_string(),
        Ok(_) => panic!("accepted"),
    }
}

#[test]
fn what_cannot_be_is_named_with_its_row() {
    let two = data(&[(1.0, 0.5, 0.1), (2.0, 0.5, 0.1)]);
    assert!(refused(&model(1, "", ""), &two).contains("needs a runner"));
    let one = data(&[(1.0, 0.5, 0.1)]);
    assert!(refused(&model(1, "", ", error_mu=0.6"), &one).contains("or none of them"));
    assert!(refused(&model(2, "", ", go_lb=-1"), &one).contains("`go_lb` is -1"));
    assert!(refused(&model(2, "", ", nodes=3"), &one).contains("`nodes` is 3"));
    let early = joint(&model(2, "", ", go_lb=0.2"), &data(&[(1.0, 0.15, 0.1)]));
    assert_eq!(pointwise(&early, &TYPICAL)[0], f64::NEG_INFINITY);
}
