//! Runs of foreign densities against what is known of them.

use super::super::{Keeping, Live, open, run, run_kept};
use super::*;
use crate::data::Labels;
use crate::draws::{Column, Flush, Trace};
use crate::model::foreign::{LogDensity, Quantity};
use crate::run::Convergence;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

/// A gamma number g of shape 3 by its logarithm, and a normal number of mean g and sd 1.
struct Known {
    /// The call from which on nothing goes on, and those so far.
    breaks_at: u64,
    calls: AtomicU64,
}

const SHAPE: f64 = 3.0;

impl Known {
    fn new(breaks_at: u64) -> Self {
        Known {
            breaks_at,
            calls: AtomicU64::new(0),
        }
    }
}

impl LogDensity for Known {
    fn dim(&self) -> usize {
        2
    }

    fn value_and_gradient(
        &self,
        x: &[f64],
        gradient: &mut [f64],
    ) -> std::result::Result<f64, Refused> {
        if self.calls.fetch_add(1, Ordering::Relaxed) >= self.breaks_at {
            return Err(Refused::Ever(Error::new(
                ErrorKind::Numerics,
                "out of paper",
            )));
        }
        if x[0] > 5.0 {
            return Err(Refused::Here("too large".into()));
        }
        let g = x[0].exp();
        let z = x[1] - g;
        gradient[0] = SHAPE - g + z * g;
        gradient[1] = -z;
        Ok(SHAPE * x[0] - g - 0.5 * z * z)
    }

    /// g, then both numbers, then a uniform number.
    fn expand(&self, x: &[f64], seed: u64, out: &mut [f64]) -> std::result::Result<(), Refused> {
        let uniform = (seed >> 11) as f64 / (1_u64 << 53) as f64;
        out.copy_from_slice(&[x[0].exp(), x[0].exp(), x[1], uniform]);
        Ok(())
    }
}

fn known(identity: &str, breaks_at: u64) -> Foreign<'static> {
    let both = Quantity {
        name: "both".into(),
        dims: vec!["which".into()],
        shape: vec![2],
    };
    let quantities = vec![Quantity::new("g", &[]), both, Quantity::new("u", &[])];
    let foreign = Foreign::new(Known::new(breaks_at), quantities, identity).unwrap();
    let labels = Labels::Text(vec!["g".into(), "x".into()]);
    foreign.with_labels("which", labels).unwrap()
}

fn settings(draws: usize) -> Settings {
    let mut settings = Settings::default();
    settings.sampler.tune = 400;
    settings.sampler.draws = draws;
    settings
}

fn values<'a>(trace: &'a Trace, group: &str, name: &str) -> &'a [f64] {
    match &trace.group(group).unwrap().variable(name).unwrap().values {
        Column::Real(values) => values,
        _ => panic!("{name} holds no reals"),
    }
}

/// g has mean 3 and variance 3, x mean 3 and variance 4. With 8,000 draws whose ESS is above 2,000 a mean
/// is off by more than 0.2 (five standard errors) in one of a million runs. Catches: positions recorded in
/// the place of quantities, a wrong sign of the slope, seeds that do not differ.
#[test]
fn draws_have_the_moments_of_the_density() {
    let outcome = run(
        &known("known", u64::MAX),
        &settings(2000),
        &Caller::silent(),
    )
    .unwrap();
    let trace = &outcome.trace;
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let g = values(trace, "posterior", "g");
    let both = values(trace, "posterior", "both");
    let x: Vec<f64> = both.chunks(2).map(|pair| pair[1]).collect();
    assert!(both.chunks(2).zip(g).all(|(pair, g)| pair[0] == *g));
    let variance =
        |v: &[f64]| v.iter().map(|y| (y - mean(v)).powi(2)).sum::<f64>() / v.len() as f64;
    assert!((mean(g) - 3.0).abs() < 0.2, "{}", mean(g));
    assert!((mean(&x) - 3.0).abs() < 0.25, "{}", mean(&x));
    assert!((variance(&x) - 4.0).abs() < 0.8, "{}", variance(&x));
    let u = values(trace, "posterior", "u");
    assert!((mean(u) - 0.5).abs() < 0.02 && (variance(u) - 1.0 / 12.0).abs() < 0.01);
    let labels = Labels::Text(vec!["g".into(), "x".into()]);
    assert_eq!(trace.coords["which"], labels);
    let lp = values(trace, "sample_stats", "lp");
    for ((g, x), lp) in g.iter().zip(&x).zip(lp) {
        let expected = SHAPE * g.ln() - g - 0.5 * (x - g).powi(2);
        assert!((lp - expected).abs() < 1e-9 * (1.0 + expected.abs()));
    }
    assert_eq!((outcome.n_sampled(), outcome.n_draws()), (2, 2000));
    assert!(outcome.replicator().is_err());
}

/// Exact. Catches: seeds of quantities that depend on who computes them.
#[test]
fn threads_change_no_bit() {
    let one = |threads| {
        let mut settings = settings(200);
        settings.sampler.threads = threads;
        settings.sampler.keep_warmup = true;
        let outcome = run(&known("known", u64::MAX), &settings, &Caller::silent()).unwrap();
        outcome.trace.groups
    };
    assert_eq!(one(1), one(3));
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("fitzroy-density-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Nobody;

impl Live for Nobody {
    fn show(&self, _: &Convergence) {}
}

/// A run in `folder`, by a clock that makes every meeting of the chains due.
fn kept(folder: &Folder, foreign: &Foreign<'_>, settings: &Settings) -> Result<Outcome> {
    let ticks = AtomicU64::new(0);
    let caller = Caller {
        now: &|| ticks.fetch_add(1, Ordering::Relaxed) as f64 * 0.1,
        ..Caller::silent()
    };
    let keeping = Keeping {
        folder: &folder.0,
        from: open(&folder.0, foreign, settings)?,
        first_s: 0.0,
        every_s: 0.0,
        live: &Nobody,
    };
    let mut outcome = run_kept(foreign, settings, &caller, &keeping)?;
    let mut kept = outcome.kept.take().unwrap();
    kept.finish(&outcome.trace, outcome.first_draw, Flush::Later)?;
    Ok(outcome)
}

/// Exact. Catches: a state without the density's numbers, quantities drawn anew by a run that goes on.
#[test]
fn a_run_that_goes_on_makes_the_draws_of_one_that_was_never_stopped() {
    let foreign = known("known", u64::MAX);
    let whole = run(&foreign, &settings(300), &Caller::silent()).unwrap();
    let folder = Folder::new("resume");
    kept(&folder, &foreign, &settings(110)).unwrap();
    let resumed = kept(&folder, &foreign, &settings(300)).unwrap();
    let draws = |o: &Outcome| {
        let groups = o.trace.groups.iter();
        groups.map(|g| g.variables.clone()).collect::<Vec<_>>()
    };
    assert_eq!(draws(&resumed), draws(&whole));
}

#[test]
fn another_density_or_other_data_do_not_go_on() {
    let folder = Folder::new("other");
    kept(&folder, &known("known", u64::MAX), &settings(50)).unwrap();
    let says = |foreign: Foreign<'_>, words: &str| {
        let error = open(&folder.0, &foreign, &settings(90)).err().unwrap();
        assert!(error.to_string().contains(words), "{error}");
    };
    says(known("another", u64::MAX), "made with another density");
    says(
        known("known", u64::MAX).with_data("others"),
        "made with other data",
    );
}

#[test]
fn a_density_that_gives_up_ends_the_run_with_its_words() {
    for breaks_at in [0, 5, 2000] {
        let foreign = known("known", breaks_at);
        let error = run(&foreign, &settings(5000), &Caller::silent())
            .err()
            .unwrap();
        assert_eq!(error.to_string(), "out of paper");
        let folder = Folder::new(&format!("breaks-{breaks_at}"));
        let error = kept(&folder, &known("known", breaks_at), &settings(5000))
            .err()
            .unwrap();
        assert_eq!(error.to_string(), "out of paper");
    }
}

#[test]
fn without_a_start_the_density_says_why() {
    let foreign = known("known", u64::MAX)
        .centred_at(vec![90.0, 0.0])
        .unwrap();
    let error = run(&foreign, &settings(10), &Caller::silent())
        .err()
        .unwrap();
    assert_eq!(error.kind(), ErrorKind::Numerics);
    assert!(
        error.to_string().ends_with("the density says: too large"),
        "{error}"
    );
}

#[test]
fn what_only_a_model_can_do_is_refused_by_name() {
    let ask: [(&str, fn(&mut Settings)); 3] = [
        ("⟨predictive⟩", |s| s.predictive = true),
        ("⟨log_likelihood⟩", |s| s.log_likelihood = true),
        ("⟨prior_only⟩", |s| s.prior_only = true),
    ];
    for (name, set) in ask {
        let mut settings = settings(10);
        set(&mut settings);
        let error = run(&known("known", u64::MAX), &settings, &Caller::silent())
            .err()
            .unwrap();
        assert!(error.to_string().starts_with(name), "{error}");
    }
    let mut settings = settings(10);
    settings.memory_limit_bytes = Some(1000);
    let error = run(&known("known", u64::MAX), &settings, &Caller::silent())
        .err()
        .unwrap();
    assert!(error.to_string().contains("of memory"), "{error}");
}

#[test]
fn a_stop_before_the_first_draw_ends_the_run() {
    let stop = AtomicBool::new(true);
    let caller = Caller {
        stop: &stop,
        ..Caller::silent()
    };
    let outcome = run(&known("known", u64::MAX), &settings(10), &caller).unwrap();
    assert!(outcome.run.interrupted && outcome.n_draws() == 0);
}
