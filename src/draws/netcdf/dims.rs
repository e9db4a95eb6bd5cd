//! Names of the dimensions of datasets, for files that are no trace.

use super::objects::Objects;
use crate::{Error, ErrorKind, Result};
use rust_hdf5::format::{FormatError, FormatResult};
use std::collections::BTreeMap;
use std::path::Path;

/// How deep groups are followed.
const DEPTH: usize = 16;

/// Names of the dimensions of every dataset of a NetCDF-4 file, by its path, as far as the file
/// tells them: those whose axes have scales. A scale without labels is listed under its own name
/// alone.
///
/// # Errors
/// The file cannot be read as HDF5. The message begins with the path.
pub fn netcdf_dims(path: impl AsRef<Path>) -> Result<BTreeMap<String, Vec<String>>> {
    let path = path.as_ref();
    let failed = |error: FormatError| {
        let message = format!("the file is damaged or cut short ({error})");
        Error::new(ErrorKind::Data, message).context(path.display())
    };
    let mut objects = Objects::open(path).map_err(failed)?;
    let mut datasets = Vec::new();
    let root = objects.root();
    collect(&mut objects, root, "", DEPTH, &mut datasets).map_err(failed)?;
    let names: BTreeMap<u64, String> = datasets
        .iter()
        .map(|(path, at)| {
            let name = path.rsplit('/').next().unwrap_or_default();
            (*at, name.to_string())
        })
        .collect();
    let mut found = BTreeMap::new();
    for (path, address) in datasets {
        if let Some(dims) = dims_of(&mut objects, address, &names).map_err(failed)? {
            found.insert(path, dims);
        }
    }
    Ok(found)
}

/// Paths and addresses of the datasets in a group and below it.
fn collect(
    objects: &mut Objects,
    group: u64,
    above: &str,
    depth: usize,
    datasets: &mut Vec<(String, u64)>,
) -> FormatResult<()> {
    for (name, address) in objects.object(group)?.links {
        let path = match above {
            "" => name,
            above => format!("{above}/{name}"),
        };
        if objects.object(address)?.is_dataset {
            datasets.push((path, address));
        } else if depth > 0 {
            collect(objects, address, &path, depth - 1, datasets)?;
        }
    }
    Ok(())
}

/// Names of the dimensions of a dataset, where it tells them all.
fn dims_of(
    objects: &mut Objects,
    address: u64,
    names: &BTreeMap<u64, String>,
) -> FormatResult<Option<Vec<String>>> {
    let object = objects.object(address)?;
    let Some(list) = object.attribute("DIMENSION_LIST").map(|a| a.data.clone()) else {
        // A scale names itself.
        let own = names
            .get(&address)
            .filter(|_| object.attribute("CLASS").is_some());
        return Ok(own.map(|name| vec![name.clone()]));
    };
    let mut dims = Vec::new();
    for axis in 0..list.len() / objects.element_bytes() {
        let scales = objects.references(&list, axis)?;
        match scales.iter().find_map(|at| names.get(at)) {
            Some(name) => dims.push(name.clone()),
            None => return Ok(None),
        }
    }
    Ok(Some(dims))
}
