"""Readers, one format per file, chosen by content.

A reader is a class with `recognises(source)` and `read(source, layout)`, which returns one record for every sampling
that the file holds, registered in `READERS` under the name of its format (`reader.py`). Readers of plugins are found
the same way (docs/extending.md).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike

import numpy as np

from vibrid.core.errors import FileProblem, VibridError, unknown_name
from vibrid.records.readers import (  # noqa: F401  (each registers its format)
    archive,
    cosmos,
    csmip,
    csv,
    decimal_comma,
    excel,
    hdf5,
    headings,
    journal,
    json_file,
    knet,
    matlab,
    miniseed,
    numpy_file,
    peer,
    sac,
    tdms,
    uff58,
)
from vibrid.records.readers import columns as _columns  # noqa: F401
from vibrid.records.readers.layout import Column, Labels, Layout, Missing, make_layout
from vibrid.records.readers.reader import READERS, Reader, is_own, readers
from vibrid.records.readers.source import Limits, Source
from vibrid.records.record import Record

UNFORESEEN = "it is written in a way that its reader does not foresee"
"""In the message about an error that a reader of the package should have described itself."""


_OLD_OFFICE = bytes.fromhex("d0cf11e0a1b11ae1")


def read_records(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    sidecar: str | PathLike[str] | None = None,
    columns: Sequence[str | Column] | None = None,
    step: float | None = None,
    rate: float | None = None,
    time: str | int | None = None,
    units: Labels = None,
    quantities: Labels = None,
    decimal: str | None = None,
    dates: str | None = None,
    missing: Missing = None,
    drop: Sequence[str] | None = None,
    sheet: str | None = None,
    name: str | None = None,
    limits: Limits | None = None,
) -> list[Record]:
    """All records in a file, one for each sampling that it holds; the arguments are those of `read_record`."""
    source = Source(path, limits=limits)
    layout = make_layout(
        path,
        sidecar,
        columns=columns,
        step=step,
        rate=rate,
        time=time,
        name=name,
        units=units,
        quantities=quantities,
        decimal=decimal,
        dates=dates,
        missing=missing,
        drop=drop,
        sheet=sheet,
    )
    return read_source(source, layout, format)


def read_record(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    sidecar: str | PathLike[str] | None = None,
    columns: Sequence[str | Column] | None = None,
    step: float | None = None,
    rate: float | None = None,
    time: str | int | None = None,
    units: Labels = None,
    quantities: Labels = None,
    decimal: str | None = None,
    dates: str | None = None,
    missing: Missing = None,
    drop: Sequence[str] | None = None,
    sheet: str | None = None,
    name: str | None = None,
    limits: Limits | None = None,
) -> Record:
    """The record in a file of any known format, recognised by its content; SI units inside.

    Arguments
        path: the file.
        format: name of the format, when it should not be recognised (see `formats()`).
        sidecar: TOML file that describes the columns; without it `<path>.toml` is used where it exists.
        columns: names of the data columns, for files that do not name them.
        step, rate: seconds between samples, or samples per second, for files that do not state it; one that
            contradicts the file is refused.
        time: name or number (from 1) of the time column, when it should not be searched for.
        units: unit of all columns, or one for each, or a mapping from names to units. `g` is standard gravity.
        quantities: likewise, from `vibrid.records.QUANTITIES`; without it as the file states, or guessed from units and
            names.
        decimal: decimal mark of a text table, "." or ",", where the file leaves it open.
        dates: order of day, month and year in dates, "dmy", "mdy" or "ymd", where the file leaves it open.
        missing: the number, or numbers, that stand for missing samples (-9999); an empty list for none.
        drop: names of columns that are not read.
        sheet: name of the sheet of a workbook.
        name: what the record is called; without it the name of the file.
        limits: bounds on size and time of reading (`Limits`).

    Arguments override the file, key by key; a unit that contradicts the file is refused.

    A file with several samplings is refused here; `read_records` returns all of them.
    """
    records = read_records(
        path,
        format=format,
        sidecar=sidecar,
        columns=columns,
        step=step,
        rate=rate,
        time=time,
        units=units,
        quantities=quantities,
        decimal=decimal,
        dates=dates,
        missing=missing,
        drop=drop,
        sheet=sheet,
        name=name,
        limits=limits,
    )
    return _only(path, records)


def read_described(
    path,
    known: Mapping[str, Column],
    *,
    format: str | None = None,
    rate: float | None = None,
    time: str | None = None,
    decimal: str | None = None,
    dates: str | None = None,
    missing: Missing = None,
    drop: Sequence[str] | None = None,
    sheet: str | None = None,
) -> Record:
    """`read_record` for a project: descriptions of columns by name, which need not be there, override the file."""
    layout = make_layout(
        path, rate=rate, time=time, decimal=decimal, dates=dates, missing=missing, drop=drop or None, sheet=sheet
    )
    return _only(path, read_source(Source(path), replace(layout, known=dict(known)), format))


def _only(path, records: list[Record]) -> Record:
    if len(records) > 1:
        kinds = "; ".join(f"{len(r.channels)} channels of {len(r)} samples" for r in records[:6])
        raise FileProblem(
            path, f"it holds {len(records)} records with different sampling ({kinds}); read_records returns them all."
        )
    return records[0]


def formats() -> tuple[str, ...]:
    """Names of the formats that can be read, the most specific first."""
    return tuple(name for name, _ in readers())


def read_source(source: Source, layout: Layout, format: str | None = None) -> list[Record]:
    """Choose the reader and run it; every error becomes a message about the file."""
    if source.size == 0:
        raise source.problem("the file is empty.")
    known = readers()
    if format is not None:
        chosen = [entry for entry in known if entry[0].lower() == format.lower()]
        if not chosen:
            raise unknown_name("format", format, [name for name, _ in known])
        return _run(*chosen[0], source, layout)
    for name, reader in known:
        if _recognises(name, reader, source):
            return _run(name, reader, source, layout)
    decimal_comma.refuse(source)
    headings.refuse_alone(source)
    if source.head.startswith(_OLD_OFFICE):
        raise source.problem("it is an old workbook of Excel (.xls) or one with a password; save it as .xlsx or CSV.")
    kind = "binary" if source.encoding is None else "text"
    raise source.problem(
        f"this {kind} file is in none of the formats that can be read ({', '.join(name for name, _ in known)}); write "
        "it as CSV, with one line of headings such as `time [s],roof [mm]` and then the numbers."
    )


def _recognises(name: str, reader: Reader, source: Source) -> bool:
    """Whether a file is of a format; a plugin's reader that fails is skipped with a warning."""
    try:
        return bool(reader.recognises(source))
    except VibridError:
        raise
    except Exception as problem:
        if is_own(name):
            why = f"{type(problem).__name__}: {str(problem)[:200]}"
            raise source.problem(f"it is damaged, or {UNFORESEEN} ({name}; {why}).") from problem
        whose = READERS.origin(name)
        warnings.warn(
            f"{source.path}: the reader of '{name}' ({whose}) could not check whether the file is of its format, and "
            f"was skipped ({type(problem).__name__}: {problem}).",
            stacklevel=2,
        )
        return False


def _run(name: str, reader: Reader, source: Source, layout: Layout) -> list[Record]:
    try:
        with np.errstate(all="ignore"):  # very large numbers overflow; the result is checked, so no warning is needed
            records = reader.read(source, layout)
    except VibridError:
        raise
    except ImportError as problem:
        if not is_own(name):
            raise source.problem(f"the reader of '{name}' ({READERS.origin(name)}) failed ({problem}).") from problem
        raise source.problem(
            f"this installation cannot read it ({problem}); `vibrid doctor` tells what is missing."
        ) from problem
    except Exception as problem:
        why = f"{type(problem).__name__}: {str(problem)[:200]}"
        if is_own(name):
            raise source.problem(f"it is damaged, or {UNFORESEEN} ({name}; {why}).") from problem
        raise source.problem(f"the reader of '{name}' ({READERS.origin(name)}) failed ({why}).") from problem
    if not is_own(name) and not (isinstance(records, list) and records and all(isinstance(r, Record) for r in records)):
        raise source.problem(f"the reader of '{name}' ({READERS.origin(name)}) gave no list of records.")
    files = (source.fingerprint, *filter(None, [layout.sidecar]))
    return [replace(record, files=files) for record in records]


__all__ = [
    "READERS",
    "Column",
    "Layout",
    "Limits",
    "Reader",
    "formats",
    "read_described",
    "read_record",
    "read_records",
    "read_source",
]
