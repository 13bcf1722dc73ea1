"""How alike two devices of a kind are, from set-ups in which both were tested."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vibrid.core.errors import InputError

_GRID = np.linspace(0.0, 0.9995, 2000)


class Likeness(NamedTuple):
    """The correlation ρ of two devices: its mean, and the interval that holds it with 95 %."""

    mean: float
    low: float
    high: float


def likeness_of(first, second) -> Likeness:
    """ρ of two devices from repeated tests: how much of what one differs from its law the other shows too.

    The logarithms of a device's values over those of its law are taken as normal with mean zero and an unknown spread,
    and before any test all ρ between 0 and 1 as equally likely; the mean of what is then known is returned. Few
    set-ups give a mean near one half and a wide interval.

    Arguments
        first, second: (set-ups,) or (set-ups, quantities): capacity, gap, … of the two devices in each set-up, over
            those of the law: `listen` gives them. Another pair of devices in every set-up serves as well.
    """
    one, other = (np.atleast_1d(np.asarray(values, float)) for values in (first, second))
    if one.shape != other.shape or one.ndim > 2 or not one.size:
        raise InputError(
            f"The values of two devices come in pairs: (set-ups,) or (set-ups, quantities), not {one.shape} and "
            f"{other.shape}."
        )
    if not (np.isfinite(one).all() and np.isfinite(other).all() and (one > 0).all() and (other > 0).all()):
        raise InputError("Values of devices over those of their law are positive numbers.")
    a, b = (np.log(values.reshape(len(values), -1)) for values in (one, other))
    if not (np.square(a) + np.square(b)).sum(axis=0).all():
        raise InputError("A quantity is that of the law in every set-up: nothing can be said about its likeness.")
    rho, setups = _GRID[:, None], len(a)
    squares = (np.square(a) + np.square(b)).sum(axis=0) - 2.0 * rho * (a * b).sum(axis=0)
    log = (0.5 * setups * np.log1p(-np.square(rho)) - setups * np.log(squares)).sum(axis=1)
    weight = np.exp(log - log.max())
    below = np.cumsum(weight) / weight.sum()
    low, high = (float(_GRID[np.searchsorted(below, share)]) for share in (0.025, 0.975))
    return Likeness(float(weight @ _GRID / weight.sum()), low, high)
