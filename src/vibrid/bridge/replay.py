"""Passes recorded commands on to OpenSeesPy, in a process of its own: `python -m vibrid.bridge.replay`.

Standard input is a JSON object: `commands` as [name, arguments, file, line], `folder` of the script, and `state`:
"rest", before any load, or "loaded", under the loads that the script analyses and holds. No code of the script is run.
Standard output is a JSON object: the matrices of OpenSees and the equation of every degree of freedom, or why not.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import json
import os
import sys
from typing import Any

_LATER = frozenset([
    "eigen", "modalDamping", "modalDampingQ", "wipe", "setTime", "getTime", "recorder", "domainChange",
    "imposedMotion", "groundMotion", "setNodeDisp", "setNodeVel", "setNodeAccel",
])  # fmt: skip
"""Not part of the model at rest, and not passed on."""
_STATIC = frozenset(["integrator", "analysis", "analyze", "loadConst"])
_MOST = 3000
"""Equations whose full matrices are asked for."""


class _Stop(Exception):
    """OpenSees does not take a command; its answer goes to the caller."""


def main() -> None:
    asked = json.load(sys.stdin)
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # OpenSees prints to both
    try:
        answer = _run(asked)
    except _Stop as stopped:
        answer = {"problem": str(stopped)}
    output.write(json.dumps(answer))
    output.flush()
    sys.stderr.flush()
    os._exit(0)  # OpenSees prints when it is unloaded


def _run(asked: dict[str, Any]) -> dict[str, Any]:
    from vibrid.bridge.live import load_bundled

    try:
        load_bundled()
        ops = importlib.import_module("openseespy.opensees")
    except Exception as problem:  # OSError or RuntimeError where its libraries are for another machine
        said = " ".join(str(problem).split())
        return {"problem": f"OpenSeesPy cannot be imported ({said}); vibrid doctor says more"}
    os.chdir(asked["folder"])
    ops.wipe()
    left_out: set[int] = set()
    kind = ""
    for name, arguments, file, line in asked["commands"]:
        if name in _LATER or (name in _STATIC and asked["state"] == "rest"):
            continue
        given, where = list(arguments), f"{file}, line {line}"
        if name == "pattern" and given[0] != "Plain":
            left_out.add(given[1])
            continue
        if name == "remove" and (given[0] != "loadPattern" or given[1] in left_out):
            continue
        if name == "pattern" and isinstance(given[2], str):  # the short form of Tcl
            ops.timeSeries(given[2], 10**8 + given[1], *given[3:])
            given = [*given[:2], 10**8 + given[1]]
        if name == "analysis":
            kind = given[0]
        if kind not in ("", "Static") and name in ("analysis", "analyze", "integrator"):
            continue
        if name == "analysis":
            _static(ops)
        _pass_on(ops, name, given, where)
    return _matrices(ops)


def _pass_on(ops: Any, name: str, given: list[Any], where: str) -> None:
    try:
        answer = getattr(ops, name)(*given)
    except Exception:  # OpenSeesPy raises errors of its own kind, and prints the reason
        raise _Stop(f"{where}: OpenSees does not take '{name} {' '.join(map(str, given[:3]))}'") from None
    if name == "analyze" and answer:
        raise _Stop(f"{where}: OpenSees finds no equilibrium under the permanent loads (analyze returns {answer})")


def _static(ops: Any) -> None:
    ops.constraints("Transformation")
    ops.numberer("Plain")
    ops.system("FullGeneral")
    ops.test("NormDispIncr", 1e-12, 200)
    ops.algorithm("Newton")


def _matrices(ops: Any) -> dict[str, Any]:
    import numpy as np

    ops.wipeAnalysis()
    _static(ops)
    ops.algorithm("Linear")
    found: dict[str, Any] = {}
    size = 0
    for what, weights in (("mass", (1.0, 0.0, 0.0)), ("damping", (0.0, 1.0, 0.0)), ("stiffness", (0.0, 0.0, 1.0))):
        ops.integrator("GimmeMCK", *weights)
        ops.analysis("Transient")
        with contextlib.suppress(Exception):
            ops.analyze(1, 0.0)  # only numbers the equations: a mass matrix may be singular
        size = ops.systemSize()
        if not 0 < size <= _MOST:
            raise _Stop(f"its {size} equations are not compared, only 1 to {_MOST}")
        values = np.array(ops.printA("-ret"), dtype="<f8")
        if values.size != size**2 or not np.isfinite(values).all():
            raise _Stop(f"OpenSees gives no {what} matrix")
        found[what] = base64.b64encode(values.tobytes()).decode()
    equations = {tag: ops.nodeDOFs(tag) for tag in ops.getNodeTags()}
    return {"version": ops.version(), "size": size, "equations": equations, **found}


if __name__ == "__main__":
    main()
