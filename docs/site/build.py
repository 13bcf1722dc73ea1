"""Build the site: run the pages, make the reference and the gallery, call the generator, check every link.

    python docs/site/build.py            all pages but the long ones are run (`make docs`)
    python docs/site/build.py --all      the long ones too (`make docs-all`)
    python docs/site/build.py --quick    only the first tutorial is run (`make docs-quick`)
    python docs/site/build.py --serve    shows what was built, on this machine only

The site of each version stands in its own folder, `build/site/VERSION`; older ones stay; `versions.html` lists them.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import contents
import gallery
import links
import notebooks
import reference
from cells import processor_time
from pages import DOCS, ROOT, blocks_to_run, is_long
from running import BUILD, Failed, run_pages, surroundings
from stage import Stage

SITE = ROOT / "build" / "site"


def documents() -> list[Path]:
    """All Markdown pages of docs/."""
    return sorted(p for p in DOCS.rglob("*.md") if "site" not in p.relative_to(DOCS).parts)


def version() -> str:
    text = (ROOT / "src" / "vibrid" / "core" / "version.py").read_text(encoding="utf-8")
    return re.search(r'__version__ = "(.+?)"', text)[1]


def build(run: str, processes: int) -> Path:
    """The folder of the finished site. run: "all", "most" (without long pages) or "quick" (the first tutorial)."""
    begun, worked = time.perf_counter(), processor_time()
    stage = Stage(BUILD / "pages")
    wanted = {p: b for p in documents() if (b := blocks_to_run(p)) and _wanted(p, run)}
    jobs = {p.relative_to(DOCS).as_posix(): blocks for p, blocks in wanted.items()}
    if run != "quick":
        jobs |= gallery.jobs() | notebooks.jobs() | reference.jobs()
    given = run_pages(jobs, processes)
    for path in documents():
        stage.page(path, given.get(path.relative_to(DOCS).as_posix()))
    generated = reference.write(stage, given)
    _first_page(stage.folder / "index.md")
    pictures = gallery.write(stage, given)
    notebooks.write(stage, given)
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "README.md"):
        stage.place(ROOT / name)
    site = generate(stage, contents.navigation(generated, pictures))
    wrong = links.problems(site) + links.unsearchable(site)
    if wrong:
        raise Failed("\n".join(wrong))
    seconds = f"{time.perf_counter() - begun:.0f} s, {processor_time() - worked:.0f} s of processor time"
    print(f"{site}: {len(list(site.rglob('*.html')))} pages, no broken link, in {seconds}.")
    return site


def _first_page(path: Path) -> None:
    """In the site the first page leads to the reference, and says of which version it is."""
    text = path.read_text(encoding="utf-8")
    text = text.replace("[Reference](making-the-site.md)", "[Reference](reference/index.md)")
    text = text.replace("; it is made with the site (`make docs`)", "")
    words = f'These pages are of version {version()}; <a href="../versions.html">other versions</a>.'
    path.write_text(f"{text}\n<p>{words}</p>\n", encoding="utf-8")


def show(name: str) -> None:
    """Run one page and print what its blocks gave: for whoever writes it."""
    path = DOCS / f"{name.removesuffix('.md')}.md"
    page = f"{name.removesuffix('.md')}.md"
    jobs = {page: blocks_to_run(path)} if path.exists() else (gallery.jobs() | notebooks.jobs() | reference.jobs())
    done = run_pages({n: b for n, b in jobs.items() if n in (page, name)}, 1)
    for name, given in done.items():
        for block, result in zip(jobs[name], given["results"], strict=True):
            print(f"-- line {block.line}", *result.get("files", []))
            print(result.get("printed", "") + result.get("value", ""), end="")
        print(f"{given['folder']}: {given['seconds']:.0f} s")


def _wanted(path: Path, run: str) -> bool:
    if run == "quick":
        return path == DOCS / "tutorials" / "first-fit.md"
    return run == "all" or not is_long(path.read_text(encoding="utf-8"))


def generate(stage: Stage, menu: list) -> Path:
    """Call the generator. Its warnings are errors."""
    site = SITE / version()
    here = Path(__file__).resolve().parent
    (stage.folder / "site").mkdir(exist_ok=True)
    for name in ("extra.css", "file-worker.js"):
        shutil.copyfile(here / name, stage.folder / "site" / name)
    settings = (here / "zensical.toml").read_text(encoding="utf-8")
    above = BUILD.parent  # the generator wants the site inside the folder of its settings
    places = f'site_dir = "site/{site.name}"\ndocs_dir = "docs/pages"\nnav = {_toml(menu)}\n'
    config = above / "zensical.toml"
    config.write_text(settings.replace("[project]\n", f"[project]\n{places}", 1), encoding="utf-8")
    tomllib.loads(config.read_text(encoding="utf-8"))
    shutil.rmtree(site, ignore_errors=True)
    call = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", str(config)]
    done = subprocess.run(call, capture_output=True, text=True, env=surroundings() | {"NO_COLOR": "1"}, cwd=above)
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    if done.returncode or "Warning" in said:
        raise Failed(said[-6000:])
    _without_other_hosts(site)
    _versions(site)
    return site


def _toml(value) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{k}" = {_toml(v)}' for k, v in value.items()) + "}"
    return "[" + ", ".join(map(_toml, value)) + "]" if isinstance(value, list) else f'"{value}"'


def _without_other_hosts(site: Path) -> None:
    """The generator's offline search would fetch a helper from another host; ours stands in the site."""
    foreign = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"[^>]*></script>')
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        base = os.path.relpath(site / "site" / "file-worker.js", page.parent)
        changed = foreign.sub(f'<script src="{base}"></script>', text)
        if changed != text:
            page.write_text(changed, encoding="utf-8")


def _versions(site: Path) -> None:
    """The first page leads to the newest version; `versions.html` lists those that stand beside it."""
    there = sorted((p.name for p in SITE.iterdir() if (p / "index.html").exists()), key=_numbers, reverse=True)
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>vibrid</title>'
    newest = (
        f'<meta http-equiv="refresh" content="0; url={there[0]}/index.html"><a href="{there[0]}/index.html">vibrid</a>'
    )
    rows = "".join(f'<li><a href="{name}/index.html">{name}</a></li>' for name in there)
    (SITE / "index.html").write_text(f"{head}{newest}</html>", encoding="utf-8")
    (SITE / "versions.html").write_text(f"{head}<h1>Versions</h1><ul>{rows}</ul></html>", encoding="utf-8")


def _numbers(name: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", name)]


def serve(port: int) -> None:
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        print(f"http://127.0.0.1:{port}/ shows {SITE}; Ctrl-C ends it.")
        server.serve_forever()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="run the first tutorial only")
    options.add_argument("--all", action="store_true", help="run the long pages too")
    options.add_argument("--serve", action="store_true", help="show the site that was built")
    options.add_argument("--archive", action="store_true", help="also pack the site into one file to be read offline")
    options.add_argument("--page", help="run this page alone, such as tutorials/first-fit, and print what it gives")
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--port", type=int, default=8000)
    chosen = options.parse_args()
    if chosen.serve:
        serve(chosen.port)
        return 0
    try:
        if chosen.page:
            show(chosen.page)
            return 0
        site = build("quick" if chosen.quick else "all" if chosen.all else "most", chosen.processes)
    except Failed as problem:
        print(problem, file=sys.stderr)
        return 1
    if chosen.archive:
        print(shutil.make_archive(str(ROOT / "build" / f"vibrid-{site.name}-documentation"), "zip", SITE))
    return 0


if __name__ == "__main__":
    sys.exit(main())
