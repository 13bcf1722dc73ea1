"""Fits in modes of the linear part: readings and derivatives are those of whole matrices, with all modes."""

import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import InputError, Refusal
from vibrid.identification.levenberg import linearised, readings_and_slopes
from vibrid.identification.problem import make_problem, predict
from vibrid.simulation import Newmark

N = 12
UNKNOWN = [
    "stiffness[3][3]", "mass[4]", "damping.stiffness", "attachments[0].law.stiffness", "attachments[1].law.beta",
    "sensors[1].gain",
]  # fmt: skip
TIGHT = Newmark(tolerance=1e-12)


def structure(factor=1.0):
    law = vb.Bilinear(stiffness=4e6 * factor, yield_deformation=2e-3, post_yield_ratio=0.05)
    smooth = vb.BoucWen(stiffness=1e6, beta=300.0, gamma=200.0, post_yield_ratio=0.1)
    stiffness = 2e6 * (2 * np.eye(N) - np.eye(N, k=1) - np.eye(N, k=-1))
    return vb.Matrices(
        mass=1e3 * (1.0 + 0.3 * np.sin(np.arange(N))), stiffness=stiffness, damping=vb.Rayleigh(0.4, 2e-3),
        attachments=[vb.Attachment(law, at=2, to=3), vb.Attachment(smooth, at=7)],
    )  # fmt: skip


@pytest.fixture(scope="module")
def data():
    t = np.arange(200) / 100.0
    values = sum(np.sin(2 * np.pi * f * t + f) for f in np.linspace(0.3, 9.0, 12)) * np.sin(np.pi * t / t[-1])
    quake = vb.Record(1.0 * values, [vb.Channel("ground", "ground_acceleration")], step=0.01)
    response = vb.simulate(structure(1.2), quake, integrator=TIGHT, modes="all")
    assert max(np.abs(np.asarray(s)).max() for s in response.states if np.size(s)) > 5e-4  # it yields
    return response.measure(vb.Sensors(displacement=[3], absolute_acceleration=[0, 9]), noise=0.01, key=0)


@pytest.mark.parametrize("substeps", [1, 2])
def test_all_modes_are_whole_matrices(data, substeps):
    settings = {"integrator": TIGHT, "substeps": substeps}
    whole = make_problem(structure(), data, UNKNOWN, **settings)
    modal = make_problem(structure(), data, UNKNOWN, modes="all", **settings)
    free = whole.start + 0.02 * np.cos(np.arange(len(UNKNOWN)))
    (wanted,), (slopes,) = readings_and_slopes(whole, jnp.asarray(free))
    (found,), (own,) = readings_and_slopes(modal, jnp.asarray(free))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8 * np.abs(wanted).max())
    for i, name in enumerate(UNKNOWN):
        exact = np.asarray(slopes)[:, :, i]
        np.testing.assert_allclose(own[:, :, i], exact, rtol=0, atol=1e-6 * np.abs(exact).max(), err_msg=name)
    np.testing.assert_allclose(predict(modal, free, 0), found, rtol=0, atol=1e-12 * np.abs(found).max())


def test_few_modes_find_the_same_parameters(data):
    unknown = ["attachments[0].law.stiffness", "damping.stiffness"]
    fits = [
        vb.identify(structure(), data, unknown, integrator=TIGHT, checks="none", hold="linear", substeps=1, modes=modes)
        for modes in ("all", 9)
    ]
    assert fits[0].convergence["converged"]
    np.testing.assert_allclose(fits[0].estimate[0], 4.8e6, rtol=0.02)
    assert np.all(np.abs(fits[1].estimate - fits[0].estimate) < 0.5 * fits[0].deviation)
    assert linearised(fits[0].problem, fits[0].free).slopes[0].shape == (200, 3, 2)


def test_what_it_cannot_do_is_refused(data):
    settings = {"checks": "none", "hold": "linear", "substeps": 1}
    unknown = ["attachments[0].law.stiffness"]
    with pytest.raises(InputError, match="modes is 'all', a number, or None"):
        vb.identify(structure(), data, unknown, modes="some", **settings)
    with pytest.raises(Refusal, match="has no checks"):
        vb.identify(structure(), data, unknown, modes="all")
    with pytest.raises(Refusal, match="TrajectoryFit"):
        vb.identify(structure(), data, unknown, method="ukf", modes="all", **settings)
    with pytest.raises(Refusal, match="initial state"):
        vb.identify(structure(), data, [*unknown, "initial[0].displacement[0]"], modes="all", **settings)
    linear = vb.Matrices(mass=np.ones(3), stiffness=100 * np.eye(3))
    with pytest.raises(Refusal, match="nonlinear laws at few places"):
        make_problem(linear, data, ["mass[0]"], modes=2)
