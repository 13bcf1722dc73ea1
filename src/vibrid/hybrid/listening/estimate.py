"""Capacity and gap of a tested device, online and with their uncertainty, from its measured displacement and force.

Copies of a law with several gaps follow the measured displacement. The measured force is compared with the force of
every copy, shifted by several lags:

    J(g, τ) = Σ F² − (Σ F U)² / Σ U²,        U = U_g(t − τ), the force of the copy with gap g

over the last `memory` seconds in which the device slipped. The least J gives the gap and the lag, a parabola through
its neighbours their fractions of the grid, and its curvature the uncertainty of the gap. In that way force and
displacement are aligned before anything else is read from them.

The capacity is found from samples in which the device slips, by a Kalman filter of two numbers: the capacity over that
of the law is a + b (1 − e^{−W/W₀}), with the work W that the device itself has done: it changes by b/W₀ per work at
first, and by b in the end. Without a W₀ the capacity is a, which may drift in time.

Errors of a law last longer than a sample, so `CORRELATED` seconds count as one observation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer

from vibrid.core import paths
from vibrid.core.arguments import as_entries
from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, Parameterised, parameter
from vibrid.hybrid.smoothing import Smoothed
from vibrid.laws.base import Law, Motion

GAPS = 15
"""Gaps that are tried; they reach `REACH` standard deviations to either side, in the logarithm."""
REACH = 2.4
LAGS = 12
"""Lags that are tried to either side, in samples of the estimator."""
SLIPS = 0.85
"""Share of its capacity from which a device slips."""
AFTER = 0.5
"""s, for which a device is listened to after it slipped: the gap is seen between two slips."""
CORRELATED = 0.1
"""s, that count as one observation."""
SHAPE = 0.25
"""Share of the misfit that may look like another gap, however long one listens: errors of shape do not average out."""
KNOWN = 0.4
"""s of listening, from which the lag counts as known."""
LEAST = 0.05
"""Smallest share of its capacity that a device keeps."""


def _paths(value) -> tuple[str, ...]:
    return as_entries(value, "paths of parameters")


class Estimate(NamedTuple):
    """What is known of a tested device, over the values of its law."""

    mean: jax.Array  # (2,) a, b
    covariance: jax.Array  # (2, 2)
    work: jax.Array  # J, done by the tested device
    gap: jax.Array  # logarithm of the gap over that of the law
    gap_deviation: jax.Array
    lag: jax.Array  # s, by which the force comes after the displacement
    slipped: jax.Array  # s, of slip so far


class Sums(NamedTuple):
    """Sums over the samples near a slip, the older ones forgotten."""

    uu: jax.Array  # (GAPS, lags) N², of the copies
    uf: jax.Array  # (GAPS, lags) N², of copies and measured force
    ff: jax.Array  # N², of the measured force
    samples: jax.Array  # their number


class EstimatorState(NamedTuple):
    """State of an estimator; the newest sample of a history is its first."""

    commands: jax.Array  # since the last update
    begun: jax.Array  # whether there was a measurement
    displacement: Smoothed
    force: Smoothed
    copies: Any  # (GAPS,) states of the law
    at: Motion  # of the copies
    copied: jax.Array  # (GAPS, 2 LAGS + 1) N, their forces over the capacity, times that of the law
    forces: jax.Array  # (LAGS + 1,) N, measured
    places: jax.Array  # (2 LAGS + 2,) m, measured
    since: jax.Array  # s, since the last slip
    sums: Sums
    estimate: Estimate


class CompanionEstimator(Parameterised):
    """How a tested device is listened to (module docstring).

    Arguments
        law: of the device as it was characterised; any law with one deformation.
        capacity: N, force at which that law slips.
        strengths: paths of the parameters of the law that follow the capacity; without any its whole force does.
        gap: paths of the parameters of the law that follow the gap; without any only the capacity is estimated.
        capacity_spread: standard deviation of the capacity over that of the law, before anything was heard.
        gap_spread: the same of the gap.
        wear_work: J, W₀, own work in which most of the wear happens, for devices that wear by their own work; 0 for
            devices whose capacity drifts in time.
        drift: standard deviation of the capacity's drift in one second of slip.
        force_noise: N, of the load cell.
        law_error: error of the law, over the capacity.
        memory: s, in which what was heard of the gap is forgotten.
        corner: Hz, of a low-pass on displacement and force alike.
        every: commands of the test in one update of the estimates.
    """

    law: Law
    capacity: Parameter = parameter("force at which the law slips", "N", positive=True)
    strengths: tuple[str, ...] = eqx.field(static=True, converter=_paths, default=())
    gap: tuple[str, ...] = eqx.field(static=True, converter=_paths, default=())
    capacity_spread: Parameter = parameter("spread of the capacity", "", positive=True, default=0.25)
    gap_spread: Parameter = parameter("spread of the gap", "", positive=True, default=0.25)
    wear_work: Parameter = parameter("own work of a notable wear", "J", positive=True, zero=True, default=0.0)
    drift: Parameter = parameter("drift in a second of slip", "", positive=True, zero=True, default=0.02)
    force_noise: Parameter = parameter("noise of the load cell", "N", positive=True, zero=True, default=0.0)
    law_error: Parameter = parameter("error of the law / capacity", "", positive=True, default=0.05)
    memory: Parameter = parameter("seconds that are remembered", "s", positive=True, default=20.0)
    corner: Parameter = parameter("corner of the low-pass", "Hz", positive=True, default=60.0)
    every: int = eqx.field(static=True, default=2)

    def __check_init__(self):
        if not isinstance(self.law, Law) or self.law.components != 1:
            raise InputError(f"A tested device is listened to through a law with one deformation, not {self.law!r}.")
        if self.every < 1:
            raise InputError(f"`every` must be 1 or more commands, not {self.every}.")
        for path in (*self.strengths, *self.gap):
            value = paths.get(self.law, path)
            if jnp.ndim(value):
                raise InputError(f"'{path}' of the law is not one number.")
            if not isinstance(value, Tracer) and not float(value) > 0:
                raise InputError(
                    f"'{path}' of the law is {float(value):g}: only a positive value can follow the device."
                )

    def changed(self, capacity, gap) -> tuple[Law, jax.Array]:
        """The law with a capacity and a gap over its own, and what to multiply its force by."""
        changes = {p: paths.get(self.law, p) * capacity for p in self.strengths}
        for path in self.gap:
            changes[path] = changes.get(path, paths.get(self.law, path)) * gap
        law = paths.replace(self.law, changes) if changes else self.law
        return law, jnp.ones(()) if self.strengths else jnp.asarray(capacity, float)

    def moved(self, capacity, gap, state, before: Motion, after: Motion, dt) -> tuple[Any, jax.Array]:
        """State and force (N) of the law with a capacity and a gap after a step."""
        law, share = self.changed(capacity, gap)
        state = law.advance(state, before, after, dt)
        force = jnp.where(law.overflowed(state), jnp.nan, share * law.force(after.e, after.w, state))
        return state, force

    @property
    def gaps(self) -> jax.Array:
        """(GAPS,) logarithms of the gaps that are tried; only that of the law where no parameter is the gap."""
        return REACH * self.gap_spread * jnp.linspace(-1.0, 1.0, GAPS) if self.gap else jnp.zeros(1)

    def worn(self, work) -> jax.Array:
        """(2,): the capacity over that of the law is this times (a, b)."""
        wears = self.wear_work > 0.0
        done = jnp.maximum(work, 0.0) / jnp.where(wears, self.wear_work, 1.0)
        return jnp.stack([jnp.ones(()), jnp.where(wears, 1.0 - jnp.exp(-done), 0.0)])

    def start(self) -> EstimatorState:
        zero, count, lags = jnp.zeros(()), len(self.gaps), 2 * LAGS + 1
        wide = lambda leaf: jnp.stack([jnp.asarray(leaf)] * count)  # noqa: E731
        still = Smoothed(zero, zero, zero)
        own = jnp.where(self.wear_work > 0.0, jnp.square(self.capacity_spread), 0.0)
        covariance = jnp.diag(jnp.stack([jnp.square(self.capacity_spread), own]))
        unheard = jnp.asarray(self.gap_spread, float) if self.gap else zero
        known = Estimate(jnp.array([1.0, 0.0]), covariance, zero, zero, unheard, zero, zero)
        sums = Sums(jnp.zeros((count, lags)), jnp.zeros((count, lags)), zero, zero)
        return EstimatorState(
            jnp.zeros((), jnp.int32), jnp.zeros((), bool), still, still, jax.tree.map(wide, self.law.start()),
            Motion(zero, zero), jnp.zeros((count, lags)), jnp.zeros(LAGS + 1), jnp.zeros(lags + 1),
            jnp.asarray(AFTER), sums, known,
        )  # fmt: skip

    def step(self, state: EstimatorState, displacement, force, dt) -> EstimatorState:
        """After one measurement (m, N), `dt` seconds after the last."""
        begin = lambda old, value: jax.tree.map(  # noqa: E731
            lambda a, b: jnp.where(state.begun, a, b), old, Smoothed(value, jnp.zeros(()), value)
        )
        x = begin(state.displacement, displacement).step(displacement, self.corner, dt)
        f = begin(state.force, force).step(force, self.corner, dt)
        first = Motion(displacement, jnp.zeros(()))
        at = jax.tree.map(lambda a, b: jnp.where(state.begun, a, b), state.at, first)
        places = jnp.where(state.begun, state.places, displacement)
        state = state._replace(
            commands=state.commands + 1, begun=jnp.ones((), bool), displacement=x, force=f, at=at, places=places
        )
        return jax.lax.cond(
            state.commands >= self.every, lambda s: self.updated(s, dt * self.every), lambda s: s, state
        )

    def updated(self, state: EstimatorState, step) -> EstimatorState:
        """Estimates after `step` seconds, from the newest displacement and force."""
        known = state.estimate
        factor = jnp.maximum(self.worn(known.work) @ known.mean, LEAST)
        now = Motion(state.displacement.value, state.displacement.rate)
        copies, forces = jax.vmap(lambda gap, own: self.moved(factor, jnp.exp(gap), own, state.at, now, step))(
            self.gaps, state.copies
        )
        copied = jnp.concatenate([forces[:, None] / factor, state.copied[:, :-1]], axis=1)
        measured = jnp.concatenate([state.force.value[None], state.forces[:-1]])
        places = jnp.concatenate([now.e[None], state.places[:-1]])
        force, limit = measured[LAGS], SLIPS * self.capacity

        best = _place_of_least(_misfit(state.sums))
        known_lag = state.sums.samples * step > KNOWN
        away = jnp.abs(jnp.arange(2 * LAGS + 1) - best[1])
        copy = _chosen(copied, best[0])
        sign = jnp.where(force >= 0.0, 1.0, -1.0)
        slips = jnp.all((sign * copy >= limit) | (known_lag & (away > 1)))
        near = jnp.any(jnp.abs(copied[:, LAGS]) >= limit)
        since = jnp.where(near, 0.0, state.since + step)
        sums = _added(state.sums, copied, force, jnp.exp(-step / self.memory), since < AFTER)

        number = jnp.square(self.force_noise) + jnp.square(self.law_error * self.capacity)
        place, bend, lag = _least(_misfit(sums), len(self.gaps))
        found = sums.samples > 0
        least = jnp.maximum(jnp.min(_misfit(sums)), number * sums.samples)
        noise = least * (CORRELATED / (step * jnp.maximum(sums.samples, 1.0)) + SHAPE)
        known = self._heard_gap(known, place, jnp.where(found, bend / (2.0 * noise), 0.0))
        known = known._replace(lag=jnp.where(found, (lag - LAGS) * step, 0.0))
        known = self._heard_capacity(known, _chosen(copy, best[1]), force, number * CORRELATED / step, slips, step)
        moved = _chosen(places, best[1]) - _chosen(places, best[1] + 1)
        known = known._replace(work=known.work + force * moved, slipped=known.slipped + jnp.where(slips, step, 0.0))
        return state._replace(
            commands=jnp.zeros((), jnp.int32), copies=copies, at=now, copied=copied, forces=measured, places=places,
            since=since, sums=sums, estimate=known,
        )  # fmt: skip

    def _heard_gap(self, known: Estimate, place, information) -> Estimate:
        """With a gap at `place` of those that are tried, and the information on its logarithm."""
        if not self.gap:
            return known
        spacing = self.gaps[1] - self.gaps[0]
        heard, before = information / jnp.square(spacing), 1.0 / jnp.square(self.gap_spread)
        gap = heard * (self.gaps[0] + spacing * place) / (heard + before)
        return known._replace(gap=gap, gap_deviation=1.0 / jnp.sqrt(heard + before))

    def _heard_capacity(self, known: Estimate, copied, force, noise, slips, step) -> Estimate:
        """With a measured force, where the device slips; `copied`: N, of the law with its own capacity."""
        row = copied * self.worn(known.work)
        first, before = jnp.array([[1.0, 0.0], [0.0, 0.0]]), known.covariance[0, 0]
        most = jnp.maximum(jnp.square(self.capacity_spread), before)
        drift = jnp.minimum(jnp.square(self.drift) * step, most - before)
        grown = known.covariance + first * drift
        gain = grown @ row / (row @ grown @ row + noise)
        mean = known.mean + gain * (force - row @ known.mean)
        covariance = grown - jnp.outer(gain, row @ grown)
        return known._replace(
            mean=jnp.where(slips, mean, known.mean),
            covariance=jnp.where(slips, 0.5 * (covariance + covariance.T), known.covariance),
        )


def _added(sums: Sums, copied, force, kept, wanted) -> Sums:
    """The sums with one more sample, where it is wanted."""
    after = Sums(
        kept * sums.uu + copied**2,
        kept * sums.uf + copied * force,
        kept * sums.ff + force**2,
        kept * sums.samples + 1.0,
    )
    return jax.tree.map(lambda new, old: jnp.where(wanted, new, old), after, sums)


def _misfit(sums: Sums) -> jax.Array:
    """(GAPS, lags) N², J; the forces of law and device have the same sign."""
    share = jnp.square(jnp.maximum(sums.uf, 0.0)) / jnp.where(sums.uu > 0.0, sums.uu, 1.0)
    return sums.ff - share


def _least(misfit, gaps: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Where the misfit is least: place among the gaps, second difference there, and place among the lags."""
    gap, lag = _place_of_least(misfit)
    place, bend = (jnp.zeros(()), jnp.zeros(())) if gaps == 1 else _vertex(_chosen(misfit.T, lag), gap)
    return place, bend, _vertex(_chosen(misfit, gap), lag)[0]


def _vertex(values, at) -> tuple[jax.Array, jax.Array]:
    """Vertex of the parabola through three neighbours, and their second difference (never negative)."""
    middle = jnp.clip(at, 1.0, len(values) - 2.0)
    before, here, after = (_chosen(values, middle + i) for i in (-1, 0, 1))
    bend = jnp.maximum(before - 2.0 * here + after, 0.0)
    move = jnp.where(bend > 0.0, 0.5 * (before - after) / jnp.where(bend > 0.0, bend, 1.0), 0.0)
    return middle + jnp.clip(move, -1.0, 1.0), bend


def _place_of_least(values) -> tuple[jax.Array, jax.Array]:
    """Row and column of the least entry, the first of several; written so that a step can be exported as C."""
    rows, columns = values.shape
    number = jnp.arange(rows * columns, dtype=float).reshape(values.shape)
    first = jnp.min(jnp.where(values <= jnp.min(values), number, rows * columns - 1.0))
    row = jnp.floor((first + 0.5) / columns)
    return row, first - columns * row


def _chosen(values, at) -> jax.Array:
    """The entry (or the row) `at`, a whole number, of an array."""
    there = jnp.arange(len(values), dtype=float) == at
    return jnp.sum(jnp.where(there.reshape(-1, *[1] * (values.ndim - 1)), values, 0.0), axis=0)
