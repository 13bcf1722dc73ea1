"""The ground motions: fourteen for training, four for validation, ten for tests that no network was trained on.

The paper names its four validation motions and the two of its hybrid tests; the fourteen are not named. Records that
are not available are replaced by others of the same earthquake:

- Loma Prieta, Hollister Differential Array: by Capitola;
- Kobe, Kobe University: by Nishi-Akashi.

Its target, the uniform hazard spectrum of Los Angeles for 475 years, is not printed either: ours is the design spectrum
of ASCE 7 with S_DS = 1.3 g and S_D1 = 0.75 g, about the 475-year spectrum of stiff soil there. Motions are scaled one
by one (the paper: in pairs) over periods of 0.2 to 1.5 times the first period of the full-scale building, by three at
most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vibrid.papers.paper import Run
from vibrid.papers.two_storey import PERIODS
from vibrid.records.motions.scale import ScaledMotion, scale_to_target
from vibrid.records.motions.similitude import Similitude
from vibrid.records.motions.synthetic import synthetic_motion
from vibrid.records.motions.targets import asce7_target
from vibrid.records.readers import read_record
from vibrid.records.record import Record

HAZARD = asce7_target(1.3, 0.75)
LARGEST_FACTOR = 3.0
FULL_SCALE_PERIOD = PERIODS[0] * Similitude(2.0).time
RANGE = (0.2 * FULL_SCALE_PERIOD, 1.5 * FULL_SCALE_PERIOD)
SECONDS = 40.0
"""Duration of a motion at full scale; longer motions are cut."""
BEFORE, AFTER = 1.0, 10.0
"""s of rest at half scale; the rest shows whether a device drifts."""

_FAR = "groundmotion/fema_p695_farfield"
TRAINING = {
    "Hector Mine, Hector": f"{_FAR}/120521.txt",
    "Imperial Valley, Delta": f"{_FAR}/120611.txt",
    "Imperial Valley, El Centro #11": f"{_FAR}/120621.txt",
    "Kocaeli, Duzce": f"{_FAR}/120811.txt",
    "Kocaeli, Arcelik": f"{_FAR}/120821.txt",
    "Landers, Yermo": f"{_FAR}/120911.txt",
    "Manjil, Abbar": f"{_FAR}/121111.txt",
    "Superstition Hills, Imp. Co.": f"{_FAR}/121211.txt",
    "Superstition Hills, Poe Road": f"{_FAR}/121221.txt",
    "Cape Mendocino, Rio Dell": f"{_FAR}/121321.txt",
    "San Fernando, Hollywood": f"{_FAR}/121511.txt",
    "Friuli, Tolmezzo": f"{_FAR}/121711.txt",
    "Imperial Valley 1940, El Centro": "groundmotion/RSN6_IMPVALL.I_I-ELC180.AT2",
    "Imperial Valley, El Centro #7": "groundmotion/RSN182_IMPVALL.H_H-E07140.AT2",
}
VALIDATION = {
    "Tabas, Tabas": "groundmotion/tabasFN.txt",
    "Loma Prieta, Gilroy #3": f"{_FAR}/121021.txt",
    "Loma Prieta, Capitola": f"{_FAR}/121011.txt",
    "Kobe, Nishi-Akashi": f"{_FAR}/120711.txt",
}
HELD_OUT = {
    "Northern Calif-03, Ferndale City Hall": "groundmotion/RSN20_NCALIF.FH_H-FRN044.AT2",
    "Loma Prieta, Emeryville": "groundmotion/RSN758_LOMAP_EMY260.AT2",
    "Loma Prieta, Corralitos": "groundmotion/RSN753_LOMAP_CLS000.AT2",
    "Loma Prieta, Palo Alto": "groundmotion/RSN786_LOMAP_PAE055.AT2",
    "Loma Prieta, Treasure Island": "groundmotion/RSN808_LOMAP_TRI090.AT2",
    "Kobe, KJMA": "groundmotion/RSN1106_KOBE_KJM000.AT2",
    "Kobe, Shin-Osaka": f"{_FAR}/120721.txt",
    "San Fernando, Lake Hughes #4": "groundmotion/RSN72_SFERN_LakeHughes4_wxw115.acc",
    "San Fernando, Santa Felita Dam": "groundmotion/RSN88_SFERN_FSD172.AT2",
    "Tabas, Ferdows": "groundmotion/RSN140_TABAS_FER-T1.AT2",
}
"""The first two are those of the paper's hybrid tests."""
_STEPS = {"tabasFN.txt": 0.02, "RSN72_SFERN_LakeHughes4_wxw115.acc": 0.01}
"""s, of files that do not state it."""


class HazardSuite(NamedTuple):
    """Motions by name, at full scale, scaled to the hazard."""

    training: dict[str, ScaledMotion]
    validation: dict[str, ScaledMotion]
    held_out: dict[str, ScaledMotion]

    def first(self, training: int, validation: int, held_out: int) -> HazardSuite:
        """The first few of each."""
        cut = lambda motions, count: dict(list(motions.items())[:count])  # noqa: E731
        return HazardSuite(cut(self.training, training), cut(self.validation, validation), cut(self.held_out, held_out))


def real_suite(run: Run) -> HazardSuite:
    """Measured motions from the data folder."""
    return HazardSuite(*({name: _scaled(_read(run, file)) for name, file in files.items()}
                   for files in (TRAINING, VALIDATION, HELD_OUT)))  # fmt: skip


def synthetic_suite() -> HazardSuite:
    """The same numbers of synthetic motions, of several durations and frequencies; no data are needed."""
    counts, splits = [len(TRAINING), len(VALIDATION), len(HELD_OUT)], []
    for split, count in enumerate(counts):
        motions = {}
        for i in range(count):
            key = 100 * split + i
            rng = np.random.default_rng(key)
            record = synthetic_motion(
                key, duration=SECONDS, rate=200.0, pga=3.0, significant_duration=rng.uniform(6, 20),
                middle=rng.uniform(6, 14), frequency=rng.uniform(1.5, 6), frequency_slope=rng.uniform(-0.15, 0.0),
                bandwidth=rng.uniform(0.2, 0.5), name=f"synthetic {key}",
            )  # fmt: skip
            motions[record.name] = _scaled(record)
        splits.append(motions)
    return HazardSuite(*splits)


def at_half_scale(scaled: ScaledMotion) -> Record:
    """The motion in the time of the half-scale building, with rest before and after; all have the same duration."""
    model = Similitude(2.0).to_model(scaled.records[0])
    rate = 200.0 * Similitude(2.0).time
    count = round((BEFORE + SECONDS / Similitude(2.0).time + AFTER) * rate)
    time = np.arange(count) / rate - BEFORE
    acceleration = np.interp(time, model.time - model.time[0], model.data[:, 0], left=0.0, right=0.0)
    return model.replace("rest before and after", data=acceleration[:, None], step=1.0 / rate, start=0.0, times=None)


def _read(run: Run, file: str) -> Record:
    path = run.real(file)
    step = _STEPS.get(path.name)
    return read_record(path, step=step, units=None if path.suffix == ".AT2" else "g")


def _scaled(record: Record) -> ScaledMotion:
    name = record.names[0]
    record = record.select([name]).relabel({name: {"direction": "x", "quantity": "ground_acceleration"}})
    record = record.cut(None, record.time[0] + SECONDS) if record.duration > SECONDS else record
    return scale_to_target(record, HAZARD, RANGE, limit=(0.1, LARGEST_FACTOR))
