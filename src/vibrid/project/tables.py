"""The tables of a project file, made from the registries: a registered law is accepted at once."""

from __future__ import annotations

import functools
from typing import Any

from pydantic import Field, create_model

from vibrid.hybrid.actuator import DYNAMICS, Dynamics
from vibrid.hybrid.compensation import COMPENSATORS, Compensator
from vibrid.hybrid.device import SPECIMENS, LoopDevice
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.parts import Experimental, Modelled
from vibrid.identification import METHODS
from vibrid.laws.base import LAWS, Law
from vibrid.laws.distributions import DISTRIBUTIONS
from vibrid.project import sections
from vibrid.project.law_tables import maker_of_laws
from vibrid.project.maker import TableMaker
from vibrid.project.section import Section
from vibrid.project.serving import LimitsTable
from vibrid.project.study_tables import FitsTable, LawTable, RunLawTable, StudyTable
from vibrid.simulation.base import INTEGRATORS
from vibrid.structures.base import STRUCTURES
from vibrid.structures.damping import DAMPINGS, Damping

REGISTRIES = (LAWS, DISTRIBUTIONS, STRUCTURES, DAMPINGS, INTEGRATORS, METHODS, SPECIMENS, DYNAMICS, COMPENSATORS)
"""The registries of the names in a project file."""


def project_file(plugins: bool = False) -> type[sections.ProjectTable]:
    """The pydantic model of the whole file, with the names registered now; `plugins`: with installed plugins."""
    return _project_file(plugins, tuple(tuple(known.choices(plugins).items()) for known in REGISTRIES))


def json_schema() -> dict:
    """The JSON schema of the project file, with every registered name and its parameters."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **project_file(True).model_json_schema()}


@functools.lru_cache(maxsize=4)
def _project_file(plugins: bool, known) -> type[sections.ProjectTable]:
    """`known` is the content of the registries: the same names and classes give the same model."""
    maker = maker_of_laws(plugins)
    _, _, structures, dampings, integrators, methods, *devices = (dict(choices) for choices in known)
    maker.choices[Damping] = maker.choice("damping", "kind", dampings)
    structure = maker.choice("structure", "kind", structures)
    integrator = maker.choice("integrator", "kind", integrators, or_name=True)
    chosen: dict[str, Any] = {"integrator": (integrator | None, None)}
    simulation = create_model("SimulationTable", __base__=sections.SimulationTable, **chosen)
    method = maker.choice("method", "name", methods, or_name=True)
    hybrid = _hybrid_table(maker, integrator, *devices)
    fields: dict[str, Any] = {
        "structure": (structure, Field(description="the structure")),
        "simulation": (simulation, Field(default_factory=simulation, description="how the response is computed")),
        "method": (method | None, Field(None, description="the identification method")),
        "hybrid": (hybrid | None, Field(None, description="a hybrid test of the structure with devices")),
        "study": (_study_table(maker, method) | None, Field(None, description="many runs, or many fits")),
    }
    model = create_model("ProjectFile", __base__=sections.ProjectTable, **fields)
    model.__doc__ = "A vibrid project file."
    return model


def _study_table(maker: TableMaker, method) -> type[Section]:
    """The table of a study, with every registered law and method in its fits."""
    law: dict[str, Any] = {"law": (maker.choices[Law] | None, Field(None, description="that is fitted there"))}
    laws = create_model("LawTable", __base__=LawTable, **law)
    fits: dict[str, Any] = {
        "methods": (
            list[method] | dict[str, method],
            Field([], max_length=1000, description="methods, or methods by name; that of the project when not given"),
        ),
        "laws": (list[laws], Field([], max_length=1000, description="laws that are fitted in place of others")),
    }
    table = create_model("FitsTable", __base__=FitsTable, **fits)
    moving: dict[str, Any] = {"law": (maker.choices[Law] | None, Field(None, description="that stands there"))}
    others = create_model("RunLawTable", __base__=RunLawTable, **moving)
    given: dict[str, Any] = {
        "laws": (list[others], Field([], max_length=1000, description="laws in place of others, a dimension `law`")),
        "fits": (table | None, Field(None, description="fits, instead of responses")),
    }
    return create_model("StudyTable", __base__=StudyTable, **given)


def _hybrid_table(maker: TableMaker, integrator, specimens: dict, dynamics: dict, compensators: dict) -> type[Section]:
    """The table of a hybrid test, with every registered specimen, actuator dynamics, and compensator."""
    maker.choices[Dynamics] = maker.choice("dynamics", "kind", dynamics)
    maker.choices[Compensator] = maker.choice("compensator", "kind", compensators)
    maker.choices[LoopDevice] = maker.choice("specimen", "kind", specimens)
    maker.parts[SafetyLimits] = LimitsTable
    tested, modelled = (list[maker.translate(kind)] for kind in (Experimental, Modelled))
    fields: dict[str, Any] = {
        "integrator": (integrator | None, Field(None, description="an explicit one; mkr-alpha when not given")),
        "experimental": (tested, Field([], max_length=100, description="tested devices")),
        "modelled": (modelled, Field([], max_length=100, description="modelled devices")),
    }
    return create_model("HybridTable", __base__=sections.HybridTable, **fields)
