"""Nodes that follow others, directions without mass, bars in frames, and names of nodes."""

import dataclasses

import jax
import numpy as np
import pytest
import scipy.linalg

import vibrid as vb
from vibrid.structures import Tie
from vibrid.structures.describe import describe, rebuild

PORTAL = {
    "nodes": [(0, 0), (0, 3), (4, 3.5), (4, 0)],
    "elements": [(0, 1), (1, 2), (2, 3)],
    "modulus": 210e9,
    "area": 2e-3,
    "inertia": [8e-6, 5e-6, 6e-6],
    "density": 0.0,
    "supports": {0: "fixed", 3: "fixed"},
    "damping": vb.Rayleigh(0.3, 2e-3),
}
MASSES = [vb.PointMass(4e3, at=1), vb.PointMass(3e3, at=2)]
MOTION = vb.synthetic_motion(key=3, duration=4.0, rate=200.0, pga=3.0)


def light(size):
    return [vb.PointMass(m.mass, m.at, rotary=size) for m in MASSES]


def test_massless_rotations_are_the_limit_of_small_ones():
    """The difference falls with the rotary inertia, as it should."""
    bare = vb.Frame2D(**PORTAL, masses=MASSES, massless=["rotation"])
    assert bare.degrees_of_freedom == ("1.x", "1.y", "2.x", "2.y")
    exact = vb.simulate(bare, MOTION, integrator=vb.Newmark()).displacement
    gaps = []
    for size in (1.0, 0.1):
        near = vb.Frame2D(**PORTAL, masses=light(size))
        found = vb.simulate(near, MOTION, integrator=vb.Newmark()).displacement[:, [0, 1, 3, 4]]
        gaps.append(np.abs(found - exact).max() / np.abs(exact).max())
    assert gaps[0] < 1e-2 and 8 < gaps[0] / gaps[1] < 12
    found = [vb.modes(frame, 2).frequencies for frame in (bare, vb.Frame2D(**PORTAL, masses=light(1e-3)))]
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_forces_next_to_massless_rotations():
    """The moment at the foot of a column whose head has no rotary inertia, against one that has next to none."""
    place = ["e0@0.0.moment"]
    found = []
    for frame in (vb.Frame2D(**PORTAL, masses=MASSES, massless=["1.rotation", "2.rotation"]),
                  vb.Frame2D(**PORTAL, masses=light(1e-3))):  # fmt: skip
        response = vb.simulate(frame, MOTION, integrator=vb.Newmark())
        found.append(response.measure(vb.Sensors(element_force=place))["element_force_e0@0.0.moment"])
    assert np.abs(found[0] - found[1]).max() < 1e-4 * np.abs(found[1]).max()


def test_a_derivative_follows_the_condensation():
    frame = vb.Frame2D(**PORTAL, masses=MASSES, massless=["rotation"])

    def first(value):
        return vb.modes(frame.replace({"inertia[1]": value}), 1).frequencies[0]

    def traced(value):
        mass, stiffness = frame.replace({"inertia[1]": value}).matrices()
        matrix = jax.numpy.diag(mass) if mass.ndim == 1 else mass
        return vb.structures.natural_frequencies(matrix, stiffness)[0]

    step = 1e-10
    numeric = (first(5e-6 + step) - first(5e-6 - step)) / (2 * step)
    assert float(jax.grad(traced)(5e-6)) == pytest.approx(numeric, rel=1e-5)


def test_equal_motion_equals_a_stiff_bar_between_the_nodes():
    tied = vb.Frame2D(**PORTAL, masses=light(10.0), ties=[Tie(2, 1, along="x")])
    assert "2.x" not in tied.degrees_of_freedom and tied.row("2.x") @ np.arange(5.0) == 0.0
    stiff = vb.Frame2D(**PORTAL, masses=light(10.0), attachments=[vb.Attachment(vb.Linear(1e13), "1.x", "2.x")])
    np.testing.assert_allclose(vb.modes(tied, 5).frequencies, vb.modes(stiff, 5).frequencies, rtol=1e-5)
    assert vb.modes(tied).moving_mass == pytest.approx(7e3)


def test_a_rigid_arm_moves_as_a_rigid_body():
    """A cantilever with a mass on an arm: two degrees of freedom and an eccentric mass, by hand."""
    e, i, height, arm, mass = 30e9, 1e-4, 3.0, 0.8, 5e3
    frame = vb.Frame2D(
        nodes=[(0, 0), (0, height), (arm, height)], elements=[(0, 1), (1, 2)], modulus=e, area=1e-2, inertia=i,
        density=0.0, supports={0: "fixed"}, masses=[vb.PointMass(mass, at=2)],
        ties=[Tie(2, 1, along=["x", "y", "rotation"], rigid=True)],
    )  # fmt: skip
    m, k = (np.asarray(a) for a in frame.matrices())
    wanted = mass * np.array([[1, 0, 0], [0, 1, arm], [0, arm, arm**2]])
    np.testing.assert_allclose(m, wanted, atol=1e-9)
    bend = e * i / height**3 * np.array([[12, 6 * height], [6 * height, 4 * height**2]])
    np.testing.assert_allclose(k[np.ix_([0, 2], [0, 2])], bend, rtol=1e-9)
    assert np.all(scipy.linalg.eigh(k, m + 1e-9 * np.eye(3), eigvals_only=True) > 0)


def test_an_element_without_inertia_is_a_bar():
    nodes, pairs = [(0, 0), (0, 3), (4, 0)], [(0, 1), (2, 1)]
    as_frame = vb.Frame2D(nodes=nodes, elements=pairs, modulus=200e9, area=1e-3, inertia=0.0, density=0.0,
                          supports={0: "fixed", 1: "rotation", 2: "fixed"},
                          masses=[vb.PointMass(1e3, at=1)])  # fmt: skip
    as_truss = vb.Truss(nodes=nodes, bars=pairs, modulus=200e9, area=1e-3, density=0.0,
                        supports={0: "pinned", 2: "pinned"}, masses=[vb.PointMass(1e3, at=1)])  # fmt: skip
    np.testing.assert_allclose(vb.modes(as_frame).frequencies, vb.modes(as_truss).frequencies, rtol=1e-12)


def test_names_replace_numbers():
    named = vb.Frame2D(
        **(PORTAL | {"supports": {"a": "fixed", "11": "fixed"}}), names=["a", "7", "12", "11"],
        masses=[vb.PointMass(4e3, at="7", rotary=1.0), vb.PointMass(3e3, at="12", rotary=1.0)],
    )  # fmt: skip
    plain = vb.Frame2D(**PORTAL, masses=light(1.0))
    np.testing.assert_array_equal(named.row("12.y"), plain.row("2.y"))
    with pytest.raises(vb.InputError, match="no node called '1'"):
        named.row("1.x")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"massless": ["x"]}, "'[12].x' is called massless and has mass"),
        ({"massless": ["rotation", "y", "x"]}, "Every degree of freedom is massless"),
        ({"massless": ["1"]}, "needs a direction"),
        (
            {"massless": ["rotation"], "attachments": [vb.Attachment(vb.Linear(1.0), "1.rotation")]},
            "follows other places",
        ),
        ({"ties": [Tie(0, 1, along="x")]}, "is held, or tied, already"),
        ({"ties": [Tie(2, 1, along="z")]}, "no direction called 'z'"),
        ({"names": ["a", "b"]}, "2 names were given for 4 nodes"),
        ({"names": ["a", "a", "b", "c"]}, "cannot name a node"),
        ({"ties": ["1"]}, "A tie is written"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(given, sentence):
    with pytest.raises(vb.InputError, match=sentence):
        vb.Frame2D(**PORTAL, masses=MASSES, **given)


def test_loose_massless_places_are_named():
    with pytest.raises(vb.InputError, match=r"'1.rotation' has neither mass nor stiffness"):
        vb.Frame2D(nodes=[(0, 0), (0, 3), (4, 0)], elements=[(0, 1), (2, 1)], modulus=200e9, area=1e-3, inertia=0.0,
                   density=0.0, supports={0: "fixed", 2: "fixed"}, masses=[vb.PointMass(1e3, at=1)],
                   massless=["rotation"])  # fmt: skip


def test_ties_are_kept_in_files():
    frame = vb.Frame2D(**PORTAL, masses=light(1.0), ties=[Tie(2, 1, along="x")])
    again = rebuild(describe(frame))
    assert dataclasses.asdict(again.ties[0]) == dataclasses.asdict(frame.ties[0])


def test_a_ring_of_ties_is_refused():
    ring = [Tie(1, 2, along=["x"]), Tie(2, 1, along=["x"])]
    with pytest.raises(vb.InputError, match="Ties form a ring"):
        vb.Frame2D(**PORTAL, masses=MASSES, ties=ring)
