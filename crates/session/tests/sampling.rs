//! A model sampled through the session: in memory, in a folder, going on, and stopped.

use fitzroy::data::Dataset;
use fitzroy::draws::{Trace, Variable};
use fitzroy::model::Model;
use fitzroy::{ErrorKind, Spelling};
use fitzroy_device::choice::Choice;
use fitzroy_session::face::{Face, Note};
use fitzroy_session::progress::{Display, Snapshot};
use fitzroy_session::sample;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

const SCHOOLS: &str = "data y[schools], sigma[schools]
    mu             ~ Normal(0, 5)
    tau            ~ HalfCauchy(5)
    theta[schools] ~ Normal(mu, tau)
    y[schools]     ~ Normal(theta, sigma)";

fn schools() -> (Model, Dataset) {
    let model = Model::parse(SCHOOLS).expect("it is a model");
    let mut data = Dataset::new();
    data.insert_real("y", &[8], vec![28., 8., -3., 7., -1., 1., 18., 12.]);
    data.insert_real("sigma", &[8], vec![15., 10., 16., 11., 9., 11., 10., 18.]);
    (model, data)
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = format!("fitzroy-session-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&path).expect("writable");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("ours");
    }
}

/// Collects what it is told, and how many transitions it was shown last.
#[derive(Default)]
struct Listener {
    notes: Mutex<Vec<String>>,
    seen: Arc<AtomicUsize>,
}

struct Watch(Arc<AtomicUsize>);

impl Face for Listener {
    fn spelling(&self) -> Spelling {
        Spelling::Arguments
    }

    fn tell(&self, note: Note<'_>) {
        let (Note::Remark(text) | Note::Notice(text) | Note::Failure(text)) = note;
        let mut notes = self.notes.lock().expect("nobody panics with it");
        notes.push(self.spelling().spell(text).into_owned());
    }

    fn display(&self, _: &Snapshot) -> Option<Box<dyn Display>> {
        Some(Box::new(Watch(Arc::clone(&self.seen))))
    }
}

impl Display for Watch {
    fn show(&mut self, snapshot: &Snapshot, _: f64) {
        self.0.store(snapshot.done(), Relaxed);
    }

    fn end(&mut self, snapshot: &Snapshot, elapsed_s: f64) {
        self.show(snapshot, elapsed_s);
    }
}

/// The variables of the posterior; the group also says when it was made.
fn posterior(trace: &Trace) -> &[Variable] {
    &trace.group("posterior").expect("always there").variables
}

#[test]
fn a_folder_changes_no_draw_and_holds_what_the_fit_says() {
    let scratch = Scratch::new("folder");
    let (model, data) = schools();
    let asked = || {
        sample(&model, &data)
            .draws(300)
            .tune(300)
            .device(Choice::Cpu)
    };
    let plain = asked().run().expect("it samples");
    let folder = scratch.0.join("run");
    let kept = asked()
        .folder(&folder)
        .name("schools")
        .run()
        .expect("it samples");
    assert_eq!(posterior(&plain.trace), posterior(&kept.trace));
    assert!(kept.is_complete && !kept.interrupted);
    for name in [
        "trace.nc",
        "summary.csv",
        "run.json",
        "report.html",
        "progress.json",
    ] {
        assert!(folder.join(name).is_file(), "{name}");
    }
    let read = fitzroy::draws::read_trace(&folder).expect("it was written");
    assert_eq!(posterior(&read), posterior(&kept.trace));
    assert_eq!(kept.document["model"], "schools");
    // Nobody's files are replaced in silence.
    let error = asked().folder(&folder).run().err().expect("it is there");
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("⟨overwrite⟩"), "{error}");
    asked()
        .folder(&folder)
        .overwrite(true)
        .run()
        .expect("it may be replaced");
}

#[test]
fn a_run_goes_on_to_the_draws_of_one_that_never_ended() {
    let scratch = Scratch::new("resume");
    let (model, data) = schools();
    let asked = |draws| {
        sample(&model, &data)
            .draws(draws)
            .tune(500)
            .device(Choice::Cpu)
    };
    let folder = scratch.0.join("run");
    asked(400).folder(&folder).run().expect("it samples");
    let face = Arc::new(Listener::default());
    let on = asked(1500).folder(&folder).resume(true).face(face.clone());
    let second = on.run().expect("it goes on");
    assert_eq!(face.seen.load(Relaxed), 4 * 2000);
    let notes = face.notes.lock().expect("nobody panics with it").join("\n");
    assert!(notes.contains("going on from"), "{notes}");
    let whole = asked(1500).run().expect("it samples");
    assert_eq!(posterior(&whole.trace), posterior(&second.trace));

    // It has all its draws: they are read again, and nothing is sampled.
    let face = Arc::new(Listener::default());
    let on = asked(1500).folder(&folder).resume(true).face(face.clone());
    let again = on.run().expect("it is there");
    assert!(again.outcome.is_none());
    assert_eq!(posterior(&again.trace), posterior(&whole.trace));
    assert_eq!(again.diagnosis.converged(), whole.diagnosis.converged());
    let notes = face.notes.lock().expect("nobody panics with it").join("\n");
    assert!(notes.contains("ask for more with draws"), "{notes}");
}

#[test]
fn a_stop_before_the_first_draw_is_an_error_of_its_own() {
    let (model, data) = schools();
    let stop = AtomicBool::new(true);
    let error = sample(&model, &data).device(Choice::Cpu).stop(&stop).run();
    let error = error.err().expect("there is no draw");
    assert_eq!(error.kind(), ErrorKind::Interrupted);
}
