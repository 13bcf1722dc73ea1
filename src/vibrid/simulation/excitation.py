"""The excitation of a structure, and its course between samples."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jax.core import Tracer

from vibrid.core.arguments import Array, checked
from vibrid.core.errors import InputError, nearest
from vibrid.core.numbers import as_array
from vibrid.core.precision import check_precision
from vibrid.records.record import EXCITATIONS, MOST_SAMPLES, Channel, Record
from vibrid.structures.base import Structure
from vibrid.structures.device import IMPOSED, ImposedTest
from vibrid.structures.ground import refuse_repeated

_FILTER = 64  # samples on either side that a band-limited value uses

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

    def shifted(self, by: Array) -> Drive:
        """The same inputs with a constant (m,) added to each."""
        return Drive(self.samples + by, self.coefficients.at[:, :, 0].add(by))


class Input(eqx.Module):
    """The inputs during one step of the integrator."""

    coefficients: jax.Array  # (powers, m)
    first: float  # fraction of the piece at which the step begins
    share: float  # fraction of the piece that the step covers
    end: jax.Array  # (m,) inputs where the step ends and the next begins

    def __call__(self, fraction: jax.Array | float) -> jax.Array:
        t = self.first + fraction * self.share
        value = self.coefficients[-1]
        for power in range(self.coefficients.shape[0] - 2, -1, -1):
            value = value * t + self.coefficients[power]
        return value


def drive(samples: Array, hold: str = "linear", substeps: int = 1) -> Drive:
    """Build the polynomials for inputs sampled at (nt, m).

    "zero" keeps each sample until the next; "linear" joins them; "cubic" is a natural-end spline; "band-limited"
    assumes no content above half the sampling rate: each substep follows the filtered signal as a cubic.
    """
    if substeps < 1:
        raise InputError(f"substeps must be 1 or more, not {substeps}.")
    if hold not in HOLDS:
        raise InputError(f"There is no hold called '{hold}'; {nearest(hold, HOLDS)}")
    if hold in ("zero", "linear") or np.shape(samples)[1] == 0:
        of = np if isinstance(samples, np.ndarray) else jnp  # known samples need no operation of JAX
        samples = of.asarray(samples)
        constant = hold == "zero" or samples.shape[1] == 0
        powers = samples[:-1, None] if constant else of.stack([samples[:-1], of.diff(samples, axis=0)], axis=1)
        known = as_array if of is np else jnp.asarray
        return Drive(known(samples), known(powers[:, None]))
    if isinstance(samples, Tracer):
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
    fine = scipy.signal.resample_poly(longer, factor, 1, axis=0, window=_window(factor))
    fine = fine[_FILTER * factor : (_FILTER + len(known) - 1) * factor + 1]
    fine[::factor] = known
    return fine


@lru_cache(maxsize=8)
def _window(factor: int) -> np.ndarray:
    return scipy.signal.firwin(2 * _FILTER * factor + 1, 1.0 / factor, window=("kaiser", 12.0))


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


def loads_of(structure: Structure, record: Record, moving: bool = False) -> tuple[tuple[str, str], ...]:
    """The inputs of a record in the form of `Structure.model`: loads at places, ground motions in directions.

    Several ground channels need a direction each, all different; see `vibrid.structures.ground`. A
    structure with an initial motion needs no input.
    """
    if isinstance(structure, ImposedTest):
        return structure.inputs
    driving = [c for c in record.channels if c.quantity in EXCITATIONS[:2]]
    if not driving and not moving:
        channels = ", ".join(f"{c.name}: {c.quantity}" for c in record.channels)
        raise InputError(
            f"Record '{record.name}' has no excitation: it needs a channel with quantity ground_acceleration or load "
            f"({f'its channels are {channels}' if channels else 'it has no channels'}). A free vibration needs an "
            "initial state instead: start=Initial(displacement=[...]) in simulate, initial=... in identify, or "
            "unknowns such as 'initial[0].displacement[0]'."
        )
    axes = iter(_ground_axes(structure, record, [c for c in driving if c.quantity == "ground_acceleration"]))
    inputs = tuple((c.quantity, str(c.location) if c.quantity == "load" else next(axes)) for c in driving)
    return structure.driven_along(inputs)


def _ground_axes(structure, record: Record, ground: list[Channel]) -> list[str]:
    """The structure's direction of every ground channel of a record."""
    owner, where = f"the {type(structure).__name__}", f"Record '{record.name}'"
    axes = structure.ground_axes()
    choose = _choice(owner, ground, axes)
    silent = [c.name for c in ground if not c.direction]
    if silent and len(ground) > 1 and len(axes) > 1:
        raise InputError(
            f"{where} moves the ground by {len(ground)} channels, and the direction of {', '.join(silent)} is not "
            f"known. {choose}"
        )
    directions = []
    for channel in ground:
        try:
            directions.append(structure.ground_axis(channel.direction))
        except InputError as problem:
            raise InputError(f"{where}, channel '{channel.name}': {problem} {choose}") from None
    refuse_repeated([_spoken(c) for c in ground], directions, owner, where)
    return directions


def _choice(owner: str, ground: list[Channel], axes: Mapping[str, str]) -> str:
    """How to choose the channels that drive a structure."""
    names, axis = [c.name for c in ground[:1]], next(iter(axes), "")
    call = ", ".join(f'{{"{name}": "{axis}"}}' if axis else f'"{name}"' for name in names)
    return f"Choose what moves {owner}: record.driven_by({call}), or [excitation] channels in a project file."


def _spoken(channel: Channel) -> str:
    return f"{channel.name}: {channel.direction}" if channel.direction else channel.name


def channels_of(structure: Structure, record: Record) -> dict[str, tuple[str, str]]:
    """The channels of a record that drive a structure, by name, and the input that each is (as in `loads_of`)."""
    if isinstance(structure, ImposedTest):
        return {c.name: (c.quantity, "") for c in record.channels if c.quantity in EXCITATIONS[2:]}
    names = [c.name for c in record.channels if c.quantity in EXCITATIONS[:2]]
    return dict(zip(names, loads_of(structure, record, moving=True), strict=True))


def inputs_of(structure: Structure, record: Record, moving: bool = False, loads: object = None) -> np.ndarray:
    """(nt, m) input samples in the order of `loads_of`; `loads` are those where they are known already."""
    check_precision()
    if record.step is None:
        raise InputError(
            f"Record '{record.name}' is not sampled uniformly; call .resample(rate) before using it, or write "
            "`resample = 100` under [records] of a project."
        )
    if isinstance(structure, ImposedTest):
        imposed = [c for c in record.channels if c.quantity in EXCITATIONS[2:]]
        names = {c.quantity: c.name for c in imposed}
        if len(names) < len(imposed):
            raise InputError(
                f"Record '{record.name}' imposes the deformation more than once "
                f"({', '.join(c.name for c in imposed)}); choose the channels that drive the test, with "
                'record.driven_by(["name", ...]) or [excitation] channels in a project file.'
            )
        if "imposed_displacement" not in names:
            raise InputError(f"Record '{record.name}' needs a channel with quantity imposed_displacement.")
        x = record[names["imposed_displacement"]]
        v = record[names["imposed_velocity"]] if "imposed_velocity" in names else np.gradient(x, record.step)
        columns = np.stack([x, v], axis=1)
        if structure.inputs != IMPOSED:
            if "command" not in names:
                raise InputError(f"Record '{record.name}' needs a channel with quantity command for a commanded law.")
            columns = np.column_stack([columns, record[names["command"]]])
    else:
        if loads is None:
            loads_of(structure, record, moving)
        columns = record.select(quantity=EXCITATIONS[:2]).data
    if not np.all(np.isfinite(columns)):
        row = int(np.argmax(~np.isfinite(columns).all(axis=1)))
        raise InputError(
            f"The excitation of record '{record.name}' has missing samples (the first at {record.time[row]:g} s); "
            "fill or cut them before simulating."
        )
    return columns
