//! Lines of text as rows of cells, for any sign between cells.

use csv::{ByteRecord, Reader, ReaderBuilder};
use std::io::{self, BufRead, Read};

/// What stands between two cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// One sign: two in a row have an empty cell between them.
    Sign(u8),
    /// Any number of spaces and tabs.
    Space,
}

impl Separator {
    /// The separator that `text` names: a sign, `tab` or `space`; none for anything else.
    pub fn named(text: &str) -> Option<Separator> {
        match text {
            "tab" | "\t" | "\\t" => Some(Separator::Sign(b'\t')),
            "space" | " " => Some(Separator::Space),
            "comma" => Some(Separator::Sign(b',')),
            "semicolon" => Some(Separator::Sign(b';')),
            _ => match text.as_bytes() {
                [sign] if sign.is_ascii_punctuation() && *sign != b'"' => {
                    Some(Separator::Sign(*sign))
                }
                _ => None,
            },
        }
    }

    /// The sign in words.
    pub(super) fn words(self) -> String {
        match self {
            Separator::Space => "spaces".into(),
            Separator::Sign(b'\t') => "tabs".into(),
            Separator::Sign(sign) => format!("`{}`", char::from(sign)),
        }
    }

    /// What the text is brought to, or has already, before it is read as records.
    fn sign(self) -> u8 {
        match self {
            Separator::Space => b'\t',
            Separator::Sign(sign) => sign,
        }
    }

    /// Records of a text that needs no [`Lines`], or has been through them.
    pub(super) fn records<R: Read>(self, text: R) -> Reader<R> {
        ReaderBuilder::new()
            .delimiter(self.sign())
            .has_headers(false)
            .flexible(true)
            .from_reader(text)
    }

    /// The first `most` rows of `text`.
    pub(super) fn rows(self, text: &[u8], comment: Option<&'static str>, most: usize) -> Vec<Row> {
        let cleaned;
        let text = match needs_lines(self, comment) {
            true => {
                cleaned = clean(text, self, comment);
                &cleaned[..]
            }
            false => text,
        };
        let mut reader = self.records(text);
        let mut record = ByteRecord::new();
        let mut rows = Vec::new();
        while rows.len() < most && matches!(reader.read_byte_record(&mut record), Ok(true)) {
            let cell = |c: &[u8]| String::from_utf8_lossy(c).trim().to_string();
            rows.push(Row {
                cells: record.iter().map(cell).collect(),
                line: line_of(text, &record),
            });
        }
        rows
    }
}

/// The line at which a record of `text` begins: the reader counts empty lines above to it.
pub(super) fn line_of(text: &[u8], record: &ByteRecord) -> u64 {
    let Some(position) = record.position() else {
        return 1;
    };
    let at = usize::try_from(position.byte()).unwrap_or(usize::MAX);
    let rest = text.get(at..).unwrap_or_default();
    let empty = rest.iter().take_while(|b| matches!(b, b'\n' | b'\r'));
    position.line() + empty.filter(|b| **b == b'\n').count() as u64
}

/// A row of the head of a file.
pub(super) struct Row {
    pub(super) cells: Vec<String>,
    /// Line at which it begins, from 1.
    pub(super) line: u64,
}

impl Row {
    pub(super) fn filled(&self) -> usize {
        self.cells.iter().filter(|c| !c.is_empty()).count()
    }
}

/// Cells that look like comments and are none: what spreadsheets write for errors.
const SPREADSHEET_ERRORS: [&[u8]; 8] = [
    b"#N/A", b"#NV", b"#DIV/0!", b"#VALUE!", b"#NUM!", b"#REF!", b"#NAME?", b"#NULL!",
];

/// True for a line that `mark` makes a comment.
pub(super) fn is_comment(line: &[u8], mark: &str) -> bool {
    let line = line.trim_ascii_start();
    line.starts_with(mark.as_bytes()) && !SPREADSHEET_ERRORS.iter().any(|e| line.starts_with(e))
}

/// Whether text has to go through [`Lines`] before it is records.
pub(super) fn needs_lines(separator: Separator, comment: Option<&str>) -> bool {
    separator == Separator::Space || comment.is_some()
}

/// A text line by line: comments become empty lines, spaces between cells one tab. Lines keep their
/// numbers.
pub(super) struct Lines<R> {
    text: R,
    separator: Separator,
    comment: Option<&'static str>,
    line: Vec<u8>,
    out: Vec<u8>,
    given: usize,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(text: R, separator: Separator, comment: Option<&'static str>) -> Self {
        Lines {
            text,
            separator,
            comment,
            line: Vec::new(),
            out: Vec::new(),
            given: 0,
        }
    }
}

impl<R: BufRead> Read for Lines<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.given == self.out.len() {
            (self.given, self.line) = (0, std::mem::take(&mut self.line));
            self.line.clear();
            self.out.clear();
            if self.text.read_until(b'\n', &mut self.line)? == 0 {
                return Ok(0);
            }
            clean_line(&self.line, self.separator, self.comment, &mut self.out);
        }
        let n = into.len().min(self.out.len() - self.given);
        into[..n].copy_from_slice(&self.out[self.given..][..n]);
        self.given += n;
        Ok(n)
    }
}

/// The whole of a text as [`Lines`] gives it.
pub(super) fn clean(text: &[u8], separator: Separator, comment: Option<&'static str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|b| *b == b'\n') {
        clean_line(line, separator, comment, &mut out);
    }
    out
}

fn clean_line(line: &[u8], separator: Separator, comment: Option<&str>, out: &mut Vec<u8>) {
    let (text, end) = match line.strip_suffix(b"\n") {
        Some(text) => (text, &b"\n"[..]),
        None => (line, &b""[..]),
    };
    let left_out = comment.is_some_and(|mark| is_comment(text, mark));
    match separator {
        _ if left_out => {}
        Separator::Sign(_) => out.extend(text),
        Separator::Space => {
            let mut quoted = false;
            let mut last = b' ';
            let text = text.trim_ascii();
            for (at, &b) in text.iter().enumerate() {
                let space = !quoted && b.is_ascii_whitespace();
                if space && last.is_ascii_whitespace() {
                    continue;
                }
                // A remark behind the last number of a line.
                let begins = last == b'\t' && !quoted;
                if begins && comment.is_some_and(|mark| is_comment(&text[at..], mark)) {
                    out.pop();
                    break;
                }
                quoted ^= b == b'"';
                last = if space { b'\t' } else { b };
                out.push(last);
            }
        }
    }
    out.extend(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_lose_comments_and_runs_of_spaces_and_keep_their_numbers() {
        let text = b"  a   \"b c\"\t d \n# note\n1 2  3 # said\n\n#N/A 5\n  \nend";
        let want = "a\t\"b c\"\td\n\n1\t2\t3\n\n#N/A\t5\n\nend";
        assert_eq!(clean(text, Separator::Space, Some("#")), want.as_bytes());
        let mut streamed = Vec::new();
        let mut lines = Lines::new(&text[..], Separator::Space, Some("#"));
        lines.read_to_end(&mut streamed).unwrap();
        assert_eq!(streamed, want.as_bytes());
        let commas = clean(b"a,b\n// c,d\n1, 2\n", Separator::Sign(b','), Some("//"));
        assert_eq!(commas, b"a,b\n\n1, 2\n");
    }
}
