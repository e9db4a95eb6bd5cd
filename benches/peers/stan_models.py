"""The sampling benchmarks in Stan's language, as its manual would write them, and their data."""

from problems import columns, made

GROUPS = """
data { int N; int G; array[N] int<lower=1, upper=G> group; vector[N] y; }
parameters { real mu_pop; real<lower=0> sigma_pop; vector[G] z; real<lower=0> sigma_obs; }
transformed parameters { vector[G] mu_group = mu_pop + sigma_pop * z; }
model {
  mu_pop ~ normal(50, 20);
  sigma_pop ~ normal(0, 15);
  z ~ std_normal();
  sigma_obs ~ normal(0, 5);
  y ~ normal(mu_group[group], sigma_obs);
}
"""

GROUPS_CENTRED = """
data { int N; int G; array[N] int<lower=1, upper=G> group; vector[N] y; }
parameters { real mu_pop; real<lower=0> sigma_pop; vector[G] mu_group; real<lower=0> sigma_obs; }
model {
  mu_pop ~ normal(50, 20);
  sigma_pop ~ normal(0, 15);
  mu_group ~ normal(mu_pop, sigma_pop);
  sigma_obs ~ normal(0, 5);
  y ~ normal(mu_group[group], sigma_obs);
}
"""

SCHOOLS = """
data { int J; vector[J] y; vector<lower=0>[J] sigma; }
parameters { real mu; real<lower=0> tau; vector[J] z; }
transformed parameters { vector[J] theta = mu + tau * z; }
model { mu ~ normal(0, 5); tau ~ cauchy(0, 5); z ~ std_normal(); y ~ normal(theta, sigma); }
"""

SCHOOLS_CENTRED = """
data { int J; vector[J] y; vector<lower=0>[J] sigma; }
parameters { real mu; real<lower=0> tau; vector[J] theta; }
model { mu ~ normal(0, 5); tau ~ cauchy(0, 5); theta ~ normal(mu, tau); y ~ normal(theta, sigma); }
"""

ARTISTS = """
data { int N; int A; int K; array[N] int<lower=1, upper=A> artist; matrix[N, K] features; vector[N] y; }
parameters { real mu; real<lower=0> sigma_artist; vector[A] effect; vector[K] beta; real<lower=0> sigma; }
model {
  mu ~ normal(0, 20);
  sigma_artist ~ normal(0, 5);
  effect ~ normal(mu, sigma_artist);
  beta ~ normal(0, 2);
  sigma ~ normal(0, 5);
  y ~ normal_id_glm(features, effect[artist], beta, sigma);
}
"""

LOGISTIC = """
data { int N; int K; matrix[N, K] X; array[N] int<lower=0, upper=1> y; }
parameters { real intercept; vector[K] beta; }
model { intercept ~ normal(0, 2.5); beta ~ normal(0, 1); y ~ bernoulli_logit_glm(X, intercept, beta); }
"""


def groups(d):
    index = d["group"].astype(int) + 1
    return {"N": len(index), "G": int(index.max()), "group": index.tolist(), "y": d["y"].tolist()}


def schools(d):
    return {"J": len(d["y"]), "y": d["y"].tolist(), "sigma": d["sigma"].tolist()}


def artists(d):
    index = d["artist"].astype(int) + 1
    return {"N": len(index), "A": int(index.max()), "K": d["features"].shape[1], "artist": index.tolist(),
            "features": d["features"].tolist(), "y": d["y"].tolist()}


def logistic(d):
    return {"N": len(d["y"]), "K": d["X"].shape[1], "X": d["X"].tolist(), "y": d["y"].astype(int).tolist()}


def program(problem):
    """The text of a problem and its data as Stan reads them."""
    if problem.startswith("hierarchical"):
        centred = problem.endswith("-centred")
        return (GROUPS_CENTRED if centred else GROUPS), groups(columns("hierarchical.csv"))
    if problem.startswith("eight-schools"):
        written = problem.endswith("noncentred")
        return (SCHOOLS if written else SCHOOLS_CENTRED), schools(columns("eight-schools.csv"))
    if problem.startswith("groups-"):
        return GROUPS, groups(made(problem))
    text, data = {"artists": (ARTISTS, artists), "logistic": (LOGISTIC, logistic)}[problem]
    return text, data(made(problem))
