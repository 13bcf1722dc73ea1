"""A disk that is full after some bytes of every file: each command prints its answer, and no file is half-written.

The kernel refuses the bytes (a limit on the size of files, as `ulimit -f` sets it); sizes from nothing to more than all
files need are tried, so that the writing of every file fails at its beginning, inside, and at its end.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from pathlib import Path

from faults.work import write_device, write_hybrid, write_storey

SIZES = (0, 10, 300, 2000, 8000, 40_000, 300_000, 5_000_000)
COMMANDS = {
    "simulate": "simulate s.toml --out OUT/a.csv --plot OUT/a.png",
    "identify": "identify s.toml s.csv --save OUT/a.h5 --json OUT/a.json --report OUT/a.html",
    "predict": "predict fit.h5 s.csv --out OUT/a.nc",
    "online": "online p.toml --from test.csv --out OUT/a.csv --state OUT/a.npz",
    "record convert": "record convert s.csv -o OUT/a.h5",
    "hybrid run": "hybrid run h.toml --out OUT --report OUT/a.html",
}


def run() -> dict:
    """All commands on disks of all sizes."""
    os.environ["VIBRID_CACHE"] = "off"  # compiled programs are files too
    begun, problems, tried = time.process_time(), [], 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_device(folder)
        write_storey(folder)
        write_hybrid(folder, computed=True)
        here = Path.cwd()
        os.chdir(folder)
        try:
            _command("identify s.toml s.csv --save fit.h5", None)
            for name, command in COMMANDS.items():
                for size in SIZES:
                    tried += 1
                    problems += [f"{name}, {size} bytes: {p}" for p in _try(command, size, folder / f"out{tried}")]
        finally:
            os.chdir(here)
    seconds = round(time.process_time() - begun, 1)
    return {"runs": tried, "failed": len(problems), "processor_seconds": seconds, "failures": problems}


def _try(command: str, size: int, out: Path) -> list[str]:
    out.mkdir()
    words = command.replace("OUT", out.name)
    done = _command(words, size)
    problems = []
    if "Traceback" in done.output or "Unexpected error" in done.output:
        problems.append(done.output.strip().splitlines()[-1])
    if done.exit_code not in (0, 1):
        problems.append(f"exit code {done.exit_code}")
    return problems + [f"'{file.name}' is half-written" for file in out.rglob("*.*") if not _whole(file)]


def _command(words: str, size: int | None):
    """Run a command; no file may become larger than `size` bytes meanwhile."""
    from typer.testing import CliRunner

    from vibrid.cli import app

    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (most if size is None else size, most))
    try:
        return CliRunner().invoke(app, words.split())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def _whole(file: Path) -> bool:
    """Whether a file can be read to its end."""
    import json

    import vibrid as vb
    from vibrid.core.errors import VibridError

    content = file.read_bytes()
    try:
        if file.suffix in (".h5", ".nc"):
            try:
                vb.load_identification(file)
            except VibridError:
                vb.read_record(file)
        elif file.suffix == ".json":
            json.loads(content)
        elif file.suffix == ".html":
            return content.rstrip().endswith(b"</html>")
        elif file.suffix == ".csv":
            return not content or content.endswith(b"\n")
        elif file.suffix == ".png":
            return content.endswith(b"IEND\xaeB`\x82")
        elif file.suffix == ".npz":
            from vibrid.identification.online.live import read_state

            read_state(file)
        elif file.suffix == ".part":
            return False
    except (VibridError, ValueError):
        return False
    return True
