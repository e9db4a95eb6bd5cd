"""Makes the data files of the example models, and `truth.json` beside them.

    python models/generate.py            # writes the files
    python models/generate.py --check    # exits 1 if a committed file differs

Needs NumPy only. Every data set has its own seed, so adding one changes no other. The
published tables (eight schools, pumps, seeds, rats) are typed in below with their sources.
"""

import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
CHECK = "--check" in sys.argv[1:]
TRUTH = {}
DIFFERENT = []


def publish(name, text):
    """Writes `text` to `name`, or under --check compares the two."""
    path = HERE / name
    if not CHECK:
        path.write_text(text)
    elif not path.exists() or path.read_text() != text:
        DIFFERENT.append(name)


def csv(name, columns):
    """Columns of equal length under a header row; numbers in their shortest exact form."""
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns)] + [",".join(cell(v) for v in row) for row in rows]
    publish(name, "\n".join(lines) + "\n")


def cell(value):
    """One cell: text as it is, whole numbers without a point."""
    if isinstance(value, str):
        return value
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def document(name, values):
    """A JSON object with one line per array."""
    body = ",\n".join(f"  {json.dumps(k)}: {json.dumps(plain(v))}" for k, v in values.items())
    publish(name, "{\n" + body + "\n}\n")


def plain(value):
    """NumPy to Python, whole numbers as integers."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return int(value)
    return value


def hierarchical():
    rng = np.random.default_rng(100_010)
    n_groups, n_per_group = 100, 10
    truth = {"mu_pop": 50.0, "sigma_pop": 10.0, "sigma_obs": 2.0}
    mu_group = rng.normal(truth["mu_pop"], truth["sigma_pop"], n_groups)
    group = np.repeat(np.arange(n_groups), n_per_group)
    y = rng.normal(mu_group[group], truth["sigma_obs"]).round(4)
    csv("hierarchical.csv", {"group": group, "y": y})
    TRUTH["hierarchical"] = truth | {"mu_group": mu_group.round(6)}


def radon():
    rng = np.random.default_rng(85)
    n_counties = 85
    truth = {"gamma_0": 1.5, "gamma_1": 0.7, "beta_floor": -0.7, "sigma_county": 0.3, "sigma_obs": 0.75}
    uranium = rng.normal(0.0, 0.4, n_counties).round(4)
    alpha = rng.normal(truth["gamma_0"] + truth["gamma_1"] * uranium, truth["sigma_county"])
    size = np.clip(np.exp(rng.normal(1.7, 1.0, n_counties)).astype(int), 1, 110)
    county = np.repeat(np.arange(n_counties), size)
    floor = (rng.random(county.size) < 0.17).astype(int)
    log_radon = rng.normal(alpha[county] + truth["beta_floor"] * floor, truth["sigma_obs"]).round(4)
    document("radon.json", {"county": county, "floor": floor, "log_radon": log_radon, "uranium": uranium})
    TRUTH["radon"] = truth


def artists():
    rng = np.random.default_rng(1_000)
    n_obs, n_artists, n_features = 1000, 100, 10
    beta = np.array([0.8, -0.5, 0.3, 0.0, 0.0, 1.2, -0.9, 0.1, 0.4, -0.2])
    truth = {"mu": 10.0, "sigma_artist": 1.5, "sigma": 1.0}
    effect = rng.normal(truth["mu"], truth["sigma_artist"], n_artists)
    artist = rng.integers(0, n_artists, n_obs)
    artist[:n_artists] = rng.permutation(n_artists)  # every artist occurs
    features = rng.normal(size=(n_obs, n_features)).round(3)
    y = rng.normal(effect[artist] + features @ beta, truth["sigma"]).round(3)
    document("artists.json", {"artist": artist, "y": y, "features": features})
    TRUTH["artists"] = truth | {"beta": beta}


def logistic():
    rng = np.random.default_rng(200)
    truth = {"intercept": -0.5, "b1": 1.0, "b2": -1.5, "b3": 0.0, "b4": 0.5}
    x = rng.normal(size=(200, 4)).round(4)
    eta = truth["intercept"] + x @ [truth[f"b{k}"] for k in range(1, 5)]
    y = (rng.random(200) < 1.0 / (1.0 + np.exp(-eta))).astype(int)
    csv("logistic.csv", {"y": y, "x1": x[:, 0], "x2": x[:, 1], "x3": x[:, 2], "x4": x[:, 3]})
    TRUTH["logistic"] = truth


def funnel():
    rng = np.random.default_rng(12)
    campaigns = ["autumn-sale", "brand", "display", "email", "influencer", "newsletter",
                 "partner", "podcast", "referral", "search", "social", "video"]
    truth = {"mu_signup": -2.0, "sigma_signup": 0.5, "mu_trial": -0.6, "sigma_trial": 0.3,
             "mu_purchase": -1.3, "sigma_purchase": 0.6}
    weeks = 4
    effect = {s: rng.normal(truth[f"mu_{s}"], truth[f"sigma_{s}"], len(campaigns))
              for s in ("signup", "trial", "purchase")}
    rate = {s: 1.0 / (1.0 + np.exp(-e)) for s, e in effect.items()}
    which = np.repeat(np.arange(len(campaigns)), weeks)
    visits = rng.poisson(np.exp(rng.normal(5.5, 0.8, len(campaigns)))[which])
    signups = rng.binomial(visits, rate["signup"][which])
    trials = rng.binomial(signups, rate["trial"][which])
    purchases = rng.binomial(trials, rate["purchase"][which])
    csv("conversion-funnel.csv", {
        "campaign": [campaigns[c] for c in which], "week": np.tile(np.arange(1, weeks + 1), len(campaigns)),
        "visits": visits, "signups": signups, "trials": trials, "purchases": purchases})
    TRUTH["conversion-funnel"] = truth


def energy():
    rng = np.random.default_rng(61)
    n_households, n_months = 60, 12
    uses = ["always_on", "cooking", "dryer", "electric_car", "pool_pump", "water_heater"]
    usage = np.array([90.0, 30.0, 55.0, 180.0, 110.0, 140.0])
    share = np.array([1.0, 0.8, 0.5, 0.2, 0.15, 0.4])
    truth = {"heating": 25.0, "sigma_household": 0.2, "sigma_obs": 0.1}
    owns = (rng.random((n_households, len(uses))) < share).astype(int)
    electric_heat = (rng.random(n_households) < 0.35).astype(int)
    intensity = np.exp(rng.normal(0.0, truth["sigma_household"], n_households))
    cold = np.array([17.0, 15.5, 12.5, 9.0, 5.0, 2.0, 0.5, 0.5, 3.0, 7.5, 12.0, 16.0])
    household = np.repeat(np.arange(n_households), n_months)
    month_cold = np.tile(cold, n_households)
    expected = owns @ usage
    load = intensity[household] * (expected[household] + truth["heating"] * electric_heat[household] * month_cold)
    total = (load * np.exp(rng.normal(0.0, truth["sigma_obs"], household.size))).round(1)
    document("energy.json", {"household": household, "cold": month_cold, "total": total,
                             "electric_heat": electric_heat, "owns": owns})
    TRUTH["energy"] = truth | {"usage": usage}


def linear():
    rng = np.random.default_rng(31)
    truth = {"intercept": 2.0, "slope": 0.5, "sigma": 0.4}
    x = np.linspace(0.0, 9.0, 30).round(2)
    y = rng.normal(truth["intercept"] + truth["slope"] * x, truth["sigma"]).round(3)
    csv("linear.csv", {"x": x, "y": y})
    TRUTH["linear"] = truth


def mixture():
    rng = np.random.default_rng(300)
    truth = {"weight": 0.35, "mu_low": 55.0, "mu_high": 80.0, "sigma_low": 6.0, "sigma_high": 5.0}
    low = rng.random(300) < truth["weight"]
    y = np.where(low, rng.normal(truth["mu_low"], truth["sigma_low"], 300),
                 rng.normal(truth["mu_high"], truth["sigma_high"], 300)).round(2)
    csv("mixture.csv", {"wait": y})
    TRUTH["mixture"] = truth


def random_walk():
    rng = np.random.default_rng(120)
    truth = {"sigma_level": 0.3, "sigma_obs": 0.5}
    level = 1.0 + np.cumsum(rng.normal(0.0, truth["sigma_level"], 120))
    csv("random-walk.csv", {"y": rng.normal(level, truth["sigma_obs"]).round(4)})
    TRUTH["random-walk"] = truth


def ratings():
    rng = np.random.default_rng(240)
    truth = {"beta_price": 0.8, "beta_label": 0.5, "cutpoints": [-1.8, -0.4, 0.9, 2.4]}
    price = rng.normal(size=240).round(3)
    label = (np.arange(240) % 2).astype(int)
    latent = truth["beta_price"] * price + truth["beta_label"] * label + rng.logistic(size=240)
    rating = np.searchsorted(truth["cutpoints"], latent)
    csv("ratings.csv", {"price": price, "label": label, "rating": rating})
    TRUTH["ratings"] = truth


def slopes():
    rng = np.random.default_rng(25)
    truth = {"mu": [2.0, -1.0], "chol_stds": [1.5, 0.8], "correlation": -0.6, "sigma": 0.7}
    sd, rho = np.array(truth["chol_stds"]), truth["correlation"]
    cov = np.outer(sd, sd) * np.array([[1.0, rho], [rho, 1.0]])
    effect = rng.multivariate_normal(truth["mu"], cov, 25)
    group = np.repeat(np.arange(25), 8)
    x = rng.uniform(-1.5, 1.5, 200).round(3)
    y = rng.normal(effect[group, 0] + effect[group, 1] * x, truth["sigma"]).round(4)
    csv("slopes.csv", {"group": group, "x": x, "y": y})
    TRUTH["slopes"] = truth | {"effect": effect.round(6)}


def trips():
    rng = np.random.default_rng(12)
    truth = {"common": [0.45, 0.3, 0.15, 0.1], "concentration": 30.0}
    share = rng.dirichlet(truth["concentration"] * np.array(truth["common"]), 12)
    n = rng.integers(40, 200, 12)
    made = np.array([rng.multinomial(k, p) for k, p in zip(n, share, strict=True)])
    document("trips.json", {"modes": ["car", "bus", "bicycle", "foot"], "trips": made})
    TRUTH["trips"] = truth | {"share": share.round(6)}


def autoregression():
    rng = np.random.default_rng(160)
    truth = {"rho": [0.9, -0.5], "sigma": 0.6}
    y = [0.0, 0.0]
    for e in rng.normal(0.0, truth["sigma"], 260):
        y.append(truth["rho"][0] * y[-1] + truth["rho"][1] * y[-2] + e)
    csv("autoregression.csv", {"y": np.array(y[-160:]).round(4)})
    TRUTH["autoregression"] = truth


def counts():
    rng = np.random.default_rng(150)
    truth = {"intercept": 0.8, "slope": 0.6, "treatment": -0.5, "dispersion": 2.0}
    x = rng.normal(size=150).round(4)
    treated = (np.arange(150) % 2).astype(int)
    exposure = rng.uniform(0.5, 2.0, 150).round(2)
    mean = exposure * np.exp(truth["intercept"] + truth["slope"] * x + truth["treatment"] * treated)
    n = rng.poisson(rng.gamma(truth["dispersion"], mean / truth["dispersion"]))
    csv("counts.csv", {"n": n, "x": x, "treated": treated, "exposure": exposure})
    TRUTH["counts"] = truth


def eight_schools():
    """Rubin (1981), Journal of Educational Statistics 6(4), 377-401, Table 1, whole numbers."""
    csv("eight-schools.csv", {
        "school": list("ABCDEFGH"), "y": [28, 8, -3, 7, -1, 1, 18, 12],
        "sigma": [15, 10, 16, 11, 9, 11, 10, 18]})


def pumps():
    """Gaver and O'Muircheartaigh (1987), Technometrics 29(1), 1-15; t in thousands of hours."""
    csv("pumps.csv", {"x": [5, 1, 5, 14, 3, 19, 1, 1, 4, 22],
                      "t": [94.3, 15.7, 62.9, 126, 5.24, 31.4, 1.05, 1.05, 2.1, 10.5]})


def seeds():
    """Crowder (1978), Applied Statistics 27(1), 34-37, Table 3."""
    csv("seeds.csv", {
        "r": [10, 23, 23, 26, 17, 5, 53, 55, 32, 46, 10, 8, 10, 8, 23, 0, 3, 22, 15, 32, 3],
        "n": [39, 62, 81, 51, 39, 6, 74, 72, 51, 79, 13, 16, 30, 28, 45, 4, 12, 41, 30, 51, 7],
        "seed": [0] * 11 + [1] * 10, "extract": [0] * 5 + [1] * 6 + [0] * 5 + [1] * 5})


def rats():
    """Gelfand, Hills, Racine-Poon and Smith (1990), JASA 85(412), 972-985, Table 3; grams."""
    weights = """
        151 199 246 283 320  145 199 249 293 354  147 214 263 312 328  155 200 237 272 297
        135 188 230 280 323  159 210 252 298 331  141 189 231 275 305  159 201 248 297 338
        177 236 285 350 376  134 182 220 260 296  160 208 261 313 352  143 188 220 273 314
        154 200 244 289 325  171 221 270 326 358  163 216 242 281 312  160 207 248 288 324
        142 187 234 280 316  156 203 243 283 317  157 212 259 307 336  152 203 246 286 321
        154 205 253 298 334  139 190 225 267 302  146 191 229 272 302  157 211 250 285 323
        132 185 237 286 331  160 207 257 303 345  169 216 261 295 333  157 205 248 289 316
        137 180 219 258 291  153 200 244 286 324"""
    csv("rats.csv", {"rat": np.repeat(np.arange(1, 31), 5), "day": np.tile([8, 15, 22, 29, 36], 30),
                     "weight": [int(w) for w in weights.split()]})


if __name__ == "__main__":
    for make in (hierarchical, radon, artists, logistic, funnel, energy, linear, mixture,
                 random_walk, counts, eight_schools, pumps, seeds, rats, ratings, slopes, trips,
                 autoregression):
        make()
    document("truth.json", TRUTH)
    if DIFFERENT:
        sys.exit("differ from what this script makes: " + ", ".join(DIFFERENT))
