"""Run all pages that need it, several at a time, and keep what they gave by content.

What a page gave is kept in `build/docs/kept`, under the hash of its blocks, of the whole package, of the files that its
blocks may read (examples) and of the versions in use. A page that fails stops the build.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from importlib import metadata
from pathlib import Path

from pages import ROOT, Part

BUILD = ROOT / "build" / "docs"
HERE = Path(__file__).resolve().parent


class Failed(Exception):
    """Pages that no longer run, or links that lead nowhere."""


def package_hash() -> str:
    """The state of everything that blocks may use: package, examples, the runner, versions of the main libraries."""
    found = hashlib.sha256()
    files = [p for f in (ROOT / "src" / "vibrid", ROOT / "examples") for p in f.rglob("*") if p.is_file()]
    for path in [*sorted(p for p in files if p.suffix != ".pyc"), HERE / "cells.py"]:
        found.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    for name in ("jax", "numpy", "scipy", "matplotlib", "equinox"):
        found.update(metadata.version(name).encode())
    return found.hexdigest()


def run_pages(pages: dict[str, list[Part]], processes: int, tell=print) -> dict[str, dict]:
    """What each page gave: {name: {"seconds", "processor", "results", "folder"}}; tells which took longest."""
    state, todo, given = package_hash(), [], {}
    for name, blocks in pages.items():
        key = hashlib.sha256((state + json.dumps([asdict(b) for b in blocks])).encode()).hexdigest()[:24]
        folder = BUILD / "kept" / key
        if (folder / "done.json").exists():
            given[name] = _kept(folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)
            todo.append({"name": name, "folder": str(folder / "work"), "blocks": [asdict(b) for b in blocks]})
    if todo:
        tell(f"{len(given)} pages are kept, {len(todo)} are run.")
    begun, failures = time.perf_counter(), []
    with ThreadPoolExecutor(processes) as pool:
        for problem in pool.map(_run_batch, _batches(todo)):
            failures += [problem] if problem else []
    if failures:
        raise Failed("\n\n".join(failures))
    for page in todo:
        given[page["name"]] = _kept(Path(page["folder"]).parent)
    if todo:
        tell(f"They took {time.perf_counter() - begun:.0f} s. Processor time of the longest:")
        spent = sorted(((given[page["name"]]["processor"], page["name"]) for page in todo), reverse=True)
        tell("\n".join(f"{seconds:6.0f} s  {name}" for seconds, name in spent[:20]))
    return given


def _batches(todo: list[dict]) -> list[list[dict]]:
    """Gallery and other short Python pages share a process; a page with commands has its own. Long ones first."""
    alone = [[p] for p in todo if any(b["language"] == "sh" for b in p["blocks"])]
    quick = [p for p in todo if [p] not in alone]
    return sorted(alone, key=lambda b: -len(b[0]["blocks"])) + [quick[i : i + 6] for i in range(0, len(quick), 6)]


def _kept(folder: Path) -> dict:
    return json.loads((folder / "done.json").read_text(encoding="utf-8")) | {"folder": folder / "work"}


def _run_batch(batch: list[dict]) -> str | None:
    first = Path(batch[0]["folder"])
    for page in batch:
        Path(page["folder"]).mkdir(parents=True, exist_ok=True)
        if any("examples/" in b["text"] for b in page["blocks"]):
            shutil.copytree(ROOT / "examples", Path(page["folder"]) / "examples", dirs_exist_ok=True)
    job = first.parent / "job.json"
    job.write_text(json.dumps(batch), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(HERE / "cells.py"), str(job)], capture_output=True, text=True, env=surroundings()
    )
    if not done.returncode:
        return None
    names = ", ".join(page["name"] for page in batch)
    return done.stderr.strip()[-4000:] or f"{names}: the process that ran it ended with {done.returncode} and no word."


def surroundings() -> dict[str, str]:
    """The environment of the blocks: `vibrid` and `python` are those that build the site, with this tree's package."""
    tools = BUILD / "bin"
    tools.mkdir(parents=True, exist_ok=True)
    for name, call in (("vibrid", "-m vibrid "), ("python", "")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {call}"$@"\n', encoding="utf-8")
        (tools / name).chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "VIBRID_CACHE": os.environ.get("VIBRID_CACHE", str(BUILD / "compiled")),
        "PYTHONWARNINGS": "ignore",
        "MPLBACKEND": "agg",
    }
