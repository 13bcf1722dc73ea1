"""The error of the time step of a response, estimated from a second run with half the step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vibrid.simulation.base import Integrator
from vibrid.simulation.exact import ExactLinear

ALLOWED = 0.01
"""Share of a peak above which a finer step is advised."""
_SMALLEST = 1e-5  # shares below it are not told one from another
_COURSES = {"zero": "constant", "linear": "linear", "cubic": "a cubic spline"}


@dataclass(frozen=True)
class StepError:
    """The error of the time step by quantity, estimated: the largest error over the largest value.

    `substeps` are those of the response. `exact_for` is the course of the input between its samples for which the
    integrator makes no error; it is empty where the error was estimated.

    Example
        >>> print(StepError({"displacement": 0.0003, "acceleration": 0.002}, substeps=1))
        error of the time step: displacement 0.03 % of its peak, acceleration 0.2 %
    """

    shares: dict[str, float]
    substeps: int
    exact_for: str = ""

    @property
    def largest(self) -> float:
        """The largest of the shares."""
        return max(self.shares.values())

    @property
    def advice(self) -> str:
        """What to do about an error above 1 %; empty below it."""
        return f"give substeps = {2 * self.substeps}" if self.largest > ALLOWED else ""

    def __str__(self) -> str:
        if self.exact_for:
            return f"error of the time step: none, exact for input that is {self.exact_for} between its samples"
        first, *others = (f"{name} {_percent(share)}" for name, share in self.shares.items())
        return "error of the time step: " + ", ".join([f"{first} of its peak", *others])


def course_without_error(integrator: Integrator, hold: str) -> str:
    """The course of the input between its samples that an integrator follows exactly; empty where it makes an error."""
    if not isinstance(integrator, ExactLinear) or hold not in _COURSES:
        return ""
    by_chords = integrator.hold == "first" and hold == "cubic"
    return "" if by_chords else _COURSES[hold]


def shares_of_peaks(coarse: Mapping[str, np.ndarray], fine: Mapping[str, np.ndarray], order: int) -> dict[str, float]:
    """The largest error of every quantity of the coarse run over its peak, from a run with half the step (Richardson).

    An error of order p is 1 / (1 − 2⁻ᵖ) times the difference of the two runs.
    """
    factor = 1.0 / (1.0 - 0.5**order)
    return {name: factor * _largest(coarse[name] - fine[name]) / (_largest(fine[name]) or 1.0) for name in fine}


def _largest(values: np.ndarray) -> float:
    return float(np.abs(values).max(initial=0.0))


def _percent(share: float) -> str:
    return f"{float(f'{100 * share:.2g}'):g} %" if share >= _SMALLEST else f"below {100 * _SMALLEST:g} %"
