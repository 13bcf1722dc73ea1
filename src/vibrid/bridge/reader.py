"""From recorded commands to the model that they describe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vibrid.bridge.description import (
    Constraint,
    Definition,
    FibreSection,
    LoadPattern,
    ScriptLoad,
    ScriptModel,
    ScriptNode,
)
from vibrid.bridge.fibre_sections import layer_fibres, patch_fibres
from vibrid.bridge.recording import Recording, ScriptCommand
from vibrid.bridge.script_elements import check_kind, element_of, is_known
from vibrid.core.errors import InputError


def models_of(recording: Recording) -> list[Recording]:
    """The models of a script, one for each stretch between `wipe` commands that has nodes."""
    parts: list[list[ScriptCommand]] = [[]]
    for command in recording.commands:
        if command.name == "wipe":
            parts.append([])
        else:
            parts[-1].append(command)
    return [
        Recording(recording.script, tuple(part), recording.ended, recording.answers)
        for part in parts
        if any(c.name == "node" for c in part)
    ]


def describe_commands(recording: Recording, foreign: bool = False) -> ScriptModel:
    """The model of a recording, from its last `wipe` on; `foreign` lists what has no counterpart here instead of
    refusing it."""
    reader = _Reader(ScriptModel(recording.script), foreign)
    last = max((i for i, c in enumerate(recording.commands) if c.name == "wipe"), default=-1)
    for command in recording.commands[last + 1 :]:
        reader.read(command)
    model = reader.model
    if recording.ended:
        model.notes.append(recording.ended)
    model.notes += recording.answers
    return model


_QUIET = frozenset(["timeSeries", "integrator", "analysis", "setTime", "domainChange", "eigen"])
"""Commands that need no entry: excitation and analysis are stated anew in vibrid."""


class _Reader:
    def __init__(self, model: ScriptModel, foreign: bool = False) -> None:
        self.foreign = foreign
        self.model, self.ndf, self.section, self.pattern, self.analysed = model, 0, 0, 0, False
        self.modes = 0  # that the last `eigen` found
        self.kinds: dict[str, Any] = {}

    def read(self, command: ScriptCommand) -> None:
        if command.name in _QUIET:
            if command.name in ("integrator", "analysis"):
                self.kinds[command.name] = command.arguments[:1]
            if command.name == "eigen":
                self.modes = next((int(v) for v in reversed(command.arguments) if not isinstance(v, str)), 0)
            return
        reader = getattr(self, f"_{command.name}", None)
        if reader is None:
            raise InputError(
                f"{command.where}: the command '{command.name}' is not understood, so the model would not be whole. "
                "Take it out if the structure does not need it."
            )
        try:
            reader(command.arguments, command.where)
        except (ValueError, IndexError, TypeError, KeyError) as problem:
            if isinstance(problem, InputError):
                raise
            said = " ".join(map(str, command.arguments[:8]))
            raise InputError(
                f"{command.where}: '{command.name} {said}' cannot be read as OpenSees writes it."
            ) from None

    # -- nodes -----------------------------------------------------------------------------------------------------

    def _model(self, given: Sequence[Any], where: str) -> None:
        if "-ndm" not in given:
            raise InputError(f"{where}: 'model' needs -ndm, the number of dimensions.")
        dimensions = int(given[given.index("-ndm") + 1])
        if self.model.nodes and dimensions != self.model.dimensions:
            raise InputError(
                f"{where}: -ndm changes while the model has nodes; give all nodes one number of dimensions."
            )
        self.model.dimensions = dimensions
        usual = {1: 1, 2: 3, 3: 6}[dimensions]
        self.ndf = int(given[given.index("-ndf") + 1]) if "-ndf" in given else usual

    def _node(self, given: Sequence[Any], where: str) -> None:
        if not self.ndf:
            raise InputError(f"{where}: a node comes before 'model', which says how many dimensions there are.")
        tag, size, n = int(given[0]), self.ndf, self.model.dimensions
        if tag in self.model.nodes:
            raise InputError(f"{where}: there are two nodes {tag}; the first is in {self.model.nodes[tag].where}.")
        at = tuple(float(v) for v in given[1 : 1 + n])
        if len(at) < n or any(isinstance(v, str) for v in given[1 : 1 + n]):
            raise InputError(f"{where}: node {tag} needs {n} coordinates.")
        rest = list(given[1 + n :])
        if "-ndf" in rest:
            size = int(rest[rest.index("-ndf") + 1])
        node = ScriptNode(tag, at, size, where)
        self.model.nodes[tag] = node
        if "-mass" in rest:
            start = rest.index("-mass") + 1
            self._set_mass(node, rest[start : start + size])
        self._only(rest, ("-mass", "-ndf"), f"{where}: node {tag}")

    @staticmethod
    def _only(given: Sequence[Any], options: Sequence[str], what: str) -> None:
        strange = [v for v in given if isinstance(v, str) and v not in options]
        if strange:
            raise InputError(f"{what} has the option '{strange[0]}', which is not understood. Take it out.")

    def _known(self, tag: Any, where: str) -> ScriptNode:
        if int(tag) not in self.model.nodes:
            raise InputError(f"{where}: there is no node {tag} yet.")
        return self.model.nodes[int(tag)]

    @staticmethod
    def _set_mass(node: ScriptNode, values: Sequence[Any]) -> None:
        masses = [float(v) for v in values]
        if min(masses, default=0.0) < 0:
            raise InputError(f"{node.where}: node {node.tag} has a negative mass.")
        node.mass = (masses + [0.0] * node.size)[: node.size]

    def _mass(self, given: Sequence[Any], where: str) -> None:
        self._set_mass(self._known(given[0], where), given[1:])

    def _fix(self, given: Sequence[Any], where: str) -> None:
        node = self._known(given[0], where)
        flags = [bool(int(v)) for v in given[1:]]
        if len(flags) != node.size:
            raise InputError(f"{where}: fix {node.tag} needs {node.size} numbers of 0 or 1, not {len(flags)}.")
        node.fixed = [a or b for a, b in zip(node.fixed, flags, strict=True)]

    def _fix_along(self, axis: int, given: Sequence[Any]) -> None:
        tolerance = float(given[given.index("-tol") + 1]) if "-tol" in given else 1e-10
        flags = [bool(int(v)) for v in given[1 : given.index("-tol") if "-tol" in given else None]]
        for node in self.model.nodes.values():
            if abs(node.at[axis] - float(given[0])) <= tolerance:
                node.fixed = [a or b for a, b in zip(node.fixed, flags, strict=False)]

    def _fixX(self, given: Sequence[Any], where: str) -> None:
        self._fix_along(0, given)

    def _fixY(self, given: Sequence[Any], where: str) -> None:
        self._fix_along(1, given)

    def _fixZ(self, given: Sequence[Any], where: str) -> None:
        self._fix_along(2, given)

    # -- constraints -----------------------------------------------------------------------------------------------

    def _equalDOF(self, given: Sequence[Any], where: str) -> None:
        for tag in given[:2]:
            self._known(tag, where)
        directions = tuple(int(v) for v in given[2:])
        self.model.constraints.append(Constraint("equal", int(given[0]), int(given[1]), directions, where))

    def _rigidLink(self, given: Sequence[Any], where: str) -> None:
        kind = {"beam": "beam", "-beam": "beam", "bar": "rod", "-bar": "rod", "rod": "rod"}.get(str(given[0]))
        if kind is None:
            raise InputError(f"{where}: a rigid link is of type beam or bar, not '{given[0]}'.")
        for tag in given[1:3]:
            self._known(tag, where)
        self.model.constraints.append(Constraint(kind, int(given[1]), int(given[2]), (), where))

    def _rigidDiaphragm(self, given: Sequence[Any], where: str) -> None:
        for tag in given[1:]:
            self._known(tag, where)
        for tag in given[2:]:
            made = Constraint("floor", int(given[1]), int(tag), (), where, normal=int(given[0]))
            self.model.constraints.append(made)

    # -- definitions -----------------------------------------------------------------------------------------------

    def _define(self, place: dict[int, Any], what: str, given: Sequence[Any], where: str) -> Definition:
        kind, tag = str(given[0]), int(given[1])
        if tag in place:
            first = place[tag]
            first = getattr(first, "definition", first)
            raise InputError(f"{where}: there are two {what}s {tag}; the first is in {first.where}.")
        return Definition(what, tag, kind, tuple(given[2:]), where)

    def _uniaxialMaterial(self, given: Sequence[Any], where: str) -> None:
        made = self._define(self.model.materials, "material", given, where)
        self.model.materials[made.tag] = made

    def _geomTransf(self, given: Sequence[Any], where: str) -> None:
        made = self._define(self.model.transformations, "transformation", given, where)
        if made.kind not in ("Linear", "PDelta", "Corotational"):
            raise made.refuse("is not known; use Linear.")
        self.model.transformations[made.tag] = made

    def _beamIntegration(self, given: Sequence[Any], where: str) -> None:
        made = self._define(self.model.integrations, "beamIntegration", given, where)
        self.model.integrations[made.tag] = made

    def _section(self, given: Sequence[Any], where: str) -> None:
        made = self._define(self.model.sections, "section", given, where)
        self.model.sections[made.tag] = made
        if made.kind in ("Fiber", "fiberSec"):
            self.model.fibres[made.tag] = FibreSection(made)
            self.section = made.tag
        elif made.kind != "Elastic" and self.foreign:
            self.model.foreign.append(made)
        elif made.kind != "Elastic":
            raise made.refuse("is not understood; sections are Fiber or Elastic.")

    def _fibres(self, where: str) -> list[tuple[float, float, float, int]]:
        if self.section not in self.model.fibres:
            raise InputError(f"{where}: fibres come after 'section Fiber'.")
        return self.model.fibres[self.section].fibres

    def _fiber(self, given: Sequence[Any], where: str) -> None:
        y, z, area, material = given[:4]
        self._fibres(where).append((float(y), float(z), float(area), int(material)))

    def _patch(self, given: Sequence[Any], where: str) -> None:
        self._fibres(where).extend(patch_fibres(given, where))

    def _layer(self, given: Sequence[Any], where: str) -> None:
        self._fibres(where).extend(layer_fibres(given, where))

    def _nDMaterial(self, given: Sequence[Any], where: str) -> None:
        made = Definition("nDMaterial", int(given[1]), str(given[0]), tuple(given[2:]), where)
        if not self.foreign:
            raise made.refuse(
                "is not understood; materials here have one direction (uniaxialMaterial); where OpenSeesPy "
                "runs, tangent='rest' (--tangent rest) takes its matrices."
            )
        self.model.foreign.append(made)

    # -- elements --------------------------------------------------------------------------------------------------

    def _element(self, given: Sequence[Any], where: str) -> None:
        made = self._define(self.model.elements, "element", given, where)
        if self.foreign and not is_known(made):
            if any(made.tag == other.tag for other in self.model.foreign if other.what == "element"):
                raise InputError(f"{where}: there are two elements {made.tag}.")
            self.model.foreign.append(made)
            return
        check_kind(made)
        for tag in made.values[:2]:
            self._known(tag, where)
        self.model.elements[made.tag] = element_of(made, self.model)

    # -- loads -----------------------------------------------------------------------------------------------------

    def _pattern(self, given: Sequence[Any], where: str) -> None:
        kind, tag = str(given[0]), int(given[1])
        if tag in self.model.patterns:
            raise InputError(f"{where}: there are two patterns {tag}.")
        self.model.patterns[tag] = LoadPattern(tag, kind, where, tuple(given[2:]))
        self.pattern = tag
        if kind in ("UniformExcitation", "MultipleSupport", "MultiSupport"):
            self.model.notes.append(
                f"{where}: the excitation {kind} is not part of the structure; give a record instead"
            )
        elif kind != "Plain":
            raise InputError(f"{where}: the pattern {kind} is not understood; use Plain.")

    def _load(self, given: Sequence[Any], where: str) -> None:
        node = self._known(given[0], where)
        values = tuple(float(v) for v in given[1:] if not isinstance(v, str))
        if len(values) < node.size or self.pattern not in self.model.patterns:
            raise InputError(f"{where}: a load at node {node.tag} needs a pattern and {node.size} numbers.")
        self.model.loads.append(ScriptLoad(self.pattern, node.tag, values[: node.size], False, where))

    def _eleLoad(self, given: Sequence[Any], where: str) -> None:
        words = list(given)
        kind = next((v for v in words if isinstance(v, str) and v.lstrip("-").startswith("beam")), "")
        if kind.lstrip("-") != "beamUniform":
            raise InputError(f"{where}: a load along an element is -beamUniform here, not '{kind or words}'.")
        tags: list[int] = []
        stop = words.index("-type")
        if "-ele" in words:
            tags = [int(v) for v in words[words.index("-ele") + 1 : stop]]
        elif "-range" in words:
            first, last = (int(v) for v in words[words.index("-range") + 1 : stop][:2])
            tags = [tag for tag in self.model.elements if first <= tag <= last]
        values = tuple(float(v) for v in words[words.index(kind) + 1 :])
        for tag in tags:
            if tag not in self.model.elements:
                raise InputError(f"{where}: there is no element {tag} yet.")
            self.model.loads.append(ScriptLoad(self.pattern, tag, values, True, where))

    def _sp(self, given: Sequence[Any], where: str) -> None:
        node, direction, value = self._known(given[0], where), int(given[1]), float(given[2])
        if value != 0.0:
            raise InputError(f"{where}: an imposed displacement (sp) is not part of a structure; take it out.")
        node.fixed[direction - 1] = True

    def _analyze(self, given: Sequence[Any], where: str) -> None:
        self.analysed = True

    def _loadConst(self, given: Sequence[Any], where: str) -> None:
        if self.analysed:
            self.model.held |= {tag for tag, p in self.model.patterns.items() if p.kind == "Plain"}

    # -- damping, changes ------------------------------------------------------------------------------------------

    def _rayleigh(self, given: Sequence[Any], where: str) -> None:
        a, b, c, d = (float(v) for v in given[:4])
        self.model.rayleigh, self.model.rayleigh_where = (a, b, c, d), where

    def _modalDamping(self, given: Sequence[Any], where: str) -> None:
        ratios = tuple(float(v) for v in given)
        if len(ratios) not in (1, self.modes) or not self.modes:
            raise InputError(
                f"{where}: modalDamping needs an eigen before it and one ratio, or one for each of its modes "
                f"({self.modes} here)."
            )
        self.model.modal = ratios * self.modes if len(ratios) == 1 else ratios
        if self.model.held:
            self.model.notes.append(
                f"{where}: the modes of modalDamping are those before any load here, and those under the permanent "
                "loads in OpenSees, which differ where parts are nonlinear"
            )

    def _region(self, given: Sequence[Any], where: str) -> None:
        if "-rayleigh" in given:
            raise InputError(f"{where}: damping of a region alone is not understood; use rayleigh for the whole model.")

    def _remove(self, given: Sequence[Any], where: str) -> None:
        if given[0] in ("recorders", "recorder", "timeSeries"):
            return
        if given[0] == "loadPattern":
            tag = int(given[1])
            self.model.patterns.pop(tag, None)
            self.model.loads = [load for load in self.model.loads if load.pattern != tag]
            self.model.held.discard(tag)
            return
        raise InputError(f"{where}: 'remove {given[0]}' changes the model while it runs; describe the final one.")
