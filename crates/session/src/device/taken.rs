//! GPUs that a run has taken: which chains each gets, what that takes of its memory, and what became of it.

use fitzroy::fit::sample::kernel::shares;
use fitzroy::model::joint::Joint;
use fitzroy::run::{Device, KernelMemory, Settings, Team};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::choice::MemoryCap;
use fitzroy_device::gpu::Gpu;
use fitzroy_device::gpu::text::Precision;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The memory of a GPU, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// What was free.
    pub free: u64,
    /// What may be taken at most, if somebody said so.
    pub cap: Option<u64>,
}

impl Room {
    /// Of a GPU that has `total` bytes.
    pub fn new(free: u64, total: u64, cap: Option<MemoryCap>) -> Room {
        Room {
            free,
            cap: cap.map(|cap| cap.bytes(total)),
        }
    }

    /// What a run may take: `tenths` tenths of what is free, and no more than the cap.
    pub fn budget(self, tenths: u64) -> u64 {
        (self.free / 10 * tenths).min(self.cap.unwrap_or(u64::MAX))
    }

    /// What may be taken, in words.
    fn words(self) -> String {
        let free = mib(self.free);
        match self.cap.filter(|cap| *cap < self.free / 10 * USABLE) {
            None => format!("9/10 of the {free} MiB that are free may be used"),
            Some(cap) => format!(
                "⟨device_memory⟩ allows {} of the {free} MiB that are free",
                cap >> 20
            ),
        }
    }
}

/// Tenths of the free memory that a run may take.
const USABLE: u64 = 9;

/// A GPU that a run has taken.
pub(super) struct Taken {
    /// `cuda:N`.
    label: String,
    name: String,
    device: Device,
    /// Its memory.
    room: Room,
    /// What the run is expected to take; 0 until that is known.
    expected: u64,
    /// Its chains, once they are known.
    chains: usize,
    /// The most bytes that it had taken.
    used: Arc<AtomicU64>,
    /// Nanoseconds that its kernels ran.
    busy: Arc<AtomicU64>,
}

impl Taken {
    /// `gpu`, for kernels in `precision`.
    pub(super) fn new(gpu: Gpu, precision: Precision, cap: Option<MemoryCap>) -> Taken {
        let description = &gpu.description;
        let total = description.memory_bytes;
        let room = Room::new(description.free_bytes.unwrap_or(total), total, cap);
        Taken {
            label: format!("cuda:{}", description.index),
            name: description.name.clone(),
            room,
            expected: 0,
            chains: 0,
            used: gpu.used(),
            busy: gpu.busy(),
            device: Device::gpu(gpu, precision)
                .with_memory_bytes(room.free.min(room.cap.unwrap_or(u64::MAX))),
        }
    }

    /// What makes its transitions.
    pub(super) fn device(&self) -> Device {
        self.device.clone()
    }

    fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    fn busy_s(&self) -> f64 {
        1e-9 * self.busy.load(Relaxed) as f64
    }

    fn transitions(&self) -> u64 {
        self.device
            .records()
            .map(|record| record.transitions())
            .sum()
    }

    fn failed(&self) -> Option<String> {
        let mut records = self.device.records();
        records.find_map(|record| record.failed().map(Error::to_string))
    }

    /// What it was to do and has done, for programs.
    pub(super) fn document(&self) -> Value {
        json!({
            "label": self.label,
            "name": self.name,
            "chains": self.chains,
            "transitions": self.transitions(),
            "busy_s": self.busy_s(),
            "free_bytes": self.room.free,
            "cap_bytes": self.room.cap,
            "expected_bytes": self.expected,
            "used_bytes": self.used(),
            "failed": self.failed(),
        })
    }
}

/// What was expected of the memory of all of them, and what became of it, for programs.
pub(super) fn memory_document(gpus: &[Taken]) -> Value {
    let sum = |bytes: &dyn Fn(&Taken) -> u64| gpus.iter().map(bytes).sum::<u64>();
    json!({
        "free_bytes": sum(&|gpu| gpu.room.free),
        "cap_bytes": gpus.iter().map(|gpu| gpu.room.cap).sum::<Option<u64>>(),
        "expected_bytes": sum(&|gpu| gpu.expected),
        "used_bytes": sum(&Taken::used),
    })
}

/// One phrase for each, as in `2 on cuda:0, 1 on cuda:1`.
fn each(gpus: &[Taken], say: impl Fn(&Taken) -> String) -> String {
    let each = gpus
        .iter()
        .map(|gpu| format!("{} on {}", say(gpu), gpu.label));
    let each: Vec<String> = each.collect();
    each.join(", ")
}

/// `chains: 2 on cuda:0, 1 on cuda:1, none on cuda:2`.
pub(super) fn shares_text(gpus: &[Taken]) -> String {
    let say = |gpu: &Taken| match gpu.chains {
        0 => "none".to_string(),
        n => n.to_string(),
    };
    format!("chains: {}", each(gpus, say))
}

/// `memory: about 80 MiB of the 143000 MiB that are free on cuda:0`, or `memory: about 80 of 143000 MiB on
/// cuda:0, 40 of 81000 MiB on cuda:1`.
pub(super) fn memory_text(gpus: &[Taken]) -> String {
    let sizes = |gpu: &Taken| (mib(gpu.expected), mib(gpu.room.free));
    match gpus {
        [only] => {
            let (expected, free) = sizes(only);
            let label = &only.label;
            format!("memory: about {expected} MiB of the {free} MiB that are free on {label}")
        }
        several => {
            let say = |gpu: &Taken| {
                let (expected, free) = sizes(gpu);
                format!("{expected} of {free} MiB")
            };
            format!("memory: about {}", each(several, say))
        }
    }
}

/// `memory: 76 MiB were taken on cuda:0`.
pub(super) fn used_text(gpus: &[Taken]) -> String {
    let say = |gpu: &Taken| format!("{} MiB", mib(gpu.used()));
    match gpus {
        [only] => format!("memory: {} were taken on {}", say(only), only.label),
        several => format!("memory: {} were taken", each(several, say)),
    }
}

/// `transitions: 6000 in 1.2 s on cuda:0, 3000 in 1.3 s on cuda:1, which failed`.
pub(super) fn made_text(gpus: &[Taken]) -> String {
    let say = |gpu: &Taken| {
        let failed = match gpu.failed() {
            Some(_) => ", which failed",
            None => "",
        };
        let (made, seconds) = (gpu.transitions(), gpu.busy_s());
        format!("{made} in {seconds:.1} s on {}{failed}", gpu.label)
    };
    let each: Vec<String> = gpus.iter().map(say).collect();
    format!("transitions: {}", each.join(", "))
}

/// Whole MiB, rounded up.
fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

/// Shares the chains of a run among `gpus`, by their speeds and as far as their memory goes.
///
/// # Errors
/// They have not the memory for all chains: how many fit, and what a lower precision would change.
pub(super) fn share(
    gpus: &mut [Taken],
    team: Team,
    joint: &Joint,
    settings: &Settings,
) -> Result<()> {
    let chains = settings.sampler.chains;
    if let [only] = gpus {
        let there = Settings {
            device: only.device().with_team(team),
            ..settings.clone()
        };
        only.expected = fitting(&only.label, only.room, joint, &there)?;
        only.chains = chains;
        return Ok(());
    }
    let memory = KernelMemory::new(joint, settings)?;
    let on = |gpu: &Taken| memory.on(gpu.device().with_team(team));
    let most: Vec<usize> = gpus
        .iter()
        .map(|gpu| on(gpu).chains_within(gpu.room.budget(USABLE), chains))
        .collect();
    let speeds = gpus.iter().flat_map(|gpu| gpu.device.speeds());
    let machines: Vec<(f64, usize)> = speeds.zip(most.iter().copied()).collect();
    let Some(shares) = shares(&machines, chains) else {
        return Err(too_many(gpus, &most, settings));
    };
    for ((gpu, n), most) in gpus.iter_mut().zip(shares).zip(most) {
        gpu.chains = n;
        gpu.expected = match n {
            0 => 0,
            n => on(gpu).bytes(n),
        };
        gpu.device = gpu.device().with_most_chains(most);
    }
    Ok(())
}

/// Several GPUs have too little memory for all chains.
fn too_many(gpus: &[Taken], most: &[usize], settings: &Settings) -> Error {
    let rooms = gpus
        .iter()
        .zip(most)
        .map(|(gpu, most)| format!("for {most} on {} ({})", gpu.label, gpu.room.words()));
    let rooms: Vec<String> = rooms.collect();
    let mut advice = Vec::new();
    let fits: usize = most.iter().sum();
    if fits > 0 {
        advice.push(format!("run fewer chains (⟨chains {fits}⟩)"));
    }
    if settings.precision != Precision::F32 {
        advice.push("try ⟨precision f32⟩, which needs about half as much".into());
    }
    advice.push("use ⟨device cpu⟩".into());
    let message = format!(
        "{} chains: there is room {}; {}",
        settings.sampler.chains,
        rooms.join(", "),
        advice.join(", or ")
    );
    Error::new(ErrorKind::Device, message)
}

/// Bytes that a run takes of a GPU with this memory.
///
/// # Errors
/// More than it may: how many chains fit, and what a lower precision would take.
pub(super) fn fitting(label: &str, room: Room, joint: &Joint, settings: &Settings) -> Result<u64> {
    let budget = room.budget(USABLE);
    let chains = settings.sampler.chains;
    let memory = KernelMemory::new(joint, settings)?;
    let wanted = memory.bytes(chains);
    if wanted <= budget {
        return Ok(wanted);
    }
    let mut advice = Vec::new();
    let fits = memory.chains_within(budget, chains);
    if fits > 0 {
        advice.push(format!(
            "run fewer chains (⟨chains {fits}⟩ needs {} MiB)",
            mib(memory.bytes(fits))
        ));
    }
    if settings.precision != Precision::F32 {
        let lower = Settings {
            precision: Precision::F32,
            ..settings.clone()
        };
        let bytes = KernelMemory::new(joint, &lower)?.bytes(chains);
        let enough = match bytes <= budget {
            true => "which fits",
            false => "still too much",
        };
        advice.push(format!(
            "try ⟨precision f32⟩ ({} MiB, {enough})",
            mib(bytes)
        ));
    }
    advice.push("use ⟨device cpu⟩".into());
    let message = format!(
        "{label}: {chains} chains need {} MiB, and {}; {}",
        mib(wanted),
        room.words(),
        advice.join(", or ")
    );
    Err(Error::new(ErrorKind::Device, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_bounds_what_may_be_taken_and_is_said_where_it_does() {
        let of = |cap: Option<MemoryCap>| Room::new(1000 << 20, 2000 << 20, cap);
        assert_eq!(of(None).budget(USABLE), (1000 << 20) / 10 * 9);
        assert_eq!(of(Some(MemoryCap::Share(0.25))).budget(USABLE), 500 << 20);
        assert_eq!(of(Some(MemoryCap::Bytes(7))).budget(USABLE), 7);
        // More than is free cannot be had.
        let wide = of(Some(MemoryCap::Share(1.0)));
        assert_eq!(wide.budget(USABLE), of(None).budget(USABLE));
        assert_eq!(wide.words(), of(None).words());
        let said = of(Some(MemoryCap::Share(0.25))).words();
        assert_eq!(
            said,
            "⟨device_memory⟩ allows 500 of the 1000 MiB that are free"
        );
    }
}
