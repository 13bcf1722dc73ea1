"""Structures, records and results as tables of pandas and datasets of xarray, in SI units."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from vibrid.core.errors import InputError, require
from vibrid.hybrid.result import HybridResult
from vibrid.identification.compare import Comparison
from vibrid.identification.prediction import Prediction
from vibrid.identification.result import Identification, Validation
from vibrid.modal.measured import MeasuredModes
from vibrid.records.channel import Channel
from vibrid.records.record import Record
from vibrid.report.inputs import structure_rows
from vibrid.report.modal_plots import degrees_of_freedom, names_of_rows
from vibrid.simulation.response import Response
from vibrid.structures.base import Structure
from vibrid.structures.modes import Modes, StructureModes

if TYPE_CHECKING:
    import pandas
    import xarray


def to_pandas(thing: Any) -> pandas.DataFrame:
    """A table of anything that `InNotebooks` is the base of."""
    pandas = require("pandas", "notebook", "A table of pandas")
    for kind, make in _FRAMES.items():
        if isinstance(thing, kind):
            return make(pandas, thing)
    raise InputError(f"A {type(thing).__name__} has no table of pandas.")


def to_xarray(thing: Any) -> xarray.Dataset:
    """A dataset of anything that `InNotebooks` is the base of."""
    xarray = require("xarray", "notebook", "A dataset of xarray")
    for kind, make in _DATASETS.items():
        if isinstance(thing, kind):
            return make(xarray, thing)
    raise InputError(f"A {type(thing).__name__} has no dataset of xarray.")


# -- records -------------------------------------------------------------------------------------------------------


def _record_frame(pandas, record: Record):
    frame = pandas.DataFrame(record.data, index=pandas.Index(record.time, name="time"), columns=list(record.names))
    frame.attrs = _attributes(record)
    return frame


def _record_dataset(xarray, record: Record):
    variables = {
        c.name: ("time", record[c.name], {"units": c.unit, "quantity": c.quantity, "location": c.location,
                                          "direction": c.direction})
        for c in record.channels
    }  # fmt: skip
    made = xarray.Dataset(variables, coords={"time": ("time", record.time, {"units": "s"})})
    made.attrs = {"name": record.name, "history": "\n".join(record.history)}
    if record.clock is not None:
        made.attrs["clock"] = json.dumps(record.clock.as_dict())  # a text, so that netCDF files can hold it
    return made


def _attributes(record: Record) -> dict[str, Any]:
    channels = {
        c.name: {"unit": c.unit, "quantity": c.quantity, "location": c.location, "direction": c.direction}
        for c in record.channels
    }
    about = {"name": record.name, "channels": channels, "history": list(record.history)}
    return about if record.clock is None else about | {"clock": record.clock.as_dict()}


# -- structures and results ----------------------------------------------------------------------------------------


def _structure_frame(pandas, structure: Structure):
    rows = [[path, value, u, meaning] for path, value, u, meaning in structure_rows(structure, grouped=False)]
    return pandas.DataFrame(rows, columns=["parameter", "value", "unit", "meaning"]).set_index("parameter")


def _structure_dataset(xarray, structure: Structure):
    model = structure.model()
    matrices = dict(zip(("mass", "damping", "stiffness"), map(np.asarray, model.initial_matrices()), strict=True))
    names = degrees_of_freedom(structure, matrices["mass"].shape[-1])
    units = {"mass": "kg", "damping": "N s/m", "stiffness": "N/m"}
    variables = {
        k: (("row", "column"), v if v.ndim == 2 else np.diag(v), {"units": units[k]}) for k, v in matrices.items()
    }
    return xarray.Dataset(variables, coords={"row": names, "column": names})


def _response_record(response: Response) -> Record:
    names = degrees_of_freedom(response.structure, response.displacement.shape[1])
    parts = {k: np.asarray(getattr(response, k)) for k in ("displacement", "velocity", "acceleration")}
    channels = [Channel(f"{kind}_{n}", kind, location=n) for kind in parts for n in names]
    return response.excitation.replace(data=np.concatenate(list(parts.values()), axis=1), channels=tuple(channels))


def _response_dataset(xarray, response: Response):
    names = degrees_of_freedom(response.structure, response.displacement.shape[1])
    units = {"displacement": "m", "velocity": "m/s", "acceleration": "m/s^2"}
    variables = {
        k: (("time", "degree_of_freedom"), np.asarray(getattr(response, k)), {"units": u}) for k, u in units.items()
    }
    return xarray.Dataset(variables, coords={"time": response.time, "degree_of_freedom": names})


def _fit_frame(pandas, fit: Identification):
    rows = [{k: v for k, v in row.items() if k not in ("display", "interval_95", "bounds")}
            | {"interval_low": row["interval_95"][0], "interval_high": row["interval_95"][1]}
            for row in fit.table()]  # fmt: skip
    return pandas.DataFrame(rows).set_index("name")


def _fit_dataset(xarray, fit: Identification):
    """Estimates and covariance; measured and predicted readings of the first record."""
    names, data = list(fit.names), fit.problem.data[0]
    sensors = [s.label for s in fit.problem.sensors]
    present = np.asarray(data.present, bool) | np.asarray(fit.problem.held_out[0], bool)
    measured = np.where(present, np.asarray(data.readings), np.nan)
    variables = {
        "estimate": ("parameter", fit.estimate),
        "standard_deviation": ("parameter", fit.deviation),
        "interval_95": (("parameter", "end"), fit.interval()),
        "covariance": (("parameter", "other_parameter"), fit.covariance),
        "cramer_rao_bound": ("parameter", np.asarray(fit.limits.bound)),
        "measured": (("time", "sensor"), measured),
        "predicted": (("time", "sensor"), np.asarray(fit.predictions[0])),
    }
    coords = {"parameter": names, "other_parameter": names, "unit": ("parameter", list(fit.units)), "sensor": sensors,
              "time": data.step * np.arange(data.samples), "end": ["low", "high"]}  # fmt: skip
    return xarray.Dataset(variables, coords=coords, attrs={"method": fit.method, "verdict": fit.verdict})


def _comparison_frame(pandas, comparison: Comparison):
    frames = {name: _fit_frame(pandas, fit) for name, fit in comparison.results.items()}
    return pandas.concat(frames, names=["method", "parameter"]) if frames else pandas.DataFrame()


def _comparison_dataset(xarray, comparison: Comparison):
    coords = {"method": list(comparison.results), "parameter": list(comparison.names)}
    dims = ("method", "parameter")
    variables = {"estimate": (dims, comparison.estimates), "standard_deviation": (dims, comparison.deviations)}
    return xarray.Dataset(variables, coords=coords)


def _modes_frame(pandas, modes: Modes):
    columns = {"frequency": modes.frequencies, "period": modes.periods, "damping_ratio": modes.ratios}
    if isinstance(modes, StructureModes):
        columns |= {"participation": modes.participation, "effective_mass": modes.effective_mass}
    if isinstance(modes, MeasuredModes):
        columns |= {"frequency_deviation": modes.frequency_deviations, "damping_deviation": modes.ratio_deviations}
    return pandas.DataFrame(columns, index=pandas.RangeIndex(1, len(modes) + 1, name="mode"))


def _modes_dataset(xarray, modes: Modes):
    rows = "degree_of_freedom" if isinstance(modes, StructureModes) else "place"
    variables = {
        "frequency": ("mode", modes.frequencies, {"units": "Hz"}),
        "damping_ratio": ("mode", modes.ratios),
        "shape": ((rows, "mode"), modes.shapes),
    }
    if isinstance(modes, StructureModes):
        variables["effective_mass"] = ("mode", modes.effective_mass, {"units": "kg"})
    if isinstance(modes, MeasuredModes):
        variables["frequency_deviation"] = ("mode", modes.frequency_deviations, {"units": "Hz"})
        variables["damping_deviation"] = ("mode", modes.ratio_deviations)
        variables["shape_deviation"] = ((rows, "mode"), modes.shape_deviations)
    return xarray.Dataset(variables, coords={"mode": np.arange(1, len(modes) + 1), rows: names_of_rows(modes)})


def _hybrid_dataset(xarray, result: HybridResult):
    devices = _record_dataset(xarray, result.devices).rename(time="device_time")
    return xarray.merge([devices, _response_dataset(xarray, result.response)])


def _readings(measured: np.ndarray, predicted: np.ndarray, names, time):
    coords = {"time": np.asarray(time)[: len(predicted)], "sensor": list(names)}
    return {"measured": (("time", "sensor"), measured), "predicted": (("time", "sensor"), predicted)}, coords


def _validation_dataset(xarray, check: Validation):
    variables, coords = _readings(check.measured, check.predicted, check.channels, check.record.time)
    return xarray.Dataset(variables, coords=coords)


def _prediction_dataset(xarray, found: Prediction):
    variables, coords = _readings(found.measured, found.values, found.names, found.time)
    variables["standard_deviation"] = (("time", "sensor"), np.asarray(found.deviation))
    return xarray.Dataset(variables, coords=coords | {"unit": ("sensor", list(found.units))})


def _validation_frame(pandas, check: Validation):
    columns = {f"measured.{c}": check.measured[:, i] for i, c in enumerate(check.channels)}
    columns |= {f"predicted.{c}": check.predicted[:, i] for i, c in enumerate(check.channels)}
    return pandas.DataFrame(columns, index=pandas.Index(np.asarray(check.record.time), name="time"))


def _prediction_frame(pandas, found: Prediction):
    parts = {"predicted": found.values, "standard_deviation": found.deviation, "measured": found.measured}
    columns = {f"{part}.{n}": values[:, i] for part, values in parts.items() for i, n in enumerate(found.names)}
    return pandas.DataFrame(columns, index=pandas.Index(found.time, name="time"))


_FRAMES: dict[type, Callable[[Any, Any], Any]] = {
    Structure: _structure_frame,
    Record: _record_frame,
    Response: lambda pandas, response: _record_frame(pandas, _response_record(response)),
    Identification: _fit_frame,
    Comparison: _comparison_frame,
    Modes: _modes_frame,
    HybridResult: lambda pandas, result: _record_frame(pandas, result.devices),
    Validation: _validation_frame,
    Prediction: _prediction_frame,
}
_DATASETS: dict[type, Callable[[Any, Any], Any]] = {
    Structure: _structure_dataset,
    Record: _record_dataset,
    Response: _response_dataset,
    Identification: _fit_dataset,
    Comparison: _comparison_dataset,
    Modes: _modes_dataset,
    HybridResult: _hybrid_dataset,
    Validation: _validation_dataset,
    Prediction: _prediction_dataset,
}
