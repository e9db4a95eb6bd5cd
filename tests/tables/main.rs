//! Tables as people have them: written in every dialect that is read, and by pandas, they come back equal.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod dialects;
mod shapes;
mod workbooks;

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

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
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
