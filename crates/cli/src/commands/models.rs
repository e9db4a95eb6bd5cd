//! `fitzroy models [NAME]`.

use crate::args::Common;
use crate::exit::Outcome;
use crate::{json, terminal};
use clap::Args;
use fitzroy::dist::{Entry, entries, entry};
use fitzroy::examples::{DISTRIBUTIONS, EXAMPLES, Example, find};
use fitzroy::model::functions::{FUNCTIONS, Function};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::library;
use serde_json::{Value, json};

/// Flags of `fitzroy models`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  fitzroy models eight-schools > eight-schools.fz\n  \
    fitzroy models --distributions\n  fitzroy models StudentT\n  fitzroy models --curves\n  \
    fitzroy models gaussian"
)]
pub(crate) struct ModelsArgs {
    /// The model, distribution or curve to print; without it all models are listed
    name: Option<String>,
    /// List the distributions that a model may use
    #[arg(long, conflicts_with = "name")]
    distributions: bool,
    /// List the functions that an expression may use
    #[arg(long, conflicts_with_all = ["name", "distributions"])]
    functions: bool,
    /// List the curves that `fitzroy curve-fit` knows by name
    #[arg(long, conflicts_with_all = ["name", "distributions", "functions"])]
    curves: bool,
    #[command(flatten)]
    common: Common,
}

/// Characters of a summary that still fit beside a name.
const LONG_SUMMARY: usize = 90;

/// The first sentence of the comment that a model begins with; of a long one what its colon explains.
fn summary(example: &Example) -> String {
    let comment = example.text.lines().map_while(|l| l.strip_prefix('#'));
    let text = comment.map(str::trim).collect::<Vec<_>>().join(" ");
    let sentence = text.split(". ").next().unwrap_or_default();
    let kept = match sentence.split_once(": ") {
        Some((first, _)) if sentence.len() > LONG_SUMMARY => first,
        _ => sentence,
    };
    kept.trim_end_matches('.').into()
}

fn document(example: &Example) -> Value {
    json!({"name": example.name, "summary": summary(example), "text": example.text})
}

/// Prints the list, or one model.
pub(crate) fn run(args: &ModelsArgs) -> Result<Outcome> {
    let as_json = args.common.json;
    match &args.name {
        _ if args.distributions => list_distributions(as_json),
        _ if args.functions => list_functions(as_json),
        _ if args.curves => list_curves(as_json),
        None if as_json => {
            let models: Vec<Value> = EXAMPLES.iter().map(document).collect();
            json::print(&json!({ "models": models }));
        }
        None => {
            for example in EXAMPLES {
                terminal::out(format_args!("{:26} {}", example.name, summary(example)));
            }
            terminal::out(
                "\nfitzroy models NAME prints one; --distributions and --functions list what a \
                 model may use, --curves what `fitzroy curve-fit` knows by name",
            );
        }
        Some(name) if library::entry(name).is_some() => {
            let curve = library::entry(name).expect("just found");
            match as_json {
                true => json::print(&curve_document(curve)),
                false => terminal::out(curve_section(curve)),
            }
        }
        Some(name) => match (find(name), entry(name)) {
            (Some(example), _) if as_json => json::print(&document(example)),
            (Some(example), _) => terminal::out(example.text.trim_end()),
            (None, Some(found)) if as_json => json::print(&described(&found)),
            // Brackets need no escape but in Markdown.
            (None, Some(found)) => terminal::out(section(&found).replace("\\[", "[")),
            (None, None) => return Err(unknown(name)),
        },
    }
    Ok(Outcome::Done)
}

fn list_distributions(as_json: bool) {
    if as_json {
        let all: Vec<Value> = entries().iter().map(described).collect();
        json::print(&json!({ "distributions": all }));
        return;
    }
    for entry in entries() {
        for (k, usage) in entry.usages().iter().enumerate() {
            let values = match k {
                0 => entry.forms[0].support_in_words(),
                _ => String::new(),
            };
            terminal::out(format_args!("{usage:56} {values}").to_string().trim_end());
        }
    }
    terminal::out("\nfitzroy models NAME prints the formula of one");
}

fn list_functions(as_json: bool) {
    if as_json {
        let one = |f: &Function| json!({"name": f.name, "usage": f.usage(), "meaning": f.meaning});
        let all: Vec<Value> = FUNCTIONS.iter().map(one).collect();
        json::print(&json!({ "functions": all }));
        return;
    }
    for function in &FUNCTIONS {
        terminal::out(format_args!("{:32} {}", function.usage(), function.meaning));
    }
}

fn list_curves(as_json: bool) {
    if as_json {
        let all: Vec<Value> = library::ENTRIES.iter().map(curve_document).collect();
        json::print(&json!({ "curves": all }));
        return;
    }
    for curve in library::ENTRIES.iter() {
        let first = curve.about.split_once([':', '(']);
        let about = first.map_or(curve.about, |(first, _)| first).trim();
        terminal::out(format_args!("{:54} {about}", curve.usage()));
    }
    terminal::out("polynomial(n), n from 1 to 20\n\nfitzroy models NAME prints the formula of one");
}

fn curve_document(curve: &library::Entry) -> Value {
    json!({
        "name": curve.name, "usage": curve.usage(), "predictors": curve.predictors,
        "parameters": curve.parameters, "formula": curve.formula_in_one_line(), "about": curve.about,
    })
}

/// A curve in words.
fn curve_section(curve: &library::Entry) -> String {
    let bounds = curve
        .bounds
        .iter()
        .map(|(name, low, _)| format!("{name} >= {low}"));
    let bounds: Vec<String> = bounds.collect();
    let bounds = match bounds.is_empty() {
        true => String::new(),
        false => format!("\n\nBounds: {}", bounds.join(", ")),
    };
    format!(
        "{}\n\n    {}\n\n{}{bounds}",
        curve.usage(),
        curve.formula_in_one_line(),
        curve.about
    )
}

/// A distribution as JSON.
fn described(entry: &Entry) -> Value {
    let form = |k: usize| {
        let form = entry.forms[k];
        let args = form.args().iter().map(|arg| {
            let default = arg.default.filter(|x| !x.is_nan()).map(json::number);
            json!({"name": arg.name, "required": arg.default.is_none(), "default": default})
        });
        json!({"usage": entry.usages()[k], "arguments": args.collect::<Vec<_>>()})
    };
    json!({
        "name": entry.name,
        "values": entry.forms[0].support_in_words(),
        "truncated": entry.forms[0].can_be_truncated(),
        "forms": (0..entry.forms.len()).map(form).collect::<Vec<_>>(),
    })
}

/// The section of the reference about a distribution.
fn section(entry: &Entry) -> &'static str {
    let heading = format!("\n### {}\n", entry.name);
    let found = DISTRIBUTIONS.split_once(&heading).map(|(_, rest)| rest);
    let rest = found.expect("a test holds the reference to the table");
    let end = rest.find("\n### ").or_else(|| rest.find("\n<!--"));
    rest[..end.unwrap_or(rest.len())].trim()
}

fn unknown(name: &str) -> Error {
    let names: Vec<&str> = EXAMPLES.iter().map(|e| e.name).collect();
    let message = format!(
        "there is no model, distribution or curve `{name}`; the models are {}; --distributions lists \
         the distributions, --curves the curves",
        names.join(", ")
    );
    Error::new(ErrorKind::Usage, message)
}

#[cfg(test)]
mod tests {
    use super::{EXAMPLES, section, summary};
    use fitzroy::dist::entries;
    use std::path::Path;

    #[test]
    fn every_distribution_has_its_section() {
        for entry in entries() {
            let text = section(&entry);
            assert!(text.contains(entry.name) && !text.contains('#'), "{text}");
            assert!(text.lines().count() >= 3, "{text}");
        }
    }

    #[test]
    fn every_model_of_the_folder_is_listed_and_says_what_it_is() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|e| e.unwrap().file_name().into_string().ok())
            .filter_map(|name| name.strip_suffix(".fz").map(str::to_string))
            .collect();
        files.sort();
        let mut listed: Vec<&str> = EXAMPLES.iter().map(|e| e.name).collect();
        listed.sort_unstable();
        assert_eq!(listed, files);
        for example in EXAMPLES {
            let length = summary(example).chars().count();
            assert!((11..=100).contains(&length), "{}", summary(example));
        }
    }
}
