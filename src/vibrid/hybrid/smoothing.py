"""A low-pass that gives the rate of a measured signal as well, one sample at a time."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

DAMPING = 0.7071
"""Of the low-pass."""


class Smoothed(NamedTuple):
    """A signal behind a low-pass of second order: its value, its rate, and the last input."""

    value: jax.Array
    rate: jax.Array
    input: jax.Array

    def step(self, given, corner, dt) -> Smoothed:
        """ẍ = ω² (u − x) − 2ζω ẋ over a step by the trapezoidal rule."""
        w = 2.0 * jnp.pi * corner * dt
        left, right = 1.0 + DAMPING * w + 0.25 * w**2, 1.0 - DAMPING * w - 0.25 * w**2
        rate = (right * self.rate + 0.5 * w**2 / dt * (self.input + given - 2.0 * self.value)) / left
        return Smoothed(self.value + 0.5 * dt * (self.rate + rate), rate, given)
