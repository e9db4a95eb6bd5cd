//! The job files, as text: one that runs the tasks, one that collects what they made.

use crate::Result;
use crate::command::{Resume, Share};
use crate::plan::Plan;
use crate::profile::notation;

/// The job that runs the tasks.
///
/// A task that is told to stop shortly before its time limit saves its state, goes back into the queue
/// and continues there. The script waits in the background because a signal for the batch step reaches
/// the shell.
///
/// # Errors
/// The profile's time is not in Slurm's notation.
pub fn job(plan: &Plan) -> Result<String> {
    let p = &plan.profile;
    let at_once = plan.concurrent.map_or(String::new(), |n| format!("%{n}"));
    let mut options = vec![("job-name", plan.job_name())];
    options.extend(of_site(plan, p.partition.as_ref(), p.constraint.as_ref()));
    options.extend(p.gpus.iter().map(|g| ("gpus-per-node", g.clone())));
    options.extend([
        ("nodes", "1".to_owned()),
        ("ntasks", "1".to_owned()),
        ("cpus-per-task", plan.cpus().to_string()),
        ("mem", plan.memory()),
        ("time", notation(plan.time_s()?)),
        ("array", format!("0-{}{at_once}", plan.tasks.count - 1)),
        ("output", sbatch_path(plan, "logs/%x_%A_%a.log")),
        ("open-mode", "append".to_owned()),
        ("signal", format!("B:USR1@{}", plan.warning_s()?)),
    ]);
    let mut text = header(&options);
    text += "#SBATCH --requeue\n";
    for line in &p.extra {
        text += &format!("#SBATCH {line}\n");
    }
    text += &plan.rests_on();
    text += &surroundings(plan);
    text += &before(plan);
    text += &start(plan);
    text += &wait(plan);
    Ok(text)
}

/// The job that collects; it needs neither GPU nor much time.
#[must_use]
pub fn collect(plan: &Plan, partial: bool) -> String {
    let p = &plan.profile;
    let partition = p.collect_partition.as_ref().or(p.partition.as_ref());
    let mut options = vec![("job-name", format!("{}-collect", plan.job_name()))];
    options.extend(of_site(plan, partition, None));
    options.extend([
        ("nodes", "1".to_owned()),
        ("ntasks", "1".to_owned()),
        ("cpus-per-task", "1".to_owned()),
        ("mem", plan.collect_memory()),
        ("time", "00:30:00".to_owned()),
        ("output", sbatch_path(plan, "logs/%x_%j.log")),
    ]);
    let mut flags = String::new();
    for (flag, wanted) in [
        (" --partial", partial),
        (" --strict", plan.command.has("--strict")),
    ] {
        flags += if wanted { flag } else { "" };
    }
    format!(
        "{}{}\nexec {} slurm collect \"$run\"{flags}\n",
        header(&options),
        surroundings(plan),
        program(plan)
    )
}

fn header(options: &[(&str, String)]) -> String {
    let lines = options
        .iter()
        .map(|(name, value)| format!("#SBATCH --{name}={value}\n"));
    std::iter::once("#!/bin/bash\n".to_owned())
        .chain(lines)
        .collect()
}

/// What a site asks of every job.
fn of_site(
    plan: &Plan,
    partition: Option<&String>,
    constraint: Option<&String>,
) -> Vec<(&'static str, String)> {
    let p = &plan.profile;
    let all = [
        ("partition", partition),
        ("account", p.account.as_ref()),
        ("qos", p.qos.as_ref()),
        ("constraint", constraint),
    ];
    let given = all
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?.clone())));
    given.collect()
}

/// Modules, variables, and folders that can be written to.
fn surroundings(plan: &Plan) -> String {
    let p = &plan.profile;
    let mut lines = vec![String::new()];
    if !p.modules.is_empty() {
        let modules: Vec<String> = p.modules.iter().map(|m| quoted(m)).collect();
        lines.push(format!("module load {}", modules.join(" ")));
    }
    for (name, value) in &p.env {
        lines.push(format!("export {name}={}", quoted(value)));
    }
    lines.extend(p.setup.iter().cloned());
    lines.push(format!(
        "run={}",
        quoted(&plan.folder.display().to_string())
    ));
    lines.join("\n") + WRITABLE
}

/// A folder may be full or read-only although its permissions allow to write.
const WRITABLE: &str = "
# Temporary files and caches lie with the run where the node has no room for them.
export TMPDIR=\"${TMPDIR:-/tmp}\"
probe=$(mktemp \"$TMPDIR/fitzroy.XXXXXX\" 2>/dev/null) && rm -f \"$probe\" || {
    export TMPDIR=\"$run/tmp\"
    mkdir -p \"$TMPDIR\"
}
[ -w \"${HOME:-/nonexistent}\" ] || export FITZROY_CACHE_DIR=\"${FITZROY_CACHE_DIR:-$run/cache}\"
";

/// Reasons for a task not to run.
fn before(plan: &Plan) -> String {
    let n = plan.tasks.count;
    let restarts = plan.profile.restarts;
    let mut text = format!(
        "
task=${{SLURM_ARRAY_TASK_ID:?hand this file to sbatch}}
out=\"$run/task-$task\"
echo \"task $task of {n} on $(hostname), restart ${{SLURM_RESTART_COUNT:-0}}, $(date '+%F %T')\"
if [ -e \"$run/done/$task\" ]; then
    echo \"task $task is complete\"
    exit 0
fi
if [ \"${{SLURM_RESTART_COUNT:-0}}\" -gt {restarts} ]; then
    echo \"task $task went back into the queue more than {restarts} times: give it more time\"
    exit 1
fi
# One copy of a task at a time; the lock goes with the last process that holds it.
exec 9>\"$run/slurm/lock-$task\"
flock --nonblock --conflict-exit-code 75 9
if [ $? -eq 75 ]; then
    echo \"task $task is running already\"
    exit 1
fi
"
    );
    if let Some(checksum) = &plan.checksum {
        text += &format!(
            "if [ \"$(cksum <{})\" != \"{checksum}\" ]; then
    echo \"the program is not the one that this run began with: put that back, or start anew\"
    exit 1
fi
",
            quoted(&plan.program.display().to_string())
        );
    }
    text
}

/// The line that starts the program.
fn start(plan: &Plan) -> String {
    let (p, command) = (&plan.profile, &plan.command);
    let mut text = String::from("\n");
    // What is strict about a run is all of it, so whoever collects is.
    let command = command.without("--strict");
    let (front, behind) = command.parts();
    let name = command.kind.name.split(' ').map(str::to_owned);
    let mut line: Vec<String> = name.chain(front.iter().map(|w| quoted(w))).collect();
    let mut machine = Vec::new();
    if p.has_gpu() && command.value("--device").is_none() {
        let device = match p.n_gpus() {
            1 => "cuda",
            _ => "cuda:all",
        };
        machine.push(format!("--device {device}"));
    }
    if command.value("--threads").is_none() {
        machine.push("--threads \"$SLURM_CPUS_PER_TASK\"".to_owned());
    }
    // What the machine has is for the training behind `--`.
    if behind.is_none() {
        line.append(&mut machine);
    }
    let n = plan.tasks.count;
    match plan.tasks.share {
        Share::Chains if n > 1 => {
            if command.value("--adapt").is_none() {
                line.push("--adapt per-chain".to_owned());
            }
            line.push(format!("--task \"$task/{n}\""));
        }
        Share::Sets | Share::Trials => line.push(format!("--task \"$task/{n}\"")),
        Share::Blocks => line.push(format!("--block \"$((task + 1))/{n}\"")),
        Share::Chains | Share::Whole => {}
    }
    match command.resume() {
        Resume::Flag => line.push("--out \"$out\" --resume".to_owned()),
        Resume::Same => line.push("--out \"$out\"".to_owned()),
        Resume::Again => line.push("--out \"$out\" --overwrite".to_owned()),
        Resume::Checkpoint => {
            text += CHECKPOINT;
            line.push("--out \"$out\" ${resume[@]+\"${resume[@]}\"}".to_owned());
        }
        Resume::Document => {
            text += "mkdir -p \"$out\"\n";
            line.push("--json >\"$out/bench.json\"".to_owned());
        }
    }
    if let Some(behind) = behind {
        line.push("--".to_owned());
        line.extend(behind.iter().map(|w| quoted(w)));
        line.extend(machine);
    }
    text + TRAPS + &format!("{} {} &\n", program(plan), line.join(" "))
}

/// A folder without a checkpoint holds nothing to go on from; it is kept beside the new one.
const CHECKPOINT: &str = "\
resume=()
if ls \"$out\"/checkpoint-* >/dev/null 2>&1; then
    resume=(--resume-from \"$out\")
elif [ -e \"$out\" ]; then
    mv \"$out\" \"$out.unfinished-$(date +%s)\"
fi
";

/// TERM reaches the program from Slurm, too; twice it would end without saving, so USR1 is handed on.
const TRAPS: &str = "\
program=
again=
trap 'again=yes; kill -USR1 \"$program\" 2>/dev/null' USR1 USR2
trap 'kill -USR1 \"$program\" 2>/dev/null' TERM INT
";

/// `wait` comes back early when a signal was handled, so it is asked until the program has ended.
fn wait(plan: &Plan) -> String {
    let end = match plan.command.resume() {
        Resume::Flag | Resume::Checkpoint | Resume::Same => REQUEUE,
        Resume::Again | Resume::Document => NO_REQUEUE,
    };
    format!(
        "\
program=$!
while kill -0 \"$program\" 2>/dev/null; do
    wait \"$program\"
done
wait \"$program\"
code=$?
if [ \"$code\" -eq 0 ]; then
    mkdir -p \"$run/done\" && date '+%F %T' >\"$run/done/$task\" || code=1
{end}fi
exit \"$code\"
"
    )
}

/// 130 is how the program says that it stopped and saved, 138 that it had not begun. An element of an array has to be named by
/// both numbers: the job number of one of them is that of the array.
const REQUEUE: &str = "\
elif [ -n \"$again\" ] && { [ \"$code\" -eq 130 ] || [ \"$code\" -eq 138 ]; }; then
    echo \"task $task saved its state and goes back into the queue\"
    scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$task\" \\
        || echo \"it could not be requeued: submit task $task again, it will go on\"
";

const NO_REQUEUE: &str = "\
elif [ -n \"$again\" ]; then
    echo \"the time of task $task is up, and it cannot go on later: give it more\"
";

/// How the program is started: inside the container, if there is one.
fn program(plan: &Plan) -> String {
    let program = quoted(&plan.program.display().to_string());
    match &plan.profile.container {
        Some(container) => format!("{container} {program}"),
        None => program,
    }
}

/// A path for an `#SBATCH` line, where a space would end it and `%` means a number.
fn sbatch_path(plan: &Plan, name: &str) -> String {
    let folder = plan.folder.display().to_string().replace('%', "%%");
    let path = format!("{folder}/{name}");
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
    use crate::command::Command;
    use crate::plan::{Basis, Estimate, Time};
    use crate::{profile, split::Split};

    const SAMPLE: [&str; 8] = [
        "sample",
        "/m.fz",
        "--data",
        "/it's.csv",
        "--chains",
        "16",
        "--seed",
        "42",
    ];

    fn plan(profile: &str, split: Split, words: &[&str]) -> Plan {
        let command = Command::parse(words).unwrap();
        Plan {
            program: "/opt/fitzroy/bin/fitzroy".into(),
            checksum: Some("1234567890 24680".to_owned()),
            folder: "/data/my run".into(),
            tasks: split.tasks(&command).unwrap(),
            command,
            profile: profile::find(&profile::built_in(), profile)
                .unwrap()
                .clone(),
            estimate: Some(Estimate {
                memory_bytes: 3 << 30,
                draws_bytes: 1 << 28,
                time: Some(match profile {
                    "cpu" => Time {
                        seconds: 1800.0,
                        basis: Basis::Pilot,
                    },
                    card => Time {
                        seconds: 300.0,
                        basis: Basis::Card(card.to_owned()),
                    },
                }),
            }),
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
        let mut bash = std::process::Command::new("bash");
        let syntax = bash.args(["-n", &path]).status();
        assert!(syntax.map_or(true, |s| s.success()), "bash -n {path}");
    }

    #[test]
    fn job_files_are_those_that_were_read() {
        for name in ["h100", "a100", "v100", "cpu"] {
            let alone = plan(name, Split::None, &SAMPLE);
            check_golden(&format!("{name}.sbatch"), &job(&alone).unwrap());
            let chains = plan(name, Split::Chains(8), &SAMPLE);
            check_golden(&format!("{name}-chains.sbatch"), &job(&chains).unwrap());
        }
        let curves = [
            "curve-fit",
            "--model",
            "a*exp(-b*t)+c",
            "/d.csv",
            "--batch-by",
            "id",
        ];
        let subjects = ["stop-signal", "fit", "/d.csv"];
        let weather = ["weather", "train", "--data", "/a.nc"];
        let bench = ["bench", "stop-signal", "--preset", "standard"];
        for (name, profile, split, words) in [
            ("cpu-sets", "cpu", Split::Parts(50), &curves[..]),
            ("cpu-blocks", "cpu", Split::Parts(40), &subjects),
            ("cpu-weather", "cpu", Split::None, &weather),
            ("a100-bench", "a100", Split::None, &bench),
        ] {
            let mut plan = plan(profile, split, words);
            if name == "a100-bench" {
                plan.estimate = None;
            }
            let text = job(&plan).unwrap();
            check_golden(&format!("{name}.sbatch"), &text);
        }
        let strict = [&SAMPLE[..], &["--strict"]].concat();
        let collected = collect(&plan("cpu", Split::Chains(8), &strict), true);
        check_golden("collect.sbatch", &collected);
        let mut site = plan("h100", Split::None, &SAMPLE);
        let text = "[h100]\naccount = \"lab\"\nqos = \"long\"\nconstraint = \"ib\"\nmem = \"40G\"\n\
            time = \"1-12\"\nmodules = []\nsetup = [\"ulimit -c 0\"]\nrestarts = 3\n\
            env = { A = \"b c\" }\ncontainer = \"apptainer exec --nv /i.sif\"\n\
            extra = [\"--exclude=node7\"]\n";
        let mut profiles = profile::built_in();
        profile::extend(&mut profiles, text, "slurm.toml").unwrap();
        site.profile = profile::find(&profiles, "h100").unwrap().clone();
        site.checksum = None;
        check_golden("site.sbatch", &job(&site).unwrap());
    }

    #[test]
    fn the_same_plan_gives_the_same_bytes() {
        let one = plan("h100", Split::None, &SAMPLE);
        assert_eq!(job(&one).unwrap(), job(&one.clone()).unwrap());
    }

    #[test]
    fn a_task_with_several_gpus_uses_all_of_them() {
        let mut four = plan("h100", Split::None, &SAMPLE);
        profile::override_by(&mut four.profile, "gpus=h100:4").unwrap();
        let text = job(&four).unwrap();
        for part in ["--gpus-per-node=h100:4", "--device cuda:all "] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_percent_sign_in_a_folder_is_no_number_of_a_job() {
        let mut odd = plan("cpu", Split::None, &SAMPLE);
        odd.folder = "/data/50%".into();
        let text = job(&odd).unwrap();
        assert!(
            text.contains("--output=/data/50%%/logs/%x_%A_%a.log"),
            "{text}"
        );
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
}
