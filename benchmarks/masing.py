"""Speed of distributed elements and of their online identification: `python benchmarks/masing.py`.

Every time is the smallest of several repeats, compilation excluded, in CPU seconds of the whole process (so that other
work on a shared machine does not count). An online update is one call from Python with a new sample, until the
estimate is there.
"""

import argparse
import os
import platform
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from table import save

import vibrid as vb
from vibrid.identification.online.live import LiveRun, live_problem

STEPS, BATCH, UPDATES = 20_000, 32, 1000
LAW = vb.Masing(4.0, vb.laws.RayleighYield(4.0), ductility=2.0, damping=0.1)


def best(job, repeats: int) -> float:
    """The shortest time of several, in seconds."""
    times = []
    job()
    for _ in range(repeats):
        start = time.process_time()
        jax.block_until_ready(job())
        times.append(time.process_time() - start)
    return min(times)


@eqx.filter_jit
def walk(law, e):
    """Forces for a path from rest."""

    def step(carry, x):
        s, before = carry
        s = law.advance(s, vb.laws.Motion(before, 0.0), vb.laws.Motion(x, 0.0), 0.01)
        return (s, x), law.force(x, 0.0, s)

    return jax.lax.scan(step, (law.start(), jnp.zeros(())), e)[1]


def law_speed(repeats: int) -> list[dict]:
    path = jnp.asarray(0.3 * np.cumsum(np.random.default_rng(0).standard_normal(STEPS)))
    paths = jnp.stack([(1 + 0.01 * i) * path for i in range(BATCH)])
    many = eqx.filter_jit(eqx.filter_vmap(walk, in_axes=(None, 0)))
    rows = []
    for what, steps, job, target in (
        ("the law in one scan", STEPS, lambda: walk(LAW, path), 3e5),
        (f"the law in a batch of {BATCH}", BATCH * STEPS, lambda: many(LAW, paths), 3e6),
    ):
        seconds = best(job, repeats)
        rate = steps / seconds
        rows.append(
            {
                "what": what,
                "measured": f"{rate:.2g} steps/s",
                "target": f"≥ {target:.0e} steps/s",
                "met": bool(rate >= target),
                "note": "Rayleigh, deteriorating, 32 turning points, a random path",
                "details": {"seconds": seconds, "steps": steps},
            }
        )
    return rows


def live_run(method, rows, step: float) -> LiveRun:
    channels = [
        vb.Channel("x", "imposed_displacement"),
        vb.Channel("v", "imposed_velocity"),
        vb.Channel("f", "element_force", location="device"),
    ]
    first = vb.Record(rows[:20], channels, step=step)
    unknown = ["law.ductility", "law.stiffness", "law.distribution.mean", "law.damping"]
    guess = vb.Device(vb.Masing(3.0, vb.laws.RayleighYield(6.0), 3.0, 0.2, capacity=16))
    return LiveRun(method, live_problem(guess, vb.Sensors.of(first), unknown, first))


def update_speed(repeats: int) -> list[dict]:
    t = np.arange(UPDATES) * 0.02
    x = 8.0 * np.sin(np.pi * t / t[-1]) * (np.sin(3.1 * t) + 0.3 * np.sin(7.3 * t))
    data = np.stack([x, np.gradient(x, 0.02), np.zeros_like(x)], axis=1)
    data[:, 2] = np.asarray(walk(LAW, jnp.asarray(x))) + 0.1 * data[:, 1]
    rows = []
    for what, method, target in (
        ("online updates, paper's method, window of 100 points", vb.OnlineMasing(window=100, stride=1), 3000),
        ("the same, objective 2", vb.OnlineMasing(window=100, stride=1, objective=2), None),
        ("online updates, OnlineRecall (corrects every 10th sample)", vb.OnlineRecall(), None),
    ):
        run = live_run(method, data, 0.02)
        readings = [(row[:2].copy(), row[2:].copy()) for row in data]
        for inputs, force in readings:
            run.feed(inputs, force)
        took, clock = [], []
        for _ in range(repeats):
            start, began = time.process_time(), time.perf_counter()
            for inputs, force in readings:
                run.feed(inputs, force)
                jax.block_until_ready(run.packed)
            took.append(time.process_time() - start)
            clock.append(time.perf_counter() - began)
        rate = UPDATES / min(took)
        rows.append(
            {
                "what": what,
                "measured": f"{rate:.0f} a second",
                "target": f"≥ {target} a second" if target else "",
                "met": bool(rate >= target) if target else None,
                "note": f"{UPDATES / min(clock):.0f} by the clock; 4 unknowns; gradient, four trial steps and the "
                "Python call included",
                "details": {"seconds": min(took), "by the clock": min(clock), "updates": UPDATES},
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="repeats of each timing; the smallest counts")
    parser.add_argument("--machine", default="", help="the machine in general words, for the table")
    chosen = parser.parse_args()
    machine = chosen.machine or f"{os.cpu_count()} cores, {platform.machine()}, {jax.default_backend()}"
    rows = law_speed(chosen.repeats) + update_speed(chosen.repeats)
    save("masing", "Distributed elements", "python benchmarks/masing.py", machine, rows)


if __name__ == "__main__":
    main()
