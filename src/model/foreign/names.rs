//! Names of numbers, as Stan writes them, to arrays and the order of their elements.

use super::Quantity;
use crate::{Error, Result};

/// Where the elements of quantities stand among numbers in another order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order(Vec<usize>);

impl Order {
    /// Puts `numbers` into `out`, quantity by quantity, each row-major.
    ///
    /// # Panics
    /// If there are not as many numbers as names.
    pub fn put(&self, numbers: &[f64], out: &mut [f64]) {
        assert_eq!((numbers.len(), out.len()), (self.0.len(), self.0.len()));
        for (to, &from) in out.iter_mut().zip(&self.0) {
            *to = numbers[from];
        }
    }

    /// Whether the numbers stand in this order already.
    pub fn is_plain(&self) -> bool {
        self.0.iter().enumerate().all(|(k, &at)| k == at)
    }
}

/// The arrays of numbers that are called `mu,theta.1,theta.2,Omega.1.1,Omega.2.1,...`: indices count from
/// 1, and their order is that of the names, whichever it is.
///
/// # Errors
/// A name stands twice, or an array has a hole.
pub fn quantities(names: &str) -> Result<(Vec<Quantity>, Order)> {
    let names: Vec<&str> = match names.trim() {
        "" => Vec::new(),
        names => names.split(',').map(str::trim).collect(),
    };
    // Arrays in the order of their first elements: name, and for each element its indices and its place.
    let mut arrays: Vec<(&str, Vec<(Vec<usize>, usize)>)> = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let (base, index) = split(name);
        match arrays.iter_mut().rfind(|(known, _)| *known == base) {
            Some((_, elements)) => elements.push((index, place)),
            None => arrays.push((base, vec![(index, place)])),
        }
    }
    let (mut found, mut order) = (Vec::new(), Vec::new());
    for (name, mut elements) in arrays {
        let n_dims = elements[0].0.len();
        let uneven = elements.iter().any(|(index, _)| index.len() != n_dims);
        let size = |k: usize| {
            elements
                .iter()
                .map(|(index, _)| index[k])
                .max()
                .unwrap_or(0)
        };
        let shape: Vec<usize> = match uneven {
            true => Vec::new(),
            false => (0..n_dims).map(size).collect(),
        };
        let expected = shape
            .iter()
            .try_fold(1_usize, |n, &size| n.checked_mul(size));
        elements.sort_unstable();
        let twice = elements.windows(2).any(|pair| pair[0].0 == pair[1].0);
        if uneven || twice || expected != Some(elements.len()) {
            return Err(Error::data(format!(
                "the {} elements called `{name}` are no array: an index is missing or stands twice",
                elements.len()
            )));
        }
        // Sorted by index is row-major.
        order.extend(elements.iter().map(|(_, place)| *place));
        found.push(Quantity::new(name, &shape));
    }
    Ok((found, Order(order)))
}

/// `theta.1.2` is the element (1, 2) of `theta`; `z.real` is a name.
fn split(name: &str) -> (&str, Vec<usize>) {
    let (mut base, mut index) = (name, Vec::new());
    while let Some((rest, last)) = base.rsplit_once('.') {
        let number = last.parse().ok().filter(|&n: &usize| n > 0);
        let (Some(number), false) = (number, rest.is_empty()) else {
            break;
        };
        index.insert(0, number);
        base = rest;
    }
    (base, index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_stan_are_arrays_and_their_first_index_runs_fastest() {
        let names = "mu,theta.1,theta.2,O.1.1,O.2.1,O.1.2,O.2.2,O.1.3,O.2.3,z.real,z.imag,p:1.1";
        let (found, order) = quantities(names).unwrap();
        let shapes: Vec<(&str, &[usize])> = found.iter().map(|q| (&*q.name, &*q.shape)).collect();
        let expected: [(&str, &[usize]); 6] = [
            ("mu", &[]),
            ("theta", &[2]),
            ("O", &[2, 3]),
            ("z.real", &[]),
            ("z.imag", &[]),
            ("p:1", &[1]),
        ];
        assert_eq!(shapes, expected);
        let numbers: Vec<f64> = (0..12).map(f64::from).collect();
        let mut out = [0.0; 12];
        order.put(&numbers, &mut out);
        assert_eq!(out, [0., 1., 2., 3., 5., 7., 4., 6., 8., 9., 10., 11.]);
        assert!(!order.is_plain());
        assert!(quantities("a,b.1,b.2").unwrap().1.is_plain());
        assert_eq!(quantities("").unwrap().0, []);
    }

    #[test]
    fn names_that_are_no_arrays_are_refused() {
        for names in [
            "a,a",
            "a.1,a.3",
            "a,a.1",
            "a.1,a.1.1",
            "a.1.1,a.2.2",
            "a.9999999999.9999999999",
        ] {
            let error = quantities(names).unwrap_err();
            assert!(error.to_string().contains("`a`"), "{names}: {error}");
        }
    }
}
