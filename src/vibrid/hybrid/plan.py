"""One step of a hybrid test as pure functions: the same ones make a compiled scan of the whole test, and a test that
goes step by step because some of its devices are outside.

A step of the structure (Δt) is: `begin` predicts the motion; every substep (Δt/m, that of the machines) `command` asks
the devices outside for their part and `devices` moves those inside; `finish` hands the forces to the integrator.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core.linalg import matvec
from vibrid.hybrid.chain import Chain, Row
from vibrid.hybrid.compensation import Compensator, TargetMotion
from vibrid.hybrid.device import Heard, Reading
from vibrid.laws.base import Motion
from vibrid.simulation.base import ExplicitIntegrator, State, Trial
from vibrid.simulation.excitation import Input
from vibrid.structures.model import Model


class DeviceAnswer(NamedTuple):
    """What came back from a device outside: force (N), where it was found (m), and its signals."""

    force: jax.Array
    position: jax.Array
    signals: jax.Array


class Outside(eqx.Module):
    """The side of a device outside that is computed here: the compensation of its machine's delay."""

    compensator: Compensator | None
    signals: int = eqx.field(static=True)
    is_measured: bool = eqx.field(static=True)  # whether it says where it was found

    def prepare(self, dt):
        return () if self.compensator is None else self.compensator.prepare(dt)

    def start(self, constants):
        own = () if self.compensator is None else self.compensator.start(constants)
        return OutsideState(own, TargetMotion(*jnp.zeros(4)), jnp.zeros(()), jnp.zeros(()))


class OutsideState(NamedTuple):
    """Where a device outside stands, as far as it is known here."""

    compensator: Any
    target: TargetMotion
    command: jax.Array
    measured: jax.Array


class Span(NamedTuple):
    """The motion of every device over a step of the structure, on the scale of the devices: (parts,) each.

    `past` (2, parts) are the displacements one and two steps before its beginning.
    """

    x0: jax.Array
    v0: jax.Array
    x1: jax.Array
    v1: jax.Array
    past: jax.Array


class Carry(NamedTuple):
    """Where a test stands."""

    state: State
    trial: Trial
    span: Span
    parts: tuple
    forces: jax.Array  # (parts,) N, of one device each, at the last substep


class ScaleFactors(NamedTuple):
    """Between a structure and its devices: lengths, velocities and forces of the structure / of one device."""

    length: jax.Array
    velocity: jax.Array
    force: jax.Array  # (parts,) numbers side by side included


class Plan(eqx.Module):
    """What is constant over a test."""

    model: Model
    integrator: ExplicitIntegrator
    constants: Any
    rows: jax.Array  # (parts, n)
    parts: tuple[Chain | Outside, ...]
    prepared: tuple
    factors: ScaleFactors
    step: jax.Array  # s, of the structure
    small: jax.Array  # s, of the machines, laboratory time
    substeps: int = eqx.field(static=True)
    listens: tuple[int | None, ...] = eqx.field(static=True)  # the part that each part hears
    cubic: bool = eqx.field(static=True)

    def start(self, first_input) -> Carry:
        """At rest under the first inputs."""
        n = self.model.size
        rest = jnp.zeros(n)
        state = self.integrator.start(self.model, self.constants, rest, rest, self.model.start(), first_input)
        count = len(self.parts)
        parts = tuple(part.start(own) for part, own in zip(self.parts, self.prepared, strict=True))
        still = Span(*jnp.zeros((4, count)), jnp.zeros((2, count)))
        return Carry(state, Trial(rest, rest, (rest, rest)), still, parts, jnp.zeros(count))

    def begin(self, carry: Carry) -> Carry:
        """Predict the motion at the end of the step."""
        trial = self.integrator.predict(self.constants, carry.state, self.step)
        x0, v0 = self._deformations(*self.integrator.standing(carry.state))
        past = jnp.stack([carry.span.x0, carry.span.past[0]])
        return carry._replace(trial=trial, span=Span(x0, v0, *self._deformations(*trial.at), past))

    def _deformations(self, x, v):
        return matvec(self.rows, x) / self.factors.length, matvec(self.rows, v) / self.factors.velocity

    def target(self, span: Span, i: int, j) -> TargetMotion:
        """Where device `i` is wanted at the end of substep `j`.

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
        """What the devices outside are asked for in substep `j`: (outside, 3) displacement, velocity, acceleration."""
        parts, asked = list(carry.parts), []
        for i, part in enumerate(self.parts):
            if isinstance(part, Outside):
                target, state = self.target(carry.span, i, j), parts[i]
                u, own = target.x, state.compensator
                if part.compensator is not None:
                    known = self.prepared[i], own, target, state.measured, self.small
                    u, own = part.compensator.command(*known)
                parts[i] = OutsideState(own, target, u, state.measured)
                asked.append(jnp.stack([u, target.rate, target.a]))
        return carry._replace(parts=tuple(parts)), jnp.stack(asked) if asked else jnp.zeros((0, 3))

    def devices(self, carry: Carry, j, answers: tuple[DeviceAnswer, ...] = ()) -> tuple[Carry, tuple[Row, ...]]:
        """Move the devices inside through substep `j`; those that listen hear what the others showed in it."""
        parts, rows, said = list(carry.parts), [None] * len(self.parts), [None] * len(self.parts)
        waiting = iter(answers)
        for i in sorted(range(len(self.parts)), key=lambda i: self.listens[i] is not None):
            part, state = self.parts[i], carry.parts[i]
            if isinstance(part, Outside):
                answer = next(waiting)
                velocity = state.target.rate
                if part.is_measured:
                    velocity = (answer.position - state.measured) / self.small
                rows[i] = Row(state.target.x, state.command, answer.position, answer.force, answer.signals)
                said[i] = Heard(Motion(answer.position, velocity), Reading(answer.force, answer.signals))
                parts[i] = state._replace(measured=answer.position)
            else:
                heard = None if self.listens[i] is None else said[self.listens[i]]
                target = self.target(carry.span, i, j)
                rows[i], said[i], parts[i] = part.step(self.prepared[i], state, target, heard, self.small)
        return carry._replace(parts=tuple(parts), forces=jnp.stack([row.force for row in rows])), tuple(rows)

    def finish(self, carry: Carry, ends) -> Carry:
        """The end of the step, from the forces of structure and devices; `ends` (2, inputs) before and after it."""
        trial, state = carry.trial, carry.state
        s = self.model.advance(state.s, self.integrator.standing(state), trial.at, self.step)
        forces = self.model.forces(*trial.at, s) + matvec(self.rows.T, self.factors.force * carry.forces)
        u = Input(jnp.stack([ends[0], ends[1] - ends[0]]), 0.0, 1.0, ends[1])
        args = self.model, self.constants, state, trial, s, forces, u, self.step
        return carry._replace(state=self.integrator.finish(*args))

    def seen(self, carry: Carry):
        """What is kept of the structure at the end of a step."""
        state = carry.state
        return state.x, state.v, state.a, self.model.recorded(state.s)

    def whole_step(self, carry: Carry, ends):
        """A step of a test whose devices are all inside: (carry, (structure, rows of every substep))."""
        carry = self.begin(carry)
        if self.substeps == 1:
            carry, rows = self.devices(carry, 0)
            rows = jax.tree.map(lambda leaf: leaf[None], rows)
        else:
            carry, rows = jax.lax.scan(lambda carry, j: self.devices(carry, j), carry, jnp.arange(self.substeps))
        carry = self.finish(carry, ends)
        return carry, (self.seen(carry), rows)
