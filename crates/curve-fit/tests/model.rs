//! A fit handed to the sampler as a model.
#![allow(clippy::unwrap_used)]

use fitzroy::model::Model;
use fitzroy::model::joint::Joint;
use fitzroy_curve_fit::fit::Plan;
use fitzroy_curve_fit::report::{Names, model_text};
use fitzroy_curve_fit::{Data, Formula, Loss, Options, curve_fit, posterior};

#[test]
fn the_text_is_a_model() {
    let labels = ["left".to_string(), "right".to_string()];
    let formula = Formula::parse("let u = b*t; a*exp(-u) + c[set]").unwrap();
    let roles = formula.roles(&["t", "set"], &[("set", &labels)]).unwrap();
    let options = Options {
        bounds: vec![("b".into(), 0.0, f64::INFINITY)],
        ..Options::default()
    };
    let plan = Plan::new(&formula, roles, false, &options).unwrap();
    let names = Names {
        y: "counts",
        sigma: None,
        absolute_sigma: false,
        priors: &[],
    };
    let text = model_text(&plan, &names).unwrap();
    let model = Model::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert!(model.symbols().contains_key("noise") && model.symbols().contains_key("c"));
    assert!(text.contains("b ~ Flat() bounded(0, inf)"), "{text}");
    let robust = Options {
        loss: Loss::Huber,
        ..Options::default()
    };
    let plan = Plan::new(&formula, plan.roles.clone(), false, &robust).unwrap();
    assert!(
        model_text(&plan, &names)
            .unwrap_err()
            .to_string()
            .contains("StudentT")
    );
}

/// Every distribution with a density is a prior whose chains start apart, at the fitted value where
/// the prior has mass there. Catches: a list of priors kept beside the distributions, and chains that
/// all start at one point.
#[test]
fn chains_start_from_the_fit_under_any_prior() {
    let x: Vec<f64> = (0..20).map(f64::from).collect();
    let y: Vec<f64> = x
        .iter()
        .map(|x| 0.4 * x + 2.0 + 0.1 * (7.0 * x).sin())
        .collect();
    let data = Data::new(y).with("x", x);
    let options = Options::default();
    let estimate = curve_fit("a*x+b", &data, &options).unwrap();
    let formula = Formula::parse("a*x+b").unwrap();
    let roles = formula.roles(&["x"], &[]).unwrap();
    let plan = Plan::new(&formula, roles, false, &options).unwrap();
    let priors = [
        ("a ~ Normal(0, 1)", true),
        ("a ~ Uniform(0, 1)", true),
        ("a ~ Beta(2, 2)", true),
        ("a ~ Kumaraswamy(2, 2)", true),
        ("a ~ Triangular(0, 1, 0.5)", true),
        ("a ~ Pareto(1, 0.1)", true),
        ("a ~ Wald(1, 1)", true),
        ("a ~ Gamma(2, 1)", true),
        ("a ~ TruncatedNormal(0, 1, -1, 1)", true),
        ("a ~ Normal(0, 1) truncated(lower=0)", true),
        ("a ~ Flat() bounded(upper=3)", true),
        ("a ~ Uniform(2, 3)", false),
        ("a ~ Pareto(1, 5)", false),
    ];
    for (prior, holds_the_fit) in priors {
        let (name, law) = prior.split_once(" ~ ").unwrap();
        let priors = [(name.to_string(), law.to_string())];
        let names = Names {
            y: "y",
            sigma: None,
            absolute_sigma: false,
            priors: &priors,
        };
        let model = Model::parse(&model_text(&plan, &names).unwrap()).unwrap();
        let set = posterior::dataset(&plan, &data, "y", None);
        let joint = Joint::new(&model, model.bind(&set).unwrap()).unwrap();
        let starts = posterior::starts(&joint, &plan, &estimate, 4, 1);
        let graphs = joint.graphs(&[]);
        let a = graphs.recorded.iter().find(|r| r.name == "a").unwrap();
        let value = |u: &Vec<f64>| {
            let all = fitzroy_graph::evaluate(&graphs.graph, &graphs.bindings, u, &[a.node]);
            all[0][0]
        };
        let values: Vec<f64> = starts.iter().map(value).collect();
        assert!(
            values.windows(2).all(|pair| pair[0] != pair[1]),
            "{prior}: {values:?}"
        );
        let error = 6.0 * estimate.parameters[0].se;
        let near = values.iter().all(|v| (v - 0.4).abs() < error);
        assert_eq!(near, holds_the_fit, "{prior}: {values:?}");
    }
}
