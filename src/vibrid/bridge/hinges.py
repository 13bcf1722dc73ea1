"""Materials of hinges, braces and sliders of OpenSees as laws: the way back of `law_materials.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vibrid.bridge.description import Definition, ScriptModel, SpringElement
from vibrid.bridge.material_numbers import MaterialUse, bilinear_numbers, inner_material, steel_bends, yield_stress

if TYPE_CHECKING:
    from vibrid.laws.base import Law


def fatigue_law(model: ScriptModel, material: Definition, use: MaterialUse) -> Law:
    """Steel02 inside Fatigue."""
    from vibrid import laws

    steel = inner_material(material, model)
    words = list(material.values[1:])
    given = {str(name): float(value) for name, value in zip(words[::2], words[1::2], strict=False)}
    if steel.kind != "Steel02" or len(words) % 2 or set(given) != {"-E0", "-m"}:
        raise material.refuse("is read around Steel02, with -E0 and -m and no limits of strain (-min, -max).")
    k, _, ratio = bilinear_numbers(steel)
    stiff = use.stress / use.strain
    return laws.GiuffreMenegottoPintoFatigue(
        k * stiff, yield_stress(steel) * use.stress, ratio, *steel_bends(steel),
        fatigue_deformation=0.5 * given["-E0"] * use.strain, fatigue_exponent=-given["-m"],
    )  # fmt: skip


def friction_gap(model: ScriptModel, material: Definition, use: MaterialUse) -> Law | None:
    """A slider between two stops: ElasticPP beside two equal ElasticPPGap that do not yield; None for others."""
    from vibrid import laws

    parts = [model.materials[int(tag)] for tag in material.numbers(1)]
    if [part.kind for part in parts] != ["ElasticPP", "ElasticPPGap", "ElasticPPGap"]:
        return None
    slider, *stops = parts
    (stiffness, strength, gap), other = (stop.numbers(3)[:3] for stop in stops)
    k, _, _ = bilinear_numbers(slider)
    if other != [stiffness, -strength, -gap] or not gap > 0.0 or strength < 100.0 * stiffness * gap:
        raise material.refuse(
            "has stops that yield or are not alike, which is not computed here; give both the same stiffness and gap, "
            "and a strength that is not reached."
        )
    stiff = use.stress / use.strain
    return laws.FrictionGap(yield_stress(slider) * use.stress, k * stiff, gap * use.strain, stiffness * stiff)


def _tension(material: Definition, use: MaterialUse) -> Law:
    from vibrid import laws

    k, strength, slack, *ratio = material.numbers(3)
    if material.values[-1] != "damage" or strength < 0.0 or slack < 0.0:
        raise material.refuse("is read as a brace in tension: a positive strength and gap, and 'damage' at the end.")
    stiff = use.stress / use.strain
    return laws.TensionOnly(k * stiff, strength * use.stress, (ratio or [0.0])[0], slack * use.strain)


def _hysteretic(material: Definition, use: MaterialUse) -> Law:
    from vibrid import laws

    numbers = material.numbers(13)
    points, mirrored, rest = numbers[:6], numbers[6:12], numbers[12:]
    plain = len(numbers) in (16, 17) and mirrored == [-v for v in points] and rest[:4] == [1.0, 1.0, 0.0, 0.0]
    if not plain or any(rest[4:]):
        raise material.refuse(
            "is read with three points, alike in both directions, without pinching (1, 1) and damage (0, 0, 0)."
        )
    return laws.Multilinear([v * use.strain for v in points[1::2]], [v * use.stress for v in points[::2]])


def _imk(material: Definition, use: MaterialUse) -> Law:
    from vibrid.bridge.law_materials import IMK_CAPACITIES, IMK_KINDS, NEVER

    kind = IMK_KINDS[material.kind]
    names = [name for name in IMK_CAPACITIES if name in kind.__dataclass_fields__]
    pinching = ("pinching_force", "pinching_deformation") if material.kind == "IMKPinching" else ()
    numbers = material.numbers(15 + 2 * len(names) + len(pinching))
    stiffness, ahead, back = numbers[0], numbers[1:7], numbers[7:13]
    modes = len(names)
    capacities, exponents = numbers[13 : 13 + modes], numbers[13 + modes : 13 + 2 * modes]
    rates = numbers[13 + 2 * modes : 15 + 2 * modes]
    wearing = [0.0 < capacity < 0.1 * NEVER for capacity in capacities]
    used = {c for c, wears in zip(exponents, wearing, strict=True) if wears} or {exponents[0]}
    if ahead[4:] != back[4:] or rates != [1.0, 1.0] or len(used) > 1:
        raise material.refuse(
            "has ratios of capping or residual force, rates or exponents of deterioration that are not equal; here "
            "both directions and all modes share them, and rates (D) are 1."
        )
    pairs = zip(names, capacities, wearing, strict=True)
    given = {name: value * use.strain for name, value, wears in pairs if wears}
    sided = (("plastic_deformation", 0, use.strain), ("post_capping_deformation", 1, use.strain))
    for name, i, unit in (*sided, ("yield_force", 3, use.stress)):
        if back[i] != ahead[i]:
            given[f"{name}_negative"] = back[i] * unit
    given |= dict(zip(pinching, numbers[15 + 2 * modes :], strict=False))
    if "reloading_capacity" in names:
        given["as_opensees"] = True
    return kind(
        stiffness * use.stress / use.strain, ahead[3] * use.stress, ahead[0] * use.strain, ahead[1] * use.strain,
        *ahead[4:], exponent=used.pop(), **given,
    )  # fmt: skip


HINGES: dict[str, Callable[[Definition, MaterialUse], Law]] = {
    "ElasticPPGap": _tension,
    "Hysteretic": _hysteretic,
    "IMKBilin": _imk,
    "IMKPeakOriented": _imk,
    "IMKPinching": _imk,
}
"""Materials that are read by themselves."""


def check_side(model: ScriptModel, element: SpringElement, tag: int, reversed_: bool) -> None:
    """Refuse a spring that differs in tension and compression where its law here would have the opposite sign."""
    if reversed_ and _is_one_sided(model, tag):
        raise element.definition.refuse(
            f"has the material {tag}, which differs in tension and compression, from a moving node to the ground or "
            "downwards; give its nodes in the other order, and exchange the two sides of the material."
        )


def _is_one_sided(model: ScriptModel, tag: int) -> bool:
    material = model.materials[tag]
    if material.kind == "Parallel":
        parts = [int(t) for t in material.numbers(1)]
        stops = [model.materials[t].kind for t in parts] == ["ElasticPP", "ElasticPPGap", "ElasticPPGap"]
        return not stops and any(_is_one_sided(model, t) for t in parts)
    if material.kind.startswith("IMK"):
        return material.numbers(13)[1:7] != material.numbers(13)[7:13]
    return material.kind == "ElasticPPGap"


def differences(model: ScriptModel) -> list[str]:
    """What the springs of a script do otherwise in OpenSees than their laws here."""
    from vibrid.bridge.law_materials import BREAKS, FAR, NEVER, UNEQUAL, WORN, ZERO

    used = {m for e in model.elements.values() if isinstance(e, SpringElement) for m, _ in e.springs}
    used |= {int(t) for m in used if model.materials[m].kind == "Parallel" for t in model.materials[m].numbers(1)}
    said = []
    for material in (model.materials[tag] for tag in sorted(used)):
        if material.kind.startswith("IMK"):
            numbers = material.numbers(15)
            plastic, falling, ultimate = numbers[1:4]
            capacities = numbers[13 : 16 if material.kind == "IMKBilin" else 17]
            if 0.0 in capacities:
                said.append(f"{material.title} {ZERO}")
            if any(0.0 < value < 0.1 * NEVER for value in capacities):
                said.append(f"{material.title}: {WORN.rstrip('.')}")
            if material.kind == "IMKBilin" and numbers[1:7] != numbers[7:13]:
                said.append(f"{material.title}: {UNEQUAL.rstrip('.')}")
            if ultimate < 0.1 * FAR * (plastic + falling):
                said.append(f"{material.title} breaks at {ultimate:g} in OpenSees; the law here does not break")
        elif material.kind == "Fatigue":
            said.append(f"{material.title}: {BREAKS.rstrip('.')}")
        elif material.kind == "ElasticPPGap" and material.numbers(3)[2] == 0.0:
            said.append(f"{material.title} has half of its stiffness at rest here, where it acts on one of two sides")
    return said
