"""Fitting again with the faults of instruments that were found explained.

A delay, a gain and an offset become unknowns, so that their uncertainty counts in the intervals; a sign, exchanged
channels and another meaning of acceleration are put right in the sensors; a drift and a clock in the readings. Samples
that were clipped or stuck are left out. Noise of the excitation is counted by `NoisyInputFit`.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.findings import KNOWN, WRONG, Finding
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.checks.input_noise import NAME
from vibrid.identification.checks.recorded import LEFT_OUT, without_lost_samples
from vibrid.identification.checks.refit import Correction, corrected, exchanged
from vibrid.identification.checks.run import checked_result
from vibrid.identification.method import METHODS, Method, refuse_impossible
from vibrid.identification.methods.noisy_input import NoisyInputFit
from vibrid.identification.methods.trajectory import TrajectoryFit
from vibrid.identification.problem import Problem, completed
from vibrid.identification.unknowns import Unknown, UnknownSet, compile_unknowns
from vibrid.structures.sensors import Sensor

if TYPE_CHECKING:
    from vibrid.identification.result import Identification

_MEANINGS = {"acceleration": "absolute_acceleration", "absolute_acceleration": "acceleration"}
_KINDS = ("delay", "gain", "unit", "offset", "sign", "exchanged", "meaning", "drift", "clock")


def repair(fit: Identification, progress: Progress = SILENT) -> Identification:
    """The result of the same method with the faults of instruments that were found explained."""
    lost = _lost(fit)
    faults = [*lost, *(f for f in fit.checks if f.verdict == WRONG and f.name in (*_KINDS, NAME))]
    if not faults:
        raise InputError(
            "No fault of an instrument that can be repaired was found in this result: there is nothing to repair."
        )
    problem, extra = without_lost_samples(fit.problem, fit.predictions, lost), []
    for fault in faults:
        if fault.name in (NAME, *LEFT_OUT):
            continue
        channels = _channels(problem, fault)
        size = fault.numbers.get(fault.name, fault.numbers.get("gain", np.nan))
        if fault.name in ("delay", "gain", "unit", "offset"):
            name = "gain" if fault.name == "unit" else fault.name
            present = float(getattr(problem.sensors[channels[0]], name))
            start = present * size if name == "gain" else present + size
            extra.append(_unknown([f"sensors[{c}].{name}" for c in channels], start, name))
        elif fault.name == "exchanged":
            problem = exchanged(problem, *channels)
        elif fault.name in ("drift", "clock"):
            made = _drift(problem, size) if fault.name == "drift" else Correction(clock=size)
            problem = corrected(problem, dict.fromkeys(channels, made))
        else:
            problem = _with_sensors(problem, channels, fault.name)
    added = compile_unknowns(problem.experiment, extra, True, _sizes(problem))
    problem = completed(dataclasses.replace(problem, unknowns=_joined(problem.unknowns, added)))
    method = NoisyInputFit() if any(f.name == NAME for f in faults) else _method(fit)
    refuse_impossible(problem, method)
    again = checked_result(method.solve(problem, fit.seed, progress), (), progress)
    told = Finding("repaired", KNOWN, f"Repaired and fitted again: {_list(faults)}.")
    return again.replace(
        checks=(*again.checks, told), provenance=fit.provenance, files=fit.files, display_units=fit.display_units
    )


def _lost(fit: Identification) -> list[Finding]:
    """The findings of readings that were clipped or stuck; those of the excitation cannot be repaired."""
    labels = [s.label for s in fit.problem.sensors]
    return [f for f in fit.checks if f.verdict == WRONG and f.name in LEFT_OUT and f.where in labels]


def _channels(problem: Problem, fault: Finding) -> list[int]:
    """The channels of a finding; all of them where it names none."""
    labels = [s.label for s in problem.sensors]
    named = [label for label in fault.where.split(", ") if label in labels]
    return [labels.index(label) for label in named] or list(range(len(labels)))


def _with_sensors(problem: Problem, channels: list[int], fault: str) -> Problem:
    """The problem with sensors of the opposite sign, or of the other meaning of acceleration."""
    sensors = list(problem.sensors)
    for c in channels:
        s = sensors[c]
        quantity = _MEANINGS.get(s.quantity, s.quantity) if fault == "meaning" else s.quantity
        gain = -s.gain if fault == "sign" else s.gain
        sensors[c] = Sensor(quantity, s.place, gain, s.delay, s.noise, s.label, s.offset)
    return dataclasses.replace(problem, experiment=dataclasses.replace(problem.experiment, sensors=tuple(sensors)))


def _drift(problem: Problem, size: float) -> Correction:
    return Correction(added=tuple(size * np.arange(d.samples) * d.step for d in problem.data))


def _unknown(places: list[str], start: float, what: str) -> Unknown:
    """One unknown for all places."""
    if len(places) == 1:
        return Unknown(places[0], start=start)
    return Unknown(places, start=start, tied=True, name=f"{what} of all channels")


def _sizes(problem: Problem):
    signal = problem.signal_size()
    return lambda place: float(signal.max()) if place.endswith("offset") else problem.data[0].step


def _joined(one: UnknownSet, two: UnknownSet) -> UnknownSet:
    both = {}
    for field in dataclasses.fields(UnknownSet):
        first, second = getattr(one, field.name), getattr(two, field.name)
        both[field.name] = first + second if isinstance(first, tuple) else jnp.concatenate([first, second])
    return UnknownSet(**both)


def _method(fit: Identification) -> Method:
    """The method of a result with its plain settings; a trajectory fit where it is not known here."""
    cls = METHODS.called(fit.method) or TrajectoryFit
    default = cls()
    plain = {k: v for k, v in fit.settings.items() if type(getattr(default, k, None)) in (bool, int, float, str)}
    return cls(**{k: v for k, v in plain.items() if type(v) is type(getattr(default, k))})


def _list(faults: list[Finding]) -> str:
    words = {"exchanged": "exchange", "meaning": "quantity", NAME: "noise"}
    words |= {name: f"{name} samples" for name in LEFT_OUT}
    every = {NAME: "the excitation"}
    return ", ".join(f"{words.get(f.name, f.name)} of {f.where or every.get(f.name, 'all channels')}" for f in faults)
