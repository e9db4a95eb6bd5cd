//! The budget of kernels: registers, stack, spilled bytes and instructions of each, by the compiler that made them.

use crate::support;
use fitzroy_device::gpu::{Compiler, Usage};
use fitzroy_ptx::compiled::release;
use std::collections::BTreeMap;
use std::fmt::Write as _;

pub(crate) const BUDGET: &str = "tests/golden/kernels/budget.txt";

/// What a kernel may take, and the checksum of the text that took it.
pub(crate) struct Row {
    /// Its use of the device, and its instructions.
    pub(crate) made: (Usage, u32),
    pub(crate) checksum: String,
}

/// The rows of the budget by the keys of their kernels; none if it is that of another compiler.
pub(crate) fn read(compiler: &Compiler) -> Option<BTreeMap<String, Row>> {
    let text = support::text(BUDGET);
    let release = release(compiler);
    if text.lines().next() != Some(&release) {
        eprintln!("skipped: the budget is not that of {release}");
        return None;
    }
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [
            name,
            team,
            arch,
            precision,
            registers,
            stack,
            spilled,
            code,
            checksum,
        ] = words[..]
        else {
            panic!("{BUDGET}: `{line}` has not nine words");
        };
        let number = |word: &str| word.parse::<u32>().unwrap();
        let usage = Usage {
            registers: number(registers),
            stack_bytes: number(stack),
            spill_bytes: number(spilled),
        };
        let row = Row {
            made: (usage, number(code)),
            checksum: checksum.into(),
        };
        (format!("{name} {team} {arch} {precision}"), row)
    };
    Some(text.lines().skip(2).map(row).collect())
}

/// Writes `rows`, which `compiler` made.
pub(crate) fn write(compiler: &Compiler, rows: &BTreeMap<String, Row>) {
    let mut text = format!(
        "{}\nmodel team architecture precision registers stack spilled instructions text\n",
        release(compiler)
    );
    for (key, row) in rows {
        let (usage, n) = &row.made;
        let Usage {
            registers,
            stack_bytes,
            spill_bytes,
        } = usage;
        let _ = writeln!(
            text,
            "{key} {registers} {stack_bytes} {spill_bytes} {n} {}",
            row.checksum
        );
    }
    let path = support::repository(BUDGET);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
