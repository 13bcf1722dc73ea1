"""The files that a project names and that are read with it: plugins, device models, specimens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vibrid.core.inputs import InputFile

_ROLES = {".py": "plugin", ".npz": "device model", ".toml": "project"}


def named_files(path: Path, data) -> tuple[InputFile, ...]:
    """Name, size and SHA-256 of the project file and of the files that are read with it; records are read later."""
    names = dict.fromkeys(text for text in _texts(data) if Path(text).suffix in _ROLES and len(text) < 1000)
    files = [path.parent / name for name in names if (path.parent / name).is_file()]
    return (InputFile.at(path, "project"), *(InputFile.at(file, _ROLES[file.suffix]) for file in files))


def _texts(value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
