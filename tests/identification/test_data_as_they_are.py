"""Intervals and verdicts on data as they are: noise with a memory, growing noise, time step, input between samples.

The data come from the simulators of benchmarks/trust.py, which no method uses.
"""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.signal
import trust

import vibrid as vb
from vibrid.core.findings import KNOWN, ODD, WRONG
from vibrid.core.progress import SILENT
from vibrid.identification.checks import run
from vibrid.identification.checks.covariance import _long_run, normal_equations, robust_covariance
from vibrid.identification.checks.noise import noise_model
from vibrid.identification.checks.numbers import checked_numbers
from vibrid.identification.diagnostics import channel_fits
from vibrid.identification.problem import predict
from vibrid.report.checks import checks_section


def modelled(made: np.ndarray, predicted: np.ndarray | None = None):
    predicted = np.zeros_like(made) if predicted is None else predicted
    (channel,) = noise_model([made[:, None]], [predicted[:, None]], [np.ones((len(made), 1))], [0.01]).channels
    return channel


def test_noise_is_told_apart():
    rng = np.random.default_rng(0)
    white = rng.standard_normal(3000)
    signal = np.sin(np.arange(3000) / 15) * np.exp(-np.arange(3000) / 1500)
    assert modelled(white).is_white
    remembered = modelled(scipy.signal.lfilter([1.0], [1.0, -0.6], white))
    assert remembered.kind == "constant" and -remembered.filter[1] == pytest.approx(0.6, abs=0.05)
    assert remembered.memory == pytest.approx(0.05, abs=0.011)  # 0.6⁵ < 0.1
    growing = modelled(white * (0.05 + np.abs(signal)), signal)
    assert growing.kind == "signal" and growing.memory == 0.0
    loud = np.where((np.arange(3000) // 300) % 4 == 1, 8.0, 1.0)
    assert modelled(white * loud).kind == "time"
    assert modelled(white * np.where(rng.random(3000) < 0.01, 10.0, 1.0)).degrees < 10


def test_whitened_noise_is_white_and_of_unit_size():
    noise = scipy.signal.lfilter([1.0], [1.0, -0.9], np.random.default_rng(1).standard_normal(4000))
    left = modelled(noise).whitened(0, noise)
    assert np.mean(left**2) == pytest.approx(1.0, abs=0.02)
    assert np.abs([np.mean(left[k:] * left[:-k]) for k in range(1, 20)]).max() < 0.06


def test_an_empty_band_is_not_trusted():
    band = scipy.signal.butter(8, 0.2, output="sos")
    noise = scipy.signal.sosfilt(band, np.random.default_rng(2).standard_normal(4000))
    channel = modelled(noise)
    gains = np.abs(np.fft.rfft(channel.filter, 512))
    assert gains.max() / gains[:50].min() < 30  # without a floor thousands


def test_samples_that_are_missing_spoil_no_more_than_they_must():
    noise = scipy.signal.lfilter([1.0], [1.0, -0.6], np.random.default_rng(3).standard_normal(3000))
    present = np.ones((3000, 1))
    present[1000:1010] = 0.0
    (channel,) = noise_model([noise[:, None] * present], [np.zeros((3000, 1))], [present], [0.01]).channels
    order = len(channel.filter) - 1
    assert np.count_nonzero(channel.weights[0] == 0) == 10 + 2 * order and -channel.filter[1] > 0.5


@pytest.mark.parametrize("share", [0.0, 0.5, -0.5])
def test_the_sum_of_scores_with_a_memory(share):
    """Against the closed form: n σ² / (1 − φ)²; Bartlett's weights are some per cent off on its safe side or below."""
    rng = np.random.default_rng(4)
    found = [
        _long_run([scipy.signal.lfilter([1.0], [1.0, -share], rng.standard_normal((2000, 1)), axis=0)])[0, 0]
        for _ in range(200)
    ]
    assert np.mean(found) / 2000 == pytest.approx(1.0 / (1.0 - share) ** 2, rel=0.12)


def test_intervals_of_noise_in_bursts_are_as_wide_as_the_errors_are():
    """A linear regression many times: the weights follow the bursts, and errors are as large as they are said to be."""
    rng, samples, unknowns = np.random.default_rng(4), 1200, 4
    time = np.arange(samples)
    errors = []
    for _ in range(150):
        turns = rng.uniform(0.01, 0.2, unknowns)
        slopes = np.sin(turns * time[:, None] + rng.uniform(0, 6, unknowns)) * np.exp(-time[:, None] / 400)
        size = np.ones(samples)
        for first in rng.integers(0, samples - 60, 4):
            size[first : first + 60] = 8.0
        made = size * rng.standard_normal(samples)
        moved = made - slopes @ np.linalg.lstsq(slopes, made, rcond=None)[0]
        noise = noise_model([moved[:, None]], [0 * moved[:, None]], [np.ones((samples, 1))], [0.01])
        data = SimpleNamespace(present=np.ones((samples, 1)))
        here = SimpleNamespace(
            residuals=[moved[:, None]], slopes=[slopes[:, None]], problem=SimpleNamespace(data=[data]),
            prior=lambda: (np.zeros(unknowns), np.zeros((unknowns, unknowns))),
        )  # fmt: skip
        _, gradient, normal = normal_equations(here, noise)
        step = np.linalg.solve(normal, -gradient)  # one step with the weights of the model, from least squares
        found = np.linalg.lstsq(slopes, made, rcond=None)[0] + step
        here.residuals = [(made - slopes @ found)[:, None]]
        covariance = robust_covariance(here, noise, np.ones(unknowns, bool))
        errors.append(found / np.sqrt(np.diag(covariance)))
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(1.0, abs=0.1)


@pytest.fixture(scope="module")
def building():
    return trust.linear_case(8)


def fitted(case, noise, seed=0, **options):
    data = np.column_stack([case.ground, case.clean + noise])
    sensors = vb.Sensors(absolute_acceleration=list(case.floors))
    channels = [vb.Channel("ground", "ground_acceleration", direction="x"), *sensors.channels()]
    return vb.identify(case.guess, vb.Record(data, channels, step=trust.STEP), case.unknown, sensors=sensors, **options)


def held(fits, case) -> float:
    return np.mean([(f.interval()[:, 0] <= case.true) & (case.true <= f.interval()[:, 1]) for f in fits])


def test_intervals_hold_for_noise_with_a_memory_and_it_is_told(building):
    fits = [fitted(building, trust.autoregressive(0.9)(building, np.random.default_rng(seed))) for seed in range(10)]
    assert held(fits, building) >= 0.8  # of 30; 61 % hold where noise is taken for white
    assert all(fit.model_fits for fit in fits)
    (said,) = (finding for finding in fits[0].checks if finding.name == "memory")
    assert said.verdict == KNOWN and "has a memory" in fits[0].verdict


def test_filtered_noise_is_no_fault_of_the_model(building):
    for seed in range(6):
        fit = fitted(building, trust.filtered(0.5)(building, np.random.default_rng(seed)))
        assert fit.model_fits and not fit.fits[0].white and fit.fits[0].depends is False


def test_a_weak_cubic_spring_is_seen_through_noise_with_a_memory():
    case = trust.linear_case(8)
    ground = vb.Record(
        case.ground[:, None], [vb.Channel("ground", "ground_acceleration", direction="x")], step=trust.STEP
    )
    stiff = case.guess.replace({f"storeys[{i}].stiffness": k for i, k in enumerate(case.true[:-1])})
    laws = [vb.Cubic(float(k), cubic=2e3 * float(k)) for k in case.true[:-1]]
    cubic = vb.ShearBuilding(stiff.masses, laws, damping=vb.Viscous(float(case.true[-1])))
    response = vb.simulate(cubic, ground, integrator=vb.RungeKutta4(), substeps=4)
    clean = response.measure(vb.Sensors(absolute_acceleration=list(case.floors)))
    readings = np.stack([clean[name] for name in clean.names if name != "ground"], axis=1)
    fit = fitted(case, readings - case.clean + trust.autoregressive(0.6)(case, np.random.default_rng(0)))
    assert not fit.model_fits and any(channel.depends for channel in fit.fits)


def test_a_time_step_that_biases_the_estimate_is_refined():
    case = trust.stiff_case(0)
    noise = trust.white(case, np.random.default_rng(0), 0.02)
    coarse, chosen = fitted(case, noise, substeps=1), fitted(case, noise)
    (said,) = (finding for finding in coarse.checks if finding.name == "time step")
    assert said.verdict == ODD and "Give substeps = 2" in said.sentence
    moved = np.abs(coarse.estimate - chosen.estimate) / chosen.deviation
    assert said.numbers["bias"] == pytest.approx(moved.max(), rel=0.35)
    (told,) = (finding for finding in chosen.checks if finding.name == "time step")
    assert told.verdict == KNOWN and chosen.problem.substeps >= 2 and "refined" in chosen.verdict
    assert np.abs((chosen.estimate - case.true) / chosen.deviation).max() < 3.5


def test_a_time_step_is_told_and_nothing_changed_where_the_estimate_is_of_a_filter_or_of_samples():
    case = trust.stiff_case(0)
    noise = trust.white(case, np.random.default_rng(0), 0.02)
    plain = fitted(case, noise, checks="none")
    beside = plain.replace(free=plain.free + 0.3 * np.sqrt(np.diag(plain.free_covariance)))
    spread = plain.deviation * np.random.default_rng(1).normal(size=(50, len(plain.names)))
    for fit in (beside, plain.replace(samples=plain.estimate + spread)):
        checked = checked_numbers(fit, ("substeps", "hold"))
        assert [finding.name for finding in checked.checks] == ["time step"] and checked.problem.substeps == 1
        assert checked.checks[0].verdict == ODD and np.array_equal(checked.estimate, fit.estimate)


class Samples(vb.TrajectoryFit):
    """Its answer is given as samples, which a check cannot move."""

    def solve(self, problem, key=0, progress=SILENT):
        fit = super().solve(problem, key, progress)
        spread = fit.deviation * np.random.default_rng(1).normal(size=(50, len(fit.names)))
        return fit.replace(samples=fit.estimate + spread)


def test_a_method_whose_answer_cannot_be_moved_is_called_again_with_the_step_that_is_needed():
    case = trust.stiff_case(0)
    noise = trust.white(case, np.random.default_rng(0), 0.02)
    told, chosen = fitted(case, noise, method=Samples(), substeps=1), fitted(case, noise, method=Samples())
    assert [f.verdict for f in told.checks if f.name == "time step"] == [ODD] and told.problem.substeps == 1
    (refined,) = (f for f in chosen.checks if f.name == "time step")
    assert refined.verdict == KNOWN and refined.numbers["substeps"] == chosen.problem.substeps >= 2
    assert np.abs((chosen.estimate - case.true) / chosen.deviation).max() < 3.5


class Astray(vb.TrajectoryFit):
    """Its descent ends where the storeys are far too stiff if the step is long."""

    def solve(self, problem, key=0, progress=SILENT):
        fit = super().solve(problem, key, progress)
        if problem.substeps > 1:
            return fit
        free = fit.free + np.array([1.9, 1.9, 0.4, 0.4, 0.4])
        predictions = [np.asarray(predict(problem, free, i)) for i in range(len(problem.data))]
        return fit.replace(free=free, predictions=predictions, fits=channel_fits(problem, predictions))


def test_a_descent_that_a_long_step_led_astray_is_begun_again_with_shorter_ones():
    case = trust.stiff_case(0)
    noise = trust.white(case, np.random.default_rng(0), 0.02)
    first = fitted(case, noise, method=Astray(), checks="none")
    (said,) = checked_numbers(first, ("substeps",)).checks
    assert said.verdict == ODD and said.numbers["substeps"] >= 2 and not first.model_fits
    assert checked_numbers(first).checks == ()  # the caller gave the step
    chosen = fitted(case, noise, method=Astray())
    (refined,) = (f for f in chosen.checks if f.name == "time step")
    assert chosen.model_fits and refined.verdict == KNOWN
    assert refined.numbers["substeps"] == chosen.problem.substeps >= said.numbers["substeps"]
    assert np.abs((chosen.estimate - case.true) / chosen.deviation).max() < 3.5


def test_a_slow_model_is_judged_and_its_time_step_refined(monkeypatch):
    monkeypatch.setattr(run, "MOST_STATES", 1)
    case = trust.stiff_case(0)
    fit = fitted(case, trust.white(case, np.random.default_rng(0), 0.02))
    (told,) = (finding for finding in fit.checks if finding.name == "time step")
    assert told.verdict == KNOWN and fit.problem.substeps >= 2
    assert fit.model_fits and fit.convergence["checks"] == run.AND_STEP
    assert all(channel.depends is False for channel in fit.fits)
    assert np.abs((fit.estimate - case.true) / fit.deviation).max() < 3.5
    asked = {row.split("<td>")[1]: "not asked" in row for row in str(checks_section(fit)).split("<tr>")[2:]}
    assert not asked["Is the time step short enough?</td>"] and asked["Is damping right in every mode?</td>"]


class Interrupted(Samples):
    """Ctrl-C comes when it is called again."""

    def solve(self, problem, key=0, progress=SILENT):
        fit = super().solve(problem, key, progress)
        return fit.replace(cut_short=problem.substeps > 1)


def test_an_answer_stays_where_the_second_call_is_interrupted():
    case = trust.stiff_case(0)
    fit = fitted(case, trust.white(case, np.random.default_rng(0), 0.02), method=Interrupted())
    (said,) = (f for f in fit.checks if f.name == "time step")
    assert not fit.cut_short and fit.problem.substeps == 1 and said.verdict == ODD and said.numbers["substeps"] >= 2


def test_an_input_that_is_band_limited_between_its_samples_is_found_out():
    case = trust.linear_case(8, band_limited=True)
    noise = trust.white(case, np.random.default_rng(0), 0.02)
    lines, chosen = fitted(case, noise, hold="linear"), fitted(case, noise)
    (told,) = (finding for finding in chosen.checks if finding.name == "hold")
    assert told.verdict == KNOWN and chosen.problem.hold == "band-limited"
    assert "prefer band-limited" in " ".join(finding.sentence for finding in lines.checks)
    assert np.abs((chosen.estimate - case.true) / chosen.deviation).max() < 3.5
    assert np.abs((lines.estimate - case.true) / lines.deviation).max() > 4


@pytest.mark.long
def test_neighbours_that_are_exchanged_are_not_taken_for_a_missing_law():
    """The misfit is small: what they measure is alike, and a law beside a storey explains a part of it."""
    case, rng = trust.linear_case(13016), np.random.default_rng([7, 13016])
    fit = fitted(case, case.clean[:, [1, 0, 2]] - case.clean + trust.white(case, rng))
    wrong = [finding for finding in fit.checks if finding.verdict == WRONG]
    assert max(channel.relative for channel in fit.fits) < 0.5
    assert [f.name for f in wrong] == ["exchanged"] and wrong[
        0
    ].where == "absolute_acceleration_1, absolute_acceleration_2"


def test_the_damping_of_a_mode_is_named_also_where_one_ratio_of_all_is_unknown():
    """Its direction is then one of those of the modes, and nothing must move along it."""
    case = trust.damped_case(300)
    fit = fitted(case, trust.white(case, np.random.default_rng(0), 0.02))
    (told,) = (finding for finding in fit.checks if finding.name == "damping")
    ratio = case.true[-1]
    assert told.numbers["suggested ratio of mode 2"] == pytest.approx(ratio, rel=0.03)
    assert told.numbers["ratio of mode 2"] < 0.9 * ratio
