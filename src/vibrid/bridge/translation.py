"""Which structure of vibrid a recorded model is."""

from __future__ import annotations

import numpy as np

from vibrid.bridge.assembly import AssembledScript, spring_row
from vibrid.bridge.description import BeamElement, Element, FibreElement, ScriptModel, SpringElement
from vibrid.bridge.fibres import fibre_frame
from vibrid.bridge.materials import is_linear
from vibrid.bridge.native import NoCounterpart, Translation, linear_frame, linear_truss
from vibrid.bridge.plan import rigid_floors
from vibrid.bridge.springs import springs_alone
from vibrid.bridge.units import ScriptUnits


def translate(model: ScriptModel, assembled: AssembledScript, units: ScriptUnits) -> Translation:
    """The native structure; `NoCounterpart` names the part that has none."""
    kinds = {type(element) for element in model.elements.values()}
    sizes = {node.size for node in model.nodes.values()}
    if len(sizes) != 1:
        raise NoCounterpart(
            f"{model.script}: nodes have different numbers of degrees of freedom ({sorted(sizes)}), which no structure "
            "here has."
        )
    _refuse_loaded_springs(model, assembled)
    if kinds <= {SpringElement} and any(constraint.kind == "floor" for constraint in model.constraints):
        return rigid_floors(model, assembled, units)
    if kinds <= {SpringElement}:
        return springs_alone(model, assembled, units)
    if model.curved or not all(_is_linear_beam(e, model) for e in model.elements.values()):
        return fibre_frame(model, assembled, units)
    if model.dimensions == 2 and sizes == {3}:
        return linear_frame(model, assembled, units)
    if not kinds & {BeamElement, FibreElement} and sizes == {model.dimensions} and model.dimensions > 1:
        return linear_truss(model, assembled, units)
    raise NoCounterpart(
        f"{model.script}: beams in space have no native structure here; the model can be condensed to matrices."
    )


def _refuse_loaded_springs(model: ScriptModel, assembled: AssembledScript) -> None:
    """Refuse nonlinear springs that permanent loads deform: they would not begin at rest."""
    springs = [e for e in model.elements.values() if isinstance(e, SpringElement)]
    loose = [(e, m, d) for e in springs for m, d in e.springs if not is_linear(model, m)]
    if not loose or not model.permanent or any(isinstance(e, FibreElement) for e in model.elements.values()):
        return
    force = np.zeros(len(assembled.places))
    for load in model.permanent:
        if load.along:
            raise NoCounterpart(
                f"{load.where}: loads along elements with nonlinear springs in the model are not computed."
            )
        for d, value in enumerate(load.values):
            force[assembled.places.index((load.at, d))] += value
    t = assembled.transformation
    moved = t @ np.linalg.lstsq(assembled.reduced(assembled.stiffness), t.T @ force, rcond=None)[0]
    for element, material, direction in loose:
        ends = [model.nodes[tag] for tag in element.nodes]
        dofs = [assembled.places.index((end.tag, i)) for end in ends for i in range(end.size)]
        if abs(spring_row(element, direction, ends, model) @ moved[dofs]) > 1e-9 * np.abs(moved).max():
            raise NoCounterpart(
                f"{element.definition.title} has the nonlinear material {material} and is deformed by the permanent "
                "loads; springs begin at rest here. Take the loads out if they do not matter."
            )


def _is_linear_beam(element: Element, model: ScriptModel) -> bool:
    if not isinstance(element, FibreElement):
        return True
    tags = {element.rule[1]} if len(element.rule) == 3 else {element.rule[1], element.rule[3], element.rule[5]}
    return all(model.sections[tag].kind == "Elastic" for tag in tags)
