//! What is drawn: the arguments that a draw is given, and predictions of predictions.

use super::{Reals, Tested};
use crate::rng::{Purpose, Rng};

/// Draws variable `name` 4000 times at `u` and averages each element.
fn means(tested: &Tested, name: &str, u: &[f64]) -> Vec<f64> {
    let drawn = tested.graphs.drawn.iter().find(|d| d.name == name);
    let drawn = drawn.expect("it is drawn");
    let arguments: Vec<Vec<f64>> = drawn
        .arguments
        .iter()
        .map(|&n| tested.value(n, u))
        .collect();
    let arguments: Vec<&[f64]> = arguments.iter().map(Vec::as_slice).collect();
    let len: usize = drawn.shape.iter().product();
    let (mut out, mut sums) = (vec![0.0; len], vec![0.0; len]);
    let mut rng = Rng::new(1, 0, 0, 0, Purpose::Test);
    for _ in 0..4000 {
        drawn.draw(&mut rng, &arguments, &mut out);
        sums.iter_mut()
            .zip(&out)
            .for_each(|(s, x)| *s += x / 4000.0);
    }
    sums
}

/// Bound: five standard errors of 4000 draws whose standard deviations are at most `sd`; one
/// failure by chance in a million elements.
#[track_caller]
fn check_means(text: &str, data: &Reals<'_>, name: &str, expected: &[f64], sd: f64) {
    let tested = Tested::new(text, data);
    let got = means(&tested, name, &vec![0.0; tested.n_params]);
    assert_eq!(got.len(), expected.len());
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        assert!(
            (g - e).abs() < 5.0 * sd / 4000f64.sqrt(),
            "{text}: element {i} is {g}, not {e}"
        );
    }
}

#[test]
fn draws_of_numbers_use_the_arguments_of_their_row() {
    let data: &Reals<'_> = &[("y", &[3], &[1.0, 2.0, 4.0])];
    let normal = "data y[obs]\nm ~ Normal(0, 1)\ny[obs] ~ Normal(m + y, 0.5)";
    check_means(normal, data, "y", &[1.0, 2.0, 4.0], 0.5);
    let mixed = "data y[obs]\ny[obs] ~ Mixture([0.2, 0.8], Normal(y, 0.1), Normal(0, 0.1))";
    check_means(mixed, data, "y", &[0.2, 0.4, 0.8], 1.7);
    let censored = "data y[obs]\ny[obs] ~ Censored(Normal(10, 1), upper=y + 1)";
    check_means(censored, data, "y", &[2.0, 3.0, 5.0], 0.01);
    let cut = "data y[obs]\ny[obs] ~ Normal(0, 1) truncated(y - 0.01, y + 0.01)";
    check_means(cut, data, "y", &[1.0, 2.0, 4.0], 0.01);
    let both =
        "data y[obs]\ny ~ Mixture([0.5, 0.5], Normal(0, 1), Normal(1, 1)) truncated(lower=0.5)";
    // Halves of mass 0.3085 and 0.6915 beyond 0.5, means φ(0.5)/0.3085 and 1 + φ(0.5)/0.6915.
    let exact = (0.3520653 + 0.6914625 + 0.3520653) / (0.3085375 + 0.6914625);
    check_means(both, data, "y", &[exact; 3], 1.0);
}

#[test]
fn draws_of_vectors_share_or_have_their_own_arguments() {
    let y = [0.5, 0.5, 0.25, 0.75];
    let data: &Reals<'_> = &[("y", &[2, 2], &y)];
    let shared = "data y[obs, k]\ny[obs, k] ~ Dirichlet([1, 3])";
    check_means(shared, data, "y", &[0.25, 0.75, 0.25, 0.75], 0.2);
    let own = "data y[obs, k]\ny[obs, k] ~ Dirichlet(10 * y)";
    check_means(own, data, "y", &y, 0.16);
    let normal = "data y[obs, k]\ny ~ MvNormal(y, chol=[[1, 0], [0.5, 1]])";
    check_means(normal, data, "y", &y, 1.2);
    let n: &Reals<'_> = &[("y", &[2, 2], &[1.0, 3.0, 6.0, 2.0])];
    let counts = "data y[obs, k]\ny ~ Multinomial(sum(y, axis=k), [0.25, 0.75])";
    check_means(counts, n, "y", &[1.0, 3.0, 2.0, 6.0], 1.3);
    let kinds = "data y[obs] in k, q[obs, k]\ndim k = 2\ny[obs] ~ Categorical(q)";
    let q: &Reals<'_> = &[("y", &[2], &[0.0, 1.0]), ("q", &[2, 2], &y)];
    check_means(kinds, q, "y", &[0.5, 0.75], 0.5);
    let sticks = "data y[obs, k]\ny[obs, k] ~ StickBreakingWeights(3)";
    check_means(sticks, data, "y", &[0.25, 0.75, 0.25, 0.75], 0.2);
    let heavy = "data y[obs, k]\ny ~ MvStudentT(nu=8, mu=y, chol=[[1, 0], [0.5, 1]])";
    check_means(heavy, data, "y", &y, 1.3);
    let several = "data y[obs, k]\ny ~ Mixture([0.25, 0.75], MvNormal(y, [[1, 0], [0, 1]]), \
                   MvNormal(2, [[1, 0.5], [0.5, 1]]))";
    check_means(several, data, "y", &y.map(|y| 0.25 * y + 1.5), 1.5);
    let mixed = "data y[obs, k]\ny ~ DirichletMultinomial(sum(y, axis=k), [1, 3])";
    check_means(mixed, n, "y", &[1.0, 3.0, 2.0, 6.0], 2.1);
    let steps = "data y[obs] : int\ny[obs] ~ OrderedProbit(0, [-1, 1], [0.1, 2])";
    check_means(steps, &[("y", &[2], &[0.0, 2.0])], "y", &[1.0, 1.0], 0.9);
    let levels = "data y[obs] : int\ny[obs] ~ OrderedLogistic(0, [-1, 1])";
    check_means(levels, &[("y", &[2], &[0.0, 2.0])], "y", &[1.0, 1.0], 0.8);
}

#[test]
fn vectors_and_matrices_can_be_predicted() {
    let head = "dim k = 3\ndim t = 4\n";
    let check = |text: &str, expected: &[f64], sd: f64| {
        check_means(&format!("{head}{text}"), &[], "x", expected, sd);
    };
    check("predict x[k] ~ ZeroSumNormal(2)", &[0.0; 3], 2.0);
    check(
        "predict x[k, k] ~ LKJCorr(2)",
        &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        0.5,
    );
    let sd = "predict x[k, k] ~ LKJCholeskyCov(50, Uniform([1, 2, 3], [1.01, 2.01, 3.01]))";
    check(sd, &[1.005, 0.0, 0.0, 0.0, 1.995, 0.0, 0.0, 0.0, 2.98], 0.3);
    let walk = "predict x[t] ~ GaussianRandomWalk(1, 0.5, init_dist=Normal(2, 0.1))";
    check(walk, &[2.0, 3.0, 4.0, 5.0], 0.9);
    let steps = "predict x[t] ~ GaussianRandomWalk([1, 2, 3], 0.1, init_dist=Normal(0, 0.1))";
    check(steps, &[0.0, 1.0, 3.0, 6.0], 0.3);
    let ar = "predict x[t] ~ AR([0.5, 0.25], 0.1, init_dist=Normal(4, 0.1))";
    check(ar, &[4.0, 4.0, 3.0, 2.5], 0.2);
}

#[test]
fn predictions_read_drawn_predictions_after_the_parameters() {
    let text = "dim k = 2\nm ~ Normal(0, 1)\npredict x[k] ~ Normal(m, 1)\n\
                predict y[k] ~ Normal(10 * x, 1)\npredict total = sum(y) + m";
    let tested = Tested::new(text, &[]);
    let g = &tested.graphs;
    assert_eq!((g.n_params, g.n_extended), (1, 5));
    let feeds: Vec<_> = g.drawn.iter().map(|d| d.feeds).collect();
    assert_eq!(feeds, [Some(1), Some(3)]);
    let reads = |k: usize| g.reads_drawn(&g.drawn[k].arguments);
    assert!(!reads(0) && reads(1) && g.reads_drawn(&[g.predicted[0].node]));
    let extended = [0.5, 1.0, 2.0, 30.0, 40.0];
    assert_eq!(
        tested.value(g.drawn[1].arguments[0], &extended),
        [10.0, 20.0]
    );
    assert_eq!(tested.value(g.predicted[0].node, &extended), [70.5]);
    tested.check_gradient();
}
