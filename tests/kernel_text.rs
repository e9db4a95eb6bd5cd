//! Kernel texts of the example models, compiled as C++ and run here, give the bits of the CPU
//! engine: with one thread, and with many in shuffled order.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr)] // a skipped test says so

mod support;

use fitzroy::data::Dataset;
use fitzroy::model::joint::Coordinates;
use support::EXAMPLES;
use support::kernels::{Case, assert_near, assert_same_bits};

/// All examples in three choices of coordinates.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, file, _) in EXAMPLES {
        let Some(joint) = support::example_joint(name, file) else {
            continue;
        };
        let partial = |plate: &fitzroy::model::joint::Plate| {
            let len = joint.parameters()[plate.parameter].len;
            Coordinates::Partial(
                (0..len)
                    .map(|j| 0.2 + 0.6 * j as f64 / len as f64)
                    .collect(),
            )
        };
        let plates = joint.plates();
        let mut choices = vec![vec![Coordinates::Centred; plates.len()]];
        if !plates.is_empty() {
            choices.push(vec![Coordinates::NonCentred; plates.len()]);
            choices.push(plates.iter().map(partial).collect());
        }
        for (k, choice) in choices.iter().enumerate() {
            cases.push(Case::new(
                format!("{name}, coordinates {k}"),
                &joint,
                choice,
            ));
        }
    }
    cases
}

#[test]
fn texts_give_the_bits_of_the_engine_with_one_thread_and_with_many() {
    assert_same_bits(&cases(), false);
}

/// Every distribution and every function of the language, in models made for the purpose, whose
/// densities are numbers at the points that are tried.
#[test]
fn texts_of_all_distributions_and_functions_give_the_bits_of_the_engine() {
    let models = support::language::joints().into_iter();
    let cases = models.map(|(name, joint)| Case::centred(name.into(), &joint));
    assert_same_bits(&cases.collect::<Vec<Case>>(), true);
}

/// Catches: an array of which a kernel keeps one number, a sum that is taken twice.
#[test]
fn texts_in_mixed_precision_give_about_the_numbers_of_the_engine() {
    // Others take long to compile and read memory as these do.
    let some = [
        "vectors",
        "functions",
        "composed",
        "recurrences",
        "matrices",
        "arrays",
        "discrete",
    ];
    let models = support::language::joints().into_iter();
    let cases = models
        .filter(|(name, _)| some.contains(name))
        .map(|(name, joint)| Case::mixed(name.into(), &joint));
    let cases: Vec<Case> = cases.collect();
    assert_near(&cases);
}

/// A vector and a matrix that stand first where kernels keep numbers.
#[test]
fn arrays_that_stand_first_are_read_whole() {
    let texts = [
        "z[k] ~ MvNormal(0, cov=C)\ntarget += -z[0]^4\n",
        "z[k] ~ MvNormal(z2, chol=cholesky(C))\nz2 ~ Normal(0, 1)\ntarget += -z[0]^4\n",
        "z[k] ~ Normal(0, 1)\ns ~ Normal(0, 1)\n\
         let x[k] = solve_lower(cholesky(C * exp(s)), z)\ntarget += -sum(x^4) + z[0] * s - s^4\n",
        "m[k] ~ Normal(0, 5)\nL[k, k] ~ LKJCholeskyCov(1, HalfNormal(2))\ntarget += -sum((L @ m)^2)\n",
    ];
    let mut data = Dataset::new();
    data.insert_real(
        "C",
        &[3, 3],
        vec![2.0, 0.3, 0.1, 0.3, 1.5, -0.2, 0.1, -0.2, 1.0],
    );
    let joint = |text: &str| support::joint(&format!("dim k = 3\ndata C[k, k]\n{text}"), &data);
    let exact = texts.map(|text| Case::centred(text.into(), &joint(text)));
    assert_same_bits(&exact, true);
    assert_near(&texts.map(|text| Case::mixed(text.into(), &joint(text))));
}

/// Catches: a maximum in f32 of numbers in f64, of which none equals it.
#[test]
fn the_slope_of_a_maximum_in_mixed_precision_is_that_of_f64() {
    let text = "dim k = 7\nb ~ Logistic(0, 1.28)\ns[k] ~ Normal(0, 1)\nlet t[k] = 1 / (1 + exp(-b / 3))\n\
                target += max(t) + sum(softmax(t, axis=k) * s) + max(exp(s))\n";
    let joint = support::joint(text, &Dataset::new());
    assert_near(&[Case::mixed("maxima".into(), &joint)]);
}

/// Catches a distribution or a function that is new and that no kernel has been made of.
#[test]
fn no_distribution_and_no_function_is_left_out() {
    let models = support::language::models();
    let text: String = models.iter().map(|m| m.1.as_str()).collect();
    let distributions = fitzroy::dist::entries().into_iter().map(|e| e.name);
    let functions = fitzroy::model::functions::FUNCTIONS.iter().map(|f| f.name);
    for name in distributions.chain(functions) {
        let starts: Vec<usize> = text
            .match_indices(&format!("{name}("))
            .map(|m| m.0)
            .collect();
        let whole = |at: &usize| !text[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        assert!(starts.iter().any(whole), "{name}");
    }
}
