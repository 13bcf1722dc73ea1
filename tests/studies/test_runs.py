"""Runs of a study against `simulate`: peaks, drifts, energy, padding, and how a run ends."""

import numpy as np
import pytest

import vibrid as vb
from tests.studies.small import BUILDING, MOTIONS, motion
from vibrid.studies import OUTCOMES, Collapse, IntensityMeasure, StoreyDrift

pytest.importorskip("zarr")
ALL = ("peaks", "residuals", "energy", "channels")
STANDS, COLLAPSED, DIVERGED, NO_EQUILIBRIUM = (
    OUTCOMES.index(name) for name in ("stands", "collapsed", "diverged", "no equilibrium")
)


@pytest.fixture(scope="module")
def data():
    vary = {"storeys[*].stiffness": [30.0, 40.0], "masses[1]": [1.0, 1.5]}
    return vb.study(BUILDING, MOTIONS, vary=vary, scales=[0.5, 2.0], keep=ALL).run()


@pytest.mark.parametrize(
    ("stiffness", "mass", "number", "scale"), [(30.0, 1.0, 0, 0.5), (40.0, 1.5, 1, 2.0), (40.0, 1.0, 4, 2.0)]
)
def test_a_run_of_a_batch_is_the_run_of_simulate(data, stiffness, mass, number, scale):
    building = BUILDING.replace({"storeys[*].stiffness": stiffness, "masses[1]": mass})
    alone = vb.simulate(building, MOTIONS[number].scale(scale))
    here = data.sel({"storeys.stiffness": stiffness, "masses[1]": mass, "motion": MOTIONS[number].name, "scale": scale})
    drifts = np.diff(alone.displacement, axis=1, prepend=0.0)
    readings = alone.readings(vb.Sensors(absolute_acceleration=[0, 1]))
    close = {"rtol": 1e-9, "atol": 1e-12}
    np.testing.assert_allclose(here.peak_storey_drift, np.abs(drifts).max(axis=0), **close)
    np.testing.assert_allclose(here.residual_storey_drift, drifts[-1], **close)
    np.testing.assert_allclose(here.peak_absolute_acceleration, np.abs(readings).max(axis=0), **close)
    np.testing.assert_allclose(here.absolute_acceleration[: len(readings)], readings, **close)
    assert np.isnan(here.absolute_acceleration[len(readings) :]).all()
    for part in ("storeys[0]", "damping[1]"):
        e, f = alone.part(part)
        absorbed = np.sum(0.5 * (f[1:] + f[:-1]) * np.diff(e))
        np.testing.assert_allclose(here.energy.sel(part=part), absorbed, rtol=1e-9)
    assert here.outcome == STANDS and np.isnan(here.ended_at)


def test_padding_changes_no_bit():
    """A motion beside a longer one, with nothing and with nonsense after its end, gives the same bits."""
    whole = vb.study(BUILDING, [MOTIONS[0], MOTIONS[1]], keep=ALL[:3]).program
    other = MOTIONS[0].replace(data=1e6 * np.ones((150, 1)), name="another")
    beside = vb.study(BUILDING, [other, MOTIONS[1]], keep=ALL[:3]).program
    places, ones = np.array([[1]]), np.ones(1)
    from vibrid.studies.program import Batch

    first, second = (p.compute(Batch(places, np.array([1]), ones, {}, 150, 2)) for p in (whole, beside))
    third = whole.compute(Batch(np.array([[0], [1]]), np.array([0, 1]), np.ones(2), {}, 150, 2))
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])
        np.testing.assert_array_equal(first[name][0], third[name][1])


def test_a_drift_limit_ends_a_run_and_keeps_what_came_before():
    scaled = MOTIONS[0].scale(20.0)
    alone = vb.simulate(BUILDING, scaled)
    drifts = np.diff(alone.displacement, axis=1, prepend=0.0)
    limit = 0.6 * np.abs(drifts).max()
    (row,) = np.flatnonzero((np.abs(drifts) > limit).any(axis=1))[:1]
    found = vb.study(BUILDING, [scaled], collapse=Collapse(drift=limit)).run().isel(motion=0)
    assert found.outcome == COLLAPSED
    np.testing.assert_allclose(found.ended_at, 0.02 * row)
    np.testing.assert_allclose(found.peak_storey_drift, np.abs(drifts[: row + 1]).max(axis=0), rtol=1e-9)
    ratio = vb.study(BUILDING, [scaled], heights=2.0, collapse=Collapse(ratio=limit / 2.0)).run().isel(motion=0)
    assert ratio.outcome == COLLAPSED and ratio.ended_at == found.ended_at


def test_divergence_is_told_apart_from_a_step_without_equilibrium():
    """A spring that softens to nothing lets its mass go; a Newmark step of one iteration does not converge."""
    falling = vb.ShearBuilding([1.0], [vb.Cubic(40.0, -4000.0)], damping=vb.Viscous(0.1))
    strong, weak = MOTIONS[0].scale(3.0), MOTIONS[0].scale(0.01).replace(name="weak")
    found = vb.study(falling, [strong, weak]).run()
    assert found.outcome.values.tolist() == [DIVERGED, STANDS]
    assert np.isfinite(found.peak_storey_drift).all() and found.ended_at[0] > 0
    hasty = vb.study(falling, [weak.scale(40.0)], integrator=vb.Newmark(iterations=1)).run()
    assert hasty.outcome.values.tolist() == [NO_EQUILIBRIUM]


def test_limits_that_cannot_be_are_refused():
    for collapse, words in (
        (Collapse(ratio=0.02), "needs the heights"),
        (Collapse(drift=[0.1, 0.2, 0.3]), "one for each of the 2 storeys"),
        (Collapse(drift=-1.0), "must be positive"),
    ):
        with pytest.raises(vb.InputError, match=words):
            vb.study(BUILDING, MOTIONS, collapse=collapse)


def test_a_frame_needs_to_be_told_what_is_kept():
    frame = vb.Matrices(mass=np.eye(2), stiffness=40.0 * np.array([[2.0, -1.0], [-1.0, 1.0]]))
    sensors = vb.Sensors(displacement=["1"])
    found = vb.study(frame, MOTIONS[:1], sensors=sensors, storeys=[StoreyDrift("1", "0", 3.0)]).run().isel(motion=0)
    alone = vb.simulate(frame, MOTIONS[0]).displacement
    np.testing.assert_allclose(found.peak_displacement, np.abs(alone[:, 1:]).max(axis=0), rtol=1e-9)
    np.testing.assert_allclose(found.peak_storey_drift, [np.abs(alone[:, 1] - alone[:, 0]).max()], rtol=1e-9)
    assert found.height == 3.0


# -- intensity -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pga", "sa", "avgsa", "arias"])
def test_a_motion_has_the_level_it_is_scaled_to(kind):
    period = None if kind in ("pga", "arias") else 0.7
    measure = IntensityMeasure(kind, period)
    study = vb.study(BUILDING, MOTIONS[:2], levels=[0.3, 2.0], intensity=measure)
    for factors, given in zip(study.factors(), MOTIONS, strict=False):
        for factor, level in zip(factors, (0.3, 2.0), strict=True):
            assert measure.of((given.scale(float(factor)),)) == pytest.approx(level)


def test_the_period_of_a_level_is_that_of_the_structure():
    study = vb.study(BUILDING, MOTIONS[:1], levels=[1.0])
    assert study.measure.period == pytest.approx(vb.modes(BUILDING).periods[0])
    spectrum = vb.response_spectrum(MOTIONS[0], [study.measure.period]).pseudo_acceleration
    assert study.factors()[0, 0] == pytest.approx(1.0 / spectrum[0])


def test_a_pair_keeps_one_scale():
    """On a plane structure both components are runs; on one with two directions they are one run."""
    first, second = motion(5, name="N"), motion(6, name="E").scale(3.0).replace(name="E")
    plane = vb.study(BUILDING, [(first, second)], levels=[2.0], intensity="pga")
    assert [m.name for m in plane.program.motions] == ["N", "E"]
    common = 2.0 / np.sqrt(np.abs(first.data).max() * np.abs(second.data).max())
    np.testing.assert_allclose(plane.factors()[:, 0], common)
    both = vb.Matrices(mass=np.eye(2), stiffness=40.0 * np.eye(2), influence={"x": [1.0, 0.0], "y": [0.0, 1.0]})
    sensors = vb.Sensors(displacement=["0", "1"])
    found = vb.study(both, [(first, second)], levels=[2.0], intensity="pga", sensors=sensors).run()
    assert found.motion.values.tolist() == ["N + E"]
    alone = [vb.simulate(vb.ShearBuilding([1.0], [vb.Linear(40.0)]), r.scale(common)) for r in (first, second)]
    peaks = [np.abs(a.displacement).max() for a in alone]
    np.testing.assert_allclose(found.peak_displacement.values.ravel(), peaks, rtol=1e-9)
