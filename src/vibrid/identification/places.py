"""Kinds of places in an experiment at which an unknown can be, and what an unknown there asks of a method."""

from __future__ import annotations

from dataclasses import dataclass

from vibrid.core import paths


@dataclass(frozen=True)
class PlaceKind:
    """A kind of place.

    need: what a method must be able to do (one of `NEEDS`), empty where every method can; about_zero: zero is a value
    like any other here, so that no share of it can be told.
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


def kind_of(place: str) -> PlaceKind:
    """The kind of a concrete path from the experiment."""
    root, *rest = paths.parse(place)
    return STRUCTURE if root == "structure" else KINDS[root, rest[1]]
