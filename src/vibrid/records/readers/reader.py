"""The base class of readers, one for each format, and their registry."""

from __future__ import annotations

from typing import ClassVar

from vibrid.core.registry import PACKAGE, Registry
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.source import Source
from vibrid.records.record import Record

READERS = Registry("format")
"""Readers by the name of their format."""


class Reader:
    """Reads one format. It is made without arguments and keeps nothing between files.

    `particularity` is the order in which readers check whether a file is theirs, the largest first: those of the
    package have 10 (columns of numbers) to 130, and yours comes before them unless it sets another value.
    """

    particularity: ClassVar[int] = 1000

    def recognises(self, source: Source) -> bool:
        """Whether the file is of this format, from its first bytes (`source.head`, `source.head_lines`)."""
        raise NotImplementedError

    def read(self, source: Source, layout: Layout) -> list[Record]:
        """One record for every sampling in the file; errors in it are raised as `source.problem(message)`."""
        raise NotImplementedError


def readers() -> list[tuple[str, Reader]]:
    """(name of the format, its reader) of all, in the order in which they check a file."""
    named = [(name, cls()) for name, cls in READERS.items()]
    return sorted(named, key=lambda pair: (-pair[1].particularity, pair[0]))


def is_own(name: str) -> bool:
    """Whether a format is read by the package itself."""
    return READERS.origin(name) == PACKAGE
