"""The method of Ashrafi & Smyth with λ_θ in the order of the print, under the name `masing-as-published`."""

from __future__ import annotations

import jax.numpy as jnp

from vibrid.identification.method import METHODS
from vibrid.identification.methods.online_masing import DescentTrial, OnlineDescent, OnlineMasing


@METHODS.register("masing-as-published")
class MasingAsPublished(OnlineMasing):
    """`OnlineMasing` with Eqs 13 and 14 as printed: λ_θ is updated before the step, and a rejected step leaves it.

    Arguments are those of `OnlineMasing`.
    """

    def _decide(self, state: OnlineDescent, trial: DescentTrial, misfit):
        downhill = trial.direction * (trial.lowest <= trial.now)
        reduction = self._reduced(state, downhill, jnp.asarray(False))
        step = trial.limit * reduction * trial.direction
        accepted = trial.learns & (misfit(step) <= trial.now)
        return accepted, jnp.where(accepted, step, 0.0), jnp.where(trial.learns, reduction, state.reduction)
