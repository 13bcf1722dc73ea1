"""The paper's own conditions: its unknowns, and identifications that a later call reads back."""

from types import SimpleNamespace

import numpy as np
import pytest
from identification.small import ONE_GUESS, ONE_UNKNOWN, truth

import vibrid as vb
from vibrid.core.errors import VibridError
from vibrid.papers import Run
from vibrid.papers.pidynnet import conditions
from vibrid.papers.pidynnet.as_published import PIDynNetAsPublished
from vibrid.papers.pidynnet.systems import System

FULL = vb.Sensors(displacement=[0], velocity=[0], acceleration=[0])
SHORT = {"seeds": 2, "width": 8, "layers": 3, "window": 4.0, "iterations": 40, "pretraining": 20,
         "check": 20, "pool": 150, "batch": 60}  # fmt: skip


def small() -> System:
    names = vb.identification.make_problem(ONE_GUESS, truth("one").measure(FULL), ONE_UNKNOWN).unknowns.names
    return System("one", ONE_GUESS, ONE_GUESS, tuple(ONE_UNKNOWN), 3, names, names, np.ones(3))


@pytest.mark.parametrize("system", ["cubic", "bouc-wen"])
def test_under_the_papers_conditions_only_the_unknowns_of_its_tables_are_identified(system):
    case = conditions.known(system)
    assert len(case.names) == case.table and not any("damping" in name for name in case.names)


def test_a_finished_training_is_read_back_and_not_repeated(tmp_path, monkeypatch):
    run, record = Run(), truth("one").measure(FULL)
    run.folder = tmp_path
    method = PIDynNetAsPublished(**SHORT)
    first = conditions.stored(run, "small", small(), record, method)
    assert not run.reused
    assert [f.name for f in (tmp_path / "unfinished").iterdir()] == ["small.h5"]  # no checkpoint is left
    assert first.history["motion"].shape == (401, 2, 3)  # x, v and z of both initialisations at 100 Hz
    np.testing.assert_allclose(first.history["motion"][:, 0, 0], first.history["response"][:, 0], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(first.history["motion"][:, 0, 2], first.history["states"][:, 0], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(first.history["motion_time"], 0.02 * np.arange(401))
    monkeypatch.setattr(conditions, "identify", lambda *_: pytest.fail("trained again"))
    again = conditions.stored(run, "small", small(), record, method)
    assert run.reused, "its time is not that of a cold run"
    np.testing.assert_array_equal(again.history["traces"], first.history["traces"])
    assert again.convergence["iterations"] == first.convergence["iterations"]
    other = PIDynNetAsPublished(**SHORT | {"batch": 50})
    assert conditions.stored(run, "small", small(), record, other, method).settings["batch"] == 60  # the longer one
    with pytest.raises(VibridError, match="other settings or other data"):
        conditions.stored(run, "small", small(), record, other)
    with pytest.raises(VibridError, match="other settings or other data"):
        conditions.stored(run, "small", small(), truth("one").measure(FULL, 0.05, 1), method)


def test_rows_have_the_printed_numbers_and_the_spread_of_the_ten():
    """Two initialisations, 10 and 30 % off in every unknown with opposite signs: their mean errs by 10 %."""
    case = conditions.known("bouc-wen")
    values = np.array([1.1 * case.truth, 0.7 * case.truth])
    fit = SimpleNamespace(
        history={"seeds": values, "traces": np.stack([values, values]), "trace_time": np.array([0.0, 5.0])},
        convergence={"iterations": [1000, 3000]}, seconds=1.0, estimate=1.02 * case.truth,
    )  # fmt: skip
    mean, *each = conditions._rows(case, 0.05, fit, {"UKF": fit}, 0.2)
    assert mean["as published"] == pytest.approx(20.0) and mean["spread of the ten (%)"] == pytest.approx(10.0)
    assert mean["worst of the ten (%)"] == pytest.approx(30.0) and mean["UKF"] == pytest.approx(2.0)
    assert mean["error of their mean (%)"] == pytest.approx(10.0) and mean["iterations a subperiod"] == 2000
    assert (mean["paper's network"], mean["paper's UKF"], mean["bound"]) == (1.26, 4.53, 0.2)
    assert [row["unknown"] for row in each] == list(case.labels) and each[0]["paper's network"] == 50.812
    np.testing.assert_allclose(conditions.trace_errors(case, fit), [[10.0, 30.0], [10.0, 30.0]])
