//! Words, numbers and signs of a model's text.

use super::source::{Span, error_at};
use crate::Result;

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// An identifier or a word of the language.
    Name(String),
    /// A name in backquotes, which is no word of the language.
    Quoted(String),
    /// A number.
    Number(f64),
    /// A quoted label.
    Text(String),
    /// An operator, bracket or separator.
    Sign(&'static str),
    /// The end of a line outside brackets.
    Newline,
    /// The end of the text.
    End,
}

/// A token and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

/// All signs, longer ones first.
const SIGNS: [&str; 25] = [
    "**", "+=", "==", "!=", "<=", ">=", "~", "=", "(", ")", "[", "]", "{", "}", ",", ":", "+", "-",
    "*", "/", "^", "@", "<", ">", "//",
];

/// Signs of other languages and of typography, and what to write here.
const FOREIGN: [(&str, &str); 16] = [
    ("&&", "write `and`"),
    ("&", "write `and`"),
    ("||", "write `or`"),
    ("|", "write `or`, and `abs(x)` for |x|"),
    ("!", "write `not`"),
    ("%", "there is no remainder operator"),
    (";", "put each statement on a line of its own"),
    ("−", "write an ordinary minus, `-`"),
    ("–", "write an ordinary minus, `-`"),
    ("×", "write `*`"),
    ("·", "write `*`"),
    ("÷", "write `/`"),
    ("≤", "write `<=`"),
    ("≥", "write `>=`"),
    ("“", "write an ordinary quote, `\"`"),
    ("”", "write an ordinary quote, `\"`"),
];

/// Bytes of a name, at most: variables become folders and files of the trace, whose names file
/// systems limit to 255 bytes.
const LONGEST_NAME: usize = 200;

/// Splits `text` into tokens; the last is [`Kind::End`]. Newlines inside brackets are dropped.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut lexer = Lexer {
        text,
        at: 0,
        depth: 0,
        out: Vec::new(),
    };
    while lexer.at < text.len() {
        lexer.next()?;
    }
    lexer.push(Kind::Newline, text.len(), text.len());
    lexer.push(Kind::End, text.len(), text.len());
    Ok(lexer.out)
}

/// Whether a name may stand between backquotes. What files, folders and the elements of arrays are
/// called is made of it.
pub(crate) fn can_be_quoted(name: &str) -> bool {
    let forbidden = |c: char| c.is_control() || "`'\"[]/\\".contains(c);
    name.starts_with(char::is_alphanumeric)
        && !name.ends_with(char::is_whitespace)
        && !name.contains(forbidden)
}

/// Whether a name is one without backquotes.
pub(crate) fn is_plain(name: &str) -> bool {
    let first = |c: char| c.is_alphabetic() || c == '_';
    name.starts_with(first) && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    out: Vec<Token>,
}

impl Lexer<'_> {
    fn push(&mut self, kind: Kind, start: usize, end: usize) {
        self.out.push(Token {
            kind,
            span: Span::of(start, end),
        });
    }

    fn next(&mut self) -> Result<()> {
        let rest = &self.text[self.at..];
        let c = rest
            .chars()
            .next()
            .expect("the caller stops at the end of the text");
        let start = self.at;
        match c {
            '\n' => {
                self.at += 1;
                if self.depth == 0 {
                    self.push(Kind::Newline, start, start);
                }
            }
            '#' => self.at += rest.find('\n').unwrap_or(rest.len()),
            _ if c.is_whitespace() || c == '\u{feff}' => self.at += c.len_utf8(),
            '"' | '\'' => self.label(c)?,
            '`' => self.quoted()?,
            _ if c.is_ascii_digit() => self.number()?,
            '.' if rest[1..].starts_with(|d: char| d.is_ascii_digit()) => self.number()?,
            _ if c.is_alphabetic() || c == '_' => {
                let end = rest.find(|d: char| !(d.is_alphanumeric() || d == '_'));
                self.at += end.unwrap_or(rest.len());
                // A prime right behind a name belongs to it: the twin of a dim.
                self.at += usize::from(self.text[self.at..].starts_with('\''));
                let name = &self.text[start..self.at];
                self.check_length(name, Span::of(start, self.at))?;
                self.push(Kind::Name(name.into()), start, self.at);
            }
            _ => self.sign(c)?,
        }
        Ok(())
    }

    fn check_length(&self, name: &str, span: Span) -> Result<()> {
        if name.len() <= LONGEST_NAME {
            return Ok(());
        }
        let shown: String = name.chars().take(20).collect();
        let message = format!(
            "the name `{shown}...` has {} bytes; a name has at most {LONGEST_NAME}",
            name.len()
        );
        Err(error_at(self.text, span, message))
    }

    /// A name in backquotes.
    fn quoted(&mut self) -> Result<()> {
        let start = self.at;
        let inside = &self.text[start + 1..];
        let end = inside.find(['`', '\n']);
        let Some(end) = end.filter(|end| inside[*end..].starts_with('`')) else {
            let span = Span::of(start, start + 1);
            let message = "this name is not closed; a backquote (`) begins and ends it";
            return Err(error_at(self.text, span, message));
        };
        let (name, past) = (&inside[..end], start + end + 2);
        let span = Span::of(start, past);
        self.check_length(name, span)?;
        if !can_be_quoted(name) {
            let message = "a name between backquotes begins with a letter or a digit, ends with no \
                           space, and has no quotes, brackets (`[`, `]`), slashes or control \
                           characters";
            return Err(error_at(self.text, span, message));
        }
        // The twin of a dim.
        let prime = self.text[past..].starts_with('\'');
        self.at = past + usize::from(prime);
        let kind = match prime {
            true => Kind::Name(format!("{name}'")),
            false => Kind::Quoted(name.into()),
        };
        self.push(kind, start, self.at);
        Ok(())
    }

    fn sign(&mut self, c: char) -> Result<()> {
        let (rest, start) = (&self.text[self.at..], self.at);
        let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) else {
            let hint = FOREIGN.iter().find(|(s, _)| rest.starts_with(s));
            let width = hint.map_or(c.len_utf8(), |(s, _)| s.len());
            let advice = hint.map_or_else(String::new, |(_, advice)| format!("; {advice}"));
            let span = Span::of(start, start + width);
            let shown = &self.text[start..start + width];
            let message = format!("`{}` has no meaning here{advice}", shown.escape_debug());
            return Err(error_at(self.text, span, message));
        };
        match *sign {
            "(" | "[" | "{" => self.depth += 1,
            ")" | "]" | "}" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.at += sign.len();
        self.push(Kind::Sign(sign), start, self.at);
        Ok(())
    }

    /// A number such as `3`, `.5`, `1_000`, `1e-3`.
    fn number(&mut self) -> Result<()> {
        let (bytes, start) = (self.text.as_bytes(), self.at);
        let digits = |mut at: usize| {
            while at < bytes.len() && (bytes[at].is_ascii_digit() || bytes[at] == b'_') {
                at += 1;
            }
            at
        };
        let mut end = digits(start);
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let signed = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            if bytes.get(signed).is_some_and(u8::is_ascii_digit) {
                end = digits(signed);
            }
        }
        let span = Span::of(start, end);
        let rest = &self.text[end..];
        if rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            let word: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
            let number = &self.text[start..end];
            let message = format!(
                "`{number}{word}` is neither a number nor a name; a product is written `{number} * {word}`"
            );
            return Err(error_at(
                self.text,
                Span::of(start, end + word.len()),
                message,
            ));
        }
        let value: f64 = self.text[start..end]
            .replace('_', "")
            .parse()
            .map_err(|_| error_at(self.text, span, "this is not a number"))?;
        if value.is_infinite() {
            let message = "this number is too large for a 64-bit real; write `inf` for infinity";
            return Err(error_at(self.text, span, message));
        }
        self.at = end;
        self.push(Kind::Number(value), start, end);
        Ok(())
    }

    /// A label in quotes; `\"`, `\'` and `\\` stand for themselves.
    fn label(&mut self, quote: char) -> Result<()> {
        let start = self.at;
        let mut out = String::new();
        let mut escaped = false;
        for (i, c) in self.text[start + 1..].char_indices() {
            match c {
                '\n' => break,
                _ if escaped => {
                    out.push(c);
                    escaped = false;
                }
                '\\' => escaped = true,
                _ if c == quote => {
                    self.at = start + 1 + i + 1;
                    self.push(Kind::Text(out), start, self.at);
                    return Ok(());
                }
                _ => out.push(c),
            }
        }
        let span = Span::of(start, start + 1);
        Err(error_at(
            self.text,
            span,
            "this quote is not closed on its line",
        ))
    }
}
