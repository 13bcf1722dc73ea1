"""Response spectra: the largest response of a simple oscillator to a ground acceleration, for all periods at once.

The oscillator ü + 2ζω u̇ + ω² u = −a(t) is solved exactly for an acceleration that runs straight from sample to sample
(N. C. Nigam and P. C. Jennings, Bulletin of the Seismological Society of America 59 (1969) 909–922). With
λ = −ζω + iω√(1−ζ²) and q̇ = λq − a(t), the responses are

    u = Im(q)/ω_d,      u̇ = Im(λq)/ω_d,      ü + a = Im(λ²q)/ω_d,      ω_d = ω√(1−ζ²)

and one step h is q₁ = e^{λh} q₀ − h(φ₁ − φ₂) a₀ − hφ₂ a₁ with φ₁(z) = (e^z − 1)/z, φ₂(z) = (e^z − 1 − z)/z².

For speed the record is cut into short segments. The state at the start of each follows, for all periods at once, from
one matrix product and a recurrence from segment to segment; the responses inside the segments that can hold the peak
are one more matrix product for each period. The result is that of the recurrence, to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from vibrid.core.arguments import Numbers, checked
from vibrid.core.attached import attached
from vibrid.core.errors import InputError
from vibrid.records.intensity import acceleration_channel
from vibrid.records.record import Record, step_of

_SEGMENT = 20  # steps in a segment; measured, the optimum is flat between 10 and 20
_SMALL_PRODUCT = 250_000  # multiplications in a matrix product that the library does not split over threads

DEFAULT_PERIODS = np.logspace(-2, 1, 200)
"""Periods in s when none are given: 0.01 s to 10 s, 200 of them, equally spaced in logarithm."""


@dataclass(frozen=True, eq=False)
class ResponseSpectrum:
    """A response spectrum.

    periods: s; damping: ratio to critical; displacement: largest relative displacement S_d in m; velocity: largest
    relative velocity in m/s and acceleration: largest absolute acceleration in m/s², both None unless asked for.
    """

    periods: np.ndarray
    damping: float
    displacement: np.ndarray
    velocity: np.ndarray | None = None
    acceleration: np.ndarray | None = None
    name: str = ""

    @property
    def pseudo_velocity(self) -> np.ndarray:
        """S_d ω in m/s."""
        return self.displacement * (2 * np.pi / self.periods)

    @property
    def pseudo_acceleration(self) -> np.ndarray:
        """S_d ω² in m/s²."""
        return self.displacement * (2 * np.pi / self.periods) ** 2

    def at(self, period: Numbers) -> np.ndarray:
        """Pseudo-acceleration in m/s² at other periods in s, interpolated in logarithms."""
        period = np.asarray(period, dtype=float)
        if np.any((period < self.periods[0] * (1 - 1e-9)) | (period > self.periods[-1] * (1 + 1e-9))):
            raise InputError(f"The spectrum covers only {self.periods[0]:g} to {self.periods[-1]:g} s.")
        floor = np.log(np.maximum(self.pseudo_acceleration, 1e-300))
        return np.exp(np.interp(np.log(period), np.log(self.periods), floor))

    @attached
    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the pseudo-acceleration in g over the period; returns the axes."""


@checked
def response_spectrum(
    record: Record,
    periods: Numbers | None = None,
    damping: float = 0.05,
    channel: str | None = None,
    true_values: bool = False,
    substeps: int = 1,
) -> ResponseSpectrum:
    """The response spectrum of one channel, an acceleration.

    Arguments
        record: a uniform record; channel: which one, the first acceleration when not given.
        periods: in s, increasing (`DEFAULT_PERIODS`); damping: ratio to critical, 0 to below 1.
        true_values: also the largest relative velocity and absolute acceleration, besides the pseudo values.
        substeps: the peak is looked for at the samples and, with more than one substep, at that many points per sample
            (the motion between samples is straight, so this stays exact). Worth it for periods below ten samples.
    """
    motion = acceleration_channel(record, channel)
    periods = DEFAULT_PERIODS if periods is None else np.atleast_1d(np.asarray(periods, dtype=float))
    check_oscillators(periods, damping)
    step = step_of(record)
    if substeps > 1:
        grid = np.arange((len(motion) - 1) * substeps + 1) / substeps
        motion, step = np.interp(grid, np.arange(len(motion)), motion), step / substeps
    orders = (0, 1, 2) if true_values else (0,)
    peaks = largest_responses(motion, step, periods, damping, orders)
    return ResponseSpectrum(periods, damping, peaks[0], *(peaks[1:] if true_values else ()), name=record.name)


@checked
def response_history(record: Record, period: float, damping: float = 0.05, channel: str | None = None):
    """Relative displacement (m), relative velocity (m/s) and absolute acceleration (m/s²) of one oscillator."""
    motion = acceleration_channel(record, channel)
    check_oscillators(np.array([period]), damping)
    pole, damped, factor, old, new = (x[0] for x in _step(np.array([period]), damping, step_of(record)))
    state = scipy.signal.lfilter([new, old], [1.0, -factor], motion.astype(complex))
    state = state - new * motion[0] * factor ** np.arange(len(motion))  # at rest at the first sample
    return tuple((pole**order * state).imag / damped for order in range(3))


def check_oscillators(periods: np.ndarray, damping: float) -> None:
    if periods.ndim != 1 or not periods.size or not (np.isfinite(periods).all() and np.all(periods > 0)):
        raise InputError("Periods must be positive numbers of seconds.")
    if np.any(np.diff(periods) <= 0):
        raise InputError("Periods must increase from one to the next.")
    if not 0 <= damping < 1:
        raise InputError(f"The damping ratio must be at least 0 and below 1, not {damping!r}.")


def _step(periods: np.ndarray, damping: float, step: float):
    """Pole λ, ω_d, e^{λh}, and the weights of the old and the new acceleration in one step of q."""
    omega = 2 * np.pi / periods
    damped = omega * np.sqrt(1 - damping**2)
    pole = -damping * omega + 1j * damped
    z = pole * step
    phi1, phi2 = _phi(z)
    return pole, damped, np.exp(z), -step * (phi1 - phi2), -step * phi2


def _phi(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """φ₁ and φ₂, by their series where the closed form would cancel."""
    small = np.abs(z) < 0.5
    safe = np.where(small, 1.0, z)
    phi1 = (np.exp(safe) - 1) / safe
    phi2 = (phi1 - 1) / safe
    series = np.zeros_like(z)
    for k in range(16, 1, -1):  # φ₂ = Σ z^j/(j+2)!
        series = (1 + z * series) / k
    phi2 = np.where(small, series, phi2)
    return np.where(small, 1 + z * series, phi1), phi2


def largest_responses(
    motion: np.ndarray, step: float, periods: np.ndarray, damping: float, orders: tuple[int, ...] = (0,)
) -> list[np.ndarray]:
    """Largest |u| (order 0), |u̇| (1) and |ü + a| (2) at the samples, each (periods,)."""
    from scipy.linalg.blas import idamax  # index of the largest magnitude  # pyright: ignore[reportAttributeAccessIssue]

    pole, damped, factor, old, new = _step(periods, damping, step)
    steps = len(motion) - 1
    length = min(_SEGMENT, steps)
    segments = -(-steps // length)
    padded = np.zeros(segments * length + 1)
    padded[: len(motion)] = motion
    # one row per segment: its length + 1 accelerations, the last of them the next segment's first
    rows = np.lib.stride_tricks.sliding_window_view(padded, length + 1)[::length]
    # weight of acceleration j in the state at step m: new for j = m, μ^(m−1−j) (old + μ new) before, for j = 0 old
    powers = factor[:, None] ** np.arange(length + 1)
    inner = powers[:, :length] * (old + factor * new)[:, None]
    by_lag = np.concatenate([inner, new[:, None], 0 * new[:, None]], axis=1)
    lag = np.arange(1, length + 1) - np.arange(length + 1)[:, None]
    position = np.where(lag > 0, lag - 1, np.where(lag == 0, length, length + 1))  # (accelerations, steps)
    first = powers[:, :length] * old[:, None]
    ends = by_lag[:, position[:, -1]]
    ends[:, 0] = first[:, -1]
    starts = _segment_starts(np.ascontiguousarray(rows), ends, powers[:, length])
    # |q| grows within a segment by no more than ∫|a|dt, so most segments cannot hold the peak and are passed over
    reach = np.abs(starts) + step * np.abs(rows).sum(axis=1)
    inputs = np.empty((segments, length + 3))
    inputs[:, : length + 1] = rows
    weights = np.empty((len(periods), length + 3, length))
    unused, results = segments * length - steps, []
    for order in orders:
        gain = (pole**order / damped)[:, None]
        weights[:, : length + 1] = (gain * by_lag).imag[:, position]
        weights[:, 0] = (gain * first).imag
        decay = gain * powers[:, 1:]
        weights[:, -2], weights[:, -1] = decay.imag, decay.real
        peaks = np.abs((gain * starts).imag).max(axis=1)
        open_segments = reach * np.abs(gain) >= peaks[:, None]
        for p in range(len(periods)):
            chosen = np.flatnonzero(open_segments[p])
            if not chosen.size:
                continue
            part = inputs[chosen]
            part[:, -2], part[:, -1] = np.real(starts[p, chosen]), np.imag(starts[p, chosen])
            response = part @ weights[p]
            if unused and chosen[-1] == segments - 1:
                response[-1, -unused:] = 0.0
            flat = response.ravel()
            peaks[p] = max(peaks[p], abs(flat[idamax(flat)]))
        results.append(peaks)
    return results


def _segment_starts(accelerations: np.ndarray, ends: np.ndarray, across: np.ndarray) -> np.ndarray:
    """State q at the start of every segment, (periods, segments), at rest at the first.

    accelerations: (segments, length + 1); ends: (periods, length + 1) weights of the state at the segment's end;
    across: e^{λh·length}.
    """
    parts = np.ascontiguousarray(ends.T).view(float)
    gained = np.empty((len(accelerations), parts.shape[1]))
    columns = max(2, _SMALL_PRODUCT // accelerations.size)
    for i in range(0, parts.shape[1], columns):
        np.matmul(accelerations, parts[:, i : i + columns], out=gained[:, i : i + columns])
    gained = gained.view(complex)
    state = np.zeros_like(gained)
    moved = np.empty(len(across), dtype=complex)
    for s in range(1, len(state)):
        np.multiply(across, state[s - 1], out=moved)
        np.add(moved, gained[s - 1], out=state[s])
    return np.ascontiguousarray(state.T)
