//! Independent draws of a prior leave no state: whether a run of them is the same as before.

use fitzroy::draws::{Attribute, Trace, read_trace};
use fitzroy::model::joint::Joint;
use fitzroy::run::{self, Caller, Settings};
use fitzroy::{Error, ErrorKind, Result};
use serde_json::Value;
use std::path::Path;

/// What says which run a trace is of, and how people call it.
const IDENTITY: [(&str, &str); 3] = [
    ("fitzroy_version", "version of fitzroy"),
    ("fitzroy_hash", "model or data"),
    ("fitzroy_seed", "seed"),
];

/// Refuses to go on from the draws in `folder` with another model, other data, seed or settings but
/// for the number of draws. Each draw depends on the seed, its chain and its number alone, so one of
/// them, made here, says what all of them would be.
///
/// # Errors
/// They are of another run, naming what differs; they cannot be read; nothing can be drawn.
pub(super) fn is_same(folder: &Path, joint: &Joint, settings: &Settings) -> Result<()> {
    let mut one = settings.clone();
    one.sampler.draws = 1;
    let now = run::run(joint, &one, &Caller::silent())?.trace;
    let then = read_trace(folder)?;
    let other = IDENTITY
        .iter()
        .find(|(key, _)| text(&now, key) != text(&then, key))
        .map(|(_, what)| format!("another {what}"))
        .or_else(|| other_setting(&settings_of(&now), &settings_of(&then)));
    match other {
        None => Ok(()),
        Some(what) => Err(Error::new(
            ErrorKind::Usage,
            format!(
                "⟨resume⟩: the run to go on from was made with {what}; give it the same, or start \
                 anew with ⟨overwrite⟩ or another ⟨out⟩"
            ),
        )),
    }
}

fn text<'a>(trace: &'a Trace, key: &str) -> Option<&'a str> {
    let found = trace.attributes.iter().find(|(name, _)| name == key);
    match found {
        Some((_, Attribute::Text(text))) => Some(text),
        _ => None,
    }
}

fn settings_of(trace: &Trace) -> Value {
    let text = text(trace, "fitzroy_settings").unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

/// The first setting that is another; the number of draws may be.
fn other_setting(now: &Value, then: &Value) -> Option<String> {
    let mut all = now.as_object().into_iter().flatten();
    let found = all.find(|(name, value)| *name != "draws" && then[name.as_str()] != **value);
    found.map(|(name, value)| format!("{name} {}, not {value}", then[name.as_str()]))
}
