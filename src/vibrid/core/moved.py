"""Public names that moved: they keep working for one minor version, with a warning that states the new name."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar, cast


def moved(module: str, name: str, names: dict[str, str]) -> Any:
    """The object that a moved name of a module stands for, with a DeprecationWarning; or the usual AttributeError.

    A module calls it from its own `__getattr__` with its table `names` (old name → new one, with its module): the
    warning points at the line that used the name.
    """
    new = names.get(name)
    if new is None:
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    _warn(f"{module}.{name}", new, stacklevel=3)
    where, _, there = new.rpartition(".")
    return getattr(import_module(where), there)


Function = TypeVar("Function", bound=Callable)


def renamed_arguments(**names: str) -> Callable[[Function], Function]:
    """Decorate a function whose arguments have new names (`old="new"`): the old ones work, with a warning."""

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*positional, **given):
            for old, new in names.items():
                if old in given:
                    _warn(f"the argument {old}= of {function.__name__}()", f"{new}=", stacklevel=3)
                    given[new] = given.pop(old)
            return function(*positional, **given)

        return cast(Function, call)

    return decorate


def renamed_attribute(old: str, new: str) -> Any:
    """An attribute of a class that has a new name: the old one reads it, with a warning."""

    def read(thing):
        _warn(f"{type(thing).__name__}.{old}", f"{type(thing).__name__}.{new}", stacklevel=3)
        return getattr(thing, new)

    return property(read, doc=f"Deprecated: {new}.")


def _warn(old: str, new: str, stacklevel: int) -> None:
    text = f"{old} is {new} since 0.2; the old name goes away in 0.3."
    warnings.warn(text, DeprecationWarning, stacklevel=stacklevel + 1)
