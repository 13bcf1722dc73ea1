"""What a project file makes: the same things that Python code would."""

import inspect

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import FileProblem, VibridError
from vibrid.core.parameters import parameter
from vibrid.laws.base import LAWS
from vibrid.project import sections
from vibrid.project.tables import project_file


def test_a_project_equals_the_same_thing_in_python(project):
    loaded = project("""
        title = "two floors"
        [structure]
        kind = "shear-building"
        masses = {value = "2 t", count = 2}
        storeys = [
            {law = "bouc-wen", stiffness = "40 kN/m", beta = 3.0, gamma = 1},
            {law = "parallel", laws = [{law = "linear", stiffness = 9e3}, {law = "viscous", damping = "2 kN s/m"}]},
        ]
        damping = {kind = "modal", ratios = [0.02, 0.05]}
        [[structure.attachments]]
        law = {law = "cubic", stiffness = 1.0, cubic = -2.0}
        at = "roof"
        to = 0
        [[sensors]]
        quantity = "drift"
        place = 1
        channel = "d1"
        delay = "5 ms"
        noise = "2 mm"
        gain = 0.9
        [simulation]
        integrator = {kind = "kr-alpha", dissipation = 0.8}
        hold = "cubic"
        substeps = 3
        [method]
        name = "trajectory"
    """)
    expected = vb.ShearBuilding(
        masses=[2000.0, 2000.0],
        storeys=[
            vb.BoucWen(stiffness=4e4, beta=3.0, gamma=1.0),
            vb.Parallel([vb.Linear(9e3), vb.Viscous(2e3)]),
        ],
        damping=vb.Modal([0.02, 0.05]),
        attachments=[vb.Attachment(vb.Cubic(1.0, -2.0), at="roof", to=0)],
    )
    assert eqx.tree_equal(loaded.structure, expected)
    (sensor,) = loaded.sensors
    assert (sensor.label, float(sensor.delay), float(sensor.noise), float(sensor.gain)) == ("d1", 0.005, 0.002, 0.9)
    assert loaded.title == "two floors"
    assert loaded.simulation.arguments == {"integrator": loaded.simulation.integrator, "hold": "cubic", "substeps": 3}
    assert isinstance(loaded.simulation.integrator, vb.KRAlpha)
    assert isinstance(loaded.method, vb.TrajectoryFit)


def test_simulation_is_that_of_the_library(project):
    loaded = project()
    motion = vb.synthetic_motion(1, 2.0, 50.0, pga=1.0)
    building = vb.ShearBuilding(masses=[2.0, 1.0], storeys=[vb.Linear(40.0)] * 2)
    np.testing.assert_array_equal(loaded.simulate().displacement, vb.simulate(building, motion).displacement)


def test_a_law_is_known_the_moment_it_is_registered(project):
    @LAWS.register("test-stiffening")
    class Stiffening(vb.laws.StaticLaw):
        """A user's own law, written outside the package."""

        stiffness: object = parameter("stiffness", "N/m", positive=True)
        order: int = 3

        def force(self, e, w, s):
            return self.stiffness * (e + jnp.sign(e) * jnp.abs(e) ** self.order)

    try:
        law = project(None, law=('law = "linear", stiffness = 40.0', 'law = "test-stiffening", stiffness = "1 kN/m"'))
        assert float(law.structure.storeys[1].stiffness) == 1000.0
        with pytest.raises(FileProblem, match="no 'ordre' in a test-stiffening law; did you mean 'order'"):
            project(None, law=('law = "linear", stiffness = 40.0', 'law = "test-stiffening", stiffness = 1, ordre = 2'))
    finally:
        del LAWS._classes["test-stiffening"]


def test_unknowns_are_those_of_the_library(project):
    loaded = project(
        project.text
        + """
        [[unknown]]
        path = "storeys[*].stiffness"
        bounds = ["10 N/m", "0.1 kN/m"]
        prior = [50.0, "5 N/m"]
        [[unknown]]
        path = "sensors[0].gain"
        start = 1.1
    """
    )
    first, second = loaded.unknown
    assert first == vb.Unknown("storeys[*].stiffness", bounds=(10.0, 100.0), prior=(50.0, 5.0))
    assert second == vb.Unknown("sensors[0].gain", start=1.1)


def test_excitation_from_a_file_and_from_columns_of_the_data(project, tmp_path):
    motion = vb.synthetic_motion(3, 4.0, 100.0, pga=2.0)
    motion.write_csv(tmp_path / "quake.csv", units={"ground": "g"})
    loaded = project(
        None,
        file=(
            "synthetic = {seed = 1, duration = 2.0, rate = 50.0, pga = 1.0}",
            'file = "quake.csv"\nscale = 0.5\nend = 3.0\nchannels = [{column = "ground"}]',
        ),
    )
    record = loaded.excitation()
    assert record.duration == pytest.approx(3.0)
    np.testing.assert_allclose(record["ground"], 0.5 * motion["ground"][: len(record)], rtol=1e-12)
    measured = loaded.measure(loaded.simulate())
    measured.write_csv(tmp_path / "measured.csv", units={"displacement_0": "mm"})
    again = loaded.read(tmp_path / "measured.csv")
    np.testing.assert_allclose(again["displacement_0"], measured["displacement_0"], rtol=1e-12)
    assert again.channel("displacement_roof").location == "roof"


def test_columns_without_units_take_those_of_the_project(project, tmp_path):
    (tmp_path / "raw.csv").write_text("t,base,top\n" + "".join(f"{i / 100},{i % 3},{i % 5}\n" for i in range(50)))
    loaded = project(
        None,
        sensor=('place = [0, "roof"]', 'place = "roof"\nchannel = "top"\nunit = "mm"'),
        drive=(
            "synthetic = {seed = 1, duration = 2.0, rate = 50.0, pga = 1.0}",
            'channels = [{column = "base", unit = "g"}]',
        ),
    )
    record = loaded.read(tmp_path / "raw.csv")
    assert record.channel("base").quantity == "ground_acceleration"
    assert (record.channel("top").quantity, record.channel("top").location) == ("displacement", "roof")
    np.testing.assert_allclose(record["top"][4], 4e-3)
    np.testing.assert_allclose(record["base"][1], 9.80665)


SYNTHETIC = "synthetic = {seed = 1, duration = 2.0, rate = 50.0, pga = 1.0}"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (f'{SYNTHETIC}\nquantity = "load"', "it describes a cyclic protocol"),
        ('file = "quake.csv"\nplace = 0', "it describes a cyclic protocol"),
        ('file = "quake.csv"\ndirection = "UD"', "'UD' is vertical"),
        ('channels = [{column = "UD", direction = "up"}]', "'up' is vertical"),
    ],
)
def test_keys_of_an_excitation_that_would_do_nothing_are_refused(project, given, sentence):
    with pytest.raises(VibridError, match=sentence):
        project(None, drive=(SYNTHETIC, given))


def test_one_direction_of_a_file_is_that_of_its_one_component(project, tmp_path):
    channels = [vb.Channel(name, "ground_acceleration", direction="N-S") for name in ("a", "b")]
    record = vb.Record(np.ones((30, 2)), channels, step=0.02, name="both")
    record.select(["b"]).write_csv(tmp_path / "quake.csv")
    loaded = project(None, drive=(SYNTHETIC, 'file = "quake.csv"\ndirection = "x"'))
    assert loaded.excitation().channels == (vb.Channel("b", "ground_acceleration", direction="x"),)
    record.write_csv(tmp_path / "quake.csv")
    with pytest.raises(VibridError, match=r"2 channels of ground motion \(a, b\)"):
        loaded.excitation()


def test_a_named_column_that_is_missing_is_refused_unless_its_load_is_unknown(project, tmp_path):
    record = vb.Record(np.ones((30, 1)), [vb.Channel("shaker", "load", location="0")], step=0.02)
    record.write_csv(tmp_path / "test.csv")
    named = 'channels = [{column = "shake", place = 0, quantity = "load"}]'
    with pytest.raises(VibridError, match=r"no column 'shake', which \[excitation\] names; did you mean 'shaker'"):
        project(None, drive=(SYNTHETIC, named)).read(tmp_path / "test.csv")
    sought = project(None, drive=(SYNTHETIC, named + "\n[[unknown_loads]]\nplace = 0"))
    assert sought.read(tmp_path / "test.csv").names == ()


def test_a_column_in_newtons_is_not_taken_for_the_ground(project, tmp_path):
    (tmp_path / "raw.csv").write_text("t,jack [kN]\n" + "".join(f"{i / 100},{i % 3}\n" for i in range(50)))
    with pytest.raises(VibridError, match="give its quantity under"):
        project(None, drive=(SYNTHETIC, 'channels = [{column = "jack"}]')).read(tmp_path / "raw.csv")


def test_cyclic_protocol(project):
    loaded = project("""
        [structure]
        kind = "device"
        law = {law = "linear", stiffness = 2.0}
        [[sensors]]
        quantity = "element_force"
        place = "device"
        [excitation]
        cyclic = {amplitudes = ["1 mm", 0.002], frequency = 2.0, cycles = 3, rate = 400.0}
        quantity = "imposed_displacement"
    """)
    record = loaded.excitation()
    x = record["imposed_displacement"]
    assert record.duration == pytest.approx(3.0)
    assert np.abs(x[record.time < 1.5]).max() == pytest.approx(1e-3)
    assert np.abs(x[record.time > 1.5]).max() == pytest.approx(2e-3)
    assert x[-1] == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(loaded.measure(loaded.simulate())["element_force_device"], 2 * x, atol=1e-12)


def test_synthetic_settings_are_those_of_the_library():
    known = set(inspect.signature(vb.synthetic_motion).parameters) - {"key", "name"}
    assert set(sections.SyntheticTable.model_fields) == known | {"seed"}


def test_every_registered_name_has_a_table():
    schema = str(project_file().model_json_schema())
    for registry in (
        vb.laws.LAWS,
        vb.structures.STRUCTURES,
        vb.structures.DAMPINGS,
        vb.simulation.INTEGRATORS,
        vb.identification.METHODS,
    ):
        for name in registry:
            assert f"'const': '{name}'" in schema
