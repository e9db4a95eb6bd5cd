//! A real Slurm of one node, and what tests ask of it.
#![allow(unreachable_pub)]

use super::program::{Said, Scratch, program, repository, run};
use fitzroy::draws::{Trace, read_trace};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A cluster of this test alone, in the folder `slurm` of its scratch folder; ended with it.
pub struct Cluster {
    /// Its folder.
    pub scratch: Scratch,
}

impl Cluster {
    /// None, with a word, where there is no Slurm.
    pub fn start(name: &str) -> Option<Self> {
        let there = "command -v slurmctld slurmd sbatch munged flock && [ $(id -u) = 0 ]";
        let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default());
        let mut ask = Command::new("bash");
        ask.args(["-c", there])
            .env("PATH", path)
            .stdout(Stdio::null());
        if !ask.status().is_ok_and(|s| s.success()) {
            let required = std::env::var("FITZROY_REQUIRE_SLURM").is_ok_and(|v| v == "1");
            assert!(
                !required,
                "no Slurm, or not root, and FITZROY_REQUIRE_SLURM is set"
            );
            eprintln!("skipped: no Slurm can be started here");
            return None;
        }
        let cluster = Cluster {
            scratch: Scratch::new(&format!("slurm-{name}")),
        };
        assert!(cluster.node("start"), "the cluster starts");
        Some(cluster)
    }

    fn node(&self, verb: &str) -> bool {
        let mut script = Command::new(repository("tests/slurm/one-node.sh"));
        script.arg(verb).arg(self.scratch.0.join("slurm"));
        script.status().is_ok_and(|s| s.success())
    }

    /// A program of Slurm, or ours, that finds the cluster.
    pub fn command(&self, name: &str) -> Command {
        let mut command = match name {
            "fitzroy" => program(&self.scratch.0),
            name => Command::new(name),
        };
        command.env("SLURM_CONF", self.scratch.0.join("slurm/slurm.conf"));
        command
            .env_remove("XDG_CONFIG_HOME")
            .env("HOME", &self.scratch.0);
        command
    }

    pub fn fitzroy(&self, args: &[&str]) -> Said {
        run(self.command("fitzroy").args(args))
    }

    pub fn slurm(&self, verb: &str, more: &[&str]) -> Said {
        self.fitzroy(&[&["slurm", verb], more].concat())
    }

    /// Submits a command with the usual profile.
    pub fn submit(&self, out: &str, how: &[&str], command: &[&str]) -> Said {
        let usual = [
            "--out",
            out,
            "--set",
            "partition=cpu",
            "--set",
            "cpus=1",
            "--set",
            "mem=500M",
        ];
        self.slurm("submit", &[&usual, how, &["--"], command].concat())
    }

    /// What Slurm's own program prints.
    pub fn ask(&self, name: &str, args: &[&str]) -> String {
        let output = self
            .command(name)
            .args(args)
            .output()
            .expect("Slurm is there");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Waits until the queue is empty; collecting is over, too.
    #[track_caller]
    pub fn wait(&self) {
        until("the queue is empty", || {
            self.ask("squeue", &["--noheader"]).trim().is_empty()
        });
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.0.join(name)
    }

    pub fn trace(&self, folder: &str) -> Trace {
        read_trace(self.path(folder)).expect("there are draws")
    }

    /// A program that starts fitzroy and, where there is a file `hold-TASK`, lets it stand still after
    /// a third of a second until it is told to stop.
    pub fn holder(&self) -> String {
        let text = format!(
            "#!/bin/bash\n\
             [ -e {}/hold-$SLURM_ARRAY_TASK_ID ] || exec \"$@\"\n\
             \"$@\" &\n\
             program=$!\n\
             trap 'kill -CONT $program; kill -USR1 $program' USR1 TERM\n\
             sleep 0.3\n\
             kill -STOP $program\n\
             while kill -0 $program 2>/dev/null; do wait $program; done\n\
             wait $program\n",
            self.scratch.0.display()
        );
        let path = self.scratch.file("holder", &text);
        let made = Command::new("chmod").arg("+x").arg(&path).status();
        assert!(made.is_ok_and(|s| s.success()));
        path.display().to_string()
    }

    pub fn hold(&self, task: usize) -> PathBuf {
        self.scratch.file(&format!("hold-{task}"), "")
    }

    /// The number of the process that runs a task of `out`.
    pub fn process(&self, out: &str, task: usize) -> Option<u32> {
        let wanted = self
            .path(&format!("{out}/task-{task}"))
            .display()
            .to_string();
        let entries = fs::read_dir("/proc").ok()?.flatten();
        let mut numbers = entries.filter_map(|e| e.file_name().to_string_lossy().parse().ok());
        numbers.find(|pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = line.split(|b| *b == 0).collect();
            words[0].ends_with(b"fitzroy") && words.contains(&wanted.as_bytes())
        })
    }

    /// Draws per chain that a task has published.
    pub fn published(&self, out: &str, task: usize) -> usize {
        let path = self.path(&format!("{out}/task-{task}/run.zarr"));
        match path.join("zarr.json").is_file() {
            true => read_trace(path)
                .expect("always readable")
                .n_draws("posterior"),
            false => 0,
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.node("stop");
    }
}

/// Waits for something, three minutes at most.
#[track_caller]
pub fn until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(
            start.elapsed() < Duration::from_secs(180),
            "{what}: not in 180 s"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Sends a signal; who has ended does not mind.
pub fn signal(pid: u32, name: &str) {
    let mut kill = Command::new("kill");
    let _ = kill
        .args(["-s", name, &pid.to_string()])
        .stderr(Stdio::null())
        .status();
}
