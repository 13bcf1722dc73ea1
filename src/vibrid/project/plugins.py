"""The plugins of a project file: `plugins = ["my_laws.py"]`, run only where they are trusted."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from vibrid.core.errors import FileProblem
from vibrid.core.plugins import load_file, read_plugin
from vibrid.core.trust import is_trusted
from vibrid.project.problems import Mistake, ProjectProblem
from vibrid.project.section import MOST_PLUGINS


def load_plugins(path: Path, text: str, data: dict, trust: bool) -> None:
    """Run the plugin files that a project names, relative to it. Each must be trusted: by `trust`, or because its
    content was agreed to before. Otherwise no plugin is run, and the project is not read further."""
    mistakes, contents = [], []
    for i, name in enumerate(named(data)):
        try:
            content = read_plugin(path.parent / name)
        except FileProblem as problem:
            mistakes.append(Mistake(("plugins", i), problem.problem))
            continue
        if not (trust or is_trusted(content)):
            message = (
                f"'{name}' is a Python program, which runs only if you trust it: read it, then give --trust "
                "(in Python, trust=True)."
            )
            mistakes.append(Mistake(("plugins", i), message))
        contents.append((i, path.parent / name, content))
    if not mistakes:
        for i, file, content in contents:
            try:
                load_file(file, content)
            except FileProblem as problem:
                mistakes.append(Mistake(("plugins", i), f"{file.name}: {problem.problem}"))
    if mistakes:
        raise ProjectProblem(path, text, mistakes)


def named(data: dict) -> list[str]:
    """The plugin files that a parsed file names; none where the key is not a list of texts, which is reported later."""
    given = data.get("plugins", [])
    if not isinstance(given, list) or len(given) > MOST_PLUGINS or not all(isinstance(name, str) for name in given):
        return []
    return given


def untrusted(path) -> Iterator[tuple[Path, bytes]]:
    """(file, content) of every plugin of a project, and of a project that it names, that is not trusted yet.

    Files that cannot be read are passed over: loading the project reports them.
    """
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return
    for name in named(data):
        try:
            content = read_plugin(path.parent / name)
        except FileProblem:
            continue
        if not is_trusted(content):
            yield path.parent / name, content
    loop = data.get("closed_loop")
    if isinstance(loop, dict) and isinstance(loop.get("project"), str):
        yield from untrusted(path.parent / loop["project"])
