"""OpenSees in a process of its own for every model.

After `wipe` OpenSees 3.7.1 keeps the matrices that trusses share: a plane frame with trusses that follows a truss in
space in one process has the third direction of the earlier one in its rotations.

    python tests/bridge/fresh.py opensees_references OUT.json portal.py [SHARE [FINER]]
    python tests/bridge/fresh.py exported OUT.json truss.py
"""

import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PATIENCE = 300.0
"""Seconds that one model may take."""


def answer_of(module: str, name: str, *more: float) -> dict:
    """What `answer` of a module of this folder returns for one model."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "answer.json"
        command = [sys.executable, __file__, module, str(out), name, *map(str, more)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        if not out.exists():
            raise RuntimeError(f"OpenSees ended without an answer to {name}: {done.stderr[-500:]}")
        return json.loads(out.read_text())


if __name__ == "__main__":
    sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]
    from opensees_import import load_opensees

    module, out, name, *more = sys.argv[1:]
    numbers = [float(more[0]), *map(int, more[1:])] if more else []
    Path(out).write_text(json.dumps(importlib.import_module(module).answer(load_opensees(), name, *numbers)))
