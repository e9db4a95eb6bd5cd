//! Stores of version 2: their metadata, said as version 3 says it.

use super::array::wrong;
use super::files::Files;
use crate::{Error, ErrorKind, Result};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The root and everything below it by path, as nodes of version 3.
pub(super) fn read(files: &Files) -> Result<(Value, BTreeMap<String, Value>)> {
    let parts = match json_of(files, ".zmetadata")? {
        Some(whole) => {
            let parts = whole["metadata"].as_object();
            parts
                .cloned()
                .ok_or_else(|| wrong(".zmetadata holds no metadata"))?
        }
        None => {
            let mut parts = Map::new();
            walk(files, "", &mut parts)?;
            parts
        }
    };
    let mut nodes = BTreeMap::new();
    let mut top = json!({"zarr_format": 3, "node_type": "group", "attributes": {}});
    for (key, part) in &parts {
        let (path, kind) = key.rsplit_once('/').unwrap_or(("", key));
        let attributes = match path {
            "" => parts.get(".zattrs"),
            path => parts.get(&format!("{path}/.zattrs")),
        };
        let attributes = attributes.cloned().unwrap_or_else(|| json!({}));
        match (path, kind) {
            ("", ".zgroup") => top["attributes"] = attributes,
            (path, ".zgroup") => {
                let node = json!({"node_type": "group", "attributes": attributes});
                nodes.insert(path.to_string(), node);
            }
            (path, ".zarray") => {
                nodes.insert(path.to_string(), array(part, attributes));
            }
            _ => {}
        }
    }
    Ok((top, nodes))
}

fn json_of(files: &Files, name: &str) -> Result<Option<Value>> {
    let bytes = match files.read(name) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::new(ErrorKind::Io, crate::data::io_message(&error))),
    };
    let name = name.rsplit('/').next().unwrap_or_default();
    let value = serde_json::from_slice(&bytes);
    Ok(Some(value.map_err(|error| {
        wrong(format!("{name} is damaged ({error})"))
    })?))
}

/// Collects the files of metadata below `path`, as `.zmetadata` would.
fn walk(files: &Files, path: &str, parts: &mut Map<String, Value>) -> Result<()> {
    let below = |name: &str| match path {
        "" => name.to_string(),
        path => format!("{path}/{name}"),
    };
    for name in [".zgroup", ".zarray", ".zattrs"] {
        if let Some(value) = json_of(files, &below(name))? {
            parts.insert(below(name), value);
        }
    }
    if parts.contains_key(&below(".zarray")) {
        return Ok(());
    }
    let io = |error: std::io::Error| Error::new(ErrorKind::Io, crate::data::io_message(&error));
    for name in files.folders(path).map_err(io)? {
        walk(files, &below(&name), parts)?;
    }
    Ok(())
}

/// `.zarray` as `zarr.json` would have it. What version 3 has no word for becomes a codec that
/// nobody knows, so that reading says what it is.
fn array(part: &Value, attributes: Value) -> Value {
    let text = part["dtype"].as_str().unwrap_or("");
    let (order, kind) = text.split_at_checked(1).unwrap_or(("", ""));
    let endian = if order == ">" { "big" } else { "little" };
    let bytes = json!({"name": "bytes", "configuration": {"endian": endian}});
    let mut codecs = vec![bytes];
    let mut data_type = json!(match kind {
        "f2" => "float16",
        "f4" => "float32",
        "f8" => "float64",
        "i1" => "int8",
        "i2" => "int16",
        "i4" => "int32",
        "i8" => "int64",
        "u1" => "uint8",
        "u2" => "uint16",
        "u4" => "uint32",
        "u8" => "uint64",
        "b1" => "bool",
        _ => text,
    });
    if let Some(n) = kind.strip_prefix('U').and_then(|n| n.parse::<u64>().ok()) {
        let configuration = json!({"length_bytes": 4 * n});
        data_type = json!({"name": "fixed_length_utf32", "configuration": configuration});
    }
    for filter in part["filters"].as_array().into_iter().flatten() {
        if filter["id"] == "vlen-utf8" {
            data_type = json!("string");
            codecs = vec![json!({"name": "vlen-utf8"})];
        } else {
            codecs.push(json!({"name": filter["id"], "configuration": filter}));
        }
    }
    if part["order"] == "F" {
        codecs.push(json!({"name": "transpose", "configuration": {"order": "F"}}));
    }
    if let Some(id) = part["compressor"]["id"].as_str() {
        codecs.push(json!({"name": id}));
    }
    let separator = part["dimension_separator"].as_str().unwrap_or(".");
    json!({
        "zarr_format": 2,
        "node_type": "array",
        "shape": part["shape"],
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": part["chunks"]}},
        "chunk_key_encoding": {"name": "v2", "configuration": {"separator": separator}},
        "fill_value": part["fill_value"],
        "codecs": codecs,
        "dimension_names": attributes["_ARRAY_DIMENSIONS"],
        "attributes": attributes,
    })
}
