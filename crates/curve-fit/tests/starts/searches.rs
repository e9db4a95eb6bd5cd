//! What a search sees, and what it says when it sees nothing.

use super::*;

/// Errors that differ from row to row are not taken for noise: the search goes on until all is explained.
#[test]
fn weights_that_vary_hide_no_peak() {
    let mut chance = Chance(Rng::new(12, 0, 0, 0, Purpose::Data));
    for round in 0..6 {
        let x = chance.rows(300, 30.0, true);
        let sigma: Vec<f64> = x.iter().map(|_| chance.scale(0.02, 0.2)).collect();
        let peak = |x: f64, m: f64, s: f64| (-0.5 * ((x - m) / s).powi(2)).exp();
        let at = 8.0 + f64::from(round);
        let curve = |x: f64| 50.0 + peak(x, at, 0.8) + 0.7 * peak(x, 21.0, 1.5);
        let rows = x.iter().zip(&sigma);
        let y: Vec<f64> = rows
            .map(|(x, s)| curve(*x) + s * chance.0.normal())
            .collect();
        let data = Data::new(&y)
            .with("x", &x)
            .with_sigma(Sigma::Each(sigma.clone().into()));
        let text = "a*exp(-(x-m)^2/(2*s^2)) + b*exp(-(x-n)^2/(2*t^2)) + c";
        let found = CurveFit::compile(text)
            .unwrap()
            .fit(&data, &Options::default())
            .unwrap();
        assert!(found.reduced_chi2() < 1.4, "{round}: {:?}", found.popt);
    }
}

/// A fit without a start ends as low as one from the truth.
fn assert_found(what: &str, text: &str, (x, y): (Vec<f64>, Vec<f64>), named: &[(&str, f64)]) {
    let problem = Problem {
        text: text.into(),
        x,
        y,
        truth: truth(named),
    };
    let (known, found) = (fit(&problem, &problem.truth), fit(&problem, &[]));
    assert!(
        found.chi2 <= known.chi2 * (1.0 + 1e-6),
        "{what}: {:?}",
        found.popt
    );
}

/// Many rows have the same starts: some of them are looked at, and what they say holds for all.
#[test]
fn waves_and_peaks_among_many_rows_are_found() {
    let mut chance = Chance(Rng::new(8, 0, 0, 0, Purpose::Data));
    for n in [3_000, 20_000, 60_000] {
        for cycles in [3.3, 70.2, 700.4] {
            let x = chance.rows(n, 50.0, true);
            let w = TAU * cycles / 50.0;
            let y = chance.noisy(&x, 0.3, |x| 1.5 * (w * x + 0.4).sin() + 7.0);
            let named = [("a", 1.5), ("w", w), ("p", 0.4), ("c", 7.0)];
            assert_found(&format!("{n} {cycles}"), "a*sin(w*x+p)+c", (x, y), &named);
        }
        let x = chance.rows(n, 50.0, true);
        let line = |x: f64, m: f64, s: f64| 1.0 / (1.0 + ((x - m) / s).powi(2));
        let y = chance.noisy(&x, 0.1, |x| {
            2.0 * line(x, 11.0, 0.3) + line(x, 30.0, 0.7) + 1.0
        });
        let text = "a/(1+((x-m)/s)^2) + b/(1+((x-n)/t)^2) + c";
        let named = [
            ("a", 2.0),
            ("m", 11.0),
            ("s", 0.3),
            ("b", 1.0),
            ("n", 30.0),
            ("t", 0.7),
            ("c", 1.0),
        ];
        assert_found(&n.to_string(), text, (x, y), &named);
    }
}

/// A start that nothing in the rows speaks for says so.
#[test]
fn a_wave_or_peak_in_noise_is_called_a_guess() {
    let mut chance = Chance(Rng::new(9, 0, 0, 0, Purpose::Data));
    let x = chance.rows(300, 10.0, true);
    for text in ["a*sin(w*x+p)+c", "a*exp(-(x-m)^2/(2*s^2))+c"] {
        let told = |chance: &mut Chance, height: f64| {
            let y = chance.noisy(&x, 1.0, |x| match text.contains("sin") {
                true => height * (11.0 * x).sin(),
                false => height * (-(x - 4.0).powi(2) / 0.5).exp(),
            });
            let data = Data::new(&y).with("x", &x);
            let found = CurveFit::compile(text)
                .unwrap()
                .fit(&data, &Options::default())
                .unwrap();
            found.findings.iter().any(|f| f.contains("guess"))
        };
        let of_noise = (0..40).filter(|_| told(&mut chance, 0.0)).count();
        let of_signals = (0..40).filter(|_| told(&mut chance, 2.0)).count();
        assert!(
            of_noise >= 36 && of_signals == 0,
            "{text}: {of_noise} {of_signals}"
        );
    }
}

/// The search of a place may see nothing on a few uneven rows; the steps from there find it, and no more is said.
#[test]
fn a_hyperbola_on_eight_rows_is_no_guess() {
    let mut chance = Chance(Rng::new(12, 0, 0, 0, Purpose::Data));
    let x = [0.0, 0.5, 1.0, 2.0, 8.0, 16.0, 32.0, 64.0];
    let fitter = CurveFit::compile("V*x/(K+x)").unwrap();
    for k in 0..60 {
        let (v, half) = (chance.scale(0.01, 1000.0), chance.scale(0.1, 100.0));
        let noise = [0.0, 0.001, 0.02, 0.05][k % 4] * v;
        let y = chance.noisy(&x, noise, |x| v * x / (half + x));
        let data = Data::new(&y).with("x", &x);
        let found = fitter.fit(&data, &Options::default()).unwrap();
        let guessed = found.flags.contains(&"guessed_start");
        assert!(!guessed, "{v} {half} {noise}: {:?}", found.findings);
    }
}

/// Groups of a batch have frequencies and peaks of their own.
#[test]
fn each_group_of_a_batch_is_started_by_itself_where_it_has_to_be() {
    use fitzroy_curve_fit::batch::{Groups, fit_many};
    use std::sync::atomic::AtomicBool;
    let mut chance = Chance(Rng::new(10, 0, 0, 0, Purpose::Data));
    for make in [even_sine as Make, few_peaks] {
        let mut problems: Vec<Problem> = Vec::new();
        while problems.len() < 24 {
            let next = make(&mut chance);
            if problems.first().is_none_or(|p| p.text == next.text) {
                problems.push(next);
            }
        }
        let x: Vec<f64> = problems.iter().flat_map(|p| p.x.clone()).collect();
        let y: Vec<f64> = problems.iter().flat_map(|p| p.y.clone()).collect();
        let of: Vec<f64> = (0..problems.len())
            .flat_map(|k| vec![k as f64; problems[k].x.len()])
            .collect();
        let fitter = CurveFit::compile(&problems[0].text).unwrap();
        let options = Options::default();
        let all = Data::new(&y).with("x", &x);
        let plan = fitter.plan(&all, &options).unwrap();
        let table = all.table(&plan.roles.predictors).unwrap();
        let groups = Groups::by_number(&of);
        let found = fit_many(&plan, &table, &groups, &options, &AtomicBool::new(false)).unwrap();
        let right = |k: &usize| {
            let known = fitter.fit(
                &data(&problems[*k]),
                &Options {
                    p0: problems[*k].truth.clone(),
                    ..Options::default()
                },
            );
            found.chi2[*k] <= known.unwrap().chi2 * (1.0 + 1e-6)
        };
        let n = (0..problems.len()).filter(right).count();
        assert!(n >= 23, "{}: {n} of {}", problems[0].text, problems.len());
    }
}

/// Bounds say which of two waves is meant, and given values stay.
#[test]
fn a_search_stays_within_bounds_and_keeps_what_is_given() {
    let mut chance = Chance(Rng::new(11, 0, 0, 0, Purpose::Data));
    let x = chance.rows(400, 20.0, false);
    let y = chance.noisy(&x, 0.1, |x| {
        2.0 * (3.0 * x + 0.5).sin() + (11.0 * x - 1.0).sin() + 4.0
    });
    let data = Data::new(&y).with("x", &x);
    let fit = |options: Options| {
        let fitter = CurveFit::compile("a*sin(w*x+p)+c").unwrap();
        fitter.fit(&data, &options).unwrap()
    };
    for (low, high, w) in [(0.0, 40.0, 3.0), (6.0, 40.0, 11.0), (8.0, 12.0, 11.0)] {
        let found = fit(Options {
            bounds: vec![("w".into(), low, high), ("a".into(), 0.0, f64::INFINITY)],
            ..Options::default()
        });
        assert!((found.popt[1] - w).abs() < 0.05, "{:?}", found.popt);
    }
    let found = fit(Options {
        p0: vec![("w".into(), 11.02), ("c".into(), 3.5)],
        ..Options::default()
    });
    let start = |name: &str| found.parameter(name).unwrap().start.unwrap();
    assert!((found.popt[1] - 11.0).abs() < 0.05, "{:?}", found.popt);
    assert!(start("w") == 11.02 && start("c") == 3.5);
}
