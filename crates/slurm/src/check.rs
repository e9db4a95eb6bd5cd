//! What can be known to go wrong before a job is submitted.

use crate::cluster::{Cluster, missing, refused};
use crate::command::{Command, KINDS};
use crate::plan::Plan;
use crate::profile::{Profile, notation, seconds};
use crate::{Error, ErrorKind, Result};
use std::path::Path;

/// Something that need not stop the job but should be known.
pub type Warning = String;

/// Asks the cluster whether it would take the job: array length, partition and its time limit, type of
/// GPU, and `sbatch --test-only`.
///
/// # Errors
/// It would not; the message says what there is instead.
pub fn before_submitting(cluster: &dyn Cluster, plan: &Plan, file: &str) -> Result<()> {
    array_length(cluster, plan)?;
    time(cluster, plan)?;
    gpu(cluster, plan)?;
    let answer = cluster
        .call("sbatch", &["--test-only", file])
        .ok_or_else(|| missing("sbatch"))?;
    if answer.passed {
        Ok(())
    } else {
        Err(refused("sbatch --test-only", &answer))
    }
}

/// What need not stop a job but should be known before: too little time, a folder that other nodes may
/// not see. `temporary` is the folder of temporary files here.
///
/// # Errors
/// The profile's time is not in Slurm's notation.
pub fn warnings(plan: &Plan, temporary: &Path) -> Result<Vec<Warning>> {
    let estimate = plan.estimated().map(|t| t.seconds);
    let mut found: Vec<Warning> = time_for(estimate, plan.time_s()?).into_iter().collect();
    let local = [
        Path::new("/tmp"),
        Path::new("/dev/shm"),
        Path::new("/var/tmp"),
        temporary,
    ];
    for (what, path) in [("the run", &plan.folder), ("the program", &plan.program)] {
        if local.iter().any(|folder| path.starts_with(folder)) {
            found.push(format!(
                "{what} lies in {}, which the nodes may not see: use a disk that all share",
                path.display()
            ));
        }
    }
    Ok(found)
}

/// Warns when the estimate of a task is longer than the time asked for, with the restarts it takes.
fn time_for(estimate_s: Option<f64>, limit_s: u64) -> Option<Warning> {
    let (estimate, limit) = (estimate_s?, limit_s as f64);
    (estimate > limit).then(|| {
        format!(
            "a task needs about {} and asks for {}: it will go back into the queue and continue about \
             {:.0} times; ask for more with --set time=",
            notation(estimate as u64),
            notation(limit_s),
            (estimate / limit).floor()
        )
    })
}

/// `MaxArraySize` bounds the highest index, and so the number of tasks.
fn array_length(cluster: &dyn Cluster, plan: &Plan) -> Result<()> {
    let Some(answer) = cluster
        .call("scontrol", &["show", "config"])
        .filter(|a| a.passed)
    else {
        return Ok(());
    };
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "MaxArraySize").then(|| value.trim().parse::<usize>().ok())?
    };
    match answer.stdout.lines().find_map(value) {
        Some(most) if plan.tasks.count > most => Err(Error::usage(format!(
            "{} tasks, and this cluster takes arrays of at most {most}: split into fewer",
            plan.tasks.count
        ))),
        _ => Ok(()),
    }
}

/// The partition exists, and lets jobs run that long: `--test-only` does not look at the time.
fn time(cluster: &dyn Cluster, plan: &Plan) -> Result<()> {
    let Some(partition) = &plan.profile.partition else {
        return Ok(());
    };
    let arguments = ["--noheader", "--format", "%R|%l"];
    let Some(answer) = cluster.call("sinfo", &arguments).filter(|a| a.passed) else {
        return Ok(());
    };
    let rows: Vec<(&str, &str)> = answer
        .stdout
        .lines()
        .filter_map(|l| l.trim().split_once('|'))
        .collect();
    let Some((_, most)) = rows.iter().find(|(name, _)| name == partition) else {
        let mut names: Vec<&str> = rows.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        return Err(Error::usage(format!(
            "there is no partition `{partition}`; there are {}. Set it with --set partition=, or in \
             your slurm.toml",
            names.join(", ")
        )));
    };
    match seconds(most) {
        Some(most_s) if plan.time_s()? > most_s => Err(Error::usage(format!(
            "partition `{partition}` runs jobs for at most {most}, and the job asks for {}: set it \
             with --set time={}; a run continues where it stopped",
            notation(plan.time_s()?),
            notation(most_s)
        ))),
        _ => Ok(()),
    }
}

/// All GPUs of a task have something to do.
///
/// # Errors
/// The profile asks for several, and the command uses one.
pub fn gpus_are_used(command: &Command, profile: &Profile) -> Result<()> {
    let gpus = profile.gpus.as_deref().unwrap_or_default();
    if profile.n_gpus() < 2 || command.kind.shares_gpus {
        return Ok(());
    }
    let sharing = KINDS.iter().filter(|kind| kind.shares_gpus);
    let sharing: Vec<String> = sharing.map(|kind| format!("`{}`", kind.name)).collect();
    Err(Error::usage(format!(
        "`gpus` is `{gpus}`: a task of `{}` computes on one GPU, and the others would only be reserved; \
         set one with --set gpus={}1. Several are shared by {}",
        command.kind.name,
        gpus.trim_end_matches(|c: char| c.is_ascii_digit()),
        sharing.join(", ")
    )))
}

/// The type of GPU exists somewhere.
fn gpu(cluster: &dyn Cluster, plan: &Plan) -> Result<()> {
    let Some(asked) = &plan.profile.gpus else {
        return Ok(());
    };
    let Some(answer) = cluster
        .call("sinfo", &["--noheader", "--format", "%G"])
        .filter(|a| a.passed)
    else {
        return Ok(());
    };
    // gpu:h100:2(S:0-1),gpu:a100:1
    let kind = |part: &str| {
        let mut fields = part.trim().split(':');
        let is_gpu = fields.next() == Some("gpu");
        let plain = |field: &str| field.split('(').next().unwrap_or(field).to_owned();
        let name = plain(fields.next()?);
        let is_type = name.parse::<u32>().is_err();
        let count = fields.next().and_then(|n| plain(n).parse::<u64>().ok());
        (is_gpu && is_type).then_some((name, count.unwrap_or(1)))
    };
    let parts = answer.stdout.lines().flat_map(|line| line.split(','));
    let mut kinds: Vec<(String, u64)> = parts.filter_map(kind).collect();
    kinds.sort_unstable();
    let wanted = asked.split(':').next().unwrap_or(asked);
    let is_count = wanted.parse::<u32>().is_ok();
    if is_count || kinds.is_empty() {
        return Ok(());
    }
    let refused = |message: String| Err(Error::new(ErrorKind::Device, message));
    let most = kinds.iter().rfind(|(name, _)| name == wanted);
    match most.map(|(_, most)| *most) {
        Some(most) if most < plan.profile.n_gpus() => refused(format!(
            "no node of this cluster has {} GPUs of type `{wanted}`; the most are {most}. Set it with --set \
             gpus={wanted}:{most}",
            plan.profile.n_gpus()
        )),
        Some(_) => Ok(()),
        None => {
            let mut names: Vec<&str> = kinds.iter().map(|(name, _)| name.as_str()).collect();
            names.dedup();
            refused(format!(
                "this cluster has no GPU of type `{wanted}`; it has {}. Set it with --set gpus=TYPE:1",
                names.join(", ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::tests::Fake;
    use crate::plan::{Basis, Estimate, Time};
    use crate::{profile, split::Split};

    fn plan(gpus: Option<&str>, time: &str) -> Plan {
        let command = Command::parse(&["sample", "m.fz", "--chains", "8"]).unwrap();
        let mut profile = profile::find(&profile::built_in(), "cpu").unwrap().clone();
        profile.gpus = gpus.map(str::to_owned);
        profile.time = time.to_owned();
        Plan {
            program: "/f".into(),
            checksum: None,
            folder: "/r".into(),
            tasks: Split::Chains(8).tasks(&command).unwrap(),
            command,
            profile,
            estimate: None,
            concurrent: None,
        }
    }

    fn message(fake: &Fake, plan: &Plan) -> String {
        before_submitting(fake, plan, "job.sbatch")
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn what_the_cluster_does_not_have_is_said_with_what_it_has() {
        let short = plan(None, "01:00:00");
        let info = Fake::default().with("sinfo", true, "gpu|1-00:00:00\nlong|infinite\n");
        assert!(message(&info, &short).contains("there are gpu, long"));
        let info = Fake::default().with("sinfo", true, "standard|00:30:00\n");
        assert!(message(&info, &short).contains("at most 00:30:00"));
        let config = Fake::default().with("scontrol", true, "MaxArraySize            = 4\n");
        assert!(message(&config, &short).contains("at most 4"));
    }

    #[test]
    fn a_type_of_gpu_that_is_not_there_is_refused() {
        let fake = Fake::default().with("sinfo", true, "gpu:h100:2(S:0-1),gpu:a100:1\n(null)\n");
        let mut wanted = plan(Some("v100:1"), "10");
        wanted.profile.partition = None;
        assert!(message(&fake, &wanted).contains("it has a100, h100"));
        wanted.profile.gpus = Some("h100:3".to_owned());
        let said = message(&fake, &wanted);
        assert!(
            said.contains("no node") && said.contains("gpus=h100:2"),
            "{said}"
        );
        wanted.profile.gpus = Some("h100:2".to_owned());
        let fake = fake.with("sbatch", true, "");
        assert!(before_submitting(&fake, &wanted, "job.sbatch").is_ok());
        wanted.profile.gpus = Some("1".to_owned());
        assert!(before_submitting(&fake, &wanted, "job.sbatch").is_ok());
    }

    #[test]
    fn slurm_has_the_last_word() {
        let said = "Requested node configuration is not available";
        let fake = Fake::default().with("sbatch", false, said);
        assert!(message(&fake, &plan(None, "10")).contains(said));
        let without = message(&Fake::default(), &plan(None, "10"));
        assert!(without.contains("no `sbatch`"), "{without}");
    }

    #[test]
    fn too_little_time_is_a_warning_with_numbers() {
        assert_eq!(time_for(Some(60.0), 3600), None);
        assert_eq!(time_for(None, 3600), None);
        let warning = time_for(Some(9000.0), 3600).unwrap();
        assert!(
            warning.contains("about 02:30:00 and asks for 01:00:00"),
            "{warning}"
        );
        assert!(warning.contains("about 2 times"), "{warning}");
    }

    #[test]
    fn several_gpus_are_for_commands_that_share_them() {
        let four = plan(Some("h100:4"), "60").profile;
        for (words, is_fine) in [
            (&["sample", "m.fz"][..], true),
            (&["stop-signal", "fit", "s.csv"], true),
            (&["weather", "train"], false),
        ] {
            let command = Command::parse(words).unwrap();
            assert_eq!(gpus_are_used(&command, &four).is_ok(), is_fine, "{words:?}");
            let one = plan(Some("h100:1"), "60").profile;
            assert!(gpus_are_used(&command, &one).is_ok(), "{words:?}");
        }
        let training = Command::parse(&["weather", "train"]).unwrap();
        let said = gpus_are_used(&training, &four).unwrap_err().to_string();
        assert!(
            said.contains("--set gpus=h100:1") && said.contains("`sample`"),
            "{said}"
        );
    }

    #[test]
    fn folders_of_one_node_and_short_times_are_warned_of() {
        let mut plan = plan(Some("h100:1"), "60");
        let here = Path::new("/scratch/local");
        assert_eq!(warnings(&plan, here).unwrap(), Vec::<String>::new());
        plan.folder = "/scratch/local/run".into();
        plan.estimate = Some(Estimate {
            time: Some(Time {
                seconds: 7200.0,
                basis: Basis::Card("h100".into()),
            }),
            ..Estimate::default()
        });
        plan.command = Command::parse(&["weather", "train"]).unwrap();
        let found = warnings(&plan, here).unwrap().join("\n");
        for part in ["about 2 times", "all share"] {
            assert!(found.contains(part), "{found}");
        }
    }
}
