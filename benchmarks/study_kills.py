"""Studies whose processes are killed: parts `coordinator`, `worker` and `scheduler` of `benchmarks/studies.py`."""

import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from study_cases import Begins, small_ida
from table import FOLDER

import vibrid as vb
from vibrid.studies import engine_for, open_study
from vibrid.studies.kept import SET_ASIDE


def same(folder: Path, reference: Path) -> bool:
    """Whether two datasets hold the same bits."""
    first, second = open_study(folder), open_study(reference)
    return set(first.variables) == set(second.variables) and all(
        np.array_equal(first[name].values, second[name].values, equal_nan=first[name].dtype.kind == "f")
        for name in first.variables
    )


def killed(what: str, kills: int, equal: bool, note: str) -> list[dict]:
    return [
        {
            "what": f"kill −9 of {what} at random moments; the finished dataset against an undisturbed one",
            "measured": f"{kills} kills, {'equal bit for bit' if equal else 'DIFFERENT'}",
            "target": "20 kills, equal",
            "met": kills >= 20 and equal,
            "note": note,
        }
    ]


def undisturbed() -> tuple[Path, float]:
    """The folder of a study that nobody disturbs, and how long its batches took once it was compiled."""
    folder, moments = Path(tempfile.mkdtemp()), []
    for name in ("warm", "whole"):
        small_ida().run(folder / name, progress=Begins(lambda: moments.append(time.perf_counter())))
    return folder / "whole", time.perf_counter() - moments[-1]


def run_and_tell(folder: str) -> None:
    """What a process that will be killed does: a line when its first batch is written."""
    small_ida().run(folder, progress=Begins(lambda: print("begun", flush=True)))


RUN = "import sys; sys.path.insert(0, sys.argv[2]); import study_kills; study_kills.run_and_tell(sys.argv[1])"


def coordinator(kills: int) -> list[dict]:
    """Processes are killed while they compute and write; a study that finishes is begun anew."""
    (whole, span), random_ = undisturbed(), random.Random(1)
    done, finished, equal = 0, 0, True
    folder = Path(tempfile.mkdtemp()) / "killed"
    while done < kills or not finished:
        command = [sys.executable, "-c", RUN, str(folder), str(FOLDER)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        process.stdout.readline()
        if done < kills:
            time.sleep(random_.uniform(0.0, span))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                done += 1
        if process.wait() == 0:
            finished, equal = finished + 1, equal and same(folder, whole)
            shutil.rmtree(folder)
    return killed("the process that runs a study", done, equal, f"2560 runs; {finished} studies were finished")


def worker(kills: int) -> list[dict]:
    """Two worker processes, one of which is killed every few seconds."""
    import psutil

    (whole, _), random_, done, equal, finished = undisturbed(), random.Random(2), 0, True, 0
    stop, computing = threading.Event(), threading.Event()

    def kill() -> None:
        nonlocal done
        while not stop.wait(random_.uniform(0.5, 4.0)) and done < kills:
            computing.wait()
            workers = [p for p in psutil.Process().children(recursive=True) if "spawn_main" in " ".join(p.cmdline())]
            if workers:
                random_.choice(workers).kill()
                done += 1

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    while done < kills or not finished:
        folder = Path(tempfile.mkdtemp()) / "study"
        waiting = True
        while waiting:  # more than once where a batch whose workers were killed twice was set aside
            data = small_ida().run(folder, engine_for("processes", 2), Begins(computing.set))
            computing.clear()
            waiting = bool((data.outcome.values == SET_ASIDE).any())
        finished, equal = finished + 1, equal and same(folder, whole)
    stop.set()
    return killed("a worker", done, equal, f"two workers; {finished} studies of 2560 runs were finished")


def scheduler(kills: int) -> list[dict]:
    """A scheduler and a worker in processes of their own; the scheduler is killed, and both are started again."""
    (whole, span), random_, done, equal, finished, lost = undisturbed(), random.Random(3), 0, True, 0, 0
    folder = Path(tempfile.mkdtemp()) / "study"
    while done < kills or not finished:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        head = started("dask_scheduler", "--host", "127.0.0.1", "--port", port)
        arm = started("dask_worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1")
        timer = threading.Timer(random_.uniform(0.0, span), head.kill) if done < kills else None
        try:
            begin = Begins(lambda timer=timer: timer and timer.start())
            small_ida().run(folder, engine_for(f"tcp://127.0.0.1:{port}"), begin)
        except vb.VibridError:
            lost += 1
        else:
            finished, equal = finished + 1, equal and same(folder, whole)
            shutil.rmtree(folder)
        if timer is not None:
            timer.cancel()
        done += head.poll() is not None
        for process in (head, arm):
            process.kill()
            process.wait()
    note = f"{lost} runs ended with a sentence and were gone on with; {finished} studies of 2560 runs were finished"
    return killed("a scheduler", done, equal, note)


def started(module: str, *arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments, "--no-dashboard"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
