"""Horizontal components turned to other axes: from the azimuths of the sensors to those of a structure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.records.channel import Channel
from vibrid.records.components import kind_of, plain
from vibrid.records.record import Record

_NAMED = {"n": 0.0, "ns": 0.0, "north": 0.0, "e": 90.0, "ew": 90.0, "east": 90.0, "s": 180.0, "sn": 180.0,
          "south": 180.0, "w": 270.0, "we": 270.0, "west": 270.0}  # fmt: skip
_LEAST_ANGLE = 10.0  # degrees between two sensors, below which they measure one component


@checked
def rotate(record: Record, axes: Mapping[str, float], azimuths: Mapping[str, float] | None = None) -> Record:
    """The horizontal channels of each place along other axes.

    Arguments
        axes: name of an axis → its azimuth in degrees, clockwise from north: {"x": 30, "y": 120}.
        azimuths: name of a channel → azimuth in which it counts positive, for channels whose direction does not say it
            (N, E, S, W or degrees such as 090).

    Channels of one place and quantity are turned together: those of one location, or, where none is stated, those whose
    names begin alike (`roof N`, `roof E`). More than two at a stated location count by least squares. Vertical channels
    and those without a known azimuth stay as they are. The gaps of one channel are gaps of both results.
    """
    azimuths = dict(azimuths or {})
    for name in azimuths:
        record.index(name)
    if not axes:
        raise InputError("Name the axes with their azimuths, such as {'x': 30, 'y': 120}.")
    groups: dict[tuple[str, str, str], list[int]] = {}
    for i, channel in enumerate(record.channels):
        if channel.name in azimuths or _azimuth(channel) is not None:
            place = str(channel.location) or _beginning(channel.name)
            groups.setdefault((place, channel.quantity, channel.unit), []).append(i)
    if not groups:
        raise InputError(
            f"No channel of '{record.name}' has a known azimuth: give `azimuths`, in degrees clockwise from north "
            "(--azimuth CHANNEL=DEGREES)."
        )
    turned = {i for members in groups.values() for i in members}
    columns = [record.data[:, i] for i in range(len(record.channels)) if i not in turned]
    channels = [c for i, c in enumerate(record.channels) if i not in turned]
    for (place, *_), members in groups.items():
        own = [record.channels[i] for i in members]
        if len(own) > 2 and not all(str(c.location) for c in own):
            names = ", ".join(c.name for c in own)
            raise InputError(f"{names} may be at different places: give their locations, so that two are not mixed.")
        angles = np.radians(np.array([azimuths.get(c.name, _azimuth(c)) for c in own], float))
        directions = np.column_stack([np.cos(angles), np.sin(angles)])  # north, east
        if np.linalg.eigvalsh(directions.T @ directions)[0] < 1.0 - np.cos(np.radians(_LEAST_ANGLE)):
            names = ", ".join(c.name for c in own)
            raise InputError(
                f"{names} at '{place or 'the same place'}' measure one component only: another channel there, in "
                "another direction, is needed to turn it."
            )
        motion = record.data[:, members] @ np.linalg.pinv(directions).T
        stem = _beginning(own[0].name) or (f"{own[0].location} " if str(own[0].location) else "")
        for axis, azimuth in axes.items():
            angle = np.radians(azimuth)
            columns.append(motion @ np.array([np.cos(angle), np.sin(angle)]))
            channels.append(replace(own[0], name=f"{stem}{axis}", direction=axis))
    names = [c.name for c in channels]
    if len(set(names)) < len(names):
        places = [f"{c.location} {c.name}".strip() if names.count(c.name) > 1 else c.name for c in channels]
        channels = [replace(c, name=name) for c, name in zip(channels, places, strict=True)]
    told = ", ".join(f"{axis} at {azimuth:g}°" for axis, azimuth in axes.items())
    return record.replace(
        f"turned to {told} (clockwise from north)", data=np.column_stack(columns), channels=tuple(channels)
    )


def _azimuth(channel: Channel) -> float | None:
    """Degrees clockwise from north of a channel's direction; None where it does not say it."""
    word = plain(channel.direction)
    if word in _NAMED:
        return _NAMED[word]
    if re.fullmatch(r"\d{1,3}(deg|degrees|°)?", word) and kind_of(word) == "horizontal":
        return float(re.match(r"\d+", word)[0])  # pyright: ignore[reportOptionalSubscript]
    return None


def _beginning(name: str) -> str:
    """The name of a channel up to its last word: `roof ` of `roof N`, `XX.BRDG.00.` of `XX.BRDG.00.HNE`."""
    return name[: max((name.rfind(mark) for mark in " _.:/-"), default=-1) + 1]
