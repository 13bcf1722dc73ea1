"""Fragility curves against published numbers, closed forms and other solvers; the hunt for collapse."""

import numpy as np
import pytest
import scipy

import vibrid as vb
from tests.studies.small import BUILDING, MOTIONS, Counted, equal, motion
from vibrid.report.study_plots import fragility_figure, plot_stripes
from vibrid.studies import (
    Collapse,
    Hunt,
    annual_rate,
    demand_hazard,
    fit_capacities,
    fit_fragility,
    fragility,
    open_study,
)

xarray = pytest.importorskip("xarray")
pytest.importorskip("zarr")

LEVELS = [0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0]
COLLAPSES = [0, 0, 0, 4, 6, 13, 12, 16]


def test_the_published_example():
    """40 motions at eight levels by the procedure of Baker (2015): θ 1.076 g, β 0.429."""
    curve = fit_fragility(LEVELS, COLLAPSES, 40)
    assert curve.median == pytest.approx(1.076, abs=5e-4) and curve.dispersion == pytest.approx(0.429, abs=5e-4)


def test_the_same_maximum_as_a_search_in_other_variables():
    def unlikely(p):
        return -scipy.stats.binom.logpmf(COLLAPSES, 40, scipy.stats.norm.cdf(np.log(LEVELS / p[0]) / p[1])).sum()

    found = scipy.optimize.minimize(unlikely, [0.8, 0.4], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    curve = fit_fragility(LEVELS, COLLAPSES, 40)
    np.testing.assert_allclose([curve.median, curve.dispersion], found.x, rtol=1e-6)


def test_a_case_by_hand():
    """Two levels and two parameters: the curve goes through both shares, Φ⁻¹(0.2) and Φ⁻¹(0.7)."""
    curve = fit_fragility([1.0, 2.0], [2, 14], [10, 20])
    low, high = scipy.stats.norm.ppf([0.2, 0.7])
    dispersion = np.log(2.0) / (high - low)
    assert curve.dispersion == pytest.approx(dispersion) and curve.median == pytest.approx(np.exp(-low * dispersion))
    np.testing.assert_allclose(curve.probability([1.0, 2.0]), [0.2, 0.7])


def test_bands_hold_as_often_as_they_say():
    """400 studies of 40 motions from a known curve: the 90 % band holds the true probability nine times in ten."""
    rng, x = np.random.default_rng(0), np.linspace(0.3, 1.8, 8)
    truth = scipy.stats.norm.cdf(np.log(x) / 0.4)
    there, held, logs = scipy.stats.norm.cdf(np.log([0.6, 1.0]) / 0.4), [], []
    for _ in range(400):
        curve = fit_fragility(x, rng.binomial(40, truth), 40)
        low, high = curve.band([0.6, 1.0])
        held.append((low < there) & (there < high))
        logs.append((np.log(curve.median), curve.deviations[0]))
    assert np.mean(held) == pytest.approx(0.9, abs=0.03)
    spread, said = np.std([v for v, _ in logs]), np.mean([d for _, d in logs])
    assert said == pytest.approx(spread, rel=0.1)


def test_capacities_between_levels_give_the_curve_they_come_from():
    rng = np.random.default_rng(1)
    capacity = np.exp(np.log(3.0) + 0.5 * rng.standard_normal(4000))
    low = np.floor(capacity / 0.2) * 0.2
    high = np.where(low + 0.2 > 6.0, np.inf, low + 0.2)
    low = np.minimum(low, 6.0)
    curve = fit_capacities(low, high)
    assert np.isinf(high).any() and (low == 0).any() == (capacity < 0.2).any()
    assert abs(np.log(curve.median / 3.0)) < 3 * curve.deviations[0] < 0.03
    assert abs(curve.dispersion - 0.5) < 3 * curve.deviations[1] < 0.03


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([0, 0, 0], "at no level"),
        ([10, 10, 10], "in every run"),
        ([0, 0, 10], "levels in between"),
        ([8, 5, 1], "becomes rarer"),
        ([0, 11, 3], "between zero and the number"),
    ],
)
def test_counts_without_a_curve_are_refused(events, words):
    with pytest.raises(vb.InputError, match=words):
        fit_fragility([1.0, 2.0, 3.0], events, 10)


def test_the_annual_rate_of_a_straight_hazard_curve():
    """λ(x) = k₀ x⁻ᵏ: the rate is λ(θ) exp(k² β² / 2) (C. A. Cornell and others, 2002)."""
    curve, x = fit_fragility(LEVELS, COLLAPSES, 40), np.geomspace(0.01, 20.0, 12)
    exact = 1e-4 * curve.median**-2.5 * np.exp(0.5 * (2.5 * curve.dispersion) ** 2)
    assert annual_rate(curve, x, 1e-4 * x**-2.5) == pytest.approx(exact, rel=1e-6)
    with pytest.raises(vb.InputError, match="beyond the hazard curve"):
        annual_rate(curve, x[x > 0.5], 1e-4 * x[x > 0.5] ** -2.5)


# -- studies -------------------------------------------------------------------------------------------------------


def stripes(outcome, drift):
    """A dataset by hand: three motions at two levels."""
    dims, at = ("motion", "level"), {"level": ("level", [1.0, 2.0], {"units": "m/s^2", "long_name": "PGA"})}
    drifts = xarray.DataArray(drift, dims=(*dims, "storey"), attrs={"units": "m"})
    return xarray.Dataset({"outcome": (dims, np.array(outcome)), "peak_storey_drift": drifts}, coords=at)


def test_events_of_a_study_by_hand():
    """Drifts above 0.5 or collapse: 1 of 3 at the first level, 2 of 3 at the second; a failed step does not count."""
    drift = np.array([[[0.1, 0.2], [0.3, 0.9]], [[0.6, 0.1], [0.2, 0.3]], [[0.1, 0.1], [0.4, 0.4]]])
    data = stripes([[1, 1], [1, 1], [1, 2]], drift)
    curve = fragility(data, "peak_storey_drift", 0.5)
    assert curve.events.tolist() == [1, 2] and curve.counts.tolist() == [3, 3] and curve.left_out == 0
    assert curve.median == pytest.approx(np.sqrt(2.0)) and curve.unit == "m/s^2" and "above 0.5" in str(curve)
    failed = fragility(stripes([[1, 1], [1, 4], [1, 2]], drift), "peak_storey_drift", 0.5)
    assert failed.counts.tolist() == [3, 2] and failed.events.tolist() == [1, 2] and failed.left_out == 1
    assert "1 runs are no result" in str(failed)
    rates = demand_hazard(data, "peak_storey_drift", [0.5], np.geomspace(1e-3, 1e3, 40), np.geomspace(1e2, 1e-4, 40))
    assert rates == pytest.approx(annual_rate(curve, np.geomspace(1e-3, 1e3, 40), np.geomspace(1e2, 1e-4, 40)))


def test_levels_of_a_hunt_by_hand():
    """Collapse at 7: up by growing steps, halves down to a tenth, then the largest gaps below."""
    hunt, levels = Hunt(first=1.0, growth=2.0, resolution=0.1, fill=2, most=12), []
    while (level := hunt.next_level(np.array(levels), np.array(levels) < 7.0)) is not None:
        levels.append(level)
    assert levels == [1.0, 3.0, 7.0, 5.0, 6.0, 6.5, 2.0, 4.0]
    assert Hunt(first=1.0, most=2).next_level(np.array([1.0, 2.0]), np.array([True, True])) is None


@pytest.fixture(scope="module")
def hunted(tmp_path_factory):
    """Four motions, each scaled to its collapse."""
    folder = tmp_path_factory.mktemp("hunt")
    study = vb.study(
        BUILDING, MOTIONS[:4], levels=Hunt(first=1.0, resolution=0.05, fill=1), intensity="pga", collapse=Collapse(0.5)
    )
    return study, folder, study.run(folder)


def test_a_hunt_finds_the_collapse_of_every_motion(hunted):
    _, _, data = hunted
    for number, given in enumerate(MOTIONS[:4]):
        levels, outcome = data.level.values[number], data.outcome.values[number]
        low, high = levels[outcome == 1].max(), levels[outcome == 2].min()
        assert 0 < high - low <= 0.05 * high
        for level, falls in ((low, False), (high, True)):
            alone = vb.simulate(BUILDING, given.scale(float(level / np.abs(given.data).max())))
            drifts = np.diff(alone.displacement, axis=1, prepend=0.0)
            assert (np.abs(drifts).max() > 0.5) == falls
    assert 0.5 < fragility(data).median / np.median(data.level.values[data.outcome.values == 2]) < 1.5


def test_a_hunt_that_is_stopped_goes_on(hunted, tmp_path):
    study, _, whole = hunted
    with pytest.raises(KeyboardInterrupt):
        study.run(tmp_path, Counted(stop_after=3))
    again = Counted()
    equal(study.run(tmp_path, again), whole)
    assert again.runs == int((whole.outcome > 0).sum()) - 3 * 4
    with pytest.raises(vb.InputError, match="holds another study"):
        vb.study(BUILDING, [motion(9)], levels=Hunt(1.0), intensity="pga", collapse=Collapse(0.5)).run(tmp_path)


def test_the_command_and_its_figures(hunted, tmp_path):
    from typer.testing import CliRunner

    from vibrid.cli import app

    _, folder, data = hunted
    plot = tmp_path / "a.png"
    done = CliRunner().invoke(app, ["study", "fragility", str(folder), "--plot", str(plot)])
    assert done.exit_code == 0 and "median θ" in done.output and plot.stat().st_size > 5000, done.output
    curve = fragility(open_study(folder))
    assert len(curve.plot().lines) == 2 and len(fragility_figure(data, curve).axes) == 2
    drawn = plot_stripes(stripes([[1, 1], [1, 1], [1, 2]], np.ones((3, 2, 1))))
    assert drawn.get_xlabel() == "largest storey drift [m]" and drawn.get_ylabel() == "PGA [g]"
    with pytest.raises(vb.InputError, match="did you mean 'peak_storey_drift'"):
        plot_stripes(data, "peak_storey_drifts")
