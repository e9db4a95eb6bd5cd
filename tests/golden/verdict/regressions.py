"""Posteriors of the two regressions in tests/verdict.rs, with the data that they are of.

    python tests/golden/verdict/regressions.py    # some minutes

`gaussian-process`: the function is integrated out, the three numbers it depends on are summed over a
lattice. `spline`: both curves of a heteroscedastic regression, by a sampler that has nothing in
common with NUTS: coefficients of the mean are drawn from their normal conditional with their scale
integrated by Metropolis steps, those of the log scale by elliptical slices (Murray, Adams, MacKay,
AISTATS 2010). Its standard errors come from 400 chains that know nothing of each other.
"""

import json
import pathlib

import numpy as np
from scipy import interpolate, optimize, special

HERE = pathlib.Path(__file__).resolve().parent
LEVELS = {"q05": 0.05, "q50": 0.50, "q95": 0.95}


def write(name, data, quantities):
    listed = {key: np.round(value, 6).tolist() for key, value in data.items()}
    content = {"script": "regressions.py", "data": listed, "quantities": quantities}
    (HERE / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


# A Gaussian process: f ~ MvNormal(0, height² exp(−(x − x')²/(2 width²)) + 1e-6), y ~ Normal(f, noise).

def process_data():
    rng = np.random.default_rng(11)
    x = np.round(np.sort(rng.uniform(0, 4, 14)), 3)
    y = np.round(np.sin(1.7 * x) + 0.4 * x + 0.35 * rng.standard_normal(14), 3)
    return x, y


def weighted(name, x, w):
    """A quantity on an axis of the lattice: a smooth marginal, quantiles from its sums."""
    w = w / w.sum()
    mean = float((w * x).sum())
    sd = float(np.sqrt((w * (x - mean) ** 2).sum()))
    order = np.argsort(x)
    x, w = x[order], w[order]
    middle = np.cumsum(w) - 0.5 * w
    row = {"name": name, "index": [], "mean": mean, "sd": sd}
    return row | {q: float(np.interp(p, middle, x)) for q, p in LEVELS.items()}


def process():
    x, y = process_data()
    squared = (x[:, None] - x[None, :]) ** 2
    eye = np.eye(len(x))
    # Priors: width ~ LogNormal(0, 0.7), height ~ HalfNormal(2), noise ~ HalfNormal(1); volumes of logs.
    log_width = np.linspace(-3.5, 3.0, 131)
    log_height = np.linspace(-3.5, 2.3, 88)
    log_noise = np.linspace(-4.5, 1.2, 116)
    log_weight, means, variances = [], [], []
    for a in log_width:
        shape = np.exp(-0.5 * squared / np.exp(2 * a))
        for b in log_height:
            cov = np.exp(2 * b) * shape + 1e-6 * eye
            values, vectors = np.linalg.eigh(cov)
            turned = vectors.T @ y
            noise = np.exp(2 * log_noise)[:, None]
            total = values[None, :] + noise
            fit = -0.5 * (turned**2 / total + np.log(total)).sum(1)
            height, n = np.exp(b), np.exp(log_noise)
            prior = -0.5 * (a / 0.7) ** 2 - 0.5 * (height / 2) ** 2 + b - 0.5 * n**2 + log_noise
            log_weight.append(fit + prior)
            gain = values / total
            means.append((gain * turned) @ vectors.T)
            variances.append((values * noise / total) @ (vectors**2).T)
    shape = (len(log_width), len(log_height), len(log_noise))
    log_weight = np.array(log_weight)
    weight = np.exp(log_weight - log_weight.max()).reshape(shape)
    edges = [weight.take(i, axis).sum() / weight.sum() for axis in range(3) for i in (0, -1)]
    print("parts of the mass on the six faces of the lattice", np.array(edges))
    quantities = [
        weighted("width", np.exp(log_width), weight.sum((1, 2))),
        weighted("height", np.exp(log_height), weight.sum((0, 2))),
        weighted("noise", np.exp(log_noise), weight.sum((0, 1))),
    ]
    w = (weight / weight.sum()).ravel()
    keep = w > 1e-9 * w.max()
    w = w[keep]
    m = np.concatenate(means)[keep]
    s = np.sqrt(np.concatenate(variances)[keep])
    for i in range(len(x)):
        mean = float((w * m[:, i]).sum())
        sd = float(np.sqrt((w * (s[:, i] ** 2 + m[:, i] ** 2)).sum() - mean**2))
        below = lambda f: float((w * special.ndtr((f - m[:, i]) / s[:, i])).sum())
        solve = lambda p: optimize.brentq(lambda f: below(f) - p, mean - 9 * sd, mean + 9 * sd)
        row = {"name": "f", "index": [i], "mean": mean, "sd": sd}
        quantities.append(row | {q: float(solve(p)) for q, p in LEVELS.items()})
    write("gaussian-process", {"x": x, "y": y, "squared": squared, "unit": eye}, quantities)


# A spline: y ~ Normal(a + B w, exp(b + C v)), w ~ Normal(0, sa), v ~ Normal(0, sb);
# a ~ Normal(0, 2), b ~ Normal(-1, 1), sa ~ HalfNormal(2), sb ~ HalfNormal(1).

def basis(x, n):
    """Cubic B-splines on [0, 1] with even knots."""
    knots = np.concatenate([[0] * 3, np.linspace(0, 1, n - 2), [1] * 3])
    return interpolate.BSpline.design_matrix(x, knots, 3).toarray()


def spline_data():
    rng = np.random.default_rng(5)
    x = np.sort(rng.uniform(0, 1, 70))
    mean = np.where(x < 0.25, 0, -2.5 * np.exp(-((x - 0.4) / 0.1) ** 2) + 1.2 * np.exp(-((x - 0.65) / 0.1) ** 2))
    sd = np.where(x < 0.25, 0.05, 0.5)
    y = np.round(mean + sd * rng.standard_normal(70), 3)
    return x, np.round(y, 6), np.round(basis(np.round(x, 6), 12), 6), np.round(basis(np.round(x, 6), 7), 6)


def spline(chains=400, warmup=1000, draws=4000):
    rng = np.random.default_rng(6)
    x, y, B, C = spline_data()
    n = len(y)
    design = np.hstack([np.ones((n, 1)), B])
    scale = np.hstack([np.ones((n, 1)), C])
    p, q = design.shape[1], scale.shape[1]

    def conditional(sa, log_sd):
        """Log of the density of y with a and w integrated out, and what draws them."""
        weight = np.exp(-2 * log_sd)
        precision = np.einsum("ni,cn,nj->cij", design, weight, design, optimize=True)
        prior = np.concatenate([np.full((len(sa), 1), 0.25), np.repeat(sa[:, None] ** -2, p - 1, 1)], 1)
        precision[:, range(p), range(p)] += prior
        L = np.linalg.cholesky(precision)
        right = (weight * y) @ design
        half = np.linalg.solve(L, right[..., None])[..., 0]
        log = (0.5 * np.log(prior).sum(1) - np.log(np.einsum("cii->ci", L)).sum(1)
               + 0.5 * (half**2).sum(1) - 0.5 * (weight * y**2).sum(1) - log_sd.sum(1))
        return log, L, half

    def metropolis(value, log_density, width):
        """One step of a random walk of log(value); `log_density` is that of the logarithm."""
        here = log_density(value)
        trial = value * np.exp(width * rng.standard_normal(chains))
        taken = np.log(rng.uniform(size=chains)) < log_density(trial) - here
        return np.where(taken, trial, value)

    half_normal = lambda x, s: -0.5 * (x / s) ** 2 + np.log(x)
    sa = np.exp(0.3 * rng.standard_normal(chains))
    sb = np.exp(0.3 * rng.standard_normal(chains))
    z = 0.3 * rng.standard_normal((chains, q))          # of b: (b + 1); of v: v / sb
    spread = lambda sb: np.concatenate([np.ones((chains, 1)), np.repeat(sb[:, None], q - 1, 1)], 1)
    log_sds = lambda z, sb: -1 + (z * spread(sb)) @ scale.T
    kept = []
    for i in range(warmup + draws):
        log_sd = log_sds(z, sb)
        for width in (1.0, 0.3):
            sa = metropolis(sa, lambda s: conditional(s, log_sd)[0] + half_normal(s, 2), width)
        _, L, half = conditional(sa, log_sd)
        normal = half + rng.standard_normal((chains, p))
        beta = np.linalg.solve(np.swapaxes(L, 1, 2), normal[..., None])[..., 0]
        gap = (y - beta @ design.T) ** 2
        fit = lambda z, sb: (-log_sds(z, sb) - 0.5 * gap * np.exp(-2 * log_sds(z, sb))).sum(1)
        for _ in range(2):
            # Elliptical slices for all coefficients of the log scale.
            other = rng.standard_normal((chains, q))
            level = fit(z, sb) + np.log(rng.uniform(size=chains))
            angle = rng.uniform(0, 2 * np.pi, chains)
            low, high = angle - 2 * np.pi, angle.copy()
            new, open_ = z.copy(), np.ones(chains, bool)
            while open_.any():
                trial = z * np.cos(angle)[:, None] + other * np.sin(angle)[:, None]
                taken = open_ & (fit(trial, sb) > level)
                new[taken] = trial[taken]
                open_ &= ~taken
                low, high = np.where(angle < 0, angle, low), np.where(angle < 0, high, angle)
                angle = np.where(open_, rng.uniform(low, high), angle)
            z = new
            # Their scale, with v / sb held and with v held.
            for width in (1.0, 0.3):
                sb = metropolis(sb, lambda s: fit(z, s) + half_normal(s, 1), width)
            v = z[:, 1:] * sb[:, None]
            held = lambda s: -0.5 * (v**2).sum(1) / s**2 - (q - 1) * np.log(s) + half_normal(s, 1)
            sb = metropolis(sb, held, 0.5)
            z = np.concatenate([z[:, :1], v / sb[:, None]], 1)
        if i >= warmup:
            kept.append(np.concatenate([beta, sa[:, None], z[:, :1] - 1, z[:, 1:] * sb[:, None], sb[:, None]], 1))
    kept = np.array(kept)
    names = ([("a", [])] + [("w", [k]) for k in range(p - 1)] + [("sa", []), ("b", [])]
             + [("v", [k]) for k in range(q - 1)] + [("sb", [])])
    quantities = []
    for (name, index), own in zip(names, np.moveaxis(kept, 2, 0)):
        error = lambda f: float(np.std([f(own[:, c]) for c in np.array_split(np.arange(chains), 20)], ddof=1) / 20**0.5)
        row = {"name": name, "index": index, "mean": float(own.mean()), "sd": float(own.std()),
               "mcse_mean": error(np.mean), "mcse_sd": error(np.std)}
        for key, level in LEVELS.items():
            row |= {key: float(np.quantile(own, level)), f"mcse_{key}": error(lambda x: np.quantile(x, level))}
        # Two halves of the run tell whether the chains had forgotten their start.
        drift = (own[: draws // 2].mean() - own[draws // 2 :].mean()) / (2 * row["mcse_mean"])
        print(f"{name}{index} {row['mean']:.4f} ± {row['sd']:.4f} (error {row['mcse_mean']:.1e}), drift {drift:.1f}")
        quantities.append(row)
    write("spline", {"y": y, "B": B, "C": C}, quantities)


if __name__ == "__main__":
    process()
    spline()
