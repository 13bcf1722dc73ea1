"""The tables of a project file, made from the registries: a registered law is accepted at once."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field, create_model

from vibrid.identification.method import METHODS
from vibrid.laws.base import LAWS
from vibrid.laws.distributions import DISTRIBUTIONS
from vibrid.project import sections
from vibrid.project.law_tables import maker_of_laws
from vibrid.simulation.base import INTEGRATORS
from vibrid.structures.base import STRUCTURES
from vibrid.structures.damping import DAMPINGS, Damping

REGISTRIES = (LAWS, DISTRIBUTIONS, STRUCTURES, DAMPINGS, INTEGRATORS, METHODS)
"""The registries of the names in a project file, but for those of its hybrid test."""
ROOMS = ("hybrid", "study")
"""The tables of a project file that are made by packages which other files need not load."""


def project_file(data: Mapping[str, Any] | None = None) -> type[sections.ProjectTable]:
    """The pydantic model of the whole file, with every registered name, those of installed plugins too.

    data: the content of a file; the model then has only the tables and registered names that are in it. It accepts this
    file, and with the same result, where the whole model does; its messages know fewer names.
    """
    named, rooms = (None, ROOMS) if data is None else (texts(data), tuple(room for room in ROOMS if room in data))
    registries = [*REGISTRIES]
    if "hybrid" in rooms:
        from vibrid.project import hybrid_tables

        registries += hybrid_tables.REGISTRIES
    known = tuple(tuple(registry.choices(named).items()) for registry in registries)
    if named is not None:
        named &= {"parallel", *(name for choices in known for name, _ in choices)}
    return _project_file(named, rooms, known)


def json_schema() -> dict:
    """The JSON schema of the project file, with every registered name and its parameters."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **project_file().model_json_schema()}


def texts(data: Any) -> frozenset[str]:
    """All texts among the values of a file."""
    return frozenset(_texts(data))


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for value in data.values():
            yield from _texts(value)
    elif isinstance(data, list):
        for value in data:
            yield from _texts(value)


@functools.lru_cache(maxsize=4)
def _project_file(named: frozenset[str] | None, rooms: tuple[str, ...], known) -> type[sections.ProjectTable]:
    """`known` is the content of the registries: the same names and classes give the same model."""
    _, _, structures, dampings, integrators, methods, *devices = (dict(choices) for choices in known)
    maker = maker_of_laws(named)
    maker.choices[Damping] = maker.choice("damping", "kind", dampings)
    structure = maker.choice("structure", "kind", structures)
    integrator = maker.choice("integrator", "kind", integrators, or_name=True)
    chosen: dict[str, Any] = {"integrator": (integrator | None, None)}
    simulation = create_model("SimulationTable", __base__=sections.SimulationTable, **chosen)
    method = maker.choice("method", "name", methods, or_name=True)
    fields: dict[str, Any] = {
        "structure": (structure, Field(description="the structure")),
        "simulation": (simulation, Field(default_factory=simulation, description="how the response is computed")),
        "method": (method | None, Field(None, description="the identification method")),
    }
    if "hybrid" in rooms:
        from vibrid.project.hybrid_tables import hybrid_table

        hybrid = hybrid_table(maker, integrator, *devices)
        fields["hybrid"] = (hybrid | None, Field(None, description="a hybrid test of the structure with devices"))
    if "study" in rooms:
        from vibrid.project.study_tables import study_table

        study = study_table(maker, method)
        fields["study"] = (study | None, Field(None, description="many runs, or many fits"))
    model = create_model("ProjectFile", __base__=sections.ProjectTable, **fields)
    model.__doc__ = "A vibrid project file."
    return model
