from collections.abc import Callable
from typing import Any

import numpy as np

__version__: str

Array = np.ndarray[Any, Any]

class Curve:
    def __init__(self, text: str) -> None: ...
    @property
    def formula(self) -> str: ...
    def parameters(self, columns: list[str]) -> list[str]: ...
    def fit(
        self,
        columns: list[tuple[str, Array]],
        y: Array,
        sigma: Array | None,
        options: dict[str, Any],
        brief: bool = False,
    ) -> dict[str, Any]: ...
    def fit_many(
        self,
        columns: list[tuple[str, Array]],
        y: Array,
        sigma: Array | None,
        n_fits: int,
        options: dict[str, Any],
    ) -> dict[str, Any]: ...
    def pointwise(
        self, columns: list[tuple[str, Array]], theta: list[float]
    ) -> tuple[Array, Array]: ...

def is_finite(values: Array) -> bool: ...
def check_device(options: dict[str, Any]) -> None: ...
def release_devices() -> None: ...
def t_quantile(probability: float, dof: float) -> float: ...
def doubts(
    fitted: Array,
    y: Array,
    weights: Array | None,
    columns: list[Array] | None,
    sizes: tuple[int, int, float],
    linear: bool,
    absolute_sigma: bool,
) -> tuple[list[str], str | None]: ...
def curve_criteria(
    residuals: Array,
    slopes: Array | None,
    weights: Array,
    n_parameters: int,
    chi2: float,
    absolute_sigma: bool,
) -> list[float]: ...
def curve_weights(criteria: list[float]) -> list[float]: ...
def averaged(
    weights: list[float], curves: list[tuple[Array, Array, float]], confidence: float
) -> list[Array]: ...
def least_squares(
    residuals: Callable[[Array], Array],
    jacobian: Callable[[Array], Array] | None,
    n: int,
    p0: list[float],
    lower: list[float],
    upper: list[float],
    *,
    method: str,
    xtol: float,
    ftol: float,
    gtol: float,
    max_evaluations: int,
    loss: Callable[[Array], Array] | None = None,
) -> dict[str, Any]: ...
def log_density(
    text: str,
    data: dict[str, Any],
    values: dict[str, Array],
    slopes: dict[str, Array] | None = None,
) -> dict[str, Array]: ...
def main(args: list[str]) -> int: ...
def in_arguments(text: str) -> str: ...
def verify(conformance: bool) -> str: ...
def devices() -> str: ...
def simulated(config: str | None, model: str, n: int, seed: int) -> tuple[str, str]: ...
def stop_signal_fit(
    study: bytes,
    source: str,
    words: list[str],
    settings: dict[str, Any],
    progress: Callable[[list[int], list[int], int], object] | None = None,
) -> dict[str, Any]: ...
def read(path: str) -> dict[str, Any]: ...
def diagnosed(given: Any, variables: list[str], ci_prob: float) -> tuple[str, str]: ...
def loo(given: Any, variable: str | None) -> str: ...
def compared(given: list[tuple[str, Any]], variable: str | None) -> str: ...
def report(given: Any, name: str) -> str: ...
def weather_train(
    words: list[str], progress: Callable[[str, dict[str, Any]], object] | None = None
) -> tuple[str, list[tuple[str, str]]]: ...
def weather_score(
    words: list[str], progress: Callable[[int, int], object] | None = None
) -> tuple[str, str, bool, list[tuple[str, str]]]: ...
def weather_tune(
    sweeps: list[str],
    out: str,
    words: list[str],
    progress: Callable[[int, int], object] | None = None,
) -> tuple[str, list[tuple[str, str]]]: ...
def weather_export(words: list[str]) -> tuple[str, list[tuple[str, str]]]: ...
def weather_forecast(words: list[str]) -> tuple[str, list[str], list[tuple[str, str]]]: ...
def names() -> list[str]: ...
def usage(name: str) -> str: ...
def canonical(text: str) -> str: ...
def sample(
    text: str,
    data: dict[str, Any],
    settings: dict[str, Any],
    progress: Callable[[list[int], list[int], int], object] | None = None,
) -> dict[str, Any]: ...
def sample_density(
    source: dict[str, Any],
    settings: dict[str, Any],
    progress: Callable[[list[int], list[int], int], object] | None = None,
) -> dict[str, Any]: ...
