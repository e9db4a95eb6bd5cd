//! From stored numbers of an array to values, place by place.

use super::held::Held;
use super::source::Array;

/// How stored numbers become values.
pub(super) struct Unpack {
    scale: f64,
    offset: f64,
    missing: Vec<f64>,
}

impl Unpack {
    pub(super) fn of(array: &Array<'_>) -> Self {
        Unpack {
            scale: array.number("scale_factor").unwrap_or(1.0),
            offset: array.number("add_offset").unwrap_or(0.0),
            missing: array.missing(),
        }
    }

    fn value(&self, x: f64) -> f64 {
        match self.missing.contains(&x) {
            true => f64::NAN,
            false => x * self.scale + self.offset,
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
