"""Public names that moved: they keep working for one minor version, with a warning that states the new name."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any


def moved(module: str, name: str, names: dict[str, str]) -> Any:
    """The object that a moved name of a module stands for, with a DeprecationWarning; or the usual AttributeError.

    A module calls it from its own `__getattr__` with its table `names` (old name → new one, with its module): the
    warning points at the line that used the name.
    """
    new = names.get(name)
    if new is None:
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    warnings.warn(
        f"{module}.{name} is {new} since 0.2; the old name goes away in 0.3.", DeprecationWarning, stacklevel=3
    )
    where, _, there = new.rpartition(".")
    return getattr(import_module(where), there)
