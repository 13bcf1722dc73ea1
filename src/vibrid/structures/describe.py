"""Structures as plain text and back: names from the registries and numbers, never code or import paths."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import numpy as np

from vibrid.core.errors import InputError
from vibrid.core.missing import Missing, stand_in
from vibrid.core.registry import PACKAGE, Registry
from vibrid.laws.base import LAWS, Law, Parallel
from vibrid.laws.distributions import DISTRIBUTIONS, YieldDistribution
from vibrid.structures.base import STRUCTURES, Attachment, Structure
from vibrid.structures.constants import ConstantArray
from vibrid.structures.damping import DAMPINGS, Damping
from vibrid.structures.members import FrameMember, LeaningColumn, MemberLoad, PermanentLoad
from vibrid.structures.nodes import PointMass, Tie
from vibrid.structures.reduction import Reduced
from vibrid.structures.rigid_floors import FrameLine
from vibrid.structures.sections import FiberLayer, FiberSection, ReinforcedSection
from vibrid.structures.sensors import Sensor

_REGISTRIES = {
    "law": (Law, LAWS),
    "structure": (Structure, STRUCTURES),
    "damping": (Damping, DAMPINGS),
    "distribution": (YieldDistribution, DISTRIBUTIONS),
}
_PARTS = (Attachment, FrameLine, Parallel, PointMass, Reduced, Sensor, Tie)
_FIBRE_PARTS = (FiberLayer, FiberSection, FrameMember, LeaningColumn, MemberLoad, PermanentLoad, ReinforcedSection)
_PLAIN = {cls.__name__: cls for cls in (*_PARTS, *_FIBRE_PARTS)}


def describe(thing: Any) -> Any:
    """A structure, law, damping or sensor as dictionaries, lists, numbers and strings (ready for JSON)."""
    if isinstance(thing, eqx.Module):
        fields = {f.name: describe(getattr(thing, f.name)) for f in dataclasses.fields(thing)}
        return {**_name(thing), "fields": fields}
    if isinstance(thing, jax.Array | np.ndarray | np.generic):
        return {"numbers": np.asarray(thing, dtype=float).tolist()}
    if isinstance(thing, ConstantArray):
        return {"constant": thing.values.tolist()}
    if isinstance(thing, list | tuple):
        return [describe(part) for part in thing]
    if isinstance(thing, dict):
        return {"table": [[describe(k), describe(v)] for k, v in thing.items()]}
    if thing is None or isinstance(thing, str | bool | int | float):
        return thing
    raise InputError(f"{thing!r} cannot be written to a file.")


def registered_name(key: str, registry: Registry, cls: type) -> dict[str, Any]:
    """The name of a class in a file: {key: name}, and its plugin, where it is not of the package."""
    if issubclass(cls, Missing):
        return {key: cls.registered, "from": cls.source}
    name = registry.name_of(cls)
    origin = registry.origin(name)
    return {key: name} if origin == PACKAGE else {key: name, "from": origin.short or "of a Python session"}


def rebuilt(key: str, registry: Registry, base: type, text: dict[str, Any], fields: dict[str, Any]):
    """The object that a file names by `registered_name`, with these fields; a stand-in where its plugin is missing."""
    name = text[key]
    if "from" in text and name not in registry:
        return stand_in(registry.kind, str(name), str(text["from"]), base, fields)
    cls = registry[name]
    strange = set(fields) - {f.name for f in dataclasses.fields(cls)}
    if strange:
        raise InputError(
            f"A stored {cls.__name__} has fields this version does not know: {', '.join(sorted(strange))}."
        )
    return cls(**fields)


def _name(thing) -> dict[str, Any]:
    if type(thing).__name__ in _PLAIN and type(thing) is _PLAIN[type(thing).__name__]:
        return {"part": type(thing).__name__}
    for kind, (base, registry) in _REGISTRIES.items():
        if isinstance(thing, base):
            try:
                return registered_name(kind, registry, type(thing))
            except InputError:
                break
    raise InputError(
        f"{type(thing).__name__} is not registered, so a file cannot name it. Register your own law with "
        "@vibrid.laws.LAWS.register('its-name') before saving, and import it before loading."
    )


def rebuild(text: Any) -> Any:
    """The object that `describe` described; unknown names are refused, or replaced by stand-ins if of a plugin."""
    if isinstance(text, list):
        return tuple(rebuild(part) for part in text)
    if not isinstance(text, dict):
        return text
    if "numbers" in text:
        return np.asarray(text["numbers"], dtype=float)
    if "constant" in text:
        return ConstantArray(text["constant"])
    if "table" in text:
        return {rebuild(k): rebuild(v) for k, v in text["table"]}
    fields = {name: rebuild(value) for name, value in text.get("fields", {}).items()}
    for kind, (base, registry) in _REGISTRIES.items():
        if kind in text:
            return rebuilt(kind, registry, base, text, fields)
    if text.get("part") in _PLAIN:
        return _PLAIN[text["part"]](**fields)
    raise InputError("The file does not state what kind of part it describes.")
