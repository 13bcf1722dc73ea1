"""A structure as the text of a project file: every number in full, so that reading it gives the same structure."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from vibrid.core.errors import InputError
from vibrid.laws.base import LAWS, Law, Parallel
from vibrid.laws.distributions import DISTRIBUTIONS, YieldDistribution
from vibrid.structures import DAMPINGS, STRUCTURES, Structure
from vibrid.structures.damping import Damping

_NAMED = ((Law, LAWS, "law"), (Damping, DAMPINGS, "kind"), (Structure, STRUCTURES, "kind"),
          (YieldDistribution, DISTRIBUTIONS, "kind"))  # fmt: skip
_PAIRS = ("supports", "influence")
"""Fields that are tables in TOML and pairs in Python."""
_WIDE = 110


def structure_table(structure: Structure) -> list[str]:
    """The lines of the table `[structure]`."""
    lines = ["[structure]"]
    tables = []
    for name, value in _fields(structure).items():
        parts = isinstance(value, list) and value and isinstance(value[0], dict)
        if parts and name not in _PAIRS:
            for part in value:
                tables += ["", f"[[structure.{name}]]", *(f"{k} = {_text(v)}" for k, v in part.items())]
        else:
            lines += _wrapped(name, value)
    return lines + tables


def _wrapped(name: str, value: Any) -> list[str]:
    """`name = value`, a list on several lines where one would be too long."""
    line = f"{name} = {_text(value)}"
    if len(line) <= _WIDE or not isinstance(value, list):
        return [line]
    lines, row = [f"{name} = ["], "   "
    for item in value:
        text = f" {_text(item)},"
        if len(row) + len(text) > _WIDE and row.strip():
            lines.append(row)
            row = "   "
        row += text
    return [*lines, row, "]"]


def _fields(thing: Any) -> dict[str, Any]:
    """The entries of a table: its name in the registry, and fields that differ from their defaults."""
    found: dict[str, Any] = {}
    if isinstance(thing, Parallel):
        found["law"] = "parallel"
    else:
        for base, registry, key in _NAMED:
            if isinstance(thing, base):
                found[key] = registry.name_of(type(thing))
    for f in dataclasses.fields(thing):
        value = getattr(thing, f.name)
        if not f.init or (f.default is not dataclasses.MISSING and _is_default(value, f.default)):
            continue
        if value is None or (isinstance(value, tuple) and not value):
            continue
        pairs = f.name in _PAIRS and isinstance(value, tuple) and isinstance(value[0], tuple)
        found[f.name] = {str(k): _plain(v) for k, v in value} if pairs else _plain(value)
    return found


def _is_default(value: Any, default: Any) -> bool:
    if isinstance(value, jax.Array):
        return value.ndim == 0 and np.array_equal(np.asarray(value), np.asarray(default), equal_nan=True)
    return value == default


def _plain(value: Any) -> Any:
    if isinstance(value, eqx.Module):
        return _fields(value)
    if isinstance(value, jax.Array | np.ndarray):
        return np.asarray(value, float).tolist()
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    return value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if not np.isfinite(value):
            raise InputError("A number of the structure is not finite, so it cannot be written to a project file.")
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(k)} = {_text(v)}" for k, v in value.items())
        return f"{{{inside}}}"
    raise InputError(f"{value!r} cannot be written to a project file.")


def _key(name: str) -> str:
    plain = name.replace("_", "").replace("-", "").isalnum() and name.isascii()
    return name if plain else json.dumps(name, ensure_ascii=False)


def project_of(
    structure: Structure,
    title: str,
    comments: Sequence[str] = (),
    sensors: Sequence[tuple[str, str]] = (),
    ground: str = "",
    unknown: Sequence[str] = (),
    files: Sequence[str] = (),
) -> str:
    """A project file with a structure; sensors, unknowns and files where they are given, as comments where not.

    Arguments
        comments: lines at its top.
        sensors: (channel, place) of accelerometers.
        ground: channel of the ground motion.
        unknown: paths to be identified; those of one text, separated by commas, share one value.
        files: measured files, relative to the project file.
    """
    lines = [*(f"# {line}" for line in comments), "", f"title = {_text(title)}", "", *structure_table(structure), ""]
    for channel, place in sensors:
        lines += ["[[sensors]]", f"channel = {_text(channel)}", 'quantity = "absolute_acceleration"']
        lines += [f"place = {_text(place)}", ""]
    if not sensors:
        lines += ["# [[sensors]]", '# channel = "A1"                        # a heading in the measured files']
        lines += ['# quantity = "absolute_acceleration"', '# place = "…"', ""]
    if ground:
        lines += ["[excitation]", f"channels = [{{column = {_text(ground)}}}]", ""]
    else:
        lines += ["# [excitation]", '# channels = [{column = "A0"}]          # the measured ground acceleration', ""]
    for path in unknown:
        several = [part.strip() for part in path.split(",")]
        lines += ["[[unknown]]", f"path = {_text(several if len(several) > 1 else path)}", ""]
    if not unknown:
        lines += ["# [[unknown]]", '# path = "…"                            # what is to be found', ""]
    if files:
        lines += ["[records]", f"files = {_text(list(files))}", ""]
    return "\n".join(lines)
