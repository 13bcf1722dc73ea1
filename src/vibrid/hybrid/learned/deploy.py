"""A trained model for a real-time target: one step as C, ONNX or FMU, or compiled here and called from Python.

All of them are the model behind its guard (`vibrid.hybrid.learned.guard`): a step gives the force and its flags.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp

from vibrid.core.traced import Traced, trace
from vibrid.hybrid.learned.files import SavedModel
from vibrid.hybrid.learned.guard import Fault, GuardedModel, GuardedState, flagged, good_capacity
from vibrid.hybrid.learned.model import DeviceModel, DeviceSample, Setting
from vibrid.networks.export import Bit, CompiledStep, Interface, Port, write_c, write_fmu, write_onnx

OWN_INPUTS = (
    Port("displacement", "m"),
    Port("velocity", "m/s"),
    Port("capacity_positive", "N", "capacity for positive velocity"),
    Port("capacity_negative", "N", "capacity for negative velocity"),
)
FIRST_FORCE = Port("first_force", "N", "force before the first sample, 0 where it is unknown; the same in every step")
FORCE = Port("force", "N")


class ExportState(NamedTuple):
    """The state of an exported step: that of the guarded model, and the last good capacities (N)."""

    guarded: GuardedState
    capacity: jax.Array  # (2,)


def inputs_of(model: DeviceModel) -> list[Port]:
    """The inputs of a step of the model."""
    names = model.companion_names or [f"signal {i}" for i in range(len(model.companion_sizes))]
    return [
        *OWN_INPUTS,
        *(Port(f"companion_{i}", "", f"{name} of the tested device, SI") for i, name in enumerate(names)),
        FIRST_FORCE,
    ]


def exported_start(model: DeviceModel) -> ExportState:
    """The state at rest."""
    return ExportState(GuardedModel(model).start(), jnp.ones(2))


def exported_step(model: DeviceModel, state: ExportState, inputs) -> tuple[jax.Array, ExportState]:
    """(force in N, flags) and the state after one sample of inputs, as in `inputs_of`, 64 bits."""
    capacity, faults = good_capacity(state.capacity, inputs[2:4])
    sample, first = DeviceSample(inputs[0], inputs[1], inputs[4:-1]), inputs[-1]
    known = jnp.isfinite(first)
    setting = Setting(capacity, jnp.where(known, first, 0.0))
    guarded, force, own = GuardedModel(model).step(state.guarded, sample, setting)
    own[Fault.NOT_FINITE] |= faults[Fault.NOT_FINITE] | ~known
    flags = flagged({**own, Fault.CAPACITY: faults[Fault.CAPACITY]})
    return jnp.stack([jnp.asarray(force, float), flags]), ExportState(guarded, capacity)


def traced_model(model: DeviceModel) -> Traced:
    """`exported_step` as a program."""

    def step(state, inputs):
        return exported_step(model, state, inputs)

    return trace(step, exported_start(model), len(inputs_of(model)), jnp.float64)


def compiled_model(model: DeviceModel) -> CompiledStep:
    """`force, flags = step(inputs)`, compiled from the C of the model."""
    return CompiledStep(traced_model(model))


def limits_of(model: DeviceModel) -> list[Port]:
    """The limits of the inputs and of the force, with their values."""
    limits = model.limits
    own = [
        Port("limit_displacement", "m", "largest displacement that is taken", limits.displacement),
        Port("limit_velocity", "m/s", "largest velocity, and change of the displacement in a second", limits.velocity),
        Port("limit_force", "", "capacities from which a force is flagged", limits.force),
    ]
    signals = enumerate(limits.signals)
    return own + [Port(f"limit_companion_{i}", "", f"largest companion_{i}", limit) for i, limit in signals]


def interface_of(model: DeviceModel) -> Interface:
    """The meaning of all numbers of an exported step."""
    flags = [Bit(str(fault.name), int(fault), fault.meaning) for fault in Fault]
    note = f"One step of a device model, {model.rate:g} times a second."
    return Interface(inputs_of(model), [FORCE], flags, limits_of(model), note)


class Written(NamedTuple):
    """The files of an export, and the machine that an FMU holds a library for: "" where it has sources only."""

    files: list[Path]
    library_for: str = ""


def write_model(saved: SavedModel, path, prefix: str = "device") -> Written:
    """Write a model as C (two files), ONNX or FMU (one), by the ending of the path."""
    path, model = Path(path), saved.model
    traced, interface = traced_model(model), interface_of(model)
    if path.suffix == ".onnx":
        return Written([write_onnx(traced, path, interface)])
    if path.suffix == ".fmu":
        file, library_for = write_fmu(traced, path, interface, rate=model.rate)
        return Written([file], library_for)
    return Written(list(write_c(traced, path, interface, prefix=prefix)))
