//! Columns of text, lined up by the width people see.

/// How the cells of a column line up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// On their left ends.
    Left,
    /// On their right ends.
    Right,
    /// On their decimal points; cells without one stand before it.
    Point,
}

/// A column: its head, its cells from top to bottom.
pub(crate) struct Column {
    pub(crate) head: String,
    pub(crate) align: Align,
    pub(crate) cells: Vec<String>,
}

impl Column {
    /// A column without cells.
    pub(crate) fn new(head: impl Into<String>, align: Align) -> Self {
        Column {
            head: head.into(),
            align,
            cells: Vec::new(),
        }
    }
}

/// Characters, which for the letters of tables is the width on a terminal.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// Two spaces between columns, no space at line ends, a newline after every line. Columns have
/// equally many cells.
pub(crate) fn lay_out(columns: &[Column]) -> String {
    let padded: Vec<Vec<String>> = columns.iter().map(pad).collect();
    let n_lines = padded.first().map_or(0, Vec::len);
    let mut out = String::new();
    for line in 0..n_lines {
        let cells: Vec<&str> = padded.iter().map(|column| column[line].as_str()).collect();
        out += cells.join("  ").trim_end();
        out.push('\n');
    }
    out
}

/// Cells filled up on the left to the same width.
pub(crate) fn on_right(cells: &[String]) -> Vec<String> {
    let widest = cells.iter().map(|cell| width(cell)).max().unwrap_or(0);
    let left = |cell: &String| format!("{}{cell}", " ".repeat(widest - width(cell)));
    cells.iter().map(left).collect()
}

/// Head and cells of a column, all equally wide.
fn pad(column: &Column) -> Vec<String> {
    let cells = match column.align {
        Align::Point => on_points(&column.cells),
        Align::Left | Align::Right => column.cells.clone(),
    };
    let mut lines = vec![column.head.clone()];
    lines.extend(cells);
    let widest = lines.iter().map(|text| width(text)).max().unwrap_or(0);
    let fill = |text: String| {
        let space = " ".repeat(widest - width(&text));
        match column.align {
            Align::Left => text + &space,
            Align::Right | Align::Point => space + &text,
        }
    };
    lines.into_iter().map(fill).collect()
}

/// Cells filled up on both sides so that their decimal points stand below each other.
fn on_points(cells: &[String]) -> Vec<String> {
    // A number with an exponent keeps to the right end: its point says nothing about its size.
    let after = |cell: &String| match cell.find('.') {
        Some(at) if !cell.contains('e') => width(&cell[at..]),
        None if cell.ends_with(|c: char| c.is_ascii_digit()) && !cell.contains('e') => 0,
        _ => usize::MAX,
    };
    let longest = cells
        .iter()
        .map(after)
        .filter(|&n| n != usize::MAX)
        .max()
        .unwrap_or(0);
    let right = |cell: &String| match after(cell) {
        usize::MAX => cell.clone(),
        n => format!("{cell}{}", " ".repeat(longest - n)),
    };
    let shifted: Vec<String> = cells.iter().map(right).collect();
    on_right(&shifted)
}

/// `text` broken into lines of at most `columns` characters at spaces; later lines begin with
/// `indent`.
pub(crate) fn wrap(text: &str, columns: usize, indent: &str) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        if used > 0 && used + 1 + width(word) > columns {
            out.push('\n');
            out += indent;
            used = width(indent);
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out += word;
        used += width(word);
    }
    out
}
