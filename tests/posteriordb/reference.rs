//! Draws at default settings beside the reference draws of the database.

use super::database::{Database, Posterior, renamed};
use super::support::repository;
use fitzroy::diagnose::{Chains, Ess, Mcse, Verdict, ess, mcse, mean, sd};
use fitzroy::draws::Column;
use fitzroy::model::Model;
use fitzroy::run::{Caller, Outcome, Settings, bind, run};
use serde_json::Value;
use std::time::Instant;

const VARIABLE: &str = "FITZROY_POSTERIORDB_SAMPLE";

/// Largest difference of means in combined Monte Carlo standard errors, on top of a hundredth of a
/// standard deviation, and of standard deviations as a share: the reference has some 10,000
/// effective draws, so its own errors are 1 % of a standard deviation.
const BOUND: f64 = 5.0;
const OF_SD: f64 = 0.01;
const SPREAD: f64 = 0.08;

/// Posteriors on which a run at default settings does not converge, with the target acceptance that
/// its report advises; reference draws of the first were made with 0.99 as well.
const CAREFUL: [(&str, f64); 2] = [
    ("gp_pois_regr-gp_pois_regr", 0.99),
    ("one_comp_mm_elim_abs-one_comp_mm_elim_abs", 0.95),
];

/// Posteriors with tails so heavy that a run says that it does not know the standard deviation of
/// these parameters; it is not compared.
const HEAVY: [(&str, &[&str]); 1] =
    [("one_comp_mm_elim_abs-one_comp_mm_elim_abs", &["K_m", "V_m"])];

#[test]
#[allow(clippy::print_stderr)]
fn draws_at_default_settings_agree_with_reference_draws() {
    let name = "draws of posteriordb";
    let Some(database) = Database::of_environment(name) else {
        return;
    };
    if std::env::var_os(VARIABLE).is_none() {
        eprintln!("skipped: {name}: {VARIABLE} is not set");
        return;
    }
    let (mut good, mut bad) = (0, Vec::new());
    for posterior in database.posteriors() {
        let Some(reference) = database.reference(&posterior) else {
            continue;
        };
        let start = Instant::now();
        let outcome = match sampled(&database, &posterior) {
            Ok(outcome) => outcome,
            Err(why) => {
                eprintln!("    {}: {why}", posterior.name);
                continue;
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        let row = Row::new(&outcome, &posterior, &reference);
        eprintln!("    {}: {seconds:.2} s, {row}", posterior.name);
        let heavy = HEAVY.iter().any(|h| h.0 == posterior.name);
        let wanted = match heavy {
            true => Verdict::InQuestion,
            false => Verdict::Converged,
        };
        if row.far.is_empty() && row.verdict == wanted {
            good += 1;
        } else {
            bad.push(format!("{}: {row}: {:?}", posterior.name, row.far));
        }
    }
    eprintln!("{good} agree");
    assert!(bad.is_empty(), "{bad:#?}");
}

fn sampled(database: &Database, posterior: &Posterior) -> Result<Outcome, String> {
    let path = repository(&format!("models/posteriordb/{}.fz", posterior.model));
    let text = std::fs::read_to_string(&path).map_err(|_| "no text".to_string())?;
    let model = Model::parse(&text).map_err(|e| e.to_string())?;
    let mut settings = Settings::default();
    let careful = CAREFUL.iter().find(|c| c.0 == posterior.name);
    if let Some((_, target_accept)) = careful {
        settings.sampler.target_accept = *target_accept;
    }
    let joint = bind(&model, &database.data(posterior)?, &settings);
    let joint = joint.map_err(|e| e.to_string())?;
    run(&joint, &settings, &Caller::silent()).map_err(|e| e.to_string())
}

/// What a comparison found.
struct Row {
    verdict: Verdict,
    n: usize,
    least_ess: f64,
    /// The largest distance of a mean in its bound, and of a standard deviation in its own.
    worst: (f64, f64),
    far: Vec<String>,
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:?}, least ESS {:.0}, {} numbers, worst mean {:.2} and sd {:.2} of the bound",
            self.verdict, self.least_ess, self.n, self.worst.0, self.worst.1
        )
    }
}

impl Row {
    fn new(outcome: &Outcome, posterior: &Posterior, reference: &[Value]) -> Row {
        let mut row = Row {
            verdict: outcome.diagnose(&Default::default()).unwrap().verdict(),
            n: 0,
            least_ess: f64::INFINITY,
            worst: (0.0, 0.0),
            far: Vec::new(),
        };
        for name in reference[0].as_object().unwrap().keys() {
            let (wanted, n_draws) = series(reference, name);
            let wanted_chains = Chains::new(&wanted, reference.len(), n_draws);
            let (own, n_chains, n_draws) = drawn(outcome, &posterior.model, name);
            let chains = || Chains::new(&own, n_chains, n_draws);
            let spread = sd(&wanted);
            let error = mcse(chains(), Mcse::Mean).hypot(mcse(wanted_chains, Mcse::Mean));
            let off = (mean(&own) - mean(&wanted)).abs() / (BOUND * error + OF_SD * spread);
            let heavy = HEAVY.iter().find(|h| h.0 == posterior.name);
            let off_sd = match heavy.is_some_and(|h| h.1.contains(&name.as_str())) {
                true => 0.0,
                false => (sd(&own) / spread - 1.0).abs() / SPREAD,
            };
            row.n += 1;
            row.least_ess = row.least_ess.min(ess(chains(), Ess::Bulk));
            row.worst = (row.worst.0.max(off), row.worst.1.max(off_sd));
            if !(off <= 1.0 && off_sd <= 1.0) {
                row.far
                    .push(format!("{name}: mean {off:.2}, sd {off_sd:.2}"));
            }
        }
        row
    }
}

/// A series of the reference, chain after chain, and the draws of each.
fn series(reference: &[Value], name: &str) -> (Vec<f64>, usize) {
    let chain = |c: &Value| -> Vec<f64> {
        let draws = c[name].as_array().unwrap().iter();
        draws.map(|x| x.as_f64().unwrap()).collect()
    };
    let chains: Vec<Vec<f64>> = reference.iter().map(chain).collect();
    let n_draws = chains[0].len();
    (chains.concat(), n_draws)
}

/// The same of our draws; `name` has positions that count from 1.
fn drawn(outcome: &Outcome, model: &str, name: &str) -> (Vec<f64>, usize, usize) {
    let (plain, index) = match name.split_once('[') {
        Some((plain, index)) => (plain, index.trim_end_matches(']')),
        None => (name, ""),
    };
    let plain = renamed(model, plain);
    let group = outcome.trace.group("posterior").unwrap();
    let found = group.variables.iter().find(|v| v.name == plain);
    let variable = found.unwrap_or_else(|| panic!("{model}: no {plain}"));
    let inner = &variable.shape[2..];
    let index = index.split(',').filter(|i| !i.is_empty());
    let index: Vec<usize> = index.map(|i| i.parse::<usize>().unwrap() - 1).collect();
    assert_eq!(inner.len(), index.len(), "{model}: {name}");
    let at = inner.iter().zip(&index).fold(0, |at, (n, i)| at * n + i);
    let Column::Real(values) = &variable.values else {
        panic!("{name} holds real numbers");
    };
    let len: usize = inner.iter().product();
    let own = values.iter().skip(at).step_by(len).copied().collect();
    (own, variable.shape[0], variable.shape[1])
}
