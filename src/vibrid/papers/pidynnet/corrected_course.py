"""The corrected recipe: subperiods in turn, each with its scales, a warm-up, and the information of those before."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.core.device import accelerated
from vibrid.identification.regression import states_along
from vibrid.identification.weak.ground import ground_of
from vibrid.networks import train
from vibrid.networks.training import untuned
from vibrid.papers.pidynnet.corrected_losses import CorrectedIteration, ScaledSubperiod, Scales
from vibrid.papers.pidynnet.course import SubperiodTraining
from vibrid.papers.pidynnet.losses import Learner, Subperiod, begin_training

_SMALL = 1e-3  # of the largest: a smaller size of one quantity is taken to be this


class CorrectedTraining(SubperiodTraining):
    """Subperiods in turn, as corrected."""

    iteration: CorrectedIteration

    def __init__(self, method, iteration: CorrectedIteration, key, progress, checkpoint):
        super().__init__(method, iteration, key, progress, checkpoint)
        if method.logarithms:
            self.floor = np.full(len(self.floor), -np.inf)
            self.course.low = np.full_like(self.course.low, -np.inf)
        self.course.anchor = np.ones_like(self.course.low)
        problem, (x, v, a) = iteration.problem, self.motion
        data = problem.data[0]
        n, time = x.shape[1], data.step * np.arange(len(x))
        self.ground = np.stack(ground_of(problem).motion(time)) if method.drifts else np.zeros((3, len(x), n))
        model = iteration.model(jnp.ones(len(problem.unknowns)))
        states = jax.vmap(lambda s: ravel_pytree(s)[0])(states_along(model, jnp.asarray(x), jnp.asarray(v), data.step))
        self.states = np.asarray(states)  # of the first guess: their sizes alone are used
        self.inertia = np.asarray(jax.vmap(model.mass_times)(jnp.asarray(a + self.ground[2])))

    def part(self) -> ScaledSubperiod:
        plain, course = super().part(), self.course
        inside = slice(self.edges[course.subperiod], self.edges[course.subperiod + 1] + 1)
        information = np.where(course.deviation > 0, 1.0 / np.maximum(course.deviation, 1e-12) ** 2, 0.0)
        if not self.method.information:
            information = 0.0 * information
        fields = {f.name: getattr(plain, f.name) for f in dataclasses.fields(Subperiod)}
        fields["more"] = (jnp.asarray(course.anchor), jnp.asarray(information))
        return ScaledSubperiod(**fields, scales=self.scales(inside))

    def scales(self, inside: slice) -> Scales:
        """Sizes of motion, forces and hidden states in a subperiod; a parabola is taken out of the ground's motion."""
        x, v, _ = (part[inside] for part in self.motion)
        step, mix = self.iteration.problem.data[0].step, np.asarray(self.iteration.mix)
        time = step * np.arange(len(x))
        fit = np.polyfit(time, self.ground[0, inside], 2)
        trend = (np.stack([time**2, time, time**0]).T @ fit, np.outer(2 * time, fit[0]) + fit[1], 2 * fit[0] + 0 * x)
        ground = self.ground[:, inside] - np.stack(trend)
        q, dq = (np.linalg.solve(mix, (part + moved).T).T for part, moved in zip((x, v), ground[:2], strict=True))
        states = self.states[inside]
        rates = np.gradient(states, step, axis=0)
        sizes = (q.std(axis=0), dq.std(axis=0), _rms(self.inertia[inside]), states.std(axis=0), _rms(rates))
        size, speed, force, state, rate = (
            np.maximum(s, _SMALL * s.max() + 1e-12) if self.method.scaled else np.ones_like(s) for s in sizes
        )
        middle, level = q.mean(axis=0), states.mean(axis=0)
        if not self.method.scaled:
            middle, level = 0 * middle, 0 * level
        arrays = (q, dq, ground, middle, size, speed, force, np.stack([level, state]), rate)
        return Scales(*(jnp.asarray(array) for array in arrays))

    def begin(self, part: Subperiod) -> None:
        super().begin(part)
        if count := self.method.warm_up:
            warm = dataclasses.replace(self.iteration, frozen=True, iterations=count)
            block = count if accelerated() else min(self.method.check, count)
            key = jax.random.key(self.key + 104_729 * (self.course.subperiod + 1))
            state = begin_training(warm, self.course.state.learner)
            trained = train(warm, state, key, count, block=block, data=part, tuned=False)
            self.course.state = begin_training(self.iteration, trained.state.learner)

    def end(self, part: Subperiod) -> None:
        before = np.asarray(part.more[1])
        gained = np.asarray(_information(self.iteration, self.course.state.learner, part))
        super().end(part)
        self.course.deviation = 1.0 / np.sqrt(before + gained)


def _rms(values: np.ndarray) -> np.ndarray:
    return np.sqrt(np.mean(values**2, axis=0))


@untuned
def _information(iteration: CorrectedIteration, learner: Learner, part: Subperiod):
    """(seeds, p): the information of a subperiod about the unknowns of every initialisation."""
    return jax.lax.map(lambda row: iteration.information(row[0], row[1], part), (learner, part.pools))
