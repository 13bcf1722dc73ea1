"""What is kept of one run: peaks, last values and energy, worked out while it runs; and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Numbers, checked
from vibrid.core.errors import InputError
from vibrid.simulation.base import Integrator, State
from vibrid.simulation.run import Folding
from vibrid.structures.model import Model
from vibrid.structures.sensors import SensorArrays

OUTCOMES = ("waiting", "stands", "collapsed", "diverged", "no equilibrium", "memory full", "set aside")
"""How a run ended, in the order of the codes of the variable `outcome`.

A run `collapsed` when a drift passed its limit, and `diverged` when its motion stopped being finite. Where a step found
no equilibrium, or the memory of a path law was too small, the run is no result: it says nothing about the structure.
"""
WAITING, STANDS, COLLAPSED, DIVERGED, NO_EQUILIBRIUM, MEMORY_FULL, SET_ASIDE = range(len(OUTCOMES))

KEEPABLE = ("peaks", "residuals", "energy", "channels")


@dataclass(frozen=True)
class Collapse:
    """What counts as collapse, besides a motion that stops being finite.

    Arguments
        drift: m, the largest drift of a storey; one number, or one for each.
        ratio: the same as a share of the storey's height, where heights are known.
    """

    drift: Numbers | None = None
    ratio: Numbers | None = None

    def limits(self, heights: np.ndarray) -> np.ndarray:
        """(storeys,) m; infinite without a limit."""
        limits = np.full(heights.shape, np.inf)
        for name, given, unit in (("drift", self.drift, np.ones_like(heights)), ("ratio", self.ratio, heights)):
            if given is None:
                continue
            values = np.asarray(given, float)
            if values.ndim and values.shape != heights.shape:
                raise InputError(
                    f"A collapse has one limit of '{name}', or one for each of the {heights.size} storeys, not "
                    f"{values.shape}."
                )
            if not heights.size:
                raise InputError("A limit of drift needs storeys: state which places a drift is measured between.")
            if not np.all(values > 0):
                raise InputError(f"The limit of '{name}' for a collapse must be positive.")
            if not np.all(np.isfinite(unit)):
                raise InputError("A limit as a share of the storey height needs the heights of the storeys.")
            limits = np.minimum(limits, values * unit)
        return limits


@checked
@dataclass(frozen=True)
class StoreyDrift:
    """The drift of one storey: how far `top` moves beyond `bottom`, by default the ground.

    Arguments
        top, bottom: places of the structure.
        height: m, of the storey; needed only for drifts as shares of it.
    """

    top: str
    bottom: str | None = None
    height: float | None = None

    @property
    def name(self) -> str:
        return self.top if self.bottom is None else f"{self.bottom} to {self.top}"


class Sofar(NamedTuple):
    """The numbers of a run up to a sample."""

    sample: jax.Array
    peaks: jax.Array  # (sensors,)
    last: jax.Array
    drift_peaks: jax.Array  # (storeys,) m
    drift_last: jax.Array
    energy: jax.Array  # (parts,) J
    before: Any  # deformations and forces of the parts at the sample before
    outcome: jax.Array
    ended_at: jax.Array  # s


class Keeping(Folding):
    """Keeps peaks and last values of readings and drifts, the energy that parts absorb, and how the run ended.

    Samples from `count` on are padding: they change nothing. Neither does anything after the end of a run, so that the
    peaks of a run that collapsed are those up to the sample at which it did.
    """

    sensors: SensorArrays
    drifts: jax.Array  # (storeys, n)
    limits: jax.Array  # (storeys,) m
    count: jax.Array
    step: jax.Array
    integrator: Integrator
    keep: tuple[str, ...] = eqx.field(static=True)

    def begin(self, model: Model) -> Sofar:
        parts = sum(len(group.index) for group in model.groups) if "energy" in self.keep else 0
        zero, readings, storeys = jnp.zeros(()), jnp.zeros(self.sensors.count), jnp.zeros(self.drifts.shape[0])
        nothing = jnp.zeros(parts)
        return Sofar(
            jnp.zeros((), int), readings, readings, storeys, storeys, nothing, (nothing, nothing),
            jnp.zeros((), int), jnp.full_like(zero, jnp.nan),
        )  # fmt: skip

    def take(self, sofar: Sofar, model: Model, state: State, u: Any) -> tuple[Sofar, Any]:
        y = model.output(self.sensors, state.x, state.v, state.a, state.s, u)
        drifts = model.times(self.drifts, state.x)
        active = (sofar.sample < self.count) & (sofar.outcome == WAITING)
        outcome = self._outcome(model, state, y, drifts)
        sound = active & ((outcome == WAITING) | (outcome == COLLAPSED))

        def kept(new, old):
            return jax.tree.map(lambda n, o: jnp.where(sound, n, o), new, old)

        energy, here = sofar.energy, sofar.before
        if "energy" in self.keep:
            here = model.part_deformations(state.x, state.v).e, model.part_forces(state.x, state.v, state.s)
            (e, f), (e0, f0) = here, jax.tree.map(lambda h, b: jnp.where(sofar.sample == 0, h, b), here, sofar.before)
            energy = energy + 0.5 * (f + f0) * (e - e0)
        made = sofar._replace(
            sample=sofar.sample + 1,
            outcome=jnp.where(active, outcome, sofar.outcome),
            ended_at=jnp.where(active & (outcome != WAITING), sofar.sample * self.step, sofar.ended_at),
        )
        new = {
            "peaks": jnp.maximum(sofar.peaks, jnp.abs(y)),
            "last": y,
            "drift_peaks": jnp.maximum(sofar.drift_peaks, jnp.abs(drifts)),
            "drift_last": drifts,
            "energy": energy,
            "before": here,
        }
        made = made._replace(**{name: kept(value, getattr(sofar, name)) for name, value in new.items()})
        return made, jnp.where(sound, y, jnp.nan) if "channels" in self.keep else None

    def _outcome(self, model: Model, state: State, y: jax.Array, drifts: jax.Array) -> jax.Array:
        """How this sample ends the run; `WAITING` where it does not."""
        pairs = zip(model.groups, state.s, strict=True)
        full = [jnp.any(group.law.overflowed(s)) for group, s in pairs]
        finite = jnp.isfinite(state.x).all() & jnp.isfinite(y).all() & jnp.isfinite(drifts).all()
        causes = [
            (jnp.any(jnp.abs(drifts) > self.limits), COLLAPSED),
            (~finite, DIVERGED),
            (jnp.any(jnp.stack([jnp.zeros((), bool), *full])), MEMORY_FULL),
            (self.integrator.failed(state), NO_EQUILIBRIUM),
        ]
        outcome = jnp.asarray(WAITING)
        for cause, code in causes:
            outcome = jnp.where(cause, code, outcome)
        return outcome

    def ended(self, sofar: Sofar) -> jax.Array:
        return (sofar.outcome != WAITING) | (sofar.sample >= self.count)
