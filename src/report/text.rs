//! The verdict, the findings and the summary table as text for a terminal or a log.

use super::number::{r_hat, rounded, whole};
use super::table::{Align, Column, lay_out, on_right, wrap};
use crate::diagnose::{Diagnosis, ESS_LIMIT, ElementStatistics, RHAT_LIMIT, Row, Summary};
use crate::diagnose::{count, percent, say, thousands};

/// How much a table shows.
#[derive(Clone, Debug, PartialEq)]
pub struct TextOptions {
    /// Most rows of the table; 20 by default.
    pub max_rows: usize,
    /// Where the rows left out are found, as in "12 more in summary.csv".
    pub rest_in: String,
    /// Characters on a line of findings; 100 by default.
    pub columns: usize,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions {
            max_rows: 20,
            rest_in: "summary.csv".into(),
            columns: 100,
        }
    }
}

/// Verdict, findings and table, in this order, an empty line between them.
pub fn diagnosis_text(diagnosis: &Diagnosis, options: &TextOptions) -> String {
    let mut out = verdict_line(diagnosis);
    out.push('\n');
    if !diagnosis.findings.is_empty() {
        out.push('\n');
        out += &findings_text(diagnosis, options);
    }
    out.push('\n');
    out + &summary_table(&diagnosis.summary, options)
}

/// One line: whether the run converged, and the three numbers that decide.
///
/// `CONVERGED  R-hat 1.002 < 1.01, ESS 9,381 > 400, divergences 0`
pub fn verdict_line(diagnosis: &Diagnosis) -> String {
    let verdict = diagnosis.verdict().word();
    let compare = |holds: bool, small: &'static str, large: &'static str| {
        if holds { small } else { large }
    };
    let (max, name) = match diagnosis.max_r_hat_nested {
        few_chains if few_chains.is_nan() => (diagnosis.max_r_hat, "R-hat"),
        nested => (nested, "nested R-hat"),
    };
    let r_hat = if max.is_nan() {
        "R-hat unknown".into()
    } else {
        let sign = compare(max < RHAT_LIMIT, "<", "≥");
        format!(
            "{name} {} {sign} {RHAT_LIMIT}",
            beside(max, RHAT_LIMIT, if max < 1.1 { 3 } else { 2 })
        )
    };
    let ess = match diagnosis.min_ess_tail < diagnosis.min_ess_bulk {
        true => diagnosis.min_ess_tail,
        false => diagnosis.min_ess_bulk,
    };
    let ess = if ess.is_nan() {
        "ESS unknown".into()
    } else {
        let sign = compare(ess > ESS_LIMIT, ">", "≤");
        format!("ESS {} {sign} {ESS_LIMIT}", beside(ess, ESS_LIMIT, 0))
    };
    let divergences = match diagnosis.divergences {
        Some(n) => format!("divergences {}{}", count(n), share(n, &diagnosis.summary)),
        None => "divergences unknown".into(),
    };
    format!("{verdict}  {r_hat}, {ess}, {divergences}")
}

/// `value` with so many decimals, from `decimals` on, that rounding does not move it to the other
/// side of `limit`.
fn beside(value: f64, limit: f64, decimals: usize) -> String {
    let written = |n: usize| format!("{value:.n$}");
    let side = |v: f64| v.partial_cmp(&limit);
    let honest = |text: &String| text.parse().is_ok_and(|v| side(v) == side(value));
    let text = (decimals..17).map(written).find(honest);
    text.map_or_else(|| say(value), |text| thousands(&text))
}

fn share(n: usize, summary: &Summary) -> String {
    let total = summary.n_chains * summary.n_draws;
    if n == 0 || total == 0 {
        return String::new();
    }
    format!(" ({})", percent(n, total))
}

/// Every finding: the fact behind a dot, the advice on a line of its own behind an arrow, once
/// for findings of the same kind that follow each other.
pub fn findings_text(diagnosis: &Diagnosis, options: &TextOptions) -> String {
    let mut out = String::new();
    let columns = options.columns.saturating_sub(4).max(20);
    for same in diagnosis.findings.chunk_by(|a, b| a.advice == b.advice) {
        for finding in same {
            out += &format!("  • {}\n", wrap(&finding.fact, columns, "    "));
        }
        out += &format!("    → {}\n", wrap(&same[0].advice, columns - 2, "      "));
    }
    out
}

/// The summary as a table. Above `max_rows` rows it shows the scalars, then the worst of the
/// rest, and says how many more there are.
pub fn summary_table(summary: &Summary, options: &TextOptions) -> String {
    let chosen = choose(&summary.rows, options.max_rows);
    let shown: Vec<&Row> = chosen.iter().map(|&i| &summary.rows[i]).collect();
    let mut out = lay_out(&columns(summary, &shown));
    let hidden = summary.rows.len() - shown.len();
    if hidden > 0 {
        let rows = if hidden == 1 { "row" } else { "rows" };
        out += &format!("… {} more {rows} in {}\n", count(hidden), options.rest_in);
    }
    out
}

/// Which rows to show: all in their order, or scalars first and then the worst.
fn choose(rows: &[Row], max_rows: usize) -> Vec<usize> {
    if rows.len() <= max_rows {
        return (0..rows.len()).collect();
    }
    // A quarter of the table is kept for the worst rows, whatever they are.
    let scalars_shown = max_rows - max_rows / 4;
    let scalar = |i: &usize| rows[*i].index.is_empty();
    let mut chosen: Vec<usize> = (0..rows.len()).filter(scalar).take(scalars_shown).collect();
    let mut rest: Vec<usize> = (0..rows.len()).filter(|i| !chosen.contains(i)).collect();
    rest.sort_by(|&a, &b| badness(&rows[b]).total_cmp(&badness(&rows[a])));
    chosen.extend(rest.into_iter().take(max_rows - chosen.len()));
    chosen
}

/// Larger is worse: draws that are not finite, then how far R-hat and ESS fall short of their
/// limits. Constants come last.
fn badness(row: &Row) -> f64 {
    let s = &row.statistics;
    if !s.mean.is_finite() {
        return f64::INFINITY;
    }
    if s.sd == 0.0 {
        return f64::NEG_INFINITY;
    }
    let disagreement = (s.r_hat - 1.0) / (RHAT_LIMIT - 1.0);
    let shortage = ESS_LIMIT / s.ess_bulk.min(s.ess_tail);
    disagreement.max(shortage)
}

fn columns(summary: &Summary, rows: &[&Row]) -> Vec<Column> {
    let options = &summary.statistics;
    let interval = format!(
        "{} % {}",
        say(100.0 * options.ci_prob),
        options.ci_kind.label()
    );
    let column = |head: &str, align: Align, cell: &dyn Fn(&Row) -> String| Column {
        head: head.into(),
        align,
        cells: rows.iter().map(|row| cell(row)).collect(),
    };
    let mut interval_column = Column::new(interval, Align::Left);
    interval_column.cells = intervals(rows);
    vec![
        column("", Align::Left, &Row::label),
        column("mean", Align::Point, &|row| {
            rounded(
                row.statistics.mean,
                row.statistics.mcse_mean,
                spread(&row.statistics),
            )
        }),
        column("sd", Align::Point, &|row| {
            rounded(row.statistics.sd, row.statistics.mcse_sd, row.statistics.sd)
        }),
        interval_column,
        column("ESS bulk", Align::Right, &|row| {
            whole(row.statistics.ess_bulk)
        }),
        column(
            &format!("ESS tail({})", options.ess_tail.label()),
            Align::Right,
            &|row| whole(row.statistics.ess_tail),
        ),
        column("R-hat", Align::Point, &|row| r_hat(row.statistics.r_hat)),
    ]
}

/// The sd; or a quarter of the interval if that is narrower than one sd, as of a tail so heavy that
/// its sd is larger than what is worth reading.
fn spread(s: &ElementStatistics) -> f64 {
    let width = s.upper - s.lower;
    match width < s.sd && width > 0.0 {
        true => 0.25 * width,
        false => s.sd,
    }
}

/// `[47.78, 50.70]` with the digits of the mean, each end lined up on the right.
fn intervals(rows: &[&Row]) -> Vec<String> {
    let end =
        |row: &&Row, value: f64| rounded(value, row.statistics.mcse_mean, spread(&row.statistics));
    let lower: Vec<String> = rows
        .iter()
        .map(|row| end(row, row.statistics.lower))
        .collect();
    let upper: Vec<String> = rows
        .iter()
        .map(|row| end(row, row.statistics.upper))
        .collect();
    let pairs = on_right(&lower).into_iter().zip(on_right(&upper));
    pairs
        .map(|(low, high)| format!("[{low}, {high}]"))
        .collect()
}
