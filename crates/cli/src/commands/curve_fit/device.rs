//! Where a fit is computed.

use super::CurveFitArgs;
use fitzroy::Result;
use fitzroy_curve_fit::pass::{OnMachine, Shared, Table};
use fitzroy_device::choice::Choice;
use fitzroy_device::probe;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// What a fit is computed on.
pub(super) struct On {
    pub(super) threads: usize,
    kind: String,
    name: String,
    /// A GPU and the bytes that columns may take there.
    gpu: Option<(Shared, u64)>,
}

impl On {
    /// What the flags ask for: a GPU only where it is named, since no fit on one has been timed.
    pub(super) fn choose(args: &CurveFitArgs) -> Result<On> {
        args.common.check_precision()?;
        let threads = args.common.threads()?.threads;
        let Choice::Gpu(number) = args.common.device()? else {
            return Ok(On {
                threads,
                kind: "cpu".into(),
                name: probe::cpu().model,
                gpu: None,
            });
        };
        let number = number.unwrap_or(0);
        let gpu = crate::device::open(&args.common.places(), number)?;
        let name = gpu.description.name.clone();
        let free = gpu.description.free_bytes.unwrap_or(1 << 30);
        Ok(On {
            threads,
            kind: format!("cuda:{number}"),
            name,
            gpu: Some((Arc::new(Mutex::new(gpu)), free / 10 * 7)),
        })
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
        json!({"kind": self.kind, "name": self.name, "threads": self.threads})
    }
}
