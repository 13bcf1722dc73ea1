"""Masses that are unknown: found where a stiffness, a load or a force fixes their size, refused where nothing does."""

import numpy as np
import pytest

import vibrid as vb
from identification.small import TWO, motion, two

GUESS = TWO.replace({"masses": np.array([1.3, 0.6])})


@pytest.mark.parametrize("method", [vb.TrajectoryFit(), vb.WeakCollocation()])
def test_known_stiffness_fixes_the_masses(method):
    fit = vb.identify(GUESS, two(0.02), ["masses[*]"], method)
    np.testing.assert_allclose(fit.estimate, [1.0, 0.8], rtol=0.02)
    assert fit.limits.identifiable.all() and not fit.limits.inseparable


def test_masses_are_a_linear_regression_when_everything_is_measured():
    fit = vb.identify(GUESS, two(0.0), ["masses[*]"], vb.LeastSquares())
    np.testing.assert_allclose(fit.estimate, [1.0, 0.8], rtol=1e-3)


def rebuilt(storeys, damping=None) -> vb.ShearBuilding:
    return vb.ShearBuilding(masses=[1.0, 0.8], storeys=storeys, damping=damping)


@pytest.mark.parametrize(
    ("structure", "unknown", "scaled"),
    [
        (TWO, ["masses[*]", "storeys[*].stiffness", "storeys[*].damping"], True),
        (rebuilt([vb.Linear(60.0), vb.Linear(40.0)], vb.Modal(0.02)), ["masses[*]", "storeys[*].stiffness"], True),
        (TWO, ["masses[*]", "storeys[*].stiffness"], False),
        (TWO, ["masses[0]", "storeys[*].stiffness", "storeys[*].damping"], False),
        (rebuilt([vb.BoucWen(60.0, 6.0, 4.0)] * 2), ["masses[*]", "storeys[*].stiffness"], True),
        (rebuilt([vb.Polynomial([60.0, 0.0, 5.0])] * 2), ["masses[*]", "storeys[*].coefficients[0]"], False),
    ],
)
def test_what_fixes_the_common_factor(structure, unknown, scaled):
    def ask():
        return vb.identification.make_problem(structure, two(0.02), unknown)

    if not scaled:
        assert len(ask().unknowns) == len(unknown) + sum("*" in u for u in unknown)
        return
    with pytest.raises(vb.Refusal, match=r"scaling masses\[0\], masses\[1\], .*same factor"):
        ask()


def test_a_prior_or_a_measured_force_fixes_the_factor():
    all_of_it = ["storeys[*].stiffness", "storeys[*].damping"]
    vb.identification.make_problem(TWO, two(0.02), [vb.Unknown("masses[*]", prior=(1.0, 0.2)), *all_of_it])
    force = vb.Sensors(displacement=[0, 1], element_force=["storeys[0]"])
    data = vb.simulate(TWO, motion()).measure(force, noise=0.01)
    vb.identification.make_problem(TWO, data, ["masses[*]", *all_of_it])


def test_the_density_of_a_beam_and_its_modulus_scale_together():
    beam = vb.Beam([0.0, 0.5, 1.0], modulus=7e10, area=1e-4, inertia=1e-9, density=2700.0)
    ground = motion()
    read = vb.Channel("tip", "displacement", location="tip")
    data = ground.replace(data=np.hstack([ground.data, ground.data]), channels=(*ground.channels, read))
    with pytest.raises(vb.Refusal, match=r"scaling modulus, density .*same factor"):
        vb.identification.make_problem(beam, data, ["modulus", "density"])
