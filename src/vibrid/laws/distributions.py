"""Distributions of the yield deformation of distributed elements: a Masing law needs only S and I of them.

`S(x) = P(yield deformation > x)` is the share of the elements that have not yielded at x, and `I(x) = ∫₀ˣ S`. A
distribution of your own needs these two functions; `density` follows from them.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.scipy.special import erf, gammainc, gammaln

from vibrid.core.parameters import Parameter, Parameterised, parameter
from vibrid.core.registry import Registry

DISTRIBUTIONS = Registry("distribution")


class YieldDistribution(Parameterised):
    """How the yield deformations (m) of distributed elements are spread. Written for x ≥ 0."""

    def survival(self, x: jax.Array) -> jax.Array:
        """S(x): the share of the elements whose yield deformation is larger than x."""
        raise NotImplementedError

    def integral(self, x: jax.Array) -> jax.Array:
        """I(x) = ∫₀ˣ S, in metres; for large x it is the mean yield deformation."""
        raise NotImplementedError

    def density(self, x: jax.Array) -> jax.Array:
        """φ(x) = −dS/dx, in 1/m, for one x."""
        return -jax.grad(self.survival)(x)


@DISTRIBUTIONS.register("uniform")
class UniformYield(YieldDistribution):
    """Yield deformations spread evenly from `low` to `high`."""

    low: Parameter = parameter("smallest yield deformation", "m", positive=True, zero=True)
    high: Parameter = parameter("largest yield deformation", "m", positive=True)

    def survival(self, x: jax.Array) -> jax.Array:
        return jnp.clip((self.high - x) / (self.high - self.low), 0.0, 1.0)

    def integral(self, x: jax.Array) -> jax.Array:
        inside = jnp.clip(x, self.low, self.high)
        mean = 0.5 * (self.low + self.high)
        return jnp.minimum(x, self.low) - self.low + mean - (self.high - inside) ** 2 / (2.0 * (self.high - self.low))


@DISTRIBUTIONS.register("rayleigh")
class RayleighYield(YieldDistribution):
    """`φ(x) = (π x / 2α²) exp(−π x² / 4α²)`; α is the mean yield deformation."""

    mean: Parameter = parameter("mean yield deformation α", "m", positive=True)

    def survival(self, x: jax.Array) -> jax.Array:
        return jnp.exp(-0.25 * jnp.pi * jnp.square(x / self.mean))

    def integral(self, x: jax.Array) -> jax.Array:
        return self.mean * erf(0.5 * jnp.sqrt(jnp.pi) * x / self.mean)


@DISTRIBUTIONS.register("weibull")
class WeibullYield(YieldDistribution):
    """`S(x) = exp(−((x − x₀)/b)ᵃ)` for x ≥ x₀; Rayleigh is a = 2, b = 2α/√π, x₀ = 0."""

    shape: Parameter = parameter("shape a", "", positive=True)
    scale: Parameter = parameter("scale b", "m", positive=True)
    threshold: Parameter = parameter("smallest yield deformation x₀", "m", positive=True, default=0.0)

    def _power(self, x):
        """((x − x₀)/b)ᵃ with a finite gradient at x₀."""
        y = (x - self.threshold) / self.scale
        return jnp.where(y > 1e-12, jnp.exp(self.shape * jnp.log(jnp.where(y > 1e-12, y, 1.0))), 0.0)

    def survival(self, x: jax.Array) -> jax.Array:
        return jnp.exp(-self._power(x))

    def integral(self, x: jax.Array) -> jax.Array:
        power = self._power(x)
        beyond = power > 0.0
        tail = jnp.exp(gammaln(1.0 + 1.0 / self.shape)) * gammainc(1.0 / self.shape, jnp.where(beyond, power, 1.0))
        return jnp.where(beyond, self.threshold + self.scale * tail, x)
