"""A study on a real SLURM of one node: the same bits as here, jobs that are cancelled, and the command.

Skipped where SLURM is not installed (Debian: slurmctld, slurmd, slurm-client, munge).
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import vibrid as vb
from tests.studies import one_node
from tests.studies.small import BUILDING, MOTIONS, equal
from vibrid.studies import Cluster, cluster, open_study
from vibrid.studies.cluster import queue_cluster

pytest.importorskip("zarr")
pytest.importorskip("dask_jobqueue")
pytestmark = pytest.mark.skipif(not one_node.installed(), reason="SLURM is not installed")

JOB = {"cores": 1, "memory": "1GB", "walltime": "00:10:00", "interface": "lo"}
SETTINGS = """
jobqueue:
  slurm:
    cores: 1
    memory: 1GB
    walltime: "00:10:00"
    interface: lo
    job-extra-directives: ["--mem=0", "--output=/dev/null"]
    job-directives-skip: ["--mem"]
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """A node with two cores; workers import these tests and this vibrid."""
    here = os.pathsep.join([str(Path(__file__).resolve().parents[2]), *filter(None, sys.path)])
    with one_node.one_node(tmp_path_factory.mktemp("slurm")) as environment, pytest.MonkeyPatch.context() as patch:
        for name, value in {**environment, "PYTHONPATH": here}.items():
            patch.setenv(name, value)
        yield environment


def jobs() -> list[str]:
    return subprocess.run(["squeue", "-h", "-o", "%i"], capture_output=True, text=True, check=True).stdout.split()


def test_jobs_give_the_same_bits_and_one_that_is_cancelled_is_replaced(slurm, tmp_path, monkeypatch):
    monkeypatch.setattr("vibrid.studies.running.batch_width", lambda *_: 4)
    monkeypatch.setattr("vibrid.studies.cluster._PATIENCE", 2.0)
    monkeypatch.setitem(cluster._SETTINGS, "distributed.deploy.lost-worker-timeout", "1s")
    study = vb.study(BUILDING, MOTIONS, levels=[1.0, 2.0, 8.0])
    cancelled = []

    class Cancels(vb.core.progress.Progress):
        """Every job is cancelled when the first batch is written."""

        def update(self, done, note=""):
            if not cancelled:
                cancelled.extend(jobs())
                subprocess.run(["scancel", *cancelled], check=True)

    def opened():
        skip = {"job_extra_directives": ["--mem=0", f"--output={tmp_path}/job-%j"], "job_directives_skip": ["--mem"]}
        return queue_cluster("slurm", 2, **JOB, **skip)

    engine = Cluster(opened, lambda cluster: cluster.scale(jobs=2))
    data = study.run(tmp_path / "study", engine, Cancels())
    assert cancelled, "the batches were computed by jobs"
    equal(data, study.run())


PROJECT = """
[structure]
kind = "shear-building"
masses = [1.0, 1.0]
storeys = {law = "bouc-wen", stiffness = 40.0, beta = 3.0, gamma = 2.0, post_yield_ratio = 0.1, count = 2}
damping = {law = "viscous", damping = 0.5}

[study]
scales = [0.5, 2.0]
motions = {files = ["0.csv", "1.csv"]}
"""


def test_the_command_on_slurm(slurm, tmp_path):
    """Cores and memory of a job stand in the settings of dask-jobqueue."""
    (tmp_path / "jobqueue.yaml").write_text(SETTINGS)
    (tmp_path / "p.toml").write_text(PROJECT)
    for number in (0, 3):
        MOTIONS[number].write_csv(tmp_path / f"{min(number, 1)}.csv")
    command = [sys.executable, "-m", "vibrid", "study", "run", "p.toml", "--out", "there", "--on", "slurm"]
    environment = {**os.environ, "DASK_CONFIG": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "2 motion × 2 scale: 4 stands" in done.stdout and not jobs()
    assert (open_study(tmp_path / "there").outcome == 1).all()
