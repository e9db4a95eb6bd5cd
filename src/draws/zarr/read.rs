//! Reading a store, ours or one that Zarr for Python wrote.

use super::super::netcdf::translate_statistics;
use super::super::netcdf::{chain_and_draw_first, is_draw_group, is_trace_group, labels_of_reals};
use super::super::{Attribute, Column, Group, Labels, Trace, Variable};
use super::metadata::attributes_of;
use crate::{Error, ErrorKind, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Reads a trace from a Zarr v3 store: the folder that a run of Fitzroy writes (also while it
/// runs), or one of xarray.
///
/// What is said of names, types and labels at [`read_netcdf`](super::super::read_netcdf) holds here
/// too. Chunks may be plain, `zstd`, `gzip` or `crc32c`.
///
/// # Errors
/// `Io` when a file cannot be read; `Data` when the folder is no store of version 3, a chunk is
/// damaged or has another codec, or there is no group of a trace. The message begins with the path.
pub fn read_zarr(path: impl AsRef<Path>) -> Result<Trace> {
    let path = path.as_ref();
    let trace = Store::open(path).and_then(|store| store.trace());
    trace.map_err(|error| error.context(path.display()))
}

/// Elements of one array that are believed, at most.
const ELEMENTS_MAX: usize = 1 << 33;

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Data, message)
}

/// An open store.
pub(crate) struct Store {
    root: PathBuf,
    /// `zarr.json` of everything below the root, by path.
    nodes: BTreeMap<String, Value>,
    /// Attributes of the root.
    pub(crate) attributes: Vec<(String, Attribute)>,
}

/// What elements are stored as.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stored {
    Float(usize),
    Signed(usize),
    Unsigned(usize),
    Flag,
    Text,
    /// UTF-32, bytes of one text.
    Wide(usize),
}

/// How to read an array.
struct Plan {
    stored: Stored,
    shape: Vec<usize>,
    chunk: Vec<usize>,
    dims: Vec<String>,
    separator: String,
    prefix: bool,
    codecs: Vec<Value>,
    big_endian: bool,
    fill: Value,
}

/// Elements of a chunk or of a whole array.
enum Elements {
    Numbers(Column),
    Texts(Vec<String>),
}

impl Store {
    /// Reads the metadata of the store at `root`.
    pub(crate) fn open(root: &Path) -> Result<Store> {
        let text = match fs::read_to_string(root.join("zarr.json")) {
            Ok(text) => text,
            Err(_) if root.join(".zgroup").exists() => {
                return Err(wrong(
                    "this is a Zarr store of version 2; save it anew with zarr 3 or as NetCDF",
                ));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && root.is_dir() => {
                return Err(wrong(
                    "this folder is not a Zarr store: it has no zarr.json",
                ));
            }
            Err(error) => {
                return Err(Error::new(ErrorKind::Io, crate::data::io_message(&error)));
            }
        };
        let node: Value = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("zarr.json is damaged ({error})")))?;
        if node["zarr_format"] != 3 || node["node_type"] != "group" {
            return Err(wrong("zarr.json is not that of a group of Zarr version 3"));
        }
        let mut nodes = BTreeMap::new();
        match node["consolidated_metadata"]["metadata"].as_object() {
            Some(members) => nodes.extend(members.iter().map(|(k, v)| (k.clone(), v.clone()))),
            None => walk(root, "", &mut nodes)?,
        }
        Ok(Store {
            root: root.to_path_buf(),
            nodes,
            attributes: attributes_of(&node),
        })
    }

    /// The whole store.
    pub(crate) fn trace(&self) -> Result<Trace> {
        let mut trace = Trace {
            attributes: self.attributes.clone(),
            ..Trace::default()
        };
        let groups = self.nodes.iter().filter(|(_, n)| n["node_type"] == "group");
        for (name, node) in groups.filter(|(name, _)| is_trace_group(name)) {
            let group = self.group(name, node, &mut trace.coords);
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
        name: &str,
        node: &Value,
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
            let read = self.array(path, member, is_draw_group(name), node);
            let (plan, elements) = match read.map_err(|e| e.context(format!("`{member}`")))? {
                Some(read) => read,
                None => continue,
            };
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
                shape: plan.shape,
                values,
            };
            if is_draw_group(name) && !chain_and_draw_first(&mut variable) {
                without_draws.get_or_insert((variable.name, variable.dims));
                continue;
            }
            group.variables.push(variable);
        }
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

    /// An array; none where its type is not one that a trace holds.
    fn array(
        &self,
        path: &str,
        name: &str,
        draws: bool,
        node: &Value,
    ) -> Result<Option<(Plan, Elements)>> {
        let Some(plan) = plan(node, name, draws)? else {
            return Ok(None);
        };
        let n = plan
            .shape
            .iter()
            .try_fold(1_usize, |n, &s| n.checked_mul(s));
        let Some(n) = n.filter(|&n| n <= ELEMENTS_MAX) else {
            return Err(wrong(format!("shape {:?} is too large", plan.shape)));
        };
        let mut out = plan.empty(n)?;
        let counts: Vec<usize> = plan
            .shape
            .iter()
            .zip(&plan.chunk)
            .map(|(s, c)| s.div_ceil(*c))
            .collect();
        let mut index = vec![0; counts.len()];
        if n == 0 {
            return Ok(Some((plan, out)));
        }
        loop {
            if let Some(bytes) = self.chunk(path, &plan, &index)? {
                let elements = plan.decode(&bytes)?;
                plan.place(&mut out, &elements, &index);
            }
            if !advance(&mut index, &counts) {
                return Ok(Some((plan, out)));
            }
        }
    }

    /// The decoded bytes of a chunk; none where it was never written.
    fn chunk(&self, path: &str, plan: &Plan, index: &[usize]) -> Result<Option<Vec<u8>>> {
        let mut key: Vec<String> = index.iter().map(usize::to_string).collect();
        if plan.prefix {
            key.insert(0, "c".into());
        }
        let key = match key.is_empty() {
            true => "0".into(), // A scalar of version 2 keys.
            false => key.join(&plan.separator),
        };
        let file = self.root.join(path).join(&key);
        let mut bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::new(ErrorKind::Io, crate::data::io_message(&error))),
        };
        for codec in plan.codecs.iter().rev() {
            bytes = unpack(codec["name"].as_str().unwrap_or(""), bytes)
                .map_err(|error| error.context(format!("chunk {key}")))?;
        }
        Ok(Some(bytes))
    }
}

/// Collects `zarr.json` of everything below `path`.
fn walk(root: &Path, path: &str, nodes: &mut BTreeMap<String, Value>) -> Result<()> {
    let io = |error: std::io::Error| Error::new(ErrorKind::Io, crate::data::io_message(&error));
    for entry in fs::read_dir(root.join(path)).map_err(io)? {
        let name = entry
            .map_err(io)?
            .file_name()
            .to_string_lossy()
            .into_owned();
        let below = if path.is_empty() {
            name
        } else {
            format!("{path}/{name}")
        };
        let Ok(text) = fs::read_to_string(root.join(&below).join("zarr.json")) else {
            continue;
        };
        let node: Value = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("{below}/zarr.json is damaged ({error})")))?;
        let group = node["node_type"] == "group";
        nodes.insert(below.clone(), node);
        if group {
            walk(root, &below, nodes)?;
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

/// The next chunk, last axis fastest; false after the last.
fn advance(index: &mut [usize], counts: &[usize]) -> bool {
    for (i, &count) in index.iter_mut().zip(counts).rev() {
        *i += 1;
        if *i < count {
            return true;
        }
        *i = 0;
    }
    false
}

fn unpack(codec: &str, bytes: Vec<u8>) -> Result<Vec<u8>> {
    let damaged = |error: std::io::Error| wrong(format!("it is damaged or cut short ({error})"));
    let mut out = Vec::new();
    match codec {
        "bytes" | "vlen-utf8" => return Ok(bytes),
        "gzip" => {
            let mut decoder = flate2::read::GzDecoder::new(bytes.as_slice());
            decoder.read_to_end(&mut out).map_err(damaged)?;
        }
        "zstd" => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(bytes.as_slice());
            let mut decoder = decoder.map_err(|e| wrong(format!("it is damaged ({e})")))?;
            decoder.read_to_end(&mut out).map_err(damaged)?;
        }
        "crc32c" if bytes.len() >= 4 => {
            out = bytes;
            out.truncate(out.len() - 4);
        }
        other => {
            return Err(wrong(format!(
                "codec `{other}` is not known; zstd, gzip and none are: save the trace anew, or \
                 as NetCDF"
            )));
        }
    }
    Ok(out)
}

fn plan(node: &Value, name: &str, draws: bool) -> Result<Option<Plan>> {
    let numbers = |value: &Value| -> Option<Vec<usize>> {
        let list = value.as_array()?.iter();
        list.map(|n| n.as_u64().map(|n| n as usize)).collect()
    };
    let bad = |what: &str| wrong(format!("zarr.json has no valid {what}"));
    let shape = numbers(&node["shape"]).ok_or_else(|| bad("shape"))?;
    let chunk = numbers(&node["chunk_grid"]["configuration"]["chunk_shape"]);
    let chunk = chunk.filter(|c| c.len() == shape.len() && !c.contains(&0));
    let chunk = chunk.ok_or_else(|| bad("chunk_shape"))?;
    let Some(stored) = stored(&node["data_type"]) else {
        return Ok(None);
    };
    let codecs = node["codecs"].as_array().cloned().unwrap_or_default();
    let big_endian = codecs.iter().any(|c| c["configuration"]["endian"] == "big");
    let named = node["dimension_names"].as_array();
    let dim = |axis: usize| {
        let name_of = named.and_then(|n| n.get(axis)).and_then(Value::as_str);
        name_of.map_or_else(|| guess(name, axis, draws), str::to_string)
    };
    let encoding = &node["chunk_key_encoding"];
    let default = encoding["name"] != "v2";
    let separator = encoding["configuration"]["separator"].as_str();
    Ok(Some(Plan {
        stored,
        dims: (0..shape.len()).map(dim).collect(),
        shape,
        chunk,
        separator: separator.unwrap_or(if default { "/" } else { "." }).into(),
        prefix: default,
        codecs,
        big_endian,
        fill: node["fill_value"].clone(),
    }))
}

fn guess(name: &str, axis: usize, draws: bool) -> String {
    match (axis, draws) {
        (0, true) => "chain".into(),
        (1, true) => "draw".into(),
        (axis, true) => format!("{name}_dim_{}", axis - 2),
        (axis, false) => format!("{name}_dim_{axis}"),
    }
}

fn stored(data_type: &Value) -> Option<Stored> {
    if data_type["name"] == "fixed_length_utf32" {
        let bytes = data_type["configuration"]["length_bytes"].as_u64()? as usize;
        return (bytes > 0 && bytes.is_multiple_of(4)).then_some(Stored::Wide(bytes));
    }
    Some(match data_type.as_str()? {
        "float64" => Stored::Float(8),
        "float32" => Stored::Float(4),
        "int64" => Stored::Signed(8),
        "int32" => Stored::Signed(4),
        "int16" => Stored::Signed(2),
        "int8" => Stored::Signed(1),
        "uint64" => Stored::Unsigned(8),
        "uint32" => Stored::Unsigned(4),
        "uint16" => Stored::Unsigned(2),
        "uint8" => Stored::Unsigned(1),
        "bool" => Stored::Flag,
        "string" => Stored::Text,
        _ => return None,
    })
}

impl Plan {
    /// `n` fill values.
    fn empty(&self, n: usize) -> Result<Elements> {
        fn filled<T: Clone>(n: usize, value: T) -> Result<Vec<T>> {
            let mut out = Vec::new();
            let room = out.try_reserve_exact(n);
            room.map_err(|_| wrong(format!("{n} elements do not fit into memory")))?;
            out.resize(n, value);
            Ok(out)
        }
        let real = self.fill.as_f64().unwrap_or(f64::NAN);
        Ok(match self.stored {
            Stored::Float(_) => Elements::Numbers(Column::Real(filled(n, real)?)),
            Stored::Signed(_) | Stored::Unsigned(_) => {
                let fill = self.fill.as_i64().unwrap_or(0);
                Elements::Numbers(Column::Integer(filled(n, fill)?))
            }
            Stored::Flag => {
                let fill = self.fill.as_bool().unwrap_or(false);
                Elements::Numbers(Column::Flag(filled(n, fill)?))
            }
            Stored::Text | Stored::Wide(_) => Elements::Texts(filled(n, String::new())?),
        })
    }

    /// The elements of a chunk.
    fn decode(&self, bytes: &[u8]) -> Result<Elements> {
        let n: usize = self.chunk.iter().product();
        let size = match self.stored {
            Stored::Float(s) | Stored::Signed(s) | Stored::Unsigned(s) | Stored::Wide(s) => s,
            Stored::Flag => 1,
            Stored::Text => 0,
        };
        if size > 0 && bytes.len() != n * size {
            let message = format!("a chunk has {} bytes, {} are needed", bytes.len(), n * size);
            return Err(wrong(message));
        }
        let word = |b: &[u8]| -> u64 {
            let push = |n: u64, b: &u8| n << 8 | u64::from(*b);
            match self.big_endian {
                true => b.iter().fold(0, push),
                false => b.iter().rev().fold(0, push),
            }
        };
        let words = bytes.chunks_exact(size.max(1)).map(word);
        Ok(match self.stored {
            Stored::Float(8) => {
                Elements::Numbers(Column::Real(words.map(f64::from_bits).collect()))
            }
            Stored::Float(_) => {
                let single = |w: u64| f64::from(f32::from_bits(w as u32));
                Elements::Numbers(Column::Real(words.map(single).collect()))
            }
            Stored::Signed(size) => {
                let unused = 64 - 8 * size as u32;
                let signed = |w: u64| ((w << unused) as i64) >> unused;
                Elements::Numbers(Column::Integer(words.map(signed).collect()))
            }
            Stored::Unsigned(_) => {
                Elements::Numbers(Column::Integer(words.map(|w| w as i64).collect()))
            }
            Stored::Flag => {
                Elements::Numbers(Column::Flag(bytes.iter().map(|&b| b != 0).collect()))
            }
            Stored::Text => Elements::Texts(texts(bytes, n)?),
            Stored::Wide(size) => {
                let text = |b: &[u8]| {
                    let points = b.chunks_exact(4).map(|c| word(c) as u32);
                    let points = points.take_while(|&c| c != 0);
                    points
                        .map(|c| char::from_u32(c).unwrap_or('\u{fffd}'))
                        .collect()
                };
                Elements::Texts(bytes.chunks_exact(size).map(text).collect())
            }
        })
    }

    /// Copies what of a chunk lies inside the array to its place.
    fn place(&self, out: &mut Elements, chunk: &Elements, index: &[usize]) {
        match (out, chunk) {
            (Elements::Numbers(Column::Real(to)), Elements::Numbers(Column::Real(from))) => {
                self.copy(to, from, index);
            }
            (Elements::Numbers(Column::Integer(to)), Elements::Numbers(Column::Integer(from))) => {
                self.copy(to, from, index);
            }
            (Elements::Numbers(Column::Flag(to)), Elements::Numbers(Column::Flag(from))) => {
                self.copy(to, from, index);
            }
            (Elements::Texts(to), Elements::Texts(from)) => self.copy(to, from, index),
            _ => unreachable!("both come from one plan"),
        }
    }

    fn copy<T: Clone>(&self, to: &mut [T], from: &[T], index: &[usize]) {
        let Some(last) = self.shape.len().checked_sub(1) else {
            to.clone_from_slice(&from[..1]);
            return;
        };
        let start: Vec<usize> = index.iter().zip(&self.chunk).map(|(i, c)| i * c).collect();
        let inside = (0..=last).map(|a| self.chunk[a].min(self.shape[a] - start[a]));
        let inside: Vec<usize> = inside.collect();
        let mut row = vec![0; last];
        loop {
            let flat = |sizes: &[usize], at: &dyn Fn(usize) -> usize| {
                (0..=last).fold(0, |flat, a| flat * sizes[a] + at(a))
            };
            let here = |a: usize| if a < last { row[a] } else { 0 };
            let source = flat(&self.chunk, &here);
            let target = flat(&self.shape, &|a| start[a] + here(a));
            let n = inside[last];
            to[target..target + n].clone_from_slice(&from[source..source + n]);
            if !advance(&mut row, &inside[..last]) {
                return;
            }
        }
    }
}

/// Texts as `vlen-utf8` writes them: a count, then length and bytes of each.
fn texts(bytes: &[u8], n: usize) -> Result<Vec<String>> {
    let short = || wrong("a chunk of texts is cut short");
    let mut rest = bytes;
    let mut take = |n: usize| -> Result<&[u8]> {
        let (head, tail) = rest.split_at_checked(n).ok_or_else(short)?;
        rest = tail;
        Ok(head)
    };
    let length = |b: &[u8]| b.iter().rev().fold(0, |n, &b| n << 8 | usize::from(b));
    let count = length(take(4)?);
    let mut out = Vec::new();
    for _ in 0..count.min(n) {
        let size = length(take(4)?);
        out.push(String::from_utf8_lossy(take(size)?).into_owned());
    }
    out.resize(n, String::new());
    Ok(out)
}

fn labels(elements: Elements) -> Option<Labels> {
    match elements {
        Elements::Texts(v) => Some(Labels::Text(v)),
        Elements::Numbers(Column::Integer(v)) => Some(Labels::Integers(v)),
        Elements::Numbers(Column::Real(v)) => Some(labels_of_reals(&v)),
        Elements::Numbers(Column::Flag(_)) => None,
    }
}
