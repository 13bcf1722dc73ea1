"""Parameters of laws and structures: numbers with a meaning, a unit and a range."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core import precision  # noqa: F401  (64-bit numbers before the first array)
from vibrid.core.errors import InputError

_MISSING = object()


@dataclass(frozen=True)
class ParameterInfo:
    """What a parameter means: one line, its SI unit, and whether it must stay positive."""

    meaning: str = ""
    unit: str = ""
    positive: bool = False


def as_number(value):
    """A float array that JAX can trace; anything that is not a number is refused with a sentence."""
    if isinstance(value, jax.Array | np.ndarray | float | int):
        return jnp.asarray(value, dtype=jnp.result_type(float))
    try:
        made = np.asarray(value)
        if made.dtype.kind not in "iufb":
            raise TypeError
        return jnp.asarray(made.astype(float))
    except (TypeError, ValueError) as problem:
        raise InputError(f"A number (or an array of numbers) was expected, not {value!r}.") from problem


def parameter(meaning: str, unit: str = "", *, positive: bool = False, default=_MISSING):
    """Declare a parameter of a law or structure: a field that holds a traced float array."""
    keywords = {} if default is _MISSING else {"default": default}
    return eqx.field(converter=as_number, metadata={"parameter": ParameterInfo(meaning, unit, positive)}, **keywords)


def parameter_info(owner, name: str) -> ParameterInfo:
    """The declaration behind `owner.name`; an empty one for fields that are not parameters.

    An owner whose units depend on what it is (a sensor) says them in `parameter_units`.
    """
    for f in dataclasses.fields(owner):
        if f.name == name:
            info = f.metadata.get("parameter", ParameterInfo())
            own = getattr(owner, "parameter_units", {})
            return dataclasses.replace(info, unit=own[name]) if name in own else info
    return ParameterInfo()
