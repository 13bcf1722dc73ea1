"""Safe writing of files: a file appears complete or not at all, and the old one stays until then.

A file is written under a temporary name in the same folder, put on the disk, and only then given its name. If anything
fails before (a full disk, no permission, Ctrl-C), the temporary file is removed, the old one is kept, and a
`FileProblem` reports the reason. A file that grows while a test runs is `Appended` to instead.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import secrets
import stat
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from vibrid.core.errors import FileProblem

_BINARY = getattr(os, "O_BINARY", 0)
_NO_SYNC = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}
"""Errors of network disks that cannot put a file on the disk on request; they are harmless."""
_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")


def is_trusted(path: str | PathLike[str]) -> bool:
    """Whether a file is this user's own and not open to everybody's writing: what is executed must be.

    Only where the system knows owners; elsewhere the folders of a user are closed to others.
    """
    if not hasattr(os, "geteuid"):
        return True
    about = os.stat(path)
    return about.st_uid in (os.geteuid(), 0) and not about.st_mode & stat.S_IWOTH


@contextlib.contextmanager
def whole_file(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """A stream of bytes; its content becomes the file `path` when the block ends without an error.

    A link is followed. An old file keeps its permissions; one that may not be written is refused. A device or a pipe,
    such as /dev/stdout, is written straight away.

    Example
        >>> with whole_file("result.txt") as stream:
        ...     stream.write(b"42")
    """
    path = Path(path)
    temporary = None
    try:
        with _reported(path):
            if is_stream(path):
                with open(path, "wb") as stream:
                    yield stream
                return
            target, mode = replaceable(path)
            temporary = target.with_name(f".{target.name[:32]}.{secrets.token_hex(4)}.part")
            handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | _BINARY, 0o666 if mode is None else mode)
            with open(handle, "wb") as stream:
                yield stream
                stream.flush()
                _sync(handle)
            if mode is not None:
                with contextlib.suppress(OSError):  # a disk without permissions
                    os.chmod(temporary, mode)
            os.replace(temporary, target)
            _sync_folder(target.parent)
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def write_bytes(path: str | PathLike[str], content: bytes | memoryview) -> Path:
    """Write bytes as a whole file."""
    with whole_file(path) as stream:
        stream.write(content)
    return Path(path)


def write_text(path: str | PathLike[str], text: str) -> Path:
    """Write text (UTF-8, lines ending in \\n) as a whole file."""
    return write_bytes(path, text.encode())


@contextlib.contextmanager
def whole_hdf5(path: str | PathLike[str], **options: Any) -> Iterator:
    """An HDF5 file made in memory and written when the block ends without an error; `options` are those of `h5py.File`.

    The HDF5 library does not survive a disk that fills while it writes: the process crashes when the file is closed. In
    memory it cannot happen. The image is compressed where its datasets are, so it is smaller than the arrays that went
    in, which are in memory too.
    """
    import h5py

    name = f"vibrid-{secrets.token_hex(8)}"  # HDF5 distinguishes files in memory by their names
    with h5py.File(name, "w", driver="core", backing_store=False, **options) as file:
        yield file
        file.flush()
        image = file.id.get_file_image()
    write_bytes(path, image)


def write_arrays(path: str | PathLike[str], /, **arrays: Any) -> Path:
    """Write arrays by name (NumPy's `npz`) as a whole file; any name will do ("path" and "file" too)."""
    import zipfile

    import numpy as np

    image = io.BytesIO()  # the archive goes back in the file to fill in sizes
    with zipfile.ZipFile(image, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)
    return write_bytes(path, image.getvalue())


def make_folder(path: str | PathLike[str]) -> Path:
    """Make a folder, and those above it, where they are not there yet."""
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileProblem(path, f"the folder cannot be made: {_reason(problem, path)}") from None
    return path


class Appended:
    """A file that grows while something runs. An incomplete write is removed again; the rest stays valid.

    Arguments
        path: the file.
        anew: it must not be there yet.

    An existing file is left alone until `begin` empties it, `go_on` continues it after its last complete line, or
    `go_on_at` continues it after a number of bytes.
    """

    def __init__(self, path: str | PathLike[str], *, anew: bool = False):
        self.path, self._good = Path(path), 0
        with _reported(self.path):
            self._made = not self.path.exists()
            how = os.O_CREAT | os.O_RDWR | _BINARY | (os.O_EXCL if anew else 0)
            self._file = os.open(self.path, how, 0o666)

    def begin(self) -> None:
        """Empty the file."""
        with _reported(self.path):
            self._cut(0)

    def go_on(self) -> None:
        """Continue after the last complete line; an incomplete line left by a crash is removed."""
        with _reported(self.path):
            end = os.lseek(self._file, 0, os.SEEK_END)
            while end:
                first = max(0, end - 65536)
                os.lseek(self._file, first, os.SEEK_SET)
                last = os.read(self._file, end - first).rfind(b"\n")
                end = first + last + 1 if last >= 0 else first
                if last >= 0:
                    break
            self._cut(end)

    def go_on_at(self, size: int) -> None:
        """Continue after `size` bytes; what follows them is removed."""
        with _reported(self.path):
            self._cut(size)

    def append(self, data: bytes) -> None:
        """Add to the end; OSError when not all of it can be written, and then nothing is added."""
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._file, view) :]
        except BaseException:  # also Ctrl-C between two parts
            with contextlib.suppress(OSError):
                self._cut(self._good)
            raise
        self._good += len(data)

    def sync(self) -> None:
        """Put it on the disk, so that it survives a loss of power."""
        _sync(self._file)

    def close(self) -> None:
        """Close it; a new file that is still empty is removed."""
        os.close(self._file)
        with contextlib.suppress(OSError):
            if self._made and not self.path.stat().st_size:
                self.path.unlink()

    def _cut(self, size: int) -> None:
        os.ftruncate(self._file, size)
        os.lseek(self._file, size, os.SEEK_SET)
        self._good = size


# -- error messages ------------------------------------------------------------------------------------------------


def cannot_write(path: str | PathLike[str], problem: OSError) -> FileProblem:
    """The error for a file that cannot be written."""
    return FileProblem(path, f"it cannot be written: {_reason(problem, Path(path))}")


@contextlib.contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # the reader of a stream has left
        raise
    except OSError as problem:
        raise cannot_write(path, problem) from problem


def _reason(problem: OSError, path: Path) -> str:
    """What is wrong, and what to do about it."""
    number, folder = problem.errno, path.parent
    if number in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full, or your share of it is; make room, or name a file on another disk."
    if number == errno.EFBIG:
        return "it is larger than a file may be here (see `ulimit -f`); allow more, or name a file on another disk."
    if number == errno.EROFS:
        return "this disk can only be read; name a file on another one."
    if number in (errno.EACCES, errno.EPERM):
        return f"you have no permission to write it, or to write in '{folder}'; ask for it, or name another folder."
    if number == errno.ENAMETOOLONG:
        return "its name is too long for this disk; choose a shorter one."
    if number == errno.EISDIR or (path.is_dir() and number in (errno.EEXIST, errno.ENOTEMPTY)):
        return "there is a folder of this name; name a file inside it, or another one."
    if number == errno.ENOENT:
        return f"there is no folder '{folder}'; make it first, or name another one."
    if number in (errno.ENOTDIR, errno.EEXIST):
        return "a file stands where a folder should be; name another place."
    return f"{problem.strerror or problem}; name another place, or check the disk."


# -- parts ---------------------------------------------------------------------------------------------------------


def is_stream(path: Path) -> bool:
    """Whether the path is not a place for a file: a terminal, a pipe, /dev/null."""
    if str(path).startswith(_STREAMS):
        return True
    try:
        kind = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(kind) or stat.S_ISDIR(kind))


def replaceable(path: Path) -> tuple[Path, int | None]:
    """The file itself, links followed, and its permissions where it is there; OSError where it may not be written."""
    target = Path(os.path.realpath(path))
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return target, None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return target, stat.S_IMODE(mode)


def _sync(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as problem:
        if problem.errno not in _NO_SYNC:
            raise


def _sync_folder(folder: Path) -> None:
    """Put the new name on the disk as well, where folders can be opened; the file itself is there by now."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
