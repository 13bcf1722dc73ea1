"""Faulty samples do not spoil a device model: in C, as ONNX, as an FMU and in the loop they are flagged alike, and its
force comes back to that of an undisturbed run."""

import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_learned import CAPACITY, LAW, LEARNED, RATE, test_of

import vibrid as vb
from vibrid.core.errors import InputError
from vibrid.hybrid.learned import (
    DeviceModel,
    DeviceSample,
    Fault,
    InputLimits,
    Modulators,
    NetworkDevice,
    Recipe,
    SavedModel,
    Setting,
    load_model,
    save_model,
)
from vibrid.hybrid.learned.deploy import compiled_model, exported_start, exported_step, write_model
from vibrid.hybrid.rehearsal import judge
from vibrid.networks.checkpoint import Checkpoint
from vibrid.networks.export.compiled import compiler

SAMPLES, FAULTY, SHORT = 6144, (64, 128), 160
"""Samples of a stream, those between which faults are, and those over which exports are compared."""
ABSURD = [np.nan, np.inf, -np.inf, 1e6, -1e6, 1e300]
SMALL = dict(network="resonant", plays=4, encoded=12, memories=4, oscillators=2, hidden=(12,), states=4, rate=RATE)


def made(**recipe) -> DeviceModel:
    return Recipe(**{**SMALL, **recipe}).maker([test_of(0), test_of(1)])(jax.random.key(3))


MODELS = {
    "passive": lambda: made(network="passive"),
    "law-layer": lambda: Recipe(**SMALL, answer="law-layer", learned=LEARNED).maker([test_of(0), test_of(1)], LAW)(
        jax.random.key(3)
    ),
}


def stream() -> np.ndarray:
    """(samples, 7) inputs of a motion as in training, that goes on."""
    t = np.arange(SAMPLES) / RATE
    x = 0.01 * (np.sin(2 * np.pi * 1.7 * t) + 0.3 * np.sin(2 * np.pi * 4.1 * t))
    v = 0.01 * 2 * np.pi * (1.7 * np.cos(2 * np.pi * 1.7 * t) + 0.3 * 4.1 * np.cos(2 * np.pi * 4.1 * t))
    return np.column_stack([x, v, np.full((SAMPLES, 2), CAPACITY), CAPACITY * np.tanh(v / 0.02), x, np.zeros(SAMPLES)])


CLEAN = stream()


def back_after(model: DeviceModel) -> float:
    """s after which a fault is forgotten: five times the slowest of its oscillators; 2 s for a passive network."""
    if isinstance(model.network, Modulators):
        return 2.0
    return float(5.0 / jnp.exp(model.network.resonators.log_decay).min())


def expected_flags(model: DeviceModel, inputs) -> np.ndarray:
    """Flags by hand, without those of the force: one number after the other, as the document says."""
    limits, flags = model.limits, []
    most = [limits.displacement, limits.velocity, None, None, *limits.signals, np.inf]  # the last: first force
    kept, begun = 0.0, False
    for row in inputs:
        flag = Fault(0)
        for i, value in enumerate(row):
            if not np.isfinite(value):
                flag |= Fault.NOT_FINITE
            elif most[i] is None:
                flag |= Fault.CAPACITY if not 1e-3 <= value <= 1e12 else Fault(0)
            elif abs(value) > most[i]:
                flag |= [Fault.DISPLACEMENT, Fault.VELOCITY, 0, 0, Fault.SIGNAL, Fault.SIGNAL][i]
        if abs(row[0]) <= limits.displacement:
            step = limits.velocity / model.rate
            reached = min(max(row[0], kept - step), kept + step) if begun else row[0]
            flag |= Fault.VELOCITY if reached != row[0] else Fault(0)
            kept, begun = reached, True
        flags.append(int(flag))
    return np.array(flags)


class Followers:
    """A model as JAX, C and ONNX, each from rest along inputs: (samples, 2) forces and flags."""

    def __init__(self, model: DeviceModel, folder):
        runtime = pytest.importorskip("onnxruntime")
        self.model, self.c = model, compiled_model(model)
        scanned = lambda u: jax.lax.scan(lambda s, now: exported_step(model, s, now)[::-1], exported_start(model), u)[1]  # noqa: E731
        self.jax = eqx.filter_jit(scanned)
        (file,) = write_model(SavedModel(model), folder / "device.onnx").files
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])

    def by_jax(self, inputs):
        return np.asarray(self.jax(jnp.asarray(inputs)))

    def by_c(self, inputs):
        self.c.start()
        return np.array([self.c(row).copy() for row in inputs])

    def by_onnx(self, inputs):
        rest = self.session.get_modelmeta().custom_metadata_map
        states = [n for n in self.session.get_inputs() if n.name != "inputs"]
        kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64}
        feed = {n.name: np.array(json.loads(rest[n.name]), kinds[n.type]).reshape(n.shape) for n in states}
        found = []
        for row in inputs:
            force, flags, *after = self.session.run(None, {"inputs": row, **feed})
            feed = dict(zip(feed, after, strict=True))
            found.append([force[0], flags[0]])
        return np.array(found)


@pytest.fixture(scope="module", params=MODELS)
def followers(request, tmp_path_factory):
    if compiler() is None:
        pytest.skip("no C compiler")
    return Followers(MODELS[request.param](), tmp_path_factory.mktemp("export"))


FAULTS = st.lists(
    st.tuples(st.integers(*FAULTY), st.integers(0, 5), st.sampled_from([*ABSURD, 0.0, -1.0])), min_size=1, max_size=12
)


def test_faulty_samples_are_flagged_alike_and_the_force_comes_back(followers):
    model, capacity = followers.model, CAPACITY
    undisturbed = followers.by_jax(CLEAN)
    assert not (undisturbed[:, 1].astype(int) & ~Fault.FORCE).any()

    @settings(max_examples=10, deadline=None)
    @given(faults=FAULTS)
    @example(faults=[(k, i, np.nan) for k in range(*FAULTY) for i in range(6)])
    @example(faults=[(k, 0, 1e6) for k in range(*FAULTY)])
    @example(faults=[(150, 0, 0.025)])  # inside the limit, but no device moves there in a sample
    def check(faults):
        inputs = CLEAN.copy()
        for sample, which, value in faults:
            inputs[sample, which] = value
        force, flags = followers.by_jax(inputs).T
        expected = expected_flags(model, inputs)
        np.testing.assert_array_equal(flags.astype(int) & ~Fault.FORCE, expected)
        for other in (followers.by_c(inputs[:SHORT]), followers.by_onnx(inputs[:SHORT])):
            np.testing.assert_array_equal(other[:, 1], flags[:SHORT])
            np.testing.assert_allclose(other[:, 0], force[:SHORT], atol=1e-5 * capacity)
        assert np.isfinite(force).all()
        np.testing.assert_array_equal(force[: FAULTY[0]], undisturbed[: FAULTY[0], 0])
        late = FAULTY[1] + round(back_after(model) * RATE)
        assert np.abs(force - undisturbed[:, 0])[late:].max() < 0.01 * capacity

    check()


def test_a_fault_in_the_first_samples_is_none_later(followers):
    inputs = CLEAN.copy()
    inputs[:5] = np.nan
    force, flags = followers.by_jax(inputs).T
    assert (flags[:5] == Fault.NOT_FINITE).all() and not (flags[5:].astype(int) & ~Fault.FORCE).any()
    assert np.abs(force[:5]).max() <= 3.0, "the capacity is 1 N until one is given"
    late = round(back_after(followers.model) * RATE)
    assert np.abs(force - followers.by_jax(CLEAN)[:, 0])[late:].max() < 0.01 * CAPACITY


@pytest.mark.parametrize("name", MODELS)
def test_inside_its_limits_a_guarded_model_is_the_model_to_the_last_bit(name):
    model = MODELS[name]()
    setting = Setting(jnp.array([CAPACITY, CAPACITY]), jnp.zeros(()))

    def alone(state, u):
        return model.step(state, DeviceSample(u[0], u[1], u[4:]), setting)

    plain = jax.jit(lambda u: jax.lax.scan(alone, model.start(), u)[1])(jnp.asarray(CLEAN[:400]))
    device = NetworkDevice(model, CAPACITY)

    def in_loop(state, u):
        companion = vb.hybrid.device.Companion(vb.laws.Motion(u[5], 0.0), vb.hybrid.device.Reading(u[4], jnp.zeros(0)))
        reading, state = device.trial(state, vb.laws.Motion(u[0], u[1]), companion, 1 / RATE)
        return state, jnp.stack([reading.force, reading.signals[0]])

    found = jax.jit(lambda u: jax.lax.scan(in_loop, device.start(), u)[1])(jnp.asarray(CLEAN[:400]))
    np.testing.assert_array_equal(found[:, 0], plain)


@pytest.mark.parametrize("part", ["model", "held"])
def test_a_state_that_is_not_finite_starts_again_from_rest(part):
    model = made(network="passive")
    state = exported_start(model)
    spoiled = jax.tree.map(lambda leaf: leaf * jnp.nan, getattr(state.guarded, part))
    state = state._replace(guarded=state.guarded._replace(**{part: spoiled}))
    step = jax.jit(lambda s, u: exported_step(model, s, u))
    (force, flags), state = step(state, jnp.asarray(CLEAN[100]))
    assert np.isnan(force) and int(flags) & Fault.RESTARTED
    again, _ = step(state, jnp.asarray(CLEAN[101]))
    assert np.isfinite(again[0]) and not int(again[1]) & ~Fault.FORCE


def test_a_force_beyond_its_limit_is_flagged_and_left():
    model = made()
    strict = dataclasses.replace(model, limits=dataclasses.replace(model.limits, force=1e-3))
    for one, flagged in ((model, False), (strict, True)):
        step = jax.jit(lambda u, one=one: exported_step(one, exported_start(one), u)[0])
        force, flags = step(jnp.asarray(CLEAN[40]))
        assert bool(int(flags) & Fault.FORCE) == flagged and 1e-3 < abs(float(force)) / CAPACITY < 1.5


def test_as_an_fmu_it_gives_what_the_c_gives_faults_included(followers, tmp_path):
    fmpy, calls = pytest.importorskip("fmpy"), pytest.importorskip("fmpy.fmi2")
    inputs = CLEAN[:SHORT].copy()
    inputs[64:70, 0], inputs[90, 1], inputs[100] = 1e6, np.inf, np.nan
    file, library_for = write_model(SavedModel(followers.model), tmp_path / "damper.fmu")
    assert library_for
    described = fmpy.read_model_description(str(file[0]), validate=True)
    own = calls.FMU2Slave(
        guid=described.guid, unzipDirectory=fmpy.extract(str(file[0]), str(tmp_path / "unzipped")),
        modelIdentifier="damper", instanceName="damper",
    )  # fmt: skip
    own.instantiate()
    own.setupExperiment(startTime=0.0)
    own.enterInitializationMode()
    own.exitInitializationMode()
    found = []
    for i, row in enumerate(inputs):
        own.setReal(list(range(7)), list(row))
        own.doStep(i / RATE, 1 / RATE)
        found.append([own.getReal([7])[0], own.getInteger([0])[0]])
    own.terminate()
    own.freeInstance()
    found, expected = np.array(found), followers.by_c(inputs)
    np.testing.assert_array_equal(found[:, 1], expected[:, 1])
    np.testing.assert_allclose(found[:, 0], expected[:, 0], rtol=1e-6, atol=1e-6 * CAPACITY)
    assert {Fault.NOT_FINITE, Fault.DISPLACEMENT} < set(found[:, 1].astype(int) & ~Fault.FORCE)


def test_limits_follow_from_the_training_tests_and_stay_in_the_file(tmp_path):
    tests = [test_of(0), test_of(1)]
    model = made()
    assert model.limits.displacement == pytest.approx(3 * max(np.abs(t.x).max() for t in tests))
    assert model.limits.velocity == pytest.approx(3 * max(np.abs(t.v).max() for t in tests))
    assert model.limits.signals == pytest.approx(
        [3 * max(np.abs(t.companion[:, i]).max() for t in tests) for i in (0, 1)]
    )
    published = made(network="lstm", min_max=True, plays=0)
    assert published.limits.displacement >= 3 * max(np.abs(t.x).max() for t in tests)
    own = InputLimits(0.02, 0.5, (5e4, 0.02), 1.2)
    saved = load_model(save_model(tmp_path / "own.npz", SavedModel(dataclasses.replace(model, limits=own))))
    assert saved.model.limits == own
    arrays, about = Checkpoint(tmp_path / "own.npz", "vibrid device model 1").load()
    del about["limits"]  # a file from before there were limits
    Checkpoint(tmp_path / "old.npz", "vibrid device model 1").save(arrays, about)
    assert load_model(tmp_path / "old.npz").model.limits == model.limits
    with pytest.raises(InputError, match="2 signals"):
        dataclasses.replace(model, limits=InputLimits(0.02, 0.5))
    with pytest.raises(InputError, match="positive, finite"):
        InputLimits(0.02, float("nan"))


def test_a_hybrid_test_records_the_flags():
    model = dataclasses.replace(made(uses_companion=False), limits=InputLimits(1e-4, 10.0, (), 0.01))
    building = vb.ShearBuilding(masses=[1e4], storeys=[vb.Linear(4e6, 2e4)])
    modelled = vb.hybrid.Modelled(NetworkDevice(model, CAPACITY), at=0, name="damper")
    tested = vb.hybrid.Experimental(vb.hybrid.LawDevice(vb.Linear(1e5)), at=0, name="other")
    test = vb.hybrid.HybridTest(building, [tested], [modelled], rate=RATE)
    glimpses = []
    result = test.run(vb.synthetic_motion(1, duration=2.0, rate=RATE, pga=2.0), glimpses.append)
    flags, moved = result.devices["damper.flags"].astype(int), np.abs(result.devices["damper.displacement"])
    assert ((flags & Fault.DISPLACEMENT > 0) == (moved > 1e-4)).all() and (moved > 1e-4).any()
    share = 100 * np.mean(flags > 0)
    assert f"network 'damper', {share:.2g} % of its samples: the displacement is beyond" in judge(result).reasons[0]
    said, most = [text for glimpse in glimpses for text in glimpse.warnings], model.features.displacement
    strong, time = flags & Fault.FORCE > 0, result.devices.time
    expected = [time[there][0] for there in (moved > 1.05 * most, strong) if there.any()]
    told = [float(text.split(" s: ")[0]) for text in said if "has given" not in text]
    assert strong.any() and sorted(told) == pytest.approx(sorted(expected), abs=1e-3)
