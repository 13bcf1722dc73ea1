"""Elements of a script: how OpenSees writes each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vibrid.bridge.description import (
    BarElement,
    BeamElement,
    Definition,
    Element,
    FibreElement,
    ScriptModel,
    SpringElement,
)

_BEAMS = {"elasticBeamColumn", "ElasticTimoshenkoBeam"}
_BARS = {"truss", "Truss"}
_SPRINGS = {"zeroLength", "ZeroLength"}
_FIBRE_BEAMS = {
    "forceBeamColumn": "force",
    "nonlinearBeamColumn": "force",
    "dispBeamColumn": "displacement",
    "forceBeamColumnCBDI": "",
}
_ADVICE = {
    "corotTruss": "has large displacements, which are not computed here; use truss.",
    "Truss2": "is not understood; use truss.",
    "twoNodeLink": "is not understood; use zeroLength between nodes at one place.",
    "elastomericBearingPlasticity": "is not understood; use zeroLength with a Steel01 or BoucWen material.",
}


def is_known(made: Definition) -> bool:
    """Whether the kind of an element is understood."""
    return made.kind in _BEAMS | _BARS | _SPRINGS or bool(_FIBRE_BEAMS.get(made.kind))


def check_kind(made: Definition) -> None:
    """Refuse an element whose kind is not understood."""
    if not is_known(made):
        raise made.refuse(
            _ADVICE.get(
                made.kind,
                "is not understood; elements are elasticBeamColumn, ElasticTimoshenkoBeam, truss, zeroLength, "
                "forceBeamColumn and dispBeamColumn. Where OpenSeesPy runs, tangent='rest' (--tangent rest) takes its "
                "matrices.",
            )
        )


def element_of(made: Definition, model: ScriptModel) -> Element:
    """The element of a definition of a known kind; refused with its line where an option is not understood."""
    if made.kind in _BEAMS:
        return _beam(made, model, made.kind == "ElasticTimoshenkoBeam")
    if made.kind in _BARS:
        return _bar(made, model)
    return _springs(made, model) if made.kind in _SPRINGS else _fibre_beam(made, model)


def _split(made: Definition, takes: dict[str, int]) -> tuple[list[Any], dict[str, list[Any]]]:
    """Values before the first option, and those of each option; `takes`: how many each has (−1: up to the next)."""
    values = list(made.values[2:])
    plain: list[Any] = []
    while values and not (isinstance(values[0], str) and values[0].startswith("-")):
        plain.append(values.pop(0))
    options: dict[str, list[Any]] = {}
    while values:
        name = str(values.pop(0))
        if name not in takes:
            raise made.refuse(f"has the option '{name}', which is not understood. Take it out.")
        count = takes[name]
        options[name] = []
        while values and (len(options[name]) < count if count >= 0 else not _is_option(values[0])):
            options[name].append(values.pop(0))
    return plain, options


def _is_option(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("-") and not value.lstrip("-")[:1].isdigit()


def _nodes(made: Definition) -> tuple[int, int]:
    return int(made.values[0]), int(made.values[1])


def _transformation(made: Definition, model: ScriptModel, tag: Any) -> int:
    if int(tag) not in model.transformations:
        raise made.refuse(f"names the transformation {tag}, which does not exist yet.")
    return int(tag)


def _elastic_section(made: Definition, model: ScriptModel, tag: int) -> tuple[float, ...]:
    if tag not in model.sections or model.sections[tag].kind != "Elastic":
        raise made.refuse(f"needs an Elastic section; section {tag} is none.")
    section = model.sections[tag]
    if model.dimensions == 2:
        e, a, i = section.numbers(3)[:3]
        return e, a, i
    e, a, iz, iy, g, j = section.numbers(6)[:6]
    return e, a, g, j, iy, iz


def _beam(made: Definition, model: ScriptModel, timoshenko: bool) -> BeamElement:
    takes = {"-mass": 1, "-cMass": 0, "-release": 1, "-releasez": 1}
    plain, options = _split(made, takes)
    shear = None
    if model.dimensions == 1:
        raise made.refuse("needs a model of two or three dimensions.")
    if timoshenko:
        if model.dimensions != 2 or len(plain) != 6:
            raise made.refuse("is read in the plane: E, G, A, I, shear area, transformation.")
        e, g, a, i, av, transformation = plain
        stiffness, shear = (e, a, i), (float(g), float(av))
    elif len(plain) == 2:
        stiffness, transformation = _elastic_section(made, model, int(plain[0])), plain[1]
    elif model.dimensions == 2 and len(plain) == 4:
        a, e, i, transformation = plain
        stiffness = (e, a, i)
    elif model.dimensions == 3 and len(plain) == 7:
        a, e, g, j, iy, iz, transformation = plain
        stiffness = (e, a, g, j, iy, iz)
    else:
        needed = "A, E, I, transformation" if model.dimensions == 2 else "A, E, G, J, Iy, Iz, transformation"
        raise made.refuse(f"needs {needed} after its nodes, not {len(plain)} values.")
    release = int((options.get("-release") or options.get("-releasez") or [0])[0])
    return BeamElement(
        made, _nodes(made), tuple(float(v) for v in stiffness), _transformation(made, model, transformation),
        float(options.get("-mass", [0.0])[0]), "-cMass" in options, shear, release,
    )  # fmt: skip


def _bar(made: Definition, model: ScriptModel) -> BarElement:
    plain, options = _split(made, {"-rho": 1, "-cMass": 1, "-doRayleigh": 1})
    if len(plain) != 2:
        raise made.refuse("needs its area and its material after its nodes; a section is not understood here.")
    if int(plain[1]) not in model.materials:
        raise made.refuse(f"names the material {plain[1]}, which does not exist yet.")
    given = {name: float(values[0]) if values else 1.0 for name, values in options.items()}
    return BarElement(
        made, _nodes(made), float(plain[0]), int(plain[1]), given.get("-rho", 0.0),
        bool(given.get("-cMass", 0)), bool(given.get("-doRayleigh", 0)),
    )  # fmt: skip


def _springs(made: Definition, model: ScriptModel) -> SpringElement:
    plain, options = _split(made, {"-mat": -1, "-dir": -1, "-orient": -1, "-doRayleigh": 1})
    materials, directions = options.get("-mat", []), options.get("-dir", [])
    if plain or not materials or len(materials) != len(directions):
        raise made.refuse("needs as many materials (-mat) as directions (-dir).")
    for tag in materials:
        if int(tag) not in model.materials:
            raise made.refuse(f"names the material {tag}, which does not exist yet.")
    orient = [float(v) for v in options.get("-orient", [])]
    if len(orient) not in (0, 3, 6):
        raise made.refuse("needs 3 or 6 numbers after -orient.")
    x = tuple(orient[:3]) or (1.0, 0.0, 0.0)
    y = tuple(orient[3:6]) or ((-x[1], x[0], 0.0) if len(orient) == 3 else (0.0, 1.0, 0.0))
    rayleigh = bool(float((options.get("-doRayleigh") or ["1"])[0])) if "-doRayleigh" in options else False
    springs = tuple((int(m), int(d)) for m, d in zip(materials, directions, strict=True))
    return SpringElement(made, _nodes(made), springs, x, y, rayleigh)  # type: ignore[arg-type]


def _fibre_beam(made: Definition, model: ScriptModel) -> FibreElement:
    plain, options = _split(made, {"-mass": 1, "-cMass": 0, "-iter": 2, "-integration": 1})
    rule: Sequence[Any]
    if len(plain) == 2:  # transformation, integration
        transformation, tag = plain
        if int(tag) not in model.integrations:
            raise made.refuse(f"names the beamIntegration {tag}, which does not exist yet.")
        integration = model.integrations[int(tag)]
        rule = (integration.kind, *integration.values)
    elif len(plain) == 3 and not any(isinstance(v, str) for v in plain):  # points, section, transformation
        points, section, transformation = plain
        usual = "Lobatto" if _FIBRE_BEAMS[made.kind] == "force" else "Legendre"
        rule = ((options.get("-integration") or [usual])[0], section, points)
    elif len(plain) >= 3 and isinstance(plain[1], str):  # transformation, rule written out
        transformation = plain[0]
        words = " ".join(map(str, plain[1:])).split()
        rule = (words[0], *(float(word) for word in words[1:]))
    else:
        raise made.refuse("needs a transformation and an integration after its nodes.")
    name, values = str(rule[0]), [float(v) for v in rule[1:]]
    if name in ("Lobatto", "Legendre", "Radau", "NewtonCotes") and len(values) >= 2:
        rule = (name, int(values[0]), int(values[1]))
    elif name == "HingeRadau" and len(values) >= 5:
        rule = (name, int(values[0]), values[1], int(values[2]), values[3], int(values[4]))
    else:
        raise made.refuse(f"has the integration {name}, which is not understood; use Lobatto, Legendre or HingeRadau.")
    for tag in [rule[i] for i in ((1, 3, 5) if name == "HingeRadau" else (1,))]:
        if tag not in model.sections:
            raise made.refuse(f"names the section {tag}, which does not exist.")
    return FibreElement(
        made, _nodes(made), _FIBRE_BEAMS[made.kind], tuple(rule), _transformation(made, model, transformation),
        float((options.get("-mass") or [0.0])[0]), "-cMass" in options,
    )  # fmt: skip
