"""Which law would explain what a fit leaves over? Directed tests of small forces beside the storeys of a building.

Beside every storey a small force of some kind is imagined: hysteresis, hardening, friction, damping that is not
proportional to velocity. Its effect on the readings, to first order, is one more direction; what the unknowns can
explain of it is projected out of whitened readings, and what is left over tells its size and how likely it is. A
general test of residuals misses a weak hysteresis that such a directed one finds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy

from vibrid.core.findings import ODD, WRONG, Finding
from vibrid.identification.checks.again import movable
from vibrid.identification.checks.dependence import noise_about_trend, orthonormal
from vibrid.identification.checks.input_noise import InputNoise
from vibrid.identification.checks.law_directions import directions, is_linear, largest_drift
from vibrid.identification.checks.scores import left_over
from vibrid.identification.checks.work import around, forget
from vibrid.identification.conclude import covariance_of
from vibrid.structures.shear import ShearBuilding

if TYPE_CHECKING:
    from vibrid.identification.result import Identification

NAME = "law"
ALARMS = 0.02
"""Probability that a law is told where none is missing."""

SUSPECT = 0.5
"""Excess of what residuals depend on (`ChannelFit`) from which a law is looked for where that takes a simulation and
the noise is white."""

BIASED = 1.0
"""Standard deviations of an unknown from which a bias by a missing law makes a result wrong."""

TOLD = 25.0
"""Noncentrality along a tested direction from which a law is told nearly always (`benchmarks/laws.py`)."""

GROSS = 0.5
"""Relative misfit above which no small force is its cause."""

MOST_STOREYS = 12
_SMOOTH = 40  # parts of the spectrum of the residuals
_STRETCHES = 16  # of a record, of which every second is held out
WORDS = {
    "hysteresis": "hysteresis (`BoucWen`)",
    "hardening": "a stiffness that changes with the deformation (`Cubic`)",
    "friction": "friction (`Bilinear`, or `LuGre`)",
    "damping": "damping that is not proportional to velocity (`NonlinearViscous`)",
}


@dataclass(frozen=True)
class LawScore:
    """A small force of one kind beside one storey.

    Fields
        drop: of χ², over the usual one of noise at the frequencies of the force.
        held_out: drop of χ² in each half of the readings with the size from the other half.
        explains: drop over that of all such forces together.
        bias: of every unknown without it, in standard deviations.
        left: what the force explains of the whitened readings of every record, (nt, ny); of the likeliest alone.
    """

    kind: str
    storey: int
    drop: float
    held_out: float
    explains: float
    bias: np.ndarray
    left: tuple[np.ndarray, ...] = ()


def missing_laws(fit: Identification) -> list[Finding]:
    """The law that would explain best why a building does not fit; empty where none clearly does."""
    if not is_tested(fit) or max(f.relative for f in fit.fits) > GROSS:
        return []
    suspect = max(f.excess for f in fit.fits) > SUSPECT or not all(f.white for f in fit.fits)
    if not suspect and not is_linear(fit.problem, fit.free):
        return []
    scores = law_scores(fit, likely=True)
    if not scores or scores[0].held_out <= 0.0 or scores[0].drop < _threshold(len(scores)):
        return []
    best = scores[0]
    worst = int(np.argmax(np.abs(best.bias)))
    bias = abs(float(best.bias[worst]))
    rival = next((s for s in scores[1:] if s.drop > 0.7 * best.drop), None)
    other = f" (or {WORDS[rival.kind].split(' (')[0]} in `storeys[{rival.storey}]`)" if rival else ""
    said = (
        f"`storeys[{best.storey}]` lacks {WORDS[best.kind]}{other}: it explains {100 * best.explains:.0f} % of what "
        f"such laws could, also on readings that were held out, {_where(fit, best)}. Without it estimates are biased "
        f"by up to {bias:.2g} standard deviations ({fit.names[worst]})."
    )
    each = {f"bias of {name}": float(value) for name, value in zip(fit.names, best.bias, strict=True)}
    numbers = {"drop": float(best.drop), "bias": bias} | each
    verdict = WRONG if bias > BIASED else ODD
    return [Finding(NAME, verdict, said, f"storeys[{best.storey}]", best.explains, numbers)]


def possible_bias(fit: Identification) -> dict[str, float]:
    """How far the weakest law that is told nearly always (a noncentrality of `TOLD` along its direction), beside the
    worst storey, moves every unknown, in standard deviations: so much bias may be there unseen. Empty where laws were
    not looked for by transfer functions."""
    if fit.convergence.get("checks") != "all" or "input_noise" in fit.convergence or fit.free_covariance is None:
        return {}
    if not is_tested(fit) or not is_linear(fit.problem, fit.free):
        return {}
    try:
        scores = law_scores(fit)
    finally:
        forget()
    each = [np.abs(score.bias) * np.sqrt(TOLD / max(score.drop, 1e-300)) for score in scores]
    return dict(zip(fit.names, np.max(each, axis=0).tolist(), strict=True)) if each else {}


def _where(fit: Identification, score: LawScore) -> str:
    """When, at which frequency and at which deformation a force acts, in words."""
    record = int(np.argmax([np.sum(part**2) for part in score.left]))
    left, step = score.left[record], fit.problem.data[record].step
    reached = np.cumsum(np.sum(left**2, axis=1))
    first, last = (step * int(np.searchsorted(reached, share * reached[-1])) for share in (0.1, 0.9))
    power = np.sum(np.abs(np.fft.rfft(left, axis=0)) ** 2, axis=1)
    frequency = float(np.fft.rfftfreq(len(left), step)[1:][np.argmax(power[1:])])
    drift = 1e3 * largest_drift(fit.problem, fit.free, record, score.storey)
    return f"most of it from {first:.2g} to {last:.2g} s around {frequency:.2g} Hz, with drifts up to {drift:.2g} mm"


def stands_beside(fit: Identification, noise: InputNoise) -> bool:
    """Whether a law is still missing where noise of the excitation explains what it can."""
    here, keep = around(fit), movable(fit)
    basis = orthonormal(noise.whitened(here.slopes[0][:, :, keep]))
    r, tried = (
        part - basis @ (basis.T @ part)
        for part in map(noise.whitened, (here.residuals[0], directions(fit.problem, fit.free)[1][0]))
    )
    along, power = tried.T @ r, np.sum(tried * tried, axis=0)
    drops = along**2 / np.maximum(power, 1e-300) / (r @ r) * len(r)
    return bool(np.max(drops[power > 0.0], initial=0.0) > _threshold(len(drops)))


def _threshold(count: int) -> float:
    """Drop of χ² that the largest of so many reaches by chance with the probability of an alarm."""
    return float(scipy.stats.chi2.isf(ALARMS / count, 1))


def is_tested(fit: Identification) -> bool:
    """Whether the structure of a result is one whose laws can be tested here."""
    structure = fit.problem.experiment.structure
    return isinstance(structure, ShearBuilding) and structure.floors <= MOST_STOREYS and not fit.problem.delays


def law_scores(fit: Identification, likely: bool = False) -> list[LawScore]:
    """All small forces that the unknowns do not explain, the most likely first; none where only those that are likely
    are asked for, and the noise by chance explains as much as the best of them."""
    here, keep = around(fit), movable(fit)
    noise = noise_about_trend(here)
    left = left_over(here, noise, keep)
    kinds, moved = directions(fit.problem, fit.free)
    tried = np.concatenate([noise.whitened(i, part).reshape(-1, len(kinds)) for i, part in enumerate(moved)])
    outside = tried - left.basis @ (left.basis.T @ tried)
    powers, along = np.sum(outside**2, axis=0), outside.T @ left.residual
    seen = left.are_outside(powers, np.sum(tried**2, axis=0))
    drops = along[seen] ** 2 / powers[seen]
    if likely and not np.max(drops, initial=0.0) >= _threshold(len(drops)) * left.size:
        return []
    inverse = covariance_of(left.known.T @ left.known)
    deviation = np.sqrt(np.diag(inverse))
    shapes = [d.readings.shape for d in fit.problem.data]
    halves = np.concatenate([np.repeat(_every_second(n), channels) for n, channels in shapes])
    together = left.explained([outside[:, q] for q in np.flatnonzero(seen)])
    found = []
    for q in np.flatnonzero(seen):
        rest, size = outside[:, q], along[q] / powers[q]
        usual = max(_usual(rest, left.residual - size * rest, shapes), left.size)
        bias = np.zeros(len(fit.names))
        bias[keep] = size * (inverse @ (left.known.T @ tried[:, q])) / deviation
        drop, held_out = float(along[q] * size), _held_out(rest, left.residual, halves)
        explains = min(drop / left.size / max(together, 1e-300), 1.0)
        found.append((LawScore(*kinds[q], drop / usual, held_out / usual, explains, bias), size * rest))
    found.sort(key=lambda pair: -pair[0].drop)
    best = [replace(score, left=_of_records(explained, shapes)) for score, explained in found[:1]]
    return best + [score for score, _ in found[1:]]


def _of_records(values: np.ndarray, shapes: list[tuple[int, ...]]) -> tuple[np.ndarray, ...]:
    """All readings in a row, as (nt, ny) of every record."""
    ends = np.cumsum([samples * channels for samples, channels in shapes])
    return tuple(part.reshape(shape) for part, shape in zip(np.split(values, ends[:-1]), shapes, strict=True))


def _usual(direction: np.ndarray, r: np.ndarray, shapes: list[tuple[int, ...]]) -> float:
    """Mean square of residuals at the frequencies of a direction: noise with an empty band is not quite whitened."""
    product, start = 0.0, 0
    for samples, channels in shapes:
        part = slice(start, start + samples * channels)
        start = part.stop
        spectra = (np.abs(np.fft.rfft(x[part].reshape(samples, channels), axis=0)) ** 2 for x in (direction, r))
        of_direction, of_noise = spectra
        of_noise = scipy.ndimage.uniform_filter1d(of_noise, max(len(of_noise) // _SMOOTH, 5), axis=0, mode="mirror")
        twice = np.full((len(of_noise), 1), 2.0)
        twice[0] = 1.0
        if samples % 2 == 0:
            twice[-1] = 1.0
        product += float(np.sum(twice * of_direction * of_noise)) / samples**2
    return product / float(direction @ direction)


def _every_second(samples: int) -> np.ndarray:
    """(samples,) bool: half of a record in stretches, so that strong motion is in both halves."""
    return np.arange(samples) * _STRETCHES // samples % 2 == 0


def _held_out(direction: np.ndarray, r: np.ndarray, first: np.ndarray) -> float:
    """Drop of the squares in each half with the size from the other half."""
    gain = 0.0
    for used, scored in ((first, ~first), (~first, first)):
        size = float(direction[used] @ r[used]) / max(float(direction[used] @ direction[used]), 1e-300)
        d, y = direction[scored], r[scored]
        gain += 2.0 * size * float(d @ y) - size**2 * float(d @ d)
    return gain
