"""OpenSees beside the recorded model: the same commands passed on to it, and its matrices."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vibrid.bridge.assembly import AssembledScript, constrained_directions
from vibrid.bridge.description import ScriptModel
from vibrid.bridge.recording import Recording
from vibrid.core.errors import FileProblem, InputError

_SAME = 1e-8
_MOST_SAID = 200


@dataclass(frozen=True, eq=False)
class OpenSeesMatrices:
    """M, C and K as OpenSees assembles them, in the units of the script, and the equation of each place."""

    version: str
    mass: np.ndarray
    damping: np.ndarray
    stiffness: np.ndarray
    equations: dict[int, list[int]]

    def order(self, places: list[tuple[int, int]], model: ScriptModel) -> list[int]:
        """The equation of every (node, direction); a constrained node lists first what it has of its own."""
        constrained = constrained_directions(model)
        found = []
        for tag, direction in places:
            own = [d for d in range(model.nodes[tag].size) if (tag, d) not in constrained]
            found.append(self.equations[tag][own.index(direction)])
        return found


def is_installed() -> bool:
    return importlib.util.find_spec("openseespy") is not None


def ask_opensees(recording: Recording, folder: Path, seconds: float, state: str = "rest") -> OpenSeesMatrices | str:
    """The matrices that OpenSees makes of recorded commands; a text says why there are none."""
    if not is_installed():
        return "OpenSeesPy is not installed (vibrid doctor says more)"
    answer = answer_of(recording, folder, seconds, state)
    if "problem" in answer:
        return answer["problem"]
    size = answer["size"]
    mass, damping, stiffness = (
        np.frombuffer(base64.b64decode(answer[what]), dtype="<f8").reshape(size, size).T
        for what in ("mass", "damping", "stiffness")
    )
    equations = {int(tag): list(row) for tag, row in answer["equations"].items()}
    return OpenSeesMatrices(answer["version"], mass, damping, stiffness, equations)


def answer_of(recording: Recording, folder: Path, seconds: float, state: str) -> dict[str, Any]:
    """What the process of OpenSees answers; `problem` where it has no matrices."""
    asked = {
        "commands": [[c.name, list(c.arguments), c.file, c.line] for c in recording.commands],
        "folder": str(folder),
        "state": state,
    }
    source = str(Path(__file__).resolve().parents[2])
    before = os.environ.get("PYTHONPATH")
    path = source if not before else f"{source}{os.pathsep}{before}"
    try:
        done = subprocess.run(
            [sys.executable, "-B", "-m", "vibrid.bridge.replay"], input=json.dumps(asked), capture_output=True,
            timeout=seconds, env=os.environ | {"PYTHONPATH": path}, check=False, text=True, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"problem": f"OpenSees does not end within {seconds:g} s"}
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {"problem": f"OpenSees ended without an answer (exit code {done.returncode})"}
    if "problem" in answer and said:
        answer["problem"] += f" ({said[-1][:_MOST_SAID]})"
    return answer


def compare_with_opensees(
    recording: Recording, model: ScriptModel, assembled: AssembledScript, folder: Path, seconds: float, wanted: str
) -> list[str]:
    """What OpenSees itself says of the recorded commands, as notes; refused where it makes another model of them.

    Arguments
        wanted: "auto" compares where OpenSeesPy can be imported, "need" refuses where it cannot, "off" does nothing.
    """
    if wanted == "off" or (wanted == "auto" and not is_installed()):
        return []
    found = ask_opensees(recording, folder, seconds)
    if isinstance(found, str):
        if wanted == "need":
            raise FileProblem(folder / recording.script, f"it is not compared with OpenSees: {found}.")
        return [f"not compared with OpenSees: {found}"]
    places = [assembled.places[dof] for dof in assembled.independent]
    names = [f"degree of freedom {direction + 1} of node {tag}" for tag, direction in places]
    if len(places) != len(found.mass):
        raise InputError(
            f"{recording.script}: OpenSees {found.version} has {len(found.mass)} equations, the recorded commands make "
            f"{len(places)}; {_OTHERWISE}"
        )
    order = found.order(places, model)
    compared = {"mass": (found.mass, assembled.reduced(assembled.mass))}
    compared["stiffness"] = (found.stiffness, assembled.reduced(assembled.stiffness))
    if not model.modal and not any(m.kind == "Viscous" and m.numbers(2)[1] != 1.0 for m in model.materials.values()):
        a, *b = model.rayleigh
        damped = a * assembled.damped_mass + sum(b) * assembled.damped + assembled.dashpots
        compared["damping"] = (found.damping, assembled.reduced(damped))
    largest = 0.0
    for what, (theirs, ours) in compared.items():
        theirs = theirs[np.ix_(order, order)]
        size = np.sqrt(np.abs(np.outer(np.diag(ours), np.diag(ours))))
        gap = np.abs(theirs - ours) / np.maximum(size, 1e-9 * np.abs(ours).max() + 1e-300)
        if gap.max() > _SAME:
            i, j = np.unravel_index(gap.argmax(), gap.shape)
            raise InputError(
                f"{recording.script}: OpenSees {found.version} has another {what} between {names[i]} and {names[j]}, "
                f"by {gap.max():.2g} of its size; {_OTHERWISE}"
            )
        largest = max(largest, float(gap.max()))
    return [f"OpenSees {found.version} makes the same {', '.join(compared)} of these commands, to {largest:.0e}"]


_OTHERWISE = (
    "vibrid reads a command otherwise than OpenSees does. Please report it; opensees='off' (--opensees off) leaves the "
    "comparison out."
)
