"""Numbers of uniaxial materials as OpenSees orders them."""

from __future__ import annotations

from dataclasses import dataclass

from vibrid.bridge.description import Definition, ScriptModel


@dataclass(frozen=True)
class MaterialUse:
    """Factors to SI of force-like and deformation-like numbers, and of time."""

    stress: float = 1.0
    strain: float = 1.0
    time: float = 1.0


def bilinear_numbers(material: Definition) -> tuple[float, float, float]:
    """(modulus, yield strain, ratio after yield) of ElasticPP, Steel01 and Steel02."""
    if material.kind == "ElasticPP":
        e, yields, *more = material.numbers(2)
        negative, first = (*more, *(-yields, 0.0)[len(more) :])[:2]
        if negative != -yields or first != 0.0:
            raise material.refuse("yields at another strain in compression, or has an initial strain; make both equal.")
        return e, yields, 0.0
    fy, e, b, *more = material.numbers(3)
    isotropic = more[:4] if material.kind == "Steel01" else more[3:7]
    if any(isotropic[i] for i in (0, 2) if i < len(isotropic)):
        raise material.refuse("has isotropic hardening (a1 or a3), which is not computed here; set both to 0.")
    return e, fy / e, b


def yield_stress(material: Definition) -> float:
    """Stress or force at which ElasticPP, Steel01 or Steel02 yields, as written where it is."""
    if material.kind == "ElasticPP":
        e, yields = material.numbers(2)[:2]
        return e * yields
    return material.numbers(1)[0]


def steel_bends(material: Definition) -> list[float]:
    """R₀, cR₁ and cR₂ of Steel02."""
    numbers = material.numbers(3)
    if len(numbers) > 10 and numbers[10]:
        raise material.refuse("has an initial stress, which is not computed here; set it to 0.")
    return numbers[3:6] or [15.0, 0.925, 0.15]


def inner_material(material: Definition, model: ScriptModel) -> Definition:
    """The material that another one wraps."""
    tag = int(material.numbers(1)[0])
    if tag not in model.materials:
        raise material.refuse(f"names the material {tag}, which does not exist yet.")
    return model.materials[tag]
