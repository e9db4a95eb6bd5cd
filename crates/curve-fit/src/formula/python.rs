//! Curves in Python: functions of its modules, `lambda x, a, b: ...`, and `def f(x, a, b): ... return ...`.
//!
//! Nothing is run. A function that computes one expression, perhaps of parts that it names before, is that
//! expression; its first argument is a column, the others are parameters in their order.

use fitzroy::model::functions;
use fitzroy::{Error, ErrorKind, Result};

/// Modules whose functions have the same names here.
const MODULES: [&str; 10] = [
    "np", "numpy", "jnp", "jax", "math", "torch", "sp", "scipy", "special", "anp",
];

/// A function of Python as a formula.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Function {
    /// Parts as `let NAME = ...`, then the value.
    pub(super) text: String,
    /// Its arguments in their order; none where it is only an expression.
    pub(super) arguments: Option<Vec<String>>,
}

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::Usage, message)
}

/// `text` as a formula, if it is a function or uses functions of modules; else as it is.
///
/// # Errors
/// What a formula cannot say: branches, loops, functions that are not there.
pub(super) fn read(text: &str) -> Result<Function> {
    let plain = text.trim();
    if let Some(rest) = definition(plain, None) {
        return def(rest);
    }
    if let Some(rest) = lambda(plain) {
        let Some(colon) = outside(rest, ':') else {
            let message = "a lambda is written `lambda x, a, b: a*exp(-b*x)`";
            return Err(refuse(message.into()));
        };
        let arguments = arguments(&rest[..colon])?;
        let body = rest[colon + 1..].trim();
        return Ok(Function {
            text: without_modules(body)?,
            arguments: Some(arguments),
        });
    }
    Ok(Function {
        text: without_modules(text)?,
        arguments: None,
    })
}

/// The function called `name` in a file of Python, as a lambda whose first argument is `column`; none where
/// there is no such function.
///
/// # Errors
/// As for formulas: it is more than an expression.
pub fn function_in(file: &str, name: &str, column: &str) -> Result<Option<String>> {
    let Some(rest) = definition(file, Some(name)) else {
        return Ok(None);
    };
    let (mut depth, mut kept) = (0, Vec::new());
    for (at, line) in rest.lines().enumerate() {
        let inside = line.starts_with([' ', '\t']) || line.trim().is_empty();
        if at > 0 && depth == 0 && !inside {
            break;
        }
        depth += opened(line);
        kept.push(line);
    }
    let found = def(&kept.join("\n"))?;
    let arguments = found.arguments.unwrap_or_default().join(", ");
    let text = format!("{arguments}: {}", found.text);
    let first = arguments.split(',').next().unwrap_or_default();
    Ok(Some(format!("lambda {}", renamed(&text, first, column))))
}

/// `text` with every name `from` as `to`.
fn renamed(text: &str, from: &str, to: &str) -> String {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let (mut out, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let end = match inside(first) {
            true => rest.find(|c| !inside(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        out += if word == from { to } else { word };
        rest = after;
    }
    out
}

/// What follows `def` of the function called `name`, or of a text that begins with one.
fn definition<'t>(text: &'t str, name: Option<&str>) -> Option<&'t str> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let own = line.trim_start();
        if let Some(rest) = own.strip_prefix("def ") {
            let called = rest.split('(').next().unwrap_or_default().trim();
            if name.is_none_or(|name| name == called) {
                return Some(&text[at + line.len() - rest.len()..]);
            }
        }
        let before = ["import ", "from ", "#", "@"]
            .iter()
            .any(|s| own.starts_with(s));
        if name.is_none() && !before && !own.trim().is_empty() {
            return None;
        }
        at += line.len();
    }
    None
}

/// What follows `lambda`, perhaps after a name that it is given.
fn lambda(text: &str) -> Option<&str> {
    let body = match text.split_once('=') {
        Some((name, rest)) if is_name(name.trim()) => rest.trim_start(),
        _ => text,
    };
    let rest = body.strip_prefix("lambda")?;
    rest.starts_with([' ', ':', '\t']).then_some(rest)
}

fn is_name(text: &str) -> bool {
    let first = text.chars().next();
    first.is_some_and(|c| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The place of `mark` outside of brackets.
fn outside(text: &str, mark: char) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ if c == mark && depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// How many more brackets a line opens than it closes.
fn opened(line: &str) -> i32 {
    let code = line.split('#').next().unwrap_or_default();
    let count = |marks: [char; 3]| code.matches(marks).count() as i32;
    count(['(', '[', '{']) - count([')', ']', '}'])
}

/// Names of arguments, without their types and usual values.
fn arguments(text: &str) -> Result<Vec<String>> {
    let (mut out, mut rest) = (Vec::new(), text);
    while !rest.trim().is_empty() {
        let end = outside(rest, ',').unwrap_or(rest.len());
        let own = rest[..end].split([':', '=']).next().unwrap_or_default();
        rest = rest.get(end + 1..).unwrap_or_default();
        let name = own.trim();
        if name.starts_with('*') {
            return Err(refuse(format!(
                "`{name}`: name every parameter, as in `lambda x, a, b: a*exp(-b*x)`"
            )));
        }
        if name == "/" {
            continue;
        }
        if !is_name(name) {
            return Err(refuse(format!("`{name}` is no name of an argument")));
        }
        if out.iter().any(|known| known == name) {
            return Err(refuse(format!("there are two arguments `{name}`")));
        }
        out.push(name.to_string());
    }
    match out.is_empty() {
        true => Err(refuse(
            "a function without arguments has no column; write `lambda x, a, b: ...`".into(),
        )),
        false => Ok(out),
    }
}

/// A function whose text after `def` is `rest`.
fn def(rest: &str) -> Result<Function> {
    let wrong = || refuse("a function is written `def f(x, a, b): return a*exp(-b*x)`".into());
    let open = rest.find('(').ok_or_else(wrong)?;
    let close = outside(&rest[open + 1..], ')');
    // The bracket that closes the signature is where the depth falls below that of its inside.
    let close = close.or_else(|| closing(rest, open)).ok_or_else(wrong)?;
    let arguments = arguments(&rest[open + 1..close])?;
    let after = &rest[close..];
    let colon = outside(&after[1..], ':').ok_or_else(wrong)? + 1;
    let mut parts = Vec::new();
    for statement in statements(&after[colon + 1..]) {
        if let Some(value) = statement.strip_prefix("return") {
            parts.push(without_modules(value.trim())?);
            return Ok(Function {
                text: parts.join("; "),
                arguments: Some(arguments),
            });
        }
        if ["import ", "from ", "pass"]
            .iter()
            .any(|s| statement.starts_with(s))
        {
            continue;
        }
        parts.push(assignment(&statement)?);
    }
    Err(refuse(
        "the function returns nothing; end it with `return` and its value".into(),
    ))
}

/// The place of the bracket that closes the one at `open`.
fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text[open..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(open + at);
        }
    }
    None
}

/// `NAME = EXPRESSION`, as a part of the formula.
fn assignment(statement: &str) -> Result<String> {
    let split = statement
        .split_once('=')
        .filter(|(name, value)| is_name(name.trim()) && !value.starts_with('='));
    let Some((name, value)) = split else {
        let first = statement.lines().next().unwrap_or_default();
        return Err(refuse(format!(
            "`{first}`: a curve is one expression, perhaps of parts with names; write branches as \
             where(condition, a, b), as in `let u = (x-m)/s; where(u < 0, a*exp(-u^2/2), a)`"
        )));
    };
    Ok(format!(
        "let {} = {}",
        name.trim(),
        without_modules(value.trim())?
    ))
}

/// The statements of a body, each on one line, without comments and documentation.
fn statements(body: &str) -> Vec<String> {
    let (mut out, mut open, mut quoted): (Vec<String>, i32, bool) = (Vec::new(), 0, false);
    for line in body.lines() {
        let marks = line.matches("\"\"\"").count() + line.matches("'''").count();
        if quoted || marks > 0 {
            quoted ^= marks == 1;
            continue;
        }
        let code = line.split('#').next().unwrap_or_default();
        let code = code.trim().trim_end_matches('\\');
        if code.is_empty() {
            continue;
        }
        match out
            .last_mut()
            .filter(|_| open > 0 || line_goes_on(body, line))
        {
            Some(last) => *last += &format!(" {code}"),
            None => out.extend(code.split(';').map(|part| part.trim().to_string())),
        }
        open += opened(code);
    }
    out.retain(|statement| !statement.is_empty());
    out
}

/// Whether the line before `line` ends with a backslash.
fn line_goes_on(body: &str, line: &str) -> bool {
    let at = line.as_ptr() as usize - body.as_ptr() as usize;
    body[..at].trim_end_matches(['\n', '\r']).ends_with('\\')
}

/// An expression with `np.exp` as `exp`, and whole statements of modules as what they are here.
fn without_modules(text: &str) -> Result<String> {
    let (mut out, mut rest) = (String::new(), text);
    let mut before = ' ';
    while let Some(first) = rest.chars().next() {
        let starts = (first.is_alphabetic() || first == '_')
            && !(before.is_alphanumeric() || before == '_' || before == '.');
        if !starts {
            out.push(first);
            (before, rest) = (first, &rest[first.len_utf8()..]);
            continue;
        }
        let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let end = rest.find(|c| !inside(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        out += &here(word, after.trim_start().starts_with('('))?;
        (before, rest) = ('_', after);
    }
    Ok(out)
}

/// A dotted name as it is called here.
fn here(word: &str, called: bool) -> Result<String> {
    let Some((module, _)) = word.split_once('.').filter(|(m, _)| MODULES.contains(m)) else {
        return Ok(word.to_string());
    };
    let name = word.rsplit('.').next().unwrap_or_default();
    if !called {
        return match name {
            "pi" | "inf" => Ok(name.into()),
            "e" => Ok("exp(1)".into()),
            _ => Err(refuse(format!(
                "`{word}`: only numbers such as `{module}.pi` and functions such as `{module}.exp(x)` \
                 have a meaning in a curve"
            ))),
        };
    }
    if functions::function(name).is_some() {
        return Ok(name.into());
    }
    let ours = functions::known_elsewhere(name);
    ours.map(str::to_string)
        .ok_or_else(|| refuse(format!("`{word}`: {}", functions::unknown(name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (String, Vec<String>) {
        let found = read(text).expect("it is understood");
        (found.text, found.arguments.unwrap_or_default())
    }

    #[test]
    fn functions_of_modules_lose_their_prefix() {
        let (text, none) =
            of("a*np.exp(-b*x) + jnp.sin(2*np.pi*x) + math.e + jax.numpy.arctan(x)**2");
        assert_eq!(text, "a*exp(-b*x) + sin(2*pi*x) + exp(1) + atan(x)**2");
        assert!(none.is_empty());
        assert_eq!(of("a*x + 1.5e-3*b + 2.*c").0, "a*x + 1.5e-3*b + 2.*c");
        for (wrong, holds) in [
            ("a*np.cosine(x)", "cos"),
            ("np.newaxis", "np.pi"),
            ("lambda *p: p", "name every parameter"),
            ("lambda x, x: x", "two arguments"),
        ] {
            let message = read(wrong).expect_err(wrong).to_string();
            assert!(message.contains(holds), "{message}");
        }
    }

    #[test]
    fn a_lambda_has_its_arguments_in_their_order() {
        for text in [
            "lambda x, b, a: a*np.exp(-b*x)",
            "f = lambda x, b, a=1.0: a*np.exp(-b*x)",
        ] {
            let (formula, arguments) = of(text);
            assert_eq!(formula, "a*exp(-b*x)");
            assert_eq!(arguments, ["x", "b", "a"]);
        }
    }

    #[test]
    fn a_function_is_its_parts_and_its_value() {
        let text = "import jax.numpy as jnp\n\n\
                    def decay(t: jnp.ndarray, b, a: float, c=0.0) -> jnp.ndarray:\n    \
                    \"\"\"Decays.\"\"\"\n    # Towards c.\n    u = jnp.exp(\n        -b * t\n    )\n    \
                    return a * u**2 + \\\n        c  # done\n";
        let (formula, arguments) = of(text);
        assert_eq!(formula, "let u = exp( -b * t ); a * u**2 + c");
        assert_eq!(arguments, ["t", "b", "a", "c"]);
        assert_eq!(of("def f(x, a, b): return a*x + b").0, "a*x + b");
        let file = format!("def other(x, a):\n    return a * x\n\n{text}\nprint(1)\n");
        let found = function_in(&file, "decay", "x").expect("it is an expression");
        let (formula, arguments) = of(&found.expect("it is there"));
        assert_eq!(formula, "let u = exp( -b * x ); a * u**2 + c");
        assert_eq!(arguments, ["x", "b", "a", "c"]);
        assert_eq!(function_in(&file, "missing", "x").expect("no error"), None);
    }

    #[test]
    fn what_is_more_than_an_expression_is_refused_with_what_to_write() {
        let loops = "def f(x, a):\n    for i in range(3):\n        x = x + a\n    return x\n";
        let message = read(loops).expect_err("a loop").to_string();
        assert!(
            message.contains("for i in range(3):") && message.contains("where("),
            "{message}"
        );
        assert!(read("def f(x, a):\n    u = a*x\n").is_err());
    }
}
