"""What is fitted in a study of fits: unknowns, methods, laws, sensors, noise and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vibrid.core.arguments import Numbers, checked
from vibrid.core.errors import InputError, VibridError, unknown_name
from vibrid.identification.experiment import Experiment, loads_in
from vibrid.identification.loads.unknown_load import UnknownLoad
from vibrid.identification.method import METHODS, Method, as_method
from vibrid.identification.unknowns import UnknownSet, compile_unknowns, listed
from vibrid.simulation.base import Integrator
from vibrid.simulation.initial import Initial
from vibrid.structures.base import Structure
from vibrid.structures.model import Loads
from vibrid.structures.sensors import Sensor, Sensors
from vibrid.studies.axes import check_size
from vibrid.studies.laws import exchanged

FIT_KEEPABLE = ("estimates", "intervals", "verdicts", "scores", "seconds")
FIT_OUTCOMES = ("waiting", "estimated", "not converged", "refused", "failed", "no data", "set aside")
"""How a fit ended, in the order of the codes of the variable `outcome`; the first and the last are those of runs.

A fit that was `refused` (the method cannot solve the problem, the data say nothing) or `failed` (an error inside a
library), and one with `no data` (the simulation diverged), is a result with its sentence.
"""
ESTIMATED, NOT_CONVERGED, REFUSED, FAILED, NO_DATA = range(1, 6)


@checked
@dataclass(frozen=True, eq=False)
class Fits:
    """What is fitted to the data of every motion of a study. What is a list or a dictionary here is a dimension of the
    dataset: `method_name`, `law`, `sensors`, `noise`, `seed`.

    Arguments
        unknown: as for `identify`; or a dictionary of them by the names of `laws`.
        method: one method as for `identify`, a list of names, or a dictionary of names and methods.
        laws: by name, the structure that is fitted, or {path: part} to exchange parts of the structure of the study. By
            default that structure itself, so that the fit begins with its values (with the true ones, where nothing
            varies and `Unknown(start=…)` says nothing else).
        sensors: sets of sensors, by name; by default one set, the `sensors` of the study.
        data: "simulated": the structure of the study moves under every motion, as its `integrator`, `hold` and
            `substeps` say, and is measured; or "measured": the motions are records with readings of their own.
        noise: share of each signal, for sensors without a noise of their own; one number or a list.
        seeds: of the noise of simulated data, and of everything random in the method.
        every: the fit sees every so manieth sample of simulated data alone, excitation included.
        integrator, hold, substeps, hold_out, checks: as for `identify`.
        confidence: of the intervals that are kept.
    """

    unknown: Any
    method: Any = "trajectory"
    laws: Mapping[str, Any] | None = None
    sensors: Mapping[str, Any] | None = None
    data: str = "simulated"
    noise: Numbers = 0.0
    seeds: Sequence[int] | range = (0,)
    every: int = 1
    integrator: Integrator | None = None
    hold: str = "auto"
    substeps: int | str = "auto"
    hold_out: float = 0.0
    checks: str = "all"
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.data not in ("simulated", "measured"):
            raise unknown_name("source of data", self.data, ("simulated", "measured"))
        noise = np.atleast_1d(np.asarray(self.noise, float))
        if noise.ndim != 1 or not noise.size or not np.all(noise >= 0) or len(set(noise.tolist())) < noise.size:
            raise InputError("The noise of simulated data is a share of each signal, zero or more, or a list of such.")
        check_size([len(self.seeds)])
        seeds = list(self.seeds)
        if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
            raise InputError("The seeds of a study are whole numbers that differ, zero or more: seeds=range(100).")
        if self.every < 1:
            raise InputError(f"Every first sample at least is seen by the fit; every={self.every} cannot be.")
        if self.data == "measured" and (np.any(noise > 0) or noise.size > 1 or self.every > 1):
            raise InputError("Noise and `every` belong to simulated data: leave them out, or take data='simulated'.")
        if not 0 < self.confidence < 1:
            raise InputError(f"A confidence is between 0 and 1, not {self.confidence}.")
        for name in ("laws", "sensors"):
            given = getattr(self, name)
            if given is not None and not given:
                raise InputError(f"'{name}' of the fits is empty: leave it out, or name some.")

    def methods(self) -> dict[str, Method]:
        """The methods by name."""
        if isinstance(self.method, Mapping):
            found = {str(name): as_method(method) for name, method in self.method.items()}
        else:
            found = {}
            for method in self.method if isinstance(self.method, list | tuple) else [self.method]:
                name = method if isinstance(method, str) else _registered(as_method(method))
                if name in found:
                    raise InputError(f"Two methods are called '{name}': give a dictionary of names and methods.")
                found[name] = as_method(method)
        if not found:
            raise InputError("No method was given: method='trajectory', or a list of names.")
        return found

    def structures(self, structure: Structure) -> dict[str, Structure]:
        """The structures that are fitted, by the name of their law."""
        if self.laws is None:
            return {"": structure}
        return {str(name): exchanged(structure, str(name), given) for name, given in self.laws.items()}

    def unknowns(self, law: str) -> list:
        """The unknowns of a law."""
        if not isinstance(self.unknown, Mapping):
            return listed(self.unknown)
        if law not in self.unknown:
            raise InputError(f"`unknown` names {', '.join(map(str, self.unknown))}, and not the law '{law}'.")
        return listed(self.unknown[law])

    def sensor_sets(self, default: Sequence[Sensor] | None) -> dict[str, Sensors | None]:
        """The sets of sensors by name; None where the records say it."""
        if self.sensors is None:
            return {"": None if default is None else Sensors(default)}
        return {str(name): Sensors(given) for name, given in self.sensors.items()}


def _registered(method: Method) -> str:
    """The name of a method in project files, else that of its class."""
    names = [name for name, kind in METHODS.items() if kind is type(method)]
    return names[0] if names else type(method).__name__


def compiled_unknowns(structure: Structure, sensors: Sequence[Sensor], unknown: list, loads: Loads) -> UnknownSet:
    """The unknowns of a fit before there are data: their names, units and places."""
    size = structure.model(loads).size
    experiment = Experiment(structure, tuple(sensors), (Initial.rest(size),), loads_in([loads]))
    parameters = [entry for entry in unknown if not isinstance(entry, UnknownLoad)]
    return compile_unknowns(experiment, parameters, may_be_none=len(parameters) < len(unknown), size_of=lambda _: 1.0)


def names_and_units(fits: Fits, structures: Mapping[str, Structure], sets, loads: Loads) -> dict[str, str]:
    """The unknowns of all laws by name, with their units.

    An unknown that only some sets of sensors have (the gain of one of them) is there; fits without it are refused when
    they are computed. One that none has is refused here.
    """
    found: dict[str, str] = {}
    for law, structure in structures.items():
        problems: list[VibridError] = []
        for sensors in sets.values():
            try:
                made = compiled_unknowns(structure, sensors or (), fits.unknowns(law), loads)
                found |= {name: unit for name, unit in zip(made.names, made.units, strict=True) if name not in found}
            except VibridError as problem:
                problems.append(problem)
        if len(problems) == len(sets):
            raise problems[0]
    return found
