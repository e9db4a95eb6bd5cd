//! Writing a store, block by block.

use super::super::{Attribute, Flush, Group, Labels, Trace};
use super::chunk::{bytes_of, bytes_of_labels, flush_folder, push, put_file};
use super::metadata::{Kind, Layout, attributes_json, dimensions, group_json, labels_for};
use crate::Result;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Bytes of one chunk of all arrays together, at most.
const CHUNK_BYTES: usize = 16 << 20;
/// Chunks into which a run is cut unless they would be larger than that.
const CHUNKS: usize = 10;

/// An array of draws that grows.
struct Growing {
    /// `posterior/mu`.
    path: String,
    layout: Layout,
    /// Elements of one draw.
    elements: usize,
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
    chunk_draws: usize,
    n_draws: usize,
    n_published: usize,
}

impl ZarrStream {
    /// Starts a store at `root`, which must not exist, in the layout of `template`: its groups of
    /// draws, in which `chain` and `draw` come first, will grow, whatever draws `template` has;
    /// others are written now. Groups of the warm-up, whose draws have another count, are left out.
    ///
    /// `total` draws per chain are expected; they decide how large chunks are.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn create(root: &Path, template: &Trace, total: usize) -> Result<Self> {
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
        let room = CHUNK_BYTES / per_draw.max(1);
        let chunk_draws = total.div_ceil(CHUNKS).min(room).max(1);
        Self::with_chunks(root, template, chunk_draws)
    }

    /// The same with chunks of `chunk_draws` draws.
    ///
    /// # Errors
    /// Those of [`ZarrStream::create`].
    pub fn with_chunks(root: &Path, template: &Trace, chunk_draws: usize) -> Result<Self> {
        let mut stream = ZarrStream {
            root: root.to_path_buf(),
            arrays: Vec::new(),
            fixed: BTreeMap::new(),
            draw_groups: Vec::new(),
            chunk_draws: chunk_draws.max(1),
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
        self.chunk_draws - self.n_draws % self.chunk_draws
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
                chunk[1] = self.chunk_draws;
                self.arrays.push(Growing {
                    path,
                    elements: variable.elements(),
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
        let places = vec!["0"; layout.shape.len()].join("/");
        let key = match places.is_empty() {
            true => format!("{path}/c"),
            false => format!("{path}/c/{places}"),
        };
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
            if self.n_draws.is_multiple_of(self.chunk_draws) {
                self.write_chunk(self.n_draws / self.chunk_draws - 1, flush)?;
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
            let size = array.layout.kind.size();
            let full = self.chunk_draws * array.elements * size;
            let mut bytes = Vec::with_capacity(full * array.pending.len());
            for (chain, pending) in array.pending.iter().enumerate() {
                bytes.extend(pending);
                let end = (chain + 1) * full;
                match array.layout.kind {
                    Kind::Real => {
                        while bytes.len() < end {
                            bytes.extend(f64::NAN.to_le_bytes());
                        }
                    }
                    _ => bytes.resize(end, 0),
                }
            }
            let rest = "/0".repeat(array.layout.shape.len() - 2);
            self.put(&format!("{}/c/0/{index}{rest}", array.path), &bytes, flush)?;
        }
        let numbers = index * self.chunk_draws..(index + 1) * self.chunk_draws;
        let numbers: Vec<u8> = numbers.flat_map(|n| (n as i64).to_le_bytes()).collect();
        for group in &self.draw_groups {
            self.put(&format!("{group}/draw/c/{index}"), &numbers, flush)?;
        }
        Ok(())
    }

    /// Shows everything appended so far to readers, by renaming one file.
    ///
    /// # Errors
    /// A file cannot be written; readers then see what was published before.
    pub fn publish(&mut self, attributes: &[(String, Attribute)], flush: Flush) -> Result<()> {
        if !self.n_draws.is_multiple_of(self.chunk_draws) {
            self.write_chunk(self.n_draws / self.chunk_draws, flush)?;
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
                chunk: vec![self.chunk_draws],
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
        attributes["fitzroy_chunk_draws"] = json!(self.chunk_draws);
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
        chunk_draws: usize,
        n_draws: usize,
        tail: &[Group],
    ) -> Result<Self> {
        let mut stream = Self::with_chunks(root, template, chunk_draws)?;
        stream.n_draws = n_draws - n_draws % stream.chunk_draws;
        stream.append(tail, Flush::Later)?;
        stream.n_published = n_draws;
        Ok(stream)
    }
}
