"""Time axes as files print them: uniform to the digits that are written, or not."""

from __future__ import annotations

import numpy as np


def uniform_step(time: np.ndarray) -> float | None:
    """The step of a time axis that is uniform to a thousandth of a step, or to its printed digits; None otherwise."""
    if time.size < 2 or not np.isfinite(time[[0, -1]]).all():
        return None
    step = (time[-1] - time[0]) / (time.size - 1)
    if not step > 0:
        return None
    single = 1.2e-7 * max(abs(time[0]), abs(time[-1]))  # single precision
    short = float(f"{step:.6g}")  # 0.0100000001 s is 0.01 s
    for candidate in (short, step):
        drift = np.abs(time - time[0] - candidate * np.arange(time.size))
        if drift.max() <= min(max(1e-3 * step, single), 0.1 * step):
            return candidate
        rounding = _rounding(time)
        if rounding is not None and np.all(drift <= 2.01 * rounding) and rounding.max() <= 0.5 * step:
            return candidate
    return None


def _rounding(time: np.ndarray) -> np.ndarray | None:
    """Half a unit of the last digit that the times are written with, in seconds; None when they have many digits."""
    rounding = None
    for decimals in range(7):
        scaled = time * 10**decimals
        if np.all(np.abs(scaled - np.round(scaled)) < 1e-5):
            rounding = np.full(time.size, 0.5 * 10.0**-decimals)
            break
    magnitude = np.floor(np.log10(np.maximum(np.abs(time), 1e-300)))
    for digits in range(4, 8):
        unit = 10.0 ** np.clip(magnitude - digits + 1, -12, None)
        if np.all(np.abs(time / unit - np.round(time / unit)) < 1e-5):
            return 0.5 * unit if rounding is None else np.maximum(rounding, 0.5 * unit)
    return rounding


def looks_like_time(values: np.ndarray) -> bool:
    """Whether an unnamed first column is a time axis: it starts at or near zero and rises in equal steps."""
    step = uniform_step(values) if values.size >= 3 and np.all(np.diff(values) > 0) else None
    return step is not None and 0 <= values[0] <= 10 * step + 1e-12
