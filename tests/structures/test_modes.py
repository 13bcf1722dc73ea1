"""Modes against closed forms and complex eigenvalues of the state matrix; their derivatives at repeated frequencies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from structures_data import SIVA_RATIOS, siva_beam

import vibrid as vb
from vibrid.core.errors import VibridError


def chain(n=5, **more) -> vb.ShearBuilding:
    return vb.ShearBuilding(masses=[2.0] * n, storeys=[vb.Linear(800.0)] * n, **more)


def damped_poles(structure) -> np.ndarray:
    """Eigenvalues of the state matrix with positive imaginary part, lowest first."""
    m, c, k, _ = (np.asarray(a) for a in structure.model().linear())
    n = len(m)
    state = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(m, k), -np.linalg.solve(m, c)]])
    values = np.linalg.eigvals(state)
    values = values[values.imag > 1e-6]
    return values[np.argsort(np.abs(values))]


def test_a_uniform_chain():
    """ω_j = 2 √(k/m) sin((2j − 1)π / (4n + 2)); effective masses add up to the mass."""
    found = vb.modes(chain())
    j = np.arange(1, 6)
    np.testing.assert_allclose(found.frequencies, 2 * 20 * np.sin((2 * j - 1) * np.pi / 22) / (2 * np.pi), rtol=1e-12)
    np.testing.assert_allclose(found.moving_mass, 10.0, rtol=1e-12)
    np.testing.assert_allclose(found.effective_mass.sum(), 10.0, rtol=1e-12)
    np.testing.assert_allclose(found.shapes.T @ found.shapes * 2.0, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(found.at("roof"), found.shapes[-1])
    np.testing.assert_allclose(found.periods * found.frequencies, 1.0)
    assert np.all(found.ratios == 0) and found.is_classical


def test_effective_masses_of_a_cantilever():
    """61.3 %, 18.8 %, 6.47 % of a uniform cantilever's mass move with its first three modes (Chopra, table 17.3.1)."""
    beam = vb.Beam(np.linspace(0, 2.0, 13), 1e9, 0.01, 1e-5, 1000.0, axial=False)
    found = vb.modes(beam, 3)
    np.testing.assert_allclose(found.effective_mass / (1000 * 0.01 * 2.0), [0.613, 0.188, 0.065], atol=6e-4)


@pytest.mark.parametrize("damping", [vb.Modal([0.01, 0.02, 0.05]), vb.Rayleigh(0.4, 0.002)], ids=["modal", "rayleigh"])
def test_classical_ratios_equal_those_of_complex_eigenvalues(damping):
    structure = chain(damping=damping)
    found, poles = vb.modes(structure), damped_poles(structure)
    assert found.is_classical
    np.testing.assert_allclose(found.poles, poles, rtol=1e-9)
    np.testing.assert_allclose(found.ratios, -poles.real / np.abs(poles), rtol=1e-9)
    if isinstance(damping, vb.Modal):
        np.testing.assert_allclose(found.ratios, [0.01, 0.02, 0.05, 0.05, 0.05], rtol=1e-9)


def test_modal_ratios_of_a_beam_come_back_from_complex_eigenvalues():
    poles = damped_poles(siva_beam())
    np.testing.assert_allclose((-poles.real / np.abs(poles))[:7], SIVA_RATIOS, rtol=1e-4)
    np.testing.assert_allclose(vb.modes(siva_beam()).ratios[6:], SIVA_RATIOS[-1], rtol=1e-6)


def test_rayleigh_damping_beyond_critical_is_reported():
    structure = chain(damping=vb.Rayleigh(0.0, 0.08))
    found = vb.modes(structure)
    np.testing.assert_allclose(found.ratios, 0.08 * np.pi * found.frequencies, rtol=1e-9)
    assert found.ratios[-1] > 1


def test_a_dashpot_at_one_floor_couples_the_modes():
    brace = vb.Attachment(vb.Linear(90.0), at="3", to="0")
    structure = chain(attachments=[vb.Attachment(vb.Viscous(8.0), at="1"), brace])
    found, poles = vb.modes(structure), damped_poles(structure)
    assert not found.is_classical and "couples the modes" in repr(found)
    np.testing.assert_allclose(found.poles, poles, rtol=1e-9)
    np.testing.assert_allclose(found.ratios, -poles.real / np.abs(poles), rtol=1e-9)
    m, c, k, _ = (np.asarray(a) for a in structure.model().linear())
    for pole, shape in zip(found.poles, found.complex_shapes.T, strict=True):
        residual = (m * pole**2 + c * pole + k) @ shape
        np.testing.assert_allclose(residual, 0, atol=1e-9 * np.abs(k @ shape).max())


def test_a_dashpot_that_stops_one_mode():
    structure = chain(2, attachments=[vb.Attachment(vb.Viscous(500.0), at="roof")])
    found, poles = vb.modes(structure), damped_poles(structure)
    assert len(poles) == 1
    assert np.sum(np.isclose(found.poles, poles[0], rtol=1e-9)) == 1
    assert np.sum(found.ratios > 1) == 1


def test_repeated_frequencies_have_finite_derivatives():
    """Two equal pairs of springs: f = √(k/m)/2π twice; the sum of their derivatives is that of each alone."""

    @jax.jit
    def frequencies(k):
        return vb.structures.natural_frequencies(jnp.diag(jnp.array([2.0, 2.0])), jnp.diag(k))

    k = jnp.array([50.0, 50.0])
    forward, backward = jax.jacfwd(frequencies)(k), jax.jacrev(frequencies)(k)
    np.testing.assert_allclose(forward, backward, atol=1e-15)
    np.testing.assert_allclose(forward.sum(axis=0), 0.5 * np.sqrt(50 / 2) / (2 * np.pi) / 50, rtol=1e-12)
    free = jax.jacfwd(frequencies)(jnp.array([0.0, 50.0]))
    assert np.all(np.isfinite(free))


def test_modal_damping_of_a_square_frame_differentiates():
    """A symmetric tripod in space sways equally in two directions: modal damping keeps a finite derivative there."""
    feet = [(np.cos(a), np.sin(a), 0.0) for a in (0.0, 2 * np.pi / 3, 4 * np.pi / 3)]
    truss = vb.Truss(
        [*feet, (0, 0, 2.0)],
        [(0, 3), (1, 3), (2, 3)],
        [1e9] * 3,
        1e-4,
        1000.0,
        supports={i: "pinned" for i in range(3)},
        damping=vb.Modal([0.01, 0.02, 0.03]),
    )
    found = vb.modes(truss)
    np.testing.assert_allclose(found.frequencies[0], found.frequencies[1], rtol=1e-9)

    @jax.jit
    def energy(e):
        return jnp.sum(truss.replace({"modulus": e}).model().damping ** 2)

    gradient = jax.grad(energy)(truss.modulus)
    np.testing.assert_allclose(gradient @ truss.modulus, energy(truss.modulus), rtol=1e-9)  # C ∝ √E


def test_the_table():
    text = repr(vb.modes(siva_beam(), 2))
    assert "frequency" in text and "13.05" in text and "0.52" in text and len(text.splitlines()) == 4


def test_refusals_are_messages():
    with pytest.raises(VibridError, match="has 1 to 5 modes, not 9"):
        vb.modes(chain(), 9)
