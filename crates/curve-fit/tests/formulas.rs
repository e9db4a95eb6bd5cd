//! What names stand for, and formulas as they are written in Python.

use fitzroy_curve_fit::fit::{Estimate, Options, Plan};
use fitzroy_curve_fit::report::{Names, model_text};
use fitzroy_curve_fit::{CurveFit, Data, Formula, values};

fn line() -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..40).map(|i| f64::from(i) * 0.1).collect();
    let y = x.iter().map(|x| 2.0 * (-0.7 * x).exp() + 0.5);
    let y = y.collect();
    (x, y)
}

fn fit(model: &str, options: &Options) -> fitzroy::Result<Estimate> {
    let (x, y) = line();
    CurveFit::compile(model)?.fit(&Data::new(&y).with("x", &x), options)
}

fn refused(model: &str, options: &Options) -> String {
    match fit(model, options) {
        Ok(found) => panic!("{model} is not refused: {:?}", found.free),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_letter_e_is_a_parameter_like_others_and_pi_is_a_number() {
    let found = fit("a + b*x + c*x^2 + d*x^3 + e*x^4", &Options::default()).expect("a fit");
    assert_eq!(found.free, ["a", "b", "c", "d", "e"]);
    let fixed = Options {
        fixed: values([("e", 0.25)]),
        ..Options::default()
    };
    let found = fit("a + b*x + e*x^2", &fixed).expect("a fit");
    assert_eq!(found.parameter("e").map(|f| f.value), Some(0.25));
    let tied = Options {
        tied: vec![("a".into(), "2*e".into())],
        ..Options::default()
    };
    let found = fit("a + b*x + e*x^2", &tied).expect("a fit");
    let value = |name: &str| found.parameter(name).map_or(f64::NAN, |f| f.value);
    assert!((value("a") - 2.0 * value("e")).abs() < 1e-12);
    assert_eq!(
        fit("a*x + b*pi", &Options::default()).expect("a fit").free,
        ["a", "b"]
    );
    for options in [
        Options {
            p0: values([("pi", 3.0)]),
            ..Options::default()
        },
        Options {
            fixed: values([("pi", 3.0)]),
            ..Options::default()
        },
        Options {
            bounds: vec![("pi".into(), 0.0, 4.0)],
            ..Options::default()
        },
        Options {
            tied: vec![("pi".into(), "2*a".into())],
            ..Options::default()
        },
    ] {
        let message = refused("a*x + pi", &options);
        assert!(message.contains("`pi` is the number 3.14159"), "{message}");
    }
    // Somebody who means Euler's number writes it as a base.
    let message = refused("a*e^(-b*x)", &Options::default());
    assert!(message.contains("write exp(...)"), "{message}");
    let message = refused("a*e**(-b*x)", &Options::default());
    assert!(message.contains("write exp(...)"), "{message}");
}

#[test]
fn a_curve_whose_parameter_is_called_e_has_no_model_of_that_name() {
    let formula = Formula::parse("e*x + a").expect("it parses");
    let roles = formula.roles(&["x", "y"], &[]).expect("roles");
    let plan = Plan::new(&formula, roles, false, &Options::default()).expect("a plan");
    let names = Names {
        y: "y",
        sigma: None,
        absolute_sigma: false,
        priors: &[],
    };
    let message = model_text(&plan, &names)
        .expect_err("`e` is a number there")
        .to_string();
    assert!(
        message.contains("`e`") && message.contains("another name"),
        "{message}"
    );
}

#[test]
fn functions_of_python_are_fitted_as_the_formulas_they_are() {
    let p0 = Options {
        p0: values([("a", 1.0), ("b", 1.0), ("c", 0.0)]),
        ..Options::default()
    };
    let plain = fit("a*exp(-b*x)+c", &p0).expect("a fit");
    for (model, order) in [
        ("a*np.exp(-b*x)+c", ["a", "b", "c"]),
        ("lambda x, c, a, b: a*jnp.exp(-b*x)+c", ["c", "a", "b"]),
        (
            "def f(x, b, a, c): return a*math.exp(-b*x)+c",
            ["b", "a", "c"],
        ),
        (
            "def f(x: float, a: float, c, b) -> float:\n    u = -b * x\n    return a*np.exp(u)+c\n",
            ["a", "c", "b"],
        ),
    ] {
        let found = fit(model, &p0).expect(model);
        assert_eq!(found.free, order, "{model}");
        for name in order {
            let value = |e: &Estimate| e.parameter(name).map_or(f64::NAN, |f| f.value);
            let (own, other) = (value(&found), value(&plain));
            assert!(
                (own - other).abs() <= 1e-9 * other.abs(),
                "{model}: {name} {own} {other}"
            );
        }
    }
    for (model, says) in [
        (
            "lambda t, a, b: a*t + b",
            "`t`, the first argument of the function, must be a column",
        ),
        (
            "lambda x, a: a*x + b",
            "`b` is neither an argument of the function (x, a) nor a column",
        ),
        ("a*np.expp(-b*x)", "unknown function `expp`"),
        (
            "def f(x, a):\n    if a > 0:\n        return x\n    return a*x\n",
            "if a > 0:",
        ),
    ] {
        let message = refused(model, &Options::default());
        assert!(message.contains(says), "{message}");
    }
}
