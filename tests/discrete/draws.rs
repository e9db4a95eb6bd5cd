//! Draws of discrete parameters.

use super::*;

/// Draws of all discrete parameters at `position`, in the order of the model's statements.
fn drawn(graphs: &Graphs, density: &Density, rng: &mut Rng, position: &mut [f64]) -> Vec<i64> {
    for drawn in &graphs.discrete {
        let arguments = density.by_reference(position, &drawn.arguments);
        let arguments: Vec<&[f64]> = arguments.iter().map(Vec::as_slice).collect();
        let mut out = vec![0.0; drawn.shape.iter().product()];
        drawn.draw(rng, &arguments, &mut out);
        let at = drawn.feeds.unwrap();
        position[at..at + out.len()].copy_from_slice(&out);
    }
    let mut out = Vec::new();
    for record in &graphs.recorded {
        if graphs.discrete.iter().any(|d| d.name == record.name) {
            let values = density.by_reference(position, &[record.node]);
            out.extend(values[0].iter().map(|&x| x as i64));
        }
    }
    out
}

/// Catches: weights of another element or value, a variable drawn before one that it depends on,
/// combinations told apart wrongly, records of other than the drawn values.
#[test]
fn discrete_parameters_are_drawn_from_their_conditional_distribution() {
    let mut rng = Rng::new(32, 0, 0, 1, Purpose::Test);
    for case in CASES {
        let trial = Trial::new(&mut rng);
        let joint = joint(&model_of(case), &trial.data);
        let density = Density::new(&joint, &everywhere(&joint, &Coordinates::Centred));
        let graphs = &density.graphs;
        let by_hand = ByHand::new(case, &trial);
        let mut position = somewhere(&density, &mut rng);
        let weights = by_hand.joint(&position, None);
        let total = log_sum_exp(weights.iter().copied());
        if !total.is_finite() {
            continue;
        }
        let draws: Vec<Vec<i64>> = (0..DRAWS)
            .map(|_| drawn(graphs, &density, &mut rng, &mut position))
            .collect();
        let n = by_hand.all[0].len();
        let share = |f: &dyn Fn(&[i64]) -> f64| {
            let all = by_hand.all.iter().zip(&weights);
            let want = all
                .clone()
                .map(|(z, w)| f(z) * (w - total).exp())
                .sum::<f64>();
            let square = all
                .map(|(z, w)| f(z).powi(2) * (w - total).exp())
                .sum::<f64>();
            let got = draws.iter().map(|z| f(z)).sum::<f64>() / DRAWS as f64;
            let error = ((square - want * want).max(0.0) / DRAWS as f64).sqrt();
            assert!(
                (got - want).abs() <= FAR * error + 5.0 / DRAWS as f64,
                "{}: {got} for {want} (± {error})",
                case.name
            );
        };
        for (i, &(low, count)) in (case.values)(&trial).iter().enumerate() {
            (low..low + count as i64).for_each(|v| share(&|z| f64::from(z[i] == v)));
            (0..i).for_each(|j| share(&|z| (z[i] * z[j]) as f64));
        }
        assert_eq!(draws[0].len(), n, "{}", case.name);
    }
}

/// A variable of a group of the trace, as numbers.
fn column(trace: &Trace, group: &str, name: &str) -> Vec<f64> {
    let variable = trace.group(group).and_then(|g| g.variable(name));
    match &variable
        .unwrap_or_else(|| panic!("{group} has {name}"))
        .values
    {
        Column::Real(x) => x.clone(),
        Column::Integer(x) => x.iter().map(|&x| x as f64).collect(),
        Column::Flag(_) => panic!("{name} holds numbers"),
    }
}

fn sampled(text: &str, settings: &Settings) -> Outcome {
    let mut data = Dataset::new();
    data.insert_real("y", &[6], vec![-1.8, 0.1, 0.3, 2.2, 1.9, -0.2]);
    let joint = bind(&Model::parse(text).unwrap(), &data, settings).unwrap();
    run(&joint, settings, &Caller::silent()).unwrap()
}

const LABELLED: &str = "data y[obs]
    dim kinds = 3
    m[kinds] ~ Normal(0, 2) ordered
    z[obs] ~ Categorical([0.2, 0.3, 0.5])
    mean[obs] = m[z]
    y ~ Normal(mean, 1)
    predict kind ~ Categorical([0.2, 0.3, 0.5])
    predict centre = m[kind]";

/// Catches: records and replicates of other values than those drawn, draws that depend on threads,
/// an alarm about numbers that are rare.
#[test]
fn traces_hold_the_drawn_values_and_what_follows_from_them() {
    let mut settings = Settings::default();
    settings.sampler.draws = 400;
    settings.sampler.tune = 300;
    settings.predictive = true;
    settings.log_likelihood = true;
    let outcome = sampled(LABELLED, &settings);
    let trace = &outcome.trace;
    let m = column(trace, "posterior", "m");
    let at = |draw: usize, z: f64| m[3 * draw + z as usize];
    let (z, mean) = (
        column(trace, "posterior", "z"),
        column(trace, "posterior", "mean"),
    );
    for (i, (z, mean)) in z.iter().zip(&mean).enumerate() {
        assert_eq!(at(i / 6, *z), *mean);
    }
    let kind = column(trace, "predictions", "kind");
    for (i, (kind, centre)) in kind
        .iter()
        .zip(column(trace, "predictions", "centre"))
        .enumerate()
    {
        assert_eq!(at(i, *kind), centre);
    }
    // Replicates are normal around the drawn means: 9,600 of them, five standard errors.
    let replicates = column(trace, "posterior_predictive", "y");
    let square = replicates.iter().zip(&mean).map(|(y, m)| (y - m).powi(2));
    let n = mean.len() as f64;
    assert!((square.sum::<f64>() / n - 1.0).abs() < 5.0 * (2.0 / n).sqrt());
    assert_eq!(column(trace, "log_likelihood", "y").len(), mean.len());
    let found = outcome.diagnose(&SummaryOptions::default()).unwrap();
    let heavy = |f: &&Finding| f.kind == FindingKind::HeavyTail;
    assert_eq!(found.findings.iter().find(heavy).map(|f| &f.fact), None);
    settings.sampler.threads = 3;
    let again = sampled(LABELLED, &settings);
    assert_eq!(column(&again.trace, "posterior", "z"), z);
}

/// Catches: priors that know of the data, by either way of drawing them.
#[test]
fn draws_of_the_prior_know_nothing_of_the_data() {
    let mut settings = Settings::default();
    settings.sampler.draws = 1000;
    settings.prior_only = true;
    for text in [LABELLED.to_string(), LABELLED.replace(" ordered", "")] {
        let trace = sampled(&text, &settings).trace;
        let (z, m) = (column(&trace, "prior", "z"), column(&trace, "prior", "m"));
        for (i, mean) in column(&trace, "prior", "mean").into_iter().enumerate() {
            assert_eq!(m[3 * (i / 6) + z[i] as usize], mean);
        }
        for (k, share) in [0.2, 0.3, 0.5].into_iter().enumerate() {
            let n = z.len() as f64;
            let got = z.iter().filter(|&&z| z == k as f64).count() as f64 / n;
            let error = (share * (1.0 - share) / n).sqrt();
            assert!((got - share).abs() < 5.0 * error, "{k}: {got}");
        }
        assert_eq!(column(&trace, "prior_predictive", "y").len(), z.len());
    }
}
