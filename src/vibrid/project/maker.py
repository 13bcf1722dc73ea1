"""Classes as tables of a project file: their fields become keys, and registered classes are chosen by name.

A `TableMaker` is given the classes; it imports no other package of vibrid by itself.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
import re
import types
import typing
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Union

from pydantic import BeforeValidator, Discriminator, Field, Tag, create_model
from pydantic_core import PydanticCustomError

from vibrid.core.arguments import Numbers
from vibrid.core.errors import nearest
from vibrid.core.parameters import as_number
from vibrid.project.quantities import Number, array_type
from vibrid.project.section import Section, Text

MOST_PARTS = 10_000
"""The most parts in one list, repetitions included."""


class TableMaker:
    """Turns classes into tables. `choices` holds, for each base class, the tables that describe it.

    Arguments
        told_apart: base classes that are accepted at the same place (a law or a damping), each with the key that names
            its tables; a table with none of these keys is taken as one of the last.
    """

    def __init__(self, told_apart: Mapping[type, str]):
        self.told_apart = dict(told_apart)
        self.choices: dict[type, Any] = {}
        self.known: dict[str, dict[str, type[Section]]] = {}
        self.parts: dict[type, type[Section]] = {}

    def choice(self, what: str, key: str, classes: Mapping[str, Any], or_name: bool = False) -> Any:
        """The union of tables that name by `key` the registered class they describe."""
        known = self.known.setdefault(what, {})
        for name, target in classes.items():
            known[name] = self.table(target, f"{_article(name)} {name} {what}", {key: (Literal[name], ...)})
        described = dict(known)

        def check(value):
            if or_name and isinstance(value, str):
                value = {key: value}
            if not isinstance(value, dict) or key not in value:
                message = f'a {what} is a table with its name: {{{key} = "{next(iter(described), "")}", ...}}.'
                meant = ""
            elif not isinstance(value[key], str) or value[key] not in described:
                message = f"there is no {what} called '{value[key]}'; {nearest(str(value[key]), described)}"
                meant = next(iter(get_close_matches(str(value[key]), described, n=1)), "")
            else:
                return value
            said = {"message": message, "kind": "choice", "meant": meant, "key": key}
            raise PydanticCustomError("choice", "{message}", said)

        tagged = tuple(Annotated[table, Tag(f"<{name}>")] for name, table in described.items())
        if not tagged:
            return Annotated[Any, BeforeValidator(check)]  # which refuses every value
        union = tagged[0]
        if len(tagged) > 1:
            union = Annotated[_either(tagged), Discriminator(lambda value: f"<{value[key]}>")]
        written: Any = _either((union, Literal[tuple(described)])) if or_name else union
        return Annotated[union, BeforeValidator(check, json_schema_input_type=written)]

    def table(self, target, words: str, more: dict | None = None) -> type[Section]:
        """The table of one class (or constructor): its own fields, and `count` where it can be repeated."""
        fields = dict(more or {}) | self.fields(target)
        if isinstance(target, type) and "count" not in fields:
            fields["count"] = (int, Field(1, ge=1, le=MOST_PARTS, description="how many times it is repeated"))
        name = re.sub(r"\W+", " ", words).title().replace(" ", "") + "Table"
        model = create_model(name, __base__=Section, **fields)
        model.words, model.target = words, target
        model.__doc__ = (inspect.getdoc(target) or "").split("\n\n")[0]
        return model

    def fields(self, target) -> dict:
        if not isinstance(target, type):
            hints, signature = typing.get_type_hints(target), inspect.signature(target)
            return {
                name: (self.translate(hints.get(name, object)), ... if p.default is p.empty else None)
                for name, p in signature.parameters.items()
            }
        hints = typing.get_type_hints(target)
        fields = {}
        for f in dataclasses.fields(target):
            if not f.init:
                continue
            required = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
            declared = f.metadata.get("parameter")
            if declared is not None:
                kind = array_type(declared.meaning, declared.unit, declared.positive, declared.zero)
                text = declared.meaning + (f", {declared.unit}" if declared.unit else "")
            else:
                kind = array_type() if f.metadata.get("converter") is as_number else self.translate(hints[f.name])
                text = None
            fields[f.name] = (kind, Field(... if required else None, description=text))
        return fields

    def holds(self, target: type, base: type) -> bool:
        """Whether a field of a class takes an instance of `base`."""
        return any(base in _leaves(hint) for hint in typing.get_type_hints(target).values())

    def translate(self, hint):
        """The pydantic type of a TOML value for a field with this type hint."""
        origin, inside = typing.get_origin(hint), typing.get_args(hint)
        if hint in (object, Any, Numbers):
            return Any
        if origin in (Union, types.UnionType):
            return self.union(inside)
        if origin in (tuple, list, Sequence) or hint in (tuple, list):
            if not inside:
                return list
            if self.is_mapping(inside[0]):
                return dict[str, str | self.translate(typing.get_args(inside[0])[1])]
            if origin is tuple and Ellipsis not in inside:
                return tuple[tuple(self.translate(i) for i in inside)]
            listed = list[self.translate(inside[0])]
            if not self.is_table(inside[0]):
                return listed
            written = listed | self.translate(inside[0])
            return Annotated[listed, BeforeValidator(_listed, json_schema_input_type=written)]
        if origin in (dict, Mapping):
            return dict[str, self.translate(inside[1])]
        if hint is str:
            return Text
        if hint is float:
            return Annotated[float, Number(unit=None)]
        if isinstance(hint, type) and not isinstance(hint, types.GenericAlias):
            for base, choice in self.choices.items():
                if issubclass(hint, base):
                    return choice
            if dataclasses.is_dataclass(hint):
                if hint not in self.parts:
                    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", hint.__name__).lower()
                    self.parts[hint] = self.table(hint, f"{_article(words)} {words}")
                return self.parts[hint]
        return hint

    def by_keys(self, classes: list[type]):
        """Tables that are told apart by their keys: the class that has most of them; the first where several have."""
        keys = {cls.__name__: {f.name for f in dataclasses.fields(cls)} for cls in classes}
        tagged = tuple(Annotated[self.translate(cls), Tag(f"<{cls.__name__}>")] for cls in classes)

        def which(value):
            given = set(value) if isinstance(value, dict) else set()
            return f"<{max(keys, key=lambda name: len(given & keys[name]))}>"

        return Annotated[_either(tagged), Discriminator(which)]

    @staticmethod
    def is_mapping(hint) -> bool:
        """Whether a tuple holds pairs of a name and a value: in TOML a table, {0 = "fixed"}."""
        inside = typing.get_args(hint)
        return typing.get_origin(hint) is tuple and len(inside) == 2 and inside[0] is str and inside[1] is not ...

    def is_table(self, hint) -> bool:
        return isinstance(hint, type) and (dataclasses.is_dataclass(hint) or issubclass(hint, tuple(self.choices)))

    def union(self, members):
        """Members distinguished by the shape of the value: a law, a damping, a list of laws, or a plain value."""
        tables = {base: self.choices[base] for base in self.told_apart if base in members}
        lists = [m for m in members if typing.get_origin(m) in (tuple, list) and self.is_table(typing.get_args(m)[0])]
        classes = [m for m in members if isinstance(m, type) and dataclasses.is_dataclass(m)]
        if not tables and len(classes) > 1:
            return self.by_keys(classes)
        if not tables:
            return _either(self.translate(m) for m in members)
        tagged = [Annotated[choice, Tag(f"<{base.__name__}>")] for base, choice in tables.items()]
        if lists:
            listed = list[self.translate(typing.get_args(lists[0])[0])]
            tagged.append(Annotated[listed, BeforeValidator(_listed), Tag("<list>")])
        tagged += [Annotated[None, Tag("<none>")]]

        def which(value):
            if value is None:
                return "<none>"
            if lists and (isinstance(value, list) or (isinstance(value, dict) and value.get("count", 1) != 1)):
                return "<list>"
            named = [base for base in tables if isinstance(value, dict) and self.told_apart[base] in value]
            return f"<{(named or list(tables)[-1:])[0].__name__}>"

        return Annotated[_either(tagged), Discriminator(which)]


def _listed(value):
    """A single table in place of a list is a list of one, or of `count`."""
    return [value] if isinstance(value, dict) else value


def _either(members):
    """The union of types that are known at run time only."""
    return functools.reduce(operator.or_, members)


def _leaves(hint) -> set:
    inside = typing.get_args(hint)
    return set().union(*(_leaves(i) for i in inside)) if inside else {hint}


def _article(name: str) -> str:
    return "an" if name[:1].lower() in "aeiou" else "a"
