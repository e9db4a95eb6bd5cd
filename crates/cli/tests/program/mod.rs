//! Runs the program as a user does.
#![allow(dead_code, unreachable_pub)] // Each test file uses a part.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What the program said and how it ended.
pub struct Said {
    /// The exit code.
    pub code: i32,
    /// Everything on stdout.
    pub out: String,
    /// Everything on stderr.
    pub err: String,
}

impl Said {
    fn new(output: Output) -> Self {
        Said {
            code: output.status.code().expect("the program ends by itself"),
            out: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            err: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
        }
    }

    /// The exit code is `code`, and nothing panicked.
    #[track_caller]
    pub fn ends_with(self, code: i32) -> Self {
        let (out, err) = (&self.out, &self.err);
        assert_eq!(self.code, code, "\nstdout: {out}\nstderr: {err}");
        assert!(!err.contains("panicked"), "{err}");
        self
    }

    /// Every part is somewhere on stderr.
    #[track_caller]
    pub fn complains(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.err.contains(part), "no `{part}` in:\n{}", self.err);
        }
        self
    }

    /// Each part is somewhere on stdout.
    #[track_caller]
    pub fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.out.contains(part), "no {part:?} in\n{}", self.out);
        }
        self
    }

    /// The one JSON document on stdout.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e} in:\n{}", self.out))
    }
}

/// The program in `folder`, with none of our variables in its environment.
pub fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fitzroy"));
    command.current_dir(folder);
    for variable in ["FITZROY_DEVICE", "FITZROY_THREADS", "FITZROY_CACHE_DIR"] {
        command.env_remove(variable);
    }
    command
}

/// Runs `fitzroy ARGS` in the temporary folder.
pub fn fitzroy(args: &[&str]) -> Said {
    run(program(&std::env::temp_dir()).args(args))
}

/// Runs a prepared command.
pub fn run(command: &mut Command) -> Said {
    Said::new(command.output().expect("the program starts"))
}

/// A folder of its own, removed at the end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// A folder named after the test.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fitzroy-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the temporary folder is writable");
        Scratch(path)
    }

    /// Writes a file and gives its path.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("the temporary folder is writable");
        path
    }

    /// Runs `fitzroy ARGS` inside.
    pub fn fitzroy(&self, args: &[&str]) -> Said {
        run(program(&self.0).args(args))
    }

    /// Names of everything inside, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("the folder is there");
        let mut names: Vec<String> = entries
            .map(|e| {
                e.expect("readable")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// Flags of `weather synth` for twelve days of weather on 9 x 9 points, made in a moment.
pub const SMALL_WEATHER: [&str; 16] = [
    "--grid",
    "16",
    "--days",
    "12",
    "--spinup",
    "4",
    "--lat-min",
    "35",
    "--lat-max",
    "55",
    "--lon-min",
    "-10",
    "--lon-max",
    "10",
    "--resolution",
    "2.5",
];

/// Those of [`SMALL_NETWORK`] that say what the network is, and not how it is trained.
pub fn small_shape() -> &'static [&'static str] {
    &SMALL_NETWORK[..8]
}

/// Flags of `weather train` for a network that trains in a moment.
pub const SMALL_NETWORK: [&str; 14] = [
    "--latent-size",
    "16",
    "--num-gnn-layers",
    "1",
    "--mlp-num-hidden-layers",
    "1",
    "--boundary-width",
    "1",
    "--learning-rate",
    "1e-3",
    "--validation-frequency",
    "4",
    "--decay-steps",
    "30",
];

/// The weights of a network after one step on twelve days of weather, which are in `a.nc`.
pub fn weights_of_one_step(scratch: &Scratch, network: &[&str]) -> PathBuf {
    let synth = ["weather", "synth", "--out", "a.nc"];
    scratch
        .fitzroy(&[&synth[..], &SMALL_WEATHER].concat())
        .ends_with(0);
    let train = ["weather", "train", "--data", "a.nc", "--out", "w"];
    let once = ["--max-steps", "1", "--no-progress"];
    let said = scratch.fitzroy(&[&train[..], &once, network].concat());
    assert!(said.code <= 1, "{}", said.err);
    scratch.0.join("w/best.safetensors")
}

/// A disk of so many KiB that a test mounted; unmounted when dropped.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one at `path`; none, with a word, if the test may not.
    #[allow(clippy::print_stderr)]
    pub fn mount(path: &Path, kib: u32) -> Option<SmallDisk> {
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "tmpfs"])
            .arg(path);
        let mounted = mount.stderr(Stdio::null()).status();
        if mounted.is_ok_and(|s| s.success()) {
            return Some(SmallDisk(path.to_path_buf()));
        }
        eprintln!("skipped: no small disk can be mounted here");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).status();
        assert!(unmounted.is_ok_and(|s| s.success()));
    }
}
