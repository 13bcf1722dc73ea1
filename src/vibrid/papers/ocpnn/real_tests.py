"""Tests of a real banded rotary friction damper (Lehigh University, 1024 Hz), prepared for device models.

A companion is another test of the same set-up (same data set, same nominal tension): it serves as the tested device
whose measurements are used, and the capacity for each direction is measured on it, never on the test itself.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from scipy import signal

from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.records.force_scores import strong_part

INCH, KIP, RATE, EVERY = 0.0254, 4448.2216, 1024.0, 4
SMOOTH = 40.0  # Hz, of the velocity
SLOW = 8.0  # Hz, below which errors are also reported separately
HARMONIC_FOLDS = (
    {(0.25, 0.5), (0.5, 1.0), (1.0, 1.5), (2.0, 1.0)},
    {(0.25, 1.0), (0.5, 1.5), (1.0, 0.5), (2.0, 0.5)},
    {(0.25, 1.5), (0.5, 0.5), (1.0, 1.0)},
)
"""Settings (Hz, in) that are left out together, in all data sets and at all tensions."""


class Named(NamedTuple):
    """A test, and the set-up and setting in its file name."""

    name: str
    setup: str
    setting: tuple[float, float] | None  # Hz and in; None for an earthquake
    data: np.ndarray  # time, displacement, force, velocity, band forces; SI

    @property
    def event(self) -> str:
        """The earthquake, without its scale."""
        return re.sub("^ds2__|DBE$|MCE$", "", self.name) if self.setting is None else ""


def read_tests(folder) -> list[Named]:
    """All passive tests that have a companion."""
    tests = []
    for file in sorted(folder.glob("ds[123]__*.npz")):
        with np.load(file, allow_pickle=False) as stored:
            data = stored["data"].astype(float) * np.array([1.0, INCH, KIP, INCH, 4.448, 4.448])
        name = file.stem
        harmonic = re.fullmatch(r"(ds\d)__([\d.]+)Hz(\d+)lbtension(?:([\d.]+)amplitude)?", name)
        if harmonic:
            group, rate, tension, amplitude = harmonic.groups()
            tests.append(Named(name, f"{group} {tension} lb", (float(rate), float(amplitude or 1.0)), data))
        else:
            tests.append(Named(name, "ds2 36 lb", None, data))
    setups = [t.setup for t in tests]
    return [t for t in tests if setups.count(t.setup) > 1]


def companion_of(test: Named, tests: list[Named]) -> Named:
    """Of the same set-up: for an earthquake another one (the same at another scale first), else the nearest setting,
    amplitude before frequency: slack bands grip harder with larger rotation."""

    def far(other: Named) -> float:
        if test.setting is None or other.setting is None:
            return 10.0 * ((test.setting is None) != (other.setting is None)) - (test.event == other.event != "")
        return float(np.abs(np.log(np.array(test.setting) / other.setting)) @ (1.0, 4.0))

    return min((t for t in tests if t.setup == test.setup and t.name != test.name), key=far)


def velocity_of(x: np.ndarray) -> np.ndarray:
    """m/s, from the displacement at 1024 Hz: the measured one is scaled wrongly in some sets."""
    sos = signal.butter(2, SMOOTH, fs=RATE, output="sos")
    return np.gradient(signal.sosfiltfilt(sos, x), 1.0 / RATE)


def capacity_of(test: Named) -> tuple[float, float]:
    """N, for each direction: the median of the force while the device slips that way (more than half of its 95th
    percentile), which chatter does not increase."""
    v, force = velocity_of(test.data[:, 1]), test.data[:, 2]

    def median(way: int) -> float:
        pushing = way * force[way * v > 0.1 * np.abs(v).max()]
        return float(np.median(pushing[pushing > 0.5 * np.percentile(pushing, 95)]))

    return median(1), median(-1)


def first_place(first_force: float, capacity: tuple[float, float]) -> float:
    """m, from the middle of the play, of a device with this force (N) before it is moved.

    The zero of a displacement sensor does not show this position; the first force does: a play of about 2.4 mm, and a
    grip that grows over 4 mm.
    """
    share = min(abs(first_force) / capacity[0 if first_force > 0 else 1], 0.9)
    return float(np.sign(first_force)) * (1.2e-3 * min(share / 0.02, 1.0) + 4e-3 * (1.0 - (1.0 - share) ** 1.33))


def prepared(test: Named, companion: Named, every: int = EVERY) -> DeviceTest:
    """Every fourth sample (256 Hz), as measured, with force and displacement of the companion as measured inputs."""
    x, force = test.data[:, 1], test.data[:, 2]
    v, capacity = velocity_of(x), capacity_of(companion)
    measured = companion.data[:, [2, 1]]
    more = max(len(x) - len(measured), 0)
    measured = np.concatenate([measured, np.repeat(measured[-1:], more, axis=0)])[: len(x)]
    x = x - x[0] + first_place(float(force[: 20 * every].mean()), capacity)
    cut = slice(None, None, every)
    return DeviceTest(test.name, x[cut], v[cut], force[cut], measured[cut], capacity)


class Fold(NamedTuple):
    """Tests that are left out of the training of a model, which is then scored on them."""

    name: str
    left_out: np.ndarray  # (tests,) bool


def folds(tests: list[Named]) -> list[Fold]:
    """Each earthquake test, and groups of harmonic settings; together every test once."""
    single = [Fold(t.name.removeprefix("ds2__"), np.array([o is t for o in tests])) for t in tests if t.event]
    groups = [
        Fold(f"harmonic settings {i + 1}", np.array([t.setting in group for t in tests]))
        for i, group in enumerate(HARMONIC_FOLDS)
    ]
    return [f for f in single + groups if f.left_out.any()]


def event_folds(tests: list[Named]) -> list[Fold]:
    """Earthquakes of which several scales were tested, all of them left out together."""
    events = [t.event for t in tests if t.event]
    twice = sorted({e for e in events if events.count(e) > 1})
    return [Fold(f"{e}, every scale", np.array([t.event == e for t in tests])) for e in twice]


def scores(test: DeviceTest, predicted: np.ndarray, rate: float = RATE / EVERY) -> dict[str, float]:
    """Errors of a predicted force against the measured one; NRMSE in % of its range."""
    force, v = test.force, test.v
    predicted = np.asarray(predicted, float)[: len(force)]
    span, miss = np.ptp(force), predicted - force
    strong = strong_part(v)
    low = signal.butter(4, SLOW, fs=rate, output="sos")
    slow_force, slow = signal.sosfiltfilt(low, force), signal.sosfiltfilt(low, predicted)
    work = np.sum(force * v)
    return {
        "NRMSE": 100 * float(np.sqrt(np.mean(miss**2)) / span),
        "strong": 100 * float(np.sqrt(np.mean(miss[strong] ** 2)) / np.ptp(force[strong])),
        "slow": 100 * float(np.sqrt(np.mean((slow - slow_force) ** 2)) / np.ptp(slow_force)),
        "MAE": 1e-3 * float(np.mean(np.abs(miss))),
        "R2": float(1 - np.sum(miss**2) / np.sum((force - force.mean()) ** 2)),
        "TRAC": float(np.dot(force, predicted) ** 2 / (np.dot(force, force) * np.dot(predicted, predicted) + 1e-30)),
        "energy": float(np.sum(predicted * v) / work),
        "peak": float(np.abs(predicted).max() / np.abs(force).max()),
    }
