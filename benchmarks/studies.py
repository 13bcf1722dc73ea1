"""Studies: `python benchmarks/studies.py` times 880 runs, kills processes at random moments, and weighs a million runs.

Parts by name: `python benchmarks/studies.py speed opensees workers scheduling memory coordinator worker scheduler`. The
structure and all motions are synthetic, so that anyone can repeat it. Results go to `benchmarks/results/`, the table to
`benchmarks/README.md`.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from peers import load_opensees, opensees_bouc_wen
from study_cases import LEVELS, Moments, building, ida
from study_kills import coordinator, scheduler, worker
from table import FOLDER, save

import vibrid as vb
from vibrid.core.device import accelerated
from vibrid.project import load_project
from vibrid.studies import Collapse, StoreyDrift, engine_for, running
from vibrid.studies.program import StudyProgram


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


def opensees(runs: int | None = None) -> list[dict]:
    """The same building, motions and levels by OpenSeesPy in two processes, each of which analyses every second run in
    one call and keeps nothing; by its quicker integrator. Compared with `speed`, side by side on the same machine."""
    what = "the same 880 runs by OpenSeesPy in two processes, over the study: processor time"
    row = {"what": what, "target": "≥ 20×, ≥ 50× [A]", "met": None, "note": ""}
    if load_opensees() is None:
        return [row | {"measured": "OpenSeesPy cannot be imported here"}]
    command = [sys.executable, __file__, "--analyse"]
    halves = [subprocess.Popen([*command, f"{half}", f"{runs or 880}"], stdout=subprocess.PIPE) for half in (0, 1)]
    told = [json.loads(half.communicate()[0].splitlines()[-1]) for half in halves]
    assert all(half.returncode == 0 for half in halves)
    share = 880 / (runs or 880)
    theirs, theirs_busy = max(h["seconds"] for h in told) * share, sum(h["busy"] for h in told) * share
    study = ida()
    study.run()
    begun, busy = time.perf_counter(), time.process_time()
    data = study.run()
    ours, ours_busy = time.perf_counter() - begun, time.process_time() - busy
    last = data.residual_storey_drift.sum("storey").values.reshape(-1)  # of the roof
    stands = data.outcome.values.reshape(-1) == 1
    roofs = {int(run): roof for half in told for run, roof in half["roofs"].items()}
    apart = max(abs(roof - last[run]) for run, roof in roofs.items() if stands[run])
    failed = sum(half["failed"] for half in told)
    note = f"OpenSees {theirs_busy:.0f} s of the processor ({told[0]['integrator']}), the study {ours_busy:.1f} s; by "
    note += f"the clock {theirs:.0f} and {ours:.1f} s, {theirs / ours:.0f}×, at a load of {os.getloadavg()[0]:.0f}; "
    note += f"the roof at the end differs by at most {1e3 * apart:.2g} mm in {sum(stands[run] for run in roofs)} runs "
    note += f"that stand; {failed} analyses failed"
    ratio = theirs_busy / ours_busy
    return [row | {"measured": f"{ratio:.0f}×", "met": ratio >= 20, "note": note}]


def analyse(half: int, runs: int) -> None:
    """What one of two processes does: every second run of the study, by OpenSeesPy."""
    ops, study = load_opensees(), ida()
    factors = study.factors()
    law = (1.0, 60.0, 60.0)  # n, γ, β
    record = study.program.motions[0].record

    def prepared(run: int, explicit: bool):
        motion, level = divmod(run, len(LEVELS))
        ground = factors[motion, level] * study.program.motions[motion].record.data[:, 0]
        return opensees_bouc_wen(ops, [20e3] * 3, [20e6] * 3, law, 80e3, ground, record.step, explicit, 0.02)

    took = {}
    for explicit in (False, True):
        go = prepared(0, explicit)
        begun = time.perf_counter()
        if go() == 0:
            took[explicit] = time.perf_counter() - begun
    explicit = min(took, key=lambda kind: took[kind])
    roofs, failed, begun, busy = {}, 0, time.perf_counter(), time.process_time()
    for run in range(half, runs, 2):
        failed += prepared(run, explicit)() != 0
        roofs[run] = ops.nodeDisp(3, 1)
    seconds, busy = time.perf_counter() - begun, time.process_time() - busy
    name = "KR-α" if explicit else "Newmark with Newton"
    print(json.dumps({"seconds": seconds, "busy": busy, "integrator": name, "failed": failed, "roofs": roofs}))


def fibre_frame(motions: int, levels: int, duration: float):
    """The frame of examples/fiber-frame.toml under synthetic motions."""
    project = load_project(FOLDER.parent / "examples" / "fiber-frame.toml")
    suite = [vb.synthetic_motion(key=i, duration=duration, rate=1024.0, name=f"motion {i}") for i in range(motions)]
    storeys = [StoreyDrift("3.x", None, 2.286), StoreyDrift("6.x", "3.x", 1.9812)]
    return vb.study(
        project.structure, suite, scales=np.linspace(0.1, 1.5, levels), storeys=storeys, sensors=project.sensors,
        collapse=Collapse(ratio=0.05), **project.simulation.arguments,
    )  # fmt: skip


def workers(motions: int = 17, levels: int = 64, duration: float = 2.0) -> list[dict]:
    """Batches a second of the fibre frame by two worker processes over those by one, after the first batch."""
    seconds = {}
    for count in (1, 2):
        moments = Moments()
        fibre_frame(motions, levels, duration).run(engine=engine_for("processes", count), progress=moments)
        seconds[count] = moments.between()
    ratio = seconds[1] / seconds[2]
    return [
        {
            "what": f"{motions} motions × {levels} scales of the fibre frame: two worker processes against one",
            "measured": f"{ratio:.2f}×",
            "target": "≥ 1.8× on two free cores",
            "met": ratio >= 1.8,
            "note": f"{seconds[1]:.1f} and {seconds[2]:.1f} s after the first batch; one thread each",
            "details": {"seconds": list(seconds.values()), "load": os.getloadavg()},
        }
    ]


@dataclasses.dataclass(frozen=True, eq=False)
class Sleeps(StudyProgram):
    """A program whose batches take one second and give the numbers of their shape."""

    seconds: float = 1.0

    def compute(self, batch):
        time.sleep(self.seconds)
        peaks, drifts = np.zeros((batch.size, len(self.sensors))), np.zeros((batch.size, len(self.drifts)))
        ended = {"outcome": np.ones(batch.size, np.int8), "ended_at": np.full(batch.size, np.nan)}
        return ended | {"peaks": peaks, "last": peaks, "drift_peaks": drifts, "drift_last": drifts}


def scheduling(batches: int = 61) -> list[dict]:
    """Batches that sleep a second, on two processes: the time from the first to the last that is written, beyond that
    of sleeping."""
    study = ida(batches, 1.0, 100.0)
    study = dataclasses.replace(study, scales=LEVELS[:1])
    fields = {f.name: getattr(study.program, f.name) for f in dataclasses.fields(StudyProgram)}
    study = dataclasses.replace(study, program=Sleeps(**fields))
    moments, folder = Moments(), Path(tempfile.mkdtemp())
    with one_run_a_batch():
        study.run(folder / "study", engine_for("processes", 2), moments)
    seconds, closing = moments.between(), time.perf_counter() - moments.at[-1]
    shutil.rmtree(folder)
    ideal = batches // 2  # of an odd number of batches all but the first, on two workers
    cost = seconds / ideal - 1
    return [
        {
            "what": f"scheduling: {batches - 1} batches of one second on two processes",
            "measured": f"{100 * cost:.1f} %",
            "target": "≤ 5 %",
            "met": cost <= 0.05,
            "note": f"{seconds:.2f} s instead of {ideal} s, the dataset written to disk; then {closing:.1f} s to close",
            "details": {"seconds": seconds, "load": os.getloadavg()},
        }
    ]


@contextlib.contextmanager
def one_run_a_batch():
    """Every batch has one run."""
    before, running.batch_width = running.batch_width, lambda *_: 1
    try:
        yield
    finally:
        running.batch_width = before


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


PARTS = {
    "speed": speed,
    "opensees": opensees,
    "workers": workers,
    "scheduling": scheduling,
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
    parser.add_argument("--analyse", nargs=2, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.analyse:
        analyse(*given.analyse)
        return
    path = FOLDER / "results" / "studies.json"
    kept = json.loads(path.read_text()) if path.exists() else {"rows": []}
    rows = {row["part"]: {"machine": kept["machine"]} | row for row in kept["rows"]}
    for name in given.parts or [name for name in PARTS if name != "accelerator" or accelerated()]:
        made = PARTS[name](given.kills) if name in ("coordinator", "worker", "scheduler") else PARTS[name]()
        rows[name] = {"part": name, "machine": given.machine, **made[0]}
    ordered = [rows[name] for name in PARTS if name in rows]
    save("studies", "Studies", "python benchmarks/studies.py", given.machine, ordered)


if __name__ == "__main__":
    main()
