"""The initial state of a structure at the start of a record: displaced and released, or already moving."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Numbers
from vibrid.core.errors import InputError, unknown_name
from vibrid.core.numbers import as_array
from vibrid.core.parameters import Parameter, as_number, parameter
from vibrid.structures.base import Structure
from vibrid.structures.model import Model


class Initial(eqx.Module):
    """Displacement (m) and velocity (m/s) of every degree of freedom at the first sample; zero where not given.

    The laws begin in their state at rest unless `states` gives their states, in the form of `model.start()`: only these
    describe a hysteretic part that was loaded before the release.

    Example
        >>> simulate(building, free_vibration(duration=10.0, rate=100.0), start=Initial([0.0, 0.0, 0.02]))
    """

    displacement: Parameter = parameter("displacement at the start", "m")
    velocity: Parameter = parameter("velocity at the start", "m/s")
    states: tuple[Any, ...] | None = None

    def __init__(
        self,
        displacement: Numbers | None = None,
        velocity: Numbers | None = None,
        states: tuple[Any, ...] | None = None,
    ):
        given = [as_number(value) for value in (displacement, velocity) if value is not None]
        if not given:
            raise InputError("An initial state needs a displacement or a velocity for each degree of freedom.")
        self.displacement = jnp.zeros_like(given[0]) if displacement is None else given[0]
        self.velocity = jnp.zeros_like(given[0]) if velocity is None else given[-1]
        self.states = states

    @staticmethod
    def rest(size: int) -> Initial:
        return Initial(as_array(np.zeros(size)), as_array(np.zeros(size)))

    @property
    def moves(self) -> bool:
        """Whether it differs from rest."""
        return bool(np.any(np.asarray(self.displacement)) or np.any(np.asarray(self.velocity)))


def as_initial(given: Initial | Mapping[str, Any] | None, structure: Structure, size: int) -> Initial:
    """The initial state given by the user, for a structure with `size` degrees of freedom.

    `given` is None (rest), an `Initial`, or a table with "displacement" and "velocity": each a list with one number for
    each degree of freedom, or a table of places, {"roof": 0.02}.
    """
    if given is None:
        return Initial.rest(size)
    states = given.states if isinstance(given, Initial) else None
    if isinstance(given, Initial):
        given = {"displacement": given.displacement, "velocity": given.velocity}
    if not isinstance(given, Mapping):
        raise InputError(
            "An initial state is written Initial(displacement=[...], velocity=[...]), or as a table of them, "
            f"not {type(given).__name__}."
        )
    wrong = [name for name in given if name not in ("displacement", "velocity")]
    if wrong:
        raise unknown_name("part of an initial state", wrong[0], ("displacement", "velocity"))
    values = [_values(given.get(name), name, structure, size) for name in ("displacement", "velocity")]
    return Initial(values[0], values[1], states)


def as_start(given: Initial | Mapping[str, Any] | None, structure: Structure, model: Model) -> Initial | None:
    """The initial state for `run`, from the user's; None is rest."""
    if given is None:
        return None
    start = as_initial(given, structure, model.size)
    if start.states is not None:
        rest = jax.eval_shape(model.start)
        if jax.tree.structure(start.states) != jax.tree.structure(rest) or any(
            np.shape(given_leaf) != there.shape
            for given_leaf, there in zip(jax.tree.leaves(start.states), jax.tree.leaves(rest), strict=True)
        ):
            raise InputError("The states of the laws in 'start' do not fit this structure; leave them out for rest.")
    return start


def _values(given, name: str, structure, size: int):
    """(size,) numbers of every degree of freedom."""
    if given is None:
        return jnp.zeros(size)
    if isinstance(given, Mapping):
        values = np.zeros(size)
        for place, value in given.items():
            row = np.asarray(structure.row(str(place)))
            if np.count_nonzero(row) != 1:
                raise InputError(f"'{place}' is no degree of freedom of its own, so its initial {name} is not enough.")
            values[int(np.argmax(np.abs(row)))] = float(as_number(value)) / float(row[np.argmax(np.abs(row))])
        return jnp.asarray(values)
    values = as_number(given)
    if values.shape != (size,):
        raise InputError(
            f"The initial {name} needs one number for each of the {size} degrees of freedom, not an array of shape "
            f"{values.shape}."
        )
    if not np.all(np.isfinite(np.asarray(values))):
        raise InputError(f"The initial {name} has numbers that are not finite.")
    return values
