"""Reductions: properties that each keeps exactly, convergence, and use of the small structure like any other."""

import jax
import numpy as np
import pytest
import scipy.linalg
from structures_data import SIVA_RATIOS, siva_beam

import vibrid as vb
from vibrid.core.errors import VibridError

KEEP = [f"{i}.lateral" for i in range(1, 16)]
FEW = ["4.lateral", "8.lateral", "12.lateral", "tip"]


@pytest.fixture(scope="module")
def beam():
    return siva_beam()


def frequencies(structure, count):
    """Hz, of the full structure or of a reduction, from M and K in NumPy."""
    t, full = (
        (structure.matrix, structure.full) if isinstance(structure, vb.structures.Reduced) else (np.eye(30), structure)
    )
    mass, stiffness = (t.T @ np.asarray(a) @ t for a in full.matrices())
    return np.sqrt(scipy.linalg.eigh(stiffness, mass, eigvals_only=True)[:count]) / (2 * np.pi)


def test_guyan_is_exact_in_statics(beam):
    small = vb.reduce(beam, FEW)
    load = beam.row("8.lateral") + 2 * beam.row("tip")
    full = np.linalg.solve(np.asarray(beam.matrices()[1]), load)
    q = np.linalg.solve(np.asarray(small.matrices()[1]), small.matrix.T @ load)
    np.testing.assert_allclose(small.expand(q), full, rtol=1e-7, atol=1e-9 * abs(full).max())
    np.testing.assert_allclose(small.row("tip") @ q, full[-2], rtol=1e-9)


def test_serep_keeps_its_modes_exactly(beam):
    small = vb.reduce(beam, FEW, method="serep", modes=4)
    full, found = vb.modes(beam, 4), vb.modes(small)
    np.testing.assert_allclose(found.frequencies, full.frequencies, rtol=1e-8)
    np.testing.assert_allclose(found.ratios, SIVA_RATIOS[:4], rtol=1e-6)
    expanded = small.expand(found.shapes.T).T
    signs = np.sign(np.sum(expanded * full.shapes, axis=0))
    np.testing.assert_allclose(expanded * signs, full.shapes, atol=1e-7 * abs(full.shapes).max())
    np.testing.assert_allclose(found.effective_mass, full.effective_mass, rtol=1e-6)


def test_irs_is_closer_than_guyan_which_is_closer_with_more_kept(beam):
    exact = frequencies(beam, 3)
    error = {m: frequencies(vb.reduce(beam, FEW, method=m), 3) / exact - 1 for m in ("guyan", "irs")}
    assert np.all(error["guyan"] > 0) and np.all(np.abs(error["irs"]) < 0.05 * error["guyan"])
    more = frequencies(vb.reduce(beam, KEEP), 3) / exact - 1
    assert np.all(more > 0) and np.all(more < 0.01 * error["guyan"])


def test_craig_bampton_converges_from_above(beam):
    exact = frequencies(beam, 5)
    errors = np.array([frequencies(vb.reduce(beam, ["tip"], "craig-bampton", k), 5) / exact - 1 for k in (4, 6, 10)])
    assert np.all(errors > -1e-9) and np.all(errors[0] > errors[1]) and np.all(errors[1] > errors[2] - 1e-9)
    assert np.all(errors[2] < 0.1 * errors[0])
    whole = vb.reduce(beam, ["tip"], "craig-bampton", 29)
    np.testing.assert_allclose(frequencies(whole, 10), frequencies(beam, 10), rtol=1e-8)


def test_matrices_are_those_of_a_projection_by_hand(beam):
    """Guyan's and IRS's matrices from block formulas in NumPy, damping included."""
    m, c, k = (np.asarray(a) for a in beam.model().initial_matrices())
    kept = [beam.degrees_of_freedom.index(p) for p in KEEP]
    others = [i for i in range(30) if i not in kept]
    static = np.zeros((30, 15))
    static[kept] = np.eye(15)
    static[others] = -scipy.linalg.solve(k[np.ix_(others, others)], k[np.ix_(others, kept)], assume_a="pos")
    inverse = np.zeros((30, 30))
    inverse[np.ix_(others, others)] = np.linalg.inv(k[np.ix_(others, others)])
    small = np.linalg.solve(static.T @ m @ static, static.T @ k @ static)
    for method, t in (("guyan", static), ("irs", static + inverse @ m @ static @ small)):
        made = vb.reduce(beam, KEEP, method).model().initial_matrices()
        for mine, whole in zip(made, (m, c, k), strict=True):
            expected = t.T @ whole @ t
            np.testing.assert_allclose(mine, expected, atol=1e-9 * abs(expected).max())


@pytest.mark.long
def test_a_reduced_structure_is_simulated_measured_and_loaded_like_any_other():
    """With all inner modes kept nothing is lost: ground motion, a load at a place not kept, a cubic spring at the tip,
    sensors everywhere, the support included."""
    spring = vb.Attachment(vb.Cubic(1.1e4, 1e8), at="tip")
    beam = siva_beam(attachments=[spring], damping=vb.Modal(0.02))
    small = vb.reduce(beam, ["5.lateral", "tip"], "craig-bampton", modes=28)
    np.testing.assert_array_equal(small.matrix, vb.reduce(siva_beam(), small.keep, "craig-bampton", modes=28).matrix)
    t = np.arange(0, 0.05, 2e-4)
    drive = np.stack([30 * np.sin(90 * t), 500 * np.sin(np.pi * np.minimum(t / 0.006, 1)) ** 2], axis=1)
    channels = [vb.Channel("ground", "ground_acceleration"), vb.Channel("hammer", "load", location="7.lateral")]
    sensors = vb.Sensors(
        displacement=["tip", "x=0.33"],
        rotation=["9"],
        strain=["x=0.2,z=0.003"],
        absolute_acceleration=["0", "x=0.7"],
        element_force=["attachments[0]", "x=0.1.moment"],
    )
    record = vb.Record(drive, channels, step=2e-4)
    full, reduced = (vb.simulate(s, record, integrator=vb.Newmark()) for s in (beam, small))
    expected, found = full.readings(sensors), reduced.readings(sensors)
    assert abs(expected[:, 0]).max() > 0.006, "the cubic spring must matter"
    scale = abs(expected).max(axis=0)
    np.testing.assert_allclose(found / scale, expected / scale, atol=1e-5)
    np.testing.assert_allclose(found[:, 4], drive[:, 0], atol=1e-12)
    np.testing.assert_allclose(small.expand(reduced.displacement) @ beam.row("tip"), found[:, 0], atol=1e-12)


def test_parameters_of_the_full_structure_stay_unknowns():
    """Frequencies of the reduced structure follow `full.modulus[...]`; to first order as those of the full one."""
    beam = siva_beam(modulus=[180e9] * 15)
    small = vb.reduce(beam, FEW, "serep")

    @jax.jit
    def of_full(e):
        m, k = beam.replace({"modulus": e}).matrices()
        return vb.structures.natural_frequencies(m, k)[:4]

    @jax.jit
    def of_reduced(e):
        m, _, k = small.replace({"full.modulus": e}).model().initial_matrices()
        return vb.structures.natural_frequencies(m, k)

    slope = jax.jacfwd(of_full)(beam.modulus)
    np.testing.assert_allclose(jax.jacfwd(of_reduced)(beam.modulus), slope, atol=1e-6 * float(abs(slope).max()))


def test_a_shear_building_with_hysteretic_storeys_is_reduced_too(bouc_wen_building):
    """Laws of the structure itself follow the transformation: all floors kept but one, against a projection by hand."""
    small = vb.reduce(bouc_wen_building, ["0", "2"], "guyan")
    np.testing.assert_allclose(small.matrix, [[1, 0], [0.5, 0.5], [0, 1]], atol=1e-12)
    model, full = small.model(), bouc_wen_building.model()
    q, v = np.array([0.02, 0.05]), np.array([0.3, -0.1])
    expected = small.matrix.T @ full.forces(small.expand(q), small.expand(v), full.start())
    np.testing.assert_allclose(model.forces(q, v, model.start()), expected, rtol=1e-12)
    np.testing.assert_allclose(small.drift_row("1"), [-0.5, 0.5], atol=1e-12)


@pytest.mark.parametrize(
    ("keep", "method", "modes", "sentence"),
    [
        (FEW, "guayan", None, "did you mean 'guyan'"),
        (FEW, "serep", 3, "uses as many modes as it keeps degrees of freedom, here 4"),
        (FEW, "guyan", 3, "'guyan' uses no modes"),
        (FEW, "craig-bampton", None, "modes= 1 to 26"),
        ([], "guyan", None, "Keep between 1 and 29 different degrees of freedom; 0 were given"),
        (["x=0.33"], "guyan", None, "'x=0.33' is not one degree of freedom"),
        (["0"], "guyan", None, "'0' is not one degree of freedom that can move"),
    ],
)
def test_refusals_are_messages(beam, keep, method, modes, sentence):
    with pytest.raises(VibridError) as problem:
        vb.reduce(beam, keep, method, modes)
    assert sentence in str(problem.value)


def test_a_refused_reduction_states_why(beam):
    with pytest.raises(VibridError, match="reduced already"):
        vb.reduce(vb.reduce(beam, FEW), ["tip"])
    free = vb.Beam([0.0, 1.0, 2.0], 1e9, 0.01, 1e-5, 1000.0, supports={}, axial=False)
    with pytest.raises(VibridError, match="can still move freely"):
        vb.reduce(free, ["1"])
