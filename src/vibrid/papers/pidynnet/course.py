"""PIDynNet as published: subperiods in turn, the unknowns of each constrained by the one before (Algorithm 1)."""

from __future__ import annotations

import dataclasses
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.device import accelerated
from vibrid.core.errors import InputError
from vibrid.core.progress import Progress
from vibrid.identification.regression import measured_motion
from vibrid.identification.weak.equations import flat_start
from vibrid.networks import Checkpoint, train
from vibrid.networks.checkpoint import tree_arrays, tree_from
from vibrid.papers.pidynnet.losses import (
    Look,
    PublishedIteration,
    PublishedState,
    Subperiod,
    begin_training,
    latent_as_response,
    new_learners,
    subperiod_of,
)
from vibrid.papers.pidynnet.motions import along, motions

_SAVE_EVERY = 20.0  # s
_MOTION_STEP = 0.01  # s between the stored points of the motions of all initialisations
_LOOKS = 5  # looks at the unknowns in one compiled program on an accelerator, which does 200 iterations in a moment
_SMALLEST = 1e-3  # of the first guess: where an unknown that must be positive stops


@dataclass
class Course:
    """The state of training, as stored in a checkpoint. Unknowns are multiples of their first guess."""

    state: PublishedState
    low: np.ndarray  # (seeds, p) where unknowns may lie in this subperiod
    high: np.ndarray
    states: np.ndarray  # (seeds, m) hidden states at its start
    deviation: np.ndarray  # (seeds, p) of the unknowns in the second half of the one before
    subperiod: int = 0
    done: int = 0  # iterations in it
    calls: int = 0  # of compiled programs
    iterations: list[int] = field(default_factory=list)  # in the subperiods that are done
    trace: list[np.ndarray] = field(default_factory=list)  # (records, seeds, p)
    when: list[np.ndarray] = field(default_factory=list)  # (records,) s of the record at which training then was
    losses: list[np.ndarray] = field(default_factory=list)  # (records, seeds, 3)
    shares: list[np.ndarray] = field(default_factory=list)  # (iterations, seeds, p) of this subperiod
    hidden: list[np.ndarray] = field(default_factory=list)  # (samples, m) of the first initialisation
    response: list[np.ndarray] = field(default_factory=list)  # (samples, n)
    motion_time: list[np.ndarray] = field(default_factory=list)  # (points,) s
    motion: list[np.ndarray] = field(default_factory=list)  # (points, seeds, 2 n + m) x, v and z of all
    anchor: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # (seeds, p) unknowns where the last one ended
    cut_short: bool = False

    _ARRAYS = ("low", "high", "states", "deviation", "anchor")
    _LISTS = ("trace", "when", "losses", "shares", "hidden", "response", "motion_time", "motion")
    _FACTS = ("subperiod", "done", "calls", "iterations")

    def along(self, name: str) -> np.ndarray:
        """A list of pieces as one array."""
        return np.concatenate(getattr(self, name))

    def save(self, checkpoint: Checkpoint) -> None:
        arrays = {name: getattr(self, name) for name in self._ARRAYS}
        arrays |= {name: self.along(name) for name in self._LISTS if getattr(self, name)}
        facts = {name: getattr(self, name) for name in self._FACTS}
        checkpoint.keep(arrays | tree_arrays(self.state, "state"), facts)

    def resumed(self, arrays: dict, facts: dict) -> Course:
        """The course stored in a checkpoint; this one, untrained, gives the structure of its state."""
        fields = {name: arrays[name] for name in self._ARRAYS}
        fields |= {name: [arrays[name]] for name in self._LISTS if name in arrays}
        state = tree_from(arrays, "state", self.state)
        if state is None:
            raise InputError("The saved training has networks of other sizes: remove its file, or name another.")
        return Course(state, **fields, **{name: facts[name] for name in self._FACTS})


def learn(training: SubperiodTraining) -> Course:
    """Train, from the checkpoint where there is one; after Ctrl-C the finished subperiods are used."""
    saved = training.checkpoint.load() if training.checkpoint else None
    if saved is not None:
        training.course = training.course.resumed(*saved)
    return training.run()


class SubperiodTraining:
    """Subperiods in turn: each is started, iterated and ended."""

    def __init__(
        self, method, iteration: PublishedIteration, key: int, progress: Progress, checkpoint: Checkpoint | None
    ):
        self.method, self.iteration, self.key = method, iteration, key
        self.progress, self.checkpoint, self.last_saved = progress, checkpoint, time.monotonic()
        problem, seeds, p = iteration.problem, method.seeds, len(iteration.problem.unknowns)
        self.motion = tuple(np.asarray(part) for part in measured_motion(problem))
        data = problem.data[0]
        count = max(round((data.samples - 1) * data.step / method.window), 1)
        self.edges = np.linspace(0, data.samples - 1, count + 1).astype(int)
        self.floor = np.where(np.isin(np.array(problem.unknowns.kinds), ["log"]), _SMALLEST, -np.inf)
        m = int(flat_start(iteration.model(jnp.ones(p))).size)
        widths = (iteration.inputs, *[method.width] * (method.layers - 1), self.motion[0].shape[1])
        learner = new_learners(jax.random.key(key), seeds, widths, m, p)
        self.course = Course(
            begin_training(iteration, learner), low=np.tile(self.floor, (seeds, 1)), high=np.full((seeds, p), np.inf),
            states=np.full((seeds, m), np.nan), deviation=np.zeros((seeds, p)),
        )  # fmt: skip

    def run(self) -> Course:
        course, beside = self.course, ThreadPoolExecutor(1)
        try:
            while course.subperiod < len(self.edges) - 1:
                part = self.part()
                words = f"subperiod {course.subperiod + 1} of {len(self.edges) - 1}"
                self.progress.stage(words, self.iteration.iterations)
                if not course.done:
                    compiled = beside.submit(self.compile, course.state, part)
                    self.begin(part)
                    compiled.result()
                while course.done < self.iteration.iterations and not np.all(course.state.done):
                    self.iterate(part)
                self.end(part)
        except KeyboardInterrupt:
            course.cut_short = True
            if not course.iterations:
                raise
        finally:
            beside.shutdown(wait=False)
        return course

    def part(self) -> Subperiod:
        """The subperiod that training is in."""
        k, course = self.course.subperiod, self.course
        inside = slice(self.edges[k], self.edges[k + 1] + 1)
        draw = (np.random.default_rng([self.key, k]), self.method.seeds, self.method.pool)
        return subperiod_of(self.iteration.problem, self.motion, inside, draw, course.low, course.high, course.states)

    def compile(self, state: PublishedState, part: Subperiod) -> None:
        """Compile the iterations beside the pretraining: on an accelerator compilation takes longer than the run."""
        if accelerated() and not self.course.calls:
            look, looks = self.looks()
            train(look, state, jax.random.key(0), looks, block=looks, data=part)

    def begin(self, part: Subperiod) -> None:
        """The response network is pretrained; in the first subperiod the latent one starts with its weights."""
        course, count = self.course, self.method.pretraining
        learner = course.state.learner
        if count:
            ahead = dataclasses.replace(self.iteration, pretraining=True, iterations=count)
            block = count if accelerated() else min(self.method.check, count)
            key = jax.random.key(self.key + 7919 * (course.subperiod + 1))
            trained = train(ahead, begin_training(ahead, learner), key, count, block=block, data=part, tuned=False)
            learner = trained.state.learner
        if course.subperiod == 0 and self.method.transfer:
            sizes = self.motion[0].shape[1], course.states.shape[1]
            learner = learner._replace(networks=latent_as_response(learner.networks, *sizes))
        course.state = begin_training(self.iteration, learner)

    def looks(self) -> tuple[Look, int]:
        """The iterations until the unknowns are checked, and the number of such checks in one program."""
        left = self.iteration.iterations - self.course.done
        more = min(self.method.check, left)
        look = Look(self.iteration, more, self.method.patience, self.method.tolerance)
        return look, max(min(_LOOKS, left // more), 1) if accelerated() else 1

    def iterate(self, part: Subperiod) -> None:
        """One compiled program of iterations."""
        course, (look, looks) = self.course, self.looks()
        key = jax.random.fold_in(jax.random.key(self.key), course.calls)
        trained = train(look, course.state, key, looks, block=looks, data=part)
        course.state = trained.state
        course.calls += 1
        course.done += looks * look.count
        share, parts = trained.history  # (looks, iterations, …), (looks, four, …)
        course.shares.append(np.concatenate(share))
        course.trace.append(np.concatenate(share[:, :: max(look.count // 4, 1)]))
        course.losses.append(np.concatenate(parts))
        began, ends = self.edges[course.subperiod : course.subperiod + 2] * self.iteration.problem.data[0].step
        reached = began + (ends - began) * course.done / self.iteration.iterations
        course.when.append(np.full(len(course.trace[-1]), reached))
        self.progress.update(course.done, f"unknowns at {share[-1, -1].mean():.3f} of their first guess")
        if self.checkpoint and time.monotonic() - self.last_saved > _SAVE_EVERY:
            course.save(self.checkpoint)
            self.last_saved = time.monotonic()

    def end(self, part: Subperiod) -> None:
        """The next subperiod keeps the unknowns near their values here, and starts from these hidden states."""
        course, constraint = self.course, self.method.constraint
        whole = course.along("shares")
        course.deviation = whole[len(whole) // 2 :].std(axis=0)
        course.anchor = np.asarray(course.state.learner.share)
        if constraint is not None:
            course.low = np.maximum(self.floor, course.anchor - constraint * course.deviation)
            course.high = course.anchor + constraint * course.deviation
        z, x, course.states = (np.asarray(a) for a in along(self.iteration, course.state.learner, part))
        final = course.subperiod + 2 == len(self.edges)
        course.hidden.append(z if final else z[:-1])  # the next one starts with the sample at which this one ends
        course.response.append(x if final else x[:-1])
        step = self.iteration.problem.data[0].step
        count = len(x) if final else len(x) - 1
        at = np.arange(0, count, max(round(_MOTION_STEP / step), 1))
        course.motion_time.append(step * (self.edges[course.subperiod] + at))
        course.motion.append(
            np.concatenate(
                motions(self.iteration, course.state.learner, part, jnp.asarray(at)), axis=2, dtype=np.float32
            )
        )
        course.iterations.append(course.done)
        course.subperiod, course.done, course.shares = course.subperiod + 1, 0, []
        if self.checkpoint:
            course.save(self.checkpoint)
