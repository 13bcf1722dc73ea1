"""PIDynNet as published, its equations of motion corrected: a method of its own, for comparison."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.core.device import accelerated, on_processor
from vibrid.core.errors import InputError
from vibrid.core.progress import SILENT
from vibrid.identification.conclude import compile_conclusion, conclude, settings_of
from vibrid.identification.method import METHODS, Method
from vibrid.identification.methods.pidynnet.tuning import Tuned, with_record
from vibrid.identification.problem import Problem
from vibrid.identification.weak.equations import check_rates, flat_start
from vibrid.networks import Checkpoint, fingerprint, train
from vibrid.papers.pidynnet.course import Course, SubperiodTraining, learn
from vibrid.papers.pidynnet.losses import PublishedIteration, Subperiod, begin_training, new_learners
from vibrid.papers.pidynnet.motions import along
from vibrid.records.record import Record


def three_weights(values: Iterable[float]) -> tuple[float, float, float]:
    """The weights of the three losses."""
    weights = tuple(values)
    if len(weights) != 3:
        raise InputError(f"There are three weights (readings, equations, hidden states), not {len(weights)}.")
    return weights[0], weights[1], weights[2]


@METHODS.register("pidynnet-as-published")
class PIDynNetAsPublished(Method):
    """PIDynNet as printed in its paper: two networks with time and ground acceleration as inputs, residuals at points.

    Adam trains the networks and the unknowns on one subperiod after the other. The equations of motion are corrected;
    `losses` lists settings not stated in the paper. It needs displacement, velocity and acceleration of every degree of
    freedom and a record without gaps, and its schedule needs an accelerator. Use `PIDynNet` for results.

    Arguments
        seeds: initialisations trained side by side; the estimate is their mean.
        window: length of a subperiod in s.
        iterations, pretraining: of every subperiod.
        batch, pool: samples in an iteration, drawn from a pool of so many in a subperiod.
        rate: of Adam; it falls to a tenth within a subperiod.
        weights: of the supervised, the physics and the latent loss.
        constraint: standard deviations of the last iterations within which the next subperiod keeps the unknowns; None
            leaves them free.
        check, patience, tolerance: a subperiod ends when unknowns, looked at every `check` iterations, stay within
            `tolerance` for `patience` looks (Eq. 16).
        width, layers: of both networks.
        ground_input: whether the ground acceleration is an input beside time, as in the paper.
        transfer: whether the latent network starts with the weights of the pretrained response network.
        checkpoint: file of the state of training, which resumes from it after Ctrl-C or a kill; removed at the end.
    """

    seeds: int = eqx.field(static=True, default=1)
    window: float = eqx.field(static=True, default=5.0)
    iterations: int = eqx.field(static=True, default=10_000)
    pretraining: int = eqx.field(static=True, default=1000)
    batch: int = eqx.field(static=True, default=500)
    pool: int = eqx.field(static=True, default=1000)
    rate: float = eqx.field(static=True, default=1e-3)
    weights: tuple[float, float, float] = eqx.field(static=True, default=(1.0, 1.0, 10.0), converter=three_weights)
    constraint: float | None = eqx.field(static=True, default=3.0)
    check: int = eqx.field(static=True, default=200)
    patience: int = eqx.field(static=True, default=3)
    tolerance: float = eqx.field(static=True, default=1e-4)
    width: int = eqx.field(static=True, default=64)
    layers: int = eqx.field(static=True, default=5)
    ground_input: bool = eqx.field(static=True, default=True)
    transfer: bool = eqx.field(static=True, default=True)
    checkpoint: str | None = eqx.field(static=True, default=None)

    abilities: ClassVar[frozenset[str]] = frozenset({"latent states"})
    independent_of: ClassVar[frozenset[str]] = frozenset({"substeps", "integrator"})  # no time stepping

    def __check_init__(self):
        for name in ("seeds", "iterations", "batch", "pool", "check", "patience", "width"):
            if getattr(self, name) < 1:
                raise InputError(f"PIDynNetAsPublished's '{name}' must be 1 or more, not {getattr(self, name)}.")
        if self.window <= 0 or self.layers < 2:
            raise InputError("PIDynNetAsPublished needs a subperiod longer than zero and two layers or more.")

    def iteration(self, problem: Problem, **changes) -> PublishedIteration:
        """One iteration of all initialisations."""
        changes |= {"ground_input": self.ground_input}
        return PublishedIteration(problem, self.weights, self.batch, self.rate, self.iterations, **changes)

    def training(self, iteration, key: int, progress, kept: Checkpoint | None) -> SubperiodTraining:
        """The training of all subperiods."""
        return SubperiodTraining(self, iteration, key, progress, kept)

    def solve(self, problem: Problem, key=0, progress=SILENT):
        started = time.perf_counter()
        check_rates(problem)
        iteration, kept = self.iteration(problem), self._kept(problem, key)
        with ThreadPoolExecutor(1) as beside:
            if accelerated():
                beside.submit(compile_conclusion, problem)
            course = learn(self.training(iteration, key, progress, kept))
        if kept and not course.cut_short:
            kept.remove()
        with on_processor():
            return self._result(problem, iteration, course, key, started)

    def fine_tune(self, fit, record: Record, progress=SILENT, iterations: int = 1000, imposed: bool = False) -> Tuned:
        """Algorithm 2: the response to another motion, by Adam on the losses of the equations alone.

        The networks continue from their trained weights, from subperiod to subperiod; the unknowns stay. `imposed` adds
        the state at the start of each subperiod, which the printed losses leave undetermined.
        """
        started = time.perf_counter()
        problem = with_record(fit.problem, record)
        iteration = dataclasses.replace(self.iteration(problem, fixed=True, imposed=imposed), iterations=iterations)
        share = jnp.asarray(np.asarray(fit.estimate) / np.asarray(problem.unknowns.start))
        model = iteration.model(share)
        n, m = model.size, int(flat_start(model).size)
        widths = (2, *[self.width] * (self.layers - 1), n)
        learner = new_learners(jax.random.key(0), 1, widths, m, len(share))
        vector, unravel = ravel_pytree(jax.tree.map(lambda leaf: leaf[0], learner))
        if fit.history.get("learner", np.zeros(0)).size != vector.size:
            raise InputError("Fine-tuning as published needs a result of PIDynNetAsPublished with these networks.")
        learner = jax.tree.map(
            lambda leaf: leaf[None], unravel(jnp.asarray(fit.history["learner"]))._replace(share=share)
        )
        data = problem.data[0]
        inputs = np.asarray(data.drive.samples)
        count = max(round((data.samples - 1) * data.step / self.window), 1)
        edges = np.linspace(0, data.samples - 1, count + 1).astype(int)
        largest = np.max(np.abs(inputs[:, 0])) or 1.0
        x0, v0, states = np.zeros(n), np.zeros(n), np.full((1, m), np.nan)
        parts, left = [], []
        free = np.full((1, len(share)), np.inf)
        for k in range(count):
            inside = slice(edges[k], edges[k + 1] + 1)
            u = inputs[inside]
            duration = data.step * (len(u) - 1)
            pool = np.random.default_rng([fit.seed, k]).permutation(len(u))[: self.pool][None]
            motion = [np.tile(a, (len(u), 1)) for a in (x0, v0)]
            arrays = (np.linspace(0, 1, len(u)), u[:, 0] / largest, u, *motion, pool, -free, free, states)
            part = Subperiod(*(jnp.asarray(a) for a in arrays), duration=jnp.asarray(duration))
            progress.stage(f"fine-tuning, subperiod {k + 1} of {count}", iterations)
            block = min(self.check, iterations)
            begun = begin_training(iteration, learner)
            trained = train(iteration, begun, jax.random.key(k), iterations, block=block, data=part, progress=progress)
            learner = trained.state.learner
            z, x, ends = (np.asarray(a) for a in along(iteration, learner, part))
            v0 = np.gradient(x, data.step, axis=0)[-1]
            x0, states = x[-1], ends
            parts.append((z[: None if k + 1 == count else -1], x[: None if k + 1 == count else -1]))
            left.append(trained.history[1][-1, 0, 1])
        z, x = (np.concatenate([p[i] for p in parts]) for i in range(2))
        rms = float(np.sqrt(np.mean(left) / (self.batch * n)) / (np.sqrt(np.mean(inputs[:, 0] ** 2)) + 1e-300))
        return Tuned(data.step * np.arange(len(x)), x, z, rms, iterations, time.perf_counter() - started)

    def _kept(self, problem: Problem, key: int) -> Checkpoint | None:
        if not self.checkpoint:
            return None
        settings = {k: v for k, v in settings_of(self).items() if k != "checkpoint"}
        data = [(d.readings, d.present, d.drive.samples) for d in problem.data]
        return Checkpoint(self.checkpoint, fingerprint(settings, key, data, problem.unknowns.start))

    def _result(self, problem: Problem, iteration: PublishedIteration, course: Course, key: int, started: float):
        learner, trace, losses = course.state.learner, course.along("trace"), course.along("losses")
        theta = np.asarray(iteration.theta(np.asarray(learner.share)))
        mean = theta.mean(axis=0)
        free = problem.unknowns.to_free(mean)
        slope = np.asarray(problem.unknowns.slope(jnp.asarray(free)))
        moved, first = (np.asarray(iteration.theta(s + 1.0)) for s in (course.deviation[0], 0 * mean))
        spread = theta.std(axis=0, ddof=1) if self.seeds > 1 else np.abs(moved - first)
        about = "initialisations" if self.seeds > 1 else "last iterations"
        return conclude(
            problem,
            self,
            free,
            started=started,
            covariance=np.diag((np.maximum(spread, 1e-12 * np.abs(mean)) / slope) ** 2),
            warnings=(
                f"± 2σ is the spread of the {about}, as in the paper: it does not measure the error they share.",
            ),
            history={
                "estimate": np.asarray(iteration.theta(trace.mean(axis=1))),
                "traces": np.asarray(iteration.theta(trace)),
                "trace_time": course.along("when"),
                "losses": losses,
                "cost": losses.sum(axis=2).mean(axis=1),
                "seeds": theta,
                "time": problem.data[0].step * np.arange(len(course.along("hidden"))),
                "states": course.along("hidden"),
                "response": course.along("response"),
                "motion_time": course.along("motion_time"),
                "motion": course.along("motion"),
                "learner": np.asarray(ravel_pytree(jax.tree.map(lambda leaf: np.asarray(leaf)[0], learner))[0]),
            },
            convergence={
                "spread_of_seeds": dict(zip(problem.unknowns.names, map(float, spread), strict=True)),
                "iterations": course.iterations,
            },
            seed=key,
            cut_short=course.cut_short,
        )
