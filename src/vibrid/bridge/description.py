"""The model that a script describes, in neutral words: nodes, materials, sections, elements, constraints, loads.

Numbers are those of the script, in its own units. Nothing is translated here and nothing is left out: a command that is
not understood is refused with its line.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from vibrid.core.errors import InputError


@dataclass
class ScriptNode:
    """A node: coordinates, mass and fixity of each degree of freedom."""

    tag: int
    at: tuple[float, ...]
    size: int
    where: str
    mass: list[float] = field(default_factory=list)
    fixed: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mass = self.mass or [0.0] * self.size
        self.fixed = self.fixed or [False] * self.size


@dataclass(frozen=True)
class Definition:
    """A material, section, transformation, integration or time series: its kind and its values as given."""

    what: str
    tag: int
    kind: str
    values: tuple[Any, ...]
    where: str

    @property
    def title(self) -> str:
        return f"{self.where}: {self.what} {self.tag} ({self.kind})"

    def refuse(self, why: str) -> InputError:
        return InputError(f"{self.title} {why}")

    def numbers(self, least: int) -> list[float]:
        """Its leading numbers; refused where they are fewer than it needs."""
        found = []
        for value in self.values:
            if isinstance(value, str):
                break
            found.append(float(value))
        if len(found) < least:
            raise self.refuse(f"needs {least} numbers after its tag, not {len(found)}.")
        return found


@dataclass
class FibreSection:
    """A section of fibres: (y, z, area, material) of each."""

    definition: Definition
    fibres: list[tuple[float, float, float, int]] = field(default_factory=list)


@dataclass(frozen=True)
class BeamElement:
    """A linear beam-column. In the plane `stiffness` is (E, A, I); in space (E, A, G, J, Iy, Iz)."""

    definition: Definition
    nodes: tuple[int, int]
    stiffness: tuple[float, ...]
    transformation: int
    mass: float = 0.0
    consistent: bool = False
    shear: tuple[float, float] | None = None  # G and shear area, in the plane
    release: int = 0


@dataclass(frozen=True)
class BarElement:
    """A truss element: area and uniaxial material."""

    definition: Definition
    nodes: tuple[int, int]
    area: float
    material: int
    mass: float = 0.0
    consistent: bool = False
    rayleigh: bool = False


@dataclass(frozen=True)
class SpringElement:
    """A zero-length element: (material, direction) of each spring, directions 1 to 3 along, 4 to 6 about its axes."""

    definition: Definition
    nodes: tuple[int, int]
    springs: tuple[tuple[int, int], ...]
    x: tuple[float, float, float] = (1.0, 0.0, 0.0)
    y: tuple[float, float, float] = (0.0, 1.0, 0.0)
    rayleigh: bool = False


@dataclass(frozen=True)
class FibreElement:
    """A beam-column with sections along it: `sections` and their rule (name, points or hinge lengths)."""

    definition: Definition
    nodes: tuple[int, int]
    formulation: str
    rule: tuple[Any, ...]
    transformation: int
    mass: float = 0.0
    consistent: bool = False


Element = BeamElement | BarElement | SpringElement | FibreElement


@dataclass(frozen=True)
class Constraint:
    """Degrees of freedom of one node that follow those of another: "equal", "beam", "rod" or "floor"."""

    kind: str
    retained: int
    constrained: int
    directions: tuple[int, ...]
    where: str
    normal: int = 0


@dataclass(frozen=True)
class LoadPattern:
    """A pattern of loads; `held` once loadConst kept it."""

    tag: int
    kind: str
    where: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class ScriptLoad:
    """A load of a pattern at a node, or along an element (wy, wx)."""

    pattern: int
    at: int
    values: tuple[float, ...]
    along: bool
    where: str


@dataclass
class ScriptModel:
    """All that a script says about one model."""

    script: str
    dimensions: int = 2
    nodes: dict[int, ScriptNode] = field(default_factory=dict)
    materials: dict[int, Definition] = field(default_factory=dict)
    sections: dict[int, Definition] = field(default_factory=dict)
    fibres: dict[int, FibreSection] = field(default_factory=dict)
    transformations: dict[int, Definition] = field(default_factory=dict)
    integrations: dict[int, Definition] = field(default_factory=dict)
    elements: dict[int, Element] = field(default_factory=dict)
    constraints: list[Constraint] = field(default_factory=list)
    patterns: dict[int, LoadPattern] = field(default_factory=dict)
    loads: list[ScriptLoad] = field(default_factory=list)
    held: set[int] = field(default_factory=set)
    rayleigh: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    rayleigh_where: str = ""
    modal: tuple[float, ...] = ()
    """Damping ratios of the lowest modes (modalDamping); the others have none."""
    notes: list[str] = field(default_factory=list)
    foreign: list[Definition] = field(default_factory=list)
    """Elements, sections and materials that have no counterpart here, where these are allowed."""

    @property
    def curved(self) -> list[Definition]:
        """Transformations of elements that are not linear."""
        used = {e.transformation for e in self.elements.values() if isinstance(e, BeamElement | FibreElement)}
        return [t for tag, t in self.transformations.items() if tag in used and t.kind != "Linear"]

    def straighten(self) -> None:
        """Make every transformation linear."""
        for tag, transformation in self.transformations.items():
            self.transformations[tag] = replace(transformation, kind="Linear")

    @property
    def permanent(self) -> list[ScriptLoad]:
        """Loads that an analysis applied and loadConst held."""
        return [load for load in self.loads if load.pattern in self.held]
