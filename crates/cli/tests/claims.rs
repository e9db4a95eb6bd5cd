//! What the documentation counts and lists is what the program has: commands, models, samplers, figures and
//! formats of data. Curves, distributions and functions stand in generated tables (`quickstart.rs` and
//! tests/docs of the library).
#![allow(clippy::unwrap_used)]

mod program;

use program::{Scratch, fitzroy, repository};
use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

type Names = BTreeSet<String>;

fn document(name: &str) -> String {
    fs::read_to_string(repository(name)).unwrap()
}

/// What stands first, in backticks, in the rows of the table below `header`; all of it if there is more.
fn rows(text: &str, header: &str) -> Names {
    let table = text
        .split_once(header)
        .unwrap_or_else(|| panic!("no {header}"))
        .1;
    let lines = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let cells = lines.map(|line| line.split('|').nth(1).unwrap());
    let quoted = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    quoted.map(str::to_string).collect()
}

/// The first words of lines up to an empty one.
fn first_words(text: &str) -> Names {
    let lines = text.lines().take_while(|line| !line.is_empty());
    let words = lines.filter_map(|line| line.split_whitespace().next());
    words.map(str::to_string).collect()
}

fn said(args: &[&str]) -> String {
    fitzroy(args).ends_with(0).out
}

/// The possible values of `flag` in the help of a command.
fn values(command: &str, flag: &str) -> Names {
    let help = said(&[command, "--help"]);
    let own = help.split_once(&format!("\n      --{flag} <")).unwrap().1;
    let own = own.split("\n      --").next().unwrap();
    let line = own.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((_, list)) = line.split_once("[possible values: ") {
        let list = list.split(']').next().unwrap();
        return list.split(", ").map(str::to_string).collect();
    }
    let list = own.split_once("Possible values:").unwrap().1;
    let named = list
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "));
    named
        .map(|line| line.split(':').next().unwrap().to_string())
        .collect()
}

/// The commands of the program, but for `help`.
fn commands() -> Names {
    let help = said(&["--help"]);
    let mut all = first_words(help.split_once("Commands:\n").unwrap().1);
    all.remove("help");
    all
}

fn models() -> Names {
    first_words(&said(&["models"]))
}

/// Endings of files that data are read from, as the reader says. It is asked once: tests that run
/// side by side would share its folder.
fn formats() -> &'static Names {
    static FORMATS: LazyLock<Names> = LazyLock::new(|| {
        let scratch = Scratch::new("claims");
        scratch.file("m.fz", "mu ~ Normal(0, 1)");
        scratch.file("d.xyz", "");
        let said = scratch
            .fitzroy(&["sample", "m.fz", "--data", "d.xyz"])
            .ends_with(2);
        endings(said.err.split_once("read from").unwrap().1)
    });
    &FORMATS
}

/// Words that begin with a dot.
fn endings(text: &str) -> Names {
    let words = text.split(|c: char| c.is_whitespace() || ",;`".contains(c));
    let own = words.filter(|w| w.starts_with('.') && w.len() > 1);
    own.map(|w| w.trim_end_matches('.').to_string()).collect()
}

#[test]
fn every_command_stands_in_the_readme() {
    let rows = rows(&document("README.md"), "| command | does |");
    let first = |row: &String| {
        row.trim_start_matches("fitzroy ")
            .split(' ')
            .next()
            .unwrap()
            .to_string()
    };
    assert_eq!(rows.iter().map(first).collect::<Names>(), commands());
}

#[test]
fn lists_in_the_documentation_are_those_of_the_program() {
    let read = rows(
        &document("models/README.md"),
        "| model | data | shows | parameters |",
    );
    // Beside each stands its file.
    let read: Names = read
        .into_iter()
        .filter(|name| !name.contains('.'))
        .collect();
    assert_eq!(read, models(), "models/README.md");
    let samplers = rows(
        &document("docs/samplers.md"),
        "| `--sampler` | a transition | take it when |",
    );
    assert_eq!(samplers, values("sample", "sampler"), "docs/samplers.md");
    let figures = rows(
        &document("docs/report.md"),
        "| `--kind` | shows | good | otherwise |",
    );
    assert_eq!(figures, values("plot", "kind"), "docs/report.md");
    let language = document("docs/model-language.md");
    assert_eq!(
        &rows(&language, "| file | arrays |"),
        formats(),
        "docs/model-language.md"
    );
    let help = said(&["sample", "--help"]);
    let data = help.split_once("A data file:").unwrap().1;
    assert_eq!(
        &endings(data.split("may be given").next().unwrap()),
        formats(),
        "--data"
    );
}

const UNITS: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 8] = [
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];

/// A number in digits or in words below a hundred.
fn number(word: &str) -> Option<usize> {
    let word = word.to_lowercase();
    let unit = |w: &str| UNITS.iter().position(|u| *u == w);
    let ten = |w: &str| TENS.iter().position(|t| *t == w).map(|k| 20 + 10 * k);
    if let Some((tens, rest)) = word.split_once('-') {
        return Some(ten(tens)? + unit(rest)?);
    }
    word.parse()
        .ok()
        .or_else(|| unit(&word))
        .or_else(|| ten(&word))
}

/// Numbers of `phrase` in `text`: "21 example models", "five samplers".
fn counted(text: &str, phrase: &str) -> Vec<usize> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let wanted: Vec<&str> = phrase.split(' ').collect();
    let bare = |w: &str| {
        w.trim_matches(|c: char| !c.is_alphanumeric())
            .to_lowercase()
    };
    let hits = words.windows(wanted.len() + 1);
    let hits = hits.filter(|w| w[1..].iter().zip(&wanted).all(|(w, own)| bare(w) == *own));
    hits.filter_map(|w| number(&bare(w[0]))).collect()
}

/// Catches: "seventeen models" after four more have come. Numbers of some of them are written otherwise.
#[test]
fn numbers_in_the_documentation_are_those_of_the_program() {
    // Some have a line for each way to write their arguments.
    let list = |flag: &str| {
        let all = first_words(&said(&["models", flag]));
        let names = all.iter().filter_map(|line| line.split('(').next());
        names.collect::<BTreeSet<_>>().len()
    };
    let facts = [
        ("example models", models().len()),
        ("models that come along", models().len()),
        ("samplers", values("sample", "sampler").len()),
        ("kinds of figures", values("plot", "kind").len()),
        ("formats of data", formats().len()),
        ("built-in curves", list("--curves")),
        ("distributions", list("--distributions")),
        ("commands", commands().len()),
    ];
    let mut pages: Vec<String> = vec![
        "README.md".into(),
        "COMPARE.md".into(),
        "ARCHITECTURE.md".into(),
    ];
    pages.push("models/README.md".into());
    for entry in fs::read_dir(repository("docs")).unwrap() {
        pages.push(format!(
            "docs/{}",
            entry.unwrap().file_name().to_string_lossy()
        ));
    }
    for page in pages.iter().filter(|page| page.ends_with(".md")) {
        for (phrase, fact) in facts {
            let wrong: Vec<usize> = counted(&document(page), phrase);
            let wrong: Vec<usize> = wrong.into_iter().filter(|n| *n != fact).collect();
            assert!(
                wrong.is_empty(),
                "{page}: {wrong:?} {phrase}, there are {fact}"
            );
        }
    }
}

#[test]
fn numbers_are_read_in_digits_and_in_words() {
    assert_eq!(
        counted(
            "It has **twenty-one example models**, 5 samplers.",
            "example models"
        ),
        [21]
    );
    assert_eq!(counted("Two of the samplers; 5 samplers.", "samplers"), [5]);
    assert_eq!(number("ninety-nine"), Some(99));
    assert_eq!(number("some"), None);
}
