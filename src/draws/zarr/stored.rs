//! A trace that stays on the disk, for draws that do not fit into memory.

use super::super::netcdf::is_draw_group;
use super::super::{Column, Group, Trace, Variable, join_draws};
use super::array::{Elements, Plan, indices, plan, wrong};
use super::read::Store;
use crate::{Error, Result};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A Zarr store of draws, read a part at a time.
pub struct Stored {
    path: PathBuf,
    store: Store,
    /// Draws per chain.
    n_draws: usize,
    /// Bytes of all arrays of draws.
    bytes: u64,
    /// Draws that are read at once.
    at_once: usize,
}

/// Some elements of a variable of draws: a range on every axis but those of chains and draws.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    axes: Vec<Range<usize>>,
    /// Their row-major positions.
    pub elements: Vec<usize>,
}

/// Bytes read at once when all variables are looked at together.
const AT_ONCE_BYTES: u64 = 64 << 20;

impl Stored {
    /// Opens the store at `path`.
    ///
    /// # Errors
    /// Those of [`read_zarr`](super::super::read_zarr), but for damaged chunks, which show later.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::new(path).map_err(|error| error.context(path.display()))
    }

    fn new(path: &Path) -> Result<Self> {
        let store = Store::open(path)?;
        let (mut n_draws, mut bytes) = (0, 0_u64);
        for (path, node) in store.nodes() {
            let Some((group, name)) = path.split_once('/') else {
                continue;
            };
            if node["node_type"] != "array" || !is_draw_group(group) || name.contains('/') {
                continue;
            }
            let Some(plan) = plan(node, name, true)? else {
                continue;
            };
            if let (Some(at), true) = (
                plan.dims.iter().position(|d| d == "draw"),
                plan.dims.len() > 1,
            ) {
                n_draws = n_draws.max(plan.shape[at]);
                let elements = plan
                    .shape
                    .iter()
                    .fold(1_u64, |n, &s| n.saturating_mul(s as u64));
                bytes = bytes.saturating_add(elements.saturating_mul(8));
            }
        }
        let per_draw = bytes / (n_draws as u64).max(1);
        Ok(Stored {
            path: path.to_path_buf(),
            at_once: (AT_ONCE_BYTES / per_draw.max(1)).max(1) as usize,
            store,
            n_draws,
            bytes,
        })
    }

    /// Draws per chain.
    pub fn n_draws(&self) -> usize {
        self.n_draws
    }

    /// Bytes that the draws of all groups would take in memory.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Everything but the draws: groups, names, dims, labels, data, attributes.
    ///
    /// # Errors
    /// Those of [`read_zarr`](super::super::read_zarr).
    pub fn outline(&self) -> Result<Trace> {
        self.read(0..0)
    }

    /// The trace with every so many draws, as few as make it smaller than `most_bytes`; and how
    /// many these are.
    ///
    /// # Errors
    /// Those of [`read_zarr`](super::super::read_zarr).
    pub fn thinned(&self, most_bytes: u64) -> Result<(Trace, usize)> {
        let every = self.bytes.div_ceil(most_bytes.max(1)).max(1) as usize;
        let mut trace = self.outline()?;
        let step = (self.at_once / every).max(1) * every;
        let mut parts: Vec<Vec<Group>> = Vec::new();
        for start in (0..self.n_draws).step_by(step) {
            let some = self.read(start..start + step)?;
            let draws = some.groups.into_iter().filter(|g| is_draw_group(&g.name));
            parts.push(draws.map(|group| thin(group, every)).collect());
        }
        let parts: Vec<&[Group]> = parts.iter().map(Vec::as_slice).collect();
        for joined in join_draws(&parts) {
            if let Some(group) = trace.groups.iter_mut().find(|g| g.name == joined.name) {
                *group = joined;
            }
        }
        trace.coords.remove("draw");
        Ok((trace, every))
    }

    /// One variable of a group of draws, whole; none where there is none.
    ///
    /// # Errors
    /// Those of [`read_zarr`](super::super::read_zarr).
    pub fn variable(&self, group: &str, name: &str) -> Result<Option<Variable>> {
        let mut found = None;
        self.columns(group, name, &mut |elements, part| {
            // Statistics have one element, and so one part.
            debug_assert_eq!(elements.len(), 1);
            found = Some(part);
        })?;
        Ok(found)
    }

    /// Shows one variable of a group of draws in parts: some of its elements, row-major positions
    /// of which come first, with all their draws, `[chain][draw][those elements]`. Parts are as
    /// large as the columns of chunks of the store.
    ///
    /// # Errors
    /// Those of [`read_zarr`](super::super::read_zarr); an array without `chain` and `draw` first.
    pub fn columns(
        &self,
        group: &str,
        name: &str,
        show: &mut dyn FnMut(&[usize], Variable),
    ) -> Result<()> {
        for block in self.blocks(group, name)? {
            if let Some(part) = self.block(group, name, &block)? {
                show(&block.elements, part);
            }
        }
        Ok(())
    }

    /// The parts in which a variable of a group of draws lies in the store; none where there is no
    /// such variable.
    ///
    /// # Errors
    /// As [`Stored::columns`].
    pub fn blocks(&self, group: &str, name: &str) -> Result<Vec<Block>> {
        let Some(plan) = self.plan(group, name)? else {
            return Ok(Vec::new());
        };
        let counts = plan.shape.iter().zip(&plan.chunk).skip(2);
        let columns: Vec<Range<usize>> = counts.map(|(n, chunk)| 0..n.div_ceil(*chunk)).collect();
        let one = |column: Vec<usize>| {
            let axes = column
                .iter()
                .zip(plan.shape.iter().zip(&plan.chunk).skip(2));
            let axes = axes.map(|(at, (n, chunk))| at * chunk..((at + 1) * chunk).min(*n));
            let axes: Vec<Range<usize>> = axes.collect();
            let flat = |index: Vec<usize>| {
                let axes = index.iter().zip(&plan.shape[2..]);
                axes.fold(0, |flat, (i, n)| flat * n + i)
            };
            Block {
                elements: indices(&axes).into_iter().map(flat).collect(),
                axes,
            }
        };
        Ok(indices(&columns).into_iter().map(one).collect())
    }

    /// All draws of some elements, `[chain][draw][those elements]`; none where there is no such
    /// variable of numbers. The part may be one of another store in which the variable has the
    /// same shape.
    ///
    /// # Errors
    /// As [`Stored::columns`]; elements that the variable has not.
    pub fn block(&self, group: &str, name: &str, block: &Block) -> Result<Option<Variable>> {
        let Some(plan) = self.plan(group, name)? else {
            return Ok(None);
        };
        let path = format!("{group}/{name}");
        let inside = |(axis, n): (&Range<usize>, &usize)| axis.end <= *n;
        let fits = block.axes.len() + 2 == plan.shape.len()
            && block.axes.iter().zip(&plan.shape[2..]).all(inside);
        if !fits {
            let message = format!("has the shape {:?}", plan.shape);
            return Err(self.context(&path, wrong(message)));
        }
        let mut wanted = plan.whole();
        wanted[2..].clone_from_slice(&block.axes);
        let elements = self.store.array(&path, &plan, &wanted);
        let Elements::Numbers(values) = elements.map_err(|e| self.context(&path, e))? else {
            return Ok(None);
        };
        Ok(Some(Variable {
            name: name.into(),
            dims: ["chain", "draw", "element"].map(String::from).to_vec(),
            shape: vec![plan.shape[0], plan.shape[1], block.elements.len()],
            values,
        }))
    }

    /// Draws per chain of a group; 0 where it has none.
    ///
    /// # Errors
    /// As [`Stored::columns`].
    pub fn n_draws_of(&self, group: &Group) -> Result<usize> {
        let mut most = 0;
        for variable in &group.variables {
            if let Some(plan) = self.plan(&group.name, &variable.name)? {
                most = most.max(plan.shape[1]);
            }
        }
        Ok(most)
    }

    /// How a variable of draws lies in the store.
    fn plan(&self, group: &str, name: &str) -> Result<Option<Plan>> {
        let path = format!("{group}/{name}");
        let node = self.store.nodes().find(|(p, _)| **p == path);
        let Some((_, node)) = node else {
            return Ok(None);
        };
        let found = plan(node, name, true).map_err(|e| self.context(&path, e))?;
        match found {
            Some(plan) if plan.dims.len() < 2 || plan.dims[..2] != ["chain", "draw"] => {
                let message = "draws that stay on the disk need chain and draw first";
                Err(self.context(&path, wrong(message)))
            }
            found => Ok(found),
        }
    }

    fn context(&self, path: &str, error: Error) -> Error {
        error
            .context(format!("`{path}`"))
            .context(self.path.display())
    }

    fn read(&self, draws: Range<usize>) -> Result<Trace> {
        let trace = self.store.trace_of(draws);
        trace.map_err(|error| error.context(self.path.display()))
    }
}

/// The first draw, and every so many after it.
fn thin(group: Group, every: usize) -> Group {
    let variables = group.variables.into_iter().map(|v| {
        let (n, elements) = (v.shape[1], v.elements());
        let rows = (0..v.shape[0] * n).filter(|row| (row % n).is_multiple_of(every));
        let rows = rows.map(|row| row * elements..(row + 1) * elements);
        let mut shape = v.shape.clone();
        shape[1] = n.div_ceil(every);
        Variable {
            values: match &v.values {
                Column::Real(x) => Column::Real(rows.flat_map(|r| x[r].to_vec()).collect()),
                Column::Integer(x) => Column::Integer(rows.flat_map(|r| x[r].to_vec()).collect()),
                Column::Flag(x) => Column::Flag(rows.flat_map(|r| x[r].to_vec()).collect()),
            },
            shape,
            ..v
        }
    });
    Group {
        variables: variables.collect(),
        ..group
    }
}
