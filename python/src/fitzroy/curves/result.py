"""Results of minimisations, in the form of SciPy's."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["OptimizeResult", "optimize_result"]


class OptimizeResult(dict[str, Any]):
    """A dict whose entries are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error

    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:>{width}}: {value!r}" for name, value in self.items())

    def __dir__(self) -> list[str]:
        return list(self)


def optimize_result() -> type[Any]:
    """SciPy's own `OptimizeResult` where SciPy is in use, else ours."""
    scipy = sys.modules.get("scipy.optimize")
    found = getattr(scipy, "OptimizeResult", None)
    return found if isinstance(found, type) and issubclass(found, dict) else OptimizeResult
