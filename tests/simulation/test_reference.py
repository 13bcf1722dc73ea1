"""The adaptive reference against closed forms, and its refusals."""

import jax.numpy as jnp
import numpy as np
import pytest
from problems import THERMOSTAT, YIELDING, ground, motion

import vibrid as vb
from vibrid.core.errors import Divergence, InputError, Refusal


def test_free_vibration_to_ten_digits():
    omega, ratio = 7.0, 0.04
    building = vb.ShearBuilding(masses=[2.0], storeys=[vb.Linear(2 * omega**2, 4 * ratio * omega)])
    t = np.arange(101) * 0.05
    found = vb.simulation.simulate_reference(
        building, ground(np.zeros(101), 0.05), tolerance=1e-12, start=vb.Initial(jnp.array([0.3]), jnp.array([0.0]))
    )
    rate = omega * (-ratio + 1j * np.sqrt(1 - ratio**2))
    swing = np.exp(rate * t) * 0.3 * (1 - 1j * ratio / np.sqrt(1 - ratio**2))
    np.testing.assert_allclose(found.displacement[:, 0], swing.real, atol=3e-11)
    np.testing.assert_allclose(found.velocity[:, 0], (rate * swing).real, atol=3e-10)
    np.testing.assert_allclose(found.acceleration[:, 0], (rate**2 * swing).real, atol=3e-9)


def test_error_follows_the_tolerance():
    record = motion(64, 65)
    tight = vb.simulation.simulate_reference(THERMOSTAT, record, tolerance=1e-12).displacement
    for tolerance in (1e-5, 1e-8):
        loose = vb.simulation.simulate_reference(THERMOSTAT, record, tolerance=tolerance).displacement
        assert np.abs(loose - tight).max() < 100 * tolerance * np.abs(tight).max()


@pytest.mark.parametrize("hold", ["cubic", "band-limited"])
def test_smooth_holds_agree_with_small_steps(hold):
    record = motion(64, 65)
    truth = vb.simulation.simulate_reference(THERMOSTAT, record, hold=hold).displacement
    small = vb.simulate(THERMOSTAT, record, hold=hold, substeps=32, integrator=vb.RungeKutta4()).displacement
    np.testing.assert_allclose(small, truth, rtol=0, atol=2e-7 * np.abs(truth).max())


def test_stiff_law():
    """A spring-and-dashpot in series that relaxes in 5 µs acts as the dashpot alone, and is not slow to compute."""
    frame = {"masses": [1.0], "storeys": [vb.Linear(60.0, 0.3)]}
    stiff = vb.ShearBuilding(**frame, attachments=[vb.Attachment(vb.Maxwell(1e5, 0.5), at=0)])
    plain = vb.ShearBuilding(**frame, attachments=[vb.Attachment(vb.Viscous(0.5), at=0)])
    record = motion(64, 33)
    found, exact = (vb.simulation.simulate_reference(b, record, tolerance=1e-8).displacement for b in (stiff, plain))
    np.testing.assert_allclose(found, exact, atol=3e-4 * np.abs(exact).max())


def test_device():
    """The states of a law under an imposed motion: Bouc–Wen's loading curve for n = 1."""
    e = np.linspace(0.0, 0.3, 31)
    record = vb.Record(
        np.stack([e, np.full(31, 1.0)], axis=1),
        [vb.Channel("stroke", "imposed_displacement"), vb.Channel("rate", "imposed_velocity")],
        step=0.01,
    )
    found = vb.simulation.simulate_reference(vb.Device(vb.BoucWen(40.0, 6.0, 2.0)), record).part("device")[1]
    np.testing.assert_allclose(found, 40.0 * (1 - np.exp(-8.0 * e)) / 8.0, atol=1e-8)


def test_refusals():
    with pytest.raises(Refusal, match="Bilinear remembers the path"):
        vb.simulation.simulate_reference(YIELDING, motion(64, 65))
    with pytest.raises(InputError, match="tolerance of the reference"):
        vb.simulation.simulate_reference(THERMOSTAT, motion(64, 65), tolerance=1e-16)
    falling = vb.ShearBuilding(masses=[1.0], storeys=[vb.Polynomial([-40.0, 0.0, -400.0])])
    with pytest.raises(Divergence, match=r"could not pass [\d.]+ s"):
        vb.simulation.simulate_reference(falling, ground(np.ones(200), 0.02), tolerance=1e-3)
