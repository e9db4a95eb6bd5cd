//! The report of a run of a sampler.

use super::facts::{RunFacts, attribute, number, seconds, settings};
use super::figures::Figures;
use super::parts::{Part, side_by_side};
use super::text::{CITATIONS, RUN_CAPTIONS as SAY};
use crate::draw::Scene;
use crate::figure::{Bar, Style, bar_figure, count, predictive_figure};
use crate::page::{Block, Card, Cell, Column, LiveSeries, Page, Section, State, Table, Verdict};
use crate::source::{Element, Source};
use fitzroy::Result;
use fitzroy::diagnose::{self, DIVERGENT_LIMIT, Diagnosis, ESS_LIMIT, RHAT_LIMIT, Row};
use fitzroy::report::{r_hat, rounded, summary_csv, verdict_line, whole};

/// Numbers whose traces stand in the page.
const SHOWN: usize = 12;
/// Bytes of draws that a page carries, in base64.
const LIVE_BYTES: usize = 1_000_000;
/// Bytes of the summary up to which it can be downloaded from the page.
const CSV_BYTES: usize = 2_200_000;
/// Bytes that a row of the summary has at least.
const CSV_ROW_BYTES: usize = 25;
/// Rows of the table.
const ROWS: usize = 10_000;

/// The page of a run: verdict, cards, summary, figures, predictive checks, settings, model.
///
/// # Errors
/// Draws that are not chains by draws.
pub fn sampling_page(source: &Source<'_>, found: &Diagnosis, facts: &RunFacts) -> Result<Page> {
    let trace = source.trace();
    let mut page = Page::new(&facts.name);
    page.kind = match source.is_prior() {
        true => "Draws from the prior, without the data".into(),
        false => "Posterior sampling".into(),
    };
    page.facts = head(source, found, facts);
    page.verdict = Some(verdict(source, found, facts));
    page.cards = cards(source, found, facts);
    page.footer = format!(
        "Fitzroy {}. Intervals are {}.",
        env!("CARGO_PKG_VERSION"),
        interval(found)
    );

    let all = source.elements(&[])?;
    let (shown, left_out) = source.worst_first(&all, &found.summary.rows, SHOWN);
    let figures = Figures {
        source,
        found,
        facts,
        style: style(found),
        draws: source.draws(&shown, 0),
        left_out,
        all: &all,
    };
    let parts: [&Part<'_>; 8] = [
        &|page| summary_section(page, source, found, &all, &shown),
        &|page| figures.traces(page),
        &|page| figures.posteriors(page),
        &|page| figures.forest(page),
        &|page| figures.ranks(page),
        &|page| figures.energy(page),
        &|page| predictive_section(page, source, facts.threads),
        &|page| timing_section(page, facts),
    ];
    side_by_side(&mut page, &parts, facts.threads);
    page.sections
        .push(Section::new("Settings", vec![Block::Facts(settings(trace))]).folded());
    if let Some(model) = attribute(trace, "fitzroy_model") {
        page.sections.push(Section::model(&model, &facts.command));
    }
    let cite = CITATIONS.iter().map(|c| Block::Text((*c).into())).collect();
    page.sections.push(Section::new("Citations", cite).folded());
    Ok(page)
}

fn interval(found: &Diagnosis) -> String {
    let s = &found.summary.statistics;
    let percent = crate::figure::said(100.0 * s.ci_prob);
    format!("{percent} % {}", s.ci_kind.label())
}

fn style(found: &Diagnosis) -> Style {
    Style {
        ci_prob: found.summary.statistics.ci_prob,
        ci_kind: found.summary.statistics.ci_kind,
        live: true,
        ..Style::default()
    }
}

fn head(source: &Source<'_>, found: &Diagnosis, facts: &RunFacts) -> Vec<(String, String)> {
    let trace = source.trace();
    let mut out = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|v| !v.is_empty()) {
            out.push((name.to_string(), value));
        }
    };
    let summary = &found.summary;
    let draws = format!(
        "{} chains × {}",
        count(summary.n_chains),
        count(summary.n_draws)
    );
    add("draws", Some(draws));
    add("numbers", Some(count(summary.rows.len())));
    add("date", attribute(trace, "created_at"));
    add("device", Some(facts.device.clone()));
    add("GPUs", Some(facts.gpus.join("; ")));
    add("precision", attribute(trace, "fitzroy_precision"));
    add("seed", attribute(trace, "fitzroy_seed"));
    let by = attribute(trace, "inference_library").unwrap_or_default();
    let version = attribute(trace, "inference_library_version").unwrap_or_default();
    add("sampled by", Some(format!("{by} {version}").trim().into()));
    out
}

fn verdict(source: &Source<'_>, found: &Diagnosis, facts: &RunFacts) -> Verdict {
    let state = match found.verdict() {
        diagnose::Verdict::Converged => State::Good,
        diagnose::Verdict::InQuestion => State::Warn,
        diagnose::Verdict::NotConverged => State::Bad,
    };
    let headline = found.verdict().sentence();
    let line = verdict_line(found);
    let numbers = line
        .split_once("  ")
        .map_or(line.as_str(), |(_, rest)| rest);
    let mut detail = format!("{numbers}.");
    if source.is_prior() {
        detail +=
            " These are draws from the prior: they say what the model expects before it sees data.";
    }
    if let Some((done, all)) = facts.running {
        detail = format!(
            "The run goes on: {} of {} draws. {detail}",
            count(done),
            count(all)
        );
    }
    let mut findings: Vec<(String, String)> = Vec::new();
    for same in found.findings.chunk_by(|a, b| a.advice == b.advice) {
        for (k, finding) in same.iter().enumerate() {
            let last = k + 1 == same.len();
            let advice = if last {
                finding.advice.clone()
            } else {
                String::new()
            };
            findings.push((finding.fact.clone(), advice));
        }
    }
    Verdict {
        findings,
        ..Verdict::new(state, headline, &detail)
    }
}

/// The row with the worst of something.
fn worst(found: &Diagnosis, pick: impl Fn(&Row) -> f64) -> String {
    let rows = found
        .summary
        .rows
        .iter()
        .filter(|r| pick(r).is_finite() && r.statistics.sd != 0.0);
    let row = rows.max_by(|a, b| pick(a).total_cmp(&pick(b)));
    row.map_or(String::new(), |r| format!("at {}", r.label()))
}

fn judged(good: bool) -> State {
    if good { State::Good } else { State::Bad }
}

fn cards(source: &Source<'_>, found: &Diagnosis, facts: &RunFacts) -> Vec<Card> {
    let (bulk, tail) = (found.min_ess_bulk, found.min_ess_tail);
    let mut out = vec![
        Card::new("largest R-hat", &r_hat(found.max_r_hat))
            .note(worst(found, |r| r.statistics.r_hat))
            .state(judged(found.max_r_hat < RHAT_LIMIT)),
        Card::new("least ESS, bulk", &whole(bulk))
            .note(worst(found, |r| -r.statistics.ess_bulk))
            .state(judged(bulk > ESS_LIMIT)),
        Card::new("least ESS, tails", &whole(tail))
            .note(worst(found, |r| -r.statistics.ess_tail))
            .state(judged(tail > ESS_LIMIT)),
    ];
    let total = found.summary.n_chains * found.summary.n_draws;
    out.push(match found.divergences {
        Some(n) => Card::new("divergences", &count(n))
            .note(format!("of {} draws", count(total)))
            .state(match n {
                0 => State::Good,
                n if (n as f64) < DIVERGENT_LIMIT * total as f64 => State::Warn,
                _ => State::Bad,
            }),
        None => Card::new("divergences", "unknown").note("no sampler statistics in the trace"),
    });
    let sampling = number(source.trace(), "sampling_time").filter(|s| *s > 0.0);
    if let Some(s) = sampling.filter(|_| bulk.is_finite()) {
        let rate = whole(bulk / s);
        out.push(Card::new("least ESS a second", &rate).note("of sampling, warm-up apart"));
    }
    if let Some(total) = facts.total_s {
        out.push(Card::new("wall time", &seconds(total)).note("from start to end"));
    } else if let Some(s) = sampling {
        out.push(Card::new("sampling time", &seconds(s)));
    }
    out
}

/// The table of all numbers, and the draws of as many as the page may carry.
fn summary_section(
    page: &mut Page,
    source: &Source<'_>,
    found: &Diagnosis,
    all: &[Element<'_>],
    shown: &[Element<'_>],
) {
    let rows = &found.summary.rows;
    let per_number = (found.summary.n_chains * found.summary.n_draws).min(20_000) * 16 / 3;
    let room = (LIVE_BYTES / per_number.max(1)).max(shown.len());
    let same =
        |a: &Element, b: &Element| std::ptr::eq(a.variable, b.variable) && a.element == b.element;
    let mut live: Vec<Element<'_>> = shown.to_vec();
    let (more, _) = source.worst_first(all, rows, room);
    live.extend(
        more.into_iter()
            .filter(|e| !shown.iter().any(|s| same(s, e))),
    );
    live.truncate(room);
    page.live.series = live
        .iter()
        .map(|e| LiveSeries::new(&source.series(e)))
        .collect();
    let place = |k: usize| live.iter().position(|e| same(e, &all[k]));
    let kept = rows.len().min(ROWS);
    let table = Table {
        caption: String::new(),
        columns: columns(found),
        rows: rows.iter().take(kept).map(cells).collect(),
        series: (0..kept.min(all.len())).map(place).collect(),
        note: match rows.len() - kept {
            0 => SAY.table.into(),
            n => format!(
                "{} {} further rows stand in summary.csv only.",
                SAY.table,
                count(n)
            ),
        },
    };
    let mut blocks = vec![Block::Table(table), Block::Explorer];
    let may_fit = rows.len() * CSV_ROW_BYTES <= CSV_BYTES;
    let csv = may_fit.then(|| summary_csv(&found.summary));
    if let Some(csv) = csv.filter(|csv| csv.len() <= CSV_BYTES) {
        page.downloads.push(("summary.csv".into(), csv));
        blocks.push(Block::Download("summary.csv".into()));
    }
    page.sections.push(Section::new("Summary", blocks));
}

fn columns(found: &Diagnosis) -> Vec<Column> {
    let s = &found.summary.statistics;
    let tail = format!("ESS tail({})", s.ess_tail.label());
    let bounds = interval(found);
    vec![
        Column::text("name"),
        Column::number("mean", "mean, with the digits that its error supports"),
        Column::number("sd", "standard deviation"),
        Column::number(&format!("{bounds} from"), "lower end of the interval"),
        Column::number("to", "upper end of the interval"),
        Column::number("MCSE", "Monte Carlo standard error of the mean"),
        Column::number(
            "ESS bulk",
            "independent draws that these are worth for the middle",
        ),
        Column::number(
            &tail,
            "independent draws that these are worth for the tails",
        ),
        Column::number(
            "R-hat",
            "how far the chains are from agreeing; 1 is perfect",
        ),
    ]
}

fn cells(row: &Row) -> Vec<Cell> {
    let s = &row.statistics;
    let number = |v: f64| Cell::from(rounded(v, s.mcse_mean, s.sd));
    let bad = |cell: Cell, bad: bool| match bad {
        true => cell.state(State::Bad),
        false => cell,
    };
    vec![
        row.label().into(),
        number(s.mean),
        Cell::from(rounded(s.sd, s.mcse_sd, s.sd)),
        number(s.lower),
        number(s.upper),
        Cell::from(crate::figure::said(s.mcse_mean)),
        bad(whole(s.ess_bulk).into(), s.ess_bulk <= ESS_LIMIT),
        bad(whole(s.ess_tail).into(), s.ess_tail <= ESS_LIMIT),
        bad(r_hat(s.r_hat).into(), s.r_hat >= RHAT_LIMIT),
    ]
}

pub(super) fn figure(scene: Scene, caption: &str) -> Block {
    Block::Figure {
        scene,
        caption: caption.into(),
    }
}

fn predictive_section(page: &mut Page, source: &Source<'_>, threads: usize) {
    let style = Style::default();
    let mut blocks = Vec::new();
    for prior in [false, true] {
        for data in source.predictive(prior).iter().take(3) {
            blocks.push(figure(predictive_figure(data, &style), SAY.predictive));
        }
    }
    blocks.extend(super::loo::blocks(source, &style, threads.max(1)));
    if blocks.is_empty() {
        blocks.push(Block::Text(SAY.no_predictive.into()));
    }
    page.sections
        .push(Section::new("Predictive checks", blocks));
}

fn timing_section(page: &mut Page, facts: &RunFacts) {
    if facts.timing.is_empty() {
        return;
    }
    let bars = facts.timing.iter().map(|(stage, s)| Bar {
        note: seconds(*s),
        ..Bar::new(stage, *s)
    });
    let bars: Vec<Bar> = bars.collect();
    let scene = bar_figure(&bars, "Where the time went", "seconds", &Style::default());
    page.sections
        .push(Section::new("Timing", vec![figure(scene, "")]));
}
