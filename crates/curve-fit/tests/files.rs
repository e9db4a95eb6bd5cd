//! Fits of files piece by piece: the same bits as in memory, within the limit, and broken files.
#![allow(clippy::unwrap_used)]

mod shared;

use fitzroy::data::TableOptions;
use fitzroy_curve_fit::pass::Table;
use fitzroy_curve_fit::source::{FileColumn, FileTable, LargeOptions, Stored, decode_table};
use fitzroy_curve_fit::{CurveFit, Options, Progressive, curve_fit_large, values};
use shared::{Scratch, bits, decay, table};
use std::fmt::Write as _;
use std::path::Path;

fn npy(path: &Path, values: &[f64], says: usize) {
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({says},), }}");
    while (header.len() + 11) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    values.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
    std::fs::write(path, bytes).unwrap();
}

fn fit(table: &dyn Table, threads: usize) -> Vec<u64> {
    bits(&shared::fit(table, threads, Progressive::Auto).unwrap())
}

#[test]
fn files_in_any_pieces_give_the_bits_of_memory() {
    let scratch = Scratch::new("bits");
    for n in [1000, 140_001] {
        let data = decay(n);
        let mut text = "x,y\n".to_string();
        for i in 0..n {
            let _ = writeln!(text, "{},{}", data[0][i], data[1][i]);
        }
        std::fs::write(scratch.0.join("d.csv"), text).unwrap();
        let paths = ["x.npy", "y.npy"].map(|name| scratch.0.join(name));
        npy(&paths[0], &data[0], n);
        npy(&paths[1], &data[1], n);
        let want = fit(&table(data), 1);
        let raw = paths.map(|path| FileColumn::npy(&path).unwrap()).to_vec();
        let wanted = ["x".to_string(), "y".to_string()];
        let parsed = decode_table(
            &scratch.0.join("d.csv"),
            &TableOptions::default(),
            &wanted,
            &scratch.0,
        )
        .unwrap();
        for columns in [raw, parsed] {
            for (limit, threads) in [(24 * 1024, 1), (200_000, 2), (1 << 30, 1)] {
                let table = FileTable::new(columns.clone(), limit, threads).unwrap();
                assert_eq!(fit(&table, threads), want, "{n} rows, {limit} bytes");
            }
        }
    }
}

#[test]
fn broken_files_and_small_limits_are_named() {
    let scratch = Scratch::new("broken");
    let path = scratch.0.join("x.npy");
    npy(&path, &[1.0, 2.0], 5);
    let message = FileColumn::npy(&path).unwrap_err().to_string();
    assert!(
        message.contains("x.npy: 5 rows need") && message.contains("cut short"),
        "{message}"
    );
    std::fs::write(&path, b"\x93NUM").unwrap();
    assert!(
        FileColumn::npy(&path)
            .unwrap_err()
            .to_string()
            .contains("cut short")
    );
    npy(&path, &[1.0, 2.0], 2);
    let column = FileColumn::npy(&path).unwrap();
    let message = FileTable::new(vec![column], 1000, 1)
        .unwrap_err()
        .to_string();
    assert!(message.contains("needs 16384 bytes at least"), "{message}");
    std::fs::write(scratch.0.join("d.csv"), "x,y\n1,2\n2,oops\n").unwrap();
    let wanted = ["x".to_string(), "y".to_string()];
    let message = decode_table(
        &scratch.0.join("d.csv"),
        &TableOptions::default(),
        &wanted,
        &scratch.0,
    )
    .unwrap_err();
    assert!(
        message.to_string().contains("row 2, column y: `oops`"),
        "{message}"
    );
}

/// Catches: a cache that answers for a file that changed, or with a part of a column.
#[test]
fn decoded_columns_are_kept_until_their_file_changes() {
    let scratch = Scratch::new("cache");
    let (path, cache) = (scratch.0.join("d.csv"), scratch.0.join("kept"));
    std::fs::create_dir_all(&cache).unwrap();
    let write = |slope: f64| {
        let rows = (0..50).map(|i| format!("{i},{}\n", slope * f64::from(i) + f64::from(i % 3)));
        std::fs::write(&path, "x,y\n".to_string() + &rows.collect::<String>()).unwrap();
    };
    let slope = || {
        let source = Stored::of(std::slice::from_ref(&path)).unwrap();
        let large = LargeOptions {
            cache: Some(cache.clone()),
            ..LargeOptions::default()
        };
        let fitter = CurveFit::compile("a*x+b").unwrap();
        let options = Options {
            p0: values([("a", 1.0), ("b", 1.0)]),
            ..Options::default()
        };
        let found = curve_fit_large(&fitter, &source, "y", None, &options, &large);
        found.unwrap().popt[0]
    };
    let entries = || {
        let all = std::fs::read_dir(&cache).unwrap();
        all.map(|e| e.unwrap().path()).collect::<Vec<_>>()
    };
    write(2.0);
    let first = slope();
    let [entry] = &entries()[..] else {
        panic!("{:?}", entries())
    };
    // What is read again is what was kept: here another response of the same length.
    let x = std::fs::read(entry.join("column-0.f64")).unwrap();
    std::fs::write(entry.join("column-1.f64"), &x).unwrap();
    assert!((slope() - 1.0).abs() < 1e-12 && (first - 2.0).abs() < 0.01);
    // Cut short, it is decoded again.
    std::fs::write(entry.join("column-1.f64"), &x[8..]).unwrap();
    assert_eq!(slope().to_bits(), first.to_bits());
    write(-3.0);
    assert!((slope() + 3.0).abs() < 0.01);
    assert_eq!(entries().len(), 1, "the old entry is removed");
    assert_ne!(&entries()[0], entry);
}
