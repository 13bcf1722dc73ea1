"""Ground motions: targets against the codes' own formulas, scaling against algebra, synthesis against requirements."""

import numpy as np
import pytest

from vibrid.core.errors import FileProblem, InputError
from vibrid.records import (
    STANDARD_GRAVITY,
    Channel,
    Record,
    Similitude,
    asce7_target,
    conditional_mean_target,
    eurocode8_target,
    scale_to_target,
    scenario_parameters,
    select_suite,
    synthetic_motion,
    table_target,
    uniform_hazard_target,
)
from vibrid.records.motions.scale import matching_periods, motion_spectrum
from vibrid.records.motions.tables import read_target
from vibrid.records.motions.targets import correlation

# -- synthesis --------------------------------------------------------------------------------------------------------


def test_the_same_key_gives_the_same_motion_and_another_another():
    first, again, other = (synthetic_motion(key=k, duration=10.0) for k in (1, 1, 2))
    np.testing.assert_array_equal(first.data, again.data)
    assert np.abs(first.data - other.data).max() > 0.1
    assert first.channels == (Channel("ground", "ground_acceleration", location="ground"),)


def test_peak_and_arias_are_as_asked():
    assert np.abs(synthetic_motion(3, pga=1.7)["ground"]).max() == pytest.approx(1.7, rel=1e-12)
    assert synthetic_motion(3, arias=2.5).intensity().arias == pytest.approx(2.5, rel=1e-3)


def test_duration_and_middle_are_as_asked_on_average():
    found = []
    for key in range(40):
        motion = synthetic_motion(key, duration=40.0, rate=100.0, significant_duration=12.0, middle=9.0)
        arias = np.cumsum(motion["ground"] ** 2)
        middle = motion.time[np.searchsorted(arias, 0.45 * arias[-1])]
        found.append((motion.intensity().significant_duration, middle))
    mean = np.mean(found, axis=0)
    np.testing.assert_allclose(mean, [12.0, 9.0], rtol=0.06)


@pytest.mark.parametrize("frequency", [2.0, 6.0])
def test_the_predominant_frequency_is_as_asked(frequency):
    """The rate of zero up-crossings of a narrow process is its frequency (Rice)."""
    rates = []
    for key in range(15):
        motion = synthetic_motion(key, duration=30.0, frequency=frequency, frequency_slope=0.0, bandwidth=0.05)
        a = motion.cut(5.0, 20.0)["ground"]
        rates.append(np.sum((a[:-1] < 0) & (a[1:] >= 0)) / 15.0)
    assert np.mean(rates) == pytest.approx(frequency, rel=0.05)


def test_the_frequency_falls_when_the_slope_is_negative():
    early, late = [], []
    for key in range(10):
        motion = synthetic_motion(key, duration=30.0, frequency=6.0, frequency_slope=-0.3, bandwidth=0.1)
        for part, (start, end) in ((early, (3, 8)), (late, (15, 20))):
            a = motion.cut(start, end)["ground"]
            part.append(np.sum((a[:-1] < 0) & (a[1:] >= 0)) / 5.0)
    assert np.mean(early) > np.mean(late) + 2


def test_velocity_comes_to_rest():
    motion = synthetic_motion(0, duration=60.0, significant_duration=10.0, middle=8.0)
    velocity = motion.integrate()["ground"]
    assert abs(velocity[-1]) < 0.02 * np.abs(velocity).max()


def test_the_rate_does_not_change_the_kind_of_motion():
    spectra = [
        np.mean(
            [
                np.log(synthetic_motion(k, 20.0, rate, arias=1.0).spectrum([0.1, 0.3, 1.0]).pseudo_acceleration)
                for k in range(20)
            ],
            axis=0,
        )
        for rate in (100.0, 400.0)
    ]
    np.testing.assert_allclose(spectra[0], spectra[1], atol=0.25)


@pytest.mark.parametrize(
    "options",
    [
        {"pga": -1},
        {"pga": 1, "arias": 1},
        {"rate": 0},
        {"bandwidth": 2},
        {"duration": 0.01},
        {"significant_duration": 90.0, "middle": 1.0},
    ],
)
def test_impossible_motions_are_refused(options):
    with pytest.raises(InputError):
        synthetic_motion(**options)


def test_scenario_medians_and_draws():
    medians = scenario_parameters(7.0, 25.0, 750.0)
    far = scenario_parameters(7.0, 80.0, 750.0)
    assert far["significant_duration"] > medians["significant_duration"] and far["frequency"] < medians["frequency"]
    drawn = [scenario_parameters(7.0, 25.0, 750.0, key=k) for k in range(400)]
    durations = np.array([d["significant_duration"] for d in drawn])
    assert np.median(durations) == pytest.approx(medians["significant_duration"], rel=0.1)
    assert durations.min() >= 5 and durations.max() <= 45
    assert np.corrcoef(durations, [d["middle"] for d in drawn])[0, 1] > 0.4
    with pytest.raises(InputError, match="magnitude"):
        scenario_parameters(3.0, 25.0, 750.0)


# -- targets ----------------------------------------------------------------------------------------------------------


def test_asce7_corners():
    target = asce7_target(1.0, 0.6, long_period=4.0, periods=[0.06, 0.12, 0.3, 0.6, 1.2, 4.0, 8.0])
    expected = [0.7, 1.0, 1.0, 1.0, 0.5, 0.15, 0.0375]
    np.testing.assert_allclose(target.acceleration / STANDARD_GRAVITY, expected)


def test_eurocode_corners():
    target = eurocode8_target(0.2, "C", periods=[0.1, 0.2, 0.6, 1.2, 2.0, 4.0])
    plateau = 0.2 * 1.15 * 2.5
    expected = [0.2 * 1.15 * 1.75, plateau, plateau, plateau / 2, plateau * 0.3, plateau * 0.6 * 2 / 16]
    np.testing.assert_allclose(target.acceleration / STANDARD_GRAVITY, expected)
    damped = eurocode8_target(0.2, "C", damping=0.10, periods=[0.3, 0.5])
    assert damped.acceleration[0] / target.acceleration[1] == pytest.approx(np.sqrt(10 / 15))
    with pytest.raises(InputError, match="ground type"):
        eurocode8_target(0.2, "F")


def test_uniform_hazard_inverts_power_law_curves():
    """λ(a) = k a^−2 gives a = √(k·T_R) at every period."""
    levels = np.geomspace(0.01, 3, 15)
    scale = np.array([1e-4, 4e-4])
    target = uniform_hazard_target([0.2, 1.0], levels, scale[:, None] * levels**-2.0, 475)
    np.testing.assert_allclose(target.acceleration / STANDARD_GRAVITY, np.sqrt(scale * 475), rtol=1e-9)
    with pytest.raises(InputError, match="does not reach"):
        uniform_hazard_target([0.2, 1.0], levels, scale[:, None] * levels**-2.0, 1e9)


def test_correlation_of_baker_and_jayaram():
    """Values of the published expressions evaluated by hand in their four branches."""
    assert correlation(1.0, 1.0) == pytest.approx(1.0)
    assert correlation(2.0, 0.3) == pytest.approx(1 - np.cos(np.pi / 2 - 0.366 * np.log(2 / 0.3)))
    assert correlation(0.05, 0.08) == pytest.approx(1 - 0.105 * (1 - 1 / (1 + np.exp(3.0))) * 0.03 / (0.08 - 0.0099))
    assert correlation(0.05, 2.0) == correlation(2.0, 0.05)
    c1 = 1 - np.cos(np.pi / 2 - 0.366 * np.log(2.0 / 0.109))
    assert correlation(0.05, 2.0) == pytest.approx(c1 + 0.5 * (np.sqrt(c1) - c1) * (1 + np.cos(np.pi * 0.05 / 0.109)))
    grid = np.geomspace(0.01, 10, 40)
    rho = correlation(grid[:, None], grid[None, :])
    assert np.linalg.eigvalsh(rho).min() > -0.01 and rho.min() > 0 and rho.max() <= 1 + 1e-12


def test_conditional_mean_passes_through_its_condition():
    periods = np.geomspace(0.05, 5, 60)
    median, sigma = 0.4 * np.exp(-np.abs(np.log(periods / 0.3))), 0.6
    target = conditional_mean_target(periods, median, sigma, 1.0, 0.35)
    assert float(target.at(1.0)) / STANDARD_GRAVITY == pytest.approx(0.35, rel=1e-9)
    assert float(target.deviation_at(1.0)) == pytest.approx(0.0, abs=1e-7)
    base = table_target(periods, median)
    lifted = 0.35 * STANDARD_GRAVITY / float(base.at(1.0))  # ε of the same size at every period
    assert np.all(target.acceleration <= base.at(target.periods) * lifted * (1 + 1e-9))
    assert np.all(target.acceleration >= base.at(target.periods))


def test_a_target_from_a_file(tmp_path):
    path = tmp_path / "site.csv"
    path.write_text("period [s], sa [cm/s^2], deviation\n0.1, 400, 0.5\n1.0, 200, 0.6\n")
    target = read_target(path)
    np.testing.assert_allclose(target.acceleration, [4.0, 2.0])
    assert float(target.deviation_at(np.sqrt(0.1))) == pytest.approx(0.55)
    path.write_text("period [ms], sa [gal]\n100, 400\n1000, 200\n")
    np.testing.assert_allclose(read_target(path).periods, [0.1, 1.0])
    path.write_text("period [Hz], sa [gal]\n100, 400\n1000, 200\n")
    with pytest.raises(FileProblem, match="'Hz' is not a unit of time"):
        read_target(path)
    path.write_text("period [s], sa [mm]\n0.1, 400\n1.0, 200\n")
    with pytest.raises(FileProblem, match="not a unit of acceleration"):
        read_target(path)


# -- scaling and selection --------------------------------------------------------------------------------------------


def test_a_motion_scaled_to_its_own_spectrum_times_two_gets_two():
    motion = synthetic_motion(1)
    periods = np.geomspace(0.1, 2, 200)
    target = table_target(periods, 2 * motion.spectrum(periods).pseudo_acceleration, "m/s^2")
    for space in ("log", "linear"):
        found = scale_to_target(motion, target, (0.1, 2.0), space=space)
        assert found.factor == pytest.approx(2.0, rel=2e-3)
        assert found.misfit < 0.02 and not found.limited
    np.testing.assert_allclose(found.records[0].data, found.factor * motion.data)


def test_the_limit_on_the_factor_holds():
    found = scale_to_target(synthetic_motion(1), asce7_target(50.0, 30.0), (0.1, 2.0), limit=(0.5, 2.0))
    assert found.factor == 2.0 and found.limited and found.misfit > 1


def test_the_factor_is_the_least_squares_one():
    motion, target = synthetic_motion(1), eurocode8_target(0.3)
    periods = matching_periods(target, (0.1, 2.0))
    weights = periods**-1.0
    found = scale_to_target(motion, target, (0.1, 2.0), weights=lambda t: t**-1.0)
    sa = motion_spectrum(motion, periods)

    def cost(factor):
        return np.sum(weights * np.log(factor * sa / target.at(periods)) ** 2)

    assert cost(found.factor) < min(cost(found.factor * 1.01), cost(found.factor * 0.99))


def test_a_pair_is_scaled_by_its_geometric_mean():
    pair = [synthetic_motion(1, pga=1.0), synthetic_motion(2, pga=3.0)]
    target = eurocode8_target(0.3)
    found = scale_to_target(pair, target, (0.1, 2.0))
    periods = found.periods
    means = np.sqrt(pair[0].spectrum(periods).pseudo_acceleration * pair[1].spectrum(periods).pseudo_acceleration)
    np.testing.assert_allclose(found.acceleration, found.factor * means)
    ratio = [np.abs(r["ground"]).max() for r in found.records]
    assert ratio[1] / ratio[0] == pytest.approx(3.0)


@pytest.fixture(scope="module")
def candidates():
    rng = np.random.default_rng(0)
    return [
        synthetic_motion(
            k,
            duration=20.0,
            rate=100.0,
            pga=float(rng.lognormal(0.8, 0.6)),
            frequency=float(rng.uniform(1, 8)),
            bandwidth=float(rng.uniform(0.1, 0.6)),
        )
        for k in range(120)
    ]


def test_a_suite_matches_mean_and_scatter(candidates):
    periods = np.geomspace(0.1, 2, 40)
    spectra = np.log([c.spectrum(periods).pseudo_acceleration for c in candidates])
    target = table_target(periods, np.exp(spectra.mean(axis=0)), "m/s^2", deviation=0.45)
    suite = select_suite(candidates, target, 20, (0.1, 2.0), key=1)
    assert len(set(suite.chosen)) == 20
    assert suite.mean_error < 0.12 and suite.deviation_error < 0.15
    first = np.log([m.acceleration for m in select_suite(candidates, target, 20, (0.1, 2.0), rounds=0, key=1).motions])
    unimproved = np.abs(first.mean(axis=0) - np.log(target.at(suite.periods))).max()
    assert suite.mean_error < unimproved
    again = select_suite(candidates, target, 20, (0.1, 2.0), key=1)
    assert again.chosen == suite.chosen


def test_without_scatter_only_the_mean_counts(candidates):
    suite = select_suite(candidates, eurocode8_target(0.3), 7, (0.15, 1.5))
    assert suite.mean_error < 0.15 and np.isnan(suite.deviation_error)
    assert all(0.25 <= m.factor <= 4.0 for m in suite.motions)
    with pytest.raises(InputError, match="cannot be chosen"):
        select_suite(candidates[:3], eurocode8_target(0.3), 7)


# -- similitude -------------------------------------------------------------------------------------------------------


def test_similitude_keeps_newtons_law():
    """force = mass · acceleration and force = stiffness · length hold in both scales, and the period scales as time."""
    scale = Similitude(4.0)
    assert (scale.time, scale.mass, scale.force) == (2.0, 16.0, 16.0)
    assert scale.force == scale.mass * scale.acceleration == scale.stiffness * scale.length
    assert scale.time == pytest.approx(np.sqrt(scale.mass / scale.stiffness))
    assert scale.damping == pytest.approx(scale.force / scale.velocity)


def test_records_scale_there_and_back():
    scale = Similitude(9.0)
    channels = (Channel("a", "ground_acceleration"), Channel("x", "displacement"), Channel("f", "element_force"))
    record = Record(np.ones((5, 3)), channels, step=0.03, start=0.3)
    model = scale.to_model(record)
    assert model.step == pytest.approx(0.01) and model.start == pytest.approx(0.1)
    np.testing.assert_allclose(model.data[0], [1.0, 1 / 9, 1 / 81])
    np.testing.assert_allclose(scale.to_prototype(model).data, record.data)
    with pytest.raises(InputError, match="not known"):
        scale.to_model(Record(np.ones(3), [Channel("volts")], step=0.1))
