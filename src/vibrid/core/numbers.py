"""Known numbers as arrays of JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from numpy.typing import ArrayLike


def as_array(values: ArrayLike) -> jax.Array:
    """The same numbers as a float array of JAX. `jnp.asarray` compiles a program for every shape that it meets."""
    return jax.device_put(np.array(values, dtype=jnp.result_type(float)))


def is_known(value: Any) -> bool:
    """Whether its numbers are known now: it is not an array of a function that is being traced."""
    return not isinstance(value, Tracer)
