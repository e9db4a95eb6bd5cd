//! The stop-signal likelihood against a table made with mpmath, and against itself: outcomes that
//! sum to 1, trials in another order, cells shared or not, rules with more nodes.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::data::Dataset;
use fitzroy::model::joint::Joint;
use fitzroy::model::{Binding, Model};
use fitzroy_device::lanes::Level;
use support::trials::{Trial, data};
use support::{Density, joint, text};

const NAMES: [&str; 11] = [
    "t0",
    "B",
    "v_plus",
    "v_minus",
    "v0",
    "g",
    "stop_mu",
    "stop_sigma",
    "stop_tau",
    "pgf",
    "ptf",
];
const TYPICAL: [f64; 11] = [
    0.15, 1.25, 3.2, 0.6, 2.6, 2.8, 0.24, 0.045, 0.025, 0.03, 0.06,
];

/// A model whose parameters are free for every trial, or (empty `dims`) common to all.
fn model(dims: &str, more: &str) -> String {
    let declared: String = NAMES
        .iter()
        .map(|n| format!("{n}{dims} ~ Flat()\n"))
        .collect();
    let given: Vec<String> = NAMES.iter().map(|n| format!("{n}={n}")).collect();
    format!(
        "data y[trials], rt[trials], ssd[trials]\n{declared}\
         y[trials] ~ StopSignal(rt, ssd, {}{more})\n",
        given.join(", ")
    )
}

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

struct Row {
    what: String,
    trial: Trial,
    lower: f64,
    deadline: f64,
    at: Vec<f64>,
    expected: Vec<f64>,
}

fn rows() -> Vec<Row> {
    let table = text("tests/golden/stop-signal/trials.csv");
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let numbers: Vec<f64> = fields[1..].iter().map(|f| number(f)).collect();
        Row {
            what: fields[0].to_string(),
            trial: (numbers[0], numbers[1], numbers[2]),
            lower: numbers[3],
            deadline: numbers[4],
            at: numbers[5..16].to_vec(),
            expected: numbers[16..].to_vec(),
        }
    };
    table.lines().skip(1).map(row).collect()
}

fn options(row: &Row, nodes: usize) -> String {
    let end = |x: f64| x.to_string();
    format!(
        ", stop_lb={}, deadline={}, nodes={nodes}",
        end(row.lower),
        end(row.deadline)
    )
}

/// Value and slopes of single trials with 48 nodes. Bounds: 1e-8 relative in the value and 1e-6 in
/// the slopes, per unit of the logarithm of a parameter; 1e-12 where no integral is needed.
///
/// Catches: t0 added to the stop time, a loser's survivor left out, the stop survivor taken from
/// t0 on, go failure left out of one of the outcomes, a clamp with the wrong side, lower bound not
/// normalised, a slope in the wrong place.
#[test]
fn trials_and_their_slopes_agree_with_high_precision() {
    for row in rows() {
        let joint = joint(&model("[trials]", &options(&row, 24)), &data(&[row.trial]));
        let found = Density::new(&joint, &[]).run(&row.at);
        let integral = row.trial.0 == 0.0 && row.trial.2.is_finite();
        let (bound, slope_bound) = if integral {
            (1e-8, 1e-6)
        } else {
            (1e-12, 1e-10)
        };
        let close = |got: f64, wanted: f64, bound: f64, scale: f64| {
            (got - wanted).abs() <= bound * (scale + wanted.abs())
        };
        let (value, wanted) = (found.0, row.expected[0]);
        assert!(
            close(value, wanted, bound, 0.0),
            "{}: {value} {wanted}",
            row.what
        );
        for (k, name) in NAMES.iter().enumerate() {
            let (got, wanted) = (found.1[k] * row.at[k], row.expected[k + 1] * row.at[k]);
            assert!(
                close(got, wanted, slope_bound, 1.0),
                "{}, {name}: {got} {wanted}",
                row.what
            );
        }
    }
}

/// The formula in plain numbers, which knows nothing of graphs and their slopes. Bound: 1e-8, of
/// the rule; 1e-12 without an integral.
#[test]
fn the_formula_in_plain_numbers_says_the_same() {
    let mut compared = 0;
    for row in rows().iter().filter(|r| r.deadline.is_infinite()) {
        let p: [f64; 11] = row.at.clone().try_into().unwrap();
        let (outcome, rt, ssd) = row.trial;
        let found = fitzroy::dist::stop_signal(outcome as u8, rt, ssd, &p, row.lower);
        let bound = if outcome == 0.0 { 1e-8 } else { 1e-12 };
        let wanted = row.expected[0];
        assert!(
            (found - wanted).abs() <= bound * wanted.abs(),
            "{}: {found} {wanted}",
            row.what
        );
        if outcome > 0.0 && ssd.is_infinite() {
            let race = fitzroy::dist::wald_race(outcome as u8, rt, [p[0], p[1], p[2], p[3]]);
            assert!((race + (-p[9]).ln_1p() - wanted).abs() < 1e-12 * wanted.abs());
        }
        compared += 1;
    }
    assert!(compared > 30);
}

/// ∫ p(response at rt) d rt + p(none) = 1 on go and stop trials, by the trapezoid rule on 40,000
/// times up to 40 s, whose error here is below 1e-9. Bound: 1e-8.
#[test]
fn probabilities_of_all_outcomes_sum_to_one() {
    for (ssd, deadline) in [
        (f64::INFINITY, f64::INFINITY),
        (0.0, f64::INFINITY),
        (0.13, f64::INFINITY),
        (0.4, f64::INFINITY),
        (0.2, 1.0),
        (f64::INFINITY, 0.9),
    ] {
        // Steps grow with time: rt = t0 + e^s.
        let n = 20_000;
        let end: f64 = if deadline.is_finite() { deadline } else { 60.0 };
        let (low, high) = ((0.002f64).ln(), (end - TYPICAL[0]).ln());
        let step = (high - low) / n as f64;
        let mut trials: Vec<Trial> = vec![(0.0, 0.0, ssd)];
        let times: Vec<f64> = (0..=n).map(|k| (low + step * k as f64).exp()).collect();
        for outcome in [1.0, 2.0] {
            trials.extend(times.iter().map(|t| (outcome, t + TYPICAL[0], ssd)));
        }
        let joint = joint(
            &model("", &format!(", deadline={deadline}, nodes=32")),
            &data(&trials),
        );
        let rows = pointwise(&joint, &TYPICAL);
        let ends = |k: usize| {
            if k == 0 || k == n {
                1.0
            } else if k % 2 == 1 {
                4.0
            } else {
                2.0
            }
        };
        let area: f64 = (0..2 * times.len())
            .map(|i| rows[1 + i].exp() * times[i % times.len()] * ends(i % times.len()))
            .sum();
        let total = rows[0].exp() + area * step / 3.0;
        // At 0.13 s into the stop time's lower bound the density has a corner in rt.
        assert!(
            (total - 1.0).abs() < 1e-8,
            "ssd {ssd}, deadline {deadline}: {total}"
        );
    }
}

/// The log likelihood of every trial, in the order of the data.
fn pointwise(joint: &Joint, at: &[f64]) -> Vec<f64> {
    Density::new(joint, &[]).likelihood(at).remove(0)
}

fn some_trials() -> Vec<Trial> {
    let inf = f64::INFINITY;
    let mut trials = vec![
        (0.0, 0.0, inf),
        (0.0, 0.0, 0.2),
        (0.0, 0.0, 0.15),
        (0.0, 0.0, inf),
    ];
    for k in 0..40 {
        let k = f64::from(k);
        trials.push((1.0, 0.3 + 0.02 * k, inf));
        trials.push((0.0, 0.0, 0.05 * (k % 7.0)));
        trials.push((1.0 + k % 2.0, 0.4 + 0.01 * k, 0.05 * (k % 9.0)));
    }
    trials
}

#[test]
fn the_sum_is_that_of_the_trials_one_by_one() {
    let trials = some_trials();
    let joint = joint(&model("", ""), &data(&trials));
    let total = Density::new(&joint, &[]).run(&TYPICAL).0;
    let rows = pointwise(&joint, &TYPICAL);
    assert!((rows.iter().sum::<f64>() - total).abs() < 1e-11 * total.abs());
    for (trial, row) in trials.iter().zip(&rows).step_by(7) {
        let alone = self::joint(&model("", ""), &data(&[*trial]));
        let alone = Density::new(&alone, &[]).run(&TYPICAL).0;
        assert!(
            (alone - row).abs() < 1e-12 * alone.abs(),
            "{trial:?}: {alone} {row}"
        );
    }
}

/// Three subjects, looked up by a column: cells are shared within a subject and never between.
#[test]
fn shared_cells_shuffled_trials_and_every_level_agree() {
    let trials: Vec<Trial> = some_trials().repeat(3);
    let n = trials.len();
    let subject: Vec<f64> = (0..n).map(|i| (i * 3 / n) as f64).collect();
    let build = |order: &[usize], own: bool| {
        let pick: Vec<Trial> = order.iter().map(|&i| trials[i]).collect();
        let mut data = data(&pick);
        data.insert_real("who", &[n], order.iter().map(|&i| subject[i]).collect());
        let declared: String = NAMES
            .iter()
            .map(|n| format!("{n}[who_is] ~ Flat()\n"))
            .collect();
        // `+ 0 * rt` makes an argument one that differs from trial to trial.
        let extra = if own { " + 0 * rt" } else { "" };
        let given: Vec<String> = NAMES
            .iter()
            .map(|n| format!("{n}={n}[who]{extra}"))
            .collect();
        joint(
            &format!(
                "data y[trials], rt[trials], ssd[trials], who[trials] in who_is\n{declared}\
                 y[trials] ~ StopSignal(rt, ssd, {})\n",
                given.join(", ")
            ),
            &data,
        )
    };
    let at: Vec<f64> = (0..33)
        .map(|k| TYPICAL[k / 3] * (1.0 + 0.05 * (k % 3) as f64))
        .collect();
    let in_order: Vec<usize> = (0..n).collect();
    let shuffled: Vec<usize> = (0..n).map(|i| i * 125 % n).collect();
    let (value, slopes) = Density::new(&build(&in_order, false), &[]).run(&at);
    for level in Level::available() {
        for (order, own) in [(&in_order, true), (&shuffled, false)] {
            let (other, other_slopes) = Density::at(level, &build(order, own), &[]).run(&at);
            assert!(
                (value - other).abs() < 1e-11 * value.abs(),
                "{value} {other}"
            );
            for (a, b) in slopes.iter().zip(&other_slopes) {
                assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()), "{a} {b}");
            }
        }
    }
}

/// 24 nodes a half against 32: the error of the rule. Bound: 1e-9 of the sum at typical values.
#[test]
fn more_nodes_change_nothing() {
    let of = |nodes: usize| {
        let joint = joint(
            &model("", &format!(", nodes={nodes}")),
            &data(&some_trials()),
        );
        Density::new(&joint, &[]).run(&TYPICAL)
    };
    let ((a, da), (b, db)) = (of(24), of(32));
    assert!((a - b).abs() < 1e-9 * a.abs(), "{a} {b}");
    for (x, y) in da.iter().zip(&db) {
        assert!((x - y).abs() < 1e-6 * (1.0 + x.abs()), "{x} {y}");
    }
}

#[test]
fn a_response_before_t0_has_no_density() {
    let joint = joint(
        &model("", ""),
        &data(&[(1.0, 0.14, f64::INFINITY), (1.0, 0.5, 0.1)]),
    );
    assert_eq!(pointwise(&joint, &TYPICAL)[0], f64::NEG_INFINITY);
}

/// ln f(winner) + ln S(loser), as the stop-signal model has it without go failure.
#[test]
fn the_race_alone_is_the_go_trial_of_the_full_model() {
    let trials = [
        (1.0, 0.5, f64::INFINITY),
        (2.0, 0.44, f64::INFINITY),
        (1.0, 1.3, f64::INFINITY),
    ];
    let race = joint(
        "data y[trials], rt[trials], ssd[trials]\nt0 ~ Flat()\nB ~ Flat()\nv_plus ~ Flat()\n\
         v_minus ~ Flat()\ny[trials] ~ WaldRace(rt, t0, B, v_plus, v_minus)\n\
         target += 0 * sum(ssd)\n",
        &{
            let mut data = data(&trials);
            data.insert_real("ssd", &[3], vec![0.0; 3]);
            data
        },
    );
    let full = joint(&model("", ""), &data(&trials));
    let mut at = TYPICAL;
    at[9] = 0.0;
    let (a, da) = Density::new(&race, &[]).run(&TYPICAL[..4]);
    let (b, db) = Density::new(&full, &[]).run(&at);
    assert!((a - b).abs() < 1e-12 * a.abs());
    da.iter()
        .zip(&db)
        .for_each(|(x, y)| assert!((x - y).abs() < 1e-11 * (1.0 + x.abs())));
}

fn refused(text: &str, data: &Dataset) -> String {
    let model = Model::parse(text).unwrap();
    let binding: fitzroy::Result<Binding> = model.bind(data);
    match binding.and_then(|b| Joint::new(&model, b)) {
        Err(e) => e.to_string(),
        Ok(_) => panic!("accepted"),
    }
}

#[test]
fn what_cannot_be_is_named_with_its_row() {
    let with = |trial: Trial| refused(&model("", ""), &data(&[(1.0, 0.5, 0.1), trial]));
    assert!(with((3.0, 0.5, 0.1)).contains("3 is no outcome"));
    let late = refused(
        &model("", ", deadline=1"),
        &data(&[(1.0, 1.2, f64::INFINITY)]),
    );
    assert!(late.contains("later than the deadline of 1 s"), "{late}");
    assert!(with((1.0, 0.0, 0.1)).contains("rt is 0"));
    assert!(with((0.0, 0.0, -0.1)).contains("ssd is -0.1"));
    let one = data(&[(1.0, 0.5, 0.1)]);
    assert!(refused(&model("", ", nodes=3"), &one).contains("`nodes` is 3"));
    assert!(refused(&model("", ", deadline=-1"), &one).contains("`deadline` is -1"));
    assert!(refused(&model("", ", stop_lb=inf"), &one).contains("`stop_lb` is inf"));
}
