"""Large linear structures: modes by Lanczos iterations and simulation in modes equal the full matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import vibrid as vb
from vibrid.core import memory
from vibrid.core.errors import InputError, Refusal
from vibrid.simulation.choose_modes import simulate_in_modes
from vibrid.simulation.excitation import drive
from vibrid.simulation.in_modes import modal_motion
from vibrid.structures.constants import ConstantPlaces
from vibrid.structures.lanczos import lowest_eigenvalues, lowest_modes

N = 120
MASS = 1e3 * (1.0 + 0.3 * np.sin(np.arange(N)))
STIFFNESS = 2e6 * (2 * np.eye(N) - np.eye(N, k=1) - np.eye(N, k=-1))
DAMPING = vb.Rayleigh(mass=0.4, stiffness=2e-4)


def full(damping=DAMPING):
    return vb.Matrices(mass=MASS, stiffness=STIFFNESS, damping=damping)


def sparse(damping=DAMPING):
    return vb.SparseMatrices(mass=MASS, stiffness=scipy.sparse.csr_matrix(STIFFNESS), damping=damping)


def motion(samples=400, rate=100.0):
    t = np.arange(samples) / rate
    values = sum(np.sin(2 * np.pi * f * t + f) for f in np.linspace(0.3, 6.0, 12)) * np.exp(-(((t - 1.5) / 0.6) ** 2))
    return vb.Record(values, [vb.Channel("ground", "ground_acceleration")], step=1.0 / rate)


SMALL = vb.Matrices(mass=MASS[:6], stiffness=STIFFNESS[:6, :6], damping=DAMPING)


@pytest.mark.parametrize("hold", ["zero", "linear", "cubic"])
def test_all_modes_are_the_exact_step(hold):
    """Against the matrix exponential of the whole structure."""
    record, sensors = motion(), vb.Sensors(displacement=[3], velocity=[5], acceleration=[0], absolute_acceleration=[2])
    wanted = vb.simulate(SMALL, record, hold=hold)
    assert not hasattr(wanted, "modal")  # small: as ever
    response = vb.simulate(SMALL, record, hold=hold, modes="all")
    assert "all 6 modes, which is exact" in repr(response)
    for name in ("displacement", "velocity", "acceleration"):
        exact = getattr(wanted, name)
        np.testing.assert_allclose(getattr(response, name), exact, rtol=0, atol=1e-10 * np.abs(exact).max())
    read = wanted.readings(sensors)
    np.testing.assert_allclose(response.readings(sensors), read, rtol=0, atol=1e-10 * np.abs(read).max())
    assert response.step_error().largest == 0.0


def test_modes_left_out_are_told():
    """The stated error is near the true one where the missing modes lie above the input, and crude, on the safe side,
    where they resonate with it (30 modes): both are measured against all modes."""
    record = motion()
    whole = vb.simulate(full(), record)
    for count, least, most in ((30, 1.0, 5.0), (60, 1.0, 1.3)):
        response = vb.simulate(sparse(), record, modes=count)
        assert (response.modal.count, response.modal.size, response.modal.corrected) == (count, 120, True)
        assert f"in {count} of 120 modes with static correction" in repr(response)
        for name, share in response.modal.shares.items():
            exact = getattr(whole, name)
            error = np.sqrt(np.mean((getattr(response, name) - exact) ** 2, axis=0)).max()
            true = error / np.sqrt(np.mean(exact**2, axis=0)).max()
            assert least * true <= share <= most * true, (count, name)
    assert vb.simulate(sparse(), record).modal.count == 120  # small enough for all


def test_free_vibration_in_modes():
    still = vb.simulation.free_vibration(duration=2.0, rate=100.0)
    start = vb.Initial(displacement=0.01 * np.sin(np.arange(6)), velocity=0.1 * np.cos(np.arange(6)))
    wanted = vb.simulate(SMALL, still, start=start)
    response = vb.simulate(SMALL, still, start=start, modes="all")
    np.testing.assert_allclose(response.displacement, wanted.displacement, rtol=0, atol=1e-12)


def test_what_modes_cannot_do_is_refused():
    """Damping that couples modes takes the other step where modes are automatic."""
    record = motion()
    coupled = full(damping=np.diag(np.r_[50.0, np.zeros(N - 1)]))
    loads = (("ground_acceleration", ""),)
    arguments = (coupled, record, loads, record.data, "linear", 1, None)
    assert simulate_in_modes(*arguments, "auto", None) is None
    with pytest.raises(Refusal, match="couples its modes"):
        vb.simulate(coupled, record, modes="all")
    with pytest.raises(InputError, match="1 to 120 modes, not 121"):
        vb.simulate(full(), record, modes=121)
    with pytest.raises(InputError, match="takes no integrator"):
        vb.simulate(full(), record, modes=10, integrator=vb.Newmark())
    with pytest.raises(InputError, match="modes is 'auto', 'all', a number, or None"):
        vb.simulate(full(), record, modes="some")
    nonlinear = vb.ShearBuilding(masses=[1.0], storeys=[vb.BoucWen(40.0, 1.0, 1.0)])
    with pytest.raises(InputError, match="1 to 1 modes, not 5"):
        vb.simulate(nonlinear, record, modes=5)


def test_derivatives_in_modes():
    """Of the motion of modes with respect to ω², 2ζω, participation and the input, against differences."""
    record = motion(60)
    arrays = [jnp.array([30.0, 900.0]), jnp.array([0.4, 2.0]), jnp.array([[1.0], [0.5]])]
    rest = (jnp.zeros(2), jnp.zeros(2))

    @jax.jit
    def last(values, rates, participation):
        q, v = modal_motion(values, rates, participation, drive(record.data), 0.01, rest)
        return q[-1].sum() + 0.1 * v[-1].sum()

    slopes = jax.jit(jax.jacfwd(last, argnums=(0, 1, 2)))(*arrays)
    for i, slope in enumerate(slopes):
        for place in np.ndindex(*slope.shape):
            h = 1e-4 * float(arrays[i][place])
            ends = [
                last(*(a.at[place].add(sign * h) if j == i else a for j, a in enumerate(arrays))) for sign in (1, -1)
            ]
            assert float(ends[0] - ends[1]) / (2 * h) == pytest.approx(float(slope[place]), rel=1e-5, abs=1e-9)


def test_lowest_modes_are_those_of_full_matrices():
    values, shapes = lowest_modes(scipy.sparse.diags(MASS), scipy.sparse.csr_matrix(STIFFNESS), 9)
    wanted, modes = scipy.linalg.eigh(STIFFNESS, np.diag(MASS))
    np.testing.assert_allclose(values, wanted[:9], rtol=1e-10)
    np.testing.assert_allclose(np.abs(shapes.T @ (MASS[:, None] * modes[:, :9])), np.eye(9), rtol=0, atol=1e-8)


def test_repeated_and_rigid_modes():
    """Two equal free chains: every frequency twice, the lowest zero, with a singular K."""
    free = 1e4 * (2 * np.eye(40) - np.eye(40, k=1) - np.eye(40, k=-1))
    free[0, 0] = free[-1, -1] = 1e4
    both = scipy.linalg.block_diag(free, free)
    values, _ = lowest_modes(scipy.sparse.eye(80), scipy.sparse.csr_matrix(both), 7)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(both)[:7], rtol=1e-8, atol=1e-6)


def test_modes_of_a_large_structure():
    size = 600
    laws = [vb.Linear(2e6)] * size
    made = vb.modes(vb.ShearBuilding(masses=1e3 * np.ones(size), storeys=laws, damping=DAMPING), 6)
    exact = np.sqrt(2e3) * 2 * np.sin((2 * np.arange(6) + 1) * np.pi / (2 * (2 * size + 1)))  # fixed–free chain
    np.testing.assert_allclose(2 * np.pi * made.frequencies, exact, rtol=1e-8)
    np.testing.assert_allclose(made.ratios, 0.4 / (2 * exact) + 1e-4 * exact, rtol=1e-8)
    assert made.moving_mass == pytest.approx(size * 1e3)
    assert 0.8 < made.effective_mass[0] / made.moving_mass < 0.82  # 8/π²


def test_derivatives_of_lowest_eigenvalues():
    """Forward and reverse, of K and M, against differences."""
    k, m = scipy.sparse.coo_matrix(STIFFNESS), scipy.sparse.coo_matrix(np.diag(MASS))
    rows, columns = np.concatenate([k.row, m.row]), np.concatenate([k.col, m.col])
    places = ConstantPlaces(np.stack([rows, columns]))
    stiffness = np.concatenate([k.data, 0.0 * m.data])
    mass = np.concatenate([0.0 * k.data, m.data])

    def third(theta):
        return lowest_eigenvalues(mass * (1 + theta[1] * rows / N), stiffness * (1 + theta[0]), places, N, 3)[2]

    at = jnp.array([0.02, 0.1])
    slope = jax.grad(third)(at)
    np.testing.assert_allclose(jax.jacfwd(third)(at), slope, rtol=1e-10)
    for i, h in enumerate((1e-4, 1e-4)):
        ends = [float(third(at.at[i].add(sign * h))) for sign in (1, -1)]
        assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(float(slope[i]), rel=1e-5)


def test_sparse_input_that_is_wrong_is_refused():
    k = scipy.sparse.csr_matrix(STIFFNESS)
    for arguments, message in (
        ({"mass": MASS, "stiffness": STIFFNESS}, "The stiffness must be a sparse matrix"),
        ({"mass": MASS[:-1], "stiffness": k}, "M has 119 rows and K 120"),
        ({"mass": 0.0 * MASS, "stiffness": k}, "mass of degree of freedom 0 is not positive"),
        ({"mass": MASS, "stiffness": scipy.sparse.triu(k)}, "The stiffness must be symmetric"),
        ({"mass": MASS, "stiffness": np.nan * k}, "not finite"),
        ({"mass": MASS, "stiffness": k, "influence": [1.0, 2.0]}, "needs one entry for each of the 120"),
        ({"mass": MASS, "stiffness": k, "damping": np.eye(N)}, "couple the modes"),
    ):
        with pytest.raises(InputError, match=message):
            vb.SparseMatrices(**arguments)
    with pytest.raises(InputError, match="'120' is not a degree of freedom"):
        sparse().row("120")


def test_what_does_not_fit_in_memory_is_refused_with_its_size(monkeypatch):
    size = 40_000
    huge = vb.SparseMatrices(mass=np.ones(size), stiffness=scipy.sparse.eye(size, format="csr"))
    monkeypatch.setattr(memory, "free_memory", lambda: 2**30)
    with pytest.raises(InputError, match=r"40000 degrees of freedom .*needs .*GiB of memory, and 1 GiB are free"):
        huge.model()
    with pytest.raises(InputError, match="at 4000000 samples needs"):
        long = vb.Record(np.zeros(4_000_000), [vb.Channel("ground", "ground_acceleration")], step=0.01)
        vb.simulate(full(), long)
