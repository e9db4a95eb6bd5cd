//! What models make of data.

use super::super::{Binding, Content};
use super::{EVERYTHING, HIERARCHICAL, model};
use crate::Result;
use crate::data::{Array, Dataset, Labels, Values};

fn texts(name: &str, values: &[&str]) -> Array {
    Array {
        name: name.into(),
        shape: vec![values.len()],
        values: Values::Text(values.iter().map(|v| (*v).to_owned()).collect()),
        whole: false,
        source: "trial.csv".into(),
        missing: Vec::new(),
        note: None,
    }
}

fn bind(text: &str, reals: &[(&str, &[usize], &[f64])], labels: &[Array]) -> Result<Binding> {
    let mut data = Dataset::new();
    reals
        .iter()
        .for_each(|(n, shape, v)| data.insert_real(n, shape, v.to_vec()));
    labels.iter().for_each(|a| data.insert(a.clone()));
    model(text).bind(&data)
}

fn positions(binding: &Binding, name: &str) -> Vec<u32> {
    match &binding.array(name).expect("the model declares it").content {
        Content::Positions { at, .. } => at.clone(),
        Content::Real(_) => panic!("`{name}` holds no positions"),
    }
}

#[test]
fn text_columns_become_sorted_labels_and_positions() {
    let binding = bind(
        HIERARCHICAL,
        &[("y", &[4], &[1.0, 2.0, 3.0, 4.0])],
        &[texts("group", &["b", "a", "b", "c"])],
    )
    .expect("the data fit");
    assert_eq!(positions(&binding, "group"), [1, 0, 1, 2]);
    let groups = &binding.dims[binding.dim("groups").expect("a dim of the model")];
    assert_eq!(groups.size, 3);
    assert_eq!(
        groups.labels,
        Some(Labels::Text(vec!["a".into(), "b".into(), "c".into()]))
    );
    let obs = &binding.dims[binding.dim("obs").expect("a dim of the model")];
    assert_eq!(
        (obs.size, obs.coordinates()),
        (4, Labels::Integers(vec![0, 1, 2, 3]))
    );
}

#[test]
fn whole_numbers_are_labels_where_nothing_else_sizes_the_dim() {
    let y: (&str, &[usize], &[f64]) = ("y", &[3], &[1.0, 2.0, 3.0]);
    let labels = |v: &[f64]| {
        let binding = bind(HIERARCHICAL, &[y, ("group", &[3], v)], &[]).expect("the data fit");
        let dim = binding.dims[binding.dim("groups").expect("a dim")].coordinates();
        (positions(&binding, "group"), dim)
    };
    assert_eq!(
        labels(&[0.0, 1.0, 0.0]),
        (vec![0, 1, 0], Labels::Integers(vec![0, 1]))
    );
    assert_eq!(
        labels(&[2.0, 1.0, 2.0]),
        (vec![1, 0, 1], Labels::Integers(vec![1, 2]))
    );
    assert_eq!(
        labels(&[7.0, 101.0, 7.0]),
        (vec![0, 1, 0], Labels::Integers(vec![7, 101]))
    );
}

#[test]
fn whole_numbers_are_positions_where_the_dim_has_a_size() {
    let text = "data u[groups], group[obs] in groups, one[obs] in groups from 1\n\
                y[obs] ~ Normal(u[group] + u[one], 1)\ndata y[obs]";
    let binding = bind(
        text,
        &[
            ("u", &[3], &[0.0; 3]),
            ("group", &[2], &[0.0, 2.0]),
            ("one", &[2], &[1.0, 3.0]),
            ("y", &[2], &[0.0; 2]),
        ],
        &[],
    )
    .expect("the data fit");
    assert_eq!(positions(&binding, "group"), [0, 2]);
    assert_eq!(positions(&binding, "one"), [0, 2]);
}

#[test]
fn counting_from_one_keeps_groups_without_rows() {
    let text = HIERARCHICAL.replace("in groups", "in groups from 1");
    let reals: [(&str, &[usize], &[f64]); 2] =
        [("y", &[2], &[0.0; 2]), ("group", &[2], &[1.0, 4.0])];
    let binding = bind(&text, &reals, &[]).expect("the data fit");
    assert_eq!(binding.dims[binding.dim("groups").expect("a dim")].size, 4);
    assert_eq!(positions(&binding, "group"), [0, 3]);
}

#[test]
fn an_array_named_as_a_dim_labels_it() {
    let text = "data y[schools], sigma[schools]\nmu ~ Normal(0, 5)\ny ~ Normal(mu, sigma)";
    let reals: [(&str, &[usize], &[f64]); 2] =
        [("y", &[2], &[1.0, 2.0]), ("sigma", &[2], &[1.0, 1.0])];
    let binding = bind(text, &reals, &[texts("schools", &["B", "A"])]).expect("the data fit");
    assert_eq!(
        binding.dims[0].labels,
        Some(Labels::Text(vec!["B".into(), "A".into()]))
    );
}

#[test]
fn sizes_are_worked_out_from_one_another() {
    let rows = [1.0; 5];
    let binding = bind(
        EVERYTHING,
        &[
            ("N", &[], &[3.0]),
            ("y", &[5], &[1.0, 0.0, 2.0, 4.0, 1.0]),
            ("x", &[5, 2], &[0.0; 10]),
            ("group", &[5], &rows),
            ("cens", &[5], &rows),
        ],
        &[texts(
            "season",
            &["dry", "dry", "wet \"monsoon\"", "dry", "dry"],
        )],
    )
    .expect("the data fit");
    let size = |name: &str| binding.dims[binding.dim(name).expect("a dim")].size;
    assert_eq!(size("ahead"), 8);
    assert_eq!(
        (size("feature"), size("years"), size("seasons"), size("N")),
        (2, 2, 2, 3)
    );
    assert_eq!(positions(&binding, "season"), [0, 0, 1, 0, 0]);
}
