//! The documentation is true: every model in it works on its data or fails with the message that
//! stands below it, and every generated section is what the code gives.
//!
//! A model is a block marked `fz`; the comment `<!-- data: {...} -->` before it holds its data as
//! JSON. A model that is wrong on purpose is marked `fz error`, and the block after it is its
//! message. `cargo xtask gen` writes the generated sections.
#![allow(clippy::unwrap_used)]

mod distributions;
mod markdown;
mod models;

use fitzroy::Spelling;
use fitzroy::diagnose::FindingKind;
use fitzroy::model::functions::FUNCTIONS;
use fitzroy_device::gpu::{CompilerTrouble, Trouble};
use markdown::{documents, hold, with_section};
use std::fmt::Write;

#[test]
fn every_model_in_the_documentation_runs_on_its_data() {
    let found = documents()
        .into_iter()
        .map(|(name, text)| models::check(&name, &text));
    let (counts, wrong): (Vec<usize>, Vec<Vec<String>>) = found.unzip();
    let wrong = wrong.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let n: usize = counts.iter().sum();
    assert!(n >= 20, "only {n} models were found");
}

#[test]
fn the_reference_of_distributions_is_what_the_code_says() {
    let name = "docs/distributions.md";
    let text = std::fs::read_to_string(markdown::root().join(name)).unwrap();
    hold(
        name,
        &with_section(&text, "generated", &distributions::reference()),
    );
}

#[test]
fn the_table_of_functions_is_what_the_code_says() {
    let name = "docs/model-language.md";
    let text = std::fs::read_to_string(markdown::root().join(name)).unwrap();
    let mut table = String::from("| function | gives |\n|---|---|\n");
    for function in &FUNCTIONS {
        let _ = writeln!(
            table,
            "| `{}` | {} |",
            function.usage(),
            function.meaning.replace('|', "\\|")
        );
    }
    hold(name, &with_section(&text, "generated", &table));
}

#[test]
fn the_table_of_findings_is_what_the_code_says() {
    let name = "docs/diagnostics.md";
    let text = std::fs::read_to_string(markdown::root().join(name)).unwrap();
    let source =
        std::fs::read_to_string(markdown::root().join("src/diagnose/findings.rs")).unwrap();
    let mut table = String::from("| finding | what to do |\n|---|---|\n");
    for kind in FindingKind::all() {
        let variant = format!("    {kind:?},");
        let at = source.lines().position(|line| line == variant).unwrap();
        let meaning = source
            .lines()
            .nth(at - 1)
            .unwrap()
            .trim()
            .trim_start_matches("/// ");
        let meaning = meaning.trim_end_matches('.');
        let _ = writeln!(
            table,
            "| {meaning} | {} |",
            Spelling::Flags.spell(&kind.advice())
        );
    }
    hold(name, &with_section(&text, "generated", &table));
}

/// Catches: a file that was moved or renamed, and a heading that was.
/// Everything that can be wrong with a GPU, with the words that stand for its details in the table.
fn troubles() -> Vec<Trouble> {
    let file = || "FILE".into();
    let word = |text: &str| text.to_string();
    let all = vec![
        Trouble::NoDriver,
        Trouble::Unreadable {
            library: file(),
            reason: word("REASON"),
        },
        Trouble::TooOld {
            library: file(),
            function: word("FUNCTION"),
        },
        Trouble::OldDriver { version: (10, 2) },
        Trouble::Stub,
        Trouble::DriverMismatch,
        Trouble::NotPermitted { file: file() },
        Trouble::Hidden {
            visible: word("..."),
        },
        Trouble::NoDevice,
        Trouble::NoSuchDevice { asked: 5, count: 3 },
        Trouble::Busy,
        Trouble::NotReady,
        Trouble::NotStarted {
            name: word("NAME"),
            code: 7,
        },
        Trouble::Sharing { name: word("NAME") },
        Trouble::Compiler(CompilerTrouble::Missing {
            rejected: vec![word("WHY")],
        }),
        Trouble::Compiler(CompilerTrouble::Refused { log: word("LOG") }),
        Trouble::Compiler(CompilerTrouble::NoBuiltins { log: word("LOG") }),
        Trouble::OutOfMemory {
            needed: 5 << 20,
            free: Some(3 << 20),
        },
        Trouble::TooManyBlocks,
        Trouble::Watchdog,
        Trouble::Uncorrectable,
        Trouble::Crashed {
            name: word("NAME"),
            code: 7,
        },
        Trouble::Driver {
            call: "CALL",
            code: 7,
            name: word("NAME"),
        },
    ];
    // A kind that is new does not compile here: it belongs into the list, too.
    for trouble in &all {
        match trouble {
            Trouble::NoDriver
            | Trouble::Unreadable { .. }
            | Trouble::TooOld { .. }
            | Trouble::OldDriver { .. }
            | Trouble::Stub
            | Trouble::DriverMismatch
            | Trouble::NotPermitted { .. }
            | Trouble::Hidden { .. }
            | Trouble::NoDevice
            | Trouble::NoSuchDevice { .. }
            | Trouble::Busy
            | Trouble::NotReady
            | Trouble::NotStarted { .. }
            | Trouble::Sharing { .. }
            | Trouble::Compiler(
                CompilerTrouble::Missing { .. }
                | CompilerTrouble::Refused { .. }
                | CompilerTrouble::NoBuiltins { .. },
            )
            | Trouble::OutOfMemory { .. }
            | Trouble::TooManyBlocks
            | Trouble::Watchdog
            | Trouble::Uncorrectable
            | Trouble::Crashed { .. }
            | Trouble::Driver { .. } => {}
        }
    }
    all
}

#[test]
fn every_message_about_gpus_is_in_the_table_of_what_to_do() {
    let (_, page) = documents()
        .into_iter()
        .find(|(name, _)| name.ends_with("gpu.md"))
        .expect("the page");
    let table = page.split("## Messages and what to do").nth(1);
    let rows = table.expect("the table").lines();
    let first = rows.filter_map(|row| row.strip_prefix("| ")?.split(" | ").next());
    let messages: Vec<&str> = first.map(|m| m.trim_end_matches(" ...")).collect();
    for trouble in troubles() {
        let said = trouble.to_string();
        let said = said
            .replace('5', "N")
            .replace('3', "M")
            .replace('7', "CODE");
        let found = messages.iter().any(|m| m.len() > 10 && said.starts_with(m));
        assert!(found, "docs/gpu.md has no row for: {said}");
    }
}

#[test]
fn every_link_inside_the_repository_leads_somewhere() {
    let mut more = documents();
    for name in [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "COMPARE.md",
        "GOVERNANCE.md",
        "SECURITY.md",
        "models/README.md",
    ] {
        let text = std::fs::read_to_string(markdown::root().join(name)).unwrap();
        more.push((name.into(), text));
    }
    for (name, text) in &more {
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            if link.contains("://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let from = markdown::root().join(name);
            let to = match file {
                "" => from.clone(),
                _ => from.parent().unwrap().join(file),
            };
            assert!(to.exists(), "{name}: {link} is not there");
            if !heading.is_empty() {
                let target = std::fs::read_to_string(&to).unwrap();
                let found = target
                    .lines()
                    .filter(|l| l.starts_with('#'))
                    .any(|l| anchor(l) == heading);
                assert!(found, "{name}: no heading for {link}");
            }
        }
    }
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text
        .chars()
        .filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
