"""Supports that move differently: against a model in total displacements, OpenSees, and the rigid ground."""

import dataclasses
import json
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from typer.testing import CliRunner

import vibrid as vb
from vibrid.cli import app
from vibrid.project import load_project
from vibrid.structures import Tie
from vibrid.structures.support_motion import pseudo_static

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import opensees_supports as reference
from opensees_import import opensees

BRIDGE = vb.Frame2D(
    nodes=reference.NODES,
    elements=reference.ELEMENTS,
    modulus=reference.MODULUS,
    area=reference.AREA,
    inertia=reference.INERTIA,
    density=0.0,
    supports={0: "fixed", 3: "fixed", 5: "fixed"},
    masses=[vb.PointMass(m, node, rotary=reference.ROTARY) for node, m in reference.MASSES.items()],
    damping=vb.Rayleigh(0.0, reference.BETA),
)
SENSORS = vb.Sensors(absolute_acceleration=["1.x", "2.x", "4.x", "3.x"])


def record(words, values, step=reference.STEP):
    channels = [vb.Channel(f"g{i}", "ground_acceleration", direction=word) for i, word in enumerate(words)]
    return vb.Record(np.stack(values, axis=1), channels, step=step)


def three_waves():
    return [np.array(reference.acceleration(node)) for node in reference.MOVED.values()]


def test_the_bridge_is_that_of_opensees():
    """Absolute displacements to 1e-9 of the largest: relative ones and what the supports carry along."""
    waves = three_waves()
    response = vb.simulate(BRIDGE, record(["0.x", "3.x", "5.x"], waves), integrator=vb.Newmark())
    total = np.asarray(response.displacement)
    for wave, word in zip(waves, ("0.x", "3.x", "5.x"), strict=True):
        _, u = reference.integrated(wave.tolist())
        total = total + np.outer(u, BRIDGE.ground(word))
    stored = np.array(json.loads(reference.RESULTS.read_text(encoding="utf-8")))
    ours = total[reference.EVERY :: reference.EVERY]
    assert ours.shape == stored.shape and np.abs(stored).max() > 0.05
    np.testing.assert_allclose(ours, stored, rtol=0, atol=1e-9 * np.abs(stored).max())


@pytest.mark.opensees
def test_stored_results_are_those_of_opensees():
    stored = json.loads(reference.RESULTS.read_text(encoding="utf-8"))
    np.testing.assert_allclose(reference.answer(opensees()), stored, rtol=0, atol=1e-12)


@pytest.mark.long
def test_a_model_in_total_displacements():
    """With consistent masses, a rigid tie, a spring between a deck and an abutment, and two directions:
    M ẍ + K x = −(M_s ü + K_s u), the supports being degrees of freedom that are imposed."""
    nodes = [(0.0, 0.0), (0.0, 5.0), (9.0, 5.0), (9.0, 0.0), (9.0, 5.5), (12.0, 5.0)]
    frame = vb.Frame2D(
        nodes=nodes, elements=[(0, 1), (1, 2), (2, 3)], modulus=2e10, area=[0.2, 0.3, 0.2], inertia=[4e-3, 8e-3, 3e-3],
        density=2400.0, supports={0: "fixed", 3: "pinned", 5: "fixed"}, masses=[vb.PointMass(2e3, 4, rotary=30.0)],
        attachments=[vb.Attachment(vb.Linear(3e6), "2.x", "5.x")],
        ties=[Tie(4, 2, along=["x", "y", "rotation"], rigid=True)],
    )  # fmt: skip
    words = ["0,3.x", "5.x", "0,5.y", "3.y"]
    motions = [(0.02, 5.0, 0.0), (0.03, 7.0, 0.4), (0.01, 9.0, 0.2), (0.015, 6.0, 0.7)]

    def course(t):
        """Displacement and acceleration of the four motions, from rest."""
        u = np.array([a * (1 - np.cos(w * t)) ** 2 * np.cos(c) for a, w, c in motions])
        second = [
            2 * a * w**2 * (np.sin(w * t) ** 2 + (1 - np.cos(w * t)) * np.cos(w * t)) * np.cos(c) for a, w, c in motions
        ]
        return u, np.array(second)

    step, count = 0.002, 1001
    time = step * np.arange(count)
    waves = np.stack([course(t)[1] for t in time], axis=1)
    response = vb.simulate(frame, record(words, list(waves), step), hold="cubic")

    free_frame = dataclasses.replace(frame, supports={5: ["rotation"]})
    m, _, k = (np.asarray(a) for a in free_frame.model(()).initial_matrices())
    names = list(free_frame.degrees_of_freedom)
    held = [names.index(n) for n in ("0.x", "0.y", "0.rotation", "3.x", "3.y", "5.x", "5.y")]
    loose = [i for i in range(len(names)) if i not in held]
    imposed = np.zeros((len(held), 4))
    for i, name in enumerate(("0.x", "0.y", "0.rotation", "3.x", "3.y", "5.x", "5.y")):
        for j, word in enumerate(words):
            where, _, along = word.rpartition(".")
            imposed[i, j] = name.endswith(f".{along}") and name.split(".")[0] in where.split(",")
    mf, kf = m[np.ix_(loose, loose)], k[np.ix_(loose, loose)]
    ms, ks = m[np.ix_(loose, held)] @ imposed, k[np.ix_(loose, held)] @ imposed

    def rate(t, state):
        u, a = course(t)
        x, v = np.split(state, 2)
        return np.concatenate([v, np.linalg.solve(mf, -ms @ a - ks @ u - kf @ x)])

    at = time[::100]
    total = solve_ivp(
        rate, (0.0, time[-1]), np.zeros(2 * len(loose)), t_eval=at, rtol=1e-10, atol=1e-13, method="DOP853"
    )
    displacement = np.stack([course(t)[0] for t in at])
    ours = np.asarray(response.displacement)[::100] + displacement @ np.stack([frame.ground(word) for word in words])
    assert [names[i] for i in loose] == list(frame.degrees_of_freedom)
    np.testing.assert_allclose(ours, total.y[: len(loose)].T, rtol=0, atol=2e-6 * np.abs(total.y[: len(loose)]).max())


@pytest.mark.long
def test_equal_motions_are_a_rigid_ground():
    wave = three_waves()[0]
    apart = vb.simulate(BRIDGE, record(["0.x", "3,5.x"], [wave, wave]))
    together = vb.simulate(BRIDGE, record(["x"], [wave]))
    ours, wanted = (r.readings(SENSORS) for r in (apart, together))
    np.testing.assert_allclose(ours, wanted, rtol=0, atol=1e-10 * np.abs(wanted).max())
    np.testing.assert_allclose(ours[:, 3], wave, atol=1e-12)  # a sensor on a support reads the ground


def test_a_hinged_foot_follows_the_support_it_is_tied_to():
    column = vb.Frame2D(
        nodes=[(0, 0), (0, 0), (0, 4), (6, 4), (6, 0)], elements=[(1, 2), (2, 3), (3, 4)], modulus=2e10, area=0.1,
        inertia=1e-3, density=2400.0, supports={0: "fixed", 4: "fixed"}, ties=[Tie(1, 0, along=["x", "y"])],
        attachments=[vb.Attachment(vb.Linear(1e7), "1.rotation", "0.rotation")],
    )  # fmt: skip
    moved = np.asarray(pseudo_static(column, "0.x")).reshape(-1, 3)
    np.testing.assert_allclose(moved[:2, 0], 1.0)
    both = pseudo_static(column, "0.x") + pseudo_static(column, "4.x")
    np.testing.assert_allclose(both, np.tile([1.0, 0.0, 0.0], 5), atol=1e-12)


PORTAL = vb.Frame2D(
    nodes=[(0, 0), (0, 3), (5, 3), (5, 0)], elements=[(0, 1), (1, 2), (2, 3)], modulus=[2e11, 1.8e11, 1.5e11],
    area=4e-3, inertia=2e-5, density=7850.0, supports={0: "fixed", 3: "fixed"}, damping=vb.Rayleigh(0.5, 1e-3),
    masses=[vb.PointMass(3e3, 1), vb.PointMass(2e3, 2)],
)  # fmt: skip


def test_derivatives_with_respect_to_stiffness():
    """What a support carries along depends on the stiffness: against finite differences."""

    def carried(modulus):
        return PORTAL.replace({"modulus": modulus}).ground("0.x")

    at, step = PORTAL.modulus, 1e-4 * 2e11
    ours = np.asarray(jax.jacfwd(carried)(at))
    wanted = [(carried(at + step * e) - carried(at - step * e)) / (2 * step) for e in np.eye(3)]
    assert np.abs(wanted).max() * 2e11 > 0.1
    np.testing.assert_allclose(ours, np.stack(wanted, axis=1), rtol=0, atol=1e-6 * np.abs(wanted).max())


def test_stiffness_is_identified_from_different_motions():
    sensors = vb.Sensors(absolute_acceleration=["1.x", "2.x"])
    waves = [wave[150:350] for wave in three_waves()[:2]]
    test = vb.simulate(PORTAL, record(["0.x", "3.x"], waves)).measure(sensors, noise=0.01)
    start = PORTAL.replace({"modulus[0]": 1.6e11})
    found = vb.identify(start, test, ["modulus[0]"], sensors=sensors)
    assert abs(found.values["modulus[0]"] / 2e11 - 1) < 0.01


@pytest.mark.long
def test_matrices_with_a_vector_for_each_support():
    mass, stiffness = (np.asarray(a) for a in BRIDGE.matrices())
    words, names = ["0.x", "3.x", "5.x"], list(BRIDGE.degrees_of_freedom)
    same = vb.Matrices(
        mass, stiffness, damping=BRIDGE.damping, names=names,
        influence={word.replace(".", " "): np.asarray(BRIDGE.ground(word)).tolist() for word in words},
    )  # fmt: skip
    sensors = vb.Sensors(absolute_acceleration=["1.x", "2.x", "4.x"])
    readings = [
        vb.simulate(BRIDGE, record(words, three_waves())).readings(sensors),
        vb.simulate(same, record([word.replace(".", " ") for word in words], three_waves())).readings(sensors),
    ]
    np.testing.assert_allclose(readings[1], readings[0], rtol=0, atol=1e-9 * np.abs(readings[0]).max())


def test_a_project_file_names_the_supports(tmp_path):
    (tmp_path / "portal.toml").write_text("""
[structure]
kind = "frame"
nodes = [[0.0, 0.0], [0.0, 3.0], [5.0, 3.0], [5.0, 0.0]]
elements = [[0, 1], [1, 2], [2, 3]]
modulus = "210 GPa"
area = "40 cm^2"
inertia = "2000 cm^4"
density = 7850.0
supports = {0 = "fixed", 3 = "fixed"}

[[sensors]]
quantity = "absolute_acceleration"
place = "1.x"

[excitation]
file = "waves.csv"
channels = [{column = "west", unit = "m/s^2", direction = "0.x"}, {column = "east", unit = "m/s^2", direction = "3.x"}]
""")
    waves = np.stack(three_waves()[:2], axis=1)[:100]
    lines = [f"{i * 0.005},{a!r},{b!r}" for i, (a, b) in enumerate(waves.tolist())]
    (tmp_path / "waves.csv").write_text("time,west,east\n" + "\n".join(lines) + "\n")
    project = load_project(tmp_path / "portal.toml")
    done = CliRunner().invoke(app, ["simulate", str(tmp_path / "portal.toml"), "--out", str(tmp_path / "made.csv")])
    assert done.exit_code == 0, done.output
    made = vb.read_record(tmp_path / "made.csv")
    assert project.structure is not None and project.sensors is not None
    wanted = vb.simulate(project.structure, record(["0.x", "3.x"], list(waves.T))).readings(project.sensors)
    np.testing.assert_allclose(made[project.sensors[0].label], wanted[:, 0], atol=1e-6 * np.abs(wanted).max())


def fibre_frame():
    steel = vb.structures.FiberLayer(vb.laws.BilinearSteel(3e8, 2e11, 0.02), [-0.1, 0.1], [2e-3, 2e-3])
    return vb.FiberFrame(
        nodes=[(0, 0), (0, 3)], members=[vb.FrameMember((0, 1), "s", integration="gauss-lobatto", points=4)],
        sections=[vb.structures.FiberSection("s", [steel])], supports={0: "fixed"},
        masses=[vb.PointMass(1e3, 1, rotary=10.0)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("structure", "words", "said"),
    [
        (BRIDGE, ["0.x", "3.x"], "No channel says how support '5' moves along x"),
        (BRIDGE, ["0,3.x", "3,5.x"], "Support '3' is moved along x by two channels"),
        (BRIDGE, ["x", "0,3,5.x"], "as a whole along 'x' and at single supports too"),
        (BRIDGE, ["0.x", "1.x"], "'1.x' is not held"),
        (dataclasses.replace(BRIDGE, attachments=[vb.Attachment(vb.Linear(1e6), "1.x")]), ["0.x", "3,5.x"],
         "Attachment 0 stands on the ground"),
        (dataclasses.replace(BRIDGE, attachments=[vb.Attachment(vb.Bilinear(1e6, 0.01), "1.x", "0.x")]),
         ["0.x", "3,5.x"], "Attachment 0 is a Bilinear"),
        (dataclasses.replace(BRIDGE, attachments=[vb.Attachment(vb.Viscous(1e5), "1.x", "0.x")]),
         ["0.x", "3,5.x"], "Attachment 0 is a Viscous"),
        (fibre_frame(), ["0.x"], "The supports of a fibre frame move together"),
    ],
)  # fmt: skip
def test_what_is_left_open_or_needs_displacements_is_refused(structure, words, said):
    waves = three_waves()[: len(words)]
    with pytest.raises(vb.InputError, match=said):
        vb.simulate(structure, record(words, waves))


def test_readings_that_need_the_displacement_of_supports_are_refused():
    response = vb.simulate(BRIDGE, record(["0.x", "3,5.x"], three_waves()[:2]))
    with pytest.raises(vb.InputError, match=r"displacement_1.x.*use absolute_acceleration"):
        response.readings(vb.Sensors(displacement=["1.x"]))
