//! Curves that are Rust code.
#![allow(clippy::unwrap_used)]

use fitzroy_curve_fit::{CurveFit, Data, Expr, Options, Real, values};

fn damped<'g>(x: &[Expr<'g>], p: &[Expr<'g>]) -> Expr<'g> {
    p[0] * (-p[1] * x[0]).exp() * (p[2] * x[0]).sin() + p[3]
}

#[test]
fn a_closure_gives_what_its_formula_gives() {
    let x: Vec<f64> = (0..200).map(|i| f64::from(i) * 0.05).collect();
    let ripple = |i: usize| ((i * 104_729) % 1009) as f64 / 1009.0 - 0.5;
    let y = x
        .iter()
        .enumerate()
        .map(|(i, x)| 2.0 * (-0.3 * x).exp() * (3.0 * x).sin() + 0.5 + 0.1 * ripple(i));
    let y: Vec<f64> = y.collect();
    let options = Options {
        p0: values([("a", 1.5), ("b", 0.2), ("w", 2.9), ("c", 0.0)]),
        bounds: vec![("b".into(), 0.0, 2.0)],
        ..Options::default()
    };
    let data = Data::new(&y).with("x", &x);
    let text = CurveFit::compile("a*exp(-b*x)*sin(w*x)+c").unwrap();
    let code = CurveFit::from_fn(["a", "b", "w", "c"], damped).unwrap();
    let (text, code) = (
        text.fit(&data, &options).unwrap(),
        code.fit(&data, &options).unwrap(),
    );
    assert!(code.converged());
    assert_eq!(code.linear, [true, false, false, true]);
    for (a, b) in text.popt.iter().zip(&code.popt) {
        assert!((a - b).abs() <= 1e-9 * a.abs(), "{a} {b}");
    }
    assert_eq!(code.free, ["a", "b", "w", "c"]);
}

#[test]
fn names_that_are_none_are_refused() {
    for (names, part) in [(["a", "a"], "two parameters"), (["a", "b c"], "`b c`")] {
        let message = CurveFit::from_fn(names, |_, p| p[0] + p[1]).err().unwrap();
        assert!(message.to_string().contains(part), "{message}");
    }
    assert!(CurveFit::from_fn([], |x, _| x[0]).is_err());
}
