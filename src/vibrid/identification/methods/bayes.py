"""Bayes: samples of the posterior by the No-U-Turn sampler."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import require
from vibrid.core.progress import SILENT
from vibrid.identification.checks.uniqueness import checked_answers
from vibrid.identification.conclude import conclude
from vibrid.identification.levenberg import gauss_newton
from vibrid.identification.method import METHODS, NEEDS, Method
from vibrid.identification.methods.trajectory import TrajectoryFit
from vibrid.identification.problem import Problem
from vibrid.identification.unknowns import UnknownSet

if TYPE_CHECKING:
    from vibrid.core.progress import Progress
    from vibrid.identification.result import Identification

_FEWEST = 10  # samples of every chain that give a posterior when the sampling is cut short


@METHODS.register("bayes")
class Bayes(Method):
    """The posterior of the unknowns given the data, by BlackJAX's NUTS, started from a trajectory fit.

    Priors are those of the unknowns: normal where stated, uniform between two bounds, otherwise wide in the free
    variables (a factor of e³ either way). The sampler moves in coordinates whitened by the fit's covariance, so that a
    few leapfrog steps cross the posterior; gradients are computed in forward mode, for all unknowns at once.

    Where other answers explain the readings as well, chains start from each of them; the samples of every answer are
    then as many as its share of the posterior (by Laplace's method), and the estimate is that of the most probable one.

    Arguments
        draws: samples kept per chain.
        warmup: samples used to adapt the step size.
        chains: chains run in parallel, at least one for every answer.
    """

    draws: int = eqx.field(static=True, default=100)
    warmup: int = eqx.field(static=True, default=50)
    chains: int = eqx.field(static=True, default=4)
    abilities: ClassVar[frozenset[str]] = frozenset(NEEDS) - {"unknown noise", "unknown loads"}

    def solve(self, problem: Problem, key: int = 0, progress: Progress = SILENT) -> Identification:
        blackjax = require("blackjax", "bayes", "Bayes")
        started = time.perf_counter()
        fit = TrajectoryFit().solve(problem, key, progress)
        kept: list[np.ndarray] = []
        try:
            if not fit.cut_short:
                fit = checked_answers(fit)
                return self._sample(problem, fit, kept, blackjax, key, progress, started)
        except KeyboardInterrupt:  # in the adaptation, or with too few samples for a posterior
            pass
        note = (
            f"Stopped after {len(kept)} samples of every chain, too few for a posterior: this is the result of the "
            "trajectory fit that the chains started from."
        )
        return fit.replace(cut_short=True, warnings=(*fit.warnings, note))

    def _sample(self, problem: Problem, fit, kept: list, blackjax, key: int, progress, started: float):
        """The posterior from the samples in `kept`, which are added one by one; Ctrl-C ends the sampling."""
        noise = jnp.asarray(fit.noise)
        answers = [fit.estimate, *(answer.estimate for answer in fit.other_answers)]
        around = [_around(problem, noise, estimate) for estimate in answers]
        count = max(self.chains, len(answers))
        of_chain = np.arange(count) % len(answers)
        centres, roots = (jnp.stack([part[i] for i in of_chain]) for part in zip(*around, strict=True))

        def density(centre, root):
            return lambda xi: _log_posterior(problem, centre, root, noise, xi)

        keys = jax.random.split(jax.random.key(key), count + 2)
        first = 0.5 * jax.random.normal(keys[0], (count, len(centres[0])))
        progress.stage("adapting the step size (compiling)", self.warmup)
        adapted = blackjax.window_adaptation(
            blackjax.nuts,
            density(centres[0], roots[0]),
            is_mass_matrix_diagonal=True,
            max_num_doublings=5,
            initial_step_size=0.8,
        )
        (state, parameters), _ = jax.jit(adapted.run, static_argnums=2)(keys[1], first[0], self.warmup)

        def sampler(centre, root):
            return blackjax.nuts(density(centre, root), **parameters)

        first = first.at[0].set(state.position)
        states = jax.vmap(lambda c, r, start: sampler(c, r).init(start))(centres, roots, first)
        kernel = jax.jit(jax.vmap(lambda k, state, c, r: sampler(c, r).step(k, state)))
        progress.stage("sampling (compiling)", self.draws)
        divergent, cut_short = 0, False
        try:
            for i in range(self.draws):
                own = jax.random.split(jax.random.fold_in(keys[-1], i), count)
                states, info = kernel(own, states, centres, roots)
                kept.append(np.asarray(states.position))
                divergent += int(np.sum(np.asarray(info.is_divergent)))
                progress.update(i + 1)
        except KeyboardInterrupt:
            if len(kept) < _FEWEST:
                raise
            cut_short = True
        by_chain = np.moveaxis(np.array(kept), 0, 1)  # (chains, draws, p)
        free = np.asarray(centres)[:, None] + np.einsum("cdq,cpq->cdp", by_chain, np.asarray(roots))
        shares = _shares([float(density(*part)(jnp.zeros(len(part[0])))) for part in around], around)
        main = int(np.argmax(shares))
        flat = _by_share(free, of_chain, shares, key)
        found = free[of_chain == main]
        return self._conclude(problem, blackjax, fit, by_chain, found, flat, divergent, started, key, cut_short)

    def _conclude(self, problem, blackjax, fit, by_chain, main, flat, divergent, started, key, cut_short):
        """Samples → mean and covariance of the main answer, R̂ and effective sample size.

        main: (chains, draws, p) of the most probable answer; flat: (samples, p) of all.
        """
        about = main.reshape(-1, main.shape[-1])
        path = jax.vmap(jax.vmap(problem.unknowns.to_physical))(jnp.asarray(main))
        samples = np.asarray(jax.vmap(problem.unknowns.to_physical)(jnp.asarray(flat)))
        r_hat = np.atleast_1d(blackjax.diagnostics.potential_scale_reduction(by_chain))  # a scalar for one unknown
        effective = np.atleast_1d(blackjax.diagnostics.effective_sample_size(by_chain))
        notes = []
        if np.max(r_hat) > 1.05 or np.min(effective) < 100:
            notes.append(
                f"The chains have not converged (R̂ up to {np.max(r_hat):.3f}, effective samples down to "
                f"{np.min(effective):.0f}): take more draws."
            )
        if divergent:
            notes.append(f"{divergent} transitions diverged: the sampler may not have explored the whole posterior.")
        return conclude(
            problem,
            self,
            about.mean(axis=0),
            started=started,
            covariance=np.cov(about.T).reshape((about.shape[1],) * 2),
            noise=fit.noise,
            samples=samples,
            warnings=tuple(notes),
            history={"estimate": np.asarray(path).mean(axis=0)},
            convergence={
                "r_hat": dict(zip(problem.unknowns.names, map(float, r_hat), strict=True)),
                "effective_samples": dict(zip(problem.unknowns.names, map(float, effective), strict=True)),
                "divergent": divergent,
            },
            seed=key,
            cut_short=cut_short,
        )


def _around(problem: Problem, noise: jax.Array, estimate: np.ndarray) -> tuple[jax.Array, jax.Array]:
    """Centre and root of the covariance of the posterior around an answer."""
    centre = jnp.asarray(_inside(problem.unknowns, estimate))
    _, _, normal = gauss_newton(problem, centre[None], noise)
    return centre, jnp.asarray(
        _inverse_root(np.asarray(normal)[0] + np.eye(len(centre)) / 9.0)
    )  # with the widest prior


def _shares(log_densities: list[float], around: list[tuple[jax.Array, jax.Array]]) -> np.ndarray:
    """Shares of the posterior around several answers by Laplace's method: density at the answer times volume."""
    volumes = [np.linalg.slogdet(np.asarray(root))[1] for _, root in around]
    log = np.array(log_densities) + volumes
    shares = np.exp(log - np.max(log))
    return shares / shares.sum()


def _by_share(free: np.ndarray, of_chain: np.ndarray, shares: np.ndarray, seed: int) -> np.ndarray:
    """(samples, p): of each answer's samples as many as its share, drawn without replacement."""
    groups = [free[of_chain == i].reshape(-1, free.shape[-1]) for i in range(len(shares))]
    total = min(len(group) / share for group, share in zip(groups, shares, strict=True) if share > 0)
    rng = np.random.default_rng(seed)
    counts = [round(share * total) for share in shares]
    return np.concatenate(
        [
            group if count == len(group) else group[np.sort(rng.choice(len(group), count, replace=False))]
            for group, count in zip(groups, counts, strict=True)
        ]
    )


def _inside(u: UnknownSet, values: np.ndarray) -> np.ndarray:
    """φ of the values, with those at a bound moved slightly inside: the space of the sampler has no edges."""
    kinds = np.array(u.kinds)
    low, high, scale = (np.asarray(part) for part in (u.low, u.high, u.scale))
    margin = 0.02 * np.where(kinds == "interval", high - low, scale)
    least = np.where(np.isin(kinds, ["interval", "above"]), low + margin, -np.inf)
    most = np.where(np.isin(kinds, ["interval", "below"]), high - margin, np.inf)
    return u.to_free(np.clip(values, least, most))


def _inverse_root(matrix: np.ndarray) -> np.ndarray:
    """W with W Wᵀ = matrix⁻¹, by eigenvalues of a matrix of unit diagonal.

    Directions without information make the matrix singular to rounding, and a Cholesky factorisation fail.
    """
    size = np.sqrt(np.diag(matrix))
    values, vectors = np.linalg.eigh(matrix / np.outer(size, size))
    return vectors / np.sqrt(np.maximum(values, 1e-14)) / size[:, None]


def _log_posterior(problem, centre, root, noise, xi):
    """Log density in whitened coordinates; its gradient is Jᵀ r, computed in forward mode for all unknowns."""

    @jax.custom_vjp
    def likelihood(free):
        return -0.5 * jnp.sum(problem.residuals(free, noise) ** 2)

    def forward(free):
        jacobian, r = jax.jacfwd(lambda q: (problem.residuals(q, noise),) * 2, has_aux=True)(free)
        return -0.5 * jnp.vdot(r, r), -(jacobian.T @ r)

    likelihood.defvjp(forward, lambda gradient, bar: (bar * gradient,))
    free = centre + root @ xi
    u = problem.unknowns
    stated = jnp.isfinite(u.prior_mean) | u._is("interval")
    jacobian = jnp.where(stated, jnp.log(jnp.abs(u.slope(free)) + 1e-300), -0.5 * jnp.square(free / 3.0))
    return likelihood(free) + jnp.sum(jacobian)
