"""The two-storey reinforced-concrete building of Malik, Cao, Ricles & Downey (2025), section 2.1, at half scale.

Given by the paper (full scale, halved here): columns 457 × 416 mm with eight #9 bars, floor beams 305 × 559 mm with two
#8 bars top and bottom, roof beams 305 × 457 mm with two #7 bars top and bottom; concrete 27.5 MPa, steel 414 MPa;
separate concretes for cover and core, 5 + 5 + 10 layers; force-based members with plastic-hinge integration; rigid
offsets of 5.7 % at the column faces; a leaning column for P-Δ; mass at the middle of each beam, horizontal only and
doubled; four dampers a storey; periods 0.39 s and 0.12 s with 92 % and 8 % of the mass.

Not given, and chosen here:

- one bay of 24 ft (7.315 m): 5.7 % of half of it is half the column's 416 mm, so 416 mm is the depth in the plane;
- storeys of 15 ft and 13 ft (4.572 m and 3.962 m), and, half scale and doubled, floor and roof masses of 8.86 t and
  9.10 t: with these heights, they give both periods;
- 45 mm from the faces to the middle of the hoops and 65 mm to the middle of the bars (1½ in of cover, #4 hoops);
- hoops of 1.2 % of the core of columns and 0.7 % in beams, of 414 MPa, 100 mm apart (about as ACI 318 requires for
  special moment frames); peak strain 0.002; falling branches after Scott, Park & Priestley, to 20 % of the strength;
- the core's layers have the whole width (the paper counts 20 layers, none for the sides);
- steel: 200 GPa, hardening 1 %, R₀ = 18, c₁ = 0.925, c₂ = 0.15;
- hinges 0.08 L + 0.022 f_y d_b (Paulay & Priestley), L half a column or half a span; 0.1 m at the middle of the beams;
- permanent loads: the weight before doubling, half of it on the beams, half on the leaning column;
- the members' self-weight is not in the loads; their mass, 2400 kg/m³, is (every degree of freedom needs mass);
- sections may soften when their cover crushes;
- Rayleigh damping of 2 % at both periods, from the stiffness before any load.
"""

from __future__ import annotations

import numpy as np

from vibrid.laws.concrete import KentPark
from vibrid.laws.lugre import LuGre
from vibrid.laws.steel import MenegottoPinto
from vibrid.structures.base import Attachment
from vibrid.structures.damping import Rayleigh
from vibrid.structures.fiber_frame import FiberFrame
from vibrid.structures.members import FrameMember, LeaningColumn, MemberLoad
from vibrid.structures.nodes import PointMass
from vibrid.structures.sections import ReinforcedSection

SCALE = 0.5
BAY, FIRST, SECOND = (SCALE * length for length in (7.3152, 4.572, 3.9624))  # m
MASSES = (8.857e3, 9.098e3)  # kg, floor and roof, doubled
PERIODS, SHARES = (0.39, 0.12), (0.92, 0.08)
OFFSET = 0.057
BAR_AREAS = {7: 387e-6, 8: 510e-6, 9: 645e-6}  # m², full scale
BAR_DIAMETERS = {7: 22.2e-3, 8: 25.4e-3, 9: 28.7e-3}  # m, full scale
GRAVITY = 9.80665
FLOOR, ROOF = "3.x", "6.x"  # degrees of freedom of the masses
DAMPERS_A_STOREY = 4

CONCRETE, STEEL = 27.5e6, 414e6  # N/m²
_COVER, _BARS, _HOOPS = SCALE * 45e-3, SCALE * 65e-3, SCALE * 100e-3  # m


def damper(count: int = DAMPERS_A_STOREY) -> LuGre:
    """`count` banded rotary friction dampers in parallel, each with the coefficients of Table 1 (23 kN)."""
    return LuGre(
        bristle_stiffness=count * 6442.5e3,
        bristle_damping=count * 29.61e3,
        coulomb_positive=count * 22.91e3,
        coulomb_negative=count * 19.75e3,
        static_positive=count * 24.43e3,
        static_negative=count * 21.93e3,
        stribeck_velocity=0.025,
    )


def section(name: str, width: float, depth: float, bars: list[tuple[int, int]], hoops: float) -> ReinforcedSection:
    """A section at half scale from its full-scale size (m), rows of (number, size) bars, and the share of hoops."""
    plain = KentPark(strength=CONCRETE, modulus=2 * CONCRETE / 0.002)
    width, depth = SCALE * width, SCALE * depth
    reach = 0.5 * depth - _BARS
    return ReinforcedSection(
        name=name,
        width=width,
        depth=depth,
        cover=_COVER,
        concrete=plain.confined(0.0, 0.0),
        core=plain.confined(hoops, STEEL, width - 2 * _COVER, _HOOPS),
        steel=MenegottoPinto(yield_stress=STEEL),
        bar_areas=[SCALE**2 * number * BAR_AREAS[size] for number, size in bars],
        bar_heights=np.linspace(-reach, reach, len(bars)),
        side_cover=False,
        density=2400.0,
    )


def hinge(length: float, size: int) -> float:
    """m, plastic-hinge length for a distance `length` (m) from the largest moment to none and bars of a size."""
    return 0.08 * length + 0.022 * STEEL / 1e6 * SCALE * BAR_DIAMETERS[size]


def two_storey_building(dampers: bool = False, iterations: int = 2) -> FiberFrame:
    """The frame, with or without four dampers in each storey.

    Nodes: 0, 1 bases; 2, 3, 4 first floor, the middle one with the mass; 5, 6, 7 roof. Members: 0–3 columns, 4–7 beams.
    """
    top = FIRST + SECOND
    half = 0.5 * BAY
    nodes = [(0, 0), (BAY, 0), (0, FIRST), (half, FIRST), (BAY, FIRST), (0, top), (half, top), (BAY, top)]
    columns = [
        FrameMember(ends, "column", hinges=[hinge(0.5 * height, 9)] * 2)
        for ends, height in (((0, 2), FIRST), ((1, 4), FIRST), ((2, 5), SECOND), ((4, 7), SECOND))
    ]
    beams = []
    for left, middle, right, name, size in ((2, 3, 4, "floor beam", 8), (5, 6, 7, "roof beam", 7)):
        end_hinge = hinge(half, size)
        beams.append(FrameMember((left, middle), name, hinges=[end_hinge, 0.1], offsets=(OFFSET, 0.0)))
        beams.append(FrameMember((middle, right), name, hinges=[0.1, end_hinge], offsets=(0.0, OFFSET)))
    weights = [0.5 * mass * GRAVITY for mass in MASSES]
    line_loads = [0.5 * weight / (BAY * (1 - OFFSET)) for weight in weights]
    leaning = [0.5 * weight for weight in weights]
    return FiberFrame(
        nodes=nodes,
        members=[*columns, *beams],
        sections=[
            section("column", 0.457, 0.416, [(3, 9), (2, 9), (3, 9)], 0.012),
            section("floor beam", 0.305, 0.559, [(2, 8), (2, 8)], 0.007),
            section("roof beam", 0.305, 0.457, [(2, 7), (2, 7)], 0.007),
        ],
        supports={0: "fixed", 1: "fixed"},
        masses=[PointMass(MASSES[0], at=3, along="x"), PointMass(MASSES[1], at=6, along="x")],
        member_loads=[MemberLoad(line_loads[i // 2], member=4 + i) for i in range(4)],
        leaning=[
            LeaningColumn(sum(leaning), FIRST, top=FLOOR),
            LeaningColumn(leaning[1], SECOND, top=ROOF, bottom=FLOOR),
        ],
        damping=Rayleigh.from_ratios([1 / period for period in PERIODS], 0.02),
        attachments=[Attachment(damper(), at=FLOOR), Attachment(damper(), at=ROOF, to=FLOOR)] if dampers else (),
        iterations=iterations,
        softening="allow",
    )
