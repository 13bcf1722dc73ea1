"""A trained model for a real-time target: one step as C or ONNX, or compiled here and called from Python."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp

from vibrid.core.traced import Traced, trace
from vibrid.hybrid.learned.files import SavedModel
from vibrid.hybrid.learned.model import DeviceModel, DeviceSample, Setting
from vibrid.networks.export import CompiledStep, write_c, write_onnx

OWN_INPUTS = ("displacement, m", "velocity, m/s", "capacity for positive velocity, N", "capacity for negative, N")


def input_names(model: DeviceModel) -> list[str]:
    """Names of the inputs of a step of the model."""
    companion = model.companion_names or [f"signal {i}" for i in range(len(model.companion_sizes))]
    return [*OWN_INPUTS, *(f"companion: {name}, SI" for name in companion)]


def traced_model(model: DeviceModel) -> Traced:
    """One step of a model as a program; inputs as in `input_names`, 64 bits; the output is the force in N."""

    def step(state, u):
        setting = Setting(u[2:4], jnp.zeros(()))
        state, force = model.step(state, DeviceSample(u[0], u[1], u[4:]), setting)
        return jnp.asarray(force, float)[None], state

    return trace(step, model.start(), 4 + len(model.companion_sizes), jnp.float64)


def compiled_model(model: DeviceModel) -> CompiledStep:
    """`force = step(inputs)[0]`, compiled from the C of the model."""
    return CompiledStep(traced_model(model))


def write_model(saved: SavedModel, path, prefix: str = "device") -> list[Path]:
    """Write a model as C (two files) or ONNX (one), by the ending of the path."""
    path, traced = Path(path), traced_model(saved.model)
    if path.suffix == ".onnx":
        return [write_onnx(traced, path)]
    note = f"One step of a device model, {saved.model.rate:g} times a second."
    return list(write_c(traced, path, prefix=prefix, inputs=input_names(saved.model), outputs=["force, N"], note=note))
