"""Arrays by name from a file of NumPy (`npz`), within limits: no Python objects, nothing expanded without bound."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path

import numpy as np

from vibrid.core.errors import FileProblem, missing_file

MOST_BYTES = 2 * 1024**3
"""Of all arrays of one file together."""
MOST_ARRAYS = 10_000
_RATIO = 1100  # what a file can be compressed to
_HEADER = 10_000


def read_arrays(path, kind: str, otherwise: str = "") -> dict[str, np.ndarray]:
    """The arrays that `vibrid.core.files.write_arrays` wrote.

    FileProblem for any other content, whatever is wrong with it: "it is not {kind} (the reason). {otherwise}".
    """
    path = Path(path)
    try:
        content = _bounded(path)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            total = sum(member.file_size for member in members)
            if len(members) > MOST_ARRAYS or total > min(MOST_BYTES, _RATIO * len(content)):
                raise ValueError("it would expand beyond the limit")
            return {member.filename.removesuffix(".npy"): _array(archive, member) for member in members}
    except FileNotFoundError:
        raise missing_file(path) from None
    except Exception as problem:  # zipfile, zlib and NumPy raise errors of any kind on damaged content
        reason = f"{type(problem).__name__}: {str(problem)[:100]}"
        raise FileProblem(path, f"it is not {kind} ({reason}). {otherwise}".rstrip()) from None


def _bounded(path: Path) -> bytes:
    if not path.is_file():
        if path.exists():
            raise ValueError("it is not an ordinary file")
        raise FileNotFoundError(path)
    if path.stat().st_size > MOST_BYTES:
        raise ValueError("it is larger than the limit")
    return path.read_bytes()


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as stream:
        content = stream.read(member.file_size + 1)
    if len(content) != member.file_size:
        raise ValueError("a member has another size than stated")
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = header(file, max_header_size=_HEADER)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are not read because they could run code")
    if any(side < 0 for side in shape) or math.prod(shape) * dtype.itemsize != len(content) - file.tell():
        raise ValueError("an array states another shape than it has")
    flat = np.frombuffer(bytearray(content[file.tell() :]), dtype)
    return flat.reshape(shape, order="F" if fortran else "C")
