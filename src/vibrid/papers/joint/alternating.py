"""The alternating updates of Bitro, Batou & Ouyang (2024), as published where the print is right.

Parameters and loads are both corrected from the same residual in every iteration (Eqs 18 and 19), each by a damped
Gauss–Newton step whose damping follows Eq. 26; the derivative with respect to the parameters is a forward difference
(Eq. 22), that with respect to the loads the matrix H of Markov parameters (Eqs 11–13). Signs, Eq. 26's missing
transpose and Eq. 27's use of the true load are corrected. Eq. 26 adds quantities of different units, so channels are
normalised by their rms and by the number of readings, parameters and loads by their initial values. The structure is
at rest at the first sample, as in the paper. The memory grows with the square of the record.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.fft import irfft, rfft
from scipy.linalg import cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from vibrid.core.device import accelerated
from vibrid.core.errors import Refusal
from vibrid.core.progress import SILENT
from vibrid.identification.loads import recursion
from vibrid.identification.problem import Problem
from vibrid.networks.checkpoint import Checkpoint
from vibrid.papers.joint import on_accelerator

DIFFERENCE = 1e-6
"""Relative step of the forward difference, Eq. 22."""
KEPT = 10
"""Loads are stored at every so many iterations."""
SAVED_EVERY = 60.0
"""Seconds between two savings of a checkpoint."""


@dataclass(frozen=True, eq=False)
class Alternation:
    """Result and history of the updates."""

    theta: np.ndarray  # (p,)
    loads: np.ndarray  # (samples, loads)
    converged: bool  # whether ε was met
    thetas: np.ndarray  # (iterations, p): before each update
    costs: np.ndarray  # (iterations,): ½ ‖r‖² there
    kept: np.ndarray  # (every KEPT-th iteration, samples, loads)
    cut_short: bool = False


def alternate(
    problem: Problem,
    loads,
    *,
    share: float = 0.5,
    tolerance: float = 1e-6,
    iterations: int = 500,
    checkpoint: str | None = None,
    progress=SILENT,
) -> Alternation:
    """Run the paper's updates from the problem's initial values until Eq. 27 holds.

    Arguments
        loads: (samples, loads), initial values in N; their rms is the unit of the loads.
        share: λ of Eq. 26, between 0 and 1.
        tolerance: ε of Eq. 27; 0 runs all the iterations.
        checkpoint: file in which the updates are saved about once a minute, and from which they resume.
    """
    data = problem.data[0]
    if len(problem.data) > 1 or not recursion.is_exact(problem) or not np.asarray(data.present).all():
        raise Refusal("The paper's updates take one complete record of a linear structure.")
    if np.any(np.asarray(data.drive.samples)):
        raise Refusal("The paper's updates have unknown loads only; leave the measured excitation out.")
    y = np.asarray(data.readings)
    shape = np.sqrt(np.mean(y**2, axis=0) * y.size)
    theta, loads = np.asarray(problem.unknowns.start, float), np.array(loads, float)
    scale, sign, unit = np.abs(theta), np.sign(theta), np.sqrt(np.mean(loads**2))
    settings = (y, shape, scale, sign, unit, share, DIFFERENCE)
    update = _on_accelerator(problem, settings) if accelerated() else partial(_updated, Markov(problem), *settings)
    thetas, costs, kept, converged, cut_short = [], [], [], False, False
    file, saved_at = None if checkpoint is None else Checkpoint(checkpoint), time.monotonic()
    if file is not None and (stored := file.load()) is not None:
        theta, loads = stored[0]["theta"], stored[0]["loads"]
        thetas, costs, kept = (list(stored[0][name]) for name in ("thetas", "costs", "kept"))
    try:
        with threadpool_limits(1):  # matrices are too small for more
            for count in range(len(costs), iterations):
                new_theta, new_loads, cost, change = update(theta, loads)
                thetas.append(theta)
                costs.append(float(cost))
                if count % KEPT == 0:
                    kept.append(loads)
                theta, loads = np.asarray(new_theta), np.asarray(new_loads)
                progress.update(count + 1, f"misfit {2 * costs[-1]:.4g}, change {change:.2g}")
                if change <= tolerance:
                    converged = True
                    break
                if file is not None and time.monotonic() - saved_at > SAVED_EVERY:
                    saved_at = time.monotonic()
                    file.keep({"theta": theta, "loads": loads, "thetas": thetas, "costs": costs, "kept": kept})
    except KeyboardInterrupt:
        cut_short = True
    if file is not None and not cut_short:
        file.remove()
    return Alternation(theta, loads, converged, np.array(thetas), np.array(costs), np.array(kept), cut_short)


def _updated(model: Markov, y, shape, scale, sign, unit, share, difference, theta, loads):
    """The estimate, the loads, ½ ‖r‖² and the change (Eq. 27) after one iteration."""
    h, *moved = model(np.stack([theta, *(theta + difference * np.diag(scale))]))
    r = (y - respond(*h, loads)) / shape
    slopes = [((y - respond(*other, loads)) / shape - r) / -difference for other in moved]
    by_theta = np.stack([slope.reshape(-1) for slope in slopes], axis=1)
    weight = unit / shape[None, :, None]
    gram, downhill = normal_equations(h[0] * weight, h[1] * weight, r)
    size = float(np.linalg.norm(r))
    new_theta = theta + scale * _damped(by_theta.T @ by_theta, by_theta.T @ r.reshape(-1), size, share)
    new_theta = np.where(new_theta * sign > 0, new_theta, 0.5 * theta)  # a stiffness stays positive
    new_loads = loads + unit * _damped(gram, downhill, size, share).reshape(loads.shape)
    change = np.linalg.norm(new_theta - theta) / np.linalg.norm(new_theta)
    change += np.linalg.norm(new_loads - loads) / np.linalg.norm(new_loads)
    return new_theta, new_loads, 0.5 * size**2, change


def _on_accelerator(problem: Problem, settings: tuple):
    """The same as `_updated`, of the estimate and the loads, as one program."""
    fixed, arrays = fixed_of(problem), tuple(jnp.asarray(part, float) for part in settings)
    program = eqx.filter_jit(lambda fixed, *rest: on_accelerator.update(lambda t: _systems(t, *fixed), *rest))
    return lambda theta, loads: program(fixed, arrays, jnp.asarray(theta), jnp.asarray(loads))


class Markov:
    """The Markov parameters of a problem as a function of its parameters."""

    def __init__(self, problem: Problem):
        self.samples, self._fixed = problem.data[0].samples, fixed_of(problem)

    def __call__(self, thetas) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each θ (samples, ny, loads) twice: after a unit load at a later sample, and at the first (Eq. 12)."""
        system = _systems(jnp.asarray(thetas), *self._fixed)
        columns = (np.asarray(a[:, 0]) for a in (system.transition, system.drive, system.output))
        return [self._parameters(*matrices, system=system) for matrices in zip(*columns, strict=True)]

    def _parameters(self, transition, drive, output, system):
        size, r = system.size, system.loads
        moved = np.zeros((len(transition), 2 * r))
        moved[:, :r], moved[size : size + r, r:] = drive, np.eye(r)
        while moved.shape[1] < 2 * r * self.samples:  # G, A G, A² G, …
            moved, transition = np.concatenate([moved, transition @ moved], axis=1), transition @ transition
        h = (output @ moved[:, : 2 * r * self.samples]).reshape(len(output), self.samples, 2 * r).swapaxes(0, 1)
        return h[:, :, :r], h[:, :, r:]


def fixed_of(problem: Problem) -> tuple:
    """What the recursions of a problem depend on beside θ."""
    data = problem.data[0]
    return problem.experiment, problem.unknowns, data.shares, data.loads, data.step, problem.hold


@eqx.filter_jit
def _systems(thetas, experiment, unknowns, shares, loads, step, hold):
    """The recursion of motion and loads at each θ; leading axis as `thetas`."""

    def at(theta):
        placed = unknowns.place(experiment, theta)
        return recursion.augment(
            recursion.exact_motion(placed.structure, placed.sensors, loads, step, hold), shares, "size"
        )

    return jax.vmap(at)(thetas)


def spectrum(signal: np.ndarray, samples: int) -> np.ndarray:
    """Of a signal with as many zeros after it: products of spectra are then convolutions without wrap-around."""
    return np.asarray(rfft(signal, 2 * samples, axis=0))


def history(product: np.ndarray, samples: int) -> np.ndarray:
    """The first samples of what has a spectrum."""
    return np.asarray(irfft(product, 2 * samples, axis=0))[:samples]


def respond(later, first, loads) -> np.ndarray:
    """(samples, ny): H f of Eq. 14. The columns of H are shifts of `later`, but for the first sample's."""
    n = len(loads)
    after = loads.copy()
    after[0] = 0.0
    product = np.einsum("wcr,wr->wc", spectrum(later, n), spectrum(after, n))
    return history(product, n) + first @ loads[0]


def normal_equations(later, first, residual) -> tuple[np.ndarray, np.ndarray]:
    """HᵀH (samples · loads square) and Hᵀr of the matrix H of Eq. 13, without forming it: its columns are shifts.

    `(HᵀH)_{ij} = (HᵀH)_{i+1,j+1} + h_{n−1−i} · h_{n−1−j}` for all but the first sample.
    """
    n, ny, r = later.shape
    back = later[::-1].transpose(0, 2, 1).reshape(n * r, ny)
    gram = back @ back.T
    for i in range(n - 2, -1, -1):
        gram[i * r : (i + 1) * r, :-r] += gram[(i + 1) * r : (i + 2) * r, r:]
    conjugate = np.conj(spectrum(later, n))

    def correlated(signal):
        """(samples, k, loads): Σ_t signal[t + j] later[t], over all channels; signal (samples, ny, k)."""
        return history(np.einsum("wck,wcs->wks", spectrum(signal, n), conjugate), n)

    ahead = correlated(first)
    ahead[0] = np.einsum("kcr,kcs->rs", first, first)
    downhill = correlated(residual[:, :, None])[:, 0]
    downhill[0] = np.einsum("kcr,kc->r", first, residual)
    gram[:r] = ahead.transpose(1, 0, 2).reshape(r, n * r)
    gram[:, :r] = gram[:r].T
    return gram, downhill.reshape(-1)


def _damped(normal, downhill, size: float, share: float) -> np.ndarray:
    """(JᵀJ + β diag JᵀJ)⁻¹ Jᵀ r with β of Eq. 26; `size` is ‖r‖."""
    damping = share * size + (1.0 - share) * np.linalg.norm(downhill)
    diagonal = np.diagonal(normal)
    damped = normal.copy()
    np.fill_diagonal(damped, diagonal + damping * np.maximum(diagonal, 1e-12 * diagonal.max()))
    return cho_solve(cho_factor(damped, lower=True, overwrite_a=True, check_finite=False), downhill, check_finite=False)
