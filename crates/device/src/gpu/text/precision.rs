//! In which precision a text computes, and what that changes in its words.

use super::printer::literal;
use fitzroy_graph::Named;

/// The precision of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// f64 throughout: the bits of the CPU.
    #[default]
    F64,
    /// Loops over many elements in f32; what is computed once, sums beyond 64 terms, the log
    /// density and the state of a chain in f64.
    Mixed,
    /// As mixed, with a chain's vectors (positions, momenta, slopes) in f32 as well.
    F32,
}

impl Named for Precision {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("f64", Precision::F64),
        ("mixed", Precision::Mixed),
        ("f32", Precision::F32),
    ];
}

impl Precision {
    /// Its name in settings and reports.
    pub fn name(self) -> &'static str {
        self.setting()
    }

    /// The C type of a chain's vectors.
    pub fn vector(self) -> &'static str {
        match self {
            Precision::F64 | Precision::Mixed => "double",
            Precision::F32 => "float",
        }
    }

    /// Bytes of an element of a chain's vectors.
    pub fn vector_bytes(self) -> usize {
        match self {
            Precision::F64 | Precision::Mixed => 8,
            Precision::F32 => 4,
        }
    }

    /// The arithmetic of loops over many elements.
    pub(super) fn many(self) -> Real {
        match self {
            Precision::F64 => Real::Double,
            Precision::Mixed | Precision::F32 => Real::Single,
        }
    }
}

/// The arithmetic of one step, and of the numbers it stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Real {
    /// `double`.
    Double,
    /// `float`.
    Single,
}

impl Real {
    /// Its type in C.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Real::Double => "double",
            Real::Single => "float",
        }
    }

    /// What its literals and the functions of C end with.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Real::Double => "",
            Real::Single => "f",
        }
    }

    /// What its own functions start with.
    pub(crate) fn functions(self) -> &'static str {
        match self {
            Real::Double => "m_",
            Real::Single => "s_",
        }
    }

    /// The memory of a team that holds its arrays.
    pub(crate) fn memory(self) -> &'static str {
        match self {
            Real::Double => "w",
            Real::Single => "v",
        }
    }

    /// `text`, of type `from`, in this type.
    pub(crate) fn cast(self, text: String, from: Real) -> String {
        match from == self {
            true => text,
            false => format!("({}){text}", self.name()),
        }
    }

    /// Whether `text` is a number in `f32` that [`Real::cast`] has made one in `f64`.
    pub(crate) fn is_widened(text: &str) -> bool {
        text.starts_with("(double)")
    }

    /// `x` as a literal of this type.
    pub(crate) fn literal(self, x: f64) -> String {
        let text = literal(x);
        match self {
            Real::Double => text,
            // Infinities and what is beyond the range of f32 are cast.
            Real::Single if !(x.is_finite() && (x as f32).is_finite()) => format!("(float){text}"),
            Real::Single => match text.strip_suffix(')') {
                Some(negative) => format!("{negative}f)"),
                None => format!("{text}f"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_have_the_type_that_is_asked_for() {
        assert_eq!(Real::Single.literal(0.5), "0.5f");
        assert_eq!(Real::Single.literal(-2.0), "(-2.0f)");
        assert_eq!(Real::Double.literal(-2.0), "(-2.0)");
        assert_eq!(Real::Single.literal(1e300), "(float)1e300");
        assert!(
            Real::Single
                .literal(f64::INFINITY)
                .starts_with("(float)FROM_BITS(")
        );
        assert_eq!(Real::Single.cast("x".into(), Real::Double), "(float)x");
        assert_eq!(Real::Double.cast("x".into(), Real::Double), "x");
    }
}
