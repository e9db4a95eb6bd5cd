//! A fit of columns that stay in their files, with checkpoints from which a stopped fit goes on.

use super::device::FitDevice;
use super::fitted::Fitted;
use super::watch::{Told, Watcher};
use crate::clock::Clock;
use crate::face::{Face, Note};
use crate::folder::Folder;
use crate::progress::{PROGRESS, State};
use fitzroy::data::TableOptions;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::fit::{Plan, fit_table, quality};
use fitzroy_curve_fit::formula::Roles;
use fitzroy_curve_fit::method::Next;
use fitzroy_curve_fit::pass::{Belongs, Journal, Kept, Table};
use fitzroy_curve_fit::report::Timing;
use fitzroy_curve_fit::source::{
    FileTable, LargeOptions, Stored, error_column, errors_of_others, file_table, fingerprint,
};
use fitzroy_curve_fit::{Formula, Loss, Options};
use fitzroy_device::{Fnv, probe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A formula that is to be fitted to columns in files.
pub struct LargeFit<'a> {
    /// The formula.
    pub formula: &'a Formula,
    /// The files.
    pub paths: &'a [PathBuf],
    /// Names in the formula, and the columns that they are in the files.
    pub renames: &'a [(String, String)],
    /// The response; none if it is `y`, or the only column that is left.
    pub y: Option<&'a str>,
    /// The column of standard deviations, `none`, or one that is called so.
    pub sigma: Option<&'a str>,
    /// What is said of a table.
    pub tables: &'a TableOptions,
    /// Bytes that the program may take.
    pub memory_limit_bytes: usize,
    /// Rows of a piece; any number gives the same answer.
    pub chunk_rows: Option<usize>,
    /// Where decoded columns are kept for later, if they are.
    pub cache: Option<PathBuf>,
    /// Seconds between checkpoints.
    pub checkpoint_every_s: f64,
    /// Seconds between words of progress; infinite for none.
    pub tell_every_s: f64,
    /// Whether a fit that was stopped goes on.
    pub resume: bool,
    /// Who asked for it.
    pub face: &'a Arc<dyn Face>,
    /// Stops the fit once true; it can go on from the folder.
    pub stop: &'a Arc<AtomicBool>,
    /// Began when the work began.
    pub clock: Clock,
}

/// A folder for decoded columns, removed at the end.
struct Decoded(PathBuf);

impl Drop for Decoded {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A table of files that may be decoded copies.
struct OnDisk {
    table: FileTable,
    _decoded: Decoded,
}

impl Table for OnDisk {
    fn n_rows(&self) -> usize {
        self.table.n_rows()
    }

    fn visit(
        &self,
        range: std::ops::Range<usize>,
        visit: &mut fitzroy_curve_fit::pass::Visitor<'_>,
    ) -> Result<()> {
        self.table.visit(range, visit)
    }
}

/// What the program takes beside pieces of columns: its code, a subsample, sums.
const PROGRAM_BYTES: usize = 16 << 20;

/// The checkpoint in the folder of results.
const CHECKPOINT: &str = "checkpoint.bin";

impl LargeFit<'_> {
    /// Fits; none if it was stopped, which is told. `in_order` may complete the options by the roles
    /// of the names in the formula.
    ///
    /// # Errors
    /// The data cannot be read; options that are wrong; a checkpoint of another fit.
    pub fn run(
        &self,
        mut device: FitDevice,
        options: &Options,
        in_order: impl FnOnce(&Roles) -> Result<Options>,
        folder: &mut Option<Folder>,
    ) -> Result<Option<Fitted<'static>>> {
        let clock = &self.clock;
        let source = self.source()?;
        let (plan, y, sigma) = self.plan(&source, options)?;
        let options = &in_order(&plan.roles)?;
        let table = self.table(&plan, &source, &y, sigma.as_deref(), options)?;
        let mut timing = Timing {
            read: clock.seconds(),
            ..Timing::default()
        };
        let told = folder.as_mut().map(|f| Told {
            path: f.replaced(PROGRESS),
            n_rows: table.n_rows(),
        });
        let tell = |state: State, costs: &[f64]| {
            if let Some(told) = &told {
                told.tell(state, None, costs.last().copied(), clock.seconds());
            }
        };
        let journal = self.journal(&plan, options, &table, told.clone(), folder)?;
        let kept = Kept::new(&table, journal);
        device.settle(&plan, &table, options, clock, &**self.face)?;
        let remote = device.table(&table);
        // A GPU's passes are not kept: they take seconds.
        let passes: &dyn Table = remote.as_ref().map_or(&kept, |remote| remote);
        let mut costs = Vec::new();
        let fitted = fit_table(&plan, passes, options, &mut |step| {
            costs.push(step.cost);
            // A stop inside a pass is the journal's; between passes the best point is the answer.
            match self.stop.load(Relaxed) {
                true => Next::Interrupt,
                false => Next::Continue,
            }
        });
        device.tell_failed(&**self.face);
        if kept.stopped() {
            tell(State::Interrupted, &costs);
            let at = fitted.err().map_or_else(String::new, |e| e.to_string());
            self.tell_stopped(&at, folder.as_mut());
            return Ok(None);
        }
        let mut estimate = fitted.inspect_err(|_| tell(State::Failed, &costs))?;
        tell(State::Finished, &costs);
        estimate.findings.extend(self.memory_finding());
        timing.fit = clock.seconds() - timing.read;
        let quality = quality(&plan, &table, &estimate)?;
        estimate.weigh(&quality);
        timing.total = clock.seconds();
        drop((remote, kept));
        Ok(Some(Fitted {
            y,
            sigma,
            timing,
            costs,
            ..Fitted::new(plan, table, options, (estimate, quality), device)
        }))
    }

    /// The files; how a table is read is told.
    fn source(&self) -> Result<Stored> {
        let source = Stored::with(self.paths, self.tables)?;
        for remark in source.remarks()? {
            self.face.tell(Note::Remark(&format!("data: {remark}")));
        }
        Ok(source)
    }

    /// The columns in their files, or in decoded copies.
    fn table(
        &self,
        plan: &Plan,
        source: &Stored,
        y: &str,
        sigma: Option<&str>,
        options: &Options,
    ) -> Result<OnDisk> {
        let folder = std::env::temp_dir().join(format!("fitzroy-columns-{}", std::process::id()));
        std::fs::create_dir_all(&folder)
            .map_err(|error| Error::new(ErrorKind::Io, format!("{}: {error}", folder.display())))?;
        let decoded = Decoded(folder);
        let limit = self.memory_limit_bytes;
        let large = LargeOptions {
            // The program itself takes some of it, too.
            memory_limit_bytes: limit - (limit / 2).min(PROGRAM_BYTES),
            chunk_rows: self.chunk_rows,
            folder: decoded.0.clone(),
            cache: self.cache.clone(),
        };
        let mut stored = plan.clone();
        for name in &mut stored.roles.predictors {
            if let Some((_, column)) = self.renames.iter().find(|(new, _)| new == name) {
                name.clone_from(column);
            }
        }
        let table = file_table(&stored, source, y, sigma, options.threads, &large)?;
        Ok(OnDisk {
            table,
            _decoded: decoded,
        })
    }

    /// What keeps the passes of the fit, from a checkpoint on if the fit goes on.
    fn journal(
        &self,
        plan: &Plan,
        options: &Options,
        table: &OnDisk,
        told: Option<Told>,
        folder: &mut Option<Folder>,
    ) -> Result<Journal> {
        let belongs = self.belongs(plan, options)?;
        let now = self.clock.seconds();
        let watcher = Watcher {
            stop: Arc::clone(self.stop),
            clock: self.clock,
            face: Arc::clone(self.face),
            tell_every_s: self.tell_every_s,
            checkpoint: folder.as_ref().map(|f| f.path().join(CHECKPOINT)),
            told,
            every_s: self.checkpoint_every_s,
            belongs,
            n_rows: table.n_rows(),
            said_s: now,
            saved_s: now,
            told_s: now,
        };
        let mut journal = watcher.journal();
        let checkpoint = folder.as_mut().filter(|_| self.resume);
        let checkpoint = checkpoint.map(|f| f.file(CHECKPOINT));
        if let Some(path) = checkpoint.filter(|p| p.is_file()) {
            let bytes = std::fs::read(&path)
                .map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", path.display())))?;
            let taken = journal.take_over(&bytes, &belongs);
            taken.map_err(|e| e.context(format!("⟨resume {}⟩", path.display())))?;
        }
        Ok(journal)
    }

    /// Says where the fit stopped and how it can go on, and keeps the folder.
    fn tell_stopped(&self, at: &str, folder: Option<&mut Folder>) {
        let go_on = match &folder {
            Some(folder) => format!("go on with ⟨out {}⟩ ⟨resume⟩", folder.path().display()),
            None => "with ⟨out DIR⟩ it could go on".into(),
        };
        self.face.tell(Note::Notice(&format!("{at}; {go_on}")));
        if let Some(folder) = folder {
            folder.keep();
        }
    }

    /// That the program took more than it was allowed to.
    fn memory_finding(&self) -> Option<String> {
        let limit = self.memory_limit_bytes as u64;
        let peak = probe::peak_bytes().filter(|&peak| peak > limit)?;
        Some(format!(
            "the fit took {} MB at its peak, more than the {} MB of ⟨memory_limit⟩: the program alone \
             takes about 12 MB",
            peak.div_ceil(1_000_000),
            limit / 1_000_000
        ))
    }

    /// The plan, the response and sigma, by their names in the file.
    fn plan(&self, source: &Stored, options: &Options) -> Result<(Plan, String, Option<String>)> {
        let stored = source.names()?;
        let shown = |name: &String| {
            let renamed = self.renames.iter().find(|(_, column)| column == name);
            renamed.map_or_else(|| name.clone(), |(new, _)| new.clone())
        };
        let names: Vec<String> = stored.iter().map(shown).collect();
        let views: Vec<&str> = names.iter().map(String::as_str).collect();
        let roles = self.formula.roles(&views, &[])?;
        let y = self.response(&names, &roles.predictors)?;
        let in_file = |name: &str| -> Result<String> {
            let at = names.iter().position(|n| n == name);
            let at = at.or_else(|| stored.iter().position(|n| n == name));
            at.map(|at| stored[at].clone()).ok_or_else(|| {
                Error::usage(format!(
                    "there is no column `{name}`; the columns are {}",
                    names.join(", ")
                ))
            })
        };
        let sigma = match self.sigma {
            Some("none") => None,
            Some(name) => Some(in_file(name)?),
            None => self.error_column(&names, &roles.predictors, &y, options),
        };
        let sigma = sigma.as_deref().map(in_file).transpose()?;
        let y = in_file(&y)?;
        let plan = Plan::new(self.formula, roles, sigma.is_some(), options)?;
        Ok((plan, y, sigma))
    }

    /// The column of sigma by its name, which is told.
    fn error_column(
        &self,
        names: &[String],
        used: &[String],
        y: &str,
        options: &Options,
    ) -> Option<String> {
        if options.loss == Loss::Poisson {
            return None;
        }
        let free = names.iter().filter(|n| *n != y && !used.contains(n));
        let found = error_column(y, free.map(String::as_str))?;
        self.face.tell(Note::Remark(&format!(
            "sigma: column `{found}`, by its name (⟨sigma none⟩ for a fit without)"
        )));
        Some(found.to_string())
    }

    /// The response: named, `y`, or the only column that is left.
    fn response(&self, names: &[String], used: &[String]) -> Result<String> {
        if let Some(y) = self.y {
            return Ok(y.to_string());
        }
        let left = |n: &&String| !used.contains(n) && self.sigma != Some(n.as_str());
        let views: Vec<&str> = names.iter().map(String::as_str).collect();
        let errors = match self.sigma {
            None => errors_of_others(&views),
            Some(_) => Vec::new(),
        };
        let free: Vec<&String> = names.iter().filter(left).collect();
        let likely = free.iter().filter(|n| !errors.contains(&n.as_str()));
        let likely: Vec<&String> = likely.copied().collect();
        let left = if likely.is_empty() { free } else { likely };
        match left[..] {
            [one] => Ok(one.clone()),
            _ if names.iter().any(|n| n == "y") && !used.iter().any(|u| u == "y") => Ok("y".into()),
            _ => Err(Error::usage(format!(
                "which column is the response? Name one of {} with ⟨y⟩",
                names.join(", ")
            ))),
        }
    }

    /// What a checkpoint of this fit belongs to. Threads and pieces change no bit and do not enter.
    fn belongs(&self, plan: &Plan, options: &Options) -> Result<Belongs> {
        let (renames, y) = (self.renames, self.y);
        let model = format!(
            "{} {renames:?} {y:?} {:?} {:?}",
            plan.formula.text(),
            self.sigma,
            self.tables
        );
        let plain = Options {
            threads: 1,
            ..options.clone()
        };
        Ok(Belongs {
            model: Fnv::of(model.as_bytes()),
            options: Fnv::of(format!("{plain:?}").as_bytes()),
            data: fingerprint(self.paths)?,
        })
    }
}

/// Removes the checkpoint of a fit that is done: nothing is left to go on with.
pub fn forget_checkpoint(folder: &mut Folder) {
    let _ = std::fs::remove_file(folder.replaced(CHECKPOINT));
}

/// The usual folder for decoded columns that are kept.
pub fn usual_cache() -> Option<PathBuf> {
    Some(crate::device::cache_folder()?.join("columns"))
}

/// A folder for decoded columns that are kept, made if it is not there.
///
/// # Errors
/// It cannot be made.
pub fn cache(folder: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(folder).map_err(|error| {
        let message = format!("⟨cache⟩: {}: {error}", folder.display());
        Error::new(ErrorKind::Io, message)
    })?;
    Ok(folder.to_path_buf())
}
