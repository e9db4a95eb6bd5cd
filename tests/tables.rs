//! Tables as people have them: written in every dialect that is read, and by pandas, they come back equal.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use fitzroy::data::{Array, DataFile, TableOptions, TableText, Values};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A folder that is removed with everything in it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("fitzroy-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A table with numbers in its first columns and labels in the last one, if it has any.
#[derive(Clone, Debug)]
struct Table {
    names: Vec<String>,
    numbers: Vec<Vec<f64>>,
    labels: Option<Vec<String>>,
}

/// SplitMix64: this test draws its own problems.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    /// A number as people write them: few digits, sometimes many, sometimes a power of ten.
    fn number(&mut self) -> f64 {
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

const NAMES: [&str; 8] = [
    "t", "signal", "y_err", "Zeit", "dose", "größe", "v2", "p value",
];
const LABELS: [&str; 6] = ["left", "right", "Öl", "control", "b", "treated"];

fn problem(random: &mut Random) -> Table {
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
struct Dialect {
    ending: &'static str,
    separator: &'static str,
    comma: bool,
    header: bool,
    comment: Option<&'static str>,
    title: bool,
    units: bool,
    quotes: bool,
    ends: &'static str,
    encoding: usize,
    packed: usize,
    missing: &'static str,
}

fn dialect(random: &mut Random, table: &Table) -> Dialect {
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

fn cell(x: f64, d: &Dialect) -> String {
    match x.is_nan() {
        true => d.missing.into(),
        false if d.comma => format!("{x:?}").replace('.', ","),
        false => format!("{x:?}"),
    }
}

fn write(table: &Table, d: &Dialect) -> String {
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

fn encode(text: &str, d: &Dialect) -> Vec<u8> {
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

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn same(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

fn check(arrays: &[Array], table: &Table, names: &[String], what: &str) {
    let n = table.numbers.len() + usize::from(table.labels.is_some());
    assert_eq!(
        arrays.len(),
        n,
        "{what}: {:?}",
        arrays.iter().map(|a| &a.name).collect::<Vec<_>>()
    );
    for ((array, numbers), name) in arrays.iter().zip(&table.numbers).zip(names) {
        assert_eq!(&array.name, name, "{what}");
        let Values::Real(got) = &array.values else {
            panic!("{what}: `{name}` is text: {:?}", array.note);
        };
        assert!(
            got.len() == numbers.len() && got.iter().zip(numbers).all(|(a, b)| same(*a, *b)),
            "{what}: {name}: {got:?} for {numbers:?}"
        );
        let missing = numbers.iter().enumerate().filter(|(_, x)| x.is_nan());
        let missing: Vec<usize> = missing.map(|(i, _)| i).collect();
        assert_eq!(array.missing, missing, "{what}");
    }
    if let Some(labels) = &table.labels {
        assert_eq!(arrays[n - 1].values, Values::Text(labels.clone()), "{what}");
    }
}

/// A column that reads alike with either mark, or is all missing, says nothing of the dialect.
fn is_decided(table: &Table, d: &Dialect) -> bool {
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

fn read(scratch: &Scratch, name: &str, content: &[u8]) -> Result<DataFile, String> {
    read_with(scratch, name, content, &TableOptions::default())
}

fn read_with(
    scratch: &Scratch,
    name: &str,
    content: &[u8],
    options: &TableOptions,
) -> Result<DataFile, String> {
    let path = scratch.file(name, content);
    let shown = path.display().to_string();
    let file = DataFile::read(&path, options).map_err(|e| e.to_string().replace(&shown, name))?;
    let remarks = file.remarks.iter().map(|r| r.replace(&shown, name));
    Ok(DataFile {
        arrays: file.arrays,
        remarks: remarks.collect(),
    })
}

fn shown(file: &DataFile) -> String {
    let columns = file.arrays.iter().map(|a| match &a.values {
        Values::Real(x) => format!("{} {x:?}", a.name),
        Values::Text(x) => format!("{} {x:?}", a.name),
    });
    columns.collect::<Vec<_>>().join(" | ")
}

/// Each is a shape of file that people have; what is found is told.
#[test]
fn shapes_that_people_have_are_read_and_told() {
    let scratch = Scratch::new("shapes");
    let cases: [(&str, &[u8], &str, &[&str]); 18] = [
        (
            "plain.csv",
            b"x,y\n1,2.5\n3,4\n",
            "x [1.0, 3.0] | y [2.5, 4.0]",
            &[],
        ),
        (
            "german.csv",
            b"Zeit;Wert\n0,5;1.234,5\n1,0;2\n",
            "Zeit [0.5, 1.0] | Wert [1234.5, 2.0]",
            &["cells are separated by `;`", "decimal commas in Zeit, Wert"],
        ),
        (
            "savetxt.txt",
            b"# t counts\n0.000e+00 5.0e+00\n1.000e+00 3.0e+00\n",
            "t [0.0, 1.0] | counts [5.0, 3.0]",
            &[
                "cells are separated by spaces",
                "names come from the comment in line 1",
                "lines that begin with `#` are left out",
            ],
        ),
        (
            "bare.dat",
            b"0 1\n1 2\n2 4\n",
            "x [0.0, 1.0, 2.0] | y [1.0, 2.0, 4.0]",
            &[
                "cells are separated by spaces",
                "there is no header: columns are called x, y (\u{27e8}header 1\u{27e9} if line 1 is one)",
            ],
        ),
        (
            "units.txt",
            b"time\tsignal\n(s)\t(mV)\n0\t1.5\n1\t2.5\n",
            "time [0.0, 1.0] | signal [1.5, 2.5]",
            &[
                "cells are separated by tabs",
                "line 2 is taken for units: (s), (mV)",
            ],
        ),
        (
            "block.csv",
            b"Instrument: X200\nDate: 2024-01-05, 10:00\n\nt,y\n0,1\n1,2\n",
            "t [0.0, 1.0] | y [1.0, 2.0]",
            &["lines 1 to 2 stand above the table and are left out"],
        ),
        (
            "padded.csv",
            b"Report,,\n,,\na,b,c\n1,2,3\n4,5,6\n",
            "a [1.0, 4.0] | b [2.0, 5.0] | c [3.0, 6.0]",
            &["lines 1 to 2 stand above the table and are left out"],
        ),
        (
            "from-r.txt",
            b"\"dose\" \"y\"\n\"1\" 0.5 2\n\"2\" 1.5 3\n",
            "dose [0.5, 1.5] | y [2.0, 3.0]",
            &["cells are separated by spaces"],
        ),
        (
            "eprime.txt",
            &utf16("C:\\data\\run1.edat2\r\nSubject\tRT\tResp\r\n1\t512\tleft\r\n1\t\tright\r\n"),
            "Subject [1.0, 1.0] | RT [512.0, NaN] | Resp [\"left\", \"right\"]",
            &[
                "the text is UTF-16",
                "cells are separated by tabs",
                "line 1 stands above the table and is left out",
            ],
        ),
        (
            "latin.csv",
            b"gr\xf6\xdfe,art\n1,\xd6l\n",
            "größe [1.0] | art [\"Öl\"]",
            &["the text is not UTF-8 and is read as Windows-1252"],
        ),
        (
            "late.csv",
            &[
                b"x,art\n".to_vec(),
                b"1,a\n".repeat(20_000),
                b"2,\xd6l\n".to_vec(),
            ]
            .concat(),
            "",
            &["the text is not UTF-8 and is read as Windows-1252"],
        ),
        (
            "mac.txt",
            b"x\ty\r1\t2\r3\t4\r",
            "x [1.0, 3.0] | y [2.0, 4.0]",
            &["cells are separated by tabs"],
        ),
        (
            "thousands.csv",
            b"place,people,share\nA,\"1,234\",0.5\nB,\"12,345\",0.25\n",
            "place [\"A\", \"B\"] | people [1234.0, 12345.0] | share [0.5, 0.25]",
            &["commas part thousands in people"],
        ),
        (
            "excel.csv",
            b"a,b\n1,#N/A\n#DIV/0!,2\n",
            "a [1.0, NaN] | b [NaN, 2.0]",
            &[],
        ),
        (
            "labels.csv",
            b"tag,y\n#1,2\n#2,3\n",
            "tag [\"#1\", \"#2\"] | y [2.0, 3.0]",
            &[],
        ),
        (
            "origin.txt",
            b"A\tB\nTime\tVoltage\ns\tmV\n0\t1\n1\t2\n2\t3\n3\t4\n",
            "A [\"Time\", \"s\", \"0\", \"1\", \"2\", \"3\"] | B [\"Voltage\", \"mV\", \"1\", \"2\", \"3\", \"4\"]",
            &[
                "cells are separated by tabs",
                "line 2 (Time, Voltage) holds words where numbers follow: say ⟨header 2⟩ if those are the names",
            ],
        ),
        (
            "named.txt",
            b"# t art\n0,5 left\n1,5 right\n",
            "t [0.5, 1.5] | art [\"left\", \"right\"]",
            &[
                "cells are separated by spaces",
                "names come from the comment in line 1",
                "lines that begin with `#` are left out",
                "decimal commas in t",
            ],
        ),
        (
            "pandas.csv",
            b",0,1\n0,1.5,2\n1,3.5,4\n",
            "0 [1.5, 3.5] | 1 [2.0, 4.0]",
            &[],
        ),
    ];
    for (name, content, want, remarks) in cases {
        let file = read(&scratch, name, content).unwrap();
        if !want.is_empty() {
            assert_eq!(shown(&file), want, "{name}");
        }
        let told: Vec<String> = remarks.iter().map(|r| format!("{name}: {r}")).collect();
        assert_eq!(file.remarks, told, "{name}");
    }
}

fn utf16(text: &str) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

/// Where two readings are possible nothing is guessed, and one sentence says how to choose.
#[test]
fn what_could_be_meant_otherwise_is_asked_for() {
    let scratch = Scratch::new("choices");
    let message = |name: &str, content: &str| read(&scratch, name, content.as_bytes()).unwrap_err();
    assert_eq!(
        message("a.csv", "y\n1,5\n2,5\n"),
        "a.csv: line 1 has no comma and the lines below have one: do commas separate cells, or digits? Say \
         ⟨delimiter comma⟩ or ⟨decimal comma⟩"
    );
    assert_eq!(
        message("b.csv", "A,1,2\nB,3,4\nC,5,6\n"),
        "b.csv: line 1 (A, 1, 2) may be a header or a row; say ⟨header 1⟩ if it has the names of the \
         columns, or ⟨header none⟩ if it is data"
    );
    assert!(message("c.csv", "0,1,2\n5,6,7\n").contains("counts the columns, or is a row"));
    assert!(message("d.txt", "*** Header Start ***\nVersionPersist: 1\n").contains("E-DataAid"));
    let note = |content: &str| {
        let file = read(&scratch, "n.csv", content.as_bytes()).unwrap();
        file.arrays[0].note.clone().unwrap()
    };
    assert_eq!(
        note("x;n\n1,234;1\n12,345;2\n"),
        "row 1: `1,234` may be 1.234 or 1234; say ⟨decimal comma⟩ or ⟨decimal point⟩"
    );
    assert_eq!(
        note("x;y\n1.234;0,5\n2.345;0,6\n"),
        "row 1: `1.234` may be 1.234 or 1234; say ⟨decimal comma⟩ or ⟨decimal point⟩"
    );
    assert_eq!(
        note("x;n\n1,5;1\n1.5;2\n"),
        "row 2: `1.5` has a decimal point, row 1: `1,5` a comma"
    );
    let said = |content: &str, options: TableOptions| {
        let file = read_with(&scratch, "s.csv", content.as_bytes(), &options);
        shown(&file.unwrap())
    };
    let decimal = |text: &str| TableOptions {
        decimal: Some(text.parse().unwrap()),
        ..TableOptions::default()
    };
    let header = |text: &str| TableOptions {
        header: Some(text.parse().unwrap()),
        ..TableOptions::default()
    };
    let table = "x;n\n1,234;1\n12,345;2\n";
    assert_eq!(
        said(table, decimal("comma")),
        "x [1.234, 12.345] | n [1.0, 2.0]"
    );
    assert_eq!(
        said(table, decimal("point")),
        "x [1234.0, 12345.0] | n [1.0, 2.0]"
    );
    assert_eq!(said("y\n1,5\n2,5\n", decimal("comma")), "y [1.5, 2.5]");
    let rows = "A,1\nB,3\nC,5\n";
    assert_eq!(said(rows, header("1")), "A [\"B\", \"C\"] | 1 [3.0, 5.0]");
    assert_eq!(
        said(rows, header("none")),
        "x [\"A\", \"B\", \"C\"] | y [1.0, 3.0, 5.0]"
    );
    let separator = TableOptions {
        separator: Some("comma".parse().unwrap()),
        header: Some("none".parse().unwrap()),
        ..TableOptions::default()
    };
    assert_eq!(
        said("y\n1,5\n2,5\n", separator),
        "x [1.0, 2.0] | y [5.0, 5.0]"
    );
    for wrong in ["semi", ";;", "\"", ""] {
        assert!(
            wrong.parse::<fitzroy::data::Separator>().is_err(),
            "{wrong}"
        );
    }
}

/// A workbook with these sheets, as Excel writes one: some texts shared, some in their cells.
fn workbook(sheets: &[(&str, &str)], strings: &str) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let mut put = |name: &str, text: &str| {
        zip.start_file(name, zip::write::SimpleFileOptions::default())
            .unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    };
    let mut list = String::new();
    let mut relations = String::new();
    for (k, (name, cells)) in sheets.iter().enumerate() {
        let _ = write!(
            list,
            "<sheet name=\"{name}\" sheetId=\"{}\" r:id=\"rId{k}\"/>",
            k + 1
        );
        let _ = write!(
            relations,
            "<Relationship Id=\"rId{k}\" Target=\"worksheets/sheet{k}.xml\"/>"
        );
        let sheet =
            format!("<?xml version=\"1.0\"?><worksheet><sheetData>{cells}</sheetData></worksheet>");
        put(&format!("xl/worksheets/sheet{k}.xml"), &sheet);
    }
    put(
        "xl/workbook.xml",
        &format!("<workbook><sheets>{list}</sheets></workbook>"),
    );
    put(
        "xl/_rels/workbook.xml.rels",
        &format!("<Relationships>{relations}</Relationships>"),
    );
    put("xl/sharedStrings.xml", &format!("<sst>{strings}</sst>"));
    zip.finish().unwrap().into_inner()
}

#[test]
fn sheets_of_workbooks_are_tables() {
    let scratch = Scratch::new("workbook");
    let strings = "<si><t>time</t></si><si><r><t>sig</t></r><r><t xml:space=\"preserve\">nal &amp; more</t></r>\
                   <rPh><t>no</t></rPh></si>";
    let cells = "<row r=\"2\"><c r=\"B2\" t=\"s\"><v>0</v></c><c r=\"C2\" t=\"s\"><v>1</v></c></row>\
                 <row r=\"3\"><c r=\"B3\"><v>0.5</v></c><c r=\"C3\"><f>1/0</f><v>1.25E2</v></c></row>\
                 <row r=\"4\"><c r=\"B4\"><v>1</v></c><c r=\"C4\" t=\"e\"><v>#DIV/0!</v></c></row>\
                 <row r=\"5\"><c r=\"B5\" t=\"inlineStr\"><is><t>1,5</t></is></c></row>";
    let one = workbook(&[("Data", cells), ("Empty", "")], strings);
    let file = read(&scratch, "book.xlsx", &one).unwrap();
    assert_eq!(file.arrays[1].name, "signal & more");
    assert_eq!(
        file.arrays[0].note.as_deref(),
        Some("row 1: `0.5` has a decimal point, row 3: `1,5` a comma")
    );
    assert_eq!(file.arrays[1].missing, [1, 2]);
    let table = TableText::of_bytes(one.clone(), &TableOptions::default()).unwrap();
    assert_eq!(table.names()[1..], ["time", "signal & more"]);
    let small =
        "<row r=\"1\"><c t=\"inlineStr\"><is><t>y</t></is></c></row><row><c><v>7</v></c></row>";
    let two = workbook(&[("A", small), ("B & C", small)], strings);
    let error = read(&scratch, "two.xlsx", &two).unwrap_err();
    assert_eq!(
        error,
        "two.xlsx: which sheet? Name one with ⟨sheet⟩: A, B & C"
    );
    for sheet in ["A", "B & C", "2"] {
        let options = TableOptions {
            sheet: Some(sheet.into()),
            ..TableOptions::default()
        };
        let file = read_with(&scratch, "two.xlsx", &two, &options).unwrap();
        assert_eq!(shown(&file), "y [7.0]");
    }
    let options = TableOptions {
        sheet: Some("Z".into()),
        ..TableOptions::default()
    };
    let error = read_with(&scratch, "two.xlsx", &two, &options).unwrap_err();
    assert_eq!(
        error,
        "two.xlsx: ⟨sheet Z⟩: there is no such sheet; the workbook has A, B & C"
    );
    let far = "<row r=\"1048576\"><c r=\"XFD1048576\"><v>1</v></c></row>";
    let error = read(&scratch, "far.xlsx", &workbook(&[("A", far)], strings)).unwrap_err();
    assert!(
        error.contains("a cell in row 1048576, column 16384"),
        "{error}"
    );
    assert!(
        read(&scratch, "no.xlsx", b"PK")
            .unwrap_err()
            .contains("not a readable .xlsx")
    );
    for n in (0..one.len()).step_by(7) {
        let mut bad = one.clone();
        bad[n] ^= 1 << (n % 8);
        let _ = read(&scratch, "bad.xlsx", &bad);
        let _ = read(&scratch, "cut.xlsx", &one[..n]);
    }
}

/// A short file that unpacks to more than 1 GiB and 100 times its size is refused.
#[test]
fn archives_made_to_fill_memory_are_refused() {
    let scratch = Scratch::new("bombs");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(b"x\n").unwrap();
    let zeros = b"0\n".repeat(1 << 20);
    for _ in 0..520 {
        encoder.write_all(&zeros).unwrap();
    }
    let bomb = encoder.finish().unwrap();
    let error = read(&scratch, "bomb.csv.gz", &bomb).unwrap_err();
    assert!(error.contains("100 times its size"), "{error}");
    let error = read(&scratch, "cut.csv.gz", &gzip(b"x\n1\n")[..20]).unwrap_err();
    assert!(
        error.contains("the gzip data are damaged or cut short"),
        "{error}"
    );
    let error = read(&scratch, "cut.csv.zst", b"(\xb5/\xfd\x04").unwrap_err();
    assert!(
        error.contains("the zstd data are damaged or cut short"),
        "{error}"
    );
}

/// Interpreters that have pandas.
fn pythons() -> Vec<String> {
    let all = std::env::var("FITZROY_PYTHON").unwrap_or_else(|_| "python3".into());
    let has = |python: &String| {
        let test = std::process::Command::new(python)
            .args(["-c", "import pandas"])
            .output();
        test.is_ok_and(|output| output.status.success())
    };
    all.split(':').map(String::from).filter(has).collect()
}

/// Catches: what this test's own writer and the reader both believe and other programs do not do.
#[test]
fn tables_written_by_numpy_and_pandas_come_back_equal() {
    let required = std::env::var_os("FITZROY_REQUIRE_PYTHON").is_some();
    let found = pythons();
    assert!(!(required && found.is_empty()), "no interpreter has pandas");
    if found.is_empty() {
        eprintln!("skipped: no interpreter has pandas (FITZROY_PYTHON)");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/write_tables.py");
    for python in found {
        let scratch = Scratch::new("pandas");
        let run = std::process::Command::new(&python)
            .arg(&script)
            .arg(&scratch.0)
            .output();
        let run = run.unwrap();
        assert!(
            run.status.success(),
            "{}",
            String::from_utf8_lossy(&run.stderr)
        );
        let text = std::fs::read_to_string(scratch.0.join("expected.json")).unwrap();
        let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (name, columns) in expected.as_object().unwrap() {
            let path = scratch.0.join(name);
            let shown = || String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            let file = DataFile::read(&path, &TableOptions::default());
            let file = file.unwrap_or_else(|e| panic!("{e}\n{}", shown()));
            let columns = columns.as_object().unwrap();
            let what = format!("{name} {:?}\n{}", file.remarks, shown());
            assert_eq!(file.arrays.len(), columns.len(), "{what}");
            for (array, (name, cells)) in file.arrays.iter().zip(columns) {
                assert_eq!(&array.name, name, "{what}");
                let cells = cells.as_array().unwrap();
                match &array.values {
                    Values::Real(got) => {
                        let want = cells.iter().map(|c| c.as_f64().unwrap_or(f64::NAN));
                        let want: Vec<f64> = want.collect();
                        let equal = got.iter().zip(&want).all(|(a, b)| same(*a, *b));
                        assert!(got.len() == want.len() && equal, "{what} {got:?} {want:?}");
                    }
                    Values::Text(got) => {
                        let want: Vec<&str> = cells.iter().map(|c| c.as_str().unwrap()).collect();
                        assert_eq!(got, &want, "{what}");
                    }
                }
            }
        }
    }
}
