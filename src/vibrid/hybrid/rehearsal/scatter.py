"""The probability that a test stops: many virtual tests with uncertain actuators and specimens."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core.parameters import parameter_info
from vibrid.core.paths import get
from vibrid.hybrid.coordinator import HybridTest
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.rehearsal.batch import run_many
from vibrid.hybrid.rehearsal.demands import histories_of, smallest_limits
from vibrid.records.record import Record


@dataclass(frozen=True, eq=False)
class Scatter:
    """Virtual tests with uncertain actuators and specimens."""

    runs: int
    stops: int
    """runs that exceed a limit or diverge"""
    scatter: float
    """standard deviation of the logarithm of every uncertain parameter"""
    uncertain: tuple[str, ...]
    """paths of the uncertain parameters"""
    first: dict[str, int]
    """device → runs in which it was the first to exceed a limit"""
    peaks: np.ndarray
    """(runs,) m, largest displacement of the place of interest"""

    @property
    def probability(self) -> float:
        return self.stops / self.runs

    @property
    def at_most(self) -> float:
        """The probability of a stop is below this with 95 % confidence (Clopper & Pearson)."""
        if self.stops == self.runs:
            return 1.0
        return float(scipy.stats.beta.ppf(0.95, self.stops + 1, self.runs - self.stops))


def uncertain_parameters(test: HybridTest) -> tuple[str, ...]:
    """Paths of the positive parameters of tested devices and of the dynamics of their actuators."""
    paths = []
    for i, part in enumerate(test.experimental):
        places = ["device"] + (["actuator.dynamics"] if part.actuator is not None else [])
        for place in places:
            paths += [f"experimental[{i}].{place}.{path}" for path in _positive(get(part, place))]
    return tuple(paths)


def _positive(node) -> Iterator[str]:
    for f in dataclasses.fields(node):
        value = getattr(node, f.name)
        if dataclasses.is_dataclass(value):
            yield from (f"{f.name}.{rest}" for rest in _positive(value))
        elif parameter_info(node, f.name).positive and np.ndim(value) == 0 and 0 < float(value) < np.inf:
            yield f.name


def run_scatter(
    test: HybridTest,
    drive: Record,
    place: str,
    limits: SafetyLimits | None = None,
    *,
    runs: int = 64,
    scatter: float = 0.1,
    seed: int = 0,
) -> Scatter:
    """Run a virtual test many times, its uncertain parameters drawn log-normally about their values."""
    draws = np.random.default_rng(seed)
    paths = uncertain_parameters(test)
    changes: dict[str, np.ndarray] = {
        path: float(get(test, path)) * np.exp(scatter * draws.standard_normal(runs)) for path in paths
    }
    for i, part in enumerate(test.experimental):
        if part.actuator is not None and float(part.actuator.noise) > 0:
            changes[f"experimental[{i}].actuator.seed"] = draws.integers(1, 2**31, runs)
    changes = changes or {"rate": np.full(runs, test.rate)}
    tested = test.experimental
    bounds = smallest_limits(test, limits)
    row, dt = jnp.asarray(test.structure.row(place)), 1.0 / test.rate

    def reduce(histories):
        """Largest displacement of the place, and the substep at which each device first exceeds a limit."""
        (x, *_), rows = histories
        when = []
        for device, limit in zip(rows[: len(tested)], bounds, strict=True):
            sizes = histories_of(device.command.reshape(-1), device.force.reshape(-1), dt)
            beyond = jnp.stack([~(sizes[quantity] <= limit[quantity]) for quantity in limit]).any(axis=0)
            when.append(jnp.where(beyond.any(), jnp.argmax(beyond), beyond.shape[0]))
        return jnp.abs(x @ row).max(), jnp.isfinite(x).all(), jnp.stack(when)

    peaks, finite, when = run_many(test, drive, changes, reduce)
    count = (len(drive) - 1) * test.substeps
    earliest = when.min(axis=1)
    stopped = ~finite | (earliest < count)
    first = {part.name: int(((when[:, i] == earliest) & (earliest < count)).sum()) for i, part in enumerate(tested)}
    return Scatter(runs, int(stopped.sum()), scatter, paths, first, np.asarray(jax.device_get(peaks)))
