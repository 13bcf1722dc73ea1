"""Injected faults in four parts: damaged files, a damaged wire, killed processes, full disks.

    python benchmarks/faults.py                               # all parts, 1000 files of every kind
    python benchmarks/faults.py --part files --count 60000 --jobs 2 --progress files.jsonl
    python benchmarks/faults.py --part kill --count 20

The count of files is for every kind (formats of records, projects, results, states, models). Files are numbered: a
large run can be done in ranges (`--first`), and goes on from the file of `--progress` after a stop. Expected are zero
failures: no raw error, no read of more than 2 s of processor time, no sample lost beyond the last, no half file.
"""

from __future__ import annotations

import argparse
import json
from datetime import date
from pathlib import Path

from faults import disk, files, kill, wire

PARTS = ("files", "wire", "kill", "disk")
RESULTS = Path(__file__).resolve().parent / "results" / "faults.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--part", choices=PARTS, action="append", help="one part; may be repeated; all by default")
    parser.add_argument("--count", type=int, default=None, help="files of every kind (1000), moments of a kill (5)")
    parser.add_argument("--first", type=int, default=0, help="number of the first file")
    parser.add_argument("--jobs", type=int, default=1, help="processes that read files")
    parser.add_argument("--kinds", nargs="*", default=None, help="kinds of files; all by default")
    parser.add_argument("--progress", type=Path, default=None, help="a file that a stopped run goes on from")
    parser.add_argument("--machine", default="2 shared cores, no GPU", help="the machine in general words")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    results = json.loads(given.output.read_text()) if given.output.exists() else {}
    runs = {
        "files": lambda: files.run(
            given.kinds or files.kinds(), given.first, given.count or 1000, given.jobs, given.progress
        ),
        "wire": wire.run,
        "kill": lambda: kill.run(given.count or 5),
        "disk": disk.run,
    }
    for part in given.part or PARTS:
        results[part] = {"machine": given.machine, "date": date.today().isoformat(), **_totalled(runs[part]())}
        given.output.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
        print(
            json.dumps({part: {k: v for k, v in results[part].items() if k != "kinds"}}, ensure_ascii=False), flush=True
        )


def _totalled(result: dict) -> dict:
    """The files of all kinds together, and each kind."""
    if "failed" in result:
        return result
    total = {key: sum(kind[key] for kind in result.values()) for key in ("files", "read", "refused", "failed")}
    total["processor_seconds"] = round(sum(kind["processor_seconds"] for kind in result.values()), 1)
    total["slowest"] = max(kind["slowest"] for kind in result.values())
    return total | {"kinds": result}


if __name__ == "__main__":
    main()
