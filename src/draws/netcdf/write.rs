//! Writing a trace.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rust_hdf5::{FillTime, H5Dataset, H5File, H5Group, H5Type, Hdf5Error};

use super::super::{Attribute, Column, Group, Labels, Trace, Variable};
use crate::{Error, ErrorKind, Result};

/// How long a finished file is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flush {
    /// Until it is on the disk, where it outlasts a loss of power. That takes tens of
    /// milliseconds.
    #[default]
    Disk,
    /// Not at all: the system writes it within seconds. It outlasts the end of the program, not a
    /// loss of power; for results that are as quickly made again.
    Later,
}

/// Writes `trace` as a NetCDF-4 file that ArviZ (0.x and 1.x) opens by `from_netcdf`.
///
/// Every group holds its dimensions as coordinate variables: the labels of `trace.coords`, else
/// 0, 1, 2, ... (also for `chain` and `draw` of a group with another number of them than the
/// labels say, such as warm-up). Flags are bytes with the attribute `dtype = "bool"`; real
/// numbers have the fill value NaN. A dimension that a variable has twice, or that is called
/// like a variable of the group, cannot be written under its name: it becomes `NAME_2` or
/// `NAME_dim`.
///
/// The file is written as `PATH.tmp`, flushed to the disk and renamed, so `path` never holds half
/// a trace. Variables lie in one piece each, as whole arrays are what is read: chunks of one chain
/// and 64 elements cost twice the time to write and a fifth more room. Beside the trace it needs
/// the memory of one variable of flags.
///
/// ```
/// use fitzroy::draws::{Column, Group, Trace, Variable, read_netcdf, write_netcdf};
/// let mu = Variable {
///     name: "mu".into(),
///     dims: vec!["chain".into(), "draw".into()],
///     shape: vec![1, 3],
///     values: Column::Real(vec![0.5, -1.0, 2.0]),
/// };
/// let posterior = Group { name: "posterior".into(), variables: vec![mu], ..Group::default() };
/// let trace = Trace { groups: vec![posterior], ..Trace::default() };
/// let path = std::env::temp_dir().join("fitzroy-example-trace.nc");
/// write_netcdf(&path, &trace).unwrap();
/// assert_eq!(read_netcdf(&path).unwrap().groups, trace.groups);
/// # std::fs::remove_file(path).unwrap();
/// ```
///
/// # Errors
/// `Io` when the file cannot be written. `Data` when a variable has not the elements its shape
/// says, or labels and size of a dimension differ; nothing is left behind.
pub fn write_netcdf(path: impl AsRef<Path>, trace: &Trace) -> Result<()> {
    write_netcdf_with(path, trace, Flush::Disk)
}

/// [`write_netcdf`], choosing whether to wait for the disk.
///
/// # Errors
/// Those of [`write_netcdf`].
pub fn write_netcdf_with(path: impl AsRef<Path>, trace: &Trace, flush: Flush) -> Result<()> {
    let path = path.as_ref();
    let temporary = with_tmp(path);
    let written = plan(trace).and_then(|plans| {
        // Made here first, for the HDF5 crate hides why it could not.
        File::create(&temporary).map_err(|error| io_error(&error))?;
        write_file(&temporary, trace, &plans)
            .map_err(|error| Error::new(ErrorKind::Io, error.to_string()))?;
        publish(&temporary, path, flush).map_err(|error| io_error(&error))
    });
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        error.context(format!("writing {}", path.display()))
    })
}

fn io_error(error: &io::Error) -> Error {
    let message = match error.kind() {
        io::ErrorKind::NotFound => "its folder does not exist; create it first".to_string(),
        _ => crate::data::io_message(error),
    };
    Error::new(ErrorKind::Io, message)
}

fn with_tmp(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    name.into()
}

/// Puts the finished file in its place, once it is on the disk if that is asked.
fn publish(temporary: &Path, path: &Path, flush: Flush) -> io::Result<()> {
    if flush == Flush::Later {
        return fs::rename(temporary, path);
    }
    OpenOptions::new().write(true).open(temporary)?.sync_all()?;
    fs::rename(temporary, path)?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    // A folder cannot be opened everywhere; where it can, its new entry is made to last.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// A dimension of a group as it will be written.
struct Dimension<'a> {
    /// Its name in the file.
    name: String,
    size: usize,
    /// `None` stands for 0, 1, 2, ...
    labels: Option<&'a Labels>,
}

/// How a group will be written.
struct Plan<'a> {
    dimensions: Vec<Dimension<'a>>,
    /// For every variable, which dimension each axis has.
    axes: Vec<Vec<usize>>,
}

fn plan(trace: &Trace) -> Result<Vec<Plan<'_>>> {
    let mut names = BTreeSet::new();
    let mut plans = Vec::with_capacity(trace.groups.len());
    for group in &trace.groups {
        check_name("group", &group.name)?;
        if !names.insert(&group.name) {
            return Err(Error::data(format!(
                "there are two groups `{}`",
                group.name
            )));
        }
        let planned = plan_group(trace, group);
        plans.push(planned.map_err(|error| error.context(format!("group `{}`", group.name)))?);
    }
    Ok(plans)
}

fn plan_group<'a>(trace: &'a Trace, group: &Group) -> Result<Plan<'a>> {
    let mut names = BTreeSet::new();
    for variable in &group.variables {
        check_name("variable", &variable.name)?;
        if !names.insert(variable.name.as_str()) {
            return Err(Error::data(format!(
                "there are two variables `{}`",
                variable.name
            )));
        }
    }
    let mut plan = Plan {
        dimensions: Vec::new(),
        axes: Vec::new(),
    };
    for variable in &group.variables {
        let axes = plan_variable(trace, variable, &names, &mut plan.dimensions);
        plan.axes
            .push(axes.map_err(|error| error.context(format!("`{}`", variable.name)))?);
    }
    Ok(plan)
}

fn plan_variable<'a>(
    trace: &'a Trace,
    variable: &Variable,
    taken: &BTreeSet<&str>,
    dimensions: &mut Vec<Dimension<'a>>,
) -> Result<Vec<usize>> {
    let n = match &variable.values {
        Column::Real(v) => v.len(),
        Column::Integer(v) => v.len(),
        Column::Flag(v) => v.len(),
    };
    if variable.dims.len() != variable.shape.len() || n != variable.shape.iter().product::<usize>()
    {
        return Err(Error::data(format!(
            "{n} elements do not fill dims {:?} of sizes {:?}",
            variable.dims, variable.shape
        )));
    }
    let mut axes = Vec::with_capacity(variable.dims.len());
    for (axis, (dim, &size)) in variable.dims.iter().zip(&variable.shape).enumerate() {
        check_name("dimension", dim)?;
        let repeat = variable.dims[..axis].iter().filter(|d| *d == dim).count();
        let mut name = dim.clone();
        if repeat > 0 {
            name = format!("{dim}_{}", repeat + 1);
        }
        while taken.contains(name.as_str()) {
            name.push_str("_dim");
        }
        if let Some(known) = dimensions.iter().position(|d| d.name == name) {
            if dimensions[known].size != size {
                return Err(Error::data(format!(
                    "dimension `{dim}` has size {size}, and {} elsewhere in the group",
                    dimensions[known].size
                )));
            }
            axes.push(known);
            continue;
        }
        let mut labels = trace.coords.get(dim);
        if labels.is_some_and(|l| l.len() != size) {
            if !matches!(dim.as_str(), "chain" | "draw") {
                return Err(Error::data(format!(
                    "dimension `{dim}` has size {size} but {} labels",
                    labels.map_or(0, Labels::len)
                )));
            }
            labels = None;
        }
        axes.push(dimensions.len());
        dimensions.push(Dimension { name, size, labels });
    }
    Ok(axes)
}

/// Refuses names that HDF5 cannot hold.
fn check_name(what: &str, name: &str) -> Result<()> {
    if name.is_empty() || name == "." || name.contains(['/', '\0']) {
        let message = format!(
            "{what} name {name:?} cannot be written; it must not be empty, hold \
                               `/` or be `.`"
        );
        return Err(Error::data(message));
    }
    Ok(())
}

type Written<T> = std::result::Result<T, Hdf5Error>;

fn write_file(path: &Path, trace: &Trace, plans: &[Plan]) -> Written<()> {
    let file = H5File::options()
        .track_order(true)
        .no_locking()
        .create(path)?;
    let root = file.root_group();
    write_attributes(&root, &trace.attributes)?;
    for (group, plan) in trace.groups.iter().zip(plans) {
        write_group(&root, group, plan)?;
    }
    // The crate's `close` waits for the disk dozens of times; once, by the caller, is enough.
    file.close_no_sync()
}

fn write_attributes(target: &H5Group, attributes: &[(String, Attribute)]) -> Written<()> {
    for (name, value) in attributes {
        match value {
            Attribute::Text(text) => target.set_attr_string(name, text)?,
            Attribute::Integer(number) => target.set_attr_numeric(name, number)?,
            Attribute::Real(number) => target.set_attr_numeric(name, number)?,
        }
    }
    Ok(())
}

fn write_group(root: &H5Group, group: &Group, plan: &Plan) -> Written<()> {
    let target = root.create_group(&group.name)?;
    write_attributes(&target, &group.attributes)?;
    let scales = plan
        .dimensions
        .iter()
        .map(|dimension| write_scale(&target, dimension));
    let scales = scales.collect::<Written<Vec<H5Dataset>>>()?;
    for (variable, axes) in group.variables.iter().zip(&plan.axes) {
        let dataset = write_variable(&target, variable)?;
        // Attached on some axes but not on others, readers refuse the variable.
        for (axis, &dimension) in axes.iter().enumerate() {
            dataset.attach_scale(axis, &scales[dimension])?;
        }
    }
    Ok(())
}

fn write_scale(group: &H5Group, dimension: &Dimension) -> Written<H5Dataset> {
    let name = dimension.name.as_str();
    let scale = match dimension.labels {
        Some(Labels::Text(labels)) => {
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            group.write_vlen_strings(name, &labels)?
        }
        other => {
            let scale = group
                .new_dataset::<i64>()
                .shape([dimension.size])
                .create(name)?;
            match other {
                Some(Labels::Integers(labels)) => write_all(&scale, labels)?,
                _ => write_all(&scale, &(0..dimension.size as i64).collect::<Vec<_>>())?,
            }
            scale
        }
    };
    scale.set_scale(Some(name))?;
    Ok(scale)
}

/// Writes all elements, also when there are none.
fn write_all<T: H5Type>(dataset: &H5Dataset, values: &[T]) -> Written<()> {
    if values.is_empty() {
        Ok(())
    } else {
        dataset.write_raw(values)
    }
}

fn write_variable(group: &H5Group, variable: &Variable) -> Written<H5Dataset> {
    let name = variable.name.as_str();
    let shape = variable.shape.as_slice();
    match &variable.values {
        Column::Real(values) => {
            let builder = group.new_dataset::<f64>().shape(shape).fill_value(f64::NAN);
            // Every element is written below; filling first would write the file twice.
            let dataset = builder.fill_time(FillTime::Never).create(name)?;
            write_all(&dataset, values)?;
            dataset
                .new_attr::<f64>()
                .shape([1])
                .create("_FillValue")?
                .write_array(&[f64::NAN])?;
            Ok(dataset)
        }
        Column::Integer(values) => {
            let dataset = group.new_dataset::<i64>().shape(shape).create(name)?;
            write_all(&dataset, values)?;
            Ok(dataset)
        }
        Column::Flag(values) => {
            let dataset = group.new_dataset::<i8>().shape(shape).create(name)?;
            let bytes: Vec<i8> = values.iter().map(|&flag| i8::from(flag)).collect();
            write_all(&dataset, &bytes)?;
            dataset
                .new_attr::<i8>()
                .shape(())
                .create("dtype")?
                .write_string("bool")?;
            Ok(dataset)
        }
    }
}
