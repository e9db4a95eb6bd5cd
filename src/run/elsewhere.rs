//! Places that no chain visited, in terms of what is recorded.

use super::kept::block_run;
use super::records::{Records, Told};
use crate::diagnose::{PlaceMissed, Places};
use crate::draws::{Column, Trace, Variable};
use crate::fit::sample::{Draws, Run};
use std::collections::BTreeSet;

/// Share of the range of all draws beyond which a place is another one.
const MARGIN: f64 = 0.1;

/// One element at the places of one of the starts that stayed apart.
struct Place {
    element: String,
    at: f64,
    range: (f64, f64),
    /// How far it is outside of the range, in lengths of it.
    outside: f64,
    start: usize,
}

/// Notes in `trace` what the further starts of `run` found, if anything that is recorded differs
/// there.
pub(super) fn note(records: &dyn Records, told: &Told<'_>, run: &mut Run, trace: &mut Trace) {
    let starts = std::mem::take(&mut run.elsewhere);
    if starts.is_empty() {
        return;
    }
    let (n, n_places) = (starts.len(), starts.first().map_or(0, Draws::len));
    // What cannot be computed there is nothing to go by.
    let Ok(groups) = records.groups(told, &mut block_run(starts, 0)) else {
        return;
    };
    let mut places: Vec<Place> = Vec::new();
    for there in groups.iter().take(1) {
        let drawn = trace.group(&there.name).map_or(&[][..], |g| &g.variables);
        for variable in &there.variables {
            let of_draws = drawn.iter().filter(|v| v.name == variable.name);
            let names = of_draws.map(|v| Places::new(trace, v));
            places.extend(names.flat_map(|names| apart(&names, variable, n, n_places)));
        }
    }
    let starts: BTreeSet<usize> = places.iter().map(|p| p.start).collect();
    let farthest = |a: &Place, b: &Place| a.outside.total_cmp(&b.outside);
    if let Some(place) = places.into_iter().max_by(farthest) {
        let missed = PlaceMissed {
            element: place.element,
            at: place.at,
            range: place.range,
            starts: starts.len(),
        };
        missed.note(trace);
    }
}

/// The elements of one variable that are outside of the range of their draws at the places of some
/// of `n` starts, of `n_places` each.
fn apart(names: &Places<'_>, there: &Variable, n: usize, n_places: usize) -> Vec<Place> {
    let drawn = names.variable();
    let (Column::Real(draws), Column::Real(values)) = (&drawn.values, &there.values) else {
        return Vec::new();
    };
    let len = drawn.elements();
    let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); len];
    for row in draws.chunks_exact(len.max(1)) {
        for (range, &x) in ranges.iter_mut().zip(row) {
            *range = (range.0.min(x), range.1.max(x));
        }
    }
    let mut places = Vec::new();
    for start in 0..n {
        for (e, &range) in ranges.iter().enumerate() {
            let value = |i: usize| values[(start * n_places + i) * len + e];
            let mut all: Vec<f64> = (0..n_places).map(value).collect();
            all.sort_unstable_by(f64::total_cmp);
            let at = all[n_places / 2];
            let outside = (range.0 - at).max(at - range.1) / (range.1 - range.0);
            if outside > MARGIN && outside.is_finite() {
                places.push(Place {
                    element: names.label(e),
                    at,
                    range,
                    outside,
                    start,
                });
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use crate::data::Dataset;
    use crate::diagnose::{FindingKind, Verdict};
    use crate::draws::{Attribute, Column};
    use crate::model::Model;
    use crate::run::{Caller, Settings, bind, run};

    /// Whether all draws of `x` have one sign, and the findings of places that were missed.
    fn found(text: &str, seed: u64) -> (bool, Vec<String>) {
        let mut settings = Settings::default();
        settings.sampler.seed = seed;
        let joint = bind(&Model::parse(text).unwrap(), &Dataset::new(), &settings).unwrap();
        let outcome = run(&joint, &settings, &Caller::silent()).unwrap();
        let diagnosis = outcome.diagnose(&Default::default()).unwrap();
        let findings = diagnosis.findings.iter();
        let missed = findings.filter(|f| f.kind == FindingKind::PlaceMissed);
        let missed: Vec<String> = missed.map(ToString::to_string).collect();
        assert!(missed.is_empty() || diagnosis.verdict() != Verdict::Converged);
        let noted = |(name, _): &&(String, Attribute)| name.contains("place_missed");
        let noted = outcome.trace.attributes.iter().filter(noted).count();
        assert_eq!(noted, missed.len());
        let x = outcome.trace.group("posterior").unwrap().variables[0]
            .values
            .clone();
        let Column::Real(x) = x else {
            panic!("x is a number")
        };
        (
            x.iter().all(|x| *x > 0.0) || x.iter().all(|x| *x < 0.0),
            missed,
        )
    }

    /// Two equal modes, at 1.7 and -1.7: all four chains start in one of them in one of eight
    /// runs. Then eight further starts are all in that one in one of 256. Catches: a run of one
    /// mode that is called converged.
    #[test]
    fn a_mode_that_no_chain_visited_is_found() {
        let text = "x ~ Normal(0, 3)\ntarget += -2 * (x^2 - 3)^2";
        let runs: Vec<_> = (1..=40).map(|seed| found(text, seed)).collect();
        let of_one_mode = runs.iter().filter(|run| run.0).count();
        assert!(of_one_mode >= 2, "{of_one_mode} runs");
        for (k, (one_mode, missed)) in runs.iter().enumerate() {
            assert_eq!(*one_mode, !missed.is_empty(), "seed {}: {missed:?}", k + 1);
        }
        let (_, said) = runs.iter().find(|run| run.0).unwrap();
        assert!(said[0].contains("x is near") && said[0].contains("no chain visited"));
    }

    /// Exact. Catches: a place that differs in nothing that is recorded, or that has next to no mass.
    #[test]
    fn one_mode_has_nothing_missed() {
        for text in [
            "x ~ Normal(0, 1)",
            // Only its square is recorded.
            "x = _u^2\n_u ~ Normal(0, 3)\ntarget += -2 * (_u^2 - 3)^2",
            // A second mode of one hundred-thousandth of the mass.
            "x ~ Normal(0, 3)\ntarget += -2 * (x^2 - 3)^2 + 3.4 * x",
            "x ~ Cauchy(0, 1)",
            "x ~ StudentT(3, 1e5, 10)",
        ] {
            for seed in 1..=8 {
                assert_eq!(
                    found(text, seed).1,
                    Vec::<String>::new(),
                    "{text}, seed {seed}"
                );
            }
        }
    }
}
