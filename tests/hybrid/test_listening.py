"""Modelled devices that listen: what is heard of a tested device, and what is taken over of it."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.optimize import minimize
from test_guard import SMALL
from test_learned import test_of
from typer.testing import CliRunner

import vibrid as vb
from vibrid.cli import app
from vibrid.hybrid.learned import Recipe, SavedModel, save_model
from vibrid.hybrid.learned.along import walk
from vibrid.laws.base import Motion
from vibrid.networks.export.compiled import compiler
from vibrid.project import load_project
from vibrid.project.training import load_training

RATE, CAPACITY = 512.0, 18e3
STRENGTHS = ("slip_positive", "slip_negative")
LAW = vb.Backlash(CAPACITY, CAPACITY, 3e-3, 3e-3, 1.8, 1.5)
ESTIMATOR = vb.hybrid.CompanionEstimator(LAW, CAPACITY, STRENGTHS, ("play",), law_error=0.01)


def motion(seconds: float, size: float = 0.015, phase: float = 0.0) -> np.ndarray:
    """m, two sines that grow from rest."""
    t = np.arange(int(seconds * RATE)) / RATE
    return size * np.minimum(t / 2.0, 1.0) * (np.sin(7.0 * t + phase) + 0.5 * np.sin(17.0 * t + 2.0 * phase))


def test_record(law, x, late: int = 0, seed: int = 0) -> vb.Record:
    """A test of a law by `simulate`, with noise of 1 % and 0.02 mm; the force comes some samples late."""
    rng, imposed = np.random.default_rng(seed), vb.Channel("x", "imposed_displacement")
    response = vb.simulate(vb.Device(law), vb.Record(x[:, None], [imposed], step=1 / RATE))
    force = np.concatenate([np.zeros(max(late, 0)), response.part("device")[1]])[: len(x)]
    noisy = np.stack([x + 2e-5 * rng.standard_normal(len(x)), force + 180.0 * rng.standard_normal(len(x))], axis=1)
    return vb.Record(noisy, [imposed, vb.Channel("f", "element_force")], step=1 / RATE, name="test")


test_record.__test__ = False


def changed(capacity: float, gap: float) -> vb.Backlash:
    return vb.Backlash(capacity * CAPACITY, capacity * CAPACITY, gap * 3e-3, 3e-3, 1.8, 1.5)


@pytest.mark.parametrize(("capacity", "gap", "late"), [(0.7, 1.3, 0), (1.3, 0.7, 0), (1.0, 1.0, 10), (0.8, 1.2, 10)])
def test_capacity_gap_and_lag_are_heard(capacity, gap, late):
    """The gap agrees with an offline fit of the whole record as well."""
    x = motion(12.0)
    record = test_record(changed(capacity, gap), x, late)
    heard = vb.hybrid.listen(record, ESTIMATOR)
    found = {name: heard[name][-1] for name in heard.names}
    assert found["capacity"] == pytest.approx(capacity * CAPACITY, rel=0.03)
    kept = 1.0 - (found["gap_deviation"] / found["gap"] / 0.25) ** 2  # the rest pulls it to the gap of the law
    unpulled = found["gap"] ** (1.0 / kept)
    assert unpulled == pytest.approx(gap, rel=0.03) and kept > 0.7
    assert found["lag"] == pytest.approx(late / RATE, abs=1.5e-3)
    assert abs(found["capacity"] - capacity * CAPACITY) < 3 * found["capacity_deviation"] < 0.1 * CAPACITY
    assert abs(found["gap"] - gap) < 3 * found["gap_deviation"] < 0.2
    assert found["slipped"] > 2.0

    def misfit(values):
        response = vb.simulate(vb.Device(changed(*values)), record.select(["x"]))
        force = np.concatenate([np.zeros(late), response.part("device")[1]])[: len(x)]
        return float(np.mean((record["f"] - force) ** 2)) / CAPACITY**2

    fitted = minimize(misfit, [1.0, 1.0], method="Nelder-Mead", options={"xatol": 2e-3, "fatol": 1e-7}).x
    assert [found["capacity"] / CAPACITY, unpulled] == pytest.approx(fitted, rel=0.04)


def test_nothing_is_heard_of_a_device_that_does_not_slip():
    heard = vb.hybrid.listen(test_record(changed(0.7, 1.3), motion(6.0, 5e-4)), ESTIMATOR)
    assert heard["slipped"][-1] == 0.0
    assert np.ptp(heard["capacity"]) == 0.0 and heard["capacity"][-1] == CAPACITY
    assert heard["capacity_deviation"][-1] == pytest.approx(0.25 * CAPACITY)
    np.testing.assert_allclose(heard["gap"], 1.0)
    np.testing.assert_allclose(heard["gap_deviation"], 0.25)


def worn_force(x: np.ndarray, capacity: float, lost: float) -> np.ndarray:
    """N, of an elastic–plastic slider that loses a share of its capacity with its own work, in plain Python."""
    stiffness, z, work, out = 6e6, 0.0, 0.0, []
    for before, after in zip([0.0, *x], x, strict=False):
        limit = capacity * CAPACITY * (1.0 - lost * (1.0 - np.exp(-work / 15e3)))
        force = float(np.clip(z + stiffness * (after - before), -limit, limit))
        work += force * (after - before)
        z = force
        out.append(force)
    return np.array(out)


def test_a_device_that_wears_by_its_own_work_hands_over_its_loss_per_work():
    """The tested device has done far more work than the modelled one: a capacity alone would be handed over too low."""
    law = vb.Bilinear(6e6, CAPACITY / 6e6)
    estimator = vb.hybrid.CompanionEstimator(law, CAPACITY, ("yield_deformation",), wear_work=20e3)
    x, slow = motion(16.0), motion(16.0, 0.004, 1.0)
    tested, own = worn_force(x, 1.1, 0.45), worn_force(slow - slow[0], 1.1, 0.45)
    assert tested[-2000:].max() < 0.8 * CAPACITY < 0.95 * CAPACITY < own[-2000:].max()

    def modelled(wear_work):
        device = vb.hybrid.Listening(dataclasses.replace(estimator, wear_work=wear_work), 1.0)
        return heard_along(device, slow - slow[0], x, tested)

    late = slice(-3000, None)
    error = {w: np.sqrt(np.mean((modelled(w).force[late] - own[late]) ** 2)) / CAPACITY for w in (20e3, 0.0)}
    assert error[20e3] < 0.05 and error[20e3] < 0.3 * error[0.0], error


def heard_along(device, x, companion_x, companion_force):
    """The readings of a device that moves along x beside a tested one."""
    moved = Motion(jnp.asarray(x), jnp.asarray(np.gradient(x, 1 / RATE)))
    other = Motion(jnp.asarray(companion_x), jnp.zeros(len(x)))
    reading = vb.hybrid.Reading(jnp.asarray(companion_force), jnp.zeros((len(x), 0)))
    return walk(device, moved, vb.hybrid.Companion(other, reading), 1 / RATE)


def test_the_modelled_device_takes_over_the_share_of_its_likeness():
    tested = test_record(changed(0.7, 1.3), motion(12.0))
    own = motion(12.0, 0.012, 1.0) - motion(12.0, 0.012, 1.0)[0]
    readings = {
        rho: heard_along(vb.hybrid.Listening(ESTIMATOR, rho), own, tested["x"], tested["f"]) for rho in (0.0, 0.5, 1.0)
    }
    moved = Motion(jnp.asarray(own), jnp.asarray(np.gradient(own, 1 / RATE)))
    law = walk(vb.LawDevice(LAW), moved, None, 1 / RATE).force
    np.testing.assert_allclose(readings[0.0].force, law, rtol=1e-12, atol=1e-9)
    names = vb.hybrid.Listening(ESTIMATOR, 1.0).signal_names
    heard = {rho: dict(zip(names, np.asarray(r.signals)[-1], strict=True)) for rho, r in readings.items()}
    assert heard[0.5]["own_capacity"] == pytest.approx(0.5 * (heard[1.0]["capacity"] + CAPACITY))
    assert heard[0.5]["own_gap"] == pytest.approx(np.sqrt(heard[1.0]["gap"]))
    truth = walk(vb.LawDevice(changed(0.7, 1.3)), moved, None, 1 / RATE).force
    late = slice(-3000, None)
    error = [np.sqrt(np.mean((f[late] - truth[late]) ** 2)) for f in (readings[1.0].force, readings[0.5].force, law)]
    assert error[0] < 0.02 * CAPACITY < error[1] < error[2]


@pytest.mark.long
def test_a_network_is_told_the_capacity():
    """Its force is that of the same network with the capacity that was heard."""
    model = Recipe(**{**SMALL, "network": "passive", "rate": RATE}, uses_companion=False).maker(
        [test_of(0), test_of(1)]
    )(jax.random.key(3))
    network = SavedModel(model).device(RATE, CAPACITY)
    tested, own = test_record(changed(0.7, 1.0), motion(4.0)), motion(4.0, 0.008)
    reading = heard_along(vb.hybrid.Listening(ESTIMATOR, 1.0, network), own, tested["x"], tested["f"])
    capacity = np.asarray(reading.signals)[:, 6]
    assert 0.65 * CAPACITY < capacity[-1] < 0.8 * CAPACITY and capacity[0] == CAPACITY
    again, state = [], network.start()
    step = jax.jit(lambda s, e, w, c: dataclasses.replace(network, capacity=c).trial(s, Motion(e, w), None, 1 / RATE))
    for e, w, c in zip(own[:300], np.gradient(own, 1 / RATE)[:300], capacity[:300], strict=True):
        answer, state = step(state, e, w, c)
        again.append(float(answer.force))
    np.testing.assert_allclose(reading.force[:300], again, atol=1e-6 * CAPACITY)  # of 32 bits


def test_the_likeness_of_repeated_tests():
    rng = np.random.default_rng(3)
    common, one, other = 0.2 * rng.standard_normal((3, 300))
    found = vb.hybrid.likeness_of(np.exp(0.9 * common + 0.436 * one), np.exp(0.9 * common + 0.436 * other))
    assert found.low < 0.81 < found.high and found.mean == pytest.approx(0.81, abs=0.06)
    few = vb.hybrid.likeness_of([1.1, 0.8], [1.08, 0.83])
    assert few.high - few.low > 0.5
    unlike = vb.hybrid.likeness_of(np.exp(one[:100]), np.exp(other[:100]))
    assert unlike.mean < 0.2


def test_the_likeness_is_that_of_the_normal_distribution():
    """Against the integral over ρ and the unknown spread, with the density of two normal numbers written out."""
    a, b = np.log([1.1, 0.8, 0.95]), np.log([1.2, 0.85, 1.02])

    def density(logs, rho):
        s, r = np.exp(logs), 1.0 - rho**2
        q = (a**2 - 2 * rho * a * b + b**2) / (2 * s**2 * r)
        return float(np.prod(np.exp(-q) / (2 * np.pi * s**2 * np.sqrt(r))))

    whole = dblquad(density, 0.0, 0.9995, -5.0, 3.0)[0]
    mean = dblquad(lambda s, rho: rho * density(s, rho), 0.0, 0.9995, -5.0, 3.0)[0] / whole
    assert vb.hybrid.likeness_of(np.exp(a), np.exp(b)).mean == pytest.approx(mean, rel=2e-3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: vb.hybrid.Listening(ESTIMATOR, 1.5), "between 0 and 1"),
        (lambda: vb.hybrid.CompanionEstimator(LAW, CAPACITY, STRENGTHS, ("plya",)), "plya"),
        (lambda: vb.hybrid.CompanionEstimator(vb.Backlash(1.0, 1.0, 0.0, 1.0), 1.0, (), ("play",)), "only a positive"),
        (lambda: vb.hybrid.CompanionEstimator(vb.laws.FloorThermostat(1.0, 1.0), 1.0), "one deformation"),
        (lambda: vb.hybrid.likeness_of([1.0, 1.1], [1.0]), "come in pairs"),
        (lambda: vb.hybrid.likeness_of([1.0, -1.1], [1.0, 1.0]), "positive numbers"),
        (lambda: vb.hybrid.likeness_of([1.0], [1.0]), "nothing can be said"),
        (lambda: walk(vb.hybrid.Listening(ESTIMATOR, 1.0), Motion(jnp.zeros(2), jnp.zeros(2)), None, 0.1), "name it"),
    ],
)  # fmt: skip
def test_what_cannot_listen_is_refused(make, words):
    with pytest.raises(vb.InputError, match=words):
        make()


PROJECT = """
[structure]
kind = "shear-building"
masses = ["9 t", "9 t"]
storeys = {law = "linear", count = 2, stiffness = "9 MN/m"}
damping = {kind = "modal", ratios = 0.03}
[excitation]
synthetic = {seed = 3, duration = 6.0, rate = 512.0, pga = "PGA g"}
[hybrid]
rate = 512.0
[[hybrid.experimental]]
name = "first"
at = 0
[hybrid.experimental.device]
kind = "law"
law = {law = "backlash", slip_positive = "14 kN", slip_negative = "14 kN", play = "1.2 mm", take_up = "1 mm"}
[[hybrid.modelled]]
name = "second"
at = 1
to = 0
companion = "first"
[hybrid.modelled.device]
kind = "listening"
likeness = 0.9
[hybrid.modelled.device.estimator]
law = {law = "backlash", slip_positive = "18 kN", slip_negative = "18 kN", play = "1 mm", take_up = "1 mm"}
capacity = "18 kN"
strengths = ["slip_positive", "slip_negative"]
gap = ["play"]
every = 2
"""


def test_a_project_file_describes_a_listening_device(tmp_path):
    file = tmp_path / "p.toml"
    file.write_text(PROJECT.replace("PGA", "0.8"))
    made = CliRunner().invoke(app, ["hybrid", "run", str(file), "--out", str(tmp_path / "out")])
    assert made.exit_code == 0, made.output
    assert "never slipped" not in made.output and "its displacement" not in made.output
    seen = vb.read_record(tmp_path / "out" / "devices.h5")
    assert seen["second.capacity"][-1] == pytest.approx(14e3, rel=0.05)
    assert seen["second.gap"][-1] == pytest.approx(1.2, rel=0.1)
    share = 1.0 + 0.9 * (seen["second.capacity"][-1] / 18e3 - 1.0)
    assert seen["second.own_capacity"][-1] == pytest.approx(share * 18e3)
    project = load_project(file)
    result = project.hybrid.test.run(project.excitation())
    np.testing.assert_allclose(seen["second.force"], result.devices["second.force"], rtol=1e-9, atol=1e-6)
    late = result.devices.data.copy()
    late[:, result.devices.names.index("second.lag")] = 7e-3
    found = vb.hybrid.judge(dataclasses.replace(result, devices=result.devices.replace(data=late))).reasons
    assert any("'first', which shows its force 7 ms after its displacement" in text for text in found), found
    file.write_text(PROJECT.replace("PGA", "0.001"))
    quiet = CliRunner().invoke(app, ["hybrid", "run", str(file)])
    assert "'second' listens to 'first', which never slipped" in quiet.output


@pytest.mark.long
def test_a_network_of_one_device_that_listens_is_judged_with_care(tmp_path):
    """And a listening device reads its network from a file."""
    for uses in (True, False):
        recipe = Recipe(**{**SMALL, "network": "passive", "rate": RATE}, uses_companion=uses)
        model = recipe.maker([test_of(0), test_of(1)])(jax.random.key(3))
        save_model(tmp_path / f"{uses}.npz", SavedModel(model, 1e6, {"devices": 1}))
    text = PROJECT.replace("PGA", "0.1").replace("duration = 6.0", "duration = 1.0")
    device = 'device = {kind = "network", file = "True.npz", capacity = "18 kN", rate = 512.0}\n'
    (tmp_path / "p.toml").write_text(text[: text.index("[hybrid.modelled.device]")] + device)
    project = load_project(tmp_path / "p.toml")
    result = project.hybrid.test.run(project.excitation())
    words = "not known to have been trained on more than one"
    assert any(words in reason for reason in vb.hybrid.judge(result).reasons)
    (second,) = result.test.modelled
    many = dataclasses.replace(second, device=dataclasses.replace(second.device, devices=40))
    test = dataclasses.replace(result.test, modelled=[many])
    assert not any(words in reason for reason in vb.hybrid.judge(dataclasses.replace(result, test=test)).reasons)
    listening = text.replace(
        "likeness = 0.9", 'likeness = 0.9\nnetwork = {file = "False.npz", capacity = "18 kN", rate = 512.0}'
    )
    (tmp_path / "p.toml").write_text(listening)
    project = load_project(tmp_path / "p.toml")
    result = project.hybrid.test.run(project.excitation())
    assert np.isfinite(result.devices["second.force"]).all() and "second.flags" in result.devices.names


def test_virtual_pairs_are_as_alike_as_was_asked():
    """An elastic–plastic slider shows its strength as its largest force."""
    device = vb.LawDevice(vb.Bilinear(6e6, 3e-3))
    settings = {"largest": 0.05, "seconds": 2.0, "rate": 256.0}

    def strengths(likeness, count):
        pairs = vb.hybrid.virtual_pairs(device, {"law.yield_deformation": 0.2}, likeness, count, **settings)
        return np.array([[np.abs(record["force"]).max() for record in pair] for pair in pairs]) / CAPACITY

    same, apart = np.log(strengths(1.0, 3)), np.log(strengths(0.0, 24))
    np.testing.assert_allclose(same[:, 0], same[:, 1], rtol=1e-9, atol=1e-9)
    assert abs(np.std(apart) / 0.2 - 1.0) < 0.35 and abs(np.corrcoef(apart.T)[0, 1]) < 0.5
    with pytest.raises(vb.InputError, match="at least one parameter"):
        next(vb.hybrid.virtual_pairs(device, {}, 0.5, 1))
    with pytest.raises(vb.InputError, match="post_yield_ratio' cannot vary"):
        next(vb.hybrid.virtual_pairs(device, {"law.post_yield_ratio": 0.1}, 0.5, 1))


def test_the_command_writes_pairs_and_a_training_file(tmp_path):
    (tmp_path / "damper.toml").write_text(
        '[device]\nkind = "law"\nlaw = {law = "backlash", slip_positive = "18 kN", slip_negative = "18 kN", '
        'play = "3 mm", take_up = "3 mm"}\n'
    )
    call = ["hybrid", "pairs", str(tmp_path / "damper.toml"), "--out", str(tmp_path / "pairs"), "--capacity", "18 kN"]
    call += ["--count", "3", "--seconds", "2"]
    made = CliRunner().invoke(
        app, [*call, "--vary", "law.slip_positive,law.slip_negative=0.2", "--vary", "law.play=0.2"]
    )
    assert made.exit_code == 0, made.output
    training = load_training(tmp_path / "pairs" / "training.toml")
    assert training.devices == 3 and training.companion_names == ["force", "displacement"]
    test = (training.training + training.validation)[0]
    assert test.capacity == (18e3, 18e3) and test.companion.shape == (len(test.x), 2) and len(test.x) == 512
    again = CliRunner().invoke(app, [*call, "--vary", "law.play=0.2"])
    assert again.exit_code == 1 and "is not an empty folder" in again.stderr
    wrong = CliRunner().invoke(app, [*call, "--vary", "law.play"])
    assert wrong.exit_code == 1 and "write a parameter and its spread" in wrong.stderr


@pytest.mark.long
def test_a_test_with_an_external_device_hears_the_same():
    """Step by step, as with a device in a laboratory (as C if there is a compiler, and by JAX), and in one program."""
    floors = vb.ShearBuilding([9e3, 9e3], [vb.Linear(9e6)] * 2, damping=vb.Modal(0.03))
    quake = vb.synthetic_motion(3, duration=1.5, rate=RATE, pga=8.0)
    outside = lambda: vb.hybrid.DeviceSubstructure(vb.LawDevice(changed(0.6, 1.2)), 1 / RATE)  # noqa: E731
    found = [
        vb.HybridTest(
            floors,
            [vb.Experimental(tested, at=0, name="first")],
            [vb.Modelled(vb.hybrid.Listening(ESTIMATOR, 0.9), at=1, to=0, name="second", companion="first")],
            rate=RATE,
        ).run(quake, **more)
        for tested, more in ((changed(0.6, 1.2), {}), (outside(), {}), (outside(), {"in_c": False}))
    ]
    assert [result.computed_by for result in found[1:]] == ["JAX" if compiler() is None else "C", "JAX"]
    for name in ("second.capacity", "second.gap", "second.lag", "second.force", "first.force"):
        one, *others = (result.devices[name] for result in found)
        for other in others:
            np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-6 * np.abs(one).max())
    assert found[0].devices["second.slipped"][-1] > 0.1
