"""Settings that a method no longer has: the message names the method that has them now."""

from __future__ import annotations

from collections.abc import Collection

from vibrid.core.errors import InputError


def refuse_retired(method: str, given: Collection[str], retired: Collection[str], now: str) -> None:
    """Refuse settings of a method that moved to the method registered as `now`."""
    moved = [f"'{name}'" for name in given if name in retired]
    if moved:
        have = "is a setting" if len(moved) == 1 else "are settings"
        raise InputError(
            f"{', '.join(moved)} of {method} {have} of the paper's recipe as published: use the method '{now}'."
        )
