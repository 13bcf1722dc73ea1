"""What drives a structure, and what the drive does between its samples."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError, nearest
from vibrid.records.record import EXCITATIONS, MOST_SAMPLES, Record
from vibrid.structures.device import IMPOSED, ImposedTest

_FILTER = 64  # samples on either side that a band-limited value looks at

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

    def shifted(self, by) -> Drive:
        """The same inputs with a constant (m,) added to each."""
        return Drive(self.samples + by, self.coefficients.at[:, :, 0].add(by))


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
    assumes that nothing was above half the sampling rate: each substep follows the filtered signal as a cubic.
    """
    if substeps < 1:
        raise InputError(f"substeps must be 1 or more, not {substeps}.")
    if hold not in HOLDS:
        raise InputError(f"There is no hold called '{hold}'; {nearest(hold, HOLDS)}")
    if hold == "zero" or np.shape(samples)[1] == 0:
        samples = jnp.asarray(samples)
        return Drive(samples, samples[:-1, None, None, :])
    if hold == "linear":
        samples = jnp.asarray(samples)
        return Drive(samples, jnp.stack([samples[:-1], jnp.diff(samples, axis=0)], axis=1)[:, None])
    if isinstance(samples, jax.core.Tracer):
        raise InputError(f"A '{hold}' hold needs known inputs; use 'linear' or 'zero' when they are traced.")
    known = np.asarray(samples, dtype=float)
    n, m = known.shape
    if hold == "cubic":
        spline = scipy.interpolate.CubicSpline(np.arange(n), known, bc_type="natural")
        c = spline.c[::-1]  # (4, intervals, m), lowest power first
        return Drive(jnp.asarray(known), jnp.asarray(np.moveaxis(c, 0, 1)[:, None]))
    fine = _upsample(known, 3 * substeps)
    corners = np.stack([fine[i : len(fine) - 3 + i : 3] for i in range(4)], axis=1)  # (pieces, 4, m)
    through = np.linalg.inv(np.vander(np.arange(4) / 3.0, increasing=True))
    coefficients = np.einsum("pc,ncm->npm", through, corners).reshape(n - 1, substeps, 4, m)
    return Drive(jnp.asarray(known), jnp.asarray(coefficients))


def _upsample(known: np.ndarray, factor: int) -> np.ndarray:
    """Band-limited samples at `factor` times the rate, passing through the given ones.

    The filter is flat to 0.93 of half the sampling rate; the ends are continued by reflection about the end value, so
    the first and last dozens of samples are right for motions that begin and end gently.
    """
    longer = np.pad(known, ((_FILTER, _FILTER), (0, 0)), mode="reflect", reflect_type="odd")
    window = scipy.signal.firwin(2 * _FILTER * factor + 1, 1.0 / factor, window=("kaiser", 12.0))
    fine = scipy.signal.resample_poly(longer, factor, 1, axis=0, window=window)
    fine = fine[_FILTER * factor : (_FILTER + len(known) - 1) * factor + 1]
    fine[::factor] = known
    return fine


@checked
def free_vibration(duration: float, rate: float, name: str = "free vibration") -> Record:
    """A record without any excitation: for a structure that is pulled and released.

    Arguments
        duration: s.
        rate: samples per second.

    Example
        >>> simulate(building, free_vibration(10.0, 100.0), start=Initial(displacement=[0.0, 0.01]))
    """
    if not (np.isfinite(duration) and np.isfinite(rate) and duration > 0 and rate > 0 and duration * rate >= 1):
        raise InputError(f"A free vibration needs a positive duration and rate, not {duration} s at {rate} Hz.")
    if duration * rate > MOST_SAMPLES:
        raise InputError(f"{duration:g} s at {rate:g} Hz are more than {MOST_SAMPLES} samples.")
    samples = round(duration * rate) + 1
    return Record(np.zeros((samples, 0)), (), step=1.0 / rate, name=name, history=(f"{name}: no excitation",))


def loads_of(structure, record: Record, moving: bool = False) -> tuple[tuple[str, str], ...]:
    """The inputs a record brings, as `Structure.model` wants them; one that moves from the start needs none."""
    if isinstance(structure, ImposedTest):
        return IMPOSED
    found = [c for c in record.channels if c.quantity in EXCITATIONS[:2]]
    if not found and not moving:
        channels = ", ".join(f"{c.name}: {c.quantity}" for c in record.channels)
        raise InputError(
            f"Record '{record.name}' has no excitation: it needs a channel with quantity ground_acceleration or load "
            f"({f'its channels are {channels}' if channels else 'it has no channels'}). A free vibration needs an "
            "initial state instead: start=Initial(displacement=[...]) in simulate, initial=... in identify, or "
            "unknowns such as 'initial[0].displacement[0]'."
        )
    return tuple(map(input_of, found))


def input_of(channel) -> tuple[str, str]:
    """Quantity and place (or direction) of the input that a channel holds."""
    return channel.quantity, channel.direction if channel.quantity == "ground_acceleration" else channel.location


def inputs_of(structure, record: Record, moving: bool = False) -> np.ndarray:
    """(nt, m) input samples in the order of `loads_of`."""
    if record.step is None:
        raise InputError(f"Record '{record.name}' is not sampled uniformly; call .resample(rate) before using it.")
    if isinstance(structure, ImposedTest):
        names = {c.quantity: c.name for c in record.channels}
        if "imposed_displacement" not in names:
            raise InputError(f"Record '{record.name}' needs a channel with quantity imposed_displacement.")
        x = record[names["imposed_displacement"]]
        v = record[names["imposed_velocity"]] if "imposed_velocity" in names else np.gradient(x, record.step)
        columns = np.stack([x, v], axis=1)
    else:
        loads_of(structure, record, moving)
        columns = record.select(quantity=EXCITATIONS[:2]).data
    if not np.all(np.isfinite(columns)):
        row = int(np.argmax(~np.isfinite(columns).all(axis=1)))
        raise InputError(
            f"The excitation of record '{record.name}' has missing samples (the first at {record.time[row]:g} s); "
            "fill or cut them before simulating."
        )
    return columns
