"""Populations of device pairs: how alike they are, how late measurements arrive, and how they move."""

import numpy as np

from vibrid.papers.ocpnn.companion import CASES, Population, _late, devices, storey_motions


def test_likeness_is_the_correlation_of_what_is_unknown():
    for likeness in (1.0, 0.65, 0.0):
        tested, modelled = devices(Population(strength=0.25, likeness=likeness), 4000, 3)
        found = np.corrcoef(np.log(np.asarray(tested.strength)), np.log(np.asarray(modelled.strength)))[0, 1]
        assert abs(found - likeness) < 0.04
    assert not np.array_equal(tested.seed, modelled.seed)  # the noise of two load cells is not one


def test_only_what_a_case_names_is_unknown():
    tested, modelled = devices(CASES["gap unknown, alike"], 50, 0)
    np.testing.assert_array_equal(tested.gap, modelled.gap)
    assert np.ptp(np.asarray(modelled.gap)) > 3e-3 and np.ptp(np.asarray(modelled.strength)) == 0.0


def test_late_signals_stand_still_first():
    columns = np.arange(40.0)[:, None] + np.array([0.0, 100.0, 200.0, 300.0])
    shifted = _late(columns, (0.0, 0.02))
    np.testing.assert_array_equal(shifted[:, 1], columns[:, 1])
    np.testing.assert_array_equal(shifted[5:, 0], columns[:-5, 0])
    assert (shifted[:5, 3] == 300.0).all()


def test_storeys_move_differently_and_come_to_rest():
    moved = storey_motions(40, 0)
    peak = np.abs(moved).max(axis=2)
    assert (peak.max(axis=1) <= 45e-3).all() and (np.abs(peak[:, 0] / peak[:, 1] - 1) > 0.02).mean() > 0.9
    assert (np.abs(moved[:, :, 0]) < 0.05 * peak).all()
