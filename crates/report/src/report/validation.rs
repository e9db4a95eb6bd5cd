//! The report of `fitzroy validate`: were all checks passed?

use super::facts::{RunFacts, seconds};
use super::sampling::sampling_page;
use crate::draw::Scene;
use crate::figure::{Bar, Style, bar_figure};
use crate::page::{Block, Card, Cell, Column, Page, Section, State, Table, Verdict};
use crate::source::Source;
use fitzroy::Result;
use fitzroy::diagnose::Diagnosis;

/// One way of sampling the same model, for comparison: CPU, GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Contender {
    /// What it is: "CPU, AVX-512".
    pub name: String,
    /// Seconds of each stage: name and time, in order.
    pub stages: Vec<(String, f64)>,
    /// Smallest bulk ESS over the seconds of sampling.
    pub ess_per_s: f64,
    /// Memory at most, in bytes, where known.
    pub memory_bytes: Option<u64>,
}

impl Contender {
    fn total_s(&self) -> f64 {
        self.stages.iter().map(|(_, s)| s).sum()
    }
}

/// The page of a validation: the checks of `facts` first, then who was how fast, then the run.
///
/// # Errors
/// Draws that are not chains by draws.
pub fn validation_page(
    source: &Source<'_>,
    found: &Diagnosis,
    facts: &RunFacts,
    contenders: &[Contender],
) -> Result<Page> {
    let mut page = sampling_page(source, found, facts)?;
    page.title = "Validation".into();
    page.kind = "A three-level data set with known truth, sampled and checked".into();
    page.verdict = Some(verdict(facts));
    let passed = facts.checks.iter().filter(|c| c[1] == "PASS").count();
    let made = facts.checks.iter().filter(|c| c[1] != "SKIP").count();
    page.cards.retain(|card| card.label != "least ESS, tails");
    let card = Card::new("checks passed", &format!("{passed} of {made}"));
    page.cards.insert(
        0,
        card.state(if passed == made {
            State::Good
        } else {
            State::Bad
        }),
    );
    let mut sections = vec![Section::new("Checks", vec![Block::Table(checks(facts))])];
    if let Some(section) = speed(contenders) {
        sections.push(section);
    }
    page.sections.splice(0..0, sections);
    Ok(page)
}

fn verdict(facts: &RunFacts) -> Verdict {
    let of = |word: &'static str| facts.checks.iter().filter(move |c| c[1] == word);
    let say = |c: &[String; 3]| (format!("{}: {}", c[0], c[2]), String::new());
    let failed = of("FAIL").count();
    let (state, headline) = match failed {
        0 => (State::Good, "Every check passed".to_string()),
        1 => (State::Bad, "1 check failed".into()),
        n => (State::Bad, format!("{n} checks failed")),
    };
    let mut findings: Vec<_> = of("FAIL").map(say).collect();
    findings.extend(of("SKIP").map(|c| (format!("skipped: {}", c[2]), String::new())));
    let detail = "The machine computes as it should, the sampler converges, intervals hold the truth, \
                  and the model predicts its data.";
    let detail = match failed {
        0 => detail.into(),
        _ => format!(
            "{} checks passed; what failed is named below.",
            of("PASS").count()
        ),
    };
    Verdict {
        state,
        headline,
        detail,
        findings,
    }
}

fn checks(facts: &RunFacts) -> Table {
    let row = |[name, verdict, detail]: &[String; 3]| {
        let (state, sign) = match verdict.as_str() {
            "PASS" => (State::Good, "✓ "),
            "FAIL" => (State::Bad, "✗ "),
            _ => (State::Plain, ""),
        };
        let word = Cell::from(format!("{sign}{verdict}")).state(state);
        vec![word, name.as_str().into(), detail.as_str().into()]
    };
    Table {
        columns: ["verdict", "check", "detail"].map(Column::text).into(),
        rows: facts.checks.iter().map(row).collect(),
        ..Table::default()
    }
}

/// Bars of seconds by contender and stage; with two contenders also how many times faster.
pub fn performance_figure(contenders: &[Contender]) -> Scene {
    let mut bars = Vec::new();
    for (k, contender) in contenders.iter().enumerate() {
        let stages = contender.stages.iter();
        bars.extend(stages.map(|(stage, s)| Bar {
            series: k,
            note: seconds(*s),
            ..Bar::new(format!("{}: {stage}", contender.name), *s)
        }));
        bars.push(Bar {
            series: k,
            note: format!("{} in total", seconds(contender.total_s())),
            ..Bar::new(format!("{}: total", contender.name), contender.total_s())
        });
    }
    let title = match contenders {
        [a, b] => {
            let times = a.total_s() / b.total_s();
            format!(
                "{} takes {} times as long as {}",
                a.name,
                crate::figure::said(times),
                b.name
            )
        }
        _ => "Where the time goes".into(),
    };
    bar_figure(&bars, &title, "seconds", &Style::default())
}

fn speed(contenders: &[Contender]) -> Option<Section> {
    if contenders.len() < 2 {
        return None;
    }
    let first = contenders.first()?;
    let row = |c: &Contender| -> Vec<Cell> {
        let memory = c.memory_bytes.map_or("–".into(), |b| {
            format!("{} MiB", crate::figure::said(b as f64 / 1_048_576.0))
        });
        let times = crate::figure::said(first.total_s() / c.total_s());
        let rate = crate::figure::said(c.ess_per_s);
        let total = seconds(c.total_s());
        [c.name.clone(), total, rate, memory, times]
            .map(Cell::from)
            .into()
    };
    let table = Table {
        columns: vec![
            Column::text("device"),
            Column::number("total", "seconds of all stages"),
            Column::number(
                "ESS a second",
                "smallest bulk ESS over the seconds of sampling",
            ),
            Column::number("memory", "at most"),
            Column::number("speed-up", "how many times as fast as the first"),
        ],
        rows: contenders.iter().map(row).collect(),
        ..Table::default()
    };
    let figure = Block::Figure {
        scene: performance_figure(contenders),
        caption: String::new(),
    };
    Some(Section::new("Speed", vec![Block::Table(table), figure]))
}
