"""The two systems of Liu & Meidani: their numbers, their motions, their items."""

import numpy as np
import pytest

from vibrid.core.errors import VibridError
from vibrid.papers import Run, load_paper
from vibrid.papers.pages import reproduce
from vibrid.papers.pidynnet.imperfect import cases
from vibrid.papers.pidynnet.paper import PRINTED_VALUES
from vibrid.papers.pidynnet.systems import (
    PRINTED_PERIOD,
    SYSTEMS,
    TRUE_PERIOD,
    at_rate,
    cubic,
    kobe,
    respond,
    synthetic,
    target,
)
from vibrid.records import response_spectrum


def test_items_of_the_paper():
    labels = {item.label for item in load_paper("pidynnet").items}
    assert {f"table-{i}" for i in (1, 3, 4, 5)} <= labels
    assert {f"figure-{i}" for i in range(2, 12)} <= labels
    assert {f"study-{name}-{system}" for name in ("methods", "kobe", "imperfect") for system in SYSTEMS} <= labels


def test_the_systems_are_those_of_the_tables():
    """The printed 1.19 s is 1/ω1; printed values and truths belong together."""
    stiffness = np.array([35.0] * 3 + [30.0] * 3 + [25.0] * 4)
    chain = np.diag(stiffness + np.append(stiffness[1:], 0.0)) - np.diag(stiffness[1:], 1) - np.diag(stiffness[1:], -1)
    omega = np.sqrt(np.linalg.eigvalsh(chain).min())
    assert 1 / omega == pytest.approx(PRINTED_PERIOD, abs=0.005)
    assert 2 * np.pi / omega == pytest.approx(TRUE_PERIOD, abs=0.005)
    systems = {name: make() for name, make in SYSTEMS.items()}
    for (name, _), columns in PRINTED_VALUES.items():
        system = systems[name]
        assert len(system.labels) == len(system.truth) == len(system.names) and len(columns[1]) == system.table
        assert system.mean_error(columns[1]) < 3.0
    np.testing.assert_allclose(systems["cubic"].truth[:10], stiffness)
    assert systems["cubic"].mean_error(PRINTED_VALUES["cubic", 0.05][1]) == pytest.approx(1.42, abs=0.01)


def test_unmodelled_forces_have_the_size_they_are_said_to_have():
    system = cubic(2)
    ground = at_rate(synthetic(), 50.0)
    response = respond(system.building, synthetic(), 50.0, forces=0.3, key=1)
    size = np.sqrt(np.mean(response.excitation.data[:, 1:] ** 2, axis=0))
    np.testing.assert_allclose(size, 0.3 * np.sqrt(np.mean(ground.data**2)), rtol=0.05)
    assert [len(c.kept) for c in cases("cubic")] == [0, 0, 9]


@pytest.mark.shared_data
@pytest.mark.parametrize("period", [PRINTED_PERIOD, TRUE_PERIOD])
def test_the_kobe_record_is_scaled_to_the_target(shared_data, period):
    record = kobe(Run(data=shared_data), period)
    periods = np.geomspace(0.2 * period, 1.5 * period, 60)
    log = np.log(response_spectrum(record, periods, 0.05).pseudo_acceleration / target().at(periods))
    assert abs(log.mean()) < 0.02 and record.time[-1] == pytest.approx(40.0, abs=0.03)


def test_a_figure_that_does_not_exist_leaves_nothing_behind(tmp_path):
    with pytest.raises(VibridError, match="no figure of 'pidynnet' called '40'"):
        reproduce("pidynnet", {"figure": ["40"]}, tmp_path / "out")
    assert not list(tmp_path.iterdir())
