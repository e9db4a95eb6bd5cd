//! The same curve handed to the sampler: its data, and where chains start.

use crate::fit::{Data, Estimate, Kind, Plan, Sigma};
use crate::method::dense::cholesky;
use fitzroy::data::{Array, Dataset};
use fitzroy::model::joint::{Joint, Parameter};
use fitzroy::rng::{Purpose, Rng};
use fitzroy::{Error, ErrorKind, Result};

/// Refuses fits whose flat posterior is no distribution.
///
/// # Errors
/// Parameters that the data do not determine.
pub fn check(estimate: &Estimate) -> Result<()> {
    if estimate.flags.contains(&"rank_deficient") {
        let message = format!(
            "⟨posterior⟩: the data do not determine all parameters, so the posterior under flat \
             priors is no distribution ({}); fix a parameter, or write the model with priors \
             (⟨to_model⟩)",
            estimate.findings.join("; ")
        );
        return Err(Error::new(ErrorKind::Data, message));
    }
    Ok(())
}

/// The arrays that the model's text reads; `y` and `sigma` as it calls them.
pub fn dataset(plan: &Plan, data: &Data<'_>, y: &str, sigma: Option<&str>) -> Dataset {
    let mut out = Dataset::new();
    let n = data.n_rows();
    for name in &plan.roles.predictors {
        let values = data.column(name).unwrap_or_default();
        let labels = data.label_columns();
        match labels.iter().find(|(column, _)| column == name) {
            Some((_, labels)) => {
                let cells = values.iter().map(|&k| labels[k as usize].clone()).collect();
                out.insert(Array::text(name, &[n], cells, "memory"));
            }
            None => out.insert_real(name, &[n], values.to_vec()),
        }
    }
    out.insert_real(y, &[n], data.response().to_vec());
    if let (Sigma::Each(values), Some(name)) = (&data.sigma, sigma) {
        out.insert_real(name, &[n], values.to_vec());
    }
    out
}

/// The unconstrained coordinate of `x` between two ends, moved inside when it is at one or beyond.
fn coordinate(x: f64, [low, high]: [f64; 2]) -> f64 {
    let room = if (high - low).is_finite() {
        1e-3 * (high - low)
    } else {
        1e-3 * x.abs().max(1e-3)
    };
    let x = x.max(low + room).min(high - room);
    match (low.is_finite(), high.is_finite()) {
        (false, false) => x,
        (true, false) => (x - low).ln(),
        (false, true) => (high - x).ln(),
        (true, true) => ((x - low) / (high - x)).ln(),
    }
}

/// A point for each chain, from the normal distribution of the fit, in the coordinates of `joint`.
pub fn starts(
    joint: &Joint,
    plan: &Plan,
    estimate: &Estimate,
    chains: usize,
    seed: u64,
) -> Vec<Vec<f64>> {
    let p = estimate.popt.len();
    let mut factor = estimate.pcov.clone();
    for k in 0..p {
        // What has no error starts where it is.
        if !factor[k * p + k].is_finite() || factor[k * p + k] <= 0.0 {
            for j in 0..p {
                (factor[k * p + j], factor[j * p + k]) = (0.0, 0.0);
            }
            factor[k * p + k] = f64::MIN_POSITIVE;
        }
    }
    let positive = cholesky(&mut factor, p);
    let one = |chain: usize| {
        let mut rng = Rng::new(seed, 0, chain as u32, 0, Purpose::Init);
        let z: Vec<f64> = (0..p).map(|_| rng.normal()).collect();
        let moved = |k: usize| -> f64 {
            let shift: f64 = (0..=k).map(|j| factor[k * p + j] * z[j]).sum();
            estimate.popt[k] + if positive { shift } else { 0.0 }
        };
        let mut point = vec![0.0; joint.n_sampled()];
        for parameter in joint.parameters() {
            for i in 0..parameter.len {
                let Some(slot) = point.get_mut(parameter.offset + i) else {
                    continue;
                };
                *slot = match fitted(plan, estimate, &parameter.name, i, &moved) {
                    Some(x) => start(x, parameter, i, &mut rng),
                    None => noise(estimate).ln() + 0.1 * rng.normal(),
                };
            }
        }
        point
    };
    (0..chains).map(one).collect()
}

/// The standard deviation of the noise, in units of σ where there are any.
fn noise(estimate: &Estimate) -> f64 {
    let s = estimate.reduced_chi2().sqrt();
    if s > 0.0 && s.is_finite() { s } else { 1.0 }
}

/// Element `i` of a parameter of the model, as fitted; `None` for the noise.
fn fitted(
    plan: &Plan,
    estimate: &Estimate,
    name: &str,
    i: usize,
    moved: &dyn Fn(usize) -> f64,
) -> Option<f64> {
    let own = plan
        .roles
        .parameters
        .iter()
        .position(|p| match &p.indexed {
            Some((base, _, label)) => base == name && *label == i,
            None => p.name == name,
        })?;
    let fitted = &estimate.parameters[own];
    let at = plan.free.iter().position(|&f| f == own);
    Some(match (fitted.kind, at) {
        (Kind::Free, Some(k)) => moved(k),
        _ => fitted.value,
    })
}

/// The coordinate at which a chain starts in an element whose fitted value is `x`. A prior may
/// exclude that value, or have ends that depend on other parameters: chains are then told apart by a
/// random shift of the coordinate.
fn start(x: f64, parameter: &Parameter, i: usize, rng: &mut Rng) -> f64 {
    let Some(range) = &parameter.range else {
        return rng.normal();
    };
    let ends @ [low, high] = range.at(i);
    let inside = low < x && x < high;
    let shift = if inside { 0.0 } else { 0.5 * rng.normal() };
    coordinate(x, ends) + shift
}
