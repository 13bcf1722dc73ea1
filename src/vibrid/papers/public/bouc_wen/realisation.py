"""The published recipe of the benchmark's data, followed anew: excitations, Newmark's method at 15 kHz, decimation.

`m ÿ + c ẏ + k y + z = u`, `ż = α ẏ − β (γ |ẏ| |z|^(ν−1) z + δ ẏ |z|^ν)`. The integration shares no code with the
integrators and laws of the package.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy

RATE, FINER = 750.0, 20
"""Hz, of the data; steps of the integration per sample."""
PERIOD = 8192
"""Samples of a period of the multisine."""
_CORRECTIONS = 5  # a correction shrinks the error of a step to (ω h)²/4 ≈ 6e-5 of it


class Oscillator(NamedTuple):
    """The parameters, in the units of the benchmark: kg, N s/m, N/m, and those of the hysteresis."""

    m: float = 2.0
    c: float = 10.0
    k: float = 5e4
    alpha: float = 5e4
    beta: float = 1e3
    gamma: float = 0.8
    delta: float = -1.1
    nu: float = 1.0


def multisine(seed: int, rms: float = 50.0, low: float = 5.0, high: float = 150.0) -> np.ndarray:
    """One period of a random-phase multisine at the rate of the integration, N."""
    fine = PERIOD * FINER
    frequency = np.fft.rfftfreq(fine, 1 / (RATE * FINER))
    phases = np.random.default_rng(seed).uniform(0, 2 * np.pi, len(frequency))
    lines = np.where((frequency >= low) & (frequency <= high), np.exp(1j * phases), 0.0)
    signal = np.fft.irfft(lines, fine)
    return signal * rms / np.sqrt(np.mean(signal**2))


def sweep(
    low: float = 20.0, high: float = 50.0, per_minute: float = 10.0, amplitude: float = 40.0, beyond: float = 0.0
) -> np.ndarray:
    """A sine whose frequency rises linearly, at the rate of the integration, N; it goes on for `beyond` seconds."""
    duration = 60.0 * (high - low) / per_minute + beyond
    time = np.arange(round(duration * RATE * FINER)) / (RATE * FINER)
    return amplitude * np.sin(2 * np.pi * (low * time + per_minute / 60.0 / 2 * time**2))


@jax.jit
def integrate(oscillator: Oscillator, u: jax.Array) -> jax.Array:
    """Displacement from rest at every step (Newmark, β = 1/4, γ = 1/2; z by the trapezoidal rule)."""
    h = 1.0 / (RATE * FINER)
    m, c, k, alpha, beta, gamma, delta, nu = oscillator

    def z_rate(v, z):
        size = jnp.where(z == 0, 1.0, jnp.abs(z)) ** nu * (z != 0)
        return alpha * v - beta * (gamma * jnp.abs(v) * jnp.sign(z) + delta * v) * size

    def step(state, force):
        y, v, a, z, rate = state
        a_new, z_new = a, z + h * rate
        for _ in range(_CORRECTIONS):
            v_new = v + 0.5 * h * (a + a_new)
            y_new = y + h * v + 0.25 * h * h * (a + a_new)
            z_new = z + 0.5 * h * (rate + z_rate(v_new, z_new))
            a_new = (force - c * v_new - k * y_new - z_new) / m
        v_new = v + 0.5 * h * (a + a_new)
        y_new = y + h * v + 0.25 * h * h * (a + a_new)
        return (y_new, v_new, a_new, z_new, z_rate(v_new, z_new)), y_new

    zero = jnp.zeros(())
    _, later = jax.lax.scan(step, (zero, zero, u[0] / m, zero, zero), u[1:])
    return jnp.concatenate([zero[None], later])


def decimate(fine: np.ndarray) -> np.ndarray:
    """Every 20th value after a symmetric low-pass filter: flat below 300 Hz, 120 dB down at 450 Hz."""
    nyquist = 0.5 * RATE * FINER
    taps, shape = scipy.signal.kaiserord(120.0, 150.0 / nyquist)
    taps |= 1  # odd: its delay is a whole number of steps
    filtered = scipy.signal.firwin(taps, 375.0 / nyquist, window=("kaiser", shape))
    return scipy.signal.oaconvolve(fine, filtered, mode="full")[taps // 2 : taps // 2 + len(fine) : FINER]


def noise(seed: int, samples: int, rms: float = 8e-6) -> np.ndarray:
    """White noise up to half the rate of the data, m."""
    return rms * np.random.default_rng(seed).normal(size=samples)


def periods_of(oscillator: Oscillator, u: np.ndarray, count: int) -> np.ndarray:
    """(count, samples) displacement over periods of a multisine, one extra period dropped before them."""
    y = np.asarray(integrate(oscillator, jnp.asarray(np.tile(u, count + 2))))  # the last one is for the filter's end
    return decimate(y)[PERIOD : (count + 1) * PERIOD].reshape(count, PERIOD)


def training(seed: int, periods: int = 5, noise_rms: float = 8e-6) -> tuple[np.ndarray, np.ndarray]:
    """Force of one period (N), and displacement of several periods with noise (m)."""
    u = multisine(seed)
    y = periods_of(Oscillator(), u, periods)
    return u[::FINER], y + noise(seed + 1, y.size, noise_rms).reshape(y.shape)


def multisine_test(seed: int, rms: float = 50.0) -> tuple[np.ndarray, np.ndarray]:
    """Force (N) and displacement (m) of one period in the steady state, without noise."""
    u = multisine(seed, rms)
    return u[::FINER], periods_of(Oscillator(), u, 1)[0]


def sweep_test() -> tuple[np.ndarray, np.ndarray]:
    """Force (N) and displacement (m) of the sweep from rest, without noise."""
    u = sweep(beyond=0.1)  # the filter needs the motion after the last sample
    y = decimate(np.asarray(integrate(Oscillator(), jnp.asarray(u))))
    samples = len(sweep()) // FINER
    return u[::FINER][:samples], y[:samples]
