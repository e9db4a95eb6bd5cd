//! Pages work as printed: their files are written, their commands run, and what they print
//! is compared with the page, but for names of processors and times. `cargo xtask gen` writes the
//! printed output anew.
//!
//! The comment `<!-- file: NAME -->` before a block makes it a file; `<!-- run: CODE -->` before a
//! block marked `console` makes it commands, each behind `$ ` and followed by its output (stderr,
//! then stdout). Python runs where ArviZ is there (`FITZROY_PYTHON`, by default `python3`); else
//! its output is not looked at, unless `FITZROY_REQUIRE_ARVIZ=1` or writing anew asks for it.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "../../../tests/docs/markdown.rs"]
mod markdown;
mod program;

use fitzroy_curve_fit::library::ENTRIES;
use markdown::{blocks, hold, root, with_section};
use program::{Scratch, program};
use std::process::Command;

#[test]
fn the_quickstart_works_as_printed() {
    works_as_printed("docs/quickstart.md");
}

#[test]
fn tables_are_read_as_their_page_prints() {
    works_as_printed("docs/data.md");
}

#[track_caller]
fn works_as_printed(page: &str) {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let scratch = Scratch::new(&page.replace('/', "-"));
    let mut wanted = String::new();
    let mut copied = 0;
    for block in blocks(page, &text) {
        if let Some(name) = block.noted("file") {
            scratch.file(name, &block.text);
        }
        if block.info != "console" {
            continue;
        }
        let code = block.noted("run").unwrap_or("0").parse().unwrap();
        let lines = block.text.lines();
        let mut new = String::new();
        for command in lines.filter_map(|line| line.strip_prefix("$ ")) {
            let present = printed_after(&block.text, command);
            let output = output_of(&scratch, command, code).unwrap_or(present);
            new += &format!("$ {command}\n{output}");
        }
        wanted += &text[copied..block.start];
        wanted += &new;
        copied = block.start + block.text.len();
    }
    wanted += &text[copied..];
    hold(page, &wanted);
}

#[test]
fn the_table_of_curves_is_what_the_code_says() {
    let name = "docs/curve-fit.md";
    let text = std::fs::read_to_string(root().join(name)).unwrap();
    let mut table = String::from("| curve | formula | |\n|---|---|---|\n");
    for curve in ENTRIES.iter() {
        let formula = curve.formula_in_one_line();
        let shown = match formula.len() {
            0..=90 => format!("`{}`", formula.replace('|', "\\|")),
            _ => format!("`fitzroy models {}` prints it", curve.name),
        };
        table += &format!("| `{}` | {shown} | {} |\n", curve.usage(), curve.about);
    }
    table += "| `polynomial(n)` | `c0 + c1*x + ... + cn*x^n` | A polynomial, n from 1 to 20. |\n";
    hold(name, &with_section(&text, "generated", &table));
}

/// What the page prints after a command.
fn printed_after(block: &str, command: &str) -> String {
    let rest = block.split_once(&format!("$ {command}\n")).unwrap().1;
    let lines = rest.lines().take_while(|line| !line.starts_with("$ "));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Runs a command of the page; `None` where its tool is missing.
fn output_of(scratch: &Scratch, command: &str, code: i32) -> Option<String> {
    let mut words = command.split_whitespace();
    let mut run = match words.next().unwrap() {
        "fitzroy" => program(&scratch.0),
        "python" => Command::new(python()?),
        other => panic!("the page runs `{other}`"),
    };
    let output = run.args(words).current_dir(&scratch.0).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (err, out) = (text(output.stderr), text(output.stdout));
    assert_eq!(output.status.code(), Some(code), "{command}\n{err}{out}");
    let kept = err
        .lines()
        .chain(out.lines())
        .filter(|line| !line.starts_with("["));
    Some(kept.map(|line| format!("{}\n", anywhere(line))).collect())
}

/// A line without what differs from machine to machine.
fn anywhere(line: &str) -> String {
    if line.starts_with("fitzroy ") {
        let (start, rest) = line.split_once("cpu ").unwrap();
        return format!("{start}cpu …  {}", &rest[rest.find("f64").unwrap()..]);
    }
    if line.starts_with("all ") {
        let (start, rest) = line.split_once("draws").unwrap();
        return format!("{start}draws  … s{}", rest.split_once(')').unwrap().1);
    }
    line.into()
}

/// An interpreter that has ArviZ.
fn python() -> Option<String> {
    let all = std::env::var("FITZROY_PYTHON").unwrap_or_else(|_| "python3".into());
    let first = all.split(':').next().unwrap().to_string();
    let found = Command::new(&first).args(["-c", "import arviz"]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(first);
    }
    // A page written anew without ArviZ would keep what Python printed of older draws.
    for name in ["FITZROY_REQUIRE_ARVIZ", "FITZROY_GENERATE"] {
        let required = std::env::var_os(name).is_some_and(|v| v == "1");
        assert!(!required, "{first} has no ArviZ, and {name} is set");
    }
    eprintln!("skipped: {first} has no ArviZ, so the Python of the quickstart was not run");
    None
}
