"""PIDynNet: networks for the response and the hidden states, trained on readings and on the equations at once.

T. Liu, H. Meidani, Physics-informed neural networks for system identification of structural systems with a multiphysics
damping model (2023).
"""

from __future__ import annotations

import dataclasses
import time
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError, unknown_name
from vibrid.core.progress import SILENT
from vibrid.identification.conclude import conclude, covariance_of, settings_of
from vibrid.identification.method import METHODS, Method
from vibrid.identification.methods.pidynnet.task import make_task
from vibrid.identification.methods.pidynnet.training import Descent, Seeds, Trained, anneal
from vibrid.identification.methods.pidynnet.windows import NETWORKS
from vibrid.identification.methods.trajectory import TrajectoryFit
from vibrid.identification.problem import Problem
from vibrid.identification.weak.equations import check_rates
from vibrid.identification.weak.start import regression_start, shortest_period
from vibrid.networks import Checkpoint, fingerprint

SOFTNESS = (0.3, 0.1, 0.03, 0.01, 0.003)
_FEATURES_A_PERIOD = 6  # periods of the quickest feature in the shortest period of the structure
_INTERVALS_A_PERIOD = 12  # intervals of the start's splines in it
_OVERLAP = 0.25  # share of a window that it has in common with the next
_GRID = 0.0101  # s, the longest step between points where networks meet readings and equations
_WINDOW = 1.2  # s


@METHODS.register("pidynnet")
class PIDynNet(Method):
    """Physics-informed networks for the response and for the hidden states, with the unknowns trained beside them.

    The default is the strongest network we know how to train: one network a window of time, blended where windows
    overlap, each a linear skip path over damped Fourier features beside a small network; outputs are the absolute
    displacement of the first floor, the drifts and the hidden states, time is the only input, and the ground motion
    enters analytically. Equations count integrated over short intervals (weak form) and are tightened stage by stage;
    readings count by their noise. It starts from a regression and trains with L-BFGS in 64-bit numbers, preconditioned
    by the Gauss–Newton matrix of skip weights and unknowns, whose Schur complement is the uncertainty.

    Arguments
        network: "mlp", "recurrent" (long short-term memory) or "convolution": what stands beside the skip path.
        hidden: widths of its layers; () leaves the skip path alone.
        seeds: initialisations trained side by side; the answer is their mean.
        window: length of a window in s.
        bandwidth: highest frequency of the features in Hz; six a shortest period of the structure by default.
        softness: how far equations are believed in each stage, as a share of their size; falling.
        steps: L-BFGS steps after each factorisation.
        polish: hand the answer over to a trajectory fit, for a model that is believed to be right.
        checkpoint: file in which training is kept between stages, so that it goes on after Ctrl-C or a kill.
    """

    network: str = eqx.field(static=True, default="mlp")
    hidden: tuple[int, ...] = eqx.field(static=True, default=(24, 24), converter=tuple)
    seeds: int = eqx.field(static=True, default=1)
    window: float = eqx.field(static=True, default=_WINDOW)
    bandwidth: float | None = eqx.field(static=True, default=None)
    softness: tuple[float, ...] = eqx.field(static=True, default=SOFTNESS, converter=tuple)
    steps: int = eqx.field(static=True, default=6)
    polish: bool = eqx.field(static=True, default=False)
    checkpoint: str | None = eqx.field(static=True, default=None)

    abilities: ClassVar[frozenset[str]] = frozenset({"partial sensors", "latent states", "missing samples"})

    def __check_init__(self):
        if self.network not in NETWORKS:
            raise unknown_name("network", self.network, NETWORKS)
        if self.seeds < 1 or self.steps < 1:
            raise InputError("PIDynNet needs one initialisation and one step or more.")
        if not self.softness or min(self.softness) <= 0 or list(self.softness) != sorted(self.softness, reverse=True):
            raise InputError(f"The softness must fall from stage to stage and stay positive, not {self.softness}.")

    def solve(self, problem: Problem, key=0, progress=SILENT):
        started = time.perf_counter()
        check_rates(problem)
        spacing = shortest_period(problem, problem.start) / _INTERVALS_A_PERIOD
        begin = regression_start(problem, spacing, progress)
        shortest = shortest_period(problem, begin.free)
        bandwidth = self.bandwidth or _FEATURES_A_PERIOD / shortest
        task, skip = make_task(
            problem, begin, 0, window=self.window, overlap=_OVERLAP, bandwidth=bandwidth, step=_GRID,
            eps=self.softness[0],
        )  # fmt: skip
        outputs = skip.shape[-1]
        widths = (task.windows.inputs.shape[-1], *self.hidden, outputs) if self.hidden else ()
        seeds = Seeds(
            Descent(skip=skip.shape, unknowns=len(problem.unknowns), kind=self.network, widths=widths)
        )
        x = np.asarray(_begin(seeds, jnp.asarray(skip), jnp.asarray(begin.free), self.seeds, jax.random.key(key)))
        given, size = problem.given_deviations(), problem.signal_size()
        keep = None
        if self.checkpoint:
            settings = {k: v for k, v in settings_of(self).items() if k != "checkpoint"}
            data = [(d.readings, d.present, d.drive.samples) for d in problem.data]
            keep = Checkpoint(self.checkpoint, fingerprint(settings, key, data, problem.unknowns.start))
        made = anneal(seeds, x, task, self.softness, self.steps, given, size, progress, keep)
        fit = self._answer(problem, seeds, made, key, started)
        if keep and not made.cut_short:
            keep.remove()
        if not self.polish or made.cut_short:
            return fit
        u = problem.unknowns
        nearer = dataclasses.replace(problem, unknowns=dataclasses.replace(u, start=jnp.asarray(fit.estimate)))
        last = TrajectoryFit().solve(nearer, key, progress)
        return last.replace(
            method=type(self).__name__,
            settings=settings_of(self),
            warnings=tuple(dict.fromkeys((*fit.warnings, *last.warnings))),
            convergence=last.convergence | fit.convergence,
            history=fit.history,
            seconds=time.perf_counter() - started,
        )

    def _answer(self, problem: Problem, seeds: Seeds, made: Trained, key: int, started: float):
        physical = jax.vmap(problem.unknowns.to_physical)
        frees = np.stack([np.asarray(seeds.one.split(x)[2]) for x in made.x])
        values = np.asarray(physical(jnp.asarray(frees)))
        free = frees.mean(axis=0)
        covariance = covariance_of(np.asarray(made.factor.information))
        if self.seeds > 1:
            covariance = covariance + np.cov(frees.T, bias=False).reshape(covariance.shape)
        motions = [made.task.motion(*seeds.one.split(jnp.asarray(x))[:2])[0] for x in made.x]
        notes = []
        if made.stopped:
            notes.append(
                f"The equations are met to {100 * made.held:.2g} % of their size but not closer: the model is not quite "
                "right, or the features are too few (give a larger bandwidth)."
            )
        spread = values.std(axis=0, ddof=1) if self.seeds > 1 else 0 * values[0]
        return conclude(
            problem,
            self,
            free,
            started=started,
            covariance=covariance,
            noise=np.asarray(made.task.noise),
            warnings=tuple(notes),
            history={
                "cost": made.losses.mean(axis=1),
                "estimate": np.asarray(physical(jnp.asarray(made.trace.mean(axis=1)))),
                "traces": np.asarray(jax.vmap(physical)(jnp.asarray(made.trace))),
                "seeds": values,
                "time": made.task.grid.time,
                "states": np.mean([np.asarray(m.s) for m in motions], axis=0),
                "response": np.mean([np.asarray(m.y) for m in motions], axis=0),
            },
            convergence={
                "spread_of_seeds": dict(zip(problem.unknowns.names, map(float, spread), strict=True)),
                "equations_met_to": made.held,
                "stages": made.stages,
                "windows": made.task.windows.count,
                "features": made.task.windows.features,
            },
            seed=key,
            cut_short=made.cut_short,
        )


@eqx.filter_jit
def _begin(seeds: Seeds, skip, free, count: int, key):
    """(count, …): every initialisation before training; they differ in their networks."""
    return jax.vmap(lambda k: seeds.one.join(skip, free, seeds.one.networks(k)))(jax.random.split(key, count))
