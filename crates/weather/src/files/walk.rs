//! From stored numbers of an array to values, place by place.

use super::held::Held;
use super::source::Array;

/// How stored numbers become values.
pub(super) struct Unpack {
    scale: f64,
    offset: f64,
    missing: Vec<f64>,
    /// Numbers outside of this range are a turn off: the file says that its signed numbers are
    /// unsigned, or the other way round.
    turn: Option<(f64, f64)>,
}

/// The range of the numbers that are meant, where `_Unsigned` says that they are stored with the
/// other sign.
fn turn(array: &Array<'_>) -> Option<(f64, f64)> {
    let (bits, signed) = array.whole_kind()?;
    let all = f64::exp2(f64::from(bits));
    match (array.text("_Unsigned")?.as_str(), signed) {
        ("true", true) => Some((0.0, all)),
        ("false", false) => Some((-all / 2.0, all / 2.0)),
        _ => None,
    }
}

impl Unpack {
    pub(super) fn of(array: &Array<'_>) -> Self {
        Unpack {
            scale: array.number("scale_factor").unwrap_or(1.0),
            offset: array.number("add_offset").unwrap_or(0.0),
            missing: array.missing(),
            turn: turn(array),
        }
    }

    /// The value of a stored number, NaN where it stands for a missing one.
    pub(super) fn value(&self, x: f64) -> f64 {
        let mut meant = x;
        if let Some((low, high)) = self.turn {
            let by = high - low;
            meant += if x < low { by } else { 0.0 };
            meant -= if x >= high { by } else { 0.0 };
        }
        match self.missing.contains(&x) || self.missing.contains(&meant) {
            true => f64::NAN,
            false => meant * self.scale + self.offset,
        }
    }
}

/// How numbers of (time, level, lat, lon) lie in an array of any order of axes.
pub(super) struct Walk {
    strides: [usize; 4],
    /// Number and stride of versions of the same field.
    versions: (usize, usize),
}

impl Walk {
    pub(super) fn new(counts: &[usize], held: &Held) -> Self {
        let stride = |axis: usize| counts[axis + 1..].iter().product::<usize>();
        let strides = held.axes.map(|axis| axis.map_or(0, stride));
        let versions = held.versions;
        let versions = versions.map_or((1, 0), |axis| (counts[axis], stride(axis)));
        Walk { strides, versions }
    }

    pub(super) fn at(&self, index: [usize; 4]) -> usize {
        index.iter().zip(self.strides).map(|(i, s)| i * s).sum()
    }

    /// The first version that is not missing.
    pub(super) fn newest(&self, values: &[f64], at: usize, unpack: &Unpack) -> f64 {
        let (n, stride) = self.versions;
        let all = (0..n).map(|k| unpack.value(values[at + k * stride]));
        let mut found = f64::NAN;
        for value in all {
            found = value;
            if !value.is_nan() {
                break;
            }
        }
        found
    }
}
