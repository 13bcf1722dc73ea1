"""Exported scripts, as OpenSees itself ran them (`exported.py`), against the structures they were written from."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import vibrid as vb

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from exported import RESULTS, SCRIPTS, STEP
from exported_motion import LOOSE, UNDER_LOAD, recorded, squares
from exported_structures import STRUCTURES
from fresh import answer_of
from opensees_import import opensees

STORED = json.loads(RESULTS.read_text())


@pytest.fixture(scope="module")
def structures():
    kept = {}

    def get(name):
        if name not in kept:
            kept[name] = STRUCTURES[name]()
        return kept[name]

    return get


@pytest.mark.parametrize("name", STRUCTURES)
def test_the_stored_script_is_what_is_written_today(structures, tmp_path, name):
    """Otherwise the results below would belong to another script: then write and run them again."""
    assert vb.to_opensees(structures(name), tmp_path / name).read_text() == (SCRIPTS / name).read_text()


@pytest.mark.parametrize("name", STRUCTURES)
def test_frequencies(structures, name):
    if name in UNDER_LOAD:
        return
    ours = squares(structures(name), 5)
    np.testing.assert_allclose(ours, STORED[name]["eigenvalues"][: len(ours)], rtol=1e-8)


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_recorded_motion(structures, name):
    """To 1e-8 of the largest, every node and direction that the script records."""
    stored = np.array(STORED[name]["displacement"])
    np.testing.assert_allclose(stored[:, 0], 5 * STEP * np.arange(1, len(stored) + 1), rtol=1e-9)
    ours = recorded(structures(name), name)
    follows = np.isnan(ours).all(axis=0)
    assert ours.shape == stored[:, 1:].shape and follows.sum() <= 2 and np.isfinite(ours[:, ~follows]).all()
    size = np.abs(stored[:, 1:]).max()
    assert np.abs(ours - stored[:, 1:])[:, ~follows].max() <= LOOSE.get(name, 1e-8) * size


@pytest.mark.opensees
@pytest.mark.parametrize("name", STRUCTURES)
def test_stored_results_are_those_of_opensees(name):
    opensees()
    made = np.array(answer_of("exported", name)["displacement"])
    stored = np.array(STORED[name]["displacement"])
    np.testing.assert_allclose(made, stored, rtol=0, atol=1e-9 * np.abs(stored[:, 1:]).max())
