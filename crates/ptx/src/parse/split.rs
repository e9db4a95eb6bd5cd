//! A text cut into lines that end with semicolons, labels, braces and directives.

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// What stands before a semicolon.
    Line(String),
    /// A name before a colon.
    Label(String),
    /// The head of a function, before its body.
    Header(String),
    /// A line without a semicolon.
    Directive(String),
    /// `{`.
    Open,
    /// `}`.
    Close,
}

/// Directives that end with their line.
const DIRECTIVES: [&str; 8] = [
    ".version",
    ".target",
    ".address_size",
    ".maxntid",
    ".reqntid",
    ".minnctapersm",
    ".maxnreg",
    ".noreturn",
];

/// Lines about the source, which mean nothing here.
const SOURCE: [&str; 3] = [".loc", ".file", ".section"];

/// Cuts a text; pieces have the number of the line on which they end.
pub(super) fn split(text: &str) -> Vec<(u32, Piece)> {
    let mut pieces = Vec::new();
    let mut part = String::new();
    let mut is_comment = false;
    for (line, number) in text.lines().zip(1..) {
        let code = without_comments(line, &mut is_comment);
        let trimmed = code.trim();
        let first = trimmed.split(char::is_whitespace).next().unwrap_or("");
        if SOURCE.contains(&first) {
            continue;
        }
        if DIRECTIVES.contains(&first) {
            if is_header(&part) {
                pieces.push((number, Piece::Header(take(&mut part))));
            }
            pieces.push((number, Piece::Directive(trimmed.into())));
            continue;
        }
        for c in code.chars().chain([' ']) {
            cut(&mut pieces, &mut part, number, c);
        }
    }
    pieces
}

/// One more character.
fn cut(pieces: &mut Vec<(u32, Piece)>, part: &mut String, number: u32, c: char) {
    let at_start = part.trim().is_empty();
    match c {
        ';' if at_start => part.clear(),
        ';' => pieces.push((number, Piece::Line(take(part)))),
        ':' if is_name(part.trim()) => pieces.push((number, Piece::Label(take(part)))),
        '{' if is_header(part) => {
            pieces.push((number, Piece::Header(take(part))));
            pieces.push((number, Piece::Open));
        }
        '{' if at_start => pieces.push((number, Piece::Open)),
        '}' if at_start => pieces.push((number, Piece::Close)),
        _ => part.push(c),
    }
}

/// What was gathered, with single spaces.
fn take(part: &mut String) -> String {
    let words: Vec<&str> = part.split_whitespace().collect();
    let text = words.join(" ");
    part.clear();
    text
}

/// Whether this is the head of a function, as far as it goes.
fn is_header(part: &str) -> bool {
    let mut words = part.split_whitespace();
    words.any(|w| w == ".func" || w == ".entry") && !part.contains('=')
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    let starts = chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || "_$".contains(c));
    starts && chars.all(|c| c.is_ascii_alphanumeric() || "_$".contains(c))
}

/// A line without comments; some go on over lines.
fn without_comments(line: &str, is_comment: &mut bool) -> String {
    let mut code = String::new();
    let mut rest = line;
    loop {
        if *is_comment {
            let Some((_, after)) = rest.split_once("*/") else {
                return code;
            };
            (*is_comment, rest) = (false, after);
        }
        let (slashes, star) = (rest.find("//"), rest.find("/*"));
        match (slashes, star) {
            (Some(at), other) if other.is_none_or(|o| at < o) => {
                code.push_str(&rest[..at]);
                return code;
            }
            (_, Some(at)) => {
                code.push_str(&rest[..at]);
                (*is_comment, rest) = (true, &rest[at + 2..]);
            }
            _ => {
                code.push_str(rest);
                return code;
            }
        }
    }
}
