"""Ground motions of several components: each in a direction of its own, or refused with the choice; never added."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import vibrid as vb
from vibrid.cli import app
from vibrid.core.errors import InputError, VibridError
from vibrid.project import load_project
from vibrid.project.build import Notes, make
from vibrid.project.load import read_table
from vibrid.project.tables import project_file
from vibrid.simulation.excitation import loads_of
from vibrid.simulation.simulate import simulate_many

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
STEP = 0.02
TIME = STEP * np.arange(60)
WAVES = np.stack([np.sin(9 * TIME), np.sin(4 * TIME), np.cos(7 * TIME) - 1], axis=1)


def ground(*directions, names=None) -> vb.Record:
    names = names or [f"ground_{i}" for i in range(len(directions))]
    channels = [vb.Channel(n, "ground_acceleration", direction=d) for n, d in zip(names, directions, strict=True)]
    return vb.Record(WAVES[:, : len(directions)], channels, step=STEP, name="three components")


STATION = ground("N-S", "E-W", "U-D", names=["NS", "EW", "UD"])
BUILDING = vb.ShearBuilding(masses=[1.0], storeys=[vb.Linear(40.0, 0.4)])
FRAME = vb.Frame2D(
    nodes=[(0, 0), (0, 3), (4, 3), (4, 0)], elements=[(0, 1), (1, 2), (2, 3)], modulus=210e9, area=2e-3, inertia=8e-6,
    density=7850, supports={0: "fixed", 3: "fixed"}, damping=vb.Rayleigh(0.5, 1e-4),
)  # fmt: skip
TRIPOD = vb.Truss(
    nodes=[(1, 0, 0), (-1, 1, 0), (-1, -1, 0), (0, 0, 2)], bars=[(0, 3), (1, 3), (2, 3)], modulus=1e6, area=1e-3,
    density=1000, supports={0: "fixed", 1: "fixed", 2: "fixed"},
)  # fmt: skip


@pytest.fixture(scope="module")
def structures() -> dict:
    """One structure of every registered kind, from the examples."""
    notes = Notes()
    tables = {name: read_table(EXAMPLES / f"{name}.toml", project_file)[1] for name in vb.structures.STRUCTURES}
    return {name: make(table.structure, (), notes) for name, table in tables.items()}


@pytest.mark.parametrize("name", list(vb.structures.STRUCTURES))
@pytest.mark.parametrize(
    "directions",
    [("N-S", "E-W", "U-D"), ("N-S", "E-W"), ("", ""), ("x", "x"), ("090", "360", "Up"), ("H1", "H2"), ("X+", "Y+")],
    ids=" ".join,
)
def test_no_structure_adds_components(structures, name, directions):
    """Two horizontal components go into no plane structure; with a vertical one neither."""
    structure = structures[name]
    if name == "rigid-floor-building" and directions == ("X+", "Y+"):
        assert [place for _, place in loads_of(structure, ground(*directions))] == ["x", "y"]
        return
    if isinstance(structure, vb.structures.device.ImposedTest):
        with pytest.raises(VibridError):
            vb.simulate(structure, ground(*directions))
        return
    with pytest.raises(InputError, match=r"driven_by|one of them"):
        loads_of(structure, ground(*directions))
    with pytest.raises(InputError, match="at once"):
        structure.model((("ground_acceleration", ""), ("ground_acceleration", next(iter(structure.ground_axes())))))


def test_names_in_files_are_understood_where_they_fit_one_direction():
    def along(structure, *directions):
        return [place for _, place in loads_of(structure, ground(*directions))]

    assert along(FRAME, "N-S", "U-D") == along(FRAME, "090", "Up") == along(FRAME, "H1", "V") == ["x", "y"]
    assert along(FRAME, "y", "x") == ["y", "x"] and along(FRAME, "") == along(FRAME, "X+") == ["x"]
    assert along(TRIPOD, "X+", "Z+", "Y+") == ["x", "z", "y"] and along(TRIPOD, "Up") == ["z"]
    assert along(BUILDING, "N-S") == along(BUILDING, "360 Deg") == along(BUILDING, "x") == [""]
    beam = vb.Beam([0.0, 1.0, 2.0], modulus=1e9, area=1e-3, inertia=1e-6, density=1000)
    assert along(beam, "") == ["lateral"] and along(beam, "axial", "lateral") == ["axial", "lateral"]


@pytest.mark.parametrize(
    ("structure", "direction", "sentence"),
    [
        (BUILDING, "U-D", "vertical"),
        (BUILDING, "z", "vertical"),
        (FRAME, "Y", "may be the vertical 'y'"),
        (FRAME, "Down", "positive downwards"),
        (FRAME, "z", "no direction of ground motion called 'z'"),
        (TRIPOD, "N-S", "any of the directions x, y"),
    ],
)
def test_a_direction_that_does_not_fit_is_refused(structure, direction, sentence):
    with pytest.raises(InputError, match=sentence):
        vb.simulate(structure, ground(direction))


def test_two_components_of_a_frame_act_each_in_its_own_direction():
    loads = loads_of(FRAME, ground("N-S", "U-D"))
    x, y = np.asarray(FRAME.model(loads).load_matrix).T
    np.testing.assert_array_equal(x, -FRAME.ground_inertia("x"))
    np.testing.assert_array_equal(y, -FRAME.ground_inertia("y"))
    assert abs(x @ FRAME.ground("y")) < 1e-9 * abs(x @ FRAME.ground("x"))


def test_matrices_take_one_influence_vector_for_each_direction():
    mass, stiffness = np.diag([1.0, 2.0]), np.diag([30.0, 50.0])
    plan = vb.Matrices(mass, stiffness, influence={"x": [1, 0], "y": [0, 1]})
    np.testing.assert_array_equal(plan.model(loads_of(plan, ground("y", "x"))).load_matrix, [[0, -1], [-2, 0]])
    assert plan.carried("1", "y") == 1.0 and plan.carried("1", "x") == 0.0
    with pytest.raises(InputError, match="influence"):
        vb.Matrices(mass, stiffness, influence={"x": [1, 0, 0]})


def test_the_influence_of_the_ground_is_found():
    """How far the ground carries each point: as the influence vector says it, and as an unknown."""
    stiffness = [[900.0, -400.0], [-400.0, 400.0]]
    free = vb.Matrices([1.0, 1.0], stiffness, damping=vb.Rayleigh(0.3, 0.0), influence_factor=[1.0, 1.0])
    true = free.replace({"influence_factor": [1.0, 0.6]})
    given = vb.Matrices([1.0, 1.0], stiffness, damping=vb.Rayleigh(0.3, 0.0), influence=[1.0, 0.6])
    motion = vb.Record(WAVES[:, :1], [vb.Channel("g", "ground_acceleration")], step=STEP)
    sensors = vb.Sensors(absolute_acceleration=[0, 1])
    ours, theirs = (vb.simulate(s, motion).measure(sensors) for s in (true, given))
    np.testing.assert_allclose(ours.data, theirs.data, rtol=1e-12, atol=1e-15)
    noisy = vb.simulate(true, motion).measure(sensors, noise=0.01, key=1)
    found = vb.identify(free, noisy, ["influence_factor[1]"], sensors=sensors, checks="none")
    assert abs(found.values["influence_factor[1]"] - 0.6) < 0.01
    with pytest.raises(InputError, match="'influence_factor' has shape"):
        vb.Matrices([1.0, 1.0], stiffness, influence_factor=[1.0, 1.0, 1.0])


def test_driven_by_leaves_what_was_measured():
    channels = [*STATION.channels, vb.Channel("roof", "absolute_acceleration", location="0")]
    record = vb.Record(np.column_stack([STATION.data, WAVES[:, 0]]), channels, step=STEP)
    chosen = record.driven_by("EW")
    assert chosen.names == ("EW", "roof") and chosen.channel("EW").direction == "E-W"
    with pytest.raises(InputError, match="is no excitation"):
        record.driven_by("roof")
    with pytest.raises(InputError, match="no channel called 'WE'"):
        record.driven_by({"WE": "x"})


def _measured() -> vb.Record:
    response = vb.simulate(BUILDING, STATION.driven_by("NS")).measure(vb.Sensors(displacement=[0]))
    data = np.column_stack([STATION.data, response["displacement_0"]])
    return vb.Record(data, [*STATION.channels, *response.channels[1:]], step=STEP, name="station and floor")


@pytest.mark.parametrize("job", ["identify", "find_loads", "hybrid", "simulate_many", "online"])
def test_every_job_refuses_what_would_be_added(job):
    record = _measured()
    horizontal = record.driven_by(["NS", "EW"])
    with pytest.raises(InputError, match="at once"):
        if job == "identify":
            vb.identify(BUILDING, horizontal, ["storeys[0].stiffness"])
        elif job == "find_loads":
            vb.find_loads(BUILDING, horizontal, [vb.UnknownLoad("0")])
        elif job == "hybrid":
            device = vb.Experimental(vb.Linear(1.0), at=0)
            vb.HybridTest(BUILDING, [device], [], vb.MKRAlpha(0.75), rate=1 / STEP).run(horizontal)
        elif job == "simulate_many":
            simulate_many(BUILDING, horizontal, {"storeys[0].stiffness": np.array([1.0, 2.0])})
        else:
            from vibrid.identification.online.live import live_problem

            live_problem(BUILDING, vb.Sensors.of(horizontal), ["storeys[0].stiffness"], horizontal)


def test_unknown_ground_motions_in_one_direction_are_refused():
    sought = [vb.UnknownLoad(d, quantity="ground_acceleration") for d in ("N-S", "E-W")]
    with pytest.raises(InputError, match="at once"):
        vb.find_loads(BUILDING, _measured().driven_by("NS"), sought)


def test_motions_of_a_batch_drive_one_direction():
    with pytest.raises(InputError, match="ground acceleration y"):
        simulate_many(FRAME, [STATION.driven_by({"NS": "x"}), STATION.driven_by({"UD": "y"})])


# -- the command line -------------------------------------------------------------------------------------------------

PROJECT = """
[structure]
kind = "shear-building"
masses = [1.0]
storeys = [{law = "linear", stiffness = 40.0, damping = 0.4}]
[[sensors]]
quantity = "displacement"
place = 0
[excitation]
file = "station.csv"
[[unknown]]
path = "storeys[*].stiffness"
start = 30.0
"""
ONE = 'file = "station.csv"\nchannels = [{column = "EW"}]'


@pytest.fixture
def folder(tmp_path):
    STATION.write_csv(tmp_path / "station.csv")
    (tmp_path / "all.toml").write_text(PROJECT)
    (tmp_path / "one.toml").write_text(PROJECT.replace('file = "station.csv"', ONE))
    return tmp_path


def test_commands_refuse_several_components_and_take_the_one_that_is_named(folder):
    def run(*words):
        return CliRunner().invoke(app, [str(w) for w in words])

    refused = run("simulate", folder / "all.toml")
    assert refused.exit_code == 1 and "[excitation] channels" in refused.output + refused.stderr
    assert run("simulate", folder / "one.toml", "--out", folder / "one.csv").exit_code == 0
    made = vb.read_record(folder / "one.csv")
    assert made.names == ("EW", "displacement_0")
    np.testing.assert_allclose(
        made["displacement_0"], vb.simulate(BUILDING, STATION.driven_by("EW")).displacement[:, 0]
    )

    record = _measured()
    record.write_csv(folder / "measured.csv")
    refused = run("identify", folder / "all.toml", folder / "measured.csv")
    assert refused.exit_code == 1 and "vertical" in refused.output + refused.stderr
    read = load_project(folder / "one.toml").read(folder / "measured.csv")
    assert loads_of(BUILDING, read) == (("ground_acceleration", ""),)
    assert read.names == ("EW", "displacement_0")
