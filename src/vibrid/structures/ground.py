"""Directions of ground motion: those of the structure, and names in files where they fit one of them.

Every structure names the directions in which its ground can move (`Structure.ground_axes`), the first being that of a
motion without a direction, and states of each whether it is horizontal or vertical, where that is known. Two components
of a record never drive one direction: they would be added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vibrid.core.errors import InputError, unknown_name
from vibrid.records.components import kind_of, plain


def axis_of(axes: Mapping[str, str], word: str, owner: str) -> str:
    """The direction of a structure for a name; refused when it fits none of them, or several.

    axes: the structure's directions and their kinds; word: from the record, the project or the caller, empty for the
    first direction; owner: the structure in words, for messages.
    """
    if not axes:
        raise InputError(f"{owner} does not stand on ground that moves.")
    if not word:
        return next(iter(axes))
    if word in axes:
        return word
    if word in ("x", "y", "z") and "x" in axes:  # the structure's own letters, and it has no such direction
        raise unknown_name("direction of ground motion", word, axes)
    named = [axis for axis in axes if axis and plain(axis) == plain(word)]
    kind, choices = kind_of(word), ", ".join(axes)
    plan = all(its_kind == "horizontal" for its_kind in axes.values())
    if named and (plan or len(axes) > 2 or plain(word) not in ("x", "y", "z")):
        return named[0]
    if named and axes[named[0]] == "vertical" and kind == "horizontal":
        raise InputError(
            f"'{word}' may be the vertical '{named[0]}' of {owner} or a second horizontal component; call the "
            f"direction of the channel '{named[0]}', or leave the channel out."
        )
    if kind == "downwards" and "vertical" in axes.values():
        raise InputError(
            f"'{word}' is positive downwards; scale the channel by -1 and call its direction as {owner} does "
            f"({choices})."
        )
    fits = [axis for axis, its_kind in axes.items() if kind and its_kind == kind]
    if len(fits) == 1:
        return fits[0]
    if len(fits) > 1:
        raise InputError(
            f"'{word}' may be any of the directions {', '.join(fits)} of {owner}; give the channel one of them."
        )
    if len(axes) == 1:
        (axis, its_kind), *_ = axes.items()
        if its_kind and kind and its_kind != kind:
            raise InputError(f"'{word}' is vertical, and {owner} is moved by {its_kind} ground motion only.")
        return axis
    raise unknown_name("direction of ground motion", word, axes)


def refuse_repeated(channels: Sequence[str], axes: Sequence[str], owner: str, where: str) -> None:
    """Refuse two ground motions in one direction; `channels` names them, `where` the record that has them."""
    twice = [axis for axis in dict.fromkeys(axes) if list(axes).count(axis) > 1]
    if not twice:
        return
    both = [c for c, axis in zip(channels, axes, strict=True) if axis == twice[0]]
    along = f" along '{twice[0]}'" if twice[0] else ""
    raise InputError(
        f"{where} would move the ground of {owner}{along} by {len(both)} channels at once ({', '.join(both)}); choose "
        'the one that drives it: record.driven_by("name"), [excitation] channels in a project file, or `vibrid predict '
        "--drive name`."
    )
