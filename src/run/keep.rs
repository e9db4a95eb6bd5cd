//! Which variables of a model have their draws kept.

use super::Settings;
use crate::model::joint::Graphs;
use crate::{Error, ErrorKind, Result};

/// Whether the draws of the variable `name` are kept.
pub(super) fn keeps(keep: &[String], name: &str) -> bool {
    keep.is_empty() || keep.iter().any(|kept| kept == name)
}

/// Refuses names of nothing that is recorded.
///
/// # Errors
/// [`ErrorKind::Usage`], with the names that there are.
pub(super) fn check(keep: &[String], graphs: &Graphs) -> Result<()> {
    let known = |name: &String| graphs.recorded.iter().any(|r| r.name == *name);
    let Some(unknown) = keep.iter().find(|name| !known(name)) else {
        return Ok(());
    };
    let names: Vec<&str> = graphs.recorded.iter().map(|r| r.name.as_str()).collect();
    let message = format!(
        "⟨keep⟩ names `{unknown}`, which this model does not record; it records {}",
        names.join(", ")
    );
    Err(Error::new(ErrorKind::Usage, message))
}

/// Refuses a choice for draws of a prior, of which all are kept.
///
/// # Errors
/// [`ErrorKind::Usage`] where there is one.
pub(super) fn refuse(settings: &Settings) -> Result<()> {
    match settings.keep.is_empty() {
        true => Ok(()),
        false => Err(Error::new(
            ErrorKind::Usage,
            "⟨keep⟩ is for draws of a posterior; of a prior all variables are kept",
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::data::Dataset;
    use crate::model::Model;
    use crate::run::{Caller, Outcome, Settings, bind, run};

    const MODEL: &str = "\
data y[obs], group[obs] in groups

mu            ~ Normal(0, 5)
tau           ~ HalfNormal(2)
theta[groups] ~ Normal(mu, tau)
spread = exp(tau)

y[obs]        ~ Normal(theta[group], 1)
";

    fn sampled(keep: &[&str], centred: bool) -> crate::Result<Outcome> {
        let mut data = Dataset::new();
        let y: Vec<f64> = (0..12)
            .map(|i| f64::from(i % 5) - 0.1 * f64::from(i))
            .collect();
        data.insert_real("y", &[12], y);
        data.insert_real("group", &[12], (0..12).map(|i| f64::from(i / 3)).collect());
        let model = Model::parse(MODEL).unwrap();
        let mut settings = Settings {
            keep: keep.iter().map(|&name| name.into()).collect(),
            predictive: true,
            ..Settings::default()
        };
        if centred {
            settings.rewrites = "off".parse().unwrap();
        }
        (settings.sampler.chains, settings.sampler.tune) = (2, 100);
        settings.sampler.draws = 60;
        let joint = bind(&model, &data, &settings).unwrap();
        run(&joint, &settings, &Caller::silent())
    }

    /// Catches: a choice that changes draws, statistics or replicates, or that keeps another variable.
    #[test]
    fn what_is_kept_is_what_a_run_that_keeps_all_has() {
        for centred in [false, true] {
            let all = sampled(&[], centred).unwrap().trace;
            let some = sampled(&["spread", "mu"], centred).unwrap().trace;
            let posterior = some.group("posterior").unwrap();
            let names: Vec<&str> = posterior
                .variables
                .iter()
                .map(|v| v.name.as_str())
                .collect();
            assert_eq!(names, ["mu", "spread"]);
            for group in &some.groups {
                let whole = all.group(&group.name).unwrap();
                for variable in &group.variables {
                    assert_eq!(Some(variable), whole.variable(&variable.name));
                }
            }
            assert_eq!(some.groups.len(), all.groups.len());
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_those_that_there_are() {
        let error = sampled(&["mu", "thata"], false).err().unwrap().to_string();
        assert!(
            error.contains("`thata`") && error.contains("mu, tau, theta, spread"),
            "{error}"
        );
    }
}
