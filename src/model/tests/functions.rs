//! Functions of a model: what they mean, against the same model with them written out by text.

use super::super::Model;
use super::model;
use crate::rng::{Purpose, Rng};

#[test]
fn a_function_is_its_formula_with_the_arguments_in_it() {
    let same = |short: &str, long: &str| assert_eq!(model(short), model(long), "{short}");
    let data = "data x[obs], g[obs] in groups\na ~ Normal(0, 1)\nb[groups] ~ Normal(0, 1)\n";
    let check = |short: &str, long: &str| same(&format!("{data}{short}"), &format!("{data}{long}"));
    // Free names are those of the model, wherever the function stands.
    check("m = f(x)\nlet f(x) = a + 2 * x", "m = a + 2 * x");
    check("let f(t) = t^2\nm = f(a + x)", "m = (a + x)^2");
    // By name, in any order; in functions, distributions, indices, limits and sizes.
    check("let f(x, y) = x - y\nm = f(y=a, x=x)", "m = x - a");
    check(
        "let f(x) = exp(x)\nx ~ Normal(f(a), f(f(a))) truncated(upper=f(9))",
        "x ~ Normal(exp(a), exp(exp(a))) truncated(upper=exp(9))",
    );
    check(
        "let at(v, i) = v[i]\nm = at(b, g) + at(x, 0)",
        "m = b[g] + x[0]",
    );
    check(
        "let twice(n) = 2 * n\ndim more = twice(3)\nm[more] = a",
        "dim more = 2 * 3\nm[more] = a",
    );
    check("let f(x) = x\ntarget += f(-a) - f(a)", "target += -a - a");
    // A dim is an argument as any other, and so is its twin.
    check(
        "let total(v, d) = sum(v, axis=d)\nm = total(x, obs)",
        "m = sum(x, axis=obs)",
    );
    check(
        "let gap(v, d) = v[d] - v[d']\nK[obs, obs] = gap(x, obs)",
        "K[obs, obs] = x[obs] - x[obs']",
    );
    // An argument hides what the model calls so, and no argument is taken for a name of the model.
    check("let f(a) = a + x\nm = f(3 * a)", "m = 3 * a + x");
    check(
        "let f(y, z) = y + h(z, y)\nlet h(y, z) = y / z\nm = f(x, a)",
        "m = x + a / x",
    );
    // A recurrence and an equation may come from functions.
    check(
        "let next(p) = lag(p, 0) + x\nm[obs] = next(m)",
        "m[obs] = lag(m, 0) + x",
    );
}

#[test]
fn a_function_that_is_not_called_is_told() {
    let warnings = model("let f(x) = x\nlet g(x) = 2 * f(x)\nm ~ Normal(0, 1)");
    assert_eq!(
        warnings.warnings(),
        [
            "the function `f` (line 1) is never called",
            "the function `g` (line 2) is never called",
        ]
    );
}

/// A model prints without its functions, and reads back equal.
#[test]
fn a_model_with_functions_prints_written_out() {
    let text = "let f(x, y) = x - y\na ~ Normal(0, 1)\nm = 2 * f(a, f(1, a)) ^ 2";
    assert_eq!(
        model(text).to_string(),
        "a ~ Normal(0, 1)\nm = 2 * (a - (1 - a)) ^ 2\n"
    );
    assert_eq!(model(&model(text).to_string()), model(text));
}

/// A formula by chance over `names`, which calls functions `f0` to `f(calls - 1)` of two arguments; as text
/// with the calls, and with each written out by putting text in brackets in the place of arguments.
fn formula(rng: &mut Rng, names: &[String], below: &[[String; 2]], depth: u32) -> (String, String) {
    let pick = |rng: &mut Rng, n: usize| (rng.uniform() * n as f64) as usize;
    let part = |rng: &mut Rng| formula(rng, names, below, depth - 1);
    match pick(rng, if depth == 0 { 2 } else { 7 }) {
        0 => {
            let name = names[pick(rng, names.len())].clone();
            (name.clone(), name)
        }
        1 => {
            let x = format!("{}", pick(rng, 9));
            (x.clone(), x)
        }
        2 | 3 => {
            let sign = ["+", "-", "*", "/", "^", "<"][pick(rng, 6)];
            let ((a, long_a), (b, long_b)) = (part(rng), part(rng));
            let joined = |a: &str, b: &str| format!("(({a}) {sign} ({b}))");
            (joined(&a, &b), joined(&long_a, &long_b))
        }
        4 => {
            let (a, long) = part(rng);
            (format!("exp({a})"), format!("exp({long})"))
        }
        5 => {
            let (a, long) = part(rng);
            (format!("-({a})"), format!("-({long})"))
        }
        _ if below.is_empty() => part(rng),
        _ => {
            let k = pick(rng, below.len());
            let ((a, long_a), (b, long_b)) = (part(rng), part(rng));
            let [_, body] = &below[k];
            let long = body.replace("#1", &format!("({long_a})"));
            let long = long.replace("#2", &format!("({long_b})"));
            let by_name = rng.uniform() < 0.3;
            let call = match by_name {
                true => format!("f{k}(v={b}, u={a})"),
                false => format!("f{k}({a}, {b})"),
            };
            (call, format!("({long})"))
        }
    }
}

/// Written out by replacing text, which knows nothing of trees. Catches: an argument that is taken for a
/// name of the model or of another function, brackets that are lost, arguments exchanged.
#[test]
fn random_functions_are_what_their_text_written_out_is() {
    for number in 0..300 {
        let mut rng = Rng::new(81, 0, 0, number, Purpose::Test);
        let own = ["u", "v", "a"].map(String::from);
        let mut functions: Vec<[String; 2]> = Vec::new();
        let mut definitions = Vec::new();
        for k in 0..1 + number % 4 {
            let (short, long) = formula(&mut rng, &own, &functions, 3);
            let marked: String = long.replace('u', "#1").replace('v', "#2");
            definitions.push(format!("let f{k}(u, v) = {short}\n"));
            functions.push([short, marked]);
        }
        let names = ["a", "b"].map(String::from);
        let (short, long) = formula(&mut rng, &names, &functions, 4);
        let head = "a ~ Normal(0, 1)\nb ~ Normal(0, 1)\n";
        let (before, after) = definitions.split_at(definitions.len() / 2);
        let short = format!("{}{head}m = {short}\n{}", before.concat(), after.concat());
        let long = format!("{head}m = {long}\n");
        assert_eq!(model(&short), model(&long), "{short}\n{long}");
    }
}

#[test]
fn functions_that_grow_without_end_are_stopped() {
    let mut text = String::from("let f0(x) = x + x\n");
    for k in 1..40 {
        text += &format!("let f{k}(x) = f{}(x) + f{}(x)\n", k - 1, k - 1);
    }
    let error = Model::parse(&format!("{text}m = f39(1)")).expect_err("2^40 operations");
    assert!(
        error.to_string().contains("more than 20000 operations"),
        "{error}"
    );
    let mut text = String::from("let f0(x) = -x\n");
    for k in 1..60 {
        let inner = "-".repeat(20);
        text += &format!("let f{k}(x) = {inner}f{}(x)\n", k - 1);
    }
    let error = Model::parse(&format!("{text}m = f59(1)")).expect_err("1200 deep");
    assert!(
        error
            .to_string()
            .contains("nests more than 1000 operations"),
        "{error}"
    );
}
