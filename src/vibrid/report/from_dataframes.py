"""The way back from tables of pandas and datasets of xarray: records, parameters of a structure, matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from vibrid.core import paths
from vibrid.core.errors import InputError, require
from vibrid.identification.compare import Comparison
from vibrid.identification.prediction import Prediction
from vibrid.identification.result import Identification, Validation
from vibrid.records.channel import Channel
from vibrid.records.clock import UtcClock, clock_of_text
from vibrid.records.record import Record
from vibrid.records.units import parse_unit, to_si, unit_for
from vibrid.report.inputs import structure_rows
from vibrid.structures.base import Structure
from vibrid.structures.matrices import Matrices
from vibrid.structures.modes import Modes

if TYPE_CHECKING:
    import pandas
    import xarray

_UNEVEN = 1e-6
"""Share of the step by which times of an even sampling may differ."""

_INSTEAD: dict[type, str] = {
    Identification: "it rests on its data and its model; `vb.load_identification` reads a saved one",
    Comparison: "it consists of fits; `vb.compare` makes one",
    Prediction: "it rests on a fit; `fit.predict_readings` makes one",
    Validation: "it rests on a fit; `fit.validate` makes one",
    Modes: "`vb.modes` computes those of a structure, `vb.modal.measured_modes` takes a table of measured ones",
    Structure: "matrices make a `vb.Matrices`, with `vb.Matrices.from_xarray`; a table of parameters changes a "
    "structure, with `structure.from_pandas`",
}
_SIMULATED = "it has inner states that no table holds; the measured or computed motion is a record, `vb.Record.from_{}`"


def not_from_pandas(cls: type, frame: Any) -> NoReturn:
    """The answer of what is not made from a table: one sentence, and what to do instead."""
    _refuse(cls, "table of pandas", "pandas")


def not_from_xarray(cls: type, dataset: Any) -> NoReturn:
    """The answer of what is not made from a dataset: one sentence, and what to do instead."""
    _refuse(cls, "dataset of xarray", "xarray")


def _refuse(cls: type, what: str, library: str) -> NoReturn:
    why = next((text for kind, text in _INSTEAD.items() if issubclass(cls, kind)), _SIMULATED.format(library))
    raise InputError(f"{cls.__name__} is not made from a {what}: {why}.")


# -- structures ----------------------------------------------------------------------------------------------------


def with_parameters(structure: Structure, frame: pandas.DataFrame) -> Structure:
    """The structure with the parameters of a table; the others stay."""
    require("pandas", "notebook", "A table of pandas")
    column = next((c for c in ("value", "estimate") if c in frame.columns), None)
    if column is None:
        raise InputError(
            "The table of a structure needs a column 'value' (or 'estimate'), and the names of the parameters as its "
            f"index; its columns are {', '.join(map(str, frame.columns)) or 'none'}."
        )
    units = frame["unit"] if "unit" in frame.columns else [""] * len(frame)
    if not frame.index.is_unique:
        raise InputError(f"The table has two values of '{frame.index[frame.index.duplicated()][0]}'.")
    shown = {path: (value, unit) for path, value, unit, _ in structure_rows(structure, grouped=False)}
    changes: dict[str, float] = {}
    for path, value, unit in zip(map(str, frame.index), frame[column], units, strict=True):
        if (value, unit) != shown.get(path):  # an array is shown as text: it stays
            si = paths.info(structure, path).unit
            number, given = float(_numbers(value, path)), unit if isinstance(unit, str) else ""
            changes[path] = number if given in ("", si) else float(unit_for(given, si).to_si(number))
    return structure.replace(changes)


def matrices_from_xarray(cls: type[Matrices], dataset: xarray.Dataset) -> Matrices:
    """M, C and K from the variables `mass`, `damping` (may be missing) and `stiffness` of a dataset."""
    require("xarray", "notebook", "A dataset of xarray")
    for name in ("mass", "stiffness"):
        if name not in dataset.data_vars:
            raise InputError(f"The dataset has no variable '{name}'; 'mass' and 'stiffness' are needed.")
    si = {"mass": "kg", "damping": "N s/m", "stiffness": "N/m"}
    given = {k: dataset[k] for k in si if k in dataset.data_vars}
    values = {
        k: np.asarray(unit_for(str(v.attrs.get("units", "")) or si[k], si[k]).to_si(_numbers(v.values, k)))
        for k, v in given.items()
    }
    side = dataset["stiffness"].dims[0]
    names = tuple(map(str, dataset[side].values)) if side in dataset.coords else ()
    return cls(values["mass"], values["stiffness"], values.get("damping"), names=names)


# -- records -------------------------------------------------------------------------------------------------------


def record_from_pandas(
    cls: type[Record],
    frame: pandas.DataFrame,
    units: Mapping[str, str] | None = None,
    quantities: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Record:
    """A record from a table whose index is the time in seconds, or dates and times, and whose columns are channels.

    `units` and `quantities` are those of columns whose description the table's `attrs` do not hold; a column without a
    unit is taken as SI.
    """
    require("pandas", "notebook", "A table of pandas")
    known = frame.attrs.get("channels", {}) if isinstance(frame.attrs, dict) else {}
    data = np.column_stack([_numbers(frame[c], c) for c in frame.columns]) if len(frame.columns) else np.zeros((0, 0))
    about = {str(c): dict(known.get(c, {})) for c in frame.columns}
    history = tuple(frame.attrs.get("history", ())) or ("from a table of pandas",)
    index: Any = frame.index
    clock = UtcClock.from_dict(frame.attrs.get("clock"))
    if getattr(index, "tz", None) is not None:  # dates with a zone
        index = index.tz_convert("UTC").tz_localize(None)
        clock = UtcClock(np.asarray(index)[0], "dates in the table") if len(index) else None
    title = name or frame.attrs.get("name", "")
    return _made(cls, _seconds(index), data, about, units, quantities, title, history, clock)


def record_from_xarray(
    cls: type[Record],
    dataset: xarray.Dataset,
    units: Mapping[str, str] | None = None,
    quantities: Mapping[str, str] | None = None,
    name: str | None = None,
) -> Record:
    """A record from a dataset whose variables run over `time` alone; their attributes `units` and `quantity` count."""
    require("xarray", "notebook", "A dataset of xarray")
    if "time" not in dataset.coords:
        raise InputError("The dataset has no coordinate 'time'; name it so, in seconds.")
    chosen = [str(v) for v in dataset.data_vars if dataset[v].dims == ("time",)]
    if not chosen:
        raise InputError("No variable of the dataset runs over 'time' alone.")
    data = np.column_stack([_numbers(dataset[v].values, v) for v in chosen])
    about = {v: {"unit": dataset[v].attrs.get("units", ""), **{k: dataset[v].attrs.get(k, "") for k in
                 ("quantity", "location", "direction")}} for v in chosen}  # fmt: skip
    history = tuple(filter(None, str(dataset.attrs.get("history", "")).split("\n"))) or ("from a dataset of xarray",)
    title = name or str(dataset.attrs.get("name", ""))
    clock = clock_of_text(dataset.attrs.get("clock"))
    return _made(cls, _seconds(dataset["time"].values), data, about, units, quantities, title, history, clock)


def _made(cls, time, data, about, units, quantities, name, history, clock) -> Record:
    for kind, given in (("units", units), ("quantities", quantities)):
        for column in given or {}:
            if column not in about:
                raise InputError(f"`{kind}` names the column '{column}'; the columns are {', '.join(about)}.")
    channels = []
    for i, (column, described) in enumerate(about.items()):
        unit = (units or {}).get(column, described.get("unit", ""))
        data[:, i] = to_si(data[:, i], unit) if unit else data[:, i]
        quantity = (quantities or {}).get(column) or described.get("quantity") or "other"
        symbol = parse_unit(unit).symbol if unit else ""
        channels.append(
            Channel(column, quantity, symbol, described.get("location", ""), described.get("direction", ""))
        )
    steps = np.diff(time)
    even = len(steps) > 0 and np.allclose(steps, steps[0], rtol=_UNEVEN, atol=0.0)
    sampling = {"step": float((time[-1] - time[0]) / len(steps)), "start": float(time[0])} if even else {"times": time}
    return cls(data, tuple(channels), name=name, history=history, clock=clock, **sampling)


def _numbers(column, name) -> np.ndarray:
    try:
        return np.asarray(column, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"'{name}' does not hold numbers.") from None


def _seconds(index) -> np.ndarray:
    values = np.asarray(index)
    if values.dtype.kind == "M":
        return (values - values[0]) / np.timedelta64(1, "s")
    if values.dtype.kind == "m":
        return values / np.timedelta64(1, "s")
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise InputError("The time of a record is in seconds, or dates and times.") from None
