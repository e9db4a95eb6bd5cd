//! Files that end too early or are gone, as a crash, a full disk or a broken copy leaves them, are read as what they were
//! at some moment or refused: never with a panic, never as something else. `FITZROY_CUTS` says how many
//! places of each file are tried; a number larger than the files tries every byte.

mod mutation;
mod program;

use fitzroy::draws::{Column, Trace, read_trace};
use mutation::Numbers;
use program::{SMALL_NETWORK, Said, Scratch, program, repository, run, weights_of_one_step};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Bytes at the beginning and the end of a file that are always tried.
const ENDS: usize = 16;

/// How many places of each file are tried.
fn n_cuts(usual: usize) -> usize {
    std::env::var("FITZROY_CUTS").map_or(usual, |n| n.parse().expect("a number"))
}

/// Cuts a file, or takes it away where there is no length to cut it at.
fn damage(path: &Path, bytes: &[u8], cut: Option<usize>) {
    let done = match cut {
        Some(at) => fs::write(path, &bytes[..at]),
        None => fs::remove_file(path),
    };
    done.expect("writable");
}

/// Lengths below `len`: those near both ends, and others at random.
fn cuts(len: usize, usual: usize, numbers: &mut Numbers) -> Vec<Option<usize>> {
    let (wanted, near) = (n_cuts(usual), ENDS.min(usual - 1));
    let mut all: Vec<usize> = match wanted >= len {
        true => (0..len).collect(),
        false => (0..len)
            .filter(|&at| at < near || at + near >= len)
            .collect(),
    };
    if wanted < len {
        all.extend((0..wanted).map(|_| numbers.below(len)));
    }
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(Some).chain([None]).collect()
}

/// Every file below `folder`, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => found.push(path),
        }
    }
    found.sort();
    found
}

/// A run on eight schools, published while it goes on.
fn sample(scratch: &Scratch, draws: &str, more: &[&str]) -> Said {
    let path = |file| repository(file).display().to_string();
    let mut command = program(&scratch.0);
    command.args(["sample", &path("models/eight-schools.fz"), "--data"]);
    command.args([&path("models/eight-schools.csv"), "--out", "r", "--quiet"]);
    command.args(["--tune", "100", "--chains", "2", "--threads", "1"]);
    command.args(["--publish-every", "0.005", "--draws", draws]);
    run(command.args(more))
}

/// The numbers of a column as bits.
fn bits(column: &Column) -> Vec<u64> {
    match column {
        Column::Real(values) => values.iter().map(|x| x.to_bits()).collect(),
        Column::Integer(values) => values.iter().map(|&x| x as u64).collect(),
        Column::Flag(values) => values.iter().map(|&x| u64::from(x)).collect(),
    }
}

/// Whether every variable of `part` has the first numbers of `whole`, of each chain as many draws.
fn is_beginning(part: &Trace, whole: &Trace) -> bool {
    let all_groups = part.groups.len() == whole.groups.len();
    all_groups
        && part.groups.iter().all(|group| {
            let Some(other) = whole.group(&group.name) else {
                return false;
            };
            let all_variables = group.variables.len() == other.variables.len();
            all_variables
                && group.variables.iter().all(|v| {
                    let Some(w) = other.variable(&v.name) else {
                        return false;
                    };
                    let (mine, all) = (bits(&v.values), bits(&w.values));
                    if v.dims.first().is_none_or(|d| d != "chain") {
                        return mine == all;
                    }
                    let (n, total) = (v.shape[1] * v.elements(), w.shape[1] * w.elements());
                    (0..v.shape[0])
                        .all(|c| mine[c * n..(c + 1) * n] == all[c * total..c * total + n])
                })
        })
}

/// Reads a damaged file. Gives what is wrong with how that ended.
fn misread(cut: Option<usize>, path: &Path, root: &Path, whole: &Trace) -> Option<String> {
    let place = format!("{} cut at {cut:?}", path.display());
    match catch_unwind(AssertUnwindSafe(|| read_trace(root))) {
        Err(_) => Some(format!("{place}: a panic")),
        Ok(Err(error)) => {
            let said = error.to_string();
            let named = root.file_name().expect("it has one").to_string_lossy();
            (!said.contains(&*named)).then(|| format!("{place}: the message names no file: {said}"))
        }
        Ok(Ok(part)) => (!is_beginning(&part, whole)).then(|| format!("{place}: other draws")),
    }
}

/// Catches: a chunk, a header or an index that is believed although it is not whole.
#[test]
fn a_trace_cut_anywhere_is_refused_or_a_beginning() {
    let scratch = Scratch::new("cut-trace");
    sample(&scratch, "40", &["--predictive"]).ends_with(0);
    let mut numbers = Numbers(11);
    let mut wrong = Vec::new();
    for name in ["trace.nc", "run.zarr"] {
        let root = scratch.0.join("r").join(name);
        let whole = read_trace(&root).expect("it is whole");
        let of_it = match root.is_dir() {
            true => files(&root),
            false => vec![root.clone()],
        };
        assert!(!of_it.is_empty());
        for path in of_it {
            let bytes = fs::read(&path).expect("readable");
            for cut in cuts(bytes.len(), 60, &mut numbers) {
                damage(&path, &bytes, cut);
                wrong.extend(misread(cut, &path, &root, &whole));
            }
            fs::write(&path, &bytes).expect("writable");
        }
        assert!(is_beginning(
            &read_trace(&root).expect("whole again"),
            &whole
        ));
    }
    assert!(
        wrong.is_empty(),
        "{} of:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}

/// Copies a folder with all below it.
fn copy(from: &Path, to: &Path) {
    for path in files(from) {
        let target = to.join(path.strip_prefix(from).expect("below it"));
        fs::create_dir_all(target.parent().expect("a folder")).expect("writable");
        fs::copy(&path, &target).expect("writable");
    }
}

/// Catches: a state that is believed although it is not whole, a run that goes on from other draws than those of
/// its state, results of an earlier run taken for new ones.
#[test]
fn a_run_whose_files_are_cut_goes_on_to_the_same_draws_or_says_what_is_damaged() {
    let scratch = Scratch::new("cut-run");
    sample(&scratch, "60", &[]).ends_with(0);
    let wanted = read_trace(scratch.0.join("r/trace.nc")).expect("it is whole");
    fs::remove_dir_all(scratch.0.join("r")).expect("ours");
    sample(&scratch, "40", &[]).ends_with(0);
    let (run, kept) = (scratch.0.join("r"), scratch.0.join("kept"));
    fs::rename(&run, &kept).expect("ours");
    let mut numbers = Numbers(12);
    let (mut went_on, mut refused) = (0, 0);
    for path in files(&kept) {
        let bytes = fs::read(&path).expect("readable");
        let inside = path.strip_prefix(&kept).expect("below it");
        // What goes on is decided by the state and by the root of the store.
        let decides = inside.starts_with("run.state") || inside.ends_with("run.zarr/zarr.json");
        let usual = if decides { 30 } else { 1 };
        for cut in cuts(bytes.len(), usual, &mut numbers) {
            copy(&kept, &run);
            damage(&run.join(inside), &bytes, cut);
            let said = sample(&scratch, "60", &["--resume"]);
            let place = format!("{} cut at {cut:?}: {}", inside.display(), said.err);
            assert!(!said.err.contains("panicked"), "{place}");
            match said.code {
                0 => {
                    let made = read_trace(run.join("trace.nc")).expect("it was written");
                    let same = is_beginning(&made, &wanted) && is_beginning(&wanted, &made);
                    assert!(same, "other draws: {place}");
                    went_on += 1;
                }
                2 => {
                    assert!(said.err.contains(" r"), "no folder is named: {place}");
                    refused += 1;
                }
                code => panic!("exit code {code}: {place}"),
            }
            fs::remove_dir_all(&run).expect("ours");
        }
    }
    assert!(
        went_on > 10 && refused > 10,
        "{went_on} went on, {refused} were refused"
    );
}

/// Catches: weights that are believed although some are missing.
#[test]
fn a_checkpoint_of_a_network_cut_anywhere_is_refused() {
    let scratch = Scratch::new("cut-network");
    let path = weights_of_one_step(&scratch, &SMALL_NETWORK);
    let bytes = fs::read(&path).expect("it was written");
    for cut in cuts(bytes.len(), 400, &mut Numbers(13)) {
        damage(&path, &bytes, cut);
        let loaded = catch_unwind(|| fitzroy_weather::train::Checkpoint::load(&path));
        let refused = loaded.unwrap_or_else(|_| panic!("a panic at {cut:?}"));
        assert!(refused.is_err(), "cut at {cut:?} of {} bytes", bytes.len());
    }
}
