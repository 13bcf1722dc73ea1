"""The package's own structures meet the same requirements as those of plugins."""

import pytest

import vibrid as vb
from vibrid.conformance.structure import CHECKS, StructureExample

BEAM = vb.Beam(
    positions=[0.0, 1.0, 2.0], modulus=2e11, area=1e-3, inertia=1e-7, density=7800.0, supports={0: "fixed"}
)  # fmt: skip
EXAMPLES = {
    "shear-building": StructureExample(
        vb.ShearBuilding(masses=[2.0, 1.0], storeys=[vb.Linear(60.0, 0.8), vb.Cubic(40.0, 60.0)]), "roof"
    ),
    "beam": StructureExample(BEAM, "tip"),
    "rigid-floor-building": StructureExample(
        vb.RigidFloorBuilding(
            masses=[2.0, 1.0],
            rotary=[3.0, 2.0],
            lines=[
                vb.FrameLine([vb.Linear(60.0, 0.8), vb.Cubic(40.0, 60.0)], (0.0, -1.0), "x"),
                vb.FrameLine([vb.Linear(50.0), vb.Cubic(30.0, 60.0)], (0.0, 1.5), "x"),
                vb.FrameLine([vb.Linear(70.0), vb.Linear(30.0)], (0.3, 0.0), 80.0),
            ],
            centre_x=0.2,
        ),
        "roof@1.0,2.0.y",
    ),
}
PAIRS = CHECKS.pairs(EXAMPLES)


@pytest.mark.parametrize(("check", "name"), PAIRS, ids=[f"{check.name}-{name}" for check, name in PAIRS])
def test_structure_meets_the_requirement(check, name):
    check(EXAMPLES[name])
