"""Compiled programs on disk: found again by the same arguments alone, and never needed."""

import hashlib
import inspect
import os
import subprocess
import sys
from collections.abc import Callable

import jax
import numpy as np
import pytest

import vibrid as vb
from vibrid.core import kept_programs
from vibrid.core.files import is_trusted
from vibrid.core.native import compiled
from vibrid.simulation.simulate import _run
from vibrid.structures.modes import _about_rest

OF_REST, OF_A_RUN = (inspect.unwrap(function) for function in (_about_rest, _run))

LOOP = """
import sys
if sys.argv[1] == "without":
    sys.modules["llvmlite"] = None
import numpy as np
import vibrid as vb
from vibrid.core import native
assert bool(native.why_not()) == (sys.argv[1] == "without")
law = vb.BoucWen(stiffness=40.0, beta=1.0, gamma=1.0)
building = vb.ShearBuilding(masses=[1.0], storeys=[law], damping=vb.Viscous(1.0))
ground = vb.Record(np.sin(np.arange(300) / 9.0), [vb.Channel("g", "ground_acceleration")], step=0.01, name="motion")
print(" ".join(float(x).hex() for x in vb.simulate(building, ground).displacement[::50, 0]))
"""


def cubic(stiffness: float) -> vb.Cubic:
    return vb.Cubic(stiffness=stiffness, cubic=1.0)


class Own(vb.Linear):
    """A law that is defined outside the package."""


def building(law: Callable[..., vb.laws.Law] = vb.Linear, stiffness=40.0, storeys=2) -> vb.ShearBuilding:
    return vb.ShearBuilding(
        masses=np.ones(storeys), storeys=[law(stiffness=stiffness)] * storeys, damping=vb.Viscous(1.0)
    )


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Programs are kept, in a folder of their own."""
    monkeypatch.setattr(kept_programs, "keeps", True)
    monkeypatch.setattr(kept_programs, "cache_folder", lambda: tmp_path)
    return tmp_path


def matrices(structure) -> list[np.ndarray]:
    """M, C, K and M r by a program that this call makes or finds on disk."""
    made = compiled._known(
        compiled.OrderedDict(), OF_REST, (structure, ""), compiled._jitted, lambda function: function
    )
    assert made is not None
    return [np.asarray(a) for a in made((structure, ""))]


def name_of(*arguments, function=OF_REST) -> str | None:
    return kept_programs.named(function, *jax.tree.flatten(arguments), "here")


def test_a_program_is_found_again_by_another_call(folder, monkeypatch):
    first = matrices(building())
    (file,) = (folder / "programs").iterdir()

    def refused(*arguments):
        raise AssertionError("made again")

    with monkeypatch.context() as patch:
        patch.setattr(compiled, "_compiled", refused)
        for own, other in zip(matrices(building()), first, strict=True):
            np.testing.assert_array_equal(own, other)
        assert matrices(building(stiffness=80.0))[2][1, 1] == 80.0  # numbers are arguments
    whole = file.read_bytes()
    for damaged in (whole[:-20], b"", whole[:32] + b"x" + whole[33:]):
        file.write_bytes(damaged)
        np.testing.assert_array_equal(matrices(building())[2], first[2])
        assert kept_programs.kept(file.stem, lambda code: True) is not None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no owners of files")
def test_what_others_may_write_is_not_executed(folder, monkeypatch):
    matrices(building())
    (file,) = (folder / "programs").iterdir()
    assert kept_programs.kept(file.stem, lambda code: True) is not None
    file.chmod(0o666)
    assert kept_programs.kept(file.stem, lambda code: True) is None
    file.chmod(0o644)
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(file).st_uid + 1)
    assert is_trusted(file) == (os.stat(file).st_uid == 0)  # the administrator's are trusted


def test_a_program_with_a_native_loop_needs_its_machine_code(folder):
    """It is found again where the code is; without the code it is made again."""
    if compiled.why_not():
        pytest.skip("no native loops here")
    arguments = _arguments_of_a_run()
    made = compiled._known(compiled.OrderedDict(), OF_A_RUN, arguments, compiled._jitted, lambda f: f)
    assert made is not None
    own = made(arguments)
    (file,) = (folder / "programs").iterdir()
    asked = []
    assert kept_programs.kept(file.stem, lambda code: bool(asked.append(code))) is None
    assert [name.startswith("vibrid_") for name in asked] == [True]
    found = kept_programs.kept(file.stem, lambda code: True)
    assert found is not None
    arrays = [leaf for leaf in jax.tree.leaves(arguments) if isinstance(leaf, jax.Array | np.ndarray | np.generic)]
    for a, b in zip(jax.tree.leaves(found(*arrays)), jax.tree.leaves(own), strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def _arguments_of_a_run():
    """Those with which `simulate` calls its compiled function."""
    seen = []
    ground = vb.Record(np.ones(200), [vb.Channel("g", "ground_acceleration")], step=0.01, name="motion")
    with pytest.MonkeyPatch.context() as patch:
        module = sys.modules["vibrid.simulation.simulate"]
        patch.setattr(module, "_run", lambda *arguments: seen.append(arguments) or _run(*arguments))
        vb.simulate(building(cubic), ground, integrator=vb.RungeKutta4())
    return seen[0]


def test_a_name_holds_all_that_a_program_depends_on(folder, monkeypatch):
    """Shapes, types, classes, settings; not the numbers of arrays, nor the order of a set."""
    plain = name_of(building(), "")
    assert plain is not None
    assert name_of(building(stiffness=3.0), "") == plain
    others = [name_of(building(storeys=3), ""), name_of(building(), "x"), name_of(building(cubic), "")]
    with jax.numpy_rank_promotion("raise"):
        others.append(name_of(building(), ""))
    monkeypatch.setattr(kept_programs, "sources", lambda: "another version")
    others.append(name_of(building(), ""))
    assert None not in others and len({plain, *others}) == len(others) + 1
    assert name_of(frozenset({"a", "b"})) == name_of(frozenset({"b", "a"})) != name_of(frozenset({"a"}))


def test_what_may_change_unseen_has_no_name(folder, monkeypatch):
    """Classes and functions of others, and functions without a place."""
    assert name_of(building(Own), "") is None
    assert name_of(building(), lambda x: x) is None
    assert name_of(building(), jax.jit(cubic)) is None
    assert name_of(building(), "", function=lambda *a: a) is None
    assert name_of(building(), "", function=name_of) is None
    monkeypatch.setattr(kept_programs, "cache_folder", lambda: None)
    assert name_of(building(), "") is None


def test_those_not_used_for_longest_go_first(folder, monkeypatch):
    monkeypatch.setattr(kept_programs, "MOST", 2)
    place = folder / "programs"
    place.mkdir()
    for age, name in enumerate(("new", "older", "oldest")):
        (place / f"{name}.bin").write_bytes(b"")
        os.utime(place / f"{name}.bin", (1e9 - age, 1e9 - age))
    kept_programs._cleared(place)
    assert sorted(file.stem for file in place.iterdir()) == ["new", "older"]


def test_results_do_not_depend_on_the_environment(tmp_path):
    """Two processes at once with one cache, one of them again, one without llvmlite, one that cannot write a cache."""
    if compiled.why_not():
        pytest.skip("no native loops here")
    (tmp_path / "file").write_text("")
    cache, unwritable = str(tmp_path / "cache"), str(tmp_path / "file" / "below")

    def started(way: str, folder: str) -> subprocess.Popen:
        own = {**os.environ, "VIBRID_CACHE": folder, "VIBRID_NATIVE": "1"}
        command = [sys.executable, "-c", LOOP, way]
        return subprocess.Popen(command, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def told(process: subprocess.Popen) -> np.ndarray:
        out, problem = process.communicate()
        assert process.returncode == 0, problem
        assert problem.count("Warning") <= 1
        return np.array([float.fromhex(word) for word in out.split()])

    both = [started("with", cache), started("with", cache)]
    first, second = map(told, both)
    files = [file for file in (tmp_path / "cache").glob("*/*/*") if file.suffix in (".o", ".bin")]
    assert {file.suffix for file in files} == {".o", ".bin"}
    for file in files:
        content = file.read_bytes()
        assert hashlib.sha256(content[32:]).digest() == content[:32]
    ways = (("with", cache), ("without", cache), ("with", unwritable))
    again, without, nowhere = (told(started(*way)) for way in ways)
    for other in (second, again, nowhere):
        np.testing.assert_array_equal(other, first)
    np.testing.assert_allclose(without, first, rtol=1e-12, atol=1e-12 * np.abs(first).max())
