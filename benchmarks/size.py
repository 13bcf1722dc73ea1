"""Processor time of a step over the size of a structure: chains, large linear structures, a frame with many hinges.

    python benchmarks/size.py                      # all parts
    python benchmarks/size.py --part storeys       # or linear, sparse, implicit, frame, fit, unknowns, memory

`frame` has 2000 degrees of freedom and 200 bilinear hinges; OpenSees moves the same frame beside it, where it is
installed, by the same method. `fit` finds the moduli of its 20 storeys from 16 accelerometers, in modes. `implicit`
takes Newmark's steps of yielding chains with full matrices and in their band. `unknowns` fits 20 groups of storeys and
200 storeys of a chain, with a prior, from 16 accelerometers; `memory` computes gradient and Jacobian of these 200
unknowns for records of several lengths.

Times are of the processor (`time.process_time`), the smallest of several whole calls divided by the samples, so that a
busy machine disturbs them less; a first call is that of a new process with an empty cache. Every size runs in a
process of its own. The parts that ran before are kept in `results/size.json`; curves are in `results/size.svg`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
from frame_with_hinges import FrameWithHinges
from peers import load_opensees
from size_rows import rows_of, rows_of_parts, rows_of_steps
from table import FOLDER, save

import vibrid as vb
from vibrid.identification.adjoint import cost_and_gradient
from vibrid.identification.levenberg import linearised
from vibrid.identification.problem import make_problem
from vibrid.papers.pages import machine
from vibrid.simulation.choose_parts import bulk_of, run_bulk
from vibrid.simulation.excitation import drive
from vibrid.simulation.in_modes import modal_motion
from vibrid.simulation.modal_response import ModalResponse
from vibrid.structures.bulk_with_parts import BulkWithParts

STEP, SAMPLES = 0.005, 8000
STOREYS, FULL, SPARSE = (5, 20, 50, 100, 200, 500), (200, 800, 2000), (20_000,)
UNKNOWNS, MOVED = (20, 200), 1000
YIELDING, LENGTHS = (50, 200, 500, 2000), (2000, 4000)
MODES = 100  # of the linear part of the frame, for its fit
REPEATS = 4
SIZES = {
    "storeys": STOREYS, "linear": FULL, "sparse": SPARSE, "implicit": YIELDING, "frame": (2000,), "fit": (2000,),
    "unknowns": UNKNOWNS, "memory": LENGTHS,
}  # fmt: skip


def motion(samples: int, strength: float = 0.3) -> vb.Record:
    """Ground acceleration between 0.3 and 8 Hz that begins and ends at rest."""
    rng, t = np.random.default_rng(0), np.arange(samples) * STEP
    frequencies, phases = np.linspace(0.3, 8.0, 40), rng.uniform(0, 6.28, 40)
    waves = np.sin(2 * np.pi * np.outer(t, frequencies) + phases).sum(axis=1)
    values = strength * waves * np.sin(np.pi * t / t[-1]) ** 2
    return vb.Record(values, [vb.Channel("ground", "ground_acceleration")], step=STEP, name="benchmark motion")


def storeys(count: int) -> vb.ShearBuilding:
    laws = [vb.BoucWen(1e6 * (1 + 0.001 * i), 50.0, 50.0, post_yield_ratio=0.1) for i in range(count)]
    return vb.ShearBuilding(masses=np.full(count, 1e3), storeys=laws, damping=vb.Viscous(2e3))


def full(count: int) -> vb.Matrices:
    stiffness = 2e6 * (2 * np.eye(count) - np.eye(count, k=1) - np.eye(count, k=-1))
    return vb.Matrices(mass=np.full(count, 1e3), stiffness=stiffness, damping=vb.Rayleigh(0.1, 1e-4))


def sparse(count: int) -> vb.SparseMatrices:
    """A plane grid of masses and springs, held at one edge, twice as high as it is wide."""
    wide = round(np.sqrt(count / 2))
    path = lambda k: scipy.sparse.diags([2 * np.ones(k), -np.ones(k - 1), -np.ones(k - 1)], [0, 1, -1])  # noqa: E731
    high = count // wide
    ends = scipy.sparse.diags(np.r_[1.0, np.zeros(wide - 2), 1.0])
    stiffness = scipy.sparse.kron(path(high), scipy.sparse.eye(wide))
    stiffness = stiffness + scipy.sparse.kron(scipy.sparse.eye(high), path(wide) - ends)
    return vb.SparseMatrices(mass=np.full(high * wide, 1e3), stiffness=8e7 * stiffness, damping=vb.Modal(0.02))


def once(part: str, count: int) -> dict:
    """One size, in this process."""
    if part == "frame":
        return hinges()
    special = {"unknowns": fitted, "fit": fitted_frame, "memory": needed, "implicit": yielding}
    if part in special:
        return special[part](count)
    record = motion(SAMPLES)
    places = (
        np.linspace(0, count - 1, 10).astype(int) if part != "sparse" else np.linspace(0, count - 100, 10).astype(int)
    )
    sensors = vb.Sensors(acceleration=[str(p) for p in dict.fromkeys(places.tolist())])
    made = {"storeys": storeys, "linear": full, "sparse": sparse}[part](count)

    def job():
        response = vb.simulate(made, record)
        return response if part == "storeys" else (response, response.readings(sensors))

    wall, begin = time.perf_counter(), time.process_time()
    first = job()
    found = {"first_s": time.process_time() - begin, "first_wall_s": time.perf_counter() - wall}
    if part == "storeys":
        times = [_seconds(job) for _ in range(REPEATS)]
        found["step_us"] = 1e6 * min(times) / SAMPLES
    else:
        response = first[0]
        system, driven = response.system, drive(response.inputs)
        numbers = [jnp.asarray(part) for part in (system.values, system.rates, system.participation)]
        rest = (jnp.zeros(system.count),) * 2

        def again():
            jax.block_until_ready(modal_motion(*numbers, driven, STEP, rest))
            response.readings(sensors)

        found["step_us"] = 1e6 * min(_seconds(again) for _ in range(REPEATS)) / SAMPLES
        found |= {"modes": response.modal.count, "size": response.modal.size, "shares": response.modal.shares}
    found["memory_gib"] = _memory()
    return found


def hinges() -> dict:
    """The frame with 200 hinges: a step with modes known, and the same motion by OpenSees."""
    frame, record = FrameWithHinges(), motion(MOVED, 1.0)  # many hinges yield
    structure = frame.structure()
    wall, begin = time.perf_counter(), time.process_time()
    first = vb.simulate(structure, record)
    found = {"first_s": time.process_time() - begin, "first_wall_s": time.perf_counter() - wall}
    assert isinstance(first, ModalResponse)
    roof = first.readings(vb.Sensors(displacement=[frame.roof]))[:, 0]
    parts = BulkWithParts(structure, first.loads)
    bulk, driven = bulk_of(parts, parts.all_modes()), drive(first.inputs)
    rest = (jnp.zeros(parts.size), jnp.zeros(parts.size), bulk.laws.start())

    def again():
        jax.block_until_ready(run_bulk(bulk, vb.simulation.Newmark(), driven, jnp.asarray(STEP), 1, rest))

    again()
    found["step_us"] = 1e6 * min(_seconds(again) for _ in range(REPEATS)) / MOVED
    found["size"], found["rows"] = parts.size, parts.count
    found["yielded"] = int(sum(np.abs(first.states[0]).max(axis=0) > 0))
    found["opensees_step_us"] = found["apart"] = None
    print(json.dumps(found), file=sys.stderr, flush=True)
    ops = load_opensees()
    if ops is not None:
        moved, seconds = frame.by_opensees(ops, record.data[:, 0], STEP)
        found["opensees_step_us"] = 1e6 * seconds / MOVED
        found["apart"] = float(np.abs(moved - roof).max() / np.abs(roof).max())
    found["memory_gib"] = _memory()
    return found


def yielding(count: int) -> dict:
    """Newmark's steps of a chain that yields: in its band, and with full matrices up to 500 storeys."""
    laws = [vb.Bilinear(2e5 * count * (1 + 0.001 * i), 2e-3, post_yield_ratio=0.1) for i in range(count)]
    made = vb.ShearBuilding(masses=np.full(count, 1e3), storeys=laws, damping=vb.Viscous(2e3))
    found, peaks = {}, []
    for solver in ("auto", "full") if count <= 500 else ("auto",):
        integrator, times = vb.simulation.Newmark(solver=solver), {}
        for samples in (MOVED, 3 * MOVED):
            record = vb.Record(motion(3 * MOVED, 1.0).data[:samples], motion(2).channels, step=STEP)
            response = vb.simulate(made, record, integrator=integrator)
            times[samples] = min(
                _seconds(lambda r=record, i=integrator: vb.simulate(made, r, integrator=i)) for _ in range(3)
            )
        found[f"{solver}_us"] = 1e6 * (times[3 * MOVED] - times[MOVED]) / (2 * MOVED)
        peaks.append(response.displacement)
        found.setdefault("told", response.settings.equations)
    found["apart"] = float(np.abs(peaks[-1] - peaks[0]).max() / np.abs(peaks[0]).max())
    return found | {"memory_gib": _memory()}


def chain_to_fit(count: int, samples: int):
    """A chain of 200 linear storeys, whose stiffnesses are unknown: in `count` groups, with a prior."""
    storeys, rng = 200, np.random.default_rng(3)
    record = motion(samples)
    build = lambda k: vb.ShearBuilding(  # noqa: E731
        masses=np.full(storeys, 1e3), storeys=[vb.Linear(one, damping=2e3) for one in k]
    )
    groups = np.repeat(np.exp(0.15 * rng.standard_normal(count)), storeys // count)
    sensors = vb.Sensors(acceleration=[str(i) for i in np.linspace(11, storeys - 1, 16).astype(int)])
    integrator = vb.simulation.RungeKutta4()
    truth = vb.simulate(build(2e7 * groups), record, integrator=integrator)
    data = truth.measure(sensors, noise=0.02, key=0)
    each = storeys // count
    unknown = [
        vb.Unknown([f"storeys[{i * each + j}].stiffness" for j in range(each)], tied=True, prior=(2e7, 4e6),
                   name=f"group {i}")
        for i in range(count)
    ]  # fmt: skip
    return build(np.full(storeys, 2e7)), data, unknown, integrator, 2e7 * groups[::each]


def fitted(count: int) -> dict:
    """The fit of that chain."""
    start, data, unknown, integrator, true = chain_to_fit(count, 4000)
    begin, wall = time.process_time(), time.perf_counter()
    fit = vb.identify(
        start, data, unknown, method=vb.TrajectoryFit(segments=1), integrator=integrator,
        checks="none", hold="linear", substeps=1,
    )  # fmt: skip
    return told_of(fit, true, begin, wall)


def fitted_frame(count: int) -> dict:
    """The moduli of 20 storeys of the frame with hinges, from accelerometers on 16 floors, in modes."""
    frame, rng, record = FrameWithHinges(), np.random.default_rng(5), motion(4000, 0.5)
    storey = np.array(frame.storey)
    shares = np.exp(0.15 * rng.standard_normal(20))
    floors = [frame.floors[i] for i in np.linspace(1, 19, 16).astype(int)]
    truth = vb.simulate(frame.structure(shares[storey]), record)  # in all modes
    read = vb.Sensors(absolute_acceleration=floors)
    data = truth.measure(read, noise=0.02, key=0)
    deviations = 0.02 * truth.readings(read).std(axis=0)  # of the noise, known from the instruments
    sensors = [vb.Sensor("absolute_acceleration", f, noise=d) for f, d in zip(floors, deviations, strict=True)]
    unknown = [
        vb.Unknown([f"modulus[{e}]" for e in np.flatnonzero(storey == i)], tied=True, name=f"storey {i}")
        for i in range(20)
    ]  # fmt: skip
    yielded = int(sum(np.abs(truth.states[0]).max(axis=0) > 0))
    begin, wall = time.process_time(), time.perf_counter()
    fit = vb.identify(
        frame.structure(np.ones(len(storey))), data, unknown, method=vb.TrajectoryFit(segments=1), modes=MODES,
        sensors=sensors, checks="none", hold="linear", substeps=1,
    )  # fmt: skip
    found = told_of(fit, 2e11 * shares, begin, wall)
    return found | {"size": count, "modes": MODES, "yielded": yielded}


def told_of(fit, true: np.ndarray, begin: float, wall: float) -> dict:
    ended, apart = time.process_time() - begin, np.abs(fit.estimate - true) / fit.deviation
    return {
        "fit_s": ended, "fit_wall_s": time.perf_counter() - wall,
        "gradients": fit.convergence.get("gradients", "tangents"),
        "iterations": fit.convergence["iterations"], "converged": fit.convergence["converged"],
        "within_2_deviations": float(np.mean(apart < 2.0)),
        "error": float(np.median(np.abs(fit.estimate / true - 1.0))), "memory_gib": _memory(),
    }  # fmt: skip


def needed(samples: int) -> dict:
    """Memory for the gradient of 200 unknowns by the adjoint, and then for their Jacobian."""
    start, data, unknown, integrator, _ = chain_to_fit(200, samples)
    problem = make_problem(start, data, unknown, integrator=integrator).boxed()
    before = _memory()
    cost_and_gradient(problem, problem.start, np.full(16, 0.1))
    gradient = _memory()
    linearised(problem, problem.start).normal_equations(np.full(16, 0.1))
    return {"before_gib": before, "gradient_gib": gradient, "jacobian_gib": _memory()}


def _memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _seconds(job) -> float:
    begin = time.process_time()
    job()
    return time.process_time() - begin


def measured(part: str, count: int) -> dict:
    with tempfile.TemporaryDirectory() as cache:
        own = os.environ | {"VIBRID_CACHE": cache}
        command = [sys.executable, __file__, "--once", part, str(count)]
        ran = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise SystemExit(ran.stderr)
    found = json.loads(ran.stdout.splitlines()[-1])
    print(part, count, found, flush=True)
    return found


def draw(all_: dict) -> None:
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "vibrid"
    figure, ax = plt.subplots(figsize=(6, 4), constrained_layout=True)
    marks = {"storeys": ("Bouc–Wen storeys, whole call", "o-"), "linear": ("linear, all modes", "s-"),
             "sparse": ("linear, sparse, lowest modes", "^")}  # fmt: skip
    for part, (label, mark) in marks.items():
        own = all_.get(part, {})
        if own:
            ax.loglog([int(n) for n in own], [o["step_us"] for o in own.values()], mark, label=label)
    ax.set(xlabel="degrees of freedom", ylabel="processor time of a step in µs")
    ax.grid(visible=True, which="both", alpha=0.3)
    ax.legend()
    figure.savefig(FOLDER / "results" / "size.svg", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=tuple(SIZES))
    parser.add_argument("--once", nargs=2)
    parser.add_argument("--machine", default=None)
    given = parser.parse_args()
    if given.once:
        print(json.dumps(once(given.once[0], int(given.once[1]))))
        return
    kept = FOLDER / "results" / "size.json"
    all_ = json.loads(kept.read_text())["rows"][-1]["details"] if kept.exists() else {}
    for part, sizes in SIZES.items():
        if given.part in (None, part):
            all_[part] = {str(n): measured(part, n) for n in sizes}
    rows = rows_of(all_) + rows_of_steps(all_) + rows_of_parts(all_)
    rows[-1]["details"] = all_
    command = "python benchmarks/size.py"
    save("size", "Size: processor time of a step", command, given.machine or machine(), rows)
    draw(all_)


if __name__ == "__main__":
    main()
