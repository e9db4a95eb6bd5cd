//! Tests of the tables on made-up runs, sound and unsound.

use super::*;
use crate::diagnose::tests::runs::{Run, eight_schools, stuck_hierarchical};
use crate::diagnose::{Diagnosis, Finding, FindingKind, Interval, SummaryOptions, diagnose};
use serde_json::Value;

fn examine(run: &Run) -> Diagnosis {
    diagnose(&run.trace, &SummaryOptions::default()).expect("a readable trace")
}

fn show(run: &Run) -> String {
    diagnosis_text(&examine(run), &TextOptions::default())
}

#[test]
fn a_sound_run_reads_as_verdict_and_table() {
    let expected = "\
CONVERGED  R-hat 1.004 < 1.01, ESS 1,245 > 400, divergences 0

                  mean   sd  89 % HDI      ESS bulk  ESS tail(.05/.95)  R-hat
mu                 4.3  3.3  [−0.9,  9.5]     2,305              3,328   1.00
tau                3.1  2.5  [ 0.5,  5.9]     1,245              2,321   1.00
theta[Choate]      2.0  5.1  [−6.2,  9.9]     3,999              4,116   1.00
theta[Deerfield]   2.9  5.0  [−5.1, 10.7]     4,065              3,982   1.00
theta[Andover]     3.9  5.0  [−4.8, 11.2]     3,942              4,016   1.00
theta[Exeter]      5.1  4.9  [−2.5, 13.3]     4,126              3,871   1.00
theta[Hotchkiss]   6.1  5.0  [−2.2, 13.7]     3,933              3,914   1.00
theta[Lawrence]    7.0  5.0  [−1.3, 14.5]     4,050              3,892   1.00
theta[St Paul's]   8.1  4.9  [ 0.2, 15.8]     3,569              3,432   1.00
theta[Mt Hermon]   9.1  5.1  [ 1.0, 17.2]     4,084              3,917   1.00
";
    assert_eq!(show(&eight_schools()), expected);
}

#[test]
fn an_unsound_run_reads_as_verdict_findings_and_the_worst_rows() {
    let text = show(&stuck_hierarchical());
    let expected = "\
NOT CONVERGED  R-hat 1.53 ≥ 1.01, ESS 7 ≤ 400, divergences 50 (1.2 %)

  • R-hat 1.53 at sigma_pop (limit 1.01): chain 2 stayed near 0.0501 while the others lie near 9.78
  • R-hat 1.53 at mu_group[6] (limit 1.01): chain 2 stayed near 47.5 while the others lie near 32.4,
    and 33 more elements of mu_group
    → the posterior may have several modes, or these chains got stuck; try a longer ⟨tune⟩, or
      another ⟨seed⟩; stronger or order-fixing priors help as well
  • 50 of 4,000 transitions diverged (1.2 %), all in chain 2; they gather at small sigma_pop (median
    0.0504 there, 9.46 over all draws)
    → try ⟨target_accept 0.95⟩ or 0.99, ⟨centring auto⟩, or ⟨sampler walnuts⟩; if they gather at a
      small scale, write that level non-centred
  • bulk ESS 7 of 4,000 draws at mu_group[81] (wanted: above 400), and too few in 33 more elements
    → try more ⟨draws⟩, or ⟨metric dense⟩

                mean     sd  89 % HDI        ESS bulk  ESS tail(.05/.95)  R-hat
mu_pop        49.2    0.9    [ 47.7,  50.6]     1,480              2,420   1.00
sigma_pop      7      4      [    0,    11]         7                 44   1.53
sigma_obs      2.010  0.047  [1.932, 2.081]     4,078              4,028   1.00
mu_group[";
    assert!(text.starts_with(expected), "{text}");
    assert!(
        text.ends_with("\n… 83 more rows in summary.csv\n"),
        "{text}"
    );
    let table = text.split("\n\n").last().expect("a table");
    assert_eq!(table.lines().count(), 1 + 20 + 1);
    assert!(
        text.lines()
            .all(|line| line.chars().count() <= 100 && !line.ends_with(' '))
    );
}

/// Degenerate numbers keep the table in shape and nothing panics.
#[test]
fn odd_numbers_keep_to_their_columns() {
    let mut run = Run::new(4, 100);
    run.scalar("revenue", run.normals(9, 0, 2.5e6, 3e5, 0.1));
    run.scalar("rate", run.normals(9, 1, 2.5e-9, 3e-10, 0.1));
    run.scalar("huge", run.normals(9, 1, 1e300, 1e299, 0.1));
    run.scalar("fixed", vec![1.0; 400]);
    let mut bad = run.normals(9, 2, 0.0, 1.0, 0.1);
    bad[5] = f64::NEG_INFINITY;
    run.scalar("μ<\"&>", bad.clone());
    bad[5] = f64::NAN;
    run.scalar("bad", bad);
    let found = examine(&run);
    let table = summary_table(&found.summary, &TextOptions::default());
    let ends: Vec<usize> = table.lines().map(|line| line.chars().count()).collect();
    // The last column may end in one decimal more.
    assert!(ends.iter().all(|n| n.abs_diff(ends[0]) <= 1), "{table}");
    assert!(table.contains("fixed") && table.contains("−∞") && !table.contains("NaN"));
    let nothing = TextOptions {
        max_rows: 0,
        ..TextOptions::default()
    };
    assert!(summary_table(&found.summary, &nothing).ends_with("… 6 more rows in summary.csv\n"));
}

#[test]
fn verdicts_never_round_a_number_across_its_limit() {
    let mut found = examine(&eight_schools());
    found.max_r_hat = 1.009_999;
    let line = verdict_line(&found);
    assert_eq!(
        line,
        "CONVERGED  R-hat 1.009999 < 1.01, ESS 1,245 > 400, divergences 0"
    );
    found.max_r_hat = 1.010_01;
    found.min_ess_bulk = 400.3;
    found.divergences = None;
    let fact = "R-hat 1.01001 at mu";
    let slow = Finding::new(FindingKind::ChainsMixSlowly, 1.010_01, "mu", fact);
    found.findings.push(slow);
    let line = verdict_line(&found);
    let expected = "NOT CONVERGED  R-hat 1.01001 ≥ 1.01, ESS 400.3 > 400, divergences unknown";
    assert_eq!(line, expected);
}

#[test]
fn json_has_the_documented_fields_in_full_precision() {
    let run = eight_schools();
    let found = examine(&run);
    let text = Value::Object(diagnosis_json(&found)).to_string();
    let json: Value = serde_json::from_str(&text).expect("valid JSON");
    assert_eq!(json["chains"], 4);
    assert_eq!(json["draws"], 1000);
    assert_eq!(json["divergences"], 0);
    assert_eq!(json["max_treedepth_hits"], 0);
    assert_eq!(json["converged"], true);
    assert_eq!(json["verdict"], "converged");
    assert_eq!(json["findings"], serde_json::json!([]));
    assert_eq!(json["max_rhat"].to_string(), found.max_r_hat.to_string());
    let row = &json["summary"][2];
    let keys: Vec<&str> = row
        .as_object()
        .expect("a row")
        .keys()
        .map(String::as_str)
        .collect();
    let expected = "name index labels mean sd mcse_mean mcse_sd ess_bulk ess_tail r_hat hdi_lower \
                    hdi_upper median";
    assert_eq!(keys.join(" "), expected);
    assert_eq!(row["name"], "theta");
    assert_eq!(row["index"], serde_json::json!([0]));
    assert_eq!(row["labels"], serde_json::json!(["Choate"]));
    assert_eq!(
        row["sd"].to_string(),
        found.summary.rows[2].statistics.sd.to_string()
    );
    assert_eq!(json["summary"][0]["index"], serde_json::json!([]));
    assert!(json["summary"][0].get("labels").is_none());
}

#[test]
fn json_and_csv_spell_numbers_that_are_not_finite() {
    let mut run = Run::new(4, 50);
    let apart: Vec<f64> = (0..200).map(|i| f64::from(i / 50)).collect();
    run.scalar("apart", apart);
    run.trace.groups.truncate(1);
    let mut found = examine(&run);
    let json = Value::Object(diagnosis_json(&found));
    assert_eq!(json["max_rhat"], "Infinity");
    assert_eq!(json["divergences"], Value::Null);
    assert_eq!(json["bfmi"], serde_json::json!([]));
    assert!(
        json["findings"][0]
            .as_str()
            .expect("a sentence")
            .contains("R-hat ∞ at apart")
    );
    found.summary.rows[0].statistics.lower = f64::NEG_INFINITY;
    found.summary.rows[0].statistics.upper = f64::NAN;
    let line = summary_csv(&found.summary);
    assert!(line.contains(",Infinity,-Infinity,NaN,1.5\n"), "{line}");
}

#[test]
fn csv_reads_back_to_the_same_bits() {
    let mut run = eight_schools();
    let elements: Vec<Vec<f64>> = (0..2).map(|j| run.normals(8, j, 0.0, 1.0, 0.0)).collect();
    run.variable("w", &[("who", 2)], &elements);
    let names = vec!["a, b".to_string(), "say \"c\"".to_string()];
    run.trace
        .coords
        .insert("who".into(), crate::draws::Labels::Text(names));
    let mut options = SummaryOptions::default();
    options.statistics.ci_kind = Interval::Eti;
    let found = diagnose(&run.trace, &options).expect("a readable trace");
    let text = summary_csv(&found.summary);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let head = reader
        .headers()
        .expect("a head")
        .iter()
        .collect::<Vec<_>>()
        .join(" ");
    let expected = "name index labels mean sd mcse_mean mcse_sd ess_bulk ess_tail r_hat eti_lower \
                    eti_upper median";
    assert_eq!(head, expected);
    let lines: Vec<::csv::StringRecord> = reader.records().map(|r| r.expect("a line")).collect();
    assert_eq!(lines.len(), found.summary.rows.len());
    for (line, row) in lines.iter().zip(&found.summary.rows) {
        assert_eq!(line[0], row.name);
        assert_eq!(line[3].parse(), Ok(row.statistics.mean));
        assert_eq!(line[11].parse(), Ok(row.statistics.upper));
    }
    assert_eq!(&lines[10][2], "a, b");
    assert_eq!((&lines[11][1], &lines[11][2]), ("1", "say \"c\""));
}

/// The sd of so heavy a tail is larger than the interval: rounded by it, both ends were 0.
#[test]
fn an_interval_narrower_than_its_sd_keeps_its_ends() {
    let mut diagnosis = examine(&eight_schools());
    let row = &mut diagnosis.summary.rows[0].statistics;
    (row.mean, row.mcse_mean) = (456.2, 164.0);
    (row.sd, row.mcse_sd) = (5373.3, 2310.5);
    (row.lower, row.upper) = (26.7, 361.2);
    let text = diagnosis_text(&diagnosis, &TextOptions::default());
    assert!(text.contains("[  30,  360]"), "{text}");
    assert!(text.contains("460"), "{text}");
}
