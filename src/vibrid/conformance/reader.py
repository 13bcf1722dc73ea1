"""Requirements on every reader: it reads its samples, leaves other files alone, and refuses damaged files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from vibrid.conformance.base import Broken, Checks, expect
from vibrid.core.errors import VibridError
from vibrid.core.files import write_bytes
from vibrid.records.readers import Layout, read_source
from vibrid.records.readers.reader import READERS, Reader, is_own, readers
from vibrid.records.readers.source import Source
from vibrid.records.record import Record

CHECKS = Checks()

_NUMBERS = "\n".join(f"{0.01 * i:.2f},{np.sin(0.3 * i):.6f}" for i in range(40))
STRANGERS = {
    "a CSV file": f"time [s],roof [mm]\n{_NUMBERS}\n".encode(),
    "columns of numbers": _NUMBERS.replace(",", " ").encode(),
    "a PEER file": b"PEER NGA\nA, B, C\nACCELERATION TIME SERIES IN UNITS OF G\nNPTS= 4, DT= .01 SEC\n 0. 1. 2. 3.\n",
    "a JSON file": b'{"time": [0.0, 0.1, 0.2], "roof": [1.0, 2.0, 3.0]}',
    "a letter": b"Dear colleague,\nplease find the records attached.\n",
    "random bytes": np.random.default_rng(0).integers(0, 256, 4000, dtype=np.uint8).tobytes(),
}
"""Files of other formats, or of none."""


@dataclass(frozen=True)
class ReaderExample:
    """The name of a registered format, and files of it."""

    name: str
    samples: Sequence[bytes]

    @property
    def reader(self) -> Reader:
        return READERS[self.name]()

    @contextmanager
    def sources(self) -> Iterator[list[Source]]:
        """The samples as files, which is what readers that hand a path to a library need."""
        with on_disk(self.samples) as made:
            yield made


@contextmanager
def on_disk(contents: Sequence[bytes]) -> Iterator[list[Source]]:
    """Contents as files of a folder that is removed when the block ends."""
    with TemporaryDirectory() as folder:
        yield [Source(write_bytes(Path(folder) / f"sample_{i}", content)) for i, content in enumerate(contents)]


@CHECKS("recognises its samples before any other format does")
def recognises_its_samples(example: ReaderExample) -> None:
    with example.sources() as sources:
        for source in sources:
            first = next((name for name, reader in readers() if reader.recognises(source)), None)
            expect(first == example.name, f"a sample is taken for {first or 'no format at all'}.")


@CHECKS("reads its samples")
def reads_its_samples(example: ReaderExample) -> None:
    with example.sources() as sources:
        for source in sources:
            records = read_source(source, Layout())
            expect(bool(records) and all(isinstance(r, Record) for r in records), "it does not give a list of records.")
            full = all(len(r) and r.channels and np.isfinite(r.data).any() for r in records)
            expect(full, "a record holds no numbers.")


@CHECKS("leaves other files alone", when=lambda example: not is_own(example.name))
def leaves_other_files_alone(example: ReaderExample) -> None:
    for what, content in STRANGERS.items():
        expect(not example.reader.recognises(Source(what, content)), f"it takes {what} for its own.")


@CHECKS("refuses a damaged file with a message")
def refuses_damage_with_a_sentence(example: ReaderExample) -> None:
    """A file that is cut or changed is read, or refused with a message; no other error is raised."""
    reader, rng = example.reader, np.random.default_rng(1)
    for content in example.samples:
        damaged = [content[: int(len(content) * share)] for share in (0.05, 0.3, 0.6, 0.9)]
        for _ in range(8):
            changed = np.frombuffer(content, dtype=np.uint8).copy()
            changed[rng.integers(0, len(changed), 1 + len(changed) // 50)] = rng.integers(0, 256)
            damaged.append(changed.tobytes())
        with on_disk(damaged) as sources:
            for source in sources:
                _read_or_refused(reader, source)


def _read_or_refused(reader: Reader, source: Source) -> None:
    try:
        with np.errstate(all="ignore"):
            if reader.recognises(source):
                reader.read(source, Layout())
    except VibridError:
        return
    except Exception as problem:
        observed = f"{type(problem).__name__}: {problem}"
        raise Broken(f"a damaged sample ends in {observed}; raise source.problem(message).") from problem
