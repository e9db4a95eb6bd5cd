//! Figures of fits: drawn whatever the data are, without numbers that are none.
#![allow(clippy::unwrap_used)]

use fitzroy_curve_fit::batch::{Groups, doubts, fit_many};
use fitzroy_curve_fit::fit::{quality, regions};
use fitzroy_curve_fit::report::{
    Axes, Cloud, Many, Shown, View, fit_figure, image_figure, many_page, panel_figure,
    region_figure, residual_figure, trend_figure,
};
use fitzroy_curve_fit::{CurveFit, Data, Options, Sigma};
use fitzroy_report::draw::{Theme, svg};
use fitzroy_report::figure::Style;

fn ripple(i: usize) -> f64 {
    ((i * 104_729) % 1009) as f64 / 1009.0 - 0.5
}

/// The figure of `model` as SVG, and what it shows.
fn drawn(model: &str, data: &Data<'_>) -> (String, Shown) {
    seen(model, data, &View::of("y"))
}

fn seen(model: &str, data: &Data<'_>, view: &View) -> (String, Shown) {
    let fitter = CurveFit::compile(model).unwrap();
    let options = Options::default();
    let mut estimate = fitter.fit(data, &options).unwrap();
    let plan = fitter.plan(data, &options).unwrap();
    let table = data.table(&plan.roles.predictors).unwrap();
    estimate.weigh(&quality(&plan, &table, &estimate).unwrap());
    let shown = Shown::new(&plan, &table, &estimate, view).unwrap();
    let style = Style::default();
    let text = svg(&fit_figure(&shown, 0.95, &style), Theme::Light);
    let more = svg(&residual_figure(&shown, &style), Theme::Light);
    assert!(!text.contains("NaN") && !more.contains("NaN"), "{model}");
    if let Some(image) = image_figure(&shown, &style) {
        assert!(!svg(&image, Theme::Light).contains("NaN"), "{model}");
    }
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

#[test]
fn a_decay_over_decades_has_logarithmic_axes_unless_linear_ones_are_asked_for() {
    let x: Vec<f64> = (0..4000).map(|i| i as f64 / 300.0).collect();
    let y = x.iter().enumerate();
    let y: Vec<f64> = y
        .map(|(i, x)| 1e4 * (-0.9 * x).exp() * (1.0 + 0.2 * ripple(i)))
        .collect();
    for n in [200, 4000] {
        let some: Vec<usize> = (0..4000).step_by(4000 / n).collect();
        let pick = |v: &[f64]| some.iter().map(|&i| v[i]).collect::<Vec<f64>>();
        let data = Data::new(pick(&y)).with("x", pick(&x));
        let view = |axes| View {
            axes,
            title: "Decay".into(),
            ..View::of("y")
        };
        let (text, shown) = seen("a*exp(-b*x)", &data, &view(Axes::Auto));
        assert_eq!(shown.log, [false, true]);
        assert!(text.contains("Decay") && text.contains("10,000"));
        let (_, shown) = seen("a*exp(-b*x)", &data, &view(Axes::Linear));
        assert_eq!(shown.log, [false, false]);
        let (_, shown) = seen("a*exp(-b*x)", &data, &view(Axes::LogLog));
        assert_eq!(shown.log, [true, true]);
        assert!(shown.curves[0].x[0] > 0.0, "places are above 0");
    }
}

#[test]
fn the_column_of_a_predictor_names_its_axis() {
    let (x, y) = line(40);
    let columns = vec![("x".to_string(), "time (s)".to_string())];
    let view = View {
        columns,
        ..View::of("counts (1/s)")
    };
    let (text, _) = seen("a*x+b", &Data::new(&y).with("x", &x), &view);
    assert!(text.contains("time (s)") && text.contains("counts (1/s)"));
}

#[test]
fn residuals_are_followed_along_the_predictor_whatever_the_order_of_rows() {
    let n = 100;
    let order: Vec<usize> = (0..n).map(|i| (i * 37) % n).collect();
    let x: Vec<f64> = order.iter().map(|&i| i as f64).collect();
    let y: Vec<f64> = x.iter().map(|x| x + (0.2 * x).sin()).collect();
    let (text, shown) = drawn("a*x+b", &Data::new(&y).with("x", &x));
    let serial = &shown.serial;
    assert!(text.contains("patterned"), "the verdict stands above");
    assert!(
        serial.runs < 10 && (serial.expected - 51.0).abs() < 1.0,
        "{serial:?}"
    );
    // By the definition.
    let mut rows: Vec<(f64, f64)> = x
        .iter()
        .copied()
        .zip(shown.sample.iter().copied())
        .collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mean = rows.iter().map(|r| r.1).sum::<f64>() / n as f64;
    let at = |lag: usize| {
        let both = rows.iter().zip(&rows[lag..]);
        both.map(|(a, b)| (a.1 - mean) * (b.1 - mean)).sum::<f64>()
    };
    for (k, r) in serial.autocorrelation.iter().enumerate() {
        assert!((r - at(k + 1) / at(0)).abs() < 1e-9, "lag {}", k + 1);
    }
}

#[test]
fn a_spot_is_drawn_as_data_curve_and_residuals() {
    let n = 15 * 12;
    let x: Vec<f64> = (0..n).map(|i| (i % 15) as f64).collect();
    let y: Vec<f64> = (0..n).map(|i| 0.5 * (i / 15) as f64).collect();
    let z = (0..n).map(|i| {
        let (u, v) = ((x[i] - 7.0) / 2.0, (y[i] - 3.0) / 1.0);
        9.0 * (-0.5 * (u * u + v * v)).exp() + 1.0 + 0.3 * ripple(i)
    });
    let data = Data::new(z.collect::<Vec<f64>>())
        .with("x", &x)
        .with("y", &y);
    let model = "a*exp(-((x-x0)^2/(2*s^2)+(y-y0)^2/(2*t^2)))+c";
    let (_, shown) = drawn(model, &data);
    let image = shown.image.as_ref().expect("two predictors");
    assert_eq!((image.x.len(), image.y.len()), (15, 12));
    for k in 0..n {
        let off = image.data[k] - image.curve[k] - image.residuals[k];
        assert!(off.abs() < 1e-12);
    }
}

#[test]
fn terms_of_a_sum_have_their_areas_with_errors_by_the_delta_method() {
    let x: Vec<f64> = (0..400).map(|i| i as f64 / 20.0).collect();
    let peak = |x: f64, a: f64, m: f64, s: f64| a * (-0.5 * ((x - m) / s).powi(2)).exp();
    let y = x.iter().enumerate().map(|(i, &x)| {
        peak(x, 5.0, 7.0, 0.6) + peak(x, 3.0, 12.0, 0.9) + 0.2 * x + 1.0 + 0.2 * ripple(i)
    });
    let data = Data::new(y.collect::<Vec<f64>>()).with("x", &x);
    let model = "gaussian(x,a1,m1,s1) + gaussian(x,a2,m2,s2) + k*x + c";
    let (text, shown) = drawn(model, &data);
    let parts: Vec<_> = shown.parts.iter().map(|p| &p.component).collect();
    assert_eq!(parts.len(), 3);
    assert!(text.contains("background") && parts[2].background);
    let fitter = CurveFit::compile(model).unwrap();
    let e = fitter.fit(&data, &Options::default()).unwrap();
    let at = |name: &str| e.free.iter().position(|n| n == name).unwrap();
    for (k, part) in parts[..2].iter().enumerate() {
        let (a, m, s) = (
            at(&format!("a{}", k + 1)),
            at(&format!("m{}", k + 1)),
            at(&format!("s{}", k + 1)),
        );
        let root = (2.0 * std::f64::consts::PI).sqrt();
        let (height, width) = (e.popt[a], e.popt[s].abs());
        assert!((part.area / (root * height * width) - 1.0).abs() < 1e-9);
        let p = e.popt.len();
        let v = |i: usize, j: usize| e.pcov[i * p + j];
        let variance =
            width * width * v(a, a) + height * height * v(s, s) + 2.0 * width * height * v(a, s);
        assert!((part.area_se / (root * variance.sqrt()) - 1.0).abs() < 1e-6);
        let peak = part.peak.unwrap();
        assert!((peak.at - e.popt[m]).abs() < 1e-4 && (peak.height / height - 1.0).abs() < 1e-6);
        assert!((peak.fwhm / (2.354_820_045 * width) - 1.0).abs() < 1e-3);
    }
    let whole = &shown.curves[0].band.value;
    for i in 0..whole.len() {
        let ground = shown.parts[2].to[i];
        let sum: f64 = shown.parts[..2].iter().map(|p| p.to[i] - ground).sum();
        assert!((sum + ground - whole[i]).abs() < 1e-12, "terms add up");
    }
    let (_, plain) = drawn("a*x+b", &data);
    assert!(plain.parts.is_empty(), "a line is no sum of terms");
}

/// The contours of a line are ellipses at the quantile of F; those of a curve are where χ² has risen so much, by
/// fits of the other parameters that hold two of them.
#[test]
fn regions_are_where_chi2_has_risen_to_the_quantile() {
    let x: Vec<f64> = (0..12).map(f64::from).collect();
    let y: Vec<f64> = x
        .iter()
        .enumerate()
        .map(|(i, x)| 3.0 * (-0.4 * x).exp() + 0.3 * ripple(i))
        .collect();
    let data = Data::new(&y).with("x", &x);
    let options = Options::default();
    for model in ["a*x+b", "a*exp(-b*x)+c"] {
        let fitter = CurveFit::compile(model).unwrap();
        let e = fitter.fit(&data, &options).unwrap();
        let plan = fitter.plan(&data, &options).unwrap();
        let table = data.table(&plan.roles.predictors).unwrap();
        let found = regions(&plan, &table, &e, &e.free, &[0.9]).unwrap();
        let p = e.popt.len();
        assert_eq!(
            (found.profiles.len(), found.contours.len()),
            (p, p * (p - 1) / 2)
        );
        // F with 2 and ν degrees of freedom at 0.9.
        let dof = e.dof as f64;
        let goal = e.reduced_chi2() * dof * (0.1f64.powf(-2.0 / dof) - 1.0);
        for c in &found.contours {
            for k in (0..c.x.len()).step_by(7) {
                let held = [(c.names[0].clone(), c.x[k]), (c.names[1].clone(), c.y[k])];
                let rest = e
                    .free
                    .iter()
                    .zip(&e.popt)
                    .filter(|(n, _)| !c.names.contains(n));
                let p0 = rest.map(|(n, v)| (n.clone(), *v)).collect();
                let fixed = Options {
                    fixed: held.to_vec(),
                    p0,
                    ..options.clone()
                };
                let chi2 = match p {
                    2 => x
                        .iter()
                        .zip(&y)
                        .map(|(x, y)| (c.x[k] * x + c.y[k] - y).powi(2))
                        .sum(),
                    _ => fitter.fit(&data, &fixed).unwrap().chi2,
                };
                assert!(
                    ((chi2 - e.chi2) / goal - 1.0).abs() < 1e-3,
                    "{model} {:?} {k}",
                    c.names
                );
                if p == 2 {
                    assert!(
                        (c.x[k] - c.ellipse[0][k]).abs() < 1e-3 * e.se()[0],
                        "a line's is the ellipse"
                    );
                }
            }
        }
        for (k, own) in found.profiles.iter().enumerate() {
            for (x, rise) in own.x.iter().zip(&own.rise) {
                let parabola = ((x - e.popt[k]) / e.se()[k]).powi(2);
                assert!(p > 2 || (rise - parabola).abs() < 1e-4 * (1.0 + parabola));
            }
        }
        let scene = region_figure(&found, 2.0, &Style::default()).unwrap();
        assert!(!svg(&scene, Theme::Light).contains("NaN"), "{model}");
    }
}

/// Parameters of many fits stand over the numbers that the groups are, and each fit that is shown has its own curve;
/// a group that fails says so.
#[test]
fn many_fits_are_panels_and_parameters_over_their_group() {
    let (groups, rows) = (30, 25);
    let (mut by, mut x, mut y) = (Vec::new(), Vec::new(), Vec::new());
    for k in 0..groups {
        for i in 0..rows {
            let t = 0.2 * f64::from(i);
            by.push(280.0 + 5.0 * f64::from(k));
            x.push(t);
            let noise = 0.05 * ripple((k * rows + i) as usize);
            y.push((2.0 + 0.1 * f64::from(k)) * (-0.8 * t).exp() + noise);
        }
    }
    y[30] = f64::NAN;
    let data = Data::new(&y).with("t", &x);
    let (fitter, options) = (
        CurveFit::compile("a*exp(-b*t)").unwrap(),
        Options::default(),
    );
    let plan = fitter.plan(&data, &options).unwrap();
    let table = data.table(&plan.roles.predictors).unwrap();
    let groups = Groups::by_number(&by);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let batch = fit_many(&plan, &table, &groups, &options, &stop).unwrap();
    let doubts = doubts(&batch, &plan, &table, &groups, &options);
    let many = Many::new(
        &plan,
        &table,
        (&groups, &batch, &doubts.each),
        "T",
        &View::of("y"),
    )
    .unwrap();
    assert_eq!(
        (many.panels.len(), many.counts[0], many.counts[1]),
        (24, 30, 29)
    );
    assert_eq!(many.at[3], 295.0);
    let failed = many
        .panels
        .iter()
        .find(|p| p.title.starts_with("T = 285"))
        .unwrap();
    assert!(failed.title.contains(": ") && failed.curve_x.is_empty() && !failed.good);
    let own = many
        .panels
        .iter()
        .find(|p| p.title.starts_with("T = 280"))
        .unwrap();
    for (x, y) in own.curve_x.iter().zip(&own.curve_y) {
        let want = batch.theta[0] * (-batch.theta[1] * x).exp();
        assert!((y - want).abs() < 1e-12 * want.abs().max(1.0));
    }
    let style = Style::default();
    for scene in [panel_figure(&many, &style), trend_figure(&many, &style)] {
        assert!(!svg(&scene, Theme::Light).contains("NaN"));
        for text in scene.texts() {
            let b = text.bounds();
            assert!(b.x >= 0.0 && b.right() <= scene.width, "{}", text.text);
        }
    }
    let page = many_page(&many, "fitzroy curve-fit").html();
    assert!(page.contains("29 of 30 fits converged"));
}
