"""WeakCollocation: splines for the motion and the hidden states, with the equations as a penalty of growing weight."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.progress import SILENT
from vibrid.identification.conclude import conclude, covariance_of
from vibrid.identification.method import METHODS, Method
from vibrid.identification.methods.trajectory import TrajectoryFit, polished
from vibrid.identification.problem import Problem
from vibrid.identification.weak.annealing import Annealed, anneal
from vibrid.identification.weak.equations import check_rates, state_names
from vibrid.identification.weak.start import Beginning, determined, regression_start, shortest_period, simulated_start

if TYPE_CHECKING:
    from vibrid.core.progress import Progress
    from vibrid.identification.result import Identification

SOFTNESS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
_INTERVALS_A_PERIOD = 15  # splines in the shortest period of the structure
_FEWEST_SAMPLES = 7  # in that period


@METHODS.register("weak-collocation")
class WeakCollocation(Method):
    """Soft physics with local features: a physics-informed network that is linear in its weights.

    Motion and hidden states are splines of degree five over each whole record. Readings are weighted by their noise,
    which is estimated again; every equation of motion and of the states, integrated over every interval of the splines,
    is weighted by its tolerated residual, the softness. The softness falls from 100 % of an equation's size to 0.01 %
    while the readings allow it. With a right model it reaches the end, and the estimate is as good as that of
    `TrajectoryFit`, without a good first guess. With a wrong model it stops earlier: the softness reached measures the
    model error, and the estimates are less biased by it than those of a fit that satisfies the equations exactly.

    Needs laws with rate equations and, for a start without a good guess, displacement or velocity of every degree of
    freedom; with fewer sensors, or accelerometers alone, it starts from a trajectory fit. Before it reports a model
    error, it tries that start as well.

    Arguments
        spacing: length in s of the intervals of the splines; 1/15 of the structure's shortest period by default.
        softness: tolerated residual of the equations in each stage, as a share of their size; falling.
        tolerance: relative rise of χ² of displacements and velocities at which the softness falls no further.
        iterations: largest number of Gauss–Newton steps in one stage.
        polish: end with a trajectory fit, for a model that is assumed to be right.
    """

    spacing: float | None = eqx.field(static=True, default=None)
    softness: tuple[float, ...] = eqx.field(static=True, default=SOFTNESS, converter=tuple)
    tolerance: float = eqx.field(static=True, default=0.03)
    iterations: int = eqx.field(static=True, default=12)
    polish: bool = eqx.field(static=True, default=False)

    abilities: ClassVar[frozenset[str]] = frozenset(
        {"partial sensors", "latent states", "several records", "different loads", "missing samples", "initial state"}
        | {"priors"}
    )
    independent_of: ClassVar[frozenset[str]] = frozenset({"substeps", "integrator"})  # it does not integrate

    def __check_init__(self) -> None:
        if not self.softness or min(self.softness) <= 0 or list(self.softness) != sorted(self.softness, reverse=True):
            raise InputError(f"The softness must fall from stage to stage and stay positive, not {self.softness}.")
        if self.spacing is not None and not self.spacing > 0:
            raise InputError(f"The spacing of the splines must be a positive time in s, not {self.spacing}.")

    def solve(self, problem: Problem, key: int = 0, progress: Progress = SILENT) -> Identification:
        started = time.perf_counter()
        problem = problem.boxed()
        check_rates(problem)
        begin, notes = self.begin(problem, progress)
        notes += self._sampling(problem, begin.free)
        end = self._annealed(problem, begin, progress)
        if determined(problem) and not end.right and not end.cut_short:
            end, more = self._second(problem, end, progress)
            notes += more
        diagnosis = self.diagnosis(problem, end)
        fit = conclude(
            problem,
            self,
            end.point.free,
            started=started,
            covariance=covariance_of(end.solved.information, problem.unknowns.at_bound(end.point.free) != 0),
            noise=end.noise,
            warnings=(*notes, *([] if diagnosis["right"] else [diagnosis["message"]])),
            history=_history(problem, end),
            convergence=diagnosis | {"iterations": len(end.history)},
            seed=key,
            cut_short=end.cut_short,
        )
        if not self.polish or end.cut_short:
            return fit
        return polished(self, fit, problem, key, progress, started)

    def begin(self, problem: Problem, progress: Progress = SILENT) -> tuple[Beginning, list[str]]:
        """Regression on the smoothed motion; a trajectory fit where the readings do not determine a displacement."""
        if not determined(problem):
            note = "The sensors do not determine every displacement: this started from a trajectory fit."
            return self._from_a_fit(problem, progress), [note]
        spacing = self.spacing or shortest_period(problem, problem.start) / _INTERVALS_A_PERIOD
        begin = regression_start(problem, spacing, progress)
        finer = self.spacing or shortest_period(problem, begin.free) / _INTERVALS_A_PERIOD
        if finer < 0.8 * spacing:
            begin = regression_start(problem, finer, progress, begin.free)
        return begin, []

    def _sampling(self, problem: Problem, free) -> list[str]:
        """A warning where the sampling is too coarse for the shortest period."""
        slowest = max(data.step for data in problem.data)
        if self.spacing or slowest * _FEWEST_SAMPLES <= (period := shortest_period(problem, free)):
            return []
        return [
            f"There are only {period / slowest:.2g} samples in the structure's shortest period ({period:.3g} s), which "
            f"splines cannot represent: if that mode matters, sample every {period / _FEWEST_SAMPLES:.2g} s or faster."
        ]

    def _from_a_fit(self, problem: Problem, progress) -> Beginning:
        fit = TrajectoryFit().solve(problem, 0, progress)
        free = problem.unknowns.to_free(fit.estimate)  # the free variables of PIDynNet are not those of a fit
        spacing = self.spacing or shortest_period(problem, free) / _INTERVALS_A_PERIOD
        return simulated_start(problem, free, fit.noise, spacing)

    def _annealed(self, problem: Problem, begin: Beginning, progress) -> Annealed:
        return anneal(problem, begin, self.softness, self.tolerance, self.iterations, progress)

    def _second(self, problem: Problem, first: Annealed, progress) -> tuple[Annealed, list[str]]:
        """Again from a trajectory fit, before a model error is reported: noise may have biased the regression."""
        try:
            other = self._annealed(problem, self._from_a_fit(problem, progress), progress)
        except KeyboardInterrupt:
            return replace(first, cut_short=True), []
        if not other.beyond(first):
            return first, []
        return other, ["A trajectory fit was a better start than the regression on the smoothed motion, and was used."]

    def diagnosis(self, problem: Problem, end: Annealed) -> dict[str, Any]:
        """The softness that the readings allow, in numbers and in a message."""
        left = end.residual_share()
        n = end.point.records[0].piece.size
        names = [f"motion of degree of freedom {i}" for i in range(n)]
        names += [f"state of {name}" for name in state_names(problem)]
        worst = int(np.argmax(left[:n])) if n else 0
        if end.refused is None or end.right:
            message = (
                f"The readings agree with every equation to {100 * end.softness:g} % of its size: these data show no "
                "model error" + ("." if end.refused is None else " with splines of this spacing.")
            )
        else:
            message = (
                f"The model has an error: its equations agree with the readings to {100 * end.softness:g} % of their "
                f"size but not to {100 * end.refused:g} %, where χ² of displacements and velocities would be "
                f"{100 * end.rise:.2g} % larger. The largest residual is in the {names[worst]} "
                f"({100 * left[worst]:.2g} % of its inertia force): look there for an unmeasured load or a wrong law."
            )
        return {
            "message": message,
            "right": end.right,
            "softness_reached": end.softness,
            "softness_refused": end.refused,
            "rise_of_misfit": end.rise,
            "residual_share": {name: float(value) for name, value in zip(names, left, strict=True)},
            "spacing": end.point.records[0].piece.splines.spacing,
        }


def _history(problem: Problem, end: Annealed) -> dict[str, np.ndarray]:
    """Steps of the minimisation, and the hidden states of every record at its samples."""
    softness, cost, free = (np.array(part) for part in zip(*end.history, strict=True))
    kept = {
        "cost": cost,
        "estimate": np.asarray(jax.vmap(problem.unknowns.to_physical)(jnp.asarray(free))),
        "softness": softness,
    }
    for i, record in enumerate(end.point.records):
        time = record.piece.readings.time
        states = np.asarray(record.piece.motion(time[time <= record.piece.splines.edges[-1] + 1e-9]).s)
        kept |= {f"states_{i}": states} if states.shape[1] else {}
    return kept
