"""A portal whose supports move differently, by OpenSees (MultipleSupport, imposedMotion); kept as numbers.

The wheel of OpenSeesPy exists for x86-64 only: the tests compare with `opensees_supports.json`, written by
`python tests/structures/opensees_supports.py` with OpenSeesPy 3.7.1.2. Only the standard library is needed here.
"""

import itertools
import json
import math
from pathlib import Path

RESULTS = Path(__file__).with_name("opensees_supports.json")
NODES = [(0.0, 0.0), (0.0, 6.0), (20.0, 6.5), (20.0, 0.0), (40.0, 6.5), (40.0, 1.0)]
ELEMENTS = [(0, 1), (1, 2), (2, 3), (2, 4), (4, 5)]
MODULUS, AREA, INERTIA = 3e10, 0.6, 0.05
MASSES = {1: 6e4, 2: 9e4, 4: 5e4}
ROTARY = 2e4
BETA = 2e-3  # of the stiffness; OpenSees damps absolute velocities by the mass part
STEP, SAMPLES, EVERY = 0.005, 801, 20
MOVED = {"0": 0, "3": 3, "5": 5}


def acceleration(support: int) -> list[float]:
    """m/s²: waves that arrive later at farther supports, and differ."""
    late = 0.12 * support
    made = []
    for i in range(SAMPLES):
        t = i * STEP - late
        pulse = math.exp(-((t - 1.2) ** 2) / 0.4) if t > 0 else 0.0
        made.append(pulse * (2.0 * math.sin(7.0 * t) + (0.5 + 0.2 * support) * math.cos(17.0 * t)))
    return made


def integrated(values: list[float]) -> tuple[list[float], list[float]]:
    """Velocity and displacement by the rule of Newmark's average acceleration, so that it holds at supports too."""
    v, u = [0.0], [0.0]
    for a, b in itertools.pairwise(values):
        u.append(u[-1] + STEP * v[-1] + 0.25 * STEP**2 * (a + b))
        v.append(v[-1] + 0.5 * STEP * (a + b))
    return v, u


def answer(ops) -> list[list[float]]:
    """x, y and rotation of the nodes with mass, absolute, every `EVERY` steps."""
    ops.wipe()
    ops.model("basic", "-ndm", 2, "-ndf", 3)
    for i, at in enumerate(NODES):
        ops.node(i, *at)
    for node in (0, 3, 5):
        ops.fix(node, 0, 1, 1)
    for node, mass in MASSES.items():
        ops.mass(node, mass, mass, ROTARY)
    ops.geomTransf("Linear", 1)
    for i, ends in enumerate(ELEMENTS):
        ops.element("elasticBeamColumn", i, *ends, AREA, MODULUS, INERTIA, 1)
    ops.rayleigh(0.0, 0.0, BETA, 0.0)
    ops.pattern("MultipleSupport", 1)
    for number, (_, node) in enumerate(MOVED.items(), 1):
        a = acceleration(node)
        v, u = integrated(a)
        for kind, values in enumerate((u, v, a)):
            ops.timeSeries("Path", 10 * number + kind, "-dt", STEP, "-values", *values)
        series = (10 * number, 10 * number + 1, 10 * number + 2)
        ops.groundMotion(number, "Plain", "-disp", series[0], "-vel", series[1], "-accel", series[2])
        ops.imposedMotion(node, 1, number)
    ops.constraints("Transformation")
    ops.numberer("Plain")
    ops.system("FullGeneral")
    ops.test("NormDispIncr", 1e-14, 10)
    ops.algorithm("Newton")
    ops.integrator("Newmark", 0.5, 0.25)
    ops.analysis("Transient")
    made = []
    for i in range(1, SAMPLES):
        ops.analyze(1, STEP)
        if i % EVERY == 0:
            made.append([ops.nodeDisp(node, d) for node in MASSES for d in (1, 2, 3)])
    return made


if __name__ == "__main__":
    import openseespy.opensees as opensees

    RESULTS.write_text(json.dumps(answer(opensees)) + "\n", encoding="utf-8")
