"""M, C and K of a recorded model by NumPy alone, in the units of the script: what a translation is compared with.

Nothing here uses the structures of vibrid. Every law stands with its slope at rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vibrid.bridge.beam_stiffness import basic_stiffness
from vibrid.bridge.description import (
    BarElement,
    BeamElement,
    ScriptModel,
    ScriptNode,
    SpringElement,
)
from vibrid.bridge.materials import first_slope
from vibrid.core.errors import InputError


@dataclass(frozen=True, eq=False)
class AssembledScript:
    """Matrices over all degrees of freedom, and the constraints `x = T q` with supports applied.

    `places` are (node, direction) of every degree of freedom, directions from 0; `damped` and `damped_mass`
    are the parts of K and M that Rayleigh damping follows.
    """

    places: tuple[tuple[int, int], ...]
    mass: np.ndarray
    stiffness: np.ndarray
    damped: np.ndarray
    damped_mass: np.ndarray
    dashpots: np.ndarray
    transformation: np.ndarray
    independent: tuple[int, ...]
    """The degree of freedom that each column of T is."""

    def reduced(self, matrix: np.ndarray) -> np.ndarray:
        return self.transformation.T @ matrix @ self.transformation

    def condensed(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(M, K, places with mass) after the degrees of freedom without mass are condensed out: exact, not Guyan's
        approximation, as no inertia is moved."""
        mass, stiffness = self.reduced(self.mass), self.reduced(self.stiffness)
        heavy = np.flatnonzero(np.abs(mass).max(axis=0) > 0)
        light = np.setdiff1d(np.arange(len(mass)), heavy)
        kept = stiffness[np.ix_(heavy, heavy)]
        if len(light):
            inner = stiffness[np.ix_(light, light)]
            _refuse_mechanism(inner, [self.places[self.independent[i]] for i in light])
            kept = kept - stiffness[np.ix_(heavy, light)] @ np.linalg.solve(inner, stiffness[np.ix_(light, heavy)])
        return mass[np.ix_(heavy, heavy)], kept, heavy

    def rayleigh(self, a: float, b: float) -> np.ndarray | None:
        """C of Rayleigh damping over the places with mass; None where places without mass are damped otherwise than
        they are stiff, so that they do not follow the others as in statics."""
        stiffness, damped = self.reduced(self.stiffness), self.reduced(self.damped)
        _, _, heavy = self.condensed()
        light = np.setdiff1d(np.arange(len(stiffness)), heavy)
        mass = self.reduced(self.damped_mass)[np.ix_(heavy, heavy)]
        if not b:
            return a * mass
        if not np.allclose(damped[light], stiffness[light], rtol=1e-12, atol=0.0):
            return None
        kept = damped[np.ix_(heavy, heavy)]
        if len(light):
            inner, across = stiffness[np.ix_(light, light)], stiffness[np.ix_(light, heavy)]
            kept = kept - across.T @ np.linalg.solve(inner, across)
        return a * mass + b * kept

    def modal(self, ratios: tuple[float, ...]) -> np.ndarray:
        """C of damping ratios of the lowest modes over the places with mass: Σ 2 ζ ω (M φ)(M φ)ᵀ."""
        from scipy.linalg import eigh

        mass, stiffness, _ = self.condensed()
        values, shapes = eigh(stiffness, mass)
        pairs = zip(ratios, np.sqrt(values.clip(min=0.0)), (mass @ shapes).T, strict=False)
        return sum((2 * ratio * omega * np.outer(moved, moved) for ratio, omega, moved in pairs), np.zeros(mass.shape))

    def eigenvalues(self) -> np.ndarray:
        """ω² of all modes, lowest first."""
        from scipy.linalg import eigh

        mass, stiffness, _ = self.condensed()
        return eigh(stiffness, mass, eigvals_only=True)


def _refuse_mechanism(inner: np.ndarray, places: list[tuple[int, int]]) -> None:
    scale = np.sqrt(np.maximum(np.diag(inner), 1e-300))
    values, vectors = np.linalg.eigh(inner / np.outer(scale, scale))
    if values[0] < 1e-13:
        node, direction = places[int(np.abs(vectors[:, 0]).argmax())]
        raise InputError(
            f"Node {node} can move freely in its degree of freedom {direction + 1}, which has neither mass nor "
            "stiffness; fix it or connect it."
        )


def assemble_model(model: ScriptModel) -> AssembledScript:
    """The matrices of a model; a part that is not understood is refused with its line."""
    places = [(node.tag, i) for node in model.nodes.values() for i in range(node.size)]
    number = {place: i for i, place in enumerate(places)}
    n = len(places)
    mass, stiffness, damped, damped_mass, dashpots = (np.zeros((n, n)) for _ in range(5))
    for node in model.nodes.values():
        for i, value in enumerate(node.mass):
            mass[number[node.tag, i], number[node.tag, i]] += value
    damped_mass += mass
    for element in model.elements.values():
        ends = [model.nodes[tag] for tag in element.nodes]
        if ends[0].size != ends[1].size:
            raise element.definition.refuse("joins nodes of different numbers of degrees of freedom.")
        dofs = [number[end.tag, i] for end in ends for i in range(end.size)]
        m, k, c, follows = _element_matrices(element, ends, model)
        where = np.ix_(dofs, dofs)
        mass[where] += m
        stiffness[where] += k
        dashpots[where] += c
        if follows:
            damped[where] += k
            damped_mass[where] += m
    transformation, independent = constraint_matrix(model, places)
    if not np.abs(transformation.T @ mass @ transformation).max(initial=0.0) > 0:
        raise InputError(
            f"{model.script}: the model has no mass that can move, so it has no dynamics; give its nodes a mass or its "
            "elements a density."
        )
    return AssembledScript(tuple(places), mass, stiffness, damped, damped_mass, dashpots, transformation, independent)


# -- constraints ---------------------------------------------------------------------------------------------------


def constraint_matrix(model: ScriptModel, places: list[tuple[int, int]]) -> tuple[np.ndarray, tuple[int, ...]]:
    """T (all, independent) of supports and constraints, and the degree of freedom of each of its columns."""
    number = {place: i for i, place in enumerate(places)}
    n = len(places)
    follows = np.eye(n)
    dependent: dict[int, str] = {}
    for constraint in model.constraints:
        retained, constrained = model.nodes[constraint.retained], model.nodes[constraint.constrained]
        for direction, row in _rigid_rows(constraint.kind, retained, constrained, constraint, model).items():
            here = number[constrained.tag, direction]
            if here in dependent:
                raise InputError(
                    f"{constraint.where}: degree of freedom {direction + 1} of node {constrained.tag} follows two "
                    f"nodes (see {dependent[here]}); constrain it once."
                )
            if constrained.fixed[direction]:
                raise InputError(
                    f"{constraint.where}: degree of freedom {direction + 1} of node {constrained.tag} is fixed and "
                    "follows another node; do one of both."
                )
            dependent[here] = constraint.where
            follows[here] = 0.0
            for i, value in enumerate(row):
                follows[here, number[retained.tag, i]] = value
    for _ in range(len(model.constraints)):  # nodes that follow nodes that follow others
        deeper = follows @ follows
        if np.array_equal(deeper, follows):
            break
        follows = deeper
    fixed = {number[tag, i] for tag, node in model.nodes.items() for i in range(node.size) if node.fixed[i]}
    independent = tuple(i for i in range(n) if i not in dependent and i not in fixed)
    return follows[:, list(independent)], independent


def constrained_directions(model: ScriptModel) -> set[tuple[int, int]]:
    """(node, direction) of every degree of freedom that follows another node."""
    return {
        (c.constrained, direction)
        for c in model.constraints
        for direction in _rigid_rows(c.kind, model.nodes[c.retained], model.nodes[c.constrained], c, model)
    }


def _rigid_rows(kind: str, retained: ScriptNode, constrained: ScriptNode, constraint, model) -> dict[int, np.ndarray]:
    """For each constrained degree of freedom its row over those of the retained node."""
    size = retained.size
    unit = np.eye(size)
    if kind == "equal":
        return {d - 1: unit[d - 1] for d in constraint.directions}
    if kind == "rod":
        return {d: unit[d] for d in range(model.dimensions)}
    arm = np.array(constrained.at) - np.array(retained.at)
    if model.dimensions == 2 and size == 3:
        rows = {0: unit[0] - arm[1] * unit[2], 1: unit[1] + arm[0] * unit[2], 2: unit[2]}
        if kind == "beam":
            return rows
    if model.dimensions == 3 and size == 6:
        x, y, z = arm
        rows = {
            0: unit[0] + z * unit[4] - y * unit[5],
            1: unit[1] - z * unit[3] + x * unit[5],
            2: unit[2] + y * unit[3] - x * unit[4],
            3: unit[3], 4: unit[4], 5: unit[5],
        }  # fmt: skip
        if kind == "beam":
            return rows
        first, second = {1: (1, 2), 2: (0, 2), 3: (0, 1)}[constraint.normal]
        turn = {1: 3, 2: 4, 3: 5}[constraint.normal]
        flat = [i for i in range(6) if i in (first, second, turn)]
        return {d: np.where(np.isin(np.arange(6), flat), rows[d], 0.0) for d in (first, second, turn)}
    raise InputError(f"{constraint.where}: this constraint needs nodes that rotate (three or six degrees of freedom).")


# -- elements ------------------------------------------------------------------------------------------------------


def _element_matrices(element, ends: list[ScriptNode], model: ScriptModel):
    """M, K, C of an element over the degrees of freedom of its nodes, and whether Rayleigh damping follows its K."""
    size = ends[0].size
    none = np.zeros((2 * size, 2 * size))
    if isinstance(element, SpringElement):
        k, c = none.copy(), none.copy()
        for material, direction in element.springs:
            row = spring_row(element, direction, ends, model)
            slope, viscosity = first_slope(model, material)
            k += slope * np.outer(row, row)
            c += viscosity * np.outer(row, row)
        return none, k, c, element.rayleigh
    length, axes = _axes(element, ends)
    if isinstance(element, BarElement):
        row = np.zeros(2 * size)
        row[: model.dimensions], row[size : size + model.dimensions] = -axes[0], axes[0]
        slope, viscosity = first_slope(model, element.material)
        pattern = np.outer(row, row) * element.area / length
        mass = none.copy()
        share = np.array([[2, 1], [1, 2]]) / 6 if element.consistent else np.eye(2) / 2
        for d in range(model.dimensions):
            mass[np.ix_([d, size + d], [d, size + d])] += element.mass * length * share
        return mass, slope * pattern, viscosity * pattern, element.rayleigh
    if model.dimensions == 2 and size == 3:
        return _plane_beam(element, ends, model)
    if model.dimensions == 3 and size == 6 and isinstance(element, BeamElement):
        return _space_beam(element, ends, model)
    raise element.definition.refuse(
        "joins nodes whose degrees of freedom do not fit it (three in the plane, six in space)."
    )


def _axes(element, ends: list[ScriptNode]) -> tuple[float, np.ndarray]:
    along = np.array(ends[1].at) - np.array(ends[0].at)
    length = float(np.linalg.norm(along))
    if length == 0:
        raise element.definition.refuse("has no length.")
    return length, (along / length)[None, :]


def spring_row(element: SpringElement, direction: int, ends: list[ScriptNode], model: ScriptModel) -> np.ndarray:
    """The deformation of one spring from the motion of both nodes."""
    x = np.array(element.x) / np.linalg.norm(element.x)
    z = np.cross(x, element.y)
    if not np.linalg.norm(z) > 0:
        raise element.definition.refuse("has parallel axes after -orient.")
    z = z / np.linalg.norm(z)
    axis = (x, np.cross(z, x), z)[(direction - 1) % 3]
    size, dimensions = ends[0].size, model.dimensions
    row = np.zeros(size)
    if direction <= 3:
        row[: min(dimensions, size)] = axis[: min(dimensions, size)]
    elif dimensions == 3 and size == 6:
        row[3:] = axis
    elif dimensions == 2 and size == 3 and direction == 6:
        row[2] = 1.0
    if not np.any(row) or direction not in range(1, 7):
        raise element.definition.refuse(f"acts in direction {direction}, which its nodes do not have.")
    return np.concatenate([-row, row])


def offsets_of(definition, dimensions: int) -> np.ndarray:
    """(2, dimensions): rigid offsets of a transformation at both ends."""
    values = list(definition.values)
    if "-jntOffset" not in values:
        return np.zeros((2, dimensions))
    start = values.index("-jntOffset") + 1
    return np.array([float(v) for v in values[start : start + 2 * dimensions]]).reshape(2, dimensions)


def _plane_beam(element, ends, model: ScriptModel):
    offsets = offsets_of(model.transformations[element.transformation], 2)
    first, last = (np.array(end.at) + offset for end, offset in zip(ends, offsets, strict=True))
    length = float(np.linalg.norm(last - first))
    c, s = (last - first) / length
    turn = np.zeros((6, 6))
    turn[:3, :3] = turn[3:, 3:] = [[c, s, 0], [-s, c, 0], [0, 0, 1]]
    rigid = np.eye(6)
    for k, offset in enumerate(offsets):
        rigid[3 * k, 3 * k + 2], rigid[3 * k + 1, 3 * k + 2] = -offset[1], offset[0]
    basic = np.array(
        [[-1, 0, 0, 1, 0, 0], [0, 1 / length, 1, 0, -1 / length, 0], [0, 1 / length, 0, 0, -1 / length, 1]]
    )
    local = basic.T @ basic_stiffness(element, length, model) @ basic
    mass = np.zeros((6, 6))
    if element.mass and element.consistent:
        across = np.array([[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]], float)
        turned = np.array([1.0, length, 1.0, length])
        across *= np.outer(turned, turned)
        mass[np.ix_([1, 2, 4, 5], [1, 2, 4, 5])] = element.mass * length / 420 * across
        mass[np.ix_([0, 3], [0, 3])] = element.mass * length / 6 * np.array([[2, 1], [1, 2]])
    elif element.mass:
        mass[[0, 1, 3, 4], [0, 1, 3, 4]] = element.mass * length / 2
    whole = turn @ rigid
    # OpenSees keeps a lumped mass at the nodes, also where an end is offset
    at_nodes = whole.T @ mass @ whole if element.consistent else turn.T @ mass @ turn
    return at_nodes, whole.T @ local @ whole, np.zeros((6, 6)), True


def _space_beam(element: BeamElement, ends, model: ScriptModel):
    definition = model.transformations[element.transformation]
    if element.release:
        raise element.definition.refuse("has released ends, which are read in the plane only.")
    if not np.allclose(offsets_of(definition, 3), 0.0):
        raise element.definition.refuse("has rigid offsets, which are read in the plane only; use rigidLink.")
    along = np.array(ends[1].at) - np.array(ends[0].at)
    length = float(np.linalg.norm(along))
    x = along / length
    y = np.cross(np.array(definition.numbers(3)[:3]), x)
    if not np.linalg.norm(y) > 0:
        raise definition.refuse(f"is parallel to element {element.definition.tag}; give another vecxz.")
    y = y / np.linalg.norm(y)
    axes = np.array([x, y, np.cross(x, y)])
    turn = np.kron(np.eye(4), axes)
    e, a, g, j, iy, iz = element.stiffness
    k = np.zeros((12, 12))
    k[np.ix_([0, 6], [0, 6])] = e * a / length * np.array([[1, -1], [-1, 1]])
    k[np.ix_([3, 9], [3, 9])] = g * j / length * np.array([[1, -1], [-1, 1]])
    for inertia, dofs, sign in ((iz, [1, 5, 7, 11], 1), (iy, [2, 4, 8, 10], -1)):
        b, h = e * inertia / length**3, sign * length
        block = b * np.array([[12, 6 * h, -12, 6 * h], [6 * h, 4 * h**2, -6 * h, 2 * h**2],
                              [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h**2, -6 * h, 4 * h**2]])  # fmt: skip
        k[np.ix_(dofs, dofs)] += block
    mass = np.zeros((12, 12))
    if element.mass and element.consistent:
        raise element.definition.refuse("has a consistent mass, which is read in the plane only; use a lumped one.")
    mass[[0, 1, 2, 6, 7, 8], [0, 1, 2, 6, 7, 8]] = element.mass * length / 2
    return turn.T @ mass @ turn, turn.T @ k @ turn, np.zeros((12, 12)), True
