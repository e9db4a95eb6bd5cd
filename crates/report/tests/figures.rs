//! Every kind of figure: its golden SVG, and that nothing is cut off, whatever it is given.
#![allow(clippy::unwrap_used)]

use fitzroy_report::draw::{Item, Rect, Scene, Theme, pdf, png, svg};
use fitzroy_report::figure::*;
use std::fs;
use std::path::Path;

/// Numbers that look random and are the same everywhere: a linear congruential generator, twelve of
/// whose numbers make one that is nearly normal.
fn noise(seed: u64, n: usize) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..n)
        .map(|_| (0..12).map(|_| uniform()).sum::<f64>() - 6.0)
        .collect()
}

fn draws(labels: &[&str], n_chains: usize, n_draws: usize) -> Draws {
    let chain = |k: usize, c: usize| noise((100 * k + c) as u64, n_draws);
    let series = labels.iter().enumerate().map(|(k, label)| Series {
        label: (*label).into(),
        chains: (0..n_chains).map(|c| chain(k, c)).collect(),
    });
    Draws {
        series: series.collect(),
        chain_names: (0..n_chains).map(|c| format!("chain {c}")).collect(),
        divergent: (0..n_chains)
            .map(|c| if c == 1 { vec![0, n_draws / 2] } else { vec![] })
            .collect(),
        left_out: 0,
    }
}

fn with(label: &str, chains: Vec<Vec<f64>>) -> Draws {
    Draws {
        chain_names: (0..chains.len()).map(|c| format!("chain {c}")).collect(),
        series: vec![Series {
            label: label.into(),
            chains,
        }],
        ..Draws::default()
    }
}

fn predictive(values: &[f64], whole: bool) -> Predictive {
    let made = |v: Vec<f64>| match whole {
        true => v.iter().map(|x| (x * 2.0).abs().round()).collect(),
        false => v,
    };
    Predictive {
        name: "y".into(),
        observed: made(values.to_vec()),
        replicates: (0..8).map(|k| made(noise(900 + k, values.len()))).collect(),
        prior: false,
    }
}

fn forest_of(draws: &Draws) -> Vec<ForestRow> {
    let column = |s: &Series| {
        let pooled = s.pooled();
        let (a, b) = fitzroy::diagnose::hdi(&pooled, 0.5);
        let (c, d) = fitzroy::diagnose::hdi(&pooled, 0.89);
        ForestColumn {
            mean: fitzroy::diagnose::mean(&pooled),
            inner: [a, b],
            outer: [c, d],
            r_hat: 1.003,
            ess: 1234.0,
        }
    };
    let row = |s: &Series| ForestRow {
        variable: s.label.split('[').next().unwrap().into(),
        label: s.label.clone(),
        traces: vec![Some(column(s))],
    };
    draws.series.iter().map(row).collect()
}

/// Every kind on the same draws.
fn all(draws: &Draws, style: &Style) -> Vec<(&'static str, Scene)> {
    let compare = Posterior {
        reference: vec![(String::new(), 0.5)],
        rope: Some([-0.1, 0.1]),
    };
    let first = &draws.series[0];
    let pooled = first.pooled();
    let pit: Vec<f64> = pooled.iter().map(|v| 1.0 / (1.0 + (-v).exp())).collect();
    let names = vec!["one.nc".to_string()];
    vec![
        ("trace", trace_figure(draws, style)),
        ("rank", rank_figure(draws, style)),
        ("posterior", posterior_figure(draws, &compare, style)),
        (
            "forest",
            forest_figure(&forest_of(draws), &names, draws.left_out, style),
        ),
        ("pair", pair_figure(&few(draws), style)),
        ("energy", energy_figure(first, style)),
        ("autocorr", autocorrelation_figure(draws, style)),
        ("ess", ess_figure(draws, style)),
        ("ppc", predictive_figure(&predictive(&pooled, false), style)),
        (
            "ppc-counts",
            predictive_figure(&predictive(&pooled, true), style),
        ),
        ("loo-pit", pit_figure(&pit, "y", style)),
        ("khat", khat_figure(&pooled, &[], 0.7, style)),
        ("parallel", parallel_figure(draws, style)),
    ]
}

/// A scatter of every pair of hundreds is not a figure; the command draws six at most.
fn few(draws: &Draws) -> Draws {
    let mut few = draws.clone();
    few.series.truncate(4);
    few
}

/// The text of an SVG without the font, one element a line.
fn elements(scene: &Scene) -> String {
    let text = svg(scene, Theme::Light);
    let (before, rest) = text.split_once("<style>").unwrap();
    let (_, after) = rest.split_once("</style>").unwrap();
    format!("{before}{after}").replace("><", ">\n<")
}

/// Whether two lines have the same words and, to the twentieth of a pixel, the same numbers:
/// the last bit of a machine's arithmetic does not matter.
fn alike(a: &str, b: &str) -> bool {
    let parts = |line: &str| -> Vec<String> {
        line.split_inclusive(|c: char| !(c.is_ascii_digit() || c == '.'))
            .flat_map(|p| {
                let at = p
                    .trim_end_matches(|c: char| !(c.is_ascii_digit() || c == '.'))
                    .len();
                [p[..at].to_string(), p[at..].to_string()]
            })
            .collect()
    };
    let (a, b) = (parts(a), parts(b));
    let same = |(a, b): (&String, &String)| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => (a - b).abs() <= 0.05,
        _ => a == b,
    };
    a.len() == b.len() && a.iter().zip(&b).all(same)
}

/// Golden files are written anew with FITZROY_UPDATE_GOLDEN=1, and looked at.
#[test]
fn every_kind_is_drawn_as_before() {
    let draws = draws(&["mu", "theta[Choate]"], 2, 60);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/figures");
    for (kind, scene) in all(
        &draws,
        &Style {
            width: 700.0,
            ..Style::default()
        },
    ) {
        let text = elements(&scene);
        let path = folder.join(format!("{kind}.svg"));
        if std::env::var_os("FITZROY_UPDATE_GOLDEN").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &text).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        let same = |(a, b): (&str, &str)| alike(a, b);
        let differs = text.lines().zip(expected.lines()).position(|l| !same(l));
        assert!(
            differs.is_none() && text.lines().count() == expected.lines().count(),
            "{kind}: line {differs:?} differs from {}",
            path.display()
        );
    }
}

/// Well-formed, without NaN, every text inside, no two texts on each other.
#[track_caller]
fn check(what: &str, scene: &Scene) {
    let text = svg(scene, Theme::Light);
    well_formed(what, &text);
    for bad in ["=\"NaN", "=\"inf", "=\"-inf"] {
        assert!(!text.contains(bad), "{what}: {bad}");
    }
    assert!(
        scene.width.is_finite() && scene.height.is_finite() && scene.height < 60_000.0,
        "{what}"
    );
    let bounds: Vec<(Rect, &str)> = scene
        .texts()
        .map(|t| (t.bounds(), t.text.as_str()))
        .collect();
    for (b, words) in &bounds {
        let inside = b.x >= -0.5
            && b.y >= -0.5
            && b.right() <= scene.width + 0.5
            && b.bottom() <= scene.height + 0.5;
        assert!(
            inside,
            "{what}: `{words}` at {b:?} of {} x {}",
            scene.width, scene.height
        );
    }
    for (k, (a, one)) in bounds.iter().enumerate() {
        for (b, other) in &bounds[k + 1..] {
            let across = a.x + 1.0 < b.right() && b.x + 1.0 < a.right();
            let down = a.y + 2.5 < b.bottom() && b.y + 2.5 < a.bottom();
            assert!(!(across && down), "{what}: `{one}` lies on `{other}`");
        }
    }
}

/// Tags close in the order in which they open, and attributes are quoted.
#[track_caller]
fn well_formed(what: &str, text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text.split_once("?>").unwrap().1;
    while let Some((_, tag)) = rest.split_once('<') {
        let (inside, after) = tag.split_once('>').unwrap();
        let name = inside.split([' ', '/']).find(|w| !w.is_empty()).unwrap();
        if inside.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{what}");
        } else if !inside.ends_with('/') {
            open.push(name);
        }
        assert_eq!(inside.matches('"').count() % 2, 0, "{what}: {inside}");
        rest = after;
    }
    assert!(open.is_empty(), "{what}: {open:?}");
}

#[test]
fn nothing_is_cut_off_or_overlaps() {
    let many: Vec<String> = (0..40).map(|k| format!("theta[{k}]")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (what, draws) in [
        ("usual", draws(&["mu", "tau", "theta[Choate]"], 4, 100)),
        (
            "names",
            draws(
                &[
                    "<b>\"x\"&</script>",
                    "θ[Ωmega, ñandú]",
                    "a_very_long_name_of_a_variable[with a long label too, and another one of it]",
                ],
                2,
                50,
            ),
        ),
        ("one chain", draws(&["mu"], 1, 50)),
        ("many variables", draws(&many, 2, 20)),
        ("nine chains", draws(&["mu", "tau"], 9, 30)),
        ("many chains", draws(&["mu"], 200, 20)),
    ] {
        for width in [1100.0, 500.0] {
            for (kind, scene) in all(
                &draws,
                &Style {
                    width,
                    ..Style::default()
                },
            ) {
                check(&format!("{kind}, {what}, {width}"), &scene);
            }
        }
    }
}

#[test]
fn degenerate_draws_get_a_figure_all_the_same() {
    let ramp: Vec<f64> = (0..40).map(f64::from).collect();
    let scaled = |s: f64| -> Vec<Vec<f64>> {
        let chain = |seed: u64| noise(seed, 40).iter().map(|v| v * s).collect();
        vec![chain(1), chain(2)]
    };
    let mut holes = scaled(1.0);
    holes[0][3] = f64::NAN;
    let mut infinite = scaled(1.0);
    infinite[1][7] = f64::INFINITY;
    for (what, chains) in [
        ("one draw", vec![vec![1.5]; 2]),
        ("no draws", vec![vec![]; 2]),
        ("three draws", vec![vec![1.0, 2.0, 1.5]; 2]),
        ("constant", vec![vec![3.0; 40]; 2]),
        ("each chain constant", vec![vec![3.0; 40], vec![4.0; 40]]),
        ("NaN", holes),
        ("all NaN", vec![vec![f64::NAN; 40]; 2]),
        ("infinite", infinite),
        ("1e300", scaled(1e300)),
        ("1e-300", scaled(1e-300)),
        (
            "large offset",
            vec![ramp.iter().map(|v| 1e12 + v).collect(); 2],
        ),
        (
            "whole numbers",
            vec![ramp.iter().map(|v| v % 5.0).collect(); 2],
        ),
    ] {
        for (kind, scene) in all(&with("x", chains), &Style::default()) {
            let what = format!("{kind}, {what}");
            check(&what, &scene);
            assert!(png(&scene, Theme::Dark, 0.5).is_ok(), "{what}");
            assert!(!pdf(&scene, Theme::Light).is_empty());
        }
    }
}

#[test]
fn many_chains_do_not_make_a_large_figure() {
    let scene = trace_figure(&draws(&["mu"], 1000, 100), &Style::default());
    let text = svg(&scene, Theme::Light);
    assert!(text.len() < 100_000, "{}", text.len());
    let keys: Vec<&str> = scene.texts().map(|t| t.text.as_str()).collect();
    assert!(
        keys.contains(&"middle 50 % and 90 % of 1000 chains"),
        "{keys:?}"
    );
}

#[test]
fn dashes_tell_chains_apart_where_colours_may_not() {
    let scene = rank_figure(&draws(&["mu"], 7, 40), &Style::default());
    let dashed = scene.items.iter().filter(|item| match item {
        Item::Path(path) => path.stroke.is_some_and(|s| s.dash.is_some()),
        _ => false,
    });
    // Three chains, each in the legend and in the panel.
    assert_eq!(dashed.count(), 6);
}

#[test]
fn variables_share_an_axis_only_where_their_intervals_can_be_read() {
    let mut close = draws(&["a", "b[0]", "b[1]"], 2, 100);
    let one = forest_figure(&forest_of(&close), &[], 0, &Style::default());
    for chain in &mut close.series[0].chains {
        chain.iter_mut().for_each(|v| *v *= 1e-3);
    }
    let two = forest_figure(&forest_of(&close), &[], 0, &Style::default());
    let heads = |s: &Scene| s.texts().filter(|t| t.text == "R-hat").count();
    assert_eq!((heads(&one), heads(&two)), (1, 2));
}

#[test]
fn charts_of_other_work_are_checked_alike() {
    let x: Vec<f64> = (1..50).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|v| 1e3 / v).collect();
    let up: Vec<f64> = y.iter().map(|v| v * 1.2).collect();
    let layers = vec![
        Layer::Band {
            name: "95 %".into(),
            x: x.clone(),
            low: y.clone(),
            high: up,
            ink: fitzroy_report::draw::Ink::Series(0),
        },
        Layer::Line {
            name: "fit".into(),
            x: x.clone(),
            y: y.clone(),
            stroke: fitzroy_report::draw::Stroke::series(0, 1.5),
        },
        Layer::Points {
            name: "data".into(),
            x,
            y,
            ink: fitzroy_report::draw::Ink::Series(1),
            size: 4.0,
        },
    ];
    let chart = Chart::new("cost", "iteration", "cost, arbitrary units", layers);
    let log = chart.clone().log(true, true);
    check(
        "charts",
        &charts("both", &[chart, log], 2, 220.0, &Style::default()),
    );
    let mut bars = vec![Bar::new("CPU", 1.25), Bar::new("a peer", f64::NAN)];
    bars[1].note = "not reached".into();
    bars[0].spread = Some([1.1, 1.4]);
    check(
        "bars",
        &bar_figure(&bars, "time", "seconds", &Style::default()),
    );
}
