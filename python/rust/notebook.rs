//! Python as the face of a session: what is told is kept until Python asks for it.

use crate::errors::spelled;
use fitzroy::Spelling;
use fitzroy_session::face::{Face, Note};
use fitzroy_session::progress::{Display, Snapshot};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Transitions and divergences of each chain, and the transitions of a chain in all.
pub(crate) type Counts = (Vec<usize>, Vec<usize>, usize);

/// A session's notes, and how its chains stand.
pub(crate) struct Notebook {
    /// Whether somebody looks at the chains.
    looks: bool,
    notes: Mutex<Vec<(&'static str, String)>>,
    snapshot: Arc<Mutex<Option<Snapshot>>>,
}

impl Notebook {
    pub(crate) fn new(looks: bool) -> Self {
        Notebook {
            looks,
            notes: Mutex::default(),
            snapshot: Arc::default(),
        }
    }

    /// The notes so far: `remark`, `notice` or `failure`, and the text.
    pub(crate) fn notes(&self) -> Vec<(&'static str, String)> {
        locked(&self.notes).clone()
    }

    /// How the chains stand, if they have begun.
    pub(crate) fn counts(&self) -> Option<Counts> {
        let snapshot = locked(&self.snapshot);
        let snapshot = snapshot.as_ref()?;
        let done = snapshot.chains.iter().map(|c| c.done).collect();
        let divergences = snapshot.chains.iter().map(|c| c.divergences).collect();
        Some((done, divergences, snapshot.total_per_chain()))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Face for Notebook {
    fn spelling(&self) -> Spelling {
        Spelling::Arguments
    }

    fn tell(&self, note: Note<'_>) {
        let (kind, text) = match note {
            Note::Remark(text) => ("remark", text),
            Note::Notice(text) => ("notice", text),
            Note::Failure(text) => ("failure", text),
        };
        locked(&self.notes).push((kind, spelled(text)));
    }

    fn display(&self, first: &Snapshot) -> Option<Box<dyn Display>> {
        *locked(&self.snapshot) = Some(first.clone());
        self.looks
            .then(|| Box::new(Latest(Arc::clone(&self.snapshot))) as Box<dyn Display>)
    }
}

/// Keeps the last snapshot.
struct Latest(Arc<Mutex<Option<Snapshot>>>);

impl Display for Latest {
    fn show(&mut self, snapshot: &Snapshot, _: f64) {
        *locked(&self.0) = Some(snapshot.clone());
    }

    fn end(&mut self, snapshot: &Snapshot, elapsed_s: f64) {
        self.show(snapshot, elapsed_s);
    }
}
