"""Laws as uniaxial materials of OpenSees, in newtons and metres: the one table for scripts and for single lines.

`materials.py` reads the same materials back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vibrid import laws
from vibrid.core.errors import InputError
from vibrid.laws.base import LAWS, Law

NO_ISOTROPIC = "Steel02 of OpenSees hardens isotropically by another formula: fit the law with isotropic = 0."
NEVER = 1e12
"""Capacity of a mode of an IMK hinge that does not deteriorate. With 0, which its manual gives for this, OpenSees 3.7.1
divides by minus the energy so far: where that energy is negative by the rounding of its trapezoidal sum, at the first
yielding within a step, the hinge wears or breaks."""
FAR = 1e3
"""Times the deformation at which the backbone of a hinge has lost its force: no ultimate deformation."""
WORN = "vibrid wears a hinge at the end of an excursion, OpenSees its unloading at every reversal: loops differ."
UNEQUAL = "after capping, IMKBilin of OpenSees with unequal sides reloads on another line than vibrid: loops differ."
POWER = "with an exponent of deterioration other than 1, OpenSees 3.7.1 gave NaN along a random path."
ZERO = (
    "has a capacity of 0, which means no deterioration here and in the manual; OpenSees 3.7.1 can wear or break such a "
    f"hinge when it first yields, so write {NEVER:g}"
)
KEEPS = (
    "OpenSees forgets the peak of the last excursion where the hinge turns back on its way there, vibrid only with "
    "as_opensees = true: loops differ."
)
BREAKS = "vibrid counts open ranges as half cycles, OpenSees in part: it breaks up to some half cycles later."


@dataclass(frozen=True)
class Uniaxial:
    """A uniaxial material: its kind; its values, numbers, words and further materials; how it differs from the law."""

    kind: str
    values: tuple[Any, ...]
    note: str = ""

    def written(self, define: Callable[..., int]) -> int:
        """Define the materials that it needs, then itself, with `define(kind, values, note)`; its tag."""
        values = [value.written(define) if isinstance(value, Uniaxial) else value for value in self.values]
        return define(self.kind, values, self.note)


def material_of(law: Law, path: str = "law") -> Uniaxial:
    """The material that is the same as a law; a law that has none is refused with its path."""
    if isinstance(law, laws.Parallel):
        parts = [material_of(part, f"{path}.laws[{i}]") for i, part in enumerate(law.laws)]
        return Uniaxial("Parallel", tuple(parts))
    write = _MATERIALS.get(type(law))
    if write is None:
        known = ", ".join([*(kind.__name__ for kind in _MATERIALS), "Parallel"])
        raise InputError(
            f"'{path}' is a {type(law).__name__}, for which OpenSees has no material that is the same; laws that have "
            f"one: {known}."
        )
    try:
        return write(law)
    except InputError as problem:
        raise InputError(f"'{path}': {problem}") from None


def opensees_lines(law: Law, tag: int = 1) -> list[str]:
    """Tcl lines that define the law as material `tag`; further materials that it needs have the tags after it. Laws
    that OpenSees does not have in the same form are refused.

    Example
        >>> opensees_lines(Linear(stiffness=2e6))
        ['uniaxialMaterial Elastic 1 2000000']
    """
    whole = material_of(law, f"law {LAWS.name_of(type(law))}")
    lines: list[str] = []
    further = tag

    def define(kind: str, values: list[Any], note: str) -> int:
        nonlocal further
        further += 1
        lines.extend(_tcl(kind, further, values, note))
        return further

    own = [value.written(define) if isinstance(value, Uniaxial) else value for value in whole.values]
    return [*lines, *_tcl(whole.kind, tag, own, whole.note)]


def _tcl(kind: str, tag: int, values: list[Any], note: str) -> list[str]:
    numbers = [str(v) if isinstance(v, str | int) else f"{float(v):.10g}" for v in values]
    return [*([f"# {note}"] if note else []), " ".join(["uniaxialMaterial", kind, str(tag), *numbers])]


# -- the table -----------------------------------------------------------------------------------------------------


def _linear(law: laws.Linear) -> Uniaxial:
    return Uniaxial("Elastic", (law.stiffness, *([law.damping] if float(law.damping) else [])))


def _bilinear(law: laws.Bilinear) -> Uniaxial:
    return Uniaxial("Steel01", (law.stiffness * law.yield_deformation, law.stiffness, law.post_yield_ratio))


def _bouc_wen(law: laws.BoucWen) -> Uniaxial:
    shape = (law.post_yield_ratio, law.stiffness, law.exponent, law.gamma, law.beta)
    return Uniaxial("BoucWen", (*shape, 1.0, 0.0, 0.0, 0.0))


def _concrete(law: laws.KentPark) -> Uniaxial:
    return Uniaxial("Concrete01", (-law.strength, -law.peak_strain, -law.crushing_strength, -law.crushing_strain))


def _steel(law: laws.MenegottoPinto | laws.GiuffreMenegottoPinto) -> Uniaxial:
    if float(law.isotropic) != 0.0:
        raise InputError(NO_ISOTROPIC)
    material = isinstance(law, laws.MenegottoPinto)
    size = (law.yield_stress, law.modulus) if material else (law.yield_force, law.stiffness)
    return Uniaxial("Steel02", (*size, law.hardening_ratio, law.sharpness, law.softening, law.softening_rate))


def _fatigue(law: laws.GiuffreMenegottoPintoFatigue) -> Uniaxial:
    wrapped = ("-E0", 2.0 * law.fatigue_deformation, "-m", -law.fatigue_exponent)  # E0 is a range, not an amplitude
    return Uniaxial("Fatigue", (_steel(law), *wrapped), BREAKS)


def _tension(law: laws.TensionOnly) -> Uniaxial:
    values = (law.stiffness, law.yield_force, law.slack, law.post_yield_ratio, "damage")
    return Uniaxial("ElasticPPGap", values)


def _friction(law: laws.FrictionGap) -> Uniaxial:
    strong = 1e3 * float(law.friction + law.stop_stiffness * law.gap)
    parts = (
        Uniaxial("ElasticPP", (law.stiffness, law.friction / law.stiffness)),
        Uniaxial("ElasticPPGap", (law.stop_stiffness, strong, law.gap)),
        Uniaxial("ElasticPPGap", (law.stop_stiffness, -strong, -law.gap)),
    )
    return Uniaxial("Parallel", parts)


def _multilinear(law: laws.Multilinear) -> Uniaxial:
    worn = (law.strength_by_deformation, law.strength_by_energy, law.unloading_by_deformation, law.unloading_by_energy)
    if law.deformations.shape != (3,) or any(float(value) != 0.0 for value in worn) or float(law.negative_ratio) != 1.0:
        raise InputError(
            "Hysteretic of OpenSees equals a law 'multilinear' of three points without loss of strength or stiffness, "
            "equal in both directions; this one is another."
        )
    points = [value for x, f in zip(law.deformations, law.forces, strict=True) for value in (f, x)]
    return Uniaxial("Hysteretic", (*points, *(-v for v in points), 1.0, 1.0, 0.0, 0.0, 0.0))


IMK_KINDS: dict[str, type[laws.IMK]] = {
    "IMKBilin": laws.IMKBilinear,
    "IMKPeakOriented": laws.IMKPeakOriented,
    "IMKPinching": laws.IMKPinching,
}
IMK_CAPACITIES = ("strength_capacity", "capping_capacity", "reloading_capacity", "unloading_capacity")
"""In the order of OpenSees; the bilinear hinge has no reloading."""
_SIDED = ("plastic_deformation", "post_capping_deformation", "yield_force")


def _imk(law: laws.IMK) -> Uniaxial:
    kind = next(name for name, its in IMK_KINDS.items() if its is type(law))
    capacities = [float(getattr(law, name)) for name in IMK_CAPACITIES if hasattr(law, name)]
    sides: list[Any] = []
    for end in ("", "_negative"):
        own = [float(getattr(law, name + end)) for name in _SIDED]
        plastic, falling, force = (
            float(getattr(law, name)) if math.isnan(value) else value for name, value in zip(_SIDED, own, strict=True)
        )
        sides += [plastic, falling, FAR * (plastic + falling), force, law.capping_ratio, law.residual_ratio]
    pinching = (law.pinching_force, law.pinching_deformation) if isinstance(law, laws.IMKPinching) else ()
    values = [NEVER if math.isinf(value) else value for value in capacities]
    exponents = [law.exponent] * len(values)
    whole = (law.stiffness, *sides, *values, *exponents, 1.0, 1.0, *pinching)
    unequal = kind == "IMKBilin" and sides[:6] != sides[6:]
    worn = any(v < NEVER for v in values)
    powered = worn and float(law.exponent) != 1.0
    keeps = not getattr(law, "as_opensees", True)
    said = ((WORN, worn), (POWER, powered), (UNEQUAL, unequal), (KEEPS, keeps))
    return Uniaxial(kind, whole, " ".join(text for text, applies in said if applies))


_MATERIALS: dict[type[Law], Callable[[Any], Uniaxial]] = {
    laws.Linear: _linear,
    laws.Viscous: lambda law: Uniaxial("Viscous", (law.damping, 1.0)),
    laws.NonlinearViscous: lambda law: Uniaxial("Viscous", (law.coefficient, law.exponent)),
    laws.Bilinear: _bilinear,
    laws.BoucWen: _bouc_wen,
    laws.GiuffreMenegottoPinto: _steel,
    laws.GiuffreMenegottoPintoFatigue: _fatigue,
    laws.TensionOnly: _tension,
    laws.FrictionGap: _friction,
    laws.Multilinear: _multilinear,
    laws.IMKBilinear: _imk,
    laws.IMKPeakOriented: _imk,
    laws.IMKPinching: _imk,
    laws.KentPark: _concrete,
    laws.MenegottoPinto: _steel,
    laws.BilinearSteel: lambda law: Uniaxial("Steel01", (law.yield_stress, law.modulus, law.hardening_ratio)),
    laws.ElasticMaterial: lambda law: Uniaxial("Elastic", (law.modulus,)),
}
