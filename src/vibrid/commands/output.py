"""Output of commands: tables, JSON, and records in the format of the file's ending."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from vibrid.commands.delivery import Delivery
from vibrid.commands.plain_words import as_shown, shows_everything
from vibrid.core.errors import InputError
from vibrid.core.files import write_text
from vibrid.core.writable import check_writable


def check_ending(path: Path | None, endings: Sequence[str]) -> None:
    """Refuse a file name with an unknown ending, or a file that cannot be written, before any work is done."""
    if path is not None and path.suffix.lower() not in endings:
        raise InputError(f"'{path}' should end in {', '.join(endings[:-1])} or {endings[-1]}.")
    check_writable(path)


def write_record(record, path: Path | str, units: Mapping[str, str] | None = None) -> Path:
    """Write a record as CSV (in the given units) or HDF5 (SI), by the ending of the file."""
    if Path(path).suffix.lower() == ".csv":
        return record.write_csv(path, units=units)
    return record.write_hdf5(path)


def inputs(*files) -> list[dict]:
    """The files that were read (`InputFile`), each once, as JSON holds them: name, size, SHA-256, role."""
    return [vars(file) for file in dict.fromkeys(files)]


def print_json(content) -> None:
    """JSON on standard output; numbers that are not finite become null, and characters that standard output cannot hold
    are escaped."""
    typer.echo(as_json(content, escaped=not shows_everything(sys.stdout)))


def as_json(content, escaped: bool = False) -> str:
    """Content as JSON text that any program reads; `escaped`: in ASCII alone."""
    return json.dumps(finite(content), indent=1, ensure_ascii=escaped, allow_nan=False)


def finite(content):
    """The same content as JSON holds it: None for numbers that are not finite, lists for arrays, text for paths."""
    if isinstance(content, Mapping):
        return {str(k): finite(v) for k, v in content.items()}
    if isinstance(content, list | tuple):
        return [finite(v) for v in content]
    if hasattr(content, "__array__"):
        import numpy as np

        return finite(np.asarray(content).tolist())
    if isinstance(content, Path):
        return str(content)
    return None if isinstance(content, float) and not math.isfinite(content) else content


def check_table_file(path: Path | None) -> None:
    """Refuse a file for a table that does not end in .csv or cannot be written."""
    check_ending(path, (".csv", ".csv"))


def write_table(rows: Sequence[Mapping], path: Path | str) -> Path:
    """Rows of a result as CSV (UTF-8, commas): a column for each key that holds no table of its own; a list of numbers
    gives a column for each, `interval_95_1` and `interval_95_2`; numbers that are not finite are empty."""
    import csv
    import io

    flat = [_flat({key: finite(value) for key, value in row.items()}) for row in rows]
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(dict.fromkeys(key for row in flat for key in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return write_text(path, stream.getvalue())


def deliver_table(deliver: Delivery, path: Path | None, rows: Sequence[Mapping]) -> None:
    """Write the rows of a result as CSV, where a file is wanted."""
    if path is not None:
        deliver.file(path, lambda: write_table(rows, path))


def _flat(row: Mapping) -> dict:
    found = {}
    for key, value in row.items():
        if isinstance(value, list) and len(value) <= 4 and not any(isinstance(v, list | dict) for v in value):
            found |= {f"{key}_{number}": v for number, v in enumerate(value, 1)}
        elif isinstance(value, dict):
            found |= {f"{key}_{name}": v for name, v in _flat(value).items()}
        elif not isinstance(value, list):
            found[key] = value
    return found


def peaks(record, units: Mapping[str, str]) -> list[dict]:
    """One row per channel: its quantity, peak, time of the peak, and root mean square."""
    import numpy as np

    from vibrid.records.units import from_si

    rows = []
    for channel in record.channels:
        unit = units.get(channel.name, channel.unit)
        values = from_si(record[channel.name], unit, channel.unit)
        top = int(np.nanargmax(np.abs(values)))
        rows.append(
            {
                "name": channel.name,
                "quantity": channel.quantity,
                "place": channel.location,
                "unit": unit,
                "peak": float(values[top]),
                "time_of_peak": float(record.time[top]),
                "rms": float(np.sqrt(np.nanmean(values**2))),
            }
        )
    return rows


def print_peaks(title: str, rows: list[dict]) -> None:
    """The rows of `peaks` as a table."""
    print_table(
        title,
        ["channel", "quantity", "place", "peak", "at", "rms", "unit"],
        [
            [
                r["name"],
                r["quantity"].replace("_", " "),
                r["place"],
                f"{r['peak']:.4g}",
                f"{r['time_of_peak']:.2f} s",
                f"{r['rms']:.4g}",
                r["unit"] or "-",
            ]
            for r in rows
        ],
        right=("peak", "at", "rms"),
    )


def print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> None:
    """A table on standard output. In a terminal that is too narrow for it a row is a block of lines; where there is no
    terminal, the width is not limited."""
    from rich import box
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    title, *headings = (as_shown(text, sys.stdout) for text in (title, *headings))
    rows = [[as_shown(text, sys.stdout) for text in row] for row in rows]
    right = [as_shown(text, sys.stdout) for text in right]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(Text(heading), justify="right" if heading in right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    wide = Console(width=10_000)
    needed = Measurement.get(wide, wide.options, table).maximum
    console = Console()
    if console.is_terminal and needed > console.width:
        typer.echo(_blocks(title, headings, rows))
        return
    console = console if console.is_terminal else Console(width=max(console.width, needed))
    with console.capture() as shown:
        console.print(table)
    typer.echo(typer.style(title, bold=True) + "\n" + shown.get().lstrip("\n"), nl=False)


def _blocks(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose rows are blocks of lines: the first cell, and the others below it with their headings."""
    width = max(map(len, headings))
    lines = [title] if title else []
    for first, *others in rows:
        lines.append(first)
        lines += [f"  {heading:<{width}}  {text}" for heading, text in zip(headings[1:], others, strict=True) if text]
    return "\n".join(lines)
