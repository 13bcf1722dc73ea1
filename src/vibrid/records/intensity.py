"""Measures of how strong a ground motion is."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.records.gaps import complete
from vibrid.records.integrate import cumulative
from vibrid.records.record import Record, step_of
from vibrid.records.units import STANDARD_GRAVITY

_ACCELERATIONS = ("ground_acceleration", "absolute_acceleration", "acceleration")


@dataclass(frozen=True)
class Intensity:
    """Intensity measures of one motion, SI units.

    pga: largest absolute acceleration, m/s²; pgv, pgd: of its integrals, m/s and m; arias: m/s;
    significant_duration: time between 5 % and 95 % of the Arias intensity, s; cumulative_velocity: ∫|a| dt, m/s;
    rms: root mean square acceleration over the significant duration, m/s².
    """

    pga: float
    pgv: float
    pgd: float
    arias: float
    significant_duration: float
    cumulative_velocity: float
    rms: float

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def acceleration_channel(record: Record, channel: str | None = None) -> np.ndarray:
    """The samples of the channel, or of the first acceleration; InputError when it is none or has gaps."""
    if channel is None:
        for quantity in _ACCELERATIONS:
            names = [c.name for c in record.channels if c.quantity == quantity]
            if names:
                channel = names[0]
                break
        else:
            raise InputError(
                f"Record '{record.name}' has no acceleration; state which channel it is and what it measures "
                "(units='g', quantities='ground_acceleration' when reading the file)."
            )
    chosen = record.channel(channel)
    if chosen.quantity not in _ACCELERATIONS:
        raise InputError(f"Channel '{channel}' is a {chosen.quantity}, and an acceleration is needed.")
    return complete(record.select([channel]), "This measure")[:, 0]


def arias_history(acceleration: np.ndarray, step: float) -> np.ndarray:
    """Arias intensity up to every sample in m/s: π/(2g) ∫ a² dt (A. Arias, 1970), by the trapezoidal rule."""
    return np.pi / (2 * STANDARD_GRAVITY) * cumulative(acceleration[:, None] ** 2, step)[:, 0]


@checked
def intensity(record: Record, channel: str | None = None, low: float = 0.05, high: float = 0.95) -> Intensity:
    """Intensity measures of one acceleration channel; velocity and displacement are its plain integrals from rest.

    low, high: shares of the Arias intensity between which the significant duration is measured.
    """
    a = acceleration_channel(record, channel)
    step = step_of(record)
    velocity = cumulative(a[:, None], step)
    displacement = cumulative(velocity, step)
    arias = arias_history(a, step)
    start, end = significant_window(arias, step, low, high)
    inside = a[round(start / step) : round(end / step) + 1]
    return Intensity(
        pga=float(np.abs(a).max()),
        pgv=float(np.abs(velocity).max()),
        pgd=float(np.abs(displacement).max()),
        arias=float(arias[-1]),
        significant_duration=end - start,
        cumulative_velocity=float(cumulative(np.abs(a[:, None]), step)[-1, 0]),
        rms=float(np.sqrt(np.mean(inside**2))) if inside.size else 0.0,
    )


def significant_window(arias: np.ndarray, step: float, low: float = 0.05, high: float = 0.95) -> tuple[float, float]:
    """Seconds from the first sample at which the Arias intensity passes the shares `low` and `high` of its end."""
    if not 0 <= low < high <= 1:
        raise InputError("The shares of the significant duration must satisfy 0 ≤ low < high ≤ 1.")
    if arias[-1] <= 0:
        return 0.0, 0.0
    share = arias / arias[-1]
    times = step * np.arange(len(share))
    return float(np.interp(low, share, times)), float(np.interp(high, share, times))
