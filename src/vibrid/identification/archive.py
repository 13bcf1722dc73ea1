"""Save results to one HDF5 file and load them. Numbers and plain text only: loading executes nothing."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from vibrid.core.attached import attach
from vibrid.core.errors import FileProblem, VibridError
from vibrid.core.findings import Finding
from vibrid.core.inputs import InputFile
from vibrid.core.registry import PACKAGE
from vibrid.identification.archive_file import Columns, read_stored, write_stored
from vibrid.identification.archive_formats import Arrays
from vibrid.identification.archive_layout import entry_of
from vibrid.identification.archive_modes import arrays_of_modes, result_of_modes, text_of_modes
from vibrid.identification.archive_shapes import check_shapes
from vibrid.identification.diagnostics import ChannelFit
from vibrid.identification.display import checked_units
from vibrid.identification.experiment import Experiment, Initial, Load
from vibrid.identification.identifiability import Identifiability
from vibrid.identification.loads.estimate import LoadEstimate, Weights
from vibrid.identification.method import METHODS
from vibrid.identification.modal_result import ModalIdentification
from vibrid.identification.other_answers import OtherAnswer
from vibrid.identification.problem import Problem
from vibrid.identification.problem_data import Data
from vibrid.identification.result import Identification
from vibrid.identification.unknowns import UnknownSet
from vibrid.records.channel import QUANTITIES
from vibrid.records.readers.source import Limits
from vibrid.simulation.base import INTEGRATORS, Integrator
from vibrid.simulation.excitation import drive
from vibrid.structures.describe import describe, rebuild, rebuilt, registered_name

_UNKNOWN_ARRAYS = {
    "low": "low",
    "high": "high",
    "start": "first_guess",
    "scale": "scale",
    "prior_mean": "prior_mean",
    "prior_deviation": "prior_deviation",
}
_LIMIT_ARRAYS = ("information", "bound", "relative_bound", "correlation")
_PLAIN = ("method", "settings", "convergence", "warnings", "seed", "seconds", "cut_short", "versions", "provenance")


def save(fit: Identification, path: Path | str) -> None:
    """Write a result; the file appears only when it is complete."""
    arrays = _arrays(fit)
    write_stored(path, _text(fit), arrays, _columns(fit, arrays))


def _text(fit: Identification) -> dict[str, Any]:
    p = fit.problem
    text = {
        "structure": describe(p.experiment.structure),
        "sensors": describe(p.experiment.sensors),
        "integrator": {
            **registered_name("name", INTEGRATORS, type(p.integrator)),
            "settings": {f.name: describe(getattr(p.integrator, f.name)) for f in dataclasses.fields(p.integrator)},
        },
        "substeps": p.substeps,
        "hold": p.hold,
        "delays": p.delays,
        "needs": sorted(p.needs),
        "inputs": [(load.quantity, load.place) for load in p.experiment.loads],
        "records": [{"step": d.step, "loads": d.loads, "name": d.name} for d in p.data],
        "unknowns": {k: getattr(p.unknowns, k) for k in ("names", "units", "places", "kinds", "positive")},
        "fits": [vars(f) for f in fit.fits],
        "inseparable": fit.limits.inseparable,
        "unknown_loads": p.unknown_loads,
        "load_deviations": p.load_deviations,
        "loads": [{"names": load.names, "units": load.units, "motion": load.weights.motion} for load in fit.loads],
        **{key: getattr(fit, key) for key in _PLAIN},
        "files": [vars(file) for file in fit.files],
        "checks": [vars(finding) for finding in fit.checks],
        "display_units": fit.display_units,
        "started_from": fit.started_from,
    }
    if isinstance(fit, ModalIdentification):
        text |= text_of_modes(fit)
    return {**text, "plugins": [*_named_by(text), *_method_of(fit.method)]}


def _named_by(text) -> list[dict[str, Any]]:
    """Every part of a text that comes from a plugin: its name and its origin."""
    if isinstance(text, dict):
        plugins = [{"name": next(iter(text.values())), "from": text["from"]}] if "from" in text else []
        return plugins + [plugin for inner in text.values() for plugin in _named_by(inner) if plugin not in plugins]
    if isinstance(text, list | tuple):
        return list({str(plugin): plugin for inner in text for plugin in _named_by(inner)}.values())
    return []


def _method_of(name: str) -> list[dict[str, Any]]:
    """The method, where it comes from a plugin."""
    return [
        {"name": known, "from": METHODS.origin(known).short}
        for known, cls in METHODS.present()
        if cls.__name__ == name and METHODS.origin(known) != PACKAGE
    ]


attach(Identification, save=save)


def _arrays(fit: Identification) -> Arrays:
    p = fit.problem
    arrays: Arrays = {
        "parameters/names": np.array(fit.names, dtype=str),
        "parameters/units": np.array(fit.units, dtype=str),
        "parameters/estimate": fit.estimate,
        "parameters/standard_deviation": fit.deviation,
        "parameters/interval_95": fit.interval().T,
        "parameters/free": fit.free,
        "parameters/free_covariance": fit.free_covariance,
        "parameters/samples": fit.samples,
        "sensors/names": np.array([s.label for s in p.sensors], dtype=str),
        "sensors/units": np.array([QUANTITIES[s.quantity] for s in p.sensors], dtype=str),
        "sensors/noise": fit.noise,
    }
    arrays |= {f"parameters/{name}": getattr(p.unknowns, k) for k, name in _UNKNOWN_ARRAYS.items()}
    arrays |= {f"limits/{k}": getattr(fit.limits, k) for k in _LIMIT_ARRAYS}
    arrays |= {f"history/{k}": v for k, v in fit.history.items()}
    if fit.other_answers:
        arrays["answers/estimate"] = np.stack([answer.estimate for answer in fit.other_answers])
        arrays["answers/standard_deviation"] = np.stack([answer.deviation for answer in fit.other_answers])
        arrays["answers/log_likelihood"] = np.array([answer.log_likelihood for answer in fit.other_answers])
    for i, d in enumerate(p.data):
        arrays |= {
            f"records/{i}/step": d.step,
            f"records/{i}/readings": d.readings,
            f"records/{i}/used": np.asarray(d.present, np.uint8),
            f"records/{i}/scored": np.asarray(p.held_out[i], np.uint8),
            f"records/{i}/predicted": fit.predictions[i],
            f"records/{i}/excitation": d.drive.samples,
            f"records/{i}/shares": d.shares,
            f"records/{i}/initial_displacement": p.experiment.initial[i].displacement,
            f"records/{i}/initial_velocity": p.experiment.initial[i].velocity,
        }
    for i, load in enumerate(fit.loads):
        arrays |= {f"loads/{i}/{k}": getattr(load, k) for k in ("time", "values")}
        arrays[f"loads/{i}/standard_deviation"] = load.deviation
        arrays |= {f"loads/{i}/{k}": getattr(load.weights, k) for k in ("noise", "spread", "first")}
    return arrays | arrays_of_modes(fit) if isinstance(fit, ModalIdentification) else arrays


def _columns(fit: Identification, arrays: Arrays) -> Columns:
    """Names and units of the columns of every dataset that has them."""
    p = fit.problem
    shared = {
        "parameters": (fit.names, fit.units),
        "sensors": ([s.label for s in p.sensors], [QUANTITIES[s.quantity] for s in p.sensors]),
    }
    columns = {}
    for name in arrays:
        kind, number = entry_of(name).columns, name.split("/")[1]
        if kind == "excitation":
            loads = p.data[int(number)].loads
            columns[name] = [f"{q} {place}".strip() for q, place in loads], [QUANTITIES[q] for q, _ in loads]
        elif kind == "loads" and fit.loads:
            columns[name] = fit.loads[int(number)].names, fit.loads[int(number)].units
        elif kind in shared:
            columns[name] = shared[kind]
    return columns


def load_identification(path: Path | str, limits: Limits | None = None) -> Identification:
    """Read a result back, of this format or an older one; it can predict, validate, plot and report as before.

    Where a law, structure or integrator came from a plugin that is not installed, all stored results can be read and
    reported; predict, validate and reconstruct are refused with the name of the plugin.

    A result file is data, whoever wrote it: it is opened in another process within `limits` (those of a record; pass
    larger ones for a very large result), nothing in it is executed, and links to other files are refused.
    """
    try:
        return _rebuild(*read_stored(path, limits))
    except FileProblem:
        raise
    except VibridError as problem:
        raise FileProblem(path, str(problem)) from problem
    except Exception as problem:  # a file can be wrong in any way, and the libraries below raise errors of any kind
        reason = f"{type(problem).__name__}: {problem}"[:200]
        raise FileProblem(path, f"the result is damaged or incomplete ({reason}).") from problem


def _rebuild(text: dict[str, Any], arrays: dict[str, Any]) -> Identification:
    check_shapes(text, arrays)
    problem = _problem(text, arrays)
    limits = Identifiability(
        problem.unknowns.names,
        *(arrays[f"limits/{k}"] for k in _LIMIT_ARRAYS),
        inseparable=tuple(text["inseparable"]),
    )
    fit = Identification(
        problem=problem,
        free=arrays["parameters/free"],
        free_covariance=arrays.get("parameters/free_covariance"),
        noise=arrays["sensors/noise"],
        predictions=[arrays[f"records/{i}/predicted"] for i in range(len(problem.data))],
        fits=[_known(ChannelFit, f) for f in text["fits"]],
        limits=limits,
        history={k.removeprefix("history/"): v for k, v in arrays.items() if k.startswith("history/")},
        samples=arrays.get("parameters/samples"),
        loads=tuple(_loads(text, arrays, i) for i in range(len(text["loads"]))),
        files=tuple(_known(InputFile, f) for f in text["files"]),
        other_answers=_answers(arrays),
        checks=tuple(_known(Finding, f) for f in text.get("checks", ())),
        display_units=checked_units(text["display_units"], problem.unknowns.names, problem.unknowns.units),
        started_from=str(text.get("started_from", "")),  # early files have none
        **{key: _tuples(text[key]) for key in _PLAIN},
    )
    return result_of_modes(fit, text, arrays) if "modes" in text else fit


def _problem(text: dict[str, Any], arrays: dict[str, Any]) -> Problem:
    count = len(text["records"])
    initial = [[arrays[f"records/{i}/initial_{k}"] for k in ("displacement", "velocity")] for i in range(count)]
    experiment = Experiment(
        structure=rebuild(text["structure"]),
        sensors=rebuild(text["sensors"]),
        initial=tuple(Initial(*state) for state in initial),
        loads=tuple(Load(*load) for load in text["inputs"]),
    )
    texts = {k: _tuples(text["unknowns"][k]) for k in ("names", "units", "places", "kinds", "positive")}
    numbers: dict[str, Any] = {k: jnp.asarray(arrays[f"parameters/{name}"]) for k, name in _UNKNOWN_ARRAYS.items()}
    settings = {k: rebuild(v) for k, v in text["integrator"]["settings"].items()}
    return Problem(
        experiment=experiment,
        unknowns=UnknownSet(**texts, **numbers),
        data=tuple(_data(text, arrays, i) for i in range(count)),
        held_out=tuple(jnp.asarray(arrays[f"records/{i}/scored"], float) for i in range(count)),
        integrator=rebuilt("name", INTEGRATORS, Integrator, text["integrator"], settings),
        substeps=int(text["substeps"]),
        hold=text["hold"],
        delays=bool(text["delays"]),
        needs=frozenset(text["needs"]),
        unknown_loads=_tuples(text["unknown_loads"]),
        load_deviations=_tuples(text["load_deviations"]),
    )


def _data(text: dict[str, Any], arrays: dict[str, Any], i: int) -> Data:
    stored = {k: arrays.get(f"records/{i}/{k}") for k in ("readings", "used", "excitation", "shares")}
    about = text["records"][i]
    return Data(
        readings=jnp.asarray(stored["readings"]),
        present=jnp.asarray(stored["used"], float),
        drive=drive(np.asarray(stored["excitation"]), text["hold"], text["substeps"]),
        step=float(about["step"]),
        loads=_tuples(about["loads"]),
        name=about["name"],
        shares=None if stored["shares"] is None else jnp.asarray(stored["shares"]),
    )


def _answers(arrays: Arrays) -> tuple[OtherAnswer, ...]:
    names = ("estimate", "standard_deviation", "log_likelihood")
    if "answers/estimate" not in arrays:
        return ()
    columns = [np.asarray(arrays[f"answers/{name}"]) for name in names]
    return tuple(
        OtherAnswer(estimate, deviation, float(log)) for estimate, deviation, log in zip(*columns, strict=True)
    )


def _loads(text: dict[str, Any], arrays: dict[str, Any], i: int) -> LoadEstimate:
    names_of_arrays = ("time", "values", "standard_deviation", "noise", "spread", "first")
    time, values, deviation, noise, spread, first = (arrays[f"loads/{i}/{name}"] for name in names_of_arrays)
    given = text["loads"][i]
    weights = Weights(noise, spread, first, float(given["motion"]))
    names, units = _tuples(given["names"]), _tuples(given["units"])
    record = text["records"][i]["name"]
    return LoadEstimate(record, names, units, time, values, deviation, weights)


def _known(cls, table: dict[str, Any]):
    """A dataclass from a table; unknown keys of later versions are ignored."""
    return cls(**{f.name: table[f.name] for f in dataclasses.fields(cls) if f.name in table})


def _tuples(value) -> Any:
    """JSON lists as tuples."""
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value
