"""Semi-active devices: their command in the loop, in project files, and in `vibrid hybrid fit-law`."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import vibrid as vb
from vibrid.cli import app
from vibrid.hybrid import CommandFile, CommandHistory, ConstantCommand, OnOff, SemiActive
from vibrid.project import load_project
from vibrid.project.law_text import law_text

LAW = vb.laws.Commanded(vb.Viscous(20e3), ["damping"], [[0.8, -0.1]])
STEP = 1 / 256
TIME = STEP * np.arange(1, 1025)
X, W = 0.01 * np.sin(5 * TIME), 0.05 * np.cos(5 * TIME)


def imposed(device) -> vb.Record:
    channels = [vb.Channel("x", "imposed_displacement"), vb.Channel("v", "imposed_velocity")]
    return vb.impose(device, vb.Record(np.stack([X, W], axis=1), channels, step=STEP))


def damping(command):
    return 20e3 * (1 + 0.8 * command - 0.1 * command**2)


HISTORY = np.array([0.0, 1.0, 3.0, 2.0])
CONTROLS = {
    "constant": (ConstantCommand(1.5), np.full(len(TIME), 1.5)),
    "history": (CommandHistory(0.5, HISTORY), np.interp(TIME, 0.5 * np.arange(4), HISTORY)),
    "outward": (OnOff(2.0, 0.5), np.where(X * W > 0, 2.0, 0.5)),
    "inward": (OnOff(2.0, 0.5, "inward"), np.where(X * W < 0, 2.0, 0.5)),
    "forward": (OnOff(2.0, when="forward"), np.where(W > 0, 2.0, 0.0)),
    "backward": (OnOff(2.0, when="backward"), np.where(W < 0, 2.0, 0.0)),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_the_force_is_that_of_the_command(name):
    control, command = CONTROLS[name]
    record = imposed(SemiActive(LAW, control))
    np.testing.assert_allclose(record["control"], command, atol=1e-12)
    np.testing.assert_allclose(record["force"], damping(command) * W, rtol=1e-10, atol=1e-9)


def test_a_slow_device_keeps_its_command():
    """Above 20 mm/s it is switched; below, about a reversal, it stays as it was."""
    record = imposed(SemiActive(LAW, OnOff(2.0, 0.5, "forward", still=0.02)))
    expected, last = [], 0.5
    for w in W:
        last = last if abs(w) <= 0.02 else 2.0 if w > 0 else 0.5
        expected.append(last)
    np.testing.assert_array_equal(record["control"], expected)


def building(device) -> vb.HybridTest:
    floors = vb.ShearBuilding([9e3, 9e3], [vb.Linear(9e6)] * 2, damping=vb.Modal(0.02))
    return vb.HybridTest(
        floors,
        [vb.Experimental(vb.Viscous(20e3), at=0, name="first")],
        [vb.Modelled(device, at=1, to=0, name="second")],
        integrator=vb.CentralDifference(),
        rate=256.0,
    )


def test_a_constant_command_in_a_hybrid_test_is_the_law_at_that_command():
    quake = vb.synthetic_motion(2, duration=4.0, rate=256.0, pga=3.0)
    semi = building(SemiActive(LAW, ConstantCommand(2.0))).run(quake)
    law = building(vb.Viscous(float(damping(2.0)))).run(quake)
    np.testing.assert_allclose(
        semi.displacement("roof"),
        law.displacement("roof"),
        rtol=1e-6,
        atol=1e-3 * np.abs(law.displacement("roof")).max(),
    )  # matrices of the integrator hold the slope without a command
    np.testing.assert_array_equal(semi.devices["second.control"], 2.0)


PROJECT = """
[structure]
kind = "shear-building"
masses = ["9 t", "9 t"]
storeys = {law = "linear", count = 2, stiffness = "9 MN/m"}
damping = {kind = "modal", ratios = 0.02}
[excitation]
synthetic = {seed = 3, duration = 3.0, rate = 256.0, pga = "0.3 g"}
[hybrid]
rate = 256.0
[[hybrid.experimental]]
name = "first"
at = 0
device = {kind = "semi-active", law = LAW, control = {on = "2 V", when = "outward"}}
[[hybrid.modelled]]
name = "second"
at = 1
to = 0
device = {kind = "semi-active", law = LAW, control = CONTROL}
"""
WRITTEN = (
    '{law = "commanded", base = {law = "viscous", damping = "20 kN s/m"}, follows = ["damping"], gains = [[0.8, -0.1]]}'
)


def written(folder, control: str, law: str = WRITTEN):
    file = folder / "p.toml"
    file.write_text(PROJECT.replace("LAW", law).replace("CONTROL", control))
    return file


def test_commands_in_a_project_file(tmp_path):
    channel = vb.Channel("voltage", "command", "V")
    vb.Record(HISTORY[:, None], [channel], step=0.5, name="voltage").write_hdf5(tmp_path / "voltage.h5")
    made = CliRunner().invoke(
        app, ["hybrid", "run", str(written(tmp_path, '{file = "voltage.h5"}')), "--out", str(tmp_path / "out")]
    )
    assert made.exit_code == 0, made.output
    seen = vb.read_record(tmp_path / "out" / "devices.h5")
    np.testing.assert_allclose(seen["second.control"], np.interp(seen.time, 0.5 * np.arange(4), HISTORY), atol=1e-9)
    assert set(np.unique(seen["first.control"])) == {0.0, 2.0}
    constant = load_project(written(tmp_path, '{value = "1500 mV"}')).hybrid.test.modelled[0].device
    assert isinstance(constant.control, ConstantCommand) and float(constant.control.value) == 1.5


@pytest.mark.parametrize(
    ("control", "law", "words"),
    [
        ('{on = 2.0, when = "upward"}', WRITTEN, "outward, inward, forward, backward; not 'upward'"),
        ('{file = "none.h5"}', WRITTEN, "none.h5"),
        ("{on = 2.0, of = 1.0}", WRITTEN, "did you mean 'off'"),
        ("{on = 2.0}", '{law = "viscous", damping = 1.0}', "needs a law with a command"),
    ],
)
def test_a_wrong_control_is_a_sentence(tmp_path, control, law, words):
    with pytest.raises(vb.VibridError) as problem:
        load_project(written(tmp_path, control, law))
    assert words in str(problem.value)


def test_what_cannot_be_commanded_is_refused():
    for make, words in (
        (lambda: vb.Modelled(LAW, at=1), "needs a control"),
        (lambda: vb.Experimental(vb.LawDevice(LAW), at=1), "needs a control"),
        (lambda: SemiActive(LAW, CommandFile("a.csv")).start(), "has not been read"),
        (lambda: SemiActive(LAW, 2.0), "not 2.0"),
        (lambda: CommandHistory(0.1, []), "a list of numbers"),
    ):
        with pytest.raises(vb.InputError, match=words):
            make()


def device_test(volt: float, folder, seed: int) -> str:
    """A file of a test at a constant command, with noise of 1 %."""
    record = imposed(SemiActive(LAW, ConstantCommand(volt))).select(["displacement", "force"])
    noise = 0.01 * np.ptp(record["force"]) * np.random.default_rng(seed).standard_normal(len(record))
    data = np.column_stack([record.data + np.stack([0 * noise, noise], axis=1), W, np.full(len(W), volt)])
    more = vb.Channel("v", "imposed_velocity"), vb.Channel("voltage", "command", "V")
    file = folder / f"{volt:g}.h5"
    record.replace("measured", data=data, channels=(*record.channels, *more)).write_hdf5(file)
    return str(file)


def test_the_command_fits_what_follows_a_command(tmp_path):
    """Beside a law that follows none, and a test that cannot tell."""
    files = [device_test(volt, tmp_path, i) for i, volt in enumerate((0.0, 1.0, 3.0))]
    left_out = ["--left-out", device_test(2.0, tmp_path, 9)]
    call = ["hybrid", "fit-law", *files, *left_out, "--law", "viscous", "--starts", "1"]
    made = CliRunner().invoke(app, [*call, "--follows", "damping", "--powers", "2", "--json"])
    assert made.exit_code == 0, made.output
    (found,) = json.loads(made.stdout)["set_ups"].values()
    rows = {row["name"]: row for row in found["parameters"]}
    right = {"base.damping": 20e3, "gains[0][0]": 0.8, "gains[0][1]": -0.1}
    assert set(rows) == set(right), "a constant command does not show its lag"
    for name, value in right.items():
        assert abs(rows[name]["estimate"] - value) < 4 * rows[name]["standard_deviation"] < 0.1 * abs(value), rows[name]
    assert found["tests"][-1]["nrmse"] < 0.012 and not found["warnings"]
    assert found["law"]["base"]["law"] == "viscous" and found["law"]["follows"] == ["damping"]
    deaf = vb.calibrate([vb.read_record(file) for file in files], "viscous", starts=1, checks="none")
    assert any("from 0 to 3, and this law does not follow it" in warning for warning in deaf.warnings)
    same = CliRunner().invoke(app, ["hybrid", "fit-law", files[1], "--law", "viscous", "--follows", "damping"])
    assert same.exit_code == 1 and "All tests have the same command, 1" in same.stderr


def test_a_law_with_a_command_is_written_as_project_files_take_it(tmp_path):
    base = vb.Parallel([vb.Backlash(40.0, 40.0, 1e-5, 1.5e-4), vb.NonlinearViscous(214.0, 0.42)])
    law = vb.laws.Commanded(base, ["laws[0].slip_positive", "laws[1].coefficient"], [[1.8, -0.4], [1.3, 0.5]], lag=0.02)
    made = load_project(written(tmp_path, "{on = 1.0}", law_text(law))).hybrid.test.parts[0].device.law
    assert law_text(made) == law_text(law) and made.follows == law.follows
    np.testing.assert_allclose(made.gains, law.gains)
