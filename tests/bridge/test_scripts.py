"""What scripts do that is wrong, odd or dangerous: one sentence each, with the line."""

import sys

import pytest

import vibrid as vb
from vibrid.bridge.reader import describe_commands
from vibrid.bridge.scripts import record_script

PLANE = """import openseespy.opensees as ops
ops.model('basic', '-ndm', 2, '-ndf', 3)
ops.node(1, 0.0, 0.0)
ops.node(2, 0.0, 3.0)
ops.fix(1, 1, 1, 1)
ops.geomTransf('Linear', 1)
"""
MASS = "ops.mass(2, 100.0, 100.0, 1.0)\n"
COLUMN = "ops.element('elasticBeamColumn', 1, 1, 2, 0.01, 2e11, 1e-5, 1)\n"
WHOLE = PLANE + MASS + COLUMN


@pytest.fixture
def script(tmp_path):
    def write(text, name="model.py"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def read(path, **given):
    return vb.from_opensees(path, units="N, m, s", **given)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (PLANE + COLUMN, r"model.py: the model has no mass that can move"),
        (WHOLE + "ops.node(2, 1.0, 1.0)\n", r"model.py, line 9: there are two nodes 2; the first is in .*line 4"),
        (WHOLE + COLUMN, r"line 9: there are two elements 1; the first is in model.py, line 8"),
        (WHOLE + "open('out.txt', 'w')\n", r"model.py, line 9: the script writes the file 'out.txt'; take that out"),
        (WHOLE + "import os\nos.mkdir('x')\n", r"line 10: the script changes files \(os.mkdir, 'x'\)"),
        (WHOLE + "import os\nos.system('true')\n", r"line 10: the script starts a program"),
        (WHOLE + "exec(open('sections.py').read())\n", r"line 9: the script stops with FileNotFound.*sections.py"),
        (WHOLE + "1 / 0\n", r"line 9: the script stops with ZeroDivisionError: division by zero"),
        (WHOLE + "x = = 1\n", r"line 9: it is not valid Python \(invalid syntax\)"),
        (WHOLE + "ops.nodee(3, 1.0)\n", r"line 9: .*command 'nodee' of OpenSees is not known"),
        (WHOLE + "ops.block2D(1, 1)\n", r"model.py, line 9: the command 'block2D' is not understood"),
        (WHOLE + "ops.element('quad', 2, 1, 2, 1, 2)\n", r"line 9: element 2 \(quad\) is not understood; elements are"),
        (WHOLE + "ops.element('MVLEM', 2, 0.5, 1, 2)\n", r"line 9: element 2 \(MVLEM\) is not understood"),
        (WHOLE + "ops.element('corotTruss', 2, 1, 2, 1.0, 1)\n", r"element 2 \(corotTruss\) has large displacements"),
        (WHOLE + "ops.uniaxialMaterial('Pinching4', 3, 1.0)\nops.node(3, 0.0, 3.0)\nops.fix(3, 1, 1, 1)\n"
         "ops.element('zeroLength', 5, 3, 2, '-mat', 3, '-dir', 1)\n",
         r"model.py, line 9: material 3 \(Pinching4\) is not understood; materials are BoucWen"),
        (WHOLE + "ops.fix(9, 1, 1, 1)\n", r"line 9: there is no node 9 yet"),
        (WHOLE + "ops.fix(2, 1)\n", r"line 9: fix 2 needs 3 numbers of 0 or 1, not 1"),
        (WHOLE + "ops.mass(2, -1.0, 0.0, 0.0)\n", "node 2 has a negative mass"),
        (WHOLE.replace("'Linear', 1", "'Corotational', 1"), r"1 \(Corotational\) has large disp.*p_delta='ignore'"),
        (WHOLE.replace("'Linear', 1", "'PDelta', 1").replace("100.0, 1.0", "100.0, 0.0"),
         r"'rotation' has none; .* It must be native, as .* transformation 1 \(PDelta\) has P-Δ; .*'ignore'"),
        (WHOLE.replace("'Linear', 1", "'PDelta', 1") + "ops.uniaxialMaterial('Elastic', 1, 2e11)\n"
         "ops.element('truss', 9, 1, 2, 0.1, 1)\n", r"element 9 \(truss\) stands beside members with .* P-Δ; use"),
        ("print('hello')\n", "the script makes no model: it has no nodes"),
        (WHOLE + "ops.wipe()\n" + WHOLE, r"makes 2 models, with wipe between them; say which \(model=1\)"),
        (PLANE + MASS + COLUMN.replace("0.01, 2e11, 1e-5, 1", "0.01, 2e11, 1"), "needs A, E, I, transformation after"),
        (WHOLE + "ops.region(1, '-ele', 1, '-rayleigh', 1.0, 0.0, 0.0, 0.0)\n", "line 9: damping of a region alone"),
        (WHOLE + "ops.modalDamping(0.02)\n", r"line 9: modalDamping needs an eigen before it .* \(0 here\)"),
        (WHOLE + "ops.eigen(3)\nops.modalDamping(0.02, 0.03)\n", r"line 10: modalDamping needs .* \(3 here\)"),
        (WHOLE + "ops.element('truss', 3, 1, 2, 0.1, 8)\n", "names the material 8, which does not exist yet"),
        (WHOLE + "ops.node(5, 1.0, 1.0)\n", "Node 5 can move freely in its degree of freedom"),
    ],
)  # fmt: skip
def test_one_sentence_with_the_line(script, text, sentence):
    with pytest.raises(vb.VibridError, match=sentence) as told:
        read(script(text))
    assert "\n" not in str(told.value) and "Traceback" not in str(told.value)


def test_matrices_have_no_p_delta(script):
    with pytest.raises(vb.InputError, match=r"line 6: transformation 1 \(PDelta\) has P-Δ, which matrices have not"):
        read(script(WHOLE.replace("'Linear', 1", "'PDelta', 1")), condense=True)
    unused = script(WHOLE + "ops.geomTransf('Corotational', 2)\n")
    assert type(read(unused).structure) is vb.Frame2D


def test_modal_damping_beside_springs_or_rayleigh_is_a_matrix(script):
    """Compared with the script's own assembly before it is handed over."""
    modal = "ops.eigen('-fullGenLapack', 2)\nops.modalDamping(0.02)\n"
    spring = (
        "ops.node(9, 0.0, 3.0)\nops.fix(9, 1, 1, 1)\nops.uniaxialMaterial('Elastic', 1, 2e5)\n"
        "ops.element('zeroLength', 9, 9, 2, '-mat', 1, '-dir', 1)\n"
    )
    for text, words in (
        (spring + modal, "springs take part"),
        (modal + "ops.rayleigh(0.1, 0, 0, 0)\n", "act together"),
    ):
        found = read(script(WHOLE + text))
        assert isinstance(found.structure.damping, vb.structures.Explicit)
        assert any(words in note and "matrix of numbers" in note for note in found.notes)


PLAN = """import openseespy.opensees as ops
ops.model('basic', '-ndm', 3, '-ndf', 6)
for tag, x in ((1, 0.0), (2, 4.0), (3, 8.0)):
    ops.node(tag, x, 0.0, 0.0)
    ops.node(10 + tag, x, 0.0, 0.0)
    ops.fix(tag, 1, 1, 1, 1, 1, 1)
    ops.fix(10 + tag, 0, 0, 1, 1, 1, 0)
ops.rigidDiaphragm(3, 12, 11, 13)
ops.mass(12, 100.0, 100.0, 0.0, 0.0, 0.0, 900.0)
ops.uniaxialMaterial('Elastic', 1, 1e5)
for tag, direction in ((1, 2), (2, 1), (3, 2)):
    ops.element('zeroLength', tag, tag, 10 + tag, '-mat', 1, '-dir', direction)
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PLAN.replace("100.0, 100.0, 0.0", "100.0, 90.0, 0.0"), "needs one mass, the same in x and y"),
        (PLAN.replace("0, 0, 1, 1, 1, 0)", "0, 0, 0, 1, 1, 0)") + "ops.mass(12, 100.0, 100.0, 1.0, 0.0, 0.0, 900.0)\n"
         "for i in (1, 2, 3):\n    ops.element('zeroLength', 10 + i, i, 10 + i, '-mat', 1, '-dir', 3)\n",
         "degree of freedom 3 of node 11 is free"),
        (PLAN.replace("ops.node(10 + tag, x,", "ops.node(10 + tag, x + 0.5,"), "points that are not above each other"),
    ],
)  # fmt: skip
def test_rigid_floors_that_are_no_building_in_plan_become_matrices(script, text, words):
    whole = read(script(PLAN))
    assert type(whole.structure) is vb.RigidFloorBuilding and whole.became["element 3"] == "lines[2].storeys[0]"
    found = read(script(text))
    assert type(found.structure) is vb.Matrices and any(words in note for note in found.notes)


def test_an_endless_script_is_stopped(script):
    with pytest.raises(vb.FileProblem, match=r"does not end within 3 s: a loop may wait"):
        read(script(WHOLE + "while True:\n    pass\n"), seconds=3.0)


def test_a_script_that_crashes_its_process(script):
    with pytest.raises(vb.FileProblem, match="ended without an answer"):
        read(script(WHOLE + "import os\nos._exit(7)\n"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("model basic -ndm 1 -ndf 1\nsource missing.tcl\n", r"m.tcl, line 2: .*couldn't read file \"missing.tcl\""),
        ("model basic -ndm 1 -ndf 1\nnod 1 0\n", r"m.tcl, line 2: 'nod' is no command of Tcl or of OpenSees"),
        ("set f [open out.txt w]\n", r"m.tcl, line 1: the script writes the file 'out.txt'"),
        ("exec rm -rf nothing\n", r"m.tcl, line 1: the script starts a program"),
        ("file delete x\n", r"m.tcl, line 1: the script changes files"),
    ],
)
def test_tcl_that_cannot_be_read(script, text, sentence):
    with pytest.raises(vb.FileProblem, match=sentence):
        read(script(text, "m.tcl"))


def test_python_without_tcl(script, tmp_path, monkeypatch):
    (tmp_path / "tkinter.py").write_text("raise ImportError('no Tk')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("vibrid.bridge.scripts.sys.executable", sys.executable)
    path = script("model basic -ndm 1 -ndf 1\n", "m.tcl")
    with pytest.raises(vb.FileProblem, match=r"this Python has no Tcl interpreter, .* install tkinter"):
        read(path)


@pytest.mark.parametrize(
    ("units", "sentence"),
    [
        ("N, m", "no unit of time"),
        ("N, kN, s", "one unit of force"),
        ("N, m, parsnips", "parsnips"),
        ("", "no unit"),
    ],
)
def test_units_that_are_none(script, units, sentence):
    with pytest.raises(vb.InputError, match=sentence):
        vb.from_opensees(script(WHOLE), units=units)


def test_writing_may_be_allowed(script, tmp_path):
    found = read(script(WHOLE + "open('out.txt', 'w').close()\n"), allow_writing=True)
    assert (tmp_path / "out.txt").exists() and type(found.structure) is vb.Frame2D


def test_the_record_ends_where_a_result_is_asked_for(script):
    text = WHOLE + "ops.analyze(10, 0.01)\nprint(ops.getTime())\nops.nodeDisp(2, 1)\nops.mass(2, 7.0, 7.0, 7.0)\n"
    found = read(script(text))
    assert any("line 11: the script asks for a result (nodeDisp); nothing after" in note for note in found.notes)
    assert float(found.structure.masses[0].mass) == 100.0


def test_questions_that_need_no_analysis(script):
    text = WHOLE + (
        "assert ops.nodeCoord(2) == [0.0, 3.0] and ops.nodeCoord(2, 2) == 3.0 and ops.getNodeTags() == [1, 2]\n"
        "ops.integrator('LoadControl', 0.1)\n"
        "while ops.getTime() < 0.95:\n    assert ops.analyze(1) == 0\n"
        "ops.loadConst('-time', 0.0)\nassert ops.getTime() == 0.0\n"
        "import opsvis\nopsvis.plot_model()\n"
        "k = ops.eigen(1)[0]\nassert abs(k - 2e11 * 1e-5) > 0\n"
    )
    assert read(script(text)).native


def test_eigen_is_answered_as_opensees_would(script):
    """A cantilever with mass at its tip alone and no rotary inertia: ω² = 3 EI / (m h³)."""
    text = (
        PLANE
        + "ops.mass(2, 100.0, 0.0, 0.0)\n"
        + COLUMN
        + "w2 = ops.eigen('-genBandArpack', 1)[0]\nops.rayleigh(w2, 0, 0, 0)\n"
    )
    model = describe_commands(record_script(script(text)))
    assert model.rayleigh[0] == pytest.approx(3 * 2e11 * 1e-5 / (100.0 * 27.0), rel=1e-12)


def test_helper_files_are_named(script):
    script("import openseespy.opensees as ops\ndef tower():\n    ops.fix(77, 1, 1, 1)\n", "helper.py")
    with pytest.raises(vb.InputError, match=r"helper.py, line 3: there is no node 77 yet"):
        read(script(WHOLE + "import helper\nhelper.tower()\n"))


def test_fibre_patches_and_layers(script):
    """Areas and second moments of the fibres against closed forms."""
    text = PLANE + MASS + COLUMN + (
        "ops.uniaxialMaterial('Elastic', 1, 1.0)\n"
        "ops.section('Fiber', 1)\nops.patch('rect', 1, 8, 2, -0.2, -0.1, 0.2, 0.1)\n"
        "ops.section('Fiber', 2)\nops.patch('circ', 1, 24, 40, 0.0, 0.0, 0.05, 0.3, 0.0, 360.0)\n"
        "ops.section('Fiber', 3)\nops.patch('quad', 1, 60, 60, -0.2, -0.1, 0.2, -0.1, 0.2, 0.1, -0.2, 0.1)\n"
        "ops.section('Fiber', 4)\nops.layer('straight', 1, 3, 0.01, -0.1, 0.0, 0.1, 0.0)\n"
        "ops.section('Fiber', 5)\nops.layer('circ', 1, 6, 0.02, 0.0, 0.0, 0.2)\n"
    )  # fmt: skip
    model = describe_commands(record_script(script(text)))

    def sums(tag):
        fibres = model.fibres[tag].fibres
        return sum(a for *_, a, _ in fibres), sum(a * y * y for y, _, a, _ in fibres)

    assert sums(1) == pytest.approx((0.08, 0.2 * 0.4**3 / 12 * (1 - 1 / 64)))  # layers, without their own inertia
    assert sums(2) == pytest.approx((3.14159265 * (0.09 - 0.0025), 3.14159265 / 4 * (0.3**4 - 0.05**4)), rel=1e-2)
    assert sums(3) == pytest.approx((0.08, 0.2 * 0.4**3 / 12), rel=1e-3)
    assert sums(4) == pytest.approx((0.03, 0.0002)) and sums(5) == pytest.approx((0.12, 0.0024))


PORTAL_OF_BARS = """import openseespy.opensees as ops
ops.model('basic', '-ndm', 2, '-ndf', 2)
ops.node(1, 0.0, 0.0)
ops.node(2, 4.0, 0.0)
ops.node(3, 2.0, 3.0)
ops.fix(1, 1, 1)
ops.fix(2, 1, 1)
ops.mass(3, {mass}, {mass})
ops.uniaxialMaterial('Steel01', 1, {strength}, 2e11, 0.01)
ops.element('truss', 1, 1, 3, 0.01, 1)
ops.element('truss', 2, 2, 3, 0.01, 1)
ops.timeSeries('Constant', 1)
ops.pattern('Plain', 1, 1)
ops.load(3, 0.0, -9810.0)
ops.integrator('LoadControl', 1.0)
ops.analysis('Static')
ops.analyze(1)
ops.loadConst('-time', 0.0)
"""


@pytest.mark.parametrize(
    ("mass", "strength", "said"),
    [
        (1000.0, 4e8, ""),
        (1000.0, 4e11, r"material 1 (Steel01) yields at a strain of 2"),
        (10.0, 4e8, r"the permanent loads are 1e+02 times the weight of the masses"),
    ],
)
def test_strains_and_weights_that_no_structure_has_are_told(script, mass, strength, said):
    imported = read(script(PORTAL_OF_BARS.format(mass=mass, strength=strength)), condense=True)
    notes = " ".join(imported.notes)
    assert ("check the units" in notes) == bool(said) and said in notes, notes
