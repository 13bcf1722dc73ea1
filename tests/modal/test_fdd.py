"""FDD against the truth and pyOMA-2; modes from tables; pairs of modes."""

import numpy as np
import pytest
from test_ssi import CASE, DATA, ORACLE, as_record, data

import vibrid as vb
from vibrid.modal import fdd, measured_modes
from vibrid.structures import mac, pair_modes

TRUTH = vb.modes(vb.ShearBuilding(CASE["masses"], [vb.Linear(k) for k in CASE["stiffnesses"]], vb.Modal(CASE["ratio"])))


@pytest.fixture(scope="module")
def record():
    return as_record(data(), DATA["rate"])


def test_peaks_shapes_and_damping(record):
    found = fdd(record, peaks=TRUTH.frequencies)
    np.testing.assert_allclose(found.frequencies, TRUTH.frequencies, rtol=0.01)
    pairs = pair_modes(found, TRUTH)
    assert min(pairs.mac[i, i] for i in range(5)) > 0.98
    np.testing.assert_allclose(found.ratios, 0.02, rtol=0.5)  # its known accuracy: pyOMA-2's have 0.037 to 0.042 here
    assert np.abs(found.ratios - 0.02).max() < np.abs(np.array(ORACLE["efdd_ratios"]) - 0.02).max()
    theirs = [min(ORACLE["efdd_frequencies"], key=lambda f: abs(f - own)) for own in found.frequencies]
    np.testing.assert_allclose(found.frequencies, theirs, rtol=0.01)


def test_peaks_by_themselves_and_none_in_noise(record):
    found = fdd(record)
    near = np.abs(found.frequencies[:, None] / TRUTH.frequencies - 1).min(axis=1)
    assert 3 <= len(found) <= 6 and near.max() < 0.05
    noise = as_record(np.random.default_rng(0).standard_normal((20000, 3)), 40.0)
    with pytest.raises(vb.InputError, match="rises above chance"):
        fdd(noise)


def test_bad_settings_are_refused(record):
    for settings, words in (({"peaks": [50.0]}, "Peaks lie between"), ({"alike": 2.0}, "MAC between"),
                            ({"length": 10}, "64 to"), ({"peaks": [1.62, 1.621]}, "same line")):  # fmt: skip
        with pytest.raises(vb.InputError, match=words):
            fdd(record, **settings)


def test_a_spectrum_holds_the_power_of_its_channels(record):
    """∫ S df is the variance: the trace of the cross spectra is the sum of their singular values."""
    spectra = fdd(record, peaks=[1.62]).spectra
    power = spectra.values.sum() * spectra.frequencies[1]
    assert power == pytest.approx(record.data.var(axis=0).sum(), rel=0.02)


def test_modes_from_a_table():
    shapes = TRUTH.shapes[[0, 4], :2] * [3.0, -1.0]
    given = measured_modes(TRUTH.frequencies[[1, 0]], shapes[:, ::-1], [0, "roof"], frequency_deviations=0.01)
    np.testing.assert_allclose(given.frequencies, TRUTH.frequencies[:2])
    assert given.places == ("0", "roof")
    pairs = pair_modes(given, TRUTH)
    assert pairs.pairs == ((0, 0), (1, 1)) and pairs.mac[0, 0] == pytest.approx(1.0)
    assert "0.00  1.0000" in repr(pairs)
    with pytest.raises(vb.InputError, match="2 rows and 1 columns"):
        measured_modes([1.0], [1.0, 2.0, 3.0], [0, 1])
    with pytest.raises(vb.InputError, match="positive, in Hz"):
        measured_modes([-1.0], [[1.0], [2.0]], [0, 1])


def test_pairs_survive_a_crossing():
    """Two uncoupled oscillators whose frequencies exchange their order keep their pairs."""
    before = vb.Matrices(np.eye(2), np.diag([900.0, 1000.0]), names=["a", "b"])
    after = vb.Matrices(np.eye(2), np.diag([1100.0, 1000.0]), names=["a", "b"])
    assert pair_modes(vb.modes(before), vb.modes(after), places=["a", "b"]).pairs == ((0, 1), (1, 0))


def test_mac_of_complex_shapes():
    shape = np.array([[1.0 + 1.0j], [2.0 - 1.0j], [0.5j]])
    assert mac(shape, shape * (3.0 - 2.0j))[0, 0] == pytest.approx(1.0)
    assert mac(np.eye(3)[:, :1], np.eye(3)[:, 1:2])[0, 0] == 0.0


def test_modes_without_a_common_place_are_refused():
    one = measured_modes([1.0], [[1.0], [2.0]], ["p", "q"])
    other = measured_modes([1.0], [[1.0], [2.0]], ["r", "s"])
    with pytest.raises(vb.InputError, match="no place in common"):
        pair_modes(one, other)


def test_shapes_are_expanded_to_places_without_a_sensor():
    """Exact for shapes of the structure itself, and at the measured places for any that its modes can make."""
    few = ["1", "3", "4"]
    rows = np.stack([TRUTH.at(place) for place in few])[:, :3]
    whole = vb.structures.expand_shapes(measured_modes(TRUTH.frequencies[:3], rows, few), TRUTH)
    for i in range(3):
        assert mac(whole[:, [i]], TRUTH.shapes[:, [i]])[0, 0] == pytest.approx(1.0, abs=1e-12)
    bent = measured_modes(TRUTH.frequencies[:3], rows + 0.1, few)
    np.testing.assert_allclose(vb.structures.expand_shapes(bent, TRUTH)[[1, 3, 4]], bent.shapes, atol=1e-12)
