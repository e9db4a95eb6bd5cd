"""Examples in the manner of lmfit's and SciPy's documentation, each fitted there.

python examples.py > examples.json     (needs lmfit)
"""

import json
import warnings

import lmfit
import numpy as np
from lmfit import models
from scipy.optimize import curve_fit, least_squares

warnings.simplefilter("ignore")
RNG = np.random.default_rng(20260)
G = "{a}/({s}*sqrt(2*pi))*exp(-(x-{c})^2/(2*{s}^2))"
L = "{a}/pi*{s}/((x-{c})^2+{s}^2)"
OUT = []


def noisy(y, part=0.02):
    size = part * (np.max(y) - np.min(y))
    return y + size * RNG.standard_normal(y.size)


def grid(low, high, n=70):
    return np.linspace(low, high, n).round(6)


def add(name, formula, x, y, start, values, errors, **more):
    OUT.append(
        {
            "name": name,
            "formula": formula,
            "x": np.asarray(x).tolist(),
            "y": np.asarray(y).tolist(),
            "start": start,
            "values": {k: float(v) for k, v in values.items()},
            "errors": {k: float(v) for k, v in errors.items()},
            **more,
        }
    )


def of_lmfit(name, model, formula, x, truth, start, hints=None, weights=None, part=0.02):
    """A model of lmfit with the truth, and the same as a formula in the names of its parameters."""
    y = noisy(model.eval(model.make_params(**truth), x=x), part).round(8)
    parameters = model.make_params(**start)
    more = {"bounds": {}, "fixed": {}, "tied": {}}
    for key, hint in (hints or {}).items():
        parameters[key].set(**hint)
        if "min" in hint or "max" in hint:
            more["bounds"][key] = [hint.get("min"), hint.get("max")]
        if hint.get("vary") is False:
            more["fixed"][key] = parameters[key].value
        if "expr" in hint:
            more["tied"][key] = hint["expr"].replace("**", "^")
    fit_kws = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14, "epsfcn": 1e-13}
    found = model.fit(y, parameters, x=x, weights=weights, fit_kws=fit_kws)
    again = model.fit(y, found.params, x=x, weights=weights, fit_kws=fit_kws)
    found = again if again.chisqr <= found.chisqr else found
    own = [k for k in truth if k not in more["fixed"]]
    values = {k: found.params[k].value for k in own}
    errors = {k: found.params[k].stderr for k in own if found.params[k].stderr}
    sigma = None if weights is None else (1.0 / weights).tolist()
    free = {k: v for k, v in start.items() if k not in more["fixed"] and k not in more["tied"]}
    add("lmfit: " + name, formula, x, y, free, values, errors, sigma=sigma, **more)


def lmfit_examples():
    peak = {"amplitude": 12.0, "center": 4.0, "sigma": 0.8}
    near = {"amplitude": 9.0, "center": 4.4, "sigma": 0.6}
    x = grid(0, 9)
    of_lmfit("GaussianModel", models.GaussianModel(), G.format(a="amplitude", s="sigma", c="center"), x, peak, near)
    of_lmfit("LorentzianModel", models.LorentzianModel(), L.format(a="amplitude", s="sigma", c="center"), x, peak, near)
    of_lmfit(
        "SplitLorentzianModel",
        models.SplitLorentzianModel(),
        "2*amplitude/(pi*(sigma+sigma_r))*(where(x<center,1,0)*sigma^2/((x-center)^2+sigma^2)"
        "+where(x>=center,1,0)*sigma_r^2/((x-center)^2+sigma_r^2))",
        x,
        {**peak, "sigma_r": 1.5},
        {**near, "sigma_r": 1.2},
    )
    of_lmfit(
        "VoigtModel",
        models.VoigtModel(),
        "amplitude*voigt_profile(x-center,sigma,gamma)",
        x,
        {**peak, "gamma": 0.8},
        {**near, "gamma": 0.6},
        {"gamma": {"expr": "sigma"}},
    )
    of_lmfit(
        "VoigtModel, gamma free",
        models.VoigtModel(),
        "amplitude*voigt_profile(x-center,sigma,gamma)",
        x,
        {**peak, "gamma": 0.5},
        {**near, "gamma": 0.6},
        {"gamma": {"expr": "", "vary": True, "min": 0}},
        part=0.004,
    )
    of_lmfit(
        "MoffatModel",
        models.MoffatModel(),
        "amplitude*(((x-center)/sigma)^2+1)^(-beta)",
        x,
        {**peak, "beta": 1.7},
        {**near, "beta": 1.2},
    )
    of_lmfit(
        "StudentsTModel",
        models.StudentsTModel(),
        "amplitude*exp(lgamma((sigma+1)/2)-lgamma(sigma/2))/sqrt(sigma*pi)*(1+(x-center)^2/sigma)^(-(sigma+1)/2)",
        x,
        {**peak, "sigma": 2.0},
        {**near, "sigma": 1.5},
    )
    of_lmfit(
        "BreitWignerModel",
        models.BreitWignerModel(),
        "amplitude*(q*sigma/2+x-center)^2/((sigma/2)^2+(x-center)^2)",
        x,
        {**peak, "q": 1.4},
        {**near, "q": 1.0},
    )
    of_lmfit(
        "LognormalModel",
        models.LognormalModel(),
        "amplitude/(sigma*x*sqrt(2*pi))*exp(-((log(x)-center)^2)/(2*sigma^2))",
        grid(0.2, 9),
        {"amplitude": 12, "center": 0.9, "sigma": 0.5},
        {"amplitude": 9, "center": 0.7, "sigma": 0.6},
    )
    of_lmfit(
        "DampedOscillatorModel",
        models.DampedOscillatorModel(),
        "amplitude/sqrt((1-(x/center)^2)^2+(2*sigma*x/center)^2)",
        grid(0.1, 9),
        {"amplitude": 2, "center": 4, "sigma": 0.1},
        {"amplitude": 1.5, "center": 4.2, "sigma": 0.15},
    )
    of_lmfit(
        "DampedHarmonicOscillatorModel",
        models.DampedHarmonicOscillatorModel(),
        "amplitude*sigma/pi*(1/((x-center)^2+sigma^2)-1/((x+center)^2+sigma^2))/(1-exp(-x/gamma))",
        grid(0.1, 9),
        {"amplitude": 9, "center": 4, "sigma": 0.5, "gamma": 1.2},
        {"amplitude": 7, "center": 4.2, "sigma": 0.6, "gamma": 1.2},
        {"gamma": {"vary": False}},
    )
    of_lmfit(
        "ExponentialGaussianModel",
        models.ExponentialGaussianModel(),
        "amplitude*gamma/2*exp(gamma*(center-x+gamma*sigma^2/2))*erfc((center+gamma*sigma^2-x)/(sqrt(2)*sigma))",
        x,
        {**peak, "gamma": 1.0},
        {**near, "gamma": 1.3},
        part=0.006,
    )
    of_lmfit(
        "SkewedGaussianModel",
        models.SkewedGaussianModel(),
        G.format(a="amplitude", s="sigma", c="center") + "*(1+erf(gamma*(x-center)/(sigma*sqrt(2))))",
        x,
        {**peak, "sigma": 1.5, "gamma": 3.0},
        {**near, "sigma": 1.2, "gamma": 2.0},
        part=0.006,
    )
    of_lmfit(
        "SkewedVoigtModel",
        models.SkewedVoigtModel(),
        "amplitude*voigt_profile(x-center,sigma,gamma)*(1+erf(skew*(x-center)/(sigma*sqrt(2))))",
        x,
        {**peak, "gamma": 0.8, "skew": 1.0},
        {**near, "gamma": 0.6, "skew": 0.6},
        {"gamma": {"expr": "sigma"}},
        part=0.006,
    )
    of_lmfit(
        "ThermalDistributionModel, Maxwell",
        models.ThermalDistributionModel(form="maxwell"),
        "1/(amplitude*exp((x-center)/kt))",
        x,
        {"amplitude": 0.4, "center": 1, "kt": 1.5},
        {"amplitude": 0.5, "center": 1, "kt": 1.2},
        {"center": {"vary": False}},
    )
    of_lmfit(
        "ThermalDistributionModel, Fermi",
        models.ThermalDistributionModel(form="fermi"),
        "1/(amplitude*exp((x-center)/kt)+1)",
        x,
        {"amplitude": 1.0, "center": 4, "kt": 0.7},
        {"amplitude": 1.0, "center": 3.5, "kt": 1.0},
        {"amplitude": {"vary": False}},
    )
    of_lmfit(
        "ThermalDistributionModel, Bose",
        models.ThermalDistributionModel(form="bose"),
        "1/(amplitude*exp((x-center)/kt)-1)",
        grid(1, 9),
        {"amplitude": 1.0, "center": 0.2, "kt": 1.7},
        {"amplitude": 1.0, "center": 0.1, "kt": 1.5},
        {"amplitude": {"vary": False}},
    )
    of_lmfit(
        "DoniachModel",
        models.DoniachModel(),
        "amplitude/sigma^(1-gamma)*cos(pi*gamma/2+(1-gamma)*atan((x-center)/sigma))/(1+((x-center)/sigma)^2)^((1-gamma)/2)",
        x,
        {**peak, "gamma": 0.1},
        {**near, "gamma": 0.05},
    )
    of_lmfit(
        "LinearModel",
        models.LinearModel(),
        "slope*x+intercept",
        x,
        {"slope": 2, "intercept": -1},
        {"slope": 1, "intercept": 0},
    )
    of_lmfit(
        "QuadraticModel",
        models.QuadraticModel(),
        "a*x^2+b*x+c",
        x,
        {"a": 0.5, "b": -2, "c": 3},
        {"a": 1, "b": 0, "c": 0},
    )
    of_lmfit(
        "PolynomialModel",
        models.PolynomialModel(4),
        "c0+x*(c1+x*(c2+x*(c3+x*c4)))",
        grid(-2, 2),
        {"c0": 1, "c1": -2, "c2": 0.5, "c3": 0.3, "c4": -0.2},
        {"c0": 0, "c1": 0, "c2": 0, "c3": 0, "c4": 0},
    )
    of_lmfit(
        "SineModel",
        models.SineModel(),
        "amplitude*sin(x*frequency+shift)",
        x,
        {"amplitude": 2, "frequency": 1.3, "shift": 0.6},
        {"amplitude": 1.5, "frequency": 1.25, "shift": 0.5},
    )
    of_lmfit(
        "ExponentialModel",
        models.ExponentialModel(),
        "amplitude*exp(-x/decay)",
        x,
        {"amplitude": 9, "decay": 2.5},
        {"amplitude": 7, "decay": 2},
    )
    of_lmfit(
        "PowerLawModel",
        models.PowerLawModel(),
        "amplitude*x^exponent",
        grid(0.5, 9),
        {"amplitude": 3, "exponent": -1.4},
        {"amplitude": 2, "exponent": -1},
    )
    step = {"amplitude": 5, "center": 4, "sigma": 0.9}
    by = {"amplitude": 4, "center": 4.3, "sigma": 0.7}
    forms = {
        "erf": "amplitude*0.5*(1+erf((x-center)/sigma))",
        "arctan": "amplitude*(0.5+atan((x-center)/sigma)/pi)",
        "logistic": "amplitude*(1-1/(1+exp((x-center)/sigma)))",
    }
    for form, formula in forms.items():
        of_lmfit(f"StepModel, {form}", models.StepModel(form=form), formula, x, step, by)
    both = {"amplitude": 5, "center1": 2.5, "sigma1": 0.5, "center2": 6.5, "sigma2": 0.8}
    at = {"amplitude": 4, "center1": 2.8, "sigma1": 0.6, "center2": 6.2, "sigma2": 0.6}
    forms = {
        "erf": "amplitude*0.5*(erf((x-center1)/sigma1)+erf((center2-x)/sigma2))",
        "arctan": "amplitude*(atan((x-center1)/sigma1)+atan((center2-x)/sigma2))/pi",
        "logistic": "amplitude*(1-1/(1+exp((x-center1)/sigma1))-1/(1+exp((center2-x)/sigma2)))",
    }
    for form, formula in forms.items():
        of_lmfit(f"RectangleModel, {form}", models.RectangleModel(form=form), formula, x, both, at)
    pv = (
        "(1-fraction)*"
        + G.format(a="amplitude", s="(sigma/sqrt(2*log(2)))", c="center")
        + "+fraction*"
        + L.format(a="amplitude", s="sigma", c="center")
    )
    of_lmfit(
        "PseudoVoigtModel",
        models.PseudoVoigtModel(),
        pv,
        x,
        {**peak, "fraction": 0.4},
        {**near, "fraction": 0.5},
        part=0.006,
    )
    of_lmfit(
        "Pearson7Model",
        models.Pearson7Model(),
        "amplitude*(1+((x-center)/sigma)^2)^(-expon)/(sigma*exp(lgamma(expon-0.5)+lgamma(0.5)-lgamma(expon)))",
        x,
        {**peak, "expon": 1.8},
        {**near, "expon": 1.5},
        part=0.006,
    )
    composites(x)


def composites(x):
    two = models.GaussianModel(prefix="g1_") + models.GaussianModel(prefix="g2_") + models.LinearModel()
    formula = (
        " + ".join(G.format(a=f"{p}amplitude", s=f"{p}sigma", c=f"{p}center") for p in ("g1_", "g2_"))
        + " + slope*x + intercept"
    )
    truth = dict(
        g1_amplitude=8, g1_center=3, g1_sigma=0.6, g2_amplitude=6, g2_center=5.5, g2_sigma=0.9, slope=0.3, intercept=1
    )
    start = dict(
        g1_amplitude=6, g1_center=2.8, g1_sigma=0.7, g2_amplitude=5, g2_center=5.8, g2_sigma=0.8, slope=0, intercept=0
    )
    of_lmfit("two Gaussians and a line", two, formula, x, truth, start)
    of_lmfit(
        "two Gaussians, one width",
        two,
        formula,
        x,
        {**truth, "g2_sigma": 0.6},
        start,
        {"g2_sigma": {"expr": "g1_sigma"}},
    )
    of_lmfit(
        "two Gaussians, ratio of areas",
        two,
        formula,
        x,
        {**truth, "g2_amplitude": 4},
        start,
        {"g2_amplitude": {"expr": "0.5*g1_amplitude"}},
    )
    of_lmfit(
        "two Gaussians, bounds",
        two,
        formula,
        x,
        truth,
        start,
        {"g1_sigma": {"min": 0.1, "max": 3}, "g2_sigma": {"min": 0.1, "max": 3}},
    )
    of_lmfit(
        "two Gaussians, a flat ground",
        two,
        formula,
        x,
        {**truth, "slope": 0},
        {**start, "slope": 0},
        {"slope": {"vary": False}},
    )
    weights = 1.0 / (0.05 + 0.02 * x)
    of_lmfit("two Gaussians, weights", two, formula, x, truth, start, weights=weights)
    line = models.LorentzianModel() + models.ExponentialModel(prefix="e_")
    of_lmfit(
        "Lorentzian on a decay",
        line,
        L.format(a="amplitude", s="sigma", c="center") + "+e_amplitude*exp(-x/e_decay)",
        x,
        dict(amplitude=6, center=5, sigma=0.5, e_amplitude=4, e_decay=2),
        dict(amplitude=5, center=5.2, sigma=0.6, e_amplitude=3, e_decay=2.4),
    )
    step = models.StepModel(form="erf") + models.LinearModel()
    of_lmfit(
        "step on a line (xasdb)",
        step,
        "amplitude*0.5*(1+erf((x-center)/sigma))+slope*x+intercept",
        x,
        dict(amplitude=5, center=4, sigma=0.9, slope=0.2, intercept=1),
        dict(amplitude=4, center=4.2, sigma=0.7, slope=0.1, intercept=0),
    )
    product = models.SineModel() * models.ExponentialModel(prefix="d_")
    of_lmfit(
        "damped sine as a product",
        product,
        "amplitude*sin(x*frequency+shift)*d_amplitude*exp(-x/d_decay)",
        x,
        dict(amplitude=2, frequency=2.2, shift=0.4, d_amplitude=1, d_decay=4),
        dict(amplitude=1.6, frequency=2.1, shift=0.5, d_amplitude=1, d_decay=3),
        {"d_amplitude": {"vary": False}},
    )


def of_scipy(name, f, formula, x, truth, start, bounds=None, sigma=None, absolute=False, part=0.03):
    names = list(truth)
    y = noisy(f(x, *truth.values()), part).round(8)
    more = {"bounds": {}, "fixed": {}, "tied": {}}
    box = {}
    if bounds:
        box = {"bounds": ([bounds[k][0] for k in names], [bounds[k][1] for k in names])}
        more["bounds"] = {k: [None if not np.isfinite(v) else v for v in bounds[k]] for k in names}
    popt, pcov = curve_fit(
        f, x, y, list(start.values()), sigma=sigma, absolute_sigma=absolute, xtol=1e-14, ftol=1e-14, gtol=1e-14, **box
    )
    at_bound = [bool(bounds) and popt[k] in bounds[names[k]] for k in range(len(names))]
    errors = {k: e for k, e, b in zip(names, np.sqrt(np.diag(pcov)), at_bound) if not any(at_bound)}
    add(
        "SciPy: " + name,
        formula,
        x,
        y,
        start,
        dict(zip(names, popt)),
        errors,
        sigma=None if sigma is None else list(sigma),
        absolute=absolute,
        **more,
    )


def scipy_examples():
    decay = lambda x, a, b, c: a * np.exp(-b * x) + c  # noqa: E731
    x, truth, start = grid(0, 4, 50), dict(a=2.5, b=1.3, c=0.5), dict(a=1.0, b=1.0, c=1.0)
    text = "a*exp(-b*x)+c"
    of_scipy("curve_fit's example", decay, text, x, truth, start)
    of_scipy("curve_fit's example within bounds", decay, text, x, truth, start, {"a": (0, 3), "b": (0, 2), "c": (0, 1)})
    sigma = (0.05 + 0.03 * x).round(6)
    of_scipy("sigma", decay, text, x, truth, start, sigma=sigma)
    of_scipy("absolute sigma", decay, text, x, truth, start, sigma=sigma, absolute=True)
    of_scipy(
        "Michaelis-Menten",
        lambda x, v, k: v * x / (k + x),
        "v*x/(k+x)",
        grid(0.1, 9, 24),
        dict(v=3.0, k=1.2),
        dict(v=1.0, k=1.0),
    )
    of_scipy(
        "Hill",
        lambda x, y, k, n: y * x**n / (k**n + x**n),
        "y0*x^n/(k^n+x^n)",
        grid(0.1, 9, 40),
        dict(y0=3.0, k=2.2, n=1.8),
        dict(y0=2.0, k=2.0, n=1.0),
    )
    of_scipy(
        "logistic",
        lambda x, l, k, m: l / (1 + np.exp(-k * (x - m))),
        "l/(1+exp(-k*(x-m)))",
        grid(0, 9, 50),
        dict(l=4.0, k=1.4, m=4.2),
        dict(l=3.0, k=1.0, m=4.0),
    )
    of_scipy(
        "Gompertz",
        lambda x, a, b, c: a * np.exp(-b * np.exp(-c * x)),
        "a*exp(-b*exp(-c*x))",
        grid(0, 9, 50),
        dict(a=4.0, b=5.0, c=0.7),
        dict(a=3.0, b=4.0, c=0.5),
    )
    of_scipy(
        "sine with a trend",
        lambda x, a, w, p, b, c: a * np.sin(w * x + p) + b * x + c,
        "a*sin(w*x+p)+b*x+c",
        grid(0, 9),
        dict(a=2.0, w=1.7, p=0.5, b=0.3, c=1.0),
        dict(a=1.5, w=1.65, p=0.4, b=0.0, c=0.0),
    )
    of_scipy(
        "double decay",
        lambda x, a, k, b, l: a * np.exp(-k * x) + b * np.exp(-l * x),
        "a*exp(-k*x)+b*exp(-l*x)",
        grid(0, 6, 90),
        dict(a=3.0, k=2.5, b=2.0, l=0.4),
        dict(a=2.0, k=3.0, b=1.5, l=0.3),
        part=0.004,
    )
    of_scipy(
        "Arrhenius",
        lambda x, a, e: a * np.exp(-e / x),
        "a*exp(-e/x)",
        grid(1, 6, 40),
        dict(a=5.0, e=2.0),
        dict(a=3.0, e=1.0),
    )
    of_scipy(
        "Langmuir",
        lambda x, q, k: q * k * x / (1 + k * x),
        "q*k*x/(1+k*x)",
        grid(0, 9, 40),
        dict(q=4.0, k=0.6),
        dict(q=3.0, k=1.0),
    )
    of_scipy(
        "Morse",
        lambda x, d, a, r: d * (1 - np.exp(-a * (x - r))) ** 2,
        "d*(1-exp(-a*(x-r)))^2",
        grid(0.7, 5, 60),
        dict(d=4.0, a=1.2, r=1.4),
        dict(d=3.0, a=1.0, r=1.5),
    )
    of_scipy(
        "stretched decay",
        lambda x, a, t, b: a * np.exp(-((x / t) ** b)),
        "a*exp(-(x/t)^b)",
        grid(0.05, 9, 60),
        dict(a=4.0, t=2.0, b=0.7),
        dict(a=3.0, t=1.5, b=1.0),
    )
    of_scipy("power law", lambda x, a, b: a * x**b, "a*x^b", grid(0.5, 9, 40), dict(a=2.0, b=1.3), dict(a=1.0, b=1.0))
    of_scipy(
        "broken line",
        lambda x, m, a, b, c: np.where(x < m, c + a * (x - m), c + b * (x - m)),
        "where(x<m, c+a*(x-m), c+b*(x-m))",
        grid(0, 9, 61),
        dict(m=4.03, a=2.0, b=-0.5, c=3.0),
        dict(m=4.4, a=1.0, b=0.0, c=2.0),
    )
    robust()


def robust():
    """The cookbook's sine with outliers, by least_squares with its losses; no covariance is given there."""
    x = grid(0, 6, 60)
    y = noisy(2.0 * np.sin(1.4 * x + 0.3), 0.02)
    y[::9] += 1.5
    y = y.round(8)
    for loss in ("soft_l1", "huber", "cauchy", "arctan"):
        r = lambda t: t[0] * np.sin(t[1] * x + t[2]) - y  # noqa: E731
        found = least_squares(r, [1.5, 1.3, 0.4], loss=loss, f_scale=0.1, xtol=1e-15, ftol=1e-15, gtol=1e-15)
        for _ in range(3):
            found = least_squares(r, found.x, loss=loss, f_scale=0.1, xtol=1e-15, ftol=1e-15, gtol=1e-15)
        add(
            f"SciPy: cookbook, {loss}",
            "a*sin(w*x+p)",
            x,
            y,
            {"a": 1.5, "w": 1.3, "p": 0.4},
            dict(zip("awp", found.x)),
            {},
            loss=loss,
            f_scale=0.1,
            bounds={},
            fixed={},
            tied={},
            sigma=None,
        )


if __name__ == "__main__":
    lmfit_examples()
    scipy_examples()
    print(json.dumps(OUT))
