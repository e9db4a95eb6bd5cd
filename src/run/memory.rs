//! How much memory a run will need, known before anything large is made.

use super::Settings;
use super::keep::keeps;
use crate::model::ast::{Keep, Statement, Subscript};
use crate::model::families::values_of;
use crate::model::{Binding, Model, Role};
use crate::{Error, ErrorKind, Result};

/// Numbers that a chain keeps for each coordinate while it moves, roughly.
const PER_COORDINATE: f64 = 64.0;
/// Numbers for each observation that all chains share, its data in their copies while they are bound
/// included, and those that each chain has for itself, roughly. Regressions on one to five columns take
/// 30 to 100 and up to 2.
const PER_ROW: f64 = 128.0;
const PER_ROW_AND_CHAIN: f64 = 8.0;
/// Numbers that a chain keeps whatever the model, and for each draw (its statistics), roughly.
const PER_CHAIN: f64 = 2048.0;
const PER_DRAW: f64 = 11.0;

/// What a run needs, and what needs most of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Bytes of draws (of those on their way to the disk, where they stay there), warm-up windows and
    /// working memory.
    pub bytes: f64,
    /// Those of the draws after the warm-up.
    pub draws_bytes: f64,
    /// The variable with the most elements.
    pub largest: String,
    /// How many it has.
    pub largest_elements: f64,
}

/// What decides how much memory a run needs.
pub(super) struct Sizes {
    /// Coordinates that are sampled.
    pub(super) coordinates: f64,
    /// Numbers recorded of a draw.
    pub(super) recorded: f64,
    /// Observed values.
    pub(super) rows: f64,
    /// The variable with the most elements, and how many it has.
    pub(super) largest: (String, f64),
}

/// Estimates the memory of a run from sizes alone.
pub fn estimate(model: &Model, binding: &Binding, settings: &Settings) -> Estimate {
    let size = |name: &str| {
        binding
            .dim(name)
            .map_or(1.0, |d| binding.dims[d].size as f64)
    };
    let dims_of = |name: &str| -> f64 {
        let dims = model.symbols().get(name).map(|s| s.dims.as_slice());
        dims.unwrap_or_default().iter().map(|d| size(d)).product()
    };
    let (mut coordinates, mut recorded, mut rows) = (0.0, 0.0, 0.0);
    let mut largest = (String::new(), 0.0);
    for statement in model.statements() {
        let Some(name) = statement.name().map(|n| n.text.as_str()) else {
            continue;
        };
        let role = model.symbols().get(name).map(|s| s.role);
        let elements = match statement {
            Statement::Sampled(s) if s.predicted => {
                s.subscripts.iter().map(|s| extent(s, &size)).product()
            }
            _ => dims_of(name),
        };
        let kept = f64::from(u8::from(keeps(&settings.keep, name)));
        match (statement, role) {
            (Statement::Sampled(s), _) if s.predicted => recorded += elements,
            (Statement::Sampled(s), Some(Role::Parameter))
                if values_of(&s.distribution).discrete() =>
            {
                recorded += kept * elements;
            }
            (Statement::Sampled(_), Some(Role::Parameter)) => {
                coordinates += elements;
                recorded += kept * elements;
            }
            (Statement::Sampled(_), _) => rows += elements,
            (Statement::Computed(s), _) if s.keep != Keep::Local => {
                recorded += kept * elements;
            }
            _ => continue,
        }
        if elements > largest.1 {
            largest = (name.into(), elements);
        }
    }
    let missing = binding.arrays.iter().filter_map(|a| a.missing.as_ref());
    let n_missing = missing.clone().map(|m| m.at.len() as f64).sum::<f64>();
    let sampled = missing.filter(|m| !m.is_discrete);
    let sizes = Sizes {
        coordinates: coordinates + sampled.map(|m| m.at.len() as f64).sum::<f64>(),
        recorded: recorded + n_missing,
        rows: rows - n_missing,
        largest,
    };
    estimate_of(sizes, settings)
}

/// The memory of a run of these sizes.
pub(super) fn estimate_of(sizes: Sizes, settings: &Settings) -> Estimate {
    let Sizes {
        coordinates,
        recorded,
        rows,
        largest,
    } = sizes;
    let sampler = &settings.sampler;
    let chains = sampler.chains as f64;
    let kept = if sampler.keep_warmup {
        sampler.tune as f64
    } else {
        0.0
    };
    let copies =
        f64::from(u8::from(settings.log_likelihood)) + f64::from(u8::from(settings.predictive));
    let draws = chains * sampler.draws as f64 * (coordinates + recorded + rows * copies);
    // Independent draws of a prior are made at once.
    let limit = settings.in_memory_bytes.filter(|_| !settings.prior_only);
    let on_disk = limit.is_some_and(|limit| 8.0 * draws > limit as f64);
    let held = match on_disk {
        true => BLOCKS_BYTES / 8.0,
        false => draws,
    };
    let numbers = held
        + chains * kept * (coordinates + recorded)
        + chains * sampler.tune as f64 * coordinates // Warm-up windows: draws and slopes.
        + chains * (PER_CHAIN + PER_DRAW * if on_disk { 0.0 } else { sampler.draws as f64 })
        + chains * PER_COORDINATE * coordinates
        + (PER_ROW + chains * PER_ROW_AND_CHAIN) * rows;
    Estimate {
        bytes: 8.0 * numbers,
        draws_bytes: 8.0 * draws,
        largest: largest.0,
        largest_elements: largest.1,
    }
}

fn extent(subscript: &Subscript, size: &dyn Fn(&str) -> f64) -> f64 {
    match subscript {
        Subscript::At(e) => size(&e.to_string()),
        Subscript::Slice { .. } => 1.0,
    }
}

/// Whether the draws of a kept run are on the disk alone, see [`Settings::in_memory_bytes`].
pub(super) fn stays_on_disk(need: &Estimate, settings: &Settings) -> bool {
    let limit = settings.in_memory_bytes;
    limit.is_some_and(|limit| need.draws_bytes > limit as f64)
}

/// Memory of the blocks on their way to the disk, roughly.
const BLOCKS_BYTES: f64 = 400e6;

/// Refuses a run that needs more than the limit of `settings`: `need`, as estimated.
///
/// # Errors
/// [`ErrorKind::Device`], with both sizes and what to change.
pub(super) fn check(need: &Estimate, settings: &Settings) -> Result<()> {
    let Some(limit) = settings.memory_limit_bytes else {
        return Ok(());
    };
    if need.bytes <= limit as f64 {
        return Ok(());
    }
    let sampler = &settings.sampler;
    Err(Error::new(
        ErrorKind::Device,
        format!(
            "{} chains of {} draws need about {} of memory, {} is free; the largest variable is \
             `{}` with {} elements in each draw; ask for fewer draws or chains, or make its dims \
             smaller",
            sampler.chains,
            sampler.draws,
            size_text(need.bytes),
            size_text(limit as f64),
            need.largest,
            need.largest_elements,
        ),
    ))
}

/// Bytes as people say them: `3.2 GiB`.
fn size_text(bytes: f64) -> String {
    let (mut value, mut unit) = (bytes, "bytes");
    for next in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    format!("{value:.1} {unit}")
}
