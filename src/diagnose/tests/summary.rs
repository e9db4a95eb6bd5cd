//! Tests of the summary: which rows, which labels, which errors.

use super::runs::{Run, eight_schools};
use crate::diagnose::*;
use crate::draws::{Column, Labels, Trace};

#[test]
fn rows_equal_the_single_functions_on_any_number_of_threads() {
    let run = eight_schools();
    let one = summary(&run.trace, &SummaryOptions::default()).expect("a sound trace");
    let threads = SummaryOptions {
        threads: 3,
        ..SummaryOptions::default()
    };
    let three = summary(&run.trace, &threads).expect("a sound trace");
    // As text, which tells all digits, because some of the numbers are NaN.
    assert_eq!(format!("{one:?}"), format!("{three:?}"));
    assert_eq!(one.rows.len(), 10);
    let theta = run.trace.groups[0].variable("theta").expect("theta");
    let draws = theta.element(7).concat();
    let x = Chains::new(&draws, 4, 1000);
    let row = &one.rows[9];
    assert_eq!(row.label(), "theta[Mt Hermon]");
    let s = row.statistics;
    assert_eq!(s.mean, mean(&draws));
    assert_eq!(s.sd, sd(&draws));
    assert_eq!(s.mcse_mean, mcse(x, Mcse::Mean));
    assert_eq!(s.mcse_sd, mcse(x, Mcse::Sd));
    assert_eq!(s.ess_bulk, ess(x, Ess::Bulk));
    assert_eq!(s.ess_tail, ess(x, Ess::Tail(TailEss::Classic)));
    assert_eq!(s.r_hat, rhat(x));
    assert_eq!((s.lower, s.upper), hdi(&draws, 0.89));
    assert_eq!(s.median, quantile(&draws, 0.5));
}

#[test]
fn labels_appear_where_they_say_more_than_positions() {
    let mut run = Run::new(2, 10);
    let elements: Vec<Vec<f64>> = (0..6).map(|j| run.normals(1, j, 0.0, 1.0, 0.0)).collect();
    run.variable("w", &[("row", 2), ("col", 3)], &elements);
    let label = |run: &Run, i: usize| {
        let table = summary(&run.trace, &SummaryOptions::default()).expect("a sound trace");
        (
            table.rows[i].label(),
            table.rows[i].index.clone(),
            table.rows[i].labels.clone(),
        )
    };
    assert_eq!(label(&run, 5), ("w[1, 2]".into(), vec![1, 2], vec![]));
    run.trace
        .coords
        .insert("col".into(), Labels::Integers(vec![0, 1, 2]));
    assert_eq!(label(&run, 5).2, vec![]);
    run.trace
        .coords
        .insert("col".into(), Labels::Integers(vec![2019, 2020, 2021]));
    let wanted = vec![Label::Integer(1), Label::Integer(2021)];
    assert_eq!(label(&run, 5), ("w[1, 2021]".into(), vec![1, 2], wanted));
}

#[test]
fn options_choose_interval_tails_and_variables() {
    let run = eight_schools();
    let options = SummaryOptions {
        statistics: StatisticsOptions {
            ci_prob: 0.5,
            ci_kind: Interval::Eti,
            ess_tail: TailEss::Arviz1,
        },
        variables: vec!["tau".into()],
        ..SummaryOptions::default()
    };
    let table = summary(&run.trace, &options).expect("a sound trace");
    assert_eq!(table.rows.len(), 1);
    let draws = run.trace.groups[0]
        .variable("tau")
        .expect("tau")
        .element(0)
        .concat();
    let s = table.rows[0].statistics;
    assert_eq!((s.lower, s.upper), eti(&draws, 0.5));
    let x = Chains::new(&draws, 4, 1000);
    assert_eq!(s.ess_tail, ess(x, Ess::Tail(TailEss::Arviz1)));
}

/// The message of the error that `options` meet.
fn refusal(trace: &Trace, options: &SummaryOptions) -> String {
    let direct = summary(trace, options)
        .expect_err("must be refused")
        .to_string();
    assert_eq!(
        diagnose(trace, options)
            .expect_err("must be refused")
            .to_string(),
        direct
    );
    direct
}

#[test]
fn what_cannot_be_summarised_is_refused_with_names_and_sizes() {
    let mut run = eight_schools();
    let options = SummaryOptions::default;
    let group = SummaryOptions {
        group: "prior".into(),
        ..options()
    };
    let text = "the trace has no group `prior`; it has posterior, sample_stats";
    assert_eq!(refusal(&run.trace, &group), text);
    let unknown = SummaryOptions {
        variables: vec!["thet".into()],
        ..options()
    };
    let text = "`posterior` has no variable `thet`; the nearest of its 3 are: theta, tau, mu";
    assert_eq!(refusal(&run.trace, &unknown), text);
    let mut wide = options();
    wide.statistics.ci_prob = 1.5;
    let text = "the interval's probability is 1.5; it must lie between 0 and 1";
    assert_eq!(refusal(&run.trace, &wide), text);
    run.trace.groups[0].variables[1].shape = vec![2, 2000];
    let text = "`tau` has 2 chains of 2000 draws and `mu` has 4 of 1000; all variables of \
                `posterior` must agree";
    assert_eq!(refusal(&run.trace, &options()), text);
    run.trace.groups[0].variables[1].shape = vec![4, 1000];
    run.trace.groups[0].variables[1].values = Column::Real(vec![0.0; 10]);
    let text = "`tau` holds 10 numbers, but its shape [4, 1000] needs 4000";
    assert_eq!(refusal(&run.trace, &options()), text);
    run.trace.groups[0].variables[1].dims = vec!["draw".into(), "chain".into()];
    assert!(refusal(&run.trace, &options()).contains("draws need chain and draw first"));
    run.trace.groups[0].variables.clear();
    assert_eq!(
        refusal(&run.trace, &options()),
        "group `posterior` has no variables"
    );
}

#[test]
fn runs_too_short_for_diagnostics_keep_their_means() {
    for n_draws in [0, 1, 3] {
        let mut run = Run::new(2, n_draws);
        run.scalar("x", run.normals(1, 0, 5.0, 1.0, 0.0));
        let found = diagnose(&run.trace, &SummaryOptions::default()).expect("no error");
        let s = found.summary.rows[0].statistics;
        assert_eq!(s.mean.is_nan(), n_draws == 0);
        assert!(s.r_hat.is_nan() && s.ess_bulk.is_nan() && !found.converged());
    }
}
