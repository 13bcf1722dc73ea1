import pytest

from vibrid.project import load_project

BUILDING = """
[structure]
kind = "shear-building"
masses = [2.0, 1.0]
storeys = {law = "linear", stiffness = 40.0, count = 2}

[[sensors]]
quantity = "displacement"
place = [0, "roof"]

[excitation]
synthetic = {seed = 1, duration = 2.0, rate = 50.0, pga = 1.0}
"""


@pytest.fixture
def project(tmp_path):
    """A function that loads a project from text; `changes` replace parts of a small building's file."""

    def load(text: str | None = None, **changes: str):
        text = BUILDING if text is None else text
        for old, new in changes.values():
            assert old in text, f"'{old}' is not in the file"
            text = text.replace(old, new)
        path = tmp_path / "project.toml"
        path.write_text(text, encoding="utf-8")
        return load_project(path)

    load.text = BUILDING
    return load
