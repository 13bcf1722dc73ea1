"""The error of the time step and of the input between the samples, as a bias of the estimate.

The readings are predicted again with half the step, and with another assumption about the input between its samples.
The difference δ moves the least squares by (JᵀJ)⁻¹ Jᵀ δ. A bias above a quarter of a standard deviation is removed by
fitting again, where the caller left the choice open, and told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from vibrid.core.findings import KNOWN, ODD, Finding
from vibrid.identification.checks.again import fitted_again, movable
from vibrid.identification.checks.dependence import noise_at, tested_fits
from vibrid.identification.checks.noise import NoiseModel, white_noise
from vibrid.identification.checks.work import around
from vibrid.identification.conclude import covariance_of
from vibrid.identification.diagnostics import verdict
from vibrid.identification.levenberg import LinearReadings
from vibrid.identification.problem import Problem, predict
from vibrid.simulation.exact import ExactLinear
from vibrid.structures.device import ImposedTest

if TYPE_CHECKING:
    from vibrid.identification.result import Identification

STEP = "time step"
"""Name of what is found about the time step."""

HOLD = "hold"
"""Name of what is found about the input between its samples."""

ALLOWED = 0.25
"""Largest bias, in standard deviations, that is left alone."""

CLEARLY = 1.0
"""Bias, in standard deviations of white noise, from which a finer step that explains the readings better is taken."""

FINEST = 64
"""Most steps per sample that are tried."""

CHANGED = 0.01
"""Change of a predicted reading, over its standard deviation, from which half the step matters to a misfit."""

UNDECIDED = 1.0
"""Bias from which it is told that the data do not decide between two assumptions about the input."""

CLEAR = 4.0
"""Difference of log-likelihoods from which one assumption about the input is called better."""


def check_time_step(
    fit: Identification, here: LinearReadings, may_change: bool
) -> tuple[Identification, LinearReadings, list[Finding]]:
    """The result with a time step that is fine enough, or with a finding that it is not."""
    if isinstance(fit.problem.integrator, ExactLinear):
        return fit, here, []
    first = 1 if may_change else fit.problem.substeps  # a device may have begun with more
    finest = max(FINEST, 2 * fit.problem.substeps)
    while True:
        finer = fit.problem.integrated(substeps=2 * fit.problem.substeps)
        difference = _difference(here, finer)
        effect = _Effect.of(fit, here, plain_noise(fit), difference)
        clear = effect.dearer < 0.0 and np.max(np.abs(effect.bias), initial=0.0) > CLEARLY
        if not (clear and may_change and finer.substeps <= finest):  # else the noise as it is changes nothing
            effect = _Effect.of(fit, here, noise_at(here), difference)
        bias = effect.bias
        worst = int(np.argmax(np.abs(bias)))
        if not abs(bias[worst]) > ALLOWED:
            break
        if effect.dearer > CLEAR:  # data that were computed with this step prefer it
            break
        if not may_change or finer.substeps > finest:
            sentence = (
                f"The time step is too long for these data: it moves {fit.names[worst]} by {abs(bias[worst]):.1f} "
                f"standard deviations. Give substeps = {finer.substeps} or more."
            )
            return fit, here, [Finding(STEP, ODD, sentence, "", 0.0, {"bias": float(abs(bias[worst]))})]
        fit = fitted_again(fit, finer)
        here = around(fit)
    if fit.problem.substeps == first:
        return fit, here, []
    return fit, here, [refined(fit.problem.substeps, first)]


def refined(substeps: int, first: int) -> Finding:
    """That a result has more steps per sample than were taken first."""
    sentence = (
        f"The time step was refined to {substeps} steps per sample: with {first} the estimates would have been biased."
    )
    return Finding(STEP, KNOWN, sentence, "", 0.0, {"substeps": float(substeps)})


def with_steps_needed(fit: Identification, finding: Finding) -> Finding:
    """What is found about the time step of a result that cannot be moved, with the steps per sample ("substeps") with
    which the least squares of the readings have no bias; as it is where no more of them help."""
    least = fitted_again(fit, fit.problem)
    here = around(least)
    finer, _, found = check_time_step(least, here, True)
    if any(other.verdict == ODD for other in found) or finer.problem.substeps == fit.problem.substeps:
        return finding
    return replace(finding, numbers=finding.numbers | {"substeps": float(finer.problem.substeps)})


def step_of_misfit(fit: Identification) -> list[Finding]:
    """Where the time step may have led a descent astray: the steps per sample ("substeps", where they are not too
    many) from which on the readings that are predicted at its end do not change."""
    problem, steps, first = fit.problem, fit.problem.substeps, 0.0
    if isinstance(problem.integrator, ExactLinear) or fit.predictions is None:
        return []
    before, free, settled = fit.predictions, jnp.asarray(fit.free), False
    while steps <= FINEST and not settled:
        finer = problem.integrated(substeps=2 * steps)
        after = [np.asarray(predict(finer, free, i)) for i in range(len(problem.data))]
        change = max(_change(y, z) for y, z in zip(before, after, strict=True))
        settled = not change > CHANGED
        if not settled:
            steps, before, first = 2 * steps, after, first or change
    if steps == problem.substeps:
        return []
    sentence = (
        f"The time step is too long: half of it changes the readings that are predicted at the estimate by "
        f"{100 * first:.2g} %. Give substeps = {steps} or more."
    )
    return [Finding(STEP, ODD, sentence, "", 0.0, {"substeps": float(steps)} if settled else {})]


def _change(before: np.ndarray, after: np.ndarray) -> float:
    """The largest change of a channel, (nt, ny), over its standard deviation."""
    with np.errstate(all="ignore"):  # a simulation may diverge
        sizes = np.maximum(np.std(after, axis=0), 1e-300)
        return float(np.max(np.sqrt(np.mean((after - before) ** 2, axis=0)) / sizes))


def steps_needed(fit: Identification) -> int | None:
    """Steps per sample that a result with too few of them needs; None where it says nothing of that."""
    found = (f.numbers.get("substeps") for f in fit.checks if f.name == STEP and f.verdict == ODD)
    return next((int(steps) for steps in found if steps), None)


def check_hold(
    fit: Identification, here: LinearReadings, noise: NoiseModel, may_change: bool
) -> tuple[Identification, LinearReadings, list[Finding]]:
    """The result with the assumption about the input between its samples that the data prefer, and what was found."""
    p = fit.problem
    if p.hold not in ("linear", "band-limited") or isinstance(p.experiment.structure, ImposedTest):
        return fit, here, []
    if not any(np.asarray(d.drive.samples).size and np.any(np.asarray(d.drive.samples)) for d in p.data):
        return fit, here, []
    other = p.integrated(hold="band-limited" if p.hold == "linear" else "linear")
    effect = _Effect.of(fit, here, noise, _difference(here, other))
    bias, gained = effect.bias, -effect.dearer
    worst = int(np.argmax(np.abs(bias)))
    size = f"{fit.names[worst]} by {abs(bias[worst]):.1f} standard deviations"
    numbers = {"bias": float(abs(bias[worst])), "gained": gained}
    if gained > CLEAR and abs(bias[worst]) > ALLOWED and may_change:
        again = fitted_again(fit, other)
        there = around(again)
        if verdict(tested_fits(again.fits, there, movable(again)))[0]:  # another cause may prefer a wrong hold
            sentence = (
                f"Between its samples the input is taken as {other.hold}, which the data prefer to {p.hold}; the "
                f"choice moves {size}."
            )
            return again, there, [Finding(HOLD, KNOWN, sentence, "", 0.0, numbers)]
    if gained < -CLEAR or abs(bias[worst]) < (ALLOWED if gained > CLEAR else UNDECIDED):
        return fit, here, []
    preferred = f"the data prefer {other.hold}" if gained > CLEAR else "the data do not decide"
    sentence = (
        f"What the input does between its samples matters: hold = {p.hold} or {other.hold} moves {size}, and "
        f"{preferred}. A higher sampling rate of the input would settle it."
    )
    return fit, here, [Finding(HOLD, ODD, sentence, "", 0.0, numbers)]


def plain_noise(fit: Identification) -> NoiseModel:
    """The noise that a fit assumes by default."""
    return white_noise(fit.noise, [np.asarray(d.present) for d in fit.problem.data], fit.problem.data[0].step)


def _difference(here: LinearReadings, other: Problem) -> list[np.ndarray]:
    """Predictions of another problem at the same φ, less those that are there."""
    return [np.asarray(predict(other, jnp.asarray(here.free), i)) - y for i, y in enumerate(here.predictions)]


def _whitened(here: LinearReadings, noise: NoiseModel, values: list[np.ndarray]) -> np.ndarray:
    """(nt, ny, …) of all records as independent readings of unit size, missing ones left out; (all readings, …)."""
    made = []
    for i, (data, v) in enumerate(zip(here.problem.data, values, strict=True)):
        present = np.asarray(data.present).reshape(*v.shape[:2], *(1,) * (v.ndim - 2))
        made.append(noise.whitened(i, v * present).reshape(-1, *v.shape[2:]))
    return np.concatenate(made)


@dataclass(frozen=True)
class _Effect:
    """What a difference of the predictions does.

    Fields
        bias: of every unknown, in its standard deviations.
        dearer: how much less likely the readings would be with it added to the predictions, after a new fit.
    """

    bias: np.ndarray
    dearer: float

    @staticmethod
    def of(fit: Identification, here: LinearReadings, noise: NoiseModel, difference: list[np.ndarray]) -> _Effect:
        keep = movable(fit)
        slopes = _whitened(here, noise, [part[:, :, keep] for part in here.slopes])
        delta, r = (_whitened(here, noise, values) for values in (difference, here.residuals))
        inverse = covariance_of(slopes.T @ slopes)
        shift, known = (inverse @ (slopes.T @ values) for values in (delta, r))
        bias = np.zeros(len(fit.names))
        bias[keep] = shift / np.sqrt(np.diag(inverse))
        before = r - slopes @ known
        after = before - (delta - slopes @ shift)
        return _Effect(np.nan_to_num(bias), 0.5 * float(after @ after - before @ before))
