//! Reports and figures of traces: what they hold, how large they are, and what is refused.
#![allow(clippy::unwrap_used)]

mod traces;

use fitzroy::diagnose::{SummaryOptions, diagnose};
use fitzroy::draws::{Column, Trace};
use fitzroy_report::figure::Style;
use fitzroy_report::page::{Block, Page};
use fitzroy_report::report::{
    FigureOptions, Kind, RunFacts, figure_of, sampling_page, validation_page,
};
use fitzroy_report::source::Source;
use traces::{label, trace};

fn page(trace: &Trace, facts: &RunFacts) -> Page {
    let source = Source::new(trace).unwrap();
    let options = SummaryOptions {
        group: source.group.name.clone(),
        ..SummaryOptions::default()
    };
    let found = diagnose(trace, &options).unwrap();
    sampling_page(&source, &found, facts).unwrap()
}

fn titles(page: &Page) -> Vec<&str> {
    page.sections.iter().map(|s| s.title.as_str()).collect()
}

fn draw(
    trace: &Trace,
    kind: Kind,
    variables: &[&str],
) -> fitzroy::Result<fitzroy_report::draw::Scene> {
    let options = FigureOptions {
        variables: variables.iter().map(ToString::to_string).collect(),
        style: Style::default(),
        ..FigureOptions::default()
    };
    figure_of(&[trace], &["t.nc".into()], kind, &options)
}

#[test]
fn a_report_says_first_whether_the_run_can_be_trusted() {
    let page = page(
        &trace(4, 200, 8),
        &RunFacts {
            name: "peas".into(),
            ..RunFacts::default()
        },
    );
    let verdict = page.verdict.as_ref().unwrap();
    assert!(
        !verdict.headline.is_empty() && verdict.detail.contains("R-hat"),
        "{}",
        verdict.detail
    );
    assert!(
        verdict
            .findings
            .iter()
            .any(|(fact, advice)| fact.contains("diverged") && !advice.is_empty())
    );
    assert!((4..=6).contains(&page.cards.len()));
    let expected = [
        "Summary",
        "Traces",
        "Posteriors",
        "Forest",
        "Ranks",
        "Energy and divergences",
        "Predictive checks",
        "Settings",
        "Model",
        "Citations",
    ];
    assert_eq!(titles(&page), expected);
}

#[test]
fn names_and_models_of_users_are_escaped_everywhere() {
    let mut hostile = trace(2, 50, 3);
    let name = "</script><img src=x onerror=alert(1)> & \"q\" ' \u{2028} Ω";
    label(&mut hostile, vec![name.into(), "b".into(), "c".into()]);
    let facts = RunFacts {
        name: "<b>peas</b>".into(),
        command: "fitzroy '<x>'".into(),
        ..RunFacts::default()
    };
    let html = page(&hostile, &facts).html();
    for bad in ["<img", "<b>peas", "</script><", "<script>alert", "'<x>'"] {
        // The page's own end of data and begin of script.
        let text = html
            .replace("</script><script>\"use strict\"", "")
            .replace("</script></body>", "");
        assert!(!text.contains(bad), "{bad}");
    }
    assert!(html.contains("&lt;b&gt;peas&lt;/b&gt;"));
}

#[test]
fn a_report_needs_no_network() {
    let html = page(&trace(2, 50, 3), &RunFacts::default()).html();
    let rest = html.replace("http://www.w3.org/2000/svg", "");
    for bad in [
        "http://", "https://", "src=\"//", "@import", "<link", "<iframe",
    ] {
        assert!(!rest.contains(bad), "{bad}");
    }
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn five_thousand_variables_stay_below_five_megabytes() {
    let html = page(&trace(4, 250, 5000), &RunFacts::default()).html();
    assert!(html.len() < 5_000_000, "{}", html.len());
    assert!(html.contains("theta[4999]"));
    // Rows in the page itself are few; the rest is data for the script.
    assert!(html.matches("<tr>").count() < 200);
}

#[test]
fn a_small_report_is_small() {
    let html = page(&trace(4, 1000, 8), &RunFacts::default()).html();
    assert!(html.len() < 1_500_000, "{}", html.len());
}

#[test]
fn a_foreign_trace_without_statistics_has_its_report() {
    let mut foreign = trace(4, 100, 3);
    foreign.groups.retain(|g| g.name == "posterior");
    foreign.attributes.clear();
    let page = page(&foreign, &RunFacts::default());
    assert!(!titles(&page).contains(&"Energy and divergences"));
    let verdict = page.verdict.as_ref().unwrap();
    assert!(
        verdict
            .findings
            .iter()
            .any(|(fact, _)| fact.contains("not checked"))
    );
    let message = draw(&foreign, Kind::Energy, &[]).unwrap_err().to_string();
    assert!(
        message.contains("energy") && message.contains("save"),
        "{message}"
    );
    for kind in [Kind::Ppc, Kind::PriorPredictive, Kind::LooPit, Kind::Khat] {
        let message = draw(&foreign, kind, &[]).unwrap_err().to_string();
        assert!(message.contains('⟨'), "{message}");
    }
    for kind in [
        Kind::Trace,
        Kind::Rank,
        Kind::Pair,
        Kind::Forest,
        Kind::Parallel,
    ] {
        assert!(draw(&foreign, kind, &[]).is_ok());
    }
}

#[test]
fn one_chain_is_enough_for_a_report() {
    let html = page(&trace(1, 100, 2), &RunFacts::default()).html();
    assert!(html.contains("one chain: nothing to compare"));
}

#[test]
fn constants_and_nan_draws_are_said_and_not_drawn() {
    let mut odd = trace(2, 100, 2);
    let group = &mut odd.groups[0];
    group.variables[0].values = Column::Real(vec![3.0; 200]);
    if let Column::Real(v) = &mut group.variables[1].values {
        v[7] = f64::NAN;
    }
    let html = page(&odd, &RunFacts::default()).html();
    assert!(html.contains("always 3") && html.contains("1 of 200 draws are NaN or infinite"));
    assert!(html.contains("The chains have not converged"));
}

#[test]
fn ten_thousand_elements_are_thinned_to_the_worst() {
    let large = trace(2, 20, 10_000);
    for kind in [
        Kind::Trace,
        Kind::Posterior,
        Kind::Forest,
        Kind::Rank,
        Kind::Parallel,
    ] {
        let scene = draw(&large, kind, &[]).unwrap();
        let more = scene.texts().find(|t| t.text.contains("more not shown"));
        assert!(
            more.is_some_and(|t| t.text.contains("more not shown")),
            "{kind:?}"
        );
        assert!(scene.height < 4000.0, "{kind:?}: {}", scene.height);
    }
    let all = draw(&large, Kind::Forest, &["theta"]).unwrap();
    assert!(all.height < 25_000.0, "{}", all.height);
}

#[test]
fn unknown_variables_are_refused_with_the_nearest_names() {
    let t = trace(2, 20, 3);
    let message = draw(&t, Kind::Trace, &["teta"]).unwrap_err().to_string();
    assert!(
        message.contains("teta") && message.contains("theta"),
        "{message}"
    );
    let message = draw(&t, Kind::Trace, &["theta[7]"])
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("3 elements") && message.contains("theta[0]"),
        "{message}"
    );
    let message = draw(&t, Kind::Ppc, &["z"]).unwrap_err().to_string();
    assert!(
        message.contains("`z`") && message.contains("there is y"),
        "{message}"
    );
}

#[test]
fn elements_are_chosen_by_place_or_label() {
    let mut t = trace(2, 20, 3);
    label(&mut t, ["Ash", "Beck", "Croft"].map(String::from).into());
    for name in ["theta[Beck]", "theta[1]", "theta[ Beck ]"] {
        let scene = draw(&t, Kind::Rank, &[name]).unwrap();
        assert!(scene.texts().any(|t| t.text == "theta[Beck]"), "{name}");
    }
}

#[test]
fn several_traces_make_one_forest_and_nothing_else() {
    let (a, b) = (trace(2, 50, 3), trace(2, 60, 4));
    let names = ["a.nc".to_string(), "b.nc".to_string()];
    let scene = figure_of(&[&a, &b], &names, Kind::Forest, &FigureOptions::default()).unwrap();
    let count = |words: &str| scene.texts().filter(|t| t.text == words).count();
    assert_eq!(
        (count("a.nc"), count("b.nc"), count("mu"), count("theta[3]")),
        (1, 1, 1, 1)
    );
    let refused = figure_of(&[&a, &b], &names, Kind::Trace, &FigureOptions::default());
    assert!(refused.unwrap_err().to_string().contains("2 traces"));
}

#[test]
fn a_trace_without_draws_is_refused() {
    let mut empty = trace(2, 20, 2);
    empty.groups.remove(0);
    let message = draw(&empty, Kind::Trace, &[]).unwrap_err().to_string();
    assert!(
        message.contains("posterior") && message.contains("sample_stats"),
        "{message}"
    );
    let mut crooked = trace(2, 20, 2);
    crooked.groups[0].variables[0].dims = vec!["draw".into(), "chain".into()];
    let message = draw(&crooked, Kind::Trace, &[]).unwrap_err().to_string();
    assert!(
        message.contains("`mu`") && message.contains("first"),
        "{message}"
    );
}

#[test]
fn a_validation_names_what_failed_first() {
    let t = trace(2, 50, 2);
    let source = Source::new(&t).unwrap();
    let found = diagnose(&t, &SummaryOptions::default()).unwrap();
    let check = |name: &str, word: &str| [name, word, "detail of it"].map(String::from);
    let facts = RunFacts {
        checks: vec![
            check("numerics", "PASS"),
            check("r-hat", "FAIL"),
            check("gpu", "SKIP"),
        ],
        truths: vec![("mu".into(), 0.1)],
        timing: vec![("warm-up".into(), 0.2), ("sampling".into(), 0.1)],
        ..RunFacts::default()
    };
    let page = validation_page(&source, &found, &facts).unwrap();
    let verdict = page.verdict.as_ref().unwrap();
    assert_eq!(verdict.headline, "1 check failed");
    assert!(
        verdict.findings[0].0.starts_with("r-hat") && verdict.findings[1].0.contains("skipped")
    );
    assert_eq!(page.cards[0].value, "1 of 2");
    assert_eq!(titles(&page)[0], "Checks");
    assert!(titles(&page).contains(&"Timing"));
    let table = page.sections[0]
        .blocks
        .iter()
        .any(|b| matches!(b, Block::Table(t) if t.rows.len() == 3));
    assert!(table);
}
