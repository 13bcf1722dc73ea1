"""Descriptions that a file lacks: names, units and sampling of its columns, from the caller or a sidecar TOML.

A sidecar is a small TOML file beside the data file, called like it with `.toml` added (`wn_01.dat.toml`):

    rate = 100.0                       # or: step = 0.01, or: time = "t" (name or number of the time column)
    name = "white noise 1"
    [[columns]]                        # one table per column, in the order of the file
    name = "roof"
    unit = "V"                         # unit of the numbers after the gain
    gain = -9.8                        # optional: numbers are multiplied by it
    quantity = "absolute_acceleration" # optional: else guessed from unit and name
    location = "5F"
    direction = "x"
    skip = false                       # true leaves the column out
    key = "data[:, 3]"                 # MATLAB, NumPy, HDF5, JSON only: which variable (and column) it is

How a table is written stands above the columns: decimal = ",", dates = "dmy", missing = -9999, drop = ["status"],
sheet = "test 3".
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from vibrid.core.errors import FileProblem, InputError, nearest
from vibrid.core.inputs import InputFile
from vibrid.records.readers.stamps import ORDERS
from vibrid.records.record import QUANTITIES
from vibrid.records.units import parse_unit

_SIDECAR_BYTES = 1_000_000
_WRITTEN = ("decimal", "dates", "missing", "drop", "sheet")

Labels: TypeAlias = str | Mapping[str, str] | Sequence[str] | None
"""Units or quantities: one for all columns, by name, or one for each."""

Missing: TypeAlias = float | Sequence[float] | None
"""Numbers that stand for missing samples; an empty list for none."""


@dataclass(frozen=True)
class Column:
    """What is known about one column of a file."""

    name: str = ""
    unit: str | None = None
    quantity: str | None = None
    location: str = ""
    direction: str | None = None  # None: as the name says
    gain: float = 1.0
    skip: bool = False
    key: str | None = None


@dataclass(frozen=True)
class Layout:
    """What is known about a file besides its content; None: as the file states."""

    columns: tuple[Column, ...] | None = None
    step: float | None = None
    time: str | int | None = None
    name: str | None = None
    units: Labels = None
    quantities: Labels = None
    decimal: str | None = None  # decimal mark of a text table
    dates: str | None = None  # order of day, month and year in dates: dmy, mdy, ymd
    missing: tuple[float, ...] | None = None  # numbers that stand for missing samples; () for none
    drop: tuple[str, ...] = ()  # names of columns that are not read
    sheet: str | None = None  # of a workbook
    known: Mapping[str, Column] = field(default_factory=dict)  # by name, of columns that need not be there
    sidecar: InputFile | None = None  # where it was read from

    def column(self, index: int, said: Column, count: int) -> Column:
        """The description of data column `index` (time not counted) out of `count`: the file's, overridden key by key.

        said: the column as the file describes it; a unit that was given and differs from the file's is refused.
        """
        given = Column() if self.columns is None else self.columns[index]
        name = given.name or said.name
        unit = _pick(self.units, index, name, count, "units")
        quantity = _pick(self.quantities, index, name, count, "quantities")
        for other in (self.known.get(name, Column()), Column(unit=unit, quantity=quantity)):
            given = override(given, other, "the sidecar", "the call or the project")
        return override(said, replace(given, name=name), "the file", "its description")

    def within(self, names: Sequence[str]) -> Layout:
        """The layout for one of several records: units and quantities of its own channels by name, and no name."""
        maps = {k: v for k in ("units", "quantities") if isinstance(v := getattr(self, k), Mapping)}
        chosen = {k: {name: v[name] for name in v if name in names} for k, v in maps.items()}
        return replace(self, name=None, drop=tuple(n for n in self.drop if n in names), **chosen)

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse units and quantities for columns that are not there: a misspelt name would leave a column as it is."""
        renamed = [c.name for c in self.columns or () if c.name]
        for what, given in (("unit", self.units), ("quantity", self.quantities)):
            for name in given if isinstance(given, Mapping) else ():
                if name not in names and name not in renamed:
                    raise InputError(f"A {what} is given for '{name}', which is no column; {nearest(name, names)}")
        for name in self.drop:
            if name not in names:
                raise InputError(f"The column '{name}' is to be left out and is not there; {nearest(name, names)}")


def override(said: Column, given: Column, who: str, other: str) -> Column:
    """A column with the given description in place of the one stated before; units that differ are refused.

    A gain may turn one unit into another, volts into newtons.
    """
    if said.unit and given.unit is not None and given.gain == 1.0 and _differ(said.unit, given.unit):
        raise InputError(
            f"column '{given.name or said.name}' is in {said.unit} by {who} and in {given.unit or 'no unit'} by "
            f"{other}; correct or remove the wrong one."
        )
    keys = {f.name: getattr(given, f.name) for f in fields(Column) if getattr(given, f.name) != f.default}
    return replace(said, **keys)


def _differ(stated: str, given: str) -> bool:
    """Whether two units differ; one that a file states and that is not known does not contradict the one given."""
    theirs = parse_unit(given)
    try:
        ours = parse_unit(stated)
    except InputError:
        return False
    same = (ours.symbol, ours.offset) == (theirs.symbol, theirs.offset)
    return not same or abs(ours.factor - theirs.factor) > 1e-9 * theirs.factor


def _pick(given, index: int, name: str, count: int, what: str):
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, Mapping):
        return given.get(name)
    if len(given) != count:
        raise InputError(f"There are {count} columns of data and {len(given)} {what}; give one for each.")
    return given[index]


def make_layout(
    path: str | PathLike[str],
    sidecar: str | PathLike[str] | None = None,
    *,
    columns: Sequence[str | Column] | None = None,
    step: float | None = None,
    rate: float | None = None,
    time: str | int | None = None,
    name: str | None = None,
    units: Labels = None,
    quantities: Labels = None,
    decimal: str | None = None,
    dates: str | None = None,
    missing: Missing = None,
    drop: Sequence[str] | None = None,
    sheet: str | None = None,
) -> Layout:
    """The layout of a file from its sidecar (found beside it, or named) and from the caller, who overrides it."""
    if sidecar is None:
        candidate = Path(f"{path}.toml")
        try:
            sidecar = candidate if candidate.is_file() else None
        except (OSError, ValueError):
            sidecar = None
    layout = read_sidecar(sidecar) if sidecar is not None else Layout()
    if step is not None and rate is not None:
        raise InputError("Give the sampling step or the rate, not both.")
    if rate is not None:
        step = 1.0 / _positive(rate, "rate", InputError)
    elif step is not None:
        step = _positive(step, "step", InputError)
    if columns is not None:
        columns = tuple(c if isinstance(c, Column) else Column(name=str(c)) for c in columns)
    changes = {"columns": columns, "step": step, "time": time, "name": name, "units": units, "quantities": quantities}
    changes |= written(decimal, dates, missing, drop, sheet, InputError)
    return replace(layout, **{k: v for k, v in changes.items() if v is not None})


def written(decimal, dates, missing, drop, sheet, error) -> dict[str, Any]:
    """How a table is written, checked; None where it is not said."""
    if decimal not in (None, ".", ","):
        raise error(f"The decimal mark (`decimal`) is '.' or ',', not {decimal!r}.")
    if dates not in (None, *ORDERS):
        raise error(f"The order of dates (`dates`) is {', '.join(ORDERS[:-1])} or {ORDERS[-1]}, not {dates!r}.")
    if missing is not None:
        missing = tuple(missing) if isinstance(missing, list | tuple) else (missing,)
        for number in missing:
            if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
                raise error(f"`missing` is a number that stands for missing samples, or a list, not {number!r}.")
        missing = tuple(float(number) for number in missing)
    if drop is not None:
        drop = tuple(drop) if isinstance(drop, list | tuple) else (drop,)
        if not all(isinstance(name, str) for name in drop):
            raise error("`drop` is a list of the names of columns.")
    if sheet is not None and not isinstance(sheet, str):
        raise error("`sheet` is the name of a sheet.")
    return {"decimal": decimal, "dates": dates, "missing": missing, "drop": drop, "sheet": sheet}


def _positive(value, what: str, error) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise error(f"The {what} must be a positive number, not {value!r}.")
    return float(value)


def read_sidecar(path: str | PathLike[str]) -> Layout:
    """The layout written in a sidecar TOML; unknown keys, units and quantities are refused with the nearest name."""
    try:
        if Path(path).stat().st_size > _SIDECAR_BYTES:
            raise FileProblem(path, "a sidecar file has at most 1 MB.")
        file = InputFile.at(path, "sidecar")
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as problem:
        raise FileProblem(path, f"the sidecar cannot be read ({problem}).") from None

    def refuse(message):
        return FileProblem(path, message)

    allowed = ("columns", "name", "rate", "step", "time", *_WRITTEN)
    for key in content:
        if key not in allowed:
            raise refuse(f"there is no key '{key}' in a sidecar; {nearest(key, allowed)}")
    if "rate" in content and "step" in content:
        raise refuse("give the step or the rate, not both.")
    step = content.get("step")
    if "rate" in content:
        step = 1.0 / _positive(content["rate"], "rate", refuse)
    elif step is not None:
        step = _positive(step, "step", refuse)
    time = content.get("time")
    if time is not None and (isinstance(time, bool) or not isinstance(time, (str, int))):
        raise refuse("`time` is the name or the number of the time column.")
    if not isinstance(content.get("name", ""), str):
        raise refuse("`name` is a text.")
    columns = content.get("columns")
    if columns is not None:
        if not isinstance(columns, list) or not all(isinstance(c, dict) for c in columns):
            raise refuse("`columns` is written as [[columns]] tables.")
        columns = tuple(_column(c, i, refuse) for i, c in enumerate(columns, 1))
    how = written(**{key: content.get(key) for key in _WRITTEN}, error=refuse)
    said = {key: value for key, value in how.items() if value is not None}
    return Layout(columns=columns, step=step, time=time, name=content.get("name"), sidecar=file, **said)


def _column(content: dict, number: int, refuse) -> Column:
    kinds = {f.name: f.type for f in fields(Column)}
    for key, value in content.items():
        if key not in kinds:
            raise refuse(f"column {number}: there is no key '{key}'; {nearest(key, kinds)}")
        if key == "gain":
            good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        else:
            good = isinstance(value, bool if key == "skip" else str)
        if not good:
            raise refuse(f"column {number}: '{key}' cannot be {value!r}.")
    if "unit" in content:
        try:
            parse_unit(content["unit"])
        except InputError as problem:
            raise refuse(f"column {number}: {problem}") from None
    if "quantity" in content and content["quantity"] not in QUANTITIES:
        raise refuse(
            f"column {number}: there is no quantity called '{content['quantity']}'; "
            f"{nearest(content['quantity'], QUANTITIES)}"
        )
    return Column(**content)
