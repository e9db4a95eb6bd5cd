//! Figures of fits: drawn whatever the data are, without numbers that are none.
#![allow(clippy::unwrap_used)]

use fitzroy_curve_fit::report::{Cloud, Shown, fit_figure, residual_figure};
use fitzroy_curve_fit::{CurveFit, Data, Options, Sigma};
use fitzroy_report::draw::{Theme, svg};
use fitzroy_report::figure::Style;

fn ripple(i: usize) -> f64 {
    ((i * 104_729) % 1009) as f64 / 1009.0 - 0.5
}

/// The figure of `model` as SVG, and what it shows.
fn drawn(model: &str, data: &Data<'_>) -> (String, Shown) {
    let fitter = CurveFit::compile(model).unwrap();
    let options = Options::default();
    let estimate = fitter.fit(data, &options).unwrap();
    let plan = fitter.plan(data, &options).unwrap();
    let table = data.table(&plan.roles.predictors).unwrap();
    let shown = Shown::new(&plan, &table, &estimate, "y").unwrap();
    let style = Style::default();
    let text = svg(&fit_figure(&shown, 0.95, &style), Theme::Light);
    let more = svg(&residual_figure(&shown, &style), Theme::Light);
    assert!(!text.contains("NaN") && !more.contains("NaN"), "{model}");
    (text, shown)
}

fn line(n: usize) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..n).map(|i| i as f64 * 10.0 / n as f64).collect();
    let y = x.iter().enumerate().map(|(i, x)| 2.0 * x + 1.0 + ripple(i));
    let y = y.collect();
    (x, y)
}

#[test]
fn few_rows_are_dots_with_error_bars_and_many_are_counted() {
    let (x, y) = line(50);
    let sigma = Sigma::Each(vec![0.3; 50].into());
    let data = Data::new(&y).with("x", &x).with_sigma(sigma);
    let (text, shown) = drawn("a*x+b", &data);
    assert!(text.contains("σ") && text.contains("95 % of new observations"));
    assert!(matches!(&shown.data, Cloud::Dots { x, .. } if x.len() == 50));
    let (x, y) = line(20_000);
    let (text, shown) = drawn("a*x+b", &Data::new(&y).with("x", &x));
    assert!(text.contains("darker where rows are dense"));
    let Cloud::Counts { counts, .. } = &shown.residuals else {
        panic!("20,000 rows are counted")
    };
    assert_eq!(counts.iter().sum::<u64>(), 20_000);
}

#[test]
fn data_sets_have_a_curve_each_and_several_predictors_stand_over_the_fit() {
    let (x, y) = line(60);
    let sets: Vec<String> = (0..60).map(|i| ["left", "right"][i % 2].into()).collect();
    let data = Data::new(&y).with("x", &x).with_labels("set", &sets);
    let (text, shown) = drawn("a*x+b[set]", &data);
    assert_eq!(shown.curves.len(), 2);
    assert!(text.contains("fitted, left") && text.contains("fitted, right"));
    let z: Vec<f64> = (0..60).map(ripple).collect();
    let (text, shown) = drawn("a*x+b*z+c", &Data::new(&y).with("x", &x).with("z", &z));
    assert!(text.contains("observed as fitted") && shown.curves.is_empty());
}

#[test]
fn fits_without_errors_and_constant_data_are_drawn_too() {
    let (x, y) = line(30);
    drawn("a*x+b+c", &Data::new(&y).with("x", &x));
    drawn("a*x+b", &Data::new(vec![3.0; 30]).with("x", &x));
    drawn(
        "a*x+b",
        &Data::new(vec![1.0, 2.0]).with("x", vec![0.0, 1.0]),
    );
    drawn("a+0*x", &Data::new(&y).with("x", vec![1.0; 30]));
}
