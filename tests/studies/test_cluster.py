"""Studies on several processes: the same bits, workers that die, and the scripts of a job queue."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import vibrid as vb
from tests.studies.small import BUILDING, MOTIONS, equal
from vibrid.studies import cluster, engine_for
from vibrid.studies.cluster import queue_cluster
from vibrid.studies.program import StudyProgram

pytest.importorskip("zarr")
dask = pytest.importorskip("dask")
pytest.importorskip("distributed")


@dataclasses.dataclass(frozen=True, eq=False)
class Deadly(StudyProgram):
    """Its worker dies at the first attempt at one batch, and at every attempt at another."""

    marker: str = ""

    def compute(self, batch):
        first = batch.runs[0].tolist()
        if first == [4, 0] or (first == [1, 1] and not Path(self.marker).exists()):
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().compute(batch)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here")
def test_workers_that_die_change_nothing_but_what_cannot_be_computed(tmp_path, monkeypatch):
    """Two processes give the bits of this one; a batch is done again once, and set aside when its worker dies again."""
    monkeypatch.setattr("vibrid.studies.running.batch_width", lambda *_: 4)
    study, environment = vb.study(BUILDING, MOTIONS, levels=[1.0, 2.0, 8.0]), dict(os.environ)
    here = study.run()
    fields = {f.name: getattr(study.program, f.name) for f in dataclasses.fields(StudyProgram)}
    deadly = dataclasses.replace(study, program=Deadly(**fields, marker=str(tmp_path / "died")))
    data = deadly.run(tmp_path / "study", engine_for("processes", 2)).load()
    assert (tmp_path / "died").exists() and dict(os.environ) == environment
    aside = data.outcome.values == 6
    assert aside.any(axis=1).tolist() == [False] * 4 + [True] and aside[4].all()
    equal(data.isel(motion=slice(4)), here.isel(motion=slice(4)))
    (kept,) = (tmp_path / "study" / "set-aside").glob("*.npz")
    inputs = np.load(kept)
    assert "KilledWorker" in str(inputs["reason"]) and inputs["motions"].tolist() == ["motion 4"] * 3
    equal(study.run(tmp_path / "study"), here)  # without dying: what was set aside is tried again


@dataclasses.dataclass(frozen=True, eq=False)
class Lonely(StudyProgram):
    """All workers are gone for good while the first batch is computed: their nannies are told not to replace them."""

    marker: str = ""

    def compute(self, batch):
        if not Path(self.marker).exists():
            Path(self.marker).touch()
            from distributed import get_worker

            worker = get_worker()
            worker.loop.add_callback(worker.close, nanny=True)
            time.sleep(600)
        return super().compute(batch)


def test_workers_that_are_lost_for_good_are_asked_for_again(tmp_path, monkeypatch):
    """A cluster gives up a worker that dies while it starts; without others the study would wait for ever."""
    monkeypatch.setattr("vibrid.studies.cluster._PATIENCE", 2.0)
    monkeypatch.setitem(cluster._SETTINGS, "distributed.deploy.lost-worker-timeout", "1s")
    study = vb.study(BUILDING, MOTIONS[:1])
    fields = {f.name: getattr(study.program, f.name) for f in dataclasses.fields(StudyProgram)}
    lonely = dataclasses.replace(study, program=Lonely(**fields, marker=str(tmp_path / "gone")))
    data = lonely.run(engine=engine_for("processes", 1))
    assert (tmp_path / "gone").exists()
    equal(data, study.run())


def test_a_scheduler_that_is_not_there_is_told(monkeypatch):
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(vb.VibridError, match=r"No scheduler answers at tcp://127\.0\.0\.1:9"),
    ):
        vb.study(BUILDING, MOTIONS[:1]).run(engine=engine_for("tcp://127.0.0.1:9"))


@pytest.mark.parametrize(("where", "jobs"), [("there", None), ("processes", 0)])
def test_places_that_are_none_are_refused(where, jobs):
    with pytest.raises(vb.InputError):
        engine_for(where, jobs)


@pytest.mark.parametrize(
    ("kind", "line"), [("slurm", "#SBATCH --cpus-per-task=1"), ("pbs", "#PBS -l select=1:ncpus=1")]
)
def test_the_script_that_is_submitted(kind, line):
    """A job is one worker on one core, whose scheduler is the coordinator of the study."""
    pytest.importorskip("dask_jobqueue")
    with queue_cluster(kind, 0, cores=1, memory="2GB", walltime="01:00:00", interface=None) as cluster:
        script = cluster.job_script()
        assert line in script and "01:00:00" in script
        before, worker = script.split("export OMP_NUM_THREADS=1")
        assert f"{cluster.scheduler_address}" in worker and "--nthreads 1" in worker and "dask_worker" not in before
    with pytest.raises(vb.InputError, match="state cores and memory of a job"):
        queue_cluster(kind, 1)


CTRL_C = """
import dataclasses, time
import vibrid as vb
from tests.studies.small import BUILDING, MOTIONS
from vibrid.studies import engine_for
from vibrid.studies.program import StudyProgram

@dataclasses.dataclass(frozen=True, eq=False)
class Slow(StudyProgram):
    def compute(self, batch):
        print("begun", flush=True)
        time.sleep(600)

if __name__ == "__main__":
    study = vb.study(BUILDING, MOTIONS[:1])
    fields = {f.name: getattr(study.program, f.name) for f in dataclasses.fields(StudyProgram)}
    try:
        dataclasses.replace(study, program=Slow(**fields)).run(engine=engine_for("processes", 1))
    except KeyboardInterrupt:
        print("stopped")
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="there are no groups of processes here")
def test_ctrl_c_in_a_terminal_ends_a_study_without_a_word_of_its_workers(tmp_path):
    """It reaches every process of the terminal."""
    (tmp_path / "script.py").write_text(CTRL_C)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).resolve().parents[2]), *sys.path])}
    script = subprocess.Popen(
        [sys.executable, tmp_path / "script.py"], env=environment, start_new_session=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert script.stdout is not None and script.stdout.readline() == "begun\n"
    os.killpg(script.pid, signal.SIGINT)
    said, complaints = script.communicate(timeout=120)
    assert said == "stopped\n" and not complaints
