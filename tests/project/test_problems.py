"""What a project file that cannot be used says about itself."""

import pytest

from vibrid.core.errors import FileProblem
from vibrid.project import load_project
from vibrid.project.problems import ProjectProblem, line_of

MASSES = "masses = [2.0, 1.0]"
STOREYS = 'storeys = {law = "linear", stiffness = 40.0, count = 2}'
SENSORS = 'place = [0, "roof"]'
SYNTHETIC = "synthetic = {seed = 1, duration = 2.0, rate = 50.0, pga = 1.0}"

CASES = {
    "unknown key": (
        STOREYS,
        'storeys = {law = "linear", stifness = 40.0, count = 2}',
        "line 5: structure.storeys.stifness: there is no 'stifness' in a linear law; did you mean 'stiff",
    ),
    "unknown law": (
        STOREYS,
        'storeys = {law = "liner", stiffness = 40.0, count = 2}',
        "line 5: structure.storeys: there is no law called 'liner'; did you mean 'linear'?",
    ),
    "law without a name": (STOREYS, "storeys = [{stiffness = 1.0}]", "a law is a table with its name"),
    "missing key": (
        STOREYS,
        'storeys = {law = "linear", count = 2}',
        "a linear law needs 'stiffness' (stiffness k, N/m).",
    ),
    "wrong unit": (
        STOREYS,
        'storeys = {law = "linear", stiffness = "40 mm", count = 2}',
        "structure.storeys.stiffness: 'mm' measures length; this number is in N/m.",
    ),
    "no unit at all": (STOREYS, 'storeys = {law = "linear", stiffness = "40 quux", count = 2}', "'quux' is not a unit"),
    "no number": (STOREYS, 'storeys = {law = "linear", stiffness = "stiff", count = 2}', "a number was expected"),
    "true is no number": (STOREYS, 'storeys = {law = "linear", stiffness = true, count = 2}', "a number was expected"),
    "infinite": (MASSES, "masses = [inf, 1.0]", "a finite number was expected"),
    "negative": (MASSES, "masses = [-2.0, 1.0]", "structure.masses: this number must not be negative"),
    "a list for a number": (
        STOREYS,
        'storeys = {law = "linear", stiffness = [1.0, 2.0], count = 2}',
        "a list was given where this law wants one number",
    ),
    "ragged": (MASSES, "masses = [[2.0, 1.0], [1.0]]", "must have the same length"),
    "too few storeys": (
        STOREYS,
        'storeys = {law = "linear", stiffness = 40.0}',
        "structure: A shear building needs one storey law for each floor: 2 masses and 1 storeys",
    ),
    "too many parts": (
        STOREYS,
        'storeys = [{law = "linear", stiffness = 1.0, count = 9000}, {law = "linear", stiffness = 1.0, count = 9000}]',
        "a list may have 10000 parts, not 18000",
    ),
    "huge count": (MASSES, "masses = {value = 1.0, count = 1000000000}", "'count' must lie between 1 and"),
    "wrong place": (SENSORS, 'place = [0, "attic"]', "sensors[0].place: 'attic' is not a floor of this building"),
    "wrong quantity": ('quantity = "displacement"', 'quantity = "displacment"', "did you mean 'displacement'?"),
    "wrong noise unit": (SENSORS, SENSORS + '\nnoise = "3 g"', "sensors[0].noise: 'g' measures acceleration"),
    "wrong channel unit": (SENSORS, SENSORS + '\nunit = "g"', "sensors[0].unit: Numbers in m cannot be expressed in g"),
    "one channel for two": (SENSORS, SENSORS + '\nchannel = "x"', "one channel cannot have several places"),
    "two sources": (SYNTHETIC, SYNTHETIC + '\nfile = "x.csv"', "file and synthetic are given"),
    "no source": (SYNTHETIC, "scale = 2.0", "excitation: give a file, a synthetic motion"),
    "load at no place": (
        SYNTHETIC,
        'cyclic = {amplitudes = [1.0]}\nquantity = "load"\nplace = "moon"',
        "excitation.place: 'moon' is not a floor",
    ),
    "amplitude unit": (
        SYNTHETIC,
        'cyclic = {amplitudes = [1.0, "2 mm"]}\nquantity = "load"\nplace = "0"',
        "excitation.cyclic.amplitudes[1]: 'mm' measures length; this number is in N.",
    ),
    "wrong integrator": (SYNTHETIC, SYNTHETIC + '\n[simulation]\nintegrator = "newmarc"', "did you mean 'newmark'?"),
    "integrator's setting": (
        SYNTHETIC,
        SYNTHETIC + '\n[simulation]\nintegrator = {kind = "kr-alpha", weigh = "x"}',
        "simulation.integrator: KRAlpha weighs 'force' or 'displacement'",
    ),
    "wrong method": (SYNTHETIC, SYNTHETIC + '\n[method]\nname = "trajektory"', "did you mean 'trajectory'?"),
    "unknown path": (
        SYNTHETIC,
        SYNTHETIC + '\n[[unknown]]\npath = "storeys[*].stifness"',
        "unknown[0].path: 'structure.storeys[0]' has no 'stifness'; did you mean 'stiffness'?",
    ),
    "bounds unit": (
        SYNTHETIC,
        SYNTHETIC + '\n[[unknown]]\npath = "storeys[0].stiffness"\nbounds = ["1 m", 2.0]',
        "unknown[0].bounds: 'm' measures length; this number is in N/m.",
    ),
    "start outside": (
        SYNTHETIC,
        SYNTHETIC + '\n[[unknown]]\npath = "storeys[0].stiffness"\nbounds = [50.0, 60.0]',
        "outside its bounds",
    ),
    "unknown table": (SYNTHETIC, SYNTHETIC + "\n[sensor]\nplace = 1", "sensor: there is no 'sensor' in a project file"),
    "a text for a table": (STOREYS, 'storeys = "linear"', "structure.storeys"),
}


@pytest.mark.parametrize("case", CASES)
def test_each_problem_is_a_sentence(project, case):
    old, new, expected = CASES[case]
    with pytest.raises(ProjectProblem) as caught:
        project(None, change=(old, new))
    text = str(caught.value)
    assert expected in text
    assert text.count("\n") == 0, "one problem, one line"
    assert "project.toml, line " in text


def test_all_problems_are_told_at_once_in_the_order_of_the_file(project):
    with pytest.raises(ProjectProblem) as caught:
        project(None, a=(MASSES, 'masses = ["2 N", 1.0]'), b=("pga = 1.0", "pgaa = 1.0"), c=(SENSORS, "plcae = 0"))
    lines = str(caught.value).splitlines()
    keys = [line.split(": ")[1] for line in lines]
    assert keys == ["structure.masses", "sensors[0].plcae", "excitation.synthetic.pgaa"]
    assert len(caught.value.problems) == 3
    assert caught.value.line == 4


def test_units_of_channels_are_checked_with_everything_else(project):
    with pytest.raises(ProjectProblem) as caught:
        project(None, a=(MASSES, 'masses = ["2 N", 1.0]'), b=(SENSORS, SENSORS + '\nunit = "gg"\nnoise = "3 kN"'))
    assert [p.keys[-1] for p in caught.value.problems] == ["masses", "unit", "noise"]


@pytest.mark.parametrize(
    ("bounds", "mistakes"), [("[1e3, 1e9]", ["stiffness"]), ('["1 kN/m", "3 kN"]', ["stiffness", "bounds"])]
)
def test_a_first_guess_is_not_judged_where_its_number_could_not_be_read(project, bounds, mistakes):
    unknown = f'{SYNTHETIC}\n[[unknown]]\npath = "storeys[0].stiffness"\nbounds = {bounds}'
    with pytest.raises(ProjectProblem) as caught:
        project(None, a=(STOREYS, STOREYS.replace("40.0", '"40 kg"')), b=(SYNTHETIC, unknown))
    assert [p.keys[-1] for p in caught.value.problems] == mistakes


def test_a_record_in_place_of_a_project_is_told(tmp_path):
    path = tmp_path / "measured.csv"
    path.write_text("time [s],roof [mm]\n0.0,1.0\n")
    with pytest.raises(FileProblem, match="comes first; then records"):
        load_project(path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"[structure\n", "line 1: this is not valid TOML"),
        (b"a = 1\nb = \n", "line 2: this is not valid TOML"),
        (b"\xff\xfe\x00", "not a text file in UTF-8"),
        (b"#" * 1_000_001, "at most 1 MB"),
        (b"", "structure: a project file needs 'structure'"),
        (b"a = " + b"[" * 20_000, "not valid TOML"),
    ],
)
def test_files_that_are_no_projects(tmp_path, content, sentence):
    path = tmp_path / "p.toml"
    path.write_bytes(content)
    with pytest.raises(FileProblem, match=sentence):
        load_project(path)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileProblem, match="there is no such file"):
        load_project(tmp_path / "none.toml")
    with pytest.raises(FileProblem, match="not a file"):
        load_project(tmp_path)


def test_missing_excitation_is_told_when_it_is_needed(project):
    loaded = project(None, change=("[excitation]\n" + SYNTHETIC, ""))
    with pytest.raises(FileProblem, match="there is no excitation: give"):
        loaded.excitation()


def test_nothing_is_imported_by_name(project):
    for name in ("os.system", "vibrid.laws.Linear", "__import__('os')"):
        with pytest.raises(ProjectProblem, match="there is no law called"):
            project(None, change=('law = "linear"', f'law = "{name}"'))


def test_lines_are_found():
    text = 'a = 1\n[s]\nlist = [\n  {x = 1},\n  {x = 2, y = "]"},\n]\n[[t]]\nz = 1\n'
    text += "[[t]]\nz = [[1, 2],\n [3, 4]]\n[t.u]\nw = 1\n"
    places = {
        ("a",): 1,
        ("s", "list", 0, "x"): 4,
        ("s", "list", 1, "y"): 5,
        ("t", 0, "z"): 8,
        ("t", 1, "z", 1): 11,
        ("t", 1, "u", "w"): 13,
        ("s", "missing"): 2,
        ("t",): 7,
        ("nowhere",): None,
    }
    assert {keys: line_of(text, keys) for keys in places} == places


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("siva", "siva-as-published"),
        ("pidynnet", "pidynnet-as-published"),
        ("joint", "joint-as-published"),
        ("online-masing", "masing-as-published"),
    ],
)
def test_a_retired_setting_of_a_method_names_the_method_that_replaces_it(project, name, published):
    with pytest.raises(ProjectProblem) as caught:
        project(project.text + f'\n[method]\nname = "{name}"\nfaithful = true\n')
    assert f"'{published}'" in str(caught.value)


@pytest.mark.parametrize("value", ["[]", "{}", "[[1, 2], [3]]", "1", "true", "1979-05-27"])
@pytest.mark.parametrize("line", ['kind = "shear-building"', 'law = "linear"'])
def test_a_name_that_is_no_text_is_refused_with_a_message(tmp_path, line, value):
    text = '[structure]\nkind = "shear-building"\nmasses = [1.0]\nstoreys = [{law = "linear", stiffness = 4.0}]\n'
    (tmp_path / "p.toml").write_text(text.replace(line, line.partition("=")[0] + f"= {value}"))
    with pytest.raises(FileProblem, match="there is no"):
        load_project(tmp_path / "p.toml")


def test_a_start_that_does_not_fit_its_path_is_refused_where_it_is(tmp_path):
    text = '[structure]\nkind = "shear-building"\nmasses = [1.0]\nstoreys = [{law = "linear", stiffness = 4.0}]\n'
    (tmp_path / "p.toml").write_text(text + '[[unknown]]\npath = "storeys[0].stiffness"\nstart = [1.0, 2.0]\n')
    with pytest.raises(FileProblem, match=r"needs one start, or one for each of its 1, not \[1\.0, 2\.0\]"):
        load_project(tmp_path / "p.toml")


EIGHT = """
titel = "Frame"

[structure]
kind = "shear-building"
masses = [2.0, "1 N"]
storeys = {law = "liner", stiffness = 40.0, count = 2}

[[sensors]]
quantity = "displacment"
place = "roof"
noise = "3 g"

[[sensors]]
quantity = "displacement"
place = "attic"

[excitation]
synthetic = {seed = 1, duration = 2.0, rate = 50.0, pga = 1.0}
file = "x.csv"

[[unknown]]
path = "storeys[*].stifness"

[[unknown]]
path = "storeys[0].stiffness"
bounds = ["1 m", 2.0]

[method]
name = "trajektory"
"""


def test_mistakes_in_every_table_are_told_in_one_run(project):
    with pytest.raises(ProjectProblem) as caught:
        project(EIGHT)
    said = [line.split("project.toml, ")[1] for line in str(caught.value).splitlines()]
    expected = [
        "line 2: titel: there is no 'titel' in a project file; did you mean 'title'?",
        "line 6: structure.masses: 'N' measures force; this number is in kg.",
        "line 7: structure.storeys: there is no law called 'liner'; did you mean 'linear'?",
        "line 10: sensors[0].quantity: 'displacment' is not one of the names used here; did you mean 'displacement'?",
        "line 12: sensors[0].noise: 'g' measures acceleration; this number is in m.",
        "line 16: sensors[1].place: 'attic' is not a floor of this building",
        "line 18: excitation: file and synthetic are given; an excitation has one source.",
        "line 23: unknown[0].path: 'structure.storeys[0]' has no 'stifness'; did you mean 'stiffness'?",
        "line 27: unknown[1].bounds: 'm' measures length; this number is in N/m.",
        "line 29: method: there is no method called 'trajektory'; did you mean 'trajectory'?",
    ]
    assert len(said) == len(expected)
    for line, start in zip(said, expected, strict=True):
        assert line.startswith(start)


def test_what_refers_to_a_table_that_cannot_be_judged_is_not_judged(project):
    bad = project.text.replace(STOREYS, 'storeys = "linear"').replace(SENSORS, 'place = "attic"')
    with pytest.raises(ProjectProblem) as caught:
        project(bad + '\n[[unknown]]\npath = "storeys[5].stiffness"\n')
    assert [p.keys[0] for p in caught.value.problems] == ["structure"]
    bad = project.text.replace(SENSORS, "") + '\n[[unknown]]\npath = "sensors[0].gain"\n[method]\nname = "ukv"\n'
    with pytest.raises(ProjectProblem) as caught:
        project(bad)
    assert [p.keys for p in caught.value.problems] == [("sensors", 0, "place"), ("method",)]


def test_places_of_entries_are_those_of_the_file_when_others_cannot_be_used(project):
    entries = '[[unknown]]\npath = 3.5\nbounds = 1\n[[unknown]]\npath = "storeys[7].stiffness"\n'
    with pytest.raises(ProjectProblem) as caught:
        project(project.text + entries)
    assert ("unknown", 1, "path") in [p.keys for p in caught.value.problems]
