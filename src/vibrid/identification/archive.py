"""Results in one HDF5 file, and back. Numbers and plain text only: nothing is ever executed on loading."""

from __future__ import annotations

import dataclasses
import json

import h5py
import jax.numpy as jnp
import numpy as np

from vibrid.core.attached import attach
from vibrid.core.errors import FileProblem, InputError
from vibrid.core.files import whole_hdf5
from vibrid.identification.diagnostics import ChannelFit
from vibrid.identification.experiment import Experiment, Initial, Load
from vibrid.identification.identifiability import Identifiability
from vibrid.identification.loads.estimate import LoadEstimate, Weights
from vibrid.identification.problem import Data, Problem
from vibrid.identification.result import Identification
from vibrid.identification.unknowns import UnknownSet
from vibrid.simulation.base import INTEGRATORS, Integrator
from vibrid.simulation.excitation import drive
from vibrid.structures.describe import describe, rebuild, rebuilt, registered_name

FORMAT = 2
_UNKNOWN_ARRAYS = ("low", "high", "start", "scale", "prior_mean", "prior_deviation")
_LIMIT_ARRAYS = ("information", "bound", "relative_bound", "correlation")
_PLAIN = ("method", "settings", "convergence", "warnings", "seed", "seconds", "cut_short", "versions", "provenance")


def save(fit: Identification, path) -> None:
    """Write a result; the file appears only when it is complete."""
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
        "faint": fit.limits.faint,
        "unknown_loads": p.unknown_loads,
        "load_deviations": p.load_deviations,
        "loads": [{"names": own.names, "units": own.units, "motion": own.weights.motion} for own in fit.loads],
        **{key: getattr(fit, key) for key in _PLAIN},
    }
    with whole_hdf5(path) as file:
        file.attrs["vibrid"] = FORMAT
        file.create_dataset("text", data=json.dumps(text))
        _write(file, fit)


attach(Identification, save=save)


def _write(file: h5py.File, fit: Identification) -> None:
    p = fit.problem
    arrays = {"free": fit.free, "noise": fit.noise, "free_covariance": fit.free_covariance, "samples": fit.samples}
    arrays |= {f"unknowns/{k}": getattr(p.unknowns, k) for k in _UNKNOWN_ARRAYS}
    arrays |= {f"limits/{k}": getattr(fit.limits, k) for k in _LIMIT_ARRAYS}
    arrays |= {f"history/{k}": v for k, v in fit.history.items()}
    for i, d in enumerate(p.data):
        arrays |= {
            f"records/{i}/readings": d.readings,
            f"records/{i}/present": d.present,
            f"records/{i}/inputs": d.drive.samples,
            f"records/{i}/held_out": p.held_out[i],
            f"records/{i}/predicted": fit.predictions[i],
            f"records/{i}/displacement": p.experiment.initial[i].displacement,
            f"records/{i}/velocity": p.experiment.initial[i].velocity,
            f"records/{i}/shares": d.shares,
        }
    for i, own in enumerate(fit.loads):
        arrays |= {f"loads/{i}/{k}": getattr(own, k) for k in ("time", "values", "deviation")}
        arrays |= {f"loads/{i}/{k}": getattr(own.weights, k) for k in ("noise", "spread", "first")}
    for name, value in arrays.items():
        if value is not None:
            value = np.asarray(value)
            file.create_dataset(name, data=value, compression="gzip" if value.size > 1000 else None)


def load_identification(path) -> Identification:
    """Read a result back; it can predict, validate, plot and report as before.

    Where a law, structure or integrator came from a plugin that is not here, everything that was found can be read and
    reported, and what needs it (predict, validate, reconstruct) refuses with the name of the plugin.
    """
    try:
        with h5py.File(path, "r") as file:
            if file.attrs.get("vibrid") != FORMAT:
                raise FileProblem(path, "this HDF5 file is not a vibrid result of a version that can be read here.")
            text = json.loads(file["text"][()])
            names: list[str] = []
            file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
            arrays = {name: file[name][()] for name in names if name != "text"}
        return _rebuild(text, arrays)
    except OSError as problem:
        raise FileProblem(path, f"this is not an HDF5 file that can be read ({problem}).") from problem
    except (KeyError, TypeError, ValueError, json.JSONDecodeError) as problem:
        if isinstance(problem, InputError):
            raise FileProblem(path, str(problem)) from problem
        raise FileProblem(path, f"the result is damaged or incomplete ({problem}).") from problem


def _rebuild(text: dict, arrays: dict) -> Identification:
    count = len(text["records"])
    experiment = Experiment(
        rebuild(text["structure"]),
        rebuild(text["sensors"]),
        tuple(Initial(arrays[f"records/{i}/displacement"], arrays[f"records/{i}/velocity"]) for i in range(count)),
        tuple(Load(*one) for one in text.get("inputs", ())),
    )
    names = {k: _tuples(text["unknowns"][k]) for k in ("names", "units", "places", "kinds")}
    positive = _tuples(text["unknowns"].get("positive", [kind == "log" for kind in names["kinds"]]))  # older files
    numbers = {k: jnp.asarray(arrays[f"unknowns/{k}"]) for k in _UNKNOWN_ARRAYS}
    unknowns = UnknownSet(**names, positive=positive, **numbers)
    settings = {k: rebuild(v) for k, v in text["integrator"]["settings"].items()}
    data = tuple(
        Data(
            readings=jnp.asarray(arrays[f"records/{i}/readings"]),
            present=jnp.asarray(arrays[f"records/{i}/present"]),
            drive=drive(arrays[f"records/{i}/inputs"], text["hold"], text["substeps"]),
            step=float(r["step"]),
            loads=_tuples(r["loads"]),
            name=r["name"],
            shares=jnp.asarray(arrays[f"records/{i}/shares"]) if f"records/{i}/shares" in arrays else None,
        )
        for i, r in enumerate(text["records"])
    )
    problem = Problem(
        experiment=experiment,
        unknowns=unknowns,
        unknown_loads=_tuples(text["unknown_loads"]),
        load_deviations=_tuples(text["load_deviations"]),
        data=data,
        held_out=tuple(jnp.asarray(arrays[f"records/{i}/held_out"]) for i in range(count)),
        integrator=rebuilt("name", INTEGRATORS, Integrator, text["integrator"], settings),
        substeps=int(text["substeps"]),
        hold=text["hold"],
        delays=bool(text["delays"]),
        needs=frozenset(text["needs"]),
    )
    limits = Identifiability(
        unknowns.names, *(arrays[f"limits/{k}"] for k in _LIMIT_ARRAYS), faint=tuple(text["faint"])
    )
    return Identification(
        problem=problem,
        free=arrays["free"],
        free_covariance=arrays.get("free_covariance"),
        noise=arrays["noise"],
        predictions=[arrays[f"records/{i}/predicted"] for i in range(count)],
        fits=[ChannelFit(**f) for f in text["fits"]],
        limits=limits,
        history={k.removeprefix("history/"): v for k, v in arrays.items() if k.startswith("history/")},
        samples=arrays.get("samples"),
        loads=tuple(_loads(text, arrays, i) for i in range(len(text["loads"]))),
        **{key: _tuples(text[key]) for key in _PLAIN},
    )


def _loads(text: dict, arrays: dict, i: int) -> LoadEstimate:
    own = {k: arrays[f"loads/{i}/{k}"] for k in ("time", "values", "deviation", "noise", "spread", "first")}
    given = text["loads"][i]
    weights = Weights(own["noise"], own["spread"], own["first"], float(given["motion"]))
    names, units = _tuples(given["names"]), _tuples(given["units"])
    record = text["records"][i]["name"]
    return LoadEstimate(record, names, units, own["time"], own["values"], own["deviation"], weights)


def _tuples(value):
    """JSON lists as the tuples they were."""
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value
