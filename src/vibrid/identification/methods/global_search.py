"""GlobalSearch: differential evolution for problems with many minima or laws without useful gradients."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core.interrupts import finishing
from vibrid.core.progress import SILENT
from vibrid.identification.conclude import conclude, covariance_of, predictions_at, residual_deviations
from vibrid.identification.levenberg import descend
from vibrid.identification.method import METHODS, NEEDS, Method
from vibrid.identification.problem import Problem

if TYPE_CHECKING:
    from vibrid.core.progress import Progress
    from vibrid.identification.result import Identification


@METHODS.register("global")
class GlobalSearch(Method):
    """SciPy's differential evolution, a whole generation simulated at once, then (by default) Levenberg–Marquardt.

    Arguments
        population: members per unknown.
        generations: largest number of generations.
        reach: range of the search about the first guess where there are no bounds: a factor e^reach either way.
        polish: finish with Levenberg–Marquardt.
    """

    population: int = eqx.field(static=True, default=10)
    generations: int = eqx.field(static=True, default=60)
    reach: float = eqx.field(static=True, default=1.5)
    polish: bool = eqx.field(static=True, default=True)
    abilities: ClassVar[frozenset[str]] = frozenset(NEEDS) - {"unknown noise", "unknown loads"}

    def solve(self, problem: Problem, key: int = 0, progress: Progress = SILENT) -> Identification:
        started = time.perf_counter()
        given = problem.given_deviations()
        noise = np.where(np.isfinite(given), given, problem.signal_size())
        kinds = np.array(problem.unknowns.kinds)
        reach = np.where(kinds == "interval", 6.0, self.reach)
        centre = np.where(kinds == "interval", 0.0, problem.start)
        progress.stage("searching (compiling)", self.generations)
        seen: list[tuple[np.ndarray, float]] = []

        def misfit(columns):
            """(p, members) → (members,); a run that diverged has a very large misfit."""
            values = np.asarray(_costs(problem, jnp.asarray(np.atleast_2d(columns.T)), jnp.asarray(noise)))
            values = np.where(np.isfinite(values), values, 1e300)
            best = int(np.argmin(values))
            if not seen or values[best] < seen[-1][1]:
                seen.append((np.atleast_2d(columns.T)[best].copy(), float(values[best])))
            return values

        def report(intermediate_result):
            progress.update(intermediate_result.nit, f"misfit {2 * intermediate_result.fun:.4g}")

        cut_short = False
        try:
            scipy.optimize.differential_evolution(
                misfit,
                np.stack([centre - reach, centre + reach], axis=1),
                popsize=self.population,
                maxiter=self.generations,
                rng=np.random.default_rng(key),
                vectorized=True,
                updating="deferred",
                polish=False,
                x0=np.clip(problem.start, centre - reach, centre + reach),
                callback=report,
            )
        except KeyboardInterrupt:
            cut_short = True
        return self._concluded(problem, seen, noise, cut_short, key, started, progress)

    @finishing()
    def _concluded(self, problem: Problem, seen, noise, cut_short: bool, key: int, started: float, progress):
        """The result from the best of what was seen, moved to the minimum beside it."""
        given = problem.given_deviations()
        estimates = [np.asarray(problem.unknowns.to_physical(jnp.asarray(f))) for f, _ in seen]
        problem = problem.boxed()
        free = problem.unknowns.to_free(estimates[-1] if seen else problem.unknowns.start)
        if self.polish and not cut_short:
            progress.stage("polishing", 60)
            free = descend(problem, free[None], noise, progress=progress).free[0]
        noise = np.where(np.isfinite(given), given, residual_deviations(problem, predictions_at(problem, free)))
        last = descend(problem, free[None], noise, iterations=60 if self.polish and not cut_short else 0)
        free = last.free[0]
        return conclude(
            problem,
            self,
            free,
            started=started,
            covariance=covariance_of(last.normal[0], last.side[0] != 0),
            noise=noise,
            history={
                "cost": np.array([*(c for _, c in seen), np.nan]),
                "estimate": np.array([*estimates, np.asarray(problem.unknowns.to_physical(jnp.asarray(free)))]),
            },
            convergence={"improvements": len(seen)} | last.certificate(problem.unknowns.names),
            seed=key,
            cut_short=cut_short,
        )


@eqx.filter_jit
def _costs(problem, free, noise):
    return jax.vmap(lambda q: 0.5 * jnp.sum(problem.residuals(q, noise) ** 2))(free)
