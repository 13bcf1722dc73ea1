"""JointLoads: parameters of the structure and histories of unknown loads together, from a few sensors."""

from __future__ import annotations

import time
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.progress import SILENT
from vibrid.identification.conclude import conclude, covariance_of
from vibrid.identification.levenberg import descend
from vibrid.identification.loads.checks import refuse_unanswerable
from vibrid.identification.loads.find import describe_loads, estimate_of
from vibrid.identification.loads.recursion import PENALTIES
from vibrid.identification.loads.regularisation import choose_weights, free_weights
from vibrid.identification.loads.solution import projected, put_loads, solve_loads, unloaded_innovations
from vibrid.identification.method import METHODS, Method
from vibrid.identification.methods.joint_faithful import alternate
from vibrid.identification.methods.trajectory import TrajectoryFit, first_guesses, second_minimum
from vibrid.identification.problem import Problem
from vibrid.structures.modes import natural_frequencies

_STEADY = 1e-9  # gains of the filter are followed so far while the parameters still move


@METHODS.register("joint")
class JointLoads(Method):
    """Variable projection: for every trial of the parameters the loads that fit best are found exactly, in a time that
    grows with the record's length alone; Levenberg–Marquardt then moves only the parameters.

    The unknown loads are named among the unknowns: `UnknownLoad("tip")`. Between samples they follow the `hold` given
    to `identify` ("linear", "zero", "cubic") or the integrator (`Newmark()`). Sensors whose noise is not stated are
    taken to have the same noise relative to their signals; it is estimated.

    Arguments
        penalty: what keeps the loads in bounds where the sensors see them poorly: their "size", the "difference"
            between neighbouring samples, or the "second-difference".
        weight: how strong that is: "evidence" (marginal likelihood), "gcv" or "l-curve", or a standard deviation of
            size (or differences) in the load's unit.
        looseness: while parameters move the loads may be this much larger than the penalty wants, so that it does not
            bias the parameters.
        initial: "rest" (or what the problem states), or "unknown": the motion at the first sample is found as well.
        frequencies: what is known of natural frequencies: (mode from 1, Hz, standard deviation in Hz), …
        starts: first guesses tried, as in `TrajectoryFit`, with the same spread; more than one looks for rivals.
        iterations: the most steps in one descent.
        rounds: the most times the weights are chosen anew and the fit repeated.
        faithful: the paper's alternating updates instead (`joint_faithful.py`): one record, no uncertainty, many more
            iterations; `start_load` is its first guess of every load in N.
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
    faithful: bool = eqx.field(static=True, default=False)
    start_load: float = eqx.field(static=True, default=100.0)

    abilities: ClassVar[frozenset[str]] = frozenset(
        {"partial sensors", "latent states", "several records", "missing samples", "sensor gain", "initial state"}
        | {"unknown loads", "different loads", "priors"}
    )

    def __check_init__(self):
        if self.penalty not in PENALTIES:
            raise InputError(f"The penalty on loads is one of {', '.join(PENALTIES)}, not '{self.penalty}'.")
        if self.initial not in ("rest", "unknown"):
            raise InputError(f"The initial motion is 'rest' or 'unknown', not '{self.initial}'.")

    def solve(self, problem: Problem, key=0, progress=SILENT):
        if not problem.unknown_loads:  # nothing to eliminate: the plain fit is the same method
            fit = TrajectoryFit(starts=self.starts, spread=self.spread).solve(problem, key, progress)
            return fit.replace(method=type(self).__name__)
        if not len(problem.unknowns):
            raise InputError("No parameter is unknown, only loads: use find_loads, or `vibrid loads`.")
        started = time.perf_counter()
        warnings = refuse_unanswerable(problem)
        if self.faithful:
            return self._alternate(problem, started, warnings, progress, key)
        starts = first_guesses(problem, self.starts, self.spread, key)
        weights = free_weights(problem, starts[0], self._motion)
        around, histories, rivals = None, [], None
        for again in range(self.rounds + 1):
            progress.stage(f"fitting, round {again + 1}", self.iterations)
            evaluate = Projection(problem, weights.loosened(self.looseness), self.penalty, self.frequencies)
            made = descend(problem, starts, None, iterations=self.iterations, progress=progress, evaluate=evaluate)
            rivals = made if rivals is None else rivals
            histories += made.history
            if made.cut_short or not np.isfinite(made.cost[made.best]):
                break
            starts, before = made.free[made.best][None], weights
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
        free = made.free[made.best]
        covariance = covariance_of(made.normal[made.best])
        solutions = [
            solve_loads(problem, free, i, weights, self.penalty, evaluate.loads.get(i))
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
            information=made.normal[made.best] - evaluate.prior_information(free),
            innovations=[unloaded_innovations(s, weights.noise) for s in solutions],
            warnings=warnings + second_minimum(problem, rivals),
            history={
                "cost": np.array([c for _, c in histories]),
                "estimate": np.array([np.asarray(problem.unknowns.to_physical(jnp.asarray(f))) for f, _ in histories]),
            },
            convergence={
                "converged": bool(made.converged[made.best]),
                "iterations": len(histories) - 1,
                "innovation": weights.spread.tolist(),
                "relative_noise": float(np.mean(weights.noise / problem.signal_size())),
            },
            seed=key,
            cut_short=made.cut_short,
            loads=tuple(
                estimate_of(problem, free, i, s, weights, self.penalty, covariance) for i, s in enumerate(solutions)
            ),
        )

    def _alternate(self, problem: Problem, started: float, warnings, progress, key):
        """The answer of the paper's updates; what the data could say at best is computed beside it."""
        progress.stage("alternating updates", self.iterations)
        made = alternate(problem, self.start_load, iterations=self.iterations, progress=progress)
        free = problem.unknowns.to_free(made.theta)
        weights = choose_weights(problem, free, self.penalty, self.weight).weights
        evaluate = Projection(problem, weights.loosened(self.looseness), self.penalty)
        return conclude(
            put_loads(problem, 0, made.loads),
            self,
            free,
            started=started,
            noise=weights.noise,
            information=evaluate.one(free)[2],
            warnings=warnings,
            history={
                "cost": np.array([c for _, c in made.history]),
                "estimate": np.array([t for t, _ in made.history]),
                "loads": np.array(made.load_history[:: max(1, len(made.load_history) // 50)]),
            },
            convergence={"converged": made.converged, "iterations": len(made.history)},
            seed=key,
            cut_short=made.cut_short,
            loads=(describe_loads(problem, 0, made.loads, np.full_like(made.loads, np.nan), weights),),
        )

    @property
    def _motion(self) -> float:
        return 10.0 if self.initial == "unknown" else 0.0


class Projection:
    """Cost, gradient and normal matrix of the unknowns with all loads eliminated, for `descend`."""

    def __init__(self, problem: Problem, weights, penalty: str, frequencies=()):
        self.problem, self.weights, self.penalty, self.frequencies = problem, weights, penalty, frequencies
        self.loads: dict[int, np.ndarray] = {}  # where a nonlinear structure starts the next time
        self._lowest: dict[int, float] = {}

    def __call__(self, free):
        return tuple(np.stack(column) for column in zip(*(self.one(f) for f in np.asarray(free)), strict=True))

    def one(self, free):
        p = len(free)
        cost, gradient, normal = 0.0, np.zeros(p), np.zeros((p, p))
        for record in range(len(self.problem.data)):
            made = solve_loads(
                self.problem, free, record, self.weights, self.penalty, self.loads.get(record), settled=_STEADY
            )
            if made is None or not np.isfinite(made.cost):
                return np.inf, gradient, normal
            if made.cost < self._lowest.get(record, np.inf):
                self._lowest[record], self.loads[record] = made.cost, made.loads
            c, g, n = projected(self.problem, free, record, made)
            cost, gradient, normal = cost + c, gradient + g, normal + n
        if not np.isfinite(gradient).all():
            return np.inf, gradient, normal
        r, slope = self._priors(free)
        return cost + 0.5 * r @ r, gradient + slope.T @ r, normal + slope.T @ slope

    def prior_information(self, free) -> np.ndarray:
        """What priors, not data, say about φ."""
        slope = self._priors(free)[1]
        return slope.T @ slope

    def _priors(self, free):
        r, slope = _prior_residuals(self.problem, self.frequencies, jnp.asarray(free))
        return np.asarray(r), np.asarray(slope)


@eqx.filter_jit
def _prior_residuals(problem: Problem, frequencies, free):
    """Misfit of the priors on parameters and on natural frequencies, and its slopes."""

    def residual(free):
        own = problem.unknowns.prior_residual(free)
        if not frequencies:
            return own
        structure = problem.unknowns.apply(problem.experiment, free).structure
        mass, _, stiffness = structure.model(()).initial_matrices()
        found = natural_frequencies(mass, stiffness)
        return jnp.concatenate([own, jnp.stack([(found[m - 1] - f) / d for m, f, d in frequencies])])

    return residual(free), jax.jacfwd(residual)(free)
