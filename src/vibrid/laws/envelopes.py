"""Envelopes of degrading laws: the largest force over the deformation x of one direction, in straight lines."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp


class Line(NamedTuple):
    """`offset + slope x`."""

    offset: jax.Array
    slope: jax.Array

    def at(self, x: jax.Array) -> jax.Array:
        return self.offset + self.slope * x

    def integral(self, a: jax.Array, b: jax.Array) -> jax.Array:
        """∫ from a to b; zero where b lies before a."""
        a = jnp.minimum(a, 1e30)  # no infinite number, also in the derivative
        b = jnp.maximum(jnp.minimum(b, 1e30), a)
        return (self.offset + 0.5 * self.slope * (a + b)) * (b - a)

    def passes(self, other: Line) -> jax.Array:
        """x from which this line, the steeper one, lies above another; infinite where it is not steeper."""
        apart = self.slope - other.slope
        return jnp.where(apart > 0.0, (other.offset - self.offset) / jnp.maximum(apart, 1e-30), jnp.inf)


class Capped(NamedTuple):
    """`max(0, min(hardening, max(falling, residual)))`: a rise, a fall and a floor."""

    hardening: Line
    falling: Line
    residual: jax.Array

    def force(self, x: jax.Array) -> jax.Array:
        after = jnp.maximum(self.falling.at(x), self.residual)
        return jnp.maximum(jnp.minimum(self.hardening.at(x), after), 0.0)

    def integral(self, a: jax.Array, b: jax.Array) -> jax.Array:
        """∫ from a to b ≥ a."""
        floor = Line(self.residual, jnp.zeros_like(self.residual))
        top = self.passed_by(self.hardening)
        even = jnp.maximum((self.residual - self.falling.offset) / self.falling.slope, top)
        begin = jnp.maximum(a, self.hardening.passes(Line(floor.slope, floor.slope)))
        begin = jnp.where(self.hardening.slope > 0.0, begin, a)
        rise = self.hardening.integral(begin, jnp.minimum(b, top))
        fall = self.falling.integral(jnp.maximum(a, top), jnp.minimum(b, even))
        return rise + fall + floor.integral(jnp.maximum(a, even), b)

    def passed_by(self, line: Line) -> jax.Array:
        """x at which a line that rises lies above what follows the hardening."""
        floor = Line(self.residual, jnp.zeros_like(self.residual))
        return jnp.maximum(line.passes(self.falling), line.passes(floor))

    def meets(self, line: Line) -> jax.Array:
        """x at which a line that begins below the envelope reaches it."""
        return jnp.minimum(line.passes(self.hardening), self.passed_by(line))


class Polyline(NamedTuple):
    """Straight lines through points; the first and the last force hold before and beyond them."""

    x: jax.Array  # (points,)
    f: jax.Array  # (points,)

    def _pieces(self) -> list[tuple[jax.Array, jax.Array, Line]]:
        """(begin, end, line) of every piece."""
        x, f = self.x, self.f
        far, flat = jnp.full_like(x[0], jnp.inf), jnp.zeros_like(f[0])
        pieces = [(-far, x[0], Line(f[0], flat))]
        for i in range(x.shape[0] - 1):
            slope = (f[i + 1] - f[i]) / (x[i + 1] - x[i])
            pieces.append((x[i], x[i + 1], Line(f[i] - slope * x[i], slope)))
        return [*pieces, (x[-1], far, Line(f[-1], flat))]

    def force(self, x: jax.Array) -> jax.Array:
        (_, _, first), *others = self._pieces()
        found = first.at(x)
        for begin, _, line in others:
            found = jnp.where(x > begin, line.at(x), found)
        return found

    def integral(self, a: jax.Array, b: jax.Array) -> jax.Array:
        """∫ from a to b ≥ a."""
        parts = (line.integral(jnp.maximum(a, begin), jnp.minimum(b, end)) for begin, end, line in self._pieces())
        return sum(parts, jnp.zeros_like(a))

    def meets(self, line: Line) -> jax.Array:
        """x at which a line that begins below the envelope reaches it."""
        found = jnp.full_like(self.x[0], jnp.inf)
        for begin, end, piece in reversed(self._pieces()):
            place = jnp.maximum(line.passes(piece), begin)
            found = jnp.where((place <= end) & jnp.isfinite(place), place, found)
        return found
