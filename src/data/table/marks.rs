//! Which decimal mark the numbers of a column have, by what all its cells and its neighbours say.

use super::columns::{Column, is_long};
use super::decimal::{DecimalMark, Evidence, evidence, parse};

/// What a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Numbers as every program reads them, or labels.
    Plain,
    /// Numbers with this mark, and perhaps groups of three digits.
    Mark(DecimalMark),
    /// Numbers that may be fractions or thousands; the row of the first.
    Either(usize),
    /// Numbers with a point and numbers with a comma; a row of each.
    Mixed(usize, usize),
}

/// How many cells of a column say what.
#[derive(Default)]
struct Tally {
    any_text: bool,
    point: Option<usize>,
    comma: Option<usize>,
    /// The first of 1,234 and of 1.234.
    with_comma: Option<usize>,
    with_point: Option<usize>,
}

impl Tally {
    fn of(column: &Column) -> Option<Tally> {
        let cells = column.cells.as_ref()?;
        let mut tally = Tally::default();
        let mut missing = column.missing.iter().peekable();
        for (row, cell) in cells.iter().enumerate() {
            if missing.next_if_eq(&&row).is_some() {
                continue;
            }
            let place = match evidence(cell) {
                _ if is_long(cell) => {
                    tally.any_text = true;
                    break;
                }
                Evidence::Text => {
                    tally.any_text = true;
                    break;
                }
                Evidence::Neither => continue,
                Evidence::Only(DecimalMark::Point) => &mut tally.point,
                Evidence::Only(DecimalMark::Comma) => &mut tally.comma,
                Evidence::Fraction(DecimalMark::Comma) => &mut tally.with_comma,
                Evidence::Fraction(DecimalMark::Point) => &mut tally.with_point,
            };
            place.get_or_insert(row);
        }
        Some(tally)
    }

    /// What the column alone says.
    fn verdict(&self) -> Verdict {
        match (self.point, self.comma) {
            _ if self.any_text => Verdict::Plain,
            (Some(point), Some(comma)) => Verdict::Mixed(point, comma),
            (Some(_), None) => Verdict::Mark(DecimalMark::Point),
            (None, Some(_)) => Verdict::Mark(DecimalMark::Comma),
            (None, None) => match (self.with_comma, self.with_point) {
                (Some(comma), Some(point)) => Verdict::Mixed(point, comma),
                (Some(row), None) | (None, Some(row)) => Verdict::Either(row),
                (None, None) => Verdict::Plain,
            },
        }
    }
}

/// Verdicts on all columns: what one does not say, its neighbours may.
pub(super) fn verdicts(columns: &[Column], asked: Option<DecimalMark>) -> Vec<Verdict> {
    let tallies: Vec<Option<Tally>> = columns.iter().map(Tally::of).collect();
    let alone: Vec<Verdict> = tallies
        .iter()
        .map(|t| t.as_ref().map_or(Verdict::Plain, Tally::verdict))
        .collect();
    if let Some(mark) = asked {
        let given = |verdict: &Verdict| match verdict {
            Verdict::Plain => Verdict::Plain,
            _ => Verdict::Mark(mark),
        };
        return alone.iter().map(given).collect();
    }
    let comma = any_comma(&alone);
    let marked = |c: &Column| c.cells.is_none() && c.odd.is_none() && !c.whole;
    let point = alone.contains(&Verdict::Mark(DecimalMark::Point)) || columns.iter().any(marked);
    let settled = |(verdict, tally): (&Verdict, &Option<Tally>)| match (verdict, tally) {
        (Verdict::Either(_), Some(tally)) if tally.with_comma.is_some() && comma != point => {
            match comma {
                true => Verdict::Mark(DecimalMark::Comma),
                false => Verdict::Mark(DecimalMark::Point),
            }
        }
        // 1.234 alone is a fraction, unless a neighbour has decimal commas.
        (Verdict::Either(_), Some(tally)) if tally.with_point.is_some() && !comma => Verdict::Plain,
        _ => *verdict,
    };
    alone.iter().zip(&tallies).map(settled).collect()
}

/// Whether a column has decimal commas.
pub(super) fn any_comma(verdicts: &[Verdict]) -> bool {
    verdicts.contains(&Verdict::Mark(DecimalMark::Comma))
}

/// Makes numbers of columns by their verdicts, and notes why others are none.
pub(super) fn apply(
    columns: &mut [Column],
    verdicts: &[Verdict],
    asked: Option<DecimalMark>,
) -> Vec<String> {
    let (mut commas, mut groups) = (Vec::new(), Vec::new());
    for (column, verdict) in columns.iter_mut().zip(verdicts) {
        let cell = |row: usize| {
            column
                .cells
                .as_ref()
                .map_or("", |cells| cells[row].as_str())
        };
        match *verdict {
            Verdict::Plain => {}
            Verdict::Mark(mark) => {
                if !convert(column, mark) {
                    continue;
                }
                match mark {
                    DecimalMark::Comma => commas.push(column.name.clone()),
                    DecimalMark::Point => groups.push(column.name.clone()),
                }
            }
            Verdict::Either(row) => {
                let shown = cell(row);
                let thousand = shown.replace([',', '.'], "");
                let fraction = shown.replace(',', ".");
                let note = format!(
                    "row {}: `{shown}` may be {fraction} or {thousand}; say ⟨decimal comma⟩ or ⟨decimal point⟩",
                    row + 1
                );
                spoil(column, row, note);
            }
            Verdict::Mixed(point, comma) => {
                let note = format!(
                    "row {}: `{}` has a decimal point, row {}: `{}` a comma",
                    point + 1,
                    cell(point),
                    comma + 1,
                    cell(comma)
                );
                spoil(column, point.min(comma), note);
            }
        }
    }
    let mut told = Vec::new();
    if asked.is_none() && !commas.is_empty() {
        told.push(format!("decimal commas in {}", commas.join(", ")));
    }
    if asked.is_none() && !groups.is_empty() {
        told.push(format!("commas part thousands in {}", groups.join(", ")));
    }
    told
}

/// Numbers by `mark` in place of labels; false, and a note, if a cell is none.
fn convert(column: &mut Column, mark: DecimalMark) -> bool {
    let Some(cells) = &column.cells else {
        return false;
    };
    let was_plain = column.odd.is_none();
    let mut whole = true;
    let mut missing = column.missing.iter().peekable();
    let mut wrong = None;
    for (row, cell) in cells.iter().enumerate() {
        if missing.next_if_eq(&&row).is_some() {
            continue;
        }
        let Some(value) = parse(cell, mark) else {
            wrong = Some(row);
            break;
        };
        let sign = if mark == DecimalMark::Comma { ',' } else { '.' };
        whole &= !cell.contains([sign, 'e', 'E', 'n', 'N']);
        column.numbers[row] = value;
    }
    match wrong {
        Some(row) => {
            let note = format!("row {}: `{}`", row + 1, cells[row]);
            spoil(column, row, note);
            false
        }
        None => {
            column.whole = whole;
            column.odd = None;
            !was_plain || mark == DecimalMark::Comma
        }
    }
}

/// Leaves the column as labels, and says why.
fn spoil(column: &mut Column, row: usize, note: String) {
    let cell = column
        .cells
        .as_ref()
        .map_or("", |cells| cells[row].as_str());
    column.odd = Some((row, cell.to_string()));
    column.note = Some(note);
}
