"""The paper's beam: its items are listed, its frequencies are those printed, its impacts are half sines."""

import numpy as np

from vibrid.papers import Run, load_paper
from vibrid.papers.siva.beam import PULSE, RATE, guess, impact, percent


def test_items_of_the_paper():
    paper = load_paper("siva")
    labels = {item.label for item in paper.items}
    assert {"table-2", "table-3", "figure-3", "figure-4", "figure-5", "figure-6"} <= labels
    assert {"study-seeds", "study-speed", "study-held-out", "study-noise", "study-missing"} <= labels


def test_table_2_keeps_its_promise():
    (item,) = load_paper("siva").chosen({"table": ["2"]})
    made = item.make(Run())
    assert [c.met for c in made.checks] == [True] and len(made.rows) == 7
    assert all(abs(r["with the printed density, off [%]"] + 0.65) < 0.05 for r in made.rows)


def test_impacts_and_errors():
    hammer = impact(2.0, seconds=0.1)
    force = hammer["hammer"]
    assert len(force) == 201 and force.max() <= 2000.0 and np.all(force[hammer.time >= PULSE] == 0.0)
    np.testing.assert_allclose(force.sum() / RATE, 2 * 2000.0 * PULSE / np.pi, rtol=0.01)  # the impulse of a half sine
    np.testing.assert_allclose(percent([1.1e4 * 1.001, 0, 0.99e8, 0, 0]), [0.1, -1.0])
    assert guess().matrix.shape == (30, 15)
