"""The beam against closed forms, an integration of its own shape functions, and finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import Polynomial as P
from scipy.optimize import brentq
from structures_data import SIVA_RATIOS, shaking, siva_beam

import vibrid as vb
from vibrid.core.errors import VibridError
from vibrid.core.linalg import discretise
from vibrid.simulation.excitation import drive

E, A, I, RHO, L = 210e9, 6e-3, 2e-5, 7850.0, 3.0


def beam(elements=4, **more) -> vb.Beam:
    return vb.Beam(np.linspace(0, L, elements + 1), E, A, I, RHO, **more)


def uneven(**more) -> vb.Beam:
    return vb.Beam([0, 0.4, 1.3, 1.9, L], E, A, I, RHO, **more)


def solve(structure, place, force=1.0):
    """Static displacements under a force at a place."""
    return np.linalg.solve(np.asarray(structure.matrices()[1]), structure.row(place)) * force


# -- frequencies ---------------------------------------------------------------------------------------------------

ENDS = {
    "cantilever": ({0: "fixed"}, lambda b: np.cos(b) * np.cosh(b) + 1, 0, [1.8751041, 4.6940911, 7.8547574]),
    "simply supported": ({0: "pinned", "tip": "roller"}, np.sin, 0, [np.pi, 2 * np.pi, 3 * np.pi]),
    "free": ({}, lambda b: np.cos(b) * np.cosh(b) - 1, 2, [4.7300407, 7.8532046]),
    "clamped": ({0: "fixed", "tip": "fixed"}, lambda b: np.cos(b) * np.cosh(b) - 1, 0, [4.7300407, 7.8532046]),
}


@pytest.mark.parametrize("ends", ENDS)
def test_bending_frequencies_converge_with_order_four(ends):
    supports, equation, rigid, roots = ENDS[ends]
    errors = []
    for elements in (4, 8, 16):
        found = vb.modes(beam(elements, supports=supports, axial=False)).frequencies
        assert np.all(found[:rigid] < 1e-3 * found[rigid])
        exact = np.array([brentq(equation, b - 0.01, b + 0.01, xtol=1e-14) for b in roots]) ** 2
        exact *= np.sqrt(E * I / (RHO * A)) / L**2 / (2 * np.pi)
        errors.append(found[rigid : rigid + len(exact)] / exact - 1)
    errors = np.array(errors)
    np.testing.assert_allclose(np.log2(errors[1] / errors[2])[1:], 4.0, atol=0.15)
    leading = (np.array(roots) / 16) ** 4 / 1440  # the error of Hermite elements with consistent mass, (βh)⁴/1440
    np.testing.assert_allclose(errors[-1][1:], leading[1:], rtol=0.05)


def test_axial_frequencies_converge_with_order_two():
    exact = np.sqrt(E / RHO) / (4 * L)
    along = [vb.Beam(np.linspace(0, L, n + 1), E, A, 1.0, RHO).matrices() for n in (8, 16)]
    errors = []
    for (m, k), n in zip(along, (8, 16), strict=True):
        axial = np.arange(n) * 3
        pick = np.ix_(axial, axial)
        values = np.linalg.eigvals(np.linalg.solve(np.asarray(m)[pick], np.asarray(k)[pick]))
        errors.append(np.sqrt(values.real.min()) / (2 * np.pi) / exact - 1)
    np.testing.assert_allclose(np.log2(errors[0] / errors[1]), 2.0, atol=0.02)


def test_cantilever_with_a_tip_mass_and_with_a_mass_between_nodes():
    mu = 0.4  # tip mass over beam mass

    def equation(b):
        return 1 + np.cos(b) * np.cosh(b) + mu * b * (np.cos(b) * np.sinh(b) - np.sin(b) * np.cosh(b))

    root = brentq(equation, 0.5, 1.9)
    exact = root**2 * np.sqrt(E * I / (RHO * A)) / L**2 / (2 * np.pi)
    heavy = vb.PointMass(mu * RHO * A * L, at="tip")
    np.testing.assert_allclose(vb.modes(beam(12, masses=[heavy], axial=False), 1).frequencies, exact, rtol=1e-6)
    bare, loaded = uneven(), uneven(masses=[vb.PointMass(30.0, at="x=0.9", rotary=2.0)])
    added = np.asarray(loaded.matrices()[0] - bare.matrices()[0])
    motion = np.random.default_rng(0).standard_normal(12)
    speed = [bare.row(f"x=0.9.{d}") @ motion for d in ("axial", "lateral", "rotation")]
    np.testing.assert_allclose(motion @ added @ motion, np.dot([30.0, 30.0, 2.0], np.square(speed)), rtol=1e-9)


def test_lumped_mass_is_diagonal_keeps_the_mass_and_converges():
    exact = 1.8751041**2 * np.sqrt(E * I / (RHO * A)) / L**2 / (2 * np.pi)
    errors = [vb.modes(beam(n, mass_model="lumped", axial=False), 1).frequencies[0] / exact - 1 for n in (8, 16)]
    np.testing.assert_allclose(np.log2(errors[0] / errors[1]), 2.0, atol=0.05)
    assert beam(8, mass_model="lumped", axial=False).matrices()[0].shape == (16,)
    whole = beam(5, mass_model="lumped", supports={})
    np.testing.assert_allclose(whole.matrices()[0] @ whole.ground("lateral") ** 2, RHO * A * L, rtol=1e-12)


def test_table_of_the_steel_cantilever():
    """Frequencies printed in the paper (beam and tip mass, springs off): density 7694 kg/m³ reproduces them."""
    printed = np.array([2.079, 13.05, 36.61, 71.86, 119.0, 178.1, 249.4])
    found = vb.modes(siva_beam(), 7)
    stated = vb.modes(siva_beam(7800.0), 7)
    print(found)
    print("off the paper, %:", np.round(100 * (found.frequencies / printed - 1), 3))
    print("with the printed density 7800, %:", np.round(100 * (stated.frequencies / printed - 1), 3))
    np.testing.assert_allclose(found.frequencies, printed, rtol=5e-4)
    np.testing.assert_allclose(stated.frequencies / printed - 1, -0.0066, atol=5e-4)
    np.testing.assert_allclose(found.ratios, SIVA_RATIOS, rtol=1e-6)


# -- elements ------------------------------------------------------------------------------------------------------


def test_matrices_equal_integrals_of_the_shape_functions():
    """Assembly by hand, with Hermite polynomials integrated exactly, on uneven elements of different sections."""
    modulus, inertia = np.array([1.0, 2.0, 0.5, 3.0]) * E, np.array([1.0, 1.2, 0.8, 2.0]) * I
    area = np.array([1.0, 2.0, 1.5, 1.0]) * A
    made = vb.Beam([0, 0.4, 1.3, 1.9, L], modulus, area, inertia, RHO, supports={})
    mass, stiffness = (np.asarray(a) for a in made.matrices())
    k, m = np.zeros((15, 15)), np.zeros((15, 15))
    for e, h in enumerate(np.diff(made.positions)):
        s = P([0, 1 / h])
        across = [1 - 3 * s**2 + 2 * s**3, h * (s - 2 * s**2 + s**3), 3 * s**2 - 2 * s**3, h * (s**3 - s**2)]
        along = [1 - s, s]

        def integral(p, h=h):
            return p.integ()(h) - p.integ()(0.0)

        lateral, axial = [3 * e + 1, 3 * e + 2, 3 * e + 4, 3 * e + 5], [3 * e, 3 * e + 3]
        for i, p in zip(lateral, across, strict=True):
            for j, q in zip(lateral, across, strict=True):
                k[i, j] += modulus[e] * inertia[e] * integral(p.deriv(2) * q.deriv(2))
                m[i, j] += RHO * area[e] * integral(p * q)
        for i, p in zip(axial, along, strict=True):
            for j, q in zip(axial, along, strict=True):
                k[i, j] += modulus[e] * area[e] * integral(p.deriv() * q.deriv())
                m[i, j] += RHO * area[e] * integral(p * q)
    np.testing.assert_allclose(stiffness, k, atol=1e-12 * abs(k).max())
    np.testing.assert_allclose(mass, m, atol=1e-13 * abs(m).max())


def test_rigid_motion_and_constant_curvature_on_uneven_elements():
    """Patch test: rigid motions strain nothing; constant curvature and strain are reproduced exactly."""
    free = uneven(supports={})
    mass, k = (np.asarray(a) for a in free.matrices())
    x = np.array(free.positions)
    translation, rotation = free.ground("lateral"), np.stack([0 * x, x, 1 + 0 * x], axis=1).ravel()
    np.testing.assert_allclose(k @ np.stack([translation, rotation, free.ground("axial")], axis=1), 0, atol=1e-3)
    np.testing.assert_allclose(rotation @ mass @ rotation, RHO * A * L**3 / 3, rtol=1e-12)
    bent = np.stack([1e-4 * x, 0.5e-3 * x**2, 1e-3 * x], axis=1).ravel()
    for place in ("x=0", "x=0.7", "2", "e3@0.25", "tip"):
        np.testing.assert_allclose(free.force_row(f"{place}.moment") @ bent, E * I * 1e-3, rtol=1e-9)
        np.testing.assert_allclose(free.force_row(f"{place}.axial") @ bent, E * A * 1e-4, rtol=1e-9)
        np.testing.assert_allclose(free.strain_row(f"{place},z=0.05") @ bent, 1e-4 - 0.05 * 1e-3, rtol=1e-9)
    inner = (k @ bent).reshape(-1, 3)[1:-1]
    np.testing.assert_allclose(inner, 0, atol=1e-9 * abs(k @ bent).max())


def test_static_deflection_at_nodes_and_between_them():
    """Tip load P: v = P x²(3L − x)/6EI, M = P(L − x), V = −P, ε = −z M/EI; the elements hold the cubic exactly."""
    force, x = 1200.0, 0.77
    structure = uneven()
    u = solve(structure, "tip", force)
    np.testing.assert_allclose(structure.row("tip") @ u, force * L**3 / (3 * E * I), rtol=1e-9)
    np.testing.assert_allclose(structure.row("tip.rotation") @ u, force * L**2 / (2 * E * I), rtol=1e-9)
    np.testing.assert_allclose(structure.rotation_row("tip") @ u, force * L**2 / (2 * E * I), rtol=1e-9)
    np.testing.assert_allclose(structure.row(f"x={x}") @ u, force * x**2 * (3 * L - x) / (6 * E * I), rtol=1e-9)
    slope = force * x * (2 * L - x) / (2 * E * I)
    np.testing.assert_allclose(structure.row(f"x={x}.rotation") @ u, slope, rtol=1e-9)
    np.testing.assert_allclose(structure.force_row(f"x={x}.moment") @ u, force * (L - x), rtol=1e-8)
    np.testing.assert_allclose(structure.force_row("0.moment") @ u, force * L, rtol=1e-8)
    np.testing.assert_allclose(structure.force_row(f"x={x}.shear") @ u, -force, rtol=1e-8)
    strain = -0.04 * force * (L - x) / (E * I)
    np.testing.assert_allclose(structure.strain_row(f"x={x},z=0.04") @ u, strain, rtol=1e-8)
    np.testing.assert_allclose(solve(structure, "x=0.77", force) @ structure.row("tip"), u @ structure.row("x=0.77"))
    np.testing.assert_allclose(structure.row("tip.axial") @ solve(structure, "tip.axial"), L / (E * A), rtol=1e-9)


def test_ground_motion_loads_the_beam_as_its_own_weight_would():
    """A steady ground acceleration bends a cantilever as a uniform load ρA a: tip ρA a L⁴/8EI, exact at nodes."""
    structure = beam(2)
    u = np.linalg.solve(np.asarray(structure.matrices()[1]), np.asarray(structure.model().load_matrix[:, 0]))
    np.testing.assert_allclose(structure.row("tip") @ u, -RHO * A * L**4 / (8 * E * I), rtol=1e-9)
    along = structure.model((("ground_acceleration", "axial"),)).load_matrix[:, 0]
    u = np.linalg.solve(np.asarray(structure.matrices()[1]), np.asarray(along))
    np.testing.assert_allclose(structure.row("tip.axial") @ u, -RHO * L**2 / (2 * E), rtol=1e-9)


# -- use -----------------------------------------------------------------------------------------------------------


def test_sensors_on_a_shaken_beam_read_what_they_should():
    """An accelerometer on the support reads the ground; between nodes it reads the interpolated absolute motion."""
    structure = beam(3, damping=vb.Modal(0.02), axial=False)
    t = np.arange(0, 0.4, 0.002)
    sensors = vb.Sensors(
        absolute_acceleration=["0", "x=0.5"],
        acceleration=["x=0.5"],
        displacement=["tip"],
        rotation=["tip", "x=0.5"],
        strain=["x=0.1,z=0.05"],
        element_force=["x=0.1.moment"],
        velocity=["2.rotation"],
    )
    response = vb.simulate(structure, shaking(np.sin(40 * t), 0.002), integrator=vb.Newmark())
    base, absolute, relative, tip, turn, turn_between, strain, moment, spin = response.readings(sensors).T
    np.testing.assert_allclose(base, np.sin(40 * t), atol=1e-12)
    np.testing.assert_allclose(absolute - relative, np.sin(40 * t), atol=1e-9)
    x = response.displacement
    np.testing.assert_allclose(tip, x[:, structure.degrees_of_freedom.index("3.lateral")])
    np.testing.assert_allclose(turn, x[:, structure.degrees_of_freedom.index("3.rotation")])
    np.testing.assert_allclose(turn_between, x @ structure.row("x=0.5.rotation"), atol=1e-15)
    np.testing.assert_allclose(strain, -0.05 * moment / (E * I), rtol=1e-9)
    np.testing.assert_allclose(spin, response.velocity[:, structure.degrees_of_freedom.index("2.rotation")])


def test_a_nonlinear_spring_between_nodes():
    """Static push on a cubic spring between nodes: found by dynamic relaxation of the model, checked by equilibrium."""
    structure = beam(3, axial=False, attachments=[vb.Attachment(vb.Cubic(1e5, 4e9), at="x=1.6")])
    model = structure.model((("load", "tip"),))
    x, f = jnp.zeros(6), jnp.array([2e5])
    for _ in range(30):
        slope = jax.jacfwd(lambda x: model.forces(x, 0 * x, model.start()))(x)
        x = x - jnp.linalg.solve(slope, model.forces(x, 0 * x, model.start()) - model.load(f))
    e = float(structure.row("x=1.6") @ x)
    spring = 1e5 * e + 4e9 * e**3
    u = solve(structure, "tip", 2e5) - solve(structure, "x=1.6", spring)
    np.testing.assert_allclose(x, u, rtol=1e-9)


def test_moving_load_rows():
    structure = beam(5, axial=False, supports={0: "pinned", "tip": "pinned"})
    x = np.array([-0.5, 0.0, 0.31, 1.2, 2.99, L, 3.4])
    rows = structure.rows_at(x)
    for i, position in enumerate(x):
        expected = structure.row(f"x={position}") if 0 <= position <= L else np.zeros(10)
        np.testing.assert_allclose(rows[i], expected, atol=1e-15)
    np.testing.assert_allclose(structure.rows_at(0.31, "rotation"), structure.row("x=0.31.rotation"), atol=1e-15)


def test_frequencies_differentiate_with_respect_to_each_element():
    structure = vb.Beam(np.linspace(0, L, 4), [E, 0.8 * E, 1.1 * E], A, I, RHO, axial=False)

    @jax.jit
    def frequencies(modulus, density):
        m, k = structure.replace({"modulus": modulus, "density": density}).matrices()
        return vb.structures.natural_frequencies(m, k)

    start = structure.modulus
    forward = jax.jacfwd(frequencies)(start, structure.density)
    step = 1e-5 * E
    both = [(frequencies(start + step * d, RHO), frequencies(start - step * d, RHO)) for d in jnp.eye(3)]
    numeric = jnp.stack([(above - below) / (2 * step) for above, below in both], axis=1)
    np.testing.assert_allclose(forward, numeric, rtol=1e-5, atol=1e-9 * abs(forward).max())
    np.testing.assert_allclose(forward @ start, 0.5 * frequencies(start, RHO), rtol=1e-6)  # f ∝ √E
    by_density = jax.grad(lambda r: frequencies(start, r)[0])(structure.density)
    np.testing.assert_allclose(by_density, -0.5 * frequencies(start, RHO)[0] / RHO, rtol=1e-9)


def test_response_differentiates_with_respect_to_an_element():
    structure = vb.Beam(np.linspace(0, L, 3), [E, E], A, I, RHO, axial=False, damping=vb.Rayleigh(0.4, 1e-5))
    u = np.sin(np.arange(0, 0.03, 1e-4) * 120)[:, None] * 1e4

    @jax.jit
    def tip(modulus):
        model = structure.replace({"modulus[0]": modulus}).model((("load", "tip"),))
        return vb.simulation.run(model, vb.RungeKutta4(), drive(u), 1e-4, vb.simulation.Everything())[
            0
        ] @ structure.row("tip")

    numeric = (tip(E * 1.00001) - tip(E * 0.99999)) / (2e-5 * E)
    exact = jax.jacfwd(tip)(E)
    np.testing.assert_allclose(exact, numeric, atol=1e-6 * float(jnp.abs(exact).max()))


def test_exact_steps_of_a_stiff_beam():
    """A step of 0.5 ms is 80 rad of the highest mode: its matrix exponential against the modes of the state matrix."""
    m, c, k, load = (np.asarray(a) for a in siva_beam().model((("load", "tip"),)).linear())
    a = np.block([[np.zeros((30, 30)), np.eye(30)], [-np.linalg.solve(m, k), -np.linalg.solve(m, c)]])
    step = np.asarray(discretise(a, np.concatenate([0 * load, np.linalg.solve(m, load)]), 5e-4)[0])
    scale = np.repeat([1e4, 1.0], 30)  # velocity over displacement
    values, vectors = np.linalg.eig(scale[:, None] * a / scale)
    expected = ((vectors * np.exp(values * 5e-4)) @ np.linalg.inv(vectors)).real
    np.testing.assert_allclose(scale[:, None] * step / scale, expected, atol=1e-10)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: beam().row("9"), "nodes are numbered 0 to 4; node 4 is also called 'tip'"),
        (lambda: beam().row("2.latral"), "did you mean 'lateral'"),
        (lambda: beam().row("x=3.5"), "off the beam, which reaches from 0 to 3 m"),
        (lambda: beam().row("x=here"), "'here' is not a number"),
        (lambda: beam(axial=False).row("2.axial"), "has no axial motion"),
        (lambda: beam(axial=False).strain_row("x=1"), "needs the distance from the axis"),
        (lambda: beam().force_row("x=1"), "end it with .axial, .shear or .moment"),
        (lambda: beam().ground("vertical"), "There is no direction of ground motion called 'vertical'"),
        (lambda: beam(supports={0: "clamped"}), "There is no support called 'clamped'"),
        (lambda: beam(1, supports={0: "fixed", 1: "fixed"}), "nothing can move"),
        (lambda: beam(masses=[vb.PointMass(1.0, at="7")]), "'7' is not a node"),
        (lambda: beam(attachments=[vb.Attachment(vb.Linear(1.0), at=0)]), "cannot move"),
        (lambda: beam(mass_model="lumpy"), "did you mean 'lumped'"),
        (lambda: vb.Beam([0, 1, 1], E, A, I, RHO), "must increase"),
        (lambda: vb.Beam([0, 1, 2], [E, E, E], A, I, RHO), "one for each of the 2 elements"),
    ],
)
def test_refusals_are_messages(make, sentence):
    with pytest.raises(VibridError) as problem:
        make()
    assert sentence in str(problem.value)
