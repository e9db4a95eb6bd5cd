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

def t_quantile(probability: float, dof: float) -> float: ...
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
) -> dict[str, Any]: ...
def log_density(
    text: str,
    data: dict[str, Any],
    values: dict[str, Array],
    slopes: dict[str, Array] | None = None,
) -> dict[str, Array]: ...
def canonical(text: str) -> str: ...
def sample(
    text: str,
    data: dict[str, Any],
    settings: dict[str, Any],
    progress: Callable[[list[int], list[int], int], object] | None = None,
) -> dict[str, Any]: ...
