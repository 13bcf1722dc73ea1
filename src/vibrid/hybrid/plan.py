"""One step of a hybrid test as pure functions, used both by a compiled scan of the whole test and by a test that goes
step by step because some of its devices are external.

A step of the structure (Δt) is: `begin` predicts the motion; in every substep (Δt/m, that of the actuators) `command`
gives the commands to external devices and `devices` moves the computed ones; `finish` passes the forces to the
integrator.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.linalg import matvec
from vibrid.hybrid.chain import Chain, Row
from vibrid.hybrid.compensation import Compensator, TargetMotion
from vibrid.hybrid.device import Companion, Reading
from vibrid.laws.base import Motion
from vibrid.simulation.base import ExplicitIntegrator, State, Trial
from vibrid.simulation.excitation import Input
from vibrid.structures.model import Model


class DeviceAnswer(NamedTuple):
    """Measurements of an external device: force (N), displacement (m), and its signals."""

    force: jax.Array
    position: jax.Array
    signals: jax.Array


class Outside(eqx.Module):
    """The computed side of an external device: the compensation of its actuator's delay."""

    compensator: Compensator | None
    signals: int = eqx.field(static=True)
    is_measured: bool = eqx.field(static=True)  # whether its displacement is measured

    def prepare(self, dt):
        return () if self.compensator is None else self.compensator.prepare(dt)

    def start(self, constants):
        compensator = () if self.compensator is None else self.compensator.start(constants)
        zero = jnp.zeros(())
        return OutsideState(compensator, TargetMotion(zero, zero, zero, zero), zero, zero)


class OutsideState(NamedTuple):
    """The computed state of an external device."""

    compensator: Any
    target: TargetMotion
    command: jax.Array
    measured: jax.Array


class Span(NamedTuple):
    """The motion of every device over a step of the structure, at the scale of the devices: (parts,) each.

    `past` (2, parts) are the displacements one and two steps before its beginning.
    """

    x0: jax.Array
    v0: jax.Array
    x1: jax.Array
    v1: jax.Array
    past: jax.Array


class Carry(NamedTuple):
    """State of a test."""

    state: State
    trial: Trial
    span: Span
    parts: tuple
    forces: jax.Array  # (parts,) N, of one device each, at the last substep


class ScaleFactors(NamedTuple):
    """Between a structure and its devices: lengths, velocities and forces of the structure / of one device."""

    length: jax.Array
    velocity: jax.Array
    force: jax.Array  # (parts,) with the number of devices in parallel


class Plan(eqx.Module):
    """The constants of a test."""

    model: Model
    integrator: ExplicitIntegrator
    constants: Any
    rows: jax.Array  # (parts, n)
    parts: tuple[Chain | Outside, ...]
    prepared: tuple
    factors: ScaleFactors
    step: jax.Array  # s, of the structure
    small: jax.Array  # s, of the actuators, laboratory time
    substeps: int = eqx.field(static=True)
    companion: tuple[int | None, ...] = eqx.field(static=True)  # the part whose measurements each part uses
    cubic: bool = eqx.field(static=True)

    def start(self, first_input) -> Carry:
        """At rest under the first inputs."""
        n = self.model.size
        rest = jnp.zeros(n)
        state = self.integrator.start(self.model, self.constants, rest, rest, self.model.start(), first_input)
        count = len(self.parts)
        parts = tuple(part.start(constants) for part, constants in zip(self.parts, self.prepared, strict=True))
        zero = jnp.zeros(count)
        still = Span(zero, zero, zero, zero, jnp.zeros((2, count)))
        return Carry(state, Trial(rest, rest, (rest, rest)), still, parts, zero)

    def begin(self, carry: Carry) -> Carry:
        """Predict the motion at the end of the step."""
        trial = self.integrator.predict(self.constants, carry.state, self.step)
        x0, v0 = self._deformations(*self.integrator.standing(carry.state))
        past = jnp.stack([carry.span.x0, carry.span.past[0]])
        return carry._replace(trial=trial, span=Span(x0, v0, *self._deformations(*trial.at), past))

    def _deformations(self, x, v):
        return matvec(self.rows, x) / self.factors.length, matvec(self.rows, v) / self.factors.velocity

    def target(self, span: Span, i: int, j) -> TargetMotion:
        """The target of device `i` at the end of substep `j`.

        The derivatives are those of the cubic through the displacements at this step's end and the three before it
        (Newton's backward differences, s = −1 … 0 over the step); a cubic command follows it too.
        """
        x0, v0, x1, v1 = (end[i] for end in span[:4])
        before, earlier = span.past[:, i]
        whole = self.small * self.substeps
        t = (j + 1) / self.substeps
        s = t - 1
        one, two, three = x1 - x0, x1 - 2 * x0 + before, x1 - 3 * x0 + 3 * before - earlier
        v = (one + (s + 0.5) * two + (0.5 * s * s + s + 1 / 3) * three) / whole
        a = (two + (s + 1) * three) / whole**2
        x = x0 + t * one
        if self.cubic:
            x = x1 + s * (one + 0.5 * (s + 1) * (two + (s + 2) / 3 * three))
        return TargetMotion(x, v, a, v0 + t * (v1 - v0))

    def command(self, carry: Carry, j) -> tuple[Carry, jax.Array]:
        """Commands to external devices in substep `j`: (external, 3) displacement, velocity, acceleration."""
        parts, commands = list(carry.parts), []
        for i, part in enumerate(self.parts):
            if isinstance(part, Outside):
                target, state = self.target(carry.span, i, j), parts[i]
                u, compensator = target.x, state.compensator
                if part.compensator is not None:
                    known = self.prepared[i], compensator, target, state.measured, self.small
                    u, compensator = part.compensator.command(*known)
                parts[i] = OutsideState(compensator, target, u, state.measured)
                commands.append(jnp.stack([u, target.rate, target.a]))
        return carry._replace(parts=tuple(parts)), jnp.stack(commands) if commands else jnp.zeros((0, 3))

    def devices(self, carry: Carry, j, answers: tuple[DeviceAnswer, ...] = ()) -> tuple[Carry, tuple[Row, ...]]:
        """Move the computed devices through substep `j`; measurements of tested devices are those of this substep."""
        parts = list(carry.parts)
        rows: dict[int, Row] = {}
        measured: dict[int, Companion] = {}
        waiting = iter(answers)
        for i in sorted(range(len(self.parts)), key=lambda i: self.companion[i] is not None):
            part, state = self.parts[i], carry.parts[i]
            if isinstance(part, Outside):
                answer = next(waiting)
                velocity = state.target.rate
                if part.is_measured:
                    velocity = (answer.position - state.measured) / self.small
                rows[i] = Row(state.target.x, state.command, answer.position, answer.force, answer.signals)
                measured[i] = Companion(Motion(answer.position, velocity), Reading(answer.force, answer.signals))
                parts[i] = state._replace(measured=answer.position)
            else:
                source = self.companion[i]
                companion = None if source is None else measured[source]
                target = self.target(carry.span, i, j)
                rows[i], measured[i], parts[i] = part.step(self.prepared[i], state, target, companion, self.small)
        ordered = tuple(rows[i] for i in range(len(self.parts)))
        return carry._replace(parts=tuple(parts), forces=jnp.stack([row.force for row in ordered])), ordered

    def finish(self, carry: Carry, ends) -> Carry:
        """The end of the step, from the forces of structure and devices; `ends` (2, inputs) before and after it."""
        trial, state = carry.trial, carry.state
        s = self.model.advance(state.s, self.integrator.standing(state), trial.at, self.step)
        forces = self.model.forces(*trial.at, s) + matvec(self.rows.T, self.factors.force * carry.forces)
        u = Input(jnp.stack([ends[0], ends[1] - ends[0]]), 0.0, 1.0, ends[1])
        args = self.model, self.constants, state, trial, s, forces, u, self.step
        return carry._replace(state=self.integrator.finish(*args))

    def seen(self, carry: Carry):
        """The recorded state of the structure at the end of a step."""
        state = carry.state
        return state.x, state.v, state.a, self.model.recorded(state.s)

    def whole_step(self, carry: Carry, ends):
        """A step of a test without external devices: (carry, (structure, rows of every substep))."""
        carry = self.begin(carry)
        if self.substeps == 1:
            carry, rows = self.devices(carry, 0)
            rows = jax.tree.map(lambda leaf: leaf[None], rows)
        else:
            carry, rows = jax.lax.scan(lambda carry, j: self.devices(carry, j), carry, jnp.arange(self.substeps))
        carry = self.finish(carry, ends)
        return carry, (self.seen(carry), rows)
