"""Training pairs: the deformations of both storeys under one motion, imposed on one specimen, one after the other.

The building is simulated with the LuGre model in both storeys (as in the paper). Both tests of a pair are made on
one drawn specimen; they differ in the starting angle of its drum and in the noise. Measurements of the first test are
inputs of a network, the force of the second is its target.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from vibrid.core.files import make_folder
from vibrid.hybrid.banded import BandedFrictionDamper
from vibrid.hybrid.coordinator import RATE, HybridTest
from vibrid.hybrid.impose import impose
from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.hybrid.parts import Modelled
from vibrid.networks.checkpoint import Checkpoint, fingerprint
from vibrid.papers.ocpnn.paper import SUBSTEPS, side_by_side, trained_folder
from vibrid.papers.ocpnn.suite import HazardSuite, at_half_scale
from vibrid.papers.paper import Run
from vibrid.papers.two_storey import DAMPERS_A_STOREY, FLOOR, ROOF, damper, two_storey_building
from vibrid.records.motions.scale import ScaledMotion
from vibrid.records.record import Channel, Record

CAPACITIES = (13e3, 18e3, 23e3)
"""N, friction force for which the pretension is set."""
SENSOR = 2e-5
"""m, noise of the measured displacement."""
COMPANION_SIGNALS = ("force", "displacement", "band_1", "band_2")
"""Measurements of the first storey that are inputs of a network."""
STOREYS = ("first_storey", "second_storey")


class Pair(NamedTuple):
    """Two tests of one specimen."""

    motion: str
    capacity: float  # N
    specimen: int  # its key
    first: Record  # of the first storey, at 1024 Hz
    second: Record

    def columns(self) -> np.ndarray:
        """(samples, 12): measurements of both tests."""
        return np.concatenate([self.first.data, self.second.data], axis=1)

    @staticmethod
    def of(motion: str, capacity: float, key: int, columns: np.ndarray) -> Pair:
        """The pair with these `columns`."""
        first, second = np.split(columns.astype(float), 2, axis=1)
        return Pair(motion, capacity, key, _measured(first), _measured(second))

    def test(self, every: int = 1, swapped: bool = False) -> DeviceTest:
        """The second storey as a training test, with every `every`-th sample of 1024 Hz.

        `swapped`: the first storey, with measurements of the second: the same specimen under larger motions.
        """
        cut = slice(every - 1, None, every)
        record, other = (self.first, self.second) if swapped else (self.second, self.first)
        companion = np.column_stack([other[name] for name in COMPANION_SIGNALS])
        words = f"{self.motion}, {1e-3 * self.capacity:g} kN{', first storey' if swapped else ''}"
        x, v, force = (record[name][cut] for name in ("target", "velocity", "force"))
        return DeviceTest(words, x, v, force, companion[cut], (self.capacity, self.capacity))


def scaled_damper(capacity: float):
    """The LuGre model of Table 1 for another capacity (N)."""
    share, law = capacity / CAPACITIES[-1], damper(1)
    strengths = ("coulomb_positive", "coulomb_negative", "static_positive", "static_negative")
    return dataclasses.replace(law, **{name: share * getattr(law, name) for name in strengths})


def specimen(key: int, capacity: float, test: int) -> BandedFrictionDamper:
    """A drawn specimen in its first, second … test: each has another starting angle of the drum and other noise."""
    device = BandedFrictionDamper.drawn(key, capacity)
    phase = np.random.default_rng([key, test]).uniform(0, 2 * np.pi)
    return dataclasses.replace(device, phase=phase, seed=1000 * test + key)


def both_storeys(first, second) -> HybridTest:
    """The building with a device in each storey, both modelled."""
    places = ({"at": FLOOR}, {"at": ROOF, "to": FLOOR})
    parts = [
        Modelled(device, name=name, count=DAMPERS_A_STOREY, **place)
        for device, name, place in zip((first, second), STOREYS, places, strict=True)
    ]
    return HybridTest(two_storey_building(), [], parts, substeps=SUBSTEPS)


def deformations(test: HybridTest, motion: Record) -> list[Record]:
    """Displacement and velocity of both dampers in a test, at 1024 Hz."""
    return imposed_by(test.run(motion))


def imposed_by(result) -> list[Record]:
    """The motion of every device of a result, as a target that can be imposed on a specimen."""
    targets = []
    steps = np.arange(len(result.response.time)) * SUBSTEPS
    for part in result.test.parts:
        v = result.response.velocity @ part.row(result.test.structure)
        x = result.devices[f"{part.name}.target"]
        fine = np.interp(np.arange(1, len(x) + 1), steps, v)
        channels = [Channel("displacement", "imposed_displacement"), Channel("velocity", "imposed_velocity")]
        targets.append(Record(np.stack([x, fine], axis=1), channels, step=1 / RATE, name=part.name))
    return targets


def tested(device: BandedFrictionDamper, target: Record) -> Record:
    """Measurements of a specimen under an imposed motion, and the imposed velocity."""
    response = impose(device, target)
    noise = SENSOR * np.random.default_rng([int(device.seed), 7]).standard_normal(len(response))
    displacement = response["displacement"] + noise
    columns = response["target"], target["velocity"], displacement, *(response[n] for n in _MEASURED[3:])
    return _measured(np.column_stack(columns))


_MEASURED = ("target", "velocity", "displacement", "force", "band_1", "band_2")


def _measured(data: np.ndarray) -> Record:
    return Record(data, [Channel(n, "other") for n in _MEASURED], step=1 / RATE, name="device test")


def pair_in_the_loop(motion: str, capacity: float, key: int, result) -> Pair:
    """Measurements of a hybrid test, and of the specimen moved afterwards as the model of the second storey was."""
    targets = imposed_by(result)
    name, velocity = STOREYS[0], targets[0]["velocity"]
    shown = {n: velocity if n == "velocity" else result.devices[f"{name}.{n}"] for n in _MEASURED}
    return Pair(
        motion, capacity, key, _measured(np.column_stack(list(shown.values()))),
        tested(specimen(key, capacity, 2), targets[1]),
    )  # fmt: skip


def pair_of(motion: str, scaled: ScaledMotion, capacity: float, key: int) -> Pair:
    """Simulated with LuGre dampers, imposed on one specimen."""
    law = scaled_damper(capacity)
    targets = deformations(both_storeys(law, law), at_half_scale(scaled))
    first, second = (tested(specimen(key, capacity, i), target) for i, target in enumerate(targets))
    return Pair(motion, capacity, key, first, second)


def pairs_of(run: Run, suite: HazardSuite) -> dict[str, list[Pair]]:
    """All pairs of a suite by split, at three capacities; each has a specimen of its own.

    They are saved in `trained_folder()`, in 32 bits, for the next item that needs them.
    """
    wanted = [
        (split, name, scaled, capacity)
        for split, motions in suite._asdict().items()
        for name, scaled in motions.items()
        for capacity in CAPACITIES
    ]
    jobs = [(name, scaled, capacity, key + 1) for key, (_, name, scaled, capacity) in enumerate(wanted)]
    purpose = fingerprint([(name, f"{scaled.factor:.4f} {capacity:g} {key}") for name, scaled, capacity, key in jobs])
    make_folder(trained_folder())
    file = Checkpoint(trained_folder() / f"ocpnn-pairs-{purpose}.npz", purpose)
    stored = file.load()
    if stored is None:
        run.progress.stage("pairs of tests on one specimen", len(wanted))
        pairs = side_by_side(pair_of, jobs, run.progress)
        file.keep({f"pair{i}": pair.columns().astype(np.float32) for i, pair in enumerate(pairs)})
    else:
        pairs = [Pair.of(name, capacity, key, stored[0][f"pair{i}"]) for i, (name, _, capacity, key) in enumerate(jobs)]
    return {split: [p for p, entry in zip(pairs, wanted, strict=True) if entry[0] == split] for split in suite._fields}
