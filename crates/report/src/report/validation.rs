//! The report of `fitzroy validate`: were all checks passed?

use super::facts::{RunFacts, seconds};
use super::sampling::sampling_page;
use crate::draw::Scene;
use crate::figure::{Bar, Style, bar_figure};
use crate::page::{Block, Card, Cell, Column, Page, Section, State, Table, Verdict};
use crate::source::Source;
use fitzroy::Result;
use fitzroy::diagnose::Diagnosis;
use serde_json::Value;

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

/// A number as two runs have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Apart {
    /// The number as people write it.
    pub name: String,
    /// Its mean in both.
    pub means: [f64; 2],
    /// Its standard deviation in both.
    pub sds: [f64; 2],
    /// Largest distance of means, standard deviations and quantiles, in Monte Carlo standard errors.
    pub distance: f64,
    /// R-hat over the chains of both.
    pub r_hat: f64,
}

/// Two numbers of a list.
fn two(value: &Value) -> Option<[f64; 2]> {
    Some([value[0].as_f64()?, value[1].as_f64()?])
}

impl Apart {
    /// As `fitzroy validate` writes it in its document.
    pub(super) fn of(value: &Value) -> Option<Apart> {
        Some(Apart {
            name: value["name"].as_str()?.into(),
            means: two(&value["means"])?,
            sds: two(&value["sds"])?,
            distance: value["distance"].as_f64()?,
            r_hat: value["r_hat"].as_f64()?,
        })
    }
}

impl Contender {
    /// As `fitzroy validate` writes it in its document.
    pub(super) fn of(value: &Value) -> Option<Contender> {
        let stage = |s: &Value| Some((s[0].as_str()?.to_string(), s[1].as_f64()?));
        Some(Contender {
            name: value["name"].as_str()?.into(),
            stages: value["stages"]
                .as_array()?
                .iter()
                .filter_map(stage)
                .collect(),
            ess_per_s: value["ess_per_s"].as_f64().unwrap_or(f64::NAN),
            memory_bytes: value["memory_bytes"].as_u64(),
        })
    }

    fn total_s(&self) -> f64 {
        self.stages.iter().map(|(_, s)| s).sum()
    }
}

/// The page of a validation: the checks of `facts` first, then who was how fast, then the run.
///
/// # Errors
/// Draws that are not chains by draws.
pub fn validation_page(source: &Source<'_>, found: &Diagnosis, facts: &RunFacts) -> Result<Page> {
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
    sections.extend(speed(&facts.contenders));
    sections.extend(agreement(facts));
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

/// The numbers that are furthest apart on the two devices.
fn agreement(facts: &RunFacts) -> Option<Section> {
    let [first, second] = facts.contenders.as_slice() else {
        return None;
    };
    let row = |a: &Apart| -> Vec<Cell> {
        let said = crate::figure::said;
        let numbers = [a.means[0], a.means[1], a.sds[0], a.sds[1], a.distance];
        let mut cells = vec![Cell::from(a.name.clone())];
        cells.extend(numbers.map(|x| Cell::from(said(x))));
        cells.push(Cell::from(format!("{:.3}", a.r_hat)));
        cells
    };
    let of = |what: &str, who: &Contender| format!("{what}, {}", who.name);
    let table = Table {
        columns: vec![
            Column::text("number"),
            Column::number(&of("mean", first), ""),
            Column::number(&of("mean", second), ""),
            Column::number(&of("sd", first), ""),
            Column::number(&of("sd", second), ""),
            Column::number(
                "distance",
                "the largest of mean, sd and quantiles, in Monte Carlo standard errors",
            ),
            Column::number("R-hat", "over the chains of both"),
        ],
        rows: facts.apart.iter().map(row).collect(),
        ..Table::default()
    };
    let title = format!("Agreement of {} and {}", first.name, second.name);
    let section = Section::new(&title, vec![Block::Table(table)]);
    (!facts.apart.is_empty()).then_some(section)
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
