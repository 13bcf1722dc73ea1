"""Docstrings of the package as Markdown."""

from __future__ import annotations

import dataclasses
import inspect
import re

from vibrid.report.style import unit_text

WIDTH = 90
"""Characters of a call that stand on one line."""
_HEADS = ("Arguments", "Parameters", "Example", "Examples", "Attributes", "Returns", "Properties")


def first_sentence(text: str | None) -> str:
    """The first sentence of a docstring, on one line."""
    words = " ".join(inspect.cleandoc(text or "").split("\n\n")[0].split())
    return re.split(r"(?<=[a-z)`\d])[.;:] (?=[A-Z`])", words)[0].rstrip(".;:") if words else ""


def body(text: str | None, without: tuple[str, ...] = ()) -> str:
    """A docstring: its paragraphs, its arguments as a list, its examples as code."""
    made, head, held = [], "", []
    for line in [*inspect.cleandoc(text or "").split("\n"), None]:
        if line is not None and line.rstrip(":") not in _HEADS:
            held.append(line)
            continue
        if head not in without:
            made.append(_section(head, held))
        head, held = (line or "").rstrip(":"), []
    return "\n\n".join(m for m in made if m)


def _section(head: str, lines: list[str]) -> str:
    text = inspect.cleandoc("\n" + "\n".join(lines)).strip("\n")
    if not head:
        return _paragraphs(text)
    if not text:
        return ""
    if head.startswith("Example"):
        return f"```pycon\n{text}\n```" if ">>>" in text else f"```text\n{text}\n```"
    entries, current = [], ""
    inside, after = _indented(lines)
    for line in inspect.cleandoc("\n" + "\n".join(inside)).split("\n"):
        entry = re.match(r"([\w*][\w*, /]*): ?(.*)", line)
        if entry and not line.startswith(" "):
            entries.append(f"- `{entry[1]}`: {entry[2]}")
        elif entries:
            entries[-1] += " " + line.strip()
        else:
            current += line + "\n"
    made = f"**{head}**\n\n" + (_paragraphs(current) + "\n\n" if current else "") + "\n".join(map(plain, entries))
    return made + ("\n\n" + _paragraphs("\n".join(after)) if after else "")


def _indented(lines: list[str]) -> tuple[list[str], list[str]]:
    """The lines that belong to a heading, and the paragraphs that follow at the margin."""
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    first = next((line for line in lines if line.strip()), "")
    if margin or not first.startswith(" "):
        return lines, []
    end = next(i for i, line in enumerate(lines) if line.strip() and not line.startswith(" "))
    return lines[:end], lines[end:]


def _paragraphs(text: str) -> str:
    """Indented passages of a docstring are code; the rest are paragraphs."""
    made = []
    for piece in re.split(r"\n\s*\n", text):
        if piece and all(line.startswith("    ") for line in piece.split("\n")):
            made.append("```text\n" + inspect.cleandoc("\n" + piece) + "\n```")
        else:
            made.append(plain(piece))
    return "\n\n".join(made)


def plain(text: str) -> str:
    """Stars, underscores, bars and angles of a docstring are no Markdown, outside of its code."""
    pieces = re.split(r"(`[^`]*`)", text)
    angles = {"<": "&lt;", ">": "&gt;"}
    return "".join(
        p if i % 2 else re.sub(r"[*_\[\]<>]", lambda m: angles.get(m[0], f"\\{m[0]}"), p) for i, p in enumerate(pieces)
    )


def signature(thing) -> str:
    """How it is called, without types."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    words = str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    words = re.sub(r"<dataclasses\._\w+ object at 0x\w+>|<factory>", "…", words)
    words = re.sub(r"<function (\w+) at 0x\w+>|<class '[\w.]*?(\w+)'>", r"\1\2", words)
    return words if len(words) <= WIDTH else _on_lines(words)


def _on_lines(words: str) -> str:
    """A long call with one argument a line."""
    made, depth = "", 0
    for character in words[1:-1]:
        depth += (character in "([{") - (character in ")]}")
        made += ",\n    " if character == "," and not depth else character
    return "(\n    " + made.replace(",\n     ", ",\n    ") + ",\n)"


def parameter_rows(cls: type) -> list[str]:
    """A table of the declared parameters of a class: name, meaning, unit, range, default."""
    rows = []
    for field in dataclasses.fields(cls):
        info = field.metadata.get("parameter")
        if info is None or not field.init:
            continue
        allowed = ("not negative" if info.zero else "positive") if info.positive else "any"
        default = "" if field.default is dataclasses.MISSING else f"{field.default}"
        meaning = info.meaning.replace("|", "\\|")
        rows.append(f"| `{field.name}` | {meaning} | {unit_text(info.unit) or '–'} | {allowed} | {default} |")
    return ["| parameter | meaning | unit | range | default |", "|---|---|---|---|---|", *rows] if rows else []
