"""Limits of tested devices on the command line."""

from __future__ import annotations

from typing import Annotated

import typer

Limit = Annotated[
    list[str] | None,
    typer.Option(help='A limit beside those of the file, such as "force=90 kN"; the stricter holds; may be repeated.'),
]
Unlimited = Annotated[bool, typer.Option("--unlimited", help="Move a device without the required limits.")]


def limits_from(given: list[str] | None):
    """The limits that the options give: `["force=90 kN", "step=2 mm"]`."""
    from vibrid.core.errors import InputError, unknown_name
    from vibrid.hybrid.limits import UNITS, SafetyLimits
    from vibrid.project.quantities import Number

    limits: dict[str, float] = {}
    for text in given or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            raise InputError(f"A limit is written --limit \"force=90 kN\", not '{text}'.")
        if name not in UNITS:
            raise unknown_name("limit", name, UNITS)
        if name in limits:
            raise InputError(f"The limit of {name} is given twice.")
        try:
            limits[name] = Number("", UNITS[name], positive=True, unit_needed=True).in_si(value)
        except InputError as problem:
            raise InputError(f"--limit {name}: {problem}") from None
    return SafetyLimits(**limits)
