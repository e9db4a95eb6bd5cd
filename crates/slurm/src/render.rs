//! The job files, as text: one that runs the tasks, one that collects what they made.

use crate::plan::Plan;
use std::fmt::Write;

/// Seconds before the time limit at which a task is told to save and stop.
pub const WARNING_S: u32 = 120;

/// Restarts after which a task gives up: a job that cannot reach a checkpoint must not circle.
pub const RESTARTS: u32 = 20;

/// The job that runs the tasks.
///
/// A task that is told to stop shortly before its time limit, or is preempted, saves its state, goes
/// back into the queue and continues there. The script waits in the background because a signal for
/// the batch step reaches the shell.
#[must_use]
pub fn job(plan: &Plan) -> String {
    let p = &plan.profile;
    let mut text = String::from("#!/bin/bash\n");
    let mut option = |name: &str, value: &str| {
        writeln!(text, "#SBATCH --{name}={value}").expect("a string takes all text");
    };
    option("job-name", &plan.job_name());
    for (name, value) in [
        ("partition", &p.partition),
        ("account", &p.account),
        ("qos", &p.qos),
        ("constraint", &p.constraint),
        ("gpus-per-node", &p.gpus),
    ] {
        if let Some(value) = value {
            option(name, value);
        }
    }
    option("nodes", "1");
    option("ntasks", "1");
    option("cpus-per-task", &p.cpus.to_string());
    option("mem", &plan.memory());
    option("time", &p.time);
    let at_once = plan.concurrent.map_or(String::new(), |n| format!("%{n}"));
    option("array", &format!("0-{}{at_once}", plan.tasks.count - 1));
    option("output", &sbatch_path(plan, "logs/%x_%A_%a.log"));
    option("open-mode", "append");
    option("signal", &format!("B:USR1@{WARNING_S}"));
    text.push_str("#SBATCH --requeue\n");
    for line in &p.extra {
        writeln!(text, "#SBATCH {line}").expect("a string takes all text");
    }
    text.push_str(&surroundings(plan));
    text.push_str(&task(plan));
    text
}

/// The job that collects; it needs neither GPU nor much time.
#[must_use]
pub fn collect(plan: &Plan, partial: bool) -> String {
    let p = &plan.profile;
    let mut text = String::from("#!/bin/bash\n");
    let mut option = |name: &str, value: &str| {
        writeln!(text, "#SBATCH --{name}={value}").expect("a string takes all text");
    };
    option("job-name", &format!("{}-collect", plan.job_name()));
    for (name, value) in [
        ("partition", &p.partition),
        ("account", &p.account),
        ("qos", &p.qos),
    ] {
        if let Some(value) = value {
            option(name, value);
        }
    }
    option("nodes", "1");
    option("ntasks", "1");
    option("cpus-per-task", "1");
    option("mem", &plan.memory());
    option("time", "00:30:00");
    option("output", &sbatch_path(plan, "logs/%x_%j.log"));
    text.push_str(&surroundings(plan));
    let flag = if partial { " --partial" } else { "" };
    writeln!(
        text,
        "\nexec {} slurm collect {}{flag}",
        start(plan),
        quoted(&plan.folder.display().to_string())
    )
    .expect("a string takes all text");
    text
}

/// Modules, variables, and folders that can be written to.
fn surroundings(plan: &Plan) -> String {
    let p = &plan.profile;
    let mut text = String::from("\n");
    let mut line = |l: String| {
        text.push_str(&l);
        text.push('\n');
    };
    if !p.modules.is_empty() {
        let modules: Vec<String> = p.modules.iter().map(|m| quoted(m)).collect();
        line(format!("module load {}", modules.join(" ")));
    }
    for (name, value) in &p.env {
        line(format!("export {name}={}", quoted(value)));
    }
    let folder = quoted(&plan.folder.display().to_string());
    // Not earlier: module scripts read variables that are not set.
    line("set -u".to_owned());
    line(format!("run={folder}"));
    line("export TMPDIR=\"${TMPDIR:-/tmp}\"".to_owned());
    line("[ -w \"$TMPDIR\" ] || { export TMPDIR=\"$run/tmp\"; mkdir -p \"$TMPDIR\"; }".to_owned());
    line(
        "[ -w \"${HOME:-/nonexistent}\" ] || export FITZROY_CACHE_DIR=\"${FITZROY_CACHE_DIR:-$run/cache}\""
            .to_owned(),
    );
    for l in &p.setup {
        line(l.clone());
    }
    text
}

/// The lines that run one task and put it back into the queue when its time is up.
fn task(plan: &Plan) -> String {
    let p = &plan.profile;
    let program = start(plan);
    let mut text = String::from("\ntask=${SLURM_ARRAY_TASK_ID:?run this file with sbatch}\n");
    writeln!(
        text,
        "if [ \"${{SLURM_RESTART_COUNT:-0}}\" -gt {RESTARTS} ]; then\n\
         \x20   echo \"task $task was restarted more than {RESTARTS} times: it needs a longer --time\"\n\
         \x20   exit 1\n\
         fi"
    )
    .expect("a string takes all text");
    let mut command: Vec<String> = plan.command.words().iter().map(|w| quoted(w)).collect();
    if p.has_gpu() {
        writeln!(text, "{program} verify --require-gpu || exit 1")
            .expect("a string takes all text");
        if plan.command.value("--device").is_none() {
            command.push("--device cuda".to_owned());
        }
        if let Some(limit) = &p.device_memory {
            command.push(format!("--device-memory {}", quoted(limit)));
        }
    }
    if plan.command.value("--threads").is_none() {
        command.push("--threads \"$SLURM_CPUS_PER_TASK\"".to_owned());
    }
    if plan.tasks.count > 1 {
        if plan.tasks.of_chains && plan.command.value("--adapt").is_none() {
            command.push("--adapt per-chain".to_owned());
        }
        command.push(format!("--task \"$task/{}\"", plan.tasks.count));
    }
    command.push("--out \"$run/task-$task\" --resume".to_owned());
    writeln!(text, "\n{program} {} &", command.join(" ")).expect("a string takes all text");
    text.push_str(WAIT);
    text
}

/// `wait` comes back early when a signal was handled, so it is asked until the program has ended.
const WAIT: &str = "\
program=$!
again=
trap 'again=yes; kill -USR1 \"$program\"' USR1 USR2
trap 'kill -TERM \"$program\"' TERM INT
while kill -0 \"$program\" 2>/dev/null; do
    wait \"$program\"
done
wait \"$program\"
code=$?
if [ -n \"$again\" ] && [ \"$code\" -ne 0 ]; then
    echo \"task $task saved its state and goes back into the queue\"
    scontrol requeue \"$SLURM_JOB_ID\" || echo \"it could not be requeued: submit the job again, it will resume\"
fi
exit \"$code\"
";

/// How the program is started: inside the container, if there is one.
fn start(plan: &Plan) -> String {
    let program = quoted(&plan.program.display().to_string());
    match &plan.profile.container {
        Some(container) => format!("{container} {program}"),
        None => program,
    }
}

/// A path for an `#SBATCH` line, where a space would end it.
fn sbatch_path(plan: &Plan, name: &str) -> String {
    let path = plan.folder.join(name).display().to_string();
    match path.contains([' ', '\'', '"']) {
        true => format!("\"{}\"", path.replace('"', "\\\"")),
        false => path,
    }
}

/// A word for the shell: in single quotes unless it is plain.
#[must_use]
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,%+@^".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Command;
    use crate::{profile, split::Split};

    fn plan(name: &str, split: Split, words: &[&str]) -> Plan {
        let command = Command::parse(words).unwrap();
        Plan {
            program: "/opt/fitzroy/bin/fitzroy".into(),
            folder: "/data/my run".into(),
            tasks: split.tasks(&command).unwrap(),
            command,
            profile: profile::find(&profile::built_in(), name).unwrap().clone(),
            memory_bytes: Some(3 << 30),
            concurrent: (split != Split::None).then_some(4),
        }
    }

    /// The file as it was when it was last read by a person; `FITZROY_GENERATE=1` writes it.
    #[track_caller]
    fn check_golden(name: &str, text: &str) {
        let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("FITZROY_GENERATE").is_some() {
            std::fs::write(&path, text).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(text, expected, "{path}");
        let syntax = std::process::Command::new("bash")
            .args(["-n", &path])
            .status();
        assert!(
            syntax.map_or(true, |status| status.success()),
            "bash -n {path}"
        );
    }

    #[test]
    fn job_files_are_those_that_were_read() {
        let sample = [
            "sample",
            "/m.fz",
            "--data",
            "/it's.csv",
            "--chains",
            "16",
            "--seed",
            "42",
        ];
        for name in ["h100", "a100", "v100", "cpu"] {
            let alone = plan(name, Split::None, &sample);
            check_golden(&format!("{name}.sbatch"), &job(&alone));
            let chains = plan(name, Split::Chains(8), &sample);
            check_golden(&format!("{name}-chains.sbatch"), &job(&chains));
        }
        let batch = [
            "curve-fit",
            "--model",
            "a*exp(-b*t)+c",
            "/d.csv",
            "--batch-by",
            "id",
        ];
        check_golden(
            "cpu-parts.sbatch",
            &job(&plan("cpu", Split::Parts(50), &batch)),
        );
        check_golden(
            "collect.sbatch",
            &collect(&plan("cpu", Split::None, &sample), false),
        );
    }

    #[test]
    fn the_same_plan_gives_the_same_bytes() {
        let one = plan("h100", Split::None, &["sample", "m.fz"]);
        assert_eq!(job(&one), job(&one.clone()));
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        for (word, expected) in [
            ("plain-1.5/a", "plain-1.5/a"),
            ("two words", "'two words'"),
            ("it's", "'it'\\''s'"),
            ("", "''"),
            ("a*b", "'a*b'"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn memory_follows_the_estimate_unless_the_profile_says_it() {
        let mut plan = plan("cpu", Split::None, &["sample", "m.fz"]);
        assert_eq!(plan.memory(), "5G");
        plan.memory_bytes = None;
        assert_eq!(plan.memory(), "2G");
        plan.profile.mem = "40G".to_owned();
        assert_eq!(plan.memory(), "40G");
    }
}
