"""Posteriors of the example models whose integrals can be done, to about ten digits.

    python tests/golden/posteriors/exact.py [NAME ...]

Given its few scales, each of these models is linear and normal (`pumps`: gamma and Poisson), so
the coefficients integrate out in closed form. What is left has one to three dimensions: it is
summed on a lattice in the logarithms of the scales, which converges exponentially fast for a
smooth density that decays on both sides (the trapezoidal rule). The sum runs over all lattice
points within 45 units of log density of the best. Each answer is computed at two lattice
spacings; `accuracy` in the file is the largest difference between the two, in posterior sd.
Quantiles of a scale invert the integral of the sinc interpolant of its marginal density.
"""

import dataclasses
import json
import pathlib
import platform
import sys
import typing

import numpy as np
import scipy
from scipy import optimize, special

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parents[2] / "models"
LEVELS = {"q05": 0.05, "q50": 0.50, "q95": 0.95}
DEPTH = 45.0


def table(name):
    """The columns of a CSV file, or the arrays of a JSON file, as floats."""
    path = MODELS / name
    if path.suffix == ".json":
        return {k: np.array(v, dtype=float) for k, v in json.loads(path.read_text()).items()}
    head, *rows = (line.split(",") for line in path.read_text().split())
    keep = [j for j, cell in enumerate(rows[0]) if cell.lstrip("-")[:1].isdigit()]
    return {head[j]: np.array([float(r[j]) for r in rows]) for j in keep}


@dataclasses.dataclass
class Linear:
    """y ~ N(A diag(c(s)) b, noise(s)^2), b ~ N(mean, sd^2), scales s with a prior on log s."""

    data: str
    scales: list  # names of the scales s; "" for one that the model does not record
    design: np.ndarray  # A
    y: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    columns: typing.Callable  # s -> c
    noise: typing.Callable  # s -> standard deviation
    log_prior: typing.Callable  # s -> log density of log s
    rows: list  # (name, index, row l): the quantity l diag(c) b
    derived: list = dataclasses.field(default_factory=list)  # (name, function of s)
    start: typing.Any = None
    wide: bool = False  # as many coefficients as observations, or more

    def __post_init__(self):
        self.gram = self.design.T @ self.design

    def conditional(self, u):
        """Log density of u = log s, and mean and sd of every row given s."""
        s = np.exp(u)
        c, noise = self.columns(s), self.noise(s)
        residual = self.y - self.design @ (c * self.mean)
        if self.wide:
            return self.by_covariance(s, c, noise, residual)
        precision = c[:, None] * self.gram * c / noise**2 + np.diag(self.sd**-2.0)
        factor = np.linalg.cholesky(precision)
        shift = c * (self.design.T @ residual) / noise**2
        half = np.linalg.solve(factor, shift)
        b = np.linalg.solve(factor.T, half)
        left = residual - self.design @ (c * b)
        value = (-len(self.y) * np.log(noise) - np.log(self.sd).sum() - np.log(np.diag(factor)).sum()
                 - 0.5 * (left @ left / noise**2 + (b / self.sd) @ (b / self.sd)) + self.log_prior(s))
        lines = np.array([r for _, _, r in self.rows]).reshape(len(self.rows), -1) * c
        spread = np.sqrt((np.linalg.solve(factor, lines.T) ** 2).sum(axis=0))
        return value, (lines @ (self.mean + b), spread)

    def by_covariance(self, s, c, noise, residual):
        """The same through the covariance of y: stable for any noise where A has full row rank."""
        root = self.design * (c * self.sd)
        factor = np.linalg.cholesky(root @ root.T + noise**2 * np.eye(len(self.y)))
        half = np.linalg.solve(factor, residual)
        value = -np.log(np.diag(factor)).sum() - 0.5 * half @ half + self.log_prior(s)
        lines = np.array([r for _, _, r in self.rows]) * (c * self.sd)
        cross = np.linalg.solve(factor, root @ lines.T)
        spread = (lines**2).sum(axis=1) - (cross**2).sum(axis=0)
        centre = lines @ (self.mean / self.sd) + cross.T @ half
        return value, (centre, np.sqrt(np.maximum(spread, 1e-24)))

    def summary(self, weight, parts):
        """Mean, sd and quantiles of each row: a mixture of normals."""
        location, spread = (np.array([p[k] for p in parts]) for k in (0, 1))
        out = []
        for j, (name, index, _) in enumerate(self.rows):
            m, s = location[:, j], spread[:, j]
            mean = weight @ m
            sd = np.sqrt(weight @ (s**2 + (m - mean) ** 2))
            cdf = lambda x, m=m, s=s: weight @ special.ndtr((x - m) / s)
            out.append(record(name, index, mean, sd, cdf, mean - 12 * sd, mean + 12 * sd))
        return out


class Pumps:
    """x ~ Poisson(theta t), theta ~ Gamma(alpha, beta), alpha ~ Exp(1), beta ~ Gamma(0.1, 1)."""

    data = "pumps.csv"
    scales = ["alpha", "beta"]
    derived = []
    start = None

    def __init__(self):
        columns = table(self.data)
        self.x, self.t = columns["x"], columns["t"]

    def conditional(self, u):
        alpha, beta = np.exp(u)
        shape, rate = alpha + self.x, beta + self.t
        value = (special.gammaln(shape) - special.gammaln(alpha) + alpha * np.log(beta)
                 - shape * np.log(rate)).sum()
        return value - alpha + u[0] + 0.1 * u[1] - beta, (shape, rate)

    def summary(self, weight, parts):
        """Mean, sd and quantiles of each theta: a mixture of gammas."""
        shape, rate = (np.array([p[k] for p in parts]) for k in (0, 1))
        out = []
        for j in range(len(self.x)):
            a, b = shape[:, j], rate[:, j]
            mean = weight @ (a / b)
            sd = np.sqrt(weight @ (a / b**2 + (a / b - mean) ** 2))
            cdf = lambda x, a=a, b=b: weight @ special.gammainc(a, b * max(x, 0.0))
            out.append(record("theta", [j], mean, sd, cdf, 0.0, mean + 30 * sd))
        return out


def record(name, index, mean, sd, cdf, low, high):
    """One entry of the file."""
    entry = {"name": name, "index": index, "mean": mean, "sd": sd}
    for key, level in LEVELS.items():
        entry[key] = optimize.brentq(lambda x: cdf(x) - level, low, high, xtol=1e-15, rtol=1e-14)
    return entry


def lattice(model, spacing):
    """All lattice points within DEPTH of the mode: points u, weights, conditionals."""
    dims = len(model.scales)
    start = np.zeros(dims) if model.start is None else np.asarray(model.start, dtype=float)
    objective = lambda u: -model.conditional(u)[0]
    mode = optimize.minimize(objective, start, method="Nelder-Mead",
                             options={"xatol": 1e-7, "fatol": 1e-9, "maxiter": 4000}).x
    best = -objective(mode)
    step = np.empty(dims)
    for k in range(dims):
        e = np.zeros(dims)
        e[k] = 1e-3
        curvature = (objective(mode + e) + objective(mode - e) + 2 * best) / 1e-6
        step[k] = min(0.25, 0.5 / np.sqrt(curvature)) * spacing
    found, queue = {}, [(0,) * dims]
    seen = set(queue)
    while queue:
        key = queue.pop()
        value, parts = model.conditional(mode + step * key)
        if not value > best - DEPTH:
            continue
        found[key] = (value, parts)
        for k in range(dims):
            for d in (-1, 1):
                near = key[:k] + (key[k] + d,) + key[k + 1:]
                if near not in seen:
                    seen.add(near)
                    queue.append(near)
    keys = sorted(found)
    value = np.array([found[k][0] for k in keys])
    weight = np.exp(value - value.max())
    return mode + step * np.array(keys), weight / weight.sum(), [found[k][1] for k in keys], step


def scale_record(name, u, weight, step, function=np.exp):
    """A scale: sums for the moments, sinc interpolation of the marginal for the quantiles."""
    x = function(u)
    mean = weight @ x
    sd = np.sqrt(weight @ (x - mean) ** 2)
    node = np.round((u - u.min()) / step).astype(int)
    mass = np.bincount(node, weights=weight)
    place = u.min() + step * np.arange(len(mass))
    cdf = lambda v: mass @ (0.5 + special.sici(np.pi * (v - place) / step)[0] / np.pi)
    entry = {"name": name, "index": [], "mean": mean, "sd": sd}
    rising = function(np.array(1.0)) > function(np.array(0.0))
    for key, level in LEVELS.items():
        level = level if rising else 1.0 - level
        root = optimize.brentq(lambda v: cdf(v) - level, place[0], place[-1], xtol=1e-14)
        entry[key] = float(function(np.array(root)))
    return entry


def solve(model, spacing):
    """All quantities of a model at one lattice spacing, and the number of points."""
    u, weight, parts, step = lattice(model, spacing)
    out = [scale_record(name, u[:, k], weight, step[k])
           for k, name in enumerate(model.scales) if name]
    for name, k, function in model.derived:
        out.append(scale_record(name, u[:, k], weight, step[k], function))
    return out + model.summary(weight, parts), len(weight)


def half_normal(scale):
    return lambda s: -0.5 * (s / scale) ** 2 + np.log(s)


def half_cauchy(scale):
    return lambda s: -np.log1p((s / scale) ** 2) + np.log(s)


def precision_gamma(shape, rate):
    """Gamma prior on 1 / s^2, as a density of log s (a factor 2 left out)."""
    return lambda s: -2.0 * shape * np.log(s) - rate / s**2


def onehot(index, size):
    return np.eye(size)[index.astype(int)]


def unit(size, *places):
    row = np.zeros(size)
    row[list(places)] = 1.0
    return row


def hierarchical():
    d = table("hierarchical.csv")
    n, pop, obs = 100, half_normal(15.0), half_normal(5.0)
    return Linear(
        "hierarchical.csv", ["sigma_pop", "sigma_obs"],
        np.hstack([np.ones((len(d["y"]), 1)), onehot(d["group"], n)]), d["y"],
        unit(n + 1, 0) * 50.0, np.r_[20.0, np.ones(n)],
        lambda s: np.r_[1.0, np.full(n, s[0])], lambda s: s[1],
        lambda s: pop(s[0]) + obs(s[1]),
        [("mu_pop", [], unit(n + 1, 0))]
        + [("mu_group", [j], unit(n + 1, 0, 1 + j)) for j in range(n)], start=[2.3, 0.7])


def eight_schools():
    d = table("eight-schools.csv")
    prior = half_cauchy(5.0)
    return Linear(
        "eight-schools.csv", ["tau"], np.hstack([np.ones((8, 1)), np.eye(8)]) / d["sigma"][:, None],
        d["y"] / d["sigma"], np.zeros(9), np.r_[5.0, np.ones(8)],
        lambda s: np.r_[1.0, np.full(8, s[0])], lambda s: 1.0, lambda s: prior(s[0]),
        [("mu", [], unit(9, 0))] + [("theta", [j], unit(9, 0, 1 + j)) for j in range(8)])


def radon():
    d = table("radon.json")
    n, county, obs = 85, half_normal(1.0), half_normal(2.0)
    which = onehot(d["county"], n)
    design = np.column_stack([np.ones(len(which)), which @ d["uranium"], d["floor"], which])
    rows = [(name, [], unit(n + 3, k)) for k, name in enumerate(["gamma_0", "gamma_1", "beta_floor"])]
    for j in range(n):
        line = unit(n + 3, 0, 3 + j)
        line[1] = d["uranium"][j]
        rows.append(("alpha", [j], line))
    return Linear(
        "radon.json", ["sigma_county", "sigma_obs"], design, d["log_radon"], np.zeros(n + 3),
        np.r_[2.0, 2.0, 2.0, np.ones(n)], lambda s: np.r_[1.0, 1.0, 1.0, np.full(n, s[0])],
        lambda s: s[1], lambda s: county(s[0]) + obs(s[1]), rows, start=[-1.2, -0.3])


def artists():
    d = table("artists.json")
    n, p = 100, 10
    artist, obs = half_normal(5.0), half_normal(5.0)
    size = 1 + p + n
    return Linear(
        "artists.json", ["sigma_artist", "sigma"],
        np.column_stack([np.ones(len(d["y"])), d["features"], onehot(d["artist"], n)]), d["y"],
        np.zeros(size), np.r_[20.0, np.full(p, 2.0), np.ones(n)],
        lambda s: np.r_[np.ones(1 + p), np.full(n, s[0])], lambda s: s[1],
        lambda s: artist(s[0]) + obs(s[1]),
        [("mu", [], unit(size, 0))] + [("beta", [j], unit(size, 1 + j)) for j in range(p)]
        + [("effect", [j], unit(size, 0, 1 + p + j)) for j in range(n)], start=[0.4, 0.0])


def rats():
    d = table("rats.csv")
    n, vague = 30, precision_gamma(0.001, 0.001)
    which, day = onehot(d["rat"] - 1, n), d["day"][:, None] - 22.0
    size = 2 + 2 * n
    rows = [("alpha_c", [], unit(size, 0)), ("beta_c", [], unit(size, 1)),
            ("alpha0", [], unit(size, 0) - 22.0 * unit(size, 1))]
    rows += [("alpha", [j], unit(size, 0, 2 + j)) for j in range(n)]
    rows += [("beta", [j], unit(size, 1, 2 + n + j)) for j in range(n)]
    precision = lambda u: np.exp(-2.0 * u)
    return Linear(
        "rats.csv", ["", "", "sigma"],
        np.column_stack([np.ones(len(day)), day, which, which * day]), d["weight"],
        np.zeros(size), np.r_[1000.0, 1000.0, np.ones(2 * n)],
        lambda s: np.r_[1.0, 1.0, np.full(n, s[0]), np.full(n, s[1])], lambda s: s[2],
        lambda s: vague(s[0]) + vague(s[1]) + vague(s[2]), rows,
        # beta_tau is left out: see README.md.
        [("alpha_tau", 0, precision), ("tau_c", 2, precision)],
        start=[2.7, -0.7, 1.8])


def linear():
    d = table("linear.csv")
    prior = half_normal(5.0)
    return Linear(
        "linear.csv", ["sigma"], np.column_stack([np.ones(len(d["x"])), d["x"]]), d["y"],
        np.zeros(2), np.full(2, 10.0), lambda s: np.ones(2), lambda s: s[0], lambda s: prior(s[0]),
        [("intercept", [], unit(2, 0)), ("slope", [], unit(2, 1))])


def random_walk():
    d = table("random-walk.csv")
    n, level, obs = len(d["y"]), half_normal(1.0), half_normal(1.0)
    design = np.column_stack([np.ones(n), np.tril(np.ones((n, n)))])
    return Linear(
        "random-walk.csv", ["sigma_level", "sigma_obs"], design, d["y"], np.zeros(n + 1),
        np.r_[5.0, np.ones(n)], lambda s: np.r_[1.0, np.full(n, s[0])], lambda s: s[1],
        lambda s: level(s[0]) + obs(s[1]),
        [("start", [], unit(n + 1, 0))] + [("level", [t], design[t]) for t in range(n)],
        start=[-1.2, -0.7], wide=True)


PROBLEMS = {"hierarchical": hierarchical, "eight-schools": eight_schools, "radon": radon,
            "artists": artists, "rats": rats, "linear": linear, "random-walk": random_walk,
            "pumps": Pumps}


def main(names):
    for name in names or PROBLEMS:
        model = PROBLEMS[name]()
        coarse, _ = solve(model, 0.8)
        fine, points = solve(model, 0.65)
        accuracy = max(abs(a[k] - b[k]) / b["sd"] for a, b in zip(coarse, fine, strict=True)
                       for k in ("mean", "sd", *LEVELS))
        zero = {f"mcse_{k}": 0.0 for k in ("mean", "sd", *LEVELS)}
        document = {
            "model": name, "data": model.data, "method": "exact", "script": "exact.py",
            "versions": {"python": platform.python_version(), "numpy": np.__version__,
                         "scipy": scipy.__version__},
            "lattice_points": points, "accuracy": float(f"{accuracy:.1e}"),
            "quantities": [{k: v if isinstance(v, (str, list)) else float(v)
                            for k, v in q.items()} | zero for q in fine],
        }
        write(name, document)
        print(f"{name}: {points} points, accuracy {accuracy:.1e} sd", flush=True)


def write(name, document):
    """One quantity a line; keeps the parts of an existing file that another script wrote."""
    path = HERE / f"{name}.json"
    if path.exists():
        old = json.loads(path.read_text())
        document |= {k: old[k] for k in ("sampled_check",) if k in old and k not in document}
    quantities = document.pop("quantities")
    head = json.dumps(document, indent=1, ensure_ascii=False)[:-2]
    body = ",\n  ".join(json.dumps(q) for q in quantities)
    path.write_text(f'{head},\n "quantities": [\n  {body}\n ]\n}}\n')


if __name__ == "__main__":
    main(sys.argv[1:])
