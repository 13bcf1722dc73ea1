"""First guesses from the data themselves: `identify(…, start="auto")`.

Three are made, in this order, and the method runs from the next one until the model fits:

- the balance of forces along the measured motion (`equation_error`), from what its loops say, else from several guesses
  around the one given;
- all stiffnesses times one factor, that of a scan with the smallest misfit;
- the guess that was given.

With measured modes as the start, the guess fitted to them (`ModalFit`) comes first.

From each of them, unknowns of which the data say little at the answer are tried elsewhere (`idle_unknowns`). A
`TrajectoryFit` that may choose is run by single shooting; the last resort, multiple shooting, takes minutes for many
storeys and is tried from the best answer where no start has led to a fit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError, VibridError
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.conclude import settings_of, unlikelihood
from vibrid.identification.diagnostics import verdict
from vibrid.identification.equation_error import balanced, experiment_at, measured_motion
from vibrid.identification.idle_unknowns import at, misfits, tried_elsewhere
from vibrid.identification.loop_guess import device_guess, structure_guess
from vibrid.identification.method import Method
from vibrid.identification.methods.modal_fit import ModalFit
from vibrid.identification.methods.trajectory import TrajectoryFit, first_guesses
from vibrid.identification.modal_problem import modal_problem_of
from vibrid.identification.problem import Problem
from vibrid.identification.result import Identification
from vibrid.modal.measured import MeasuredModes
from vibrid.structures.device import ImposedTest

STARTS = ("given", "auto")
PROPOSAL = (
    'The descent seems to have gone astray from its first guess: start="auto" (--start auto) looks for one in the data.'
)
_GUESSES, _SPREAD = 3, 0.7  # from which forces are balanced where loops say nothing, and ln of their distance
_BALANCED = 0.05  # half the mean square of what is left of the forces, from which loops have said enough
_FACTORS = np.geomspace(1 / 32, 32, 31)
_MODEL_ERROR = 0.02  # of frequencies and shapes: a start need not be nearer


@dataclass(frozen=True)
class Start:
    """A first guess θ, and where it comes from, in words."""

    values: np.ndarray
    origin: str


def check_start(start: str | MeasuredModes) -> None:
    """Refuse anything but "given", "auto" and measured modes."""
    if not isinstance(start, MeasuredModes) and start not in STARTS:
        raise InputError(f"start is 'given', 'auto' or measured modes, such as those of ssi, not {start!r}.")


def solve_from_data(
    method: Method, problem: Problem, start: str | MeasuredModes, key: int = 0, progress: Progress = SILENT
) -> Identification:
    """The method from guesses made of the data, one after the other until the model fits; the most likely answer."""
    if problem.unknown_loads:
        raise InputError("start='auto' balances measured loads: the history of a load is unknown here. Give a guess.")
    best, tried = None, 0
    chooses = isinstance(method, TrajectoryFit) and method.segments is None
    single = dataclasses.replace(method, segments=1) if chooses else method
    for guess in _starts(problem, start, key, progress):
        try:
            fit = tried_elsewhere(
                single, problem, single.solve(at(problem, guess.values), key, progress), key, progress
            )
        except VibridError:  # nothing can be simulated from there
            if best is None and guess.origin == _GIVEN:
                raise
            continue
        tried += 1
        if best is None or unlikelihood(fit) < unlikelihood(best):
            best = fit.replace(started_from=guess.origin)
        if fit.cut_short or verdict(fit.fits)[0]:
            break
    assert best is not None
    if chooses and not best.cut_short and not verdict(best.fits)[0]:
        last = method.solve(at(problem, best.estimate), key, progress)
        best = last.replace(started_from=best.started_from) if unlikelihood(last) < unlikelihood(best) else best
    others = "" if tried < 2 else f" It is the most likely answer of {tried} starts."
    return best.replace(started_from=f"Start: {best.started_from}.{others}", settings=settings_of(method))


_GIVEN = "the first guess that was given"
_BALANCE = "the balance of forces along the measured motion"


def _starts(problem: Problem, start: str | MeasuredModes, key: int, progress: Progress) -> Iterator[Start]:
    """The guesses, each made when the one before has not led to an answer."""
    problem = problem.boxed()
    if isinstance(start, MeasuredModes):
        yield _of_modes(problem, start, key, progress)
    if isinstance(problem.experiment.structure, ImposedTest):
        yield Start(device_guess(problem), "stiffness and yield read off the measured loops")
    else:
        made = _balance(problem, key, progress)
        if made is not None:
            yield made
        made = _scaled(problem, progress)
        if made is not None:
            yield made
    yield Start(np.asarray(problem.unknowns.start), _GIVEN)


def _of_modes(problem: Problem, measured: MeasuredModes, key: int, progress: Progress) -> Start:
    method = ModalFit(frequency_error=_MODEL_ERROR, shape_error=_MODEL_ERROR)
    modal = modal_problem_of(problem.experiment, problem.unknowns, measured, _MODEL_ERROR, _MODEL_ERROR)
    fit = method.solve(modal, key, progress)
    return Start(fit.estimate, f"the structure fitted to {len(measured)} measured modes")


def _balance(problem: Problem, key: int, progress: Progress) -> Start | None:
    """The guess that balances the forces along the measured motion; None where no motion is measured."""
    records = range(len(problem.data))
    progress.stage("first guess: balance of forces (compiling)", 15)
    active = np.array([all(p.startswith("structure.") for p in places) for places in problem.unknowns.places])
    free, made = problem.start, None
    for _ in range(2):  # where sensors are few, modes of the structure fill in: then those of the first answer
        experiment = experiment_at(problem, free)
        motions = [measured_motion(problem, experiment, r) for r in records]
        known = tuple(motion for motion in motions if motion is not None)
        if len(known) < len(motions):
            return made
        loops = problem.unknowns.to_free(structure_guess(problem, experiment, known))
        descent = None
        if not np.array_equal(loops, free):
            descent = balanced(problem, np.where(active, loops, free)[None], known, active, progress)
        if descent is None or not descent.cost[0] < _BALANCED:  # loops say nothing: others around the guess
            guesses = free + first_guesses(problem, _GUESSES, _SPREAD, key)
            other = balanced(problem, np.where(active, guesses, free), known, active, progress)
            better = descent is None or not descent.cost[0] <= other.cost[other.best]
            descent = other if better or descent is None else descent
        if not np.isfinite(descent.cost[descent.best]):
            return made
        free = descent.free[descent.best]
        made = Start(np.asarray(problem.unknowns.to_physical(jnp.asarray(free))), _BALANCE)
        if all(motion.basis.shape[0] == motion.basis.shape[1] for motion in known):
            break
    return made


def _scaled(problem: Problem, progress: Progress) -> Start | None:
    """The given guess with all stiffnesses times the factor of a scan that leaves the smallest misfit."""
    start = np.asarray(problem.unknowns.start)
    stiff = np.asarray(_stiffening(problem, jnp.asarray(start))) > 0.0
    if not stiff.any():
        return None
    progress.stage("first guess: scan of stiffness (compiling)")
    values = np.where(stiff, _FACTORS[:, None] * start, start)
    free = np.stack([problem.unknowns.to_free(row) for row in values])
    cost = misfits(problem, free, problem.signal_size())
    if not np.isfinite(cost).any():
        return None
    best = int(np.nanargmin(np.where(np.isfinite(cost), cost, np.inf)))
    return Start(values[best], f"the given guess with its stiffnesses times {_FACTORS[best]:.3g}")


@eqx.filter_jit
def _stiffening(problem: Problem, values):
    """(p,): by how much the stiffness about rest grows with each unknown."""

    def stiffness(values):
        structure = problem.unknowns.place(problem.experiment, values).structure
        return structure.model(problem.data[0].loads).initial_matrices()[2]

    slopes = jax.jacfwd(stiffness)(values)
    return jnp.trace(slopes) * values
