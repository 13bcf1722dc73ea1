"""The gallery: every file of docs/gallery is about twenty lines that make one picture, and a page that shows both.

The first line of a file is the title, the rest of its docstring the caption; it ends by saving one picture.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path

from pages import DOCS, Part

FOLDER = DOCS / "gallery"


def scripts() -> list[Path]:
    return sorted(FOLDER.glob("*.py"))


def jobs() -> dict[str, list[Part]]:
    return {_job(p): [Part("run", p.read_text(encoding="utf-8"), 1, "python")] for p in scripts()}


def _job(path: Path) -> str:
    return f"gallery/{path.name}"


def write(stage, given: dict) -> list[str]:
    """Write a page for each picture and the page with all of them; gives the names of the pages, in order."""
    tiles, names = [], []
    for path in scripts():
        code = path.read_text(encoding="utf-8")
        title, _, caption = ast.get_docstring(ast.parse(code)).partition("\n")
        name = path.stem
        names.append(name)
        done = given.get(_job(path))
        picture = _picture(stage, done, name)
        shown = f"![{title}]({picture})\n\n" if picture else ""
        seconds = f'\n<p class="vb-time">Made in {done["processor"]:.0f} s of processor time.</p>\n' if done else ""
        body = code.split('"""', 2)[2].strip()
        stage.write(f"gallery/{name}.md", f"# {title}\n\n{shown}{caption.strip()}\n\n```python\n{body}\n```\n{seconds}")
        image = f'<img src="{picture}" alt="" loading="lazy">' if picture else ""
        tiles.append(f'<a href="{name}.html">{image}<span>{title}</span></a>')
    index = (FOLDER / "index.md").read_text(encoding="utf-8")
    stage.write("gallery/index.md", f'{index}\n<div class="vb-gallery">\n' + "\n".join(tiles) + "\n</div>\n")
    return names


def _picture(stage, done: dict | None, name: str) -> str:
    if done is None:
        return ""
    files = [f for r in done["results"] for f in r.get("files", []) if f.endswith((".png", ".svg"))]
    if len(files) != 1:
        raise ValueError(f"docs/gallery/{name}.py must save one picture, and saved {files}.")
    there = f"gallery/pictures/{name}{Path(files[0]).suffix}"
    stage._copy(done["folder"] / files[0], there)
    return os.path.relpath(there, "gallery")
