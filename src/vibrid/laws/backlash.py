"""Friction with backlash: devices that lose their grip at every reversal and regain it over some travel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.base import LAWS, Law, Motion, absolute_power

if TYPE_CHECKING:
    from vibrid.laws.loops import LoopSizes


@LAWS.register("backlash")
class Backlash(Law):
    """A slider behind a slack band, as of a banded rotary friction damper; a spring and a dashpot in parallel.

    The state u is the travel of the device inside its slack, |u| ≤ g/2 + d. Inside the play, |u| ≤ g/2, there is no
    grip; beyond it the grip grows over the take-up d to the slip force:
    `F = ± F± [1 − (1 − y)ⁿ]`, `y = (|u| − g/2)/d`, and at y = 1 the device slips (u stays). On the way back the band
    releases r times as fast as it took up. `k e + c w` is added. The force depends on the path only, not on its steps.
    """

    slip_positive: Parameter = parameter("slip force for positive motion F₊", "N", positive=True, zero=True)
    slip_negative: Parameter = parameter("slip force for negative motion F₋", "N", positive=True, zero=True)
    play: Parameter = parameter("travel without grip g", "m", positive=True, zero=True)
    take_up: Parameter = parameter("travel from no grip to slip d", "m", positive=True)
    release: Parameter = parameter("letting go / taking up r", "", positive=True, default=1.0)
    exponent: Parameter = parameter("roundness of the grip n", "", positive=True, default=2.0)
    stiffness: Parameter = parameter("stiffness of the spring in parallel k", "N/m", positive=True, default=0.0)
    damping: Parameter = parameter("viscous damping c", "N s/m", positive=True, default=0.0)

    @classmethod
    def first_guess(cls, loop: LoopSizes) -> dict[str, Any]:
        return {"slip_positive": loop.forward, "slip_negative": loop.backward, "play": 0.5 * loop.elastic}

    def start(self) -> Any:
        return jnp.zeros(())

    def force(self, e: jax.Array, w: jax.Array, s: Any) -> jax.Array:
        slip = jnp.where(s >= 0.0, self.slip_positive, -self.slip_negative)
        y = jnp.clip((jnp.abs(s) - 0.5 * self.play) / self.take_up, 0.0, 1.0)
        return slip * (1.0 - absolute_power(1.0 - y, self.exponent)) + self.stiffness * e + self.damping * w

    def advance(self, s: Any, before: Motion, after: Motion, dt: jax.Array | float) -> Any:
        move = after.e - before.e
        way = jnp.where(move >= 0.0, 1.0, -1.0)
        gripped = jnp.maximum(-way * s - 0.5 * self.play, 0.0)  # grip that this motion releases
        travel = way * move
        letting_go = jnp.minimum(travel, gripped / self.release)
        moved = s + way * (self.release * letting_go + travel - letting_go)
        limit = 0.5 * self.play + self.take_up
        return jnp.clip(moved, -limit, limit)
