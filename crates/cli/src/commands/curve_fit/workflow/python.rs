//! Models in Python, which are not run: what to write in their place.

use super::document::Document;
use super::usage;
use fitzroy::{Error, Result};
use fitzroy_curve_fit::Formula;

/// Prefixes of functions that have the same names here.
const MODULES: [&str; 6] = [
    "jax.numpy.",
    "jnp.",
    "numpy.",
    "np.",
    "math.",
    "scipy.special.",
];
/// Functions that have other names here.
const RENAMED: [(&str, &str); 3] = [("power(", "pow("), ("arctan(", "atan("), ("fabs(", "abs(")];

/// The error about a model in Python, with its formula where that can be read.
///
/// # Errors
/// The keys of such a model are missing.
pub(super) fn refuse(document: &Document) -> Result<Error> {
    let path = document.needed("model.path")?;
    let name = document.needed("model.function")?;
    let read = std::fs::read_to_string(&path).ok();
    let mut message = format!(
        "model.path: {path}: a function in Python is not run here; write its formula in its place"
    );
    match read.and_then(|text| formula(&text, &name)) {
        Some((formula, names)) => {
            message += &format!(
                ":\n  model:\n    type: expression\n    formula: \"{formula}\"\n    \
                 parameter_names: [{}]",
                names.join(", ")
            );
        }
        None => message += ", as `type: expression` and `formula: \"a*exp(-b*x) + c\"`",
    }
    Ok(usage(message))
}

/// The formula of a function that computes one expression, and its parameters in their order.
fn formula(text: &str, name: &str) -> Option<(String, Vec<String>)> {
    let start = text.find(&format!("def {name}("))?;
    let signature = &text[start..];
    let open = signature.find('(')?;
    let close = closing(signature, open)?;
    let arguments: Vec<String> = signature[open + 1..close]
        .split(',')
        .map(|a| {
            a.split([':', '='])
                .next()
                .unwrap_or_default()
                .trim()
                .to_string()
        })
        .filter(|a| !a.is_empty())
        .collect();
    let (x, parameters) = arguments.split_first()?;
    let body = signature[close..].split_once(":\n")?.1;
    let mut statements = Vec::new();
    for statement in statements_of(body) {
        if let Some(value) = statement.strip_prefix("return ") {
            statements.push(translated(value, x));
            let text = statements.join("; ");
            let roles = Formula::parse(&text).ok()?.roles(&["x"], &[]).ok()?;
            let mut found: Vec<&str> = roles.parameters.iter().map(|p| p.name.as_str()).collect();
            let mut want: Vec<&str> = parameters.iter().map(String::as_str).collect();
            found.sort_unstable();
            want.sort_unstable();
            return (found == want).then(|| (text, parameters.to_vec()));
        }
        let (name, value) = statement.split_once('=')?;
        let plain = name.trim().chars().all(|c| c.is_alphanumeric() || c == '_');
        if !plain || value.starts_with('=') {
            return None;
        }
        statements.push(format!("let {} = {}", name.trim(), translated(value, x)));
    }
    None
}

/// The place of the bracket that closes the one at `open`.
fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text[open..].char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(open + at);
        }
    }
    None
}

/// The statements of an indented body, each on one line, without comments and documentation.
fn statements_of(body: &str) -> Vec<String> {
    let (mut out, mut open, mut quoted): (Vec<String>, i32, bool) = (Vec::new(), 0, false);
    for line in body.lines() {
        let marks = line.matches("\"\"\"").count() + line.matches("'''").count();
        if quoted || marks > 0 {
            quoted ^= marks == 1;
            continue;
        }
        let code = line.split('#').next().unwrap_or_default();
        if code.trim().is_empty() {
            continue;
        }
        if open == 0 && !line.starts_with([' ', '\t']) {
            break;
        }
        match out.last_mut().filter(|_| open > 0) {
            Some(last) => *last += code.trim(),
            None => out.push(code.trim().to_string()),
        }
        let count = |c: char| code.matches(c).count() as i32;
        open += count('(') + count('[') - count(')') - count(']');
    }
    out
}

/// An expression of Python in the model language, with its first argument as `x`.
fn translated(value: &str, x: &str) -> String {
    let mut out = value.trim().replace("**", "^");
    for module in MODULES {
        out = out.replace(module, "");
    }
    for (there, here) in RENAMED {
        out = out.replace(there, here);
    }
    renamed(&out, x, "x")
}

/// `text` with every name `from` as `to`.
fn renamed(text: &str, from: &str, to: &str) -> String {
    let (mut out, mut word) = (String::new(), String::new());
    let flush = |word: &mut String, out: &mut String| {
        out.push_str(if word == from { to } else { word });
        word.clear();
    };
    for c in text.chars() {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
        } else {
            flush(&mut word, &mut out);
            out.push(c);
        }
    }
    flush(&mut word, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::formula;

    #[test]
    fn one_expression_becomes_a_formula_with_its_parameters_in_their_order() {
        let text = "import jax.numpy as jnp\n\n\
                    def other(x, a):\n    return a * x\n\n\
                    def decay(t, b, a: float, c=0.0):\n    \"\"\"Decays.\"\"\"\n    \
                    # Towards c.\n    u = jnp.exp(\n        -b * t\n    )\n    \
                    return a * u**2 + c  # done\n\nprint(1)\n";
        let (found, names) = formula(text, "decay").expect("it is one expression");
        assert_eq!(found, "let u = exp(-b * x); a * u^2 + c");
        assert_eq!(names, ["b", "a", "c"]);
    }

    #[test]
    fn what_is_more_than_an_expression_is_left() {
        let loops = "def f(x, a):\n    for i in range(3):\n        x = x + a\n    return x\n";
        assert!(formula(loops, "f").is_none());
        let hidden = "def f(x, a, b):\n    return a * helper(x, b)\n";
        assert!(formula(hidden, "f").is_none());
        assert!(formula("x = 1\n", "f").is_none());
    }
}
