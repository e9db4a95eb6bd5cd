//! Traces written by Fitzroy open in ArviZ.
//!
//! `FITZROY_PYTHON` names the interpreters to try, separated by `:` (default `python3`). Where
//! Python or ArviZ is missing the test says that it was skipped; with `FITZROY_REQUIRE_ARVIZ=1` it
//! fails instead.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::path::Path;
use std::process::Command;

use fitzroy::draws::{
    Attribute, Chunks, Column, Flush, Group, Labels, Trace, Variable, ZarrStream, read_netcdf,
    read_zarr, write_netcdf,
};

const CHAINS: usize = 4;
const DRAWS: usize = 200;

/// Exact in binary, so that both sides can compute it.
fn number(i: usize) -> f64 {
    ((i * 7919) % 4001) as f64 / 64.0 - 2000.0 / 64.0
}

fn variable(name: &str, dims: &[&str], shape: &[usize], values: Column) -> Variable {
    let dims = dims.iter().map(|d| d.to_string()).collect();
    Variable {
        name: name.into(),
        dims,
        shape: shape.to_vec(),
        values,
    }
}

fn real(name: &str, dims: &[&str], shape: &[usize]) -> Variable {
    let n = shape.iter().product();
    variable(
        name,
        dims,
        shape,
        Column::Real((0..n).map(number).collect()),
    )
}

fn group(name: &str, variables: Vec<Variable>) -> Group {
    Group {
        name: name.into(),
        variables,
        attributes: Vec::new(),
    }
}

/// The trace that tests/python/check_trace.py expects.
fn trace() -> Trace {
    const CD: [&str; 2] = ["chain", "draw"];
    let shape = [CHAINS, DRAWS];
    let n = CHAINS * DRAWS;
    let mut holes = real("holes", &CD, &shape);
    if let Column::Real(values) = &mut holes.values {
        values[3] = f64::NAN;
        values[4] = f64::INFINITY;
    }
    let mut posterior = group(
        "posterior",
        vec![
            real("mu", &CD, &shape),
            real("theta", &["chain", "draw", "school"], &[CHAINS, DRAWS, 3]),
            real(
                "big",
                &["chain", "draw", "year", "big_dim_1"],
                &[CHAINS, DRAWS, 2, 50],
            ),
            holes,
        ],
    );
    posterior.attributes = vec![
        (
            "created_at".into(),
            Attribute::Text("2026-01-02T03:04:05+00:00".into()),
        ),
        ("sampling_time".into(), Attribute::Real(0.25)),
        ("tuning_steps".into(), Attribute::Integer(1000)),
    ];
    let diverging = Column::Flag((0..n).map(|i| i % 97 == 0).collect());
    let depth = Column::Integer((0..n).map(|i| (i % 5) as i64).collect());
    let groups = vec![
        posterior,
        group(
            "sample_stats",
            vec![
                variable("diverging", &CD, &shape, diverging),
                variable("tree_depth", &CD, &shape, depth),
                real("energy", &CD, &shape),
            ],
        ),
        group(
            "log_likelihood",
            vec![real("y", &["chain", "draw", "school"], &[CHAINS, DRAWS, 3])],
        ),
        group("warmup_posterior", vec![real("mu", &CD, &[CHAINS, 50])]),
        group("observed_data", vec![real("y", &["school"], &[3])]),
        group(
            "constant_data",
            vec![variable("total", &[], &[], Column::Real(vec![12.5]))],
        ),
    ];
    let schools = ["Köln", "St. Paul's", "C"].map(String::from);
    Trace {
        groups,
        coords: [
            ("chain".to_string(), Labels::Integers(vec![8, 9, 10, 11])),
            (
                "draw".to_string(),
                Labels::Integers((0..DRAWS as i64).collect()),
            ),
            ("school".to_string(), Labels::Text(schools.to_vec())),
            ("year".to_string(), Labels::Integers(vec![-5, 2020])),
        ]
        .into(),
        attributes: vec![(
            "fitzroy_settings".into(),
            Attribute::Text("{\"draws\": 200, \"unit\": \"µ\"}".into()),
        )],
    }
}

/// Runs the check under one interpreter. `Err` says why it could not run.
fn check_with(python: &str, script: &str, paths: &[&Path]) -> Result<(), String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/python")
        .join(script);
    let output = Command::new(python).arg(script).args(paths).output();
    let output = output.map_err(|error| format!("{python}: {error}"))?;
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    match output.status.code() {
        Some(0) => {
            eprint!("{text}");
            Ok(())
        }
        Some(3) => Err(format!("{python}: {text}")),
        _ => panic!("{python} could not read the trace:\n{text}"),
    }
}

#[test]
fn arviz_opens_a_trace_with_both_engines_and_saves_what_we_read_again() {
    let folder = std::env::temp_dir().join(format!("fitzroy-arviz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let pythons = std::env::var("FITZROY_PYTHON").unwrap_or_else(|_| "python3".into());
    let required = std::env::var("FITZROY_REQUIRE_ARVIZ").is_ok_and(|v| v == "1");
    for (i, python) in pythons.split(':').filter(|p| !p.is_empty()).enumerate() {
        let path = folder.join(format!("trace{i}.nc"));
        write_netcdf(&path, &trace()).unwrap();
        if let Err(why) = check_with(python, "check_trace.py", &[&path]) {
            assert!(!required, "FITZROY_REQUIRE_ARVIZ=1, but {why}");
            eprintln!("skipped: {why}");
            continue;
        }
        // The script saved the trace again through xarray: it reads as ours does.
        let ours = read_netcdf(&path).unwrap();
        for engine in ["h5netcdf", "netcdf4"] {
            let saved = read_netcdf(folder.join(format!("trace{i}.nc.{engine}.nc"))).unwrap();
            for group in &ours.groups {
                let theirs = saved.group(&group.name).unwrap();
                assert_eq!(
                    theirs.attributes, group.attributes,
                    "{engine} {}",
                    group.name
                );
                assert_eq!(theirs.variables.len(), group.variables.len());
                for variable in &group.variables {
                    let other = theirs.variable(&variable.name).unwrap();
                    assert_eq!(format!("{other:?}"), format!("{variable:?}"), "{engine}");
                }
            }
            assert_eq!(saved.coords, ours.coords, "{engine}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The first 130 draws of the trace, published in two steps, are what both lines of ArviZ, xarray
/// and zarr find in the store, while a third block that was not published lies beside them.
#[test]
fn a_store_that_still_grows_opens_in_arviz_xarray_and_zarr() {
    let folder = std::env::temp_dir().join(format!("fitzroy-arviz-zarr-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (file, store) = (folder.join("trace.nc"), folder.join("run.zarr"));
    let whole = trace();
    let some = |from: usize, to: usize| {
        let mut part = whole.clone();
        part.groups.retain(|g| !g.name.starts_with("warmup_"));
        for v in part.groups.iter_mut().flat_map(|g| &mut g.variables) {
            if v.dims.first().is_some_and(|d| d == "chain") {
                let k = v.elements();
                let rows = |c: usize| (c * DRAWS + from) * k..(c * DRAWS + to) * k;
                v.values = match &v.values {
                    Column::Real(x) => {
                        Column::Real((0..CHAINS).flat_map(|c| x[rows(c)].to_vec()).collect())
                    }
                    Column::Integer(x) => {
                        Column::Integer((0..CHAINS).flat_map(|c| x[rows(c)].to_vec()).collect())
                    }
                    Column::Flag(x) => {
                        Column::Flag((0..CHAINS).flat_map(|c| x[rows(c)].to_vec()).collect())
                    }
                };
                v.shape[1] = to - from;
            }
        }
        part.coords.insert(
            "draw".into(),
            Labels::Integers((from as i64..to as i64).collect()),
        );
        part
    };
    let mut stream = ZarrStream::with_chunks(&store, &whole, Chunks::of_draws(50)).unwrap();
    for (from, to) in [(0, 60), (60, 130)] {
        stream.append(&some(from, to).groups, Flush::Later).unwrap();
        stream.publish(&whole.attributes, Flush::Disk).unwrap();
    }
    stream.append(&some(130, 190).groups, Flush::Later).unwrap();
    let want = some(0, 130);
    write_netcdf(&file, &want).unwrap();
    // Orders of groups and variables differ: a store sorts them.
    let read = read_zarr(&store).unwrap();
    for group in &want.groups {
        for v in &group.variables {
            let other = read.group(&group.name).unwrap().variable(&v.name).unwrap();
            assert_eq!(format!("{other:?}"), format!("{v:?}"));
        }
    }
    let pythons = std::env::var("FITZROY_PYTHON").unwrap_or_else(|_| "python3".into());
    let required = std::env::var("FITZROY_REQUIRE_ARVIZ").is_ok_and(|v| v == "1");
    for python in pythons.split(':').filter(|p| !p.is_empty()) {
        if let Err(why) = check_with(python, "check_zarr.py", &[&store, &file]) {
            assert!(!required, "FITZROY_REQUIRE_ARVIZ=1, but {why}");
            eprintln!("skipped: {why}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
