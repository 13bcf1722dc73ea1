"""From records of device tests to training data of a network."""

from __future__ import annotations

import numpy as np

from vibrid.core.errors import InputError
from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.records.imposed import CORNER, every_for, one_of, velocity_of
from vibrid.records.record import Record


def device_test(
    own: Record, companion: Record | None, capacity, rate: float, *, name: str = "", corner: float = CORNER
) -> DeviceTest:
    """A test at the rate of a model.

    Arguments
        own: the test, with a channel of quantity imposed_displacement and one of quantity element_force;
            imposed_velocity is used if present, else the displacement is low-passed and differentiated.
        companion: the record of the tested device at the same samples; None for a network without one. A test with a
            shorter companion ends where that ends.
            The signals are force, displacement, then every other channel.
        capacity: N, friction force that the pretension is set for, one number or one for each direction.
        rate: Hz of the model; the records' rate must be a multiple of it.
    """
    every = every_for(own, rate)
    x, force = one_of(own, "imposed_displacement"), one_of(own, "element_force")
    v = velocity_of(own, corner)
    columns = [x, v, force]
    if companion is not None:
        if abs(companion.rate / own.rate - 1) > 1e-6:
            raise InputError(
                f"'{companion.name}' belongs to '{own.name}': it needs the same rate ({own.rate:g} Hz, not "
                f"{companion.rate:g} Hz)."
            )
        columns += list(companion_signals(companion).T)
    length = min(map(len, columns))
    data = np.column_stack([column[:length] for column in columns])
    if not np.isfinite(data).all():
        raise InputError(f"Test '{own.name}' has missing samples; fill or cut them first.")
    data = data[every - 1 :: every]
    both = np.broadcast_to(np.asarray(capacity, float), (2,))
    capacities = (float(both[0]), float(both[1]))
    return DeviceTest(name or own.name, data[:, 0], data[:, 1], data[:, 2], data[:, 3:], capacities)


def companion_signals(record: Record) -> np.ndarray:
    """(samples, signals): force, displacement, and the other channels in their order."""
    return np.column_stack([record[name] for name in companion_names(record)])


def companion_names(record: Record) -> list[str]:
    """Names of the signals of the tested device, in the order of a loop: force, displacement, others."""
    by = {c.quantity: c.name for c in reversed(record.channels)}
    for quantity in ("element_force", "imposed_displacement"):
        if quantity not in by:
            raise InputError(f"Record '{record.name}' needs a channel with quantity {quantity}.")
    first = [by["element_force"], by["imposed_displacement"]]
    left_out = ("element_force", "imposed_displacement", "imposed_velocity")
    return first + [c.name for c in record.channels if c.quantity not in left_out]
