"""One iteration of the paper's updates as one program of an accelerator, for matrices of thousands of rows.

The same equations as in `alternating`, which states them; tests compare the two.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve


def update(systems, data, theta, loads):
    """The estimate, the loads, ½ ‖r‖² and the change (Eq. 27) after one iteration.

    Arguments
        systems: the recursions of motion and loads at several θ (see `alternating._systems`).
        data: readings and their sizes, size and sign of the parameters, unit of the loads, λ, relative difference.
    """
    y, shape, scale, sign, unit, share, difference = data
    n = len(y)
    r = loads.shape[1]
    recursions = systems(jnp.concatenate([theta[None], theta + difference * jnp.diag(scale)]))
    matrices = [getattr(recursions, name)[:, 0] for name in ("transition", "drive", "output")]
    size = recursions.size
    later, first = jax.vmap(lambda a, g, c: _markov(a, g, c, size, r, n))(*matrices)
    residual = jax.vmap(lambda h, h0: (y - _respond(h, h0, loads)) / shape)(later, first)
    slopes = (residual[1:] - residual[:1]) / -difference
    by_theta, misfit = slopes.reshape(len(slopes), -1), residual[0]
    weight = unit / shape[None, :, None]
    lower, downhill = _normal_equations(later[0] * weight, first[0] * weight, misfit)
    length = jnp.linalg.norm(misfit)
    step = _damped(by_theta @ by_theta.T, by_theta @ misfit.reshape(-1), length, share)
    new_theta = theta + scale * step
    new_theta = jnp.where(new_theta * sign > 0, new_theta, 0.5 * theta)  # a stiffness stays positive
    new_loads = loads + unit * _damped(lower, downhill, length, share).reshape(loads.shape)
    change = jnp.linalg.norm(new_theta - theta) / jnp.linalg.norm(new_theta)
    change += jnp.linalg.norm(new_loads - loads) / jnp.linalg.norm(new_loads)
    return new_theta, new_loads, 0.5 * length**2, change


def _markov(transition, drive, output, size: int, r: int, n: int):
    """(n, ny, r) twice: after a unit load at a later sample, and at the first."""
    moved = jnp.zeros((len(transition), 2 * r)).at[:, :r].set(drive).at[size : size + r, r:].set(jnp.eye(r))
    while moved.shape[1] < 2 * r * n:  # G, A G, A² G, …
        moved, transition = jnp.concatenate([moved, transition @ moved], axis=1), transition @ transition
    h = (output @ moved[:, : 2 * r * n]).reshape(len(output), n, 2 * r).swapaxes(0, 1)
    return h[:, :, :r], h[:, :, r:]


def _spectrum(signal):
    return jnp.fft.rfft(signal, 2 * len(signal), axis=0)


def _history(product, n: int):
    return jnp.fft.irfft(product, 2 * n, axis=0)[:n]


def _respond(later, first, loads):
    """(n, ny): H f."""
    after = loads.at[0].set(0.0)
    product = jnp.einsum("wcr,wr->wc", _spectrum(later), _spectrum(after))
    return _history(product, len(loads)) + first @ loads[0]


def _normal_equations(later, first, residual):
    """The lower triangle of HᵀH, and Hᵀr. Sums along diagonals are sums along columns of the matrix by lag."""
    n, _, r = later.shape
    back = later[::-1]
    products = jnp.einsum("icr,jcs->ijrs", back, back)
    sample, lag = jnp.arange(n)[:, None], jnp.arange(n)[None]
    by_lag = jnp.where((sample + lag < n)[..., None, None], products[sample, (sample + lag) % n], 0.0)
    summed = jax.lax.cumsum(by_lag, axis=0, reverse=True)
    later_one, earlier_one = jnp.arange(n)[:, None], jnp.arange(n)[None]
    blocks = summed[earlier_one, (later_one - earlier_one) % n]  # (i, j ≤ i): of samples j and i
    lower = blocks.transpose(0, 3, 1, 2).reshape(n * r, n * r)
    conjugate = jnp.conj(_spectrum(later))

    def correlated(signal):
        """(n, k, r): Σ_t signal[t + j] later[t], over all channels; signal (n, ny, k)."""
        return _history(jnp.einsum("wck,wcs->wks", _spectrum(signal), conjugate), n)

    ahead = correlated(first).at[0].set(jnp.einsum("kcr,kcs->rs", first, first))
    downhill = correlated(residual[:, :, None])[:, 0].at[0].set(jnp.einsum("kcr,kc->r", first, residual))
    lower = lower.at[:, :r].set(ahead.transpose(0, 2, 1).reshape(n * r, r))
    return lower, downhill.reshape(-1)


def _damped(normal, downhill, size, share):
    """(JᵀJ + β diag JᵀJ)⁻¹ Jᵀ r with β of Eq. 26; of `normal` the lower triangle is used."""
    damping = share * size + (1.0 - share) * jnp.linalg.norm(downhill)
    diagonal = jnp.diagonal(normal)
    damped = normal + jnp.diag(damping * jnp.maximum(diagonal, 1e-12 * diagonal.max()))
    factor = jax.lax.linalg.cholesky(damped, symmetrize_input=False)
    return cho_solve((factor, True), downhill)
