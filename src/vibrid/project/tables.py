"""The tables of a project file, made from what is registered: a new law is known here the moment it is registered."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
import re
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Union

from pydantic import BeforeValidator, Discriminator, Field, Tag, create_model
from pydantic_core import PydanticCustomError

from vibrid.core.errors import nearest
from vibrid.core.parameters import as_number
from vibrid.core.registry import Registry
from vibrid.hybrid.actuator import DYNAMICS, Dynamics
from vibrid.hybrid.banded import BandedFrictionDamper
from vibrid.hybrid.compensation import COMPENSATORS, Compensator
from vibrid.hybrid.device import SPECIMENS, LoopDevice
from vibrid.hybrid.learned.answers import ScaledLaw
from vibrid.hybrid.learned.recipes import Recipe
from vibrid.hybrid.parts import Experimental, Modelled
from vibrid.hybrid.substructure import Connection
from vibrid.identification import METHODS
from vibrid.laws.base import LAWS, Law, Parallel
from vibrid.laws.distributions import DISTRIBUTIONS, YieldDistribution
from vibrid.project import sections
from vibrid.project.learning import TrainingTable
from vibrid.project.quantities import array_type, number_type
from vibrid.project.section import Section, Text
from vibrid.project.serving import SpecimenTable
from vibrid.simulation.base import INTEGRATORS
from vibrid.structures.base import STRUCTURES
from vibrid.structures.damping import DAMPINGS, Damping, Rayleigh

MOST_PARTS = 10_000
"""The most parts in one list, repetitions included."""
_DRAWN = {"banded-friction-damper-drawn": BandedFrictionDamper.drawn}


def project_file(plugins: bool = False) -> type[Section]:
    """The pydantic model of the whole file, for what is registered now; installed plugins too, if asked."""
    registries = (
        LAWS, DISTRIBUTIONS, STRUCTURES, DAMPINGS, INTEGRATORS, METHODS, SPECIMENS, DYNAMICS, COMPENSATORS,
    )  # fmt: skip
    return _project_file(tuple(tuple(_entries(known, plugins)) for known in registries))


def _entries(known: Registry, plugins: bool) -> list[tuple[str, type]]:
    return known.items() if plugins else known.present()


def specimen_file(plugins: bool = False) -> type[Section]:
    """The pydantic model of a file that describes a device to be served, for what is registered now."""
    maker = _Maker()
    maker.know_laws(*(dict(_entries(known, plugins)) for known in (LAWS, DISTRIBUTIONS)))
    known = {n: made for n, made in _entries(SPECIMENS, plugins) if not issubclass(made, Connection)}
    device = maker.choice("specimen", "kind", {**known, **_DRAWN})
    made = create_model("SpecimenFile", __base__=SpecimenTable, device=(device, Field(description="what is served")))
    made.__doc__ = "A device that `vibrid hybrid serve` offers to other programs."
    return made


def training_file(plugins: bool = False) -> type[Section]:
    """The pydantic model of a file that describes the training of a device model, for what is registered now."""
    maker = _Maker()
    maker.know_laws(*(dict(_entries(known, plugins)) for known in (LAWS, DISTRIBUTIONS)))
    recipe, law = maker.table(Recipe, "a recipe"), maker.table(ScaledLaw, "a law for any capacity")
    made = create_model(
        "TrainingFile",
        __base__=TrainingTable,
        recipe=(recipe | None, Field(None, description="how the model is made and trained")),
        law=(law | None, Field(None, description="the law of a law layer or a correction")),
    )
    made.__doc__ = "A training of a device model, for `vibrid hybrid train`."
    return made


def json_schema() -> dict:
    """The JSON schema of the project file, with every registered name and the parameters behind it."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **project_file(True).model_json_schema()}


@functools.lru_cache(maxsize=4)
def _project_file(known) -> type[Section]:
    laws, distributions, structures, dampings, integrators, methods, *devices = (dict(entries) for entries in known)
    maker = _Maker()
    maker.know_laws(laws, distributions)
    maker.choices[Damping] = maker.choice("damping", "kind", {**dampings, "rayleigh-ratios": Rayleigh.from_ratios})
    structure = maker.choice("structure", "kind", structures)
    integrator = maker.choice("integrator", "kind", integrators, or_name=True)
    simulation = create_model(
        "SimulationTable", __base__=sections.SimulationTable, integrator=(integrator | None, None)
    )
    method = maker.choice("method", "name", methods, or_name=True)
    hybrid = _hybrid_table(maker, integrator, *devices)
    made = create_model(
        "ProjectFile",
        __base__=sections.ProjectTable,
        structure=(structure, Field(description="what stands there")),
        simulation=(simulation, Field(default_factory=simulation, description="how it is computed")),
        method=(method | None, Field(None, description="how the unknowns are found")),
        hybrid=(hybrid | None, Field(None, description="a hybrid test of the structure with devices")),
    )
    made.__doc__ = "A vibrid project file."
    return made


def _hybrid_table(maker: _Maker, integrator, specimens: dict, dynamics: dict, compensators: dict) -> type[Section]:
    """The table of a hybrid test, with every registered specimen, dynamics of a machine, and compensator."""
    maker.choices[Dynamics] = maker.choice("dynamics", "kind", dynamics)
    maker.choices[Compensator] = maker.choice("compensator", "kind", compensators)
    maker.choices[LoopDevice] = maker.choice("specimen", "kind", {**specimens, **_DRAWN})
    tested, modelled = (list[maker.translate(kind)] for kind in (Experimental, Modelled))
    return create_model(
        "HybridTable",
        __base__=sections.HybridTable,
        integrator=(integrator | None, Field(None, description="an explicit one; mkr-alpha when not given")),
        experimental=(tested, Field([], max_length=100, description="devices that are tested")),
        modelled=(modelled, Field([], max_length=100, description="devices that are modelled beside them")),
    )


class _Maker:
    """Turns classes into tables. `choices` holds, for each base class, the tables that can stand for it."""

    def __init__(self):
        self.choices: dict[type, Any] = {}
        self.known: dict[str, dict[str, type[Section]]] = {}
        self.parts: dict[type, type[Section]] = {}

    def know_laws(self, laws: Mapping[str, type], distributions: Mapping[str, type]) -> None:
        """The tables that can stand for a law: simple ones, those that hold others, and several in parallel."""
        self.choices[YieldDistribution] = self.choice("distribution", "kind", distributions)
        self.choices[Law] = self.choice("law", "law", {n: c for n, c in laws.items() if not self.holds(c, Law)})
        self.choices[Law] = self.choice("law", "law", {n: c for n, c in laws.items() if self.holds(c, Law)})
        self.choices[Law] = self.choice("law", "law", {"parallel": Parallel})

    def choice(self, what: str, key: str, classes: Mapping[str, Any], or_name: bool = False):
        """The union of tables that say by `key` which registered class they describe."""
        known = self.known.setdefault(what, {})
        for name, target in classes.items():
            known[name] = self.table(target, f"{_article(name)} {name} {what}", {key: (Literal[name], ...)})
        described = dict(known)

        def check(value):
            if or_name and isinstance(value, str):
                value = {key: value}
            if not isinstance(value, dict) or key not in value:
                sentence = f'a {what} is a table that names itself: {{{key} = "{next(iter(described), "")}", ...}}.'
            elif value[key] not in described:
                sentence = f"there is no {what} called '{value[key]}'; {nearest(str(value[key]), described)}"
            else:
                return value
            raise PydanticCustomError("choice", "{sentence}", {"sentence": sentence})

        tagged = tuple(Annotated[table, Tag(f"<{name}>")] for name, table in described.items())
        union = tagged[0]
        if len(tagged) > 1:
            union = Annotated[_either(tagged), Discriminator(lambda value: f"<{value[key]}>")]
        written = union | Literal[tuple(described)] if or_name else union
        return Annotated[union, BeforeValidator(check, json_schema_input_type=written)]

    def table(self, target, words: str, more: dict | None = None) -> type[Section]:
        """The table of one class (or constructor): its own fields, and `count` where it can be repeated."""
        fields = dict(more or {}) | self.fields(target)
        if isinstance(target, type) and "count" not in fields:
            fields["count"] = (int, Field(1, ge=1, le=MOST_PARTS, description="how many times it is repeated"))
        name = re.sub(r"\W+", " ", words).title().replace(" ", "") + "Table"
        made = create_model(name, __base__=Section, **fields)
        made.words, made.target = words, target
        made.__doc__ = (inspect.getdoc(target) or "").split("\n\n")[0]
        return made

    def fields(self, target) -> dict:
        if not isinstance(target, type):
            hints, signature = typing.get_type_hints(target), inspect.signature(target)
            return {
                name: (self.translate(hints.get(name, object)), ... if p.default is p.empty else None)
                for name, p in signature.parameters.items()
            }
        hints = typing.get_type_hints(target)
        made = {}
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
            made[f.name] = (kind, Field(... if required else None, description=text))
        return made

    def holds(self, target: type, base: type) -> bool:
        """Whether a field of a class takes an instance of `base`."""
        return any(base in _leaves(hint) for hint in typing.get_type_hints(target).values())

    def translate(self, hint):
        """The pydantic type of a TOML value for a field with this type hint."""
        origin, inside = typing.get_origin(hint), typing.get_args(hint)
        if hint in (object, Any):
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
            return number_type(unit=None)
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

    @staticmethod
    def is_mapping(hint) -> bool:
        """Whether a tuple holds names with what belongs to them: in TOML a table, {0 = "fixed"}."""
        inside = typing.get_args(hint)
        return typing.get_origin(hint) is tuple and len(inside) == 2 and inside[0] is str and inside[1] is not ...

    def is_table(self, hint) -> bool:
        return isinstance(hint, type) and (dataclasses.is_dataclass(hint) or issubclass(hint, tuple(self.choices)))

    def union(self, members):
        """Members told apart by the shape of the value: a law, a damping, a list of laws, or something plain."""
        tables = {base: self.choices[base] for base in (Law, Damping) if base in members}
        lists = [m for m in members if typing.get_origin(m) in (tuple, list) and self.is_table(typing.get_args(m)[0])]
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
            if Law in tables and (Damping not in tables or (isinstance(value, dict) and "law" in value)):
                return "<Law>"
            return "<Damping>"

        return Annotated[_either(tagged), Discriminator(which)]


def _listed(value):
    """A single table where a list is wanted stands for a list of one, or of `count`."""
    return [value] if isinstance(value, dict) else value


def _either(members):
    """The union of types that are known only now."""
    return functools.reduce(operator.or_, members)


def _leaves(hint) -> set:
    inside = typing.get_args(hint)
    return set().union(*(_leaves(i) for i in inside)) if inside else {hint}


def _article(name: str) -> str:
    return "an" if name[:1].lower() in "aeiou" else "a"
