"""Checks of a result, on data made wrong on purpose; the data come from a matrix exponential, which no fit uses."""

from functools import cache

import numpy as np
import pytest
import scipy

import vibrid as vb
from vibrid.core.findings import WRONG
from vibrid.identification.checks.signals import SignalPair, advanced, late, scaled
from vibrid.identification.checks.words import unit_hint
from vibrid.records.record import Channel, Record

STIFFNESS, STEP, COUNT = (320.0, 280.0, 240.0), 0.01, 1200
RATIOS = vb.Rayleigh.from_ratios([1.3, 3.7], 0.03)
NAMES = ("first", "second", "third")


def building(stiffness=(270.0, 270.0, 270.0), damping=RATIOS):
    return vb.ShearBuilding(masses=[1.0] * 3, storeys=[vb.Linear(k) for k in stiffness], damping=damping)


@cache
def motion(seed: int) -> np.ndarray:
    """A ground acceleration with the band and the shape of an earthquake."""
    rng = np.random.default_rng(seed)
    band = scipy.signal.butter(2, [0.4, 10.0], "band", fs=1 / STEP, output="sos")
    t = np.arange(COUNT) * STEP
    raw = (
        scipy.signal.sosfilt(band, rng.standard_normal(COUNT))
        * np.minimum(1, t / 2)
        * np.exp(-np.maximum(0, t - 5) / 4)
    )
    return 3.0 * raw / np.abs(raw).max()


@cache
def moved(seed: int) -> np.ndarray:
    """(samples, 3) absolute accelerations of the floors, linear between the samples of the ground."""
    k = np.array(STIFFNESS)
    stiffness = np.diag(k + np.append(k[1:], 0.0)) - np.diag(k[1:], 1) - np.diag(k[1:], -1)
    damping = float(RATIOS.mass) * np.eye(3) + float(RATIOS.stiffness) * stiffness
    system = np.zeros((8, 8))
    system[:3, 3:6], system[3:6, :3], system[3:6, 3:6], system[3:6, 6], system[6, 7] = (
        np.eye(3), -stiffness, -damping, -1.0, 1.0 / STEP,
    )  # fmt: skip
    step = scipy.linalg.expm(system * STEP)
    ground, state, out = motion(seed), np.zeros(6), []
    for i in range(COUNT):
        out.append(-stiffness @ state[:3] - damping @ state[3:])
        rise = ground[min(i + 1, COUNT - 1)] - ground[i]
        state = step[:6, :6] @ state + step[:6, 6] * ground[i] + step[:6, 7] * rise
    return np.array(out)


def record(seed: int = 0, noise: float = 0.02, quantity: str = "absolute_acceleration", change=None) -> Record:
    """Ground and floors with noise; `change(readings, ground)` makes the readings wrong."""
    y = moved(seed).copy()
    if quantity == "relative":
        y, quantity = y - motion(seed)[:, None], "acceleration"
    y += noise * y.std(axis=0) * np.random.default_rng(100 + seed).standard_normal(y.shape)
    ground = motion(seed).copy()
    if change is not None:
        change(y, ground)
    channels = [Channel("ground", "ground_acceleration")]
    channels += [Channel(name, quantity, "m/s^2", str(floor)) for floor, name in enumerate(NAMES)]
    return Record(np.column_stack([ground, y]), channels, step=STEP, name=f"test {seed}")


def fitted(data: Record, structure=None) -> vb.Identification:
    guess = building() if structure is None else structure
    return vb.identify(guess, data, "storeys[*].stiffness", vb.TrajectoryFit(segments=1))


def scale(channel: int, factor: float):
    def change(y, ground):
        y[:, channel] *= factor

    return change


def delay(channel: int, seconds: float):
    def change(y, ground):
        y[:, channel] = advanced(y[:, channel], np.ones(COUNT), -seconds, STEP)[0]

    return change


def ground_in_g(y, ground):
    ground /= 9.80665


def ground_early(y, ground):
    ground[:-2] = ground[2:]


FAULTS = {
    "in g": (scale(1, 1 / 9.80665), "unit", "Channel 'second' is 9.8", "times too small: in g?"),
    "not in g": (
        scale(1, 9.80665),
        "unit",
        "Channel 'second' is 9.8",
        "in m/s² already, and given as g?",
    ),
    "in cm/s²": (scale(2, 100.0), "unit", "Channel 'third' is 100 times too large: in cm/s²?", ""),
    "turned round": (scale(2, -1.0), "sign", "Channel 'third' has the opposite sign", "gain = -1"),
    "badly calibrated": (scale(0, 1.2), "gain", "Channel 'first' is too large by ", "calibration"),
    "ground in g": (ground_in_g, "unit", "All channels are 9.8", "is the excitation in g?"),
    "ground early": (ground_early, "delay", "All channels are late by ", "against the excitation"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_an_instrument_is_named_first(fault):
    change, name, *words = FAULTS[fault]
    fit = fitted(record(change=change))
    assert [finding.name for finding in fit.checks] == [name]
    for part in words:
        assert part in fit.checks[0].sentence
    assert fit.checks[0].verdict == WRONG and fit.checks[0].explains > 0.9 and not fit.model_fits
    assert str(fit).startswith(fit.checks[0].sentence) and "try another law" not in str(fit)


@pytest.mark.parametrize("seconds", [0.012, -0.03])
def test_a_late_channel_is_named_with_its_delay(seconds):
    (finding,) = fitted(record(change=delay(0, seconds))).checks
    assert finding.name == "delay" and finding.where == "first"
    assert finding.numbers["delay"] == pytest.approx(seconds, abs=0.0005)
    word = "late" if seconds > 0 else "early"
    assert f"Channel 'first' is {word} by " in finding.sentence


def test_two_faults_at_once_are_both_named():
    def change(y, ground):
        scale(0, 1 / 9.80665)(y, ground)
        scale(2, -1.0)(y, ground)

    found = {(f.name, f.where) for f in fitted(record(change=change)).checks}
    assert found == {("unit", "first"), ("sign", "third")}


@pytest.mark.parametrize(
    ("measured", "given"), [("absolute_acceleration", "acceleration"), ("relative", "absolute_acceleration")]
)
def test_the_other_meaning_of_acceleration_is_told_first(measured, given):
    data = record(quantity=measured).relabel({name: {"quantity": given} for name in NAMES})
    fit = fitted(data)
    (finding,) = fit.checks
    other = {"acceleration": "absolute_acceleration", "absolute_acceleration": "acceleration"}[given]
    assert finding.name == "meaning" and f"given as '{given}'" in finding.sentence
    assert f"give the sensors the quantity '{other}'" in finding.sentence
    assert str(fit).startswith("first, second, third are given as")


def test_wrong_anchors_of_rayleigh_damping_are_told():
    wrong = vb.Rayleigh.from_ratios([1.3, 8.0], 0.03)
    fit = fitted(record(noise=0.3), building(damping=wrong))
    (finding,) = fit.checks
    assert abs(fit.values["storeys[0].stiffness"] - 320.0) > fit.deviation[0] * 4
    assert finding.name == "damping" and "Damping of mode" in finding.sentence
    assert "explains what is left over" in finding.sentence and not fit.model_fits
    for mode in (2, 3):
        if f"ratio of mode {mode}" in finding.numbers:
            assert finding.numbers[f"suggested ratio of mode {mode}"] > finding.numbers[f"ratio of mode {mode}"]


def test_another_law_is_not_taken_for_a_fault_of_an_instrument():
    def soften(y, ground):
        y[:] = np.tanh(y / (0.4 * np.abs(y).max(axis=0))) * 0.4 * np.abs(y).max(axis=0)

    fit = fitted(record(change=soften))
    assert not fit.model_fits and "try another law" in fit.verdict
    assert not [f for f in fit.checks if f.name in ("unit", "sign", "meaning", "damping")]


@pytest.mark.parametrize("seed", range(4))
def test_clean_data_give_no_finding(seed):
    fit = fitted(record(seed, noise=0.03))
    assert fit.checks == () and fit.model_fits
    assert fit.verdict.startswith("The model fits")


def test_a_dead_channel_is_told_before_the_fit():
    with pytest.raises(vb.InputError, match=r"Channel 'third' is dead \(constant\)"):
        fitted(record(change=lambda y, ground: y[:, 2].fill(0.3)))


def test_a_wrong_unit_by_orders_of_magnitude_is_told_before_the_fit():
    with pytest.raises(vb.InputError, match=r"check the unit of this channel \(in mm/s²\?\)"):
        fitted(record(change=scale(1, 1000.0)))


def test_uneven_time_stamps_that_were_resampled_are_not_held_against_the_model():
    even = record(noise=0.0)
    rng = np.random.default_rng(5)
    times = even.time + np.append(0.0, rng.uniform(-0.25, 0.25, COUNT - 1)) * STEP
    smooth = scipy.interpolate.CubicSpline(even.time, even.data)(times)
    smooth[:, 1:] += 0.004 * smooth[:, 1:].std(axis=0) * rng.standard_normal((COUNT, 3))
    fit = fitted(Record(smooth, even.channels, times=times, name="uneven").resample(1 / STEP))
    assert fit.model_fits and not [f for f in fit.checks if f.verdict == WRONG]
    assert not any("lower limit" in note for note in fit.warnings)


def test_findings_are_kept_in_the_file_of_a_result(tmp_path):
    fit = fitted(record(change=scale(2, -1.0)))
    fit.save(tmp_path / "fit.h5")
    back = vb.load_identification(tmp_path / "fit.h5")
    assert back.checks == fit.checks and back.verdict == fit.verdict and back.model_fits is False


def test_gain_and_delay_of_a_signal():
    t = np.arange(400) * 0.01
    wave = lambda t: np.sin(9 * t) * np.exp(-t) + 0.3 * np.sin(23 * t)  # noqa: E731
    pair = SignalPair(3.0 - 2.5 * wave(t - 0.0237), wave(t), np.ones(400, bool), 0.01)
    found = late([pair], None)
    assert (found.gain, found.delay) == pytest.approx((-2.5, 0.0237), abs=2e-3)
    assert scaled([pair]).misfit > 3 * found.misfit


def test_units_are_named_by_their_factor():
    assert unit_hint(1 / 9.80665, "absolute_acceleration") == "in g?"
    assert unit_hint(1000.0, "displacement") == "in mm?" and unit_hint(100.0, "acceleration") == "in cm/s²?"
    assert unit_hint(1e-3, "element_force") == "in kN?" and unit_hint(1.7, "displacement") == ""


def test_the_answer_is_given_before_its_checks():
    asked = {"unknown": "storeys[*].stiffness", "method": vb.TrajectoryFit(segments=1)}
    given = []
    fit = vb.identify(building(), record(change=scale(1, 1 / 9.80665)), on_answer=given.append, **asked)
    (first,) = given
    assert np.all(np.isfinite(first.estimate)) and first.checks == () and "checks" not in first.convergence
    assert fit.checks and fit.convergence["checks"] == "all"
    vb.identify(building(), record(), checks="none", on_answer=given.append, **asked)
    assert len(given) == 1
    with pytest.raises(vb.InputError, match="on_answer is a function of the result"):
        vb.identify(building(), record(), on_answer="print", **asked)
