"""The front door itself: help, versions, errors, exit codes, doctor, schema, demo."""

import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import jsonschema
import pytest
from example_files import EXAMPLES

import vibrid as vb
from vibrid.commands import by_name, imports
from vibrid.project import json_schema

COMMANDS = ["demo", "simulate", "schema", "doctor", "spectrum"]


def test_help_is_quick_and_needs_no_jax():
    program = (
        "import sys; sys.argv = ['vibrid', '--help']; import vibrid.cli as c\ntry: c.main()\n"
        "finally: print('jax' in sys.modules, 'scipy' in sys.modules, file=sys.stderr)"
    )
    started = time.perf_counter()
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert made.returncode == 0 and "simulate" in made.stdout
    assert made.stderr.strip() == "False False", f"heavy imports at start, {time.perf_counter() - started:.1f} s"


@pytest.mark.parametrize("name", by_name.COMMANDS)
def test_the_list_of_commands_says_what_each_says_of_itself(name):
    told = by_name.COMMANDS[name][-1]
    assert told == " ".join(by_name.loaded(name).help.split("\n\n")[0].split())


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example(vibrid, command):
    made = vibrid(command, "--help")
    assert made.exit_code == 0 and f"Example: vibrid {command}" in " ".join(made.stdout.split())


def test_version_and_usage(vibrid):
    assert vibrid("--version").stdout == f"vibrid {vb.__version__}\n"
    assert vibrid("simulate").exit_code == 2
    wrong = vibrid("simulat")
    assert wrong.exit_code == 2 and "simulat" in wrong.stderr


def stop(*_, **__):
    raise KeyboardInterrupt


def fail(*_, **__):
    raise RuntimeError("the wheels came off")


@pytest.mark.parametrize(
    ("fault", "code", "sentence"),
    [
        (stop, 130, "Stopped by Ctrl-C."),
        (fail, 1, "Unexpected error in vibrid (RuntimeError: the wheels came off). Set VIBRID_DEBUG=1"),
    ],
)
def test_faults_are_sentences(vibrid, example, monkeypatch, fault, code, sentence):
    monkeypatch.setattr("vibrid.project.load_project", fault)
    monkeypatch.delenv("VIBRID_DEBUG", raising=False)
    made = vibrid("simulate", example["device"])
    assert made.exit_code == code and sentence in made.stderr and "Traceback" not in made.stderr


def test_debugging_shows_the_traceback(vibrid, example, monkeypatch, capfd):
    monkeypatch.setattr("vibrid.project.load_project", fail)
    monkeypatch.setenv("VIBRID_DEBUG", "1")
    made = vibrid("simulate", example["device"])
    assert made.exit_code == 1 and "Traceback" in made.stderr + capfd.readouterr().err


def test_the_installed_command(tmp_path):
    command = [sys.executable, "-m", "vibrid.cli", "simulate", str(tmp_path / "x.toml")]
    made = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert made.returncode == 1
    sentence = f"there is no such file in the folder '{tmp_path}'. Name it with its folder, and check how it is spelt."
    assert made.stderr.splitlines()[-1] == f"{tmp_path / 'x.toml'}: {sentence}"


def test_schema_accepts_the_examples_and_refuses_mistakes(vibrid, tmp_path):
    made = vibrid("schema", "--out", tmp_path / "schema.json")
    assert made.exit_code == 0
    schema = json.loads((tmp_path / "schema.json").read_text())
    assert schema == json.loads(vibrid("schema").stdout) == json.loads(json.dumps(json_schema()))
    checker = jsonschema.Draft202012Validator(schema)
    checker.check_schema(schema)
    for path in EXAMPLES:
        data = tomllib.loads(path.read_text())
        checker.validate(data)
        data["structure"]["colour"] = "blue"
        assert not checker.is_valid(data), f"{path.name} with an unknown key"
    law = schema["$defs"]["ABoucWenLawTable"]["properties"]["stiffness"]
    assert law["unit"] == "N/m" and law["description"].startswith("initial stiffness")


@pytest.fixture
def healthy(monkeypatch):
    """Every import goes well; trying them all takes seconds."""
    monkeypatch.setattr("vibrid.commands.imports.problems_of", lambda modules: dict.fromkeys(modules, ""))
    monkeypatch.setattr("vibrid.commands.imports.compiler_problem", lambda: ("/usr/bin/cc", ""))


def test_doctor(vibrid, healthy, monkeypatch, tmp_path):
    (tmp_path / "program").write_bytes(b"x" * 1000)
    monkeypatch.setattr("vibrid.core.precision.cache_folder", lambda: tmp_path)
    found = json.loads(vibrid("doctor", "--json").stdout)
    assert found["versions"]["vibrid"] == vb.__version__ and "missing" not in found["versions"].values()
    assert found["devices"][0]["platform"] and found["precision"] == "64-bit"
    assert found["cache"] == {"folder": str(tmp_path), "files": 1, "bytes": 1000}
    assert {"bayes", "sparse", "test"} <= set(found["extras"])
    monkeypatch.setattr("vibrid.commands.doctor._version", lambda name: None if name == "blackjax" else "1.0")
    text = vibrid("doctor").stdout
    assert "missing blackjax" in text and "pip install 'vibrid[bayes]'" in text and "/usr/bin/cc works" in text
    monkeypatch.setattr("vibrid.core.precision.cache_folder", lambda: None)
    assert "Compile cache: off" in vibrid("doctor").stdout


def test_doctor_where_vibrid_is_not_installed(vibrid, healthy, monkeypatch):
    """It may run from a folder, as on a machine where nothing can be installed."""
    installed = json.loads(vibrid("doctor", "--json").stdout)

    def nothing(name):
        raise imports.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("vibrid.commands.doctor.metadata.requires", nothing)
    found = json.loads(vibrid("doctor", "--json").stdout)
    assert found["versions"] == installed["versions"] and set(installed["extras"]) <= set(found["extras"])


def test_doctor_names_the_library_that_is_missing(vibrid, healthy, monkeypatch):
    missing = (
        "RuntimeError: Failed\nImportError: libblas.so.3: cannot open shared object file: No such file or directory\n"
    )
    broken = {"openseespy.opensees": imports.in_words(missing)}
    monkeypatch.setattr(
        "vibrid.commands.imports.problems_of", lambda modules: {name: broken.get(name, "") for name in modules}
    )
    monkeypatch.setattr("vibrid.commands.imports.compiler_problem", lambda: (None, "there is none"))
    monkeypatch.setattr("vibrid.commands.doctor._version", lambda name: "1.0")
    found = json.loads(vibrid("doctor", "--json").stdout)
    sentence = "openseespy is installed and cannot be imported: the system library libblas.so.3 is missing."
    assert found["problems"] == [sentence]
    assert found["extras"]["test"]["state"].startswith("openseespy cannot be imported: the system library libblas")
    text = vibrid("doctor").stdout
    assert sentence in text and "C compiler: there is none" in text


def test_imports_are_tried_where_they_do_no_harm(tmp_path, monkeypatch):
    modules = {
        "vb_good": "print('hello')",
        "vb_crash": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "vb_exit": "import sys; sys.exit(3)",
        "vb_needs": "import vb_nowhere",
        "vb_library": "raise ImportError('libx.so.3: cannot open shared object file: No such file or directory')",
        "vb_hangs": "import time; time.sleep(60)",
        "vb_last": "",
    }
    for name, text in modules.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = imports.problems_of(list(modules), seconds=10.0)
    assert list(found) == list(modules) and found["vb_good"] == found["vb_last"] == ""
    assert "signal 11" in found["vb_crash"] and found["vb_exit"] == "SystemExit: 3"
    assert found["vb_needs"] == "the package 'vb_nowhere' is missing"
    assert found["vb_library"] == "the system library libx.so.3 is missing"
    assert "does not end within 10 s" in found["vb_hangs"]


def test_doctor_is_json_where_drivers_talk(vibrid, healthy, monkeypatch, capfd):
    """An accelerator, as JAX shows one, and a driver that prints from C while it is found."""

    class Device:
        platform = type("Platform", (), {"__str__": lambda self: "gpu"})()

        def __str__(self):
            return "cuda:0"

    def devices():
        print("WARNING: something of JAX")
        os.write(1, b"something of a driver\n")
        return [Device()]

    monkeypatch.setattr("jax.devices", devices)
    found = json.loads(vibrid("doctor", "--json").stdout)
    assert found["devices"] == [{"name": "cuda:0", "platform": "gpu"}]
    assert capfd.readouterr().out == ""


@pytest.mark.compat
def test_demo_finds_the_truth(vibrid, tmp_path):
    made = vibrid("demo", "--out", tmp_path / "demo")
    assert made.exit_code == 0, made.stderr
    assert {"demo.toml", "measured.csv", "response.png"} <= {p.name for p in (tmp_path / "demo").iterdir()}
    rows = [line.split() for line in made.stdout.splitlines() if line.strip().startswith(("storeys", "damping"))]
    assert len(rows) == 6
    assert all(float(row[5]) < 2.0 for row in rows), "every error below 2 %"
    assert "fitting" in made.stderr


def test_demo_where_it_cannot_write(vibrid, tmp_path):
    (tmp_path / "file").write_text("")
    made = vibrid("demo", "--out", tmp_path / "file" / "demo")
    assert made.exit_code == 1 and "the folder cannot be made" in made.stderr


def test_help_lists_the_commands(vibrid):
    words = vibrid("--help").stdout.split()
    assert all(name in words for name in by_name.COMMANDS)
    assert {"demo", "simulate", "schema", "doctor", "spectrum", "record", "motions"} <= set(by_name.COMMANDS)


def test_a_result_file_is_not_searched_for_records(vibrid):
    made = vibrid("record", "info", Path(__file__).parents[1] / "identification" / "files" / "format-3-loads.h5")
    assert made.exit_code == 1 and "this is a result" in made.stderr and "vibrid predict" in made.stderr
