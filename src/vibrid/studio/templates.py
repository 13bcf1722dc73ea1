"""Project files to begin with: one for every registered structure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vibrid.core.errors import InputError, require

_FOLDER = Path(__file__).with_name("templates")


def template_names() -> list[str]:
    """The structures that have a project file to begin with."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


def template(kind: object, structures: Sequence[dict[str, Any]] = ()) -> str:
    """The text of a project with a structure of this kind; that of a plugin has its keys to be filled in.

    structures: what the schema says about every structure; needed for those of plugins.
    """
    if kind in template_names():
        return (_FOLDER / f"{kind}.toml").read_text(encoding="utf-8")
    about = next((s for s in structures if s["name"] == kind), None)
    if about is None:
        raise InputError(f"There is no structure called '{str(kind)[:60]}'.")
    lines = [f'title = "{kind}"', "", "[structure]", f'kind = "{kind}"']
    for key in about["parameters"]:
        words = ", ".join(filter(None, (key["meaning"], key["unit"])))
        lines.append(f"{'' if key['required'] else '# '}{key['name']} = 1.0  # {words}")
    return "\n".join(lines) + "\n"


def merged(new: str, old: str) -> str:
    """A new project with what the old one says about the test: sensors, excitation and records."""
    tomlkit = require("tomlkit", "studio", "Changing a project file in the studio")
    try:
        before = tomlkit.parse(old)
    except tomlkit.exceptions.ParseError:
        return new
    made = tomlkit.parse(new)
    for key in ("title", "sensors", "excitation", "records"):
        if key in before:
            made[key] = before[key]
    return tomlkit.dumps(made)


def building(answers: dict[str, Any]) -> str:
    """The project of a shear building or a cantilever from a few answers, as `vibrid init` writes it.

    answers: `kind`, `storeys`, `mass`, `frequency` or `stiffness`, `length`, `title`.
    """
    from vibrid.commands.init_shapes import Given, shape_of
    from vibrid.commands.init_text import as_text

    def text(key: str) -> str | None:
        value = str(answers.get(key) or "").strip()
        return value or None

    def number(key: str) -> float | None:
        try:
            return float(value) if (value := text(key)) else None
        except ValueError:
            raise InputError(f"'{answers[key]}' is not a number ({key}).") from None

    kind, storeys = text("kind") or "shear-building", number("storeys")
    if kind not in ("shear-building", "beam"):
        raise InputError("A few answers describe a shear building or a beam; begin with a template for others.")
    given = Given(
        storeys=None if storeys is None else int(storeys),
        mass=text("mass"),
        stiffness=text("stiffness"),
        frequency=number("frequency"),
        length=text("length"),
    )
    shape = shape_of(kind, given)
    lines = [
        "# Numbers are in SI units; a text may have another unit.",
        f"title = {as_text(text('title') or 'my structure')}",
        "",
        "[structure]",
        *shape.lines,
        "",
        "# What is to be found. `bounds = [low, high]` and `prior = [mean, standard deviation]` are optional.",
        "[[unknown]]",
        f"path = {shape.unknown}",
        "",
        "[[unknown]]",
        'path = "damping.ratios"',
        "bounds = [0.001, 0.3]",
        "",
        "[method]",
        'name = "trajectory"',
    ]
    return "\n".join(lines) + "\n"
