"""A linear bulk with nonlinear parts: the step in modes of the linear part is Newmark's of the whole structure."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

import vibrid as vb
from vibrid.core.errors import Refusal
from vibrid.simulation.excitation import drive
from vibrid.simulation.newmark import Newmark
from vibrid.simulation.parts_in_modes import Bulk, run_parts
from vibrid.structures.bulk_with_parts import BulkWithParts
from vibrid.structures.modal_bulk import LinearBulk

N = 12
TIGHT = Newmark(tolerance=1e-13)  # iterations that stop early differ by more than rounding where laws yield
MASS = 1e3 * (1.0 + 0.3 * np.sin(np.arange(N)))
STIFFNESS = 2e6 * (2 * np.eye(N) - np.eye(N, k=1) - np.eye(N, k=-1))


def structure(damping, count=3):
    law = vb.Bilinear(stiffness=4e6, yield_deformation=2e-3, post_yield_ratio=0.05)
    smooth = vb.BoucWen(stiffness=1e6, beta=300.0, gamma=200.0, post_yield_ratio=0.1)
    linear = vb.Linear(stiffness=5e5, damping=3e3)
    attachments = [
        vb.Attachment(law, at=2, to=3), vb.Attachment(smooth, at=7), vb.Attachment(law, at=9, to=10),
        vb.Attachment(linear, at=7),
    ]  # fmt: skip
    return vb.Matrices(mass=MASS, stiffness=STIFFNESS, damping=damping, attachments=attachments[:count])


def motion(samples=300, rate=100.0):
    t = np.arange(samples) / rate
    values = sum(np.sin(2 * np.pi * f * t + f) for f in np.linspace(0.3, 9.0, 12)) * np.sin(np.pi * t / t[-1])
    return vb.Record(2.0 * values, [vb.Channel("ground", "ground_acceleration")], step=1.0 / rate)


DAMPINGS = {
    "none": None,
    "rayleigh": vb.Rayleigh(mass=0.4, stiffness=2e-3),
    "one ratio": vb.structures.RayleighRatio(ratio=0.03, frequencies=(1.0, 8.0)),
    "modal": vb.Modal(0.03),  # diagonal in the modes of the structure without its attachments
}


@pytest.mark.parametrize("damping", DAMPINGS)
def test_all_modes_are_newmarks_step(damping):
    """Against the whole matrices, with laws that yield; a linear law with damping among them."""
    whole = structure(DAMPINGS[damping], 4)
    record, sensors = motion(), vb.Sensors(displacement=[3], acceleration=[0], element_force=["attachments[0]"])
    wanted = vb.simulate(whole, record, integrator=TIGHT, modes=None)
    response = vb.simulate(whole, record, integrator=TIGHT, modes="all")
    assert "all 12 modes of the linear part" in repr(response)
    for name, near in (("displacement", 1e-9), ("velocity", 1e-9), ("acceleration", 1e-8)):
        exact = getattr(wanted, name)
        np.testing.assert_allclose(getattr(response, name), exact, rtol=0, atol=near * np.abs(exact).max())
    stiffest, peak = 4e6, np.abs(wanted.displacement).max()  # a force is a stiffness times a displacement
    read, exact = response.readings(sensors), wanted.readings(sensors)
    np.testing.assert_allclose(read[:, 2], exact[:, 2], rtol=0, atol=1e-9 * peak * stiffest)
    np.testing.assert_allclose(read[:, :2], exact[:, :2], rtol=0, atol=1e-8 * np.abs(exact[:, :2]).max())
    e, f = wanted.part("attachments[0]")
    assert np.abs(e).max() > 4e-3  # it yields
    np.testing.assert_allclose(response.part("attachments[0]")[1], f, rtol=0, atol=1e-9 * peak * stiffest)


@pytest.mark.long
def test_substeps_holds_and_a_start():
    whole = structure(DAMPINGS["rayleigh"])
    start = vb.Initial(displacement=0.004 * np.sin(np.arange(N)), velocity=0.05 * np.cos(np.arange(N)))
    for hold in ("zero", "cubic"):
        settings = {"hold": hold, "substeps": 2, "start": start}
        wanted = vb.simulate(whole, motion(), integrator=Newmark(), modes=None, **settings).displacement
        found = vb.simulate(whole, motion(), modes="all", **settings).displacement
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


def test_it_is_chosen_told_and_switched_off():
    """Large with few laws: in modes; small, or with laws everywhere, or on request: as ever."""
    n = 104
    mass, stiffness = np.full(n, 1e3), 2e7 * (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    law = vb.Bilinear(stiffness=2e7, yield_deformation=1e-4, post_yield_ratio=0.1)
    attachments = [vb.Attachment(law, at=i, to=i + 1) for i in (10, 50)]
    large = vb.Matrices(mass=mass, stiffness=stiffness, damping=DAMPINGS["rayleigh"], attachments=attachments)
    record = motion(60)
    response = vb.simulate(large, record)
    assert (response.modal.rows, response.modal.size) == (2, n)
    wanted = vb.simulate(large, record, integrator=Newmark(), modes=None)
    assert not hasattr(wanted, "modal")
    np.testing.assert_allclose(
        response.displacement, wanted.displacement, rtol=0, atol=1e-7 * np.abs(wanted.displacement).max()
    )
    assert not hasattr(vb.simulate(structure(None), motion(30)), "modal")


def test_damping_that_couples_the_modes_is_refused():
    coupled = structure(np.diag(np.r_[1e4, np.zeros(N - 1)]))
    with pytest.raises(Refusal, match="damping"):
        vb.simulate(coupled, motion(30), modes="all")


def test_derivatives_are_those_of_the_solution():
    """Of a displacement with respect to stiffness and yield of a law, in both directions, by finite differences."""
    record = motion(120)
    parts = BulkWithParts(structure(DAMPINGS["rayleigh"], 1), (("ground_acceleration", ""),))
    found = parts.all_modes()
    numbers = (found.values, found.rates, found.shapes.T @ parts.load, parts.rows @ found.shapes)
    bulk = Bulk(*map(jnp.asarray, (*numbers, found.taken, found.damped)), parts.laws())
    driven = drive(record.data, "linear", 1)

    def reading(theta):
        group = bulk.laws.groups[0]
        law = vb.Bilinear(theta[0] * jnp.ones(1), theta[1] * jnp.ones(1), 0.05 * jnp.ones(1))
        laws = type(bulk.laws)(**{**vars(bulk.laws), "groups": (type(group)(law, 1, group.index),)})
        made = Bulk(*map(jnp.asarray, (*numbers, found.taken, found.damped)), laws)
        rest = (jnp.zeros(N), jnp.zeros(N), laws.start())
        return run_parts(made, Newmark(), driven, 0.01, 1, rest)[0][100] @ found.shapes[3]

    theta = np.array([4e6, 2e-3])
    read = jax.jit(reading)
    forward, reverse = jax.jit(jax.jacfwd(reading))(theta), jax.jit(jax.grad(reading))(theta)
    for i, step in enumerate(1e-6 * theta):
        move = np.eye(2)[i] * step
        slope = (read(theta + move) - read(theta - move)) / (2 * step)
        np.testing.assert_allclose([forward[i], reverse[i]], slope, rtol=2e-5)


LONG = 120


def long_chain(kind):
    """The same chain with two hinges as full and as sparse matrices."""
    mass = 1e3 * (1.0 + 0.3 * np.sin(np.arange(LONG)))
    stiffness = 4e7 * (2 * np.eye(LONG) - np.eye(LONG, k=1) - np.eye(LONG, k=-1))
    law = vb.Bilinear(stiffness=2e7, yield_deformation=5e-4, post_yield_ratio=0.1)
    attachments = [vb.Attachment(law, at=10, to=11), vb.Attachment(law, at=70), vb.Attachment(vb.Linear(1e6), at=30)]
    settings = {"damping": vb.Rayleigh(mass=0.4, stiffness=2e-4), "attachments": attachments}
    if kind == "full":
        return vb.Matrices(mass=mass, stiffness=stiffness, **settings)
    return vb.SparseMatrices(mass=mass, stiffness=scipy.sparse.csr_matrix(stiffness), **settings)


def test_modes_left_out_are_told():
    """The stated error is on the safe side of the true one where modes are missing that the motion excites: it takes
    resonances at the middle of its bands, as for linear structures."""
    record = motion(300)
    whole = vb.simulate(long_chain("full"), record, modes="all")
    found = vb.simulate(long_chain("sparse"), record)
    assert (found.modal.count, found.modal.rows) == (LONG, 3)
    for name in ("displacement", "acceleration"):
        exact = getattr(whole, name)
        np.testing.assert_allclose(getattr(found, name), exact, rtol=0, atol=1e-7 * np.abs(exact).max())
    response = vb.simulate(long_chain("sparse"), record, modes=25)
    assert response.modal.count == 25 + 4  # static shapes of three laws and of the ground motion
    assert "of 120 coordinates" in repr(response)
    assert "estimated error" in repr(response)
    for name, share in response.modal.shares.items():
        exact = getattr(whole, name)
        error = np.sqrt(np.mean((getattr(response, name) - exact) ** 2, axis=0)).max()
        true = error / np.sqrt(np.mean(exact**2, axis=0)).max()
        assert true <= share <= 8.0 * true, (name, share, true)
    assert response.modal.shares["displacement"] < 0.01
    e, f = whole.part("attachments[0]")
    assert np.abs(e).max() > 1e-3  # it yields
    assert np.abs(response.part("attachments[0]")[1] - f).max() < 0.05 * np.abs(f).max()


def test_modes_of_sparse_matrices_have_their_attachments():
    """The lowest by Lanczos iterations against all of the full matrices; the damping couples them and is not given."""
    loads = (("ground_acceleration", ""),)
    bulk = LinearBulk(long_chain("sparse"), loads)
    values, shapes = bulk.modes(5)
    exact = vb.modes(long_chain("full")).frequencies[:5]
    np.testing.assert_allclose(np.sqrt(values) / (2 * np.pi), exact, rtol=1e-9)
    assert bulk.rates(values, shapes) is None
    alone = vb.modes(_with(long_chain("full"), []), 5).frequencies
    assert np.abs(alone / exact - 1.0).max() > 1e-3


def test_linear_springs_beside_sparse_matrices():
    """A linear attachment alone counts too: against the exact step of the full matrices with small steps."""
    spring = [vb.Attachment(vb.Linear(3e7, damping=1e4), at=70)]
    full, sparse = (
        vb.simulate(_with(long_chain(kind), spring), motion(200), substeps=8) for kind in ("full", "sparse")
    )
    np.testing.assert_allclose(
        sparse.displacement, full.displacement, rtol=0, atol=2e-3 * np.abs(full.displacement).max()
    )


def _with(structure, attachments):
    return type(structure)(
        mass=structure.mass, stiffness=structure.stiffness, damping=structure.damping, attachments=attachments
    )
