"""The least-squares problems of Moré, Garbow and Hillstrom (ACM TOMS 7, 1981), each from x0, 10 x0 and
100 x0, solved by SciPy's trf and by Ceres; and from x0 in a box that most solutions lie outside of, by trf.
Writes more_garbow_hillstrom.json beside this file.

Every problem is one formula over rows that both programs read; `i` counts the rows from 1.
Run with SciPy, pyceres and JAX, which gives Ceres its Jacobians: python more_garbow_hillstrom.py
"""

import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pyceres
import scipy
from scipy.optimize import least_squares

jax.config.update("jax_enable_x64", True)
NAMES = "abcdefghjkl"
functions = {name: getattr(np, name) for name in ["exp", "sqrt", "cos", "sin", "where", "abs", "log"]}
functions["atan"], functions["pi"] = np.arctan, np.pi
traced_functions = {name: getattr(jnp, name) for name in ["exp", "sqrt", "cos", "sin", "where", "abs", "log"]}
traced_functions["atan"], traced_functions["pi"] = jnp.arctan, np.pi


def rows(*formulas):
    """One formula for each row."""
    out = formulas[-1]
    for k in range(len(formulas) - 1, 0, -1):
        out = f"where(i == {k}, {formulas[k - 1]}, {out})"
    return out


i10, i15, i11 = np.arange(1, 11.0), np.arange(1, 16.0), np.arange(1, 12.0)
bard_y = [.14, .18, .22, .25, .29, .32, .35, .39, .37, .58, .73, .96, 1.34, 2.10, 4.39]
gauss_y = [.0009, .0044, .0175, .0540, .1295, .2420, .3521, .3989, .3521, .2420, .1295, .0540, .0175, .0044, .0009]
meyer_y = [34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872]
ko_y = [.1957, .1947, .1735, .1600, .0844, .0627, .0456, .0342, .0323, .0235, .0246]
ko_u = [4, 2, 1, .5, .25, .167, .125, .1, .0833, .0714, .0625]
osborne1 = [.844, .908, .932, .936, .925, .908, .881, .850, .818, .784, .751, .718, .685, .658, .628, .603, .580, .558,
            .538, .522, .506, .490, .478, .467, .457, .448, .438, .431, .424, .420, .414, .411, .406]
osborne2 = [1.366, 1.191, 1.112, 1.013, .991, .885, .831, .847, .786, .725, .746, .679, .608, .655, .616, .606, .602,
            .626, .651, .724, .649, .649, .694, .644, .624, .661, .612, .558, .533, .495, .500, .423, .395, .375, .372,
            .391, .396, .405, .428, .429, .523, .562, .607, .653, .672, .708, .633, .668, .645, .632, .591, .559, .597,
            .625, .739, .710, .729, .720, .636, .581, .428, .292, .162, .098, .054]
# Name: formula, columns, x0, least Σ r².
PROBLEMS = {
    "Rosenbrock": (rows("10*(b-a^2)", "1-a"), {"i": [1, 2]}, [-1.2, 1], [0]),
    "Freudenstein-Roth": (rows("-13+a+((5-b)*b-2)*b", "-29+a+((b+1)*b-14)*b"), {"i": [1, 2]}, [.5, -2], [0, 48.9842536]),
    "Powell badly scaled": (rows("10000*a*b-1", "exp(-a)+exp(-b)-1.0001"), {"i": [1, 2]}, [0, 1], [0]),
    "Brown badly scaled": (rows("a-1000000", "b-0.000002", "a*b-2"), {"i": [1, 2, 3]}, [1, 1], [0]),
    "Beale": ("y0-a*(1-b^i)", {"i": [1, 2, 3], "y0": [1.5, 2.25, 2.625]}, [1, 1], [0]),
    "Jennrich-Sampson": ("2+2*i-(exp(i*a)+exp(i*b))", {"i": i10}, [.3, .4], [124.3621824]),
    "Helical valley": (rows("10*(c-10*(where(a > 0, atan(b/a)/(2*pi), atan(b/a)/(2*pi)+0.5)))", "10*(sqrt(a^2+b^2)-1)", "c"),
                       {"i": [1, 2, 3]}, [-1, 0, 0], [0]),
    "Bard": ("y0-(a+i/((16-i)*b+where(i < 16-i, i, 16-i)*c))", {"i": i15, "y0": bard_y}, [1, 1, 1], [8.214877e-3, 17.42869]),
    "Gaussian": ("a*exp(-b*(t-c)^2/2)-y0", {"t": (8 - i15) / 2, "y0": gauss_y}, [.4, 1, 0], [1.127933e-8]),
    "Meyer": ("a*exp(b/(t+c))-y0", {"t": 45 + 5 * np.arange(1, 17.0), "y0": meyer_y}, [.02, 4000, 250], [87.945855]),
    "Gulf": ("exp(-abs(y0-b)^c/a)-t", {"t": np.arange(1, 100) / 100,
             "y0": 25 + (-50 * np.log(np.arange(1, 100) / 100)) ** (2 / 3)}, [5, 2.5, .15], [0]),
    "Box": ("exp(-t*a)-exp(-t*b)-c*(exp(-t)-exp(-10*t))", {"t": i10 / 10}, [0, 10, 20], [0]),
    "Powell singular": (rows("a+10*b", "sqrt(5)*(c-d)", "(b-2*c)^2", "sqrt(10)*(a-d)^2"), {"i": [1, 2, 3, 4]}, [3, -1, 0, 1], [0]),
    "Wood": (rows("10*(b-a^2)", "1-a", "sqrt(90)*(d-c^2)", "1-c", "sqrt(10)*(b+d-2)", "(b-d)/sqrt(10)"),
             {"i": [1, 2, 3, 4, 5, 6]}, [-3, -1, -3, -1], [0]),
    "Kowalik-Osborne": ("y0-a*(u^2+u*b)/(u^2+u*c+d)", {"u": ko_u, "y0": ko_y}, [.25, .39, .415, .39], [3.0750561e-4, 1.02734e-3]),
    "Brown-Dennis": ("(a+t*b-exp(t))^2+(c+d*sin(t)-cos(t))^2", {"t": np.arange(1, 21) / 5}, [25, 5, -5, -1], [85822.2016]),
    "Osborne 1": ("y0-(a+b*exp(-t*d)+c*exp(-t*e1))", {"t": 10.0 * np.arange(33), "y0": osborne1}, [.5, 1.5, -1, .01, .02], [5.464895e-5]),
    "Biggs EXP6": ("c*exp(-t*a)-d*exp(-t*b)+f*exp(-t*e1)-y0", {"t": np.arange(1, 14) / 10,
                   "y0": np.exp(-np.arange(1, 14) / 10) - 5 * np.exp(-np.arange(1, 14.0)) + 3 * np.exp(-.4 * np.arange(1, 14))},
                   [1, 2, 1, 1, 1, 1], [0, 5.655650e-3]),
    "Osborne 2": ("y0-(a*exp(-t*e1)+b*exp(-(t-k)^2*f)+c*exp(-(t-l)^2*g)+d*exp(-(t-m)^2*h))",
                  {"t": np.arange(65) / 10, "y0": osborne2}, [1.3, .65, .65, .7, .6, 3, 5, 7, 2, 4.5, 5.5], [4.01377e-2]),
}
ORDER = {"Osborne 1": "a b c d e1", "Biggs EXP6": "a b c d e1 f", "Osborne 2": "a b c d e1 f g h k l m"}


def solved(cost2, minima):
    """Within a millionth of a known minimum; a minimum of 0 to the sixth digit of the residuals."""
    return any(cost2 <= best * (1 + 1e-5) + 1e-11 and cost2 >= best * (1 - 1e-4) - 1e-11 for best in minima)


class Residuals(pyceres.CostFunction):
    """A problem as Ceres wants it: residuals, and a Jacobian by rows."""

    def __init__(self, residual, n_rows, n_parameters):
        pyceres.CostFunction.__init__(self)
        self.set_num_residuals(n_rows)
        self.set_parameter_block_sizes([n_parameters])
        self.value, self.slopes = jax.jit(residual), jax.jit(jax.jacfwd(residual))

    def Evaluate(self, parameters, residuals, jacobians):
        p = np.array(parameters[0])
        residuals[:] = np.asarray(self.value(p))
        if jacobians is not None and jacobians[0] is not None:
            jacobians[0][:] = np.asarray(self.slopes(p)).ravel()
        return bool(np.all(np.isfinite(residuals)))


def ceres(residual, n_rows, start):
    """The sum of squares that Ceres ends at, infinite where it does not start."""
    x, problem, cost = np.array(start, float), pyceres.Problem(), Residuals(residual, n_rows, len(start))
    problem.add_residual_block(cost, None, [x])
    options, summary = pyceres.SolverOptions(), pyceres.SolverSummary()
    options.max_num_iterations = 5000
    options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance = 1e-15
    pyceres.solve(options, problem, summary)
    end = float(np.sum(np.asarray(cost.value(x)) ** 2))
    return end if np.isfinite(end) else float("inf")


def box(x0):
    """Bounds around x0, narrow enough to hold most solutions off."""
    width = [0.3 * (1 + abs(v)) for v in x0]
    return [v - w for v, w in zip(x0, width)], [v + w / 2 for v, w in zip(x0, width)]


tight = dict(method="trf", jac="3-point", x_scale="jac", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=5000)
out, n_solved, n_ceres = {"scipy": scipy.__version__, "ceres": "pyceres 2.6", "problems": []}, 0, 0
for name, (formula, columns, x0, minima) in PROBLEMS.items():
    names = ORDER.get(name, " ".join(NAMES[: len(x0)])).split()
    columns = {k: np.asarray(v, float) for k, v in columns.items()}
    code = compile(formula.replace("^", "**"), name, "eval")

    def residual(p):
        with np.errstate(all="ignore"):
            return np.broadcast_to(eval(code, {**functions, **columns, **dict(zip(names, p))}),
                                   next(iter(columns.values())).shape).astype(float)

    def traced(p):
        value = eval(code, {**traced_functions, **columns, **dict(zip(names, p))})
        return jnp.broadcast_to(value, next(iter(columns.values())).shape).astype(float)

    runs = []
    for scale in (1, 10, 100):
        start = [scale * v for v in x0]
        try:
            r = least_squares(residual, start, **tight)
            cost2 = 2 * r.cost
        except (ValueError, np.linalg.LinAlgError):
            cost2 = float("inf")
        ok = bool(solved(cost2, minima))
        n_solved += ok
        by_ceres = ceres(traced, len(next(iter(columns.values()))), start)
        also = bool(solved(by_ceres, minima))
        n_ceres += also
        runs.append({"start": start, "sum_of_squares": cost2 if np.isfinite(cost2) else None, "solved": ok,
                     "ceres": by_ceres if np.isfinite(by_ceres) else None, "ceres_solved": also})
    low, high = box(x0)
    r = least_squares(residual, x0, bounds=(low, high), **tight)
    bounded = {"start": list(x0), "lower": low, "upper": high, "sum_of_squares": 2 * r.cost, "theta": list(r.x)}
    out["problems"].append({"name": name, "formula": formula, "parameters": names, "minima": minima,
                            "columns": {k: v.tolist() for k, v in columns.items()}, "runs": runs, "bounded": bounded})
    print(name, [(r["solved"], r["sum_of_squares"], r["ceres_solved"], r["ceres"]) for r in runs])
out["trf_solved"], out["ceres_solved"] = n_solved, n_ceres
print(n_solved, "by trf,", n_ceres, "by Ceres, of", 3 * len(PROBLEMS))
pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(out) + "\n")
