"""Runs that cannot be right say so in a sentence."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from problems import LINEAR, YIELDING, ground, motion

import vibrid as vb
from vibrid.core.errors import Divergence, InputError, Refusal


def test_divergence_states_when_where_and_what_to_do():
    stiff = vb.ShearBuilding(masses=[1.0, 1.0], storeys=[vb.Linear(1e9), vb.Cubic(1e9, 0.0)])
    with pytest.raises(Divergence, match=r"stopped being finite at [\d.]+ s, .*CentralDifference.*Newmark"):
        vb.simulate(stiff, motion(64, 65), integrator=vb.CentralDifference())


class Snap(vb.laws.StaticLaw):
    """A spring whose force jumps: no equilibrium exists between the two sides."""

    size: object = eqx.field(converter=jnp.asarray)

    def force(self, e, w, s):
        return self.size * jnp.sign(e - 0.01) + self.size + 10.0 * e


@pytest.fixture(scope="module")
def snapping():
    return vb.ShearBuilding(masses=[1.0], storeys=[Snap(50.0)])


def test_lost_equilibrium_is_reported(snapping):
    steady = ground(np.full(200, -2.0), 0.01)
    with pytest.raises(Divergence, match=r"Newmark found no equilibrium in the step before 0\.\d+ s"):
        vb.simulate(snapping, steady, integrator=vb.Newmark())
    with pytest.raises(Divergence, match="found no equilibrium"):
        vb.simulate(YIELDING, motion(64, 65), integrator=vb.Newmark(iterations=1))


def test_lost_equilibrium_in_one_substep_is_reported(snapping):
    steady = ground(np.full(50, -2.0), 0.04)
    with pytest.raises(Divergence, match="found no equilibrium"):
        vb.simulate(snapping, steady, integrator=vb.Newmark(), substeps=4)


def test_a_lost_run_does_not_disturb_its_batch(snapping):
    steady = ground(np.full(200, -2.0), 0.01)
    x = vb.simulate_many(snapping, steady, {"storeys[0].size": np.array([0.0, 50.0])}, integrator=vb.Newmark())[0]
    assert np.isfinite(x[0]).all()
    lost = np.isnan(x[1]).any(axis=-1)
    first = int(np.argmax(lost))
    assert first > 0 and not lost[:first].any() and lost[first:].all()


def test_newmark_finds_equilibrium_after_kinks():
    """Elasto-plastic storeys with large steps: every step balances, and halving the step changes little."""
    coarse = vb.simulate(YIELDING, motion(128, 129), integrator=vb.Newmark())
    model, record = YIELDING.model(), motion(128, 129)
    plastic = np.asarray(coarse.states[0])
    assert np.abs(plastic).max() > 0.02, "the motion must make it yield"
    for i in (20, 60, 100):
        states = jax.tree.map(lambda s, i=i: s[i], coarse.states)
        forces = model.forces(coarse.displacement[i], coarse.velocity[i], states)
        np.testing.assert_allclose(coarse.acceleration[i] + forces, -record.data[i, 0] * np.ones(2), atol=1e-9)
    fine = vb.simulate(YIELDING, motion(128, 129), integrator=vb.Newmark(), substeps=16)
    np.testing.assert_allclose(coarse.displacement, fine.displacement, atol=0.05 * np.abs(fine.displacement).max())


@pytest.mark.parametrize("integrator", [vb.simulation.RungeKutta3(), vb.RungeKutta4()])
def test_runge_kutta_refuses_path_laws(integrator):
    with pytest.raises(Refusal, match=r"Bilinear remembers the path .*Newmark, CentralDifference, KRAlpha"):
        vb.simulate(YIELDING, motion(64, 65), integrator=integrator)


def test_exact_linear_refuses_nonlinear_laws():
    with pytest.raises(Refusal, match=r"not linear \(Bilinear\)"):
        vb.simulate(YIELDING, motion(64, 65), integrator=vb.ExactLinear())


def test_bad_requests():
    record = motion(64, 65)
    with pytest.raises(InputError, match="substeps must be 1 or more"):
        vb.simulate(LINEAR, record, substeps=0)
    with pytest.raises(InputError, match="at least two"):
        vb.simulate(LINEAR, ground([0.0], 0.1))
    with pytest.raises(InputError, match=r"missing samples \(the first at 0\.2 s\)"):
        vb.simulate(LINEAR, ground([0.0, 1.0, np.nan, 0.0], 0.1))
    with pytest.raises(InputError, match="no excitation"):
        vb.simulate(LINEAR, vb.Record(np.zeros(5), [vb.Channel("a", "acceleration")], step=0.1))
    with pytest.raises(InputError, match="same length"):
        vb.simulate_many(LINEAR, [record, motion(64, 60)])
    with pytest.raises(InputError, match="disagree in number"):
        vb.simulate_many(LINEAR, record, {"masses[0]": np.ones(2), "masses[1]": np.ones(3)})
    with pytest.raises(InputError, match="'force' or 'displacement'"):
        vb.KRAlpha(0.5, weigh="velocity")


def test_default_integrators():
    linear, cubic = vb.Linear(30.0), vb.Cubic(30.0, 5.0)
    friction, plastic = vb.LuGre(2e3, 1.0, 1.0, 1.0, 1.3, 1.3, 0.02), vb.Bilinear(30.0, 0.1)
    kinds = [vb.ExactLinear, vb.RungeKutta4, vb.Newmark, vb.Newmark]
    for law, kind in zip((linear, cubic, friction, plastic), kinds, strict=True):
        assert type(vb.simulation.default_integrator(vb.ShearBuilding(masses=[1.0], storeys=[law]))) is kind
    both = vb.Parallel([cubic, plastic])
    assert type(vb.simulation.default_integrator(vb.ShearBuilding(masses=[1.0], storeys=[both]))) is vb.Newmark
    assert type(vb.simulation.default_integrator(vb.Device(linear))) is vb.simulation.Imposed
