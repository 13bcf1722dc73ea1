"""The options of commands that read files which do not describe themselves, in one place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from vibrid.core.errors import InputError

Step = Annotated[float | None, typer.Option(help="Seconds between samples, if the file does not contain it.")]
Units = Annotated[str | None, typer.Option(help="Unit of all columns, or one for each, separated by commas.")]
Columns = Annotated[str | None, typer.Option(help="Names of the columns, separated by commas.")]
Quantities = Annotated[str | None, typer.Option(help="Quantity of all columns, or one for each, by commas.")]
Sidecar = Annotated[Path | None, typer.Option(help="TOML file that describes the columns.")]
Time = Annotated[str | None, typer.Option(help="Name of the time column, if it is not recognised.")]
Decimal = Annotated[str | None, typer.Option(help="Decimal mark, . or , if the file leaves it open.")]
Dates = Annotated[str | None, typer.Option(help="Order of day, month, year in dates: dmy, mdy or ymd.")]
Missing = Annotated[
    str | None, typer.Option(help="Numbers that stand for missing samples, by commas, as in -9999; none for none.")
]
Drop = Annotated[str | None, typer.Option(help="Columns to leave out, separated by commas.")]
Sheet = Annotated[str | None, typer.Option(help="Sheet of a workbook.")]

_OPTIONS = {
    "step": Step,
    "units": Units,
    "columns": Columns,
    "quantities": Quantities,
    "sidecar": Sidecar,
    "time": Time,
    "decimal": Decimal,
    "dates": Dates,
    "missing": Missing,
    "drop": Drop,
    "sheet": Sheet,
}


def with_reading(command: Callable) -> Callable:
    """A command whose last argument `reading` is filled by the options of this module: a table for `read_files`."""

    def run(**given: Any):
        reading = {name: given.pop(name) for name in _OPTIONS}
        return command(**given, reading=reading)

    own = [p for p in inspect.signature(command).parameters.values() if p.name != "reading"]
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in _OPTIONS.items()]
    hints = {k: v for k, v in get_type_hints(command, include_extras=True).items() if k not in ("reading", "return")}
    run.__signature__ = inspect.Signature([*(p.replace(kind=keyword, annotation=hints[p.name]) for p in own), *added])
    run.__annotations__ = {**hints, **_OPTIONS}
    run.__doc__, run.__name__, run.__module__ = command.__doc__, command.__name__, command.__module__
    return run


def read_files(path: Path, reading: dict[str, Any]) -> list:
    """The records of a file, with the options of the command line."""
    from vibrid.records import read_records

    return read_records(path, **arguments(reading))


def arguments(reading: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `read_records` that the options of the command line are."""
    given = dict(reading)
    for name in ("units", "quantities"):
        parts = listed(given.get(name))
        given[name] = parts[0] if parts is not None and len(parts) == 1 else parts
    for name in ("columns", "drop"):
        given[name] = listed(given.get(name))
    given["missing"] = _numbers(given.get("missing"))
    return given


def listed(text: str | None) -> list[str] | None:
    """The parts of a text between commas."""
    return None if text is None else [part.strip() for part in text.split(",")]


def _numbers(text: str | None) -> list[float] | None:
    if text is None or text.strip().lower() == "none":
        return None if text is None else []
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--missing has numbers, as in -9999,1e30, or none; not '{text}'.") from None


def decided(record) -> list[str]:
    """The lines of a record's history on what was decided when it was read, what may be wrong, and its preparation."""
    from vibrid.records.prepare import EFFECT
    from vibrid.records.readers.assemble import DOUBT, READ

    return [line for line in record.history if line.startswith((READ, DOUBT, EFFECT))]


def tell_reading(records: Iterable) -> None:
    """Print, on standard error, what was decided when records were read."""
    for record in records:
        for line in decided(record):
            typer.echo(f"{record.name}: {line}", err=True)
