"""Structures as OpenSees scripts, and back: the same kind with the same matrices and laws."""

import dataclasses
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import vibrid as vb
from vibrid.bridge.scripts import record_script
from vibrid.project import load_project
from vibrid.structures import Tie

sys.path.insert(0, str(Path(__file__).resolve().parent))
from exported_structures import leaning

MODELS = Path(__file__).resolve().parent / "models"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
BUILDING = vb.ShearBuilding(
    masses=[2e4, 1.5e4, 1.2e4],
    storeys=[
        vb.BoucWen(2e7, 60.0, 40.0, 1.3, 0.05),
        vb.Bilinear(1.7e7, 0.008, 0.1),
        vb.Parallel([vb.Linear(1.1e7, 3e4), vb.NonlinearViscous(2e4, 0.4), vb.Viscous(1e3)]),
    ],
    damping=vb.Rayleigh(0.2, 1e-3),
)
FRAME = vb.Frame2D(
    nodes=[(0, 0), (0, 3.1), (4, 3.1), (4, 0), (5, 3.3)],
    elements=[(0, 1), (1, 2), (2, 3), (0, 2)],
    modulus=[2.1e11, 2.0e11, 2.1e11, 1.9e11],
    area=4e-3,
    inertia=[2e-5, 6e-5, 2e-5, 0.0],
    density=0.0,
    supports={0: "fixed", 3: "pinned"},
    masses=[vb.PointMass(3e3, 1), vb.PointMass(2e3, 2, along="x"), vb.PointMass(500.0, 4, rotary=7.0)],
    damping=vb.Rayleigh(0.1, 2e-3),
    attachments=[vb.Attachment(vb.Bilinear(3e6, 2e-3, 0.02), "1.x"), vb.Attachment(vb.Viscous(5e3), "1.x", "2.x")],
    ties=[Tie(4, 2, along=["x", "y", "rotation"], rigid=True)],
    massless=["1.rotation", "3.rotation"],
)
HEAVY = vb.Frame2D(
    nodes=[(0, 0), (0, 3), (4, 3)], elements=[(0, 1), (1, 2)], modulus=2.1e11, area=[4e-3, 5e-3], inertia=[2e-5, 3e-5],
    density=7850.0, supports={0: "fixed", 2: "roller"}, damping=vb.structures.RayleighRatio(0.02, (2.0, 9.0)),
)  # fmt: skip
TRUSS = vb.Truss(
    nodes=[(0, 0, 0), (3, 0, 0), (0, 3, 0), (1, 1, 4)], bars=[(0, 3), (1, 3), (2, 3)], modulus=[7e10, 6e10, 7e10],
    area=1e-3, density=2700.0, supports={0: "pinned", 1: "pinned", 2: "pinned"}, masses=[vb.PointMass(80.0, 3)],
    damping=vb.Rayleigh(0.3, 1e-4), mass_model="lumped",
)  # fmt: skip
MODAL = dataclasses.replace(TRUSS, damping=vb.Modal([0.02, 0.03, 0.01]))
HINGES = vb.ShearBuilding(
    masses=[2e4] * 8,
    storeys=[
        vb.laws.IMKBilinear(2.4e7, 1.8e5, 0.05, 0.4, 1.4, 0.2, strength_capacity=3.0, exponent=1.2),
        vb.laws.IMKPeakOriented(2.1e7, 1.7e5, 0.05, 0.4, 1.4, 0.2, yield_force_negative=1.6e5),
        vb.laws.IMKPinching(2e7, 1.4e5, 0.05, 0.4, 1.4, 0.2, pinching_force=0.35, reloading_capacity=2.0),
        vb.laws.GiuffreMenegottoPinto(1.7e7, 1.1e5, 0.02, 12.0, 0.9, 0.2),
        vb.laws.GiuffreMenegottoPintoFatigue(1.7e7, 1.1e5, fatigue_deformation=0.3),
        vb.laws.FrictionGap(2e4, 1e7, 0.003, 8e6),
        vb.laws.Multilinear([0.002, 0.01, 0.05], [1e4, 1.4e4, 5e3]),
        vb.Parallel([vb.laws.TensionOnly(5e6, 2e4, 0.05, 0.001), vb.Linear(1e6)]),
    ],
)
CASES = {"building": BUILDING, "hinges": HINGES, "frame": FRAME, "heavy": HEAVY, "truss": TRUSS, "modal": MODAL}


def with_rules(law):
    """A hinge as OpenSees reloads it: what a material is read as."""
    return dataclasses.replace(law, as_opensees=True) if hasattr(law, "as_opensees") else law


@pytest.mark.parametrize("ending", ["py", "tcl"])
@pytest.mark.parametrize("name", CASES)
def test_there_and_back(tmp_path, name, ending):
    structure = CASES[name]
    path = vb.to_opensees(structure, tmp_path / f"{name}.{ending}")
    found = vb.from_opensees(path, units="N, m, s")
    assert found.native and type(found.structure) is type(structure)
    assert not any("result" in note or "units" in note for note in found.notes)
    models = [s.model((("ground_acceleration", ""),)) for s in (structure, found.structure)]
    for ours, theirs in zip(*(m.initial_matrices() for m in models), strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-12, atol=1e-12 * np.abs(ours).max())
    np.testing.assert_allclose(models[1].load_matrix, models[0].load_matrix, rtol=1e-12)
    laws = [s.storeys if name in ("building", "hinges") else s.attachments for s in (structure, found.structure)]
    laws[0] = jax.tree.map(with_rules, laws[0], is_leaf=lambda one: isinstance(one, vb.laws.Law))
    assert jax.tree.structure(laws[0]) == jax.tree.structure(laws[1]) or name in ("frame",)  # nodes from 1
    for ours, theirs in zip(*map(jax.tree.leaves, laws), strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "ending"), [("pier_fibres.py", "py"), ("portal_fibres.py", "tcl"), ("p_delta_fibres.py", "tcl")]
)
def test_fibre_frames_there_and_back(tmp_path, name, ending):
    units = {"portal_fibres.py": "N, m, s"}.get(name, "kN, m, s")
    first = vb.from_opensees(MODELS / name, units=units).structure
    second = vb.from_opensees(vb.to_opensees(first, tmp_path / f"x.{ending}"), units="N, m, s").structure
    kinds = [[(m.formulation, m.p_delta, m.offsets) for m in s.members] for s in (first, second)]
    assert type(second) is vb.FiberFrame and kinds[0] == kinds[1]
    np.testing.assert_allclose(second.load_vector(), first.load_vector(), rtol=1e-12, atol=1e-9)
    for ours, theirs in zip(jax.tree.leaves(first.sections), jax.tree.leaves(second.sections), strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-12)


def test_isotropic_hardening_is_not_left_out_silently(tmp_path):
    frame = vb.from_opensees(MODELS / "portal_fibres.py", units="N, m, s").structure
    steel = vb.MenegottoPinto(yield_stress=4e8, isotropic=0.05)
    concrete = vb.KentPark(strength=25e6, modulus=25e9, crushing_strength=5e6, crushing_strain=0.008)
    section = vb.structures.ReinforcedSection("x", 0.3, 0.3, 0.03, concrete, concrete, steel, [1e-3], [0.1])
    with pytest.raises(vb.InputError, match="hardens isotropically by another formula"):
        vb.to_opensees(dataclasses.replace(frame, sections=(*frame.sections, section)), tmp_path / "x.py")


def test_how_hinges_differ_is_said(tmp_path):
    text = vb.to_opensees(HINGES, tmp_path / "x.py").read_text()
    assert text.count("OpenSees its unloading at every reversal") == 2 and text.count("open ranges as half") == 1
    assert text.count("OpenSees forgets the peak") == 2
    notes = vb.from_opensees(tmp_path / "x.py", units="N, m, s").notes
    assert sum("OpenSees its unloading at every reversal" in note for note in notes) == 2
    assert sum("breaks up to some half cycles later" in note for note in notes) == 1


@pytest.mark.parametrize(
    ("material", "said"),
    [
        ('"IMKBilin", 1, 2e7, 0.1, 0.4, 9.0, 1e5, 1.1, 0.2, 0.1, 0.4, 9.0, 1e5, 1.1, 0.3, 0, 0, 0, 1, 1, 1, 1, 1',
         "both directions and all modes share them"),
        ('"Hysteretic", 1, 1e4, 0.01, 2e4, 0.05, 1e4, 0.1, -1e4, -0.01, -2e4, -0.05, -1e4, -0.1, 0.8, 0.5, 0, 0, 0',
         "is read with three points, alike in both directions, without pinching"),
        ('"ElasticPPGap", 1, 1e6, -1e4, -0.01', "is read as a brace in tension"),
        ('"Steel02", 1, 1e4, 1e6, 0.01, 18.0, 0.9, 0.15, 0.1, 1.0, 0.1, 1.0', "has isotropic hardening"),
    ],
)  # fmt: skip
def test_materials_that_no_law_is_are_refused(tmp_path, material, said):
    script = tmp_path / "m.py"
    script.write_text(
        "import openseespy.opensees as ops\nops.model('basic', '-ndm', 1, '-ndf', 1)\nops.node(1, 0.0)\n"
        f"ops.node(2, 0.0, '-mass', 1e4)\nops.fix(1, 1)\nops.uniaxialMaterial({material})\n"
        "ops.element('zeroLength', 1, 1, 2, '-mat', 1, '-dir', 1)\n"
    )
    with pytest.raises(vb.InputError, match=rf"m.py, line 6: material 1 .*{said}"):
        vb.from_opensees(script, units="N, m, s")


def test_a_brace_keeps_its_side(tmp_path):
    """What differs in tension and compression is oriented, or refused where a law here would be turned round."""
    text = (
        "import openseespy.opensees as ops\nops.model('basic', '-ndm', 1, '-ndf', 1)\n"
        "for tag in (1, 2, 3):\n    ops.node(tag, 0.0)\nops.fix(1, 1)\nops.mass(2, 1e4)\nops.mass(3, 1e4)\n"
        "ops.uniaxialMaterial('Elastic', 1, 1e6)\n"
        "ops.uniaxialMaterial('ElasticPPGap', 2, 1e6, 1e4, 0.01, 0.0, 'damage')\n"
        "ops.element('zeroLength', 1, 1, 2, '-mat', 1, '-dir', 1)\n"
        "ops.element('zeroLength', 2, 1, 3, '-mat', 1, '-dir', 1)\n"
        "ops.element('zeroLength', 3, BRACE, '-mat', 2, '-dir', 1)\n"
    )
    for ends, at in (("2, 3", ("3.x", "2.x")), ("3, 2", ("2.x", "3.x")), ("1, 2", ("2.x", None))):
        (tmp_path / "b.py").write_text(text.replace("BRACE", ends))
        made = vb.from_opensees(tmp_path / "b.py", units="N, m, s").structure
        assert [(a.at, a.to) for a in made.attachments if isinstance(a.law, vb.laws.TensionOnly)] == [at]
    (tmp_path / "b.py").write_text(text.replace("BRACE", "2, 1"))
    with pytest.raises(vb.InputError, match=r"element 3 .* differs in tension and compression"):
        vb.from_opensees(tmp_path / "b.py", units="N, m, s")


def test_leaning_columns_there_and_back(tmp_path):
    first = leaning()
    found = vb.from_opensees(vb.to_opensees(first, tmp_path / "x.py"), units="N, m, s")
    assert found.became["element 3"] == "leaning[0]" and not found.structure.attachments
    assert [(c.top, c.bottom) for c in found.structure.leaning] == [("2.x", None), ("3.x", "2.x")]  # nodes from 1
    for ours, theirs in zip(jax.tree.leaves(first.leaning), jax.tree.leaves(found.structure.leaning), strict=True):
        np.testing.assert_allclose(theirs, ours, rtol=1e-14)
    assert isinstance(found.structure.damping, vb.Rayleigh)


@pytest.mark.parametrize("ending", ["py", "tcl"])
def test_a_building_in_plan_there_and_back(tmp_path, ending):
    law = vb.Bilinear(1.6e7, 0.006, 0.05)
    lines = [
        vb.FrameLine([law, vb.Linear(1e7)], (0, 0), "x"),
        vb.FrameLine([law], (0, 8), "x"),
        vb.FrameLine([vb.Parallel([law, vb.Viscous(2e4)]), law], (10, 2), "y"),
        vb.FrameLine([law, law], (3, 3), 40.0),
    ]
    turned = vb.Attachment(vb.Linear(3e6), "roof.rotation", "0.rotation")
    brace = vb.laws.TensionOnly(5e6, 2e4, 0.05, 0.001)
    devices = [
        vb.Attachment(vb.Viscous(3e4), "1@5,8.x", "0@5,8.x"),
        vb.Attachment(brace, "0@10,2.y", "1@10,2.y"),
        vb.Attachment(vb.Linear(2e5), "roof@3,3.x"),  # past a floor
        vb.Attachment(brace, "0.x"),  # beside a frame line
        turned,
    ]
    for more in ({"damping": vb.Rayleigh(0.2, 1e-3)}, {"attachments": devices, "damping": vb.Rayleigh(0.2, 1e-3)}):
        first = vb.RigidFloorBuilding([3e4, 2.4e4], [4e5, 3e5], lines, centre_x=[5.4, 4.6], centre_y=3.9, **more)
        found = vb.from_opensees(vb.to_opensees(first, tmp_path / f"x.{ending}"), units="N, m, s")
        second = found.structure
        assert type(second) is vb.RigidFloorBuilding and found.became["element 2"] == "lines[0].storeys[1]"
        models = [s.model((("ground_acceleration", "x"), ("ground_acceleration", "y"))) for s in (first, second)]
        for ours, theirs in zip(*(m.initial_matrices() for m in models), strict=True):
            np.testing.assert_allclose(theirs, ours, rtol=1e-12, atol=1e-12 * np.abs(ours).max())
        np.testing.assert_allclose(models[1].load_matrix, models[0].load_matrix, rtol=1e-12, atol=1e-9)
        for part in ("lines", "attachments", "damping"):
            numbers = [jax.tree.leaves(getattr(s, part)) for s in (first, second)]
            np.testing.assert_allclose(*map(np.array, numbers), rtol=1e-14)
        for ours, theirs in zip(first.attachments, second.attachments, strict=True):
            rows = [[s.row(p) for p in (a.at, a.to) if p] for s, a in ((first, ours), (second, theirs))]
            np.testing.assert_array_equal(*rows)
            assert type(ours.law) is type(theirs.law)


def test_an_inclined_device_of_a_plan_becomes_part_of_matrices(tmp_path):
    lines = [vb.FrameLine([vb.Linear(1e7)] * 2, at, way) for at, way in (((0, 0), "x"), ((0, 8), "x"), ((5, 0), "y"))]
    lines.append(vb.FrameLine([vb.Linear(1e7)], (1.0, 1.0), 30.0))
    text = vb.to_opensees(vb.RigidFloorBuilding([3e4, 2e4], 4e5, lines), tmp_path / "x.py").read_text()
    first, *others = [line for line in text.splitlines() if "-orient" in line]
    assert not others
    higher = first.replace(", 4, 14,", ", 14, 24,")
    assert higher != first
    (tmp_path / "x.py").write_text(text.replace(first, higher))
    found = vb.from_opensees(tmp_path / "x.py", units="N, m, s")
    assert isinstance(found.structure, vb.Matrices) and not found.native
    assert any("acts at 30° from x; single devices act in x, y" in note for note in found.notes)


@pytest.mark.parametrize(
    "damping", [vb.Rayleigh(0.2, 1e-3), [[900.0, -300.0, 0.0], [-300.0, 800.0, 0.0], [0, 0, 70.0]]]
)
def test_matrices_there_and_back(tmp_path, damping):
    """As springs of the entries; read again they are laws between the same degrees of freedom, numbered from 1."""
    stiffness = [[9e5, -4e5, -1e5], [-4e5, 6e5, 0.0], [-1e5, 0.0, 3e5]]
    first = vb.Matrices([1200.0, 800.0, 500.0], stiffness, damping=damping, names=["deck", "tower", "pier"],
                        attachments=[vb.Attachment(vb.Bilinear(2e5, 0.01, 0.1), "tower", "deck")])  # fmt: skip
    found = [vb.from_opensees(vb.to_opensees(first, tmp_path / f"x.{end}"), units="N, m, s") for end in ("py", "tcl")]
    for second in found:
        models = [s.model((("ground_acceleration", ""),)) for s in (first, second.structure)]
        for ours, theirs in zip(*(m.initial_matrices() for m in models), strict=True):
            np.testing.assert_allclose(theirs, ours, rtol=1e-12, atol=1e-12 * np.abs(ours).max())
        np.testing.assert_allclose(models[1].load_matrix, models[0].load_matrix, rtol=1e-12)
        assert any(isinstance(a.law, vb.Bilinear) for a in second.structure.attachments)


def test_a_matrix_that_needs_negative_springs_is_read_as_a_matrix_again(tmp_path):
    stiffness = [[9e6, -4e6, 1e6], [-4e6, 6e6, -2e6], [1e6, -2e6, 4e6]]
    device = vb.Attachment(vb.Bilinear(2e6, 0.003, 0.1), "1", "0")
    path = vb.to_opensees(vb.Matrices([1.2e4, 8e3, 5e3], stiffness), tmp_path / "linear.py")
    found = vb.from_opensees(path, units="N, m, s")
    np.testing.assert_allclose(found.structure.model(()).initial_matrices()[2], stiffness, rtol=1e-12)
    path = vb.to_opensees(vb.Matrices([1.2e4, 8e3, 5e3], stiffness, attachments=[device]), tmp_path / "device.py")
    found = vb.from_opensees(path, units="N, m, s")
    assert any("negative, as no law here has" in note for note in found.notes)
    assert [type(a.law) for a in found.structure.attachments] == [vb.Bilinear]


def test_tcl_says_what_python_says(tmp_path):
    """Every structure, run against the recording stand-in in both languages: the same commands in the same order."""
    for name, structure in (CASES | {"leaning": leaning()}).items():
        recorded = [record_script(vb.to_opensees(structure, tmp_path / f"{name}.{end}")) for end in ("py", "tcl")]
        said = [[(c.name, c.arguments) for c in r.commands] for r in recorded]
        assert said[0] == said[1] and len(said[0]) > 5


def test_readable(tmp_path):
    text = vb.to_opensees(BUILDING, tmp_path / "b.py").read_text()
    assert 'ops.uniaxialMaterial("BoucWen", 1, 0.05, 20000000.0, 1.3, 40.0, 60.0, 1.0, 0.0, 0.0, 0.0)' in text
    assert "python b.py motion.txt 0.01" in text and compile(text, "b.py", "exec")


@pytest.mark.parametrize(
    ("structure", "sentence"),
    [
        (
            vb.ShearBuilding([1.0], [vb.Cubic(40.0, 3.0)]),
            r"'storeys\[0\]' is a Cubic, for which OpenSees has no material",
        ),
        (
            vb.ShearBuilding(
                [1.0], [vb.Linear(40.0)], damping=vb.Modal(0.02), attachments=[vb.Attachment(vb.Linear(1.0), 0)]
            ),
            "Modal damping is not written for OpenSees beside attachments",
        ),
        (vb.Matrices([[2.0, 0.5], [0.5, 1.0]], np.eye(2)), "The mass matrix couples degrees of freedom"),
        (vb.Matrices([1.0, 1.0], np.eye(2), influence=[1.0, 0.0]), "'influence' says otherwise"),
        (vb.Matrices([1.0, 1.0], [[2.0, 1.0], [0.0, 2.0]]), "stiffness matrix is not symmetric"),
        (vb.Beam([0, 1, 2], 1e9, 1.0, 1.0, 1.0), "A Beam cannot be written"),
    ],
)
def test_what_opensees_has_not_is_refused(tmp_path, structure, sentence):
    with pytest.raises(vb.InputError, match=sentence):
        vb.to_opensees(structure, tmp_path / "x.py")
    assert not (tmp_path / "x.py").exists()


def test_the_ending_decides(tmp_path):
    with pytest.raises(vb.InputError, match=r"should end in .py or .tcl"):
        vb.to_opensees(BUILDING, tmp_path / "x.txt")


def test_the_command(vibrid, tmp_path):
    made = vibrid("export", "opensees", EXAMPLES / "truss.toml", tmp_path / "t.tcl", "--json")
    refused = vibrid("export", "opensees", EXAMPLES / "matrices.toml", tmp_path / "m.py")
    assert refused.exit_code == 1 and "'attachments[0].law.laws[1]' is a Maxwell" in " ".join(refused.stderr.split())
    again = vb.from_opensees(tmp_path / "t.tcl", units="N, m, s").structure
    given = load_project(EXAMPLES / "truss.toml").structure
    assert made.exit_code == 0
    np.testing.assert_allclose(vb.modes(again, 2).frequencies, vb.modes(given, 2).frequencies, rtol=1e-12)
