"""The ledger of a benchmark's test part: every reading of it, with the settings that were in force."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date
from pathlib import Path

from vibrid.core.errors import InputError
from vibrid.core.files import make_folder, write_text


class Ledger:
    """The readings of test parts, kept in one file (`reads.json`) that only grows.

    Arguments
        path: the file; it need not exist. None keeps the readings in memory.
    """

    def __init__(self, path: Path | None):
        self.path = path
        self.reads: list[dict[str, str]] = []
        if path is None or not path.exists():
            return
        try:
            reads = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as problem:
            raise InputError(f"The ledger of readings '{path}' is no JSON ({problem}); restore it.") from problem
        keys = {"benchmark", "part", "entry", "settings", "date"}
        if not isinstance(reads, list) or not all(isinstance(r, dict) and keys <= r.keys() for r in reads):
            raise InputError(f"The ledger of readings '{path}' is not a list of readings; restore it.")
        self.reads = reads

    def note(self, benchmark: str, part: str, entry: str, settings: str) -> None:
        """Write down a reading, before it happens. `settings` is the SHA-256 of the file of settings."""
        line = {"benchmark": benchmark, "part": part, "entry": entry, "settings": settings}
        self.reads.append(line | {"date": date.today().isoformat()})
        if self.path is not None:
            make_folder(self.path.parent)
            write_text(self.path, json.dumps(self.reads, indent=1, ensure_ascii=False) + "\n")

    def told(self, benchmark: str, settings: str) -> list[str]:
        """How often each test part was read, one sentence a part; readings under other settings are told apart."""
        own = [r for r in self.reads if r["benchmark"] == benchmark]
        sentences = []
        for part in dict.fromkeys(r["part"] for r in own):
            entries = Counter(r["entry"] for r in own if r["part"] == part and r["settings"] == settings)
            before = sum(r["part"] == part and r["settings"] != settings for r in own)
            total = sum(entries.values())
            by = ", ".join(f"{entry} {count}" for entry, count in entries.items())
            words = f"{part}: read {total} {'time' if total == 1 else 'times'} under the settings in force"
            words += f" ({by})" if by else ""
            words += f"; {before} {'time' if before == 1 else 'times'} under earlier settings" if before else ""
            sentences.append(f"{words}.")
        return sentences
