"""Runs a script against the recording stand-in, in a process of its own: `python -m vibrid.bridge.child SCRIPT`.

What the script prints goes to standard error; the record leaves on standard output as JSON. A script is code: it runs
with all rights of its user. Files that it opens for writing, and programs that it starts, are refused unless allowed,
which protects from accidents, not from malice.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import runpy
import sys
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from vibrid.bridge.bookkeeper import Bookkeeper
from vibrid.bridge.recording import ENVIRONMENT, RESULTS, NeedsAnalysis

_DRAWING = (
    "opsvis",
    "vfo",
    "vfo.vfo",
    "openseespyvis",
    "openseespy.postprocessing",
    "openseespy.postprocessing.Get_Rendering",
    "openseespy.postprocessing.ops_vis",
)
"""Packages that only draw: a script that calls them draws nothing here."""
BUILDING = frozenset([
    "model", "node", "fix", "fixX", "fixY", "fixZ", "mass", "equalDOF", "rigidLink", "rigidDiaphragm",
    "uniaxialMaterial", "nDMaterial", "section", "fiber", "patch", "layer", "geomTransf", "beamIntegration",
    "element", "timeSeries", "pattern", "load", "eleLoad", "sp", "rayleigh", "region", "loadConst", "analyze",
    "integrator", "analysis", "wipe", "remove", "modalDamping", "modalDampingQ", "setTime", "getTime", "eigen",
    "nodeCoord", "getNodeTags", "getEleTags", "getNDM", "getNDF", "version", "frictionModel", "imposedMotion",
    "groundMotion", "domainChange", "equalDOF_Mixed", "block2D", "block3D", "setNodeDisp", "setNodeVel",
    "setNodeAccel", "setNodeCoord", "updateMaterialStage", "parameter", "addToParameter", "updateParameter",
    "setParameter", "sensitivityAlgorithm", "hystereticBackbone", "yieldSurface_BC", "limitCurve", "damping",
    "getNodeMass", "nodeMass",
])  # fmt: skip
KNOWN = sorted(BUILDING | RESULTS | ENVIRONMENT)


class _Refused(Exception):
    """What the guard of files does not allow."""


class _Child:
    """One run: the books, and the single place where it ends."""

    def __init__(self, script: Path, output: Any) -> None:
        self.script, self.output, self.books = script, output, Bookkeeper()

    def finish(self, ended: str = "", problem: str = "", line: int | None = None, file: str = "") -> NoReturn:
        """Send the record and end the process at once, whatever the script would do next."""
        commands = [[c.name, list(c.arguments), c.file, c.line] for c in self.books.commands]
        answer = {"commands": commands, "ended": ended, "answers": self.books.answers, "problem": problem}
        self.output.write(json.dumps(answer | {"line": line, "file": file}))
        self.output.flush()
        sys.stderr.flush()
        os._exit(0)

    def short(self, file: str) -> str:
        """A file's name as the user knows it: relative to the folder of the script."""
        try:
            return Path(file).resolve().relative_to(self.script.parent).as_posix()
        except ValueError:
            return str(file)

    def take(self, name: str, arguments: Any, file: str, line: int) -> Any:
        if name in RESULTS:
            where = f"{self.short(file)}, line {line}"
            self.finish(ended=f"{where}: the script asks for a result ({name}); nothing after this line was read")
        try:
            return self.books.take(name, arguments, self.short(file), line)
        except NeedsAnalysis as asked:
            self.finish(ended=f"{asked.command.where}: the script asks for a result ({name}); nothing after was read")


# -- Python --------------------------------------------------------------------------------------------------------


def _stand_in(child: _Child) -> types.ModuleType:
    """A module in place of openseespy.opensees: every function writes its call down."""
    module = types.ModuleType("openseespy.opensees", "Writes down the commands of OpenSees.")

    def function(name: str) -> Callable[..., Any]:
        def command(*arguments: Any) -> Any:
            frame = sys._getframe(1)
            return child.take(name, arguments, frame.f_code.co_filename, frame.f_lineno)

        command.__name__ = name
        return command

    for name in KNOWN:
        setattr(module, name, function(name))
    module.__all__ = KNOWN  # type: ignore[attr-defined]
    module.__getattr__ = _unknown
    return module


def _unknown(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"the command '{name}' of OpenSees is not known to the recording stand-in")


class _Nothing(types.ModuleType):
    """A package that draws: all of its functions do nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None


def _run_python(child: _Child) -> None:
    package = types.ModuleType("openseespy", "The package of the stand-in.")
    package.__path__ = []
    stand_in = _stand_in(child)
    package.opensees = stand_in  # type: ignore[attr-defined]
    sys.modules |= {"openseespy": package, "openseespy.opensees": stand_in, "opensees": stand_in}
    sys.modules |= {name: _Nothing(name) for name in _DRAWING}
    sys.argv, sys.path[0] = [str(child.script)], str(child.script.parent)
    try:
        with contextlib.suppress(SystemExit):  # a script may end itself
            runpy.run_path(str(child.script), run_name="__main__")
    except Exception as problem:
        _explain(child, problem)


def _explain(child: _Child, problem: Exception) -> NoReturn:
    """End with the last line of the user's own files that led to an error."""
    if isinstance(problem, SyntaxError):
        child.finish(problem=f"it is not valid Python ({problem.msg})", line=problem.lineno, file=child.script.name)
    own = [f for f in traceback.extract_tb(problem.__traceback__) if _is_own(child, f.filename)]
    line, file = (own[-1].lineno, child.short(own[-1].filename)) if own else (None, child.script.name)
    said = " ".join(str(problem).split())
    text = said if isinstance(problem, _Refused) else f"the script stops with {type(problem).__name__}: {said}"
    child.finish(problem=text, line=line, file=file)


def _is_own(child: _Child, file: str) -> bool:
    try:
        inside = Path(file).resolve().relative_to(child.script.parent)
    except ValueError:
        return False
    return "site-packages" not in inside.parts


def _guard(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook that refuses to write files and to start programs; libraries may write while they are imported."""
    if event == "open":
        path, mode, flags = (*arguments, None, None, None)[:3]
        writes = set(mode or "") & set("wax+") if isinstance(mode, str) else (flags or 0) & (os.O_WRONLY | os.O_RDWR)
        if not writes or isinstance(path, int) or str(path) == os.devnull:
            return
        what = f"writes the file '{path}'"
    elif event in ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "shutil.rmtree", "os.truncate"):
        what = f"changes files ({event}, '{arguments[0]}')"
    elif event in (
        "subprocess.Popen",
        "os.system",
        "os.exec",
        "os.posix_spawn",
        "os.fork",
        "os.forkpty",
        "socket.connect",
    ):
        what = f"starts a program or a connection ({event})"
    else:
        return
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return
        frame = frame.f_back
    raise _Refused(f"the script {what}; take that out, or allow it (--allow-writing)")


# -- Tcl -----------------------------------------------------------------------------------------------------------

_TCL = """
proc ::vibrid_where {} {
    set last {"" 0}
    for {set i 1} {$i <= [info frame]} {incr i} {
        set f [info frame $i]
        if {[dict get $f type] eq "source"} { set last [list [dict get $f file] [dict get $f line]] }
    }
    return $last
}
proc ::vibrid_define name {
    proc ::$name args [string map [list @ $name] {
        set body ""
        set kind [lindex $args 0]
        if {![string is double -strict [lindex $args end]]
            && ("@" eq "section" && [string match -nocase *fiber* $kind] && [llength $args] > 2
                || "@" eq "pattern" && $kind eq "Plain" && [llength $args] > 3)} {
            set body [lindex $args end]
            set args [lrange $args 0 end-1]
        }
        set answer [::vibrid_take @ {*}[::vibrid_where] {*}$args]
        if {$body ne ""} { uplevel 1 $body }
        return $answer
    }]
}
rename ::open ::vibrid_open
proc ::open {name {mode r} args} {
    if {!$::vibrid_allow && ([string index $name 0] eq "|" || ![regexp {^(r|rb|RDONLY)$} $mode])} {
        error "VIBRID the script writes the file '$name'; take that out, or allow it (--allow-writing)"
    }
    return [::vibrid_open $name $mode {*}$args]
}
rename ::file ::vibrid_file
proc ::file {what args} {
    if {!$::vibrid_allow && $what in {delete rename copy link}} {
        error "VIBRID the script changes files (file $what); take that out, or allow it (--allow-writing)"
    }
    if {!$::vibrid_allow && $what eq "mkdir"} { return }
    return [uplevel 1 [list ::vibrid_file $what {*}$args]]
}
foreach what {exec socket load} {
    rename ::$what ::vibrid_$what
    proc ::$what args [string map [list @ $what] {
        if {!$::vibrid_allow} {
            error "VIBRID the script starts a program or a connection (@); take that out, or allow it"
        }
        return [uplevel 1 [list ::vibrid_@ {*}$args]]
    }]
}
rename ::puts ::vibrid_puts
proc ::puts args {
    if {[llength $args] == 1 || [lindex $args 0] in {stdout stderr -nonewline}} { return }
    return [::vibrid_puts {*}$args]
}
"""


def _run_tcl(child: _Child, allow_writing: bool) -> None:
    try:
        import tkinter
    except ImportError:
        child.finish(
            problem="this Python has no Tcl interpreter, which reading a Tcl script needs: install tkinter (on Debian "
            "and Ubuntu `apt install python3-tk`), or use a Python that has it",
            file=child.script.name,
        )
    interpreter = tkinter.Tcl()
    interpreter.setvar("vibrid_allow", "1" if allow_writing else "0")
    interpreter.createcommand("vibrid_take", lambda name, file, line, *rest: _as_tcl(
        child.take(name, [_number(word) for word in rest], file or str(child.script), int(line))
    ))  # fmt: skip
    interpreter.setvar("argc", "0")
    interpreter.setvar("argv", "")
    interpreter.createcommand("exit", lambda *_: child.finish())
    interpreter.eval(_TCL)
    for name in KNOWN:
        interpreter.eval(f"::vibrid_define {name}")
    try:
        interpreter.eval(f"source {{{child.script}}}")
    except tkinter.TclError as problem:
        _explain_tcl(child, str(problem), str(interpreter.getvar("errorInfo")))


def _explain_tcl(child: _Child, said: str, info: str) -> NoReturn:
    places = re.findall(r'\(file "([^"]+)" line (\d+)\)', info)
    file, line = (child.short(places[0][0]), int(places[0][1])) if places else (child.script.name, None)
    text = said.removeprefix("VIBRID ") if said.startswith("VIBRID ") else f"the script stops with the error: {said}"
    unknown = re.match(r'invalid command name "(.+)"', said)
    if unknown:
        text = f"'{unknown[1]}' is no command of Tcl or of OpenSees that the recording stand-in knows"
    child.finish(problem=text, line=line, file=file)


def _number(word: Any) -> Any:
    """A word of Tcl as a number where it is one."""
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return str(word)


def _as_tcl(answer: Any) -> str:
    if isinstance(answer, list):
        return " ".join(repr(v) for v in answer)
    return "" if answer is None else str(answer)


def main() -> None:
    script, allow_writing = Path(sys.argv[1]).resolve(), "--allow-writing" in sys.argv[2:]
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    child = _Child(script, output)
    os.chdir(script.parent)
    if script.suffix.lower() == ".tcl":
        _run_tcl(child, allow_writing)
    else:
        if not allow_writing:
            sys.addaudithook(_guard)
        _run_python(child)
    child.finish()


if __name__ == "__main__":
    main()
