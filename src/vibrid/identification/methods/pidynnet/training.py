"""Training of the default setting: the physics is tightened stage by stage, all initialisations at once.

In every stage the Gauss–Newton matrix of skip weights and unknowns is factorised at the current point, and L-BFGS in
64-bit numbers continues with it as its preconditioner, until the loss stops falling.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.methods.pidynnet.precondition import Factor, factorise
from vibrid.identification.methods.pidynnet.task import Task
from vibrid.identification.methods.pidynnet.windows import make_networks
from vibrid.networks import Checkpoint, QuasiNewton, train

_SMALLEST_NOISE = 1e-3  # of a signal's rms: better than this the networks need not follow a reading
_ROUNDS = 4
_SETTLED = 0.05  # fall of the loss in a round below which training is done: half a squared standard deviation is 0.5
_PASSABLE = 3.0  # the same in one step of the stages on the way, in which the small networks are held
BROKEN = 0.4
"""Mean square of the equations over their allowed size, above which they are not met: tightening stops."""


class NetworkDescent(QuasiNewton):
    """The loss of one initialisation as a function of one vector: skip weights, unknowns, network weights."""

    skip: tuple[int, int, int] = eqx.field(static=True, default=(1, 1, 1))
    unknowns: int = eqx.field(static=True, default=1)
    kind: str = eqx.field(static=True, default="mlp")
    widths: tuple[int, ...] = eqx.field(static=True, default=())  # of a network with inputs and outputs; () for none
    fixed: bool = eqx.field(static=True, default=False)  # whether the unknowns stay where they are

    def networks(self, key: jax.Array) -> Any:
        return make_networks(self.kind, key, self.skip[0], self.widths) if self.widths else None

    def join(self, skip: jax.Array, free: Array, networks: Any) -> jax.Array:
        return jnp.concatenate([jnp.ravel(skip), free, *(jnp.ravel(leaf) for leaf in jax.tree.leaves(networks))])

    def split(self, x: jax.Array) -> tuple[jax.Array, Any, jax.Array]:
        """Skip weights, networks and φ."""
        linear = prod(self.skip)
        skip, free, rest = jnp.split(x, [linear, linear + self.unknowns])
        if not self.widths:
            return skip.reshape(self.skip), None, free
        leaves, structure = jax.tree.flatten(eqx.filter_eval_shape(self.networks, jax.random.key(0)))
        arrays, place = [], 0
        for leaf in leaves:
            arrays.append(rest[place : place + leaf.size].reshape(leaf.shape))
            place += leaf.size
        return skip.reshape(self.skip), jax.tree.unflatten(structure, arrays), free

    def objective(self, x: jax.Array, data: tuple[Task, Factor]) -> jax.Array:
        skip, networks, free = self.split(x)
        return data[0].objective(skip, networks, jax.lax.stop_gradient(free) if self.fixed else free)

    def precondition(self, slope: jax.Array, data: tuple[Task, Factor]) -> jax.Array:
        linear = prod(self.skip)
        skip, free, rest = jnp.split(slope, [linear, linear + self.unknowns])
        weights, change = data[1].solve(skip.reshape(self.skip[0], -1), free)
        return jnp.concatenate([jnp.ravel(weights), change, data[1].bent * rest])

    def recorded(self, x: jax.Array, value: jax.Array, data: tuple[Task, Factor]) -> tuple[jax.Array, jax.Array]:
        linear = prod(self.skip)
        return value, jax.lax.dynamic_slice(x, (linear,), (self.unknowns,))


class Seeds(eqx.Module):
    """A step of all initialisations side by side."""

    one: NetworkDescent

    def __call__(self, memory, key, data):
        return jax.vmap(self.one, in_axes=(0, None, None))(memory, key, data)

    @eqx.filter_jit
    def start(self, x):
        return jax.vmap(self.one.start)(x)

    @eqx.filter_jit
    def mean_motion(self, x, task: Task):
        """The motion at the points of the grid, averaged over initialisations; and φ of each."""
        frees = jax.vmap(lambda each: self.one.split(each)[2])(x)
        motions = jax.vmap(lambda each: task.motion(*self.one.split(each)[:2])[0])(x)
        return jax.tree.map(lambda leaf: leaf.mean(axis=0), motions), frees

    @eqx.filter_jit
    def middle(self, x):
        """Skip weights, networks and φ of the mean of all initialisations."""
        return self.one.split(jnp.mean(x, axis=0))

    @eqx.filter_jit
    def parts(self, x, task: Task):
        """Of every initialisation: sums of squares of readings (sensors,), equations, start, ridge."""
        return jax.vmap(lambda each: task.parts(*self.one.split(each)))(x)


@dataclass
class TrainedTask:
    """The end of training: vectors of all initialisations, the task with its last noise and eps, and the history."""

    x: np.ndarray  # (seeds, …)
    task: Task
    factor: Factor
    losses: np.ndarray  # (steps, seeds)
    trace: np.ndarray  # (steps, seeds, p) φ after every step
    stages: list[dict[str, Any]] = field(default_factory=list)
    held: float = float("nan")  # smallest share to which the equations were met
    stopped: bool = False  # tightening stopped because they were not
    cut_short: bool = False


def anneal(
    seeds: Seeds,
    x: np.ndarray,
    task: Task,
    ladder: tuple[float, ...],
    steps: int,
    given: np.ndarray,
    size: np.ndarray,
    progress: Progress = SILENT,
    checkpoint: Checkpoint | None = None,
) -> TrainedTask:
    """Train at every eps of the ladder in turn, noise re-estimated in between where it is not given.

    Arguments
        x: (seeds, …) starting points.
        steps: L-BFGS steps after each factorisation.
        given: (sensors,) stated noise, NaN where there is none.
        size: (sensors,) rms of the readings.
    """
    noise = np.maximum(np.asarray(task.noise), _SMALLEST_NOISE * size)
    first, losses, trace, stages, best = 0, [], [], [], None
    saved = checkpoint.load() if checkpoint else None
    if saved is not None:
        arrays, facts = saved
        x, noise, losses, trace = arrays["x"], arrays["noise"], [arrays["losses"]], [arrays["trace"]]
        first, stages = facts["stage"], facts["stages"]
    cut_short = stopped = False
    number = task.intervals.times.shape[0] * task.equations.shape[0]
    factor = None
    try:
        for i in range(first, len(ladder)):
            task = with_weights(task, noise, ladder[i])
            progress.stage(f"training, equations to {100 * ladder[i]:.2g} %", _ROUNDS)
            final, last, turn = i + 1 == len(ladder), np.inf, 0
            for turn in range(_ROUNDS):
                factor = factorise(task, *seeds.middle(x))
                if not (final and turn):  # skip paths and unknowns first: the preconditioner alone nearly solves them
                    factor = eqx.tree_at(lambda f: f.bent, factor, jnp.zeros(()))
                trained = train(seeds, seeds.start(x), jax.random.key(0), steps, block=steps, data=(task, factor))
                x = np.asarray(trained.state.x)
                values, frees = trained.history
                losses.append(values)
                trace.append(frees)
                progress.update(turn + 1, f"loss {values[-1].mean():.6g}")
                if final and np.max(last - values[-1]) < _SETTLED:
                    break
                if not final and np.max(values[-2:][0] - values[-1]) < _PASSABLE:
                    break
                last = values[-1]
            misfit, equations, *_ = (np.asarray(p) for p in seeds.parts(x, task))
            share = float(np.mean(equations)) / number
            there = np.asarray(task.counts) > 0
            chi = misfit.mean(axis=0) / np.maximum(there.sum(axis=0), 1)
            stages.append({"eps": ladder[i], "equations": share, "readings": float(chi.mean()), "rounds": turn + 1})
            if best is not None and share > BROKEN:
                stopped = True
                x, task, factor = best
                break
            best = (x, task, factor)
            noise = np.where(np.isfinite(given), given, np.maximum(noise * np.sqrt(chi), _SMALLEST_NOISE * size))
            if checkpoint:
                checkpoint.keep(
                    {"x": x, "noise": noise, "losses": np.concatenate(losses), "trace": np.concatenate(trace)},
                    {"stage": i + 1, "stages": stages},
                )
    except KeyboardInterrupt:
        cut_short = True
        if best is None:
            raise
        x, task, factor = best
    if factor is None:  # resumed after the last stage
        task = with_weights(task, noise, ladder[-1])
    factor = factorise(task, *seeds.middle(x))
    return TrainedTask(
        x, task, factor, np.concatenate(losses), np.concatenate(trace), stages, float(task.eps), stopped, cut_short
    )


def with_weights(task: Task, noise, eps: float) -> Task:
    """The task with other noise and another share allowed of the equations."""
    return eqx.tree_at(lambda t: (t.noise, t.eps), task, (jnp.asarray(noise), jnp.asarray(eps)))
