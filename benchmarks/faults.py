"""Injected faults in four parts: damaged files, a damaged wire, killed processes, full disks.

    python benchmarks/faults.py                               # all parts, 1000 files of every kind
    python benchmarks/faults.py --part files --total 1000000 --jobs 14 --minutes 8 --progress files.jsonl
    python benchmarks/faults.py --part kill --count 20

The count of files is for every kind (formats of records, projects, results, states, models). Files are numbered: a
large run can be done in ranges: with `--first` at the end of those that stand in the output, the counts are added. The
second command stops after 8 minutes, writes what was done, and goes on from the file of `--progress` when it is given
again. Expected are zero failures: no raw error, no read of more than 2 s of processor time, no sample or step lost
beyond the last, no half file, no command beyond a limit.
"""

from __future__ import annotations

import argparse
import json
import math
from datetime import date
from pathlib import Path

PARTS = ("files", "wire", "kill", "disk")
RESULTS = Path(__file__).resolve().parent / "results" / "faults.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", choices=PARTS, action="append", help="one part; may be repeated; all by default")
    parser.add_argument("--count", type=int, default=None, help="files of every kind (1000), stops of each command (5)")
    parser.add_argument("--total", type=int, default=None, help="files of all kinds together, instead of --count")
    parser.add_argument("--minutes", type=float, default=0.0, help="no block of files begins later; 0: no end")
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--jobs", type=int, default=1, help="processes that read files")
    parser.add_argument("--kinds", nargs="*", default=None, help="kinds of files; all by default")
    parser.add_argument("--progress", type=Path, default=None, help="a file that a stopped run goes on from")
    parser.add_argument("--machine", default="2 shared cores, no GPU", help="the machine in general words")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    results = json.loads(given.output.read_text()) if given.output.exists() else {}
    runs = {"files": _files, "wire": _wire, "kill": _kill, "disk": _disk}
    for part in given.part or PARTS:
        results[part] = {"machine": given.machine, "date": date.today().isoformat(), **runs[part](given)}
        given.output.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
        print(
            json.dumps({part: {k: v for k, v in results[part].items() if k != "kinds"}}, ensure_ascii=False), flush=True
        )


# Each part is imported by itself: the processes that read files import this module too.


def _files(given) -> dict:
    from faults import files

    names = given.kinds or files.kinds()
    count = math.ceil(given.total / len(names)) if given.total else given.count or 1000
    found = files.run(names, given.first, count, given.jobs, given.progress, given.minutes)
    before = json.loads(given.output.read_text()).get("files", {}) if given.output.exists() else {}
    return files.added(before, found) if given.first and before.get("end") == given.first else found


def _wire(given) -> dict:
    from faults import hybrid_wire, wire

    parts = {"online": wire.run(), "hybrid": hybrid_wire.run()}
    return {key: sum(part[key] for part in parts.values()) for key in ("faults", "failed")} | parts


def _kill(given) -> dict:
    from faults import kill

    return kill.run(given.count or 5)


def _disk(given) -> dict:
    from faults import disk

    return disk.run()


if __name__ == "__main__":
    main()
