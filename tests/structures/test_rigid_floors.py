"""Buildings in plan against an assembly about the centres of mass in NumPy and SciPy, and against OpenSees."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import eigh, expm

import vibrid as vb
from vibrid.project import load_project
from vibrid.report.drawing_symbols import UNKNOWN
from vibrid.report.structure_drawing import draw_structure

MASSES, ROTARY = np.array([3.0e4, 2.4e4]), np.array([4.2e5, 3.0e5])
CENTRES = np.array([[5.2, 3.6], [4.6, 4.1]])
LINES = [  # stiffness of each storey, point, angle
    ((1.6e7, 1.2e7), (0.0, 0.0), 0.0),
    ((2.1e7, 1.4e7), (0.0, 8.0), 0.0),
    ((1.5e7, 1.1e7), (0.0, 0.0), 90.0),
    ((2.6e7,), (10.0, 0.0), 90.0),
    ((0.8e7, 0.9e7), (10.0, 5.0), 30.0),
    ((0.7e7, 1.0e7), (7.0, 0.0), 90.0),
]
A, B = 0.35, 9e-4


def building(damping=None):
    words = {0.0: "x", 90.0: "y"}
    lines = [vb.FrameLine([vb.Linear(k) for k in own], at, words.get(angle, angle)) for own, at, angle in LINES]
    return vb.RigidFloorBuilding(
        MASSES, ROTARY, lines, centre_x=CENTRES[:, 0], centre_y=CENTRES[:, 1], damping=damping or vb.Rayleigh(A, B)
    )


def about_the_centres():
    """M and K over x, y and rotation of each floor at its own centre of mass, from the work of every spring."""
    mass = np.diag([v for m, j in zip(MASSES, ROTARY, strict=True) for v in (m, m, j)])
    stiffness = np.zeros((6, 6))
    for own, at, angle in LINES:
        turn = np.radians(angle)
        along = np.array([np.cos(turn), np.sin(turn)])
        for storey, k in enumerate(own):
            for i in range(6):
                for j in range(6):
                    drifts = []
                    for dof in (i, j):
                        floors = np.zeros((2, 3))
                        floors.ravel()[dof] = 1.0
                        moved = [
                            along @ (f[:2] + f[2] * np.array([-(at[1] - c[1]), at[0] - c[0]]))
                            for f, c in zip(floors, CENTRES, strict=True)
                        ]
                        drifts.append(moved[storey] - (moved[storey - 1] if storey else 0.0))
                    stiffness[i, j] += k * drifts[0] * drifts[1]
    return mass, stiffness


def shaken(steps=400, step=0.01):
    t = np.arange(steps) * step
    x = 2.0 * np.sin(9.0 * t) * np.exp(-t) + np.sin(23.0 * t + 1.0) - np.sin(1.0)
    y = 1.5 * np.sin(13.0 * t) * np.cos(0.7 * t)
    channels = [vb.Channel(f"g{d}", "ground_acceleration", direction=d) for d in "xy"]
    return vb.Record(np.stack([x, y], axis=1), channels, step=step)


def test_frequencies():
    mass, stiffness = about_the_centres()
    wanted = np.sqrt(eigh(stiffness, mass, eigvals_only=True)) / (2 * np.pi)
    np.testing.assert_allclose(vb.modes(building()).frequencies, wanted, rtol=1e-12)


def test_one_floor_with_one_eccentricity():
    """ω² of a floor whose stiffness in y is at a distance e from its mass: the classic quadratic."""
    m, j, k, kt, e = 2e4, 3e5, 3e7, 8e8, 1.5
    half = 5.0
    lines = [
        vb.FrameLine([vb.Linear(k / 2)], (e + half, 0), "y"),
        vb.FrameLine([vb.Linear(k / 2)], (e - half, 0), "y"),
        vb.FrameLine([vb.Linear(kt / 2)], (0, 1), 0.0),
        vb.FrameLine([vb.Linear(kt / 2)], (0, -1), "x"),
    ]
    turning = kt + k * half**2 + k * e**2  # about the mass
    a, b, c = 1.0, -(k / m + turning / j), (k * turning - (k * e) ** 2) / (m * j)
    roots = np.roots([a, b, c])
    found = (2 * np.pi * np.asarray(vb.modes(vb.RigidFloorBuilding([m], j, lines)).frequencies)) ** 2
    np.testing.assert_allclose(sorted([*roots, kt / m]), found, rtol=1e-12)


def test_two_components_move_every_point():
    """Exact for accelerations that are straight between samples; points are read by rigid motion."""
    mass, stiffness = about_the_centres()
    damping = A * mass + B * stiffness
    n, step = 6, 0.01
    drive = np.zeros((n, 2))
    drive[[0, 3], 0] = drive[[1, 4], 1] = -1.0
    big = np.zeros((2 * n + 4, 2 * n + 4))
    big[:n, n : 2 * n] = np.eye(n)
    big[n : 2 * n, :n], big[n : 2 * n, n : 2 * n] = -np.linalg.solve(mass, stiffness), -np.linalg.solve(mass, damping)
    big[n : 2 * n, 2 * n : 2 * n + 2] = drive
    big[2 * n : 2 * n + 2, 2 * n + 2 :] = np.eye(2)
    one = expm(big * step)
    record = shaken()
    ground = np.asarray(record.data)
    state, states = np.zeros(2 * n), [np.zeros(2 * n)]
    for u, after in itertools.pairwise(ground):
        state = (one @ np.concatenate([state, u, (after - u) / step]))[: 2 * n]
        states.append(state)
    states = np.array(states)
    point = np.array([9.0, 1.5])
    arm = point - CENTRES[1]
    wanted = np.stack([states[:, 3] - arm[1] * states[:, 5], states[:, 4] + arm[0] * states[:, 5]], axis=1)
    structure = building()
    response = vb.simulate(structure, record, integrator=vb.ExactLinear())
    found = np.stack([response.displacement @ structure.row(f"roof@9.0,1.5.{d}") for d in "xy"], axis=1)
    np.testing.assert_allclose(found, wanted, atol=1e-10 * np.abs(wanted).max())
    acceleration = response.acceleration @ structure.row("1@9.0,1.5.y") + ground[:, 1]
    read = response.measure(vb.Sensors(absolute_acceleration=["1@9.0,1.5.y"], drift=["1@9.0,1.5.x"], rotation=["roof"]))
    np.testing.assert_allclose(
        read["absolute_acceleration_1@9.0,1.5.y"], acceleration, atol=1e-12 * np.abs(acceleration).max()
    )
    arm0 = point - CENTRES[0]
    below = states[:, 0] - arm0[1] * states[:, 2]
    np.testing.assert_allclose(read["drift_1@9.0,1.5.x"], wanted[:, 0] - below, atol=1e-9 * np.abs(wanted).max())
    np.testing.assert_allclose(read["rotation_roof"], states[:, 5], atol=1e-10 * np.abs(states[:, 5]).max())


def test_stiffnesses_and_the_centre_of_mass_are_identified():
    """From three accelerometers on each floor under two components; the truth is found from a wrong start."""
    truth = building()
    sensors = vb.Sensors(absolute_acceleration=[f"{i}@{p}" for i in (0, 1) for p in ("0,0.x", "0,0.y", "10,8.x")])
    data = vb.simulate(truth, shaken(160)).measure(sensors, noise=0.01, key=3)
    guess = truth.replace(
        {"lines[2].storeys[0].stiffness": 1.0e7, "centre_x[1]": 5.4, "lines[4].storeys[1].stiffness": 1.5e7}
    )
    fit = vb.identify(
        guess,
        data,
        unknown=["lines[2].storeys[0].stiffness", "lines[4].storeys[1].stiffness", "centre_x[1]"],
        method=vb.TrajectoryFit(),
        hold="linear",
        substeps=1,
        checks="none",
    )
    found = np.array([fit.values[name] for name in fit.names])
    wanted = np.array([1.5e7, 0.9e7, 4.6])
    assert np.all(np.abs(found - wanted) <= 4 * np.asarray(fit.deviation))
    np.testing.assert_allclose(found, wanted, rtol=0.02)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"lines": building().lines[:2]}, "Storey 0 can move or turn without resistance"),
        ({"rotary": [1e5, 1e5, 1e5]}, "'rotary' is one number, or one for each of the 2 floors"),
        ({"damping": vb.Viscous(3.0)}, "Laws of damping belong to frame lines"),
        ({"lines": [vb.FrameLine([vb.Linear(1e6)] * 3, (0, 0), "x")]}, "Frame line 0 has 3 storeys and the building 2"),
        ({"masses": []}, "needs the mass of each floor"),
        ({"attachments": [vb.Attachment(vb.Linear(1.0), "7.x")]}, "'7' is not a floor of this building"),
    ],
)
def test_what_is_no_building_is_refused(change, sentence):
    given = {"masses": MASSES, "rotary": ROTARY, "lines": building().lines} | change
    with pytest.raises(vb.InputError, match=sentence):
        vb.RigidFloorBuilding(**given)


@pytest.mark.parametrize(
    ("place", "sentence"),
    [("1", "needs a direction"), ("1@2.x", "names no point"), ("1@a,b.x", "names no point"), ("2.x", "not a floor"),
     ("1@1,2", "needs a direction"), ("1@nan,0.x", "names no point")],
)  # fmt: skip
def test_places_that_are_none(place, sentence):
    with pytest.raises(vb.InputError, match=sentence):
        building().row(place)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (([vb.Linear(1.0)], (0, 0), "z"), "along 'x', 'y' or an angle"),
        (([vb.Linear(1.0)], (0, 0, 1), "x"), "at a point"),
        (([], (0, 0), "x"), "at least its lowest storey"),
        (([3.0], (0, 0), "x"), "needs a law"),
    ],
)
def test_lines_that_are_none(given, sentence):
    with pytest.raises(vb.InputError, match=sentence):
        vb.FrameLine(*given)


def test_a_component_that_fits_both_directions_is_not_guessed():
    with pytest.raises(vb.InputError, match="may be any of the directions x, y"):
        building().ground_axis("N-S")
    assert [building().ground_axis(word) for word in ("", "X", "Y", "y")] == ["x", "x", "y", "y"]


def test_the_drawing_shows_lines_centres_and_sensors():
    ax = draw_structure(
        building(),
        sensors=vb.Sensors(acceleration=["0@1,2.x", "roof.y"], element_force=["lines[1].storeys[0]"]),
        unknown=["lines[1].storeys[0].stiffness"],
        loads=(("ground_acceleration", "x"), ("ground_acceleration", "y"), ("load", "roof@3,3.y")),
    )
    texts = {text.get_text() for text in ax.texts}
    assert {"line 0: Linear", "line 5: Linear", "mass of floor 1", "ground acceleration x", "load"} <= texts
    assert [line.get_color() for line in ax.lines if line.get_linewidth() == 3.4].count(UNKNOWN) == 1


def test_the_example():
    project = load_project(Path(__file__).resolve().parents[2] / "examples" / "rigid-floor-building.toml")
    assert type(project.structure) is vb.RigidFloorBuilding and project.structure.floors == 3


@pytest.mark.long
def test_the_angle_of_incidence_turns_the_ground():
    """A building under a turned record, and the same record turned by hand."""
    law = vb.Linear(2e7)
    lines = [vb.FrameLine([law], (0, 0), "x"), vb.FrameLine([law], (0, 8), "x"), vb.FrameLine([law], (10, 0), "y")]
    building = vb.RigidFloorBuilding([3e4], 4e5, lines, centre_x=5.0, centre_y=4.0, damping=vb.Modal(0.05))
    angle, time = 0.4, 0.01 * np.arange(400)
    waves = np.stack([np.sin(6 * time), 0.5 * np.cos(11 * time)], axis=1)
    turned = waves @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    channels = [vb.Channel(f"g{d}", "ground_acceleration", direction=d) for d in "xy"]
    sensors = vb.Sensors(absolute_acceleration=["0@0,0.x", "0@10,8.y"])
    records = [vb.Record(values, channels, step=0.01) for values in (waves, turned)]
    ours = vb.simulate(building.replace({"incidence": angle}), records[0])
    wanted = vb.simulate(building, records[1]).readings(sensors)
    np.testing.assert_allclose(ours.readings(sensors), wanted, atol=1e-10 * np.abs(wanted).max())
    found = vb.identify(building, ours.measure(sensors, noise=0.01), ["incidence"], sensors=sensors)
    assert abs(found.values["incidence"] - angle) < 0.01
