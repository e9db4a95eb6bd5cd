//! Shares and rates with a conjugate prior are integrated out where that is right, the density stays
//! what it was, and draws have the distribution of those that are sampled.
//!
//! Catches: a prior that counts twice, rows of another element, an exposure that is lost, a factor
//! that depends on the parameter itself, another use of the parameter that is overlooked.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::data::Dataset;
use fitzroy::diagnose::{SummaryOptions, summary};
use fitzroy::model::joint::Rewrites;
use fitzroy::rng::{Purpose, Rng};
use fitzroy::run::{Caller, Settings, run};
use fitzroy_device::cpu::Engine;
use support::joint;
use support::rewritten::{check_identity, integrated, sampled};

/// Rows in four groups, of which the last has none.
fn data(seed: u64) -> Dataset {
    let mut rng = Rng::new(seed, 0, 0, 0, Purpose::Test);
    let mut data = Dataset::new();
    let n = 14;
    let trials: Vec<f64> = (0..n).map(|_| (rng.uniform() * 9.0).floor()).collect();
    let successes = trials.iter().map(|n| (rng.uniform() * (n + 1.0)).floor());
    let successes: Vec<f64> = successes.collect();
    data.insert_real("n", &[n], trials);
    data.insert_real("s", &[n], successes);
    let counts: Vec<f64> = (0..n).map(|_| (rng.uniform() * 6.0).floor()).collect();
    // Nothing is counted in no time.
    let exposure = counts.iter().map(|c| if *c > 0.0 { 0.5 + c } else { 0.0 });
    data.insert_real("exposure", &[n], exposure.collect());
    data.insert_real("count", &[n], counts);
    let mut rows = |name: &str, f: &mut dyn FnMut(&mut Rng) -> f64| {
        let values = (0..n).map(|_| f(&mut rng)).collect();
        data.insert_real(name, &[n], values);
    };
    rows("z", &mut |rng| f64::from(rng.uniform() < 0.4));
    rows("events", &mut |rng| (rng.uniform() * 4.0).floor());
    rows("first", &mut |rng| 1.0 + (rng.uniform() * 5.0).floor());
    rows("time", &mut |rng| 0.1 + rng.exponential());
    rows("w", &mut |rng| 0.5 + rng.uniform());
    rows("x", &mut |rng| rng.normal());
    rows("g", &mut |rng| (rng.uniform() * 3.0).floor());
    data
}

const HEAD: &str = "data s[obs], n[obs], z[obs], count[obs], first[obs], time[obs], w[obs], x[obs], events[obs], exposure[obs]\n\
                    data g[obs] in groups\ndim groups = 4\nm ~ Normal(0, 1)\n";

/// One way to write a part of the model, and whether the parameter may then be integrated out.
type Choice = (&'static str, bool);

/// Every combination, each on data of its own.
fn check(priors: &[Choice], likelihoods: &[Choice], uses: &[Choice]) {
    let mut seed = 0;
    for (prior, conjugate) in priors {
        for (likelihood, multiple) in likelihoods {
            for (other, free) in uses {
                let text = format!("{HEAD}{prior}\n{likelihood}\n{other}");
                seed += 1;
                let rewritten = joint(&text, &data(seed)).rewritten(Rewrites::ALL);
                let gone = integrated(&rewritten);
                let expected = *conjugate && *multiple && *free;
                assert_eq!(
                    gone.contains(&"p"),
                    expected,
                    "{text}\nintegrated out: {gone:?}"
                );
                check_identity(&rewritten, &text);
            }
        }
    }
}

/// What else may read the parameter p, which lies over groups.
const USES: [Choice; 9] = [
    ("", true),
    ("twice[groups] = 2 * p", true),
    ("predict more[groups] ~ Poisson(p)", true),
    ("k ~ Gamma(2, 1)\nevents[obs] ~ Poisson(k * w)", true),
    ("target += 0.1 * m", true),
    ("target += -0.1 * p[0] ^ 2", false),
    ("v ~ Normal(0, p[1])", false),
    ("v ~ Normal(sum(p), 1)", false),
    ("v ~ Normal(0, 1) bounded(-inf, 9 + p[2])", false),
];

/// Every combination: 9 × 10 × 9 models.
#[test]
fn shares_are_integrated_out_exactly_where_their_prior_is_conjugate() {
    let priors: [Choice; 9] = [
        ("p[groups] ~ Beta(exp(m), 2)", true),
        (
            "a ~ Exponential(1)\nb ~ Exponential(1)\np[groups] ~ Beta(a, b)",
            true,
        ),
        (
            "c ~ Gamma(3, 1)\np[groups] ~ Beta(mu=inv_logit(m), kappa=c)",
            true,
        ),
        ("p[groups] ~ Beta(mu=0.4, sigma=0.1)", true),
        ("p[groups] ~ Uniform(0, 1)", true),
        ("p[groups] ~ Uniform(0.1, 0.9)", false),
        ("p[groups] ~ Beta(exp(m), 2) bounded(0.1, 0.9)", false),
        ("p[groups] ~ Kumaraswamy(exp(m), 2)", false),
        ("p[groups] ~ LogitNormal(m, 1)", false),
    ];
    let likelihoods: [Choice; 10] = [
        ("z[obs] ~ Bernoulli(p[g])", true),
        ("s[obs] ~ Binomial(n, p[g])", true),
        ("first[obs] ~ Geometric(p[g])", true),
        ("z[obs] ~ Bernoulli(p[g])\ns[obs] ~ Binomial(n, p[g])", true),
        ("q[obs] = p[g]\ns[obs] ~ Binomial(n=n, p=q)", true),
        ("s[obs] ~ Binomial(n, 0.5 * p[g])", false),
        ("z[obs] ~ Bernoulli(1 - p[g])", false),
        ("z[obs] ~ Bernoulli(p[g] ^ 2)", false),
        ("z[obs] ~ Bernoulli(logit_p=p[g])", false),
        (
            "z[obs] ~ Bernoulli(p[g])\ntime[obs] ~ Exponential(p[g])",
            false,
        ),
    ];
    check(&priors, &likelihoods, &USES);
}

/// Every combination: 8 × 13 × 9 models.
#[test]
fn rates_are_integrated_out_exactly_where_their_prior_is_conjugate() {
    let priors: [Choice; 8] = [
        ("p[groups] ~ Gamma(exp(m), 2)", true),
        ("b ~ Exponential(1)\np[groups] ~ Gamma(2, b)", true),
        ("p[groups] ~ Gamma(mu=exp(m), sigma=1)", true),
        ("p[groups] ~ Exponential(exp(m))", true),
        ("p[groups] ~ Exponential(scale=exp(m))", true),
        ("p[groups] ~ ChiSquared(exp(m))", true),
        ("p[groups] ~ HalfNormal(exp(m))", false),
        ("p[groups] ~ Gamma(exp(m), 2) bounded(0, 30)", false),
    ];
    let likelihoods: [Choice; 13] = [
        ("count[obs] ~ Poisson(p[g])", true),
        ("count[obs] ~ Poisson(w * p[g])", true),
        ("count[obs] ~ Poisson(p[g] * exp(0.3 * m * x) / w)", true),
        ("time[obs] ~ Exponential(p[g])", true),
        ("time[obs] ~ Exponential(w * p[g] * exp(m))", true),
        ("time[obs] ~ Gamma(1.5, w * p[g])", true),
        (
            "count[obs] ~ Poisson(p[g])\ntime[obs] ~ Exponential(2 * p[g])",
            true,
        ),
        ("time[obs] ~ Gamma(exp(m), p[g])", false),
        ("count[obs] ~ Poisson(p[g] + 1)", false),
        ("count[obs] ~ Poisson(p[g] * (1 + p[g]))", false),
        ("time[obs] ~ Exponential(scale=p[g])", false),
        ("time[obs] ~ Exponential(1 / p[g])", false),
        ("count[obs] ~ NegativeBinomial(p[g], 2)", false),
    ];
    check(&priors, &likelihoods, &USES);
}

/// Cases of their own: the model, and what is integrated out.
#[test]
fn what_looks_conjugate_is_integrated_out_only_where_that_is_right() {
    let cases: [(&str, &[&str]); 9] = [
        // The second is read by what the first one left.
        (
            "a[groups] ~ Gamma(2, 1)\nb ~ Gamma(2, 1)\ncount[obs] ~ Poisson(a[g] * b)",
            &["a"],
        ),
        // The hyperparameter of one is the rate of another.
        (
            "b ~ Gamma(2, 1)\na[groups] ~ Gamma(2, b)\ncount[obs] ~ Poisson(a[g])\ntime[obs] ~ Exponential(b)",
            &["a"],
        ),
        // An exposure of 0.
        (
            "a[groups] ~ Gamma(exp(m), 1)\ncount[obs] ~ Poisson(exposure * a[g])",
            &["a"],
        ),
        // An element for each row, a lone number, a table.
        ("a[obs] ~ Beta(exp(m), 1)\ns[obs] ~ Binomial(n, a)", &["a"]),
        ("a ~ Beta(exp(m), 1)\ns[obs] ~ Binomial(n, a)", &["a"]),
        (
            "dim two = 2\na[groups, two] ~ Beta(exp(m), [1, 2])\ns[obs] ~ Binomial(n, a[g, 1])",
            &["a"],
        ),
        // A normal effect that is in the prior of a rate, and in a normal likelihood.
        (
            "u[groups] ~ Normal(m, 1)\na[groups] ~ Gamma(exp(u), 1)\ncount[obs] ~ Poisson(a[g])\n\
             x[obs] ~ Normal(u[g], 1)",
            &["a"],
        ),
        // Nothing to do with each other.
        (
            "u[groups] ~ Normal(m, 1)\na[groups] ~ Gamma(2, 1)\ncount[obs] ~ Poisson(a[g])\n\
             t ~ HalfNormal(1)\nx[obs] ~ Normal(u[g], t)",
            &["m", "u", "a"],
        ),
        // The chances of a mixture.
        (
            "a ~ Beta(1, exp(m))\nx[obs] ~ Mixture([a, 1 - a], Normal(0, 1), Normal(1, 2))",
            &[],
        ),
    ];
    for (body, expected) in cases {
        let text = format!("{HEAD}{body}");
        let rewritten = joint(&text, &data(2)).rewritten(Rewrites::ALL);
        assert_eq!(integrated(&rewritten), expected, "{text}");
        check_identity(&rewritten, &text);
    }
}

#[test]
fn something_is_always_sampled() {
    let text = "data s[obs], n[obs]\np ~ Beta(1, 1)\ns[obs] ~ Binomial(n, p)";
    let rewritten = joint(text, &data(3)).rewritten(Rewrites::ALL);
    assert_eq!(integrated(&rewritten), Vec::<&str>::new());
    let text = "data s[obs], n[obs], z[obs]\np ~ Beta(1, 1)\nq ~ Beta(1, 1)\n\
                s[obs] ~ Binomial(n, p)\nz[obs] ~ Bernoulli(q)";
    let rewritten = joint(text, &data(3)).rewritten(Rewrites::ALL);
    assert_eq!(integrated(&rewritten), ["p"]);
}

/// Means and standard deviations of what was integrated out and of the rest are those of a run
/// without rewrites.
#[test]
fn draws_are_those_of_the_model_as_written() {
    let models = [
        "data s[obs], n[obs], g[obs] in groups\ndim groups = 4\na ~ Gamma(3, 1)\nb ~ Gamma(3, 1)\n\
         p[groups] ~ Beta(a, b)\ns[obs] ~ Binomial(n, p[g])",
        "data count[obs], w[obs], x[obs], g[obs] in groups\ndim groups = 4\nm ~ Normal(0, 0.5)\nb ~ Gamma(3, 1)\n\
         p[groups] ~ Gamma(3, b)\ncount[obs] ~ Poisson(w * p[g] * exp(m * x))",
    ];
    for text in models {
        let plain = joint(text, &data(4));
        let of = |rewrites: Rewrites| {
            let mut settings = Settings {
                rewrites,
                ..Settings::default()
            };
            settings.sampler.draws = 4000;
            let outcome = run(&plain, &settings, &Caller::silent()).unwrap();
            summary(&outcome.trace, &SummaryOptions::default())
                .unwrap()
                .rows
        };
        let (ours, written) = (of(Rewrites::ALL), of(Rewrites::NONE));
        assert_eq!(ours.len(), written.len());
        for (a, b) in ours.iter().zip(&written) {
            let (a, b, name) = (&a.statistics, &b.statistics, a.label());
            let mcse = a.mcse_mean.hypot(b.mcse_mean);
            assert!(
                (a.mean - b.mean).abs() < 5.0 * mcse,
                "{name}: {} {}",
                a.mean,
                b.mean
            );
            let mcse = a.mcse_sd.hypot(b.mcse_sd);
            assert!(
                (a.sd - b.sd).abs() < 5.0 * mcse,
                "{name}: {} {}",
                a.sd,
                b.sd
            );
        }
    }
}

/// The draws of what was integrated out are those of seed, chain and number alone.
#[test]
fn any_number_of_threads_and_either_engine_give_the_same_trace() {
    let text =
        format!("{HEAD}p[groups] ~ Gamma(exp(m), 2)\ncount[obs] ~ Poisson(p[g] * exp(m * x))");
    let plain = joint(&text, &data(6));
    let [a, b, c] = [
        (1, Engine::Auto),
        (2, Engine::Interpreter),
        (3, Engine::Auto),
    ]
    .map(|(threads, engine)| {
        let mut settings = Settings {
            engine,
            predictive: true,
            log_likelihood: true,
            ..Settings::default()
        };
        settings.sampler.tune = 200;
        settings.sampler.draws = 60;
        settings.sampler.threads = threads;
        let outcome = run(&plain, &settings, &Caller::silent()).unwrap();
        assert_eq!(outcome.n_sampled(), 1);
        outcome.trace.groups
    });
    assert_eq!(a, b);
    assert_eq!(a, c);
}

/// The log likelihood, replicates and `lp` read the draws of what was integrated out.
#[test]
fn a_trace_has_the_same_variables_and_density_whatever_was_integrated_out() {
    let text = format!("{HEAD}p[groups] ~ Beta(exp(m), 2)\ns[obs] ~ Binomial(n, p[g])");
    let plain = joint(&text, &data(5));
    let (a, b) = (
        sampled(&plain, Rewrites::ALL),
        sampled(&plain, Rewrites::NONE),
    );
    let names = |o: &fitzroy::run::Outcome| -> Vec<String> {
        let groups = o.trace.groups.iter();
        let all = groups.flat_map(|g| {
            g.variables
                .iter()
                .map(move |v| format!("{}/{}", g.name, v.name))
        });
        all.collect()
    };
    assert_eq!(names(&a), names(&b));
    assert_eq!(a.n_sampled(), 1);
}
