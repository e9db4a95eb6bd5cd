//! A fit handed to the sampler as a model.
#![allow(clippy::unwrap_used)]

use fitzroy::model::Model;
use fitzroy_curve_fit::fit::Plan;
use fitzroy_curve_fit::report::{Names, model_text};
use fitzroy_curve_fit::{Formula, Loss, Options};

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
