"""The models of this folder in OpenSees itself: eigenvalues and a motion, kept as numbers in `references.json`.

OpenSeesPy exists for x86-64 only, so its answers are stored. Made anew by

    python tests/bridge/opensees_references.py record      where vibrid is: the commands of the Tcl models
    python tests/bridge/opensees_references.py             where OpenSeesPy 3.7.1.2 is: `references.json`

A Python model is run as it is. A Tcl model is run as the list of its commands, which OpenSeesPy takes like its own.
Only the standard library is needed beside OpenSeesPy. Names of models as arguments make these alone.
"""

import contextlib
import itertools
import json
import math
import runpy
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
MODELS, REFERENCES, TCL = FOLDER / "models", FOLDER / "references.json", FOLDER / "tcl_commands.json"
STEP, SAMPLES = 0.01, 301

# script: units, metres in its unit of length, (node, direction) that is watched, substeps
CASES = {
    "portal.py": ("N, m, s", 1.0, (3, 1), 1),
    "frame_kip.py": ("kip, in, s", 0.0254, (31, 1), 1),
    "braced.py": ("kN, m, s", 1.0, (5, 1), 1),
    "braced_partly.py": ("kN, m, s", 1.0, (4, 1), 1),
    "truss_plane.py": ("N, m, s", 1.0, (12, 1), 1),
    "truss_space.py": ("kip, in, s", 0.0254, (21, 1), 1),
    "shear_linear.py": ("N, m, s", 1.0, (3, 1), 1),
    "shear_yielding.py": ("kN, m, s", 1.0, (5, 1), 1),
    "shear_smooth.py": ("N, m, s", 1.0, (2, 1), 20),
    "isolated.py": ("kN, m, s", 1.0, (22, 1), 1),
    "tuned_mass.py": ("N, m, s", 1.0, (99, 1), 1),
    "consistent.py": ("N, m, s", 1.0, (6, 1), 1),
    "two_ways.py": ("N, mm, s", 1e-3, (3, 1), 1),
    "building_space.py": ("kN, m, s", 1.0, (100, 1), 1),
    "deep_beams.py": ("N, m, s", 1.0, (4, 1), 1),
    "offsets.py": ("kN, m, s", 1.0, (4, 1), 1),
    "portal.tcl": ("N, m, s", 1.0, (12, 1), 1),
    "storeys.tcl": ("kip, in, s", 0.0254, (3, 1), 1),
    "arch.tcl": ("N, m, s", 1.0, (3, 1), 1),
    "pier_fibres.py": ("kN, m, s", 1.0, (2, 1), 1),
    "portal_fibres.py": ("N, m, s", 1.0, (3, 1), 1),
    "column_fibres.tcl": ("kip, in, s", 0.0254, (2, 1), 1),
    "p_delta_fibres.py": ("kN, m, s", 1.0, (21, 1), 1),
    "p_delta.tcl": ("kip, in, s", 0.0254, (4, 1), 1),
    "plan_yielding.py": ("kN, m, s", 1.0, (200, 1), 1),
    "modal_damping.py": ("N, m, s", 1.0, (4, 1), 1),
    "modal_storeys.py": ("kN, m, s", 1.0, (3, 1), 1),
}
ELSEWHERE = {
    "wall.py": ("N, m, s", 1.0, (20, 1), 1),
    "braced_yielding.py": ("kN, m, s", 1.0, (5, 1), 1),
}
"""Models without a native structure here: only OpenSees assembles the first, the second is condensed."""
FROZEN = {"braced_yielding.py": 0.1, "portal_fibres.py": 0.1}
"""Models whose yielding parts are frozen when they are condensed, and the share of the motion in which they stay
linear: kept as "…, small"."""
STANDS_ON = {"pier_fibres.py": (1,), "portal_fibres.py": (1, 6), "column_fibres.tcl": (1,), "p_delta_fibres.py": (1, 2)}
"""Supports of fibre frames whose base shear is kept too."""
TWO_COMPONENTS = {"plan_yielding.py"}
"""Moved in y too, by `motion_across`."""


def motion(refine: int = 1) -> list[float]:
    """Ground acceleration in m/s², piecewise linear between samples of `STEP`, given `refine` times as often."""
    knots = []
    for i in range(SAMPLES):
        t = i * STEP
        waves = sum(math.sin(2 * math.pi * f * t + 3 * f) for f in (0.6, 1.1, 2.3, 4.1, 7.7))
        knots.append(2.0 * waves * math.sin(math.pi * t / 3.2) ** 2)
    fine = []
    for a, b in itertools.pairwise(knots):
        fine += [a + (b - a) * j / refine for j in range(refine)]
    return [*fine, knots[-1]]


def motion_across(refine: int = 1) -> list[float]:
    """A second component: the first one 0.17 s later."""
    late = 17 * refine
    return [0.0] * late + motion(refine)[:-late]


def build(ops, name: str) -> None:
    if name.endswith(".py"):
        runpy.run_path(str(MODELS / name), run_name="__main__")
        return
    for command, arguments in json.loads(TCL.read_text())[name]:
        if command == "pattern" and arguments[2] == "Linear":
            ops.timeSeries("Linear", 1000 + arguments[1])
            arguments = [*arguments[:2], 1000 + arguments[1]]
        getattr(ops, command)(*arguments)


def answer(ops, name: str, share: float = 1.0, finer: int = 1) -> dict:
    """ω² of up to six modes, and the watched displacement and base shear at every fifth sample, in the units of the
    script.

    Arguments
        share: of the motion; finer: how many times smaller the steps are than those of the case.
    """
    _, metre, (node, direction), refine = (CASES | ELSEWHERE)[name]
    refine *= finer
    build(ops, name)
    ops.wipeAnalysis()
    ops.constraints("Transformation")
    ops.numberer("RCM")
    ops.system("FullGeneral")
    count = 6
    values = []
    while not values and count:
        with contextlib.suppress(Exception):
            values = list(ops.eigen("-fullGenLapack", count))
        count -= 1
    ops.timeSeries("Path", 9001, "-dt", STEP / refine, "-values", *motion(refine), "-factor", share / metre)
    ops.pattern("UniformExcitation", 9001, 1, "-accel", 9001)
    if name in TWO_COMPONENTS:
        ops.timeSeries("Path", 9002, "-dt", STEP / refine, "-values", *motion_across(refine), "-factor", share / metre)
        ops.pattern("UniformExcitation", 9002, 2, "-accel", 9002)
    ops.test("NormDispIncr", 1e-12, 50)
    ops.algorithm("Newton")
    ops.integrator("Newmark", 0.5, 0.25)
    ops.analysis("Transient")
    first = ops.nodeDisp(node, direction)
    moved, shear = [0.0], [_shear(ops, name)]
    for _ in range(SAMPLES - 1):
        if ops.analyze(refine, STEP / refine) != 0:
            raise RuntimeError(f"OpenSees did not converge in {name}")
        moved.append(ops.nodeDisp(node, direction) - first)
        shear.append(_shear(ops, name))
    more = {"base_shear": shear[::5]} if name in STANDS_ON else {}
    return {"eigenvalues": values, "displacement": moved[::5], **more}


def _shear(ops, name: str) -> float:
    """The horizontal force of the supports; without inertia and damping."""
    ops.reactions()
    return sum(ops.nodeReaction(tag, 1) for tag in STANDS_ON.get(name, ()))


def record() -> None:
    """The commands of the Tcl models, for machines that have OpenSeesPy and not vibrid."""
    from vibrid.bridge.scripts import record_script

    quiet = ("eigen",)
    found = {}
    for name in (n for n in CASES if n.endswith(".tcl")):
        commands = record_script(MODELS / name).commands
        found[name] = [[c.name, list(c.arguments)] for c in commands if c.name not in quiet]
    TCL.write_text(json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["record"]:
        record()
    else:
        from fresh import answer_of

        made = json.loads(REFERENCES.read_text()) if REFERENCES.exists() else {}
        shares = {case: 1.0 for case in CASES | ELSEWHERE} | {f"{case}, small": share for case, share in FROZEN.items()}
        for case in sys.argv[1:] or shares:
            made[case] = answer_of("opensees_references", case.removesuffix(", small"), shares[case])
            print(case, len(made[case]["eigenvalues"]), max(map(abs, made[case]["displacement"])), flush=True)
        REFERENCES.write_text(json.dumps(dict(sorted(made.items()))) + "\n")
