"""Names of methods, and what they are here."""

from __future__ import annotations

__all__ = ["DIRECT", "GLOBAL", "INSIDE", "LOCAL", "SCALAR_METHODS", "named"]

#: Methods of `scipy.optimize.minimize`, by the names that fits have for them. Like the methods of
#: least squares they lead from a start to a minimum, here all by the same steps.
SCALAR_METHODS = {
    "nelder": "Nelder-Mead",
    "powell": "Powell",
    "cg": "CG",
    "bfgs": "BFGS",
    "newton": "Newton-CG",
    "lbfgsb": "L-BFGS-B",
    "l-bfgsb": "L-BFGS-B",
    "tnc": "TNC",
    "cobyla": "COBYLA",
    "slsqp": "SLSQP",
    "dogleg": "dogleg",
    "trust-ncg": "trust-ncg",
    "differential_evolution": "differential_evolution",
    "trust-constr": "trust-constr",
    "trust-exact": "trust-exact",
    "trust-krylov": "trust-krylov",
}
#: Those of them that know no derivatives, and go on where these say nothing.
DIRECT = ("Nelder-Mead", "Powell", "COBYLA")
#: Methods that search inside bounds, which all parameters then have.
INSIDE = ("differential_evolution", "dual_annealing", "shgo")
#: Methods that look for the lowest minimum.
GLOBAL = (*INSIDE, "basinhopping", "ampgo")
#: Those that do not.
LOCAL = ("leastsq", "least_squares", *(n for n in SCALAR_METHODS.values() if n not in GLOBAL))


def named(method: str) -> str:
    """The method of a name or of its beginning, as results call it.

    Raises ValueError for one that is not known, NotImplementedError for one that is not here.
    """
    asked = method.lower()
    if asked.startswith("emcee"):
        raise NotImplementedError(
            "method='emcee' is not here: fitzroy.Model samples the posterior of a model as text, and "
            "`fitzroy curve-fit --posterior` that of a curve; conf_interval gives intervals by "
            "profiles of chi-square"
        )
    if asked.startswith("leasts"):
        return "leastsq"
    if asked.startswith("least_s"):
        return "least_squares"
    for short, known in SCALAR_METHODS.items():
        if short.startswith(asked) or known.lower().startswith(asked):
            return known
    for known in (*GLOBAL, "brute"):
        if known.startswith(asked):
            return known
    names = ", ".join([*dict.fromkeys(LOCAL), *GLOBAL, "brute"])
    raise ValueError(f"method='{method}' is not known; it is one of {names}")
