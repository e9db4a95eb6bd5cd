//! Parquet and NetCDF files written by other programs, whole and in pieces, and broken ones.
#![allow(clippy::unwrap_used)]

use fitzroy::data::{Array, Values, read_file};
use fitzroy_curve_fit::source::{FileTable, LargeOptions, Stored, curve_fit_large};
use fitzroy_curve_fit::{CurveFit, Data, Options, values};
use std::path::PathBuf;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/tables")
        .join(name)
}

/// Columns as the script knows them; null is NaN.
fn expected(name: &str) -> Vec<f64> {
    let text = std::fs::read_to_string(golden("expected.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let cells = all[name].as_array().unwrap().iter();
    cells.map(|x| x.as_f64().unwrap_or(f64::NAN)).collect()
}

fn column<'a>(arrays: &'a [Array], name: &str) -> &'a [f64] {
    let found = arrays.iter().find(|a| a.name == name);
    match &found.unwrap_or_else(|| panic!("no `{name}`")).values {
        Values::Real(values) => values,
        Values::Text(_) => panic!("`{name}` is text"),
    }
}

#[track_caller]
fn check(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
    assert!(got.iter().zip(want).all(same));
}

#[test]
fn parquet_columns_of_every_kind_read_as_they_were_written() {
    for name in ["snappy", "gzip", "plain", "delta"] {
        let arrays = read_file(golden(&format!("{name}.parquet"))).unwrap();
        check(column(&arrays, "x"), &expected("x"));
        check(column(&arrays, "y"), &expected("y"));
        check(column(&arrays, "whole"), &expected("whole"));
        if name == "delta" {
            continue;
        }
        check(column(&arrays, "nullable"), &expected("nullable"));
        assert_eq!(
            column(&arrays, "single")[5],
            f64::from(expected("x")[5] as f32)
        );
        assert_eq!(column(&arrays, "unsigned")[1], 9_223_372_036_854_775_808.0);
        assert_eq!(column(&arrays, "flag")[..4], [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(column(&arrays, "day")[20], 20.0);
        assert!(column(&arrays, "empty").iter().all(|x| x.is_nan()));
        let site = arrays.iter().find(|a| a.name == "site").unwrap();
        let Values::Text(cells) = &site.values else {
            panic!("sites are text")
        };
        assert_eq!((cells[1].as_str(), cells[6].as_str()), ("site 1", "site 2"));
        assert_eq!(site.missing[..3], [0, 11, 22]);
        assert!(arrays.iter().all(|a| !a.name.starts_with("list")));
        if name == "plain" {
            assert_eq!(column(&arrays, "price")[123], 1.23);
        }
    }
}

#[test]
fn netcdf_variables_are_unpacked() {
    let arrays = read_file(golden("plain.nc")).unwrap();
    check(column(&arrays, "x"), &expected("x"));
    let packed = column(&arrays, "packed");
    assert!(packed[0].is_nan() && (packed[11] - 5.11).abs() < 1e-12);
    let matrix = arrays.iter().find(|a| a.name == "matrix").unwrap();
    assert_eq!(matrix.shape, [1000, 2]);
    assert!(arrays.iter().find(|a| a.name == "count").unwrap().whole);
    assert!(arrays.iter().all(|a| a.name != "row"), "a bare dimension");
}

#[test]
fn broken_and_foreign_files_are_named() {
    for (name, parts) in [
        ("cut.parquet", ["cut.parquet", "damaged or cut short"]),
        ("cut.nc", ["cut.nc", "damaged or cut short"]),
        ("zstd.parquet", ["zstd.parquet", "Snappy"]),
    ] {
        let message = read_file(golden(name)).unwrap_err().to_string();
        for part in parts {
            assert!(message.contains(part), "{name}: {message}");
        }
    }
}

#[test]
fn files_in_pieces_give_the_bits_of_memory() {
    let fitter = CurveFit::compile("a*exp(-b*x)+c").unwrap();
    let options = Options {
        p0: values([("a", 1.0), ("b", 1.0), ("c", 0.0)]),
        ..Options::default()
    };
    let (x, y) = (expected("x"), expected("y"));
    let want = fitter.fit(&Data::new(&y).with("x", &x), &options).unwrap();
    let folder = std::env::temp_dir().join(format!("fitzroy-tables-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let large = LargeOptions {
        memory_limit_bytes: 30_000,
        chunk_rows: Some(1),
        folder: folder.clone(),
        ..LargeOptions::default()
    };
    for name in ["snappy.parquet", "gzip.parquet", "plain.nc"] {
        let source = Stored::of(&[golden(name)]).unwrap();
        let found = curve_fit_large(&fitter, &source, "y", None, &options, &large).unwrap();
        assert_eq!(found.popt, want.popt, "{name}");
        assert_eq!(found.pcov, want.pcov, "{name}");
    }
    let source = Stored::of(&[golden("snappy.parquet")]).unwrap();
    let wanted = ["nullable".to_string()];
    let message = source.columns(&wanted, &folder).unwrap_err().to_string();
    assert!(message.contains("row 1, column nullable: NaN"), "{message}");
    let wanted = ["site".to_string()];
    let message = source.columns(&wanted, &folder).unwrap_err().to_string();
    assert!(message.contains("no column `site` of numbers"), "{message}");
    let columns = source.columns(&["x".to_string()], &folder).unwrap();
    assert!(FileTable::new(columns, 100, 1).is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}
