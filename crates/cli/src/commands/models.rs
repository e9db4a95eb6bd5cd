//! `fitzroy models [NAME]`.

use crate::args::Common;
use crate::exit::Outcome;
use crate::{json, terminal};
use clap::Args;
use fitzroy::{Error, ErrorKind, Result};
use serde_json::{Value, json};

/// Flags of `fitzroy models`.
#[derive(Args)]
#[command(after_help = "Example:\n  fitzroy models eight-schools > eight-schools.fz")]
pub(crate) struct ModelsArgs {
    /// The model to print; without it all are listed
    name: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// A model that comes along.
struct Example {
    name: &'static str,
    text: &'static str,
}

macro_rules! examples {
    ($($name:literal),+ $(,)?) => {
        &[$(Example {
            name: $name,
            text: include_str!(concat!("../../../../models/", $name, ".fz")),
        }),+]
    };
}

/// In the order of models/README.md: the simple ones first.
const EXAMPLES: &[Example] = examples![
    "linear",
    "logistic",
    "poisson",
    "negative-binomial",
    "hierarchical",
    "hierarchical-noncentred",
    "eight-schools",
    "eight-schools-noncentred",
    "radon",
    "artists",
    "conversion-funnel",
    "energy",
    "mixture",
    "random-walk",
    "pumps",
    "seeds",
    "rats",
];

impl Example {
    /// The comment in its first line.
    fn summary(&self) -> &'static str {
        let first = self.text.lines().next().unwrap_or_default();
        first.trim_start_matches('#').trim()
    }

    fn document(&self) -> Value {
        json!({"name": self.name, "summary": self.summary(), "text": self.text})
    }
}

/// Prints the list, or one model.
pub(crate) fn run(args: &ModelsArgs) -> Result<Outcome> {
    match &args.name {
        None if args.common.json => {
            let models: Vec<Value> = EXAMPLES.iter().map(Example::document).collect();
            json::print(&json!({ "models": models }));
        }
        None => {
            for example in EXAMPLES {
                terminal::out(format_args!("{:26} {}", example.name, example.summary()));
            }
            terminal::out("\nfitzroy models NAME prints one");
        }
        Some(name) => {
            let example = find(name)?;
            if args.common.json {
                json::print(&example.document());
            } else {
                terminal::out(example.text.trim_end());
            }
        }
    }
    Ok(Outcome::Done)
}

fn find(name: &str) -> Result<&'static Example> {
    let found = EXAMPLES.iter().find(|e| e.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = EXAMPLES.iter().map(|e| e.name).collect();
        let message = format!("there is no model `{name}`; there are {}", names.join(", "));
        Error::new(ErrorKind::Usage, message)
    })
}

#[cfg(test)]
mod tests {
    use super::EXAMPLES;
    use std::path::Path;

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
            assert!(example.summary().len() > 10, "{}", example.name);
        }
    }
}
