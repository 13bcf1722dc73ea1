"""Compiled programs on disk, found by what they were made from, so that a later process does not trace them again.

JAX keeps what it compiled, but to find it a function must be traced and lowered first, which takes longer than the
rest. Here a program is found by its function, the shapes of the arrays and everything else in its arguments, the
sources of vibrid, the versions of the libraries, the settings of JAX and the kind of processor. Arguments with parts
that are defined outside vibrid and these libraries (a law of the user, a function) have no such name: their code may
change, and they are traced in every process.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import os
import pickle
import platform
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from vibrid.core import loops
from vibrid.core.errors import VibridError
from vibrid.core.files import is_trusted, make_folder, whole_file
from vibrid.core.precision import cache_folder, processor

MOST = 400
"""Programs that are kept; those not used for longest go first."""
KNOWN = {"vibrid", "jax", "jaxlib", "numpy", "equinox", "ml_dtypes"}
"""Packages whose classes and functions a name may hold: their code is in the fingerprint."""
_PLAIN = {"builtins", "collections", "functools", "pathlib", "copyreg", "_codecs", "operator", "enum", "types", "abc"}
_LIBRARIES = ("jax", "jaxlib", "numpy", "equinox", "scipy")

_DEVICE = "jax_default_device"

keeps = True
"""Off where code is changed while it runs, as tests do."""


class Unnamed(Exception):
    """Something in the arguments may change without a sign of it."""


class ArrayShape(NamedTuple):
    """An array in the arguments: its numbers do not matter."""

    shape: tuple[int, ...]
    dtype: str
    weak: bool


class _Namer(pickle.Pickler):
    """Writes down what arguments are. Nothing is ever read back from it."""

    def persistent_id(self, obj: Any) -> Any:
        if not isinstance(obj, frozenset | set):
            return None
        if not all(isinstance(entry, str | int) for entry in obj):
            raise Unnamed("a set of more than words")
        return "set", *sorted(map(repr, obj))  # their order is another one in every process

    def reducer_override(self, obj: Any) -> Any:
        for named in (type(obj), obj):  # classes, functions, and what stands for a function, as `jax.jit` makes it
            place = getattr(named, "__qualname__", None)
            if place is None:
                continue
            package = str(getattr(named, "__module__", None)).partition(".")[0]
            if package not in KNOWN | _PLAIN or "<" in place:
                raise Unnamed(place)
        return NotImplemented


def named(function: Callable[..., Any], leaves: Sequence[Any], tree: Any, way: str) -> str | None:
    """The name of a function's program for some arguments; None where they cannot be named.

    Arguments
        leaves, tree: the arguments, flattened; arrays stand for their shapes.
        way: how the program is made of the function.
    """
    folder = cache_folder()
    if not keeps or folder is None or jax.default_backend() != "cpu":
        return None
    own = function.__module__, function.__qualname__
    if own[0].partition(".")[0] != "vibrid" or "<" in own[1]:
        return None
    shapes = [
        ArrayShape(np.shape(a), str(a.dtype), bool(getattr(a, "weak_type", False)))
        if isinstance(a, jax.Array | np.ndarray | np.generic)
        else a
        for a in leaves
    ]
    stream = io.BytesIO()
    namer = _Namer(stream, protocol=4)
    namer.fast = True  # without references to what was written before: equal arguments are written alike
    try:
        namer.dump((own, way, jax.tree.unflatten(tree, shapes), settings()))
    except (Unnamed, pickle.PicklingError, TypeError, AttributeError, ValueError, RecursionError):
        return None
    return hashlib.sha256(stream.getvalue()).hexdigest()[:40]


def settings() -> tuple[Any, ...]:
    """All that a program depends on beside its function and its arguments."""
    theirs = sorted((name, str(value)) for name, value in jax.config.values.items() if "cache" not in name)
    theirs.append((_DEVICE, str(getattr(jax.config, _DEVICE))))
    flags = os.environ.get("XLA_FLAGS", ""), os.environ.get("VIBRID_NATIVE", ""), loops.whole
    return sources(), tuple(theirs), flags, jax.device_count()


@functools.cache
def sources() -> str:
    """A digest of the sources of vibrid, by size and time, and of the versions of what computes."""
    folder, found = Path(__file__).parents[1], []
    for place, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            if file.endswith(".py"):
                told = os.stat(os.path.join(place, file))
                found.append((os.path.relpath(os.path.join(place, file), folder), told.st_size, told.st_mtime_ns))
    versions = [sys.version, platform.platform(), processor(), *(version(name) for name in _LIBRARIES), _llvm()]
    return hashlib.sha256(repr((found, versions)).encode()).hexdigest()


def _llvm() -> str:
    with contextlib.suppress(Exception):
        return version("llvmlite")
    return ""


def kept(name: str | None, known: Callable[[str], bool]) -> Callable[..., Any] | None:
    """The program of that name; None where it is not there, is damaged, was written by somebody else, or needs machine
    code that is not there.

    known: makes machine code known to XLA by its name, and tells whether it is there.
    """
    file = _file(name)
    if file is None:
        return None
    from jax.experimental.serialize_executable import deserialize_and_load

    try:
        content = file.read_bytes() if is_trusted(file) else b""
        if hashlib.sha256(content[32:]).digest() != content[:32]:
            return None
        codes, payload, count, example = pickle.loads(content[32:])
        if not all(map(known, codes)):
            return None
        leaves, out = jax.tree.flatten(example)
        flat, given = jax.tree.structure([0] * len(leaves)), jax.tree.structure((tuple([0] * count), {}))
        if b"lapack" in payload:
            _with_lapack()
        run = deserialize_and_load(payload, given, flat, backend="cpu", execution_devices=jax.devices("cpu")[:1])
    except Exception:  # whatever is wrong with it, the program is made again
        return None
    with contextlib.suppress(OSError):  # a disk that cannot be written
        os.utime(file)
    return lambda *arrays: jax.tree.unflatten(out, run(*arrays))


def keep(name: str | None, compiled: Any, out: Any, count: int, codes: Sequence[str]) -> None:
    """Keep a compiled program of `count` arrays with a list of arrays as result, which are the leaves of `out`."""
    file = _file(name)
    if file is None:
        return
    from jax.experimental.serialize_executable import serialize

    with contextlib.suppress(Exception):  # a program that cannot be written is made again, nothing else
        payload, _, _ = serialize(compiled)
        example = jax.tree.unflatten(out, range(out.num_leaves))
        content = pickle.dumps((list(codes), payload, count, example))
        with contextlib.suppress(OSError, VibridError):
            make_folder(file.parent)
            with whole_file(file) as stream:
                stream.write(hashlib.sha256(content).digest() + content)
            _cleared(file.parent)


@functools.cache
def _with_lapack() -> None:
    """What JAX does before it calls LAPACK, and would not have done where nothing was lowered."""
    from jaxlib.lapack import prepare_lapack_call

    prepare_lapack_call("potrf_ffi", np.dtype(float))


def _file(name: str | None) -> Path | None:
    folder = cache_folder()
    return None if name is None or folder is None else folder / "programs" / f"{name}.bin"


def _cleared(folder: Path) -> None:
    files = list(folder.glob("*.bin"))
    for file in sorted(files, key=lambda f: f.stat().st_mtime)[: max(len(files) - MOST, 0)]:
        file.unlink(missing_ok=True)
