"""Directed tests of laws that a storey lacks: found where they are, with the bias that follows; none elsewhere."""

import dataclasses
import re

import numpy as np
import pytest
import trust

import vibrid as vb
from vibrid.identification.checks.law_directions import directions, is_linear, small_laws
from vibrid.identification.checks.laws import law_scores, missing_laws, possible_bias
from vibrid.identification.checks.run import checked_result
from vibrid.structures import Attachment

MASSES, STIFFNESS = [2e4, 2e4], np.array([22e6, 18e6])
LINEAR = vb.ShearBuilding(MASSES, [vb.Linear(18e6), vb.Linear(18e6)], damping=vb.Viscous(1e5))
SENSORS = vb.Sensors(absolute_acceleration=[0, 1])
UNKNOWN = ["storeys[*].stiffness", "damping.damping"]


def fitted(clean: np.ndarray, ground: np.ndarray, seed: int, structure: vb.ShearBuilding = LINEAR):
    rng = np.random.default_rng(seed)
    y = clean + 0.03 * clean.std(axis=0) * rng.standard_normal(clean.shape)
    channels = [vb.Channel("ground", "ground_acceleration"), *SENSORS.channels()]
    record = vb.Record(np.column_stack([ground, y]), channels, step=trust.STEP)
    return vb.TrajectoryFit().solve(vb.identification.make_problem(structure, record, UNKNOWN, sensors=SENSORS))


def ground_motion(seed: int = 1) -> np.ndarray:
    return trust.shaking(np.random.default_rng(seed), 3.0)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_weak_hysteresis_is_found_with_its_bias(seed):
    ground = ground_motion(seed)
    clean = trust.hysteretic_accelerations(MASSES, STIFFNESS, 1e5, 3.0, 3.0, ground)
    fit = fitted(clean, ground, seed)
    (found,) = missing_laws(fit)
    assert found.where == "storeys[0]" and "hysteresis" in found.sentence and found.verdict == "wrong"
    assert "Hz, with drifts up to" in found.sentence and len(found.numbers) == 2 + len(fit.names)
    # the bias of the stiffness is about the difference to the true one
    best = law_scores(fit)[0]
    true = (fit.estimate[0] - STIFFNESS[0]) / fit.deviation[0]
    assert 0.5 < best.bias[0] / true < 2.0
    assert checked_result(fit, ()).checks[0].name == "law"


def test_hardening_is_told_from_hysteresis():
    cubic = vb.ShearBuilding(MASSES, [vb.Cubic(22e6, 2e10), vb.Linear(18e6)], damping=vb.Viscous(1e5))
    ground = ground_motion(3)
    record = vb.Record(ground, [vb.Channel("ground", "ground_acceleration")], step=trust.STEP)
    clean = np.asarray(vb.simulation.simulate_reference(cubic, record).readings(SENSORS))
    fit = fitted(clean, ground, 3)
    (found,) = missing_laws(fit)
    assert found.where == "storeys[0]" and "changes with the deformation" in found.sentence


def test_what_happens_where_is_told():
    """A spring that hardens in a strong second half of the record, with the drift of the simulation."""
    ground = ground_motion(5)
    ground[:700] *= 0.1
    cubic = vb.ShearBuilding(MASSES, [vb.Cubic(22e6, 2e10), vb.Linear(18e6)], damping=vb.Viscous(1e5))
    record = vb.Record(ground, [vb.Channel("ground", "ground_acceleration")], step=trust.STEP)
    response = vb.simulation.simulate_reference(cubic, record)
    fit = fitted(np.asarray(response.readings(SENSORS)), ground, 5)
    (found,) = missing_laws(fit)
    drift = 1e3 * np.abs(np.asarray(response.readings(vb.Sensors(drift=[0])))).max()
    pattern = r"from (\S+) to (\S+) s around (\S+) Hz, with drifts up to (\S+) mm"
    first, last, frequency, told = map(float, re.findall(pattern, found.sentence)[0])
    assert 7.0 < first < last <= 15.0 and 1.0 < frequency < 15.0
    assert told == pytest.approx(drift, rel=0.1)


def test_the_bias_that_may_be_there_unseen_is_that_of_the_weakest_law_that_is_told():
    ground = ground_motion()
    clean = trust.linear_accelerations(MASSES, STIFFNESS, np.full(2, 1e5), ground)
    fit = fitted(clean, ground, 1)
    assert possible_bias(fit) == {}  # not checked
    unseen = possible_bias(checked_result(fit, ()))
    each = [np.abs(score.bias) * np.sqrt(25.0 / score.drop) for score in law_scores(fit)]
    assert list(unseen) == list(fit.names)
    np.testing.assert_allclose(list(unseen.values()), np.max(each, axis=0), rtol=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_none_is_told_where_none_is_missing(seed):
    ground = ground_motion(seed)
    clean = trust.linear_accelerations(MASSES, STIFFNESS, np.full(2, 1e5), ground)
    assert missing_laws(fitted(clean, ground, seed)) == []


@pytest.mark.parametrize("kind", ["hysteresis", "hardening"])
@pytest.mark.parametrize("first", [vb.Linear(20e6), vb.Cubic(20e6, 1e10)])
def test_a_direction_is_the_change_of_a_simulation(first, kind):
    """The first-order effect of a force, against the difference of two simulations with that law beside the storey."""
    ground = ground_motion(4)
    clean = trust.linear_accelerations(MASSES, STIFFNESS, np.full(2, 1e5), ground)
    guess = vb.ShearBuilding(MASSES, [first, vb.Linear(20e6)], damping=vb.Viscous(1e5))
    fit = fitted(clean, ground, 4, guess)
    kinds, (moved,) = directions(fit.problem, fit.free)
    record = vb.Record(ground, [vb.Channel("ground", "ground_acceleration")], step=trust.STEP)
    drift = vb.Sensors(drift=[1], drift_velocity=[1])
    e, v = 0.5 * np.abs(np.asarray(vb.simulate(fit.structure, record, hold="linear").readings(drift))).max(axis=0)
    law = small_laws(e, v)[kind]
    size, readings = 5.0, []
    for factor in (size, 0.0):
        spring = fit.structure.storeys[1].stiffness - factor * law.stiffness  # the law without its linear part
        changed = {name: factor * getattr(law, name) for name in ("stiffness", "cubic") if hasattr(law, name)}
        beside = [Attachment(dataclasses.replace(law, **changed), "1", "0")] if factor else []
        storeys = [fit.structure.storeys[0], vb.Linear(spring)]
        extended = vb.ShearBuilding(MASSES, storeys, damping=fit.structure.damping, attachments=beside)
        readings.append(np.asarray(vb.simulate(extended, record, substeps=8, hold="linear").readings(SENSORS)))
    expected = (readings[0] - readings[1]) / size
    along = moved[:, :, kinds.index((kind, 1))]
    assert is_linear(fit.problem, fit.free) == isinstance(first, vb.Linear)
    assert np.linalg.norm(along - expected) < 0.01 * np.linalg.norm(expected)
