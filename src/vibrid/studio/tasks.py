"""What a job of the studio can be: each kind is a command, which can be run from a terminal too."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vibrid.core.errors import InputError, unknown_name
from vibrid.studio.workspace import Workspace

_STATE = "state.npz"
_WORD = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")


@dataclass(frozen=True)
class JobKind:
    """A kind of job.

    Arguments
        words: what it does, for the page.
        arguments: the command, from the project (a path), the options of the page, the folder of the job and the
            workspace.
        alone: whether it needs no project.
        kept: file of the job's folder from which it can go on where it was interrupted; empty where it begins again.
        resume: what the command is given for that, where the file alone does not do.
        moves: whether it moves a device of a laboratory: it is asked to stop once and never killed, so that it can
            bring the device to its end.
    """

    words: str
    arguments: Callable[[str, dict[str, Any], Path, Workspace], list[str]]
    alone: bool = False
    kept: str = ""
    resume: tuple[str, ...] = ()
    moves: bool = False


def _identify(project: str, options: dict[str, Any], folder: Path, _: Workspace) -> list[str]:
    method = options.get("method")
    chosen = ["--method", _word(method, "method")] if method else []
    repair = ["--repair"] if options.get("repair") is True else []
    files = {"report": "report.html", "save": "result.h5", "csv": "parameters.csv", "json": "result.json"}
    state = [] if repair else ["--state", str(folder / _STATE)]  # of one training, which goes on from it unasked
    made = (x for k, v in files.items() for x in (f"--{k}", str(folder / v)))
    return ["identify", project, *chosen, *repair, *made, *state]


def _simulate(project: str, options: dict[str, Any], folder: Path, _: Workspace) -> list[str]:
    return ["simulate", project, "--out", str(folder / "readings.csv"), "--plot", str(folder / "response.png")]


def _predict(project: str, options: dict[str, Any], folder: Path, workspace: Workspace) -> list[str]:
    earlier, record = options.get("job"), workspace.existing(options.get("record"))
    if type(earlier) is not int:
        raise InputError("A prediction needs the number of a finished identification.")
    result = folder.parent / str(earlier) / "result.h5"
    if not result.is_file():
        raise InputError(f"Run {earlier} has no result to predict with.")
    drive = ["--drive", _text(options["drive"], "drive")] if options.get("drive") else []
    files = ["--out", str(folder / "predicted.csv"), "--plot", str(folder / "predicted.png")]
    return ["predict", str(result), record.name, *drive, *files, "--csv", str(folder / "peaks.csv")]


def _rehearse(project: str, options: dict[str, Any], folder: Path, _: Workspace) -> list[str]:
    return ["hybrid", "rehearse", project]


def _hybrid(project: str, options: dict[str, Any], folder: Path, _: Workspace) -> list[str]:
    real = ["--real-time"] if options.get("real_time") is True else []
    return ["hybrid", "run", project, *real, "--out", str(folder), "--report", str(folder / "report.html")]


def _online(project: str, options: dict[str, Any], folder: Path, workspace: Workspace) -> list[str]:
    record = workspace.existing(options.get("record")).name
    files = ["--out", str(folder / "estimates.csv"), "--state", str(folder / _STATE)]
    return ["online", project, "--from", record, "--speed", "real", *files]


def _track(project: str, options: dict[str, Any], folder: Path, workspace: Workspace) -> list[str]:
    source = workspace.path(options.get("folder"))
    if not source.is_dir():
        raise InputError(f"There is no folder '{source.name}' in the workspace: measured files are added to it.")
    words = ["track", source.name, "--state", str(folder / "state"), "--project", project]
    for name in ("environment", "drift_limit"):
        if options.get(name):
            words += [f"--{name.replace('_', '-')}", _text(options[name], name.replace("_", " "))]
    events = ["--events", project] if options.get("events") is True else []
    return [*words, *events, "--every", "10", "--report", str(folder / "report.html")]


TASKS: dict[str, JobKind] = {
    "identify": JobKind("find the unknowns", _identify, kept=_STATE),
    "simulate": JobKind("simulate the project", _simulate),
    "predict": JobKind("predict under another record", _predict, alone=True),
    "rehearse": JobKind("rehearse the hybrid test", _rehearse),
    "hybrid": JobKind("run the hybrid test", _hybrid, moves=True),
    "track": JobKind("watch a folder that grows", _track, kept="state/state.sqlite"),
    "online": JobKind("identify sample by sample", _online, kept=_STATE, resume=("--resume",)),
}


def task_of(kind: object) -> JobKind:
    """The task of a name."""
    if not isinstance(kind, str) or kind not in TASKS:
        raise unknown_name("kind of job", str(kind)[:60], TASKS)
    return TASKS[kind]


def _word(value: object, what: str) -> str:
    """A registered name, which is never an option of the command line."""
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise InputError(f"'{str(value)[:60]}' is not the name of a {what}.")
    return value


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or value.startswith("-") or not value.isprintable() or len(value) > 200:
        raise InputError(f"'{str(value)[:60]}' cannot be the {what}.")
    return value
