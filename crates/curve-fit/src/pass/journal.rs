//! What a fit of a long table has done so far, so that it can go on after it was stopped.
//!
//! A fit is a function of the sums that its passes give. A journal therefore holds the sums of
//! every finished pass and the tree of the one that runs: a fit that begins again from the start
//! takes finished passes from there without a read, goes on inside the broken one, and ends at
//! the same bits, whatever stopped it and with any number of threads.

use super::TileTree;
use crate::method::Next;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::Fnv;

/// Tiles between two looks at the journal: 4 million rows.
const SEGMENT_TILES: usize = 4096;

/// Where a fit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Passes finished.
    pub passes: usize,
    /// Tiles of the running pass that are summed.
    pub tile: usize,
    /// Tiles of a pass.
    pub n_tiles: usize,
}

/// Looks at a journal now and then, may save it, and may stop the fit.
pub type Watch = dyn FnMut(&Journal, Position) -> Result<Next> + Send;

/// A finished pass.
#[derive(Clone, Debug, PartialEq)]
struct Pass {
    params: Vec<f64>,
    sums: Vec<f64>,
}

/// A pass that was stopped.
#[derive(Clone, Debug, PartialEq)]
struct Partial {
    params: Vec<f64>,
    tile: usize,
    width: usize,
    parts: Vec<(u32, Vec<f64>)>,
}

/// The passes of a fit.
pub struct Journal {
    done: Vec<Pass>,
    /// How many of them this run has taken over or made.
    at: usize,
    partial: Option<Partial>,
    segment_tiles: usize,
    watch: Box<Watch>,
    stopped: bool,
}

const MAGIC: &[u8; 16] = b"fitzroy passes 1";

/// What a journal belongs to: hashes of the model, of the options, and of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Belongs {
    /// Formula and columns.
    pub model: u64,
    /// Everything else that decides the steps.
    pub options: u64,
    /// Sizes, first and last blocks of the files.
    pub data: u64,
}

fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits())
}

impl Journal {
    /// An empty journal that `watch` looks at.
    pub fn new(watch: Box<Watch>) -> Self {
        Journal {
            done: Vec::new(),
            at: 0,
            partial: None,
            segment_tiles: SEGMENT_TILES,
            watch,
            stopped: false,
        }
    }

    /// The same with other distances between looks, a power of two, for tests.
    #[must_use]
    pub fn every(self, segment_tiles: usize) -> Self {
        Journal {
            segment_tiles: segment_tiles.next_power_of_two(),
            ..self
        }
    }

    /// Tiles between two looks.
    pub(super) fn segment_tiles(&self) -> usize {
        self.segment_tiles
    }

    /// Whether `watch` stopped the fit inside a pass.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// The sums of the next pass, if it is known.
    pub(super) fn recall(&mut self, params: &[f64], width: usize) -> Option<Vec<f64>> {
        let known = self.done.get(self.at);
        let fits = |p: &&Pass| p.sums.len() == width && same(&p.params, params);
        match known.filter(fits) {
            Some(pass) => {
                self.at += 1;
                Some(pass.sums.clone())
            }
            None => {
                // Another fit than the one that was stopped: what follows is worth nothing.
                self.done.truncate(self.at);
                None
            }
        }
    }

    /// The tree of a pass at `params` as far as it is known, and its first missing tile.
    pub(super) fn begin(&mut self, params: &[f64], width: usize) -> (TileTree, usize) {
        let mut tree = TileTree::new(width);
        let fits = |p: &Partial| p.width == width && same(&p.params, params);
        let Some(partial) = self.partial.take().filter(fits) else {
            return (tree, 0);
        };
        for (level, sums) in &partial.parts {
            tree.restore(*level, sums);
        }
        (tree, partial.tile)
    }

    /// The running pass has summed the tiles up to `tile`.
    ///
    /// # Errors
    /// Whoever watches stops the fit, or cannot save it.
    pub(super) fn reached(
        &mut self,
        params: &[f64],
        tree: &TileTree,
        width: usize,
        [tile, n_tiles]: [usize; 2],
    ) -> Result<()> {
        self.partial = Some(Partial {
            params: params.to_vec(),
            tile,
            width,
            parts: tree.parts().map(|(l, s)| (l, s.to_vec())).collect(),
        });
        let position = Position {
            passes: self.at,
            tile,
            n_tiles,
        };
        // The watcher looks at the journal that holds it.
        let mut watch = std::mem::replace(&mut self.watch, Box::new(|_, _| Ok(Next::Continue)));
        let next = watch(self, position);
        self.watch = watch;
        if next? == Next::Interrupt {
            self.stopped = true;
            let message = format!(
                "stopped in pass {}, after {tile} of {n_tiles} tiles of 1,024 rows",
                self.at + 1
            );
            return Err(Error::new(ErrorKind::Io, message));
        }
        Ok(())
    }

    /// The running pass has ended.
    pub(super) fn finish(&mut self, params: &[f64], sums: &[f64]) {
        self.partial = None;
        self.done.truncate(self.at);
        self.done.push(Pass {
            params: params.to_vec(),
            sums: sums.to_vec(),
        });
        self.at += 1;
    }

    /// Everything as bytes, with what it belongs to.
    pub fn to_bytes(&self, belongs: &Belongs) -> Vec<u8> {
        let mut words = vec![belongs.model, belongs.options, belongs.data];
        let numbers = |words: &mut Vec<u64>, numbers: &[f64]| {
            words.push(numbers.len() as u64);
            words.extend(numbers.iter().map(|x| x.to_bits()));
        };
        words.push(self.done.len() as u64);
        for pass in &self.done {
            numbers(&mut words, &pass.params);
            numbers(&mut words, &pass.sums);
        }
        words.push(u64::from(self.partial.is_some()));
        if let Some(p) = &self.partial {
            numbers(&mut words, &p.params);
            words.extend([p.tile as u64, p.width as u64, p.parts.len() as u64]);
            for (level, sums) in &p.parts {
                words.push(u64::from(*level));
                numbers(&mut words, sums);
            }
        }
        let mut bytes = MAGIC.to_vec();
        bytes.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        let check = Fnv::of(&bytes);
        bytes.extend(check.to_le_bytes());
        bytes
    }

    /// Takes over what [`Journal::to_bytes`] wrote.
    ///
    /// # Errors
    /// It is damaged, or belongs to another model, other options or other data: says which.
    pub fn take_over(&mut self, bytes: &[u8], belongs: &Belongs) -> Result<()> {
        let refuse = |message: &str| Err(Error::new(ErrorKind::Data, message));
        let damaged = "the checkpoint is damaged; remove it and start again";
        let whole = bytes.len() >= 24 && bytes.len().is_multiple_of(8) && bytes.starts_with(MAGIC);
        let (body, check) = bytes.split_at(bytes.len().saturating_sub(8));
        if !whole || Fnv::of(body).to_le_bytes() != *check {
            return refuse(damaged);
        }
        let word = |b: &[u8]| u64::from_le_bytes(b.try_into().expect("eight bytes"));
        let words: Vec<u64> = body[16..].chunks_exact(8).map(word).collect();
        let mut words = Words(&words);
        for (own, what) in [
            (belongs.model, "the model"),
            (belongs.options, "the options"),
            (belongs.data, "the data"),
        ] {
            if words.next() != Some(own) {
                return refuse(&format!(
                    "{what} changed since the run was stopped; start again in another folder"
                ));
            }
        }
        match words.passes() {
            Some((done, partial)) => {
                (self.done, self.partial, self.at) = (done, partial, 0);
                Ok(())
            }
            None => refuse(damaged),
        }
    }
}

/// Words that are read one after the other.
struct Words<'w>(&'w [u64]);

impl Words<'_> {
    fn next(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn numbers(&mut self) -> Option<Vec<f64>> {
        let n = usize::try_from(self.next()?).ok()?;
        let (numbers, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(numbers.iter().map(|w| f64::from_bits(*w)).collect())
    }

    fn passes(&mut self) -> Option<(Vec<Pass>, Option<Partial>)> {
        let mut done = Vec::new();
        for _ in 0..self.next()? {
            done.push(Pass {
                params: self.numbers()?,
                sums: self.numbers()?,
            });
        }
        if self.next()? == 0 {
            return Some((done, None));
        }
        let params = self.numbers()?;
        let (tile, width) = (self.next()? as usize, self.next()? as usize);
        let mut parts = Vec::new();
        for _ in 0..self.next()? {
            let level = u32::try_from(self.next()?).ok()?;
            let sums = self.numbers()?;
            if sums.len() != width {
                return None;
            }
            parts.push((level, sums));
        }
        let partial = Partial {
            params,
            tile,
            width,
            parts,
        };
        Some((done, Some(partial)))
    }
}
