//! How long NIST's 54 fits take together, formulas compiled each time, files read before:
//! `cargo bench -p fitzroy-curve-fit --bench nist`.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stdout)] // it is what a benchmark is for

#[path = "../tests/nist/problems.rs"]
mod problems;

use fitzroy_curve_fit::Method;
use problems::{PROBLEMS, Problem, digits, fit, read, score};
use std::time::Instant;

/// Rounds of all fits.
const ROUNDS: usize = 21;

fn main() {
    let problems: Vec<Problem> = PROBLEMS.iter().map(|(name, _)| read(name)).collect();
    let all = || {
        let both = PROBLEMS
            .iter()
            .zip(&problems)
            .flat_map(|p| [(p, 0), (p, 1)]);
        both.map(|(((name, formula), problem), start)| {
            (problem, fit(name, formula, problem, start, Method::Auto))
        })
        .collect::<Vec<_>>()
    };
    // The answers first: no time is told of wrong ones.
    let found = all();
    let mut evaluations = 0;
    for (problem, fit) in &found {
        assert!(score(fit, problem) >= 6.0, "{}", fit.model);
        // Lanczos1 has residuals below double precision.
        let exact = problem.rss < 1e-20;
        assert!(exact || digits(fit.chi2, problem.rss) >= 6.0);
        evaluations += fit.evaluations;
    }
    let mut seconds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(all());
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    println!(
        "{{\"fits\": {}, \"evaluations\": {evaluations}, \"median_s\": {}, \"min_s\": {}, \"max_s\": {}, \
         \"repeats\": {ROUNDS}}}",
        found.len(),
        seconds[ROUNDS / 2],
        seconds[0],
        seconds[ROUNDS - 1]
    );
}
