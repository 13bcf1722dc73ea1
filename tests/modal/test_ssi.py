"""SSI against the truth, against pyOMA-2 on the same data, and its derivatives against finite differences."""

import json
from pathlib import Path

import numpy as np
import pytest
from pyoma_references import BLOCK_ROWS, CASE, DATA, ORDER, accelerations, chain, data

import vibrid as vb
from vibrid.modal.channels import motions_of
from vibrid.modal.correlations import correlations
from vibrid.modal.realisation import HankelChanges, Realisation, block_hankel, changes_of_mode, subspace_change

ORACLE = json.loads(Path(__file__).with_name("pyoma_references.json").read_text(encoding="utf-8"))


def as_record(values, rate, **labels) -> vb.Record:
    channels = [vb.Channel(f"a{i}", "absolute_acceleration", location=i) for i in range(values.shape[1])]
    return vb.Record(values, channels, step=1.0 / rate, name="ambient", **labels)


@pytest.fixture(scope="module")
def record():
    return as_record(data(), DATA["rate"])


@pytest.fixture(scope="module")
def found(record):
    return vb.ssi(record, lags=BLOCK_ROWS)


@pytest.fixture(scope="module")
def truth():
    return vb.modes(
        vb.ShearBuilding(CASE["masses"], [vb.Linear(k) for k in CASE["stiffnesses"]], vb.Modal(CASE["ratio"]))
    )


def test_the_modes_of_a_building_with_their_bands(found, truth):
    """All five modes and no other; errors of the size of their standard deviations (30 numbers, 4σ)."""
    pairs = vb.structures.pair_modes(found, truth)
    assert pairs.pairs == tuple((i, i) for i in range(5)) and len(found) == 5
    assert np.abs(pairs.differences).max() < 0.005 and np.diag(pairs.mac).min() > 0.999
    frequency = (found.frequencies - truth.frequencies) / found.frequency_deviations
    ratio = (found.ratios - truth.ratios) / found.ratio_deviations
    shapes = truth.shapes / np.linalg.norm(truth.shapes, axis=0)
    shapes = shapes * np.sign(np.sum(shapes * found.shapes, axis=0))
    away = np.concatenate([frequency, ratio, ((found.shapes - shapes) / found.shape_deviations).ravel()])
    assert np.abs(away).max() < 4.0 and 0.5 < np.sqrt(np.mean(away**2)) < 1.5
    assert found.phase_collinearity.min() > 0.99
    assert "5 modes from 5 channels by SSI" in repr(found)


def test_agreement_with_pyoma(found):
    """The same data, within the bands of both; standard deviations of the same size."""
    f = np.array(ORACLE["frequencies"])
    other = [int(np.abs(f - own).argmin()) for own in found.frequencies]
    shapes = np.array(ORACLE["shapes_real"]) + 1j * np.array(ORACLE["shapes_imag"])
    assert np.diag(vb.structures.mac(found.complex_shapes, shapes[:, other])).min() > 0.998
    for own, name in ((found.frequencies, "frequencies"), (found.ratios, "ratios")):
        theirs = np.array(ORACLE[name])[other]
        deviations = found.frequency_deviations if name == "frequencies" else found.ratio_deviations
        band = np.array(ORACLE[name.replace("ies", "y").replace("ratios", "ratio") + "_deviations"])[other]
        assert (np.abs(own - theirs) < 2 * np.minimum(deviations, band)).all()
        assert np.median(deviations / band) == pytest.approx(1.0, abs=0.3)


@pytest.mark.parametrize("references", [None, ["a1", "a4"]], ids=["all", "two"])
def test_derivatives_equal_finite_differences(record, references):
    """Pole and shape of every mode of one order, in two random directions of the correlations."""
    motions = motions_of(record, None)
    chosen = list(range(5)) if references is None else [1, 4]
    sequence = correlations(motions, chosen, 31, 1)[0, 1:]
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((2, *sequence.shape)) * np.abs(sequence).mean()

    def at(sequence):
        made = Realisation.of(block_hankel(sequence, 15), 5, motions.step, ORDER)
        return made, made.modes(ORDER)

    made, modes = at(sequence)
    moved = subspace_change(made, HankelChanges.of(made, directions, 15, ORDER), ORDER)
    small = 1e-6
    for c, direction in enumerate(directions):
        ahead, behind = (at(sequence + sign * small * direction)[1] for sign in (1, -1))
        for i, pole in enumerate(modes.poles):
            a, b = (int(np.abs(m.poles - pole).argmin()) for m in (ahead, behind))
            d_pole, d_shape = changes_of_mode(made, modes, i, moved)
            slope = (ahead.poles[a] - behind.poles[b]) / (2 * small)
            assert d_pole[c] == pytest.approx(slope, rel=2e-3, abs=2e-4 * np.abs(pole))
            top = np.abs(modes.shapes[:, i]).argmax()  # shapes have no scale: compare ratios to the largest entry
            shape, d = modes.shapes[:, i], d_shape[c]
            scaled = (d - shape * d[top] / shape[top]) / shape[top]
            ends = [m.shapes[:, j] / m.shapes[top, j] for m, j in ((ahead, a), (behind, b))]
            np.testing.assert_allclose(scaled, (ends[0] - ends[1]) / (2 * small), rtol=5e-3, atol=1e-3)


def test_correlations_equal_their_definition():
    values = np.random.default_rng(0).standard_normal((230, 3))
    record = as_record(values, 10.0)
    motions = motions_of(record, None)
    (y,) = motions.parts
    every = correlations(motions, [0, 2], 7, 4)
    length = (230 - 6) // 4
    for piece in range(4):
        instants = range(piece * length, (piece + 1) * length)
        for lag in (0, 3, 6):
            expected = np.mean([np.outer(y[t + lag], y[t, [0, 2]]) for t in instants], axis=0)
            np.testing.assert_allclose(every[piece, lag], expected, atol=1e-12)


def test_close_modes_are_told_apart():
    """Two modes 1 % apart, of opposite shapes: found as two."""
    m, k = np.eye(2), np.array([[1010.0, -10.0], [-10.0, 1010.0]])
    values, shapes = np.linalg.eigh(k)
    c = shapes @ np.diag(2 * 0.005 * np.sqrt(values)) @ shapes.T
    f, phi = np.sqrt(values) / (2 * np.pi), shapes
    found = vb.ssi(as_record(accelerations(m, c, k, 3, 1200.0, 20.0), 20.0))
    assert len(found) == 2
    np.testing.assert_allclose(found.frequencies, f, rtol=0.003)
    assert np.diag(vb.structures.mac(found.shapes, phi)).min() > 0.98


def test_references_and_several_records(record, truth):
    halves = [as_record(record.data[:18000], 40.0), as_record(record.data[18000:], 40.0)]
    few = vb.ssi(halves, references=["a2", "a4"], lags=30)
    assert "Left out" in repr(few) and set(few.diagram.mode) == {-1, 0, 1, 2, 3, 4}  # a pole at 10.8 Hz, damping ± 2
    np.testing.assert_allclose(few.frequencies, truth.frequencies, rtol=0.006)
    assert np.isfinite(few.frequency_deviations).all()


def test_mixed_quantities_make_shapes_of_displacements(truth):
    """Two floors by velocity, three by acceleration: the shapes are those of displacements."""
    values = data()
    velocity = np.cumsum(values[:, :2] - values[:, :2].mean(axis=0), axis=0) / DATA["rate"]
    channels = [vb.Channel(f"v{i}", "velocity", location=i) for i in range(2)]
    channels += [vb.Channel(f"a{i}", "acceleration", location=i) for i in range(2, 5)]
    record = vb.Record(np.hstack([velocity, values[:, 2:]]), channels, step=1 / DATA["rate"]).filter(low=0.4)
    found = vb.ssi(record, lags=BLOCK_ROWS, uncertainty=False)
    pairs = vb.structures.pair_modes(found, truth)
    assert [pairs.mac[i, j] for i, j in pairs.pairs if j < 3] == pytest.approx([1.0] * 3, abs=0.02)


@pytest.mark.parametrize("seed", [19, 62, 83])
def test_ten_modes_and_no_other(seed):
    """A pole of the tenth mode moves at order 10 (19); models of some orders hardly know one of the modes (62, 83)."""
    masses, stiffnesses = [1.0] * 10, [1600.0] * 10
    found = vb.ssi(as_record(accelerations(*chain(masses, stiffnesses, 0.015), seed, 1800.0, 50.0), 50.0))
    right = vb.modes(vb.ShearBuilding(masses, [vb.Linear(k) for k in stiffnesses]))
    np.testing.assert_allclose(found.frequencies, right.frequencies, rtol=0.005)
    assert not found.notes and (found.ratio_deviations < 0.2 * found.ratios).all()


def test_short_records_are_told():
    """Fewer than 20 periods of the first two modes; fewer than 20 pieces for standard deviations."""
    short = as_record(accelerations(*chain(**CASE), seed=2, seconds=6.0, rate=100.0), 100.0)
    found = vb.ssi(short)
    assert found.frequencies.min() > 20 / 6.0 and "hold fewer than 20 periods" in repr(found)
    few = vb.ssi(as_record(accelerations(*chain(**CASE), seed=2, seconds=15.0, rate=40.0), 40.0))
    assert np.isnan(few.frequency_deviations).all() and "No standard deviations" in repr(few)
    long = vb.ssi(as_record(accelerations(*chain(**CASE), seed=2, seconds=30.0, rate=40.0), 40.0))
    assert np.isfinite(long.frequency_deviations).all()


def test_any_highest_frequency_is_taken(record, truth):
    """A rate that is in no simple ratio to that of the record: the next higher one that is."""
    found = vb.ssi(record, highest=7.123, uncertainty=False)
    np.testing.assert_allclose(found.frequencies[:4], truth.frequencies[:4], rtol=0.005)


def bad(values, **labels):
    return as_record(values, 40.0, **labels)


GOOD = np.random.default_rng(1).standard_normal((4000, 3))
CASES = {
    "one channel": (lambda: vb.ssi(bad(GOOD[:, :1])), "at least 2 channels"),
    "a dead channel": (lambda: vb.ssi(bad(GOOD * [1.0, 0.0, 1.0])), "'a1' of record 'ambient' is dead"),
    "the same channel": (lambda: vb.ssi(bad(GOOD[:, [0, 1, 0]] * [1.0, 1.0, -2.0])), "'a0' and 'a2' .* the same up to"),
    "a short record": (lambda: vb.ssi(bad(GOOD[:100])), "100 samples"),
    "stuck": (lambda: vb.ssi(bad(np.where(np.arange(4000)[:, None] > [4000, 900, 4000], 1.0, GOOD))), "'a1' .* 22.5"),
    "twice": (lambda: vb.ssi(bad(GOOD), channels=["a0", "a1", "a0"]), "'a0' is named twice"),
    "a gap": (lambda: vb.ssi(bad(np.where(np.arange(4000)[:, None] == 7, np.nan, GOOD))), "misses 1 samples"),
    "other rates": (lambda: vb.ssi([bad(GOOD), as_record(GOOD, 100.0)]), "one rate"),
    "other channels": (lambda: vb.ssi([bad(GOOD), bad(GOOD[:, :2])]), "has no channel 'a2'"),
    "no such reference": (lambda: vb.ssi(bad(GOOD), references=["b"]), "reference 'b' is not among"),
    "too high an order": (lambda: vb.ssi(bad(GOOD), order=4000), "order of a model"),
    "too many lags": (lambda: vb.ssi(bad(GOOD), lags=3000), "lags between"),
    "no records": (lambda: vb.ssi([]), "takes a record or a list"),
    "too low a frequency": (lambda: vb.ssi(bad(GOOD), highest=0.01), "1 periods of the highest frequency"),
    "a negative frequency": (lambda: vb.ssi(bad(GOOD), highest=-1.0), "positive, in Hz"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_refused_in_a_sentence(case):
    act, words = CASES[case]
    with pytest.raises(vb.InputError, match=words):
        act()
