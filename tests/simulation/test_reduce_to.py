"""Reductions chosen by a tolerance: the error that is told is the one that is there."""

import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import VibridError

QUAKE = vb.synthetic_motion(key=2, duration=5.0, rate=100.0, pga=3.0)
OTHER = vb.synthetic_motion(key=3, duration=5.0, rate=100.0, pga=1.0)
SENSORS = vb.Sensors(absolute_acceleration=["19"], displacement=["8", "19"])
SPRING = vb.Attachment(vb.Cubic(stiffness=1e6, cubic=1e8), at=19)


def chain(*attachments) -> vb.Matrices:
    """Twenty floors, softer above."""
    k = 2e8 * np.linspace(1.0, 0.5, 20)
    stiffness = np.diag(k + np.append(k[1:], 0.0)) - np.diag(k[1:], 1) - np.diag(k[1:], -1)
    damping = vb.Rayleigh(0.3, 1e-3)
    return vb.Matrices(mass=np.full(20, 1e4), stiffness=stiffness, damping=damping, attachments=attachments)


@pytest.mark.parametrize(("tolerance", "method"), [(0.3, "irs"), (0.05, "craig-bampton")])
def test_the_error_told_is_the_one_there(tolerance, method):
    structure = chain()
    chosen = vb.reduce_to(structure, SENSORS, QUAKE, tolerance=tolerance)
    assert chosen.method == method and not chosen.error.coupled
    assert chosen.error.largest <= tolerance < min(chosen.tried.values())
    assert chosen.error.coordinates == chosen.structure.size < chosen.error.size == 20
    full, small = (vb.simulate(own, QUAKE).readings(SENSORS) for own in (structure, chosen.structure))
    shares = np.sqrt(np.mean((small - full) ** 2, axis=0) / np.mean(full**2, axis=0))
    np.testing.assert_allclose(list(chosen.error.shares.values()), shares, rtol=1e-5)


def test_no_inner_mode_is_too_many():
    chosen = vb.reduce_to(chain(), SENSORS, QUAKE, tolerance=0.02)
    assert chosen.modes is not None and f"craig-bampton {chosen.modes - 1}" in chosen.tried
    assert f"with {chosen.modes} inner modes" in str(chosen)


@pytest.mark.long
def test_the_largest_reduction_is_tried_too():
    """Of 18 inner modes 17 are the most that are a reduction; 16 and 17 differ in what they can do."""
    structure = chain()
    made = {n: vb.reduce(structure, ["8", "19"], "craig-bampton", n) for n in (16, 17)}
    errors = {n: vb.simulate(one, QUAKE).reduction_error(SENSORS).largest for n, one in made.items()}
    assert errors[17] < 0.9 * errors[16]
    chosen = vb.reduce_to(structure, SENSORS, QUAKE, tolerance=(errors[16] * errors[17]) ** 0.5)
    assert chosen.modes == 17 and chosen.tried["craig-bampton 16"] == pytest.approx(errors[16], rel=1e-6)


def test_a_law_is_linear_about_rest_in_the_error():
    """Its place stays, and the small structure has the whole law."""
    structure = chain(SPRING)
    chosen = vb.reduce_to(structure, vb.Sensors(displacement=["8"]), QUAKE, tolerance=0.1)
    assert chosen.structure.keep == ("8", "19") and chosen.error.coupled  # by the spring, which the damping leaves out
    full, small = (vb.simulate(own, QUAKE).displacement for own in (structure, chosen.structure))
    moved = chosen.structure.expand(small)[:, 8]
    assert np.sqrt(np.mean((moved - full[:, 8]) ** 2) / np.mean(full[:, 8] ** 2)) < 0.15


def test_a_response_tells_the_error_under_its_own_excitation():
    chosen = vb.reduce_to(chain(SPRING), SENSORS, QUAKE, tolerance=0.1)
    again = vb.simulate(chosen.structure, QUAKE).reduction_error(SENSORS)
    assert again.shares == pytest.approx(chosen.error.shares, rel=1e-9)
    other = vb.simulate(chosen.structure, OTHER).reduction_error(SENSORS)
    assert 0.0 < other.largest != pytest.approx(again.largest, rel=0.01)
    assert "readings differ" in str(other)


def test_what_cannot_be_is_refused():
    structure = chain()
    with pytest.raises(VibridError, match="not reduced"):
        vb.simulate(structure, QUAKE).reduction_error(SENSORS)
    with pytest.raises(VibridError, match="share between 0 and 1"):
        vb.reduce_to(structure, SENSORS, QUAKE, tolerance=2.0)
    with pytest.raises(VibridError, match="simulate the full structure"):
        vb.reduce_to(structure, SENSORS, QUAKE, tolerance=1e-9)
