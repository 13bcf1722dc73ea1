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
    """What a parameter means: one line, its SI unit, and the values it may have.

    positive: it is never negative; zero: it may be zero all the same; unset: NaN or infinity where that stands for
    "not given" or "without limit".
    """

    meaning: str = ""
    unit: str = ""
    positive: bool = False
    zero: bool = False
    unset: float | None = None

    def check(self, value, where: str) -> None:
        """Refuse a value that the parameter cannot have, naming `where` it stands; what is traced is not looked at."""
        if isinstance(value, jax.core.Tracer) or not isinstance(value, jax.Array | np.ndarray | float | int):
            return
        values = np.asarray(value)
        if values.dtype.kind not in "fiu":
            return
        wrong = ~np.isfinite(values)
        if self.unset is not None:
            wrong &= ~np.isnan(values) if np.isnan(self.unset) else values != self.unset
        if self.positive:
            wrong |= values < 0 if self.zero else values <= 0
        if wrong.any():
            index = tuple(int(i) for i in np.argwhere(wrong)[0])
            place = where + "".join(f"[{i}]" for i in index)
            words = ("not negative" if self.zero else "positive") if self.positive else "a finite number"
            unit = f" {self.unit}" if self.unit else ""
            raise InputError(f"'{place}' ({self.meaning}) must be {words}, and is {float(values[index]):g}{unit}.")


class Parameterised(eqx.Module):
    """Base of what has parameters: their values are checked when it is made, and by `Structure.replace`."""

    def __check_init__(self):
        check_parameters(self, type(self).__name__)


def check_parameters(owner, where: str) -> None:
    """Refuse the first parameter of `owner` whose value is out of its range; `where` is what the owner is called."""
    for f in dataclasses.fields(owner):
        info = f.metadata.get("parameter")
        if info is not None:
            info.check(getattr(owner, f.name), f"{where}.{f.name}" if where else f.name)


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


def parameter(meaning: str, unit: str = "", *, positive: bool = False, zero: bool = False, default=_MISSING):
    """Declare a parameter of a law or structure: a field that holds a traced float array.

    positive: it must be; zero: zero will do, which it also does where it is the default. A default that is NaN or
    infinite allows such values, which are refused elsewhere.
    """
    keywords = {} if default is _MISSING else {"default": default}
    usual = np.asarray(keywords.get("default", 1.0), dtype=float)
    unset = None if np.isfinite(usual).all() else float(usual)
    info = ParameterInfo(meaning, unit, positive, zero or not usual.all(), unset)
    return eqx.field(converter=as_number, metadata={"parameter": info}, **keywords)


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
