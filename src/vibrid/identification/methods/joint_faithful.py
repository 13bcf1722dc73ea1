"""The alternating updates of Bitro, Batou & Ouyang (2024), to the letter where the letter is right.

Parameters and loads are both corrected from the same residual in every iteration (Eqs 18 and 19), each by a damped
Gauss–Newton step whose damping follows Eq. 26; the derivative with respect to the parameters is a forward difference
(Eq. 22), that with respect to the loads the matrix H of Markov parameters (Eqs 11–13). Signs, Eq. 26's missing
transpose and Eq. 27's use of the true load are corrected. Eq. 26 adds quantities of different units, so channels are
normalised by their rms and by the number of readings, parameters and loads by their first guesses. The memory grows
with the square of the record.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from scipy.linalg import cho_factor, cho_solve

from vibrid.core.errors import Refusal
from vibrid.core.progress import SILENT
from vibrid.identification.conclude import predictions_at
from vibrid.identification.loads.recursion import is_exact
from vibrid.identification.loads.solution import put_loads, system_at
from vibrid.identification.problem import Problem


@dataclass
class Alternation:
    """Where the updates ended, and how they went."""

    theta: np.ndarray
    loads: np.ndarray  # (samples, loads)
    history: list[tuple[np.ndarray, float]]  # (θ, cost)
    load_history: list[np.ndarray]
    converged: bool
    cut_short: bool = False


def markov_parameters(problem: Problem, free, record: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(samples, ny, loads) twice: readings after a unit load at a later sample, and at the first one (Eq. 12)."""
    system = system_at(problem, free, record, "size")
    n, size, r = problem.data[record].samples, system.size, system.loads
    a, g, c = (np.asarray(m[0]) for m in (system.transition, system.drive, system.output))
    start = np.zeros((len(a), r))
    start[size : size + r] = np.eye(r)
    both = np.concatenate([g, start], axis=1)
    out = np.zeros((n, c.shape[0], 2 * r))
    for k in range(n):
        out[k] = c @ both
        both = a @ both
    return out[:, :, :r], out[:, :, r:]


def normal_equations(later: np.ndarray, first: np.ndarray, residual: np.ndarray):
    """HᵀH (samples · loads square) and Hᵀr of the matrix H of Eq. 13, without forming it: its columns are shifts.

    `(HᵀH)_{ij} = (HᵀH)_{i+1,j+1} + h_{n−1−i} · h_{n−1−j}` for all but the first sample.
    """
    n, ny, r = later.shape
    back = later[::-1].reshape(n, ny, r)
    products = np.einsum("icr,jcs->irjs", back, back, optimize=True)
    gram = products.copy()
    for i in range(n - 2, -1, -1):
        gram[i, :, :-1] += gram[i + 1, :, 1:]
    corner = np.einsum("kcr,kcs->rs", first, first)
    ahead = np.zeros((n, r, r))
    downhill = np.zeros((n, r))
    for c in range(ny):
        for s in range(r):
            downhill[:, s] += scipy.signal.correlate(residual[:, c], later[:, c, s])[n - 1 :]
            for q in range(r):
                ahead[:, q, s] += scipy.signal.correlate(first[:, c, q], later[:, c, s])[n - 1 :]
    gram[0], gram[:, :, 0] = ahead.transpose(1, 0, 2), ahead.transpose(0, 2, 1)
    gram[0, :, 0] = corner
    downhill[0] = np.einsum("kcr,kc->r", first, residual)
    return gram.reshape(n * r, n * r), downhill.reshape(-1)


def alternate(
    problem: Problem,
    start_load: float = 100.0,
    share: float = 0.5,
    tolerance: float = 1e-6,
    iterations: int = 500,
    difference: float = 1e-6,
    progress=SILENT,
) -> Alternation:
    """Run the paper's updates from the problem's first guess and a constant load.

    Arguments
        start_load: N, the first guess of every load at every sample.
        share: λ of Eq. 26, between 0 and 1.
        tolerance: ε of Eq. 27.
        difference: relative step of the forward difference, Eq. 22.
    """
    data = problem.data[0]
    present = np.asarray(data.present)
    if len(problem.data) > 1 or not is_exact(problem) or not present.all() or "priors" in problem.needs:
        raise Refusal(
            "The faithful updates take one complete record of a linear structure, and no priors; leave faithful out."
        )
    shape = np.sqrt(np.mean(np.asarray(data.readings) ** 2, axis=0) * present.size)
    theta = np.asarray(problem.unknowns.start, float).copy()
    scale, first = np.abs(theta), theta.copy()
    loads = np.full((data.samples, data.shares.shape[-1]), float(start_load))

    def free_of(values):
        return problem.unknowns.to_free(values)

    def readings(values, loads):
        held = put_loads(problem, 0, loads)
        return predictions_at(held, free_of(values))[0]

    def residual(seen):
        return ((np.asarray(data.readings) - seen) / shape).reshape(-1)

    made = Alternation(theta, loads, [], [], False)
    try:
        for it in range(iterations):
            seen = readings(theta, loads)
            r = residual(seen)
            made.history.append((theta.copy(), 0.5 * float(r @ r)))
            made.load_history.append(loads)
            by_theta = np.stack(
                [
                    -(residual(readings(theta + difference * np.eye(len(theta))[i] * scale, loads)) - r) / difference
                    for i in range(len(theta))
                ],
                axis=1,
            )
            weight = abs(start_load) / shape[None, :, None]
            later, first_sample = (h * weight for h in markov_parameters(problem, free_of(theta)))
            gram, downhill = normal_equations(later, first_sample, r.reshape(present.shape))
            size = np.linalg.norm(r)
            new_theta = theta + scale * _damped(by_theta.T @ by_theta, by_theta.T @ r, size, share)
            new_loads = loads + abs(start_load) * _damped(gram, downhill, size, share).reshape(loads.shape)
            new_theta = np.where(new_theta * first > 0, new_theta, 0.5 * theta)  # a stiffness stays positive
            change = np.linalg.norm(new_theta - theta) / np.linalg.norm(new_theta)
            change += np.linalg.norm(new_loads - loads) / np.linalg.norm(new_loads)
            theta, loads = new_theta, new_loads
            made.theta, made.loads = theta, loads
            progress.update(it + 1, f"misfit {r @ r:.4g}, change {change:.2g}")
            if change <= tolerance:
                made.converged = True
                break
    except KeyboardInterrupt:
        made.cut_short = True
    return made


def _damped(normal: np.ndarray, downhill: np.ndarray, size: float, share: float) -> np.ndarray:
    """(JᵀJ + β diag JᵀJ)⁻¹ Jᵀ r with β of Eq. 26; `size` is ‖r‖."""
    damping = share * size + (1.0 - share) * np.linalg.norm(downhill)
    diagonal = np.maximum(np.diag(normal), 1e-12 * np.max(np.diag(normal)))
    return cho_solve(cho_factor(normal + np.diag(damping * diagonal)), downhill)
