"""Attached methods: every declared one has a function that takes the same arguments."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

from vibrid.core import attached as room
from vibrid.core.attached import FUNCTIONS, attach, attached, function_of
from vibrid.core.errors import InputError

PACKAGE = Path(room.__file__).resolve().parents[1]


class Result:
    @attached
    def plot(self, ax=None, *, colour: str = "blue", **options):
        """Draw it."""

    @attached
    def nothing(self):
        """Without a function."""


class Special(Result):
    pass


def draw(result, ax, colour, **options):
    return type(result).__name__, ax, colour, options


@pytest.fixture
def table(monkeypatch):
    monkeypatch.setattr(room, "FUNCTIONS", {})
    attach(Result, plot=draw)


def test_the_function_is_called_with_what_the_method_was_given_and_its_defaults(table):
    assert Result().plot() == ("Result", None, "blue", {})
    assert Result().plot(1, colour="red", width=2) == ("Result", 1, "red", {"width": 2})
    assert Special().plot(ax=3) == ("Special", 3, "blue", {})


def test_a_subclass_may_have_a_function_of_its_own(table):
    attach(Special, plot=lambda result, ax, colour: "special")
    assert Special().plot() == "special" and Result().plot()[0] == "Result"


def test_a_function_given_by_name_is_imported_when_it_is_called(monkeypatch):
    monkeypatch.setattr(room, "FUNCTIONS", {})
    attach(f"{__name__}:Result", plot="no_such_module_of_anybody:draw")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_of_anybody"):
        Result().plot()


def test_an_editor_sees_the_declared_method():
    assert inspect.getdoc(Result.plot) == "Draw it."
    assert list(inspect.signature(Result.plot).parameters) == ["self", "ax", "colour", "options"]


def test_arguments_that_the_method_does_not_declare_are_refused_as_python_does(table):
    with pytest.raises(TypeError, match="multiple values for argument 'ax'"):
        Result().plot(1, ax=2)


def test_a_method_without_function_is_refused_with_a_message(table):
    with pytest.raises(NotImplementedError, match=re.escape("Result declares nothing(), and no function is attached")):
        Result().nothing()


def test_two_functions_for_one_method_are_refused(table):
    attach(Result, plot=draw)
    with pytest.raises(InputError, match=r"is attached to .*:draw already, not to other:draw"):
        attach(Result, plot="other:draw")


def declared() -> list[tuple[str, str, str]]:
    """(module, class, method) of every method of the package that is declared without a body."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        for cls in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)):
            for own in (node for node in cls.body if isinstance(node, ast.FunctionDef)):
                if any(ast.unparse(decorator) == "attached" for decorator in own.decorator_list):
                    found.append((module, cls.name, own.name))
    return found


DECLARED = declared()


def test_every_attached_function_belongs_to_a_declared_method():
    for module in {module for module, _, _ in DECLARED}:
        importlib.import_module(module)  # a package attaches its functions when it is imported
    ours = {place for place in FUNCTIONS if place[0].startswith("vibrid.")}
    assert ours == {(f"{module}:{cls}", method) for module, cls, method in DECLARED}


@pytest.mark.parametrize(("module", "cls", "method"), DECLARED, ids=lambda part: part.rpartition(".")[2])
def test_a_declared_method_and_its_function_agree(module, cls, method):
    owner = getattr(importlib.import_module(module), cls)
    own, function = getattr(owner, method), function_of(owner, method)
    own = getattr(own, "__func__", own)  # of a class method
    assert own.__doc__
    taken = list(inspect.signature(function).parameters.values())
    for i, given in enumerate(inspect.signature(own).parameters.values()):
        if given.kind is given.VAR_KEYWORD or i == 0:
            continue
        assert (taken[i].name, taken[i].default) == (given.name, given.default)
        assert taken[i].kind is given.kind


def test_the_examples_of_the_page_run():
    page = (PACKAGE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        exec(compile(example, "architecture.md", "exec"), {"__name__": "architecture_page"})
