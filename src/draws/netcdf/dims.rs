//! Names of the dimensions of datasets, for files that are no trace.

use super::objects::Objects;
use crate::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::path::Path;

/// Names of the dimensions of every dataset at the top of a NetCDF-4 file, as far as the file
/// tells them: those whose axes have scales. A scale without labels is listed under its own name
/// alone.
///
/// # Errors
/// The file cannot be read as HDF5. The message begins with the path.
pub fn netcdf_dims(path: impl AsRef<Path>) -> Result<BTreeMap<String, Vec<String>>> {
    let path = path.as_ref();
    let failed = |error: rust_hdf5::format::FormatError| {
        let message = format!("the file is damaged or cut short ({error})");
        Error::new(ErrorKind::Data, message).context(path.display())
    };
    let mut objects = Objects::open(path).map_err(failed)?;
    let root = objects.root();
    let top = objects.object(root).map_err(failed)?;
    let names: BTreeMap<u64, String> = top.links.iter().map(|(n, at)| (*at, n.clone())).collect();
    let mut found = BTreeMap::new();
    for (name, address) in &top.links {
        let object = objects.object(*address).map_err(failed)?;
        if !object.is_dataset {
            continue;
        }
        let Some(list) = object.attribute("DIMENSION_LIST").map(|a| a.data.clone()) else {
            // A scale names itself.
            if object.attribute("CLASS").is_some() {
                found.insert(name.clone(), vec![name.clone()]);
            }
            continue;
        };
        let rank = list.len() / objects.element_bytes();
        let mut dims = Vec::new();
        for axis in 0..rank {
            let scales = objects.references(&list, axis).map_err(failed)?;
            match scales.iter().find_map(|at| names.get(at)) {
                Some(name) => dims.push(name.clone()),
                None => break,
            }
        }
        if dims.len() == rank {
            found.insert(name.clone(), dims);
        }
    }
    Ok(found)
}
