"""The data of a problem: records as arrays, their inputs, and the channels of its sensors."""

from __future__ import annotations

import dataclasses
from difflib import get_close_matches

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.numbers import as_array
from vibrid.identification.loads.unknown_load import UnknownLoad
from vibrid.records.record import EXCITATIONS, Record
from vibrid.simulation.excitation import Drive, drive, inputs_of, loads_of
from vibrid.structures.sensors import Sensor, Sensors


class Data(eqx.Module):
    """One record as arrays: readings with a mask of the samples present, and the inputs."""

    _: dataclasses.KW_ONLY
    readings: jax.Array  # (nt, ny), zero where missing
    present: jax.Array  # (nt, ny), 1 where a sample is present and used
    drive: Drive
    step: float = eqx.field(static=True)
    loads: tuple[tuple[str, str], ...] = eqx.field(static=True)
    name: str = eqx.field(static=True)
    shares: jax.Array | None = None  # (1 or nt, inputs, unknown loads): inputs per unit of each load

    @property
    def samples(self) -> int:
        return self.readings.shape[0]


def refuse_silent(sensors: Sensors, records: list[Record]) -> None:
    """Refuse a record without any sample, and a sensor that has none in any record."""
    seen = np.array([[np.isfinite(r[channel_of(r, s)]).any() for s in sensors] for r in records])
    for i, j in np.argwhere(~seen):
        if not seen[i].any() or not seen[:, j].any():
            where = f"Channel '{sensors[j].label}' of record '{records[i].name}'"
            raise InputError(f"{where} has no sample at all; leave it out.")


def data_of(
    structure, record: Record, sensors: Sensors, hold: str, substeps: int, hold_out: float, loads, moving: bool
):
    if len(record) < 20:
        raise InputError(f"Record '{record.name}' has {len(record)} samples; identification needs at least 20.")
    names, inputs, shares = inputs_with(structure, record, loads, moving)
    y = np.stack([record[channel_of(record, sensor)] for sensor in sensors], axis=1)
    present = np.isfinite(y)
    last = np.zeros_like(present)
    if hold_out:
        last[round(len(record) * (1 - hold_out)) :] = True
    data = Data(
        readings=as_array(np.where(present, y, 0.0)),
        present=as_array(present & ~last),
        drive=drive(inputs, hold, substeps),
        step=step_of(record),
        loads=names,
        name=record.name,
        shares=shares,
    )
    return data, as_array(present & last)


def inputs_with(structure, record: Record, loads: list[UnknownLoad], moving: bool):
    """Names of the inputs, their known samples, and the shares of the unknown loads in them.

    A structure that is `moving` at the start needs no excitation.
    A channel of the record at the place of an unknown load is not used.
    """
    if not loads:
        inputs = inputs_of(structure, record, moving)
        if not np.any(inputs) and not moving:
            raise InputError(
                f"The excitation of record '{record.name}' is zero throughout: nothing moves, so nothing can be "
                "identified. A free vibration needs an initial state: give initial=Initial(displacement=[...]), or "
                "unknowns such as 'initial[0].displacement[0]'."
            )
        return loads_of(structure, record, moving), inputs, None
    names, known = (), np.zeros((len(record), 0))
    sought = {load.inputs(structure)[0] for load in loads if not load.moves}
    if any(c.quantity in EXCITATIONS[:2] for c in record.channels):
        all_names, all_inputs = loads_of(structure, record), inputs_of(structure, record)
        keep = [i for i, name in enumerate(all_names) if name not in sought]
        names, known = tuple(all_names[i] for i in keep), all_inputs[:, keep]
    else:
        step_of(record)
    shares = [np.zeros((1, len(names), 0))]
    for load in loads:
        inputs = load.inputs(structure)
        names += inputs
        shares.append(load.shares(structure, record.time)[:, :, None])
    height = max(len(s) for s in shares)
    spread = np.zeros((height, len(names), len(loads)))
    place = known.shape[1]
    for i, share in enumerate(shares[1:]):
        spread[:, place : place + share.shape[1], i] = share[:, :, 0]
        place += share.shape[1]
    inputs = np.concatenate([known, np.zeros((len(record), len(names) - known.shape[1]))], axis=1)
    return names, inputs, jnp.asarray(spread)


def step_of(record: Record) -> float:
    """s between the samples of a record; one without a constant step is refused."""
    if record.step is None:
        raise InputError(
            f"Record '{record.name}' is not sampled uniformly; call .resample(rate) before using it, or write "
            "`resample = 100` under [records] of a project."
        )
    return float(record.step)


def channel_of(record: Record, sensor: Sensor) -> str:
    """The channel with the readings of a sensor: by name, or by quantity and location."""
    if sensor.label in record.names:
        return sensor.label
    fits = [c.name for c in record.channels if c.quantity == sensor.quantity and c.location == sensor.place]
    if len(fits) == 1:
        return fits[0]
    there = ", ".join(f"'{c.name}' [{c.unit or '-'}]" for c in record.channels)
    alike = [c.name for c in record.channels if c.quantity == sensor.quantity]
    close = get_close_matches(sensor.label, record.names, n=1, cutoff=0.0) if not alike else alike[:1]
    raise InputError(
        f"Record '{record.name}' has no channel for the sensor '{sensor.label}' ({sensor.quantity} at {sensor.place}); "
        f'its channels are {there}. Name the one of this sensor, channel = "{close[0]}" in its [[sensors]] table or '
        f'Sensor(…, name="{close[0]}") if that is it.'
    )
