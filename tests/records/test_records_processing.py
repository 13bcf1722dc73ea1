"""Processing: each operation against a closed form or SciPy, and every one leaves the original as it was."""

import numpy as np
import pytest
from scipy.signal import sosfreqz

from vibrid.core.errors import InputError
from vibrid.records import Channel, Record, lag, synchronise
from vibrid.records.fourier import fourier_spectrum, wavelet_transform


def make(values, step=0.01, quantity="acceleration", **options) -> Record:
    return Record(np.asarray(values, dtype=float), [Channel("a", quantity)], step=step, name="test", **options)


def sine(frequency, seconds=20.0, step=0.01, phase=0.3):
    t = np.arange(round(seconds / step)) * step
    return make(np.sin(2 * np.pi * frequency * t + phase), step)


@pytest.mark.parametrize(
    "operation",
    [
        lambda r: r.filter(low=1.0),
        lambda r: r.taper(1.0),
        lambda r: r.integrate(),
        lambda r: r.differentiate(),
        lambda r: r.resample(50),
        lambda r: r.cut(1, 2),
        lambda r: r.shift(1.0),
        lambda r: r.correct_baseline(),
        lambda r: r.scale(2.0),
        lambda r: r.relabel({"a": "b"}),
        lambda r: r.align(r.shift(0.5)),
    ],
)
def test_every_operation_returns_a_new_record_with_a_line_of_history(operation):
    record = sine(2.0)
    before = record.data.copy()
    result = operation(record)
    np.testing.assert_array_equal(record.data, before)
    assert len(result.history) == len(record.history) + 1
    with pytest.raises(ValueError):
        result.data[0, 0] = 1.0


# -- filters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(1.0, None), (None, 4.0), (0.5, 5.0)])
def test_the_filter_has_the_squared_butterworth_gain_and_no_phase(low, high):
    from scipy.signal import butter

    kind = "bandpass" if low and high else "highpass" if low else "lowpass"
    corners = [c for c in (low, high) if c]
    sections = butter(4, corners if len(corners) > 1 else corners[0], kind, fs=100, output="sos")
    for frequency in (0.7, 1.0, 2.5, 4.0, 7.0):
        record = sine(frequency, 60.0)
        result = record.filter(low, high)["a"][2000:4000]
        gain = np.abs(sosfreqz(sections, [frequency], fs=100)[1][0]) ** 2
        np.testing.assert_allclose(result, gain * record["a"][2000:4000], atol=2e-3)


def test_the_filter_has_half_the_gain_at_its_corner():
    result = sine(2.0, 60.0).filter(high=2.0)["a"][2000:4000]
    assert np.abs(result).max() == pytest.approx(0.5, abs=2e-3)


@pytest.mark.parametrize("options", [{}, {"low": 60}, {"high": 0}, {"low": 3, "high": 2}, {"low": 1, "order": 0}])
def test_impossible_filters_are_refused(options):
    with pytest.raises(InputError):
        sine(1.0).filter(**options)


def test_gaps_are_refused_where_they_would_spread_and_can_be_filled():
    values = np.linspace(0, 1, 101)
    values[40:43] = np.nan
    record = make(values)
    with pytest.raises(InputError, match=r"missing in a: .fill\(\)"):
        record.filter(low=1.0)
    np.testing.assert_allclose(record.fill()["a"], np.linspace(0, 1, 101))
    assert np.isnan(record.fill(longest=0.01)["a"][41])


def test_a_taper_is_a_half_cosine_at_both_ends():
    result = make(np.ones(1000)).taper(1.0)["a"]
    assert result[0] == pytest.approx(0.0, abs=1e-4) and result[499] == 1.0
    np.testing.assert_allclose(result[:100], result[::-1][:100])
    np.testing.assert_allclose(result[:100] + result[99::-1], 1.0)  # cos² and sin²


# -- calculus ---------------------------------------------------------------------------------------------------------


def test_integration_of_straight_lines_is_exact():
    t = np.arange(500) * 0.01
    record = make(3 * t, quantity="ground_acceleration")
    velocity = record.integrate()
    np.testing.assert_allclose(velocity["a"], 1.5 * t**2, atol=1e-12)
    assert velocity.channels[0] == Channel("a", "ground_velocity", "m/s")
    assert velocity.integrate().channels[0].quantity == "ground_displacement"


@pytest.mark.parametrize("method", ["time", "frequency"])
def test_a_sine_is_differentiated_and_integrated_to_cosines(method):
    t = np.arange(4000) * 0.005
    omega = 2 * np.pi * 1.5  # a whole number of periods in 20 s
    record = Record(np.sin(omega * t), [Channel("a", "velocity")], step=0.005)
    inner = slice(200, -200)
    tolerance = {"time": 5e-4, "frequency": 5e-3}[method]
    slope = record.differentiate(method)["a"]
    np.testing.assert_allclose(slope[inner] / omega, np.cos(omega * t)[inner], atol=tolerance)
    area = record.integrate(method)["a"]
    expected = -np.cos(omega * t) / omega
    np.testing.assert_allclose((area - area.mean())[inner] * omega, expected[inner] * omega, atol=2e-2)


def test_frequency_differentiation_of_a_ramp_is_its_slope():
    result = make(5.0 * np.arange(1000) * 0.01 + 2).differentiate("frequency")["a"]
    np.testing.assert_allclose(result, 5.0, rtol=1e-9)


def test_what_is_integrated_and_differentiated_is_the_same():
    rng = np.random.default_rng(0)
    smooth = make(rng.standard_normal(3000)).filter(high=5.0)
    again = smooth.integrate().differentiate()
    np.testing.assert_allclose(again["a"][5:-5], smooth["a"][5:-5], atol=0.02 * np.abs(smooth["a"]).max())


# -- baseline ---------------------------------------------------------------------------------------------------------


def test_a_polynomial_baseline_disappears():
    x = np.linspace(-1, 1, 2000)
    record = make(1 + 2 * x - 3 * x**2)
    assert np.abs(record.correct_baseline(degree=2)["a"]).max() < 1e-12
    assert abs(record.correct_baseline(degree=0)["a"].mean()) < 1e-12


def test_the_velocity_baseline_stops_the_drift():
    motion = sine(1.0, 30.0, phase=0.0).taper(5.0)
    drifting = motion.replace(data=motion.data + 0.02 + 0.001 * motion.time[:, None])
    corrected = drifting.correct_baseline(degree=1, method="velocity")
    assert abs(drifting.integrate()["a"][-1]) > 0.8
    assert np.abs(corrected.integrate()["a"] - motion.integrate()["a"]).max() < 0.03


def test_the_quiet_start_sets_the_baseline():
    values = np.full(1000, 0.5)
    values[500:] += 7
    assert make(values).correct_baseline(method="start", before=4.0)["a"][0] == pytest.approx(0.0)
    with pytest.raises(InputError):
        make(values).correct_baseline(method="start")


# -- sampling ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [1000, 250, 100, 40, 150])
def test_resampling_keeps_a_slow_sine(rate):
    t = np.arange(4001) * 0.005
    record = make(np.sin(2 * np.pi * 3 * t), 0.005)
    result = record.resample(rate)
    assert result.duration == pytest.approx(record.duration, abs=1.0 / rate)
    np.testing.assert_allclose(result["a"], np.sin(2 * np.pi * 3 * result.time), atol=3e-4)


def test_nothing_folds_back():
    record = sine(40.0, 20.0, 0.005)  # above the new Nyquist frequency of 25 Hz
    assert np.abs(record.resample(50)["a"][50:-50]).max() < 2e-4


def test_an_uneven_record_becomes_even():
    times = np.sort(np.random.default_rng(0).uniform(0, 10, 3000))
    record = Record(np.sin(2 * np.pi * times), [Channel("a")], times=times)
    result = record.resample(50)
    np.testing.assert_allclose(result["a"][10:-10], np.sin(2 * np.pi * result.time)[10:-10], atol=2e-3)


def test_a_gap_stays_a_gap():
    values = np.sin(np.arange(1000) * 0.05)
    values[400:500] = np.nan
    result = make(values).resample(50)["a"]
    assert np.isnan(result[200:249]).all() and np.isfinite(result[:198]).all()


def test_an_awkward_ratio_is_refused():
    with pytest.raises(InputError, match="whole numbers"):
        sine(1.0).resample(np.pi * 100)


def test_cut_keeps_times():
    result = sine(1.0).cut(2.0, 3.0)
    assert (len(result), result.start) == (101, 2.0)
    with pytest.raises(InputError, match="nothing between"):
        result.cut(5, 6)


def test_lag_is_found_between_samples():
    t = np.arange(4000)[:, None] * 0.01
    rng = np.random.default_rng(5)
    frequencies, phases = rng.uniform(0.5, 3, 20), rng.uniform(0, 6, 20)
    wave = np.sin(2 * np.pi * frequencies * t + phases).sum(axis=1)
    later = np.sin(2 * np.pi * frequencies * (t - 0.123) + phases).sum(axis=1)
    assert lag(make(later), make(wave)) == pytest.approx(0.123, abs=2e-3)
    aligned = make(later).align(make(wave))
    assert aligned.start == pytest.approx(-0.123, abs=2e-3)


def test_several_records_on_one_axis():
    fast, slow = sine(1.0, 10.0, 0.01), sine(1.0, 12.0, 0.02).shift(1.0)
    both = synchronise([fast, slow.relabel({"a": "b"})])
    assert both.rate == pytest.approx(100) and both.time[0] == 1.0
    assert both.time[-1] == pytest.approx(9.99)
    np.testing.assert_allclose(both["b"][20:-20], np.sin(2 * np.pi * (both.time - 1) + 0.3)[20:-20], atol=1e-3)
    whole = synchronise([fast, slow], span="whole")
    assert np.isnan(whole.data[0, 1]) and np.isnan(whole.data[-1, 0])
    assert whole.names == ("test 1: a", "test 2: a")


def test_offsets_of_a_fraction_of_a_sample_are_removed():
    both = synchronise([sine(1.0, 10.0), sine(1.0, 10.0).shift(0.004).relabel({"a": "b"})])
    np.testing.assert_allclose(both["b"], np.sin(2 * np.pi * (both.time - 0.004) + 0.3), atol=1e-5)


# -- Fourier and wavelets ---------------------------------------------------------------------------------------------


def test_the_fourier_spectrum_of_a_pulse_is_its_transform():
    t = np.arange(4096) * 0.01
    sigma, centre = 0.2, 20.0
    record = make(np.exp(-0.5 * ((t - centre) / sigma) ** 2))
    spectrum = fourier_spectrum(record)
    expected = sigma * np.sqrt(2 * np.pi) * np.exp(-2 * (np.pi * spectrum.frequencies * sigma) ** 2)
    np.testing.assert_allclose(spectrum.amplitude, expected, atol=1e-12)
    assert spectrum.unit == "m/s^2*s"


def test_smoothing_keeps_a_constant():
    spectrum = fourier_spectrum(make(np.eye(1, 512)[0]))
    np.testing.assert_allclose(spectrum.smoothed().amplitude, spectrum.amplitude, rtol=1e-12)


def test_the_wavelet_shows_the_amplitude_of_a_sine_and_a_changing_frequency():
    record = make(3.0 * np.sin(2 * np.pi * 2.0 * np.arange(4000) * 0.01))
    found = wavelet_transform(record, [1.0, 2.0, 4.0])
    middle = np.abs(found.coefficients[:, 1500:2500])
    np.testing.assert_allclose(middle[1], 3.0, rtol=2e-3)
    assert middle[0].max() < 0.1 and middle[2].max() < 0.1
    t = np.arange(4000) * 0.01
    chirp = make(np.sin(2 * np.pi * (1.0 * t + 0.05 * t**2)))  # frequency 1 + 0.1 t
    frequencies = np.linspace(0.8, 5.5, 95)
    ridge = frequencies[np.abs(wavelet_transform(chirp, frequencies, cycles=12).coefficients).argmax(axis=0)]
    np.testing.assert_allclose(ridge[800:3200], 1 + 0.1 * t[800:3200], atol=0.12)
    assert not found.reliable[0, 0] and found.reliable[0, 2000]
