"""A two-storey linear frame in OpenSees, one of whose dampers is a vibrid device across a wire.

Only the standard library is needed here, and OpenSeesPy where it is run:
`python tests/hybrid/opensees_wire.py PROTOCOL PORT` prints JSON: displacements and the time of each step. With the
protocol `none` a local elastic spring stands for the device, to see what a step costs without a wire. OpenSees waits
for ever when a server dies, so whoever runs this gives it a limit of time.
"""

import json
import math
import platform
import sys
import time
from pathlib import Path

STEP, STEPS = 0.005, 2000  # s
NODES = [(0.0, 0.0), (6.0, 0.0), (0.0, 3.5), (6.0, 3.5), (0.0, 7.0), (6.0, 7.0)]  # m
COLUMNS, BEAMS = [(0, 2), (1, 3), (2, 4), (3, 5)], [(2, 3), (4, 5)]
MODULUS = 210e9  # N/m²
COLUMN, BEAM = (1.1e-2, 1.2e-4), (8e-3, 2.3e-4)  # m², m⁴
MASS, ROTARY = 15e3, 500.0  # kg and kg m² at each of the four joints
RAYLEIGH = (0.35, 7e-4)  # 1/s, s
DISSIPATION = 0.75  # ρ∞ of KR-α
SPRING = 8e6  # N/m
LUGRE = {
    "bristle_stiffness": 20e6, "bristle_damping": 5e3, "viscous": 10e3, "coulomb_positive": 40e3,
    "coulomb_negative": 36e3, "static_positive": 46e3, "static_negative": 42e3, "stribeck_velocity": 0.02,
}  # fmt: skip
DEVICES = ("spring", "lugre")
PLACE = 2  # the device stands between the first floor and the ground


def motion() -> list[float]:
    """Ground acceleration in m/s² at every step, at rest in the beginning."""
    out = []
    for i in range(STEPS + 1):
        t = i * STEP
        waves = sum(math.sin(2 * math.pi * f * t + 7 * f) for f in (0.7, 1.3, 2.1, 3.4))
        out.append(2.0 * waves * math.sin(math.pi * t / (STEPS * STEP)) ** 2)
    return out


def run(ops, protocol: str, port: int) -> dict:
    """Displacements (m) of both floors after every step, and the seconds each step took."""
    ops.wipe()
    ops.model("basic", "-ndm", 2, "-ndf", 3)
    for i, (x, y) in enumerate(NODES):
        ops.node(i + 1, x, y)
    ops.fix(1, 1, 1, 1)
    ops.fix(2, 1, 1, 1)
    ops.geomTransf("Linear", 1)
    for tag, (i, j) in enumerate(COLUMNS + BEAMS, start=1):
        area, inertia = COLUMN if tag <= len(COLUMNS) else BEAM
        ops.element("elasticBeamColumn", tag, i + 1, j + 1, area, MODULUS, inertia, 1)
    for node in range(3, 7):
        ops.mass(node, MASS, MASS, ROTARY)
    ops.rayleigh(RAYLEIGH[0], 0.0, RAYLEIGH[1], 0.0)
    if protocol == "none":
        ops.node(10, *NODES[PLACE])
        ops.fix(10, 1, 1, 1)
        ops.uniaxialMaterial("Elastic", 1, SPRING)
        ops.element("zeroLength", 20, 10, PLACE + 1, "-mat", 1, "-dir", 1, "-doRayleigh", 0)
    else:
        udp = ["-udp"] if protocol == "udp" else []
        ops.element("genericClient", 20, "-node", PLACE + 1, "-dof", 1, "-server", port, *udp, "-noRayleigh")
    ops.timeSeries("Path", 1, "-dt", STEP, "-values", *motion())
    ops.pattern("UniformExcitation", 1, 1, "-accel", 1)
    ops.constraints("Plain")
    ops.numberer("Plain")
    ops.system("FullGeneral")
    ops.algorithm("Linear")
    ops.integrator("KRAlphaExplicit", DISSIPATION)
    ops.analysis("Transient")
    rows, taken = [[0.0, 0.0]], []
    for _ in range(STEPS):
        began = time.perf_counter()
        failed = ops.analyze(1, STEP)
        taken.append(time.perf_counter() - began)
        if failed:
            raise RuntimeError("OpenSees did not take the step")
        rows.append([ops.nodeDisp(3, 1), ops.nodeDisp(5, 1)])
    ops.wipe()  # ends the test at the server
    return {"displacement": rows, "seconds": taken, "machine": platform.machine(), "version": ops.version()}


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from opensees_import import load_opensees

    made = run(load_opensees(), sys.argv[1], int(sys.argv[2]))
    print("\n" + json.dumps(made))
