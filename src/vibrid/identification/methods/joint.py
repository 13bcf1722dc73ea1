"""JointLoads: parameters of the structure and histories of unknown loads together, from a few sensors."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.errors import InputError, Refusal
from vibrid.core.progress import SILENT
from vibrid.identification.conclude import conclude, covariance_of
from vibrid.identification.known_frequencies import KnownFrequencies, check_frequencies
from vibrid.identification.levenberg import Descent, descend
from vibrid.identification.loads.checks import refuse_unanswerable
from vibrid.identification.loads.find import estimate_of
from vibrid.identification.loads.recursion import PENALTIES
from vibrid.identification.loads.regularisation import choose_weights, free_weights
from vibrid.identification.loads.solution import followed, projected, put_loads, solve_loads, unloaded_innovations
from vibrid.identification.method import METHODS, Method
from vibrid.identification.methods.trajectory import TrajectoryFit, first_guesses, second_minimum
from vibrid.identification.problem import Problem

if TYPE_CHECKING:
    from vibrid.core.progress import Progress
    from vibrid.identification.result import Identification

_MOST_DESCENTS = 12  # until exact frequencies are met
_STEADY = 1e-9  # gains of the filter are followed so far while the parameters still move


@METHODS.register("joint")
class JointLoads(Method):
    """Variable projection: for every trial of the parameters the loads that fit best are found exactly, in a time that
    grows with the record's length alone; Levenberg–Marquardt then moves only the parameters.

    The unknown loads are named among the unknowns: `UnknownLoad("tip")`. Between samples they follow the `hold` given
    to `identify` ("linear", "zero", "cubic") or the integrator (`Newmark()`). Sensors whose noise is not stated are
    taken to have the same noise relative to their signals; it is estimated.

    Arguments
        penalty: keeps the loads bounded where the sensors measure them poorly: on their "size", the "difference"
            between neighbouring samples, or the "second-difference".
        weight: of that penalty: "evidence" (marginal likelihood), "gcv" or "l-curve", or a standard deviation of
            size (or differences) in the load's unit.
        looseness: while parameters move the loads may be this much larger than the penalty wants, so that it does not
            bias the parameters.
        initial: "rest" (or what the problem states), or "unknown": the motion at the first sample is found as well.
        frequencies: known natural frequencies: (mode from 1, Hz, standard deviation in Hz), …; a deviation
            of 0 is a frequency that the result must have.
        starts: first guesses tried, as in `TrajectoryFit`, with the same spread; more than one looks for other minima.
        iterations: the most steps in one descent.
        rounds: the most times the weights are chosen anew and the fit repeated.
        tolerance: as in `TrajectoryFit`. Where residuals are large, descents are slow at their end: 1e-7 of ½ χ² is
            still a small part of a standard deviation unless there are millions of samples.
    """

    penalty: str = eqx.field(static=True, default="size")
    weight: str | float = eqx.field(static=True, default="evidence")
    looseness: float = eqx.field(static=True, default=30.0)
    initial: str = eqx.field(static=True, default="rest")
    frequencies: tuple[tuple[int, float, float], ...] = eqx.field(
        static=True, default=(), converter=lambda v: tuple((int(m), float(f), float(d)) for m, f, d in v)
    )
    starts: int = eqx.field(static=True, default=1)
    spread: float = eqx.field(static=True, default=0.4)
    iterations: int = eqx.field(static=True, default=40)
    rounds: int = eqx.field(static=True, default=2)
    tolerance: float = eqx.field(static=True, default=1e-9)

    abilities: ClassVar[frozenset[str]] = frozenset(
        {"partial sensors", "latent states", "several records", "missing samples", "sensor gain", "initial state"}
        | {"unknown loads", "different loads", "priors", "sensor offset"}
    )
    retired: ClassVar[dict[str, str]] = dict.fromkeys(
        ("faithful", "start_load"),
        "JointLoads has no 'faithful' and no 'start_load': the paper's alternating updates are the method "
        "'joint-as-published' (vibrid.papers.joint.as_published.JointAsPublished).",
    )

    def __check_init__(self) -> None:
        if self.penalty not in PENALTIES:
            raise InputError(f"The penalty on loads is one of {', '.join(PENALTIES)}, not '{self.penalty}'.")
        if self.initial not in ("rest", "unknown"):
            raise InputError(f"The initial motion is 'rest' or 'unknown', not '{self.initial}'.")
        if self.rounds < 0:
            raise InputError(f"The rounds of JointLoads are 0 or more, not {self.rounds}.")
        check_frequencies(self.frequencies)

    def solve(self, problem: Problem, key: int = 0, progress: Progress = SILENT) -> Identification:
        if self.frequencies and not problem.unknown_loads:
            raise Refusal("JointLoads uses known frequencies only where a load is unknown; leave them out.")
        if not problem.unknown_loads:  # nothing to eliminate: the plain fit is the same method
            fit = TrajectoryFit(starts=self.starts, spread=self.spread).solve(problem, key, progress)
            return fit.replace(method=type(self).__name__)
        if not len(problem.unknowns):
            raise InputError("No parameter is unknown, only loads: use find_loads, or `vibrid loads`.")
        started = time.perf_counter()
        warnings = refuse_unanswerable(problem)
        problem = problem.boxed()
        known = KnownFrequencies.of(self.frequencies, problem.experiment.structure.model(()).size)
        starts = first_guesses(problem, self.starts, self.spread, key)
        weights = free_weights(problem, starts[0], self._motion)
        around, histories, rivals = None, [], None
        again = 0
        while True:
            progress.stage(f"fitting, round {again + 1}", self.iterations)
            evaluate = Projection(problem, weights.loosened(self.looseness), self.penalty, known)
            descents = self._fit(problem, starts, evaluate, progress)
            descent, known = descents[-1], evaluate.known
            rivals = descents[0] if rivals is None else rivals
            histories += [pair for each in descents for pair in each.history]
            if descent.cut_short or not np.isfinite(descent.cost[descent.best]):
                break
            starts, before = descent.free[descent.best][None], weights
            weights = around = choose_weights(
                problem,
                starts[0],
                self.penalty,
                self.weight,
                motion=self._motion,
                around=around,
                starts=evaluate.loads,
                progress=progress,
            ).weights
            if again > 0 and np.max(np.abs(np.log(weights.noise / before.noise))) < 0.05:
                break
            if again == self.rounds:
                break
            again += 1
        free, held = descent.free[descent.best], descent.side[descent.best] != 0
        information = descent.normal[descent.best] - evaluate.prior_information(free)
        covariance = covariance_of(information + evaluate.prior_information(free, known.rigid()), held)
        solutions = [
            followed(solve_loads(problem, free, i, weights, self.penalty, evaluate.loads.get(i)))
            for i in range(len(problem.data))
        ]
        whole = problem
        for i, s in enumerate(solutions):
            whole = put_loads(whole, i, s.loads)
        progress.stage("computing the bands")
        return conclude(
            whole,
            self,
            free,
            started=started,
            covariance=covariance,
            noise=weights.noise,
            information=information,
            innovations=[unloaded_innovations(s, weights.noise) for s in solutions],
            warnings=warnings + known.messages(problem, free) + second_minimum(problem, rivals),
            history={
                "cost": np.array([c for _, c in histories]),
                "estimate": np.array([np.asarray(problem.unknowns.to_physical(jnp.asarray(f))) for f, _ in histories]),
            },
            convergence=descent.certificate(problem.unknowns.names)
            | {
                "iterations": len(histories) - 1,
                "innovation": weights.spread.tolist(),
                "relative_noise": float(np.mean(weights.noise / problem.signal_size())),
                "natural_frequencies": dict(
                    zip(map(str, known.modes), known.found(problem, free).tolist(), strict=True)
                ),
            },
            seed=key,
            cut_short=descent.cut_short,
            loads=tuple(
                estimate_of(problem, free, i, s, weights, self.penalty, covariance) for i, s in enumerate(solutions)
            ),
        )

    def _fit(self, problem: Problem, starts, evaluate: Projection, progress) -> list[Descent]:
        """Descents, each from the best end of the one before, until frequencies that must be met are met."""
        descents: list[Descent] = []
        while True:
            descent = descend(
                problem,
                starts,
                None,
                iterations=self.iterations,
                tolerance=self.tolerance,
                progress=progress,
                evaluate=evaluate,
            )
            descents.append(descent)
            stop = descent.cut_short or not np.isfinite(descent.cost[descent.best]) or len(descents) == _MOST_DESCENTS
            tighter = None if stop else evaluate.known.tightened(problem, descent.free[descent.best])
            if tighter is None:
                return descents
            evaluate.known, starts = tighter, descent.free[descent.best][None]

    @property
    def _motion(self) -> float:
        return 10.0 if self.initial == "unknown" else 0.0


class Projection:
    """Cost, gradient and normal matrix of the unknowns with all loads eliminated, for `descend`."""

    def __init__(self, problem: Problem, weights, penalty: str, known: KnownFrequencies):
        self.problem, self.weights, self.penalty, self.known = problem, weights, penalty, known
        self.loads: dict[int, np.ndarray] = {}  # initial loads of the next solution of a nonlinear structure
        self._lowest: dict[int, float] = {}

    def __call__(self, free: Array):
        return tuple(np.stack(column) for column in zip(*(self.one(f) for f in np.asarray(free)), strict=True))

    def one(self, free: Array):
        p = len(free)
        cost, gradient, normal = 0.0, np.zeros(p), np.zeros((p, p))
        for record in range(len(self.problem.data)):
            solution = solve_loads(
                self.problem, free, record, self.weights, self.penalty, self.loads.get(record), settled=_STEADY
            )
            if solution is None or not np.isfinite(solution.cost):
                return np.inf, gradient, normal
            if solution.cost < self._lowest.get(record, np.inf):
                self._lowest[record], self.loads[record] = solution.cost, solution.loads
            c, g, n = projected(self.problem, free, record, solution)
            cost, gradient, normal = cost + c, gradient + g, normal + n
        if not np.isfinite(gradient).all():
            return np.inf, gradient, normal
        r, slope = self.known.residuals(self.problem, free)
        return cost + 0.5 * r @ r, gradient + slope.T @ r, normal + slope.T @ slope

    def prior_information(self, free: Array, known: KnownFrequencies | None = None) -> np.ndarray:
        """Information on φ from priors, not from data."""
        slope = (known or self.known).residuals(self.problem, free)[1]
        return slope.T @ slope
