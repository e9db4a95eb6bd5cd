//! The device that a fit is computed on.

use crate::clock::Clock;
use crate::device::{self, ASKED_FOR, Request, Room, follow, label_of, name_of};
use crate::face::{Face, Note};
use fitzroy::run::Inventory;
use fitzroy::{Error, Result};
use fitzroy_curve_fit::Options;
use fitzroy_curve_fit::fit::Plan;
use fitzroy_curve_fit::pass::{OnMachine, Seat, Table, place, work};
use fitzroy_device::choice::{Choice, MemoryCap};
use fitzroy_device::gpu::text::Precision;
use fitzroy_device::gpu::{Description, Gpu, Places};
use fitzroy_device::probe;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Tenths of the free memory that columns may take.
const COLUMNS: u64 = 7;

/// What a fit is computed on.
pub struct FitDevice {
    /// Threads of this processor.
    pub threads: usize,
    kind: String,
    name: String,
    /// Why this one.
    reason: String,
    /// Whether the reason is worth a line: not where there is only a CPU, or it was asked for.
    is_news: bool,
    /// The GPUs; none on this processor.
    gpus: Vec<Seat>,
    /// Their numbers.
    numbers: Vec<usize>,
    /// The most of their memory to plan with.
    cap: Option<MemoryCap>,
    /// GPUs that the fit may go to, once it is known what the fit costs.
    candidates: Option<(Places, Vec<Description>)>,
}

/// Refuses a precision that fits do not have.
///
/// # Errors
/// A lower one than f64 is asked for.
pub fn check_precision(precision: Option<Precision>) -> Result<()> {
    device::require_f64(
        precision,
        "curves are fitted in f64, on a GPU as on the CPU",
    )
}

impl FitDevice {
    /// What is asked for. `auto` may still go to a GPU in [`FitDevice::settle`].
    ///
    /// # Errors
    /// A GPU is asked for and cannot be used; a precision is asked for that fits do not have.
    pub fn choose(request: &Request, threads: usize) -> Result<FitDevice> {
        check_precision(request.precision)?;
        let mut on = FitDevice {
            threads,
            kind: "cpu".into(),
            name: probe::model(),
            reason: ASKED_FOR.into(),
            is_news: false,
            gpus: Vec::new(),
            numbers: Vec::new(),
            cap: request.memory,
            candidates: None,
        };
        match request.choice {
            Choice::Cpu => {}
            Choice::Gpu(number) => {
                let (gpu, reason) = device::open(&request.places, number, None)?;
                on.is_news = reason != ASKED_FOR;
                on.reason = reason;
                on.take(vec![gpu]);
            }
            Choice::Gpus(several) => {
                let (gpus, reason) = device::open_several(&request.places, several)?;
                (on.is_news, on.reason) = (true, reason);
                on.take(gpus);
            }
            Choice::Auto => match device::described(&request.places) {
                Ok(descriptions) => {
                    on.is_news = true;
                    on.candidates = Some((request.places.clone(), descriptions));
                }
                Err(trouble) => {
                    on.is_news = request.verbose || device::is_unexpected(&trouble);
                    on.reason = device::without_gpu(&trouble);
                }
            },
        }
        Ok(on)
    }

    fn take(&mut self, gpus: Vec<Gpu>) {
        self.kind = label_of(&gpus);
        self.name = name_of(&gpus);
        self.numbers = gpus.iter().map(|gpu| gpu.description.index).collect();
        let seat = |gpu: Gpu| {
            let inventory = Inventory::of(&gpu.description, Precision::F64);
            let free = gpu.description.free_bytes.unwrap_or(1 << 30);
            let room = Room::new(free, gpu.description.memory_bytes, self.cap);
            let speed = inventory.seconds(1.0).recip();
            let machine = Arc::new(Mutex::new(gpu));
            Seat::new(inventory.label, machine, room.budget(COLUMNS), speed)
        };
        self.gpus = gpus.into_iter().map(seat).collect();
    }

    /// Decides where there is a choice, now that the work is known, and says why.
    ///
    /// # Errors
    /// The data cannot be read.
    pub fn settle(
        &mut self,
        plan: &Plan,
        table: &dyn Table,
        options: &Options,
        clock: &Clock,
        face: &dyn Face,
    ) -> Result<()> {
        if let Some((places, descriptions)) = self.candidates.take() {
            let work = work(plan, table, options, &|| clock.seconds())?;
            let placed =
                |gpu: Description| (place(&work, &Inventory::of(&gpu, Precision::F64)), gpu);
            let plans = descriptions.into_iter().map(placed).collect();
            // Columns that do not fit are sent through in pieces.
            let (gpu, reason) = follow(plans, &places, &|_| Ok(()));
            self.reason = reason;
            if let Some(gpu) = gpu {
                self.take(vec![gpu]);
            }
        }
        if self.is_news {
            let message = format!("device: {} ({})", self.kind, self.reason);
            face.tell(Note::Remark(&message));
        }
        Ok(())
    }

    /// The GPUs; none on this processor.
    pub fn machines(&self) -> &[Seat] {
        &self.gpus
    }

    /// Their numbers.
    pub fn numbers(&self) -> &[usize] {
        &self.numbers
    }

    /// Stays on this processor, for `why`, and tells of it where a GPU had been asked for.
    pub fn decline(&mut self, why: &str, face: &dyn Face) {
        self.candidates = None;
        if !self.gpus.is_empty() {
            self.is_news = false;
            face.tell(Note::Notice(&format!("⟨device {}⟩: {why}", self.kind)));
        }
        (self.gpus, self.numbers) = (Vec::new(), Vec::new());
        (self.kind, self.name, self.reason) = ("cpu".into(), probe::model(), why.into());
    }

    /// `table` with its passes on the GPUs; none where there is no GPU.
    pub fn table<'t>(&self, table: &'t dyn Table) -> Option<OnMachine<'t>> {
        (!self.gpus.is_empty()).then(|| OnMachine::several(table, &self.gpus))
    }

    /// Says which GPUs have failed, of several.
    pub fn tell_failed(&self, face: &dyn Face) {
        for (label, why) in self.failed() {
            face.tell(Note::Notice(&format!(
                "warning: {label} has failed, and other GPUs did its work: {why}"
            )));
        }
    }

    fn failed(&self) -> impl Iterator<Item = (&str, &Error)> {
        let seats = self.gpus.iter();
        seats.filter_map(|seat| Some((seat.label.as_str(), seat.failed()?)))
    }

    /// `cpu`, `cuda:0` or `cuda:0,1`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Why this one.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// `cpu, 2 threads` or `cuda:0`.
    pub fn text(&self) -> String {
        match (self.gpus.is_empty(), self.threads) {
            (false, _) => self.kind.clone(),
            (true, 1) => "cpu, 1 thread".into(),
            (true, n) => format!("cpu, {n} threads"),
        }
    }

    /// Its name and how it is used, for a report.
    pub fn described(&self) -> String {
        format!("{} ({})", self.name, self.text())
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        json!({
            "kind": self.kind, "name": self.name, "threads": self.threads, "reason": self.reason,
            "failed": self.failed().map(|(label, why)| json!({"label": label, "why": why.to_string()}))
                .collect::<Vec<_>>(),
        })
    }
}
