"""The tables of a file that has only some names: the same content and the same refusals as with all names."""

import importlib
import tomllib
from pathlib import Path

import pytest
from pydantic import ValidationError

import vibrid as vb
from vibrid.identification import methods
from vibrid.project.repair import draft_of
from vibrid.project.tables import project_file

EXAMPLES = Path(__file__).parents[2] / "examples"
CONTENT = {file.stem: tomllib.loads(file.read_text()) for file in sorted(EXAMPLES.glob("*.toml"))}
PROJECTS = {name: data for name, data in CONTENT.items() if "structure" in data and "plugins" not in data}


@pytest.mark.parametrize("name", PROJECTS)
def test_few_tables_read_a_file_as_all_do(name):
    data = PROJECTS[name]
    few, whole = (model.model_validate(data) for model in (project_file(data), project_file()))
    assert repr(few) == repr(whole)


@pytest.mark.parametrize("method", ["no-such", {"name": "trajectori"}, {"starts": 3}])
def test_few_tables_refuse_what_all_refuse_and_the_messages_know_all_names(method):
    data = {"structure": {"kind": "shear-building", "masses": [1.0], "storeys": []}, "method": method}
    with pytest.raises(ValidationError):
        project_file(data).model_validate(data)
    said = " ".join(mistake.message for mistake in draft_of(data, project_file).mistakes)
    assert "method" in said and ("trajectory" in said or "bayes" in said or "called" in said)


def test_methods_are_announced_under_the_names_they_register():
    for name, where in methods._METHODS.items():
        module, _, cls = where.partition(":")
        found = getattr(importlib.import_module(f"vibrid.identification.methods.{module}"), cls)
        assert vb.identification.METHODS[name] is found and vb.identification.METHODS.name_of(found) == name
        assert getattr(methods, cls) is found and vb.identification.METHODS.called(cls) is found
    assert sorted(methods.__all__) == sorted(where.partition(":")[2] for where in methods._METHODS.values())
