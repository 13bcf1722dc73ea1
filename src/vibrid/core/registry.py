"""Registries: the names by which project files and tests find laws, structures, integrators and methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vibrid.core.errors import InputError, unknown_name


class Registry:
    """A name → class table for one kind of thing. Registering makes a class known to project files and tests."""

    def __init__(self, kind: str):
        self.kind = kind
        self._classes: dict[str, type] = {}
        self._constructors: dict[str, Callable] = {}

    def register(self, name: str):
        """Class decorator: make the class known under `name`."""

        def add(cls: type) -> type:
            self._take(name, cls)
            self._classes[name] = cls
            return cls

        return add

    def also(self, name: str, constructor: Callable) -> None:
        """Make another way to construct a registered class known to project files, under a name of its own."""
        self._take(name, constructor)
        self._constructors[name] = constructor

    def _take(self, name: str, target: Callable) -> None:
        """Refuse a name that something else has; the same may come again, as when its module is loaded anew."""
        known = self._classes.get(name) or self._constructors.get(name)
        if known is not None and known.__qualname__ != target.__qualname__:
            raise InputError(f"A {self.kind} called '{name}' is registered already; choose another name.")

    def choices(self) -> dict[str, Callable]:
        """All that a project file can name: the classes, and then other ways to construct them."""
        return {name: self._classes[name] for name in self} | self._constructors

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
