"""Values as JSON: arrays, complex numbers, functions and whatever can be pickled."""

from __future__ import annotations

import base64
import importlib
import pickle
from typing import Any

import numpy as np

__all__ = ["decoded", "encoded"]


#: Curves are named as lmfit's, whose files are read here and there.
OWN_CURVES, OF_CURVES = f"{__package__}.lineshapes", "lmfit.lineshapes"


def encoded(value: Any) -> Any:
    """A value as what JSON knows. Raises ValueError for one that cannot be written."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return encoded(value.item())
    if isinstance(value, np.ndarray):
        kind = value.dtype.kind
        out = {
            "__class__": "NDArray",
            "__shape__": list(value.shape),
            "__dtype__": value.dtype.name,
        }
        flat = value.reshape(-1)
        out["value"] = [flat.real.tolist(), flat.imag.tolist()] if kind == "c" else flat.tolist()
        return out
    if isinstance(value, complex):
        return {"__class__": "Complex", "value": [value.real, value.imag]}
    if isinstance(value, (list, tuple)):
        name = "List" if isinstance(value, list) else "Tuple"
        return {"__class__": name, "value": [encoded(one) for one in value]}
    if isinstance(value, dict):
        return {
            "__class__": "Dict",
            **{str(name): encoded(one) for name, one in value.items()},
        }
    if hasattr(value, "to_numpy"):
        return encoded(value.to_numpy())
    return _callable(value)


def _callable(value: Any) -> dict[str, Any]:
    name = getattr(value, "__name__", type(value).__name__)
    out: dict[str, Any] = {"__class__": "Callable", "__name__": name, "importer": None}
    module = getattr(value, "__module__", None)
    if module == OWN_CURVES:
        return {**out, "importer": OF_CURVES, "value": None}
    if module not in (None, "__main__"):
        try:
            if getattr(importlib.import_module(module), name, None) is value:
                out["importer"] = module
        except ImportError:
            pass
    found = _pickled(value)
    if found is None and not callable(value):
        raise ValueError(f"{value!r} cannot be written to a file")
    # A function that cannot be kept is given again by whoever reads the file.
    out["value"] = None if found is None else base64.b64encode(found).decode("ascii")
    return out


def _pickled(value: Any) -> bytes | None:
    """A value as bytes: of a function without a module by the package dill, where it is there."""
    try:
        return pickle.dumps(value)
    except Exception:
        pass
    try:
        import dill

        return bytes(dill.dumps(value))
    except Exception:
        return None


def decoded(value: Any) -> Any:
    """The value that was encoded; a function that cannot be had again is None."""
    if not isinstance(value, dict):
        return [decoded(one) for one in value] if isinstance(value, list) else value
    kind = value.get("__class__")
    if kind == "NDArray":
        parts = value["value"]
        dtype = np.dtype(value["__dtype__"])
        if dtype.kind == "c":
            parts = np.asarray(parts[0], dtype=float) + 1j * np.asarray(parts[1], dtype=float)
        return np.asarray(parts, dtype=dtype).reshape(value["__shape__"])
    if kind == "Complex":
        return complex(*value["value"])
    if kind in ("List", "Tuple"):
        found = [decoded(one) for one in value["value"]]
        return found if kind == "List" else tuple(found)
    if kind == "Callable":
        return _function(value)
    return {name: decoded(one) for name, one in value.items() if name != "__class__"}


def _function(value: dict[str, Any]) -> Any:
    if value.get("importer"):
        module = OWN_CURVES if value["importer"] == OF_CURVES else value["importer"]
        try:
            return getattr(importlib.import_module(module), value["__name__"])
        except (ImportError, AttributeError):
            pass
    if value.get("value"):
        try:
            return pickle.loads(base64.b64decode(value["value"]))
        except Exception:
            return None
    return None
