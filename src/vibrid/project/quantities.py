"""Numbers of a project file: in SI units, or converted from the unit that is given (`"40 kN/m"`)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError, core_schema

from vibrid.core.errors import InputError
from vibrid.records.record import QUANTITIES
from vibrid.records.units import Unit, from_si, parse_unit, unit_for

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")

MOST_NUMBERS = 1_000_000
"""The most numbers in one entry of a project file, repetitions included."""


def in_si(value, unit: str | None) -> float:
    """One number in SI units. `unit` is the expected SI unit; None, or a unit with symbols (m^-n), is not checked."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InputError(f"a number was expected, not {_named(value)}.")
    if isinstance(value, str):
        if re.match(r"\s*[-+]?[\d.]*\d,\d", value):
            raise InputError(f"'{value}' has a decimal comma; write a decimal point, such as 0.5 for 0,5.")
        text = value.strip()
        match = _NUMBER.match(text)
        if match is None:
            example = f'"40 {unit or "kN/m"}"'
            raise InputError(f"a number was expected, or a number with a unit such as {example}, not '{value}'.")
        value = _unit(text[match.end() :].strip(), unit).to_si(float(match[0]))
    value = float(value)
    if math.isinf(value):
        raise InputError("a finite number was expected.")
    return value


def _unit(given: str, unit: str | None) -> Unit:
    """The unit that was given for a number in the SI unit `unit`; 2π rad/s are one Hz."""
    known = parse_unit(given)
    if not given or not _is_checked(unit):
        return known
    try:
        return unit_for(given, unit or "")
    except InputError:
        measures = known.kind if known.kind not in ("none", "other") else f"{known.symbol or 'a pure number'}"
        required = f"in {unit}" if unit else "without a unit"
        raise InputError(f"'{given}' measures {measures}; this number is {required}.") from None


def _is_checked(unit: str | None) -> bool:
    """Whether a declared unit can be compared with another: it is given, and has no symbols of the law (m^-n)."""
    try:
        return unit is not None and parse_unit(unit) is not None
    except InputError:
        return False


def numbers(value, unit: str | None, positive: bool = False, zero: bool = True):
    """A number, or nested lists of them with equal lengths; `{value = ..., count = n}` repeats a value."""
    if isinstance(value, dict):
        if set(value) != {"value", "count"} or isinstance(value["count"], bool) or not isinstance(value["count"], int):
            raise InputError("a repeated number is written {value = 1.0, count = 3}.")
        if not 1 <= value["count"] <= MOST_NUMBERS:
            raise InputError(f"'count' must lie between 1 and {MOST_NUMBERS}.")
        return [numbers(value["value"], unit, positive, zero)] * value["count"]
    if isinstance(value, list):
        rows = [numbers(v, unit, positive, zero) for v in value]
        if len({_shape(v) for v in rows}) > 1:
            raise InputError("the rows of a list of numbers must have the same length.")
        return rows
    number = in_si(value, unit)
    if positive and number < 0:
        raise InputError(f"this number must not be negative, {value!r} is.")
    if positive and not zero and number == 0:
        raise InputError("this number must be positive, not 0.")
    return number


def _shape(value) -> tuple:
    return (len(value), *_shape(value[0])) if isinstance(value, list) and value else ()


def _named(value) -> str:
    return {bool: "true or false", dict: "a table", list: "a list"}.get(type(value), repr(value))


def _reported(function, *given):
    """The result of a function; its `InputError` as an error of pydantic with the same message."""
    try:
        return function(*given)
    except InputError as problem:
        raise PydanticCustomError("quantity", "{message}", {"message": str(problem)}) from None


def _checked(function, *fixed):
    return BeforeValidator(lambda value: _reported(function, value, *fixed))


def _of_the_quantity(function):
    """A check of a key by the unit of the table's `quantity`."""

    def check(value, info):
        if value in (None, "") or "quantity" not in info.data:  # an unknown quantity is reported at its own key
            return value
        return _reported(function, value, QUANTITIES[info.data["quantity"]] or "1")

    return AfterValidator(check)


def _measures(unit: str, si_unit: str) -> str:
    from_si(1.0, unit, si_unit)
    return unit


ChannelUnit = Annotated[str, _of_the_quantity(_measures)]
"""A unit in which the table's quantity can be given."""

OfTheQuantity = Annotated[Any, _of_the_quantity(in_si)]
"""A number of the table's quantity: in SI units, or with a unit."""


def array_type(meaning: str = "", unit: str | None = "", positive: bool = False, zero: bool = True):
    """The type of a parameter: a number or array, with an optional unit that is checked against `unit`.

    positive: negative numbers are refused; zero: zero is accepted.
    """
    schema = WithJsonSchema(_schema(meaning, unit, positive, zero, array=True))
    return Annotated[Any, _checked(numbers, unit, positive, zero), schema]


@dataclass(frozen=True)
class Number:
    """Annotation of one number, with an optional unit that is checked against `unit`: `Annotated[float, Number()]`.

    unit_needed: a number without a unit is refused, for numbers that must not be misread.
    """

    meaning: str = ""
    unit: str | None = ""
    positive: bool = False
    unit_needed: bool = False

    def in_si(self, value) -> float:
        if self.unit_needed and (not isinstance(value, str) or _has_no_unit(value)):
            raise InputError(f'write the unit of this number, such as "{value} {self.unit}".')
        number = in_si(value, self.unit)
        if self.positive and not number > 0:
            raise InputError(f"a positive number was expected, not {value!r}.")
        return number

    def __get_pydantic_core_schema__(self, source, handler) -> core_schema.CoreSchema:
        check = lambda value: _reported(self.in_si, value)  # noqa: E731
        return core_schema.no_info_before_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(self, schema, handler) -> dict:
        described = _schema(self.meaning, self.unit, self.positive, False, array=False)
        if self.unit_needed:
            del described["anyOf"]
            described["type"] = "string"
        return described


def _has_no_unit(text: str) -> bool:
    """Whether a text is a number and nothing else."""
    return _NUMBER.fullmatch(text.strip()) is not None


@dataclass(frozen=True)
class OneOf:
    """Annotation of a text that is one of several names, as `Literal` is for names that are written out."""

    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source, handler) -> core_schema.CoreSchema:
        return core_schema.literal_schema(list(self.names))


def _schema(meaning: str, unit: str | None, positive: bool, zero: bool, array: bool) -> dict:
    number = {"type": "number"} | ({"minimum" if zero else "exclusiveMinimum": 0} if positive else {})
    choices = [number, {"type": "string", "description": "a number with a unit"}]
    if array:
        repeated = {
            "type": "object",
            "properties": {"value": {}, "count": {"type": "integer", "minimum": 1}},
            "required": ["value", "count"],
            "additionalProperties": False,
        }
        choices += [{"type": "array"}, repeated]
    described = meaning + (f" [{unit}]" if unit else "")
    return {"anyOf": choices, **({"description": described} if described else {}), **({"unit": unit} if unit else {})}
