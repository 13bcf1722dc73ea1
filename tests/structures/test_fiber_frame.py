"""Fibre frames: against OpenSees (live where it can be imported, from stored results elsewhere) and closed forms."""

import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import opensees_fiber as models
import pytest
from opensees_import import opensees

import vibrid as vb
from vibrid.core.errors import Divergence, InputError
from vibrid.papers.two_storey import PERIODS, two_storey_building
from vibrid.report.frame_plots import frame_figure, plot_base_shear, plot_drifts
from vibrid.structures.describe import describe, rebuild
from vibrid.structures.integration import along_member

STORED = json.loads(models.RESULTS.read_text())
DRIFTS = np.array(models.path(models.DRIFTS, 4e-4))


@pytest.fixture(scope="module")
def building():
    return two_storey_building()


@pytest.fixture(scope="module")
def moved(building):
    """The building under the motion that OpenSees ran, in explicit steps of 1/1024 s."""
    values = models.motion()[: int(models.SPAN * models.RATE)]
    ground = vb.Record(np.array(values), [vb.Channel("ground", "ground_acceleration")], step=1 / models.RATE)
    return vb.simulate(building, ground, integrator=vb.MKRAlpha(0.75))


def relative(ours, theirs):
    theirs = np.asarray(theirs)
    return np.abs(np.asarray(ours) - theirs).max() / np.abs(theirs).max()


# -- OpenSees ------------------------------------------------------------------------------------------------------


@pytest.mark.opensees
@pytest.mark.parametrize("case", [c for c in models.CASES if c != "dynamic"])
def test_stored_results_are_those_of_opensees(case):
    again = models.rounded(models.CASES[case](opensees(), json.loads(models.FRAME.read_text())))
    flat, stored = (np.asarray(jax.tree.leaves(made)) for made in (again, STORED[case]))
    np.testing.assert_allclose(flat, stored, rtol=1e-6, atol=1e-9 * np.abs(stored).max())


def test_the_frame_that_opensees_ran_is_this_building(building):
    ours, theirs = models.describe(building), json.loads(models.FRAME.read_text())
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert a == (b if isinstance(b, str) else pytest.approx(b, rel=1e-12))


@pytest.mark.parametrize(("name", "field"), [("cover", "concrete"), ("core", "core"), ("steel", "steel")])
def test_materials_follow_the_path_of_opensees(building, name, field):
    material = getattr(building.sections[0], field)

    @jax.jit
    def walk(strains):
        def step(s, strain):
            stress, _, s = material.respond(s, strain)
            return s, stress

        return jax.lax.scan(step, material.start(), strains)[1]

    stress = walk(jnp.array(models.path(models.STRAINS, 2.5e-4)))
    assert relative(stress, np.array(STORED["materials"][name])[:, 0]) < 1e-8


def test_moment_and_curvature_under_axial_force(building):
    curvatures = np.array(models.path(models.CURVATURES, 1e-3))
    moment, strain, left = vb.structures.moment_curvature(building.sections[0], curvatures, models.AXIAL)
    stored = np.array(STORED["moment-curvature"])
    assert np.abs(left).max() < 1e-6 * abs(models.AXIAL)
    assert relative(moment, stored[:, 0]) < 1e-7 and relative(strain, stored[:, 1]) < 1e-7


@pytest.mark.parametrize("name", ["hinge-radau", "gauss-lobatto"])
def test_force_based_cantilever_in_a_cyclic_test(building, name):
    _, integration, _, share, axial = models.COLUMNS[name]
    column = vb.ColumnTest(
        building.sections[0], models.COLUMN_HEIGHT, -axial, integration=integration, points=6, hinges=0.1,
        iterations=8, softening="allow",
    )  # fmt: skip
    record = vb.Record(share * DRIFTS, [vb.Channel("top", "imposed_displacement")], step=0.01)
    states = vb.simulate(column, record).states[0]
    assert relative(states.force[:, 0, 0], STORED[f"column {name}"]) < 1e-7
    np.testing.assert_allclose(states.section_force[:, 0, 0], axial, rtol=1e-8)  # the same in all sections and steps


def test_displacement_based_cantilever_in_a_cyclic_test(building):
    formulation, integration, pieces, share, _ = models.COLUMNS["displacement"]
    how = {"formulation": formulation, "integration": integration, "points": 6}
    frame = vb.FiberFrame(
        nodes=[(0, models.COLUMN_HEIGHT * i / pieces) for i in range(pieces + 1)],
        members=[vb.FrameMember((i, i + 1), "column", **how) for i in range(pieces)],
        sections=building.sections[:1],
        supports={0: "fixed"},
        softening="allow",
    )
    tip = f"{pieces}.x"
    curve = vb.pushover(frame, {tip: 1.0}, tip, share * DRIFTS[1:])
    assert relative(curve.load, STORED["column displacement"][1:]) < 1e-7


def test_pushover_to_two_percent(building):
    """OpenSees' leaning columns have large displacements, ours small ones: the difference is of the order of drift²."""
    stored = np.array(STORED["pushover"])[1:]
    curve = vb.pushover(building, {f"{n}.x": share for n, share in models.PATTERN}, "6.x", stored[:, 0])
    assert relative(curve.load / 1.5, stored[:, 2]) < 1e-5 and relative(curve.at("3.x"), stored[:, 1]) < 1e-5
    np.testing.assert_allclose(-vb.simulation.base_shear(curve)[-1], _needed(building, curve), rtol=1e-6)
    np.testing.assert_allclose(curve.at("6.x")[-1], 0.02 * 4.2672, rtol=1e-9)


def _needed(building, curve):
    """The force in the columns at the end: the load, and the push of the leaning columns."""
    return curve.load[-1] + float(building.leaning[0].load / building.leaning[0].height) * curve.at("3.x")[-1]


def test_twelve_seconds_of_a_two_storey_building(building, moved):
    """The requirement: peak displacement within 0.5 %, base shear within 1 %, residual within 0.2 mm."""
    rows, peaks = np.array(STORED["dynamic"]["rows"]), STORED["dynamic"]["peaks"]
    roof = moved.readings(vb.Sensors(displacement=["6.x"]))[:, 0]
    shear = vb.simulation.base_shear(moved)
    assert peaks[0] / 4.2672 > 0.02, "the motion must be strong: beyond 2 % of drift"
    assert np.abs(roof).max() == pytest.approx(peaks[0], rel=5e-4)
    assert np.abs(shear).max() == pytest.approx(peaks[2], rel=5e-4)
    assert abs(roof[::8][-1] - rows[-2, 0]) < 2e-5 and abs(rows[-2, 0]) > 0.02
    assert np.abs(roof[::8] - rows[:-1, 0]).max() < 1e-4
    assert np.abs(shear[::8] - rows[:-1, 2]).max() < 2e-3 * peaks[2]


def test_periods_of_the_building(building):
    found = vb.modes(building, 2)
    np.testing.assert_allclose(found.periods, PERIODS, rtol=2e-3)
    assert 0.89 < found.effective_mass[0] / found.moving_mass < 0.95
    bare = building.replace({"leaning[*].load": 0.0})
    np.testing.assert_allclose(vb.modes(bare, 2).periods, STORED["periods"], rtol=1e-6)


# -- sections and fibres -------------------------------------------------------------------------------------------


def test_sections_and_fibres_tell_what_happened(building, moved):
    foot = vb.simulation.section_history(moved, 0)
    wanted = ((0.2, "steel"), (-0.2, "steel"), (0.2, "concrete"))
    outer = [vb.simulation.fibre_history(moved, 0, height=height, kind=kind) for height, kind in wanted]
    assert outer[0].height == pytest.approx(0.0715) and outer[2].height == pytest.approx(0.104 - 0.00225)
    np.testing.assert_allclose(outer[0].strain - outer[1].strain, -2 * 0.0715 * foot.curvature, atol=1e-15)
    assert np.abs(outer[0].stress).max() > 400e6 and outer[2].stress.max() == 0.0
    # the fibres' stresses, computed again, give the recorded moment and axial force
    total = np.zeros((2, len(foot.strain)))
    for material, heights, areas in building.sections[0].layers():
        kind = "steel" if isinstance(material, vb.MenegottoPinto) else "concrete"
        for y, area in zip(np.asarray(heights), np.asarray(areas), strict=True):
            stress = vb.simulation.fibre_history(moved, 0, height=y, kind=kind).stress
            total += area * np.stack([stress, -y * stress])
    assert relative(total[1], foot.moment) < 1e-9 and relative(total[0], foot.axial) < 1e-9


def test_summary_of_drifts_and_hinges(moved):
    made = vb.simulation.frame_summary(moved)
    assert len(made.drifts) == 2 and made.drifts[0][0] == pytest.approx(2.286)
    left = moved.displacement @ moved.structure.row("5.x")  # cracked beams grow: the corner is not the middle
    assert sum(drift[2] for drift in made.drifts) == pytest.approx(left[-1], rel=1e-12)
    yielded = {(h.member, h.end) for h in made.hinges if h.steel > 1}
    assert yielded == {(0, "start"), (1, "start"), (4, "start"), (5, "end"), (6, "start"), (7, "end")}, "weak beams"
    assert "base shear 53.2 kN" in repr(made)


@pytest.mark.parametrize("rule", ["hinge-radau", "gauss-lobatto", "gauss-legendre"])
def test_integration_is_exact_where_it_should_be(rule):
    places, weights = along_member(rule, 4, 2.0, (0.1, 0.2))
    for power in range({"hinge-radau": 3, "gauss-lobatto": 6, "gauss-legendre": 8}[rule]):
        assert float(jnp.sum(weights * places**power)) == pytest.approx(1 / (power + 1), rel=1e-13)
    if rule == "hinge-radau":
        np.testing.assert_allclose([weights[0], weights[-1]], [0.05, 0.1])  # the end sections stand for the hinges


@pytest.mark.parametrize("formulation", ["force", "displacement", "elastic"])
def test_stiffness_before_any_load_is_that_of_a_beam(building, formulation):
    """An Euler–Bernoulli frame of the same EA and EI, with bars counted, moves alike."""
    section = building.sections[1]
    member = [vb.FrameMember((0, 1), section.name, formulation=formulation, offsets=(0.1, 0.05))]
    frame = vb.FiberFrame([(0, 0), (3, 0)], member, [section], supports={0: "fixed"}, masses=[vb.PointMass(1.0, 1)])
    stiffness = np.asarray(eqx.filter_jit(lambda f: f.model(()).initial_matrices()[2])(frame))
    y, a = (np.concatenate([np.asarray(layer[k]) for layer in section.layers()]) for k in (1, 2))
    e = np.concatenate([np.full(len(h), float(m.initial_modulus())) for m, h, _ in section.layers()])
    axial, bending, clear = np.sum(e * a), np.sum(e * a * y**2), 3 * 0.85
    assert stiffness[0, 0] == pytest.approx(axial / clear, rel=1e-10)
    tip = np.linalg.solve(stiffness, [0.0, 1.0, 0.0])[1]  # the force acts on the far end of a rigid piece
    reach = 0.05 * 3
    assert tip == pytest.approx((clear**3 / 3 + reach * clear**2 + reach**2 * clear) / bending, rel=1e-10)


def test_permanent_loads_are_in_balance(building):
    """Reactions of the columns carry what is on the beams; a symmetric frame does not sway."""
    balance = building.permanent()
    assert float(balance.unbalanced) < 1e-6
    columns = np.asarray(balance.s[0].force)[:2, 0]
    onto = sum(float(load.load) for load in building.member_loads) * 1.8288 * (1 - 0.057)
    np.testing.assert_allclose(columns, -onto / 2, rtol=1e-9)
    assert abs(building.row("6.x") @ np.asarray(balance.x)) < 1e-12


def test_derivatives_of_a_cyclic_test(building):
    """Derivatives with respect to materials, through the state determination, equal finite differences."""
    drifts = jnp.asarray(8e-3 * np.sin(np.linspace(0, 9, 60)))
    column = vb.ColumnTest(building.sections[0], 1.2, hinges=0.1, iterations=1)

    def work(values):
        law = column.replace({"section.steel.yield_stress": values[0], "section.core.modulus": values[1]})._law()

        def step(s, e):
            s = law.determine(s, e[None])
            return s, s.force[0]

        return jnp.sum(jax.lax.scan(step, law.start(), drifts)[1] * jnp.cos(jnp.arange(60.0)))

    along = jax.jit(lambda values, direction: jax.jvp(work, (values,), (direction,)))
    at = np.array([300e6, 27.5e9])
    for direction in np.diag(at):
        numeric = (along(at + 1e-6 * direction, direction)[0] - along(at - 1e-6 * direction, direction)[0]) / 2e-6
        np.testing.assert_allclose(along(at, direction)[1], numeric, rtol=1e-4)


# -- errors --------------------------------------------------------------------------------------------------------


def test_a_crushed_section_is_named_with_its_time(building, moved):
    states = jax.tree.map(np.array, moved.states)
    states[0].stiffness[700, 5, 0, 2] = -1.0
    with pytest.raises(Divergence, match=r"Section 2 \(of 0 to 5\) of members\[5\] has a negative stiffness at 0.68"):
        dataclasses.replace(building, softening="refuse").check_states(states, moved.time)
    states[0].stiffness[300, 1, 2, 5] = np.nan
    with pytest.raises(Divergence, match=r"Section 5 .* of members\[1\] is not finite any more at 0.29"):
        building.check_states(states, moved.time)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"members": [vb.FrameMember((0, 1), "colum")]}, "did you mean 'column'"),
        ({"members": [vb.FrameMember((0, 7), "column")]}, "nodes are numbered 0 to 1"),
        ({"member_loads": [vb.structures.MemberLoad(1.0, member=3)]}, "members are numbered 0 to 0"),
        ({"loads": [vb.structures.PermanentLoad(1.0, at="1.z")]}, "direction"),
        ({"leaning": [vb.structures.LeaningColumn(1.0, 1.0, top="0.x")]}, "cannot move"),
        ({"masses": [vb.PointMass(1.0, 1, along="z")]}, "direction"),
        ({"members": [vb.FrameMember((0, 1), "column", hinges=0.3)]}, "hinges of member 0 are too long"),
    ],
)
def test_mistakes_are_reported(building, change, sentence):
    good = {"nodes": [(0, 0), (0, 2)], "members": [vb.FrameMember((0, 1), "column")], "supports": {0: "fixed"}}
    with pytest.raises(InputError, match=sentence):
        vb.FiberFrame(**{**good, "sections": building.sections[:1], **change})


def test_a_node_without_mass_is_named(building):
    light = dataclasses.replace(building.sections[0], density=0.0)
    parts = {"members": [vb.FrameMember((0, 1), "column")], "sections": [light], "supports": {0: "fixed"}}
    frame = vb.FiberFrame(nodes=[(0, 0), (0, 2)], masses=[vb.PointMass(1.0, at=1)], **parts)
    with pytest.raises(InputError, match=r"'1\.rotation' has no mass"):
        frame.built()


def test_figures_of_a_frame_have_units(moved):
    axes = frame_figure(moved).axes
    assert [ax.get_xlabel() for ax in axes] == ["curvature [1/m]"] + ["strain [‰]"] * 3
    assert plot_drifts(moved).get_legend_handles_labels()[1] == ["storey 0", "storey 1"]
    assert plot_base_shear(moved, "6.x").get_ylabel() == "base shear [kN]"


def test_a_spring_is_no_material(building):
    section = building.sections[0]
    with pytest.raises(InputError, match="stress over strain"):
        vb.ReinforcedSection("a", 0.2, 0.2, 0.02, section.concrete, section.core, vb.Linear(1.0), [1e-4], [0.0])


def test_a_frame_survives_a_file():
    damped = two_storey_building(dampers=True)
    again = rebuild(json.loads(json.dumps(describe(damped))))
    assert jax.tree.structure(again) == jax.tree.structure(damped)
    assert all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(damped), strict=True))


def test_base_shear_of_another_structure_is_refused_in_a_sentence(motion, bouc_wen_building):
    response = vb.simulate(bouc_wen_building, motion)
    with pytest.raises(vb.InputError, match=r"response is of a ShearBuilding.*response.part"):
        vb.simulation.base_shear(response)
    assert np.shape(response.part("storeys[0]")[1]) == (len(motion),)
