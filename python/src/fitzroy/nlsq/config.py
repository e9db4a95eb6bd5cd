"""Configurations that NLSQ's users make."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["HybridStreamingConfig"]


@dataclass
class HybridStreamingConfig:
    """Settings of NLSQ's streaming optimiser that its users set most.

    `enable_multistart` and `n_starts` count. The others have no effect: a fit goes through its
    points in blocks of its own size, to the same minimum, and writes no checkpoints.
    """

    chunk_size: int = 10_000
    normalize: bool = True
    normalization_strategy: str = "auto"
    warmup_iterations: int = 200
    max_warmup_iterations: int = 500
    gauss_newton_max_iterations: int = 100
    gauss_newton_tol: float = 1e-8
    validate_numerics: bool = True
    enable_checkpoints: bool = False
    verbose: int = 1
    enable_multistart: bool = False
    n_starts: int = 10
