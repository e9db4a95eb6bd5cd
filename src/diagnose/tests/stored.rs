//! Draws that stay on the disk are compared to the same bits as draws in memory.

use super::runs::Run;
use crate::diagnose::{agreement, agreement_opened, loo, loo_opened, loo_pit, loo_pit_opened};
use crate::draws::{
    Chunks, Column, Flush, Group, Opened, Stored, Trace, Variable, ZarrStream, draws_from,
};
use std::fs;
use std::path::PathBuf;

/// Observations, in a table of 3 by 7.
const N: usize = 21;

/// A store that goes when the test ends.
struct Store(PathBuf);

impl Drop for Store {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn store(name: &str, trace: &Trace, elements: usize) -> Store {
    let name = format!("fitzroy-stored-{name}-{}", std::process::id());
    let root = std::env::temp_dir().join(name);
    let _ = fs::remove_dir_all(&root);
    let chunks = Chunks {
        draws: 60,
        elements,
    };
    let empty = draws_from(trace, 0..0);
    let mut stream = ZarrStream::with_chunks(&root, &empty, chunks).unwrap();
    stream.append(&trace.groups, Flush::Later).unwrap();
    stream.publish(&trace.attributes, Flush::Later).unwrap();
    Store(root)
}

/// A run with log likelihoods, one of which is not finite, replicates and observed values.
fn run(seed: u64) -> Trace {
    let mut run = Run::new(4, 250);
    run.scalar("mu", run.normals(seed, 0, 1.0, 1.0, 0.4));
    let normals = |run: &Run, from: u32, mean: f64| -> Vec<Vec<f64>> {
        (0..N as u32)
            .map(|k| run.normals(seed, from + k, mean, 1.0, 0.2))
            .collect()
    };
    let theta = normals(&run, 1, 0.0);
    run.variable("theta", &[("a", 3), ("b", 7)], &theta);
    let dims = [("a", 3), ("b", 7)];
    let mut log_likelihood = Run::new(4, 250);
    let mut terms = normals(&run, 100, -2.0);
    terms[5][17] = f64::NEG_INFINITY;
    log_likelihood.variable("y", &dims, &terms);
    let mut replicated = Run::new(4, 250);
    replicated.variable("y", &dims, &normals(&run, 200, 0.0));
    let mut trace = run.trace;
    for (name, from) in [
        ("log_likelihood", log_likelihood),
        ("posterior_predictive", replicated),
    ] {
        let variables = from.trace.groups[0].variables.clone();
        trace.groups.push(Group {
            name: name.into(),
            variables,
            ..Group::default()
        });
    }
    trace.groups.push(Group {
        name: "observed_data".into(),
        variables: vec![Variable {
            name: "y".into(),
            dims: vec!["a".into(), "b".into()],
            shape: vec![3, 7],
            values: Column::Real((0..N).map(|i| i as f64 / 10.0 - 1.0).collect()),
        }],
        ..Group::default()
    });
    trace
}

fn opened(store: &Store) -> Opened {
    Opened::Stored(Stored::open(&store.0).unwrap())
}

/// Catches: observations in the place of others where a store is cut along its elements, replicates
/// of other observations than the likelihoods, another mean efficiency.
#[test]
fn cross_validation_of_a_store_is_that_of_a_trace_bit_for_bit() {
    let trace = run(1);
    let (whole, pit) = (
        loo(&trace, None, 2).unwrap(),
        loo_pit(&trace, None, 2).unwrap(),
    );
    for elements in [1, 2, 7, 10, usize::MAX] {
        let store = store(&format!("loo-{elements}"), &trace, elements);
        let found = loo_opened(&opened(&store), Some("y"), 2).unwrap();
        assert_eq!(format!("{found:?}"), format!("{whole:?}"));
        let found = loo_pit_opened(&opened(&store), None, 1).unwrap();
        let bits = |x: &[f64]| x.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found), bits(&pit));
    }
    let mut without = trace;
    without.groups.retain(|g| g.name != "log_likelihood");
    let store = store("loo-none", &without, 2);
    let text = loo_opened(&opened(&store), None, 1)
        .unwrap_err()
        .to_string();
    assert!(text.contains("⟨log_likelihood⟩"), "{text}");
}

/// Catches: parts of one store taken for those of another, which is cut elsewhere.
#[test]
fn runs_on_the_disk_and_in_memory_agree_as_they_do_in_memory() {
    let (first, second) = (run(1), run(2));
    let want = format!("{:?}", agreement(&first, &second, &[], 2).unwrap());
    let on_disk = (store("a", &first, 4), store("b", &second, 7));
    let check = |a: &Opened, b: &Opened| {
        let found = agreement_opened(a, b, &[], 2).unwrap();
        assert_eq!(format!("{found:?}"), want);
    };
    let (a, b) = (Opened::Whole(first), Opened::Whole(second));
    check(&opened(&on_disk.0), &opened(&on_disk.1));
    check(&opened(&on_disk.0), &b);
    check(&a, &opened(&on_disk.1));
    check(&a, &b);
    let some = agreement_opened(&opened(&on_disk.0), &b, &["mu".into()], 1).unwrap();
    assert_eq!(some.elements.len(), 1);
    let refused = agreement_opened(&opened(&on_disk.0), &b, &["nu".into()], 1);
    assert!(refused.unwrap_err().to_string().contains("`nu`"));
}
