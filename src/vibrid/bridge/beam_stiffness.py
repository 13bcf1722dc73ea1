"""Stiffness of plane beams of a script over elongation and end rotations, with every law's slope at rest."""

from __future__ import annotations

import numpy as np

from vibrid.bridge.description import FibreElement, ScriptModel
from vibrid.bridge.materials import first_slope
from vibrid.core.errors import InputError


def basic_stiffness(element, length: float, model: ScriptModel) -> np.ndarray:
    """(3, 3) of elongation and the rotations of both ends."""
    if isinstance(element, FibreElement):
        return _fibre_stiffness(element, length, model)
    e, a, i = element.stiffness
    phi = 0.0
    if element.shear is not None:
        g, area = element.shear
        phi = 12 * e * i / (g * area * length**2)
    k = np.zeros((3, 3))
    k[0, 0] = e * a / length
    near, far = (4 + phi) / (1 + phi), (2 - phi) / (1 + phi)
    bend = e * i / length * np.array([[near, far], [far, near]])
    if element.release == 3:
        bend = np.zeros((2, 2))
    elif element.release:
        held, free = (1, 0) if element.release == 1 else (0, 1)
        bend = np.diag([bend[held, held] - bend[held, free] ** 2 / bend[free, free]] * 2)
        bend[free, free] = 0.0
    k[1:, 1:] = bend
    return k


def integration_points(rule: tuple, length: float) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Places and weights as shares of the length, and the section of each."""
    name = rule[0]
    if name == "HingeRadau":
        _, first, near, last, far, middle = rule
        a, b = near / length, far / length
        centre, half = 0.5 + 2 * (a - b), 0.5 - 2 * (a + b)
        gauss = half / np.sqrt(3)
        places = np.array([0, 8 / 3 * a, centre - gauss, centre + gauss, 1 - 8 / 3 * b, 1])
        return places, np.array([a, 3 * a, half, half, 3 * b, b]), [first, middle, middle, middle, middle, last]
    _, section, points = rule
    if name == "Legendre":
        x, w = np.polynomial.legendre.leggauss(points)
    elif name == "Lobatto":
        last = np.polynomial.legendre.Legendre.basis(points - 1)
        x = np.concatenate([[-1], np.sort(last.deriv().roots().real), [1]])
        w = 2 / (points * (points - 1) * last(x) ** 2)
    else:
        raise InputError(f"The integration {name} is not understood; use Lobatto, Legendre or HingeRadau.")
    return 0.5 * (x + 1), 0.5 * w, [section] * points


def section_stiffness(model: ScriptModel, tag: int) -> np.ndarray:
    """(2, 2): axial force and moment from strain and curvature at rest, `ε(y) = ε − y κ`."""
    if tag in model.fibres:
        total = np.zeros((2, 2))
        for y, _, area, material in model.fibres[tag].fibres:
            if material not in model.materials:
                raise model.sections[tag].refuse(f"names the material {material}, which does not exist.")
            row = np.array([1.0, -y])
            total += first_slope(model, material)[0] * area * np.outer(row, row)
        return total
    e, a, i = model.sections[tag].numbers(3)[:3]
    return np.diag([e * a, e * i])


def _fibre_stiffness(element: FibreElement, length: float, model: ScriptModel) -> np.ndarray:
    places, weights, sections = integration_points(element.rule, length)
    stiffness = [section_stiffness(model, tag) for tag in sections]
    total = np.zeros((3, 3))
    for s, w, k in zip(places, weights, stiffness, strict=True):
        if element.formulation == "force":
            b = np.array([[1, 0, 0], [0, s - 1, s]])
            total += w * length * b.T @ np.linalg.solve(k, b)
        else:
            b = np.array([[1, 0, 0], [0, 6 * s - 4, 6 * s - 2]]) / length
            total += w * length * b.T @ k @ b
    return np.linalg.inv(total) if element.formulation == "force" else total
