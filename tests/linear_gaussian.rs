//! Latent series and Gaussian processes under normal noise: integrated out exactly where they are linear and
//! normal, on chosen and on random models.
//!
//! The identity of [`support::rewritten::check_identity`]: the density of what stays plus that of what is integrated
//! out is the density as written, and all records are those of the model as written.
//!
//! `FITZROY_DIFFERENTIAL=N` tries N random models instead of 100. A failure prints its model.
//!
//! Catches: a step that is shifted by one, a lost scale of an innovation, rows of another step, a factor that was not
//! seen, a series that something else depends on.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::model::joint::Rewrites;
use fitzroy::rng::{Purpose, Rng};
use support::joint;
use support::kernels::{Case, assert_same_bits};
use support::rewritten::{HEAD, at_start, check_identity, data, integrated};

/// Series that are integrated out by a filter: the model, and what is integrated out.
#[test]
fn series_are_integrated_out_exactly_where_they_are_linear_and_normal() {
    let scales = "s ~ HalfNormal(1)\nr ~ HalfNormal(1)\n";
    let walk = "v[obs] ~ GaussianRandomWalk(0.1, s, init_dist=Normal(1, 2))\n";
    let steps = "z[obs] ~ Normal(0, 1)\n";
    let order = "phi ~ Uniform(-1, 1)\n";
    let cases: [(String, &[&str]); 26] = [
        (
            format!("{steps}y ~ Normal(m + s * cumsum(z), r)"),
            &["m", "z"],
        ),
        (
            format!("{steps}y ~ Normal(cumsum(s * z + m), r * w)"),
            &["z"],
        ),
        (
            format!("{steps}y ~ Normal(x * cumsum(w * z * s) - m, exp(r))"),
            &["m", "z"],
        ),
        (
            "z[obs] ~ Normal(0.5, x^2 + 0.1)\ny ~ Normal(s * cumsum(z), r)".into(),
            &["z"],
        ),
        (
            "z[obs] ~ Normal(0, s)\ny ~ Normal(m * w + cumsum(z), r)".into(),
            &["m", "z"],
        ),
        (format!("{walk}y ~ Normal(v, r)"), &["v"]),
        (
            format!("{walk}b ~ Normal(0, 2)\ny ~ Normal(m + b * x - v / 2, r)"),
            &["m", "v", "b"],
        ),
        (
            "v[groups] ~ GaussianRandomWalk(m, s)\ny ~ Normal(x * v[g], r)".into(),
            &["v"],
        ),
        (
            "v[groups] ~ GaussianRandomWalk(0, s)\ny ~ Normal(m + v[g], r * w)".into(),
            &["m", "v"],
        ),
        (
            "v[obs] ~ AR(0.7, s, init_dist=Normal(0, 3))\ny ~ Normal(v, r)".into(),
            &["v"],
        ),
        (
            format!("{order}v[obs] ~ AR(phi, s)\ny ~ Normal(m + v, r)"),
            &["m", "v"],
        ),
        (
            format!("{order}v[groups] ~ AR(phi, s)\ny ~ Normal(m * x + w * v[g], r)"),
            &["m", "v"],
        ),
        (
            format!("{order}{steps}v[obs] = phi * lag(v, 0) + s * z\ny ~ Normal(m + v, r)"),
            &["m", "z"],
        ),
        (
            format!(
                "{order}{steps}v[obs] = m + phi * (lag(v, s) - m) + s * z * w\ny ~ Normal(v, r)"
            ),
            &["z"],
        ),
        (
            format!("{order}v[obs] ~ Normal(phi * lag(v, 1), s)\ny ~ Normal(m + v, r)"),
            &["m", "v"],
        ),
        (
            format!("{order}v[obs] ~ Normal(m + phi * lag(v, 0), s * w)\ny ~ Normal(v, r)"),
            &["v"],
        ),
        // Series side by side, of which some elements are read.
        (
            "dim two = 2\nv[two, obs] ~ GaussianRandomWalk(0, s, init_dist=Normal(0, 1))\n\
                     y ~ Normal(m + v[1], r)"
                .into(),
            &["m", "v"],
        ),
        (
            "dim long = 15\nv[long] ~ GaussianRandomWalk(0, s)\nlet seen[obs] = v[2:14]\ny ~ Normal(seen, r)".into(),
            &["v"],
        ),
        // Not linear, not normal, not alone, or not of the first order.
        (format!("{walk}y ~ Normal(v^2, r)"), &[]),
        (format!("{walk}y ~ Normal(v, exp(0.1 * v))"), &[]),
        (format!("{walk}y ~ StudentT(4, v, r)"), &[]),
        (format!("{walk}y ~ Normal(v, r)\ntarget += -v[3]^2"), &[]),
        (
            "v[obs] ~ GaussianRandomWalk(0, s, init_dist=StudentT(3, 0, 1))\ny ~ Normal(m + v, r)".into(),
            &[],
        ),
        (
            "dim two = 2\nrho[two] ~ Normal(0, 0.3)\nv[obs] ~ AR(rho, s)\ny ~ Normal(m + v, r)".into(),
            &[],
        ),
        (
            format!("{steps}v[obs] = tanh(lag(v, 0)) + s * z\ny ~ Normal(v, r)"),
            &[],
        ),
        (format!("{walk}y ~ Normal(v * lag(v, 1), r)"), &[]),
    ];
    for (text, expected) in cases {
        let text = format!("{HEAD}{scales}{text}");
        let rewritten = joint(&text, &data()).rewritten(Rewrites::ALL);
        assert_eq!(integrated(&rewritten), expected, "{text}");
        check_identity(&rewritten, &text);
    }
}

/// A way to write a series or process `v` over the dim `D`, with a scale `S`, and the parameter that goes.
const LATENT: [(&str, &str); 10] = [
    ("z[D] ~ Normal(0, 1)\nlet v[D] = S * cumsum(z)\n", "z"),
    (
        "z[D] ~ Normal(0.3, 2)\nlet v[D] = cumsum(S * z - 0.1)\n",
        "z",
    ),
    ("z[D] ~ Normal(0, S)\nlet v[D] = cumsum(z) + 0.5\n", "z"),
    (
        "v[D] ~ GaussianRandomWalk(0.2, S, init_dist=Normal(0, 3))\n",
        "v",
    ),
    ("v[D] ~ AR(tanh(k), S, init_dist=Normal(k, 1))\n", "v"),
    ("z[D] ~ Normal(0, 1)\nv[D] = k * lag(v, 0.4) + S * z\n", "z"),
    (
        "z[D] ~ Normal(0, 0.5)\nv[D] = 0.1 + tanh(k) * (lag(v, k) - 0.1) - z / S\n",
        "z",
    ),
    ("v[D] ~ Normal(0.9 * lag(v, k) + 0.1, S)\n", "v"),
    (
        "let q[D] = positions(D)\nlet d[D, D] = q[D] - q[D']\n\
         let L = cholesky(exp_quad(d, exp(k)) + 0.1 * identity(D))\nz[D] ~ Normal(0, 1)\nlet v[D] = S * (L @ z)\n",
        "z",
    ),
    (
        "let q[D] = positions(D)\nlet d[D, D] = q[D] - q[D']\n\
         v[D] ~ MvNormal(0.1, cov=exp_quad(d, exp(k)) + S * identity(D))\n",
        "v",
    ),
];
const SCALES: [&str; 4] = ["s", "exp(0.3 * k)", "0.7", "(s + 0.1)"];
const FACTORS: [&str; 5] = ["", "x * ", "k * w * ", "-", "2 / (1 + s) * "];
const BESIDE: [&str; 5] = [
    "",
    " + m",
    " + m * x",
    " + m + b[0] * x - b[1] * w",
    " + exp(k) * m - k",
];
const NOISE: [&str; 5] = ["r", "r * w", "0.5", "exp(0.2 * h[g])", "(0.1 + s * r)"];
/// What else may stand in a model, and whether the series may still go; `P` is its parameter.
const OTHERS: [(&str, bool); 6] = [
    ("", true),
    ("also[obs] = x * 2\n", true),
    ("predict next ~ Normal(P[-1], 1)\n", true),
    ("target += -0.1 * P[1]^2\n", false),
    ("more[groups] ~ Normal(P[2], 1)\n", false),
    ("a ~ Normal(sum(P), 1)\n", false),
];

/// Model number `number`: its text, the parameter of its series, and whether that may go.
fn random_model(number: u32) -> (String, &'static str, bool) {
    let mut rng = Rng::new(91, 0, 0, number, Purpose::Test);
    let mut pick = |n: usize| (rng.uniform() * n as f64) as usize;
    let by_group = pick(3) == 0;
    let (dim, read) = if by_group {
        ("groups", "v[g]")
    } else {
        ("obs", "v")
    };
    let (latent, parameter) = LATENT[pick(LATENT.len())];
    let latent = latent
        .replace('D', dim)
        .replace('S', SCALES[pick(SCALES.len())]);
    let (factor, beside, noise) = (FACTORS[pick(5)], BESIDE[pick(5)], NOISE[pick(5)]);
    let (other, is_free) = OTHERS[pick(OTHERS.len())];
    let other = other.replace('P', parameter);
    let text = format!(
        "{HEAD}dim two = 2\nb[two] ~ Normal([0.5, 0], [1, 2])\nk ~ StudentT(4, 0, 1)\ns ~ HalfNormal(1)\n\
         r ~ HalfNormal(1)\nh[groups] ~ StudentT(5, 0, 1)\n{latent}{other}y ~ Normal({factor}{read}{beside}, {noise})"
    );
    (text, parameter, is_free)
}

#[test]
fn random_linear_models_keep_their_density_and_records() {
    let asked = std::env::var("FITZROY_DIFFERENTIAL").ok();
    let n = asked.map_or(100, |n| n.parse().expect("a number"));
    let data = data();
    let mut gone = 0;
    for number in 0..n {
        let (text, parameter, is_free) = random_model(number);
        let rewritten = joint(&text, &data).rewritten(Rewrites::ALL);
        let went = integrated(&rewritten).contains(&parameter);
        assert_eq!(
            went,
            is_free,
            "model {number}\n{text}\n{:?}",
            integrated(&rewritten)
        );
        check_identity(&rewritten, &format!("model {number}\n{text}"));
        gone += u32::from(went);
    }
    assert!(gone * 3 > n, "{gone} of {n}");
}

/// Catches: a filter whose kernel reads a step that is not there yet.
#[test]
fn kernels_of_random_linear_models_have_the_bits_of_the_cpu() {
    let data = data();
    let kernel = |number| {
        let text = random_model(number).0;
        let rewritten = joint(&text, &data).rewritten(Rewrites::ALL);
        Case::new(
            format!("model {number}\n{text}"),
            &rewritten,
            &at_start(&rewritten),
        )
    };
    assert_same_bits(&(0..24).map(kernel).collect::<Vec<_>>(), false);
}
