//! The GPUs of this machine: which there are, and taking them into use.

use fitzroy::run::{Inventory, Plan};
use fitzroy::{Error, Result};
use fitzroy_device::choice::Several;
use fitzroy_device::gpu::text::Precision;
use fitzroy_device::gpu::{Description, Driver, Gpu, Places, Trouble, free_bytes};
use std::cmp::Ordering;

/// What is said of a GPU that was asked for by its number, or is the only one.
pub const ASKED_FOR: &str = "asked for";

/// Takes GPU `number` into use, or where none was named the one that [`best`] finds; and says why it
/// is that one.
///
/// # Errors
/// It cannot be used, or none can.
pub fn open(
    places: &Places,
    number: Option<usize>,
    precision: Option<Precision>,
) -> Result<(Gpu, String)> {
    let (opened, flag) = match number {
        None => (best(places, precision), "⟨device cuda⟩".into()),
        Some(number) => (
            Gpu::open(places, number).map(|gpu| (gpu, ASKED_FOR.into())),
            format!("⟨device cuda:{number}⟩"),
        ),
    };
    opened.map_err(|trouble| Error::from(trouble).context(flag))
}

/// Takes the fastest GPU that can be used, in `precision` or the one that suits it; of equal ones that
/// with the most memory free.
///
/// # Errors
/// None can be used: why the first cannot.
pub fn best(
    places: &Places,
    precision: Option<Precision>,
) -> std::result::Result<(Gpu, String), Trouble> {
    let mut descriptions = described(places)?;
    let n = descriptions.len();
    let key = |found: &Description| {
        let inventory = Inventory::of(found, precision.unwrap_or(found.precision()));
        (inventory.seconds(1.0), found.free_bytes.unwrap_or(0))
    };
    descriptions.sort_by(|a, b| order(key(a), key(b)));
    let (mut wrong, mut first) = (Vec::new(), None);
    // A context takes time, memory, and a GPU that others have asked for: one is opened, not all.
    for description in descriptions {
        match Gpu::open(places, description.index) {
            Ok(gpu) => {
                let mut reason = ASKED_FOR.to_string();
                if n > 1 {
                    reason +=
                        &format!("; of {n} GPUs it is the first by speed, then by free memory");
                }
                if !wrong.is_empty() {
                    reason = format!("{reason}; not {}", wrong.join("; "));
                }
                return Ok((gpu, reason));
            }
            Err(trouble) => {
                wrong.push(format!("cuda:{}: {trouble}", description.index));
                first = first.or(Some(trouble));
            }
        }
    }
    Err(first.unwrap_or(Trouble::NoDevice))
}

/// Whether someone who asked for no device should hear of it: a driver is there, and yet no GPU can
/// be used. A machine without one is nothing to speak of, and who hides GPUs knows it.
pub fn is_unexpected(trouble: &Trouble) -> bool {
    !matches!(trouble, Trouble::NoDriver | Trouble::Hidden { .. })
}

/// Why `auto` went to the CPU without a look at the run.
pub fn without_gpu(trouble: &Trouble) -> String {
    match is_unexpected(trouble) {
        true => format!("auto: {trouble}; {}", trouble.remedy()),
        false => format!("auto: {trouble}"),
    }
}

/// What the driver says of every GPU that it shows, and NVML of their free memory if there are several:
/// none of them is taken for that.
///
/// # Errors
/// There is no driver, or it sees no GPU, or fails for all of them.
pub fn described(places: &Places) -> std::result::Result<Vec<Description>, Trouble> {
    let driver = Driver::open(places)?;
    let (mut found, mut first) = (Vec::new(), None);
    for index in 0..driver.n_devices() {
        match driver.describe(index) {
            Ok(description) => found.push(description),
            Err(trouble) => first = first.or(Some(trouble)),
        }
    }
    if found.len() > 1 {
        let bus_ids: Vec<&str> = found.iter().map(|d| d.bus_id.as_str()).collect();
        let free = free_bytes(places, &bus_ids);
        for (description, free) in found.iter_mut().zip(free) {
            description.free_bytes = free;
        }
    }
    match first {
        Some(trouble) if found.is_empty() => Err(trouble),
        _ => Ok(found),
    }
}

/// Takes several GPUs into use: those with these numbers, or all that can be used; and says why those.
///
/// # Errors
/// One that was asked for by its number cannot be used, or none can.
pub fn open_several(places: &Places, several: Several) -> Result<(Vec<Gpu>, String)> {
    let Some(numbers) = several.numbers() else {
        return open_all(places).map_err(|e| Error::from(e).context("⟨device cuda:all⟩"));
    };
    let open = |number: usize| {
        let opened = Gpu::open(places, number);
        opened.map_err(|e| {
            Error::from(e).context(format!("⟨device {}⟩, cuda:{number}", label(&numbers)))
        })
    };
    let gpus: Result<Vec<Gpu>> = numbers.iter().copied().map(open).collect();
    Ok((gpus?, ASKED_FOR.into()))
}

fn open_all(places: &Places) -> std::result::Result<(Vec<Gpu>, String), Trouble> {
    let (mut gpus, mut wrong, mut first) = (Vec::new(), Vec::new(), None);
    for description in described(places)? {
        match Gpu::open(places, description.index) {
            Ok(gpu) => gpus.push(gpu),
            Err(trouble) => {
                wrong.push(format!("cuda:{}: {trouble}", description.index));
                first = first.or(Some(trouble));
            }
        }
    }
    let reason = match wrong.is_empty() {
        true => ASKED_FOR.into(),
        false => format!("{ASKED_FOR}; not {}", wrong.join("; ")),
    };
    match (gpus.is_empty(), first) {
        (false, _) => Ok((gpus, reason)),
        (true, first) => Err(first.unwrap_or(Trouble::NoDevice)),
    }
}

/// `cuda:0` or `cuda:0,2`.
pub fn label(numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    format!("cuda:{}", numbers.join(","))
}

/// The label of these GPUs.
pub fn label_of(gpus: &[Gpu]) -> String {
    let numbers: Vec<usize> = gpus.iter().map(|gpu| gpu.description.index).collect();
    label(&numbers)
}

/// `NVIDIA H200`, `2 × NVIDIA H200`, or both kinds where they differ.
pub fn name_of(gpus: &[Gpu]) -> String {
    let names = gpus.iter().map(|gpu| gpu.description.name.as_str());
    counted(names)
}

fn counted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match kinds.iter_mut().find(|kind| kind.0 == name) {
            Some(kind) => kind.1 += 1,
            None => kinds.push((name, 1)),
        }
    }
    let one = |(name, n): &(&str, usize)| match n {
        1 => (*name).to_string(),
        n => format!("{n} × {name}"),
    };
    let kinds: Vec<String> = kinds.iter().map(one).collect();
    kinds.join(", ")
}

/// What these GPUs compute in together if nobody says: f64 where it is fast on all of them.
pub fn precision_of(gpus: &[Gpu]) -> Precision {
    let mut each = gpus.iter().map(|gpu| gpu.description.precision());
    let lower = each.find(|precision| *precision != Precision::F64);
    lower.unwrap_or(Precision::F64)
}

/// The order in which GPUs are taken: the one that is predicted to be fastest first, of equal ones
/// that with the most bytes free.
fn order(one: (f64, u64), other: (f64, u64)) -> Ordering {
    one.0.total_cmp(&other.0).then(other.1.cmp(&one.1))
}

/// The best GPU for which its plan speaks, which can be opened, and of which what is asked holds, if
/// any; and why it is that device. There is a plan for every GPU.
pub fn follow(
    mut plans: Vec<(Plan, Description)>,
    places: &Places,
    holds: &dyn Fn(&Gpu) -> Result<()>,
) -> (Option<Gpu>, String) {
    let key = |(plan, gpu): &(Plan, Description)| (plan.gpu_s, gpu.free_bytes.unwrap_or(0));
    plans.sort_by(|a, b| order(key(a), key(b)));
    let n = plans.len();
    let reason = plans
        .first()
        .map_or_else(String::new, |p| p.0.reason.clone());
    let which = |index: usize| match n {
        1 => String::new(),
        _ => format!("cuda:{index}: "),
    };
    let mut wrong = Vec::new();
    for (plan, description) in plans.into_iter().filter(|p| p.0.on_gpu) {
        let gpu = match Gpu::open(places, description.index) {
            Ok(gpu) => gpu,
            Err(trouble) => {
                let who = which(description.index);
                wrong.push(format!("{who}{trouble}; {}", trouble.remedy()));
                continue;
            }
        };
        match holds(&gpu) {
            Ok(()) => {
                let mut reason = plan.reason;
                if n > 1 {
                    let better = "first by predicted time, then by free memory";
                    reason = format!("{reason}. Of {n} GPUs it is the {better}");
                }
                if !wrong.is_empty() {
                    reason = format!("{reason}; not {}", wrong.join("; "));
                }
                return (Some(gpu), reason);
            }
            Err(error) => wrong.push(format!("{}{error}", which(gpu.description.index))),
        }
    }
    match wrong.is_empty() {
        true => (None, reason),
        false => (None, format!("{reason}; but {}", wrong.join("; "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_gpu_comes_first_and_of_equal_ones_the_emptiest() {
        let mut gpus = [(2.0, 80, 0), (1.0, 20, 1), (1.0, 40, 2), (3.0, 90, 3)];
        gpus.sort_by(|a, b| order((a.0, a.1), (b.0, b.1)));
        assert_eq!(gpus.map(|g| g.2), [2, 1, 0, 3]);
    }

    #[test]
    fn gpus_are_named_by_number_and_by_kind() {
        assert_eq!(label(&[2]), "cuda:2");
        assert_eq!(label(&[0, 2]), "cuda:0,2");
        assert_eq!(counted(["A"].into_iter()), "A");
        assert_eq!(counted(["A", "B", "A"].into_iter()), "2 × A, B");
    }
}
