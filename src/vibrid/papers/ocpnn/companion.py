"""When do measurements of the tested device help a network that models another device?

Pairs of virtual devices are moved as the two storeys of a building under synthetic earthquakes. The network predicts
the force of the modelled device from its own motion, with or without the measurements of the tested device beside it.
Cases differ in the population of devices: which properties are unknown, how similar the two devices are, whether
the tested one slips, and how late its signals arrive. Layers are the paper's (16 + 16, 48, 48; three layers of 48
without measurements of the tested device), at 256 Hz.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.signal import lfilter
from scipy.special import ndtr

from vibrid.hybrid.banded import BandedFrictionDamper
from vibrid.hybrid.learned.along import walk
from vibrid.hybrid.learned.files import SavedModel
from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.hybrid.learned.recipes import score_tests
from vibrid.laws.base import Motion
from vibrid.papers.ocpnn.as_published import PUBLISHED
from vibrid.papers.ocpnn.kept import trained_once
from vibrid.papers.ocpnn.pairs import SENSOR
from vibrid.papers.ocpnn.paper import PAPER
from vibrid.papers.paper import Check, Outcome, Run

RATE, EVERY, SECONDS = 1024.0, 4, 10.0
CAPACITY = 18e3
TRAINING, UNSEEN = 4096, 256
MODES = ((2.6, 0.03, (1.0, 0.8)), (8.3, 0.03, (0.35, -0.5)))
"""Frequency (Hz), damping ratio, and deformation of the two storeys in each mode of the building without dampers."""

BUILDINGS = 32
"""Number of buildings; their frequencies are 0.7 to 1.4 times those above."""


@dataclass(frozen=True)
class Population:
    """Distribution of the unknown properties of the devices.

    strength: standard deviation of the logarithm of the friction force; gap (m), fading: their ranges; likeness: the
    correlation between the two devices of a pair; motion: factor on the motion of the tested device; late: s by which
    its displacement and its forces arrive late.
    """

    strength: float = 0.0
    gap: tuple[float, float] = (3e-3, 3e-3)
    fading: tuple[float, float] = (0.08, 0.08)
    likeness: float = 1.0
    motion: float = 1.0
    late: tuple[float, float] = (0.0, 0.0)


_UNKNOWN = Population(strength=0.25, gap=(1e-3, 6e-3), fading=(0.02, 0.5))
CASES = {
    "one device, known": Population(),
    "strength, gap and drift unknown, alike": _UNKNOWN,
    "drift unknown, alike": Population(fading=(0.02, 0.5)),
    "gap unknown, alike": Population(gap=(1e-3, 6e-3)),
    "all unknown, likeness 0.9": dataclasses.replace(_UNKNOWN, likeness=0.9),
    "all unknown, likeness 0.65": dataclasses.replace(_UNKNOWN, likeness=0.65),
    "all unknown, independent": dataclasses.replace(_UNKNOWN, likeness=0.0),
    "all unknown, the tested device does not slip": dataclasses.replace(_UNKNOWN, motion=0.02),
    "all unknown, all signals 40 ms late": dataclasses.replace(_UNKNOWN, late=(0.04, 0.04)),
    "all unknown, forces 20 ms later than displacement": dataclasses.replace(_UNKNOWN, late=(0.0, 0.02)),
}
ALONE = {"likeness": 1.0, "motion": 1.0, "late": (0.0, 0.0)}
"""Properties of a population that concern the tested device alone: without its measurements, the training is the same
whatever they are."""
UNFIT = list(CASES)[6:]
"""Cases in which the tested device says little: it is unlike the modelled one, at rest, or late."""
CHANGED = "one device in training, another in the test"
"""Networks of the first case on tests of the second."""


def storey_motions(count: int, seed: int) -> np.ndarray:
    """(count, 2, samples) m at 1024 Hz: deformations of two storeys under random motions that build up and decay."""
    rng, samples = np.random.default_rng(seed), int(SECONDS * RATE)
    t = np.arange(samples) / RATE
    ground = lfilter(*_low_pass(8.0), rng.standard_normal((count, samples)), axis=-1)
    rise, decay = rng.uniform(0.5, 2.0, (count, 1)), rng.uniform(1.0, 3.0, (count, 1))
    end = rng.uniform(4.0, 7.0, (count, 1))
    ground *= np.minimum(t / rise, 1.0) ** 2 * np.exp(-np.maximum(t - end, 0.0) / decay)
    moved = np.zeros((count, 2, samples))
    for building in np.array_split(np.arange(count), min(count, BUILDINGS)):
        stretch = rng.uniform(0.7, 1.4)
        for frequency, ratio, shape in MODES:
            modal = np.asarray(lfilter(*_oscillator(frequency * stretch, ratio), ground[building], axis=-1))
            moved[building] += modal[:, None] * np.array(shape)[:, None] / frequency**2
    return moved * (rng.uniform(5e-3, 45e-3, (count, 1, 1)) / np.abs(moved).max(axis=(1, 2), keepdims=True))


def _low_pass(corner: float):
    pole = np.exp(-2 * np.pi * corner / RATE)
    return [1 - pole], [1, -pole]


def _oscillator(frequency: float, ratio: float):
    """Numerator and denominator of a damped oscillator at 1024 Hz (impulse invariant)."""
    omega, dt = 2 * np.pi * frequency, 1 / RATE
    pole = np.exp(-ratio * omega * dt)
    angle = omega * np.sqrt(1 - ratio**2) * dt
    return [0.0, pole * np.sin(angle)], [1.0, -2 * pole * np.cos(angle), pole**2]


def devices(population: Population, count: int, seed: int) -> tuple[BandedFrictionDamper, BandedFrictionDamper]:
    """(tested, modelled): each is a batch of `count` devices, with parameters of shape (count,)."""
    rng = np.random.default_rng([seed, 1])
    modelled, other = rng.standard_normal((2, 3, count))
    tested = population.likeness * modelled + np.sqrt(1 - population.likeness**2) * other

    def draw(normal, key: int) -> BandedFrictionDamper:
        chance = ndtr(normal)
        spread = lambda low, high, share: low + (high - low) * share  # noqa: E731
        drawn = {
            "strength": np.exp(population.strength * normal[0]),
            "gap": spread(*population.gap, chance[1]),
            "fading": spread(*population.fading, chance[2]),
            "phase": rng.uniform(0, 2 * np.pi, count),
            "ringing_size": rng.uniform(0.8, 1.4, count),
        }
        device = dataclasses.replace(BandedFrictionDamper(CAPACITY), **drawn)
        seeds = jnp.arange(count, dtype=jnp.int32) + key * count
        device = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (count,)), device)
        return eqx.tree_at(lambda d: d.seed, device, seeds)

    return draw(tested, 2 * seed), draw(modelled, 2 * seed + 1)


@eqx.filter_jit
def _moved(device: BandedFrictionDamper, x, v):
    reading = jax.vmap(lambda d, e, w: walk(d, Motion(e, w), None, 1 / RATE))(device, x, v)
    return reading.force[:, EVERY - 1 :: EVERY], reading.signals[:, EVERY - 1 :: EVERY]


def pairs(population: Population, count: int, seed: int) -> list[DeviceTest]:
    """Tests of the modelled device at 256 Hz, with the measurements of the tested one beside it."""
    motions = storey_motions(count, seed)
    motions[:, 0] *= population.motion
    velocities = np.gradient(motions, 1 / RATE, axis=-1)
    both = devices(population, count, seed)
    rng, tests = np.random.default_rng([seed, 2]), []
    for first in range(0, count, 512):
        part = slice(first, first + 512)
        (seen, bands), (force, _) = (
            _moved(_part(device, part), motions[part, i], velocities[part, i]) for i, device in enumerate(both)
        )
        seen, bands, force = (np.asarray(values, np.float32) for values in (seen, bands, force))
        x, v = motions[part, :, EVERY - 1 :: EVERY], velocities[part, :, EVERY - 1 :: EVERY]
        shown = x[:, 0] + SENSOR * rng.standard_normal(x[:, 0].shape)
        for i in range(len(x)):
            columns = _late(np.column_stack([seen[i], shown[i], bands[i]]), population.late)
            tests.append(DeviceTest(f"pair {first + i}", x[i, 1], v[i, 1], force[i], columns, (CAPACITY, CAPACITY)))
    return tests


def _part(device: BandedFrictionDamper, part: slice) -> BandedFrictionDamper:
    return jax.tree.map(lambda leaf: leaf[part], device)


def _late(columns: np.ndarray, late: tuple[float, float]) -> np.ndarray:
    """Columns (force, displacement, band forces) that arrive late; the first sample is repeated until they arrive."""
    displacement, forces = (round(seconds * RATE / EVERY) for seconds in late)
    lags = zip(columns.T, (forces, displacement, forces, forces), strict=True)
    return np.column_stack([np.concatenate([np.repeat(c[:1], n), c[: len(c) - n]]) for c, n in lags])


def network(run: Run, case: str, uses_companion: bool) -> list[SavedModel]:
    """A network trained on a population, from three initial weights."""
    if not uses_companion:
        case = _first_like(case)
    count, seeds, epochs = (24, 1, 2) if run.quick else (TRAINING, 3, 60)
    recipe = PUBLISHED["data-driven" if uses_companion else "offline"].replace(
        rate=RATE / EVERY, sees_velocity=True, epochs=epochs, batch=min(count, 256), stretch=512, seeds=seeds,
        learning_rate=3e-3, decay=0.9, every=max(epochs // 25, 1), dropout=0.0,
    )  # fmt: skip
    return trained_once(
        run, "companion", recipe, [repr(CASES[case]), count], lambda: run.once(pairs_of_case, case, count, 0),
        lambda: run.once(pairs_of_case, case, max(count // 32, 4), 7),
    )  # fmt: skip


def _first_like(case: str) -> str:
    """The first case whose modelled devices are the same."""
    wanted = dataclasses.replace(CASES[case], **ALONE)
    return next(name for name, population in CASES.items() if dataclasses.replace(population, **ALONE) == wanted)


def pairs_of_case(run: Run, case: str, count: int, seed: int) -> list[DeviceTest]:
    run.progress.stage(f"{count} pairs of devices: {case}")
    return pairs(CASES[case], count, seed)


def errors(models: list[SavedModel], tests: list[DeviceTest]) -> list[float]:
    """Mean NRMSE (%) of every model on unseen tests."""
    return [100 * float(np.mean([s.nrmse for s in score_tests(saved.model, tests)])) for saved in models]


@PAPER.study("companion", "When measurements of the tested device help", part="companion")
def companion(run: Run) -> Outcome:
    """Devices that are alike, and networks of one device whose tested device then changes."""
    known, alike = list(CASES)[:2]
    cases = [known, alike] if run.quick else [case for case in CASES if case not in UNFIT]
    rows, gains = compared(run, cases)
    models = [run.once(network, known, uses_companion) for uses_companion in (True, False)]
    rows.insert(1, _row(CHANGED, *(errors(each, run.once(unseen_pairs, alike)) for each in models)))
    check = Check(f"gain, {alike}, points of NRMSE", f"{gains[alike]:.2f}", "> 0", bool(gains[alike] > 0))
    return Outcome(rows, [check], note(run))


@PAPER.study("companion-unfit", "A tested device that is unlike the modelled one, at rest, or late", part="companion")
def companion_unfit(run: Run) -> Outcome:
    return Outcome(compared(run, UNFIT[:1] if run.quick else UNFIT)[0], note=note(run))


def compared(run: Run, cases: list[str]) -> tuple[list[dict], dict[str, float]]:
    """Rows with and without the measurements of the tested device, and what they gain (points of NRMSE)."""
    rows, gains = [], {}
    for case in cases:
        tests = run.once(unseen_pairs, case)
        with_it, without = (errors(run.once(network, case, uses_companion), tests) for uses_companion in (True, False))
        rows.append(_row(case, with_it, without))
        gains[case] = float(np.mean(without) - np.mean(with_it))
    return rows, gains


def unseen_pairs(run: Run, case: str) -> list[DeviceTest]:
    return pairs_of_case(run, case, 8 if run.quick else UNSEEN, 11)


def note(run: Run) -> str:
    unseen, training = (8, 24) if run.quick else (UNSEEN, TRAINING)
    return (
        f"NRMSE in % on {unseen} unseen pairs, mean ± standard deviation over initial weights; {training} "
        f"training pairs a case, motions of {SECONDS:g} s. Both networks have displacement and velocity of the "
        "modelled device as inputs; without the tested device, cases of the same modelled devices share one "
        "network. The training (Adam 3e-3, no dropout) is ours, the layers are the paper's."
    )


def _row(case: str, with_it: list[float], without: list[float]) -> dict:
    words = lambda values: f"{np.mean(values):.2f} ± {np.std(values):.2f}"  # noqa: E731
    return {"case": case, "not used": words(without), "used": words(with_it),
            "ratio": float(np.mean(with_it) / np.mean(without))}  # fmt: skip
