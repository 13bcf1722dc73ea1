"""Files that a result was computed from, each identified by its name, its size and the SHA-256 of its bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from os import PathLike
from pathlib import Path


@dataclass(frozen=True)
class InputFile:
    """One file as it was when it was read.

    name: without its folder; size: bytes; sha256: 64 hexadecimal digits, as `sha256sum` prints them; role: "record",
    "sidecar" (which describes a record), "project", "plugin", "device model", "result" or "validation".
    """

    name: str
    size: int
    sha256: str
    role: str = "record"

    @staticmethod
    def of(stream: BufferedReader | BytesIO, name: str, role: str = "record") -> InputFile:
        """The file whose bytes a stream holds."""
        digest = hashlib.file_digest(stream, "sha256")
        return InputFile(name, stream.tell(), digest.hexdigest(), role)

    @staticmethod
    def at(path: str | PathLike[str], role: str = "record") -> InputFile:
        """The file at a path."""
        with Path(path).open("rb") as stream:
            return InputFile.of(stream, Path(path).name, role)
