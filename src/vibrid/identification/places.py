"""Kinds of places of unknowns in an experiment, and the abilities that they require of a method."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from vibrid.core import paths


@dataclass(frozen=True)
class PlaceKind:
    """A kind of place.

    need: the ability that a method must have (one of `NEEDS`), empty where every method can; about_zero: the value may
    be zero, so that its bound cannot be relative to it.
    """

    need: str = ""
    about_zero: bool = False


NOISE = PlaceKind("unknown noise")
STRUCTURE = PlaceKind()
KINDS = {
    ("sensors", "gain"): PlaceKind("sensor gain"),
    ("sensors", "offset"): PlaceKind("sensor offset", about_zero=True),
    ("sensors", "delay"): PlaceKind("sensor delay"),
    ("sensors", "noise"): NOISE,
    ("loads", "offset"): PlaceKind("load offset", about_zero=True),
    ("initial", "displacement"): PlaceKind("initial state", about_zero=True),
    ("initial", "velocity"): PlaceKind("initial state", about_zero=True),
}
"""The kind of every parameter of sensors, measured excitations and initial states, such as `sensors[0].gain`."""


@lru_cache(maxsize=1024)
def kind_of(place: str) -> PlaceKind:
    """The kind of a concrete path from the experiment."""
    root, *rest = paths.parse(place)
    return STRUCTURE if root == "structure" else KINDS[str(root), str(rest[1])]
