"""Parameters of laws and structures: numbers with a meaning, a unit and a range."""

from __future__ import annotations

import dataclasses
import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, dataclass_transform, overload

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from vibrid.core import precision  # noqa: F401  (64-bit numbers before the first array)
from vibrid.core.arguments import Numbers
from vibrid.core.errors import InputError
from vibrid.core.numbers import as_array
from vibrid.core.shown_parameters import text_of

_MISSING: Any = object()

if TYPE_CHECKING:

    class Parameter:
        """Annotation of a parameter: numbers of any kind go in, an array comes out."""

        @overload
        def __get__(self, owner: None, kind: type) -> Parameter: ...
        @overload
        def __get__(self, owner: object, kind: type) -> jax.Array: ...
        def __get__(self, owner: object, kind: type) -> Any: ...
        def __set__(self, owner: object, value: Numbers) -> None: ...

else:
    Parameter = jax.Array


@dataclass(frozen=True)
class ParameterInfo:
    """The meaning of a parameter in one line, its SI unit, and its allowed values.

    positive: it is never negative; zero: zero is allowed too; unset: NaN or infinity where that stands for "not given"
    or "without limit".
    """

    meaning: str = ""
    unit: str = ""
    positive: bool = False
    zero: bool = False
    unset: float | None = None

    def check(self, value: Any, where: str) -> None:
        """Refuse a value out of the parameter's range, naming `where` it is; traced values are not checked."""
        if isinstance(value, Tracer) or not isinstance(value, jax.Array | np.ndarray | float | int):
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


def check_parameters(owner: Any, where: str) -> None:
    """Refuse the first parameter of `owner` whose value is out of its range; `where` is the name of the owner."""
    for f in dataclasses.fields(owner):
        info = f.metadata.get("parameter")
        if info is not None:
            info.check(getattr(owner, f.name), f"{where}.{f.name}" if where else f.name)


def as_number(value: Numbers) -> jax.Array:
    """A float array that JAX can trace; anything that is not a number is refused with an InputError."""
    if isinstance(value, jax.Array | float | int):
        return jnp.asarray(value, dtype=jnp.result_type(float))
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iufb":
            raise TypeError
        return as_array(array) if array.ndim else jnp.asarray(array.astype(float))
    except (TypeError, ValueError) as problem:
        raise InputError(f"A number (or an array of numbers) was expected, not {value!r}.") from problem


def parameter(
    meaning: str, unit: str = "", *, positive: bool = False, zero: bool = False, default: Any = _MISSING
) -> Any:
    """Declare a parameter of a law or structure: a field that holds a traced float array.

    positive: it must be positive; zero: zero is allowed too, as it is where zero is the default. A default that is NaN
    or infinite allows such values; they are refused otherwise.
    """
    keywords = {} if default is _MISSING else {"default": default}
    usual = np.asarray(keywords.get("default", 1.0), dtype=float)
    unset = None if np.isfinite(usual).all() else float(usual)
    info = ParameterInfo(meaning, unit, positive, zero or not usual.all(), unset)
    return eqx.field(converter=as_number, metadata={"parameter": info}, **keywords)


if TYPE_CHECKING:
    from equinox._module._module import _ModuleMeta

    @dataclass_transform(field_specifiers=(parameter, eqx.field, dataclasses.field))
    class ParameterisedType(_ModuleMeta):
        """Lets a type checker know that `parameter` declares a field; Equinox's own class knows only `field`."""

else:
    ParameterisedType = type(eqx.Module)


class Parameterised(eqx.Module, metaclass=ParameterisedType):
    """Base of classes with parameters: values are checked at construction, and by `Structure.replace`.

    The parameters are listed in the docstring of every class, from their declarations.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        text = cls.__dict__.get("__doc__")
        if text:
            cls.__doc__ = documented(text, _declared(cls))

    def __check_init__(self) -> None:
        check_parameters(self, type(self).__name__)

    def __repr__(self) -> str:
        return text_of(self)


def _declared(cls: type) -> dict[str, dataclasses.Field]:
    """The fields of a class under construction: those of its bases, and those its own body declares."""
    made: dict[str, dataclasses.Field] = {}
    for base in reversed(cls.__mro__[1:]):
        made |= base.__dict__.get("__dataclass_fields__", {})
    return made | {name: f for name, f in cls.__dict__.items() if isinstance(f, dataclasses.Field)}


_DESCRIBED = re.compile(r"^ +([\w, ]+): ", re.MULTILINE)


def documented(text: str, fields: dict[str, dataclasses.Field]) -> str:
    """A docstring with a line for each parameter that it does not describe yet: meaning, unit, range, default."""
    described = {name for line in _DESCRIBED.findall(text) for name in line.strip().split(", ")}
    lines = []
    for name, f in fields.items():
        info = f.metadata.get("parameter")
        if info is None or not f.init or name in described:
            continue
        allowed = ("not negative" if info.zero else "positive") if info.positive else ""
        usual = "" if f.default is dataclasses.MISSING else f"{f.default!r} by default"
        words = [info.meaning + (f" ({info.unit})" if info.unit else ""), *filter(None, (allowed, usual))]
        lines.append(f"    {name}: {', '.join(words)}.")
    if not lines:
        return text
    return "\n".join([inspect.cleandoc(text), "", "Parameters", *lines])


def parameter_info(owner: Any, name: str) -> ParameterInfo:
    """The declaration of `owner.name`; an empty one for fields that are not parameters.

    An owner whose units depend on its settings (a sensor) gives them in `parameter_units`.
    """
    for f in dataclasses.fields(owner):
        if f.name == name:
            info = f.metadata.get("parameter", ParameterInfo())
            units = getattr(owner, "parameter_units", {})
            return dataclasses.replace(info, unit=units[name]) if name in units else info
    return ParameterInfo()


def refuse_lists(owner: Any, what: str, *names: str) -> None:
    """Refuse parameters that were given lists and are one number each; `what` names the owner, "Section 'column'"."""
    for name in names:
        if np.ndim(getattr(owner, name)):
            raise InputError(f"{what} needs one number for '{name}', not a list of {np.size(getattr(owner, name))}.")
