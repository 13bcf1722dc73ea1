"""Laws of OpenSees along ten random cyclic paths, kept as numbers.

The wheel of OpenSeesPy exists for x86-64 only: the tests compare with `opensees_hinges.json`, written by
`python tests/laws/opensees_hinges.py` with OpenSeesPy 3.7.1.2. Only the standard library is needed here.
"""

import itertools
import json
import math
import random
import sys
from pathlib import Path

RESULTS = Path(__file__).with_name("opensees_hinges.json")
PATHS, TURNS, DIVIDED, EVERY = 10, 14, 40, 8  # steps between two turns, and how many apart the kept forces are
K, FY, PLASTIC, FALL, RATIO, RESIDUAL = 40.0, 2.0, 0.06, 0.3, 1.15, 0.2


def path(number: int, divided: int = DIVIDED, through: tuple = ()) -> list[float]:
    """Deformations in m: straight from turn to turn, turns growing to three times the yield deformation of 0.05; also
    through further deformations, where they lie between two turns."""
    draw = random.Random(number)
    turns = [0.0]
    for i in range(TURNS):
        turns.append((1 if (i + number) % 2 else -1) * 0.15 * (0.3 + 0.7 * i / TURNS) * draw.uniform(0.4, 1.2))
    made = [0.0]
    for a, b in itertools.pairwise(turns):
        steps = [a + (b - a) * j / divided for j in range(1, divided + 1)]
        made += sorted([*steps, *(e for e in through if min(a, b) < e < max(a, b))], reverse=b < a)
    return made


def turning_back(number: int) -> list[float]:
    """As `path`, with small turns back on the way and after each turn."""
    draw = random.Random(number)
    turns = [0.0]
    for i in range(TURNS):
        further = (1 if i % 2 else -1) * 0.15 * (0.3 + 0.7 * i / TURNS) * draw.uniform(0.1, 1.2)
        way = further - turns[-1]
        place = turns[-1] + draw.uniform(0.1, 0.9) * way
        turns += [place, place - math.copysign(draw.uniform(0.0, 0.02), way), further]
        turns.append(further - math.copysign(draw.uniform(0.0, 0.05), way))
    made = [0.0]
    for a, b in itertools.pairwise(turns):
        made += [a + (b - a) * j / EVERY for j in range(1, EVERY + 1)]
    return made


def imk(kind: str, capacities: tuple, more: tuple = ()) -> tuple:
    """`uniaxialMaterial` of a hinge with deterioration capacities (0: a mode takes no part)."""
    side = (PLASTIC, FALL, 5.0, FY, RATIO, RESIDUAL)
    return (kind, 1, K, *side, *side, *capacities, *(1.0,) * len(capacities), 1.0, 1.0, *more)


def hysteresis(kind: str, *more: float) -> list[tuple]:
    """Bouc-Wen of unit stiffness and unit yield deformation, so that its energy has one meaning in all papers."""
    order = (0.05, 1.0, 1.5, 0.4, 0.6, 1.0)  # a, k, n, gamma, beta, A
    return [(kind, 1, *order, *more, 1e-13, 500)]


CAPACITY, SIDES, PINCH = 3.0, 20.0, (0.35, 0.4)
"""Deterioration capacity in m; deformations of a Bouc-Wen law over those of the others; pinched force and bend."""
MATERIALS = {
    "friction-gap": [
        ("ElasticPP", 2, K, 1.0 / K),
        ("ElasticPPGap", 3, 30.0, 1e3, 0.08),
        ("ElasticPPGap", 4, 30.0, -1e3, -0.08),
        ("Parallel", 1, 2, 3, 4),
    ],
    "giuffre-menegotto-pinto": [("Steel02", 1, FY, K, 0.02, 12.0, 0.9, 0.2)],
    "tension-only": [("ElasticPPGap", 1, K, FY, 0.01, 0.05, "damage")],
    "imk-bilinear": [imk("IMKBilin", (0.0,) * 3)],
    "imk-peak-oriented": [imk("IMKPeakOriented", (0.0,) * 4)],
    "imk-pinching": [imk("IMKPinching", (0.0,) * 4, PINCH)],
    "multilinear": [
        ("Hysteretic", 1, 1.6, 0.04, 2.0, 0.08, 0.7, 0.2, -1.6, -0.04, -2.0, -0.08, -0.7, -0.2, 1.0, 1.0, 0.0, 0.0, 0.0)
    ],
}
NEVER = 1e12
BACK = {name: MATERIALS[name] for name in ("friction-gap", "multilinear", "tension-only")} | {
    "imk-bilinear": [imk("IMKBilin", (NEVER,) * 3)],
    "imk-peak-oriented": [imk("IMKPeakOriented", (NEVER,) * 4)],
    "imk-pinching": [imk("IMKPinching", (NEVER,) * 4, PINCH)],
}
"""Along paths that turn back: there hinges of OpenSees with capacities of 0 wear by the rounding of their energy."""
FLAG = [("SelfCentering", 1, K, 4.0, FY, 0.7, 0.0, 0.0, 0.0)]
FOOT = 0.015  # of that flag: (1 - 0.7) FY / K
RATES = {
    "bouc-wen-baber-noori, degrading": hysteresis("BoucWen", 0.0, 0.02, 0.05),
    "bouc-wen-baber-noori, pinching": hysteresis("BWBN", 0.1, 0.6, 0.5, 0.2, 0.01, 0.4),
}


def modes(kind: str, names: str, more: tuple = ()) -> dict[str, list[tuple]]:
    """A hinge with one mode of deterioration at a time."""
    order = names.split()
    return {mode: [imk(kind, tuple(CAPACITY * (one == mode) for one in order), more)] for mode in order}


WORN = {
    f"{law}, {mode}": material
    for law, kinds in {
        "imk-bilinear": modes("IMKBilin", "strength capping unloading"),
        "imk-peak-oriented": modes("IMKPeakOriented", "strength capping reloading unloading"),
        "imk-pinching": modes("IMKPinching", "strength capping reloading unloading", PINCH),
    }.items()
    for mode, material in kinds.items()
}
PINCHING4 = [
    ("Pinching4", 1, 1.6, 0.04, 2.0, 0.08, 1.4, 0.15, 0.7, 0.3, 0.5, 0.25, 0.0, *(0.0,) * 15, 10.0, "energy")
]  # fmt: skip


def forces(ops, materials: list[tuple], deformations: list[float], wanted: list[float]) -> list[float]:
    """N, at the wanted deformations, which lie on the path in that order."""
    ops.wipe()
    ops.model("basic", "-ndm", 1, "-ndf", 1)
    for material in materials:
        ops.uniaxialMaterial(*material)
    ops.testUniaxialMaterial(1)
    made = []
    for e in deformations:
        ops.setStrain(e)
        if len(made) < len(wanted) and abs(e - wanted[len(made)]) < 1e-12:
            made.append(ops.getStress())
    assert len(made) == len(wanted)
    return made


def along(ops, materials: list[tuple], divided: int = DIVIDED, feet: tuple = (), scale: float = 1.0) -> list:
    """Forces along all paths, at every fifth of the way between two turns."""
    made = []
    for number in range(PATHS):
        deformations = [scale * e for e in path(number, divided, feet)]
        wanted = [scale * e for e in path(number, DIVIDED)[::EVERY]]
        made.append(forces(ops, materials, deformations, wanted))
    return made


def extrapolated(ops, materials: list[tuple]) -> list:
    """What backward Euler tends to: first and second powers of the step taken out (Richardson)."""
    coarse, middle, fine = (along(ops, materials, divided, scale=SIDES) for divided in (800, 1600, 3200))

    def limit(a, b, c):
        return (4 * (2 * c - b) - (2 * b - a)) / 3

    return [[limit(*f) for f in zip(*p, strict=True)] for p in zip(coarse, middle, fine, strict=True)]


def references(ops) -> dict[str, list]:
    """By name. SelfCentering takes its lower line once in the first step beyond the foot of a flag: that step is 1e-9
    long here. Hinges that wear take 1600 steps between turns: OpenSees adds their energy up by the trapezoidal rule."""
    past = tuple(way * foot for way in (1, -1) for foot in (FOOT, FOOT + 1e-9))
    made = {name: along(ops, material) for name, material in MATERIALS.items()}
    made |= {"flag": along(ops, FLAG, feet=past), "pinching": along(ops, PINCHING4, 400)}
    paths = [turning_back(number) for number in range(PATHS)]
    made |= {f"{name}, turning back": [forces(ops, how, e, e[::EVERY]) for e in paths] for name, how in BACK.items()}
    made |= {name: along(ops, material, 1600) for name, material in WORN.items()}
    return made | {name: extrapolated(ops, material) for name, material in RATES.items()}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from opensees_import import load_opensees

    opensees = load_opensees()

    made = {
        name: [[float(f"{force:.9g}") for force in one] for one in every]
        for name, every in references(opensees).items()
    }
    RESULTS.write_text(json.dumps(made), encoding="utf-8")
