"""Offsets of sensors and of the measured excitation: found, honoured where known, refused where they cannot be."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from identification.small import TWO, TWO_SENSORS, two
from vibrid.identification.augmented import first_state, move, read
from vibrid.identification.experiment import Experiment
from vibrid.identification.unknowns import compile_unknowns
from vibrid.project import load_project

SENSORS = {"displacement_0": 0.01, "displacement_1": -0.02, "velocity_0": 0.05, "acceleration_1": 0.4}
GUESS = TWO.replace({"storeys[*].stiffness": np.array([50.0, 46.0])})


def shifted(noise: float = 0.02, ground: float = 0.0, key: int = 0) -> vb.Record:
    """Readings of the reference, each with an offset of its own."""
    data = two(noise, key)
    values = np.array(data.data)
    for name, offset in {**SENSORS, "ground": ground}.items():
        values[:, data.index(name)] += offset
    return data.replace(data=values)


def placed() -> vb.Sensors:
    return vb.Sensors([vb.Sensor(s.quantity, s.place, offset=SENSORS.get(s.label, 0.0)) for s in TWO_SENSORS])


def test_a_sensor_reads_its_offset():
    sensor = vb.Sensor("displacement", 0, gain=2.0, delay=0.013, offset=0.3, noise=0.0)
    plain = vb.Sensor("displacement", 0, gain=2.0, delay=0.013, noise=0.0)
    response = vb.simulate(TWO, two(0.0).select(["ground"]))
    read = [response.readings([s]) for s in (sensor, plain)]
    np.testing.assert_allclose(read[0] - read[1], 0.3, rtol=1e-12)
    assert vb.Sensors([sensor]).noiseless()[0].offset == 0.3


def test_offsets_of_sensors_and_ground_are_found():
    fit = vb.identify(GUESS, shifted(ground=0.15), ["storeys[*].stiffness", "sensors[*].offset", "loads[0].offset"])
    truth = [60.0, 40.0, *(SENSORS.get(s.label, 0.0) for s in TWO_SENSORS), 0.15]
    assert np.all(np.abs(fit.estimate - truth) < 4 * fit.deviation)
    assert fit.model_fits and fit.limits.identifiable.all()
    assert fit.units[2:] == ("m", "m", "m/s", "m/s", "m/s^2", "m/s^2", "m/s^2")
    other = shifted(ground=0.15, key=3).relabel({"ground": {"direction": "NS"}})  # a file's word for the same direction
    assert max(fit.validate(other).relative_error.values()) < 0.03


def test_without_them_the_model_does_not_fit():
    fit = vb.identify(GUESS, shifted(), "storeys[*].stiffness", vb.TrajectoryFit(segments=1))
    assert not fit.model_fits and "displacement_1" in fit.verdict
    assert "most of the residual is a constant" in fit.verdict


U = np.array([[0.3], [0.7]])


def test_a_filter_moves_by_the_excitation_and_reads_with_the_offset():
    """The filters carry the unknowns in their state: `(0.01 m, 0.15 m/s²)` there is the same as taken off by hand."""
    some = shifted(ground=0.15).select(["ground", "displacement_0"])
    problem = vb.identification.make_problem(TWO, some, ["sensors[0].offset", "loads[0].offset"])
    assert problem.needs <= vb.ExtendedKalman.abilities and problem.needs <= vb.UnscentedKalman.abilities

    @jax.jit
    def step(free, before, after):
        z = move(problem, first_state(problem, free), before, after, 0.02)
        return z[:4], read(problem, z, after)

    plain, there = jnp.zeros(2), jnp.asarray(problem.unknowns.to_free([0.01, 0.15]))
    (motion, reading), (same, shifted_reading) = step(plain, *U), step(there, *(U + 0.15))
    np.testing.assert_allclose(motion, same, rtol=1e-12)
    np.testing.assert_allclose(shifted_reading - reading, 0.01, rtol=1e-9)


@pytest.mark.parametrize("method", ["least-squares", "weak-collocation"])
def test_known_offsets_are_taken_off(method):
    fit = vb.identify(GUESS, shifted(0.0), ["storeys[*].stiffness"], method, sensors=placed())
    np.testing.assert_allclose(fit.estimate, [60.0, 40.0], rtol=2e-3)


@pytest.mark.parametrize("unknown", ["sensors[0].offset", "loads[0].offset"])
@pytest.mark.parametrize("method", ["least-squares", "sparse", "siva", "weak-collocation", "pidynnet", "online-masing"])
def test_methods_that_cannot_say_who_can(method, unknown):
    with pytest.raises(vb.Refusal, match=r"offset of a .* is unknown.*trajectory"):
        vb.identify(GUESS, shifted(), ["storeys[*].stiffness", unknown], method)


def test_what_the_data_cannot_separate_is_told():
    some = shifted().select(["ground", "displacement_0", "displacement_1"])
    fit = vb.identify(TWO, some, ["loads[0].offset", "sensors[*].offset", "initial[0].displacement"])
    assert not fit.limits.identifiable.any()
    assert "loads[0].offset/(" in fit.limits.inseparable[0] and "ln(" not in fit.limits.inseparable[0]


def test_scales_come_from_the_channels():
    data = shifted()
    unknowns = vb.identification.make_problem(TWO, data, ["sensors[*].offset", "loads[*].offset"]).unknowns
    wanted = [data[n].std() for n in (*(s.label for s in TWO_SENSORS), "ground")]
    np.testing.assert_allclose(unknowns.scale, wanted, rtol=1e-12)
    assert set(unknowns.kinds) == {"linear"} and not np.any(np.asarray(unknowns.start))


def test_permanent_loads_of_a_structure_keep_their_paths():
    experiment = Experiment(TWO, tuple(TWO_SENSORS), (vb.Initial.rest(2),))
    assert experiment.full_path("loads[0].force") == "structure.loads[0].force"
    with pytest.raises(vb.InputError, match="'loads' has 0 parts"):
        compile_unknowns(experiment, ["loads[0].offset"])


def test_a_result_with_offsets_is_kept_and_read_back(tmp_path):
    some = shifted(ground=0.1).select(["ground", "displacement_0", "displacement_1"])
    fit = vb.identify(TWO, some, ["sensors[0].offset", "loads[0].offset"], sensors=vb.Sensors(displacement=[0, 1]))
    fit.save(tmp_path / "fit.h5")
    again = vb.load_identification(tmp_path / "fit.h5")
    assert again.experiment.loads[0].offset == fit.experiment.loads[0].offset
    np.testing.assert_allclose(again.predictions[0], fit.predictions[0])


PROJECT = """
[structure]
kind = "shear-building"
masses = [1.0, 0.8]
storeys = [{law = "linear", stiffness = 60.0, damping = 0.9}, {law = "linear", stiffness = 40.0, damping = 0.7}]

[[sensors]]
quantity = "displacement"
place = [0, 1]
offset = "10 mm"

[excitation]
channels = [{column = "jack", quantity = "load", place = "1", unit = "kN"}]

[[unknown]]
path = "sensors[*].offset"
scale = "5 mm"

[[unknown]]
path = "loads[0].offset"
bounds = ["-1 kN", "1 kN"]
"""


def test_a_project_file_names_offsets(tmp_path):
    path = tmp_path / "offsets.toml"
    path.write_text(PROJECT)
    project = load_project(path)
    assert [float(s.offset) for s in project.sensors] == [0.01, 0.01]
    assert project.unknown[0].scale == 0.005 and project.unknown[1].bounds == (-1000.0, 1000.0)
    path.write_text(PROJECT.replace("loads[0]", "loads[1]").replace('"10 mm"', '"10 kN"'))
    with pytest.raises(vb.VibridError, match=r"(?s)sensors\[0\].offset: 'kN' measures force"):
        load_project(path)
