"""Target spectra from files, and response spectra to files, as CSV tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.files import write_text
from vibrid.records.motions.targets import Target, table_target
from vibrid.records.readers import numbers, rows
from vibrid.records.readers.assemble import split_unit
from vibrid.records.readers.scan import squeezed
from vibrid.records.readers.source import Source
from vibrid.records.spectra import ResponseSpectrum
from vibrid.records.units import parse_unit, to_si


def read_target(path) -> Target:
    """A target from a CSV file: period in s, acceleration (unit in the heading, g without one), and perhaps deviation.

    period [s], sa [g], deviation
    0.05, 0.62, 0.58
    """
    source = Source(path)
    lines = list(source.lines())
    first = next((i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), None)
    if first is None:
        raise source.problem("the table is empty.")
    cells = lines[first].split(",")
    headed = any(numbers.number(cell) is None for cell in cells)
    data = rows.table(source, lines[first + headed :], first + headed + 1, rows.Form(","), len(cells))
    if data.shape[1] not in (2, 3) or len(data) < 2 or np.isnan(data).any():
        raise source.problem("a target is a table of period, acceleration and perhaps deviation, two rows at least.")
    period, unit = (split_unit(cell)[1] if headed else None for cell in cells[:2])
    unit = unit or "g"
    try:
        if parse_unit(unit).kind != "acceleration":
            raise source.problem(f"'{unit}' is not a unit of acceleration.", first + 1)
        if parse_unit(period or "s").kind != "time":
            raise source.problem(f"'{period}' is not a unit of time.", first + 1)
        scatter = data[:, 2] if data.shape[1] == 3 else None
        return table_target(to_si(data[:, 0], period or "s"), data[:, 1], unit, scatter, Path(path).stem)
    except InputError as problem:
        raise source.problem(str(problem)) from None


def write_spectra(spectra: Sequence[ResponseSpectrum], path) -> Path:
    """Pseudo-accelerations (m/s²) of spectra of equal periods, one column each; written completely or not at all."""
    names = [_heading(s.name) or f"spectrum {i}" for i, s in enumerate(spectra, 1)]
    table = np.column_stack([spectra[0].periods, *(s.pseudo_acceleration for s in spectra)])
    lines = [",".join(["period [s]", *(f"{name} [m/s^2]" for name in names)])]
    lines += [",".join(map(repr, row)) for row in table.tolist()]
    return write_text(path, "\n".join(lines) + "\n")


def _heading(name: str) -> str:
    """A name as the heading of a column: without commas and control characters."""
    return squeezed("".join(c if c.isprintable() and c != "," else " " for c in name))
