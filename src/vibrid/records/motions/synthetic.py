"""Synthetic ground motions: filtered white noise whose strength and frequency change with time.

The model of S. Rezaeian and A. Der Kiureghian, "Simulation of synthetic ground motions for specified earthquake and
site characteristics", Earthquake Engineering and Structural Dynamics 39 (2010) 1155–1180:

    x(t) = q(t) · [ Σ_i h(t − t_i, λ(t_i)) w_i ] / σ_h(t),      a(t) = high-pass of x(t)

with Gaussian white noise w, a linear filter h (an oscillator of frequency f(t) = f_mid + f'(t − t_mid) and damping
ratio ζ, both frozen at the moment of each pulse), its standard deviation σ_h(t), and the gamma-shaped modulation
q(t)² ∝ t^(k−1) exp(−t/θ). The high-pass filter is a critically damped oscillator, so that velocity and displacement
come to rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from vibrid.core.arguments import Seed, checked
from vibrid.core.errors import InputError
from vibrid.records.record import MOST_SAMPLES, Channel, Record
from vibrid.records.units import STANDARD_GRAVITY

_HOLD = 0.05  # seconds during which the filter's frequency is held constant
_LOWEST = 0.3  # Hz, the filter's frequency never falls below it (the paper's lower limit)


@checked
def synthetic_motion(
    key: Seed | Sequence[Seed] | np.random.Generator = 0,
    duration: float = 30.0,
    rate: float = 200.0,
    *,
    pga: float | None = None,
    arias: float | None = None,
    significant_duration: float | None = None,
    middle: float | None = None,
    frequency: float = 4.0,
    frequency_slope: float = -0.1,
    bandwidth: float = 0.25,
    corner: float = 0.1,
    name: str = "",
) -> Record:
    """A seeded non-stationary ground acceleration (Rezaeian–Der Kiureghian 2010).

    Arguments
        key: whole number (or a NumPy Generator) that fixes the motion: the same key gives the same motion.
        duration: length of the record in s.
        rate: samples per second.
        pga: largest absolute acceleration in m/s²; 3 m/s² when neither `pga` nor `arias` is given.
        arias: Arias intensity in m/s, instead of `pga`.
        significant_duration: D5–95 in s, the time between 5 % and 95 % of the Arias intensity; 0.4 of `duration`.
        middle: time in s at which 45 % of the Arias intensity has arrived; 0.3 of `duration`.
        frequency: predominant frequency in Hz at the middle (the paper's mean is 5.9 Hz on rock and stiff soil).
        frequency_slope: its change in Hz per second (the paper's mean is −0.09).
        bandwidth: damping ratio of the filter (the paper's mean is 0.21); larger is broader.
        corner: frequency in Hz of the critically damped high-pass filter.
        name: what the record is called.

    Returns a record with one channel `ground` of quantity `ground_acceleration` in m/s².

    >>> motion = synthetic_motion(key=0, duration=20.0, rate=100.0, pga=2.0)
    >>> len(motion), round(abs(motion["ground"]).max(), 6)
    (2000, 2.0)
    """
    for label, value in (("duration", duration), ("rate", rate), ("frequency", frequency), ("corner", corner)):
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"The {label} of a synthetic motion must be positive, not {value!r}.")
    if not 0.01 <= bandwidth < 1.0:
        raise InputError(f"The bandwidth (a damping ratio) must lie between 0.01 and 1, not {bandwidth!r}.")
    if pga is not None and arias is not None:
        raise InputError("Give either the peak acceleration or the Arias intensity of a synthetic motion, not both.")
    for label, value in (("pga", pga), ("arias", arias)):
        if value is not None and not (np.isfinite(value) and value > 0):
            raise InputError(f"The {label} of a synthetic motion must be positive, not {value!r}.")
    if duration * rate > MOST_SAMPLES:
        raise InputError(f"{duration:g} s at {rate:g} Hz are more than {MOST_SAMPLES} samples.")
    step, count = 1.0 / rate, round(duration * rate)
    if count < 16:
        raise InputError(f"A synthetic motion needs at least 16 samples; {duration} s at {rate} Hz gives {count}.")
    significant_duration = 0.4 * duration if significant_duration is None else float(significant_duration)
    middle = 0.3 * duration if middle is None else float(middle)
    generator = key if isinstance(key, np.random.Generator) else np.random.default_rng(key)

    time = step * np.arange(count)
    pace = np.clip(frequency + frequency_slope * (time - middle), _LOWEST, 0.4 * rate)
    motion = _unit_process(generator.standard_normal(count), 2 * np.pi * pace, bandwidth, step)
    motion *= modulation(time, significant_duration, middle)
    motion = _high_pass(motion, 2 * np.pi * corner, step)
    if arias is not None:
        motion *= np.sqrt(arias / (np.pi / (2 * STANDARD_GRAVITY) * np.sum(motion**2) * step))
    else:
        motion *= (3.0 if pga is None else pga) / np.max(np.abs(motion))
    label = f"seed {key}" if isinstance(key, (int, np.integer)) else "a given random generator"
    return Record(
        motion,
        (Channel("ground", "ground_acceleration", location="ground"),),
        step=step,
        name=name or f"synthetic motion ({label})",
        history=(
            f"synthetic motion, Rezaeian–Der Kiureghian 2010, {label}: D5-95 {significant_duration:g} s, middle "
            f"{middle:g} s, {frequency:g} Hz {frequency_slope:+g} Hz/s, bandwidth {bandwidth:g}, corner {corner:g} Hz",
        ),
    )


def modulation(time: np.ndarray, significant_duration: float, middle: float) -> np.ndarray:
    """The envelope q(t), scaled to a largest value of one, with the given D5–95 and time of 45 % of the energy.

    q² is a gamma density of shape k and scale θ: D5–95 = θ [P⁻¹(k, 0.95) − P⁻¹(k, 0.05)] and
    t_mid = θ P⁻¹(k, 0.45), with P⁻¹ the inverse regularised incomplete gamma function.
    """
    if not (significant_duration > 0 and middle > 0):
        raise InputError("The significant duration and the middle of a synthetic motion must be positive.")

    ratio, quantile = significant_duration / middle, scipy.special.gammaincinv

    def mismatch(shape):
        return (quantile(shape, 0.95) - quantile(shape, 0.05)) / quantile(shape, 0.45) - ratio

    if not mismatch(1.0) > 0 > mismatch(1e4):
        raise InputError(
            f"A significant duration of {significant_duration:g} s with its middle at {middle:g} s cannot be had: "
            "their ratio must lie between 0.04 and 4.9."
        )
    shape = scipy.optimize.brentq(mismatch, 1.0, 1e4)
    scale = middle / quantile(shape, 0.45)
    peak = (shape - 1) * scale
    with np.errstate(divide="ignore", invalid="ignore"):
        log_density = (shape - 1) * (np.log(time / peak) if peak > 0 else 0.0) - (time - peak) / scale
    return np.exp(0.5 * np.where(time > 0, log_density, -np.inf if shape > 1 else 0.0))


def _unit_process(noise: np.ndarray, pace: np.ndarray, damping: float, step: float) -> np.ndarray:
    """Filtered noise of unit variance; `pace` is the filter's circular frequency in rad/s at every pulse.

    h(t, τ) = ω/√(1−ζ²) · exp(−ζωt) · sin(ω√(1−ζ²) t), with ω = ω_f(τ) (equation 4 of the paper).
    """
    count, block = noise.size, max(1, round(_HOLD / step))
    root = np.sqrt(1 - damping**2)
    signal, variance = np.zeros(count), np.zeros(count)
    for first in range(0, count, block):
        pulses = noise[first : first + block]
        omega = pace[min(first + block // 2, count - 1)]
        length = min(count - first, int(np.ceil(9.0 / (damping * omega * step))) + 1)  # until e⁻⁹ = 0.0001
        t = step * np.arange(1, length + 1)
        h = omega / root * np.exp(-damping * omega * t) * np.sin(omega * root * t)
        end = min(count, first + pulses.size + length - 1)
        signal[first:end] += np.convolve(pulses, h)[: end - first]
        variance[first:end] += np.convolve(np.ones(pulses.size), h**2)[: end - first]
    return signal / np.sqrt(variance)


def _high_pass(signal: np.ndarray, omega: float, step: float) -> np.ndarray:
    """Acceleration ü of ü + 2ω_c u̇ + ω_c² u = x(t), the paper's equation 12, by the bilinear transform."""
    k = omega * step / 2
    ahead = np.array([1.0, -2.0, 1.0]) / (1 + k) ** 2
    return scipy.signal.lfilter(ahead, [1.0, -2 * (1 - k) / (1 + k), ((1 - k) / (1 + k)) ** 2], signal)
