//! Lines of a text in an order in which less has to wait: numbers are stored after what a loop loads, and
//! divisions by constants stand side by side.

use std::collections::HashSet;
use std::fmt::Write as _;

/// The body of a loop over `i` with the lines that only store a number of this turn at its end: behind a
/// store no load begins before the number is there. What was loaded again becomes the number.
pub(super) fn stores_last(body: &str) -> String {
    let mut stores: Vec<(String, String)> = Vec::new();
    let mut text = String::with_capacity(body.len());
    for line in body.lines() {
        let known = |line: String, (place, name): &(String, String)| line.replace(place, name);
        match store_of(line) {
            Some((place, value)) => {
                let value = stores.iter().fold(value.to_string(), known);
                if is_name(&value) {
                    stores.push((place.to_string(), value));
                } else {
                    let _ = writeln!(text, "        {place} = {value};");
                }
            }
            None => {
                text += &stores.iter().fold(line.to_string(), known);
                text.push('\n');
            }
        }
    }
    for (place, name) in stores {
        let _ = writeln!(text, "        {place} = {name};");
    }
    text
}

/// Single parameters and constants that a text keeps from its start on, at most.
const MOST_KEPT: usize = 20;

/// The body of a function in which what stands under a fixed number in `q` and in `fixed` is loaded once, at
/// its start, where nothing waits for it yet. `parameter` is the type of what is in `q`.
pub(super) fn loads_first(body: &str, parameter: &str) -> String {
    let mut text = body.to_string();
    let mut loads = String::new();
    let mut kept = 0;
    for (array, real) in [("q", parameter), ("fixed", "double")] {
        let open = format!("{array}[");
        let mut from = 0;
        while let Some(at) = text[from..].find(&open).map(|at| at + from) {
            from = at + open.len();
            let before = text[..at].bytes().next_back();
            let index = text[from..].split(']').next().unwrap_or_default();
            let is_number = !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit());
            if before.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') || !is_number {
                continue;
            }
            if kept == MOST_KEPT {
                break;
            }
            kept += 1;
            let (element, name) = (format!("{open}{index}]"), format!("{array}_{index}"));
            let _ = writeln!(loads, "    const {real} {name} = {element};");
            text = text.replace(&element, &name);
            from = at;
        }
    }
    loads + &text
}

/// Place and value of a line that stores the element of this turn.
fn store_of(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("        ")?.strip_suffix(';')?;
    let (place, value) = line.split_once(" = ")?;
    let index = place.strip_prefix(['w', 'v', 'g'])?.strip_prefix('[')?;
    (index == "i]" || index.ends_with(" + i]")).then_some((place, value))
}

/// Whether a text is the name of one number.
fn is_name(text: &str) -> bool {
    let digits = text.strip_prefix('t').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// A line that defines a number: its name, and what it is.
fn definition_of(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix("    const double ")?.strip_suffix(';')?;
    line.split_once(" = ").filter(|(name, _)| is_name(name))
}

/// Numerator and divisor where a number is a quotient by a constant whose reciprocal has an ordinary size.
fn quotient_of(value: &str) -> Option<(&str, f64)> {
    let (x, divisor) = value.split_once(" / ")?;
    let is_single = is_name(x) || x.strip_prefix("q[").is_some_and(|x| x.ends_with(']'));
    let divisor: f64 = divisor.parse().ok()?;
    let is_ordinary = (1e-30..1e30).contains(&divisor.abs());
    (is_single && is_ordinary).then_some((x, divisor))
}

/// Statements of single numbers with their divisions by constants side by side, as early as they can be:
/// by multiplications, which do not wait for each other, unless one of them has an unusual size.
pub(super) fn divisions_together(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut quotients: Vec<(&str, &str, f64)> = Vec::new();
    let (mut moved, mut names) = (HashSet::new(), HashSet::new());
    for (at, line) in lines.iter().enumerate() {
        let quotient = definition_of(line).and_then(|(name, x)| Some((name, quotient_of(x)?)));
        let Some((name, (x, divisor))) = quotient else {
            continue;
        };
        // What the numerator needs of this text, which must not be another quotient of it.
        if let Some(needed) = needed_for(&lines[..at], x, &names) {
            moved.extend(needed);
            moved.insert(at);
            names.insert(name);
            quotients.push((name, x, divisor));
        }
    }
    let mut out = String::with_capacity(2 * text.len());
    let is_quotient = |line: &str| definition_of(line).is_some_and(|d| names.contains(d.0));
    let all = lines.iter().enumerate();
    for (_, line) in all
        .clone()
        .filter(|(at, line)| moved.contains(at) && !is_quotient(line))
    {
        let _ = writeln!(out, "{line}");
    }
    for (name, x, divisor) in &quotients {
        let reciprocal = 1.0 / divisor;
        let _ = writeln!(
            out,
            "    double {name} = QUOTIENT({x}, {divisor:?}, {reciprocal:?});"
        );
    }
    if !quotients.is_empty() {
        let tests: Vec<String> = quotients
            .iter()
            .map(|q| format!("IS_USUAL({})", q.1))
            .collect();
        let _ = writeln!(out, "    if (!({})) {{", tests.join(" & "));
        for (name, x, divisor) in &quotients {
            let _ = writeln!(out, "        {name} = {x} / {divisor:?};");
        }
        out += "    }\n";
    }
    for (_, line) in all.filter(|(at, _)| !moved.contains(at)) {
        let _ = writeln!(out, "{line}");
    }
    out
}

/// Which of `lines` the number `x` is made of; none where one of them is no definition or a quotient.
fn needed_for(lines: &[&str], x: &str, quotients: &HashSet<&str>) -> Option<Vec<usize>> {
    let mut needed = Vec::new();
    let mut open = vec![x];
    while let Some(text) = open.pop() {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for name in words.filter(|w| is_name(w)) {
            if quotients.contains(name) {
                return None;
            }
            let at = lines.iter().position(|l| defines(l, name));
            // What another step made is there already.
            let Some(at) = at else { continue };
            let (_, value) = definition_of(lines[at])?;
            if !needed.contains(&at) {
                needed.push(at);
                open.push(value);
            }
        }
    }
    Some(needed)
}

/// Whether a line makes the number `name`, by whatever means.
fn defines(line: &str, name: &str) -> bool {
    let line = line.trim_start();
    let line = line.strip_prefix("const ").unwrap_or(line);
    let rest = line
        .strip_prefix("double ")
        .and_then(|l| l.strip_prefix(name));
    rest.is_some_and(|r| r.starts_with([' ', ';'])) || line.contains(&format!("&{name})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_not_loaded_again() {
        let body = "        const double t1 = q[i];\n        w[6 + i] = t1;\n        \
                    const double t2 = fixed[i] - w[6 + i];\n        w[16 + i] = t2;\n        \
                    g[i] = w[16 + i];\n";
        let expected = "        const double t1 = q[i];\n        \
                        const double t2 = fixed[i] - t1;\n        \
                        w[6 + i] = t1;\n        w[16 + i] = t2;\n        g[i] = t2;\n";
        assert_eq!(stores_last(body), expected);
        // What stands under a condition, or belongs to another turn, stays where it is.
        let kept = "        if (i >= 3) g[i] += w[6 + i];\n        w[6 + k] = t1;\n";
        assert_eq!(stores_last(kept), kept);
    }

    #[test]
    fn what_is_read_again_and_again_is_loaded_once() {
        let body =
            "    const double t1 = q[1] + q[2 + i] * fixed[7];\n    return q[1] - fixed[7 + i];\n";
        let expected = "    const float q_1 = q[1];\n    const double fixed_7 = fixed[7];\n    \
                        const double t1 = q_1 + q[2 + i] * fixed_7;\n    return q_1 - fixed[7 + i];\n";
        assert_eq!(loads_first(body, "float"), expected);
    }

    #[test]
    fn divisions_by_constants_come_together_and_first() {
        let text = "    const double t2 = t1 + q[0];\n    const double t3 = t2 / 20.0;\n    \
                    const double t4 = t3 * t3;\n    const double t5 = t4 / 5.0;\n    \
                    const double t6 = q[1] / 15.0;\n";
        let expected = "    const double t2 = t1 + q[0];\n    \
                        double t3 = QUOTIENT(t2, 20.0, 0.05);\n    \
                        double t6 = QUOTIENT(q[1], 15.0, 0.06666666666666667);\n    \
                        if (!(IS_USUAL(t2) & IS_USUAL(q[1]))) {\n        \
                        t3 = t2 / 20.0;\n        t6 = q[1] / 15.0;\n    }\n    \
                        const double t4 = t3 * t3;\n    const double t5 = t4 / 5.0;\n";
        assert_eq!(divisions_together(text), expected);
        let none = "    const double t2 = t1 / t0;\n";
        assert_eq!(divisions_together(none), none);
    }

    /// x / d by x (1/d) and one correction, as `QUOTIENT` has it. Catches a divisor for which one
    /// correction is not enough: a random search, which finds those of two multiplications alone.
    #[test]
    fn quotients_by_multiplication_are_rounded_like_quotients() {
        let mut state = 1u64;
        let mut bits = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            state ^ state >> 29
        };
        let mut without = 0;
        for n in 0..2_000_000u32 {
            let divisor = match n % 2 {
                0 => f64::from(n / 2 % 1000 + 1),
                _ => f64::from_bits(bits() >> 12 | 1023 << 52),
            };
            // Near halves of last places, too, where roundings differ.
            let any = f64::from_bits(bits() >> 12 | (1023 + u64::from(n % 7)) << 52);
            let x = if n % 3 == 0 {
                any
            } else {
                (any * divisor).next_up()
            };
            let reciprocal = 1.0 / divisor;
            let near = x * reciprocal;
            let quotient = (-divisor).mul_add(near, x).mul_add(reciprocal, near);
            assert_eq!(
                quotient.to_bits(),
                (x / divisor).to_bits(),
                "{x:e} / {divisor:e}"
            );
            without += u32::from(near != x / divisor);
        }
        assert!(without > 100_000, "{without}");
    }
}
