"""Whether packages can be imported, tried in a process of its own: an import may crash, hang or print."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

SECONDS = 60.0
"""For all imports of one process together."""

MODULES = {"openseespy": "openseespy.opensees", "pytest-xdist": "xdist"}
"""What to import where the name of the package does not say it, or does not load its libraries."""

_TRY = """
import importlib, json, os, sys
told = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)
for name in sys.argv[1:]:
    told.write(json.dumps([name, None]) + "\\n")
    try:
        importlib.import_module(name)
        problem = ""
    except BaseException as found:
        problem = ""
        while found is not None:  # some packages put an error of their own before the one that says why
            problem += f"{type(found).__name__}: {found}\\n"
            found = found.__cause__ or found.__context__
    told.write(json.dumps([name, problem]) + "\\n")
told.flush()
os._exit(0)
"""


def module_of(package: str) -> str:
    """The module that a package brings."""
    if package in MODULES:
        return MODULES[package]
    try:
        names = (metadata.distribution(package).read_text("top_level.txt") or "").split()
    except metadata.PackageNotFoundError:
        names = []
    own = [name for name in names if not name.startswith("_")]
    return own[0] if len(own) == 1 else package.replace("-", "_")


def problems_of(modules: Sequence[str], seconds: float = SECONDS) -> dict[str, str]:
    """What stops each module from being imported, in words; empty where nothing does."""
    found: dict[str, str] = {}
    while missing := [name for name in modules if name not in found]:
        lines, ending = _attempt(missing, seconds)
        begun = ""
        for name, problem in lines:
            begun = name
            if problem is not None:
                found[name] = in_words(problem)
        if begun not in found:  # it ended inside this one
            found[begun or missing[0]] = ending
    return found


def _attempt(modules: Sequence[str], seconds: float) -> tuple[list, str]:
    """(name, None when its import begins, "" or what went wrong when it ends) in their order, and how it all ended."""
    command = [sys.executable, "-c", _TRY, *modules]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as told:
        try:
            code = subprocess.run(command, stdout=told, stderr=subprocess.DEVNULL, timeout=seconds).returncode
            ending = f"its import ends the process (by signal {-code})" if code < 0 else "its import ends the process"
        except subprocess.TimeoutExpired:
            ending = f"its import does not end within {seconds:g} s"
        told.seek(0)
        return [json.loads(line) for line in told if line.endswith("\n")], ending


def in_words(problem: str) -> str:
    """The error of an import as an engineer needs it: which library or package is missing."""
    if not problem:
        return ""
    library = re.search(r"([\w.+-]*\w\.(?:so[\w.]*|dll|dylib)): cannot open shared object file", problem)
    if library:
        return f"the system library {library[1]} is missing"
    package = re.search(r"No module named '([\w.]+)'", problem)
    if package:
        return f"the package '{package[1]}' is missing"
    return problem.splitlines()[0].rstrip(".")


def compiler_problem() -> tuple[str | None, str]:
    """The C compiler, and what stops it from working, in words."""
    from vibrid.networks.export.compiled import FLAGS, compiler

    found = compiler()
    if found is None:
        return None, "there is none called cc, gcc or clang"
    try:
        with tempfile.TemporaryDirectory(prefix="vibrid-") as folder:
            command = [found, *FLAGS, "-x", "c", "-", "-o", str(Path(folder) / "try.so"), "-lm"]
            text = "#include <math.h>\ndouble f(double x) { return sin(x); }\n"
            made = subprocess.run(command, input=text, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return found, f"it cannot be run ({problem})"
    return found, "" if made.returncode == 0 else f"it fails: {(made.stderr.strip().splitlines() or ['?'])[0]}"
