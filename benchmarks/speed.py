"""Speed of simulations and Jacobians: machine code, XLA, numba by hand and OpenSees, interleaved in one process.

    python benchmarks/speed.py                     # all parts; some ten minutes
    python benchmarks/speed.py --part loops        # or jacobians, fit, before, filters, others, starts, curves
    python benchmarks/speed.py --smoke             # every part that can run here, once; nothing is kept
    git worktree add ../before b1090b4 && VIBRID_BEFORE=../before python benchmarks/speed.py --part before

Whole calls of `simulate`, as a user makes them. Times are of the processor (`time.process_time`, of child processes by
`getrusage`), so that a busy machine disturbs them less; every time is the smallest of several, taken in turns. Cold
times are those of new processes with an empty cache, and with the cache that they left; the answer is on the screen
when the first line of the result is, before periods and drifts with their ± are computed. Parts that ran before are
kept in `results/speed.json`; curves are in `results/speed.svg`. A part whose libraries are missing (numba, llvmlite,
typer) says so and is left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import speed_others
from peers import load_opensees, opensees_bouc_wen
from table import FOLDER, save

import vibrid as vb
from vibrid.core import native
from vibrid.core.native import compiled
from vibrid.identification.levenberg import readings_and_slopes
from vibrid.identification.problem import make_problem
from vibrid.papers.pages import machine

STEP = 0.001
INTEGRATORS = {"Runge–Kutta 4": vb.RungeKutta4(), "Newmark": vb.Newmark()}
RATIO, JACOBIAN = 1.5, 10.0
_WHY_NOT = compiled.why_not


def motion(span: float) -> vb.Record:
    rng, t = np.random.default_rng(0), np.arange(round(span / STEP) + 1) * STEP
    frequencies, phases = np.linspace(0.2, 5, 20), rng.uniform(0, 6.28, 20)
    waves = np.sin(2 * np.pi * np.outer(t, frequencies) + phases).sum(axis=1)
    values = 0.8 * waves * np.exp(-(((t - span / 3) / (span / 5)) ** 2))
    return vb.Record(values, [vb.Channel("ground", "ground_acceleration")], step=STEP, name="benchmark motion")


def building(storeys: int) -> vb.ShearBuilding:
    law = vb.BoucWen(stiffness=40.0, beta=1.0, gamma=1.0, exponent=1.0)
    return vb.ShearBuilding(masses=np.ones(storeys), storeys=[law] * storeys, damping=vb.Viscous(1.5))


def by_xla(job):
    """The same job without machine code."""

    def run():
        compiled.why_not = lambda: "switched off"
        try:
            return job()
        finally:
            compiled.why_not = _WHY_NOT

    return run


def in_turns(jobs: dict, repeats: int) -> dict[str, float]:
    """s of the processor, the least of each; what is made before the first is not counted."""
    for job in jobs.values():
        job()
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            start = time.process_time()
            job()
            times[name].append(time.process_time() - start)
    return {name: min(own) for name, own in times.items()}


def by_hand(name: str, storeys: int, ground: np.ndarray):
    import speed_peers

    one = np.ones(storeys)
    if name == "Newmark":
        drift = np.eye(storeys) - np.eye(storeys, k=-1)
        small = np.eye(storeys) + drift.T @ ((0.5 * STEP * 1.5 + 0.25 * STEP**2 * 40.0) * drift)
        inverse = np.linalg.inv(small)
        return lambda: speed_peers.newmark(one, 40.0 * one, one, one, 1.5, inverse, ground, STEP, 1e-11)
    return lambda: speed_peers.runge_kutta(one, 40.0 * one, one, one, 1.5, ground, STEP)


def opensees(storeys: int, ground: np.ndarray, repeats: int) -> float | None:
    """s of the processor for the same chain by OpenSees: Newmark, or one linear solve a step; the quicker of both."""
    ops = load_opensees()
    if ops is None:
        return None
    took = []
    for _ in range(repeats):
        for explicit in (False, True):
            one = [1.0] * storeys
            analyse = opensees_bouc_wen(ops, one, [40.0] * storeys, (1.0, 1.0, 1.0), 1.5, ground, STEP, explicit)
            start = time.process_time()
            assert analyse() == 0
            took.append(time.process_time() - start)
    return min(took)


def loops(repeats: int) -> list[dict]:
    rows = []
    for storeys, span in ((1, 40.0), (10, 40.0), (100, 10.0)):
        record = motion(span)
        ground = record.data[:, 0].copy()
        peer = opensees(storeys, ground, 2)
        for name, integrator in INTEGRATORS.items():
            structure, hand = building(storeys), by_hand(name, storeys, ground)
            ours = lambda s=structure, i=integrator, r=record: vb.simulate(s, r, integrator=i)  # noqa: E731
            seconds = in_turns({"vibrid": ours, "numba": hand, "XLA": by_xla(ours)}, repeats)
            error = np.abs(ours().displacement - hand()[0]).max() / np.abs(hand()[0]).max()
            if peer is not None:
                seconds["OpenSees"] = peer
            micro = {key: 1e6 * own / (len(record) - 1) for key, own in seconds.items()}
            ratio = seconds["vibrid"] / seconds["numba"]
            others = "; ".join(f"{key} {micro[key]:.2f}" for key in ("XLA", "OpenSees") if key in micro)
            rows.append({
                "what": f"{storeys} Bouc–Wen storeys, {name}, µs a step of a whole call",
                "measured": f"{micro['vibrid']:.2f} ({ratio:.2f} × numba {micro['numba']:.2f}; {others})",
                "target": f"≤ {RATIO} × numba",
                "met": bool(ratio <= RATIO),
                "note": f"differs from numba by {error:.0e} of the largest",
                "details": micro,
            })  # fmt: skip
            print(rows[-1]["what"], rows[-1]["measured"], flush=True)
    return rows


def jacobians(repeats: int) -> list[dict]:
    rows, record = [], motion(20.0)
    for name, integrator in INTEGRATORS.items():
        structure = building(10)
        data = vb.simulate(structure, record, integrator=integrator)
        data = data.measure(vb.Sensors(acceleration=range(10)), noise=0.01)
        problem = make_problem(structure, data, ["storeys[*].stiffness"], integrator=integrator)
        free = jnp.asarray(problem.start) + 0.01
        ours = lambda p=problem, q=free: jax.block_until_ready(readings_and_slopes(p, q))  # noqa: E731
        seconds = in_turns({"vibrid": ours, "XLA": by_xla(ours)}, repeats)
        here, there = ours()[1][0], by_xla(ours)()[1][0]
        error = float(jnp.abs(here - there).max() / jnp.abs(there).max())
        micro = {key: 1e6 * own / (len(record) - 1) for key, own in seconds.items()}
        gain = seconds["XLA"] / seconds["vibrid"]
        rows.append({
            "what": f"Jacobian of 10 unknowns, 10 Bouc–Wen storeys, {name}, µs a step",
            "measured": f"{micro['vibrid']:.2f} (XLA {micro['XLA']:.1f}: {gain:.1f} ×)",
            "target": f"≥ {JACOBIAN:.0f} × XLA",
            "met": bool(gain >= JACOBIAN),
            "note": f"differs by {error:.0e}",
            "details": micro,
        })  # fmt: skip
        print(rows[-1]["what"], rows[-1]["measured"], flush=True)
    return rows


def fit(repeats: int) -> list[dict]:
    """The default fit of the README's example, warm, without the checks of the result."""
    structure = vb.ShearBuilding(
        masses=[20e3] * 3, storeys=[vb.BoucWen(stiffness=20e6, beta=60.0, gamma=60.0)] * 3, damping=vb.Viscous(80e3)
    )
    quake = vb.synthetic_motion(key=4, duration=20.0, rate=100.0, pga=4.0)
    truth = vb.simulate(structure.replace({"storeys[0].stiffness": 26e6}), quake, substeps=4)
    data = truth.measure(vb.Sensors(absolute_acceleration=[0, 1, 2]), noise=0.05, key=1)
    ours = lambda: vb.identify(structure, data, unknown=["storeys[*].stiffness"], checks="none")  # noqa: E731
    seconds = in_turns({"vibrid": ours, "XLA": by_xla(ours)}, repeats)
    gain = seconds["XLA"] / seconds["vibrid"]
    row = {
        "what": "default fit of the README's example, warm, s",
        "measured": f"{seconds['vibrid']:.3f} (XLA {seconds['XLA']:.3f}: {gain:.1f} ×)",
        "target": "≥ 3 × XLA", "met": bool(gain >= 3.0),
        "note": "without the checks of the result; whole exponents are multiplied out in both",
        "details": seconds,
    }  # fmt: skip
    print(row["what"], row["measured"], flush=True)
    return [row]


def before(repeats: int) -> list[dict]:
    """This state and an older one (its folder is told by VIBRID_BEFORE), by processes in turns."""
    old = os.environ.get("VIBRID_BEFORE")
    if not old:
        print("part before left out: VIBRID_BEFORE names no folder with older sources", flush=True)
        return []
    times: dict[str, list[dict[str, float]]] = {"here": [], "before": []}
    script = str(FOLDER / "speed_before.py")
    for _ in range(max(repeats // 2, 1)):
        for name, folder in (("before", old), ("here", str(FOLDER.parent))):
            own = os.environ | {"PYTHONPATH": str(Path(folder) / "src")}
            ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, env=own)
            if ran.returncode:
                raise SystemExit(ran.stderr)
            times[name].append(json.loads(ran.stdout.splitlines()[-1]))
    rows = []
    for what in times["here"][0]:
        here, there = (min(own[what] for own in times[name]) for name in ("here", "before"))
        target = 3.0 if what == "fit" else JACOBIAN if "Jacobian" in what else None
        unit = "s" if what == "fit" else "µs a step"
        rows.append({
            "what": f"{'default fit of the first page, warm' if what == 'fit' else f'ten storeys: {what}'}, {unit}",
            "measured": f"{here:.3g} (commit b1090b4 {there:.3g}: {there / here:.1f} ×)",
            "target": "" if target is None else f"≥ {target:.0f} ×",
            "met": None if target is None else bool(there >= target * here), "note": "",
            "details": {"here": here, "before": there},
        })  # fmt: skip
        print(rows[-1]["what"], rows[-1]["measured"], flush=True)
    return rows


def process(command: list[str], **settings) -> tuple[float, float, float]:
    """s of the processor, and by the clock, of a new process and what it starts; and of the processor until its first
    line of output (NaN where the system does not tell)."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        ran = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True, **settings)
        ran.stdout.readline()
        first = processor_of(ran.pid)
        ran.communicate()
        clock, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        if ran.returncode:
            said.seek(0)
            raise SystemExit(said.read())
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock, first


def processor_of(process_id: int) -> float:
    """s of the processor that a running process has taken, as Linux tells it."""
    place = Path(f"/proc/{process_id}/stat")
    if not place.exists():
        return float("nan")
    fields = place.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def starts(repeats: int) -> list[dict]:
    """Imports, and the answer of `vibrid identify` on the files that `vibrid demo` writes."""
    times: dict[str, list[tuple[float, float, float]]] = {}
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    with tempfile.TemporaryDirectory() as folder:
        ours = [sys.executable, "-m", "vibrid"]
        fit = [*ours, "identify", "demo.toml", "measured.csv", "--checks", "none"]
        process([*ours, "demo", "--out", folder])
        for number in range(repeats):
            own = {"env": os.environ | {"VIBRID_CACHE": str(Path(folder) / f"cache{number}")}, "cwd": folder}
            for name, command in (
                ("`import vibrid`", [sys.executable, "-c", "import vibrid"]),
                ("`vibrid --help`", [*ours, "--help"]),
                ("`vibrid identify` on a kind of problem that is new", fit),
                ("`vibrid identify` on one seen before", fit),
            ):
                times.setdefault(name, []).append(process(command, **own))
    rows = []
    for (name, own), limit in zip(times.items(), (0.3, 0.4, 8.0, 3.0), strict=True):
        least, clock = min(own)[0], min(clock for _, clock, _ in own)
        first = min(first for *_, first in own)
        answered = f"; the answer is printed after {first:.2f}, without the checks of the result"
        rows.append({
            "what": f"{name}, s", "measured": f"{least:.2f}", "target": f"≤ {limit:g}", "met": bool(least <= limit),
            "note": f"{clock:.2f} by the clock" + (answered if "identify" in name else ""),
            "details": {"processor_clock_and_first_line": own},
        })  # fmt: skip
        print(rows[-1]["what"], rows[-1]["measured"], rows[-1]["note"], flush=True)
    return rows


def once(kind: str, count: int) -> dict:
    """One point of a curve, in this process."""
    span = count * STEP if kind == "steps" else 10.0
    record, structure = motion(span), building({"steps": 3, "storeys": count}.get(kind, 10))
    ours = lambda: vb.simulate(structure, record)  # noqa: E731
    if kind == "unknowns":
        data = ours().measure(vb.Sensors(acceleration=range(10)), noise=0.01)
        names = [
            f"storeys[{i}].{part}" for part in ("stiffness", "beta", "gamma", "post_yield_ratio") for i in range(10)
        ]
        names += [f"masses[{i}]" for i in range(10)]
        problem = make_problem(structure, data, names[:count])
        free = jnp.asarray(problem.start) + 0.01
        ours = lambda: jax.block_until_ready(readings_and_slopes(problem, free))  # noqa: E731
    seconds = in_turns({"vibrid": ours}, 3)["vibrid"]
    steps = len(record) - 1
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"step_us": 1e6 * seconds / steps, "memory_gib": memory}


CURVES = {
    "storeys": (1, 3, 10, 30, 100, 200),
    "steps": (1000, 10_000, 100_000, 1_000_000),
    "unknowns": (1, 5, 10, 20, 50),
}


def curves(repeats: int) -> list[dict]:
    """Cost against size; with one repeat only the smallest sizes, and nothing is drawn."""
    rows = []
    for kind, counts in CURVES.items():
        found = {}
        for count in counts if repeats > 1 else counts[:2]:
            command = [sys.executable, __file__, "--once", kind, str(count)]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            if ran.returncode:
                raise SystemExit(ran.stderr)
            found[count] = json.loads(ran.stdout.splitlines()[-1])
            print(kind, count, found[count], flush=True)
        what = {"storeys": "Bouc–Wen storeys, a step", "steps": "three storeys, a step of so many",
                "unknowns": "Jacobian of ten storeys, a step, so many unknowns"}[kind]  # fmt: skip
        rows.append({
            "what": f"{what}, µs: " + ", ".join(map(str, found)),
            "measured": ", ".join(f"{own['step_us']:.2f}" for own in found.values()), "target": "", "met": None,
            "note": "memory " + ", ".join(f"{own['memory_gib']:.2f}" for own in found.values()) + " GiB",
            "details": {str(count): own for count, own in found.items()},
        })  # fmt: skip
    if repeats > 1:
        draw(dict(zip(CURVES, rows, strict=True)))
    return rows


def draw(rows: dict[str, dict]) -> None:
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "vibrid", "svg.fonttype": "none"})
    figure, axes = plt.subplots(2, 3, figsize=(9, 5), sharex="col", constrained_layout=True)
    for column, (kind, row) in zip(axes.T, rows.items(), strict=True):
        for ax, part, label in zip(column, ("step_us", "memory_gib"), ("µs a step", "GiB"), strict=True):
            ax.loglog([int(n) for n in row["details"]], [own[part] for own in row["details"].values()], "o-")
            ax.set(ylabel=label)
            ax.grid(visible=True, alpha=0.3)
            ax.minorticks_off()
        column[1].set(xlabel=kind)
    figure.savefig(FOLDER / "results" / "speed.svg", metadata={"Date": None})


PARTS = {
    "loops": loops,
    "jacobians": jacobians,
    "fit": fit,
    "before": before,
    "filters": lambda repeats: speed_others.filters(repeats, in_turns, by_xla),
    "others": speed_others.others,
    "starts": starts,
    "curves": curves,
}

NEEDS = {"loops": ("numba", "llvmlite"), "starts": ("typer",), "curves": ("matplotlib",)}
NEEDS |= dict.fromkeys(("jacobians", "fit", "before", "filters", "others"), ("llvmlite",))


def can_run(part: str) -> bool:
    """Whether the libraries of a part are here; it says which are not."""
    missing = [name for name in NEEDS[part] if importlib.util.find_spec(name) is None]
    if not missing and "llvmlite" in NEEDS[part] and native.why_not():
        missing = [f"machine code ({native.why_not()})"]
    if missing:
        print(f"part {part} left out: it needs {' and '.join(missing)}", flush=True)
    return not missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--once", nargs=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--machine", default=machine())
    parser.add_argument("--smoke", action="store_true", help="every part once, nothing is kept")
    chosen = parser.parse_args()
    if chosen.once:
        print(json.dumps(once(chosen.once[0], int(chosen.once[1]))))
        return
    if chosen.smoke:
        chosen.repeats = 1
    kept = FOLDER / "results" / "speed.json"
    before = json.loads(kept.read_text())["rows"] if kept.exists() else []
    rows: list[dict] = []
    for name, part in PARTS.items():
        if (chosen.part is None or name in chosen.part) and can_run(name):
            rows += [row | {"part": name} for row in part(chosen.repeats)]
        else:
            rows += [row for row in before if row["part"] == name]
    if not chosen.smoke:
        save("speed", "Speed: processor time", "python benchmarks/speed.py", chosen.machine, rows)


if __name__ == "__main__":
    main()
