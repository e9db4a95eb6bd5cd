//! What settings by name ask for: the flags of the program, for faces that take them as named
//! arguments. Messages name them as settings.

use crate::commands::{stop_signal, weather};
use clap::error::ErrorKind as Wrong;
use clap::{ArgMatches, Command};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_session::face::Face;
use fitzroy_session::weather::{Forecast, Scored};
use fitzroy_stop_signal::data::{Options, Study};
use fitzroy_stop_signal::model::Spec;
use fitzroy_weather::train::Event;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Settings and their values, as `name=value`; `name` alone for one that is on.
pub type Words = [String];

/// The model of a stop-signal fit and its trials, which `read` reads, by the settings of
/// `fitzroy stop-signal fit` that are about these.
///
/// # Errors
/// A setting is unknown, out of its range, or of a run; what is wrong with trials and subjects.
pub fn stop_signal_fit(
    words: &Words,
    read: impl FnOnce(&Options) -> Result<Study>,
) -> Result<(Spec, Study)> {
    as_settings(stop_signal::FitArgs::asked(words, read))
}

/// Trains, by the settings of `fitzroy weather train`; the document of the training, with its advice.
///
/// # Errors
/// Those of the flags and of the training.
pub fn train(
    words: &Words,
    stop: &AtomicBool,
    observer: &(dyn Fn(&Event<'_>) + Sync),
    face: &Arc<dyn Face>,
) -> Result<Value> {
    as_settings(weather::train(words, stop, observer, face))
}

/// Scores a checkpoint, by the settings of `fitzroy weather evaluate`; none if `progress` ended it.
///
/// # Errors
/// Those of the flags and of the scoring.
pub fn score(
    words: &Words,
    face: &Arc<dyn Face>,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Option<Scored>> {
    as_settings(weather::score(words, face, progress))
}

/// Writes a forecast, by the settings of `fitzroy weather predict`; the file beside it.
///
/// # Errors
/// Those of the flags and of the forecast.
pub fn forecast(words: &Words, face: &dyn Face) -> Result<(Forecast, PathBuf)> {
    as_settings(weather::forecast(words, face))
}

/// Settings as flags.
pub(crate) fn flags(words: &Words) -> impl Iterator<Item = String> {
    words.iter().map(|word| match word.split_once('=') {
        Some((name, value)) => format!("--{}={value}", name.replace('_', "-")),
        None => format!("--{}", word.replace('_', "-")),
    })
}

/// Trains with every combination of settings, as `fitzroy weather tune` does: `sweeps` are settings with the values that are
/// tried, as `latent-size=32,64`, `shared` those of every trial, which lie in the folder `out`. `told` hears of each trial
/// before it begins: its number from 1, and how many there are. The document names the trials that have ended, the best first.
///
/// # Errors
/// Those of the flags and of the trainings.
pub fn tune(
    sweeps: &Words,
    out: PathBuf,
    shared: &Words,
    stop: &AtomicBool,
    told: &dyn Fn(usize, usize),
    face: &Arc<dyn Face>,
) -> Result<Value> {
    as_settings(weather::tune(sweeps, out, shared, stop, told, face))
}

/// Writes one step of a checkpoint as a model of ONNX, by the settings of `fitzroy weather export`; the document names the file.
///
/// # Errors
/// Those of the flags and of the model.
pub fn export(words: &Words, face: &dyn Face) -> Result<Value> {
    as_settings(weather::export(words, face))
}

/// What a parser makes of settings.
pub(crate) fn matches(parser: Command, words: &Words, first: &[&str]) -> Result<ArgMatches> {
    let name = parser.get_name().to_string();
    let first = first.iter().map(ToString::to_string);
    let all = std::iter::once(name).chain(first).chain(flags(words));
    parser.try_get_matches_from(all).map_err(|error| {
        let asks = matches!(error.kind(), Wrong::DisplayHelp | Wrong::DisplayVersion);
        let shown = match asks {
            true => "help and version are of the program".into(),
            false => first_paragraph(&error),
        };
        Error::new(ErrorKind::Usage, shown)
    })
}

/// What is wrong with flags, without usage and tips.
pub(crate) fn first_paragraph(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    first.trim_start_matches("error: ").replace('\n', " ")
}

/// Errors with flags as settings.
fn as_settings<T>(result: Result<T>) -> Result<T> {
    result.map_err(|error| Error::new(error.kind(), settings(&error.to_string())))
}

/// Flags in what the program says as settings: `--batch-size` as `⟨batch_size⟩`.
pub fn settings(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        let after = &rest[at + 2..];
        let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let name = after.split(|c| !inside(c)).next().unwrap_or_default();
        out += &rest[..at];
        match name.starts_with(|c: char| c.is_ascii_lowercase()) {
            true => out += &format!("⟨{}⟩", name.replace('-', "_")),
            false => out += &rest[at..at + 2 + name.len()],
        }
        rest = without_placeholder(&after[name.len()..]);
    }
    out + rest
}

/// What follows a flag, without the word for its value: ` <UNIT>`.
fn without_placeholder(rest: &str) -> &str {
    let value = rest.strip_prefix(" <").and_then(|r| r.split_once('>'));
    match value {
        Some((word, after))
            if word
                .chars()
                .all(|c| c.is_ascii_uppercase() || "_:|".contains(c)) =>
        {
            after
        }
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fitzroy_stop_signal::data;

    fn words(all: &[&str]) -> Vec<String> {
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn flags_in_messages_are_settings() {
        let cases = [
            (
                "--batch-size is 0; or --only A",
                "⟨batch_size⟩ is 0; or ⟨only⟩ A",
            ),
            ("a -- b, 1--2, ---", "a -- b, 1--2, ---"),
            ("none", "none"),
            (
                "for '--unit <UNIT>' or --set <KEY=1>",
                "for '⟨unit⟩' or ⟨set⟩ <KEY=1>",
            ),
        ];
        for (text, want) in cases {
            assert_eq!(settings(text), want);
        }
    }

    /// Catches: a setting of a fit that a face cannot reach by its name.
    #[test]
    fn a_fit_is_asked_for_by_the_names_of_its_flags() {
        let asked = words(&[
            "pooling=none",
            "stop_lb=none",
            "quad=32",
            "unit=ms",
            "any_order",
        ]);
        let trials =
            "subject,stimulus,response,rt,ssd\na,0,1,500,\na,0,0,,200\nb,1,2,600,\nb,0,0,,300\n";
        let read = |options: &Options| {
            assert_eq!(options.unit_s, 0.001);
            assert!(options.any_order);
            data::parse(trials.as_bytes(), "a test", options)
        };
        let (spec, study) = stop_signal_fit(&asked, read).unwrap();
        assert_eq!(spec.nodes, 32);
        assert_eq!(spec.stop_lb, f64::NEG_INFINITY);
        assert_eq!(study.subjects, ["a", "b"]);
        let one = [&asked[..], &words(&["block=2/2"])].concat();
        assert_eq!(stop_signal_fit(&one, read).unwrap().1.subjects, ["b"]);
        for (word, want) in [
            ("stop_lb=high", "⟨stop_lb⟩ is `high`; give seconds, or none"),
            ("quad=99", "99 is not in 16..=32"),
            ("nothing=1", "unexpected argument '⟨nothing⟩' found"),
            ("help", "help and version"),
            ("block=x", "⟨block⟩ is `x`"),
            ("seed=3", "⟨seed⟩ is of the program's runs"),
            ("dry_run", "⟨dry_run⟩ is of the program's runs"),
        ] {
            let read = |options: &Options| data::parse(trials.as_bytes(), "a test", options);
            let error = stop_signal_fit(&words(&["unit=ms", word]), read).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(want), "{error}");
            assert!(!error.contains("Usage"), "{error}");
        }
    }

    #[test]
    fn a_training_without_data_is_refused_by_the_name_of_its_setting() {
        let (stop, face) = (AtomicBool::new(false), fitzroy_session::face::silent());
        let error = train(&words(&["num_epochs=2"]), &stop, &|_| {}, &face).unwrap_err();
        assert!(error.to_string().contains("⟨data⟩"), "{error}");
        let asked = words(&["data=nowhere.nc"]);
        assert!(train(&asked, &stop, &|_| {}, &face).is_err());
        let asked = words(&["data=nowhere.nc", "checkpoint=nowhere"]);
        assert!(score(&asked, &face, &mut |_, _| true).is_err());
        assert!(forecast(&asked, &*face).is_err());
    }
}
