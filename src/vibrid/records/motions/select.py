"""Selection of a suite of motions whose spectra match a target in mean and scatter.

N. Jayaram, T. Lin and J. W. Baker, "A computationally efficient ground-motion selection algorithm for matching a target
response spectrum mean and variance", Earthquake Spectra 27 (2011) 797–815: spectra are drawn from the target
distribution, each is matched by the candidate nearest to it, and candidates are then exchanged one by one as long as
mean and scatter of the suite come closer to the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vibrid.core.arguments import Seed, checked
from vibrid.core.attached import attached
from vibrid.core.errors import InputError
from vibrid.records.motions.scale import ScaledMotion, matching_periods, motion_spectrum
from vibrid.records.motions.targets import Target, correlation
from vibrid.records.record import Record


@dataclass(frozen=True, eq=False)
class Suite:
    """A selected suite: the scaled motions, and how well mean and scatter of ln Sa agree with the target.

    chosen: index of each motion among the candidates; mean_error, deviation_error: largest absolute differences of the
    mean and of the standard deviation of ln Sa over the periods.
    """

    motions: tuple[ScaledMotion, ...]
    chosen: tuple[int, ...]
    periods: np.ndarray
    target: Target
    mean_error: float
    deviation_error: float
    measure: str = "geometric"
    """spectrum of a pair: the geometric mean, RotD50 or RotD100"""

    @attached
    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the spectra of the suite against the target; returns the axes."""


@checked
def select_suite(
    candidates: Sequence[Record | Sequence[Record]],
    target: Target,
    count: int,
    period_range: tuple[float, float] | None = None,
    limit: tuple[float, float] = (0.25, 4.0),
    deviation_weight: float = 1.0,
    rounds: int = 3,
    key: Seed = 0,
    measure: str = "geometric",
    events: Sequence[str] | None = None,
) -> Suite:
    """Choose `count` motions from the candidates (records, or pairs of them) and scale each.

    Arguments
        target: mean and, where it has a deviation, scatter of ln Sa to match.
        period_range: s; limit: smallest and largest factor.
        deviation_weight: weight of the scatter against the mean; rounds: how often every place is reconsidered.
        key: seed of the spectra drawn from the target.
        measure: spectrum of a pair: 'geometric' (mean of the two), 'rotd50' or 'rotd100'.
        events: of each candidate: no two motions of one event are chosen; empty where unknown.
    """
    candidates = list(candidates)
    if not 1 <= count <= len(candidates):
        raise InputError(f"{count} motions cannot be chosen from {len(candidates)} candidates.")
    alike = _alike(events, len(candidates))
    different = len({tuple(row) for row in alike.tolist()})
    if count > different:
        raise InputError(f"{count} motions of different events cannot be chosen: the candidates are of {different}.")
    periods = matching_periods(target, period_range)
    wanted, scatter = np.log(target.at(periods)), target.deviation_at(periods)
    spectra = np.log([motion_spectrum(c, periods, measure=measure) for c in candidates])
    goals = _drawn_spectra(wanted, scatter, periods, count, key)
    free = (goals[:, None, :] - spectra).mean(axis=2)  # ln of the factor, (places, candidates)
    shifts = np.clip(free, *np.log(limit))
    too_much = np.where(free == shifts, 0.0, 1e6)  # a candidate beyond the limit only where there is no other
    weight = deviation_weight if target.deviation is not None and count > 1 else 0.0

    def error(suite):
        wrong = np.sum((suite.mean(axis=-2) - wanted) ** 2, axis=-1)
        if weight:
            wrong = wrong + weight * np.sum((suite.std(axis=-2, ddof=1) - scatter) ** 2, axis=-1)
        return wrong

    chosen: list[int] = []
    for place in range(count):
        distance = np.sum((spectra + shifts[place, :, None] - goals[place]) ** 2, axis=1) + too_much[place]
        distance[alike[chosen].any(axis=0)] = np.inf
        chosen.append(int(np.argmin(distance)))
    for _ in range(rounds):
        before = list(chosen)
        for place in range(count):
            suite = spectra[chosen] + shifts[np.arange(count), chosen][:, None]
            trials = np.repeat(suite[None], len(candidates), axis=0)
            trials[:, place] = spectra + shifts[place][:, None]
            wrong = error(trials) + too_much[place]
            others = [c for i, c in enumerate(chosen) if i != place]
            wrong[alike[others].any(axis=0)] = np.inf
            chosen[place] = int(np.argmin(wrong))
        if chosen == before:
            break
    suite = spectra[chosen] + shifts[np.arange(count), chosen][:, None]
    motions = tuple(
        _scaling(candidates[c], float(np.exp(shifts[place, c])), suite[place], wanted, periods, limit, target)
        for place, c in enumerate(chosen)
    )
    deviation = suite.std(axis=0, ddof=1) if count > 1 else np.zeros(periods.size)
    return Suite(
        motions,
        tuple(chosen),
        periods,
        target,
        float(np.abs(suite.mean(axis=0) - wanted).max()),
        float(np.abs(deviation - scatter).max()) if weight else float("nan"),
        measure,
    )


def _alike(events: Sequence[str] | None, count: int) -> np.ndarray:
    """(candidates, candidates): which exclude each other, as every candidate does itself."""
    if events is None:
        return np.eye(count, dtype=bool)
    if len(events) != count:
        raise InputError(f"There are {count} candidates and {len(events)} events; give one for each.")
    names = [name or f"unknown {i}" for i, name in enumerate(events)]
    return np.array([[a == b for b in names] for a in names])


def _drawn_spectra(mean, scatter, periods, count: int, key: int) -> np.ndarray:
    """Spectra (ln Sa) drawn from the target, the best of twenty draws; without scatter, its mean."""
    if not np.any(scatter > 0):
        return np.repeat(mean[None], count, axis=0)
    rho = correlation(np.clip(periods, 0.01, 10)[:, None], np.clip(periods, 0.01, 10)[None, :])
    values, vectors = np.linalg.eigh(rho)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    generator = np.random.default_rng(key)

    def misfit(spectra: np.ndarray) -> float:
        of_mean = np.sum((spectra.mean(axis=0) - mean) ** 2)
        of_scatter = np.sum((spectra.std(axis=0, ddof=1) - scatter) ** 2) if count > 1 else 0.0
        return float(of_mean + of_scatter)

    draws = (mean + scatter * (generator.standard_normal((count, periods.size)) @ root.T) for _ in range(20))
    return min(draws, key=misfit)


def _scaling(motion, factor, log_spectrum, wanted, periods, limit, target) -> ScaledMotion:
    components = (motion,) if isinstance(motion, Record) else tuple(motion)
    note = f"scaled by {factor:.4g} in a suite for {target.name}"
    scaled = tuple(r.replace(note, data=r.data * factor) for r in components)
    limited = bool(np.isclose(factor, limit[0]) or np.isclose(factor, limit[1]))
    misfit = float(np.sqrt(np.mean((log_spectrum - wanted) ** 2)))
    return ScaledMotion(scaled, factor, misfit, limited, periods, np.exp(log_spectrum))
