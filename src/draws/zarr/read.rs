//! Reading a store, ours or one that Zarr for Python wrote.

use super::super::netcdf::translate_statistics;
use super::super::netcdf::{chain_and_draw_first, is_draw_group, is_trace_group, labels_of_reals};
use super::super::{Attribute, Column, Group, Labels, Trace, Variable};
use super::array::{Elements, Plan, indices, plan, unpack, wrong};
use super::files::Files;
use super::filters::undo;
use super::metadata::{ORDER, attributes_of, chunk_keys};
use super::version2;
use crate::{Error, ErrorKind, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

/// Reads a trace from a Zarr store: the folder that a run of Fitzroy writes (also while it runs),
/// or one of xarray, of version 3 or 2.
///
/// What is said of names, types and labels at [`read_netcdf`](super::super::read_netcdf) holds here
/// too. Chunks may be plain, `zstd`, `gzip`, `zlib`, `lz4`, `blosc` or `crc32c`.
///
/// # Errors
/// `Io` when a file cannot be read; `Data` when the folder is no store, a chunk is
/// damaged or has another codec, or there is no group of a trace. The message begins with the path.
pub fn read_zarr(path: impl AsRef<Path>) -> Result<Trace> {
    let path = path.as_ref();
    let trace = Store::open(path).and_then(|store| store.trace());
    trace.map_err(|error| error.context(path.display()))
}

/// An open store.
pub(crate) struct Store {
    files: Files,
    /// `zarr.json` of everything below the root, by path.
    nodes: BTreeMap<String, Value>,
    /// Paths of arrays in the order of the model; none in stores of others.
    order: Vec<String>,
    /// Attributes of the root.
    pub(crate) attributes: Vec<(String, Attribute)>,
}

impl Store {
    /// Reads the metadata of the store at `root`.
    pub(crate) fn open(root: &Path) -> Result<Store> {
        let io = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::InvalidData => wrong(error.to_string()),
            _ => Error::new(ErrorKind::Io, crate::data::io_message(&error)),
        };
        let files = Files::open(root).map_err(io)?;
        let bytes = match files.read("zarr.json") {
            Ok(bytes) => bytes,
            Err(_) if files.read(".zgroup").is_ok() => {
                let (node, nodes) = version2::read(&files)?;
                return Ok(Store {
                    files,
                    nodes,
                    order: Vec::new(),
                    attributes: attributes_of(&node),
                });
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && root.is_dir() => {
                return Err(wrong(
                    "this folder is not a Zarr store: it has no zarr.json",
                ));
            }
            Err(error) => return Err(io(error)),
        };
        let node: Value = serde_json::from_slice(&bytes)
            .map_err(|error| wrong(format!("zarr.json is damaged ({error})")))?;
        if node["zarr_format"] != 3 || node["node_type"] != "group" {
            return Err(wrong("zarr.json is not that of a group of Zarr version 3"));
        }
        let mut nodes = BTreeMap::new();
        match node["consolidated_metadata"]["metadata"].as_object() {
            Some(members) => nodes.extend(members.iter().map(|(k, v)| (k.clone(), v.clone()))),
            None => walk(&files, "", &mut nodes)?,
        }
        Ok(Store {
            files,
            nodes,
            order: serde_json::from_value(node["attributes"][ORDER].clone()).unwrap_or_default(),
            attributes: attributes_of(&node),
        })
    }

    /// `zarr.json` of everything below the root, by path.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.nodes.iter()
    }

    /// Refuses to go on with arrays whose chunks have other names than those that would be added.
    pub(crate) fn check_chunk_keys(&self) -> Result<()> {
        let arrays = self.nodes.iter().filter(|(_, n)| n["node_type"] == "array");
        let ours = chunk_keys();
        let other = arrays.map(|(path, node)| (path, &node["chunk_key_encoding"]));
        match other.into_iter().find(|(_, keys)| **keys != ours) {
            None => Ok(()),
            Some((path, keys)) => Err(wrong(format!(
                "the chunks of {path} are named as {keys} says, and those to come would be as \
                 {ours} says: its draws can be read, but nothing can be added to them; start anew \
                 with ⟨overwrite⟩ or another ⟨out⟩"
            ))),
        }
    }

    /// The whole store.
    pub(crate) fn trace(&self) -> Result<Trace> {
        self.trace_of(0..usize::MAX)
    }

    /// The store with some of its draws, those of them that there are.
    pub(crate) fn trace_of(&self, draws: Range<usize>) -> Result<Trace> {
        let mut trace = Trace {
            attributes: self.attributes.clone(),
            ..Trace::default()
        };
        let groups = self.nodes.iter().filter(|(_, n)| n["node_type"] == "group");
        for (name, node) in groups.filter(|(name, _)| is_trace_group(name)) {
            let group = self.group((name, node), &draws, &mut trace.coords);
            let group = group.map_err(|error| error.context(format!("group `{name}`")))?;
            trace.groups.push(group);
        }
        if trace.groups.is_empty() {
            let held: Vec<&str> = self.nodes.keys().map(String::as_str).take(8).collect();
            return Err(wrong(format!(
                "the store holds no trace: it needs a group such as `posterior`, it has {}",
                if held.is_empty() {
                    "nothing".into()
                } else {
                    held.join(", ")
                }
            )));
        }
        trace.groups.sort_by_key(|g| order(&g.name));
        Ok(trace)
    }

    fn group(
        &self,
        (name, node): (&str, &Value),
        draws: &Range<usize>,
        coords: &mut BTreeMap<String, Labels>,
    ) -> Result<Group> {
        let mut group = Group {
            name: name.into(),
            attributes: attributes_of(node),
            ..Group::default()
        };
        let prefix = format!("{name}/");
        let mut without_draws = None;
        for (path, node) in self.nodes.range(prefix.clone()..) {
            let Some(member) = path.strip_prefix(&prefix) else {
                break;
            };
            if node["node_type"] != "array" || member.contains('/') {
                continue;
            }
            let context = |error: Error| error.context(format!("`{member}`"));
            let Some(plan) = plan(node, member, is_draw_group(name)).map_err(context)? else {
                continue; // A type that a trace does not hold.
            };
            let some = |(dim, &n): (&String, &usize)| match dim == "draw" {
                true => draws.start.min(n)..draws.end.min(n),
                false => 0..n,
            };
            let wanted: Vec<Range<usize>> = plan.dims.iter().zip(&plan.shape).map(some).collect();
            let elements = self.array(path, &plan, &wanted).map_err(context)?;
            if plan.dims == [member] {
                if let Some(labels) = labels(elements) {
                    coords.entry(member.into()).or_insert(labels);
                }
                continue;
            }
            let Elements::Numbers(values) = elements else {
                continue; // Text is no part of a trace.
            };
            let mut variable = Variable {
                name: member.into(),
                dims: plan.dims,
                shape: wanted.iter().map(Range::len).collect(),
                values,
            };
            if is_draw_group(name) && !chain_and_draw_first(&mut variable) {
                without_draws.get_or_insert((variable.name, variable.dims));
                continue;
            }
            group.variables.push(variable);
        }
        let place = |v: &Variable| {
            let path = format!("{prefix}{}", v.name);
            self.order
                .iter()
                .position(|o| *o == path)
                .unwrap_or(usize::MAX)
        };
        group.variables.sort_by_cached_key(place);
        if let (true, Some((variable, dims))) = (group.variables.is_empty(), without_draws) {
            return Err(wrong(format!(
                "`{variable}` has the dims {dims:?}; draws need `chain` and `draw`"
            )));
        }
        if name.ends_with("sample_stats") {
            translate_statistics(&mut group.variables);
        }
        Ok(group)
    }

    /// What of an array lies in `wanted`, a range on every axis.
    pub(super) fn array(
        &self,
        path: &str,
        plan: &Plan,
        wanted: &[Range<usize>],
    ) -> Result<Elements> {
        let (mut out, chunks) = plan.room(wanted)?;
        for index in indices(&chunks) {
            if let Some(bytes) = self.chunk(path, plan, &index)? {
                plan.place((&mut out, wanted), &plan.decode(&bytes)?, &index);
            }
        }
        Ok(out)
    }

    /// The decoded bytes of a chunk; none where it was never written, which in a store of ours is damage: a
    /// run writes every chunk before it says that there are draws in it.
    fn chunk(&self, path: &str, plan: &Plan, index: &[usize]) -> Result<Option<Vec<u8>>> {
        let (key, read) = match &plan.shards {
            None => {
                let key = plan.key(index);
                let read = self.files.read(&format!("{path}/{key}")).map(Some);
                (key, read)
            }
            Some(shards) => {
                let (shard, which) = shards.place(index);
                let key = plan.key(&shard);
                let read = shards.chunk(&self.files, &format!("{path}/{key}"), which);
                (key, read)
            }
        };
        let mut bytes = match read {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return match self.order.is_empty() || !plan.is_ours() {
                    true => Ok(None),
                    false => Err(wrong(format!(
                        "{path}/{key} is not there: a part of the run was lost"
                    ))),
                };
            }
            Err(error) => return Err(Error::new(ErrorKind::Io, crate::data::io_message(&error))),
        };
        let context = |error: Error| error.context(format!("chunk {key}"));
        for codec in plan.codecs.iter().rev() {
            let name = codec["name"].as_str().unwrap_or("");
            let name = name.strip_prefix("numcodecs.").unwrap_or(name);
            let undone = undo((name, codec), &bytes, &plan.chunk, plan.element_bytes());
            bytes = match undone.map_err(context)? {
                Some(undone) => undone,
                None => unpack(name, bytes).map_err(context)?,
            };
        }
        Ok(Some(bytes))
    }
}

/// Collects `zarr.json` of everything below `path`.
fn walk(files: &Files, path: &str, nodes: &mut BTreeMap<String, Value>) -> Result<()> {
    let io = |error: std::io::Error| Error::new(ErrorKind::Io, crate::data::io_message(&error));
    for name in files.folders(path).map_err(io)? {
        let below = if path.is_empty() {
            name
        } else {
            format!("{path}/{name}")
        };
        let Ok(bytes) = files.read(&format!("{below}/zarr.json")) else {
            continue;
        };
        let node: Value = serde_json::from_slice(&bytes)
            .map_err(|error| wrong(format!("{below}/zarr.json is damaged ({error})")))?;
        let group = node["node_type"] == "group";
        nodes.insert(below.clone(), node);
        if group {
            walk(files, &below, nodes)?;
        }
    }
    Ok(())
}

/// The usual order of the groups.
fn order(name: &str) -> usize {
    const ORDER: [&str; 8] = [
        "posterior",
        "prior",
        "predictions",
        "posterior_predictive",
        "prior_predictive",
        "log_likelihood",
        "sample_stats",
        "sample_stats_prior",
    ];
    ORDER.iter().position(|o| *o == name).unwrap_or(ORDER.len())
}

fn labels(elements: Elements) -> Option<Labels> {
    match elements {
        Elements::Texts(v) => Some(Labels::Text(v)),
        Elements::Numbers(Column::Integer(v)) => Some(Labels::Integers(v)),
        Elements::Numbers(Column::Real(v)) => Some(labels_of_reals(&v)),
        Elements::Numbers(Column::Flag(_)) => None,
    }
}
