"""Older formats of result files, converted to the present one by a chain of small functions on plain dictionaries.

A file is `text` (the JSON of its dataset `text`) and `arrays` (its other datasets by name). A new format is one more
function here, from the format before it, and a set of files written by `tests/identification/files/make.py`. A new key
or dataset alone is not a new format: readers ignore unknown ones, and writers of format 3 may omit those that their
result does not have.

- 1: never released.
- 2: vibrid 0.1.
- 3: vibrid 0.2; other names, descriptions for other programs, the files that were read, and keys for plugins, units of
  display and checks.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

FORMAT = 3
OLDEST = 2

Arrays = dict[str, object]


def upgraded(format: int, text: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Text and arrays of an older format as those of the present one."""
    for older in range(format, FORMAT):
        text, arrays = _STEPS[older](text, arrays)
    return {_KEYS.get(key, key): value for key, value in text.items()}, arrays


_KEYS = {"faint": "inseparable"}
"""Keys of the text in files of format 2, and in early ones of format 3."""

_NAMES_OF_3 = {
    r"free": "parameters/free",
    r"free_covariance": "parameters/free_covariance",
    r"samples": "parameters/samples",
    r"noise": "sensors/noise",
    r"unknowns/start": "parameters/first_guess",
    r"unknowns/(\w+)": r"parameters/\1",
    r"records/(\d+)/present": r"records/\1/used",
    r"records/(\d+)/held_out": r"records/\1/scored",
    r"records/(\d+)/inputs": r"records/\1/excitation",
    r"records/(\d+)/(displacement|velocity)": r"records/\1/initial_\2",
    r"loads/(\d+)/deviation": r"loads/\1/standard_deviation",
}


def _from_2(text: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Datasets renamed; keys that early files of format 2 lack are added; files were not stored."""
    unknowns = text["unknowns"]
    unknowns = {"positive": [kind == "log" for kind in unknowns["kinds"]], **unknowns}
    text = {"inputs": [], **text, "unknowns": unknowns, "files": [], "plugins": [], "display_units": {}, "checks": []}
    return text, {_renamed(name): value for name, value in arrays.items()}


def _renamed(name: str) -> str:
    for old, new in _NAMES_OF_3.items():
        if re.fullmatch(old, name):
            return re.sub(old, new, name)
    return name


_STEPS: dict[int, Callable[[dict, Arrays], tuple[dict[str, Any], Arrays]]] = {2: _from_2}
