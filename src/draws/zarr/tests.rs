//! Stores written, published, cut, resumed and read back; stores of others.

use super::super::{
    Attribute, Column, Flush, Group, Labels, Trace, Variable, draws_from, read_trace,
};
use super::{Chunks, Stored, ZarrStream, read_zarr};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder that goes when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fitzroy-zarr-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
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

/// Two chains of `n` draws, of every type, with labels, data and a scalar.
fn whole(n: usize) -> Trace {
    let number = |i: usize| (i * 7919 % 4001) as f64 / 64.0;
    let reals = |k: usize| Column::Real((0..2 * n * k).map(number).collect());
    let groups = vec![
        Group {
            name: "posterior".into(),
            variables: vec![
                variable("mu", &["chain", "draw"], &[2, n], reals(1)),
                variable("theta", &["chain", "draw", "school"], &[2, n, 3], reals(3)),
            ],
            attributes: vec![("tuning_steps".into(), Attribute::Integer(1000))],
        },
        Group {
            name: "sample_stats".into(),
            variables: vec![
                variable(
                    "diverging",
                    &["chain", "draw"],
                    &[2, n],
                    Column::Flag((0..2 * n).map(|i| i % 5 == 0).collect()),
                ),
                variable(
                    "tree_depth",
                    &["chain", "draw"],
                    &[2, n],
                    Column::Integer((0..2 * n as i64).collect()),
                ),
            ],
            attributes: Vec::new(),
        },
        Group {
            name: "constant_data".into(),
            variables: vec![variable("total", &[], &[], Column::Real(vec![12.5]))],
            attributes: Vec::new(),
        },
        Group {
            name: "observed_data".into(),
            variables: vec![variable(
                "y",
                &["school"],
                &[3],
                Column::Real(vec![1.0, 2.0, 3.0]),
            )],
            attributes: Vec::new(),
        },
    ];
    let schools = ["Köln", "", "Ulm"].map(String::from);
    let coords = [
        ("chain".to_string(), Labels::Integers(vec![4, 5])),
        (
            "draw".to_string(),
            Labels::Integers((0..n as i64).collect()),
        ),
        ("school".to_string(), Labels::Text(schools.to_vec())),
    ];
    Trace {
        groups,
        coords: coords.into(),
        attributes: vec![(
            "fitzroy_model".into(),
            Attribute::Text("µ ~ Normal(0, 1)".into()),
        )],
    }
}

/// The first `n` draws.
fn head(trace: &Trace, n: usize) -> Trace {
    let total = trace.n_draws("posterior");
    let mut out = trace.clone();
    for group in &mut out.groups {
        for v in group
            .variables
            .iter_mut()
            .filter(|v| v.dims.first().is_some_and(|d| d == "chain"))
        {
            let k = v.elements();
            let rows = [0..n * k, total * k..(total + n) * k];
            fn pick<T: Copy>(v: &[T], rows: [std::ops::Range<usize>; 2]) -> Vec<T> {
                rows.into_iter().flat_map(|r| v[r].to_vec()).collect()
            }
            v.values = match &v.values {
                Column::Real(x) => Column::Real(pick(x, rows)),
                Column::Integer(x) => Column::Integer(pick(x, rows)),
                Column::Flag(x) => Column::Flag(pick(x, rows)),
            };
            v.shape[1] = n;
        }
    }
    out.coords
        .insert("draw".into(), Labels::Integers((0..n as i64).collect()));
    out
}

#[track_caller]
fn same(root: &Path, want: &Trace) {
    let got = read_zarr(root).unwrap();
    assert_eq!(got.groups, want.groups);
    assert_eq!(got.coords, want.coords);
    let ours = got
        .attributes
        .iter()
        .filter(|(n, _)| !n.starts_with("fitzroy_chunk_"));
    assert!(ours.eq(&want.attributes), "{:?}", got.attributes);
}

/// Appended in blocks of every size and published after each: what is read is what was published,
/// also while more was appended. Catches: rows of chains mixed up, a chunk published with the rows
/// of another, fill values shown.
#[test]
fn readers_see_what_was_published_and_nothing_else() {
    let trace = whole(23);
    let folder = Folder::new("published");
    for (case, (chunk, block)) in [(4, 1), (4, 3), (5, 23), (50, 7), (1, 2)]
        .into_iter()
        .enumerate()
    {
        let root = folder.0.join(format!("{case}.zarr"));
        let empty = draws_from(&trace, usize::MAX..usize::MAX);
        let mut stream = ZarrStream::with_chunks(&root, &empty, Chunks::of_draws(chunk)).unwrap();
        stream.publish(&trace.attributes, Flush::Later).unwrap();
        same(&root, &head(&trace, 0));
        let mut n = 0;
        while n < 23 {
            let next = (n + block).min(23);
            let part = draws_from(&head(&trace, next), n..usize::MAX);
            stream.append(&part.groups, Flush::Later).unwrap();
            same(&root, &head(&trace, n));
            stream.publish(&trace.attributes, Flush::Later).unwrap();
            n = next;
            assert_eq!(stream.n_draws(), n);
            same(&root, &head(&trace, n));
        }
    }
}

#[test]
fn a_store_goes_on_where_it_was_published_and_forgets_what_was_not() {
    let trace = whole(20);
    let folder = Folder::new("resumed");
    for published in [0, 3, 8, 12] {
        let root = folder.0.join(format!("{published}.zarr"));
        let empty = draws_from(&trace, usize::MAX..usize::MAX);
        let mut stream = ZarrStream::with_chunks(&root, &empty, Chunks::of_draws(4)).unwrap();
        stream
            .append(&head(&trace, published).groups, Flush::Later)
            .unwrap();
        stream.publish(&trace.attributes, Flush::Disk).unwrap();
        // Full chunks of other draws that were never published.
        let lost = draws_from(&whole(40), 21..usize::MAX);
        stream.append(&lost.groups, Flush::Later).unwrap();
        drop(stream);
        let read = read_zarr(&root).unwrap();
        let tail = draws_from(&read, published - published % 4..usize::MAX).groups;
        let mut stream =
            ZarrStream::resume(&root, &empty, Chunks::of_draws(4), published, &tail).unwrap();
        assert_eq!(stream.n_draws(), published);
        stream
            .append(
                &draws_from(&trace, published..usize::MAX).groups,
                Flush::Later,
            )
            .unwrap();
        stream.publish(&trace.attributes, Flush::Later).unwrap();
        same(&root, &trace);
    }
}

/// Catches: elements of one chunk in the place of another, padding that is shown.
#[test]
fn a_store_cut_along_its_elements_is_read_whole_by_columns_and_thinned() {
    let mut trace = whole(23);
    let matrix = (0..2 * 23 * 15).map(|i| f64::from(i) / 8.0).collect();
    let dims = ["chain", "draw", "school", "k"];
    let matrix = variable("z", &dims, &[2, 23, 3, 5], Column::Real(matrix));
    trace.groups[0].variables.push(matrix);
    let k = Labels::Integers((0..5).collect());
    trace.coords.insert("k".into(), k);
    let empty = draws_from(&trace, 0..0);
    let folder = Folder::new("columns");
    for elements in [1, 2, 3, 7, 15] {
        let root = folder.0.join(format!("{elements}.zarr"));
        let chunks = Chunks { draws: 4, elements };
        let mut stream = ZarrStream::with_chunks(&root, &empty, chunks).unwrap();
        for (from, to) in [(0, 10), (10, 23)] {
            let part = draws_from(&trace, from..to);
            stream.append(&part.groups, Flush::Later).unwrap();
            stream.publish(&trace.attributes, Flush::Later).unwrap();
        }
        same(&root, &trace);
        let stored = Stored::open(&root).unwrap();
        assert_eq!(stored.n_draws(), 23);
        assert_eq!(
            stored.outline().unwrap().groups[0].variables[1].shape,
            [2, 0, 3]
        );
        for v in &trace.groups[0].variables {
            let mut seen = vec![0; v.elements()];
            let mut show = |elements: &[usize], part: Variable| {
                for (k, &element) in elements.iter().enumerate() {
                    seen[element] += 1;
                    assert_eq!(part.element(k), v.element(element), "{} {element}", v.name);
                }
            };
            stored.columns("posterior", &v.name, &mut show).unwrap();
            assert!(seen.iter().all(|&n| n == 1), "{} {seen:?}", v.name);
        }
        let (thinned, every) = stored.thinned(stored.bytes() / 4).unwrap();
        assert_eq!(every, 4);
        let mu = |trace: &Trace| trace.groups[0].variable("mu").unwrap().element(0);
        let some = |chain: Vec<f64>| chain.into_iter().step_by(4).collect::<Vec<_>>();
        let want: Vec<Vec<f64>> = mu(&trace).into_iter().map(some).collect();
        assert_eq!(mu(&thinned), want);
        assert_eq!(thinned.group("observed_data"), trace.group("observed_data"));
    }
}

#[test]
fn a_run_that_goes_on_is_read_from_its_folder() {
    let trace = whole(6);
    let folder = Folder::new("running");
    let root = folder.0.join("run.zarr");
    let mut stream = ZarrStream::create(
        &root,
        &draws_from(&trace, usize::MAX..usize::MAX),
        1000,
        u64::MAX,
    )
    .unwrap();
    stream.append(&trace.groups, Flush::Later).unwrap();
    stream.publish(&trace.attributes, Flush::Later).unwrap();
    assert_eq!(read_trace(&folder.0).unwrap().groups, trace.groups);
    assert_eq!(read_trace(&root).unwrap().groups, trace.groups);
    assert_eq!(stream.to_full_chunk(), 94);
}

#[test]
fn damaged_and_foreign_stores_are_refused_with_the_reason() {
    let trace = whole(6);
    let folder = Folder::new("damaged");
    let root = folder.0.join("x.zarr");
    let make = || {
        let _ = fs::remove_dir_all(&root);
        let empty = draws_from(&trace, usize::MAX..usize::MAX);
        let mut stream = ZarrStream::with_chunks(&root, &empty, Chunks::of_draws(4)).unwrap();
        stream.append(&trace.groups, Flush::Later).unwrap();
        stream.publish(&trace.attributes, Flush::Later).unwrap();
    };
    let refused = || read_trace(&root).unwrap_err().to_string();
    let edit = |from: &str, to: &str| {
        let text = fs::read_to_string(root.join("zarr.json")).unwrap();
        assert!(text.contains(from));
        fs::write(root.join("zarr.json"), text.replace(from, to)).unwrap();
    };
    make();
    fs::write(root.join("posterior/mu/c.0.1"), [1, 2, 3]).unwrap();
    let text = refused();
    assert!(
        text.contains("x.zarr") && text.contains("`mu`") && text.contains("3 bytes"),
        "{text}"
    );
    make();
    fs::remove_file(root.join("posterior/mu/c.0.1")).unwrap();
    let text = refused();
    assert!(text.contains("posterior/mu/c.0.1 is not there"), "{text}");
    make();
    edit("\"name\":\"bytes\"", "\"name\":\"pcodec\"");
    assert!(refused().contains("`pcodec`"), "{}", refused());
    make();
    edit("\"name\":\"bytes\"", "\"name\":\"blosc\"");
    assert!(refused().contains("damaged or cut short"), "{}", refused());
    make();
    edit("\"shape\":[2,6]", "\"shape\":[999999999999,999999999999]");
    assert!(refused().contains("too large"), "{}", refused());
    make();
    edit("\"posterior", "\"something");
    edit("\"sample_stats", "\"other");
    edit("_data", "_stuff");
    assert!(refused().contains("no trace"), "{}", refused());
    make();
    let text = fs::read_to_string(root.join("zarr.json")).unwrap();
    fs::write(root.join("zarr.json"), &text[..text.len() / 2]).unwrap();
    assert!(refused().contains("damaged"), "{}", refused());
    fs::remove_file(root.join("zarr.json")).unwrap();
    assert!(refused().contains("not a Zarr store"), "{}", refused());
    fs::write(root.join(".zgroup"), "{\"zarr_format\": 2}").unwrap();
    assert!(refused().contains("holds no trace"), "{}", refused());
    let nothing = read_trace(folder.0.join("nothing"))
        .unwrap_err()
        .to_string();
    assert!(nothing.contains("nothing"), "{nothing}");
}

/// `tests/golden/traces/zarr.py` saved one trace by xarray with the usual codecs.
#[test]
fn a_store_of_xarray_reads_as_the_netcdf_file_it_was_made_from() {
    let folder = Folder::new("xarray");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/traces");
    let nc = folder.0.join("arviz1.nc");
    let packed = fs::File::open(golden.join("arviz1.nc.gz")).unwrap();
    let mut plain = fs::File::create(&nc).unwrap();
    std::io::copy(&mut flate2::read::GzDecoder::new(packed), &mut plain).unwrap();
    let want = read_trace(&nc).unwrap();
    let archive = fs::File::open(golden.join("zarr.zip")).unwrap();
    zip::ZipArchive::new(archive)
        .unwrap()
        .extract(&folder.0)
        .unwrap();
    for name in ["zstd.zarr", "gzip.zarr"] {
        let got = read_trace(folder.0.join(name)).unwrap();
        assert_eq!(got.coords, want.coords, "{name}");
        for group in &want.groups {
            let theirs = got.group(&group.name).unwrap();
            assert_eq!(theirs.variables.len(), group.variables.len(), "{name}");
            for v in &group.variables {
                let other = theirs.variable(&v.name).unwrap();
                assert_eq!(format!("{other:?}"), format!("{v:?}"), "{name}");
            }
        }
    }
}

/// Checksums of chunks are asked: RFC 3720, B.4, has that of 32 zeros, and any changed bit is found.
#[test]
fn a_chunk_whose_checksum_differs_is_damaged() {
    let mut packed = vec![0; 32];
    packed.extend(0x8A91_36AA_u32.to_le_bytes());
    assert_eq!(
        super::array::unpack("crc32c", packed.clone()).unwrap(),
        [0; 32]
    );
    for bit in 0..8 * packed.len() {
        let mut other = packed.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        let error = super::array::unpack("crc32c", other).unwrap_err();
        assert!(error.to_string().contains("checksum"), "{error}");
    }
    assert!(super::array::unpack("crc32c", vec![1, 2]).is_err());
}
