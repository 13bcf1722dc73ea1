"""Independent jobs of an item: computed side by side, stored one by one, so that the same command resumes.

A job is a function of a module, `make(run, *arguments)`, that returns arrays by name. Each process computes on one
core. A finished job is stored under `unfinished` in the folder of the results until its item is written.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np

from vibrid.core.device import cores
from vibrid.networks.checkpoint import Checkpoint
from vibrid.papers.paper import Run

Arrays = dict[str, np.ndarray]
Job = Callable[..., Arrays]

_run: Run | None = None  # of a process of the pool: what its jobs share is computed once


def run_jobs(run: Run, make: Job, jobs: list[tuple]) -> list[Arrays]:
    """Results of `make` for each tuple of arguments; those stored by an earlier call are read."""
    done = {job: known for job in jobs if (known := run.known(make, job)) is not None}
    done |= {job: stored for job in jobs if job not in done and (stored := _stored(run, make, job)) is not None}
    missing = [job for job in jobs if job not in done]
    run.progress.stage(f"{make.__name__.replace('_', ' ')}: {len(missing)} jobs", len(missing))
    processes = min(cores(), len(missing))
    if processes < 2 or run.quick:
        for i, job in enumerate(missing, 1):
            done[job] = _computed(run, make, job)
            run.progress.update(i, name_of(make, job))
    else:
        done |= _side_by_side(run, make, missing, processes)
    for job in missing:
        run.keep(make, job, done[job])
    return [done[job] for job in jobs]


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


def _side_by_side(run: Run, make: Job, jobs: list[tuple], processes: int) -> dict[tuple, Arrays]:
    spawn = multiprocessing.get_context("spawn")
    places = spawn.Queue()
    for core in sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else range(processes):
        places.put(core)
    settings = (places, run.data, run.folder)
    pool = ProcessPoolExecutor(processes, spawn, _begin, settings)
    try:
        futures = {pool.submit(_in_process, make, job): job for job in jobs}
        done = {}
        for i, future in enumerate(as_completed(futures), 1):
            job = futures[future]
            done[job] = future.result()
            run.progress.update(i, name_of(make, job))
        return done
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _begin(places, data: Path | None, folder: Path | None) -> None:
    """A process of the pool has one core of its own, and ends with Ctrl-C."""
    global _run
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    core = places.get()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
    _run = Run(data=data)
    _run.folder = folder


def _in_process(make: Job, job: tuple) -> Arrays:
    assert _run is not None
    return _computed(_run, make, job)
