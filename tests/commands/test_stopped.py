"""Ctrl-C and SIGTERM: the best result so far is kept and saved. Files that cannot be written are refused first."""

import os
import signal
import subprocess
import sys
import threading

import jax.numpy as jnp
import numpy as np
import pytest
from commands.test_full_disk import PROJECT
from identification.small import ONE_GUESS, ONE_UNKNOWN, one

import vibrid as vb
from vibrid.core.interrupts import PatientStop, Terminated, stop_requested
from vibrid.core.progress import Progress
from vibrid.core.writable import check_folder, check_writable


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "p.toml").write_text(PROJECT.split("[[unknown_loads]]")[0])
    t = np.arange(0, 4, 0.02)
    structure = vb.ShearBuilding(masses=[1.0], storeys=[vb.Linear(40.0, damping=0.8)])
    motion = vb.Record(np.sin(7 * t), [vb.Channel("ground", "ground_acceleration")], step=0.02)
    vb.simulate(structure, motion).measure(vb.Sensors(displacement=[0]), noise=0.02, key=0).write_csv(
        tmp_path / "test.csv"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def interruptible():
    """Ctrl-C is answered, also where a shell started the tests in the background with SIGINT ignored."""
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, earlier)


class Stops(Progress):
    """Progress that is interrupted at a stage or after some steps."""

    def __init__(self, stage: str, steps: int = 0, number=signal.SIGINT):
        self.wanted, self.steps, self.number, self.now, self.sent = stage, steps, number, "", False

    def stage(self, label, total=None):
        self.now = label
        self._ask(0)

    def update(self, done, note=""):
        self._ask(done)

    def _ask(self, done: int) -> None:
        if not self.sent and self.wanted in self.now and done >= self.steps:
            self.sent = True
            signal.raise_signal(self.number)


@pytest.fixture
def answered():
    """SIGTERM is answered as the command does."""
    earlier = signal.signal(signal.SIGTERM, stop_requested)
    yield
    signal.signal(signal.SIGTERM, earlier)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_fit_that_is_stopped_is_printed_and_saved(vibrid, folder, monkeypatch, answered, number):
    real = vb.identify
    stops = Stops("fitting", 1, number)
    monkeypatch.setattr(vb, "identify", lambda *a, progress, **k: real(*a, progress=stops, **k))
    done = vibrid("identify", "p.toml", "test.csv", "--save", "a.h5", "--validate", "test.csv")
    assert stops.sent and done.exit_code == 0 and "cut short" in done.output, done.output
    assert vb.load_identification("a.h5").cut_short


@pytest.mark.parametrize("stage", ["fitting", "adapting", "sampling"])
def test_bayes_that_is_stopped_keeps_its_fit(stage, monkeypatch):
    pytest.importorskip("blackjax")
    import blackjax

    class Adapted:  # the adaptation takes a minute to compile
        def run(self, key, position, count):
            state = blackjax.nuts.init(position, lambda x: -0.5 * (x**2).sum())
            return (state, {"step_size": 0.5, "inverse_mass_matrix": jnp.ones(len(position))}), None

    monkeypatch.setattr(blackjax, "window_adaptation", lambda *a, **k: Adapted())
    stops = Stops(stage, 1 if stage == "fitting" else 0)
    fit = vb.identify(ONE_GUESS, one(0.02), ONE_UNKNOWN, vb.Bayes(), progress=stops)
    assert fit.cut_short and "too few for a posterior" in " ".join(fit.warnings)
    assert np.isfinite(fit.estimate).all()


def test_a_comparison_that_is_stopped_keeps_what_it_has():
    stops = Stops("filtering")
    compared = vb.compare(ONE_GUESS, one(0.02), ONE_UNKNOWN, ["trajectory", "ukf", "ekf"], progress=stops)
    assert "TrajectoryFit" in compared.results and "stopped" in compared.refused["ExtendedKalman"]


def test_a_validation_or_a_report_that_is_stopped_leaves_the_rest(vibrid, folder, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("vibrid.identification.result.Identification.validate", stopped)
    done = vibrid("identify", "p.toml", "test.csv", "--save", "a.h5", "--validate", "test.csv", "--json", "a.json")
    assert done.exit_code == 130 and "could not be validated" in done.stderr and "stopped by Ctrl-C" in done.stderr
    assert (folder / "a.h5").exists() and (folder / "a.json").exists()


def test_a_step_is_finished_before_it_is_stopped():
    finished = []
    with pytest.raises(KeyboardInterrupt), PatientStop() as stop, stop.step():
        signal.raise_signal(signal.SIGINT)
        finished.append(1)
    assert finished == [1] and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    earlier = signal.signal(signal.SIGTERM, stop_requested)
    try:
        with pytest.raises(Terminated), PatientStop():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, earlier)
    thread = threading.Thread(target=lambda: PatientStop().__enter__().__exit__())
    thread.start()
    thread.join()


# -- files that cannot be written ----------------------------------------------------------------------------------

COMMANDS = {
    "identify": ("identify p.toml test.csv", {"--save": "a.h5", "--report": "a.html", "--json": "a.json"}),
    "compare": ("compare p.toml test.csv", {"--plot": "a.png"}),
    "simulate": ("simulate p.toml", {"--out": "a.csv", "--plot": "a.png"}),
    "predict": ("predict a.h5 test.csv", {"--out": "a.csv"}),
    "loads": ("loads p.toml test.csv", {"--out": "a.csv", "--plot": "a.png"}),
    "online": ("online p.toml --from test.csv", {"--out": "a.csv", "--state": "a.npz"}),
    "hybrid run": ("hybrid run p.toml", {"--report": "a.html"}),
    "hybrid fit-law": ("hybrid fit-law test.csv --law linear", {"--save": "a.h5", "--figure": "a.png"}),
    "cyclic": ("cyclic test.csv --law linear", {"--save": "a.h5", "--figure": "a.png", "--report": "a.html"}),
    "modal": ("modal test.csv", {"--figure": "a.png", "--report": "a.html"}),
    "hybrid train": ("hybrid train p.toml", {"--out": "a.npz"}),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(vibrid, folder, monkeypatch, command):
    def work(*_, **__):
        raise AssertionError("the work began")

    for name in ("vibrid.project.load_project", "vibrid.project.load.load_project", "vibrid.load_identification"):
        monkeypatch.setattr(name, work)
    words, options = COMMANDS[command]
    (folder / "there.h5").mkdir()
    for option, file in options.items():
        for place in (f"missing/{file}", f"p.toml/{file}"):
            done = vibrid(*words.split(), option, place)
            assert done.exit_code == 1 and "cannot be written" in done.stderr, done.output
    assert not list(folder.glob(".*"))


def test_what_can_be_written_is_found_out_without_a_trace(tmp_path):
    check_writable(tmp_path / "new.csv")
    check_writable(None)
    check_writable("-")
    check_writable("/dev/null")
    check_folder(tmp_path / "a" / "b")
    with pytest.raises(vb.FileProblem, match="there is a folder of this name"):
        check_writable(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(vb.FileProblem, match="is a file, not a folder"):
        check_folder(tmp_path / "file" / "b")
    if os.getuid():
        (tmp_path / "file").chmod(0o400)
        with pytest.raises(vb.FileProblem, match="no permission"):
            check_writable(tmp_path / "file")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_result_that_cannot_be_saved_any_more_is_kept_elsewhere(vibrid, folder, monkeypatch):
    """The folder of --save goes away while the fit runs."""
    (folder / "gone").mkdir()
    real = vb.identify

    def identify(*arguments, **named):
        (folder / "gone").rmdir()
        return real(*arguments, **named)

    monkeypatch.setattr(vb, "identify", identify)
    done = vibrid("identify", "p.toml", "test.csv", "--save", "gone/a.h5")
    assert done.exit_code == 1 and "The result was kept in" in done.stderr
    [kept] = folder.glob("a-*.h5")
    assert vb.load_identification(kept).names == ("storeys[0].stiffness",)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_the_work_prints_nothing(number):
    """As libraries clean up at the exit of Python, a request to stop is no error."""
    code = (
        "import atexit, signal, sys; from vibrid import cli; "
        f"atexit.register(signal.raise_signal, {int(number)}); sys.argv = ['vibrid', '--version']; cli.main()"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stderr) == (-number, "")
    assert ended.stdout.startswith("vibrid ")
