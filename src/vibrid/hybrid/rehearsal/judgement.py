"""The judgement of a rehearsal or of a finished test: go, go with care, or no go, with its reasons."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import scipy

from vibrid.core.errors import InputError
from vibrid.hybrid.learned.guard import Fault
from vibrid.hybrid.learned.in_loop import NetworkDevice
from vibrid.hybrid.learned.watch import FURTHER, GIVES
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.listening.device import Listening
from vibrid.hybrid.rehearsal.demands import Demand, demands, first_beyond
from vibrid.hybrid.rehearsal.energy import energy_error, input_energy
from vibrid.hybrid.result import HybridResult
from vibrid.hybrid.tracking import Tracking

OUT_OF_STEP = 5e-3
"""s, lag between force and displacement of a tested device from which a test is judged with care."""


class Readiness(IntEnum):
    """How a finding counts; the highest level of all findings is the judgement."""

    GO = 0
    CARE = 1
    NO_GO = 2

    def __str__(self) -> str:
        return ("go", "go with care", "no go")[self]


@dataclass(frozen=True)
class Reason:
    """One reason of a judgement."""

    level: Readiness
    message: str


@dataclass(frozen=True)
class Criteria:
    """Values from which a test is to be run with care (first number), or not at all (second).

    Arguments
        response: change of the largest displacement of the place of interest by actuators, delay and noise, as a
            share; also that of the whole history (rms of the difference / rms).
        energy: largest energy fed in by tracking errors / largest input energy.
        tracking: J₂, rms of the tracking error / rms of the target.
        use: share of a limit of stroke, velocity or force.
        stop: probability that the test stops.
        margin: share of the critical delay by which the delay may still grow; below it.
    """

    response: tuple[float, float] = (0.05, 0.2)
    energy: tuple[float, float] = (0.05, 0.2)
    tracking: tuple[float, float] = (0.05, 0.3)
    use: tuple[float, float] = (0.8, 1.0)
    stop: tuple[float, float] = (0.05, 0.2)
    margin: tuple[float, float] = (0.5, 0.0)

    def __post_init__(self):
        for name in ("response", "energy", "tracking", "use", "stop"):
            care, worst = getattr(self, name)
            if not 0 <= care <= worst:
                raise InputError(f"The criterion '{name}' is two shares, the smaller first, not {(care, worst)}.")

    def level(self, name: str, value: float) -> Readiness:
        """The level of a value; one that is not a number is a no go."""
        care, worst = getattr(self, name)
        return Readiness.GO if value <= care else Readiness.CARE if value <= worst else Readiness.NO_GO


@dataclass(frozen=True, eq=False)
class DeviceQuality:
    """How one tested device followed its target."""

    name: str
    tracking: Tracking
    energy: np.ndarray  # (substeps,) J, fed in by the tracking error
    energy_share: float  # largest size of it / largest input energy
    level: Readiness
    """by the criteria of tracking and energy"""


@dataclass(frozen=True, eq=False)
class Judgement:
    """The judgement of one test, rehearsed or run."""

    findings: tuple[Reason, ...]
    devices: tuple[DeviceQuality, ...]
    demands: tuple[Demand, ...]

    @property
    def level(self) -> Readiness:
        return max((finding.level for finding in self.findings), default=Readiness.GO)

    @property
    def reasons(self) -> list[str]:
        """The findings above `go`, the worst first."""
        return [f.message for f in sorted(self.findings, key=lambda f: -f.level) if f.level > Readiness.GO]


def judge(result: HybridResult, limits: SafetyLimits | None = None, criteria: Criteria | None = None) -> Judgement:
    """Judge a finished test by its own record: tracking, energy of the tracking errors, the use of its limits, flags of
    its networks, their motion beyond training and the energy they gave, and what was heard of tested devices."""
    criteria = criteria or Criteria()
    findings, devices = [], []
    if result.stopped:
        findings.append(Reason(Readiness.NO_GO, f"the test was stopped: {result.stopped}"))
    given = float(np.abs(input_energy(result)).max())
    for part in result.test.experimental:
        target = result.devices[f"{part.name}.target"]
        if not (part.is_outside or part.actuator is not None) or not target.any() or len(target) < 3:
            continue
        tracking, energy = result.tracking(part.name), energy_error(result, part.name)
        share = float(np.abs(energy).max()) / given if given > 0 else np.inf
        of_tracking, of_energy = criteria.level("tracking", tracking.error), criteria.level("energy", share)
        if of_tracking:
            findings.append(
                Reason(of_tracking, f"'{part.name}' follows its target with an error of {100 * tracking.error:.1f} %")
            )
        if of_energy:
            text = f"the tracking error of '{part.name}' brings in {100 * share:.1f} % of the input energy"
            findings.append(Reason(of_energy, text))
        devices.append(DeviceQuality(part.name, tracking, energy, share, max(of_tracking, of_energy)))
    findings += [*_flagged(result), *_beyond(result), *_giving(result), *_listening(result)]
    rows = demands(result, limits)
    first = first_beyond(rows)
    if first is not None:
        text = f"{first}; it is the first device beyond a limit, at {first.beyond_at:.4g} s"
        findings.append(Reason(Readiness.NO_GO, text))
    findings += [
        Reason(criteria.level("use", row.share), str(row))
        for row in rows
        if row is not first and criteria.level("use", row.share)
    ]
    return Judgement(tuple(findings), tuple(devices), tuple(rows))


def _networks(result: HybridResult) -> list[tuple[Any, NetworkDevice]]:
    """The parts with a network, and their networks: those of listening devices too."""
    return [
        (part, network)
        for part in result.test.parts
        for network in (part.device.network if isinstance(part.device, Listening) else part.device,)
        if isinstance(network, NetworkDevice)
    ]


def _flagged(result: HybridResult) -> list[Reason]:
    """What networks had to leave out of their inputs."""
    found = []
    for part, _ in _networks(result):
        flags = result.devices[f"{part.name}.flags"].astype(int)
        faults = Fault(int(np.bitwise_or.reduce(flags, initial=0)))
        if faults:
            share = 100 * np.mean(flags > 0)
            found.append(
                Reason(Readiness.CARE, f"network '{part.name}', {share:.2g} % of its samples: {faults.meaning}")
            )
    return found


def _giving(result: HybridResult) -> list[Reason]:
    """Networks that had given more energy than they took at some moment: a device without a drive never does."""
    found = []
    for part, network in _networks(result):
        x, force = (result.devices[f"{part.name}.{what}"] for what in ("displacement", "force"))
        taken = scipy.integrate.cumulative_trapezoid(force, x)
        least = float(np.min(taken, initial=0.0))
        if least < -GIVES * float(np.mean(np.asarray(network.capacity))) * float(np.abs(x).max()):
            first = int(np.argmax(taken < 0.5 * least)) / result.devices.rate
            text = f"network '{part.name}' gave {-least:.3g} J more than it took, from {first:.4g} s on"
            found.append(Reason(Readiness.CARE, text))
    return found


def _beyond(result: HybridResult) -> list[Reason]:
    """Networks that were moved further than in any of their training tests."""
    found = []
    for part, network in _networks(result):
        x, most = result.devices[f"{part.name}.displacement"], network.model.features.displacement
        share = float(np.abs(x).max()) / most
        if share > 1.0 + FURTHER:
            text = f"network '{part.name}' was moved to {share:.3g} times the largest displacement of its training"
            found.append(Reason(Readiness.CARE, f"{text} ({1e3 * most:.3g} mm)"))
    return found


def _listening(result: HybridResult) -> list[Reason]:
    """Networks that cannot have learned to listen, and tested devices that did not say what was asked of them."""
    found = [
        f"network '{part.name}' uses measurements of a tested device, and is not known to have been trained on more "
        "than one: it cannot have learned what another one means. Train it on many, or hand it estimates "
        '(kind = "listening")'
        for part, network in _networks(result)
        if network.model.companion_sizes and network.devices < 2
    ]
    for part in result.test.modelled:
        if not isinstance(part.device, Listening):
            continue
        slipped, lag = (float(result.devices[f"{part.name}.{name}"][-1]) for name in ("slipped", "lag"))
        heard = f"'{part.name}' listens to '{part.companion}', which"
        if slipped <= 0.0:
            found.append(f"{heard} never slipped: nothing is known of its capacity and gap, and the law's were used")
        elif abs(lag) > OUT_OF_STEP:
            order = "after" if lag > 0 else "before"
            found.append(
                f"{heard} shows its force {1e3 * abs(lag):.2g} ms {order} its displacement: look for a filter or a "
                "clock in one of the two channels"
            )
    return [Reason(Readiness.CARE, text) for text in found]
