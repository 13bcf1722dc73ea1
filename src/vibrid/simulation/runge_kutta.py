"""Explicit Runge–Kutta methods of order 3 and 4."""

from __future__ import annotations

from typing import Any, ClassVar

import jax

from vibrid.simulation.base import INTEGRATORS, Integrator, State
from vibrid.structures.model import Model


def _add(y, *terms):
    """y + Σ h k over trees of arrays."""
    for h, k in terms:
        y = jax.tree.map(lambda yi, ki, h=h: yi + h * ki, y, k)
    return y


class _RungeKutta(Integrator):
    """An explicit Runge–Kutta method from its tableau. The first stage is the acceleration the state carries."""

    needs_rates: ClassVar[bool] = True
    nodes: ClassVar[tuple[float, ...]]
    stages: ClassVar[tuple[tuple[float, ...], ...]]
    weights: ClassVar[tuple[float, ...]]

    def step(self, model: Model, constants: Any, state: State, u: Any, dt: jax.Array | float) -> State:
        y = (state.x, state.v, state.s)
        slopes = [(state.v, state.a, model.rates(state.x, state.v, state.s))]
        for node, row in zip(self.nodes, self.stages, strict=True):
            x, v, s = _add(y, *[(dt * c, k) for c, k in zip(row, slopes, strict=True) if c])
            slopes.append((v, model.acceleration(x, v, s, u(node)), model.rates(x, v, s)))
        x, v, s = _add(y, *[(dt * b, k) for b, k in zip(self.weights, slopes, strict=True)])
        return State(x, v, model.acceleration(x, v, s, u.end), s)


@INTEGRATORS.register("runge-kutta-4")
class RungeKutta4(_RungeKutta):
    """The classical method of order 4."""

    nodes: ClassVar[tuple[float, ...]] = (0.5, 0.5, 1.0)
    stages: ClassVar[tuple[tuple[float, ...], ...]] = ((0.5,), (0.0, 0.5), (0.0, 0.0, 1.0))
    weights: ClassVar[tuple[float, ...]] = (1 / 6, 1 / 3, 1 / 3, 1 / 6)


@INTEGRATORS.register("runge-kutta-3")
class RungeKutta3(_RungeKutta):
    """Kutta's method of order 3."""

    nodes: ClassVar[tuple[float, ...]] = (0.5, 1.0)
    stages: ClassVar[tuple[tuple[float, ...], ...]] = ((0.5,), (-1.0, 2.0))
    weights: ClassVar[tuple[float, ...]] = (1 / 6, 2 / 3, 1 / 6)
