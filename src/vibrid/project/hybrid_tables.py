"""The table of a hybrid test, made from the registries of devices, actuators and compensators."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, create_model

from vibrid.hybrid.actuator import DYNAMICS, Dynamics
from vibrid.hybrid.compensation import COMPENSATORS, Compensator
from vibrid.hybrid.device import SPECIMENS, LoopDevice
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.parts import Experimental, Modelled
from vibrid.hybrid.recorder import WHEN_FULL
from vibrid.project.maker import TableMaker
from vibrid.project.quantities import Number, OneOf
from vibrid.project.section import Section, Text
from vibrid.project.serving import LimitsTable

REGISTRIES = (SPECIMENS, DYNAMICS, COMPENSATORS)
"""The registries of the names in a hybrid test."""


class HybridTable(Section):
    """A hybrid test: tested and modelled devices with the structure, which is computed without them."""

    words: ClassVar[str] = "the hybrid test"
    integrator: Any = None
    experimental: Any = Field(default=[])
    modelled: Any = Field(default=[])
    substeps: int = Field(default=1, ge=1, le=1000, description="actuator commands in one step of the structure")
    rate: Annotated[float, Number("actuator commands per second", "Hz", positive=True)] = 1024.0
    interpolation: Literal["linear", "cubic"] = Field(default="linear", description="of commands inside a step")
    length_scale: Annotated[float, Number("length of the structure / of the devices", "", positive=True)] = 1.0
    force_scale: Annotated[float, Number("force of the structure / of the devices", "", positive=True)] = 1.0
    time_scale: Annotated[float, Number("time of the structure / of the laboratory", "", positive=True)] = 1.0
    watch: Text = Field(
        default="", description="place whose displacement is shown while the test runs; the top by default"
    )
    limits: LimitsTable = Field(default_factory=LimitsTable, description="safety limits of an external device")
    when_full: Annotated[str, OneOf(WHEN_FULL)] = Field(
        default="continue", description="what to do when the disk is full"
    )


def hybrid_table(maker: TableMaker, integrator, specimens: dict, dynamics: dict, compensators: dict) -> type[Section]:
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
    return create_model("HybridTable", __base__=HybridTable, **fields)
