"""Registries: the names by which project files and tests find laws, structures, integrators and methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from vibrid.core.errors import InputError, unknown_name

Kind = TypeVar("Kind", bound=type)


class Registry:
    """A name → class table for one kind of thing. Registering makes a class known to project files and tests."""

    def __init__(self, kind: str):
        self.kind = kind
        self._classes: dict[str, type] = {}

    def register(self, name: str) -> Callable[[Kind], Kind]:
        """Class decorator: make the class known under `name`."""

        def add(cls: Kind) -> Kind:
            if name in self._classes and self._classes[name].__qualname__ != cls.__qualname__:
                raise InputError(f"A {self.kind} called '{name}' is registered already; choose another name.")
            self._classes[name] = cls
            return cls

        return add

    def __getitem__(self, name: str) -> type:
        if name not in self._classes:
            raise unknown_name(self.kind, name, self._classes)
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._classes))

    def __contains__(self, name: str) -> bool:
        return name in self._classes

    def name_of(self, cls: type) -> str:
        """The name a class was registered under."""
        for name, known in self._classes.items():
            if known is cls:
                return name
        raise InputError(f"{cls.__name__} is not a registered {self.kind}.")
