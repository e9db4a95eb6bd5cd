//! Every reader and parser meets files that were changed at random: none panics, takes more than ten
//! seconds, or more than a gigabyte. `FITZROY_FUZZ_S` sets the seconds of each target, for long searches;
//! `FITZROY_FUZZ_SEED` another stream of changes, and `FITZROY_FUZZ_TARGET` one target alone.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod mutation;
mod program;

use fitzroy::data::{Dataset, TableOptions, TableText, read_file};
use fitzroy::draws::{open_trace, read_trace};
use fitzroy::model::Model;
use fitzroy::run::{Settings, bind};
use fitzroy_curve_fit::Formula;
use fitzroy_slurm::profile;
use fitzroy_stop_signal::model::Kind;
use fitzroy_stop_signal::{config, data, priors};
use fitzroy_weather::data::Names;
use fitzroy_weather::files::FieldFile;
use fitzroy_weather::train::Checkpoint;
use mutation::{Numbers, mutated};
use program::{Scratch, repository, weights_of_one_step};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Changed files of each target in the test suite.
const CASES: u64 = 150;
/// Seconds that one file may take.
const MOST_S: u64 = 10;
/// Bytes that one file may take.
const MOST_BYTES: u64 = 1 << 30;

/// One reader: what its files are called, some good ones, and how it is called.
struct Target {
    name: &'static str,
    file: &'static str,
    seeds: Vec<Vec<u8>>,
    read: fn(&Path, &[u8]),
}

fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|t| t.as_bytes().to_vec()).collect()
}

/// Files of the repository in `folder` with this ending.
fn files(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(repository(folder)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|e| e.unwrap().path()).collect();
    paths.sort();
    let named = |p: &&PathBuf| p.to_string_lossy().ends_with(ending);
    let found: Vec<Vec<u8>> = paths
        .iter()
        .filter(named)
        .map(|p| fs::read(p).unwrap())
        .collect();
    assert!(!found.is_empty(), "{folder} has no {ending}");
    found
}

/// The NetCDF files among the golden traces.
fn traces() -> Vec<Vec<u8>> {
    let unpacked = |bytes: Vec<u8>| {
        let mut out = Vec::new();
        std::io::copy(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut out).unwrap();
        out
    };
    files("tests/golden/traces", ".nc.gz")
        .into_iter()
        .map(unpacked)
        .collect()
}

/// Tables of text in the dialects of people.
fn tables() -> Vec<Vec<u8>> {
    let all = [
        "# t U\n0,5 1,25\n1,0 1.234,5\n",
        "Run 7\n\nt;y\ns;mV\n0,5;1,5\n1;\"2,5\"\n",
        "\"dose\" \"y\"\n\"1\" 0.5 2\n\"2\" 1.5 3\n",
        "A|1|2\n// no\nB|#N/A|4\n",
        "0,1,2\r3,4,5\r",
    ];
    let wide: Vec<u8> = all[1].encode_utf16().flat_map(u16::to_le_bytes).collect();
    all.iter()
        .map(|t| t.as_bytes().to_vec())
        .chain([wide])
        .collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn model(_: &Path, bytes: &[u8]) {
    let text = text(bytes);
    let Ok(model) = Model::parse(&text) else {
        return;
    };
    let mut rows = Dataset::new();
    for name in ["y", "x", "sigma", "n", "t", "group"] {
        rows.insert_real(name, &[8], (1..9).map(f64::from).collect());
    }
    let settings = Settings {
        memory_limit_bytes: Some(1 << 28),
        ..Settings::default()
    };
    let _ = bind(&model, &rows, &settings);
}

fn formula(_: &Path, bytes: &[u8]) {
    let _ = Formula::parse(&text(bytes));
}

fn arrays(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    let _ = read_file(path);
    if let Ok(table) = TableText::open(path, &TableOptions::default()) {
        let _ = table.each(&mut |_, cells| {
            let _ = cells.number(0);
            Ok(())
        });
    }
}

fn trace(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    let _ = read_trace(path);
}

/// A file of a Zarr store: all of the store is read.
fn store(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    let is_root = |folder: &&Path| folder.extension().is_some_and(|e| e == "zarr");
    let root = path.ancestors().find(is_root).unwrap();
    let _ = read_trace(root);
    let _ = open_trace(root, 0);
}

/// Workflows are read by the program.
fn workflow(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    let folder = path.parent().unwrap();
    let args = ["curve-fit", "--workflow", "fit.yaml", "--time-limit", "5"];
    let said = program::run(program::program(folder).args(args));
    assert!((0..=3).contains(&said.code), "{}", said.err);
}

fn trials(_: &Path, bytes: &[u8]) {
    let _ = data::parse(bytes, "trials.csv", &data::Options::default());
}

fn settings_of_a_task(_: &Path, bytes: &[u8]) {
    let text = text(bytes);
    let _ = config::Config::parse(&text);
    for kind in Kind::OF_STOPPING {
        let _ = priors::read(kind, &text);
    }
    let _ = profile::extend(&mut profile::built_in(), &text, "slurm.toml");
}

fn assignment(_: &Path, bytes: &[u8]) {
    let mut profiles = profile::built_in();
    let _ = profile::override_by(&mut profiles[0], &text(bytes));
    let _ = profile::seconds(&text(bytes));
}

fn fields(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    let Ok(file) = FieldFile::open(path) else {
        return;
    };
    for name in ["U", "TEM", "t2m", "t", "tp", "tcwv"] {
        let _ = file.read(name, |_, _| {});
    }
}

fn names(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    let _ = Names::with_file(path);
}

fn checkpoint(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    let _ = Checkpoint::load(path);
}

const FORMULAS: [&str; 8] = [
    "a*exp(-b*x) + c",
    "gaussian(x, a=a1, x0=m1) + gaussian(x, a=a2, x0=m2) + c0 + c1*x",
    "where(x < x0, a + b*x, c)",
    "lambda x, a, b: a * np.exp(-b * x)",
    "def f(x, a, b):\n    return a * np.sin(b * x)",
    "a*sin(2*pi*x/P + p) + sqrt(abs(x)) ** 2",
    "let u = (x - x0)/s\na/(1 + u^2)",
    "log1p(x*k) / max(x, 1e-3)",
];

const TRIALS: &str = "subject,stimulus,response,rt,ssd,trial_type\na,0,1,0.52,,go\na,1,0,,,go\n\
                      a,1,2,0.42,0.2,stop\na,left,none,NA,0.15,stop\nb,right,right,0.6,,go\n";

const TASK: &str = "[task]\nresponse_window = 1.5\nsubjects = 10\n[population]\nB = 1.2\nt0 = 0.15\n\
                    [B]\nm = 1.2\ns = 0.4\nh = 0.3\n[h100]\npartition = \"gpu\"\ncpus = 8\n\
                    modules = [\"cuda/12\"]\nenv = { A = \"b\" }\n";

const CMDSTAN: &str = "# stan_version_major = 2\n# model = eight_schools_model\n# method = sample (Default)\n\
                       lp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,mu,\
                       omega.1.1,omega.2.1,omega.1.2,omega.2.2\n-9,0.1,0.2,3,7,0,12,99,1,2,3,4\n\
                       # Adaptation terminated\n# Step size = 0.4\n# 1, 1\n\
                       -7.5,0.9,0.4,2,3,0,10,4.5,11,21,12,22\n-8,1,0.4,2,3,1,11,3.5,11,21,12,22\n\
                       # \n#  Elapsed Time: 0.02 seconds (Warm-up)\n";

const WORKFLOW: &str = "metadata: {workflow_name: decay}\ndata:\n  input_file: decay.txt\n\
  \x20 columns: {x: 0, y: 1, z: null, sigma: 2}\n  ascii: {delimiter: null, comment_char: '#'}\n\
                        model:\n  type: builtin\n  name: exponential_decay\nfitting:\n\
  \x20 p0: [1.0, 1.0, 0.0]\n  bounds:\n    lower: [0.0, 0.001, -1.0]\n    upper: [10.0, .inf, 1.0]\n\
  \x20 method: trf\n  gtol: 1.0e-8\n  max_nfev: 2000\n  loss: linear\n  absolute_sigma: true\n";

const ASSIGNMENTS: [&str; 5] = [
    "time=1-12:30:00",
    "extra=[\"--exclude=a\", \"--nice\"]",
    "env={ A = \"b c\", N = 3 }",
    "modules=a/1,b/2",
    "gpus=h100:1",
];

fn targets(scratch: &Scratch) -> Vec<Target> {
    let target = |name, file, seeds, read: fn(&Path, &[u8])| Target {
        name,
        file,
        seeds,
        read,
    };
    let small = [
        "--latent-size",
        "8",
        "--num-gnn-layers",
        "1",
        "--mlp-num-hidden-layers",
        "1",
        "--boundary-width",
        "1",
    ];
    let best = fs::read(weights_of_one_step(scratch, &small)).unwrap();
    let weather = vec![fs::read(scratch.0.join("a.nc")).unwrap()];
    let decay = |i: i32| format!("{i} {:.5} 0.03\n", 2.0 * (-0.1 * f64::from(i)).exp() + 0.3);
    scratch.file("decay.txt", &(0..40).map(decay).collect::<String>());
    let table = "crates/curve-fit/tests/golden/tables";
    let mut targets = stores(scratch);
    targets.extend(vec![
        target("model", "m.fz", files("models", ".fz"), model),
        target("formula", "f.txt", texts(&FORMULAS), formula),
        target("csv", "d.csv", files("models", ".csv"), arrays),
        target("tsv", "d.tsv", files("models", ".csv"), arrays),
        target("text", "d.txt", tables(), arrays),
        target(
            "xlsx",
            "d.xlsx",
            files("tests/golden/data", ".xlsx"),
            arrays,
        ),
        target("json", "d.json", files("models", ".json"), arrays),
        target(
            "json.gz",
            "d.json.gz",
            files("tests/golden/data", ".json.gz"),
            arrays,
        ),
        target("npy", "d.npy", files("tests/golden/data", ".npy"), arrays),
        target("npz", "d.npz", files("tests/golden/data", ".npz"), arrays),
        target("parquet", "d.parquet", files(table, ".parquet"), arrays),
        target("netcdf", "d.nc", files(table, ".nc"), arrays),
        target("trace", "trace.nc", traces(), trace),
        target("trials", "trials.csv", texts(&[TRIALS]), trials),
        target("task", "task.toml", texts(&[TASK]), settings_of_a_task),
        target("assignment", "set", texts(&ASSIGNMENTS), assignment),
        target("weather", "w.nc", weather, fields),
        target(
            "weather netcdf-3",
            "w3.nc",
            archives(&["cds_old/a.nc", "cdf5/a.nc"]),
            fields,
        ),
        target(
            "weather netcdf-4",
            "w4.nc",
            archives(&["cds_new/a.nc", "noleap/a.nc", "curvilinear/a.nc"]),
            fields,
        ),
        target(
            "weather zip",
            "w.zip",
            archives(&["zip_v2/v2.zarr.zip", "zip_v3/v3.zarr.zip"]),
            fields,
        ),
        target(
            "names",
            "n.toml",
            files("crates/weather/src/data", ".toml"),
            names,
        ),
        target("checkpoint", "w.safetensors", vec![best], checkpoint),
        target("cmdstan", "chain.csv", texts(&[CMDSTAN]), trace),
        target("workflow", "fit.yaml", texts(&[WORKFLOW]), workflow),
    ]);
    targets
}

/// Golden archives of weather.
fn archives(files: &[&str]) -> Vec<Vec<u8>> {
    let folder = repository("crates/weather/tests/golden/archives");
    files
        .iter()
        .map(|file| fs::read(folder.join(file)).unwrap())
        .collect()
}

/// Files of Zarr stores that xarray wrote, each target with a store of its own.
fn stores(scratch: &Scratch) -> Vec<Target> {
    let files = [
        ("zarr", "root/zstd.zarr/zarr.json"),
        ("zarr array", "array/gzip.zarr/posterior/theta/zarr.json"),
        ("zarr zstd", "zstd/zstd.zarr/posterior/theta/c/0/0/0"),
        ("zarr gzip", "gzip/gzip.zarr/posterior/theta/c/0/0/0"),
    ];
    let unpacked = files.map(|(name, file)| {
        let archive = fs::File::open(repository("tests/golden/traces/zarr.zip")).unwrap();
        let folder = scratch.0.join(file.split('/').next().unwrap());
        zip::ZipArchive::new(archive)
            .unwrap()
            .extract(folder)
            .unwrap();
        let seed = fs::read(scratch.0.join(file)).unwrap();
        Target {
            name,
            file,
            seeds: vec![seed],
            read: store,
        }
    });
    unpacked.into()
}

/// The most memory that this process has had, in bytes, since the last call; 0 if the system does not say.
fn peak_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    let kib = line.and_then(|l| l.split_whitespace().nth(1)?.parse::<u64>().ok());
    // "5" begins the count anew.
    let _ = fs::write("/proc/self/clear_refs", "5");
    1024 * kib.unwrap_or(0)
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Files that were read so far.
static READ: AtomicU64 = AtomicU64::new(0);

/// Ends the process when a file takes three times as long as it may: nobody else can.
fn watch(folder: PathBuf) {
    std::thread::spawn(move || {
        let (mut last, mut since) = (0, Instant::now());
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let now = READ.load(Ordering::Relaxed);
            if now != last {
                (last, since) = (now, Instant::now());
            } else if since.elapsed().as_secs() > 3 * MOST_S && folder.exists() {
                eprintln!("a file hangs: see case-* in {}", folder.display());
                std::process::exit(1);
            }
        }
    });
}

/// What went wrong with a target, if anything did.
fn search(target: &Target, folder: &Path, seed: u64) -> Option<String> {
    let path = folder.join(target.file);
    let file = target.file.rsplit('/').next().unwrap();
    let seconds = number("FITZROY_FUZZ_S").map(Duration::from_secs);
    let begun = Instant::now();
    let mut case = 0;
    while seconds.map_or(case < CASES, |s| begun.elapsed() < s) {
        let mut numbers = Numbers(seed ^ case.wrapping_mul(0x2545_F491_4F6C_DD1D));
        let pick = numbers.below(target.seeds.len());
        let other = numbers.below(target.seeds.len());
        let bytes = mutated(&mut numbers, &target.seeds[pick], &target.seeds[other]);
        let kept = folder.join(format!("case-{file}"));
        fs::write(&kept, &bytes).unwrap();
        let start = Instant::now();
        peak_bytes();
        let ended = catch_unwind(AssertUnwindSafe(|| (target.read)(&path, &bytes)));
        READ.fetch_add(1, Ordering::Relaxed);
        let (took, bytes_taken) = (start.elapsed(), peak_bytes());
        let what = match ended {
            Err(_) => "panicked".to_string(),
            Ok(()) if took.as_secs() >= MOST_S => format!("took {took:?}"),
            Ok(()) if bytes_taken > MOST_BYTES => format!("took {} MiB", bytes_taken >> 20),
            Ok(()) => {
                case += 1;
                continue;
            }
        };
        let keep = std::env::temp_dir().join(format!("fitzroy-fuzz-{seed}-{case}-{file}"));
        let _ = fs::copy(&kept, &keep);
        return Some(format!(
            "{}: case {case} of seed {seed} {what}; the file is {}",
            target.name,
            keep.display()
        ));
    }
    None
}

/// Catches: a panic, a loop without end, a size that is believed before it is checked. Files are changed at
/// random, so what is not found here may still be there: a night of `cargo xtask fuzz` looks further.
#[test]
fn readers_survive_files_that_were_changed_at_random() {
    let scratch = Scratch::new("fuzz");
    let seed = number("FITZROY_FUZZ_SEED").unwrap_or(1);
    let only = std::env::var("FITZROY_FUZZ_TARGET").ok();
    watch(scratch.0.clone());
    let mut wrong = Vec::new();
    for target in targets(&scratch) {
        if only.as_ref().is_some_and(|name| name != target.name) {
            continue;
        }
        let before = Instant::now();
        wrong.extend(search(&target, &scratch.0, seed));
        eprintln!("{:12} {:.1} s", target.name, before.elapsed().as_secs_f64());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
