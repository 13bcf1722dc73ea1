"""A table of a project file: a pydantic model that refuses unknown keys with the nearest valid name."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from vibrid.core.errors import nearest

MOST_PLUGINS = 100
"""The most plugin files of one project."""

Text = Annotated[str, WithJsonSchema({"type": ["string", "number"]})]
"""A text; a number is taken as its digits, as in `place = 0`."""

Plugins = Annotated[list[str], Field(max_length=MOST_PLUGINS)]
"""Names of plugin files (`project.plugins`)."""


class Section(BaseModel):
    """Base of every table. `words` is its name in messages; `target` is the class or function that it describes."""

    model_config = ConfigDict(
        extra="forbid", coerce_numbers_to_str=True, protected_namespaces=(), frozen=True, defer_build=True
    )
    words: ClassVar[str] = "this table"
    target: ClassVar[Any] = None

    @model_validator(mode="wrap")
    @classmethod
    def _reporting(cls, value, handler):
        """Messages about missing and unknown keys that name this table."""
        if not isinstance(value, dict):
            message = f"{cls.words} is a table, not {value!r}."
            raise PydanticCustomError("table", "{message}", {"message": message})
        try:
            return handler(value)
        except ValidationError as problem:
            errors = problem.errors(include_url=False)
            unknown = [str(e["loc"][0]) for e in errors if _own(e, "extra_forbidden")]
            meant = {name for key in unknown for name in get_close_matches(key, cls.model_fields, n=1)}
            lines = [cls._message(e) for e in errors if not (_own(e, "missing") and e["loc"][0] in meant)]
            raise ValidationError.from_exception_data(cls.__name__, lines) from None

    @classmethod
    def _message(cls, error) -> InitErrorDetails:
        key = error["loc"][-1] if error["loc"] else ""
        message = error["msg"]
        said = {"kind": error["type"], **(error.get("ctx") or {})}  # an error of an inner table keeps its own kind
        if _own(error, "extra_forbidden"):
            # keys that moved elsewhere, each with a message
            retired = {**getattr(cls, "retired", {}), **getattr(cls.target, "retired", {})}
            message = retired.get(key) or f"there is no '{key}' in {cls.words}; {nearest(key, cls.model_fields)}"
            said["meant"] = next(iter(get_close_matches(key, cls.model_fields, n=1)), "")
        elif _own(error, "missing"):
            message = f"{cls.words} needs '{key}'{cls._meaning(key)}."
        elif error["type"] in _MESSAGES:
            message = _MESSAGES[error["type"]](error)
            if error["type"] == "literal_error":
                said["meant"] = next(iter(get_close_matches(str(error["input"]), _valid(error), n=1)), "")
        kept = {name: said[name] for name in ("kind", "meant", "key") if name in said}
        kind = PydanticCustomError("said", "{message}", {"message": message, **kept})
        return InitErrorDetails(type=kind, loc=error["loc"], input=error["input"])

    @classmethod
    def _meaning(cls, key: str) -> str:
        field = cls.model_fields.get(key)
        return f" ({field.description})" if field is not None and field.description else ""


def _own(error, kind: str) -> bool:
    """Whether an error of this kind is about a key of the table itself."""
    return error["type"] == kind and len(error["loc"]) == 1


def _valid(error) -> list[str]:
    return [choice.strip("'") for choice in error["ctx"]["expected"].replace(" or ", ", ").split(", ")]


def _literal(error) -> str:
    return f"'{error['input']}' is not one of the names used here; {nearest(error['input'], _valid(error))}"


def _expected(kind: str):
    return lambda error: f"{kind} was expected, not {error['input']!r}."


def _beyond(words: str, key: str):
    return lambda error: f"the number must be {words} {error['ctx'][key]}, not {error['input']!r}."


_MESSAGES = {
    "missing": lambda error: "an entry is missing here.",
    "literal_error": _literal,
    "string_type": _expected("a text"),
    "int_type": _expected("a whole number"),
    "int_parsing": _expected("a whole number"),
    "int_from_float": _expected("a whole number"),
    "float_type": _expected("a number"),
    "float_parsing": _expected("a number"),
    "bool_type": _expected("true or false"),
    "bool_parsing": _expected("true or false"),
    "list_type": _expected("a list"),
    "tuple_type": _expected("a list"),
    "dict_type": _expected("a table"),
    "greater_than": _beyond("greater than", "gt"),
    "greater_than_equal": _beyond("at least", "ge"),
    "less_than_equal": _beyond("at most", "le"),
    "too_short": lambda error: f"the list needs at least {error['ctx']['min_length']} entries.",
    "too_long": lambda error: f"the list may have at most {error['ctx']['max_length']} entries.",
}
