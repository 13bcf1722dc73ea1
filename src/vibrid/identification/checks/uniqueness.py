"""Is the answer the only one? The result moved to the best of several, the others told, and what would decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from vibrid.core.digits import with_uncertainty
from vibrid.core.findings import ODD, WRONG, Finding
from vibrid.identification.checks.again import fitted_again, is_minimum
from vibrid.identification.checks.twins import EQUAL, Twin, answers_of, find_twins
from vibrid.identification.checks.work import around
from vibrid.identification.other_answers import OtherAnswer
from vibrid.structures.sensors import Sensor

if TYPE_CHECKING:
    from vibrid.identification.result import Identification

ANOTHER = "another answer"
MOVES = 3
_ACCELERATIONS = ("absolute_acceleration", "acceleration")


def checked_answers(fit: Identification) -> Identification:
    """The result with the other answers that its sensors cannot tell from it.

    A result of least squares moves where another answer fits better. With a sensor at as many places as there are
    degrees of freedom only nonlinear parts in parallel are exchanged.
    """
    moves = 0
    while True:
        twins, better = find_twins(fit)
        if better is None or moves == MOVES or not _is_least_squares(fit):
            break
        moves += 1
        physical = fit.problem.boxed().unknowns.to_physical(jnp.asarray(better))
        fit = fitted_again(fit.replace(free=fit.problem.unknowns.to_free(np.asarray(physical))), fit.problem)
    if not twins:
        return fit
    answers = answers_of(fit, twins)
    found = [_finding(fit, twin, answer) for twin, answer in zip(twins, answers, strict=True)]
    equal = tuple(answer for twin, answer in zip(twins, answers, strict=True) if not twin.by_damping)
    return fit.replace(other_answers=equal, checks=(*found, *fit.checks))


def _is_least_squares(fit: Identification) -> bool:
    return fit.samples is None and is_minimum(fit, around(fit))


def _finding(fit: Identification, twin: Twin, answer: OtherAnswer) -> Finding:
    said, sensor = _said(twin, _in_words(fit, answer)), None if twin.relabelled else telling_sensor(fit, answer)
    verdict = ODD if twin.by_damping or twin.relabelled else WRONG
    if sensor is not None:
        label, times = sensor
        said += f" A sensor of {label} would decide: there they differ by {times:.3g} times the noise."
    numbers = {name: float(value) for name, value in zip(fit.names, answer.estimate, strict=True)}
    return Finding(ANOTHER, verdict, said, "", 0.0, numbers | {"log_likelihood": answer.log_likelihood})


def _said(twin: Twin, values: str) -> str:
    if twin.by_damping:
        return (
            f"Without damping, another structure would give the same readings ({values}): the choice between the two "
            "rests on the form of damping alone."
        )
    said = f"Another answer explains the readings as well: {values}."
    if twin.relabelled is None:
        return f"{said} These sensors cannot tell the two apart."
    one, two = twin.relabelled
    return (
        f"{said} It is the same structure with {one} and {two} exchanged, which act in parallel: only a sensor of the "
        "force in one of them tells which is which."
    )


def _in_words(fit: Identification, answer: OtherAnswer) -> str:
    """The unknowns in which the answers differ, at most six."""
    away = np.abs(answer.estimate - fit.estimate) / np.maximum(np.abs(fit.estimate), 1e-300)
    chosen = [i for i in np.argsort(-away)[:6] if away[i] > 0.01]
    texts = []
    for i in sorted(chosen):
        value, band = with_uncertainty(float(answer.estimate[i]), 2 * float(answer.deviation[i]))
        texts.append(" ".join(filter(None, [f"{fit.names[i]} = {value}", f"± {band}" if band else "", fit.units[i]])))
    return ", ".join(texts) + (", …" if len(chosen) < np.sum(away > 0.01) else "")


def telling_sensor(fit: Identification, answer: OtherAnswer) -> tuple[str, float] | None:
    """Where one more sensor of a kind in use would tell two answers apart best: its name, and their difference there
    over the noise of such a sensor; None where no place can be named, or none decides."""
    problem = fit.problem
    structure, used = problem.experiment.structure, {(s.quantity, s.place) for s in problem.sensors}
    kinds = dict.fromkeys(s.quantity for s in problem.sensors if s.quantity in (*_ACCELERATIONS, "displacement"))
    candidates = [Sensor(q, place) for q in kinds for place in structure.places() if (q, place) not in used]
    if not candidates:
        return None
    both = (fit.free, problem.unknowns.to_free(answer.estimate))
    here, there = (np.asarray(problem.read_by(jnp.asarray(free), candidates)) for free in both)
    noise = {q: np.mean([n for s, n in zip(problem.sensors, fit.noise, strict=True) if s.quantity == q]) for q in kinds}
    times = np.sqrt(np.mean((here - there) ** 2, axis=0)) / [noise[s.quantity] for s in candidates]
    best = int(np.argmax(np.where(np.isfinite(times), times, -1.0)))
    label = f"{candidates[best].quantity.replace('_', ' ')} at '{candidates[best].place}'"
    return (label, float(times[best])) if len(here) * times[best] ** 2 > EQUAL else None
