//! The verdict on runs of easy and hard targets whose posterior is known.
//!
//! A verdict of `Converged` is wrong where a mean, a standard deviation or a quantile is off: a mean
//! or a quantile by more Monte Carlo standard errors than chance explains, a standard deviation by
//! more than [`SD_OFF`]. A verdict of anything else on an easy target is a false alarm.
//!
//! `FITZROY_SEEDS` says how many seeds are tried (default 2, some seconds; the table in
//! docs/diagnostics.md is of 200), `FITZROY_FIRST_SEED` the first of them, `FITZROY_OUT` a folder for
//! that table and a row for every run. The truth is that of tests/golden/verdict, by generate.py
//! and regressions.py, or of tests/golden/posteriors.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::data::Dataset;
use fitzroy::diagnose::{Chains, Mcse, Verdict, mcse, mean, quantile, sd};
use fitzroy::draws::Column;
use fitzroy::model::Model;
use fitzroy::run::{Caller, Outcome, Settings, bind, run};
use serde_json::Value;
use support::{EXAMPLES, example, text};

/// A posterior that is known.
struct Target {
    name: &'static str,
    easy: bool,
    /// Its model; empty of an example.
    model: &'static str,
}

const fn easy(name: &'static str, model: &'static str) -> Target {
    Target {
        name,
        easy: true,
        model,
    }
}

const fn hard(name: &'static str, model: &'static str) -> Target {
    Target {
        name,
        easy: false,
        model,
    }
}

const TARGETS: [Target; 31] = [
    easy("normal", "dim k = 5\nx[k] ~ Normal(0, 1)"),
    easy(
        "correlated",
        "x ~ Normal(0, 1)\ny ~ Normal(0.95 * x, sqrt(1 - 0.95^2))",
    ),
    easy(
        "skewed",
        "g ~ Gamma(2, 1)\nh ~ Exponential(1)\nb ~ Beta(2, 3)",
    ),
    hard("student-7", "x ~ StudentT(7, 0, 1)"),
    easy("linear", ""),
    easy("logistic", ""),
    easy("poisson", ""),
    easy("hierarchical", ""),
    easy("eight-schools", ""),
    easy("eight-schools-noncentred", ""),
    easy("pumps", ""),
    easy("ratings", ""),
    hard("student-3", "dim k = 3\nx[k] ~ StudentT(3, 0, 1)"),
    hard("student-2", "dim k = 3\nx[k] ~ StudentT(2, 0, 1)"),
    hard("cauchy", "dim k = 3\nx[k] ~ Cauchy(0, 1)"),
    hard("half-cauchy", "s ~ HalfCauchy(1)"),
    hard("log-normal", "x ~ LogNormal(0, 1.5)"),
    hard(
        "funnel-1",
        "dim k = 1\nv ~ Normal(0, 3)\nx[k] ~ Normal(0, exp(v / 2)) @ centred",
    ),
    hard(
        "funnel-3",
        "dim k = 3\nv ~ Normal(0, 3)\nx[k] ~ Normal(0, exp(v / 2)) @ centred",
    ),
    hard(
        "funnel-9",
        "dim k = 9\nv ~ Normal(0, 3)\nx[k] ~ Normal(0, exp(v / 2)) @ centred",
    ),
    hard(
        "funnel-mild",
        "dim k = 9\nv ~ Normal(0, 1)\nx[k] ~ Normal(0, exp(v / 2)) @ centred",
    ),
    hard(
        "horseshoe",
        "dim k = 5\ns ~ HalfCauchy(1)\nx[k] ~ Normal(0, s) @ centred",
    ),
    hard("banana", "x ~ Normal(0, 1)\ny ~ Normal(2 * x^2, 0.1)"),
    hard("banana-wide", "x ~ Normal(0, 1)\ny ~ Normal(x^2, 0.5)"),
    hard(
        "two-modes",
        "x ~ Flat()\ntarget += log_sum_exp(log(0.3) - 0.5 * (x + 2.5)^2, log(0.7) - 0.5 * (x - 2.5)^2)",
    ),
    hard(
        "two-widths",
        "dim k = 2\nx[k] ~ Flat()\n\
         target += sum(log_sum_exp(-0.5 * x^2, log(20) - 0.5 * (20 * x)^2))",
    ),
    hard("ratio", "a ~ Normal(1, 0.5)\nb ~ Normal(1, 0.3)\nr = a / b"),
    hard("elimination", "K ~ HalfCauchy(1)\nV ~ HalfCauchy(1)\n"),
    hard(
        "elimination-log",
        "K ~ LogNormal(1, 1.5)\nV ~ LogNormal(1, 1.5)\n",
    ),
    hard(
        "spline",
        "data y[obs], B[obs, k], C[obs, j]\na ~ Normal(0, 2)\nsa ~ HalfNormal(2)\n\
         w[k] ~ Normal(0, sa)\nb ~ Normal(-1, 1)\nsb ~ HalfNormal(1)\nv[j] ~ Normal(0, sb)\n\
         y ~ Normal(a + B @ w, exp(b + C @ v))",
    ),
    hard(
        "gaussian-process",
        "data y[obs], squared[obs, obs], unit[obs, obs]\nwidth ~ LogNormal(0, 0.7)\n\
         height ~ HalfNormal(2)\nnoise ~ HalfNormal(1)\n\
         let K[obs, obs] = height^2 * exp(-0.5 * squared / width^2) + 1e-6 * unit\n\
         f[obs] ~ MvNormal(0, cov=K)\ny ~ Normal(f, noise)",
    ),
];

/// Rates of elimination at the doses, which the generator prints.
const RATES: [f64; 15] = [
    0.0326, 0.0396, 0.0611, 0.0939, 0.1126, 0.1692, 0.1879, 0.2451, 0.2561, 0.3495, 0.4472, 0.4777,
    0.5329, 0.7532, 0.7255,
];
const DOSE: [f64; 15] = [
    0.03, 0.045, 0.06, 0.09, 0.12, 0.15, 0.21, 0.255, 0.3, 0.36, 0.45, 0.54, 0.66, 0.78, 0.9,
];

/// A standard deviation that is off by this part of the true one is wrong.
const SD_OFF: f64 = 0.25;

/// Data that stand with the truth.
fn dataset(reference: &Value) -> Dataset {
    let mut data = Dataset::new();
    let known = reference["data"].as_object();
    for (name, array) in known.into_iter().flatten() {
        let (mut shape, mut row) = (Vec::new(), array);
        while let Some(own) = row.as_array() {
            shape.push(own.len());
            row = &own[0];
        }
        let mut values = vec![array];
        for _ in &shape {
            let inner = values.iter().map(|v| v.as_array().unwrap());
            values = inner.flatten().collect();
        }
        let values = values.iter().map(|v| v.as_f64().unwrap());
        data.insert_real(name, &shape, values.collect());
    }
    data
}

fn sampled(target: &Target, reference: &Value, seed: u64) -> Outcome {
    let mut settings = Settings::default();
    settings.sampler.seed = seed;
    settings.sampler.threads = 2;
    let joint = match target.model {
        "" => {
            let (_, file, _) = EXAMPLES.iter().find(|e| e.0 == target.name).unwrap();
            let (model, data) = example(target.name, file);
            bind(&model, &data, &settings)
        }
        prior if target.name.starts_with("elimination") => {
            let likelihood = "s ~ HalfNormal(0.2)\nrate ~ LogNormal(log(V * t / (K + t)), s)";
            let text = format!("data t[obs], rate[obs]\n{prior}{likelihood}");
            let mut data = Dataset::new();
            data.insert_real("t", &[15], DOSE.to_vec());
            data.insert_real("rate", &[15], RATES.to_vec());
            bind(&Model::parse(&text).unwrap(), &data, &settings)
        }
        text => bind(&Model::parse(text).unwrap(), &dataset(reference), &settings),
    };
    let joint = joint.unwrap_or_else(|e| panic!("{}: {e}", target.name));
    run(&joint, &settings, &Caller::silent()).unwrap_or_else(|e| panic!("{}: {e}", target.name))
}

/// The draws of one element, chain by chain.
fn draws(outcome: &Outcome, quantity: &Value) -> (Vec<f64>, usize, usize) {
    let name = quantity["name"].as_str().unwrap();
    let variable = outcome.trace.group("posterior").unwrap().variable(name);
    let variable = variable.unwrap_or_else(|| panic!("no {name}"));
    let index = quantity["index"].as_array().unwrap().iter();
    let index = index.map(|i| i.as_u64().unwrap() as usize);
    let at = variable.shape[2..]
        .iter()
        .zip(index)
        .fold(0, |at, (n, i)| at * n + i);
    let Column::Real(values) = &variable.values else {
        panic!("{name} holds real numbers");
    };
    let own = values.iter().skip(at).step_by(variable.elements()).copied();
    (own.collect(), variable.shape[0], variable.shape[1])
}

/// One run: its verdict, and how far its estimates are off.
struct Judged {
    seed: u64,
    verdict: Verdict,
    /// The largest of means, in Monte Carlo standard errors.
    mean: f64,
    /// The largest of standard deviations, as a part of the true one.
    sd: f64,
    /// The largest of quantiles, in Monte Carlo standard errors.
    quantile: f64,
    comparisons: usize,
    /// What else is worth a look: R-hat, ESS, divergences, BFMI, k, the error of the sd.
    numbers: [f64; 6],
    findings: String,
}

fn judge(target: &Target, reference: &Value, seed: u64) -> Judged {
    let outcome = sampled(target, reference, seed);
    let found = outcome.diagnose(&Default::default()).unwrap();
    let most = |pick: &dyn Fn(&fitzroy::diagnose::ElementStatistics) -> f64| {
        found
            .summary
            .rows
            .iter()
            .map(|r| pick(&r.statistics))
            .fold(f64::NAN, f64::max)
    };
    let mut out = Judged {
        seed,
        verdict: found.verdict(),
        mean: 0.0,
        sd: 0.0,
        quantile: 0.0,
        comparisons: 0,
        numbers: [
            found.max_r_hat,
            found.min_ess_bulk.min(found.min_ess_tail),
            found.divergences.unwrap_or(0) as f64,
            found.bfmi.iter().copied().fold(f64::NAN, f64::min),
            most(&|s| s.pareto_k),
            most(&|s| s.mcse_sd / s.sd),
        ],
        findings: found
            .findings
            .iter()
            .map(|f| format!("{}. ", f.fact))
            .collect(),
    };
    for quantity in reference["quantities"].as_array().unwrap() {
        let (x, n_chains, n_draws) = draws(&outcome, quantity);
        let error = |kind: Mcse, key: &str| {
            let theirs = quantity[&format!("mcse_{key}")].as_f64().unwrap_or(0.0);
            mcse(Chains::new(&x, n_chains, n_draws), kind).hypot(theirs)
        };
        if let Some(wanted) = quantity["mean"].as_f64() {
            let z = (mean(&x) - wanted) / error(Mcse::Mean, "mean");
            out.mean = out.mean.max(z.abs());
            out.comparisons += 1;
        }
        if let Some(wanted) = quantity["sd"].as_f64() {
            out.sd = out.sd.max((sd(&x) / wanted - 1.0).abs());
        }
        for (key, p) in [("q05", 0.05), ("q50", 0.5), ("q95", 0.95)] {
            let wanted = quantity[key].as_f64().unwrap();
            let z = (quantile(&x, p) - wanted) / error(Mcse::Quantile(p), key);
            out.quantile = out.quantile.max(z.abs());
            out.comparisons += 1;
        }
    }
    out
}

fn reference(name: &str) -> Value {
    let example = EXAMPLES.iter().find(|e| e.0 == name);
    let path = match example {
        Some((_, _, reference)) => format!("tests/golden/posteriors/{reference}.json"),
        None => format!("tests/golden/verdict/{name}.json"),
    };
    serde_json::from_str(&text(&path)).unwrap()
}

fn setting(name: &str, otherwise: u64) -> u64 {
    let text = std::env::var(name);
    text.map_or(otherwise, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number"))
    })
}

/// Rows of a table in Markdown, and of a file with a line for each run.
fn rows(target: &Target, all: &[Judged], wrong: &dyn Fn(&Judged) -> bool) -> [String; 2] {
    let share = |verdict: Verdict| {
        let n = all.iter().filter(|j| j.verdict == verdict).count();
        100.0 * n as f64 / all.len() as f64
    };
    let bad = all.iter().filter(|j| wrong(j)).count();
    let missed = all
        .iter()
        .filter(|j| wrong(j) && j.verdict == Verdict::Converged);
    let row = format!(
        "| {} | {} | {:.1} | {:.1} | {:.1} | {} | {} |\n",
        target.name,
        if target.easy { "easy" } else { "hard" },
        share(Verdict::Converged),
        share(Verdict::InQuestion),
        share(Verdict::NotConverged),
        bad,
        missed.count()
    );
    let lines = all.iter().map(|j| {
        let numbers: Vec<String> = j.numbers.iter().map(|x| format!("{x:.4}")).collect();
        let word = j.verdict.word();
        format!(
            "{},{},{},{word},{:.2},{:.3},{:.2},{},\"{}\"\n",
            target.name,
            target.easy,
            j.seed,
            j.mean,
            j.sd,
            j.quantile,
            numbers.join(","),
            j.findings
        )
    });
    [row, lines.collect()]
}

/// Bounds: a mean or quantile is off where its distance in Monte Carlo standard errors would be
/// exceeded by chance once in 100 repetitions of all comparisons of the test, and no less than 4;
/// quantiles' errors are the distance of two draws, noisy themselves, and get half as much again.
/// Catches: a verdict that overlooks heavy tails, funnels or energies, or that doubts easy runs.
#[test]
fn no_run_is_called_converged_that_is_wrong_and_few_easy_ones_are_doubted() {
    let (seeds, first) = (
        setting("FITZROY_SEEDS", 2),
        setting("FITZROY_FIRST_SEED", 1),
    );
    let only = std::env::var("FITZROY_TARGET").ok();
    let chosen = |t: &&Target| only.as_deref().is_none_or(|name| t.name == name);
    let mut judged: Vec<(&Target, Vec<Judged>)> = Vec::new();
    for target in TARGETS.iter().filter(chosen) {
        let reference = reference(target.name);
        let all = (first..first + seeds).map(|seed| judge(target, &reference, seed));
        judged.push((target, all.collect()));
    }
    let comparisons: usize = judged
        .iter()
        .flat_map(|(_, all)| all)
        .map(|j| j.comparisons)
        .sum();
    // P(|z| > b) is near exp(-b²/2)/b: solved for one hundredth over all.
    let bound = (2.0 * (100.0 * comparisons as f64 / 4.0).ln())
        .sqrt()
        .max(4.0);
    let wrong = |j: &Judged| j.mean > bound || j.quantile > 1.5 * bound || j.sd > SD_OFF;
    let mut table = String::from(
        "| target | kind | converged, % | in question, % | not converged, % | wrong | wrong and called converged |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let mut lines = String::new();
    for (target, all) in &judged {
        let [row, own] = rows(target, all, &wrong);
        table += &row;
        lines += &own;
    }
    eprintln!("bound {bound:.2} of {comparisons} comparisons\n{table}");
    if let Some(folder) = std::env::var_os("FITZROY_OUT") {
        std::fs::write(std::path::Path::new(&folder).join("verdicts.md"), &table).unwrap();
        std::fs::write(std::path::Path::new(&folder).join("verdicts.csv"), &lines).unwrap();
    }
    let missed = judged
        .iter()
        .flat_map(|(t, all)| all.iter().map(move |j| (t, j)));
    let missed = missed.filter(|(_, j)| wrong(j) && j.verdict == Verdict::Converged);
    let missed: Vec<String> = missed
        .map(|(t, j)| format!("{} seed {}", t.name, j.seed))
        .collect();
    assert!(missed.is_empty(), "called converged: {missed:?}\n{lines}");
    let easy: Vec<&Judged> = judged
        .iter()
        .filter(|(t, _)| t.easy)
        .flat_map(|(_, all)| all)
        .collect();
    let doubted = easy
        .iter()
        .filter(|j| j.verdict != Verdict::Converged)
        .count();
    assert!(
        doubted as f64 <= 0.02 * easy.len() as f64,
        "{doubted} of {}\n{lines}",
        easy.len()
    );
}
