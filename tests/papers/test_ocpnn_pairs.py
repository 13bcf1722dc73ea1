"""Pairs of tests that come from a hybrid test."""

import numpy as np

import vibrid as vb
from vibrid.hybrid import Experimental, HybridTest, Modelled
from vibrid.hybrid.impose import impose
from vibrid.papers.ocpnn.pairs import COMPANION_SIGNALS, STOREYS, Pair, pair_in_the_loop, specimen
from vibrid.papers.ocpnn.paper import SUBSTEPS
from vibrid.records.record import Channel, Record


def test_a_pair_from_the_loop_is_what_was_heard_and_the_specimen_moved_alike():
    key, capacity = 3, 18e3
    building = vb.ShearBuilding([9e3, 9e3], [vb.Linear(8e6, 2e4)] * 2)
    first = Experimental(specimen(key, capacity, 0), at=0, name=STOREYS[0])
    second = Modelled(vb.Linear(1e6), at=1, to=0, name=STOREYS[1])
    result = HybridTest(building, [first], [second], substeps=SUBSTEPS).run(
        vb.synthetic_motion(1, duration=2.0, rate=256.0, pga=4.0)
    )
    pair = pair_in_the_loop("motion", capacity, key, result)
    test = pair.test()
    companion = np.column_stack([result.devices[f"{STOREYS[0]}.{name}"] for name in COMPANION_SIGNALS])
    np.testing.assert_array_equal(test.companion, companion)
    np.testing.assert_array_equal(test.x, result.devices[f"{STOREYS[1]}.target"])
    drift = result.response.velocity[:, 1] - result.response.velocity[:, 0]
    np.testing.assert_allclose(test.v[SUBSTEPS - 1 :: SUBSTEPS], drift[1:], atol=1e-12)
    assert np.corrcoef(test.force, test.x)[0, 1] < 0.99, "the specimen answers, not the linear model"
    channels = [Channel("x", "imposed_displacement"), Channel("v", "imposed_velocity")]
    moved = impose(specimen(key, capacity, 2), Record(np.column_stack([test.x, test.v]), channels, step=1 / 1024))
    np.testing.assert_allclose(test.force, moved["force"], rtol=1e-9)
    kept = Pair.of("motion", capacity, key, pair.columns())
    np.testing.assert_array_equal(kept.test(4, swapped=True).x, result.devices[f"{STOREYS[0]}.target"][3::4])
