"""Running a user's script in a child process with a time limit, to record what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from vibrid.bridge.recording import Recording, ScriptCommand
from vibrid.core.errors import FileProblem, InputError, missing_file

SECONDS = 60.0
"""For one script."""
_MOST_SAID = 300


def record_script(path: str | os.PathLike[str], seconds: float = SECONDS, allow_writing: bool = False) -> Recording:
    """The OpenSees commands of a script (.py or .tcl), which is run in a process of its own.

    Arguments
        path: the script; it runs in its own folder.
        seconds: after which it is stopped and refused.
        allow_writing: whether it may write files and start programs.
    """
    script = Path(path)
    if not script.exists():
        raise missing_file(script)
    if script.suffix.lower() not in (".py", ".tcl"):
        raise InputError(f"'{script}' should end in .py (OpenSeesPy) or .tcl.")
    if not seconds > 0:
        raise InputError(f"The time limit must be more than 0 s, not {seconds:g} s.")
    command = [sys.executable, "-B", "-m", "vibrid.bridge.child", str(script.resolve())]
    command += ["--allow-writing"] if allow_writing else []
    source = str(Path(__file__).resolve().parents[2])
    before = os.environ.get("PYTHONPATH")
    environment = os.environ | {
        "MPLBACKEND": "Agg",
        "PYTHONPATH": source if not before else f"{source}{os.pathsep}{before}",
    }
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=seconds, env=environment, stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.TimeoutExpired:
        raise FileProblem(
            script,
            f"the script does not end within {seconds:g} s: a loop may wait for a result of an analysis, which is not "
            "run here. Take out the analysis, or give more time (--limit).",
        ) from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        last = said[-1][:_MOST_SAID] if said else f"exit code {done.returncode}"
        raise FileProblem(script, f"the process that ran the script ended without an answer ({last}).") from None
    if answer["problem"]:
        file = script.parent / answer["file"] if answer["file"] else script
        raise FileProblem(file, f"{answer['problem']}.", answer["line"])
    commands = tuple(ScriptCommand(n, tuple(a), f, line) for n, a, f, line in answer["commands"])
    return Recording(script.name, commands, answer["ended"], tuple(answer["answers"]))
