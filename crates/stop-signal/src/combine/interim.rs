//! The interim population: what subjects that are fitted apart have for a prior until they are combined.

use super::block::{Level, levels};
use crate::check::scalar;
use crate::correlations::is_recorded;
use crate::model::{Pooling, Spec};
use crate::priors::Prior;
use fitzroy::diagnose::{mean, sd};
use fitzroy::draws::Trace;
use fitzroy::{Error, ErrorKind, Result};

/// How much wider than the population the interim one is. Draws of subjects are weighed by p(θ | φ) over the
/// interim density; such weights have a variance as long as φ is not much wider than that.
const WIDER: f64 = 1.1;

/// `spec` with subjects apart, each under the interim population that `trace` gives: that of a fit of some
/// subjects by `spec`, whose model's text is `model`, or of a combination. `from` is its folder.
///
/// Subjects are normal around the posterior mean of the population's. Their variance is 1.1² times the
/// mean of the population's variance, the uncertainty of the mean and what slopes move subjects by.
///
/// # Errors
/// The trace has no population, or one of another model.
pub fn apart(spec: &Spec, from: &str, model: &str, trace: &Trace) -> Result<Spec> {
    let refused = |what: &str| {
        let message = format!(
            "{from}: {what}; an interim population is that of a fit by the same model, priors and slopes with \
             ⟨pooling partial⟩ and without ⟨correlated⟩, or of a combination of such fits"
        );
        Error::new(ErrorKind::Data, message)
    };
    if !spec.kind.stops() || spec.pooling == Pooling::None || spec.correlated.is_some() {
        return Err(refused("the fit that is asked for has no such population"));
    }
    if is_recorded(spec.kind, trace) {
        return Err(refused("its subjects' effects are correlated"));
    }
    if model != spec.text() {
        return Err(refused(
            "its model or its priors differ from what is asked for",
        ));
    }
    let draws = |name: &str| {
        scalar(trace, name, 0).ok_or_else(|| refused(&format!("its trace has no `{name}`")))
    };
    let one = |level: &Level| {
        let centre = draws(&level.centre)?;
        let mut variance = sd(&centre).powi(2) + mean_square(&draws(&level.spread)?);
        for (slope, _) in &level.slopes {
            // Covariates have a standard deviation of 1, or are 0 and 1.
            variance += mean_square(&draws(slope)?);
        }
        let middle = mean(&centre);
        Ok(Prior {
            m: if level.probability {
                middle
            } else {
                middle.exp()
            },
            s: 0.0,
            h: WIDER * variance.sqrt(),
        })
    };
    let priors = levels(spec.kind, model)
        .iter()
        .map(one)
        .collect::<Result<_>>()?;
    Ok(Spec {
        pooling: Pooling::None,
        priors,
        population: Some(model.into()),
        ..spec.clone()
    })
}

fn mean_square(draws: &[f64]) -> f64 {
    draws.iter().map(|x| x * x).sum::<f64>() / draws.len() as f64
}

/// The means and standard deviations of the interim population by which the subjects of `model` were
/// fitted; none if its subjects have none.
pub(super) fn interim(levels: &[Level], model: &str) -> Option<Vec<[f64; 2]>> {
    let one = |level: &Level| {
        let left = format!("{}[subject] ~ Normal(", level.subject);
        let rest = model.lines().find_map(|line| line.strip_prefix(&left))?;
        let (mean, sd) = rest.strip_suffix(')')?.split_once(", ")?;
        Some([mean.parse().ok()?, sd.parse().ok()?])
    };
    levels.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Kind;

    #[test]
    fn the_interim_population_is_read_from_the_model_that_it_is_written_to() {
        let spec = Spec::default();
        let wide = |p: &Prior| Prior {
            s: 0.0,
            h: 1.7 * p.h,
            ..*p
        };
        let priors: Vec<Prior> = spec.priors.iter().map(wide).collect();
        let apart = Spec {
            pooling: Pooling::None,
            priors: priors.clone(),
            population: Some(spec.text()),
            ..spec.clone()
        };
        let found = interim(&levels(Kind::Rdex, &spec.text()), &apart.text()).expect("written");
        for ((prior, level), [mean, sd]) in priors.iter().zip(levels(Kind::Rdex, "")).zip(found) {
            let m = if level.probability {
                prior.m
            } else {
                prior.m.ln()
            };
            assert!(
                (mean - m).abs() < 1e-14 && (sd - prior.h).abs() < 1e-14,
                "{}",
                level.name
            );
        }
        assert_eq!(interim(&levels(Kind::Rdex, ""), &spec.text()), None);
    }
}
