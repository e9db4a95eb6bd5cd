//! Reading a trace, ours or one that ArviZ saved.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::path::Path;

use rust_hdf5::{DatatypeMessage, H5Dataset, H5File, Hdf5Error};

use super::super::{Column, Group, Labels, Trace, Variable};
use super::objects::{Object, Objects};
use super::{DATA_GROUPS, DRAW_GROUPS, meaning};
use crate::{Error, ErrorKind, Result};

/// How a scale says that it is a dimension without labels.
const NO_LABELS: &str = "This is a netCDF dimension but not a netCDF variable";

/// Deflate makes data at most this many times smaller.
const DEFLATE_MAX: u64 = 1100;

/// Reads a trace from a NetCDF-4 file of Fitzroy or of ArviZ (0.x and 1.x; PyMC, nutpie, NumPyro,
/// CmdStan).
///
/// - In groups of draws `chain` and `draw` are moved to the front.
/// - Whole numbers of any width become i64, `f32` is widened, flags stored as numbers become
///   flags, and sampler statistics get our names (`depth` is read as `tree_depth`, and so on).
/// - `coords` takes the labels of a dimension from the first group that has them.
/// - Left out are variables of other types (text, dates as objects), variables without `chain`
///   and `draw` in groups of draws, lists among the attributes, and groups that ArviZ does not
///   define.
///
/// # Errors
/// `Io` when the file cannot be read; `Data` when it is no NetCDF-4 file, is damaged or cut short,
/// or holds no group of a trace. The message begins with the path.
pub fn read_netcdf(path: impl AsRef<Path>) -> Result<Trace> {
    let path = path.as_ref();
    let trace = check_kind(path).and_then(|()| Reader::open(path)?.trace());
    trace.map_err(|error| error.context(path.display()))
}

fn damaged(error: impl std::fmt::Display) -> Error {
    Error::data(format!("the file is damaged or cut short ({error})"))
}

/// Refuses what cannot be a NetCDF-4 file, by its first bytes.
fn check_kind(path: &Path) -> Result<()> {
    let io = |error: std::io::Error| Error::new(ErrorKind::Io, crate::data::io_message(&error));
    if path.is_dir() {
        return Err(Error::data("this is a folder, not a NetCDF file"));
    }
    let mut start = Vec::new();
    fs::File::open(path)
        .map_err(io)?
        .take(8)
        .read_to_end(&mut start)
        .map_err(io)?;
    if start == *b"\x89HDF\r\n\x1a\n" {
        return Ok(());
    }
    Err(Error::data(match start.as_slice() {
        [] => "the file is empty",
        [b'C', b'D', b'F', ..] => {
            "this is a NetCDF-3 file, which cannot hold the groups of a trace; save it as NetCDF-4"
        }
        _ => "this is not a NetCDF-4 file",
    }))
}

/// A dimension as one group defines it.
struct Scale {
    name: String,
    labels: Option<Labels>,
}

struct Reader {
    objects: Objects,
    file: H5File,
    file_bytes: u64,
    scales: BTreeMap<u64, Scale>,
}

impl Reader {
    fn open(path: &Path) -> Result<Reader> {
        let objects = Objects::open(path).map_err(damaged)?;
        let file = H5File::options().no_locking().open(path).map_err(damaged)?;
        let file_bytes = fs::metadata(path).map_or(0, |m| m.len());
        Ok(Reader {
            objects,
            file,
            file_bytes,
            scales: BTreeMap::new(),
        })
    }

    fn trace(&mut self) -> Result<Trace> {
        let mut trace = Trace::default();
        let root = self.objects.object(self.objects.root()).map_err(damaged)?;
        trace.attributes = self.attributes(&root);
        self.scales_of("", &root)?;
        let mut others = Vec::new();
        for (name, address) in &root.links {
            let known =
                DRAW_GROUPS.contains(&name.as_str()) || DATA_GROUPS.contains(&name.as_str());
            if !known {
                others.push(format!("`{name}`"));
                continue;
            }
            let object = self.objects.object(*address).map_err(damaged)?;
            let group = self.group(name, &object, &mut trace.coords);
            trace
                .groups
                .push(group.map_err(|error| error.context(format!("group `{name}`")))?);
        }
        if trace.groups.is_empty() {
            let held = match others.len() {
                0 => "nothing".to_string(),
                _ => others.join(", "),
            };
            return Err(Error::data(format!(
                "the file holds no trace: it needs a group such as `posterior`, it has {held}"
            )));
        }
        Ok(trace)
    }

    fn attributes(&mut self, object: &Object) -> Vec<(String, super::super::Attribute)> {
        let own = object
            .attributes
            .iter()
            .filter(|a| !a.name.starts_with('_'));
        let read =
            own.filter_map(|a| Some((a.name.clone(), meaning::attribute(&mut self.objects, a)?)));
        read.collect()
    }

    /// Notes the dimensions that `object`, the group at `path`, defines.
    fn scales_of(&mut self, path: &str, object: &Object) -> Result<BTreeSet<u64>> {
        let mut own = BTreeSet::new();
        for (name, address) in &object.links {
            let member = self.objects.object(*address).map_err(damaged)?;
            let mut text = |attribute: &str| {
                member
                    .attribute(attribute)
                    .and_then(|a| meaning::text(&mut self.objects, a))
            };
            if !member.is_dataset || text("CLASS").as_deref() != Some("DIMENSION_SCALE") {
                continue;
            }
            let without_labels = text("NAME").is_some_and(|n| n.starts_with(NO_LABELS));
            let labels = if without_labels {
                None
            } else {
                self.labels(&join(path, name))?
            };
            self.scales.insert(
                *address,
                Scale {
                    name: name.clone(),
                    labels,
                },
            );
            own.insert(*address);
        }
        Ok(own)
    }

    fn labels(&self, path: &str) -> Result<Option<Labels>> {
        let dataset = self.dataset(path)?;
        if dataset.shape().len() != 1 {
            return Ok(None);
        }
        let labels = match dataset.datatype() {
            Ok(DatatypeMessage::FixedPoint { .. }) => {
                dataset.read_numeric_as::<i64>().map(Labels::Integers)
            }
            Ok(DatatypeMessage::FloatingPoint { .. }) => dataset
                .read_numeric_as::<f64>()
                .map(|v| meaning::labels_of_reals(&v)),
            Ok(DatatypeMessage::FixedString { .. } | DatatypeMessage::VarLenString { .. }) => {
                dataset.read_strings_lossy().map(Labels::Text)
            }
            Ok(_) => return Ok(None),
            Err(error) => Err(error),
        };
        labels
            .map(Some)
            .map_err(|error| damaged(error).context(format!("`{path}`")))
    }

    /// Opens a dataset whose size the file can hold.
    fn dataset(&self, path: &str) -> Result<H5Dataset> {
        let fail = |error: Hdf5Error| damaged(error).context(format!("`{path}`"));
        let dataset = self.file.dataset(path).map_err(fail)?;
        let element = dataset.element_size() as u64;
        let bytes = dataset
            .shape()
            .iter()
            .try_fold(element, |n, &s| n.checked_mul(s as u64));
        let most = self.file_bytes.saturating_mul(DEFLATE_MAX);
        if bytes.is_none_or(|bytes| bytes > most) {
            return Err(
                damaged(format!("shape {:?} in a file this small", dataset.shape()))
                    .context(format!("`{path}`")),
            );
        }
        Ok(dataset)
    }

    fn group(
        &mut self,
        name: &str,
        object: &Object,
        coords: &mut BTreeMap<String, Labels>,
    ) -> Result<Group> {
        let mut group = Group {
            name: name.into(),
            ..Group::default()
        };
        group.attributes = self.attributes(object);
        let own_scales = self.scales_of(name, object)?;
        for address in &own_scales {
            let scale = &self.scales[address];
            if let Some(labels) = &scale.labels {
                coords
                    .entry(scale.name.clone())
                    .or_insert_with(|| labels.clone());
            }
        }
        let draws = DRAW_GROUPS.contains(&name);
        let mut without_draws = None;
        for (member, address) in &object.links {
            let header = self.objects.object(*address).map_err(damaged)?;
            if !header.is_dataset || own_scales.contains(address) {
                continue;
            }
            let Some(mut variable) = self.variable(name, member, &header)? else {
                continue;
            };
            if draws && !chain_and_draw_first(&mut variable) {
                without_draws.get_or_insert((variable.name, variable.dims));
                continue;
            }
            group.variables.push(variable);
        }
        if let (true, Some((variable, dims))) = (group.variables.is_empty(), without_draws) {
            return Err(Error::data(format!(
                "`{variable}` has the dims {dims:?}; draws need `chain` and `draw` (a flattened \
                 trace cannot be diagnosed; save the original)"
            )));
        }
        if name.ends_with("sample_stats") {
            meaning::translate_statistics(&mut group.variables);
        }
        Ok(group)
    }

    /// A variable; `None` when its type is not one that a trace holds.
    fn variable(&mut self, group: &str, name: &str, header: &Object) -> Result<Option<Variable>> {
        let path = join(group, name);
        let dataset = self.dataset(&path)?;
        let is_flag = header
            .attribute("dtype")
            .and_then(|a| meaning::text(&mut self.objects, a))
            .is_some_and(|dtype| dtype == "bool");
        let fail = |error: Hdf5Error| damaged(error).context(format!("`{path}`"));
        let values = match dataset.datatype().map_err(fail)? {
            DatatypeMessage::FixedPoint { .. } => {
                let values = dataset.read_numeric_as::<i64>().map_err(fail)?;
                match is_flag {
                    true => Column::Flag(values.iter().map(|&v| v != 0).collect()),
                    false => Column::Integer(values),
                }
            }
            DatatypeMessage::FloatingPoint { .. } => {
                Column::Real(dataset.read_numeric_as::<f64>().map_err(fail)?)
            }
            DatatypeMessage::Enum { .. } if dataset.element_size() == 1 => {
                let bytes = dataset.read_raw_bytes().map_err(fail)?;
                Column::Flag(bytes.iter().map(|&b| b != 0).collect())
            }
            _ => return Ok(None),
        };
        let shape = dataset.shape();
        let dims = self.dims(group, name, header, &shape)?;
        let n = match &values {
            Column::Real(v) => v.len(),
            Column::Integer(v) => v.len(),
            Column::Flag(v) => v.len(),
        };
        if n != shape.iter().product::<usize>() {
            return Err(damaged(format!("{n} elements for shape {shape:?}")).context(path));
        }
        Ok(Some(Variable {
            name: name.into(),
            dims,
            shape,
            values,
        }))
    }

    /// The names of a variable's dimensions: the scales attached to its axes, else a guess.
    fn dims(
        &mut self,
        group: &str,
        name: &str,
        header: &Object,
        shape: &[usize],
    ) -> Result<Vec<String>> {
        let mut dims: Vec<String> = Vec::with_capacity(shape.len());
        let list = header.attribute("DIMENSION_LIST").map(|a| a.data.clone());
        for (axis, &size) in shape.iter().enumerate() {
            let mut found = None;
            if let Some(list) = &list {
                let scales = self.objects.references(list, axis).map_err(damaged)?;
                found = scales.iter().find_map(|address| self.scales.get(address));
            }
            let guess = || match (axis, DRAW_GROUPS.contains(&group)) {
                (0, true) => "chain".to_string(),
                (1, true) => "draw".to_string(),
                (axis, true) => format!("{name}_dim_{}", axis - 2),
                (axis, false) => format!("{name}_dim_{axis}"),
            };
            if let Some(labels) = found.and_then(|scale| scale.labels.as_ref())
                && labels.len() != size
            {
                let message = format!("{} labels for {size} elements", labels.len());
                return Err(damaged(message).context(format!("`{name}`")));
            }
            dims.push(found.map_or_else(guess, |scale| scale.name.clone()));
        }
        Ok(dims)
    }
}

fn join(group: &str, name: &str) -> String {
    if group.is_empty() {
        name.to_string()
    } else {
        format!("{group}/{name}")
    }
}

/// Moves the axes `chain` and `draw` to the front; false when one is missing.
pub(in crate::draws) fn chain_and_draw_first(variable: &mut Variable) -> bool {
    let position = |dim: &str| variable.dims.iter().position(|d| d == dim);
    let (Some(chain), Some(draw)) = (position("chain"), position("draw")) else {
        return false;
    };
    if (chain, draw) == (0, 1) {
        return true;
    }
    let mut order = vec![chain, draw];
    order.extend((0..variable.dims.len()).filter(|&axis| axis != chain && axis != draw));
    let positions = transposed(&variable.shape, &order);
    variable.values = match &variable.values {
        Column::Real(v) => Column::Real(positions.iter().map(|&i| v[i]).collect()),
        Column::Integer(v) => Column::Integer(positions.iter().map(|&i| v[i]).collect()),
        Column::Flag(v) => Column::Flag(positions.iter().map(|&i| v[i]).collect()),
    };
    variable.dims = order
        .iter()
        .map(|&axis| variable.dims[axis].clone())
        .collect();
    variable.shape = order.iter().map(|&axis| variable.shape[axis]).collect();
    true
}

/// For each element in the order of axes `order`, its position in the order of `shape`.
fn transposed(shape: &[usize], order: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (0..shape.len().saturating_sub(1)).rev() {
        strides[axis] = strides[axis + 1] * shape[axis + 1];
    }
    let mut positions = vec![0];
    for &axis in order {
        let along = |&start: &usize| (0..shape[axis]).map(move |i| (start, i));
        positions = positions
            .iter()
            .flat_map(along)
            .map(|(start, i)| start + i * strides[axis])
            .collect();
    }
    positions
}
