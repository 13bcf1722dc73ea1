"""Public names: few, found one by one, each with a word of explanation; and every class name means one thing."""

import ast
import importlib
import inspect
import re
from collections import defaultdict
from pathlib import Path

import pytest
from test_architecture import loaded_after, modules

import vibrid as vb
from vibrid import moved_names

ROOT = Path(__file__).resolve().parents[1]
TOP = ast.parse((ROOT / "src" / "vibrid" / "__init__.py").read_text(encoding="utf-8"))
_PACKAGES_WITH_MOVED = (
    "vibrid.simulation", "vibrid.records.motions", "vibrid.networks",
    "vibrid.hybrid", "vibrid.hybrid.learned", "vibrid.hybrid.wire",
)  # fmt: skip
MOVED = {"vibrid": moved_names.MOVED} | {p: importlib.import_module(p).MOVED for p in _PACKAGES_WITH_MOVED}
MOST = 100
"""More names than a reader can look through are no help: what few users need stays in its package."""


def test_the_top_holds_few_names_that_all_lead_somewhere():
    assert len(vb.__all__) == len(set(vb.__all__)) <= MOST
    shown = {name for name in dir(vb) if not name.startswith("__")}
    assert shown == {*vb.__all__, *vb._PACKAGES}
    for name in vb.__all__:
        value = getattr(vb, name)
        assert not inspect.ismodule(value) and inspect.getdoc(value), f"vb.{name} says nothing of itself"
        assert value.__name__ == name and value.__module__.startswith("vibrid.")
    assert all(inspect.ismodule(getattr(vb, package)) for package in vb._PACKAGES)


def test_editors_see_the_names_that_are_there():
    """The imports that only a type checker makes, `__all__` and the table of packages are one list."""
    (block,) = [node for node in TOP.body if isinstance(node, ast.If) and "not " not in ast.unparse(node.test)]
    seen = {a.name: node.module for node in block.body for a in node.names}
    packages = {package: "vibrid" for package in vb._PACKAGES}
    assert seen == packages | {name: f"vibrid.{package}" for name, package in vb._PACKAGE_OF.items()}
    assert sorted(vb.__all__) == sorted(vb._PACKAGE_OF)


@pytest.mark.parametrize("package", sorted(set(vb._PACKAGE_OF.values())))
def test_a_package_offers_its_names_on_top(package):
    inside = importlib.import_module(f"vibrid.{package}")
    assert {name for name, own in vb._PACKAGE_OF.items() if own == package} <= set(inside.__all__)


def test_reading_a_record_needs_no_jax():
    assert "jax" not in loaded_after("import vibrid as vb\nvb.read_record, vb.write_csv, vb.InputError")


@pytest.mark.parametrize("module", MOVED)
def test_a_name_that_moved_works_and_says_the_new_one(module):
    old = importlib.import_module(module)
    for name, new in MOVED[module].items():
        where, _, there = new.rpartition(".")
        home = importlib.import_module(where)
        with pytest.warns(DeprecationWarning, match=re.escape(f"{module}.{name} is {new} since")) as told:
            assert getattr(old, name) is getattr(home, there)
        assert told[0].filename == __file__
        assert there in home.__all__ and name not in old.__all__ and name not in dir(old)
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'identfy'"):
        _ = old.identfy


def test_nothing_here_uses_a_name_that_moved():
    known = {*vb.__all__, *vb._PACKAGES}
    found = []
    for folder in ("src", "tests", "examples", "benchmarks", "docs", "README.md"):
        top = ROOT / folder
        for path in [top] if top.is_file() else sorted([*top.rglob("*.py"), *top.rglob("*.md")]):
            text = path.read_text(encoding="utf-8")
            used = {m[1] for m in re.finditer(r"\bvb\.([A-Za-z]\w*)\b", text)} - known
            if path.name == "use.py":
                continue  # it holds that a type checker refuses them
            found += [f"{path.relative_to(ROOT)}: vb.{name}" for name in sorted(used) if name in MOVED["vibrid"]]
    assert not found, "\n".join(found)


def test_a_class_name_means_one_thing():
    """One concept, one name: no two modules of the package define classes of the same name.

    Templates of plugins are not modules: their class waits for a name.
    """
    places = defaultdict(list)
    for path in (p for p in modules() if p.parent.name != "templates"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT).as_posix()}:{node.lineno}")
    twice = [f"{name}: {', '.join(own)}" for name, own in sorted(places.items()) if len(own) > 1]
    assert not twice, "\n".join(twice)
