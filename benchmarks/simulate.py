"""Speed of simulation: `python benchmarks/simulate.py` times vibrid and its peers in one run.

Every time is the smallest of several repeats, compilation excluded; ratios compare times taken minutes apart on the
same machine. Results go to `benchmarks/results/`, the table to `benchmarks/README.md`.
"""

import argparse
import os
import platform
import time

import jax
import numpy as np
from peers import load_opensees, numba_cubic_thermostat, opensees_bouc_wen, scipy_cubic_thermostat
from table import save

import vibrid as vb
from vibrid.simulation.excitation import drive, inputs_of

FLOORS, STEP, SPAN = 10, 0.001, 40.0
MASSES = np.ones(FLOORS)
STIFFNESS = np.array([35.0] * 3 + [30.0] * 3 + [25.0] * 4)
CUBIC, INITIAL, RATE = 100.0, 1.5, 10.0
BATCH = 64


def motion() -> vb.Record:
    """An irregular motion with an envelope, 40 s at 1000 Hz, straight between its samples."""
    rng, t = np.random.default_rng(0), np.arange(round(SPAN / STEP) + 1) * STEP
    frequencies, phases = np.linspace(0.2, 5, 20), rng.uniform(0, 6.28, 20)
    waves = np.sin(2 * np.pi * np.outer(t, frequencies) + phases).sum(axis=1)
    values = 0.8 * waves * np.exp(-(((t - SPAN / 3) / (SPAN / 5)) ** 2))
    return vb.Record(values, [vb.Channel("ground", "ground_acceleration")], step=STEP, name="benchmark motion")


def cubic_building() -> vb.ShearBuilding:
    storeys = [vb.Cubic(STIFFNESS[0], CUBIC)] + [vb.Linear(k) for k in STIFFNESS[1:]]
    return vb.ShearBuilding(masses=MASSES, storeys=storeys, damping=vb.Thermostat(INITIAL, RATE))


def bouc_wen_building() -> vb.ShearBuilding:
    return vb.ShearBuilding(masses=MASSES, storeys=[vb.BoucWen(40.0, 1.0, 1.0, 1.0)] * FLOORS, damping=vb.Viscous(1.5))


def best(job, repeats: int) -> float:
    """The shortest time of several, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return min(times)


def error(x, reference) -> float:
    return float(np.abs(x - reference).max() / np.abs(reference).max())


def against_scipy(record, repeats) -> list[dict]:
    """SciPy tightened decade by decade until it is as accurate as vibrid or takes half a minute.

    A second row ties SciPy's steps to the samples by hand, where no kink of the motion falls inside a step.
    """
    building, ground = cubic_building(), record.data[:, 0]
    reference = vb.simulation.simulate_reference(building, record, tolerance=1e-12).displacement
    own_error = error(vb.simulate(building, record).displacement, reference)
    own = best(lambda: vb.simulate(building, record), repeats)

    def scipy(method, rtol, tied=False):
        started = time.perf_counter()
        x = scipy_cubic_thermostat(MASSES, STIFFNESS, CUBIC, INITIAL, RATE, ground, STEP, method, rtol, tied)
        took = time.perf_counter() - started
        return {"method": method, "rtol": rtol, "seconds": took, "error": error(x, reference)}

    tries = []
    for method in ("RK45", "DOP853", "LSODA"):
        for exponent in range(5, 13):
            made = scipy(method, 10.0**-exponent)
            if made["error"] < own_error:
                break
            tries.append(made)
            if made["seconds"] > 30:
                break
    peer, tied = min(tries, key=lambda p: p["error"]), scipy("RK45", 1e-6, tied=True)
    rows = []
    for what, other, target in (
        ("10 floors, cubic + thermostat, 40 s at 1000 Hz: times faster than SciPy solve_ivp at equal error", peer, 100),
        ("the same, SciPy's steps tied to the samples by hand", tied, None),
    ):
        ratio = other["seconds"] / own
        more = "at least " if other["error"] > 10 * own_error else ""
        rows.append(
            {
                "what": what,
                "measured": f"{more}{ratio:.0f}×",
                "target": f"≥ {target}×" if target else "",
                "met": ratio >= target if target else None,
                "note": f"vibrid {1e3 * own:.0f} ms, error {own_error:.0e}; SciPy {other['method']}, "
                f"rtol {other['rtol']:.0e}, {other['seconds']:.1f} s, error {other['error']:.0e}",
                "details": {"vibrid_seconds": own, "vibrid_error": own_error, "scipy": [*tries, tied]},
            }
        )
    return rows


def against_numba(record, repeats) -> list[dict]:
    building, ground = cubic_building(), record.data[:, 0].copy()
    loop, cubic = numba_cubic_thermostat(), np.zeros(FLOORS)
    cubic[0] = CUBIC
    arguments = (MASSES, STIFFNESS, cubic, np.full(FLOORS, INITIAL), RATE, ground, STEP)
    same = error(vb.simulate(building, record).displacement, loop(*arguments)[0])
    own, peer = best(lambda: vb.simulate(building, record), repeats), best(lambda: loop(*arguments), repeats)
    steps = len(record) - 1
    return [
        {
            "what": "10 floors, cubic + thermostat: times slower than the same loop compiled by hand with numba",
            "measured": f"{own / peer:.1f}×",
            "target": "≤ 8×",
            "met": own / peer <= 8,
            "note": f"vibrid {1e6 * own / steps:.2f} µs a step, numba {1e6 * peer / steps:.2f} µs; "
            f"results differ by {same:.0e}",
            "details": {"vibrid_seconds": own, "numba_seconds": peer},
        }
    ]


def roof(building, record):
    """Record the roof's displacement alone."""
    return vb.simulation.Readings(building.sensor_arrays(building.model(), vb.Sensors(displacement=["roof"])))


def bouc_wen_runs(record, repeats) -> list[dict]:
    """One run and a batch of Bouc–Wen buildings, against one OpenSees `analyze` call at the same step."""
    building, steps = bouc_wen_building(), len(record) - 1
    stiffness, only_roof = np.linspace(30.0, 50.0, BATCH), roof(building, record)
    explicit, implicit = vb.CentralDifference(), vb.Newmark()

    def many():
        changes = {"storeys[0].stiffness": stiffness}
        jax.block_until_ready(vb.simulate_many(building, record, changes, integrator=explicit, observe=only_roof))

    jobs = {
        "explicit": lambda: vb.simulate(building, record, integrator=explicit),
        "implicit": lambda: vb.simulate(building, record, integrator=implicit),
        "batch": many,
    }
    times = {}
    for name, job in jobs.items():
        job()
        times[name] = best(job, repeats)
    times["batch"] /= BATCH
    ops, peer = load_opensees(), {}
    if ops is not None:
        shape = (1.0, 1.0, 1.0)  # n, γ, β
        for name in ("implicit", "explicit"):
            took = []
            for _ in range(3):
                analyse = opensees_bouc_wen(
                    ops, MASSES, [40.0] * FLOORS, shape, 1.5, record.data[:, 0], STEP, explicit=name == "explicit"
                )
                started = time.perf_counter()
                assert analyse() == 0
                took.append(time.perf_counter() - started)
            peer[name] = min(took)
            peer[f"{name} roof"] = ops.nodeDisp(FLOORS, 1)
    per = {name: 1e6 * t / steps for name, t in times.items()}
    rows = []
    for what, own, target in (
        ("10 Bouc–Wen storeys, 40 s at 1000 Hz: times faster than one OpenSees analyze call", "explicit", 8),
        (f"a batch of {BATCH} such runs: times faster per run", "batch", 80),
    ):
        theirs = min(peer["implicit"], peer["explicit"]) if peer else None
        note = f"vibrid {per[own]:.2f} µs a step (central difference); Newmark {per['implicit']:.1f} µs"
        if peer:
            slow, fast = (1e6 * peer[kind] / steps for kind in ("implicit", "explicit"))
            note += f"; OpenSees Newmark {slow:.0f} µs, KR-α {fast:.0f} µs"
        rows.append(
            {
                "what": what,
                "measured": f"{theirs / times[own]:.0f}×" if peer else "OpenSeesPy cannot be imported here",
                "target": f"≥ {target}×",
                "met": bool(theirs / times[own] >= target) if peer else None,
                "note": note,
                "details": {"vibrid_seconds": times, "opensees_seconds": peer},
            }
        )
    return rows


def memory(record) -> list[dict]:
    """What XLA plans for a run: working memory beside inputs and outputs, for two lengths and two methods."""
    building = cubic_building()
    observe, plans = roof(building, record), {}
    for name, integrator in (("central difference", vb.CentralDifference()), ("Runge–Kutta 4", vb.RungeKutta4())):
        for count in (10001, 40001):
            driven = drive(inputs_of(building, record)[:count])
            plan = jax.jit(
                lambda b, d, integrator=integrator: vb.simulation.run(b.model(), integrator, d, STEP, observe)
            ).lower(building, driven).compile().memory_analysis()  # fmt: skip
            plans[f"{name}, {count - 1} steps"] = plan.temp_size_in_bytes
    growth = {name: (plans[f"{name}, 40000 steps"] - plans[f"{name}, 10000 steps"]) / 30000 for name in
              ("central difference", "Runge–Kutta 4")}  # fmt: skip
    state = 8 * 4 * FLOORS  # bytes of x, v, a and c
    return [
        {
            "what": "working memory a step when only the roof is recorded",
            "measured": f"{growth['Runge–Kutta 4']:.0f} bytes",
            "target": f"far below one state ({state} bytes), the same for every method",
            "met": max(growth.values()) < state / 4,
            "note": f"central difference {growth['central difference']:.0f} bytes; the inputs are copied once, "
            "the motion and the stages are not kept",
            "details": {"temporary_bytes": plans},
        }
    ]


def accelerator(record) -> list[dict]:
    """Large batches, where there is a GPU."""
    if jax.default_backend() == "cpu":
        return []
    building, steps, rows = bouc_wen_building(), len(record) - 1, []
    only_roof = roof(building, record)
    for runs in (BATCH, 4096):
        changes = {"storeys[0].stiffness": np.linspace(30.0, 50.0, runs)}

        def many(changes=changes):
            explicit = vb.CentralDifference()
            jax.block_until_ready(vb.simulate_many(building, record, changes, integrator=explicit, observe=only_roof))

        many()
        took = best(many, 2)
        rows.append(
            {
                "what": f"{runs} Bouc–Wen buildings on the accelerator, 40 s at 1000 Hz",
                "measured": f"{1e6 * took / steps / runs:.3f} µs a step and run",
                "target": "",
                "met": None,
                "note": f"{took:.1f} s in all",
                "details": {"seconds": took},
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="repeats of each timing; the smallest counts")
    parser.add_argument("--machine", default="", help="the machine in general words, for the table")
    parser.add_argument("--name", default="simulate", help="file name of the results")
    parser.add_argument("--skip-scipy", action="store_true", help="leave out the comparison that takes minutes")
    chosen = parser.parse_args()
    record, rows = motion(), []
    jobs = ([] if chosen.skip_scipy else [against_scipy]) + [against_numba, bouc_wen_runs]
    for job in jobs:
        try:
            rows += job(record, chosen.repeats)
        except ImportError as missing:
            print(f"{job.__name__} left out: {missing}")
    rows += memory(record) + accelerator(record)
    machine = chosen.machine or f"{os.cpu_count()} cores, {platform.machine()}, {jax.default_backend()}"
    save(chosen.name, "Simulation", "python benchmarks/simulate.py", machine, rows)


if __name__ == "__main__":
    main()
