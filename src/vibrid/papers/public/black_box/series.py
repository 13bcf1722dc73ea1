"""A measured series as a black box is trained on it, the monomials of polynomials, and the budget of a training."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np


@dataclass(frozen=True, eq=False)
class DrivenSeries:
    """Input and output of a training, each less its mean and over its deviation.

    Arguments
        u, y: (samples,) of one channel each; the simulation begins at rest with the first sample.
        washout: samples at the beginning that are not scored, while the motion forgets how it began.
        known: samples up to here are for training, those after it are for the choice of settings.
        input_unit, output_unit: (mean, deviation) of what was measured.
    """

    u: np.ndarray
    y: np.ndarray
    washout: int
    known: int
    input_unit: tuple[float, float]
    output_unit: tuple[float, float]

    @classmethod
    def of(cls, u: np.ndarray, y: np.ndarray, washout: int, share: float) -> DrivenSeries:
        """Of a record: the last `1 − share` of it chooses between settings."""
        units = [(float(v.mean()), float(v.std())) for v in (u, y)]
        driven, seen = ((v - mean) / size for v, (mean, size) in zip((u, y), units, strict=True))
        return cls(driven, seen, washout, washout + round(share * (len(u) - washout)), units[0], units[1])

    @classmethod
    def periodic(cls, u: np.ndarray, y: np.ndarray, washout: int, share: float) -> DrivenSeries:
        """Of one period in the steady state: its end is put before it as the washout."""
        return cls.of(np.append(u[-washout:], u), np.append(y[-washout:], y), washout, share)

    def scaled(self, u: np.ndarray) -> jax.Array:
        """Another input in the units of the training."""
        return jnp.asarray((u - self.input_unit[0]) / self.input_unit[1])

    def measured(self, y) -> np.ndarray:
        """An output of the model in the units of the measurement."""
        return np.asarray(y) * self.output_unit[1] + self.output_unit[0]

    def validation(self, y) -> float:
        """Error of a free run over the whole series in the samples that choose, over their deviation."""
        off = np.asarray(y)[self.known :] - self.y[self.known :]
        return relative(off, self.y[self.known :])


def relative(off: np.ndarray, y: np.ndarray) -> float:
    """The rms of an error over the deviation of what was measured; infinite where the free run diverged."""
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = float(np.sqrt(np.mean(np.square(off))) / np.std(y))
    return ratio if np.isfinite(ratio) else np.inf


class Budget:
    """Processor time for one training; what is compiled before `begin` is not counted.

    Arguments
        seconds: processor time.
        steps: at most as many steps.
    """

    def __init__(self, seconds: float, steps: int = 100_000):
        self.seconds, self.steps = seconds, steps
        self.used, self._began = 0, time.process_time()

    def begin(self) -> Budget:
        return Budget(self.seconds, self.steps)

    def spend(self, steps: int = 1) -> bool:
        """Whether these steps may still be made."""
        if self.used + steps > self.steps or self.spent >= self.seconds:
            return False
        self.used += steps
        return True

    @property
    def spent(self) -> float:
        return time.process_time() - self._began


@dataclass(frozen=True, eq=False)
class TrainedBox:
    """A model after its training: its parameters as one vector, its error on the samples that choose, the time."""

    vector: np.ndarray
    validation: float
    seconds: float
    steps: int


def monomials(variables: int, lowest: int, highest: int) -> np.ndarray:
    """(count, highest) places of the factors of every monomial; the place `variables` stands for 1."""
    rows = [
        [*chosen, *[variables] * (highest - degree)]
        for degree in range(lowest, highest + 1)
        for chosen in itertools.combinations_with_replacement(range(variables), degree)
    ]
    return np.array(rows, int).reshape(-1, highest)


def products(values: jax.Array, places: np.ndarray) -> jax.Array:
    """The monomials of variables in the last axis."""
    padded = jnp.concatenate([values, jnp.ones((*values.shape[:-1], 1))], axis=-1)
    return jnp.prod(padded[..., places], axis=-1)
