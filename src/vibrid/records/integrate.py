"""Integration and differentiation of records, in the time or in the frequency domain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.records.gaps import complete
from vibrid.records.record import QUANTITIES, Channel, Record, step_of

_INTEGRAL = {
    "acceleration": "velocity",
    "velocity": "displacement",
    "ground_acceleration": "ground_velocity",
    "ground_velocity": "ground_displacement",
    "drift_velocity": "drift",
}
_DERIVATIVE = {after: before for before, after in _INTEGRAL.items()}


def cumulative(data: np.ndarray, step: float) -> np.ndarray:
    """Integral of columns from the first sample by the trapezoidal rule, zero at the start."""
    out = np.zeros_like(data)
    np.cumsum(0.5 * step * (data[1:] + data[:-1]), axis=0, out=out[1:])
    return out


@checked
def integrate(record: Record, method: str = "time", lowest: float | None = None) -> Record:
    """The integral of every channel over time.

    method
        'time': trapezoidal rule, exact where the signal is straight between samples; zero at the first sample.
        'frequency': division by iω of the Fourier transform, the mean and all below `lowest` Hz left out; the result
        has zero mean. Use it where an offset would grow without bound.
    """
    data, step = complete(record, "Integration"), step_of(record)
    if method == "time":
        result = cumulative(data, step)
    elif method == "frequency":
        result = _in_frequency(data, step, -1, lowest)
    else:
        raise InputError(f"There is no method '{method}'; there are 'time' and 'frequency'.")
    return _renamed(record, result, _INTEGRAL, "integrated", "s", method)


@checked
def differentiate(record: Record, method: str = "time", highest: float | None = None) -> Record:
    """The derivative of every channel with respect to time.

    method
        'time': central differences, second order, one-sided of the same order at the ends.
        'frequency': multiplication of the Fourier transform by iω, nothing above `highest` Hz kept. The record is
        continued by its odd reflection, so that its ends need not agree.
    """
    data, step = complete(record, "Differentiation"), step_of(record)
    if len(record) < 3:
        raise InputError("Differentiation needs at least three samples.")
    if method == "time":
        result = np.gradient(data, step, axis=0, edge_order=2)
    elif method == "frequency":
        result = _in_frequency(data, step, +1, highest)
    else:
        raise InputError(f"There is no method '{method}'; there are 'time' and 'frequency'.")
    return _renamed(record, result, _DERIVATIVE, "differentiated", "1/s", method)


def _in_frequency(data: np.ndarray, step: float, power: int, corner: float | None) -> np.ndarray:
    count = len(data)
    if power < 0:
        extended = np.concatenate([data, np.zeros_like(data)])
    else:
        extended = np.concatenate([data, 2 * data[-1] - data[-2::-1]])  # odd about the last sample
        ramp = np.linspace(0, 1, len(extended))[:, None] * (extended[-1] - extended[0])
        extended = extended - ramp
    frequency = np.fft.rfftfreq(len(extended), step)
    factor = np.zeros(frequency.size, dtype=complex)
    factor[1:] = (2j * np.pi * frequency[1:]) ** power
    if corner is not None:
        factor[(frequency < corner) if power < 0 else (frequency > corner)] = 0
    result = np.fft.irfft(np.fft.rfft(extended, axis=0) * factor[:, None], len(extended), axis=0)[:count]
    if power < 0:
        return result - result.mean(axis=0)
    return result + (2 * (data[-1] - data[0])) / ((len(extended) - 1) * step)


def _renamed(record: Record, data, table: dict, verb: str, unit_factor: str, method: str) -> Record:
    def channel(c: Channel) -> Channel:
        quantity = table.get(c.quantity, "other")
        unit = QUANTITIES[quantity] if quantity != "other" else f"{c.unit or '1'}*{unit_factor}".replace("*1/", "/")
        return replace(c, quantity=quantity, unit="" if unit == "1" else unit)

    return record.replace(f"{verb} ({method} domain)", data=data, channels=tuple(map(channel, record.channels)))
