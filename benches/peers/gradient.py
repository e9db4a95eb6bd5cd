"""Value and gradient of log densities in JAX: the time of one call, and the answer.

    python benches/peers/gradient.py time [--seconds 2] [--threads 1]   # prints JSON
    python benches/peers/gradient.py reference                          # writes reference.json

`time` calls the compiled value_and_grad from a Python loop and waits for each result, which is
what a sampler written in Python pays; `in_loop_us` is the same inside one compiled loop, which
leaves the call overhead out. Double precision. All functions contain every normalising
constant and the Jacobian of each logarithm, so that other programs can be held against them.
`reference` checks value and one directional derivative at 50 digits (mpmath) before it writes,
and writes the value rounded from there: `point` and `gradient` list the parameters in the order of
`names`, and log(s) means that the parameter moves on the log scale (Jacobian included).
"""

import argparse
import json
import os
import pathlib
import platform
import sys
import time

if "--threads" in sys.argv and sys.argv[sys.argv.index("--threads") + 1] == "1":
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
from jax.scipy.special import log_ndtr
from jax.scipy.stats import cauchy, norm

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "problems")]
LOG_2, LOG_2PI = float(np.log(2.0)), float(np.log(2.0 * np.pi))


def half_normal(log_x, scale):
    """HalfNormal prior of exp(log_x), as a density of log_x."""
    return LOG_2 + norm.logpdf(jnp.exp(log_x), 0.0, scale) + log_x


def pattern(rows, columns):
    """Fixed numbers in [-1, 1]: ((7 i + 3 k) mod 11 - 5) / 5."""
    i, k = np.arange(rows)[:, None], np.arange(columns)[None, :]
    return ((7 * i + 3 * k) % 11 - 5) / 5.0


def hierarchical():
    """models/hierarchical-noncentred.fz: mu_pop, log sigma_pop, z[100], log sigma_obs."""
    from problems import columns

    d = columns("hierarchical.csv")
    group, y = jnp.asarray(d["group"].astype(int)), jnp.asarray(d["y"])

    def log_density(q):
        mu_pop, log_sigma_pop, z, log_sigma_obs = q[0], q[1], q[2:102], q[102]
        mu_group = mu_pop + jnp.exp(log_sigma_pop) * z
        prior = (norm.logpdf(mu_pop, 50.0, 20.0) + half_normal(log_sigma_pop, 15.0)
                 + norm.logpdf(z).sum() + half_normal(log_sigma_obs, 5.0))
        return prior + norm.logpdf(y, mu_group[group], jnp.exp(log_sigma_obs)).sum()

    names = ["mu_pop", "log(sigma_pop)", *(f"z[{j}]" for j in range(100)), "log(sigma_obs)"]
    point = np.r_[49.0, np.log(9.0), pattern(100, 1)[:, 0], np.log(2.5)]
    return log_density, names, point


SUBJECT = ["weight", "location", "log_sd", "log_delay", "log_threshold", "log_drift"]
PRIOR_MEAN, PRIOR_SD = [1.0, 0.5, -3.0, -2.0, 0.0, 1.0], [1.0, 0.3, 1.0, 1.0, 1.0, 1.0]
PRIOR_SPREAD = [1.0, 0.2, 0.5, 0.5, 0.5, 0.5]
POINT_MEAN, POINT_SPREAD = [0.8, 0.46, -2.9, -2.1, 0.25, 1.0], [0.5, 0.06, 0.25, 0.3, 0.2, 0.2]


def mixture():
    """benches/problems/mixture.fz: m[6], log s[6], shift_raw, then six blocks of 100 subjects."""
    import mixture as data

    subject, rt = (jnp.asarray(np.array(v)) for v in data.rows())

    def log_density(q):
        m, log_s, shift_raw, theta = q[:6], q[6:12], q[12], q[13:].reshape(6, 100)
        prior = (norm.logpdf(m, jnp.array(PRIOR_MEAN), jnp.array(PRIOR_SD)).sum()
                 + half_normal(log_s, jnp.array(PRIOR_SPREAD)).sum() + norm.logpdf(shift_raw)
                 + norm.logpdf(theta, m[:, None], jnp.exp(log_s)[:, None]).sum())
        weight, location, log_sd, log_delay, log_threshold, log_drift = theta[:, subject]
        sd, delay = jnp.exp(log_sd), jnp.exp(log_delay)
        standard, ratio = (rt - location) / sd, sd / delay
        ex_gauss = ratio * (ratio / 2 - standard) - log_delay + log_ndtr(standard - ratio)
        elapsed = rt - 0.1 * jax.nn.sigmoid(shift_raw)
        gap = jnp.exp(log_threshold) - jnp.exp(log_drift) * elapsed
        wald = log_threshold - 0.5 * LOG_2PI - 1.5 * jnp.log(elapsed) - gap**2 / (2 * elapsed)
        rows = jnp.logaddexp(ex_gauss - jax.nn.softplus(-weight), wald - jax.nn.softplus(weight))
        return prior + rows.sum()

    names = [f"m_{k}" for k in SUBJECT] + [f"log(s_{k})" for k in SUBJECT] + ["shift_raw"]
    names += [f"{k}[{j}]" for k in SUBJECT for j in range(100)]
    theta = np.array(POINT_MEAN) + np.array(POINT_SPREAD) * pattern(100, 6)
    point = np.r_[POINT_MEAN, np.log(POINT_SPREAD), 0.25, theta.T.ravel()]
    return log_density, names, point


def eight_schools():
    """models/eight-schools.fz: mu, log tau, theta[8]."""
    from problems import columns

    d = columns("eight-schools.csv")
    y, sigma = jnp.asarray(d["y"]), jnp.asarray(d["sigma"])

    def log_density(q):
        mu, log_tau, theta = q[0], q[1], q[2:]
        tau = LOG_2 + cauchy.logpdf(jnp.exp(log_tau), 0.0, 5.0) + log_tau
        return (norm.logpdf(mu, 0.0, 5.0) + tau + norm.logpdf(theta, mu, jnp.exp(log_tau)).sum()
                + norm.logpdf(y, theta, sigma).sum())

    names = ["mu", "log(tau)", *(f"theta[{j}]" for j in range(8))]
    return log_density, names, np.r_[4.0, 1.25, 3.0 + 4.0 * pattern(8, 1)[:, 0]]


def artist_data():
    d = json.loads((HERE.parent.parent / "models" / "artists.json").read_text())
    return {k: np.array(v) for k, v in d.items()}


def artists():
    """models/artists.fz: mu, log sigma_artist, effect[100], beta[10], log sigma."""
    d = artist_data()
    artist, x, y = (jnp.asarray(d[k]) for k in ("artist", "features", "y"))

    def log_density(q):
        mu, log_spread, effect, beta, log_sigma = q[0], q[1], q[2:102], q[102:112], q[112]
        prior = (norm.logpdf(mu, 0.0, 20.0) + half_normal(log_spread, 5.0) + half_normal(log_sigma, 5.0)
                 + norm.logpdf(effect, mu, jnp.exp(log_spread)).sum() + norm.logpdf(beta, 0.0, 2.0).sum())
        return prior + norm.logpdf(y, effect[artist] + x @ beta, jnp.exp(log_sigma)).sum()

    names = ["mu", "log(sigma_artist)", *(f"effect[{j}]" for j in range(100)),
             *(f"beta[{k}]" for k in range(10)), "log(sigma)"]
    point = np.r_[9.5, 0.5, 10.0 + 2.0 * pattern(100, 1)[:, 0], pattern(10, 1)[:, 0], 0.125]
    return log_density, names, point


def logistic():
    """benches/problems/logistic.fz: beta[25]."""
    import logistic as data

    x, y = (jnp.asarray(np.array(v, dtype=float)) for v in data.rows())

    def log_density(q):
        eta = x @ q
        return norm.logpdf(q, 0.0, 2.5).sum() + (y * eta - jax.nn.softplus(eta)).sum()

    return log_density, [f"beta[{k}]" for k in range(25)], pattern(25, 1)[:, 0] / 2


PROBLEMS = {"eight-schools": eight_schools, "hierarchical-noncentred": hierarchical, "artists": artists,
            "logistic": logistic, "mixture": mixture}


def precise_others(problem, q, mp, normal, half):
    """`precise` for the problems whose densities are short."""
    total = mp.mpf(0)
    if problem == "eight-schools":
        from problems import columns

        d = columns("eight-schools.csv")
        tau = mp.exp(q[1])
        total += normal(q[0], 0, 5) + mp.log(2) - mp.log(5 * mp.pi * (1 + (tau / 5) ** 2)) + q[1]
        for t, y, s in zip(q[2:], d["y"], d["sigma"], strict=True):
            total += normal(t, q[0], tau) + normal(mp.mpf(float(y)), t, mp.mpf(float(s)))
    elif problem == "artists":
        d = artist_data()
        effect, beta = q[2:102], q[102:112]
        total += normal(q[0], 0, 20) + half(q[1], 5) + half(q[112], 5) + sum(normal(b, 0, 2) for b in beta)
        total += sum(normal(e, q[0], mp.exp(q[1])) for e in effect)
        for j, row, y in zip(d["artist"], d["features"], d["y"], strict=True):
            line = effect[j] + sum(mp.mpf(float(v)) * b for v, b in zip(row, beta, strict=True))
            total += normal(mp.mpf(float(y)), line, mp.exp(q[112]))
    else:
        import logistic as data

        total += sum(normal(b, 0, mp.mpf(2.5)) for b in q)
        for row, y in zip(*data.rows(), strict=True):
            eta = sum(mp.mpf(v) * b for v, b in zip(row, q, strict=True))
            total += y * eta - mp.log(1 + mp.exp(eta))
    return total


def precise(problem, point, step=0.0, direction=None):
    """The same log density by mpmath at 50 digits, written from the model files afresh."""
    import mpmath as mp

    mp.mp.dps = 50
    q = [mp.mpf(float(v)) for v in point]
    if step:
        q = [v + step * mp.mpf(float(d)) for v, d in zip(q, direction, strict=True)]
    normal = lambda x, m, s: -((x - m) / s) ** 2 / 2 - mp.log(s) - mp.log(2 * mp.pi) / 2
    half = lambda u, s: mp.log(2) + normal(mp.exp(u), 0, s) + u
    total = mp.mpf(0)
    if problem in ("eight-schools", "artists", "logistic"):
        return precise_others(problem, q, mp, normal, half)
    if problem == "mixture":
        import mixture as data

        m, log_s, raw, theta = q[:6], q[6:12], q[12], [q[13 + 100 * k:113 + 100 * k] for k in range(6)]
        total += sum(normal(a, mp.mpf(b), mp.mpf(c)) for a, b, c in zip(m, PRIOR_MEAN, PRIOR_SD))
        total += sum(half(a, mp.mpf(b)) for a, b in zip(log_s, PRIOR_SPREAD)) + normal(raw, 0, 1)
        total += sum(normal(t, m[k], mp.exp(log_s[k])) for k in range(6) for t in theta[k])
        shift = mp.mpf(0.1) / (1 + mp.exp(-raw))
        for i, t in zip(*data.rows()):
            w, mu, log_sd, log_delay, log_a, log_v = (theta[k][i] for k in range(6))
            t, sd, delay, a, v = mp.mpf(t), mp.exp(log_sd), mp.exp(log_delay), mp.exp(log_a), mp.exp(log_v)
            first = (mp.exp((mu - t) / delay + (sd / delay) ** 2 / 2) / delay
                     * mp.ncdf((t - mu) / sd - sd / delay))
            e = t - shift
            second = a / mp.sqrt(2 * mp.pi * e**3) * mp.exp(-((a - v * e) ** 2) / (2 * e))
            share = 1 / (1 + mp.exp(-w))
            total += mp.log(share * first + (1 - share) * second)
        return total
    from problems import columns

    d = columns("hierarchical.csv")
    mu, log_pop, z, log_obs = q[0], q[1], q[2:102], q[102]
    total += normal(mu, 50, 20) + half(log_pop, 15) + sum(normal(v, 0, 1) for v in z) + half(log_obs, 5)
    for j, y in zip(d["group"].astype(int), d["y"]):
        total += normal(mp.mpf(float(y)), mu + mp.exp(log_pop) * z[j], mp.exp(log_obs))
    return total


def reference():
    out = {}
    for problem, make in PROBLEMS.items():
        log_density, names, point = make()
        value, gradient = jax.jit(jax.value_and_grad(log_density))(jnp.asarray(point))
        value, gradient, exact = float(value), np.asarray(gradient), precise(problem, point)
        assert abs((value - exact) / exact) < 1e-12, (problem, value, exact)
        step, direction = 1e-12, np.sin(np.arange(1.0, 1.0 + len(point)))
        ends = [precise(problem, point, k * step, direction) for k in (1, -1)]
        slope = float((ends[0] - ends[1]) / (2 * step))
        assert abs(slope / (gradient @ direction) - 1.0) < 1e-11, (problem, slope)
        out[problem] = {
            "parameters": len(names), "value": float(exact),
            "gradient_norm": float(np.linalg.norm(gradient)),
            "names": names, "point": point.tolist(), "gradient": gradient.tolist(),
        }
        print(problem, value, exact, slope, file=sys.stderr)
    out["versions"] = {"python": platform.python_version(), "jax": jax.__version__, "numpy": np.__version__}
    body = [f" {json.dumps(k)}: {json.dumps(v)}" for k, v in out.items()]
    (HERE / "reference.json").write_text("{\n" + ",\n".join(body) + "\n}\n")


def median_us(call, seconds):
    """Median microseconds of one call, over batches that fill `seconds`."""
    call()
    start, n = time.perf_counter(), 0
    while time.perf_counter() - start < 0.2:
        call()
        n += 1
    batch, times, end = max(1, n // 4), [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        begin = time.perf_counter()
        for _ in range(batch):
            call()
        times.append((time.perf_counter() - begin) / batch * 1e6)
    return float(np.median(times))


def measure(options):
    expected, out = json.loads((HERE / "reference.json").read_text()), {}
    for problem, make in PROBLEMS.items():
        log_density, names, point = make()
        q = jnp.asarray(point)
        both = jax.value_and_grad(log_density)
        begin = time.perf_counter()
        function = jax.jit(both).lower(q).compile()
        compile_s = time.perf_counter() - begin
        value, gradient = function(q)
        assert abs(float(value) / expected[problem]["value"] - 1.0) < 1e-9
        assert abs(float(jnp.linalg.norm(gradient)) / expected[problem]["gradient_norm"] - 1.0) < 1e-9
        jitted = jax.jit(both)
        n_inner = 20 if problem in ("logistic", "mixture") else 1000

        def loop(x):
            def step(_, carry):
                value, gradient = both(carry[0])
                return carry[0] + 1e-300 * gradient, carry[1] + value
            return jax.lax.fori_loop(0, n_inner, step, (x, 0.0))

        looped = jax.jit(loop)
        out[problem] = {
            "parameters": len(names), "compile_s": compile_s,
            "call_us": median_us(lambda: jax.block_until_ready(jitted(q)), options.seconds),
            "in_loop_us": median_us(lambda: jax.block_until_ready(looped(q)), options.seconds) / n_inner,
        }
    out["versions"] = {"python": platform.python_version(), "jax": jax.__version__}
    out["threads"] = options.threads
    print(json.dumps(out))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["time", "reference"])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--threads", default="1", help="1 or all")
    arguments = parser.parse_args()
    reference() if arguments.what == "reference" else measure(arguments)
