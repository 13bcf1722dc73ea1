"""Several set-ups merged, PoSER and PreGER, against one set-up in which all channels were measured together."""

import numpy as np
import pytest
from pyoma_references import CASE, accelerations, chain
from test_ssi import as_record

import vibrid as vb
from vibrid.modal import merged_ssi

RATE = 25.0


def names(*floors):
    return [f"a{i}" for i in floors]


@pytest.fixture(scope="module")
def setups():
    """References on floors 1 and 4, the others roved; the wind of the second set-up was three times as strong."""
    whole = [
        as_record(accelerations(*chain(**CASE), seed, 800.0, RATE) * size, RATE) for seed, size in ((1, 1), (2, 3))
    ]
    return [whole[0].select(names(1, 4, 0, 2)), whole[1].select(names(3, 1, 4))]


@pytest.fixture(scope="module")
def together():
    return vb.ssi(as_record(accelerations(*chain(**CASE), 3, 1600.0, RATE), RATE), lags=20)


@pytest.fixture(scope="module")
def truth():
    storeys = [vb.Linear(k) for k in CASE["stiffnesses"]]
    return vb.modes(vb.ShearBuilding(CASE["masses"], storeys, vb.Modal(CASE["ratio"])))


@pytest.mark.parametrize("merging", ["poser", "preger"])
def test_merged_set_ups_agree_with_one(merging, setups, together, truth):
    found = merged_ssi(setups, names(1, 4), merging=merging, lags=20)
    assert [c.name for c in found.channels] == names(1, 4, 0, 2, 3)
    pairs = vb.structures.pair_modes(found, together)
    assert pairs.pairs == tuple((i, i) for i in range(5)) and len(found) == 5
    assert np.abs(pairs.differences).max() < 0.01 and np.diag(pairs.mac).min() > 0.99
    exact = vb.structures.pair_modes(found, truth)
    assert np.abs(exact.differences).max() < 0.01 and np.diag(exact.mac).min() > 0.99
    assert f"Merged from 2 set-ups {'after' if merging == 'poser' else 'before'}" in repr(found)
    if merging == "poser":
        away = (found.frequencies - truth.frequencies) / found.frequency_deviations
        assert np.abs(away).max() < 4.0 and np.isfinite(found.shape_deviations).all()


def test_unequal_wind_does_not_bend_preger_shapes(setups, truth):
    """Without scaling, the roving floor of the second set-up would move three times (in correlations nine) too far."""
    found = merged_ssi(setups, names(1, 4), lags=20)
    ratio = found.at("3") / found.at("4")
    np.testing.assert_allclose(ratio[:3], (truth.at("3") / truth.at("4"))[:3], rtol=0.05)


def test_refusals(setups):
    with pytest.raises(vb.InputError, match="merged by poser or preger, not 'mean'"):
        merged_ssi(setups, names(1, 4), merging="mean")
    with pytest.raises(vb.InputError, match="at least two set-ups"):
        merged_ssi(setups[:1], names(1, 4))
    with pytest.raises(vb.InputError, match="Channel 'a4' is in several set-ups"):
        merged_ssi(setups, names(1))
    with pytest.raises(vb.InputError, match="reference 'a0' is not among"):
        merged_ssi(setups, names(0))
    with pytest.raises(vb.InputError, match="merged have one rate"):
        merged_ssi([setups[0], setups[1].resample(20.0)], names(1, 4))
