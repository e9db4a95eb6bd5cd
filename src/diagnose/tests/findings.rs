//! Tests of the findings: each trouble is named, with its place, and sound runs are left alone.

use super::runs::{Run, eight_schools, stuck_hierarchical};
use crate::diagnose::*;
use crate::draws::{Attribute, Column, Labels};

fn examine(run: &Run) -> Diagnosis {
    diagnose(&run.trace, &SummaryOptions::default()).expect("a readable trace")
}

/// The facts of all findings, a line each.
fn facts(run: &Run) -> String {
    let found = examine(run).findings;
    found
        .iter()
        .map(|f| f.fact.clone())
        .collect::<Vec<_>>()
        .join("\n")
}

#[track_caller]
fn check_fact(run: &Run, kind: FindingKind, words: &str) {
    let found = examine(run).findings;
    let of_kind: Vec<&Finding> = found.iter().filter(|f| f.kind == kind).collect();
    assert!(
        of_kind.iter().any(|f| f.fact.contains(words)),
        "{kind:?} {words}\n{}",
        facts(run)
    );
    assert!(of_kind.iter().all(|f| f.advice == kind.advice()));
}

#[test]
fn a_sound_run_has_converged_and_no_findings() {
    let found = examine(&eight_schools());
    assert!(found.converged(), "{:?}", found.findings);
    assert_eq!(found.findings, vec![]);
    assert_eq!(
        (found.divergences, found.max_treedepth_hits),
        (Some(0), Some(0))
    );
    assert_eq!(found.bfmi.len(), 4);
    assert!(found.max_r_hat < 1.01 && found.min_ess_bulk.min(found.min_ess_tail) > 400.0);
}

#[test]
fn a_chain_that_stayed_elsewhere_is_named() {
    let run = stuck_hierarchical();
    assert!(!examine(&run).converged());
    let words =
        "at sigma_pop (limit 1.01): chain 2 stayed near 0.0501 while the others lie near 9.78";
    check_fact(&run, FindingKind::ChainsApart, words);
    check_fact(
        &run,
        FindingKind::ChainsApart,
        "and 33 more elements of mu_group",
    );
}

#[test]
fn two_groups_of_chains_are_both_named_by_their_labels() {
    let mut run = Run::new(4, 200);
    let mut x = run.normals(1, 0, 0.0, 1.0, 0.0);
    x[200..600].iter_mut().for_each(|v| *v += 10.0);
    run.scalar("x", x);
    run.trace
        .coords
        .insert("chain".into(), Labels::Integers(vec![4, 5, 6, 7]));
    check_fact(&run, FindingKind::ChainsApart, "chains 4 and 7 stayed near");
    check_fact(&run, FindingKind::ChainsApart, "and chains 5 and 6 near");
}

#[test]
fn drift_spread_and_slow_mixing_are_told_apart() {
    let mut run = Run::new(4, 400);
    let drift = run.normals(1, 0, 0.0, 1.0, 0.0);
    run.scalar(
        "drift",
        drift
            .iter()
            .zip(0..)
            .map(|(v, i)| v + (i % 400) as f64 * 0.02)
            .collect(),
    );
    check_fact(&run, FindingKind::ChainsDrift, "moved from ");
    check_fact(&run, FindingKind::ChainsDrift, "and 3 more move as much");

    let mut run = Run::new(4, 400);
    let mut narrow = run.normals(1, 0, 0.0, 1.0, 0.0);
    narrow[400..800].iter_mut().for_each(|v| *v *= 0.1);
    run.scalar("narrow", narrow);
    check_fact(
        &run,
        FindingKind::ChainsDifferInSpread,
        "chain 1 has standard deviation 0.1",
    );

    let mut run = Run::new(4, 400);
    run.scalar("slow", run.normals(5, 0, 0.0, 1.0, 0.95));
    check_fact(&run, FindingKind::ChainsMixSlowly, "at slow (limit 1.01)");
}

#[test]
fn many_variables_that_disagree_share_one_line() {
    let mut run = Run::new(4, 100);
    for k in 0..7 {
        run.scalar(&format!("x{k}"), run.normals(5, k, 0.0, 1.0, 0.97));
    }
    assert!(facts(&run).contains("R-hat is 1.01 or more in 3 further variables, up to"));
}

/// 0.92 % of transitions leaves the verdict alone, 1 % does not.
#[test]
fn divergences_are_counted_placed_and_traced_to_a_small_scale() {
    let mut run = eight_schools();
    let tau = run.trace.groups[0]
        .variable("tau")
        .expect("tau")
        .element(0)
        .concat();
    let small: Vec<bool> = tau.iter().map(|&v| v < 0.61).collect();
    let n = small.iter().filter(|&&f| f).count();
    run.statistic("diverging", Column::Flag(small));
    check_fact(
        &run,
        FindingKind::Divergences,
        &format!("{n} of 4,000 transitions diverged ("),
    );
    check_fact(
        &run,
        FindingKind::Divergences,
        "they gather at small tau (median 0.",
    );

    let spread = |every: usize| Column::Flag((0..4000).map(|i| i % every == 0).collect());
    run.statistic("diverging", spread(108));
    let found = examine(&run);
    assert!(found.converged() && found.divergences == Some(38));
    assert_eq!(
        found.findings[0].fact,
        "38 of 4,000 transitions diverged (0.9 %)"
    );
    run.statistic("diverging", spread(100));
    assert!(!examine(&run).converged());
    let stuck = stuck_hierarchical();
    check_fact(
        &stuck,
        FindingKind::Divergences,
        "50 of 4,000 transitions diverged (1.2 %)",
    );
    check_fact(&stuck, FindingKind::Divergences, ", all in chain 2");
    check_fact(
        &stuck,
        FindingKind::Divergences,
        "gather at small sigma_pop",
    );
}

#[test]
fn what_to_do_about_divergences_depends_on_the_sampler() {
    let advice = |sampler: &str| {
        let mut run = eight_schools();
        let every = Column::Flag((0..4000).map(|i| i % 50 == 0).collect());
        run.statistic("diverging", every);
        let settings = format!(r#"{{"chains":4,"sampler":"{sampler}"}}"#);
        let named = ("fitzroy_settings".to_string(), Attribute::Text(settings));
        run.trace.attributes.push(named);
        examine(&run).findings[0].advice.clone()
    };
    assert!(advice("nuts").contains("⟨sampler walnuts⟩"));
    assert!(advice("walnuts").contains("1,024 times shorter"));
}

#[test]
fn depth_energy_and_step_size_have_their_findings() {
    let mut run = eight_schools();
    let hits = (0..4000).map(|i| i < 412).collect();
    run.statistic("reached_max_treedepth", Column::Flag(hits));
    let words = "412 of 4,000 trajectories (10 %) were cut at the largest tree depth";
    check_fact(&run, FindingKind::DepthHits, words);
    let mut energy = run.normals(1, 0, 50.0, 2.0, 0.2);
    energy[1000..2000].copy_from_slice(&run.normals(2, 0, 50.0, 2.0, 0.95)[1000..2000]);
    run.statistic("energy", Column::Real(energy));
    check_fact(&run, FindingKind::LowBfmi, "in chain 1 (limit 0.3)");
    let steps = (0..4000)
        .map(|i| if i >= 3000 { 0.01 } else { 0.6 })
        .collect();
    run.statistic("step_size_bar", Column::Real(steps));
    let words = "chain 3 ended with step size 0.01 where 0.6 is usual";
    check_fact(&run, FindingKind::OddStepSize, words);
    assert_eq!(examine(&run).verdict(), Verdict::InQuestion);
    let sound = run.normals(1, 0, 50.0, 2.0, 0.2);
    run.statistic("energy", Column::Real(sound));
    assert!(
        examine(&run).converged(),
        "depth and step size alone do not forbid convergence"
    );
}

/// A few divergences at the edge, a heavy tail: each is reason enough for doubt, and none changes
/// what the chains agree on.
#[test]
fn what_may_be_missing_calls_a_run_into_question() {
    let mut run = eight_schools();
    let tau = run.trace.groups[0]
        .variable("tau")
        .expect("tau")
        .element(0)
        .concat();
    let mut sorted = tau.clone();
    sorted.sort_by(f64::total_cmp);
    let flags = tau.iter().map(|&v| v > sorted[3995]).collect();
    run.statistic("diverging", Column::Flag(flags));
    check_fact(
        &run,
        FindingKind::Divergences,
        "4 of 4,000 transitions diverged (0.1 %); they gather at the edge of tau (median ",
    );
    assert_eq!(examine(&run).verdict(), Verdict::InQuestion);

    let mut run = eight_schools();
    let ratio = run.normals(3, 0, 0.0, 1.0, 0.0);
    let below = run.normals(3, 1, 0.0, 1.0, 0.0);
    let cauchy = ratio.iter().zip(below).map(|(a, b)| a / b);
    run.scalar("ratio", cauchy.collect());
    check_fact(&run, FindingKind::HeavyTail, "its tail is heavy (Pareto k ");
    assert_eq!(examine(&run).verdict(), Verdict::InQuestion);
}

/// An event is drawn by chance as often as the mean says: its rarity is no tail. Of the same draws with three values the
/// finding is said.
#[test]
fn rare_events_are_no_heavy_tails() {
    let rare = |first: f64| {
        let mut run = eight_schools();
        let mut events = run.normals(2, 11, 0.0, 1.0, 0.0);
        events.iter_mut().for_each(|x| *x = f64::from(*x > 2.4));
        let at = events.iter().position(|x| *x > 0.0).expect("an event");
        events[at] = first;
        run.scalar("event", events);
        examine(&run)
    };
    assert_eq!(rare(1.0).findings, vec![]);
    let found = rare(1.5).findings;
    assert!(
        found.iter().any(|f| f.kind == FindingKind::HeavyTail),
        "{found:?}"
    );
}

#[test]
fn few_effective_draws_are_placed() {
    let mut run = eight_schools();
    run.scalar("slow", run.normals(1, 7, 0.0, 1.0, 0.9));
    check_fact(
        &run,
        FindingKind::LowEss,
        " of 4,000 draws at slow (wanted: above 400)",
    );
    assert!(!examine(&run).converged());
}

#[test]
fn constants_are_told_and_do_not_forbid_convergence() {
    let mut run = eight_schools();
    let elements = [
        vec![1.0; 4000],
        vec![0.0; 4000],
        run.normals(1, 9, 0.3, 0.1, 0.0),
    ];
    run.variable("cholesky", &[("k", 3)], &elements);
    let words = "cholesky[0] is always 1; so is 1 more of cholesky";
    check_fact(&run, FindingKind::Constant, words);
    assert!(examine(&run).converged());
}

#[test]
fn draws_that_are_not_finite_forbid_convergence() {
    let mut run = eight_schools();
    let mut bad = run.normals(1, 9, 0.3, 0.1, 0.0);
    bad[17] = f64::NAN;
    run.scalar("bad", bad.clone());
    check_fact(
        &run,
        FindingKind::NonFinite,
        "bad has draws that are NaN or infinite",
    );
    assert!(!examine(&run).converged());
    bad[17] = f64::INFINITY;
    let mut run = eight_schools();
    run.scalar("bad", bad);
    check_fact(
        &run,
        FindingKind::NonFinite,
        "bad has draws that are NaN or infinite",
    );
}

#[test]
fn missing_statistics_are_said_and_skipped() {
    let mut run = eight_schools();
    run.trace.groups.truncate(1);
    let found = examine(&run);
    assert!(found.converged() && found.divergences.is_none() && found.bfmi.is_empty());
    let words = "statistics: divergences, tree depth, energy (BFMI)";
    check_fact(&run, FindingKind::ChecksSkipped, words);
}

#[test]
fn one_chain_never_counts_as_converged() {
    let mut run = Run::new(1, 4000);
    run.scalar("x", run.normals(1, 0, 0.0, 1.0, 0.0));
    assert!(!examine(&run).converged());
    check_fact(&run, FindingKind::OneChain, "there is one chain");
}

#[test]
fn the_verdict_looks_at_every_variable_whichever_rows_are_shown() {
    let options = SummaryOptions {
        variables: vec!["mu_pop".into()],
        ..SummaryOptions::default()
    };
    let found = diagnose(&stuck_hierarchical().trace, &options).expect("a readable trace");
    assert_eq!(found.summary.rows.len(), 1);
    assert!(!found.converged() && found.max_r_hat > 1.3);
}
