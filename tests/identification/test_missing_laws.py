"""Directed tests of laws that a storey lacks: found where they are, with the bias that follows; none elsewhere."""

import numpy as np
import pytest
import trust

import vibrid as vb
from vibrid.identification.checks.laws import law_scores, missing_laws
from vibrid.identification.checks.run import checked_result

MASSES, STIFFNESS = [2e4, 2e4], np.array([22e6, 18e6])
LINEAR = vb.ShearBuilding(MASSES, [vb.Linear(18e6), vb.Linear(18e6)], damping=vb.Viscous(1e5))
SENSORS = vb.Sensors(absolute_acceleration=[0, 1])
UNKNOWN = ["storeys[*].stiffness", "damping.damping"]


def fitted(clean: np.ndarray, ground: np.ndarray, seed: int):
    rng = np.random.default_rng(seed)
    y = clean + 0.03 * clean.std(axis=0) * rng.standard_normal(clean.shape)
    channels = [vb.Channel("ground", "ground_acceleration"), *SENSORS.channels()]
    record = vb.Record(np.column_stack([ground, y]), channels, step=trust.STEP)
    return vb.TrajectoryFit().solve(vb.identification.make_problem(LINEAR, record, UNKNOWN, sensors=SENSORS))


def ground_motion(seed: int = 1) -> np.ndarray:
    return trust.shaking(np.random.default_rng(seed), 3.0)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_weak_hysteresis_is_found_with_its_bias(seed):
    ground = ground_motion(seed)
    clean = trust.hysteretic_accelerations(MASSES, STIFFNESS, 1e5, 3.0, 3.0, ground)
    fit = fitted(clean, ground, seed)
    (found,) = missing_laws(fit)
    assert found.where == "storeys[0]" and "hysteresis" in found.sentence and found.verdict == "wrong"
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


@pytest.mark.parametrize("seed", range(3))
def test_none_is_told_where_none_is_missing(seed):
    ground = ground_motion(seed)
    clean = trust.linear_accelerations(MASSES, STIFFNESS, np.full(2, 1e5), ground)
    assert missing_laws(fitted(clean, ground, seed)) == []


def test_a_direction_is_the_change_of_a_simulation():
    """The first-order effect of a force, against the difference of two simulations with that law beside the storey."""
    from vibrid.identification.checks.law_directions import _deformations, directions, is_linear, small_laws
    from vibrid.structures import Attachment

    ground = ground_motion(4)
    clean = trust.linear_accelerations(MASSES, STIFFNESS, np.full(2, 1e5), ground)
    fit = fitted(clean, ground, 4)
    kinds, (moved,) = directions(fit.problem, fit.free)
    e, v = _deformations(fit.problem, fit.free)[1]
    law = small_laws(e, v)["hysteresis"]
    record = vb.Record(ground, [vb.Channel("ground", "ground_acceleration")], step=trust.STEP)
    size, readings = 5.0, []
    for factor in (size, 1e-9):
        scaled = vb.BoucWen(factor * float(law.stiffness), beta=float(law.beta), gamma=float(law.gamma))
        storeys = list(fit.structure.storeys)
        storeys[1] = vb.Linear(float(storeys[1].stiffness) - factor * float(law.stiffness))
        beside = [Attachment(scaled, "1", "0")]
        extended = vb.ShearBuilding(MASSES, storeys, damping=fit.structure.damping, attachments=beside)
        readings.append(np.asarray(vb.simulate(extended, record, substeps=8).readings(SENSORS)))
    expected = (readings[0] - readings[1]) / size
    along = moved[:, :, kinds.index(("hysteresis", 1))]
    assert is_linear(fit.problem, fit.free)
    assert np.linalg.norm(along - expected) < 0.01 * np.linalg.norm(expected)
