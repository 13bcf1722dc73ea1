"""Results, reports and JSON carry the SHA-256 of the project and of every file that was read."""

import hashlib
import json

import pytest
from commands.test_stopped import folder  # noqa: F401  (a fixture)

import vibrid as vb
from vibrid.project import load_project


def sha(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def saved(vibrid, folder):  # noqa: F811
    (folder / "law.py").write_text("# nothing\n")
    (folder / "p.toml").write_text('plugins = ["law.py"]\n' + (folder / "p.toml").read_text())
    words = ["identify", "p.toml", "test.csv", "--trust", "--save", "a.h5", "--report", "a.html", "--json", "a.json"]
    done = vibrid(*words, "--validate", "test.csv")
    assert done.exit_code == 0, done.output
    return folder


def test_a_result_its_json_and_its_report_name_their_files(saved):
    expected = {("p.toml", "project"), ("law.py", "plugin"), ("test.csv", "record")}
    for files in (
        [vars(file) for file in vb.load_identification(saved / "a.h5").files],
        json.loads((saved / "a.json").read_text())["files"],
    ):
        assert {(file["name"], file["role"]) for file in files} == expected
        assert all(file["sha256"] == sha(saved / file["name"]) for file in files)
    page = (saved / "a.html").read_text()
    assert all(sha(saved / name) in page for name, _ in expected) and ">validation<" in page
    [check] = json.loads((saved / "a.json").read_text())["validation"]
    assert check["files"][0]["sha256"] == sha(saved / "test.csv")


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("simulate p.toml --trust --json", ["p.toml", "law.py"]),
        ("predict a.h5 test.csv --json", ["a.h5", "test.csv"]),
        ("compare p.toml test.csv --trust --methods trajectory --json", ["p.toml", "law.py", "test.csv"]),
    ],
)
def test_answers_of_other_commands_name_their_files(vibrid, saved, command, names):
    done = vibrid(*command.split())
    assert done.exit_code == 0, done.output
    read = json.loads(done.stdout)["inputs"]
    assert [file["name"] for file in read] == names
    assert all(file["sha256"] == sha(saved / file["name"]) for file in read)


def test_a_hybrid_test_names_its_files(example, tmp_path):
    from vibrid.report.sections import files_table

    project = load_project(example["hybrid"])
    assert project.files[0].sha256 == sha(example["hybrid"]) and project.file == project.files[0]
    assert project.files[0].sha256 in files_table(project.files)
