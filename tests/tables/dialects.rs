//! Random tables in random dialects.

use super::*;

/// SplitMix64: this test draws its own problems.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(super) fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    /// A number as people write them: few digits, sometimes many, sometimes a power of ten.
    pub(super) fn number(&mut self) -> f64 {
        let digits = 10_f64.powi(self.below(7) as i32);
        let sign = if self.chance(3) { -1.0 } else { 1.0 };
        let x = sign * (self.below(100_000) as f64 + 1.0) / digits;
        match self.below(12) {
            0 => x * 1e-12,
            1 => x.sqrt().abs(),
            2 => f64::NAN,
            _ => x,
        }
    }
}

pub(super) const NAMES: [&str; 8] = [
    "t", "signal", "y_err", "Zeit", "dose", "größe", "v2", "p value",
];

pub(super) const LABELS: [&str; 6] = ["left", "right", "Öl", "control", "b", "treated"];

pub(super) fn problem(random: &mut Random) -> Table {
    let (rows, columns) = (3 + random.below(30), 2 + random.below(4));
    let first = random.below(NAMES.len());
    let name = |k: usize| NAMES[(first + k) % NAMES.len()].to_string();
    let numbers = (0..columns).map(|_| (0..rows).map(|_| random.number()).collect());
    let numbers: Vec<Vec<f64>> = numbers.collect();
    let label = |r: &mut Random| LABELS[r.below(LABELS.len())].to_string();
    let labels = random
        .chance(3)
        .then(|| (0..rows).map(|_| label(random)).collect());
    Table {
        names: (0..columns).map(name).collect(),
        numbers,
        labels,
    }
}

/// How a table is written.
#[derive(Clone, Debug)]
pub(super) struct Dialect {
    pub(super) ending: &'static str,
    pub(super) separator: &'static str,
    pub(super) comma: bool,
    pub(super) header: bool,
    pub(super) comment: Option<&'static str>,
    pub(super) title: bool,
    pub(super) units: bool,
    pub(super) quotes: bool,
    pub(super) ends: &'static str,
    pub(super) encoding: usize,
    pub(super) packed: usize,
    pub(super) missing: &'static str,
}

pub(super) fn dialect(random: &mut Random, table: &Table) -> Dialect {
    let separator = [",", ";", "\t", "|", "  "][random.below(5)];
    let ending = match separator {
        "," => ["csv", "txt", "dat"][random.below(3)],
        "\t" => ["tsv", "txt", "dat"][random.below(3)],
        ";" => ["csv", "txt"][random.below(2)],
        _ => "txt",
    };
    let spaces = separator == "  ";
    let missing = ["NA", "", "NaN", "#N/A"][random.below(4)];
    Dialect {
        ending,
        separator,
        comma: separator != "," && random.chance(2),
        // A row of labels without names above it may be a header.
        header: table.labels.is_some() || !random.chance(4),
        comment: [None, None, Some("#"), Some("%"), Some("//")][random.below(5)],
        title: random.chance(4),
        units: random.chance(4),
        quotes: random.chance(3),
        ends: ["\n", "\r\n"][random.below(2)],
        encoding: random.below(5),
        packed: random.below(6),
        missing: match (spaces, missing) {
            (true, "") => "NA",
            // An empty cell at the beginning of a line is no comment mark, and this may be one.
            (_, missing) => missing,
        },
    }
}

pub(super) fn cell(x: f64, d: &Dialect) -> String {
    match x.is_nan() {
        true => d.missing.into(),
        false if d.comma => format!("{x:?}").replace('.', ","),
        false => format!("{x:?}"),
    }
}

pub(super) fn write(table: &Table, d: &Dialect) -> String {
    let mut out = String::new();
    if let Some(mark) = d.comment {
        // More words than any table here has columns.
        let _ = write!(
            out,
            "{mark} measured on a Tuesday in the year of grace{}",
            d.ends
        );
    }
    if d.title && d.header {
        let _ = write!(out, "Run 7 of the instrument{}{}", d.ends, d.ends);
    }
    let quoted = |text: &str| match d.quotes || text.contains(' ') && d.separator == "  " {
        true => format!("\"{text}\""),
        false => text.to_string(),
    };
    if d.header {
        let mut names: Vec<String> = table.names.iter().map(|n| quoted(n)).collect();
        names.extend(table.labels.as_ref().map(|_| quoted("group")));
        let _ = write!(out, "{}{}", names.join(d.separator), d.ends);
        if d.units {
            let units = ["s", "mV", "[a.u.]", "(kg)", "1/cm"];
            let mut units: Vec<&str> = units[..table.names.len()].to_vec();
            units.extend(table.labels.as_ref().map(|_| "-"));
            let _ = write!(out, "{}{}", units.join(d.separator), d.ends);
        }
    }
    for i in 0..table.numbers[0].len() {
        let mut cells: Vec<String> = table.numbers.iter().map(|c| cell(c[i], d)).collect();
        cells.extend(table.labels.as_ref().map(|l| quoted(&l[i])));
        if let Some(mark) = d.comment.filter(|_| i == 2) {
            let _ = write!(out, "{mark} a remark{}", d.ends);
        }
        let _ = write!(out, "{}{}", cells.join(d.separator), d.ends);
    }
    out
}

pub(super) fn encode(text: &str, d: &Dialect) -> Vec<u8> {
    let wide = |mark: bool| {
        let mark = mark.then_some(0xfeff_u16);
        mark.into_iter()
            .chain(text.encode_utf16())
            .collect::<Vec<u16>>()
    };
    match d.encoding {
        0 => wide(true).iter().flat_map(|u| u.to_le_bytes()).collect(),
        1 => wide(true).iter().flat_map(|u| u.to_be_bytes()).collect(),
        2 => text
            .chars()
            .map(|c| u8::try_from(c as u32).unwrap())
            .collect(),
        3 => ["\u{feff}".as_bytes(), text.as_bytes()].concat(),
        _ => text.into(),
    }
}

/// A column that reads alike with either mark, or is all missing, says nothing of the dialect.
pub(super) fn is_decided(table: &Table, d: &Dialect) -> bool {
    let group = |x: &f64| {
        let text = format!("{x:?}");
        text.split_once('.').is_some_and(|(w, f)| {
            f.len() == 3
                && w.trim_start_matches('-').len() < 4
                && !w.trim_start_matches('-').starts_with('0')
        })
    };
    let plain = |x: &f64| x.is_nan() || group(x) || !format!("{x:?}").contains('.');
    let numbers = |c: &Vec<f64>| 2 * c.iter().filter(|x| !x.is_nan()).count() > c.len();
    table.numbers.iter().all(numbers)
        && (!d.comma || table.numbers.iter().all(|c| !c.iter().all(plain)))
        && table.numbers.iter().all(|c| !c[0].is_nan() || d.header)
}

/// Catches: a dialect that is taken for another one, a row or a name that is lost, a number that is
/// changed, a stream that reads otherwise than memory does.
#[test]
fn random_tables_in_random_dialects_come_back_equal() {
    let scratch = Scratch::new("dialects");
    let mut random = Random(20_261_126);
    let mut n = 0;
    while n < 3000 {
        let table = problem(&mut random);
        let d = dialect(&mut random, &table);
        if !is_decided(&table, &d) {
            continue;
        }
        n += 1;
        let text = write(&table, &d);
        let mut bytes = encode(&text, &d);
        let mut name = format!("table{n}.{}", d.ending);
        if d.packed == 0 {
            bytes = gzip(&bytes);
            name += ".gz";
        }
        let what = format!("{name} {d:?}\n{text}");
        let path = scratch.file(&name, &bytes);
        let file = DataFile::read(&path, &TableOptions::default());
        let file = file.unwrap_or_else(|e| panic!("{e}\n{what}"));
        let k = table.numbers.len();
        let names = match (d.header, k) {
            (true, _) => table.names.clone(),
            (false, 2) => vec!["x".into(), "y".into()],
            (false, _) => (1..=k).map(|k| format!("col{k}")).collect(),
        };
        check(
            &file.arrays,
            &table,
            &names,
            &format!("{what}\n{:?}", file.remarks),
        );
        streamed(&path, &table, &what);
        std::fs::remove_file(path).unwrap();
    }
}

fn streamed(path: &Path, table: &Table, what: &str) {
    let text = TableText::open(path, &TableOptions::default()).unwrap();
    let mut rows = 0;
    text.each(&mut |row, cells| {
        for (k, column) in table.numbers.iter().enumerate() {
            let want = column[row - 1];
            let got = match cells.is_missing(k) {
                true => f64::NAN,
                false => cells.number(k).unwrap_or(f64::INFINITY),
            };
            assert!(same(got, want), "{what}: row {row}: {got} for {want}");
        }
        rows = row;
        Ok(())
    })
    .unwrap();
    assert_eq!(rows, table.numbers[0].len(), "{what}");
}
