"""Run the blocks of pages: each page in a folder of its own, its blocks in one namespace, in order.

    python docs/site/cells.py JOB.json

The job is a list of pages: {"name", "folder", "blocks": [{"kind", "language", "text", "title", "line"}]}. For each page
one line of JSON goes to the file `done` beside its blocks: what every block printed, the pictures and reports that it
wrote, and the seconds and the processor time that the page took. The first block that fails ends the process, with the
page and its line.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

SHOWN = (".png", ".svg", ".html")
"""Files that appear in the site below the block that wrote them."""


class PageFailed(Exception):
    """A block that did not run; the message has the page, the line and the last words."""


def run_page(page: dict) -> dict:
    """What the blocks of a page gave."""
    folder = Path(page["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    names: dict = {"__name__": "__main__"}
    begun, worked, results = time.perf_counter(), processor_time(), []
    for number, block in enumerate(page["blocks"]):
        before = _files(folder)
        try:
            results.append(_run(block, names, folder, number))
        except PageFailed as problem:
            raise PageFailed(f"{page['name']}, line {block['line']}: {problem}") from None
        wrote = [f for f, stamp in _files(folder).items() if before.get(f) != stamp]
        results[-1]["files"] = results[-1].get("files", []) + sorted(set(wrote) - set(results[-1].get("files", [])))
    spent = {"seconds": time.perf_counter() - begun, "processor": processor_time() - worked}
    return {"name": page["name"], **spent, "results": results}


def processor_time() -> float:
    """Seconds of this process and of those that it started and that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def _run(block: dict, names: dict, folder: Path, number: int) -> dict:
    if block["kind"] == "file":
        target = folder / block["title"]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(block["text"], encoding="utf-8")
        return {}
    if block["language"] == "sh":
        return {"printed": _shell(block["text"])}
    return _python(block, names, number, show_last=block["kind"] == "cell")


def _shell(text: str) -> str:
    width = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "VIBRID_PROGRESS": "0"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text], capture_output=True, text=True, env={**os.environ, **width}
    )
    if done.returncode:
        raise PageFailed(f"`{text.strip().splitlines()[0]}` ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def _python(block: dict, names: dict, number: int, show_last: bool) -> dict:
    """Execute; in a notebook the value of the last line is shown as a notebook shows it."""
    printed, value = io.StringIO(), None
    try:
        tree = ast.parse(block["text"])
        last = tree.body.pop() if show_last and tree.body and isinstance(tree.body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, f"<block {number}>", "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), f"<block {number}>", "eval"), names)
    except Exception:
        raise PageFailed(traceback.format_exc(limit=-3)) from None
    return {"printed": printed.getvalue()} | _shown(value, number)


def _shown(value, number: int) -> dict:
    """The richest form of a value: HTML, else a picture, else words."""
    if value is None:
        return {}
    html = getattr(value, "_repr_html_", lambda: None)()
    if html:
        return {"html": html}
    figure = getattr(value, "figure", value)
    if hasattr(figure, "savefig"):
        stored = io.BytesIO()
        figure.savefig(stored, format="png", dpi=110)
        return {"png": base64.b64encode(stored.getvalue()).decode()}
    return {"value": repr(value)}


def _files(folder: Path) -> dict[str, int]:
    return {
        p.relative_to(folder).as_posix(): p.stat().st_mtime_ns
        for p in folder.rglob("*")
        if p.suffix in SHOWN and p.is_file()
    }


def main(job: Path) -> int:
    import matplotlib

    matplotlib.use("agg")
    from vibrid.report.style import RC

    for page in json.loads(job.read_text(encoding="utf-8")):
        try:
            with matplotlib.rc_context(RC | {"text.parse_math": True}):  # powers of ten on the axes of pyplot
                done = run_page(page)
        except PageFailed as problem:
            print(problem, file=sys.stderr)
            return 1
        (Path(page["folder"]).parent / "done.json").write_text(json.dumps(done), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
