//! What a density must say of itself before it is sampled.

use super::*;

struct Normal;

impl LogDensity for Normal {
    fn dim(&self) -> usize {
        2
    }

    fn value_and_gradient(
        &self,
        x: &[f64],
        gradient: &mut [f64],
    ) -> std::result::Result<f64, Refused> {
        gradient.iter_mut().zip(x).for_each(|(g, x)| *g = -x);
        Ok(-0.5 * x.iter().map(|x| x * x).sum::<f64>())
    }
}

struct Nothing;

impl LogDensity for Nothing {
    fn dim(&self) -> usize {
        0
    }

    fn value_and_gradient(&self, _: &[f64], _: &mut [f64]) -> std::result::Result<f64, Refused> {
        Ok(0.0)
    }
}

fn of(quantities: Vec<Quantity>) -> Result<Foreign<'static>> {
    Foreign::new(Normal, quantities, "normal")
}

fn along(name: &str, dim: &str, size: usize) -> Quantity {
    Quantity {
        name: name.into(),
        dims: vec![dim.into()],
        shape: vec![size],
    }
}

#[test]
fn quantities_that_do_not_fit_are_refused_in_words() {
    let says = |quantities, words: &str| {
        let error = of(quantities).err().unwrap().to_string();
        assert!(error.contains(words), "{error}");
    };
    says(
        vec![Quantity::new("a", &[]), Quantity::new("a", &[])],
        "`a` twice",
    );
    says(vec![Quantity::new("", &[2])], "an empty one");
    says(
        vec![along("a", "k", 2), along("b", "k", 3)],
        "3 elements along `k`, others 2",
    );
    says(vec![along("a", "draw", 2)], "as draws have");
    let mut uneven = along("a", "k", 2);
    uneven.shape.push(3);
    says(vec![uneven], "1 names of dims and 2 sizes");
    let error = Foreign::new(Nothing, Vec::new(), "").err().unwrap();
    assert!(error.to_string().contains("no coordinates"), "{error}");
}

#[test]
fn labels_and_centre_must_fit() {
    let new = || of(vec![along("a", "k", 2)]).unwrap();
    let named = |n| Labels::Text((0..n).map(|k| format!("label {k}")).collect());
    let error = new().with_labels("k", named(3)).err().unwrap();
    assert!(
        error.to_string().contains("2 elements and 3 labels"),
        "{error}"
    );
    let foreign = new().with_labels("k", named(2)).unwrap();
    assert_eq!(foreign.labels("k"), Some(named(2)));
    assert_eq!(new().labels("k"), Some(Labels::Integers(vec![0, 1])));
    assert_eq!(
        new()
            .with_labels("other", named(9))
            .unwrap()
            .labels("other"),
        None
    );
    for wrong in [vec![0.0], vec![0.0, f64::NAN]] {
        assert!(new().centred_at(wrong).is_err());
    }
    assert_eq!(
        new().centred_at(vec![1.0, 2.0]).unwrap().centre(),
        [1.0, 2.0]
    );
}
