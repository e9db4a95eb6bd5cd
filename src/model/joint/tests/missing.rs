//! Data with missing values against models that write the missing values as parameters.

use super::{Reals, Tested, assert_near, error, joint};
use crate::data::Labels;
use crate::dist::Scalar;
use crate::model::Model;
use crate::model::joint::Draw;

const NAN: f64 = f64::NAN;

/// That both models have the same density at the same coordinates of variables of the same name,
/// and record the same under those names. The first has the missing values.
#[track_caller]
fn check_same(left: (&str, &Reals<'_>), by_hand: (&str, &Reals<'_>)) {
    let (joints, tested) = (
        [joint(left.0, left.1), joint(by_hand.0, by_hand.1)],
        [
            Tested::new(left.0, left.1),
            Tested::new(by_hand.0, by_hand.1),
        ],
    );
    tested[0].check_gradient();
    assert_eq!(tested[0].n_params, tested[1].n_params);
    for u in tested[0].points() {
        let mut other = vec![0.0; u.len()];
        for p in joints[0].parameters() {
            let mut all = joints[1].parameters().iter();
            let twin = all.find(|q| q.name == p.name).expect("of the same name");
            let own = &u[p.offset..p.offset + p.len];
            other[twin.offset..twin.offset + twin.len].copy_from_slice(own);
        }
        assert_near(tested[0].density(&u), tested[1].density(&other));
        for p in joints[0].parameters() {
            let got = tested[0].recorded(&p.name, &u);
            let expected = tested[1].recorded(&p.name, &other);
            got.iter()
                .zip(&expected)
                .for_each(|(a, b)| assert_near(*a, *b));
        }
    }
}

#[test]
fn a_missing_covariate_is_a_parameter_with_the_distribution_of_the_covariate() {
    check_same(
        (
            "data x[obs], y[obs]
             m ~ Normal(0, 1)
             s ~ HalfNormal(1)
             y ~ Normal(2 + 3 * x, 0.5)
             x ~ Normal(m, s)",
            &[
                ("x", &[4], &[0.3, NAN, -0.4, NAN]),
                ("y", &[4], &[1.0, 2.0, 0.5, -0.7]),
            ],
        ),
        (
            "data seen[a], unseen[b], seen_y[a], unseen_y[b]
             m ~ Normal(0, 1)
             s ~ HalfNormal(1)
             seen ~ Normal(m, s)
             x_missing[b] ~ Normal(m, s)
             seen_y ~ Normal(2 + 3 * seen, 0.5)
             unseen_y ~ Normal(2 + 3 * x_missing, 0.5)",
            &[
                ("seen", &[2], &[0.3, -0.4]),
                ("unseen", &[2], &[0.0, 0.0]),
                ("seen_y", &[2], &[1.0, 0.5]),
                ("unseen_y", &[2], &[2.0, -0.7]),
            ],
        ),
    );
}

#[test]
fn arguments_of_any_dims_are_looked_up_by_the_missing_cell() {
    // Rows by people and times; shape by person, mean by both, an upper limit by time.
    check_same(
        (
            "data y[people, times], x[people, times], most[times], z
             a[people] ~ Normal(0, 1)
             b ~ HalfNormal(1)
             y ~ Normal(a + x, b) truncated(upper=most)
             z ~ Normal(sum(y), 1)",
            &[
                ("y", &[2, 3], &[0.3, NAN, -0.4, NAN, 0.7, 0.9]),
                ("x", &[2, 3], &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
                ("most", &[3], &[2.0, 3.0, 4.0]),
                ("z", &[], &[3.0]),
            ],
        ),
        (
            "data y[seen], x[seen], person[seen] in people, most[seen], z
             data x_gone[gone], person_gone[gone] in people, most_gone[gone]
             a[people] ~ Normal(0, 1)
             b ~ HalfNormal(1)
             y ~ Normal(a[person] + x, b) truncated(upper=most)
             y_missing[gone] ~ Normal(a[person_gone] + x_gone, b) truncated(upper=most_gone)
             z ~ Normal(sum(y) + sum(y_missing), 1)",
            &[
                ("y", &[4], &[0.3, -0.4, 0.7, 0.9]),
                ("x", &[4], &[0.1, 0.3, 0.5, 0.6]),
                ("person", &[4], &[0.0, 0.0, 1.0, 1.0]),
                ("most", &[4], &[2.0, 4.0, 3.0, 4.0]),
                ("z", &[], &[3.0]),
                ("x_gone", &[2], &[0.2, 0.4]),
                ("person_gone", &[2], &[0.0, 1.0]),
                ("most_gone", &[2], &[3.0, 2.0]),
            ],
        ),
    );
}

#[test]
fn missing_values_of_bounded_and_mixed_distributions_stay_in_the_support() {
    check_same(
        (
            "data rate[obs], share[obs], mixed[obs], y[obs]
             k ~ HalfNormal(1)
             top[obs] ~ HalfNormal(2)
             rate ~ Gamma(1 + k, 2)
             share ~ Uniform(0, 1 + top)
             mixed ~ Mixture([0.3, 0.7], Normal(k, 1), Normal(-k, top))
             y ~ Normal(rate + share + mixed, 1)",
            &[
                ("rate", &[3], &[0.3, NAN, 1.4]),
                ("share", &[3], &[NAN, 0.5, 0.2]),
                ("mixed", &[3], &[0.1, 0.5, NAN]),
                ("y", &[3], &[1.0, 2.0, 3.0]),
            ],
        ),
        (
            "data rate[two], share[two], mixed[two], y[obs]
             dim one = 1
             k ~ HalfNormal(1)
             top[obs] ~ HalfNormal(2)
             rate ~ Gamma(1 + k, 2)
             rate_missing[one] ~ Gamma(1 + k, 2)
             share[0] ~ Uniform(0, 1 + top[1])
             share[1] ~ Uniform(0, 1 + top[2])
             share_missing[one] ~ Uniform(0, 1 + top[0])
             mixed[0] ~ Mixture([0.3, 0.7], Normal(k, 1), Normal(-k, top[0]))
             mixed[1] ~ Mixture([0.3, 0.7], Normal(k, 1), Normal(-k, top[1]))
             mixed_missing[one] ~ Mixture([0.3, 0.7], Normal(k, 1), Normal(-k, top[2]))
             y[0] ~ Normal(rate[0] + share_missing[0] + mixed[0], 1)
             y[1] ~ Normal(rate_missing[0] + share[0] + mixed[1], 1)
             y[2] ~ Normal(rate[1] + share[1] + mixed_missing[0], 1)",
            &[
                ("rate", &[2], &[0.3, 1.4]),
                ("share", &[2], &[0.5, 0.2]),
                ("mixed", &[2], &[0.1, 0.5]),
                ("y", &[3], &[1.0, 2.0, 3.0]),
            ],
        ),
    );
}

#[test]
fn missing_values_may_depend_on_other_missing_values() {
    // Statements stand in the wrong order on purpose.
    check_same(
        (
            "data x[obs], y[obs], z[obs]
             z ~ Normal(y + last, 1)
             let last = 2 * x
             y ~ Normal(x, 1)
             x ~ Normal(0, 2)",
            &[
                ("x", &[3], &[NAN, 0.4, 0.5]),
                ("y", &[3], &[NAN, NAN, 1.0]),
                ("z", &[3], &[1.0, NAN, 2.0]),
            ],
        ),
        (
            "data x[two], y[one], z[two]
             dim three = 1
             x_missing[one] ~ Normal(0, 2)
             x ~ Normal(0, 2)
             y ~ Normal(x[1], 1)
             y_missing[two] ~ Normal(level, 1)
             let level[two] = [x_missing[0], x[0]]
             z[0] ~ Normal(y_missing[0] + 2 * x_missing[0], 1)
             z_missing[three] ~ Normal(y_missing[1] + 2 * x[0], 1)
             z[1] ~ Normal(y[0] + 2 * x[1], 1)",
            &[
                ("x", &[2], &[0.4, 0.5]),
                ("y", &[1], &[1.0]),
                ("z", &[2], &[1.0, 2.0]),
            ],
        ),
    );
}

#[test]
fn missing_values_are_recorded_with_their_places() {
    let text = "data y[people, times]
                y ~ Normal(0, 1)
                dim people = [\"Ann\", \"Bob\"]";
    let values = [1.0, NAN, 3.0, 4.0, 5.0, NAN];
    let joint = joint(text, &[("y", &[2, 3], &values)]);
    let binding = joint.binding();
    let dim = |name: &str| {
        let dim = &binding.dims[binding.dim(name).expect("it was made")];
        (dim.size, dim.coordinates())
    };
    let texts = |all: &[&str]| Labels::Text(all.iter().map(|t| t.to_string()).collect());
    assert_eq!(dim("y_missing_at"), (2, texts(&["Ann, 1", "Bob, 2"])));
    let seen = texts(&["Ann, 0", "Ann, 2", "Bob, 0", "Bob, 1"]);
    assert_eq!(dim("y_observed_at"), (4, seen));
    assert_eq!(joint.n_observed(), 4);
    let graphs = joint.graphs(&[]);
    let recorded = &graphs.recorded[0];
    assert_eq!(
        (recorded.name.as_str(), &recorded.shape[..]),
        ("y_missing", &[2][..])
    );
    assert_eq!(recorded.dims, ["y_missing_at"]);
    let drawn = &graphs.drawn[0];
    assert_eq!((drawn.name.as_str(), drawn.observed), ("y", true));
    assert_eq!(drawn.dims, ["y_observed_at"]);
    let part = drawn.part.as_ref().expect("only a part is observed");
    assert_eq!(
        (&part.at[..], &part.shape[..]),
        (&[0, 2, 3, 4][..], &[2, 3][..])
    );
    assert_eq!(
        binding.missing_notes(),
        [
            "2 of 6 values of `y` are missing (row 1, column 2; row 2, column 3) and sampled as \
          parameters `y_missing`"
        ]
    );
}

#[test]
fn missing_values_are_refused_where_they_cannot_be_parameters() {
    let two: &Reals<'_> = &[("x", &[3], &[1.0, NAN, NAN]), ("y", &[3], &[1.0, 2.0, 3.0])];
    let head = "`x` (memory), row 2: the value is missing or not a number (the first of 2); ";
    for (text, why) in [
        (
            "data x[obs], y[obs]\na ~ Normal(0, 1)\ny ~ Normal(a * x, 1)",
            "give `x` a distribution (`x ~ Normal(mu, sigma)`), by which the missing values become \
             parameters, or remove the row or fill it in",
        ),
        (
            "data x[obs]: int, y[obs]\ny ~ Normal(x, 1)\nx ~ Normal(0, 1)",
            "`x` holds whole numbers, and `Normal` does not give such: remove the row or fill it in",
        ),
        (
            "data x[obs] in groups, y[obs]\na[groups] ~ Normal(0, 1)\ny ~ Normal(a[x], 1)",
            "an index or a label cannot be a parameter: remove the row or fill it in",
        ),
        (
            "data x[obs], y[obs]\nx ~ GaussianRandomWalk(sigma=1)\ny ~ Normal(x, 1)",
            "values can be missing where a distribution gives numbers one by one, which \
             `GaussianRandomWalk` does not: remove the row or fill it in",
        ),
        (
            "data x[obs], y[obs]\nx ~ Censored(Normal(0, 1), upper=2)\ny ~ Normal(x, 1)",
            "values can be missing where a distribution gives numbers one by one, which `Censored` \
             does not: remove the row or fill it in",
        ),
        (
            "data x[obs], y[obs]\nx[1:] ~ Normal(0, 1)\ny ~ Normal(x, 1)",
            "values can be missing where one distribution speaks of all of `x`, and `Normal` \
             speaks of a part: remove the row or fill it in",
        ),
        (
            "data x[obs], y[obs]\nx[0] ~ Normal(0, 1)\nx[1:] ~ Normal(0, 1)\ny ~ Normal(x, 1)",
            "values can be missing where one distribution speaks of all of `x`, and it has 2: \
             remove the row or fill it in",
        ),
    ] {
        assert_eq!(error(text, two), format!("{head}{why}"), "{text}");
    }
}

#[test]
fn single_numbers_and_arrays_without_any_value_are_told_to_be_parameters() {
    let text = "data x, y[obs]\nx ~ Normal(0, 1)\ny ~ Normal(x, 1)";
    assert_eq!(
        error(text, &[("x", &[], &[NAN]), ("y", &[1], &[1.0])]),
        "`x` (memory): the value is missing or not a number; a single number that is not known is a \
         parameter: take `x` out of `data`, and give it a prior"
    );
    let text = "data n, y[obs]\ndim k = n\na[k] ~ Normal(0, 1)\ny ~ Normal(sum(a), 1)";
    let message = error(text, &[("n", &[], &[NAN]), ("y", &[1], &[1.0])]);
    assert!(
        message.starts_with("`n` (memory): the value is missing"),
        "{message}"
    );
    let text = "data x[obs], y[obs]\nx ~ Normal(0, 1)\ny ~ Normal(x, 1)";
    assert_eq!(
        error(text, &[("x", &[1], &[NAN]), ("y", &[1], &[1.0])]),
        "`x` (memory), row 1: the value is missing or not a number; all values are: take `x` out of \
         `data`, and its distribution is the prior of a parameter"
    );
}

#[test]
fn what_depends_on_missing_values_is_not_observed() {
    let data: &Reals<'_> = &[("x", &[2], &[1.0, NAN])];
    assert_eq!(
        error(
            "data x[obs]\nx ~ LogNormal(0, 1)\nlet l = log(x)\nl ~ Normal(0, 1)",
            data
        ),
        "line 4, column 1: `l` is computed from data with missing values (`x`), so it cannot be \
         observed; give the data themselves a distribution\n    l ~ Normal(0, 1)\n    ^"
    );
    assert_eq!(
        error("data x[obs]\nlet m = mean(x)\nx ~ Normal(m, 1)", data),
        "line 3, column 1: `x` has missing values, and its distribution depends on `x` itself: \
         fill them in, or write `x` as a parameter of which a column is observed\n    \
         x ~ Normal(m, 1)\n    ^"
    );
}

#[test]
fn missing_counts_that_nothing_depends_on_are_drawn_from_their_distribution() {
    let text = "data y[obs]: int, most[obs], x[obs]
                a ~ Normal(0, 1)
                y ~ Poisson(exp(a + x)) truncated(upper=most)
                x ~ Normal(a, 1)";
    let missing: &Reals<'_> = &[
        ("y", &[3], &[2.0, NAN, 1.0]),
        ("most", &[3], &[f64::INFINITY, f64::INFINITY, 4.0]),
        ("x", &[3], &[0.5, 0.1, -0.3]),
    ];
    let known: &Reals<'_> = &[
        ("y", &[2], &[2.0, 1.0]),
        ("most", &[2], &[f64::INFINITY, 4.0]),
        ("x", &[2], &[0.5, -0.3]),
        ("other", &[1], &[0.1]),
    ];
    let by_hand = format!("{text}\ndata other[one]\nother ~ Normal(a, 1)");
    check_same((text, missing), (&by_hand, known));
    let joint = joint(text, missing);
    assert_eq!(joint.n_params(), 1);
    let graphs = joint.graphs(&[]);
    let [drawn] = &graphs.discrete[..] else {
        panic!("one variable is drawn: {:?}", graphs.discrete)
    };
    assert_eq!(drawn.name, "y_missing");
    assert_eq!(drawn.dims, ["y_missing_at"]);
    let Draw::Truncated(inner) = &drawn.law else {
        panic!("between bounds: {:?}", drawn.law)
    };
    assert_eq!(**inner, Draw::Scalar(Scalar::Poisson));
    assert_eq!(
        joint.binding().missing_notes(),
        ["1 of 3 values of `y` is missing (row 2), summed out, and drawn as `y_missing`"]
    );
}

#[test]
fn missing_counts_that_something_depends_on_need_a_greatest_value() {
    let data: &Reals<'_> = &[("x", &[2], &[1.0, NAN]), ("y", &[2], &[1.0, 2.0])];
    let message = error(
        "data x[obs], y[obs]\nx ~ Poisson(1)\ny ~ Normal(x, 1)",
        data,
    );
    assert_eq!(
        message,
        "line 2, column 5: `x_missing` has infinitely many values, and only a finite number can be \
         summed out: limit it by `truncated(upper=...)`\n    x ~ Poisson(1)\n        ^^^^^^^^^^"
    );
    let text = "data x[obs], y[obs]\nx ~ Poisson(1) truncated(upper=9)\ny ~ Normal(x, 1)";
    assert_eq!(joint(text, data).graphs(&[]).discrete.len(), 1);
}

#[test]
fn names_that_the_trace_needs_must_be_free() {
    for name in ["x_missing", "x_missing_at", "x_observed_at"] {
        let text = format!("data x[obs]\n{name} ~ Normal(0, 1)\nx ~ Normal({name}, 1)");
        let message = error(&text, &[("x", &[2], &[1.0, NAN])]);
        let expected = format!(
            "`x` has missing values, for which the trace needs the name `{name}`, and the model \
             uses it already; rename that"
        );
        assert_eq!(message, expected);
    }
    // Nothing is in the way where nothing is missing.
    let text = "data x[obs]\nx_missing ~ Normal(0, 1)\nx ~ Normal(x_missing, 1)";
    assert!(Model::parse(text).is_ok());
    joint(text, &[("x", &[2], &[1.0, 2.0])]);
}

#[test]
fn a_value_outside_the_support_is_placed_as_in_the_whole_array() {
    let text = "data x[obs]\ntop ~ HalfNormal(1)\nx ~ Exponential(top)";
    assert_eq!(
        error(text, &[("x", &[4], &[1.0, NAN, 2.0, -3.0])]),
        "`x`, row 4: -3 cannot come from Exponential, which gives numbers from 0 on"
    );
}
