"""Three-storey buildings run by OpenSeesPy, kept as numbers for machines on which it cannot be imported.

The wheel of OpenSeesPy exists for x86-64 only. Where it runs, the tests run it; elsewhere they compare with
`opensees_results.json`, written by `python tests/simulation/opensees_models.py` with OpenSeesPy 3.7.1.2. Only the
standard library is needed here.
"""

import itertools
import json
import math
import sys
from pathlib import Path

RESULTS = Path(__file__).with_name("opensees_results.json")
STEP, SAMPLES = 0.01, 501
MASSES, STIFFNESS, DAMPING = (2.0, 1.5, 1.0), (900.0, 700.0, 500.0), (3.0, 2.0, 1.5)  # kg, N/m, N s/m
YIELD, HARDENING = 0.02, 0.1  # m, post-yield ratio
BOUC_WEN = {"beta": 30.0, "gamma": 20.0, "exponent": 1.0, "post_yield_ratio": 0.05}


def motion(refine: int = 1) -> list[float]:
    """Ground acceleration in m/s², piecewise linear between samples of `STEP`, given `refine` times as often."""
    knots = []
    for i in range(SAMPLES):
        t = i * STEP
        waves = sum(math.sin(2 * math.pi * f * t + 7 * f) for f in (0.7, 1.3, 2.1, 3.4))
        knots.append(4 * waves * math.sin(t / 1.6) ** 2)
    fine = []
    for a, b in itertools.pairwise(knots):
        fine += [a + (b - a) * j / refine for j in range(refine)]
    return [*fine, knots[-1]]


def run(ops, material, integrator, refine=1, newton=False) -> list[list[float]]:
    """Displacements of the floors at every fifth sample; `material(ops, storey, tag)` defines a storey's spring."""
    ops.wipe()
    ops.model("basic", "-ndm", 1, "-ndf", 1)
    for i in range(4):
        ops.node(i, 0.0)
    ops.fix(0, 1)
    for i in range(3):
        ops.mass(i + 1, MASSES[i])
        material(ops, i, 10 + i)
        ops.uniaxialMaterial("Elastic", 20 + i, 0.0, DAMPING[i])
        ops.uniaxialMaterial("Parallel", 30 + i, 10 + i, 20 + i)
        ops.element("zeroLength", i, i, i + 1, "-mat", 30 + i, "-dir", 1, "-doRayleigh", 0)
    ops.timeSeries("Path", 1, "-dt", STEP / refine, "-values", *motion(refine))
    ops.pattern("UniformExcitation", 1, 1, "-accel", 1)
    ops.constraints("Plain")
    ops.numberer("Plain")
    ops.system("FullGeneral")
    if newton:
        ops.test("NormUnbalance", 1e-11, 50)
        ops.algorithm("Newton")
    else:
        ops.algorithm("Linear")
    ops.integrator(*integrator)
    ops.analysis("Transient")
    rows = [[0.0, 0.0, 0.0]]
    for _ in range(SAMPLES - 1):
        if ops.analyze(refine, STEP / refine) != 0:
            raise RuntimeError("OpenSees did not converge")
        rows.append([ops.nodeDisp(i + 1, 1) for i in range(3)])
    return rows[::5]


def elastic(ops, storey, tag):
    ops.uniaxialMaterial("Elastic", tag, STIFFNESS[storey])


def steel(ops, storey, tag):
    ops.uniaxialMaterial("Steel01", tag, STIFFNESS[storey] * YIELD, STIFFNESS[storey], HARDENING)


def bouc_wen(ops, storey, tag):
    """tag, α, k, n, γ, β, A0, δA, δν, δη: the three δ are degradations, none here, and A0 = 1."""
    shape = [BOUC_WEN[name] for name in ("exponent", "gamma", "beta")]
    ops.uniaxialMaterial("BoucWen", tag, BOUC_WEN["post_yield_ratio"], STIFFNESS[storey], *shape, 1.0, 0.0, 0.0, 0.0)


NEWMARK = ("Newmark", 0.5, 0.25)
CASES = {
    "newmark elastic": lambda ops: run(ops, elastic, NEWMARK, newton=True),
    "kr-alpha elastic 0.4": lambda ops: run(ops, elastic, ("KRAlphaExplicit", 0.4)),
    "kr-alpha elastic 1.0": lambda ops: run(ops, elastic, ("KRAlphaExplicit", 1.0)),
    "kr-alpha steel 0.75": lambda ops: run(ops, steel, ("KRAlphaExplicit", 0.75)),
    "newmark steel": lambda ops: run(ops, steel, NEWMARK, newton=True),
    "newmark bouc-wen 4": lambda ops: run(ops, bouc_wen, NEWMARK, refine=4, newton=True),
    "newmark bouc-wen 16": lambda ops: run(ops, bouc_wen, NEWMARK, refine=16, newton=True),
}

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from opensees_import import load_opensees

    made = {name: case(load_opensees()) for name, case in CASES.items()}
    RESULTS.write_text(json.dumps({name: [[*map(float, row)] for row in rows] for name, rows in made.items()}))
