"""Pages of the repository as pages of the site: output inserted, links turned to where their targets stand there.

Every Markdown page keeps the links that work in the repository. In the site a page of `docs/` stands at its own place,
any other file that a page links to below `repository/`: a Markdown page as a page, a text as a page that shows it, a
folder as a list, everything else as the file itself.
"""

from __future__ import annotations

import html
import os
import re
import shutil
from pathlib import Path

from pages import DOCS, ROOT, parts
from running import Failed

SOURCES = {".py": "python", ".toml": "toml", ".json": "json", ".tcl": "tcl", ".c": "c", ".txt": "text", ".csv": "text"}
LONGEST = 60_000
"""Characters of a text that is shown as a page; a longer one is offered as a file."""
_LINK = re.compile(r"(\])\(([^)\s]+)((?: \"[^\"]*\")?)\)")
_FENCE = re.compile(r"(^ *````?.*?^ *````?[ ]*$)", re.MULTILINE | re.DOTALL)


class Stage:
    """The folder from which the site is built, and what was put there."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.placed: dict[Path, str] = {}
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    def write(self, name: str, text: str) -> None:
        """A page that is made here, with links that hold in the site."""
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def page(self, path: Path, given: dict | None = None, notebook: list | None = None) -> None:
        """A page of the repository, with what its blocks gave."""
        name = self.place(path)
        text = path.read_text(encoding="utf-8")
        if given is not None or notebook is not None or "```" in text:
            text = self._with_output(text, name, given)
        self.write(name, self.turned(text, path, name))

    def place(self, path: Path) -> str:
        """Where a file or folder of the repository stands in the site; puts it there when it is asked for first."""
        path = path.resolve()
        if path in self.placed:
            return self.placed[path]
        if not path.exists():
            raise Failed(f"A page links to {path}, which does not exist.")
        inside = path.relative_to(ROOT)
        if path.is_relative_to(DOCS):
            self.placed[path] = name = path.relative_to(DOCS).as_posix()
            if path.is_dir():
                self.placed[path] = name = f"repository/{inside}/index.md"
                self.write(name, self._listing(path, name))
            elif path.suffix != ".md":
                if path.suffix in SOURCES:
                    return self._source(path, f"repository/{inside}.md")
                self._copy(path, name)
            return name
        if path.is_dir():
            if (path / "README.md").exists():
                return self.place(path / "README.md")
            self.placed[path] = name = f"repository/{inside}/index.md"
            self.write(name, self._listing(path, name))
        elif path.suffix == ".md":
            self.placed[path] = name = f"repository/{inside}"
            self.page(path)
        else:
            return self._source(path, f"repository/{inside}.md")
        return name

    def _source(self, path: Path, name: str) -> str:
        language = SOURCES.get(path.suffix, "text" if not path.suffix else "")
        text = path.read_text(encoding="utf-8") if language else ""
        if not language or len(text) > LONGEST:
            self.placed[path] = name = name.removesuffix(".md")
            self._copy(path, name)
        else:
            self.placed[path] = name
            self.write(name, f"# {path.name}\n\n`{path.relative_to(ROOT)}`\n\n````{language}\n{text}\n````\n")
        return name

    def _listing(self, folder: Path, name: str) -> str:
        files = sorted(p for p in folder.iterdir() if p.is_file() and p.suffix in SOURCES)
        rows = [f"- [{p.name}]({os.path.relpath(self.place(p), Path(name).parent)})" for p in files]
        return f"# {folder.relative_to(ROOT).as_posix()}\n\n" + "\n".join(rows) + "\n"

    def _copy(self, path: Path, name: str) -> None:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)

    # -- links and lists ---------------------------------------------------------------------------------------------

    def turned(self, text: str, path: Path, name: str) -> str:
        """The text with links that hold in the site, and with lists as the generator reads them."""

        def link(match: re.Match) -> str:
            target, _, anchor = match[2].partition("#")
            if "://" in target or target.startswith("mailto:") or not target:
                return match[0]
            if (self.folder / Path(name).parent / target).exists():
                return match[0]  # made by a block of the page
            there = os.path.relpath(self.place(path.parent / target), Path(name).parent)
            return f"{match[1]}({there}{'#' + anchor if anchor else ''}{match[3]})"

        pieces = _FENCE.split(text)
        return "".join(p if i % 2 else _lists(_LINK.sub(link, p)) for i, p in enumerate(pieces))

    # -- output ------------------------------------------------------------------------------------------------------

    def _with_output(self, text: str, name: str, given: dict | None) -> str:
        made, results = [], iter(given["results"]) if given else iter(())
        for part in parts(text):
            if part.kind == "text":
                made.append(part.text.strip("\n"))
            elif part.kind == "hidden":
                made.append(_folded(part.text))
                made += [m for m in self._result(next(results), name, given["folder"]) if m] if given else []
            elif part.kind == "output" and given is not None:
                continue
            else:
                made.append(_block(part, run=given is not None))
                if given is not None and part.kind in ("run", "file"):
                    made += [m for m in self._result(next(results), name, given["folder"]) if m]
        if given is not None:
            spent = f"{given['processor']:.0f} s of processor time, compilation counted"
            took = f'<p class="vb-time">The blocks of this page took {spent}, when it was made.</p>'
            if name.startswith("tutorials/"):  # one wants to know before
                title, _, rest = made[0].partition("\n")
                made[0] = f"{title}\n\n{took}\n{rest}"
            else:
                made.append(took)
        return "\n\n".join(made) + "\n"

    def _result(self, result: dict, name: str, folder: Path) -> list[str]:
        """What a block gave: its words, its pictures, links to its reports."""
        shown = [output(result.get("printed", ""))]
        for file in result.get("files", []):
            there = f"{name.removesuffix('.md')}-files/{Path(file).name}"
            self._copy(folder / file, there)
            beside = os.path.relpath(there, Path(name).parent)
            if file.endswith(".html"):
                shown.append(f'<p class="vb-file"><a href="{beside}" target="_blank">Open {Path(file).name}</a></p>')
            else:
                shown.append(f"![{Path(file).stem}]({beside})")
        return shown


def output(text: str) -> str:
    """Words that a block printed, as they were."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text).strip("\n")
    return f'<div class="vb-output"><pre>{html.escape(text, quote=False)}\n</pre></div>' if text else ""


def _folded(code: str) -> str:
    """What must stand before the next block, for a reader who wants to run it."""
    head = '<details class="vb-before" markdown="1"><summary>Before this block</summary>'
    return f"{head}\n\n```python\n{code}\n```\n\n</details>"


def _block(part, run: bool) -> str:
    title = f' title="{part.title}"' if part.title else ""
    shown = f"```{part.language or 'text'}{title}\n{part.text}```"
    if part.reason:
        return f'{shown}\n\n<p class="vb-not-run">Not run: {html.escape(part.reason)}.</p>'
    if part.language in ("python", "sh") and part.kind != "file" and not run:
        return f'{shown}\n\n<p class="vb-not-run">Not run here.</p>'
    return shown


def _lists(text: str) -> str:
    """A blank line before a list, and four blanks before what continues a numbered item."""
    lines: list[str] = []
    numbered = False
    for line in text.split("\n"):
        item = re.match(r"(?:[-*]|\d+\.) ", line)
        if item and lines and lines[-1].strip() and not re.match(r" *(?:[-*]|\d+\.) |  ", lines[-1]):
            lines.append("")
        if re.match(r"\d+\. ", line):
            numbered = True
        elif line and not line.startswith(" "):
            numbered = False
        lines.append(" " + line if numbered and line.startswith("   ") else line)
    return "\n".join(lines)
