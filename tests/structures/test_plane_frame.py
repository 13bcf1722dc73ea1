"""The plane frame against the beam, slope-deflection closed forms, equilibrium and OpenSees."""

import numpy as np
import pytest
from opensees_import import opensees

import vibrid as vb
from vibrid.core.errors import VibridError

E, A, I, RHO = 210e9, 6e-3, 2e-5, 7850.0
PORTAL = {
    "nodes": [(0, 0), (0, 3), (6, 3), (6, 0)],
    "elements": [(0, 1), (1, 2), (2, 3)],
    "supports": {0: "fixed", 3: "fixed"},
}


def test_a_frame_in_a_row_is_a_beam_at_any_angle():
    x = np.array([0.0, 0.7, 1.2, 2.0])
    modulus = np.array([1.0, 0.7, 1.3]) * E
    beam = vb.Beam(x, modulus, A, I, RHO, masses=[vb.PointMass(20.0, at="x=0.9", rotary=1.0)])
    expected = [np.asarray(a) for a in beam.matrices()]
    for angle in (0.0, 0.64, np.pi / 2, 2.8):
        c, s = np.cos(angle), np.sin(angle)
        mass = vb.PointMass(20.0, at="e1@0.4", rotary=1.0)
        frame = vb.Frame2D(
            np.outer(x, [c, s]), [(0, 1), (1, 2), (2, 3)], modulus, A, I, RHO, supports={0: "fixed"}, masses=[mass]
        )
        turn = np.kron(np.eye(3), [[c, s, 0], [-s, c, 0], [0, 0, 1]])
        for mine, theirs in zip(frame.matrices(), expected, strict=True):
            np.testing.assert_allclose(turn @ np.asarray(mine) @ turn.T, theirs, atol=1e-12 * abs(theirs).max())
        u = np.random.default_rng(3).standard_normal(9)
        for place in ("e1@0.3", "e2@1.0"):
            lateral = -s * frame.row(f"{place}.x") + c * frame.row(f"{place}.y")
            np.testing.assert_allclose(lateral @ u, beam.row(f"{place}.lateral") @ turn @ u, atol=1e-12)
            strain = beam.strain_row(f"{place},z=0.02") @ turn @ u
            np.testing.assert_allclose(frame.strain_row(f"{place},z=0.02") @ u, strain, rtol=1e-9)


def test_a_place_of_many_spaces_is_refused_at_once():
    """The time of the search for the distance was quadratic: minutes for this text."""
    beam = vb.Beam(np.array([0.0, 1.0, 2.0]), E, A, I, RHO)
    with pytest.raises(vb.InputError):
        beam.strain_row("e1@0.3" + " " * 400_000 + "z=0.02")
    assert np.array_equal(beam.strain_row("e1@0.3 , z = 0.02 "), beam.strain_row("e1@0.3,z=0.02"))


@pytest.mark.parametrize("girder", [0.1, 1.0, 8.0])
def test_portal_stiffness_with_joint_rotations(girder):
    """Sideways stiffness of a fixed portal, axial deformation excluded (Chopra, Dynamics of Structures, section 1.3):
    k = 24 E Ic/h³ (12ρ + 1)/(12ρ + 4) with ρ = (Ib/l)/(2 Ic/h)."""
    portal = vb.Frame2D(**PORTAL, modulus=E, area=1e4 * A, inertia=[I, girder * I, I], density=RHO)
    u = np.linalg.solve(np.asarray(portal.matrices()[1]), portal.row("1.x"))
    rho = (girder * I / 6) / (2 * I / 3)
    exact = 24 * E * I / 3**3 * (12 * rho + 1) / (12 * rho + 4)
    np.testing.assert_allclose(1 / (portal.row("1.x") @ u), exact, rtol=1e-5)


def test_joint_equilibrium_of_section_forces():
    """At a joint without load, moments of the elements balance; the columns' shears carry the load."""
    portal = vb.Frame2D(**PORTAL, modulus=E, area=A, inertia=[I, 2 * I, 1.5 * I], density=RHO)
    u = np.linalg.solve(np.asarray(portal.matrices()[1]), portal.row("1.x")) * 1e4
    moment = {place: portal.force_row(f"{place}.moment") @ u for place in ("e0@1", "e1@0", "e1@1", "e2@0")}
    np.testing.assert_allclose(moment["e0@1"], moment["e1@0"], rtol=1e-7)
    np.testing.assert_allclose(moment["e1@1"], moment["e2@0"], rtol=1e-7)
    shear = [portal.force_row(f"{place}.shear") @ u for place in ("e0@0.5", "e2@0.5")]
    np.testing.assert_allclose(shear[0] + shear[1], 1e4, rtol=1e-7)
    np.testing.assert_allclose(portal.force_row("e1@0.5.axial") @ u, -1e4 + shear[0], rtol=1e-6)


def test_ground_motion_of_a_frame_carries_everything():
    portal = vb.Frame2D(**PORTAL, modulus=E, area=A, inertia=I, density=RHO, mass_model="lumped")
    assert portal.matrices()[0].shape == (6,)
    for direction in ("x", "y"):
        np.testing.assert_allclose(np.sum(portal.ground_inertia(direction)), RHO * A * (1.5 + 6 + 1.5), rtol=1e-9)
        assert portal.carried(f"0.{direction}", direction) == portal.carried(f"e1@0.3.{direction}", direction) == 1.0
    assert portal.carried("1.x", "y") == portal.carried("1.rotation", "x") == 0.0


@pytest.mark.opensees
def test_frequencies_equal_those_of_opensees():
    ops = opensees()
    nodes = [(0, 0), (0.2, 3), (4, 3.5), (7, 0), (4, 6)]
    elements = [(0, 1), (1, 2), (2, 3), (2, 4)]
    inertia = [I, 2 * I, 1.5 * I, 0.5 * I]
    masses = [vb.PointMass(300.0, at=4, rotary=9.0)]
    frame = vb.Frame2D(nodes, elements, E, A, inertia, RHO, supports={0: "fixed", 3: "pinned"}, masses=masses)
    ops.model("basic", "-ndm", 2, "-ndf", 3)
    for i, point in enumerate(nodes):
        ops.node(i, *map(float, point))
    ops.fix(0, 1, 1, 1)
    ops.fix(3, 1, 1, 0)
    ops.mass(4, 300.0, 300.0, 9.0)
    ops.geomTransf("Linear", 1)
    for i, (a, b) in enumerate(elements):
        ops.element("elasticBeamColumn", i, a, b, A, E, inertia[i], 1, "-mass", RHO * A, "-cMass")
    values = np.array(ops.eigen("-fullGenLapack", 10))
    np.testing.assert_allclose(vb.modes(frame).frequencies, np.sqrt(values) / (2 * np.pi), rtol=1e-7)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda p: p.row("1"), "needs a direction: write '1.x' or '1.y' or '1.rotation'"),
        (lambda p: p.row("e3@0.5.x"), "elements are numbered 0 to 2"),
        (lambda p: p.strain_row("1,z=0.1"), "is a node, where elements meet"),
        (lambda p: p.rotation_row("1.x"), "A rotation is measured at '1'"),
        (lambda p: vb.Frame2D([(0, 0), (1, 1)], [(0, 2)], E, A, I, RHO), "ends at node 2; nodes are numbered 0 to 1"),
        (lambda p: vb.Frame2D([(0, 0), (1, 1), (2, 2)], [(0, 1)], E, A, I, RHO), "Node 2 belongs to no element"),
        (lambda p: vb.Frame2D([(0, 0), (1, 1), (1, 1)], [(0, 1), (1, 2)], E, A, I, RHO), "has no length"),
        (lambda p: vb.Frame2D([(0, 0, 0), (1, 1, 1)], [(0, 1)], E, A, I, RHO), "needs x and y, not 3 numbers"),
    ],
)
def test_refusals_are_messages(make, sentence):
    with pytest.raises(VibridError) as problem:
        make(vb.Frame2D(**PORTAL, modulus=E, area=A, inertia=I, density=RHO))
    assert sentence in str(problem.value)
