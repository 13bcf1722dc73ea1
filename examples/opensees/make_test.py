"""Writes portal_test.csv: the portal with softer columns under a ground motion, by OpenSees itself, with noise.

    python examples/opensees/make_test.py        needs OpenSeesPy

The columns have 0.85 of their modulus; the accelerometers have 1 % noise. Steps are a fifth of the samples.
"""

import math
import random
import runpy
from pathlib import Path

import openseespy.opensees as ops

FOLDER = Path(__file__).resolve().parent
RATE, SECONDS, FINER = 100, 12, 5

original = ops.element


def softer(kind, tag, first, last, area, modulus, inertia, transformation):
    share = 1.0 if tag == 3 else 0.85
    original(kind, tag, first, last, area, share * modulus, inertia, transformation)


ops.element = softer
runpy.run_path(str(FOLDER / "portal.py"))
count = RATE * SECONDS * FINER + 1
times = [i / (RATE * FINER) for i in range(count)]
waves = [(f, random.Random(k).uniform(0, 6.28)) for k, f in enumerate((0.8, 1.3, 1.9, 2.4, 2.9, 3.6, 4.4, 5.7))]
motion = [
    0.8 * sum(math.sin(2 * math.pi * f * t + p) for f, p in waves) * math.sin(math.pi * t / SECONDS) ** 2 for t in times
]
ops.timeSeries("Path", 1, "-dt", times[1], "-values", *motion)
ops.pattern("UniformExcitation", 1, 1, "-accel", 1)
ops.constraints("Plain")
ops.numberer("Plain")
ops.system("FullGeneral")
ops.algorithm("Linear")
ops.integrator("Newmark", 0.5, 0.25)
ops.analysis("Transient")
rows = [(0.0, motion[0], motion[0], motion[0])]
for i in range(1, count):
    ops.analyze(1, times[1])
    if i % FINER == 0:
        rows.append((times[i], motion[i], *(motion[i] + ops.nodeAccel(node, 1) for node in (3, 4))))
noise = random.Random(1)
sizes = [math.sqrt(sum(row[k] ** 2 for row in rows) / len(rows)) for k in range(4)]
lines = ["time [s],table [m/s^2],A3 [m/s^2],A4 [m/s^2]"]
for row in rows:
    measured = [row[1], *(row[k] + 0.01 * sizes[k] * noise.gauss(0, 1) for k in (2, 3))]
    lines.append(",".join([f"{row[0]:.3f}", *(f"{value:.5f}" for value in measured)]))
(FOLDER / "portal_test.csv").write_text("\n".join(lines) + "\n")
