"""WeakCollocation: splines for the motion and the hidden states, the equations as a penalty that hardens."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import ClassVar

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

SOFTNESS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
_INTERVALS_A_PERIOD = 15  # splines in the shortest period of the structure
_FEWEST_SAMPLES = 7  # in that period


@METHODS.register("weak-collocation")
class WeakCollocation(Method):
    """Soft physics with local features: a physics-informed network that is linear in its weights.

    Motion and hidden states are splines of degree five over each whole record; readings are weighted by their noise,
    which is re-estimated, and every equation of motion and of the states, integrated over every interval of the
    splines, by how far it is believed. Belief hardens from 100 % of an equation's size to 0.01 % while the readings
    allow it. A right model gets there, and the answer is as good as that of `TrajectoryFit`, without a good first
    guess. A wrong one stops earlier: how early says how wrong it is, and the unknowns found there suffer less from it
    than those of a fit that must obey the equations exactly.

    Needs laws with rate equations and, for a start without a good guess, displacement or velocity of every degree of
    freedom; with fewer sensors, or accelerometers alone, it starts from a trajectory fit. Before it blames the model it
    tries that start as well.

    Arguments
        spacing: length in s of the intervals of the splines; 1/15 of the structure's shortest period by default.
        softness: how far equations are believed in each stage, as a share of their size; falling.
        tolerance: rise of χ² of displacements and velocities, as a share, at which hardening stops.
        iterations: the most Gauss–Newton steps in one stage.
        polish: hand the answer over to a trajectory fit, for a model that is believed to be right.
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
    independent_of: ClassVar[frozenset[str]] = frozenset({"substeps", "integrator"})  # it does not go step by step

    def __check_init__(self):
        if not self.softness or min(self.softness) <= 0 or list(self.softness) != sorted(self.softness, reverse=True):
            raise InputError(f"The softness must fall from stage to stage and stay positive, not {self.softness}.")
        if self.spacing is not None and not self.spacing > 0:
            raise InputError(f"The spacing of the splines must be a positive time in s, not {self.spacing}.")

    def solve(self, problem: Problem, key=0, progress=SILENT):
        started = time.perf_counter()
        problem = problem.boxed()
        check_rates(problem)
        begin, notes = self.begin(problem, progress)
        notes += self._sampling(problem, begin.free)
        made = self._annealed(problem, begin, progress)
        if determined(problem) and not made.right and not made.cut_short:
            made, more = self._second(problem, made, progress)
            notes += more
        diagnosis = self.diagnosis(problem, made)
        fit = conclude(
            problem,
            self,
            made.point.free,
            started=started,
            covariance=covariance_of(made.solved.information, problem.unknowns.at_bound(made.point.free) != 0),
            noise=made.noise,
            warnings=(*notes, *([] if diagnosis["right"] else [diagnosis["sentence"]])),
            history=_history(problem, made),
            convergence=diagnosis | {"iterations": len(made.history)},
            seed=key,
            cut_short=made.cut_short,
        )
        if not self.polish or made.cut_short:
            return fit
        return polished(self, fit, problem, key, progress, started)

    def begin(self, problem: Problem, progress=SILENT) -> tuple[Beginning, list[str]]:
        """Regression along the smooth motion; a trajectory fit where some displacement can only drift."""
        if not determined(problem):
            note = "Accelerations do not hold a displacement, or no sensor does: this started from a trajectory fit."
            return self._from_a_fit(problem, progress), [note]
        spacing = self.spacing or shortest_period(problem, problem.start) / _INTERVALS_A_PERIOD
        begin = regression_start(problem, spacing, progress)
        finer = self.spacing or shortest_period(problem, begin.free) / _INTERVALS_A_PERIOD
        if finer < 0.8 * spacing:
            begin = regression_start(problem, finer, progress, begin.free)
        return begin, []

    def _sampling(self, problem: Problem, free) -> list[str]:
        """A warning where the samples of a record cannot hold the shortest period."""
        slowest = max(data.step for data in problem.data)
        if self.spacing or slowest * _FEWEST_SAMPLES <= (period := shortest_period(problem, free)):
            return []
        return [
            f"There are only {period / slowest:.2g} samples in the structure's shortest period ({period:.3g} s), which "
            f"splines cannot follow: if that mode matters, sample every {period / _FEWEST_SAMPLES:.2g} s or faster."
        ]

    def _from_a_fit(self, problem: Problem, progress) -> Beginning:
        fit = TrajectoryFit().solve(problem, 0, progress)
        free = problem.unknowns.to_free(fit.estimate)  # PIDynNet's space is another one than that of a fit
        spacing = self.spacing or shortest_period(problem, free) / _INTERVALS_A_PERIOD
        return simulated_start(problem, free, fit.noise, spacing)

    def _annealed(self, problem: Problem, begin: Beginning, progress) -> Annealed:
        return anneal(problem, begin, self.softness, self.tolerance, self.iterations, progress)

    def _second(self, problem: Problem, first: Annealed, progress) -> tuple[Annealed, list[str]]:
        """Before the model is blamed, once more from a trajectory fit: noise may have led the regression astray."""
        try:
            other = self._annealed(problem, self._from_a_fit(problem, progress), progress)
        except KeyboardInterrupt:
            return replace(first, cut_short=True), []
        if not other.beyond(first):
            return first, []
        return other, ["A regression along the smooth motion ended elsewhere, so this started from a trajectory fit."]

    def diagnosis(self, problem: Problem, made: Annealed) -> dict:
        """How far the readings let the equations be believed, in numbers and in a sentence."""
        left = made.left_over()
        n = made.point.records[0].piece.size
        names = [f"motion of degree of freedom {i}" for i in range(n)]
        names += [f"state of {name}" for name in state_names(problem)]
        worst = int(np.argmax(left[:n])) if n else 0
        if made.right:
            sentence = (
                f"The readings let every equation be believed to {100 * made.softness:g} % of its size: the model is "
                "as right as these data can tell" + ("." if made.refused is None else " with splines of this spacing.")
            )
        else:
            sentence = (
                f"The model is not quite right: its equations can be believed to {100 * made.softness:g} % of their "
                f"size but not to {100 * made.refused:g} %, where displacements and velocities would be missed by "
                f"{100 * made.rise:.2g} % more (χ²). Most is missing from the {names[worst]} "
                f"({100 * left[worst]:.2g} % of its inertia force): look there for an unmeasured load or a wrong law."
            )
        return {
            "sentence": sentence,
            "right": made.right,
            "softness_reached": made.softness,
            "softness_refused": made.refused,
            "rise_of_misfit": made.rise,
            "left_over": {name: float(value) for name, value in zip(names, left, strict=True)},
            "spacing": made.point.records[0].piece.splines.spacing,
        }


def _history(problem: Problem, made: Annealed) -> dict[str, np.ndarray]:
    """Steps of the minimisation, and the hidden states of every record at its samples."""
    softness, cost, free = (np.array(part) for part in zip(*made.history, strict=True))
    kept = {
        "cost": cost,
        "estimate": np.asarray(jax.vmap(problem.unknowns.to_physical)(jnp.asarray(free))),
        "softness": softness,
    }
    for i, record in enumerate(made.point.records):
        time = record.piece.readings.time
        states = record.piece.motion(time[time <= record.piece.splines.edges[-1] + 1e-9]).s
        kept |= {f"states_{i}": states} if states.shape[1] else {}
    return kept
