"""Batches on other processes and machines, by dask.distributed: processes here, a running scheduler, a job queue."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from typing import Any

from vibrid.core.device import cores
from vibrid.core.errors import InputError, VibridError, require
from vibrid.studies.engine import Answer, AnyBatch, BatchProgram, Engine, InProcess, answers_of

QUEUES = {"slurm": "SLURMCluster", "pbs": "PBSCluster"}
WORKER = {"OMP_NUM_THREADS": "1", "NPROC": "1"}
"""The environment of a worker: it computes one batch at a time, on one core."""

_ALL_MEMORY = "XLA_PYTHON_CLIENT_PREALLOCATE"
"""Whether a process takes most of an accelerator's memory when it starts, as JAX does: processes of one machine share
it."""

_PURPOSE = "A study on several processes"
_NO_PAGE = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
"""Dask's scheduler serves web pages on a port that everyone can reach, and takes another with a warning where two
studies run: ours has none, and listens where it must at a free port of this machine."""
_ENDED_BY_US = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""What a worker of this machine does first: Ctrl-C in a terminal reaches it too, but its coordinator ends it."""
_PATIENCE = 10.0
"""Seconds without a finished batch after which lost workers are asked for again."""
_SETTINGS = {
    "distributed.scheduler.allowed-failures": 1,
    "distributed.deploy.lost-worker-timeout": "120s",  # a worker that starts again on a busy machine is not lost
}


class Cluster(Engine):
    """Computes batches on the workers of a dask cluster.

    A worker that dies is replaced where the cluster does so, and its batch is done again once; a batch whose worker
    dies again is set aside. Workers have the same version of vibrid, and share its folder of compiled programs where
    they share a disk.

    Arguments
        open: makes the cluster, or gives the address of a scheduler; called by `begin`.
        refill: asks the cluster for the workers that it should have; called every few seconds while no batch finishes,
            since a cluster gives up a worker that dies while it starts, and a job of a queue ends with its time.
    """

    def __init__(self, open: Callable[[], Any], refill: Callable[[Any], None] = lambda cluster: None):
        self._open, self._refill = open, refill
        self._cluster: Any = None
        self._client: Any = None
        self._program: Any = None
        self._environment: dict[str, str | None] = {}

    def begin(self, program: BatchProgram) -> None:
        distributed = require("distributed", "cluster", _PURPOSE)
        require("dask", "cluster", _PURPOSE).config.set(_SETTINGS)
        before = dict(os.environ)
        self._cluster = self._open()
        names = before.keys() | os.environ.keys()
        self._environment = {name: before.get(name) for name in names if before.get(name) != os.environ.get(name)}
        try:
            self._client = distributed.Client(self._cluster, set_as_default=False)
        except (OSError, TimeoutError) as problem:
            raise VibridError(f"No scheduler answers at {self._cluster}: start it, or check its address.") from problem
        while not self._client.ncores():
            with contextlib.suppress(TimeoutError):
                self._client.wait_for_workers(1, timeout=_PATIENCE)
                break
            self._refill(self._cluster)
        # as a task, not as data: whoever loses it makes it again from these bytes
        self._program = self._client.submit(pickle.loads, pickle.dumps(program), pure=False)

    def results(self, batches: Iterable[AnyBatch]) -> Iterator[Answer]:
        distributed = require("distributed", "cluster", _PURPOSE)
        client, program = self._client, self._program

        def submit(batch: AnyBatch):
            return client.submit(_computed, program, batch, pure=False)

        def finished(futures: list) -> Iterable:
            while True:
                with client.as_current(), contextlib.suppress(TimeoutError):
                    return distributed.wait(futures, timeout=_PATIENCE, return_when="FIRST_COMPLETED").done
                self._refill(self._cluster)

        def result(future):
            try:
                return future.result()
            except distributed.KilledWorker as problem:
                return problem

        try:
            yield from answers_of(batches, submit, finished, result, lambda: 2 * max(1, sum(client.ncores().values())))
        except (OSError, CancelledError) as problem:
            raise VibridError(
                f"The scheduler of the study is gone ({type(problem).__name__}). What was computed is kept: run it "
                "again to go on."
            ) from problem

    def close(self) -> None:
        self._program = None
        if self._client is not None:
            self._client.close()
        if hasattr(self._cluster, "close"):
            self._cluster.close()
        self._client = self._cluster = None
        for name, value in self._environment.items():  # dask leaves what its workers need in this process
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _computed(program: BatchProgram, batch: AnyBatch) -> dict[str, Any]:
    return program.compute(batch)


def engine_for(where: str = "here", jobs: int | None = None) -> Engine:
    """The engine that a text names.

    Arguments
        where: "here"; "processes", one on every core; "tcp://host:port", a running scheduler; "slurm" or "pbs", jobs of
            a queue with the settings of dask-jobqueue (`~/.config/dask/jobqueue.yaml`).
        jobs: processes or jobs; by default the number of cores here, and one job of a queue.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"The number of processes or jobs is at least one, not {jobs}.")
    if where == "here":
        return InProcess(jobs)
    if where == "processes":
        workers = cores() if jobs is None else jobs
        return Cluster(lambda: local_cluster(workers), lambda cluster: cluster.scale(workers))
    if where in QUEUES:
        many = 1 if jobs is None else jobs
        return Cluster(lambda: queue_cluster(where, many), lambda cluster: cluster.scale(jobs=many))
    if "://" in where:
        return Cluster(lambda: where)
    raise InputError(f"A study runs here, on processes, tcp://host:port, {' or '.join(QUEUES)}; not on '{where}'.")


def local_cluster(workers: int, cores_each: int = 1) -> Any:
    """Processes of this machine; each computes one batch at a time, on so many cores."""
    distributed = require("distributed", "cluster", _PURPOSE)
    return distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, scheduler_kwargs=_NO_PAGE,
        env=dict.fromkeys(WORKER, str(cores_each)) | {_ALL_MEMORY: os.environ.get(_ALL_MEMORY, "false")},
        silence_logs=50, preload=[_ENDED_BY_US],
    )  # fmt: skip


def queue_cluster(kind: str, jobs: int, **settings: Any) -> Any:
    """Jobs of a queue; `settings` are those of dask-jobqueue, which reads what is not given from its own file."""
    jobqueue = require("dask_jobqueue", "cluster", f"A study on {kind}")
    lines = [f"export {name}={value}" for name, value in WORKER.items()]
    pages = require("dask", "cluster", _PURPOSE).config.get(f"jobqueue.{kind}.scheduler-options", None) or {}
    given = {"job_script_prologue": lines, "scheduler_options": _NO_PAGE | pages} | settings
    try:
        cluster = getattr(jobqueue, QUEUES[kind])(**given)
    except (ValueError, TypeError) as problem:
        raise InputError(
            f"Jobs of {kind} cannot be described ({problem}): state cores and memory of a job in "
            "~/.config/dask/jobqueue.yaml, as dask-jobqueue documents."
        ) from problem
    cluster.scale(jobs=jobs)
    return cluster
