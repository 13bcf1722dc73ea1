"""Arguments of public functions checked against their declared types, with a clear message for a wrong one.

`@checked` reads the annotations of a public function (or dataclass) and refuses wrong arguments before anything is
computed: a text instead of a number, a fraction instead of a count, a list of the wrong type, NaN. Ranges, such as that
of a damping ratio, are checked by the function itself.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import numbers
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from vibrid.core.errors import InputError

if TYPE_CHECKING:
    import jax

    Number: TypeAlias = float | np.number | np.ndarray | jax.Array
    Numbers: TypeAlias = Number | Sequence[Number] | Sequence[Sequence[Number]]
    Seed: TypeAlias = int
    Array: TypeAlias = np.ndarray | jax.Array

else:
    Array = object  # annotation of an array of either library; not checked

    class Numbers:
        """Annotation of an array argument: one finite number or more, of any shape that NumPy reads."""

    class Seed:
        """Annotation of a key: a whole number, not negative, the seed of everything random."""


Thing = TypeVar("Thing")


def checked(thing: Thing) -> Thing:
    """Decorate a public function, a method or a dataclass: its arguments are checked against their annotations."""
    given: Any = thing
    if isinstance(given, type):
        kind: Any = given
        kind.__init__ = _checking(kind.__init__, kind.__name__, owner=kind)
        return thing
    return _checking(given, given.__name__)


def _checking(function: Callable[..., Any], name: str, owner=None) -> Any:
    signature = inspect.signature(function)
    hints: dict[str, Any] = {}

    @functools.wraps(function)
    def call(*positional, **named):
        if not hints:
            hints.update(typing.get_type_hints(owner) if owner else _hints_of_arguments(function))
        given = signature.bind(*positional, **named).arguments
        for argument, value in given.items():
            variable = signature.parameters[argument].kind in (
                inspect.Parameter.VAR_KEYWORD,
                inspect.Parameter.VAR_POSITIONAL,
            )
            if argument in hints and not variable:
                check(value, hints[argument], argument, name)
        return function(*positional, **named)

    return call


def _hints_of_arguments(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of the arguments. The returned value is not checked; its type may be for type checkers only."""
    function = inspect.unwrap(function)
    taken = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    return typing.get_type_hints(types.SimpleNamespace(__annotations__=taken), function.__globals__)


def as_entries(value: Any, what: str) -> tuple[Any, ...]:
    """The entries of a list given by the user; a text, a number or a single object is refused."""
    if _is_list(value):
        return tuple(value)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        return tuple(value)
    raise InputError(f"A list of {what} was expected, not {_shown(value)}.")


def as_floats(value: object, what: str) -> tuple[float, ...]:
    """A list of finite numbers as a tuple."""
    entries = as_entries(value, what)
    for entry in entries:
        if not (_is_finite(entry) and np.isfinite(entry)):
            raise InputError(f"A list of {what} holds finite numbers, not {_shown(entry)}.")
    return tuple(float(entry) for entry in entries)


def check_fields(module: Any) -> None:
    """Refuse fields of a class with settings (`eqx.Module`) that do not fit their annotations."""
    hints = typing.get_type_hints(type(module))
    for field in dataclasses.fields(module):
        check(getattr(module, field.name), hints[field.name], field.name, type(module).__name__)


def check(value: object, hint: Any, argument: str, where: str) -> None:
    """Refuse a value that is not of the declared kind."""
    if not _fits(value, hint):
        raise InputError(f"'{argument}' of {where} is {_words(hint)}, not {_shown(value)}.")


def _fits(value, hint) -> bool:
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one) for one in inside)
    if origin is tuple or hint is tuple:
        return _is_list(value) and _each(value, inside)
    if origin in (list, Sequence, Iterable):
        return _is_list(value) and all(_fits(one, inside[0]) for one in value)
    if origin in (dict, Mapping) or hint is dict:
        return isinstance(value, Mapping)
    if origin is type:
        return isinstance(value, type)
    if hint is None or hint is type(None):
        return value is None
    if hint is Any:
        return True
    if hint in _PLAIN:
        return _PLAIN[hint][0](value)
    return isinstance(value, hint) if isinstance(hint, type) and hint is not object else True


def _is_list(value) -> bool:
    return isinstance(value, list | tuple) or getattr(value, "ndim", 0) > 0


def _each(value, inside) -> bool:
    """Whether the entries of a list fit `tuple[...]`."""
    if not inside:
        return True
    if inside[-1] is Ellipsis:
        return all(_fits(entry, inside[0]) for entry in value)
    return len(value) == len(inside) and all(_fits(entry, hint) for entry, hint in zip(value, inside, strict=True))


def _is_number(value) -> bool:
    if getattr(value, "ndim", None) == 0 and hasattr(value, "dtype"):
        return np.issubdtype(value.dtype, np.integer) or np.issubdtype(value.dtype, np.floating)
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_finite(value) -> bool:
    """A number that is not NaN; infinity is allowed. A traced number has no value yet."""
    return _is_number(value) and (not isinstance(value, numbers.Real) or not np.isnan(float(value)))


def _is_whole(value) -> bool:
    if not _is_number(value):
        return False
    if hasattr(value, "dtype"):
        return np.issubdtype(value.dtype, np.integer)
    return isinstance(value, numbers.Integral)


def _are_numbers(value) -> bool:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return False
    real = array.dtype.kind in "iuf"
    return real and array.size > 0 and bool(np.all(np.isfinite(array)))


_PLAIN = {
    float: (_is_finite, "a number"),
    int: (_is_whole, "a whole number"),
    str: (lambda value: isinstance(value, str), "a text"),
    bool: (lambda value: isinstance(value, bool | np.bool_), "True or False"),
    Numbers: (_are_numbers, "a finite number or an array of them"),
    Seed: (lambda value: _is_whole(value) and value >= 0, "a whole number that is not negative"),
    Callable: (callable, "a function"),
}


def _words(hint) -> str:
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(_words(one) for one in inside))
    if origin is tuple and inside and inside[-1] is not Ellipsis:
        return f"({', '.join(map(_words, inside))})"
    if origin in (list, tuple, Sequence, Iterable):
        return f"a list (each {_words(inside[0])})" if inside else "a list"
    if origin in (dict, Mapping) or hint is dict:
        return "a table"
    if origin is type:
        return "a class"
    if hint is None or hint is type(None):
        return "None"
    if hint in _PLAIN:
        return _PLAIN[hint][1]
    name = getattr(hint, "__name__", str(hint))
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"


def _shown(value) -> str:
    """A value in an error message: itself when it is short, else its type."""
    if isinstance(value, str | numbers.Number | type(None)):
        return repr(value) if len(repr(value)) < 60 else f"a {type(value).__name__}"
    if isinstance(value, list | tuple) and len(repr(value)) < 60:
        return repr(value)
    return f"{'an' if type(value).__name__[:1] in 'aeiouAEIOU' else 'a'} {type(value).__name__}"
