"""Studies of fits: the numbers of `identify`, what is kept, failures as results, going on, growing, processes."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import vibrid as vb
from tests.studies.small import BUILDING, MOTIONS, Counted, equal
from vibrid.identification.method import NEEDS
from vibrid.studies import FIT_OUTCOMES, Fits, engine_for, open_study

pytest.importorskip("zarr")

TRUE = vb.ShearBuilding([1.0, 1.0], [vb.Linear(40.0), vb.Linear(30.0)], damping=vb.Viscous(0.5))
SENSORS = vb.Sensors(displacement=[0, 1])
START = [vb.Unknown("storeys[*].stiffness", start=[36.0, 33.0])]


def described(**given):
    keep = given.pop("keep", None)
    motions = given.pop("motions", MOTIONS[0])
    moving = {name: given.pop(name) for name in ("scales", "vary", "substeps", "sensors") if name in given}
    fits = Fits(given.pop("unknown", START), **({"noise": 0.05, "seeds": range(3), "checks": "none"} | given))
    return vb.study(TRUE, motions, **({"sensors": SENSORS} | moving), keep=keep, fits=fits)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Two motions, three seeds, computed without a disturbance."""
    folder = tmp_path_factory.mktemp("fits") / "whole"
    described(motions=MOTIONS[:2]).run(folder, Counted())
    return folder


def test_a_fit_of_a_study_is_that_of_identify(whole):
    data = open_study(whole)
    assert dict(data.outcome.sizes) == {"motion": 2, "seed": 3} and (data.outcome == 1).all()
    response = vb.simulate(TRUE, MOTIONS[1], substeps=4)
    fit = vb.identify(TRUE, response.measure(SENSORS, noise=0.05, key=2), START, sensors=SENSORS, checks="none", key=2)
    one = data.sel(motion=MOTIONS[1].name, seed=2)
    assert one.unknown.values.tolist() == list(fit.names) and one.unit.values.tolist() == ["N/m", "N/m"]
    np.testing.assert_array_equal(one.estimate, fit.estimate)
    np.testing.assert_array_equal(one.standard_deviation, fit.deviation)
    np.testing.assert_array_equal(one.interval, fit.interval(0.95))
    np.testing.assert_array_equal(one.cramer_rao_bound, fit.limits.bound)
    assert one.identifiable.values.tolist() == [1.0, 1.0] and float(one.model_fits) == fit.model_fits
    assert str(one.sentence.values).startswith(fit.verdict) and "Converged" in str(one.sentence.values)
    assert one.true_value.values.tolist() == [40.0, 30.0] and list(one.end.values) == ["low", "high"]
    assert "substeps 4" in data.attrs["simulated_with"] and "seconds" not in data
    assert len(data[["estimate", "outcome"]].to_dataframe()) == 2 * 3 * 2


def test_intervals_hold_over_seeds():
    """Of 60 fits with their own noise 90 % intervals contain the true values: 120 draws, so 0.9 ± 3 · 0.027."""
    data = described(seeds=range(60), confidence=0.9, keep=["estimates", "intervals"]).run()
    low, high = data.interval.sel(end="low"), data.interval.sel(end="high")
    share = float(((low <= data.true_value) & (data.true_value <= high)).mean())
    assert 0.82 <= share <= 0.98
    ratio = data.estimate.std("seed") / data.standard_deviation.mean("seed")
    np.testing.assert_allclose(ratio, 1.0, atol=0.3)
    assert "model_fits" not in data and data.interval.attrs["confidence"] == 0.9


def test_methods_laws_and_noise_are_dimensions():
    """A law without the unknown has NaN there; the true value of another law is not that of its namesake."""
    duffing = {"storeys[0]": vb.Polynomial([36.0, 0.0, 5.0])}
    study = described(
        seeds=[7], noise=[0.01, 0.1], method={"whole": vb.TrajectoryFit(), "cut": vb.TrajectoryFit(iterations=1)},
        laws={"linear": TRUE, "duffing": duffing}, keep=["estimates", "verdicts", "scores", "seconds"],
        unknown={"linear": START, "duffing": ["storeys[1].stiffness", "storeys[0].coefficients[2]"]},
    )  # fmt: skip
    assert study.sizes == {"motion": 1, "law": 2, "method_name": 2, "noise": 2, "seed": 1} and study.size == 8
    assert "8 fits" in str(study) and "substeps 4" in str(study)
    data = study.run().squeeze()
    assert (data.outcome.sel(law="linear", method_name="whole") == 1).all() and (data.seconds > 0).all()
    assert (data.outcome.sel(law="linear", method_name="cut") == 2).all()
    assert "Not converged" in str(data.sentence.sel(law="linear", method_name="cut", noise=0.1).values)
    assert data.unknown.values.tolist() == [
        "storeys[0].stiffness", "storeys[1].stiffness", "storeys[0].coefficients[2]"
    ]  # fmt: skip
    known = np.isfinite(data.estimate).all(["method_name", "noise"])
    assert known.values.tolist() == [[True, True, False], [False, True, True]]
    assert np.isnan(data.true_value.sel(law="duffing", unknown="storeys[0].coefficients[2]")).all()
    error = data.relative_error.sel(law="linear", method_name="whole").max("channel")
    assert error[0] < 0.02 and 0.05 < error[1] < 0.15 and data.channel.values.tolist() == [s.label for s in SENSORS]


def test_sensors_of_a_study_without_any_are_those_of_its_runs():
    chosen = described(sensors=None, method=["trajectory", "ekf"])
    assert chosen.program.channels == ("absolute_acceleration_0", "absolute_acceleration_1")
    assert list(chosen.program.methods) == ["trajectory", "ekf"] and chosen.sizes["method_name"] == 2


def test_parameters_of_the_structure_that_moves_vary(whole):
    data = described(vary={"storeys[0].stiffness": [36.0, 44.0]}, seeds=[0]).run()
    true = data.true_value.sel(unknown="storeys[0].stiffness").squeeze()
    assert true.values.tolist() == [36.0, 44.0]
    np.testing.assert_allclose(data.estimate.squeeze(), data.true_value.squeeze(), rtol=0.05)


def test_data_that_are_finer_than_what_the_fit_sees():
    """A Bouc–Wen building sampled coarsely: data that share the step of the fit hide its error."""
    unknown, sensors = ["storeys[*].stiffness"], vb.Sensors(displacement=[0, 1])

    def bias(study):
        data = study.run()
        return float(np.abs(data.estimate / data.true_value - 1.0).max())

    def coarse(**given):
        moving = {"substeps": given.pop("study_substeps")}
        fits = Fits(unknown, noise=1e-6, checks="none", hold="linear", substeps=1, **given)
        return vb.study(BUILDING, MOTIONS[0], sensors=sensors, fits=fits, **moving)

    shared, finer = coarse(study_substeps=1), coarse(study_substeps=2, every=5)
    assert "does not show" in str(shared) and "one of 5 samples" in finer.provenance()["simulated_with"]
    assert bias(shared) < 1e-5 and bias(finer) > 1e-4
    batch = next(iter(finer.batches(None, [1, 1], 1)))
    _, record = finer.program.data(batch)
    assert len(record) == batch.samples == 30 and record.step == pytest.approx(0.1)


class Fails(vb.identification.Method):
    """A method that never answers."""

    abilities = frozenset(NEEDS)
    error: type

    def solve(self, problem, key=0, progress=None):
        raise self.error("nothing to divide by")


def test_a_fit_that_fails_is_a_result_with_its_sentence():
    weak = vb.ShearBuilding([1.0, 1.0], [vb.Polynomial([1.0, 0.0, -50.0])] * 2)
    methods = {"breaks": Fails(ZeroDivisionError), "refuses": Fails(vb.Refusal)}
    fits = Fits(["storeys[1].coefficients[0]"], methods, noise=0.01)
    data = vb.study(weak, MOTIONS[0], scales=[1e-3, 50.0], sensors=SENSORS, fits=fits).run().squeeze()
    names = {name: [FIT_OUTCOMES[i] for i in data.outcome.sel(method_name=name).values] for name in methods}
    assert names == {"breaks": ["failed", "no data"], "refuses": ["refused", "no data"]}
    said = data.sentence.sel(method_name="breaks").values
    assert said[0] == "ZeroDivisionError: nothing to divide by" and "stopped being finite" in said[1]
    assert data.sentence.sel(method_name="refuses").values[0] == "nothing to divide by"
    assert np.isnan(data.estimate).all()


def test_fits_that_are_stopped_go_on_and_grow(whole, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        described(motions=MOTIONS[:2]).run(tmp_path, Counted(stop_after=2))
    assert (open_study(tmp_path).outcome.values > 0).sum() == 2
    again = Counted()
    equal(described(motions=MOTIONS[:2]).run(tmp_path, again), open_study(whole))
    assert again.runs == 4
    more = Counted()
    grown = described(motions=[MOTIONS[3], *MOTIONS[:2]], seeds=[5, 0, 1, 2]).run(tmp_path, more)
    assert more.runs == 3 * 4 - 6 and (grown.outcome == 1).all() and grown.seed.values.tolist() == [0, 1, 2, 5]
    equal(grown.sel(motion=[m.name for m in MOTIONS[:2]], seed=[0, 1, 2]), open_study(whole))
    with pytest.raises(vb.InputError, match="holds another study"):
        described(motions=MOTIONS[:2], noise=0.06).run(tmp_path)


def test_laws_and_methods_are_added_later(tmp_path):
    first = {"method": ["trajectory"], "laws": {"linear": TRUE}, "seeds": [0]}
    described(**first).run(tmp_path, Counted())
    counted = Counted()
    laws = {"damped": {"damping": vb.Viscous(0.4)}, "linear": TRUE}
    unknown = {"linear": START, "damped": ["storeys[1].stiffness", "damping.damping"]}
    methods = {"long": vb.TrajectoryFit(iterations=80), "trajectory": "trajectory"}
    data = described(method=methods, laws=laws, unknown=unknown, seeds=[0]).run(tmp_path, counted)
    assert counted.runs == 3 and (data.outcome == 1).all() and data.law.values.tolist() == ["linear", "damped"]
    assert data.unknown.values.tolist() == ["storeys[0].stiffness", "storeys[1].stiffness", "damping.damping"]
    other = {"linear": {"storeys[0]": vb.Linear(35.0)}}
    with pytest.raises(vb.InputError, match="'law' that this study has not"):
        described(method=methods, laws=other, seeds=[0]).run(tmp_path)


def test_another_process_knows_the_same_study(whole):
    """Nothing is left to compute there: what tells studies apart is the same in every process."""
    program = (
        "from tests.studies.test_fits import described, MOTIONS\nfrom tests.studies.small import Counted\n"
        "import sys\ncounted = Counted()\ndescribed(motions=MOTIONS[:2]).run(sys.argv[1], counted)\nprint(counted.runs)"
    )
    here = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", program, str(whole)], cwd=here, capture_output=True, text=True)
    assert done.stdout.strip() == "0", done.stderr


@pytest.mark.long
def test_processes_give_the_same_bits(whole, tmp_path):
    pytest.importorskip("distributed")
    equal(described(motions=MOTIONS[:2]).run(tmp_path, engine_for("processes", 1)), open_study(whole))


def test_measured_records_are_fitted_as_they_are(tmp_path):
    response = vb.simulate(TRUE, MOTIONS[0], substeps=4)
    records = [response.measure(SENSORS, noise=0.05, key=key).replace(name=f"test {key}") for key in (1, 2)]
    sets = {"both": SENSORS, "top": vb.Sensors(displacement=[1])}
    fits = Fits(START, data="measured", sensors=sets, checks="none", seeds=[4])
    study = vb.study(TRUE, records, fits=fits)
    data = study.run(tmp_path)
    assert study.sizes == {"motion": 2, "sensors": 2, "seed": 1} and "true_value" not in data
    fit = vb.identify(TRUE, records[1], START, sensors=sets["top"], checks="none", key=4)
    np.testing.assert_array_equal(data.estimate.sel(motion="test 2", sensors="top", seed=4), fit.estimate)
    without = vb.study(TRUE, records, fits=Fits(START, data="measured", checks="none"), keep=["scores"])
    assert without.program.channels == tuple(s.label for s in SENSORS)
    changed = records[0].replace(data=records[0].data * 1.01)  # another record of the same name
    with pytest.raises(vb.InputError, match="'motion' that this study has not"):
        vb.study(TRUE, [changed, records[1]], fits=fits).run(tmp_path)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"data": "real"}, "source of data"),
        ({"noise": -0.1}, "zero or more"),
        ({"noise": [0.1, 0.1]}, "a list of such"),
        ({"seeds": []}, "seeds=range"),
        ({"seeds": [1, 1]}, "that differ"),
        ({"every": 0}, "every=0"),
        ({"data": "measured"}, "belong to simulated data"),
        ({"confidence": 1.0}, "between 0 and 1"),
        ({"laws": {}}, "'laws' of the fits is empty"),
        ({"laws": {"other": 3.0}}, "a structure, or a dictionary of paths"),
        ({"laws": {"other": TRUE}, "unknown": {"linear": START}}, "not the law 'other'"),
        ({"method": []}, "No method was given"),
        ({"method": "trajectry"}, "did you mean 'trajectory'"),
        ({"method": [vb.TrajectoryFit(), "trajectory"]}, "Two methods are called 'trajectory'"),
        ({"unknown": ["storeys[5].stiffness"]}, "storeys"),
        ({"keep": ["peaks"]}, "kind of result of a fit"),
        ({"seeds": range(20_000_000)}, "at most 10 000 000"),
    ],
)
def test_fits_that_cannot_be_are_refused_before_anything_runs(given, words):
    with pytest.raises(vb.VibridError, match=words):
        described(**given)


def test_what_belongs_to_runs_is_refused_for_fits():
    fits = Fits(START)
    with pytest.raises(vb.InputError, match="no collapse and no drifts"):
        vb.study(TRUE, MOTIONS[0], collapse=vb.studies.Collapse(drift=0.1), fits=fits)
    with pytest.raises(vb.InputError, match="hunt for collapse"):
        vb.study(TRUE, MOTIONS[0], levels=vb.studies.Hunt(1.0), fits=fits)
    with pytest.raises(vb.InputError, match="leave out vary, levels and scales"):
        vb.study(TRUE, MOTIONS[0], scales=[1.0], fits=Fits(START, data="measured"))
