//! Whether a fit can be trusted: the sampler, known truth, and the data.

use crate::params::Kind;
use crate::predictive::Compared;
use fitzroy::diagnose::{Diagnosis, eti, hdi, mean};
use fitzroy::draws::Trace;
use fitzroy::{Error, ErrorKind, Result};
use serde_json::Value;

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Pass,
    /// Not as it should be.
    Fail,
    /// Cannot be done here.
    Skipped,
    /// Worth a look.
    Finding,
}

impl State {
    /// PASS, FAIL, SKIP or LOOK.
    pub fn word(self) -> &'static str {
        match self {
            State::Pass => "PASS",
            State::Fail => "FAIL",
            State::Skipped => "SKIP",
            State::Finding => "LOOK",
        }
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// What was looked at.
    pub name: String,
    /// How it ended.
    pub state: State,
    /// What was found, with units.
    pub found: String,
    /// What was needed.
    pub needed: String,
}

impl Check {
    pub(crate) fn new(name: &str, state: State, found: String, needed: &str) -> Check {
        Check {
            name: name.into(),
            state,
            found,
            needed: needed.into(),
        }
    }

    pub(crate) fn of(name: &str, passed: bool, found: String, needed: &str) -> Check {
        let state = if passed { State::Pass } else { State::Fail };
        Self::new(name, state, found, needed)
    }
}

/// R-hat, effective sample size and divergences.
pub fn sampler(found: &Diagnosis, n_draws: usize) -> Vec<Check> {
    let mut out = vec![
        Check::of(
            "R-hat, largest",
            found.max_r_hat < 1.01,
            format!("{:.4}", found.max_r_hat),
            "< 1.01",
        ),
        Check::of(
            "bulk ESS, smallest",
            found.min_ess_bulk > 400.0,
            format!("{:.0} draws", found.min_ess_bulk),
            "> 400 draws",
        ),
    ];
    out.push(match found.divergences {
        Some(n) => {
            let share = n as f64 / n_draws.max(1) as f64;
            Check::of(
                "divergences",
                share < 0.01,
                format!("{n} of {n_draws}"),
                "< 1 %",
            )
        }
        None => Check::new(
            "divergences",
            State::Skipped,
            "the trace does not tell".into(),
            "< 1 %",
        ),
    });
    out
}

/// Where a fit was computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// `cpu` or `cuda`.
    pub device: String,
    /// `f64`, `mixed` or `f32`.
    pub precision: String,
}

/// Population means and spreads of two fits of the same data: each mean within 5 % of the other, or
/// within 4 combined Monte Carlo standard errors.
///
/// What the two places do not compare is skipped, and said so.
pub fn agreement(found: &Diagnosis, other: Option<(&Diagnosis, [&Place; 2])>) -> Vec<Check> {
    let needed = "within 5 % or 4 Monte Carlo errors";
    let skipped = |name: &str| {
        let found = "give another fit of the data by ⟨against⟩".into();
        Check::new(name, State::Skipped, found, needed)
    };
    let Some((other, [here, there])) = other else {
        return ["CPU against GPU", "f32 against f64"].map(skipped).to_vec();
    };
    let (agrees, text) = compare(found, other);
    let check = |name: &str| Check::of(name, agrees, text.clone(), needed);
    let mut out = vec![match here.device == there.device {
        true => skipped("CPU against GPU"),
        false => check("CPU against GPU"),
    }];
    out.push(match here.precision == there.precision {
        true => skipped("f32 against f64"),
        false => check(&format!("{} against {}", here.precision, there.precision)),
    });
    if here == there {
        out.push(check("this fit against the other"));
    }
    out
}

/// That there is nothing to compare a fit with, as `here` is the one device there is.
pub fn one_device(here: &Place) -> Check {
    let found = format!(
        "computed on the {} alone; needs a GPU, by ⟨device cuda⟩",
        here.device
    );
    Check::new(
        "CPU against GPU",
        State::Skipped,
        found,
        "within 5 % or 4 Monte Carlo errors",
    )
}

/// Whether the group parameters of two fits agree, and the largest relative difference.
fn compare(found: &Diagnosis, other: &Diagnosis) -> (bool, String) {
    let group = |name: &str| name.starts_with("mu_") || name.starts_with("sigma_");
    let (mut agrees, mut n, mut worst) = (true, 0, (0.0, String::from("nothing in common")));
    for row in found.summary.rows.iter().filter(|r| group(&r.name)) {
        let Some(twin) = other.summary.rows.iter().find(|r| r.name == row.name) else {
            continue;
        };
        let (a, b) = (&row.statistics, &twin.statistics);
        let relative = (a.mean / b.mean - 1.0).abs();
        let noise = 4.0 * a.mcse_mean.hypot(b.mcse_mean);
        agrees &= relative < 0.05 || (a.mean - b.mean).abs() < noise;
        n += 1;
        if relative >= worst.0 {
            let text = format!("largest difference {:.1} %, {}", 100.0 * relative, row.name);
            worst = (relative, text);
        }
    }
    (agrees && n > 0, worst.1)
}

/// Statistics of the data against replicates.
pub fn predictive(all: &[Compared]) -> Vec<Check> {
    let one = |c: &Compared| {
        let state = if c.is_strange() {
            State::Finding
        } else {
            State::Pass
        };
        let found = format!(
            "{:.4}, replicated {:.4} ({:.4} to {:.4})",
            c.observed,
            c.quantile(0.5),
            c.quantile(0.05),
            c.quantile(0.95)
        );
        Check::new(
            &c.statistic.name(),
            state,
            found,
            "inside 99 % of replicates",
        )
    };
    all.iter().map(one).collect()
}

/// All draws of an element of a variable, chain after chain.
pub(crate) fn scalar(trace: &Trace, name: &str, element: usize) -> Option<Vec<f64>> {
    let variable = trace.group("posterior")?.variable(name)?;
    Some(variable.element(element).concat())
}

/// Known parameters against their posteriors: each group median within 10 % of the geometric mean
/// of the true subject values, or inside the 89 % interval; and how many true subject values lie in
/// their 90 % intervals.
///
/// Bound of the latter: 90 % ± 4 standard errors of a third as many independent values, as the
/// parameters of one subject are correlated.
///
/// # Errors
/// `truth` is not what `simulate` writes, or is of other subjects.
pub fn recovery(trace: &Trace, kind: Kind, truth: &Value) -> Result<Vec<Check>> {
    let fail = |what: &str| {
        let message =
            format!("the truth has no {what}; give true_params.json as `simulate` writes it");
        Error::new(ErrorKind::Data, message)
    };
    let names = truth["subjects"]
        .as_array()
        .ok_or_else(|| fail("`subjects`"))?;
    let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
    let labels = trace
        .coords
        .get("subject")
        .ok_or_else(|| fail("subjects in common with the trace"))?;
    let n = labels.len();
    let places: Option<Vec<usize>> = (0..n)
        .map(|i| names.iter().position(|s| *s == labels.text(i)))
        .collect();
    let places = places.ok_or_else(|| fail("all subjects of the trace"))?;
    let (mut out, mut inside, mut total) = (Vec::new(), 0, 0);
    for p in kind.parameters() {
        let name = p.name;
        let values = truth["params"][name].as_array().ok_or_else(|| fail(name))?;
        let of = |i: &usize| values.get(*i).and_then(Value::as_f64);
        let values: Option<Vec<f64>> = places.iter().map(of).collect();
        let values = values.ok_or_else(|| fail(name))?;
        for (i, &x) in values.iter().enumerate() {
            if let Some(draws) = scalar(trace, name, i) {
                let (low, high) = eti(&draws, 0.9);
                inside += usize::from(low <= x && x <= high);
                total += 1;
            }
        }
        let centre = values.iter().map(|&x| p.scaled(x)).sum::<f64>() / n as f64;
        let (group, target) = match p.probability {
            true => (p.centre_name(), centre),
            false => (format!("mu_{name}"), centre.exp()),
        };
        if let Some(draws) = scalar(trace, &group, 0) {
            let (low, high) = hdi(&draws, 0.89);
            let got = mean(&draws);
            let near = !p.probability && (got / target - 1.0).abs() < 0.1;
            let found = format!("{got:.4} ({low:.4} to {high:.4}), truth {target:.4}");
            let passed = near || low <= target && target <= high;
            out.push(Check::of(
                &group,
                passed,
                found,
                "within 10 % or the 89 % interval",
            ));
        }
    }
    if total > 0 {
        let share = inside as f64 / total as f64;
        // Parameters of a subject are correlated: a third of them counts.
        let slack = 4.0 * (0.09 / (n * kind.parameters().len()) as f64 * 3.0).sqrt();
        let found = format!("{:.1} % of {total} values", 100.0 * share);
        let needed = format!("90 % ± {:.0}", 100.0 * slack);
        out.push(Check::of(
            "subject values in 90 % intervals",
            (share - 0.9).abs() < slack,
            found,
            &needed,
        ));
    }
    Ok(out)
}

/// The table as text.
pub fn table(checks: &[Check]) -> String {
    let wide = |f: &dyn Fn(&Check) -> usize| checks.iter().map(f).max().unwrap_or(0);
    let (a, b) = (
        wide(&|c| c.name.chars().count()),
        wide(&|c| c.found.chars().count()),
    );
    let line = |c: &Check| {
        format!(
            "{}  {:a$}  {:b$}  {}\n",
            c.state.word(),
            c.name,
            c.found,
            c.needed
        )
    };
    checks.iter().map(line).collect()
}
