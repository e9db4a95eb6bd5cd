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
            let index = text[from..].split(']').next().unwrap_or_default();
            let is_number = !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit());
            if !stands_alone(&text[..at]) || !is_number {
                continue;
            }
            if kept == MOST_KEPT {
                break;
            }
            kept += 1;
            let (element, name) = (format!("{open}{index}]"), format!("{array}_{index}"));
            let _ = writeln!(loads, "    const {real} {name} = {element};");
            text = renamed(&text, &element, &name);
            from = at;
        }
    }
    loads + &text
}

/// Whether what comes behind `before` is one number of an array: neither a part of another name, nor the first
/// of many numbers, whose address is taken.
fn stands_alone(before: &str) -> bool {
    let last = before.bytes().next_back();
    !last.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'&')
}

/// `text` with `name` for `element` wherever that stands alone.
fn renamed(text: &str, element: &str, name: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (k, part) in text.split(element).enumerate() {
        if k > 0 {
            out += if stands_alone(&out) { name } else { element };
        }
        out += part;
    }
    out
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

/// The divisions by constants among statements of single numbers, with what they need, and the other
/// statements. They are multiplications, which do not wait for each other, unless one of them has an unusual
/// size.
pub(super) fn divisions_apart(text: &str) -> (String, String) {
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
    let rest = all.filter(|(at, _)| !moved.contains(at));
    let rest = rest.map(|(_, line)| format!("{line}\n")).collect();
    (out, rest)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// The words of a text that may be names of numbers.
fn names(text: &str) -> impl Iterator<Item = &str> {
    words(text).filter(|w| is_name(w))
}

/// Whether an expression reads what threads share.
fn reads_memory(value: &str) -> bool {
    words(value).any(|word| ["w", "v"].contains(&word))
}

/// Whether a line stands in no loop.
fn is_outside(line: &str) -> bool {
    line.starts_with("    ") && !line.starts_with("     ")
}

/// Where in `body` all numbers are known that statements need which do not stand in it yet: behind the last
/// line that makes one of them, and at the end if there is one that no line outside a loop makes.
pub(super) fn known_from(body: &str, text: &str) -> usize {
    let made_here = |name: &str| text.lines().any(|l| defines(l, name));
    let needed: HashSet<&str> = names(text).filter(|n| !made_here(n)).collect();
    let known_behind = |name: &str| {
        let mut at = 0;
        let ends = body.split_inclusive('\n').filter_map(|line| {
            at += line.len();
            (is_outside(line) && defines(line, name)).then_some(at)
        });
        ends.last().unwrap_or(body.len())
    };
    needed.into_iter().map(known_behind).max().unwrap_or(0)
}

/// Whether the statements `turn` may stand at the end of a loop's `body`, before which stands `before`: they
/// read what is stored in this turn or known before the loop, and store what nobody has read.
pub(super) fn may_join(before: &str, body: &str, turn: &str) -> bool {
    let is_known = |name: &str| {
        let outside = before.lines().filter(|l| is_outside(l));
        turn.lines().chain(outside).any(|l| defines(l, name))
    };
    let subscripts = |text: &str| -> Vec<String> {
        let parts = text.split(['[', ']']).collect::<Vec<_>>();
        let arrays = parts.chunks(2).filter(|p| p.len() == 2);
        let name = |text: &str| text.chars().next_back().unwrap_or(' ');
        arrays
            .map(|p| format!("{}[{}]", name(p[0]), p[1]))
            .collect()
    };
    turn.lines().all(|line| {
        let (stores, reads) = match store_of(line) {
            Some((place, value)) => (Some(place), value),
            None => (None, line),
        };
        // What has another form than a definition or a store stays where it is.
        let is_plain = stores.is_some()
            || line.starts_with("        const double t")
            || line.starts_with("        double t");
        let is_new = |place: &str| !before.contains(place) && !body.contains(place);
        let is_own = |read: &String| {
            let store = format!("        {read} = ");
            read.starts_with("d[")
                || read.starts_with("q[")
                || body.contains(&store)
                || turn.contains(&store)
        };
        is_plain
            && stores.is_none_or(is_new)
            && subscripts(reads).iter().all(is_own)
            && names(reads).all(is_known)
    })
}

/// Which of `lines` the number `x` is made of; none where one of them is no definition or a quotient.
fn needed_for(lines: &[&str], x: &str, quotients: &HashSet<&str>) -> Option<Vec<usize>> {
    let mut needed = Vec::new();
    let mut open = vec![x];
    while let Some(text) = open.pop() {
        for name in names(text) {
            if quotients.contains(name) {
                return None;
            }
            let at = lines.iter().position(|l| defines(l, name));
            // What another step made is there already.
            let Some(at) = at else { continue };
            let (_, value) = definition_of(lines[at])?;
            // What others have stored is there when all have met, which no name tells.
            if reads_memory(value) {
                return None;
            }
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
        let body =
            "    tri_solve(3, 1, &fixed[0], &q[0], false, w + 9);\n    return q[0] + fixed[0];\n";
        let expected = "    const double q_0 = q[0];\n    const double fixed_0 = fixed[0];\n    \
                        tri_solve(3, 1, &fixed[0], &q[0], false, w + 9);\n    return q_0 + fixed_0;\n";
        assert_eq!(loads_first(body, "double"), expected);
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
        let (divisions, rest) = divisions_apart(text);
        assert_eq!(divisions + &rest, expected);
        let none = "    const double t2 = t1 / t0;\n";
        assert_eq!(divisions_apart(none), (String::new(), none.to_string()));
        // What others store must be there before.
        let shared = "    const double t2 = q[3] - w[0];\n    const double t3 = t2 / 20.0;\n";
        assert_eq!(divisions_apart(shared), (String::new(), shared.to_string()));
    }

    #[test]
    fn single_numbers_are_known_from_their_last_definition_on() {
        let body = "    const double t1 = q[1];\n    SHARE(i, 9) {\n        const double t2 = q[i];\n    }\n    \
                    const double t3 = w[4];\n    SYNC();\n";
        let after = |text: &str| &body[known_from(body, text)..];
        assert_eq!(
            after("    double t4 = t1 * 0.5;\n    double t5 = t4 * t1;\n"),
            &body[28..]
        );
        assert_eq!(after("    double t4 = t3 * t1;\n"), "    SYNC();\n");
        assert_eq!(after("    double t4 = q[7];\n"), body);
        // What only a turn of a loop knows is not known.
        assert_eq!(after("    double t4 = t2;\n"), "");
    }

    #[test]
    fn a_turn_joins_a_loop_that_has_what_it_reads() {
        let before = "    const double t1 = m_exp(q[1]);\n";
        let body = "        const double t2 = t1 * q[2 + i];\n        w[6 + i] = t2;\n";
        let joins = |turn: &str| may_join(before, body, turn);
        let turn =
            |value: &str| format!("        const double t9 = {value};\n        w[40 + i] = t9;\n");
        for value in ["t1 * w[6 + i]", "fma(fixed[7 + i], t1, q[i])"] {
            assert!(joins(&turn(value)), "{value}");
        }
        // Of another element, of another loop, not yet known, found in a table.
        for value in [
            "w[6 + 1 + i]",
            "w[80 + i]",
            "t1 * t5",
            "q[table[i]]",
            "w[6 + table[i]]",
        ] {
            assert!(!joins(&turn(value)), "{value}");
        }
        // What has been stored stays what it was, and sums and tables what they are.
        assert!(!joins(
            "        const double t9 = t1;\n        w[6 + i] = t9;\n"
        ));
        assert!(!joins(
            "        double t9 = 0.0;\n        for (int c = 0; c < 3; ++c)\n            t9 = t9 + q[c];\n"
        ));
    }

    /// a / b by an approximate reciprocal, two corrections of it and one of the quotient, as `MILD_QUOTIENT` has
    /// it: what the approximation is off by, up to 2^-18, must not show.
    #[test]
    fn mild_quotients_are_rounded_like_quotients() {
        let mut state = 7u64;
        let mut bits = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            state ^ state >> 29
        };
        for n in 0..2_000_000u32 {
            let b = f64::from_bits(bits() >> 12 | (1023 + u64::from(n % 2)) << 52);
            let any = f64::from_bits(bits() >> 12 | (1023 - u64::from(n % 60)) << 52);
            let a = if n % 3 == 0 { any } else { (any * b).next_up() };
            let off = (bits() >> 11) as f64 / 2f64.powi(53) - 0.5;
            let near = (1.0 / b) * (1.0 + off * 2f64.powi(-17));
            // The high word alone is approximated.
            let near = f64::from_bits(near.to_bits() & 0xffff_ffff_0000_0000 | 1);
            let error = (-b).mul_add(near, 1.0);
            let error = error.mul_add(error, error);
            let near = near.mul_add(error, near);
            let near = near.mul_add((-b).mul_add(near, 1.0), near);
            let quotient = a * near;
            let quotient = near.mul_add((-b).mul_add(quotient, a), quotient);
            assert_eq!(quotient.to_bits(), (a / b).to_bits(), "{a:e} / {b:e}");
        }
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
