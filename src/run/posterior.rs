//! A model as something to sample from: its coordinates, and when they change.

mod guard;

pub(super) use guard::{agrees, undone};

use super::compiled::{Change, Compilation, Compiled, Evaluator, Terms, Written};
use super::coordinates;
use super::device::Device;
use super::mirrors::mirrors;
use super::plates::plates;
use super::records::Shown;
use super::saved;
use super::scatter::scatter;
use crate::diagnose::Finding;
use crate::fit::sample::kernel::{Agreement, Disagreement, Lower, Remote};
use crate::fit::sample::{CoordinateMap, Mirrors, Plates, Posterior, Scatter};
use crate::model::ast::Centring;
use crate::model::joint::{Chosen, Coordinates, Joint};
use crate::rng::{Purpose, Rng};
use crate::{Error, Named, Result};
use fitzroy_device::gpu::text::Precision;
use guard::{GUARD_POINTS, raised};
use std::sync::{Arc, Mutex, PoisonError};

/// How the coordinates of hierarchical parameters are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoordinateChoice {
    /// From the draws of the warm-up, element by element.
    #[default]
    Auto,
    /// As the model writes them: `x ~ Normal(m, s)` is sampled as x itself.
    AsWritten,
}

impl Named for CoordinateChoice {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", CoordinateChoice::Auto),
        ("as-written", CoordinateChoice::AsWritten),
    ];
}

/// A bound model in its present coordinates.
pub(super) struct ModelPosterior<'a> {
    joint: &'a Joint,
    terms: Terms,
    compilation: Compilation,
    /// What each plate may do.
    asked: Vec<Centring>,
    compiled: Arc<Compiled>,
    /// The density as written, to compare with.
    written: Option<Written>,
    /// Set when rewritten and written density disagreed.
    undone: Option<Finding>,
    /// Set when they did and nothing can be taken back, since coordinates are integrated out.
    refused: bool,
    /// Whether the density has been compared at draws of the warm-up.
    compared: bool,
    /// Where transitions are made.
    device: Device,
    /// What they are computed in there, as long as that agrees with f64.
    precision: Precision,
    agreement: Agreement,
    /// The density in force as the chains see it, for others to look at while they run.
    shown: Shown,
    /// The mirrors of coordinates that were in force when they were last asked for.
    mirrors: Option<(Arc<Compiled>, Mirrors)>,
}

impl<'a> ModelPosterior<'a> {
    /// Compiles `joint` in its starting coordinates: non-centred wherever they are free.
    pub(super) fn new(
        joint: &'a Joint,
        choice: CoordinateChoice,
        terms: Terms,
        compilation: impl Into<Compilation>,
    ) -> Result<Self> {
        let compilation = compilation.into();
        let asked = joint
            .plates()
            .iter()
            .map(|plate| match (plate.asked, choice) {
                _ if joint.is_integrated(plate.parameter) => Centring::NonCentred,
                (Centring::Auto, CoordinateChoice::AsWritten) => Centring::Centred,
                (asked, _) => asked,
            });
        let asked: Vec<Centring> = asked.collect();
        let start = asked
            .iter()
            .map(|asked| match asked {
                Centring::Centred => Coordinates::Centred,
                Centring::Auto | Centring::NonCentred => Coordinates::NonCentred,
            })
            .collect::<Vec<_>>();
        let start = Chosen::from(&start[..]);
        let as_written = joint.plates().iter().map(|plate| match plate.standardised {
            true => Coordinates::NonCentred,
            false => Coordinates::Centred,
        });
        let as_written: Vec<Coordinates> = as_written.collect();
        let (written, compiled) = std::thread::scope(|scope| {
            let write = || Written::new(joint, &as_written, terms);
            // Where it is known to be needed.
            let sure = start.plates != as_written || joint.is_rewritten();
            let other = (compilation.aside && sure).then(|| scope.spawn(write));
            let compiled = Compiled::new(joint, &start, terms, compilation)?;
            let same = start.plates == as_written && compiled.graphs.done.is_empty();
            let written = match other {
                Some(thread) => Some(thread.join().expect("compiling does not panic")?),
                None if same => None,
                None => Some(write()?),
            };
            Ok::<_, Error>((written.filter(|_| !same), compiled))
        })?;
        let shown = Arc::new(Mutex::new(Arc::clone(&compiled)));
        let mut posterior = ModelPosterior {
            joint,
            terms,
            compilation,
            asked,
            compiled,
            written,
            undone: None,
            refused: false,
            compared: false,
            device: Device::threads(),
            precision: Precision::F64,
            agreement: Agreement::default(),
            shown,
            mirrors: None,
        };
        posterior.check_start();
        Ok(posterior)
    }

    fn compile(&self, chosen: &Chosen) -> Result<Arc<Compiled>> {
        Compiled::new(self.joint, chosen, self.terms, self.compilation)
    }

    /// True when rewritten and written density disagreed and the run has to start again as written.
    pub(super) fn is_refused(&self) -> bool {
        self.refused
    }

    /// Compares rewritten and written density at draws, rows of all coordinates.
    pub(super) fn check_draws(&mut self, draws: &[f64]) {
        if let Some(written) = &self.written
            && !agrees(&self.compiled, written, &self.compiled, draws)
        {
            self.refused = true;
        }
    }

    /// Some of the `positions`, with standard normal numbers for what is integrated out.
    fn extended(&self, positions: &[f64]) -> Vec<f64> {
        let (dim, full) = (self.compiled.dim, self.compiled.full);
        let step = (positions.len() / dim).div_ceil(GUARD_POINTS).max(1);
        let mut out = Vec::new();
        for (i, position) in positions.chunks_exact(dim).step_by(step).enumerate() {
            let mut rng = Rng::new(0, 1, 0, i as u32, Purpose::Adapt);
            out.extend_from_slice(position);
            out.extend((dim..full).map(|_| rng.normal()));
        }
        out
    }

    /// Has the transitions made on `device`, there in `precision`.
    pub(super) fn on(&mut self, device: &Device, precision: Precision) -> Result<()> {
        self.device = device.clone();
        if device.is_machine() {
            self.precision = precision;
            self.compiled.source(Precision::F64)?;
            self.compiled.source(precision)?;
        }
        Ok(())
    }

    /// The precision that the transitions are made in, and what is to be said of it.
    pub(super) fn precision(&self) -> (Precision, Option<Finding>) {
        match self.agreement.refused() {
            Some(found) => (Precision::F64, Some(raised(self.precision, found))),
            None => (self.precision, None),
        }
    }

    /// The density in the present coordinates.
    pub(super) fn compiled(&self) -> &Arc<Compiled> {
        &self.compiled
    }

    /// The density that chains evaluate, kept up to date while they run.
    pub(super) fn shown(&self) -> Shown {
        Arc::clone(&self.shown)
    }

    /// What went wrong with the choice of coordinates.
    pub(super) fn finding(&self) -> Option<&Finding> {
        self.undone.as_ref()
    }

    /// Compares the starting coordinates with the model as written; falls back to the latter.
    fn check_start(&mut self) {
        let Some(written) = &self.written else {
            return;
        };
        let dim = self.compiled.dim;
        if dim == 0 {
            // The settings are checked next, and say that there is nothing to sample.
            return;
        }
        let scatter = self.scatter();
        let point = |i| {
            let mut rng = Rng::new(0, 0, 0, i, Purpose::Adapt);
            let place = |s: &Scatter| s.centre + s.half_width * (2.0 * rng.uniform() - 1.0);
            scatter.iter().map(place).collect::<Vec<_>>()
        };
        let points: Vec<f64> = (0..8).flat_map(point).collect();
        let points = self.extended(&points);
        if !agrees(&self.compiled, written, &self.compiled, &points) {
            self.take_back();
        }
    }

    /// Goes back to the density as written, or asks for a run that does.
    fn take_back(&mut self) {
        if self.compiled.full > self.compiled.dim {
            self.refused = true;
        } else if let Some(written) = &self.written {
            let coordinates = &written.chosen.plates;
            let compiled = Compiled::plain(self.joint, coordinates, self.terms);
            self.compiled = compiled.expect("its value compiled, so the rest does");
            self.give_up();
        }
    }

    /// No more changes of coordinates.
    fn give_up(&mut self) {
        self.asked.fill(Centring::Centred);
        self.undone = Some(undone());
    }
}

impl Posterior for ModelPosterior<'_> {
    type Target = Evaluator;

    fn remote(&self) -> Option<Remote<'_>> {
        if !self.device.is_machine() {
            return None;
        }
        let source = |precision| {
            let source = self.compiled.source(precision);
            source.expect("the first coordinates gave a text")
        };
        let lower = (self.precision != Precision::F64).then(|| Lower {
            source: source(self.precision),
            agreement: &self.agreement,
        });
        let compiled = &self.compiled;
        let exact = source(Precision::F64);
        self.device.remote(exact, lower, compiled.n_operations())
    }

    fn dim(&self) -> usize {
        self.compiled.dim
    }

    fn target(&self) -> Evaluator {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        *shown = Arc::clone(&self.compiled);
        Evaluator::new(&self.compiled)
    }

    fn scatter(&self) -> Vec<Scatter> {
        scatter(self.joint, &self.compiled)
    }

    fn gradient_cost(&self) -> f64 {
        2.0 * self.compiled.n_operations()
    }

    fn plates(&self) -> Plates {
        plates(self.joint)
    }

    fn mirrors(&mut self, position: &[f64]) -> Mirrors {
        match &self.mirrors {
            Some((of, found)) if Arc::ptr_eq(of, &self.compiled) => found.clone(),
            _ => {
                let found = mirrors(&self.compiled, position)
                    .expect("what is recorded is compiled after the run as well");
                self.mirrors = Some((Arc::clone(&self.compiled), found.clone()));
                found
            }
        }
    }

    /// What each plate is sampled in, then whether a choice had to be taken back (1) and whether a
    /// lower precision was given up (2).
    fn coordinates(&self) -> Vec<u8> {
        let mut bytes = saved::to_bytes(&self.compiled.chosen, self.compiled.scales.len());
        let raised = !self.agreement.holds();
        bytes.push(u8::from(self.undone.is_some()) | u8::from(raised) << 1);
        bytes
    }

    fn restore(&mut self, coordinates: &[u8]) -> Result<()> {
        let lengths: Vec<usize> = self.compiled.places.iter().map(|p| p.len).collect();
        let (flags, plates) = match coordinates.split_last() {
            Some((flags, plates)) => (*flags, plates),
            None => (0, coordinates),
        };
        let undone = flags & 1 != 0;
        if flags & 2 != 0 {
            // How far it was off was said by the session that gave it up.
            self.agreement.refuse(Disagreement {
                log_density: f64::NAN,
                slope: f64::NAN,
                n_points: 0,
            });
        }
        let saved = saved::from_bytes(plates, &lengths, self.compiled.scales.len())?;
        if saved != self.compiled.chosen {
            self.compiled = self.compile(&saved)?;
        }
        if undone && self.undone.is_none() {
            self.give_up();
        }
        Ok(())
    }

    fn recoordinate(
        &mut self,
        positions: &[f64],
        gradients: &[f64],
        _last: bool,
    ) -> Option<CoordinateMap> {
        if self.terms == Terms::Priors {
            return None;
        }
        if !self.compared && self.compiled.full > self.compiled.dim {
            let points = self.extended(positions);
            self.check_draws(&points);
            self.compared = true;
        }
        if self.undone.is_some() {
            return None;
        }
        let wanted = coordinates::wanted(
            self.joint,
            &self.asked,
            &self.compiled,
            (positions, gradients),
        )?;
        let old = Arc::clone(&self.compiled);
        let new = self.compile(&wanted);
        let new = new.expect("the first coordinates compiled, so others do");
        let written = self
            .written
            .as_ref()
            .expect("free plates start non-centred");
        if agrees(&old, written, &new, &self.extended(positions)) {
            self.compiled = new;
        } else {
            self.take_back();
        }
        if self.refused {
            return None;
        }
        let change = Change::new(&old, &self.compiled.chosen);
        Some(Box::new(change.map()))
    }
}
