"""The compensators of the table: how each is made from a few numbers, and the numbers before tuning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vibrid.hybrid.ats import AdaptiveTimeSeries
from vibrid.hybrid.compensation import Compensator, Inverse
from vibrid.hybrid.control_problem import RATE, nominal_plant
from vibrid.hybrid.feedback import PhaseLeadPI, SlidingMode
from vibrid.hybrid.model_based import ModelBased


def inverse_coefficients() -> np.ndarray:
    """Command over position of the nominal plant at low frequencies: coefficients of 1, s, s², …"""
    a, b = nominal_plant().polynomial()
    return np.array([*map(float, a), 1.0]) / float(b)


def _sliding(slope, layer) -> SlidingMode:
    q = inverse_coefficients()
    return SlidingMode(1 / q[2], q[1] / q[2], q[0] / q[2], slope=slope, layer=layer)


def _ats(delay, caution) -> AdaptiveTimeSeries:
    return AdaptiveTimeSeries(delay, samples=round(RATE), caution=caution)


MAKERS: dict[str, tuple[Callable[..., Compensator], tuple[float, ...]]] = {
    "PI with phase lead": (lambda p, i, a, b: PhaseLeadPI(p, i, a, b), (0.5, 20.0, 0.025, 1e-3)),
    "inverse feed-forward": (lambda a, b: Inverse(a, b), (0.025, 1.1e-4)),
    "ATS": (_ats, (0.025, 1e-4)),
    "sliding mode": (_sliding, (188.0, 0.1)),
    "model-based (ours)": (lambda e, d: ModelBased(nominal_plant(), e, d, lead=1.5 / RATE), (1.0, 1e-3)),
}
"""Name → what makes the compensator from positive numbers, and these numbers before tuning."""


def made(name: str, values) -> Compensator:
    """A compensator of the table with its numbers."""
    return MAKERS[name][0](*values)
