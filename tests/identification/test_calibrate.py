"""`vb.calibrate`: laws from tests with imposed motion, against tests that SciPy's solver made."""

import json
import tomllib

import numpy as np
import pytest
from pydantic import TypeAdapter
from scipy.signal import lfilter
from typer.testing import CliRunner

import vibrid as vb
from vibrid.cli import app
from vibrid.core.parameters import Parameter, parameter
from vibrid.laws.loops import LoopSizes, first_guess
from vibrid.project.build import Notes, make
from vibrid.project.law_tables import maker_of_laws
from vibrid.project.law_text import law_text

from .imposed import RATE, bouc_wen_test, device_record

TRUTH = {"stiffness": 2e5, "beta": 250.0, "gamma": 150.0, "exponent": 1.0, "post_yield_ratio": 0.04}
VALUES = tuple(TRUTH.values())


# -- first guesses -------------------------------------------------------------------------------------------------


def test_sizes_of_an_elastoplastic_loop():
    """±3 kN at 2 MN/m, 4 kN the other way, moved by a triangle of 20 mm."""
    x = 0.02 * np.abs((np.arange(4000) / 1000 + 0.5) % 2 - 1) * 2 - 0.02
    force, plastic = np.empty_like(x), 0.0
    for i, e in enumerate(x):
        elastic = np.clip(2e6 * (e - plastic), -4e3, 3e3)
        plastic, force[i] = e - elastic / 2e6, elastic
    loop = LoopSizes.of([(x, np.gradient(x, 0.001), force)])
    assert (loop.forward, loop.backward) == pytest.approx((3e3, 4e3))
    assert loop.stiffness == pytest.approx(2e6, rel=0.05)
    assert loop.elastic == pytest.approx(3.5e3 / 2e6, rel=0.05) and loop.displacement == pytest.approx(0.02, rel=0.01)
    assert loop.size("N s/m") == pytest.approx(3.5e3 / loop.velocity) and loop.size("N/m") == loop.stiffness
    assert loop.size("N/m^3") == pytest.approx(3.5e3 / loop.displacement**3)
    with pytest.raises(vb.InputError, match="show no loop"):
        LoopSizes.of([(x, 0 * x, force)])


FITTED = [n for n, kind in vb.laws.LAWS.items() if kind.components == 1 and not issubclass(kind, vb.laws.Material)]


@pytest.mark.parametrize("name", FITTED)
def test_every_law_has_a_first_guess_of_the_right_size(name):
    """Its force in the measured motion is that of the device within a factor of five."""
    test = bouc_wen_test(*VALUES, seconds=2.0)
    loop = LoopSizes.of([(test["x"], test["v"], test["force"])])
    device = vb.Device(first_guess(vb.laws.LAWS[name], loop))
    force = vb.simulate(device, test, substeps=4).part("device")[1]
    assert 0.2 < np.ptp(force) / np.ptp(test["force"]) < 5.0


def test_a_law_whose_units_say_nothing_is_asked_for_values():
    class Odd(vb.laws.StaticLaw):
        """A law with a parameter of unit V."""

        gain: Parameter = parameter("gain", "V")

    with pytest.raises(vb.InputError, match=r"'gain' of Odd does not follow from the measured loops.*Odd\(gain=…\)"):
        first_guess(Odd, LoopSizes(1.0, 1.0, 1.0, 1.0, 1.0))


# -- fits ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def calibration():
    tests = [
        bouc_wen_test(*VALUES, noise=10.0, name="quick", seconds=3.0),
        bouc_wen_test(*VALUES, frequency=1.0, noise=10.0, seed=1, with_velocity=False, name="slow"),
    ]
    other = bouc_wen_test(*VALUES, amplitude=0.03, frequency=0.7, noise=10.0, seed=2, name="other")
    return vb.calibrate(tests, "bouc-wen", left_out=[other], starts=3)


def test_a_law_by_name_is_found_with_its_intervals(calibration):
    fit, truth = calibration.fit, np.array(VALUES)
    assert fit.names == tuple(TRUTH)
    low, high = fit.interval(0.999).T
    assert np.all((low < truth) & (truth < high)), fit
    np.testing.assert_allclose(fit.estimate[:2], truth[:2], rtol=0.15)
    assert calibration.step_error < 0.01 and not calibration.warnings
    assert {k: float(getattr(calibration.law, k)) for k in TRUTH} == pytest.approx(fit.values)


def test_every_test_is_scored_and_drawn(calibration):
    assert [(t.record.name, t.fitted) for t in calibration.trials] == [("quick", 1), ("slow", 1), ("other", 0)]
    for trial in calibration.trials:
        measured = trial.record["force"]
        missed = np.sqrt(np.mean((trial.force - measured) ** 2))
        assert trial.scores.nrmse == pytest.approx(missed / np.ptp(measured))
        assert trial.scores.nrmse == pytest.approx(10.0 / np.ptp(measured), rel=0.15)  # the noise alone is left
        assert trial.zero == pytest.approx(np.sqrt(np.mean(measured**2)) / np.ptp(measured))
    drawn = calibration.plot().axes
    assert [ax.get_title(loc="left") or ax.get_title() for ax in drawn][::2][2].startswith("other (left out), NRMSE")
    assert drawn[1].get_xlabel() == "displacement [mm]" and drawn[0].get_ylabel() == "force [N]"
    assert "other: NRMSE" in str(calibration) and "(left out)" in str(calibration)


@pytest.mark.parametrize(
    "law",
    [
        vb.BoucWen(2e5, 250.0, -3.0),
        vb.Parallel([vb.Backlash(1e3, 2e3, 1e-3, 2e-3, damping=4.0), vb.Viscous(3.0)]),
        vb.Masing(4e5, vb.laws.WeibullYield(1.5, 2e-3), capacity=12),
        vb.Polynomial([1.0, 2.0]),
    ],
)
def test_a_project_file_reads_the_text_of_a_law(law):
    table = tomllib.loads(f"law = {law_text(law)}")["law"]
    read = TypeAdapter(maker_of_laws().choices[vb.laws.Law]).validate_python(table)
    assert repr(make(read, (), Notes())) == repr(law)


def test_a_step_that_is_given_and_too_long_is_told():
    test = bouc_wen_test(248e3, 500.0, 500.0, noise=1.0, seconds=2.0)
    guess = vb.BoucWen(248e3, 500.0, 500.0)
    made = vb.calibrate(test, guess, "stiffness", starts=1, substeps=2, checks="none")
    assert made.step_error > 0.01 and "The time step is too long for this law: with 2 steps" in str(made)


def test_intervals_hold_for_noise_with_a_memory():
    """Six tests, noise of 0.1 s memory: 95 % intervals of three parameters hold, and those for white noise do not."""
    clean, guess = bouc_wen_test(*VALUES[:3], seconds=3.0), vb.BoucWen(*VALUES[:3])
    held = {"all": 0, "none": 0}
    for seed in range(6):
        draws = np.random.default_rng(seed).standard_normal(400)
        noise = lfilter([1.0], [1.0, -0.9], 8.0 * draws)[100:]
        test = device_record(clean["x"], clean["force"] + noise, RATE, clean["v"])
        for checks in held:
            fit = vb.calibrate(test, guess, ["stiffness", "beta", "gamma"], starts=1, substeps=4, checks=checks).fit
            low, high = fit.interval().T
            held[checks] += int(np.sum((low < VALUES[:3]) & (VALUES[:3] < high)))
    assert held["all"] >= 15 and held["none"] < held["all"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tests": []}, "No test was given"),
        ({"law": "bouc-wenn"}, "There is no law called 'bouc-wenn'"),
        ({"law": "kent-park"}, "law of stress over strain"),
        ({"law": "floor-thermostat"}, "has 2 deformations"),
        ({"starts": 0}, "at least one start"),
        ({"rate": 33.0}, "needs a whole multiple"),
        ({"unknown": "stifness"}, "stifness"),
    ],
)
def test_wrong_arguments_are_refused_in_a_sentence(changes, words):
    given = {"tests": bouc_wen_test(*VALUES, seconds=1.0), "law": "bouc-wen"} | changes
    with pytest.raises(vb.InputError, match=words):
        vb.calibrate(**given)


def test_a_test_without_a_force_is_refused():
    test = bouc_wen_test(*VALUES, seconds=1.0).select(["x", "v"])
    with pytest.raises(vb.InputError, match="needs one channel with quantity element_force; it has none"):
        vb.calibrate(test, "bilinear")


# -- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for stiffness, name in ((2e5, "soft"), (4e5, "hard")):
        for i, frequency in enumerate((1.0, 2.0)):
            x = 0.01 * np.sin(2 * np.pi * frequency * np.arange(200) / RATE)
            noise = 5.0 * np.random.default_rng(i).standard_normal(len(x))
            device_record(x, stiffness * x + noise, RATE, name=f"{name} {i}").write_csv(f"{name}{i}.csv")
    return tmp_path


def run(*words):
    made = CliRunner().invoke(app, ["hybrid", "fit-law", *words])
    assert made.exit_code == 0, made.output
    return made


def test_unknowns_that_the_tests_cannot_identify_are_said_to_spoil_the_judgement(folder):
    """A spring has no hysteresis: nothing is known of the loops of a Bouc–Wen law."""
    words = ("soft0.csv", "--law", "bouc-wen", "--starts", "1", "--substeps", "1")
    told = json.loads(run(*words, "--json").stdout)["set_ups"]["tests"]
    weak = [row["name"] for row in told["parameters"] if not row["identifiable"]]
    (said,) = [text for text in told["warnings"] if "by the whiteness of the residuals alone" in text]
    assert weak and f"the data do not identify {', '.join(weak[:4])}. Fix these" in said
    plain = json.loads(run("soft0.csv", "--law", "linear", "--starts", "1", "--json").stdout)["set_ups"]["tests"]
    assert not any("whiteness" in text for text in plain["warnings"])


def test_the_command_fits_every_set_up(folder):
    made = run(
        "A=soft0.csv", "B=hard0.csv", "--left-out", "A=soft1.csv", "--law", "linear", "--starts", "1",
        "--figure", "loops.png", "--save", "law.h5", "--csv", "law.csv", "--json",
    )  # fmt: skip
    told = json.loads(made.stdout)["set_ups"]
    assert [told[name]["parameters"][0]["estimate"] for name in "AB"] == pytest.approx([2e5, 4e5], rel=0.01)
    assert [t["use"] for t in told["A"]["tests"]] == ["fitted", "left out"] and told["A"]["law"]["law"] == "linear"
    assert vb.load_identification("law-B.h5").values["stiffness"] == pytest.approx(4e5, rel=0.01)
    assert {"loops.png", "law-A.h5", "law.csv"} <= {p.name for p in folder.iterdir()}


def test_a_training_file_names_set_ups_by_capacity_or_name(folder):
    rows = [("soft0", "2 kN", "training", ""), ("soft1", "2 kN", "validation", ""), ("hard0", "2 kN", "training", "H")]
    text = [
        f'[[tests]]\nfile = "{file}.csv"\ncapacity = "{capacity}"\nuse = "{use}"\nsetup = "{setup}"\n'
        for file, capacity, use, setup in rows
    ]
    (folder / "training.toml").write_text("".join(text))
    made = run("training.toml", "--law", "linear", "--starts", "1")
    assert "linear, 2 kN" in made.stdout and "linear, H" in made.stdout and "left out" in made.stdout
    assert 'law = {law = "linear", stiffness = ' in made.stdout
