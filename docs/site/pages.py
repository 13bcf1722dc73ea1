"""The pages of the documentation as parts: text, and fenced blocks that are run, written to files, or shown only.

A page is run when it lies in one of the folders of `RUN`, or has a line `<!-- run -->`. In such a page

    ```python                 is run, in one namespace for the whole page
    ```sh                     is run by bash, with `vibrid` on its path
    ```toml title="a.toml"    (any language with a title) is written to that file
    <!-- set up ... -->       Python that is run, and shown folded
    <!-- not run: why -->     the next block is only shown, and marked
    <!-- long -->             (anywhere) the page is run by `make docs-all` only

and a block without a language, or of `text`, that follows one that is run stands for its output: the site shows
the real one instead. Nothing here needs more than Python itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
RUN = ("tutorials", "how-to", "coming-from", "gallery")
TOOLS = ("matlab", "tcl", "cpp", "c", "julia")
"""Languages of other programs: shown, never run."""

_PART = re.compile(
    r"^```(?P<info>[^\n`]*)\n(?P<code>.*?)^```[ ]*$|^<!-- (?P<word>set up|not run)(?P<more>.*?)-->[ ]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Part:
    """kind: text, run (`python`, `sh`), file, hidden, output, or shown; `line` is where it begins in its page."""

    kind: str
    text: str
    line: int
    language: str = ""
    title: str = ""
    reason: str = ""


def is_run(path: Path, text: str) -> bool:
    """Whether the blocks of a page are run."""
    inside = path.is_relative_to(DOCS) and path.relative_to(DOCS).parts[0] in RUN
    return inside or _has(text, "run")


def is_long(text: str) -> bool:
    """Whether a page is left to `make docs-all`."""
    return _has(text, "long")


def _has(text: str, word: str) -> bool:
    """Whether a line of the page is that mark and nothing else."""
    return re.search(rf"^<!-- {word} -->$", text, re.MULTILINE) is not None


def parts(text: str) -> list[Part]:
    """A page in the order of its parts."""
    found: list[Part] = []
    end, reason = 0, None
    for match in _PART.finditer(text):
        between = text[end : match.start()]
        if between.strip():
            found.append(Part("text", between, _line(text, end)))
        end = match.end()
        line = _line(text, match.start())
        if match["word"] == "set up":
            found.append(Part("hidden", match["more"].strip("\n"), line, "python"))
        elif match["word"] == "not run":
            reason = match["more"].strip(" :\n") or "as it is"
        else:
            part = _fence(match["info"].strip(), match["code"], line, found[-1] if found else None)
            found.append(replace(part, kind="shown", reason=reason) if reason else part)
            reason = None
    if text[end:].strip():
        found.append(Part("text", text[end:], _line(text, end)))
    return found


def _fence(info: str, code: str, line: int, before: Part | None) -> Part:
    language, _, rest = info.partition(" ")
    title = re.search(r'title="([^"]+)"', rest)
    if title:
        return Part("file", code, line, language, title[1])
    if language in ("python", "sh"):
        return Part("run", code, line, language)
    if language in ("", "text") and before is not None and before.kind == "run":
        return Part("output", code, line)
    reason = "a block of another program" if language in TOOLS else ""
    return Part("shown", code, line, language, reason=reason)


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def blocks_to_run(path: Path) -> list[Part]:
    """What is run of a page, in order; empty for a page that is not."""
    text = path.read_text(encoding="utf-8")
    return [p for p in parts(text) if p.kind in ("run", "hidden", "file")] if is_run(path, text) else []
