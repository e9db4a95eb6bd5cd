//! What a kept run leaves behind, and whether another may go on from it.

use super::super::Settings;
use super::super::subject::{DATA, DENSITY, MODEL, Subject};
use super::super::trace::settings_json;
use super::super::watch::Spent;
use super::draws_in_a_share;
use crate::draws::{Attribute, Chunks, Flush, Store, Trace, put_file};
use crate::fit::sample::Checkpoint;
use crate::{Error, ErrorKind, Result};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The folder of the draws inside that of a run.
pub const STREAM: &str = "run.zarr";
/// The folder of the sampler's states.
pub const STATE: &str = "run.state";

/// The attribute of the number of draws per chain.
pub(super) const DRAWS: &str = "fitzroy_draws";
/// The attribute of a run whose density as rewritten was refused.
pub(super) const AS_WRITTEN: &str = "fitzroy_as_written";

/// A run to go on from.
pub struct Saved {
    /// The sampler's state.
    pub(super) checkpoint: Checkpoint,
    /// The draws before it, with everything that the store holds; where the draws stay on the
    /// disk those of the last chunk alone.
    pub(super) trace: Trace,
    /// Number of the first of these.
    pub(super) first_draw: usize,
    /// Draws per chain.
    pub(super) n_draws: usize,
    /// How the store is cut.
    pub(super) chunks: Chunks,
    /// Number of the next state file.
    pub(super) next_state: usize,
    /// Seconds so far.
    pub(super) spent: Spent,
    /// Whether it samples the density as written.
    as_written: bool,
}

impl Saved {
    /// Whether it samples the density as written.
    pub(in crate::run) fn as_written(&self) -> bool {
        self.as_written
    }

    /// The groups of the draws.
    pub(in crate::run) fn groups(&self) -> &[crate::draws::Group] {
        &self.trace.groups
    }

    /// Draws per chain that the run has made.
    pub fn n_draws(&self) -> usize {
        self.n_draws
    }

    /// Warm-up transitions or draws made, as people say it.
    pub fn place(&self) -> String {
        match self.checkpoint.phase() {
            crate::fit::sample::Phase::Warmup => {
                format!("warm-up transition {}", self.checkpoint.done())
            }
            crate::fit::sample::Phase::Sampling => format!("draw {}", self.n_draws),
        }
    }
}

/// Settings that may be others when a run goes on.
const FREE: [&str; 1] = ["draws"];

/// What a publication says of the run, so that nobody goes on from another.
pub(super) fn identity(subject: Subject<'_>, settings: &Settings) -> Vec<(String, Attribute)> {
    let text = |value: String| Attribute::Text(value);
    let [own, data] = subject.fingerprints();
    vec![
        (
            "fitzroy_version".into(),
            text(env!("CARGO_PKG_VERSION").into()),
        ),
        (own.0.into(), text(own.1)),
        (data.0.into(), text(data.1)),
        (
            "fitzroy_seed".into(),
            text(settings.sampler.seed.to_string()),
        ),
        (
            "fitzroy_settings".into(),
            text(settings_json(settings).to_string()),
        ),
    ]
}

/// The sampler's state in a file.
fn checkpoint(path: &Path) -> Result<Checkpoint> {
    let bytes = fs::read(path).map_err(|error| {
        let message = format!(
            "{}: {error}; its draws can be read, but nothing can go on without the state: start \
             anew with ⟨overwrite⟩ or another ⟨out⟩",
            path.display()
        );
        Error::new(ErrorKind::Io, message)
    })?;
    Checkpoint::from_bytes(&bytes).map_err(|e| e.context(path.display()))
}

/// The run that `folder` keeps; none where there is none.
///
/// # Errors
/// [`ErrorKind::Usage`] for another model, other data or other settings, naming what differs;
/// `Data` for damaged files.
pub fn open<'a>(
    folder: &Path,
    subject: impl Into<Subject<'a>>,
    settings: &Settings,
) -> Result<Option<Saved>> {
    let subject = subject.into();
    let root = folder.join(STREAM);
    if !root.join("zarr.json").is_file() {
        return Ok(None);
    }
    let context = |error: Error| error.context(root.display());
    let store = Store::open(&root).map_err(context)?;
    let find = |name: &str| store.attributes.iter().find(|(n, _)| n == name);
    let text = |name: &str| match find(name) {
        Some((_, Attribute::Text(text))) => text.clone(),
        _ => String::new(),
    };
    for (name, now) in identity(subject, settings) {
        let Attribute::Text(now) = now else { continue };
        check(&name, &text(&name), &now)?;
    }
    let whole = |name: &str| match find(name) {
        Some((_, Attribute::Integer(n))) => usize::try_from(*n).ok(),
        _ => None,
    };
    let state = text("fitzroy_state");
    if state.is_empty() && whole(DRAWS) == Some(0) {
        // It ended before its first block: there is nothing to go on from, and nothing to lose.
        return Ok(None);
    }
    let (Some(n_draws), Some(chunk_draws), false) =
        (whole(DRAWS), whole("fitzroy_chunk_draws"), state.is_empty())
    else {
        let message = "the store holds no state to go on from; start anew with ⟨overwrite⟩";
        return Err(context(Error::new(ErrorKind::Data, message)));
    };
    store.check_chunk_keys().map_err(context)?;
    let checkpoint = checkpoint(&folder.join(&state))?;
    if checkpoint.n_draws() != n_draws {
        let message = format!(
            "its state has {} draws, the store {n_draws}",
            checkpoint.n_draws()
        );
        return Err(context(Error::new(ErrorKind::Data, message)));
    }
    let chunks = Chunks {
        draws: chunk_draws.max(1),
        elements: whole("fitzroy_chunk_elements").unwrap_or(usize::MAX),
    };
    let first_draw = match draws_in_a_share(subject, settings) {
        Some(_) => n_draws - n_draws % chunks.draws,
        None => 0,
    };
    let number = state.trim_end_matches(".bin").rsplit('/').next();
    let number = number.and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
    Ok(Some(Saved {
        checkpoint,
        trace: store.trace_of(first_draw..n_draws).map_err(context)?,
        first_draw,
        n_draws,
        chunks,
        next_state: number + 1,
        as_written: find(AS_WRITTEN).is_some(),
        spent: Spent::read(find),
    }))
}

/// Refuses what differs, in words.
fn check(name: &str, then: &str, now: &str) -> Result<()> {
    if then == now {
        return Ok(());
    }
    let differs = match name {
        MODEL => "was made with another model".to_string(),
        DENSITY => "was made with another density".to_string(),
        DATA => "was made with other data".to_string(),
        "fitzroy_seed" => format!("has seed {then}, not {now}"),
        "fitzroy_version" => format!("was made by version {then}, this is {now}"),
        _ => match other_settings(then, now) {
            list if list.is_empty() => return Ok(()),
            list => format!("has other settings: {}", list.join(", ")),
        },
    };
    let message = format!(
        "⟨resume⟩: the run to go on from {differs}; give it the same model, data and settings, or \
         start anew with ⟨overwrite⟩ or another ⟨out⟩"
    );
    Err(Error::new(ErrorKind::Usage, message))
}

/// `target_accept 0.8, not 0.9` for everything that must not differ.
fn other_settings(then: &str, now: &str) -> Vec<String> {
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    let (then, now) = (parse(then), parse(now));
    let keys = |of: &Value| -> Vec<String> {
        of.as_object()
            .map_or(Vec::new(), |o| o.keys().cloned().collect())
    };
    // A choice of variables stands only where there is one.
    let mut names = keys(&now);
    names.extend(
        keys(&then)
            .into_iter()
            .filter(|name| now.get(name).is_none()),
    );
    names
        .iter()
        .filter(|name| !FREE.contains(&name.as_str()) && then[*name] != now[*name])
        .map(|name| format!("{name} {}, not {}", then[name], now[name]))
        .collect()
}

/// Writes a state and notes its name and its draws among the attributes of a publication.
pub(super) fn write_state(
    folder: &Path,
    number: usize,
    state: &[u8],
    attributes: &mut Vec<(String, Attribute)>,
    n_draws: usize,
    flush: Flush,
) -> Result<()> {
    let name = format!("{STATE}/{number}.bin");
    put_file(&folder.join(&name), state, flush)?;
    attributes.push(("fitzroy_state".into(), Attribute::Text(name)));
    attributes.push((DRAWS.into(), Attribute::Integer(n_draws as i64)));
    Ok(())
}

/// Removes the states that no publication names any more. What cannot be removed does no harm.
pub(super) fn remove_states_before(folder: &Path, number: usize) {
    for entry in fs::read_dir(folder.join(STATE))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let older = name
            .strip_suffix(".bin")
            .and_then(|n| n.parse::<usize>().ok());
        if older.is_some_and(|n| n < number) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
