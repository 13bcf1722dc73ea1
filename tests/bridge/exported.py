"""Scripts of `to_opensees` (folder `exported`), run in OpenSees as a user runs them; results in `exported.json`.

    python tests/bridge/exported.py write       where vibrid is: the scripts
    python tests/bridge/exported.py             where OpenSeesPy 3.7.1.2 is: `exported.json`

A script is run twice: by itself, for its eigenvalues, and with files of ground motion, for what it records. Only the
standard library is needed beside OpenSeesPy. Names as arguments make these alone.
"""

import contextlib
import json
import os
import runpy
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from opensees_references import FOLDER, STEP, motion, motion_across

SCRIPTS, RESULTS = FOLDER / "exported", FOLDER / "exported.json"
TWO_COMPONENTS = ("plan.py",)
FINE = {"smooth.py": 20}
"""Smaller steps: OpenSees moves the state of BoucWen by backward Euler, of order 1 in its step."""


def answer(ops, name: str) -> dict:
    """ω² of up to six modes; time and displacements of every fifth step of 0.01 s."""
    path, refine = str(SCRIPTS / name), FINE.get(name, 1)
    sys.argv = [name]
    runpy.run_path(path, run_name="__main__")
    ops.wipeAnalysis()
    ops.constraints("Transformation")
    ops.numberer("RCM")
    ops.system("FullGeneral")
    count, values = 6, []
    while not values and count:
        with contextlib.suppress(Exception):
            values = list(ops.eigen("-fullGenLapack", count))
        count -= 1
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for file, numbers in (("x.txt", motion(refine)), ("y.txt", motion_across(refine))):
                Path(file).write_text("\n".join(map(repr, numbers)) + "\n")
            sys.argv = [name, "x.txt", repr(STEP / refine), *(["y.txt"] if name in TWO_COMPONENTS else [])]
            runpy.run_path(path, run_name="__main__")
            rows = [[float(v) for v in line.split()] for line in Path("displacement.txt").read_text().splitlines()]
        finally:
            os.chdir(here)
    every = 5 * refine
    return {"eigenvalues": values, "displacement": rows[every - 1 :: every]}


def write() -> None:
    from exported_structures import STRUCTURES

    import vibrid as vb

    SCRIPTS.mkdir(exist_ok=True)
    for name, structure in STRUCTURES.items():
        vb.to_opensees(structure(), SCRIPTS / name)


if __name__ == "__main__":
    if sys.argv[1:] == ["write"]:
        write()
    else:
        from fresh import answer_of

        made = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        for case in sys.argv[1:] or sorted(path.name for path in SCRIPTS.glob("*.py")):
            made[case] = answer_of("exported", case)
            print(case, len(made[case]["eigenvalues"]), len(made[case]["displacement"]), flush=True)
        RESULTS.write_text(json.dumps(dict(sorted(made.items()))) + "\n")
