"""Which law would explain what a fit leaves over? Directed tests of small forces beside the storeys of a building.

Beside every storey a small force of some kind is imagined: hysteresis, hardening, friction, damping that is not
proportional to velocity. Its effect on the readings, to first order, is one more direction; what the unknowns can
explain of it is projected out of whitened readings, and what is left over tells its size and how likely it is. A
general test of residuals misses a weak hysteresis that such a directed one finds.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.findings import ODD, WRONG, Finding
from vibrid.identification.checks.again import movable
from vibrid.identification.checks.dependence import noise_about_trend
from vibrid.identification.checks.scores import left_over
from vibrid.identification.conclude import covariance_of
from vibrid.identification.levenberg import linearised
from vibrid.identification.problem import Problem
from vibrid.laws import Bilinear, BoucWen, Cubic, Linear, NonlinearViscous
from vibrid.simulation.simulate import default_integrator
from vibrid.structures.base import Attachment
from vibrid.structures.sensors import Sensors
from vibrid.structures.shear import ShearBuilding

if TYPE_CHECKING:
    from vibrid.identification.result import Identification
    from vibrid.laws.base import Law

NAME = "law"
LEAST = 20.0
"""Drop of χ² of a law that is told."""

SUSPECT = 0.5
"""Excess of what residuals depend on (`ChannelFit`) from which a law is looked for where the noise is white."""

CLEARLY = 1.2
"""Times the drop of χ² by chance."""

BIASED = 1.0
"""Standard deviations of an unknown from which a bias by a missing law makes a result wrong."""

GROSS = 0.5
"""Relative misfit above which no small force is its cause."""

MOST_STOREYS = 12
_SPRING = "spring"
_SHIFTS = 16
_SLIP = 0.02  # deformation, over the largest, at which the imagined friction slips
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
        drop: of χ².
        held_out: drop of χ² in each half of the readings with the size from the other half.
        bias: of every unknown without it, in standard deviations.
    """

    kind: str
    storey: int
    drop: float
    held_out: float
    bias: np.ndarray


def missing_laws(fit: Identification) -> list[Finding]:
    """The law that would explain best why a building does not fit; empty where none clearly does."""
    suspect = max(f.excess for f in fit.fits) > SUSPECT or not all(f.white for f in fit.fits)
    if not suspect or max(f.relative for f in fit.fits) > GROSS:
        return []
    scores, together, chance = law_scores(fit)
    if not scores or scores[0].held_out <= 0.0 or scores[0].drop < max(LEAST, CLEARLY * chance):
        return []
    best = scores[0]
    share = best.drop / together
    worst = int(np.argmax(np.abs(best.bias)))
    bias = abs(float(best.bias[worst]))
    rival = next((s for s in scores[1:] if s.drop > 0.7 * best.drop), None)
    other = f" (or {WORDS[rival.kind].split(' (')[0]} in `storeys[{rival.storey}]`)" if rival else ""
    said = (
        f"`storeys[{best.storey}]` lacks {WORDS[best.kind]}{other}: it explains {100 * share:.0f} % of what such "
        f"laws could, also on readings that were held out. Without it estimates are biased by up to {bias:.2g} "
        f"standard deviations ({fit.names[worst]})."
    )
    numbers = {"drop": float(best.drop), "bias": bias}
    verdict = WRONG if bias > BIASED else ODD
    return [Finding(NAME, verdict, said, f"storeys[{best.storey}]", share, numbers)]


def is_tested(fit: Identification) -> bool:
    """Whether the structure of a result is one whose laws can be tested here."""
    structure = fit.problem.experiment.structure
    return isinstance(structure, ShearBuilding) and structure.floors <= MOST_STOREYS and not fit.problem.delays


def law_scores(fit: Identification) -> tuple[list[LawScore], float, float]:
    """All small forces, the most likely first; the drop of χ² by all together; and the largest by any of them at other
    times, which is chance: noise whose spectrum has an empty band is not quite whitened."""
    if not is_tested(fit):
        return [], 0.0, 0.0
    here, keep = linearised(fit.problem, fit.free), movable(fit)
    noise = noise_about_trend(here)
    left = left_over(here, noise, keep)
    kinds, moved = _directions(fit.problem, fit.free)
    inverse = covariance_of(left.known.T @ left.known)
    deviation = np.sqrt(np.diag(inverse))
    halves = [np.repeat(np.arange(d.samples) < d.samples // 2, len(fit.fits)) for d in fit.problem.data]
    first = np.concatenate(halves)
    found, directions, chance = [], [], 0.0
    for q, (kind, storey) in enumerate(kinds):
        d = np.concatenate([noise.whitened(i, part[:, :, q]).reshape(-1) for i, part in enumerate(moved)])
        outside = left.outside(d)
        if outside is None:
            continue
        power, along = float(outside @ outside), float(outside @ left.residual)
        bias = np.zeros(len(fit.names))
        bias[keep] = along / power * (inverse @ (left.known.T @ d)) / deviation
        chance = max(_by_chance(outside, left.residual, len(fit.fits)) / power / left.size, chance)
        held_out = _held_out(outside, left.residual, first) / left.size
        found.append(LawScore(kind, storey, along**2 / power / left.size, held_out, bias))
        directions.append(outside)
    return sorted(found, key=lambda score: -score.drop), left.explained(directions), chance


def _by_chance(direction: np.ndarray, r: np.ndarray, channels: int) -> float:
    """Largest square of the product with the same direction at other times."""
    samples = len(r) // channels
    shifts = (np.linspace(0.1, 0.9, _SHIFTS) * samples).astype(int) * channels
    return max(float(np.roll(direction, shift) @ r) ** 2 for shift in shifts)


def _held_out(direction: np.ndarray, r: np.ndarray, first: np.ndarray) -> float:
    """Drop of the squares in each half with the size from the other half."""
    gain = 0.0
    for used, scored in ((first, ~first), (~first, first)):
        size = float(direction[used] @ r[used]) / max(float(direction[used] @ direction[used]), 1e-300)
        d, y = direction[scored], r[scored]
        gain += 2.0 * size * float(d @ y) - size**2 * float(d @ d)
    return gain


def _directions(problem: Problem, free: np.ndarray) -> tuple[list[tuple[str, int]], list[np.ndarray]]:
    """(kind, storey) of every small force, and the change of the readings (nt, ny, forces) of every record for it."""
    experiment = problem.unknowns.apply(problem.experiment, jnp.asarray(free))
    structure = experiment.structure
    assert isinstance(structure, ShearBuilding)
    sizes = _deformations(problem, free)
    kinds, added = [], []
    for i, (e, v) in enumerate(sizes):
        for kind, law in _small(e, v).items():
            kinds.append((kind, i))
            added.append(Attachment(law, str(i), str(i - 1) if i else None))
    extended = dataclasses.replace(structure, attachments=(*structure.attachments, *added))
    integrator = default_integrator(extended, problem.hold)
    larger = dataclasses.replace(
        problem, experiment=dataclasses.replace(problem.experiment, structure=extended), integrator=integrator
    )
    present = len(structure.attachments)
    moved = _moved(larger, dataclasses.replace(experiment, structure=extended), present)
    # hysteresis without its initial stiffness: what it takes away from an elastic storey
    tested = [q for q, (kind, _) in enumerate(kinds) if kind != _SPRING]
    less = np.eye(len(kinds))
    for q, (kind, storey) in enumerate(kinds):
        if kind == "hysteresis":
            less[kinds.index((_SPRING, storey)), q] = -1.0
    pairs = zip(moved, problem.data, strict=True)
    made = [(np.asarray(part) @ less[:, tested]) * np.asarray(d.present)[:, :, None] for part, d in pairs]
    return [kinds[q] for q in tested], made


def _small(e: float, v: float) -> dict[str, Law]:
    """Laws with a force of about 1 N at a deformation of e m and a velocity of v m/s; the last is not tested."""
    return {
        "hysteresis": BoucWen(1.0 / e, beta=1.0 / e, gamma=1.0 / e),
        "hardening": Cubic(1.0 / e, 1.0 / e**3),
        "friction": Bilinear(1.0 / (_SLIP * e), _SLIP * e, 0.0),
        "damping": NonlinearViscous(1.0 / v**0.5, 0.5),
        _SPRING: Linear(1.0 / e),
    }


def _scaled(law: Law, factor) -> Law:
    """The law with its force multiplied; the linear part of a hardening spring stays out of it."""
    if isinstance(law, Cubic):
        return eqx.tree_at(lambda q: (q.stiffness, q.cubic), law, (0.0 * law.stiffness, factor * law.cubic))
    if isinstance(law, NonlinearViscous):
        return eqx.tree_at(lambda q: q.coefficient, law, factor * law.coefficient)
    assert isinstance(law, BoucWen | Bilinear | Linear)
    return eqx.tree_at(lambda q: q.stiffness, law, factor * law.stiffness)


@eqx.filter_jit
def _moved(problem: Problem, experiment, present: int):
    structure = experiment.structure
    count = len(structure.attachments) - present

    def readings(factors):
        changed = [
            dataclasses.replace(a, law=_scaled(a.law, factors[i]))
            for i, a in enumerate(structure.attachments[present:])
        ]
        made = eqx.tree_at(lambda s: s.attachments[present:], structure, tuple(changed))
        with_it = dataclasses.replace(experiment, structure=made)
        return tuple(problem.predict_data(with_it, d, i) for i, d in enumerate(problem.data))

    return jax.jacfwd(readings)(jnp.zeros(count))


@eqx.filter_jit
def _drifts(problem: Problem, free, floors: int):
    return problem.read_by(free, Sensors(drift=list(range(floors)), drift_velocity=list(range(floors))))


def _deformations(problem: Problem, free: np.ndarray) -> list[tuple[float, float]]:
    """Half the largest drift and drift velocity of every storey in the first record."""
    n = cast("ShearBuilding", problem.experiment.structure).floors
    largest = 0.5 * np.abs(np.asarray(_drifts(problem, jnp.asarray(free), n))).max(axis=0) + 1e-300
    return [(float(largest[i]), float(largest[n + i])) for i in range(n)]
