"""The best fit of a law to tests of a device: a global search, then least squares.

    min_q Σ_tests w_t Σ_i [F(t_i; θ̄ e^q) − F_i]² / (N_t range_t²),        |q| ≤ reach

Parameters are searched by their logarithms, by differential evolution (SciPy) with a whole generation simulated at
once; the best members are then polished by Levenberg–Marquardt. The paper of Malik et al. (2025) uses a particle swarm
for the same purpose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core import paths
from vibrid.core.errors import InputError
from vibrid.core.progress import SILENT, Progress
from vibrid.hybrid.learned.answers import ScaledLaw
from vibrid.hybrid.learned.histories import DeviceTest, Histories, stack
from vibrid.laws.base import Law, Motion


@dataclass(frozen=True)
class Characterised:
    """A fitted law.

    `error` is the rms over tests of the normalised rms error (1 = the range of the force); `trail` that error of the
    polished members, best first: if several are equal, the search has found the minimum.
    """

    law: ScaledLaw
    values: dict[str, float]
    error: float
    trail: tuple[float, ...]


class Fit(eqx.Module):
    """Tests, and the parameters q that are searched."""

    law: ScaledLaw
    free: tuple[str, ...] = eqx.field(static=True)
    dt: float = eqx.field(static=True)
    preloaded: bool = eqx.field(static=True, default=False)

    def law_at(self, q) -> ScaledLaw:
        values = {p: jnp.asarray(paths.get(self.law.law, p), float) * jnp.exp(q[i]) for i, p in enumerate(self.free)}
        return eqx.tree_at(lambda s: s.law, self.law, paths.replace(self.law.law, values))

    def forces(self, q, histories: Histories):
        """(tests, samples) N; each test begins at rest at its first displacement, or under its first force."""
        scaled = self.law_at(q)

        def one(sample, capacity, first_force):
            law, share = scaled.scaled(jnp.asarray(capacity, float), {})
            x, v = jnp.asarray(sample.x, float), jnp.asarray(sample.v, float)

            def step(carry, now):
                state, before = carry
                state = law.advance(state, before, now, self.dt)
                return (state, now), law.force(now.e, now.w, state) * share

            state = preload(law, jnp.asarray(first_force, float) / share) if self.preloaded else law.start()
            return jax.lax.scan(step, (state, Motion(x[0], v[0])), Motion(x, v))[1]

        return jax.vmap(one)(histories.sample, *histories.setting)

    def residuals(self, q, histories: Histories):
        """(tests, samples), whose squares sum to one mean square per test."""
        count = histories.counts.sum(axis=1, keepdims=True)
        weights = histories.counts / (histories.size[:, None] * jnp.sqrt(count))
        return (self.forces(q, histories) - histories.force) * weights


def preload(law: Law, force, reach: float = 0.02):
    """The state of a law that was brought from rest to a force (N), by bisection of the deformation up to `reach` (m).
    It is a constant: no derivative passes."""
    zero, quick = jnp.zeros(()), 1e-6
    state = lambda e: law.advance(law.start(), Motion(zero, zero), Motion(e, e / quick), quick)  # noqa: E731

    def halve(ends, _):
        middle = 0.5 * (ends[0] + ends[1])
        below = law.force(middle, zero, state(middle)) < force
        return (jnp.where(below, middle, ends[0]), jnp.where(below, ends[1], middle)), None

    ends, _ = jax.lax.scan(halve, (jnp.asarray(-reach), jnp.asarray(reach)), None, length=30)
    return jax.lax.stop_gradient(state(0.5 * (ends[0] + ends[1])))


@eqx.filter_jit
def forces_of_law(law: ScaledLaw, histories: Histories, rate: float, preloaded: bool = False):
    """(tests, samples) N, the forces of a law over tests; `preloaded` as in `characterise`."""
    return Fit(law, (), 1.0 / rate, preloaded).forces(jnp.zeros(0), histories)


@eqx.filter_jit
def _costs(fit: Fit, columns, histories, weights):
    """(members,) of q (members, n)."""
    return jax.vmap(lambda q: weights @ jnp.sum(fit.residuals(q, histories) ** 2, axis=1))(columns)


@eqx.filter_jit
def _normal(fit: Fit, q, histories, weights):
    """Gauss–Newton's gradient and matrix at q."""
    residuals, slope = fit.residuals(q, histories), jax.jacfwd(lambda q: fit.residuals(q, histories))(q)
    weighted = weights[:, None] * residuals
    return jnp.einsum("ts,tsp->p", weighted, slope), jnp.einsum("t,tsp,tsq->pq", weights, slope, slope)


class Search(TypedDict, total=False):
    """Sizes of the search of `characterise`."""

    population: int
    generations: int
    polished: int


def characterise(
    law: ScaledLaw, free: tuple[str, ...], tests: list[DeviceTest] | Histories, rate: float, *, weights=None,
    reach: float = 2.5, population: int = 8, generations: int = 40, polished: int = 3, preloaded: bool = False,
    key: int = 0, progress: Progress = SILENT,
) -> Characterised:  # fmt: skip
    """The best fit of a law, from a global search.

    Arguments
        law: its initial values, and how its strengths follow the capacity of a test.
        free: paths of the parameters that are fitted; all must be positive.
        tests: the tests to fit.
        rate: Hz, samples per second.
        weights: of every test; zero leaves one out.
        reach: range of the search about the initial values: a factor between e^−reach and e^reach.
        population: members of a generation for each parameter.
        polished: members of the last generation that are polished.
        preloaded: whether tests begin under their first force (mean of 20 samples at rest), or at rest without one.
    """
    for path in free:
        if float(np.asarray(paths.get(law.law, path))) <= 0:
            raise InputError(f"The initial value of '{path}' is not positive; its logarithm cannot be searched.")
    histories = tests if isinstance(tests, Histories) else stack(tests)
    histories = jax.tree.map(jnp.asarray, histories)
    weights = np.ones(histories.tests) if weights is None else np.asarray(weights, float)
    weights = jnp.asarray(weights / weights.sum())
    fit = Fit(law, tuple(free), 1.0 / rate, preloaded)
    progress.stage("searching (compiling)", generations)

    def costs(columns) -> np.ndarray:
        values = np.asarray(_costs(fit, jnp.asarray(np.atleast_2d(columns)), histories, weights))
        return np.where(np.isfinite(values), values, 1e300)

    def report(intermediate_result):
        progress.update(intermediate_result.nit, f"error {100 * intermediate_result.fun**0.5:.2f} %")

    searched = scipy.optimize.differential_evolution(
        lambda columns: costs(columns.T), [(-reach, reach)] * len(free), popsize=population, maxiter=generations,
        rng=np.random.default_rng(key), vectorized=True, updating="deferred", polish=False, tol=1e-4,
        x0=np.zeros(len(free)), callback=report,
    )  # fmt: skip
    order = np.argsort(searched.population_energies)
    progress.stage("polishing", polished)
    ends = []
    for i, member in enumerate(order[:polished]):
        ends.append(_polish(fit, searched.population[member], histories, weights, costs, reach))
        progress.update(i + 1, f"error {100 * ends[-1][1] ** 0.5:.2f} %")
    ends.sort(key=lambda end: end[1])
    best = fit.law_at(jnp.asarray(ends[0][0]))
    values = {p: float(np.asarray(paths.get(best.law, p))) for p in free}
    return Characterised(best, values, ends[0][1] ** 0.5, tuple(cost**0.5 for _, cost in ends))


def _polish(fit: Fit, q, histories, weights, costs, reach, steps: int = 25):
    """Levenberg–Marquardt inside the box; four dampings are tried at once."""
    cost, damping = float(costs(q)[0]), 1e-3
    for _ in range(steps):
        slope, matrix = (np.asarray(part) for part in _normal(fit, jnp.asarray(q), histories, weights))
        tried = damping * 10.0 ** np.arange(-1, 3)
        scale = np.diag(np.diag(matrix)) + 1e-12 * np.trace(matrix) * np.eye(len(q))
        moved = np.stack([np.clip(q - np.linalg.solve(matrix + d * scale, slope), -reach, reach) for d in tried])
        tried_costs = costs(moved)
        best = int(np.argmin(tried_costs))
        if tried_costs[best] >= cost:
            damping *= 1e3
            if damping > 1e9:
                break
            continue
        gained = cost - tried_costs[best]
        q, cost, damping = moved[best], float(tried_costs[best]), tried[best]
        if gained < 1e-7 * cost:
            break
    return q, cost
