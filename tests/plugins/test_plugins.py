"""Plugins come in whole or not at all, say where they came from, and run only where they may."""

import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

import vibrid as vb
from vibrid.core import plugins, trust
from vibrid.core.plugins import load_file
from vibrid.core.registry import PACKAGE, Registry
from vibrid.project import load_project

LAW = """
from vibrid.extend import LAWS, StaticLaw, parameter

@LAWS.register("{name}")
class Mine(StaticLaw):
    stiffness: object = parameter("stiffness", "N/m", positive=True)

    def force(self, e, w, s):
        return self.stiffness * e
"""
PROJECT = """
plugins = ["mine.py"]

[structure]
kind = "shear-building"
masses = [1.0]
storeys = {law = "mine", stiffness = 40.0}
"""


def law(name: str = "mine") -> str:
    return LAW.replace("{name}", name)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "mine.py").write_text(law())
    (tmp_path / "project.toml").write_text(PROJECT)
    return tmp_path / "project.toml"


# -- entry points ----------------------------------------------------------------------------------------------------


def test_installed_plugins_are_found_by_name(distribution):
    distribution("acme-laws", "1.2", "springs = acme_springs", acme_springs=law("acme-spring"))
    assert "linear" in vb.laws.LAWS and plugins._installed is None, "nobody looks for plugins where the package has it"
    assert vb.laws.LAWS["acme-spring"].__name__ == "Mine"
    assert str(vb.laws.LAWS.origin("acme-spring")) == "acme-laws 1.2" and vb.laws.LAWS.origin("linear") == PACKAGE
    assert "acme-spring" in list(vb.laws.LAWS)


def test_an_entry_point_may_be_a_function(distribution):
    text = law("acme-later").replace("@LAWS.register", "def register():\n    LAWS.register('acme-later')(Mine)\n\n#")
    distribution("acme-laws", "1.2", "springs = acme_function:register", acme_function=text)
    assert "acme-later" in vb.laws.LAWS


def test_a_law_of_an_installed_plugin_appears_in_the_studio_by_itself(distribution, tmp_path):
    from vibrid.studio.calculating import Desk

    distribution("acme-laws", "1.2", "springs = acme_on_a_page", acme_on_a_page=law("acme-seen"))
    offered = next(entry for entry in Desk().answer({"what": "schema"})["law"] if entry["name"] == "acme-seen")
    assert [(p["name"], p["unit"], p["required"], p["plain"]) for p in offered["parameters"]] == [
        ("stiffness", "N/m", True, True)
    ]
    (tmp_path / "p.toml").write_text(PROJECT.replace('plugins = ["mine.py"]', "").replace('"mine"', '"acme-seen"'))
    said = Desk().answer({"what": "describe", "project": str(tmp_path / "p.toml")})
    assert "acme-seen" in said["sketch"]["items"][-1]["label"]


def test_a_law_of_an_installed_plugin_is_known_to_project_files(distribution, project):
    distribution("acme-laws", "1.2", "springs = acme_for_projects", acme_for_projects=law("mine"))
    project.write_text(PROJECT.replace('plugins = ["mine.py"]', ""))
    assert type(load_project(project).structure.storeys[0]) is vb.laws.LAWS["mine"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (law("acme-half") + "\nraise RuntimeError('out of order')", "it ended with RuntimeError: out of order."),
        (law("acme-half") + "\nimport sys; sys.exit(3)", "it ended with SystemExit: 3."),
        (law("acme-half") + "\nif", "it ended with SyntaxError"),
        (law("acme-half") + law("linear"), "A law called 'linear' is registered already (by vibrid); choose another"),
        (law("acme-half") + law("parallel"), "'parallel' has a meaning of its own in project files"),
        ('requires_vibrid = ">=99"\n' + law("acme-half"), "it was made for vibrid >=99, and this is"),
        ('requires_vibrid = "new"\n' + law("acme-half"), "its requires_vibrid is 'new'; write it like"),
        ("from vibrid.core.gone import anything\n", "it ended with ModuleNotFoundError"),
    ],
)  # fmt: skip
def test_a_broken_plugin_is_named_and_left_out_whole(distribution, vibrid, text, why, request):
    module = f"acme_{abs(hash(request.node.name))}"
    distribution("acme-laws", "1.2", f"springs = {module}\nzz = acme_good", **{module: text, "acme_good": law("good")})
    with pytest.warns(UserWarning) as told:
        names = list(vb.laws.LAWS)
    sentence = next(str(w.message) for w in told if "left out" in str(w.message))
    assert sentence.startswith("The plugin springs (acme-laws:springs 1.2) was left out: ") and why in sentence
    assert "acme-half" not in names and "good" in names, "others are not touched"
    assert vb.laws.LAWS.origin("linear") == PACKAGE and vb.laws.LAWS["linear"] is vb.Linear
    listed = {p["plugin"]: p for p in vibrid("plugins", "--json").json()}
    assert why in listed["springs"]["left_out"] and listed["springs"]["registered"] == {}
    assert listed["zz"]["from"] == "acme-laws:zz 1.2" and listed["zz"]["kind"] == "entry point"
    assert listed["zz"]["registered"] == {"law": ["good"]} and listed["zz"]["left_out"] == ""
    assert "left out" in vibrid("plugins").stdout


def test_the_package_stays_whole_when_a_plugin_that_imported_it_first_breaks():
    """A plugin may be the first to import a room; what the room registers is not the plugin's to lose."""
    code = (
        "import pathlib, tempfile, vibrid.core\n"
        "from vibrid.core.errors import FileProblem\n"
        "from vibrid.core.plugins import load_file\n"
        "p = pathlib.Path(tempfile.mkdtemp()) / 'first.py'\n"
        "p.write_text('import vibrid.laws\\n1/0\\n')\n"
        "try:\n    load_file(p)\n"
        "except FileProblem as problem:\n    assert 'ZeroDivisionError' in str(problem)\n"
        "import vibrid.laws\n"
        "print(len(vibrid.laws.LAWS.names()), vibrid.laws.LAWS.origin('linear'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(len(vb.laws.LAWS.names())), "vibrid"]


def test_the_papers_come_through_the_same_door():
    """In a checkout, where there is no metadata, and as pyproject.toml says."""
    written = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert written["project"]["entry-points"][plugins.GROUP] == plugins.OWN
    code = (
        "import sys\nfrom vibrid.core.plugins import installed\n"
        "print([p.registered for p in installed() if p.entry == 'papers'])\n"
        "assert not {'matplotlib', 'jax', 'vibrid.papers.joint'} & set(sys.modules), 'nothing heavy is imported'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "('paper', 'pidynnet')" in done.stdout


def test_a_method_that_is_announced_is_imported_when_it_is_asked_for(distribution):
    method = "from vibrid.extend import METHODS, Method\n@METHODS.register('acme-lazy')\nclass Lazy(Method): ...\n"
    door = "from vibrid.extend import METHODS\nMETHODS.announce('acme-lazy', 'acme_lazy:Lazy')\n"
    door += "METHODS.announce('acme-gone', 'acme_nowhere:Gone')\n"
    distribution("acme", "2", "lazy = acme_door", acme_door=door, acme_lazy=method)
    assert "acme-lazy" in vb.identification.METHODS and "acme_lazy" not in sys.modules
    assert (
        vb.identification.METHODS["acme-lazy"].__name__ == "Lazy"
        and str(vb.identification.METHODS.origin("acme-lazy")) == "acme 2"
    )
    with pytest.raises(vb.InputError, match=r"The method 'acme-gone' of acme 2 cannot be imported \(No module"):
        vb.identification.METHODS["acme-gone"]
    with pytest.warns(UserWarning, match="acme-gone"):
        assert "acme-lazy" in dict(vb.identification.METHODS.items())


# -- files -----------------------------------------------------------------------------------------------------------


def test_a_file_is_run_once_and_again_when_it_changes(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(law())
    first = load_file(path)
    made = vb.laws.LAWS["mine"]
    assert load_file(path) == first and vb.laws.LAWS["mine"] is made
    path.write_text(law("other"))
    load_file(path)
    assert "mine" not in vb.laws.LAWS and "other" in vb.laws.LAWS and first.registered == [("law", "other")]


def test_two_files_cannot_have_one_name(tmp_path):
    (tmp_path / "a.py").write_text(law())
    (tmp_path / "b.py").write_text(law("b") + law())
    load_file(tmp_path / "a.py")
    with pytest.raises(vb.FileProblem, match=r"b\.py: .* A law called 'mine' is registered already \(by .*a\.py\)"):
        load_file(tmp_path / "b.py")
    assert "b" not in vb.laws.LAWS


def test_a_file_that_was_imported_already_is_not_run_again(tmp_path, monkeypatch):
    (tmp_path / "imported_mine.py").write_text(law())
    monkeypatch.syspath_prepend(str(tmp_path))
    import imported_mine

    load_file(tmp_path / "imported_mine.py")
    assert vb.laws.LAWS["mine"] is imported_mine.Mine
    del sys.modules["imported_mine"]


# -- trust -----------------------------------------------------------------------------------------------------------


def test_a_project_alone_runs_nothing(project, vibrid, tmp_path):
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n" + law())
    with pytest.raises(vb.FileProblem, match=r"line 2: plugins\[0\]: 'mine\.py' is a Python program, .* --trust"):
        load_project(project)
    made = vibrid("simulate", project, input="y\n")
    assert made.exit_code == 1 and "--trust" in made.stderr and "[y/N]" not in made.stderr, ()
    assert not (tmp_path / "ran").exists() and not trust.memory().exists()
    assert load_project(project, trust=True).structure.laws() and (tmp_path / "ran").exists()
    assert not trust.memory().exists(), "--trust is for once"


def test_a_yes_at_the_terminal_is_remembered_by_content(project, vibrid, monkeypatch):
    monkeypatch.setattr("vibrid.commands.trust.at_terminal", lambda: True)
    refused = vibrid("simulate", project, input="n\n")
    assert "wants to run the Python program" in refused.stderr and "--trust" in refused.stderr
    asked = vibrid("simulate", project, input="y\n")
    assert "[y/N]" in asked.stderr and "plugins[0]" not in asked.stderr and "mine" in vb.laws.LAWS
    again = vibrid("simulate", project)
    assert "[y/N]" not in again.stderr and "plugins[0]" not in again.stderr
    monkeypatch.setattr(trust, "_agreed", set())  # as another process
    assert load_project(project).structure.laws()
    mark, _, named = trust.memory().read_text().strip().partition("  ")
    assert len(mark) == 64 and named.endswith("mine.py")
    (project.parent / "mine.py").write_text(law() + "# changed\n")
    assert "[y/N]" in vibrid("simulate", project, input="n\n").stderr
    with pytest.raises(vb.FileProblem, match="--trust"):
        load_project(project)


def test_what_cannot_be_remembered_is_said(project, vibrid, monkeypatch, tmp_path):
    (tmp_path / "state").write_text("a file where a folder should be")
    monkeypatch.setattr("vibrid.commands.trust.at_terminal", lambda: True)
    asked = vibrid("simulate", project, input="y\n")
    assert "the folder cannot be made" in asked.stderr and "plugins[0]" not in asked.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('["nowhere.py"]', r"plugins\[0\]: there is no such plugin file"),
        (
            '["mine.py", "broken.py"]',
            r"plugins\[1\]: broken\.py: .* left out: it ended with ValueError: no",
        ),
        ('"mine.py"', "plugins: a list was expected"),
        ("[3]", "structure"),
    ],
)
def test_plugins_that_cannot_be_used_are_problems_of_the_project(project, given, said):
    (project.parent / "broken.py").write_text("raise ValueError('no')")
    project.write_text(PROJECT.replace('["mine.py"]', given))
    with pytest.raises(vb.FileProblem, match=said):
        load_project(project, trust=True)


def test_specimens_and_trainings_have_plugins_too(tmp_path):
    from vibrid.project.specimen import load_specimen
    from vibrid.project.training import load_training

    (tmp_path / "mine.py").write_text(law())
    path = tmp_path / "specimen.toml"
    path.write_text('plugins = ["mine.py"]\n[device]\nkind = "law"\nlaw = {law = "mine", stiffness = 3.0}\n')
    (tmp_path / "training.toml").write_text('plugins = ["mine.py"]\n[[tests]]\nfile = "t.csv"\ncapacity = 1.0\n')
    for load, file in ((load_specimen, path), (load_training, tmp_path / "training.toml")):
        with pytest.raises(vb.FileProblem, match="--trust"):
            load(file)
    assert type(load_specimen(path, trust=True).device.law) is vb.laws.LAWS["mine"]


READING = """
from pathlib import Path

import equinox as eqx

from vibrid.extend import SPECIMENS, LoopDevice
from vibrid.hybrid import LawDevice
from vibrid.laws import Linear


@SPECIMENS.register("spring-in-a-file")
class SpringFile(LoopDevice):
    table: str = eqx.field(static=True)

    def read(self, folder):
        return LawDevice(Linear(float((Path(folder) / self.table).read_text())))
"""


def test_a_device_of_a_plugin_reads_its_files_beside_the_project(tmp_path, monkeypatch):
    from vibrid.project.specimen import load_specimen

    (tmp_path / "reading.py").write_text(READING)
    (tmp_path / "k.txt").write_text("3.0")
    head, device = 'plugins = ["reading.py"]\n', 'device = {kind = "spring-in-a-file", table = "k.txt"}\n'
    building = '[structure]\nkind = "shear-building"\nmasses = [1.0]\nstoreys = {law = "linear", stiffness = 40.0}\n'
    (tmp_path / "specimen.toml").write_text(head + device)
    (tmp_path / "hybrid.toml").write_text(head + building + f"[[hybrid.modelled]]\nat = 0\n{device}")
    monkeypatch.chdir("/")
    served = load_specimen(tmp_path / "specimen.toml", trust=True).device
    (part,) = load_project(tmp_path / "hybrid.toml", trust=True).hybrid.test.modelled
    assert float(served.law.stiffness) == float(part.device.law.stiffness) == 3.0
    (tmp_path / "k.txt").unlink()
    with pytest.raises(vb.FileProblem, match=r"hybrid.modelled\[0\].device: its file cannot be read .*k.txt"):
        load_project(tmp_path / "hybrid.toml", trust=True)


# -- registries ------------------------------------------------------------------------------------------------------


def test_a_registry_keeps_one_thing_under_one_name():
    table = Registry("thing of this test")
    table.register("a")(vb.Linear)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table.register("a")(vb.Linear)
    with pytest.raises(vb.InputError, match="registered already"):
        table.register("a")(vb.Cubic)
    assert table.origin("a").kind == "file" and table.origin("a").short == "test_plugins.py"
    table.forget("a")
    assert "a" not in table
    with pytest.raises(vb.InputError, match="There is no thing of this test called 'a'"):
        table["a"]
