"""Commands of OpenSees as the text of a script, in Python or Tcl, with the lines that run a ground motion."""

from __future__ import annotations

from typing import Any

Entry = tuple[str, tuple[Any, ...]]
"""A command and its arguments; a text among entries is a line of comment or nothing."""

_RECORDED = {(1, 1): (1,), (2, 2): (1, 2), (2, 3): (1, 2), (3, 3): (1, 2, 3), (3, 6): (1, 2, 6)}
"""Degrees of freedom that are recorded, by -ndm and -ndf."""
_RUN_PY = """
# python {name} motion.txt 0.01 [motion_y.txt]: ground acceleration in m/s2, one number a line, and its step.
# displacement.txt: time, then degrees of freedom {dofs} of every node below, in m and rad, one line a step.
if len(sys.argv) > 2:
    nodes = {nodes}
    step = float(sys.argv[2])
    for direction, path in enumerate((sys.argv[1], *sys.argv[3:]), 1):
        with open(path) as file:
            motion = [float(line) for line in file if line.strip()]
        ops.timeSeries("Path", 9000 + direction, "-dt", step, "-values", *motion)
        ops.pattern("UniformExcitation", 9000 + direction, direction, "-accel", 9000 + direction)
    ops.recorder(
        "Node", "-file", "displacement.txt", "-precision", 16, "-time", "-node", *nodes, "-dof", {dofs}, "disp"
    )
    ops.constraints("Transformation")
    ops.numberer("RCM")
    ops.system("FullGeneral")
    ops.test("NormDispIncr", 1e-10, 50)
    ops.algorithm("Newton")
    ops.integrator("Newmark", 0.5, 0.25)
    ops.analysis("Transient")
    for i in range(len(motion) - 1):
        failed = ops.analyze(1, step)
        for algorithm in ("NewtonLineSearch", "KrylovNewton"):  # dashpots with a power of the velocity need them
            if failed:
                ops.algorithm(algorithm)
                failed = ops.analyze(1, step)
                ops.algorithm("Newton")
        if failed:
            sys.exit(f"OpenSees found no equilibrium at {(i + 1) * step:g} s; use a smaller step.")
    ops.wipe()
"""
_RUN_TCL = """
# OpenSees {name} motion.txt 0.01 [motion_y.txt]: ground acceleration in m/s2, one number a line, and its step.
# displacement.txt: time, then degrees of freedom {dofs} of every node below, in m and rad, one line a step.
if {$argc > 1} {
    set step [lindex $argv 1]
    set direction 0
    foreach path [concat [lindex $argv 0] [lrange $argv 2 end]] {
        incr direction
        set file [open $path r]
        set motion [regexp -all -inline {\\S+} [read $file]]
        close $file
        timeSeries Path [expr 9000 + $direction] -dt $step -values $motion
        pattern UniformExcitation [expr 9000 + $direction] $direction -accel [expr 9000 + $direction]
    }
    recorder Node -file displacement.txt -precision 16 -time -node {nodes} -dof {dofs} disp
    constraints Transformation
    numberer RCM
    system FullGeneral
    test NormDispIncr 1e-10 50
    algorithm Newton
    integrator Newmark 0.5 0.25
    analysis Transient
    for {set i 1} {$i < [llength $motion]} {incr i} {
        set failed [analyze 1 $step]
        foreach algorithm {NewtonLineSearch KrylovNewton} {  ;# dashpots with a power of the velocity need them
            if {$failed} {
                algorithm $algorithm
                set failed [analyze 1 $step]
                algorithm Newton
            }
        }
        if {$failed} { error "OpenSees found no equilibrium at [expr $i * $step] s; use a smaller step." }
    }
    wipe
}
"""


def _run(text: str, entries: list[Entry | str], name: str, comma: str, nodes: str) -> str:
    """The lines that run a motion; `nodes` says how a list is written."""
    commands = [entry for entry in entries if not isinstance(entry, str)]
    _, (_, _, dimensions, _, size) = next(c for c in commands if c[0] == "model")
    held = {c[1][0] for c in commands if c[0] == "fix" and all(c[1][1:])}
    moved = comma.join(str(c[1][0]) for c in commands if c[0] == "node" and c[1][0] not in held)
    dofs = comma.join(map(str, _RECORDED[dimensions, size]))
    return text.replace("{name}", name).replace("{dofs}", dofs).replace("{nodes}", nodes.format(moved))


def as_python(entries: list[Entry | str], name: str) -> str:
    """The entries as a script of OpenSeesPy that is called `name`."""
    lines = [
        '"""Written by vibrid; units are N, m, s."""',
        "",
        "import sys",
        "",
        "import openseespy.opensees as ops",
        "",
    ]
    lines.append("ops.wipe()")
    for entry in entries:
        lines.append(entry if isinstance(entry, str) else f"ops.{entry[0]}({', '.join(map(_python, entry[1]))})")
    return "\n".join(lines) + "\n" + _run(_RUN_PY, entries, name, ", ", "[{}]")


def _python(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def as_tcl(entries: list[Entry | str], name: str) -> str:
    """The entries as a script of Tcl that is called `name`."""
    lines = ["# Written by vibrid; units are N, m, s.", "wipe"]
    inside = False
    for entry in entries:
        if isinstance(entry, str):
            lines.append(entry)
            continue
        word, arguments = entry
        if inside and word not in ("fiber", "load", "eleLoad"):
            lines.append("}")
            inside = False
        text = " ".join([word, *(v if isinstance(v, str) else repr(v) for v in arguments)])
        if (word == "section" and arguments[0] == "Fiber") or word == "pattern":
            lines.append(f"{text} {{")
            inside = True
        else:
            lines.append(f"    {text}" if inside else text)
    lines += ["}"] if inside else []
    return "\n".join(lines) + "\n" + _run(_RUN_TCL, entries, name, " ", "{}")
