//! Traces written, read back and damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::super::*;
use crate::ErrorKind;

/// A folder of its own, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("fitzroy-nc-{}-{n}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn variable(name: &str, dims: &[&str], shape: &[usize], values: Column) -> Variable {
    Variable {
        name: name.into(),
        dims: dims.iter().map(|d| d.to_string()).collect(),
        shape: shape.to_vec(),
        values,
    }
}

fn ramp(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i as f64 * 0.37).sin() * 1e3).collect()
}

/// Every type, labels of both kinds, many elements (several chunks), attributes, warm-up of
/// another length, scalars and no draws at all.
pub(super) fn full_trace() -> Trace {
    let (c, d) = (3, 50);
    let mut theta = ramp(c * d * 2);
    theta[7] = f64::NAN;
    theta[8] = f64::INFINITY;
    theta[9] = -0.0;
    let posterior = Group {
        name: "posterior".into(),
        variables: vec![
            variable("mu", &["chain", "draw"], &[c, d], Column::Real(ramp(c * d))),
            variable(
                "theta",
                &["chain", "draw", "school"],
                &[c, d, 2],
                Column::Real(theta),
            ),
            variable(
                "big",
                &["chain", "draw", "year", "big_dim_1"],
                &[c, d, 3, 50],
                Column::Real(ramp(c * d * 150)),
            ),
            variable(
                "k",
                &["chain", "draw"],
                &[c, d],
                Column::Integer((0..150).collect()),
            ),
        ],
        attributes: vec![
            (
                "created_at".into(),
                Attribute::Text("2026-01-02T03:04:05+00:00".into()),
            ),
            ("sampling_time".into(), Attribute::Real(0.25)),
            ("tuning_steps".into(), Attribute::Integer(1000)),
        ],
    };
    let flags = (0..c * d).map(|i| i % 7 == 0).collect();
    let stats = Group {
        name: "sample_stats".into(),
        variables: vec![
            variable(
                "diverging",
                &["chain", "draw"],
                &[c, d],
                Column::Flag(flags),
            ),
            variable(
                "tree_depth",
                &["chain", "draw"],
                &[c, d],
                Column::Integer(vec![3; 150]),
            ),
            variable(
                "energy",
                &["chain", "draw"],
                &[c, d],
                Column::Real(ramp(c * d)),
            ),
        ],
        attributes: Vec::new(),
    };
    let warmup = Group {
        name: "warmup_posterior".into(),
        variables: vec![variable(
            "mu",
            &["chain", "draw"],
            &[c, 20],
            Column::Real(ramp(60)),
        )],
        attributes: Vec::new(),
    };
    let observed = Group {
        name: "observed_data".into(),
        variables: vec![
            variable("y", &["school"], &[2], Column::Real(vec![1.5, 2.5])),
            variable("total", &[], &[], Column::Real(vec![4.0])),
            variable(
                "n",
                &["school"],
                &[2],
                Column::Integer(vec![i64::MAX, i64::MIN]),
            ),
        ],
        attributes: Vec::new(),
    };
    Trace {
        groups: vec![posterior, stats, warmup, observed],
        coords: [
            ("chain".to_string(), Labels::Integers(vec![4, 5, 6])),
            ("draw".to_string(), Labels::Integers((0..50).collect())),
            (
                "school".to_string(),
                Labels::Text(vec!["Köln".into(), "St. Paul's".into()]),
            ),
            ("year".to_string(), Labels::Integers(vec![-5, 2020, 2021])),
            ("big_dim_1".to_string(), Labels::Integers((0..50).collect())),
        ]
        .into(),
        attributes: vec![
            ("fitzroy_seed".into(), Attribute::Integer(42)),
            (
                "fitzroy_settings".into(),
                Attribute::Text("{\"draws\": 50, \"µ\": 1}".into()),
            ),
            ("fitzroy_empty".into(), Attribute::Text(String::new())),
        ],
    }
}

fn bits(column: &Column) -> Vec<u64> {
    match column {
        Column::Real(v) => v.iter().map(|x| x.to_bits()).collect(),
        Column::Integer(v) => v.iter().map(|&x| x as u64).collect(),
        Column::Flag(v) => v.iter().map(|&x| u64::from(x)).collect(),
    }
}

/// Like `==`, but NaN equals NaN and -0 does not equal 0.
fn check_same(got: &Trace, expected: &Trace) {
    assert_eq!(got.attributes, expected.attributes);
    assert_eq!(got.coords, expected.coords);
    let names = |t: &Trace| t.groups.iter().map(|g| g.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(got), names(expected));
    for (g, e) in got.groups.iter().zip(&expected.groups) {
        assert_eq!(g.attributes, e.attributes, "{}", g.name);
        assert_eq!(g.variables.len(), e.variables.len(), "{}", g.name);
        for (a, b) in g.variables.iter().zip(&e.variables) {
            assert_eq!((&a.name, &a.dims, &a.shape), (&b.name, &b.dims, &b.shape));
            assert_eq!(bits(&a.values), bits(&b.values), "{}", a.name);
            assert_eq!(
                std::mem::discriminant(&a.values),
                std::mem::discriminant(&b.values),
                "{}",
                a.name
            );
        }
    }
}

#[test]
fn a_trace_comes_back_bit_for_bit() {
    let folder = Folder::new();
    let path = folder.file("trace.nc");
    let trace = full_trace();
    write_netcdf(&path, &trace).unwrap();
    check_same(&read_netcdf(&path).unwrap(), &trace);
    let left: Vec<_> = fs::read_dir(&folder.0)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left, ["trace.nc"], "no temporary file is left");
}

#[test]
fn a_second_trace_replaces_the_first() {
    let folder = Folder::new();
    let path = folder.file("trace.nc");
    let mut trace = full_trace();
    write_netcdf(&path, &trace).unwrap();
    trace.groups.truncate(2);
    trace.coords.retain(|name, _| name != "school2");
    write_netcdf(&path, &trace).unwrap();
    assert_eq!(read_netcdf(&path).unwrap().groups.len(), 2);
}

#[test]
fn no_draws_no_elements_and_many_attributes_come_back() {
    let folder = Folder::new();
    let path = folder.file("trace.nc");
    let mut trace = Trace::default();
    let attributes: Vec<_> = (0..30)
        .map(|i| (format!("fitzroy_{i}"), Attribute::Integer(i)))
        .collect();
    trace.groups.push(Group {
        name: "posterior".into(),
        variables: vec![
            variable("mu", &["chain", "draw"], &[2, 0], Column::Real(Vec::new())),
            variable(
                "none",
                &["chain", "draw", "k"],
                &[2, 0, 0],
                Column::Flag(Vec::new()),
            ),
        ],
        attributes: attributes.clone(),
    });
    trace.attributes = attributes;
    write_netcdf(&path, &trace).unwrap();
    let got = read_netcdf(&path).unwrap();
    assert_eq!(got.groups, trace.groups);
    assert_eq!(got.attributes, trace.attributes);
    assert_eq!(got.coords["chain"], Labels::Integers(vec![0, 1]));
}

#[test]
fn a_hundred_variables_keep_their_order() {
    let folder = Folder::new();
    let path = folder.file("trace.nc");
    let variables = (0..100).rev().map(|i| {
        let dims = ["chain".to_string(), "draw".into(), format!("dim{i}")];
        let dims: Vec<&str> = dims.iter().map(String::as_str).collect();
        variable(
            &format!("v{i}"),
            &dims,
            &[1, 2, 3],
            Column::Real(vec![f64::from(i); 6]),
        )
    });
    let group = Group {
        name: "posterior".into(),
        variables: variables.collect(),
        attributes: Vec::new(),
    };
    let trace = Trace {
        groups: vec![group],
        ..Trace::default()
    };
    write_netcdf(&path, &trace).unwrap();
    assert_eq!(read_netcdf(&path).unwrap().groups, trace.groups);
}

#[test]
fn repeated_and_colliding_dimensions_are_renamed() {
    let folder = Folder::new();
    let path = folder.file("trace.nc");
    let mut trace = Trace::default();
    trace
        .coords
        .insert("k".into(), Labels::Text(vec!["a".into(), "b".into()]));
    let group = Group {
        name: "posterior".into(),
        variables: vec![
            variable(
                "cov",
                &["chain", "draw", "k", "k"],
                &[1, 1, 2, 2],
                Column::Real(ramp(4)),
            ),
            variable(
                "site",
                &["chain", "draw", "site"],
                &[1, 1, 3],
                Column::Real(ramp(3)),
            ),
        ],
        attributes: Vec::new(),
    };
    trace.groups.push(group);
    write_netcdf(&path, &trace).unwrap();
    let got = read_netcdf(&path).unwrap();
    assert_eq!(
        got.groups[0].variables[0].dims,
        ["chain", "draw", "k", "k_2"]
    );
    assert_eq!(
        got.groups[0].variables[1].dims,
        ["chain", "draw", "site_dim"]
    );
    assert_eq!(got.coords["k_2"], trace.coords["k"]);
}

#[test]
fn what_cannot_be_written_is_an_error_and_leaves_nothing() {
    let folder = Folder::new();
    let path = folder.file("trace.nc");
    let check = |trace: &Trace, kind: ErrorKind, expected: &str| {
        let error = write_netcdf(&path, trace).unwrap_err();
        assert_eq!(error.kind(), kind);
        assert_eq!(
            error
                .to_string()
                .replace(path.to_str().unwrap(), "trace.nc"),
            expected
        );
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
    };
    let mut trace = full_trace();
    trace.groups[0].variables[0].shape = vec![3, 51];
    check(
        &trace,
        ErrorKind::Data,
        "writing trace.nc: group `posterior`: `mu`: 150 elements do not fill dims [\"chain\", \
         \"draw\"] of sizes [3, 51]",
    );
    let mut trace = full_trace();
    trace
        .coords
        .insert("school".into(), Labels::Integers(vec![1]));
    check(
        &trace,
        ErrorKind::Data,
        "writing trace.nc: group `posterior`: `theta`: dimension `school` has size 2 but 1 labels",
    );
    let mut trace = full_trace();
    trace.groups[1].variables[1].name = "energy".into();
    check(
        &trace,
        ErrorKind::Data,
        "writing trace.nc: group `sample_stats`: there are two variables `energy`",
    );
    let mut trace = full_trace();
    trace.groups[1].variables[1].name = "a/b".into();
    check(
        &trace,
        ErrorKind::Data,
        "writing trace.nc: group `sample_stats`: variable name \"a/b\" cannot be written; it must \
         not be empty, hold `/` or be `.`",
    );
    let nowhere = folder.file("no/such/folder/trace.nc");
    let error = write_netcdf(&nowhere, &full_trace()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(
        error.to_string(),
        format!(
            "writing {}: its folder does not exist; create it first",
            nowhere.display()
        )
    );
}

#[test]
fn what_is_no_trace_is_an_error_that_names_the_file() {
    let folder = Folder::new();
    let check = |content: &[u8], expected: &str| {
        let path = folder.file("x.nc");
        fs::write(&path, content).unwrap();
        let error = read_netcdf(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Data);
        assert_eq!(error.to_string(), format!("{}: {expected}", path.display()));
    };
    check(b"", "the file is empty");
    check(b"hello, I am a text file", "this is not a NetCDF-4 file");
    check(
        b"CDF\x01\0\0\0\0",
        "this is a NetCDF-3 file, which cannot hold the groups of a trace; save it as NetCDF-4",
    );
    let missing = read_netcdf(folder.file("missing.nc")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Io);
    assert!(
        missing
            .to_string()
            .ends_with("missing.nc: there is no such file; check the path")
    );
    let error = read_netcdf(&folder.0).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("this is a folder, not a NetCDF file")
    );
    let foreign = Trace {
        groups: vec![Group {
            name: "weather".into(),
            ..Group::default()
        }],
        ..Trace::default()
    };
    let path = folder.file("foreign.nc");
    write_netcdf(&path, &foreign).unwrap();
    assert_eq!(
        read_netcdf(&path).unwrap_err().to_string(),
        format!(
            "{}: the file holds no trace: it needs a group such as `posterior`, it has `weather`",
            path.display()
        )
    );
}

/// A small trace: cutting it everywhere and flipping bytes of it stays affordable.
fn small_file(folder: &Folder) -> Vec<u8> {
    let mut trace = full_trace();
    trace.groups.remove(2);
    trace.groups[0].variables.remove(2);
    let path = folder.file("good.nc");
    write_netcdf(&path, &trace).unwrap();
    fs::read(path).unwrap()
}

/// Reads damaged bytes; an error must be about data and name the file.
fn read_damaged(path: &Path, bytes: &[u8]) -> bool {
    fs::write(path, bytes).unwrap();
    match read_netcdf(path) {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Data, "{error}");
            assert!(error.to_string().contains("damaged.nc: "), "{error}");
            false
        }
    }
}

#[test]
fn a_file_cut_short_is_an_error_wherever_it_is_cut() {
    let folder = Folder::new();
    let good = small_file(&folder);
    let path = folder.file("damaged.nc");
    let step = good.len() / 400 + 1;
    for n in (0..good.len()).step_by(step) {
        assert!(
            !read_damaged(&path, &good[..n]),
            "cut to {n} of {} bytes",
            good.len()
        );
    }
}

/// 330,000 changes of one byte, in four such files, were tried once and none panicked; a sample
/// of them stays here.
#[test]
fn a_changed_byte_never_panics() {
    let folder = Folder::new();
    let path = folder.file("damaged.nc");
    for good in [small_file(&folder), foreign("arviz1"), foreign("cmdstan")] {
        let step = good.len() / 250 + 1;
        for (n, i) in (0..good.len()).step_by(step).enumerate() {
            let mut bad = good.clone();
            bad[i] = [0x00, 0xff, good[i] ^ 0x10, good[i].wrapping_add(1)][n % 4];
            read_damaged(&path, &bad);
        }
    }
}

// ---- files of other writers ----

fn golden(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/traces")
        .join(file)
}

/// The uncompressed file of another writer.
fn foreign(name: &str) -> Vec<u8> {
    use std::io::Read as _;
    let packed = fs::read(golden(&format!("{name}.nc.gz"))).unwrap();
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed.as_slice())
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

fn as_reals(column: &Column) -> Vec<f64> {
    match column {
        Column::Real(v) => v.clone(),
        Column::Integer(v) => v.iter().map(|&x| x as f64).collect(),
        Column::Flag(v) => v.iter().map(|&x| f64::from(u8::from(x))).collect(),
    }
}

fn strings(value: &serde_json::Value) -> Vec<String> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_str().unwrap().to_string())
        .collect()
}

/// Reads a file that ArviZ saved and compares with what xarray says is in it, exactly.
fn check_foreign(name: &str, renamed: &[(&str, &str)]) {
    let folder = Folder::new();
    let path = folder.file("trace.nc");
    fs::write(&path, foreign(name)).unwrap();
    let trace = read_netcdf(&path).unwrap();
    let expected = fs::read(golden(&format!("{name}.json"))).unwrap();
    let expected: serde_json::Value = serde_json::from_slice(&expected).unwrap();
    for (dim, labels) in expected["coords"].as_object().unwrap() {
        let got: Vec<String> = (0..trace.coords[dim].len())
            .map(|i| trace.coords[dim].text(i))
            .collect();
        let same = got
            .iter()
            .zip(strings(labels))
            .all(|(g, l)| *g == l || g.parse::<f64>().ok().is_some_and(|g| Ok(g) == l.parse()));
        assert!(
            same && !got.is_empty(),
            "{name} {dim}: {got:?} for {labels}"
        );
    }
    for (group, variables) in expected["groups"].as_object().unwrap() {
        let got = trace.group(group).unwrap();
        let variables = variables.as_object().unwrap();
        assert_eq!(got.variables.len(), variables.len(), "{name} {group}");
        for (variable, want) in variables {
            let ours = renamed.iter().find(|(theirs, _)| theirs == variable);
            let ours = ours.map_or(variable.as_str(), |(_, ours)| ours);
            let got = got
                .variable(ours)
                .unwrap_or_else(|| panic!("{name} {group} has no {ours}"));
            let mut got = got.clone();
            let dims = strings(&want["dims"]);
            if got.dims != dims {
                assert_eq!((&got.dims[0][..], &got.dims[1][..]), ("chain", "draw"));
                transpose_back(&mut got, &dims);
            }
            assert_eq!(got.dims, dims, "{name} {group} {variable}");
            let values: Vec<f64> = strings(&want["values"])
                .iter()
                .map(|v| v.parse().unwrap())
                .collect();
            let same = as_reals(&got.values)
                .iter()
                .zip(&values)
                .all(|(g, v)| g.to_bits() == v.to_bits() || (g.is_nan() && v.is_nan()));
            assert!(same && got.shape.iter().product::<usize>() == values.len());
            let flag = matches!(got.values, Column::Flag(_));
            assert_eq!(flag, want["kind"] == "b", "{name} {group} {variable}");
        }
    }
}

/// Puts the elements in the order of `dims`, one by one.
fn transpose_back(variable: &mut Variable, dims: &[String]) {
    let from: Vec<usize> = dims
        .iter()
        .map(|d| variable.dims.iter().position(|v| v == d).unwrap())
        .collect();
    let shape: Vec<usize> = from.iter().map(|&axis| variable.shape[axis]).collect();
    let values = as_reals(&variable.values);
    let mut out = Vec::new();
    for flat in 0..values.len() {
        let (mut rest, mut at) = (flat, vec![0; dims.len()]);
        for k in (0..dims.len()).rev() {
            at[from[k]] = rest % shape[k];
            rest /= shape[k];
        }
        let position = at
            .iter()
            .zip(&variable.shape)
            .fold(0, |p, (&i, &n)| p * n + i);
        out.push(values[position]);
    }
    variable.values = Column::Real(out);
    variable.dims = dims.to_vec();
    variable.shape = shape;
}

#[test]
fn a_pymc_trace_saved_by_arviz_0_reads_as_xarray_reads_it() {
    check_foreign("pymc", &[]);
}

#[test]
fn a_nutpie_trace_reads_with_its_statistics_under_our_names() {
    let renamed = [
        ("depth", "tree_depth"),
        ("maxdepth_reached", "reached_max_treedepth"),
        ("logp", "lp"),
        ("mean_tree_accept", "acceptance_rate"),
    ];
    check_foreign("nutpie", &renamed);
}

#[test]
fn a_numpyro_trace_in_single_precision_is_widened() {
    check_foreign("numpyro", &[]);
}

#[test]
fn a_cmdstan_trace_saved_with_netcdf4_reads_as_xarray_reads_it() {
    check_foreign("cmdstan", &[]);
}

#[test]
fn traces_of_arviz_1_read_also_when_chain_and_draw_do_not_come_first() {
    check_foreign("arviz1", &[("depth", "tree_depth")]);
    check_foreign("transposed", &[("depth", "tree_depth")]);
}
