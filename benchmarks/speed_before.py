"""What the sources on the path take, old or new: `speed.py --part before` runs it with both in turns.

It uses only what both have. One line of JSON: µs a step of a whole `simulate`, of a Jacobian, of a Gauss–Newton matrix,
and s of a fit.
"""

import inspect
import json
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import vibrid as vb
from vibrid.identification import levenberg
from vibrid.identification.levenberg import gauss_newton
from vibrid.identification.problem import make_problem

STEP, REPEATS = 0.001, 4


def least(job) -> float:
    """s of the processor, the least of several, after a first call that compiles."""
    jax.block_until_ready(job())
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        jax.block_until_ready(job())
        times.append(time.process_time() - start)
    return min(times)


def record(values, step) -> vb.Record:
    return vb.Record(np.asarray(values), [vb.Channel("ground", "ground_acceleration")], step=step, name="motion")


def ten_storeys() -> dict[str, float]:
    t = np.arange(0.0, 10.0, STEP)
    phases = np.random.default_rng(0).uniform(0, 6.28, 20)
    waves = np.sin(2 * np.pi * np.outer(t, np.linspace(0.2, 5, 20)) + phases).sum(axis=1)
    motion = record(0.8 * waves * np.exp(-(((t - 4.0) / 2.0) ** 2)), STEP)
    law = vb.BoucWen(stiffness=40.0, beta=1.0, gamma=1.0, exponent=1.0)
    building = vb.ShearBuilding(masses=np.ones(10), storeys=[law] * 10, damping=vb.Viscous(1.5))
    found = {}
    for name, integrator in (("RK4", vb.RungeKutta4()), ("Newmark", vb.Newmark())):
        run = lambda i=integrator: vb.simulate(building, motion, integrator=i)  # noqa: E731
        found[f"simulate, {name}"] = 1e6 * least(lambda run=run: run().displacement) / len(t)
        data = run().measure(vb.Sensors(acceleration=range(10)), noise=0.01)
        problem = make_problem(building, data, ["storeys[*].stiffness"], integrator=integrator)
        free, noise = jnp.asarray(problem.start)[None] + 0.01, jnp.full(10, 0.01)
        slopes = linear(problem)
        found[f"Jacobian, {name}"] = 1e6 * least(lambda s=slopes, f=free[0]: s(f)) / len(t)
        found[f"Gauss–Newton, {name}"] = 1e6 * least(lambda p=problem, f=free, n=noise: gauss_newton(p, f, n)) / len(t)
    return found


def linear(problem):
    """Readings and their derivatives at φ, compiled as these sources do it."""
    if hasattr(levenberg, "readings_and_slopes"):
        return lambda free: levenberg.readings_and_slopes(problem, free)
    return jax.jit(jax.jacfwd(lambda free: (problem.predict(free, 0),) * 2, has_aux=True))


def example() -> float:
    """The default fit of the first page, without what is said of its result."""
    storey = vb.BoucWen(stiffness=20e6, beta=60.0, gamma=60.0)
    building = vb.ShearBuilding(masses=[20e3] * 3, storeys=[storey] * 3, damping=vb.Viscous(80e3))
    quake = vb.synthetic_motion(key=4, duration=20.0, rate=100.0, pga=4.0)
    truth = vb.simulate(building.replace({"storeys[0].stiffness": 26e6}), quake)
    data = truth.measure(vb.Sensors(acceleration=[0, 1, 2]), noise=0.05, key=0)
    none: dict[str, Any] = {"checks": "none"} if "checks" in inspect.signature(vb.identify).parameters else {}
    return least(lambda: vb.identify(building, data, unknown=["storeys[*].stiffness"], **none).free)


if __name__ == "__main__":
    print(json.dumps({"fit": example(), **ten_storeys()}))
