"""Attached methods: a class declares them, a module of a later package gives the functions.

The class of a result or a record declares the method, with arguments and docstring but no body (`@attached`); a module
of a later package states which function is called (`attach`). So imports go one way only, and an editor still shows the
method.

>>> class Result:
...     @attached
...     def plot(self, ax=None):
...         "Draw it; returns the axes."
>>> attach(Result, plot=lambda result, ax: f"drawn on {ax}")
>>> Result().plot("these axes")
'drawn on these axes'
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from vibrid.core.errors import InputError

Declared = TypeVar("Declared", bound=Callable)

FUNCTIONS: dict[tuple[str, str], Callable | str] = {}
"""The function, or its name `module:function`, of every (`module:class`, method)."""


def attached(method: Declared) -> Declared:
    """Decorate a method without a body: the function attached to its class is called with the same arguments."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def call(self, *positional, **named):
        given = signature.bind(self, *positional, **named)
        given.apply_defaults()
        owner = self if isinstance(self, type) else type(self)  # a class, where it is a class method
        return function_of(owner, method.__name__)(*given.args, **given.kwargs)

    return cast(Declared, call)


def attach(owner: type | str, **functions: Callable[..., Any] | str) -> None:
    """State which functions are called for the declared methods of a class.

    Class and functions may be given by name, `module:name`; such a function is imported when it is first called.
    """
    for method, function in functions.items():
        place = _name(owner), method
        known = FUNCTIONS.setdefault(place, function)
        if _name(known) != _name(function):
            raise InputError(f"{place[0]}.{method}() is attached to {_name(known)} already, not to {_name(function)}.")


def function_of(owner: type, method: str) -> Callable:
    """The function of a declared method of a class, or of its nearest base class that has one."""
    for cls in owner.__mro__:
        place = _name(cls), method
        if place in FUNCTIONS:
            function = FUNCTIONS[place]
            if isinstance(function, str):
                module, _, name = function.partition(":")
                return getattr(importlib.import_module(module), name)
            return function
    raise NotImplementedError(f"{_name(owner)} declares {method}(), and no function is attached to it.")


def _name(thing: Callable[..., Any] | str) -> str:
    return thing if isinstance(thing, str) else f"{thing.__module__}:{thing.__qualname__}"
