"""Fibre sections: a member's cross-section divided into layers, each with its material."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Numbers
from vibrid.core.errors import InputError
from vibrid.core.parameters import Parameter, Parameterised, parameter, refuse_lists
from vibrid.laws.base import Law
from vibrid.laws.material import Material

COVER_LAYERS, CORE_LAYERS = 5, 10


class ReinforcedSection(Parameterised):
    """A rectangular section of reinforced concrete, bent about its width.

    Arguments
        name: the name that members use.
        width, depth: m, across and along the plane of bending.
        cover: m, from the faces to the core.
        concrete: `KentPark` of the cover.
        core: `KentPark` of the core, usually stronger and tougher: `concrete.confined(…)`.
        steel: `MenegottoPinto` of the bars.
        bar_areas, bar_heights: m² and m, total area of each row of bars and its height above mid-depth.
        cover_layers, core_layers: into how many layers each cover (top and bottom) and the core are cut.
        side_cover: whether the core's sides are cover too; False gives the core the whole width.
        density: kg/m³, for the member's own mass; 0 by default.

    Bars displace no concrete. Moments are about mid-depth.
    """

    name: str = eqx.field(static=True, converter=str)
    width: Parameter = parameter("width of the section", "m", positive=True)
    depth: Parameter = parameter("depth of the section", "m", positive=True)
    cover: Parameter = parameter("from the faces to the core", "m", positive=True, zero=True)
    concrete: Law
    core: Law
    steel: Law
    bar_areas: Parameter = parameter("area of each row of bars", "m^2", positive=True, zero=True)
    bar_heights: Parameter = parameter("height of each row of bars above mid-depth", "m")
    cover_layers: int = eqx.field(static=True, default=COVER_LAYERS)
    core_layers: int = eqx.field(static=True, default=CORE_LAYERS)
    side_cover: bool = eqx.field(static=True, default=True)
    density: Parameter = parameter("density", "kg/m^3", positive=True, default=0.0)

    def __check_init__(self) -> None:
        for name in ("concrete", "core", "steel"):
            if not isinstance(getattr(self, name), Material):
                raise InputError(
                    f"'{name}' of section '{self.name}' needs a law of stress over strain (KentPark, MenegottoPinto), "
                    f"not {type(getattr(self, name)).__name__}."
                )
        refuse_lists(self, f"Section '{self.name}'", "width", "depth", "cover", "density")
        if np.ndim(self.bar_areas) != 1 or np.shape(self.bar_areas) != np.shape(self.bar_heights):
            raise InputError(
                f"Section '{self.name}' needs one area and one height for each row of bars, as two lists of one length."
            )
        if self.cover_layers < 1 or self.core_layers < 1:
            raise InputError(f"Section '{self.name}' needs at least one layer of cover and one of core.")

    @property
    def area(self) -> jax.Array:
        """m², of the concrete."""
        return self.width * self.depth

    @property
    def inertia(self) -> jax.Array:
        """m⁴, of the concrete."""
        return self.width * self.depth**3 / 12

    def layers(self) -> Any:
        """(material, heights, areas) of the cover, the core and the bars."""
        half, inner = 0.5 * self.depth, 0.5 * self.depth - self.cover
        edge = self.cover * (np.arange(self.cover_layers) + 0.5) / self.cover_layers
        middle = inner * (2 * (np.arange(self.core_layers) + 0.5) / self.core_layers - 1)
        outer = jnp.full(self.cover_layers, self.width * self.cover / self.cover_layers)
        thick = 2 * inner / self.core_layers
        cover = [-half + edge, half - edge], [outer, outer]
        side = self.cover if self.side_cover else 0.0
        if self.side_cover:
            cover = cover[0] + [middle], cover[1] + [jnp.full(self.core_layers, 2 * side * thick)]
        core = jnp.full(self.core_layers, (self.width - 2 * side) * thick)
        return [
            (self.concrete, jnp.concatenate(cover[0]), jnp.concatenate(cover[1])),
            (self.core, middle, core),
            (self.steel, self.bar_heights, self.bar_areas),
        ]


class FiberLayer(Parameterised):
    """Fibres of one material in a section.

    Arguments
        material: a law of stress over strain.
        heights, areas: m and m², of each fibre, heights above the axis of the member.
    """

    material: Law
    heights: Parameter = parameter("height of each fibre above the axis", "m")
    areas: Parameter = parameter("area of each fibre", "m^2", positive=True, zero=True)

    def __check_init__(self) -> None:
        if not isinstance(self.material, Material):
            raise InputError(
                f"The fibres of a section need a law of stress over strain (KentPark, MenegottoPinto), not "
                f"{type(self.material).__name__}."
            )
        if np.ndim(self.areas) != 1 or np.shape(self.areas) != np.shape(self.heights):
            raise InputError("Fibres need one height and one area each, as two lists of one length.")


class FiberSection(Parameterised):
    """A section given by its fibres, of any shape and any materials, bent in the plane of the frame.

    Arguments
        name: the name that members use.
        fibres: `FiberLayer`s, one for each material.
        density: kg/m³ of all fibres, for the member's own mass; 0 by default.
    """

    name: str = eqx.field(static=True, converter=str)
    fibres: tuple[FiberLayer, ...] = eqx.field(converter=tuple)
    density: Parameter = parameter("density", "kg/m^3", positive=True, default=0.0)

    def __check_init__(self) -> None:
        if not self.fibres:
            raise InputError(f"Section '{self.name}' has no fibres.")
        refuse_lists(self, f"Section '{self.name}'", "density")

    @property
    def area(self) -> jax.Array:
        """m², of all fibres."""
        return jnp.sum(jnp.concatenate([layer.areas for layer in self.fibres]))

    @property
    def depth(self) -> jax.Array:
        """m, between the outermost fibres."""
        return jnp.ptp(jnp.concatenate([layer.heights for layer in self.fibres]))

    def layers(self) -> Any:
        """(material, heights, areas) of the fibres of each material."""
        return [(layer.material, layer.heights, layer.areas) for layer in self.fibres]


class Fibres(eqx.Module):
    """Fibres of one type of material: parameters, heights (m) and areas (m²), one of each a fibre."""

    material: Material
    heights: jax.Array
    areas: jax.Array


def gather_fibres(section: ReinforcedSection | FiberSection) -> tuple[Fibres, ...]:
    """The fibres of a section, those of one type of material together so that they are one evaluation."""
    kinds: dict[Any, Any] = {}
    for material, heights, areas in section.layers():
        kinds.setdefault(jax.tree.structure(material), []).append((material, heights, areas))
    groups = []
    for members in kinds.values():
        sizes = [len(heights) for _, heights, _ in members]

        def spread(*leaves, sizes=sizes):
            return jnp.concatenate([jnp.broadcast_to(leaf, (n,)) for leaf, n in zip(leaves, sizes, strict=True)])

        material = jax.tree.map(spread, *[m[0] for m in members])
        groups.append(Fibres(material, *(jnp.concatenate([m[k] for m in members]) for k in (1, 2))))
    return tuple(groups)


def _filled(own: Fibres | None, other: Fibres, count: int) -> Fibres:
    """Fibres filled up to a number with fibres without area; all of them where a section has none of this type."""
    given = 0 if own is None else len(own.heights)
    source = other if own is None else own

    def fill(leaf):
        return jnp.concatenate([leaf[:given], jnp.broadcast_to(leaf[-1], (count - given,))])

    material = jax.tree.map(fill, source.material)
    none = jnp.zeros(count - given)
    sizes = [jnp.zeros(0)] * 2 if own is None else [own.heights, own.areas]
    return Fibres(material, *(jnp.concatenate([numbers, none]) for numbers in sizes))


def stack_fibres(sections: tuple[ReinforcedSection | FiberSection, ...]) -> tuple[Fibres, ...]:
    """The fibres of several sections with a leading axis over the sections, filled up to the same numbers."""
    gathered = [{jax.tree.structure(f.material): f for f in gather_fibres(section)} for section in sections]
    kinds = {kind: fibres for own in reversed(gathered) for kind, fibres in own.items()}
    order = list(dict.fromkeys(kind for own in gathered for kind in own))
    stacked = []
    for kind in order:
        count = max(len(own[kind].heights) for own in gathered if kind in own)
        same = [_filled(own.get(kind), kinds[kind], count) for own in gathered]
        stacked.append(jax.tree.map(lambda *leaves: jnp.stack(leaves), *same))
    return tuple(stacked)


class SectionResponse(eqx.Module):
    """Resultants of a section (or of many along the leading axes): axial force N, moment M and their tangents."""

    axial: jax.Array
    moment: jax.Array
    axial_stiffness: jax.Array  # dN/dε
    coupling: jax.Array  # dN/dκ = dM/dε
    bending_stiffness: jax.Array  # dM/dκ


def respond(
    fibres: tuple[Fibres, ...], states: tuple[Any, ...], strain: jax.Array, curvature: jax.Array
) -> tuple[SectionResponse, tuple]:
    """Resultants and new fibre states of sections (…,) at axial strain and curvature: `ε(y) = ε − y κ`."""
    stress, tangent, after = [], [], []
    for kind, state in zip(fibres, states, strict=True):
        at = strain[..., None] - curvature[..., None] * kind.heights
        one, slope, new = kind.material.respond(state, at)
        stress.append(one)
        tangent.append(slope)
        after.append(new)
    heights = jnp.concatenate([kind.heights for kind in fibres])
    areas = jnp.concatenate([kind.areas for kind in fibres])
    stress, tangent = (jnp.concatenate(values, axis=-1) for values in (stress, tangent))
    arm = -areas * heights
    response = SectionResponse(
        jnp.sum(stress * areas, axis=-1),
        jnp.sum(stress * arm, axis=-1),
        jnp.sum(tangent * areas, axis=-1),
        jnp.sum(tangent * arm, axis=-1),
        jnp.sum(tangent * (-arm * heights), axis=-1),
    )
    return response, tuple(after)


def initial_stiffness(fibres: tuple[Fibres, ...]) -> jax.Array:
    """(3,) dN/dε, dN/dκ and dM/dκ of a section at rest, all its concrete working."""
    total = jnp.zeros(3)
    for kind in fibres:
        stiff = kind.material.initial_modulus() * kind.areas
        total = total + jnp.stack([jnp.sum(stiff * (-kind.heights) ** power) for power in range(3)])
    return total


def start_states(fibres: tuple[Fibres, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """States of the fibres at rest, for sections of the given `shape`."""

    def spread(leaf, kind):
        return jnp.broadcast_to(leaf, (*shape, kind.heights.shape[0]))

    return tuple(jax.tree.map(lambda leaf, k=kind: spread(leaf, k), kind.material.start()) for kind in fibres)


@eqx.filter_jit
def moment_curvature(
    section: ReinforcedSection, curvatures: Numbers, axial_force: float = 0.0, iterations: int = 20
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Moment in N m and axial strain over a path of curvatures (1/m), axial force (N, tension positive) held.

    The axial strain is found by Newton's method in every step; the third array is its residual of the axial force in
    N.
    """
    fibres = gather_fibres(section)

    def step(carry, curvature):
        strain, states = carry

        def correct(strain, _):
            response, _ = respond(fibres, states, strain, curvature)
            return strain + (axial_force - response.axial) / response.axial_stiffness, None

        strain, _ = jax.lax.scan(correct, strain, length=iterations)
        response, states = respond(fibres, states, strain, curvature)
        return (strain, states), (response.moment, strain, axial_force - response.axial)

    return jax.lax.scan(step, (jnp.zeros(()), start_states(fibres, ())), jnp.asarray(curvatures, float))[1]
