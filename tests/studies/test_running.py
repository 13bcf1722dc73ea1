"""A study that is stopped, killed, gone on with and enlarged; its dataset read meanwhile."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import vibrid as vb
from tests.studies.small import BUILDING, MOTIONS, Counted, equal, motion
from vibrid.studies import Collapse, InProcess, open_study
from vibrid.studies.store import Store

xarray = pytest.importorskip("xarray")
pytest.importorskip("zarr")


def described(**given):
    """Three groups of motions, the batches of which are four runs wide."""
    return vb.study(BUILDING, given.pop("motions", MOTIONS), levels=given.pop("levels", [1.0, 2.0, 8.0]), **given)


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setattr("vibrid.studies.running.batch_width", lambda *_: 4)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The dataset of a study that nothing disturbed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vibrid.studies.running.batch_width", lambda *_: 4)
        folder = tmp_path_factory.mktemp("study") / "whole"
        described().run(folder, Counted())
    return folder


def test_the_dataset_says_what_it_is(whole):
    data = xarray.open_zarr(whole / "results.zarr", consolidated=False, chunks=None)  # without vibrid
    assert data.outcome.dims == ("motion", "level") and set(data.sizes) >= {"storey", "absolute_acceleration_at"}
    assert data.attrs["vibrid"] == vb.__version__ and "BoucWen" in data.attrs["structure"] and data.attrs["key"] == 0
    assert data.peak_storey_drift.attrs["units"] == "m" and data.level.attrs["units"] == "m/s^2"
    table = data[["peak_storey_drift", "outcome"]].to_dataframe()
    assert len(table) == 5 * 3 * 2 and table.peak_storey_drift.notna().all()
    assert table.loc[("motion 4", 2.0, "0")].peak_storey_drift == float(data.peak_storey_drift[4, 1, 0])


def test_a_study_that_is_stopped_goes_on_and_gives_the_same_bits(whole, tmp_path):
    stopped = Counted(stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        described().run(tmp_path, stopped)
    meanwhile = open_study(tmp_path)
    assert (meanwhile.outcome.values > 0).sum() == stopped.runs < 15
    again = Counted()
    equal(described().run(tmp_path, again), open_study(whole))
    assert again.runs == 15 - stopped.runs
    nothing = Counted()
    described().run(tmp_path, nothing)
    assert nothing.runs == 0


KILLED = """
import os, signal, sys
from tests.studies.small import Counted
from tests.studies.test_running import described
import vibrid.studies.running as running, vibrid.studies.store as store
running.batch_width = lambda *_: 4
put, left = store._put, [int(sys.argv[2])]
def dying(*given):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    put(*given)
store._put = dying
described().run(sys.argv[1], Counted())
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here")
def test_a_killed_process_loses_no_more_than_its_batch(whole, tmp_path):
    """It dies in the midst of writing its third batch; a piece that was half-written is left behind."""
    here = str(Path(__file__).resolve().parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([here, *sys.path])}
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), "15"], env=environment, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    (tmp_path / "results.zarr" / "outcome" / "c.123.partial").write_bytes(b"half")
    done = int((open_study(tmp_path).outcome.values > 0).sum())
    assert 0 < done < 15
    again = Counted()
    equal(described().run(tmp_path, again), open_study(whole))
    assert again.runs == 15 - done and not list(tmp_path.rglob("*.partial"))


def test_what_is_added_later_is_all_that_is_computed(tmp_path):
    described(motions=MOTIONS[:3], levels=[1.0, 8.0]).run(tmp_path, Counted())
    before = open_study(tmp_path).load()
    longer, counted = [motion(7, 160), *MOTIONS[:3]], Counted()
    after = described(motions=longer, levels=[2.0, 1.0, 8.0]).run(tmp_path, counted)
    assert counted.runs == 4 * 3 - 3 * 2 and after.level.values.tolist() == [1.0, 2.0, 8.0]
    assert (after.outcome == 1).all()
    equal(after.sel(motion=before.motion, level=before.level), before)
    alone = described(motions=longer, levels=[2.0]).run()
    close = after.sel(motion=alone.motion, level=alone.level).peak_storey_drift
    np.testing.assert_allclose(close, alone.peak_storey_drift, rtol=1e-9)


def test_another_study_is_not_mixed_with_the_one_that_is_there(whole):
    with pytest.raises(vb.InputError, match="holds another study"):
        described(collapse=Collapse(drift=1.0)).run(whole)
    with pytest.raises(vb.InputError, match=r"'level' that this study has not \(the first is 2\.0\)"):
        described(levels=[1.0, 8.0]).run(whole)
    with pytest.raises(vb.InputError, match="can grow, not shrink"):
        described(motions=MOTIONS[1:]).run(whole)


def test_one_process_at_a_time(whole):
    pytest.importorskip("fcntl")
    with Store(whole).locked(), pytest.raises(vb.FileProblem, match="another process is running this study"):
        described().run(whole)


def test_a_folder_without_a_study_is_told(tmp_path):
    with pytest.raises(vb.FileProblem, match="no dataset of a study"):
        open_study(tmp_path)


def test_a_batch_that_is_set_aside_is_kept_with_its_inputs_and_tried_again(whole, tmp_path):
    class Fails(Counted):
        def results(self, batches):
            for number, (batch, answer) in enumerate(super().results(batches)):
                yield batch, MemoryError("no room") if number == 1 else answer

    data = described().run(tmp_path, Fails())
    assert (data.outcome == 6).sum() == 4 and np.isnan(data.peak_storey_drift.where(data.outcome == 6)).all()
    (kept,) = (tmp_path / "set-aside").glob("*.npz")
    inputs = np.load(kept)
    assert str(inputs["reason"]) == "MemoryError: no room" and len(inputs["factors"]) == 4
    equal(described().run(tmp_path, Counted()), open_study(whole))


def test_progress_tells_rate_and_time_left():
    said = []

    class Told(vb.core.progress.Progress):
        def stage(self, label, total=None):
            said.append((label, total))

        def update(self, done, note=""):
            said.append((done, note))

    described().run(progress=Told())
    assert said[0] == ("computing 15 runs", 15) and said[-1][0] == 15
    assert "runs/s" in said[1][1] and "left" in said[1][1]


def test_the_first_batch_of_every_shape_is_computed_alone():
    """It compiles for all others; they are computed side by side."""
    running, beside = [], []

    class Batches:
        def compute(self, batch):
            running.append(batch)
            time.sleep(0.05)
            beside.append((batch.shape, len(running)))
            running.remove(batch)
            return {}

    class Shaped:
        def __init__(self, shape):
            self.shape = shape

    engine = InProcess(2)
    engine.begin(Batches())
    list(engine.results([Shaped((shape,)) for shape in "aaabbb"]))
    firsts = [next(count for shape, count in beside if shape == (name,)) for name in "ab"]
    assert firsts == [1, 1] and max(count for _, count in beside) == 2 and len(beside) == 6
