"""Studies of the recipe: their data and rows, without training."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from vibrid.papers import Run, load_paper
from vibrid.papers.pidynnet import conditions, sizes
from vibrid.papers.pidynnet.ablation import LEFT_OUT, thinned
from vibrid.papers.pidynnet.as_published import PIDynNetAsPublished
from vibrid.papers.pidynnet.corrected import PIDynNetCorrected
from vibrid.papers.pidynnet.correction import WITHOUT
from vibrid.papers.pidynnet.figures import share_check
from vibrid.papers.pidynnet.histories import history_rows
from vibrid.papers.pidynnet.loops import shear_of, storey
from vibrid.papers.pidynnet.paper import PRINTED_VALUES
from vibrid.papers.pidynnet.systems import at_rate, bouc_wen, measured, synthetic
from vibrid.papers.pidynnet.their_ukf import likeness, signed
from vibrid.simulation import simulate


@pytest.fixture(scope="module")
def response():
    return simulate(bouc_wen(known_damping=True).building, at_rate(synthetic().cut(6.0, 8.0), 100.0, 2.0))


def fake_fit(case, values) -> SimpleNamespace:
    """A fit with two initialisations at `values`, which it reached at 5 and at 10 s of the record."""
    start = SimpleNamespace(unknowns=SimpleNamespace(start=0.8 * case.truth))
    traces = np.stack([0.5 * values, values])
    return SimpleNamespace(
        history={"seeds": values, "traces": traces, "trace_time": np.array([5.0, 10.0])}, problem=start,
        convergence={"iterations": [1000]}, settings={"iterations": 1000, "seeds": 2}, seconds=1.0,
        estimate=values.mean(axis=0),
    )  # fmt: skip


def test_the_study_has_one_block_of_rows_for_a_level_of_noise(monkeypatch):
    case = conditions.known("bouc-wen")
    fit = fake_fit(case, np.array([1.1 * case.truth, 0.7 * case.truth]))
    asked = []
    monkeypatch.setattr(conditions, "response_of", lambda *_: None)
    monkeypatch.setattr(conditions, "recipe_of", lambda run, system, noise: asked.append(("recipe", noise)) or fit)
    monkeypatch.setattr(conditions, "other_of", lambda run, system, noise, name: asked.append((name, noise)) or fit)
    monkeypatch.setattr(conditions, "bound_known", lambda run, system, noise: 10 * noise)
    outcome = conditions.under_paper_conditions(Run(), "bouc-wen")
    names = ("recipe", "PIDynNet", "WeakCollocation", "UKF")
    assert sorted(asked) == sorted((name, noise) for name in names for noise in conditions.NOISE)
    means = [row for row in outcome.rows if row["unknown"] == "mean error (%)"]
    assert [row["noise"] for row in means] == ["0 %", "2.5 %", "5 %"] and len(outcome.rows) == 3 * (1 + case.table)
    assert [row["bound"] for row in means] == [None, 0.25, 0.5]
    assert all(row["as published"] == pytest.approx(20.0) for row in means)


def test_the_figure_of_sizes_has_every_method_at_every_height(monkeypatch):
    def tried(run, floors: int, name: str) -> dict:
        return {"seconds": np.array(1.0 * floors), "error": np.array(0.1 * len(name))}

    monkeypatch.setattr(sizes, "tried", tried)
    rows = sizes.figure_4(Run(quick=True)).rows
    assert [row["floors"] for row in rows] == [2, 4] and [row["UKF (s)"] for row in rows] == [2.0, 4.0]
    assert "PIDynNet (s)" in rows[0] and "PIDynNet (s)" not in rows[1]  # of a quick run
    assert all(row["as published, error (%)"] == pytest.approx(1.2) for row in rows)


def test_every_claim_names_items_that_exist():
    """A claim whose numbers come from an item that the paper does not have would stay empty for ever."""
    paper = load_paper("pidynnet")
    labels = {item.label for item in paper.items}
    texts = [text for claim in paper.claims for text in (claim.published, claim.ours, claim.alternative, claim.limit)]
    named = {field.split("|")[0] for text in texts for field in re.findall(r"\{([^{}]*)\}", text)}
    assert named and named <= labels


def test_settings_of_the_ablations_are_settings_of_the_methods():
    for settings in LEFT_OUT.values():
        PIDynNetAsPublished(**settings)
    for settings in WITHOUT.values():
        PIDynNetCorrected(**settings)


def test_thinned_records_keep_the_whole_ground_motion(response):
    record = measured(bouc_wen(known_damping=True), response, 0.0)
    few = thinned(record, 4)
    ground = [c.quantity == "ground_acceleration" for c in record.channels]
    np.testing.assert_array_equal(few.data[:, ground], record.data[:, ground])
    read = np.isfinite(few.data[:, np.logical_not(ground)])
    assert read[::4].all() and read.sum() == read[::4].size


def test_the_force_of_the_first_storey_is_the_sum_of_the_forces_on_the_floors(response):
    from vibrid.identification import make_problem

    case = bouc_wen(known_damping=True)
    problem = make_problem(case.building, measured(case, response, 0.0), case.unknown)
    states = np.concatenate([np.asarray(s).reshape(len(response.time), -1) for s in response.states], axis=1)
    fit = SimpleNamespace(problem=problem)
    force = shear_of(fit, case.truth, response.displacement, response.velocity, states)
    np.testing.assert_allclose(force, storey(response)[1], atol=1e-9)


def test_histories_start_at_the_first_guess_and_hold_the_last_value():
    case = conditions.known("bouc-wen")
    fit = fake_fit(case, np.array([1.1 * case.truth, 0.9 * case.truth]))
    path = np.outer([1.5, 1.0], case.truth)
    rows = history_rows(case, fit, np.array([2.0, 6.0]), path)
    assert [row["time in the record (s)"] for row in rows] == [0.0, 2.5, 5.0, 7.5, 10.0]
    np.testing.assert_allclose([row["UKF (%)"] for row in rows], [20.0, 50.0, 50.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose([row["recipe, mean (%)"] for row in rows], [20.0, 20.0, 50.0, 50.0, 10.0])
    assert rows[-1]["initialisation 2 (%)"] == pytest.approx(10.0)


def test_the_share_of_90_per_cent_is_required_of_the_cubic_system_alone():
    assert share_check("cubic", "cubic", 0.8).met is False and share_check("cubic", "cubic", 0.9).met is True
    assert share_check("other", "bouc-wen", 0.8).met is None and share_check("other", "bouc-wen", 0.8).target == ""


def test_patterns_of_errors_are_compared_by_their_direction():
    case = conditions.known("cubic")
    printed = signed(case, PRINTED_VALUES["cubic", 0.0][0])
    assert printed[0] == pytest.approx(3.03, abs=0.01) and printed[-1] == pytest.approx(-6.59, abs=0.01)
    assert likeness(printed, 0.1 * printed) == pytest.approx(1.0) and likeness(printed, -printed) == pytest.approx(-1.0)
