//! Archives of weather as people have them, read here and by xarray.
//!
//! `golden/archives.py` makes them, of random sizes and contents, and says what xarray reads. A few
//! lie in `golden/archives`; where `FITZROY_PYTHON` names interpreters with xarray, netCDF4 and zarr,
//! all kinds are made anew, of another seed for each. `FITZROY_DIFFERENTIAL` says how many seeds.
#![allow(clippy::unwrap_used)]

mod rooms;

use fitzroy_weather::data::{Chosen, Missing, Names, Reading};
use fitzroy_weather::files::Region;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How far a value may be off, as a share of the largest of its channel.
const NEAR: f64 = 1e-6;

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().unwrap().iter();
    list.map(|v| v.as_f64().unwrap_or(f64::NAN)).collect()
}

fn texts(value: &Value) -> Vec<String> {
    let list = value.as_array().unwrap().iter();
    list.map(|v| v.as_str().unwrap().to_string()).collect()
}

/// What is wrong with the refusal of an archive whose message must hold these words.
fn refused(files: &[PathBuf], words: &[String]) -> Result<(), String> {
    let message = match rooms::read(files, &Chosen::default()) {
        Ok((read, _)) => return Err(format!("was read, {} records", read.times.len())),
        Err(error) => error.to_string(),
    };
    match words.iter().find(|word| !message.contains(*word)) {
        None => Ok(()),
        Some(word) => Err(format!("`{word}` is not in: {message}")),
    }
}

/// What differs between an archive and what xarray reads.
fn compare(folder: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let files: Vec<PathBuf> = texts(&expected["files"])
        .iter()
        .map(|file| folder.join(file))
        .collect();
    if let Some(words) = expected.get("refused").map(texts) {
        return refused(&files, &words);
    }
    let missing = expected.get("missing").and_then(Value::as_str);
    let region = expected.get("region").map(numbers);
    let region = region.map(|edges| Region {
        south: edges[0],
        north: edges[1],
        west: edges[2],
        east: edges[3],
    });
    let chosen = Chosen {
        variables: texts(&expected["variables"]),
        levels: expected.get("levels").map(numbers).unwrap_or_default(),
        reading: Reading {
            names: match expected["names"].as_str() {
                Some(file) => Names::with_file(&folder.join(file)).unwrap(),
                None => Names::default(),
            },
            region,
            missing: match missing {
                Some("fill") => Missing::Fill,
                _ => Missing::Refuse,
            },
            ..Reading::default()
        },
    };
    let read = rooms::read(&files, &chosen)
        .map_err(|error| error.to_string())?
        .0;
    let times: Vec<f64> = read.times.iter().map(|t| t.0 as f64).collect();
    if times != numbers(&expected["times"]) {
        return Err(format!("times {times:?}, not {}", expected["times"]));
    }
    let near = |a: f64, b: f64, unit: f64| (a - b).abs() <= NEAR * unit;
    let (lat, lon) = (numbers(&expected["lat"]), numbers(&expected["lon"]));
    let turned = |a: f64, b: f64| (a - b - 360.0 * ((a - b) / 360.0).round()).abs() < 1e-4;
    if lat.len() != read.lat.len() || !lat.iter().zip(&read.lat).all(|(a, b)| near(*a, *b, 90.0)) {
        return Err(format!("latitudes {:?}, not {lat:?}", read.lat));
    }
    if lon.len() != read.lon.len() || !lon.iter().zip(&read.lon).all(|(a, b)| turned(*a, *b)) {
        return Err(format!("longitudes {:?}, not {lon:?}", read.lon));
    }
    let labels: Vec<String> = read.channels.iter().map(|c| c.label()).collect();
    let wanted = texts(&expected["channels"]);
    let mut both = (labels.clone(), wanted.clone());
    both.0.sort();
    both.1.sort();
    if both.0 != both.1 {
        return Err(format!("channels {labels:?}, not {wanted:?}"));
    }
    let (n, values) = (read.n_nodes(), numbers(&expected["values"]));
    for (at, label) in wanted.iter().enumerate() {
        let channel = labels.iter().position(|l| l == label).unwrap();
        let place = |t: usize, node: usize| (t * wanted.len() + at) * n + node;
        let all = (0..read.times.len()).flat_map(|t| (0..n).map(move |node| (t, node)));
        let largest = all
            .clone()
            .map(|(t, node)| values[place(t, node)].abs())
            .fold(0.0, f64::max); // Missing values are passed over.
        for (t, node) in all {
            let (b, a) = (
                values[place(t, node)],
                read.record(t)[node * labels.len() + channel],
            );
            let filled = missing.is_some() && b.is_nan();
            if !filled && !near(f64::from(a), b, largest) {
                return Err(format!("{label}, record {t}, node {node}: {a}, not {b}"));
            }
        }
    }
    Ok(())
}

/// Compares every folder in `root`; how many there are.
fn compare_all(root: &Path) -> usize {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    let wrong: Vec<String> = folders
        .iter()
        .filter_map(|folder| {
            let wrong = compare(folder).err()?;
            Some(format!("{}: {wrong}", folder.display()))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    folders.len()
}

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// The page names every kind that is made, and every name that is known.
#[test]
fn the_page_says_what_is_read_and_what_it_is_called() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let page = text("../../docs/weather.md");
    let maker = text("tests/golden/archives.py");
    let centres = text("tests/golden/centres.py");
    let list = |of: &'static str, from: &'static str| {
        let rest = from.split_once(of).unwrap().1;
        rest.split_once(']').unwrap().0.split(',').map(str::trim)
    };
    let kinds = list("KINDS = [", maker.leak()).chain(list("CENTRES = [", centres.leak()));
    for kind in kinds.filter(|kind| !kind.is_empty()) {
        assert!(
            page.contains(&format!("`{kind}`")),
            "docs/weather.md lacks {kind}"
        );
    }
    let table: toml::Table = text("src/data/names.toml").parse().unwrap();
    for (name, fields) in &table {
        let list = |field: &str| {
            let names = fields[field].as_array().unwrap().iter();
            let names: Vec<String> = names
                .map(|n| format!("`{}`", n.as_str().unwrap()))
                .collect();
            names.join(", ")
        };
        let row = format!(
            "| `{name}` | {} | {} | {} | {} |",
            fields["units"].as_str().unwrap(),
            if fields["levels"].as_bool().unwrap() {
                "yes"
            } else {
                "no"
            },
            list("names"),
            list("standard_names")
        );
        assert!(page.contains(&row), "docs/weather.md lacks the row {row}");
    }
}

#[test]
fn archives_are_read_as_xarray_reads_them() {
    assert!(compare_all(&golden().join("archives")) >= 6);
}

#[test]
fn archives_of_all_kinds_made_anew_are_read_as_xarray_reads_them() {
    let all = std::env::var("FITZROY_PYTHON").unwrap_or_else(|_| "python3".into());
    let wanted = std::env::var("FITZROY_DIFFERENTIAL").ok();
    let n: u64 = wanted.and_then(|n| n.parse().ok()).unwrap_or(2);
    for (k, python) in all.split(':').filter(|p| !p.is_empty()).enumerate() {
        let probe = Command::new(python)
            .args(["-c", "import xarray, netCDF4, scipy, zarr"])
            .output();
        if !probe.is_ok_and(|probe| probe.status.success()) {
            assert!(
                std::env::var_os("FITZROY_REQUIRE_ARVIZ").is_none(),
                "{python} has not all of xarray, netCDF4, scipy and zarr"
            );
            println!("skipped: {python} has not all of xarray, netCDF4, scipy and zarr");
            continue;
        }
        for seed in 0..n {
            let seed = 1000 * (k as u64 + 1) + seed;
            let name = format!("fitzroy-archives-{seed}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            let made = Command::new(python)
                .arg(golden().join("archives.py"))
                .arg(&folder)
                .arg(seed.to_string())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&made.stderr);
            assert!(made.status.success(), "{said}");
            assert!(compare_all(&folder) >= 24);
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}
