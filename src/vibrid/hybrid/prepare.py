"""Preparation of a hybrid test: the excitation at its steps, and its plan."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import Refusal
from vibrid.hybrid.chain import Chain
from vibrid.hybrid.plan import Carry, Outside, Plan, ScaleFactors
from vibrid.laws.base import simplified
from vibrid.records.record import Record
from vibrid.structures.model import Model

if TYPE_CHECKING:
    from vibrid.hybrid.coordinator import HybridTest


def on_steps(excitation: Record, step: float) -> Record:
    """The excitation at the steps of a test, linear between its samples."""
    if excitation.step is not None and abs(excitation.step / step - 1) < 1e-9:
        return excitation
    time = excitation.time
    count = int(np.floor((time[-1] - time[0]) / step * (1 + 1e-12))) + 1
    new = time[0] + step * np.arange(count)
    data = np.stack([np.interp(new, time, column) for column in excitation.data.T], axis=1)
    note = f"at steps of {step:g} s, linear between samples"
    return excitation.replace(note, data=data, step=step, start=float(time[0]), times=None)


def make_plan(test: HybridTest, loads, first_input, outside) -> tuple[Plan, Carry, tuple]:
    """The constants of a test, its initial state, and the recorded part of that state.

    `outside` are the opened external substructures in the order of parts.
    """
    opened, slopes, parts = iter(outside), [], []
    for part in test.parts:
        if part.is_outside:
            device = next(opened)
            compensator = getattr(part, "compensator", None)
            if compensator is not None and compensator.needs_position and device.position is None:
                raise Refusal(
                    f"'{part.name}' does not measure its displacement, which {type(compensator).__name__} needs. Use "
                    "another compensator, or compensate in the laboratory."
                )
            parts.append(Outside(compensator, len(device.signal_names), device.position is not None))
            slopes.append((float(device.stiffness()[0, 0]), float(device.damping()[0, 0])))
        else:
            chain = (getattr(part, name, None) for name in ("actuator", "compensator"))
            parts.append(Chain(simplified(part.device), *chain))
            slopes.append(None)
    names = [p.name for p in test.parts]
    sources = [getattr(p, "companion", "") for p in test.parts]
    companion = tuple(names.index(name) if name else None for name in sources)
    built = simplified(test.structure).built(loads)
    rows = np.stack([p.row(test.structure) for p in test.parts])
    counts = jnp.stack([jnp.asarray(p.count, float) for p in test.parts])
    scale = test.scaling
    factors = ScaleFactors(jnp.asarray(scale.length), jnp.asarray(scale.length / scale.time), scale.force * counts)
    how = (test.substeps, companion, test.interpolation == "cubic")
    known = tuple(None if s is None else jnp.asarray(s) for s in slopes)
    times = jnp.asarray(test.step), jnp.asarray(1.0 / test.rate)
    first_input = jnp.asarray(first_input)
    return _plan(built, loads, test.integrator, rows, tuple(parts), known, factors, times, how, first_input)


@eqx.filter_jit
def _plan(built, loads, integrator, rows, parts, slopes, factors: ScaleFactors, times, how, first_input):
    model = built if isinstance(built, Model) else built.model(loads)
    step, small = times
    rows = jnp.asarray(rows)
    first = [
        jnp.stack([part.device.initial_stiffness(), part.device.initial_damping()]) if own is None else own
        for part, own in zip(parts, slopes, strict=True)
    ]
    k, c = jnp.stack(first, axis=1)
    n = model.size
    whole = dataclasses.replace(
        model,
        stiffness=_sum(model.stiffness, n) + _spread(rows, factors.force * k / factors.length),
        damping=_sum(model.damping, n) + _spread(rows, factors.force * c / factors.velocity),
    )
    prepared = tuple(part.prepare(small) for part in parts)
    constants = integrator.prepare(whole, step)
    plan = Plan(model, integrator, constants, rows, parts, prepared, factors, step, small, *how)
    carry = plan.start(first_input)
    return plan, carry, plan.seen(carry)


def _sum(matrix, n: int):
    return jnp.zeros((n, n)) if matrix is None else matrix


def _spread(rows, values):
    return jnp.einsum("pn,p,pm->nm", rows, values, rows)
