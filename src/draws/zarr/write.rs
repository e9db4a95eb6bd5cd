//! Writing a store, block by block.

use super::super::{Attribute, Flush, Group, Labels, Trace};
use super::chunk::{bytes_of, bytes_of_labels, flush_folder, push, put_file};
use super::cut::{Chunks, columns};
use super::metadata::{Kind, Layout, ORDER, attributes_json, dimensions, group_json, labels_for};
use crate::Result;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An array of draws that grows.
struct Growing {
    /// `posterior/mu`.
    path: String,
    layout: Layout,
    /// Elements of one draw.
    elements: usize,
    /// For each chunk of the elements the end of its key and, place by place, the position of the
    /// element in a draw; none outside the array.
    columns: Vec<(String, Vec<Option<usize>>)>,
    /// The bytes of each chain in the chunk that is not full yet.
    pending: Vec<Vec<u8>>,
}

/// A store that draws are added to.
///
/// Nothing is seen by readers until [`ZarrStream::publish`]; after it everything appended so far
/// is, whatever happens to the program later.
pub struct ZarrStream {
    root: PathBuf,
    arrays: Vec<Growing>,
    /// `zarr.json` of everything that does not grow, by path.
    fixed: BTreeMap<String, Value>,
    /// Names of the groups of draws, with their chains' labels.
    draw_groups: Vec<String>,
    chunks: Chunks,
    n_draws: usize,
    n_published: usize,
}

impl Growing {
    /// The bytes of the chunk with the elements at `places`.
    fn chunk(&self, places: &[Option<usize>], chunk_draws: usize) -> Vec<u8> {
        let size = self.layout.kind.size();
        let full = chunk_draws * places.len() * size;
        let mut bytes = Vec::with_capacity(full * self.pending.len());
        let nothing = match self.layout.kind {
            Kind::Real => f64::NAN.to_le_bytes(),
            _ => [0; 8],
        };
        let whole = places.len() == self.elements && self.columns.len() == 1;
        for (chain, pending) in self.pending.iter().enumerate() {
            match whole {
                true => bytes.extend_from_slice(pending),
                false => {
                    for draw in pending.chunks_exact((self.elements * size).max(1)) {
                        for place in places {
                            bytes.extend_from_slice(match place {
                                Some(at) => &draw[at * size..(at + 1) * size],
                                None => &nothing[..size],
                            });
                        }
                    }
                }
            }
            while bytes.len() < (chain + 1) * full {
                bytes.extend_from_slice(&nothing[..size]);
            }
        }
        bytes
    }
}

impl ZarrStream {
    /// Starts a store at `root`, which must not exist, in the layout of `template`: its groups of
    /// draws, in which `chain` and `draw` come first, will grow, whatever draws `template` has;
    /// others are written now. Groups of the warm-up, whose draws have another count, are left out.
    ///
    /// `total` draws per chain are expected; they decide how large chunks are. Where they take
    /// more than `in_memory_bytes`, arrays are cut along their elements as well, see [`Chunks`].
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn create(
        root: &Path,
        template: &Trace,
        total: usize,
        in_memory_bytes: u64,
    ) -> Result<Self> {
        let grows = |g: &&Group| {
            let first = |v: &super::super::Variable| v.dims.first().is_some_and(|d| d == "chain");
            g.variables.iter().any(first)
        };
        let draws: Vec<&Group> = template.groups.iter().filter(grows).collect();
        let per_draw: usize = draws
            .iter()
            .flat_map(|g| &g.variables)
            .map(|v| v.shape[0] * v.elements() * Kind::of(&v.values).size())
            .sum();
        let n_chains = draws.iter().flat_map(|g| &g.variables).map(|v| v.shape[0]);
        let n_chains = n_chains.max().unwrap_or(1);
        Self::with_chunks(
            root,
            template,
            Chunks::fit(per_draw, n_chains, total, in_memory_bytes),
        )
    }

    /// The same with chunks as they are wanted.
    ///
    /// # Errors
    /// Those of [`ZarrStream::create`].
    pub fn with_chunks(root: &Path, template: &Trace, chunks: Chunks) -> Result<Self> {
        let mut stream = ZarrStream {
            root: root.to_path_buf(),
            arrays: Vec::new(),
            fixed: BTreeMap::new(),
            draw_groups: Vec::new(),
            chunks,
            n_draws: 0,
            n_published: 0,
        };
        for group in template
            .groups
            .iter()
            .filter(|g| !g.name.starts_with("warmup_"))
        {
            stream.group(group, &template.coords)?;
        }
        Ok(stream)
    }

    /// Draws per chain appended so far.
    pub fn n_draws(&self) -> usize {
        self.n_draws
    }

    /// Draws per chain that readers see.
    pub fn n_published(&self) -> usize {
        self.n_published
    }

    /// Draws after which the present chunk is full.
    pub fn to_full_chunk(&self) -> usize {
        self.chunks.draws - self.n_draws % self.chunks.draws
    }

    fn group(&mut self, group: &Group, coords: &BTreeMap<String, Labels>) -> Result<()> {
        let node = group_json(attributes_json(&group.attributes), BTreeMap::new());
        self.node(&group.name, node)?;
        let mut grows = false;
        for variable in &group.variables {
            let path = format!("{}/{}", group.name, variable.name);
            let kind = Kind::of(&variable.values);
            let is_draws = variable.dims.len() >= 2 && variable.dims[..2] == ["chain", "draw"];
            let mut chunk = variable.shape.clone();
            if is_draws {
                grows = true;
                chunk[1] = self.chunks.draws;
                let along = self.chunks.along(&chunk[2..]);
                chunk[2..].copy_from_slice(&along);
                self.arrays.push(Growing {
                    path,
                    elements: variable.elements(),
                    columns: columns(&variable.shape[2..], &along),
                    pending: vec![Vec::new(); variable.shape[0]],
                    layout: Layout {
                        kind,
                        dims: variable.dims.clone(),
                        shape: variable.shape.clone(),
                        chunk,
                    },
                });
                continue;
            }
            let layout = Layout {
                kind,
                dims: variable.dims.clone(),
                shape: variable.shape.clone(),
                chunk,
            };
            self.whole(&path, &layout, &bytes_of(&variable.values))?;
        }
        if grows {
            self.draw_groups.push(group.name.clone());
        }
        for (dim, size) in dimensions(group) {
            if grows && dim == "draw" {
                continue; // It grows as well, see `publish`.
            }
            if group.variable(&dim).is_some() {
                continue;
            }
            let labels = labels_for(coords, &dim, size);
            let kind = match labels {
                Labels::Integers(_) => Kind::Integer,
                Labels::Text(_) => Kind::Text,
            };
            let layout = Layout {
                kind,
                dims: vec![dim.clone()],
                shape: vec![size],
                chunk: vec![size],
            };
            let path = format!("{}/{dim}", group.name);
            self.whole(&path, &layout, &bytes_of_labels(&labels))?;
        }
        Ok(())
    }

    /// Notes the metadata of a group or an array and writes them to its own file.
    fn node(&mut self, path: &str, node: Value) -> Result<()> {
        self.put(
            &format!("{path}/zarr.json"),
            node.to_string().as_bytes(),
            Flush::Later,
        )?;
        self.fixed.insert(path.to_string(), node);
        Ok(())
    }

    /// An array that does not grow, as one chunk.
    fn whole(&mut self, path: &str, layout: &Layout, bytes: &[u8]) -> Result<()> {
        let key = format!("{path}/c{}", ".0".repeat(layout.shape.len()));
        self.put(&key, bytes, Flush::Later)?;
        self.node(path, layout.json())
    }

    fn put(&self, key: &str, bytes: &[u8], flush: Flush) -> Result<()> {
        put_file(&self.root.join(key), bytes, flush)
    }

    /// Takes in a block of draws. Chunks that become full are written.
    ///
    /// # Errors
    /// A chunk cannot be written. Draws published before stay as they are.
    pub fn append(&mut self, groups: &[Group], flush: Flush) -> Result<()> {
        let n = groups
            .iter()
            .flat_map(|g| &g.variables)
            .find(|v| v.dims.len() >= 2 && v.dims[1] == "draw")
            .map_or(0, |v| v.shape[1]);
        let mut from = 0;
        while from < n {
            let to = n.min(from + self.to_full_chunk());
            for array in &mut self.arrays {
                let (group, name) = array.path.split_once('/').expect("group/variable");
                let group = groups.iter().find(|g| g.name == group);
                let variable = group.and_then(|g| g.variable(name));
                let variable = variable.expect("every block has the variables of the first");
                for (chain, pending) in array.pending.iter_mut().enumerate() {
                    let at = |draw: usize| (chain * n + draw) * array.elements;
                    push(&variable.values, at(from)..at(to), pending);
                }
            }
            self.n_draws += to - from;
            if self.n_draws.is_multiple_of(self.chunks.draws) {
                self.write_chunk(self.n_draws / self.chunks.draws - 1, flush)?;
                for array in &mut self.arrays {
                    array.pending.iter_mut().for_each(Vec::clear);
                }
            }
            from = to;
        }
        Ok(())
    }

    /// Writes chunk `index` of every array from what is pending; what is missing is filled up.
    fn write_chunk(&self, index: usize, flush: Flush) -> Result<()> {
        for array in &self.arrays {
            for (key, places) in &array.columns {
                let bytes = array.chunk(places, self.chunks.draws);
                self.put(&format!("{}/c.0.{index}{key}", array.path), &bytes, flush)?;
            }
        }
        let numbers = index * self.chunks.draws..(index + 1) * self.chunks.draws;
        let numbers: Vec<u8> = numbers.flat_map(|n| (n as i64).to_le_bytes()).collect();
        for group in &self.draw_groups {
            self.put(&format!("{group}/draw/c.{index}"), &numbers, flush)?;
        }
        Ok(())
    }

    /// Shows everything appended so far to readers, by renaming one file.
    ///
    /// # Errors
    /// A file cannot be written; readers then see what was published before.
    pub fn publish(&mut self, attributes: &[(String, Attribute)], flush: Flush) -> Result<()> {
        if !self.n_draws.is_multiple_of(self.chunks.draws) {
            self.write_chunk(self.n_draws / self.chunks.draws, flush)?;
        }
        let mut members = self.fixed.clone();
        let mut layouts: Vec<(String, Layout)> = Vec::new();
        for array in &self.arrays {
            let mut layout = array.layout.clone();
            layout.shape[1] = self.n_draws;
            layouts.push((array.path.clone(), layout));
        }
        for group in &self.draw_groups {
            let layout = Layout {
                kind: Kind::Integer,
                dims: vec!["draw".into()],
                shape: vec![self.n_draws],
                chunk: vec![self.chunks.draws],
            };
            layouts.push((format!("{group}/draw"), layout));
        }
        for (path, layout) in layouts {
            let node = layout.json();
            // Also beside the chunks, for readers that do not look at the root.
            self.put(
                &format!("{path}/zarr.json"),
                node.to_string().as_bytes(),
                Flush::Later,
            )?;
            members.insert(path, node);
        }
        let mut attributes = attributes_json(attributes);
        attributes["fitzroy_chunk_draws"] = json!(self.chunks.draws);
        if self.chunks.elements < usize::MAX {
            attributes["fitzroy_chunk_elements"] = json!(self.chunks.elements);
        }
        // Members are sorted; this is the order of the model.
        let order: Vec<&str> = self.arrays.iter().map(|a| a.path.as_str()).collect();
        attributes[ORDER] = json!(order);
        let root = group_json(attributes, members).to_string();
        if flush == Flush::Disk {
            flush_folder(&self.root);
        }
        self.put("zarr.json", root.as_bytes(), flush)?;
        if flush == Flush::Disk {
            flush_folder(&self.root);
        }
        self.n_published = self.n_draws;
        Ok(())
    }

    /// Goes on with a store that was published with `n_draws` draws: `tail` holds the draws since
    /// the last full chunk, in the layout of `template`.
    ///
    /// # Errors
    /// Those of [`ZarrStream::create`].
    pub fn resume(
        root: &Path,
        template: &Trace,
        chunks: Chunks,
        n_draws: usize,
        tail: &[Group],
    ) -> Result<Self> {
        let mut stream = Self::with_chunks(root, template, chunks)?;
        stream.n_draws = n_draws - n_draws % stream.chunks.draws;
        stream.append(tail, Flush::Later)?;
        stream.n_published = n_draws;
        Ok(stream)
    }
}
