//! Main memory: how much there is and how much is free, limits of containers and jobs included.

use std::fs;
use std::path::Path;

/// Sizes of main memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// All of it, or the limit of the container, in bytes.
    pub total_bytes: u64,
    /// What can be had without swapping, in bytes.
    pub free_bytes: u64,
}

impl Memory {
    /// The memory of this machine; `None` where the system has no `/proc/meminfo`.
    pub fn probe() -> Option<Self> {
        let machine = parse_meminfo(&fs::read_to_string("/proc/meminfo").ok()?)?;
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let limits = limits(Path::new("/sys/fs/cgroup"), &own).into_iter();
        Some(limits.fold(machine, |memory, (limit, used)| memory.within(limit, used)))
    }

    /// The smaller of the machine's memory and a limit of which `used` bytes are taken.
    fn within(self, limit: u64, used: u64) -> Self {
        Memory {
            total_bytes: self.total_bytes.min(limit),
            free_bytes: self.free_bytes.min(limit.saturating_sub(used)),
        }
    }
}

/// Limits of memory, and how much of each is taken, of the control groups that a process is in: its
/// own, and all above it. A job of Slurm or systemd stands some folders below `root`; in a container
/// `root` is its own. What the system only keeps of files, it gives up on demand.
fn limits(root: &Path, own: &str) -> Vec<(u64, u64)> {
    // `4:memory:/slurm/job_7` in version 1, `0::/system.slice/job_7` in version 2.
    let group = |line: &str| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let first = controllers.split(',').any(|name| name == "memory");
        let path = path.trim_start_matches('/').to_string();
        match (first, controllers) {
            (true, _) => Some((root.join("memory"), path, V1)),
            (false, "") => Some((root.to_path_buf(), path, V2)),
            (false, _) => None,
        }
    };
    let mut found = Vec::new();
    for (mount, path, ([limit, used], kept)) in own.lines().filter_map(group) {
        for folder in Path::new(&path).ancestors() {
            let read = |name: &str| fs::read_to_string(mount.join(folder).join(name)).ok();
            // "max" does not parse: there is no limit.
            let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
            let stat = read("memory.stat").unwrap_or_default();
            let lines = stat.lines().filter_map(|line| line.split_once(' '));
            let files = lines.filter(|(name, _)| kept.contains(name));
            let files: u64 = files
                .filter_map(|(_, bytes)| bytes.parse::<u64>().ok())
                .sum();
            let both = number(limit).zip(number(used));
            found.extend(both.map(|(limit, used)| (limit, used.saturating_sub(files))));
        }
    }
    found
}

/// Files of a control group with its limit and what is taken; fields of `memory.stat`.
type Names = ([&'static str; 2], [&'static str; 2]);

/// The files of version 1, and the fields of `memory.stat` that count what is kept of files.
const V1: Names = (
    ["memory.limit_in_bytes", "memory.usage_in_bytes"],
    ["total_inactive_file", "total_active_file"],
);
/// Those of version 2.
const V2: Names = (
    ["memory.max", "memory.current"],
    ["inactive_file", "active_file"],
);

/// Reads `MemTotal` and `MemAvailable`, which are in KiB.
fn parse_meminfo(text: &str) -> Option<Memory> {
    let field = |name: &str| {
        let value = super::named_field(text, name)?;
        let kib: u64 = value.trim_end_matches("kB").trim().parse().ok()?;
        Some(kib * 1024)
    };
    Some(Memory {
        total_bytes: field("MemTotal")?,
        free_bytes: field("MemAvailable")?,
    })
}

/// The most memory that this process has held at once, in bytes; `None` where the system has no
/// `/proc/self/status`.
pub fn peak_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let value = super::named_field(&text, "VmHWM")?;
    let kib: u64 = value.trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_has_held_at_least_what_it_holds() {
        let before = peak_bytes().unwrap();
        // Numbers that nobody reads would not be written.
        let held = std::hint::black_box(vec![1u8; 64 << 20]);
        assert!(peak_bytes().unwrap() >= before.max(held.len() as u64));
    }

    #[test]
    fn sizes_are_read_in_kibibytes() {
        let text = "MemTotal:       2048 kB\nMemFree: 1 kB\nMemAvailable:   1024 kB\n";
        let memory = parse_meminfo(text).unwrap();
        assert_eq!((memory.total_bytes, memory.free_bytes), (2 << 20, 1 << 20));
        assert_eq!(parse_meminfo("MemTotal: lots\n"), None);
    }

    /// A job some folders below the root, and a limit of its step alone. Catches: only the root is
    /// read, so that a job of 4 GB plans with the memory of the whole machine and is killed.
    #[test]
    fn limits_of_a_job_are_found_below_the_root() {
        let root = std::env::temp_dir().join(format!("fitzroy-cgroup-{}", std::process::id()));
        let put = |folder: &str, files: &[(&str, &str)]| {
            let folder = root.join(folder);
            fs::create_dir_all(&folder).unwrap();
            let write = |(name, text): &(&str, &str)| fs::write(folder.join(name), text).unwrap();
            files.iter().for_each(write);
        };
        put(
            "slurm/job_7/step_0",
            &[("memory.max", "max\n"), ("memory.current", "100\n")],
        );
        put(
            "slurm/job_7",
            &[
                ("memory.max", "4000\n"),
                ("memory.current", "1000\n"),
                (
                    "memory.stat",
                    "anon 300\ninactive_file 600\nactive_file 100\n",
                ),
            ],
        );
        put(
            "memory/uid_1/job_8",
            &[
                ("memory.limit_in_bytes", "500\n"),
                ("memory.usage_in_bytes", "50\n"),
                ("memory.stat", "inactive_file 1\ntotal_inactive_file 20\n"),
            ],
        );
        assert_eq!(limits(&root, "0::/slurm/job_7/step_0\n"), [(4000, 300)]);
        let first = "9:cpu,cpuacct:/x\n4:memory:/uid_1/job_8\n0::/\n";
        assert_eq!(limits(&root, first), [(500, 30)]);
        // A container that sees its own part of the tree alone.
        assert_eq!(
            limits(&root.join("slurm/job_7"), "0::/docker/abc\n"),
            [(4000, 300)]
        );
        assert_eq!(limits(&root, "nonsense"), []);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn a_container_limit_below_the_machine_counts() {
        let machine = Memory {
            total_bytes: 1000,
            free_bytes: 800,
        };
        let inside = machine.within(500, 100);
        assert_eq!((inside.total_bytes, inside.free_bytes), (500, 400));
        let wide = machine.within(u64::MAX, 100);
        assert_eq!(wide, machine);
    }
}
