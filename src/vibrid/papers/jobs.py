"""Independent jobs of an item: computed side by side, stored one by one, so that the same command resumes.

A job is a function of a module, `make(run, *arguments)`, that returns arrays by name. Processes are those of a study
(`vibrid.studies.cluster`), one for every core; without the extra `cluster` they are threads of this process. A
finished job is stored under `unfinished` in the folder of the results until its item is written. `on_threads` computes
what shares memory, such as fits that several tables show, on the threads of a study in this process; `beside` does so
while something else goes on, such as a training on an accelerator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np

from vibrid.core.device import cores
from vibrid.networks.checkpoint import Checkpoint
from vibrid.papers.paper import Run
from vibrid.studies.cluster import Cluster, local_cluster
from vibrid.studies.engine import InProcess

Arrays = dict[str, np.ndarray]
Job = Callable[..., Arrays]

_run: Run | None = None  # of a process beside others: what its jobs share is computed once


def run_jobs(run: Run, make: Job, jobs: list[tuple], cores_each: int = 1) -> list[Arrays]:
    """Results of `make` for each tuple of arguments; those stored by an earlier call are read.

    cores_each: cores that a job may use; as many jobs run at a time as there are cores for.
    """
    done = {job: known for job in jobs if (known := run.known(make, job)) is not None}
    done |= {job: stored for job in jobs if job not in done and (stored := _stored(run, make, job)) is not None}
    missing = [job for job in jobs if job not in done]
    run.progress.stage(f"{make.__name__.replace('_', ' ')}: {len(missing)} jobs", len(missing))
    processes = min(cores() // cores_each, len(missing))
    if processes < 2 or run.quick:
        for i, job in enumerate(missing, 1):
            done[job] = _computed(run, make, job)
            run.progress.update(i, name_of(make, job))
    else:
        done |= _side_by_side(run, make, missing, processes, cores_each)
    for job in missing:
        run.keep(make, job, done[job])
    return [done[job] for job in jobs]


def one_job(run: Run, make: Job, *job) -> Arrays:
    """`make(run, *job)`, computed in this process, such as a training on an accelerator; one that is stored is read."""
    known = run.known(make, job)
    if known is None:
        known = _stored(run, make, job)
    if known is None:
        known = _computed(run, make, job)
    run.keep(make, job, known)
    return known


def name_of(make: Job, job: tuple) -> str:
    """The name of the file of a job."""
    words = [make.__module__.split(".")[-1], make.__name__, *map(str, job)]
    return re.sub(r"[^\w.=+-]+", "-", "-".join(words))


def _stored(run: Run, make: Job, job: tuple) -> Arrays | None:
    path = run.checkpoint(name_of(make, job))
    if path is None:
        return None
    run.stored.add(Path(path))
    stored = Checkpoint(path).load()
    if stored is None:
        return None
    run.reused = True
    return stored[0]


def _computed(run: Run, make: Job, job: tuple) -> Arrays:
    arrays = make(run, *job)
    if path := run.checkpoint(name_of(make, job)):
        Checkpoint(path).keep(arrays)
    return arrays


def _side_by_side(run: Run, make: Job, jobs: list[tuple], processes: int, cores_each: int) -> dict[tuple, Arrays]:
    apart, done = find_spec("distributed") is not None, {}
    opened = Cluster(lambda: local_cluster(processes, cores_each), lambda cluster: cluster.scale(processes))
    engine = opened if apart else InProcess(processes)
    try:
        engine.begin(_Jobs(make, run.data, run.folder) if apart else _JobsHere(make, run))
        for batch, arrays in engine.results(_OneJob(job) for job in jobs):
            if isinstance(arrays, Exception):
                raise arrays
            done[batch.job] = arrays
            run.progress.update(len(done), name_of(make, batch.job))
        return done
    finally:
        engine.close()


@dataclass(frozen=True)
class _OneJob:
    """A job as a batch of an engine."""

    job: tuple
    runs: np.ndarray = field(default_factory=lambda: np.zeros((1, 1), int))
    labels: dict[str, np.ndarray] = field(default_factory=dict)
    size: int = 1
    shape: tuple | None = None


@dataclass(frozen=True)
class _Jobs:
    """The jobs of one function as the program of an engine."""

    make: Job
    data: Path | None
    folder: Path | None

    def compute(self, batch: _OneJob) -> Arrays:
        global _run
        if _run is None:
            _run = Run(data=self.data)
            _run.folder = self.folder
        return _computed(_run, self.make, batch.job)

    def inputs(self, batch: _OneJob) -> Arrays:
        return {}


@dataclass(frozen=True, eq=False)
class _JobsHere:
    """The jobs of one function as the program of an engine in this process, with what the run has computed."""

    make: Job
    run: Run

    def compute(self, batch: _OneJob) -> Arrays:
        return _computed(self.run, self.make, batch.job)

    def inputs(self, batch: _OneJob) -> Arrays:
        return {}


def on_threads(
    function: Callable[..., Any], jobs: Sequence[tuple], threads: int | None = None, alike: bool = True
) -> Generator[tuple[int, Any], None, None]:
    """The number of every job and `function(*job)`, as they come, on so many threads, by default one for each core.

    Of jobs that are `alike` the first is computed alone: it compiles for the others.
    """
    engine, shape = InProcess(cores() if threads is None else threads), () if alike else None
    try:
        engine.begin(_OneFunction(function))
        batches = (_OneJob(job, np.array([[i]]), shape=shape) for i, job in enumerate(jobs))
        for batch, made in engine.results(batches):
            if isinstance(made, Exception):
                raise made
            yield int(batch.runs[0, 0]), made["result"]
    finally:
        engine.close()


def all_on_threads(function: Callable[..., Any], jobs: Sequence[tuple]) -> list:
    """`function(*job)` of every job, in their order; see `on_threads`."""
    found = dict(on_threads(function, jobs))
    return [found[i] for i in range(len(jobs))]


@contextmanager
def beside(function: Callable[..., Any], jobs: Sequence[tuple]) -> Iterator[Callable[[], list]]:
    """Compute `function(*job)` of jobs that differ on half of the cores, while the block does something else.

    The block is given a function that waits for the results, in the order of the jobs. A block that fails begins none
    of the jobs that are left.
    """
    found: dict[int, Any] = {}
    problems: list[BaseException] = []
    over = Event()

    def work() -> None:
        try:
            with closing(on_threads(function, jobs, max(cores() // 2, 1), alike=False)) as results:
                for number, made in results:
                    found[number] = made
                    if over.is_set():
                        return
        except BaseException as problem:  # told to the block, which waits for it
            problems.append(problem)

    def results() -> list:
        thread.join()
        if problems:
            raise problems[0]
        return [found[number] for number in range(len(jobs))]

    thread = Thread(target=work, name="jobs beside")
    thread.start()
    try:
        yield results
    finally:
        over.set()
        thread.join()


@dataclass(frozen=True)
class _OneFunction:
    """A function as the program of an engine."""

    function: Callable[..., Any]

    def compute(self, batch: _OneJob) -> dict[str, Any]:
        return {"result": self.function(*batch.job)}

    def inputs(self, batch: _OneJob) -> Arrays:
        return {}
