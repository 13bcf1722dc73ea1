"""The text of the project file that `vibrid init` writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DraftChannel:
    """A channel of the measured files: its name, quantity, place, and its unit where the files do not state it."""

    name: str
    quantity: str
    place: str
    unit: str = ""


@dataclass(frozen=True)
class Shape:
    """A structure for the project file.

    Arguments
        lines: the table `[structure]`.
        numbering: how places are called, in words.
        unknown: path of the stiffness to be found, with a comment.
        places: the choice of places in words.
        check: the place in the project's spelling, or an `InputError`.
        top: a place that always exists, for hints.
    """

    lines: Sequence[str]
    numbering: str
    unknown: str
    places: str
    check: Callable[[str], str]
    top: str


@dataclass(frozen=True)
class ProjectDraft:
    """What a project file is made from."""

    title: str
    shape: Shape
    sensors: Sequence[DraftChannel]
    ground: DraftChannel
    files: Sequence[str]
    reading: dict
    rate: float | None = None


_QUANTITIES = {
    "absolute_acceleration": "what an accelerometer measures",
    "acceleration": "relative to the ground; write absolute_acceleration for an accelerometer",
    "displacement": "relative to the ground",
    "velocity": "relative to the ground",
}


def project_text(draft: ProjectDraft) -> str:
    """A commented project file."""
    parts = [
        f"# Written by `vibrid init` for {', '.join(draft.files)}.",
        "# Numbers are in SI units; a text may have another unit. All keys: docs/project-file.md, `vibrid schema`.",
        "",
        f"title = {as_text(draft.title)}",
        "",
        "[structure]",
        *draft.shape.lines,
        "",
        f"# Sensors: {draft.shape.numbering}. `channel` is a heading in the files.",
    ]
    for sensor in draft.sensors:
        comment = f"  # {_QUANTITIES[sensor.quantity]}" if sensor.quantity in _QUANTITIES else ""
        place = sensor.place if sensor.place.isdigit() else as_text(sensor.place)
        parts += ["[[sensors]]", f"channel = {as_text(sensor.name)}", f"quantity = {as_text(sensor.quantity)}{comment}"]
        parts += [f"place = {place}"] + ([f"unit = {as_text(sensor.unit)}"] if sensor.unit else []) + [""]
    unit = f", unit = {as_text(draft.ground.unit)}" if draft.ground.unit else ""
    parts += [
        "[excitation]",
        f"channels = [{{column = {as_text(draft.ground.name)}{unit}}}]  # the measured ground acceleration",
        "",
        "# What is to be found. `bounds = [low, high]` and `prior = [mean, standard deviation]` are optional.",
        "[[unknown]]",
        f"path = {draft.shape.unknown}",
        "",
        "[[unknown]]",
        'path = "damping.ratios"',
        "bounds = [0.001, 0.3]",
        "",
        "[records]",
        f"files = {text_list(draft.files)}",
        *_reading(draft),
        '# validation = ["other.csv"]  # records, or parts of them, that are not fitted but predicted',
        '# start = 2.0   # s; with end: the part that is used.  {file = "a.csv", end = 20} is a part of one file',
        '# baseline = "line"  # mean, line, parabola or velocity: removed from every channel',
        "# filter = {low = 0.1, high = 25.0}  # Hz",
        "# resample = 100.0  # samples per second",
        "",
        "[method]",
        'name = "trajectory"  # docs/commands.md lists the others',
    ]
    return "\n".join(parts) + "\n"


def _reading(draft: ProjectDraft) -> list[str]:
    """How the files are read, as it was said on the command line."""
    given, lines = draft.reading, []
    if given.get("step"):
        lines.append(f"rate = {1.0 / given['step']:.12g}")
    lines += [f"{key} = {as_text(given[key])}" for key in ("time", "decimal", "dates", "sheet") if given.get(key)]
    if given.get("missing") is not None:
        none = given["missing"].strip().lower() == "none"
        lines.append(f"missing = [{'' if none else given['missing']}]")
    if given.get("drop"):
        lines.append(f"drop = {text_list([name.strip() for name in given['drop'].split(',')])}")
    if draft.rate is not None:
        lines.append(f"resample = {draft.rate:g}  # the samples are not evenly spaced")
    return lines


def as_text(text: str) -> str:
    """A text in TOML, which has the escapes of JSON."""
    return json.dumps(text, ensure_ascii=False)


def text_list(texts: Sequence[str]) -> str:
    """A list of texts in TOML; equal ones are counted."""
    if len(set(texts)) == 1 and len(texts) > 3:
        return f"{{value = {as_text(texts[0])}, count = {len(texts)}}}"
    return f"[{', '.join(as_text(text) for text in texts)}]"
