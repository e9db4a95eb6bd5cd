//! Readers: every format and every error.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::ErrorKind;

fn golden(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/data")
        .join(file)
}

/// Writes `content` to a file of its own and runs `check` on its path.
fn with_file<T>(name: &str, content: &[u8], check: impl FnOnce(&str) -> T) -> T {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let unique = format!(
        "fitzroy-data-{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    let folder = std::env::temp_dir().join(unique);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    let result = check(path.to_str().unwrap());
    fs::remove_dir_all(&folder).unwrap();
    result
}

fn read_text(name: &str, content: &str) -> Vec<Array> {
    with_file(name, content.as_bytes(), |path| read_file(path).unwrap())
}

/// The message of reading `content`, with the path cut down to the file's name.
fn error_of(name: &str, content: &[u8]) -> String {
    with_file(name, content, |path| {
        let error = read_file(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Data, "{error}");
        error.to_string().replace(path, name)
    })
}

fn real(array: &Array) -> &[f64] {
    match &array.values {
        Values::Real(v) => v,
        Values::Text(v) => panic!("`{}` is text: {v:?}", array.name),
    }
}

fn text(array: &Array) -> &[String] {
    match &array.values {
        Values::Text(v) => v,
        Values::Real(v) => panic!("`{}` is numbers: {v:?}", array.name),
    }
}

fn check_bits(got: &[f64], expected: &[f64], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (g, e) in got.iter().zip(expected) {
        assert!(
            g.to_bits() == e.to_bits() || (g.is_nan() && e.is_nan()),
            "{what}: {g} for {e}"
        );
    }
}

// ---- NPY, NPZ ----

/// Golden: tests/golden/data/generate.py, by NumPy itself. Exact.
#[test]
fn every_numpy_type_and_order_reads_as_numpy_reads_it() {
    let expected: serde_json::Value =
        serde_json::from_slice(&fs::read(golden("expected.json")).unwrap()).unwrap();
    let expected = expected.as_object().unwrap();
    assert!(expected.len() > 20);
    for (name, want) in expected {
        let array = read_file(golden(&format!("{name}.npy"))).unwrap().remove(0);
        let what = format!("{name} ({})", want["dtype"]);
        assert_eq!(&array.name, name);
        let shape: Vec<usize> = want["shape"]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_u64().unwrap() as usize)
            .collect();
        assert_eq!(array.shape, shape, "{what}");
        assert_eq!(array.whole, want["whole"].as_bool().unwrap(), "{what}");
        let cells: Vec<&str> = want["values"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_str().unwrap())
            .collect();
        if want["text"].as_bool().unwrap() {
            assert_eq!(text(&array), cells, "{what}");
        } else {
            let numbers: Vec<f64> = cells.iter().map(|c| c.parse().unwrap()).collect();
            check_bits(real(&array), &numbers, &what);
        }
    }
}

#[test]
fn an_archive_gives_one_array_per_member() {
    let stored = read_file(golden("stored.npz")).unwrap();
    assert_eq!(stored[0].name, "x");
    assert_eq!(stored[0].shape, [2, 3]);
    assert_eq!(real(&stored[0]), [0.0, 1.0, 2.0, 3.0, 100.0, 5.0]);
    assert_eq!(text(&stored[1]), ["p", "q"]);
    let deflated = read_file(golden("deflated.npz")).unwrap();
    assert_eq!(deflated[1].name, "y");
    assert_eq!(deflated[1].shape, [3, 2]);
}

#[test]
fn numpy_files_that_hold_no_plain_array_are_refused_with_the_reason() {
    let message = |file: &str| {
        let error = read_file(golden(file)).unwrap_err().to_string();
        error.replace(golden(file).to_str().unwrap(), file)
    };
    assert_eq!(
        message("records.npy"),
        "records.npy: records (structured arrays) are not read; save one array per field"
    );
    assert_eq!(
        message("objects.npy"),
        "objects.npy: elements of type `|O` (Python objects) are not read; save them as numbers, \
         booleans or text"
    );
    assert_eq!(
        message("dates.npy"),
        "dates.npy: elements of type `<M8[D]` (dates or durations) are not read; save them as \
         numbers, booleans or text"
    );
    assert_eq!(
        error_of("x.npy", b"hello"),
        "x.npy: not an NPY file (it does not begin with \\x93NUMPY)"
    );
    let whole = fs::read(golden("array00.npy")).unwrap();
    assert!(whole.len() > 128);
    let half = &fs::read(golden("array02.npy")).unwrap()[..140];
    assert_eq!(
        error_of("x.npy", &half[..134]),
        "x.npy: shape [2, 3] needs 24 bytes, the file holds 6; it seems cut short"
    );
    assert_eq!(
        error_of("x.npy", &half[..60]),
        "x.npy: the NPY header is cut short"
    );
    assert!(error_of("x.npz", b"hello").starts_with("x.npz: not a readable NPZ archive ("));
}

#[test]
fn a_damaged_numpy_file_is_an_error_and_never_a_panic() {
    for file in ["array02.npy", "stored.npz", "deflated.npz"] {
        let good = fs::read(golden(file)).unwrap();
        let ending = file.rsplit('.').next().unwrap();
        let read = |bytes: &[u8]| match ending {
            "npy" => npy::read(bytes, "x", "x").map(|a| vec![a]),
            _ => npy::read_archive(bytes, "x"),
        };
        for n in 0..good.len() {
            if let Ok(arrays) = read(&good[..n]) {
                assert!(
                    arrays
                        .iter()
                        .all(|a| a.values.len() == a.shape.iter().product::<usize>())
                );
            }
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[n] ^= 1 << bit;
                let _ = read(&bad);
            }
        }
    }
}

// ---- JSON ----

#[test]
fn json_objects_give_scalars_lists_and_nested_lists() {
    let arrays = read_text(
        "d.json",
        r#"{"N": 3, "y": [1.5, -2, 3e2], "X": [[1, 2], [3, 4], [5, 6]], "on": [true, false],
            "s": ["a", "b"], "none": [], "cube": [[[1], [2]], [[3], [4]]], "none2": [[], []]}"#,
    );
    let by_name = |name: &str| arrays.iter().find(|a| a.name == name).unwrap();
    assert_eq!(by_name("N").shape, [0_usize; 0]);
    assert!(by_name("N").whole);
    assert_eq!(real(by_name("y")), [1.5, -2.0, 300.0]);
    assert!(!by_name("y").whole);
    assert_eq!(by_name("X").shape, [3, 2]);
    assert_eq!(real(by_name("X")), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert!(by_name("X").whole);
    assert_eq!(real(by_name("on")), [1.0, 0.0]);
    assert_eq!(text(by_name("s")), ["a", "b"]);
    assert_eq!(by_name("none").shape, [0]);
    assert_eq!(by_name("cube").shape, [2, 2, 1]);
    assert_eq!(by_name("none2").shape, [2, 0]);
    let names: Vec<&str> = arrays.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["N", "y", "X", "on", "s", "none", "cube", "none2"]);
}

#[test]
fn json_null_is_missing_and_special_numbers_are_text_as_cmdstan_writes_them() {
    let arrays = read_text("d.json", r#"{"y": [1, null, "NaN", "-Inf", "Infinity"]}"#);
    let y = real(&arrays[0]);
    assert!(y[1].is_nan() && y[2].is_nan());
    assert_eq!(y[3..], [f64::NEG_INFINITY, f64::INFINITY]);
    assert_eq!(arrays[0].missing, [1]);
    assert!(!arrays[0].whole);
}

#[test]
fn a_text_among_json_numbers_is_remembered_with_its_place() {
    let arrays = read_text("d.json", r#"{"y": [[1, 2], [3, "abc"]]}"#);
    assert_eq!(arrays[0].note.as_deref(), Some("[1][1]: `abc`"));
    assert_eq!(text(&arrays[0]), ["1", "2", "3", "abc"]);
}

#[test]
fn gzipped_json_reads_like_json() {
    let arrays = read_file(golden("eight_schools.json.gz")).unwrap();
    assert_eq!(arrays[1].name, "y");
    assert_eq!(
        real(&arrays[1]),
        [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]
    );
    let cut = &fs::read(golden("eight_schools.json.gz")).unwrap()[..40];
    assert!(error_of("d.json.gz", cut).starts_with("d.json.gz: the gzip data are damaged or cut"));
}

#[test]
fn wrong_json_is_an_error_that_names_the_place() {
    let message = |text: &str| error_of("d.json", text.as_bytes());
    assert_eq!(
        message(r#"{"y": [[1, 2], [3]]}"#),
        "d.json: `y[1]` is a list of 1, but `y[0]` is a list of 2; all rows must have the same \
         shape (positions count from 0)"
    );
    assert_eq!(
        message(r#"{"y": [[1, 2], 3]}"#),
        "d.json: `y[1]` is a number, but `y[0]` is a list of 2; all rows must have the same shape \
         (positions count from 0)"
    );
    assert_eq!(
        message(r#"{"y": [1, [2]]}"#),
        "d.json: `y[1]` is a list of 1, but `y[0]` is a single element; all rows must have the \
         same shape (positions count from 0)"
    );
    assert_eq!(
        message(r#"{"y": {"a": 1}}"#),
        "d.json: `y` is an object; only numbers, booleans, text and nested lists are read"
    );
    assert_eq!(
        message("[1, 2]"),
        "d.json: the top level is a list, not an object; write {\"NAME\": ...}, or bind the file \
         by NAME=FILE"
    );
    assert_eq!(
        message("{\"y\": [1,\n NaN]}"),
        "d.json: not valid JSON: expected value at line 2 column 2; JSON has no bare NaN or \
         Infinity: write null, \"NaN\" or \"Infinity\""
    );
    assert_eq!(
        message("{\"y\": [1,"),
        "d.json: not valid JSON: EOF while parsing a value at line 1 column 9; the file seems cut \
         short"
    );
}

// ---- CSV, TSV ----

#[test]
fn a_table_gives_one_column_per_name_and_knows_numbers_from_labels() {
    let arrays = read_text(
        "t.csv",
        "\u{feff}id,y,school,\"a, quoted\"\"name\"\"\",ok\r\n1,2.5,A,1e3,TRUE\r\n \
         2 ,-3,\"B, C\",+7,false\r\n",
    );
    let names: Vec<&str> = arrays.iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["id", "y", "school", "a, quoted\"name\"", "ok"]);
    assert_eq!(real(&arrays[0]), [1.0, 2.0]);
    assert!(arrays[0].whole);
    assert_eq!(real(&arrays[1]), [2.5, -3.0]);
    assert!(!arrays[1].whole);
    assert_eq!(text(&arrays[2]), ["A", "B, C"]);
    assert_eq!(arrays[2].note, None);
    assert_eq!(real(&arrays[3]), [1000.0, 7.0]);
    assert_eq!(real(&arrays[4]), [1.0, 0.0]);
    assert_eq!(arrays[0].shape, [2]);
}

#[test]
fn missing_cells_are_nan_and_remembered() {
    let arrays = read_text("t.csv", "x,s\n1,a\n,b\nNA,\nNaN,NA\nnull,c\n6,d\n");
    let x = real(&arrays[0]);
    assert!(x[1..5].iter().all(|v| v.is_nan()));
    assert_eq!(arrays[0].missing, [1, 2, 3, 4]);
    assert!(!arrays[0].whole);
    assert_eq!(arrays[0].note, None);
    assert_eq!(arrays[1].missing, [2, 3]);
    assert_eq!(text(&arrays[1])[3], "NA");
}

#[test]
fn a_text_cell_in_a_numeric_column_is_remembered_with_its_row() {
    let mut table = String::from("x\n");
    for i in 1..=20 {
        table.push_str(&if i == 17 {
            "abc\n".to_string()
        } else {
            format!("{i}\n")
        });
    }
    let arrays = read_text("t.csv", &table);
    assert_eq!(arrays[0].note.as_deref(), Some("row 17: `abc`"));
    assert_eq!(text(&arrays[0])[15..18], ["16", "abc", "18"]);
}

#[test]
fn long_identifiers_stay_labels_instead_of_being_rounded() {
    let arrays = read_text("t.csv", "id\n9007199254740993\n12\n9007199254740992\n");
    assert_eq!(text(&arrays[0])[0], "9007199254740993");
    assert_eq!(arrays[0].note.as_deref(), Some("row 1: `9007199254740993`"));
    let exact = read_text("t.csv", "id\n9007199254740992\n12\n");
    assert_eq!(real(&exact[0]), [9007199254740992.0, 12.0]);
}

#[test]
fn tabs_separate_tsv_and_a_nameless_index_column_is_left_out() {
    let arrays = read_text("t.tsv", "\tx\ty\n0\t1\ta b\n1\t2\tc,d\n");
    assert_eq!(arrays.len(), 2);
    assert_eq!(real(&arrays[0]), [1.0, 2.0]);
    assert_eq!(text(&arrays[1]), ["a b", "c,d"]);
}

#[test]
fn a_wrong_table_is_an_error_with_the_line() {
    let message = |text: &str| error_of("t.csv", text.as_bytes());
    assert_eq!(
        message("a,b\n1,2\n\"x\ny\",4\n5\n"),
        "t.csv: line 5 has 1 cell, the header has 2"
    );
    assert_eq!(
        message("a,b\n1,2,3\n"),
        "t.csv: line 2 has 3 cells, the header has 2"
    );
    assert_eq!(
        message("a,b,a\n1,2,3\n"),
        "t.csv: line 1: columns 1 and 3 are both called `a`; rename one"
    );
    assert_eq!(
        message("a,b\n"),
        "t.csv: there is a header but no row of data"
    );
    assert_eq!(message("\n"), "t.csv: line 1: the header names no column");
    assert_eq!(message(""), "t.csv: the file is empty");
}

// ---- choosing, binding, settings ----

#[test]
fn files_that_cannot_be_read_are_errors_that_say_why() {
    let missing = read_file("no/such/file.csv").unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Io);
    assert_eq!(
        missing.to_string(),
        "no/such/file.csv: there is no such file; check the path"
    );
    let unknown = read_file("data.feather").unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Usage);
    assert_eq!(
        unknown.to_string(),
        "data.feather: .feather files are not read; write it as Parquet (pandas: to_parquet with \
         compression=\"snappy\")"
    );
    assert_eq!(
        read_file("data.xyz").unwrap_err().to_string(),
        "data.xyz: data are read from .json, .csv, .tsv, .txt, .dat, .asc, .xlsx, .xlsm, .npy, .npz, \
         .parquet, .nc, .h5, .hdf5 files; convert this one, or rename it if it is one of them"
    );
    assert_eq!(
        read_file("data.npy.gz").unwrap_err().to_string(),
        "data.npy.gz: only JSON and tables of text are read packed; unpack it"
    );
    let folder = std::env::temp_dir().join(format!("fitzroy-folder-{}.csv", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let error = read_file(&folder).unwrap_err();
    fs::remove_dir(&folder).unwrap();
    assert!(
        error
            .to_string()
            .ends_with(".csv: this is a folder; name a file in it"),
        "{error}"
    );
    let denied = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    assert_eq!(
        read::io_message(&denied),
        "permission denied; check who may read or write it"
    );
}

#[test]
fn a_binding_takes_the_only_array_or_the_one_of_that_name() {
    let bind = |file: &str, content: &str| {
        with_file(file, content.as_bytes(), |path| {
            read_binding(&format!("y={path}")).map_err(|e| e.to_string().replace(path, file))
        })
    };
    assert_eq!(real(&bind("a.json", "[1, 2]").unwrap()), [1.0, 2.0]);
    assert_eq!(real(&bind("a.json", "7").unwrap()), [7.0]);
    assert_eq!(real(&bind("a.json", r#"{"z": [1]}"#).unwrap()), [1.0]);
    assert_eq!(real(&bind("a.json", r#"{"z": 1, "y": 2}"#).unwrap()), [2.0]);
    assert_eq!(
        bind("a.json", r#"{"z": 1, "x": 2}"#).unwrap_err(),
        "a.json: none is called `y`; the file holds 2 arrays: `z`, `x`"
    );
    let column = bind("a.csv", "z\n1\n2\n").unwrap();
    assert_eq!(
        (column.name.as_str(), column.shape.as_slice()),
        ("y", [2_usize].as_slice())
    );
    assert_eq!(real(&bind("a.csv", "x,y\n1,2\n3,4\n").unwrap()), [2.0, 4.0]);
    let matrix = bind("a.csv", "p,q,r\n1,2,3\n4,NA,6\n").unwrap();
    assert_eq!(matrix.shape, [2, 3]);
    assert_eq!(real(&matrix)[3], 4.0);
    assert_eq!(matrix.missing, [4]);
    assert_eq!(
        bind("a.csv", "p,q\n1,2\n3,b\n").unwrap_err(),
        "a.csv: `y` takes all columns of the table as a matrix of numbers, but column `q` is not \
         numeric (row 2: `b`); name the one column you mean `y`"
    );
    let path = golden("array02.npy");
    let array = read_binding(&format!("y={}", path.display())).unwrap();
    assert_eq!(
        (array.name.as_str(), array.shape.as_slice()),
        ("y", [2_usize, 3].as_slice())
    );
}

#[test]
fn a_binding_needs_a_name_and_a_file() {
    let message = |text: &str| {
        let error = read_binding(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        error.to_string()
    };
    assert_eq!(message("y"), "`y` has no `=`; write NAME=FILE");
    assert_eq!(
        message("=a.csv"),
        "`=a.csv` does not begin with the name of a data array; write NAME=FILE"
    );
    assert_eq!(message("y="), "`y=` has nothing after `=`; write NAME=FILE");
}

#[test]
fn a_setting_is_a_number_or_a_list() {
    let n = read_setting("N=12").unwrap();
    assert_eq!(
        (n.name.as_str(), real(&n), n.whole),
        ("N", [12.0].as_slice(), true)
    );
    assert!(n.shape.is_empty());
    assert_eq!(n.source, "⟨set⟩");
    assert!(!read_setting("x=-1.5e-3").unwrap().whole);
    assert_eq!(real(&read_setting("x=inf").unwrap()), [f64::INFINITY]);
    assert_eq!(real(&read_setting("v=[1, 2, 3]").unwrap()), [1.0, 2.0, 3.0]);
    assert_eq!(read_setting("m=[[1,2],[3,4]]").unwrap().shape, [2, 2]);
    assert_eq!(real(&read_setting("b=true").unwrap()), [1.0]);
    let error = read_setting("x=abc").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert_eq!(
        error.to_string(),
        "⟨set x=abc⟩: `abc` is neither a number nor a list like [1, 2, 3]"
    );
    assert_eq!(
        read_setting("x=[[1],[2,3]]").unwrap_err().to_string(),
        "⟨set x=[[1],[2,3]]⟩: `x[1]` is a list of 2, but `x[0]` is a list of 1; all rows must \
         have the same shape (positions count from 0)"
    );
}
