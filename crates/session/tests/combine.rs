//! Blocks of subjects combined, against a Gibbs sampler that sees all subjects at once.
//!
//! Every level of the model is normal here, with normal errors in place of trials, so that both the
//! fits of blocks and the fit of the whole can be drawn by hand.
#![allow(clippy::unwrap_used)]

use fitzroy::diagnose::{mean, sd};
use fitzroy::draws::{Column, Group, Labels, Trace, Variable};
use fitzroy::fit::sample::Settings;
use fitzroy::rng::{Purpose, Rng};
use fitzroy_session::clock::Clock;
use fitzroy_session::face::silent;
use fitzroy_session::stop_signal::{Combined, Combining, combine};
use fitzroy_stop_signal::check::State;
use fitzroy_stop_signal::combine::{Block, Level, apart, join, levels};
use fitzroy_stop_signal::model::{Kind, Spec};
use fitzroy_stop_signal::priors::Prior;
use std::sync::atomic::AtomicBool;

const CHAINS: usize = 4;
const DRAWS: usize = 1000;

/// What is known of one subject in one level: an observation and its error.
type Seen = (f64, f64);

/// Draws of mean, spread and subjects of one level, all chains one after the other.
struct Drawn {
    centre: Vec<f64>,
    spread: Vec<f64>,
    subjects: Vec<Vec<f64>>,
}

/// The prior of a level on its own scale: mean and sd of the centre, scale of the spread.
fn prior(level: &Level, p: &Prior) -> (f64, f64, f64) {
    let m = if level.subject.starts_with("log_") {
        p.m.ln()
    } else {
        p.m
    };
    (m, p.s, p.h)
}

fn gibbs(seen: &[Seen], (m0, s0, h): (f64, f64, f64), rng: &mut Rng) -> Drawn {
    let n = seen.len();
    let mut out = Drawn {
        centre: Vec::new(),
        spread: Vec::new(),
        subjects: vec![Vec::new(); n],
    };
    let (mut m, mut s) = (m0, 0.7 * h);
    let mut theta: Vec<f64> = seen.iter().map(|x| x.0).collect();
    for draw in 0..CHAINS * DRAWS + 300 {
        for _ in 0..3 {
            for (t, (x, e)) in theta.iter_mut().zip(seen) {
                let precision = 1.0 / (e * e) + 1.0 / (s * s);
                let centre = (x / (e * e) + m / (s * s)) / precision;
                *t = centre + rng.normal() / precision.sqrt();
            }
            let precision = 1.0 / (s0 * s0) + n as f64 / (s * s);
            let centre = (m0 / (s0 * s0) + theta.iter().sum::<f64>() / (s * s)) / precision;
            m = centre + rng.normal() / precision.sqrt();
            let squares: f64 = theta.iter().map(|t| (t - m) * (t - m)).sum();
            let density =
                |s: f64| -(n as f64 - 1.0) * s.ln() - 0.5 * (squares / (s * s) + s * s / (h * h));
            for _ in 0..4 {
                let new = s * (0.4 * rng.normal()).exp();
                if rng.uniform().ln() < density(new) - density(s) {
                    s = new;
                }
            }
        }
        if draw >= 300 {
            out.centre.push(m);
            out.spread.push(s);
            out.subjects
                .iter_mut()
                .zip(&theta)
                .for_each(|(all, t)| all.push(*t));
        }
    }
    out
}

/// The trace that the fit of a block would leave.
fn trace(levels: &[Level], drawn: &[Drawn], names: &[String]) -> Trace {
    let mut group = Group {
        name: "posterior".into(),
        ..Group::default()
    };
    let mut add = |name: &str, values: Vec<f64>, subjects: bool| {
        let (mut dims, mut shape) = (vec!["chain".to_owned(), "draw".into()], vec![CHAINS, DRAWS]);
        if subjects {
            dims.push("subject".into());
            shape.push(names.len());
        }
        let values = Column::Real(values);
        let name = name.into();
        group.variables.push(Variable {
            name,
            dims,
            shape,
            values,
        });
    };
    for (level, d) in levels.iter().zip(drawn) {
        if !d.centre.is_empty() {
            add(&level.centre, d.centre.clone(), false);
            add(&level.spread, d.spread.clone(), false);
        }
        let by_draw = (0..CHAINS * DRAWS).flat_map(|t| d.subjects.iter().map(move |s| s[t]));
        add(&level.subject, by_draw.collect(), true);
    }
    let mut out = Trace::default();
    out.groups.push(group);
    out.coords
        .insert("subject".into(), Labels::Text(names.to_vec()));
    out
}

/// A study of `k` blocks of `n` subjects: what is known of each, level by level.
fn study(rng: &mut Rng, levels: &[Level], k: usize, n: usize, spec: &Spec) -> Vec<Vec<Seen>> {
    let one = |(level, p): (&Level, &Prior)| {
        let (m, s, h) = prior(level, p);
        // Far from the prior, so that it shows how often that counts.
        let (centre, spread) = (m + 1.5 * s, 0.7 * h);
        let each = (0..k * n).map(|_| {
            // From hardly anything to nearly everything.
            let error = spread * (0.3 + 1.4 * rng.uniform());
            let theta = centre + spread * rng.normal();
            (theta + error * rng.normal(), error)
        });
        each.collect()
    };
    levels.iter().zip(&spec.priors).map(one).collect()
}

fn combined(blocks: Vec<Block>, seed: u64) -> Combined {
    let how = Combining {
        sampler: Settings {
            chains: CHAINS,
            tune: 200,
            draws: 300,
            threads: 2,
            seed,
            ..Settings::default()
        },
        face: silent(),
        stop: &AtomicBool::new(false),
        clock: Clock::start(),
    };
    combine(&join(blocks).unwrap(), how).unwrap().unwrap()
}

/// Blocks of a study, and the whole, drawn by hand; their combination.
fn compared(seed: u64, n_blocks: usize, n: usize, points: usize) -> (Combined, Vec<Drawn>) {
    let mut rng = Rng::new(seed, 0, 0, 0, Purpose::Test);
    let (levels, spec) = (levels(Kind::Rdex, ""), Spec::default());
    let seen = study(&mut rng, &levels, n_blocks, n, &spec);
    let mut draw = |from: usize, to: usize| -> Vec<Drawn> {
        let all = levels.iter().zip(&spec.priors).zip(&seen);
        all.map(|((l, p), s)| gibbs(&s[from..to], prior(l, p), &mut rng))
            .collect()
    };
    let blocks = (0..n_blocks).map(|b| {
        let names: Vec<String> = (0..n).map(|i| format!("s{}", b * n + i)).collect();
        let drawn = draw(b * n, (b + 1) * n);
        let name = format!("block-{b}");
        let left = trace(&levels, &drawn, &names);
        Block::new(&name, &spec.text(), None, &left, points).unwrap()
    });
    let blocks: Vec<Block> = blocks.collect();
    let whole = draw(0, n_blocks * n);
    (combined(blocks, seed), whole)
}

/// Draws of subjects of a level whose population is known.
fn known(seen: &[Seen], (m, s): (f64, f64), rng: &mut Rng) -> Drawn {
    let mut one = |(x, e): &Seen| {
        let precision = 1.0 / (e * e) + 1.0 / (s * s);
        let centre = (x / (e * e) + m / (s * s)) / precision;
        let draws = (0..CHAINS * DRAWS).map(|_| centre + rng.normal() / precision.sqrt());
        draws.collect()
    };
    Drawn {
        centre: Vec::new(),
        spread: Vec::new(),
        subjects: seen.iter().map(&mut one).collect(),
    }
}

/// Root mean squares over all numbers of the population: differences of means in posterior standard
/// deviations, and ln of ratios of those. With a table of all.
fn differences(found: &Combined, whole: &[Drawn]) -> (f64, f64, String) {
    let posterior = found.fit.trace.group("posterior").unwrap();
    let (mut shift, mut ratio, mut count) = (0.0, 0.0, 0.0);
    let mut table = String::new();
    for (level, drawn) in levels(Kind::Rdex, "").iter().zip(whole) {
        for (name, draws) in [
            (&level.centre, &drawn.centre),
            (&level.spread, &drawn.spread),
        ] {
            let ours = posterior.variable(name).unwrap().element(0).concat();
            let z = (mean(&ours) - mean(draws)) / sd(draws);
            let log = (sd(&ours) / sd(draws)).ln();
            table += &format!("{name:20} {z:6.2} {:.2}\n", log.exp());
            (shift, ratio, count) = (shift + z * z, ratio + log * log, count + 1.0);
        }
    }
    ((shift / count).sqrt(), (ratio / count).sqrt(), table)
}

/// Subjects apart under the population of a third of them, which itself is not used again. Catches: an
/// interim density that is not divided by, or that of another level.
#[test]
fn subjects_that_were_apart_agree_with_a_fit_of_the_whole() {
    const EACH: usize = 20;
    let mut rng = Rng::new(7, 0, 0, 0, Purpose::Test);
    let spec = Spec::default();
    let levels = levels(Kind::Rdex, "");
    let seen = study(&mut rng, &levels, 3, EACH, &spec);
    let names = |b: usize| -> Vec<String> { (0..EACH).map(|i| format!("s{b}.{i}")).collect() };
    let all = || levels.iter().zip(&spec.priors).zip(&seen);
    let pilot: Vec<Drawn> = all()
        .map(|((l, p), s)| gibbs(&s[..EACH], prior(l, p), &mut rng))
        .collect();
    let whole: Vec<Drawn> = all()
        .map(|((l, p), s)| gibbs(s, prior(l, p), &mut rng))
        .collect();
    let pilot = trace(&levels, &pilot, &names(0));
    let interim = apart(&spec, "pilot", &spec.text(), &pilot).unwrap();
    let blocks = (0..3).map(|b| {
        let part = b * EACH..(b + 1) * EACH;
        let drawn = levels.iter().zip(&interim.priors).zip(&seen);
        let drawn: Vec<Drawn> = drawn
            .map(|((l, p), s)| {
                let (m, _, h) = prior(l, p);
                known(&s[part.clone()], (m, h), &mut rng)
            })
            .collect();
        let left = trace(&levels, &drawn, &names(b));
        let population = interim.population.as_deref();
        Block::new(
            &format!("part-{b}"),
            &interim.text(),
            population,
            &left,
            1000,
        )
        .unwrap()
    });
    let found = combined(blocks.collect(), 3);
    let (shift, ratio, table) = differences(&found, &whole);
    assert!(
        shift < 0.2,
        "means differ by {shift} posterior sds\n{table}"
    );
    assert!(ratio < 0.12, "sds differ by {ratio} in logarithms\n{table}");
    let refused = apart(&interim, "pilot", &spec.text(), &pilot).unwrap_err();
    assert!(
        refused.to_string().contains("no such population"),
        "{refused}"
    );
    let other = apart(&spec, "pilot", "", &pilot).unwrap_err();
    assert!(other.to_string().contains("pilot: its model"), "{other}");
}

/// Every mean and spread of the population, and every subject. Bounds are in posterior standard
/// deviations, in the root mean square over 22 numbers: 4,000 draws of each side, of which a few
/// hundred are effective in the spreads, err by 0.05 to 0.1. Catches: a prior that counts once for
/// every block (the means are then off by about 0.5), draws weighed by their own population alone.
#[test]
fn blocks_combined_agree_with_a_fit_of_the_whole() {
    let (found, whole) = compared(1, 3, 12, 400);
    let (shift, ratio, table) = differences(&found, &whole);
    assert!(
        shift < 0.2,
        "means differ by {shift} posterior sds\n{table}"
    );
    assert!(ratio < 0.12, "sds differ by {ratio} in logarithms\n{table}");
    // So few draws of the population may miss an R-hat of 1.01; the combination itself is good.
    let failed = found.checks.iter().filter(|c| c.state == State::Fail);
    let failed: Vec<_> = failed.filter(|c| c.name != "R-hat, largest").collect();
    assert!(failed.is_empty(), "{failed:#?}");
    // A subject by name: its log_B, as B.
    let row = found
        .subjects
        .lines()
        .find(|l| l.starts_with("s30,B,"))
        .unwrap();
    let row: Vec<f64> = row.split(',').skip(2).map(|x| x.parse().unwrap()).collect();
    let exact: Vec<f64> = whole[0].subjects[30].iter().map(|x| x.exp()).collect();
    assert!((row[0] - mean(&exact)).abs() < 0.25 * sd(&exact), "{row:?}");
    assert!((row[1] / sd(&exact) - 1.0).abs() < 0.2, "{row:?}");
}

/// A block of other subjects, 3 spreads away in one level. Catches: a check that is not made.
#[test]
fn a_block_of_another_population_is_found() {
    let mut rng = Rng::new(5, 0, 0, 0, Purpose::Test);
    let (levels, spec) = (levels(Kind::Rdex, ""), Spec::default());
    let mut seen = study(&mut rng, &levels, 2, 12, &spec);
    seen[6][12..]
        .iter_mut()
        .for_each(|(x, _)| *x += 3.0 * 0.7 * spec.priors[6].h);
    let blocks = (0..2).map(|b| {
        let names: Vec<String> = (0..12).map(|i| format!("s{}", b * 12 + i)).collect();
        let all = levels.iter().zip(&spec.priors).zip(&seen);
        let part = b * 12..(b + 1) * 12;
        let drawn: Vec<Drawn> = all
            .map(|((l, p), s)| gibbs(&s[part.clone()], prior(l, p), &mut rng))
            .collect();
        Block::new(
            &format!("block-{b}"),
            &spec.text(),
            None,
            &trace(&levels, &drawn, &names),
            150,
        )
        .unwrap()
    });
    let found = combined(blocks.collect(), 2);
    let failed = found
        .checks
        .iter()
        .find(|c| c.state == State::Fail && c.name.contains("block"));
    let failed = failed.unwrap_or_else(|| panic!("{:#?}", found.checks));
    assert!(failed.found.contains("log_mu_stop_mu"), "{failed:?}");
}
