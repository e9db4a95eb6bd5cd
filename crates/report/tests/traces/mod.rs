//! Traces made by hand.
#![allow(dead_code)]

use fitzroy::draws::{Attribute, Column, Group, Labels, Trace, Variable};

/// Nearly normal numbers, the same everywhere.
pub(crate) fn noise(seed: u64, n: usize) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..n)
        .map(|_| (0..4).map(|_| uniform()).sum::<f64>() - 2.0)
        .collect()
}

fn variable(name: &str, shape: &[usize], values: Column) -> Variable {
    let mut dims: Vec<String> = vec!["chain".into(), "draw".into()];
    dims.extend((2..shape.len()).map(|k| format!("{name}_dim_{}", k - 2)));
    Variable {
        name: name.into(),
        dims,
        shape: shape.to_vec(),
        values,
    }
}

/// A group of variables.
pub(crate) fn group(name: &str, variables: Vec<Variable>) -> Group {
    Group {
        name: name.into(),
        variables,
        attributes: Vec::new(),
    }
}

/// `mu`, `tau` and `theta` of `elements`, with statistics, divergences and predictions.
pub(crate) fn trace(n_chains: usize, n_draws: usize, elements: usize) -> Trace {
    let n = n_chains * n_draws;
    let real = |seed: u64, n: usize| Column::Real(noise(seed, n));
    let both = [n_chains, n_draws];
    let posterior = vec![
        variable("mu", &both, real(1, n)),
        variable(
            "tau",
            &both,
            Column::Real(noise(2, n).iter().map(|v| v.exp()).collect()),
        ),
        variable(
            "theta",
            &[n_chains, n_draws, elements],
            real(3, n * elements),
        ),
    ];
    let diverging = (0..n).map(|i| i % 97 == 5).collect();
    let statistics = vec![
        variable("diverging", &both, Column::Flag(diverging)),
        variable("energy", &both, real(4, n)),
    ];
    let replicated = variable("y", &[n_chains, n_draws, 30], real(5, n * 30));
    let observed = Variable {
        name: "y".into(),
        dims: vec!["obs".into()],
        shape: vec![30],
        values: real(6, 30),
    };
    let mut out = Trace {
        groups: vec![
            group("posterior", posterior),
            group("sample_stats", statistics),
            group("posterior_predictive", vec![replicated]),
            group("observed_data", vec![observed]),
        ],
        ..Trace::default()
    };
    let model = "mu ~ Normal(0, 1) # a < b & \"c\" </script><script>alert(1)</script>";
    out.attributes
        .push(("fitzroy_model".into(), Attribute::Text(model.into())));
    out.attributes
        .push(("fitzroy_seed".into(), Attribute::Text("42".into())));
    out.coords.insert(
        "chain".into(),
        Labels::Integers((0..n_chains as i64).collect()),
    );
    out
}

/// Gives the elements of `theta` labels.
pub(crate) fn label(trace: &mut Trace, labels: Vec<String>) {
    trace
        .coords
        .insert("theta_dim_0".into(), Labels::Text(labels));
}
