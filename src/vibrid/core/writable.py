"""Whether a file can be written, found out before the work whose result it is to hold."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from vibrid.core.errors import FileProblem
from vibrid.core.file_names import windows_problem
from vibrid.core.files import cannot_write, is_stream, replaceable


def check_writable(path: Path | str | None) -> None:
    """Refuse a file that cannot be written: no folder, no permission, a disk that can only be read, a folder of its
    name, a name that Windows reserves where this is Windows. Nothing is left behind. None and `-` (standard output) are
    no files."""
    if path is None or str(path) == "-":
        return
    if on_windows() and (problem := windows_problem(Path(path).name)):
        raise FileProblem(path, problem)
    if is_stream(Path(path)):
        return
    try:
        target, _ = replaceable(Path(path))
        _try_folder(target.parent)
    except OSError as problem:
        raise cannot_write(path, problem) from problem


def check_folder(path: Path | str | None) -> None:
    """Refuse a folder that is not there and cannot be made, or in which nothing can be written."""
    if path is None:
        return
    folder = Path(path).absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        if not folder.is_dir():
            raise FileProblem(path, f"'{folder}' is a file, not a folder; name another place.")
        _try_folder(folder)
    except OSError as problem:
        raise cannot_write(path, problem) from problem


def on_windows() -> bool:
    """Whether the rules of Windows on names hold here."""
    return os.name == "nt"


def _try_folder(folder: Path) -> None:
    """Make something in a folder and remove it: the permissions alone do not tell (network disks, quotas)."""
    trial = folder / f".vibrid-{secrets.token_hex(4)}.part"
    os.mkdir(trial)
    os.rmdir(trial)
