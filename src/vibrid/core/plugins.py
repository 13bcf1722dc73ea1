"""Plugins: what others add to the registries without touching the package.

Two doors lead in. An installed distribution names a module, or a function without arguments, as an entry point of the
group `vibrid.plugins`; those are loaded the first time that a registry is asked for what it does not hold. And a file
of one's own is run by `load_file`, for a project that names it and is trusted (`core.trust`).

A plugin that fails (any exception, another version of vibrid, a name that is taken) is left out whole: what it had
registered by then is taken back, and one sentence says what, from where, and why.
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
from pathlib import Path

from vibrid.core.errors import FileProblem, InputError, VibridError
from vibrid.core.registry import Origin, Registry, belongs_to, forget, loading, registered_by
from vibrid.core.version import __version__

GROUP = "vibrid.plugins"
OWN: dict[str, str] = {}
"""The package's own entry points, which a checkout has without being installed; `vibrid` puts them here."""
REQUIRES = "requires_vibrid"
"""What a plugin's module may declare: the versions it was made for, as in `requires_vibrid = ">=0.2,<0.3"`."""


@dataclass(frozen=True)
class Plugin:
    """One plugin that was found: where it came from, and why it was left out (empty when it was not)."""

    origin: Origin
    entry: str = ""
    problem: str = ""

    @property
    def registered(self) -> list[tuple[str, str]]:
        """(kind, name) of what it added."""
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
            _installed = []  # whoever asks while they are loaded is answered from what is there
            found = _entry_points()
            for origin, _, address in found:
                belongs_to(address.partition(":")[0], origin)
            for origin, entry, address in found:
                _installed.append(_load_entry(origin, entry, address))
        return list(_installed)


Registry.discover = staticmethod(installed)


def _entry_points() -> list[tuple[Origin, str, str]]:
    """(origin, name, "module:attribute") of every entry point of the group, the package's own first."""
    from importlib import metadata

    found = {address: (Origin("entry point", "vibrid", __version__), name, address) for name, address in OWN.items()}
    for entry in metadata.entry_points(group=GROUP):
        owner = entry.dist
        origin = Origin("entry point", owner.name if owner else entry.name, owner.version if owner else "")
        if entry.value.replace(" ", "") not in found:
            found[entry.value.replace(" ", "")] = (origin, entry.name, entry.value.replace(" ", ""))
    shared = [origin for origin, _, _ in found.values()]
    return [  # two entry points of one distribution are two plugins
        (replace(origin, name=f"{origin.name}:{name}") if shared.count(origin) > 1 else origin, name, address)
        for origin, name, address in found.values()
    ]


def _load_entry(origin: Origin, entry: str, address: str) -> Plugin:
    module, _, attribute = address.partition(":")

    def run() -> None:
        _refuse_other_version(_declared_by_source(module))
        made = import_module(module)
        _refuse_other_version(getattr(made, REQUIRES, None))
        if attribute:
            for name in attribute.split("."):
                made = getattr(made, name)
            if not callable(made):
                raise InputError(f"'{address}' is neither a module nor a function.")
            made()

    plugin = Plugin(origin, entry)
    problem = _try(origin, run)
    if problem:
        warnings.warn(f"{plugin} was left out: {problem}", stacklevel=2)
    return replace(plugin, problem=problem)


def _declared_by_source(module: str) -> str | None:
    """What a module that is not imported yet says of the versions it was made for, where its text can be read."""
    from importlib.util import find_spec

    spec = find_spec(module)
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return None
    return _declared(Path(spec.origin).read_bytes())


# -- a file of one's own -------------------------------------------------------------------------------------------


def load_file(path, content: bytes | None = None) -> Plugin:
    """Run a plugin file, once for each content; a `FileProblem` says why it cannot be used.

    `content` is what was read from the file, and trusted; what is run is exactly that.
    """
    path = Path(path).resolve()
    content = read_plugin(path) if content is None else content
    origin = Origin("file", path.stem, path=str(path))
    mark = fingerprint(content)
    with _lock:
        if path.as_posix() in _files and _files[path.as_posix()][0] != mark:
            forget(origin)  # it has changed since
        elif registered_by(origin):  # run already, perhaps by an `import`
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


def read_plugin(path) -> bytes:
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


# -- what can be wrong ---------------------------------------------------------------------------------------------


def _try(origin: Origin, run: Callable[[], object]) -> str:
    """Run it; why it failed, in a sentence, or nothing. What a failing plugin registered is taken back."""
    try:
        with loading(origin):
            run()
    except VibridError as problem:
        return str(problem)
    except (Exception, SystemExit) as problem:
        return f"it ended with {type(problem).__name__}: {problem}".rstrip(": ").rstrip(".") + "."
    return ""


def _declared(content: bytes) -> str | None:
    """The versions of vibrid that a text of Python declares, read without running it."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return None  # which is told when it is run
    for node in tree.body:
        names = [getattr(t, "id", "") for t in node.targets] if isinstance(node, ast.Assign) else []
        if REQUIRES in names and isinstance(node.value, ast.Constant):
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
