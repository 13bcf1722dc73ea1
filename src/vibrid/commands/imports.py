"""Whether packages can be imported, tried in a separate process: an import may crash, hang or print."""

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
"""Modules to import where the package's name differs, or does not load its libraries."""

_TRY = """
import importlib, json, os, sys
output = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)
for name in sys.argv[1:]:
    output.write(json.dumps([name, None]) + "\\n")
    try:
        if name == "openseespy.opensees":
            from vibrid.bridge.live import load_bundled

            load_bundled()
        importlib.import_module(name)
        problem = ""
    except BaseException as error:
        problem = ""
        while error is not None:  # some packages raise an error of their own from the one with the reason
            problem += f"{type(error).__name__}: {error}\\n"
            error = error.__cause__ or error.__context__
    output.write(json.dumps([name, problem]) + "\\n")
output.flush()
os._exit(0)
"""


def module_of(package: str) -> str:
    """The module that a package provides."""
    if package in MODULES:
        return MODULES[package]
    try:
        names = (metadata.distribution(package).read_text("top_level.txt") or "").split()
    except metadata.PackageNotFoundError:
        names = []
    public = [name for name in names if not name.startswith("_")]
    return public[0] if len(public) == 1 else package.replace("-", "_")


def problems_of(modules: Sequence[str], seconds: float = SECONDS) -> dict[str, str]:
    """The reason why each module cannot be imported; empty where it can."""
    problems: dict[str, str] = {}
    while missing := [name for name in modules if name not in problems]:
        lines, ending = _attempt(missing, seconds)
        begun = ""
        for name, problem in lines:
            begun = name
            if problem is not None:
                problems[name] = in_words(problem)
        if begun not in problems:  # the process ended during this import
            problems[begun or missing[0]] = ending
    return problems


def _attempt(modules: Sequence[str], seconds: float) -> tuple[list, str]:
    """(name, None when its import begins, "" or its error when it ends) in order, and how the process ended."""
    command = [sys.executable, "-c", _TRY, *modules]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        try:
            code = subprocess.run(command, stdout=output, stderr=subprocess.DEVNULL, timeout=seconds).returncode
            ending = f"its import ends the process (by signal {-code})" if code < 0 else "its import ends the process"
        except subprocess.TimeoutExpired:
            ending = f"its import does not end within {seconds:g} s"
        output.seek(0)
        return [json.loads(line) for line in output if line.endswith("\n")], ending


def in_words(problem: str) -> str:
    """The error of an import in plain words: which library or package is missing."""
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
    """The C compiler, and the reason why it does not work; empty where it does."""
    from vibrid.networks.export.compiled import FLAGS, compiler

    path = compiler()
    if path is None:
        return None, "none was found (cc, gcc or clang)"
    try:
        with tempfile.TemporaryDirectory(prefix="vibrid-") as folder:
            command = [path, *FLAGS, "-x", "c", "-", "-o", str(Path(folder) / "try.so"), "-lm"]
            text = "#include <math.h>\ndouble f(double x) { return sin(x); }\n"
            run = subprocess.run(command, input=text, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return path, f"it cannot be run ({problem})"
    return path, "" if run.returncode == 0 else f"it fails: {(run.stderr.strip().splitlines() or ['?'])[0]}"
