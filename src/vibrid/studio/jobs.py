"""Jobs: commands in processes of their own, in a queue. The list is a SQLite file, the rest files in a folder each.

A job outlives the server. It holds a lock on a file of its folder as long as it runs, so that a server that starts
later knows which jobs still run and which were killed.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vibrid.core.errors import InputError
from vibrid.core.files import make_folder, write_text
from vibrid.studio.tasks import TASKS, task_of
from vibrid.studio.workspace import Workspace

try:
    import fcntl
except ImportError:  # Windows: a job whose server is gone counts as interrupted
    fcntl = None

ENDED = ("done", "failed", "cancelled", "interrupted")
_TABLES = """
CREATE TABLE IF NOT EXISTS jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT, title TEXT, project TEXT, options TEXT, state TEXT, pid INTEGER,
    created REAL, started REAL, ended REAL, code INTEGER, stop INTEGER DEFAULT 0);
CREATE TABLE IF NOT EXISTS events (time REAL, who TEXT, what TEXT);
"""
_SHOWN = "id, kind, title, project, options, state, created, started, ended, code, stop"


class Jobs:
    """The list of jobs of a workspace, and their processes.

    Arguments
        workspace: its folder `.studio` holds the list, `jobs.sqlite`, and a folder for each job.
        at_once: how many run at the same time; others wait.
    """

    def __init__(self, workspace: Workspace, at_once: int = 1):
        self.workspace, self.at_once = workspace, at_once
        self.folder = make_folder(workspace.own / "jobs")
        self._list = sqlite3.connect(workspace.own / "jobs.sqlite", isolation_level=None, check_same_thread=False)
        self._list.row_factory = sqlite3.Row
        self._list.execute("PRAGMA journal_mode=WAL")
        self._list.executescript(_TABLES)
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    def close(self) -> None:
        """Close the list; running jobs go on."""
        self._list.close()

    # -- what the page asks for ----------------------------------------------------------------------------------

    def add(self, kind: str, project: str | None, options: dict[str, Any], who: str) -> int:
        """A new job at the end of the queue; it keeps the project as it is now."""
        task, title, text = task_of(kind), "", ""
        if not task.alone:
            text = self.workspace.read_project(project)
            self.workspace.refuse_outside(text)
            title = Path(str(project)).stem
        row = (kind, title, project, json.dumps(options), "queued", time.time())
        with self._list:
            self._list.execute("BEGIN")
            made = self._list.execute(
                "INSERT INTO jobs (kind, title, project, options, state, created) VALUES (?, ?, ?, ?, ?, ?)", row
            )
            number = int(made.lastrowid or 0)
            folder = make_folder(self.folder / str(number))
            snapshot = self._snapshot(number, project)
            arguments = task.arguments(snapshot.name, options, folder, self.workspace)
            if text:
                write_text(snapshot, text)
                write_text(folder / "project.toml", text)
            about = {"arguments": arguments, "workspace": str(self.workspace.folder)}
            write_text(folder / "job.json", json.dumps(about, indent=1))
        self.note(who, f"started run {number}: {kind} {project or ''}".rstrip())
        return number

    @contextlib.contextmanager
    def adopted(self, kind: str, project: Path, written: Path) -> Iterator[int]:
        """This process as a job while the block runs, so that a studio can show it and stop it; its number.

        written: the folder, or the file, to which its rows are written.
        """
        row = (kind, project.stem, project.name, "{}", "running", os.getpid(), time.time(), time.time())
        made = self._list.execute(
            "INSERT INTO jobs (kind, title, project, options, state, pid, created, started) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        number = int(made.lastrowid or 0)
        folder = make_folder(self.folder / str(number))
        write_text(folder / "job.json", json.dumps({"arguments": sys.argv[1:], "written": str(written.absolute())}))
        self.note("this terminal", f"started run {number}: {kind} {project.name}")
        code = 1
        with open(folder / "lock", "wb") as lock:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            try:
                yield number
                code = 0
            finally:
                write_text(folder / "end.json", json.dumps({"code": code, "time": time.time()}))

    def cancel(self, number: int, who: str) -> None:
        """Ask a job to end with what it has; asked three times, it is ended at once, unless it moves a device."""
        job = self._row(number)
        if job["state"] == "queued":
            self._end(number, "cancelled", None)
        elif job["state"] == "running" and job["stop"] and job["kind"] in TASKS and TASKS[job["kind"]].moves:
            raise InputError(
                f"Run {number} has been asked to stop and ends after its present step. It moves a device, so it is not "
                "ended in the middle of one; in an emergency use the switch of the laboratory."
            )
        elif job["state"] == "running":
            again = job["stop"] > 1
            with contextlib.suppress(ProcessLookupError):
                os.kill(job["pid"], signal.SIGKILL if again and hasattr(signal, "SIGKILL") else signal.SIGINT)
            self._list.execute("UPDATE jobs SET stop = stop + 1 WHERE id = ?", (number,))
        else:
            raise InputError(f"Run {number} has ended already.")
        self.note(who, f"stopped run {number}")

    def again(self, number: int, who: str) -> int:
        """Run a job that has ended once more, with the project that it had; one that was interrupted goes on from what
        it kept, where its kind can."""
        job = self._row(number)
        if job["state"] not in ENDED:
            raise InputError(f"Run {number} has not ended yet.")
        folder = self.folder / str(number)
        if (folder / "project.toml").is_file():
            text = (folder / "project.toml").read_text(encoding="utf-8")
            self.workspace.refuse_outside(text)
            write_text(self._snapshot(number, job["project"]), text)
        resume = task_of(job["kind"]).resume
        about = json.loads((folder / "job.json").read_text(encoding="utf-8"))
        about["arguments"] = [word for word in about["arguments"] if word not in resume]
        goes_on = self._goes_on(job)
        about["arguments"] += resume if goes_on else ()
        if not goes_on and (kept := task_of(job["kind"]).kept):
            (folder / kept).unlink(missing_ok=True)
        write_text(folder / "job.json", json.dumps(about, indent=1))
        (folder / "end.json").unlink(missing_ok=True)
        self._list.execute(
            "UPDATE jobs SET state = 'queued', started = NULL, ended = NULL, code = NULL, stop = 0 WHERE id = ?",
            (number,),
        )
        self.note(who, f"let run {number} go on" if goes_on else f"started run {number} again")
        return number

    def all(self) -> list[dict[str, Any]]:
        """All jobs, the newest first, with the last line of their progress."""
        rows = self._list.execute(f"SELECT {_SHOWN} FROM jobs ORDER BY id DESC LIMIT 500").fetchall()
        return [self._shown(row) for row in rows]

    def state(self, number: int) -> str:
        """The state of a job: queued, running, done, failed, cancelled or interrupted."""
        return str(self._row(number)["state"])

    def started(self, number: int) -> float:
        """When a job began, in seconds since 1970; 0 for one that waits."""
        return float(self._row(number)["started"] or 0.0)

    def one(self, number: int) -> dict[str, Any]:
        """A job with its log, its files and its result."""
        shown, folder = self._shown(self._row(number)), self.folder / str(number)
        shown["log"] = _tail(folder / "log.txt", 20_000)
        shown["said"] = _tail(folder / "said.txt", 20_000)
        shown["files"] = [p.name for p in sorted(folder.iterdir()) if p.suffix in OFFERED]
        with contextlib.suppress(OSError, ValueError):
            shown["result"] = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        with contextlib.suppress(OSError, ValueError, KeyError):
            command = json.loads((folder / "job.json").read_text(encoding="utf-8"))["arguments"]
            shown["command"] = self._as_typed(number, shown["project"], command)
        return shown

    def file(self, number: int, name: object) -> Path:
        """A file of a job that may be downloaded."""
        self._row(number)
        path = self.folder / str(number) / str(name)
        if path.name != name or path.suffix not in OFFERED or path.is_symlink() or not path.is_file():
            raise InputError(f"Run {number} has no file '{str(name)[:80]}'.")
        return path

    def events(self) -> list[dict[str, Any]]:
        """Who did what, the newest first."""
        return [dict(row) for row in self._list.execute("SELECT * FROM events ORDER BY rowid DESC LIMIT 200")]

    def note(self, who: str, what: str) -> None:
        """Write down who did something."""
        row = (time.time(), f"{_user()} from {who}", what)
        self._list.execute("INSERT INTO events VALUES (?, ?, ?)", row)

    # -- the queue -----------------------------------------------------------------------------------------------

    def tend(self) -> bool:
        """Note jobs that have ended and start those whose turn it is; whether anything changed."""
        changed = False
        for job in self._list.execute("SELECT * FROM jobs WHERE state = 'running'").fetchall():
            if not self._runs(job["id"]):
                changed = True
                self._conclude(job)
        running = self._list.execute("SELECT COUNT(*) FROM jobs WHERE state = 'running'").fetchone()[0]
        waiting = self._list.execute("SELECT * FROM jobs WHERE state = 'queued' ORDER BY id").fetchall()
        for job in waiting[: max(0, self.at_once - running)]:
            changed = True
            self._start(job["id"])
        return changed

    def _start(self, number: int) -> None:
        folder = self.folder / str(number)
        (folder / "progress.jsonl").unlink(missing_ok=True)
        command = [sys.executable, "-c", "from vibrid.studio.runner import main; main()", str(folder)]
        with (
            open(folder / "said.txt", "wb") as said,
            open(folder / "log.txt", "wb") as log,
            open(folder / "lock", "wb") as lock,
        ):
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the process inherits it, and keeps it to its end
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=log, start_new_session=True,
                pass_fds=() if fcntl is None else (lock.fileno(),), cwd=self.workspace.folder,
            )  # fmt: skip
        self._processes[number] = process
        self._list.execute(
            "UPDATE jobs SET state = 'running', pid = ?, started = ? WHERE id = ?", (process.pid, time.time(), number)
        )

    def _runs(self, number: int) -> bool:
        """Whether the process of a job is there: ours, or one that a server before this one has left."""
        if number in self._processes:
            return self._processes[number].poll() is None
        if fcntl is None:
            return False
        try:
            with open(self.folder / str(number) / "lock", "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def _conclude(self, job: sqlite3.Row) -> None:
        """Note how a job ended: by itself, on request, or without a word."""
        self._processes.pop(job["id"], None)
        try:
            code = json.loads((self.folder / str(job["id"]) / "end.json").read_text(encoding="utf-8"))["code"]
        except (OSError, ValueError, KeyError):
            self._end(job["id"], "cancelled" if job["stop"] else "interrupted", None)
            return
        self._end(job["id"], "cancelled" if job["stop"] else "done" if code == 0 else "failed", code)

    def _end(self, number: int, state: str, code: int | None) -> None:
        row = self._row(number)
        self._snapshot(number, row["project"]).unlink(missing_ok=True)
        self._list.execute(
            "UPDATE jobs SET state = ?, ended = ?, code = ? WHERE id = ?", (state, time.time(), code, number)
        )

    # -- parts ---------------------------------------------------------------------------------------------------

    def _row(self, number: int) -> sqlite3.Row:
        row = self._list.execute("SELECT * FROM jobs WHERE id = ?", (number,)).fetchone()
        if row is None:
            raise InputError(f"There is no run {number}.")
        return row

    def _snapshot(self, number: int, project: object) -> Path:
        """The copy of the project that a job reads, beside the files that it names."""
        return self.workspace.folder / f".{Path(str(project)).stem}.{number}.toml"

    def _as_typed(self, number: int, project: str | None, arguments: list[str]) -> str:
        """The command as one would type it in the workspace."""
        inside = f"{self.folder / str(number)}{os.sep}"
        words = [str(word).replace(inside, "").replace(inside[:-1], "results") for word in arguments]
        words = [str(project) if word == self._snapshot(number, project).name else word for word in words]
        return "vibrid " + " ".join(f'"{word}"' if " " in word else word for word in words)

    def _goes_on(self, row: sqlite3.Row) -> bool:
        """Whether an interrupted job can go on from what it kept."""
        kept = TASKS[row["kind"]].kept if row["kind"] in TASKS else ""
        return bool(kept) and row["state"] == "interrupted" and (self.folder / str(row["id"]) / kept).is_file()

    def _shown(self, row: sqlite3.Row) -> dict[str, Any]:
        shown = {key: row[key] for key in row.keys() if key != "pid"}  # noqa: SIM118  (a row is not a dict)
        shown["options"] = json.loads(shown["options"])
        shown["progress"] = None
        if shown["state"] == "running":
            with contextlib.suppress(ValueError, IndexError):
                lines = _tail(self.folder / str(row["id"]) / "progress.jsonl", 2000).splitlines()
                shown["progress"] = json.loads(lines[-1])
        shown["goes_on"] = self._goes_on(row)
        if shown["state"] == "failed":
            lines = _tail(self.folder / str(row["id"]) / "log.txt", 2000).strip().splitlines()
            shown["problem"] = lines[-1] if lines else ""
        return shown


OFFERED = (".html", ".h5", ".csv", ".json", ".toml", ".png")
"""Endings of the files of a job that can be downloaded."""


def _user() -> str:
    """The name of the user, where the system knows one."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "someone"


def _tail(path: Path, most: int) -> str:
    """The end of a text file."""
    try:
        with open(path, "rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - most))
            return stream.read().decode("utf-8", errors="replace")
    except OSError:
        return ""
