"""Response spectra against eqsig, closed forms and an independent recurrence; intensity against closed forms."""

from itertools import pairwise

import numpy as np
import pytest

from vibrid.core.errors import InputError
from vibrid.records import STANDARD_GRAVITY, Channel, Record, response_history, response_spectrum, synthetic_motion

PERIODS = np.geomspace(0.02, 10, 90)


def ground(values, step) -> Record:
    return Record(np.asarray(values, dtype=float), [Channel("g", "ground_acceleration")], step=step, name="test")


@pytest.mark.parametrize("damping", [0.0, 0.02, 0.05, 0.3])
@pytest.mark.parametrize("count", [2, 3, 12, 13, 14, 1000, 4001])
def test_spectra_agree_with_a_step_by_step_solution(damping, count):
    """Lengths around the segment length; the reference is the matrix exponential, one step at a time."""
    from scipy.linalg import expm

    a = np.random.default_rng(count).standard_normal(count)
    step, periods = 0.01, np.array([0.03, 0.2, 1.7, 20.0])
    found = response_spectrum(ground(a, step), periods, damping, true_values=True)
    for i, period in enumerate(periods):
        omega = 2 * np.pi / period
        system = np.zeros((4, 4))  # displacement, velocity, acceleration, its slope
        system[0, 1] = system[2, 3] = 1
        system[1] = -(omega**2), -2 * damping * omega, -1, 0
        move = expm(system * step)
        state, history = np.zeros(2), [np.zeros(2)]
        for now, later in pairwise(a):
            state = (move @ np.array([*state, now, (later - now) / step]))[:2]
            history.append(state)
        u, v = np.array(history).T
        total = -2 * damping * omega * v - omega**2 * u
        for value, reference in ((found.displacement, u), (found.velocity, v), (found.acceleration, total)):
            assert value[i] == pytest.approx(np.abs(reference).max(), rel=1e-7)


def test_spectra_agree_with_eqsig():
    eqsig = pytest.importorskip("eqsig")
    motion = synthetic_motion(key=5, duration=40.0, rate=200.0, pga=3.0)
    found = response_spectrum(motion, PERIODS, 0.05)
    sd, _, sa = eqsig.sdof.pseudo_response_spectra(motion["ground"], motion.step, PERIODS, 0.05)
    np.testing.assert_allclose(found.displacement, sd, rtol=1e-5)
    slow = 6 * motion.step <= PERIODS  # below, eqsig gives the peak acceleration of the ground instead
    np.testing.assert_allclose(found.pseudo_acceleration[slow], sa[slow], rtol=1e-5)


def test_a_steady_sine_gives_the_classical_amplification():
    """After the transient, |u| = a/ω² · 1/√((1−r²)² + (2ζr)²), r = T_n/T."""
    step, load = 0.001, 0.5
    t = np.arange(100_000) * step
    record = ground(np.sin(2 * np.pi * t / load), step)
    for period, damping in ((0.25, 0.1), (0.5, 0.1), (1.2, 0.2)):
        u, _, total = response_history(record, period, damping)
        ratio = period / load
        expected = (period / (2 * np.pi)) ** 2 / np.sqrt((1 - ratio**2) ** 2 + (2 * damping * ratio) ** 2)
        assert np.abs(u[80_000:]).max() == pytest.approx(expected, rel=1e-4)
        transmitted = expected * (2 * np.pi / period) ** 2 * np.sqrt(1 + (2 * damping * ratio) ** 2)
        assert np.abs(total[80_000:]).max() == pytest.approx(transmitted, rel=1e-4)


def test_limits_of_the_spectrum():
    """Stiff: the peak ground acceleration. Soft: the peak ground displacement."""
    motion = synthetic_motion(key=2, duration=30.0, rate=200.0, pga=2.0)
    stiff = response_spectrum(motion, [0.001], 0.05)
    assert stiff.pseudo_acceleration[0] == pytest.approx(2.0, rel=0.01)
    soft = response_spectrum(motion, [400.0], 0.05)
    assert soft.displacement[0] == pytest.approx(motion.intensity().pgd, rel=0.02)


def test_substeps_find_peaks_between_samples():
    motion = synthetic_motion(key=4, duration=10.0, rate=50.0)
    periods = np.array([0.05, 0.08])
    fine = ground(np.interp(np.arange(0, 9.981, 0.001), motion.time, motion["ground"]), 0.001)
    expected = response_spectrum(fine, periods).displacement
    np.testing.assert_allclose(response_spectrum(motion, periods, substeps=20).displacement, expected, rtol=1e-9)
    assert np.all(response_spectrum(motion, periods).displacement <= expected * (1 + 1e-12))


def test_the_spectrum_is_linear_and_keeps_its_name():
    motion = synthetic_motion(key=1)
    np.testing.assert_allclose(motion.scale(3.0).spectrum().displacement, 3 * motion.spectrum().displacement)
    assert motion.spectrum().name == motion.name
    assert float(motion.spectrum().at(1.0)) == pytest.approx(
        float(response_spectrum(motion, [1.0]).pseudo_acceleration[0]), rel=0.02
    )


@pytest.mark.parametrize(
    "options", [{"periods": [1.0, 0.5]}, {"periods": [-1.0]}, {"damping": 1.0}, {"channel": "nothing"}]
)
def test_impossible_spectra_are_refused(options):
    with pytest.raises(InputError):
        synthetic_motion().spectrum(**options)


def test_a_displacement_has_no_response_spectrum():
    record = Record(np.zeros(10), [Channel("x", "displacement")], step=0.1)
    with pytest.raises(InputError, match="no acceleration"):
        record.spectrum()


# -- intensity --------------------------------------------------------------------------------------------------------


def test_intensity_of_a_constant_acceleration():
    """a = 2 m/s² for 10 s: v = 20 m/s, d = 100 m, Arias = π/(2g)·4·10, D5-95 = 9 s, ∫|a| = 20 m/s."""
    found = ground(np.full(1001, 2.0), 0.01).intensity()
    assert found.pga == 2.0
    assert found.pgv == pytest.approx(20.0) and found.pgd == pytest.approx(100.0)
    assert found.arias == pytest.approx(np.pi / (2 * STANDARD_GRAVITY) * 40)
    assert found.significant_duration == pytest.approx(9.0)
    assert found.cumulative_velocity == pytest.approx(20.0) and found.rms == pytest.approx(2.0)


def test_arias_and_duration_agree_with_eqsig():
    eqsig = pytest.importorskip("eqsig")
    motion = synthetic_motion(key=8, duration=30.0, rate=200.0)
    signal = eqsig.AccSignal(motion["ground"], motion.step)
    found = motion.intensity()
    assert found.arias == pytest.approx(float(eqsig.im.calc_arias_intensity(signal)[-1]), rel=1e-3)
    start, end = eqsig.im.calc_sig_dur_vals(motion["ground"], motion.step, se=True)
    assert found.significant_duration == pytest.approx(end - start, abs=0.02)
    assert found.pgv == pytest.approx(float(np.abs(signal.velocity).max()), rel=1e-6)


def test_nothing_moves_nothing():
    found = ground(np.zeros(50), 0.01).intensity()
    assert (found.pga, found.arias, found.significant_duration) == (0.0, 0.0, 0.0)
