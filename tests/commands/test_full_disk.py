"""Every command that writes, on a disk that fills at each of its files: the answer is printed, nothing is lost.

The kernel itself refuses (a limit on the size of files, as `ulimit -f` sets it). Long computations are stood in for:
what is tried is how commands hand over.
"""

import errno
import json
import os
import resource
import sys
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

import vibrid as vb
from vibrid import project
from vibrid.commands import demo, online_run
from vibrid.core import files
from vibrid.identification.loads.estimate import LoadEstimate, Weights
from vibrid.papers.paper import Check, Outcome, Paper

NO_LIMIT = resource.RLIM_INFINITY
PROJECT = """
title = "one storey"
[structure]
kind = "shear-building"
masses = [1.0]
storeys = [{law = "linear", stiffness = 45.0, damping = 0.8}]
[[sensors]]
quantity = "displacement"
place = 0
[excitation]
cyclic = {amplitudes = [3.0, 1.0], frequency = 2.0, cycles = 2, rate = 50.0}
quantity = "ground_acceleration"
channels = [{column = "ground"}]
[[unknown]]
path = "storeys[0].stiffness"
[[unknown_loads]]
place = 0
"""


# -- what commands would have computed -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fit():
    """A storey pushed by two jacks at one place, and its stiffness found."""
    structure = vb.ShearBuilding(masses=[1.0], storeys=[vb.Linear(45.0, damping=0.8)])
    t = np.arange(0, 4, 0.02)
    forces = np.stack([3 * np.sin(2 * t), np.sign(np.sin(9 * t))], axis=1)
    channels = [vb.Channel(name, "load", "N", "0") for name in ("jack A", "jack B")]
    pushed = vb.Record(forces, channels, step=0.02, name="two jacks")
    data = vb.simulate(structure, pushed).measure(vb.Sensors(displacement=[0]), noise=0.02, key=1)
    guess = structure.replace({"storeys[0].stiffness": 40.0})
    return vb.identify(guess, data, ["storeys[0].stiffness"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("full")
    (made / "p.toml").write_text(PROJECT)
    (made / "a.h5").write_bytes(b"a result")
    t = np.arange(0, 4, 0.02)
    rows = [f"{a:.2f},{b:.6g},{c:.6g}" for a, b, c in zip(t, np.sin(7 * t), 0.01 * np.cos(7 * t), strict=True)]
    (made / "test.csv").write_text("time [s],ground [m/s^2],displacement_0 [m]\n" + "\n".join(rows) + "\n")
    for name, speed in (("a.csv", 7), ("b.csv", 11)):
        rows = [f"{a:.2f},{b:.6g}" for a, b in zip(t, np.sin(speed * t) * np.exp(-t), strict=True)]
        (made / name).write_text("time [s],ground_acceleration [m/s^2]\n" + "\n".join(rows) + "\n")
    return made


class Stand:
    """Anything that is asked of it is another of its kind."""

    def __init__(self, **own):
        vars(self).update(own)


@dataclass
class Model:
    """A trained model."""

    facts: dict


@pytest.fixture
def stand_ins(monkeypatch, fit, folder):
    """Long computations are over at once; each of them prints, as some library does."""

    def noisy(value):
        def made(*_, **__):
            print("a library says something")
            return value

        return made

    record = vb.read_record(folder / "a.csv")
    load = LoadEstimate(
        "r", ("axle", "axle"), ("N", "N"), np.arange(3.0), np.ones((3, 2)), np.full((3, 2), np.nan),
        Weights(np.ones(1), np.ones(2), np.ones(2)),
    )  # fmt: skip
    monkeypatch.setattr("vibrid.commands.identify._identify", noisy(fit))
    monkeypatch.setattr(vb, "load_identification", noisy(fit))
    monkeypatch.setattr(vb, "find_loads", noisy(load))
    monkeypatch.setattr(vb, "compare", noisy(vb.identification.Comparison({"trajectory": fit}, {}, None)))
    monkeypatch.setattr(vb.identification.Comparison, "plot", lambda self: Figure())
    monkeypatch.setattr(LoadEstimate, "plot", lambda self: Figure())
    monkeypatch.setattr("vibrid.report.html.report_page", lambda *_, **__: "<html>a page</html>")
    monkeypatch.setattr("vibrid.commands.figures.response_figure", lambda *_: Figure())
    monkeypatch.setattr("vibrid.report.record_plots.plot_record", lambda *_: Figure().subplots())
    monkeypatch.setattr("vibrid.report.record_plots.plot_spectrum", lambda *_: Figure().subplots())
    monkeypatch.setattr("vibrid.report.record_plots.plot_suite", lambda *_, **__: Figure().subplots())
    monkeypatch.setattr(project.Project, "simulate", noisy(SimpleNamespace(settings=None)))
    monkeypatch.setattr(project.Project, "measure", lambda *_: record)
    # hybrid tests
    answer = {"devices": [], "peak": np.float64(np.nan), "end": 0.0, "timing": "", "stopped": "", "seconds": 1.0}
    result = Stand(summary=lambda place: answer, devices=record, motion=lambda: record, stopped="")
    test = Stand(is_numerical=True, run=noisy(result), parts=())
    plan = Stand(test=test, watch="roof", limits=vb.hybrid.SafetyLimits())
    hybrid = Stand(sensors=(), title="hybrid", excitation=lambda: record, hybrid=plan, files=())
    monkeypatch.setattr("vibrid.commands.hybrid_run._judgement", lambda *_: Stand(level="go", reasons=[]))
    real = project.load_project
    monkeypatch.setattr(project, "load_project", lambda p, trust: hybrid if Path(p).stem == "hybrid" else real(p))
    monkeypatch.setattr("vibrid.report.hybrid_report.hybrid_page", lambda *_: "<html>a page</html>")
    monkeypatch.setattr("vibrid.commands.hybrid_view.watching", lambda *_: nullcontext())
    moved = Stand(trial=lambda *_: None, commit=noisy(None))
    monkeypatch.setattr(vb.hybrid, "DeviceSubstructure", lambda *_: moved)
    # networks
    scores = {"nrmse": 0.02, "strong": np.nan}
    model = Model({"scores": scores, "recipe": {"network": "passive"}, "seed": 0})

    def train(*_, checkpoint, **__):
        checkpoint.keep({"w": np.zeros(3)})
        return noisy([model])()

    tests = Stand(
        training=[], validation=[], law=None, recipe=Stand(rate=1.0), fit_law=(), companion_names=(), loop=None,
        laws=(), left_out=(), devices=1,
    )  # fmt: skip
    tests.title = "network"
    monkeypatch.setattr("vibrid.project.training.load_training", lambda p, trust: tests)
    monkeypatch.setattr("vibrid.hybrid.learned.recipes.train_models", train)
    monkeypatch.setattr("vibrid.hybrid.learned.files.save_model", lambda p, m: files.write_arrays(p, w=np.zeros(3)))
    # the demonstration
    monkeypatch.setattr(demo, "embedded", lambda: Stand(title="demo", units={}))
    monkeypatch.setattr(demo, "shake", lambda p: (None, record))
    monkeypatch.setattr(demo, "another", lambda p: record)
    found = Stand(validate=noisy(None), report=lambda p, **_: files.write_text(p, "a page of the report"))
    monkeypatch.setattr(demo, "identify", lambda *_: found)
    monkeypatch.setattr(demo, "print_answer", lambda *_: print("the answer"))
    # a live run
    run = Stand(
        samples=0, warnings=lambda: [], feed=lambda *_: None, estimate=lambda: (np.ones(1), np.ones(1)),
        save=lambda p, arrays, **_: files.write_arrays(p, x=np.zeros(1)),
    )  # fmt: skip
    run.problem = Stand(unknowns=Stand(names=("k",), units=("N/m",), places=((),)))
    monkeypatch.setattr(online_run, "live_problem", lambda *_, **__: run.problem)
    monkeypatch.setattr(online_run, "LiveRun", lambda *_: run)
    # a paper of one item
    paper = Paper("tiny", "Nobody (2026).")
    paper.table(1, "One number")(
        lambda run: Outcome([{"x": 1.5}], [Check("one number", "1.5")], "", noisy(Figure())()),
    )
    for module in ("vibrid.papers.paper", "vibrid.papers.pages"):
        monkeypatch.setattr(f"{module}.load_paper", lambda name: paper)


# -- a disk that fills ---------------------------------------------------------------------------------------------


@contextmanager
def filling(monkeypatch, nth: int | None):
    """The disk takes nothing more of the nth file that is begun; yields the files in their order."""
    begun: list[str] = []
    real = os.open

    def begin(path, flags, *more, **named):
        handle = real(path, flags, *more, **named)
        if flags & os.O_CREAT and Path(path).parent.name not in ("native", "programs"):  # of the compile cache
            begun.append(Path(path).name)
            soft = 8 if len(begun) == nth else NO_LIMIT
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        return handle

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "open", begin)
        try:
            yield begun
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (NO_LIMIT, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def in_folder(path: Path) -> dict[str, bytes]:
    return {p.relative_to(path).as_posix(): p.read_bytes() for p in path.rglob("*") if p.is_file()}


MOTIONS = "a.csv b.csv --target asce7:1.0,0.6"
COMMANDS = {
    "identify": ("identify p.toml test.csv --save OUT/a.h5 --json OUT/a.json --report OUT/a.html", 3),
    "simulate": ("simulate p.toml --out OUT/a.csv --plot OUT/a.png", 2),
    "simulate hdf5": ("simulate p.toml --out OUT/a.h5", 1),
    "loads": ("loads p.toml test.csv --out OUT/a.csv --plot OUT/a.pdf", 2),
    "predict": ("predict a.h5 test.csv --out OUT/a.nc", 1),
    "compare": ("compare p.toml test.csv --methods trajectory --plot OUT/a.svg", 1),
    "record convert": ("record convert test.csv -o OUT/a.h5", 1),
    "record plot": ("record plot a.csv b.csv -o OUT/a.png", 2),
    "spectrum": ("spectrum a.csv -o OUT/a.csv --count 5", 1),
    "spectrum drawn": ("spectrum a.csv -o OUT/a.png --count 5", 1),
    "motions scale": (f"motions scale {MOTIONS} -o OUT/scaled", 2),
    "motions select": (f"motions select {MOTIONS} --count 2 -o OUT/scaled --plot OUT/a.png", 3),
    "motions synthesise": ("motions synthesise -o OUT/a.csv --duration 2 --rate 20", 1),
    "hybrid run": ("hybrid run hybrid.toml --out OUT/test --report OUT/a.html", 3),
    "reproduce": ("reproduce tiny --out OUT", 3),
    "demo": ("demo --out OUT/demo", 4),
    "schema": ("schema --out OUT/a.json", 1),
}
SILENT = {"record convert", "record plot", "motions synthesise", "schema"}
"""Commands whose only answer is the file."""


def words_of(command: str, out: Path) -> list[str]:
    return [w.replace("OUT", str(out)) for w in command.split()]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_disk_fills_at_every_file(vibrid, stand_ins, folder, tmp_path, monkeypatch, name):
    monkeypatch.chdir(folder)
    command, count = COMMANDS[name]
    good = tmp_path / "good"
    good.mkdir()
    with filling(monkeypatch, None) as begun:
        made = vibrid(*words_of(command, good))
    assert made.exit_code == 0, made.output
    assert len(begun) == count, begun
    whole = in_folder(good)
    answer = [line for line in made.stdout.splitlines() if not line.startswith(("wrote", "Files are", "Continue"))]
    for nth in range(1, count + 1):
        out = tmp_path / str(nth)
        for file in whole:
            files.make_folder((out / file).parent)
            (out / file).write_bytes(b"before")
        with filling(monkeypatch, nth):
            made = vibrid(*words_of(command, out))
        assert made.exit_code == 1 and "ulimit -f" in made.stderr and "Traceback" not in made.output, made.output
        if name not in SILENT:
            told = [line.replace(str(out), str(good)) for line in made.stdout.splitlines()]
            assert all(line in told for line in answer if line), made.stdout
        left = in_folder(out)
        assert set(left) == set(whole), "no half file, no file missing"
        kept = [file for file, content in left.items() if content == b"before"]
        skipped = count - nth if name in ("motions synthesise", "reproduce") else 0
        assert 1 <= len(kept) <= 1 + skipped, kept


def test_a_checkpoint_that_fails_does_not_stop_the_training(vibrid, stand_ins, folder, tmp_path, monkeypatch):
    words = ["hybrid", "train", "t.toml", "--out", str(tmp_path / "m.npz")]
    with filling(monkeypatch, 1), pytest.warns(RuntimeWarning, match="The work goes on"):
        made = vibrid(*words)
    assert made.exit_code == 0 and sorted(in_folder(tmp_path)) == ["m.npz"], made.output
    (tmp_path / "m.npz").unlink()
    with filling(monkeypatch, 2):
        made = vibrid(*words)
    assert made.exit_code == 1 and "network: models, best first" in made.stdout and "ulimit -f" in made.stderr
    assert sorted(in_folder(tmp_path)) == ["m-unfinished.npz"], "the same command goes on from it"


def test_a_live_run_goes_on_without_its_file(vibrid, stand_ins, folder, tmp_path, monkeypatch):
    """The disk fills when estimates and samples grow (3), or when the state is saved (4): then the samples stay."""
    words = ["online", folder / "p.toml", "--from", folder / "test.csv", "--out", tmp_path / "run.csv", "--state"]
    words += [tmp_path / "run.npz", "--every", 1]
    for nth, kept in ((3, {"run.npz"}), (4, {"run.csv", "run.npz.samples"})):
        for file in in_folder(tmp_path):
            (tmp_path / file).unlink()
        with filling(monkeypatch, nth):
            made = vibrid(*words)
        assert made.exit_code == 1 and "k = 1" in made.stdout and "The run continued" in made.stderr, made.output
        assert set(in_folder(tmp_path)) == kept and "Traceback" not in made.output


# -- answers survive what comes after them -------------------------------------------------------------------------


def broken(*_, **__):
    raise ValueError("the pen broke")


def test_a_report_or_a_validation_that_fails_loses_nothing_else(vibrid, stand_ins, folder, tmp_path, monkeypatch):
    monkeypatch.setattr("vibrid.report.html.report_page", broken)
    monkeypatch.setattr("vibrid.identification.result.Identification.validate", broken)
    words = ["identify", folder / "p.toml", folder / "test.csv", "--validate", folder / "test.csv"]
    words += ["--report", tmp_path / "a.html", "--save", tmp_path / "a.h5"]
    made = vibrid(*words)
    assert made.exit_code == 1 and "storeys[0].stiffness" in made.stdout and "Traceback" not in made.output
    assert "a.html' was not written" in made.stderr and made.stderr.count("the pen broke") == 2
    assert sorted(in_folder(tmp_path)) == ["a.h5"]
    made = vibrid(*words, "--json", "-")
    assert made.exit_code == 1 and json.loads(made.stdout)["parameters"] and json.loads(made.stdout)["validation"] == []


def test_several_loads_at_one_place_can_be_reported(fit, tmp_path):
    from vibrid.report.signals import excitation_of

    assert excitation_of(fit).names == ("load 0", "load 0_2")
    fit.report(tmp_path / "a.html")
    assert (tmp_path / "a.html").stat().st_size > 10_000


@pytest.mark.parametrize("number", [errno.EPIPE, errno.ENOSPC])
def test_files_are_written_although_nobody_reads_the_answer(vibrid, stand_ins, folder, tmp_path, monkeypatch, number):
    """`vibrid identify … --save a.h5 | head -1`, or standard output on a disk that is full."""

    def refuse(text="", err=False, **_):
        if not err:
            raise OSError(number, os.strerror(number))
        print(text, file=sys.stderr)

    monkeypatch.setattr("typer.echo", refuse)
    made = vibrid("identify", folder / "p.toml", folder / "test.csv", "--save", tmp_path / "a.h5")
    assert made.exit_code == (0 if number == errno.EPIPE else 1) and "Traceback" not in made.output
    assert in_folder(tmp_path)["a.h5"]


# -- JSON ----------------------------------------------------------------------------------------------------------

JSON = {
    "identify": "identify p.toml test.csv --json -",
    "simulate": "simulate p.toml --json --out OUT/a.csv",
    "loads": "loads p.toml test.csv --json",
    "predict": "predict a.h5 test.csv --json",
    "compare": "compare p.toml test.csv --methods trajectory --json",
    "record info": "record info a.csv b.csv --json",
    "spectrum": "spectrum a.csv --count 5 --json",
    "motions scale": f"motions scale {MOTIONS} --json",
    "motions select": f"motions select {MOTIONS} --count 2 --json",
    "hybrid run": "hybrid run hybrid.toml --json",
    "hybrid train": "hybrid train t.toml --out OUT/m.npz --json",
    "hybrid clock": "hybrid clock --rate 200 --seconds 0.05 --json",
}


def refuse_constant(name):
    raise AssertionError(f"{name} is not JSON")


@pytest.mark.parametrize("name", JSON)
def test_standard_output_holds_json_alone(vibrid, stand_ins, folder, tmp_path, monkeypatch, name):
    monkeypatch.chdir(folder)
    made = vibrid(*words_of(JSON[name], tmp_path))
    assert made.exit_code == 0 or name == "hybrid clock", made.output
    json.loads(made.stdout, parse_constant=refuse_constant)


def test_numbers_that_json_cannot_hold():
    from vibrid.commands.output import as_json

    content = {"a": float("nan"), "b": [np.float32(np.inf), np.int64(3)], "c": np.array([1.0, np.nan]), 1: Path("x")}
    assert json.loads(as_json(content)) == {"a": None, "b": [None, 3], "c": [1.0, None], "1": "x"}
