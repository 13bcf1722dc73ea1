"""Plugins: entries that others add to the registries without changing the package.

There are two ways. An installed distribution names a module, or a function without arguments, as an entry point of the
group `vibrid.plugins`; these are loaded the first time that a registry is asked for a name it does not hold. A file of
the user is run by `load_file`, for a project that names it and is trusted (`core.trust`).

A plugin that fails (any exception, another version of vibrid, a name that is taken) is left out completely: everything
it had registered is removed again, and one message states which plugin, where it is from, and why.
"""

from __future__ import annotations

import ast
import hashlib
import sys
import threading
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from vibrid.core.errors import FileProblem, InputError, VibridError
from vibrid.core.registry import Origin, Registry, belongs_to, forget, loading, registered_by
from vibrid.core.version import __version__

GROUP = "vibrid.plugins"
OWN: dict[str, str] = {}
"""The package's own entry points, which a checkout has without being installed; set by `vibrid`."""
REQUIRES = "requires_vibrid"
"""Name of the versions that a plugin's module may declare, as in `requires_vibrid = ">=0.2,<0.3"`."""


@dataclass(frozen=True)
class Plugin:
    """One plugin that was found: where it came from, and why it was left out (empty when it was not)."""

    origin: Origin
    entry: str = ""
    problem: str = ""

    @property
    def registered(self) -> list[tuple[str, str]]:
        """(kind, name) of the entries it added."""
        return registered_by(self.origin)

    def __str__(self) -> str:
        return f"The plugin {self.entry or self.origin.name} ({self.origin})"


_lock = threading.RLock()
_installed: list[Plugin] | None = None  # None: not looked for yet
_files: dict[str, tuple[str, types.ModuleType]] = {}  # path -> SHA-256 of what was run, and its module


# -- plugins that are installed ------------------------------------------------------------------------------------


def installed() -> list[Plugin]:
    """All plugins of installed distributions; they are loaded the first time."""
    global _installed
    with _lock:
        if _installed is None:
            _installed = []  # a look-up while they are loaded uses those loaded so far
            entries = _entry_points()
            for origin, _, address in entries:
                belongs_to(address.partition(":")[0], origin)
            for origin, entry, address in entries:
                _installed.append(_load_entry(origin, entry, address))
        return list(_installed)


Registry.discover = staticmethod(installed)


def _entry_points() -> list[tuple[Origin, str, str]]:
    """(origin, name, "module:attribute") of every entry point of the group, the package's own first."""
    from importlib import metadata

    entries = {address: (Origin("entry point", "vibrid", __version__), name, address) for name, address in OWN.items()}
    for entry in metadata.entry_points(group=GROUP):
        owner = entry.dist
        origin = Origin("entry point", owner.name if owner else entry.name, owner.version if owner else "")
        if entry.value.replace(" ", "") not in entries:
            entries[entry.value.replace(" ", "")] = (origin, entry.name, entry.value.replace(" ", ""))
    shared = [origin for origin, _, _ in entries.values()]
    return [  # two entry points of one distribution are two plugins
        (replace(origin, name=f"{origin.name}:{name}") if shared.count(origin) > 1 else origin, name, address)
        for origin, name, address in entries.values()
    ]


def _load_entry(origin: Origin, entry: str, address: str) -> Plugin:
    module, _, attribute = address.partition(":")

    def run() -> None:
        _refuse_other_version(_declared_by_source(module))
        target = import_module(module)
        _refuse_other_version(getattr(target, REQUIRES, None))
        if attribute:
            for name in attribute.split("."):
                target = getattr(target, name)
            if not callable(target):
                raise InputError(f"'{address}' is neither a module nor a function.")
            target()

    plugin = Plugin(origin, entry)
    problem = _try(origin, run)
    if problem:
        warnings.warn(f"{plugin} was left out: {problem}", stacklevel=2)
    return replace(plugin, problem=problem)


def _declared_by_source(module: str) -> str | None:
    """The versions that a module declares before it is imported, where its text can be read."""
    from importlib.util import find_spec

    spec = find_spec(module)
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return None
    return _declared(Path(spec.origin).read_bytes())


# -- files of the user ---------------------------------------------------------------------------------------------


def load_file(path: str | PathLike[str], content: bytes | None = None) -> Plugin:
    """Run a plugin file, once for each content; a `FileProblem` states why it cannot be used.

    `content` was read from the file, and trusted; exactly this is run.
    """
    path = Path(path).resolve()
    content = read_plugin(path) if content is None else content
    origin = Origin("file", path.stem, path=str(path))
    mark = fingerprint(content)
    with _lock:
        if path.as_posix() in _files and _files[path.as_posix()][0] != mark:
            forget(origin)  # it has changed since
        elif registered_by(origin):  # already run, perhaps by an `import`
            return Plugin(origin)
        made: list[types.ModuleType] = []
        problem = _try(origin, lambda: made.append(_run(path, content)))
        if problem:
            raise FileProblem(path, f"this plugin was left out: {problem}")
        _files[path.as_posix()] = (mark, made[0])
    return Plugin(origin)


def module_of(plugin: Plugin) -> types.ModuleType:
    """The module that a plugin file made."""
    return _files[Path(plugin.origin.path).as_posix()][1]


def files() -> list[Plugin]:
    """The plugin files that were run in this process."""
    return [Plugin(Origin("file", Path(path).stem, path=str(Path(path)))) for path in _files]


def read_plugin(path: str | PathLike[str]) -> bytes:
    """The content of a plugin file."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise FileProblem(path, "there is no such plugin file.") from None
    except OSError as problem:
        raise FileProblem(path, f"this plugin file cannot be read ({problem.strerror}).") from None


def fingerprint(content: bytes) -> str:
    """SHA-256 of a content."""
    return hashlib.sha256(content).hexdigest()


def _run(path: Path, content: bytes) -> types.ModuleType:
    _refuse_other_version(_declared(content))
    name = f"vibrid_plugin_{path.stem}_{fingerprint(path.as_posix().encode())[:8]}"
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # type hints of its classes are looked up there
    try:
        exec(compile(content, str(path), "exec"), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


# -- checks --------------------------------------------------------------------------------------------------------


def _try(origin: Origin, run: Callable[[], object]) -> str:
    """Run it; the reason why it failed, or an empty text. Entries of a failing plugin are removed again."""
    try:
        with loading(origin):
            run()
    except VibridError as problem:
        return str(problem)
    except (Exception, SystemExit) as problem:
        return f"it ended with {type(problem).__name__}: {problem}".rstrip(": ").rstrip(".") + "."
    return ""


def _declared(content: bytes) -> Any:
    """The versions of vibrid that a text of Python declares, read without running it."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return None  # which is reported when it is run
    for node in tree.body:
        if not isinstance(node, ast.Assign) or REQUIRES not in [getattr(t, "id", "") for t in node.targets]:
            continue
        if isinstance(node.value, ast.Constant):
            return node.value.value
    return None


def _refuse_other_version(wanted) -> None:
    """Refuse a plugin that was made for another version of vibrid."""
    if wanted is None:
        return
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        fits = SpecifierSet(wanted).contains(__version__, prereleases=True)
    except (InvalidSpecifier, TypeError, AttributeError):
        raise InputError(f'its {REQUIRES} is {wanted!r}; write it like ">=0.2,<0.3".') from None
    if not fits:
        raise InputError(f"it was made for vibrid {wanted}, and this is {__version__}.")
