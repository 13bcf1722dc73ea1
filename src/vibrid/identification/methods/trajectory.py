"""TrajectoryFit: simulate, compare, improve. The strongest classical method when the model is right."""

from __future__ import annotations

import time
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.progress import SILENT
from vibrid.identification.conclude import conclude, covariance_of, predictions_at, residual_deviations
from vibrid.identification.levenberg import Descent, descend
from vibrid.identification.method import METHODS, NEEDS, Method
from vibrid.identification.problem import Problem
from vibrid.identification.shooting import shoot


@METHODS.register("trajectory")
class TrajectoryFit(Method):
    """Levenberg–Marquardt through the simulator: the output-error (maximum-likelihood) estimate for white noise.

    Noise that no sensor states is estimated per sensor and the fit repeated with the new weights, so that every sensor
    counts as much as it deserves. Bounds and signs are part of the unknowns.

    Arguments
        starts: first guesses tried at once; the first is the experiment's own, the others are spread around it.
        spread: how far the other guesses lie, as a factor: 0.5 means ± 50 % (a standard deviation of ln θ).
        segments: 1 is single shooting; more cuts each record into as many pieces whose starting states are found too
            (multiple shooting), which tolerates poor guesses and long records, then finishes by single shooting.
        stages: unknowns (names or their beginnings) released one group after the other before all are fitted together.
        iterations: the most Levenberg–Marquardt steps in one descent.
        rounds: the most times the noise is re-estimated.
        tolerance: relative fall of the misfit that counts as finished.
    """

    starts: int = eqx.field(static=True, default=1)
    spread: float = eqx.field(static=True, default=0.4)
    segments: int = eqx.field(static=True, default=1)
    stages: tuple[tuple[str, ...], ...] = eqx.field(
        static=True, default=(), converter=lambda v: tuple((s,) if isinstance(s, str) else tuple(s) for s in v)
    )
    iterations: int = eqx.field(static=True, default=60)
    rounds: int = eqx.field(static=True, default=4)
    tolerance: float = eqx.field(static=True, default=1e-9)

    abilities: ClassVar[frozenset[str]] = frozenset(NEEDS) - {"unknown noise"}

    def __check_init__(self):
        if self.starts < 1 or self.segments < 1:
            raise InputError("TrajectoryFit needs at least one start and one segment.")

    def solve(self, problem: Problem, key=0, progress=SILENT):
        started = time.perf_counter()
        given = problem.given_deviations()
        known = np.isfinite(given)
        noise = np.where(known, given, problem.signal_size())
        starts = self._starts(problem, key)
        history: list = []
        if self.segments > 1:
            progress.stage("multiple shooting (compiling)", self.iterations)
            starts = np.stack([shoot(problem, s, noise, self.segments, self.iterations, progress) for s in starts])
        for stage in self.stages:
            active = self._active(problem, stage)
            progress.stage(f"fitting {', '.join(stage)}", self.iterations)
            starts = descend(problem, starts, noise, active=active, iterations=self.iterations, progress=progress).free
        progress.stage("fitting (compiling)", self.iterations)
        made = self._descend(problem, starts, noise, progress, 1e-4 if not known.all() else self.tolerance)
        history += made.history
        rivals, best = made, made.free[made.best]
        for again in range(self.rounds if not known.all() else 0):
            if made.cut_short:
                break
            left = residual_deviations(problem, predictions_at(problem, best))
            updated = np.where(known, given, left)
            settled = np.max(np.abs(np.log(updated / noise))) < 0.02
            noise = updated
            if settled:
                break
            progress.stage(f"fitting with estimated noise, round {again + 1}", self.iterations)
            made = self._descend(problem, best[None], noise, progress, self.tolerance)
            best = made.free[made.best]
            history += made.history
        covariance = covariance_of(made.normal[made.best])
        return conclude(
            problem,
            self,
            best,
            started=started,
            covariance=covariance,
            noise=noise,
            warnings=_second_minimum(problem, rivals, best),
            history={
                "cost": np.array([c for _, c in history]),
                "estimate": np.array([np.asarray(problem.unknowns.to_physical(jnp.asarray(f))) for f, _ in history]),
            },
            convergence={"converged": bool(made.converged[made.best]), "iterations": len(history)},
            seed=key,
            cut_short=made.cut_short,
        )

    def _descend(self, problem, starts, noise, progress, tolerance) -> Descent:
        return descend(problem, starts, noise, iterations=self.iterations, tolerance=tolerance, progress=progress)

    def _starts(self, problem: Problem, key: int) -> np.ndarray:
        rng = np.random.default_rng(key)
        first = problem.start
        reach = np.where(np.array(problem.unknowns.kinds) == "interval", 1.5, self.spread)
        others = first + reach * rng.standard_normal((self.starts - 1, len(first)))
        return np.concatenate([first[None], others])

    def _active(self, problem: Problem, stage: tuple[str, ...]) -> np.ndarray:
        names = problem.unknowns.names
        active = np.array([any(n.startswith(s.split("[*]")[0]) for s in stage) for n in names])
        if not active.any():
            raise InputError(f"The stage {stage} names no unknown; unknowns are {', '.join(names)}.")
        return active


def _second_minimum(problem: Problem, made: Descent, best: np.ndarray) -> tuple[str, ...]:
    """A sentence when another start ended elsewhere with nearly the same misfit."""
    lowest = made.cost[made.best]
    for b in np.argsort(made.cost):
        if b == made.best or not np.isfinite(made.cost[b]) or made.cost[b] > 1.1 * lowest + 1e-12:
            continue
        apart = made.free[b] - made.free[made.best]
        distance = np.sqrt(max(apart @ made.normal[made.best] @ apart, 0.0)) / np.sqrt(len(apart))
        if np.max(np.abs(apart)) > 0.05 and distance > 5:
            values = np.asarray(problem.unknowns.to_physical(jnp.asarray(made.free[b])))
            named = ", ".join(f"{n} = {v:.4g}" for n, v in list(zip(problem.unknowns.names, values, strict=True))[:4])
            return (f"A second minimum fits nearly as well ({named}, …): the data do not decide between them.",)
    return ()
