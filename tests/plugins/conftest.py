import json
import sys

import pytest
from typer.testing import CliRunner

import vibrid.hybrid
import vibrid.identification
import vibrid.papers
from vibrid.cli import app
from vibrid.core import plugins, trust
from vibrid.core.registry import Registry


def contents() -> dict:
    names = ("_classes", "_announced", "_origins")
    return {registry: {n: dict(getattr(registry, n)) for n in names} for registry in Registry.every.values()}


@pytest.fixture(autouse=True)
def clean(monkeypatch, tmp_path):
    """Registries, found plugins and what is trusted are as before when a test ends; its state folder is its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(plugins, "_files", {})
    monkeypatch.setattr(plugins, "_installed", plugins._installed)
    monkeypatch.setattr(trust, "_agreed", set())
    every, kept = dict(Registry.every), contents()
    yield
    Registry.every.clear()
    Registry.every.update(every)
    for registry, tables in kept.items():
        for name, table in tables.items():
            getattr(registry, name).clear()
            getattr(registry, name).update(table)


@pytest.fixture
def forgotten(clean, monkeypatch):
    """A function after which nothing of a plugin is known, as in a new process."""
    before = contents()

    def forget() -> None:
        for registry, tables in before.items():
            for name, table in tables.items():
                getattr(registry, name).clear()
                getattr(registry, name).update(table)
        monkeypatch.setattr(plugins, "_files", {})

    return forget


@pytest.fixture
def vibrid():
    """Runs a command and gives its result; `.json()` its answer."""

    def run(*words, **options):
        made = CliRunner().invoke(app, [str(w) for w in words], **options)
        made.json = lambda: json.loads(made.stdout)
        return made

    return run


@pytest.fixture
def distribution(tmp_path, monkeypatch):
    """A function that puts a made-up installed distribution on the path: its modules by name, its entry points."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))

    def make(name: str, version: str, entry_points: str, **modules: str) -> None:
        info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[vibrid.plugins]\n{entry_points}\n")
        for module, text in modules.items():
            (folder / f"{module}.py").write_text(text)
        monkeypatch.setattr(plugins, "_installed", None)

    yield make
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "") or "").startswith(str(folder)):
            del sys.modules[name]
