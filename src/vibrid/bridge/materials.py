"""Uniaxial materials of OpenSees: the slope at rest, and the law of vibrid that is the same.

A material is used for stress over strain (fibres, bars), for force over deformation or for moment over rotation
(zero-length springs). `unit` holds the factors to SI of its "stress" and of its "strain" in that use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vibrid.bridge.description import Definition, ScriptModel
from vibrid.bridge.hinges import HINGES, fatigue_law, friction_gap
from vibrid.bridge.material_numbers import MaterialUse, bilinear_numbers, inner_material, steel_bends, yield_stress

if TYPE_CHECKING:
    from vibrid.laws.base import Law


def first_slope(model: ScriptModel, tag: int) -> tuple[float, float]:
    """Stiffness and viscosity of a material at rest, in the units of the script."""
    material = model.materials[tag]
    if material.kind not in _SLOPES:
        raise _not_understood(material)
    return _SLOPES[material.kind](material, model)


def is_linear(model: ScriptModel, tag: int) -> bool:
    """Whether a material is linear."""
    material = model.materials[tag]
    if material.kind == "Parallel":
        return all(is_linear(model, int(t)) for t in material.numbers(1))
    if material.kind == "Viscous":
        return material.numbers(2)[1] == 1.0
    return material.kind == "Elastic" and len(material.numbers(1)) < 3


def _not_understood(material: Definition) -> Exception:
    return material.refuse(
        f"is not understood; materials are {', '.join(sorted(_SLOPES))}. Put one of these in its place, or take the "
        "matrices of OpenSees where OpenSeesPy runs (tangent='rest', --tangent rest)."
    )


def _elastic(material: Definition, model: ScriptModel) -> tuple[float, float]:
    values = material.numbers(1)
    if len(values) > 2 and values[2] != values[0]:
        raise material.refuse("has another modulus in compression; use one modulus, or ElasticPP.")
    return values[0], (values[1] if len(values) > 1 else 0.0)


def _parallel(material: Definition, model: ScriptModel) -> tuple[float, float]:
    if "-factors" in material.values:
        raise material.refuse("has factors; give the materials their final values instead.")
    parts = [first_slope(model, int(tag)) for tag in material.numbers(1)]
    return sum(k for k, _ in parts), sum(c for _, c in parts)


def _bouc_wen(material: Definition, model: ScriptModel) -> tuple[float, float]:
    alpha, k, _, _, _, a0 = material.numbers(6)[:6]
    return k * (alpha + (1 - alpha) * a0), 0.0


def _viscous(material: Definition, model: ScriptModel) -> tuple[float, float]:
    c, exponent = material.numbers(2)[:2]
    return 0.0, c if exponent == 1.0 else 0.0


def _concrete01(material: Definition, model: ScriptModel) -> tuple[float, float]:
    strength, strain = material.numbers(4)[:2]
    return 2.0 * strength / strain, 0.0


def _gap(material: Definition, model: ScriptModel) -> tuple[float, float]:
    """Half of the stiffness where there is no gap: at rest it acts on one of two sides."""
    stiffness, _, gap = material.numbers(3)[:3]
    return (0.5 * stiffness if gap == 0.0 else 0.0), 0.0


def _fatigue(material: Definition, model: ScriptModel) -> tuple[float, float]:
    return first_slope(model, inner_material(material, model).tag)


_SLOPES: dict[str, Callable[[Definition, ScriptModel], tuple[float, float]]] = {
    "Elastic": _elastic,
    "ElasticPP": lambda material, model: (material.numbers(2)[0], 0.0),
    "Steel01": lambda material, model: (material.numbers(3)[1], 0.0),
    "Steel02": lambda material, model: (material.numbers(3)[1], 0.0),
    "Concrete01": _concrete01,
    "BoucWen": _bouc_wen,
    "Viscous": _viscous,
    "Parallel": _parallel,
    "ElasticPPGap": _gap,
    "Fatigue": _fatigue,
    "Hysteretic": lambda material, model: (material.numbers(2)[0] / material.numbers(2)[1], 0.0),
    "IMKBilin": lambda material, model: (material.numbers(21)[0], 0.0),
    "IMKPeakOriented": lambda material, model: (material.numbers(23)[0], 0.0),
    "IMKPinching": lambda material, model: (material.numbers(25)[0], 0.0),
}


# -- laws of springs -----------------------------------------------------------------------------------------------


def spring_law(model: ScriptModel, tag: int, use: MaterialUse) -> Law:
    """The law of force over deformation that a material is, in SI units."""
    from vibrid import laws

    material = model.materials[tag]
    stiff = use.stress / use.strain
    if material.kind == "Elastic":
        k, c = _elastic(material, model)
        return laws.Linear(k * stiff, c * stiff * use.time) if k else laws.Viscous(c * stiff * use.time)
    if material.kind in ("ElasticPP", "Steel01"):
        k, strain, ratio = bilinear_numbers(material)
        return laws.Bilinear(k * stiff, strain * use.strain, ratio)
    if material.kind == "Steel02":
        k, _, ratio = bilinear_numbers(material)
        return laws.GiuffreMenegottoPinto(k * stiff, yield_stress(material) * use.stress, ratio, *steel_bends(material))
    if material.kind == "BoucWen":
        return _bouc_wen_law(material, use)
    if material.kind == "Viscous":
        c, exponent = material.numbers(2)[:2]
        if exponent == 1.0:
            return laws.Viscous(c * stiff * use.time)
        return laws.NonlinearViscous(c * use.stress * (use.time / use.strain) ** exponent, exponent)
    if material.kind == "Parallel":
        first_slope(model, tag)
        friction = friction_gap(model, material, use)
        return (
            friction
            if friction is not None
            else laws.Parallel([spring_law(model, int(t), use) for t in material.numbers(1)])
        )
    if material.kind == "Fatigue":
        return fatigue_law(model, material, use)
    if material.kind in HINGES:
        return HINGES[material.kind](material, use)
    if material.kind in _SLOPES:
        raise material.refuse("has no counterpart as a spring; use Steel01, ElasticPP, BoucWen, Viscous or Elastic.")
    raise _not_understood(material)


def _bouc_wen_law(material: Definition, use: MaterialUse) -> Law:
    from vibrid import laws

    alpha, k, n, gamma, beta, a0, *more = material.numbers(6)
    if any(more[:3]):
        raise material.refuse("degrades (deltaA, deltaNu, deltaEta), which is not computed here; set them to 0.")
    if a0 != 1.0:
        raise material.refuse("has A0 different from 1; write the same loop with A0 = 1.")
    scale = use.strain**-n
    return laws.BoucWen(k * use.stress / use.strain, beta * scale, gamma * scale, n, alpha)


# -- materials of fibres -------------------------------------------------------------------------------------------


def fibre_material(model: ScriptModel, tag: int, stress: float) -> Any:
    """The material of fibres that a material is, in SI units."""
    from vibrid import laws

    material = model.materials[tag]
    if material.kind == "Concrete01":
        strength, strain, crushing, ultimate = (abs(v) for v in material.numbers(4)[:4])
        return laws.KentPark(strength * stress, 2 * strength * stress / strain, crushing * stress, ultimate)
    if material.kind == "Steel02":
        e, _, b = bilinear_numbers(material)
        return laws.MenegottoPinto(yield_stress(material) * stress, e * stress, b, *steel_bends(material))
    if material.kind in ("Steel01", "ElasticPP"):
        e, _, b = bilinear_numbers(material)
        return laws.BilinearSteel(yield_stress(material) * stress, e * stress, b)
    if material.kind == "Elastic":
        e, viscosity = _elastic(material, model)
        if viscosity:
            raise material.refuse("is viscous, which fibres here are not; leave eta out.")
        return laws.ElasticMaterial(e * stress)
    if material.kind not in _SLOPES:
        raise _not_understood(material)
    raise material.refuse("has no counterpart in fibres; use Concrete01, Steel01, Steel02, ElasticPP or Elastic.")
