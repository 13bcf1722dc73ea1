"""A law, a method, a reader and a device, each in one file of a fresh folder, used by commands without a word changed
in the package; and every template of `vibrid new` is a plugin that conforms."""

import json
import re
from itertools import islice
from pathlib import Path

import h5py
import numpy as np
import pytest

import vibrid as vb
from vibrid import extend
from vibrid.commands.new import PluginKind
from vibrid.conformance.plugin import check_plugin
from vibrid.core.plugins import load_file
from vibrid.core.registry import Registry

PROJECT = """
title = "one storey on my own spring"
plugins = ["soft_spring.py", "plain_newton.py", "lab_log.py"]

[structure]
kind = "shear-building"
masses = [1.0]
storeys = {law = "soft-spring", stiffness = 30.0, softening = 0.05, damping = 0.6}

[[sensors]]
quantity = "displacement"
place = 0
channel = "roof"

[excitation]
channels = [{column = "base"}]

[[unknown]]
path = "storeys[0].stiffness"

[[unknown]]
path = "storeys[0].softening"

[method]
name = "plain-newton"
iterations = 12
"""

HYBRID = """
plugins = ["slipping.py"]

[structure]
kind = "shear-building"
masses = ["9 t"]
storeys = {law = "linear", stiffness = "9 MN/m", damping = "10 kN s/m"}

[excitation]
synthetic = {seed = 3, duration = 1.0, rate = 256.0, pga = "0.5 g"}

[hybrid]
rate = 256.0

[[hybrid.modelled]]
name = "damper"
at = 0
device = {kind = "slipping", friction = "5 kN"}
"""


@pytest.fixture
def folder(tmp_path, vibrid):
    """A folder with four plugins of `vibrid new`, and two project files."""
    wanted = {"law": "soft-spring", "method": "plain_newton", "reader": "lab-log", "device": "slipping"}
    for kind, name in wanted.items():
        made = vibrid("new", kind, name, "--folder", tmp_path)
        assert made.exit_code == 0, made.stderr
    (tmp_path / "project.toml").write_text(PROJECT)
    (tmp_path / "hybrid.toml").write_text(HYBRID)
    return tmp_path


def write_log(path: Path, law) -> None:
    """A measured file in the laboratory's own format."""
    t = np.arange(0, 4.0, 0.02)
    shaken = 2.0 * np.sin(6.0 * t) * np.sin(np.pi * t / 4.0)
    motion = vb.Record(shaken, [vb.Channel("base", "ground_acceleration")], step=0.02)
    moved = vb.simulate(vb.ShearBuilding(masses=[1.0], storeys=[law]), motion, substeps=4).displacement[:, 0]
    moved = moved + 1e-4 * np.random.default_rng(0).standard_normal(len(t))
    rows = "".join(f"{1e3 * x:.5f} {a:.8f}\n" for x, a in zip(moved, shaken, strict=True))
    path.write_text(f"LAB-LOG 1\nrate 50\nchannels roof [mm], base [m/s^2]\n{rows}")


def test_four_plugins_serve_the_commands(folder, vibrid, forgotten):
    forgotten()
    law = load_file(folder / "soft_spring.py")
    write_log(folder / "test.log", vb.laws.LAWS["soft-spring"](40.0, 0.08, 0.6))
    forgotten()
    assert not {"soft-spring", "plain-newton", "lab-log", "slipping"} & {n for r in Registry.every.values() for n in r}
    words = ("identify", folder / "project.toml", folder / "test.log", "--json", "-", "--save", folder / "fit.h5")
    refused = vibrid(*words)
    assert refused.exit_code == 1 and refused.stderr.count("--trust") == 3, "one sentence for each plugin"

    made = vibrid(*words, "--trust")
    assert made.exit_code == 0, made.stderr
    answer = made.json()
    found = {row["name"]: row["estimate"] for row in answer["parameters"]}
    assert answer["method"] == "PlainNewton" and answer["settings"]["iterations"] == 12
    assert found["storeys[0].stiffness"] == pytest.approx(40.0, rel=0.02)
    assert found["storeys[0].softening"] == pytest.approx(0.08, rel=0.05)

    in_lists(folder, vibrid, law)
    readable_without_the_plugin(folder, vibrid, forgotten)


def in_lists(folder, vibrid, law) -> None:
    """What front ends show: the registries, `vibrid plugins`, the schema, the formats."""
    assert (
        "soft-spring" in list(vb.laws.LAWS)
        and "plain-newton" in list(vb.identification.METHODS)
        and "lab-log" in vb.records.formats()
    )
    assert vb.records.formats()[0] == "lab-log", "the most particular is asked first"
    assert vb.laws.LAWS.origin("soft-spring") == law.origin
    listed = {p["plugin"]: p["registered"] for p in vibrid("plugins", "--json").json()}
    assert listed["soft_spring"] == {"law": ["soft-spring"]} and listed["lab_log"] == {"format": ["lab-log"]}
    schema = vibrid("schema", "--plugin", folder / "slipping.py").stdout
    for name in ("soft-spring", "plain-newton", "lab-log", "slipping"):
        assert f'"{name}"' in schema, name
    assert "lab-log" in json.loads(schema)["$defs"]["RecordsTable"]["properties"]["format"]["examples"]


def readable_without_the_plugin(folder, vibrid, forgotten) -> None:
    """Estimates, intervals, history, predictions and the report are there; what needs the law names the plugin."""
    whole = vb.load_identification(folder / "fit.h5")
    forgotten()
    again = vb.load_identification(folder / "fit.h5")
    assert str(again) == str(whole) and "soft-spring" not in vb.laws.LAWS
    np.testing.assert_array_equal(again.interval(), whole.interval())
    np.testing.assert_array_equal(again.history["cost"], whole.history["cost"])
    np.testing.assert_array_equal(again.predictions[0], whole.predictions[0])
    assert float(again.structure.storeys[0].softening) == pytest.approx(0.08, rel=0.05)
    again.report(folder / "report.html")
    page = (folder / "report.html").read_text()
    assert "of the plugin soft_spring.py is not known here" in page
    motion = vb.synthetic_motion(0, duration=1.0, rate=50.0, pga=1.0)
    for ask in (lambda: again.predict(motion), lambda: again.validate(motion), lambda: again.reconstruct([])):
        with pytest.raises(vb.Refusal, match=r"The law 'soft-spring' of the plugin soft_spring\.py is not known here"):
            ask()
    again.save(folder / "again.h5")
    assert str(folder) not in h5py.File(folder / "again.h5")["text"][()].decode(), "no folder of this machine"
    words = ("predict", folder / "again.h5", folder / "test.log", "--json")
    assert "not known here" in vibrid(*words, "--plugin", folder / "lab_log.py").stderr
    made = vibrid(*words, "--plugin", folder / "lab_log.py", "--plugin", folder / "soft_spring.py")
    assert made.exit_code == 0, made.stderr
    assert made.json()["validation"]["relative_error"]["roof"] < 0.05


def test_a_device_of_ones_own_in_a_hybrid_test(folder, vibrid):
    assert "--trust" in vibrid("hybrid", "run", folder / "hybrid.toml").stderr
    made = vibrid("hybrid", "run", folder / "hybrid.toml", "--trust", "--json")
    assert made.exit_code == 0, made.stderr
    (device,) = made.json()["devices"]
    assert device["name"] == "damper" and 0.8 * 5e3 < device["force"] <= 5e3 and device["energy"] > 0


@pytest.mark.parametrize("kind", [k.value for k in PluginKind])
def test_every_template_conforms(kind, vibrid, tmp_path):
    """As it is written, by the command. Of a method and an integrator, whose checks take long, the first are tried; the
    method finds a known truth above."""
    assert vibrid("new", kind, f"trial-{kind}", "--folder", tmp_path).exit_code == 0
    path = tmp_path / f"trial_{kind}.py"
    assert "template" not in path.read_text().lower()
    if first := {"method": 1, "integrator": 2}.get(kind):
        assert [one.problem for one in islice(check_plugin(load_file(path)), first)] == [""] * first
        return
    made = vibrid("plugins", "check", path)
    assert made.exit_code == 0, made.stdout + made.stderr
    assert made.stdout.count("ok  ") == len(made.stdout.splitlines()) >= 4
    again = vibrid("new", kind, f"trial_{kind}", "--folder", tmp_path)
    assert again.exit_code == 1 and "is not overwritten" in again.stderr


@pytest.mark.parametrize(
    ("kind", "old", "new", "said"),
    [
        ("law", "+ self.damping * w", "- self.damping * w", "more than was put in"),
        ("law", "+ self.damping * w", "+ 1.0", "the force at rest"),
        ("law", '{"template": (', '{"other": (', "examples() gives none for 'template'"),
        ("reader", "raise source.problem(\"the file ends", "raise ValueError(\"the file ends", "ends in ValueError"),
        ("reader", "== MARK", "!= ''", "it takes a CSV file for its own"),
        ("device", "energy[None]), energy", "energy[None][:0]), energy", "not as many as their names"),
        ("device", "self.friction * jnp.tanh", "jnp.inf * self.friction * jnp.tanh", "its force is not finite"),
    ],
)  # fmt: skip
def test_broken_promises_are_seen(kind, old, new, said, vibrid, tmp_path):
    from vibrid.commands.new import text_of

    text = text_of(kind, ["template"])
    assert old in text
    (tmp_path / "trial.py").write_text(text.replace(old, new))
    made = vibrid("plugins", "check", tmp_path / "trial.py")
    assert made.exit_code == 1 and said in made.stdout, made.stdout
    assert "FAIL" in made.stdout


def test_a_file_that_registers_nothing_does_not_conform(tmp_path):
    (tmp_path / "nothing.py").write_text("")
    (found,) = check_plugin(load_file(tmp_path / "nothing.py"))
    assert found.problem == "nothing was registered."


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("law", "linear", "A law called 'linear' exists already (of vibrid)"),
        ("law", "numpy", "would hide the module 'numpy'"),
        ("method", "a b", "is not a name for a plugin"),
        ("reader", "../x", "is not a name for a plugin"),
        ("device", "law", "exists already"),
    ],
)
def test_names_that_cannot_be_given(kind, name, said, vibrid, tmp_path):
    made = vibrid("new", kind, name, "--folder", tmp_path)
    assert made.exit_code == 1 and said in made.stderr and not list(tmp_path.glob("*.py"))


def test_every_name_of_extend_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "extending.md").read_text()
    missing = [name for name in extend.__all__ if not re.search(rf"`{name}\b", page)]
    assert not missing and all(hasattr(extend, name) for name in extend.__all__)


def test_a_reader_of_others_cannot_stop_the_reading_of_files(tmp_path):
    """A reader that fails to recognise is skipped with a warning; one that fails to read is named in the error."""
    text = """
from vibrid.extend import READERS, Reader

@READERS.register("greedy")
class Greedy(Reader):
    def recognises(self, source):
        return source.head[1000] == 3

    def read(self, source, layout):
        return None
"""
    (tmp_path / "greedy.py").write_text(text)
    load_file(tmp_path / "greedy.py")
    (tmp_path / "a.csv").write_text("time [s],roof [mm]\n0,1\n0.1,2\n0.2,3\n")
    with pytest.warns(UserWarning, match=r"the reader of 'greedy' \(.*greedy\.py\) could not check"):
        assert len(vb.read_record(tmp_path / "a.csv")) == 3
    with pytest.raises(vb.FileProblem, match=r"the reader of 'greedy' \(.*\) gave no list of records"):
        vb.read_record(tmp_path / "a.csv", format="greedy")
