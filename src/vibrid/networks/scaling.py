"""Scaling of signals to a size of about one, and back."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from vibrid.core import precision  # noqa: F401
from vibrid.core.parameters import as_number


class ChannelScaling(eqx.Module):
    """`(x − centre) / size` for every channel. Made by `ChannelScaling.of(data)`."""

    centre: jax.Array = eqx.field(converter=as_number)
    size: jax.Array = eqx.field(converter=as_number)

    @classmethod
    def of(cls, data, *, symmetric: bool = True) -> ChannelScaling:
        """From samples (…, channels): their rms (rest stays at zero), or with `symmetric=False` mean and deviation.

        A constant channel keeps its size.
        """
        flat = jnp.reshape(jnp.asarray(data), (-1, jnp.shape(data)[-1]))
        centre = jnp.zeros(flat.shape[1]) if symmetric else flat.mean(axis=0)
        size = jnp.sqrt(jnp.mean((flat - centre) ** 2, axis=0))
        return cls(centre, jnp.where(size > 0, size, 1.0))

    def __call__(self, x):
        return (x - self.centre) / self.size

    def back(self, scaled):
        """The signals in their own units."""
        return scaled * self.size + self.centre
