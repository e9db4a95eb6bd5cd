//! Where a fit is computed.

use super::CurveFitArgs;
use crate::terminal;
use fitzroy::Result;
use fitzroy_curve_fit::Options;
use fitzroy_curve_fit::fit::Plan;
use fitzroy_curve_fit::pass::{OnMachine, Shared, Table, place, work};
use fitzroy_device::choice::Choice;
use fitzroy_device::gpu::text::Precision;
use fitzroy_device::gpu::{Description, Gpu, Places};
use fitzroy_device::probe;
use fitzroy_session::clock::Clock;
use fitzroy_session::device::{self, ASKED_FOR, follow, inventory};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// What a fit is computed on.
pub(super) struct On {
    pub(super) threads: usize,
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

impl On {
    /// What the flags ask for. `auto` may still go to a GPU in [`On::settle`].
    pub(super) fn choose(args: &CurveFitArgs) -> Result<On> {
        args.common.check_precision()?;
        let quiet = args.common.quiet || args.common.json;
        let mut on = On {
            threads: args.common.threads()?.threads,
            kind: "cpu".into(),
            name: probe::model(),
            reason: ASKED_FOR.into(),
            is_news: false,
            gpu: None,
            candidates: None,
        };
        let places = args.common.places();
        match args.common.device()? {
            Choice::Cpu => {}
            Choice::Gpu(number) => {
                let (gpu, reason) = device::open(&places, number, None)?;
                on.is_news = reason != ASKED_FOR && !quiet;
                on.reason = reason;
                on.take(gpu);
            }
            Choice::Auto => match device::described(&places) {
                Ok(descriptions) => {
                    on.is_news = !quiet;
                    on.candidates = Some((places, descriptions));
                }
                Err(trouble) => {
                    let heard = args.common.verbose > 0 || device::is_unexpected(&trouble);
                    on.is_news = heard && !quiet;
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
    pub(super) fn settle(
        &mut self,
        plan: &Plan,
        table: &dyn Table,
        options: &Options,
        clock: &Clock,
    ) -> Result<()> {
        if let Some((places, descriptions)) = self.candidates.take() {
            let work = work(plan, table, options, &|| clock.seconds())?;
            let placed = |gpu: Description| (place(&work, &inventory(&gpu, Precision::F64)), gpu);
            let plans = descriptions.into_iter().map(placed).collect();
            // Columns that do not fit are sent through in pieces.
            let (gpu, reason) = follow(plans, &places, &|_| Ok(()));
            self.reason = reason;
            if let Some(gpu) = gpu {
                self.take(gpu);
            }
        }
        if self.is_news {
            terminal::note(format_args!("device: {} ({})", self.kind, self.reason));
        }
        Ok(())
    }

    /// The GPU, if it is one.
    pub(super) fn machine(&self) -> Option<&Shared> {
        self.gpu.as_ref().map(|(shared, _)| shared)
    }

    /// `table` with its passes on the GPU; none where there is no GPU.
    pub(super) fn table<'t>(&self, table: &'t dyn Table) -> Option<OnMachine<'t>> {
        let (shared, budget) = self.gpu.as_ref()?;
        Some(OnMachine::new(table, Arc::clone(shared), *budget))
    }

    /// `cpu, 2 threads` or `cuda:0`.
    pub(super) fn text(&self) -> String {
        match (&self.gpu, self.threads) {
            (Some(_), _) => self.kind.clone(),
            (None, 1) => "cpu, 1 thread".into(),
            (None, n) => format!("cpu, {n} threads"),
        }
    }

    /// Its name and how it is used, for a report.
    pub(super) fn described(&self) -> String {
        format!("{} ({})", self.name, self.text())
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "kind": self.kind, "name": self.name, "threads": self.threads, "reason": self.reason,
        })
    }
}
