"""What drives a structure, and what the drive does between its samples."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import resample_poly

from vibrid.core.errors import InputError, nearest
from vibrid.records.record import EXCITATIONS, Record
from vibrid.structures.device import IMPOSED, Device

HOLDS = ("zero", "linear", "cubic", "band-limited")


class Drive(eqx.Module):
    """Inputs as polynomials: `coefficients[i, j, p]` is the p-th power on piece j of the interval after sample i.

    `samples` (nt, m) are the inputs at the samples; the fraction of a piece runs from 0 to 1.
    """

    samples: jax.Array
    coefficients: jax.Array  # (nt − 1, pieces, powers, m)

    @property
    def pieces(self) -> int:
        return self.coefficients.shape[1]


class Input(eqx.Module):
    """The inputs during one step of the integrator."""

    coefficients: jax.Array  # (powers, m)
    first: float  # fraction of the piece at which the step begins
    share: float  # fraction of the piece that the step covers
    end: jax.Array  # (m,) inputs where the step ends and the next begins

    def __call__(self, fraction):
        t = self.first + fraction * self.share
        value = self.coefficients[-1]
        for power in range(self.coefficients.shape[0] - 2, -1, -1):
            value = value * t + self.coefficients[power]
        return value


def drive(samples, hold: str = "linear", substeps: int = 1) -> Drive:
    """Build the polynomials for inputs sampled at (nt, m).

    "zero" keeps each sample until the next; "linear" joins them; "cubic" is a natural-end spline; "band-limited"
    assumes that nothing was above half the sampling rate: the samples are raised by FFT-like filtering to the substeps
    and joined by a spline.
    """
    if hold not in HOLDS:
        raise InputError(f"There is no hold called '{hold}'; {nearest(hold, HOLDS)}")
    if hold == "zero":
        samples = jnp.asarray(samples)
        return Drive(samples, samples[:-1, None, None, :])
    if hold == "linear":
        samples = jnp.asarray(samples)
        return Drive(samples, jnp.stack([samples[:-1], jnp.diff(samples, axis=0)], axis=1)[:, None])
    if isinstance(samples, jax.core.Tracer):
        raise InputError(f"A '{hold}' hold needs known inputs; use 'linear' or 'zero' when they are traced.")
    known = np.asarray(samples, dtype=float)
    n, m = known.shape
    factor = substeps if hold == "band-limited" else 1
    fine = _upsample(known, factor) if factor > 1 else known
    c = CubicSpline(np.arange(len(fine)), fine, bc_type="natural").c  # (4, pieces, m), highest power first
    coefficients = np.moveaxis(c[::-1], 0, 1).reshape(n - 1, factor, 4, m)
    return Drive(jnp.asarray(known), jnp.asarray(coefficients))


def _upsample(known: np.ndarray, factor: int) -> np.ndarray:
    """Band-limited samples at `factor` times the rate; the ends are continued by reflection so that nothing rings."""
    n = len(known)
    pad = min(n - 1, 200)
    head, tail = 2 * known[:1] - known[pad:0:-1], 2 * known[-1:] - known[-2 : -pad - 2 : -1]
    long = np.concatenate([head, known, tail])
    fine = resample_poly(long, factor, 1, axis=0, window=("kaiser", 12.0))
    fine = fine[pad * factor : pad * factor + (n - 1) * factor + 1]
    fine[::factor] = known
    return fine


def loads_of(structure, record: Record) -> tuple[tuple[str, str], ...]:
    """The inputs a record brings, as `Structure.model` wants them."""
    if isinstance(structure, Device):
        return IMPOSED
    found = [c for c in record.channels if c.quantity in EXCITATIONS[:2]]
    if not found:
        raise InputError(
            f"Record '{record.name}' has no excitation: it needs a channel with quantity ground_acceleration or load "
            f"(its channels are {', '.join(f'{c.name}: {c.quantity}' for c in record.channels)})."
        )
    return tuple((c.quantity, c.direction if c.quantity == "ground_acceleration" else c.location) for c in found)


def inputs_of(structure, record: Record) -> np.ndarray:
    """(nt, m) input samples in the order of `loads_of`."""
    if record.step is None:
        raise InputError(f"Record '{record.name}' is not sampled uniformly; call .resample(rate) before using it.")
    if isinstance(structure, Device):
        names = {c.quantity: c.name for c in record.channels}
        if "imposed_displacement" not in names:
            raise InputError(f"Record '{record.name}' needs a channel with quantity imposed_displacement.")
        x = record[names["imposed_displacement"]]
        v = record[names["imposed_velocity"]] if "imposed_velocity" in names else np.gradient(x, record.step)
        columns = np.stack([x, v], axis=1)
    else:
        loads_of(structure, record)
        columns = record.select(quantity=EXCITATIONS[:2]).data
    if not np.all(np.isfinite(columns)):
        row = int(np.argmax(~np.isfinite(columns).all(axis=1)))
        raise InputError(
            f"The excitation of record '{record.name}' has missing samples (the first at {record.time[row]:g} s); "
            "fill or cut them before simulating."
        )
    return columns
