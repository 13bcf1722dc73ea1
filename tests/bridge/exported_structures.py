"""The structures whose exported scripts are run in OpenSees: every kind that `to_opensees` writes."""

import dataclasses
from pathlib import Path

import vibrid as vb
from vibrid.laws import BilinearSteel
from vibrid.structures import FiberLayer, FiberSection, LeaningColumn, PermanentLoad, Tie

MODELS = Path(__file__).resolve().parent / "models"


def building():
    """A shear building of materials that OpenSees integrates as vibrid does."""
    storeys = [
        vb.Parallel([vb.Linear(1.1e7, 3e4), vb.Viscous(2e4), vb.NonlinearViscous(6e4, 0.7)]),
        vb.Bilinear(1.7e7, 0.004, 0.1),
        vb.Bilinear(1.3e7, 0.003, 0.05),
    ]
    dashpot = vb.Attachment(vb.Viscous(4e4), "2", "0")
    return vb.ShearBuilding([2e4, 1.5e4, 1.2e4], storeys, damping=vb.Rayleigh(0.2, 1e-3), attachments=[dashpot])


def smooth():
    """A material whose state OpenSees moves by another rule: compared at small steps."""
    storeys = [vb.Linear(2e7), vb.BoucWen(1.5e7, 60.0, 40.0, 1.3, 0.05)]
    return vb.ShearBuilding([2e4, 1.5e4], storeys, damping=vb.Rayleigh(0.2, 1e-3))


def hinges():
    """Storeys of curved steel, braces, sliders and falling branches."""
    storeys = [
        vb.Bilinear(2.4e7, 0.005, 0.1),
        vb.Linear(2e7),
        vb.laws.GiuffreMenegottoPinto(1.7e7, 1.1e5, 0.02, 12.0, 0.9, 0.2),
        vb.Parallel([vb.Linear(6e6), vb.laws.FrictionGap(2e4, 1e7, 0.003, 8e6)]),
    ]
    brace = vb.Attachment(vb.laws.TensionOnly(5e6, 2e4, 0.05, 0.001), "1", "0")
    curve = vb.Attachment(vb.laws.Multilinear([0.002, 0.01, 0.05], [1e4, 1.4e4, 5e3]), "3", "2")
    return vb.ShearBuilding(
        [2e4, 1.5e4, 1.5e4, 1.2e4], storeys, damping=vb.Rayleigh(0.2, 1e-3), attachments=[brace, curve]
    )


def bilinear_hinge():
    """Past its capping."""
    hinge = vb.laws.IMKBilinear(1.2e7, 6e4, 0.05, 0.4, 1.4, 0.2)
    return vb.ShearBuilding([2e4], [hinge], damping=vb.Rayleigh(0.2, 0.0))


def hinged_building():
    """A hinge in every storey; one yields far, the others hardly or not at all."""
    hinge = vb.laws.IMKBilinear(2e7, 1.2e5, 0.05, 0.4, 1.4, 0.2)
    return vb.ShearBuilding([1.2e4, 1.2e4, 9e3], [hinge] * 3, damping=vb.Rayleigh(0.2, 0.0))


def collapsing():
    """A hinge in every storey, one of which falls down to its residual force and comes back from far away."""
    hinge = vb.laws.IMKPeakOriented(2e7, 1.2e5, 0.05, 0.4, 1.4, 0.2, as_opensees=True)
    return vb.ShearBuilding([2e4] * 4, [hinge] * 4, damping=vb.Rayleigh(0.2, 0.0))


def pinched():
    """A hinge whose line after the bend is steeper than unloading."""
    shape = {"pinching_force": 0.35, "pinching_deformation": 0.4, "as_opensees": True}
    hinge = vb.laws.IMKPinching(2e7, 1.4e5, 0.05, 0.4, 1.4, 0.2, **shape)
    return vb.ShearBuilding([2e4], [hinge], damping=vb.Rayleigh(0.2, 0.0))


def turning_back():
    """Hinges that turn back on their way to the last peak, and forget it."""
    kinds = (vb.laws.IMKPeakOriented, vb.laws.IMKPinching)
    sizes = ((1.9e7, 7e4), (2.2e7, 6e4), (1.8e7, 5e4), (2.1e7, 3e4))
    storeys = [
        kinds[i % 2](stiffness, strength, 0.02, 0.2, 1.3, 0.2, as_opensees=True)
        for i, (stiffness, strength) in enumerate(sizes)
    ]
    return vb.ShearBuilding([2e4] * 4, storeys, damping=vb.Rayleigh(0.2, 0.0))


def hinged_column():
    """A column that turns on a hinge at its foot, a node of its own above the support."""
    hinge = vb.laws.IMKPeakOriented(4e7, 1.6e5, 0.03, 0.3, 1.5, 0.2, as_opensees=True)
    return vb.Frame2D(
        nodes=[(0, 0), (0, 0), (0, 3.5)],
        elements=[(1, 2)],
        modulus=2.1e11,
        area=8e-3,
        inertia=6e-5,
        density=0.0,
        supports={0: "fixed"},
        masses=[vb.PointMass(0.0, 1, rotary=20.0), vb.PointMass(9e3, 2, rotary=50.0)],
        damping=vb.Rayleigh(0.2, 5e-4),
        attachments=[vb.Attachment(hinge, "1.rotation", "0.rotation")],
        ties=[Tie(1, 0, along=["x", "y"])],
    )


def modal():
    storeys = [vb.Bilinear(1.7e7, 0.004, 0.1), vb.Bilinear(1.3e7, 0.003, 0.05)]
    return vb.ShearBuilding([2e4, 1.5e4], storeys, damping=vb.Modal([0.02, 0.04]))


def frame():
    return vb.Frame2D(
        nodes=[(0, 0), (0, 3.1), (4, 3.1), (4, 0), (5, 3.3)],
        elements=[(0, 1), (1, 2), (2, 3), (0, 2)],
        modulus=[2.1e11, 2.0e11, 2.1e11, 1.9e11],
        area=[4e-3, 4e-3, 4e-3, 2e-5],
        inertia=[2e-5, 6e-5, 2e-5, 0.0],
        density=0.0,
        supports={0: "fixed", 3: "pinned"},
        masses=[vb.PointMass(3e3, 1), vb.PointMass(2e3, 2, along="x"), vb.PointMass(500.0, 4, rotary=7.0)],
        damping=vb.Rayleigh(0.1, 2e-3),
        attachments=[vb.Attachment(vb.Bilinear(3e6, 2e-3, 0.02), "1.x"), vb.Attachment(vb.Viscous(5e3), "1.x", "2.x")],
        ties=[Tie(4, 2, along=["x", "y", "rotation"], rigid=True)],
        massless=["1.rotation", "3.rotation"],
    )


def heavy_frame():
    """Elements with a consistent mass."""
    return vb.Frame2D(
        nodes=[(0, 0), (0, 3), (4, 3)], elements=[(0, 1), (1, 2)], modulus=2.1e11, area=[4e-3, 5e-3],
        inertia=[2e-5, 3e-5], density=7850.0, supports={0: "fixed", 2: "roller"}, masses=[vb.PointMass(900.0, 1)],
        damping=vb.structures.RayleighRatio(0.02, (2.0, 9.0)),
    )  # fmt: skip


def truss():
    return vb.Truss(
        nodes=[(0, 0, 0), (3, 0, 0), (0, 3, 0), (1, 1, 4)], bars=[(0, 3), (1, 3), (2, 3)], modulus=[7e10, 6e10, 7e10],
        area=1e-4, density=2700.0, supports={0: "pinned", 1: "pinned", 2: "pinned"}, masses=[vb.PointMass(800.0, 3)],
        damping=vb.Rayleigh(0.3, 1e-4), mass_model="lumped",
    )  # fmt: skip


def fibre_frame():
    """With P-Δ, offsets, permanent loads at nodes and along a beam."""
    frame = vb.from_opensees(MODELS / "p_delta_fibres.py", units="kN, m, s").structure
    return dataclasses.replace(frame, softening="allow")


def leaning():
    """Two storeys of yielding columns beside leaning columns."""
    steel = FiberLayer(BilinearSteel(3e8, 2e11, 0.02), [-0.1, -0.03, 0.03, 0.1], [2e-3, 1e-3, 1e-3, 2e-3])
    return vb.FiberFrame(
        nodes=[(0, 0), (0, 3.5), (0, 6.5)],
        members=[
            vb.FrameMember((0, 1), "steel", integration="gauss-lobatto", points=4),
            vb.FrameMember((1, 2), "steel", "displacement", integration="gauss-legendre", points=3),
        ],
        sections=[FiberSection("steel", [steel])],
        supports={0: "fixed"},
        masses=[vb.PointMass(3e3, 1, rotary=50.0), vb.PointMass(2e3, 2, rotary=50.0)],
        loads=[PermanentLoad(-5e4, "2.y")],
        leaning=[LeaningColumn(2.5e5, 3.5, "1.x"), LeaningColumn(1e5, 3.0, "2.x", "1.x")],
        damping=vb.Rayleigh(0.2, 5e-4),
        iterations=8,
    )


def plan():
    law = vb.Bilinear(1.6e7, 0.006, 0.05)
    lines = [
        vb.FrameLine([law, law], (0, 0), "x"),
        vb.FrameLine([law], (0, 8), "x"),
        vb.FrameLine([law, vb.Linear(1.2e7)], (0, 8), "y"),
        vb.FrameLine([law, law], (10, 2), "y"),
        vb.FrameLine([vb.Linear(0.8e7), law], (10, 2), 130.0),
    ]
    attachments = [vb.Attachment(vb.Viscous(3e4), "1@5,8.x", "0@5,8.x"), vb.Attachment(vb.Linear(2e6), "roof.rotation")]
    return vb.RigidFloorBuilding(
        [3e4, 2.4e4], 4e5, lines, centre_x=[5.4, 4.6], centre_y=3.9, damping=vb.Rayleigh(0.3, 1e-3),
        attachments=attachments,
    )  # fmt: skip


def matrices():
    stiffness = [[9e6, -4e6, 1e6], [-4e6, 6e6, -2e6], [1e6, -2e6, 4e6]]
    damping = [[9e3, -3e3, 0.0], [-3e3, 8e3, 0.0], [0.0, 0.0, 7e3]]
    device = vb.Attachment(vb.Bilinear(2e6, 0.003, 0.1), "1", "0")
    return vb.Matrices([1.2e4, 8e3, 5e3], stiffness, damping=damping, attachments=[device])


STRUCTURES = {
    "building.py": building,
    "smooth.py": smooth,
    "hinges.py": hinges,
    "bilinear_hinge.py": bilinear_hinge,
    "hinged_building.py": hinged_building,
    "collapsing.py": collapsing,
    "pinched.py": pinched,
    "turning_back.py": turning_back,
    "hinged_column.py": hinged_column,
    "matrices.py": matrices,
    "modal.py": modal,
    "frame.py": frame,
    "heavy_frame.py": heavy_frame,
    "truss.py": truss,
    "fibre_frame.py": fibre_frame,
    "leaning.py": leaning,
    "plan.py": plan,
}
