//! What attributes, labels and names of other writers mean.

use rust_hdf5::format::messages::attribute::AttributeMessage;
use rust_hdf5::format::messages::datatype::{ByteOrder, DatatypeMessage};

use super::super::{Attribute, Column, Labels, Variable};
use super::objects::Objects;

/// Sampler statistics under the names of other samplers, and ours.
///
/// nuts-rs and nutpie, PyMC before 4, PyStan and CmdStan as their users save them.
const ALIASES: [(&str, &str); 14] = [
    ("depth", "tree_depth"),
    ("treedepth", "tree_depth"),
    ("treedepth__", "tree_depth"),
    ("mean_tree_accept", "acceptance_rate"),
    ("accept_prob", "acceptance_rate"),
    ("accept_stat", "acceptance_rate"),
    ("accept_stat__", "acceptance_rate"),
    ("maxdepth_reached", "reached_max_treedepth"),
    ("logp", "lp"),
    ("lp__", "lp"),
    ("stepsize__", "step_size"),
    ("n_leapfrog__", "n_steps"),
    ("divergent__", "diverging"),
    ("energy__", "energy"),
];

/// Statistics that are true or false, whatever type they were stored as.
const FLAGS: [&str; 3] = ["diverging", "reached_max_treedepth", "nonfinite"];

/// Statistics that count, whatever type they were stored as.
const COUNTS: [&str; 3] = ["tree_depth", "n_steps", "index_in_trajectory"];

/// Gives sampler statistics our names and types.
pub(in crate::draws) fn translate_statistics(variables: &mut [Variable]) {
    for (theirs, ours) in ALIASES {
        if variables.iter().any(|v| v.name == ours) {
            continue;
        }
        if let Some(variable) = variables.iter_mut().find(|v| v.name == theirs) {
            variable.name = ours.into();
        }
    }
    for variable in variables
        .iter_mut()
        .filter(|v| FLAGS.contains(&v.name.as_str()))
    {
        let flags = match &variable.values {
            Column::Flag(_) => None,
            Column::Integer(v) => v.iter().map(|&x| flag(x as f64)).collect(),
            Column::Real(v) => v.iter().map(|&x| flag(x)).collect(),
        };
        if let Some(flags) = flags {
            variable.values = Column::Flag(flags);
        }
    }
    for variable in variables
        .iter_mut()
        .filter(|v| COUNTS.contains(&v.name.as_str()))
    {
        if let Column::Real(values) = &variable.values
            && values.iter().all(|v| v.fract() == 0.0 && v.abs() < 1e15)
        {
            variable.values = Column::Integer(values.iter().map(|&v| v as i64).collect());
        }
    }
}

fn flag(value: f64) -> Option<bool> {
    match value {
        0.0 => Some(false),
        1.0 => Some(true),
        _ => None,
    }
}

/// A text attribute's value, of fixed or variable length.
pub(super) fn text(objects: &mut Objects, attribute: &AttributeMessage) -> Option<String> {
    let bytes = match &attribute.datatype {
        DatatypeMessage::FixedString { .. } if attribute.dataspace.dims.len() <= 1 => {
            attribute.data.clone()
        }
        DatatypeMessage::VarLenString { .. } if elements(attribute) == 1 => {
            objects.heap_bytes(&attribute.data, 0).ok()?
        }
        _ => return None,
    };
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8(bytes[..end].to_vec()).ok()
}

/// An attribute of one element; `None` for lists and types that a trace does not hold.
pub(super) fn attribute(objects: &mut Objects, message: &AttributeMessage) -> Option<Attribute> {
    if let Some(text) = text(objects, message) {
        return Some(Attribute::Text(text));
    }
    if elements(message) != 1 {
        return None;
    }
    let data = &message.data;
    match &message.datatype {
        DatatypeMessage::FixedPoint {
            size,
            byte_order,
            signed,
            ..
        } => {
            let bits = bits(data, *size, *byte_order)?;
            let unused = 64 - 8 * size;
            let value = if *signed {
                ((bits << unused) as i64) >> unused
            } else {
                bits as i64
            };
            Some(Attribute::Integer(value))
        }
        DatatypeMessage::FloatingPoint {
            size, byte_order, ..
        } => {
            let bits = bits(data, *size, *byte_order)?;
            match size {
                8 => Some(Attribute::Real(f64::from_bits(bits))),
                4 => Some(Attribute::Real(f64::from(f32::from_bits(bits as u32)))),
                _ => None,
            }
        }
        _ => None,
    }
}

fn elements(attribute: &AttributeMessage) -> u64 {
    attribute.dataspace.dims.iter().product()
}

fn bits(data: &[u8], size: u32, order: ByteOrder) -> Option<u64> {
    let bytes = data
        .get(..size as usize)
        .filter(|b| matches!(b.len(), 1 | 2 | 4 | 8))?;
    let push = |n: u64, b: &u8| n << 8 | u64::from(*b);
    match order {
        ByteOrder::BigEndian => Some(bytes.iter().fold(0, push)),
        _ => Some(bytes.iter().rev().fold(0, push)),
    }
}

/// Labels from real numbers: whole ones as integers, others as text.
pub(in crate::draws) fn labels_of_reals(values: &[f64]) -> Labels {
    if values.iter().all(|v| v.fract() == 0.0 && v.abs() < 9e15) {
        return Labels::Integers(values.iter().map(|&v| v as i64).collect());
    }
    Labels::Text(values.iter().map(f64::to_string).collect())
}
