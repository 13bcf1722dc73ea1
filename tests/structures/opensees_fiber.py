"""Fibre frames in OpenSees: materials, a section, columns, a pushover and a dynamic run, kept as numbers.

The wheel of OpenSeesPy exists for x86-64 only. Where it runs, tests run it; elsewhere they compare with
`opensees_fiber_results.json`, written by `python tests/structures/opensees_fiber.py` with OpenSeesPy 3.7.1.2 from the
frame in `opensees_fiber_frame.json`. Only the standard library is needed to run OpenSees; `describe` turns a
`vibrid.FiberFrame` into that file.
"""

import itertools
import json
import math
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
FRAME, RESULTS = FOLDER / "opensees_fiber_frame.json", FOLDER / "opensees_fiber_results.json"

STRAINS = (
    0, -1e-3, -2e-4, -2.5e-3, 1e-3, -4e-3, -3e-3, -6e-3, 2e-3, -1.2e-2, 0, 8e-3, -4e-3, 1.5e-2, 1e-2, 1.2e-2, -2e-2, 0,
)  # fmt: skip
AXIAL = -200e3  # N on the section
CURVATURES = (0.0, 0.02, -0.02, 0.06, -0.06, 0.15, -0.15, 0.0)  # 1/m
COLUMN_HEIGHT, COLUMN_LOAD = 1.2, -100e3  # m, N
DRIFTS = (0.0, 4e-3, -4e-3, 12e-3, -12e-3, 24e-3, -24e-3, 24e-3, 0.0)  # m
COLUMNS = {  # formulation, integration, pieces, share of the drifts (without hinges one section would soften), load
    "hinge-radau": ("force", "hinge-radau", 1, 1.0, COLUMN_LOAD),
    "gauss-lobatto": ("force", "gauss-lobatto", 1, 0.4, COLUMN_LOAD),
    "displacement": ("displacement", "gauss-lobatto", 2, 0.4, 0.0),
}
PATTERN, PUSH = ((3, 0.5), (6, 1.0)), 0.02  # nodes and shares of the lateral load; share of the height
RATE, SPAN, STRENGTH = 1024, 12.0, 0.34  # Hz, s, g
FREQUENCIES = (0.6, 0.9, 1.3, 1.7, 2.2, 2.8, 3.7, 5.1)  # Hz


def path(turns, step) -> list[float]:
    """From turn to turn in equal steps of at most `step`."""
    made = [turns[0]]
    for a, b in itertools.pairwise(turns):
        n = max(1, math.ceil(abs(b - a) / step - 1e-9))
        made += [a + (b - a) * i / n for i in range(1, n + 1)]
    return made


def motion() -> list[float]:
    """Ground acceleration in m/s²: an irregular motion of 12 s with an envelope, its last seconds quiet."""
    samples = int(SPAN * RATE) + 1
    values = []
    for i in range(samples):
        t = i / RATE
        waves = sum(math.sin(2 * math.pi * f * t + 5.3 * k * k) for k, f in enumerate(FREQUENCIES))
        values.append(waves * math.exp(-(((t - 3.5) / 1.6) ** 2)) * (t < 9.0))
    largest = max(map(abs, values))
    return [STRENGTH * 9.80665 * v / largest for v in values]


# -- from a FiberFrame to numbers -----------------------------------------------------------------------------------


def material_numbers(law) -> list:
    """Type and arguments of the OpenSees material that a law is."""
    if type(law).__name__ == "KentPark":
        values = (-law.strength, -law.peak_strain, -law.crushing_strength, -law.crushing_strain)
        return ["Concrete01", *map(float, values)]
    values = (law.yield_stress, law.modulus, law.hardening_ratio, law.sharpness, law.softening, law.softening_rate)
    return ["Steel02", *map(float, values)]


def describe(frame) -> dict:
    """A FiberFrame as lists and numbers."""
    import numpy as np

    whole, nodes = np.diag(np.asarray(frame._whole_mass())), frame.coordinates()
    sections = {
        s.name: {
            "materials": [material_numbers(law) for law, _, _ in s.layers()],
            "fibres": [
                [float(y), float(area), k]
                for k, (_, heights, areas) in enumerate(s.layers())
                for y, area in zip(heights, areas, strict=True)
            ],
        }
        for s in frame.sections
    }  # fmt: skip
    members = []
    for i, m in enumerate(frame.members):
        along = nodes[m.nodes[1]] - nodes[m.nodes[0]]
        members.append({
            "nodes": list(m.nodes), "section": m.section, "formulation": m.formulation, "integration": m.integration,
            "points": m.points, "hinges": np.broadcast_to(m.hinges, (2,)).tolist(),
            "offsets": [(m.offsets[0] * along).tolist(), (-m.offsets[1] * along).tolist()],
            "load": float(frame._load_along(i)),
        })  # fmt: skip
    leaning = [{"load": float(c.load), "top": c.top} for c in frame.leaning]
    rayleigh = [float(frame.damping.mass), float(frame.damping.stiffness)]
    return {
        "nodes": nodes.tolist(), "fixed": [int(n) for n, _ in frame.supports], "masses": whole.reshape(-1, 3).tolist(),
        "sections": sections, "members": members, "leaning": leaning, "rayleigh": rayleigh,
    }  # fmt: skip


# -- OpenSees -------------------------------------------------------------------------------------------------------


def make_section(ops, tag, section):
    for k, (kind, *values) in enumerate(section["materials"]):
        ops.uniaxialMaterial(kind, 10 * tag + k, *values)
    ops.section("Fiber", tag)
    for y, area, k in section["fibres"]:
        ops.fiber(y, 0.0, area, 10 * tag + k)


def make_member(ops, tag, ends, section, member, first=(0.0, 0.0), last=(0.0, 0.0)):
    ops.geomTransf("Linear", tag, "-jntOffset", *first, *last)
    if member["integration"] == "hinge-radau":
        a, b = member["hinges"]
        ops.beamIntegration("HingeRadau", tag, section, a, section, b, section)
    else:
        ops.beamIntegration("Lobatto", tag, section, member["points"])
    if member["formulation"] == "force":
        ops.element("forceBeamColumn", tag, *ends, tag, tag, "-iter", 100, 1e-12)
    else:
        ops.element("dispBeamColumn", tag, *ends, tag, tag)


def solver(ops, tolerance=1e-5):
    ops.constraints("Transformation")
    ops.numberer("RCM")
    ops.system("UmfPack")
    ops.test("NormUnbalance", tolerance, 100)
    ops.algorithm("Newton")


def go(ops, *arguments):
    for algorithm in (("Newton",), ("KrylovNewton",), ("NewtonLineSearch",)):
        ops.algorithm(*algorithm)
        if ops.analyze(*arguments) == 0:
            return
    raise RuntimeError("OpenSees did not converge")


def material_paths(ops, frame) -> dict:
    out = {}
    for name, k in (("cover", 0), ("core", 1), ("steel", 2)):
        kind, *values = frame["sections"]["column"]["materials"][k]
        ops.wipe()
        ops.uniaxialMaterial(kind, 1, *values)
        ops.testUniaxialMaterial(1)
        stresses = []
        for strain in path(STRAINS, 2.5e-4):
            ops.setStrain(strain)
            stresses.append([ops.getStress(), ops.getTangent()])
        out[name] = stresses
    return out


def moment_curvature(ops, frame) -> list:
    """Moment and axial strain along the curvatures, under the axial force."""
    ops.wipe()
    ops.model("basic", "-ndm", 2, "-ndf", 3)
    make_section(ops, 1, frame["sections"]["column"])
    ops.node(1, 0.0, 0.0)
    ops.node(2, 0.0, 0.0)
    ops.fix(1, 1, 1, 1)
    ops.fix(2, 0, 1, 0)
    ops.element("zeroLengthSection", 1, 1, 2, 1)
    ops.timeSeries("Linear", 1)
    ops.pattern("Plain", 1, 1)
    ops.load(2, AXIAL, 0.0, 0.0)
    solver(ops)
    ops.integrator("LoadControl", 0.1)
    ops.analysis("Static")
    go(ops, 10)
    ops.loadConst("-time", 0.0)
    ops.pattern("Plain", 2, 1)
    ops.load(2, 0.0, 0.0, 1.0)
    rows = [[0.0, ops.nodeDisp(2, 1)]]
    curve = path(CURVATURES, 1e-3)
    for a, b in itertools.pairwise(curve):
        ops.integrator("DisplacementControl", 2, 3, b - a)
        go(ops, 1)
        rows.append([ops.getTime(), ops.nodeDisp(2, 1)])
    return rows


def cantilever(ops, frame, formulation, integration, pieces, share, axial) -> list:
    """Lateral force along the drifts of a column with an axial load."""
    ops.wipe()
    ops.model("basic", "-ndm", 2, "-ndf", 3)
    make_section(ops, 1, frame["sections"]["column"])
    member = {"formulation": formulation, "integration": integration, "points": 6, "hinges": [0.1, 0.1]}
    for i in range(pieces + 1):
        ops.node(i, 0.0, COLUMN_HEIGHT * i / pieces)
    ops.fix(0, 1, 1, 1)
    for i in range(pieces):
        make_member(ops, i + 1, (i, i + 1), 1, member)
    ops.timeSeries("Linear", 1)
    ops.pattern("Plain", 1, 1)
    ops.load(pieces, 0.0, axial, 0.0)
    solver(ops)
    ops.integrator("LoadControl", 0.1)
    ops.analysis("Static")
    go(ops, 10)
    ops.loadConst("-time", 0.0)
    ops.pattern("Plain", 2, 1)
    ops.load(pieces, 1.0, 0.0, 0.0)
    force = [0.0]
    drifts = [share * drift for drift in path(DRIFTS, 4e-4)]
    for a, b in itertools.pairwise(drifts):
        ops.integrator("DisplacementControl", pieces, 1, b - a)
        go(ops, 1)
        force.append(ops.getTime())
    return force


def build(ops, frame) -> None:
    """The frame under its permanent loads, time at zero."""
    ops.wipe()
    ops.model("basic", "-ndm", 2, "-ndf", 3)
    for i, (xy, mass) in enumerate(zip(frame["nodes"], frame["masses"], strict=True)):
        ops.node(i, *xy)
        ops.mass(i, *mass)
    for i in frame["fixed"]:
        ops.fix(i, 1, 1, 1)
    tags = {name: k + 1 for k, name in enumerate(frame["sections"])}
    for name, section in frame["sections"].items():
        make_section(ops, tags[name], section)
    for i, member in enumerate(frame["members"]):
        make_member(ops, i + 1, member["nodes"], tags[member["section"]], member, *member["offsets"])
    ops.timeSeries("Linear", 1)
    ops.pattern("Plain", 1, 1)
    for i, member in enumerate(frame["members"]):
        if member["load"]:
            ops.eleLoad("-ele", i + 1, "-type", "-beamUniform", -member["load"])
    lean(ops, frame)
    solver(ops)
    ops.integrator("LoadControl", 0.1)
    ops.analysis("Static")
    go(ops, 10)
    ops.loadConst("-time", 0.0)


def lean(ops, frame) -> None:
    """Pin-ended columns beside the frame that follow its floors and carry their loads, with large displacements."""
    ops.uniaxialMaterial("Elastic", 900, 1e10)
    ops.node(100, 50.0, 0.0)
    ops.fix(100, 1, 1, 1)
    below, carried = 100, []
    for k, column in enumerate(frame["leaning"]):
        floor = int(column["top"].split(".")[0])
        ops.node(101 + k, 50.0, frame["nodes"][floor][1])
        ops.fix(101 + k, 0, 0, 1)
        ops.equalDOF(floor, 101 + k, 1)
        ops.element("corotTruss", 100 + k, below, 101 + k, 1.0, 900)
        below = 101 + k
        carried.append(column["load"])
    for k, load in enumerate(carried):
        above = carried[k + 1] if k + 1 < len(carried) else 0.0
        ops.load(101 + k, 0.0, -(load - above), 0.0)


def base_shear(ops) -> float:
    return ops.eleForce(1, 1) + ops.eleForce(2, 1)


def pushover(ops, frame) -> list:
    """Roof displacement, floor displacement and load factor; the roof moves by equal steps."""
    build(ops, frame)
    ops.pattern("Plain", 2, 1)
    for node, share in PATTERN:
        ops.load(node, share, 0.0, 0.0)
    solver(ops)
    height, steps = frame["nodes"][6][1], 100
    ops.integrator("DisplacementControl", 6, 1, PUSH * height / steps)
    ops.analysis("Static")
    rows = [[0.0, 0.0, 0.0]]
    for _ in range(steps):
        go(ops, 1)
        rows.append([ops.nodeDisp(6, 1), ops.nodeDisp(3, 1), ops.getTime()])
    return rows


def start_dynamic(ops, frame) -> None:
    build(ops, frame)
    ops.wipeAnalysis()
    ops.rayleigh(frame["rayleigh"][0], 0.0, frame["rayleigh"][1], 0.0)
    ops.timeSeries("Path", 2, "-dt", 1 / RATE, "-values", *motion())
    ops.pattern("UniformExcitation", 3, 1, "-accel", 2)
    solver(ops)
    ops.integrator("Newmark", 0.5, 0.25)
    ops.analysis("Transient")


def dynamic(ops, frame) -> dict:
    """Roof and floor displacement and base shear at every eighth sample, and their peaks over all samples."""
    start_dynamic(ops, frame)
    rows = [[0.0, 0.0, 0.0]]
    for _ in range(int(SPAN * RATE)):
        go(ops, 1, 1 / RATE)
        rows.append([ops.nodeDisp(6, 1), ops.nodeDisp(3, 1), base_shear(ops)])
    peaks = [max(abs(row[k]) for row in rows) for k in range(3)]
    return {"peaks": peaks, "rows": rows[::8]}


def periods(ops, frame) -> list:
    build(ops, {**frame, "members": [{**m, "load": 0.0} for m in frame["members"]], "leaning": []})
    return [2 * math.pi / math.sqrt(value) for value in ops.eigen("-fullGenLapack", 2)]


CASES = {
    "materials": material_paths,
    "moment-curvature": moment_curvature,
    **{f"column {name}": (lambda ops, frame, how=how: cantilever(ops, frame, *how)) for name, how in COLUMNS.items()},
    "periods": periods,
    "pushover": pushover,
    "dynamic": dynamic,
}


def rounded(value):
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return float(f"{value:.9g}")


if __name__ == "__main__":
    sys.path.insert(0, str(FOLDER.parent))
    from opensees_import import load_opensees

    ops, frame = load_opensees(), json.loads(FRAME.read_text())
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in sys.argv[1:] or CASES:
        stored[name] = rounded(CASES[name](ops, frame))
        RESULTS.write_text(json.dumps(stored) + "\n")
        print(name, "done", flush=True)
