//! Two runs of the same model, of different ones, and of odd ones.

use super::runs::Run;
use crate::diagnose::agreement;

fn run(seed: u64, shift: f64, spread: f64) -> Run {
    let mut run = Run::new(4, 500);
    run.scalar("mu", run.normals(seed, 0, 1.0 + shift, spread, 0.4));
    let theta: Vec<Vec<f64>> = (1..4)
        .map(|k| run.normals(seed, k, 0.0, 2.0, 0.2))
        .collect();
    run.variable("theta", &[("school", 3)], &theta);
    run.scalar("fixed", vec![2.0; 2000]);
    run
}

/// Bound: 4.1 standard errors, exceeded by chance in one pair of runs of a thousand; a shift of 0.3
/// standard deviations is about ten of them. Catches: an error of the mean alone, a standard
/// deviation that is not looked at, a limit that does not know how much was compared.
#[test]
fn runs_of_one_distribution_agree_and_others_do_not() {
    let first = run(1, 0.0, 1.0);
    let compare = |other: &Run| agreement(&first.trace, &other.trace, &[], 2).unwrap();
    let same = compare(&run(2, 0.0, 1.0));
    assert!(same.agree, "{:?}", same.differences);
    assert_eq!(same.elements.len(), 5);
    assert!((4.0..4.5).contains(&same.limit), "{}", same.limit);
    assert_eq!(same.elements[4].largest(), 0.0);
    let shifted = compare(&run(2, 0.3, 1.0));
    assert!(!shifted.agree && shifted.differences[0].starts_with("mu:"));
    let mean = shifted.elements[0].mean;
    assert!((-14.0..-6.0).contains(&mean), "{mean}");
    let wider = compare(&run(2, 0.0, 1.3));
    assert!(!wider.agree && wider.elements[0].sd.abs() > 5.0);
}

#[test]
fn what_runs_have_not_in_common_is_named_or_refused() {
    let (first, mut second) = (run(1, 0.0, 1.0), run(2, 0.0, 1.0));
    second.scalar("more", second.normals(2, 9, 0.0, 1.0, 0.0));
    let found = agreement(&first.trace, &second.trace, &["mu".into()], 1).unwrap();
    assert_eq!(found.elements.len(), 1);
    let found = agreement(&first.trace, &second.trace, &[], 1).unwrap();
    assert_eq!(found.left_out, ["more"]);
    let refused = |names: &[String]| agreement(&first.trace, &second.trace, names, 1).unwrap_err();
    assert!(refused(&["more".into()]).to_string().contains("`more`"));
    let mut other = Run::new(4, 500);
    other.scalar("x", other.normals(1, 0, 0.0, 1.0, 0.0));
    let text = agreement(&first.trace, &other.trace, &[], 1).unwrap_err();
    assert!(text.to_string().contains("in common"));
    // A NaN is a difference, not a silence.
    let mut broken = run(2, 0.0, 1.0);
    let mut draws = broken.normals(2, 0, 1.0, 1.0, 0.4);
    draws[3] = f64::NAN;
    broken.trace.groups[0].variables.retain(|v| v.name != "mu");
    broken.scalar("mu", draws);
    assert!(
        !agreement(&first.trace, &broken.trace, &[], 1)
            .unwrap()
            .agree
    );
}
