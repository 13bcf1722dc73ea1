"""Studies: `python benchmarks/studies.py` times 880 runs, kills processes at random moments, and weighs a million runs.

Parts by name: `python benchmarks/studies.py speed memory coordinator worker scheduler`. The structure and all motions
are synthetic, so that anyone can repeat it. Results go to `benchmarks/results/`, the table to `benchmarks/README.md`.
"""

import argparse
import json
import os
import platform
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
from table import FOLDER, save

import vibrid as vb
from vibrid.core.device import accelerated
from vibrid.core.progress import Progress
from vibrid.studies import Collapse, engine_for, open_study

LEVELS = np.linspace(2.0, 40.0, 20)


def building() -> vb.ShearBuilding:
    """Three storeys of 20 t, 0.45 s."""
    storeys = [vb.BoucWen(stiffness=20e6, beta=60.0, gamma=60.0, post_yield_ratio=0.02)] * 3
    return vb.ShearBuilding(masses=[20e3] * 3, storeys=storeys, damping=vb.Viscous(80e3))


def ida(motions: int = 44, duration: float = 40.0, rate: float = 200.0):
    """44 motions × 20 levels."""
    suite = [vb.synthetic_motion(key=i, duration=duration, rate=rate, name=f"motion {i}") for i in range(motions)]
    return vb.study(building(), suite, levels=LEVELS, collapse=Collapse(drift=0.12))


def small_ida():
    """The same with 128 motions of 15 s: 2560 runs in forty batches."""
    return ida(128, 15.0, 100.0)


class Begins(Progress):
    """Calls a function when the first batch of a process is written: it is compiled then, and kills meet real work."""

    def __init__(self, begun):
        self.begun, self.called = begun, False

    def update(self, done, note=""):
        if not self.called:
            self.called = True
            self.begun()


def speed() -> list[dict]:
    study, folder = ida(), Path(tempfile.mkdtemp())
    study.run(folder / "warm")
    seconds = []
    for repeat in range(3):
        begun = time.perf_counter()
        data = study.run(folder / f"{repeat}")
        seconds.append(time.perf_counter() - begun)
    collapsed = int((data.outcome == 2).sum())
    shutil.rmtree(folder)
    return [
        {
            "what": "44 motions × 20 levels of a three-storey Bouc–Wen building, 40 s at 200 Hz, after compilation",
            "measured": f"{min(seconds):.1f} s",
            "target": "≤ 30 s on two cores",
            "met": min(seconds) <= 30,
            "note": f"880 runs, {collapsed} collapsed; the dataset written to disk; smallest of three",
            "details": {"seconds": seconds, "load": os.getloadavg()},
        }
    ]


def accelerator() -> list[dict]:
    """As `speed`, with 2000 levels of 50 motions, in memory; for a machine with a GPU."""
    suite = [vb.synthetic_motion(key=i, duration=40.0, rate=200.0, name=f"motion {i}") for i in range(50)]
    study = vb.study(building(), suite, levels=np.linspace(2.0, 40.0, 2000), collapse=Collapse(drift=0.12))
    seconds = []
    for _ in range(2):
        begun = time.perf_counter()
        data = study.run()
        seconds.append(time.perf_counter() - begun)
    collapsed = int((data.outcome == 2).sum())
    return [
        {
            "what": "50 motions × 2000 levels of the same building on one GPU, after compilation",
            "measured": f"{seconds[-1]:.1f} s",
            "target": "≤ 60 s",
            "met": seconds[-1] <= 60,
            "note": f"100 000 runs, {collapsed} collapsed; the dataset in memory; the first took {seconds[0]:.1f} s",
            "details": {"seconds": seconds},
        }
    ]


MILLION = """
import resource, sys, time
import numpy as np, vibrid as vb
t = 0.02 * np.arange(20)
motion = vb.Record(np.sin(9 * t), [vb.Channel("ground", "ground_acceleration")], step=0.02, name="short")
building = vb.ShearBuilding([1.0], [vb.BoucWen(40.0, 3.0, 2.0)], damping=vb.Viscous(0.5))
begun = time.perf_counter()
vary = {"storeys[0].stiffness": np.linspace(30.0, 50.0, 1000)}
data = vb.study(building, motion, vary=vary, scales=np.linspace(0.1, 2.0, 1000)).run(sys.argv[1])
assert int((data.outcome == 1).sum()) == 1_000_000
print(time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def memory() -> list[dict]:
    folder = tempfile.mkdtemp()
    done = subprocess.run([sys.executable, "-c", MILLION, folder], capture_output=True, text=True, check=True)
    seconds, gib = map(float, done.stdout.split())
    shutil.rmtree(folder)
    return [
        {
            "what": "a million runs of one storey: largest memory of the process that computes and writes them",
            "measured": f"{gib:.2f} GiB",
            "target": "≤ 2 GiB",
            "met": gib <= 2,
            "note": "20 samples each; JAX and the compiler included",
            "details": {"seconds": seconds},
        }
    ]


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


RUN = "import sys; sys.path.insert(0, sys.argv[2]); import studies; studies.run_and_tell(sys.argv[1])"


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
            waiting = bool((data.outcome.values == 6).any())
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


PARTS = {
    "speed": speed,
    "accelerator": accelerator,
    "memory": memory,
    "coordinator": coordinator,
    "worker": worker,
    "scheduler": scheduler,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--machine", default=f"{os.cpu_count()} cores, {platform.machine()}")
    given = parser.parse_args()
    path = FOLDER / "results" / "studies.json"
    rows = {row["part"]: row for row in json.loads(path.read_text())["rows"]} if path.exists() else {}
    for name in given.parts or [name for name in PARTS if name != "accelerator" or accelerated()]:
        made = PARTS[name](given.kills) if name in ("coordinator", "worker", "scheduler") else PARTS[name]()
        rows[name] = {"part": name, **made[0]}
    ordered = [rows[name] for name in PARTS if name in rows]
    save("studies", "Studies", "python benchmarks/studies.py", given.machine, ordered)


if __name__ == "__main__":
    main()
