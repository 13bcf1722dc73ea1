"""A public benchmark: its rules, published scores, data files and entries.

The settings of all entries are in one TOML file of the package. The test part is opened by `BenchmarkTrial.test`, which
writes the reading into the ledger, with the SHA-256 of that file, before it gives the data away.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from vibrid.core.errors import InputError, Refusal
from vibrid.core.inputs import InputFile
from vibrid.core.progress import SILENT, Progress
from vibrid.core.registry import Registry
from vibrid.networks.checkpoint import Checkpoint
from vibrid.papers.paper import Paper, Run
from vibrid.papers.public.ledger import Ledger

BENCHMARKS = Registry("benchmark")
"""The public benchmarks by their short names; each is imported when it is asked for."""


@dataclass(frozen=True)
class PublishedScore:
    """A score that others published: whose method, the value in the unit of the benchmark, and where it stands."""

    method: str
    value: float
    reference: str


@dataclass(frozen=True)
class DataFile:
    """A file that is not shipped: its name in the user's folder, its SHA-256, and a sentence where to get it."""

    name: str
    sha256: str
    source: str

    def find(self, folder: Path | None) -> Path:
        """The file in a folder, if it is the one that is meant."""
        if folder is None:
            raise Refusal(f"This entry needs the file '{self.name}': name its folder with --data. {self.source}")
        path = Path(folder) / self.name
        if not path.is_file():
            raise InputError(f"There is no file '{self.name}' in the folder of --data. {self.source}")
        found = InputFile.at(path).sha256
        if found != self.sha256:
            raise InputError(
                f"'{self.name}' is another file than the one of this benchmark: its SHA-256 is {found[:12]}…, "
                f"that of the benchmark {self.sha256[:12]}…. {self.source}"
            )
        return path


class Benchmark(Paper):
    """A benchmark that others set, and our entries to it.

    Arguments
        name: short name, as in `vibrid benchmark NAME`.
        citation: who set it.
        split: what is for training and what for the test.
        metric: what is scored, with its unit.
        settings: name of the TOML file in `vibrid/papers/public/settings`.
        published: scores of others.
        not_run: parts of the benchmark that were not run, and why.
    """

    def __init__(
        self,
        name: str,
        citation: str,
        *,
        split: str,
        metric: str,
        settings: str,
        published: tuple[PublishedScore, ...] = (),
        not_run: tuple[str, ...] = (),
    ):
        super().__init__(name, citation)
        self.split, self.metric, self.published, self.not_run = split, metric, published, not_run
        self.settings_file = settings

    def entry(self, name: str, title: str, real_data: bool = False) -> Callable:
        """Decorator of a function of a `BenchmarkTrial` that makes an entry; it returns an `Outcome`."""
        return self._add("entry", name, title, real_data, "")

    def settings_text(self) -> bytes:
        """The file of settings as it is."""
        return (files("vibrid.papers.public") / "settings" / self.settings_file).read_bytes()

    @property
    def settings_sha256(self) -> str:
        return hashlib.sha256(self.settings_text()).hexdigest()


class BenchmarkTrial(Run):
    """One run of entries of a benchmark: its settings, the folder of its data, and the door to its test part.

    Arguments
        quick: fewer seeds, to test that everything runs; a reading of the test part counts nevertheless.
        data: folder of the files that are not shipped.
        ledger: where readings of the test part are written.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        quick: bool = False,
        data: Path | None = None,
        progress: Progress = SILENT,
        ledger: Ledger | None = None,
    ):
        super().__init__(quick, data, progress)
        self.benchmark = benchmark
        self.ledger = Ledger(None) if ledger is None else ledger
        self.entry = ""
        text = benchmark.settings_text()
        self.settings: dict[str, Any] = tomllib.loads(text.decode("utf-8"))
        self._settings = hashlib.sha256(text).hexdigest()

    def file(self, wanted: DataFile) -> Path:
        """A file of the user's folder, checked."""
        return wanted.find(self.data)

    def resumed(self, name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The arrays of a part of an entry: made now, or stored by the same command that was interrupted."""
        path = self.checkpoint(f"{self.entry}-{name}")
        if path is None:
            return make()
        self.stored.add(Path(path))
        stored = Checkpoint(path).load()
        if stored is not None and str(stored[0].get("settings")) == self._settings:
            self.reused = True
            return stored[0]
        arrays = make() | {"settings": np.array(self._settings)}
        Checkpoint(path).keep(arrays)
        return arrays

    def test(self, part: str, open_part: Callable[[], Any]) -> Any:
        """The data of a test part; the reading is written down first."""
        self.ledger.note(self.benchmark.name, part, self.entry, self._settings)
        return open_part()


def load_benchmark(name: str) -> Benchmark:
    """A benchmark by its short name."""
    return BENCHMARKS[name]
