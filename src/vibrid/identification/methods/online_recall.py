"""OnlineRecall: fixed-lag smoothing of the motion, a reservoir of past samples, and a repeated fit to all of them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.errors import InputError, Refusal
from vibrid.core.progress import SILENT
from vibrid.identification.conclude import conclude
from vibrid.identification.method import METHODS, SETTINGS, Sample, Sequential
from vibrid.identification.online.measured import check_force, force_read, has_snapshots, memory_capacity, memory_law
from vibrid.identification.online.reservoir import Reservoir, admit, empty_reservoir
from vibrid.identification.online.runs import run_record
from vibrid.identification.online.smoothing import LagSmoother, SmoothingState
from vibrid.identification.problem import Problem
from vibrid.laws.masing import Memory, begun, empty_memory, remember

if TYPE_CHECKING:
    from vibrid.core.progress import Progress
    from vibrid.identification.result import Identification

_HUBER = 1.5  # residuals beyond this many standard deviations have linear cost
_LONGEST = 0.5  # of a correction, in the free unit: a factor of 1.65
_OTHER_BASIN = 1.1  # ratio of misfits below which a second estimate makes the first uncertain


class Answers(NamedTuple):
    """Several estimates in parallel, and the one with the smallest misfit."""

    free: jax.Array  # (members, p) φ
    damping: jax.Array  # (members,) of Levenberg–Marquardt
    misfit: jax.Array  # (members,) Huber cost of the reservoir over its points, in units of the reading²
    best: jax.Array
    covariance: jax.Array  # (p, p) of φ of the best
    moved: jax.Array  # largest change of the best estimate in its last correction


class Recollection(NamedTuple):
    """The smoothed motion, the memory of the law that follows it, the reservoir of past samples, and the estimates."""

    smoothing: SmoothingState
    delayed: jax.Array  # (2, lag + 1) reading and its presence, oldest first
    memory: Memory
    reservoir: Reservoir
    answers: Answers
    seen: jax.Array


@METHODS.register("online-recall")
class OnlineRecall(Sequential):
    """Fixed-lag smoothing of the motion, then an iterated fit of ln θ to a reservoir of the whole past.

    Because the memory of a distributed-element law does not depend on its parameters, every past sample can be
    evaluated
    exactly for any θ: nothing is linearised once, as in a Kalman filter. Residuals are weighted after Huber. Several
    estimates from scattered first guesses are kept in parallel against local minima; the one with the smallest misfit
    is reported, and `warnings` states when it is uncertain.

    For a device whose deformation is imposed and whose law has such a memory (masing, iwan).

    Arguments
        lag: delay of the smoothed motion, and of the estimate, in samples.
        every: samples between corrections.
        points: size of the reservoir.
        members: estimates kept in parallel.
        spread: scatter of their first guesses, in the free unit (0.4 is about ± 40 %).
        forget: seconds after which a sample weighs 1/e; infinite for constant parameters.
    """

    lag: int = eqx.field(static=True, default=15)
    every: int = eqx.field(static=True, default=10)
    points: int = eqx.field(static=True, default=1600)
    members: int = eqx.field(static=True, default=3)
    spread: float = eqx.field(static=True, default=0.4)
    forget: float = eqx.field(static=True, default=float("inf"))

    abilities: ClassVar[frozenset[str]] = frozenset(
        {"partial sensors", "latent states", "path laws", "unaveraged memory", "missing samples"}
    )
    independent_of: ClassVar[frozenset[str]] = frozenset(SETTINGS)  # it uses only values at the samples

    def __check_init__(self) -> None:
        for name, least in (("lag", 1), ("every", 1), ("points", 20), ("members", 1)):
            if getattr(self, name) < least:
                raise InputError(f"OnlineRecall needs {name} of {least} or more, not {getattr(self, name)}.")

    # -- sample by sample ----------------------------------------------------------------------------------------

    def init(self, problem: Problem, key: int = 0, *, free: Array | None = None) -> Recollection:
        if not has_snapshots(problem):
            raise Refusal(
                "OnlineRecall needs a device with imposed deformation, one force sensor, and a law whose memory does "
                "not depend on its parameters (masing, iwan). Use online-masing, ukf or trajectory for others."
            )
        check_force(problem, self)
        capacity, p = memory_capacity(problem.experiment), len(problem.unknowns)
        first = jnp.asarray(problem.start if free is None else free)
        scatter = self.spread * jax.random.normal(jax.random.PRNGKey(key), (self.members, p))
        none = jnp.zeros((), jnp.int32)
        answers = Answers(
            free=first + scatter.at[0].set(0.0),
            damping=jnp.full(self.members, 1e-2),
            misfit=jnp.full(self.members, jnp.inf),
            best=none,
            covariance=jnp.eye(p),
            moved=jnp.asarray(jnp.inf),
        )
        return Recollection(
            smoothing=self.smoother().start(),
            delayed=jnp.zeros((2, self.lag + 1)),
            memory=empty_memory(capacity),
            reservoir=empty_reservoir(self.points, capacity),
            answers=answers,
            seen=none,
        )

    def smoother(self) -> LagSmoother:
        return LagSmoother.make(self.lag)

    def step(self, problem: Problem, state: Recollection, sample: Sample) -> Recollection:
        """Add one sample; correct the estimates every `every` samples."""
        known = jnp.all(jnp.isfinite(sample.inputs))
        x = jnp.where(known, sample.inputs[0], state.smoothing.motion[0, -1])
        v = jnp.where(known, sample.inputs[1], 0.0)
        smoothing, x, v, ready = self.smoother().step(state.smoothing, x, v, sample.dt)
        reading = jnp.stack([force_read(problem, sample), sample.present[0] * known])
        delayed = jnp.concatenate([state.delayed[:, 1:], reading[:, None]], axis=1)
        moved, _ = remember(begun(state.memory, x), x)
        memory = jax.tree.map(lambda new, old: jnp.where(ready, new, old), moved, state.memory)
        reservoir = admit(
            state.reservoir, memory, v, delayed[0, 0], state.seen.astype(float), ready & (delayed[1, 0] > 0)
        )
        state = state._replace(
            smoothing=smoothing, delayed=delayed, memory=memory, reservoir=reservoir, seen=state.seen + 1
        )
        enough = reservoir.filled >= 5 * len(problem.unknowns)
        now = enough & (state.seen % self.every == 0)
        answers = jax.lax.cond(now, lambda s: self._correct(problem, s, sample.dt), lambda s: s.answers, state)
        return state._replace(answers=answers)

    # -- corrections ---------------------------------------------------------------------------------------------

    def _correct(self, problem: Problem, state: Recollection, dt) -> Answers:
        """One Levenberg–Marquardt correction of every estimate, on the whole reservoir."""
        pool, old = state.reservoir, state.answers
        present = jnp.arange(self.points) < pool.filled
        age = (state.seen - pool.number) * dt
        weight = jnp.where(present, jnp.exp(-age / self.forget), 0.0)
        total = jnp.sum(weight)

        def residuals(free):
            law = memory_law(problem.unknowns.apply(problem.experiment, free))
            force = jax.vmap(law.recall)(pool.memories, pool.velocity)
            return jnp.where(present, force - pool.reading, 0.0)

        def both(free):
            r = residuals(free)
            return r, r

        jacobian, r = jax.vmap(jax.jacfwd(both, has_aux=True))(old.free)
        noise = self._noise(r[old.best], weight)

        def cost(r):
            size = jnp.abs(r) / noise
            return jnp.sum(weight * noise**2 * jnp.where(size < _HUBER, 0.5 * size**2, _HUBER * (size - 0.5 * _HUBER)))

        def correct(free, damping, slope, r):
            robust = weight * jnp.minimum(1.0, _HUBER * noise / jnp.maximum(jnp.abs(r), 1e-300))
            normal = (slope.T * robust) @ slope
            diagonal = jnp.diag(normal)
            damped = normal + jnp.diag(damping * diagonal + 1e-9 * jnp.max(diagonal) + 1e-300)
            change = jnp.clip(-jnp.linalg.solve(damped, (slope.T * robust) @ r), -_LONGEST, _LONGEST)
            before, after = cost(r), cost(residuals(free + change))
            better = after < before
            free = jnp.where(better, free + change, free)
            damping = jnp.clip(jnp.where(better, damping / 4.0, damping * 5.0), 1e-8, 1e6)
            return free, damping, jnp.where(better, after, before) / total, normal

        free, damping, misfit, normal = jax.vmap(correct)(old.free, old.damping, jacobian, r)
        misfit = jnp.where(jnp.isfinite(misfit), misfit, jnp.inf)
        best = jnp.argmin(misfit).astype(jnp.int32)
        echo = jnp.clip(jnp.sum(r[best, 1:] * r[best, :-1]) / jnp.maximum(jnp.sum(r[best] ** 2), 1e-300), 0.0, 0.95)
        scaled = normal[best] / jnp.maximum(noise, 1e-300) ** 2 * (1.0 - echo) / (1.0 + echo)
        covariance = jnp.linalg.inv(scaled + jnp.eye(free.shape[1]))
        moved = jnp.max(jnp.abs(free[best] - old.free[old.best]))
        return Answers(free, damping, misfit, best, covariance, moved)

    @staticmethod
    def _noise(r, weight):
        """Robust standard deviation of the residuals, from their mean absolute value."""
        return 1.2533 * jnp.sum(weight * jnp.abs(r)) / jnp.maximum(jnp.sum(weight), 1e-300) + 1e-300

    # -- estimates and their uncertainty --------------------------------------------------------------------------

    def estimate(self, problem: Problem, state: Recollection) -> tuple[jax.Array, jax.Array]:
        """θ̂ of the best estimate and its standard deviation, physical."""
        free = state.answers.free[state.answers.best]
        deviation = jnp.sqrt(jnp.diag(state.answers.covariance)) * jnp.abs(problem.unknowns.slope(free))
        return problem.unknowns.to_physical(free), deviation

    def flags(self, state: Recollection):
        """(few samples, second minimum, weakly identifiable, still changing, memory full), as booleans."""
        a = state.answers
        free, deviation = a.free[a.best], jnp.sqrt(jnp.diag(a.covariance))
        apart = jnp.any(jnp.abs(a.free - free) > jnp.maximum(0.05, 4.0 * deviation), axis=1)
        second = jnp.any(apart & (a.misfit < _OTHER_BASIN * a.misfit[a.best]))
        few = state.reservoir.filled < 10 * a.free.shape[1]
        loose, moving = jnp.any(deviation > 0.15), a.moved > jnp.maximum(0.02, 2.0 * jnp.max(deviation))
        return jnp.stack([few, second, loose, moving, state.memory.overflow])

    def warnings(self, problem: Problem, state: Recollection) -> list[str]:
        """Messages: reasons why the estimate is uncertain."""
        loose = np.sqrt(np.diag(np.asarray(state.answers.covariance))) > 0.15
        names = ", ".join(n for n, far in zip(problem.unknowns.names, loose, strict=True) if far)
        messages = (
            f"Uncertain: only {int(state.reservoir.filled)} useful samples so far.",
            "Uncertain: another estimate, from another first guess, fits the past nearly as well.",
            f"Uncertain: weakly identifiable from these data: {names}.",
            "Uncertain: the estimate is still changing.",
            "The memory of the law was full: give it a larger capacity, or a larger lag to smooth the motion more.",
        )
        return [m for m, on in zip(messages, np.asarray(self.flags(state)), strict=True) if on]

    # -- a whole record ------------------------------------------------------------------------------------------

    def solve(self, problem: Problem, key: int = 0, progress: Progress = SILENT) -> Identification:
        started = time.perf_counter()
        progress.stage("sample by sample (compiling)", 1)
        state, (path, band) = run_record(self, problem, self.init(problem, key), 0)
        progress.update(1)
        a = state.answers
        return conclude(
            problem,
            self,
            np.asarray(a.free[a.best]),
            started=started,
            covariance=np.asarray(a.covariance),
            warnings=tuple(self.warnings(problem, state)),
            history={"estimate": np.asarray(path), "deviation": np.asarray(band)},
            convergence={
                "sure": not bool(np.any(np.asarray(self.flags(state)))),
                "misfit": float(np.sqrt(2.0 * a.misfit[a.best])),
                "points": int(state.reservoir.filled),
            },
            seed=key,
        )
