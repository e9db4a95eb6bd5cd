//! Blanks comments and literals, so that rules look at code alone.

/// `text` with the inside of comments, strings and characters replaced by spaces; line breaks
/// stay, so that line numbers hold.
pub(crate) fn blank(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = skip(&chars, at);
        if end > at {
            out.extend(
                chars[at..end]
                    .iter()
                    .map(|&c| if c == '\n' { c } else { ' ' }),
            );
            at = end;
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    out
}

/// Where the comment or literal that starts at `at` ends; `at` itself when none starts there.
fn skip(chars: &[char], at: usize) -> usize {
    let next = |k: usize| chars.get(at + k).copied();
    match chars[at] {
        '/' if next(1) == Some('/') => line_end(chars, at),
        '/' if next(1) == Some('*') => block_end(chars, at),
        '"' => string_end(chars, at + 1),
        'r' if !follows_word(chars, at) => raw_end(chars, at).unwrap_or(at),
        '\'' if next(1) == Some('\\') => {
            // The escaped character itself may be a quote.
            let from = at + 3;
            (from..chars.len())
                .find(|&i| chars[i] == '\'')
                .map_or(chars.len(), |i| i + 1)
        }
        '\'' if next(2) == Some('\'') => at + 3,
        _ => at,
    }
}

fn follows_word(chars: &[char], at: usize) -> bool {
    // `br"..."` is a literal too.
    let before = at.checked_sub(1).map(|i| chars[i]);
    before.is_some_and(|c| (c.is_alphanumeric() && c != 'b') || c == '_')
}

fn line_end(chars: &[char], at: usize) -> usize {
    (at..chars.len())
        .find(|&i| chars[i] == '\n')
        .unwrap_or(chars.len())
}

fn block_end(chars: &[char], at: usize) -> usize {
    let (mut depth, mut i) = (0, at);
    while i + 1 < chars.len() {
        match (chars[i], chars[i + 1]) {
            ('/', '*') => {
                depth += 1;
                i += 2;
            }
            ('*', '/') => {
                depth -= 1;
                i += 2;
                if depth == 0 {
                    return i;
                }
            }
            _ => i += 1,
        }
    }
    chars.len()
}

fn string_end(chars: &[char], mut at: usize) -> usize {
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// The end of `r"..."` or `r#"..."#`; none when this `r` starts no literal.
fn raw_end(chars: &[char], at: usize) -> Option<usize> {
    let n_hashes = chars[at + 1..].iter().take_while(|&&c| c == '#').count();
    let open = at + 1 + n_hashes;
    if chars.get(open) != Some(&'"') {
        return None;
    }
    let closes = |i: usize| {
        chars[i] == '"'
            && chars[i + 1..].len() >= n_hashes
            && chars[i + 1..i + 1 + n_hashes].iter().all(|&c| c == '#')
    };
    let end = (open + 1..chars.len()).find(|&i| closes(i));
    Some(end.map_or(chars.len(), |i| i + 1 + n_hashes))
}

#[cfg(test)]
mod tests {
    use super::blank;

    #[track_caller]
    fn check(text: &str, code: &str) {
        let got = blank(text);
        assert_eq!(got.chars().count(), text.chars().count());
        assert_eq!(got.split_whitespace().collect::<Vec<_>>().join(" "), code);
    }

    #[test]
    fn comments_go_and_code_stays() {
        check("a // unsafe\nb", "a b");
        check("a /* x /* y */ unsafe */ b", "a b");
        check("a / b", "a / b");
    }

    #[test]
    fn literals_go_and_lifetimes_stay() {
        check(r#"a("unsafe \" still") b"#, "a( ) b");
        check(r###"a(r#"unsafe " still"#) b"###, "a( ) b");
        check(r"a('\'', 'x', '\u{1F600}') b", "a( , , ) b");
        check("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)");
        check("for r in 0..3", "for r in 0..3");
    }

    #[test]
    fn lines_keep_their_numbers() {
        assert_eq!(blank("\"a\nb\"\nc").lines().nth(2), Some("c"));
    }
}
