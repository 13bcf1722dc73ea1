"""Static tests: a structure pushed to given displacements, there and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Numbers, checked
from vibrid.core.errors import Divergence, InputError
from vibrid.structures.base import Structure
from vibrid.structures.model import Model
from vibrid.structures.static import Balance, impose

_BALANCED = 1e-6  # of the largest load: allowed unbalanced force


@dataclass(frozen=True, eq=False)
class Pushover:
    """The result of a pushover. Arrays have the steps first.

    Fields
        structure: what was pushed.
        control: the place whose displacement was imposed.
        imposed: (steps,) m, that displacement.
        load: (steps,) N, sum of the lateral loads.
        displacement: (steps, degrees of freedom) m.
        states: of the laws.
    """

    structure: Structure
    control: str
    imposed: np.ndarray
    load: np.ndarray
    displacement: np.ndarray
    states: tuple[Any, ...]

    def at(self, place: str) -> np.ndarray:
        """(steps,) m, displacement of a place."""
        return self.displacement @ self.structure.row(place)


@eqx.filter_jit
def _push(structure, pattern, row, targets, iterations):
    model = structure if isinstance(structure, Model) else structure.model(())
    n = model.size
    start = Balance(jnp.zeros(n), model.start(), jnp.zeros(()), jnp.zeros(()))

    def step(now, target):
        now = impose(model, pattern, row, now, target, iterations)
        return now, now._replace(s=model.recorded(now.s))

    return jax.lax.scan(step, start, targets)[1]


@checked
def pushover(
    structure: Structure,
    pattern: Mapping[str, float],
    control: str,
    displacements: Numbers,
    *,
    iterations: int = 12,
) -> Pushover:
    """Push a structure slowly, so that one place follows a path of displacements; permanent loads stay.

    Arguments
        pattern: {place: share} of the lateral load; the shares stay in proportion.
        control: the place whose displacement is imposed.
        displacements: m, the path, in steps small enough for Newton's method; it may go there and back.
        iterations: of Newton's method in every step.

    Example
        >>> curve = pushover(frame, {"3.x": 0.5, "6.x": 1.0}, "6.x", np.linspace(0, 0.08, 101))
        >>> curve.load.max()
    """
    targets = np.asarray(displacements, float)
    if targets.ndim != 1 or not len(targets):
        raise InputError("The displacements of a pushover are a list of numbers in m.")
    shares = sum((float(share) * structure.row(place) for place, share in pattern.items()), 0.0)
    if not np.any(shares):
        raise InputError("The lateral load of a pushover acts nowhere; give places and shares such as {'3.x': 1.0}.")
    row, tested = jnp.asarray(structure.row(control)), structure.for_large_steps().built(())
    steps = _push(tested, jnp.asarray(shares), row, jnp.asarray(targets), iterations)
    steps = jax.tree.map(np.asarray, steps)
    structure.check_states(steps.s, np.arange(1, len(targets) + 1), "step")
    total = float(sum(map(abs, pattern.values())))
    largest = np.maximum.accumulate(np.abs(steps.factor)) * total
    lost = ~(steps.unbalanced <= _BALANCED * np.maximum(largest, 1.0))
    if lost.any():
        step = int(np.argmax(lost))
        raise Divergence(
            f"No equilibrium at step {step + 1}, {targets[step]:g} m at '{control}': the residual is "
            f"{steps.unbalanced[step]:.3g} N. Use smaller steps or more iterations."
        )
    load = steps.factor * sum(float(share) for share in pattern.values())
    return Pushover(structure, control, targets, load, steps.x, steps.s)
