"""Registries: the names by which project files, commands and tests find laws, structures, integrators, methods, …

Every entry knows where it came from: the package, a plugin that is installed, or a file of the user's. Plugins that are
installed (`core.plugins`) are looked for the first time that a registry is asked for a name it does not hold, or for
its whole list.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from vibrid.core.errors import InputError, unknown_name

Kind = TypeVar("Kind", bound=type)


@dataclass(frozen=True)
class Origin:
    """Where a registered name came from.

    kind: "package", "entry point" (of an installed distribution), "file", or "session" (typed, or not from a file);
    name: of the plugin; version: of the distribution; path: of the file.
    """

    kind: str
    name: str = ""
    version: str = ""
    path: str = ""

    def __str__(self) -> str:
        """In words: `vibrid`, `acme-laws 1.2`, `/home/me/my_laws.py`."""
        return self.path or f"{self.name} {self.version}".strip()

    @property
    def short(self) -> str:
        """Its name for files that are given to others: without folders of this machine."""
        return Path(self.path).name if self.path else str(self)


PACKAGE = Origin("package", "vibrid")


class Registry:
    """A name → class table for one kind of thing. Registering makes a class known to project files and tests.

    `reserved` are names that project files use for something else.
    """

    every: ClassVar[dict[str, Registry]] = {}
    """All registries, by the kind of their entries."""
    discover: ClassVar[staticmethod[[], Any]] = staticmethod(lambda: None)
    """Loads the plugins that are installed, once; set by `core.plugins`."""

    def __init__(self, kind: str, reserved: tuple[str, ...] = ()):
        self.kind: str = kind
        self.reserved: tuple[str, ...] = reserved
        self._classes: dict[str, Any] = {}
        self._constructors: dict[str, Callable] = {}
        self._announced: dict[str, str] = {}  # name -> "module:attribute", imported at the first use
        self._origins: dict[str, Origin] = {}
        Registry.every[kind] = self

    @classmethod
    def of(cls, kind: str) -> Registry:
        """The registry of a kind, made when it is asked for the first time."""
        return cls.every[kind] if kind in cls.every else cls(kind)

    # -- adding ----------------------------------------------------------------------------------------------------

    def register(self, name: str) -> Callable[[Kind], Kind]:
        """Class decorator: make the class known under `name`."""
        origin = _origin_of_caller(sys._getframe(1).f_globals)

        def add(cls: Kind) -> Kind:
            held = self._classes.get(name)
            again = held is not None and _called(held) == _called(cls) and self._origins.get(name, origin) == origin
            self._refuse_taken(name, again or self._announced.get(name) == _address(cls))
            self._classes[name], self._origins[name] = cls, origin
            return cls

        return add

    def also(self, name: str, constructor: Callable[..., Any]) -> None:
        """Make another way to construct a registered class known to project files, under a name of its own."""
        origin, held = _origin_of_caller(sys._getframe(1).f_globals), self._constructors.get(name)
        self._refuse_taken(name, held is not None and _called(held) == _called(constructor))
        self._constructors[name], self._origins[name] = constructor, origin

    def announce(self, name: str, where: str) -> None:
        """Make `where` ("module:attribute") known under `name` without importing it before it is used."""
        origin = _origin_of_caller(sys._getframe(1).f_globals)
        held = self._classes.get(name)
        self._refuse_taken(name, where == (self._announced.get(name) if held is None else _address(held)))
        self._announced[name], self._origins[name] = where, origin

    def forget(self, name: str) -> None:
        """Take a name out again."""
        for table in (self._classes, self._constructors, self._announced, self._origins):
            table.pop(name, None)

    def _refuse_taken(self, name: str, again: bool) -> None:
        if name in self.reserved:
            raise InputError(
                f"'{name}' has a meaning of its own in project files; choose another name for a {self.kind}."
            )
        if (self._holds(name) or name in self._constructors) and not again:
            raise InputError(
                f"A {self.kind} called '{name}' is registered already (by {self.origin(name)}); choose another name."
            )

    # -- looking up ------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Any:
        if not self._holds(name):
            Registry.discover()
        if not self._holds(name):
            raise unknown_name(self.kind, name, self.names())
        return self._thing(name)

    def __iter__(self) -> Iterator[str]:
        Registry.discover()
        return iter(self.names())

    def __contains__(self, name: str) -> bool:
        if not self._holds(name):
            Registry.discover()
        return self._holds(name)

    def names(self) -> list[str]:
        """The names that are known now, without looking for plugins."""
        return sorted({*self._classes, *self._announced})

    def present(self) -> list[tuple[str, Any]]:
        """(name, class) of the entries now, without looking for plugins or importing anything."""
        return sorted(self._classes.items(), key=lambda entry: entry[0])

    def items(self) -> list[tuple[str, Any]]:
        """(name, class) of all entries, plugins included; one that cannot be imported is left out with a warning."""
        entries = []
        for name in self:
            try:
                entries.append((name, self._thing(name)))
            except InputError as problem:
                warnings.warn(str(problem), stacklevel=2)
        return entries

    def choices(self, named: Collection[str] | None = None) -> dict[str, Any]:
        """The entries that a project file can name: the classes, and then other ways to construct them.

        named: only those of these names that are known now; otherwise all, of installed plugins too.
        """
        if named is None:
            return dict(self.items()) | self._constructors
        classes = {name: self._thing(name) for name in self.names() if name in named}
        return classes | {name: made for name, made in self._constructors.items() if name in named}

    def called(self, class_name: str) -> Any | None:
        """The entry whose class has this name, of those that are known now; None where there is none."""
        for name, cls in self.present():
            if cls.__name__ == class_name:
                return self._classes[name]
        announced = (name for name, where in self._announced.items() if where.endswith(f":{class_name}"))
        return next((self._thing(name) for name in announced), None)

    def name_of(self, cls: type) -> str:
        """The name a class was registered under."""
        for name, known in self._classes.items():
            if known is cls:
                return name
        raise InputError(f"{cls.__name__} is not a registered {self.kind}.")

    def origin(self, name: str) -> Origin:
        """Where a name came from."""
        return self._origins.get(name, PACKAGE)

    def _holds(self, name: str) -> bool:
        return name in self._classes or name in self._announced

    def _thing(self, name: str):
        if name not in self._classes:
            module, _, attribute = self._announced[name].partition(":")
            try:
                with speaking_for(self.origin(name)):
                    self._classes[name] = getattr(import_module(module), attribute)
            except (ImportError, AttributeError) as problem:
                raise InputError(
                    f"The {self.kind} '{name}' of {self.origin(name)} cannot be imported ({problem})."
                ) from problem
        return self._classes[name]


# -- where entries come from ---------------------------------------------------------------------------------------

_modules: dict[str, Origin] = {}
"""Modules whose registrations belong to a plugin, whichever module imports them first."""
_loading: list[Origin] = []
"""The plugins that are being loaded at this moment, the innermost last."""


def belongs_to(module: str, origin: Origin) -> None:
    """Entries registered by `module` and its submodules, now or earlier, belong to `origin`."""
    _modules[module] = origin
    for registry in Registry.every.values():
        for name in registry.names():
            address = _address(registry._classes[name]) if name in registry._classes else registry._announced[name]
            if address.startswith((f"{module}.", f"{module}:")):
                registry._origins[name] = origin


@contextmanager
def speaking_for(origin: Origin) -> Iterator[None]:
    """Entries that other modules register inside the block belong to `origin`."""
    _loading.append(origin)
    try:
        yield
    finally:
        _loading.pop()


@contextmanager
def loading(origin: Origin) -> Iterator[None]:
    """Entries registered inside the block belong to `origin`; if it fails, all entries of `origin` are removed."""
    try:
        with speaking_for(origin):
            yield
    except BaseException:
        forget(origin)
        raise


def registered_by(origin: Origin) -> list[tuple[str, str]]:
    """(kind, name) of everything that came from one place."""
    return [
        (kind, name)
        for kind, registry in sorted(Registry.every.items())
        for name in registry.names()
        if registry.origin(name) == origin
    ]


def forget(origin: Origin) -> None:
    """Take out everything that came from one place."""
    for kind, name in registered_by(origin):
        Registry.every[kind].forget(name)


def _origin_of_caller(where: dict[str, Any]) -> Origin:
    """The origin of what a module registers: its plugin, the package, the plugin that is being loaded, its file."""
    module = where.get("__name__", "")
    owners = [known for known in _modules if module == known or module.startswith(f"{known}.")]
    if owners:
        return _modules[max(owners, key=len)]
    if module == "vibrid" or module.startswith("vibrid."):
        return PACKAGE
    if _loading:
        return _loading[-1]
    file = where.get("__file__")
    return Origin("file", Path(file).stem, path=str(Path(file).resolve())) if file else Origin("session", module)


def _called(thing) -> str:
    return getattr(thing, "__qualname__", "") or type(thing).__qualname__


def _address(thing) -> str:
    return f"{getattr(thing, '__module__', '')}:{_called(thing)}"
