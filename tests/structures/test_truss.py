"""The truss against the method of joints, an assembly by hand and the wave speed of a bar."""

import itertools

import jax
import numpy as np
import pytest
from opensees_import import opensees

import vibrid as vb
from vibrid.core.errors import VibridError
from vibrid.simulation.excitation import drive

E, A, RHO = 200e9, 1e-4, 8000.0
TRIANGLE = {
    "nodes": [(0, 0), (4, 0), (2, 3)],
    "bars": [(0, 1), (1, 2), (0, 2)],
    "modulus": E,
    "area": A,
    "density": RHO,
    "supports": {0: "pinned", 1: "roller"},
}


def bridge(**more) -> vb.Truss:
    """Seven bottom and five top nodes, six panels of 10 m by 10 m, verticals and diagonals: 21 bars."""
    bottom, top = [(10.0 * i, 0.0) for i in range(7)], [(10.0 * i, 10.0) for i in range(1, 6)]
    chords = [(i, i + 1) for i in range(6)] + [(i, i + 1) for i in range(7, 11)]
    posts = [(i, i + 6) for i in range(1, 6)]
    diagonals = [(0, 7), (1, 8), (2, 9), (4, 9), (5, 10), (6, 11)]
    return vb.Truss(bottom + top, chords + posts + diagonals, E, A, RHO, supports={0: "pinned", 6: "pinned"}, **more)


def test_bar_forces_by_the_method_of_joints():
    """A load of 12 kN down at the apex: diagonals carry −12/2/sin α, the tie 12/2/tan α."""
    truss = vb.Truss(**TRIANGLE)
    u = np.linalg.solve(np.asarray(truss.matrices()[1]), -12e3 * truss.row("2.y"))
    sine, tangent = 3 / np.sqrt(13), 3 / 2
    expected = [6e3 / tangent, -6e3 / sine, -6e3 / sine]
    np.testing.assert_allclose([truss.force_row(str(i)) @ u for i in range(3)], expected, rtol=1e-9)
    strains = [truss.strain_row(str(i)) @ u for i in range(3)]
    np.testing.assert_allclose(strains, np.array(expected) / (E * A), rtol=1e-9)
    work = sum(f**2 * length / (E * A) for f, length in zip(expected, (4, 13**0.5, 13**0.5), strict=True))
    np.testing.assert_allclose(truss.row("2.y") @ u, -work / 12e3, rtol=1e-9)  # Castigliano


def test_tripod_in_space_by_the_method_of_joints():
    feet = [(3.0, 0.0, 0.0), (-1.0, 2.0, 0.0), (-2.0, -2.5, 0.5)]
    truss = vb.Truss(
        [*feet, (0.2, 0.1, 4.0)],
        [(0, 3), (1, 3), (2, 3)],
        [E, 2 * E, E],
        [A, A, 3 * A],
        RHO,
        supports={i: "pinned" for i in range(3)},
    )
    load = np.array([500.0, -300.0, -9000.0])
    u = np.linalg.solve(np.asarray(truss.matrices()[1]), load)
    along = np.array(feet) - [0.2, 0.1, 4.0]
    along /= np.linalg.norm(along, axis=1)[:, None]
    forces = [truss.force_row(str(i)) @ u for i in range(3)]
    np.testing.assert_allclose(forces, np.linalg.solve(along.T, -load), rtol=1e-9)


@pytest.mark.parametrize("mass_model", ["consistent", "lumped"])
def test_matrices_equal_an_assembly_by_hand(mass_model):
    """A cube corner with uneven bars, bar by bar in plain loops."""
    rng = np.random.default_rng(5)
    nodes = rng.uniform(0, 3, (5, 3))
    bars = list(itertools.combinations(range(5), 2))
    modulus, area = rng.uniform(1, 2, 10) * E, rng.uniform(1, 2, 10) * A
    truss = vb.Truss(
        nodes,
        bars,
        modulus,
        area,
        RHO,
        supports={0: "fixed", 1: ["x", "z"], 2: "roller"},
        mass_model=mass_model,
        masses=[vb.PointMass(7.0, at="4")],
    )
    k, m = np.zeros((15, 15)), np.zeros((15, 15))
    for i, (a, b) in enumerate(bars):
        d = nodes[b] - nodes[a]
        length = np.sqrt(d @ d)
        for p, sp in ((a, -1), (b, 1)):
            for q, sq in ((a, -1), (b, 1)):
                k[3 * p : 3 * p + 3, 3 * q : 3 * q + 3] += sp * sq * modulus[i] * area[i] * np.outer(d, d) / length**3
                share = (1 / 3 if p == q else 1 / 6) if mass_model == "consistent" else (0.5 if p == q else 0.0)
                m[3 * p : 3 * p + 3, 3 * q : 3 * q + 3] += share * RHO * area[i] * length * np.eye(3)
    m[12:, 12:] += 7.0 * np.eye(3)
    free = np.array([4, 6, 7, 9, 10, 11, 12, 13, 14])  # node 1 moves along y, node 2 along x and y
    mass, stiffness = (np.asarray(a) for a in truss.matrices())
    np.testing.assert_allclose(stiffness, k[np.ix_(free, free)], atol=1e-12 * abs(k).max())
    np.testing.assert_allclose(np.diag(mass) if mass.ndim == 1 else mass, m[np.ix_(free, free)], atol=1e-12)
    assert mass.ndim == (1 if mass_model == "lumped" else 2)
    assert truss.degrees_of_freedom == ("1.y", "2.x", "2.y", *(f"{i}.{d}" for i in (3, 4) for d in "xyz"))


def test_rigid_motion_and_uniform_strain():
    """Patch test: any motion u = a + G x gives each bar the strain t·G·t, and a rigid one none."""
    truss = bridge()
    truss = vb.Truss(truss.nodes, truss.bars, E, A, RHO, supports={})
    x = np.array(truss.nodes)
    gradient = np.array([[1e-3, 4e-4], [2e-4, -5e-4]])
    u = (x @ gradient.T + [0.1, 0.2]).ravel()
    for i, (a, b) in enumerate(truss.bars):
        t = (x[b] - x[a]) / np.linalg.norm(x[b] - x[a])
        np.testing.assert_allclose(truss.strain_row(str(i)) @ u, t @ gradient @ t, atol=1e-15)
    spin = (x @ [[0, 1], [-1, 0]]).ravel()
    np.testing.assert_allclose(np.asarray(truss.matrices()[1]) @ spin, 0, atol=1e-6)


def test_frequencies_of_a_bridge():
    """The bridge of 21 bars: the paper gives 7.59, 16.42, 27.35 and 30.47 Hz and leaves its topology open."""
    consistent, lumped = vb.modes(bridge(), 4), vb.modes(bridge(mass_model="lumped"), 4)
    print("consistent", consistent.frequencies.round(2), "lumped", lumped.frequencies.round(2))
    mass, stiffness = (np.asarray(a) for a in bridge().matrices())
    values = np.sort(np.linalg.eigvals(np.linalg.solve(mass, stiffness)).real)[:4]
    np.testing.assert_allclose(consistent.frequencies, np.sqrt(values) / (2 * np.pi), rtol=1e-9)
    assert np.all(lumped.frequencies < consistent.frequencies)


@pytest.mark.opensees
def test_frequencies_equal_those_of_opensees():
    ops = opensees()
    truss = bridge(mass_model="lumped", masses=[vb.PointMass(50.0, at=3)])
    ops.model("basic", "-ndm", 2, "-ndf", 2)
    for i, point in enumerate(truss.nodes):
        ops.node(i, *point)
    ops.fix(0, 1, 1)
    ops.fix(6, 1, 1)
    ops.mass(3, 50.0, 50.0)
    ops.uniaxialMaterial("Elastic", 1, E)
    for i, (a, b) in enumerate(truss.bars):
        ops.element("Truss", i, a, b, A, 1, "-rho", RHO * A)
    values = np.array(ops.eigen("-fullGenLapack", 20))
    np.testing.assert_allclose(vb.modes(truss).frequencies, np.sqrt(values) / (2 * np.pi), rtol=1e-8)


def test_response_to_a_nodal_load_differentiates_with_respect_to_a_bar():
    truss = vb.Truss(**(TRIANGLE | {"modulus": [E, E, E]}), damping=vb.Rayleigh(1.0, 1e-5))
    sensors = vb.Sensors(element_force=["1"], strain=["1"], displacement=["2.y"])
    u = 1e3 * np.sin(np.arange(0, 0.02, 1e-4) * 300)[:, None]

    @jax.jit
    def readings(value):
        changed = truss.replace({"modulus[1]": value})
        model = changed.model((("load", "2.y"),))
        return vb.simulation.run(
            model, vb.RungeKutta4(), drive(u), 1e-4, vb.simulation.Readings(changed.sensor_arrays(model, sensors))
        )

    y = readings(E)
    np.testing.assert_allclose(y[:, 0], E * A * y[:, 1], rtol=1e-9)
    slope, numeric = jax.jacfwd(readings)(E), (readings(1.00001 * E) - readings(0.99999 * E)) / (2e-5 * E)
    scale = abs(np.asarray(slope)).max(axis=0)
    np.testing.assert_allclose(slope / scale, numeric / scale, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda t: t.row("2"), "needs a direction: write '2.x' or '2.y'"),
        (lambda t: t.row("2.z"), "There is no direction called 'z'"),
        (lambda t: t.strain_row("3"), "bars are numbered 0 to 2"),
        (lambda t: t.ground("z"), "There is no direction of ground motion called 'z'"),
        (lambda t: vb.Truss([(0, 0), (1, 0, 0)], [(0, 1)], E, A, RHO), "the same for all"),
        (lambda t: vb.Truss([(0, 0), (1, 0)], [(0, 1, 1)], E, A, RHO), "needs two nodes, not 3"),
    ],
)
def test_refusals_are_messages(make, sentence):
    with pytest.raises(VibridError) as problem:
        make(vb.Truss(**TRIANGLE))
    assert sentence in str(problem.value)
