//! Main memory: how much there is and how much is free, container limits included.

use std::fs;

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
        let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        // A container of control groups version 2, then version 1; "max" does not parse.
        let limit = number("/sys/fs/cgroup/memory.max")
            .zip(number("/sys/fs/cgroup/memory.current"))
            .or_else(|| {
                number("/sys/fs/cgroup/memory/memory.limit_in_bytes")
                    .zip(number("/sys/fs/cgroup/memory/memory.usage_in_bytes"))
            });
        Some(match limit {
            Some((limit, used)) => machine.within(limit, used),
            None => machine,
        })
    }

    /// The smaller of the machine's memory and a limit of which `used` bytes are taken.
    fn within(self, limit: u64, used: u64) -> Self {
        Memory {
            total_bytes: self.total_bytes.min(limit),
            free_bytes: self.free_bytes.min(limit.saturating_sub(used)),
        }
    }
}

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
        let held = vec![1u8; 64 << 20];
        assert!(peak_bytes().unwrap() >= before.max(held.len() as u64));
    }

    #[test]
    fn sizes_are_read_in_kibibytes() {
        let text = "MemTotal:       2048 kB\nMemFree: 1 kB\nMemAvailable:   1024 kB\n";
        let memory = parse_meminfo(text).unwrap();
        assert_eq!((memory.total_bytes, memory.free_bytes), (2 << 20, 1 << 20));
        assert_eq!(parse_meminfo("MemTotal: lots\n"), None);
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
