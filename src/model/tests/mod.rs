//! Tests of the model language.

mod binding;
mod functions;
mod language;
mod messages;

use super::Model;

/// The three-level model, centred.
const HIERARCHICAL: &str = "\
# three levels
data  y[obs], group[obs] in groups

mu_pop           ~ Normal(50, 20)
sigma_pop        ~ HalfNormal(15)
mu_group[groups] ~ Normal(mu_pop, sigma_pop)
sigma_obs        ~ HalfNormal(5)
y[obs]           ~ Normal(mu_group[group], sigma_obs)
";

/// One of everything.
const EVERYTHING: &str = r#"
data N, y[obs] : int, x[obs, feature],   # continues after a comma
     group[obs] in groups from 1, season[obs] in seasons
data cens[obs]
dim seasons = ["dry", "wet \"monsoon\""]
dim years = [-1, 2020]
dim ahead = 2 * N + size(x, 1)
dim N = 3

alpha[groups]   ~ Normal(mu, sigma) @ noncentred
mu              ~ Normal(0, 1e-3) truncated(lower=-1_000)
sigma           ~ HalfNormal(.5) bounded(1e-6, inf) @ centred
beta[feature]   ~ StudentT(nu=3, mu=0, sigma=2.5)
w[seasons]      ~ Dirichlet([1, 1])
let eta[obs]    = alpha[group] + x @ beta + (N - 1) / 2 ** -2 ^ 3
rate            = exp(eta) * where(not (y > 3) and eta <= 1 or y == 2, 1, -(-x[:, -1]))
target         += -0.5 * sum(square(beta), axis=feature) + min(mu, 3)
y[2:]           ~ Poisson(
                    rate[2:] * cens[0]   # inside brackets lines go on
                  )
y[:2]           ~ Poisson(rate[:2])
cens            ~ Mixture(w, Normal(0, sigma), Censored(Normal(0, 1), -1, 1),)
predict y_new[obs] ~ Poisson(rate)
predict total[ahead] = sum(y_new) ^ 2
"#;

fn model(text: &str) -> Model {
    Model::parse(text).unwrap_or_else(|e| panic!("{e}\n--- in ---\n{text}"))
}
