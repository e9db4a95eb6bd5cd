//! The device that a fit is computed on.

use crate::clock::Clock;
use crate::device::{self, ASKED_FOR, Request, follow};
use crate::face::{Face, Note};
use fitzroy::Result;
use fitzroy::run::Inventory;
use fitzroy_curve_fit::Options;
use fitzroy_curve_fit::fit::Plan;
use fitzroy_curve_fit::pass::{OnMachine, Shared, Table, place, work};
use fitzroy_device::choice::Choice;
use fitzroy_device::gpu::text::Precision;
use fitzroy_device::gpu::{Description, Gpu, Places};
use fitzroy_device::probe;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

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
    /// A GPU and the bytes that columns may take there.
    gpu: Option<(Shared, u64)>,
    /// GPUs that the fit may go to, once it is known what the fit costs.
    candidates: Option<(Places, Vec<Description>)>,
}

impl FitDevice {
    /// What is asked for. `auto` may still go to a GPU in [`FitDevice::settle`].
    ///
    /// # Errors
    /// A GPU is asked for and cannot be used; a precision is asked for that fits do not have.
    pub fn choose(request: &Request, threads: usize) -> Result<FitDevice> {
        device::require_f64(request.precision)?;
        let mut on = FitDevice {
            threads,
            kind: "cpu".into(),
            name: probe::model(),
            reason: ASKED_FOR.into(),
            is_news: false,
            gpu: None,
            candidates: None,
        };
        match request.choice.require_one("curves are fitted")? {
            Choice::Cpu | Choice::Gpus(_) => {}
            Choice::Gpu(number) => {
                let (gpu, reason) = device::open(&request.places, number, None)?;
                on.is_news = reason != ASKED_FOR;
                on.reason = reason;
                on.take(gpu);
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

    fn take(&mut self, gpu: Gpu) {
        self.kind = format!("cuda:{}", gpu.description.index);
        self.name.clone_from(&gpu.description.name);
        let free = gpu.description.free_bytes.unwrap_or(1 << 30);
        self.gpu = Some((Arc::new(Mutex::new(gpu)), free / 10 * 7));
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
                self.take(gpu);
            }
        }
        if self.is_news {
            let message = format!("device: {} ({})", self.kind, self.reason);
            face.tell(Note::Remark(&message));
        }
        Ok(())
    }

    /// The GPU, if it is one.
    pub fn machine(&self) -> Option<&Shared> {
        self.gpu.as_ref().map(|(shared, _)| shared)
    }

    /// `table` with its passes on the GPU; none where there is no GPU.
    pub fn table<'t>(&self, table: &'t dyn Table) -> Option<OnMachine<'t>> {
        let (shared, budget) = self.gpu.as_ref()?;
        Some(OnMachine::new(table, Arc::clone(shared), *budget))
    }

    /// `cpu, 2 threads` or `cuda:0`.
    pub fn text(&self) -> String {
        match (&self.gpu, self.threads) {
            (Some(_), _) => self.kind.clone(),
            (None, 1) => "cpu, 1 thread".into(),
            (None, n) => format!("cpu, {n} threads"),
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
        })
    }
}
