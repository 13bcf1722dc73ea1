"""A file under examination: its first bytes, its text, its lines, each within stated limits."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from os import PathLike
from pathlib import Path

from vibrid.core.errors import FileProblem, missing_file
from vibrid.core.inputs import InputFile


@dataclass(frozen=True)
class Limits:
    """Bounds on the reading of one file.

    file_bytes: largest file that is opened; expanded_bytes: largest size of anything after decompression;
    numbers: most numbers in one record; members: most files in one archive; line_bytes: longest line of text;
    seconds: for an HDF5 file, besides a second for every 10 MB.
    """

    file_bytes: int = 2 * 1024**3
    expanded_bytes: int = 512 * 1024**2
    numbers: int = 100_000_000
    members: int = 2000
    line_bytes: int = 1_000_000
    seconds: float = 20.0


HEAD_BYTES = 16 * 1024
_HEAD_LINES, _LARGEST_HEAD = (8, 200), 1024**2
_CONTROL = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1a"))


def split_lines(text: str) -> list[str]:
    """The lines of a text as `Source.lines` gives them: ended by a line feed or a carriage return, by nothing else.

    `str.splitlines` also splits at form feeds and Unicode separators, which titles contain.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


class Source:
    """The content of one file, from disk or from inside an archive.

    path: the name that the user gave (used in every message); content: the bytes, when they are not on disk.
    """

    def __init__(self, path: str | PathLike[str], content: bytes | None = None, limits: Limits | None = None) -> None:
        self.path, self.limits = path, limits or Limits()
        self._content = content
        if content is not None:
            self.size, self.head = len(content), content[:HEAD_BYTES]
            return
        file = Path(path)
        try:
            if file.is_dir():
                raise FileProblem(path, "this is a folder, not a file.")
            self.size = file.stat().st_size
            if not file.is_file():
                raise FileProblem(path, "this is not an ordinary file.")
            with file.open("rb") as stream:
                self.head = stream.read(HEAD_BYTES)
        except FileNotFoundError:
            raise missing_file(path) from None
        except (OSError, ValueError) as problem:
            raise FileProblem(path, f"it cannot be opened ({problem}).") from None
        if self.size > self.limits.file_bytes:
            raise self.problem(
                f"it has {self.size / 1e9:.1f} GB, more than the {self.limits.file_bytes / 1e9:.1f} GB that are read; "
                "cut it into parts or pass larger `limits`."
            )

    def problem(self, message: str, line: int | None = None) -> FileProblem:
        return FileProblem(self.path, message, line)

    @property
    def name(self) -> str:
        """The name of the file as text; bytes of it that are not UTF-8 become �."""
        return Path(str(self.path)).name.encode(errors="surrogateescape").decode(errors="replace")

    @cached_property
    def content(self) -> bytes:
        """All bytes."""
        if self._content is not None:
            return self._content
        try:
            return Path(self.path).read_bytes()
        except OSError as problem:
            raise self.problem(f"it cannot be read ({problem}).") from None

    @cached_property
    def fingerprint(self) -> InputFile:
        """Name, size and SHA-256 of the whole file."""
        with self._open() as stream:
            return InputFile.of(stream, self.name)

    @cached_property
    def encoding(self) -> str | None:
        """Text encoding, or None for binary content."""
        head = self.head
        if head.startswith((b"\xff\xfe", b"\xfe\xff")):
            return "utf-16"
        if b"\x00" in head:
            return None
        if len(head) - len(head.translate(None, _CONTROL)) > 0.01 * len(head):
            return None
        if head.startswith(b"\xef\xbb\xbf"):
            return "utf-8-sig"
        try:
            head.decode("utf-8")
        except UnicodeDecodeError as problem:
            if problem.start < len(head) - 3 or len(head) == self.size:
                return "cp1252"  # °, µ and ² as Windows programs write them
        return "utf-8"

    @cached_property
    def head_lines(self) -> list[str]:
        """The first lines, the last of them perhaps cut, for recognising a format: at least eight, where they fit."""
        if self.encoding is None:
            return []
        fewest, most = _HEAD_LINES
        head = self.head
        lines = split_lines(head.decode(self.encoding, errors="replace"))
        while len(lines) <= fewest and len(head) < min(self.size, _LARGEST_HEAD):
            with self._open() as stream:  # a table of many columns has long lines
                head = stream.read(8 * len(head))
            lines = split_lines(head.decode(self.encoding, errors="replace"))
        return [line.rstrip("\x1a") for line in lines[:most]]

    def _open(self) -> io.BytesIO | io.BufferedReader:
        if self._content is not None:
            return io.BytesIO(self._content)
        try:
            return Path(self.path).open("rb")
        except OSError as problem:
            raise self.problem(f"it cannot be read ({problem}).") from None

    def lines(self) -> Iterator[str]:
        """Lines of text one after another, without holding the whole file; bytes that no character has become '?'."""
        if self.encoding is None:
            raise self.problem("it is binary, not text.")
        limit = self.limits.line_bytes
        with self._open() as raw, io.TextIOWrapper(raw, encoding=self.encoding, errors="replace") as stream:
            number = 0
            while line := stream.readline(limit):
                number += 1
                if len(line) >= limit:
                    raise self.problem(f"the line is longer than {limit} characters.", number)
                yield line.rstrip("\r\n\x1a")

    def first_lines(self, count: int) -> list[str]:
        return list(islice(self.lines(), count))
