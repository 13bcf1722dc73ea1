"""A step as an FMU: its description is valid, and another program's run of it gives what the C gives."""

import ctypes
import subprocess
import xml.etree.ElementTree as xml
import zipfile

import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.traced import trace
from vibrid.networks.export import Bit, CompiledStep, Interface, Port, fmu, write_fmu
from vibrid.networks.export.compiled import compiler

RATE = 128.0
INTERFACE = Interface(
    [Port("displacement", "m"), Port("velocity", "m/s", "a & b", 0.25)], [Port("force", "N")],
    [Bit("LARGE", 1, "|x| > 1")], [Port("limit_displacement", "m", "", 1.0)], "a spring with a memory",
)  # fmt: skip
ERROR = "status 3"
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler")


def spring(state, u):
    state = 0.9 * state + u[0] + 0.1 * u[1]
    return jnp.stack([jnp.tanh(state), jnp.where(jnp.abs(u[0]) > 1.0, 1.0, 0.0)]), state


TRACED = trace(spring, jnp.zeros(()), 2, jnp.float64)


def packed(folder, name="my spring.fmu"):
    return write_fmu(TRACED, folder / name, INTERFACE, rate=RATE)


def motion(samples=200):
    t = np.arange(samples) / RATE
    return t, 1.2 * np.sin(9 * t), 10.8 * np.cos(9 * t)


def by_c(x, v):
    step = CompiledStep(TRACED)
    return np.array([step([a, b]).copy() for a, b in zip(x, v, strict=True)])


@needs_compiler
def test_fmpy_finds_no_fault_and_runs_it_as_the_c(tmp_path):
    fmpy, validation = pytest.importorskip("fmpy"), pytest.importorskip("fmpy.validation")
    file, library_for = packed(tmp_path)
    assert library_for and validation.validate_fmu(str(file)) == []
    described = fmpy.read_model_description(str(file), validate=True, validate_variable_names=True)
    assert described.coSimulation.modelIdentifier == "my_spring" and described.coSimulation.canSerializeFMUstate
    units = {variable.name: variable.unit for variable in described.modelVariables}
    assert units == {"displacement": "m", "velocity": "m/s", "force": "N", "limit_displacement": "m", "flags": None}
    t, x, v = motion()
    given = np.rec.fromarrays([t, x, v], names=["time", "displacement", "velocity"])
    found = fmpy.simulate_fmu(
        str(file), stop_time=t[-1], step_size=1 / RATE, output_interval=1 / RATE, input=given,
        output=["force", "flags", "limit_displacement"],
    )  # fmt: skip
    expected = by_c(x, v)
    assert found["force"][0] == 0.0 and (found["limit_displacement"] == 1.0).all()
    np.testing.assert_array_equal(found["flags"][1:], expected[: len(found) - 1, 1])
    np.testing.assert_allclose(found["force"][1:], expected[: len(found) - 1, 0], rtol=1e-12)
    assert found["flags"].any() and not found["flags"].all()


@pytest.fixture(scope="module")
def slave(tmp_path_factory):
    """An instance of the FMU through FMPy's calls of each function, initialised."""
    if compiler() is None:
        pytest.skip("no C compiler")
    fmpy, calls = pytest.importorskip("fmpy"), pytest.importorskip("fmpy.fmi2")
    folder = tmp_path_factory.mktemp("fmu")
    file, _ = packed(folder)
    described = fmpy.read_model_description(str(file))
    own = calls.FMU2Slave(
        guid=described.guid, unzipDirectory=fmpy.extract(str(file), str(folder / "unzipped")),
        modelIdentifier=described.coSimulation.modelIdentifier, instanceName="one",
    )  # fmt: skip
    own.instantiate()
    yield own
    own.freeInstance()


def begun(own):
    own.reset()
    own.setupExperiment(startTime=2.0)
    own.enterInitializationMode()
    own.exitInitializationMode()
    return own


def test_a_saved_state_goes_on_as_the_first_time(slave):
    _, x, v = motion(30)
    own, expected = begun(slave), by_c(x, v)[:, 0]
    assert own.getReal([1]) == [0.25]

    def through(first, last):
        forces = []
        for i in range(first, last):
            own.setReal([0, 1], [x[i], v[i]])
            own.doStep(currentCommunicationPoint=2.0 + i / RATE, communicationStepSize=1 / RATE)
            forces += own.getReal([2])
        return forces

    np.testing.assert_allclose(through(0, 10), expected[:10], rtol=1e-12)
    state = own.getFMUstate()
    kept = own.serializeFMUstate(state)
    np.testing.assert_allclose(through(10, 30), expected[10:], rtol=1e-12)
    own.setFMUstate(state)
    np.testing.assert_allclose(through(10, 30), expected[10:], rtol=1e-12)
    again = own.deSerializeFMUstate(kept)
    own.setFMUstate(again)
    np.testing.assert_allclose(through(10, 30), expected[10:], rtol=1e-12)
    own.freeFMUstate(state), own.freeFMUstate(again)
    assert own.getRealStatus(2) == pytest.approx(2.0 + 30 / RATE)


def test_a_long_step_holds_its_inputs(slave):
    own = begun(slave)
    own.setReal([0, 1], [1.5, 0.0])
    own.doStep(2.0, 3 / RATE)
    assert own.getReal([2])[0] == pytest.approx(by_c([1.5] * 3, [0.0] * 3)[-1, 0], rel=1e-12)
    assert own.getInteger([0]) == [1]


def test_wrong_calls_are_refused(slave):
    own = begun(slave)
    for size in (0.4 / RATE, 1.5 / RATE, 0.0, -1 / RATE, float("nan")):
        with pytest.raises(Exception, match=ERROR):
            own.doStep(2.0, size)
    for call in (lambda: own.setReal([2], [1.0]), lambda: own.getReal([4]), lambda: own.getInteger([1]),
                 lambda: own.setInteger([0], [1]), lambda: own.getBoolean([0])):  # fmt: skip
        with pytest.raises(Exception, match=ERROR):
            call()
    own.reset()
    with pytest.raises(Exception, match=ERROR):  # not initialised
        own.doStep(2.0, 1 / RATE)
    library = own.dll
    library.fmi2Instantiate.restype = ctypes.c_void_p
    wrong = library.fmi2Instantiate(b"two", 1, b"{another}", None, None, 0, 0)
    assert wrong is None


@needs_compiler
def test_its_sources_compile_without_warnings(tmp_path):
    with zipfile.ZipFile(packed(tmp_path)[0]) as archive:
        archive.extractall(tmp_path)
    sources = [str(tmp_path / "sources" / name) for name in ("fmi2.c", "device.c")]
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC", "-fvisibility=hidden"]
    made = subprocess.run(
        [compiler(), *strict, *sources, "-o", tmp_path / "a.so", "-lm"], capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr


def test_without_a_compiler_it_holds_sources_only(tmp_path, monkeypatch):
    monkeypatch.setattr(fmu, "compiler", lambda: None)
    file, library_for = packed(tmp_path, "1.fmu")
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        described = xml.fromstring(archive.read("modelDescription.xml"))
    assert not library_for and not [name for name in names if name.startswith("binaries")]
    listed = [f"sources/{element.get('name')}" for element in described.iter("File")]
    assert set(listed) < set(names) and described.find("CoSimulation").get("modelIdentifier") == "device_1"


def test_the_same_step_gives_the_same_file(tmp_path, monkeypatch):
    monkeypatch.setattr(fmu, "compiler", lambda: None)
    one, two = packed(tmp_path, "a.fmu")[0].read_bytes(), packed(tmp_path, "a.fmu")[0].read_bytes()
    assert one == two


def test_a_step_without_flags_or_of_32_bits_is_refused(tmp_path):
    for step, interface in ((TRACED, Interface([Port("a"), Port("b")], [Port("f"), Port("g")])),
                            (trace(spring, jnp.zeros(()), 2), INTERFACE)):  # fmt: skip
        with pytest.raises(vb.InputError, match="64 bits, and flags"):
            write_fmu(step, tmp_path / "a.fmu", interface, rate=RATE)
    with pytest.raises(vb.InputError, match=r"ends in \.fmu"):
        packed(tmp_path, "a.zip")
