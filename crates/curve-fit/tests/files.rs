//! Fits of files piece by piece: the same bits as in memory, within the limit, and broken files.
#![allow(clippy::unwrap_used)]

mod shared;

use fitzroy_curve_fit::Progressive;
use fitzroy_curve_fit::pass::Table;
use fitzroy_curve_fit::source::{FileColumn, FileTable, decode_table};
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
        let parsed = decode_table(&scratch.0.join("d.csv"), b',', &wanted, &scratch.0).unwrap();
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
    let message = decode_table(&scratch.0.join("d.csv"), b',', &wanted, &scratch.0).unwrap_err();
    assert!(
        message.to_string().contains("row 2, column y: `oops`"),
        "{message}"
    );
}
